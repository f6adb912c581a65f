// SPDX-License-Identifier: MIT
// Generators of known networks, exact in shapes, parameters and FLOPs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

/// Returns nullptr if no network has that name.
const NetworkInfo* find_network(std::string_view name);

/// AlexNet with one tower as in torchvision: 61,100,840 parameters, 0.7142 G multiply-adds at batch 1 (224 x
/// 224).
Graph alexnet(std::int64_t batch);
/// VGG-16 as in torchvision: 138,357,544 parameters, 15.470 G multiply-adds (224 x 224).
Graph vgg16(std::int64_t batch);
/// ResNet-50 v1.5 (stride on the 3x3): 25,557,032 parameters, 4.0892 G multiply-adds (224 x 224).
Graph resnet50(std::int64_t batch);
/// ResNet-50 with more blocks: 44,549,160 parameters, 7.8014 G multiply-adds.
Graph resnet101(std::int64_t batch);
/// 60,192,808 parameters, 11.5136 G multiply-adds.
Graph resnet152(std::int64_t batch);
/// 64,673,832 parameters, 15.0075 G multiply-adds.
Graph resnet200(std::int64_t batch);
/// Inception-V3 with its auxiliary head: 27,161,264 parameters, 5.7189 G multiply-adds (299 x 299).
Graph inception_v3(std::int64_t batch);
/// NASNet-A (6 @ 4032) without its auxiliary head: 88,753,150 parameters, 23.78 G multiply-adds (331 x 331).
Graph nasnet(std::int64_t batch);
/// NASNet-A (4 @ 1056) for phones: 5,289,978 parameters, 0.564 G multiply-adds (224 x 224).
Graph nasnet_mobile(std::int64_t batch);

// Recurrent networks are unrolled; all steps of a layer read the same parameter op.

/// The large language model with two LSTM layers of 1500, 35 steps and 10,000 words: 66,022,000 parameters.
Graph rnnlm(std::int64_t batch);
/// The same with four layers, as in Post: 102,034,000 parameters.
Graph rnnlm4(std::int64_t batch);
/// Encoder and decoder of 2, 4 or 8 LSTM layers of 1024 (the encoder's first layer is bidirectional), with
/// attention whose context goes to all layers of the decoder; 32 steps each, 32,000 words: 154,980,608,
/// 196,940,032 or 280,858,880 parameters.
Graph nmt2(std::int64_t batch);
Graph nmt4(std::int64_t batch);
Graph nmt8(std::int64_t batch);
/// The same with other numbers of layers (at least 2) and steps.
Graph nmt(const std::string& name, std::int64_t batch, int layers, std::int64_t steps);

/// A language model of LSTM layers as wide as its embedding, 10,000 words.
Graph rnn_language_model(const std::string& name, std::int64_t batch, int layers, std::int64_t hidden,
                         std::int64_t steps);

/// A NASNet-A: `stem` channels of its first convolution, `channels` and `cells` (normal ones) of the first of
/// three stages. `channels` is a multiple of 4.
Graph nasnet_a(const std::string& name, std::int64_t batch, std::int64_t image, std::int64_t stem,
               std::int64_t channels, int cells);

/// A transformer's layers.
struct TransformerSizes {
    std::int64_t features = 512, inner = 2048, heads = 8;
    bool gelu = false;      ///< else relu
    bool pre_norm = false;  ///< norms are before attention and feed-forward, else after their residuals
    int encoder_layers = 6;
    int decoder_layers = 0;  ///< with attention to the encoder; 0: an encoder alone
    std::int64_t positions = 128, vocabulary = 32'000;
};
/// Embeddings, layers and the logits of all positions, with one table of words.
Graph transformer(const std::string& name, std::int64_t batch, const TransformerSizes& sizes);

/// The base model of 6 + 6 layers; both languages and the logits share one table of 37,000 words: 63,082,496
/// parameters; 128 positions.
Graph transformer(std::int64_t batch);
/// The encoder with pooler (109,482,240 parameters) and a classifier of two classes (1,538 more); 128
/// positions, 11.174 G multiply-adds.
Graph bert_base(std::int64_t batch);
/// The small model: 124,439,808 parameters; 1024 positions, 145.82 G multiply-adds.
Graph gpt2(std::int64_t batch);

}  // namespace placewright
