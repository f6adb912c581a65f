// SPDX-License-Identifier: MIT
// Kinds of ops that learned policies tell apart.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace placewright {

/// Returns kinds of kinds.hpp in the order in which saved policies have weights for them. There will be no
/// others: a kind that is added to kinds.hpp is one of "all others".
std::span<const std::string_view> policy_kinds();

/// Returns the number of kinds that policies distinguish: those of policy_kinds(), and one for all others.
std::uint32_t policy_kind_count();

}  // namespace placewright
