// SPDX-License-Identifier: MIT
// Simulation of placements that differ little from a known one. FlexFlow (Jia, Zaharia, Aiken, 2019,
// section 5.3) simulates only what a change affects; here a run resumes from a saved state before the first
// difference, and skips ahead once it has caught up with the known run.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/sim/simulator.hpp"

namespace placewright {

/// A run with what delta simulation needs of it. Several threads may use it at the same time.
class KnownRun {
public:
    KnownRun();
    ~KnownRun();
    KnownRun(KnownRun&&) noexcept;
    KnownRun& operator=(KnownRun&&) noexcept;

    /// Empty before DeltaSimulator::record().
    std::span<const DeviceId> placement() const;
    const Outcome& outcome() const;

private:
    friend class DeltaSimulator;
    struct State;
    std::unique_ptr<State> state_;
};

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

    static constexpr std::size_t kMostSnapshots = 64;
    /// Runs a placement and stores what use() needs, with at most so many snapshots: with more, later runs
    /// are shorter, and this takes longer, about as long as two simulations and one for every 20 snapshots.
    /// `into` may hold another run of the same problem and options; no simulator may use that one any more.
    /// If the two differ in few groups, only what comes after the first difference is simulated, once, with
    /// as many snapshots as before.
    void record(std::span<const DeviceId> placement, KnownRun& into, std::size_t snapshots = kMostSnapshots);
    /// Makes a run of the same problem and options the known one. It must outlive its use.
    void use(const KnownRun& run);

    /// record() and use() of a run that this simulator holds; takes about as long as four simulations. The
    /// returned outcome is valid until the next call of rebase().
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
