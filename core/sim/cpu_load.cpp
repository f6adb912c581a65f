// SPDX-License-Identifier: MIT
#include "core/sim/cpu_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
    double bound_s = 0, here_s = 0, accelerated_s = 0;  // of the ops that it alone may run, and of the others
    for (OpId op = 0; op < problem.ops; ++op) {
        const GroupId group = problem.grouping.group_of[op];
        if (problem.time_s(op, placement[group]) == 0) continue;
        ++load.all_ops;
        if (placement[group] != load.device) continue;
        ++load.ops;
        double fastest_s = std::numeric_limits<double>::infinity();
        for (const DeviceId device : problem.allowed_devices(group)) {
            if (!is_cpu(problem, device)) fastest_s = std::min(fastest_s, problem.time_s(op, device));
        }
        if (std::isinf(fastest_s)) {
            ++load.bound;
            bound_s += problem.time_s(op, load.device);
        } else {
            here_s += problem.time_s(op, load.device);
            accelerated_s += fastest_s;
        }
    }
    if (here_s > bound_s && here_s <= accelerated_s) return {};
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
