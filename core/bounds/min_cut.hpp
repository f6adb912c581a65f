// SPDX-License-Identifier: MIT
// Minimum cuts in networks with integer capacities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace placewright {

/// Times are whole ticks here, so that flows are exact.
using Ticks = std::int64_t;
/// Longer times count as this, which leaves bounds below the optimum.
inline constexpr Ticks kMostTicks = Ticks{1} << 55;
/// With `tick_s` 0 (Problem::tick_s) all times are 0.
inline Ticks to_ticks(double seconds, double tick_s) {
    return tick_s > 0 ? std::llround(std::min(seconds / tick_s, static_cast<double>(kMostTicks))) : 0;
}

/// Vertices are on the side of the source or of the sink; an arc is paid if it goes from the source's side to
/// the sink's. Solved by augmenting paths (Boykov and Kolmogorov, 2004).
class CutNetwork {
public:
    using Vertex = std::size_t;

    CutNetwork();
    ~CutNetwork();
    CutNetwork(CutNetwork&&) noexcept;
    CutNetwork& operator=(CutNetwork&&) noexcept;

    Vertex add_vertex();
    /// Adds arcs in both directions.
    void connect(Vertex from, Vertex to, Ticks there, Ticks back = 0);

    /// Returns the cost of the least cut. May be called again with other ends.
    Ticks solve(Vertex source, Vertex sink);
    /// The side of a vertex in the cut that solve() found; of equal cuts, the one with the fewest vertices
    /// here.
    bool on_source_side(Vertex vertex) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace placewright
