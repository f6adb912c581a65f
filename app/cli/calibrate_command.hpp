// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct CalibrateArguments {
    JobArguments job;
    std::vector<std::string> networks;
    std::string device;  ///< empty: all models of the machine that have times
    double held_out = 0.2;
    std::uint32_t steps = 10;
    std::string out, residuals;

    void add_to(CLI::App& command);
};

/// placewright-cli calibrate: fits the cost model of devices to measured times of the networks' ops. Returns
/// the exit status. Throws UsageError and InputError.
int calibrate_devices(const CalibrateArguments& arguments);

}  // namespace placewright
