// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"

namespace placewright {

struct ConvertArguments {
    std::vector<std::string> files;
    std::string network;
    std::int64_t batch = 0;
    std::string graph_out, machine_out;  ///< of a workload
    ReadingArguments reading;
    ShardArguments shards;
    PrecisionArguments precision;

    void add_to(CLI::App& command);
};

/// placewright-cli convert. Returns the exit status.
int convert_file(const ConvertArguments& arguments);

}  // namespace placewright
