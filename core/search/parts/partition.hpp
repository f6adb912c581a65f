// SPDX-License-Identifier: MIT
// Common code of the algorithms that cut the graph of groups into parts of balanced work, one per device,
// with as little traffic as possible. They use no start times of ops, only sums: a chain is cut into stages,
// but nothing ensures that stages work at the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/search/options.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {

/// An undirected graph in compressed rows, each edge in the rows of both ends, without loops.
struct WeightedGraph {
    std::vector<double>
        time_s;  ///< [vertex]: mean over the devices that it may be on; forward, backward and update
    std::vector<double> bytes;             ///< [vertex]: bytes held for the whole step (MemoryEstimate)
    std::vector<std::uint32_t> begin;      ///< [vertices + 1], into the following
    std::vector<std::uint32_t> neighbour;  ///< ascending in a row
    std::vector<double>
        traffic;  ///< tensors between the two ends, both ways; each once per end that reads it

    std::size_t size() const { return time_s.size(); }
};

/// Returns the graph of all groups: vertices are groups. `edges`: "bytes" or "seconds" (mean over the pairs
/// of devices); if no tensor has bytes, seconds count anyway. O(ops + edges).
WeightedGraph group_graph(const DeviceChoices& choices, const std::string& edges);

/// Returns the subgraph of these vertices, ascending, renumbered from 0 in their order.
WeightedGraph subgraph(const WeightedGraph& graph, std::span<const GroupId> vertices);

/// Returns whole numbers of at least 1 in proportion to `amounts`; the excess over 1 adds up to at most
/// `total`. All 1 if the amounts are 0.
std::vector<std::int32_t> whole_weights(std::span<const double> amounts, double total);

struct PartitionOptions {
    std::string edges = "bytes";
    std::size_t parts = 0;
    double imbalance = 0;
    std::uint32_t tries = 2;
    bool allow_cpu = false;
};

template <class Options>
OptionSchema<Options> add_partition_options(OptionSchema<Options> schema) {
    return schema
        .add("parts", &Options::parts, 0, 1024,
             "Number of devices to use, the fastest first; 0: all, then one less and so on, down to one.")
        .add("imbalance", &Options::imbalance, 0, 10,
             "Tolerated excess of a part over its share (0.1: 10 %); 0: 0.03, 0.1, 0.3 and 1 in turn.")
        .add("tries", &Options::tries, 1, 1000,
             "Number of partitions of each kind, with different random numbers.")
        .add("edges", &Options::edges, {"bytes", "seconds"},
             "Traffic that the cut minimises: bytes, or seconds of their transfers.")
        .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
}

/// One partition to make.
struct PartitionTrial {
    std::size_t parts = 1;
    double imbalance = 0;
    std::uint32_t variant = 0;  ///< one of the algorithm's variants
    std::int32_t seed = 0;      ///< not negative
};

/// Returns what to try, in this order: all tries at the tolerances of imbalance, variants and numbers of
/// parts, most parts first; last a single part.
std::vector<PartitionTrial> partition_trials(const DeviceChoices& choices, const PartitionOptions& options,
                                             std::uint32_t variants, std::uint64_t seed);

/// The parts, their devices and the distances between them.
class Partition {
public:
    Partition(DeviceChoices choices, const std::string& edges);

    const DeviceChoices& choices() const { return choices_; }
    const WeightedGraph& graph() const { return graph_; }

    /// Returns the time that all tensors would take between two devices, mean over both directions; only
    /// ratios matter.
    double distance(DeviceId a, DeviceId b) const {
        return distance_[std::size_t{a} * choices_.problem().devices + b];
    }
    /// Work per second relative to the mean of the group's devices; 1 if there is no work.
    double speed(DeviceId device) const { return speed_[device]; }
    /// Returns whether two devices are interchangeable: equally fast, with equal memory.
    bool alike(DeviceId a, DeviceId b) const;

    /// Returns the first `parts` devices of DeviceChoices::fastest_first(), at most all; from several devices
    /// that are alike, it takes those that are close to each other.
    std::vector<DeviceId> devices(std::size_t parts) const {
        return {order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(std::min(parts, order_.size()))};
    }

    /// Returns the shares of the movable groups' `amounts` [group] due to each device so that, together with
    /// the groups that cannot move, each device has its share of the total; they add up to 1, and each is
    /// positive.
    std::vector<double> targets(std::span<const DeviceId> devices, std::span<const double> shares,
                                std::span<const double> amounts) const;

    /// Returns the placement of the movable groups' parts, given in the order of DeviceChoices::movable() as
    /// indices of `devices`. Parts on devices that are alike are exchanged while that shortens the routes of
    /// the traffic. A group that may not be on the device of its part goes to the allowed device closest to
    /// the groups that it exchanges tensors with.
    Placement placement(std::span<const std::int32_t> part_of, std::vector<DeviceId> devices) const;

private:
    void order_devices();
    void exchange_devices(const Placement& part_of, std::vector<DeviceId>& devices) const;
    double way_s(GroupId group, DeviceId device, const Placement& placement) const;

    DeviceChoices choices_;
    WeightedGraph graph_;
    std::vector<double> distance_;  ///< [from * devices + to]
    std::vector<double> speed_;     ///< [device]
    std::vector<DeviceId> order_;   ///< order in which devices are taken
};

}  // namespace placewright
