// SPDX-License-Identifier: MIT
// Tests of a policy on networks outside its training set.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

#include "app/window/learn/training_job.hpp"
#include "widgets/cdf_plot.hpp"

namespace placewright {

/// Receives the results known so far.
using CdfCallback = std::function<void(CdfData)>;

/// Returns the objective values of the networks for four schemes: placed by the policy (zero-shot: the most
/// likely device of each decision), the best placement of that episode (for policies that improve a
/// placement), random (ten placements each, drawn from the policy's seed) and one device. Ends early if
/// stopped.
CdfData test_policy(const PolicyFile& policy, std::span<const Lesson> lessons, std::stop_token stop,
                    const CdfCallback& report);

/// Returns the best value that a policy of the same design finds on each network when it is trained from
/// scratch on that network alone for `updates` updates. Ends early if stopped.
CdfData optimize_each(const PolicyFile& policy, std::span<const Lesson> lessons, std::uint64_t updates,
                      std::stop_token stop, const CdfCallback& report);

}  // namespace placewright
