// SPDX-License-Identifier: MIT
// Rules of a problem that keep groups apart: a relation between groups, which no list of allowed devices can
// express.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/graph/grouping.hpp"

namespace placewright {

struct Problem;

/// No device may hold groups of two parts of a rule.
struct ApartRules {
    std::vector<ApartParts> of_group;  ///< [group]; empty if there are no rules
    std::vector<std::string> texts;    ///< [rule]: constraint_text()
    Placement example;                 ///< devices of the groups in parts that obey all rules; of others: any

    bool empty() const { return texts.empty(); }
};

/// The text of a rule that the placement breaks; empty if it obeys all. O(groups + rules * devices).
std::string broken_rule(const Problem& problem, std::span<const DeviceId> placement);

/// The placement with some groups of broken rules moved to other devices that they allow, so that it obeys
/// all; itself if it does. Every search proposes its placements through this. Deterministic.
/// O(groups * devices) unless devices are scarce.
Placement obeying(const Problem& problem, Placement placement);

/// Finds ApartRules::example; nothing if there is none, or none was found in a bounded number of steps.
/// `wanted`, if it is not empty, names the devices to try first.
std::optional<Placement> find_obeying(const Problem& problem, std::span<const DeviceId> wanted = {});

}  // namespace placewright
