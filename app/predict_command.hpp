// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "app/job_arguments.hpp"

namespace placewright {

struct PredictArguments {
    std::string policy;  ///< file
    JobArguments job;
    bool best = false;
    std::uint64_t episodes = 0;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    std::string out;

    void add_to(CLI::App& command);
};

/// placewright-cli predict. Returns the exit status.
int predict(const PredictArguments& arguments);

}  // namespace placewright
