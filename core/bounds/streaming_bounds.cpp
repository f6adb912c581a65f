// SPDX-License-Identifier: MIT
#include "core/bounds/streaming_bounds.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace placewright {
namespace {

/// The least seconds in which a channel carries what ops read that hold `left_bytes` in all.
double least_seconds_of(const Problem& problem, std::size_t channel_class, double left_bytes) {
    struct Item {
        double bytes = 0, seconds = 0;
    };
    std::vector<Item> items;
    for (OpId op = 0; op < problem.ops; ++op) {
        Item item{problem.resident_bytes[op], 0};
        if (item.bytes == 0) continue;
        if (const TensorId read = problem.streamed[op]; read != kNoTensor)
            item.seconds = problem.transfer_s[std::size_t{read} * problem.channel_classes + channel_class];
        items.push_back(item);
    }
    std::ranges::sort(items, {}, [](const Item& item) { return item.seconds / item.bytes; });
    double seconds = 0;
    for (const Item& item : items) {
        const double share = std::min(1.0, left_bytes / item.bytes);
        seconds += share * item.seconds;
        left_bytes -= share * item.bytes;
        if (left_bytes <= 0) break;
    }
    return seconds;
}

}  // namespace

std::optional<Problem> without_streams(const Problem& problem) {
    if (!problem.streams_to) return {};
    Problem still = problem;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        for (OpId op = 0; op < problem.ops; ++op)
            still.op_time_s[std::size_t{op} * problem.devices + device] =
                problem.time_s(op, problem.runs_on(device));
    }
    if (!problem.op_share.empty()) {
        // What is placed on a CPU shares the device that runs it.
        std::vector<Device> devices(problem.machine->devices().begin(), problem.machine->devices().end());
        for (DeviceId device = 0; device < problem.devices; ++device) {
            const DeviceId runner = problem.runs_on(device);
            devices[device].streams = problem.machine->device(runner).streams;
            for (OpId op = 0; op < problem.ops; ++op)
                still.op_share[std::size_t{op} * problem.devices + device] =
                    problem.op_share[std::size_t{op} * problem.devices + runner];
        }
        const Machine& machine = *problem.machine;
        still.machine = std::make_shared<const Machine>(
            machine.name(), std::move(devices),
            std::vector<Channel>(machine.channels().begin(), machine.channels().end()),
            std::vector<Route>(machine.routes().begin(), machine.routes().end()), machine.crossing());
    }
    std::ranges::fill(still.transfer_s, 0.0);
    std::ranges::fill(still.channel_latency_s, 0.0);
    still.streams_to.reset();
    still.streamed.clear();
    return still;
}

std::optional<double> least_streaming_s(const Problem& problem) {
    if (!problem.streams_to) return {};
    std::optional<DeviceId> cpu;
    double left_bytes = std::accumulate(problem.resident_bytes.begin(), problem.resident_bytes.end(), 0.0);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (problem.runs_on(device) == device) {
            left_bytes -= problem.memory_limit_bytes[device];
        } else if (cpu) {
            return {};
        } else {
            cpu = device;
        }
    }
    if (left_bytes <= 0) return {};

    const std::size_t route = std::size_t{*cpu} * problem.devices + *problem.streams_to;
    double seconds = 0;
    for (auto i = problem.route_begin[route]; i < problem.route_begin[route + 1]; ++i)
        seconds = std::max(
            seconds, least_seconds_of(problem, problem.channel_class[problem.route_channel[i]], left_bytes));
    return seconds;
}

}  // namespace placewright
