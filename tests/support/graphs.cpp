// SPDX-License-Identifier: MIT
#include "tests/support/graphs.hpp"

#include <algorithm>

namespace placewright::test {
namespace {

Op make_op(std::string name, double flops, std::int64_t bytes) {
    Op op;
    op.name = std::move(name);
    op.kind = "matmul";
    op.flops = flops;
    Tensor output;
    output.bytes = bytes;
    op.outputs = {output};
    return op;
}

}  // namespace

Graph chain(std::size_t length, double flops, std::int64_t bytes, Training training) {
    GraphBuilder builder("chain", 1, training);
    for (std::size_t i = 0; i < length; ++i) {
        std::vector<std::string> inputs;
        if (i > 0) inputs.push_back("op" + std::to_string(i - 1));
        builder.add(make_op("op" + std::to_string(i), flops, bytes), inputs);
    }
    return builder.build();
}

Graph fork_join(std::size_t width, double flops, std::int64_t bytes, Training training) {
    GraphBuilder builder("fork-join", 1, training);
    builder.add(make_op("source", flops, bytes), {});
    std::vector<std::string> branches;
    for (std::size_t i = 0; i < width; ++i) {
        branches.push_back("branch" + std::to_string(i));
        builder.add(make_op(branches.back(), flops, bytes), {"source"});
    }
    builder.add(make_op("sink", flops, bytes), branches);
    return builder.build();
}

Graph random_graph(std::uint64_t seed, std::size_t ops, std::size_t max_inputs, Training training) {
    Random random(seed);
    GraphBuilder builder("random" + std::to_string(seed), 1, training);
    std::vector<std::size_t> outputs(ops);
    for (std::size_t i = 0; i < ops; ++i) {
        Op op = make_op("op" + std::to_string(i), random.chance(0.1) ? 0.0 : random.uniform(1e6, 5e9), 0);
        op.outputs[0].bytes = static_cast<std::int64_t>(random.uniform(0, 4e6));
        if (random.chance(0.2)) {
            Tensor second;
            second.bytes = static_cast<std::int64_t>(random.uniform(0, 1e6));
            op.outputs.push_back(second);
        }
        outputs[i] = op.outputs.size();
        if (random.chance(0.4)) op.parameter_bytes = static_cast<std::int64_t>(random.uniform(0, 1e7));
        std::vector<std::string> inputs;
        if (i > 0) {
            const std::size_t count = random.index(max_inputs + 1);
            for (std::size_t k = 0; k < count; ++k) {
                const std::size_t from = i - 1 - random.index(std::min<std::size_t>(i, 12));
                inputs.push_back("op" + std::to_string(from) + ":" +
                                 std::to_string(random.index(outputs[from])));
            }
        }
        builder.add(std::move(op), std::move(inputs));
    }
    return builder.build();
}

Graph random_network(std::uint64_t seed, std::size_t ops, std::size_t max_inputs, Training training) {
    Random random(seed ^ 0x6e6574ULL);
    GraphBuilder builder("network" + std::to_string(seed), 1, training);
    std::vector<std::vector<Tensor>> outputs;
    for (std::size_t i = 0; i < ops; ++i) {
        Op op = make_op("op" + std::to_string(i), random.uniform(0, 5e9),
                        static_cast<std::int64_t>(random.uniform(0, 4e6)));
        std::vector<std::string> inputs;
        const Tensor* first = nullptr;
        const std::size_t count = i == 0 ? 0 : random.index(max_inputs + 1);
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t from = i - 1 - random.index(std::min<std::size_t>(i, 6));
            if (outputs[from].empty()) continue;
            const std::size_t output = random.index(outputs[from].size());
            inputs.push_back("op" + std::to_string(from) + ":" + std::to_string(output));
            if (first == nullptr) first = &outputs[from][output];
        }
        if (first != nullptr && random.chance(0.3)) {
            op.kind = random.chance(0.7) ? "reshape" : "split";
            op.flops = 0;
            op.outputs = {*first};
            if (op.kind == "split") op.outputs[0].bytes /= 2;
            if (op.kind == "split") op.outputs.push_back(op.outputs[0]);
        } else if (first != nullptr && random.chance(0.4)) {
            op.kind = "relu";
            op.in_place = true;
            op.outputs = {*first};
        } else if (random.chance(0.2)) {
            op.outputs.push_back(op.outputs[0]);
        }
        if (random.chance(0.3)) op.parameter_bytes = static_cast<std::int64_t>(random.uniform(0, 1e7));
        if (random.chance(0.2)) {
            op = make_op(op.name, 0, static_cast<std::int64_t>(random.uniform(1, 1e7)));
            op.kind = "parameter";
            op.parameter_bytes = op.outputs[0].bytes;
            inputs.clear();
        }
        if (random.chance(0.3)) op.workspace_bytes = static_cast<std::int64_t>(random.uniform(0, 6e6));
        if (random.chance(0.1)) op.colocate = "together";
        op.sends_together = random.chance(0.3);
        outputs.push_back(op.outputs);
        builder.add(std::move(op), std::move(inputs));
    }
    return builder.build();
}

Graph with_phases(const Graph& graph, std::uint64_t seed) {
    Random random(seed ^ 0x706861ULL);
    GraphBuilder builder(graph.name(), graph.batch(), Training::explicit_);
    std::vector<Phase> phases;
    for (Op op : graph.ops()) {
        const bool reads_gradient = std::ranges::any_of(op.inputs, [&](const TensorRef& input) {
            return phases[input.op] == Phase::backward && graph.op(input.op).outputs[input.output].bytes > 0;
        });
        op.phase = reads_gradient && random.chance(0.5) ? Phase::update
                   : random.chance(0.4)                 ? Phase::backward
                                                        : Phase::forward;
        phases.push_back(op.phase);
        builder.add(std::move(op));
    }
    return builder.build();
}

Graph modular_network(std::uint64_t seed, std::size_t ops) {
    Random random(seed ^ 0x6d6f64ULL);
    GraphBuilder builder("modular" + std::to_string(seed), 1, Training::implicit);
    std::size_t count = 0;
    const auto add = [&](std::vector<std::string> inputs) {
        Op op = make_op("op" + std::to_string(count++), random.uniform(1e7, 5e9),
                        static_cast<std::int64_t>(random.uniform(1e5, 8e6)));
        if (random.chance(0.4)) op.parameter_bytes = static_cast<std::int64_t>(random.uniform(1e4, 5e6));
        std::string name = op.name;
        builder.add(std::move(op), std::move(inputs));
        return name;
    };
    std::string last = add({});
    // An op with parameters becomes three ops of the training step, other ops become two.
    while (static_cast<double>(count) * 2.4 < static_cast<double>(ops)) {
        std::vector<std::string> ends;
        const std::size_t branches = 1 + random.index(5);
        for (std::size_t branch = 0; branch < branches; ++branch) {
            std::string end = last;
            const std::size_t length = 1 + random.index(4);
            for (std::size_t i = 0; i < length; ++i) end = add({end});
            ends.push_back(std::move(end));
        }
        ends.push_back(last);
        last = add(std::move(ends));
    }
    return builder.build();
}

Machine uniform_machine(std::size_t gpus, double memory_bytes) {
    std::vector<Device> devices;
    std::vector<Channel> channels;
    std::vector<Route> routes;
    for (std::size_t i = 0; i < gpus; ++i) {
        Device device;
        device.name = "gpu:" + std::to_string(i);
        device.model = "test";
        device.peak_flops = 1e12;
        device.memory_bandwidth = 1e12;
        device.memory_bytes = memory_bytes;
        devices.push_back(device);
    }
    for (std::size_t from = 0; from < gpus; ++from) {
        for (std::size_t to = 0; to < gpus; ++to) {
            if (from == to) continue;
            Channel channel;
            channel.name = "link" + std::to_string(from) + "-" + std::to_string(to);
            channel.bandwidth = 1e9;
            routes.push_back({static_cast<DeviceId>(from),
                              static_cast<DeviceId>(to),
                              {static_cast<ChannelId>(channels.size())}});
            channels.push_back(channel);
        }
    }
    return Machine("uniform", std::move(devices), std::move(channels), std::move(routes));
}

Machine random_machine(std::uint64_t seed) {
    Random random(seed ^ 0x6d616368ULL);
    const std::size_t count = 1 + random.index(4);
    std::vector<Device> devices;
    std::vector<Channel> channels;
    std::vector<Route> routes;
    for (std::size_t i = 0; i < count; ++i) {
        Device device;
        device.kind = i == 0 && random.chance(0.5) ? DeviceKind::cpu : DeviceKind::gpu;
        device.name = std::string(to_string(device.kind)) + ":" + std::to_string(i);
        device.model = "model" + std::to_string(i);
        device.peak_flops = random.uniform(1e11, 1e13);
        device.memory_bandwidth = random.uniform(1e11, 1e12);
        device.memory_bytes = random.uniform(1e7, 1e9);
        device.efficiency = random.uniform(0.3, 1.0);
        device.launch_overhead_s = random.chance(0.5) ? 5e-6 : 0;
        devices.push_back(device);
        // One uplink and one downlink per device; sometimes a shared bus.
        const std::size_t links = random.chance(0.3) ? 1 : 2;
        for (std::size_t k = 0; k < links; ++k) {
            Channel channel;
            channel.name = "link" + std::to_string(i) + (k == 0 ? "up" : "down");
            channel.bandwidth = random.uniform(1e9, 2e10);
            channel.latency_s = random.chance(0.5) ? 1e-5 : 0;
            channel.efficiency = random.uniform(0.2, 1.0);
            channels.push_back(channel);
        }
    }
    std::vector<ChannelId> up(count), down(count);
    for (std::size_t i = 0; i < channels.size(); ++i) {
        const auto device = static_cast<std::size_t>(channels[i].name[4] - '0');
        if (channels[i].name.ends_with("up"))
            up[device] = down[device] = static_cast<ChannelId>(i);
        else
            down[device] = static_cast<ChannelId>(i);
    }
    for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < count; ++to) {
            if (from == to) continue;
            std::vector<ChannelId> hops{up[from]};
            if (down[to] != up[from] && random.chance(0.7)) hops.push_back(down[to]);
            routes.push_back({static_cast<DeviceId>(from), static_cast<DeviceId>(to), hops});
        }
    }
    return Machine("random" + std::to_string(seed), std::move(devices), std::move(channels),
                   std::move(routes));
}

Machine with_features(const Machine& machine, std::uint64_t seed, const MachineFeatures& features) {
    Random random(seed ^ 0x66656174ULL);
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    std::vector<Route> routes(machine.routes().begin(), machine.routes().end());
    for (Device& device : devices) {
        if (features.streams) {
            device.streams = static_cast<std::uint32_t>(1 + random.index(3));
            device.half_efficiency_flops = random.uniform(0, 1e10);
        }
        if (features.copy_engines) device.copy_engines = static_cast<std::uint32_t>(random.index(3));
    }
    if (features.bus && !routes.empty()) {
        Channel bus;
        bus.name = "bus";
        bus.bandwidth = random.uniform(1e9, 2e10);
        bus.latency_s = 1e-5;
        for (Route& route : routes) {
            if (random.chance(0.7))
                route.channels.insert(route.channels.begin() + 1, static_cast<ChannelId>(channels.size()));
        }
        channels.push_back(bus);
    }
    return Machine(machine.name(), std::move(devices), std::move(channels), std::move(routes),
                   features.crossing);
}

std::shared_ptr<const Problem> problem(Graph graph, Machine machine, const ProblemOptions& options) {
    return make_problem(std::make_shared<const Graph>(std::move(graph)),
                        std::make_shared<const Machine>(std::move(machine)), options);
}

std::shared_ptr<const Problem> with_whole_seconds(const Problem& problem, Random& random) {
    Problem whole = problem;
    whole.tick_s = 1;
    for (double& time : whole.op_time_s) time = static_cast<double>(random.index(3));
    for (double& time : whole.accumulate_s) time = static_cast<double>(random.index(2));
    // All channels of a class have the same latency.
    for (double& latency : whole.channel_latency_s) latency = latency > 0 ? 1 : 0;
    for (std::size_t i = 0; i < whole.transfer_s.size(); ++i) {
        const auto channel =
            std::ranges::find(whole.channel_class, i % whole.channel_classes) - whole.channel_class.begin();
        whole.transfer_s[i] =
            whole.channel_latency_s[static_cast<std::size_t>(channel)] + static_cast<double>(random.index(2));
    }
    return std::make_shared<const Problem>(std::move(whole));
}

Placement random_placement(const Problem& problem, Random& random) {
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group)
        placement[group] = random.pick(problem.allowed_devices(group));
    return placement;
}

}  // namespace placewright::test
