// SPDX-License-Identifier: MIT
// Compares algorithms on one problem: all get the same seeds and the same number of evaluations.
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
    bool tells_options = false;  ///< its name gives its options, also if no other contestant differs in them
};

/// Settings shared by all searches of a comparison.
struct ComparisonTask {
    std::shared_ptr<const Problem> problem;
    SimulationOptions simulation;
    MemoryPenalty penalty;
    std::vector<Placement> starts;  ///< for the algorithms that start from given placements
    std::vector<Contestant> contestants;
    std::vector<std::uint64_t> seeds;
    std::uint64_t evaluations = 20'000;    ///< of each search
    unsigned threads = 0;                  ///< searches at a time, at most one per core (0: all cores)
    const Objective* objective = nullptr;  ///< null: the step time
    /// Whether a contestant is to run with a seed; null: all with all.
    std::function<bool(std::size_t contestant, std::uint64_t seed)> is_wanted{};
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
    std::optional<double> best_s;             ///< lowest score so far
    const ComparedRun* just_ended = nullptr;  ///< the run that ended, if this caused the report
};

using ComparisonCallback = std::function<void(const ComparisonProgress&)>;

/// Runs every contestant with every seed that is wanted; each search uses one thread. Returns the finished
/// runs by contestant, then in the order of the seeds; after a `stop` only those that had ended before.
/// Except for their times, the runs do not depend on the number of threads. The first seeds of all
/// contestants run before the last seed of any. `report` is called at every end of a search and at most every
/// `interval` in between, by one thread at a time. Throws what the algorithms throw for their options or the
/// starts.
std::vector<ComparedRun> compare(const ComparisonTask& task, std::stop_token stop = {},
                                 const ComparisonCallback& report = {},
                                 std::chrono::milliseconds interval = std::chrono::milliseconds(100));

/// The point at which a search first came near the best score.
struct Reached {
    std::uint64_t evaluations = 0;
    double seconds = 0;
};

/// Returns the first point with a score within `share` of `best_s`; nothing if there is none.
std::optional<Reached> reached(const ComparedRun& run, double best_s, double share = 0.05);

/// Results of one contestant over all seeds.
struct Standing {
    std::size_t contestant = 0;
    std::vector<const ComparedRun*> runs;  ///< in the order of the seeds; at least one
    SampleStatistics score_s;
    double best_s = 0;
    std::size_t fitting = 0;    ///< runs whose best placement fits the memory
    std::size_t undefined = 0;  ///< runs whose best placement has no defined objective
    std::size_t near = 0;       ///< runs that came within 5 % of the best known
    /// The evaluations and, independently, the seconds after which half of the runs (rounded up) had come
    /// that near; nothing if fewer did.
    std::optional<Reached> half_near;
};

/// Returns the lowest score of all runs; nothing if there are none.
std::optional<double> best_score_s(std::span<const ComparedRun> runs);

/// Returns one standing per contestant with a finished run, by contestant. The standings point into `runs`.
std::vector<Standing> standings(std::span<const ComparedRun> runs, double best_known_s);

}  // namespace placewright
