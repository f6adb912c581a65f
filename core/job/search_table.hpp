// SPDX-License-Identifier: MIT
// Tables of searches that have ended, one line each (CSV): what a sweep writes and goes on from, and what the
// window shows as a comparison.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/job/compared_case.hpp"
#include "core/search/progress.hpp"

namespace placewright {

/// What a search of a sweep is known by.
struct SearchKey {
    std::string network, machine;
    std::string options;    ///< "batch=64 precision=amp-fp16"; may be empty
    std::string algorithm;  ///< id; in a table of runs_csv() contestant_name()
    std::uint64_t seed = 0;

    /// "resnet50 on 4x-v100-pcie, batch=64"
    std::string case_title() const;

    auto operator<=>(const SearchKey&) const = default;
};

struct TabledSearch {
    SearchKey key;
    std::uint64_t budget = 0;  ///< evaluations that it was allowed; 0: not known
    std::string problem;       ///< problem_fingerprint(); empty: not known
    Score score;
    std::uint64_t evaluations = 0, simulations = 0;
    double wall_s = 0;
    std::optional<double> one_device_s;   ///< nothing if that does not fit, or is not known
    std::optional<double> lower_bound_s;  ///< nothing if it is not known
    std::vector<CurvePoint> curve;        ///< without the means; may be empty
};

struct SearchTable {
    const Objective* objective = &objectives().front();
    std::vector<TabledSearch> searches;
};

/// Columns: network, machine, options, algorithm, seed, budget, score_s, step_time_s (or the name of the
/// other objective), fits, evaluations, simulations, wall_s, one_device_s, lower_bound_s, problem, and curve
/// (curve_text).
std::string search_csv(const SearchTable& table);

/// Reads such a table, or that of runs_csv(), which lacks some of the columns. Throws InputError with
/// the line and the column.
SearchTable read_search_table(const Path& file);

/// Whether the file is such a table: a CSV file with the columns algorithm and seed or score_s; others may be
/// missing.
bool is_search_table(const Path& file);

/// The searches by network, machine and options, in the order in which these come first; all cases have all
/// algorithms of the table. Of searches with the same key the last counts. Placements are not known.
/// contestant_called() knows the name of each algorithm, as read_search_table() makes sure.
std::vector<ComparedCase> compared_cases(const SearchTable& table);

}  // namespace placewright
