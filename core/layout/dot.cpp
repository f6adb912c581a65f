// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>

#include <graphviz/gvc.h>

#include "core/base/graphviz_lock.hpp"
#include "core/layout/layers.hpp"
#include "core/layout/layout.hpp"
#include "core/layout/spine.hpp"

namespace placewright {
namespace {

constexpr double kPointsPerInch = 72;

struct FreeContext {
    void operator()(GVC_t* context) const { gvFreeContext(context); }
};
struct CloseGraph {
    void operator()(Agraph_t* graph) const { agclose(graph); }
};
/// Frees a layout, which must happen before its graph is closed.
struct FreeLayout {
    GVC_t* context;
    void operator()(Agraph_t* graph) const { gvFreeLayout(context, graph); }
};

/// Graphviz takes its constant strings as char*.
char* text(const char* constant) {
    return const_cast<char*>(constant);
}

/// A length in points as text in inches, with a decimal point in every locale.
std::string inches(double points) {
    char buffer[64];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, points / kPointsPerInch, std::chars_format::fixed, 6)
            .ptr;
    return {buffer, end};
}

/// The inner points of a chain of cubic Bézier curves, at even steps of their parameter.
std::vector<LayoutPoint> sampled(const bezier& curve, double height) {
    constexpr int kSteps = 8;
    std::vector<LayoutPoint> points;
    for (int at = 0; at + 3 < curve.size; at += 3) {
        const pointf* p = curve.list + at;
        const bool straight = curve.size == 4 && p[0].x == p[3].x && p[1].x == p[0].x && p[2].x == p[0].x;
        for (int step = 1; step <= kSteps && !straight; ++step) {
            if (step == kSteps && at + 4 >= curve.size) break;
            const double t = double(step) / kSteps, s = 1 - t;
            const double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
            points.push_back({a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x,
                              height - (a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y)});
        }
    }
    return points;
}

}  // namespace

LayoutResult dot_layout(const LayoutInput& input) {
    check(input);
    LayoutResult result;
    if (input.nodes.empty()) return result;

    const std::scoped_lock lock(graphviz_lock());
    agseterr(AGMAX);  // suppresses messages: an edge that Graphviz cannot route is drawn straight

    const std::unique_ptr<GVC_t, FreeContext> context(gvContext());
    const std::unique_ptr<Agraph_t, CloseGraph> graph(agopen(text("g"), Agdirected, nullptr));
    Agraph_t* g = graph.get();
    agattr(g, AGRAPH, text("rankdir"), text("TB"));
    agattr(g, AGRAPH, text("ranksep"), text("0.42"));
    agattr(g, AGRAPH, text("nodesep"), text("0.22"));
    agattr(g, AGNODE, text("shape"), text("box"));
    agattr(g, AGNODE, text("label"), text(""));
    agattr(g, AGNODE, text("fixedsize"), text("true"));
    agattr(g, AGEDGE, text("arrowhead"), text("none"));
    agattr(g, AGEDGE, text("tailport"), text("s"));
    agattr(g, AGEDGE, text("headport"), text("n"));
    Agsym_t* const width = agattr(g, AGNODE, text("width"), text("1"));
    Agsym_t* const weight = agattr(g, AGEDGE, text("weight"), text("1"));
    Agsym_t* const height = agattr(g, AGNODE, text("height"), text("1"));

    std::vector<Agnode_t*> nodes;
    nodes.reserve(input.nodes.size());
    for (const auto& node : input.nodes) {
        Agnode_t* const added = agnode(g, nullptr, 1);
        agxset(added, width, inches(node.width).data());
        agxset(added, height, inches(node.height).data());
        nodes.push_back(added);
    }
    std::vector<Agedge_t*> edges;
    edges.reserve(input.edges.size());
    const auto layer = layers(input);
    std::vector<std::uint32_t> fan_in(nodes.size()), fan_out(nodes.size());
    for (const auto& [from, to] : input.edges) {
        ++fan_out[from];
        ++fan_in[to];
    }
    for (const auto& [from, to] : input.edges) {
        edges.push_back(agedge(g, nodes[from], nodes[to], nullptr, 1));
        // Chains are straight and without gaps, and so is the main line beside a skip edge; several branches
        // centre their join; the slack of a short branch goes before the join.
        const bool in_chain = fan_out[from] == 1 && fan_in[to] == 1, is_long = layer[to] - layer[from] > 1;
        agxset(edges.back(), weight, text(in_chain ? "10" : is_long ? "1" : "2"));
    }

    if (gvLayout(context.get(), g, "dot") != 0)
        throw std::runtime_error("Graphviz failed to lay out the graph");
    const std::unique_ptr<Agraph_t, FreeLayout> layout(g, FreeLayout{context.get()});

    const boxf box = GD_bb(g);
    result.width = box.UR.x - box.LL.x;
    result.height = box.UR.y - box.LL.y;
    for (Agnode_t* node : nodes)
        result.centre.push_back({ND_coord(node).x - box.LL.x, box.UR.y - ND_coord(node).y});
    for (std::size_t i = 0; i < edges.size(); ++i) {
        auto& bends = result.bends.emplace_back();
        const splines* const route = ED_spl(edges[i]);
        const bool passes_nodes = ND_rank(aghead(edges[i])) - ND_rank(agtail(edges[i])) > 1;
        if (passes_nodes && route && route->size > 0) bends = sampled(route->list[0], box.UR.y);
        // Curves sometimes swing out above or below the space between their nodes.
        const auto [from, to] = input.edges[i];
        const double top = result.centre[from].y + input.nodes[from].height / 2,
                     bottom = result.centre[to].y - input.nodes[to].height / 2;
        for (auto& bend : bends) bend = {bend.x - box.LL.x, std::clamp(bend.y, top, std::max(top, bottom))};
    }
    straighten_spine(input, {}, result);
    return result;
}

}  // namespace placewright
