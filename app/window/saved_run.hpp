// SPDX-License-Identifier: MIT
// Searches in files: what a run is saved as, and how it is resumed. Free functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <QString>

#include "app/window/run.hpp"

namespace placewright {

/// Writes a search with its scores, to resume it later; returns the number of scores. Throws InputError.
std::size_t writeSearch(const QString& file, const Job& job, const SavedSearch& search,
                        const ScoreRecord& record);

/// Returns the request that resumes the search of a file on the job. `budget`: total budget, if the file
/// has none. Throws std::exception with a message for the user, also if the file is of another problem.
RunRequest resumedRequest(const QString& file, const Job& job, const Budget& budget);

}  // namespace placewright
