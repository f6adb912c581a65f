// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "core/bounds/dependency_chain.hpp"
#include "core/bounds/window_time.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// The windows between the ops of a chain.
class WindowList {
public:
    /// `chain` must outlive this.
    WindowList(const Problem& problem, const DependencyChain& chain);

    /// Calls `use(first, window)` for windows that end at a position: first that from the position before,
    /// then those that are more than the windows in them, from small to large, as long as `goes_on(ops)` is
    /// true. `ops`: number of ops that were looked at for this position so far.
    void for_each_to(std::size_t last, const std::function<bool(std::size_t ops)>& goes_on,
                     const std::function<void(std::size_t first, const OpWindow& window)>& use) const;

private:
    bool is_on_chain(OpId op) const { return chain_.position[op] != DependencyChain::kNowhere; }
    OpWindow window(std::size_t first, std::size_t last, std::vector<OpId> ops) const;

    const DependencyChain& chain_;
    std::vector<std::vector<OpId>> ops_after_;  ///< [position]: ops whose DependencyChain::after it is
    /// [position]: the last of the windows that end there which begins with an op of its own, if any does.
    std::vector<std::optional<std::size_t>> last_begin_;
};

}  // namespace placewright
