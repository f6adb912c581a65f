// SPDX-License-Identifier: MIT
#include "core/io/language/families.hpp"

#include <algorithm>
#include <vector>

namespace placewright {
namespace {

// Sources: the modelling files of Hugging Face Transformers (src/transformers/models/NAME/modeling_NAME.py,
// configuration_NAME.py) and the indexes of published checkpoints.

constexpr BiasRule kAttentionBias{"attention_bias", false};

LanguageFamily llama(std::string_view type) {
    LanguageFamily family{.model_type = type};
    family.qkv_bias = family.out_bias = kAttentionBias;
    family.mlp_bias = {"mlp_bias", false};
    return family;
}

LanguageFamily mistral(std::string_view type) {
    LanguageFamily family{.model_type = type};
    family.window = WindowRule::all;
    return family;
}

LanguageFamily qwen2(std::string_view type) {
    LanguageFamily family{.model_type = type};
    family.qkv_bias = kAlways;
    family.window = WindowRule::last;
    return family;
}

LanguageFamily qwen3(std::string_view type) {
    LanguageFamily family{.model_type = type};
    family.qkv_bias = family.out_bias = kAttentionBias;
    family.window = WindowRule::last;
    family.qk_norm = true;
    return family;
}

LanguageFamily with_qwen_experts(LanguageFamily family) {
    family.experts = {.router = "mlp.gate", .experts = "mlp.experts"};
    return family;
}

LanguageFamily gemma(std::string_view type) {
    LanguageFamily family{.model_type = type};
    family.qkv_bias = family.out_bias = kAttentionBias;
    family.activation = "gelu";
    family.tied = true;
    return family;
}

LanguageFamily gemma2(std::string_view type) {
    LanguageFamily family = gemma(type);
    family.block.post_attention_norm = "post_attention_layernorm";
    family.block.norm2 = "pre_feedforward_layernorm";
    family.block.post_mlp_norm = "post_feedforward_layernorm";
    family.window = WindowRule::even;
    return family;
}

LanguageFamily gemma3(std::string_view type) {
    LanguageFamily family = gemma2(type);
    family.window = WindowRule::pattern;
    family.qk_norm = true;
    return family;
}

LanguageFamily phi3() {
    LanguageFamily family = mistral("phi3");
    family.block.qkv = "self_attn.qkv_proj";
    family.block.gate_up = "mlp.gate_up_proj";
    return family;
}

LanguageFamily stablelm() {
    LanguageFamily family{.model_type = "stablelm"};
    family.layer_norm = true;
    family.qkv_bias = {"use_qkv_bias", false};
    return family;
}

/// The names that Falcon, BLOOM and GPT-NeoX share.
BlockNames fused_block(std::string_view attention) {
    BlockNames block;
    const bool neox = attention == "attention";
    block.attention = attention;
    block.qkv = neox ? "attention.query_key_value" : "self_attention.query_key_value";
    block.out = neox ? "attention.dense" : "self_attention.dense";
    block.gate = {};
    block.up = "mlp.dense_h_to_4h";
    block.down = "mlp.dense_4h_to_h";
    return block;
}

LanguageFamily falcon() {
    LanguageFamily family{.model_type = "falcon"};
    family.prefix = "transformer.";
    family.embedding = "word_embeddings";
    family.blocks = "h";
    family.final_norm = "ln_f";
    family.block = fused_block("self_attention");
    family.layer_norm = true;
    family.qkv_bias = family.out_bias = family.mlp_bias = {"bias", false};
    family.activation = "gelu";
    family.tied = true;
    return family;
}

LanguageFamily bloom() {
    LanguageFamily family = falcon();
    family.model_type = "bloom";
    family.embedding_norm = "word_embeddings_layernorm";
    family.qkv_bias = family.out_bias = family.mlp_bias = kAlways;
    return family;
}

LanguageFamily gpt_neox() {
    LanguageFamily family{.model_type = "gpt_neox"};
    family.prefix = "gpt_neox.";
    family.embedding = "embed_in";
    family.final_norm = "final_layer_norm";
    family.head = "embed_out";
    family.block = fused_block("attention");
    family.form = BlockForm::parallel;
    family.layer_norm = true;
    family.qkv_bias = family.out_bias = {"attention_bias", true};
    family.mlp_bias = kAlways;
    family.activation = "gelu";
    return family;
}

LanguageFamily gpt2() {
    LanguageFamily family{.model_type = "gpt2"};
    family.prefix = "transformer.";
    family.embedding = "wte";
    family.positions = "wpe";
    family.blocks = "h";
    family.final_norm = "ln_f";
    family.block.norm1 = "ln_1";
    family.block.attention = "attn";
    family.block.qkv = "attn.c_attn";
    family.block.out = "attn.c_proj";
    family.block.norm2 = "ln_2";
    family.block.gate = {};
    family.block.up = "mlp.c_fc";
    family.block.down = "mlp.c_proj";
    family.layer_norm = true;
    family.qkv_bias = family.out_bias = family.mlp_bias = kAlways;
    family.activation = "gelu";
    family.tied = true;
    family.type = WeightType::fp32;
    family.transposed = true;
    return family;
}

BlockNames fc_block() {
    BlockNames block;
    block.norm1 = "self_attn_layer_norm";
    block.out = "self_attn.out_proj";
    block.norm2 = "final_layer_norm";
    block.gate = {};
    block.up = "fc1";
    block.down = "fc2";
    return block;
}

LanguageFamily opt() {
    LanguageFamily family{.model_type = "opt"};
    family.prefix = "model.";
    family.embedding = "decoder.embed_tokens";
    family.positions = "decoder.embed_positions";
    family.blocks = "decoder.layers";
    family.final_norm = "decoder.final_layer_norm";
    family.block = fc_block();
    family.layer_norm = true;
    family.qkv_bias = family.out_bias = family.mlp_bias = {"enable_bias", true};
    family.activation = "relu";
    family.tied = true;
    family.type = WeightType::fp32;
    family.more_positions = 2;
    return family;
}

LanguageFamily mixtral() {
    LanguageFamily family = mistral("mixtral");
    family.experts = {.router = "block_sparse_moe.gate",
                      .experts = "block_sparse_moe.experts",
                      .gate = "w1",
                      .up = "w3",
                      .down = "w2"};
    return family;
}

LanguageFamily granitemoe() {
    LanguageFamily family = llama("granitemoe");
    family.experts = {.router = "block_sparse_moe.router.layer",
                      .gate = {},
                      .up = "block_sparse_moe.input_linear",
                      .down = "block_sparse_moe.output_linear",
                      .fused = true};
    return family;
}

LanguageFamily gpt_oss() {
    LanguageFamily family = llama("gpt_oss");
    family.qkv_bias = family.out_bias = {"attention_bias", true};
    family.experts = {.router = "mlp.router",
                      .experts = "mlp.experts",
                      .gate = {},
                      .up = "gate_up_proj",
                      .down = "down_proj",
                      .fused = true};
    family.window = WindowRule::even;
    family.sinks = true;
    return family;
}

LanguageFamily deepseek(std::string_view type) {
    LanguageFamily family{.model_type = type};
    family.qkv_bias = family.out_bias = kAttentionBias;
    family.latent = true;
    family.experts = {
        .router = "mlp.gate", .experts = "mlp.experts", .shared = "mlp.shared_experts", .shared_gate = {}};
    return family;
}

LanguageFamily bert() {
    LanguageFamily family{.model_type = "bert", .shape = FamilyShape::encoder};
    family.prefix = "bert.";
    family.embedding = "embeddings.word_embeddings";
    family.positions = "embeddings.position_embeddings";
    family.token_types = "embeddings.token_type_embeddings";
    family.embedding_norm = "embeddings.LayerNorm";
    family.blocks = "encoder.layer";
    family.final_norm = {};
    family.head = {};
    family.block.norm1 = "attention.output.LayerNorm";
    family.block.attention = "attention.self";
    family.block.q = "attention.self.query";
    family.block.k = "attention.self.key";
    family.block.v = "attention.self.value";
    family.block.out = "attention.output.dense";
    family.block.norm2 = "output.LayerNorm";
    family.block.gate = {};
    family.block.up = "intermediate.dense";
    family.block.down = "output.dense";
    family.form = BlockForm::post_norm;
    family.layer_norm = true;
    family.qkv_bias = family.out_bias = family.mlp_bias = kAlways;
    family.activation = "gelu";
    family.tied = true;
    family.type = WeightType::fp32;
    return family;
}

LanguageFamily vit() {
    LanguageFamily family = bert();
    family.model_type = "vit";
    family.shape = FamilyShape::image_encoder;
    family.prefix = "vit.";
    family.embedding = "embeddings.patch_embeddings.projection";
    family.positions = family.token_types = family.embedding_norm = {};
    family.final_norm = "layernorm";
    family.form = BlockForm::pre_norm;
    family.block.norm1 = "layernorm_before";
    family.block.norm2 = "layernorm_after";
    family.block.attention = "attention.attention";
    family.block.q = "attention.attention.query";
    family.block.k = "attention.attention.key";
    family.block.v = "attention.attention.value";
    family.qkv_bias = {"qkv_bias", true};
    return family;
}

/// The decoder's block; the encoder's follows from it (see language_graph.cpp).
LanguageFamily t5() {
    LanguageFamily family{.model_type = "t5", .shape = FamilyShape::t5};
    family.prefix = {};
    family.embedding = "shared";
    family.block.norm1 = "layer.0.layer_norm";
    family.block.attention = "layer.0.SelfAttention";
    family.block.q = "layer.0.SelfAttention.q";
    family.block.k = "layer.0.SelfAttention.k";
    family.block.v = "layer.0.SelfAttention.v";
    family.block.out = "layer.0.SelfAttention.o";
    family.block.cross_norm = "layer.1.layer_norm";
    family.block.cross = "layer.1.EncDecAttention";
    family.block.cross_q = "layer.1.EncDecAttention.q";
    family.block.cross_k = "layer.1.EncDecAttention.k";
    family.block.cross_v = "layer.1.EncDecAttention.v";
    family.block.cross_out = "layer.1.EncDecAttention.o";
    family.block.norm2 = "layer.2.layer_norm";
    family.block.gate = {};
    family.block.up = "layer.2.DenseReluDense.wi";
    family.block.down = "layer.2.DenseReluDense.wo";
    family.activation = "relu";
    family.tied = true;
    family.type = WeightType::fp32;
    return family;
}

LanguageFamily whisper() {
    LanguageFamily family{.model_type = "whisper", .shape = FamilyShape::whisper};
    family.embedding = "decoder.embed_tokens";
    family.head = "proj_out";
    family.block = fc_block();
    family.block.cross_norm = "encoder_attn_layer_norm";
    family.block.cross = "encoder_attn";
    family.block.cross_q = "encoder_attn.q_proj";
    family.block.cross_k = "encoder_attn.k_proj";
    family.block.cross_v = "encoder_attn.v_proj";
    family.block.cross_out = "encoder_attn.out_proj";
    family.layer_norm = true;
    family.qkv_bias = family.out_bias = family.mlp_bias = kAlways;
    family.activation = "gelu";
    family.tied = true;
    family.type = WeightType::fp32;
    return family;
}

std::vector<LanguageFamily> all_families() {
    std::vector<LanguageFamily> all{llama("llama"),
                                    mistral("mistral"),
                                    llama("granite"),
                                    qwen2("qwen2"),
                                    qwen3("qwen3"),
                                    phi3(),
                                    gemma("gemma"),
                                    gemma2("gemma2"),
                                    gemma3("gemma3_text"),
                                    gemma3("gemma3"),
                                    stablelm(),
                                    falcon(),
                                    bloom(),
                                    gpt_neox(),
                                    gpt2(),
                                    opt(),
                                    mixtral(),
                                    with_qwen_experts(qwen2("qwen2_moe")),
                                    with_qwen_experts(qwen3("qwen3_moe")),
                                    granitemoe(),
                                    gpt_oss(),
                                    deepseek("deepseek_v2"),
                                    deepseek("deepseek_v3"),
                                    deepseek("kimi_k2"),
                                    bert(),
                                    vit(),
                                    t5(),
                                    whisper()};
    for (LanguageFamily& family : all) {
        if (family.model_type == "qwen2_moe") {
            family.experts.shared = "mlp.shared_expert";
            family.experts.shared_gate = "mlp.shared_expert_gate";
        }
        if (family.model_type == "gemma3") family.prefix = "language_model.model.";
    }
    return all;
}

const std::vector<LanguageFamily>& table() {
    static const std::vector<LanguageFamily> families = all_families();
    return families;
}

}  // namespace

std::span<const LanguageFamily> families() {
    return table();
}

const LanguageFamily* find_language_family(std::string_view model_type) {
    const auto found = std::ranges::find(table(), model_type, &LanguageFamily::model_type);
    return found == table().end() ? nullptr : &*found;
}

}  // namespace placewright
