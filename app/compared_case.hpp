// SPDX-License-Identifier: MIT
// Comparisons as tables for people and files for spreadsheets, the same on the command line and in the window.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/bounds/bounds.hpp"
#include "core/search/comparison.hpp"

namespace placewright {

/// One comparison as it is written: what it is called, who took part and what came of it.
struct ComparedCase {
    std::string title;                ///< "resnet50 on 4x V100"
    std::vector<std::string> labels;  ///< "resnet50", "4x-v100-nvlink"
    std::vector<Contestant> contestants;
    std::vector<ComparedRun> runs;
    const Goal* goal = &goals().front();
    /// What the goal makes of one device, to compare with; nothing if it does not fit there.
    std::optional<double> one_device_s;
    std::optional<Bound> bound;  ///< on what the goal makes of a placement; nothing where nobody asked
    /// Given, or the best score of all runs; nothing before the first.
    std::optional<double> best_known_s;

    std::vector<Standing> all_standings() const;
};

/// One device by the mean of a standing; nothing unless both fit.
std::optional<double> speedup(const ComparedCase& compared, const Standing& standing);

/// How far the best of a standing is above the bound; nothing without a bound, or where that best does not fit the memory.
std::optional<double> gap(const ComparedCase& compared, const Standing& standing);

/// A row for each algorithm, the header first: mean and interval, best, how soon within 5 %, speed-up over one device, p against the one
/// with the lowest mean; how much the best is above optimal at most, if there is a bound.
std::vector<std::vector<std::string>> standing_rows(const ComparedCase& compared);
/// A letter a column: left or right.
std::string standing_alignment(const ComparedCase& compared);

/// What tables and JSON call the goal's value: "step_time_s", "max_load_s".
std::string value_name(const Goal& goal);

/// A line a run. `label_names`: headings of the labels. All cases have the same goal; fields are empty where it is not defined.
std::string runs_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases);
/// A line a point of each learning curve, with the same empty fields.
std::string curves_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases);
/// A line a point of the mean step time of the placements that a search has scored, in stretches of evaluations.
std::string means_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases);

/// "0.034", "<0.001"
std::string p_text(double p);

}  // namespace placewright
