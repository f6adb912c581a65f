// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/job/search_table.hpp"

namespace placewright {

/// Options of the command line that a sweep tries.
struct SweepOptions {
    std::string label;                   ///< "batch=64 precision=amp-fp16"
    std::vector<std::string> arguments;  ///< "--batch", "64", …
    std::vector<std::string> settings;   ///< of algorithms: "genetic.population_size=20"
};

/// A network or machine as the file names it, and what to read.
struct SweepInput {
    std::string name;
    std::string file;  ///< or the name of a shipped one, or the parts of a machine
};

/// Searches to run: every algorithm with every seed on every network, on every machine, with every set of
/// options.
struct Sweep {
    std::vector<SweepInput> networks, machines;
    std::vector<SweepOptions> options;  ///< at least one, which may be empty
    std::vector<const AlgorithmInfo*> algorithms;
    std::vector<std::uint64_t> seeds;
    std::uint64_t evaluations = 20'000;  ///< of each search

    std::size_t searches() const {
        return networks.size() * machines.size() * options.size() * algorithms.size() * seeds.size();
    }
};

/// Reads the file of a sweep: a JSON object with "format": "placewright.sweep", "networks", "machines",
/// "algorithms", and, if wanted, "options" (a list of objects whose keys are options of the command line),
/// "seeds" (a number, or a list of them) and "evaluations". Files that it names are relative to its folder.
/// Throws InputError with the place.
Sweep read_sweep(const Path& file);

}  // namespace placewright
