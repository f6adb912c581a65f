// SPDX-License-Identifier: MIT
#include "core/sim/device_contents.hpp"

namespace placewright {

std::vector<DeviceContents> contents_of(const Problem& problem, std::span<const DeviceId> placement) {
    std::vector<DeviceContents> contents(problem.devices);
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        if (op.phase != Phase::forward || op.recomputes) continue;
        DeviceContents& on = contents[placement[problem.grouping.group_of[id]]];
        on.weight_bytes += static_cast<double>(op.parameter_bytes);
        on.cache_bytes += problem.cache_bytes(id);
    }
    return contents;
}

}  // namespace placewright
