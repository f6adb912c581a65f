// SPDX-License-Identifier: MIT
#include "core/measure/profiler.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/graph/gradients.hpp"
#include "core/graph/kinds.hpp"
#include "core/measure/host_files.hpp"

namespace placewright {
namespace {

/// Times of the forward op and of its derived ops.
struct Parts {
    std::vector<double> forward_s, data_s, weights_s;
};

const std::string& model_of(const Machine& machine, DeviceId device) {
    const Device& each = machine.device(device);
    if (each.model.empty())
        throw std::invalid_argument(
            "device " + in_quotes(each.name) +
            " has no \"model\", under which its times could be kept; give it one in the "
            "machine file");
    return each.model;
}

void expect_no_recomputation(const Problem& problem) {
    if (std::ranges::any_of(problem.graph->ops(), &Op::recomputes))
        throw std::invalid_argument(
            "ops are profiled without recomputation: choose none (on the command line --recompute none)");
}

}  // namespace

ProfileArchive profile_of(const Problem& problem, const Measurement& measurement, const std::string& source) {
    const Graph &graph = *problem.graph, &forward = *problem.forward;
    struct Times {
        std::map<std::string, Parts> ops;
        std::map<std::string, std::vector<double>> updates_s;
    };
    std::map<std::string, Times> by_model;
    expect_no_recomputation(problem);
    const bool inference = problem.inference || forward.training() == Training::none;
    const std::vector<bool> needed = needs_gradient(forward);
    std::vector<std::string> signatures(forward.size());
    std::map<OpId, double> sums_s;  // of the additions to the gradient of a shared parameter
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const OpId own = op.forward_op == kInvalidOp ? id : op.forward_op;
        if (own >= forward.size()) continue;
        if (signatures[own].empty()) signatures[own] = op_signature(forward, own, needed, inference);
        const DeviceId device = measurement.run.placement[problem.grouping.group_of[id]];
        Times& times = by_model[model_of(*problem.machine, device)];
        const double time_s = measurement.op_time_s[id];
        if (op.phase == Phase::update) {
            times.updates_s[update_signature(forward.op(own), problem.optimizer_states)].push_back(time_s);
        } else if (op.forward_op == kInvalidOp) {
            times.ops[signatures[own]].forward_s.push_back(time_s);
        } else {
            const bool ends_sum = op.name.ends_with("/weight_gradient");
            if (kind_info(forward.op(own).kind).parameter) {
                // Each of them has an overhead, which profiles leave out once.
                const auto [sum, is_first] = sums_s.try_emplace(own, 0.0);
                sum->second += time_s + (is_first ? 0 : measurement.overhead_s.value_or(0));
                if (ends_sum) times.ops[signatures[own]].weights_s.push_back(sums_s[own]);
                continue;
            }
            Parts& parts = times.ops[signatures[own]];
            (ends_sum ? parts.weights_s : parts.data_s).push_back(time_s);
        }
    }
    ProfileArchive archive;
    for (auto& [model, times] : by_model) {
        DeviceProfile& profile = archive.devices[model];
        profile.source = source;
        profile.overhead_s = measurement.overhead_s.value_or(0);
        for (auto& [signature, parts] : times.ops) {
            MeasuredTime& time = profile.ops[signature];
            if (!parts.forward_s.empty()) time.forward_s = median(std::move(parts.forward_s));
            const bool data = !parts.data_s.empty(), weights = !parts.weights_s.empty();
            const double data_s = data ? median(std::move(parts.data_s)) : 0;
            if (weights) time.weight_gradient_s = median(std::move(parts.weights_s));
            if (data || weights) time.backward_s = data_s + time.weight_gradient_s.value_or(0);
        }
        for (auto& [signature, values] : times.updates_s)
            profile.updates_s[signature] = median(std::move(values));
    }
    return archive;
}

std::string foreign_device_text(const Machine& machine, std::span<const PhysicalDevice> devices) {
    for (DeviceId id = 0; id < devices.size(); ++id) {
        const Device& device = machine.device(id);
        if (device.kind != DeviceKind::cpu && devices[id].kind == PhysicalDevice::Kind::logical_cpu)
            return device.name + " is " + to_string(devices[id]) +
                   ", so that its times would not be those of " + in_quotes(device.model) +
                   ", under which they are kept";
    }
    return {};
}

std::optional<NetworkProfile> profile_network(const std::shared_ptr<const Problem>& problem,
                                              std::span<const PhysicalDevice> devices,
                                              const MeasureOptions& options, std::stop_token stop,
                                              const MeasureProgress& progress) {
    expect_no_recomputation(*problem);
    std::vector<DeviceId> measured;
    std::set<std::string> models;
    for (DeviceId device = 0; device < problem->devices; ++device) {
        if (models.insert(model_of(*problem->machine, device)).second) measured.push_back(device);
    }
    NetworkProfile profile;
    for (std::uint32_t index = 0; index < measured.size(); ++index) {
        const auto told = [&](std::uint32_t done, std::uint32_t all) {
            if (progress) progress(index * all + done, static_cast<std::uint32_t>(measured.size()) * all);
        };
        const Placement placement = single_device_placement(*problem, measured[index]);
        const auto measurement = measure(problem, placement, devices, options, stop, told);
        if (!measurement && !(options.keeps_steps && index > 0)) return std::nullopt;
        if (!measurement) break;
        profile.archive.merge(profile_of(*problem, *measurement,
                                         problem->network->name() + " of batch " +
                                             std::to_string(problem->network->batch()) + ", " +
                                             measure_module().version()));
        if (const std::string warning = measurement->noise_warning(); !warning.empty())
            profile.warnings.push_back(problem->machine->device(measured[index]).name + ": " + warning);
    }
    return profile;
}

double largest_message_bytes(const Path& root) {
    constexpr double kShareOfFree = 0.25, kEnough = kLargestMessageBytes / kShareOfFree;
    return kShareOfFree * std::min({kEnough, available_memory_bytes(root).value_or(kEnough),
                                    memory_limit_bytes(root).value_or(kEnough)});
}

std::vector<double> message_sizes(double most_bytes) {
    std::vector<double> sizes;
    for (double decade = 1e3; decade <= most_bytes; decade *= 10) {
        for (const double size : {decade, 2 * decade, 5 * decade}) {
            if (size <= most_bytes) sizes.push_back(size);
        }
    }
    return sizes;
}

std::optional<std::vector<TransferTimes>> measure_transfers(
    const std::shared_ptr<const Machine>& machine, DeviceId from, DeviceId to,
    std::span<const PhysicalDevice> devices, std::span<const double> sizes, std::uint32_t repeats,
    bool throttles, std::stop_token stop, const MeasureProgress& progress) {
    std::vector<TransferTimes> result;
    for (std::uint32_t index = 0; index < sizes.size(); ++index) {
        // A source on one device and a view of it on the other.
        GraphBuilder builder("message", 1, Training::none);
        Op source;
        source.name = "message";
        source.kind = "input";
        source.outputs = {
            make_tensor({std::max<std::int64_t>(1, static_cast<std::int64_t>(sizes[index]))}, DType::uint8)};
        Op reader = source;
        reader.name = "arrival";
        reader.kind = "identity";
        builder.add(std::move(source), {});
        builder.add(std::move(reader), {"message"});
        ProblemOptions options;
        options.inference = true;
        const auto problem = make_problem(std::make_shared<const Graph>(builder.build()), machine, options);
        Placement placement(problem->groups, from);
        placement[problem->grouping.group_of[1]] = to;
        // Small messages are timed many times at little cost.
        MeasureOptions measuring;
        measuring.steps = repeats * (sizes[index] < 1e6 ? 10 : 1);
        measuring.throttles = throttles;
        const auto measurement = measure(problem, placement, devices, measuring, stop);
        if (!measurement) return std::nullopt;
        result.push_back({sizes[index], measurement->transfers.front().spread});
        if (progress) progress(index + 1, static_cast<std::uint32_t>(sizes.size()));
    }
    return result;
}

std::optional<ProfileArchive> profile_transfers(const std::shared_ptr<const Machine>& machine,
                                                std::span<const PhysicalDevice> devices,
                                                std::span<const double> sizes, std::uint32_t repeats,
                                                bool throttles, std::stop_token stop,
                                                const MeasureProgress& progress) {
    ProfileArchive archive;
    std::map<std::pair<std::string, std::string>, std::pair<DeviceId, DeviceId>> pairs;
    for (const Route& route : machine->routes())
        pairs.try_emplace({model_of(*machine, route.from), model_of(*machine, route.to)}, route.from,
                          route.to);
    std::uint32_t index = 0;
    for (const auto& [models, pair] : pairs) {
        const auto told = [&](std::uint32_t done, std::uint32_t all) {
            if (progress) progress(index * all + done, static_cast<std::uint32_t>(pairs.size()) * all);
        };
        const auto times = measure_transfers(machine, pair.first, pair.second, devices, sizes, repeats,
                                             throttles, stop, told);
        if (!times) return std::nullopt;
        for (const TransferTimes& each : *times)
            archive.transfers[models].emplace_back(each.bytes, each.time.median_s);
        ++index;
    }
    return archive;
}

}  // namespace placewright
