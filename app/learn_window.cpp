// SPDX-License-Identifier: MIT
#include "app/learn_window.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <QCloseEvent>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QShortcut>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/document.hpp"
#include "app/option_text.hpp"
#include "app/search_options_dialog.hpp"
#include "core/algorithms.hpp"
#include "core/base/units.hpp"
#include "core/graph/families.hpp"
#include "core/io/files.hpp"
#include "core/io/input_error.hpp"
#include "core/io/policy_file.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

// What is in the list of sources beside the names of families.
constexpr auto kFolder = "folder", kOpen = "open";

enum Column { Name, Groups, OneDevice, Best, Speedup, ColumnCount };

QString text(std::string_view utf8) {
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

QSpinBox* makeSpin(const char* name, const QString& title, int least, int most, int value, const QString& tip) {
    auto* box = new QSpinBox;
    box->setObjectName(QLatin1String(name));
    box->setAccessibleName(title);
    box->setRange(least, most);
    box->setGroupSeparatorShown(true);
    box->setValue(value);
    box->setToolTip(tip);
    return box;
}

QPushButton* makeButton(const char* name, const QString& title, const QString& tip) {
    auto* button = new QPushButton(title);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    return button;
}

QString machineTitle(const std::string& file) {
    try {
        return text(read_machine(find_machine_file(file)).name());
    } catch (const InputError&) {
        return text(file);  // the training says what is wrong with it
    }
}

/// The family that all these networks are of, as far as it can be told: its members are called after it, and which of them are trained on
/// depends on how many there are and on the seed.
struct FamilyOfFile {
    const FamilyInfo* family = nullptr;
    std::uint32_t count = 0;
    std::uint64_t seed = 0;
};

/// Nothing where no family has such a half.
std::optional<FamilyOfFile> familyOf(const std::vector<TrainingRecord::Graph>& graphs) {
    constexpr std::uint64_t kMostSeeds = 10'000;
    constexpr std::size_t kMostNetworks = 500;  // for the window to wait a moment only
    if (graphs.size() > kMostNetworks) return {};
    FamilyOfFile found;
    std::vector<std::uint32_t> trained;
    for (const TrainingRecord::Graph& graph : graphs) {
        const QString name = text(graph.network);
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

QString scoreText(double step_time_s, bool fits) {
    return fits ? secondsText(step_time_s) : LearnWindow::tr("does not fit");
}

}  // namespace

LearnWindow::LearnWindow(Document* document, std::map<std::string, OptionValues>& options, QWidget* parent)
    : QWidget(parent, Qt::Window), m_document(document), m_options(options) {
    setObjectName(QStringLiteral("learnWindow"));
    setWindowTitle(tr("Train a policy — Placewright"));
    auto* splitter = new QSplitter;
    splitter->addWidget(makeForm());
    splitter->addWidget(makeResults());
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    m_message = new MessageBar;
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_message);
    layout->addWidget(splitter, 1);
    resize(QSize(1120, 760).boundedTo(screen()->availableSize() * 0.9));
    auto* close = new QShortcut(QKeySequence::Close, this);
    connect(close, &QShortcut::activated, this, &QWidget::close);
    connect(document, &Document::problemChanged, this, &LearnWindow::showRequest);
    connect(document, &Document::machineChanged, this, &LearnWindow::showRequest);
    // What this window has asked for, too.
    connect(document, &Document::message, this, [this](bool error, const QString& what) {
        if (isVisible()) m_message->showMessage(error ? MessageBar::Kind::error : MessageBar::Kind::information, what);
    });
    showRequest();
    showProgress();
    showTest();
}

LearnWindow::~LearnWindow() {
    m_testLane.cancel();
    m_optimizeLane.cancel();
}

QWidget* LearnWindow::makeForm() {
    m_source = new QComboBox;
    m_source->setObjectName(QStringLiteral("source"));
    m_source->setToolTip(tr("The networks that the policy learns from"));
    for (const FamilyInfo& family : known_families()) {
        m_source->addItem(tr("%1: %2").arg(text(family.name), text(family.title)), text(family.name));
        m_source->setItemData(m_source->count() - 1, text(family.source), Qt::ToolTipRole);
    }
    m_source->addItem(tr("Folder of networks"), QString::fromLatin1(kFolder));
    m_source->addItem(tr("The network that is open"), QString::fromLatin1(kOpen));
    m_source->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_count = makeSpin("count", tr("Networks"), 1, 10'000, static_cast<int>(kFamilySize),
                       tr("Members of the family: half of them are trained on, the others are for tests"));
    m_familySeed = makeSpin("familySeed", tr("Seed of the family"), 0, 1'000'000'000, 1, tr("Another seed makes other networks"));
    m_folder = new QLineEdit;
    m_folder->setObjectName(QStringLiteral("folder"));
    m_folder->setAccessibleName(tr("Folder"));
    m_folder->setToolTip(tr("Its network files are trained on; with subfolders train and test, those in test are for tests"));
    auto* choose = new QToolButton;
    choose->setText(tr("…"));
    choose->setAccessibleName(tr("Choose a folder"));
    connect(choose, &QToolButton::clicked, this, &LearnWindow::chooseFolder);
    m_folderRow = new QWidget;
    auto* folderLayout = new QHBoxLayout(m_folderRow);
    folderLayout->setContentsMargins(0, 0, 0, 0);
    folderLayout->addWidget(m_folder, 1);
    folderLayout->addWidget(choose);
    m_machine = new QLabel;
    m_machine->setObjectName(QStringLiteral("machineName"));
    m_machine->setWordWrap(true);
    m_machine->setToolTip(tr("The machine chosen in the main window"));

    m_policy = new QComboBox;
    m_policy->setObjectName(QStringLiteral("policy"));
    for (const PolicyInfo& info : policies()) {
        m_policy->addItem(text(info.title), text(info.id));
        m_policy->setItemData(m_policy->count() - 1, text(info.help), Qt::ToolTipRole);
    }
    m_policyOptions = new QToolButton;
    m_policyOptions->setObjectName(QStringLiteral("policyOptions"));
    m_policyOptions->setText(tr("…"));
    m_policyOptions->setAccessibleName(tr("Options of the policy"));
    m_policyOptions->setToolTip(tr("Options of the policy, and of how it is trained"));
    connect(m_policyOptions, &QToolButton::clicked, this, &LearnWindow::editOptions);
    auto* policyRow = new QWidget;
    auto* policyLayout = new QHBoxLayout(policyRow);
    policyLayout->setContentsMargins(0, 0, 0, 0);
    policyLayout->addWidget(m_policy, 1);
    policyLayout->addWidget(m_policyOptions);
    m_updates = makeSpin("updates", tr("Updates"), 1, 1'000'000'000, 500,
                         tr("How often the weights move; with more than it has, a policy that was trained goes on"));
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
    m_seed->setToolTip(tr("The same seed gives the same policy"));

    m_size = new QLabel;
    m_size->setObjectName(QStringLiteral("size"));
    m_size->setWordWrap(true);
    m_size->setForegroundRole(QPalette::PlaceholderText);
    m_start = makeButton("start", tr("&Train"), {});
    m_pause = makeButton("pause", tr("&Pause"), tr("Hold the training; it goes on as if it had not been held"));
    connect(m_start, &QPushButton::clicked, this, &LearnWindow::startOrStop);
    connect(m_pause, &QPushButton::clicked, this, &LearnWindow::pauseOrGoOn);

    auto* form = new QWidget;
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(0, 0, 6, 0);
    m_form = new QFormLayout;
    const auto addRow = [this](const QString& title, QWidget* row, QWidget* buddy) {
        auto* label = new QLabel(title);
        label->setBuddy(buddy);
        m_form->addRow(label, row);
    };
    addRow(tr("&Learn from"), m_source, m_source);
    addRow(tr("&Networks"), m_count, m_count);
    addRow(tr("&Family seed"), m_familySeed, m_familySeed);
    addRow(tr("F&older"), m_folderRow, m_folder);
    m_form->addRow(tr("On"), m_machine);
    addRow(tr("Pol&icy"), policyRow, m_policy);
    addRow(tr("&Updates"), m_updates, m_updates);
    addRow(tr("See&d"), m_seed, m_seed);
    layout->addLayout(m_form);
    layout->addWidget(m_size);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_start, 1);
    buttons->addWidget(m_pause, 1);
    layout->addLayout(buttons);
    m_resume = makeButton("resume", tr("&Go on with a file…"), tr("Train a policy on that was saved, here or with placewright-cli train"));
    connect(m_resume, &QPushButton::clicked, this, &LearnWindow::choosePolicyFile);
    layout->addWidget(m_resume);
    layout->addStretch(1);
    for (QComboBox* box : {m_source, m_policy}) connect(box, &QComboBox::currentIndexChanged, this, &LearnWindow::showRequest);
    for (QSpinBox* box : {m_count, m_familySeed, m_updates}) connect(box, &QSpinBox::valueChanged, this, &LearnWindow::showRequest);
    connect(m_seed, &QDoubleSpinBox::valueChanged, this, &LearnWindow::showRequest);
    connect(m_folder, &QLineEdit::textChanged, this, &LearnWindow::showRequest);
    return form;
}

QWidget* LearnWindow::makeResults() {
    m_status = new QLabel;
    m_status->setObjectName(QStringLiteral("status"));
    m_status->setAccessibleName(tr("Progress of the training"));
    m_status->setWordWrap(true);
    m_progress = makeProgressBar(tr("Progress"));

    m_plot = new LearningPlot;
    m_plot->setEmptyText(tr("Nothing learns yet. What the placements of the policy cost is drawn here update by update."));
    m_table = new QTreeWidget;
    m_table->setObjectName(QStringLiteral("networks"));
    m_table->setAccessibleName(tr("Networks that are trained on"));
    m_table->setColumnCount(ColumnCount);
    m_table->setHeaderLabels({tr("Network"), tr("Groups"), tr("One device"), tr("Best found"), tr("Speed-up")});
    m_table->headerItem()->setToolTip(Groups, tr("Groups of ops that are placed together: decisions of an episode"));
    m_table->headerItem()->setToolTip(Best, tr("The best placement that training has come across"));
    m_table->headerItem()->setToolTip(Speedup, tr("One device over the best placement"));
    for (int column = Groups; column < ColumnCount; ++column)
        m_table->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setAlternatingRowColors(true);
    m_table->header()->setStretchLastSection(false);
    m_table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->header()->setSectionResizeMode(Name, QHeaderView::Stretch);
    auto* learning = new QSplitter(Qt::Vertical);
    learning->addWidget(m_plot);
    learning->addWidget(m_table);
    learning->setStretchFactor(0, 1);
    learning->setSizes({480, 180});
    learning->setChildrenCollapsible(false);

    m_tabs = new QTabWidget;
    m_tabs->setObjectName(QStringLiteral("results"));
    m_tabs->addTab(learning, tr("Learning"));
    m_tabs->addTab(makeTest(), tr("Test (CDF)"));
    m_tabs->setTabToolTip(1, tr("How it places networks that it has not been trained on"));

    m_predict = makeButton("predict", tr("Place the networ&k that is open"),
                           tr("Let the policy place it in the main window, where that becomes a run"));
    m_save = makeButton("save", tr("&Save policy…"), tr("Write the policy to a file, from which it can predict and be trained on"));
    auto* close = makeButton("close", tr("C&lose"), tr("Close the window; a training that runs ends"));
    connect(m_predict, &QPushButton::clicked, this, &LearnWindow::predictionWanted);
    connect(m_save, &QPushButton::clicked, this, &LearnWindow::save);
    connect(close, &QPushButton::clicked, this, &QWidget::close);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_predict);
    buttons->addStretch(1);
    buttons->addWidget(m_save);
    buttons->addWidget(close);

    auto* results = new QWidget;
    auto* layout = new QVBoxLayout(results);
    layout->setContentsMargins(6, 0, 0, 0);
    layout->addWidget(m_status);
    layout->addWidget(m_progress);
    layout->addWidget(m_tabs, 1);
    layout->addLayout(buttons);
    return results;
}

QWidget* LearnWindow::makeTest() {
    m_cdf = new CdfPlot;
    m_cdf->setEmptyText(
        tr("No tests yet. When the training of a family ends, or when you press Test now, the policy places the networks that "
           "it has not been trained on."));
    m_testStatus = new QLabel;
    m_testStatus->setObjectName(QStringLiteral("testStatus"));
    m_testStatus->setAccessibleName(tr("Progress of the test"));
    m_testStatus->setWordWrap(true);
    m_test = makeButton("test", tr("Test no&w"), tr("Place the test networks by the policy as it is now"));
    m_testUpdates = makeSpin("testUpdates", tr("Updates on each test network"), 1, 1'000'000'000, 100,
                             tr("Updates that a policy is trained for on each network"));
    m_optimize =
        makeButton("optimize", tr("Optimize &each"), tr("Train a new policy on each test network alone, to compare with: this takes long"));
    connect(m_test, &QPushButton::clicked, this, &LearnWindow::testPolicy);
    connect(m_optimize, &QPushButton::clicked, this, &LearnWindow::optimizeTest);
    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(4, 4, 4, 4);
    controls->addWidget(m_test);
    controls->addStretch(1);
    controls->addWidget(m_optimize);
    controls->addWidget(new QLabel(tr("for")));
    controls->addWidget(m_testUpdates);
    controls->addWidget(new QLabel(tr("updates")));
    auto* page = new QWidget;
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addLayout(controls);
    m_testStatus->setMargin(4);
    layout->addWidget(m_testStatus);
    layout->addWidget(m_cdf, 1);
    return page;
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
    request.options = m_document->options();
    request.policy = &chosenPolicy();
    const auto values = m_options.find(request.policy->id);
    if (values != m_options.end()) request.values = values->second;
    request.seed = static_cast<std::uint64_t>(m_seed->value());
    request.updates = static_cast<std::uint64_t>(m_updates->value());
    if (isResumed(request)) request.resumed = m_resumed;
    return request;
}

/// Whether the request is for what m_resumed was trained with, as far as the form has it.
bool LearnWindow::isResumed(const TrainingRequest& request) const {
    return m_resumed && m_resumed->record.policy == request.policy->id && m_resumed->record.options == request.values &&
           m_resumed->record.seed == request.seed;
}

void LearnWindow::choosePolicyFile() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Go on with a policy"), QSettings().value(QStringLiteral("policyFolder")).toString(),
                                     tr("Policies (*.safetensors);;All files (*)"));
    if (file.isEmpty()) return;
    QSettings().setValue(QStringLiteral("policyFolder"), QFileInfo(file).absolutePath());
    resume(file);
}

void LearnWindow::resume(const QString& file) {
    if (isRunning()) {
        QMessageBox::information(this, tr("Go on with a policy"), tr("A policy is being trained; stop that first."));
        return;
    }
    std::shared_ptr<const PolicyFile> read;
    try {
        read = std::make_shared<const PolicyFile>(read_policy(file.toStdString()));
    } catch (const InputError& error) {
        QMessageBox::warning(this, tr("Go on with a policy"), QString::fromUtf8(error.what()));
        return;
    }
    const TrainingRecord& record = read->record;
    if (record.seed > static_cast<std::uint64_t>(m_seed->maximum())) {
        QMessageBox::warning(this, tr("Go on with a policy"),
                             tr("%1 was trained with seed %2, and seeds end at %L3 here: placewright-cli train --resume goes on with it.")
                                 .arg(QFileInfo(file).fileName())
                                 .arg(record.seed)
                                 .arg(static_cast<std::uint64_t>(m_seed->maximum())));
        return;
    }
    std::set<std::string> machines;
    for (const TrainingRecord::Graph& graph : record.graphs) machines.insert(graph.machine);
    if (machines.size() > 1) {
        QMessageBox::warning(
            this, tr("Go on with a policy"),
            tr("%1 was trained on %L2 machines, and this window trains on one: placewright-cli train --resume goes on with it.")
                .arg(QFileInfo(file).fileName())
                .arg(machines.size()));
        return;
    }
    m_resumed = read;
    m_resumedFile = QFileInfo(file).fileName();
    m_options[record.policy] = record.options;
    m_policy->setCurrentIndex(m_policy->findData(text(record.policy)));
    m_seed->setValue(static_cast<double>(record.seed));
    const std::uint64_t done = m_resumed->state.updates;
    m_updates->setValue(static_cast<int>(std::max(record.planned_updates, done < record.planned_updates ? 0 : 2 * done)));
    const bool isOpen = m_document->isOpen() && record.graphs.size() == 1 && record.graphs.front().fingerprint == m_document->fingerprint();
    if (isOpen) {
        m_source->setCurrentIndex(m_source->findData(QString::fromLatin1(kOpen)));
    } else if (const auto family = familyOf(record.graphs)) {
        m_source->setCurrentIndex(m_source->findData(text(family->family->name)));
        m_count->setValue(static_cast<int>(family->count));
        m_familySeed->setValue(static_cast<int>(family->seed));
    } else if (record.graphs.size() > 1) {
        m_source->setCurrentIndex(m_source->findData(QString::fromLatin1(kFolder)));
    }
    showRequest();
}

void LearnWindow::editOptions() {
    const AlgorithmInfo* algorithm = find_algorithm(chosenPolicy().id);
    SearchOptionsDialog dialog(*algorithm, m_options[algorithm->id], this);
    if (dialog.exec() == QDialog::Accepted) m_options[algorithm->id] = dialog.values();
    showRequest();
}

void LearnWindow::chooseFolder() {
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Learn from a folder of networks"), m_folder->text());
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
    for (QWidget* widget :
         std::initializer_list<QWidget*>{m_source, m_count, m_familySeed, m_folderRow, m_policy, m_policyOptions, m_updates, m_seed})
        widget->setEnabled(!running);
    m_resume->setEnabled(!running);
    m_pause->setEnabled(running);
    m_pause->setText(running && m_run->isPaused() ? tr("&Resume") : tr("&Pause"));
    const TrainingRequest& shown = running ? m_run->request() : wanted;
    m_machine->setText(shown.network ? text(shown.network->machine->name()) : machineTitle(shown.machine));
    m_predict->setEnabled(hasPolicy() && m_document->isOpen());
    m_save->setEnabled(hasPolicy());
    if (running) {
        m_start->setText(tr("S&top"));
        m_start->setToolTip(tr("Stop; the policy stays as it is, and can be trained on"));
        return;
    }

    const bool goesOn = m_run && m_run->state() != TrainingRun::State::failed && wanted.continues(m_run->request());
    const bool resumes = wanted.resumed && !goesOn;
    m_start->setText(goesOn || resumes ? tr("&Continue") : tr("&Train"));
    if (!m_run) {
        m_status->setText(resumes
                              ? tr("Look at what is on the left and press Continue: the policy of %1 learns on.").arg(m_resumedFile)
                              : tr("Choose on the left and press Train: the policy draws placements, and learns from how long they take."));
    }
    m_start->setToolTip(goesOn || resumes ? tr("Train the policy on, up to so many updates")
                                          : tr("Train a new policy, on all cores but one"));
    QString lacking, size;
    if (folder) {
        if (wanted.folder.empty()) lacking = tr("Choose a folder of network files.");
        size = tr("All networks of the folder, a policy for all of them");
    } else if (open) {
        if (!wanted.network)
            lacking = tr("Open a network in the main window first.");
        else
            size = tr("%1, in %L2 groups").arg(text(wanted.network->problem->graph->name())).arg(wanted.network->problem->groups);
    } else {
        const std::uint32_t train = (wanted.count + 1) / 2;
        size = tr("%L1 networks to train on, %L2 to test with, in up to %L3 groups each")
                   .arg(train)
                   .arg(wanted.count - train)
                   .arg(wanted.options.problem.grouping == GroupingOptions() ? wanted.family->groups
                                                                             : wanted.options.problem.grouping.merge_groups);
    }
    const std::uint64_t behind = goesOn ? m_run->updates() : resumes ? m_resumed->state.updates : 0;
    if (behind >= wanted.updates && behind > 0)
        lacking = tr("The policy has %L1 updates behind it; ask for more to train it on.").arg(behind);
    if (resumes) {
        const TrainingRecord::Graph& first = m_resumed->record.graphs.front();
        const QString graph = text(first.network) + tr(" on ") + text(first.machine);
        const std::size_t more = m_resumed->record.graphs.size() - 1;
        size += tr("; goes on with %1, trained on %2 after %L3 updates")
                    .arg(m_resumedFile, more > 0 ? tr("%1 and %L2 more").arg(graph).arg(more) : graph)
                    .arg(m_resumed->state.updates);
    }
    if (const QStringList options = changedOptions(m_document->options()); !options.isEmpty())
        size += tr("; simulation: %1").arg(options.join(QStringLiteral(" · ")));
    m_start->setEnabled(lacking.isEmpty());
    m_size->setText(lacking.isEmpty() ? size : lacking);
}

void LearnWindow::startOrStop() {
    if (isRunning()) {
        m_run->stop();
        m_start->setEnabled(false);
        return;
    }
    TrainingRequest wanted = request();
    const std::uint64_t updates = wanted.updates;
    const bool goesOn = m_run && m_run->state() != TrainingRun::State::failed && wanted.continues(m_run->request());
    if (goesOn) {
        m_testLane.cancel();
        m_optimizeLane.cancel();
    } else {
        if (!mayDrop()) return;
        drop();
        if (wanted.resumed) m_savedUpdates = wanted.resumed->state.updates;
        m_run = std::make_unique<TrainingRun>(std::move(wanted));
        connect(m_run.get(), &TrainingRun::progressed, this, &LearnWindow::showProgress);
        connect(m_run.get(), &TrainingRun::ended, this, [this] {
            showRequest();
            m_testLane.cancel();  // of the policy before
            if (hasPolicy() && !m_run->curriculum()->test.empty()) testPolicy();
            showTest();
        });
    }
    m_run->start(updates);
    showRequest();
    showProgress();
    showTest();
}

void LearnWindow::pauseOrGoOn() {
    m_run->setPaused(!m_run->isPaused());
    showRequest();
    showProgress();
}

/// The policy, and what is known of it.
void LearnWindow::drop() {
    m_testLane.cancel();
    m_optimizeLane.cancel();
    if (isRunning()) {
        // An update may take seconds, for which nobody shall wait.
        TrainingRun* leaving = m_run.release();
        leaving->disconnect(this);
        leaving->setParent(this);
        connect(leaving, &TrainingRun::ended, leaving, &QObject::deleteLater);
        leaving->stop();
    }
    m_run.reset();
    m_tested = m_optimized = {};
    m_savedUpdates = 0;
    showRequest();
    showProgress();
    showTest();
    Q_EMIT policyChanged();
}

bool LearnWindow::mayDrop() {
    if (!hasPolicy() || m_run->updates() == m_savedUpdates) return true;
    // What is saved shall be what there is.
    const bool held = isRunning() && !m_run->isPaused();
    if (held) m_run->setPaused(true);
    QMessageBox question(QMessageBox::Question, tr("Policy"), {}, QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    const auto describe = [&] {
        question.setText(tr("%1 after %L2 updates is in no file.").arg(text(m_run->request().policy->title)).arg(m_run->updates()));
        question.setInformativeText(isRunning() ? tr("Its training ends now.") : tr("It will be gone."));
    };
    describe();
    // The update under way is not held.
    connect(m_run.get(), &TrainingRun::progressed, &question, describe);
    question.button(QMessageBox::Discard)->setText(tr("&Discard"));
    question.setDefaultButton(QMessageBox::Save);
    const int answer = question.exec();
    if (answer == QMessageBox::Discard || (answer == QMessageBox::Save && save())) return true;
    if (held && isRunning()) m_run->setPaused(false);
    return false;
}

void LearnWindow::closeEvent(QCloseEvent* event) {
    if (!mayDrop()) return event->ignore();
    m_testLane.cancel();
    m_optimizeLane.cancel();
    showTest();
    // A policy that is in a file stays at hand.
    if (isRunning() || (hasPolicy() && m_run->updates() != m_savedUpdates)) drop();
    event->accept();
}

void LearnWindow::showProgress() {
    const bool running = isRunning();
    const bool loading = running && !m_run->curriculum();
    m_progress->setVisible(running);
    m_plot->setCurve(hasPolicy() ? std::shared_ptr<const std::vector<TrainingPoint>>(m_run->training(), &m_run->training()->curve)
                                 : nullptr);
    showNetworks();
    const bool saveable = hasPolicy();
    if (m_save->isEnabled() != saveable) {
        showRequest();
        showTest();
        Q_EMIT policyChanged();
    }
    if (!m_run) return;  // showRequest() says what to do
    if (loading) {
        m_progress->setRange(0, m_run->request().family != nullptr ? static_cast<int>(m_run->request().count) : 0);
        m_progress->setValue(static_cast<int>(m_run->loaded()));
        m_status->setText(tr("Preparing the networks: %L1 are there").arg(m_run->loaded()));
        return;
    }
    const std::uint64_t done = m_run->updates(), wanted = m_run->request().updates;
    m_progress->setRange(0, 1000);
    m_progress->setValue(static_cast<int>(1000.0 * static_cast<double>(std::min(done, wanted)) / static_cast<double>(wanted)));
    QString status = tr("%L1 of %L2 updates").arg(done).arg(wanted);
    if (hasPolicy()) status += tr(" · %L1 placements scored").arg(m_run->training()->evaluations);
    switch (m_run->state()) {
        case TrainingRun::State::running:
            if (m_run->isPaused())
                status += tr(" · paused");
            else if (m_run->eta_s() > 0)
                status += tr(" · %1 left").arg(QString::fromStdString(format_clock(m_run->eta_s())));
            break;
        case TrainingRun::State::finished:
            break;
        case TrainingRun::State::stopped:
            status += tr(" · stopped");
            break;
        case TrainingRun::State::failed:
            status = tr("The training failed: %1").arg(m_run->failure());
            break;
    }
    m_status->setText(status);
}

void LearnWindow::showNetworks() {
    const auto lessons = m_run && m_run->curriculum() ? std::span<const Lesson>(m_run->curriculum()->training) : std::span<const Lesson>();
    while (m_table->topLevelItemCount() > static_cast<int>(lessons.size())) delete m_table->takeTopLevelItem(0);
    for (std::size_t i = 0; i < lessons.size(); ++i) {
        QTreeWidgetItem* row = m_table->topLevelItem(static_cast<int>(i));
        if (row == nullptr) {
            row = new QTreeWidgetItem(m_table);
            for (int column = Groups; column < ColumnCount; ++column) row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        }
        const Job& job = lessons[i].job;
        row->setText(Name, text(job.problem->graph->name()));
        row->setText(Groups, QString::number(job.problem->groups));
        row->setText(OneDevice, scoreText(job.single_device_s, job.single_device_fits));
        QString best, speedup;
        if (hasPolicy() && !m_run->training()->best[i].placement.empty()) {
            const Score& score = m_run->training()->best[i].score;
            best = scoreText(score.step_time_s, score.fits);
            if (score.fits && job.single_device_fits && score.step_time_s > 0)
                speedup = tr("%1 ×").arg(job.single_device_s / score.step_time_s, 0, 'f', 2);
        }
        row->setText(Best, best);
        row->setText(Speedup, speedup);
    }
}

/// Begins the work, which fills `results` on its way; or ends it, if it is under way.
void LearnWindow::testOrStop(Background::Lane& lane, CdfData& results, std::function<CdfData(std::stop_token, const CdfCallback&)> work) {
    if (lane.busy()) {
        lane.cancel();
        return showTest();
    }
    results = {};
    m_background.run(
        lane,
        [this, &results, work = std::move(work)](const std::stop_token& stop) {
            return work(stop, [this, &results, stop](CdfData known) {
                const auto tell = [this, &results, stop, known = std::move(known)] {
                    if (stop.stop_requested()) return;
                    results = known;
                    showTest();
                };
                QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
            });
        },
        [this, &results](CdfData all) {
            results = std::move(all);
            showTest();
        },
        [this](const QString& error) {
            showTest();
            m_testStatus->setText(error);
            m_testStatus->show();
        });
    showTest();
}

void LearnWindow::testPolicy() {
    if (!m_testLane.busy()) m_testedUpdates = m_run->updates();
    testOrStop(m_testLane, m_tested,
               [policy = policy(), curriculum = m_run->curriculum()](std::stop_token stop, const CdfCallback& report) {
                   return test_policy(*policy, curriculum->test, std::move(stop), report);
               });
}

void LearnWindow::optimizeTest() {
    const auto updates = static_cast<std::uint64_t>(m_testUpdates->value());
    if (!m_optimizeLane.busy()) m_optimizedUpdates = updates;
    testOrStop(m_optimizeLane, m_optimized,
               [policy = policy(), curriculum = m_run->curriculum(), updates](std::stop_token stop, const CdfCallback& report) {
                   return optimize_each(*policy, curriculum->test, updates, std::move(stop), report);
               });
}

CdfData LearnWindow::cdf() const {
    CdfData all = m_tested;
    if (m_run) all.goal = goalTitle(*m_run->request().options.goal);
    if (all.graphs.empty()) all.graphs = m_optimized.graphs;
    all.schemes.insert(all.schemes.end(), m_optimized.schemes.begin(), m_optimized.schemes.end());
    return all;
}

void LearnWindow::showTest() {
    m_cdf->setData(cdf());
    const std::size_t networks = m_run && m_run->curriculum() ? m_run->curriculum()->test.size() : 0;
    const bool testing = m_testLane.busy(), optimizing = m_optimizeLane.busy();
    m_test->setText(testing ? tr("Stop testin&g") : tr("Test no&w"));
    m_optimize->setText(optimizing ? tr("Stop optimizing &each") : tr("Optimize &each"));
    m_test->setEnabled(testing || (hasPolicy() && networks > 0));
    m_optimize->setEnabled(optimizing || (hasPolicy() && networks > 0));
    m_testUpdates->setEnabled(m_optimize->isEnabled() && !optimizing);
    const auto done = [](const CdfData& of) { return of.schemes.empty() ? std::size_t{0} : of.schemes.front().values.size(); };
    QStringList parts;
    if (networks == 0) {
        if (m_run && m_run->curriculum())
            parts << tr("There are no networks to test with: those of a family, or a folder test beside train.");
    } else {
        if (testing || done(m_tested) > 0)
            parts << tr("%L1 of %L2 networks tested after %L3 updates").arg(done(m_tested)).arg(networks).arg(m_testedUpdates);
        if (optimizing || done(m_optimized) > 0)
            parts << tr("%L1 of %L2 optimized for %L3 updates").arg(done(m_optimized)).arg(networks).arg(m_optimizedUpdates);
    }
    m_testStatus->setText(parts.join(QStringLiteral(" · ")));
    m_testStatus->setVisible(!parts.isEmpty());
}

/// Returns whether the policy is in a file now.
bool LearnWindow::save() {
    const TrainingRequest& of = m_run->request();
    const QString source = of.family != nullptr ? text(of.family->name)
                           : of.network         ? text(of.network->problem->graph->name())
                                                : QFileInfo(text(of.folder)).fileName();
    const QString suggestion = text(of.policy->id) + QLatin1Char('-') + source + QStringLiteral(".safetensors");
    const QString folder = QSettings().value(QStringLiteral("policyFolder")).toString();
    QString file =
        QFileDialog::getSaveFileName(this, tr("Save the policy"), folder.isEmpty() ? suggestion : folder + QLatin1Char('/') + suggestion,
                                     tr("Policies (*.safetensors)"));
    if (file.isEmpty()) return false;
    if (QFileInfo(file).suffix().isEmpty()) file += QStringLiteral(".safetensors");
    QSettings().setValue(QStringLiteral("policyFolder"), QFileInfo(file).absolutePath());
    const std::shared_ptr<const PolicyFile> now = policy();  // it may have learned on while the file was chosen
    try {
        write_policy(now->record, now->state, *now->design.policy, file.toStdString());
    } catch (const InputError& error) {
        QMessageBox::warning(this, tr("Save the policy"), QString::fromUtf8(error.what()));
        return false;
    }
    m_savedUpdates = now->state.updates;
    m_message->showMessage(MessageBar::Kind::information, tr("Written: the policy after %L1 updates, to %2").arg(m_savedUpdates).arg(file));
    return true;
}

}  // namespace placewright
