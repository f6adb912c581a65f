// SPDX-License-Identifier: MIT
// A move for whole chains. Where devices are alike, a chain is cut in vain, and no move of one op mends that:
// a boundary costs the same wherever it is, until it has reached an end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {

/// Help of options for Pieces::merge.
inline constexpr const char* kMergeHelp =
    "A piece, ops on one device that edges join, moves to the device of a neighbour; or many do, one after "
    "the other.";

/// Connected pieces of placements: groups on one device that edges between groups on that device join. Groups
/// without a choice are in no piece.
class Pieces {
public:
    /// `choices` must outlive this object. O(ops + edges).
    explicit Pieces(const DeviceChoices& choices);

    /// Returns the number of pieces of the placement.
    std::size_t count(std::span<const DeviceId> placement) const;

    /// Moves whole pieces to the devices of their neighbours: the smaller of two random pieces joins a random
    /// piece that it has an edge to, again and again. The number of times, or the number of pieces that it
    /// leaves, is of any scale with the same probability, from one to all. Groups that may not be on the
    /// device stay. Returns whether anything changed; nothing does if no piece has a neighbour. O(groups +
    /// edges).
    bool merge(std::span<DeviceId> placement, Random& random) const;

private:
    /// Returns the piece [group] of each movable group, numbered from 0 as they are met.
    std::vector<std::uint32_t> pieces_of(std::span<const DeviceId> placement, std::size_t& count) const;
    std::span<const GroupId> neighbours(GroupId group) const {
        return std::span(neighbours_).subspan(begin_[group], begin_[group + 1] - begin_[group]);
    }

    const DeviceChoices& choices_;
    std::vector<std::uint32_t> begin_;  ///< [groups + 1], into neighbours_
    std::vector<GroupId> neighbours_;   ///< movable groups that share an edge with the group, ascending
};

}  // namespace placewright
