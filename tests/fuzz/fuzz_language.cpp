// SPDX-License-Identifier: MIT
// Language models: config.json and GGUF headers, read and built.
#include <cstring>

#include "core/io/language/gguf.hpp"
#include "core/io/language/language_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

namespace {

std::string bytes_of(std::uint64_t value, std::size_t count) {
    std::string text(count, '\0');
    std::memcpy(text.data(), &value, count);
    return text;
}

std::string text_of(const std::string& text) {
    return bytes_of(text.size(), 8) + text;
}

/// A layer of a decoder, or, with `more`, of experts and latent attention, behind a table of positions.
std::string gguf(bool more = false) {
    std::string keys = text_of("general.architecture") + bytes_of(8, 4) + text_of("llama");
    std::uint64_t pairs = 1;
    for (const auto& [key, value] :
         std::initializer_list<std::pair<const char*, std::uint64_t>>{{"block_count", 1},
                                                                      {"embedding_length", 64},
                                                                      {"feed_forward_length", 96},
                                                                      {"attention.head_count", 8}}) {
        keys += text_of(std::string("llama.") + key) + bytes_of(4, 4) + bytes_of(value, 4);
        ++pairs;
    }
    if (more) {
        for (const auto& [key, value] :
             std::initializer_list<std::pair<const char*, std::uint64_t>>{{"expert_count", 4},
                                                                          {"expert_used_count", 2},
                                                                          {"expert_feed_forward_length", 32},
                                                                          {"attention.kv_lora_rank", 16},
                                                                          {"attention.key_length", 12},
                                                                          {"attention.value_length", 8},
                                                                          {"rope.dimension_count", 4},
                                                                          {"attention.sliding_window", 16}}) {
            keys += text_of(std::string("llama.") + key) + bytes_of(4, 4) + bytes_of(value, 4);
            ++pairs;
        }
    }
    std::string tensors;
    std::uint64_t count = 0;
    const auto add = [&](const std::string& name, std::initializer_list<std::uint64_t> extents,
                         std::uint64_t type) {
        tensors += text_of(name) + bytes_of(extents.size(), 4);
        for (const std::uint64_t extent : extents) tensors += bytes_of(extent, 8);
        tensors += bytes_of(type, 4) + bytes_of(0, 8);
        ++count;
    };
    add("token_embd.weight", {64, 100}, 2);
    if (more) {
        add("position_embd.weight", {64, 32}, 1);
        add("blk.0.attn_q.weight", {64, 96}, 1);
        add("blk.0.attn_kv_a_mqa.weight", {64, 20}, 1);
        add("blk.0.attn_kv_a_norm.weight", {16}, 0);
        add("blk.0.attn_k_b.weight", {8, 16, 8}, 1);
        add("blk.0.attn_v_b.weight", {16, 8, 8}, 1);
        add("blk.0.attn_output.weight", {64, 64}, 1);
        add("blk.0.ffn_gate_inp.weight", {64, 4}, 0);
        for (const char* name : {"ffn_gate", "ffn_up"}) {
            add(std::string("blk.0.") + name + "_exps.weight", {64, 32, 4}, 2);
            add(std::string("blk.0.") + name + "_shexp.weight", {64, 32}, 2);
        }
        add("blk.0.ffn_down_exps.weight", {32, 64, 4}, 2);
        add("blk.0.ffn_down_shexp.weight", {32, 64}, 2);
    } else {
        for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"})
            add(std::string("blk.0.") + name + ".weight", {64, 64}, 2);
        for (const char* name : {"ffn_gate", "ffn_up"})
            add(std::string("blk.0.") + name + ".weight", {64, 96}, 12);
        add("blk.0.ffn_down.weight", {96, 64}, 2);
    }
    for (const char* name : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"})
        add(std::string(name) + ".weight", {64}, 0);
    return "GGUF" + bytes_of(3, 4) + bytes_of(count, 8) + bytes_of(pairs, 8) + keys + tensors;
}

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    for (const LanguagePhase phase : {LanguagePhase::decode, LanguagePhase::training}) {
        LanguageOptions options;
        options.phase = phase;
        options.sequence = 7;
        try {
            if (is_gguf(file.path())) {
                read_language_model(Path(file.path()), 2, options);
            } else {
                read_language_model(JsonFile(file.path()), 2, options);
            }
        } catch (const InputError&) {
            // What is wrong is said.
        }
    }
    return 0;
}

std::vector<std::string> seeds() {
    const auto config = [](const std::string& type, const std::string& more) {
        return R"({"model_type":")" + type +
               R"(","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":8,)" +
               R"("num_key_value_heads":2,"intermediate_size":96,"vocab_size":100,"torch_dtype":"bfloat16")" +
               more + "}";
    };
    return {
        gguf(),
        gguf(true),
        config("llama", ""),
        config("qwen3_moe",
               R"(,"head_dim":8,"num_experts":4,"num_experts_per_tok":2,"moe_intermediate_size":32)"),
        config("gemma2", R"(,"head_dim":8,"sliding_window":16)"),
        config(
            "deepseek_v3",
            R"(,"q_lora_rank":16,"kv_lora_rank":16,"qk_nope_head_dim":8,"qk_rope_head_dim":4,"v_head_dim":8,)"
            R"("n_routed_experts":4,"num_experts_per_tok":2,"n_shared_experts":1,"moe_intermediate_size":32,)"
            R"("first_k_dense_replace":1,"quantization_config":{"quant_method":"fp8","weight_block_size":[8,8]})"),
        R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":8,"vocab_size":100,"n_positions":32})",
        R"({"model_type":"t5","d_model":64,"d_kv":8,"d_ff":96,"num_layers":2,"num_heads":8,"vocab_size":100})",
        R"({"model_type":"whisper","d_model":64,"encoder_layers":2,"decoder_layers":2,"encoder_ffn_dim":96,)"
        R"("decoder_ffn_dim":96,"encoder_attention_heads":8,"decoder_attention_heads":8,"vocab_size":100})",
        config("stablelm", R"(,"qk_layernorm":true)"),
        config("gpt_oss",
               R"(,"head_dim":8,"num_local_experts":4,"num_experts_per_tok":2,"sliding_window":16,)"
               R"("quantization_config":{"quant_method":"mxfp4"})"),
    };
}
