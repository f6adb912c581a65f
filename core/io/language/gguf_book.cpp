// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/text.hpp"
#include "core/io/language/gguf.hpp"
#include "core/io/language/tensor_book.hpp"

namespace placewright {
namespace {

/// Tensors by module of Llama's class; a module may have several.
const std::unordered_map<std::string_view, std::vector<std::string_view>>& gguf_names() {
    static const std::unordered_map<std::string_view, std::vector<std::string_view>> names{
        {"input_layernorm", {"attn_norm"}},
        {"attn_norm_2", {"attn_norm_2"}},
        {"post_attention_layernorm", {"post_attention_norm", "ffn_norm"}},
        {"pre_feedforward_layernorm", {"ffn_norm"}},
        {"post_feedforward_layernorm", {"post_ffw_norm"}},
        {"self_attn", {"attn_sinks"}},
        {"self_attn.q_proj", {"attn_q"}},
        {"self_attn.k_proj", {"attn_k"}},
        {"self_attn.v_proj", {"attn_v"}},
        {"self_attn.qkv_proj", {"attn_qkv"}},
        {"self_attn.o_proj", {"attn_output"}},
        {"self_attn.q_norm", {"attn_q_norm"}},
        {"self_attn.k_norm", {"attn_k_norm"}},
        {"self_attn.q_a_proj", {"attn_q_a"}},
        {"self_attn.q_a_layernorm", {"attn_q_a_norm"}},
        {"self_attn.q_b_proj", {"attn_q_b"}},
        {"self_attn.kv_a_proj_with_mqa", {"attn_kv_a_mqa"}},
        {"self_attn.kv_a_layernorm", {"attn_kv_a_norm"}},
        {"self_attn.kv_b_proj", {"attn_kv_b", "attn_k_b", "attn_v_b"}},
        {"mlp.gate_proj", {"ffn_gate"}},
        {"mlp.up_proj", {"ffn_up"}},
        {"mlp.down_proj", {"ffn_down"}},
        {"mlp.gate", {"ffn_gate_inp", "exp_probs_b"}},
        {"mlp.experts.gate_proj", {"ffn_gate_exps"}},
        {"mlp.experts.up_proj", {"ffn_up_exps"}},
        {"mlp.experts.down_proj", {"ffn_down_exps"}},
        {"mlp.shared_experts.gate_proj", {"ffn_gate_shexp"}},
        {"mlp.shared_experts.up_proj", {"ffn_up_shexp"}},
        {"mlp.shared_experts.down_proj", {"ffn_down_shexp"}},
        {"mlp.shared_expert_gate", {"ffn_gate_inp_shexp"}}};
    return names;
}

/// Every name of GGUF that a module may have, without the ends ".weight" and ".bias".
std::vector<std::string> gguf_candidates(const std::string& module) {
    static const std::unordered_map<std::string_view, std::string_view> outside{
        {"model.embed_tokens", "token_embd"},
        {"model.embed_positions", "position_embd"},
        {"model.embed_norm", "token_embd_norm"},
        {"model.norm", "output_norm"},
        {"lm_head", "output"}};
    if (const auto found = outside.find(module); found != outside.end()) return {std::string(found->second)};
    constexpr std::string_view blocks = "model.layers.";
    if (!module.starts_with(blocks)) return {};
    const std::size_t dot = module.find('.', blocks.size());
    if (dot == std::string::npos) return {};
    const auto found = gguf_names().find(std::string_view(module).substr(dot + 1));
    if (found == gguf_names().end()) return {};
    std::vector<std::string> all;
    for (const std::string_view name : found->second)
        all.push_back("blk." + module.substr(blocks.size(), dot - blocks.size()) + '.' + std::string(name));
    return all;
}

}  // namespace

GgufBook::GgufBook(const GgufFile& file, const LanguageModel& model, bool use_sizes)
    : file_(file),
      layers_(model.layers),
      predicts_more_(model.unread_blocks > 0),
      use_sizes_(use_sizes),
      taken_(file.tensors().size(), 0) {
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
        const std::string& name = file.tensors()[i].name;
        modules_[name.substr(0, name.rfind('.'))].push_back(i);
    }
}

std::vector<HeldTensor> GgufBook::take(const std::string& module, std::span<const WantedTensor> wanted) {
    std::vector<HeldTensor> held;
    const std::vector<std::string> candidates = gguf_candidates(module);
    // Types of llama.cpp, or those that are wanted in their place.
    const auto bytes_of = [&](const GgufFile::Tensor& tensor) {
        if (use_sizes_ || wanted.empty()) return tensor.bytes;
        const std::string leaf = tensor.name.substr(tensor.name.rfind('.') + 1);
        const auto same = std::ranges::find(wanted, leaf, &WantedTensor::leaf);
        const WantedTensor& like = same == wanted.end() ? wanted.front() : *same;
        return static_cast<std::int64_t>(
            std::ceil(static_cast<double>(like.bytes) * elements(tensor.shape) / elements(like.shape)));
    };
    for (const std::string& candidate : candidates) {
        const auto found = modules_.find(candidate);
        if (found == modules_.end()) continue;
        for (const std::size_t i : found->second) {
            if (taken_[i] != 0) continue;
            const GgufFile::Tensor& tensor = file_.tensors()[i];
            taken_[i] = 1;
            held.push_back({tensor.name, bytes_of(tensor), elements(tensor.shape)});
        }
        // Of the two norms that may follow attention, a module has one.
        if (candidate.ends_with("_norm")) break;
    }
    if (held.empty() && !wanted.empty())
        file_.fail(candidates.empty() ? module : candidates.front() + ".weight",
                   "is missing, and models of architecture " + architecture() +
                       " need it here: take another copy, or export the model from PyTorch with "
                       "placewright.export(model, inputs, \"model.json\")");
    return held;
}

std::string GgufBook::architecture() const {
    return in_quotes(printable(file_.text_or("general.architecture", ""), 80));
}

bool GgufBook::is_beyond_layers(const std::string& tensor) const {
    constexpr std::string_view kBlock = "blk.";
    if (!tensor.starts_with(kBlock)) return false;
    std::int64_t block = 0;
    std::from_chars(tensor.data() + kBlock.size(), tensor.data() + tensor.size(), block);
    return block >= layers_;
}

std::string GgufBook::left_out() const {
    std::size_t left = 0;
    std::string example;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const std::string& name = file_.tensors()[i].name;
        if (taken_[i] != 0) continue;
        if (name.starts_with("rope_freqs") || name.starts_with("rope_factors") ||
            name.find(".rope_f") != std::string::npos || name.find(".nextn.") != std::string::npos ||
            (predicts_more_ && is_beyond_layers(name))) {
            ++left;
            example = name;
            continue;
        }
        if (is_beyond_layers(name))
            file_.fail("tensor " + in_quotes(printable(name, 200)),
                       "is of a block beyond the " + std::to_string(layers_) + " of " +
                           file_.text_or("general.architecture", "") + ".block_count; take another copy");
        file_.fail("tensor " + in_quotes(printable(name, 200)),
                   "is not known here in a model of architecture " + architecture() +
                       "; export the model from PyTorch with placewright.export(model, inputs, "
                       "\"model.json\")");
    }
    if (left == 0) return {};
    return std::to_string(left) + (left == 1 ? " stored tensor is" : " stored tensors are") +
           " not read by the model and left out: such as " + in_quotes(example);
}

}  // namespace placewright
