// SPDX-License-Identifier: MIT
#include "widgets/elite_axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QSlider>
#include <QToolTip>
#include <QVBoxLayout>

#include "widgets/archive_view.hpp"
#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

/// Draws the axes and lines, and takes the mouse.
class EliteAxes::Canvas : public QWidget {
public:
    explicit Canvas(EliteAxes* owner) : QWidget(owner), m_owner(*owner) {
        setObjectName("axes");
        setAccessibleName(EliteAxes::tr("Parallel axes of elites"));
        setMouseTracking(true);
        setFocusPolicy(Qt::StrongFocus);
        setMinimumHeight(6 * fontMetrics().lineSpacing());
    }

    void paint(QPainter& painter, QRectF area) const {
        const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
        painter.fillRect(area, base);
        painter.setFont(font());
        if (m_owner.m_elites.empty()) {
            painter.setPen(mutedColor(palette()));
            drawEmptyText(
                painter, area.toRect(),
                EliteAxes::tr("Run MAP-Elites to see its elites as lines over the dimensions of the "
                              "archive."));
            return;
        }
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(mixedColor(base, text, 0.12F), 1));
        for (const Elite* elite : m_owner.m_elites) painter.drawPolyline(lineOf(*elite, area));
        QCPColorGradient colors = cividis().inverted();
        const QCPRange range(m_owner.m_best_s, std::max(m_owner.m_worst_s, m_owner.m_best_s * (1 + 1e-9)));
        // The best is drawn last, above all others.
        for (auto elite = m_owner.m_kept.rbegin(); elite != m_owner.m_kept.rend(); ++elite) {
            painter.setPen(QPen(QColor(colors.color((*elite)->score.value_s, range)), 1.5));
            painter.drawPolyline(lineOf(**elite, area));
        }
        for (const Elite* elite : m_owner.m_kept) {
            if (elite != m_hovered && elite->cell != m_owner.m_chosen) continue;
            for (const QPen& pen : {QPen(base, 6), QPen(text, 3)}) {
                painter.setPen(pen);
                painter.drawPolyline(lineOf(*elite, area));
            }
        }
        for (std::size_t axis = 0; axis < m_owner.axes(); ++axis) paintAxis(painter, area, axis);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        paint(painter, rect());
    }

    void mousePressEvent(QMouseEvent* event) override {
        if (event->button() != Qt::LeftButton) return;
        m_pressed = event->pos();
        m_dragged = axisAt(event->pos());
    }
    void mouseMoveEvent(QMouseEvent* event) override {
        if (m_dragged && (event->buttons() & Qt::LeftButton) != 0) {
            if (std::abs(event->pos().y() - m_pressed.y()) > kClick)
                setRange(*m_dragged, m_pressed.y(), event->pos().y());
            return;
        }
        const Elite* elite = axisAt(event->pos()) ? nullptr : eliteAt(event->pos());
        setCursor(axisAt(event->pos()) ? Qt::SizeVerCursor : Qt::ArrowCursor);
        hover(elite, event->pos());
    }
    void mouseReleaseEvent(QMouseEvent* event) override {
        if (event->button() != Qt::LeftButton) return;
        const bool click = (event->pos() - m_pressed).manhattanLength() <= kClick;
        if (m_dragged && click && *m_dragged < m_owner.m_ranges.size()) {
            m_owner.m_ranges[*m_dragged].reset();
            m_owner.update();
        } else if (const Elite* elite = eliteAt(event->pos()); elite != nullptr && click && !m_dragged) {
            m_owner.activate(*elite);
        }
        m_dragged.reset();
    }
    void leaveEvent(QEvent*) override { hover(nullptr, {}); }

    void keyPressEvent(QKeyEvent* event) override {
        const auto& kept = m_owner.m_kept;
        const auto at = std::ranges::find(kept, m_hovered) - kept.begin();
        const auto last = std::ssize(kept) - 1;
        if (event->key() == Qt::Key_Escape) {
            std::ranges::fill(m_owner.m_ranges, std::nullopt);
            m_owner.update();
        } else if (last >= 0 && (event->key() == Qt::Key_Down || event->key() == Qt::Key_Up)) {
            const auto next = at > last                      ? 0
                              : event->key() == Qt::Key_Down ? std::min(at + 1, last)
                                                             : std::max(at - 1, std::ptrdiff_t{0});
            hover(kept[static_cast<std::size_t>(next)], rect().center());
        } else if (event->key() == Qt::Key_Return && m_hovered != nullptr) {
            m_owner.activate(*m_hovered);
        } else {
            QWidget::keyPressEvent(event);
        }
    }

public:
    void forget() {
        m_hovered = nullptr;
        forgetTitles();
    }
    void forgetTitles() { m_staggeredWidth = -1; }
    double xOf(std::size_t axis, const QRectF& area) const {
        const double margin = 7 * fontMetrics().averageCharWidth();
        return area.left() + margin +
               (area.width() - 2 * margin) * static_cast<double>(axis) /
                   std::max(1.0, static_cast<double>(m_owner.axes()) - 1);
    }
    double yOf(double height, const QRectF& area) const {
        const double line = fontMetrics().lineSpacing();
        return area.bottom() - line - height * (area.height() - (isStaggered(area) ? 4 : 3) * line);
    }

private:
    static constexpr int kClick = 3;  ///< pixels
    static constexpr int kReach = 8;  ///< pixels round an axis or a line

    bool isValue(std::size_t axis) const { return axis + 1 == m_owner.axes(); }
    QString titleOf(std::size_t axis) const {
        return isValue(axis) ? m_owner.m_objective
                             : QString::fromStdString(m_owner.m_archive->dimensions[axis].title);
    }
    /// Width for the texts of an axis.
    double roomOf(std::size_t axis, const QRectF& area) const {
        const double x = xOf(axis, area);
        return std::min(area.width() / static_cast<double>(m_owner.axes()),
                        2 * std::min(x - area.left(), area.right() - x) + 60);
    }
    /// Whether titles that are too long to stand side by side stand in two lines, in turn.
    bool isStaggered(const QRectF& area) const {
        if (m_staggeredWidth != area.width()) {
            m_staggeredWidth = area.width();
            m_staggered = false;
            for (std::size_t axis = 0; axis < m_owner.axes(); ++axis)
                m_staggered |= fontMetrics().horizontalAdvance(titleOf(axis)) > roomOf(axis, area);
        }
        return m_staggered;
    }

    QPolygonF lineOf(const Elite& elite, const QRectF& area) const {
        QPolygonF line;
        for (std::size_t axis = 0; axis < m_owner.axes(); ++axis)
            line << QPointF(xOf(axis, area), yOf(m_owner.heightOn(elite, axis), area));
        return line;
    }

    void paintAxis(QPainter& painter, const QRectF& area, std::size_t axis) const {
        const QColor text = palette().color(QPalette::Text), base = palette().color(QPalette::Base);
        const double x = xOf(axis, area), top = yOf(1, area), bottom = yOf(0, area);
        painter.setPen(QPen(mixedColor(base, text, 0.6F), 1));
        painter.drawLine(QPointF(x, top), QPointF(x, bottom));
        if (const auto& range = m_owner.m_ranges[axis]) {
            QColor fill = palette().color(QPalette::Highlight);
            fill.setAlphaF(0.35F);
            painter.fillRect(
                QRectF(QPointF(x - 5, yOf(range->second, area)), QPointF(x + 5, yOf(range->first, area))),
                fill);
        }
        const bool value = isValue(axis), staggered = isStaggered(area);
        const auto& dimensions = m_owner.m_archive->dimensions;
        const QString low = value ? secondsText(m_owner.m_worst_s) : positionLabel(dimensions[axis], 0);
        const QString high = value ? secondsText(m_owner.m_best_s)
                                   : positionLabel(dimensions[axis], dimensions[axis].size - 1);
        const double line = fontMetrics().lineSpacing();
        const auto label = [&](double y, double room, const QString& said) {
            const double left = std::clamp(x - room / 2, area.left(), area.right() - room);
            painter.drawText(QRectF(left, y, room, line), Qt::AlignCenter,
                             fontMetrics().elidedText(said, Qt::ElideRight, static_cast<int>(room)));
        };
        const double room = roomOf(axis, area);
        painter.setPen(text);
        label(area.top() + (staggered && axis % 2 == 1 ? line : 0),
              staggered ? std::min(2 * area.width() / static_cast<double>(m_owner.axes()),
                                   fontMetrics().horizontalAdvance(titleOf(axis)) + 1.0)
                        : room,
              titleOf(axis));
        painter.setPen(mutedColor(palette()));
        label(area.top() + (staggered ? 2 : 1) * line, room, high);
        label(area.bottom() - line, room, low);
    }

    std::optional<std::size_t> axisAt(QPoint position) const {
        for (std::size_t axis = 0; axis < m_owner.axes(); ++axis) {
            if (std::abs(xOf(axis, rect()) - position.x()) <= kReach) return axis;
        }
        return std::nullopt;
    }

    /// The nearest of the kept elites; of those at the same place, the best.
    const Elite* eliteAt(QPoint position) const {
        if (m_owner.axes() < 2) return nullptr;
        std::size_t left = 0;
        while (left + 2 < m_owner.axes() && xOf(left + 1, rect()) < position.x()) ++left;
        const double x0 = xOf(left, rect()), x1 = xOf(left + 1, rect());
        const double share = std::clamp((position.x() - x0) / (x1 - x0), 0.0, 1.0);
        const Elite* nearest = nullptr;
        double distance = kReach;
        for (const Elite* elite : m_owner.m_kept) {
            const double height =
                (1 - share) * m_owner.heightOn(*elite, left) + share * m_owner.heightOn(*elite, left + 1);
            const double away = std::abs(yOf(height, rect()) - position.y());
            if (away >= distance) continue;
            distance = away;
            nearest = elite;
        }
        return nearest;
    }

    void setRange(std::size_t axis, int from, int to) {
        if (axis >= m_owner.m_ranges.size()) return;  // another archive came during the drag
        const double bottom = yOf(0, rect()), length = bottom - yOf(1, rect());
        const auto height = [&](int y) { return std::clamp((bottom - y) / length, 0.0, 1.0); };
        m_owner.m_ranges[axis] = std::minmax({height(from), height(to)});
        m_owner.update();
    }

    void hover(const Elite* elite, QPoint position) {
        if (elite == nullptr) {
            QToolTip::hideText();
        } else {
            QToolTip::showText(mapToGlobal(position),
                               plainToolTip(describeElite(*m_owner.m_archive, *elite, m_owner.m_objective)),
                               this);
        }
        if (m_hovered == elite) return;
        m_hovered = elite;
        QWidget::update();
    }

    EliteAxes& m_owner;
    QPoint m_pressed;
    std::optional<std::size_t> m_dragged;  ///< the axis whose range is being chosen
    const Elite* m_hovered = nullptr;
    mutable double m_staggeredWidth = -1;  ///< for which m_staggered is known
    mutable bool m_staggered = false;
};

EliteAxes::EliteAxes(QWidget* parent) : QWidget(parent), m_objective(tr("Step time")) {
    m_share = new QSlider(Qt::Horizontal, this);
    m_share->setObjectName("share");
    m_share->setRange(1, 100);
    m_share->setValue(100);
    m_share->setAccessibleName(tr("Share of the best elites"));
    m_share->setToolTip(tr("Keeps this share of the elites, the fastest ones"));
    m_shareText = new QLabel(this);
    m_shareText->setMinimumWidth(fontMetrics().horizontalAdvance(tr("Best %1 %").arg(100)));
    m_count = new QLabel(this);
    m_count->setObjectName("kept");
    m_count->setToolTip(
        tr("Drag along an axis to keep the elites within a range; a click on the axis keeps "
           "all of them again"));
    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(4, 4, 4, 4);
    controls->addWidget(m_shareText);
    controls->addWidget(m_share, 1);
    controls->addWidget(m_count);
    m_canvas = new Canvas(this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(controls);
    layout->addWidget(m_canvas, 1);
    setFocusProxy(m_canvas);
    connect(m_share, &QSlider::valueChanged, this, &EliteAxes::update);
    update();
}

void EliteAxes::setObjective(const QString& title) {
    m_objective = title;
    m_canvas->forgetTitles();
    m_canvas->update();
}

void EliteAxes::setArchive(std::shared_ptr<const ArchiveView> archive, int run) {
    if (run != m_run || !sameDimensions(m_archive.get(), archive.get())) {
        m_ranges.assign(archive ? archive->dimensions.size() + 1 : 0, std::nullopt);
        m_chosen.reset();
    }
    m_archive = std::move(archive);
    m_run = run;
    m_canvas->forget();
    m_elites.clear();
    if (m_archive) {
        for (const Elite& elite : m_archive->elites) {
            if (elite.score.fits) m_elites.push_back(&elite);
        }
    }
    std::ranges::stable_sort(m_elites, {}, [](const Elite* elite) { return elite->score.value_s; });
    m_best_s = m_elites.empty() ? 0 : m_elites.front()->score.value_s;
    m_worst_s = m_best_s;
    for (const Elite* elite : m_elites) {
        if (elite->score.value_s <= kRelevantFactor * m_best_s) m_worst_s = elite->score.value_s;
    }
    update();
}

double EliteAxes::heightOn(const Elite& elite, std::size_t axis) const {
    if (axis + 1 == axes()) {
        const double span = m_worst_s - m_best_s;
        return span > 0 ? std::clamp((m_worst_s - elite.score.value_s) / span, 0.0, 1.0) : 1;
    }
    const double size = m_archive->dimensions[axis].size;
    return size > 1 ? positionAlong(*m_archive, elite.cell, axis) / (size - 1) : 0.5;
}

void EliteAxes::update() {
    m_kept.clear();
    const auto most =
        static_cast<std::size_t>(std::ceil(static_cast<double>(m_elites.size()) * m_share->value() / 100.0));
    for (std::size_t i = 0; i < most; ++i) {
        const Elite& elite = *m_elites[i];
        bool within = true;
        for (std::size_t axis = 0; axis < axes() && within; ++axis) {
            const double height = heightOn(elite, axis);
            within = !m_ranges[axis] || (m_ranges[axis]->first <= height && height <= m_ranges[axis]->second);
        }
        if (within) m_kept.push_back(&elite);
    }
    m_shareText->setText(tr("Best %1 %").arg(m_share->value()));
    QString count = tr("%L1 of %L2 elites").arg(m_kept.size()).arg(m_elites.size());
    if (!m_title.isEmpty()) count.prepend(m_title + QStringLiteral(" · "));
    m_count->setText(count);
    m_canvas->update();
}

void EliteAxes::setRun(const QString& title) {
    m_title = title;
    update();
}

void EliteAxes::activate(const Elite& elite) {
    m_chosen = elite.cell;
    m_canvas->update();
    if (elite.placement) Q_EMIT eliteActivated(elite.placement, elite.score.value_s);
}

void EliteAxes::renderWhole(QPainter& painter, const QRect& target) const {
    m_canvas->paint(painter, drawHeader(painter, target, m_count->text(), *this));
}

}  // namespace placewright
