// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/job_arguments.hpp"
#include "core/search/search.hpp"

namespace placewright {

struct OptimizeArguments {
    JobArguments job;
    std::string algorithm = "auto";
    std::vector<std::string> settings;
    Budget budget;
    std::uint64_t seed = 1;
    bool algorithm_given = false, budget_given = false, seed_given = false;
    unsigned threads = 0;
    std::uint64_t refinement = 0;    ///< evaluations
    std::optional<double> headroom;  ///< HeadroomOptions::cost; nothing: as suits the algorithm
    // What is run for real after the search.
    std::uint32_t measured_best = 0;         ///< placements
    std::uint64_t measured_evaluations = 0;  ///< of the search that goes on
    std::uint32_t measured_steps = 5;        ///< of each placement
    bool throttles = false;
    std::string out;
    std::string scores;

    void add_to(CLI::App& command);
    /// Notes which of the options were given. For use after parsing.
    void note_given(const CLI::App& command);
};

/// placewright-cli optimize. Returns the exit status.
int optimize_placement(OptimizeArguments arguments);

}  // namespace placewright
