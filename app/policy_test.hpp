// SPDX-License-Identifier: MIT
// How a policy does on networks that it has not been trained on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

#include "app/training_run.hpp"
#include "widgets/cdf_plot.hpp"

namespace placewright {

/// What is known so far.
using CdfCallback = std::function<void(CdfData)>;

/// What the networks take placed by the policy (zero-shot: the most likely device each time), by the best placement on the way there (of
/// policies that improve one), at random (ten placements each, drawn from the policy's seed), and on one device. Ends early if stopped.
CdfData test_policy(const PolicyFile& policy, std::span<const Lesson> lessons, std::stop_token stop, const CdfCallback& report);

/// The best placement that a policy of the same design finds when it is trained from the beginning, and for so many updates, on each
/// network alone. Ends early if stopped.
CdfData optimize_each(const PolicyFile& policy, std::span<const Lesson> lessons, std::uint64_t updates, std::stop_token stop,
                      const CdfCallback& report);

}  // namespace placewright
