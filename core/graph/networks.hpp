// SPDX-License-Identifier: MIT
// Generators of known networks, exact in shapes, parameters and FLOPs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/graph/graph.hpp"

namespace placewright {

struct NetworkInfo {
    std::string_view name;    ///< "inception_v3"
    std::string_view title;   ///< "Inception-V3"
    std::string_view source;  ///< where its architecture is described
    Graph (*build)(std::int64_t batch);
};

std::span<const NetworkInfo> known_networks();

/// nullptr if there is none of that name.
const NetworkInfo* find_network(std::string_view name);

/// AlexNet with one tower as in torchvision: 61,100,840 parameters, 0.7142 G multiply-adds at batch 1 (224 x 224).
Graph alexnet(std::int64_t batch);
/// ResNet-50 v1.5 (stride on the 3x3): 25,557,032 parameters, 4.0892 G multiply-adds (224 x 224).
Graph resnet50(std::int64_t batch);
/// Inception-V3 with its auxiliary head: 27,161,264 parameters, 5.7189 G multiply-adds (299 x 299).
Graph inception_v3(std::int64_t batch);

}  // namespace placewright
