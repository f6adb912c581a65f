// SPDX-License-Identifier: MIT
// The placements of a run that were measured, as a value for the views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <QString>

#include "core/cost/placement.hpp"
#include "core/sim/score.hpp"

namespace placewright {

/// Placements of one run in the order in which they were measured.
struct MeasuredPlacements {
    enum class State : std::uint8_t { measuring, finished, stopped };

    struct Each {
        std::shared_ptr<const Placement> placement;
        Score simulated;
        /// Of the median step, with the penalty for memory; the step time is 0 if the memory was exceeded
        /// before a step ended.
        Score measured;
        double low_s = 0, high_s = 0;       ///< quartiles of the steps
        bool proposed = false;              ///< by the search on hardware; else the run had kept it
        QString warning = {};               ///< why the time may be wrong; empty if nothing speaks against it
        bool coresForAccelerators = false;  ///< the time cannot be compared with the simulated one
    };

    QString run;                 ///< title of the run
    std::vector<Score> awaited;  ///< simulated, of those of the run that are still to be measured
    std::size_t wanted = 0;      ///< number of placements to measure; a search may propose fewer
    State state = State::measuring;
    std::vector<Each> all;

    /// Index of the fastest that fits; nothing if none does.
    std::optional<std::size_t> fastest() const;
    /// Place of a placement in the simulation among all of them, those that are awaited included: 1 is the
    /// best, and equals share a place.
    std::size_t rank(std::size_t index) const;
};

/// (measured - simulated) / simulated step time; infinite where a step time is 0.
double stepError(const MeasuredPlacements::Each& each);

/// "1st", "2nd", "11th".
QString ordinalText(std::size_t number);

/// What speaks against the times: "The times of 2 of 5 placements may be wrong: the cores were not free for
/// 12 % …." Empty if nothing does.
QString doubtsText(const MeasuredPlacements& placements);

/// "Measured best: 384 ms, 5th in the simulation; 3 % faster than the simulated best." Says so if none fits,
/// and if the two differ by less than the steps of either. Empty if nothing was measured.
QString fastestText(const MeasuredPlacements& placements);

}  // namespace placewright
