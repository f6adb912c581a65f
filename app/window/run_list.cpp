// SPDX-License-Identifier: MIT
#include "app/window/run_list.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QCoreApplication>

#include "app/window/option_text.hpp"
#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

/// With at most this many evaluations searches have hardly scored the placements that they build, and
/// portfolios have not started.
constexpr std::uint64_t kFewEvaluations = 100;

struct RunsText {
    Q_DECLARE_TR_FUNCTIONS(Runs)
};

/// The state of a run in files.
std::string stateId(const Run& run) {
    switch (run.state()) {
        case Run::State::running:
            return run.isPaused() ? "paused" : "running";
        case Run::State::finished:
            return "finished";
        case Run::State::cancelled:
            return "stopped";
        case Run::State::failed:
            return "failed";
    }
    return {};
}

/// Returns the row of a run of `scenario`, as rows() shows it; all but what the list knows of it.
RunRow rowOf(const Run& run, const Scenario& scenario, const Scenario& open,
             const std::optional<Bound>& bound) {
    const SearchProgress& progress = run.progress();
    RunRow row;
    row.id = run.id();
    row.title = runTitle(run);
    if (!sameScenario(scenario, open)) row.elsewhere = differenceText(scenario, open);
    row.options = RunsText::tr("%1, seed %2")
                      .arg(QString::fromStdString(run.request().algorithm))
                      .arg(run.request().seed);
    if (run.start_s() > 0)
        row.options += RunsText::tr("\non screen when it started: %1 %2")
                           .arg(objectiveName(*scenario.job.objective), secondsText(run.start_s()));
    for (const auto& [name, value] : run.request().options) {
        row.options += QLatin1Char('\n') + QString::fromStdString(name + " = " + to_string(value));
    }
    row.splitting = run.splitting();
    row.state = run.isPaused() ? RunRow::State::paused : static_cast<RunRow::State>(run.state());
    row.failure = run.failure();
    if (scenario.job.objective != open.job.objective) row.objective = objectiveName(*scenario.job.objective);
    row.defined = progress.best != kUndefinedScore;
    if (progress.best_placement) {
        row.step_time_s = progress.best.value_s;
        row.fits = progress.best.fits;
        if (!row.fits && row.defined && run.simulated()) {
            Misfit lacks = misfit(*run.job().problem, run.simulated()->assessment);
            row.over_bytes = lacks.over_bytes;
            row.misfit = std::move(lacks.text);
        }
        if (run.job().single_device_s < kUndefinedScore.value_s && row.defined)
            row.speedup = run.job().single_device_s / progress.best.value_s;
        const auto& alone = run.job().single_device_error;
        if (run.simulated() && run.simulated()->error && alone && run.job().objective->is_step_time())
            row.speedup_error = run.simulated()->error->half_width_of_ratio(*alone);
        if (row.elsewhere.isEmpty() && bound && bound->value_s > 0 && std::isfinite(bound->value_s))
            row.gap = progress.best.value_s / bound->value_s - 1;
    }
    row.evaluations = progress.evaluations;
    const Budget& budget = run.request().budget;
    if (budget.is_counted()) row.budget = budget.evaluations;
    if (budget.is_timed()) row.budget_s = budget.seconds;
    row.seconds = progress.elapsed_s;
    return row;
}

}  // namespace

Run& RunList::add(std::shared_ptr<const Scenario> scenario, RunRequest request) {
    const int nth = m_startedOf[request.algorithm]++;
    m_runs.push_back(std::make_unique<Run>(m_next++, scenario->job, std::move(request)));
    Run& run = *m_runs.back();
    m_about[run.id()] = {std::move(scenario), nth};
    return run;
}

Run& RunList::restore(int id, std::shared_ptr<const Scenario> scenario, RunRequest request, Run::Past past) {
    const int nth = m_startedOf[request.algorithm]++;
    m_runs.push_back(std::make_unique<Run>(id, scenario->job, std::move(request), std::move(past)));
    m_next = id + 1;
    m_about[id] = {std::move(scenario), nth};
    return *m_runs.back();
}

RunList::Taken RunList::take(int id) {
    const auto found = std::ranges::find(m_runs, id, [](const auto& run) { return run->id(); });
    const About about = m_about.at(id);
    Taken taken{std::move(*found), static_cast<std::size_t>(found - m_runs.begin()), about.scenario,
                about.nth, about.hidden};
    m_runs.erase(found);
    m_about.erase(id);
    taken.run->cancel();
    return taken;
}

void RunList::putBack(Taken taken) {
    m_about[taken.run->id()] = {std::move(taken.scenario), taken.nth, taken.hidden};
    const std::size_t at = std::min(taken.at, m_runs.size());
    m_runs.insert(m_runs.begin() + static_cast<std::ptrdiff_t>(at), std::move(taken.run));
}

void RunList::clear() {
    m_about.clear();
    m_startedOf.clear();
    for (auto& run : std::exchange(m_runs, {})) leave(std::move(run));
}

void RunList::setHidden(int id, bool hidden) {
    if (const auto found = m_about.find(id); found != m_about.end()) found->second.hidden = hidden;
}

void RunList::setAlone(int id) {
    const bool alone = std::ranges::all_of(
        m_about, [id](const auto& each) { return each.second.hidden != (each.first == id); });
    for (auto& [each, about] : m_about) about.hidden = !alone && each != id;
}

void RunList::leave(std::unique_ptr<Run> run) {
    run->disconnect();
    run->cancel();
    if (run->state() != Run::State::running || !run->isStarted()) return;
    // Its thread needs a moment to end; the window does not wait for it.
    QObject::connect(run.get(), &Run::ended, run.get(), [this, leaving = run.get()] {
        const auto found = std::ranges::find(m_leaving, leaving, [](const auto& of) { return of.get(); });
        found->release()->deleteLater();
        m_leaving.erase(found);
    });
    m_leaving.push_back(std::move(run));
}

Run* RunList::find(int id) const {
    const auto found = std::ranges::find_if(m_runs, [&](const auto& run) { return run->id() == id; });
    return found == m_runs.end() ? nullptr : found->get();
}

bool RunList::isSearching() const {
    return std::ranges::any_of(m_runs, [](const auto& run) { return run->state() == Run::State::running; });
}

QStringList RunList::running() const {
    QStringList titles;
    for (const auto& run : m_runs) {
        if (run->state() == Run::State::running && !run->request().unasked) titles << runTitle(*run);
    }
    return titles;
}

void RunList::cancelAll() {
    for (const auto& run : m_runs) run->cancel();
}

bool RunList::cancelAllOf(const Scenario& scenario) {
    bool any = false;
    for (const auto& run : m_runs) {
        if (run->state() != Run::State::running || !sameScenario(*scenarioOf(*run), scenario)) continue;
        run->cancel();
        any = any || !run->request().unasked;
    }
    return any;
}

double RunList::leastValue_s(const Scenario& scenario) const {
    double least_s = kInfinity;
    for (const auto& run : m_runs) {
        const SearchProgress& progress = run->progress();
        if (!progress.best_placement || !progress.best.fits || !sameScenario(*scenarioOf(*run), scenario))
            continue;
        least_s = std::min(least_s, progress.best.value_s);
    }
    return least_s;
}

std::vector<RunRow> RunList::rows(const Scenario& open, const std::optional<Bound>& bound) const {
    std::vector<RunRow> rows;
    for (const auto& run : m_runs) {
        const Scenario& scenario = *scenarioOf(*run);
        if (!sameNetwork(scenario, open)) continue;
        rows.push_back(rowOf(*run, scenario, open, bound));
        rows.back().style = styleOf(*run);
        rows.back().hidden = isHidden(*run);
    }
    return rows;
}

std::vector<ComparedCase> RunList::cases(const Scenario& open, const std::optional<Bound>& bound) const {
    std::vector<ComparedCase> cases;
    using Labels = std::pair<std::string, std::string>;  // machine and options
    std::map<Labels, std::vector<const Scenario*>> scenariosOf;
    std::map<Labels, double> best_s;  // of each scenario
    for (const auto& run : m_runs) {
        const Scenario& scenario = *scenarioOf(*run);
        const RunRequest& request = run->request();
        const AlgorithmInfo* algorithm = find_algorithm(request.algorithm);
        const SearchProgress& progress = run->progress();
        if (request.predicted || algorithm == nullptr || progress.evaluations == 0 || !progress.curve)
            continue;
        if (!sameNetwork(scenario, open) || scenario.job.objective != open.job.objective) continue;
        const Job& job = scenario.job;
        ComparedCase& one = cases.emplace_back();
        one.title = runTitle(*run).toStdString();
        QStringList changed = changedOptions(scenario.options, job.language);
        if (scenario.whatIf) changed << factorsText(scenario.whatIf->factors);
        std::string options = changed.join(QStringLiteral(", ")).toStdString();
        // Edits of a machine and the ops of rules are in no label: "4x V100 (edited)", "1 constraint".
        std::vector<const Scenario*>& alike = scenariosOf[{job.machine->name(), options}];
        auto same = std::ranges::find_if(
            alike, [&](const Scenario* other) { return sameScenario(*other, scenario); });
        if (same == alike.end()) same = alike.insert(alike.end(), &scenario);
        if (const auto number = same - alike.begin() + 1; number > 1)
            options += (options.empty() ? "variant " : ", variant ") + std::to_string(number);
        one.labels = {one.title, stateId(*run), job.problem->graph->name(), job.machine->name(), options};
        one.contestants = {{algorithm, request.options, true}};
        one.runs = {{0, request.seed, progress}};
        one.objective = job.objective;
        if (job.single_device_fits) one.one_device_s = job.single_device_s;
        if (sameScenario(scenario, open)) one.bound = bound;
        double& best = best_s.try_emplace({job.machine->name(), options}, kInfinity).first->second;
        best = std::min(best, progress.best.penalised_s);
    }
    for (ComparedCase& one : cases) one.best_known_s = best_s.at({one.labels[3], one.labels[4]});
    return cases;
}

QString runTitle(const Run& run) {
    if (!run.name().isEmpty()) return run.name();
    const AlgorithmInfo* algorithm = find_algorithm(run.request().algorithm);
    const QString title =
        QString::fromStdString(algorithm != nullptr ? algorithm->title : run.request().algorithm);
    return (run.request().predicted ? RunsText::tr("%1, zero-shot #%2") : RunsText::tr("%1 #%2"))
        .arg(title)
        .arg(run.id());
}

QString stoppedText(const QStringList& titles) {
    if (titles.isEmpty()) return {};
    if (titles.size() == 1) return RunsText::tr("%1 was stopped").arg(titles.front());
    return RunsText::tr("%1 and %2 were stopped")
        .arg(titles.first(titles.size() - 1).join(QStringLiteral(", ")), titles.back());
}

QString fruitlessText(const Run& run) {
    const std::uint64_t scored = run.progress().evaluations;
    const bool all = run.isExhausted();
    const QString placements =
        scored == 1 ? RunsText::tr("1 placement") : RunsText::tr("%L1 placements").arg(scored);
    const QString what = RunsText::tr("%1 scored %2 and found none better than the current one")
                             .arg(runTitle(run), placements);
    return all                         ? RunsText::tr("%1; it has no more placements to try.").arg(what)
           : scored <= kFewEvaluations ? RunsText::tr("%1; allow a larger budget.").arg(what)
                                       : what + QLatin1Char('.');
}

QString predictionText(const Run& run, bool shown) {
    const SearchProgress& progress = run.progress();
    const QString title = QString::fromStdString(find_algorithm(run.request().algorithm)->title);
    const QString graph = QString::fromStdString(run.job().problem->graph->name());
    const QString time =
        progress.best.fits ? secondsText(progress.best.value_s) : RunsText::tr("does not fit the memory");
    return (shown ? RunsText::tr("%1 placed %2: %3. This is now the current placement.")
                  : RunsText::tr(
                        "%1 placed %2: %3. The current placement is unchanged; double-click the run in the "
                        "Runs table to show it."))
        .arg(title, graph, time);
}

}  // namespace placewright
