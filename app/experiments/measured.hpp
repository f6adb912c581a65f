// SPDX-License-Identifier: MIT
// What real GPUs were measured to take, beside what the simulator says. The measurements are a folder that is
// not part of the project; README.md says what is in it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiments/experiment.hpp"
#include "core/base/path.hpp"
#include "core/sim/step_error.hpp"

namespace placewright {

/// A measured time beside the simulated one.
struct MeasuredPoint {
    std::string name;    ///< of the case, unique in its suite
    std::string group;   ///< for the rows of the suite's table
    std::string device;  ///< model of the GPUs
    double measured_s = 0;
    double simulated_s = 0;  ///< times `calibration`
    /// The one number by which a suite may scale all its times: the speed of its GPU and framework.
    double calibration = 1;
    /// 80 % interval of the time as the program gives it, without calibration. Nothing for times of single
    /// ops, which have none, and where the suite does not name its GPU.
    std::optional<StepInterval> interval{};
    bool counted = true;     ///< false: a measurement that is in doubt, or that calibrates
    double weight = 0;       ///< of an op: its share of the time of its step
    bool too_short = false;  ///< an op that is mostly the time to launch it; counts in the weighted mean only
    bool fits = true;        ///< the simulated run fits the memory of its GPUs, as the real one did
};

struct MeasuredSuite {
    std::string_view id;      ///< "torchgpipe"
    std::string_view title;   ///< one line: what was measured, on what
    std::string_view folder;  ///< in the folder of measurements
    bool found = false;       ///< the folder is there
    std::vector<MeasuredPoint> points{};
    std::vector<std::string> notes{};  ///< what is not a time: peak memory
};

/// Figures of the points that count.
struct MeasuredFigures {
    std::size_t cases = 0;
    double median_error = 0;  ///< of |simulated / measured - 1|
    double largest_error = 0;
    double mean_error = 0;                   ///< of simulated / measured - 1, with its sign
    std::optional<double> weighted_error{};  ///< mean of |simulated / measured - 1| by MeasuredPoint::weight
    std::optional<double> spearman{};        ///< rank correlation; nothing below three cases
    std::size_t with_interval = 0;
    std::size_t in_interval = 0;  ///< measured times that lie within their interval
    std::size_t refused = 0;      ///< runs that do not fit, whether they count or not
};
MeasuredFigures measured_figures(std::span<const MeasuredPoint> points);

/// Ids of all suites, in the order of the tables.
std::vector<std::string> measured_suite_ids();

/// Reads the measurements in `data` and simulates each. `ids`: suites to run; empty: all. Suites whose folder
/// is absent are marked so. Calls `progress` with what is being simulated. When `stop` is requested, the
/// points so far are returned. Throws InputError for a folder without any suite, and for broken files.
std::vector<MeasuredSuite> run_measured(const Path& data, std::span<const std::string> ids,
                                        const std::stop_token& stop,
                                        const std::function<void(const std::string&)>& progress);

/// A table with a row for each suite, and one for each suite of several groups.
std::vector<ReportTable> measured_tables(std::span<const MeasuredSuite> suites);
/// "suite,case,device,measured_s,simulated_s,low_s,high_s,counted,calibration", a line for each point.
std::string measured_csv(std::span<const MeasuredSuite> suites);
/// Simulated against measured times as an SVG image.
std::string measured_svg(std::span<const MeasuredSuite> suites);

}  // namespace placewright
