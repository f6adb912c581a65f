// SPDX-License-Identifier: MIT
#include "core/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <boost/math/distributions/students_t.hpp>

namespace placewright {

SampleStatistics sample_statistics(std::span<const double> values) {
    if (values.empty()) throw std::invalid_argument("sample_statistics: there are no values");
    SampleStatistics result;
    result.count = values.size();
    const auto count = static_cast<double>(values.size());
    // Relative to the first value, so that equal values have exactly their mean and no deviation.
    double sum = 0;
    for (const double value : values) sum += value - values.front();
    result.mean = values.front() + sum / count;
    if (values.size() == 1) return result;
    double squares = 0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    result.deviation = std::sqrt(squares / (count - 1));
    const boost::math::students_t distribution(count - 1);
    result.half_width_95 = boost::math::quantile(distribution, 0.975) * result.deviation / std::sqrt(count);
    return result;
}

double median(std::vector<double> values) {
    if (values.empty()) throw std::invalid_argument("median: there are no values");
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<WelchTest> welch_test(const SampleStatistics& first, const SampleStatistics& second) {
    if (first.count < 2 || second.count < 2) return {};
    const auto squared_error = [](const SampleStatistics& sample) {
        return sample.deviation * sample.deviation / static_cast<double>(sample.count);
    };
    const double a = squared_error(first), b = squared_error(second);
    if (!(a + b > 0)) return {};
    WelchTest test;
    test.t = (first.mean - second.mean) / std::sqrt(a + b);
    // As shares, whose squares do not underflow.
    const double share_a = a / (a + b), share_b = b / (a + b);
    test.degrees_of_freedom = 1 / (share_a * share_a / static_cast<double>(first.count - 1) +
                                   share_b * share_b / static_cast<double>(second.count - 1));
    const boost::math::students_t distribution(test.degrees_of_freedom);
    test.p = 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(test.t)));
    return test;
}

bool clearly_less(const SampleStatistics& first, const SampleStatistics& second) {
    if (!(first.mean < second.mean)) return false;
    if (const auto test = welch_test(first, second)) return test->p < 0.05;
    return first.deviation == 0 && second.deviation == 0;
}

}  // namespace placewright
