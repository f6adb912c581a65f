// SPDX-License-Identifier: MIT
#include "core/search/evaluator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/search/score_cache.hpp"
#include "core/sim/delta.hpp"

namespace placewright {
namespace {

/// Calls a function at the end of its scope.
template <class Function>
class Finally {
public:
    explicit Finally(Function function) : function_(std::move(function)) {}
    ~Finally() { function_(); }
    Finally(const Finally&) = delete;
    Finally& operator=(const Finally&) = delete;

private:
    Function function_;
};

/// Runs of placements from which others differ in few groups, for delta simulation. A run also serves bases
/// that have drifted away from it by few groups, as those of walks do with each step. Several threads may use
/// it at the same time.
class KnownRuns {
public:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

    /// Begins a batch. A slot that is used in a batch keeps its base until the batch ends.
    void begin() { ++batch_; }

    /// Returns the slot of a base; kNone if the batch has too many, or all are being recorded.
    std::size_t slot(const Placement* base) {
        if (base == nullptr) return kNone;
        const std::scoped_lock lock(mutex_);
        return find(base);
    }
    /// The same, in a new batch that has only this base.
    std::size_t slot_alone(const Placement* base) {
        if (base == nullptr) return kNone;
        const std::scoped_lock lock(mutex_);
        ++batch_;
        return find(base);
    }

    /// Calls work(run) with a run near the base of the slot, unless there is none yet or another thread
    /// records it. Records the run of a base that has proven to be of use before, and counts that in `use`.
    /// Another thread may give the slot to another base meanwhile: that costs time, but changes no outcome.
    template <class Work>
    void with_run(std::size_t which, DeltaSimulator& simulator, DeltaUse& use, const Work& work) {
        Slot& slot = slots_[which];
        const Part part = take_part(slot);
        if (part == Part::none) return;
        if (part == Part::recorder) record(slot, simulator, use);
        const Finally leave([&] { --slot.users; });
        work(slot.run);
    }

private:
    /// Uses of a base after which its run is recorded, which takes about three simulations, or one if a run
    /// near it is known.
    static constexpr std::size_t kUsesToRecord = 8, kUsesToUpdate = 3;
    /// Groups by which a base may differ from the run.
    static constexpr std::size_t kMostDrift = 6;
    static constexpr std::size_t kSlots = 4;
    static constexpr std::size_t kSnapshots = 24;

    enum class State : std::uint8_t { none, recording, ready };
    struct Slot {
        Placement base;  ///< constant while its run is being recorded
        KnownRun run;
        State state = State::none;
        std::size_t drift = 0;               ///< groups in which the base differs from the run
        std::size_t uses = 0;                ///< of this base
        std::uint64_t used_in = 0;           ///< batch
        std::atomic<std::size_t> users = 0;  ///< threads that use the run
    };

    enum class Part { none, user, recorder };
    Part take_part(Slot& slot) {
        const std::scoped_lock lock(mutex_);
        const std::size_t uses = slot.uses++;
        const bool is_ready = slot.state == State::ready;
        if (slot.state == State::recording) return Part::none;
        if (is_ready ? slot.drift > 0 && uses >= kUsesToUpdate : uses >= kUsesToRecord) {
            slot.state = State::recording;
            return Part::recorder;
        }
        if (!is_ready) return Part::none;
        ++slot.users;
        return Part::user;
    }

    /// Records the run of the slot's base. This thread then counts as a user of the run.
    void record(Slot& slot, DeltaSimulator& simulator, DeltaUse& use) {
        State state = State::none;  // after an exception
        const Finally leave([&] {
            const std::scoped_lock lock(mutex_);
            slot.state = state;
        });
        while (slot.users > 0) std::this_thread::yield();
        simulator.record(slot.base, slot.run, kSnapshots);
        slot.drift = 0;
        ++use.recorded;
        ++slot.users;
        state = State::ready;
    }

    std::size_t find(const Placement* base) {
        if (latest_ == kNone || slots_[latest_].base != *base) latest_ = slot_of(*base);
        if (latest_ != kNone) slots_[latest_].used_in = batch_;
        return latest_;
    }

    std::size_t slot_of(const Placement& base) {
        const auto same = std::ranges::find(slots_, base, &Slot::base);
        if (same != slots_.end()) return static_cast<std::size_t>(same - slots_.begin());
        std::size_t best = kNone, oldest = kNone, least = kMostDrift + 1;
        for (std::size_t i = 0; i < kSlots; ++i) {
            const Slot& slot = slots_[i];
            if (slot.used_in == batch_ || slot.state == State::recording) continue;
            if (oldest == kNone || slot.used_in < slots_[oldest].used_in) oldest = i;
            if (slot.state != State::ready) continue;
            const std::size_t drift = differences(slot.run.placement(), base, least);
            if (drift < least) best = i;
            least = std::min(least, drift);
        }
        const std::size_t found = best == kNone ? oldest : best;
        if (found == kNone) return kNone;
        Slot& slot = slots_[found];
        slot.base = base;
        slot.uses = 0;
        slot.drift = least;
        if (best == kNone) slot.state = State::none;
        return found;
    }

    /// Returns the number of groups in which the placements differ, at most `most`.
    static std::size_t differences(std::span<const DeviceId> a, std::span<const DeviceId> b,
                                   std::size_t most) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < a.size() && count < most; ++i) count += a[i] == b[i] ? 0 : 1;
        return count;
    }

    std::mutex mutex_;
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

    bool evaluate_stream(PlacementStream& stream, std::stop_token stop) override {
        std::size_t scoring = 0;  // items that threads score now; guarded by the lock
        bool has_failed = false;  // whether a thread has thrown; guarded by the lock
        // Number of items scored. A thread that gets no item waits until this number grows.
        std::atomic<std::uint64_t> scored = 0;
        workers_.for_each(workers_.threads(), [&](unsigned thread, std::size_t) {
            StreamLock lock(*this);
            while (!stop.stop_requested() && !has_failed) {
                StreamItem* const item = stream.next();
                if (item == nullptr && scoring == 0) return;
                if (item == nullptr) {
                    const std::uint64_t seen = scored;
                    lock.unlock();
                    // Does not sleep: to wake up takes as long as a simulation of a small network.
                    while (scored == seen) std::this_thread::yield();
                    lock.lock();
                    continue;
                }
                ++scoring;
                lock.unlock();
                try {
                    score(stream, *item, simulators_[thread], lock);
                } catch (...) {
                    if (!lock.is_held()) lock.lock();
                    has_failed = true;
                    --scoring;
                    ++scored;
                    throw;
                }
                --scoring;
                ++scored;
            }
        });
        return !stop.stop_requested();
    }

    bool streams_in_batches() const override { return false; }

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

    bool uses_runs() const { return objective_ == nullptr && DeltaSimulator::saves(options_); }

    /// Guards the stream, the cache and the counters of evaluate_stream(). With one thread it also counts the
    /// time in which it is held as serial (Workers::count_serial).
    class StreamLock {
    public:
        explicit StreamLock(SimulationEvaluator& of) : of_(of) { lock(); }
        ~StreamLock() {
            if (is_held_) unlock();
        }
        StreamLock(const StreamLock&) = delete;
        StreamLock& operator=(const StreamLock&) = delete;

        void lock() {
            of_.streaming_.lock();
            is_held_ = true;
            if (of_.workers_.threads() == 1) begin_ = Clock::now();
        }
        void unlock() {
            if (of_.workers_.threads() == 1) of_.workers_.count_serial(Clock::now() - begin_);
            is_held_ = false;
            of_.streaming_.unlock();
        }
        bool is_held() const { return is_held_; }

    private:
        using Clock = std::chrono::steady_clock;
        SimulationEvaluator& of_;
        bool is_held_ = false;
        Clock::time_point begin_;
    };

    /// Scores an item and tells the stream. The caller does not hold the lock, and holds it afterwards.
    void score(PlacementStream& stream, StreamItem& item, Simulators& own, StreamLock& lock) {
        stream.fill(item);
        lock.lock();
        if (stream.knows(item)) return;
        if (const Score* const known = cache_.find(item.key)) return stream.scored(item, *known);
        lock.unlock();
        const std::size_t base = uses_runs() ? known_runs_.slot_alone(item.base) : KnownRuns::kNone;
        const Score found = score(own, *item.placement, base);
        lock.lock();
        ++runs_;
        cache_.add(item.key, found);
        stream.scored(item, found);
    }

    void find_bases(Bases bases) {
        known_.assign(fresh_.size(), KnownRuns::kNone);
        if (bases.empty() || !uses_runs()) return;
        known_runs_.begin();
        for (std::size_t i = 0; i < fresh_.size(); ++i) known_[i] = known_runs_.slot(bases[fresh_[i].index]);
    }

    const Outcome& outcome(Simulators& own, const Placement& placement, std::size_t base) {
        if (base != KnownRuns::kNone) {
            if (!own.delta) own.delta.emplace(problem_, options_);
            const Outcome* outcome = nullptr;
            known_runs_.with_run(base, *own.delta, own.use, [&](const KnownRun& run) {
                own.delta->use(run);
                outcome = &own.delta->run(placement);
            });
            if (outcome != nullptr) {
                count(own);
                return *outcome;
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
    std::mutex streaming_;

    // State of the current batch.
    std::span<const ScoreCache::Fresh> fresh_;  ///< what to simulate
    std::vector<std::size_t> known_;            ///< [fresh]: slot of its base in known_runs_, or kNone
};

}  // namespace

bool Evaluator::evaluate_stream(PlacementStream& stream, std::stop_token stop) {
    std::vector<StreamItem*> items;
    std::vector<Placement> placements;
    std::vector<const Placement*> bases;
    std::vector<Score> scores;
    while (!stop.stop_requested()) {
        items.clear();
        while (StreamItem* const item = stream.next()) items.push_back(item);
        if (items.empty()) return true;
        if (Workers* const own = workers()) {
            own->for_each(items.size(), [&](unsigned, std::size_t i) { stream.fill(*items[i]); });
        } else {
            for (StreamItem* const item : items) stream.fill(*item);
        }
        std::erase_if(items, [&](StreamItem* item) { return stream.knows(*item); });
        placements.clear();
        bases.clear();
        for (const StreamItem* const item : items) {
            placements.push_back(*item->placement);
            bases.push_back(item->base);
        }
        scores.resize(items.size());
        if (!items.empty() && !evaluate(placements, scores, stop, bases)) return false;
        for (std::size_t i = 0; i < items.size(); ++i) stream.scored(*items[i], scores[i]);
    }
    return false;
}

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
