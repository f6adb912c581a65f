// SPDX-License-Identifier: MIT
// A problem as a placement policy sees it: one node per group, with features that do not depend on the scale
// of the network or the machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/search/parts/choices.hpp"

namespace placewright {

/// A set of nodes, 64 per word.
class NodeSet {
public:
    explicit NodeSet(std::size_t nodes) : words_((nodes + 63) / 64) {}

    bool contains(std::size_t node) const { return (words_[node / 64] >> (node % 64) & 1U) != 0; }
    void insert(std::size_t node) { words_[node / 64] |= std::uint64_t{1} << (node % 64); }
    void erase(std::size_t node) { words_[node / 64] &= ~(std::uint64_t{1} << (node % 64)); }
    /// Returns whether that added a node.
    bool insert(const NodeSet& other) {
        bool grown = false;
        for (std::size_t i = 0; i < words_.size(); ++i) {
            const std::uint64_t together = words_[i] | other.words_[i];
            grown = grown || together != words_[i];
            words_[i] = together;
        }
        return grown;
    }

private:
    std::vector<std::uint64_t> words_;
};

/// Immutable and stored in plain tables, so that code built on LibTorch needs nothing else of a problem.
/// Neighbours are groups that exchange a tensor in the network as it was read: gradients flow back along the
/// same edges.
struct PolicyGraph {
    /// `reaches`: whether to find ancestors and descendants, which takes O(groups * (groups + edges) / 64);
    /// all else takes O(ops).
    PolicyGraph(std::shared_ptr<const Problem> problem, bool allow_cpu, bool reaches = true);

    DeviceChoices choices;
    std::uint32_t nodes = 0;  ///< number of groups
    std::uint32_t devices =
        0;  ///< number of devices that some group may be on: an action is an index among choices.devices()

    std::vector<GroupId>
        order;  ///< [nodes]: topological, except within cycles; of equals the group with the first op
    std::vector<std::uint8_t> allowed;        ///< [node * devices + device]: 0 or 1
    std::vector<std::uint32_t> parent_begin;  ///< [nodes + 1]
    std::vector<GroupId> parent;              ///< distinct, ascending
    std::vector<double> parent_bytes;         ///< [edge]: bytes of the tensors along it
    std::vector<std::uint32_t> child_begin;   ///< [nodes + 1]
    std::vector<GroupId> child;               ///< distinct, ascending
    std::vector<double> child_bytes;          ///< [edge]: bytes of the tensors along it
    std::vector<NodeSet> ancestors;  ///< [node]: nodes from which it can be reached, without itself; or empty
    std::vector<NodeSet>
        descendants;  ///< [node]: nodes that can be reached from it, without itself; or empty

    // As shares of the largest value in the graph, in [0, 1].
    std::vector<float> time;    ///< [node]: time of all ops of the group, mean over the devices
    std::vector<float> bytes;   ///< [node]: bytes of its ops' outputs in the network as it was read
    std::vector<float> memory;  ///< [node]: bytes held for the whole step, and its outputs

    // Earliest run time of a node, in shares of the longest path through the graph by the mean time over the
    // devices. Edges of cycles that lead back in `order` do not count.
    std::vector<float> top_level;     ///< [node]: longest path before it
    std::vector<float> bottom_level;  ///< [node]: longest path from it to the end, itself included
    std::vector<float> duration;      ///< [node]: its own time
    std::vector<float> duration_on;   ///< [node * devices + device]
    /// [from * devices + to]: time of a byte between groups, plus, if there are gradients, that of its
    /// gradient back; 0 on the diagonal.
    std::vector<float> byte_duration;
    std::vector<float> latency;  ///< [from * devices + to]: latency of a message, likewise

    // Features of devices relative to the best one, in (0, 1] or [0, 1].
    std::vector<float> speed;     ///< [device]: speed over all groups that may be there
    std::vector<float> capacity;  ///< [device]: memory
    std::vector<float>
        link;  ///< [from * devices + to]: inverse time for the network's mean tensor; 1 on the diagonal
    std::vector<float> time_on;  ///< [node * devices + device]: time relative to the mean over the graph's
                                 ///< nodes and devices; unbounded
    std::vector<float> need;     ///< [node * devices + device]: memory of the node as a share of the device's

    // Kinds and shapes of ops, for policies that read the network op by op.
    std::uint32_t kind_count = 0;  ///< policy_kind_count()
    std::vector<float>
        kinds;  ///< [node * kind_count]: share of its ops of each kind of policy_kinds(), all others last
    std::vector<float> shape;  ///< [node * 4]: log(1 + extent) of the first four extents of its largest
                               ///< output; 0 for missing ones

    std::span<const GroupId> parents(GroupId node) const {
        return std::span(parent).subspan(parent_begin[node], parent_begin[node + 1] - parent_begin[node]);
    }
    std::span<const GroupId> children(GroupId node) const {
        return std::span(child).subspan(child_begin[node], child_begin[node + 1] - child_begin[node]);
    }

    /// Returns the index of a device among choices.devices(), or their number: a group may stay on a device
    /// that no group may move to.
    std::uint16_t index_of(DeviceId device) const {
        const auto all = choices.devices();
        const auto found = std::ranges::lower_bound(all, device);
        return static_cast<std::uint16_t>((found != all.end() && *found == device ? found : all.end()) -
                                          all.begin());
    }
};

/// Returns a random part of `groups`, at most `most` of them and on any scale: a run of them or, as often,
/// the groups with a choice that are nearest to one. `groups` is not empty.
std::vector<GroupId> random_part(const PolicyGraph& graph, std::span<const GroupId> groups, std::size_t most,
                                 Random& random);

/// Returns the group and those groups with a choice that are nearest to it along the edges, `count` in all or
/// as many as can be reached; in the order of their distance.
std::vector<GroupId> nearest_groups(const PolicyGraph& graph, GroupId group, std::size_t count);

}  // namespace placewright
