// SPDX-License-Identifier: MIT
// simulate --explain: where the time and the memory of a placement go, and what each single move would change.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "app/job.hpp"
#include "core/io/json.hpp"
#include "core/search/single_moves.hpp"
#include "core/sim/explain.hpp"

namespace placewright {

struct Explanation {
    CriticalPath path;
    std::vector<MemoryPeak> peaks;
    std::optional<SingleMoves> moves;  ///< by what is minimised; nothing if it was cancelled
};

/// Of a placement whose simulation left this trace. Shows its progress on standard error if that is a terminal.
Explanation explain(const Job& job, const Placement& placement, const Trace& trace, std::stop_token stop);

/// As README.md describes it.
Json explanation_json(const Job& job, const Placement& placement, const Trace& trace, const Explanation& explanation);

/// A report for people on standard output: sums, the longest stretches of the critical path, the largest things in memory, the best moves.
void print_explanation(const Job& job, const Placement& placement, const Trace& trace, const Explanation& explanation);

}  // namespace placewright
