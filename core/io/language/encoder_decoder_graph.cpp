// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/io/language/block_builder.hpp"
#include "core/io/language/family_graphs.hpp"

namespace placewright {
namespace {

class EncoderDecoderBuilder : public BlockBuilder {
public:
    using BlockBuilder::BlockBuilder;

    Graph encoder_decoder() {
        const bool runs = phase_ != LanguagePhase::decode;
        const OpOutput memory = encoded(runs);
        OpOutput x;
        if (is_t5() && shared_) {
            // Both halves read the same table.
            colocate_ = table_;
            const OpOutput input = tokens_input("decoder_input_ids", tokens_);
            Op made = op("shared", "embedding", {});
            made.name = "decoder/shared";
            made.read_bytes = bytes_of_rows(model_.vocabulary, tokens_);
            x = add(std::move(made), {batch_, tokens_, model_.hidden}, std::array{input});
            colocate_.clear();
        } else {
            x = embedded(tokens_);
        }
        if (!is_t5()) {
            const std::string module = "model.decoder.embed_positions";
            const OpOutput rows = positions(module, model_.positions, model_.hidden, tokens_);
            x = sum(module, "add", x, rows);
            colocate_.clear();
        }
        const std::string blocks = is_t5() ? "decoder.block." : "model.decoder.layers.";
        for (std::int64_t i = 0; i < model_.layers; ++i) {
            const std::string path = blocks + std::to_string(i);
            const auto layer = static_cast<std::size_t>(i);
            begin_block(path);
            const BlockNames& names = family_.block;
            x = sum(path, "add_1", self_attention(path, names, norm(joined(path, names.norm1), x), layer), x);
            x = cross_attention(path, x, memory, runs);
            x = sum(path, "add_2", mlp(path, names, norm(joined(path, names.norm2), x), layer), x);
            end_block();
        }
        x = final_norm(is_t5() ? "decoder.final_layer_norm" : "model.decoder.layer_norm", x);
        if (model_.base_model) return graph_.build();
        head(x, std::string(family_.head), model_.vocabulary, false, model_.tied);
        return graph_.build();
    }

private:
    /// A module that runs if its part of the model does; the tensors are held in either case.
    OpOutput map_if(bool runs, const std::string& module, const OpOutput& from, std::int64_t in,
                    std::int64_t out, bool bias) {
        if (runs) return linear(module, from, in, out, bias);
        idle(module, linear_tensors(module, in, out, bias, Role::linear));
        return {};
    }

    OpOutput norm_if(bool runs, const std::string& module, const OpOutput& from) {
        if (runs) return norm(module, from);
        idle(module, norm_tensors(model_.hidden));
        return {};
    }

    std::int64_t encoder_tokens() const {
        return model_.encoder_tokens > 0 ? model_.encoder_tokens : sequence_;
    }

    bool is_t5() const { return family_.shape == FamilyShape::t5; }

    std::string encoder_name(std::string_view name) const {
        // In the decoder, layer.1 is attention to the encoder and layer.2 the feed-forward.
        std::string text(name);
        if (text.starts_with("layer.2.")) text[6] = '1';
        return text;
    }

    OpOutput encoder_block(bool runs, const std::string& path, const OpOutput& from, std::int64_t layer) {
        begin_block(path);
        const BlockNames& names = family_.block;
        const auto at = [&](std::string_view name) { return joined(path, encoder_name(name)); };
        const std::int64_t heads = model_.encoder_heads, dim = head_dim_of_encoder(),
                           tokens = encoder_tokens();
        const bool bias = model_.qkv_bias;
        OpOutput x = from;
        const OpOutput first = norm_if(runs, at(names.norm1), x);
        const std::array inputs{map_if(runs, at(names.q), first, model_.hidden, heads * dim, bias),
                                map_if(runs, at(names.k), first, model_.hidden, heads * dim, bias && is_t5()),
                                map_if(runs, at(names.v), first, model_.hidden, heads * dim, bias)};
        const std::int64_t buckets = is_t5() && layer == 0 ? model_.position_buckets : 0;
        OpOutput attended;
        if (runs) {
            attended = attend({.module = at(names.attention),
                               .heads = heads,
                               .width = heads * dim,
                               .flops_per_pair = 4.0 * static_cast<double>(heads * dim),
                               .pairs = static_cast<double>(tokens) * static_cast<double>(tokens),
                               .position_buckets = buckets},
                              inputs, tokens);
            attended.shape = {batch_, tokens, heads * dim};
        } else if (buckets > 0) {
            idle(at(names.attention) + ".relative_attention_bias",
                 std::array{wanted("weight", {buckets, heads}, Role::plain, {})});
        }
        attended = map_if(runs, at(names.out), attended, heads * dim, model_.hidden, model_.out_bias);
        if (runs) x = sum(path, "add_1", attended, x);
        const OpOutput second = norm_if(runs, at(names.norm2), x);
        OpOutput gate, hidden;
        if (!names.gate.empty())
            gate = map_if(runs, at(names.gate), second, model_.hidden, model_.encoder_width, model_.mlp_bias);
        hidden = map_if(runs, at(names.up), second, model_.hidden, model_.encoder_width, model_.mlp_bias);
        if (runs) {
            const std::string module = joined(
                path, encoder_name(names.down.substr(0, std::min(names.down.rfind('.'), names.down.size()))));
            const std::string where = is_t5() ? module : path;
            if (names.gate.empty()) {
                hidden = activated(where, hidden, model_.encoder_width);
            } else {
                const OpOutput active = activated(where, gate, model_.encoder_width);
                hidden = plain(where, "mul", "mul", active.shape, std::array{active, hidden});
            }
        }
        const OpOutput mapped =
            map_if(runs, at(names.down), hidden, model_.encoder_width, model_.hidden, model_.mlp_bias);
        if (runs) x = sum(path, "add_2", mapped, x);
        end_block();
        return x;
    }

    std::int64_t head_dim_of_encoder() const {
        return is_t5() ? model_.head_dim : model_.hidden / std::max<std::int64_t>(1, model_.encoder_heads);
    }

    /// What the encoder gives the decoder; nothing in decode, where its keys and values are in the cache.
    OpOutput encoded(bool runs) {
        OpOutput x;
        std::string blocks;
        if (is_t5()) {
            blocks = "encoder.block.";
            if (runs) {
                colocate_ = label_of("shared");
                const OpOutput input = tokens_input("input_ids", encoder_tokens());
                x = lookup("shared", input, model_.vocabulary, model_.hidden, encoder_tokens());
                table_ = label_of("shared");
                shared_ = true;
                colocate_.clear();
            }
        } else {
            blocks = "model.encoder.layers.";
            x = sound(runs);
        }
        for (std::int64_t layer = 0; layer < model_.encoder_layers; ++layer)
            x = encoder_block(runs, blocks + std::to_string(layer), x, layer);
        return norm_if(runs, is_t5() ? "encoder.final_layer_norm" : "model.encoder.layer_norm", x);
    }

    /// The convolutions of Whisper: frames of sound, twice as many as the encoder's tokens.
    OpOutput sound(bool runs) {
        const std::int64_t tokens = encoder_tokens(), hidden = model_.hidden;
        colocate_ = label_of("model.encoder.conv1");
        const std::string table = "model.encoder.embed_positions";
        const std::array positions_tensors{wanted("weight", {tokens, hidden}, Role::plain, table)};
        if (!runs) {
            for (const auto& [name, in] : {std::pair("model.encoder.conv1", model_.channels),
                                           std::pair("model.encoder.conv2", hidden)})
                idle(name, std::array{wanted("weight", {hidden, in, 3}, Role::plain, name),
                                      wanted("bias", {hidden}, Role::plain, name)});
            idle(table, positions_tensors);
            colocate_.clear();
            return {};
        }
        Op frames;
        frames.name = "input_features";
        frames.kind = "input";
        frames.colocate = colocate_;
        frames.outputs = {make_tensor({batch_, model_.channels, 2 * tokens}, type_)};
        const OpOutput input{static_cast<OpId>(graph_.size()), *frames.outputs[0].shape};
        graph_.add(std::move(frames));
        OpOutput x = convolution("model.encoder.conv1", "conv1d", input, {model_.channels, 3},
                                 {batch_, hidden, 2 * tokens});
        x = plain("model.encoder", "gelu_1", "gelu", x.shape, std::array{x});
        x = convolution("model.encoder.conv2", "conv1d", x, {hidden, 3}, {batch_, hidden, tokens});
        x = plain("model.encoder", "gelu_2", "gelu", {batch_, tokens, hidden}, std::array{x});
        Held held;
        hold(held, table, positions_tensors);
        Op made = op(table, "add", held);
        made.flops = elements(x.shape);
        x = add(std::move(made), x.shape, std::array{x});
        colocate_.clear();
        return x;
    }

    OpOutput cross_attention(const std::string& path, const OpOutput& x, const OpOutput& memory, bool runs) {
        const BlockNames& names = family_.block;
        const auto at = [&](std::string_view name) { return joined(path, name); };
        const std::int64_t heads = model_.heads, dim = model_.head_dim;
        const OpOutput first = norm(at(names.cross_norm), x);
        std::vector<OpOutput> inputs{
            linear(at(names.cross_q), first, model_.hidden, heads * dim, model_.qkv_bias)};
        const OpOutput key =
            map_if(runs, at(names.cross_k), memory, model_.hidden, heads * dim, model_.qkv_bias && is_t5());
        const OpOutput value =
            map_if(runs, at(names.cross_v), memory, model_.hidden, heads * dim, model_.qkv_bias);
        if (runs) inputs.insert(inputs.end(), {key, value});
        const std::int64_t width = heads * dim;
        const OpOutput attended =
            attend({.module = at(names.cross),
                    .heads = heads,
                    .width = width,
                    .flops_per_pair = 4.0 * static_cast<double>(width),
                    .pairs = static_cast<double>(tokens_) * static_cast<double>(encoder_tokens()),
                    .cached_elements = 2 * width,
                    .cached_tokens = encoder_tokens(),
                    .read_tokens = encoder_tokens()},
                   inputs, tokens_);
        const OpOutput mapped = output_map(at(names.cross_out), attended, width, model_.out_bias);
        return sum(path, "add_cross", mapped, x);
    }

    bool shared_ = false;  ///< the encoder read the table of the embedding
};

}  // namespace

Graph encoder_decoder_graph(const LanguageStep& step) {
    return EncoderDecoderBuilder(step).encoder_decoder();
}

}  // namespace placewright
