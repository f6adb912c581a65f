// SPDX-License-Identifier: MIT
// Constraints resolved for the ops and devices of a problem.
#pragma once

#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

struct AppliedConstraints {
    std::vector<std::vector<bool>> allowed;  ///< [op][device]; an empty list allows all devices
    std::vector<std::vector<OpId>> together;
    std::vector<ApartParts> apart;  ///< [op]; empty if nothing is kept apart
};

/// Resolves the devices that the ops of the graph allow and some constraints. Ops of the network that the
/// graph lacks, such as the backward ops in inference, are left out. Throws ConstraintError for ops, modules
/// and devices that there are not.
AppliedConstraints apply(const Problem& problem, const Constraints& constraints);

/// Groups the ops and fills in what may be where. Throws ConstraintError that names the fewest rules that
/// contradict each other, PlacementError if the graph itself allows nothing; the problem is then lost.
void fill_groups(Problem& problem, const GroupingOptions& options);

}  // namespace placewright
