// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "app/cli/experiment_command.hpp"

namespace placewright {

/// Experiments that run networks on this computer: ids and one-line help.
std::span<const std::pair<std::string_view, std::string_view>> hardware_experiments();

/// placewright-cli experiment e1, e2, e4 or e5. Returns the exit status. Throws UsageError for options that
/// the experiment does not use, InputError for the machine.
int run_hardware_experiment(const ExperimentArguments& arguments);

}  // namespace placewright
