// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

namespace placewright {

/// a + b, at most 2^63 - 1: of sizes in files, which may be absurd. Neither is negative.
inline std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace placewright
