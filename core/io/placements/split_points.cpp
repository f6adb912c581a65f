// SPDX-License-Identifier: MIT
#include "core/io/placements/split_points.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/io/networks/module_names.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {
namespace {

/// Positions of a scope's first and last op among the ops that run, and the number of its ops.
struct Range {
    std::size_t first = 0, last = 0, count = 0;

    /// Returns whether the scope's ops are consecutive. A pipeline cuts at each call of a module, so that
    /// only such a module can be cut at.
    bool is_one_call() const { return count == last - first + 1; }
};

std::unordered_map<std::string, Range> scope_ranges(const Graph& graph, const std::vector<OpId>& ops) {
    std::unordered_map<std::string, Range> ranges;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const std::string& scope = graph.op(ops[i]).scope;
        for (std::size_t end = scope.find('/'); !scope.empty(); end = scope.find('/', end + 1)) {
            Range& range = ranges.try_emplace(scope.substr(0, end), Range{i, i, 0}).first->second;
            range.last = i;
            ++range.count;
            if (end == std::string::npos) break;
        }
    }
    return ranges;
}

/// A module, and the side of it ("BEGINNING" or "END") at which it is cut.
using Side = std::pair<std::string, const char*>;

/// Returns the modules that can name a cut before op `i`: those that begin there, then those that end there,
/// the outermost first.
std::vector<Side> sides_of_cut(const Graph& graph, const std::vector<OpId>& ops, std::size_t i,
                               const std::unordered_map<std::string, Range>& ranges) {
    std::vector<Side> sides;
    const auto add = [&](const std::string& scope, const char* where, auto fits) {
        for (std::size_t end = scope.find('/'); !scope.empty(); end = scope.find('/', end + 1)) {
            std::string prefix = scope.substr(0, end);
            if (const Range& range = ranges.at(prefix); range.is_one_call() && fits(range))
                sides.emplace_back(std::move(prefix), where);
            if (end == std::string::npos) break;
        }
    };
    add(graph.op(ops[i]).scope, "BEGINNING", [&](const Range& range) { return range.first == i; });
    add(graph.op(ops[i - 1]).scope, "END", [&](const Range& range) { return range.last == i - 1; });
    return sides;
}

/// Assigns a module to each cut. A split_spec has one side of each module, so that no two cuts share a
/// module: a bipartite matching by augmenting paths (H. W. Kuhn, The Hungarian method for the assignment
/// problem, 1955).
class Matching {
public:
    using Taken = std::map<std::string, std::pair<std::size_t, const char*>>;

    explicit Matching(const std::vector<std::vector<Side>>& sides) : sides_(sides) {}

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

    const std::vector<std::vector<Side>>& sides_;
    Taken taken_;  ///< cut of each assigned module
    std::set<std::string> asked_;
};

/// Returns the ops of the model that run, in the order of the forward pass.
std::vector<OpId> forward_ops(const Graph& graph) {
    std::vector<OpId> ops;
    for (OpId id = 0; id < graph.size(); ++id) {
        const std::string& kind = graph.op(id).kind;
        if (graph.op(id).phase == Phase::forward && !graph.op(id).autocast && kind != "input" &&
            kind != "parameter" && kind != "constant")
            ops.push_back(id);
    }
    return ops;
}

}  // namespace

std::optional<std::vector<DeviceId>> chain_of_stages(const Problem& problem, const Placement& placement) {
    std::vector<DeviceId> stages;
    for (const OpId op : forward_ops(*problem.graph)) {
        const DeviceId device = placement[problem.grouping.group_of[op]];
        if (!stages.empty() && device == stages.back()) continue;
        if (std::ranges::find(stages, device) != stages.end()) return {};
        stages.push_back(device);
    }
    return stages;
}

WrittenPlacement split_points(const PlacedNetwork& placed) {
    const Graph& graph = *placed.problem->graph;
    const Machine& machine = *placed.problem->machine;
    const auto device_of = [&](OpId op) { return placed.placement[placed.problem->grouping.group_of[op]]; };
    const std::vector<OpId> ops = forward_ops(graph);
    const auto ranges = scope_ranges(graph, ops);

    std::vector<DeviceId> stages;
    std::vector<std::string> cuts;
    std::vector<std::vector<Side>> sides;
    NameList jumps, inside, taken;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const DeviceId device = device_of(ops[i]);
        if (i > 0 && device == stages.back()) continue;
        if (i > 0) {
            cuts.push_back(graph.op(ops[i - 1]).name + " (" + machine.device(stages.back()).name + ") to " +
                           graph.op(ops[i]).name + " (" + machine.device(device).name + ')');
            sides.push_back(sides_of_cut(graph, ops, i, ranges));
            if (std::ranges::find(stages, device) != stages.end()) jumps.add(cuts.back());
            if (sides.back().empty()) inside.add(cuts.back());
        }
        stages.push_back(device);
    }
    if (!jumps.empty()) {
        throw PlacementError(
            "the placement is not a chain of stages: in the order of the forward pass it goes back " +
            std::to_string(jumps.size()) + (jumps.size() == 1 ? " time: " : " times: ") + jumps.text());
    }
    if (!inside.empty())
        throw PlacementError(
            "stages can be cut only where a module begins or ends, but these cuts are inside of a module: " +
            inside.text());
    Matching matching(sides);
    for (std::size_t cut = 0; cut < cuts.size(); ++cut) {
        if (!matching.match(cut)) taken.add(cuts[cut]);
    }
    if (!taken.empty()) {
        throw PlacementError(
            "a module can be cut at its begin or at its end, not at both, but these cuts have only modules "
            "that another cut needs: " +
            taken.text());
    }
    Json split_spec = Json::object(), stage_to_rank = Json::array(), devices = Json::array();
    for (const auto& [module, side] : matching.taken()) {
        split_spec[dotted(module)] = side.second;
    }
    for (std::size_t rank = 0; rank < stages.size(); ++rank) {
        stage_to_rank.push_back(rank);
        const bool is_cpu = machine.device(stages[rank]).kind == DeviceKind::cpu;
        devices.push_back(is_cpu ? "cpu" : "cuda:" + std::to_string(gpu_number(machine, stages[rank])));
    }
    const Json root{{"split_spec", std::move(split_spec)},
                    {"stage_to_rank", std::move(stage_to_rank)},
                    {"devices", std::move(devices)}};
    WrittenPlacement written{root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', {}};
    NameList shared;
    for (OpId id = 0; id < graph.size(); ++id) {
        if (graph.op(id).kind != "parameter") continue;
        std::set<DeviceId> readers;
        for (const OpId reader : graph.consumers(id)) {
            if (graph.op(reader).phase == Phase::forward) readers.insert(device_of(reader));
        }
        if (readers.size() > 1) shared.add(graph.op(id).name);
    }
    if (!shared.empty())
        written.warnings.push_back(
            "several stages read " + shared.text() +
            "; PyTorch's pipeline has a copy in each of them, and training does not keep the copies equal");
    return written;
}

void refuse_split_points(const JsonFile& file, const JsonValue& root) {
    const auto split = root.find("split_spec");
    if (split && split->json().is_object())
        file.fail("",
                  "holds split points for a pipeline, from which no placement can be read: export the "
                  "placement itself as "
                  "placewright.placement");
}

}  // namespace placewright
