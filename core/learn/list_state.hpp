// SPDX-License-Identifier: MIT
// Shape of the list policy's network, and what it reads of a placement that is half made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/learn/policy.hpp"

namespace placewright {

/// Learned list scheduling: groups are placed in the order of a list scheduler (HEFT: longest path to the end
/// first). For each group a network scores every device by what a list scheduler would know of it, by where
/// the neighbours are, and by an embedding of the group that messages along the edges have made. DOPPLER
/// (Yao et al., 2025) learns the next op as well as its device; here the order is fixed.
///
/// A rollout decides on the groups of its order; all others stay where the start placement has them. So the
/// same network builds placements and changes parts of them.
struct ListNetwork {
    std::uint32_t width = 32;   ///< width of a group's embedding
    std::uint32_t rounds = 3;   ///< rounds of messages, each with weights of its own
    std::uint32_t hidden = 48;  ///< width of the hidden layers of the score of a device
    float foresight = 8;        ///< preference of an untrained policy: see ListState::preference

    /// Features of a group: see ListState::group_features().
    static constexpr std::size_t kGroupFeatures = 17;
    /// Features of a device for a group: see ListState::device_features().
    static constexpr std::size_t kDeviceFeatures = 27;

    /// Input layer; for each round the maps of a group's own embedding and of the means over parents and
    /// children; then for a device: maps of embedding and features into the first hidden layer, weights of
    /// the attention over devices, second hidden layer of own and attended values, score.
    std::vector<PolicyParameter> parameters() const;
};

/// The order in which the list policy goes through all groups: descending longest path to the end, with the
/// topological order between equals.
std::vector<GroupId> list_order(const PolicyGraph& graph);

/// A placement in the middle of a rollout.
class ListState {
public:
    /// `decided` [group]: groups that are decided on during the rollout; 0: it stays where `start` has it.
    ListState(const PolicyGraph& graph, std::span<const GroupId> order);

    void begin(const Placement& start, std::span<const std::uint8_t> decided);

    /// Prepares the decision on the group at this place of the order.
    void turn_to(std::size_t place);
    /// Writes kDeviceFeatures numbers for a device; after turn_to().
    void device_features(std::size_t device, float* features) const;
    /// Returns what is added to a device's score: minus `foresight` times how much later the group would end
    /// there than on the best device, as a share of a hundredth of the longest path plus it.
    float preference(const ListNetwork& network, std::size_t device) const;
    /// Puts the group at this place of the order on the device. Needs no turn_to() before.
    void place(std::size_t place, std::uint16_t device);
    /// Device of a group, or graph.devices if it is not decided on yet.
    std::uint16_t device(GroupId group) const { return device_[group]; }

    /// Writes kGroupFeatures numbers for each group: [group * kGroupFeatures]. Time, levels and slack as
    /// shares of the longest path; numbers of parents and children; time of its outputs' transfers beside its
    /// own; memory; how much faster its best device is than the mean; how much work there is at its time;
    /// and of the whole problem: numbers of devices and groups, parallelism, memory, transfers beside work.
    static std::vector<float> group_features(const PolicyGraph& graph);

private:
    struct Candidate {
        float ready = 0, start = 0, end = 0;
        float arriving = 0;  ///< time of the transfers of inputs that are elsewhere
        float leaving = 0;   ///< likewise of outputs whose readers are known to be elsewhere
        float parent_bytes = 0, child_bytes = 0, siblings = 0, near = 0;
    };

    float transfer(std::size_t from, std::size_t to, double bytes) const {
        const std::size_t link = from * graph_.devices + to;
        return graph_.latency[link] + static_cast<float>(bytes) * graph_.byte_duration[link];
    }
    /// Returns when the inputs of a group would be on a device.
    float ready(GroupId group, std::size_t device) const;

    const PolicyGraph& graph_;
    std::span<const GroupId> order_;
    std::vector<std::uint16_t> device_;  ///< [group]
    std::vector<float> end_;             ///< [group]; negative: not scheduled yet
    std::vector<float> free_;            ///< [device]: end of what is scheduled there
    std::vector<double> load_, fill_;    ///< [device]: time and memory of the groups that are known there
    std::vector<std::uint32_t> used_;    ///< [device]: number of these groups
    double ideal_ = 1;                   ///< time of all groups on their best devices, by device
    std::uint16_t last_ = 0;             ///< device of the group before in the order

    // Of the group to be decided on.
    GroupId group_ = 0;
    std::vector<Candidate> candidates_;  ///< [device]
    float first_end_ = 0, first_start_ = 0, first_ready_ = 0, shortest_ = 0;
    float known_children_ = 0;  ///< share of the bytes to children whose device is known
    std::uint16_t heavy_parent_ = 0, late_parent_ = 0, heavy_child_ = 0;
};

}  // namespace placewright
