// SPDX-License-Identifier: MIT
#include "app/run.hpp"

#include <algorithm>
#include <chrono>

#include "core/algorithms.hpp"
#include "core/search/proposals.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

/// The picture is redrawn at most this often while a search runs.
constexpr auto kTimelineInterval = std::chrono::milliseconds(100);

}  // namespace

Run::Run(int id, Job job, RunRequest request, QObject* parent)
    : QObject(parent), m_id(id), m_job(std::move(job)), m_request(std::move(request)) {}

Run::~Run() {
    m_thread.request_stop();
    if (m_thread.joinable()) m_thread.join();
}

void Run::start() {
    m_thread = std::jthread([this](std::stop_token stop) { search(std::move(stop)); });
}

void Run::cancel() {
    m_thread.request_stop();
}

void Run::search(std::stop_token stop) {
    Update last;
    try {
        const AlgorithmInfo* algorithm = find_algorithm(m_request.algorithm);
        if (algorithm == nullptr) throw std::runtime_error("there is no algorithm " + m_request.algorithm);
        std::vector<Placement> starts = starting_placements(m_job);
        for (const Placement& start : m_request.starts) {
            // What is there already must not change the search: the same job from the command line gives the same result.
            if (std::ranges::find(starts, start) == starts.end()) starts.push_back(start);
        }
        const auto optimizer = m_request.predicted ? propose_in_turn({*m_request.predicted})
                                                   : algorithm->make({m_job.problem, m_request.seed, std::move(starts),
                                                                      planned_evaluations(m_request.budget), m_job.goal, m_job.simulation},
                                                                     m_request.options);
        const auto evaluator = evaluator_of(m_job);

        Simulator simulator(m_job.problem, m_job.simulation);
        Clock::time_point drawn;
        const auto draw = [&](const SearchProgress& progress) {
            last.progress = progress;
            if (!progress.best_placement || (last.simulated && progress.best_placement == last.simulated->placement)) return;
            last.simulated = Simulated::make(m_job, simulator, progress.best_placement);
            drawn = Clock::now();
        };
        const auto report = [&](const SearchProgress& progress) {
            last.progress = progress;
            if (Clock::now() - drawn >= kTimelineInterval) draw(progress);
            publish(last);
        };
        const SearchResult result =
            run_search(*optimizer, *evaluator, m_request.budget, stop, report, std::chrono::milliseconds(33), &m_pause);
        draw(result.progress);
        last.end = result.end == SearchEnd::cancelled ? State::cancelled : State::finished;
    } catch (const std::exception& error) {
        last.end = State::failed;
        last.failure = QString::fromUtf8(error.what());
    }
    publish(std::move(last));
}

void Run::publish(Update update) {
    if (m_update.put(std::move(update))) QMetaObject::invokeMethod(this, &Run::receive, Qt::QueuedConnection);
}

void Run::receive() {
    Update update = m_update.take();
    m_progress = std::move(update.progress);
    m_simulated = std::move(update.simulated);
    if (update.end) {
        m_state = *update.end;
        m_failure = update.failure;
    }
    Q_EMIT progressed();
    if (update.end) Q_EMIT ended();
}

}  // namespace placewright
