// SPDX-License-Identifier: MIT
#include "core/io/split_points.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/io/json.hpp"
#include "core/io/name_list.hpp"
#include "core/io/torch_devices.hpp"

namespace placewright {
namespace {

/// Where the ops of each scope begin and end among those that run.
struct Range {
    std::size_t first = 0, last = 0;
};

std::unordered_map<std::string, Range> scope_ranges(const Graph& graph, const std::vector<OpId>& ops) {
    std::unordered_map<std::string, Range> ranges;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const std::string& scope = graph.op(ops[i]).scope;
        for (std::size_t end = scope.find('/'); !scope.empty(); end = scope.find('/', end + 1)) {
            Range& range = ranges.try_emplace(scope.substr(0, end), Range{i, i}).first->second;
            range.last = i;
            if (end == std::string::npos) break;
        }
    }
    return ranges;
}

/// The outermost scope of an op that `fits`.
template <class Fits>
std::string outermost(const std::unordered_map<std::string, Range>& ranges, const std::string& scope, Fits fits) {
    for (std::size_t end = scope.find('/'); !scope.empty(); end = scope.find('/', end + 1)) {
        std::string prefix = scope.substr(0, end);
        if (fits(ranges.at(prefix))) return prefix;
        if (end == std::string::npos) break;
    }
    return {};
}

}  // namespace

WrittenPlacement split_points(const PlacedNetwork& placed) {
    const Graph& graph = *placed.problem->graph;
    const Machine& machine = *placed.problem->machine;
    const auto device_of = [&](OpId op) { return placed.placement[placed.problem->grouping.group_of[op]]; };
    std::vector<OpId> ops;
    for (OpId id = 0; id < graph.size(); ++id) {
        const std::string& kind = graph.op(id).kind;
        if (graph.op(id).phase == Phase::forward && kind != "input" && kind != "parameter" && kind != "constant") ops.push_back(id);
    }
    const auto ranges = scope_ranges(graph, ops);

    Json split_spec = Json::object(), stage_to_rank = Json::array(), devices = Json::array();
    std::vector<DeviceId> stages;
    NameList jumps, inside;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const DeviceId device = device_of(ops[i]);
        if (i > 0 && device == stages.back()) continue;
        const std::string& name = graph.op(ops[i]).name;
        if (i > 0) {
            const std::string cut = graph.op(ops[i - 1]).name + " (" + machine.device(stages.back()).name + ") to " + name + " (" +
                                    machine.device(device).name + ')';
            if (std::ranges::find(stages, device) != stages.end()) jumps.add(cut);
            std::string module = outermost(ranges, graph.op(ops[i]).scope, [&](const Range& range) { return range.first == i; });
            const char* where = "BEGINNING";
            if (module.empty()) {
                module = outermost(ranges, graph.op(ops[i - 1]).scope, [&](const Range& range) { return range.last == i - 1; });
                where = "END";
            }
            if (module.empty()) inside.add(cut);
            std::ranges::replace(module, '/', '.');
            split_spec[module] = where;
        }
        stages.push_back(device);
    }
    if (!jumps.empty()) {
        throw PlacementError("the placement is no chain of stages, for in the order of the forward pass it goes back " +
                             std::to_string(jumps.size()) + (jumps.size() == 1 ? " time: " : " times: ") + jumps.text());
    }
    if (!inside.empty())
        throw PlacementError("stages are cut where modules begin or end, but these cuts are inside of a module: " + inside.text());
    for (std::size_t rank = 0; rank < stages.size(); ++rank) {
        stage_to_rank.push_back(rank);
        const bool is_cpu = machine.device(stages[rank]).kind == DeviceKind::cpu;
        devices.push_back(is_cpu ? "cpu" : "cuda:" + std::to_string(gpu_number(machine, stages[rank])));
    }
    const Json root{{"split_spec", std::move(split_spec)}, {"stage_to_rank", std::move(stage_to_rank)}, {"devices", std::move(devices)}};
    return {root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', {}};
}

}  // namespace placewright
