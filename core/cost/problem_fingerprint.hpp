// SPDX-License-Identifier: MIT
// The identity of a problem in files that hold its results.
#pragma once

#include <string>

#include "core/cost/problem.hpp"

namespace placewright {

/// Returns 16 hexadecimal digits that differ for problems in which a placement's score may differ; the same
/// in every run and every version: saved searches and policies hold them. O(size of the problem).
std::string problem_fingerprint(const Problem& problem);

}  // namespace placewright
