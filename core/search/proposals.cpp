// SPDX-License-Identifier: MIT
#include "core/search/proposals.hpp"

#include <algorithm>

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

}  // namespace

std::unique_ptr<Optimizer> propose_in_turn(std::vector<Placement> placements) {
    return std::make_unique<Proposals>(std::move(placements));
}

}  // namespace placewright
