// SPDX-License-Identifier: MIT
// Groups contracted to a directed acyclic graph of parts, and the sets of parts that are closed under predecessors.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/search/choices.hpp"

namespace placewright {

/// Parts in topological order.
struct Contraction {
    std::vector<std::vector<GroupId>> groups;        ///< [part]
    std::vector<std::uint32_t> part_of;              ///< [group]
    std::vector<std::vector<std::uint32_t>> before;  ///< [part]: distinct parts that must be done earlier, ascending

    std::size_t size() const { return groups.size(); }
};

/// What a contiguous split orders (Tarnawski et al. 2020, section 4 and their dp.cpp): groups by the edges between their forward ops; a
/// group without forward ops mirrors the edges of its others. Groups on a cycle are one part, and so are a group that takes no time and the
/// only one that it exchanges tensors with, if that may be on no other devices: together they are never slower. Only where memory is so
/// short that what the first holds matters could it be better elsewhere.
Contraction contract(const DeviceChoices& choices);

/// Sets of parts that hold all that comes before any of their parts; the empty one first, the full one last, each after its subsets.
class IdealLattice {
public:
    std::size_t size() const { return begin_.size() - 1; }
    bool contains(std::uint32_t ideal, std::uint32_t part) const { return bits_[ideal * words_ + part / 64] >> (part % 64) & 1; }
    /// The parts that make another ideal of this one, ascending, and that ideal.
    std::span<const std::pair<std::uint32_t, std::uint32_t>> above(std::uint32_t ideal) const {
        return std::span(above_).subspan(begin_[ideal], begin_[ideal + 1] - begin_[ideal]);
    }

private:
    friend IdealLattice ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop);
    friend bool add_all_ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop, IdealLattice& lattice);

    std::size_t words_ = 0;
    std::vector<std::uint64_t> bits_;
    std::vector<std::size_t> begin_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> above_;
};

/// All ideals, or if there are more than `most`, or a stop is requested before they are found, those that are a beginning of the order of
/// the parts.
IdealLattice ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop = {});

}  // namespace placewright
