// SPDX-License-Identifier: MIT
#include "core/io/placements/stages.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/graph/constants.hpp"

namespace placewright {
namespace {

/// Calls `visit` with each module of a scope, the outermost first.
template <class Visit>
void for_each_module(const std::string& scope, Visit visit) {
    for (std::size_t end = scope.find('/'); !scope.empty(); end = scope.find('/', end + 1)) {
        visit(scope.substr(0, end));
        if (end == std::string::npos) break;
    }
}

/// A bipartite matching of cuts and modules by augmenting paths (H. W. Kuhn, The Hungarian method for the
/// assignment problem, 1955).
class Matching {
public:
    using Taken = std::map<std::string, std::pair<std::size_t, const char*>>;

    explicit Matching(const std::vector<std::vector<ModuleSide>>& sides) : sides_(sides) {}

    bool match(std::size_t cut) {
        asked_.clear();
        return augment(cut);
    }
    const Taken& taken() const { return taken_; }

private:
    /// Finds a module for a cut. The recursion is at most as deep as the number of cuts.
    bool augment(std::size_t cut) {
        for (const auto& [module, where] : sides_[cut]) {
            if (!asked_.insert(module).second) continue;
            const auto holder = taken_.find(module);
            if (holder != taken_.end() && !augment(holder->second.first)) continue;
            taken_[module] = {cut, where};
            return true;
        }
        return false;
    }

    const std::vector<std::vector<ModuleSide>>& sides_;
    Taken taken_;  ///< cut of each assigned module
    std::set<std::string> asked_;
};

}  // namespace

std::vector<OpId> staged_ops(const Graph& graph) {
    const std::vector<bool> constant = reads_only_constants(graph);
    std::vector<OpId> ops;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase == Phase::forward && !op.autocast && op.kind != "input" && op.kind != "parameter" &&
            !constant[id])
            ops.push_back(id);
    }
    return ops;
}

std::optional<std::vector<DeviceId>> chain_of_stages(const Problem& problem, const Placement& placement) {
    std::vector<DeviceId> stages;
    for (const OpId op : staged_ops(*problem.graph)) {
        const DeviceId device = placement[problem.grouping.group_of[op]];
        if (!stages.empty() && device == stages.back()) continue;
        if (std::ranges::find(stages, device) != stages.end()) return {};
        stages.push_back(device);
    }
    return stages;
}

Placement constants_with_readers(const Problem& problem, Placement placement) {
    const Graph& graph = *problem.graph;
    const std::vector<bool> constant = reads_only_constants(graph);
    // The first reader may be behind several constants, which come after in the order of the graph.
    std::vector<OpId> reader(graph.size(), kInvalidOp);
    for (auto id = static_cast<OpId>(graph.size()); id-- > 0;) {
        if (!constant[id]) continue;
        for (const OpId next : graph.consumers(id)) {
            if (graph.op(next).phase == Phase::forward)
                reader[id] = std::min(reader[id], constant[next] ? reader[next] : next);
        }
    }
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto& members = problem.grouping.members[group];
        OpId first = kInvalidOp;
        for (const OpId op : members) first = std::min(first, reader[op]);
        if (first == kInvalidOp || !std::ranges::all_of(members, [&](OpId op) { return bool{constant[op]}; }))
            continue;
        const DeviceId device = placement[problem.grouping.group_of[first]];
        if (std::ranges::binary_search(problem.allowed_devices(group), device)) placement[group] = device;
    }
    return placement;
}

ModuleSides::ModuleSides(const Graph& graph, const std::vector<OpId>& ops) : graph_(graph), ops_(ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for_each_module(graph.op(ops[i]).scope, [&](std::string module) {
            Range& range = ranges_.try_emplace(std::move(module), Range{i, i, 0}).first->second;
            range.last = i;
            ++range.count;
        });
    }
}

std::vector<ModuleSide> ModuleSides::at(std::size_t position) const {
    std::vector<ModuleSide> sides;
    const auto add = [&](std::size_t op, const char* where, std::size_t Range::*end) {
        for_each_module(graph_.op(ops_[op]).scope, [&](std::string module) {
            const Range& range = ranges_.at(module);
            if (range.is_one_call() && range.*end == op) sides.emplace_back(std::move(module), where);
        });
    };
    add(position, "BEGINNING", &Range::first);
    add(position - 1, "END", &Range::last);
    return sides;
}

NamedCuts name_cuts(const std::vector<std::vector<ModuleSide>>& sides) {
    NamedCuts named{.sides = std::vector<ModuleSide>(sides.size()), .unnamed = {}};
    Matching matching(sides);
    for (std::size_t cut = 0; cut < sides.size(); ++cut) {
        if (!matching.match(cut)) named.unnamed.push_back(cut);
    }
    for (const auto& [module, side] : matching.taken()) named.sides[side.first] = {module, side.second};
    return named;
}

}  // namespace placewright
