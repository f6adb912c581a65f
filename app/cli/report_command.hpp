// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct ReportArguments {
    JobArguments job;
    std::string placement, out;

    void add_to(CLI::App& command);
};

/// placewright-cli report. Returns the exit status.
int report_placement(const ReportArguments& arguments);

}  // namespace placewright
