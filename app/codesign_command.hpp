// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/job_arguments.hpp"

namespace placewright {

struct CodesignArguments {
    JobArguments job;
    std::string catalogue;
    double budget = 0;
    std::string algorithm = "tabu";
    std::vector<std::string> settings;
    std::uint64_t evaluations = 1'000;
    std::uint64_t designs = 200;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    std::string out;

    void add_to(CLI::App& command);
};

/// placewright-cli codesign. Returns the exit status.
int codesign_machine(const CodesignArguments& arguments);

}  // namespace placewright
