// SPDX-License-Identifier: MIT
// The groups of options of the SimulationDialog.
#include <QDoubleSpinBox>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/window/dialogs/form_rows.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/dialogs/trace_row.hpp"
#include "app/window/option_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {

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
    m_batch =
        named(spinBox(0, 1'000'000, {}, batchOfFile()), "batchSize",
              m_document->isOpen() && !m_document->job().batch_is_open
                  ? (m_document->job().fixed_batch.empty()
                         ? tr("Samples per batch, fixed by this network's file: its tensor sizes hold for "
                              "that batch size only.")
                         : tr("Samples per batch, fixed by this network's file: %1.")
                               .arg(toQString(m_document->job().fixed_batch)))
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
                            "the network file, where given, and from the files below."));
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
    m_order->addItem(tr("Automatic"), kAutomaticOrder);
    m_order->setItemData(
        0,
        tr("1F1B for language models whose layers stay whole, with several batches in flight, as in the "
           "programs that serve them; else first come, first served"),
        Qt::ToolTipRole);
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
    m_runtime =
        named(new QComboBox, "runtime",
              tr("Whether a framework's order and time count: eager is PyTorch as it is, ideal is what the "
                 "papers simulate (needs another order than critical path first)."));
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
    m_offload =
        named(new QComboBox, "offload",
              tr("Who runs the ops that are placed on a CPU, such as layers for which the GPUs have no room; "
                 "without ops on a CPU it changes nothing (needs inference, a machine with a CPU beside "
                 "GPUs, and one batch in flight)."));
    addChoice(m_offload, Offload::compute, offloadTitle(Offload::compute),
              tr("The CPU runs them from its own memory, as in llama.cpp"));
    addChoice(m_offload, Offload::stream, offloadTitle(Offload::stream),
              tr("The first GPU runs them once their weights have come from the CPU's memory, while the op "
                 "before runs, as in Accelerate"));
    addRow(form, tr("Ops on a CPU"), m_offload);
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
    addRow(form, tr("Overhead"), m_framework);
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

    m_profile = new FileLabel(tr("None"));
    m_profile->setObjectName(QStringLiteral("measuredTimes"));
    auto* chooseTimes = named(
        new QPushButton(tr("Choose…")), "chooseProfile",
        tr("Use times of ops and transfers that were measured on this computer (Run ▸ Profile this "
           "network…) or another one. They are kept by what an op does, so that those of one network serve "
           "others; what was never measured is predicted by the roofline."));
    chooseTimes->setAutoDefault(false);
    chooseTimes->setAccessibleName(tr("Choose the file of measured times"));
    m_clearProfile = named(new QPushButton(tr("Clear")), "clearProfile",
                           tr("Stop using these measured times; the file stays"));
    m_clearProfile->setAutoDefault(false);
    m_clearProfile->setAccessibleName(tr("Clear the file of measured times"));
    connect(chooseTimes, &QPushButton::clicked, this, &SimulationDialog::chooseProfile);
    connect(m_clearProfile, &QPushButton::clicked, this, [this, chooseTimes] {
        chooseTimes->setFocus();
        setProfile({});
    });
    auto* measured = new QHBoxLayout;
    measured->addWidget(m_profile, 1);
    measured->addWidget(chooseTimes);
    measured->addWidget(m_clearProfile);
    auto* measuredLabel = new QLabel(tr("Measured times"));
    measuredLabel->setToolTip(chooseTimes->toolTip());
    form->addRow(measuredLabel, measured);

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

}  // namespace placewright
