// SPDX-License-Identifier: MIT
// The policy that ships with the program: models/policies/general.safetensors.
#pragma once

#include <memory>

#include "core/io/state/policy_file.hpp"
#include "core/search/guide.hpp"

namespace placewright {

Path shipped_policy_file();

/// Reads the file once. Returns null if it is not there. Throws InputError if it cannot be read.
std::shared_ptr<const PolicyFile> shipped_policy();

/// Returns the shipped policy as a guide of searches of the problem; null without the file, and for problems
/// with more than kMostGuidedGroups groups, for which the guide would take longer than the search.
std::unique_ptr<SearchGuide> shipped_guide(const std::shared_ptr<const Problem>& problem);
inline constexpr std::uint32_t kMostGuidedGroups = 20'000;

}  // namespace placewright
