// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "core/graph/kinds.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/branches.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct ExpertOptions {
    std::int64_t main_device = -1;
    std::size_t devices = 0;
    double smallest_branch = 0;
    bool allow_cpu = false;
};

const OptionSchema<ExpertOptions>& expert_schema() {
    using Options = ExpertOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("main_device", &Options::main_device, -1, 1023,
                 "Index (from 0) of the device for everything that is not parallel; -1: the fastest.")
            .add("devices", &Options::devices, 0, 1024,
                 "Number of devices to use, the fastest first; 0: all.")
            .add("smallest_branch", &Options::smallest_branch, 0, 1,
                 "Minimum share of the time of all parallel branches; lighter branches stay with the "
                 "heaviest one.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// The scope without a last component that counts the steps of an unrolled network: "decoder/layer1/step3",
/// ".../t3" and ".../3" all belong to "decoder/layer1". Ops without a scope use their name.
std::string_view layer_label(const Op& op) {
    const std::string_view scope = op.scope.empty() ? op.name : op.scope;
    const std::size_t slash = scope.rfind('/');
    if (slash == std::string_view::npos) return scope;
    const std::string_view last = scope.substr(slash + 1);
    const std::size_t digits = last.find_first_of("0123456789");
    const bool counts = digits != std::string_view::npos &&
                        last.find_first_not_of("0123456789", digits) == std::string_view::npos;
    const std::string_view word = last.substr(0, std::min(digits, last.size()));
    const bool step =
        word.empty() || word == "t" || word == "step" || word == "step_" || word == "time" || word == "time_";
    return counts && step ? scope.substr(0, slash) : scope;
}

class Expert {
public:
    Expert(const SearchContext& context, const ExpertOptions& options)
        : choices_(context.problem, options.allow_cpu),
          problem_(choices_.problem()),
          graph_(*problem_.graph),
          options_(options),
          devices_(choices_.fastest_first()) {
        if (options.main_device >= static_cast<std::int64_t>(problem_.devices)) {
            throw OptionError("main_device = " + to_string(options.main_device) +
                              " is out of range, the machine has " + std::to_string(problem_.devices) +
                              " devices");
        }
        if (options.main_device >= 0) {
            const auto main = static_cast<DeviceId>(options.main_device);
            std::erase(devices_, main);
            devices_.insert(devices_.begin(), main);
        }
        if (options.devices > 0 && options.devices < devices_.size()) devices_.resize(options.devices);
        device_of_.assign(graph_.size(), devices_.front());
        forward_ops_.assign(problem_.groups, 0);
        group_s_.assign(std::size_t{problem_.groups} * problem_.devices, -1);
        for (OpId id = 0; id < graph_.size(); ++id) {
            if (graph_.op(id).phase == Phase::forward) ++forward_ops_[problem_.grouping.group_of[id]];
        }
    }

    Placement placement() {
        const auto ops = graph_.ops();
        const bool recurrent =
            std::any_of(ops.begin(), ops.end(), [](const Op& op) { return kind_info(op.kind).recurrent; });
        if (recurrent) {
            layers_apart();
        } else {
            branches_apart();
        }
        follow_forward_ops();
        return of_groups();
    }

private:
    /// Assigns one device per layer, in the order in which layers begin; with more layers than devices,
    /// neighbouring layers share one.
    void layers_apart() {
        std::unordered_map<std::string_view, std::size_t> layer_of_label;
        for (const Op& op : graph_.ops()) {
            if (op.phase == Phase::forward && kind_info(op.kind).recurrent)
                layer_of_label.try_emplace(layer_label(op), layer_of_label.size());
        }
        const std::size_t layers = layer_of_label.size();
        // Ops outside of layers join the latest layer that they depend on: embeddings join the first, ops
        // behind the last layer join the last.
        std::vector<std::size_t> layer(graph_.size(), 0);
        for (OpId id = 0; id < graph_.size(); ++id) {
            const Op& op = graph_.op(id);
            if (op.phase != Phase::forward) continue;
            if (const auto known = layer_of_label.find(layer_label(op)); known != layer_of_label.end()) {
                layer[id] = known->second;
            } else {
                for (const OpId producer : graph_.producers(id))
                    layer[id] = std::max(layer[id], layer[producer]);
            }
            device_of_[id] =
                devices_[layers <= devices_.size() ? layer[id] : layer[id] * devices_.size() / layers];
        }
    }

    /// Spreads the branches of every block over the devices, longest first. The heaviest branch stays on the
    /// main device, with everything that is not parallel, and is searched for blocks of its own.
    void branches_apart() {
        // Sources that take no time (inputs, constants) would make all ops before them seem parallel to them.
        Branch ops, idle_sources;
        for (OpId id = 0; id < graph_.size(); ++id) {
            if (graph_.op(id).phase != Phase::forward) continue;
            const bool idle = graph_.producers(id).empty() && problem_.time_s(id, devices_.front()) == 0;
            (idle ? idle_sources : ops).push_back(id);
        }
        std::vector<Branch> open{std::move(ops)};
        std::size_t edges_left = edges_for_blocks(graph_);
        while (!open.empty()) {
            const Branch part = std::move(open.back());
            open.pop_back();
            for (Block& block : parallel_blocks(graph_, part, edges_left)) open.push_back(spread(block));
        }
        for (const OpId source : idle_sources) {
            const auto consumers = graph_.consumers(source);
            const auto reader = std::find_if(consumers.begin(), consumers.end(),
                                             [&](OpId op) { return graph_.op(op).phase == Phase::forward; });
            if (reader != consumers.end()) device_of_[source] = device_of_[*reader];
        }
    }

    /// Assigns devices to the branches of a block and returns the heaviest branch.
    Branch spread(Block& branches) {
        const DeviceId main = devices_.front();
        std::vector<double> weight_s;
        for (const Branch& branch : branches) weight_s.push_back(time_s(branch, main));
        std::vector<std::size_t> order(branches.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return weight_s[a] > weight_s[b]; });

        const double smallest_s =
            options_.smallest_branch * std::accumulate(weight_s.begin(), weight_s.end(), 0.0);
        std::vector<double> load_s(devices_.size(), 0);
        load_s[0] = weight_s[order[0]];
        for (std::size_t i = 1; i < order.size(); ++i) {
            const Branch& branch = branches[order[i]];
            if (weight_s[order[i]] < smallest_s) continue;
            std::size_t best = 0;
            double best_s = load_s[0] + weight_s[order[i]];
            for (std::size_t d = 1; d < devices_.size(); ++d) {
                const double end_s = load_s[d] + time_s(branch, devices_[d]);
                // On a tie the first other device wins: an idle device is better than the main device.
                if (end_s < best_s || (best == 0 && end_s == best_s)) {
                    best = d;
                    best_s = end_s;
                }
            }
            load_s[best] = best_s;
            for (const OpId op : branch) device_of_[op] = devices_[best];
        }
        return std::move(branches[order[0]]);
    }

    /// Seconds of the ops and of the ops that move with them; a group's time is divided among its forward
    /// ops.
    double time_s(std::span<const OpId> ops, DeviceId device) {
        double sum_s = 0;
        for (const OpId op : ops) {
            const GroupId group = problem_.grouping.group_of[op];
            double& group_s = group_s_[std::size_t{group} * problem_.devices + device];
            if (group_s < 0) group_s = problem_.group_time_s(group, device);
            sum_s += group_s / forward_ops_[group];
        }
        return sum_s;
    }

    /// Places backward and update ops with their forward op or, if a file does not name it, with the last
    /// forward op that they read from, otherwise with the op that they read last.
    void follow_forward_ops() {
        for (OpId id = 0; id < graph_.size(); ++id) {
            const Op& op = graph_.op(id);
            if (op.phase == Phase::forward) continue;
            const auto producers = graph_.producers(id);
            if (op.forward_op != kInvalidOp) {
                device_of_[id] = device_of_[op.forward_op];
            } else if (!producers.empty()) {
                const auto rank = [&](OpId producer) {
                    return std::pair(graph_.op(producer).phase == Phase::forward, producer);
                };
                const OpId last = *std::max_element(producers.begin(), producers.end(),
                                                    [&](OpId a, OpId b) { return rank(a) < rank(b); });
                device_of_[id] = device_of_[last];
            }
        }
    }

    /// A group goes to the device of its first op; if it may not be there, to the main device, otherwise to
    /// the fastest that it allows.
    Placement of_groups() const {
        Placement placement(problem_.groups);
        for (GroupId group = 0; group < problem_.groups; ++group) {
            const std::span<const DeviceId> allowed = problem_.allowed_devices(group);
            const auto may_use = [&](DeviceId device) {
                return std::binary_search(allowed.begin(), allowed.end(), device);
            };
            const DeviceId wanted = device_of_[problem_.grouping.members[group].front()];
            if (may_use(wanted)) {
                placement[group] = wanted;
            } else {
                placement[group] = may_use(devices_.front()) ? devices_.front() : choices_.fastest(group);
            }
        }
        return placement;
    }

    DeviceChoices choices_;
    const Problem& problem_;
    const Graph& graph_;
    ExpertOptions options_;
    std::vector<DeviceId> devices_;           ///< the main device, then the others, fastest first
    std::vector<DeviceId> device_of_;         ///< by op
    std::vector<std::uint32_t> forward_ops_;  ///< by group
    std::vector<double> group_s_;             ///< [group * devices + device]; negative: not yet computed
};

}  // namespace

AlgorithmInfo expert_algorithm() {
    return describe(
        "expert", "Expert",
        "Expert heuristic: parallel branches on different devices; in recurrent networks, one device per "
        "layer.",
        expert_schema(), [](const SearchContext& context, const ExpertOptions& options) {
            return propose_in_turn({Expert(context, options).placement()});
        });
}

}  // namespace placewright
