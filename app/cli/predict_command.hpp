// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "app/cli/job_arguments.hpp"
#include "core/job/lessons.hpp"

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

    /// The job with the grouping, objective and memory rule of the training, unless the user gave others.
    JobArguments job_for(const TrainingRecord& record) const;

private:
    const CLI::Option *group_ = nullptr, *groups_ = nullptr, *merge_below_ = nullptr, *objective_ = nullptr,
                      *memory_rule_ = nullptr;
};

/// placewright-cli predict. Returns the exit status.
int predict(const PredictArguments& arguments);

}  // namespace placewright
