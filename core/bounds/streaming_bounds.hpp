// SPDX-License-Identifier: MIT
// Lower bounds on the step time where the weights of ops on CPUs are streamed (Problem::streams_to).
#pragma once

#include <optional>

#include "core/cost/problem.hpp"

namespace placewright {

/// A relaxation without streams, on whose steps all bounds hold for the streamed ones: ops on CPUs take their
/// time on the device that runs them, though beside it, and nothing takes time to send, since an op that is
/// placed elsewhere than its reader may run on the same device. Nothing for a problem without streams.
std::optional<Problem> without_streams(const Problem& problem);

/// The least seconds in which the busiest channel between the CPU and the device that runs its ops carries
/// what these read, if ops stay on the CPU as far as the accelerators have no room for what ops hold (the
/// fractional knapsack of Dantzig, 1957). Nothing without streams, with several CPUs, and if all fits.
std::optional<double> least_streaming_s(const Problem& problem);

}  // namespace placewright
