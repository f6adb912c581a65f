// SPDX-License-Identifier: MIT
// Measured runs as a value for the views: their spans beside a simulated timeline, and the times of both
// compared.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <QString>

#include "core/sim/run_comparison.hpp"
#include "widgets/timeline_data.hpp"

namespace placewright {

/// A run to be compared with a simulation.
struct NamedRun {
    int id = 0;
    QString name;
    std::shared_ptr<const MeasuredRun> run;
    std::shared_ptr<const TimelineData> timeline;  ///< of the run's spans, from measuredTimeline()
    double placement_s = 0;  ///< simulated step time of the placement that the run had; 0: unknown
    /// [device]: what else is simulated of that placement, as active_seconds() and as the peak of memory;
    /// empty if it is unknown.
    std::vector<double> active_s{}, peak_bytes{};
};

/// Returns the spans of a run of this problem, prepared for drawing.
std::shared_ptr<const TimelineData> measuredTimeline(std::shared_ptr<const Problem> problem,
                                                     const MeasuredRun& run);

/// Runs of the problem of a simulated timeline. Built outside the GUI thread.
struct MeasuredRuns {
    struct Run {
        NamedRun of;
        /// Step, devices and memory with the simulation of the placement that the run had, if that is known,
        /// else with `simulated`.
        RunComparison comparison;
        /// [lane of the timeline]: spans of ops that take much longer or shorter than simulated, ascending in
        /// start.
        std::vector<std::vector<std::uint32_t>> longer, shorter;
    };

    std::shared_ptr<const TimelineData> simulated;
    std::vector<Run> runs;
    RunComparison all;  ///< of all runs together
    /// Whether all runs had the same placement, as far as it is known: else means of their steps and devices
    /// say nothing.
    bool samePlacement = true;

    /// The comparison with the run of this id; with all runs if there is none.
    const RunComparison& comparison(int id) const;

    /// The runs must be of the problem of `simulated`.
    static std::shared_ptr<const MeasuredRuns> build(std::shared_ptr<const TimelineData> simulated,
                                                     std::vector<NamedRun> runs);
};

/// "1.31 ×"; a dash if the factor is 0, which means unknown.
QString factorText(double factor);

/// What was measured of a forward op, as lines of rich text; empty if nothing was.
QString measuredText(const RunComparison& comparison, const Problem& problem, OpId op);

}  // namespace placewright
