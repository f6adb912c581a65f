// SPDX-License-Identifier: MIT
#include "app/window/machine/what_if_panel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QVBoxLayout>

#include "app/window/document.hpp"
#include "app/window/option_text.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"
#include "widgets/topology_view.hpp"

namespace placewright {
namespace {

constexpr int kEnd = 100;  ///< position of the largest factor
constexpr int kCatch = 2;  ///< positions round the centre that count as it, while the mouse holds the slider
constexpr int kEndsMs = 800;

QString timesText(double factor) {
    return QStringLiteral("×%1").arg(factor, 0, 'f', 2);
}

}  // namespace

double WhatIfPanel::factorAt(int position) {
    return position == 0 ? 1 : std::pow(kMostFactor, static_cast<double>(position) / kEnd);
}

int WhatIfPanel::positionOf(double factor) {
    return static_cast<int>(std::lround(std::log(factor) / std::log(kMostFactor) * kEnd));
}

WhatIfPanel::WhatIfPanel(Document* document, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_topology(new TopologyView),
      m_target(new QLabel),
      m_result(new QLabel),
      m_reset(new QPushButton(tr("Reset"))),
      m_edit(new QPushButton(tr("Edit…"))) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->setSpacing(2);
    m_topology->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    layout->addWidget(m_topology, 1);
    m_target->setObjectName(QStringLiteral("whatIfTarget"));
    m_target->setForegroundRole(QPalette::PlaceholderText);
    layout->addWidget(m_target);
    auto* grid = new QGridLayout;
    grid->setVerticalSpacing(0);
    grid->setColumnStretch(1, 1);
    layout->addLayout(grid);
    addRow(grid, tr("Bandwidth"), QStringLiteral("bandwidthFactor"),
           tr("Bandwidth of all links, or of the link that is selected in the picture; double-click: ×1"),
           &WhatIf::bandwidth, true);
    addRow(grid, tr("Memory"), QStringLiteral("memoryFactor"),
           tr("Memory of all devices, or of the selected one; double-click: ×1"), &WhatIf::memory, false);
    addRow(grid, tr("Speed"), QStringLiteral("speedFactor"),
           tr("Peak FLOP/s and memory bandwidth of all devices, or of the selected one; measured times and "
              "launch overheads stay; double-click: ×1"),
           &WhatIf::speed, false);
    m_result->setObjectName(QStringLiteral("whatIfResult"));
    m_result->setAccessibleName(tr("Effect of the factors"));
    m_result->setWordWrap(true);
    m_result->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_result->setMinimumHeight(2 * fontMetrics().lineSpacing());
    m_result->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    layout->addWidget(m_result);
    auto* buttons = new QHBoxLayout;
    m_reset->setObjectName(QStringLiteral("resetFactors"));
    m_reset->setToolTip(tr("Set all factors to 1"));
    m_edit->setObjectName(QStringLiteral("editMachine"));
    m_edit->setToolTip(tr("Change single figures of devices and links, add and remove devices"));
    buttons->addWidget(m_reset);
    buttons->addStretch(1);
    buttons->addWidget(m_edit);
    layout->addLayout(buttons);
    connect(m_edit, &QPushButton::clicked, this, &WhatIfPanel::editRequested);
    connect(m_reset, &QPushButton::clicked, this, [this] {
        m_document->setWhatIf({});
        m_document->endWhatIf();
        showFactors();
    });
    connect(m_topology, &TopologyView::selectionEdited, this, [this] {
        m_document->endWhatIf();
        showFactors();
    });
    m_ends.setSingleShot(true);
    m_ends.setInterval(kEndsMs);
    connect(&m_ends, &QTimer::timeout, m_document, &Document::endWhatIf);
    connect(document, &Document::problemChanged, this, &WhatIfPanel::showMachine);
    connect(document, &Document::machineChanged, this, &WhatIfPanel::showMachine);
    connect(document, &Document::loadingChanged, this, &WhatIfPanel::showFactors);
    connect(document, &Document::timelineChanged, this, &WhatIfPanel::showResult);
    connect(document, &Document::valueWithoutFactorsChanged, this, &WhatIfPanel::showResult);
    showMachine();
}

void WhatIfPanel::addRow(QGridLayout* grid, const QString& title, const QString& name, const QString& tip,
                         std::vector<double> WhatIf::*factors, bool ofChannels) {
    Row row{new QSlider(Qt::Horizontal), new QLabel, factors, ofChannels};
    row.slider->setObjectName(name);
    row.slider->setRange(-kEnd, kEnd);
    row.slider->setSingleStep(2);
    row.slider->setPageStep(kEnd / 2);  // a factor of 2
    row.slider->setAccessibleName(title);
    row.slider->setToolTip(tip);
    row.slider->setFocusPolicy(Qt::StrongFocus);  // not by the wheel
    row.slider->installEventFilter(this);
    auto* label = new QLabel(title);
    label->setToolTip(tip);
    row.value->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("×0.00 …")));
    row.value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    const int at = grid->rowCount();
    grid->addWidget(label, at, 0);
    grid->addWidget(row.slider, at, 1);
    grid->addWidget(row.value, at, 2);
    const std::size_t index = m_rows.size();
    m_rows.push_back(row);
    connect(row.slider, &QSlider::valueChanged, this, [this, index] {
        if (!m_showing) change(m_rows[index]);
    });
    connect(row.slider, &QSlider::sliderPressed, m_document, &Document::endWhatIf);
    connect(row.slider, &QSlider::sliderReleased, m_document, &Document::endWhatIf);
}

void WhatIfPanel::focusFirst() {
    m_rows.front().slider->setFocus();
}

bool WhatIfPanel::eventFilter(QObject* watched, QEvent* event) {
    // The wheel scrolls the panel; a factor would stop the searches.
    if (event->type() == QEvent::Wheel) {
        if (const auto* slider = qobject_cast<QSlider*>(watched); slider != nullptr && !slider->hasFocus()) {
            event->ignore();
            return true;
        }
    }
    if (event->type() == QEvent::MouseButtonDblClick) {
        if (auto* slider = qobject_cast<QSlider*>(watched); slider != nullptr && slider->isEnabled()) {
            slider->setValue(0);
            m_document->endWhatIf();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

std::vector<std::size_t> WhatIfPanel::itemsOf(const Row& row) const {
    if (row.ofChannels) {
        const std::vector<ChannelId> channels = m_topology->selectedChannels();
        if (!channels.empty()) return {channels.begin(), channels.end()};
    } else if (const auto device = m_topology->selectedDevice()) {
        return {*device};
    }
    const Machine& machine = *m_document->whatIfBase();
    std::vector<std::size_t> all(row.ofChannels ? machine.channels().size() : machine.devices().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

void WhatIfPanel::change(const Row& row) {
    if (!m_document->editHindrance().isEmpty()) return showFactors();
    int position = row.slider->value();
    if (row.slider->isSliderDown() && std::abs(position) <= kCatch) position = 0;
    const Machine& machine = *m_document->whatIfBase();
    const std::size_t count = row.ofChannels ? machine.channels().size() : machine.devices().size();
    WhatIf factors = m_document->whatIf();
    for (const std::size_t item : itemsOf(row))
        set_factor(factors.*row.factors, count, item, factorAt(position));
    m_document->setWhatIf(factors);
    if (!row.slider->isSliderDown()) m_ends.start();
    showFactors();
}

void WhatIfPanel::showMachine() {
    m_topology->setMachine(m_document->isOpen() ? m_document->job().machine : nullptr);
    showFactors();
    showResult();
}

void WhatIfPanel::showFactors() {
    const bool open = m_document->isOpen();
    const QString why = m_document->editHindrance();
    m_edit->setEnabled(open && !m_document->job().own_machine);
    const WhatIf factors = m_document->whatIf();
    m_reset->setEnabled(!factors.is_none());
    m_showing = true;
    for (const Row& row : m_rows) {
        // Loading ends by itself, and must not take the slider out of the hand.
        row.slider->setEnabled(open && !m_document->job().own_machine);
        if (!open) continue;
        const std::vector<std::size_t> items = itemsOf(row);
        const std::vector<double>& of = factors.*row.factors;
        const double first = items.empty() ? 1 : factor_of(of, items.front());
        const bool same =
            std::ranges::all_of(items, [&](std::size_t item) { return factor_of(of, item) == first; });
        if (!row.slider->isSliderDown()) row.slider->setValue(same ? positionOf(first) : 0);
        row.value->setText(same ? timesText(first) : tr("mixed"));
    }
    m_showing = false;
    showTarget();
}

void WhatIfPanel::showTarget() {
    if (!m_document->isOpen()) return m_target->clear();
    const Machine& machine = *m_document->job().machine;
    const std::vector<ChannelId> channels = m_topology->selectedChannels();
    if (const auto device = m_topology->selectedDevice()) {
        m_target->setText(
            tr("Speed and memory of %1; all links").arg(toQString(machine.device(*device).name)));
    } else if (!channels.empty()) {
        const QString name = toQString(machine.channels()[channels.front()].name);
        m_target->setText(channels.size() > 1 ? tr("Bandwidth of %1 and back; all devices").arg(name)
                                              : tr("Bandwidth of %1; all devices").arg(name));
    } else {
        m_target->setText(tr("All devices and links; click one in the picture"));
    }
}

void WhatIfPanel::showResult() {
    QPalette colors = palette();
    if (!m_document->isOpen()) return m_result->clear();
    if (m_document->job().own_machine) {
        m_result->setText(m_document->editHindrance());
    } else if (m_document->whatIf().is_none()) {
        m_result->setText(tr("Move a slider to see the placement on a faster or slower machine."));
    } else if (const Assessment* now = m_document->assessment(); now != nullptr) {
        const auto before_s = m_document->valueWithoutFactors();
        QString text = now->is_defined() ? secondsText(now->score.value_s) : tr("not defined");
        if (now->is_defined() && before_s) text = beforeAndNowText(*before_s, now->score.value_s, text);
        if (now->is_defined() && !now->score.fits) {
            text += tr(", does not fit the memory");
            colors.setColor(QPalette::WindowText, warningColor(palette()));
        }
        if (m_document->options().problem.cost.model->id == "measured")
            text += tr("\nOps with measured times keep them.");
        m_result->setText(text);
    }
    m_result->setPalette(colors);
}

}  // namespace placewright
