// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

namespace placewright {

/// Returns a + b, or 2^63 - 1 if the sum is larger. For sizes that a file gives, which may be absurd; a and b
/// are at least 0.
inline std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace placewright
