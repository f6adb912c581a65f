// SPDX-License-Identifier: MIT
// The numbers of a language model, from config.json or the header of a GGUF file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/graph.hpp"
#include "core/io/language/families.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

// Larger numbers are mistakes or attacks: the largest models have 200 layers, 400 experts, a hidden size of
// 25,000.
inline constexpr std::int64_t kMostLayers = 4096, kMostHeads = 1 << 14, kMostHeadDim = 1 << 14;
inline constexpr std::int64_t kMostHidden = 1 << 20, kMostWidth = 1 << 22, kMostWords = 1 << 26;
inline constexpr std::int64_t kMostExperts = 1 << 14;
inline constexpr std::int64_t kMostBlocksOfExperts = 1 << 20;  ///< layers times experts

/// How the linear weights of a checkpoint are stored, if not in the type of the others.
enum class Quantization : std::uint8_t {
    none,
    fp8,           ///< a byte a weight, with a float32 scale for each block of weights, or for each tensor
    mxfp4,         ///< experts: 32 weights in 16 bytes, and a byte for their common exponent
    bitsandbytes,  ///< a byte a weight, a float32 scale a row and a byte for the format
    other,         ///< known by name alone: sizes are those of the file's headers
};

/// The extents of multi-head latent attention (DeepSeek-V2, 2024, section 2.1).
struct LatentAttention {
    std::int64_t q_rank = 0;  ///< 0: queries are not compressed
    std::int64_t kv_rank = 0;
    std::int64_t nope = 0, rope = 0, value = 0;  ///< a head: without and with rotary positions, values
};

struct ExpertLayers {
    std::int64_t count = 0, per_token = 0;
    std::int64_t width = 0;         ///< of one expert
    std::int64_t shared_width = 0;  ///< of the experts that all tokens pass; 0: none
    bool bias = false;              ///< of the experts and of the router (gpt-oss)
    bool score_correction = false;  ///< the router has a float32 number an expert beside its weights
    std::vector<char> dense{};      ///< [layer]: has one ordinary map in place of experts
};

/// An encoder beside the language model whose ops run at most once a prompt, such as SigLIP of Gemma 3.
struct VisionTower {
    std::int64_t hidden = 0, layers = 0, width = 0, patch = 0, image = 0, channels = 3;
};

struct LanguageModel {
    LanguageFamily family;
    std::string name;
    std::string class_name{};  ///< "LlamaForCausalLM"; empty: not known
    bool base_model = false;   ///< the class has no head, and its tensors no prefix
    std::int64_t hidden = 0, layers = 0, heads = 0, head_dim = 0, width = 0, vocabulary = 0;
    std::int64_t value_dim = 0;            ///< of a head's values; 0: `head_dim`
    std::vector<std::int64_t> kv_heads{};  ///< [layer]
    std::int64_t limit = 0;                ///< longest sequence; 0: not known
    std::int64_t positions = 0;            ///< rows of the table of positions
    std::int64_t token_types = 0;
    std::int64_t labels = 0;           ///< of a classifier
    std::int64_t embedding_width = 0;  ///< of the table, if not `hidden` (OPT-350m)
    bool tied = false;
    bool has_final_norm = true;
    bool qkv_bias = false, out_bias = false, mlp_bias = false, norm_bias = false;
    bool head_norms = false;  ///< queries and keys are normalised in each head with weights of its own
    std::vector<std::int64_t> window{};  ///< [layer]: tokens; 0: the whole sequence
    std::optional<LatentAttention> latent{};
    std::optional<ExpertLayers> experts{};
    std::optional<VisionTower> vision{};
    // Encoder-decoder and image models.
    std::int64_t encoder_layers = 0, encoder_heads = 0, encoder_width = 0;
    std::int64_t encoder_tokens = 0;  ///< 0: as many as the sequence
    std::int64_t position_buckets = 0;
    std::int64_t channels = 0, patch = 0;  ///< of images; `channels`: mel bands of sound

    DType activations = DType::bfloat16;
    WeightType stored = WeightType::bf16;
    Quantization quantization = Quantization::none;
    std::string quantization_method{};
    std::int64_t scale_rows = 0, scale_columns = 0;      ///< weights that share a scale; 0: a tensor has one
    std::unordered_set<std::string> not_converted{};     ///< modules that are not quantised
    std::string words_for_layers = "num_hidden_layers";  ///< as the file calls them, for messages
    bool converts_stacks = false;  ///< small types replace those of the experts of a layer in one tensor, too
    std::int64_t unread_blocks =
        0;  ///< of the file, beyond the layers: they predict more tokens and do not run
    std::vector<std::string> notes{};  ///< on what a file says and the model leaves out

    /// The type of activations if the options replace that of the weights.
    DType activations_with(const LanguageOptions& options) const;

    bool has_decode() const {
        return family.shape != FamilyShape::encoder && family.shape != FamilyShape::image_encoder;
    }
};

/// Reads config.json (any name). Throws InputError for an unknown model_type, a missing, wrong or implausible
/// number.
LanguageModel read_language_config(const JsonFile& file);

}  // namespace placewright
