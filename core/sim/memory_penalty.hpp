// SPDX-License-Identifier: MIT
// The score that is minimised: the objective, with a penalty for placements that exceed the memory.
#pragma once

#include <optional>
#include <string_view>

#include "core/cost/problem.hpp"
#include "core/sim/host_memory.hpp"
#include "core/sim/score.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// How exceeding the memory limit is penalised.
enum class MemoryRule : std::uint8_t {
    exprimo,  ///< seconds per MB over the limit, summed over the devices (Exprimo: 1 ms per byte in its code,
              ///< 1 ms per MB in the thesis)
    placeto,  ///< c (m - M), m and M the peak and the limit of the fullest device in GB (Placeto,
              ///< section 4.1; c = 2 s)
    post,     ///< a fixed large time in place of the step time (Post, section 5; 100 s)
};
std::string_view to_string(MemoryRule rule);
std::optional<MemoryRule> memory_rule_from(std::string_view text);

struct MemoryPenalty {
    MemoryRule rule = MemoryRule::exprimo;
    double seconds_per_mb =
        1000;                   ///< exprimo; as strict as its code: a placement that does not fit never wins
    double seconds_per_gb = 2;  ///< placeto
    double out_of_memory_s = 100;  ///< post

    bool operator==(const MemoryPenalty&) const = default;

    Score score(const Problem& problem, const Outcome& outcome) const;
    /// The same for max load and block latency, whose value takes the place of the step time.
    Score score(const Problem& problem, const Evaluation& evaluation) const;
};

}  // namespace placewright
