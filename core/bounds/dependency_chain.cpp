// SPDX-License-Identifier: MIT
#include "core/bounds/dependency_chain.hpp"

#include <algorithm>

namespace placewright {

DependencyChain::DependencyChain(const Problem& problem, std::span<const double> seconds, bool is_fifo) {
    find_longest_path(problem, seconds);
    find_dependencies(problem);
    before_on_device = before;
    if (is_fifo) find_queues(problem, seconds);
}

void DependencyChain::find_longest_path(const Problem& problem, std::span<const double> seconds) {
    std::vector<double> end_s(problem.ops, 0);
    std::vector<std::optional<OpId>> previous(problem.ops);
    std::optional<OpId> last;
    for (OpId op = 0; op < problem.ops; ++op) {
        double start_s = 0;
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const OpId producer = problem.producer[problem.input[i]];
            if (previous[op] && end_s[producer] <= start_s) continue;
            start_s = end_s[producer];
            previous[op] = producer;
        }
        end_s[op] = start_s + seconds[op];
        // Of equal ends takes the later one, so that the chain has more ops.
        if (!last || end_s[op] >= end_s[*last]) last = op;
    }
    ops.emplace_back();
    for (std::optional<OpId> op = last; op; op = previous[*op]) ops.push_back(op);
    ops.emplace_back();
    std::ranges::reverse(ops);
    position.assign(problem.ops, kNowhere);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i]) position[*ops[i]] = i;
    }
}

void DependencyChain::find_dependencies(const Problem& problem) {
    after.assign(problem.ops, source());
    before.assign(problem.ops, sink());
    for (OpId op = 0; op < problem.ops; ++op) {
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const OpId producer = problem.producer[problem.input[i]];
            after[op] =
                std::max(after[op], position[producer] == kNowhere ? after[producer] : position[producer]);
        }
    }
    for (OpId op = problem.ops; op-- > 0;) {
        for (auto i = problem.consumer_begin[problem.output_begin[op]];
             i < problem.consumer_begin[problem.output_begin[op + 1]]; ++i) {
            const OpId reader = problem.consumer[i];
            before[op] =
                std::min(before[op], position[reader] == kNowhere ? before[reader] : position[reader]);
        }
    }
}

void DependencyChain::find_queues(const Problem& problem, std::span<const double> seconds) {
    const auto& group_of = problem.grouping.group_of;
    for (OpId op = 0; op < problem.ops; ++op) {
        if (position[op] != kNowhere || problem.input_begin[op] == problem.input_begin[op + 1]) continue;
        // Every input is on the op's device before the op at this position is ready.
        std::size_t ready = source();
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const TensorId tensor = problem.input[i];
            std::size_t arrived = sink();
            if (const OpId producer = problem.producer[tensor]; group_of[producer] == group_of[op]) {
                // Some time must pass between, or both might be ready at once.
                std::size_t between = next(producer);
                while (between < sink() && seconds[*ops[between]] <= 0) ++between;
                arrived = std::min(arrived, between + 1);
            }
            for (auto k = problem.consumer_begin[tensor]; k < problem.consumer_begin[tensor + 1]; ++k) {
                const OpId reader = problem.consumer[k];
                if (reader != op && group_of[reader] == group_of[op] && seconds[reader] > 0)
                    arrived = std::min(arrived, next(reader));
            }
            ready = std::max(ready, arrived);
        }
        before_on_device[op] = std::min(before_on_device[op], ready);
    }
}

}  // namespace placewright
