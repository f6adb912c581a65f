// SPDX-License-Identifier: MIT
#include "app/window/learn/learn_window.hpp"

#include <algorithm>

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QShortcut>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/learn/learn_controls.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/base/units.hpp"
#include "core/graph/families.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

enum LessonColumn {
    NetworkColumn,
    GroupsColumn,
    OneDeviceColumn,
    BestColumn,
    SpeedupColumn,
    LessonColumnCount
};

QString scoreText(double step_time_s, bool fits) {
    return fits ? secondsText(step_time_s) : LearnWindow::tr("does not fit");
}

/// The state of a policy, in a pointer that keeps the policy alive; null without a policy.
std::shared_ptr<const TrainingState> stateOf(const std::shared_ptr<const PolicyFile>& policy) {
    return policy ? std::shared_ptr<const TrainingState>(policy, &policy->state) : nullptr;
}

/// Title of a policy by its id.
QString titleOf(const std::string& id) {
    const PolicyInfo* policy = find_policy(id);
    return toQString(policy != nullptr ? policy->title : id);
}

}  // namespace

LearnWindow::LearnWindow(Document* document, std::map<std::string, OptionValues>& options,
                         const Gallery& gallery, QWidget* parent)
    : QWidget(parent, Qt::Window), m_document(document), m_options(options), m_gallery(gallery) {
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
    connect(&gallery, &Gallery::read, this, &LearnWindow::showRequest);
    // Also messages about work that this window has started.
    connect(document, &Document::message, this, [this](bool error, const QString& what) {
        if (isVisible())
            m_message->showMessage(error ? MessageBar::Kind::error : MessageBar::Kind::information, what);
    });
    showRequest();
    showProgress();
    showTest();
}

LearnWindow::~LearnWindow() {
    m_testLane.cancel();
    m_optimizeLane.cancel();
    m_resumeLane.cancel();
}

QWidget* LearnWindow::makeResults() {
    m_status = new QLabel;
    m_status->setObjectName(QStringLiteral("status"));
    m_status->setAccessibleName(tr("Training progress"));
    m_status->setWordWrap(true);
    m_progress = makeProgressBar(tr("Progress"));

    m_plot = new LearningPlot;
    m_plot->setEmptyText(tr("Train a policy to plot its cost after each update."));
    m_table = new QTreeWidget;
    m_table->setObjectName(QStringLiteral("networks"));
    m_table->setAccessibleName(tr("Training networks"));
    m_table->setColumnCount(LessonColumnCount);
    m_table->setHeaderLabels(
        {tr("Network"), tr("Groups"), tr("One device"), tr("Best found"), tr("Speed-up")});
    m_table->headerItem()->setToolTip(
        GroupsColumn, tr("Groups of ops that are placed together: one decision of an episode each"));
    m_table->headerItem()->setToolTip(BestColumn, tr("Best placement found during training"));
    m_table->headerItem()->setToolTip(SpeedupColumn,
                                      tr("Time on one device divided by the time of the best placement"));
    for (int column = GroupsColumn; column < LessonColumnCount; ++column)
        m_table->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setAlternatingRowColors(true);
    m_table->header()->setStretchLastSection(false);
    m_table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->header()->setSectionResizeMode(NetworkColumn, QHeaderView::Stretch);
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
    m_tabs->setTabToolTip(1, tr("Results of the policy on networks outside its training set"));

    m_predict = makeButton("predict", tr("Place the open networ&k"),
                           tr("Place the open network with this policy, as a run of the main window"));
    m_save = makeButton("save", tr("&Save policy…"),
                        tr("Save the policy to a file for predictions and further training"));
    auto* close = makeButton("close", tr("C&lose"), tr("Close the window; a running training goes on"));
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
        tr("No tests yet. The policy places the test networks when the training ends or when you press Test "
           "now."));
    m_testStatus = new QLabel;
    m_testStatus->setObjectName(QStringLiteral("testStatus"));
    m_testStatus->setAccessibleName(tr("Test progress"));
    m_testStatus->setWordWrap(true);
    m_test = makeButton("test", tr("Test no&w"), tr("Place the test networks with the current policy"));
    m_testUpdates = makeSpin("testUpdates", tr("Updates on each test network"), 1, 1'000'000'000, 100,
                             tr("Number of updates for each test network"));
    m_optimize = makeButton("optimize", tr("Optimize &each"),
                            tr("Train a new policy on each test network alone, for comparison (slow)"));
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

void LearnWindow::startOrStop() {
    if (isRunning()) {
        m_run->stop();
        m_start->setEnabled(false);
        return;
    }
    if (const QString reason = m_document->measuredNow(); !reason.isEmpty()) return m_status->setText(reason);
    TrainingRequest wanted = request();
    const std::uint64_t updates = wanted.updates;
    const bool continues =
        m_run && m_run->state() != TrainingRun::State::failed && wanted.continues(m_run->request());
    if (continues) {
        m_testLane.cancel();
        m_optimizeLane.cancel();
    } else {
        // A policy that was read and is trained further is not dropped.
        const bool goesOn = wanted.resumed && state() == stateOf(wanted.resumed);
        if (!goesOn && !mayDrop()) return;
        drop();
        if (wanted.resumed && !m_resumedFile.isEmpty()) {
            m_savedUpdates = wanted.resumed->state.updates;
            m_savedFile = m_resumedFile;
        }
        m_restored.reset();
        m_run = std::make_unique<TrainingRun>(std::move(wanted));
        connect(m_run.get(), &TrainingRun::progressed, this, &LearnWindow::showProgress);
        connect(m_run.get(), &TrainingRun::ended, this, [this] {
            showRequest();
            m_testLane.cancel();  // a test of the previous policy
            if (m_run->training() && !m_run->curriculum()->test.empty()) testPolicy();
            showTest();
        });
    }
    m_run->start(updates);
    showRequest();
    showProgress();
    showTest();
}

void LearnWindow::pauseOrResume() {
    if (const QString reason = m_document->measuredNow(); !reason.isEmpty() && m_run->isPaused())
        return m_status->setText(reason);
    m_run->setPaused(!m_run->isPaused());
    showRequest();
    showProgress();
}

/// Drops the policy and its test results.
void LearnWindow::drop() {
    m_testLane.cancel();
    m_optimizeLane.cancel();
    if (isRunning()) {
        // The update under way may take seconds; the window does not wait for it.
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
    if (!hasUnsavedPolicy()) return true;
    // Paused, so that the saved policy is the latest one.
    const bool held = isRunning() && !m_run->isPaused();
    if (held) m_run->setPaused(true);
    QMessageBox question(QMessageBox::Question, tr("Save policy"), {},
                         QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel,
                         isVisible() ? this : parentWidget());
    const auto describe = [&] {
        question.setText(
            tr("Save the %1 policy (%L2 updates)?").arg(titleOf(policyId())).arg(state()->updates));
        question.setInformativeText(isRunning()
                                        ? tr("This stops the training; an unsaved policy will be lost.")
                                        : tr("Otherwise it will be lost."));
    };
    describe();
    // The update under way still ends.
    if (m_run) connect(m_run.get(), &TrainingRun::progressed, &question, describe);
    question.button(QMessageBox::Discard)->setText(tr("&Discard"));
    question.setDefaultButton(QMessageBox::Save);
    const int answer = question.exec();
    if (answer == QMessageBox::Discard || (answer == QMessageBox::Save && save())) return true;
    if (held && isRunning()) m_run->setPaused(false);
    return false;
}

QString LearnWindow::progressText() const {
    if (isRunning() && !m_run->curriculum()) return tr("Training: preparing networks");
    if (isRunning()) {
        const QString updates = tr("update %L1 of %L2").arg(m_run->updates()).arg(m_run->request().updates);
        return m_run->isPaused() ? tr("Training paused: %1").arg(updates) : tr("Training: %1").arg(updates);
    }
    if (m_testLane.busy() || m_optimizeLane.busy()) return tr("Testing the policy");
    if (hasUnsavedPolicy()) return tr("Policy not saved: %L1 updates").arg(state()->updates);
    return {};
}

std::shared_ptr<const TrainingState> LearnWindow::state() const {
    if (m_run && m_run->training()) return m_run->training();
    return stateOf(resumedPolicy());
}

std::shared_ptr<const PolicyFile> LearnWindow::policy() const {
    return m_run && m_run->training() ? m_run->policy() : resumedPolicy();
}

const std::string& LearnWindow::policyId() const {
    return m_run ? m_run->request().policy->id : m_resumed->record.policy;
}

std::uint64_t LearnWindow::savedUpdates() const {
    if (m_run) return m_savedUpdates;
    return m_resumed && !m_resumedFile.isEmpty() ? m_resumed->state.updates : 0;
}

bool LearnWindow::hasUnsavedPolicy() const {
    const auto now = state();
    return now != nullptr && now->updates != savedUpdates();
}

std::optional<Workspace::Learned> LearnWindow::learned() const {
    const auto now = state();
    if (!now) return m_restored;
    Workspace::Learned learned{policyId(),
                               m_run ? m_run->request().updates : m_resumed->record.planned_updates,
                               {},
                               std::shared_ptr<const std::vector<TrainingPoint>>(now, &now->curve)};
    if (savedUpdates() > 0) learned.file = (m_run ? m_savedFile : m_resumedFile).toStdString();
    return learned;
}

void LearnWindow::restore(const Workspace::Learned& learned) {
    if (hasPolicy() || isRunning() || isReading() || learned.curve->empty()) return;
    m_restored = learned;
    showRequest();
    showProgress();
    const QString file = QString::fromStdString(learned.file);
    if (QFileInfo::exists(file)) read(file, false);
}

QString LearnWindow::restoredText() const {
    const QString file = QString::fromStdString(m_restored->file);
    const QString curve = tr("The curve is that of %1 after %L2 updates, as the workspace kept it.")
                              .arg(titleOf(m_restored->policy))
                              .arg(m_restored->curve->back().updates);
    if (file.isEmpty()) return curve + QLatin1Char(' ') + tr("The policy itself was not saved.");
    if (!QFileInfo::exists(file))
        return curve + QLatin1Char(' ') + tr("The file of the policy is missing: %1.").arg(file);
    return curve;
}

void LearnWindow::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    Q_EMIT stateChanged();
}

void LearnWindow::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    Q_EMIT stateChanged();
}

void LearnWindow::showProgress() {
    Q_EMIT stateChanged();
    const bool running = isRunning();
    const bool loading = running && !m_run->curriculum();
    m_progress->setVisible(running);
    const auto now = state();
    m_plot->setCurve(now ? std::shared_ptr<const std::vector<TrainingPoint>>(now, &now->curve)
                     : m_restored && !m_run ? m_restored->curve
                                            : nullptr);
    showNetworks();
    const bool saveable = now != nullptr;
    if (m_save->isEnabled() != saveable) {
        showRequest();
        showTest();
        Q_EMIT policyChanged();
    }
    if (!m_run) return;  // showRequest() has set the status
    if (loading) {
        m_progress->setRange(
            0, m_run->request().family != nullptr ? static_cast<int>(m_run->request().count) : 0);
        m_progress->setValue(static_cast<int>(m_run->loaded()));
        m_status->setText(tr("Preparing networks: %L1 ready").arg(m_run->loaded()));
        return;
    }
    const std::uint64_t done = now ? now->updates : 0, wanted = m_run->request().updates;
    m_progress->setRange(0, 1000);
    m_progress->setValue(
        static_cast<int>(1000.0 * static_cast<double>(std::min(done, wanted)) / static_cast<double>(wanted)));
    QString status = tr("%L1 of %L2 updates").arg(done).arg(wanted);
    if (now) status += tr(" · %L1 placements scored").arg(now->evaluations);
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
    const auto lessons = m_run && m_run->curriculum() ? std::span<const Lesson>(m_run->curriculum()->training)
                                                      : std::span<const Lesson>();
    const auto now = state();
    while (m_table->topLevelItemCount() > static_cast<int>(lessons.size()))
        delete m_table->takeTopLevelItem(0);
    for (std::size_t i = 0; i < lessons.size(); ++i) {
        QTreeWidgetItem* row = m_table->topLevelItem(static_cast<int>(i));
        if (row == nullptr) {
            row = new QTreeWidgetItem(m_table);
            for (int column = GroupsColumn; column < LessonColumnCount; ++column)
                row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        }
        const Job& job = lessons[i].job;
        row->setText(NetworkColumn, toQString(job.problem->graph->name()));
        row->setText(GroupsColumn, QString::number(job.problem->groups));
        row->setText(OneDeviceColumn, scoreText(job.single_device_s, job.single_device_fits));
        QString best, speedup;
        if (now && !now->best[i].placement.empty()) {
            const Score& score = now->best[i].score;
            best = scoreText(score.value_s, score.fits);
            if (score.fits && job.single_device_fits && score.value_s > 0)
                speedup = tr("%1 ×").arg(job.single_device_s / score.value_s, 0, 'f', 2);
        }
        row->setText(BestColumn, best);
        row->setText(SpeedupColumn, speedup);
    }
}

/// Starts the work, which fills `results` step by step, or stops it if it is running.
void LearnWindow::testOrStop(Background::Lane& lane, CdfData& results,
                             std::function<CdfData(std::stop_token, const CdfCallback&)> work) {
    if (lane.busy()) {
        lane.cancel();
        return showTest();
    }
    if (const QString reason = m_document->measuredNow(); !reason.isEmpty()) {
        m_testStatus->setText(reason);
        return m_testStatus->show();
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
               [policy = policy(), curriculum = m_run->curriculum()](std::stop_token stop,
                                                                     const CdfCallback& report) {
                   return test_policy(*policy, curriculum->test, std::move(stop), report);
               });
}

void LearnWindow::optimizeTest() {
    const auto updates = static_cast<std::uint64_t>(m_testUpdates->value());
    if (!m_optimizeLane.busy()) m_optimizedUpdates = updates;
    testOrStop(m_optimizeLane, m_optimized,
               [policy = policy(), curriculum = m_run->curriculum(), updates](std::stop_token stop,
                                                                              const CdfCallback& report) {
                   return optimize_each(*policy, curriculum->test, updates, std::move(stop), report);
               });
}

CdfData LearnWindow::cdf() const {
    CdfData all = m_tested;
    if (m_run) all.objective = objectiveTitle(*m_run->request().options.objective);
    if (all.graphs.empty()) all.graphs = m_optimized.graphs;
    all.schemes.insert(all.schemes.end(), m_optimized.schemes.begin(), m_optimized.schemes.end());
    return all;
}

void LearnWindow::showTest() {
    Q_EMIT stateChanged();
    m_cdf->setData(cdf());
    const std::size_t networks = m_run && m_run->curriculum() ? m_run->curriculum()->test.size() : 0;
    const bool testing = m_testLane.busy(), optimizing = m_optimizeLane.busy();
    m_test->setText(testing ? tr("Stop testin&g") : tr("Test no&w"));
    m_optimize->setText(optimizing ? tr("Stop optimizing &each") : tr("Optimize &each"));
    m_test->setEnabled(testing || (hasPolicy() && networks > 0));
    m_optimize->setEnabled(optimizing || (hasPolicy() && networks > 0));
    m_testUpdates->setEnabled(m_optimize->isEnabled() && !optimizing);
    const auto done = [](const CdfData& of) {
        return of.schemes.empty() ? std::size_t{0} : of.schemes.front().values.size();
    };
    QStringList parts;
    if (networks == 0) {
        if (m_run && m_run->curriculum())
            parts << tr(
                "No test networks: train on a family, or on a folder with subfolders train and test.");
    } else {
        if (testing || done(m_tested) > 0)
            parts << tr("%L1 of %L2 networks tested after %L3 updates")
                         .arg(done(m_tested))
                         .arg(networks)
                         .arg(m_testedUpdates);
        if (optimizing || done(m_optimized) > 0)
            parts << tr("%L1 of %L2 optimized for %L3 updates")
                         .arg(done(m_optimized))
                         .arg(networks)
                         .arg(m_optimizedUpdates);
    }
    m_testStatus->setText(parts.join(QStringLiteral(" · ")));
    m_testStatus->setVisible(!parts.isEmpty());
}

/// Returns whether the policy was saved.
bool LearnWindow::save() {
    QString source = toQString(policy()->record.graphs.front().network);
    if (m_run && m_run->request().family != nullptr)
        source = toQString(m_run->request().family->name);
    else if (m_run && !m_run->request().folder.empty())
        source = QFileInfo(toQString(m_run->request().folder)).fileName();
    const QString suggestion =
        toQString(policyId()) + QLatin1Char('-') + source + QStringLiteral(".safetensors");
    const QString file =
        askSaveFile(this, tr("Save the policy"), settings::policyFolder.get(), suggestion,
                    tr("Policies (*.safetensors)"), QStringLiteral(".safetensors"), settings::policyFolder);
    if (file.isEmpty()) return false;
    const std::shared_ptr<const PolicyFile> now =
        policy();  // the training may have continued while the file was chosen
    try {
        write_policy(now->record, now->state, *now->design.policy, file.toStdString());
    } catch (const InputError& error) {
        QMessageBox::warning(this, tr("Save the policy"), toQString(error.what()));
        return false;
    }
    if (m_run) {
        m_savedUpdates = now->state.updates;
        m_savedFile = file;
    } else {
        m_resumedFile = file;
    }
    m_message->showMessage(MessageBar::Kind::information,
                           tr("Saved the policy (%L1 updates) to %2").arg(now->state.updates).arg(file));
    showRequest();
    Q_EMIT stateChanged();
    return true;
}

}  // namespace placewright
