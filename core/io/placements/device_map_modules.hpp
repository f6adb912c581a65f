// SPDX-License-Identifier: MIT
// Modules of a network as device maps name them.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// The forward ops of a problem, and the names by which a device map may refer to them.
class MapModules {
public:
    struct Item {
        OpId op;
        std::vector<std::string> parameters;  ///< names of its parameters
        std::string
            scope;  ///< dotted scope; the op's name if it has parameters but neither their names nor a scope
        std::string block{};  ///< the block that must stay whole though its ops may part in a search
        bool holds = false;   ///< whether it has parameters or buffers, named or not
    };

    explicit MapModules(const Problem& problem);

    /// Returns whether a module contains no other module.
    bool innermost(const std::string& module) const;

    /// Returns whether a key matches anything: it is a parameter or a module, or a prefix of one.
    bool knows(const std::string& key) const;

    /// Returns the modules that must be on the device of an op: those of its parameters, its block, and its
    /// own if that has parameters and contains no other module. A parameter of the whole model counts as a
    /// module.
    std::vector<std::string> owners(const Item& item) const;

    /// Returns the keys of an op in the full form.
    std::vector<std::string> keys(const Item& item) const;

    std::vector<Item> items;
    std::set<std::string> names;    ///< names of parameters
    std::set<std::string> modules;  ///< modules with parameters or ops
    std::set<std::string> holding;  ///< modules that hold or share parameters
    bool unnamed = false;           ///< some op has parameters without names
};

/// Modules that must be on one device, and their groups.
struct MapUnit {
    std::vector<std::string> owners;
    std::string block{};  ///< a block among the owners
    std::vector<GroupId> groups;
    std::vector<OpId> ops;

    bool is_apart(const Placement& placement) const {
        return std::ranges::any_of(
            groups, [&](GroupId group) { return placement[group] != placement[groups.front()]; });
    }
};

/// Returns the units of modules that hold or share parameters.
std::vector<MapUnit> units_of(const Problem& problem, const MapModules& modules);

}  // namespace placewright
