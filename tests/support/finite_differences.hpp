// SPDX-License-Identifier: MIT
// Gradients against differences of the objective.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/random.hpp"

namespace placewright::test {

struct SlopeError {
    double error = 0, size = 0;  ///< root of the sums of squares over the directions
};

/// Compares the gradient of the weights [first, first + count) with differences of `objective(weights)` along
/// six random directions: single weights drown in rounding, and a relu that bends within a step makes one
/// direction of several differ.
template <class Objective>
SlopeError slope_error(std::span<const float> weights, std::span<const float> gradient, std::size_t first,
                       std::size_t count, double step, const Objective& objective, Random& random) {
    SlopeError sums;
    for (int trial = 0; trial < 6; ++trial) {
        std::vector<float> direction(weights.size());
        double slope = 0;
        for (std::size_t i = first; i < first + count; ++i) {
            direction[i] = static_cast<float>(random.uniform(-1, 1));
            slope += static_cast<double>(direction[i]) * static_cast<double>(gradient[i]);
        }
        const auto at = [&](double distance) {
            std::vector<float> moved(weights.begin(), weights.end());
            for (std::size_t i = 0; i < moved.size(); ++i)
                moved[i] += static_cast<float>(distance) * direction[i];
            return objective(moved);
        };
        const double measured = (at(step) - at(-step)) / (2 * step);
        sums.error += (measured - slope) * (measured - slope);
        sums.size += slope * slope;
    }
    return {std::sqrt(sums.error), std::sqrt(sums.size)};
}

}  // namespace placewright::test
