// SPDX-License-Identifier: MIT
// simulate --explain: where the time and memory of a placement go, and the effect of each single move.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "core/io/text/json.hpp"
#include "core/job/job.hpp"
#include "core/search/single_moves.hpp"
#include "core/sim/explain.hpp"

namespace placewright {

struct Explanation {
    CriticalPath path;
    std::vector<MemoryPeak> peaks;
    std::optional<SingleMoves> moves;  ///< scored by the job's objective; nothing if cancelled
};

/// Explains a placement whose simulation wrote `trace`. Shows progress on standard error if that is a
/// terminal.
Explanation explain(const Job& job, const Placement& placement, const Trace& trace, std::stop_token stop);

/// JSON described in app/cli/README.md.
Json explanation_json(const Job& job, const Placement& placement, const Trace& trace,
                      const Explanation& explanation);

/// Prints a report on standard output: sums, the longest segments of the critical path, the largest tensors
/// in memory and the best moves.
void print_explanation(const Job& job, const Placement& placement, const Trace& trace,
                       const Explanation& explanation);

}  // namespace placewright
