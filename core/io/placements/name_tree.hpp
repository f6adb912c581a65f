// SPDX-License-Identifier: MIT
// Names of modules and parameters as a tree, with a device each.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/machine.hpp"

namespace placewright {

/// A tree of names with their devices; the dots in a name separate its levels.
class NameTree {
public:
    static constexpr DeviceId kMixed = kInvalidDevice - 1;

    void add(const std::string& name, DeviceId device) {
        std::size_t node = 0;
        meet(node, device);
        for_each_end(name, [&](std::size_t begin, std::size_t end) {
            const auto [child, is_new] =
                children_.try_emplace({node, name.substr(begin, end - begin)}, nodes_.size());
            if (is_new) nodes_.emplace_back();
            node = child->second;
            meet(node, device);
            return true;
        });
        nodes_[node].own = device;
    }

    /// Returns the device of the longest name in the tree that equals `name` or is a prefix of it;
    /// kInvalidDevice if there is none.
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

    /// Returns whether all names that equal `name` or begin with it are on one device. `name` must equal or
    /// begin a name in the tree.
    bool is_whole(const std::string& name) const {
        std::size_t node = 0;
        for_each_end(name, [&](std::size_t begin, std::size_t end) {
            node = children_.at({node, name.substr(begin, end - begin)});
            return true;
        });
        return nodes_[node].below != kMixed;
    }

    /// Returns the shortest prefix of `name` that several names share, all on one device; else `name`.
    std::string merged(const std::string& name) const {
        const auto whole = [&](std::size_t node) {
            return nodes_[node].count > 1 && nodes_[node].below != kMixed;
        };
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
        DeviceId below = kInvalidDevice;  ///< device of all names in this subtree
        std::size_t count = 0;
    };

    /// Calls `use(begin, end)` for each part of a name until it returns false. The name "" has no parts.
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

}  // namespace placewright
