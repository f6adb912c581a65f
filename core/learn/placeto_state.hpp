// SPDX-License-Identifier: MIT
// Shape of Placeto's network, and the features of a placement that it reads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/learn/policy.hpp"

namespace placewright {

/// How the network gathers information on the nodes.
enum class PlacetoAggregation : std::uint8_t {
    messages,  ///< k rounds of messages along the edges in each direction, then pooling
    pooling,   ///< pooling of the nodes' own features ("simple partitioner")
    flat,      ///< the features of all nodes side by side into one layer ("simple aggregator"): for one graph
               ///< only
};

/// How the network distinguishes devices.
enum class PlacetoDevices : std::uint8_t {
    one_hot,   ///< by number: each device has its own feature and output; for one machine only
    features,  ///< by speed, memory, links and load: one output, evaluated for every device; for any machine
};

/// Shape of the network. Its weights are stored in the order of parameters().
struct PlacetoNetwork {
    PlacetoAggregation aggregation = PlacetoAggregation::messages;
    PlacetoDevices device_rule = PlacetoDevices::one_hot;
    std::uint32_t devices = 0;     ///< one_hot: number of devices
    std::uint32_t flat_nodes = 0;  ///< flat: number of nodes of the graph
    std::uint32_t width = 16;      ///< width of a node's embedding in each direction; at most kMostWidth
    std::uint32_t layers = 1;      ///< number of layers of f and of g
    std::uint32_t rounds = 8;      ///< k
    std::uint32_t hidden = 64;     ///< width of the head's hidden layer
    /// Whether a node takes the mean of the messages of its senders, not their sum. Sums grow with each
    /// round: where nodes have many senders, an untrained policy then always chooses the same device.
    bool mean_messages = true;
    // Preferences of an untrained policy, added to the logits.
    float inertia = 0;    ///< on the device that a node is on
    float foresight = 0;  ///< subtracted times PlacetoState::lateness

    static constexpr std::size_t kMostWidth = 256;
    /// Features of a node: time, bytes, number of decisions on it, whether it is the current one, and its
    /// device.
    static constexpr std::size_t kPlainFeatures = 4;
    /// Further features if devices are distinguished by features: earliest run time (two levels); of its
    /// device the time on it, speed, memory.
    static constexpr std::size_t kOwnDeviceFeatures = 5;
    /// Features of a device to choose from: see device_features().
    static constexpr std::size_t kDeviceFeatures = 13;
    /// Relative to the current node all others are ancestors, descendants or neither; each kind is pooled
    /// separately.
    static constexpr std::size_t kSets = 3;

    bool one_hot() const { return device_rule == PlacetoDevices::one_hot; }
    std::size_t node_features() const { return kPlainFeatures + (one_hot() ? devices : kOwnDeviceFeatures); }
    /// Width of a pooled embedding: both directions.
    std::size_t embedding() const {
        return aggregation == PlacetoAggregation::messages ? 2 * width : node_features();
    }
    std::size_t head_inputs() const;
    std::size_t head_outputs() const { return one_hot() ? devices : 1; }
    std::vector<PolicyParameter> parameters() const;

    /// Returns the set that `other` belongs to relative to `node`: 0 ancestors, 1 descendants, 2 neither.
    static std::size_t set_of(const PolicyGraph& graph, GroupId node, GroupId other) {
        return graph.ancestors[node].contains(other) ? 0 : graph.descendants[node].contains(other) ? 1 : 2;
    }
};

/// A placement in the middle of an episode, as the network sees it.
class PlacetoState {
public:
    PlacetoState(const PolicyGraph& graph, const Placement& start);

    /// Returns the index of the device that a node is on, or graph.devices.
    std::uint16_t device(GroupId node) const { return device_[node]; }
    /// Makes `node` the next one to decide on.
    void turn_to(GroupId node);
    GroupId current() const { return current_; }
    void decide(std::uint16_t device);

    /// Writes node_features() numbers.
    void node_features(const PlacetoNetwork& network, GroupId node, float* features) const;
    /// Writes kDeviceFeatures numbers of a device for the current node: speed; memory; time of the node; its
    /// memory; time and memory of the other nodes there; shares of the bytes from parents and to children
    /// that would stay there (those that cross a link count by its speed, up to half); whether it is there
    /// now; the share of the device in the time of the nodes that are neither ancestors nor descendants, and
    /// in the time of those of them that run at about the same time at the earliest; its lateness; whether
    /// the node would end first there.
    void device_features(std::size_t device, float* features) const;

    /// Returns how much later the current node would end on a device than on the best one, by a list schedule
    /// of the nodes before it in topological order where they are now, in whatever order they are decided on:
    /// 0 on the best, 0.5 for a hundredth of the longest path, never 1.
    float lateness(std::size_t device) const;
    /// Returns the preference that is added to a device's logit for the current node.
    float preference(const PlacetoNetwork& network, std::size_t device) const {
        return (device == device_[current_] ? network.inertia : 0) - network.foresight * lateness(device);
    }

private:
    void schedule_until(std::size_t place);
    float end_on(GroupId node, std::size_t device) const;

    const PolicyGraph& graph_;
    std::vector<std::uint16_t> device_;
    std::vector<float> decided_;  ///< [node]: number of decisions
    GroupId current_ = 0;
    std::vector<double> load_,
        fill_;  ///< [device]: time of its nodes as a share of the total on the best device; memory as a share
    double total_time_ = 0;
    // Relative to the current node; [device], as shares.
    std::vector<float> beside_, near_;
    // Schedule of the first nodes in topological order, in shares of the longest path.
    std::vector<std::uint32_t> place_;  ///< [node]: its place in graph_.order
    std::size_t scheduled_ = 0;         ///< number of nodes
    std::vector<float> end_;            ///< [node]; negative: not scheduled
    std::vector<float> free_;           ///< [device]: end of everything scheduled on it
    std::vector<float> ends_;           ///< [device]: end of the current node if it were there
    float first_end_ = 0;               ///< end on the best device that the current node may be on
};

}  // namespace placewright
