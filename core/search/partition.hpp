// SPDX-License-Identifier: MIT
// What algorithms have in common that cut the graph of groups into parts of balanced work, one a device, across as little traffic as they
// can. They look at no times of ops, only at sums: a chain is cut into stages, but nothing says that stages work at the same time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/search/choices.hpp"
#include "core/search/options.hpp"

namespace placewright {

/// An undirected graph in compressed rows, each edge in the rows of both ends, without loops.
struct WeightedGraph {
    std::vector<double> time_s;            ///< [vertex]: mean over the devices that it may be on; forward, backward and update
    std::vector<double> bytes;             ///< [vertex]: what it holds for the whole step (MemoryEstimate)
    std::vector<std::uint32_t> begin;      ///< [vertices + 1], into the following
    std::vector<std::uint32_t> neighbour;  ///< ascending in a row
    std::vector<double> traffic;           ///< tensors between the two ends, both ways; each once for an end that reads it

    std::size_t size() const { return time_s.size(); }
};

/// The graph of all groups: vertices are groups. `edges`: "bytes" or "seconds" (mean over the pairs of devices); where no tensor has bytes,
/// seconds count anyway. O(ops + edges).
WeightedGraph group_graph(const DeviceChoices& choices, const std::string& edges);

/// The part of the graph with these vertices, ascending, renumbered from 0 in their order.
WeightedGraph subgraph(const WeightedGraph& graph, std::span<const GroupId> vertices);

/// Whole numbers of at least 1 in proportion to `amounts`; what is beyond that adds up to at most `total`. All 1 if the amounts are 0.
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
    return schema.add("parts", &Options::parts, 0, 1024, "Devices to use, the fastest first; 0: all, then one less and so on, down to one.")
        .add("imbalance", &Options::imbalance, 0, 10,
             "How much a part may be above its share (0.1: a tenth); 0: 0.03, 0.1, 0.3 and 1 in turn.")
        .add("tries", &Options::tries, 1, 1000, "Partitions of each kind to make, with other random numbers.")
        .add("edges", &Options::edges, {"bytes", "seconds"},
             "What is cut as little as can be: bytes, or the seconds that they take on their way.")
        .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
}

/// One partition to make.
struct PartitionTrial {
    std::size_t parts = 1;
    double imbalance = 0;
    std::uint32_t variant = 0;  ///< of what the algorithm has
    std::int32_t seed = 0;      ///< not negative
};

/// What to try, in this order: all tries at tolerances of imbalance, variants and numbers of parts, most parts first; in the end one part.
std::vector<PartitionTrial> partition_trials(const DeviceChoices& choices, const PartitionOptions& options, std::uint32_t variants,
                                             std::uint64_t seed);

/// Parts, devices and what lies between them.
class Partition {
public:
    Partition(DeviceChoices choices, const std::string& edges);

    const DeviceChoices& choices() const { return choices_; }
    const WeightedGraph& graph() const { return graph_; }

    /// Of two devices the mean over both directions of the time that all tensors would take; only ratios matter.
    double distance(DeviceId a, DeviceId b) const { return distance_[std::size_t{a} * choices_.problem().devices + b]; }
    /// Work a second against the mean of the group's devices. 1 where there is no work.
    double speed(DeviceId device) const { return speed_[device]; }
    /// Whether two devices can stand for each other: as fast, with as much memory.
    bool alike(DeviceId a, DeviceId b) const;

    /// So many of DeviceChoices::fastest_first(), at most all; where they are taken out of several that are alike, such as lie close to
    /// each other.
    std::vector<DeviceId> devices(std::size_t parts) const {
        return {order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(std::min(parts, order_.size()))};
    }

    /// The parts of the movable groups' `amounts` [group] that are due to each device so that together with the groups that stay where they
    /// are everyone has its share of all; adds up to 1, and none is nothing.
    std::vector<double> targets(std::span<const DeviceId> devices, std::span<const double> shares, std::span<const double> amounts) const;

    /// The placement of the movable groups' parts, in the order of DeviceChoices::movable(), indices of `devices`. Parts on devices that
    /// are alike change places while that shortens the way of the traffic. A group that may not be where its part is goes where it is next
    /// to what it has to do with.
    Placement placement(std::span<const std::int32_t> part_of, std::vector<DeviceId> devices) const;

private:
    void order_devices();
    void exchange_devices(const Placement& part_of, std::vector<DeviceId>& devices) const;
    double way_s(GroupId group, DeviceId device, const Placement& placement) const;

    DeviceChoices choices_;
    WeightedGraph graph_;
    std::vector<double> distance_;  ///< [from * devices + to]
    std::vector<double> speed_;     ///< [device]
    std::vector<DeviceId> order_;   ///< in which devices are taken
};

}  // namespace placewright
