// SPDX-License-Identifier: MIT
// Searches that repeatedly step from a placement to one of its neighbours (simulated annealing, MCMC).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/search/optimizer.hpp"
#include "core/search/parts/neighbourhood.hpp"

namespace placewright {

/// Starts at the best of first_placements(), then takes one step after the other: a neighbour of the current
/// placement is scored, and accepted or not. With several threads, it proposes the neighbours of the next
/// steps, too, as they are if none is accepted before them; those behind an accepted one are dropped. Every
/// step has random numbers of its own, so the walk does not depend on how many it proposes ahead.
class Walk : public Optimizer {
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

    std::span<const Placement> ask(std::size_t limit) override {
        for_each(begin_ask(limit), [&](std::size_t i) { make(i); });
        return asked();
    }

    std::size_t begin_ask(std::size_t limit) override {
        if (!starts_.empty()) return asked_ = std::min(limit, starts_.size());
        if (ended_ || choices_.movable().empty()) return asked_ = 0;
        std::size_t count = std::min(limit, most_at_once());
        if (chances_) count = std::min(count, kStepsToLearn - step_ % kStepsToLearn);
        if (batch_.size() < count) batch_.resize(count);
        kinds_.resize(count);
        return asked_ = count;
    }

    void make(std::size_t i) override {
        if (!starts_.empty()) return;
        Random random(steps_seed_ + step_ + i);
        batch_[i] = current_;
        if (chances_) {
            kinds_[i] = neighbourhood_.move(batch_[i], *chances_, random);
        } else {
            neighbourhood_.move(batch_[i], random);
        }
    }

    std::span<const Placement> asked() const override {
        return std::span(starts_.empty() ? batch_ : starts_).first(asked_);
    }

    /// The number of steps for which the most are expected to count per time: each costs a simulation, and
    /// all after the first one that is accepted are in vain.
    std::size_t most_at_once() const override {
        constexpr double kRoundCost = 0.2;  // of handing out a batch, in simulations
        const std::size_t threads = this->threads();
        if (threads == 1) return 1;
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

    const Placement* base(std::size_t /*i*/) const override { return starts_.empty() ? &current_ : nullptr; }

    void tell(std::span<const Score> scores) override {
        counted_.clear();
        if (!starts_.empty()) {
            tell_starts(scores);
            return;
        }
        const double from_s = current_score_.penalised_s;
        jumped_ = false;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            counted_.push_back({&batch_[i], scores[i]});
            note(batch_[i], scores[i]);
            if (chances_) learned_.emplace_back(kinds_[i], scores[i].penalised_s < from_s);
            const bool accepted = accepts(current_score_, scores[i]);
            if (accepted) {
                current_ = batch_[i];
                current_score_ = scores[i];
            }
            accepted_share_ += kShareMemory * ((accepted ? 1.0 : 0.0) - accepted_share_);
            ++step_;
            if (chances_ && step_ % kStepsToLearn == 0) {
                for (const auto& [kind, improved] : learned_) chances_->learn(kind, improved);
                learned_.clear();
            }
            advance();
            if (accepted || jumped_) break;
        }
    }

    bool proposes_ahead() const override { return starts_.empty(); }
    std::span<const Scored> counted() const override { return counted_; }

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

    void note(const Placement& placement, const Score& score) {
        if (score.penalised_s >= best_score_.penalised_s) return;
        best_ = placement;
        best_score_ = score;
    }

    void tell_starts(std::span<const Score> scores) {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            note(starts_[i], scores[i]);
            if (scores[i].penalised_s >= current_score_.penalised_s) continue;
            current_ = starts_[i];
            current_score_ = scores[i];
        }
        starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
    }

    Neighbourhood neighbourhood_;
    std::vector<Placement> starts_;  ///< not yet scored
    Placement current_, best_;
    Score current_score_ = kNone, best_score_ = kNone;
    bool ended_ = false;
    bool jumped_ = false;  ///< the walk goes on elsewhere than at the last step

    std::uint64_t steps_seed_;  ///< step i has the random numbers of this seed + i
    std::uint64_t step_ = 0;
    double accepted_share_ = 0.3;   ///< of the latest steps
    std::size_t asked_ = 0;         ///< placements of the last ask()
    std::vector<Placement> batch_;  ///< neighbours of the next steps, perhaps with unused ones behind them
    std::vector<Scored> counted_;
    std::optional<MoveChances> chances_;
    std::vector<MoveKind> kinds_;                     ///< of the moves in batch_, if chances_ are learned
    std::vector<std::pair<MoveKind, bool>> learned_;  ///< kinds of moves and whether they have improved
};

}  // namespace placewright
