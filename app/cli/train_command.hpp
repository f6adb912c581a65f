// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"
#include "core/graph/families.hpp"

namespace placewright {

struct TrainArguments {
    TrainArguments();

    JobArguments job;                   ///< its machine may be a comma-separated list
    std::vector<std::string> networks;  ///< network files or shipped names
    std::string family;                 ///< name of a known family, or a folder
    std::uint32_t count = kFamilySize;
    std::uint64_t family_seed = 1;
    std::string policy = "placeto";
    std::vector<std::string> settings;
    std::uint64_t updates = 0;  ///< 0: not given
    double seconds = 0;         ///< 0: not given
    std::uint64_t seed = 1;
    unsigned threads = 0;
    std::string out;
    double checkpoint_every_s = 60;
    bool resume = false;
    std::string curve;
    std::uint64_t teacher = 0;        ///< evaluations of each network's search; 0: none
    std::uint32_t machines_each = 0;  ///< machines for each network; 0: all

    void add_to(CLI::App& command);

private:
    friend class Lessons;
    const CLI::Option* group_ = nullptr;
    const CLI::Option* count_ = nullptr;
    const CLI::Option* family_seed_ = nullptr;
};

/// placewright-cli train. Returns the exit status.
int train_policy(const TrainArguments& arguments);

}  // namespace placewright
