// SPDX-License-Identifier: MIT
#include "core/search/parts/archive_history.hpp"

#include <algorithm>
#include <unordered_map>

namespace placewright {

void ArchiveHistory::add(std::uint64_t evaluations, std::uint32_t cell, const Score& score) {
    if (events_.size() >= most_) thin();
    events_.push_back({(evaluations + step_ - 1) / step_ * step_, cell, score});
}

void ArchiveHistory::thin() {
    for (;; step_ *= 2) {
        std::unordered_map<std::uint32_t, std::uint64_t> later;  // [cell]: step of its next event
        std::vector<ArchiveView::Event> kept;
        for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
            event->evaluations = (event->evaluations + step_ - 1) / step_ * step_;
            const auto [next, last] = later.try_emplace(event->cell, event->evaluations);
            if (!last && next->second == event->evaluations) continue;
            next->second = event->evaluations;
            kept.push_back(*event);
        }
        std::ranges::reverse(kept);
        events_ = std::move(kept);
        if (events_.size() <= most_ / 2) return;
        if (events_.size() == later.size()) {
            most_ = std::max(most_, 2 * events_.size());  // one event per cell, and there are many cells
            return;
        }
    }
}

}  // namespace placewright
