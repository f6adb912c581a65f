// SPDX-License-Identifier: MIT
#include "core/bounds/bounds.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>

#include "core/base/units.hpp"
#include "core/bounds/block_latency_bounds.hpp"
#include "core/bounds/chain_windows.hpp"
#include "core/bounds/max_load_bounds.hpp"
#include "core/bounds/packing.hpp"
#include "core/bounds/placement_proof.hpp"
#include "core/bounds/serial_segments.hpp"
#include "core/bounds/step_time_bounds.hpp"
#include "core/bounds/streaming_bounds.hpp"
#include "core/sim/block_latency.hpp"
#include "core/sim/max_load.hpp"
#include "core/sim/memory_shortage.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

/// Work on flows in quick_bounds, in arcs.
constexpr std::size_t kQuickArcs = 50'000'000;
/// Steps of chain_windows, which take about ten nanoseconds each. A proof with fewer of them comes first,
/// since one that ends early is worth little.
constexpr std::size_t kQuickWindowSteps = 50'000'000;
constexpr std::array<std::size_t, 2> kWindowSteps{500'000'000, 4'000'000'000};
/// Problems that prove_by_placements is tried on.
constexpr std::size_t kMostGroupsToPlace = 64;
/// Steps of packed_load_s, which take about ten nanoseconds each.
constexpr std::size_t kQuickPacking = 2'000'000, kPacking = 50'000'000;

Bound average_bound(double value_s) {
    return {"average", value_s,
            "the best sharing of the work between the devices, within their memory; no device takes part of "
            "a group that it could not run alone in this time (linear program)"};
}

Bound cut_bound(double value_s) {
    return {"min-cut", value_s,
            "the best sharing of the work between the devices; no accelerator takes part of a group whose "
            "cheapest neighbourhood, with the transfers across its border, takes longer (linear program, one "
            "minimum cut per group)"};
}

Bound packing_bound(double value_s) {
    return {"packing", value_s,
            "the best packing of whole groups onto devices by their work alone, transfers free (depth-first "
            "search of all packings)"};
}

constexpr auto kWindows = "windows";
constexpr auto kWindowsProof =
    "ops that depend on one op of the longest path and that a later one depends on must run between the two; "
    "the least time for them, with transfers and the room on each device, summed along the path";

/// The bound if the groups do not fit even in fractions.
Bound misfit_bound(const LoadModel& model) {
    const double held_bytes = std::accumulate(model.group_bytes.begin(), model.group_bytes.end(), 0.0);
    double offered_bytes = 0;
    for (const LoadClass& one : model.classes) offered_bytes += one.count() * one.limit_bytes;
    return {"average", kNoLimit,
            "the ops hold " + format_bytes(held_bytes) + ", which cannot be distributed over the " +
                format_bytes(offered_bytes) +
                " of memory of the devices that they may be placed on (linear program)"};
}

std::vector<Bound> max_load_bounds(const Problem& problem) {
    const LoadModel model = load_model(problem);
    const LeastLoads own = own_loads(model);
    const double average_s = balanced_load_s(model, own).value_or(0);
    if (!std::isfinite(average_s)) return {misfit_bound(model)};
    std::size_t arcs = model.groups() + 1;
    for (const TensorBundle& bundle : model.bundles) arcs += 2 * bundle.readers.size() + 2;
    const LeastLoads cut = cut_loads(model, average_s, std::max<std::size_t>(kQuickArcs / arcs, 16));
    const double cut_s = std::max(average_s, balanced_load_s(model, cut).value_or(0));
    return {average_bound(average_s), cut_bound(cut_s),
            packing_bound(packed_load_s(model, cut, cut_s, kNoLimit, kQuickPacking))};
}

std::vector<Bound> block_latency_bounds(const Problem& problem) {
    const double backbone_s = backbone_latency_s(problem);
    return {{"backbone", backbone_s,
             std::isfinite(backbone_s)
                 ? "the cheapest way to cut the backbone (the ops that come before or after "
                   "every other op) into blocks that fit an accelerator, and ops on CPUs"
                 : "some op fits on no device"},
            {"critical-path", critical_path_s(problem),
             "the longest chain of ops, each on its fastest device, transfers free"}};
}

/// Passes bounds on, one call at a time, until the incumbent is proven optimal; that ends the proofs.
class Telling {
public:
    Telling(const BoundEffort& effort, const std::function<void(Bound)>& found)
        : incumbent_s_(effort.incumbent_s),
          found_(found),
          forward_(effort.stop, [this] { stop_.request_stop(); }) {}

    void operator()(Bound bound) {
        const std::scoped_lock lock(one_at_a_time_);
        if (is_optimal_) return;
        is_optimal_ = bound.value_s >=
                      within_tolerance(within_tolerance(incumbent_s_));  // twice, to allow for rounding
        if (is_optimal_) stop_.request_stop();
        found_(std::move(bound));
    }

    /// Ends the proofs: what was told last is the optimum.
    void end() {
        const std::scoped_lock lock(one_at_a_time_);
        is_optimal_ = true;
        stop_.request_stop();
    }

    bool is_optimal() {
        const std::scoped_lock lock(one_at_a_time_);
        return is_optimal_;
    }
    /// Requested when the caller wants no more, or the incumbent is proven optimal.
    std::stop_token stop() const { return stop_.get_token(); }

private:
    double incumbent_s_;
    const std::function<void(Bound)>& found_;
    std::mutex one_at_a_time_;
    bool is_optimal_ = false;
    std::stop_source stop_;
    std::stop_callback<std::function<void()>> forward_;
};

void prove_max_load(const Problem& problem, const BoundEffort& effort,
                    const std::function<void(Bound)>& found) {
    const auto end = Clock::now() + std::chrono::duration<double>(effort.seconds);
    Telling tell(effort, found);

    const LoadModel model = load_model(problem);
    const auto average_s = balanced_load_s(model, own_loads(model), tell.stop());
    if (!average_s) return;
    const LeastLoads least =
        cut_loads(model, *average_s, std::numeric_limits<std::size_t>::max(), tell.stop());
    const auto cut_s = balanced_load_s(model, least, tell.stop());
    if (!cut_s) return;
    tell(cut_bound(std::max(*average_s, *cut_s)));

    const double cutoff_s = effort.incumbent_s;
    const double packed_s =
        packed_load_s(model, least, std::max(*average_s, *cut_s), cutoff_s, kPacking, tell.stop());
    tell(packing_bound(packed_s));
    if (tell.is_optimal()) return;
    const auto limits = [&] {
        IntegerLimits result;
        result.cutoff = cutoff_s;
        result.seconds = std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
        result.stop = tell.stop();
        return result;
    };
    const std::jthread pigeonhole([&] {
        if (!std::isfinite(cutoff_s)) return;
        double best_s = 0;
        for (std::size_t c = 0; c < model.classes.size(); ++c) {
            if (!model.classes[c].is_cpu)
                best_s = std::max(best_s, pigeonhole_load_s(model, c, least, limits()));
        }
        tell(
            {"pigeonhole", best_s,
             "one accelerator does at least the average of the work that CPUs leave: the least load of a set "
             "of groups with that much work, transfers included (integer program)"});
    });
    const LoadProgramme program(model, least, cutoff_s);
    IntegerLimits exact = limits();
    exact.cutoff = cutoff_s / program.unit_s();
    const IntegerResult result = solve_integer(program.program(), exact);
    if (result.bound > -kNoLimit) {
        // The incumbent is optimal, within the tolerance of the solver.
        const bool optimal = result.finished && result.x.empty();
        tell({"branch-and-bound",
              optimal ? cutoff_s : std::max(0.0, within_tolerance(result.bound) * program.unit_s()),
              result.finished
                  ? "all placements were searched, by branch and cut on an integer program"
                  : "the least value that branch and cut on an integer program of all placements has not yet "
                    "excluded"});
    }
}

void prove_step_time(const Problem& problem, const SimulationOptions& options, const BoundEffort& effort,
                     const std::function<void(Bound)>& found) {
    const auto end = Clock::now() + std::chrono::duration<double>(effort.seconds);
    const auto left_s = [&] {
        return std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
    };
    Telling tell(effort, found);
    const std::optional<Problem> still = without_streams(problem);
    const Problem& held = still ? *still : problem;
    const auto is_over = [&] { return tell.stop().stop_requested() || Clock::now() >= end; };
    const auto prove = [&] {
        const bool in_order = starts_in_order(problem, options);
        double known_s = 0;
        for (const std::size_t steps : kWindowSteps) {
            if (is_over()) return;
            const ChainBound windows = chain_windows(held, options, in_order, steps, is_over);
            known_s = std::max(known_s, windows.seconds);
            tell({kWindows, known_s, kWindowsProof});
            if (windows.has_all) break;
        }
        if (still || problem.groups > kMostGroupsToPlace || !std::isfinite(effort.incumbent_s)) return;
        const auto shown = [&](double value_s) {
            tell({"placements", value_s,
                  "no placement takes less: all were searched group by group, but for those that the groups "
                  "placed so far show to be slower (by windows) or not to fit the memory"});
        };
        // A better placement than the incumbent may have been found: then the bound is below that.
        if (prove_by_placements(problem, options, in_order, known_s, effort.incumbent_s, shown, is_over)
                .finished)
            tell.end();
    };
    const std::jthread prover([&] {
        try {
            prove();
        } catch (const std::bad_alloc&) {
            // The problem is too large for these proofs; what was told holds.
        }
    });
    const std::optional<Problem> serial = with_serial_segments(held);
    const StepProgramme program(serial ? *serial : held, options);
    const auto relaxation = solve_relaxation(program.program(), left_s(), tell.stop());
    if (!relaxation) return;
    tell({"linear-program", within_tolerance(relaxation->value) * program.unit_s(),
          "ops shared between the devices in fractions: the work of each device, the longest path on this "
          "mix of devices and the parameters in their memory, all at once (linear program)"});
    if (!std::isfinite(relaxation->value)) return;
    const auto tell_search = [&](double value_s, const char* how_far) {
        tell({"branch-and-bound", value_s,
              std::string("whole ops, with a transfer wherever a path changes devices, by branch and cut on "
                          "an integer program") +
                  how_far});
    };
    constexpr auto kUnfinished = " (not finished)";
    constexpr double kWorthTelling = 1.001;
    double told_s = within_tolerance(relaxation->value) * program.unit_s();
    IntegerLimits limits;
    limits.seconds = left_s();
    limits.stop = tell.stop();
    limits.cutoff = effort.incumbent_s / program.unit_s();
    limits.progress = [&](double bound, const auto&) {
        const double bound_s = within_tolerance(bound) * program.unit_s();
        if (bound_s > told_s * kWorthTelling) {
            told_s = bound_s;
            tell_search(bound_s, kUnfinished);
        }
        return true;
    };
    const IntegerResult result = solve_integer(program.program(), limits);
    if (result.bound == -kNoLimit) return;
    // The incumbent is optimal, within the tolerance of the solver.
    const bool optimal = result.finished && result.x.empty();
    tell_search(optimal ? effort.incumbent_s : within_tolerance(result.bound) * program.unit_s(),
                result.finished ? "" : kUnfinished);
}

}  // namespace

std::vector<Bound> quick_bounds(const Problem& problem, const Objective& objective,
                                const SimulationOptions& options) {
    std::vector<Bound> bounds;
    if (objective.evaluate == max_load) {
        bounds = max_load_bounds(problem);
    } else if (objective.evaluate == block_latency) {
        bounds = block_latency_bounds(problem);
    } else {
        const std::optional<Problem> still = without_streams(problem);
        const Problem& held = still ? *still : problem;
        const std::optional<Problem> serial = with_serial_segments(held);
        const Problem& paths = serial ? *serial : held;
        bounds = lower_bounds(paths, options);
        if (const auto split_s = split_path_s(paths, options))
            bounds.push_back({"split-path", *split_s,
                              std::isfinite(*split_s)
                                  ? "the critical path, cut into runs on one device whose parameters fit it, "
                                    "with the cheapest transfers between runs and to ops that must be on "
                                    "another device"
                                  : "some op fits on no device"});
        bounds.push_back(
            {"windows",
             chain_windows(held, options, starts_in_order(problem, options), kQuickWindowSteps).seconds,
             kWindowsProof});
        if (const auto copies_s = least_streaming_s(problem))
            bounds.push_back({"streaming", *copies_s,
                              "the copies of what does not fit the accelerators, those first that are "
                              "short for their bytes"});
    }
    std::ranges::stable_sort(bounds, std::ranges::greater{}, &Bound::value_s);
    if (!objective.is_step_time() && !std::isfinite(bounds.front().value_s)) {
        // The bounds for formulas show that nothing fits, but not why.
        if (auto reason = memory_shortage(problem)) bounds.front().proof = *std::move(reason);
    }
    return bounds;
}

void prove_bounds(const Problem& problem, const Objective& objective, const SimulationOptions& options,
                  const BoundEffort& effort, const std::function<void(Bound)>& found) {
    if (objective.evaluate == max_load) prove_max_load(problem, effort, found);
    if (objective.is_step_time()) prove_step_time(problem, options, effort, found);
}

bool contradicts(double bound_s, double value_s) {
    constexpr double kTolerance = 1e-5;
    return std::isfinite(bound_s) && value_s < bound_s * (1 - kTolerance);
}

double whole_percent(double gap) {
    constexpr double kNoise = 3e-4;  // the proofs' tolerance (within_tolerance()), twice, and rounding
    return std::max(0.0, std::ceil(gap * 100 - kNoise));
}

}  // namespace placewright
