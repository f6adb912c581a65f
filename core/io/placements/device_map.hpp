// SPDX-License-Identifier: MIT
// Hugging Face Accelerate's device_map: one flat object, module or parameter -> GPU number or "cpu". A name
// gets the device of the longest key that equals it or is a prefix of it up to a dot ("layers.1" is no such
// prefix of "layers.10"); the key "" matches every name. Source: accelerate, src/accelerate/utils/modeling.py
// (check_device_map, clean_device_map) and big_modeling.py (dispatch_model).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/placements/placed_network.hpp"

namespace placewright {

enum class DeviceMapForm : std::uint8_t { full, compact };

/// Returns the device map of a placement. Keys are the names in the attribute "parameters" of the ops
/// (state_dict names); an op without them has its scope as key, and without a scope its name.
///
/// The full form has a key for each module that holds parameters of its own or is the innermost scope of ops.
/// Parameters of a module that contains such modules have keys of their own. In the compact form a module
/// replaces its parts if all of them are on one device, and "" replaces all keys if everything is (the result
/// of clean_device_map). The numbers of devices count devices that are not CPUs; every CPU is "cpu".
///
/// Throws PlacementError if ops of one module, or modules that share a parameter (kind "parameter", or
/// several names of it), are on several devices; the message lists these modules.
///
/// Warnings:
/// - Ops directly in a module that contains other modules, which have no key of their own: such an op runs on
/// the device of its module if that is in the map, else on that of its input. The warning lists ops for which
/// this is not their device of the placement, and gives the resulting step time.
/// - Blocks whose residual connection is cut. For an add of two tensors of the same size as its result, the
/// fork is the last op that both depend on; the block is the smallest scope that contains the add and all ops
/// between.
/// - Other ops outside of all modules of the map that read tensors of several devices.
/// - Parameters of the model itself, which Accelerate keeps on the first device of the map.
/// - Modules on "cpu", which Accelerate runs on the first GPU.
WrittenPlacement device_map(const PlacedNetwork& placed, DeviceMapForm form);

/// Returns the keys that are parameters or buffers of modules, below the model itself, whose parts are on
/// several devices. Accelerate's dispatch_model moves modules alone: who loads the map has to move these
/// parameters.
std::vector<std::string> parameter_keys(const PlacedNetwork& placed);

/// Returns the nearest placement that a device map can express, as the run that loads the map executes it.
/// Each module whose ops are on several devices moves, together with the modules that share its parameters,
/// to the device that holds most of its parameter bytes (on a tie, to that with most of its computation, then
/// to the first). Throws PlacementError if none of these devices is allowed for all of its ops.
Placement placed_by_modules(const PlacedNetwork& placed, DeviceMapForm form);

}  // namespace placewright
