// SPDX-License-Identifier: MIT
#include "core/learn/torch/networks.hpp"

namespace placewright {
extern "C" __attribute__((visibility("default"))) const TorchModule* placewright_torch_module() {
    static const TorchModule module{&placeto_gradient};
    return &module;
}
}  // namespace placewright
