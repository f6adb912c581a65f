// SPDX-License-Identifier: MIT
// A network and a device with round figures, for tests of times and problems.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright::test {

inline Device device_of(double peak_flops, double memory_bandwidth, double efficiency,
                        double launch_overhead_s) {
    Device device;
    device.name = "gpu:0";
    device.model = "Test";
    device.peak_flops = peak_flops;
    device.memory_bandwidth = memory_bandwidth;
    device.memory_bytes = 1e9;
    device.efficiency = efficiency;
    device.launch_overhead_s = launch_overhead_s;
    return device;
}

inline Op op_of(const char* name, const char* kind, double flops, std::vector<std::int64_t> shape) {
    Op op;
    op.name = name;
    op.kind = kind;
    op.flops = flops;
    op.outputs = {make_tensor(std::move(shape))};
    return op;
}

/// input 400 bytes -> conv with 1000 output bytes, 600 bytes of parameters, 1e6 FLOPs -> second, 80 bytes ->
/// flat -> loss, which reads it twice.
inline Graph small_network(Training training = Training::implicit) {
    GraphBuilder builder("small", 1, training);
    Op conv = op_of("conv", "conv2d", 1e6, {250});
    conv.parameter_bytes = 600;
    conv.attributes["padding"] = "[1,2]";
    conv.time_s["Test"] = {.forward_s = 0.25, .backward_s = 0.5};
    Op second = op_of("second", "conv2d", 2e6, {250});
    second.parameter_bytes = 80;
    second.time_s["Test"] = {.forward_s = 0.125, .backward_s = 0.75};
    builder.add(op_of("input", "input", 0, {1, 1, 10, 10}), {});
    builder.add(conv, {"input"});
    builder.add(second, {"conv"});
    builder.add(op_of("flat", "flatten", 0, {250}), {"second"});
    builder.add(op_of("loss", "cross_entropy", 100, {}), {"flat", "flat"});
    return builder.build();
}

/// Seconds by the cost model of that id.
inline double model_time_s(std::string_view id, const Graph& graph, OpId op, const Device& device,
                           double optimizer_states = 0) {
    double time_s = 0;
    find_cost_model(id)->op_times_s(graph, op, {&device, 1}, optimizer_states, {&time_s, 1});
    return time_s;
}

inline ProblemOptions with_states(double states, bool inference = false) {
    ProblemOptions options;
    options.optimizer_states = states;
    options.inference = inference;
    return options;
}

inline Machine machine_of(std::vector<Device> devices, std::vector<Channel> channels,
                          std::vector<Route> routes) {
    return Machine("machine", std::move(devices), std::move(channels), std::move(routes));
}

}  // namespace placewright::test
