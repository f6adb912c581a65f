// SPDX-License-Identifier: MIT
// The least times of ops and transfers in whatever order the simulator runs them, of which lower bounds are
// made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// [op * devices + device]: least seconds in every batch; infinite where the op is not allowed.
std::vector<double> least_times_s(const Problem& problem, std::uint32_t batches);

/// [op]: its least of `times_s` [op * devices + device].
std::vector<double> fastest_of(const Problem& problem, std::span<const double> times_s);

/// Least seconds to send the tensor from one device to another, alone or in a message with others.
double least_transfer_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to);

/// [tensor]: least seconds of its transfer between any two different devices.
std::vector<double> least_transfers_s(const Problem& problem);

/// Least number of successive rounds of batches, divided by the number of batches.
double rounds_a_batch(const SimulationOptions& options);

}  // namespace placewright
