// SPDX-License-Identifier: MIT
// Optimizers for algorithms that build their placements without using scores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/optimizer.hpp"

namespace placewright {

/// Proposes the placements in their order.
std::unique_ptr<Optimizer> propose_in_turn(std::vector<Placement> placements);

/// Proposes what `build` returns, until it returns nothing; skips placements that were proposed before. Calls
/// `build` as late as possible.
std::unique_ptr<Optimizer> propose_distinct(std::function<std::optional<Placement>()> build);

/// Help of the option `attempts` of algorithms that use propose_until_fits.
inline constexpr const char* kAttemptsHelp =
    "Maximum number of placements while none fits the memory; each plans with a tenth less of every device's "
    "memory than the one before.";

/// Builds a placement that uses all of each device's memory. As long as the built placement does not fit,
/// builds another with a tenth less, at most `attempts` (1 to 10) in total; skips placements that it has
/// proposed before. What `build` returns after a stop is not proposed.
using BuildWithin = std::function<Placement(double memory_share, const std::stop_token& stop)>;
std::unique_ptr<Optimizer> propose_until_fits(BuildWithin build, std::uint32_t attempts);

}  // namespace placewright
