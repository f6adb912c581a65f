// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "core/io/placements/placed_network.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Returns the devices of a placement that is a chain of stages, in the order of the stages; nothing for
/// another placement. In a chain of stages, the ops of each device are consecutive in the order of the graph,
/// which is that of the forward pass (inputs and parameters, which do not run, may be on any device).
std::optional<std::vector<DeviceId>> chain_of_stages(const Problem& problem, const Placement& placement);

/// Returns the split points of a placement for torch.distributed.pipelining (pytorch,
/// docs/source/distributed.pipelining.rst):
/// {"split_spec": {module: "BEGINNING" | "END"}, "stage_to_rank": [rank of each stage], "devices": [device of
/// each rank]}.
///
/// The placement must be a chain of stages. Between two stages, the cut is at the begin of the outermost
/// module whose first op is the first op of the later stage, or else at the end of the outermost module whose
/// last op is the last op of the earlier stage. Throws PlacementError if the placement returns to an earlier
/// device or a cut is inside of a module; the message lists these places.
WrittenPlacement split_points(const PlacedNetwork& placed);

/// Throws InputError with the remedy if `root` contains split points: no placement can be read from them.
void refuse_split_points(const JsonFile& file, const JsonValue& root);

}  // namespace placewright
