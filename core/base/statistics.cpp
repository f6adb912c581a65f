// SPDX-License-Identifier: MIT
#include "core/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include <boost/math/distributions/students_t.hpp>

namespace placewright {
namespace {

/// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> result(values.size());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
        for (std::size_t i = begin; i < end; ++i) result[order[i]] = static_cast<double>(begin + end - 1) / 2;
    }
    return result;
}

}  // namespace

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
    return quantile(std::move(values), 0.5);
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) throw std::invalid_argument("quantile: there are no values");
    std::ranges::sort(values);
    const double position = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const double rest = position - static_cast<double>(below);
    // Infinite values have no difference.
    if (rest == 0 || values[below] == values[below + 1]) return values[below];
    return (1 - rest) * values[below] + rest * values[below + 1];
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

std::optional<double> pearson(std::span<const double> first, std::span<const double> second) {
    if (first.size() != second.size())
        throw std::invalid_argument("pearson: " + std::to_string(first.size()) + " values are paired with " +
                                    std::to_string(second.size()));
    if (first.size() < 3) return {};
    const double x = sample_statistics(first).mean, y = sample_statistics(second).mean;
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        xy += (first[i] - x) * (second[i] - y);
        xx += (first[i] - x) * (first[i] - x);
        yy += (second[i] - y) * (second[i] - y);
    }
    if (xx == 0 || yy == 0) return {};
    // Roots of each, whose product does not underflow.
    return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

std::optional<double> spearman(std::span<const double> first, std::span<const double> second) {
    return pearson(ranks(first), ranks(second));
}

bool clearly_less(const SampleStatistics& first, const SampleStatistics& second) {
    if (!(first.mean < second.mean)) return false;
    if (const auto test = welch_test(first, second)) return test->p < 0.05;
    return first.deviation == 0 && second.deviation == 0;
}

}  // namespace placewright
