// SPDX-License-Identifier: MIT
// Algorithms against each other on one problem: every one with the same seeds and the same number of evaluations.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/search/search.hpp"

namespace placewright {

struct Contestant {
    const AlgorithmInfo* algorithm = nullptr;
    OptionValues options;
};

/// What all searches of a comparison share.
struct ComparisonTask {
    std::shared_ptr<const Problem> problem;
    SimulationOptions simulation;
    Objective objective;
    std::vector<Placement> starts;  ///< for the algorithms that start from given placements
    std::vector<Contestant> contestants;
    std::vector<std::uint64_t> seeds;
    std::uint64_t evaluations = 20'000;  ///< of each search
    unsigned threads = 0;                ///< searches at a time, at most one a core (0: all cores)
    const Goal* goal = nullptr;          ///< null: the step time
};

struct ComparedRun {
    std::size_t contestant = 0;
    std::uint64_t seed = 0;
    SearchProgress progress;  ///< at the end; without archive and distribution
};

struct ComparisonProgress {
    std::size_t finished = 0, runs = 0;
    double elapsed_s = 0;
    double eta_s = 0;
    std::optional<double> best_s;             ///< the lowest score so far
    const ComparedRun* just_ended = nullptr;  ///< where this is why it is reported
};

using ComparisonCallback = std::function<void(const ComparisonProgress&)>;

/// Runs every contestant with every seed; each search is one thread. Returns the finished ones by contestant, then in the order of the
/// seeds; after a `stop` those that had ended before. Apart from the seconds in them they do not depend on the number of threads. All
/// contestants have their first seeds before any has its last. `report` is called at every end of a search and at most every `interval`
/// in between, by one thread at a time. Throws what the algorithms throw for their options or the starts.
std::vector<ComparedRun> compare(const ComparisonTask& task, std::stop_token stop = {}, const ComparisonCallback& report = {},
                                 std::chrono::milliseconds interval = std::chrono::milliseconds(100));

/// When a search first came near to the best.
struct Reached {
    std::uint64_t evaluations = 0;
    double seconds = 0;
};

/// The first score within `share` of `best_s`; nothing if there was none.
std::optional<Reached> reached(const ComparedRun& run, double best_s, double share = 0.05);

/// How one contestant has done.
struct Standing {
    std::size_t contestant = 0;
    std::vector<const ComparedRun*> runs;  ///< in the order of the seeds; at least one
    SampleStatistics score_s;
    double best_s = 0;
    std::size_t fitting = 0;  ///< runs whose best placement fits the memory
    std::size_t near = 0;     ///< runs that came within 5 % of the best known
    /// When half of the runs (rounded up) had come so near, each of evaluations and seconds for itself; nothing if fewer did.
    std::optional<Reached> half_near;
};

/// The lowest score of all runs; nothing if there are none.
std::optional<double> best_score_s(std::span<const ComparedRun> runs);

/// By contestant; those without a finished run are left out. The standings point into `runs`.
std::vector<Standing> standings(std::span<const ComparedRun> runs, double best_known_s);

}  // namespace placewright
