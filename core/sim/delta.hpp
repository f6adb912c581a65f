// SPDX-License-Identifier: MIT
// Simulation of placements that differ little from a known one. FlexFlow (Jia, Zaharia, Aiken, 2019,
// section 5.3) simulates only what a change affects; here a run resumes from a saved state before the first
// difference, and skips ahead once it has caught up with the known run.
#pragma once

#include <memory>
#include <span>

#include "core/sim/simulator.hpp"

namespace placewright {

/// Returns the same outcomes as Simulator::run, to the last bit, in less time.
///
/// The new run equals the known one until the end of the first op that produces an input of a moved group.
/// After that, both are in the same state, shifted in time, whenever the same ops and transfers wait, run or
/// are under way and are equally far from their ends. The run then resumes from the last saved state before
/// moved ops, or tensors that are held differently, cause the next difference. Sums stay exact because all
/// times are whole ticks (Problem::tick_s).
///
/// Runs whole simulations for several batches, for runtimes other than ideal, for orders that depend on the
/// batch as a whole (gpipe, one_forward_one_backward), if ops without inputs move, and if a step takes more
/// ticks than can be added up exactly.
class DeltaSimulator {
public:
    /// Throws the same errors as Simulator.
    explicit DeltaSimulator(std::shared_ptr<const Problem> problem, const SimulationOptions& options = {});
    ~DeltaSimulator();
    DeltaSimulator(DeltaSimulator&&) noexcept;
    DeltaSimulator& operator=(DeltaSimulator&&) noexcept;

    const Problem& problem() const;

    /// Whether runs with these options can be shorter than whole simulations.
    static bool saves(const SimulationOptions& options);

    /// Makes `placement` the known one; takes about as long as four simulations. The returned outcome is
    /// valid until the next call of rebase().
    const Outcome& rebase(std::span<const DeviceId> placement);
    /// The known placement; empty before the first rebase().
    std::span<const DeviceId> base() const;

    /// Returns the outcome of any placement; faster than Simulator::run if few groups differ from base().
    /// Valid until the next call of run().
    const Outcome& run(std::span<const DeviceId> placement);

    /// Events since the last rebase(): those actually simulated, and those of full simulations. The
    /// difference is what the delta saves.
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
