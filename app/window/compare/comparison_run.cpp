// SPDX-License-Identifier: MIT
#include "app/window/compare/comparison_run.hpp"

#include <algorithm>
#include <numeric>

#include "core/io/state/score_file.hpp"
#include "core/job/bound_tightening.hpp"

namespace placewright {
namespace {

/// Inserts the run in the order of compare(): by contestant, then by seed.
void insert(std::vector<ComparedRun>& runs, const ComparedRun& run) {
    const auto key = [](const ComparedRun& each) { return std::pair(each.contestant, each.seed); };
    runs.insert(std::ranges::upper_bound(runs, key(run), {}, key), run);
}

ComparisonRequest request_of(const Objective& objective, const std::vector<ComparedCase>& cases) {
    ComparisonRequest request;
    request.options.objective = &objective;
    if (!cases.empty()) request.contestants = cases.front().contestants;
    return request;
}

}  // namespace

ComparisonRun::ComparisonRun(const Objective& objective, const std::vector<ComparedCase>& cases, QString file,
                             std::size_t rows, QObject* parent)
    : QObject(parent), m_request(request_of(objective, cases)), m_file(std::move(file)), m_rows(rows) {
    for (const ComparedCase& compared : cases) {
        m_shown.finished += compared.runs.size();
        m_shown.cases.push_back(
            std::make_shared<const CaseOnItsWay>(CaseOnItsWay{nullptr, compared, {}, {}}));
    }
    m_shown.end = State::finished;
}

ComparisonRun::ComparisonRun(ComparisonRequest request, QObject* parent)
    : QObject(parent), m_request(std::move(request)) {}

ComparisonRun::~ComparisonRun() {
    m_thread.request_stop();
    if (m_thread.joinable()) m_thread.join();
}

void ComparisonRun::start() {
    m_thread = std::jthread([this](std::stop_token stop) {
        give_way();
        work(std::move(stop));
    });
}

void ComparisonRun::cancel() {
    m_thread.request_stop();
}

void ComparisonRun::work(std::stop_token stop) {
    Update update;
    try {
        for (const std::string& network : m_request.networks) {
            for (const std::string& machine : m_request.machines) {
                if (!stop.stop_requested()) compareCase(network, machine, stop, update);
            }
        }
        update.end = stop.stop_requested() ? State::cancelled : State::finished;
    } catch (const std::exception& error) {
        update.end = State::failed;
        update.failure = QString::fromUtf8(error.what());
    }
    publish(std::move(update));
}

void ComparisonRun::compareCase(const std::string& network, const std::string& machine, std::stop_token stop,
                                Update& update) {
    const std::size_t before = update.finished;
    const std::size_t of_case = m_request.contestants.size() * m_request.seeds;
    CaseOnItsWay item;
    item.compared.labels = {network, machine};
    item.compared.contestants = m_request.contestants;
    const auto show = [&] { update.cases.back() = std::make_shared<const CaseOnItsWay>(item); };
    update.cases.push_back(nullptr);
    try {
        JobOptions options = m_request.options;
        if (network != m_request.supplemented) {
            options.supplements = {};
            options.problem.constraints = {};
        }
        item.job = std::make_shared<const Job>(load_job(network, machine, options));
    } catch (const std::exception& error) {
        item.failure = QString::fromUtf8(error.what());
        item.compared.title = network + " on " + machine;
        show();
        update.finished = before + of_case;
        return publish(update);
    }
    const Job& job = *item.job;
    // A workload brings its own machine.
    item.compared.labels = {job.problem->graph->name(), job.machine->name()};
    item.compared.title = item.compared.labels[0] + " on " + item.compared.labels[1];
    item.compared.objective = job.objective;
    item.fingerprint = problem_fingerprint(*job.problem);
    if (job.single_device_fits) item.compared.one_device_s = job.single_device_s;
    item.compared.bound = tightest_bound(job);
    show();
    publish(update);

    ComparisonTask task{
        job.problem, job.simulation,       job.penalty, starting_placements(job), m_request.contestants,
        {},          m_request.evaluations};
    task.objective = job.objective;
    task.seeds.resize(m_request.seeds);
    std::iota(task.seeds.begin(), task.seeds.end(), 1);
    const std::size_t cases_left =
        m_request.networks.size() * m_request.machines.size() - update.cases.size();
    compare(task, stop, [&](const ComparisonProgress& progress) {
        if (progress.just_ended != nullptr) {
            insert(item.compared.runs, *progress.just_ended);
            item.compared.best_known_s = best_score_s(item.compared.runs);
            show();
        }
        update.finished = before + progress.finished;
        update.remaining_s =
            progress.eta_s + static_cast<double>(cases_left) * (progress.elapsed_s + progress.eta_s);
        publish(update);
    });
    mark_equal(item.compared, job.problem, job.simulation);
    show();
    publish(update);
}

void ComparisonRun::publish(Update update) {
    if (m_update.put(std::move(update)))
        QMetaObject::invokeMethod(this, &ComparisonRun::receive, Qt::QueuedConnection);
}

void ComparisonRun::receive() {
    m_shown = m_update.take();
    Q_EMIT progressed();
    if (m_shown.end) Q_EMIT ended();
}

}  // namespace placewright
