// SPDX-License-Identifier: MIT
// Searches that are kept in files and gone on with, the same on the command line and in the window.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/job.hpp"
#include "core/io/score_file.hpp"

namespace placewright {

/// All that a placement's score depends on.
ScoreConditions score_conditions(const Job& job);

/// Where searches of the job start: starting_placements(), then those of `more` that are others.
std::vector<Placement> all_starts(const Job& job, std::span<const Placement> more);

/// Throws InputError, for line 1 of the file that the search is from, unless there is such an algorithm that takes these options and the
/// starts are placements of the job.
void check_search(const SavedSearch& search, const Job& job, const Path& file);

/// What to change for the scores to hold, in words of the window: "Choose the machine 2x V100 first."
std::string remedy(const OtherConditions& error);

}  // namespace placewright
