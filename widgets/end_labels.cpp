// SPDX-License-Identifier: MIT
#include "widgets/end_labels.hpp"

#include <algorithm>
#include <numeric>

#include <QFontMetrics>

#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

constexpr int kGap = 14;            // pixels between the axes and the names, for the lines
constexpr int kLeastPlot = 260;     // pixels; a narrower plot has no names
constexpr double kMostShare = 0.3;  // of the width, for the names
constexpr int kMargin = 15;         // QCustomPlot's own least margin

}  // namespace

EndLabels::EndLabels(QCustomPlot* plot) : m_plot(plot) {
    QObject::connect(plot, &QCustomPlot::beforeReplot, plot, [this] { reserve(); });
    QObject::connect(plot, &QCustomPlot::afterLayout, plot, [this] { place(); });
}

void EndLabels::setLabels(std::vector<EndLabel> labels) {
    m_labels = std::move(labels);
    while (m_texts.size() > m_labels.size()) {
        m_plot->removeItem(m_texts.back());
        m_plot->removeItem(m_lines.back());
        m_texts.pop_back();
        m_lines.pop_back();
    }
    while (m_texts.size() < m_labels.size()) {
        auto* text = new QCPItemText(m_plot);
        text->setClipToAxisRect(false);
        text->position->setType(QCPItemPosition::ptAbsolute);
        text->setPositionAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        text->setTextAlignment(Qt::AlignLeft);
        auto* line = new QCPItemLine(m_plot);
        line->setClipToAxisRect(false);
        line->start->setType(QCPItemPosition::ptAbsolute);
        line->end->setType(QCPItemPosition::ptAbsolute);
        m_texts.push_back(text);
        m_lines.push_back(line);
    }
}

void EndLabels::reserve() {
    const QFontMetrics metrics(m_plot->font());
    int widest = 0;
    for (const EndLabel& label : m_labels) {
        if (label.isDrawn)
            widest = std::max(widest, metrics.horizontalAdvance(label.text + QStringLiteral(" ↑")));
    }
    widest += 2;  // for rounding, so that a name that fits is not shortened
    const int width = m_plot->viewport().width();
    m_width = width < kLeastPlot ? 0 : std::min(widest, static_cast<int>(kMostShare * width));
    QMargins margins = m_plot->axisRect()->minimumMargins();
    margins.setRight(m_width > 0 ? m_width + kGap + 2 : kMargin);
    m_plot->axisRect()->setMinimumMargins(margins);
}

void EndLabels::place() {
    const QRect axes = m_plot->axisRect()->rect();
    const QFontMetrics metrics(m_plot->font());
    const int height = metrics.height();
    // Pixels grow downwards: the last of these is the lowest curve.
    std::vector<std::size_t> order;
    std::vector<double> at(m_labels.size());
    for (std::size_t i = 0; i < m_labels.size(); ++i) {
        m_texts[i]->setVisible(false);
        m_lines[i]->setVisible(false);
        if (!m_labels[i].isDrawn || m_width == 0) continue;
        at[i] = m_plot->yAxis->coordToPixel(m_labels[i].end.y());
        order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return at[i]; });
    const auto room = static_cast<std::size_t>(std::max(0, (axes.height() + height) / std::max(1, height)));
    if (order.size() > room) order.erase(order.begin(), order.end() - static_cast<std::ptrdiff_t>(room));

    // From the top down no name overlaps the one above it; from the bottom up none leaves the axes.
    std::vector<double> y;
    for (const std::size_t i : order) {
        const double wanted = std::clamp(at[i], double(axes.top()), double(axes.bottom()));
        y.push_back(y.empty() ? wanted : std::max(wanted, y.back() + height));
    }
    double lowest = axes.bottom();
    for (std::size_t k = y.size(); k-- > 0;) {
        y[k] = std::min(y[k], lowest);
        lowest = y[k] - height;
    }

    for (std::size_t k = 0; k < order.size(); ++k) {
        const EndLabel& label = m_labels[order[k]];
        const bool above = at[order[k]]<axes.top() - 1, below = at[order[k]]> axes.bottom() + 1;
        QString text = label.text;
        if (above) text += QStringLiteral(" ↑");
        if (below) text += QStringLiteral(" ↓");
        QCPItemText& name = *m_texts[order[k]];
        name.setText(metrics.elidedText(text, Qt::ElideMiddle, m_width));
        name.setFont(m_plot->font());
        name.setColor(label.color);
        name.position->setCoords(axes.right() + kGap, y[k]);
        name.setVisible(true);
        if (above || below) continue;
        const double end =
            std::clamp(m_plot->xAxis->coordToPixel(label.end.x()), double(axes.left()), double(axes.right()));
        QCPItemLine& line = *m_lines[order[k]];
        QColor faint = label.color;
        faint.setAlphaF(0.5F);
        line.setPen(QPen(faint, 1, Qt::DotLine));
        line.start->setCoords(end, at[order[k]]);
        line.end->setCoords(axes.right() + kGap - 2, y[k]);
        line.setVisible(true);
    }
}

}  // namespace placewright
