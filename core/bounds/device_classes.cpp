// SPDX-License-Identifier: MIT
#include "core/bounds/device_classes.hpp"

#include <algorithm>
#include <set>
#include <utility>

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

    if (!is_usable(problem)) return;
    for (OpId op = 0; op < problem.ops; ++op) {
        for (const auto& own : members) {
            time_s_.push_back(time_s[std::size_t{op} * problem.devices + own.front()]);
            share_.push_back(part_of_device(problem, op, own.front(), DevicePart::share));
        }
    }
    fill_transfers(problem, members);
}

void DeviceClasses::fill_transfers(const Problem& problem,
                                   const std::vector<std::vector<DeviceId>>& members) {
    transfer_s_.assign(problem.tensors * count() * count(), kInfinity);
    for (std::size_t from = 0; from < count(); ++from) {
        for (std::size_t to = 0; to < count(); ++to) {
            // Routes whose channels are as fast take the same time.
            std::set<std::vector<std::pair<std::uint32_t, double>>> known;
            for (const DeviceId sender : members[from]) {
                for (const DeviceId receiver : members[to]) {
                    if (sender == receiver) continue;
                    std::vector<std::pair<std::uint32_t, double>> channels;
                    const std::size_t route = std::size_t{sender} * problem.devices + receiver;
                    for (auto i = problem.route_begin[route]; i < problem.route_begin[route + 1]; ++i) {
                        const ChannelId channel = problem.route_channel[i];
                        channels.emplace_back(problem.channel_class[channel],
                                              problem.channel_latency_s[channel]);
                    }
                    if (!known.insert(std::move(channels)).second) continue;
                    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
                        double& least_s = transfer_s_[(tensor * count() + from) * count() + to];
                        least_s = std::min(least_s, least_transfer_s(problem, tensor, sender, receiver));
                    }
                }
            }
        }
    }
}

}  // namespace placewright
