// SPDX-License-Identifier: MIT
#include "core/job/untimed_ops.hpp"

#include <algorithm>
#include <set>

#include "core/base/text.hpp"

namespace placewright {

std::string unmeasured_text(const Graph& graph, const Machine& machine) {
    std::set<std::string> models, measured;
    for (const Op& op : graph.ops()) {
        for (const auto& [model, time] : op.time_s) measured.insert(model);
    }
    for (const Device& device : machine.devices()) models.insert(device.model);
    std::string text;
    for (const std::string& model : models) {
        const auto missing = static_cast<std::size_t>(std::ranges::count_if(graph.ops(), [&](const Op& op) {
            const auto time = op.time_s.find(model);
            return time == op.time_s.end() || !time->second.forward_s;
        }));
        if (missing == 0) continue;
        const std::string ops = std::to_string(graph.size());
        text += text.empty() ? "" : ", ";
        text += missing == graph.size()
                    ? "none of " + ops + " ops has a measured time for "
                    : std::to_string(missing) + " of " + ops + " ops have no measured time for ";
        text += printable(model, 80);
    }
    if (text.empty()) return text;
    text += ": the roofline model estimates them";
    for (const std::string& model : models) measured.erase(model);
    if (measured.empty()) return text;
    text += "; the network has times for";
    for (const std::string& model : measured)
        text += (model == *measured.begin() ? " " : ", ") + printable(model, 80);
    return text + ", but no device here has such a model";
}

}  // namespace placewright
