// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace placewright {

/// Sign test of pairs, which asks nothing of their distribution; equal pairs do not count.
struct SignTest {
    std::size_t less = 0, greater = 0;  ///< pairs whose first value is less, or greater
    double p = 1;  ///< two-sided: probability of counts at least this uneven if either is as likely

    bool operator==(const SignTest&) const = default;
};

/// Sign test of the pairs (first[i], second[i]). Throws std::invalid_argument if there are not as many on
/// both sides.
SignTest sign_test(std::span<const double> first, std::span<const double> second);

}  // namespace placewright
