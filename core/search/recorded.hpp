// SPDX-License-Identifier: MIT
// Recorded scores, with which an interrupted search resumes where it stopped.
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

/// Answers placements in `known` from there and asks `evaluator` for the others, whose scores are passed to
/// `record`, each placement once. A search is a function of its seed and its scores: a search that is run
/// again on the recorded scores of an interrupted one repeats it, taking only the algorithm's own time, and
/// then continues as if there had been no interruption. Keeps all scores (about 100 bytes each) up to `most`;
/// further scores are not recorded and have to be evaluated again by a resumed search.
std::unique_ptr<Evaluator> recorded_evaluator(std::unique_ptr<Evaluator> evaluator,
                                              std::span<const RecordedScore> known, ScoreRecorder record,
                                              std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace placewright
