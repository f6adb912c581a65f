// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// The ops that come before or after every other op between the ends of the longest path (behind its first
/// op, before its last), in their order, and the segments of other ops between them.
struct Backbone {
    static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

    /// `seconds` [op]: the lengths from which the longest path is computed.
    Backbone(const Problem& problem, std::span<const double> seconds);

    /// Ops of a place: place 2 i is op i of the backbone, place 2 i + 1 the segment behind it.
    std::span<const OpId> at(std::size_t which) const {
        return std::span(ops).subspan(begin[which], begin[which + 1] - begin[which]);
    }

    struct Path {
        double seconds = 0;
        std::vector<OpId> ops;  ///< ascending
    };
    /// The longest path within a segment, without the backbone ops at its ends.
    Path segment_path(const Problem& problem, std::size_t segment, std::span<const double> seconds) const;

    std::vector<OpId> backbone;
    std::vector<std::size_t> place;  ///< [op]; kNowhere if the op is not between the ends
    std::vector<OpId> ops;           ///< by place
    std::vector<std::size_t> begin;  ///< [place], into ops
};

}  // namespace placewright
