// SPDX-License-Identifier: MIT
#include "core/io/placements/device_map.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/placements/device_map_load.hpp"
#include "core/io/placements/device_map_modules.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/placements/name_tree.hpp"
#include "core/io/placements/residual_blocks.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {
namespace {

std::string list(const std::vector<std::string>& names) {
    NameList result;
    for (const std::string& name : names) result.add(name);
    return result.text();
}

std::string devices_text(const Problem& problem, const std::set<DeviceId>& devices) {
    std::string text;
    for (const DeviceId device : devices)
        text += (text.empty() ? "" : ", ") + problem.machine->device(device).name;
    return text;
}

MapEntries full_entries(const PlacedNetwork& placed, const MapModules& modules) {
    MapEntries entries;
    std::map<std::string, std::set<DeviceId>> devices;
    for (const auto& item : modules.items) {
        const DeviceId device = placed.placement[placed.problem->grouping.group_of[item.op]];
        for (std::string& key : modules.keys(item)) {
            if (devices[key].insert(device).second && devices[key].size() == 1)
                entries.emplace_back(std::move(key), device);
        }
    }
    // A run need not place a module without parameters that is called on several devices.
    std::erase_if(entries, [&](const auto& entry) { return devices[entry.first].size() > 1; });
    // The key of a module also places its other ops, unlike keys of its parameters, but it must not match
    // modules on other devices.
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    for (auto& [key, device] : entries) {
        std::string module = module_of(key);
        if (modules.names.contains(key) && !module.empty() && tree.is_whole(module)) key = std::move(module);
    }
    std::erase_if(entries, [seen = std::set<std::string>()](const auto& entry) mutable {
        return !seen.insert(entry.first).second;
    });
    return entries;
}

MapEntries compacted(const MapEntries& entries) {
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    MapEntries result;
    std::set<std::string> seen;
    for (const auto& [key, device] : entries) {
        std::string merged = tree.merged(key);
        if (seen.insert(merged).second) result.emplace_back(std::move(merged), device);
    }
    return result;
}

/// Returns the depth at which groups by module cut neither a module nor a residual connection: that of
/// `module` ("layer1.0.conv1") or, if smaller, of the outermost block.
std::uint32_t depth_for_modules(const Graph& graph, const std::string& module) {
    const auto depth = static_cast<std::uint32_t>(std::ranges::count(module, '.') + 1);
    return std::min(depth, depth_of_blocks(graph).value_or(depth));
}

std::string search_by_modules(const Graph& graph, const std::string& module) {
    const std::string depth = std::to_string(depth_for_modules(graph, module));
    return "To avoid this, search with whole modules: Run > Simulation > Groups > Grouping, by module, "
           "with depth " +
           depth + " (--group scope:" + depth + ")";
}

std::string cut_blocks(const Problem& problem, const Placement& placement, std::set<OpId>& adds) {
    NameList cut;
    std::string first;
    std::set<std::string> seen;
    for (const ResidualBlock& block : residual_blocks(*problem.graph)) {
        const std::string& add = problem.graph->op(block.add).name;
        std::set<DeviceId> devices;
        for (const OpId op : block.ops) devices.insert(placement[problem.grouping.group_of[op]]);
        if (devices.size() > 1) adds.insert(block.add);
        if (devices.size() < 2 || !seen.insert(block.scope.empty() ? add : block.scope).second) continue;
        if (first.empty()) first = dotted(block.scope);
        cut.add((block.scope.empty() ? "joined by " + add : dotted(block.scope)) + " (" +
                devices_text(problem, devices) + ')');
    }
    if (cut.empty()) return {};
    return "blocks with a residual connection are cut: " + cut.text() +
           "; at the add, PyTorch may stop with \"Expected all tensors to be on the same device\"" +
           (first.empty() ? std::string() : ". " + search_by_modules(*problem.graph, first));
}

MapEntries entries_of(const PlacedNetwork& placed, const MapModules& modules, DeviceMapForm form) {
    const MapEntries full = full_entries(placed, modules);
    return form == DeviceMapForm::compact ? compacted(full) : full;
}

/// Throws PlacementError if a unit of modules is on several devices.
void refuse_apart(const PlacedNetwork& placed, const MapModules& modules) {
    const Problem& problem = *placed.problem;
    std::vector<std::string> apart, cut;
    std::string deepest;
    bool share = false;  // modules that share parameters stay together under any grouping
    for (const MapUnit& unit : units_of(problem, modules)) {
        if (!unit.is_apart(placed.placement)) continue;
        std::set<DeviceId> devices;
        for (const GroupId group : unit.groups) devices.insert(placed.placement[group]);
        if (!unit.block.empty()) {
            cut.push_back(unit.block + " on " + devices_text(problem, devices));
            continue;
        }
        std::string name = unit.owners.front();
        if (std::ranges::count(name, '.') > std::ranges::count(deepest, '.') || deepest.empty())
            deepest = name;
        share = share || unit.owners.size() > 1;
        if (unit.owners.size() > 1)
            name += " with " + std::to_string(unit.owners.size() - 1) +
                    " more that share its parameters or groups";
        apart.push_back(name + " on " + devices_text(problem, devices));
    }
    if (!cut.empty())
        throw PlacementError("a device map cannot cut a block: " + list(cut) +
                             "; search with whole blocks (without --split-layers), or repair it: repairing "
                             "(--repair) moves each block to the device of most of its parameters");
    if (!apart.empty()) {
        throw PlacementError("a device map cannot put a module on several devices: " + list(apart) +
                             "; repairing it (--repair) moves each to the device of most of its parameters" +
                             (share ? std::string() : ". " + search_by_modules(*problem.graph, deepest)));
    }
}

/// Whether a value is one number, which PyTorch reads from the CPU on any device.
bool is_number(const Tensor& tensor) {
    return tensor.shape && tensor.shape->empty();
}

/// Warns of ops that are in no module of the map and read tensors of several devices: nothing moves these
/// tensors. `joined` are the adds of residual connections, of which there is a warning already.
void warn_of_joins(const Problem& problem, const MapModules& modules, const MapEntries& entries,
                   const std::set<OpId>& joined, WrittenPlacement& written) {
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    const Graph& graph = *problem.graph;
    // Where the weights of an op are, and then its result.
    std::vector<DeviceId> device_of(graph.size(), kInvalidDevice);
    for (const auto& item : modules.items) {
        if (!item.parameters.empty()) device_of[item.op] = tree.device_of(item.parameters.front());
    }
    NameList apart;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase != Phase::forward || op.kind == "input") continue;
        if (const DeviceId device = tree.device_of(dotted(op.scope)); device != kInvalidDevice) {
            device_of[id] = device;
            continue;
        }
        std::set<DeviceId> devices;
        const auto reads = [&](DeviceId device) {
            if (device == kInvalidDevice) return;
            if (device_of[id] == kInvalidDevice) device_of[id] = device;
            devices.insert(device);
        };
        reads(device_of[id]);
        for (const TensorRef& input : op.inputs) {
            if (!is_number(graph.op(input.op).outputs[input.output])) reads(device_of[input.op]);
        }
        if (devices.size() > 1 && !joined.contains(id))
            apart.add(op.name, "of", devices_text(problem, devices));
    }
    if (!apart.empty())
        written.warnings.push_back(
            "ops outside of the modules of the map read tensors of several devices: " + apart.text() +
            "; PyTorch may stop there with \"Expected all tensors to be on the same device\": keep what they "
            "read on one device, or move it there in the code of the model");
}

/// Warns of ops that run elsewhere than placed when the map is loaded, with the step time that follows.
void warn_of_moved(const PlacedNetwork& placed, const Placement& loaded, WrittenPlacement& written) {
    const Problem& problem = *placed.problem;
    NameList elsewhere;
    for (OpId id = 0; id < problem.graph->size(); ++id) {
        const GroupId group = problem.grouping.group_of[id];
        if (problem.graph->op(id).phase != Phase::forward || loaded[group] == placed.placement[group])
            continue;
        elsewhere.add(problem.graph->op(id).name, "on", problem.machine->device(loaded[group]).name);
    }
    if (elsewhere.empty()) return;
    written.warnings.push_back(
        std::to_string(elsewhere.size()) +
        (elsewhere.size() == 1 ? " op without a key of its own runs on the device of its"
                               : " ops without keys of their own run on the device of their") +
        " module or input: " + elsewhere.text() + "; " + note_run(written, placed, loaded));
}

/// Warns where the cache of latent attention is counted compressed: Transformers keeps it expanded.
void warn_of_latents(const PlacedNetwork& placed, const Placement& loaded, WrittenPlacement& written) {
    const Problem& problem = *placed.problem;
    std::vector<double> compressed(problem.devices, 0), expanded(problem.devices, 0);
    for (OpId id = 0; id < problem.graph->size(); ++id) {
        const auto bytes = integer_attribute(problem.graph->op(id), "expanded_cache_bytes");
        if (!bytes || bytes->empty()) continue;
        const DeviceId device = loaded[problem.grouping.group_of[id]];
        compressed[device] += problem.cache_bytes(id);
        expanded[device] += problem.caches * static_cast<double>(bytes->front());
    }
    const Outcome outcome = Simulator(placed.problem, placed.simulation).run(loaded);
    std::string devices;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (expanded[device] <= 0) continue;
        const double peak = outcome.peak_bytes[device] - compressed[device] + expanded[device],
                     limit = problem.memory_limit_bytes[device];
        devices += "; " + problem.machine->device(device).name + " keeps " + format_bytes(expanded[device]) +
                   " in place of " + format_bytes(compressed[device]) + " and needs " + format_bytes(peak) +
                   " of " + format_bytes(limit) + (peak > limit ? ", which does not fit" : ", which fits");
    }
    if (!devices.empty())
        written.warnings.push_back(
            "the cache is counted compressed, but Transformers keeps it expanded (--mla-cache expanded)" +
            devices);
}

/// Accelerate's hook of the whole model moves parameters that are in no module to its first device.
void warn_of_own_parameters(const Problem& problem, const MapModules& modules, const MapEntries& entries,
                            WrittenPlacement& written) {
    const auto is_cpu = [&](DeviceId device) {
        return problem.machine->device(device).kind == DeviceKind::cpu;
    };
    const auto first =
        std::ranges::find_if(entries, [&](const auto& entry) { return !is_cpu(entry.second); });
    if (first == entries.end()) return;
    NameList moved;
    for (const auto& [key, device] : entries) {
        if (modules.names.contains(key) && module_of(key).empty() && device != first->second)
            moved.add(key, "on", problem.machine->device(device).name);
    }
    if (!moved.empty())
        written.warnings.push_back("parameters of the model itself are moved to " +
                                   problem.machine->device(first->second).name +
                                   " by Accelerate: " + moved.text());
}

}  // namespace

std::vector<std::string> parameter_keys(const PlacedNetwork& placed) {
    const MapModules modules(*placed.problem);
    std::vector<std::string> keys;
    for (const auto& [key, device] : full_entries(placed, modules)) {
        if (modules.names.contains(key) && !modules.modules.contains(key) && !module_of(key).empty())
            keys.push_back(key);
    }
    return keys;
}

WrittenPlacement device_map(const PlacedNetwork& placed, DeviceMapForm form) {
    const Problem& problem = *placed.problem;
    const MapModules modules(problem);
    refuse_apart(placed, modules);
    const MapEntries entries = entries_of(placed, modules, form);
    if (entries.empty())
        throw PlacementError(
            "a device map names modules, but no op of this network has a scope or parameters; use another "
            "format");

    WrittenPlacement written;
    Json root = Json::object();
    bool on_cpu = false, on_gpu = false;
    for (const auto& [key, device] : entries) {
        const bool is_cpu = problem.machine->device(device).kind == DeviceKind::cpu;
        append_member(root, key, is_cpu ? Json("cpu") : Json(gpu_number(*problem.machine, device)));
        (is_cpu ? on_cpu : on_gpu) = true;
    }
    written.content = root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';

    const Placement loaded = load_device_map(problem, modules, entries).placement;
    warn_of_moved(placed, loaded, written);
    warn_of_latents(placed, loaded, written);
    if (const auto& weights = placed.reading.language.weights)
        written.warnings.push_back("placed for weights in " + std::string(to_string(*weights)) +
                                   ": load a model whose weights are stored so");
    if (const auto& cache = placed.reading.language.cache; cache && bits_of(*cache) < 16)
        written.warnings.push_back("placed for a cache in " + std::string(to_string(*cache)) +
                                   ": Transformers keeps it in 16 bits unless generate() is called with "
                                   "cache_implementation=\"quantized\"");
    std::set<OpId> adds;
    if (std::string cut = cut_blocks(problem, loaded, adds); !cut.empty())
        written.warnings.push_back(std::move(cut));
    warn_of_joins(problem, modules, entries, adds, written);
    warn_of_own_parameters(problem, modules, entries, written);
    if (on_cpu && on_gpu)
        written.warnings.emplace_back(
            "Accelerate keeps modules on \"cpu\" there, but runs them on the first GPU of the map");
    const auto cpus = std::ranges::count(problem.machine->devices(), DeviceKind::cpu, &Device::kind);
    if (on_cpu && cpus > 1)
        written.warnings.emplace_back("the machine has several CPUs, which are all \"cpu\" in a device map");
    if (modules.unnamed) {
        written.warnings.emplace_back(
            "the network file does not name its parameters: keys are scopes of its ops, which must be the "
            "names of modules of the model");
    }
    if (is_onnx(placed.network_file)) {
        written.warnings.emplace_back(
            "an ONNX file does not contain parameters and buffers that no op reads, nor further names of "
            "tied parameters, but Accelerate refuses a map without them: complete the map, or search with "
            "the network that placewright.export writes, which contains all names");
    }
    return written;
}

Placement placed_by_modules(const PlacedNetwork& placed, DeviceMapForm form) {
    const Problem& problem = *placed.problem;
    const MapModules modules(problem);
    PlacedNetwork repaired = placed;
    for (const MapUnit& unit : units_of(problem, modules)) {
        if (!unit.is_apart(placed.placement)) continue;
        struct Share {
            std::int64_t bytes = 0;
            double flops = 0;
        };
        std::map<DeviceId, Share> shares;
        for (const OpId op : unit.ops) {
            Share& share = shares[placed.placement[problem.grouping.group_of[op]]];
            share.bytes += problem.graph->op(op).parameter_bytes;
            share.flops += problem.graph->op(op).flops;
        }
        const auto possible = [&](DeviceId device) {
            return std::ranges::all_of(unit.groups, [&](GroupId group) {
                return std::ranges::binary_search(problem.allowed_devices(group), device);
            });
        };
        // A device that holds no part of the unit comes last.
        for (DeviceId device = 0; device < problem.devices; ++device) shares[device];
        std::erase_if(shares, [&](const auto& item) { return !possible(item.first); });
        if (shares.empty())
            throw PlacementError("no device is allowed for all ops of module " +
                                 in_quotes(unit.owners.front()));
        const auto most = std::ranges::max_element(
            shares, {}, [](const auto& item) { return std::pair(item.second.bytes, item.second.flops); });
        for (const GroupId group : unit.groups) repaired.placement[group] = most->first;
    }
    return load_device_map(problem, modules, entries_of(repaired, modules, form)).placement;
}

}  // namespace placewright
