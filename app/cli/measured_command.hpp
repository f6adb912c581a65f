// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/experiment_command.hpp"

namespace placewright {

/// placewright-cli experiment measured. Returns the exit status. Throws UsageError for options that it does
/// not use, InputError for the folder of measurements.
int run_measurements(const ExperimentArguments& arguments);

}  // namespace placewright
