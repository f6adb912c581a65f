// SPDX-License-Identifier: MIT
// How frameworks split a model by its bytes alone: baselines, and good starts for chains of equal blocks.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/graph/blocks.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/memory_estimate.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct SplitOptions {
    std::uint32_t attempts = 6;
    bool allow_cpu = true;
};

const OptionSchema<SplitOptions>& split_schema() {
    using Options = SplitOptions;
    static const auto schema = OptionSchema<Options>{}
                                   .add("attempts", &Options::attempts, 1, 10, kAttemptsHelp)
                                   .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// The devices that may be used, accelerators before CPUs, each in the order of the machine.
struct Devices {
    explicit Devices(const DeviceChoices& choices) {
        for (const DeviceId device : choices.devices()) {
            const bool host = choices.problem().machine->device(device).kind == DeviceKind::cpu;
            (host ? hosts : accelerators).push_back(device);
        }
        if (accelerators.empty()) accelerators.swap(hosts);
    }

    std::vector<DeviceId> accelerators, hosts;
};

/// Puts a group on the device, or where that is not allowed, on the first of its choices with room.
void put(const DeviceChoices& choices, GroupId group, DeviceId device, MemoryEstimate& memory,
         Placement& placement) {
    placement[group] =
        choices.allows(group, device) ? device : first_with_room(memory, group, choices.of(group));
    memory.add(group, placement[group]);
}

double weights_bytes(const Problem& problem, GroupId group) {
    double bytes = 0;
    for (const OpId op : problem.grouping.members[group])
        bytes += static_cast<double>(problem.graph->op(op).parameter_bytes);
    return bytes;
}

/// Fills accelerators, then CPUs, with groups in the order of their first ops, and never returns to an
/// earlier device. The first accelerator, and the CPU, keep room for the largest group that is still to come:
/// its weights pass through them (Hugging Face Accelerate, `infer_auto_device_map`). `weights_only`: as
/// Accelerate, which counts neither cache nor activations.
Placement sequential_fill(const DeviceChoices& choices, double memory_share, bool weights_only) {
    const Problem& problem = choices.problem();
    MemoryEstimate memory(problem, memory_share);
    Devices used(choices);
    std::vector<DeviceId> order = used.accelerators;
    order.insert(order.end(), used.hosts.begin(), used.hosts.end());

    std::vector<double> need(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group)
        need[group] = weights_only ? weights_bytes(problem, group) : memory.kept_bytes(group);
    std::vector<double> largest_after(problem.groups);
    std::partial_sum(need.rbegin(), need.rend(), largest_after.rbegin(),
                     [](double a, double b) { return std::max(a, b); });

    Placement placement(problem.groups);
    std::size_t at = 0;
    double filled = 0;
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto is_full = [&] {
            const DeviceId device = order[at];
            const bool shared = at == 0 || at == used.accelerators.size();
            const double room = memory.limit_bytes(device) - (shared ? largest_after[group] : 0);
            return filled + need[group] > room;
        };
        while (at + 1 < order.size() && is_full()) {
            ++at;
            filled = 0;
        }
        put(choices, group, order[at], memory, placement);
        if (placement[group] == order[at]) filled += need[group];
    }
    return placement;
}

bool is_block(const Problem& problem, GroupId group) {
    return block_number(problem.graph->op(problem.grouping.members[group].front())).has_value();
}

/// The rule of llama.cpp (`load_tensors`): of n layers and the output after them, the last `active` are on
/// accelerators, layer i on the first one whose cumulated share of the memory exceeds (i - start) / active.
/// Layers are the blocks of the network; without any, all groups are. What comes before the
/// first layer is on the CPU, but for a table that the output reads, too: llama.cpp has a copy of it there.
class ProportionalSplit {
public:
    explicit ProportionalSplit(const DeviceChoices& choices) : choices_(choices), devices_(choices) {
        const Problem& problem = choices.problem();
        layer_of_.resize(problem.groups);
        bool blocks = false;
        for (GroupId group = 0; group < problem.groups && !blocks; ++group) blocks = is_block(problem, group);
        std::int64_t layer = blocks ? -1 : 0;
        for (GroupId group = 0; group < problem.groups; ++group) {
            if (blocks && is_block(problem, group)) ++layer;
            layer_of_[group] = blocks ? layer : layer++;
        }
        layers_ = blocks ? layer + 1 : layer;
        if (!blocks) return;
        // Groups between two layers go with the one before; those with ops after the last are the output.
        const auto last_op = [&](GroupId group) {
            OpId last = 0;
            for (const OpId op : problem.grouping.members[group]) {
                if (problem.graph->op(op).phase == Phase::forward) last = std::max(last, op);
            }
            return last;
        };
        OpId last_of_blocks = 0;
        for (GroupId group = 0; group < problem.groups; ++group) {
            if (is_block(problem, group)) last_of_blocks = std::max(last_of_blocks, last_op(group));
        }
        for (GroupId group = 0; group < problem.groups; ++group) {
            if (!is_block(problem, group) && last_op(group) > last_of_blocks) layer_of_[group] = layers_;
        }
        ++layers_;
    }

    /// The split with the most layers on accelerators that fits, by the estimate; all layers on accelerators
    /// if none fits.
    Placement most_that_fits(double memory_share) const {
        const std::int64_t fewest = devices_.hosts.empty() ? layers_ : 0;
        const std::int64_t step = std::max<std::int64_t>(1, layers_ / kMostTrials);
        for (std::int64_t active = layers_; active >= fewest; active -= step) {
            bool fits = true;
            Placement placement = split(active, memory_share, fits);
            if (fits) return placement;
        }
        bool fits = true;
        return split(layers_, memory_share, fits);
    }

private:
    static constexpr std::int64_t kMostTrials = 256;

    Placement split(std::int64_t active, double memory_share, bool& fits) const {
        const Problem& problem = choices_.problem();
        MemoryEstimate memory(problem, memory_share);
        std::vector<double> share;  // cumulated
        for (const DeviceId device : devices_.accelerators)
            share.push_back((share.empty() ? 0 : share.back()) + problem.memory_limit_bytes[device]);
        const std::int64_t start = layers_ - active;
        Placement placement(problem.groups);
        for (GroupId group = 0; group < problem.groups; ++group) {
            const std::int64_t layer = layer_of_[group];
            DeviceId device = devices_.hosts.empty() ? devices_.accelerators.front() : devices_.hosts.front();
            if (layer >= start && active > 0 && layer >= 0) {
                const double at =
                    share.back() * static_cast<double>(layer - start) / static_cast<double>(active);
                const auto found = std::ranges::upper_bound(share, at) - share.begin();
                device = devices_.accelerators[std::min<std::size_t>(static_cast<std::size_t>(found),
                                                                     share.size() - 1)];
            }
            fits = fits && (!choices_.allows(group, device) || memory.fits(group, device));
            put(choices_, group, device, memory, placement);
        }
        return placement;
    }

    const DeviceChoices& choices_;
    Devices devices_;
    std::vector<std::int64_t> layer_of_;  ///< [group]: -1 before the first layer
    std::int64_t layers_ = 0;             ///< the output included
};

}  // namespace

AlgorithmInfo sequential_fill_algorithm() {
    return describe(
        "sequential-fill", "Sequential fill",
        "Fills one device after the other with the modules in their order, by the bytes of their weights, as "
        "Hugging Face Accelerate does for device_map=\"auto\"; where that does not fit, by weights and "
        "cache.",
        split_schema(), [](const SearchContext& context, const SplitOptions& options) {
            bool weights_only = true;
            return propose_until_fits(
                [choices = DeviceChoices(context.problem, options.allow_cpu), weights_only](
                    double memory_share, const std::stop_token&) mutable {
                    return sequential_fill(choices, memory_share, std::exchange(weights_only, false));
                },
                options.attempts);
        });
}

AlgorithmInfo memory_proportional_algorithm() {
    return describe(
        "memory-proportional", "Memory-proportional split",
        "Gives each GPU a share of the layers in proportion to its memory, and the first layers that do not "
        "fit to the CPU, as llama.cpp does.",
        split_schema(), [](const SearchContext& context, const SplitOptions& options) {
            return propose_until_fits(
                [choices = DeviceChoices(context.problem, options.allow_cpu)](double memory_share,
                                                                              const std::stop_token&) {
                    return ProportionalSplit(choices).most_that_fits(memory_share);
                },
                options.attempts);
        });
}

}  // namespace placewright
