// SPDX-License-Identifier: MIT
#include "core/sim/cpu_load.hpp"

#include <algorithm>
#include <cmath>

namespace placewright {
namespace {

constexpr double kDominating = 0.5;

bool is_cpu(const Problem& problem, DeviceId device) {
    return problem.machine->device(device).kind == DeviceKind::cpu;
}

}  // namespace

std::optional<CpuLoad> dominating_cpu(const Problem& problem, std::span<const DeviceId> placement,
                                      const Outcome& outcome) {
    CpuLoad load;
    bool accelerators = false;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (!is_cpu(problem, device)) {
            accelerators = true;
            continue;
        }
        const double whole_s = outcome.total_time_s * problem.machine->device(device).streams;
        const double share = whole_s > 0 ? outcome.device_busy_s[device] / whole_s : 0;
        if (share <= load.share) continue;
        load.device = device;
        load.share = share;
    }
    if (!accelerators || load.share < kDominating) return {};
    for (OpId op = 0; op < problem.ops; ++op) {
        const GroupId group = problem.grouping.group_of[op];
        if (problem.time_s(op, placement[group]) == 0) continue;
        ++load.all_ops;
        if (placement[group] != load.device) continue;
        ++load.ops;
        if (std::ranges::all_of(problem.allowed_devices(group),
                                [&](DeviceId device) { return is_cpu(problem, device); }))
            ++load.bound;
    }
    return load;
}

std::string to_text(const CpuLoad& load, const Problem& problem) {
    const std::string& name = problem.machine->device(load.device).name;
    const bool trains = problem.graph->size() > problem.forward->size();
    std::string text = name + " runs " + std::to_string(load.ops) + " of " + std::to_string(load.all_ops) +
                       (trains ? " forward, backward and update ops" : " ops") + " and takes " +
                       std::to_string(std::lround(load.share * 100)) + " % of the step: ";
    if (load.bound == 0) return text + "place them on accelerators, or make room for them there";
    text += load.bound == load.ops ? "they" : std::to_string(load.bound) + " of them";
    return text +
           " may run on CPUs alone; if an accelerator can run them, change their \"devices\" in the "
           "network file";
}

}  // namespace placewright
