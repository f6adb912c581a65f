// SPDX-License-Identifier: MIT
// Algorithms by id, and shorthand for their options.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <QString>

#include "core/algorithms.hpp"
#include "core/search/search.hpp"

namespace placewright::test {

using ProblemPtr = std::shared_ptr<const Problem>;

inline OptionValue text(const char* value) {
    return std::string(value);
}
inline OptionValue whole(std::int64_t value) {
    return value;
}

/// An algorithm with settings that use another part of its code.
struct Variant {
    std::string id;
    OptionValues values;
};

inline std::unique_ptr<Optimizer> make(std::string_view id, const ProblemPtr& problem,
                                       const OptionValues& values = {}, std::uint64_t seed = 1,
                                       std::vector<Placement> seeds = {}) {
    return find_algorithm(id)->make({problem, seed, std::move(seeds)}, values);
}

inline SearchResult search(std::string_view id, const ProblemPtr& problem, std::uint64_t evaluations,
                           const OptionValues& values = {}, std::uint64_t seed = 1, unsigned threads = 1) {
    const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
    return run_search(*make(id, problem, values, seed), *evaluator, {evaluations});
}

/// Step time of a placement, with the penalty for memory.
inline double seconds_of(const ProblemPtr& problem, const Placement& placement) {
    Simulator simulator(problem);
    return MemoryPenalty().score(*problem, simulator.run(placement)).penalised_s;
}

inline GroupId group_of(const Problem& problem, const std::string& op) {
    return problem.grouping.group_of[*problem.graph->find(op)];
}

/// Message of an exception of this type; nothing if none is thrown.
template <class Error, class Callable>
QString error_of(Callable&& callable) {
    try {
        callable();
    } catch (const Error& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

}  // namespace placewright::test
