// SPDX-License-Identifier: MIT
#include "core/bounds/step_time_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/infinity.hpp"
#include "core/bounds/apart_rows.hpp"
#include "core/bounds/backbone.hpp"
#include "core/bounds/least_times.hpp"
#include "core/bounds/simple_bounds.hpp"
#include "core/sim/op_loads.hpp"

namespace placewright {
namespace {

class SplitPath {
public:
    SplitPath(const Problem& problem, const SimulationOptions& options)
        : problem_(problem),
          time_s_(least_times_s(problem, options.batches)),
          transfer_s_(least_transfers_s(problem)),
          fastest_s_(fastest_of(problem, time_s_)) {}

    std::optional<double> seconds() {
        const Backbone spine(problem_, fastest_s_);
        const std::size_t length = spine.backbone.size();
        // Takes one or two seconds.
        constexpr double kMostSteps = 2e8;
        if (static_cast<double>(length) * static_cast<double>(length + problem_.groups) * problem_.devices >
            kMostSteps)
            return {};
        find_segments(spine);
        best_s_.assign(length, kInfinity);
        std::vector<DeviceId> distinct;
        for (DeviceId device = 0; device < problem_.devices; ++device) {
            const auto alike = [&](DeviceId other) {
                if (problem_.memory_limit_bytes[other] != problem_.memory_limit_bytes[device]) return false;
                return std::ranges::all_of(spine.backbone,
                                           [&](OpId op) { return time_s(op, other) == time_s(op, device); });
            };
            if (std::ranges::none_of(distinct, alike)) distinct.push_back(device);
        }
        std::vector<double> bytes(problem_.groups, 0);
        for (OpId op = 0; op < problem_.ops; ++op)
            bytes[problem_.grouping.group_of[op]] += problem_.end_bytes(op);
        // Prices of a device full of parameters in seconds; kPrices of them are tried.
        const double all_s = std::accumulate(segments_.begin(), segments_.end(), 0.0,
                                             [](double sum, const Segment& s) { return sum + s.path_s; }) +
                             std::accumulate(spine.backbone.begin(), spine.backbone.end(), 0.0,
                                             [&](double sum, OpId op) { return sum + fastest_s_[op]; });
        for (std::size_t i = 0; i < prices_.size(); ++i)
            prices_[i] = i == 0 ? 0 : all_s * std::exp2(static_cast<double>(i) - 6);

        for (std::size_t first = 0; first < length; ++first) {
            const double start_s = first == 0 ? 0 : best_s_[first - 1] + segments_[first - 1].split_s;
            if (!std::isfinite(start_s)) continue;
            for (const DeviceId device : distinct) add_runs(spine, first, device, start_s, bytes);
        }
        return best_s_.back();
    }

private:
    static constexpr std::size_t kPrices = 14;

    /// Ops of one group in a segment.
    struct Branch {
        GroupId group = 0;
        double away_s = 0;  ///< least time of the segment if these ops are not on the device of the backbone
                            ///< at both ends
    };
    struct Segment {
        double path_s = 0;             ///< least time
        double split_s = 0;            ///< least time if its ends are on different devices
        std::vector<Branch> branches;  ///< by away_s, ascending
    };

    double time_s(OpId op, DeviceId device) const {
        return time_s_[std::size_t{op} * problem_.devices + device];
    }

    /// The longest path from the backbone to the end of an op of a segment (or the reverse), and the cheapest
    /// transfer on it.
    struct Way {
        double seconds = 0;
        double transfer_s = kInfinity;
    };

    void find_segments(const Backbone& spine) {
        std::vector<Way> in(problem_.ops), out(problem_.ops);
        const auto extend = [](Way& way, const Way& before, double edge_s, bool& is_first) {
            if (!is_first && before.seconds < way.seconds) return;
            const double cheapest_s = std::min(before.transfer_s, edge_s);
            // Of equally long paths takes the one with the more expensive transfer.
            if (is_first || before.seconds > way.seconds || cheapest_s > way.transfer_s)
                way = {before.seconds, cheapest_s};
            is_first = false;
        };
        for (std::size_t k = 0; k + 1 < spine.backbone.size(); ++k) {
            Segment& segment = segments_.emplace_back();
            const auto ops = spine.at(2 * k + 1);
            const OpId begin = spine.backbone[k], end = spine.backbone[k + 1];
            const auto inside = [&](OpId op) { return spine.place[op] == 2 * k + 1; };
            for (const OpId op : ops) {
                bool is_first = true;
                for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
                    const TensorId tensor = problem_.input[i];
                    const OpId producer = problem_.producer[tensor];
                    if (producer == begin) extend(in[op], {}, transfer_s_[tensor], is_first);
                    if (inside(producer)) extend(in[op], in[producer], transfer_s_[tensor], is_first);
                }
                in[op].seconds += fastest_s_[op];
            }
            for (auto at = ops.rbegin(); at != ops.rend(); ++at) {
                const OpId op = *at;
                bool is_first = true;
                for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1];
                     ++tensor) {
                    for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1];
                         ++i) {
                        const OpId reader = problem_.consumer[i];
                        if (reader == end) extend(out[op], {}, transfer_s_[tensor], is_first);
                        if (inside(reader)) extend(out[op], out[reader], transfer_s_[tensor], is_first);
                    }
                }
                out[op].seconds += fastest_s_[op];
            }
            for (const OpId op : ops) {
                const double through_s = in[op].seconds + out[op].seconds - fastest_s_[op];
                segment.path_s = std::max(segment.path_s, through_s);
                segment.split_s =
                    std::max(segment.split_s, through_s + std::min(in[op].transfer_s, out[op].transfer_s));
                const double away_s = through_s + in[op].transfer_s + out[op].transfer_s;
                const GroupId group = problem_.grouping.group_of[op];
                const auto known = std::ranges::find(segment.branches, group, &Branch::group);
                if (known == segment.branches.end()) {
                    segment.branches.push_back({group, away_s});
                } else {
                    known->away_s = std::max(known->away_s, away_s);
                }
            }
            for (auto i = problem_.input_begin[end]; i < problem_.input_begin[end + 1]; ++i) {
                if (problem_.producer[problem_.input[i]] == begin)
                    segment.split_s = std::max(segment.split_s, transfer_s_[problem_.input[i]]);
            }
            std::ranges::stable_sort(segment.branches, {}, &Branch::away_s);
        }
    }

    /// Adds the runs on the device that begin at op `first` of the backbone.
    void add_runs(const Backbone& spine, std::size_t first, DeviceId device, double start_s,
                  const std::vector<double>& bytes) {
        const double limit = problem_.memory_limit_bytes[device];
        std::vector<bool> counted(problem_.groups, false);
        double fixed_s = 0, held = 0;
        std::array<double, kPrices> segments_s{};  // [price]
        for (std::size_t last = first; last < spine.backbone.size(); ++last) {
            const OpId op = spine.backbone[last];
            const GroupId group = problem_.grouping.group_of[op];
            if (last > first) add_segment(segments_[last - 1], limit, bytes, counted, segments_s);
            fixed_s += time_s(op, device);
            if (!counted[group]) held += bytes[group];
            counted[group] = true;
            if (!std::isfinite(fixed_s) || held > limit) return;
            double run_s = 0;
            for (std::size_t p = 0; p < kPrices; ++p)
                run_s = std::max(run_s, fixed_s + segments_s[p] + prices_[p] * (held / limit - 1));
            best_s_[last] = std::min(best_s_[last], start_s + run_s);
        }
    }

    /// Adds the least cost of a segment within a run, time plus memory: the branches up to some index are on
    /// other devices, the rest are not.
    void add_segment(const Segment& segment, double limit, const std::vector<double>& bytes,
                     std::vector<bool>& counted, std::array<double, kPrices>& sums_s) const {
        double home = 0;
        for (const Branch& branch : segment.branches) home += counted[branch.group] ? 0 : bytes[branch.group];
        std::array<double, kPrices> least_s;
        const auto consider = [&](double seconds) {
            for (std::size_t p = 0; p < kPrices; ++p)
                least_s[p] = std::min(least_s[p], seconds + prices_[p] * (home / limit));
        };
        least_s.fill(kInfinity);
        consider(segment.path_s);
        for (const Branch& branch : segment.branches) {
            if (counted[branch.group]) continue;
            home -= bytes[branch.group];
            counted[branch.group] = true;
            if (std::isfinite(branch.away_s)) consider(std::max(segment.path_s, branch.away_s));
        }
        for (std::size_t p = 0; p < kPrices; ++p) sums_s[p] += least_s[p];
    }

    const Problem& problem_;
    std::vector<double> time_s_, transfer_s_, fastest_s_;
    std::vector<Segment> segments_;
    std::array<double, kPrices> prices_{};
    std::vector<double> best_s_;  ///< [op of the backbone]
};

}  // namespace

std::optional<double> split_path_s(const Problem& problem, const SimulationOptions& options) {
    const auto seconds = SplitPath(problem, options).seconds();
    if (!seconds) return {};
    return *seconds * rounds_a_batch(options);
}

StepProgramme::StepProgramme(const Problem& problem, const SimulationOptions& options)
    : choices_(problem.groups) {
    const std::vector<double> times_s = least_times_s(problem, options.batches);
    const double rounds = rounds_a_batch(options);
    unit_s_ = critical_path_s(problem, options.batches) * rounds;
    if (unit_s_ == 0) unit_s_ = 1;

    const IntegerProgram::Column most = program_.add_column(0, kNoLimit, 1);
    for (GroupId group = 0; group < problem.groups; ++group) {
        for (const DeviceId device : problem.allowed_devices(group))
            choices_[group].emplace_back(device, program_.add_binary());
        program_.begin_row(1, 1);
        for (const auto& choice : choices_[group]) program_.add(choice.second, 1);
    }
    add_apart_rows(program_, problem, choices_);

    std::vector<DevicePart> parts{DevicePart::share};
    if (!problem.op_share.empty()) parts.push_back(DevicePart::stream);
    std::vector<double> bytes;
    for (const DevicePart part : parts) {
        GroupLoads loads = group_loads(problem, options.batches, part);
        for (DeviceId device = 0; device < problem.devices; ++device) {
            program_.begin_row(0, kNoLimit);
            program_.add(most, 1);
            for (GroupId group = 0; group < problem.groups; ++group) {
                for (const auto& [where, column] : choices_[group]) {
                    const double load_s = loads.time_s[std::size_t{group} * problem.devices + device];
                    const double load = IntegerProgram::without_dust(load_s / unit_s_);
                    if (where == device && load > 0) program_.add(column, -load);
                }
            }
        }
        bytes = std::move(loads.resident_bytes);
    }
    const double all_bytes = std::max(1.0, std::accumulate(bytes.begin(), bytes.end(), 0.0));
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (all_bytes <= problem.memory_limit_bytes[device]) continue;
        program_.begin_row(-kNoLimit, problem.memory_limit_bytes[device] / all_bytes);
        for (GroupId group = 0; group < problem.groups; ++group) {
            for (const auto& [where, column] : choices_[group]) {
                const double share = IntegerProgram::without_dust(bytes[group] / all_bytes);
                if (where == device && share > 0) program_.add(column, share);
            }
        }
    }

    // [op]: its end within a batch, in rounds.
    std::vector<IntegerProgram::Column> end;
    for (OpId op = 0; op < problem.ops; ++op) end.push_back(program_.add_column(0, kNoLimit));
    const auto begin_end_row = [&](OpId op) {
        program_.begin_row(0, kNoLimit);
        program_.add(end[op], 1);
    };
    const auto time = [&](OpId op, DeviceId device) {
        return IntegerProgram::without_dust(times_s[std::size_t{op} * problem.devices + device] * rounds /
                                            unit_s_);
    };
    for (OpId op = 0; op < problem.ops; ++op) {
        program_.begin_row(0, kNoLimit);
        program_.add(most, 1);
        program_.add(end[op], -1);
        const GroupId group = problem.grouping.group_of[op];
        if (problem.input_begin[op] == problem.input_begin[op + 1]) {
            begin_end_row(op);
            for (const auto& [device, column] : choices_[group]) program_.add(column, -time(op, device));
        }
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const TensorId tensor = problem.input[i];
            const OpId producer = problem.producer[tensor];
            const GroupId from_group = problem.grouping.group_of[producer];
            if (from_group == group || problem.devices == 1) {
                begin_end_row(op);
                program_.add(end[producer], -1);
                for (const auto& [device, column] : choices_[group]) program_.add(column, -time(op, device));
                continue;
            }
            // end >= end of the producer + time + transfer (x_producer,device - x_op,device), for every
            // device
            for (const auto& [from, from_column] : choices_[from_group]) {
                double least_s = kInfinity;
                for (const auto& [to, column] : choices_[group]) {
                    if (to != from) least_s = std::min(least_s, least_transfer_s(problem, tensor, from, to));
                }
                const double crossing =
                    std::isfinite(least_s) ? IntegerProgram::without_dust(least_s * rounds / unit_s_) : 0;
                begin_end_row(op);
                program_.add(end[producer], -1);
                if (crossing > 0) program_.add(from_column, -crossing);
                for (const auto& [device, column] : choices_[group])
                    program_.add(column, -time(op, device) + (device == from ? crossing : 0));
            }
        }
    }
}

Placement StepProgramme::placement(std::span<const double> x) const {
    Placement placement;
    for (const auto& choices : choices_)
        placement.push_back(std::ranges::max(choices, {}, [&](const auto& choice) {
                                return x[static_cast<std::size_t>(choice.second)];
                            }).first);
    return placement;
}

}  // namespace placewright
