// SPDX-License-Identifier: MIT
// Shared style and layout of the plots.
#pragma once

#include <string>

#include <QColor>
#include <QPen>
#include <QRect>
#include <QString>

class QCPAxis;
class QCustomPlot;
class QLabel;
class QPainter;
class QPalette;
class QWidget;

namespace placewright {

/// Times above this multiple of the best are left out of axis ranges and colour scales: penalties for
/// overflowing memory would otherwise compress the relevant range.
inline constexpr double kRelevantFactor = 5;

struct TimeUnit {
    double per_second = 1e3;
    QString name = QStringLiteral("ms");

    bool operator==(const TimeUnit&) const = default;
};
/// Returns the unit in which `seconds` has one to three digits before the point; for axes, whose numbers all
/// share one unit.
TimeUnit timeUnitFor(double seconds);

/// Colour of a run's series, moved away from `background` if its contrast would be too low.
QColor runColor(int run, const QColor& background);

/// Pen of a run's series. Colours repeat after eight runs; then the dash pattern distinguishes them.
QPen seriesPen(int run, const QColor& background);

/// How a run is drawn: in the colour of its algorithm, in a shade and with dashes of its own among the runs
/// of that algorithm.
struct RunStyle {
    std::string algorithm;  ///< id
    int nth = 0;            ///< number of the run among those of its algorithm, from 0

    bool operator==(const RunStyle&) const = default;
};
QColor runColor(const RunStyle& run, const QColor& background);
QPen seriesPen(const RunStyle& run, const QColor& background);
/// The colour of the run's name: that of its series, moved as far as text needs to be readable.
QColor runTextColor(const RunStyle& run, const QColor& background);

/// Gives a log axis with a narrow range the ticks of a linear axis, since its own label whole decades only.
/// Call it whenever the range or the scale has changed.
void updateLogTicker(QCPAxis& axis);

/// Colour of axes and their ticks.
QColor axisColor(const QPalette& palette);

/// Gives axes, grid, legend and background the colours of the plot's palette and its font.
void stylePlot(QCustomPlot& plot);

/// Sets the title of an axis and its unit (may be empty) for fitAround().
void setAxisTitle(QCPAxis& axis, const QString& title, const QString& unit = {});

/// From now on fits titles, ticks and legend to the size of the plot: a title that is longer than its axis is
/// replaced by the unit, ticks are as many as there is room for, and the legend, if `legend`, follows
/// fitLegend().
void fitAround(QCustomPlot& plot, bool legend);

/// Puts the legend in rows above the axes, where it covers nothing, or hides it if it would not leave most of
/// the height to the axes. Returns whether anything changed.
bool fitLegend(QCustomPlot& plot);
void hideLegend(QCustomPlot& plot);

/// Draws the plot as vector graphics, fitted to `target` as on screen. `legend`: adds a legend to this
/// picture only.
void renderPlot(QCustomPlot& plot, QPainter& painter, const QRect& target, bool legend = false);

/// Draws a line of text at the top of `target`, with the font and colour of a widget, and returns what is
/// left of it.
QRect drawHeader(QPainter& painter, const QRect& target, const QString& text, const QWidget& of);

/// Draws the text of an empty panel in the middle of `area`; only its first lines if there is no room for
/// all.
void drawEmptyText(QPainter& painter, const QRect& area, const QString& text);
/// Returns a label that uses drawEmptyText(), in place of an empty plot.
QLabel* makeEmptyLabel(const QString& text, QWidget* parent);

}  // namespace placewright
