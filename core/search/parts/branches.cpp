// SPDX-License-Identifier: MIT
#include "core/search/parts/branches.hpp"

#include <algorithm>
#include <numeric>

namespace placewright {
namespace {

/// [position of an op in `ops`]: positions of its readers there, ascending.
std::vector<std::vector<std::size_t>> readers_in(const Graph& graph, std::span<const OpId> ops) {
    std::vector<std::vector<std::size_t>> readers(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for (const OpId consumer : graph.consumers(ops[i])) {
            const auto found = std::ranges::lower_bound(ops, consumer);
            if (found != ops.end() && *found == consumer)
                readers[i].push_back(static_cast<std::size_t>(found - ops.begin()));
        }
    }
    return readers;
}

/// Finds the ops on every path. An op is on every path if in topological order no edge passes over it, with
/// edges from before the first op to all sources and from all sinks to behind the last.
std::vector<bool> cut_ops(const std::vector<std::vector<std::size_t>>& readers) {
    std::vector<bool> is_source(readers.size(), true);
    for (const auto& of_op : readers) {
        for (const std::size_t reader : of_op) is_source[reader] = false;
    }
    std::size_t reach = 0;
    for (std::size_t i = 0; i < readers.size(); ++i) {
        if (is_source[i]) reach = i;
    }
    std::vector<bool> cut(readers.size());
    for (std::size_t i = 0; i < readers.size(); ++i) {
        cut[i] = reach <= i;
        reach = std::max(reach, readers[i].empty() ? readers.size() : readers[i].back());
    }
    return cut;
}

/// Returns for each position the first position of its weakly connected piece after removal of the cut ops.
std::vector<std::size_t> pieces(const std::vector<std::vector<std::size_t>>& readers,
                                const std::vector<bool>& cut) {
    std::vector<std::size_t> parent(readers.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t i) {
        while (parent[i] != i) i = parent[i] = parent[parent[i]];
        return i;
    };
    for (std::size_t i = 0; i < readers.size(); ++i) {
        if (cut[i]) continue;
        for (const std::size_t reader : readers[i]) {
            if (cut[reader]) continue;
            const auto [first, second] = std::minmax({root(i), root(reader)});
            parent[second] = first;
        }
    }
    for (std::size_t i = 0; i < readers.size(); ++i) parent[i] = root(i);
    return parent;
}

}  // namespace

std::vector<Block> parallel_blocks(const Graph& graph, std::span<const OpId> ops, std::size_t& edges_left) {
    std::size_t edges = 0;
    for (const OpId op : ops) edges += graph.consumers(op).size();
    if (edges > edges_left) return {};
    edges_left -= edges;
    const auto readers = readers_in(graph, ops);
    const std::vector<bool> cut = cut_ops(readers);
    const std::vector<std::size_t> piece = pieces(readers, cut);
    std::vector<Block> blocks;
    std::vector<std::size_t> branch_of(ops.size());
    bool between = false;  // whether the previous op belongs to the last block
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (!cut[i]) {
            if (!between) blocks.emplace_back();
            Block& block = blocks.back();
            if (piece[i] == i) {
                branch_of[i] = block.size();
                block.emplace_back();
            }
            block[branch_of[piece[i]]].push_back(ops[i]);
        }
        between = !cut[i];
    }
    const bool undivided =
        blocks.size() == 1 && blocks.front().size() == 1 && blocks.front().front().size() == ops.size();
    return undivided ? std::vector<Block>{} : blocks;
}

std::size_t edges_for_blocks(const Graph& graph) {
    constexpr std::size_t kEnough = 20'000'000, kLeastLevels = 8;
    std::size_t edges = 0;
    for (OpId op = 0; op < graph.size(); ++op) edges += graph.consumers(op).size();
    return std::max(kEnough, kLeastLevels * edges);
}

}  // namespace placewright
