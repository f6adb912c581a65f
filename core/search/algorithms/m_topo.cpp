// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/memory_estimate.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct TopoOptions {
    std::size_t devices = 0;
    std::uint32_t attempts = 6;
    bool allow_cpu = false;
};

const OptionSchema<TopoOptions>& topo_schema() {
    using Options = TopoOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("devices", &Options::devices, 0, 1024,
                 "Number of devices to use, the fastest first; 0: all. What does not fit them "
                 "goes to others.")
            .add("attempts", &Options::attempts, 1, 10, kAttemptsHelp)
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Fills the devices one after the other with groups in the order of their first ops, each up to an equal
/// share of all bytes plus those of the largest group (m-TOPO of Baechi: Jeon, Cai, Srivastava, Jiang,
/// Canini, Gupta 2020), and not beyond its memory. A group that may not be on the current device or does not
/// fit there goes to the first device that it fits, or to the one with the most room. O(ops + edges) per
/// device.
Placement topological_fill(const DeviceChoices& choices, const TopoOptions& options, double memory_share) {
    const Problem& problem = choices.problem();
    MemoryEstimate memory(problem, memory_share);
    std::vector<DeviceId> devices = choices.fastest_first();
    if (options.devices > 0 && options.devices < devices.size()) devices.resize(options.devices);

    double total_bytes = 0;
    double largest_bytes = 0;
    for (GroupId group = 0; group < problem.groups; ++group) {
        total_bytes += memory.kept_bytes(group);
        largest_bytes = std::max(largest_bytes, memory.kept_bytes(group));
    }
    const double cap_bytes = total_bytes / static_cast<double>(devices.size()) + largest_bytes;

    Placement placement(problem.groups);
    std::size_t current = 0;
    double filled_bytes = 0;
    for (GroupId group = 0; group < problem.groups; ++group) {
        if (!choices.allows(group, devices[current])) {
            placement[group] = first_with_room(memory, group, choices.of(group));
            memory.add(group, placement[group]);
            continue;
        }
        const auto is_full = [&] {
            return filled_bytes + memory.kept_bytes(group) > cap_bytes ||
                   !memory.fits(group, devices[current]);
        };
        if (is_full() && current + 1 < devices.size() && choices.allows(group, devices[current + 1])) {
            ++current;
            filled_bytes = 0;
        }
        placement[group] = memory.fits(group, devices[current])
                               ? devices[current]
                               : first_with_room(memory, group, choices.of(group));
        if (placement[group] == devices[current]) filled_bytes += memory.kept_bytes(group);
        memory.add(group, placement[group]);
    }
    return placement;
}

}  // namespace

AlgorithmInfo m_topo_algorithm() {
    return describe(
        "m-topo", "m-TOPO",
        "Fills one device after the other in topological order, each with an equal share of the memory "
        "(m-TOPO of Baechi; Jeon et al., 2020).",
        topo_schema(), [](const SearchContext& context, const TopoOptions& options) {
            return propose_until_fits(
                [options, choices = DeviceChoices(context.problem, options.allow_cpu)](
                    double memory_share, const std::stop_token&) {
                    return topological_fill(choices, options, memory_share);
                },
                options.attempts);
        });
}

}  // namespace placewright
