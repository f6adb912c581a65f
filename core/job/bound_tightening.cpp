// SPDX-License-Identifier: MIT
#include "core/job/bound_tightening.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <sys/resource.h>

#include "core/algorithms.hpp"
#include "core/base/text.hpp"
#include "core/sim/memory_shortage.hpp"

namespace placewright {
namespace {

/// Whether everything fits on one device, or as a quick rule that knows the memory places it.
bool something_fits(const Job& job) {
    if (job.single_device_fits) return true;
    if (memory_shortage(*job.problem)) return false;
    Simulator simulator(job.problem, job.simulation);
    const auto rule = find_algorithm("m-topo")->make({job.problem, 1, {}}, {});
    return std::ranges::any_of(rule->ask(1), [&](const Placement& placement) {
        return assess(job, placement, simulator.run(placement)).score.fits;
    });
}

/// Whether the linear weights of a language model would fit in 4 bits each, about: what else there is takes
/// as much as before. The file would have to be read again to know.
bool small_weights_help(const Job& job) {
    if (!job.language || job.language->weights || job.language->phase == LanguagePhase::training)
        return false;
    double bytes = 0, memory_bytes = 0;
    for (OpId id = 0; id < job.problem->ops; ++id) {
        const Op& op = job.problem->graph->op(id);
        const double weights = static_cast<double>(op.parameter_bytes) *
                               (op.kind == "linear" || op.kind == "grouped_linear" ? 0.25 : 1);
        bytes += weights + job.problem->cache_bytes(id);
    }
    for (const double limit_bytes : job.problem->memory_limit_bytes) memory_bytes += limit_bytes;
    return bytes < memory_bytes;
}

}  // namespace

/// On Linux the priority belongs to the thread. (Of Qt's thread priorities only the idle one has an effect
/// there, and it would leave no time at all.)
void give_way(int niceness) {
    setpriority(PRIO_PROCESS, 0, niceness);
}

std::string infeasible_text(const Job& job, const Bound& bound, const std::string& remedy) {
    if (std::isfinite(bound.value_s)) return {};
    return "no placement of " + printable(job.problem->graph->name(), 200) + " on " +
           printable(job.problem->machine->name(), 200) + " fits the memory: " + bound.proof + ". It needs " +
           remedy;
}

std::string memory_remedy(const Job& job, const JobOptions& options, bool is_window) {
    const ProblemOptions& problem = options.problem;
    const auto helps = [&](auto change) {
        JobOptions changed = options;
        changed.problem.cost.model = job.problem->cost_model;
        change(changed.problem);
        return something_fits(make_job(job.problem->network, job.machine, changed, job.language));
    };
    std::string text = "a machine with more memory";
    const auto add = [&](const char* in_window, const char* argument) {
        text += std::string(", or ") + (is_window ? in_window : argument);
    };
    if (!problem.inference && problem.memory == MemoryModel::training) {
        const auto plain = [](ProblemOptions& changed) { changed.optimizer_states = 0; };
        const auto at_once = [](ProblemOptions& changed) { changed.optimizer_in_backward = true; };
        const bool has_state = problem.optimizer_states > 0;
        const bool has_gradients = !problem.optimizer_in_backward && !problem.accumulate_gradients;
        const bool less_state = has_state && helps(plain), sooner = has_gradients && helps(at_once);
        if (less_state) add("an optimizer with less state (SGD)", "--optimizer sgd");
        if (sooner) add("updates in the backward pass", "--optimizer-in-backward");
        if (!less_state && !sooner && has_state && has_gradients && helps([&](ProblemOptions& changed) {
                plain(changed);
                at_once(changed);
            }))
            add("SGD with updates in the backward pass", "--optimizer sgd --optimizer-in-backward");
    }
    if (problem.usable_memory < 1 && helps([](ProblemOptions& changed) { changed.usable_memory = 1; }))
        add("all of the memory", "--usable-memory 1");
    if (problem.grouping.rule != GroupingRule::none &&
        helps([](ProblemOptions& changed) { changed.grouping = {}; }))
        add("smaller groups", "--group none");
    if (is_window && text.find(',') != std::string::npos) text += " (Run ▸ Simulation…)";
    if (small_weights_help(job)) add("weights in int4 (toolbar)", "--dtype int4");
    return text;
}

Proof::Proof(std::shared_ptr<const Problem> problem, const Objective& objective,
             const SimulationOptions& options, Bound known, double incumbent_s)
    : tightest_(std::move(known)) {
    if (!std::isfinite(tightest_.value_s) || tightest_.value_s >= incumbent_s) return;
    thread_ = std::jthread(
        [this, problem = std::move(problem), &objective, options, incumbent_s](std::stop_token stop) {
            give_way();
            try {
                prove_bounds(*problem, objective, options, {kProofSeconds, stop, incumbent_s},
                             [this](Bound bound) {
                                 const std::scoped_lock lock(mutex_);
                                 if (bound.value_s > tightest_.value_s) tightest_ = std::move(bound);
                             });
            } catch (const std::exception&) {
                // The problem is too large for a solver; the known bound still holds.
            }
            const std::scoped_lock lock(mutex_);
            is_done_ = true;
            changed_.notify_all();
        });
}

Bound Proof::end(double seconds, std::stop_token stop) {
    if (thread_.joinable()) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, std::move(stop), std::chrono::duration<double>(seconds),
                              [this] { return is_done_; });
        }
        thread_.request_stop();
        thread_.join();
    }
    return tightest_;
}

}  // namespace placewright
