// SPDX-License-Identifier: MIT
// Everything that can become different when ops move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright::event_loop {

/// A set of tensors with the inputs and outputs of a set of ops, all tensors that share memory with them, and
/// the ops that read or write these.
class Surroundings {
public:
    explicit Surroundings(const Problem& problem)
        : problem_(problem), tensor_marked_(problem.tensors), op_marked_(problem.ops) {
        view_begin_.assign(problem.tensors + 1, 0);
        for (const TensorId base : problem.alias_of) {
            if (base != kNoTensor) ++view_begin_[base + 1];
        }
        for (TensorId t = 0; t < problem.tensors; ++t) view_begin_[t + 1] += view_begin_[t];
        views_.resize(view_begin_.back());
        std::vector<std::uint32_t> next(view_begin_.begin(), view_begin_.end() - 1);
        for (TensorId t = 0; t < problem.tensors; ++t) {
            if (problem.alias_of[t] != kNoTensor) views_[next[problem.alias_of[t]]++] = t;
        }
    }

    void collect(std::span<const OpId> ops, std::span<const TensorId> tensors) {
        for (const TensorId tensor : tensors_) tensor_marked_[tensor] = false;
        for (const OpId op : ops_) op_marked_[op] = false;
        tensors_.clear();
        ops_.clear();
        for (const TensorId tensor : tensors) add_tensor(tensor);
        for (const OpId op : ops) {
            add_op(op);
            for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i)
                add_tensor(problem_.input[i]);
            for (auto t = problem_.output_begin[op]; t < problem_.output_begin[op + 1]; ++t) add_tensor(t);
        }
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            const TensorId tensor = tensors_[i];
            if (problem_.alias_of[tensor] != kNoTensor) add_tensor(problem_.alias_of[tensor]);
            for (auto v = view_begin_[tensor]; v < view_begin_[tensor + 1]; ++v) add_tensor(views_[v]);
            add_op(problem_.producer[tensor]);
            for (auto c = problem_.consumer_begin[tensor]; c < problem_.consumer_begin[tensor + 1]; ++c)
                add_op(problem_.consumer[c]);
        }
    }

    std::span<const TensorId> tensors() const { return tensors_; }
    std::span<const OpId> ops() const { return ops_; }

private:
    void add_op(OpId op) {
        if (op_marked_[op]) return;
        op_marked_[op] = true;
        ops_.push_back(op);
    }
    void add_tensor(TensorId tensor) {
        if (tensor_marked_[tensor]) return;
        tensor_marked_[tensor] = true;
        tensors_.push_back(tensor);
    }

    const Problem& problem_;
    std::vector<std::uint32_t> view_begin_;  ///< [tensors + 1]
    std::vector<TensorId> views_;
    std::vector<char> tensor_marked_, op_marked_;
    std::vector<TensorId> tensors_;
    std::vector<OpId> ops_;
};

}  // namespace placewright::event_loop
