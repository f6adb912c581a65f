// SPDX-License-Identifier: MIT
#include "core/io/placements/residual_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>

#include <queue>

#include "core/graph/scope_tree.hpp"

namespace placewright {
namespace {

/// Returns the ops between the fork of a residual connection and its add, which is `add`; empty if `add`
/// belongs to no residual connection.
std::vector<OpId> residual_ops(const Graph& graph, OpId add) {
    constexpr std::size_t kFar = 2'000;  // ops; a fork further back does not belong to a block
    const Op& op = graph.op(add);
    if (op.kind != "add" || op.phase != Phase::forward || op.inputs.size() != 2 ||
        op.inputs[0].op == op.inputs[1].op)
        return {};
    for (const TensorRef& input : op.inputs) {
        const Tensor& summand = graph.op(input.op).outputs[input.output];
        if (element_count(summand) != element_count(op.outputs[0])) return {};
    }
    // Ops are visited in reverse topological order, so that all readers of an op come before it.
    std::unordered_map<OpId, std::uint8_t> side{{op.inputs[0].op, 1}, {op.inputs[1].op, 2}};
    std::priority_queue<OpId> next;
    for (const TensorRef& input : op.inputs) next.push(input.op);
    std::vector<OpId> passed;
    while (!next.empty() && passed.size() < kFar) {
        const OpId at = next.top();
        next.pop();
        if (side[at] == 3) {
            // Only visited ops that depend on the fork belong to the block.
            std::set<OpId> between;
            for (auto id = passed.rbegin(); id != passed.rend(); ++id) {
                const auto from_fork = [&](OpId producer) {
                    return producer == at || between.contains(producer);
                };
                if (std::ranges::any_of(graph.producers(*id), from_fork)) between.insert(*id);
            }
            return {between.begin(), between.end()};
        }
        passed.push_back(at);
        const std::uint8_t from = side[at];
        for (const OpId producer : graph.producers(at)) {
            const auto [mark, is_new] = side.try_emplace(producer, std::uint8_t{0});
            mark->second |= from;
            if (is_new) next.push(producer);
        }
    }
    return {};
}

}  // namespace

std::vector<ResidualBlock> residual_blocks(const Graph& graph) {
    std::vector<ResidualBlock> blocks;
    for (OpId id = 0; id < graph.size(); ++id) {
        ResidualBlock block{graph.op(id).scope, id, residual_ops(graph, id)};
        if (block.ops.empty()) continue;
        block.ops.push_back(id);
        for (const OpId op : block.ops) block.scope = common_scope(block.scope, graph.op(op).scope);
        blocks.push_back(std::move(block));
    }
    return blocks;
}

std::optional<std::uint32_t> depth_of_blocks(const Graph& graph) {
    std::optional<std::uint32_t> depth;
    for (const ResidualBlock& block : residual_blocks(graph)) {
        if (block.scope.empty()) continue;
        const auto of_block = static_cast<std::uint32_t>(std::ranges::count(block.scope, '/') + 1);
        depth = std::min(depth.value_or(of_block), of_block);
    }
    return depth;
}

}  // namespace placewright
