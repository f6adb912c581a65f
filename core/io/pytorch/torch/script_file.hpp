// SPDX-License-Identifier: MIT
// TorchScript files, checked before LibTorch reads them.
#pragma once

#include <string>

#include <torch/script.h>

namespace placewright {

/// Returns the model in a file, on the CPU. Without `run`, a file that runs code of its own when it is loaded
/// is refused. Throws ScriptError for such a file and for code that LibTorch cannot read safely, and what
/// LibTorch throws.
torch::jit::Module load_script(const std::string& file, bool run);

}  // namespace placewright
