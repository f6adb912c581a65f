// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"
#include "app/cli/usage.hpp"

namespace placewright {

struct ExperimentArguments {
    std::string name;
    std::string out;
    bool overwrite = false;
    std::uint64_t seeds = 0;              ///< 0: default of the experiment
    std::uint64_t evaluations = 0;        ///< 0: default of the experiment
    std::vector<std::string> algorithms;  ///< ids; empty: all of the experiment's
    std::vector<std::string> only;        ///< comma-separated labels of a case; empty: all cases
    // For experiments that train policies.
    std::uint64_t updates = 0;          ///< 0: default of the experiment
    std::uint32_t count = 0;            ///< 0: default of the experiment
    std::vector<std::string> families;  ///< empty: all
    unsigned threads = 0;
    std::vector<std::string> networks;  ///< "name=file"
    GroupingArguments grouping;
    std::vector<std::string> settings;
    std::string data;  ///< folder of measurements, for `measured`
    // For experiments that run on this computer.
    std::string machine;           ///< empty: two logical devices
    std::uint32_t steps = 0;       ///< 0: default of the experiment
    std::uint32_t placements = 0;  ///< 0: default of the experiment
    bool json = false;

    void add_to(CLI::App& command);
    /// Throws UsageError if an option is given that only experiments with searches or trainings use; of
    /// these,
    /// --evaluations is left to the caller.
    void refuse_search_options() const;
    /// Creates the folder --out, if it is given. Throws InputError if it holds one of `files`, which the
    /// experiment would write, unless --overwrite is given.
    void prepare_out(std::span<const std::string> files) const;
};

/// placewright-cli experiment. Returns the exit status.
int run_experiment(const ExperimentArguments& arguments);

}  // namespace placewright
