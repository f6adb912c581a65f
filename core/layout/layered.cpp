// SPDX-License-Identifier: MIT
// Sugiyama, Tagawa, Toda: Methods for Visual Understanding of Hierarchical System Structures (1981): layers,
// an order in each layer with few crossings, coordinates. The algorithms suit graphs of 100 000 nodes.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "core/layout/components.hpp"
#include "core/layout/layers.hpp"
#include "core/layout/layout.hpp"
#include "core/layout/spine.hpp"

namespace placewright {
namespace {

using Vertex = std::uint32_t;

/// Edges that span more layers than kMaxSpan are left out of the ordering. If there would be too many virtual
/// vertices, so are the longest edges: in a deep graph a few of them would take most of the time, and the
/// mirrored edges of a training step most of the width.
constexpr std::size_t kMaxSpan = 100, kVirtualPerItem = 4, kMaxVirtual = 1'000'000;
constexpr std::size_t kLanes = 40;  ///< on each side, for the edges left out

/// A list of vertices for each vertex, stored consecutively.
struct Adjacency {
    std::vector<std::uint32_t> begin;
    std::vector<Vertex> items;

    std::span<const Vertex> of(Vertex v) const {
        return std::span(items).subspan(begin[v], begin[v + 1] - begin[v]);
    }
};

/// The graph with long edges cut into chains of virtual vertices, one per layer; every link connects adjacent
/// layers.
struct Proper {
    std::size_t real = 0;  ///< vertices below this number are nodes, the others virtual
    std::vector<std::uint32_t> layer;
    std::vector<double> width;
    Adjacency up, down;
    std::vector<std::uint32_t> first_virtual;  ///< [edge]; its virtual vertices are consecutive
    std::vector<std::uint32_t> virtual_count;  ///< [edge]
    std::vector<std::uint32_t> aside;          ///< edges left out
    std::vector<std::vector<Vertex>> order;    ///< [layer], from left to right
    std::vector<std::uint32_t> position;       ///< [vertex]: position in its layer
};

Adjacency adjacency(std::size_t count, std::span<const std::pair<Vertex, Vertex>> links, bool downwards) {
    Adjacency result;
    result.begin.resize(count + 1);
    result.items.resize(links.size());
    for (const auto& [from, to] : links) ++result.begin[(downwards ? from : to) + 1];
    std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
    auto next = result.begin;
    for (const auto& [from, to] : links) result.items[next[downwards ? from : to]++] = downwards ? to : from;
    return result;
}

/// The longest span of an edge for which there are few enough virtual vertices.
std::uint32_t span_limit(const LayoutInput& input, const std::vector<std::uint32_t>& layer) {
    std::vector<std::size_t> with_span(*std::max_element(layer.begin(), layer.end()) + std::size_t{1});
    for (const auto& [from, to] : input.edges) ++with_span[layer[to] - layer[from]];
    const std::size_t budget =
        std::min(kVirtualPerItem * (input.nodes.size() + input.edges.size()), kMaxVirtual);
    std::size_t count = 0;
    const auto longest = static_cast<std::uint32_t>(std::min(with_span.size() - 1, kMaxSpan));
    for (std::uint32_t span = 1; span <= longest; ++span) {
        count += with_span[span] * (span - 1);
        if (count > budget) return span - 1;
    }
    return longest;
}

Proper proper_graph(const LayoutInput& input, double gap) {
    Proper graph;
    graph.real = input.nodes.size();
    graph.layer = layers(input);
    for (const auto& node : input.nodes) graph.width.push_back(node.width);
    const std::uint32_t limit = span_limit(input, graph.layer);

    std::vector<std::pair<Vertex, Vertex>> links;
    links.reserve(input.edges.size());
    for (std::uint32_t edge = 0; edge < input.edges.size(); ++edge) {
        const auto [from, to] = input.edges[edge];
        const std::uint32_t span = graph.layer[to] - graph.layer[from];
        graph.first_virtual.push_back(static_cast<std::uint32_t>(graph.layer.size()));
        graph.virtual_count.push_back(span <= limit ? span - 1 : 0);
        if (span > limit) {
            graph.aside.push_back(edge);
            continue;
        }
        Vertex last = from;
        for (std::uint32_t step = 1; step < span; ++step) {
            const auto added = static_cast<Vertex>(graph.layer.size());
            graph.layer.push_back(graph.layer[from] + step);
            graph.width.push_back(gap / 4);
            links.emplace_back(last, added);
            last = added;
        }
        links.emplace_back(last, to);
    }
    graph.down = adjacency(graph.layer.size(), links, true);
    graph.up = adjacency(graph.layer.size(), links, false);
    graph.order.resize(*std::max_element(graph.layer.begin(), graph.layer.end()) + std::size_t{1});
    graph.position.resize(graph.layer.size());
    return graph;
}

void update_positions(Proper& graph, std::size_t layer) {
    for (std::uint32_t i = 0; i < graph.order[layer].size(); ++i) graph.position[graph.order[layer][i]] = i;
}

/// Depth first from the sources, so that connected vertices start side by side.
void initial_order(Proper& graph) {
    std::vector<bool> seen(graph.layer.size());
    std::vector<Vertex> stack;
    for (Vertex root = 0; root < graph.real; ++root) {
        if (!graph.up.of(root).empty()) continue;
        stack.push_back(root);
        while (!stack.empty()) {
            const Vertex v = stack.back();
            stack.pop_back();
            if (seen[v]) continue;
            seen[v] = true;
            graph.order[graph.layer[v]].push_back(v);
            const auto below = graph.down.of(v);
            stack.insert(stack.end(), below.rbegin(), below.rend());
        }
    }
    for (std::size_t layer = 0; layer < graph.order.size(); ++layer) update_positions(graph, layer);
}

/// Weighted median of Gansner, Koutsofios, North, Vo: A Technique for Drawing Directed Graphs (1993), section
/// 3: a value between the two middle ones, nearer to the side where values are denser. `values` must be
/// ascending and not empty.
double weighted_median(std::span<const std::uint32_t> values) {
    const std::size_t middle = values.size() / 2;
    if (values.size() % 2 == 1) return values[middle];
    const double low = values[middle - 1], high = values[middle];
    const double left = low - values.front(), right = values.back() - high;
    return left + right == 0 ? (low + high) / 2 : (low * right + high * left) / (left + right);
}

/// Sorts a layer by the medians of its neighbours in the previous layer of the sweep; vertices without
/// neighbours keep their positions.
void sort_by_median(Proper& graph, std::size_t layer, const Adjacency& neighbours) {
    auto& order = graph.order[layer];
    std::vector<std::pair<double, Vertex>> moved;
    std::vector<std::size_t> places;
    std::vector<std::uint32_t> values;
    for (std::size_t i = 0; i < order.size(); ++i) {
        values.clear();
        for (const Vertex other : neighbours.of(order[i])) values.push_back(graph.position[other]);
        if (values.empty()) continue;
        std::sort(values.begin(), values.end());
        moved.emplace_back(weighted_median(values), order[i]);
        places.push_back(i);
    }
    std::stable_sort(moved.begin(), moved.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < moved.size(); ++i) order[places[i]] = moved[i].second;
    update_positions(graph, layer);
}

/// Number of crossings of the links between adjacent layers, with a Fenwick tree over the lower layer:
/// Barth, Mutzel, Jünger: Simple and Efficient Bilayer Cross Counting (2004).
std::uint64_t crossings(const Proper& graph) {
    std::uint64_t total = 0;
    std::vector<std::uint32_t> tree, ends;
    for (std::size_t layer = 0; layer + 1 < graph.order.size(); ++layer) {
        const std::size_t below = graph.order[layer + 1].size();
        tree.assign(below + 1, 0);
        std::uint64_t counted = 0;
        for (const Vertex v : graph.order[layer]) {
            ends.clear();
            for (const Vertex other : graph.down.of(v)) ends.push_back(graph.position[other]);
            for (const std::uint32_t end : ends) {
                std::uint64_t not_right = 0;
                for (std::size_t i = end + std::size_t{1}; i > 0; i &= i - 1) not_right += tree[i];
                total += counted - not_right;
            }
            for (const std::uint32_t end : ends) {
                for (std::size_t i = end + std::size_t{1}; i <= below; i += i & (~i + 1)) ++tree[i];
            }
            counted += ends.size();
        }
    }
    return total;
}

void reduce_crossings(Proper& graph, const std::stop_token& stop) {
    const int rounds = graph.layer.size() < 100'000 ? 12 : 4;
    constexpr int kPatience = 3;
    const std::size_t last = graph.order.size() - 1;
    auto best = graph.order;
    std::uint64_t fewest = crossings(graph);
    for (int round = 0, vain = 0; round < rounds && vain < kPatience && fewest > 0; ++round) {
        if (stop.stop_requested()) return;
        for (std::size_t layer = 1; layer <= last; ++layer) sort_by_median(graph, layer, graph.up);
        for (std::size_t layer = last; layer-- > 0;) sort_by_median(graph, layer, graph.down);
        const std::uint64_t now = crossings(graph);
        vain = now < fewest ? 0 : vain + 1;
        if (now < fewest) {
            fewest = now;
            best = graph.order;
        }
    }
    graph.order = std::move(best);
    for (std::size_t layer = 0; layer <= last; ++layer) update_positions(graph, layer);
}

/// Positions a layer so that the sum of weight * (x - wish)^2 is least while neighbours keep their distance:
/// an isotonic regression, solved by pooling adjacent violators (Ayer et al. 1955). O(vertices of the layer).
class LayerPlacer {
public:
    LayerPlacer(const Proper& graph, double gap) : graph_(graph), gap_(gap) {}

    void add(Vertex v, double wish, double weight) {
        if (!vertices_.empty()) offset_ += (graph_.width[vertices_.back()] + graph_.width[v]) / 2 + gap_;
        vertices_.push_back(v);
        offsets_.push_back(offset_);
        pools_.push_back({weight, weight * (wish - offset_), 1});
        while (pools_.size() > 1 && pools_[pools_.size() - 2].mean() > pools_.back().mean()) {
            const Pool last = pools_.back();
            pools_.pop_back();
            pools_.back().weight += last.weight;
            pools_.back().sum += last.sum;
            pools_.back().count += last.count;
        }
    }

    void place(std::vector<double>& x) {
        std::size_t i = 0;
        for (const Pool& pool : pools_) {
            for (std::size_t k = 0; k < pool.count; ++k, ++i) x[vertices_[i]] = pool.mean() + offsets_[i];
        }
        vertices_.clear();
        offsets_.clear();
        pools_.clear();
        offset_ = 0;
    }

private:
    struct Pool {
        double weight, sum;
        std::size_t count;
        double mean() const { return sum / weight; }
    };

    const Proper& graph_;
    double gap_, offset_ = 0;
    std::vector<Vertex> vertices_;
    std::vector<double> offsets_;
    std::vector<Pool> pools_;
};

/// Horizontal positions: in each sweep every vertex is drawn to the median of its neighbours in the previous
/// layer. Virtual vertices have larger weights, so that long edges are straight, and nodes of a chain even
/// larger ones.
std::vector<double> place_across(const Proper& graph, double gap, const std::stop_token& stop) {
    std::vector<double> x(graph.layer.size());
    LayerPlacer placer(graph, gap);
    for (const auto& order : graph.order) {
        double width = -gap;
        for (const Vertex v : order) width += graph.width[v] + gap;
        for (const Vertex v : order) placer.add(v, -width / 2, 1);
        placer.place(x);
    }
    std::vector<double> wishes;
    const auto weight_of = [&](Vertex v, std::span<const Vertex> others, const Adjacency& back) {
        if (others.empty()) return 0.1;
        const bool in_chain = others.size() == 1 && back.of(others.front()).size() == 1;
        return v >= graph.real                           ? 8
               : in_chain && others.front() < graph.real ? 64
                                                         : 1 + static_cast<double>(others.size());
    };
    const auto sweep_layer = [&](std::size_t layer, const Adjacency& neighbours, const Adjacency& back) {
        for (const Vertex v : graph.order[layer]) {
            wishes.clear();
            for (const Vertex other : neighbours.of(v)) wishes.push_back(x[other]);
            std::sort(wishes.begin(), wishes.end());
            const std::size_t middle = wishes.size() / 2;
            const double wish =
                wishes.empty() ? x[v] : std::clamp(x[v], wishes[(wishes.size() - 1) / 2], wishes[middle]);
            placer.add(v, wish, weight_of(v, neighbours.of(v), back));
        }
        placer.place(x);
    };
    const int rounds = graph.layer.size() < 100'000 ? 6 : 3;
    for (int round = 0; round < rounds && !stop.stop_requested(); ++round) {
        for (std::size_t layer = graph.order.size() - 1; layer-- > 0;)
            sweep_layer(layer, graph.down, graph.up);
        for (std::size_t layer = 1; layer < graph.order.size(); ++layer)
            sweep_layer(layer, graph.up, graph.down);
    }
    return x;
}

/// Tops and bottoms of the layers. Layers are further apart if links between them run far to the side.
struct Bands {
    std::vector<double> top, bottom;
    double gap = 0;
};

Bands bands(const LayoutInput& input, const Proper& graph, const std::vector<double>& x, double gap) {
    Bands result;
    result.gap = gap;
    double y = 0;
    for (const auto& order : graph.order) {
        double height = 0, aside = 0;
        for (const Vertex v : order) {
            if (v < graph.real) height = std::max(height, input.nodes[v].height);
            for (const Vertex other : graph.down.of(v)) aside = std::max(aside, std::abs(x[v] - x[other]));
        }
        result.top.push_back(y);
        result.bottom.push_back(y + height);
        y += height + gap + std::min(3 * gap, aside / 12);
    }
    return result;
}

/// Adds a corner; of three corners in a vertical line the middle one is removed.
void add_corner(std::vector<LayoutPoint>& line, LayoutPoint point) {
    if (line.size() > 1 && line.back().x == point.x && line[line.size() - 2].x == point.x) line.pop_back();
    line.push_back(point);
}

/// Routes the edges that were left out: out of the graph at the nearer side, down, and back; edges that do
/// not overlap share a lane.
void route_aside(const LayoutInput& input, const Proper& graph, const Bands& bands, double left, double right,
                 double lane_gap, LayoutResult& result) {
    std::array<std::vector<std::uint32_t>, 2> free_from;
    auto edges = graph.aside;
    const auto upper_layer = [&](std::uint32_t edge) { return graph.layer[input.edges[edge].first]; };
    std::stable_sort(edges.begin(), edges.end(),
                     [&](auto a, auto b) { return upper_layer(a) < upper_layer(b); });
    for (const std::uint32_t edge : edges) {
        const auto [from, to] = input.edges[edge];
        const LayoutPoint start = result.centre[from], end = result.centre[to];
        const bool on_right = start.x + end.x > left + right;
        auto& lanes = free_from[on_right];
        const std::uint32_t first = graph.layer[from], last = graph.layer[to];
        std::size_t lane = 0;
        while (lane < lanes.size() && lanes[lane] > first) ++lane;
        if (lane == lanes.size() && lane == kLanes)
            lane = static_cast<std::size_t>(std::min_element(lanes.begin(), lanes.end()) - lanes.begin());
        if (lane == lanes.size()) lanes.push_back(0);
        lanes[lane] = std::max(lanes[lane], last);
        const double distance = lane_gap * static_cast<double>(lane + 1);
        const double x = on_right ? right + distance : left - distance;
        const double out = bands.bottom[first], in = bands.top[last];
        result.bends[edge] = {{start.x, out + 0.2 * bands.gap},
                              {x, out + 0.5 * bands.gap},
                              {x, in - 0.5 * bands.gap},
                              {end.x, in - 0.2 * bands.gap}};
    }
}

LayoutResult connected_layout(const LayoutInput& input, double across, double along, double lane_gap,
                              const std::stop_token& stop) {
    Proper graph = proper_graph(input, across);
    initial_order(graph);
    reduce_crossings(graph, stop);
    const std::vector<double> x = place_across(graph, across, stop);

    const Bands rows = bands(input, graph, x, along);
    LayoutResult result;
    for (Vertex v = 0; v < graph.real; ++v)
        result.centre.push_back({x[v], (rows.top[graph.layer[v]] + rows.bottom[graph.layer[v]]) / 2});
    result.bends.resize(input.edges.size());
    for (std::size_t edge = 0; edge < input.edges.size(); ++edge) {
        for (std::uint32_t k = 0; k < graph.virtual_count[edge]; ++k) {
            const Vertex v = graph.first_virtual[edge] + k;
            add_corner(result.bends[edge], {x[v], rows.top[graph.layer[v]]});
            add_corner(result.bends[edge], {x[v], rows.bottom[graph.layer[v]]});
        }
    }
    straighten_spine(input, graph.aside, result);
    const auto [left, right] = extent_across(input, result);
    route_aside(input, graph, rows, left, right, lane_gap, result);
    fit_across(input, result);
    for (Vertex v = 0; v < graph.real; ++v)
        result.height = std::max(result.height, result.centre[v].y + input.nodes[v].height / 2);
    return result;
}

}  // namespace

LayoutResult layered_layout(const LayoutInput& input, std::stop_token stop) {
    check(input);
    const double size = mean_short_side(input);
    const auto parts = components(input);
    std::vector<LayoutResult> pictures;
    for (const auto& component : parts) {
        pictures.push_back(connected_layout(component.part, 0.6 * size, 1.2 * size, 0.35 * size, stop));
        if (stop.stop_requested()) return {};
    }
    return packed(input, parts, pictures, 2 * size);
}

}  // namespace placewright
