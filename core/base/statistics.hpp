// SPDX-License-Identifier: MIT
// Statistics of small samples.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace placewright {

struct SampleStatistics {
    std::size_t count = 0;
    double mean = 0;
    /// Standard deviation of the population, estimated with count - 1; 0 for one value.
    double deviation = 0;
    /// Half of Student's 95 % confidence interval: mean +- half_width_95; nothing for one value.
    std::optional<double> half_width_95;

    bool operator==(const SampleStatistics&) const = default;
};

/// Statistics of finite values. Throws std::invalid_argument if there are none.
SampleStatistics sample_statistics(std::span<const double> values);

/// The middle value, or the mean of the two middle values. Values may be infinite. Throws
/// std::invalid_argument if there are none.
double median(std::vector<double> values);

/// The value that `share` (0 to 1) of the values do not exceed, linear between two of them; of 0.5 the
/// median. Values may be infinite. Throws std::invalid_argument if there are none.
double quantile(std::vector<double> values, double share);

struct WelchTest {
    double t = 0;  ///< positive if the first mean is larger
    double degrees_of_freedom = 0;
    double p = 1;  ///< two-sided: probability of a t at least this far from 0 if the means are equal

    bool operator==(const WelchTest&) const = default;
};

/// Welch's t-test of equal means without equal variances (Welch, Biometrika 34, 1947), degrees of freedom by
/// Satterthwaite. Nothing if the test is undefined: fewer than two values on a side, or no spread on either.
std::optional<WelchTest> welch_test(const SampleStatistics& first, const SampleStatistics& second);

/// Pearson's correlation of pairs (first[i], second[i]) of finite values: 1 on a rising line. Nothing below
/// three pairs or where a side is constant. Throws std::invalid_argument if there are not as many on both
/// sides.
std::optional<double> pearson(std::span<const double> first, std::span<const double> second);

/// Spearman's: that of the ranks, where equal values share the mean of theirs.
std::optional<double> spearman(std::span<const double> first, std::span<const double> second);

/// Whether the first mean is significantly smaller: p below 0.05, or no spread on either side.
bool clearly_less(const SampleStatistics& first, const SampleStatistics& second);

}  // namespace placewright
