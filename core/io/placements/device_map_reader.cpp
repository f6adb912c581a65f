// SPDX-License-Identifier: MIT
#include "core/io/placements/device_map_reader.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "core/base/text.hpp"
#include "core/io/placements/device_map_load.hpp"
#include "core/io/placements/device_map_modules.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {

bool is_device_map(const JsonValue& root, const Problem& problem) {
    if (!root.json().is_object() || root.json().empty()) return false;
    const MapModules modules(problem);
    bool has_text = false, has_module = false, all_modules = true;
    std::size_t ops = 0;
    for (const auto& [key, value] : root.json().items()) {
        if (!value.is_number_integer() &&
            !(value.is_string() && names_device(value.get_ref<const std::string&>())))
            return false;
        const bool is_op = problem.network->find(key).has_value(), is_module = modules.knows(key);
        has_text |= value.is_string();
        has_module |= is_module && !is_op;
        all_modules &= is_module;
        ops += is_op;
    }
    return has_text || has_module || (all_modules && ops < modules.items.size());
}

Placement read_device_map(const JsonFile& file, const JsonValue& root, const Problem& problem,
                          std::vector<std::string>* notes) {
    const MapModules modules(problem);
    std::vector<DeviceId> gpus;
    DeviceId cpu = kInvalidDevice;
    for (DeviceId id = 0; id < problem.devices; ++id) {
        if (problem.machine->device(id).kind != DeviceKind::cpu) {
            gpus.push_back(id);
        } else if (cpu == kInvalidDevice) {
            cpu = id;
        }
    }
    MapEntries entries;
    NameList unknown;
    root.for_each_member([&](const std::string& key, const JsonValue& value) {
        std::string text = value.json().is_string() ? value.text() : "cuda:" + std::to_string(value.whole());
        if (text == "cuda" || text == "mps") text += ":0";
        const std::size_t colon = text.find(':');
        const std::string kind = text.substr(0, colon);
        std::size_t number = 0;
        const char* const end = text.data() + text.size();
        const bool is_number =
            colon == std::string::npos ||
            (std::from_chars(text.data() + colon + 1, end, number).ptr == end && colon + 1 < text.size());
        DeviceId device = kInvalidDevice;
        if (kind == "cpu" && is_number) device = cpu;
        if ((kind == "cuda" || kind == "mps") && colon != std::string::npos && is_number &&
            number < gpus.size())
            device = gpus[number];
        if (device == kInvalidDevice) {
            value.fail("is " + (value.json().is_string() ? in_quotes(text) : value.json().dump()) +
                       ", expected the number of a GPU of the machine, which has " +
                       std::to_string(gpus.size()) + (cpu == kInvalidDevice ? "" : ", or \"cpu\""));
        }
        if (!modules.knows(key)) unknown.add(key);
        entries.emplace_back(key, device);
    });
    LoadedMap loaded = load_device_map(problem, modules, entries);
    std::string fault;
    const auto add_fault = [&](const char* what, const NameList& names) {
        if (!names.empty()) fault += (fault.empty() ? "" : "; ") + std::string(what) + names.text();
    };
    add_fault("no device for the parameters: ", loaded.missing);
    if (!loaded.missing.empty()) fault += "; add them or modules that hold them";
    add_fault("ops that belong together on different devices: ", loaded.apart);
    add_fault("ops on devices that they do not allow: ", loaded.not_allowed);
    if (!fault.empty() && !unknown.empty()) add_fault("keys that match no module: ", unknown);
    if (!loaded.missing.empty()) {
        // If all keys are also names of ops, the file may be an incomplete placement.
        const auto is_op = [&](const auto& entry) { return problem.network->find(entry.first).has_value(); };
        NameList ops;
        if (std::ranges::all_of(entries, is_op)) {
            std::set<std::string_view> given;
            for (const auto& [name, device] : entries) given.insert(name);
            for (const Op& op : problem.network->ops()) {
                if (!given.contains(op.name)) ops.add(op.name);
            }
        }
        add_fault("as a placement by op, it has ops without a device: ", ops);
    }
    if (!fault.empty()) file.fail("device map", fault);
    if (notes != nullptr) {
        notes->push_back("read as a device map: " + std::to_string(loaded.by_module) +
                         " ops are on the device of their module, " + std::to_string(loaded.following) +
                         " on that of their largest input");
        const auto on_cpu = [&](DeviceId device) {
            return problem.machine->device(device).kind == DeviceKind::cpu;
        };
        if (std::ranges::any_of(loaded.placement, on_cpu) && !std::ranges::all_of(loaded.placement, on_cpu))
            notes->push_back(
                "modules on \"cpu\" run there in the simulation; Accelerate runs them on the first GPU of "
                "the map");
        if (!unknown.empty()) notes->push_back("keys that match no module of the network: " + unknown.text());
        if (!loaded.moved.empty())
            notes->push_back("ops that are not allowed on the device of their input: " + loaded.moved.text());
    }
    return std::move(loaded.placement);
}

}  // namespace placewright
