// SPDX-License-Identifier: MIT
// Max load (core/sim/max_load.hpp) by groups: the tables that bounds and exact programs need of a problem.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Tensors of one group that are read by the same other groups: they cross the border of a device together.
struct TensorBundle {
    GroupId producer = 0;
    std::vector<GroupId> readers;  ///< ascending, without the producer, not empty
    std::vector<TensorId> tensors;
};

/// Devices with equal properties as far as the load is concerned.
struct LoadClass {
    std::vector<DeviceId> devices;
    bool is_cpu = false;
    std::vector<double> group_s;  ///< [group]; infinity where the group is not allowed
    std::vector<double> read_s;   ///< [bundle]; 0 for CPUs
    std::vector<double> write_s;  ///< [bundle]; 0 for CPUs
    double limit_bytes = 0;

    double count() const { return static_cast<double>(devices.size()); }
};

struct LoadModel {
    std::vector<TensorBundle> bundles;
    std::vector<LoadClass> classes;
    std::vector<double> group_bytes;  ///< [group], as evaluate_memory counts them
    double tick_s = 0;                ///< all times are multiples of it (Problem::tick_s)

    std::size_t groups() const { return group_bytes.size(); }
};

/// `transfer_s`: seconds to write or read each tensor on any device, for machines without a CPU; if empty,
/// transfers go through the memory of the CPU, and MachineError is thrown if there is none. O((ops + edges) *
/// devices).
LoadModel load_model(const Problem& problem, std::span<const double> transfer_s = {});

}  // namespace placewright
