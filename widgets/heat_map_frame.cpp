// SPDX-License-Identifier: MIT
#include "widgets/heat_map_frame.hpp"

#include <algorithm>
#include <limits>

#include <QKeyEvent>
#include <QLabel>
#include <QStackedWidget>
#include <QToolTip>
#include <QVBoxLayout>

#include "widgets/heat_map.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {

HeatMapFrame::HeatMapFrame(const QString& accessibleName, const QString& emptyText,
                           const QCPColorGradient& gradient, QWidget* parent)
    : QWidget(parent) {
    m_header = new QLabel(this);
    m_header->setObjectName("header");
    m_header->setTextFormat(Qt::PlainText);
    m_header->setWordWrap(true);
    m_header->setMargin(4);
    makePlot(accessibleName, gradient);
    m_pages = new QStackedWidget(this);
    m_emptyText = emptyText;
    m_empty = makeEmptyLabel(emptyText, this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_plot);
    m_layout = new QVBoxLayout(this);
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(0);
    m_layout->addWidget(m_header);
    m_layout->addWidget(m_pages, 1);

    connect(m_plot, &QCustomPlot::mousePress, this, [this](QMouseEvent* event) { m_pressed = event->pos(); });
    connect(m_plot, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() != Qt::LeftButton || (event->pos() - m_pressed).manhattanLength() > 4) return;
        const std::optional<Cell> cell = cellAt(event->pos());
        setCurrent(cell);
        if (cell) activate(*cell);
    });
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (const std::optional<Cell> cell = cellAt(event->pos())) {
            showDescription(*cell, event->pos());
        } else {
            QToolTip::hideText();
        }
    });
    m_plot->installEventFilter(this);
    setFocusProxy(m_plot);
    setEmpty(true);
}

void HeatMapFrame::makePlot(const QString& accessibleName, const QCPColorGradient& gradient) {
    m_plot = new QCustomPlot(this);
    m_plot->setAccessibleName(accessibleName);
    m_plot->setFocusPolicy(Qt::StrongFocus);
    for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
        axis->grid()->setVisible(false);
        axis->setTickLength(0);
        axis->setSubTicks(false);
    }
    m_map = new QCPColorMap(m_plot->xAxis, m_plot->yAxis);
    m_map->setInterpolate(false);
    m_map->setGradient(gradient);
    m_scale = new QCPColorScale(m_plot);
    m_scale->setRangeDrag(false);
    m_scale->setRangeZoom(false);
    m_scale->setGradient(gradient);
    m_scale->setBarWidth(12);
    m_plot->plotLayout()->addElement(0, 1, m_scale);
    m_map->setColorScale(m_scale);
    auto* beside = new QCPMarginGroup(m_plot);
    m_plot->axisRect()->setMarginGroup(QCP::msTop | QCP::msBottom, beside);
    m_scale->setMarginGroup(QCP::msTop | QCP::msBottom, beside);
    addOverlay(m_plot, [this](QCPPainter& painter) {
        paintMarks(painter);
        paintFrame(painter);
    });
}

void HeatMapFrame::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, drawHeader(painter, target, m_header->text(), *this));
}

void HeatMapFrame::setMapSize(int columns, int rows) {
    // QCPColorMap cannot draw a single row or column; the second one is outside the axis range.
    QCPColorMapData& cells = *m_map->data();
    cells.setSize(std::max(columns, 2), std::max(rows, 2));
    cells.setRange({0, std::max(columns, 2) - 1.0}, {0, std::max(rows, 2) - 1.0});
    cells.fill(std::numeric_limits<double>::quiet_NaN());
}

void HeatMapFrame::addAbove(QWidget* widget) {
    m_layout->insertWidget(m_layout->count() - 1, widget);
}

void HeatMapFrame::setHeader(const QString& text) {
    m_details = text;
    showHeader();
}

void HeatMapFrame::setRun(const QString& title) {
    m_run = title;
    showHeader();
}

void HeatMapFrame::showHeader() {
    QStringList parts{m_run, m_details};
    parts.removeAll(QString());
    m_header->setText(parts.join(QStringLiteral(" · ")));
    m_header->setVisible(!parts.isEmpty() && !isEmpty());
}

void HeatMapFrame::setEmptyText(const QString& text) {
    m_empty->setText(text.isEmpty() ? m_emptyText : text);
}

bool HeatMapFrame::isEmpty() const {
    return m_pages->currentIndex() == 0;
}

void HeatMapFrame::setEmpty(bool empty) {
    m_pages->setCurrentIndex(empty ? 0 : 1);
    showHeader();
}

void HeatMapFrame::redraw() {
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void HeatMapFrame::setCurrent(std::optional<Cell> cell) {
    if (m_current == cell) return;
    m_current = cell;
    redraw();
}

void HeatMapFrame::showDescription(Cell cell, QPoint position) {
    QToolTip::showText(m_plot->mapToGlobal(position), plainToolTip(describe(cell)), m_plot);
}

void HeatMapFrame::updateStyle() {
    stylePlot(*m_plot);
    redraw();
}

void HeatMapFrame::keyPressEvent(QKeyEvent* event) {
    if (const std::optional<Cell> cell = cellAfter(event->key())) {
        setCurrent(cell);
        reveal(*cell);
        showDescription(*cell, cellRect(*cell).bottomRight().toPoint());
    } else if (m_current && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
                             event->key() == Qt::Key_Space)) {
        activate(*m_current);
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool HeatMapFrame::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) redraw();
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
}

void HeatMapFrame::paintFrame(QCPPainter& painter) const {
    if (!m_current) return;
    const QRectF marked = cellRect(*m_current);
    if (marked.isEmpty()) return;
    // The frame has two colours, so that one of them contrasts with any cell.
    const QColor base = m_plot->palette().color(QPalette::Base),
                 text = m_plot->palette().color(QPalette::Text);
    const double width = m_plot->hasFocus() ? 3 : 2;
    painter.setAntialiasing(false);
    painter.setBrush(Qt::NoBrush);
    for (const QPen& pen : {QPen(base, width + 3), QPen(text, width)}) {
        painter.setPen(pen);
        painter.drawRect(marked);
    }
}

}  // namespace placewright
