// SPDX-License-Identifier: MIT
#include "widgets/plot_frame.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QStackedWidget>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>

#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {

PlotFrame::PlotFrame(Legend legend, const QString& accessibleName, const QString& fitTip, QWidget* parent)
    : QWidget(parent), m_legendInPictures(legend == Legend::in_pictures) {
    m_fit = new QToolButton(this);
    m_fit->setObjectName("fit");
    m_fit->setText(tr("Fit"));
    m_fit->setToolTip(fitTip);
    m_fit->setFocusPolicy(Qt::StrongFocus);

    auto* filled = new QWidget(this);
    m_plot = new QCustomPlot(filled);
    m_plot->setAccessibleName(accessibleName);
    m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    m_plot->setNoAntialiasingOnDrag(true);
    fitAround(*m_plot, legend == Legend::on_screen);
    m_filled = new QVBoxLayout(filled);
    m_filled->setContentsMargins(0, 0, 0, 0);
    m_filled->setSpacing(0);
    m_filled->addWidget(m_plot, 1);

    m_empty = makeEmptyLabel({}, this);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(filled);

    m_controls = new QHBoxLayout;
    m_controls->setContentsMargins(4, 4, 4, 4);
    m_controls->setSpacing(8);
    m_controls->addStretch(1);
    m_controls->addWidget(m_fit);
    m_layout = new QVBoxLayout(this);
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(0);
    m_layout->addLayout(m_controls);
    m_layout->addWidget(m_pages, 1);

    connect(m_fit, &QToolButton::clicked, this, &PlotFrame::fitAgain);
    connect(m_plot, &QCustomPlot::mouseDoubleClick, this, [this](QMouseEvent* event) {
        if (!doubleClicked(event->pos())) fitAgain();
    });
    connect(m_plot, &QCustomPlot::mouseWheel, this, [this] { m_following = false; });
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton) m_following = false;
        showValueAt(event->pos());
    });
    m_plot->installEventFilter(this);
}

void PlotFrame::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, target, m_legendInPictures);
}

bool PlotFrame::isEmpty() const {
    return m_pages->currentIndex() == 0;
}

void PlotFrame::setEmptyText(const QString& text) {
    m_empty->setText(text);
}

void PlotFrame::addControl(QWidget* control, const QString& name, const QString& toolTip) {
    control->setObjectName(name);
    control->setToolTip(toolTip);
    m_controls->insertWidget(m_controls->count() - 2, control);
    setTabOrder(control, m_fit);
}

QCheckBox* PlotFrame::addCheck(const QString& name, const QString& text, const QString& toolTip) {
    auto* check = new QCheckBox(text, this);
    addControl(check, name, toolTip);
    return check;
}

QComboBox* PlotFrame::addChoice(const QString& name, const QStringList& items, const QString& accessibleName,
                                const QString& toolTip) {
    auto* choice = new QComboBox(this);
    choice->addItems(items);
    choice->setAccessibleName(accessibleName);
    addControl(choice, name, toolTip);
    return choice;
}

void PlotFrame::addAbove(QWidget* widget) {
    m_layout->insertWidget(m_layout->count() - 1, widget);
}

void PlotFrame::addBelow(QWidget* widget) {
    m_filled->addWidget(widget);
}

void PlotFrame::addBeside(QWidget* widget) {
    m_controls->insertWidget(0, widget, 1);
    m_controls->setStretch(m_controls->count() - 2, 0);
}

void PlotFrame::addTracer() {
    m_tracer = new QCPItemTracer(m_plot);
    m_tracer->setStyle(QCPItemTracer::tsCircle);
    m_tracer->setSize(8);
    m_tracer->setVisible(false);
}

void PlotFrame::setEmpty(bool empty) {
    m_pages->setCurrentIndex(empty ? 0 : 1);
}

void PlotFrame::fitAgain() {
    follow();
    updateAxes();
}

void PlotFrame::showValue(QPointF point, QPoint position, const QString& text) {
    m_tracer->position->setCoords(point);
    m_tracer->setVisible(true);
    QToolTip::showText(m_plot->mapToGlobal(position), plainToolTip(text), m_plot);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void PlotFrame::hideValue() {
    if (m_tracer == nullptr || !m_tracer->visible()) return;
    m_tracer->setVisible(false);
    QToolTip::hideText();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void PlotFrame::updateStyle() {
    stylePlot(*m_plot);
    if (m_tracer != nullptr) m_tracer->setPen(QPen(m_plot->palette().color(QPalette::Text), 1.5));
}

bool PlotFrame::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::Leave) hideValue();
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace placewright
