// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Ops of which each depends on the one before, here those of the longest path, between a source before all
/// ops and a sink behind all. O(ops + edges).
struct DependencyChain {
    static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

    /// `seconds` [op]: the lengths from which the longest path is computed. `is_fifo`: each device starts ops
    /// in the order in which they were ready.
    DependencyChain(const Problem& problem, std::span<const double> seconds, bool is_fifo);

    std::size_t source() const { return 0; }
    std::size_t sink() const { return ops.size() - 1; }

    std::vector<std::optional<OpId>> ops;  ///< [position]: nothing for source and sink
    std::vector<std::size_t> position;     ///< [op]; kNowhere for ops that are not on the chain
    /// [op]: the last position that it depends on, and the first that depends on it.
    std::vector<std::size_t> after, before;
    /// [op]: the first position whose op starts after it if both are on the same device: `before`, or earlier
    /// if devices start what was ready first. The op was ready no later than another of its group
    /// started that the chain's op depends on, if that one reads the same tensors.
    std::vector<std::size_t> before_on_device;

private:
    void find_longest_path(const Problem& problem, std::span<const double> seconds);
    void find_dependencies(const Problem& problem);
    void find_queues(const Problem& problem, std::span<const double> seconds);
    /// The first position that depends on the op, of the chain or not.
    std::size_t next(OpId op) const { return position[op] == kNowhere ? before[op] : position[op] + 1; }
};

}  // namespace placewright
