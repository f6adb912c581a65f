// SPDX-License-Identifier: MIT
// Placements in which a CPU beside accelerators takes most of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// A CPU that works for at least half of the step on a machine with accelerators.
struct CpuLoad {
    DeviceId device = 0;
    std::uint32_t ops = 0;      ///< that take time there
    std::uint32_t all_ops = 0;  ///< that take time on their device
    std::uint32_t bound = 0;    ///< of `ops`: those that may run on no accelerator
    double share = 0;           ///< of the time of all batches in which it works, on average of its streams
};

/// Returns the CPU that works longest, if it takes at least half of the time; nothing on a machine without
/// accelerators.
std::optional<CpuLoad> dominating_cpu(const Problem& problem, std::span<const DeviceId> placement,
                                      const Outcome& outcome);

/// "cpu:0 runs 3 of 412 forward, backward and update ops and takes 81 % of the step: …", with what to do.
std::string to_text(const CpuLoad& load, const Problem& problem);

}  // namespace placewright
