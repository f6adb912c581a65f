// SPDX-License-Identifier: MIT
#pragma once

#include "core/machine/machine.hpp"

namespace placewright {

/// The number that frameworks give a device that is no CPU: its place among those in the machine.
inline std::size_t gpu_number(const Machine& machine, DeviceId device) {
    std::size_t number = 0;
    for (DeviceId id = 0; id < device; ++id) number += machine.device(id).kind != DeviceKind::cpu;
    return number;
}

}  // namespace placewright
