// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <vector>

#include <QCoreApplication>
#include <QFontMetrics>
#include <QString>

#include "core/base/units.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

/// Result of a drop on one device.
struct DropPreview {
    bool possible = false;  ///< all dragged ops are allowed there
    bool fits = true;
    double step_time_s = 0;  ///< or the value of another objective
    double change_s = 0;  ///< against the present value; infinite if the objective is not defined at present
    bool defined = true;  ///< the objective is defined for the resulting placement
    double held_bytes = 0;   ///< on this device afterwards, as compared with its memory limit
    double limit_bytes = 0;  ///< of this device; 0 if not known

    bool operator==(const DropPreview&) const = default;
};

/// By device; empty while nothing is dragged.
using DropPreviews = std::vector<DropPreview>;

/// "41.2 ms (−1.4 ms)", "41.2 ms (no change)", "not allowed", or "not defined" (the objective). Does not say
/// whether the ops fit.
inline QString dropPreviewText(const DropPreview& preview) {
    if (!preview.possible) return QCoreApplication::translate("DropPreview", "not allowed");
    if (!preview.defined) return QCoreApplication::translate("DropPreview", "not defined");
    const QString time = QString::fromStdString(format_seconds(preview.step_time_s));
    if (!std::isfinite(preview.change_s)) return time;
    // Differences in the last digits of a double come from the order of summation.
    if (std::abs(preview.change_s) <= 1e-9 * preview.step_time_s)
        return QCoreApplication::translate("DropPreview", "%1 (no change)").arg(time);
    const QString change = QString::fromStdString(format_seconds(std::abs(preview.change_s)));
    return QStringLiteral("%1 (%2%3)")
        .arg(time, preview.change_s < 0 ? QStringLiteral("−") : QStringLiteral("+"), change);
}

/// "8.10 / 32.0 GB" on this device after the drop; empty if that is not known.
inline QString dropMemoryText(const DropPreview& preview) {
    if (!preview.possible || preview.limit_bytes <= 0) return {};
    return shareOfBytesText(preview.held_bytes, preview.limit_bytes);
}

/// What a target says of itself: "41.2 ms (−1.4 ms) · does not fit".
inline QString dropTargetText(const DropPreview& preview) {
    const QString text = dropPreviewText(preview);
    return preview.possible && !preview.fits
               ? QCoreApplication::translate("DropPreview", "%1 · does not fit").arg(text)
               : text;
}

/// dropTargetText() and the memory, " · 33.1 / 32.0 GB", where both fit into `width` pixels: a figure that is
/// cut would say something wrong.
inline QString dropTargetText(const DropPreview& preview, const QFontMetrics& metrics, int width) {
    const QString text = dropTargetText(preview), memory = dropMemoryText(preview);
    const QString both = text + QStringLiteral(" · ") + memory;
    return !memory.isEmpty() && metrics.horizontalAdvance(both) <= width ? both : text;
}

}  // namespace placewright
