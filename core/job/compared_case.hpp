// SPDX-License-Identifier: MIT
// Comparisons as tables for users and as CSV files, shared by the command line and the window.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bounds/bounds.hpp"
#include "core/search/comparison.hpp"

namespace placewright {

/// One comparison for output: its names, contestants and results.
struct ComparedCase {
    std::string title;                ///< "resnet50 on 4x V100"
    std::vector<std::string> labels;  ///< "resnet50", "4x-v100-nvlink"
    std::vector<Contestant> contestants;
    std::vector<ComparedRun> runs;
    /// [contestant]: whether its best step is the fastest of all, or as fast within the error of their ratio
    /// (StepError); empty before mark_equal().
    std::vector<bool> equal_to_fastest;
    const Objective* objective = &objectives().front();
    /// Objective's value for everything on one device, for reference; nothing if that does not fit.
    std::optional<double> one_device_s;
    std::optional<Bound> bound;  ///< on the objective's value; nothing if not requested
    /// The given value, or the best score of all runs; nothing before the first run.
    std::optional<double> best_known_s;

    std::vector<Standing> all_standings() const;
};

/// Returns the one-device value divided by the mean of a standing; nothing unless both fit.
std::optional<double> speedup(const ComparedCase& compared, const Standing& standing);

/// Returns how far the best of a standing is above the bound; nothing without a bound, or if that best does
/// not fit the memory.
std::optional<double> gap(const ComparedCase& compared, const Standing& standing);

/// Fills in equal_to_fastest for the case's runs of a problem: of those whose best is as fast as the fastest
/// within the error of their ratio, and of all that are not slower than one of them (placements that differ
/// little are told apart by less). Simulates the best placement of each contestant. False for all if nothing
/// fits or the objective is not the step time.
void mark_equal(ComparedCase& compared, const std::shared_ptr<const Problem>& problem,
                const SimulationOptions& simulation);

/// Returns a header and one row per algorithm: mean and interval, best, effort to come within 5 %, speed-up
/// over one device, p against the algorithm with the lowest mean; with a bound also how much the best is
/// above it at most. Where several bests are equal to the lowest within the error of the simulation, "≈"
/// marks all of them, the lowest, too.
std::vector<std::vector<std::string>> standing_rows(const ComparedCase& compared);
/// One letter per column: l (left) or r (right).
std::string standing_alignment(const ComparedCase& compared);

/// Returns the name of the objective's value in tables and JSON: "step_time_s", "max_load_s".
std::string value_name(const Objective& objective);

/// The options in which a contestant differs from others of the same algorithm: "cpus=true, policy=false".
std::string distinct_options(const std::vector<Contestant>& contestants, std::size_t index);
/// Name of a contestant in tables: the id of its algorithm and these options, "auto (policy=false)".
std::string contestant_name(const std::vector<Contestant>& contestants, std::size_t index);
/// The contestant with such a name, which it keeps whatever the others are. Options that the name does not
/// tell keep their defaults. Nothing if the algorithm, an option or its value is not known.
std::optional<Contestant> contestant_called(std::string_view name);

/// A learning curve in a field of a table: "EVALUATIONS:SECONDS:BEST_S" for each point, with a "!" where the
/// best does not fit, separated by spaces.
std::string curve_text(const std::vector<CurvePoint>& curve);

/// Returns one line per run; fields are empty where the objective is not defined. `label_names`: headings of
/// the labels. All cases have the same objective. read_search_table() reads it if the labels are those of a
/// sweep.
std::string runs_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases);
/// Returns one line per point of each learning curve, with the same empty fields.
std::string curves_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases);
/// Returns one line per stretch of evaluations with the mean step time of the placements scored in it.
std::string means_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases);

/// "0.034", "<0.001"
std::string p_text(double p);

}  // namespace placewright
