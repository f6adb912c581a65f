// SPDX-License-Identifier: MIT
#include "widgets/plot_style.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <QLabel>
#include <QPicture>

#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {

TimeUnit timeUnitFor(double seconds) {
    static constexpr std::array<std::pair<double, const char*>, 4> kUnits{{{1, "s"}, {1e3, "ms"}, {1e6, "µs"}, {1e9, "ns"}}};
    for (const auto& [perSecond, name] : kUnits) {
        if (seconds * perSecond >= 1) return {perSecond, QString::fromUtf8(name)};
    }
    return {};
}

QColor runColor(int run, const QColor& background) {
    constexpr int kNear = 60;  // of 255 steps of grey
    const QColor color = seriesColor(run);
    const bool lost = std::abs(qGray(color.rgb()) - qGray(background.rgb())) < kNear;
    return lost ? mixedColor(color, readableOn(background), 0.3F) : color;
}

QPen seriesPen(int run, const QColor& background) {
    static constexpr std::array kPatterns{Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};
    return {runColor(run, background), 2, kPatterns[static_cast<std::size_t>(std::max(run, 0)) / 8 % kPatterns.size()]};
}

void updateLogTicker(QCPAxis& axis) {
    constexpr double kNarrow = 30;
    const bool decades = axis.scaleType() == QCPAxis::stLogarithmic && axis.range().upper > kNarrow * axis.range().lower;
    if (decades == !axis.ticker().dynamicCast<QCPAxisTickerLog>().isNull()) return;
    axis.setTicker(decades ? QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog) : QSharedPointer<QCPAxisTicker>::create());
}

void stylePlot(QCustomPlot& plot) {
    const QPalette palette = plot.palette();
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    const QPen line(mixedColor(base, text, 0.45F)), grid(mixedColor(base, text, 0.12F)), subGrid(mixedColor(base, text, 0.06F));
    const QFont font = plot.font();

    plot.setBackground(base);
    for (QCPLayoutElement* element : plot.plotLayout()->elements(true)) {
        auto* rect = qobject_cast<QCPAxisRect*>(element);
        if (auto* scale = qobject_cast<QCPColorScale*>(element)) rect = scale->axis()->axisRect();
        if (!rect) continue;
        for (QCPAxis* axis : rect->axes()) {
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
    }
    QColor legend = base;
    legend.setAlphaF(0.85F);
    plot.legend->setBrush(legend);
    plot.legend->setBorderPen(grid);
    plot.legend->setTextColor(text);
    plot.legend->setFont(font);
}

void renderPlot(QCustomPlot& plot, QPainter& painter, const QRect& target) {
    QPicture picture;
    QCPPainter recorder(&picture);
    recorder.setMode(QCPPainter::pmVectorized);
    plot.toPainter(&recorder, target.width(), target.height());
    recorder.end();
    painter.drawPicture(target.topLeft(), picture);
}

QLabel* makeEmptyLabel(const QString& text, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setObjectName("empty");
    label->setAlignment(Qt::AlignCenter);
    label->setWordWrap(true);
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setBackgroundRole(QPalette::Base);
    label->setAutoFillBackground(true);
    label->setMargin(12);
    return label;
}

}  // namespace placewright
