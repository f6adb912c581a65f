// SPDX-License-Identifier: MIT
// All about one placement as one HTML file without scripts or references to other files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/job.hpp"

namespace placewright {

/// What a report says beside what the simulation of the placement gives.
struct ReportContext {
    PlacementFile about;               ///< which search made the placement
    std::optional<Bound> bound;        ///< on the objective's value
    std::vector<std::string> options;  ///< as readers know them
    std::string graph;                 ///< an element of HTML, taken as it is; empty: no picture of the graph
};

/// Simulates the placement and describes it: step time with its interval and its gap to the bound, devices
/// with their memory, transfers, the timeline as SVG, where the time goes, the longest parts of the critical
/// path, options, machine, and the placement as JSON. All texts from files are escaped. O(simulation + spans
/// log spans).
std::string html_report(const Job& job, const Placement& placement, const ReportContext& context);

}  // namespace placewright
