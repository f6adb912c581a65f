// SPDX-License-Identifier: MIT
// Blocks of transformers, the embedding before them and the head after them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/language/module_builder.hpp"

namespace placewright {

class BlockBuilder : public ModuleBuilder {
public:
    using ModuleBuilder::ModuleBuilder;

protected:
    // The ends of the model and its blocks (block_builder.cpp).
    void begin_block(const std::string& block);
    void end_block();
    OpOutput block(const std::string& path, const OpOutput& from, std::size_t layer);
    OpOutput block_at(std::int64_t layer, const OpOutput& from);
    /// The embedding, with the tokens that it reads; `table_` is their label.
    OpOutput embedded(std::int64_t tokens);
    OpOutput with_positions(OpOutput x, std::int64_t tokens);
    /// Logits, of all tokens in training, else of the last one of each sequence.
    void head(OpOutput x, const std::string& module, std::int64_t out, bool bias, bool tied);
    /// The norm before the head; only the last token of a prompt goes on.
    OpOutput final_norm(const std::string& module, OpOutput x);

    // Attention (attention.cpp).
    /// Pairs of positions that attention computes for one sequence and head.
    double pairs(std::int64_t window) const;
    std::int64_t cached_tokens(std::int64_t window, std::int64_t tokens) const;
    struct Attention {
        std::string module;  ///< of the op
        std::int64_t heads = 0, width = 0;
        double flops_per_pair = 0, pairs = 0;
        std::int64_t cached_elements = 0;    ///< a token; 0: no cache
        std::int64_t expanded_elements = 0;  ///< of latents, if the cache holds them compressed
        std::int64_t cached_tokens = 0, read_tokens = 0;
        bool sinks = false;
        std::int64_t position_buckets = 0;
    };
    OpOutput attend(const Attention& attention, std::span<const OpOutput> inputs, std::int64_t tokens);
    /// Attention of a layer to the sequence itself.
    OpOutput self_attention(const std::string& block, const BlockNames& names, const OpOutput& from,
                            std::size_t layer);
    /// The map of the heads' results. Their order, heads before tokens, is another view.
    OpOutput output_map(const std::string& module, OpOutput from, std::int64_t width, bool bias);
    OpOutput latent_attention(const std::string& block, const BlockNames& names, const OpOutput& from,
                              Attention& attention);

    // Feed-forward layers and experts (feed_forward.cpp).
    struct MapNames {
        std::string gate, up, gate_up, down;
    };
    OpOutput feed_forward(const std::string& block, const MapNames& names, const OpOutput& from,
                          std::int64_t width, bool bias);
    OpOutput mlp(const std::string& block, const BlockNames& names, const OpOutput& from, std::size_t layer);
    /// A layer of experts (Shazeer and others, 2017): a router, the maps of the chosen ones, and those of the
    /// shared ones.
    OpOutput mixture(const std::string& block, const OpOutput& from);
    std::string experts_module(const std::string& block) const;
    OpOutput router_of(const std::string& module, const OpOutput& from);
    /// Maps of all experts from `in` to `out` features, of which each token passes some.
    OpOutput expert_maps(const std::string& block, const std::string& name,
                         std::initializer_list<std::string_view> maps, std::int64_t in, std::int64_t out,
                         std::span<const OpOutput> inputs, Shape shape);
    /// The experts of gpt-oss: blocks of 32 weights with a common exponent, or of the type of the others.
    std::vector<WantedTensor> block_tensors(const std::string& module, const std::string& map,
                                            std::int64_t in, std::int64_t out) const;

    std::string table_;  ///< label of the embedding
};

}  // namespace placewright
