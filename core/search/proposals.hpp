// SPDX-License-Identifier: MIT
// For algorithms that build their placements without being told how good they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/optimizer.hpp"

namespace placewright {

/// Proposes the placements in their order, then nothing more.
std::unique_ptr<Optimizer> propose_in_turn(std::vector<Placement> placements);

/// Proposes what `build` makes, until it makes nothing; placements that were proposed before are left out. It is called as late as can be.
std::unique_ptr<Optimizer> propose_distinct(std::function<std::optional<Placement>()> build);

/// The help of the option `attempts` of algorithms that use propose_until_fits.
inline constexpr const char* kAttemptsHelp =
    "Placements to propose while none fits the memory; each counts on a tenth less of each device's memory than the one before.";

/// Builds a placement that counts on all of each device's memory. As long as what it has built turns out not to fit, it builds another that
/// counts on a tenth less, at most `attempts` (1 to 10) of them; those that it has proposed before are left out. What `build` makes of
/// a stop is not proposed.
using BuildWithin = std::function<Placement(double memory_share, const std::stop_token& stop)>;
std::unique_ptr<Optimizer> propose_until_fits(BuildWithin build, std::uint32_t attempts);

}  // namespace placewright
