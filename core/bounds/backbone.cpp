// SPDX-License-Identifier: MIT
#include "core/bounds/backbone.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"

namespace placewright {
namespace {

template <class Visit>
void for_each_producer(const Problem& problem, OpId op, const Visit& visit) {
    for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i)
        visit(problem.producer[problem.input[i]]);
}

template <class Visit>
void for_each_reader(const Problem& problem, OpId op, const Visit& visit) {
    for (auto i = problem.consumer_begin[problem.output_begin[op]];
         i < problem.consumer_begin[problem.output_begin[op + 1]]; ++i)
        visit(problem.consumer[i]);
}

/// First and last op of the longest path.
std::pair<OpId, OpId> ends_of_longest_path(const Problem& problem, std::span<const double> seconds) {
    std::vector<double> end_s(problem.ops, 0);
    std::vector<OpId> first(problem.ops);
    OpId last = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        first[op] = op;
        double start_s = -1;
        for_each_producer(problem, op, [&](OpId before) {
            if (end_s[before] <= start_s) return;
            start_s = end_s[before];
            first[op] = first[before];
        });
        end_s[op] = std::max(start_s, 0.0) + seconds[op];
        // Of equal ends takes the later one, so that more ops lie between the ends.
        if (end_s[op] >= end_s[last]) last = op;
    }
    return {first[last], last};
}

/// [op]: whether it lies between the ends.
std::vector<bool> between(const Problem& problem, OpId first, OpId last) {
    std::vector<bool> behind(problem.ops, false), before(problem.ops, false);
    behind[first] = true;
    for (OpId op = first + 1; op < problem.ops; ++op)
        for_each_producer(problem, op, [&](OpId producer) { behind[op] = behind[op] || behind[producer]; });
    before[last] = true;
    for (OpId op = last; op-- > 0;)
        for_each_reader(problem, op, [&](OpId reader) { before[op] = before[op] || before[reader]; });
    for (OpId op = 0; op < problem.ops; ++op) behind[op] = behind[op] && before[op];
    return behind;
}

}  // namespace

Backbone::Backbone(const Problem& problem, std::span<const double> seconds) : place(problem.ops, kNowhere) {
    const auto [first, last] = ends_of_longest_path(problem, seconds);
    const std::vector<bool> inside = between(problem, first, last);
    for (OpId op = 0; op < problem.ops; ++op) {
        if (inside[op]) ops.push_back(op);
    }
    std::vector<std::size_t> index(problem.ops, kNowhere);
    for (std::size_t i = 0; i < ops.size(); ++i) index[ops[i]] = i;

    // Op i belongs to the backbone unless an op behind it reads only from before i, or an op before it has
    // all of its readers behind i. [i]: number of such pairs that reach over i, as differences.
    std::vector<int> over(ops.size() + 1, 0);
    const auto reaches_over = [&](std::size_t from, std::size_t to) {
        ++over[from + 1];
        --over[to];
    };
    for (std::size_t i = 0; i < ops.size(); ++i) {
        std::size_t last_read = kNowhere, first_reader = kNowhere;
        for_each_producer(problem, ops[i], [&](OpId producer) {
            if (index[producer] != kNowhere && (last_read == kNowhere || index[producer] > last_read))
                last_read = index[producer];
        });
        for_each_reader(problem, ops[i],
                        [&](OpId reader) { first_reader = std::min(first_reader, index[reader]); });
        if (last_read != kNowhere) reaches_over(last_read, i);
        if (first_reader != kNowhere) reaches_over(i, first_reader);
    }
    int pairs = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        pairs += over[i];
        if (pairs == 0) {
            if (i > 0 && begin.size() % 2 == 1) begin.push_back(i);  // an empty segment
            begin.push_back(i);
            backbone.push_back(ops[i]);
        } else if (begin.size() % 2 == 1) {
            begin.push_back(i);
        }
        place[ops[i]] = begin.size() - 1;
    }
    begin.push_back(ops.size());
}

Backbone::Path Backbone::segment_path(const Problem& problem, std::size_t segment,
                                      std::span<const double> seconds) const {
    const std::size_t own = 2 * segment + 1;
    std::vector<double> end_s;
    std::vector<std::size_t> before;
    const auto members = at(own);
    Path path;
    std::size_t last = kNowhere;
    for (const OpId op : members) {
        double start_s = 0;
        std::size_t from = kNowhere;
        for_each_producer(problem, op, [&](OpId producer) {
            if (place[producer] != own) return;
            const auto i =
                static_cast<std::size_t>(std::ranges::lower_bound(members, producer) - members.begin());
            if (from != kNowhere && end_s[i] <= start_s) return;
            start_s = end_s[i];
            from = i;
        });
        end_s.push_back(start_s + seconds[op]);
        before.push_back(from);
        if (last == kNowhere || end_s.back() > end_s[last]) last = end_s.size() - 1;
    }
    if (last == kNowhere) return path;
    path.seconds = end_s[last];
    for (; last != kNowhere; last = before[last]) path.ops.push_back(members[last]);
    std::ranges::reverse(path.ops);
    return path;
}

}  // namespace placewright
