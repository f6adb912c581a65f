// SPDX-License-Identifier: MIT
// Suggestions for names that were mistyped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

/// Number of bytes to insert, delete, replace or swap with their neighbour to make `b` of `a` (optimal string
/// alignment distance; Boytsov, "Indexing methods for approximate dictionary searching", 2011).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The first of the names with the least edit distance to `name`. Empty if that distance is more than a third
/// of the length of `name`: then it is hardly one of the names with a slip.
std::string closest_name(std::string_view name, const std::vector<std::string>& names);

/// Names for a message, " (similar: simulated-annealing, load-annealing)": closest_name(), or if there is
/// none the names of which a word between hyphens is as close. Empty if there is none either.
std::string similar_to(std::string_view name, const std::vector<std::string>& names);

}  // namespace placewright
