// SPDX-License-Identifier: MIT
// What placements and runs belong to, and how a placement gets from one scenario to another.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QString>

#include "core/base/path.hpp"
#include "core/job/job.hpp"
#include "core/machine/machine_edit.hpp"

namespace placewright {

struct Scenario;

/// Factors on the machine of a scenario, and that scenario without them.
struct AppliedWhatIf {
    WhatIf factors;
    std::shared_ptr<const Scenario> base;
};

/// The problem that placements and runs belong to: a network on a machine, simulated with some options.
struct Scenario {
    Job job;
    QString networkFile, machineFile;  ///< as requested: names of bundled files, or paths
    Path networkPath;                  ///< path that networkFile was read from; may no longer exist
    QString editedFrom{};              ///< machineFile of the machine that was edited; empty: none was
    std::shared_ptr<const AppliedWhatIf> whatIf{};  ///< null: no factors
    JobOptions options;
    std::vector<std::string> notes{};  ///< what the supplements in `options` contributed, a line each
    bool groupingAsked = false;        ///< whether the user chose the grouping in `options`; else it is
                                       ///< default_grouping() of the network
    std::string fingerprint;  ///< of the problem; graphFingerprint tells whether the network file has changed
    std::string graphFingerprint;
    double singleDevice_s = 0;  ///< penalised objective value of everything on the best device
};

/// Sets both fingerprints of the scenario, and the value of one device, from its job. Simulates.
void complete(Scenario& scenario);

/// Whether placements and scores of one scenario are those of the other.
bool sameScenario(const Scenario& a, const Scenario& b);

/// Whether one machine is the other after edits.
bool sameBeforeEdits(const Scenario& a, const Scenario& b);

/// Whether both scenarios place the same network. With another batch size or other supplement files the graph
/// differs although the network file is the same.
bool sameNetwork(const Scenario& a, const Scenario& b);

/// Whether a step that was measured in one of the scenarios is the step of the other: the same ops on the
/// same tensors, in the same number formats and with the same optimizer. What only the simulation knows
/// (machine, times, groups, rules, runtime, how memory is counted) does not matter. O(ops).
bool sameStep(const Scenario& a, const Scenario& b);

/// Returns what makes the step of `of` another than that of `from`: "batch size 4, training".
QString stepText(const Scenario& of, const Scenario& from);

/// "bandwidth ×0.25, speed of some"
QString factorsText(const WhatIf& factors);

/// Returns how `of` differs from `from`: machine with its factors, and options.
QString differenceText(const Scenario& of, const Scenario& from);

/// Whether the device may hold the group, by the constraints of the network file.
bool mayHold(const Problem& problem, GroupId group, DeviceId device);

/// Returns the penalised objective value of the placement, in seconds. Simulates it.
double scoreOf(const Job& job, const Placement& placement);

/// A placement that was carried over to another problem.
struct Carried {
    Placement placement;
    std::size_t moved = 0;  ///< ops of the network whose device changed to that of most of their group
};

/// Carries a placement over to another problem, by the names of ops and devices: a group goes to the device
/// of most of its ops (the first of equals); a group of new ops only, such as the loss of a language model
/// that is trained, to that of the first op that it reads, or else that in `fallback`. Returns nothing if a
/// device does not exist in `to`, or if no device of a group's ops may hold the group.
std::optional<Carried> carried(const Placement& placement, const Problem& from, const Problem& to,
                               const Placement& fallback);

}  // namespace placewright
