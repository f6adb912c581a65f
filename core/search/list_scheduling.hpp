// SPDX-License-Identifier: MIT
// The list schedulers: what they place and when they take each op to run, so that tests can look at both.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/search/choices.hpp"
#include "core/search/proposals.hpp"
#include "core/search/schedule.hpp"

namespace placewright {

/// Empty if its making was stopped.
struct ListSchedule {
    Placement placement;
    std::vector<double> start_s, end_s;  ///< [op]
    double makespan_s = 0;
};

struct HeftOptions {
    std::string rank = "mean";
    bool insertion = true;
    bool link_contention = true;
    bool memory_filter = true;
    std::uint32_t attempts = 6;
    bool allow_cpu = false;
};

/// Heterogeneous earliest finish time (Topcuoglu, Hariri, Wu 2002), in O(ops (log ops + devices inputs)) with few gaps. Ops are taken in
/// the order of descending upward rank, equal ones in the order of the graph. The first op of a group to have its turn decides for all: it
/// goes where it could start so early that, if all ops of the group followed it at once, they would end first. For a group of one op that
/// is the earliest finish time. `memory_share`: see MemoryEstimate.
ListSchedule heft(const DeviceChoices& choices, const HeftOptions& options, double memory_share = 1, const std::stop_token& stop = {});

struct EarliestTaskOptions {
    std::string earliest = "start";
    bool link_contention = true;
    bool memory_filter = true;
    std::uint32_t attempts = 6;
    bool allow_cpu = false;
};

/// Modified earliest task first (Hwang, Chow, Anger, Lee 1989; Baechi: Jeon, Cai, Srivastava, Jiang, Canini, Gupta 2020). Again and again
/// the op and device are taken that can start first, of all ops whose producers have their places; equals by upward rank, time on the
/// device, ids. The first op of a group decides for it, and takes the room of all of it.
///
/// `favourite_child` [op]: the one consumer that had best follow on the same device (m-SCT), or kInvalidOp; empty for m-ETF. A device whose
/// last op has one that has not begun is kept for it until the output could have reached another device; until then only ops
/// start there that could start as early anywhere (urgent ones).
ListSchedule earliest_task_first(const DeviceChoices& choices, const EarliestTaskOptions& options, std::span<const OpId> favourite_child,
                                 double memory_share = 1, const std::stop_token& stop = {});

struct FavouriteOptions {
    std::string favourite = "lp";
    double threshold = 0.5;
    std::uint32_t lp_iterations = 100'000;
};

/// [op]: the consumer that had best follow on the same device, or kInvalidOp; no op is the favourite of two. By the rule `favourite`:
/// - "lp": a linear programme (Hanen, Munier: SCT, 1995) with x in [0, 1] for each edge, 0 if its reader is the favourite, start times
///   s and the end w of all, minimising w where s_i + t_i + c_ij x_ij <= s_j, s_i + t_i <= w, and at most one favourite among the consumers
///   of an op and among the producers of an op: the x of its n edges add up to at least n - 1. Edges with x under `threshold` are taken,
///   the smallest first. An LP that takes more than `lp_iterations` is given up for "heaviest";
/// - "heaviest": edges by the time of their transfer, longest first, while neither end has one (equals in the order of the graph);
/// - "longest": for each op the consumer with the longest way to the end, transfer included, that is not taken.
/// Edges within a group do not count: their ends are together anyway. Times are means. A stop ends the LP as too many iterations do.
std::vector<OpId> favourite_children(const DeviceChoices& choices, const FavouriteOptions& options, const std::stop_token& stop = {});

/// The options of earliest_task_first, for the algorithms that are built on it.
template <class Options>
OptionSchema<Options> add_earliest_task_options(OptionSchema<Options> schema) {
    return schema
        .add("earliest", &Options::earliest, {"start", "finish"},
             "Of all ops and devices, take what can start first, or what ends first if all ops of its group follow at once; the latter is "
             "for "
             "devices of different speeds.")
        .add("link_contention", &Options::link_contention,
             "Transfers wait for channels that others use; the published algorithm ignores that.")
        .add("memory_filter", &Options::memory_filter, "Leave out devices that would have too little memory by a simple estimate.")
        .add("attempts", &Options::attempts, 1, 10, kAttemptsHelp)
        .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
}

/// Mean seconds of each op over the devices that its group may use.
std::vector<double> mean_op_times_s(const DeviceChoices& choices);

}  // namespace placewright
