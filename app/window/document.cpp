// SPDX-License-Identifier: MIT
#include "app/window/document.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <QFileInfo>
#include <QUndoCommand>

#include "app/window/constraint_edits.hpp"
#include "app/window/language_text.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/job/untimed_ops.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr auto kDefaultMachine = "4x-v100-nvlink";
/// Searches on the screen are drawn anew at most this often, whatever their number.
constexpr int kProgressMs = 33;

std::vector<GroupId> groupsOf(const Problem& problem, const OpList& ops) {
    std::vector<GroupId> groups;
    for (const OpId op : ops) groups.push_back(problem.grouping.group_of[op]);
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

/// Says of searches that another machine or other options stopped what remains of them.
QString kept(const QString& stopped) {
    return Document::tr("%1; the Runs table keeps what was found.").arg(stopped);
}

}  // namespace

/// Swaps the screen. Keeps the simulation of the state that it leaves, so that undo shows it at once.
class Document::ScreenCommand : public QUndoCommand {
public:
    ScreenCommand(Document& document, const QString& text, Screen before, Screen after)
        : QUndoCommand(text),
          m_document(document),
          m_title(text),
          m_before(std::move(before)),
          m_after(std::move(after)) {}

    void undo() override { change(m_after, m_before); }
    void redo() override { change(m_before, m_after); }

    const std::shared_ptr<const Simulated>& simulatedBefore() const { return m_before.simulated; }
    /// Id of the run whose placement it shows; 0 for none.
    int run() const { return m_after.run; }
    /// Whether the machine, the objective or the work of a step change, so that values before and after
    /// cannot be compared.
    bool changesMeasure() const {
        const Job &before = m_before.scenario->job, &after = m_after.scenario->job;
        const auto work = [](const Job& job) {
            const auto& language = job.language;
            return std::tuple(job.problem->network->batch(), language ? language->sequence : std::nullopt,
                              language ? language->phase : LanguagePhase());
        };
        return before.machine != after.machine || before.objective != after.objective ||
               work(before) != work(after);
    }

    void setTitle(const QString& title) {
        if (title == m_title) return;  // its figures stay
        m_title = title;
        setText(title);
    }
    /// Shows in the list of steps what the step gave, before its title, which may be cut; the menu has no
    /// room for it.
    void tell(const QString& figures) {
        setText(figures + QStringLiteral(" · ") + m_title + u'\n' + m_title);
    }

    /// Replaces the state after this command by a better one, without another undo step.
    void improve(Screen after) {
        m_after = std::move(after);
        m_document.setScreen(m_after);
    }

private:
    void change(Screen& from, const Screen& to) {
        if (m_document.m_placement == from.placement && !m_document.m_insights.isSimulating())
            from.simulated = m_document.m_insights.simulated();
        if (!m_document.m_isImproving) m_document.stopFollowing();
        if (std::exchange(m_document.m_whatIf, nullptr) != nullptr) m_document.storeMachine(from.scenario);
        m_document.setScreen(to);
    }

    Document& m_document;
    QString m_title;
    Screen m_before, m_after;
};

Document::Document(QObject* parent) : QObject(parent), m_insights(m_runs, m_background) {
    Scenario first;
    first.machineFile = QString::fromLatin1(kDefaultMachine);
    m_scenario = std::make_shared<const Scenario>(std::move(first));
    // Limited because each undo step keeps a simulation.
    m_undo.setUndoLimit(200);
    connect(&m_background, &Background::settled, this, &Document::settled);
    connect(this, &Document::settled, this, [this] {
        if (!isChanging()) takeWaitingSearch();  // the change has failed or was cancelled
    });
    connect(&m_insights, &Insights::settled, this, &Document::settled);
    connect(&m_insights, &Insights::simulatedChanged, this, [this] {
        // Not that of an earlier scenario, which this one follows.
        if (timeline() && timeline()->problem == problem())
            m_measurements.compareWith(timeline(), m_scenario);
        // A step that is being pushed is not the last one yet.
        QMetaObject::invokeMethod(this, &Document::tellStep, Qt::QueuedConnection);
        Q_EMIT timelineChanged();
        startWaiting();
        compareWithoutFactors();
    });
    connect(&m_measurements, &Measurements::settled, this, &Document::settled);
    connect(&m_measurements, &Measurements::measuredChanged, this, &Document::measuredChanged);
    connect(&m_measurements, &Measurements::readingChanged, this, &Document::loadingChanged);
    connect(&m_measurements, &Measurements::unmatched, this, &Document::tracesUnmatched);
    connect(&m_measurements, &Measurements::opened, this,
            [this](const QString& report) { Q_EMIT message(false, report); });
    connect(&m_measurements, &Measurements::failed, this,
            [this](const QString& error) { Q_EMIT message(true, error); });
    connect(&m_measuring, &Measuring::settled, this, &Document::settled);
    connect(&m_measuring, &Measuring::looked, this, &Document::planFound);
    connect(&m_measuring, &Measuring::lookFailed, this, &Document::planFailed);
    connect(&m_measuring, &Measuring::changed, this, [this] {
        if (m_measuring.running() == Measuring::Kind::none) {
            endBest(MeasuredPlacements::State::stopped);
            resumeOtherWork();
        }
        Q_EMIT measuringChanged();
    });
    connect(&m_measuring, &Measuring::measured, this, &Document::addBenchmark);
    connect(&m_measuring, &Measuring::placementsMeasured, this, &Document::addMeasuredPlacements);
    connect(&m_measuring, &Measuring::bestMeasured, this, [this] {
        endBest(MeasuredPlacements::State::finished);
        showFastest();
    });
    connect(&m_measuring, &Measuring::profiled, this, [this](const ProfileReport& report) {
        m_profiled = report;
        m_profileFailure.clear();
        Q_EMIT message(false, tr("The ops of %1 were profiled; their times are in %2.")
                                  .arg(QString::fromStdString(problem()->network->name()), report.file));
        Q_EMIT profileChanged();
    });
    connect(&m_measuring, &Measuring::failed, this, [this](const QString& error) {
        Q_EMIT message(true, error);
        if (m_measuring.kind() != Measuring::Kind::profile) return;
        m_profileFailure = error;
        Q_EMIT profileChanged();
    });
    m_pace.setSingleShot(true);
    m_pace.setTimerType(Qt::PreciseTimer);
    m_pace.setInterval(kProgressMs);
    connect(&m_pace, &QTimer::timeout, this, [this] {
        if (!m_progressed.empty() || m_whyWaits) showProgress();
    });
    connect(&m_insights, &Insights::whyChanged, this, [this] {
        m_whyWaits = m_pace.isActive() && isSearching();
        if (!m_whyWaits) Q_EMIT whyChanged();
    });
    connect(&m_insights, &Insights::remediesChanged, this, &Document::remediesChanged);
    connect(&m_insights, &Insights::longestContextChanged, this, &Document::longestContextChanged);
    connect(&m_insights, &Insights::movesChanged, this, &Document::movesChanged);
    connect(&m_insights, &Insights::movesProgressed, this, &Document::movesProgressed);
    connect(&m_insights, &Insights::provingChanged, this, &Document::boundChanged);
    connect(&m_insights, &Insights::previewReady, this, &Document::previewReady);
    connect(&m_insights, &Insights::failed, this, [this](const QString& error) {
        Q_EMIT message(true, error);
        startWaiting();
    });
    connect(&m_insights, &Insights::boundTightened, this, [this] {
        endPointlessSearches();
        if (m_placesAtOnce) placeAtOnce();
        Q_EMIT boundChanged();
        Q_EMIT runsChanged();
    });
}

Document::~Document() {
    // No signal of a part that is being destroyed may reach the half-destroyed document.
    m_background.disconnect(this);
    m_insights.disconnect(this);
    m_measurements.disconnect(this);
    m_measuring.disconnect(this);
    for (const auto& run : m_runs.all()) run->disconnect(this);
    // Commands hold removed runs, which the list of runs takes.
    m_undo.blockSignals(true);
    m_undo.clear();
    for (Background::Lane* lane :
         {&m_openLane, &m_layoutLane, &m_optionsLane, &m_resumeLane, &m_machineLane, &m_factorsLane})
        lane->cancel();
    m_insights.cancel();
    m_measurements.cancel();
    m_measuring.cancelAll();
}

std::optional<double> Document::valueBefore() const {
    const ScreenCommand* last = nullptr;
    for (int i = m_undo.index() - 1; i >= 0 && last == nullptr; --i)
        last = dynamic_cast<const ScreenCommand*>(m_undo.command(i));
    if (last == nullptr || !last->simulatedBefore() || last->changesMeasure()) return {};
    const Assessment& before = last->simulatedBefore()->assessment;
    return before.is_defined() ? std::optional(before.score.value_s) : std::nullopt;
}

void Document::tellStep() {
    const auto current = m_insights.current();
    if (m_undo.index() == 0 || !current || *current->placement != m_placement ||
        !current->assessment.is_defined())
        return;
    auto* const last =
        const_cast<ScreenCommand*>(dynamic_cast<const ScreenCommand*>(m_undo.command(m_undo.index() - 1)));
    if (last == nullptr) return;
    const double now_s = current->assessment.score.value_s;
    const auto before_s = valueBefore();
    const QString change = before_s ? changeText(*before_s, now_s) : QString();
    last->tell(change.isEmpty() ? secondsText(now_s)
                                : QStringLiteral("%1 (%2)").arg(secondsText(now_s), change));
}

std::vector<DeviceId> Document::deviceOfOps() const {
    std::vector<DeviceId> devices;
    if (!isOpen()) return devices;
    devices.reserve(problem()->ops);
    for (const GroupId group : problem()->grouping.group_of) devices.push_back(m_placement[group]);
    return devices;
}

bool Document::isChanging() const {
    const bool reads = m_openLane.busy() && openingWorkspace().isEmpty();
    return isOpen() && (reads || !m_machineSteps.empty());
}

bool Document::isBusy() const {
    return isLoading() || m_insights.isBusy() || m_measurements.isBusy() || m_measuring.isBusy() ||
           m_optionsLane.busy() || m_saveLane.busy() || m_resumeLane.busy() || m_traceLane.busy() ||
           m_machineLane.busy() || m_factorsLane.busy() || m_storeLane.busy() || isSearching();
}

void Document::openNetwork(const QString& network) {
    LoadRequest request = unfinished();
    request.file = network;
    request.isNetwork = true;
    request.reading = {};
    load(std::move(request));
}

void Document::openFile(const QString& file) {
    LoadRequest request = unfinished();
    request.file = file;
    request.isNetwork = false;
    request.reading = {};
    load(std::move(request));
}

void Document::setMachine(const QString& machine) {
    LoadRequest request = unfinished();
    request.machine = machine;
    load(std::move(request));
}

void Document::setOptions(const JobOptions& options, std::optional<DeviceId> whole) {
    const bool changes = m_openLane.busy() && openingWorkspace().isEmpty();
    if (!changes && options == this->options()) return;
    LoadRequest request = unfinished();
    request.options = options;
    request.whole = whole;
    load(std::move(request));
}

void Document::setConstraints(const Constraints& constraints) {
    JobOptions options = latestOptions();
    options.problem.constraints = constraints;
    setOptions(options);
}

void Document::setReading(const ReadOptions& reading) {
    // Another network that is being opened has its own.
    if (!isOpen() || !unfinished().file.isEmpty()) return;
    JobOptions options = latestOptions();
    options.reading = reading;
    setOptions(options);
}

void Document::dropBrokenRules() {
    if (m_withoutBroken) load(LoadRequest(*m_withoutBroken));
}

void Document::load(LoadRequest request) {
    if (const QString workspace = openingWorkspace(); !workspace.isEmpty()) {
        const QString name = QFileInfo(workspace).fileName();
        if (request.file.isEmpty()) {
            Q_EMIT machineChanged();  // views of the machine or the options go back to those in use
            Q_EMIT message(true,
                           tr("%1 is being opened: wait until it is open, then do that again.").arg(name));
            return;
        }
        Q_EMIT message(false, tr("%1 was not opened: %2 is opened in its place.")
                                  .arg(name, QFileInfo(request.file).fileName()));
    }
    m_openingWorkspace.clear();
    dropMachineSteps();
    m_withoutBroken.reset();
    m_background.run(
        m_openLane,
        [request, open = m_scenario](const std::stop_token& stop) { return read(request, *open, stop); },
        [this, request](Reading reading) { receive(request, std::move(reading)); },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT machineChanged();  // views of the machine or the options go back to those in use
            Q_EMIT message(true, error);
        });
    m_loading = std::move(request);
    Q_EMIT loadingChanged();
}

void Document::receive(const LoadRequest& request, Reading reading) {
    if (reading.question) return ask(request, *reading.question);
    if (reading.brokenRules) {
        m_withoutBroken = request;
        m_withoutBroken->options = request.options.value_or(options());
        m_withoutBroken->options->problem.constraints = reading.brokenRules->others;
        Q_EMIT loadingChanged();
        Q_EMIT machineChanged();  // views of the machine or the options go back to those in use
        Q_EMIT rulesBroken(reading.brokenRules->reason, reading.brokenRules->count);
        return;
    }
    std::optional<RunRequest> waiting = takeWaitingSearch();
    if (reading.placement) {
        openPlacement(request, reading);
    } else if (!adopt(std::move(reading), request.whole)) {
        return;
    }
    if (waiting) search(*std::move(waiting));
}

void Document::openPlacement(const LoadRequest& request, const Reading& reading) {
    Q_EMIT loadingChanged();
    const QString name = QFileInfo(request.file).fileName();
    const auto scenario = reading.scenario ? reading.scenario : m_scenario;
    m_kept.keep(scenario, *reading.placement, reading.score_s);
    change(tr("Open %1").arg(name), {scenario, *reading.placement, nullptr, 0});
    Q_EMIT machineChanged();
    QStringList notes;
    for (const std::string& note : reading.notes) notes << QString::fromStdString(note);
    if (!notes.isEmpty())
        Q_EMIT message(false, name + QStringLiteral(": ") + notes.join(QStringLiteral("; ")));
}

void Document::ask(LoadRequest request, const OpenQuestion& question) {
    Q_EMIT loadingChanged();
    if (!m_askToOpen) {
        Q_EMIT message(true, question.file + QStringLiteral(": ") + question.reason);
    } else if (m_askToOpen(question, request.reading)) {
        return load(std::move(request));
    }
    Q_EMIT machineChanged();
}

void Document::previewOptions(const JobOptions& options) {
    if (!isOpen()) return;
    m_background.run(
        m_optionsLane,
        [options, open = m_scenario, now = m_placement](const std::stop_token& stop) {
            return previewOf(options, *open, now, stop);
        },
        [this](const OptionsPreview& preview) { Q_EMIT optionsPreviewed(preview); },
        [this](const QString& error) {
            OptionsPreview preview;
            preview.error = error;
            Q_EMIT optionsPreviewed(preview);
        });
}

void Document::cancelLoading() {
    m_openLane.cancel();
    m_layoutLane.cancel();
    m_measurements.cancelReading();
    if (m_scene) m_closed = m_scene->closed;
    Q_EMIT loadingChanged();
    Q_EMIT machineChanged();
    Q_EMIT settled();
}

bool Document::hasUnsavedPlacement() const {
    return isOpen() && m_undo.index() > 0 && !showsUnasked() && m_kept.lacks(m_scenario, m_placement);
}

bool Document::isAsOpened() const {
    const auto unasked = [this](int id) {
        const Run* run = m_runs.find(id);
        return run != nullptr && run->request().unasked;
    };
    if (std::ranges::any_of(
            m_runs.all(), [](const auto& run) { return !run->request().unasked || !run->name().isEmpty(); }))
        return false;
    if (m_undo.count() == 0) return true;
    const auto* const first = dynamic_cast<const ScreenCommand*>(m_undo.command(0));
    return m_undo.count() == 1 && first != nullptr && unasked(first->run());
}

std::optional<int> Document::unsaved() const {
    if (!isOpen()) return {};
    return m_kept.unsaved(m_scenario, m_placement, screenScore_s(), m_undo.index() > 0 && !showsUnasked(),
                          m_runs);
}

bool Document::isBestKnown(double score_s) const {
    return isOpen() && m_kept.isBestKnown(score_s, *m_scenario, screenScore_s(), m_runs);
}

double Document::screenScore_s() const {
    const auto current = m_insights.current();
    return current && *current->placement == m_placement ? current->assessment.score.penalised_s
                                                         : scoreOf(job(), m_placement);
}

bool Document::adopt(Reading reading, std::optional<DeviceId> whole) {
    if (!reading.scenario->job.problem) {
        m_scenario = std::move(reading.scenario);
        Q_EMIT loadingChanged();
        Q_EMIT machineChanged();
        return true;
    }
    if (!reading.sameNetwork) return adoptNetwork(reading);
    adoptChange(reading, whole);
    return true;
}

bool Document::adoptNetwork(const Reading& reading) {
    const Job& next = reading.scenario->job;
    if (m_mayLeave && !m_mayLeave()) {
        Q_EMIT loadingChanged();
        Q_EMIT machineChanged();
        return false;
    }
    const QString searches = stoppedText(m_runs.running());
    const QString stopped = forget();
    m_kept.keep(reading.scenario, next.single_device, reading.scenario->singleDevice_s);
    enter(reading.scenario, next.single_device);
    m_insights.simulate();
    Q_EMIT networkOpened();
    QStringList notes{stopped, searches};
    if (!m_scenario->groupingAsked && options().problem.grouping != GroupingOptions()) {
        notes << tr("Large network: %1, shown by module and placed in %2 groups (change in Run ▸ "
                    "Simulation…)")
                     .arg(opsText(next.problem->network->size()))
                     .arg(countText(static_cast<double>(next.problem->groups)));
    }
    notes << readerNotes();
    notes << unmeasured();
    // The kinds follow on lines of their own, which the bar shows on demand.
    if (!next.estimated.empty())
        notes << QString::fromStdString(estimated_text(next.estimated, next.problem->network->size()) + '\n' +
                                        estimated_details(next.estimated));
    report(notes);
    return true;
}

QString Document::forget() {
    QString stopped = stopMeasuring();
    m_measuring.cancelAll();
    m_profiled.reset();
    m_profileFailure.clear();
    m_benchmarks = 0;
    m_best.reset();
    m_bestSaved.reset();
    m_pinnedBefore = 0;
    m_undo.clear();
    m_whatIf = nullptr;
    m_selection.clear();
    m_waiting.clear();
    m_runs.clear();
    m_kept.clear();
    m_measurements.clear();
    Q_EMIT replaced();
    return stopped;
}

void Document::adoptChange(const Reading& reading, std::optional<DeviceId> whole) {
    const Job& next = reading.scenario->job;
    QStringList notes;
    const QString machineFile = this->machineFile();
    const bool reloaded = reading.scenario->graphFingerprint != m_scenario->graphFingerprint &&
                          reading.scenario->options == options();
    const bool constrains = next.problem->constraints != problem()->constraints;
    const std::size_t rules = problem()->constraints.rules.size(),
                      left = next.problem->constraints.rules.size();
    const QString title = reloaded ? tr("Reload %1").arg(QFileInfo(networkFile()).fileName())
                          : reading.scenario->machineFile != machineFile
                              ? tr("Change to %1").arg(QString::fromStdString(next.machine->name()))
                          : constrains ? tr("Change constraints")
                          : reading.scenario->options.reading != options().reading && next.language
                              ? languageChangeText(options().reading, reading.scenario->options.reading)
                              : tr("Change simulation");
    if (reading.scenario->options.supplements != options().supplements) {
        for (const std::string& note : reading.scenario->notes) notes << QString::fromStdString(note);
    }
    const auto found = whole ? Carried{single_device_placement(*next.problem, *whole), 0}
                             : carried(m_placement, *problem(), *next.problem, next.single_device);
    if (const QString stopped = stoppedText(m_runs.running()); !stopped.isEmpty()) notes << kept(stopped);
    const QString otherStep = otherStepText(*reading.scenario);
    const bool readAnew = reloaded || reading.scenario->options.reading != options().reading;
    change(title, {reading.scenario, found ? found->placement : next.single_device, nullptr, 0});
    if (readAnew) notes << readerNotes();
    notes << unmeasured();
    if (left < rules && reading.scenario->machineFile != machineFile)
        notes << tr("%1 dropped; Ctrl+Z undoes this.")
                     .arg(rules - left == 1 ? tr("1 constraint was")
                                            : tr("%L1 constraints were").arg(rules - left));
    const std::size_t earlier = reloaded ? m_runs.all().size() : 0;
    if (earlier > 0)
        notes << tr("The network changed: %1 of the earlier version hidden; Ctrl+Z shows them again.")
                     .arg(earlier == 1 ? tr("1 run") : tr("%L1 runs").arg(earlier));
    notes << otherStep;
    if (whole) {
        notes << tr("All ops were moved to %1, as far as it runs them; Ctrl+Z undoes this, F5 looks for a "
                    "better "
                    "placement.")
                     .arg(QString::fromStdString(next.machine->device(*whole).name));
    } else if (found && found->moved > 0) {
        const QString moved = constrains
                                  ? tr("%1 moved, as the constraints say; Ctrl+Z undoes this.")
                                  : tr("%1 moved to the device of most of their group; Ctrl+Z undoes this.");
        notes << moved.arg(opsText(found->moved));
    } else if (!found) {
        const Placement& single = next.single_device;
        const bool isOne = std::ranges::adjacent_find(single, std::not_equal_to<>()) == single.end();
        notes
            << tr("%1 cannot hold this placement: it lacks a device, or a device cannot run one of the ops. "
                  "All ops were moved to %2; Ctrl+Z undoes this, F5 looks for a better placement.")
                   .arg(QString::fromStdString(next.machine->name()),
                        isOne ? QString::fromStdString(next.machine->device(single.front()).name)
                              : tr("one device, as far as it runs them"));
    }
    report(notes);
}

void Document::report(QStringList notes) {
    m_later.clear();
    notes.removeAll(QString());
    QString text;
    for (const QString& note : notes) {
        if (!text.isEmpty()) text += text.endsWith(u'.') ? QStringLiteral(" ") : QStringLiteral("; ");
        text += note;
    }
    if (!text.isEmpty()) Q_EMIT message(false, text);
}

void Document::reportLater(const QString& note) {
    m_later = note;
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (!m_later.isEmpty()) report({m_later});
        },
        Qt::QueuedConnection);
}

/// What the reader of the network file left out or assumed.
QStringList Document::readerNotes() const {
    QStringList notes;
    for (const std::string& note : job().notes) notes << QString::fromStdString(note);
    return notes;
}

/// Returns which ops lack measured times although the cost model uses them; empty if none does, and for a
/// workload, which brings its own times.
QString Document::unmeasured() const {
    if (options().problem.cost.model->id != "measured" || job().own_machine) return {};
    return QString::fromStdString(unmeasured_text(*problem()));
}

QString Document::otherStepText(const Scenario& next) const {
    const QStringList names = m_measurements.namesOfOnly(*m_scenario, next);
    if (names.isEmpty()) return {};
    const QString step = stepText(*m_scenario, next);
    return names.size() == 1
               ? tr("%1 measured another step (%2) and is hidden; Ctrl+Z shows it again.")
                     .arg(names.front(), step)
               : tr("%L1 measured runs are of another step (%2) and are hidden; Ctrl+Z shows them again.")
                     .arg(names.size())
                     .arg(step);
}

/// Does not simulate: the caller updates the timeline.
void Document::enter(std::shared_ptr<const Scenario> scenario, Placement placement) {
    takeWaitingSearch();  // it waited for another change
    m_withoutBroken.reset();
    m_placesAtOnce = false;
    // What is carried along from here is no more work than this.
    if (showsUnasked() && m_kept.lacks(m_scenario, m_placement))
        m_kept.keep(m_scenario, m_placement, screenScore_s());
    const QString stopped = stoppedText(m_runs.running());
    m_runs.cancelAll();
    forgetFollowed();
    QStringList notes;
    if (!stopped.isEmpty()) notes << kept(stopped);
    if (isOpen()) notes << otherStepText(*scenario);
    if (const QString workspace = openingWorkspace(); !workspace.isEmpty())
        notes << tr("%1 was not opened: another change came before it was read.")
                     .arg(QFileInfo(workspace).fileName());
    notes.removeAll(QString());
    if (!notes.isEmpty()) reportLater(notes.join(QLatin1Char(' ')));
    m_openLane.cancel();
    m_optionsLane.cancel();
    if (!m_adoptsMachine) {
        m_machineLane.cancel();
        m_machineSteps.clear();
    }
    m_factorsLane.cancel();
    m_valueWithoutFactors.reset();
    const std::shared_ptr<const Scenario> before = std::exchange(m_scenario, std::move(scenario));
    // Placements of one problem say nothing about another.
    if (m_measuring.running() == Measuring::Kind::best && !sameScenario(*before, *m_scenario))
        m_measuring.cancel();
    OpList selection;
    for (const OpId op : m_selection) {
        if (const auto kept = problem()->graph->find(before->job.problem->graph->op(op).name))
            selection.push_back(*kept);
    }
    std::ranges::sort(selection);
    m_selection = std::move(selection);
    // Options that change neither ops nor their times keep the drawing.
    const Problem* drawn = before->job.problem.get();
    const bool sameNetwork = drawn != nullptr && drawn->network == problem()->network;
    // An edit of the machine keeps it too: a graph that moves at each step of a slider cannot be read.
    const bool edits = sameBeforeEdits(*before, *m_scenario) && before->machineFile != machineFile();
    const bool sameDrawing = m_scene && sameNetwork && (edits || before->job.machine == job().machine) &&
                             before->options.problem.precision == options().problem.precision &&
                             drawn->inference == problem()->inference && drawn->ops == problem()->ops &&
                             (edits || drawn->op_time_s == problem()->op_time_s);
    // A language model has the same modules in other phases and sizes.
    const bool sameModules =
        drawn != nullptr && before->job.language && job().language && before->networkFile == networkFile();
    if (!sameNetwork && !sameModules) m_closed.reset();
    if (!sameDrawing) m_scene.reset();
    m_placement = std::move(placement);
    m_shown = 0;
    m_insights.enter(m_scenario, m_placement);
    Q_EMIT problemChanged();
    Q_EMIT whyChanged();
    Q_EMIT selectionChanged();
    Q_EMIT placementChanged();
    Q_EMIT measuredPlacementsChanged();
    m_insights.startBound();
    if (!m_scene) startLayout(m_closed);
    Q_EMIT loadingChanged();
    Q_EMIT runsChanged();
}

void Document::setClosedModules(const ClosedScopes& closed) {
    if (!isOpen() || m_closed == closed) return;
    m_closed = closed;
    if (m_scene && m_scene->closed == closed) {
        m_layoutLane.cancel();  // back to the modules that are still drawn
    } else {
        startLayout(closed);
    }
    Q_EMIT loadingChanged();
}

void Document::setRoom(const LayoutRoom& room) {
    if (alike(room, m_room)) return;
    m_room = room;
    // Where the layout was cancelled, there is to be no drawing.
    if (!isOpen() || (!m_scene && !m_layoutLane.busy())) return;
    startLayout(m_closed);
    Q_EMIT loadingChanged();
}

void Document::showModules(const QStringList& paths, bool open) {
    if (!m_scene || !m_closed) return;
    ClosedScopes closed = *m_closed;
    for (const QString& path : paths) {
        if (open) {
            closed = opened(m_scene->modules, std::move(closed), path.toStdString());
        } else {
            closed.insert(path.toStdString());
        }
    }
    setClosedModules(closed);
}

void Document::startLayout(std::optional<ClosedScopes> closed) {
    m_background.run(
        m_layoutLane,
        [problem = problem(), closed = std::move(closed), room = m_room](std::stop_token stop) {
            return buildGraphScene(*problem, closed ? &*closed : nullptr, room, stop);
        },
        [this](std::shared_ptr<const GraphScene> scene) {
            m_scene = std::move(scene);
            m_closed = m_scene->closed;
            Q_EMIT loadingChanged();
            Q_EMIT sceneChanged();
        },
        [this](const QString& error) {
            Q_EMIT loadingChanged();
            Q_EMIT message(true, error);
        });
}

Document::Screen Document::screen() const {
    return {m_scenario, m_placement, m_insights.current(), m_shown};
}

void Document::setScreen(const Screen& screen) {
    if (screen.scenario != m_scenario) enter(screen.scenario, screen.placement);
    m_placement = screen.placement;
    m_shown = screen.run;
    m_insights.setPlacement(m_placement);
    Q_EMIT placementChanged();
    Q_EMIT runsChanged();
    if (screen.simulated) {
        m_insights.show(screen.simulated);
    } else {
        m_insights.simulate();
    }
}

void Document::follow(Run& run) {
    if (!follows(run) || !run.simulated()) return;
    const Assessment* now = assessment();
    const bool differs = *run.simulated()->placement != m_placement;
    // The last step of a search may give a little time for room in memory.
    const bool ends = m_shown == run.id() && run.state() == Run::State::finished && differs;
    const bool pinned = m_pinned == run.id() && differs;
    if (!ends && !pinned && now != nullptr &&
        run.simulated()->assessment.score.penalised_s >= now->score.penalised_s)
        return;
    Screen better{m_scenario, *run.simulated()->placement, run.simulated(), run.id()};
    const QString title = tr("Optimize with %1").arg(runTitle(run));
    if (m_search != nullptr) {
        m_search->setTitle(title);
        m_search->improve(std::move(better));
        return;
    }
    auto* command = new ScreenCommand(*this, title, screen(), std::move(better));
    m_isImproving = true;
    m_undo.push(command);
    m_isImproving = false;
    m_search = command;
}

void Document::change(const QString& title, Screen next) {
    // An edit takes the screen back from a running search; the search's result stays an undo step of its own.
    stopFollowing();
    if (next.scenario == m_scenario && next.placement == m_placement) return;
    m_undo.push(new ScreenCommand(*this, title, screen(), std::move(next)));
}

void Document::changeWhatIf(Screen next) {
    if (m_whatIf != nullptr) return m_whatIf->improve(std::move(next));
    auto* command = new ScreenCommand(*this, tr("What if"), screen(), std::move(next));
    m_undo.push(command);
    m_whatIf = command;
}

void Document::showPlacement(const Placement& placement, const QString& title) {
    if (isOpen()) change(title, {m_scenario, placement, nullptr, 0});
}

void Document::openTraces(const QStringList& files) {
    if (isOpen()) m_measurements.open(files, m_scenario, m_placement);
}

void Document::addMeasured(MeasuredRun run) {
    if (isOpen()) m_measurements.add(m_scenario, std::move(run));
}

void Document::showMeasuredPlacement(int id) {
    if (!measured() || measured()->simulated->problem != problem()) return;
    for (const MeasuredRuns::Run& run : measured()->runs) {
        if (run.of.id == id && !run.of.run->placement.empty())
            showPlacement(run.of.run->placement, tr("Show the placement of %1").arg(run.of.name));
    }
}

void Document::moveOps(const OpList& ops, DeviceId device) {
    if (!isOpen() || ops.empty() || device >= problem()->devices) return;
    Placement moved = m_placement;
    std::size_t refused = 0;
    std::string rule;
    for (const GroupId group : groupsOf(*problem(), ops)) {
        if (mayHold(*problem(), group, device)) {
            moved[group] = device;
        } else {
            ++refused;
            if (rule.empty()) rule = pinAgainst(*problem(), group, device);
        }
    }
    const QString name = QString::fromStdString(problem()->machine->device(device).name);
    if (const std::string broken = broken_rule(*problem(), moved); !broken.empty()) {
        Q_EMIT message(true, tr("Nothing was moved to %1 because of the constraint: %2. Remove it in Edit ▸ "
                                "Constraints.")
                                 .arg(name, QString::fromStdString(broken)));
        return;
    }
    if (!rule.empty()) {
        Q_EMIT message(true, tr("%1 could not be moved to %2 because of the constraint: %3. Remove it in "
                                "Edit ▸ Constraints.")
                                 .arg(opsText(refused), name, QString::fromStdString(rule)));
    } else if (refused > 0) {
        Q_EMIT message(true, tr("%1 not moved to %2: the network file does not allow this device for them.")
                                 .arg(opsText(refused), name));
    }
    const QString what = ops.size() == 1 ? QString::fromStdString(problem()->graph->op(ops.front()).name)
                                         : opsText(ops.size());
    change(tr("Move %1 to %2").arg(what, name), {m_scenario, std::move(moved), nullptr, 0});
}

void Document::requestPreview(const OpList& ops) {
    if (isOpen()) m_insights.requestPreview(groupsOf(*problem(), ops));
}

void Document::setSelection(const OpList& ops) {
    if (ops == m_selection) return;
    m_selection = ops;
    Q_EMIT selectionChanged();
}

PlacedNetwork Document::placed() const {
    const auto current = m_insights.current();
    const Outcome outcome =
        current ? current->timeline->outcome : Simulator(job().problem, job().simulation).run(m_placement);
    PlacementFile about;
    about.predicted = prediction(job(), m_placement, outcome,
                                 bound() && job().objective->is_step_time() ? bound()->value_s : 0);
    if (const Run* run = shownRun()) {
        about.produced_by = {run->request().algorithm, run->request().seed, run->progress().evaluations,
                             run->request().options};
    }
    ReadOptions reading = options().reading;
    if (job().language) reading.language = *job().language;  // with the sequence that the model's limit gives
    return {problem(), m_placement, job().simulation, std::move(about), networkPath(), std::move(reading)};
}

void Document::exportPlacement(const QString& file) {
    write_placement(m_placement, *problem(), placed().about, file.toStdString());
    keepPlacement();
}

void Document::keepPlacement() {
    m_kept.keep(m_scenario, m_placement, screenScore_s());
}

}  // namespace placewright
