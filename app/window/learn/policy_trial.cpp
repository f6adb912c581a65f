// SPDX-License-Identifier: MIT
#include "app/window/learn/policy_trial.hpp"

#include <algorithm>

#include <QObject>

#include "core/learn/training_run.hpp"

namespace placewright {
namespace {

constexpr int kRandomPlacements = 10;

CdfData data_of(std::span<const Lesson> lessons, std::initializer_list<QString> schemes) {
    CdfData data;
    data.rows = QObject::tr("Placement");
    for (const Lesson& lesson : lessons) {
        data.graphs.push_back({QString::fromStdString(lesson.job.problem->graph->name()),
                               lesson.job.single_device_fits ? lesson.job.single_device_s : 0});
    }
    for (const QString& title : schemes) data.schemes.push_back({title, {}, 1});
    return data;
}

}  // namespace

CdfData test_policy(const PolicyFile& policy, std::span<const Lesson> lessons, std::stop_token stop,
                    const CdfCallback& report) {
    const PolicyDesign& design = policy.design;
    CdfData data = data_of(lessons, {QObject::tr("Zero-shot"), QObject::tr("Best of episode"),
                                     QObject::tr("Random"), QObject::tr("One device")});
    if (!design.policy->improves()) data.schemes.erase(data.schemes.begin() + 1);
    data.schemes[data.schemes.size() - 2].values_per_graph = kRandomPlacements;
    Random random(policy.record.seed);
    for (std::size_t i = 0; i < lessons.size() && !stop.stop_requested(); ++i) {
        const Lesson& lesson = lessons[i];
        // Random placements first, then those along the episode; the last one is the policy's final
        // placement.
        std::vector<Placement> placements;
        for (int j = 0; j < kRandomPlacements; ++j)
            placements.push_back(
                obeying(*lesson.job.problem, lesson.graph->choices.random_placement(random)));
        const Rollout rollout =
            predict_placement(*design.policy, policy.state.weights, *lesson.graph, design.training.passes);
        if (design.policy->improves()) {
            for (Placement& placement : placements_along(*lesson.graph, rollout))
                placements.push_back(std::move(placement));
        } else {
            placements.push_back(last_placement(*lesson.graph, rollout));
        }
        std::vector<Score> scores(placements.size());
        if (!evaluator_of(lesson.job, background_threads())->evaluate(placements, scores, stop)) break;

        const auto add = [&](CdfScheme& scheme, const Score& score) {
            scheme.values.push_back({i, score.value_s, score.fits});
        };
        const std::span along = std::span(scores).subspan(kRandomPlacements);
        add(data.schemes.front(), along.back());
        if (design.policy->improves())
            add(data.schemes[1], *std::ranges::min_element(along, {}, &Score::penalised_s));
        for (const Score& score : std::span(scores).first(kRandomPlacements))
            add(data.schemes[data.schemes.size() - 2], score);
        data.schemes.back().values.push_back({i, lesson.job.single_device_s, lesson.job.single_device_fits});
        report(data);
    }
    return data;
}

CdfData optimize_each(const PolicyFile& policy, std::span<const Lesson> lessons, std::uint64_t updates,
                      std::stop_token stop, const CdfCallback& report) {
    CdfData data = data_of(lessons, {QObject::tr("Optimized")});
    for (std::size_t i = 0; i < lessons.size() && !stop.stop_requested(); ++i) {
        const Lesson& lesson = lessons[i];
        const Problem& problem = *lesson.job.problem;
        Trainer trainer(policy.design.policy, policy.design.training,
                        {{problem.graph->name(), lesson.graph, reference_s(problem)}}, policy.record.seed,
                        updates, background_threads());
        std::vector<std::unique_ptr<Evaluator>> evaluators;
        evaluators.push_back(evaluator_of(lesson.job, background_threads()));
        if (!run_training(trainer, evaluators, {.updates = updates}, stop)) break;
        const Score& best = trainer.state().best.front().score;
        data.schemes.front().values.push_back({i, best.value_s, best.fits});
        report(data);
    }
    return data;
}

}  // namespace placewright
