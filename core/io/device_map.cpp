// SPDX-License-Identifier: MIT
#include "core/io/device_map.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include <queue>

#include "core/base/units.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/scope_tree.hpp"
#include "core/io/framework_devices.hpp"
#include "core/io/module_names.hpp"
#include "core/io/name_list.hpp"
#include "core/io/readers.hpp"

namespace placewright {
namespace {

using Entries = std::vector<std::pair<std::string, DeviceId>>;

/// The state_dict names of what an op holds; empty if the file gives none.
std::vector<std::string> parameter_names(const Op& op) {
    const auto found = op.attributes.find("parameters");
    if (found == op.attributes.end()) return {};
    const Json list = json_value(found->second);
    std::vector<std::string> names;
    if (!list.is_array()) return names;
    for (const Json& name : list) {
        if (name.is_string()) names.push_back(name.get<std::string>());
    }
    return names;
}

/// Names by their parts between dots.
class NameTree {
public:
    static constexpr DeviceId kMixed = kInvalidDevice - 1;

    void add(const std::string& name, DeviceId device) {
        std::size_t node = 0;
        meet(node, device);
        for_each_end(name, [&](std::size_t begin, std::size_t end) {
            const auto [child, is_new] = children_.try_emplace({node, name.substr(begin, end - begin)}, nodes_.size());
            if (is_new) nodes_.emplace_back();
            node = child->second;
            meet(node, device);
            return true;
        });
        nodes_[node].own = device;
    }

    /// The device of the longest of the names that is `name` or a prefix of it; kInvalidDevice if there is none.
    DeviceId device_of(const std::string& name) const {
        std::size_t node = 0;
        DeviceId device = nodes_[0].own;
        for_each_end(name, [&](std::size_t begin, std::size_t end) {
            const auto child = children_.find({node, name.substr(begin, end - begin)});
            if (child == children_.end()) return false;
            node = child->second;
            if (nodes_[node].own != kInvalidDevice) device = nodes_[node].own;
            return true;
        });
        return device;
    }

    /// Whether all names from `name` on, which is one of them or a prefix, are on one device.
    bool is_whole(const std::string& name) const {
        std::size_t node = 0;
        for_each_end(name, [&](std::size_t begin, std::size_t end) {
            node = children_.at({node, name.substr(begin, end - begin)});
            return true;
        });
        return nodes_[node].below != kMixed;
    }

    /// The shortest prefix of `name` whose names are several and all on one device; else `name`.
    std::string merged(const std::string& name) const {
        const auto whole = [&](std::size_t node) { return nodes_[node].count > 1 && nodes_[node].below != kMixed; };
        if (whole(0)) return "";
        std::size_t node = 0;
        std::string prefix = name;
        for_each_end(name, [&](std::size_t begin, std::size_t end) {
            node = children_.at({node, name.substr(begin, end - begin)});
            if (!whole(node)) return true;
            prefix = name.substr(0, end);
            return false;
        });
        return prefix;
    }

private:
    struct Node {
        DeviceId own = kInvalidDevice;
        DeviceId below = kInvalidDevice;  ///< of all names from here on
        std::size_t count = 0;
    };

    /// Calls `use(begin, end)` for each part until it says false. The name "" has none.
    static void for_each_end(const std::string& name, auto use) {
        if (name.empty()) return;
        for (std::size_t begin = 0;;) {
            const std::size_t end = std::min(name.find('.', begin), name.size());
            if (!use(begin, end) || end == name.size()) return;
            begin = end + 1;
        }
    }

    void meet(std::size_t node, DeviceId device) {
        DeviceId& below = nodes_[node].below;
        below = nodes_[node].count++ == 0 || below == device ? device : kMixed;
    }

    std::vector<Node> nodes_{1};
    std::map<std::pair<std::size_t, std::string>, std::size_t> children_;
};

/// The forward ops of a problem by the names that a device map may use.
class Modules {
public:
    struct Item {
        OpId op;
        std::vector<std::string> parameters;  ///< their names
        std::string scope;                    ///< dotted; of ops with parameters but neither names nor scope, the name of the op
        bool holds = false;                   ///< parameters or buffers, by name or not
    };

    explicit Modules(const Problem& problem) {
        for (OpId id = 0; id < problem.graph->size(); ++id) {
            const Op& op = problem.graph->op(id);
            if (op.phase != Phase::forward) continue;
            Item item{id, parameter_names(op), dotted(op.scope)};
            // What an exporter called "onnx::MatMul_21" has no name in the model.
            std::erase_if(item.parameters, [](const std::string& name) { return name.find("::") != std::string::npos; });
            item.holds = op.parameter_bytes > 0 || !item.parameters.empty();
            if (op.parameter_bytes > 0 && item.parameters.empty()) {
                unnamed = true;
                if (item.scope.empty()) item.scope = dotted(op.name.substr(std::min(op.name.find_first_not_of('/'), op.name.size())));
            }
            for (const std::string& name : item.parameters) {
                names.insert(name);
                if (const std::string module = module_of(name); !module.empty()) modules.insert(module), holding.insert(module);
            }
            if (!item.scope.empty()) modules.insert(item.scope);
            if (item.holds && item.parameters.empty()) holding.insert(item.scope);
            if (item.holds && kind_info(op.kind).parameter) {
                for (const OpId reader : problem.graph->consumers(id)) holding.insert(dotted(problem.graph->op(reader).scope));
            }
            items.push_back(std::move(item));
        }
    }

    /// Whether no other module is inside of it.
    bool innermost(const std::string& module) const {
        const std::string inside = module + '.';
        const auto next = modules.lower_bound(inside);
        return next == modules.end() || !next->starts_with(inside);
    }

    /// Whether a key says something: it is a parameter, a module, or holds some.
    bool knows(const std::string& key) const {
        if (key.empty() || names.contains(key) || modules.contains(key)) return true;
        return !innermost(key);
    }

    /// The modules that an op has to stay with: those of its parameters, and its own if that has parameters and no other is inside of it.
    /// A parameter of the whole model is one.
    std::vector<std::string> owners(const Item& item) const {
        std::vector<std::string> found;
        const auto add = [&](std::string owner) {
            if (std::ranges::find(found, owner) == found.end()) found.push_back(std::move(owner));
        };
        for (const std::string& name : item.parameters) add(module_of(name).empty() ? name : module_of(name));
        const bool unnamed_parameters = item.holds && item.parameters.empty();
        if (!item.scope.empty() && (unnamed_parameters || (holding.contains(item.scope) && innermost(item.scope)))) add(item.scope);
        return found;
    }

    /// The keys of an op in the full form.
    std::vector<std::string> keys(const Item& item) const {
        std::vector<std::string> found;
        for (const std::string& name : item.parameters) {
            const std::string module = module_of(name);
            found.push_back(!module.empty() && innermost(module) ? module : name);
        }
        const bool unnamed_parameters = item.holds && item.parameters.empty();
        if (!item.scope.empty() && (unnamed_parameters || innermost(item.scope))) found.push_back(item.scope);
        return found;
    }

    std::vector<Item> items;
    std::set<std::string> names;    ///< of parameters
    std::set<std::string> modules;  ///< those that hold parameters or ops
    std::set<std::string> holding;  ///< those that hold or share parameters
    bool unnamed = false;           ///< some op has parameters without names
};

/// Modules that have to be on one device, with the groups that they are made of.
struct Unit {
    std::vector<std::string> owners;
    std::vector<GroupId> groups;
    std::vector<OpId> ops;

    bool is_apart(const Placement& placement) const {
        return std::ranges::any_of(groups, [&](GroupId group) { return placement[group] != placement[groups.front()]; });
    }
};

std::vector<Unit> units_of(const Problem& problem, const Modules& modules) {
    std::vector<GroupId> parent(problem.groups);
    std::iota(parent.begin(), parent.end(), GroupId{0});
    const auto root = [&](GroupId group) {
        while (parent[group] != group) group = parent[group] = parent[parent[group]];
        return group;
    };
    const auto group_of = [&](OpId op) { return problem.grouping.group_of[op]; };
    const auto join = [&](GroupId a, GroupId b) { parent[std::max(root(a), root(b))] = std::min(root(a), root(b)); };

    std::unordered_map<std::string, GroupId> group_with;
    std::vector<bool> keyed(problem.graph->size(), false);
    for (const auto& item : modules.items) {
        for (const std::string& owner : modules.owners(item)) {
            keyed[item.op] = true;
            join(group_with.try_emplace(owner, group_of(item.op)).first->second, group_of(item.op));
        }
    }
    for (const auto& item : modules.items) {
        const Op& op = problem.graph->op(item.op);
        if (!kind_info(op.kind).parameter || !item.holds) continue;
        for (const OpId reader : problem.graph->consumers(item.op)) {
            if (keyed[reader]) join(group_of(item.op), group_of(reader));
        }
    }

    std::vector<Unit> units(problem.groups);
    for (const auto& item : modules.items) {
        if (!keyed[item.op]) continue;
        Unit& unit = units[root(group_of(item.op))];
        unit.ops.push_back(item.op);
        if (std::ranges::find(unit.groups, group_of(item.op)) == unit.groups.end()) unit.groups.push_back(group_of(item.op));
        for (std::string& owner : modules.owners(item)) {
            if (std::ranges::find(unit.owners, owner) == unit.owners.end()) unit.owners.push_back(std::move(owner));
        }
    }
    std::erase_if(units, [](const Unit& unit) { return unit.ops.empty(); });
    return units;
}

std::string list(const std::vector<std::string>& names) {
    NameList result;
    for (const std::string& name : names) result.add(name);
    return result.text();
}

std::string devices_text(const Problem& problem, const std::set<DeviceId>& devices) {
    std::string text;
    for (const DeviceId device : devices) text += (text.empty() ? "" : ", ") + problem.machine->device(device).name;
    return text;
}

/// What a run with a map does: where ops go, and what does not fit together.
struct Loaded {
    Placement placement;
    std::size_t by_module = 0, following = 0;  ///< ops
    NameList missing, apart, not_allowed, moved;
};

Loaded load(const Problem& problem, const Modules& modules, const Entries& entries) {
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    Loaded loaded;
    loaded.placement.assign(problem.groups, kInvalidDevice);
    const auto place_of = [&](OpId op) -> DeviceId& { return loaded.placement[problem.grouping.group_of[op]]; };
    const auto allowed = [&](OpId op) { return problem.allowed_devices(problem.grouping.group_of[op]); };
    const auto put = [&](OpId op, DeviceId device, bool must) {
        DeviceId& place = place_of(op);
        const std::string& name = problem.graph->op(op).name;
        if (place != kInvalidDevice && place != device && must) loaded.apart.add(name);
        if (place != kInvalidDevice) return;
        place = device;
        if (!std::ranges::binary_search(allowed(op), device)) loaded.not_allowed.add(name + " on " + problem.machine->device(device).name);
    };
    // Parameters have to be where the map says; the other ops of a group come with them.
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
        if (op.phase == Phase::forward) ++(told[id] ? loaded.by_module : loaded.following);
        if (place_of(id) != kInvalidDevice) continue;
        const TensorRef* largest = nullptr;
        const auto bytes = [&](const TensorRef& ref) { return problem.graph->op(ref.op).outputs[ref.output].bytes; };
        for (const TensorRef& input : op.inputs) {
            if (place_of(input.op) != kInvalidDevice && (largest == nullptr || bytes(input) > bytes(*largest))) largest = &input;
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
        if (loaded.placement[group] == kInvalidDevice) loaded.placement[group] = problem.allowed_devices(group).front();
    }
    return loaded;
}

Entries full_entries(const PlacedNetwork& placed, const Modules& modules) {
    Entries entries;
    std::map<std::string, std::set<DeviceId>> devices;
    for (const auto& item : modules.items) {
        const DeviceId device = placed.placement[placed.problem->grouping.group_of[item.op]];
        for (std::string& key : modules.keys(item)) {
            if (devices[key].insert(device).second && devices[key].size() == 1) entries.emplace_back(std::move(key), device);
        }
    }
    // A module without parameters that is called on several devices is none that a run has to place.
    std::erase_if(entries, [&](const auto& entry) { return devices[entry.first].size() > 1; });
    // A module says more than its parameters, namely where its other ops run, but must not speak for modules that are elsewhere.
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    for (auto& [key, device] : entries) {
        std::string module = module_of(key);
        if (modules.names.contains(key) && !module.empty() && tree.is_whole(module)) key = std::move(module);
    }
    std::erase_if(entries, [seen = std::set<std::string>()](const auto& entry) mutable { return !seen.insert(entry.first).second; });
    return entries;
}

Entries compacted(const Entries& entries) {
    NameTree tree;
    for (const auto& [key, device] : entries) tree.add(key, device);
    Entries result;
    std::set<std::string> seen;
    for (const auto& [key, device] : entries) {
        std::string merged = tree.merged(key);
        if (seen.insert(merged).second) result.emplace_back(std::move(merged), device);
    }
    return result;
}

/// The ops between the fork of a residual connection and the add that joins it; empty if it joins none.
std::vector<OpId> residual_ops(const Graph& graph, OpId add) {
    constexpr std::size_t kFar = 2'000;  // ops; a fork further back is not that of a block
    const Op& op = graph.op(add);
    if (op.kind != "add" || op.phase != Phase::forward || op.inputs.size() != 2 || op.inputs[0].op == op.inputs[1].op) return {};
    for (const TensorRef& input : op.inputs) {
        if (graph.op(input.op).outputs[input.output].bytes != op.outputs[0].bytes) return {};
    }
    // Ops in topological order from the last: what comes up has met all of its readers on the way.
    std::unordered_map<OpId, std::uint8_t> side{{op.inputs[0].op, 1}, {op.inputs[1].op, 2}};
    std::priority_queue<OpId> next;
    for (const TensorRef& input : op.inputs) next.push(input.op);
    std::vector<OpId> passed;
    while (!next.empty() && passed.size() < kFar) {
        const OpId at = next.top();
        next.pop();
        if (side[at] == 3) {
            // Of what was passed only that counts which comes from the fork.
            std::set<OpId> between;
            for (auto id = passed.rbegin(); id != passed.rend(); ++id) {
                const auto from_fork = [&](OpId producer) { return producer == at || between.contains(producer); };
                if (std::ranges::any_of(graph.producers(*id), from_fork)) between.insert(*id);
            }
            return {between.begin(), between.end()};
        }
        passed.push_back(at);
        const std::uint8_t from = side[at];
        for (const OpId producer : graph.producers(at)) {
            const auto [mark, is_new] = side.try_emplace(producer, std::uint8_t{0});
            mark->second |= from;
            if (is_new) next.push(producer);
        }
    }
    return {};
}

/// A residual connection with all that it goes round.
struct Block {
    std::string scope;      ///< the innermost that holds it; empty for none
    OpId add = kInvalidOp;  ///< where it joins
    std::vector<OpId> ops;
};

std::vector<Block> residual_blocks(const Graph& graph) {
    std::vector<Block> blocks;
    for (OpId id = 0; id < graph.size(); ++id) {
        Block block{graph.op(id).scope, id, residual_ops(graph, id)};
        if (block.ops.empty()) continue;
        block.ops.push_back(id);
        for (const OpId op : block.ops) block.scope = common_scope(block.scope, graph.op(op).scope);
        blocks.push_back(std::move(block));
    }
    return blocks;
}

/// Depth of groups by module that cut neither a module nor a residual connection: that of `module` ("layer1.0.conv1"), or of the outermost
/// block.
std::ptrdiff_t depth_for_modules(const Graph& graph, const std::string& module) {
    std::ptrdiff_t depth = std::ranges::count(module, '.') + 1;
    for (const Block& block : residual_blocks(graph)) {
        if (!block.scope.empty()) depth = std::min(depth, std::ranges::count(block.scope, '/') + 1);
    }
    return depth;
}

std::string search_by_modules(const Graph& graph, const std::string& module) {
    const std::string depth = std::to_string(depth_for_modules(graph, module));
    return "A search that moves modules as a whole avoids that: Run > Simulation > Move together, by module, with depth " + depth +
           " (--group scope:" + depth + ")";
}

std::string cut_blocks(const Problem& problem, const Placement& placement) {
    NameList cut;
    std::string first;
    std::set<std::string> seen;
    for (const Block& block : residual_blocks(*problem.graph)) {
        const std::string& add = problem.graph->op(block.add).name;
        std::set<DeviceId> devices;
        for (const OpId op : block.ops) devices.insert(placement[problem.grouping.group_of[op]]);
        if (devices.size() < 2 || !seen.insert(block.scope.empty() ? add : block.scope).second) continue;
        if (first.empty()) first = dotted(block.scope);
        cut.add((block.scope.empty() ? "joined by " + add : dotted(block.scope)) + " (" + devices_text(problem, devices) + ')');
    }
    if (cut.empty()) return {};
    return "blocks with a residual connection are cut: " + cut.text() +
           "; where they join, PyTorch may stop with \"Expected all tensors to be on the same device\"" +
           (first.empty() ? std::string() : ". " + search_by_modules(*problem.graph, first));
}

double step_time_s(const PlacedNetwork& placed, const Placement& placement) {
    return Simulator(placed.problem, placed.simulation).run(placement).step_time_s;
}

Entries entries_of(const PlacedNetwork& placed, const Modules& modules, DeviceMapForm form) {
    const Entries full = full_entries(placed, modules);
    return form == DeviceMapForm::compact ? compacted(full) : full;
}

}  // namespace

WrittenPlacement device_map(const PlacedNetwork& placed, DeviceMapForm form) {
    const Problem& problem = *placed.problem;
    const Modules modules(problem);
    std::vector<std::string> apart;
    std::string deepest;
    bool share = false;  // modules that share parameters go together however they are grouped
    for (const Unit& unit : units_of(problem, modules)) {
        if (!unit.is_apart(placed.placement)) continue;
        std::set<DeviceId> devices;
        for (const GroupId group : unit.groups) devices.insert(placed.placement[group]);
        std::string name = unit.owners.front();
        if (std::ranges::count(name, '.') > std::ranges::count(deepest, '.') || deepest.empty()) deepest = name;
        share = share || unit.owners.size() > 1;
        if (unit.owners.size() > 1) name += " with " + std::to_string(unit.owners.size() - 1) + " more that share its parameters or groups";
        apart.push_back(name + " on " + devices_text(problem, devices));
    }
    if (!apart.empty()) {
        throw PlacementError("a device map cannot say that a module is on several devices: " + list(apart) +
                             "; repaired (--repair), each goes where most of its parameters are" +
                             (share ? std::string() : ". " + search_by_modules(*problem.graph, deepest)));
    }
    const Entries entries = entries_of(placed, modules, form);
    if (entries.empty())
        throw PlacementError("a device map names modules, but no op of this network has a scope or parameters; use another format");

    WrittenPlacement written;
    Json root = Json::object();
    bool on_cpu = false, on_gpu = false;
    for (const auto& [key, device] : entries) {
        const bool is_cpu = problem.machine->device(device).kind == DeviceKind::cpu;
        append_member(root, key, is_cpu ? Json("cpu") : Json(gpu_number(*problem.machine, device)));
        (is_cpu ? on_cpu : on_gpu) = true;
    }
    written.content = root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';

    const Loaded loaded = load(problem, modules, entries);
    NameList elsewhere;
    for (OpId id = 0; id < problem.graph->size(); ++id) {
        const GroupId group = problem.grouping.group_of[id];
        if (problem.graph->op(id).phase != Phase::forward || loaded.placement[group] == placed.placement[group]) continue;
        elsewhere.add(problem.graph->op(id).name + " on " + problem.machine->device(loaded.placement[group]).name);
    }
    if (!elsewhere.empty()) {
        written.step_time_s = step_time_s(placed, loaded.placement);
        const std::string loaded_time = format_seconds(*written.step_time_s),
                          placed_time = format_seconds(step_time_s(placed, placed.placement));
        written.warnings.push_back(
            std::to_string(elsewhere.size()) +
            (elsewhere.size() == 1 ? " op that no module holds alone runs where its" : " ops that no module holds alone run where their") +
            " module or input is: " + elsewhere.text() + "; a step takes " +
            (loaded_time == placed_time ? "as long, " + loaded_time : loaded_time + " instead of " + placed_time));
    }
    if (std::string cut = cut_blocks(problem, loaded.placement); !cut.empty()) written.warnings.push_back(std::move(cut));
    if (on_cpu && on_gpu)
        written.warnings.emplace_back("Accelerate keeps modules on \"cpu\" there, but runs them on the first GPU of the map");
    const auto cpus = std::ranges::count(problem.machine->devices(), DeviceKind::cpu, &Device::kind);
    if (on_cpu && cpus > 1) written.warnings.emplace_back("the machine has several CPUs, which are all \"cpu\" in a device map");
    if (modules.unnamed) {
        written.warnings.emplace_back(
            "the network file does not name its parameters: keys are scopes of its ops, which have to be the names of "
            "modules of the model");
    }
    if (is_onnx(placed.network_file)) {
        written.warnings.emplace_back(
            "an ONNX file does not tell of parameters and buffers that no op reads, nor of other names of tied ones, and Accelerate "
            "refuses a map that lacks some: look through it, or search with the network that placewright.export writes, which names all");
    }
    return written;
}

Placement placed_by_modules(const PlacedNetwork& placed, DeviceMapForm form) {
    const Problem& problem = *placed.problem;
    const Modules modules(problem);
    PlacedNetwork repaired = placed;
    for (const Unit& unit : units_of(problem, modules)) {
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
            return std::ranges::all_of(unit.groups,
                                       [&](GroupId group) { return std::ranges::binary_search(problem.allowed_devices(group), device); });
        };
        // A device that holds none of it comes last.
        for (DeviceId device = 0; device < problem.devices; ++device) shares[device];
        std::erase_if(shares, [&](const auto& item) { return !possible(item.first); });
        if (shares.empty()) throw PlacementError("no device is allowed for all ops of module " + in_quotes(unit.owners.front()));
        const auto most =
            std::ranges::max_element(shares, {}, [](const auto& item) { return std::pair(item.second.bytes, item.second.flops); });
        for (const GroupId group : unit.groups) repaired.placement[group] = most->first;
    }
    return load(problem, modules, entries_of(repaired, modules, form)).placement;
}

bool is_device_map(const JsonValue& root, const Problem& problem) {
    if (!root.json().is_object() || root.json().empty()) return false;
    const Modules modules(problem);
    bool has_text = false, has_module = false, all_modules = true;
    std::size_t ops = 0;
    for (const auto& [key, value] : root.json().items()) {
        if (!value.is_number_integer() && !(value.is_string() && names_device(value.get_ref<const std::string&>()))) return false;
        const bool is_op = problem.forward->find(key).has_value(), is_module = modules.knows(key);
        has_text |= value.is_string();
        has_module |= is_module && !is_op;
        all_modules &= is_module;
        ops += is_op;
    }
    return has_text || has_module || (all_modules && ops < modules.items.size());
}

Placement read_device_map(const JsonFile& file, const JsonValue& root, const Problem& problem, std::vector<std::string>* notes) {
    const Modules modules(problem);
    std::vector<DeviceId> gpus;
    DeviceId cpu = kInvalidDevice;
    for (DeviceId id = 0; id < problem.devices; ++id) {
        if (problem.machine->device(id).kind != DeviceKind::cpu) {
            gpus.push_back(id);
        } else if (cpu == kInvalidDevice) {
            cpu = id;
        }
    }
    Entries entries;
    NameList unknown;
    root.for_each_member([&](const std::string& key, const JsonValue& value) {
        std::string text = value.json().is_string() ? value.text() : "cuda:" + std::to_string(value.whole());
        if (text == "cuda" || text == "mps") text += ":0";
        const std::size_t colon = text.find(':');
        const std::string kind = text.substr(0, colon);
        std::size_t number = 0;
        const char* const end = text.data() + text.size();
        const bool is_number =
            colon == std::string::npos || (std::from_chars(text.data() + colon + 1, end, number).ptr == end && colon + 1 < text.size());
        DeviceId device = kInvalidDevice;
        if (kind == "cpu" && is_number) device = cpu;
        if ((kind == "cuda" || kind == "mps") && colon != std::string::npos && is_number && number < gpus.size()) device = gpus[number];
        if (device == kInvalidDevice) {
            value.fail("is " + (value.json().is_string() ? in_quotes(text) : value.json().dump()) +
                       ", expected the number of a GPU of the machine, which has " + std::to_string(gpus.size()) +
                       (cpu == kInvalidDevice ? "" : ", or \"cpu\""));
        }
        if (!modules.knows(key)) unknown.add(key);
        entries.emplace_back(key, device);
    });
    Loaded loaded = load(problem, modules, entries);
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
        // Names of ops that are modules too may have been meant as a placement that is not complete.
        const auto is_op = [&](const auto& entry) { return problem.forward->find(entry.first).has_value(); };
        NameList ops;
        if (std::ranges::all_of(entries, is_op)) {
            std::set<std::string_view> given;
            for (const auto& [name, device] : entries) given.insert(name);
            for (const Op& op : problem.forward->ops()) {
                if (!given.contains(op.name)) ops.add(op.name);
            }
        }
        add_fault("as a placement by op it has ops without a device: ", ops);
    }
    if (!fault.empty()) file.fail("device map", fault);
    if (notes != nullptr) {
        notes->push_back("read as a device map: " + std::to_string(loaded.by_module) + " ops are where their module is, " +
                         std::to_string(loaded.following) + " where their largest input comes from");
        const auto on_cpu = [&](DeviceId device) { return problem.machine->device(device).kind == DeviceKind::cpu; };
        if (std::ranges::any_of(loaded.placement, on_cpu) && !std::ranges::all_of(loaded.placement, on_cpu))
            notes->push_back("what is on \"cpu\" runs there in the simulation; Accelerate runs it on the first GPU of the map");
        if (!unknown.empty()) notes->push_back("keys that match no module of the network: " + unknown.text());
        if (!loaded.moved.empty()) notes->push_back("ops that may not be where their input is: " + loaded.moved.text());
    }
    return std::move(loaded.placement);
}

}  // namespace placewright
