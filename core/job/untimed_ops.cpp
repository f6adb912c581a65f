// SPDX-License-Identifier: MIT
#include "core/job/untimed_ops.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/cost/cost_model.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {

std::string unmeasured_text(const Problem& problem) {
    const Machine& machine = *problem.machine;
    // Devices of one model may be called differently: the catalogue knows their names.
    std::map<std::string, DeviceId> devices;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        const Device& each = machine.device(device);
        devices.emplace(each.known ? each.known->model : each.model, device);
    }
    const auto all = static_cast<std::size_t>(std::ranges::count_if(problem.graph->ops(), computes));
    std::string text;
    for (const auto& [model, device] : devices) {
        std::size_t missing = 0;
        for (OpId op = 0; op < problem.ops; ++op) missing += is_predicted(problem, op, device) ? 1 : 0;
        if (missing == 0) continue;
        const std::string ops = std::to_string(all);
        text += text.empty() ? "" : ", ";
        text += missing == all ? "none of " + ops + " ops has a measured time for "
                               : std::to_string(missing) + " of " + ops + " ops have no measured time for ";
        text += printable(machine.device(device).model, 80);
    }
    if (text.empty()) return text;
    text += ": the roofline model estimates them";
    std::set<std::string> unused;
    for (const Op& op : problem.forward->ops()) {
        for (const auto& [model, time] : op.time_s) unused.insert(model);
    }
    std::erase_if(unused, [&](const std::string& model) {
        return std::ranges::any_of(machine.devices(),
                                   [&](const Device& device) { return is_called(device, model); });
    });
    if (unused.empty()) return text;
    text += "; the network has times for";
    for (const std::string& model : unused)
        text += (model == *unused.begin() ? " " : ", ") + printable(model, 80);
    return text + ", but no device here has such a model";
}

std::string replaced_links_text(const Machine& given, const Machine& used) {
    const auto differs = [](double a, double b) { return a > 2 * b || b > 2 * a; };
    const auto speed = [](const Channel& channel) {
        double share = channel.efficiency_by_bytes.empty() ? channel.efficiency : 0;
        for (const auto& [bytes, efficiency] : channel.efficiency_by_bytes)
            share = std::max(share, efficiency);
        return share * channel.bandwidth;
    };
    const auto figures = [&](const Channel& channel) {
        return format_seconds(channel.latency_s) + ", " + format_bytes(speed(channel)) + "/s";
    };
    std::string first;
    std::size_t others = 0;
    for (ChannelId id = 0; id < given.channels().size(); ++id) {
        const Channel &before = given.channels()[id], &now = used.channels()[id];
        if (!differs(before.latency_s, now.latency_s) && !differs(speed(before), speed(now))) continue;
        if (!first.empty()) {
            ++others;
            continue;
        }
        first = printable(before.name, 80) + ": " + figures(now) + " (" + figures(before) +
                " by the machine file)";
    }
    if (first.empty()) return first;
    return "the transfers of the profile replace the figures of " + first +
           (others > 0 ? " and of " + std::to_string(others) + (others == 1 ? " more link" : " more links")
                       : "") +
           "; they were measured between devices of the same models";
}

}  // namespace placewright
