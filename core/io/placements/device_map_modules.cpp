// SPDX-License-Identifier: MIT
#include "core/io/placements/device_map_modules.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/graph/blocks.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// Returns the state_dict names of the parameters and buffers that an op holds; empty if the file names none.
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

}  // namespace

MapModules::MapModules(const Problem& problem) {
    for (OpId id = 0; id < problem.graph->size(); ++id) {
        const Op& op = problem.graph->op(id);
        if (op.phase != Phase::forward || op.autocast) continue;
        Item item{id, parameter_names(op), dotted(op.scope)};
        // A parameter that an exporter named "onnx::MatMul_21" has no name in the model.
        std::erase_if(item.parameters,
                      [](const std::string& name) { return name.find("::") != std::string::npos; });
        if (op.attributes.contains("block")) item.block = dotted(std::string(block_of(op)));
        item.holds = op.parameter_bytes > 0 || !item.parameters.empty();
        if (op.parameter_bytes > 0 && item.parameters.empty()) {
            unnamed = true;
            if (item.scope.empty())
                item.scope = dotted(op.name.substr(std::min(op.name.find_first_not_of('/'), op.name.size())));
        }
        for (const std::string& name : item.parameters) {
            names.insert(name);
            if (const std::string module = module_of(name); !module.empty())
                modules.insert(module), holding.insert(module);
        }
        if (!item.scope.empty()) modules.insert(item.scope);
        if (item.holds && item.parameters.empty()) holding.insert(item.scope);
        if (item.holds && kind_info(op.kind).parameter) {
            for (const OpId reader : problem.graph->model_consumers(id))
                holding.insert(dotted(problem.graph->op(reader).scope));
        }
        items.push_back(std::move(item));
    }
}

bool MapModules::innermost(const std::string& module) const {
    const std::string inside = module + '.';
    const auto next = modules.lower_bound(inside);
    return next == modules.end() || !next->starts_with(inside);
}

bool MapModules::knows(const std::string& key) const {
    if (key.empty() || names.contains(key) || modules.contains(key)) return true;
    return !innermost(key);
}

std::vector<std::string> MapModules::owners(const Item& item) const {
    std::vector<std::string> found;
    const auto add = [&](std::string owner) {
        if (std::ranges::find(found, owner) == found.end()) found.push_back(std::move(owner));
    };
    for (const std::string& name : item.parameters) add(module_of(name).empty() ? name : module_of(name));
    if (!item.block.empty()) add(item.block);
    const bool unnamed_parameters = item.holds && item.parameters.empty();
    if (!item.scope.empty() &&
        (unnamed_parameters || (holding.contains(item.scope) && innermost(item.scope))))
        add(item.scope);
    return found;
}

std::vector<std::string> MapModules::keys(const Item& item) const {
    std::vector<std::string> found;
    for (const std::string& name : item.parameters) {
        const std::string module = module_of(name);
        found.push_back(!module.empty() && innermost(module) ? module : name);
    }
    const bool unnamed_parameters = item.holds && item.parameters.empty();
    if (!item.scope.empty() && (unnamed_parameters || innermost(item.scope))) found.push_back(item.scope);
    return found;
}

std::vector<MapUnit> units_of(const Problem& problem, const MapModules& modules) {
    std::vector<GroupId> parent(problem.groups);
    std::iota(parent.begin(), parent.end(), GroupId{0});
    const auto root = [&](GroupId group) {
        while (parent[group] != group) group = parent[group] = parent[parent[group]];
        return group;
    };
    const auto group_of = [&](OpId op) { return problem.grouping.group_of[op]; };
    const auto join = [&](GroupId a, GroupId b) {
        parent[std::max(root(a), root(b))] = std::min(root(a), root(b));
    };

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
        for (const OpId reader : problem.graph->model_consumers(item.op)) {
            if (keyed[reader]) join(group_of(item.op), group_of(reader));
        }
    }

    std::vector<MapUnit> units(problem.groups);
    for (const auto& item : modules.items) {
        if (!keyed[item.op]) continue;
        MapUnit& unit = units[root(group_of(item.op))];
        unit.ops.push_back(item.op);
        if (std::ranges::find(unit.groups, group_of(item.op)) == unit.groups.end())
            unit.groups.push_back(group_of(item.op));
        for (std::string& owner : modules.owners(item)) {
            if (owner == item.block) unit.block = owner;
            if (std::ranges::find(unit.owners, owner) == unit.owners.end())
                unit.owners.push_back(std::move(owner));
        }
    }
    std::erase_if(units, [](const MapUnit& unit) { return unit.ops.empty(); });
    return units;
}

}  // namespace placewright
