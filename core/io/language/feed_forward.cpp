// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <utility>

#include "core/io/language/block_builder.hpp"

namespace placewright {

OpOutput BlockBuilder::feed_forward(const std::string& block, const MapNames& names, const OpOutput& from,
                                    std::int64_t width, bool bias) {
    const std::string module = names.down.substr(0, names.down.rfind('.'));
    const std::string where = module.size() > block.size() ? module : block;
    OpOutput hidden;
    if (!names.gate_up.empty()) {
        const OpOutput both = linear(names.gate_up, from, model_.hidden, 2 * width, bias);
        const OpOutput active = activated(where, both, width);
        hidden = plain(where, "mul", "mul", active.shape, std::array{active, both});
    } else if (!names.gate.empty()) {
        const OpOutput gate = linear(names.gate, from, model_.hidden, width, bias);
        const OpOutput up = linear(names.up, from, model_.hidden, width, bias);
        const OpOutput active = activated(where, gate, width);
        hidden = plain(where, "mul", "mul", active.shape, std::array{active, up});
    } else {
        hidden = activated(where, linear(names.up, from, model_.hidden, width, bias), width);
    }
    return linear(names.down, hidden, width, model_.hidden, bias);
}

OpOutput BlockBuilder::mlp(const std::string& block, const BlockNames& names, const OpOutput& from,
                           std::size_t layer) {
    if (model_.experts && model_.experts->dense[layer] == 0) return mixture(block, from);
    const auto path = [&](std::string_view name) {
        return name.empty() ? std::string() : joined(block, name);
    };
    return feed_forward(block, {path(names.gate), path(names.up), path(names.gate_up), path(names.down)},
                        from, model_.width, model_.mlp_bias);
}

OpOutput BlockBuilder::mixture(const std::string& block, const OpOutput& from) {
    const ExpertLayers& experts = *model_.experts;
    const ExpertNames& names = family_.experts;
    const double rows = elements(from.shape) / static_cast<double>(from.shape.back());
    const OpOutput router = router_of(joined(block, names.router), from);
    const auto chosen = static_cast<std::int64_t>(rows) * experts.per_token;
    const bool both = names.gate.empty();
    const OpOutput up =
        expert_maps(block, both ? "gate_up" : "up", {names.gate, names.up}, model_.hidden,
                    both ? 2 * experts.width : experts.width, std::array{from, router},
                    {chosen, both || !names.gate.empty() ? 2 * experts.width : experts.width});
    const std::string module = experts_module(block);
    const OpOutput active = activated(module, up, experts.width);
    const OpOutput hidden = plain(module, "mul", "mul", active.shape, std::array{active, up});
    OpOutput result = expert_maps(block, "down", {names.down}, experts.width, model_.hidden,
                                  std::array{hidden, router}, from.shape);
    if (experts.shared_width > 0) {
        const std::string shared = joined(block, names.shared);
        OpOutput other =
            feed_forward(block, {shared + ".gate_proj", shared + ".up_proj", {}, shared + ".down_proj"}, from,
                         experts.shared_width, false);
        if (!names.shared_gate.empty()) {
            const OpOutput gate =
                linear(joined(block, names.shared_gate), from, model_.hidden, 1, false, Role::plain);
            other = plain(shared, "mul_gate", "mul", other.shape, std::array{other, gate});
        }
        result = sum(experts_module(block), "add", result, other);
    }
    return result;
}

std::string BlockBuilder::experts_module(const std::string& block) const {
    const ExpertNames& names = family_.experts;
    if (!names.experts.empty()) return joined(block, names.experts);
    return joined(block, names.up.substr(0, names.up.rfind('.')));
}

OpOutput BlockBuilder::router_of(const std::string& module, const OpOutput& from) {
    const ExpertLayers& experts = *model_.experts;
    std::vector<WantedTensor> tensors{wanted("weight", {experts.count, model_.hidden}, Role::plain, module)};
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

OpOutput BlockBuilder::expert_maps(const std::string& block, const std::string& name,
                                   std::initializer_list<std::string_view> maps, std::int64_t in,
                                   std::int64_t out, std::span<const OpOutput> inputs, Shape shape) {
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
    if (!names.fused || !names.experts.empty() || module == experts_module(block)) made.name += '/' + name;
    const double rows = static_cast<double>(batch_ * tokens_);
    const double share = static_cast<double>(experts.per_token) / static_cast<double>(experts.count);
    made.flops = 2 * rows * static_cast<double>(experts.per_token) * count;
    if (phase_ != LanguagePhase::training)
        made.read_bytes =
            static_cast<std::int64_t>(static_cast<double>(held.bytes) * (1 - std::pow(1 - share, rows)));
    return add(std::move(made), std::move(shape), inputs);
}

std::vector<WantedTensor> BlockBuilder::block_tensors(const std::string& module, const std::string& map,
                                                      std::int64_t in, std::int64_t out) const {
    const std::int64_t count = model_.experts->count;
    std::vector<WantedTensor> tensors;
    // Types of less than 16 bits replace maps of two extents alone.
    if (model_.quantization == Quantization::mxfp4 &&
        (!options_.weights || bits_of(*options_.weights) < 16)) {
        const Shape blocks{count, out, divided_up(in, 32), 16}, scales{count, out, divided_up(in, 32)};
        tensors.push_back({map + "_blocks", blocks, bytes_of(blocks, 8)});
        tensors.push_back({map + "_scales", scales, bytes_of(scales, 8)});
    } else {
        tensors.push_back(wanted(map, {count, in, out}, Role::expert, module));
    }
    if (model_.experts->bias) tensors.push_back(wanted(map + "_bias", {count, out}, Role::plain, module));
    return tensors;
}

}  // namespace placewright
