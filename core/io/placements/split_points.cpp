// SPDX-License-Identifier: MIT
#include "core/io/placements/split_points.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/io/networks/module_names.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/placements/stages.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {
namespace {

std::string name_of_cut(const PlacedNetwork& placed, OpId before, OpId after) {
    const auto with_device = [&](OpId op) {
        const DeviceId device = placed.placement[placed.problem->grouping.group_of[op]];
        return placed.problem->graph->op(op).name + " (" + placed.problem->machine->device(device).name + ')';
    };
    return with_device(before) + " to " + with_device(after);
}

constexpr const char* kRemedy = "; repairing it (--repair) exports the nearest chain of stages";

/// Warns of ops that read only constants and run elsewhere than placed, with the step time that follows.
void warn_of_constants(const PlacedNetwork& placed, WrittenPlacement& written) {
    const Problem& problem = *placed.problem;
    const Placement run = constants_with_readers(problem, placed.placement);
    NameList moved;
    for (OpId id = 0; id < problem.graph->size(); ++id) {
        const GroupId group = problem.grouping.group_of[id];
        if (problem.graph->op(id).phase == Phase::forward && run[group] != placed.placement[group])
            moved.add(problem.graph->op(id).name);
    }
    if (moved.empty()) return;
    written.warnings.push_back(std::to_string(moved.size()) +
                               (moved.size() == 1
                                    ? " op that reads only constants runs in the stage of its reader: "
                                    : " ops that read only constants run in the stages of their readers: ") +
                               moved.text() + "; " + note_run(written, placed, run));
}

}  // namespace

WrittenPlacement split_points(const PlacedNetwork& placed) {
    const Graph& graph = *placed.problem->graph;
    const Machine& machine = *placed.problem->machine;
    const auto device_of = [&](OpId op) { return placed.placement[placed.problem->grouping.group_of[op]]; };
    const std::vector<OpId> ops = staged_ops(graph);
    const ModuleSides module_sides(graph, ops);

    std::vector<DeviceId> stages;
    std::vector<std::string> cuts;
    std::vector<std::vector<ModuleSide>> sides;
    NameList jumps, inside, taken;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const DeviceId device = device_of(ops[i]);
        if (i > 0 && device == stages.back()) continue;
        if (i > 0) {
            cuts.push_back(name_of_cut(placed, ops[i - 1], ops[i]));
            sides.push_back(module_sides.at(i));
            if (std::ranges::find(stages, device) != stages.end()) jumps.add(cuts.back());
            if (sides.back().empty()) inside.add(cuts.back());
        }
        stages.push_back(device);
    }
    if (!jumps.empty()) {
        throw PlacementError(
            "the placement is not a chain of stages: in the order of the forward pass it goes back " +
            std::to_string(jumps.size()) + (jumps.size() == 1 ? " time: " : " times: ") + jumps.text() +
            kRemedy);
    }
    if (!inside.empty())
        throw PlacementError(
            "stages can be cut only where a module begins or ends, but these cuts are inside of a module: " +
            inside.text() + kRemedy);
    const NamedCuts named = name_cuts(sides);
    for (const std::size_t cut : named.unnamed) taken.add(cuts[cut]);
    if (!taken.empty()) {
        throw PlacementError(
            "a module can be cut at its begin or at its end, not at both, but these cuts have only modules "
            "that another cut needs: " +
            taken.text() + kRemedy);
    }
    Json split_spec = Json::object(), stage_to_rank = Json::array(), devices = Json::array();
    for (const auto& [module, where] : named.sides) split_spec[dotted(module)] = where;
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
    warn_of_constants(placed, written);
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
