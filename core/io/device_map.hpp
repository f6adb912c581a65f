// SPDX-License-Identifier: MIT
// Hugging Face Accelerate's device_map: one flat object, module or parameter -> GPU number or "cpu". A name belongs to the longest key that
// is it or one of its prefixes up to a dot ("layers.1" is none of "layers.10"), "" to all. Facts: accelerate,
// src/accelerate/utils/modeling.py (check_device_map, clean_device_map) and big_modeling.py (dispatch_model).
#pragma once

#include <string>
#include <vector>

#include "core/io/json.hpp"
#include "core/io/placement_formats.hpp"

namespace placewright {

enum class DeviceMapForm : std::uint8_t { full, compact };

/// The map of a placement. Parameters and buffers go by the names in the attribute "parameters" of their op (state_dict names), without
/// these by the scope of the op, and if it has none either by its name.
///
/// Full: a key for each module that holds parameters of its own or is the innermost scope of ops. Parameters of a module that contains such
/// modules have keys of their own. Compact: modules whose parts are all on one device take the place of these; "" if all are (the result of
/// clean_device_map). Devices are numbered among those that are no CPUs; all CPUs are "cpu".
///
/// Ops of one module, and modules that share a parameter (kind "parameter", or several names for it), are on one device: PlacementError
/// lists those that are not.
///
/// Warnings. An op right in a module that contains others has no key of its own: it runs where the module is, if that is in the map, else
/// where its input is, and is listed if that is not where it was placed, with the step time that follows. A block with a residual
/// connection that is cut: of an add of two tensors of its own size let the fork be the last op that both come from; the block is the
/// smallest scope that holds the add and all ops between. Modules on "cpu", which Accelerate runs on the first GPU.
WrittenPlacement device_map(const PlacedNetwork& placed, DeviceMapForm form);

/// The placement of the run that loads the map, after each module whose ops are apart, with those that share its parameters, has gone to
/// the device that holds most of its parameter bytes (of equals the one that computes most of it, then the first). Throws PlacementError if
/// none of them is allowed for all of its ops.
Placement placed_by_modules(const PlacedNetwork& placed, DeviceMapForm form);

/// Whether a flat object is a device map and not a placement of Exprimo: it has names of devices ("cpu", "cuda:1"), or a key that is a
/// module but no op, or keys that all are modules without being all of the ops.
bool is_device_map(const JsonValue& root, const Problem& problem);
/// The placement that a map stands for. Ops without parameters whose module is in the map are there, others where the largest of their
/// inputs comes from; what reads nothing, where it is read. `notes` are told how many ops went which way, and which keys match nothing.
/// Throws InputError for a parameter without device, a device that is not in the machine, devices that an op does not allow, and ops that
/// belong together but are apart.
Placement read_device_map(const JsonFile& file, const JsonValue& root, const Problem& problem, std::vector<std::string>* notes);

}  // namespace placewright
