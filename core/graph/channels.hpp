// SPDX-License-Identifier: MIT
// Which dimension of an op's outputs holds its channels, and what a range of them is computed from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// Neighbouring places of a dimension: `begin` up to, without, `end`.
struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

/// A range of `of` places as one of `extent` places that stand for the same; rounded down where extents do not divide, so that
/// neighbouring ranges stay neighbours.
Range rescaled(Range range, std::int64_t of, std::int64_t extent);

/// The channels of an op.
struct Channels {
    std::size_t dimension = 0;          ///< of all its outputs
    std::int64_t count = 0;             ///< extent of its first output there
    std::int64_t units = 0;             ///< what cannot be divided: channels, groups of them or heads; each count / units channels
    std::string_view unit = "channel";  ///< what one of `units` is called
    std::string_view unit_attribute{};  ///< the attribute that holds `units`; empty: none does
};

/// An input of an op, or a range of one of its dimensions.
struct Piece {
    std::size_t input = 0;
    std::optional<std::size_t> dimension;  ///< of the input; nothing: all of it is read
    Range range{};
};

/// The channels of all ops of a graph of forward ops. Each op's kind tells where they are, else its first input of as many dimensions; of
/// what nothing is known, images (rank 4 and more, and rows) hold them in dimension 1, sequences (rank 3) in the last.
class ChannelMap {
public:
    /// Keeps a reference to the graph. O(ops + inputs).
    explicit ChannelMap(const Graph& graph);

    /// Throws GraphError, which names op, kind and reason, if no range of the op's channels can be computed by itself.
    Channels of(OpId id) const;

    /// What `range` of the channels of an op reads, in the order of its inputs; `range` begins and ends between units.
    std::vector<Piece> read_by(OpId id, const Channels& channels, Range range) const;

private:
    const Graph& graph_;
    std::vector<std::optional<std::size_t>> dimension_;  ///< of each op's channels
    std::vector<bool> is_parameter_;                     ///< it gives parameters as tensors, or is a view of them
};

}  // namespace placewright
