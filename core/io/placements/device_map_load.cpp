// SPDX-License-Identifier: MIT
#include "core/io/placements/device_map_load.hpp"

#include <algorithm>

#include "core/io/placements/name_tree.hpp"

namespace placewright {

LoadedMap load_device_map(const Problem& problem, const MapModules& modules, const MapEntries& entries) {
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    LoadedMap loaded;
    loaded.placement.assign(problem.groups, kInvalidDevice);
    const auto place_of = [&](OpId op) -> DeviceId& {
        return loaded.placement[problem.grouping.group_of[op]];
    };
    const auto allowed = [&](OpId op) { return problem.allowed_devices(problem.grouping.group_of[op]); };
    const auto put = [&](OpId op, DeviceId device, bool must) {
        DeviceId& place = place_of(op);
        const std::string& name = problem.graph->op(op).name;
        if (place != kInvalidDevice && place != device && must) loaded.apart.add(name);
        if (place != kInvalidDevice) return;
        place = device;
        if (!std::ranges::binary_search(allowed(op), device))
            loaded.not_allowed.add(name, "on", problem.machine->device(device).name);
    };
    // Parameters must be on their device of the map; the other ops of a group follow them.
    std::vector<bool> told(problem.graph->size(), false);
    for (const auto& item : modules.items) {
        if (!item.holds) continue;
        std::vector<std::string> names = item.parameters;
        if (names.empty()) names = {item.scope};
        for (const std::string& name : names) {
            const DeviceId device = tree.device_of(name);
            if (device == kInvalidDevice) loaded.missing.add(name);
            if (device != kInvalidDevice) put(item.op, device, true);
        }
        told[item.op] = true;
    }
    for (const auto& item : modules.items) {
        const DeviceId device = tree.device_of(item.scope);
        if (item.holds || device == kInvalidDevice) continue;
        put(item.op, device, false);
        told[item.op] = true;
    }
    const auto follow = [&](OpId op, OpId other) {
        place_of(op) = place_of(other);
        if (std::ranges::binary_search(allowed(op), place_of(op))) return;
        place_of(op) = allowed(op).front();
        loaded.moved.add(problem.graph->op(op).name);
    };
    for (OpId id = 0; id < problem.graph->size(); ++id) {
        const Op& op = problem.graph->op(id);
        if (op.phase == Phase::forward && !op.autocast) ++(told[id] ? loaded.by_module : loaded.following);
        if (place_of(id) != kInvalidDevice) continue;
        const TensorRef* largest = nullptr;
        const auto bytes = [&](const TensorRef& ref) {
            return problem.graph->op(ref.op).outputs[ref.output].bytes;
        };
        for (const TensorRef& input : op.inputs) {
            if (place_of(input.op) != kInvalidDevice &&
                (largest == nullptr || bytes(input) > bytes(*largest)))
                largest = &input;
        }
        if (largest != nullptr) follow(id, largest->op);
    }
    for (OpId id = static_cast<OpId>(problem.graph->size()); id-- > 0;) {
        if (place_of(id) != kInvalidDevice) continue;
        for (const OpId reader : problem.graph->consumers(id)) {
            if (place_of(reader) == kInvalidDevice) continue;
            follow(id, reader);
            break;
        }
    }
    for (GroupId group = 0; group < problem.groups; ++group) {
        if (loaded.placement[group] == kInvalidDevice)
            loaded.placement[group] = problem.allowed_devices(group).front();
    }
    return loaded;
}

}  // namespace placewright
