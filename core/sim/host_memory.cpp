// SPDX-License-Identifier: MIT
#include "core/sim/host_memory.hpp"

#include <algorithm>

namespace placewright {

HostMemory::HostMemory(const Problem& problem) : problem_(problem) {
    const auto devices = problem.machine->devices();
    const auto cpu = std::ranges::find(devices, DeviceKind::cpu, &Device::kind);
    if (cpu == devices.end()) {
        throw MachineError("", "machine \"" + problem.machine->name() +
                                   "\" has no CPU, expected one, since tensors pass through its memory");
    }
    host_ = static_cast<DeviceId>(cpu - devices.begin());
}

double HostMemory::route_s(TensorId tensor, DeviceId from, DeviceId to) const {
    const std::size_t route = std::size_t{from} * problem_.devices + to;
    double seconds = 0;
    for (auto i = problem_.route_begin[route]; i < problem_.route_begin[route + 1]; ++i) {
        const std::size_t speed = problem_.channel_class[problem_.route_channel[i]];
        seconds += problem_.transfer_s[std::size_t{tensor} * problem_.channel_classes + speed];
    }
    return seconds;
}

Evaluation evaluate_memory(const Problem& problem, std::span<const DeviceId> placement) {
    Evaluation result;
    result.device_s.assign(problem.devices, 0);
    result.device_bytes.assign(problem.devices, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        double& bytes = result.device_bytes[placement[problem.grouping.group_of[op]]];
        bytes += problem.resident_bytes[op];
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor)
            bytes += problem.output_bytes[tensor];
    }
    for (DeviceId device = 0; device < problem.devices; ++device) {
        result.fits = result.fits && result.device_bytes[device] <= problem.memory_limit_bytes[device];
    }
    return result;
}

}  // namespace placewright
