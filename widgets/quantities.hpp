// SPDX-License-Identifier: MIT
// Quantities as text for the window: those of core/base/units.hpp as QString, and counts with their noun.
#pragma once

#include <cmath>

#include <QCoreApplication>
#include <QString>

#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace placewright {

inline QString secondsText(double seconds) {
    return QString::fromStdString(format_seconds(seconds));
}
inline QString bytesText(double bytes) {
    return QString::fromStdString(format_bytes(bytes));
}
/// Grouped as the locale does, with an SI suffix from 10 000 on.
inline QString countText(double count) {
    return std::abs(count) < 1e4 ? QStringLiteral("%L1").arg(std::llround(count))
                                 : QString::fromStdString(format_count(count));
}
/// "0.662", "48.2", "1,203": something a second.
inline QString rateText(double rate) {
    return std::abs(rate) < 99.95 ? QString::fromStdString(decimals("%.3g", rate)) : countText(rate);
}
inline QString flopsText(double flops) {
    return QString::fromStdString(format_flops(flops));
}
inline QString percentText(double share) {
    return QStringLiteral("%1 %").arg(std::lround(share * 100));
}

/// "−4.4 %"; empty if both times read the same: for the reader they are equal.
inline QString changeText(double before_s, double now_s) {
    if (before_s <= 0 || secondsText(before_s) == secondsText(now_s)) return {};
    const double change = now_s / before_s - 1;
    return QStringLiteral("%1%2 %")
        .arg(change > 0 ? QStringLiteral("+") : QStringLiteral("−"))
        .arg(std::abs(change) * 100, 0, 'f', std::abs(change) < 5e-4 ? 2 : 1);
}
/// "12.4 ms → 11.9 ms (−4.4 %)"; `now`, the later time as it is shown, alone if both read the same.
inline QString beforeAndNowText(double before_s, double now_s, const QString& now) {
    const QString change = changeText(before_s, now_s);
    return change.isEmpty() ? now : QStringLiteral("%1 → %2 (%3)").arg(secondsText(before_s), now, change);
}

/// Keeps a number on the same line as its unit.
inline QString unbroken(QString text) {
    return text.replace(QLatin1Char(' '), QChar(QChar::Nbsp));
}

// Singular and plural are spelled out, since English has no translation file in which Qt could look them up.
inline QString opsText(std::size_t count) {
    return count == 1 ? QCoreApplication::translate("Quantities", "1 op")
                      : QCoreApplication::translate("Quantities", "%L1 ops").arg(count);
}
inline QString transfersText(std::size_t count) {
    return count == 1 ? QCoreApplication::translate("Quantities", "1 transfer")
                      : QCoreApplication::translate("Quantities", "%L1 transfers").arg(count);
}

/// "8.10 / 32.0 GB"; both have a unit if the units differ.
inline QString shareOfBytesText(double used_bytes, double limit_bytes) {
    QString used = bytesText(used_bytes);
    const QString limit = bytesText(limit_bytes);
    const QString unit = limit.section(QLatin1Char(' '), -1);
    if (used.section(QLatin1Char(' '), -1) == unit) used.chop(unit.size() + 1);
    return used + QStringLiteral(" / ") + limit;
}

}  // namespace placewright
