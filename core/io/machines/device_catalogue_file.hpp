// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "core/base/path.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {

/// Reads all files of a folder, by their format:
///   placewright.devices       devices: "model", "aliases", "kind", "vendor", "architecture", "year",
///   "cores",
///                             "memory_bytes", "memory_bandwidth", "cache_bytes", "power_w",
///                             "unified_memory", "vector_flops" and "matrix_flops" by type of number,
///                             "links", "source"
///   placewright.links         links: "model", "aliases", "bandwidth", "latency_s", "efficiency_by_bytes"
///   placewright.efficiencies  architectures by name: the fields of Efficiencies that differ from those of
///                             the one that "like" names
/// A device whose architecture has no entry takes that of its vendor and kind ("amd-gpu"), else that of its
/// kind.
/// Throws InputError.
DeviceCatalogue read_device_catalogue(const Path& folder);

/// The catalogue that ships: models_folder()/devices, read at the first call. Throws InputError.
const DeviceCatalogue& shipped_devices();

}  // namespace placewright
