// SPDX-License-Identifier: MIT
#include "core/base/torch_library.hpp"

#include <dlfcn.h>
#include <string>

namespace placewright {

bool has_torch_libraries() {
    return true;
}

void* torch_library_symbol(const char* library, const char* symbol) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void* const found = handle != nullptr ? dlsym(handle, symbol) : nullptr;
    if (found == nullptr) {
        const char* const reason = dlerror();
        throw MissingPart("this needs LibTorch and " + std::string(library) + ", which cannot be loaded: " +
                          std::string(reason != nullptr ? reason : "unknown reason") +
                          ". Install " PLACEWRIGHT_LIBTORCH ", or build Placewright again");
    }
    return found;
}

}  // namespace placewright
