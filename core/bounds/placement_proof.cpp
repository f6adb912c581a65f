// SPDX-License-Identifier: MIT
#include "core/bounds/placement_proof.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/bounds/dependency_chain.hpp"
#include "core/bounds/device_classes.hpp"
#include "core/bounds/least_times.hpp"
#include "core/bounds/window_list.hpp"
#include "core/bounds/window_time.hpp"

namespace placewright {
namespace {

/// Windows with more ops hardly show more, for their time.
constexpr std::size_t kMostOps = 60;
constexpr std::size_t kMostWindowsToOp = 8;
/// Of the devices of one placement.
constexpr std::size_t kMostNames = 50'000;
/// Ops times devices^2: a node takes time in proportion.
constexpr std::size_t kMostPairs = 100'000;

/// Whether the devices have the same description but for their names, and so the same times and shares of
/// ops.
bool are_described_alike(const Problem& problem, DeviceId a, DeviceId b) {
    Device one = problem.machine->device(a), other = problem.machine->device(b);
    one.name.clear();
    other.name.clear();
    if (!(one == other) || problem.memory_limit_bytes[a] != problem.memory_limit_bytes[b]) return false;
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto allowed = problem.allowed_devices(group);
        if (std::ranges::binary_search(allowed, a) != std::ranges::binary_search(allowed, b)) return false;
    }
    for (OpId op = 0; op < problem.ops; ++op) {
        if (problem.time_s(op, a) != problem.time_s(op, b)) return false;
    }
    return true;
}

/// Whether exchanging two devices exchanges the channels of all routes one for one with channels that are as
/// fast.
bool has_alike_links(const Problem& problem, DeviceId a, DeviceId b) {
    const auto other = [&](DeviceId device) { return device == a ? b : device == b ? a : device; };
    std::map<ChannelId, ChannelId> forth, back;
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; to < problem.devices; ++to) {
            if (from == to) continue;
            const std::size_t route = std::size_t{from} * problem.devices + to;
            const std::size_t image = std::size_t{other(from)} * problem.devices + other(to);
            const auto length = problem.route_begin[route + 1] - problem.route_begin[route];
            if (length != problem.route_begin[image + 1] - problem.route_begin[image]) return false;
            for (std::uint32_t i = 0; i < length; ++i) {
                const ChannelId channel = problem.route_channel[problem.route_begin[route] + i];
                const ChannelId becomes = problem.route_channel[problem.route_begin[image] + i];
                if (forth.try_emplace(channel, becomes).first->second != becomes ||
                    back.try_emplace(becomes, channel).first->second != channel ||
                    problem.channel_class[channel] != problem.channel_class[becomes] ||
                    problem.channel_latency_s[channel] != problem.channel_latency_s[becomes])
                    return false;
            }
        }
    }
    return true;
}

/// One search of all placements below a limit.
class PlacementSearch {
public:
    PlacementSearch(const Problem& problem, const SimulationOptions& options, bool is_fifo,
                    const std::function<bool()>& is_over)
        : problem_(problem),
          times_s_(least_times_s(problem, options.batches)),
          classes_(problem, times_s_, DeviceClasses::Devices::apart),
          chain_(problem, fastest_of(problem, times_s_), is_fifo),
          window_time_(problem, classes_),
          simulator_(std::make_shared<const Problem>(problem), options),
          rounds_(rounds_a_batch(options)),
          is_over_(is_over),
          alike_(first_interchangeable(problem)),
          placed_(problem.groups, kInvalidDevice),
          held_bytes_(problem.devices, 0),
          uses_(problem.devices, 0),
          windows_of_(problem.groups),
          group_bytes_(problem.groups, 0) {
        for (OpId op = 0; op < problem.ops; ++op)
            group_bytes_[problem.grouping.group_of[op]] += problem.end_bytes(op);
        order_.resize(problem.groups);
        std::iota(order_.begin(), order_.end(), GroupId{0});
        std::ranges::stable_sort(order_, {},
                                 [&](GroupId group) { return problem.grouping.members[group].front(); });
        is_measured_ = find_windows();
    }

    /// Whether all placements below the limit were searched; false if it is over before.
    bool search_below(double limit_s) {
        limit_s_ = limit_s;
        found_.clear();
        return is_measured_ && place(0) && all_simulated_;
    }
    /// The fastest placement below the limit; empty if there is none.
    const Placement& found() const { return found_; }
    double found_s() const { return limit_s_; }
    /// What the windows show without any group placed; 0 if it was over before they were measured.
    double root_s() { return is_measured_ ? least_s() : 0; }

private:
    struct Listed {
        std::size_t first = 0, last = 0;
        OpWindow window;
        std::vector<double> seconds;  ///< [first device * devices + last device]
    };

    /// False if it is over before all are measured.
    bool find_windows() {
        const WindowList list(problem_, chain_);
        for (std::size_t last = 1; last < chain_.ops.size(); ++last) {
            std::size_t count = 0;
            list.for_each_to(
                last, [&](std::size_t ops) { return ops <= kMostOps && count < kMostWindowsToOp; },
                [&](std::size_t first, const OpWindow& window) {
                    ++count;
                    windows_.push_back({first, last, window, {}});
                });
        }
        for (std::size_t w = 0; w < windows_.size(); ++w) {
            if (is_over_()) return false;
            for (const OpId op : windows_[w].window.ops) {
                auto& own = windows_of_[problem_.grouping.group_of[op]];
                if (own.empty() || own.back() != w) own.push_back(w);
            }
            measure(windows_[w]);
        }
        return true;
    }

    /// Finds the least time of a window for all devices of its ends that are still possible.
    void measure(Listed& listed) {
        const std::size_t devices = problem_.devices;
        listed.seconds.assign(devices * devices, kInfinity);
        window_time_.set(listed.window);
        for (DeviceId first = 0; first < (listed.window.first ? devices : 1); ++first) {
            if (listed.window.first && !may_be(*listed.window.first, first)) continue;
            for (DeviceId last = 0; last < (listed.window.last ? devices : 1); ++last) {
                if (listed.window.last && !may_be(*listed.window.last, last)) continue;
                listed.seconds[first * devices + last] =
                    window_time_.least_s({first, last, first == last}, 0);
            }
        }
        window_time_.clear();
    }

    bool may_be(OpId op, DeviceId device) const {
        const GroupId group = problem_.grouping.group_of[op];
        return placed_[group] == kInvalidDevice ? classes_.time_s(op, device) < kInfinity
                                                : placed_[group] == device;
    }

    /// Lower bound on the step time of all placements of the groups that are not placed.
    double least_s() {
        const std::size_t devices = problem_.devices;
        end_s_.assign(chain_.ops.size() * devices, 0);
        for (std::size_t at = 1; at < chain_.ops.size(); ++at) {
            for (DeviceId device = 0; device < devices; ++device) {
                if (chain_.ops[at] && !may_be(*chain_.ops[at], device))
                    end_s_[at * devices + device] = kInfinity;
            }
        }
        for (const Listed& listed : windows_) {
            for (DeviceId last = 0; last < (listed.window.last ? devices : 1); ++last) {
                double& end_s = end_s_[listed.last * devices + last];
                if (end_s == kInfinity) continue;
                double least_s = kInfinity;
                for (DeviceId first = 0; first < (listed.window.first ? devices : 1); ++first)
                    least_s = std::min(least_s, end_s_[listed.first * devices + first] +
                                                    listed.seconds[first * devices + last]);
                end_s = std::max(end_s, least_s);
            }
        }
        return end_s_[chain_.sink() * devices] * rounds_;
    }

    bool place(std::size_t depth) {
        if (depth == order_.size()) {
            simulate();
            return true;
        }
        const GroupId group = order_[depth];
        const Measured before = measured(group);
        std::vector<Choice> choices;
        for (const DeviceId device : problem_.allowed_devices(group)) {
            if (is_over_()) return false;
            if (is_repeated(device) || !put(group, device)) continue;
            for (const std::size_t w : windows_of_[group]) measure(windows_[w]);
            if (const double bound_s = least_s(); bound_s < limit_s_)
                choices.push_back({bound_s, device, measured(group)});
            take(group);
            restore(group, before);
        }
        std::ranges::stable_sort(choices, {}, &Choice::bound_s);
        bool goes_on = true;
        for (const Choice& choice : choices) {
            if (choice.bound_s >= limit_s_) break;  // a placement was found since
            put(group, choice.device);
            restore(group, choice.windows);
            goes_on = place(depth + 1);
            take(group);
            if (!goes_on) break;
        }
        restore(group, before);
        return goes_on;
    }

    /// Times of the windows with the group.
    using Measured = std::vector<std::vector<double>>;
    struct Choice {
        double bound_s = 0;
        DeviceId device = 0;
        Measured windows;
    };

    Measured measured(GroupId group) const {
        Measured all;
        for (const std::size_t w : windows_of_[group]) all.push_back(windows_[w].seconds);
        return all;
    }
    void restore(GroupId group, const Measured& all) {
        for (std::size_t i = 0; i < all.size(); ++i) windows_[windows_of_[group][i]].seconds = all[i];
    }

    /// Whether an alike device that comes before it is not used yet, either.
    bool is_repeated(DeviceId device) const {
        if (uses_[device] > 0) return false;
        for (DeviceId before = alike_[device]; before < device; ++before) {
            if (alike_[before] == alike_[device] && uses_[before] == 0) return true;
        }
        return false;
    }

    /// False if the device has no room for what the group holds.
    bool put(GroupId group, DeviceId device) {
        constexpr double kRounding = 1e-12;
        if (held_bytes_[device] + group_bytes_[group] > problem_.memory_limit_bytes[device] * (1 + kRounding))
            return false;
        held_bytes_[device] += group_bytes_[group];
        ++uses_[device];
        placed_[group] = device;
        window_time_.allow(group, WindowTime::Kinds{1} << device);
        return true;
    }
    void take(GroupId group) {
        window_time_.allow(group, WindowTime::kAllKinds);
        const DeviceId device = std::exchange(placed_[group], kInvalidDevice);
        --uses_[device];
        // Sums of floating-point numbers would not come back.
        held_bytes_[device] = 0;
        for (GroupId other = 0; other < problem_.groups; ++other) {
            if (placed_[other] == device) held_bytes_[device] += group_bytes_[other];
        }
    }

    /// Simulates the placement with all names that its devices can have.
    void simulate() {
        if (!broken_rule(problem_, placed_).empty()) return;
        std::vector<DeviceId> used;
        for (DeviceId device = 0; device < problem_.devices; ++device) {
            if (uses_[device] > 0) used.push_back(device);
        }
        std::size_t left = kMostNames;
        std::vector<DeviceId> name(problem_.devices, kInvalidDevice);
        std::vector<bool> taken(problem_.devices, false);
        simulate_named(used, 0, name, taken, left);
        all_simulated_ = all_simulated_ && left > 0;
    }

    void simulate_named(const std::vector<DeviceId>& used, std::size_t next, std::vector<DeviceId>& name,
                        std::vector<bool>& taken, std::size_t& left) {
        if (left == 0) return;
        if (next == used.size()) {
            --left;
            Placement named = placed_;
            for (DeviceId& device : named) device = name[device];
            const Outcome& outcome = simulator_.run(named);
            if (!outcome.fits || outcome.step_time_s >= limit_s_) return;
            limit_s_ = outcome.step_time_s;
            found_ = std::move(named);
            return;
        }
        const DeviceId device = used[next];
        for (DeviceId other = 0; other < problem_.devices; ++other) {
            if (taken[other] || alike_[other] != alike_[device]) continue;
            taken[other] = true;
            name[device] = other;
            simulate_named(used, next + 1, name, taken, left);
            taken[other] = false;
        }
    }

    const Problem& problem_;
    std::vector<double> times_s_;
    DeviceClasses classes_;
    DependencyChain chain_;
    WindowTime window_time_;
    Simulator simulator_;
    double rounds_;
    const std::function<bool()>& is_over_;
    std::vector<DeviceId> alike_;
    std::vector<GroupId> order_;
    Placement placed_, found_;
    std::vector<double> held_bytes_;
    std::vector<std::size_t> uses_;                     ///< [device]: groups that are placed there
    std::vector<Listed> windows_;                       ///< by their last position
    std::vector<std::vector<std::size_t>> windows_of_;  ///< [group]
    std::vector<double> group_bytes_;
    std::vector<double> end_s_;  ///< [position * devices + device]
    double limit_s_ = kInfinity;
    bool is_measured_ = false;
    bool all_simulated_ = true;  ///< no placement had more names than kMostNames
};

}  // namespace

std::vector<DeviceId> first_interchangeable(const Problem& problem) {
    std::vector<DeviceId> first;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        DeviceId like = 0;
        // Exchanges that leave everything as it is can follow each other.
        while (like < device && (first[like] != like || !are_described_alike(problem, like, device) ||
                                 !has_alike_links(problem, like, device)))
            ++like;
        first.push_back(like);
    }
    return first;
}

PlacementProof prove_by_placements(const Problem& problem, const SimulationOptions& options, bool is_fifo,
                                   double bound_s, double incumbent_s,
                                   const std::function<void(double)>& told,
                                   const std::function<bool()>& is_over) {
    PlacementProof proof;
    proof.bound_s = bound_s;
    if (problem.devices > DeviceClasses::kMostClasses ||
        std::size_t{problem.ops} * problem.devices * problem.devices > kMostPairs)
        return proof;
    PlacementSearch search(problem, options, is_fifo, is_over);
    const double begin_s = std::max(bound_s, search.root_s());
    double best_s = incumbent_s;
    // Each step takes several times as long as all before.
    for (const double share : {0.1, 0.25, 0.5, 0.7, 0.8, 0.87, 0.92, 0.96, 1.0}) {
        const double limit_s =
            share < 1 ? std::min(best_s, begin_s + share * (incumbent_s - begin_s)) : best_s;
        if (!(limit_s > proof.bound_s)) continue;
        if (!search.search_below(limit_s)) return proof;
        if (!search.found().empty()) {
            // The fastest of all below the limit.
            proof.placement = search.found();
            proof.step_time_s = best_s = search.found_s();
        }
        proof.bound_s = std::min(limit_s, best_s);
        told(proof.bound_s);
        if (proof.bound_s >= best_s) break;
    }
    proof.finished = proof.bound_s >= best_s;
    return proof;
}

}  // namespace placewright
