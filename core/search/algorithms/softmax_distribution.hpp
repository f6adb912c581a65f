// SPDX-License-Identifier: MIT
// A distribution over placements that learns from scores in closed form: Gao, Chen, Li: Post: Device
// Placement with Cross-Entropy Minimization and Proximal Policy Optimization (2018).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.hpp"

namespace placewright {

/// One choice per variable, counted from 0.
using Draw = std::vector<std::uint16_t>;

/// Independent variables m with choices j: f(d_m = j | u_m) = exp(u_mj) / sum_i exp(u_mi) (Post, equations 2
/// and 3). Parameters and their gradients are flat: those of variable 0, then of variable 1, and so on.
class SoftmaxDistribution {
public:
    /// Uniform: all parameters are 0. `choices` [variable]: number of choices, at least 1.
    explicit SoftmaxDistribution(std::span<const std::size_t> choices);

    std::size_t variables() const { return begin_.size() - 1; }
    std::size_t choices(std::size_t variable) const { return begin_[variable + 1] - begin_[variable]; }
    /// Index of a variable's first parameter.
    std::size_t offset(std::size_t variable) const { return begin_[variable]; }
    std::span<const double> parameters() const { return u_; }

    /// Returns f(d_m = j) [j]; they add up to 1.
    std::span<const double> probabilities(std::size_t variable) const {
        return std::span(f_).subspan(begin_[variable], choices(variable));
    }
    double log_probability(std::size_t variable, std::size_t choice) const {
        return u_[begin_[variable] + choice] - log_sum_[variable];
    }

    Draw draw(Random& random) const;

    /// Returns the entropy in nats, mean over the variables; 0 without any.
    double entropy() const;
    /// Returns the entropy with all parameters equal.
    double largest_entropy() const;

    /// Returns KL(old || this) in nats, mean over the variables; 0 without any. `old` has the same variables.
    double divergence_from(const SoftmaxDistribution& old) const;

    /// Minimises the cross-entropy to the elite: the share of its draws with each choice (Theorem 1, equation
    /// 10), mixed with the uniform distribution: (1 - epsilon) f + epsilon / D (algorithm 1, line 12). Every
    /// probability stays at least 1e-8, so that no choice is lost for good. `elite` is not empty, epsilon in
    /// [0, 1].
    void minimize_cross_entropy(std::span<const Draw> elite, double epsilon);

    /// u += rate * gradient, which has the shape of parameters().
    void ascend(std::span<const double> gradient, double rate);

private:
    void normalize();

    std::vector<std::uint32_t> begin_;  ///< [variables + 1], into the following
    std::vector<double> u_, f_;
    std::vector<double> log_sum_;  ///< [variable]: log sum_i exp(u_mi)
};

/// Objective of proximal policy optimization, equation 11, for draws from `old` with their advantages [draw]:
/// 1/K sum_n sum_m f(d_m)/f_old(d_m) A_n - beta sum_m KL(f_old,m || f_m). The paper writes the divergence
/// inside the sum over n; averaged over its K equal terms it counts once.
double surrogate(const SoftmaxDistribution& now, const SoftmaxDistribution& old, std::span<const Draw> draws,
                 std::span<const double> advantages, double beta);

/// Gradient of surrogate() by the parameters of `now`: dJ/du_mi = 1/K sum_n A_n f(d_m)/f_old(d_m) (1[d_m = i]
/// - f_m(i)) + beta (f_old,m(i) - f_m(i)). If `now` equals `old`, it is the gradient of REINFORCE (Williams,
/// 1992) for any beta.
std::vector<double> surrogate_gradient(const SoftmaxDistribution& now, const SoftmaxDistribution& old,
                                       std::span<const Draw> draws, std::span<const double> advantages,
                                       double beta);

}  // namespace placewright
