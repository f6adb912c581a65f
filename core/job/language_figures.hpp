// SPDX-License-Identifier: MIT
// What a placement of a language model means for its users: tokens a second in each phase, and how it
// compares with the splits of frameworks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/job.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

struct PhaseFigures {
    LanguagePhase phase = LanguagePhase::decode;
    std::int64_t batch = 1;
    std::int64_t sequence = 0;    ///< tokens of a prompt, or in the cache
    std::uint32_t in_flight = 1;  ///< batches under way at a time
    double step_time_s = 0;       ///< of all batches, over their number
    /// How long a batch takes that nothing else delays: the time a token, or to the first token.
    double alone_s = 0;
    /// How long it takes while `in_flight` batches are always under way, by Little's law (1961): `in_flight`
    /// times the seconds between the ends of two batches.
    double latency_s = 0;
    bool fits = true;
    double cache_bytes = 0;
    double tokens_per_s = 0;  ///< that steps make (decode) or read while `in_flight` batches are under way
};

/// Returns the figures of the phase in which the job's network was read; nothing if it is no language model.
/// `outcome`: of the placement. Simulates at most twice more.
std::optional<PhaseFigures> phase_figures(const Job& job, const Placement& placement, const Outcome& outcome);

/// Reads the network of the job in the other phase of inference, prefill for decode and decode for prefill,
/// with the same options, and simulates the placement there. Returns nothing for training, for a model
/// without a decode phase and if the network is no language model. Throws InputError.
std::optional<PhaseFigures> other_phase(const Job& job, const Placement& placement, const Path& file,
                                        const std::string& machine, const JobOptions& options);

/// A split that a framework makes by bytes alone.
struct FrameworkSplit {
    const AlgorithmInfo* algorithm = nullptr;
    std::string framework;  ///< that splits so: "Hugging Face Accelerate"
    Score score;
    /// A CPU runs ops in the simulation that the framework runs on a GPU (Offload::stream).
    bool would_stream = false;
};

/// Scores what `sequential-fill` and `memory-proportional` propose: the first proposal that fits, else the
/// last. Empty for a network that is not divided into blocks.
std::vector<FrameworkSplit> framework_splits(const Job& job);

}  // namespace placewright
