// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct SimulateArguments {
    JobArguments job;
    std::string placement, trace, ops;
    bool explain = false;

    void add_to(CLI::App& command);
};

/// placewright-cli simulate. Returns the exit status.
int simulate_placement(const SimulateArguments& arguments);

}  // namespace placewright
