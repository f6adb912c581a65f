// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct BenchmarkArguments {
    JobArguments job;
    std::string placement, trace, ops;
    std::uint32_t steps = 10;
    bool throttles = false;

    void add_to(CLI::App& command);
};

/// placewright-cli benchmark: runs a placement for real. Returns the exit status. Throws UsageError,
/// InputError, and MeasureError for ops that cannot be run.
int benchmark_placement(const BenchmarkArguments& arguments);

}  // namespace placewright
