// SPDX-License-Identifier: MIT
// When tensors are allocated, freed and counted. All code that accounts for memory asks these rules, so that
// the accounting of other systems can be reproduced and compared.
#pragma once

#include "core/cost/problem.hpp"

namespace placewright {

/// The accounting of a real step.
struct TrainingMemory {
    /// Outputs exist from the start of their op and copies from the start of their last hop; otherwise from
    /// the end of these.
    static constexpr bool kAllocatesAtStart = true;
    /// Every allocation can be a peak; otherwise only the memory left after an event has been handled.
    static constexpr bool kCountsWithinEvents = true;
    /// The end of an op frees the tensors that have no other reader on its device; otherwise inference never
    /// frees a tensor that is read there.
    static constexpr bool kInferenceFrees = true;
};

/// The accounting of Exprimo, which replays its events.
struct ExprimoMemory {
    static constexpr bool kAllocatesAtStart = false;
    static constexpr bool kCountsWithinEvents = false;
    static constexpr bool kInferenceFrees = false;
};

/// Calls `run` with the rule that the problem selects; returns its result.
template <class Run>
decltype(auto) with_memory_rule(const Problem& problem, Run run) {
    return problem.memory == MemoryModel::exprimo ? run(ExprimoMemory()) : run(TrainingMemory());
}

/// Whether a tensor is freed on a device once its last reader there is done.
template <class Memory>
bool readers_release(const Problem& problem) {
    return Memory::kInferenceFrees || !problem.inference;
}
inline bool readers_release(const Problem& problem) {
    return with_memory_rule(problem,
                            [&]<class Memory>(Memory /*rule*/) { return readers_release<Memory>(problem); });
}

inline bool allocates_at_start(const Problem& problem) {
    return with_memory_rule(problem, [](auto rule) { return decltype(rule)::kAllocatesAtStart; });
}

}  // namespace placewright
