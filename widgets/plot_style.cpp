// SPDX-License-Identifier: MIT
#include "widgets/plot_style.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <typeinfo>
#include <utility>
#include <vector>

#include <QFontMetricsF>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QPicture>
#include <QWidget>

#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

constexpr auto kTitle = "axisTitle", kUnit = "axisUnit";

/// "100k" in place of 1·10^5; empty for numbers below `least`, which are short anyway.
QString shortened(double tick, double least, const QLocale& locale) {
    for (const auto& [unit, letter] : {std::pair{1e9, 'G'}, std::pair{1e6, 'M'}, std::pair{1e3, 'k'}}) {
        if (std::abs(tick) >= std::max(unit, least))
            return locale.toString(tick / unit, 'g', 6) + QLatin1Char(letter);
    }
    return {};
}

template <class Ticker>
class ShortTicker : public Ticker {
protected:
    /// An axis with "10k" has "5k", not "5,000".
    QVector<QString> createLabelVector(const QVector<double>& ticks, const QLocale& locale, QChar format,
                                       int precision) override {
        const bool isLong = std::ranges::any_of(ticks, [](double tick) { return std::abs(tick) >= kLong; });
        m_least = isLong ? 1e3 : kLong;
        return Ticker::createLabelVector(ticks, locale, format, precision);
    }

    QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override {
        const QString label = shortened(tick, m_least, locale);
        return label.isEmpty() ? Ticker::getTickLabel(tick, locale, format, precision) : label;
    }

private:
    static constexpr double kLong = 1e4;
    double m_least = kLong;
};

std::vector<QCPAxis*> axesOf(const QCustomPlot& plot) {
    std::vector<QCPAxis*> axes;
    for (QCPLayoutElement* element : plot.plotLayout()->elements(true)) {
        auto* rect = qobject_cast<QCPAxisRect*>(element);
        if (const auto* scale = qobject_cast<QCPColorScale*>(element)) rect = scale->axis()->axisRect();
        if (rect == nullptr) continue;
        for (QCPAxis* axis : rect->axes()) axes.push_back(axis);
    }
    return axes;
}

bool fitTitle(QCPAxis& axis) {
    const QString title = axis.property(kTitle).toString(), unit = axis.property(kUnit).toString();
    if (title.isEmpty()) return false;
    const QString shortest = unit.isEmpty() ? QString() : QStringLiteral("[%1]").arg(unit);
    const QString whole = unit.isEmpty() ? title : QStringLiteral("%1 %2").arg(title, shortest);
    // The title may extend beyond its axis to the border of the plot, below the legend.
    const QRect along = axis.axisRect()->rect();
    QRect area = axis.parentPlot()->viewport();
    if (const QCPLegend& legend = *axis.parentPlot()->legend; legend.visible())
        area.setTop(legend.outerRect().bottom());
    const int room = axis.orientation() == Qt::Horizontal
                         ? 2 * std::min(along.center().x() - area.left(), area.right() - along.center().x())
                         : 2 * std::min(along.center().y() - area.top(), area.bottom() - along.center().y());
    const QFontMetricsF metrics(axis.labelFont());
    QString fitting;
    for (const QString& text : {whole, shortest}) {
        if (!along.isEmpty() && metrics.horizontalAdvance(text) > room)
            continue;  // the axis is empty before the plot is first shown
        fitting = text;
        break;
    }
    if (axis.label() == fitting) return false;
    axis.setLabel(fitting);
    return true;
}

bool fitTicks(QCPAxis& axis) {
    constexpr int kMost = 5;
    const QFontMetricsF metrics(axis.tickLabelFont());
    const bool across = axis.orientation() == Qt::Horizontal;
    const double length = across ? axis.axisRect()->width() : axis.axisRect()->height();
    const double each = across ? 8 * metrics.averageCharWidth() : 1.8 * metrics.height();
    const int count = std::clamp(static_cast<int>(length / each), 1, kMost);
    if (axis.ticker()->tickCount() == count) return false;
    axis.ticker()->setTickCount(count);
    return true;
}

}  // namespace

TimeUnit timeUnitFor(double seconds) {
    static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
        {{1, "s"}, {1e3, "ms"}, {1e6, "µs"}, {1e9, "ns"}}};
    for (const auto& [perSecond, name] : kUnits) {
        if (seconds * perSecond >= 1) return {perSecond, QString::fromUtf8(name)};
    }
    return {};
}

namespace {

/// Moves a colour away from the background until its contrast is `least` (WCAG 2.1), no further: a lighter
/// blue would resemble the light blue of another run.
QColor contrasting(const QColor& background, const QColor& color, double least) {
    constexpr float kStep = 0.02F;
    QColor moved = color;
    for (float share = kStep; share < 1 && contrast(moved, background) < least; share += kStep)
        moved = mixedColor(color, readableOn(background), share);
    return moved;
}

/// Moves a colour away from a background of a similar grey.
QColor visibleOn(const QColor& background, const QColor& color) {
    constexpr int kNear = 60;     // of 255 grey levels
    constexpr double kLeast = 3;  // minimum for graphics
    if (std::abs(qGray(color.rgb()) - qGray(background.rgb())) >= kNear) return color;
    return contrasting(background, color, kLeast);
}

Qt::PenStyle dashes(int number) {
    static constexpr std::array kPatterns{Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};
    return kPatterns[static_cast<std::size_t>(std::max(number, 0)) % kPatterns.size()];
}

}  // namespace

QColor runColor(int run, const QColor& background) {
    return visibleOn(background, seriesColor(run));
}

QPen seriesPen(int run, const QColor& background) {
    return {runColor(run, background), 2, dashes(run / 8)};
}

QColor runColor(const RunStyle& run, const QColor& background) {
    constexpr float kShade = 0.35F;
    const QColor color = algorithmColor(run.algorithm);
    switch (run.nth % 3) {
        case 1:
            return visibleOn(background, mixedColor(color, background, kShade));
        case 2:
            return visibleOn(background, mixedColor(color, readableOn(background), kShade));
        default:
            return visibleOn(background, color);
    }
}

QColor runTextColor(const RunStyle& run, const QColor& background) {
    constexpr double kLeast = 4.5;  // minimum for text
    return contrasting(background, runColor(run, background), kLeast);
}

QPen seriesPen(const RunStyle& run, const QColor& background) {
    return {runColor(run, background), 2, dashes(run.nth)};
}

void updateLogTicker(QCPAxis& axis) {
    constexpr double kNarrow = 30;
    const bool decades =
        axis.scaleType() == QCPAxis::stLogarithmic && axis.range().upper > kNarrow * axis.range().lower;
    if (decades == !axis.ticker().dynamicCast<QCPAxisTickerLog>().isNull()) return;
    axis.setTicker(decades ? QSharedPointer<QCPAxisTicker>(new ShortTicker<QCPAxisTickerLog>)
                           : QSharedPointer<QCPAxisTicker>(new ShortTicker<QCPAxisTicker>));
}

QColor axisColor(const QPalette& palette) {
    return mixedColor(palette.color(QPalette::Base), palette.color(QPalette::Text), 0.5F);
}

void stylePlot(QCustomPlot& plot) {
    const QPalette palette = plot.palette();
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    const QPen line(axisColor(palette)), grid(mixedColor(base, text, 0.12F)),
        subGrid(mixedColor(base, text, 0.06F));
    const QFont font = plot.font();

    plot.setBackground(base);
    plot.setLocale(QLocale());  // with group separators, which QCustomPlot leaves out
    for (QCPAxis* axis : axesOf(plot)) {
        const QCPAxisTicker& ticker = *axis->ticker();
        if (typeid(ticker) == typeid(QCPAxisTicker))
            axis->setTicker(QSharedPointer<QCPAxisTicker>(new ShortTicker<QCPAxisTicker>));
        axis->setBasePen(line);
        axis->setTickPen(line);
        axis->setSubTickPen(line);
        axis->setTickLabelColor(text);
        axis->setLabelColor(text);
        axis->setTickLabelFont(font);
        axis->setLabelFont(font);
        axis->grid()->setPen(grid);
        axis->grid()->setSubGridPen(subGrid);
        axis->grid()->setZeroLinePen(grid);
    }
    plot.legend->setBrush(Qt::NoBrush);
    plot.legend->setBorderPen(Qt::NoPen);
    plot.legend->setTextColor(text);
    plot.legend->setFont(font);
}

void setAxisTitle(QCPAxis& axis, const QString& title, const QString& unit) {
    axis.setProperty(kTitle, title);
    axis.setProperty(kUnit, unit);
    if (title.isEmpty()) axis.setLabel({});
    fitTitle(axis);
}

void fitAround(QCustomPlot& plot, bool legend) {
    plot.axisRect()->insetLayout()->take(plot.legend);
    plot.legend->setVisible(false);
    plot.legend->setMargins(QMargins(4, 2, 4, 0));
    plot.plotLayout()->setRowSpacing(2);
    QObject::connect(&plot, &QCustomPlot::afterLayout, &plot, [&plot, legend] {
        bool changed = legend && fitLegend(plot);
        for (QCPAxis* axis : axesOf(plot)) {
            changed = fitTitle(*axis) || changed;
            changed = fitTicks(*axis) || changed;
        }
        if (changed) plot.replot(QCustomPlot::rpQueuedReplot);
    });
}

bool fitLegend(QCustomPlot& plot) {
    constexpr double kMostOfHeight = 0.25;
    QCPLegend& legend = *plot.legend;
    QSize item;
    int items = 0;  // itemCount() also counts empty cells
    for (const QCPLayoutElement* element : legend.elements(false)) {
        if (element == nullptr) continue;
        item = item.expandedTo(element->minimumOuterSizeHint());
        ++items;
    }
    const QSize room = plot.viewport().size() - QSize(legend.margins().left() + legend.margins().right(), 0);
    const int columns =
        (room.width() + legend.columnSpacing()) / std::max(1, item.width() + legend.columnSpacing());
    const int wrap = std::clamp(columns, 1, std::max(1, items));
    const int rows = (items + wrap - 1) / wrap;
    const bool fits = rows > 0 && columns > 0 &&
                      rows * (item.height() + legend.rowSpacing()) <= kMostOfHeight * room.height();
    const bool shown = legend.layout() != nullptr;
    if (!fits) {
        hideLegend(plot);
        return shown;
    }
    if (shown && legend.columnCount() == wrap) return false;
    legend.setWrap(wrap);
    legend.setFillOrder(QCPLegend::foColumnsFirst);
    if (!shown) {
        QCPLayoutGrid& grid = *plot.plotLayout();
        grid.insertRow(0);
        grid.addElement(0, 0, &legend);
        grid.setRowStretchFactor(0, 1e-3);
        legend.setVisible(true);
    }
    return true;
}

void hideLegend(QCustomPlot& plot) {
    if (plot.legend->layout() == nullptr) return;
    plot.plotLayout()->take(plot.legend);
    plot.plotLayout()->simplify();
    plot.legend->setVisible(false);
}

void renderPlot(QCustomPlot& plot, QPainter& painter, const QRect& target, bool legend) {
    if (legend) {
        const QRect seen = plot.viewport();
        plot.setViewport(QRect(QPoint(), target.size()));
        fitLegend(plot);
        plot.setViewport(seen);
    }
    // Titles and ticks are fitted after the axes have been laid out, so only the second picture has them
    // fitted to this size.
    for (const bool last : {false, true}) {
        QPicture picture;
        QCPPainter recorder(&picture);
        recorder.setMode(QCPPainter::pmVectorized);
        plot.toPainter(&recorder, target.width(), target.height());
        recorder.end();
        if (last) painter.drawPicture(target.topLeft(), picture);
    }
    if (legend) hideLegend(plot);
}

QRect drawHeader(QPainter& painter, const QRect& target, const QString& text, const QWidget& of) {
    if (text.isEmpty()) return target;
    const QFontMetrics metrics(of.font());
    const int height = metrics.height() + 8;
    painter.setFont(of.font());
    painter.setPen(of.palette().color(QPalette::Text));
    painter.drawText(QRect(target.left() + 8, target.top(), target.width() - 16, height),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(text, Qt::ElideRight, target.width() - 16));
    return target.adjusted(0, height, 0, 0);
}

void drawEmptyText(QPainter& painter, const QRect& area, const QString& text) {
    constexpr int kMargin = 12, kLeastMargin = 2;
    QRect inner = area.adjusted(kMargin, kLeastMargin, -kMargin, -kLeastMargin);
    const bool fits =
        painter.boundingRect(inner, Qt::AlignCenter | Qt::TextWordWrap, text).height() <= inner.height();
    const int line = painter.fontMetrics().lineSpacing();
    if (!fits) inner.setHeight(std::max(1, inner.height() / line) * line);
    painter.drawText(inner, (fits ? Qt::AlignCenter : Qt::AlignHCenter | Qt::AlignTop) | Qt::TextWordWrap,
                     text);
}

QLabel* makeEmptyLabel(const QString& text, QWidget* parent) {
    class EmptyLabel : public QLabel {
    public:
        using QLabel::QLabel;

    protected:
        void paintEvent(QPaintEvent*) override {
            QPainter painter(this);
            painter.setPen(palette().color(foregroundRole()));
            drawEmptyText(painter, rect(), text());
        }
    };
    auto* label = new EmptyLabel(text, parent);
    label->setObjectName("empty");
    label->setWordWrap(true);
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setBackgroundRole(QPalette::Base);
    label->setAutoFillBackground(true);
    return label;
}

}  // namespace placewright
