// SPDX-License-Identifier: MIT
#include "core/sim/op_loads.hpp"

#include "core/base/infinity.hpp"

namespace placewright {
double part_of_device(const Problem& problem, OpId op, DeviceId device, DevicePart part) {
    const std::uint32_t streams = problem.machine->device(device).streams;
    if (streams == 1) return 1;
    return part == DevicePart::stream ? 1.0 / streams
                                      : problem.op_share[std::size_t{op} * problem.devices + device];
}

OpSeconds op_seconds(const Problem& problem, OpId op, DeviceId device, std::uint32_t batches) {
    const double time_s = problem.time_s(op, device);
    if (!problem.accumulates || batches == 1 || problem.graph->op(op).phase != Phase::update)
        return {time_s, time_s};
    const double added_s = problem.accumulate_s[std::size_t{op} * problem.devices + device] * (batches - 1);
    return {0, (added_s + time_s) / batches};
}

GroupLoads group_loads(const Problem& problem, std::uint32_t batches, DevicePart part) {
    GroupLoads loads;
    loads.time_s.assign(std::size_t{problem.groups} * problem.devices, kInfinity);
    loads.resident_bytes.assign(problem.groups, 0);
    for (GroupId group = 0; group < problem.groups; ++group) {
        for (const DeviceId device : problem.allowed_devices(group)) {
            double& sum_s = loads.time_s[std::size_t{group} * problem.devices + device] = 0;
            for (const OpId op : problem.grouping.members[group]) {
                sum_s += op_seconds(problem, op, device, batches).mean_s *
                         part_of_device(problem, op, device, part);
            }
        }
        for (const OpId op : problem.grouping.members[group])
            loads.resident_bytes[group] += problem.end_bytes(op);
    }
    return loads;
}

}  // namespace placewright
