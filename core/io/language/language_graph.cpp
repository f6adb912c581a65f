// SPDX-License-Identifier: MIT
#include "core/io/language/language_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/graph/flops.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kUsualSequence = 4096;
constexpr double kMostBytes = 1e18;

std::int64_t divided_up(std::int64_t number, std::int64_t by) {
    return (number + by - 1) / by;
}

/// What a tensor is for, which decides how it is stored.
enum class Role : std::uint8_t { plain, linear, expert, head };

/// An output of an op.
struct Value {
    OpId op = kInvalidOp;
    Shape shape;
};

class Builder {
public:
    Builder(const LanguageModel& model, const LanguageOptions& options, std::int64_t batch, TensorBook& book)
        : model_(model),
          family_(model.family),
          options_(options),
          book_(book),
          graph_(model.name, batch,
                 options.phase == LanguagePhase::training ? Training::implicit : Training::none),
          batch_(batch),
          sequence_(sequence_of(model, options)),
          phase_(options.phase) {
        if (!model.has_decode() && phase_ == LanguagePhase::decode) phase_ = LanguagePhase::prefill;
        if (family_.shape == FamilyShape::image_encoder) sequence_ = model.positions;
        tokens_ = phase_ == LanguagePhase::decode ? 1 : sequence_;
        cache_bits_ =
            options.cache ? bits_of(*options.cache) : 8 * bytes_per_element(model.activations_with(options));
        type_ = model.activations_with(options);
    }

    Graph run() {
        switch (family_.shape) {
            case FamilyShape::decoder:
                decoder();
                break;
            case FamilyShape::encoder:
                encoder();
                break;
            case FamilyShape::image_encoder:
                image_encoder();
                break;
            case FamilyShape::t5:
            case FamilyShape::whisper:
                encoder_decoder();
                break;
        }
        return graph_.build();
    }

private:
    // --- tensors

    std::int64_t bits(Role role, const std::string& module, const Shape& shape) const {
        const std::int64_t stored = bits_of(model_.stored);
        const bool linear = role == Role::linear || role == Role::expert;
        if (options_.weights) {
            const std::int64_t wanted = bits_of(*options_.weights);
            if (wanted >= 16) return wanted;
            return linear && shape.size() == 2 ? wanted : stored;
        }
        return is_quantized(role, module) ? 8 : stored;
    }

    bool is_quantized(Role role, const std::string& module) const {
        if (options_.weights || (role != Role::linear && role != Role::expert)) return false;
        if (model_.quantization != Quantization::fp8 && model_.quantization != Quantization::bitsandbytes)
            return false;
        return std::ranges::none_of(model_.not_converted, [&](const std::string& skipped) {
            return module == skipped || module.starts_with(skipped + '.') ||
                   module.ends_with('.' + skipped) || module.find('.' + skipped + '.') != std::string::npos;
        });
    }

    static std::int64_t bytes_of(const Shape& shape, std::int64_t bits) {
        const double count = elements(shape) * static_cast<double>(bits) / 8;
        if (count > kMostBytes)
            throw std::invalid_argument("a tensor of the model does not fit into 63 bits");
        std::int64_t product = bits;
        for (const std::int64_t extent : shape) product *= extent;
        return divided_up(product, 8);
    }

    WantedTensor wanted(const std::string& leaf, Shape shape, Role role, const std::string& module) const {
        const std::int64_t width = bits(role, module, shape);
        const std::int64_t bytes = bytes_of(shape, width);
        return {leaf, std::move(shape), bytes};
    }

    std::vector<WantedTensor> linear_tensors(const std::string& module, std::int64_t in, std::int64_t out,
                                             bool bias, Role role) const {
        Shape shape = family_.transposed ? Shape{in, out} : Shape{out, in};
        std::vector<WantedTensor> tensors{wanted("weight", std::move(shape), role, module)};
        if (is_quantized(role, module)) {
            if (model_.quantization == Quantization::bitsandbytes) {
                tensors.push_back({"SCB", {out}, 4 * out});
                tensors.push_back({"weight_format", {}, 1});
            } else if (model_.scale_rows > 0) {
                const Shape scales{divided_up(out, model_.scale_rows), divided_up(in, model_.scale_columns)};
                tensors.push_back({"weight_scale_inv", scales, bytes_of(scales, 32)});
            } else {
                tensors.push_back({"weight_scale", {1}, 4});
            }
        }
        if (bias) tensors.push_back(wanted("bias", {out}, Role::plain, module));
        return tensors;
    }

    std::vector<WantedTensor> norm_tensors(std::int64_t width) const {
        std::vector<WantedTensor> tensors{wanted("weight", {width}, Role::plain, {})};
        if (model_.norm_bias) tensors.push_back(wanted("bias", {width}, Role::plain, {}));
        return tensors;
    }

    // --- ops

    struct Held {
        std::int64_t bytes = 0;
        double elements = 0;  ///< of the first tensor; 0: as wanted
        Json names = Json::array(), sizes = Json::array();
    };

    void hold(Held& held, const std::string& module, std::span<const WantedTensor> tensors) {
        bool first = true;
        for (HeldTensor& tensor : book_.take(module, tensors)) {
            held.bytes += tensor.bytes;
            // The weight of a GGUF file says more than the numbers beside it.
            if (first || tensor.elements > held.elements) held.elements = tensor.elements;
            first = false;
            held.names.push_back(std::move(tensor.name));
            held.sizes.push_back(tensor.bytes);
            all_bytes_ += static_cast<double>(tensor.bytes);
        }
        if (all_bytes_ > kMostBytes)
            throw std::invalid_argument("the tensors of the model do not fit into 63 bits");
    }

    Op op(const std::string& module, const char* kind, const Held& held) const {
        Op op;
        op.scope = scope_of_module(book_.path_of(module));
        op.name = op.scope;
        op.kind = kind;
        op.parameter_bytes = held.bytes;
        if (held.bytes > 0) op.parameter_dtype = type_;
        if (!held.names.empty()) {
            op.attributes["parameters"] = held.names.dump();
            op.attributes["parameter_bytes"] = held.sizes.dump();
        }
        op.colocate = colocate_;
        if (!block_.empty()) op.attributes["block"] = Json(block_).dump();
        return op;
    }

    Value add(Op op, Shape shape, std::span<const Value> inputs) {
        for (const Value& input : inputs) op.inputs.push_back({input.op, 0});
        op.outputs = {make_tensor(shape, type_)};
        const Value value{static_cast<OpId>(graph_.size()), std::move(shape)};
        graph_.add(std::move(op));
        return value;
    }

    /// An op without tensors in a module. Its FLOPs are those of its kind.
    Value plain(const std::string& module, const std::string& name, const char* kind, Shape shape,
                std::span<const Value> inputs) {
        Op made = op(module, kind, {});
        made.name = made.scope.empty() ? name : made.scope + '/' + name;
        std::vector<Shape> shapes;
        for (const Value& input : inputs) shapes.push_back(input.shape);
        const std::vector<Shape> outputs{shape};
        made.flops = forward_flops({kind, shapes, outputs}).value_or(elements(shape));
        return add(std::move(made), std::move(shape), inputs);
    }

    Value sum(const std::string& module, const std::string& name, const Value& a, const Value& b) {
        return plain(module, name, "add", a.shape, std::array{a, b});
    }

    /// A module that does not run in this phase and still takes memory.
    void idle(const std::string& module, std::span<const WantedTensor> tensors) {
        Held held;
        hold(held, module, tensors);
        Op made = op(module, "constant", held);
        made.read_bytes = 0;
        add(std::move(made), {0}, {});
    }

    /// A linear map of the last extent. It computes `rows` rows; -1: all of its input.
    Value linear(const std::string& module, const Value& from, std::int64_t in, std::int64_t out, bool bias,
                 Role role = Role::linear) {
        Held held;
        hold(held, module, linear_tensors(module, in, out, bias, role));
        Op made = op(module, "linear", held);
        Shape shape = from.shape;
        const double rows = elements(shape) / static_cast<double>(shape.back());
        shape.back() = out;
        made.flops = 2 * rows *
                     (held.elements > 0 ? held.elements : static_cast<double>(in) * static_cast<double>(out));
        return add(std::move(made), std::move(shape), std::array{from});
    }

    Value norm(const std::string& module, const Value& from) {
        Held held;
        hold(held, module, norm_tensors(from.shape.back()));
        return add_norm(op(module, family_.layer_norm ? "layer_norm" : "rms_norm", held), from, from.shape);
    }

    Value add_norm(Op made, const Value& from, const Shape& shape) {
        made.flops = 4 * elements(shape);
        return add(std::move(made), shape, std::array{from});
    }

    /// A norm of each head: of `width` values with weights that all heads share, or with weights of each.
    Value head_norm(const std::string& module, const Value& from, std::int64_t heads) {
        Held held;
        if (model_.head_norms) {
            for (std::int64_t i = 0; i < heads; ++i)
                hold(held, module + ".norms." + std::to_string(i),
                     std::array{wanted("weight", {model_.head_dim}, Role::plain, {})});
        } else {
            hold(held, module, std::array{wanted("weight", {model_.head_dim}, Role::plain, {})});
        }
        return add_norm(op(module, "rms_norm", held), from, from.shape);
    }

    /// Rows of a table.
    Value lookup(const std::string& module, const Value& indices, std::int64_t rows, std::int64_t width,
                 std::int64_t tokens) {
        Held held;
        hold(held, module, std::array{wanted("weight", {rows, width}, Role::head, module)});
        Op made = op(module, "embedding", held);
        const double row = static_cast<double>(held.bytes) / static_cast<double>(rows);
        made.read_bytes =
            std::min(held.bytes, static_cast<std::int64_t>(row * static_cast<double>(batch_ * tokens)));
        return add(std::move(made), {batch_, tokens, width}, std::array{indices});
    }

    Value tokens_input(const std::string& name, std::int64_t tokens) {
        Op made;
        made.name = name;
        made.kind = "input";
        made.colocate = colocate_;
        made.outputs = {make_tensor({batch_, tokens}, DType::int64)};
        const Value value{static_cast<OpId>(graph_.size()), {batch_, tokens}};
        graph_.add(std::move(made));
        return value;
    }

    Value activated(const std::string& module, const Value& from, std::int64_t width) {
        Shape shape = from.shape;
        shape.back() = width;
        return plain(module, std::string(family_.activation), activation(), std::move(shape),
                     std::array{from});
    }
    const char* activation() const {
        if (family_.activation == "gelu") return "gelu";
        return family_.activation == "relu" ? "relu" : "silu";
    }

    // --- attention

    /// Pairs of positions that attention computes for one sequence and head.
    double pairs(std::int64_t window) const {
        const auto n = static_cast<double>(sequence_), w = static_cast<double>(window);
        if (phase_ == LanguagePhase::decode) return window > 0 ? std::min(n, w) : n;
        if (!model_.has_decode()) return n * n;
        if (window > 0 && n > w) return w * (w + 1) / 2 + (n - w) * w;
        return n * (n + 1) / 2;
    }

    std::int64_t cached_tokens(std::int64_t window, std::int64_t tokens) const {
        return window > 0 && !options_.full_cache ? std::min(tokens, window) : tokens;
    }

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

    Value attend(const Attention& attention, std::span<const Value> inputs, std::int64_t tokens) {
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
        return add(std::move(made), {batch_, attention.heads, tokens, attention.width / attention.heads},
                   inputs);
    }

    /// Attention of a layer to the sequence itself.
    Value self_attention(const std::string& block, const BlockNames& names, const Value& from,
                         std::size_t layer) {
        const auto path = [&](std::string_view name) { return joined(block, name); };
        const std::int64_t heads = model_.heads, kv = model_.kv_heads[layer], dim = model_.head_dim;
        const std::int64_t window = model_.window[layer];
        Attention attention{.module = path(names.attention),
                            .heads = heads,
                            .width = heads * dim,
                            .flops_per_pair = 4.0 * static_cast<double>(heads * dim),
                            .pairs = pairs(window),
                            .cached_elements = model_.has_decode() ? 2 * kv * dim : 0,
                            .cached_tokens = cached_tokens(window, sequence_),
                            .read_tokens = window > 0 ? std::min(sequence_, window) : sequence_,
                            .sinks = family_.sinks};
        if (family_.shape == FamilyShape::t5 && layer == 0)
            attention.position_buckets = model_.position_buckets;
        Value result;
        if (model_.latent) {
            result = latent_attention(block, names, from, attention);
        } else {
            std::vector<Value> inputs;
            if (!names.qkv.empty()) {
                inputs = {
                    linear(path(names.qkv), from, model_.hidden, (heads + 2 * kv) * dim, model_.qkv_bias)};
            } else {
                const bool key_bias = model_.qkv_bias && family_.shape != FamilyShape::whisper;
                inputs = {linear(path(names.q), from, model_.hidden, heads * dim, model_.qkv_bias),
                          linear(path(names.k), from, model_.hidden, kv * dim, key_bias),
                          linear(path(names.v), from, model_.hidden, kv * dim, model_.qkv_bias)};
                if (family_.qk_norm || model_.head_norms) {
                    inputs[0] = head_norm(path(names.q_norm), inputs[0], heads);
                    inputs[1] = head_norm(path(names.k_norm), inputs[1], kv);
                }
            }
            result = attend(attention, inputs, tokens_);
        }
        return output_map(path(names.out), result, attention.width, model_.out_bias);
    }

    /// The map of the heads' results. Their order, heads before tokens, is another view.
    Value output_map(const std::string& module, Value from, std::int64_t width, bool bias) {
        from.shape = {batch_, from.shape[2], width};
        return linear(module, from, width, model_.hidden, bias);
    }

    Value latent_attention(const std::string& block, const BlockNames& names, const Value& from,
                           Attention& attention) {
        const LatentAttention& latent = *model_.latent;
        const auto path = [&](const char* name) {
            return joined(block, std::string(names.attention) + '.' + name);
        };
        const std::int64_t heads = model_.heads;
        Value query = from;
        if (latent.q_rank > 0) {
            query = linear(path("q_a_proj"), from, model_.hidden, latent.q_rank, model_.qkv_bias);
            query = norm(path("q_a_layernorm"), query);
            query =
                linear(path("q_b_proj"), query, latent.q_rank, heads * (latent.nope + latent.rope), false);
        } else {
            query = linear(path("q_proj"), from, model_.hidden, heads * (latent.nope + latent.rope), false);
        }
        const Value compressed = linear(path("kv_a_proj_with_mqa"), from, model_.hidden,
                                        latent.kv_rank + latent.rope, model_.qkv_bias);
        Value kept = compressed;
        kept.shape.back() = latent.kv_rank;
        {
            Held held;
            hold(held, path("kv_a_layernorm"), norm_tensors(latent.kv_rank));
            kept = add_norm(op(path("kv_a_layernorm"), "rms_norm", held), compressed, kept.shape);
        }
        const Value expanded =
            linear(path("kv_b_proj"), kept, latent.kv_rank, heads * (latent.nope + latent.value), false);
        const bool absorbed =
            phase_ == LanguagePhase::decode && options_.latent_cache == LatentCache::compressed;
        attention.width = heads * latent.value;
        attention.flops_per_pair = 2.0 * static_cast<double>(heads) *
                                   static_cast<double>(absorbed ? 2 * latent.kv_rank + latent.rope
                                                                : latent.nope + latent.rope + latent.value);
        attention.cached_elements = heads * (latent.nope + latent.rope + latent.value);
        if (options_.latent_cache == LatentCache::compressed)
            attention.expanded_elements =
                std::exchange(attention.cached_elements, latent.kv_rank + latent.rope);
        return attend(attention, std::array{query, expanded, compressed}, tokens_);
    }

    // --- feed-forward

    struct MapNames {
        std::string gate, up, gate_up, down;
    };

    Value feed_forward(const std::string& block, const MapNames& names, const Value& from, std::int64_t width,
                       bool bias) {
        const std::string module = names.down.substr(0, names.down.rfind('.'));
        const std::string where = module.size() > block.size() ? module : block;
        Value hidden;
        if (!names.gate_up.empty()) {
            const Value both = linear(names.gate_up, from, model_.hidden, 2 * width, bias);
            const Value active = activated(where, both, width);
            hidden = plain(where, "mul", "mul", active.shape, std::array{active, both});
        } else if (!names.gate.empty()) {
            const Value gate = linear(names.gate, from, model_.hidden, width, bias);
            const Value up = linear(names.up, from, model_.hidden, width, bias);
            const Value active = activated(where, gate, width);
            hidden = plain(where, "mul", "mul", active.shape, std::array{active, up});
        } else {
            hidden = activated(where, linear(names.up, from, model_.hidden, width, bias), width);
        }
        return linear(names.down, hidden, width, model_.hidden, bias);
    }

    Value mlp(const std::string& block, const BlockNames& names, const Value& from, std::size_t layer) {
        if (model_.experts && model_.experts->dense[layer] == 0) return mixture(block, from);
        const auto path = [&](std::string_view name) {
            return name.empty() ? std::string() : joined(block, name);
        };
        return feed_forward(block, {path(names.gate), path(names.up), path(names.gate_up), path(names.down)},
                            from, model_.width, model_.mlp_bias);
    }

    /// A layer of experts (Shazeer and others, 2017): a router, the maps of the chosen ones, and those of the
    /// shared ones.
    Value mixture(const std::string& block, const Value& from) {
        const ExpertLayers& experts = *model_.experts;
        const ExpertNames& names = family_.experts;
        const double rows = elements(from.shape) / static_cast<double>(from.shape.back());
        const Value router = router_of(joined(block, names.router), from);
        const auto chosen = static_cast<std::int64_t>(rows) * experts.per_token;
        const bool both = names.gate.empty();
        const Value up =
            expert_maps(block, both ? "gate_up" : "up", {names.gate, names.up}, model_.hidden,
                        both ? 2 * experts.width : experts.width, std::array{from, router},
                        {chosen, both || !names.gate.empty() ? 2 * experts.width : experts.width});
        const std::string module = experts_module(block);
        const Value active = activated(module, up, experts.width);
        const Value hidden = plain(module, "mul", "mul", active.shape, std::array{active, up});
        Value result = expert_maps(block, "down", {names.down}, experts.width, model_.hidden,
                                   std::array{hidden, router}, from.shape);
        if (experts.shared_width > 0) {
            const std::string shared = joined(block, names.shared);
            Value other =
                feed_forward(block, {shared + ".gate_proj", shared + ".up_proj", {}, shared + ".down_proj"},
                             from, experts.shared_width, false);
            if (!names.shared_gate.empty()) {
                const Value gate =
                    linear(joined(block, names.shared_gate), from, model_.hidden, 1, false, Role::plain);
                other = plain(shared, "mul_gate", "mul", other.shape, std::array{other, gate});
            }
            result = sum(experts_module(block), "add", result, other);
        }
        return result;
    }

    std::string experts_module(const std::string& block) const {
        const ExpertNames& names = family_.experts;
        if (!names.experts.empty()) return joined(block, names.experts);
        return joined(block, names.up.substr(0, names.up.rfind('.')));
    }

    Value router_of(const std::string& module, const Value& from) {
        const ExpertLayers& experts = *model_.experts;
        std::vector<WantedTensor> tensors{
            wanted("weight", {experts.count, model_.hidden}, Role::plain, module)};
        // Small types are for linear maps, and routers are such.
        if (options_.weights && bits_of(*options_.weights) < 16)
            tensors[0] = wanted("weight", {experts.count, model_.hidden}, Role::linear, module);
        if (experts.bias) tensors.push_back(wanted("bias", {experts.count}, Role::plain, module));
        if (experts.score_correction)
            tensors.push_back({"e_score_correction_bias", {experts.count}, 4 * experts.count});
        Held held;
        hold(held, module, tensors);
        Op made = op(module, "linear", held);
        Shape shape = from.shape;
        made.flops = 2 * elements(shape) * static_cast<double>(experts.count);
        shape.back() = experts.count;
        return add(std::move(made), std::move(shape), std::array{from});
    }

    /// Maps of all experts from `in` to `out` features, of which each token passes some.
    Value expert_maps(const std::string& block, const std::string& name,
                      std::initializer_list<std::string_view> maps, std::int64_t in, std::int64_t out,
                      std::span<const Value> inputs, Shape shape) {
        const ExpertLayers& experts = *model_.experts;
        const ExpertNames& names = family_.experts;
        Held held;
        double count = 0;
        std::string module = experts_module(block);
        for (const std::string_view map : maps) {
            if (map.empty()) continue;
            count += static_cast<double>(in) * static_cast<double>(out);
            if (!names.fused) {
                for (std::int64_t i = 0; i < experts.count; ++i) {
                    const std::string path = module + '.' + std::to_string(i) + '.' + std::string(map);
                    hold(held, path, linear_tensors(path, in, out, false, Role::expert));
                }
            } else if (names.experts.empty()) {
                const std::string path = joined(block, map);
                hold(held, path, std::array{wanted("weight", {experts.count, out, in}, Role::expert, path)});
                if (maps.size() == 1 || names.gate.empty()) module = path;
            } else {
                hold(held, module, block_tensors(module, std::string(map), in, out));
            }
        }
        Op made = op(module, "grouped_linear", held);
        if (!names.fused || !names.experts.empty() || module == experts_module(block))
            made.name += '/' + name;
        const double rows = static_cast<double>(batch_ * tokens_);
        const double share = static_cast<double>(experts.per_token) / static_cast<double>(experts.count);
        made.flops = 2 * rows * static_cast<double>(experts.per_token) * count;
        if (phase_ != LanguagePhase::training)
            made.read_bytes =
                static_cast<std::int64_t>(static_cast<double>(held.bytes) * (1 - std::pow(1 - share, rows)));
        return add(std::move(made), std::move(shape), inputs);
    }

    /// The experts of gpt-oss: blocks of 32 weights with a common exponent, or of the type of the others.
    std::vector<WantedTensor> block_tensors(const std::string& module, const std::string& map,
                                            std::int64_t in, std::int64_t out) const {
        const std::int64_t count = model_.experts->count;
        std::vector<WantedTensor> tensors;
        if (model_.quantization == Quantization::mxfp4 && !options_.weights) {
            const Shape blocks{count, out, divided_up(in, 32), 16}, scales{count, out, divided_up(in, 32)};
            tensors.push_back({map + "_blocks", blocks, bytes_of(blocks, 8)});
            tensors.push_back({map + "_scales", scales, bytes_of(scales, 8)});
        } else {
            tensors.push_back(wanted(map, {count, in, out}, Role::expert, module));
        }
        if (model_.experts->bias) tensors.push_back(wanted(map + "_bias", {count, out}, Role::plain, module));
        return tensors;
    }

    // --- blocks

    static std::string joined(const std::string& block, std::string_view name) {
        if (block.empty()) return std::string(name);
        return name.empty() ? block : block + '.' + std::string(name);
    }

    std::string prefixed(std::string_view name) const {
        return std::string(family_.prefix) + std::string(name);
    }

    void begin_block(const std::string& block) {
        (options_.split_layers ? block_ : colocate_) = scope_of_module(book_.path_of(block));
    }
    void end_block() {
        block_.clear();
        colocate_.clear();
    }

    Value block(const std::string& path, const Value& from, std::size_t layer) {
        begin_block(path);
        const BlockNames& names = family_.block;
        const auto at = [&](std::string_view name) { return joined(path, name); };
        Value x = from;
        if (family_.form == BlockForm::post_norm) {
            x = norm(at(names.norm1), sum(path, "add_1", x, self_attention(path, names, x, layer)));
            x = norm(at(names.norm2), sum(path, "add_2", x, mlp(path, names, x, layer)));
        } else if (family_.form == BlockForm::parallel) {
            const Value first = norm(at(names.norm1), x);
            const Value second = names.norm2.empty() ? first : norm(at(names.norm2), x);
            const Value attended = self_attention(path, names, first, layer);
            const Value parts = sum(path, "add_1", attended, mlp(path, names, second, layer));
            x = sum(path, "add_2", parts, x);
        } else {
            Value attended = self_attention(path, names, norm(at(names.norm1), x), layer);
            if (!names.post_attention_norm.empty()) attended = norm(at(names.post_attention_norm), attended);
            x = sum(path, "add_1", attended, x);
            Value mapped = mlp(path, names, norm(at(names.norm2), x), layer);
            if (!names.post_mlp_norm.empty()) mapped = norm(at(names.post_mlp_norm), mapped);
            x = sum(path, "add_2", mapped, x);
        }
        end_block();
        return x;
    }

    Value block_at(std::int64_t layer, const Value& from) {
        return block(prefixed(family_.blocks) + '.' + std::to_string(layer), from,
                     static_cast<std::size_t>(layer));
    }

    /// The embedding, with the tokens that it reads; `label` keeps both together.
    Value embedded(std::int64_t tokens) {
        const std::string table = prefixed(family_.embedding);
        colocate_ = scope_of_module(book_.path_of(table));
        const Value input = tokens_input("input_ids", tokens);
        const std::int64_t width = model_.embedding_width > 0 ? model_.embedding_width : model_.hidden;
        Value x = lookup(table, input, model_.vocabulary, width, tokens);
        table_ = graph_label(table);
        colocate_.clear();
        return x;
    }

    std::string graph_label(const std::string& module) const {
        return scope_of_module(book_.path_of(module));
    }

    Value with_positions(Value x, std::int64_t tokens) {
        if (family_.positions.empty()) return x;
        const std::string module = prefixed(family_.positions);
        const Value rows = positions(module, model_.positions, model_.hidden, tokens);
        return sum(module, "add", x, rows);
    }

    /// The rows of a table of positions, the same for all sequences.
    Value positions(const std::string& module, std::int64_t rows, std::int64_t width, std::int64_t tokens) {
        Held held;
        hold(held, module, std::array{wanted("weight", {rows, width}, Role::head, module)});
        Op made = op(module, "embedding", held);
        made.colocate = graph_label(module);
        colocate_ = made.colocate;
        made.read_bytes =
            static_cast<std::int64_t>(static_cast<double>(held.bytes) / static_cast<double>(rows) *
                                      static_cast<double>(std::min(tokens, rows)));
        const Value value = add(std::move(made), {1, tokens, width}, {});
        return value;
    }

    /// Logits, of all tokens in training, else of the last one of each sequence.
    void head(Value x, const std::string& module, std::int64_t out, bool bias, bool tied) {
        if (phase_ != LanguagePhase::training) x.shape = {batch_, 1, x.shape.back()};
        Value logits;
        if (tied) {
            colocate_ = table_;
            Op made = op(module, "linear", {});
            made.parameter_dtype = type_;
            made.flops = 2 * elements(x.shape) * static_cast<double>(out);
            made.read_bytes = table_bytes_of(out, x.shape.back());
            Shape shape = x.shape;
            shape.back() = out;
            logits = add(std::move(made), std::move(shape), std::array{x});
        } else {
            logits = linear(module, x, x.shape.back(), out, bias, Role::head);
        }
        if (phase_ == LanguagePhase::training) {
            Op made = op("", "cross_entropy", {});
            made.name = "loss";
            made.flops = 4 * elements(logits.shape);
            add(std::move(made), {}, std::array{logits});
        }
        colocate_.clear();
    }

    std::int64_t table_bytes_of(std::int64_t rows, std::int64_t width) const {
        return bytes_of({rows, width}, bits(Role::head, {}, {rows, width}));
    }

    /// The norm before the head; only the last token of a prompt goes on.
    Value final_norm(const std::string& module, Value x) {
        Held held;
        hold(held, module, norm_tensors(model_.hidden));
        if (phase_ != LanguagePhase::training) x.shape = {batch_, 1, model_.hidden};
        return add_norm(op(module, family_.layer_norm ? "layer_norm" : "rms_norm", held), x, x.shape);
    }

    bool is_classifier() const {
        return model_.class_name.ends_with("ForSequenceClassification") ||
               model_.class_name.ends_with("ForTokenClassification");
    }

    void decoder() {
        Value x = embedded(tokens_);
        if (!family_.embedding_norm.empty()) x = norm(prefixed(family_.embedding_norm), x);
        if (model_.embedding_width > 0 && model_.embedding_width != model_.hidden)
            x = linear(prefixed("decoder.project_in"), x, model_.embedding_width, model_.hidden, false);
        x = with_positions(x, tokens_);
        colocate_.clear();
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) x = block_at(layer, x);
        if (model_.has_final_norm) x = final_norm(prefixed(family_.final_norm), x);
        if (model_.embedding_width > 0 && model_.embedding_width != model_.hidden)
            x = linear(prefixed("decoder.project_out"), x, model_.hidden, model_.embedding_width, false);
        if (model_.vision) vision_tower(*model_.vision);
        if (model_.base_model) return;
        if (is_classifier()) {
            head(x, "score", model_.labels, false, false);
        } else {
            head(x, std::string(family_.head), model_.vocabulary, false, model_.tied);
        }
    }

    void encoder() {
        Value x = embedded(tokens_);
        const std::string types = prefixed(family_.token_types);
        const Value rows = positions(types, model_.token_types, model_.hidden, tokens_);
        x = sum(types, "add", x, rows);
        colocate_.clear();
        x = with_positions(x, tokens_);
        colocate_.clear();
        x = norm(prefixed(family_.embedding_norm), x);
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) x = block_at(layer, x);
        const std::string& name = model_.class_name;
        const bool masked = name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining");
        const bool pooled =
            !masked && !name.ends_with("ForTokenClassification") && !name.ends_with("ForQuestionAnswering");
        Value first = x;
        first.shape = {batch_, 1, model_.hidden};
        if (pooled || name.ends_with("ForPreTraining"))
            first = plain(
                prefixed("pooler"), "tanh", "tanh", first.shape,
                std::array{linear(prefixed("pooler.dense"), first, model_.hidden, model_.hidden, true)});
        if (masked) {
            Value y = linear("cls.predictions.transform.dense", x, model_.hidden, model_.hidden, true);
            y = norm("cls.predictions.transform.LayerNorm",
                     activated("cls.predictions.transform", y, model_.hidden));
            Held held;
            hold(held, "cls.predictions", std::array{wanted("bias", {model_.vocabulary}, Role::plain, {})});
            colocate_ = table_;
            Op made = op("cls.predictions", "linear", held);
            made.name += "/decoder";
            made.flops = 2 * elements(y.shape) * static_cast<double>(model_.vocabulary);
            made.read_bytes = held.bytes + table_bytes_of(model_.vocabulary, model_.hidden);
            add(std::move(made), {batch_, tokens_, model_.vocabulary}, std::array{y});
            colocate_.clear();
            if (name.ends_with("ForPreTraining"))
                linear("cls.seq_relationship", first, model_.hidden, 2, true, Role::head);
        } else if (name.ends_with("ForSequenceClassification")) {
            linear("classifier", first, model_.hidden, model_.labels, true, Role::head);
        } else if (name.ends_with("ForTokenClassification")) {
            linear("classifier", x, model_.hidden, model_.labels, true, Role::head);
        } else if (name.ends_with("ForQuestionAnswering")) {
            linear("qa_outputs", x, model_.hidden, 2, true, Role::head);
        }
    }

    void image_encoder() {
        const std::string projection = prefixed(family_.embedding), embeddings = prefixed("embeddings");
        colocate_ = graph_label(embeddings);
        const std::int64_t patches = model_.positions - 1;
        const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(patches))));
        Op image;
        image.name = "pixel_values";
        image.kind = "input";
        image.colocate = colocate_;
        image.outputs = {
            make_tensor({batch_, model_.channels, side * model_.patch, side * model_.patch}, type_)};
        const Value input{static_cast<OpId>(graph_.size()), *image.outputs[0].shape};
        graph_.add(std::move(image));
        Value x = convolution(projection, "conv2d", input, {model_.channels, model_.patch, model_.patch},
                              {batch_, model_.hidden, side, side});
        Held held;
        hold(
            held, embeddings,
            std::array{wanted("cls_token", {1, 1, model_.hidden}, Role::plain, {}),
                       wanted("position_embeddings", {1, model_.positions, model_.hidden}, Role::plain, {})});
        Op made = op(embeddings, "add", held);
        made.name += "/add";
        made.flops = elements(Shape{batch_, model_.positions, model_.hidden});
        x = add(std::move(made), {batch_, model_.positions, model_.hidden}, std::array{x});
        colocate_.clear();
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) x = block_at(layer, x);
        x = norm(prefixed(family_.final_norm), x);
        x.shape = {batch_, 1, model_.hidden};
        if (model_.class_name.ends_with("ForImageClassification")) {
            linear("classifier", x, model_.hidden, model_.labels, true, Role::head);
        } else {
            linear(prefixed("pooler.dense"), x, model_.hidden, model_.hidden, true);
        }
    }

    /// A convolution with a bias; `window`: channels and kernel.
    Value convolution(const std::string& module, const char* kind, const Value& from, const Shape& window,
                      Shape shape) {
        Shape weight{shape[1]};
        weight.insert(weight.end(), window.begin(), window.end());
        Held held;
        hold(held, module,
             std::array{wanted("weight", weight, Role::plain, module),
                        wanted("bias", {shape[1]}, Role::plain, module)});
        Op made = op(module, kind, held);
        made.flops = 2 * elements(shape) * elements(window);
        made.attributes["kernel"] = Json(Shape(window.begin() + 1, window.end())).dump();
        return add(std::move(made), std::move(shape), std::array{from});
    }

    // --- vision towers and encoders

    /// SigLIP and the projection of Gemma 3: they run once for an image, never in decode.
    void vision_tower(const VisionTower& tower) {
        const std::string vision = "vision_tower.vision_model.";
        const auto maps = [&](const std::string& module, std::int64_t in, std::int64_t out) {
            idle(module, std::array{wanted("weight", {out, in}, Role::plain, module),
                                    wanted("bias", {out}, Role::plain, module)});
        };
        const auto norm_of = [&](const std::string& module) {
            idle(module, std::array{wanted("weight", {tower.hidden}, Role::plain, module),
                                    wanted("bias", {tower.hidden}, Role::plain, module)});
        };
        colocate_ = "vision_tower";
        const std::int64_t side = std::max<std::int64_t>(1, tower.image / tower.patch);
        const std::string patches = vision + "embeddings.patch_embedding";
        idle(patches, std::array{wanted("weight", {tower.hidden, tower.channels, tower.patch, tower.patch},
                                        Role::plain, patches),
                                 wanted("bias", {tower.hidden}, Role::plain, patches)});
        idle(vision + "embeddings.position_embedding",
             std::array{wanted("weight", {side * side, tower.hidden}, Role::plain, {})});
        for (std::int64_t i = 0; i < tower.layers; ++i) {
            const std::string layer = vision + "encoder.layers." + std::to_string(i) + '.';
            norm_of(layer + "layer_norm1");
            for (const char* map : {"k_proj", "v_proj", "q_proj", "out_proj"})
                maps(layer + "self_attn." + map, tower.hidden, tower.hidden);
            norm_of(layer + "layer_norm2");
            maps(layer + "mlp.fc1", tower.hidden, tower.width);
            maps(layer + "mlp.fc2", tower.width, tower.hidden);
        }
        norm_of(vision + "post_layernorm");
        colocate_ = "multi_modal_projector";
        Held held;
        hold(
            held, "multi_modal_projector",
            std::array{wanted("mm_input_projection_weight", {tower.hidden, model_.hidden}, Role::plain, {})});
        Op made = op("multi_modal_projector", "constant", held);
        made.read_bytes = 0;
        add(std::move(made), {0}, {});
        idle("multi_modal_projector.mm_soft_emb_norm",
             std::array{wanted("weight", {tower.hidden}, Role::plain, {})});
        colocate_.clear();
    }

    /// A module that runs if its part of the model does; the tensors are held in either case.
    Value map_if(bool runs, const std::string& module, const Value& from, std::int64_t in, std::int64_t out,
                 bool bias) {
        if (runs) return linear(module, from, in, out, bias);
        idle(module, linear_tensors(module, in, out, bias, Role::linear));
        return {};
    }
    Value norm_if(bool runs, const std::string& module, const Value& from) {
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

    Value encoder_block(bool runs, const std::string& path, const Value& from, std::int64_t layer) {
        begin_block(path);
        const BlockNames& names = family_.block;
        const auto at = [&](std::string_view name) { return joined(path, encoder_name(name)); };
        const std::int64_t heads = model_.encoder_heads, dim = head_dim_of_encoder(),
                           tokens = encoder_tokens();
        const bool bias = model_.qkv_bias;
        Value x = from;
        const Value first = norm_if(runs, at(names.norm1), x);
        const std::array inputs{map_if(runs, at(names.q), first, model_.hidden, heads * dim, bias),
                                map_if(runs, at(names.k), first, model_.hidden, heads * dim, bias && is_t5()),
                                map_if(runs, at(names.v), first, model_.hidden, heads * dim, bias)};
        const std::int64_t buckets = is_t5() && layer == 0 ? model_.position_buckets : 0;
        Value attended;
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
        const Value second = norm_if(runs, at(names.norm2), x);
        Value gate, hidden;
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
                const Value active = activated(where, gate, model_.encoder_width);
                hidden = plain(where, "mul", "mul", active.shape, std::array{active, hidden});
            }
        }
        const Value mapped =
            map_if(runs, at(names.down), hidden, model_.encoder_width, model_.hidden, model_.mlp_bias);
        if (runs) x = sum(path, "add_2", mapped, x);
        end_block();
        return x;
    }

    std::int64_t head_dim_of_encoder() const {
        return is_t5() ? model_.head_dim : model_.hidden / std::max<std::int64_t>(1, model_.encoder_heads);
    }

    /// What the encoder gives the decoder; nothing in decode, where its keys and values are in the cache.
    Value encoded(bool runs) {
        Value x;
        std::string blocks;
        if (is_t5()) {
            blocks = "encoder.block.";
            if (runs) {
                colocate_ = graph_label("shared");
                const Value input = tokens_input("input_ids", encoder_tokens());
                x = lookup("shared", input, model_.vocabulary, model_.hidden, encoder_tokens());
                table_ = graph_label("shared");
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
    Value sound(bool runs) {
        const std::int64_t tokens = encoder_tokens(), hidden = model_.hidden;
        colocate_ = graph_label("model.encoder.conv1");
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
        const Value input{static_cast<OpId>(graph_.size()), *frames.outputs[0].shape};
        graph_.add(std::move(frames));
        Value x = convolution("model.encoder.conv1", "conv1d", input, {model_.channels, 3},
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

    Value cross_attention(const std::string& path, const Value& x, const Value& memory, bool runs) {
        const BlockNames& names = family_.block;
        const auto at = [&](std::string_view name) { return joined(path, name); };
        const std::int64_t heads = model_.heads, dim = model_.head_dim;
        const Value first = norm(at(names.cross_norm), x);
        std::vector<Value> inputs{
            linear(at(names.cross_q), first, model_.hidden, heads * dim, model_.qkv_bias)};
        const Value key =
            map_if(runs, at(names.cross_k), memory, model_.hidden, heads * dim, model_.qkv_bias && is_t5());
        const Value value =
            map_if(runs, at(names.cross_v), memory, model_.hidden, heads * dim, model_.qkv_bias);
        if (runs) inputs.insert(inputs.end(), {key, value});
        const std::int64_t width = heads * dim;
        const Value attended =
            attend({.module = at(names.cross),
                    .heads = heads,
                    .width = width,
                    .flops_per_pair = 4.0 * static_cast<double>(width),
                    .pairs = static_cast<double>(tokens_) * static_cast<double>(encoder_tokens()),
                    .cached_elements = 2 * width,
                    .cached_tokens = encoder_tokens(),
                    .read_tokens = encoder_tokens()},
                   inputs, tokens_);
        const Value mapped = output_map(at(names.cross_out), attended, width, model_.out_bias);
        return sum(path, "add_cross", mapped, x);
    }

    void encoder_decoder() {
        const bool runs = phase_ != LanguagePhase::decode;
        const Value memory = encoded(runs);
        Value x;
        if (is_t5() && shared_) {
            // Both halves read the same table.
            colocate_ = table_;
            const Value input = tokens_input("decoder_input_ids", tokens_);
            Op made = op("shared", "embedding", {});
            made.name = "decoder/shared";
            made.read_bytes =
                static_cast<std::int64_t>(static_cast<double>(batch_ * tokens_ * model_.hidden) *
                                          static_cast<double>(bits_of(model_.stored)) / 8);
            x = add(std::move(made), {batch_, tokens_, model_.hidden}, std::array{input});
            colocate_.clear();
        } else {
            x = embedded(tokens_);
        }
        if (!is_t5()) {
            const std::string module = "model.decoder.embed_positions";
            const Value rows = positions(module, model_.positions, model_.hidden, tokens_);
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
        if (model_.base_model) return;
        head(x, std::string(family_.head), model_.vocabulary, false, model_.tied);
    }

    const LanguageModel& model_;
    const LanguageFamily& family_;
    const LanguageOptions& options_;
    TensorBook& book_;
    GraphBuilder graph_;
    std::int64_t batch_, sequence_, tokens_ = 1;
    std::int64_t cache_bits_ = 16;
    DType type_ = DType::bfloat16;
    LanguagePhase phase_;
    std::string colocate_;  ///< label of the ops that are added
    std::string block_;     ///< block of the ops that are added, where its ops may part
    std::string table_;     ///< label of the embedding
    bool shared_ = false;
    double all_bytes_ = 0;
};

}  // namespace

DType LanguageModel::activations_with(const LanguageOptions& options) const {
    if (!options.weights) return activations;
    switch (*options.weights) {
        case WeightType::fp32:
            return DType::float32;
        case WeightType::fp16:
            return DType::float16;
        case WeightType::bf16:
            return DType::bfloat16;
        default:
            return activations;
    }
}

std::int64_t sequence_of(const LanguageModel& model, const LanguageOptions& options) {
    if (options.sequence) return *options.sequence;
    return model.limit > 0 ? std::min(model.limit, kUsualSequence) : kUsualSequence;
}

Graph language_graph(const LanguageModel& model, const LanguageOptions& options, std::int64_t batch,
                     TensorBook& book) {
    const double values = static_cast<double>(batch) * static_cast<double>(sequence_of(model, options)) *
                          static_cast<double>(std::max(
                              {model.hidden, model.vocabulary, model.width, model.heads * model.head_dim}));
    if (values * 16 > kMostBytes)
        throw std::invalid_argument("the batch times the sequence has tensors that do not fit into 63 bits");
    return Builder(model, options, batch, book).run();
}

}  // namespace placewright
