// SPDX-License-Identifier: MIT
// Networks that are computed and differentiated by LibTorch, which takes half a second to load. They are in a
// separate library, placewright_torch, which is loaded when one of them is first requested. Only sources in
// torch/ include LibTorch.
#pragma once

#include <memory>

#include "core/base/torch_library.hpp"
#include "core/learn/policy.hpp"

namespace placewright {

struct ListNetwork;
struct SequenceNetwork;
struct HierarchicalNetwork;
struct GdpNetwork;

/// Functions of the library; all of them may be called by any number of threads.
struct TorchModule {
    GradientSummary (*list_gradient)(const ListNetwork& network,
                                     const std::vector<PolicyParameter>& parameters, const GradientTask& task,
                                     std::span<float> gradient);
    /// Policies that decide on the whole placement. They throw std::invalid_argument for graphs with another
    /// number of devices or op kinds.
    std::unique_ptr<Policy> (*make_sequence_policy)(const SequenceNetwork& network);
    std::unique_ptr<Policy> (*make_hierarchical_policy)(const HierarchicalNetwork& network);
    std::unique_ptr<Policy> (*make_gdp_policy)(const GdpNetwork& network);
};

/// Throws MissingPart if it cannot be loaded.
const TorchModule& torch_module();

/// Symbol under which placewright_torch exports its functions.
inline constexpr const char* kTorchModuleSymbol = "placewright_torch_module";
using TorchModuleFunction = const TorchModule* (*)();

}  // namespace placewright
