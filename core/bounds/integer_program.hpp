// SPDX-License-Identifier: MIT
// Linear and mixed-integer programs, solved by Clp and CBC.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/infinity.hpp"

namespace placewright {

inline constexpr double kNoLimit = kInfinity;

/// Minimises cost * x subject to limits on every row and column; some columns are integers. The tolerances of
/// the solvers are absolute: costs and factors should be of the order of one. A column without an upper limit
/// must not exceed the cost in any solution.
class IntegerProgram {
public:
    using Column = int;

    /// Returns the factor, or 0 for one below the tolerances of the solvers. For factors that may be left out
    /// of a relaxation.
    static double without_dust(double factor) { return factor < 1e-9 ? 0 : factor; }

    Column add_column(double lower, double upper, double cost = 0);
    Column add_binary(double cost = 0);
    /// Begins a row; add() then gives its entries, each column at most once.
    void begin_row(double lower, double upper);
    void add(Column column, double factor);

    void set_upper(Column column, double upper) { upper_[static_cast<std::size_t>(column)] = upper; }

    std::size_t columns() const { return cost_.size(); }
    std::size_t rows() const { return row_lower_.size(); }

private:
    friend struct ProgrammeAccess;

    std::vector<double> lower_, upper_, cost_;
    std::vector<Column> whole_;
    std::vector<int> row_begin_;
    std::vector<double> row_lower_, row_upper_;
    std::vector<Column> entry_column_;
    std::vector<double> entry_;
};

struct Relaxation {
    /// Lower bound on the cost, equal to the optimum but for rounding; infinity if there is no solution.
    double value = 0;
    std::vector<double> x;  ///< [column]; empty without a solution
};

/// Solves the program with its integer columns relaxed to fractions; nothing if that takes more than
/// `seconds` or `stop` was requested.
std::optional<Relaxation> solve_relaxation(const IntegerProgram& program, double seconds = kNoLimit,
                                           std::stop_token stop = {});

struct IntegerLimits {
    double seconds = kNoLimit;  ///< results depend on the computer if this limit ends the search
    int nodes = std::numeric_limits<int>::max();
    /// Only solutions with a value below this are searched for.
    double cutoff = kNoLimit;
    std::stop_token stop;
    /// Called every `events_a_call` events (nodes, rounds of cuts, heuristics, thousands of steps of the
    /// simplex method) with the current bound and the best solution found since the last call (or none).
    /// Returning false ends the search.
    int events_a_call = 1;
    std::function<bool(double bound, std::optional<std::span<const double>> found)> progress;
};

struct IntegerResult {
    /// Proven lower bound on every solution: the optimum if `finished`, never more than the cutoff. Valid
    /// however the search ended; minus infinity if it ended before anything was proven.
    double bound = -kNoLimit;
    bool finished = false;
    double value = kNoLimit;  ///< of `x`
    std::vector<double> x;    ///< the best solution; empty if none was found
};

/// Branch and cut on one thread. Deterministic unless `seconds` or `stop` ends it.
IntegerResult solve_integer(const IntegerProgram& program, const IntegerLimits& limits);

}  // namespace placewright
