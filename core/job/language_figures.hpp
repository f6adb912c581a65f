// SPDX-License-Identifier: MIT
// What a placement of a language model means for its users: tokens a second in each phase, and how it
// compares with the splits of frameworks.
#pragma once

#include <optional>
#include <vector>

#include "core/job/job.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

struct PhaseFigures {
    LanguagePhase phase = LanguagePhase::decode;
    std::int64_t batch = 1;
    std::int64_t sequence = 0;  ///< tokens of a prompt, or in the cache
    double step_time_s = 0;     ///< of a prompt: the time to the first token
    bool fits = true;
    double cache_bytes = 0;
    double tokens_per_s = 0;  ///< that a step makes (decode) or reads; see token_rate.hpp
};

/// Returns the figures of the phase in which the job's network was read; nothing if it is no language model.
std::optional<PhaseFigures> phase_figures(const Job& job, const Outcome& outcome);

/// Reads the network of the job in the other phase of inference, prefill for decode and decode for prefill,
/// with the same options, and simulates the placement there. Returns nothing for training, for a model
/// without a decode phase and if the network is no language model. Throws InputError.
std::optional<PhaseFigures> other_phase(const Job& job, const Placement& placement, const Path& file,
                                        const std::string& machine, const JobOptions& options);

/// A split that a framework makes by bytes alone.
struct FrameworkSplit {
    const AlgorithmInfo* algorithm = nullptr;
    Score score;
};

/// Scores what `sequential-fill` and `memory-proportional` propose: the first proposal that fits, else the
/// last. Empty for a network that is not divided into blocks.
std::vector<FrameworkSplit> framework_splits(const Job& job);

}  // namespace placewright
