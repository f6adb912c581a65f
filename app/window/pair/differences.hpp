// SPDX-License-Identifier: MIT
// What differs between two placements, each with its simulation.
#pragma once

#include <memory>
#include <vector>

#include <QString>

#include "app/window/simulated.hpp"
#include "widgets/op_view.hpp"

namespace placewright {

/// A placement as one side of a comparison.
struct PairSide {
    QString title;      ///< what it is and on which machine: "Auto #1 on 4x V100"
    QString objective;  ///< title of what its searches minimise; empty if that is the step time
    std::shared_ptr<const Simulated> simulated;

    const Problem& problem() const { return *simulated->timeline->problem; }
    DeviceId deviceOf(OpId op) const { return (*simulated->placement)[problem().grouping.group_of[op]]; }
    /// By op of its problem.
    std::vector<DeviceId> deviceOfOps() const;
};

/// A number of both sides.
struct PairFigure {
    enum class Unit { seconds, bytes, count };
    QString name;
    Unit unit = Unit::seconds;
    double a = 0, b = 0;  ///< NaN on a side that has no such device

    bool differs() const { return !(a == b); }
};

/// A forward op that both networks have, by its name.
struct PairOp {
    OpId a = kInvalidOp, b = kInvalidOp;
    DeviceId device_a = kInvalidDevice, device_b = kInvalidDevice;
    double a_s = 0, b_s = 0;  ///< time of the op with its backward and update ops
    bool moved = false;       ///< to a device of another name
};

struct PairDifferences {
    std::vector<PairFigure> figures;  ///< step time, transfers, then each device by its name
    std::vector<PairOp> ops;          ///< in the order of network B
    std::size_t moved = 0;            ///< ops that were moved
    /// Whether both have the same forward ops, so that one graph can show both.
    bool same_network = false;
    /// The name of A's network if B's has another name and other ops, of which some may be in both by chance.
    QString other_network;
};

/// O(ops + spans).
PairDifferences differencesOf(const PairSide& a, const PairSide& b);

/// "41.2 ms", "8.10 GB", "12"; "–" for NaN.
QString figureText(double value, PairFigure::Unit unit);
/// "−1.4 ms", "+512 MB", "0": b - a; "–" if one side has no value.
QString changeText(double a, double b, PairFigure::Unit unit);
/// "−3.4 %"; empty if that says nothing.
QString changePercentText(double a, double b);

}  // namespace placewright
