// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct BoundArguments {
    JobArguments job;
    double seconds = 0;

    void add_to(CLI::App& command);
};

/// placewright-cli bound. Returns the exit status.
int print_bounds(const BoundArguments& arguments);

}  // namespace placewright
