// SPDX-License-Identifier: MIT
// Searches that repeatedly step from a placement to one of its neighbours (simulated annealing, MCMC).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/search/optimizer.hpp"
#include "core/search/parts/neighbourhood.hpp"

namespace placewright {

/// Starts at the best of first_placements() and proposes `batch_size` neighbours at a time. It moves to the
/// first one that is accepted and drops those behind it, which are not neighbours of the new placement.
class Walk : public Optimizer {
public:
    Walk(const SearchContext& context, bool allow_cpu, const std::string& start, double block_moves,
         bool learn_moves, std::size_t batch_size)
        : choices_(context.problem, allow_cpu),
          random_(context.seed),
          neighbourhood_(choices_, learn_moves ? 1 : block_moves, learn_moves ? context.guide : nullptr),
          batch_size_(batch_size),
          starts_(first_placements(choices_, checked_seeds(context), start, random_)) {
        if (learn_moves) chances_.emplace(context.guide != nullptr);
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (!starts_.empty()) return std::span(starts_).first(std::min(limit, starts_.size()));
        if (ended_ || choices_.movable().empty()) return {};
        batch_.resize(std::min(limit, batch_size_));
        kinds_.clear();
        for (Placement& placement : batch_) {
            placement = current_;
            if (chances_) {
                kinds_.push_back(neighbourhood_.move(placement, *chances_, random_));
            } else {
                neighbourhood_.move(placement, random_);
            }
        }
        return batch_;
    }

    const Placement* base() const override { return starts_.empty() ? &current_ : nullptr; }

    void tell(std::span<const Score> scores) override {
        const bool starting = !starts_.empty();
        const double from_s = current_score_.penalised_s;
        bool moved = false;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const Placement& placement = starting ? starts_[i] : batch_[i];
            if (scores[i].penalised_s < best_score_.penalised_s) {
                best_ = placement;
                best_score_ = scores[i];
            }
            if (!starting && chances_) chances_->learn(kinds_[i], scores[i].penalised_s < from_s);
            if (moved) continue;
            const bool take = starting ? scores[i].penalised_s < current_score_.penalised_s
                                       : accepts(current_score_, scores[i]);
            if (take) {
                current_ = placement;
                current_score_ = scores[i];
                moved = !starting;
            }
        }
        if (starting) {
            starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
        } else {
            advance(scores.size());
        }
    }

    void learn(std::span<const Placement> placements, std::span<const Score> scores) override {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores[i].penalised_s >= best_score_.penalised_s) continue;
            best_ = placements[i];
            best_score_ = scores[i];
        }
    }

protected:
    /// Returns whether to move from a placement to a neighbour; called in the order of proposals.
    virtual bool accepts(const Score& from, const Score& to) = 0;
    /// Called after `evaluations` neighbours were scored.
    virtual void advance(std::size_t evaluations) = 0;

    void go_to_best() {
        current_ = best_;
        current_score_ = best_score_;
    }
    void start_at(Placement placement) {
        starts_ = {std::move(placement)};
        current_score_.penalised_s = kInfinity;
    }
    /// The next placement found becomes the best.
    void forget_best() { best_score_ = kNone; }
    void end() { ended_ = true; }

    Placement random_placement() { return choices_.random_placement(random_); }
    const Score& best_score() const { return best_score_; }

    DeviceChoices choices_;
    Random random_;

private:
    static constexpr Score kNone{kInfinity, 0, false};

    Neighbourhood neighbourhood_;
    std::size_t batch_size_;
    std::vector<Placement> starts_;  ///< not yet scored
    Placement current_, best_;
    Score current_score_ = kNone, best_score_ = kNone;
    bool ended_ = false;
    std::vector<Placement> batch_;
    std::optional<MoveChances> chances_;
    std::vector<MoveKind> kinds_;  ///< of the moves in batch_, if chances_ are learned
};

}  // namespace placewright
