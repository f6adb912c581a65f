// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/cli/job_arguments.hpp"
#include "core/machine/machine.hpp"
#include "core/measure/network_runner.hpp"

namespace placewright {

struct ProfileArguments {
    JobArguments job;
    std::string out;
    std::uint32_t steps = 10;
    bool transfers = false, throttles = false;

    void add_to(CLI::App& command);
};

/// Throws InputError for the machine file if times of the ops may not be kept (foreign_device_text()).
void expect_own_devices(const Machine& machine, std::span<const PhysicalDevice> devices,
                        const std::string& file);

/// placewright-cli profile: measures the ops of a network, and transfers. Returns the exit status. Throws
/// UsageError and InputError.
int profile_ops(const ProfileArguments& arguments);

}  // namespace placewright
