// SPDX-License-Identifier: MIT
#include "core/sim/memory_penalty.hpp"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

constexpr std::array<std::string_view, 3> kRules{"exprimo", "placeto", "post"};

/// The score with the memory penalty. `bytes` [device]: memory used.
Score charged(const MemoryPenalty& penalty, const Problem& problem, Score score,
              std::span<const double> bytes) {
    if (score.fits) return score;
    double sum_over = 0;
    double most_over = 0;
    for (std::size_t device = 0; device < bytes.size(); ++device) {
        const double over = bytes[device] - problem.memory_limit_bytes[device];
        sum_over += std::max(0.0, over);
        most_over = std::max(most_over, over);
    }
    switch (penalty.rule) {
        case MemoryRule::exprimo:
            score.penalised_s += penalty.seconds_per_mb * sum_over / 1e6;
            break;
        case MemoryRule::placeto:
            score.penalised_s += penalty.seconds_per_gb * most_over / 1e9;
            break;
        case MemoryRule::post:
            score.penalised_s = penalty.out_of_memory_s;
            break;
    }
    return score;
}

}  // namespace

std::string_view to_string(MemoryRule rule) {
    return kRules[static_cast<std::size_t>(rule)];
}

std::optional<MemoryRule> memory_rule_from(std::string_view text) {
    const auto* found = std::ranges::find(kRules, text);
    if (found == kRules.end()) return {};
    return static_cast<MemoryRule>(found - kRules.begin());
}

Score MemoryPenalty::score(const Problem& problem, const Outcome& outcome) const {
    return charged(*this, problem, {outcome.step_time_s, outcome.step_time_s, outcome.fits},
                   outcome.peak_bytes);
}

Score MemoryPenalty::score(const Problem& problem, const Evaluation& evaluation) const {
    return charged(*this, problem, {evaluation.seconds, evaluation.seconds, evaluation.fits},
                   evaluation.device_bytes);
}

}  // namespace placewright
