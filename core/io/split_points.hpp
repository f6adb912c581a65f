// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "core/io/json.hpp"
#include "core/io/placement_formats.hpp"

namespace placewright {

/// The devices of a placement that is a chain of stages, in their order; nothing if it is none: in the order of the graph, which is that of
/// the forward pass, the ops of each device come one after the other (inputs and parameters, which do not run, are anywhere).
std::optional<std::vector<DeviceId>> chain_of_stages(const Problem& problem, const Placement& placement);

/// Split points for torch.distributed.pipelining (pytorch, docs/source/distributed.pipelining.rst):
/// {"split_spec": {module: "BEGINNING" | "END"}, "stage_to_rank": [rank of each stage], "devices": [device of each rank]}.
///
/// The placement has to be a chain of stages. A cut lies where the outermost module begins whose first op is the first of its stage, or
/// else where the outermost ends whose last op is the last of the stage before. Throws PlacementError with the list of jumps, back to a
/// device or inside of a module, where this is not so.
WrittenPlacement split_points(const PlacedNetwork& placed);

/// Throws InputError, which says what to do instead, if `root` is what split_points() writes: no placement is read from it.
void refuse_split_points(const JsonFile& file, const JsonValue& root);

}  // namespace placewright
