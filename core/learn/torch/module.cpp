// SPDX-License-Identifier: MIT
#include "core/learn/torch/networks.hpp"

namespace placewright {
extern "C" __attribute__((visibility("default"))) const TorchModule* placewright_torch_module() {
    static const TorchModule module{&list_gradient, &make_sequence_policy, &make_hierarchical_policy,
                                    &make_gdp_policy};
    return &module;
}
}  // namespace placewright
