// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct ProfileArguments {
    JobArguments job;
    std::string out;
    std::uint32_t steps = 10;
    bool transfers = false, throttles = false;

    void add_to(CLI::App& command);
};

/// placewright-cli profile: measures the ops of a network, and transfers. Returns the exit status. Throws
/// UsageError and InputError.
int profile_ops(const ProfileArguments& arguments);

}  // namespace placewright
