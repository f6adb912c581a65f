// SPDX-License-Identifier: MIT
#include "core/bounds/min_cut.hpp"

#include <boost/graph/adjacency_list.hpp>
// Its loops begin with iterators that are set by boost::tie, which GCC 12 does not follow. Clang has no such
// warning.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#pragma GCC diagnostic pop

namespace placewright {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Arc = Traits::edge_descriptor;
/// Arcs with their capacity and what of it is left.
using Residual =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS,
                          boost::property<boost::vertex_color_t, boost::default_color_type,
                                          boost::property<boost::vertex_distance_t, long,
                                                          boost::property<boost::vertex_predecessor_t, Arc>>>,
                          boost::property<boost::edge_capacity_t, Ticks,
                                          boost::property<boost::edge_residual_capacity_t, Ticks,
                                                          boost::property<boost::edge_reverse_t, Arc>>>>;

}  // namespace

struct CutNetwork::State {
    Residual graph;
};

CutNetwork::CutNetwork() : state_(std::make_unique<State>()) {}
CutNetwork::~CutNetwork() = default;
CutNetwork::CutNetwork(CutNetwork&&) noexcept = default;
CutNetwork& CutNetwork::operator=(CutNetwork&&) noexcept = default;

CutNetwork::Vertex CutNetwork::add_vertex() {
    return boost::add_vertex(state_->graph);
}

void CutNetwork::connect(Vertex from, Vertex to, Ticks there, Ticks back) {
    Residual& graph = state_->graph;
    const Arc arc = add_edge(from, to, graph).first;
    const Arc reverse = add_edge(to, from, graph).first;
    put(boost::edge_capacity, graph, arc, there);
    put(boost::edge_capacity, graph, reverse, back);
    put(boost::edge_reverse, graph, arc, reverse);
    put(boost::edge_reverse, graph, reverse, arc);
}

Ticks CutNetwork::solve(Vertex source, Vertex sink) {
    return boykov_kolmogorov_max_flow(state_->graph, source, sink);
}

bool CutNetwork::on_source_side(Vertex vertex) const {
    return get(boost::vertex_color, state_->graph, vertex) == boost::black_color;
}

}  // namespace placewright
