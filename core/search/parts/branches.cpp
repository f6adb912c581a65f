// SPDX-License-Identifier: MIT
#include "core/search/parts/branches.hpp"

#include <algorithm>
#include <numeric>

namespace placewright {
namespace {

/// A part of a graph whose ops are numbered by their position in it.
class Part {
public:
    Part(const Graph& graph, std::span<const OpId> ops) : graph_(graph), ops_(ops) {}

    std::size_t size() const { return ops_.size(); }

    /// Positions of the readers of the op at `position`, ascending.
    std::vector<std::size_t> readers(std::size_t position) const {
        std::vector<std::size_t> readers;
        for (const OpId consumer : graph_.consumers(ops_[position])) {
            const auto found = std::lower_bound(ops_.begin(), ops_.end(), consumer);
            if (found != ops_.end() && *found == consumer)
                readers.push_back(static_cast<std::size_t>(found - ops_.begin()));
        }
        return readers;
    }

private:
    const Graph& graph_;
    std::span<const OpId> ops_;
};

/// Finds the ops on every path. An op is on every path if in topological order no edge passes over it, with
/// edges from before the first op to all sources and from all sinks to behind the last.
std::vector<bool> cut_ops(const Part& part) {
    std::vector<std::vector<std::size_t>> readers(part.size());
    std::vector<bool> is_source(part.size(), true);
    for (std::size_t i = 0; i < part.size(); ++i) {
        readers[i] = part.readers(i);
        for (const std::size_t reader : readers[i]) is_source[reader] = false;
    }
    std::size_t reach = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (is_source[i]) reach = i;
    }
    std::vector<bool> cut(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
        cut[i] = reach <= i;
        reach = std::max(reach, readers[i].empty() ? part.size() : readers[i].back());
    }
    return cut;
}

/// Returns for each position the first position of its weakly connected piece after removal of the cut ops.
std::vector<std::size_t> pieces(const Part& part, const std::vector<bool>& cut) {
    std::vector<std::size_t> parent(part.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t i) {
        while (parent[i] != i) i = parent[i] = parent[parent[i]];
        return i;
    };
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (cut[i]) continue;
        for (const std::size_t reader : part.readers(i)) {
            if (cut[reader]) continue;
            const auto [first, second] = std::minmax({root(i), root(reader)});
            parent[second] = first;
        }
    }
    for (std::size_t i = 0; i < part.size(); ++i) parent[i] = root(i);
    return parent;
}

}  // namespace

std::vector<Block> parallel_blocks(const Graph& graph, std::span<const OpId> ops) {
    const Part part(graph, ops);
    const std::vector<bool> cut = cut_ops(part);
    const std::vector<std::size_t> piece = pieces(part, cut);
    std::vector<Block> blocks;
    std::vector<std::size_t> branch_of(part.size());
    bool between = false;  // whether the previous op belongs to the last block
    for (std::size_t i = 0; i < part.size(); ++i) {
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

}  // namespace placewright
