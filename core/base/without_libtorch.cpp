// SPDX-License-Identifier: MIT
// In place of torch_library.cpp in a build without LibTorch.
#include "core/base/torch_library.hpp"

namespace placewright {

bool has_torch_libraries() {
    return false;
}

void* torch_library_symbol(const char*, const char*) {
    throw MissingPart(missing_part_text("LibTorch", "PLACEWRIGHT_WITH_LIBTORCH"));
}

}  // namespace placewright
