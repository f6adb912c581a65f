// SPDX-License-Identifier: MIT
// Placement as an integer program, solved by branch and cut.
#include <algorithm>
#include <exception>
#include <limits>
#include <semaphore>
#include <thread>

#include "core/bounds/max_load_bounds.hpp"
#include "core/bounds/step_time_bounds.hpp"
#include "core/bounds/streaming_bounds.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/sim/max_load.hpp"

namespace placewright {
namespace {

struct MilpOptions {
    int nodes = 100'000;
    double seconds = 0;
    int events_a_step = 50;
};

const OptionSchema<MilpOptions>& milp_schema() {
    using Options = MilpOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("nodes", &Options::nodes, 1, 2'000'000'000, "Maximum number of branch-and-cut nodes.")
            .add("seconds", &Options::seconds, 0, 1e9,
                 "Time limit of the solver in seconds; 0: no limit. With a limit, results depend on the "
                 "computer.")
            .add("events_a_step", &Options::events_a_step, 1, 1'000'000,
                 "Solver events (nodes, rounds of cuts and heuristics) per step; each step proposes the best "
                 "placement again.");
    return schema;
}

/// An integer program of the objective, and how to read placements from its solutions.
struct Model {
    IntegerProgram program;
    double unit_s = 1;
    std::function<Placement(std::span<const double>)> placement;
};

Model make_model(const Problem& problem, bool for_max_load, const SimulationOptions& simulation,
                 double cutoff_s, const std::stop_token& stop) {
    const auto of = [](auto program) {
        return Model{program.program(), program.unit_s(),
                     [=](std::span<const double> x) { return program.placement(x); }};
    };
    if (!for_max_load) {
        const std::optional<Problem> still = without_streams(problem);
        return of(StepProgramme(still ? *still : problem, simulation));
    }
    const LoadModel loads = load_model(problem);
    const double average_s = balanced_load_s(loads, own_loads(loads), stop).value_or(0);
    LoadProgramme programme(loads, cut_loads(loads, average_s, std::numeric_limits<std::size_t>::max(), stop),
                            cutoff_s);
    programme.keep_apart(problem);
    return of(std::move(programme));
}

/// The solver has its own thread, but only one of the two threads ever runs: each ask resumes the solver for
/// one step.
class Milp : public Optimizer {
public:
    Milp(const SearchContext& context, const MilpOptions& options)
        : problem_(context.problem),
          simulation_(context.simulation),
          options_(options),
          starts_(checked_seeds(context)) {
        if (context.objective != nullptr && !context.objective->is_step_time()) {
            if (context.objective->evaluate != max_load)
                throw OptionError("milp has no program for " + std::string(context.objective->id) +
                                  ", expected step-time or max-load");
            for_max_load_ = true;
        }
        std::ranges::move(DeviceChoices(context.problem, true).on_each_device(), std::back_inserter(starts_));
    }

    ~Milp() override {
        if (!solver_.joinable()) return;
        solver_.request_stop();
        go_on_.release();
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (!starts_.empty()) {
            batch_.assign(starts_.begin(),
                          starts_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, starts_.size())));
            return batch_;
        }
        if (is_done_) return {};
        if (solver_.joinable()) {
            go_on_.release();
        } else {
            solver_ = std::jthread([this](std::stop_token stop) {
                try {
                    solve(std::move(stop));
                } catch (...) {
                    error_ = std::current_exception();
                }
                is_done_ = true;
                paused_.release();
            });
        }
        {
            const std::stop_callback end(stop(), [this] { solver_.request_stop(); });
            paused_.acquire();
        }
        if (error_) std::rethrow_exception(error_);
        if (stop().stop_requested() && !found_) return {};
        if (found_) incumbent_ = *std::exchange(found_, {});
        batch_ = {incumbent_};
        return batch_;
    }

    void tell(std::span<const Score> scores) override {
        if (starts_.empty()) return;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (incumbent_.empty() || (scores[i].fits && scores[i].value_s < cutoff_s_))
                incumbent_ = starts_[i];
            if (scores[i].fits) cutoff_s_ = std::min(cutoff_s_, scores[i].value_s);
        }
        starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
    }

    double lower_bound_s() const override { return bound_s_; }

private:
    void solve(std::stop_token stop) {
        const Model model = make_model(*problem_, for_max_load_, simulation_, cutoff_s_, stop);
        if (stop.stop_requested()) return;
        const auto take = [&](double bound, std::optional<std::span<const double>> x) {
            // The bound has the solver's tolerance; the cutoff itself is exact.
            const double bound_s =
                bound * model.unit_s >= cutoff_s_ ? cutoff_s_ : within_tolerance(bound) * model.unit_s;
            bound_s_ = std::max(bound_s_, bound_s);
            if (x) found_ = model.placement(*x);
        };
        IntegerLimits limits;
        limits.nodes = options_.nodes;
        if (options_.seconds > 0) limits.seconds = options_.seconds;
        limits.cutoff = cutoff_s_ / model.unit_s;
        limits.stop = stop;
        limits.events_a_call = options_.events_a_step;
        limits.progress = [&](double bound, std::optional<std::span<const double>> x) {
            take(bound, x);
            paused_.release();
            go_on_.acquire();
            return !stop.stop_requested();
        };
        const IntegerResult result = solve_integer(model.program, limits);
        take(result.bound,
             result.x.empty() ? std::nullopt : std::optional(std::span<const double>(result.x)));
    }

    std::shared_ptr<const Problem> problem_;
    SimulationOptions simulation_;
    MilpOptions options_;
    bool for_max_load_ = false;
    std::vector<Placement> starts_;  ///< not yet scored
    Placement incumbent_;
    double cutoff_s_ = kNoLimit;
    std::vector<Placement> batch_;

    // State of the solver, for whichever thread runs.
    double bound_s_ = 0;
    std::optional<Placement> found_;
    bool is_done_ = false;
    std::exception_ptr error_;
    std::binary_semaphore go_on_{0}, paused_{0};
    std::jthread solver_;  ///< last: it is joined before the other members are destroyed
};

}  // namespace

AlgorithmInfo milp_algorithm() {
    return describe<Milp>(
        "milp", "MILP",
        "Branch and cut on an integer program of the step time or the max load, which also proves a "
        "lower bound.",
        milp_schema());
}

}  // namespace placewright
