// SPDX-License-Identifier: MIT
#include "core/io/language/language_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/io/language/family_graphs.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kUsualSequence = 4096;

}  // namespace

DType LanguageModel::activations_with(const LanguageOptions& options) const {
    if (!options.weights) return activations;
    switch (*options.weights) {
        case WeightType::fp32:
            return DType::float32;
        case WeightType::fp16:
            return DType::float16;
        case WeightType::bf16:
            return DType::bfloat16;
        default:
            return activations;
    }
}

std::int64_t sequence_of(const LanguageModel& model, const LanguageOptions& options) {
    if (options.sequence) return *options.sequence;
    return model.limit > 0 ? std::min(model.limit, kUsualSequence) : kUsualSequence;
}

Graph language_graph(const LanguageModel& model, const LanguageOptions& options, std::int64_t batch,
                     TensorBook& book) {
    const LanguageStep step{model, options, batch, book};
    switch (model.family.shape) {
        case FamilyShape::decoder:
            return decoder_graph(step);
        case FamilyShape::encoder:
            return encoder_graph(step);
        case FamilyShape::image_encoder:
            return image_encoder_graph(step);
        case FamilyShape::t5:
        case FamilyShape::whisper:
            return encoder_decoder_graph(step);
    }
    throw std::logic_error("a family of language models has a shape that is not known");
}

}  // namespace placewright
