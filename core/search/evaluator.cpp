// SPDX-License-Identifier: MIT
#include "core/search/evaluator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/search/score_cache.hpp"
#include "core/sim/delta.hpp"

namespace placewright {
namespace {

/// Runs of placements from which others differ in few groups, for delta simulation. A run also serves bases
/// that have drifted away from it by few groups, as those of walks do with each step.
class KnownRuns {
public:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

    /// Begins a batch.
    void begin() { ++batch_; }

    /// Counts a use of a base in this batch. Returns the slot of a run near it; kNone if there is none yet,
    /// or if the batch has too many bases.
    std::size_t use(const Placement* base) {
        if (base == nullptr) return kNone;
        if (latest_ == kNone || slots_[latest_].base != *base) latest_ = slot_of(*base);
        if (latest_ == kNone) return kNone;
        Slot& slot = slots_[latest_];
        slot.used_in = batch_;
        ++slot.uses;
        const bool is_recorded = slot.state == State::ready && slot.drift == 0;
        if (slot.uses > kUsesToRecord && !is_recorded) slot.state = State::wanted;
        return slot.state == State::none ? kNone : latest_;
    }

    /// Returns the run of the slot, or null while another thread records it. Whoever comes first records it
    /// and counts it in `use`.
    const KnownRun* run(std::size_t which, DeltaSimulator& simulator, DeltaUse& use) {
        Slot& slot = slots_[which];
        State state = State::wanted;
        if (slot.state.compare_exchange_strong(state, State::recording)) {
            simulator.record(slot.base, slot.run, kSnapshots);
            slot.drift = 0;
            slot.state = state = State::ready;
            ++use.recorded;
        }
        return state == State::ready ? &slot.run : nullptr;
    }

private:
    /// Uses of a base after which its run is recorded, which costs about three simulations.
    static constexpr std::size_t kUsesToRecord = 8;
    /// Groups by which a base may differ from the run.
    static constexpr std::size_t kMostDrift = 6;
    static constexpr std::size_t kSlots = 4;
    static constexpr std::size_t kSnapshots = 24;

    enum class State : std::uint8_t { none, wanted, recording, ready };
    struct Slot {
        Placement base;
        KnownRun run;
        std::atomic<State> state = State::none;
        std::size_t drift = 0;      ///< groups in which the base differs from the run
        std::size_t uses = 0;       ///< of this base
        std::uint64_t used_in = 0;  ///< batch
    };

    std::size_t slot_of(const Placement& base) {
        const auto same = std::ranges::find(slots_, base, &Slot::base);
        if (same != slots_.end()) return static_cast<std::size_t>(same - slots_.begin());
        std::size_t best = kNone, oldest = 0, least = kMostDrift + 1;
        for (std::size_t i = 0; i < kSlots; ++i) {
            if (slots_[i].used_in < slots_[oldest].used_in) oldest = i;
            if (slots_[i].used_in == batch_ || slots_[i].state != State::ready) continue;
            const std::size_t drift = differences(slots_[i].run.placement(), base, least);
            if (drift < least) best = i;
            least = std::min(least, drift);
        }
        if (best == kNone && slots_[oldest].used_in == batch_) return kNone;
        Slot& slot = slots_[best == kNone ? oldest : best];
        slot.base = base;
        slot.uses = 0;
        slot.drift = least;
        if (best == kNone) slot.state = State::none;
        return best == kNone ? oldest : best;
    }

    /// Returns the number of groups in which the placements differ, at most `most`.
    static std::size_t differences(std::span<const DeviceId> a, std::span<const DeviceId> b,
                                   std::size_t most) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < a.size() && count < most; ++i) count += a[i] == b[i] ? 0 : 1;
        return count;
    }

    std::array<Slot, kSlots> slots_;
    std::size_t latest_ = kNone;
    std::uint64_t batch_ = 0;
};

class SimulationEvaluator final : public Evaluator {
public:
    /// `objective`: the function to score by; null for the step time.
    SimulationEvaluator(std::shared_ptr<const Problem> problem, decltype(Objective::evaluate) objective,
                        SimulationOptions options, MemoryPenalty penalty, unsigned threads)
        : problem_(std::move(problem)),
          objective_(objective),
          options_(options),
          penalty_(penalty),
          workers_(threads),
          simulators_(workers_.threads()) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        if (placements.size() != scores.size())
            throw std::invalid_argument("evaluate: as many scores as placements are needed");
        fresh_ = cache_.look_up(placements, scores);
        find_bases(bases);
        std::atomic<std::size_t> done = 0;
        workers_.for_each(fresh_.size(), [&](unsigned thread, std::size_t i) {
            if (stop.stop_requested()) return;
            const std::size_t index = fresh_[i].index;
            scores[index] = score(simulators_[thread], placements[index], known_[i]);
            done.fetch_add(1, std::memory_order_relaxed);
        });
        runs_ += done;
        if (done < fresh_.size()) return false;
        cache_.keep(scores);
        return true;
    }

    std::uint64_t runs() const override { return runs_; }
    DeltaUse delta_use() const override {
        DeltaUse use;
        for (const Simulators& own : simulators_) use += own.use;
        return use;
    }
    Workers* workers() override { return &workers_; }

private:
    /// Of a thread.
    struct Simulators {
        std::optional<Simulator> whole;
        std::optional<DeltaSimulator> delta;
        DeltaUse use;
    };

    void find_bases(Bases bases) {
        known_.assign(fresh_.size(), KnownRuns::kNone);
        if (bases.empty() || objective_ != nullptr || !DeltaSimulator::saves(options_)) return;
        known_runs_.begin();
        for (std::size_t i = 0; i < fresh_.size(); ++i) known_[i] = known_runs_.use(bases[fresh_[i].index]);
    }

    const Outcome& outcome(Simulators& own, const Placement& placement, std::size_t base) {
        if (base != KnownRuns::kNone) {
            if (!own.delta) own.delta.emplace(problem_, options_);
            if (const KnownRun* run = known_runs_.run(base, *own.delta, own.use)) {
                own.delta->use(*run);
                const Outcome& outcome = own.delta->run(placement);
                count(own);
                return outcome;
            }
        }
        if (!own.whole) own.whole.emplace(problem_, options_);
        return own.whole->run(placement);
    }

    /// Counts the latest run of the delta simulator.
    static void count(Simulators& own) {
        const DeltaSimulator::Effort effort = own.delta->effort();
        if (effort.simulated - own.use.events < effort.full - own.use.full_events) ++own.use.simulations;
        own.use.events = effort.simulated;
        own.use.full_events = effort.full;
    }

    Score score(Simulators& own, const Placement& placement, std::size_t base) {
        if (objective_ == nullptr) return penalty_.score(*problem_, outcome(own, placement, base));
        try {
            return penalty_.score(*problem_, objective_(*problem_, placement));
        } catch (const PlacementError&) {
            return kUndefinedScore;
        }
    }

    std::shared_ptr<const Problem> problem_;
    decltype(Objective::evaluate) objective_;
    SimulationOptions options_;
    MemoryPenalty penalty_;
    Workers workers_;
    std::vector<Simulators> simulators_;  ///< [thread]
    KnownRuns known_runs_;
    ScoreCache cache_;
    std::uint64_t runs_ = 0;

    // State of the current batch.
    std::span<const ScoreCache::Fresh> fresh_;  ///< what to simulate
    std::vector<std::size_t> known_;            ///< [fresh]: slot of its base in known_runs_, or kNone
};

}  // namespace

DeltaUse& DeltaUse::operator+=(const DeltaUse& other) {
    simulations += other.simulations;
    recorded += other.recorded;
    events += other.events;
    full_events += other.full_events;
    return *this;
}

DeltaUse DeltaUse::operator-(const DeltaUse& before) const {
    return {simulations - before.simulations, recorded - before.recorded, events - before.events,
            full_events - before.full_events};
}

std::unique_ptr<Evaluator> simulation_evaluator(std::shared_ptr<const Problem> problem,
                                                SimulationOptions options, MemoryPenalty penalty,
                                                unsigned threads) {
    return std::make_unique<SimulationEvaluator>(std::move(problem), nullptr, options, penalty, threads);
}

std::unique_ptr<Evaluator> objective_evaluator(std::shared_ptr<const Problem> problem,
                                               const Objective& objective, SimulationOptions options,
                                               MemoryPenalty penalty, unsigned threads) {
    if (!objective.is_step_time()) {
        try {
            objective.evaluate(*problem, single_device_placement(*problem));
        } catch (const PlacementError&) {
            // The objective may be defined for other placements.
        }
    }
    return std::make_unique<SimulationEvaluator>(std::move(problem), objective.evaluate, options, penalty,
                                                 threads);
}

}  // namespace placewright
