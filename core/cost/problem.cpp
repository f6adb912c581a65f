// SPDX-License-Identifier: MIT
#include "core/cost/problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/graph/training.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 2> kMemoryModels{"training", "exprimo"};

/// The machine with the efficiencies that the options ask for.
Machine with_efficiencies(const Machine& machine, const CostOptions& cost) {
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    for (Device& device : devices) device.efficiency = cost.compute_efficiency.value_or(device.efficiency);
    for (Channel& channel : channels) {
        if (!cost.channel_efficiency) continue;
        channel.efficiency = *cost.channel_efficiency;
        channel.efficiency_by_bytes.clear();
    }
    return Machine(machine.name(), std::move(devices), std::move(channels), {machine.routes().begin(), machine.routes().end()});
}

void fill_tensors(Problem& problem) {
    const Graph& graph = *problem.graph;
    problem.output_begin.assign(problem.ops + 1, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        problem.output_begin[op + 1] = problem.output_begin[op] + static_cast<TensorId>(graph.op(op).outputs.size());
    }
    problem.tensors = problem.output_begin.back();
    problem.tensor_bytes.reserve(problem.tensors);
    problem.producer.reserve(problem.tensors);
    for (OpId op = 0; op < problem.ops; ++op) {
        for (const Tensor& tensor : graph.op(op).outputs) {
            problem.tensor_bytes.push_back(static_cast<double>(tensor.bytes));
            problem.producer.push_back(op);
        }
    }

    std::vector<TensorId> reads;
    problem.input_begin.assign(1, 0);
    problem.consumer_begin.assign(problem.tensors + 1, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        reads.clear();
        for (const TensorRef& ref : graph.op(op).inputs) {
            const TensorId tensor = problem.output_begin[ref.op] + ref.output;
            if (std::ranges::find(reads, tensor) == reads.end()) reads.push_back(tensor);
        }
        for (const TensorId tensor : reads) ++problem.consumer_begin[tensor + 1];
        problem.input.insert(problem.input.end(), reads.begin(), reads.end());
        problem.input_begin.push_back(static_cast<std::uint32_t>(problem.input.size()));
        if (reads.empty()) problem.sources.push_back(op);
    }
    std::partial_sum(problem.consumer_begin.begin(), problem.consumer_begin.end(), problem.consumer_begin.begin());
    problem.consumer.resize(problem.input.size());
    std::vector<std::uint32_t> next(problem.consumer_begin.begin(), problem.consumer_begin.end() - 1);
    for (OpId op = 0; op < problem.ops; ++op) {
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) problem.consumer[next[problem.input[i]]++] = op;
    }
}

void fill_routes(Problem& problem, const Machine& machine) {
    problem.route_begin.assign(1, 0);
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; to < problem.devices; ++to) {
            const auto route = machine.route(from, to);
            problem.route_channel.insert(problem.route_channel.end(), route.begin(), route.end());
            problem.route_begin.push_back(static_cast<std::uint32_t>(problem.route_channel.size()));
        }
    }
    std::vector<Channel> classes;
    for (Channel channel : machine.channels()) {
        channel.name.clear();
        const auto known = std::ranges::find(classes, channel);
        problem.channel_class.push_back(static_cast<std::uint32_t>(known - classes.begin()));
        if (known == classes.end()) classes.push_back(std::move(channel));
    }
    problem.channel_classes = static_cast<std::uint32_t>(classes.size());
    problem.transfer_s.reserve(std::size_t{problem.tensors} * classes.size());
    for (const Op& op : problem.graph->ops()) {
        for (const Tensor& tensor : op.outputs) {
            for (const Channel& channel : classes) {
                problem.transfer_s.push_back(tensor.transfer_s ? *tensor.transfer_s
                                                               : transfer_time_s(channel, static_cast<double>(tensor.bytes)));
            }
        }
    }
}

void fill_allowed(Problem& problem) {
    const Graph& graph = *problem.graph;
    const Machine& machine = *problem.machine;
    problem.allowed_begin.assign(1, 0);
    for (const auto& members : problem.grouping.members) {
        for (DeviceId device = 0; device < problem.devices; ++device) {
            const bool allowed = std::ranges::all_of(members, [&](OpId op) {
                const auto& constraints = graph.op(op).devices;
                return constraints.empty() ||
                       std::ranges::any_of(constraints, [&](const std::string& text) { return machine.matches(device, text); });
            });
            if (allowed) problem.allowed.push_back(device);
        }
        if (problem.allowed.size() == problem.allowed_begin.back()) {
            throw PlacementError("op \"" + graph.op(members.front()).name + "\" may not run on any device of machine \"" + machine.name() +
                                 "\" together with the ops that it shares a device with; loosen its \"devices\" or choose another machine");
        }
        problem.allowed_begin.push_back(static_cast<std::uint32_t>(problem.allowed.size()));
    }
}

}  // namespace

std::string_view to_string(MemoryModel model) {
    return kMemoryModels[static_cast<std::size_t>(model)];
}

std::optional<MemoryModel> memory_model_from(std::string_view text) {
    const auto* const found = std::ranges::find(kMemoryModels, text);
    if (found == kMemoryModels.end()) return {};
    return static_cast<MemoryModel>(found - kMemoryModels.begin());
}

double Problem::group_time_s(GroupId group, DeviceId device) const {
    double sum = 0;
    for (const OpId op : grouping.members[group]) sum += time_s(op, device);
    return sum;
}

std::shared_ptr<const Problem> make_problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Machine> machine,
                                            const ProblemOptions& options) {
    auto problem = std::make_shared<Problem>();
    problem->forward = graph;
    problem->graph =
        std::make_shared<const Graph>(options.inference ? inference_graph(*graph) : options.cost.model->training_graph(*graph));
    problem->machine = std::make_shared<const Machine>(with_efficiencies(*machine, options.cost));
    problem->grouping = group_by_constraints(*problem->graph);
    problem->memory = options.memory;
    problem->inference = options.inference;

    const Graph& ops = *problem->graph;
    problem->ops = static_cast<std::uint32_t>(ops.size());
    problem->devices = static_cast<std::uint32_t>(problem->machine->devices().size());
    problem->channels = static_cast<std::uint32_t>(problem->machine->channels().size());
    problem->groups = static_cast<std::uint32_t>(problem->grouping.size());

    const bool training = std::ranges::any_of(ops.ops(), [](const Op& op) { return op.phase != Phase::forward; });
    const double states = training && options.memory == MemoryModel::training ? options.optimizer_states : 0;
    problem->op_time_s.reserve(std::size_t{problem->ops} * problem->devices);
    for (OpId op = 0; op < problem->ops; ++op) {
        for (const Device& device : problem->machine->devices()) {
            const double time_s = options.cost.model->op_time_s(ops, op, device);
            if (!std::isfinite(time_s)) {
                throw PlacementError("op \"" + ops.op(op).name + "\" would take longer than can be counted on device \"" + device.name +
                                     "\"; its FLOPs or bytes are too many, or the device is too slow");
            }
            problem->op_time_s.push_back(time_s);
        }
        problem->resident_bytes.push_back(static_cast<double>(ops.op(op).parameter_bytes) * (1 + states) +
                                          static_cast<double>(ops.op(op).resident_bytes));
        problem->sends_together.push_back(ops.op(op).sends_together);
    }
    fill_tensors(*problem);
    fill_routes(*problem, *problem->machine);
    fill_allowed(*problem);
    return problem;
}

void check_placement(const Problem& problem, std::span<const DeviceId> placement) {
    if (placement.size() != problem.groups) {
        throw PlacementError("the placement has " + std::to_string(placement.size()) + " groups, the problem " +
                             std::to_string(problem.groups));
    }
    for (GroupId group = 0; group < problem.groups; ++group) {
        const std::string& op = problem.graph->op(problem.grouping.members[group].front()).name;
        if (placement[group] >= problem.devices) {
            throw PlacementError("op \"" + op + "\" is placed on device " + std::to_string(placement[group]) +
                                 ", the machine has devices 0 to " + std::to_string(problem.devices - 1));
        }
        if (!std::ranges::binary_search(problem.allowed_devices(group), placement[group])) {
            throw PlacementError("op \"" + op + "\" may not run on device \"" + problem.machine->device(placement[group]).name + "\"");
        }
    }
}

Placement single_device_placement(const Problem& problem, DeviceId device) {
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto allowed = problem.allowed_devices(group);
        placement[group] = std::ranges::binary_search(allowed, device)
                               ? device
                               : *std::ranges::min_element(allowed, {}, [&](DeviceId d) { return problem.group_time_s(group, d); });
    }
    return placement;
}

Placement single_device_placement(const Problem& problem) {
    Placement best;
    double least_s = std::numeric_limits<double>::infinity();
    for (DeviceId device = 0; device < problem.devices; ++device) {
        Placement placement = single_device_placement(problem, device);
        double total_s = 0;
        for (GroupId group = 0; group < problem.groups; ++group) total_s += problem.group_time_s(group, placement[group]);
        if (best.empty() || total_s < least_s) {
            least_s = total_s;
            best = std::move(placement);
        }
    }
    return best;
}

}  // namespace placewright
