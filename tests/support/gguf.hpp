// SPDX-License-Identifier: MIT
// Headers of GGUF files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace placewright::test {

/// The header of a GGUF file.
class Gguf {
public:
    Gguf& text(const std::string& key, const std::string& value) {
        ++pairs_;
        string(keys_, key);
        number<std::uint32_t>(keys_, 8);
        string(keys_, value);
        return *this;
    }
    Gguf& whole(const std::string& key, std::uint32_t value) {
        ++pairs_;
        string(keys_, key);
        number<std::uint32_t>(keys_, 4);
        number(keys_, value);
        return *this;
    }
    Gguf& truths(const std::string& key, const std::vector<bool>& values) {
        ++pairs_;
        string(keys_, key);
        number<std::uint32_t>(keys_, 9);
        number<std::uint32_t>(keys_, 7);
        number(keys_, static_cast<std::uint64_t>(values.size()));
        for (const bool value : values) keys_ += static_cast<char>(value);
        return *this;
    }
    Gguf& tensor(const std::string& name, std::vector<std::uint64_t> extents, std::uint32_t type) {
        ++count_;
        string(tensors_, name);
        number(tensors_, static_cast<std::uint32_t>(extents.size()));
        for (const std::uint64_t extent : extents) number(tensors_, extent);
        number(tensors_, type);
        number(tensors_, std::uint64_t{0});
        return *this;
    }
    std::string content(std::uint32_t version = 3) const {
        std::string all = "GGUF";
        number(all, version);
        number(all, count_);
        number(all, pairs_);
        return all + keys_ + tensors_;
    }

private:
    template <class Number>
    static void number(std::string& to, Number value) {
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        to.append(bytes, sizeof value);
    }
    static void string(std::string& to, const std::string& text) {
        number(to, static_cast<std::uint64_t>(text.size()));
        to += text;
    }

    std::string keys_, tensors_;
    std::uint64_t pairs_ = 0, count_ = 0;
};

/// A LLaMA of one layer: hidden size 64, 8 heads of 8, 2 for keys and values, width 96, 1000 words; Q4_0 for
/// the maps, F32 for the norms, a tied head.
inline Gguf small_gguf() {
    constexpr std::uint32_t kF32 = 0, kQ4 = 2;
    return Gguf()
        .text("general.architecture", "llama")
        .whole("llama.block_count", 1)
        .whole("llama.embedding_length", 64)
        .whole("llama.feed_forward_length", 96)
        .whole("llama.attention.head_count", 8)
        .whole("llama.attention.head_count_kv", 2)
        .whole("llama.context_length", 512)
        .tensor("token_embd.weight", {64, 1000}, kQ4)
        .tensor("blk.0.attn_norm.weight", {64}, kF32)
        .tensor("blk.0.attn_q.weight", {64, 64}, kQ4)
        .tensor("blk.0.attn_k.weight", {64, 16}, kQ4)
        .tensor("blk.0.attn_v.weight", {64, 16}, kQ4)
        .tensor("blk.0.attn_output.weight", {64, 64}, kQ4)
        .tensor("blk.0.ffn_norm.weight", {64}, kF32)
        .tensor("blk.0.ffn_gate.weight", {64, 96}, kQ4)
        .tensor("blk.0.ffn_up.weight", {64, 96}, kQ4)
        .tensor("blk.0.ffn_down.weight", {96, 64}, kQ4)
        .tensor("output_norm.weight", {64}, kF32);
}

}  // namespace placewright::test
