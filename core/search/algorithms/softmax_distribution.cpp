// SPDX-License-Identifier: MIT
#include "core/search/algorithms/softmax_distribution.hpp"

#include <algorithm>
#include <cmath>

namespace placewright {

SoftmaxDistribution::SoftmaxDistribution(std::span<const std::size_t> choices) {
    begin_.push_back(0);
    for (const std::size_t count : choices)
        begin_.push_back(begin_.back() + static_cast<std::uint32_t>(count));
    u_.resize(begin_.back(), 0);
    f_.resize(u_.size());
    log_sum_.resize(choices.size());
    normalize();
}

void SoftmaxDistribution::normalize() {
    for (std::size_t m = 0; m < variables(); ++m) {
        const std::span<const double> u = std::span(u_).subspan(begin_[m], choices(m));
        const double largest = *std::ranges::max_element(u);
        double sum = 0;
        for (const double value : u) sum += std::exp(value - largest);
        log_sum_[m] = largest + std::log(sum);
        for (std::size_t j = 0; j < u.size(); ++j) f_[begin_[m] + j] = std::exp(u[j] - largest) / sum;
    }
}

Draw SoftmaxDistribution::draw(Random& random) const {
    Draw draw(variables());
    for (std::size_t m = 0; m < draw.size(); ++m) {
        const std::span<const double> f = probabilities(m);
        double left = random.uniform();
        std::size_t choice = 0;
        while (choice + 1 < f.size() && left >= f[choice]) left -= f[choice++];
        draw[m] = static_cast<std::uint16_t>(choice);
    }
    return draw;
}

double SoftmaxDistribution::entropy() const {
    double sum = 0;
    for (std::size_t m = 0; m < variables(); ++m) {
        const std::span<const double> f = probabilities(m);
        for (std::size_t j = 0; j < f.size(); ++j) {
            if (f[j] > 0) sum -= f[j] * log_probability(m, j);
        }
    }
    return variables() == 0 ? 0 : sum / static_cast<double>(variables());
}

double SoftmaxDistribution::largest_entropy() const {
    double sum = 0;
    for (std::size_t m = 0; m < variables(); ++m) sum += std::log(static_cast<double>(choices(m)));
    return variables() == 0 ? 0 : sum / static_cast<double>(variables());
}

double SoftmaxDistribution::divergence_from(const SoftmaxDistribution& old) const {
    double sum = 0;
    for (std::size_t m = 0; m < variables(); ++m) {
        const std::span<const double> f = old.probabilities(m);
        for (std::size_t j = 0; j < f.size(); ++j) {
            if (f[j] > 0) sum += f[j] * (old.log_probability(m, j) - log_probability(m, j));
        }
    }
    return variables() == 0 ? 0 : sum / static_cast<double>(variables());
}

void SoftmaxDistribution::minimize_cross_entropy(std::span<const Draw> elite, double epsilon) {
    constexpr double kSmallest = 1e-8;
    std::ranges::fill(f_, 0);
    for (const Draw& draw : elite) {
        for (std::size_t m = 0; m < draw.size(); ++m)
            f_[begin_[m] + draw[m]] += 1 / static_cast<double>(elite.size());
    }
    for (std::size_t m = 0; m < variables(); ++m) {
        for (std::size_t i = begin_[m]; i < begin_[m + 1]; ++i) {
            const double mixed = (1 - epsilon) * f_[i] + epsilon / static_cast<double>(choices(m));
            u_[i] = std::log(std::max(mixed, kSmallest));
        }
    }
    normalize();
}

void SoftmaxDistribution::ascend(std::span<const double> gradient, double rate) {
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] += rate * gradient[i];
    normalize();
}

double surrogate(const SoftmaxDistribution& now, const SoftmaxDistribution& old, std::span<const Draw> draws,
                 std::span<const double> advantages, double beta) {
    double sum = 0;
    for (std::size_t n = 0; n < draws.size(); ++n) {
        for (std::size_t m = 0; m < now.variables(); ++m)
            sum += advantages[n] *
                   std::exp(now.log_probability(m, draws[n][m]) - old.log_probability(m, draws[n][m]));
    }
    return sum / static_cast<double>(draws.size()) -
           beta * now.divergence_from(old) * static_cast<double>(now.variables());
}

std::vector<double> surrogate_gradient(const SoftmaxDistribution& now, const SoftmaxDistribution& old,
                                       std::span<const Draw> draws, std::span<const double> advantages,
                                       double beta) {
    std::vector<double> gradient(now.parameters().size());
    for (std::size_t m = 0; m < now.variables(); ++m) {
        const std::span<const double> f = now.probabilities(m), before = old.probabilities(m);
        const std::span<double> of_m = std::span(gradient).subspan(now.offset(m), f.size());
        double sum = 0;
        for (std::size_t n = 0; n < draws.size(); ++n) {
            const std::size_t choice = draws[n][m];
            const double ratio = std::exp(now.log_probability(m, choice) - old.log_probability(m, choice));
            const double pull = advantages[n] * ratio / static_cast<double>(draws.size());
            of_m[choice] += pull;
            sum += pull;
        }
        for (std::size_t i = 0; i < f.size(); ++i) of_m[i] += beta * (before[i] - f[i]) - sum * f[i];
    }
    return gradient;
}

}  // namespace placewright
