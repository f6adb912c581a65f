// SPDX-License-Identifier: MIT
// Building blocks for the cells of searched architectures (Zoph and others, 2018; Pham and others, 2018).
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/network_builder.hpp"

namespace placewright {

/// relu, 1x1 convolution, norm.
Value squeeze(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels);

/// Two separable convolutions, each a depthwise and a 1x1 convolution; the first takes the stride.
Value separable(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels,
                std::int64_t kernel, std::int64_t stride = 1);

/// Halves rows and columns by two paths that sample different pixels.
Value factorized_reduction(NetworkBuilder& net, const std::string& scope, const Value& from,
                           std::int64_t channels);

}  // namespace placewright
