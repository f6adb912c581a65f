// SPDX-License-Identifier: MIT
// What Placeto's network reads and computes during an episode, whatever its weights. Between two decisions
// the features of two nodes change, so within the rounds of messages most nodes stay the same: a node gets a
// new row where it may change, and keeps its row where it does not.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/learn/placeto_state.hpp"

namespace placewright {

class PlacetoTrace {
public:
    using Row = std::uint32_t;

    /// A round of messages in one direction: x <- base + relu(g(sum or mean of senders'
    /// relu(f(x)))).
    struct Round {
        std::vector<Row> base;             ///< [row]: row of the node's own features
        std::vector<Row> sender_begin{0};  ///< [row + 1]
        std::vector<Row> sender;           ///< rows of the round before; the base is before the first
        std::vector<Row> row_of;           ///< [node]: its newest row
    };
    /// The nodes of one set (PlacetoNetwork::set_of) at each decision. A row is an embedding of a node while
    /// it is in the set.
    struct Set {
        std::vector<Row> embedding;         ///< [row]
        std::vector<Row> member_begin{0};   ///< [decision + 1]
        std::vector<Row> member;            ///< rows
        std::vector<std::uint16_t> device;  ///< [member]: device that the node is on, or graph.devices
        std::vector<Row> row_of;            ///< [node]: its newest row
    };

    /// Both must outlive this object.
    PlacetoTrace(const PlacetoNetwork& network, const PolicyGraph& graph);

    /// Adds the decision on state.current(). Since the last one added only the node decided on then may have
    /// changed.
    void add(const PlacetoState& state);
    /// Forgets all decisions.
    void clear();
    /// Returns whether to clear() before the next decision, to bound memory: the next decision then computes
    /// all nodes.
    bool full() const { return decisions() >= kMostDecisions || rows_ > kMostWholes * whole_; }

    std::size_t decisions() const { return current.size(); }
    std::size_t bases() const { return features.size() / network_.node_features(); }

    std::vector<float> features;               ///< [base row, feature]
    std::array<std::vector<Round>, 2> rounds;  ///< [down, up][round]
    std::array<std::vector<Row>, 2>
        embedding;  ///< [down, up][embedding row]: row of the last round, or a base
    std::array<Set, PlacetoNetwork::kSets> sets;
    std::vector<Row> current;            ///< [decision]: embedding row of the node
    std::vector<Row> all;                ///< [decision, node]: base rows; only if all are side by side
    std::vector<float> device_features;  ///< [decision, device, feature]; not if one_hot
    std::vector<float> preferences;      ///< [decision, device]: added to the logits
    std::vector<std::uint8_t> allowed;   ///< [decision, device]

private:
    static constexpr std::size_t kMostDecisions = 512;
    static constexpr std::size_t kMostWholes = 4;

    std::span<const GroupId> senders(std::size_t way, GroupId node) const {
        return way == 0 ? graph_.parents(node) : graph_.children(node);
    }
    std::span<const GroupId> readers(std::size_t way, GroupId node) const {
        return way == 0 ? graph_.children(node) : graph_.parents(node);
    }
    void send_messages(std::size_t way);
    void embed();
    void gather(const PlacetoState& state);
    /// Adds a node to `nodes` unless it is there.
    void reach(GroupId node, std::vector<GroupId>& nodes);

    const PlacetoNetwork& network_;
    const PolicyGraph& graph_;
    std::vector<Row> base_of_, embedding_of_;  ///< [node]: newest rows
    std::vector<GroupId> changed_, now_, next_, renewed_;
    std::vector<std::uint8_t> reached_;  ///< [node]: whether reach() has added it
    GroupId last_ = 0;                   ///< node of the last decision
    std::size_t rows_ = 0;               ///< number of rows of all rounds
    std::size_t whole_ = 0;              ///< of these, those of the first decision
};

}  // namespace placewright
