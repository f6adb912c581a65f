// SPDX-License-Identifier: MIT
// Searches that are saved to files and resumed, shared by the command line and the window.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/io/state/score_file.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// Returns everything that a placement's score depends on.
ScoreConditions score_conditions(const Job& job);

/// Returns the start placements of searches of the job: starting_placements(), then those of `more` that are
/// not among them.
std::vector<Placement> all_starts(const Job& job, std::span<const Placement> more);

/// Throws InputError, for line 1 of the search's file, unless the algorithm exists and takes these options,
/// and the starts are placements of the job.
void check_search(const SavedSearch& search, const Job& job, const Path& file);

/// Returns what to change so that the saved scores hold, in the words of the window: "Choose the machine 2x
/// V100 first."
std::string remedy(const OtherConditions& error);

}  // namespace placewright
