// SPDX-License-Identifier: MIT
// Networks for LibTorch to differentiate. Only sources of this folder include LibTorch; the code that they
// use of other folders is inline.
#pragma once

#include "core/learn/list_state.hpp"
#include "core/learn/torch_module.hpp"

namespace placewright {

GradientSummary list_gradient(const ListNetwork& network, const std::vector<PolicyParameter>& parameters,
                              const GradientTask& task, std::span<float> gradient);
std::unique_ptr<Policy> make_sequence_policy(const SequenceNetwork& network);
std::unique_ptr<Policy> make_hierarchical_policy(const HierarchicalNetwork& network);
std::unique_ptr<Policy> make_gdp_policy(const GdpNetwork& network);

}  // namespace placewright
