// SPDX-License-Identifier: MIT
// The graphs of the shapes that families have (FamilyShape).
#pragma once

#include "core/graph/graph.hpp"
#include "core/io/language/module_builder.hpp"

namespace placewright {

/// A decoder, with its vision tower if it has one.
Graph decoder_graph(const LanguageStep& step);
/// BERT, with the head of its class.
Graph encoder_graph(const LanguageStep& step);
/// ViT.
Graph image_encoder_graph(const LanguageStep& step);
/// T5 and Whisper.
Graph encoder_decoder_graph(const LanguageStep& step);

}  // namespace placewright
