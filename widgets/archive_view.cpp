// SPDX-License-Identifier: MIT
#include "widgets/archive_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <QComboBox>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QSlider>
#include <QStackedWidget>
#include <QToolTip>
#include <QVBoxLayout>

#include "core/base/units.hpp"
#include "core/search/evaluator.hpp"
#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool betterThan(const Score& a, const Score& b) {
    return a.fits != b.fits ? a.fits : a.seconds < b.seconds;
}

bool sameDimensions(const ArchiveView* a, const ArchiveView* b) {
    const auto same = [](const ArchiveView::Dimension& x, const ArchiveView::Dimension& y) {
        return x.title == y.title && x.size == y.size && x.labels == y.labels;
    };
    return a && b && std::equal(a->dimensions.begin(), a->dimensions.end(), b->dimensions.begin(), b->dimensions.end(), same);
}

}  // namespace

ArchiveMap::ArchiveMap(QWidget* parent) : QWidget(parent) {
    m_header = new QLabel(this);
    m_header->setObjectName("header");
    m_header->setWordWrap(true);
    m_header->setMargin(4);

    m_controls = new QWidget(this);
    auto* choosers = new QGridLayout(m_controls);
    choosers->setContentsMargins(4, 0, 4, 4);
    const std::array names{tr("Horizontal"), tr("Vertical")};
    for (int axis = 0; axis < 2; ++axis) {
        QComboBox*& chooser = m_choosers[axis];
        chooser = new QComboBox(m_controls);
        chooser->setObjectName(axis == 0 ? "x" : "y");
        chooser->setAccessibleName(tr("%1 dimension").arg(names[axis]));
        chooser->setToolTip(axis == 0 ? tr("Dimension of the archive that is drawn from left to right")
                                      : tr("Dimension of the archive that is drawn upwards"));
        chooser->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        chooser->setMinimumContentsLength(8);
        choosers->addWidget(chooser, 0, 2 * axis);
        connect(chooser, &QComboBox::currentIndexChanged, this, [this, axis](int dimension) { chooseDimension(axis, dimension); });
    }
    choosers->addWidget(new QLabel(QStringLiteral("×"), m_controls), 0, 1);  // the axes have their titles
    for (const int column : {0, 2}) choosers->setColumnStretch(column, 1);
    m_sliders = new QVBoxLayout;
    m_sliders->setContentsMargins(0, 0, 0, 0);
    choosers->addLayout(m_sliders, 1, 0, 1, 3);

    m_plot = new QCustomPlot(this);
    m_plot->setAccessibleName(tr("Archive of elites"));
    m_plot->setFocusPolicy(Qt::StrongFocus);
    m_plot->setInteractions(QCP::Interactions());
    m_plot->installEventFilter(this);
    setFocusProxy(m_plot);
    for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
        axis->grid()->setVisible(false);
        axis->setTickLength(0);
        axis->setSubTicks(false);
    }
    fitAround(*m_plot, false);
    m_map = new QCPColorMap(m_plot->xAxis, m_plot->yAxis);
    m_map->setInterpolate(false);
    m_map->setGradient(cividis().inverted());
    m_scale = new QCPColorScale(m_plot);
    m_scale->setRangeDrag(false);
    m_scale->setRangeZoom(false);
    m_scale->setGradient(cividis().inverted());
    m_scale->setBarWidth(12);
    m_plot->plotLayout()->addElement(0, 1, m_scale);
    m_map->setColorScale(m_scale);
    auto* margins = new QCPMarginGroup(m_plot);
    m_plot->axisRect()->setMarginGroup(QCP::msTop | QCP::msBottom, margins);
    m_scale->setMarginGroup(QCP::msTop | QCP::msBottom, margins);
    addOverlay(m_plot, [this](QCPPainter& painter) { paintOverlay(painter); });

    m_empty = makeEmptyLabel(tr("Run MAP-Elites to fill this archive: it keeps the best placement of each kind, one a cell."), this);
    m_pages = new QStackedWidget(this);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_plot);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_header);
    layout->addWidget(m_controls);
    layout->addWidget(m_pages, 1);

    connect(m_plot, &QCustomPlot::mousePress, this, [this](QMouseEvent* event) { m_pressed = event->pos(); });
    connect(m_plot, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() != Qt::LeftButton || (event->pos() - m_pressed).manhattanLength() > 4) return;
        const std::optional<Cell> cell = cellAt(event->pos());
        setCurrent(cell);
        if (cell) activate(*cell);
    });
    connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (const std::optional<Cell> cell = cellAt(event->pos())) {
            QToolTip::showText(m_plot->mapToGlobal(event->pos()), describe(*cell), m_plot);
        } else {
            QToolTip::hideText();
        }
    });
    updateStyle();
    setArchive(nullptr);
}

void ArchiveMap::setGoal(const QString& title) {
    m_goal = title;
    if (hasDimensions()) updateCells();
}

void ArchiveMap::setArchive(std::shared_ptr<const ArchiveView> archive) {
    const bool same = sameDimensions(m_archive.get(), archive.get());
    m_archive = std::move(archive);
    const bool shows = hasDimensions();
    if (!same) {
        const std::size_t dimensions = shows ? m_archive->dimensions.size() : 0;
        m_current.reset();
        m_position.assign(dimensions, -1);
        m_stride.assign(dimensions, 1);
        for (std::size_t i = dimensions; i-- > 1;) m_stride[i - 1] = m_stride[i] * m_archive->dimensions[i].size;
        // The longest dimension has most room from left to right.
        std::vector<int> longestFirst(dimensions);
        std::iota(longestFirst.begin(), longestFirst.end(), 0);
        std::stable_sort(longestFirst.begin(), longestFirst.end(),
                         [this](int a, int b) { return m_archive->dimensions[a].size > m_archive->dimensions[b].size; });
        m_axes = {dimensions > 0 ? longestFirst[0] : -1, dimensions > 1 ? longestFirst[1] : -1};
    }
    updateCells();  // first, for whatever repaints the plot below
    if (!same) {
        rebuildControls();
        updateTicks();
    }
    updateHeader();
    m_controls->setVisible(shows);
    m_header->setVisible(shows);
    m_pages->setCurrentWidget(shows ? m_plot : m_empty);
}

void ArchiveMap::renderWhole(QPainter& painter, const QRect& target) const {
    renderPlot(*m_plot, painter, target);
}

void ArchiveMap::keyPressEvent(QKeyEvent* event) {
    const auto step = [&]() -> std::optional<Cell> {
        switch (event->key()) {
            case Qt::Key_Left:
                return Cell{-1, 0};
            case Qt::Key_Right:
                return Cell{1, 0};
            case Qt::Key_Up:
                return Cell{0, 1};
            case Qt::Key_Down:
                return Cell{0, -1};
            default:
                return std::nullopt;
        }
    }();
    if (step && !m_shown.empty()) {
        const Cell from = m_current.value_or(Cell{-step->x, -step->y});
        const Cell to{std::clamp(from.x + step->x, 0, cellsAlong(0) - 1), std::clamp(from.y + step->y, 0, cellsAlong(1) - 1)};
        setCurrent(to);
        QToolTip::showText(m_plot->mapToGlobal(cellRect(to).bottomRight().toPoint()), describe(to), m_plot);
    } else if (m_current && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space)) {
        activate(*m_current);
    } else {
        QWidget::keyPressEvent(event);
    }
}

bool ArchiveMap::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_plot) {
        if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) m_plot->replot(QCustomPlot::rpQueuedReplot);
        if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) updateStyle();
    }
    return QWidget::eventFilter(watched, event);
}

int ArchiveMap::cellsAlong(int axis) const {
    return m_axes[axis] < 0 ? 1 : static_cast<int>(m_archive->dimensions[m_axes[axis]].size);
}

int ArchiveMap::coordinate(std::uint32_t cell, int dimension) const {
    return dimension < 0 ? 0 : static_cast<int>(cell / m_stride[dimension] % m_archive->dimensions[dimension].size);
}

QString ArchiveMap::cellLabel(int dimension, int position) const {
    const std::vector<std::string>& labels = m_archive->dimensions[dimension].labels;
    return static_cast<std::size_t>(position) < labels.size() ? QString::fromStdString(labels[position]) : QString::number(position);
}

const ArchiveView::Elite* ArchiveMap::eliteAt(Cell cell) const {
    return m_shown[static_cast<std::size_t>(cell.y) * cellsAlong(0) + cell.x];
}

QRectF ArchiveMap::cellRect(Cell cell) const {
    const QPointF topLeft(m_plot->xAxis->coordToPixel(cell.x - 0.5), m_plot->yAxis->coordToPixel(cell.y + 0.5));
    return {topLeft, QPointF(m_plot->xAxis->coordToPixel(cell.x + 0.5), m_plot->yAxis->coordToPixel(cell.y - 0.5))};
}

std::optional<ArchiveMap::Cell> ArchiveMap::cellAt(QPointF position) const {
    if (m_shown.empty() || !m_plot->axisRect()->rect().contains(position.toPoint())) return std::nullopt;
    const auto at = [](const QCPAxis& axis, double pixel, int cells) {
        return std::clamp(static_cast<int>(std::lround(axis.pixelToCoord(pixel))), 0, cells - 1);
    };
    const Cell under{at(*m_plot->xAxis, position.x(), cellsAlong(0)), at(*m_plot->yAxis, position.y(), cellsAlong(1))};
    if (eliteAt(under)) return under;

    constexpr double kReach = 4;  // pixels
    const QRectF size = cellRect(under);
    const int reachX = static_cast<int>(kReach / size.width()), reachY = static_cast<int>(kReach / size.height());
    std::optional<Cell> nearest;
    double distance = kReach * kReach;
    for (int y = std::max(0, under.y - reachY); y <= std::min(cellsAlong(1) - 1, under.y + reachY); ++y) {
        for (int x = std::max(0, under.x - reachX); x <= std::min(cellsAlong(0) - 1, under.x + reachX); ++x) {
            const QPointF away = cellRect({x, y}).center() - position;
            if (!eliteAt({x, y}) || QPointF::dotProduct(away, away) > distance) continue;
            distance = QPointF::dotProduct(away, away);
            nearest = Cell{x, y};
        }
    }
    return nearest.value_or(under);
}

QString ArchiveMap::describe(Cell cell) const {
    const ArchiveView::Elite* elite = eliteAt(cell);
    QStringList lines;
    for (int dimension = 0; dimension < static_cast<int>(m_position.size()); ++dimension) {
        const int along = dimension == m_axes[0] ? cell.x : dimension == m_axes[1] ? cell.y : m_position[dimension];
        if (!elite && along < 0) continue;
        const int position = elite ? coordinate(elite->cell, dimension) : along;
        lines << QString::fromStdString(m_archive->dimensions[dimension].title) % QStringLiteral(": ") % cellLabel(dimension, position);
    }
    if (!elite) {
        lines << tr("empty");
    } else {
        const QString time = QString::fromStdString(format_seconds(elite->score.step_time_s));
        if (elite->score == kUndefinedScore)
            lines << tr("%1 not defined").arg(m_goal.toLower());
        else
            lines << (elite->score.fits ? tr("%1 %2") : tr("%1 %2, does not fit the memory")).arg(m_goal.toLower(), time);
    }
    return lines.join(u'\n');
}

void ArchiveMap::chooseDimension(int axis, int dimension) {
    if (dimension < 0 || m_axes[axis] == dimension) return;
    const int other = 1 - axis;
    if (m_axes[other] == dimension) m_axes[other] = m_axes[axis];
    m_axes[axis] = dimension;
    m_current.reset();
    updateCells();
    rebuildControls();
    updateTicks();
}

void ArchiveMap::rebuildControls() {
    for (int axis = 0; axis < 2; ++axis) {
        const QSignalBlocker blocker(m_choosers[axis]);
        m_choosers[axis]->clear();
        for (const auto& dimension : m_archive ? m_archive->dimensions : std::vector<ArchiveView::Dimension>{}) {
            m_choosers[axis]->addItem(QString::fromStdString(dimension.title));
        }
        m_choosers[axis]->setCurrentIndex(m_axes[axis]);
        m_choosers[axis]->setEnabled(m_axes[axis] >= 0);
    }
    rebuildSliders();
}

void ArchiveMap::rebuildSliders() {
    while (QLayoutItem* item = m_sliders->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (int dimension = 0; dimension < static_cast<int>(m_position.size()); ++dimension) {
        if (dimension == m_axes[0] || dimension == m_axes[1]) continue;
        const QString title = QString::fromStdString(m_archive->dimensions[dimension].title);
        auto* row = new QWidget(m_controls);
        auto* slider = new QSlider(Qt::Horizontal, row);
        auto* value = new QLabel(row);
        slider->setRange(-1, static_cast<int>(m_archive->dimensions[dimension].size) - 1);
        slider->setPageStep(1);
        slider->setAccessibleName(title);
        slider->setToolTip(tr("Shows only the elites at one place of “%1”; leftmost: the best over all of it").arg(title));
        value->setObjectName("position");
        value->setMinimumWidth(fontMetrics().horizontalAdvance(tr("all: best over it")));
        const auto showPosition = [this, value, dimension](int position) {
            value->setText(position < 0 ? tr("all: best over it") : cellLabel(dimension, position));
        };
        slider->setValue(m_position[dimension]);
        showPosition(m_position[dimension]);
        connect(slider, &QSlider::valueChanged, this, [this, dimension, showPosition](int position) {
            m_position[dimension] = position;
            showPosition(position);
            updateCells();
        });
        auto* layout = new QHBoxLayout(row);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(new QLabel(title, row));
        layout->addWidget(slider, 1);
        layout->addWidget(value);
        m_sliders->addWidget(row);
    }
}

void ArchiveMap::updateCells() {
    if (!hasDimensions()) {
        m_shown.clear();
        return;
    }
    const int columns = cellsAlong(0), rows = cellsAlong(1);
    m_shown.assign(static_cast<std::size_t>(columns) * rows, nullptr);
    double best = kInfinity;
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits) best = std::min(best, elite.score.step_time_s);
        bool inSlice = true;
        for (int dimension = 0; dimension < static_cast<int>(m_position.size()) && inSlice; ++dimension) {
            const bool drawn = dimension == m_axes[0] || dimension == m_axes[1];
            inSlice = drawn || m_position[dimension] < 0 || coordinate(elite.cell, dimension) == m_position[dimension];
        }
        if (!inSlice) continue;
        const ArchiveView::Elite*& shown =
            m_shown[static_cast<std::size_t>(coordinate(elite.cell, m_axes[1])) * columns + coordinate(elite.cell, m_axes[0])];
        if (!shown || betterThan(elite.score, shown->score)) shown = &elite;
    }

    // Over the whole archive, so that the colours keep their meaning while the slider moves.
    double worst = 0;
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits && elite.score.step_time_s <= kRelevantFactor * best) worst = std::max(worst, elite.score.step_time_s);
    }
    const TimeUnit unit = timeUnitFor(std::isfinite(best) ? best : 0);
    // QCPColorMap cannot draw a single row or column; the second one is outside of the axes' ranges.
    QCPColorMapData& cells = *m_map->data();
    cells.setSize(std::max(columns, 2), std::max(rows, 2));
    cells.setRange({0, std::max(columns, 2) - 1.0}, {0, std::max(rows, 2) - 1.0});
    cells.fill(std::numeric_limits<double>::quiet_NaN());
    for (int y = 0; y < rows; ++y) {
        for (int x = 0; x < columns; ++x) {
            const ArchiveView::Elite* elite = eliteAt({x, y});
            if (elite && elite->score.fits) cells.setCell(x, y, elite->score.step_time_s * unit.per_second);
        }
    }
    const double low = std::isfinite(best) ? best * unit.per_second : 0, high = worst * unit.per_second;
    m_map->setDataRange({low, std::max(high, low + std::max(1e-3 * low, 1e-9))});
    m_scale->setVisible(std::isfinite(best));
    setAxisTitle(*m_scale->axis(), m_goal, unit.name);
    m_plot->xAxis->setRange(-0.5, columns - 0.5);
    m_plot->yAxis->setRange(-0.5, rows - 0.5);
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void ArchiveMap::updateHeader() {
    if (!hasDimensions()) return;
    std::size_t niches = 1, misfits = 0;
    for (const ArchiveView::Dimension& dimension : m_archive->dimensions) niches *= dimension.size;
    double best = kInfinity;
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits) {
            best = std::min(best, elite.score.step_time_s);
        } else {
            ++misfits;
        }
    }
    QStringList parts{tr("%L1 of %L2 niches filled").arg(m_archive->elites.size()).arg(niches)};
    if (misfits > 0) parts << tr("%L1 do not fit").arg(misfits);
    if (std::isfinite(best)) parts << tr("best %1").arg(QString::fromStdString(format_seconds(best)));
    m_header->setText(parts.join(QStringLiteral(" · ")));
}

void ArchiveMap::updateTicks() {
    if (!hasDimensions()) return;
    for (int axis = 0; axis < 2; ++axis) {
        QCPAxis& target = axis == 0 ? *m_plot->xAxis : *m_plot->yAxis;
        const int dimension = m_axes[axis];
        QStringList labels;
        for (int cell = 0; dimension >= 0 && cell < cellsAlong(axis); ++cell) labels << cellLabel(dimension, cell);
        target.setTicker(QSharedPointer<CellTicker>::create(target, labels));
        target.setTickLabels(dimension >= 0);
        setAxisTitle(target, dimension < 0 ? QString() : QString::fromStdString(m_archive->dimensions[dimension].title));
    }
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void ArchiveMap::updateStyle() {
    stylePlot(*m_plot);
    updateTicks();
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void ArchiveMap::paintOverlay(QCPPainter& painter) const {
    if (m_shown.empty()) return;
    constexpr double kSmallest = 6;  // pixels; lines between smaller cells would hide them
    const QColor base = m_plot->palette().color(QPalette::Base), text = m_plot->palette().color(QPalette::Text);
    const QColor grey = mixedColor(base, text, 0.35F);
    painter.setAntialiasing(false);
    painter.setPen(Qt::NoPen);
    for (int y = 0; y < cellsAlong(1); ++y) {
        for (int x = 0; x < cellsAlong(0); ++x) {
            const ArchiveView::Elite* elite = eliteAt({x, y});
            if (!elite || elite->score.fits) continue;
            painter.fillRect(cellRect({x, y}), mixedColor(base, text, 0.1F));
            painter.fillRect(cellRect({x, y}), QBrush(grey, Qt::BDiagPattern));
        }
    }
    const QRectF first = cellRect({0, 0});
    painter.setPen(mixedColor(base, text, 0.12F));
    if (first.width() >= kSmallest) {
        for (int x = 1; x < cellsAlong(0); ++x)
            painter.drawLine(QLineF(cellRect({x, 0}).bottomLeft(), cellRect({x, cellsAlong(1) - 1}).topLeft()));
    }
    if (first.height() >= kSmallest) {
        for (int y = 1; y < cellsAlong(1); ++y)
            painter.drawLine(QLineF(cellRect({0, y}).bottomLeft(), cellRect({cellsAlong(0) - 1, y}).bottomRight()));
    }
    if (m_current) {
        // Two colours, one of which is seen on any cell.
        const double width = m_plot->hasFocus() ? 3 : 2;
        for (const QPen& pen : {QPen(base, width + 3), QPen(text, width)}) {
            painter.setPen(pen);
            painter.drawRect(cellRect(*m_current));
        }
    }
}

void ArchiveMap::setCurrent(std::optional<Cell> cell) {
    if (m_current == cell) return;
    m_current = cell;
    m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void ArchiveMap::activate(Cell cell) {
    const ArchiveView::Elite* elite = eliteAt(cell);
    if (elite && elite->placement) Q_EMIT eliteActivated(elite->placement, elite->score.step_time_s);
}

}  // namespace placewright
