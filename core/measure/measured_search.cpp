// SPDX-License-Identifier: MIT
#include "core/measure/measured_search.hpp"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "core/base/sorted.hpp"
#include "core/search/score_cache.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {
namespace {

class MeasuredEvaluator : public Evaluator {
public:
    MeasuredEvaluator(std::shared_ptr<const Problem> problem, std::span<const PhysicalDevice> devices,
                      const MeasureOptions& options, const MemoryPenalty& penalty, MeasuredCallback report,
                      std::span<const MeasuredPlacement> known, PlacementRunner runner)
        : problem_(std::move(problem)),
          devices_(devices.begin(), devices.end()),
          options_(options),
          penalty_(penalty),
          report_(std::move(report)),
          runner_(std::move(runner)),
          simulator_(problem_) {
        for (const MeasuredPlacement& each : known) {
            Score score = each.score;
            cache_.look_up({&each.placement, 1}, {&score, 1});
            cache_.keep({&score, 1});
        }
        if (runner_) return;
        runner_ = [](const std::shared_ptr<const Problem>& of, std::span<const DeviceId> placement,
                     std::span<const PhysicalDevice> on, const MeasureOptions& how,
                     std::stop_token stop) { return measure(of, placement, on, how, std::move(stop)); };
    }

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases) override {
        for (const ScoreCache::Fresh& fresh : cache_.look_up(placements, scores)) {
            if (stop.stop_requested() || !run(placements[fresh.index], scores[fresh.index], stop))
                return false;
        }
        cache_.keep(scores);
        return true;
    }

    std::uint64_t runs() const override { return runs_; }

private:
    bool run(const Placement& placement, Score& score, const std::stop_token& stop) {
        Outcome outcome = simulator_.run(placement);
        MeasuredPlacement measured{placement, outcome.step_time_s, {}, std::nullopt};
        try {
            const auto measurement = runner_(problem_, placement, devices_, options_, stop);
            if (!measurement) return false;
            measured.step = measurement->step;
            measured.warning = measurement->noise_warning();
            measured.cores_for_accelerators = measurement->cores_for_accelerators;
            outcome.step_time_s = outcome.total_time_s = measurement->step.median_s;
            outcome.peak_bytes = measurement->run.peak_bytes;
            outcome.fits = measurement->fits;
        } catch (const OutOfMemory& error) {
            double& peak = outcome.peak_bytes[error.device()];
            peak = std::max(peak, problem_->memory_limit_bytes[error.device()] + 1);
            outcome.fits = false;
        }
        score = measured.score = penalty_.score(*problem_, outcome);
        ++runs_;
        if (report_) report_(measured);
        return true;
    }

    std::shared_ptr<const Problem> problem_;
    std::vector<PhysicalDevice> devices_;
    MeasureOptions options_;
    MemoryPenalty penalty_;
    MeasuredCallback report_;
    PlacementRunner runner_;
    Simulator simulator_;
    ScoreCache cache_;
    std::uint64_t runs_ = 0;
};

double penalised_s(const ScoredPlacement& each) {
    return each.score.penalised_s;
}

/// Adds each placement to a list before it is reported.
MeasuredCallback collected_in(std::vector<MeasuredPlacement>& measured, const MeasuredCallback& report) {
    return [&](const MeasuredPlacement& each) {
        measured.push_back(each);
        if (report) report(each);
    };
}

/// `values`, with a population of `size` placements where the algorithm has one and can do with so few.
OptionValues with_population(const AlgorithmInfo& algorithm, OptionValues values, std::size_t size) {
    const auto option = [&](const char* name) {
        return std::ranges::find(algorithm.options, name, &OptionInfo::name);
    };
    const auto population = option("population_size"), elite = option("elite_size");
    if (population == algorithm.options.end() || elite == algorithm.options.end()) return values;
    const auto wanted = static_cast<std::int64_t>(size);
    const auto kept = values.find("elite_size");
    const OptionValue& elite_size = kept != values.end() ? kept->second : elite->default_value;
    if (wanted >= 2 && wanted > std::get<std::int64_t>(elite_size)) values.emplace("population_size", wanted);
    return values;
}

void sort_by_score(std::vector<MeasuredPlacement>& measured) {
    std::ranges::stable_sort(measured, {},
                             [](const MeasuredPlacement& each) { return each.score.penalised_s; });
}

}  // namespace

std::unique_ptr<Evaluator> measured_evaluator(std::shared_ptr<const Problem> problem,
                                              std::span<const PhysicalDevice> devices,
                                              const MeasureOptions& options, const MemoryPenalty& penalty,
                                              MeasuredCallback report,
                                              std::span<const MeasuredPlacement> known,
                                              PlacementRunner runner) {
    return std::make_unique<MeasuredEvaluator>(std::move(problem), devices, options, penalty,
                                               std::move(report), known, std::move(runner));
}

BestPlacements::BestPlacements(std::unique_ptr<Evaluator> evaluator, std::size_t most)
    : evaluator_(std::move(evaluator)), most_(most) {}

bool BestPlacements::evaluate(std::span<const Placement> placements, std::span<Score> scores,
                              std::stop_token stop, Bases bases) {
    if (!evaluator_->evaluate(placements, scores, std::move(stop), bases)) return false;
    for (std::size_t k = 0; k < placements.size(); ++k) add(placements[k], scores[k]);
    return true;
}

bool BestPlacements::evaluate_stream(PlacementStream& stream, std::stop_token stop) {
    CountingStream counted(stream, [this](const Scored& scored) { add(*scored.placement, scored.score); });
    return evaluator_->evaluate_stream(counted, std::move(stop));
}

void BestPlacements::add(const Placement& placement, const Score& score) {
    if (best_.size() >= most_ && score.penalised_s >= best_.back().score.penalised_s) return;
    const auto equal = section_of(best_, score.penalised_s, penalised_s);
    if (std::ranges::find(equal, placement, &ScoredPlacement::placement) != equal.end()) return;
    best_.insert(equal.end(), {score, placement});
    if (best_.size() > most_) best_.pop_back();
}

std::vector<Placement> BestPlacements::placements() const {
    std::vector<Placement> result;
    for (const ScoredPlacement& each : best_) result.push_back(each.placement);
    return result;
}

std::vector<ScoredPlacement> candidates(const ArchiveView* archive, std::span<const ScoredPlacement> scored,
                                        const ScoredPlacement* result, std::size_t most) {
    std::vector<ScoredPlacement> best;
    if (archive == nullptr || archive->elites.empty()) {
        scored = scored.first(std::min(scored.size(), most));
        best.assign(scored.begin(), scored.end());
    } else {
        std::vector<ArchiveView::Elite> elites = archive->elites;
        std::ranges::stable_sort(elites, {},
                                 [](const ArchiveView::Elite& elite) { return elite.score.penalised_s; });
        elites.resize(std::min(elites.size(), most));
        for (const ArchiveView::Elite& elite : elites) best.push_back({elite.score, *elite.placement});
    }
    if (result == nullptr || most == 0 ||
        std::ranges::find(best, result->placement, &ScoredPlacement::placement) != best.end())
        return best;
    if (best.size() == most) best.pop_back();
    best.insert(std::ranges::upper_bound(best, result->score.penalised_s, {}, penalised_s), *result);
    return best;
}

std::vector<Placement> candidates(const Optimizer& optimizer, const BestPlacements& scored,
                                  std::size_t most) {
    const auto archive = optimizer.archive();
    std::vector<Placement> result;
    for (ScoredPlacement& each : candidates(archive.get(), scored.best(), nullptr, most))
        result.push_back(std::move(each.placement));
    return result;
}

std::vector<MeasuredPlacement> measure_placements(const std::shared_ptr<const Problem>& problem,
                                                  std::span<const Placement> placements,
                                                  std::span<const PhysicalDevice> devices,
                                                  const MeasureOptions& options, const MemoryPenalty& penalty,
                                                  std::stop_token stop, const MeasuredCallback& report,
                                                  const PlacementRunner& runner) {
    std::vector<MeasuredPlacement> measured;
    const auto evaluator =
        measured_evaluator(problem, devices, options, penalty, collected_in(measured, report), {}, runner);
    std::vector<Score> scores(placements.size());
    evaluator->evaluate(placements, scores, std::move(stop));
    sort_by_score(measured);
    return measured;
}

std::vector<MeasuredPlacement> continue_measured(
    const std::shared_ptr<const Problem>& problem, const AlgorithmInfo& algorithm, const OptionValues& values,
    std::uint64_t seed, std::span<const Placement> starts, std::uint64_t evaluations,
    std::span<const PhysicalDevice> devices, const MeasureOptions& options, const MemoryPenalty& penalty,
    std::stop_token stop, const MeasuredCallback& report, std::span<const MeasuredPlacement> known,
    const PlacementRunner& runner) {
    std::vector<MeasuredPlacement> measured(known.begin(), known.end());
    const auto is_start = [&](const Placement& placement) {
        return std::ranges::find(starts, placement) != starts.end();
    };
    // Ends the search with its last placement, also if the algorithm does not begin with the starts.
    std::stop_source enough;
    const std::stop_callback cancelled(stop, [&] { enough.request_stop(); });
    std::uint64_t proposed = 0;
    const MeasuredCallback counted = [&](const MeasuredPlacement& each) {
        if (!is_start(each.placement) && ++proposed == evaluations) enough.request_stop();
        if (report) report(each);
    };
    const auto evaluator = measured_evaluator(problem, devices, options, penalty,
                                              collected_in(measured, counted), known, runner);
    const std::uint64_t all = starts.size() + evaluations;
    const auto optimizer = algorithm.make({problem, seed, {starts.begin(), starts.end()}, all, nullptr, {}},
                                          with_population(algorithm, values, starts.size()));
    run_search(*optimizer, *evaluator, {all}, enough.get_token());
    sort_by_score(measured);
    return measured;
}

}  // namespace placewright
