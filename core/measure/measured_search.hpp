// SPDX-License-Identifier: MIT
// Searches on hardware: placements that are scored by running them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/measure/measurement.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/optimizer.hpp"
#include "core/search/search.hpp"

namespace placewright {

/// Best placements from which a search goes on on hardware.
inline constexpr std::uint32_t kMeasuredStarts = 10;

/// A placement that was run.
struct MeasuredPlacement {
    Placement placement;
    double simulated_s = 0;
    Score score;                          ///< of the median step, with the penalty for memory
    std::optional<Spread> step;           ///< nothing if the memory was exceeded before a step ended
    std::string warning{};                ///< Measurement::noise_warning()
    bool cores_for_accelerators = false;  ///< as in Measurement
};

/// Called after each placement.
using MeasuredCallback = std::function<void(const MeasuredPlacement&)>;

/// Runs a placement, as measure() does, and throws what it throws.
using PlacementRunner = std::function<std::optional<Measurement>(
    const std::shared_ptr<const Problem>& problem, std::span<const DeviceId> placement,
    std::span<const PhysicalDevice> devices, const MeasureOptions& options, std::stop_token stop)>;

/// Scores placements by running them, one after the other; the objective is the step time. A placement that
/// runs out of memory, or uses more than a device's limit, is scored by the penalty for what the simulation
/// says it needs, at least one byte more than the limit. A placement that was run before, or is in `known`,
/// keeps its score. `runner` takes the place of measure(). Throws MeasureError.
std::unique_ptr<Evaluator> measured_evaluator(std::shared_ptr<const Problem> problem,
                                              std::span<const PhysicalDevice> devices,
                                              const MeasureOptions& options, const MemoryPenalty& penalty,
                                              MeasuredCallback report = {},
                                              std::span<const MeasuredPlacement> known = {},
                                              PlacementRunner runner = {});

/// A placement with its score in a search.
struct ScoredPlacement {
    Score score;
    Placement placement;
};

/// Passes placements on to another evaluator and keeps the best of them, each once.
class BestPlacements : public Evaluator {
public:
    BestPlacements(std::unique_ptr<Evaluator> evaluator, std::size_t most);

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases = {}) override;
    bool evaluate_stream(PlacementStream& stream, std::stop_token stop) override;
    bool streams_in_batches() const override { return evaluator_->streams_in_batches(); }
    std::uint64_t runs() const override { return evaluator_->runs(); }
    DeltaUse delta_use() const override { return evaluator_->delta_use(); }
    Workers* workers() override { return evaluator_->workers(); }

    /// Best first.
    const std::vector<ScoredPlacement>& best() const { return best_; }
    std::vector<Placement> placements() const;

private:
    void add(const Placement& placement, const Score& score);

    std::unique_ptr<Evaluator> evaluator_;
    std::size_t most_;
    std::vector<ScoredPlacement> best_;  ///< ascending in score.penalised_s
};

/// The placements of a search that are worth measuring, best first: the elites of its archive, where the
/// algorithm keeps one (else null), otherwise the best that were scored, which ascend in their penalised
/// score. `result`, the placement that the search returns, is among them, also where it is neither; null: it
/// returned none.
std::vector<ScoredPlacement> candidates(const ArchiveView* archive, std::span<const ScoredPlacement> scored,
                                        const ScoredPlacement* result, std::size_t most);
/// The same while a search may go on: without the placement that it returns.
std::vector<Placement> candidates(const Optimizer& optimizer, const BestPlacements& scored, std::size_t most);

/// Runs placements and returns those that were run, the fastest that fits first. May be incomplete if `stop`
/// was requested. E4 of Lagostra's thesis (2020): the simulator chooses the candidates and the hardware the
/// winner.
std::vector<MeasuredPlacement> measure_placements(
    const std::shared_ptr<const Problem>& problem, std::span<const Placement> placements,
    std::span<const PhysicalDevice> devices, const MeasureOptions& options, const MemoryPenalty& penalty,
    std::stop_token stop = {}, const MeasuredCallback& report = {}, const PlacementRunner& runner = {});

/// Goes on with a search whose first part was simulated: the algorithm starts again from `starts`, its best
/// placements so far, and proposes `evaluations` more; all of them are run, except those in `known`, which
/// were run before. It runs at most `evaluations` placements besides the starts, whatever the algorithm makes
/// of these. Where the algorithm has a "population_size" that `values` do not set, it is the number of
/// starts, if they are enough for its elite: a measurement is too dear to fill a population at random.
/// Returns as measure_placements() does, with the starts and `known`.
std::vector<MeasuredPlacement> continue_measured(
    const std::shared_ptr<const Problem>& problem, const AlgorithmInfo& algorithm, const OptionValues& values,
    std::uint64_t seed, std::span<const Placement> starts, std::uint64_t evaluations,
    std::span<const PhysicalDevice> devices, const MeasureOptions& options, const MemoryPenalty& penalty,
    std::stop_token stop = {}, const MeasuredCallback& report = {},
    std::span<const MeasuredPlacement> known = {}, const PlacementRunner& runner = {});

}  // namespace placewright
