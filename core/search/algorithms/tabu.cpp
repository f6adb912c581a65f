// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/neighbourhood.hpp"
#include "core/search/parts/variation.hpp"

namespace placewright {
namespace {

struct TabuOptions {
    std::string start = "best";
    std::size_t sample = 32;
    double block_moves = 0.5;
    std::size_t tenure = 3;
    bool aspiration = true;
    std::size_t patience = 100;
    std::size_t kick = 5;
    bool fresh_starts = true;
    std::size_t restarts = 1'000'000;
    bool allow_cpu = false;
};

const OptionSchema<TabuOptions>& tabu_schema() {
    using Options = TabuOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("start", &Options::start, kStartNames, kStartHelp)
            .add("sample", &Options::sample, 0, 1e6,
                 "Random neighbours per step, of which the best is taken; 0: all moves of one op, and no "
                 "block moves.")
            .add("block_moves", &Options::block_moves, 0, 1, kBlockMovesHelp)
            .add("tenure", &Options::tenure, 0, 1e9,
                 "Steps for which an op may not return to a device that it left; at random up to twice as "
                 "many.")
            .add("aspiration", &Options::aspiration,
                 "Accept a forbidden move if it gives the best placement so far.")
            .add("patience", &Options::patience, 1, 1e9, "Steps without a better placement before a restart.")
            .add("kick", &Options::kick, 1, 1e6, "Random moves from the best placement at a restart.")
            .add("fresh_starts", &Options::fresh_starts, "Restart at a random placement every other time.")
            .add("restarts", &Options::restarts, 0, 1e9, "Maximum number of restarts; then the search ends.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Glover, Tabu search, part I (1989): moves to the best neighbour, better or worse, that does not undo a
/// recent step.
class Tabu final : public Optimizer {
public:
    Tabu(const SearchContext& context, const TabuOptions& options)
        : choices_(context.problem, options.allow_cpu),
          options_(options),
          random_(context.seed),
          neighbourhood_(choices_, options.sample == 0 ? 0 : options.block_moves),
          starts_(first_placements(choices_, checked_seeds(context), options.start, random_)),
          tabu_until_(std::size_t{choices_.groups()} * context.problem->devices, 0) {}

    std::span<const Placement> ask(std::size_t limit) override {
        for_each(begin_ask(limit), [&](std::size_t i) { make(i); });
        return asked();
    }

    std::size_t begin_ask(std::size_t limit) override {
        if (!starts_.empty()) return asked_ = std::min(limit, starts_.size());
        if (ended_ || choices_.movable().empty()) return asked_ = 0;
        if (scored_ == count()) propose();
        asked_ = std::min(limit, count() - scored_);
        if (neighbours_.size() < asked_) neighbours_.resize(asked_);
        return asked_;
    }

    void make(std::size_t i) override {
        if (!starts_.empty()) return;
        Placement& neighbour = neighbours_[i];
        neighbour = current_;
        if (options_.sample == 0) {
            const Move& move = moves_[scored_ + i];
            neighbour[move.group] = move.device;
        } else {
            Random own(seeds_[scored_ + i]);
            neighbourhood_.move(neighbour, own);
        }
    }

    std::span<const Placement> asked() const override {
        return std::span(starts_.empty() ? neighbours_ : starts_).first(asked_);
    }

    const Placement* base(std::size_t /*i*/) const override { return starts_.empty() ? &current_ : nullptr; }

    void tell(std::span<const Score> scores) override {
        if (!starts_.empty()) {
            tell_starts(scores);
            return;
        }
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores[i].penalised_s >= next_s_ ||
                (is_tabu(neighbours_[i]) && !(options_.aspiration && scores[i].penalised_s < best_s_)))
                continue;
            next_ = neighbours_[i];
            next_s_ = scores[i].penalised_s;
        }
        scored_ += scores.size();
        if (scored_ == count()) step();
    }

    void learn(std::span<const Placement> placements, std::span<const Score> scores) override {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores[i].penalised_s >= best_s_) continue;
            current_ = placements[i];
            current_s_ = scores[i].penalised_s;
            moves_.clear();
            seeds_.clear();
            scored_ = 0;
            note_best();
        }
    }

private:
    void tell_starts(std::span<const Score> scores) {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores[i].penalised_s < current_s_) {
                current_ = starts_[i];
                current_s_ = scores[i].penalised_s;
            }
        }
        starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
        note_best();
    }

    void note_best() {
        if (current_s_ >= best_s_) return;
        best_ = current_;
        best_s_ = current_s_;
        best_step_ = step_;
    }

    void propose() {
        scored_ = 0;
        next_s_ = kInfinity;
        if (options_.sample > 0) {
            seeds_.resize(options_.sample);
            for (std::uint64_t& seed : seeds_) seed = random_.bits();
            return;
        }
        moves_.clear();
        for (const GroupId group : choices_.movable()) {
            for (const DeviceId device : choices_.of(group)) {
                if (device != current_[group]) moves_.push_back({group, device});
            }
        }
    }

    /// Neighbours of this step.
    std::size_t count() const { return options_.sample == 0 ? moves_.size() : seeds_.size(); }

    std::size_t& tabu_until(GroupId group, DeviceId device) {
        return tabu_until_[std::size_t{group} * choices_.problem().devices + device];
    }

    /// Returns whether a group would return to a device that it left recently.
    bool is_tabu(const Placement& placement) {
        for (const GroupId group : choices_.movable()) {
            if (placement[group] != current_[group] && tabu_until(group, placement[group]) > step_)
                return true;
        }
        return false;
    }

    /// Moves to the best neighbour, if any is allowed.
    void step() {
        ++step_;
        if (next_s_ < kInfinity) {
            const std::size_t until = step_ + options_.tenure + random_.index(options_.tenure + 1);
            for (const GroupId group : choices_.movable()) {
                if (next_[group] != current_[group]) tabu_until(group, current_[group]) = until;
            }
            current_ = next_;
            current_s_ = next_s_;
            note_best();
        }
        if (step_ - best_step_ >= options_.patience) start_anew();
    }

    void start_anew() {
        if (restarted_++ == options_.restarts) {
            ended_ = true;
            return;
        }
        best_step_ = step_;
        std::fill(tabu_until_.begin(), tabu_until_.end(), std::size_t{0});
        starts_ = {options_.fresh_starts && restarted_ % 2 == 1 ? choices_.random_placement(random_)
                                                                : kicked_best()};
        current_s_ = kInfinity;
    }

    Placement kicked_best() {
        Placement kicked = best_;
        for (std::size_t i = 0; i < options_.kick; ++i) neighbourhood_.move(kicked, random_);
        return kicked;
    }

    DeviceChoices choices_;
    TabuOptions options_;
    Random random_;
    Neighbourhood neighbourhood_;
    std::vector<Placement> starts_;  ///< not yet scored
    Placement current_, best_;
    double current_s_ = kInfinity, best_s_ = kInfinity;
    std::vector<std::size_t>
        tabu_until_;  ///< [group * devices + device]: the step from which the group may go there again
    std::size_t step_ = 0, best_step_ = 0, restarted_ = 0;
    bool ended_ = false;

    std::vector<Move> moves_;            ///< [neighbour] of all moves of one op
    std::vector<std::uint64_t> seeds_;   ///< [neighbour] of random ones
    std::vector<Placement> neighbours_;  ///< those asked for: all of them would need too much memory
    std::size_t scored_ = 0, asked_ = 0;
    Placement next_;  ///< best allowed neighbour scored so far
    double next_s_ = kInfinity;
};

}  // namespace

AlgorithmInfo tabu_algorithm() {
    return describe<Tabu>(
        "tabu", "Tabu search",
        "Moves to the best neighbour, even a worse one, but not back to devices that ops left recently "
        "(Glover, 1989).",
        tabu_schema());
}

}  // namespace placewright
