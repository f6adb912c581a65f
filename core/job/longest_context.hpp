// SPDX-License-Identifier: MIT
// The longest context with which a placed language model fits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "core/base/path.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// How long a sequence may be.
struct LongestContext {
    std::int64_t tokens = 0;  ///< 0: not even one token fits
    /// That is full then; nothing: the longest sequence that the model allows, or that is read, fits.
    std::optional<DeviceId> device{};
};

/// Finds the longest sequence within the model's limit with which the placement fits the memory, by
/// simulating it at other lengths: exact, if what a device holds does not shrink with the length. The number
/// of simulations is about 10 and at most 60. `options`: those that the job was made with; `network`: the
/// file that it was read from. Returns nothing for a job without a language model, where the objective is not
/// defined, if the file cannot be read any more, or if stopped.
std::optional<LongestContext> longest_context(const Job& job, const JobOptions& options,
                                              std::span<const DeviceId> placement, const Path& network,
                                              const std::stop_token& stop = {});

}  // namespace placewright
