// SPDX-License-Identifier: MIT
// Simulated annealing on max load or block latency that updates the value with each move, so that it tries
// millions of moves.
#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/base/sorted.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/algorithms/incremental_objective.hpp"
#include "core/search/parts/neighbourhood.hpp"
#include "core/sim/block_latency.hpp"

namespace placewright {
namespace {

struct LoadAnnealingOptions {
    std::size_t moves = 100;
    double block_moves = 0.25;
    double swaps = 0.15;
    double start_temperature = 0.015;
    double end_temperature = 0.00001;
    std::size_t cooling = 100'000;
    double growth = 1.2;
    bool fresh_starts = true;
    bool allow_cpu = true;
};

const OptionSchema<LoadAnnealingOptions>& load_annealing_schema() {
    using Options = LoadAnnealingOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("moves", &Options::moves, 1, 1e5,
                 "Number of moves per proposal, which is the best placement among them.")
            .add("block_moves", &Options::block_moves, 0, 1, kBlockMovesHelp)
            .add("swaps", &Options::swaps, 0, 1,
                 "Share of the moves that swap an op with one on its target device.")
            .add("start_temperature", &Options::start_temperature, 1e-9, 1e3,
                 "First temperature, relative to the best value found.")
            .add("end_temperature", &Options::end_temperature, 1e-9, 1e3,
                 "Last temperature, relative to the best value found.")
            .add("cooling", &Options::cooling, 1, 1e9, "Number of moves of the first cooling.")
            .add("growth", &Options::growth, 1, 100, "Factor by which each further cooling is longer.")
            .add("fresh_starts", &Options::fresh_starts,
                 "Start every other cooling at a random placement with the first temperature instead of at "
                 "the best placement with a random temperature.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Share of the single moves whose target is the device of a neighbour in the graph.
constexpr double kToNeighbour = 0.6;
/// Attempts to find an op to swap with.
constexpr int kSwapTries = 8;

/// [group]: groups that read what it produces, or produce what it reads, ascending.
std::vector<std::vector<GroupId>> neighbours_of(const Problem& problem) {
    std::vector<std::vector<GroupId>> neighbours(problem.groups);
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        const GroupId producer = problem.grouping.group_of[problem.producer[tensor]];
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
            const GroupId reader = problem.grouping.group_of[problem.consumer[i]];
            if (reader == producer) continue;
            neighbours[reader].push_back(producer);
            neighbours[producer].push_back(reader);
        }
    }
    for (std::vector<GroupId>& list : neighbours) {
        std::ranges::sort(list);
        erase_repeats(list);
    }
    return neighbours;
}

/// Kirkpatrick, Gelatt and Vecchi, Optimization by simulated annealing (1983). Memory is a hard limit: no
/// move may increase the excess. If the objective is the step time, the max load is minimised, as in
/// ideals-dp.
class LoadAnnealing final : public Optimizer {
public:
    LoadAnnealing(const SearchContext& context, const LoadAnnealingOptions& options)
        : choices_(context.problem, options.allow_cpu),
          options_(options),
          random_(context.seed),
          neighbourhood_(choices_, 1),
          neighbours_(neighbours_of(*context.problem)),
          starts_(first_placements(choices_, checked_seeds(context), "best", random_)) {
        const bool for_latency = context.objective != nullptr && context.objective->evaluate == block_latency;
        objective_ =
            for_latency ? incremental_block_latency(context.problem) : incremental_max_load(context.problem);
        cooling_ = static_cast<double>(options.cooling);
        for (const Placement& start : starts_) {
            objective_->start_at(start);
            note_best();
        }
        // Possibly no start has a value.
        if (best_.empty()) best_ = starts_.front();
        begin(false);
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (!starts_.empty()) return std::span(starts_).first(std::min(limit, starts_.size()));
        if (choices_.movable().empty()) return {};
        proposal_ = objective_->placement();
        proposal_s_ = kInfinity;
        for (std::size_t i = 0; i < options_.moves; ++i) step();
        return std::span(&proposal_, 1);
    }

    void tell(std::span<const Score> scores) override {
        if (!starts_.empty())
            starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
    }

    /// The next cooling may start at the best placement of the others.
    void learn(std::span<const Placement> placements, std::span<const Score> scores) override {
        const auto best = std::ranges::min_element(scores, {}, &Score::penalised_s);
        if (best == scores.end() || best->penalised_s >= learnt_s_) return;
        learnt_s_ = best->penalised_s;
        const Placement here = objective_->placement();
        objective_->start_at(placements[static_cast<std::size_t>(best - scores.begin())]);
        note_best();
        objective_->start_at(here);
    }

private:
    void note_best() {
        const double excess_bytes = objective_->excess_bytes();
        if (excess_bytes > best_excess_bytes_) return;
        const double value_s = objective_->value_s();
        if (excess_bytes == best_excess_bytes_ && value_s >= best_s_) return;
        best_excess_bytes_ = excess_bytes;
        best_s_ = value_s;
        best_ = objective_->placement();
    }

    void begin(bool fresh) {
        objective_->start_at(fresh ? choices_.random_placement(random_) : best_);
        energy_s_ = objective_->energy_s(kInfinity);
        excess_bytes_ = objective_->excess_bytes();
        const double span = options_.end_temperature / options_.start_temperature;
        const double start = options_.start_temperature * std::pow(span, fresh ? 0 : random_.uniform());
        temperature_s_ = start * (std::isfinite(best_s_) ? best_s_ : 1);
        decay_ = std::pow(options_.end_temperature / start, 1 / cooling_);
        left_ = cooling_;
    }

    void put(GroupId group, DeviceId device) {
        const DeviceId before = objective_->placement()[group];
        if (before == device || !choices_.allows(group, device)) return;
        changes_.emplace_back(group, before);
        objective_->move(group, device);
    }

    DeviceId device_for(GroupId group) {
        const std::vector<GroupId>& neighbours = neighbours_[group];
        if (!neighbours.empty() && random_.chance(kToNeighbour))
            return objective_->placement()[random_.pick(std::span(neighbours))];
        return choices_.random_device(group, random_);
    }

    void change() {
        changes_.clear();
        const double kind = random_.uniform();
        if (kind < options_.block_moves) {
            trial_ = objective_->placement();
            neighbourhood_.move(trial_, random_);
            for (const GroupId group : choices_.movable()) put(group, trial_[group]);
            return;
        }
        const GroupId group = random_.pick(choices_.movable());
        const DeviceId from = objective_->placement()[group], to = device_for(group);
        put(group, to);
        if (changes_.empty() || kind >= options_.block_moves + options_.swaps) return;
        for (int i = 0; i < kSwapTries; ++i) {
            const GroupId other = random_.pick(choices_.movable());
            if (other == group || objective_->placement()[other] != to) continue;
            put(other, from);
            return;
        }
    }

    bool accepts() {
        const double excess_bytes = objective_->excess_bytes();
        if (excess_bytes > excess_bytes_) return false;
        // Metropolis rule with the random number drawn first: a value above the limit need not be computed.
        const double limit_s = excess_bytes < excess_bytes_
                                   ? kInfinity
                                   : energy_s_ - temperature_s_ * std::log1p(-random_.uniform());
        const double energy_s = objective_->energy_s(limit_s);
        if (energy_s > limit_s) return false;
        energy_s_ = energy_s;
        excess_bytes_ = excess_bytes;
        return true;
    }

    void step() {
        change();
        if (!changes_.empty()) {
            if (accepts()) {
                note_best();
                if (excess_bytes_ == 0 && objective_->value_s() < proposal_s_) {
                    proposal_s_ = objective_->value_s();
                    proposal_ = objective_->placement();
                }
            } else {
                for (auto i = changes_.rbegin(); i != changes_.rend(); ++i)
                    objective_->move(i->first, i->second);
            }
        }
        temperature_s_ *= decay_;
        if (--left_ > 0) return;
        cooling_ *= options_.growth;
        begin(options_.fresh_starts && ++coolings_ % 2 == 1);
    }

    DeviceChoices choices_;
    LoadAnnealingOptions options_;
    Random random_;
    Neighbourhood neighbourhood_;
    std::vector<std::vector<GroupId>> neighbours_;  ///< [group]
    std::vector<Placement> starts_;                 ///< not yet scored
    std::unique_ptr<IncrementalObjective> objective_;
    double energy_s_ = 0, excess_bytes_ = 0;  ///< of the current placement
    std::vector<std::pair<GroupId, DeviceId>>
        changes_;  ///< of the last move: groups and their previous devices
    Placement trial_;

    double cooling_ = 0, left_ = 0;  ///< in moves
    double temperature_s_ = 0, decay_ = 1;
    std::size_t coolings_ = 0;

    Placement best_;
    double best_s_ = kInfinity, best_excess_bytes_ = kInfinity;
    double learnt_s_ = kInfinity;  ///< best score of the other searches
    Placement proposal_;
    double proposal_s_ = kInfinity;
};

}  // namespace

AlgorithmInfo load_annealing_algorithm() {
    return describe<LoadAnnealing>(
        "load-annealing", "Load annealing",
        "Simulated annealing of the max load or block latency that tries millions of moves by "
        "incremental evaluation (Kirkpatrick et al., 1983).",
        load_annealing_schema());
}

}  // namespace placewright
