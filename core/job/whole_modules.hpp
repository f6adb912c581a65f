// SPDX-License-Identifier: MIT
// What a placement by whole modules gives, beside one that splits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>

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
                                                unsigned threads = 0, std::stop_token stop = {});

/// Returns the number of modules that a placement of the job's problem puts on several devices.
std::size_t modules_split(const Job& job, const GroupingOptions& grouping, const Placement& placement);

/// Returns the bytes of all messages between devices in a step, each channel of a route counted.
double bytes_sent(const Outcome& outcome);

}  // namespace placewright
