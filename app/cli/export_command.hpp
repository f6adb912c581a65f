// SPDX-License-Identifier: MIT
#pragma once

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct ExportArguments {
    JobArguments job;
    std::string placement, format, out;
    bool repair = false;

    void add_to(CLI::App& command);
};

/// placewright-cli export. Returns the exit status.
int export_placement(const ExportArguments& arguments);

}  // namespace placewright
