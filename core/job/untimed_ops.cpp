// SPDX-License-Identifier: MIT
#include "core/job/untimed_ops.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.hpp"
#include "core/cost/cost_model.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {

std::string unmeasured_text(const Graph& graph, const Machine& machine) {
    // Devices of one model may be called differently: the catalogue knows their names.
    std::map<std::string, const Device*> devices;
    for (const Device& device : machine.devices())
        devices.emplace(device.known ? device.known->model : device.model, &device);
    std::string text;
    for (const auto& [model, device] : devices) {
        const auto missing = static_cast<std::size_t>(std::ranges::count_if(
            graph.ops(), [&](const Op& op) { return !measured_time_s(op, *device).has_value(); }));
        if (missing == 0) continue;
        const std::string ops = std::to_string(graph.size());
        text += text.empty() ? "" : ", ";
        text += missing == graph.size()
                    ? "none of " + ops + " ops has a measured time for "
                    : std::to_string(missing) + " of " + ops + " ops have no measured time for ";
        text += printable(device->model, 80);
    }
    if (text.empty()) return text;
    text += ": the roofline model estimates them";
    std::set<std::string> unused;
    for (const Op& op : graph.ops()) {
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

}  // namespace placewright
