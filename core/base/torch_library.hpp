// SPDX-License-Identifier: MIT
// Libraries of this program that need LibTorch. They are loaded when they are first needed, because LibTorch
// takes half a second to load.
#pragma once

#include "core/base/missing_part.hpp"

namespace placewright {

/// Returns whether this build has the libraries that need LibTorch.
bool has_torch_libraries();

/// Returns a symbol of a library that the program's run path finds, such as "libplacewright_torch.so". The
/// library stays loaded, because LibTorch does not support being unloaded. Throws MissingPart if it cannot
/// be loaded.
void* torch_library_symbol(const char* library, const char* symbol);

}  // namespace placewright
