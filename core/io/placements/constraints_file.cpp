// SPDX-License-Identifier: MIT
#include "core/io/placements/constraints_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr const char* kConstraintsFormat = "placewright.constraints";
constexpr std::size_t kMostRules = 1000;
constexpr std::array<std::string_view, 3> kRuleNames{"pin", "together", "apart"};

std::vector<std::string> names_of(const JsonValue& rule, const char* key) {
    std::vector<std::string> names;
    if (const auto list = rule.find(key)) {
        list->for_each_item([&](const JsonValue& item) {
            std::string name = item.text();
            if (name.empty()) item.fail("is empty, expected a name");
            if (std::ranges::find(names, name) != names.end())
                item.fail("is named before in this rule; name it once");
            names.push_back(std::move(name));
        });
    }
    return names;
}

Constraint rule_from(const JsonValue& value) {
    const JsonValue kind = value.at("rule");
    const std::string name = kind.text();
    const auto* const known = std::ranges::find(kRuleNames, name);
    if (known == kRuleNames.end())
        kind.fail("is " + in_quotes(name) + R"(, expected "pin", "together" or "apart")");
    Constraint rule{static_cast<Constraint::Rule>(known - kRuleNames.begin()), {}, {}};
    for (std::string& op : names_of(value, "ops")) rule.members.push_back({std::move(op), false});
    for (std::string& module : names_of(value, "modules")) rule.members.push_back({std::move(module), true});
    rule.devices = names_of(value, "devices");
    const bool pins = rule.rule == Constraint::Rule::pin;
    if (pins && rule.devices.empty()) value.fail(R"(pins to no device, expected "devices": a list of names)");
    if (!pins && !rule.devices.empty())
        value.fail(R"(has "devices", which only "pin" has; write a rule "pin" beside it)");
    if (rule.members.empty()) value.fail(R"(names nothing, expected "ops" or "modules": a list of names)");
    if (rule.rule == Constraint::Rule::apart && rule.members.size() < 2)
        value.fail("names only one, expected two or more ops or modules to keep apart");
    if (rule.rule == Constraint::Rule::together && rule.members.size() < 2 && !rule.members.front().is_module)
        value.fail("names only one op, expected a module, or two or more to keep together");
    return rule;
}

Constraints constraints_of(const JsonFile& file) {
    file.require_format(kConstraintsFormat);
    const Json json = file.parse();
    const JsonValue root(file, json);
    JsonFile::require_version(root, 1);
    Constraints constraints;
    const JsonValue rules = root.at("rules");
    if (rules.size() > kMostRules)
        rules.fail("has " + std::to_string(rules.size()) + " items, expected at most " +
                   std::to_string(kMostRules) + "; name several ops in one rule");
    rules.for_each_item([&](const JsonValue& rule) { constraints.rules.push_back(rule_from(rule)); });
    return constraints;
}

}  // namespace

Constraints read_constraints(const Path& path) {
    Constraints constraints = constraints_of(JsonFile(path));
    constraints.file = printable(path.string(), 4096);
    return constraints;
}

Constraints constraints_from_text(const std::string& text, const std::string& name) {
    return constraints_of(JsonFile(name, text));
}

std::string constraints_text(const Constraints& constraints) {
    return file_text(
        {{"format", kConstraintsFormat}, {"version", 1}, {"rules", constraints_json(constraints)}});
}

Json constraints_json(const Constraints& constraints) {
    Json rules = Json::array();
    for (const Constraint& each : constraints.rules) {
        Json rule{{"rule", kRuleNames[static_cast<std::size_t>(each.rule)]}};
        for (const Constraint::Member& member : each.members)
            rule[member.is_module ? "modules" : "ops"].push_back(member.name);
        if (!each.devices.empty()) rule["devices"] = each.devices;
        rules.push_back(std::move(rule));
    }
    return rules;
}

void write_constraints(const Constraints& constraints, const Path& file) {
    write_file(file, constraints_text(constraints));
}

}  // namespace placewright
