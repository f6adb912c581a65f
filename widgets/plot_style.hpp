// SPDX-License-Identifier: MIT
// What the plots have in common.
#pragma once

#include <QColor>
#include <QPen>
#include <QRect>
#include <QString>

class QCPAxis;
class QCustomPlot;
class QLabel;
class QPainter;
class QWidget;

namespace placewright {

/// Times that are more than this many times the best are left out of ranges and colour scales; penalties for overflowing memory would
/// otherwise squash all that matters.
inline constexpr double kRelevantFactor = 5;

struct TimeUnit {
    double per_second = 1e3;
    QString name = QStringLiteral("ms");

    bool operator==(const TimeUnit&) const = default;
};
/// The unit in which `seconds` has one to three digits before the point; for axes, where all numbers share one.
TimeUnit timeUnitFor(double seconds);

/// The colour of a run's series, moved away from `background` where it would be lost on it.
QColor runColor(int run, const QColor& background);

/// The line of a run's series. Colours repeat after eight; then the pattern tells the runs apart.
QPen seriesPen(int run, const QColor& background);

/// A log axis labels whole decades, which leaves a narrow range without any; that gets the ticks of a linear one. To be called whenever
/// the range or the scale has changed.
void updateLogTicker(QCPAxis& axis);

/// Gives axes, grid, legend and background the colours of the plot's palette and its font.
void stylePlot(QCustomPlot& plot);

/// What an axis is about, and its unit or nothing: for fitAround().
void setAxisTitle(QCPAxis& axis, const QString& title, const QString& unit = {});

/// From now on what stands round the axes is whole at any size of the plot, or left out: a title that is longer than its axis says the unit
/// alone, there are as many ticks as have room, and a legend that is wanted follows fitLegend().
void fitAround(QCustomPlot& plot, bool legend);

/// The legend in rows above the axes, where it covers nothing; none where it would not leave them most of the height. Returns whether that
/// has changed anything.
bool fitLegend(QCustomPlot& plot);
void hideLegend(QCustomPlot& plot);

/// Draws the plot as vectors, fitted to `target` as to the screen. `legend`: with one for this picture alone.
void renderPlot(QCustomPlot& plot, QPainter& painter, const QRect& target, bool legend = false);

/// What an empty panel shows instead of what will be there, in the middle; the first lines where there is no room for more.
void drawEmptyText(QPainter& painter, const QRect& area, const QString& text);
/// A label with drawEmptyText() for where a plot will be.
QLabel* makeEmptyLabel(const QString& text, QWidget* parent);

}  // namespace placewright
