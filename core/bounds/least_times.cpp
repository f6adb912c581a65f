// SPDX-License-Identifier: MIT
#include "core/bounds/least_times.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/sim/op_loads.hpp"

namespace placewright {

double least_transfer_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to) {
    const std::size_t route = std::size_t{from} * problem.devices + to;
    double latency_s = 0, sum_s = 0, longest_s = 0;
    for (auto i = problem.route_begin[route]; i < problem.route_begin[route + 1]; ++i) {
        const ChannelId channel = problem.route_channel[i];
        const double one_s =
            problem
                .transfer_s[std::size_t{tensor} * problem.channel_classes + problem.channel_class[channel]];
        latency_s += problem.channel_latency_s[channel];
        sum_s += one_s;
        longest_s = std::max(longest_s, one_s - problem.channel_latency_s[channel]);
    }
    return problem.crossing == Crossing::cut_through ? latency_s + longest_s : sum_s;
}

double rounds_a_batch(const SimulationOptions& options) {
    const std::uint32_t overlap = std::max(1U, options.batches_in_flight());
    return static_cast<double>((options.batches + overlap - 1) / overlap) / options.batches;
}

std::vector<double> least_times_s(const Problem& problem, std::uint32_t batches) {
    std::vector<double> seconds(std::size_t{problem.ops} * problem.devices, kInfinity);
    for (OpId op = 0; op < problem.ops; ++op) {
        for (const DeviceId device : problem.allowed_devices(problem.grouping.group_of[op]))
            seconds[std::size_t{op} * problem.devices + device] =
                op_seconds(problem, op, device, batches).least_s;
    }
    return seconds;
}

std::vector<double> least_transfers_s(const Problem& problem) {
    std::vector<double> seconds(problem.tensors, kInfinity);
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        for (DeviceId from = 0; from < problem.devices; ++from) {
            for (DeviceId to = 0; to < problem.devices; ++to) {
                if (from != to)
                    seconds[tensor] = std::min(seconds[tensor], least_transfer_s(problem, tensor, from, to));
            }
        }
    }
    return seconds;
}

std::vector<double> fastest_of(const Problem& problem, std::span<const double> times_s) {
    std::vector<double> fastest;
    for (OpId op = 0; op < problem.ops; ++op) {
        const auto own = times_s.begin() + static_cast<std::ptrdiff_t>(std::size_t{op} * problem.devices);
        fastest.push_back(*std::min_element(own, own + static_cast<std::ptrdiff_t>(problem.devices)));
    }
    return fastest;
}

}  // namespace placewright
