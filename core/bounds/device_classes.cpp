// SPDX-License-Identifier: MIT
#include "core/bounds/device_classes.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/bounds/least_times.hpp"
#include "core/sim/op_loads.hpp"

namespace placewright {
namespace {

bool are_alike(const Problem& problem, std::span<const double> time_s, DeviceId a, DeviceId b) {
    if (problem.machine->device(a).streams != problem.machine->device(b).streams) return false;
    for (OpId op = 0; op < problem.ops; ++op) {
        const std::size_t row = std::size_t{op} * problem.devices;
        if (time_s[row + a] != time_s[row + b]) return false;
        if (!problem.op_share.empty() && problem.op_share[row + a] != problem.op_share[row + b]) return false;
    }
    return true;
}

}  // namespace

DeviceClasses::DeviceClasses(const Problem& problem, std::span<const double> time_s, Devices devices) {
    std::vector<std::vector<DeviceId>> members;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        const auto known = std::ranges::find_if(members, [&](const std::vector<DeviceId>& own) {
            return devices == Devices::together && are_alike(problem, time_s, own.front(), device);
        });
        class_of_.push_back(static_cast<std::size_t>(known - members.begin()));
        if (known == members.end()) {
            members.push_back({device});
        } else {
            known->push_back(device);
        }
    }
    for (const auto& own : members) {
        sizes_.push_back(own.size());
        has_streams_.push_back(problem.machine->device(own.front()).streams > 1);
    }

    for (OpId op = 0; op < problem.ops; ++op) {
        for (const auto& own : members) {
            time_s_.push_back(time_s[std::size_t{op} * problem.devices + own.front()]);
            share_.push_back(part_of_device(problem, op, own.front(), DevicePart::share));
        }
    }
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        for (const auto& senders : members) {
            for (const auto& receivers : members) {
                double least_s = kInfinity;
                for (const DeviceId from : senders) {
                    for (const DeviceId to : receivers) {
                        if (from != to)
                            least_s = std::min(least_s, least_transfer_s(problem, tensor, from, to));
                    }
                }
                transfer_s_.push_back(least_s);
            }
        }
    }
}

}  // namespace placewright
