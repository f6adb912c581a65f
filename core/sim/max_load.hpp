// SPDX-License-Identifier: MIT
#pragma once

#include "core/sim/host_memory.hpp"

namespace placewright {

/// Seconds per batch of a pipeline in its steady state: the load of the busiest device ("max-load" of
/// Tarnawski et al. 2020; dp.cpp of their programs).
///
/// The load of a device is the time of its ops and, for an accelerator, the time to write each tensor that it
/// produces and any other device reads, and to read each tensor that its ops read from elsewhere. A tensor is
/// written once, however many devices read it, and read once per device. Forward and backward ops count
/// together; computation and transfers do not overlap. Each CPU of the machine is a device with its own load.
///
/// The placement must be one that check_placement accepts. Throws MachineError if the machine has no CPU.
/// O(ops + edges).
Evaluation max_load(const Problem& problem, std::span<const DeviceId> placement);

}  // namespace placewright
