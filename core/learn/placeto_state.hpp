// SPDX-License-Identifier: MIT
// The shape of Placeto's network, and what it is shown of a placement.
#pragma once

#include <cstdint>
#include <vector>

#include "core/learn/policy.hpp"

namespace placewright {

/// How the network gathers what it knows of the nodes.
enum class PlacetoAggregation : std::uint8_t {
    messages,  ///< k rounds of messages along the edges, each way; then pooling
    pooling,   ///< pooling of the nodes' own features ("simple partitioner")
    flat,      ///< the features of all nodes side by side into one layer ("simple aggregator"): for one graph alone
};

/// How it tells devices apart.
enum class PlacetoDevices : std::uint8_t {
    one_hot,   ///< by number: each has a feature and an output of its own. For one machine alone
    features,  ///< by speed, memory, links and what is on them: one output, asked of every device. For any machine
};

/// The shape of the network. Its weights lie in the order of parameters().
struct PlacetoNetwork {
    PlacetoAggregation aggregation = PlacetoAggregation::messages;
    PlacetoDevices device_rule = PlacetoDevices::one_hot;
    std::uint32_t devices = 0;     ///< one_hot: how many there are
    std::uint32_t flat_nodes = 0;  ///< flat: how many nodes the graph has
    std::uint32_t width = 16;      ///< of a node's embedding, each way; at most kMostWidth
    std::uint32_t layers = 1;      ///< of f and of g
    std::uint32_t rounds = 8;      ///< k
    std::uint32_t hidden = 64;     ///< of the head
    // What an untrained policy prefers: added to the logits.
    float inertia = 0;    ///< of the device that a node is on
    float foresight = 0;  ///< times how early the node would end on a device: see PlacetoState::lateness

    static constexpr std::size_t kMostWidth = 256;
    /// Of a node: time, bytes, times decided on, whether it is the one to be placed, and its device.
    static constexpr std::size_t kPlainFeatures = 4;
    /// Where devices are told apart by features: when it runs at best (two levels); of its device the time on it, speed, memory.
    static constexpr std::size_t kOwnDeviceFeatures = 5;
    /// Of a device that may be chosen: see device_features().
    static constexpr std::size_t kDeviceFeatures = 13;
    /// From the node to be placed all others are ancestors, descendants or neither; each kind is pooled by itself.
    static constexpr std::size_t kSets = 3;

    bool one_hot() const { return device_rule == PlacetoDevices::one_hot; }
    std::size_t node_features() const { return kPlainFeatures + (one_hot() ? devices : kOwnDeviceFeatures); }
    /// Of what is pooled: both directions.
    std::size_t embedding() const { return aggregation == PlacetoAggregation::messages ? 2 * width : node_features(); }
    std::size_t head_inputs() const;
    std::size_t head_outputs() const { return one_hot() ? devices : 1; }
    std::vector<PolicyParameter> parameters() const;

    /// Which set `other` belongs to as seen from `node`: 0 ancestors, 1 descendants, 2 neither.
    static std::size_t set_of(const PolicyGraph& graph, GroupId node, GroupId other) {
        return graph.ancestors[node].contains(other) ? 0 : graph.descendants[node].contains(other) ? 1 : 2;
    }
};

/// A placement that is being decided on, as the network sees it.
class PlacetoState {
public:
    PlacetoState(const PolicyGraph& graph, const Placement& start);

    /// Index of the device that a node is on, or graph.devices.
    std::uint16_t device(GroupId node) const { return device_[node]; }
    /// `node` is to be decided on next.
    void turn_to(GroupId node);
    GroupId current() const { return current_; }
    void decide(std::uint16_t device);

    /// Writes node_features() numbers.
    void node_features(const PlacetoNetwork& network, GroupId node, float* features) const;
    /// Writes kDeviceFeatures numbers of a device for the current node: speed, memory, time of the node, its memory, time and memory of
    /// what else is there, shares of the bytes from parents and to children that would stay there (those that cross a link count by its
    /// speed, up to half), whether it is there now;
    /// of the time of the nodes that are neither before nor behind it the share that is there, and the same of those that run at about the
    /// same time at best; its lateness; whether it would end first there.
    void device_features(std::size_t device, float* features) const;

    /// How much later the current node would end on a device than on the best one, had the nodes been scheduled in the order in which they
    /// were decided on in this pass: 0 there, 0.5 for a hundredth of the longest way, never 1.
    float lateness(std::size_t device) const;
    /// What is added to a device's logit for the current node.
    float preference(const PlacetoNetwork& network, std::size_t device) const {
        return (device == device_[current_] ? network.inertia : 0) - network.foresight * lateness(device);
    }

private:
    float end_on(std::size_t device) const;

    const PolicyGraph& graph_;
    std::vector<std::uint16_t> device_;
    std::vector<float> decided_;  ///< how many times
    GroupId current_ = 0;
    std::vector<double> load_, fill_;  ///< [device]: time of what is there as a share of the total on the best device; memory as a share
    double total_time_ = 0;
    // Seen from the current node; [device], as shares.
    std::vector<float> beside_, near_;
    // A schedule of the nodes in the order in which they were decided on, since one came again: in shares of the longest way.
    std::vector<float> end_;   ///< [node]; negative: not yet decided on
    std::vector<float> free_;  ///< [device]: when all that is on it has ended
    std::vector<float> ends_;  ///< [device]: when the current node would end there
    float first_end_ = 0;      ///< on the best device that it may be on
};

}  // namespace placewright
