// SPDX-License-Identifier: MIT
// Algorithms of this folder; core/algorithms.hpp lists them with all others.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/search/optimizer.hpp"

namespace placewright {

/// Describes an algorithm that `make(context, options)` makes. `schema` must live as long as the program.
template <class Options, class Make>
AlgorithmInfo describe(std::string id, std::string title, std::string help,
                       const OptionSchema<Options>& schema, Make make,
                       std::vector<OptionPreset> presets = {}) {
    return {std::move(id),
            std::move(title),
            std::move(help),
            schema.infos(),
            [&schema, make](const SearchContext& context, const OptionValues& values)
                -> std::unique_ptr<Optimizer> { return make(context, schema.parse(values)); },
            std::move(presets)};
}

/// The same for a class that is constructed from (context, options).
template <class Algorithm, class Options>
AlgorithmInfo describe(std::string id, std::string title, std::string help,
                       const OptionSchema<Options>& schema, std::vector<OptionPreset> presets = {}) {
    const auto make = [](const SearchContext& context, const Options& options) {
        return std::make_unique<Algorithm>(context, options);
    };
    return describe(std::move(id), std::move(title), std::move(help), schema, make, std::move(presets));
}

/// An algorithm that this build is without, because it needs a library of others.
AlgorithmInfo missing_algorithm(std::string id, std::string title, std::string_view library,
                                std::string_view option);

/// A portfolio of the other algorithms.
AlgorithmInfo auto_algorithm();
AlgorithmInfo instant_algorithm();
/// Each device alone, fastest first.
AlgorithmInfo single_device_algorithm();
/// Every group on a random device.
AlgorithmInfo random_algorithm();
/// Expert rules: parallel branches on different devices, for recurrent networks one device per layer.
AlgorithmInfo expert_algorithm();
/// Enumeration of all placements.
AlgorithmInfo linear_search_algorithm();
/// Random, first or steepest improving moves of single ops.
AlgorithmInfo hill_climbing_algorithm();
/// Annealing by moves, and scipy's dual annealing.
AlgorithmInfo simulated_annealing_algorithm();
/// FlexFlow's Markov chain Monte Carlo search.
AlgorithmInfo mcmc_algorithm();
/// The best move that does not undo a recent one.
AlgorithmInfo tabu_algorithm();
/// The particle swarm of Exprimo.
AlgorithmInfo particle_swarm_algorithm();
/// The genetic algorithm of Exprimo, section 3.2.2.
AlgorithmInfo genetic_algorithm();
/// The MAP-Elites of Exprimo, section 3.2.3.
AlgorithmInfo map_elites_algorithm();
/// A distribution fitted to the best placements drawn from it.
AlgorithmInfo cross_entropy_algorithm();
/// REINFORCE on that distribution.
AlgorithmInfo policy_gradient_algorithm();
/// Proximal policy optimization of that distribution.
AlgorithmInfo ppo_algorithm();
/// Cross-entropy minimization and proximal policy optimization together.
AlgorithmInfo post_algorithm();
/// Heterogeneous earliest finish time.
AlgorithmInfo heft_algorithm();
/// Baechi's fill in topological order.
AlgorithmInfo m_topo_algorithm();
/// Accelerate's fill of one device after the other.
AlgorithmInfo sequential_fill_algorithm();
/// llama.cpp's layers in proportion to memory.
AlgorithmInfo memory_proportional_algorithm();
/// Baechi's earliest task first.
AlgorithmInfo m_etf_algorithm();
/// Baechi's small communication times.
AlgorithmInfo m_sct_algorithm();
/// PipeDream's partition of a chain.
AlgorithmInfo pipedream_algorithm();
/// The optimal contiguous split for max load.
AlgorithmInfo ideals_dp_algorithm();
/// Static mapping by Scotch.
AlgorithmInfo scotch_algorithm();
/// Multi-constraint partitions by METIS.
AlgorithmInfo metis_algorithm();
/// Branch and cut on an integer program.
AlgorithmInfo milp_algorithm();
/// Annealing of max load and block latency.
AlgorithmInfo load_annealing_algorithm();

}  // namespace placewright
