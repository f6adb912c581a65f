// SPDX-License-Identifier: MIT
#include "core/search/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <mutex>

#include "core/base/infinity.hpp"
#include "core/search/threads.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

class Comparer {
public:
    Comparer(const ComparisonTask& task, std::stop_token stop, const ComparisonCallback& report,
             std::chrono::milliseconds interval)
        : task_(task),
          report_(report),
          interval_(interval),
          outcomes_(task.contestants.size() * task.seeds.size()),
          shares_(outcomes_.size(), 0),
          forward_stop_(std::move(stop), [this] { stop_.request_stop(); }) {
        // Contestants take turns, so that after a stop all have had about the same number of runs.
        for (std::size_t seed = 0; seed < task.seeds.size(); ++seed) {
            for (std::size_t contestant = 0; contestant < task.contestants.size(); ++contestant) {
                if (!task.is_wanted || task.is_wanted(contestant, task.seeds[seed]))
                    turns_.push_back({contestant, seed});
            }
        }
    }

    std::vector<ComparedRun> run() {
        const std::size_t threads = std::min<std::size_t>(usable_threads(task_.threads), turns_.size());
        std::vector<std::future<void>> workers;
        for (std::size_t i = 0; i < threads; ++i)
            workers.push_back(std::async(std::launch::async, [this] { work(); }));
        for (const auto& worker : workers) worker.wait();
        for (auto& worker : workers) worker.get();

        std::vector<ComparedRun> finished;
        for (auto& outcome : outcomes_) {
            if (outcome) finished.push_back(std::move(*outcome));
        }
        return finished;
    }

private:
    void work() {
        try {
            for (std::size_t turn = next_++; turn < turns_.size() && !stop_.stop_requested(); turn = next_++)
                search(turns_[turn]);
        } catch (...) {
            stop_.request_stop();
            throw;
        }
    }

    struct Turn {
        std::size_t contestant = 0;
        std::size_t seed = 0;  ///< index in the task's
    };

    void search(const Turn& turn) {
        const auto [contestant, seed] = turn;
        const std::size_t index = contestant * task_.seeds.size() + seed;
        const Contestant& who = task_.contestants[contestant];
        const auto optimizer = who.algorithm->make({task_.problem, task_.seeds[seed], task_.starts,
                                                    task_.evaluations, task_.objective, task_.simulation},
                                                   who.options);
        const Objective& objective = task_.objective != nullptr ? *task_.objective : objectives().front();
        const auto evaluator =
            objective_evaluator(task_.problem, objective, task_.simulation, task_.penalty, 1);
        Budget budget;
        budget.evaluations = task_.evaluations;
        ProgressCallback report;
        if (report_) report = [&](const SearchProgress& progress) { note(index, progress); };
        SearchResult result =
            run_search(*optimizer, *evaluator, budget, stop_.get_token(), report, interval_);
        if (result.end == SearchEnd::cancelled || !result.progress.best_placement) return;
        result.progress.archive = nullptr;
        result.progress.distribution = nullptr;
        end(index, {contestant, task_.seeds[seed], std::move(result.progress)});
    }

    void note(std::size_t index, const SearchProgress& progress) {
        const std::scoped_lock lock(mutex_);
        shares_[index] = static_cast<double>(progress.evaluations) / static_cast<double>(task_.evaluations);
        if (progress.best_placement) best_s_ = std::min(best_s_, progress.best.penalised_s);
        if (Clock::now() >= next_report_) tell(nullptr);
    }

    void end(std::size_t index, ComparedRun run) {
        const std::scoped_lock lock(mutex_);
        shares_[index] = 1;
        best_s_ = std::min(best_s_, run.progress.best.penalised_s);
        outcomes_[index] = std::move(run);
        ++finished_;
        if (report_) tell(&*outcomes_[index]);
    }

    void tell(const ComparedRun* just_ended) {
        ComparisonProgress progress{finished_, turns_.size(), 0, 0, {}, just_ended};
        progress.elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
        double share = 0;
        for (const double each : shares_) share += each / static_cast<double>(turns_.size());
        if (share > 0) progress.eta_s = progress.elapsed_s * std::max(0.0, 1 / share - 1);
        if (best_s_ < kInfinity) progress.best_s = best_s_;
        report_(progress);
        next_report_ = Clock::now() + interval_;
    }

    const ComparisonTask& task_;
    const ComparisonCallback& report_;
    const std::chrono::milliseconds interval_;
    const Clock::time_point start_ = Clock::now();
    std::vector<Turn> turns_;
    std::atomic<std::size_t> next_ = 0;

    std::mutex mutex_;                                  ///< guards the following members, up to stop_
    std::vector<std::optional<ComparedRun>> outcomes_;  ///< by contestant, then seed
    /// Share of its evaluations that each search has used, in the same order.
    std::vector<double> shares_;
    std::size_t finished_ = 0;
    double best_s_ = kInfinity;
    Clock::time_point next_report_ = start_;

    std::stop_source stop_;
    std::stop_callback<std::function<void()>> forward_stop_;
};

}  // namespace

std::vector<ComparedRun> compare(const ComparisonTask& task, std::stop_token stop,
                                 const ComparisonCallback& report, std::chrono::milliseconds interval) {
    return Comparer(task, std::move(stop), report, interval).run();
}

std::optional<Reached> reached(const ComparedRun& run, double best_s, double share) {
    const double limit_s = best_s + share * std::abs(best_s);
    const auto found = std::ranges::find_if(*run.progress.curve,
                                            [&](const CurvePoint& point) { return point.best_s <= limit_s; });
    if (found == run.progress.curve->end()) return {};
    return Reached{found->evaluations, found->seconds};
}

std::optional<double> best_score_s(std::span<const ComparedRun> runs) {
    if (runs.empty()) return {};
    return std::ranges::min_element(runs, {},
                                    [](const ComparedRun& run) { return run.progress.best.penalised_s; })
        ->progress.best.penalised_s;
}

std::vector<Standing> standings(std::span<const ComparedRun> runs, double best_known_s) {
    std::vector<Standing> all;
    for (const ComparedRun& run : runs) {
        if (all.empty() || all.back().contestant != run.contestant)
            all.push_back({run.contestant, {}, {}, 0, 0, 0, 0, {}});
        all.back().runs.push_back(&run);
    }
    for (Standing& standing : all) {
        std::vector<double> scores_s, evaluations, seconds;
        for (const ComparedRun* run : standing.runs) {
            scores_s.push_back(run->progress.best.penalised_s);
            if (run->progress.best.fits) ++standing.fitting;
            if (run->progress.best == kUndefinedScore) ++standing.undefined;
            if (const auto point = reached(*run, best_known_s)) {
                evaluations.push_back(static_cast<double>(point->evaluations));
                seconds.push_back(point->seconds);
            }
        }
        standing.score_s = sample_statistics(scores_s);
        standing.best_s = *std::ranges::min_element(scores_s);
        standing.near = evaluations.size();
        const std::size_t half = (standing.runs.size() + 1) / 2;
        if (standing.near >= half) {
            std::ranges::sort(evaluations);
            std::ranges::sort(seconds);
            standing.half_near =
                Reached{static_cast<std::uint64_t>(evaluations[half - 1]), seconds[half - 1]};
        }
    }
    return all;
}

}  // namespace placewright
