// SPDX-License-Identifier: MIT
// Contraction of groups to a directed acyclic graph of parts, and the sets of parts that are closed under
// predecessors.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/search/parts/choices.hpp"

namespace placewright {

/// Parts in topological order.
struct Contraction {
    std::vector<std::vector<GroupId>> groups;  ///< [part]
    std::vector<std::uint32_t> part_of;        ///< [group]
    std::vector<std::vector<std::uint32_t>>
        before;  ///< [part]: distinct parts that must be done earlier, ascending

    std::size_t size() const { return groups.size(); }
};

/// Contracts the groups to parts in the order that a contiguous split keeps (Tarnawski et al. 2020, section 4
/// and their dp.cpp): groups are ordered by the edges between their forward ops; a group without forward ops
/// mirrors the edges of its other ops. Groups on a cycle form one part, and so do a group that takes no time
/// and the only group that it exchanges tensors with, if the latter may be on no other devices: together they
/// are never slower. Separate parts could be better only if memory is so short that the bytes of the first
/// group matter.
Contraction contract(const DeviceChoices& choices);

/// Ideals: sets of parts that contain all predecessors of their parts. The empty one comes first, the full
/// one last, each after its subsets.
class IdealLattice {
public:
    std::size_t size() const { return begin_.size() - 1; }
    bool contains(std::uint32_t ideal, std::uint32_t part) const {
        return bits_[ideal * words_ + part / 64] >> (part % 64) & 1;
    }
    /// Pairs of a part that turns this ideal into another one, ascending, and that ideal.
    std::span<const std::pair<std::uint32_t, std::uint32_t>> above(std::uint32_t ideal) const {
        return std::span(above_).subspan(begin_[ideal], begin_[ideal + 1] - begin_[ideal]);
    }

private:
    friend IdealLattice ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop);
    friend bool add_all_ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop,
                               IdealLattice& lattice);

    std::size_t words_ = 0;
    std::vector<std::uint64_t> bits_;
    std::vector<std::size_t> begin_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> above_;
};

/// Returns all ideals. If there are more than `most`, or a stop is requested before they are found, returns
/// those that are prefixes of the order of the parts.
IdealLattice ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop = {});

}  // namespace placewright
