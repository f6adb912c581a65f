// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
#include <optional>

#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>

#include "core/base/silent_stdout.hpp"
#include "core/bounds/simplex_events.hpp"
#include "core/search/parts/list_scheduling.hpp"

namespace placewright {
namespace {

struct Edge {
    OpId from, to;
    double transfer_s;
};

/// The edges between groups, each pair of ops once.
std::vector<Edge> edges_between_groups(const Problem& problem, std::span<const double> transfers_s) {
    std::vector<Edge> edges;
    for (OpId op = 0; op < problem.ops; ++op) {
        const std::size_t first = edges.size();
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const OpId producer = problem.producer[problem.input[i]];
            if (problem.grouping.group_of[producer] == problem.grouping.group_of[op]) continue;
            const auto known = std::find_if(edges.begin() + static_cast<std::ptrdiff_t>(first), edges.end(),
                                            [&](const Edge& edge) { return edge.from == producer; });
            if (known == edges.end()) {
                edges.push_back({producer, op, transfers_s[problem.input[i]]});
            } else {
                known->transfer_s = std::max(known->transfer_s, transfers_s[problem.input[i]]);
            }
        }
    }
    return edges;
}

/// Takes the edges in the given order while neither end has a favourite.
std::vector<OpId> match(std::uint32_t ops, std::span<const Edge> edges, std::span<const std::size_t> order) {
    std::vector<OpId> child(ops, kInvalidOp);
    std::vector<bool> is_taken(ops, false);
    for (const std::size_t i : order) {
        const Edge& edge = edges[i];
        if (child[edge.from] != kInvalidOp || is_taken[edge.to]) continue;
        child[edge.from] = edge.to;
        is_taken[edge.to] = true;
    }
    return child;
}

/// Rows of a linear program, one after the other.
class Rows {
public:
    void begin(double at_least) {
        begin_.push_back(static_cast<CoinBigIndex>(column_.size()));
        lower_.push_back(at_least);
    }
    void add(std::size_t column, double factor) {
        column_.push_back(static_cast<int>(column));
        factor_.push_back(factor);
    }
    void load_into(ClpSimplex& lp, const std::vector<double>& upper, const std::vector<double>& cost) {
        begin_.push_back(static_cast<CoinBigIndex>(column_.size()));
        const CoinPackedMatrix matrix(false, static_cast<int>(cost.size()), static_cast<int>(lower_.size()),
                                      begin_.back(), factor_.data(), column_.data(), begin_.data(), nullptr);
        const std::vector<double> no_column(cost.size(), 0);
        const std::vector<double> no_row(lower_.size(), COIN_DBL_MAX);
        lp.loadProblem(matrix, no_column.data(), upper.data(), cost.data(), lower_.data(), no_row.data());
    }

private:
    std::vector<CoinBigIndex> begin_;
    std::vector<int> column_;
    std::vector<double> factor_, lower_;
};

class StopHandler : public SimplexEvents {
public:
    explicit StopHandler(std::stop_token stop) : stop_(std::move(stop)) {}

    int event(Event event) override {
        constexpr int kStop = 1;
        if (event == endOfIteration && stop_.stop_requested()) return kStop;
        return SimplexEvents::event(event);
    }
    ClpEventHandler* clone() const override { return new StopHandler(*this); }

private:
    std::stop_token stop_;
};

/// Solves the linear program. Returns x [edge], or nothing if that takes too long. Columns are the edges,
/// the start times, and the end of all ops.
std::optional<std::vector<double>> relaxed(const std::vector<double>& times_s, const std::vector<Edge>& edges,
                                           std::uint32_t iterations, const std::stop_token& stop) {
    const std::size_t end = edges.size() + times_s.size();
    // Times are in units of the mean time, so that the solver's tolerances mean the same for all graphs.
    double unit_s =
        std::accumulate(times_s.begin(), times_s.end(), 0.0) / static_cast<double>(times_s.size());
    if (unit_s == 0) unit_s = 1;
    Rows rows;
    std::vector<std::vector<std::size_t>> out(times_s.size()), in(times_s.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const Edge& edge = edges[i];
        rows.begin(times_s[edge.from] / unit_s);
        rows.add(edges.size() + edge.to, 1);
        rows.add(edges.size() + edge.from, -1);
        rows.add(i, -edge.transfer_s / unit_s);
        out[edge.from].push_back(i);
        in[edge.to].push_back(i);
    }
    for (const auto* const sides : {&out, &in}) {
        for (const std::vector<std::size_t>& side : *sides) {
            if (side.size() < 2) continue;
            rows.begin(static_cast<double>(side.size() - 1));
            for (const std::size_t i : side) rows.add(i, 1);
        }
    }
    for (std::size_t op = 0; op < times_s.size(); ++op) {
        rows.begin(times_s[op] / unit_s);
        rows.add(end, 1);
        rows.add(edges.size() + op, -1);
    }
    std::vector<double> upper(end + 1, COIN_DBL_MAX);
    std::fill_n(upper.begin(), edges.size(), 1.0);
    std::vector<double> cost(end + 1, 0);
    cost[end] = 1;

    const SilentStdout silent;
    ClpSimplex lp;
    lp.setLogLevel(0);
    rows.load_into(lp, upper, cost);
    lp.setMaximumIterations(static_cast<int>(iterations));
    const StopHandler handler(stop);
    lp.passInEventHandler(&handler);
    lp.dual();
    if (!lp.isProvenOptimal()) return {};
    return std::vector<double>(lp.primalColumnSolution(), lp.primalColumnSolution() + edges.size());
}

}  // namespace

std::vector<OpId> favourite_children(const DeviceChoices& choices, const FavouriteOptions& options,
                                     const std::stop_token& stop) {
    const Problem& problem = choices.problem();
    const std::vector<double> transfers_s = mean_transfers_s(problem, choices.fastest_first());
    const std::vector<double> times_s = mean_op_times_s(choices);
    const std::vector<Edge> edges = edges_between_groups(problem, transfers_s);
    std::vector<std::size_t> order(edges.size());
    std::iota(order.begin(), order.end(), std::size_t{0});

    if (options.favourite == "lp") {
        if (const auto x = relaxed(times_s, edges, options.lp_iterations, stop)) {
            std::erase_if(order, [&](std::size_t i) { return (*x)[i] >= options.threshold; });
            std::ranges::stable_sort(order, {}, [&](std::size_t i) { return (*x)[i]; });
            return match(problem.ops, edges, order);
        }
    }
    if (options.favourite == "longest") {
        const std::vector<double> rank_s = upward_ranks_s(problem, times_s, transfers_s);
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::size_t i) { return edges[i].transfer_s + rank_s[edges[i].to]; });
    } else {
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return edges[i].transfer_s; });
    }
    return match(problem.ops, edges, order);
}

}  // namespace placewright
