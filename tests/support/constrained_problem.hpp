// SPDX-License-Identifier: MIT
// A machine with a CPU, and a problem some of whose ops may run only on some devices.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "tests/support/graphs.hpp"

namespace placewright::test {

/// uniform_machine with a "cpu:0" of a tenth of a GPU's speed before the GPUs.
inline Machine machine_with_cpu(std::size_t gpus) {
    const Machine uniform = uniform_machine(gpus + 1);
    std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
    for (std::size_t i = 0; i < devices.size(); ++i)
        devices[i].name = i == 0 ? "cpu:0" : "gpu:" + std::to_string(i - 1);
    devices[0].kind = DeviceKind::cpu;
    devices[0].peak_flops /= 10;
    return Machine("with-cpu", devices, {uniform.channels().begin(), uniform.channels().end()},
                   {uniform.routes().begin(), uniform.routes().end()});
}

/// The graph with the device constraints `devices`, by op name.
inline Graph constrained(const Graph& graph, const std::map<std::string, std::vector<std::string>>& devices) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (const Op& op : graph.ops()) {
        std::vector<std::string> inputs;
        for (const TensorRef& input : op.inputs)
            inputs.push_back(graph.op(input.op).name + ":" + std::to_string(input.output));
        Op copy = op;
        if (const auto found = devices.find(op.name); found != devices.end()) copy.devices = found->second;
        builder.add(copy, inputs);
    }
    return builder.build();
}

inline std::shared_ptr<const Problem> constrained_problem(std::uint64_t seed) {
    return problem(constrained(random_graph(seed, 30, 3, Training::implicit), {{"op0", {"cpu"}},
                                                                               {"op3", {"gpu:1"}},
                                                                               {"op7", {"cpu", "gpu:0"}},
                                                                               {"op8", {"gpu"}},
                                                                               {"op20", {"gpu:0", "gpu:2"}}}),
                   machine_with_cpu(3));
}

}  // namespace placewright::test
