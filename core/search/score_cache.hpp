// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/cost/placement_key.hpp"
#include "core/sim/memory_penalty.hpp"

namespace placewright {

/// Cache of known scores, so that no placement is scored twice. For each batch: call look_up(), score the
/// placements that it returns, then call keep(). A batch that was not completely scored is not kept.
class ScoreCache {
public:
    struct Fresh {
        std::size_t index;  ///< in the batch
        PlacementKey key;
    };

    /// Fills in the scores of known placements. Returns the others, each once even if it occurs several times
    /// in the batch; valid until the next call.
    std::span<const Fresh> look_up(std::span<const Placement> placements, std::span<Score> scores) {
        fresh_.clear();
        repeats_.clear();
        first_of_.clear();
        for (std::size_t i = 0; i < placements.size(); ++i) {
            const PlacementKey key = key_of(placements[i]);
            if (const auto known = known_.find(key); known != known_.end()) {
                scores[i] = known->second;
            } else if (const auto [first, added] = first_of_.try_emplace(key, i); added) {
                fresh_.push_back({i, key});
            } else {
                repeats_.push_back({i, first->second});
            }
        }
        return fresh_;
    }

    /// Stores the scores of the placements that look_up() returned and copies them to their repetitions.
    void keep(std::span<Score> scores) {
        if (known_.size() + fresh_.size() > kEntries) known_.clear();
        for (const Fresh& fresh : fresh_) known_.emplace(fresh.key, scores[fresh.index]);
        for (const Repeat& repeat : repeats_) scores[repeat.index] = scores[repeat.first];
    }

    /// For single placements: returns a known score, or null.
    const Score* find(const PlacementKey& key) const {
        const auto known = known_.find(key);
        return known == known_.end() ? nullptr : &known->second;
    }
    void add(const PlacementKey& key, const Score& score) {
        if (known_.size() >= kEntries) known_.clear();
        known_.emplace(key, score);
    }

private:
    static constexpr std::size_t kEntries = std::size_t{1} << 18;

    struct Repeat {
        std::size_t index, first;
    };

    std::unordered_map<PlacementKey, Score, PlacementKey::Hash> known_;

    // State of the current batch; kept between batches to reuse the memory.
    std::vector<Fresh> fresh_;
    std::vector<Repeat> repeats_;
    std::unordered_map<PlacementKey, std::size_t, PlacementKey::Hash> first_of_;
};

}  // namespace placewright
