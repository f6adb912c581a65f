// SPDX-License-Identifier: MIT
#include "widgets/archive_view.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <QComboBox>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QSlider>
#include <QVBoxLayout>

#include "core/base/infinity.hpp"
#include "core/base/units.hpp"
#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"

namespace placewright {
namespace {

bool betterThan(const Score& a, const Score& b) {
    return a.fits != b.fits ? a.fits : a.penalised_s < b.penalised_s;
}

bool sameDimensions(const ArchiveView* a, const ArchiveView* b) {
    const auto same = [](const ArchiveView::Dimension& x, const ArchiveView::Dimension& y) {
        return x.title == y.title && x.size == y.size && x.labels == y.labels;
    };
    return a && b &&
           std::equal(a->dimensions.begin(), a->dimensions.end(), b->dimensions.begin(), b->dimensions.end(),
                      same);
}

}  // namespace

ArchiveMap::ArchiveMap(QWidget* parent)
    : HeatMapFrame(tr("Archive of elites"),
                   tr("Run MAP-Elites to fill the archive: each cell keeps the best placement of its kind."),
                   cividis().inverted(), parent) {
    fitAround(*plot(), false);
    makeControls();
    updateStyle();
    setArchive(nullptr);
}

void ArchiveMap::makeControls() {
    m_controls = new QWidget(this);
    auto* choosers = new QGridLayout(m_controls);
    choosers->setContentsMargins(4, 0, 4, 4);
    const std::array names{tr("Horizontal"), tr("Vertical")};
    for (int axis = 0; axis < 2; ++axis) {
        QComboBox*& chooser = m_choosers[axis];
        chooser = new QComboBox(m_controls);
        chooser->setObjectName(axis == 0 ? "x" : "y");
        chooser->setAccessibleName(tr("%1 dimension").arg(names[axis]));
        chooser->setToolTip(axis == 0 ? tr("Archive dimension on the horizontal axis")
                                      : tr("Archive dimension on the vertical axis"));
        chooser->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        chooser->setMinimumContentsLength(8);
        choosers->addWidget(chooser, 0, 2 * axis);
        connect(chooser, &QComboBox::currentIndexChanged, this,
                [this, axis](int dimension) { chooseDimension(axis, dimension); });
    }
    choosers->addWidget(new QLabel(QStringLiteral("×"), m_controls), 0, 1);  // the titles are on the axes
    for (const int column : {0, 2}) choosers->setColumnStretch(column, 1);
    m_sliders = new QVBoxLayout;
    m_sliders->setContentsMargins(0, 0, 0, 0);
    choosers->addLayout(m_sliders, 1, 0, 1, 3);
    addAbove(m_controls);
}

void ArchiveMap::setObjective(const QString& title) {
    m_objective = title;
    if (hasDimensions()) updateCells();
}

void ArchiveMap::setArchive(std::shared_ptr<const ArchiveView> archive) {
    const bool same = sameDimensions(m_archive.get(), archive.get());
    m_archive = std::move(archive);
    const bool shows = hasDimensions();
    if (!same) {
        const std::size_t dimensions = shows ? m_archive->dimensions.size() : 0;
        setCurrent({});
        m_position.assign(dimensions, -1);
        m_stride.assign(dimensions, 1);
        for (std::size_t i = dimensions; i-- > 1;)
            m_stride[i - 1] = m_stride[i] * m_archive->dimensions[i].size;
        // The longest dimension goes on the horizontal axis, which has most room.
        std::vector<int> longestFirst(dimensions);
        std::iota(longestFirst.begin(), longestFirst.end(), 0);
        std::stable_sort(longestFirst.begin(), longestFirst.end(), [this](int a, int b) {
            return m_archive->dimensions[a].size > m_archive->dimensions[b].size;
        });
        m_axes = {dimensions > 0 ? longestFirst[0] : -1, dimensions > 1 ? longestFirst[1] : -1};
    }
    updateCells();  // must come before the calls below, which may repaint the plot
    if (!same) {
        rebuildControls();
        updateTicks();
    }
    updateHeader();
    m_controls->setVisible(shows);
    setEmpty(!shows);
}

std::optional<HeatMapFrame::Cell> ArchiveMap::cellAfter(int key) const {
    const auto step = [&]() -> std::optional<Cell> {
        switch (key) {
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
    if (!step || m_shown.empty()) return std::nullopt;
    const Cell from = current().value_or(Cell{-step->x, -step->y});
    return Cell{std::clamp(from.x + step->x, 0, cellsAlong(0) - 1),
                std::clamp(from.y + step->y, 0, cellsAlong(1) - 1)};
}

int ArchiveMap::cellsAlong(int axis) const {
    return m_axes[axis] < 0 ? 1 : static_cast<int>(m_archive->dimensions[m_axes[axis]].size);
}

int ArchiveMap::coordinate(std::uint32_t cell, int dimension) const {
    return dimension < 0
               ? 0
               : static_cast<int>(cell / m_stride[dimension] % m_archive->dimensions[dimension].size);
}

QString ArchiveMap::cellLabel(int dimension, int position) const {
    const std::vector<std::string>& labels = m_archive->dimensions[dimension].labels;
    return static_cast<std::size_t>(position) < labels.size() ? QString::fromStdString(labels[position])
                                                              : QString::number(position);
}

const ArchiveView::Elite* ArchiveMap::eliteAt(Cell cell) const {
    return m_shown[static_cast<std::size_t>(cell.y) * cellsAlong(0) + cell.x];
}

QRectF ArchiveMap::cellRect(Cell cell) const {
    const QPointF topLeft(plot()->xAxis->coordToPixel(cell.x - 0.5),
                          plot()->yAxis->coordToPixel(cell.y + 0.5));
    return {topLeft,
            QPointF(plot()->xAxis->coordToPixel(cell.x + 0.5), plot()->yAxis->coordToPixel(cell.y - 0.5))};
}

std::optional<HeatMapFrame::Cell> ArchiveMap::cellAt(QPointF position) const {
    if (m_shown.empty() || !plot()->axisRect()->rect().contains(position.toPoint())) return std::nullopt;
    const auto at = [](const QCPAxis& axis, double pixel, int cells) {
        return std::clamp(static_cast<int>(std::lround(axis.pixelToCoord(pixel))), 0, cells - 1);
    };
    const Cell under{at(*plot()->xAxis, position.x(), cellsAlong(0)),
                     at(*plot()->yAxis, position.y(), cellsAlong(1))};
    if (eliteAt(under)) return under;

    constexpr double kReach = 4;  // pixels within which a filled cell is picked
    const QRectF size = cellRect(under);
    const int reachX = static_cast<int>(kReach / size.width()),
              reachY = static_cast<int>(kReach / size.height());
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
        const int along = dimension == m_axes[0]   ? cell.x
                          : dimension == m_axes[1] ? cell.y
                                                   : m_position[dimension];
        if (!elite && along < 0) continue;
        const int position = elite ? coordinate(elite->cell, dimension) : along;
        lines << QString::fromStdString(m_archive->dimensions[dimension].title) % QStringLiteral(": ") %
                     cellLabel(dimension, position);
    }
    if (!elite) {
        lines << tr("empty");
    } else {
        const QString time = QString::fromStdString(format_seconds(elite->score.value_s));
        if (elite->score == kUndefinedScore)
            lines << tr("%1 not defined").arg(m_objective.toLower());
        else
            lines << (elite->score.fits ? tr("%1 %2") : tr("%1 %2, does not fit the memory"))
                         .arg(m_objective.toLower(), time);
    }
    return lines.join(u'\n');
}

void ArchiveMap::chooseDimension(int axis, int dimension) {
    if (dimension < 0 || m_axes[axis] == dimension) return;
    const int other = 1 - axis;
    if (m_axes[other] == dimension) m_axes[other] = m_axes[axis];
    m_axes[axis] = dimension;
    setCurrent({});
    updateCells();
    rebuildControls();
    updateTicks();
}

void ArchiveMap::rebuildControls() {
    for (int axis = 0; axis < 2; ++axis) {
        const QSignalBlocker blocker(m_choosers[axis]);
        m_choosers[axis]->clear();
        for (const auto& dimension :
             m_archive ? m_archive->dimensions : std::vector<ArchiveView::Dimension>{}) {
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
        slider->setToolTip(plainToolTip(
            tr("Value of “%1” whose elites are shown; leftmost: the best over all values").arg(title)));
        value->setObjectName("position");
        value->setTextFormat(Qt::PlainText);
        value->setMinimumWidth(fontMetrics().horizontalAdvance(tr("All (best)")));
        const auto showPosition = [this, value, dimension](int position) {
            value->setText(position < 0 ? tr("All (best)") : cellLabel(dimension, position));
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
        if (elite.score.fits) best = std::min(best, elite.score.value_s);
        bool inSlice = true;
        for (int dimension = 0; dimension < static_cast<int>(m_position.size()) && inSlice; ++dimension) {
            const bool drawn = dimension == m_axes[0] || dimension == m_axes[1];
            inSlice = drawn || m_position[dimension] < 0 ||
                      coordinate(elite.cell, dimension) == m_position[dimension];
        }
        if (!inSlice) continue;
        const ArchiveView::Elite*& shown =
            m_shown[static_cast<std::size_t>(coordinate(elite.cell, m_axes[1])) * columns +
                    coordinate(elite.cell, m_axes[0])];
        if (!shown || betterThan(elite.score, shown->score)) shown = &elite;
    }

    // The range covers the whole archive, so that colours keep their meaning while a slider moves.
    double worst = 0;
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits && elite.score.value_s <= kRelevantFactor * best)
            worst = std::max(worst, elite.score.value_s);
    }
    const TimeUnit unit = timeUnitFor(std::isfinite(best) ? best : 0);
    setMapSize(columns, rows);
    for (int y = 0; y < rows; ++y) {
        for (int x = 0; x < columns; ++x) {
            const ArchiveView::Elite* elite = eliteAt({x, y});
            if (elite && elite->score.fits)
                map()->data()->setCell(x, y, elite->score.value_s * unit.per_second);
        }
    }
    const double low = std::isfinite(best) ? best * unit.per_second : 0, high = worst * unit.per_second;
    map()->setDataRange({low, std::max(high, low + std::max(1e-3 * low, 1e-9))});
    scale()->setVisible(std::isfinite(best));
    setAxisTitle(*scale()->axis(), m_objective, unit.name);
    plot()->xAxis->setRange(-0.5, columns - 0.5);
    plot()->yAxis->setRange(-0.5, rows - 0.5);
    redraw();
}

void ArchiveMap::updateHeader() {
    if (!hasDimensions()) return;
    std::size_t niches = 1, misfits = 0;
    for (const ArchiveView::Dimension& dimension : m_archive->dimensions) niches *= dimension.size;
    double best = kInfinity;
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits) {
            best = std::min(best, elite.score.value_s);
        } else {
            ++misfits;
        }
    }
    QStringList parts{tr("%L1 of %L2 niches filled").arg(m_archive->elites.size()).arg(niches)};
    if (misfits > 0) parts << tr("%L1 do not fit").arg(misfits);
    if (std::isfinite(best)) parts << tr("best %1").arg(QString::fromStdString(format_seconds(best)));
    setHeader(parts.join(QStringLiteral(" · ")));
}

void ArchiveMap::updateTicks() {
    if (!hasDimensions()) return;
    for (int axis = 0; axis < 2; ++axis) {
        QCPAxis& target = axis == 0 ? *plot()->xAxis : *plot()->yAxis;
        const int dimension = m_axes[axis];
        QStringList labels;
        for (int cell = 0; dimension >= 0 && cell < cellsAlong(axis); ++cell)
            labels << cellLabel(dimension, cell);
        target.setTicker(QSharedPointer<CellTicker>::create(target, labels));
        target.setTickLabels(dimension >= 0);
        setAxisTitle(target, dimension < 0 ? QString()
                                           : QString::fromStdString(m_archive->dimensions[dimension].title));
    }
    redraw();
}

void ArchiveMap::updateStyle() {
    HeatMapFrame::updateStyle();
    updateTicks();
}

void ArchiveMap::paintMarks(QCPPainter& painter) const {
    if (m_shown.empty()) return;
    constexpr double kSmallest = 6;  // pixels; grid lines would hide smaller cells
    const QColor base = plot()->palette().color(QPalette::Base),
                 text = plot()->palette().color(QPalette::Text);
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
            painter.drawLine(
                QLineF(cellRect({x, 0}).bottomLeft(), cellRect({x, cellsAlong(1) - 1}).topLeft()));
    }
    if (first.height() >= kSmallest) {
        for (int y = 1; y < cellsAlong(1); ++y)
            painter.drawLine(
                QLineF(cellRect({0, y}).bottomLeft(), cellRect({cellsAlong(0) - 1, y}).bottomRight()));
    }
}

void ArchiveMap::activate(Cell cell) {
    const ArchiveView::Elite* elite = eliteAt(cell);
    if (elite && elite->placement) Q_EMIT eliteActivated(elite->placement, elite->score.value_s);
}

}  // namespace placewright
