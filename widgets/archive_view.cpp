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
#include "widgets/archive_scrubber.hpp"
#include "widgets/heat_map.hpp"
#include "widgets/palette.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

bool betterThan(const Score& a, const Score& b) {
    return a.fits != b.fits ? a.fits : a.penalised_s < b.penalised_s;
}

/// Share of the colour scale that is left free beyond a value that lies outside, so that it changes rarely
/// while a search runs.
constexpr double kHeadroom = 0.1;

}  // namespace

bool sameDimensions(const ArchiveView* a, const ArchiveView* b) {
    const auto same = [](const ArchiveView::Dimension& x, const ArchiveView::Dimension& y) {
        return x.title == y.title && x.size == y.size && x.labels == y.labels;
    };
    return a && b &&
           std::equal(a->dimensions.begin(), a->dimensions.end(), b->dimensions.begin(), b->dimensions.end(),
                      same);
}

std::uint32_t positionAlong(const ArchiveView& archive, std::uint32_t cell, std::size_t dimension) {
    for (std::size_t i = archive.dimensions.size(); i-- > dimension + 1;) cell /= archive.dimensions[i].size;
    return cell % archive.dimensions[dimension].size;
}

QString positionLabel(const ArchiveView::Dimension& dimension, std::uint32_t position) {
    return position < dimension.labels.size() ? QString::fromStdString(dimension.labels[position])
                                              : QString::number(position);
}

QString describeElite(const ArchiveView& archive, const ArchiveView::Elite& elite, const QString& objective) {
    QStringList lines;
    for (std::size_t i = 0; i < archive.dimensions.size(); ++i)
        lines << QString::fromStdString(archive.dimensions[i].title) % QStringLiteral(": ") %
                     positionLabel(archive.dimensions[i], positionAlong(archive, elite.cell, i));
    if (elite.score == kUndefinedScore)
        lines << ArchiveMap::tr("%1 not defined").arg(objective.toLower());
    else
        lines << (elite.score.fits ? ArchiveMap::tr("%1 %2")
                                   : ArchiveMap::tr("%1 %2, does not fit the memory"))
                     .arg(objective.toLower(), secondsText(elite.score.value_s));
    if (!elite.placement) lines << ArchiveMap::tr("replaced by a better one later");
    return lines.join(u'\n');
}

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
    choosers->setContentsMargins(4, 4, 4, 4);
    choosers->setVerticalSpacing(2);
    auto* figures = new QHBoxLayout;
    figures->setSpacing(2 * fontMetrics().averageCharWidth());
    const auto figure = [&](const char* name, const QString& toolTip) {
        auto* label = new QLabel(m_controls);
        label->setObjectName(name);
        label->setTextFormat(Qt::PlainText);
        label->setToolTip(toolTip);
        figures->addWidget(label);
        return label;
    };
    m_coverage = figure("coverage", tr("Coverage: the share of niches that hold a placement."));
    m_quality = figure("qdScore", tr("QD score: the sum over all niches of how many times faster their "
                                     "elites are than the best single device (with enough memory); it "
                                     "grows with coverage and quality."));
    m_best = figure("best", tr("The best elite that fits the memory."));
    m_misfits = figure("misfits", tr("Niches, hatched in the map, whose elites do not fit the memory."));
    figures->addStretch(1);
    choosers->addLayout(figures, 0, 0, 1, 3);
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
        choosers->addWidget(chooser, 1, 2 * axis);
        connect(chooser, &QComboBox::currentIndexChanged, this, [this, axis](int dimension) {
            chooseDimension(axis, dimension);
            Q_EMIT axesChanged();
        });
    }
    choosers->addWidget(new QLabel(QStringLiteral("×"), m_controls), 1, 1);  // the titles are on the axes
    for (const int column : {0, 2}) choosers->setColumnStretch(column, 1);
    m_sliders = new QVBoxLayout;
    m_sliders->setContentsMargins(0, 0, 0, 0);
    choosers->addLayout(m_sliders, 2, 0, 1, 3);
    m_scrubber = new ArchiveScrubber(m_controls);
    choosers->addWidget(m_scrubber, 3, 0, 1, 3);
    connect(m_scrubber, &ArchiveScrubber::moved, this, [this] {
        updatePast();
        updateCells();
        updateFigures();
    });
    addAbove(m_controls);
}

void ArchiveMap::setObjective(const QString& title) {
    m_objective = title;
    if (hasDimensions()) updateCells();
}

void ArchiveMap::setArchive(std::shared_ptr<const ArchiveView> archive, ArchiveSource source) {
    const bool same = sameDimensions(m_archive.get(), archive.get());
    const bool sameRun = same && source.run == m_source.run;
    m_archive = std::move(archive);
    m_source = source;
    const bool shows = hasDimensions();
    if (!sameRun) {
        setCurrent({});
        m_scrubber->reset();
        m_low_s = m_high_s = 0;
    }
    if (!same) {
        const std::size_t dimensions = shows ? m_archive->dimensions.size() : 0;
        m_position.assign(dimensions, -1);
        // Rows that differ in the names of alike devices alone would look the same. Of the others, the
        // longest dimension goes on the horizontal axis, which has most room.
        std::vector<int> order(dimensions);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
            const ArchiveView::Dimension &x = m_archive->dimensions[a], &y = m_archive->dimensions[b];
            return x.symmetric != y.symmetric ? y.symmetric : x.size > y.size;
        });
        m_axes = {dimensions > 0 ? order[0] : -1, dimensions > 1 ? order[1] : -1};
    }
    m_scrubber->setArchive(m_archive.get());
    updatePast();
    updateScale();
    updateCells();  // must come before the calls below, which may repaint the plot
    if (!same) {
        rebuildControls();
        updateTicks();
    }
    updateFigures();
    m_controls->setVisible(shows);
    setEmpty(!shows);
}

void ArchiveMap::setPlacementOnScreen(const Placement& placement) {
    if (!m_activated || *m_activatedPlacement == placement) return;
    if (current() == m_activated) setCurrent({});
    m_activated.reset();
}

/// Rebuilds the archive of the chosen moment. Placements that were replaced since are not known any more.
void ArchiveMap::updatePast() {
    m_past.reset();
    const std::optional<std::size_t> position = m_scrubber->position();
    if (!position || !m_archive) return;
    std::vector<ArchiveView::Elite> past;
    std::vector<const ArchiveView::Event*> latest;
    for (const ArchiveView::Event& event : std::span(m_archive->history).first(*position)) {
        if (event.cell >= latest.size()) latest.resize(event.cell + 1, nullptr);
        latest[event.cell] = &event;
    }
    for (const ArchiveView::Event* event : latest) {
        if (event == nullptr) continue;
        const auto now =
            std::ranges::lower_bound(m_archive->elites, event->cell, {}, &ArchiveView::Elite::cell);
        const bool kept =
            now != m_archive->elites.end() && now->cell == event->cell && now->score == event->score;
        past.push_back({event->cell, event->score, kept ? now->placement : nullptr});
    }
    m_past = std::move(past);
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
               : static_cast<int>(positionAlong(*m_archive, cell, static_cast<std::size_t>(dimension)));
}

QString ArchiveMap::cellLabel(int dimension, int position) const {
    return positionLabel(m_archive->dimensions[dimension], static_cast<std::uint32_t>(position));
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
    if (const ArchiveView::Elite* elite = eliteAt(cell))
        return describeElite(*m_archive, *elite, m_objective);
    QStringList lines;
    for (int dimension = 0; dimension < static_cast<int>(m_position.size()); ++dimension) {
        const int along = dimension == m_axes[0]   ? cell.x
                          : dimension == m_axes[1] ? cell.y
                                                   : m_position[dimension];
        if (along < 0) continue;
        lines << QString::fromStdString(m_archive->dimensions[dimension].title) % QStringLiteral(": ") %
                     cellLabel(dimension, along);
    }
    lines << tr("empty");
    return lines.join(u'\n');
}

void ArchiveMap::setAxes(int x, int y) {
    const int dimensions = m_archive ? static_cast<int>(m_archive->dimensions.size()) : 0;
    if (x == y || std::max(x, y) >= dimensions) return;
    chooseDimension(0, x);
    chooseDimension(1, y);
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
    for (const ArchiveView::Elite& elite : elites()) {
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

    const TimeUnit unit = timeUnitFor(m_low_s);
    setMapSize(columns, rows);
    for (int y = 0; y < rows; ++y) {
        for (int x = 0; x < columns; ++x) {
            const ArchiveView::Elite* elite = eliteAt({x, y});
            if (elite && elite->score.fits)
                map()->data()->setCell(x, y, elite->score.value_s * unit.per_second);
        }
    }
    const double low = m_low_s * unit.per_second, high = m_high_s * unit.per_second;
    map()->setDataRange({low, std::max(high, low + std::max(1e-3 * low, 1e-9))});
    scale()->setVisible(m_low_s > 0);
    setAxisTitle(*scale()->axis(), m_objective, unit.name);
    plot()->xAxis->setRange(-0.5, columns - 0.5);
    plot()->yAxis->setRange(-0.5, rows - 0.5);
    redraw();
}

/// Fits the colours to the whole present archive, so that they keep their meaning while a slider moves. While
/// a search runs, the scale only grows, and seldom.
void ArchiveMap::updateScale() {
    if (!hasDimensions()) return;
    double best = kInfinity, worst = 0;
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits) best = std::min(best, elite.score.value_s);
    }
    for (const ArchiveView::Elite& elite : m_archive->elites) {
        if (elite.score.fits && elite.score.value_s <= kRelevantFactor * best)
            worst = std::max(worst, elite.score.value_s);
    }
    if (!std::isfinite(best)) {
        m_low_s = m_high_s = 0;
    } else if (!m_source.running) {
        m_low_s = best;
        m_high_s = worst;
    } else {
        if (m_low_s <= 0 || best < m_low_s) m_low_s = best - kHeadroom * (std::max(worst, m_high_s) - best);
        if (worst > m_high_s) m_high_s = worst + kHeadroom * (worst - m_low_s);
        if (m_low_s <= 0) m_low_s = best;
    }
}

void ArchiveMap::updateFigures() {
    if (!hasDimensions()) return;
    std::size_t niches = 1, misfits = 0;
    for (const ArchiveView::Dimension& dimension : m_archive->dimensions) niches *= dimension.size;
    double best = kInfinity, quality = 0;
    for (const ArchiveView::Elite& elite : elites()) {
        if (elite.score.fits) {
            best = std::min(best, elite.score.value_s);
            if (elite.score.value_s > 0) quality += m_source.one_device_s / elite.score.value_s;
        } else {
            ++misfits;
        }
    }
    const std::size_t filled = elites().size();
    m_coverage->setText(
        tr("%L1 of %L2 niches filled (%3)")
            .arg(filled)
            .arg(niches)
            .arg(200 * filled < niches && filled > 0
                     ? tr("<1 %")
                     : percentText(static_cast<double>(filled) / static_cast<double>(niches))));
    m_quality->setText(tr("QD score %L1").arg(quality, 0, 'f', 1));
    m_quality->setVisible(m_source.one_device_s > 0);
    m_best->setText(tr("best %1").arg(secondsText(best)));
    m_best->setVisible(std::isfinite(best));
    m_misfits->setText(tr("%L1 do not fit").arg(misfits));
    m_misfits->setVisible(misfits > 0);
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
    if (!elite || !elite->placement) return;
    m_activated = cell;
    m_activatedPlacement = elite->placement;
    Q_EMIT eliteActivated(elite->placement, elite->score.value_s);
}

}  // namespace placewright
