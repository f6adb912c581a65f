// SPDX-License-Identifier: MIT
// Chooses a machine for a network: machines from a priced catalogue evolve together with the placements on
// them. Lagostra's thesis on Exprimo (2020) names this as future work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/machine/catalogue.hpp"
#include "core/search/search.hpp"

namespace placewright {

struct CodesignTask {
    std::shared_ptr<const Graph> graph;
    ProblemOptions problem;
    SimulationOptions simulation;
    MemoryPenalty penalty;
    Catalogue catalogue;
    double budget = 0;                         ///< maximum price of a machine
    const AlgorithmInfo* algorithm = nullptr;  ///< places the network on each machine
    OptionValues options;
    std::uint64_t evaluations = 2'000;  ///< of each search for a placement
    std::uint64_t designs = 100;        ///< maximum number of machines to try
    std::uint64_t seed = 1;
    unsigned threads = 0;  ///< machines evaluated at a time, at most one per core (0: all cores); the result
                           ///< does not depend on it
};

struct DesignPoint {
    Design design;
    double price = 0;
    Score score;
    std::shared_ptr<const Machine> machine;
    std::shared_ptr<const Problem> problem;
    Placement placement;
};

struct CodesignResult {
    /// The Pareto front by ascending price, and so by falling step time. Contains only machines that the
    /// network fits on.
    std::vector<DesignPoint> front;
    std::uint64_t designs = 0;  ///< number of machines tried
    bool all = false;           ///< every machine within the budget was tried
    bool cancelled = false;
};

/// Called after every generation with the result so far.
using CodesignCallback = std::function<void(const CodesignResult&)>;

/// Tries every machine if there are at most `designs`. Otherwise runs an evolution: a generation changes
/// machines of the front (adds, removes or exchanges a part) and places the network on each, starting from
/// the placement of the parent machine. Throws std::invalid_argument for a catalogue without hosts or
/// accelerators, or a budget that buys no machine; also throws what make_problem and the algorithm throw.
CodesignResult codesign(const CodesignTask& task, std::stop_token stop = {},
                        const CodesignCallback& report = {});

}  // namespace placewright
