// SPDX-License-Identifier: MIT
#include "core/search/parts/proposals.hpp"

#include <algorithm>
#include <set>

namespace placewright {
namespace {

class Proposals final : public Optimizer {
public:
    explicit Proposals(std::vector<Placement> placements) : placements_(std::move(placements)) {}

    std::span<const Placement> ask(std::size_t limit) override {
        return std::span(placements_).subspan(told_, std::min(limit, placements_.size() - told_));
    }

    void tell(std::span<const Score> scores) override { told_ += scores.size(); }

private:
    std::vector<Placement> placements_;
    std::size_t told_ = 0;
};

class Distinct final : public Optimizer {
public:
    explicit Distinct(std::function<std::optional<Placement>()> build) : build_(std::move(build)) {}

    std::span<const Placement> ask(std::size_t limit) override {
        while (waiting_.size() < std::min(limit, kBatch) && !stop().stop_requested()) {
            std::optional<Placement> placement = build_();
            if (!placement) break;
            if (proposed_.insert(*placement).second) waiting_.push_back(*std::move(placement));
        }
        return std::span(waiting_).first(std::min(limit, waiting_.size()));
    }

    void tell(std::span<const Score> scores) override {
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
    }

private:
    /// Enough for several cores, and few enough that progress is seen soon.
    static constexpr std::size_t kBatch = 8;

    std::function<std::optional<Placement>()> build_;
    std::vector<Placement> waiting_;
    std::set<Placement> proposed_;
};

class UntilFits final : public Optimizer {
public:
    UntilFits(BuildWithin build, std::uint32_t attempts) : build_(std::move(build)), attempts_(attempts) {}

    std::span<const Placement> ask(std::size_t) override {
        while (waiting_ == 0 && !fits_ && attempt_ < attempts_) {
            Placement placement = build_(1 - 0.1 * attempt_, stop());
            if (stop().stop_requested()) return {};
            ++attempt_;
            if (std::ranges::find(proposed_, placement) != proposed_.end()) continue;
            proposed_.push_back(std::move(placement));
            waiting_ = 1;
        }
        return std::span(proposed_).last(waiting_);
    }

    void tell(std::span<const Score> scores) override {
        if (scores.empty()) return;
        waiting_ = 0;
        fits_ = scores.front().fits;
    }

private:
    BuildWithin build_;
    std::uint32_t attempts_;
    std::uint32_t attempt_ = 0;
    std::size_t waiting_ = 0;  ///< proposed but not yet scored: 0 or 1
    bool fits_ = false;
    std::vector<Placement> proposed_;
};

}  // namespace

std::unique_ptr<Optimizer> propose_in_turn(std::vector<Placement> placements) {
    return std::make_unique<Proposals>(std::move(placements));
}

std::unique_ptr<Optimizer> propose_distinct(std::function<std::optional<Placement>()> build) {
    return std::make_unique<Distinct>(std::move(build));
}

std::unique_ptr<Optimizer> propose_until_fits(BuildWithin build, std::uint32_t attempts) {
    return std::make_unique<UntilFits>(std::move(build), attempts);
}

}  // namespace placewright
