// SPDX-License-Identifier: MIT
#include "core/learn/torch_module.hpp"

namespace placewright {

const TorchModule& torch_module() {
    static const TorchModule* const module = reinterpret_cast<TorchModuleFunction>(
        torch_library_symbol("libplacewright_torch.so", kTorchModuleSymbol))();
    return *module;
}

}  // namespace placewright
