// SPDX-License-Identifier: MIT
#include "widgets/measured_panel.hpp"

#include <algorithm>

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "widgets/measured_plot.hpp"
#include "widgets/palette.hpp"
#include "widgets/placements_view.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/quantities.hpp"
#include "widgets/steps_plot.hpp"

namespace placewright {
namespace {

/// A plot and its table: side by side where there is not the height for both.
class PlotWithTable : public QSplitter {
public:
    PlotWithTable(QWidget* plot, QWidget* table) {
        setChildrenCollapsible(false);
        addWidget(plot);
        addWidget(table);
        fit();
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QSplitter::resizeEvent(event);
        const auto orientation = width() > 1.7 * height() ? Qt::Horizontal : Qt::Vertical;
        if (this->orientation() == orientation) return;
        setOrientation(orientation);
        fit();
    }

private:
    void fit() { setSizes(orientation() == Qt::Horizontal ? QList{900, 1100} : QList{1100, 900}); }
};

enum DeviceColumn { DeviceName, SimulatedBusy, MeasuredBusy, BusyFactor, DeviceColumnCount };

bool haveSamePlacement(const MeasuredRuns& measured, int id) {
    return measured.samePlacement || &measured.comparison(id) != &measured.all;
}

}  // namespace

MeasuredPanel::MeasuredPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget),
      m_runs(new QComboBox),
      m_menu(new QToolButton),
      m_plots(new QTabWidget),
      m_parts(new QSplitter),
      m_step(new QLabel),
      m_devices(new QTreeWidget),
      m_plot(new MeasuredPlot),
      m_steps(new StepsPlot),
      m_placements(new PlacementsView),
      m_stepsPage(new PlotWithTable(m_steps, m_placements)) {
    m_runs->setObjectName(QStringLiteral("measuredRun"));
    m_runs->setAccessibleName(tr("Measured run"));
    m_runs->setToolTip(tr("The run to compare with the simulation, or the mean of all"));
    m_runs->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_runs->setMinimumContentsLength(12);
    m_menu->setObjectName(QStringLiteral("measuredMenu"));
    m_menu->setText(tr("Run"));
    m_menu->setToolTip(tr("What can be done with this run"));
    m_menu->setPopupMode(QToolButton::InstantPopup);
    m_menu->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(m_menu);
    m_times = menu->addAction(tr("&Use op times of this trace…"), this,
                              [this] { Q_EMIT timesWanted(chosenRun()); });
    m_window = menu->addAction(tr("&Open in a window of its own"), this,
                               [this] { Q_EMIT windowWanted(chosenRun()); });
    m_placement =
        menu->addAction(tr("&Show its placement"), this, [this] { Q_EMIT placementWanted(chosenRun()); });
    m_trace =
        menu->addAction(tr("&Export trace…"), this, [this] { Q_EMIT traceExportRequested(chosenRun()); });
    menu->addSeparator();
    m_remove = menu->addAction(tr("&Remove"), this, [this] { Q_EMIT removeRequested(chosenRun()); });
    m_remove->setObjectName(QStringLiteral("removeMeasured"));
    m_menu->setMenu(menu);
    m_step->setObjectName(QStringLiteral("measuredStep"));
    m_step->setTextFormat(Qt::PlainText);
    m_step->setWordWrap(true);
    m_step->setContentsMargins(6, 0, 6, 2);

    m_devices->setObjectName(QStringLiteral("measuredDevices"));
    m_devices->setAccessibleName(tr("Busy time of each device"));
    m_devices->setColumnCount(DeviceColumnCount);
    m_devices->setHeaderLabels({tr("Busy"), tr("Simulated"), tr("Measured"), tr("Ratio")});
    m_devices->headerItem()->setToolTip(DeviceName,
                                        tr("Time in which at least one op runs, per batch. Measured: of ops "
                                           "of this network that the run recorded"));
    for (int column = SimulatedBusy; column < DeviceColumnCount; ++column)
        m_devices->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_devices->setRootIsDecorated(false);
    m_devices->setItemsExpandable(false);
    m_devices->setUniformRowHeights(true);
    m_devices->setAlternatingRowColors(true);
    m_devices->setSelectionMode(QAbstractItemView::NoSelection);
    m_devices->setFrameShape(QFrame::NoFrame);
    m_devices->header()->setStretchLastSection(false);
    m_devices->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_devices->header()->setSectionResizeMode(DeviceName, QHeaderView::Stretch);
    m_devices->header()->setMinimumSectionSize(30);

    auto* top = new QHBoxLayout;
    top->setContentsMargins(4, 4, 4, 0);
    top->addWidget(m_runs, 1);
    top->addWidget(m_menu);
    auto* figures = new QWidget;
    auto* figuresLayout = new QVBoxLayout(figures);
    figuresLayout->setContentsMargins(0, 0, 0, 0);
    figuresLayout->setSpacing(2);
    figuresLayout->addLayout(top);
    figuresLayout->addWidget(m_step);
    figuresLayout->addWidget(m_devices, 1);
    m_parts->setChildrenCollapsible(false);
    m_parts->addWidget(figures);
    m_plots->setObjectName(QStringLiteral("measuredPlots"));
    m_plots->setDocumentMode(true);
    m_plots->addTab(m_plot, tr("&Ops"));
    m_plots->setTabToolTip(0, tr("A dot for each op of the chosen run"));
    m_placements->hide();
    m_plots->addTab(m_stepsPage, tr("S&teps"));
    m_plots->setTabToolTip(1, tr("A dot for each run and each measured placement of a search: its step time "
                                 "against the simulation of its placement"));
    m_parts->addWidget(m_plots);
    m_parts->setStretchFactor(0, 2);
    m_parts->setStretchFactor(1, 3);
    m_pages->addWidget(makeEmptyLabel(
        tr("Benchmark the placement on screen (F7), measure the best placements of a run (Shift+F7), or open "
           "a "
           "trace of this network (PyTorch profiler, Chrome), to see simulated and measured times side by "
           "side."),
        this));
    m_pages->addWidget(m_parts);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);

    connect(m_devices->header(), &QHeaderView::sectionResized, this, &MeasuredPanel::fitFigures);
    connect(m_runs, &QComboBox::currentIndexChanged, this, [this] {
        m_chosen = m_runs->currentData().toInt();
        showChosen();
        Q_EMIT runChosen(m_chosen);
    });
    connect(m_steps, &StepsPlot::runChosen, this, &MeasuredPanel::choose);
    connect(m_plot, &MeasuredPlot::selectionEdited, this, &MeasuredPanel::selectionEdited);
    PlacementsTable* table = m_placements->table();
    connect(m_steps, &StepsPlot::placementChosen, table, &PlacementsTable::setChosen);
    connect(table, &PlacementsTable::placementChosen, m_steps, &StepsPlot::setChosenPlacement);
    connect(table, &PlacementsTable::placementHovered, m_steps, [this](std::optional<std::size_t> index) {
        m_steps->setChosenPlacement(index ? index : m_placements->table()->chosen());
    });
    connect(m_steps, &StepsPlot::placementActivated, this, &MeasuredPanel::placementActivated);
    connect(m_placements, &PlacementsView::placementActivated, this, &MeasuredPanel::placementActivated);
    connect(m_placements, &PlacementsView::cancelRequested, this, &MeasuredPanel::cancelRequested);
    connect(m_plots, &QTabWidget::currentChanged, this, &MeasuredPanel::showPages);
    showPages();
}

void MeasuredPanel::showPages() {
    m_pages->setCurrentIndex(hasRuns() || m_hasPlacements ? 1 : 0);
    // Beside the table of placements there is no room for the figures of a run.
    m_parts->widget(0)->setVisible(hasRuns() &&
                                   !(m_hasPlacements && m_plots->currentWidget() == m_stepsPage));
    m_placements->setVisible(m_hasPlacements);
    m_plots->setTabEnabled(0, hasRuns() || !m_hasPlacements);
}

void MeasuredPanel::setPlacements(std::shared_ptr<const MeasuredPlacements> placements) {
    m_hasPlacements = placements != nullptr;
    m_placements->setPlacements(placements);
    m_steps->setChosenPlacement(m_placements->table()->chosen());
    m_steps->setPlacements(std::move(placements));
    showPages();
}

void MeasuredPanel::setTimeLeft(std::optional<double> left_s) {
    m_placements->setTimeLeft(left_s);
}

void MeasuredPanel::setPlacementOnScreen(const Placement& placement) {
    m_placements->setOnScreen(placement);
}

void MeasuredPanel::showSteps() {
    m_plots->setCurrentWidget(m_stepsPage);
}

void MeasuredPanel::setMeasured(std::shared_ptr<const MeasuredRuns> measured) {
    const int before = m_chosen;
    m_measured = std::move(measured);
    const bool any = hasRuns();
    std::vector<std::pair<int, QString>> listed;
    if (any && m_measured->runs.size() > 1)
        listed.emplace_back(0, tr("All %1 runs").arg(m_measured->runs.size()));
    for (std::size_t i = 0; any && i < m_measured->runs.size(); ++i)
        listed.emplace_back(m_measured->runs[i].of.id, m_measured->runs[i].of.name);
    // A list that is open stays as it is while simulations follow one another.
    if (listed != m_listed) {
        const QSignalBlocker blocker(m_runs);
        m_runs->clear();
        for (const auto& [id, name] : listed) m_runs->addItem(name, id);
        m_runs->setCurrentIndex(any ? std::max(0, m_runs->findData(m_chosen)) : -1);
        m_listed = std::move(listed);
    }
    // Without runs, as while they are carried to another machine, the choice stays for when they are back.
    if (any) m_chosen = m_runs->currentData().toInt();
    showPages();
    m_steps->setMeasured(any ? m_measured : nullptr);
    showChosen();
    if (m_chosen != before) Q_EMIT runChosen(m_chosen);
}

IdentityPlot* MeasuredPanel::shownPlot() const {
    if (m_plots->currentWidget() == m_stepsPage) return m_steps;
    return m_plot;
}

void MeasuredPanel::choose(int id) {
    if (const int at = m_runs->findData(id); at >= 0) m_runs->setCurrentIndex(at);
}

void MeasuredPanel::setSelection(const OpList& ops) {
    m_plot->setSelection(ops);
}

void MeasuredPanel::setFileKnown(bool known) {
    m_times->setEnabled(known);
    m_window->setEnabled(known);
}

void MeasuredPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const auto orientation = width() > height() ? Qt::Horizontal : Qt::Vertical;
    if (m_parts->orientation() == orientation && event->oldSize().isValid()) return;
    m_parts->setOrientation(orientation);
    const int room = orientation == Qt::Horizontal ? width() : height();
    m_parts->setSizes({room * 2 / 5, room * 3 / 5});
    fitFigures();
}

/// Beside the plot the figures get the width of their table, as far as the plot keeps two fifths.
void MeasuredPanel::fitFigures() {
    const bool beside = m_parts->orientation() == Qt::Horizontal;
    int name = 0;
    for (int row = 0; row < m_devices->topLevelItemCount(); ++row)
        name = std::max(
            name, m_devices->fontMetrics().horizontalAdvance(m_devices->topLevelItem(row)->text(DeviceName)));
    int wanted = name + 36;  // with its icon
    for (int column = SimulatedBusy; column < DeviceColumnCount; ++column)
        wanted += m_devices->header()->sectionSize(column);
    m_parts->widget(0)->setMinimumWidth(beside ? std::min(wanted, width() * 3 / 5) : 0);
}

void MeasuredPanel::showChosen() {
    if (!hasRuns()) {
        m_devices->clear();
        m_steps->setChosen(0);
        m_plot->setData(nullptr, {});
        return;
    }
    const int id = m_chosen;
    m_steps->setChosen(m_measured->runs.size() > 1 ? id : 0);
    const RunComparison& compared = m_measured->comparison(id);
    const auto run = std::ranges::find(m_measured->runs, id, [](const auto& each) { return each.of.id; });
    m_placement->setEnabled(run != m_measured->runs.end() && !run->of.run->placement.empty());
    m_trace->setEnabled(run != m_measured->runs.end());
    m_remove->setText(run != m_measured->runs.end() ? tr("&Remove")
                                                    : tr("&Remove all %1 runs").arg(m_measured->runs.size()));

    QStringList lines;
    const bool samePlacement = haveSamePlacement(*m_measured, id);
    const double onScreen_s = m_measured->simulated->outcome.step_time_s;
    if (!samePlacement) {
        lines << tr(
            "These runs had several placements: choose one for its step and devices; Steps shows the "
            "step of each.");
    } else if (compared.step.measured_s > 0) {
        lines << tr("Step: simulated %1, measured %2 (%3).")
                     .arg(unbroken(secondsText(compared.step.simulated_s)),
                          unbroken(secondsText(compared.step.measured_s)),
                          unbroken(factorText(compared.step.factor())));
        // Both times are of the placement that the run had.
        if (compared.step.simulated_s != onScreen_s)
            lines << tr("Simulated on screen: %1.").arg(unbroken(secondsText(onScreen_s)));
    }
    lines << tr("Ops typically take %1 as long as simulated.")
                 .arg(unbroken(factorText(compared.typical_factor)));
    if (compared.elsewhere > 0)
        lines << tr("%1 ran on another device than on screen.").arg(opsText(compared.elsewhere));
    m_step->setText(lines.join(QStringLiteral(" ")));
    m_devices->setVisible(samePlacement);
    showDevices(compared);
    m_plot->setData(m_measured->simulated->problem, compared);
}

void MeasuredPanel::showDevices(const RunComparison& compared) {
    const Problem& problem = *m_measured->simulated->problem;
    if (m_listedOf != problem.machine ||
        m_devices->topLevelItemCount() != static_cast<int>(problem.devices)) {
        m_listedOf = problem.machine;
        m_devices->clear();
        for (DeviceId device = 0; device < problem.devices; ++device) {
            auto* item = new QTreeWidgetItem(m_devices);
            item->setIcon(DeviceName, deviceIcon(*problem.machine, device, devicePixelRatioF()));
            item->setText(DeviceName, QString::fromStdString(problem.machine->device(device).name));
            auto* peak = new QTreeWidgetItem(item);
            peak->setText(DeviceName, tr("peak"));
            peak->setToolTip(DeviceName, tr("Largest memory in use at any time"));
            for (QTreeWidgetItem* row : {item, peak}) {
                row->setExpanded(true);
                for (int column = SimulatedBusy; column < DeviceColumnCount; ++column)
                    row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
            }
        }
    }
    const QString dash = QStringLiteral("–");
    const bool isMemoryKnown = std::ranges::any_of(
        compared.memory, [](const ComparedBytes& peak) { return peak.measured_bytes > 0; });
    for (DeviceId device = 0; device < problem.devices; ++device) {
        const ComparedSeconds& busy = compared.devices[device];
        QTreeWidgetItem* const item = m_devices->topLevelItem(static_cast<int>(device));
        item->setText(SimulatedBusy, secondsText(busy.simulated_s));
        item->setText(MeasuredBusy, busy.measured_s > 0 ? secondsText(busy.measured_s) : dash);
        item->setText(BusyFactor, factorText(busy.factor()));
        const auto [simulated_bytes, measured_bytes] = compared.memory[device];
        const double limit_bytes = problem.memory_limit_bytes[device];
        QTreeWidgetItem* const peak = item->child(0);
        peak->setHidden(!isMemoryKnown);
        peak->setText(SimulatedBusy, bytesText(simulated_bytes));
        peak->setText(MeasuredBusy, measured_bytes > 0 ? bytesText(measured_bytes) : dash);
        peak->setText(
            BusyFactor,
            factorText(simulated_bytes > 0 && measured_bytes > 0 ? measured_bytes / simulated_bytes : 0));
        peak->setToolTip(SimulatedBusy, shareOfBytesText(simulated_bytes, limit_bytes));
        peak->setToolTip(MeasuredBusy, measured_bytes > 0 ? shareOfBytesText(measured_bytes, limit_bytes)
                                                          : tr("The run recorded no memory of this device."));
        peak->setData(MeasuredBusy, Qt::ForegroundRole,
                      measured_bytes > limit_bytes ? QVariant(warningColor(palette())) : QVariant());
    }
    fitFigures();
}

}  // namespace placewright
