// SPDX-License-Identifier: MIT
#include "core/graph/networks.hpp"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

constexpr std::array<NetworkInfo, 3> kNetworks{{
    {"alexnet", "AlexNet", "Krizhevsky: One weird trick for parallelizing convolutional neural networks (2014)", alexnet},
    {"resnet50", "ResNet-50", "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (2016)", resnet50},
    {"inception_v3", "Inception-V3",
     "Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for Computer Vision (2016)", inception_v3},
}};

}  // namespace

std::span<const NetworkInfo> known_networks() {
    return kNetworks;
}

const NetworkInfo* find_network(std::string_view name) {
    const auto found = std::find_if(kNetworks.begin(), kNetworks.end(), [&](const NetworkInfo& info) { return info.name == name; });
    return found == kNetworks.end() ? nullptr : &*found;
}

}  // namespace placewright
