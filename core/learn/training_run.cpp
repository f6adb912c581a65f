// SPDX-License-Identifier: MIT
#include "core/learn/training_run.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace placewright {
namespace {

/// Returns the scores by episode; nothing if stopped. Placements of a graph are scored together, so that they
/// share the threads.
std::optional<std::vector<std::vector<Score>>> scores_of(
    std::span<const Episode> episodes, std::span<const std::unique_ptr<Evaluator>> evaluators,
    const std::stop_token& stop) {
    std::vector<std::vector<Score>> scores(episodes.size());
    for (std::size_t graph = 0; graph < evaluators.size(); ++graph) {
        std::vector<Placement> batch;
        for (const Episode& episode : episodes) {
            if (episode.graph == graph)
                batch.insert(batch.end(), episode.placements.begin(), episode.placements.end());
        }
        if (batch.empty()) continue;
        std::vector<Score> all(batch.size());
        if (!evaluators[graph]->evaluate(batch, all, stop)) return {};
        auto next = all.begin();
        for (std::size_t i = 0; i < episodes.size(); ++i) {
            if (episodes[i].graph != graph) continue;
            const auto end = next + static_cast<std::ptrdiff_t>(episodes[i].placements.size());
            scores[i].assign(next, end);
            next = end;
        }
    }
    return scores;
}

/// Returns the decision of the first peer.
bool agreed(TrainingPeers* peers, bool proceed) {
    if (peers == nullptr) return proceed;
    return peers->exchange({std::byte{proceed}}).front().front() != std::byte{0};
}

}  // namespace

bool run_training(Trainer& trainer, std::span<const std::unique_ptr<Evaluator>> evaluators,
                  const TrainingBudget& budget, std::stop_token stop, const TrainingCallback& report) {
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t before = trainer.state().updates;
    const auto elapsed_s = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const auto proceed = [&] {
        return !stop.stop_requested() && trainer.state().updates < budget.updates &&
               elapsed_s() < budget.seconds;
    };
    while (agreed(trainer.peers(), proceed())) {
        const std::span<const Episode> episodes = trainer.begin(stop);
        if (stop.stop_requested()) return false;
        const auto scores = scores_of(episodes, evaluators, stop);
        if (!scores) return false;
        trainer.finish(*scores);
        if (!report) continue;
        const double spent_s = elapsed_s();
        const auto done = static_cast<double>(trainer.state().updates - before);
        const auto left =
            static_cast<double>(budget.updates - std::min(budget.updates, trainer.state().updates));
        report(trainer.state(), std::max(0.0, std::min(budget.seconds - spent_s, spent_s / done * left)));
    }
    return !stop.stop_requested();
}

}  // namespace placewright
