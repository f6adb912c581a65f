// SPDX-License-Identifier: MIT
#include "app/window/op_drag.hpp"

#include <cmath>

#include <QLabel>

#include "app/window/option_text.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr QPoint kGhostOffset(14, 18);
constexpr int kScrollMs = 30;  ///< between two steps of scrolling at an edge

}  // namespace

OpDrag::OpDrag(Document* document, DevicePanel* panel, TimelineView* timeline, QObject* parent)
    : QObject(parent),
      m_document(document),
      m_panel(panel),
      m_timeline(timeline),
      m_ghost(std::make_unique<QLabel>()) {
    m_ghost->setWindowFlags(Qt::ToolTip | Qt::FramelessWindowHint | Qt::WindowTransparentForInput);
    m_ghost->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_ghost->setAttribute(Qt::WA_ShowWithoutActivating);
    m_ghost->setMargin(6);
    m_ghost->setFrameShape(QFrame::Box);
    connect(m_document, &Document::previewReady, this, [this](const DropPreviews& previews) {
        if (!isActive()) return;
        m_previews = previews;
        showPreviews();
    });
    connect(m_document, &Document::problemChanged, this, &OpDrag::end);
    m_scrolling.setInterval(kScrollMs);
    connect(&m_scrolling, &QTimer::timeout, this, [this] {
        for (OpView* view : std::initializer_list<OpView*>{m_panel, m_timeline})
            view->scrollAtEdge(m_position);
    });
    // The rows may be scrolled under a pointer that does not move.
    for (const OpView* view : std::initializer_list<const OpView*>{m_panel, m_timeline})
        connect(view, &OpView::dropTargetsMoved, this, [this] { move(m_position); });
    // A search may change the placement meanwhile, and with it the effect of the drop.
    connect(m_document, &Document::placementChanged, this, [this] {
        if (isActive()) m_document->requestPreview(m_ops);
    });
}

OpDrag::~OpDrag() = default;

void OpDrag::watch(OpView* view) {
    connect(view, &OpView::opDragStarted, this, &OpDrag::begin);
    connect(view, &OpView::opDragMoved, this, &OpDrag::move);
    connect(view, &OpView::opDropped, this, &OpDrag::drop);
    connect(view, &OpView::opDragCancelled, this, &OpDrag::end);
}

std::optional<DeviceId> OpDrag::deviceAt(QPoint global) const {
    if (const auto device = m_panel->deviceAt(global)) return device;
    return m_timeline->deviceAt(global);
}

void OpDrag::begin(const OpList& ops, QPoint global) {
    m_ops = ops;
    m_previews.clear();
    m_document->requestPreview(ops);
    m_panel->setDropsExpected(true);
    m_scrolling.start();
    move(global);
}

void OpDrag::move(QPoint global) {
    if (!isActive()) return;
    m_position = global;
    m_target = deviceAt(global);
    showPreviews();
}

void OpDrag::drop(QPoint global) {
    if (!isActive()) return;
    const OpList ops = m_ops;
    const auto device = deviceAt(global);
    end();
    if (device) m_document->moveOps(ops, *device);
}

void OpDrag::end() {
    m_scrolling.stop();
    m_ops.clear();
    m_previews.clear();
    m_target.reset();
    m_document->cancelPreview();
    m_ghost->hide();
    m_panel->setDropPreview({}, {});
    m_timeline->setDropPreview({}, {});
    m_panel->setDropsExpected(false);
}

void OpDrag::showPreviews() {
    m_panel->setDropPreview(m_previews, m_target);
    m_timeline->setDropPreview(m_previews, m_target, !m_timeline->deviceAt(m_position));

    const Problem& problem = *m_document->problem();
    QString text = m_ops.size() == 1 ? QString::fromStdString(problem.graph->op(m_ops.front()).name)
                                     : opsText(m_ops.size());
    if (m_target) {
        text += QStringLiteral(" → ") + QString::fromStdString(problem.machine->device(*m_target).name);
        if (*m_target < m_previews.size()) {
            const DropPreview& preview = m_previews[*m_target];
            if (!preview.possible) {
                text += tr("\nnot allowed on this device");
            } else if (!preview.defined) {
                text += tr("\n%1 not defined").arg(objectiveName(*m_document->job().objective));
            } else if (!std::isfinite(preview.change_s)) {
                text += QLatin1Char('\n') + secondsText(preview.step_time_s) +
                        (preview.fits ? QString() : tr(", does not fit"));
            } else {
                text += QLatin1Char('\n') + secondsText(preview.step_time_s - preview.change_s) +
                        QStringLiteral(" → ") + secondsText(preview.step_time_s) +
                        (preview.fits ? QString() : tr(", does not fit"));
            }
            if (const QString memory = dropMemoryText(preview); !memory.isEmpty())
                text += tr("\nmemory %1").arg(memory);
        }
    } else {
        text += tr("\ndrop on a device");
    }
    m_ghost->setText(text);
    m_ghost->adjustSize();
    m_ghost->move(m_position + kGhostOffset);
    m_ghost->show();
}

}  // namespace placewright
