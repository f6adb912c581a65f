// SPDX-License-Identifier: MIT
#include "core/learn/placeto_trace.hpp"

#include <numeric>

namespace placewright {
namespace {

using Row = PlacetoTrace::Row;
constexpr Row kNoRow = ~Row{0};

Row count(const std::vector<Row>& rows) {
    return static_cast<Row>(rows.size());
}

}  // namespace

PlacetoTrace::PlacetoTrace(const PlacetoNetwork& network, const PolicyGraph& graph)
    : network_(network),
      graph_(graph),
      base_of_(graph.nodes),
      embedding_of_(graph.nodes),
      reached_(graph.nodes) {
    if (network.aggregation == PlacetoAggregation::messages) {
        for (auto& way : rounds) way.resize(network.rounds);
    }
    clear();
}

void PlacetoTrace::clear() {
    for (auto& way : rounds) {
        for (Round& round : way) {
            round.base.clear();
            round.sender_begin.assign(1, 0);
            round.sender.clear();
            round.row_of.assign(graph_.nodes, kNoRow);
        }
    }
    for (auto& way : embedding) way.clear();
    for (Set& set : sets) {
        set.embedding.clear();
        set.member_begin.assign(1, 0);
        set.member.clear();
        set.device.clear();
        set.row_of.assign(graph_.nodes, kNoRow);
    }
    for (std::vector<float>* values : {&features, &device_features, &preferences}) values->clear();
    current.clear();
    all.clear();
    allowed.clear();
    rows_ = whole_ = 0;
}

void PlacetoTrace::add(const PlacetoState& state) {
    const GroupId node = state.current();
    if (decisions() == 0) {
        changed_.resize(graph_.nodes);
        std::iota(changed_.begin(), changed_.end(), GroupId{0});
    } else {
        changed_.assign(1, node);
        if (last_ != node) changed_.push_back(last_);
    }
    last_ = node;

    const std::size_t width = network_.node_features();
    for (const GroupId changed : changed_) {
        base_of_[changed] = static_cast<Row>(bases());
        features.resize(features.size() + width);
        state.node_features(network_, changed, features.data() + features.size() - width);
    }
    rows_ += changed_.size();
    if (network_.aggregation == PlacetoAggregation::flat) {
        all.insert(all.end(), base_of_.begin(), base_of_.end());
        current.push_back(base_of_[node]);
    } else {
        embed();
        gather(state);
        current.push_back(embedding_of_[node]);
    }
    if (whole_ == 0) whole_ = rows_;

    const std::size_t devices = graph_.devices;
    for (std::size_t device = 0; device < devices; ++device) {
        preferences.push_back(state.preference(network_, device));
        allowed.push_back(graph_.allowed[node * devices + device]);
        if (network_.one_hot()) continue;
        constexpr std::size_t kOwn = PlacetoNetwork::kDeviceFeatures;
        device_features.resize(device_features.size() + kOwn);
        state.device_features(device, device_features.data() + device_features.size() - kOwn);
    }
}

void PlacetoTrace::reach(GroupId node, std::vector<GroupId>& nodes) {
    if (reached_[node] != 0) return;
    reached_[node] = 1;
    nodes.push_back(node);
}

/// Leaves in now_ the nodes that change in the last round.
void PlacetoTrace::send_messages(std::size_t way) {
    now_ = changed_;
    const std::vector<Row>* before = &base_of_;
    for (Round& round : rounds[way]) {
        next_.clear();
        for (const GroupId node : changed_) reach(node, next_);
        for (const GroupId node : now_) {
            for (const GroupId reader : readers(way, node)) reach(reader, next_);
        }
        for (const GroupId node : next_) {
            reached_[node] = 0;
            round.row_of[node] = count(round.base);
            round.base.push_back(base_of_[node]);
            for (const GroupId sender : senders(way, node)) round.sender.push_back((*before)[sender]);
            round.sender_begin.push_back(count(round.sender));
        }
        rows_ += next_.size();
        before = &round.row_of;
        now_.swap(next_);
    }
}

/// Gives a new embedding to the nodes that may have changed.
void PlacetoTrace::embed() {
    renewed_ = changed_;
    if (network_.aggregation == PlacetoAggregation::messages) {
        send_messages(0);
        renewed_ = now_;
        send_messages(1);
        for (const GroupId node : renewed_) reached_[node] = 1;
        for (const GroupId node : now_) reach(node, renewed_);
    }
    for (const GroupId node : renewed_) {
        reached_[node] = 0;
        embedding_of_[node] = count(embedding[0]);
        for (std::size_t way = 0; way < 2; ++way)
            embedding[way].push_back(rounds[way].empty() ? base_of_[node] : rounds[way].back().row_of[node]);
    }
}

void PlacetoTrace::gather(const PlacetoState& state) {
    for (GroupId node = 0; node < graph_.nodes; ++node) {
        if (node == state.current()) continue;
        Set& set = sets[PlacetoNetwork::set_of(graph_, state.current(), node)];
        Row& row = set.row_of[node];
        if (row == kNoRow || set.embedding[row] != embedding_of_[node]) {
            row = count(set.embedding);
            set.embedding.push_back(embedding_of_[node]);
        }
        set.member.push_back(row);
        set.device.push_back(state.device(node));
    }
    for (Set& set : sets) set.member_begin.push_back(count(set.member));
}

}  // namespace placewright
