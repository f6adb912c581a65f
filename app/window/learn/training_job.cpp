// SPDX-License-Identifier: MIT
#include "app/window/learn/training_job.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>

#include "core/base/path.hpp"
#include "core/graph/families.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/job/bound_tightening.hpp"
#include "core/learn/training_run.hpp"
#include "core/search/threads.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(100);

/// Options to train with: unless the user chose otherwise, the memory penalty is Placeto's, which grows with
/// the excess and so teaches more, and networks of a family are merged to the number of groups of the
/// family's source.
JobOptions training_options(const TrainingRequest& request) {
    JobOptions options = request.options;
    // Both are of the open network.
    options.supplements = {};
    options.problem.constraints = {};
    if (options.penalty == MemoryPenalty()) options.penalty.rule = MemoryRule::placeto;
    if (request.family != nullptr && request.family->groups > 0 &&
        options.problem.grouping == GroupingOptions()) {
        options.problem.grouping.rule = GroupingRule::merge;
        options.problem.grouping.merge_groups = request.family->groups;
    }
    return options;
}

}  // namespace

unsigned background_threads() {
    return std::max(1U, usable_threads(0) - 1);
}

bool TrainingRequest::continues(const TrainingRequest& before) const {
    const auto problem_of = [](const TrainingRequest& request) {
        return request.network ? request.network->problem : nullptr;
    };
    const bool same_networks =
        family != nullptr
            ? family == before.family && count == before.count && family_seed == before.family_seed
        : !folder.empty() ? folder == before.folder && before.family == nullptr
                          : network && problem_of(*this) == problem_of(before) && before.folder.empty();
    // The open network brings its machine and options.
    const bool same_conditions = network || (machine == before.machine && options == before.options);
    return same_networks && same_conditions && resumed == before.resumed && policy == before.policy &&
           values == before.values && seed == before.seed;
}

TrainingRun::TrainingRun(TrainingRequest request, QObject* parent)
    : QObject(parent), m_request(std::move(request)) {}

TrainingRun::~TrainingRun() {
    m_thread.request_stop();
    if (m_thread.joinable()) m_thread.join();
}

void TrainingRun::start(std::uint64_t updates) {
    if (m_thread.joinable()) m_thread.join();
    m_request.updates = updates;
    m_state = State::running;
    m_pause.set(false);
    m_thread = std::jthread([this, updates](std::stop_token stop) {
        give_way();
        work(std::move(stop), updates);
    });
}

void TrainingRun::stop() {
    m_thread.request_stop();
}

std::shared_ptr<const PolicyFile> TrainingRun::policy() const {
    if (!training()) return nullptr;
    PolicyFile policy{curriculum()->record, curriculum()->design, *training()};
    policy.record.planned_updates = m_request.updates;
    return std::make_shared<const PolicyFile>(std::move(policy));
}

void TrainingRun::work(std::stop_token stop, std::uint64_t updates) {
    m_now.end.reset();
    m_now.failure.clear();
    try {
        if (m_now.curriculum || load(stop)) train(stop, updates);
        m_now.end = stop.stop_requested() ? State::stopped : State::finished;
    } catch (const std::exception& error) {
        m_now.end = State::failed;
        m_now.failure = QString::fromUtf8(error.what());
    }
    publish();
}

/// Reads or makes the networks; returns false if stopped.
bool TrainingRun::load(const std::stop_token& stop) {
    Curriculum all;
    const TrainingRequest& request = m_request;
    const bool allow_cpu = allows_cpu(*request.policy, request.values);
    m_now.loaded = 0;
    const auto add = [&](std::vector<Lesson>& lessons, Job job) {
        auto graph = std::make_shared<const PolicyGraph>(job.problem, allow_cpu);
        lessons.push_back({std::move(job), std::move(graph)});
        ++m_now.loaded;
        publish();
    };
    const JobOptions options = training_options(request);
    if (request.family != nullptr) {
        const std::vector<bool> trained = training_half(request.count, request.family_seed);
        for (std::uint32_t number = 0; number < request.count && !stop.stop_requested(); ++number) {
            Graph graph = family_member(*request.family, request.family_seed, number);
            const std::string name = graph.name();
            add(trained[number] ? all.training : all.test,
                load_job(name, NetworkFile{std::move(graph), {}, {}}, request.machine, options));
        }
    } else if (!request.folder.empty()) {
        const Path folder = request.folder;
        if (!std::filesystem::is_directory(folder)) throw InputError(request.folder, "", "is not a folder");
        const bool halves = std::filesystem::is_directory(folder / "train");
        const auto add_all = [&](std::vector<Lesson>& lessons, const Path& part) {
            for (const Path& file : network_files(part)) {
                if (!stop.stop_requested()) add(lessons, load_job(file.string(), request.machine, options));
            }
        };
        add_all(all.training, halves ? folder / "train" : folder);
        if (halves && std::filesystem::is_directory(folder / "test")) add_all(all.test, folder / "test");
    } else {
        Job job = *request.network;
        job.penalty = options.penalty;
        add(all.training, std::move(job));
    }
    if (stop.stop_requested()) return false;

    complete(all, *request.policy, request.values, request.seed);
    if (request.resumed) {
        TrainingRecord found = request.resumed->record;
        found.planned_updates =
            all.record.planned_updates;  // learning rates follow the new number of updates
        if (const std::string other = difference(found, all.record); !other.empty())
            throw std::runtime_error("the policy file is of another training: " + other +
                                     "; choose the settings it was trained with");
    }
    for (const Lesson& lesson : all.training)
        m_evaluators.push_back(evaluator_of(lesson.job, background_threads()));
    m_now.curriculum = std::make_shared<const Curriculum>(std::move(all));
    return true;
}

void TrainingRun::train(const std::stop_token& stop, std::uint64_t updates) {
    const Curriculum& all = *m_now.curriculum;
    if (!m_trainer || m_planned != updates) {
        // Learning rates follow the new number of updates; all other state is kept.
        std::optional<TrainingState> before;
        if (m_trainer) before = m_trainer->state();
        m_trainer.emplace(all.design.policy, all.design.training, all.graphs(), all.record.seed, updates,
                          background_threads());
        if (!before && m_request.resumed) before = m_request.resumed->state;
        if (before) m_trainer->restore(*std::move(before));
        m_planned = updates;
    }
    const auto begin = Clock::now();
    const std::uint64_t first = m_trainer->state().updates;
    double held_s = 0;
    Clock::time_point published;
    const auto share = [&] {
        if (m_trainer->state().updates > 0)
            m_now.training = std::make_shared<const TrainingState>(m_trainer->state());
    };
    const auto report = [&](const TrainingState& state, double) {
        const double spent_s = std::chrono::duration<double>(Clock::now() - begin).count() - held_s;
        m_now.eta_s = spent_s / static_cast<double>(state.updates - first) *
                      static_cast<double>(updates - std::min(updates, state.updates));
        if (Clock::now() - published >= kInterval || m_pause.paused()) {
            share();
            publish();
            published = Clock::now();
        }
        held_s += m_pause.wait(stop);
    };
    try {
        run_training(*m_trainer, m_evaluators, {.updates = updates}, stop, report);
    } catch (...) {
        share();  // keeps the state before the error
        throw;
    }
    share();
}

void TrainingRun::publish() {
    if (m_update.put(m_now)) QMetaObject::invokeMethod(this, &TrainingRun::receive, Qt::QueuedConnection);
}

void TrainingRun::receive() {
    m_shown = m_update.take();
    if (m_shown.end) m_state = *m_shown.end;
    Q_EMIT progressed();
    if (m_shown.end) Q_EMIT ended();
}

}  // namespace placewright
