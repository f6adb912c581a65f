// SPDX-License-Identifier: MIT
// What policies climb, see GradientTask.
#pragma once

#include <torch/torch.h>

namespace placewright {

struct DecisionTerms {
    at::Tensor objective;   ///< to climb: the sum over decisions
    at::Tensor entropy;     ///< the sum over decisions, nats
    at::Tensor divergence;  ///< likewise; undefined without logits before
};

/// `logits` [decisions, choices] with -inf where there is no choice; `choices` [decisions]; `advantages` [decisions]; `logits_before` of
/// the weights before, without gradient, or undefined.
inline DecisionTerms decision_terms(const at::Tensor& logits, const at::Tensor& choices, const at::Tensor& advantages,
                                    const at::Tensor& logits_before, double entropy_weight, double divergence_weight) {
    const at::Tensor logs = torch::log_softmax(logits, -1);
    const at::Tensor taken = logs.gather(-1, choices.unsqueeze(-1)).squeeze(-1);
    // 0 log 0 is 0: where there is no choice the logarithm is replaced before it is multiplied, or its gradient would not be a number.
    const at::Tensor finite = logs.masked_fill(torch::isinf(logits), 0);
    const at::Tensor probabilities = torch::softmax(logits, -1);
    DecisionTerms terms;
    terms.entropy = -(probabilities * finite).sum();
    if (!logits_before.defined()) {
        terms.objective = (advantages * taken).sum() + entropy_weight * terms.entropy;
        return terms;
    }
    const at::Tensor before = torch::log_softmax(logits_before, -1);
    const at::Tensor ratio = (taken - before.gather(-1, choices.unsqueeze(-1)).squeeze(-1)).exp();
    const at::Tensor finite_before = before.masked_fill(torch::isinf(logits_before), 0);
    terms.divergence = (torch::softmax(logits_before, -1) * (finite_before - finite)).sum();
    terms.objective = (advantages * ratio).sum() + entropy_weight * terms.entropy - divergence_weight * terms.divergence;
    return terms;
}

}  // namespace placewright
