// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "core/search/progress.hpp"

namespace placewright {

/// Records when the cells of an archive got their elites, in bounded memory: whenever it is full, steps of
/// time become coarser, and of the elites that a cell had within a step only the last one is kept.
class ArchiveHistory {
public:
    explicit ArchiveHistory(std::size_t most = 16'384) : most_(most) {}

    /// A cell got an elite. `evaluations`: placements scored until then; must not fall.
    void add(std::uint64_t evaluations, std::uint32_t cell, const Score& score);
    const std::vector<ArchiveView::Event>& events() const { return events_; }

private:
    void thin();

    std::size_t most_;
    std::uint64_t step_ = 1;
    std::vector<ArchiveView::Event> events_;
};

}  // namespace placewright
