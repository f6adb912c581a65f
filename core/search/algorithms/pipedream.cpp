// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/memory_estimate.hpp"
#include "core/search/parts/proposals.hpp"
#include "core/search/parts/schedule.hpp"

namespace placewright {
namespace {

struct PipedreamOptions {
    std::size_t devices = 0;
    bool communication = true;
    std::uint32_t attempts = 6;
    bool allow_cpu = false;
};

const OptionSchema<PipedreamOptions>& pipedream_schema() {
    using Options = PipedreamOptions;
    static const auto schema = OptionSchema<Options>{}
                                   .add("devices", &Options::devices, 0, 1024,
                                        "Number of devices to use, the fastest first; 0: all.")
                                   .add("communication", &Options::communication,
                                        "Count the transfers at the beginning of a stage as well as its ops; "
                                        "otherwise only ops count.")
                                   .add("attempts", &Options::attempts, 1, 10, kAttemptsHelp)
                                   .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// PipeDream's partitioner (Narayanan et al. 2019) without replicated stages, for heterogeneous devices: the
/// groups in the order of their first ops are a chain, which is cut into stages, one per device, so that the
/// slowest stage or boundary is as fast as possible:
///
///     A(j, d) = min over i < j and d' before d of max(A(i, d'), boundary(i, d', d), stage(i, j, d))
///
/// with A(j, d) for the first j groups, the last of them on d; boundary(i, ..) the time of all tensors from
/// groups before i to groups from i on (activations) and of those back (gradients); stage(i, j, d) the time
/// of the ops of groups i to j - 1. Transfers overlap with ops. A tensor that is read several stages later is
/// counted at every boundary. Stages take the devices in the order of their speed and may leave some out.
/// Groups that may not be on the device of their stage go to the fastest that they may use and do not count.
/// The memory of a stage must fit by MemoryEstimate's sums; if no cut fits, memory is ignored. O(groups *
/// longest stage * devices^2).
class Partitioner {
public:
    Partitioner(const DeviceChoices& choices, const PipedreamOptions& options)
        : choices_(choices), problem_(choices.problem()), devices_(choices.fastest_first()) {
        if (options.devices > 0 && options.devices < devices_.size()) devices_.resize(options.devices);
        const MemoryEstimate memory(problem_, 1);
        ops_s_.assign(devices_.size(), {0});
        kept_bytes_.assign(devices_.size(), {0});
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            for (GroupId group = 0; group < problem_.groups; ++group) {
                const bool counts = choices.allows(group, devices_[d]);
                ops_s_[d].push_back(ops_s_[d].back() +
                                    (counts ? problem_.group_time_s(group, devices_[d]) : 0));
                kept_bytes_[d].push_back(kept_bytes_[d].back() + (counts ? memory.kept_bytes(group) : 0));
            }
        }
        for (GroupId group = 0; group < problem_.groups; ++group)
            transient_bytes_.push_back(memory.transient_bytes(group));
        boundary_s_.assign(devices_.size() * devices_.size(), std::vector<double>(problem_.groups + 1, 0));
        if (options.communication) sum_boundaries();
    }

    Placement placement(double memory_share) const {
        std::optional<Placement> found = cut(memory_share);
        return found ? *found : *cut(kInfinity);
    }

private:
    struct Stage {
        double slowest_s = kInfinity;  ///< A(j, d)
        std::uint32_t begin = 0;       ///< i
        std::uint32_t before = 0;      ///< d'
    };

    std::vector<double>& boundary_s(std::size_t from, std::size_t to) {
        return boundary_s_[from * devices_.size() + to];
    }
    const std::vector<double>& boundary_s(std::size_t from, std::size_t to) const {
        return boundary_s_[from * devices_.size() + to];
    }

    void sum_boundaries() {
        for (TensorId tensor = 0; tensor < problem_.tensors; ++tensor) {
            const GroupId at = problem_.grouping.group_of[problem_.producer[tensor]];
            GroupId first = at;
            GroupId last = at;
            for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i) {
                first = std::min(first, problem_.grouping.group_of[problem_.consumer[i]]);
                last = std::max(last, problem_.grouping.group_of[problem_.consumer[i]]);
            }
            for (std::size_t from = 0; from < devices_.size(); ++from) {
                for (std::size_t to = from + 1; to < devices_.size(); ++to) {
                    // Changes at the ends of the range of boundaries that the tensor crosses; summed up
                    // below.
                    const double ahead_s = transfer_s(problem_, tensor, devices_[from], devices_[to]);
                    const double back_s = transfer_s(problem_, tensor, devices_[to], devices_[from]);
                    std::vector<double>& sum_s = boundary_s(from, to);
                    sum_s[std::min(first + 1, problem_.groups)] += back_s;
                    sum_s[std::min(at + 1, problem_.groups)] += ahead_s - back_s;
                    sum_s[std::min(last + 1, problem_.groups)] -= ahead_s;
                }
            }
        }
        for (std::vector<double>& sum_s : boundary_s_) {
            for (std::size_t i = 1; i < sum_s.size(); ++i) sum_s[i] += sum_s[i - 1];
        }
    }

    std::optional<Placement> cut(double memory_share) const {
        const std::size_t groups = problem_.groups;
        const std::size_t count = devices_.size();
        std::vector<Stage> best((groups + 1) * count);
        for (std::size_t j = 1; j <= groups; ++j) {
            for (std::size_t d = 0; d < count; ++d)
                best[j * count + d] = last_stage(best, j, d, memory_share);
        }
        const auto ends = std::span(best).last(count);
        auto d =
            static_cast<std::size_t>(std::ranges::min_element(ends, {}, &Stage::slowest_s) - ends.begin());
        if (ends[d].slowest_s == kInfinity) return {};

        Placement placement(groups);
        for (std::size_t j = groups; j > 0;) {
            const Stage& stage = best[j * count + d];
            for (auto group = static_cast<GroupId>(stage.begin); group < j; ++group) {
                placement[group] =
                    choices_.allows(group, devices_[d]) ? devices_[d] : choices_.fastest(group);
            }
            j = stage.begin;
            d = stage.before;
        }
        return placement;
    }

    /// Returns the best last stage on device d that ends before group j.
    Stage last_stage(const std::vector<Stage>& best, std::size_t j, std::size_t d,
                     double memory_share) const {
        const double limit_bytes = memory_share * problem_.memory_limit_bytes[devices_[d]];
        Stage stage;
        double transient_bytes = 0;
        for (std::size_t i = j; i-- > 0;) {
            const double ops_s = ops_s_[d][j] - ops_s_[d][i];
            if (ops_s >= stage.slowest_s) break;
            transient_bytes = std::max(transient_bytes, transient_bytes_[i]);
            if (kept_bytes_[d][j] - kept_bytes_[d][i] + transient_bytes > limit_bytes) break;
            if (i == 0) {
                stage = {ops_s, 0, 0};
                break;
            }
            for (std::size_t before = 0; before < d; ++before) {
                const double slowest_s =
                    std::max({best[i * devices_.size() + before].slowest_s, boundary_s(before, d)[i], ops_s});
                if (slowest_s < stage.slowest_s)
                    stage = {slowest_s, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(before)};
            }
        }
        return stage;
    }

    const DeviceChoices& choices_;
    const Problem& problem_;
    std::vector<DeviceId> devices_;
    std::vector<std::vector<double>> ops_s_;       ///< [device][j]: sum over the groups before j
    std::vector<std::vector<double>> kept_bytes_;  ///< [device][j]: sum over the groups before j
    std::vector<double> transient_bytes_;          ///< [group]
    std::vector<std::vector<double>> boundary_s_;  ///< [from * devices + to][i], from before to
};

}  // namespace

AlgorithmInfo pipedream_algorithm() {
    return describe(
        "pipedream", "PipeDream",
        "Cuts the ops in topological order into one stage per device so that the slowest stage is as "
        "fast as possible (PipeDream; Narayanan et al., 2019).",
        pipedream_schema(), [](const SearchContext& context, const PipedreamOptions& options) {
            return propose_until_fits(
                [options, choices = DeviceChoices(context.problem, options.allow_cpu)](
                    double memory_share, const std::stop_token&) {
                    return Partitioner(choices, options).placement(memory_share);
                },
                options.attempts);
        });
}

}  // namespace placewright
