// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

struct ChainBound {
    double seconds = 0;    ///< per batch
    bool has_all = false;  ///< all windows were used: more steps show no more
};

/// Lower bound on the step time (seconds per batch) of every placement, from windows of time that follow each
/// other.
///
/// Take ops of which each depends on the one before (core/bounds/dependency_chain.hpp). What lies between two
/// of them is a window: ops that all run between the end of the first and the start of the last. So windows
/// that follow each other along the chain take the sum of their times. The least time of each is found for
/// all devices of its ends (core/bounds/window_time.hpp), and dynamic programming over the chain finds the
/// devices of its ops with which the longest sequence of windows is shortest.
///
/// If `is_fifo`, devices start ops in the order in which they were ready (starts_in_order()). Then windows
/// also hold ops that nothing in them depends on, such as weight gradients: if they are on the device of the
/// last op, they are before it in its queue, and end before it starts unless the device can run both at a
/// time.
///
/// Windows are tried from small to large as long as they take no more than about `most_steps`, which take
/// some nanoseconds each, and until `is_over`. Without `is_over` the result is the same on every computer.
/// Returns 0 seconds for more kinds of devices and tensors than DeviceClasses takes.
ChainBound chain_windows(const Problem& problem, const SimulationOptions& options, bool is_fifo,
                         std::size_t most_steps, const std::function<bool()>& is_over = {});

/// Whether each device starts ops in the order in which they were ready.
bool starts_in_order(const Problem& problem, const SimulationOptions& options);

}  // namespace placewright
