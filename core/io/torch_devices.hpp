// SPDX-License-Identifier: MIT
// How PyTorch calls devices.
#pragma once

#include <string_view>

#include "core/machine/machine.hpp"

namespace placewright {

/// The number that frameworks give a device that is no CPU: its place among those in the machine.
inline std::size_t gpu_number(const Machine& machine, DeviceId device) {
    std::size_t number = 0;
    for (DeviceId id = 0; id < device; ++id) number += machine.device(id).kind != DeviceKind::cpu;
    return number;
}

/// Whether PyTorch has devices that are called so.
inline bool names_device(std::string_view text) {
    const std::string_view kind = text.substr(0, text.find(':'));
    return kind == "cpu" || kind == "cuda" || kind == "disk" || kind == "mps" || kind == "meta";
}

}  // namespace placewright
