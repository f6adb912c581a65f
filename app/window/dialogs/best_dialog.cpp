// SPDX-License-Identifier: MIT
#include "app/window/dialogs/best_dialog.hpp"

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "app/window/dialogs/form_rows.hpp"
#include "app/window/dialogs/measure_plan_view.hpp"
#include "app/window/dialogs/trace_row.hpp"
#include "app/window/document.hpp"
#include "app/window/option_text.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// Whether placements of the run can be measured: it has some, of the machine and the options of now.
bool isMeasurable(const Document& document, const Run& run) {
    const auto rows = document.runRows();
    const auto row = std::ranges::find(rows, run.id(), &RunRow::id);
    return row != rows.end() && row->elsewhere.isEmpty() && !run.bestPlacements(1).empty();
}

/// Returns why nothing can be measured with the present options; empty if something can.
QString hindranceOfBest(const Document& document) {
    if (document.job().language) return languageHindrance(document);
    if (document.job().simulation.batches > 1)
        return BestDialog::tr(
            "Pipelines of several batches cannot be run: set Batches to 1 in Run ▸ Simulation…, "
            "search, then measure.");
    if (!document.job().objective->is_step_time())
        return BestDialog::tr(
                   "What is measured is the step time, but searches minimise the %1: set the objective to "
                   "the step time in Run ▸ Simulation…, search, then measure.")
            .arg(objectiveName(*document.job().objective));
    const auto& runs = document.runs();
    if (std::ranges::any_of(runs, [&](const auto& run) { return isMeasurable(document, *run); })) return {};
    return runs.empty() ? BestDialog::tr(
                              "There is no run whose placements could be measured: start a search "
                              "(F5), then measure its best.")
                        : BestDialog::tr(
                              "No run of this machine and these options has a placement yet: start a search "
                              "(F5), or double-click a grey run in the Runs panel, then measure its best.");
}

/// "0:42", or "120 ms".
QString durationText(double seconds) {
    constexpr double kLeastClock = 10;
    return seconds < kLeastClock ? secondsText(seconds) : toQString(format_clock(seconds));
}

}  // namespace

BestDialog::BestDialog(Document* document, int run, QWidget* parent)
    : QDialog(parent),
      m_document(document),
      m_plan(new MeasurePlanView(document, [document] { return hindranceOfBest(*document); })) {
    setObjectName(QStringLiteral("bestDialog"));
    setWindowTitle(tr("Measure placements of %1").arg(toQString(document->problem()->graph->name())));
    auto* what = new QLabel(
        tr("Runs the best placements of a run for real, one after the other, and puts the one with the least "
           "measured step time on screen."));
    what->setWordWrap(true);
    auto* note = new QLabel(
        tr("Searches pause meanwhile. Other programs, and work in this window, disturb the measurement."));
    note->setWordWrap(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    m_start = buttons->button(QDialogButtonBox::Ok);
    m_start->setObjectName(QStringLiteral("startBest"));
    m_start->setText(tr("&Start"));
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(what);
    layout->addWidget(m_plan, 1);
    layout->addWidget(makeForm());
    layout->addWidget(note);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_plan, &MeasurePlanView::decided, this, [this] {
        showChoice();
        if (m_start->isEnabled()) m_start->setFocus();
    });
    fillRuns(run);
    resize(540, 390);
    m_plan->look();
}

QWidget* BestDialog::makeForm() {
    m_runs = named(new QComboBox, "bestRun", tr("The run whose placements are measured"));
    m_runs->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_runs->setMinimumContentsLength(24);
    m_kept = new QLabel;
    m_kept->setObjectName(QStringLiteral("bestKept"));
    m_kept->setWordWrap(true);
    m_count = named(spinBox(1, static_cast<int>(Run::kMostKept), {}), "bestCount",
                    tr("The best in the simulation: elites of the archive, where the run has one."));
    m_count->setValue(settings::measuredBest.get());
    m_steps = named(spinBox(1, 100'000, {}), "bestSteps",
                    tr("Steps of each placement that count; one more runs before them."));
    m_steps->setValue(settings::benchmarkSteps.get());
    m_goOn = named(new QCheckBox(tr("Then &go on searching for")), "bestGoOn",
                   tr("The run's algorithm starts again from the fastest of them, and each placement that it "
                      "proposes is run."));
    m_goOn->setAccessibleName(tr("Then go on searching"));
    m_evaluations = named(spinBox(1, 100'000, tr(" measured placements")), "bestEvaluations",
                          tr("A placement that is proposed again is not run again."));
    m_evaluations->setAccessibleName(tr("Placements to measure in the search"));
    m_evaluations->setValue(20);
    auto* goOn = new QHBoxLayout;
    goOn->addWidget(m_goOn);
    goOn->addWidget(m_evaluations);
    goOn->addStretch(1);
    m_throttles = throttleBox();
    m_throttles->hide();
    m_estimate = new QLabel;
    m_estimate->setObjectName(QStringLiteral("bestEstimate"));
    m_estimate->setWordWrap(true);
    auto* widget = new QWidget;
    auto* form = new QFormLayout(widget);
    form->setContentsMargins(0, 0, 0, 0);
    addRow(form, tr("&Run"), m_runs);
    form->addRow(QString(), m_kept);
    addRow(form, tr("&Placements"), m_count);
    addRow(form, tr("Steps &each"), m_steps);
    addCheck(form, m_throttles);
    form->addRow(goOn);
    form->addRow(tr("Takes"), m_estimate);
    connect(m_runs, &QComboBox::currentIndexChanged, this, &BestDialog::showChoice);
    for (QSpinBox* box : {m_count, m_steps, m_evaluations})
        connect(box, &QSpinBox::valueChanged, this, &BestDialog::showChoice);
    connect(m_goOn, &QCheckBox::toggled, this, &BestDialog::showChoice);
    return widget;
}

void BestDialog::fillRuns(int proposed) {
    const QSignalBlocker blocker(m_runs);
    for (const auto& run : m_document->runs()) {
        if (isMeasurable(*m_document, *run))
            m_runs->addItem(tr("%1, best %2").arg(runTitle(*run), secondsText(run->progress().best.value_s)),
                            run->id());
    }
    const int index = m_runs->findData(proposed);
    m_runs->setCurrentIndex(index >= 0 ? index : m_runs->count() - 1);
}

const Run* BestDialog::chosenRun() const {
    const auto found = std::ranges::find(m_document->runs(), m_runs->currentData().toInt(),
                                         [](const auto& run) { return run->id(); });
    return found == m_document->runs().end() ? nullptr : found->get();
}

BestRequest BestDialog::request() const {
    BestRequest request;
    const Run* run = chosenRun();
    if (run == nullptr) return request;
    request.job = run->job();
    request.run = runTitle(*run);
    request.placements = run->bestPlacements(static_cast<std::size_t>(m_count->value()));
    request.options.steps = static_cast<std::uint32_t>(m_steps->value());
    request.options.throttles = m_throttles->isChecked();
    request.options.seed = run->request().seed;
    if (m_plan->plan()) request.devices = m_plan->plan()->devices;
    if (m_goOn->isEnabled() && m_goOn->isChecked()) {
        request.evaluations = static_cast<std::uint64_t>(m_evaluations->value());
        request.algorithm = run->request().algorithm;
        request.values = run->request().options;
        request.seed = run->request().seed;
    }
    return request;
}

void BestDialog::showChoice() {
    const Run* run = chosenRun();
    const bool can = m_plan->plan().has_value() && run != nullptr;
    for (QWidget* each : std::initializer_list<QWidget*>{m_runs, m_count, m_steps, m_throttles})
        each->setEnabled(run != nullptr);
    m_start->setEnabled(can);
    m_throttles->setVisible(m_plan->plan() && m_plan->plan()->usesCores());
    // A policy places once; what trains it anew is no search that could go on.
    m_goOn->setEnabled(run != nullptr && !run->request().predicted);
    m_evaluations->setEnabled(m_goOn->isEnabled() && m_goOn->isChecked());
    if (run == nullptr) {
        m_kept->clear();
        m_estimate->clear();
        return;
    }
    const bool archive = run->progress().archive != nullptr && !run->progress().archive->elites.empty();
    const std::size_t all =
        archive ? run->progress().archive->elites.size() : run->bestPlacements(Run::kMostKept).size();
    const std::size_t wanted = static_cast<std::size_t>(m_count->value());
    QString kept = archive    ? tr("Its archive has %L1 elites.").arg(all)
                   : all == 1 ? tr("It has 1 placement.")
                              : tr("It keeps its best %L1 placements.").arg(all);
    if (all < wanted) kept += tr(" All of them are measured.");
    if (run->state() == Run::State::running) kept += tr(" It is running and pauses.");
    m_kept->setText(kept);
    const BestRequest request = this->request();
    m_estimate->setText(
        tr("about %1 if steps take as long as simulated: %2 each of %3")
            .arg(durationText(request.estimate_s()))
            .arg(request.options.steps + request.options.warm_up)
            .arg(request.wanted() == 1 ? tr("1 placement") : tr("%L1 placements").arg(request.wanted())));
}

void BestDialog::accept() {
    const BestRequest request = this->request();
    if (!m_plan->plan() || request.placements.empty()) return;
    if (const QString hindrance = m_document->measuringHindrance(); !hindrance.isEmpty())
        return m_estimate->setText(hindrance);
    if (!mayReplaceMeasured(this, *m_document)) return;
    settings::benchmarkSteps.set(m_steps->value());
    settings::throttles.set(m_throttles->isChecked());
    settings::measuredBest.set(m_count->value());
    m_document->measureBest(request);
    QDialog::accept();
}

}  // namespace placewright
