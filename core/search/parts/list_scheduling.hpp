// SPDX-License-Identifier: MIT
// List schedulers: their placement and the time that they assume for each op, so that tests can check both.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/search/parts/choices.hpp"
#include "core/search/parts/proposals.hpp"
#include "core/search/parts/schedule.hpp"

namespace placewright {

/// Empty if the scheduler was stopped.
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

/// Heterogeneous earliest finish time (Topcuoglu, Hariri, Wu 2002), in O(ops (log ops + devices inputs)) with
/// few gaps. Ops are taken in the order of descending upward rank, equal ones in the order of the graph. The
/// first op of a group to be taken decides for the group: it goes to the device on which the group would
/// finish first if all its ops followed this op without a pause. For a group of one op that is the earliest
/// finish time. `memory_share`: see MemoryEstimate.
ListSchedule heft(const DeviceChoices& choices, const HeftOptions& options, double memory_share = 1,
                  const std::stop_token& stop = {});

struct EarliestTaskOptions {
    std::string earliest = "start";
    bool link_contention = true;
    bool memory_filter = true;
    std::uint32_t attempts = 6;
    bool allow_cpu = false;
};

/// Modified earliest task first (Hwang, Chow, Anger, Lee 1989; Baechi: Jeon, Cai, Srivastava, Jiang, Canini,
/// Gupta 2020). Repeatedly takes the op and device that can start first, of all ops whose producers are
/// placed; equals by upward rank, time on the device, ids. The first op of a group decides for the group and
/// reserves the memory of all of it.
///
/// `favourite_child` [op]: the one consumer that should follow on the same device (m-SCT), or kInvalidOp;
/// empty for m-ETF. If the last op of a device has a favourite child that has not started, the device is kept
/// for it until the output could have reached another device; until then only urgent ops start there, those
/// that could start as early on any device.
ListSchedule earliest_task_first(const DeviceChoices& choices, const EarliestTaskOptions& options,
                                 std::span<const OpId> favourite_child, double memory_share = 1,
                                 const std::stop_token& stop = {});

struct FavouriteOptions {
    std::string favourite = "lp";
    double threshold = 0.5;
    std::uint32_t lp_iterations = 100'000;
};

/// Returns [op]: the consumer that should follow on the same device, or kInvalidOp; no op is the favourite of
/// two. The rule `favourite` is one of:
/// - "lp": a linear program (Hanen, Munier: SCT, 1995) with x in [0, 1] for each edge, 0 if its reader is
///   the favourite, start times s and the end w of all, minimising w where s_i + t_i + c_ij x_ij <= s_j, s_i
///   + t_i <= w, and at most one favourite among the consumers of an op and among the producers of an op: the
///   x of its n edges add up to at least n - 1. Edges with x under `threshold` are taken, the smallest first.
///   An LP that takes more than `lp_iterations` is given up for "heaviest";
/// - "heaviest": edges by the time of their transfer, longest first, while neither end has a favourite
///   (equals in the order of the graph);
/// - "longest": for each op the free consumer with the longest path to the end, transfer included.
/// Edges within a group do not count: their ends are on one device anyway. Times are means. A stop ends the
/// LP in the same way as too many iterations.
std::vector<OpId> favourite_children(const DeviceChoices& choices, const FavouriteOptions& options,
                                     const std::stop_token& stop = {});

/// Adds the options of earliest_task_first, for the algorithms that are built on it.
template <class Options>
OptionSchema<Options> add_earliest_task_options(OptionSchema<Options> schema) {
    return schema
        .add("earliest", &Options::earliest, {"start", "finish"},
             "What to choose among all ops and devices: the op that can start first, or the one that "
             "finishes first together with its group, which suits devices of different speeds.")
        .add("link_contention", &Options::link_contention,
             "Let transfers wait for busy channels; the published algorithm ignores contention.")
        .add("memory_filter", &Options::memory_filter,
             "Skip devices whose estimated memory use would exceed their limit.")
        .add("attempts", &Options::attempts, 1, 10, kAttemptsHelp)
        .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
}

/// Returns [op]: mean seconds over the devices that the op's group may use.
std::vector<double> mean_op_times_s(const DeviceChoices& choices);

}  // namespace placewright
