// SPDX-License-Identifier: MIT
// Linear and mixed-integer programmes, solved by Clp and CBC.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace placewright {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Minimise cost * x, so that every row lies within its limits and every column within its own; some columns are whole numbers. The
/// tolerances of the solvers are absolute: costs and factors should be of the order of one.
class Programme {
public:
    using Column = int;

    Column add_column(double lower, double upper, double cost = 0);
    Column add_binary(double cost = 0);
    /// Entries of a row follow by add(), each column at most once.
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
    double value = 0;       ///< infinity: there is no solution
    std::vector<double> x;  ///< by column; empty without a solution
};

/// The programme with whole columns allowed to be fractions; nothing if that takes more than `seconds` or `stop` was requested.
std::optional<Relaxation> solve_relaxation(const Programme& programme, double seconds = kNoLimit, std::stop_token stop = {});

struct IntegerLimits {
    double seconds = kNoLimit;  ///< results depend on the computer once this ends it
    int nodes = std::numeric_limits<int>::max();
    /// Only solutions below are looked for.
    double cutoff = kNoLimit;
    std::stop_token stop;
    /// Called every so many events (nodes, rounds of cuts, heuristics, thousands of steps of the simplex method), with the bound at hand
    /// and the best solution found since the last call (or none); false ends it.
    int events_a_call = 1;
    std::function<bool(double bound, std::optional<std::span<const double>> found)> progress;
};

struct IntegerResult {
    /// No solution is below: the optimum if `finished`, never more than the cutoff. Holds whatever ended the search; minus infinity if that
    /// was before anything could be said.
    double bound = -kNoLimit;
    bool finished = false;
    double value = kNoLimit;  ///< of `x`
    std::vector<double> x;    ///< the best solution; empty if none was found
};

/// Branch and cut on one thread: the same whenever seconds and `stop` do not end it.
IntegerResult solve_integer(const Programme& programme, const IntegerLimits& limits);

}  // namespace placewright
