// SPDX-License-Identifier: MIT
#include "app/window/dialogs/simulation_dialog.hpp"

#include <cmath>

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QVBoxLayout>

#include "app/window/dialogs/trace_row.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr double kMegabyte = 1e6;
constexpr double kMicroseconds = 1e6;  // a second

/// Adds a row whose label and control have the same tooltip and name.
void addRow(QFormLayout* form, const QString& title, QWidget* control) {
    auto* label = new QLabel(title);
    label->setBuddy(control);
    label->setToolTip(control->toolTip());
    control->setAccessibleName(QString(title).remove(QLatin1Char('&')));
    form->addRow(label, control);
}

void addCheck(QFormLayout* form, QCheckBox* box) {
    box->setAccessibleName(box->text().remove(QLatin1Char('&')));
    form->addRow(box);
}

/// The value `least` is shown as `asItIs`, if that is not empty.
QSpinBox* spinBox(int least, int most, const QString& suffix, const QString& asItIs = {}) {
    auto* box = new QSpinBox;
    box->setRange(least, most);
    box->setSuffix(suffix);
    box->setSpecialValueText(asItIs);
    box->setGroupSeparatorShown(true);
    box->setStepType(most > 1000 ? QAbstractSpinBox::AdaptiveDecimalStepType
                                 : QAbstractSpinBox::DefaultStepType);
    return box;
}

template <class Choice>
void addChoice(QComboBox* box, Choice choice, const QString& title, const QString& help) {
    box->addItem(title, static_cast<int>(choice));
    box->setItemData(box->count() - 1, help, Qt::ToolTipRole);
}

template <class Choice>
Choice chosen(const QComboBox* box) {
    return static_cast<Choice>(box->currentData().toInt());
}

template <class Choice>
void choose(QComboBox* box, Choice choice) {
    box->setCurrentIndex(std::max(0, box->findData(static_cast<int>(choice))));
}

std::optional<double> share(const QSpinBox* box) {
    return box->value() > 0 ? std::optional(box->value() / 100.0) : std::nullopt;
}

int percent(const std::optional<double>& share) {
    return static_cast<int>(std::lround(share.value_or(0) * 100));
}

int entryOf(const CostModel* model) {
    return static_cast<int>(model - cost_models().data());
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
    left->addWidget(makeGroups());
    left->addStretch();
    auto* right = new QVBoxLayout;
    right->addWidget(makeObjective());
    right->addWidget(makeMemory());
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
    show(document->options());

    const QSize wanted =
        page->sizeHint() + QSize(60, m_preview->minimumHeight() + reset->sizeHint().height() + 60);
    resize(wanted.boundedTo(parent != nullptr ? parent->size() : wanted));
}

/// Returns the text for the file's own batch size, which is not known while an option replaces it.
QString SimulationDialog::batchOfFile() const {
    return m_document->isOpen() && !m_document->options().reading.batch
               ? tr("As in the file (%1)").arg(m_document->problem()->forward->batch())
               : tr("As in the file");
}

QWidget* SimulationDialog::makeStep() {
    auto* group = new QGroupBox(tr("Step"));
    auto* form = new QFormLayout(group);
    m_pass = named(new QComboBox, "pass",
                   tr("Training runs each batch forward and backward and updates the parameters; inference "
                      "runs it forward only."));
    addChoice(m_pass, 0, tr("Training"), tr("Forward, backward and update"));
    addChoice(m_pass, 1, tr("Inference"), tr("Forward only; no tensor is kept for a backward pass"));
    addRow(form, tr("&Pass"), m_pass);
    m_batch = named(spinBox(0, 1'000'000, {}, batchOfFile()), "batchSize",
                    m_document->isOpen() && !m_document->job().batch_is_open
                        ? tr("Samples per batch, fixed by this network's file: its tensor sizes hold for "
                             "that batch size only.")
                        : tr("Samples per batch: larger batches use a device better and need more memory."));
    addRow(form, tr("&Batch size"), m_batch);
    m_precision = named(new QComboBox, "precision",
                        tr("Types of numbers that the network is computed with: narrow ones take less memory "
                           "and are faster on devices with units for them."));
    for (const Precision precision : precisions())
        addChoice(m_precision, precision, precisionTitle(precision), precisionHelp(precision));
    addRow(form, tr("Preci&sion"), m_precision);
    m_cost = named(new QComboBox, "costModel",
                   m_document->job().own_machine
                       ? tr("How op times are found; this network is a workload and brings measured times.")
                       : tr("How op times are found: Roofline suits most networks; Measured uses times from "
                            "the network file, where given, and from the traces below."));
    for (const CostModel& model : cost_models()) {
        addChoice(m_cost, entryOf(&model), toQString(model.title), toQString(model.help));
    }
    addRow(form, tr("&Cost model"), m_cost);
    m_computeEfficiency =
        named(spinBox(0, 100, tr(" %"), tr("From the machine file")), "computeEfficiency",
              tr("Share of its peak speed that every device reaches, in place of the machine file's value: "
                 "lower values make ops slower; use it to model a slower or better tuned program."));
    addRow(form, tr("Comp&ute efficiency"), m_computeEfficiency);
    m_channelEfficiency =
        named(spinBox(0, 100, tr(" %"), tr("From the machine file")), "channelEfficiency",
              tr("Share of its bandwidth that every channel reaches, in place of the machine file's value."));
    addRow(form, tr("Cha&nnel efficiency"), m_channelEfficiency);
    m_crossing = named(
        new QComboBox, "crossing",
        tr("How a transfer crosses a route of several channels; routes of one channel are not affected."));
    m_crossing->addItem(m_document->isOpen()
                            ? tr("From the machine file (%1)")
                                  .arg(crossingTitle(m_document->job().machine->crossing()).toLower())
                            : tr("From the machine file"),
                        -1);
    addChoice(
        m_crossing, Crossing::store_and_forward, crossingTitle(Crossing::store_and_forward),
        tr("One channel after the other, each for the whole message; for example through the host's memory"));
    addChoice(
        m_crossing, Crossing::cut_through, crossingTitle(Crossing::cut_through),
        tr("All channels at once, at the speed of the slowest; for example direct copies through switches"));
    addRow(form, tr("&Route crossing"), m_crossing);
    return group;
}

QWidget* SimulationDialog::makeBatches() {
    auto* group = new QGroupBox(tr("Batches"));
    auto* form = new QFormLayout(group);
    m_batches = named(spinBox(1, 100'000, {}), "batches",
                      tr("Number of batches to run: one shows a single step; several show a pipeline, whose "
                         "step time is the total time divided by their number."));
    addRow(form, tr("Ba&tches"), m_batches);
    m_inFlight = named(spinBox(1, 1'000, {}), "inFlight",
                       tr("Maximum number of batches at a time: more keep waiting devices busy and hold more "
                          "in memory (needs several batches)."));
    addRow(form, tr("Batches in &flight"), m_inFlight);
    m_order = named(new QComboBox, "order",
                    tr("Which of the ops that wait for a device runs first, and when batches may start."));
    addChoice(m_order, Order::fifo, orderTitle(Order::fifo),
              tr("The op that was ready first, as in most frameworks"));
    addChoice(
        m_order, Order::critical_path, orderTitle(Order::critical_path),
        tr("The op with the longest remaining path; often gives shorter steps with the same placement"));
    addChoice(m_order, Order::gpipe, orderTitle(Order::gpipe),
              tr("Forward of all batches before backward of any: simple pipelines, most memory"));
    addChoice(m_order, Order::one_forward_one_backward, orderTitle(Order::one_forward_one_backward),
              tr("Backward as soon as it can run, as in PipeDream: pipelines with few batches in memory"));
    addRow(form, tr("&Order"), m_order);
    m_accumulate = named(new QCheckBox(tr("&Accumulate gradients")), "accumulateGradients",
                         tr("Treats the batches as parts of one step: sums their gradients and updates the "
                            "parameters once (needs training and several batches)."));
    addCheck(form, m_accumulate);
    return group;
}

QWidget* SimulationDialog::makeFramework() {
    auto* group = new QGroupBox(tr("Framework"));
    auto* form = new QFormLayout(group);
    m_runtime = named(new QComboBox, "runtime",
                      tr("Who starts the ops (needs another order than critical path first)."));
    addChoice(m_runtime, Runtime::ideal, runtimeTitle(Runtime::ideal),
              tr("Each op starts as soon as its inputs and its device are free, as in Placeto and Exprimo"));
    addChoice(
        m_runtime, Runtime::eager, runtimeTitle(Runtime::eager),
        tr("A framework issues the ops in program order, which takes time on the CPU, as PyTorch does"));
    addChoice(m_runtime, Runtime::compiled, runtimeTitle(Runtime::compiled),
              tr("Ops run in program order without the framework, as in CUDA graphs"));
    addRow(form, tr("Runtime"), m_runtime);
    auto* time = new QDoubleSpinBox;
    time->setRange(0.1, 1000);
    time->setDecimals(1);
    time->setSuffix(tr(" µs"));
    m_hostTime =
        named(time, "hostTime",
              tr("What the framework takes on the CPU to dispatch an op, and again to launch each of "
                 "its kernels (needs the eager runtime)."));
    addRow(form, tr("Host time"), m_hostTime);
    return group;
}

QWidget* SimulationDialog::makeObjective() {
    auto* group = new QGroupBox(tr("Objective"));
    auto* form = new QFormLayout(group);
    m_objective = named(new QComboBox, "objective",
                        tr("Value that searches, suggestions and drags minimise and that the lower bound is "
                           "for; the timeline always shows the simulated step."));
    for (const Objective& objective : objectives())
        addChoice(m_objective, &objective - objectives().data(), objectiveTitle(objective),
                  toQString(objective.help));
    addRow(form, tr("Minimis&e"), m_objective);
    m_rule = named(new QComboBox, "memoryRule",
                   tr("Penalty that searches add to a placement that does not fit the memory; it changes "
                      "which placements they prefer, not times."));
    addChoice(m_rule, MemoryRule::exprimo, memoryRuleTitle(MemoryRule::exprimo),
              tr("Penalty per MB over the limit on any device; any placement that fits ranks better"));
    addChoice(m_rule, MemoryRule::placeto, memoryRuleTitle(MemoryRule::placeto),
              tr("Two seconds per GB that the fullest device is over its limit: milder, searches may pass "
                 "through placements that do not fit"));
    addChoice(m_rule, MemoryRule::post, memoryRuleTitle(MemoryRule::post),
              tr("Any placement that does not fit counts as 100 s, whatever the excess"));
    addRow(form, tr("O&verflow penalty"), m_rule);
    return group;
}

QWidget* SimulationDialog::makeMemory() {
    auto* group = new QGroupBox(tr("Memory"));
    auto* form = new QFormLayout(group);
    m_memory = named(new QComboBox, "memoryModel", tr("What counts as memory in use, and for how long."));
    addChoice(m_memory, MemoryModel::training, memoryModelTitle(MemoryModel::training),
              tr("Parameters, optimizer state and every tensor from its first byte to its last reader"));
    addChoice(m_memory, MemoryModel::exprimo, memoryModelTitle(MemoryModel::exprimo),
              tr("Parameters and tensors as Exprimo counts them, for comparison with its results"));
    addRow(form, tr("&Memory model"), m_memory);
    m_optimizer = named(new QComboBox, "optimizer",
                        tr("State of the optimizer in addition to the parameters: none, one or two copies of "
                           "them (needs training)."));
    for (const int states : {0, 1, 2}) {
        addChoice(m_optimizer, states, optimizerTitle(states),
                  states == 0   ? tr("No state")
                  : states == 1 ? tr("One value per parameter")
                                : tr("Two values per parameter"));
    }
    addRow(form, tr("Optimi&zer"), m_optimizer);
    m_recomputation = named(new QComboBox, "recomputation",
                            tr("Which tensors the backward pass recomputes instead of keeping them: less "
                               "memory for more time (needs training)."));
    addChoice(m_recomputation, Recomputation::none, recomputationTitle(Recomputation::none),
              tr("Fastest, most memory"));
    addChoice(m_recomputation, Recomputation::cheap, recomputationTitle(Recomputation::cheap),
              tr("Recomputes all but convolutions, products and recurrent cells: little extra time"));
    addChoice(m_recomputation, Recomputation::segments, recomputationTitle(Recomputation::segments),
              tr("Keeps only the ends of about √n segments: least memory, about one more forward pass"));
    addRow(form, tr("Rec&omputation"), m_recomputation);
    m_updateInBackward = named(new QCheckBox(tr("Update in bac&kward pass")), "updateInBackward",
                               tr("Updates each parameter as soon as its gradient is there, which frees the "
                                  "gradient; otherwise gradients stay until the end of the step, as in most "
                                  "frameworks (needs training)."));
    addCheck(form, m_updateInBackward);
    m_inPlace = named(
        new QCheckBox(tr("&In-place ops")), "inPlace",
        tr("Ops such as ReLU overwrite an input that no other op reads, as with inplace=True in PyTorch."));
    addCheck(form, m_inPlace);
    m_workspace = named(spinBox(0, 1'000'000, tr(" MB"), tr("None")), "workspaceLimit",
                        tr("Largest scratch memory of a running convolution, which unfolds its input; set "
                           "your library's limit if large convolutions are near the memory limit."));
    addRow(form, tr("&Workspace limit"), m_workspace);
    m_framework = named(new QComboBox, "framework",
                        tr("What the framework takes of the memory of GPUs that the catalogue of devices "
                           "knows, beside tensors."));
    addChoice(m_framework, Framework::pytorch, frameworkTitle(Framework::pytorch),
              tr("500 MB for context and libraries; tensors take whole blocks of its allocator"));
    addChoice(m_framework, Framework::none, frameworkTitle(Framework::none),
              tr("Nothing: tensors take their bytes, and the whole memory is theirs"));
    addRow(form, tr("Framework"), m_framework);
    m_context = named(spinBox(-1, 1'000'000, tr(" MB"), tr("From the framework")), "contextMemory",
                      tr("Memory of each GPU that the framework holds for its context and libraries, in "
                         "place of the framework's value."));
    addRow(form, tr("Conte&xt memory"), m_context);
    m_allocator = named(new QComboBox, "allocator",
                        tr("Rounding of tensors to the blocks of an allocator; transfers are not affected."));
    m_allocator->addItem(tr("From the framework"), -1);
    addChoice(m_allocator, Allocator::none, allocatorTitle(Allocator::none), tr("Tensors take their bytes"));
    addChoice(m_allocator, Allocator::pytorch, allocatorTitle(Allocator::pytorch),
              tr("Multiples of 512 bytes: what PyTorch counts as allocated"));
    addChoice(m_allocator, Allocator::pytorch_segments, allocatorTitle(Allocator::pytorch_segments),
              tr("Large tensors also take what is lost of their segments: about what PyTorch reserves"));
    addRow(form, tr("Allocator"), m_allocator);
    m_usable = named(spinBox(1, 100, tr(" %")), "usableMemory",
                     tr("Share of each device's memory, less the context, that a placement may use; the rest "
                        "is for fragmentation and other programs (90 % is safe)."));
    addRow(form, tr("Usable memor&y"), m_usable);
    return group;
}

QWidget* SimulationDialog::makeGroups() {
    auto* group = new QGroupBox(tr("Groups"));
    auto* form = new QFormLayout(group);
    m_grouping = named(new QComboBox, "grouping",
                       tr("Which ops move together, in searches and by hand: fewer groups are searched "
                          "faster but allow fewer placements; each op is still simulated."));
    addChoice(m_grouping, GroupingRule::none, groupingTitle(GroupingRule::none),
              tr("An op with its backward and update ops, and ops that the file keeps together"));
    addChoice(m_grouping, GroupingRule::colocation, groupingTitle(GroupingRule::colocation),
              tr("An op joins its only reader, as in ColocRL"));
    addChoice(m_grouping, GroupingRule::scope, groupingTitle(GroupingRule::scope),
              tr("The ops of a module stay together"));
    addChoice(m_grouping, GroupingRule::merge, groupingTitle(GroupingRule::merge),
              tr("The group with the smallest outputs joins a neighbour, repeatedly, as in Placeto"));
    addRow(form, tr("&Grouping"), m_grouping);
    m_scopeDepth = named(spinBox(1, 20, {}), "scopeDepth",
                         tr("Nesting depth of the modules that form groups: 1 for the outermost, 2 for those "
                            "inside them (needs grouping by module)."));
    addRow(form, tr("Mo&dule depth"), m_scopeDepth);
    m_mergeGroups = named(spinBox(1, 100'000, {}), "mergeGroups",
                          tr("Number of groups to merge down to (needs the grouping of small groups)."));
    addRow(form, tr("Nu&mber of groups"), m_mergeGroups);
    return group;
}

QGroupBox* SimulationDialog::makeFiles() {
    auto* group = new QGroupBox(tr("From other files"));
    auto* form = new QFormLayout(group);
    m_addTrace =
        named(new QPushButton(tr("Add trace…")), "addTrace",
              tr("Use the op times of a trace of this network (PyTorch profiler, ONNX Runtime, Chrome)."));
    m_addTrace->setAutoDefault(false);
    connect(m_addTrace, &QPushButton::clicked, this, &SimulationDialog::chooseTraces);
    auto* traces = new QWidget;
    m_traceRows = new QVBoxLayout(traces);
    m_traceRows->setContentsMargins(0, 0, 0, 0);
    m_traceRows->addWidget(m_addTrace, 0, Qt::AlignLeft);
    auto* timesLabel = new QLabel(tr("Op time&s from"));
    timesLabel->setBuddy(m_addTrace);
    timesLabel->setToolTip(m_addTrace->toolTip());
    form->addRow(timesLabel, traces);

    m_parameters = new FileLabel(tr("The network file"));
    m_parameters->setObjectName(QStringLiteral("parametersFile"));
    auto* choose = named(new QPushButton(tr("C&hoose…")), "chooseParameters",
                         tr("Use the parameter sizes, such as those of half precision, of a weight file of "
                            "this network (safetensors, or an index of several)."));
    choose->setAutoDefault(false);
    choose->setAccessibleName(tr("Choose the file of parameter sizes"));
    m_clearParameters = named(new QPushButton(tr("C&lear")), "clearParameters",
                              tr("Use the parameter sizes of the network file again"));
    m_clearParameters->setAutoDefault(false);
    m_clearParameters->setAccessibleName(tr("Clear the file of parameter sizes"));
    connect(choose, &QPushButton::clicked, this, &SimulationDialog::chooseParameters);
    connect(m_clearParameters, &QPushButton::clicked, this, [this, choose] {
        choose->setFocus();
        setParameters({});
    });
    auto* parameters = new QHBoxLayout;
    parameters->addWidget(m_parameters, 1);
    parameters->addWidget(choose);
    parameters->addWidget(m_clearParameters);
    auto* sizesLabel = new QLabel(tr("Parameter sizes from"));
    sizesLabel->setToolTip(choose->toolTip());
    form->addRow(sizesLabel, parameters);

    m_notes = new QLabel;
    m_notes->setObjectName(QStringLiteral("fileNotes"));
    m_notes->setAccessibleName(tr("What was found in these files"));
    m_notes->setTextFormat(Qt::PlainText);
    m_notes->setWordWrap(true);
    m_notes->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_notes->hide();
    form->addRow(m_notes);
    return group;
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
    if (m_traces.empty()) m_cost->setCurrentIndex(m_costBefore);
    change();
}

void SimulationDialog::addTrace(const QString& file) {
    const Supplements::Times times{file.toStdString(), {}};
    if (std::ranges::none_of(m_traces, [&](const TraceRow* row) { return row->times() == times; })) {
        if (m_traces.empty()) m_costBefore = m_cost->currentIndex();
        appendRow(times);
        choose(m_cost, entryOf(find_cost_model("measured")));
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

void SimulationDialog::show(const JobOptions& options) {
    m_filling = true;
    const ProblemOptions& problem = options.problem;
    choose(m_pass, problem.inference ? 1 : 0);
    m_batch->setValue(static_cast<int>(options.reading.batch.value_or(0)));
    choose(m_precision, problem.precision);
    while (!m_traces.empty()) removeRow(m_traces.back());
    choose(m_cost, entryOf(problem.cost.model));
    for (const Supplements::Times& times : options.supplements.times) appendRow(times);
    m_costBefore = m_traces.empty() ? m_cost->currentIndex() : entryOf(ProblemOptions().cost.model);
    m_parameters->setFile(QString::fromStdString(options.supplements.parameters.string()));
    m_computeEfficiency->setValue(percent(problem.cost.compute_efficiency));
    m_channelEfficiency->setValue(percent(problem.cost.channel_efficiency));
    m_crossing->setCurrentIndex(0);
    if (problem.crossing) choose(m_crossing, *problem.crossing);
    m_batches->setValue(static_cast<int>(options.simulation.batches));
    m_inFlight->setValue(static_cast<int>(options.simulation.in_flight));
    choose(m_order, options.simulation.order);
    choose(m_runtime, options.simulation.runtime);
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
    m_cost->setEnabled(!m_document->job().own_machine && m_traces.empty());
    m_files->setEnabled(m_document->isOpen());
    m_clearParameters->setEnabled(!m_parameters->file().isEmpty());
    m_inFlight->setEnabled(several);
    m_runtime->setEnabled(chosen<Order>(m_order) != Order::critical_path);
    m_hostTime->setEnabled(m_runtime->isEnabled() && chosen<Runtime>(m_runtime) == Runtime::eager);
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

JobOptions SimulationDialog::options() const {
    JobOptions options;
    ProblemOptions& problem = options.problem;
    options.reading = m_document->options().reading;
    options.reading.batch.reset();
    if (m_batch->isEnabled() && m_batch->value() > 0) options.reading.batch = m_batch->value();
    problem.inference = chosen<int>(m_pass) == 1;
    problem.precision = chosen<Precision>(m_precision);
    options.supplements.parameters = m_parameters->file().toStdString();
    for (const TraceRow* row : m_traces) options.supplements.times.push_back(row->times());
    if (m_cost->isEnabled()) problem.cost.model = &cost_models()[chosen<std::size_t>(m_cost)];
    if (!m_traces.empty()) problem.cost.model = find_cost_model("measured");
    problem.cost.compute_efficiency = share(m_computeEfficiency);
    problem.cost.channel_efficiency = share(m_channelEfficiency);
    if (m_crossing->currentIndex() > 0) problem.crossing = chosen<Crossing>(m_crossing);
    options.simulation.batches = static_cast<std::uint32_t>(m_batches->value());
    if (m_inFlight->isEnabled())
        options.simulation.in_flight = static_cast<std::uint32_t>(m_inFlight->value());
    options.simulation.order = chosen<Order>(m_order);
    if (m_runtime->isEnabled()) options.simulation.runtime = chosen<Runtime>(m_runtime);
    if (m_hostTime->isEnabled()) options.simulation.host_time_s = m_hostTime->value() / kMicroseconds;
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
    QPalette colors = palette();
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
    if (assessment.is_defined())
        text += assessment.score.fits ? tr(" and fits") : tr(" and <b>does not fit</b> the memory");
    text = tr("%1: %2 uses %3.")
               .arg(text, preview.fullestDevice.toHtmlEscaped(),
                    shareOfBytesText(preview.fullest_bytes, preview.fullest_limit_bytes));
    if (preview.moved > 0)
        text += tr(" %1 would move to the device of most of their group.").arg(opsText(preview.moved));
    if (m_document->isSearching())
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
