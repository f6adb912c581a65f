// SPDX-License-Identifier: MIT
// Simulation of placements that differ little from one that is known. FlexFlow (Jia, Zaharia, Aiken, 2019, section 5.3) simulates only what
// a change touches; here a run resumes from a saved state before the first difference, and skips ahead where it has caught up with the
// known run.
#pragma once

#include <memory>
#include <span>

#include "core/sim/simulator.hpp"

namespace placewright {

/// Gives the outcomes of Simulator::run, to the last bit, in less time.
///
/// Before the end of the first op that gives a moved group something both runs are the same. Later they are the same but for a shift in
/// time wherever everything that waits, runs or is on its way is the same and as far from its end: then the run goes on from the last saved
/// state before moved ops, or tensors that are held differently, make them differ again. Sums stay exact because all times are whole ticks
/// (Problem::tick_s).
///
/// Whole simulations are run for several batches, for orders that look at the batch as a whole (gpipe, one_forward_one_backward), where
/// ops without inputs move, and where a step takes more ticks than can be added up exactly.
class DeltaSimulator {
public:
    /// Throws as Simulator does.
    explicit DeltaSimulator(std::shared_ptr<const Problem> problem, const SimulationOptions& options = {});
    ~DeltaSimulator();
    DeltaSimulator(DeltaSimulator&&) noexcept;
    DeltaSimulator& operator=(DeltaSimulator&&) noexcept;

    const Problem& problem() const;

    /// Whether other than whole simulations are run with these options.
    static bool saves(const SimulationOptions& options);

    /// Makes `placement` the known one; takes about as long as four simulations. Returns its outcome, valid until the next call of
    /// rebase().
    const Outcome& rebase(std::span<const DeviceId> placement);
    /// The known placement; empty before the first rebase().
    std::span<const DeviceId> base() const;

    /// The outcome of any placement; faster than Simulator::run where few groups are not where they are in base(). Valid until the next
    /// call of run().
    const Outcome& run(std::span<const DeviceId> placement);

    /// Events that were really simulated since the last rebase(), and those of full simulations; what the delta saves.
    struct Effort {
        std::uint64_t simulated = 0;
        std::uint64_t full = 0;
    };
    Effort effort() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace placewright
