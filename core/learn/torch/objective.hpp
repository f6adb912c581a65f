// SPDX-License-Identifier: MIT
// The objective that policies maximise, see GradientTask.
#pragma once

#include <torch/torch.h>

#include "core/learn/policy.hpp"

namespace placewright {

struct DecisionTerms {
    at::Tensor objective;        ///< to maximise: sum over decisions
    at::Tensor entropy;          ///< sum over decisions, nats
    at::Tensor divergence;       ///< likewise; undefined without logits before
    std::int64_t decisions = 0;  ///< number of decisions that have a choice
};

/// Sums are in double precision. `logits` [decisions, choices] with -inf for choices that are not allowed;
/// `choices` [decisions]; `advantages` [decisions]; `logits_before` by the weights before, without gradient,
/// or undefined.
inline DecisionTerms decision_terms(const at::Tensor& logits, const at::Tensor& choices,
                                    const at::Tensor& advantages, const at::Tensor& logits_before,
                                    double entropy_weight, double divergence_weight) {
    const at::Tensor logs = torch::log_softmax(logits, -1);
    const at::Tensor taken = logs.gather(-1, choices.unsqueeze(-1)).squeeze(-1);
    // 0 log 0 is 0: for choices that are not allowed the logarithm is replaced before the multiplication,
    // otherwise its gradient would be NaN.
    const at::Tensor finite = logs.masked_fill(torch::isinf(logits), 0);
    const at::Tensor probabilities = torch::softmax(logits, -1);
    DecisionTerms terms;
    terms.decisions = (torch::isfinite(logits).sum(-1) > 1).sum().item<std::int64_t>();
    terms.entropy = -(probabilities * finite).sum(torch::kDouble);
    if (!logits_before.defined()) {
        terms.objective = (advantages * taken).sum(torch::kDouble) + entropy_weight * terms.entropy;
        return terms;
    }
    const at::Tensor before = torch::log_softmax(logits_before, -1);
    const at::Tensor ratio = (taken - before.gather(-1, choices.unsqueeze(-1)).squeeze(-1)).exp();
    const at::Tensor finite_before = before.masked_fill(torch::isinf(logits_before), 0);
    terms.divergence = (torch::softmax(logits_before, -1) * (finite_before - finite)).sum(torch::kDouble);
    terms.objective = (advantages * ratio).sum(torch::kDouble) + entropy_weight * terms.entropy -
                      divergence_weight * terms.divergence;
    return terms;
}

/// Accumulates gradients and the values of a GradientSummary.
class Climb {
public:
    void add(const DecisionTerms& terms) {
        terms.objective.backward();
        sums_.objective += terms.objective.item<double>();
        sums_.entropy += terms.entropy.item<double>();
        if (terms.divergence.defined()) sums_.divergence += terms.divergence.item<double>();
        decisions_ += terms.decisions;
    }
    GradientSummary summary() const {
        const double each = decisions_ > 0 ? 1 / static_cast<double>(decisions_) : 0;
        return {sums_.entropy * each, sums_.divergence * each, sums_.objective};
    }

private:
    GradientSummary sums_;
    std::int64_t decisions_ = 0;
};

}  // namespace placewright
