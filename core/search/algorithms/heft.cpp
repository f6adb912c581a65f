// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/list_scheduling.hpp"
#include "core/search/parts/memory_estimate.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

const OptionSchema<HeftOptions>& heft_schema() {
    using Options = HeftOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("rank", &Options::rank, {"mean", "best", "worst"},
                 "Time of an op in its upward rank: mean, best or worst over the devices that it may use.")
            .add("insertion", &Options::insertion,
                 "Let ops start in gaps of a device's schedule; otherwise only after its last op.")
            .add("link_contention", &Options::link_contention,
                 "Let transfers wait for busy channels; the published algorithm ignores contention.")
            .add("memory_filter", &Options::memory_filter,
                 "Skip devices whose estimated memory use would exceed their limit.")
            .add("attempts", &Options::attempts, 1, 10, kAttemptsHelp)
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

std::vector<double> rank_times_s(const DeviceChoices& choices, const std::string& rule) {
    if (rule == "mean") return mean_op_times_s(choices);
    const Problem& problem = choices.problem();
    std::vector<double> times_s(problem.ops);
    for (OpId op = 0; op < problem.ops; ++op) {
        const auto devices = choices.of(problem.grouping.group_of[op]);
        const auto time_s = [&](DeviceId device) { return problem.time_s(op, device); };
        times_s[op] = time_s(rule == "best" ? std::ranges::min(devices, {}, time_s)
                                            : std::ranges::max(devices, {}, time_s));
    }
    return times_s;
}

std::vector<OpId> by_rank(const std::vector<double>& rank_s) {
    std::vector<OpId> order(rank_s.size());
    std::iota(order.begin(), order.end(), OpId{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](OpId op) { return rank_s[op]; });
    return order;
}

}  // namespace

std::vector<double> mean_op_times_s(const DeviceChoices& choices) {
    const Problem& problem = choices.problem();
    std::vector<double> mean_s(problem.ops, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        const auto devices = choices.of(problem.grouping.group_of[op]);
        for (const DeviceId device : devices) mean_s[op] += problem.time_s(op, device);
        mean_s[op] /= static_cast<double>(devices.size());
    }
    return mean_s;
}

ListSchedule heft(const DeviceChoices& choices, const HeftOptions& options, double memory_share,
                  const std::stop_token& stop) {
    const Problem& problem = choices.problem();
    const std::vector<double> transfers_s = mean_transfers_s(problem, choices.fastest_first());
    Schedule schedule(problem, {options.insertion, options.link_contention});
    MemoryEstimate memory(problem, options.memory_filter ? memory_share : kInfinity);
    ListSchedule result;
    result.placement.assign(problem.groups, kInvalidDevice);

    const auto decide = [&](OpId op, GroupId group) {
        DeviceId best = kInvalidDevice;
        double best_s = kInfinity;
        for (const DeviceId device : choices.of(group)) {
            if (!memory.fits(group, device)) continue;
            const double finish_s =
                schedule.earliest_start_s(op, device) + problem.group_time_s(group, device);
            if (finish_s < best_s) {
                best = device;
                best_s = finish_s;
            }
        }
        return best == kInvalidDevice ? first_with_room(memory, group, choices.of(group)) : best;
    };
    for (const OpId op : by_rank(upward_ranks_s(problem, rank_times_s(choices, options.rank), transfers_s))) {
        if (stop.stop_requested()) return {};
        const GroupId group = problem.grouping.group_of[op];
        if (result.placement[group] == kInvalidDevice) {
            result.placement[group] = decide(op, group);
            memory.add(group, result.placement[group]);
        }
        schedule.add(op, result.placement[group]);
    }
    for (OpId op = 0; op < problem.ops; ++op) {
        result.start_s.push_back(schedule.start_s(op));
        result.end_s.push_back(schedule.end_s(op));
    }
    result.makespan_s = schedule.makespan_s();
    return result;
}

AlgorithmInfo heft_algorithm() {
    return describe(
        "heft", "HEFT",
        "Heterogeneous earliest finish time: ops by upward rank, each on the device where it finishes "
        "first (Topcuoglu, Hariri and Wu, 2002).",
        heft_schema(), [](const SearchContext& context, const HeftOptions& options) {
            return propose_until_fits(
                [options, choices = DeviceChoices(context.problem, options.allow_cpu)](
                    double memory_share, const std::stop_token& stop) {
                    return heft(choices, options, memory_share, stop).placement;
                },
                options.memory_filter ? options.attempts : 1);
        });
}

}  // namespace placewright
