// SPDX-License-Identifier: MIT
// The dimension of an op's outputs that holds its channels, and the inputs from which a range of channels is
// computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// Consecutive positions of a dimension: from `begin` up to, but without, `end`.
struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

/// Maps a range of `of` positions to the corresponding range of `extent` positions; rounds down if the
/// extents do not divide, so that adjacent ranges stay adjacent.
Range rescaled(Range range, std::int64_t of, std::int64_t extent);

/// The channels of an op.
struct Channels {
    std::size_t dimension = 0;          ///< of all its outputs
    std::int64_t count = 0;             ///< extent of its first output in that dimension
    std::int64_t units = 0;             ///< indivisible parts (channels, groups of them or heads), each of
                                        ///< count / units channels
    std::string_view unit = "channel";  ///< name of one of the `units`
    std::string_view unit_attribute{};  ///< attribute that holds `units`; empty if none does
};

/// An input of an op, or a range of one of its dimensions.
struct Piece {
    std::size_t input = 0;
    std::optional<std::size_t> dimension;  ///< of the input; nothing if all of it is read
    Range range{};
};

/// The channels of all ops of a graph of forward ops. Their dimension follows from the op's kind, else from
/// its first input with as many dimensions. If neither gives it, images (rank 4 and more, and rows) hold
/// channels in dimension 1, sequences (rank 3) in the last.
class ChannelMap {
public:
    /// Keeps a reference to the graph. O(ops + inputs).
    explicit ChannelMap(const Graph& graph);

    /// Returns the channels of an op. Throws GraphError, which names op, kind and reason, if no range of them
    /// can be computed by itself.
    Channels of(OpId id) const;

    /// The inputs that `range` of an op's channels reads, in the order of its inputs. `range` must begin and
    /// end between units.
    std::vector<Piece> read_by(OpId id, const Channels& channels, Range range) const;

private:
    const Graph& graph_;
    std::vector<std::optional<std::size_t>> dimension_;  ///< [op]: dimension of its channels
    std::vector<bool> is_parameter_;  ///< [op]: its outputs are parameters as tensors, or a view of them
};

}  // namespace placewright
