// SPDX-License-Identifier: MIT
// The layers of a language model and their devices, as programs see them that split a model by its layers.
#pragma once

#include <string>
#include <vector>

#include "core/io/placements/placed_network.hpp"

namespace placewright {

struct Layers {
    std::string prefix;                  ///< "model/layers"
    std::vector<DeviceId> devices;       ///< [layer]: of its attention, which holds the cache
    std::vector<std::vector<OpId>> ops;  ///< [layer]
    std::vector<OpId> before, after;     ///< forward ops outside: the latter depend on a layer
    std::vector<std::size_t> cut;        ///< layers whose ops are on several devices
    DeviceId input = 0;                  ///< of the first op with parameters, the embedding
    DeviceId output = 0;                 ///< of the last op behind the layers, the head
};

/// Why programs that split by layers cannot run the network: it has no blocks, or two chains of them (encoder
/// and decoder). Empty if they can. O(ops).
std::string refusal_of_layers(const Graph& network);

/// Throws PlacementError with refusal_of_layers(), and for a layer that is missing.
Layers layers_of(const PlacedNetwork& placed);

std::vector<std::size_t> layers_on(const Layers& layers, DeviceId device);

/// "0 to 9, 20".
std::string ranges_of(const std::vector<std::size_t>& numbers);

/// Puts the ops on a device, each with its group.
void put(const PlacedNetwork& placed, Placement& placement, const std::vector<OpId>& ops, DeviceId device);

bool is_cpu(const PlacedNetwork& placed, DeviceId device);
std::string name_of(const PlacedNetwork& placed, DeviceId device);
/// Sequences that are under way at a time: those of all batches in flight; at least 1.
std::int64_t sequences_of(const PlacedNetwork& placed);

}  // namespace placewright
