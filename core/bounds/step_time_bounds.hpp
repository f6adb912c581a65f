// SPDX-License-Identifier: MIT
// Lower bounds on the simulated step time of every placement whose parameters fit the memory: the loads,
// paths and transfers of a placement if queues cost nothing.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/bounds/integer_program.hpp"
#include "core/cost/placement.hpp"
#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// The critical path if memory forces it to change devices. Infinity if nothing fits; nothing if it would
/// take too long to compute, as for about ten thousand ops in a row.
///
/// The backbone (core/bounds/backbone.hpp) is cut into runs on one device. Within a run, ops between two ops
/// of the backbone can be on another device, which costs the longest path through them and the cheapest
/// transfers there and back; the parameters of all others must fit the device. Each run is bounded with a
/// price for memory (Lagrange). At the end of a run each path to the next one contains a transfer. Dynamic
/// programming over the runs; rounds of batches follow each other as for the critical path. O(backbone *
/// groups * devices).
std::optional<double> split_path_s(const Problem& problem, const SimulationOptions& options);

/// Step time as an integer program that assigns each group to a device. A step takes at least the work of
/// each device, and the longest path with a transfer wherever producer and reader are on different devices
/// (the cheapest from the producer's device); parameters must fit. This is a relaxation: it ignores the
/// queues of devices and channels and the memory of tensors, and lets batches overlap as well as possible.
class StepProgramme {
public:
    StepProgramme(const Problem& problem, const SimulationOptions& options);

    const IntegerProgram& program() const { return program_; }
    /// Seconds per unit of the program's value.
    double unit_s() const { return unit_s_; }
    Placement placement(std::span<const double> x) const;

private:
    IntegerProgram program_;
    double unit_s_ = 1;
    std::vector<std::vector<std::pair<DeviceId, IntegerProgram::Column>>> choices_;  ///< [group]
};

}  // namespace placewright
