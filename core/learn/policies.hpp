// SPDX-License-Identifier: MIT
// The list of policies that can be trained, and each of them as an algorithm that learns on the one graph that it is to place.
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

/// What a policy was made for; a policy that does not depend on one of these numbers takes any.
struct PolicySize {
    std::uint32_t devices = 0;
    std::uint32_t nodes = 0;

    bool operator==(const PolicySize&) const = default;
};

/// A policy with the options that it was asked for with.
struct PolicyDesign {
    std::shared_ptr<const Policy> policy;
    TrainingOptions training;
    bool allow_cpu = false;
    bool any_devices = false;  ///< it places on machines with any number of devices
    bool any_nodes = true;     ///< ... and graphs with any number of groups
};

struct PolicyInfo {
    std::string id;     ///< "placeto"
    std::string title;  ///< "Placeto"
    std::string help;   ///< one line
    std::vector<OptionInfo> options;
    /// Throws OptionError.
    std::function<PolicyDesign(const OptionValues&, const PolicySize&)> make;
    std::vector<OptionPreset> presets = {};
};

std::span<const PolicyInfo> policies();

/// nullptr if there is none of that id.
const PolicyInfo* find_policy(std::string_view id);

/// The option `allow_cpu` among these.
bool allows_cpu(const PolicyInfo& policy, const OptionValues& values);

/// Why a policy of this design, made for graphs of that size, cannot place the graph, and how to train one that can; empty if it can.
std::string misfit(const PolicyInfo& policy, const OptionValues& values, const PolicySize& size, const PolicyGraph& graph);

/// What costs are measured against: all ops one after the other on the device that takes the least time for them; 1 if they take none.
double reference_s(const Problem& problem);

/// Every policy as an algorithm. Trained from the beginning, for the budget; all placements of its episodes count as evaluations.
std::vector<AlgorithmInfo> learned_algorithms();

// The list's entries.
PolicyInfo placeto_policy();
PolicyInfo colocrl_policy();
PolicyInfo hierarchical_policy();
PolicyInfo spotlight_policy();
PolicyInfo gdp_policy();

}  // namespace placewright
