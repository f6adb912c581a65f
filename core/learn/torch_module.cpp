// SPDX-License-Identifier: MIT
#include "core/learn/torch_module.hpp"

#include <dlfcn.h>
#include <string>

namespace placewright {

const TorchModule& torch_module() {
    static const TorchModule* const module = [] {
        // The library is found through the program's run path. It stays loaded, because LibTorch does not
        // support being unloaded.
        void* library = dlopen("libplacewright_torch.so", RTLD_NOW | RTLD_LOCAL);
        void* symbol = library != nullptr ? dlsym(library, kTorchModuleSymbol) : nullptr;
        if (symbol == nullptr) {
            const char* reason = dlerror();
            throw TorchMissing("this needs LibTorch and libplacewright_torch.so, which cannot be loaded: " +
                               std::string(reason != nullptr ? reason : "unknown reason") +
                               ". Install the package libtorch1.13, or build Placewright again");
        }
        return reinterpret_cast<TorchModuleFunction>(symbol)();
    }();
    return *module;
}

}  // namespace placewright
