// SPDX-License-Identifier: MIT
#include "core/sim/max_load.hpp"

#include <algorithm>
#include <limits>

namespace placewright {

Evaluation max_load(const Problem& problem, std::span<const DeviceId> placement) {
    const HostMemory host(problem);
    Evaluation result = evaluate_memory(problem, placement);
    const auto device_of = [&](OpId op) { return placement[problem.grouping.group_of[op]]; };
    for (OpId op = 0; op < problem.ops; ++op)
        result.device_s[device_of(op)] += problem.time_s(op, device_of(op));

    std::vector<TensorId> last_read(problem.devices, std::numeric_limits<TensorId>::max());
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        const DeviceId from = device_of(problem.producer[tensor]);
        bool leaves = false;
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
            const DeviceId to = device_of(problem.consumer[i]);
            if (to == from || last_read[to] == tensor) continue;
            last_read[to] = tensor;
            leaves = true;
            result.device_s[to] += host.read_s(tensor, to);
        }
        if (leaves) result.device_s[from] += host.write_s(tensor, from);
    }
    result.seconds = std::ranges::max(result.device_s);
    return result;
}

}  // namespace placewright
