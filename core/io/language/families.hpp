// SPDX-License-Identifier: MIT
// The families of transformers: where their checkpoints keep which tensor, and what their config.json calls
// its numbers. A new architecture is a row of the table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/io/language/language_options.hpp"

namespace placewright {

/// Whether a module has a bias: never, always, or as a key of the config says.
struct BiasRule {
    std::string_view key{};
    bool without_key = false;  ///< where the config does not have the key, or there is none
};
inline constexpr BiasRule kNever{};
inline constexpr BiasRule kAlways{"", true};

/// Modules of a block, as paths below that of the block; empty: the block does not have it.
struct BlockNames {
    std::string_view norm1 = "input_layernorm";
    std::string_view attention = "self_attn";
    std::string_view q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj";
    std::string_view qkv{};  ///< one map in place of q, k and v
    std::string_view q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm";
    std::string_view out = "self_attn.o_proj";
    std::string_view post_attention_norm{};  ///< of the attention's result, before it is added
    /// Attention to the encoder's result.
    std::string_view cross_norm{}, cross{}, cross_q{}, cross_k{}, cross_v{}, cross_out{};
    std::string_view norm2 = "post_attention_layernorm";
    std::string_view gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
    std::string_view gate_up{};  ///< one map in place of gate and up
    std::string_view post_mlp_norm{};
};

/// Modules of a mixture of experts, as paths below that of the block.
struct ExpertNames {
    std::string_view router{}, experts{};
    /// Tensors of one expert, below "experts.J."; or, if `fused`, those of all experts together, below the
    /// path of the block.
    std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
    bool fused = false;
    std::string_view shared{}, shared_gate{};
};

/// How a block adds its parts up.
enum class BlockForm : std::uint8_t {
    pre_norm,   ///< x + attention(norm1(x)), then + mlp(norm2(x))
    parallel,   ///< x + attention(norm1(x)) + mlp(norm2(x)), or mlp(norm1(x)) without a second norm
    post_norm,  ///< norm1(x + attention(x)), then norm2(x + mlp(x)): BERT
};

/// Which layers see only a window of the sequence.
enum class WindowRule : std::uint8_t {
    none,
    all,      ///< all, if the config has a window
    even,     ///< every second one, from the first on (Gemma 2)
    pattern,  ///< all but every sixth, or what sliding_window_pattern says (Gemma 3)
    last,     ///< from max_window_layers on, if use_sliding_window is set (Qwen)
};

enum class FamilyShape : std::uint8_t { decoder, encoder, image_encoder, t5, whisper };

struct LanguageFamily {
    std::string_view model_type;
    FamilyShape shape = FamilyShape::decoder;
    std::string_view prefix = "model.";  ///< of all tensors but the head's; absent in files of a base model
    std::string_view embedding = "embed_tokens";
    std::string_view positions{};
    std::string_view token_types{};
    std::string_view embedding_norm{};
    std::string_view blocks = "layers";
    std::string_view final_norm = "norm";
    std::string_view head = "lm_head";
    BlockNames block{};
    ExpertNames experts{};
    BlockForm form = BlockForm::pre_norm;
    bool layer_norm = false;  ///< norms have means and biases; otherwise weights alone (RMSNorm)
    BiasRule qkv_bias{}, out_bias{}, mlp_bias{};
    std::string_view activation = "silu";
    bool tied = false;                   ///< without tie_word_embeddings the head reads the embedding's table
    WeightType type = WeightType::bf16;  ///< without torch_dtype
    WindowRule window = WindowRule::none;
    bool qk_norm = false;
    bool transposed = false;          ///< linear weights are stored as [in, out]
    bool sinks = false;               ///< attention has a number a head beside the scores (gpt-oss)
    bool latent = false;              ///< multi-head latent attention (DeepSeek-V2)
    std::int64_t more_positions = 0;  ///< rows of the table of positions beyond the model's limit
};

/// All families.
std::span<const LanguageFamily> families();
/// Returns nullptr if none has that model_type.
const LanguageFamily* find_language_family(std::string_view model_type);

}  // namespace placewright
