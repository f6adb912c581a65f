// SPDX-License-Identifier: MIT
#pragma once

#include "core/io/placements/placed_network.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Returns the split points of a placement for torch.distributed.pipelining (pytorch,
/// docs/source/distributed.pipelining.rst):
/// {"split_spec": {module: "BEGINNING" | "END"}, "stage_to_rank": [rank of each stage], "devices": [device of
/// each rank]}.
///
/// The placement must be a chain of stages. Between two stages, the cut is at the begin of the outermost
/// module whose first op is the first op of the later stage, or else at the end of the outermost module whose
/// last op is the last op of the earlier stage. Throws PlacementError if the placement returns to an earlier
/// device or a cut is inside of a module; the message lists these places. Warns of ops that read only
/// constants, which run in the stages of their readers, if they were placed elsewhere.
WrittenPlacement split_points(const PlacedNetwork& placed);

/// Returns the nearest placement with split points: each device keeps consecutive modules, and the ops that
/// move take the least time (of several such placements, the fewest move). More than seven devices are taken
/// in the order of the median positions of their ops. Where that overflows a memory and the given placement
/// does not, the parameters and then the activations of each stage must fit too. Throws PlacementError if no
/// device is allowed for the ops between two cuts, or if rules keep them apart.
Placement in_stages(const PlacedNetwork& placed);

/// Throws InputError with the remedy if `root` contains split points: no placement can be read from them.
void refuse_split_points(const JsonFile& file, const JsonValue& root);

}  // namespace placewright
