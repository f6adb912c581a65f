// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"
#include "core/search/codesign.hpp"

namespace placewright {

struct CodesignArguments {
    JobArguments job;
    std::string catalogue;
    std::string algorithm = "tabu";
    std::vector<std::string> settings;
    CodesignTask task;  ///< numeric options only; the rest is read from the files
    std::string out;

    void add_to(CLI::App& command);
};

/// placewright-cli codesign. Returns the exit status.
int codesign_machine(const CodesignArguments& arguments);

}  // namespace placewright
