// SPDX-License-Identifier: MIT
// Minimum cuts in networks of whole capacities.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace placewright {

/// Times are whole ticks here, so that flows are exact.
using Ticks = std::int64_t;
/// `tick_s` 0 (Problem::tick_s): there are no times but 0.
inline Ticks to_ticks(double seconds, double tick_s) {
    return tick_s > 0 ? std::llround(seconds / tick_s) : 0;
}

/// Vertices are on the side of the source or of the sink; an arc is paid if it goes from the former to the latter. Solved by augmenting
/// paths (Boykov and Kolmogorov, 2004).
class CutNetwork {
public:
    using Vertex = std::size_t;

    CutNetwork();
    ~CutNetwork();
    CutNetwork(CutNetwork&&) noexcept;
    CutNetwork& operator=(CutNetwork&&) noexcept;

    Vertex add_vertex();
    /// Arcs in both directions.
    void connect(Vertex from, Vertex to, Ticks there, Ticks back = 0);

    /// The least that a cut costs; more calls may follow, with other ends.
    Ticks solve(Vertex source, Vertex sink);
    /// Of the cut that solve found: the one with the fewest vertices on this side.
    bool on_source_side(Vertex vertex) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace placewright
