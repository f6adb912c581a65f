// SPDX-License-Identifier: MIT
#include "core/cost/applied_constraints.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/text.hpp"

namespace placewright {
namespace {

using OpsByName = std::unordered_map<std::string_view, OpId>;

OpsByName ops_by_name(const Graph& graph) {
    OpsByName by_name;
    for (OpId op = 0; op < graph.size(); ++op) by_name.emplace(graph.op(op).name, op);
    return by_name;
}

/// "rule 3 (pin "a" to gpu:0)".
std::string rule_text(const Constraints& constraints, std::size_t rule) {
    return "rule " + std::to_string(rule + 1) + " (" + constraint_text(constraints.rules[rule]) + ")";
}

[[noreturn]] void fail_rule(const Constraints& constraints, std::size_t rule, const std::string& problem) {
    throw ConstraintError(rule_text(constraints, rule) + ": " + problem, {rule});
}

/// "a, b and c" of the texts of some rules.
template <class Text>
std::string listed(std::span<const std::size_t> rules, Text text_of) {
    std::string text;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (i > 0) text += i + 1 == rules.size() ? " and " : ", ";
        text += text_of(rules[i]);
    }
    return text;
}

/// "; rules 3 and 4 cannot be obeyed either", of all but the first.
std::string others_text(std::span<const std::size_t> rules) {
    if (rules.size() < 2) return {};
    return (rules.size() == 2 ? "; rule " : "; rules ") +
           listed(rules.subspan(1), [](std::size_t rule) { return std::to_string(rule + 1); }) +
           " cannot be obeyed either";
}

/// The forward op whose device the op shares; itself if there is none.
OpId leader(const Graph& graph, OpId op) {
    const OpId forward = graph.op(op).forward_op;
    return forward == kInvalidOp ? op : forward;
}

class Resolver {
public:
    Resolver(const Problem& problem, const Constraints& constraints)
        : problem_(problem), constraints_(constraints) {
        if (constraints.rules.empty()) return;
        by_name_ = ops_by_name(*problem.graph);
        network_ = ops_by_name(*problem.network);
    }

    std::vector<OpId> ops(std::size_t rule, const Constraint::Member& member) const {
        return member.is_module ? ops_of_module(rule, member.name) : ops_called(rule, member.name);
    }

    std::vector<bool> devices(std::size_t rule) const {
        const Machine& machine = *problem_.machine;
        std::vector<bool> pinned(problem_.devices, false);
        for (const std::string& text : constraints_.rules[rule].devices) {
            bool any = false;
            for (DeviceId device = 0; device < problem_.devices; ++device) {
                if (!machine.matches(device, text)) continue;
                pinned[device] = any = true;
            }
            if (!any)
                fail_rule(constraints_, rule,
                          "machine \"" + machine.name() + "\" has no device \"" + printable(text, 80) +
                              "\"; name one of its devices or remove the rule");
        }
        return pinned;
    }

private:
    std::vector<OpId> ops_called(std::size_t rule, const std::string& name) const {
        const auto found = by_name_.find(name);
        if (found != by_name_.end()) return {leader(*problem_.graph, found->second)};
        if (!network_.contains(name))
            fail_rule(constraints_, rule,
                      "network \"" + problem_.network->name() + "\" has no op \"" + printable(name, 80) +
                          "\"; correct the name or remove the rule");
        return {};
    }

    std::vector<OpId> ops_of_module(std::size_t rule, const std::string& path) const {
        std::vector<OpId> ops;
        const Graph& graph = *problem_.graph;
        for (OpId op = 0; op < graph.size(); ++op) {
            if (leader(graph, op) == op && is_in_module(graph.op(op).scope, path)) ops.push_back(op);
        }
        if (ops.empty() && std::ranges::none_of(problem_.network->ops(),
                                                [&](const Op& op) { return is_in_module(op.scope, path); }))
            fail_rule(constraints_, rule,
                      "network \"" + problem_.network->name() + "\" has no module \"" + printable(path, 80) +
                          "\"; correct the path or remove the rule");
        return ops;
    }

    const Problem& problem_;
    const Constraints& constraints_;
    OpsByName by_name_, network_;
};

/// [op][device]: whether the op may be placed on the device; an empty list allows all devices.
std::vector<std::vector<bool>> allowed_by_op(const Problem& problem) {
    std::vector<std::vector<bool>> allowed(problem.ops);
    for (OpId op = 0; op < problem.ops; ++op) {
        const auto& constraints = problem.graph->op(op).devices;
        if (constraints.empty()) continue;
        for (DeviceId device = 0; device < problem.devices; ++device) {
            allowed[op].push_back(std::ranges::any_of(constraints, [&](const std::string& text) {
                return problem.machine->matches(device, text);
            }));
        }
    }
    return allowed;
}

/// Groups the ops as the constraints say and fills in the problem. Returns why no placement can obey; empty
/// if one can.
std::string group_as_told(Problem& problem, const GroupingOptions& options, const Constraints& constraints) {
    const AppliedConstraints applied = apply(problem, constraints);
    problem.grouping = group_ops(*problem.graph, options, applied.allowed, applied.together, applied.apart);
    problem.groups = static_cast<std::uint32_t>(problem.grouping.size());
    problem.allowed.clear();
    problem.allowed_begin.assign(1, 0);
    problem.apart = {};
    for (const auto& members : problem.grouping.members) {
        for (DeviceId device = 0; device < problem.devices; ++device) {
            if (std::ranges::all_of(members, [&](OpId op) {
                    return applied.allowed[op].empty() || applied.allowed[op][device];
                }))
                problem.allowed.push_back(device);
        }
        if (problem.allowed.size() == problem.allowed_begin.back()) {
            return "op \"" + problem.graph->op(members.front()).name +
                   "\" may not run on any device of machine \"" + problem.machine->name() +
                   "\" together with the ops that it shares a device with";
        }
        problem.allowed_begin.push_back(static_cast<std::uint32_t>(problem.allowed.size()));
    }
    if (applied.apart.empty()) return {};

    for (const Constraint& rule : constraints.rules) problem.apart.texts.push_back(constraint_text(rule));
    problem.apart.of_group.resize(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        ApartParts& parts = problem.apart.of_group[group];
        for (const OpId op : problem.grouping.members[group])
            parts.insert(parts.end(), applied.apart[op].begin(), applied.apart[op].end());
        std::ranges::sort(parts);
        parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
        const auto twice = std::ranges::adjacent_find(parts, {}, &ApartPart::rule);
        if (twice != parts.end()) {
            return "op \"" + problem.graph->op(problem.grouping.members[group].front()).name +
                   "\" and others share a device that are to be kept apart";
        }
    }
    auto example = find_obeying(problem);
    if (!example) return "no placement was found that keeps apart all that is to be";
    problem.apart.example = *std::move(example);
    return {};
}

/// Whether the finest groups can obey these rules; regroups the problem.
bool can_obey(Problem& problem, const Constraints& constraints) {
    return group_as_told(problem, {}, constraints).empty();
}

}  // namespace

AppliedConstraints apply(const Problem& problem, const Constraints& constraints) {
    AppliedConstraints applied{allowed_by_op(problem), {}, {}};
    const Resolver resolver(problem, constraints);
    std::vector<std::size_t> broken;
    std::string first;
    const auto resolve = [&](std::size_t rule) {
        const Constraint& constraint = constraints.rules[rule];
        switch (constraint.rule) {
            case Constraint::Rule::pin: {
                const std::vector<bool> pinned = resolver.devices(rule);
                for (const Constraint::Member& member : constraint.members) {
                    for (const OpId op : resolver.ops(rule, member)) {
                        std::vector<bool>& allowed = applied.allowed[op];
                        if (allowed.empty()) allowed.assign(problem.devices, true);
                        for (DeviceId device = 0; device < problem.devices; ++device)
                            allowed[device] = allowed[device] && pinned[device];
                    }
                }
                break;
            }
            case Constraint::Rule::together: {
                std::vector<OpId>& ops = applied.together.emplace_back();
                for (const Constraint::Member& member : constraint.members) {
                    const std::vector<OpId> more = resolver.ops(rule, member);
                    ops.insert(ops.end(), more.begin(), more.end());
                }
                break;
            }
            case Constraint::Rule::apart: {
                applied.apart.resize(problem.ops);
                for (std::size_t part = 0; part < constraint.members.size(); ++part) {
                    for (const OpId op : resolver.ops(rule, constraint.members[part]))
                        applied.apart[op].push_back(
                            {static_cast<std::uint32_t>(rule), static_cast<std::uint32_t>(part)});
                }
                break;
            }
        }
    };
    for (std::size_t rule = 0; rule < constraints.rules.size(); ++rule) {
        try {
            resolve(rule);
        } catch (const ConstraintError& error) {
            if (broken.empty()) first = error.what();
            broken.push_back(rule);
        }
    }
    if (!broken.empty()) throw ConstraintError(first + others_text(broken), broken);
    return applied;
}

void fill_groups(Problem& problem, const GroupingOptions& options) {
    const std::string reason = group_as_told(problem, options, problem.constraints);
    if (reason.empty()) return;
    // From here on the problem is lost.
    if (!can_obey(problem, {}))
        throw PlacementError(reason + R"(; loosen its "devices" or choose another machine)");
    if (can_obey(problem, problem.constraints))
        throw ConstraintError("these groups of ops can obey no longer: " + reason +
                              "; choose finer groups or loosen a rule");
    // What is left when no rule can be left out without ending the contradiction.
    Constraints least = problem.constraints;
    std::vector<std::size_t> numbers;
    for (std::size_t rule = 0; rule < least.rules.size(); ++rule) numbers.push_back(rule);
    for (std::size_t i = numbers.size(); i-- > 0;) {
        Constraints fewer = least;
        fewer.rules.erase(fewer.rules.begin() + static_cast<std::ptrdiff_t>(i));
        if (can_obey(problem, fewer)) continue;
        least = std::move(fewer);
        numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const std::string text =
        listed(numbers, [&](std::size_t rule) { return rule_text(problem.constraints, rule); });
    if (numbers.size() == 1)
        throw ConstraintError(text + " can be obeyed by no placement: " + reason + "; remove or loosen it",
                              numbers);
    throw ConstraintError(text + " contradict each other: " + reason + "; remove or loosen one");
}

}  // namespace placewright
