// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/language/gguf.hpp"

namespace placewright {
namespace {

/// A number, or the largest of an array with one for each layer.
std::int64_t largest(const GgufFile& file, const std::string& key, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> other = {}) {
    const GgufFile::Value* const found = file.value(key);
    if (found == nullptr) {
        if (other) return *other;
        file.fail(key, "is missing, expected a number");
    }
    const auto* const items = std::get_if<std::vector<std::int64_t>>(found);
    if (items == nullptr) return *file.number(key, least, most);
    std::int64_t value = least;
    for (const std::int64_t item : *items) value = std::max(value, item);
    if (value > most) file.fail(key, "has an item of " + std::to_string(value));
    return value;
}

/// In which layers llama.cpp has a window (llama-model.cpp, load_hparams): in all but every `of`th; in all if
/// that is 0.
struct GgufWindow {
    std::string_view architecture;
    std::int64_t of = 0;
    std::int64_t tokens = 0;  ///< without a key in the file
};
constexpr std::array kGgufWindows{
    GgufWindow{"llama", 0},  GgufWindow{"phi3", 0},    GgufWindow{"gemma2", 2},      GgufWindow{"gpt-oss", 2},
    GgufWindow{"gemma3", 6}, GgufWindow{"cohere2", 4}, GgufWindow{"llama4", 4, 8192}};

void read_gguf_windows(const GgufFile& file, const std::string& prefix, LanguageModel& model) {
    const std::string architecture = prefix.substr(0, prefix.size() - 1);
    const auto* const known = std::ranges::find(kGgufWindows, architecture, &GgufWindow::architecture);
    const bool has_rule = known != kGgufWindows.end();
    const std::int64_t window = file.number(prefix + "attention.sliding_window", 0, kMostSequence)
                                    .value_or(has_rule ? known->tokens : 0);
    model.window.assign(static_cast<std::size_t>(model.layers), 0);
    if (window == 0) return;
    const std::string key = prefix + "attention.sliding_window_pattern";
    const GgufFile::Value* const pattern = file.value(key);
    const auto* const layers = pattern == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(pattern);
    const bool has_number = pattern != nullptr && std::holds_alternative<std::int64_t>(*pattern);
    const std::int64_t of = has_number ? *file.number(key, 0, kMostLayers) : has_rule ? known->of : 0;
    if (layers == nullptr && !has_number && !has_rule) {
        model.notes.push_back("which layers of architecture " + in_quotes(printable(architecture, 80)) +
                              " have the window of " + std::to_string(window) +
                              " tokens is not known here: all keep the whole sequence");
        return;
    }
    for (std::int64_t i = 0; i < model.layers; ++i) {
        const auto layer = static_cast<std::size_t>(i);
        const bool has_window = layers != nullptr ? layer < layers->size() && (*layers)[layer] != 0
                                                  : of == 0 || (i + 1) % of != 0;
        if (has_window) model.window[layer] = window;
    }
}

void read_gguf_experts(const GgufFile& file, const std::string& prefix, LanguageModel& model) {
    const std::int64_t count = file.number(prefix + "expert_count", 0, kMostExperts).value_or(0);
    if (count == 0) return;
    ExpertLayers experts;
    experts.count = count;
    const auto per_token = file.number(prefix + "expert_used_count", 1, count);
    if (!per_token) file.fail(prefix + "expert_used_count", "is missing, expected a number");
    experts.per_token = *per_token;
    experts.width = file.number(prefix + "expert_feed_forward_length", 1, kMostWidth).value_or(model.width);
    for (std::int64_t i = 0; i < model.layers; ++i) {
        const std::string block = "blk." + std::to_string(i) + '.';
        experts.dense.push_back(!file.has(block + "ffn_down_exps.weight"));
        if (const GgufFile::Tensor* const shared = file.find(block + "ffn_down_shexp.weight"))
            experts.shared_width = shared->shape.back();
        if (const GgufFile::Tensor* const all = file.find(block + "ffn_down_exps.weight");
            all != nullptr && all->shape.front() != count)
            file.fail(prefix + "expert_count", "is " + std::to_string(count) + ", but " + all->name +
                                                   " holds " + std::to_string(all->shape.front()) +
                                                   " experts");
    }
    model.experts = std::move(experts);
    model.family.experts = {.router = "mlp.gate",
                            .gate = "mlp.experts.gate_proj",
                            .up = "mlp.experts.up_proj",
                            .down = "mlp.experts.down_proj",
                            .fused = true,
                            .shared = "mlp.shared_experts"};
    const bool gated = std::ranges::any_of(file.tensors(), [](const GgufFile::Tensor& tensor) {
        return tensor.name.ends_with("ffn_gate_exps.weight");
    });
    if (!gated) model.family.experts.gate = {};
    if (file.has("blk.0.ffn_gate_inp_shexp.weight"))
        model.family.experts.shared_gate = "mlp.shared_expert_gate";
}

void read_gguf_latent(const GgufFile& file, const std::string& prefix, LanguageModel& model) {
    const auto rank = file.number(prefix + "attention.kv_lora_rank", 1, kMostHidden);
    if (!rank) return;
    LatentAttention latent;
    latent.kv_rank = *rank;
    latent.q_rank = file.number(prefix + "attention.q_lora_rank", 0, kMostHidden).value_or(0);
    latent.rope = file.number(prefix + "rope.dimension_count", 1, kMostHidden).value_or(64);
    const std::int64_t key =
        file.number(prefix + "attention.key_length_mla", 1, kMostHidden)
            .value_or(file.number(prefix + "attention.key_length", 1, kMostHidden).value_or(model.head_dim));
    latent.nope = std::max<std::int64_t>(1, key - latent.rope);
    latent.value =
        file.number(prefix + "attention.value_length_mla", 1, kMostHidden)
            .value_or(file.number(prefix + "attention.value_length", 1, kMostHidden).value_or(key));
    model.head_dim = latent.nope + latent.rope;
    model.value_dim = 0;
    model.latent = latent;
    model.family.latent = true;
}

void read_kv_heads(const GgufFile& file, const std::string& key, std::int64_t blocks, LanguageModel& model) {
    const auto layers = static_cast<std::size_t>(model.layers);
    const GgufFile::Value* const found = file.value(key);
    const auto* const items = found == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(found);
    if (items == nullptr) {
        model.kv_heads.assign(layers, file.number(key, 1, kMostHeads).value_or(model.heads));
        return;
    }
    if (items->size() != static_cast<std::size_t>(blocks))
        file.fail(key, "has " + std::to_string(items->size()) + " items, expected one for each of the " +
                           std::to_string(blocks) + " layers");
    for (const std::int64_t item : std::span(*items).first(layers)) {
        if (item < 1 || item > kMostHeads)
            file.fail(key, "has an item of " + std::to_string(item) +
                               ": layers without attention are not known here");
        model.kv_heads.push_back(item);
    }
}

/// Throws InputError if the keys of heads are not those of the tensors: the cache follows from the keys.
void check_heads(const GgufFile& file, const std::string& prefix, const LanguageModel& model) {
    if (model.latent) return;
    const std::int64_t value = model.value_dim > 0 ? model.value_dim : model.head_dim;
    for (std::size_t i = 0; i < model.kv_heads.size(); ++i) {
        const std::string block = "blk." + std::to_string(i) + '.';
        const auto check = [&](const char* name, std::int64_t dim, const char* length) {
            const GgufFile::Tensor* const tensor = file.find(block + name);
            const std::int64_t expected = model.kv_heads[i] * dim;
            if (tensor == nullptr || tensor->shape.size() != 2 || tensor->shape.front() == expected) return;
            file.fail(tensor->name, "has " + std::to_string(tensor->shape.front()) + " rows, but " + prefix +
                                        "attention.head_count_kv and " + prefix + length + " make " +
                                        std::to_string(model.kv_heads[i]) + " heads of " +
                                        std::to_string(dim) + "; take another copy");
        };
        check("attn_k.weight", model.head_dim, "attention.key_length");
        check("attn_v.weight", value, "attention.value_length");
    }
}

void refuse_parts_of_models(const GgufFile& file, const std::string& architecture) {
    if (file.text_or("general.type", "") == "adapter")
        file.fail("general.type", "is \"adapter\": open the model that the adapter is for");
    if (architecture == "clip")
        file.fail("general.architecture",
                  "is \"clip\", the encoder of images beside a language model: open the language model");
}

}  // namespace

LanguageModel read_gguf_model(const GgufFile& file) {
    const std::string architecture = file.text_or("general.architecture", "");
    if (architecture.empty()) file.fail("general.architecture", "is missing, expected such as \"llama\"");
    refuse_parts_of_models(file, architecture);
    const std::string prefix = architecture + '.';
    LanguageModel model{.family = *find_language_family("llama"), .name = {}};
    model.name = printable(file.text_or("general.name", ""), 120);
    if (model.name.empty()) model.name = printable(file.path().stem().string(), 120);
    const std::int64_t blocks = largest(file, prefix + "block_count", 1, kMostLayers);
    const std::int64_t more = file.number(prefix + "nextn_predict_layers", 0, blocks - 1).value_or(0);
    model.layers = blocks - more;
    model.unread_blocks = more;
    model.words_for_layers = prefix + "block_count";
    model.hidden = largest(file, prefix + "embedding_length", 1, kMostHidden);
    model.heads = largest(file, prefix + "attention.head_count", 0, kMostHeads);
    if (model.heads == 0)
        file.fail(prefix + "attention.head_count",
                  "is 0: models of architecture " + in_quotes(printable(architecture, 80)) +
                      " are no transformers, and not known here; export the model from PyTorch "
                      "with placewright.export(model, inputs, \"model.json\")");
    model.width = largest(file, prefix + "feed_forward_length", 1, kMostWidth, 4 * model.hidden);
    model.limit = file.number(prefix + "context_length", 1, kMostSequence).value_or(0);
    model.head_dim = file.number(prefix + "attention.key_length", 1, kMostHidden)
                         .value_or(std::max<std::int64_t>(1, model.hidden / model.heads));
    const GgufFile::Tensor* const embedding = file.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
        file.fail("token_embd.weight", "is missing: this is not a language model");
    if (embedding->shape.back() != model.hidden)
        file.fail(prefix + "embedding_length", "is " + std::to_string(model.hidden) +
                                                   ", but token_embd.weight has rows of " +
                                                   std::to_string(embedding->shape.back()));
    model.vocabulary = embedding->shape.front();
    model.value_dim = file.number(prefix + "attention.value_length", 0, kMostHidden).value_or(0);
    read_kv_heads(file, prefix + "attention.head_count_kv", blocks, model);
    read_gguf_latent(file, prefix, model);
    check_heads(file, prefix, model);
    read_gguf_experts(file, prefix, model);
    read_gguf_windows(file, prefix, model);

    LanguageFamily& family = model.family;
    const auto has = [&](const char* tensor) { return file.has(std::string("blk.0.") + tensor); };
    family.tied = model.tied = !file.has("output.weight");
    family.qk_norm = has("attn_q_norm.weight");
    family.sinks = has("attn_sinks.weight");
    if (has("attn_qkv.weight")) family.block.qkv = "self_attn.qkv_proj";
    if (has("post_attention_norm.weight") && has("ffn_norm.weight")) {
        family.block.post_attention_norm = "post_attention_layernorm";
        family.block.norm2 = "pre_feedforward_layernorm";
    }
    if (has("post_ffw_norm.weight")) family.block.post_mlp_norm = "post_feedforward_layernorm";
    if (has("attn_norm_2.weight")) family.block.norm2 = "attn_norm_2", family.form = BlockForm::parallel;
    if (!has("attn_norm_2.weight") && !has("ffn_norm.weight") && !has("post_attention_norm.weight"))
        family.block.norm2 = {}, family.form = BlockForm::parallel;
    const GgufFile::Tensor* const up = file.find("blk.0.ffn_up.weight");
    if (up != nullptr && !has("ffn_gate.weight")) {
        family.block.gate = {};
        if (up->shape.front() == 2 * model.width) family.block.gate_up = "mlp.up_proj";
    }
    if (!file.has("output_norm.weight")) model.has_final_norm = false;
    if (file.has("position_embd.weight")) {
        family.positions = "embed_positions";
        model.positions = file.find("position_embd.weight")->shape.front();
    }
    if (file.has("token_embd_norm.weight")) family.embedding_norm = "embed_norm";
    model.norm_bias = file.has("output_norm.bias");
    family.layer_norm = model.norm_bias;
    model.converts_stacks = true;
    model.activations = DType::float16;
    model.stored = WeightType::fp16;
    if (architecture == "gemma" || architecture == "gemma2" || architecture == "gemma3" ||
        architecture == "gpt2" || architecture == "falcon" || architecture == "bloom" ||
        architecture == "gptneox" || architecture == "starcoder2")
        family.activation = "gelu";
    return model;
}

}  // namespace placewright
