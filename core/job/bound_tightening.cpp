// SPDX-License-Identifier: MIT
#include "core/job/bound_tightening.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include <sys/resource.h>

#include "core/base/text.hpp"

namespace placewright {

/// On Linux the priority belongs to the thread. (Of Qt's thread priorities only the idle one has an effect
/// there, and it would leave no time at all.)
void give_way() {
    constexpr int kNiceness = 10;
    setpriority(PRIO_PROCESS, 0, kNiceness);
}

std::string infeasible_text(const Job& job, const Bound& bound, const std::string& remedy) {
    if (std::isfinite(bound.value_s)) return {};
    return "no placement of " + printable(job.problem->graph->name(), 200) + " on " +
           printable(job.problem->machine->name(), 200) + " fits the memory: " + bound.proof + ". It needs " +
           remedy;
}

std::string memory_remedy(const JobOptions& options, bool is_window) {
    const ProblemOptions& problem = options.problem;
    std::string text = "a machine with more memory";
    const auto add = [&](const char* in_window, const char* argument) {
        text += std::string(", or ") + (is_window ? in_window : argument);
    };
    if (!problem.inference && problem.memory == MemoryModel::training && problem.optimizer_states > 0)
        add("an optimizer with less state (SGD)", "--optimizer sgd");
    if (problem.usable_memory < 1) add("all of the memory", "--usable-memory 1");
    if (problem.grouping.rule != GroupingRule::none) add("smaller groups", "--group none");
    if (is_window && text.find(',') != std::string::npos) text += " (Run ▸ Simulation…)";
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
