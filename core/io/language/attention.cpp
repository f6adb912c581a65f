// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>

#include "core/io/language/block_builder.hpp"

namespace placewright {

double BlockBuilder::pairs(std::int64_t window) const {
    const auto n = static_cast<double>(sequence_), w = static_cast<double>(window);
    if (phase_ == LanguagePhase::decode) return window > 0 ? std::min(n, w) : n;
    if (!model_.has_decode()) return n * n;
    if (window > 0 && n > w) return w * (w + 1) / 2 + (n - w) * w;
    return n * (n + 1) / 2;
}

std::int64_t BlockBuilder::cached_tokens(std::int64_t window, std::int64_t tokens) const {
    return window > 0 && !options_.full_cache ? std::min(tokens, window) : tokens;
}

OpOutput BlockBuilder::attend(const Attention& attention, std::span<const OpOutput> inputs,
                              std::int64_t tokens) {
    Held held;
    if (attention.sinks)
        hold(held, attention.module,
             std::array{wanted("sinks", {attention.heads}, Role::plain, attention.module)});
    if (attention.position_buckets > 0)
        hold(held, attention.module + ".relative_attention_bias",
             std::array{wanted("weight", {attention.position_buckets, attention.heads}, Role::plain,
                               attention.module)});
    Op made = op(attention.module, "scaled_dot_product_attention", held);
    made.name += "/attention";
    made.flops = static_cast<double>(batch_) * attention.pairs * attention.flops_per_pair;
    if (attention.cached_elements > 0 && phase_ != LanguagePhase::training) {
        const auto bytes = [&](std::int64_t count) {
            return bytes_of({batch_, count, attention.cached_elements}, cache_bits_);
        };
        made.resident_bytes = bytes(attention.cached_tokens);
        if (attention.expanded_elements > 0)
            made.attributes["expanded_cache_bytes"] = std::to_string(
                bytes_of({batch_, attention.cached_tokens, attention.expanded_elements}, cache_bits_));
        if (phase_ == LanguagePhase::decode)
            made.read_bytes = made.parameter_bytes + bytes(attention.read_tokens);
    }
    if (!model_.has_decode()) made.attributes["causal"] = "false";
    return add(std::move(made), {batch_, attention.heads, tokens, attention.width / attention.heads}, inputs);
}

OpOutput BlockBuilder::self_attention(const std::string& block, const BlockNames& names, const OpOutput& from,
                                      std::size_t layer) {
    const auto path = [&](std::string_view name) { return joined(block, name); };
    const std::int64_t heads = model_.heads, kv = model_.kv_heads[layer], dim = model_.head_dim;
    const std::int64_t value_dim = model_.value_dim > 0 ? model_.value_dim : dim;
    const std::int64_t window = model_.window[layer];
    Attention attention{.module = path(names.attention),
                        .heads = heads,
                        .width = heads * value_dim,
                        .flops_per_pair = 2.0 * static_cast<double>(heads * (dim + value_dim)),
                        .pairs = pairs(window),
                        .cached_elements = model_.has_decode() ? kv * (dim + value_dim) : 0,
                        .cached_tokens = cached_tokens(window, sequence_),
                        .read_tokens = window > 0 ? std::min(sequence_, window) : sequence_,
                        .sinks = family_.sinks};
    if (family_.shape == FamilyShape::t5 && layer == 0) attention.position_buckets = model_.position_buckets;
    OpOutput result;
    if (model_.latent) {
        result = latent_attention(block, names, from, attention);
    } else {
        std::vector<OpOutput> inputs;
        if (!names.qkv.empty()) {
            inputs = {linear(path(names.qkv), from, model_.hidden, heads * dim + kv * (dim + value_dim),
                             model_.qkv_bias)};
        } else {
            const bool key_bias = model_.qkv_bias && family_.shape != FamilyShape::whisper;
            inputs = {linear(path(names.q), from, model_.hidden, heads * dim, model_.qkv_bias),
                      linear(path(names.k), from, model_.hidden, kv * dim, key_bias),
                      linear(path(names.v), from, model_.hidden, kv * value_dim, model_.qkv_bias)};
            if (family_.qk_norm || model_.head_norms) {
                inputs[0] = head_norm(path(names.q_norm), inputs[0], heads);
                inputs[1] = head_norm(path(names.k_norm), inputs[1], kv);
            }
        }
        result = attend(attention, inputs, tokens_);
    }
    return output_map(path(names.out), result, attention.width, model_.out_bias);
}

OpOutput BlockBuilder::output_map(const std::string& module, OpOutput from, std::int64_t width, bool bias) {
    from.shape = {batch_, from.shape[2], width};
    return linear(module, from, width, model_.hidden, bias);
}

OpOutput BlockBuilder::latent_attention(const std::string& block, const BlockNames& names,
                                        const OpOutput& from, Attention& attention) {
    const LatentAttention& latent = *model_.latent;
    const auto path = [&](const char* name) {
        return joined(block, std::string(names.attention) + '.' + name);
    };
    const std::int64_t heads = model_.heads;
    OpOutput query = from;
    if (latent.q_rank > 0) {
        query = linear(path("q_a_proj"), from, model_.hidden, latent.q_rank, model_.qkv_bias);
        query = norm(path("q_a_layernorm"), query);
        query = linear(path("q_b_proj"), query, latent.q_rank, heads * (latent.nope + latent.rope), false);
    } else {
        query = linear(path("q_proj"), from, model_.hidden, heads * (latent.nope + latent.rope), false);
    }
    const OpOutput compressed = linear(path("kv_a_proj_with_mqa"), from, model_.hidden,
                                       latent.kv_rank + latent.rope, model_.qkv_bias);
    OpOutput kept = compressed;
    kept.shape.back() = latent.kv_rank;
    {
        Held held;
        hold(held, path("kv_a_layernorm"), norm_tensors(latent.kv_rank));
        kept = add_norm(op(path("kv_a_layernorm"), "rms_norm", held), compressed, kept.shape);
    }
    const OpOutput expanded =
        linear(path("kv_b_proj"), kept, latent.kv_rank, heads * (latent.nope + latent.value), false);
    const bool absorbed = phase_ == LanguagePhase::decode && options_.latent_cache == LatentCache::compressed;
    attention.width = heads * latent.value;
    attention.flops_per_pair = 2.0 * static_cast<double>(heads) *
                               static_cast<double>(absorbed ? 2 * latent.kv_rank + latent.rope
                                                            : latent.nope + latent.rope + latent.value);
    attention.cached_elements = heads * (latent.nope + latent.rope + latent.value);
    if (options_.latent_cache == LatentCache::compressed)
        attention.expanded_elements = std::exchange(attention.cached_elements, latent.kv_rank + latent.rope);
    return attend(attention, std::array{query, expanded, compressed}, tokens_);
}

}  // namespace placewright
