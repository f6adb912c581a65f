// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct CompareArguments {
    JobArguments job;  ///< network and machine may be comma-separated lists
    std::string algorithms;
    std::vector<std::string> settings;
    std::uint64_t seeds = 5;
    std::uint64_t evaluations = 20'000;
    double best_known_s = 0;  ///< 0: the best of all runs
    unsigned threads = 0;
    std::string csv, curves;

    void add_to(CLI::App& command);
};

/// placewright-cli compare. Returns the exit status.
int compare_algorithms(const CompareArguments& arguments);

}  // namespace placewright
