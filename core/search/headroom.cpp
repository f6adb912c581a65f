// SPDX-License-Identifier: MIT
#include "core/search/headroom.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/graph/blocks.hpp"
#include "core/search/layer_runs.hpp"
#include "core/sim/max_load.hpp"

namespace placewright {
namespace {

/// Of each device: the longest runs that are cut, and the emptiest devices that get their ends.
constexpr std::size_t kRuns = 6, kEmptiest = 2;
/// Of the bytes that would make both devices equally full.
constexpr std::array<double, 3> kPortions{1, 0.5, 0.25};

constexpr int kBisections = 20;

/// Consecutive groups on one device.
struct Stretch {
    GroupId begin = 0, end = 0;
    double bytes = 0;
};

struct StretchMove {
    GroupId begin = 0, end = 0;
    DeviceId to = 0;

    auto operator<=>(const StretchMove&) const = default;
};

struct Judged {
    Score score;
    std::vector<double> shares;  ///< [device] of memory
    std::vector<int> order;      ///< percent of memory, descending: the less, the more headroom
};

class Spreader {
public:
    Spreader(const std::shared_ptr<const Problem>& problem, const Objective& objective,
             const SimulationOptions& simulation, const MemoryPenalty& penalty,
             const HeadroomOptions& options, std::stop_token stop)
        : problem_(*problem),
          objective_(objective),
          penalty_(penalty),
          options_(options),
          stop_(std::move(stop)),
          simulator_(problem, simulation),
          bytes_(problem->groups) {
        for (OpId op = 0; op < problem_.ops; ++op) {
            double& bytes = bytes_[problem_.grouping.group_of[op]];
            bytes += problem_.end_bytes(op);
            // In training most outputs are kept for the backward pass.
            for (TensorId t = problem_.output_begin[op]; t < problem_.output_begin[op + 1]; ++t)
                bytes += problem_.inference || problem_.tensor_stays(t) ? 0 : problem_.output_bytes[t];
        }
    }

    std::optional<Headroom> run(SearchProgress& progress) {
        placement_ = *progress.best_placement;
        now_ = judged(placement_);
        if (!now_.score.fits) return {};
        Headroom headroom{now_.score.value_s, fullest(), 0, 0};
        limit_s_ = now_.score.value_s * (1 + options_.cost);
        headroom.in_runs = put_in_runs();
        most_runs_ = count_layer_runs(problem_, placement_);
        bool changed = even_out_stages() || headroom.in_runs;
        while (improve()) changed = true;
        if (!changed) return {};
        headroom.share = fullest();
        headroom.simulations = simulations_;
        progress.best = now_.score;
        progress.best_placement = std::make_shared<const Placement>(placement_);
        return headroom;
    }

private:
    bool is_over() {
        if (options_.pause != nullptr) paused_s_ += options_.pause->wait(stop_);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
        return stop_.stop_requested() || spent.count() - paused_s_ >= options_.seconds;
    }

    double fullest() const { return *std::ranges::max_element(now_.shares); }

    Judged judged(const Placement& placement) {
        ++simulations_;
        Judged result;
        const auto take = [&](const auto& outcome, std::span<const double> bytes) {
            result.score = penalty_.score(problem_, outcome);
            for (DeviceId device = 0; device < problem_.devices; ++device)
                result.shares.push_back(bytes[device] / problem_.memory_limit_bytes[device]);
        };
        if (objective_.is_step_time()) {
            const Outcome& outcome = simulator_.run(placement);
            take(outcome, outcome.peak_bytes);
        } else {
            try {
                const Evaluation evaluation = objective_.evaluate(problem_, placement);
                take(evaluation, evaluation.device_bytes);
            } catch (const PlacementError&) {
                result.score = kUndefinedScore;
                result.shares.assign(problem_.devices, 0);
            }
        }
        for (const double share : result.shares)
            result.order.push_back(static_cast<int>(std::lround(share * 100)));
        std::ranges::sort(result.order, std::greater<>());
        return result;
    }

    /// Puts the blocks of each device into one run. Returns whether the placement has changed.
    bool put_in_runs() {
        const std::size_t scattered = count_layer_runs(problem_, placement_);
        std::optional<std::pair<Judged, Placement>> best;
        for (Placement& tried : placements_in_layer_runs(problem_, placement_)) {
            if (is_over()) break;
            if (count_layer_runs(problem_, tried) >= scattered || !broken_rule(problem_, tried).empty())
                continue;
            Judged judged = this->judged(tried);
            if (!judged.score.fits || judged.score.value_s > limit_s_) continue;
            if (!best || judged.score.value_s < best->first.score.value_s)
                best.emplace(std::move(judged), std::move(tried));
        }
        if (best) std::tie(now_, placement_) = *std::move(best);
        return best.has_value();
    }

    /// Makes the best move of a group from the fullest device that has one. Returns false if none has, or if
    /// the simulations are used up.
    bool improve() {
        std::vector<DeviceId> devices(problem_.devices);
        std::iota(devices.begin(), devices.end(), DeviceId{0});
        std::ranges::stable_sort(devices, std::greater<>(),
                                 [&](DeviceId device) { return now_.shares[device]; });
        for (const DeviceId device : devices) {
            if (now_.shares[device] <= kRoomyShare) return false;
            std::optional<std::pair<Judged, Placement>> best;
            for (const StretchMove& move : moves(device, devices)) {
                if (simulations_ >= options_.simulations || is_over()) return false;
                Placement moved = placement_;
                for (GroupId group = move.begin; group < move.end; ++group) {
                    if (moved[group] == device && may_hold(group, move.to)) moved[group] = move.to;
                }
                if (!broken_rule(problem_, moved).empty()) continue;
                if (most_runs_ > 0 && count_layer_runs(problem_, moved) > most_runs_) continue;
                Judged judged = this->judged(moved);
                const bool better = judged.score.fits && judged.score.value_s <= limit_s_ &&
                                    judged.order < (best ? best->first.order : now_.order);
                const bool faster = best && judged.score.fits && judged.order == best->first.order &&
                                    judged.score.value_s < best->first.score.value_s;
                if (better || faster) best.emplace(std::move(judged), std::move(moved));
            }
            if (!best) continue;
            std::tie(now_, placement_) = *std::move(best);
            return true;
        }
        return false;
    }

    /// Where each device has one run of blocks and the objective is the load of the fullest device: finds the
    /// least share of memory with which the runs, in their order, stay within the load. What is left of each
    /// stage's memory is room for the cache, and the least of all stages limits the batch
    /// (vllm-project/vllm, issue 6920). Returns whether the placement has changed.
    bool even_out_stages() {
        if (objective_.evaluate != max_load || !has_blocks(*problem_.graph)) return false;
        std::vector<DeviceId> stages;
        for (const DeviceId device : placement_) {
            if (!stages.empty() && stages.back() == device) continue;
            if (std::ranges::find(stages, device) != stages.end()) return false;
            stages.push_back(device);
        }
        bool changed = false;
        double least = 0, most = fullest();
        for (int step = 0; step < kBisections && !is_over(); ++step) {
            const double share = (least + most) / 2;
            const std::optional<Placement> tried = filled(stages, share, now_.score.value_s);
            if (tried) most = share;
            if (!tried) {
                least = share;
                continue;
            }
            if (!broken_rule(problem_, *tried).empty()) continue;
            Judged judged = this->judged(*tried);
            if (!judged.score.fits || judged.score.value_s > limit_s_ || judged.order >= now_.order) continue;
            std::tie(now_, placement_) = std::pair(std::move(judged), *tried);
            changed = true;
        }
        return changed;
    }

    /// Gives each device as many groups as its load and its share of memory allow; nothing if groups are
    /// left.
    std::optional<Placement> filled(const std::vector<DeviceId>& stages, double share, double load_s) const {
        Placement placement;
        for (const DeviceId device : stages) {
            double bytes = 0, seconds = 0;
            while (placement.size() < problem_.groups) {
                const auto group = static_cast<GroupId>(placement.size());
                bytes += bytes_[group];
                seconds += problem_.group_time_s(group, device);
                if (!may_hold(group, device) || seconds > load_s ||
                    bytes > share * problem_.memory_limit_bytes[device])
                    break;
                placement.push_back(device);
            }
        }
        if (placement.size() < problem_.groups) return std::nullopt;
        return placement;
    }

    bool may_hold(GroupId group, DeviceId device) const {
        return std::ranges::binary_search(problem_.allowed_devices(group), device);
    }

    /// The ends of the device's runs, for the neighbours of each run and for the emptiest devices.
    /// `by_share`: devices, the fullest first.
    std::vector<StretchMove> moves(DeviceId from, const std::vector<DeviceId>& by_share) const {
        std::vector<DeviceId> emptiest;
        for (auto device = by_share.rbegin(); device != by_share.rend() && emptiest.size() < kEmptiest;
             ++device) {
            if (*device != from && takes(*device, from) &&
                (now_.shares[*device] > 0 || is_like(*device, from)))
                emptiest.push_back(*device);
        }
        std::set<StretchMove> all;
        for (const Stretch& run : runs(from)) {
            std::vector<DeviceId> targets = emptiest;
            if (run.begin > 0) targets.push_back(placement_[run.begin - 1]);
            if (run.end < problem_.groups) targets.push_back(placement_[run.end]);
            for (const DeviceId to : targets) {
                if (takes(to, from)) add_ends(all, run, from, to);
            }
        }
        return {all.begin(), all.end()};
    }

    /// Whether ops may move between the devices: to a CPU from others only if the search chose the CPU for an
    /// op that may be elsewhere, since it may have been told to avoid CPUs.
    bool takes(DeviceId device, DeviceId from) const {
        const auto is_cpu = [&](DeviceId each) {
            return problem_.machine->device(each).kind == DeviceKind::cpu;
        };
        if (!is_cpu(device) || is_cpu(from)) return true;
        for (GroupId group = 0; group < problem_.groups; ++group) {
            if (placement_[group] == device &&
                std::ranges::any_of(problem_.allowed_devices(group), std::not_fn(is_cpu)))
                return true;
        }
        return false;
    }

    bool is_like(DeviceId device, DeviceId other) const {
        return problem_.machine->device(device).kind == problem_.machine->device(other).kind;
    }

    std::vector<Stretch> runs(DeviceId device) const {
        std::vector<Stretch> all;
        for (GroupId group = 0; group < problem_.groups; ++group) {
            if (placement_[group] != device) continue;
            if (all.empty() || all.back().end != group) all.push_back({group, group, 0});
            ++all.back().end;
            all.back().bytes += bytes_[group];
        }
        std::ranges::stable_sort(all, std::greater<>(), &Stretch::bytes);
        all.resize(std::min(all.size(), kRuns));
        return all;
    }

    void add_ends(std::set<StretchMove>& all, const Stretch& run, DeviceId from, DeviceId to) const {
        if (to == from || now_.shares[to] >= now_.shares[from]) return;
        const double equal_bytes =
            (now_.shares[from] - now_.shares[to]) /
            (1 / problem_.memory_limit_bytes[from] + 1 / problem_.memory_limit_bytes[to]);
        for (const double portion : kPortions) {
            GroupId end = run.begin;
            for (double bytes = 0; end < run.end && bytes < portion * equal_bytes; ++end)
                bytes += bytes_[end];
            all.insert({run.begin, end, to});
            GroupId begin = run.end;
            for (double bytes = 0; begin > run.begin && bytes < portion * equal_bytes; --begin)
                bytes += bytes_[begin - 1];
            all.insert({begin, run.end, to});
        }
    }

    const Problem& problem_;
    const Objective& objective_;
    const MemoryPenalty& penalty_;
    const HeadroomOptions& options_;
    const std::stop_token stop_;
    Simulator simulator_;
    std::vector<double> bytes_;  ///< [group]: about what it holds

    Placement placement_;
    Judged now_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double paused_s_ = 0;
    double limit_s_ = 0;
    std::size_t most_runs_ = 0;  ///< of blocks; 0: there are none
    std::uint64_t simulations_ = 0;
};

}  // namespace

std::uint64_t headroom_simulations(std::uint64_t evaluations) {
    return std::clamp<std::uint64_t>(evaluations / 20, 64, 1000);
}

std::optional<Headroom> gain_headroom(SearchResult& result, const std::shared_ptr<const Problem>& problem,
                                      const Objective& objective, const SimulationOptions& simulation,
                                      const MemoryPenalty& penalty, const HeadroomOptions& options,
                                      std::stop_token stop) {
    if (!result.progress.best_placement || !result.progress.best.fits) return {};
    return Spreader(problem, objective, simulation, penalty, options, std::move(stop)).run(result.progress);
}

}  // namespace placewright
