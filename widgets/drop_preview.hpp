// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <vector>

#include <QCoreApplication>
#include <QString>

#include "core/base/units.hpp"

namespace placewright {

/// What a drop on one device would give.
struct DropPreview {
    bool possible = false;  ///< some of the dragged ops may not be there
    bool fits = true;
    double step_time_s = 0;  ///< or what else the objective makes small
    double change_s = 0;     ///< against the present one; infinite where the objective is not defined at present
    bool defined = true;     ///< the objective is, for what the drop gives

    bool operator==(const DropPreview&) const = default;
};

/// By device; empty while nothing is dragged.
using DropPreviews = std::vector<DropPreview>;

/// "41.2 ms (−1.4 ms)", "41.2 ms (no change)", or that the ops may not be there or make the objective undefined. Whether they fit is told
/// apart, for it is coloured.
inline QString dropPreviewText(const DropPreview& preview) {
    if (!preview.possible) return QCoreApplication::translate("DropPreview", "not allowed");
    if (!preview.defined) return QCoreApplication::translate("DropPreview", "not defined");
    const QString time = QString::fromStdString(format_seconds(preview.step_time_s));
    if (!std::isfinite(preview.change_s)) return time;
    // A change in the last digits of a double is the order of summation, not a change.
    if (std::abs(preview.change_s) <= 1e-9 * preview.step_time_s)
        return QCoreApplication::translate("DropPreview", "%1 (no change)").arg(time);
    const QString change = QString::fromStdString(format_seconds(std::abs(preview.change_s)));
    return QStringLiteral("%1 (%2%3)").arg(time, preview.change_s < 0 ? QStringLiteral("−") : QStringLiteral("+"), change);
}

}  // namespace placewright
