// SPDX-License-Identifier: MIT
// Scores that are kept, so that a search that was cut off goes on where it was.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/cost/placement_key.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {

struct RecordedScore {
    PlacementKey placement;
    Score score;

    bool operator==(const RecordedScore&) const = default;
};

using ScoreRecorder = std::function<void(std::span<const RecordedScore>)>;

/// Answers what is in `known` and asks `evaluator` for the rest, which `record` is then told, each placement once. A search is a function
/// of its seed and the scores that it is told: run again on the scores of one that was cut off, it does the same in the time that the
/// algorithm takes itself, and goes on from there as if nothing had been. Keeps all scores (about 100 bytes each), but no more than `most`:
/// those that follow are not recorded, and a search that is run again has them found out once more.
std::unique_ptr<Evaluator> recorded_evaluator(std::unique_ptr<Evaluator> evaluator, std::span<const RecordedScore> known,
                                              ScoreRecorder record, std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace placewright
