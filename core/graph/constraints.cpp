// SPDX-License-Identifier: MIT
#include "core/graph/constraints.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr std::size_t kNamed = 4;

std::string joined_names(const std::vector<std::string>& items, const char* last) {
    const std::size_t named = std::min(items.size(), kNamed);
    std::string text;
    for (std::size_t i = 0; i < named; ++i) {
        if (i > 0) text += i + 1 == items.size() ? std::string(" ") + last + " " : std::string(", ");
        text += items[i];
    }
    if (items.size() > named) text += " and " + std::to_string(items.size() - named) + " more";
    return text;
}

}  // namespace

std::string constraint_text(const Constraint& constraint) {
    std::vector<std::string> names;
    for (const Constraint::Member& member : constraint.members)
        names.push_back((member.is_module ? "module \"" : "\"") + printable(member.name, 80) + '"');
    const std::string members = joined_names(names, "and");
    switch (constraint.rule) {
        case Constraint::Rule::pin:
            return "pin " + members + " to " + printable(joined_names(constraint.devices, "or"), 80);
        case Constraint::Rule::together:
            return "keep " + members + " together";
        case Constraint::Rule::apart:
            break;
    }
    return "keep " + members + " apart";
}

bool is_in_module(const std::string& scope, const std::string& path) {
    return scope.starts_with(path) && (scope.size() == path.size() || scope[path.size()] == '/');
}

}  // namespace placewright
