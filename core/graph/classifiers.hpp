// SPDX-License-Identifier: MIT
// The layers of families of image classifiers, from the image to the logits, as in torchvision.
#pragma once

#include <array>
#include <cstdint>

#include "core/graph/network_builder.hpp"

namespace placewright {

/// A residual network (He and others, 2015), or one whose blocks are wider (Zagoruyko, Komodakis, 2016) or
/// have their 3x3 convolution in groups (ResNeXt: Xie and others, 2016).
struct ResidualLayers {
    std::array<int, 4> blocks{};  ///< by stage
    bool bottleneck = true;       ///< else two 3x3 convolutions a block
    std::int64_t groups = 1;      ///< of the 3x3 convolution of a bottleneck
    /// Channels of the 3x3 convolutions of a bottleneck of the first stage; later stages have 2, 4 and 8
    /// times as many.
    std::int64_t width = 64;
};
/// The stride is on the 3x3 convolution (v1.5). Ops are called by torchvision's module paths.
Value residual_layers(NetworkBuilder& net, const Value& image, const ResidualLayers& layers);

/// Convolutions of a VGG (Simonyan, Zisserman, 2014) by stage.
struct VggLayers {
    std::array<int, 5> convolutions{};
    bool batch_norm = false;
};
Value vgg_layers(NetworkBuilder& net, const Value& image, const VggLayers& layers);

}  // namespace placewright
