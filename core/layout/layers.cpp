// SPDX-License-Identifier: MIT
#include "core/layout/layers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

namespace placewright {
namespace {

using Node = std::uint32_t;

/// Producers and consumers of each node, and the nodes in topological order.
class Order {
public:
    explicit Order(const LayoutInput& input) : count_(input.nodes.size()) {
        fill(input, producer_begin_, producers_,
             [](const auto& edge) { return std::pair(edge.second, edge.first); });
        fill(input, consumer_begin_, consumers_, [](const auto& edge) { return edge; });
        std::vector<std::uint32_t> left(count_);
        topological_.reserve(count_);
        for (Node v = 0; v < count_; ++v) {
            left[v] = fan_in(v);
            if (left[v] == 0) topological_.push_back(v);
        }
        for (std::size_t i = 0; i < topological_.size(); ++i) {
            for (const Node consumer : consumers(topological_[i])) {
                if (--left[consumer] == 0) topological_.push_back(consumer);
            }
        }
        if (topological_.size() < count_) throw std::invalid_argument("the edges of the layout form a cycle");
    }

    std::size_t count() const { return count_; }
    std::span<const Node> topological() const { return topological_; }
    std::span<const Node> producers(Node v) const { return of(producer_begin_, producers_, v); }
    std::span<const Node> consumers(Node v) const { return of(consumer_begin_, consumers_, v); }
    std::uint32_t fan_in(Node v) const { return static_cast<std::uint32_t>(producers(v).size()); }
    std::uint32_t fan_out(Node v) const { return static_cast<std::uint32_t>(consumers(v).size()); }

private:
    static std::span<const Node> of(const std::vector<std::uint32_t>& begin, const std::vector<Node>& items,
                                    Node v) {
        return std::span(items).subspan(begin[v], begin[v + 1] - begin[v]);
    }

    template <class Oriented>
    void fill(const LayoutInput& input, std::vector<std::uint32_t>& begin, std::vector<Node>& items,
              Oriented oriented) {
        begin.resize(count_ + 1);
        items.resize(input.edges.size());
        for (const auto& edge : input.edges) ++begin[oriented(edge).first + 1];
        for (std::size_t v = 0; v < count_; ++v) begin[v + 1] += begin[v];
        auto next = begin;
        for (const auto& edge : input.edges) items[next[oriented(edge).first]++] = oriented(edge).second;
    }

    std::size_t count_;
    std::vector<std::uint32_t> producer_begin_, consumer_begin_;
    std::vector<Node> producers_, consumers_, topological_;
};

template <class Layer>
Layer below_producers(const Order& order, const std::vector<Layer>& layer, Node v) {
    Layer lowest = -1;
    for (const Node producer : order.producers(v)) lowest = std::max(lowest, layer[producer]);
    return lowest + 1;
}

template <class Layer>
Layer above_consumers(const Order& order, const std::vector<Layer>& layer, Node v) {
    Layer highest = std::numeric_limits<Layer>::max();
    for (const Node consumer : order.consumers(v)) highest = std::min(highest, layer[consumer]);
    return order.fan_out(v) == 0 ? layer[v] : highest - 1;
}

/// Moves sources, and trees of nodes that only lead from sources to one consumer, directly above that
/// consumer, which makes their edges as short as possible.
void lower_source_trees(const Order& order, std::vector<double>& layer) {
    std::vector<bool> hangs(order.count());
    for (const Node v : order.topological()) {
        const auto follows = [&](Node producer) { return hangs[producer] && order.fan_out(producer) == 1; };
        hangs[v] = std::ranges::all_of(order.producers(v), follows);
    }
    for (std::size_t i = order.count(); i-- > 0;) {
        const Node v = order.topological()[i];
        if (hangs[v]) layer[v] = above_consumers(order, layer, v);
    }
}

/// Moves a node to the middle of its neighbours, as far as their layers allow.
void relax(const Order& order, std::vector<double>& layer, Node v) {
    if (order.fan_in(v) + order.fan_out(v) == 0) return;
    double sum = 0;
    for (const Node producer : order.producers(v)) sum += layer[producer] + 1;
    for (const Node consumer : order.consumers(v)) sum += layer[consumer] - 1;
    const double low = below_producers(order, layer, v);
    const double high = order.fan_out(v) == 0 ? low : above_consumers(order, layer, v);
    layer[v] = std::clamp(sum / (order.fan_in(v) + order.fan_out(v)), low, std::max(low, high));
}

}  // namespace

void check(const LayoutInput& input) {
    for (const auto& node : input.nodes) {
        const bool usable =
            std::isfinite(node.width) && std::isfinite(node.height) && node.width >= 0 && node.height >= 0;
        if (!usable)
            throw std::invalid_argument("a node of the layout has a size that is negative or not finite");
    }
    for (const auto& [from, to] : input.edges) {
        if (std::max(from, to) >= input.nodes.size() || from == to) {
            throw std::invalid_argument("edge " + std::to_string(from) + " to " + std::to_string(to) +
                                        " of the layout does not connect two different nodes");
        }
    }
}

std::vector<std::uint32_t> layers(const LayoutInput& input) {
    const Order order(input);
    std::vector<double> wish(order.count());
    for (const Node v : order.topological()) wish[v] = below_producers(order, wish, v);
    lower_source_trees(order, wish);
    constexpr int kRounds = 12;
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = order.count(); i-- > 0;) relax(order, wish, order.topological()[i]);
        for (const Node v : order.topological()) relax(order, wish, v);
    }

    // The slack of a branch goes behind its last node, and before a node with more consumers than producers.
    std::vector<std::int64_t> layer(order.count());
    for (const Node v : order.topological()) {
        const std::int64_t top = below_producers(order, layer, v);
        const bool stays_up = order.fan_in(v) > 0 && order.fan_in(v) >= order.fan_out(v);
        layer[v] = stays_up ? top : std::max(top, static_cast<std::int64_t>(std::floor(wish[v] + 1e-6)));
    }
    for (std::size_t i = order.count(); i-- > 0;) {
        const Node v = order.topological()[i];
        if (order.fan_out(v) > order.fan_in(v)) layer[v] = above_consumers(order, layer, v);
    }
    return {layer.begin(), layer.end()};
}

double mean_short_side(const LayoutInput& input) {
    if (input.nodes.empty()) return 0;
    double width = 0, height = 0;
    for (const auto& node : input.nodes) {
        width += node.width;
        height += node.height;
    }
    return std::min(width, height) / static_cast<double>(input.nodes.size());
}

}  // namespace placewright
