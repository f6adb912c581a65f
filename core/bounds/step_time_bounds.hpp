// SPDX-License-Identifier: MIT
// Lower bounds on the step time in the event simulator of every placement whose parameters fit the memory: what the loads, paths and
// transfers of a placement come to when queues cost nothing.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/bounds/programme.hpp"
#include "core/cost/placement.hpp"
#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// By tensor: what its transfer between any two different devices takes at least.
std::vector<double> least_transfers_s(const Problem& problem);

/// The critical path when memory forces it to change devices. Infinity: nothing fits. Nothing: it would take too long to tell, as of some
/// ten thousand ops in a row.
///
/// The backbone (core/bounds/backbone.hpp) is cut into runs on one device. Within a run ops between two of the backbone can be elsewhere,
/// which takes the longest path through them and the cheapest transfer on their way there and back; the parameters of all others must fit
/// the device. That is bounded run by run with a price for memory (Lagrange). Where a run ends, each path to the next one has a transfer.
/// By dynamic programming over the runs; rounds of batches follow each other as for the critical path. O(backbone * groups * devices).
std::optional<double> split_path_s(const Problem& problem, const SimulationOptions& options);

/// Step time as an integer programme: which device has which group; a step takes at least the work of each device, and the longest path
/// with a transfer, the cheapest from that device, wherever producer and reader are apart; parameters fit. A relaxation: it knows nothing
/// of queues of devices and channels nor of the memory of tensors, and times of batches overlap as they can at best.
class StepProgramme {
public:
    StepProgramme(const Problem& problem, const SimulationOptions& options);

    const Programme& programme() const { return programme_; }
    /// Seconds that the value 1 of the programme stands for.
    double unit_s() const { return unit_s_; }
    Placement placement(std::span<const double> x) const;

private:
    Programme programme_;
    double unit_s_ = 1;
    std::vector<std::vector<std::pair<DeviceId, Programme::Column>>> choices_;  ///< [group]
};

}  // namespace placewright
