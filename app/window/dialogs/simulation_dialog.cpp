// SPDX-License-Identifier: MIT
#include "app/window/dialogs/simulation_dialog.hpp"

#include <cmath>

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QVBoxLayout>

#include "app/window/dialogs/form_rows.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/trace_row.hpp"
#include "app/window/language_text.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr double kMegabyte = 1e6;
constexpr double kMicroseconds = 1e6;  // a second

std::optional<double> share(const QSpinBox* box) {
    return box->value() > 0 ? std::optional(box->value() / 100.0) : std::nullopt;
}

int percent(const std::optional<double>& share) {
    return static_cast<int>(std::lround(share.value_or(0) * 100));
}

/// The folder where files were opened last.
QString lastFolder() {
    return settings::openFolder.get();
}

void rememberFolder(const QString& file) {
    rememberFolderOf(file, settings::openFolder);
}

}  // namespace

SimulationDialog::SimulationDialog(Document* document, QWidget* parent)
    : QDialog(parent), m_document(document) {
    setWindowTitle(tr("Simulation"));
    setObjectName(QStringLiteral("simulationDialog"));
    auto* page = new QWidget;
    auto* rows = new QVBoxLayout(page);
    auto* columns = new QHBoxLayout;
    auto* left = new QVBoxLayout;
    left->addWidget(makeStep());
    left->addWidget(makeBatches());
    left->addWidget(makeFramework());
    left->addStretch();
    auto* right = new QVBoxLayout;
    right->addWidget(makeObjective());
    right->addWidget(makeMemory());
    right->addWidget(makeGroups());
    right->addStretch();
    columns->addLayout(left, 1);
    columns->addLayout(right, 1);
    m_files = makeFiles();
    rows->addLayout(columns);
    rows->addWidget(m_files);
    rows->addStretch(1);
    m_area = new QScrollArea;
    m_area->setWidget(page);
    m_area->setWidgetResizable(true);
    m_area->setFrameShape(QFrame::NoFrame);

    m_preview = new QLabel;
    m_preview->setObjectName(QStringLiteral("optionsPreview"));
    m_preview->setAccessibleName(tr("Effect of these options"));
    m_preview->setWordWrap(true);
    m_preview->setTextFormat(Qt::RichText);
    m_preview->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_preview->setMinimumHeight(2 * fontMetrics().lineSpacing() + 8);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel |
                                         QDialogButtonBox::RestoreDefaults);
    m_ok = buttons->button(QDialogButtonBox::Ok);
    m_ok->setObjectName(QStringLiteral("okButton"));
    QPushButton* reset = buttons->button(QDialogButtonBox::RestoreDefaults);
    reset->setObjectName(QStringLiteral("resetOptions"));
    reset->setText(tr("&Reset to defaults"));
    reset->setToolTip(tr("Set every option to its default"));
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_area, 1);
    layout->addWidget(m_preview);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(reset, &QPushButton::clicked, this, [this] { show(JobOptions()); });

    for (QComboBox* box : findChildren<QComboBox*>())
        connect(box, &QComboBox::currentIndexChanged, this, &SimulationDialog::change);
    for (QSpinBox* box : findChildren<QSpinBox*>())
        connect(box, &QSpinBox::valueChanged, this, &SimulationDialog::change);
    for (QDoubleSpinBox* box : findChildren<QDoubleSpinBox*>())
        connect(box, &QDoubleSpinBox::valueChanged, this, &SimulationDialog::change);
    for (QCheckBox* box : findChildren<QCheckBox*>())
        connect(box, &QCheckBox::toggled, this, &SimulationDialog::change);
    m_wait.setSingleShot(true);
    m_wait.setInterval(120);
    connect(&m_wait, &QTimer::timeout, this, [this] { m_document->previewOptions(options()); });
    connect(document, &Document::optionsPreviewed, this, &SimulationDialog::showPreview);
    // Its files and its batch size are not those of the network before.
    connect(document, &Document::networkOpened, this, [this] { show(m_document->options()); });
    connect(document, &Document::workspaceOpened, this, [this] { show(m_document->options()); });
    show(document->latestOptions());

    const QSize wanted =
        page->sizeHint() + QSize(60, m_preview->minimumHeight() + reset->sizeHint().height() + 60);
    resize(wanted.boundedTo(parent != nullptr ? parent->size() : wanted));
}

void SimulationDialog::appendRow(const Supplements::Times& times) {
    auto* row = new TraceRow(times, m_document->job().machine.get());
    connect(row->model(), &QComboBox::currentIndexChanged, this, &SimulationDialog::change);
    connect(row->removeButton(), &QPushButton::clicked, this, [this, row] {
        m_addTrace->setFocus();
        removeRow(row);
    });
    m_traceRows->insertWidget(static_cast<int>(m_traces.size()), row);
    // The tab order follows the order on screen.
    QWidget* before =
        m_traces.empty() ? static_cast<QWidget*>(m_mergeGroups) : m_traces.back()->removeButton();
    setTabOrder(before, row->model());
    setTabOrder(row->model(), row->removeButton());
    setTabOrder(row->removeButton(), m_addTrace);
    m_traces.push_back(row);
}

void SimulationDialog::removeRow(TraceRow* row) {
    std::erase(m_traces, row);
    m_traceRows->removeWidget(row);
    row->hide();
    row->deleteLater();
    showCost(true);
    change();
}

void SimulationDialog::addTrace(const QString& file) {
    const Supplements::Times times{file.toStdString(), {}};
    if (std::ranges::none_of(m_traces, [&](const TraceRow* row) { return row->times() == times; })) {
        const bool before = hasTimes();
        appendRow(times);
        showCost(before);
        change();
    }
    // Later, once the layout has made room for the row.
    QTimer::singleShot(0, this, [this] {
        if (m_traces.empty()) return;
        m_traces.back()->model()->setFocus();
        m_area->ensureWidgetVisible(m_files);
    });
}

void SimulationDialog::chooseTraces() {
    const QStringList files = QFileDialog::getOpenFileNames(this, tr("Add traces"), lastFolder(),
                                                            tr("Traces (*.json *.json.gz);;All files (*)"));
    if (files.isEmpty()) return;
    rememberFolder(files.front());
    for (const QString& file : files) addTrace(file);
}

void SimulationDialog::chooseParameters() {
    const QString file = QFileDialog::getOpenFileName(this, tr("Choose parameter sizes"), lastFolder(),
                                                      tr("Weights (*.safetensors *.json);;All files (*)"));
    if (file.isEmpty()) return;
    rememberFolder(file);
    setParameters(file);
}

void SimulationDialog::setParameters(const QString& file) {
    m_parameters->setFile(file);
    change();
}

bool SimulationDialog::hasTimes() const {
    return !m_traces.empty() || !m_profile->file().isEmpty();
}

void SimulationDialog::showCost(bool measuredBefore) {
    if (hasTimes()) {
        if (!measuredBefore) m_costBefore = m_cost->currentIndex();
        choose(m_cost, entryOf(find_cost_model("measured")));
    } else if (measuredBefore) {
        m_cost->setCurrentIndex(m_costBefore);
    }
}

void SimulationDialog::chooseProfile() {
    // Also the file that profiles go to by default, in a folder that is hidden.
    const QString last = ProfileDialog::lastFile();
    const QString file = QFileDialog::getOpenFileName(this, tr("Choose measured times"),
                                                      QFileInfo::exists(last) ? last : lastFolder(),
                                                      tr("Measured times (*.json);;All files (*)"));
    if (!file.isEmpty()) setProfile(file);
}

void SimulationDialog::setProfile(const QString& file) {
    const bool before = hasTimes();
    m_archive.reset();
    m_profile->setFile(file);
    showCost(before);
    change();
}

void SimulationDialog::show(const JobOptions& options) {
    m_filling = true;
    const ProblemOptions& problem = options.problem;
    choose(m_pass, problem.inference || !networkTrains() ? 1 : 0);
    m_pass->setEnabled(networkTrains());
    m_batch->setValue(static_cast<int>(options.reading.batch.value_or(0)));
    choose(m_precision, problem.precision);
    m_profile->setFile({});
    while (!m_traces.empty()) removeRow(m_traces.back());
    choose(m_cost, entryOf(problem.cost.model));
    for (const Supplements::Times& times : options.supplements.times) appendRow(times);
    m_profile->setFile(QString::fromStdString(options.profile.string()));
    m_archive = problem.cost.profile;
    m_costBefore = hasTimes() ? entryOf(ProblemOptions().cost.model) : m_cost->currentIndex();
    m_parameters->setFile(QString::fromStdString(options.supplements.parameters.string()));
    m_computeEfficiency->setValue(percent(problem.cost.compute_efficiency));
    m_channelEfficiency->setValue(percent(problem.cost.channel_efficiency));
    m_crossing->setCurrentIndex(0);
    if (problem.crossing) choose(m_crossing, *problem.crossing);
    m_batches->setValue(static_cast<int>(options.simulation.batches));
    m_inFlight->setValue(static_cast<int>(options.simulation.in_flight));
    if (options.simulation.order == Order::fifo && options.pipeline_order) {
        choose(m_order, kAutomaticOrder);
    } else {
        choose(m_order, options.simulation.order);
    }
    choose(m_runtime, options.simulation.runtime);
    choose(m_offload, problem.offload);
    m_hostTime->setValue(options.simulation.host_time_s * kMicroseconds);
    m_accumulate->setChecked(problem.accumulate_gradients);
    choose(m_memory, problem.memory);
    choose(m_optimizer, std::lround(problem.optimizer_states));
    choose(m_recomputation, problem.recomputation);
    m_updateInBackward->setChecked(problem.optimizer_in_backward);
    m_inPlace->setChecked(problem.in_place);
    m_workspace->setValue(static_cast<int>(std::lround(problem.workspace_limit_bytes / kMegabyte)));
    choose(m_framework, problem.framework);
    m_context->setValue(
        problem.context_bytes ? static_cast<int>(std::lround(*problem.context_bytes / kMegabyte)) : -1);
    m_allocator->setCurrentIndex(0);
    if (problem.allocator) choose(m_allocator, *problem.allocator);
    m_usable->setValue(percent(problem.usable_memory));
    choose(m_objective, options.objective - objectives().data());
    choose(m_rule, options.penalty.rule);
    choose(m_grouping, problem.grouping.rule);
    m_scopeDepth->setValue(static_cast<int>(problem.grouping.scope_depth));
    m_mergeGroups->setValue(static_cast<int>(problem.grouping.merge_groups));
    m_filling = false;
    change();
}

void SimulationDialog::enableControls() {
    const bool training = chosen<int>(m_pass) == 0, several = m_batches->value() > 1;
    const bool whole = chosen<MemoryModel>(m_memory) == MemoryModel::training;
    m_batch->setEnabled(m_document->isOpen() && m_document->job().batch_is_open);
    m_cost->setEnabled(!m_document->job().own_machine && !hasTimes());
    const auto& language = m_document->job().language;
    m_precision->setEnabled(!m_document->job().own_machine && (!language || takes_precision(*language)));
    m_files->setEnabled(m_document->isOpen());
    m_clearParameters->setEnabled(!m_parameters->file().isEmpty());
    m_clearProfile->setEnabled(!m_profile->file().isEmpty());
    m_inFlight->setEnabled(several);
    m_runtime->setEnabled(chosen<Order>(m_order) != Order::critical_path);
    m_hostTime->setEnabled(m_runtime->isEnabled() && chosen<Runtime>(m_runtime) == Runtime::eager);
    m_offload->setEnabled(!hasBackwardPass() && !(several && m_inFlight->value() > 1) &&
                          m_document->isOpen() && streaming_device(*m_document->job().machine));
    m_accumulate->setEnabled(training && several);
    m_optimizer->setEnabled(training && whole);
    m_recomputation->setEnabled(training);
    m_updateInBackward->setEnabled(training && whole &&
                                   !(m_accumulate->isEnabled() && m_accumulate->isChecked()));
    m_inPlace->setEnabled(whole);
    m_workspace->setEnabled(whole);
    m_framework->setEnabled(whole);
    m_allocator->setEnabled(whole);
    m_scopeDepth->setEnabled(chosen<GroupingRule>(m_grouping) == GroupingRule::scope);
    m_mergeGroups->setEnabled(chosen<GroupingRule>(m_grouping) == GroupingRule::merge);
}

/// Some networks are files of an inference.
bool SimulationDialog::networkTrains() const {
    return !m_document->isOpen() || m_document->problem()->network->training() != Training::none;
}

bool SimulationDialog::hasBackwardPass() const {
    return chosen<int>(m_pass) == 0 && networkTrains();
}

JobOptions SimulationDialog::options() const {
    JobOptions options;
    ProblemOptions& problem = options.problem;
    // The rules, and how the network is read, may be changing while the dialog is open.
    const JobOptions latest = m_document->latestOptions();
    options.reading = latest.reading;
    options.reading.batch.reset();
    if (m_batch->isEnabled() && m_batch->value() > 0) options.reading.batch = m_batch->value();
    problem.constraints = latest.problem.constraints;
    problem.inference = networkTrains() ? chosen<int>(m_pass) == 1 : m_document->options().problem.inference;
    // What a language model does not take in this phase stays for its training.
    if (m_precision->isEnabled() || !m_document->job().own_machine)
        problem.precision = chosen<Precision>(m_precision);
    options.supplements.parameters = m_parameters->file().toStdString();
    for (const TraceRow* row : m_traces) options.supplements.times.push_back(row->times());
    if (m_cost->isEnabled()) problem.cost.model = &cost_models()[chosen<std::size_t>(m_cost)];
    options.profile = m_profile->file().toStdString();
    problem.cost.profile = m_archive;
    if (hasTimes()) problem.cost.model = find_cost_model("measured");
    problem.cost.compute_efficiency = share(m_computeEfficiency);
    problem.cost.channel_efficiency = share(m_channelEfficiency);
    if (m_crossing->currentIndex() > 0) problem.crossing = chosen<Crossing>(m_crossing);
    options.simulation.batches = static_cast<std::uint32_t>(m_batches->value());
    if (m_inFlight->isEnabled())
        options.simulation.in_flight = static_cast<std::uint32_t>(m_inFlight->value());
    if (const int order = chosen<int>(m_order); order != kAutomaticOrder) {
        options.simulation.order = static_cast<Order>(order);
        options.pipeline_order = options.simulation.order != Order::fifo;
    }
    if (m_runtime->isEnabled()) options.simulation.runtime = chosen<Runtime>(m_runtime);
    if (m_hostTime->isEnabled()) options.simulation.host_time_s = m_hostTime->value() / kMicroseconds;
    if (m_offload->isEnabled()) problem.offload = chosen<Offload>(m_offload);
    problem.accumulate_gradients = m_accumulate->isEnabled() && m_accumulate->isChecked();
    problem.memory = chosen<MemoryModel>(m_memory);
    if (m_optimizer->isEnabled()) problem.optimizer_states = chosen<int>(m_optimizer);
    if (m_recomputation->isEnabled()) problem.recomputation = chosen<Recomputation>(m_recomputation);
    problem.optimizer_in_backward = m_updateInBackward->isEnabled() && m_updateInBackward->isChecked();
    problem.in_place = m_inPlace->isEnabled() && m_inPlace->isChecked();
    if (m_workspace->isEnabled()) problem.workspace_limit_bytes = m_workspace->value() * kMegabyte;
    if (m_framework->isEnabled()) problem.framework = chosen<Framework>(m_framework);
    if (m_context->value() >= 0) problem.context_bytes = m_context->value() * kMegabyte;
    if (m_allocator->isEnabled() && m_allocator->currentIndex() > 0)
        problem.allocator = chosen<Allocator>(m_allocator);
    problem.usable_memory = m_usable->value() / 100.0;
    options.objective = &objectives()[chosen<std::size_t>(m_objective)];
    options.penalty.rule = chosen<MemoryRule>(m_rule);
    problem.grouping.rule = chosen<GroupingRule>(m_grouping);
    if (m_scopeDepth->isEnabled())
        problem.grouping.scope_depth = static_cast<std::uint32_t>(m_scopeDepth->value());
    if (m_mergeGroups->isEnabled())
        problem.grouping.merge_groups = static_cast<std::uint32_t>(m_mergeGroups->value());
    return options;
}

void SimulationDialog::change() {
    if (m_filling) return;
    enableControls();
    m_ok->setEnabled(true);
    if (!m_document->isOpen()) {
        m_preview->setText(tr("Open a network to see the effect of these options."));
        return;
    }
    // The last figures stay until the next arrive: a text that flickers at every click is hard to read.
    if (m_preview->text().isEmpty()) m_preview->setText(tr("Simulating…"));
    m_wait.start();
}

void SimulationDialog::showPreview(const OptionsPreview& preview) {
    if (m_wait.isActive()) return;  // the preview is of options that have changed since
    const bool refused = !preview.outcome.has_value();
    m_ok->setEnabled(!refused);
    QStringList notes;
    for (const std::string& note : preview.notes) notes << QString::fromStdString(note);
    m_notes->setText(notes.join(QLatin1Char('\n')));
    m_notes->setVisible(!notes.isEmpty());
    // Scrolls to the notes after the user has chosen a file.
    if (!notes.isEmpty() && m_files->isAncestorOf(focusWidget()))
        QTimer::singleShot(0, this, [this] { m_area->ensureWidgetVisible(m_notes); });
    QPalette colors;  // else as the window
    if (refused || !preview.assessment.score.fits)
        colors.setColor(QPalette::WindowText, warningColor(palette()));
    m_preview->setPalette(colors);
    if (refused) {
        m_preview->setText(tr("These options cannot be used: %1").arg(preview.error.toHtmlEscaped()));
        return;
    }
    const Outcome& outcome = *preview.outcome;
    const Assessment& assessment = preview.assessment;
    const bool simulated = preview.objective->is_step_time();
    const double value_s = assessment.score.value_s;
    QString text = simulated ? tr("The current placement takes <b>%1</b> per step").arg(secondsText(value_s))
                   : assessment.is_defined()
                       ? tr("The current placement has a %1 of <b>%2</b>")
                             .arg(objectiveName(*preview.objective), secondsText(value_s))
                       : tr("The current placement has no %1: %2")
                             .arg(objectiveName(*preview.objective),
                                  QString::fromStdString(assessment.undefined).toHtmlEscaped());
    if (assessment.is_defined() && preview.now_s && *preview.now_s > 0 && *preview.now_s != value_s) {
        const double change = value_s / *preview.now_s - 1;
        text += tr(" (now %1, %2%3 %)")
                    .arg(secondsText(*preview.now_s), change > 0 ? QStringLiteral("+") : QStringLiteral("−"))
                    .arg(std::abs(change) * 100, 0, 'f', 1);
    }
    if (!simulated) text += tr(", a simulated step of %1").arg(secondsText(outcome.step_time_s));
    if (outcome.steady_step_time_s)
        text += tr(", %1 per batch with a full pipeline").arg(secondsText(*outcome.steady_step_time_s));
    if (preview.samples_per_s > 0) text += tr(", %1 samples/s").arg(rateText(preview.samples_per_s));
    if (preview.tokens_per_s > 0) text += QStringLiteral(", ") + tokenRateText(preview.tokens_per_s);
    if (assessment.is_defined())
        text += assessment.score.fits ? tr(" and fits") : tr(" and <b>does not fit</b> the memory");
    text = tr("%1: %2 uses %3.")
               .arg(text, preview.fullestDevice.toHtmlEscaped(),
                    shareOfBytesText(preview.fullest_bytes, preview.fullest_limit_bytes));
    if (preview.moved > 0)
        text += tr(" %1 would move to the device of most of their group.").arg(opsText(preview.moved));
    if (m_document->isOptimizing())
        text += tr(" OK stops the running search; its best placement stays in the list.");
    m_preview->setText(text);
}

void SimulationDialog::accept() {
    m_document->setOptions(options());
    QDialog::accept();
}

void SimulationDialog::done(int result) {
    m_wait.stop();
    m_document->cancelOptionsPreview();
    QDialog::done(result);
}

}  // namespace placewright
