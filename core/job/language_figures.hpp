// SPDX-License-Identifier: MIT
// What one asks of a placed language model: parameters, tokens a second and the longest context.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "core/base/path.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// As many parameters as the bytes of the ops hold in their types. Weights below 8 bits count as fewer.
double parameter_count(const Graph& graph);

/// Tokens of one step: in decode one of each sequence of the batch, else `sequence` of each.
double tokens_of_step(const LanguageOptions& language, std::int64_t batch);

/// Tokens a second, in the steady state of a pipeline if there is one; 0 if the step takes no time.
double tokens_per_s(const LanguageOptions& language, std::int64_t batch, const Outcome& outcome);

/// How long a sequence may be.
struct LongestContext {
    std::int64_t tokens = 0;           ///< 0: not even one token fits
    std::optional<DeviceId> device{};  ///< that is full then; nothing: the largest sequence that is read fits
};

/// Finds the longest sequence with which the placement fits the memory, by simulating it at other lengths:
/// exact, if what a device holds does not shrink with the length. The number of simulations is about 10 and
/// at most 60. `options`: those that the job was made with; `network`: the file that it was read from.
/// Returns nothing for a job without a language model, where the objective is not defined, if the file cannot
/// be read any more, or if stopped.
std::optional<LongestContext> longest_context(const Job& job, const JobOptions& options,
                                              std::span<const DeviceId> placement, const Path& network,
                                              const std::stop_token& stop = {});

}  // namespace placewright
