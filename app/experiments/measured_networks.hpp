// SPDX-License-Identifier: MIT
// The networks of the suites of measurements that do not ship, with their exact shapes and parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/graph/network_builder.hpp"

namespace placewright {

/// An image classifier of pytorch-image-models in float32, with its loss. Returns nothing for an unknown
/// name.
std::optional<Graph> image_classifier(const std::string& name, std::int64_t batch, std::int64_t image);

/// ResNet-50 without a loss of classes: on small images, with a mean squared error.
Graph resnet50_with_squared_error(std::int64_t batch, std::int64_t image);

/// A network as a sequence of layers, each of which is placed whole.
struct LayeredNetwork {
    Graph graph;
    std::vector<OpId> ends;  ///< the last op of each layer but the last one, which holds all ops after it

    std::size_t layers() const { return ends.size() + 1; }
    std::size_t layer_of(OpId op) const;
};

/// torchgpipe's ResNet-101, whose blocks are taken apart into their modules: 370 layers.
LayeredNetwork layered_resnet101(std::int64_t batch);
/// torchgpipe's simplified U-Net (5, 64) on images of 192 x 192: 241 layers.
LayeredNetwork layered_unet(std::int64_t batch);
/// torchgpipe's AmoebaNet-D (18, 256) (Real and others, 2018; cells as in TensorFlow's TPU models): 24
/// layers.
LayeredNetwork layered_amoebanet(std::int64_t batch);

struct GptShape {
    std::int64_t hidden = 0, heads = 0, layers = 0, sequence = 0, vocabulary = 0;
};
/// Megatron-LM's GPT in float32: scale, mask and softmax are one kernel, and so are bias, dropout and
/// residual; the last layer has an embedding of its own for the logits.
LayeredNetwork layered_gpt(std::int64_t batch, const GptShape& shape);

}  // namespace placewright
