// SPDX-License-Identifier: MIT
#include "core/bounds/simple_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/base/infinity.hpp"
#include "core/base/units.hpp"
#include "core/bounds/least_times.hpp"
#include "core/sim/host_work.hpp"
#include "core/sim/memory_shortage.hpp"
#include "core/sim/op_loads.hpp"

namespace placewright {
namespace {

/// Lagrangian dual of the fractional assignment problem: minimise T so that every group is assigned, the work
/// of each device is at most T and its resident bytes are at most its memory. For any weights y (summing to
/// 1) and prices z >= 0,
///     sum over groups of min over devices (y_d t_gd + z_d r_g) - sum over devices of z_d M_d
/// is a lower bound on T (weak duality), so every step of the ascent proves what it finds.
class LoadDual {
public:
    LoadDual(const Problem& problem, const GroupLoads& loads, bool memory)
        : problem_(problem),
          loads_(loads),
          memory_(memory),
          weight_(problem.devices),
          price_(problem.devices, 0) {
        // Weights in proportion to the devices' speeds are optimal where speeds do not depend on the op.
        std::vector<double> total(problem.devices, 0);
        std::vector<bool> usable(problem.devices, false);
        for (GroupId group = 0; group < problem.groups; ++group) {
            for (const DeviceId device : problem.allowed_devices(group)) usable[device] = true;
        }
        for (DeviceId device = 0; device < problem.devices; ++device) {
            for (OpId op = 0; op < problem.ops; ++op) total[device] += problem.time_s(op, device);
            weight_[device] = usable[device] ? 1.0 / std::max(total[device], 1e-300) : 0;
        }
        normalise();
    }

    double ascend(int steps) {
        double best = value();
        const double unit = std::max(best, 1e-300);
        std::vector<double> best_weight = weight_, best_price = price_;
        for (int step = 0; step < steps; ++step) {
            // Exponentiated steps for the weights keep them positive and summing to one; projected steps for
            // the prices. The unit of the loads must not depend on the current assignment: steps towards
            // opposite assignments would cancel out at the wrong mix of them.
            const double size = 0.5 / std::sqrt(1.0 + step);
            for (DeviceId device = 0; device < problem_.devices; ++device) {
                weight_[device] *= std::exp(size * std::clamp(load_[device] / unit - 1.0, -3.0, 3.0));
                if (!memory_) continue;
                const double limit = problem_.memory_limit_bytes[device];
                price_[device] =
                    std::max(0.0, price_[device] + size * unit * (bytes_[device] - limit) / (limit * limit));
            }
            normalise();
            const double now = value();
            if (now > best) {
                best = now;
                best_weight = weight_;
                best_price = price_;
            }
        }
        weight_ = best_weight;
        price_ = best_price;
        return best;
    }

private:
    void normalise() {
        const double sum = std::accumulate(weight_.begin(), weight_.end(), 0.0);
        for (double& weight : weight_) weight /= sum;
    }

    /// The bound for the current weights and prices. Stores load and bytes of the minimising assignment for
    /// the next step.
    double value() {
        load_.assign(problem_.devices, 0);
        bytes_.assign(problem_.devices, 0);
        double sum = 0;
        for (GroupId group = 0; group < problem_.groups; ++group) {
            const double* time = &loads_.time_s[std::size_t{group} * problem_.devices];
            double least = kInfinity;
            DeviceId chosen = 0;
            for (const DeviceId device : problem_.allowed_devices(group)) {
                const double cost =
                    weight_[device] * time[device] + price_[device] * loads_.resident_bytes[group];
                if (cost < least) {
                    least = cost;
                    chosen = device;
                }
            }
            sum += least;
            load_[chosen] += time[chosen];
            bytes_[chosen] += loads_.resident_bytes[group];
        }
        for (DeviceId device = 0; device < problem_.devices; ++device)
            sum -= price_[device] * problem_.memory_limit_bytes[device];
        return sum;
    }

    const Problem& problem_;
    const GroupLoads& loads_;
    bool memory_;
    std::vector<double> weight_, price_, load_, bytes_;
};

using DeviceSet = std::vector<DeviceId>;

double memory_of(const Problem& problem, const DeviceSet& devices) {
    double sum = 0;
    for (const DeviceId device : devices) sum += problem.memory_limit_bytes[device];
    return sum;
}

/// Resident bytes by the set of devices that may hold them.
std::map<DeviceSet, double> bytes_by_devices(const Problem& problem, const GroupLoads& loads) {
    std::map<DeviceSet, double> bytes;
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto allowed = problem.allowed_devices(group);
        bytes[DeviceSet(allowed.begin(), allowed.end())] += loads.resident_bytes[group];
    }
    return bytes;
}

/// False if no placement keeps the resident bytes of every device within its memory: all ways to fill the
/// devices were tried, the largest groups first. True if there is one, or if `steps` are not enough to
/// decide.
bool parameters_may_fit(const Problem& problem, const GroupLoads& loads, int steps) {
    std::vector<double> room = problem.memory_limit_bytes;
    std::vector<GroupId> order(problem.groups);
    std::iota(order.begin(), order.end(), GroupId{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](GroupId group) { return loads.resident_bytes[group]; });
    std::vector<std::uint32_t> tried(problem.groups, 0);
    for (std::size_t depth = 0; steps > 0; --steps) {
        if (depth == order.size()) return true;
        const auto allowed = problem.allowed_devices(order[depth]);
        const double bytes = loads.resident_bytes[order[depth]];
        std::uint32_t& next = tried[depth];
        if (next > 0) room[allowed[next - 1]] += bytes;
        while (next < allowed.size() && room[allowed[next]] < bytes) ++next;
        if (next < allowed.size()) {
            room[allowed[next++]] -= bytes;
            ++depth;
        } else {
            next = 0;
            if (depth-- == 0) return false;
        }
    }
    return true;
}

/// "conv1", or "conv1 and the 4 ops that must be on the same device".
std::string group_name(const Problem& problem, GroupId group) {
    const auto& members = problem.grouping.members[group];
    const auto counts = [&](OpId op) { return problem.graph->op(op).phase == Phase::forward; };
    const auto forward = std::ranges::count_if(members, counts);
    const auto first = std::ranges::find_if(members, counts);
    const std::string name = problem.graph->op(first == members.end() ? members.front() : *first).name;
    if (forward < 2) return name;
    return name + " and the " + std::to_string(forward - 1) + (forward == 2 ? " op" : " ops") +
           " that must be on the same device";
}

/// What Problem::end_bytes() counts.
std::string held_text(const Problem& problem) {
    if (std::ranges::any_of(problem.graph->ops(), [](const Op& op) { return op.phase == Phase::update; }))
        return "parameters, gradients and optimizer state";
    return std::ranges::any_of(problem.graph->ops(), [](const Op& op) { return op.resident_bytes > 0; })
               ? "parameters and other data that stay"
               : "parameters";
}

std::optional<std::string> shortage(const Problem& problem, const GroupLoads& loads) {
    constexpr int kSteps = 100'000;
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto allowed = problem.allowed_devices(group);
        const DeviceId roomiest = *std::ranges::max_element(
            allowed, {}, [&](DeviceId device) { return problem.memory_limit_bytes[device]; });
        if (loads.resident_bytes[group] <= problem.memory_limit_bytes[roomiest]) continue;
        return "what " + group_name(problem, group) + " holds all the time (" + held_text(problem) + ") is " +
               format_bytes(loads.resident_bytes[group]) + ", but of the devices that may hold it " +
               problem.machine->device(roomiest).name + " has the most memory, " +
               format_bytes(problem.memory_limit_bytes[roomiest]);
    }
    const std::map<DeviceSet, double> bytes = bytes_by_devices(problem, loads);
    for (const auto& [devices, own] : bytes) {
        double needed = 0;
        for (const auto& [others, more] : bytes) {
            if (std::ranges::includes(devices, others)) needed += more;
        }
        const double offered = memory_of(problem, devices);
        if (needed > offered)
            return held_text(problem) + " take " + format_bytes(needed) + ", but " +
                   (devices.size() == problem.devices ? "all devices" : "the devices that may hold them") +
                   " together have " + format_bytes(offered) + " of memory";
    }
    if (parameters_may_fit(problem, loads, kSteps)) return {};
    const auto largest =
        static_cast<GroupId>(std::ranges::max_element(loads.resident_bytes) - loads.resident_bytes.begin());
    return "every way to distribute the parameters over the devices was tried; none fits their memory, since "
           "groups that must stay together are too large (the largest is " +
           group_name(problem, largest) + ", " + format_bytes(loads.resident_bytes[largest]) + ')';
}

/// The relaxation's value, or infinity if the parameters alone provably do not fit.
Bound memory_bound(const Problem& problem, const GroupLoads& loads, double relaxed_s) {
    if (auto reason = shortage(problem, loads)) return {"memory", kInfinity, *std::move(reason)};
    const double needed = std::accumulate(loads.resident_bytes.begin(), loads.resident_bytes.end(), 0.0);
    DeviceSet all(problem.devices);
    std::iota(all.begin(), all.end(), DeviceId{0});
    return {"memory", relaxed_s,
            "the best sharing of the work between the devices with no more parameters on each than fit its "
            "memory (linear-programming relaxation); parameters need " +
                format_bytes(needed) + " of " + format_bytes(memory_of(problem, all))};
}

/// The host's work: that of its main thread, and that of the devices' threads side by side.
Bound host_bound(const Problem& problem, const SimulationOptions& options) {
    const bool pipeline = options.order != Order::fifo;
    const HostProgram program = program_of(problem);
    double main_s = 0, before_s = 0, side_by_side_s = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const bool by_device = pipeline || (program.backward_begin <= i && i < program.backward_end);
        const double op_s = host_op_s(problem, options, program.ops[i]);
        (by_device ? side_by_side_s : main_s) += op_s;
        if (!by_device && i < program.backward_begin) before_s += op_s;
    }
    double host_s = main_s + side_by_side_s / problem.devices;
    // The main thread does not wait for backward ops on a CPU.
    const bool has_cpu = std::ranges::any_of(
        problem.machine->devices(), [](const Device& device) { return device.kind == DeviceKind::cpu; });
    if (has_cpu && !pipeline) host_s = std::max(main_s, before_s + side_by_side_s / problem.devices);
    return {
        "host", host_s,
        "the time in which the host dispatches the ops and launches their kernels, a thread for each device"
        " side by side" +
            std::string(pipeline ? "" : " in the backward pass")};
}

}  // namespace

std::optional<std::string> memory_shortage(const Problem& problem) {
    return shortage(problem, group_loads(problem, 1, DevicePart::share));
}

double critical_path_s(const Problem& problem, std::uint32_t batches) {
    const std::vector<double> fastest_s = fastest_of(problem, least_times_s(problem, batches));
    std::vector<double> end(problem.ops, 0);
    double longest = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        double start = 0;
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            start = std::max(start, end[problem.producer[problem.input[i]]]);
        }
        end[op] = start + fastest_s[op];
        longest = std::max(longest, end[op]);
    }
    return longest;
}

std::vector<Bound> lower_bounds(const Problem& problem, const SimulationOptions& options) {
    GroupLoads loads = group_loads(problem, options.batches, DevicePart::share);
    // About a tenth of a second per ascent.
    const auto steps = static_cast<int>(std::clamp<std::size_t>(50'000'000 / loads.time_s.size(), 100, 2000));
    double load_s = LoadDual(problem, loads, false).ascend(steps);
    if (!problem.op_share.empty()) {
        GroupLoads by_stream = group_loads(problem, options.batches, DevicePart::stream);
        const double by_stream_s = LoadDual(problem, by_stream, false).ascend(steps);
        if (by_stream_s > load_s) {
            load_s = by_stream_s;
            loads = std::move(by_stream);
        }
    }
    const double memory_s = std::max(load_s, LoadDual(problem, loads, true).ascend(steps));

    // Of B batches each takes at least the critical path, and at most `in_flight` of them run at a time.
    const std::uint32_t overlap = std::max(1U, options.batches_in_flight());
    const double path_s = critical_path_s(problem, options.batches) * rounds_a_batch(options);

    std::vector<Bound> bounds{
        {"critical-path", path_s,
         "the longest chain of ops, each on its fastest device, transfers free" +
             (options.batches > 1 ? std::string(", ") + std::to_string(overlap) + " batches at a time"
                                  : std::string())},
        {"load", load_s,
         "the best sharing of all work between the devices without idle time, transfers free "
         "(linear-programming "
         "relaxation of the assignment of ops to devices)" +
             std::string(problem.op_share.empty() ? ""
                                                  : "; on devices with several streams an op counts with "
                                                    "the share of the device that it needs")},
        memory_bound(problem, loads, memory_s),
    };
    if (options.runtime == Runtime::eager) bounds.push_back(host_bound(problem, options));
    std::ranges::stable_sort(bounds, std::ranges::greater{}, &Bound::value_s);
    return bounds;
}

}  // namespace placewright
