// SPDX-License-Identifier: MIT
// What a few numbers say of where they come from.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace placewright {

struct SampleStatistics {
    std::size_t count = 0;
    double mean = 0;
    double deviation = 0;                 ///< standard deviation of the population, estimated with count - 1; 0 for one value
    std::optional<double> half_width_95;  ///< mean +- this is Student's 95 % confidence interval; nothing for one value

    bool operator==(const SampleStatistics&) const = default;
};

/// Of finite values. Throws std::invalid_argument if there are none.
SampleStatistics sample_statistics(std::span<const double> values);

/// The middle one, of an even number the mean of the two in the middle. Values may be infinite. Throws std::invalid_argument if there are
/// none.
double median(std::vector<double> values);

struct WelchTest {
    double t = 0;  ///< positive where the first mean is the larger one
    double degrees_of_freedom = 0;
    double p = 1;  ///< two-sided: chance of a t at least so far from 0 if the means are the same

    bool operator==(const WelchTest&) const = default;
};

/// Welch's t-test of equal means without equal variances (Welch, Biometrika 34, 1947), degrees of freedom by Satterthwaite. Nothing where
/// it says nothing: with fewer than two values on a side, or no spread on either.
std::optional<WelchTest> welch_test(const SampleStatistics& first, const SampleStatistics& second);

/// Whether the first mean is the smaller one, and not by chance: p below 0.05, or no spread on either side.
bool clearly_less(const SampleStatistics& first, const SampleStatistics& second);

}  // namespace placewright
