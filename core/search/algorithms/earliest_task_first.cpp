// SPDX-License-Identifier: MIT
#include <algorithm>
#include <tuple>

#include <queue>

#include "core/base/infinity.hpp"
#include "core/search/parts/list_scheduling.hpp"
#include "core/search/parts/memory_estimate.hpp"

namespace placewright {
namespace {

class EarliestTaskFirst {
public:
    EarliestTaskFirst(const DeviceChoices& choices, const EarliestTaskOptions& options,
                      std::span<const OpId> favourite_child, double memory_share)
        : choices_(choices),
          problem_(choices.problem()),
          options_(options),
          favourite_child_(favourite_child),
          schedule_(problem_, {false, options.link_contention}),
          memory_(problem_, options.memory_filter ? memory_share : kInfinity),
          transfers_s_(mean_transfers_s(problem_, choices.fastest_first())),
          rank_s_(upward_ranks_s(problem_, mean_op_times_s(choices), transfers_s_)),
          missing_(problem_.ops, 0),
          places_(problem_.ops, 0),
          last_op_(problem_.devices, kInvalidOp) {
        result_.placement.assign(problem_.groups, kInvalidDevice);
        result_.start_s.assign(problem_.ops, -1);
        result_.end_s.assign(problem_.ops, -1);
    }

    ListSchedule run(const std::stop_token& stop) {
        for (OpId op = 0; op < problem_.ops; ++op) {
            missing_[op] = problem_.input_begin[op + 1] - problem_.input_begin[op];
            if (missing_[op] == 0) open(op);
        }
        while (!candidates_.empty()) {
            if (stop.stop_requested()) return {};
            consider_first();
        }
        result_.makespan_s = schedule_.makespan_s();
        return std::move(result_);
    }

private:
    /// An op that could start on a device. Its key only grows, so the heap may contain outdated candidates.
    struct Candidate {
        double key_s;
        double rank_s;
        double time_s;
        OpId op;
        DeviceId device;

        bool operator>(const Candidate& other) const {
            return std::tie(key_s, other.rank_s, time_s, op, device) >
                   std::tie(other.key_s, rank_s, other.time_s, other.op, other.device);
        }
    };

    bool is_done(OpId op) const { return result_.end_s[op] >= 0; }

    /// Time until which the device is kept for the favourite child of its last op.
    double kept_until_s(OpId op, DeviceId device) const {
        const OpId last = last_op_[device];
        if (favourite_child_.empty() || last == kInvalidOp) return 0;
        const OpId child = favourite_child_[last];
        if (child == kInvalidOp || child == op || is_done(child)) return 0;
        const DeviceId elsewhere = result_.placement[problem_.grouping.group_of[child]];
        if (elsewhere != kInvalidDevice && elsewhere != device) return 0;
        double transfer_s = 0;
        for (auto i = problem_.input_begin[child]; i < problem_.input_begin[child + 1]; ++i) {
            const TensorId tensor = problem_.input[i];
            if (problem_.producer[tensor] == last) transfer_s = std::max(transfer_s, transfers_s_[tensor]);
        }
        return result_.end_s[last] + transfer_s;
    }

    bool is_urgent(OpId op, double start_s) {
        return std::ranges::all_of(choices_.of(problem_.grouping.group_of[op]), [&](DeviceId device) {
            return schedule_.inputs_s(op, device) <= start_s;
        });
    }

    Candidate candidate(OpId op, DeviceId device) {
        const GroupId group = problem_.grouping.group_of[op];
        double start_s = schedule_.earliest_start_s(op, device);
        if (const double kept_s = kept_until_s(op, device); kept_s > start_s && !is_urgent(op, start_s))
            start_s = kept_s;
        const double key_s =
            options_.earliest == "start" ? start_s : start_s + problem_.group_time_s(group, device);
        return {key_s, rank_s_[op], problem_.time_s(op, device), op, device};
    }

    /// Adds the candidates of an op whose producers all have a place.
    void open(OpId op) {
        const GroupId group = problem_.grouping.group_of[op];
        if (result_.placement[group] != kInvalidDevice) {
            candidates_.push(candidate(op, result_.placement[group]));
            return;
        }
        for (const DeviceId device : choices_.of(group)) candidates_.push(candidate(op, device));
        places_[op] = static_cast<std::uint32_t>(choices_.of(group).size());
    }

    void consider_first() {
        const Candidate old = candidates_.top();
        candidates_.pop();
        const auto [op, device] = std::tie(old.op, old.device);
        if (is_done(op)) return;
        const GroupId group = problem_.grouping.group_of[op];
        const DeviceId decided = result_.placement[group];
        if (decided != kInvalidDevice && decided != device) {
            // Another op of the group decided while this one waited; one candidate remains, for the chosen
            // device.
            return;
        }
        if (decided == kInvalidDevice && !memory_.fits(group, device)) {
            if (--places_[op] == 0) put(op, first_with_room(memory_, group, choices_.of(group)));
            return;
        }
        const Candidate now = candidate(op, device);
        if (now > old && !candidates_.empty() && now > candidates_.top()) {
            candidates_.push(now);
            return;
        }
        put(op, device);
    }

    void put(OpId op, DeviceId device) {
        const GroupId group = problem_.grouping.group_of[op];
        if (result_.placement[group] == kInvalidDevice) {
            result_.placement[group] = device;
            memory_.add(group, device);
            // Other ops of the group may have lost their candidate for this device for lack of memory.
            for (const OpId other : problem_.grouping.members[group]) {
                if (other != op && !is_done(other) && missing_[other] == 0)
                    candidates_.push(candidate(other, device));
            }
        }
        schedule_.add(op, device);
        result_.start_s[op] = schedule_.start_s(op);
        result_.end_s[op] = schedule_.end_s(op);
        last_op_[device] = op;
        for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1]; ++tensor) {
            for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i) {
                const OpId consumer = problem_.consumer[i];
                if (--missing_[consumer] == 0) open(consumer);
            }
        }
    }

    const DeviceChoices& choices_;
    const Problem& problem_;
    const EarliestTaskOptions& options_;
    std::span<const OpId> favourite_child_;
    Schedule schedule_;
    MemoryEstimate memory_;
    std::vector<double> transfers_s_;  ///< [tensor]
    std::vector<double> rank_s_;       ///< [op]
    ListSchedule result_;
    std::vector<std::uint32_t> missing_;  ///< [op]: inputs whose producers have no place yet
    std::vector<std::uint32_t> places_;   ///< [op]: devices that may still have room for it
    std::vector<OpId> last_op_;           ///< [device]
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

}  // namespace

ListSchedule earliest_task_first(const DeviceChoices& choices, const EarliestTaskOptions& options,
                                 std::span<const OpId> favourite_child, double memory_share,
                                 const std::stop_token& stop) {
    return EarliestTaskFirst(choices, options, favourite_child, memory_share).run(stop);
}

}  // namespace placewright
