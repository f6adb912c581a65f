// SPDX-License-Identifier: MIT
// An evaluator scores batches of placements; it is the only link between an optimizer and the simulator or
// hardware.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "core/search/stream.hpp"
#include "core/search/workers.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/objectives.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// [placement of a batch]: a placement from which it differs in few groups, or null. Empty: none is known.
using Bases = std::span<const Placement* const>;

/// What delta simulation did for an evaluator. Depends on the number of threads, unlike the scores.
struct DeltaUse {
    std::uint64_t simulations = 0;  ///< those that were cut short
    std::uint64_t recorded = 0;  ///< runs recorded to compare with, each as long as one to three simulations
    std::uint64_t events = 0;    ///< events simulated for placements with a recorded run
    std::uint64_t full_events = 0;  ///< events of the same placements simulated whole

    DeltaUse& operator+=(const DeltaUse& other);
    DeltaUse operator-(const DeltaUse& before) const;
};

class Evaluator {
public:
    virtual ~Evaluator() = default;

    /// Scores placements in order. Returns false if `stop` was requested before all were scored; `scores` is
    /// then incomplete. `bases` may change the time that scoring takes, but not the scores.
    virtual bool evaluate(std::span<const Placement> placements, std::span<Score> scores,
                          std::stop_token stop, Bases bases = {}) = 0;

    /// Scores what the stream gives out until it gives out nothing more. Returns false if `stop` was
    /// requested before. By default, scores all items that it gives out at a time as a batch.
    virtual bool evaluate_stream(PlacementStream& stream, std::stop_token stop);
    /// Whether evaluate_stream() works in batches.
    virtual bool streams_in_batches() const { return true; }

    /// Returns the number of simulations (or measurements) actually run; repeated placements are answered
    /// from a cache.
    virtual std::uint64_t runs() const = 0;

    /// Returns the part that delta simulation has in runs(); zeros where there is none.
    virtual DeltaUse delta_use() const { return {}; }

    /// Returns the threads that the evaluator uses, which may help between two batches; null: there are none.
    virtual Workers* workers() { return nullptr; }
};

/// Scores by simulation on `threads` threads, at most one per core (0: all cores). Results do not depend on
/// the number of threads.
std::unique_ptr<Evaluator> simulation_evaluator(std::shared_ptr<const Problem> problem,
                                                SimulationOptions options, MemoryPenalty penalty,
                                                unsigned threads = 0);

/// Scores by an objective of objectives(): the step time as in simulation_evaluator; for other objectives
/// their value takes the place of the step time. A placement for which the objective is not defined
/// (PlacementError) does not fit and scores kUndefinedScore. Throws what the objective throws for every
/// placement of such a problem: GraphError, MachineError.
std::unique_ptr<Evaluator> objective_evaluator(std::shared_ptr<const Problem> problem,
                                               const Objective& objective, SimulationOptions options,
                                               MemoryPenalty penalty, unsigned threads = 0);

}  // namespace placewright
