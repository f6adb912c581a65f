// SPDX-License-Identifier: MIT
// What a placement by whole modules gives, beside one that splits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/job/job.hpp"
#include "core/search/search.hpp"

namespace placewright {

/// The modules that a framework moves as a whole: those around residual connections, of a network of many ops
/// that runs in eager mode and whose ops are placed one by one. Nothing for another job.
std::optional<GroupingOptions> modules_to_keep_whole(const Job& job);

/// The best placement found that splits no module.
struct WholeModules {
    GroupingOptions grouping;
    std::size_t modules = 0;  ///< groups of several ops
    Placement placement;      ///< of the job's problem
    Score score;
    Outcome outcome;
};

/// Searches for it: by the algorithm with the seed, on a tenth of the budget, at least 500 evaluations if the
/// budget has them. Nothing if it was stopped before the first score.
std::optional<WholeModules> place_whole_modules(const Job& job, const GroupingOptions& grouping,
                                                const AlgorithmInfo& algorithm, const OptionValues& options,
                                                std::uint64_t seed, const Budget& budget,
                                                unsigned threads = 0, std::stop_token stop = {},
                                                Pause* pause = nullptr);

/// What splitting modules gains and costs, against the best placement of whole ones.
struct Splitting {
    std::size_t modules = 0;     ///< that are on several devices
    double gain = 0;             ///< share of the time with whole modules that it saves
    std::int64_t transfers = 0;  ///< more in a step
    double bytes = 0;            ///< more between devices in a step, each channel of a route counted
};

/// `placement`: of the job's problem; `outcome`: its simulation.
Splitting splitting(const Job& job, const WholeModules& whole, const Placement& placement,
                    const Outcome& outcome);

/// "With whole modules (--group scope:2) a step takes 4.9 ms. Splitting 3 of 12 modules saves 14 % and takes
/// 20 more transfers (1.2 MB more)." `rule`: how the caller's user asks for whole modules.
std::string splitting_text(const WholeModules& whole, const Splitting& split, const std::string& rule);

}  // namespace placewright
