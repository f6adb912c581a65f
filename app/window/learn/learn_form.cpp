// SPDX-License-Identifier: MIT
// The form of LearnWindow: what a training is asked for, also from the record of a policy file.
#include <algorithm>
#include <set>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/dialogs/search_options_dialog.hpp"
#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/learn/learn_controls.hpp"
#include "app/window/learn/learn_window.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/algorithms.hpp"
#include "core/base/torch_library.hpp"
#include "core/graph/families.hpp"
#include "core/io/state/policy_file.hpp"
#include "widgets/icons.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

// Entries of the list of sources other than names of families.
constexpr auto kFolder = "folder", kOpen = "open";

/// The family that a policy's training networks belong to, as far as their names tell: members are named
/// after the family, and the half to train on depends on the number of members and on the seed.
struct FamilyOfFile {
    const FamilyInfo* family = nullptr;
    std::uint32_t count = 0;
    std::uint64_t seed = 0;
};

/// Returns nothing if no family has these networks as its training half.
std::optional<FamilyOfFile> familyOf(const std::vector<TrainingRecord::Graph>& graphs) {
    constexpr std::uint64_t kMostSeeds = 10'000;
    constexpr std::size_t kMostNetworks = 500;  // keeps the wait of the window short
    if (graphs.size() > kMostNetworks) return {};
    FamilyOfFile found;
    std::vector<std::uint32_t> trained;
    for (const TrainingRecord::Graph& graph : graphs) {
        const QString name = toQString(graph.network);
        bool isNumber = false;
        trained.push_back(name.section(QLatin1Char('_'), -1).toUInt(&isNumber));
        const FamilyInfo* family = find_family(name.section(QLatin1Char('_'), 0, -2).toStdString());
        if (!isNumber || family == nullptr || (found.family != nullptr && family != found.family)) return {};
        found.family = family;
    }
    std::ranges::sort(trained);
    const auto size = static_cast<std::uint32_t>(trained.size());
    for (const std::uint32_t count : {2 * size, 2 * size - 1}) {
        if (count <= trained.back()) continue;
        for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
            const std::vector<bool> half = training_half(count, seed);
            if (!std::ranges::all_of(trained, [&](std::uint32_t number) { return half[number]; })) continue;
            found.count = count;
            found.seed = seed;
            return found;
        }
    }
    return {};
}

/// Adds a row with a title whose mnemonic leads to `buddy`.
void addRow(QFormLayout* form, const QString& title, QWidget* row, QWidget* buddy) {
    auto* label = new QLabel(title);
    label->setBuddy(buddy);
    form->addRow(label, row);
}

/// What a training would be made of, or what it lacks.
struct RequestText {
    QString lacking, size;
};

RequestText textOf(const TrainingRequest& wanted, bool folder, bool open) {
    if (folder)
        return {wanted.folder.empty() ? LearnWindow::tr("Choose a folder of network files.") : QString(),
                LearnWindow::tr("One policy for all networks of the folder")};
    if (open) {
        if (!wanted.network) return {LearnWindow::tr("Open a network in the main window first."), {}};
        return {{},
                LearnWindow::tr("%1, in %L2 groups")
                    .arg(toQString(wanted.network->problem->graph->name()))
                    .arg(wanted.network->problem->groups)};
    }
    const std::uint32_t train = (wanted.count + 1) / 2, test = wanted.count - train;
    const std::uint32_t groups = wanted.options.problem.grouping == GroupingOptions()
                                     ? wanted.family->groups
                                     : wanted.options.problem.grouping.merge_groups;
    if (groups == 0)
        return {{}, LearnWindow::tr("%L1 training networks, %L2 test networks").arg(train).arg(test)};
    return {{},
            LearnWindow::tr("%L1 training networks, %L2 test networks, up to %L3 groups each")
                .arg(train)
                .arg(test)
                .arg(groups)};
}

}  // namespace

QWidget* LearnWindow::makeForm() {
    auto* form = new QWidget;
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(0, 0, 6, 0);
    m_form = new QFormLayout;
    makeSources();
    makePolicy();
    layout->addLayout(m_form);
    m_size = new QLabel;
    m_size->setObjectName(QStringLiteral("size"));
    m_size->setWordWrap(true);
    m_size->setForegroundRole(QPalette::PlaceholderText);
    m_start = makeButton("start", tr("&Train"), {});
    m_pause = makeButton("pause", tr("&Pause"), tr("Pause the training (the result is unaffected)"));
    connect(m_start, &QPushButton::clicked, this, &LearnWindow::startOrStop);
    connect(m_pause, &QPushButton::clicked, this, &LearnWindow::pauseOrResume);

    layout->addWidget(m_size);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_start, 1);
    buttons->addWidget(m_pause, 1);
    layout->addLayout(buttons);
    m_resume = makeButton("resume", tr("Resume from polic&y file…"),
                          tr("Resume the training of a policy saved here or by placewright-cli train"));
    connect(m_resume, &QPushButton::clicked, this, &LearnWindow::choosePolicyFile);
    layout->addWidget(m_resume);
    layout->addStretch(1);
    for (QComboBox* box : {m_source, m_policy})
        connect(box, &QComboBox::currentIndexChanged, this, &LearnWindow::showRequest);
    for (QSpinBox* box : {m_count, m_familySeed, m_updates})
        connect(box, &QSpinBox::valueChanged, this, &LearnWindow::showRequest);
    connect(m_seed, &QDoubleSpinBox::valueChanged, this, &LearnWindow::showRequest);
    connect(m_folder, &QLineEdit::textChanged, this, &LearnWindow::showRequest);
    return form;
}

/// Adds the rows for the networks and the machine.
void LearnWindow::makeSources() {
    m_source = new QComboBox;
    m_source->setObjectName(QStringLiteral("source"));
    m_source->setAccessibleName(tr("Networks"));
    m_source->setToolTip(tr("Networks that the policy is trained on"));
    for (const FamilyInfo& family : known_families()) {
        m_source->addItem(tr("%1: %2").arg(toQString(family.name), toQString(family.title)),
                          toQString(family.name));
        m_source->setItemData(m_source->count() - 1, toQString(family.source), Qt::ToolTipRole);
    }
    m_source->addItem(tr("Folder of networks"), QString::fromLatin1(kFolder));
    m_source->addItem(tr("The open network"), QString::fromLatin1(kOpen));
    m_source->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_count = makeSpin("count", tr("Networks"), 1, 10'000, static_cast<int>(kFamilySize),
                       tr("Number of networks of the family: one half for training, the other for tests"));
    m_familySeed = makeSpin("familySeed", tr("Family seed"), 0, 1'000'000'000, 1,
                            tr("Seed that generates the networks of the family"));
    m_folderRow = makeFolderRow();
    m_machine = new QLabel;
    m_machine->setObjectName(QStringLiteral("machineName"));
    m_machine->setWordWrap(true);
    m_machine->setToolTip(tr("Machine chosen in the main window"));
    addRow(m_form, tr("&Learn from"), m_source, m_source);
    addRow(m_form, tr("&Networks"), m_count, m_count);
    addRow(m_form, tr("&Family seed"), m_familySeed, m_familySeed);
    addRow(m_form, tr("F&older"), m_folderRow, m_folder);
    m_form->addRow(tr("Machine"), m_machine);
}

QWidget* LearnWindow::makeFolderRow() {
    m_folder = new QLineEdit;
    m_folder->setObjectName(QStringLiteral("folder"));
    m_folder->setAccessibleName(tr("Folder"));
    m_folder->setToolTip(
        tr("Folder of network files to train on; if it has subfolders train and test, those in test are for "
           "tests"));
    auto* choose = new QToolButton;
    choose->setText(tr("…"));
    choose->setAccessibleName(tr("Choose a folder"));
    connect(choose, &QToolButton::clicked, this, &LearnWindow::chooseFolder);
    auto* row = new QWidget;
    auto* folderLayout = new QHBoxLayout(row);
    folderLayout->setContentsMargins(0, 0, 0, 0);
    folderLayout->addWidget(m_folder, 1);
    folderLayout->addWidget(choose);
    return row;
}

/// Adds the rows for the policy and its training.
void LearnWindow::makePolicy() {
    QWidget* const policyRow = makePolicyRow();
    m_updates =
        makeSpin("updates", tr("Updates"), 1, 1'000'000'000, 500,
                 tr("Total number of weight updates; a trained policy continues up to a larger number"));
    m_updates->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    // Seeds have 64 bits, and are whole numbers in a double up to this one.
    constexpr double kLargestSeed = 9'007'199'254'740'992;
    m_seed = new QDoubleSpinBox;
    m_seed->setObjectName(QStringLiteral("seed"));
    m_seed->setAccessibleName(tr("Seed"));
    m_seed->setDecimals(0);
    m_seed->setRange(0, kLargestSeed);
    m_seed->setGroupSeparatorShown(true);
    m_seed->setValue(1);
    m_seed->setToolTip(tr("Seed of the training; the same seed gives the same policy"));
    addRow(m_form, tr("Pol&icy"), policyRow, m_policy);
    addRow(m_form, tr("&Updates"), m_updates, m_updates);
    addRow(m_form, tr("See&d"), m_seed, m_seed);
}

QWidget* LearnWindow::makePolicyRow() {
    m_policy = new QComboBox;
    m_policy->setObjectName(QStringLiteral("policy"));
    m_policy->setAccessibleName(tr("Policy"));
    m_policy->setToolTip(tr("Kind of policy to train"));
    for (const PolicyInfo& info : policies()) {
        if (info.needs_libtorch && !has_torch_libraries()) continue;
        m_policy->addItem(toQString(info.title), toQString(info.id));
        m_policy->setItemData(m_policy->count() - 1, toQString(info.help), Qt::ToolTipRole);
    }
    m_policyOptions = new QToolButton;
    m_policyOptions->setObjectName(QStringLiteral("policyOptions"));
    m_policyOptions->setIcon(lineIcon(QStringLiteral("sliders-horizontal")));
    m_policyOptions->setAccessibleName(tr("Options of the policy"));
    m_policyOptions->setToolTip(tr("Options of the policy and of its training"));
    connect(m_policyOptions, &QToolButton::clicked, this, &LearnWindow::editOptions);
    auto* row = new QWidget;
    auto* policyLayout = new QHBoxLayout(row);
    policyLayout->setContentsMargins(0, 0, 0, 0);
    policyLayout->addWidget(m_policy, 1);
    policyLayout->addWidget(m_policyOptions);
    return row;
}

const PolicyInfo& LearnWindow::chosenPolicy() const {
    return *find_policy(m_policy->currentData().toString().toStdString());
}

TrainingRequest LearnWindow::request() const {
    TrainingRequest request;
    const QString source = m_source->currentData().toString();
    if (source == QLatin1String(kFolder)) {
        request.folder = m_folder->text().toStdString();
    } else if (source == QLatin1String(kOpen)) {
        if (m_document->isOpen()) request.network = std::make_shared<const Job>(m_document->job());
    } else {
        request.family = find_family(source.toStdString());
        request.count = static_cast<std::uint32_t>(m_count->value());
        request.family_seed = static_cast<std::uint64_t>(m_familySeed->value());
    }
    request.machine = m_document->machineFile().toStdString();
    request.machineTitle = machineTitle();
    request.options = m_document->options();
    request.policy = &chosenPolicy();
    const auto values = m_options.find(request.policy->id);
    if (values != m_options.end()) request.values = values->second;
    request.seed = static_cast<std::uint64_t>(m_seed->value());
    request.updates = static_cast<std::uint64_t>(m_updates->value());
    if (isResumed(request)) request.resumed = m_resumed;
    return request;
}

/// Whether the request agrees with the record of m_resumed in policy, options and seed.
bool LearnWindow::isResumed(const TrainingRequest& request) const {
    return m_resumed && m_resumed->record.policy == request.policy->id &&
           m_resumed->record.options == request.values && m_resumed->record.seed == request.seed;
}

void LearnWindow::choosePolicyFile() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Resume a policy"), settings::policyFolder.get(),
                                     tr("Policies (*.safetensors);;All files (*)"));
    if (file.isEmpty()) return;
    rememberFolderOf(file, settings::policyFolder);
    resume(file);
}

QString LearnWindow::machineTitle() const {
    // A workload has a machine of its own, which training does not use.
    const Job& job = m_document->job();
    return job.machine && !job.own_machine ? toQString(job.machine->name())
                                           : m_gallery.chosenMachineTitle(m_document->machineFile());
}

void LearnWindow::warn(const QString& reason) {
    QMessageBox::warning(isVisible() ? this : parentWidget(), tr("Resume a policy"), reason);
}

void LearnWindow::resume(const QString& file) {
    if (isRunning()) {
        warn(tr("A policy is being trained. Stop it before resuming another."));
        return;
    }
    // A policy that was trained here is asked about when another training starts.
    if (!m_run && !mayDrop()) return;
    read(file, false);
}

/// Reads a policy to resume. `isKept`: only the session has it.
void LearnWindow::read(const QString& file, bool isKept) {
    m_background.run(
        m_resumeLane,
        [file](const std::stop_token&) {
            return std::make_shared<const PolicyFile>(read_policy(file.toStdString()));
        },
        [this, file, isKept](std::shared_ptr<const PolicyFile> policy) {
            if (!isRunning()) adopt(isKept ? QString() : file, std::move(policy));
        },
        [this](const QString& error) { warn(error); });
}

/// Fills the form with the settings of a policy that was read from a file, or says why it cannot be resumed
/// here.
void LearnWindow::adopt(const QString& file, std::shared_ptr<const PolicyFile> policy) {
    const TrainingRecord& record = policy->record;
    if (record.seed > static_cast<std::uint64_t>(m_seed->maximum())) {
        warn(tr("%1 was trained with seed %2; the largest seed of this window is %L3. Use "
                "placewright-cli train --resume instead.")
                 .arg(QFileInfo(file).fileName())
                 .arg(record.seed)
                 .arg(static_cast<std::uint64_t>(m_seed->maximum())));
        return;
    }
    std::set<std::string> machines;
    for (const TrainingRecord::Graph& graph : record.graphs) machines.insert(graph.machine);
    if (machines.size() > 1) {
        warn(tr("%1 was trained on %L2 machines; this window trains on one. Use "
                "placewright-cli train --resume instead.")
                 .arg(QFileInfo(file).fileName())
                 .arg(machines.size()));
        return;
    }
    if (m_run && !hasPolicy()) drop();  // it failed, or was stopped before its first update
    m_resumed = std::move(policy);
    m_resumedFile = file;
    m_restored.reset();  // the policy has the curve
    m_options[record.policy] = record.options;
    m_policy->setCurrentIndex(m_policy->findData(toQString(record.policy)));
    m_seed->setValue(static_cast<double>(record.seed));
    const std::uint64_t done = m_resumed->state.updates;
    // A file may plan more updates than the form has.
    const std::uint64_t updates =
        std::max(record.planned_updates, done < record.planned_updates ? 0 : 2 * done);
    m_updates->setValue(
        static_cast<int>(std::min(updates, static_cast<std::uint64_t>(m_updates->maximum()))));
    const bool isOpen = m_document->isOpen() && record.graphs.size() == 1 &&
                        record.graphs.front().fingerprint == m_document->fingerprint();
    if (isOpen) {
        m_source->setCurrentIndex(m_source->findData(QString::fromLatin1(kOpen)));
    } else if (const auto family = familyOf(record.graphs)) {
        m_source->setCurrentIndex(m_source->findData(toQString(family->family->name)));
        m_count->setValue(static_cast<int>(family->count));
        m_familySeed->setValue(static_cast<int>(family->seed));
    } else if (record.graphs.size() > 1) {
        m_source->setCurrentIndex(m_source->findData(QString::fromLatin1(kFolder)));
    }
    showRequest();
    showProgress();
    showTest();
    Q_EMIT policyChanged();
}

QString LearnWindow::resumedName() const {
    return m_resumedFile.isEmpty() ? tr("the policy that the session kept")
                                   : tr("the policy of %1").arg(QFileInfo(m_resumedFile).fileName());
}

void LearnWindow::editOptions() {
    const AlgorithmInfo* algorithm = find_algorithm(chosenPolicy().id);
    SearchOptionsDialog dialog(*algorithm, m_options[algorithm->id], this);
    if (dialog.exec() == QDialog::Accepted) m_options[algorithm->id] = dialog.values();
    showRequest();
}

void LearnWindow::chooseFolder() {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Choose a folder of networks"), m_folder->text());
    if (!folder.isEmpty()) m_folder->setText(folder);
}

void LearnWindow::showRequest() {
    const TrainingRequest wanted = request();
    const QString source = m_source->currentData().toString();
    const bool folder = source == QLatin1String(kFolder), open = source == QLatin1String(kOpen);
    m_form->setRowVisible(m_count, wanted.family != nullptr);
    m_form->setRowVisible(m_familySeed, wanted.family != nullptr);
    m_form->setRowVisible(m_folderRow, folder);
    const bool running = isRunning();
    for (QWidget* widget : std::initializer_list<QWidget*>{m_source, m_count, m_familySeed, m_folderRow,
                                                           m_policy, m_policyOptions, m_updates, m_seed})
        widget->setEnabled(!running);
    m_resume->setEnabled(!running);
    m_pause->setEnabled(running);
    m_pause->setText(running && m_run->isPaused() ? tr("&Resume") : tr("&Pause"));
    const TrainingRequest& shown = running ? m_run->request() : wanted;
    m_machine->setText(shown.network ? toQString(shown.network->machine->name()) : shown.machineTitle);
    m_predict->setEnabled(hasPolicy() && m_document->isOpen());
    m_save->setEnabled(hasPolicy());
    if (running) {
        m_start->setText(tr("S&top"));
        m_start->setToolTip(tr("Stop the training; the policy is kept and can be trained further"));
        return;
    }

    const bool continues =
        m_run && m_run->state() != TrainingRun::State::failed && wanted.continues(m_run->request());
    const bool resumes = wanted.resumed && !continues;
    m_start->setText(continues || resumes ? tr("&Continue") : tr("&Train"));
    if (!m_run) {
        m_status->setText(
            resumes ? tr("Check the settings on the left and press Continue to train %1 further.")
                          .arg(resumedName())
            : m_restored
                ? restoredText()
                : tr("Choose the settings on the left and press Train: the policy draws placements and "
                     "learns from their step times."));
    }
    m_start->setToolTip(continues || resumes
                            ? tr("Train the policy further, up to the given number of updates")
                            : tr("Train a new policy, on all cores but one"));
    auto [lacking, size] = textOf(wanted, folder, open);
    const std::uint64_t behind = continues ? m_run->updates() : resumes ? m_resumed->state.updates : 0;
    if (behind >= wanted.updates && behind > 0)
        lacking =
            tr("The policy already has %L1 updates; enter a larger number to train it further.").arg(behind);
    if (resumes) {
        const TrainingRecord::Graph& first = m_resumed->record.graphs.front();
        const QString graph = toQString(first.network) + tr(" on ") + toQString(first.machine);
        const std::size_t more = m_resumed->record.graphs.size() - 1;
        size += tr("; resumes %1, trained on %2 for %L3 updates")
                    .arg(resumedName(), more > 0 ? tr("%1 and %L2 more").arg(graph).arg(more) : graph)
                    .arg(m_resumed->state.updates);
    }
    if (const QStringList options = changedOptions(m_document->options(), m_document->job().language);
        !options.isEmpty())
        size += tr("; simulation: %1").arg(options.join(QStringLiteral(" · ")));
    m_start->setEnabled(lacking.isEmpty());
    m_size->setText(lacking.isEmpty() ? size : lacking);
}

}  // namespace placewright
