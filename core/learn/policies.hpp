// SPDX-License-Identifier: MIT
// List of the policies that can be trained, and each policy as an algorithm that learns on the one graph that
// it places.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/learn/trainer.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

/// Sizes that a policy was made for; a policy that does not depend on a size supports any.
struct PolicySize {
    std::uint32_t devices = 0;
    std::uint32_t nodes = 0;

    bool operator==(const PolicySize&) const = default;
};

/// A policy with its training options.
struct PolicyDesign {
    std::shared_ptr<const Policy> policy;
    TrainingOptions training;
    bool allow_cpu = false;
    bool any_devices = false;  ///< supports machines with any number of devices
    bool any_nodes = true;     ///< supports graphs with any number of groups
};

struct PolicyInfo {
    std::string id;     ///< "placeto"
    std::string title;  ///< "Placeto"
    std::string help;   ///< one line
    std::vector<OptionInfo> options;
    /// Throws OptionError.
    std::function<PolicyDesign(const OptionValues&, const PolicySize&)> make;
    std::vector<OptionPreset> presets = {};
    /// Options that older files of policies do not have, with what these policies did.
    OptionValues older = {};
    /// Whether it is trained by LibTorch, which a build may be without.
    bool needs_libtorch = true;
};

std::span<const PolicyInfo> policies();

/// Returns nullptr if there is no policy of that id.
const PolicyInfo* find_policy(std::string_view id);

/// Returns the value of the option `allow_cpu`.
bool allows_cpu(const PolicyInfo& policy, const OptionValues& values);

/// Returns why a policy of this design, made for graphs of that size, cannot place the graph, and how to
/// train one that can; empty if it can.
std::string misfit(const PolicyInfo& policy, const OptionValues& values, const PolicySize& size,
                   const PolicyGraph& graph);

/// Returns the reference of costs: the time of all ops one after the other on the device that takes the least
/// time for them; 1 if they take none.
double reference_s(const Problem& problem);

/// Returns every policy as an algorithm, trained from scratch within the budget; all placements of its
/// episodes count as evaluations.
std::vector<AlgorithmInfo> learned_algorithms();

// Entries of the list.
PolicyInfo placeto_policy();
PolicyInfo colocrl_policy();
PolicyInfo hierarchical_policy();
PolicyInfo spotlight_policy();
PolicyInfo gdp_policy();
PolicyInfo list_policy();

}  // namespace placewright
