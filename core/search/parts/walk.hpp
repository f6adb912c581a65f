// SPDX-License-Identifier: MIT
// Searches that repeatedly step from a placement to one of its neighbours (simulated annealing, MCMC).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/search/parts/neighbourhood.hpp"
#include "core/search/streamed_optimizer.hpp"

namespace placewright {

/// Starts at the best of first_placements(), then takes one step after the other: a neighbour of the current
/// placement is scored, and accepted or not. Other threads score the neighbours of the next steps meanwhile,
/// as they are if none is accepted before them; those behind an accepted one are dropped. Every step has
/// random numbers of its own, so the walk does not depend on how many are scored ahead.
class Walk : public StreamedOptimizer {
public:
    Walk(const SearchContext& context, bool allow_cpu, const std::string& start, double block_moves,
         bool learn_moves)
        : choices_(context.problem, allow_cpu),
          random_(context.seed),
          neighbourhood_(choices_, learn_moves ? 1 : block_moves, learn_moves ? context.guide : nullptr),
          starts_(first_placements(choices_, checked_seeds(context), start, random_)),
          steps_seed_(random_.bits()) {
        if (learn_moves) chances_.emplace(context.guide != nullptr);
    }

    PlacementStream* stream(const StreamLimits& limits) override {
        if (!limits.continues) {
            free_.insert(free_.end(), taken_.begin(), taken_.end());
            taken_.clear();
            counted_.clear();
        }
        limits_ = limits;
        given_ = 0;
        return this;
    }

    StreamItem* next() override {
        const std::size_t ahead = open_.size();
        if (given_ == limits_.given || counted_.size() + ahead >= limits_.counted || is_exhausted())
            return nullptr;
        Step* step = nullptr;
        if (!starts_.empty()) {
            if (ahead == starts_.size()) return nullptr;
            step = unused();
            step->own = starts_[ahead];
        } else {
            if (ahead >= most_ahead()) return nullptr;
            if (chances_ && ahead >= kStepsToLearn - step_ % kStepsToLearn) return nullptr;
            if (origin_ == nullptr) origin_ = std::make_shared<const Origin>(Origin{current_, chances_});
            step = unused();
            step->from = origin_;
            step->number = step_ + ahead;
        }
        ++given_;
        open_.push_back(step);
        return step;
    }

    void fill(StreamItem& item) override {
        auto& step = static_cast<Step&>(item);
        if (step.from != nullptr) {
            Random random(steps_seed_ + step.number);
            step.own = step.from->placement;
            step.base = &step.from->placement;
            if (step.from->chances) {
                step.kind = neighbourhood_.move(step.own, *step.from->chances, random);
            } else {
                neighbourhood_.move(step.own, random);
            }
        }
        step.placement = &step.own;
        step.key = key_of(step.own);
    }

    void scored(StreamItem& item, const Score& score) override {
        auto& step = static_cast<Step&>(item);
        step.score = score;
        step.is_scored = true;
        if (step.is_dropped) {
            free_.push_back(&step);
            return;
        }
        while (!open_.empty() && open_.front()->is_scored) {
            Step& first = *open_.front();
            open_.pop_front();
            taken_.push_back(&first);
            counted_.push_back({&first.own, first.score});
            if (first.from == nullptr) {
                take_start(first);
            } else {
                take(first);
            }
        }
    }

    /// Where the walk is. Batches only; the items of the stream have bases of their own.
    const Placement* base(std::size_t /*i*/) const override { return starts_.empty() ? &current_ : nullptr; }

    std::span<const Scored> counted() const override { return counted_; }
    std::size_t open() const override { return open_.size(); }
    bool is_next_certain() const override { return !starts_.empty() || open_.empty(); }
    bool is_exhausted() const override { return starts_.empty() && (ended_ || choices_.movable().empty()); }

    void learn(std::span<const Placement> placements, std::span<const Score> scores) override {
        for (std::size_t i = 0; i < scores.size(); ++i) note(placements[i], scores[i]);
    }

protected:
    /// Returns whether to move from a placement to a neighbour; called in the order of proposals.
    virtual bool accepts(const Score& from, const Score& to) = 0;
    /// Called after each step.
    virtual void advance() = 0;

    void go_to_best() {
        current_ = best_;
        current_score_ = best_score_;
        jumped_ = true;
    }
    void start_at(Placement placement) {
        starts_ = {std::move(placement)};
        current_score_.penalised_s = kInfinity;
        jumped_ = true;
    }
    /// The next placement found becomes the best.
    void forget_best() { best_score_ = kNone; }
    void end() { ended_ = jumped_ = true; }

    Placement random_placement() { return choices_.random_placement(random_); }
    const Score& best_score() const { return best_score_; }

    DeviceChoices choices_;
    Random random_;

private:
    static constexpr Score kNone{kInfinity, 0, false};
    /// Steps after which the chances of the kinds of moves change by what the steps have shown.
    static constexpr std::size_t kStepsToLearn = 32;
    /// Most steps proposed at a time, by thread.
    static constexpr std::size_t kMostAhead = 4;
    static constexpr double kShareMemory = 0.02;

    /// Where steps begin, until one is accepted.
    struct Origin {
        Placement placement;
        std::optional<MoveChances> chances;
    };
    /// A step that was given out.
    struct Step : StreamItem {
        Placement own;
        std::shared_ptr<const Origin> from;  ///< null: a start
        std::uint64_t number = 0;
        MoveKind kind{};
        Score score;
        bool is_scored = false;
        bool is_dropped = false;  ///< behind an accepted step
    };

    Step* unused() {
        if (free_.empty()) free_.push_back(all_.emplace_back(std::make_unique<Step>()).get());
        Step* const step = free_.back();
        free_.pop_back();
        step->from = nullptr;
        step->base = nullptr;
        step->is_scored = step->is_dropped = false;
        return step;
    }

    /// The number of steps for which the most are expected to count per time: each costs a simulation, and
    /// all after the first one that is accepted are in vain.
    std::size_t most_ahead() const {
        constexpr double kRoundCost = 0.2;  // of handing out a batch, in simulations
        const std::size_t threads = limits_.threads;
        if (threads == 1) return 1;
        // Rather than wait for a score, a thread scores a step that may be in vain.
        if (!limits_.in_batches) return kMostAhead * threads;
        std::size_t best = threads;
        double best_rate = 0;
        for (std::size_t rounds = 1; rounds <= kMostAhead; ++rounds) {
            const double stays = std::pow(1 - accepted_share_, static_cast<double>(rounds * threads));
            const double counting =
                accepted_share_ > 0 ? (1 - stays) / accepted_share_ : static_cast<double>(rounds * threads);
            const double rate = counting / (static_cast<double>(rounds) + kRoundCost);
            if (rate > best_rate) best = rounds * threads;
            best_rate = std::max(best_rate, rate);
        }
        return best;
    }

    void note(const Placement& placement, const Score& score) {
        if (score.penalised_s >= best_score_.penalised_s) return;
        best_ = placement;
        best_score_ = score;
    }

    void take_start(const Step& start) {
        note(start.own, start.score);
        if (start.score.penalised_s < current_score_.penalised_s) {
            current_ = start.own;
            current_score_ = start.score;
        }
        starts_.erase(starts_.begin());
    }

    void take(const Step& step) {
        note(step.own, step.score);
        if (chances_) learned_.emplace_back(step.kind, step.score.penalised_s < current_score_.penalised_s);
        jumped_ = false;
        const bool accepted = accepts(current_score_, step.score);
        if (accepted) {
            current_ = step.own;
            current_score_ = step.score;
        }
        accepted_share_ += kShareMemory * ((accepted ? 1.0 : 0.0) - accepted_share_);
        ++step_;
        if (chances_ && step_ % kStepsToLearn == 0) {
            for (const auto& [kind, improved] : learned_) chances_->learn(kind, improved);
            learned_.clear();
            origin_ = nullptr;  // no step is open: next() gives out none beyond this one
        }
        advance();
        if (!accepted && !jumped_) return;
        origin_ = nullptr;
        for (Step* const behind : open_) {
            if (behind->is_scored) free_.push_back(behind);
            behind->is_dropped = true;
        }
        open_.clear();
    }

    Neighbourhood neighbourhood_;
    std::vector<Placement> starts_;  ///< not yet scored
    Placement current_, best_;
    Score current_score_ = kNone, best_score_ = kNone;
    bool ended_ = false;
    bool jumped_ = false;  ///< the walk goes on elsewhere than where the last step led

    std::uint64_t steps_seed_;  ///< step i has the random numbers of this seed + i
    std::uint64_t step_ = 0;
    double accepted_share_ = 0.3;  ///< of the latest steps
    std::optional<MoveChances> chances_;
    std::vector<std::pair<MoveKind, bool>> learned_;  ///< kinds of moves and whether they have improved

    std::shared_ptr<const Origin> origin_;  ///< of the next step; null: not yet made
    std::vector<std::unique_ptr<Step>> all_;
    std::vector<Step*> free_;
    std::deque<Step*> open_;  ///< steps that may count, in order
    StreamLimits limits_;     ///< of this section
    std::size_t given_ = 0;
    std::vector<Step*> taken_;     ///< that are counted
    std::vector<Scored> counted_;  ///< [taken_]
};

}  // namespace placewright
