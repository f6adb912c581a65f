// SPDX-License-Identifier: MIT
#include "core/search/parts/pieces.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/search/parts/variation.hpp"

namespace placewright {
namespace {

constexpr std::uint32_t kNoPiece = std::numeric_limits<std::uint32_t>::max();

/// Pieces while they join each other: a forest of disjoint sets.
class Joining {
public:
    explicit Joining(std::size_t count) : parent_(count), size_(count), next_to_(count), device_(count) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }

    void add_group(std::uint32_t piece, DeviceId device) {
        ++size_[piece];
        device_[piece] = device;
    }
    void connect(std::uint32_t piece, std::uint32_t neighbour) { next_to_[piece].push_back(neighbour); }

    std::uint32_t root(std::uint32_t piece) {
        while (parent_[piece] != piece) piece = parent_[piece] = parent_[parent_[piece]];
        return piece;
    }
    std::size_t size(std::uint32_t root) const { return size_[root]; }
    DeviceId device(std::uint32_t root) const { return device_[root]; }

    /// Forgets which neighbours have joined the piece. Returns whether others remain.
    bool has_neighbours(std::uint32_t root) {
        std::erase_if(next_to_[root], [&](std::uint32_t other) { return this->root(other) == root; });
        return !next_to_[root].empty();
    }

    /// Puts the piece on the device of a random neighbour, which joins it, as do its other neighbours there.
    /// Returns the number of pieces that this leaves fewer.
    std::size_t join(std::uint32_t piece, Random& random) {
        const DeviceId device = device_[root(random.pick(std::span(std::as_const(next_to_[piece]))))];
        std::vector<std::uint32_t> joined;
        for (const std::uint32_t other : next_to_[piece]) {
            const std::uint32_t neighbour = root(other);
            if (device_[neighbour] == device && std::ranges::find(joined, neighbour) == joined.end())
                joined.push_back(neighbour);
        }
        device_[piece] = device;
        std::uint32_t whole = piece;
        for (const std::uint32_t other : joined) whole = united(whole, other);
        return joined.size();
    }

private:
    /// The one with fewer neighbours becomes part of the other, so that each edge is copied a logarithmic
    /// number of times.
    std::uint32_t united(std::uint32_t a, std::uint32_t b) {
        if (next_to_[a].size() < next_to_[b].size()) std::swap(a, b);
        parent_[b] = a;
        size_[a] += size_[b];
        next_to_[a].insert(next_to_[a].end(), next_to_[b].begin(), next_to_[b].end());
        next_to_[b] = {};
        return a;
    }

    std::vector<std::uint32_t> parent_;
    std::vector<std::size_t> size_;  ///< [root]: groups
    std::vector<std::vector<std::uint32_t>>
        next_to_;                   ///< [root]: pieces with an edge to it, as often as edges, some joined
    std::vector<DeviceId> device_;  ///< [root]
};

}  // namespace

Pieces::Pieces(const DeviceChoices& choices) : choices_(choices) {
    const Problem& problem = choices.problem();
    const Graph& graph = *problem.forward;
    std::vector<std::pair<GroupId, GroupId>> edges;
    const auto is_movable = [&](GroupId group) { return choices.of(group).size() > 1; };
    for (OpId op = 0; op < graph.size(); ++op) {
        for (const OpId consumer : graph.consumers(op)) {
            const GroupId from = problem.grouping.group_of[op], to = problem.grouping.group_of[consumer];
            if (from == to || !is_movable(from) || !is_movable(to)) continue;
            edges.emplace_back(from, to);
            edges.emplace_back(to, from);
        }
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    begin_.assign(choices.groups() + 1, 0);
    for (const auto& [from, to] : edges) {
        ++begin_[from + 1];
        neighbours_.push_back(to);
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
}

std::vector<std::uint32_t> Pieces::pieces_of(std::span<const DeviceId> placement, std::size_t& count) const {
    std::vector<std::uint32_t> piece_of(placement.size(), kNoPiece);
    std::vector<GroupId> open;
    count = 0;
    for (const GroupId first : choices_.movable()) {
        if (piece_of[first] != kNoPiece) continue;
        const auto piece = static_cast<std::uint32_t>(count++);
        piece_of[first] = piece;
        open.push_back(first);
        while (!open.empty()) {
            const GroupId group = open.back();
            open.pop_back();
            for (const GroupId next : neighbours(group)) {
                if (piece_of[next] != kNoPiece || placement[next] != placement[group]) continue;
                piece_of[next] = piece;
                open.push_back(next);
            }
        }
    }
    return piece_of;
}

std::size_t Pieces::count(std::span<const DeviceId> placement) const {
    std::size_t count = 0;
    pieces_of(placement, count);
    return count;
}

bool Pieces::merge(std::span<DeviceId> placement, Random& random) const {
    std::size_t count = 0;
    const std::vector<std::uint32_t> piece_of = pieces_of(placement, count);
    if (count < 2) return false;
    Joining pieces(count);
    for (const GroupId group : choices_.movable()) {
        pieces.add_group(piece_of[group], placement[group]);
        for (const GroupId next : neighbours(group)) {
            if (piece_of[next] != piece_of[group]) pieces.connect(piece_of[group], piece_of[next]);
        }
    }
    const bool few = random.chance(0.5);
    const std::size_t drawn = any_scale(count - 1, random);
    const std::size_t left = few ? count - drawn : drawn;

    std::vector<std::uint32_t> alive(count);
    std::iota(alive.begin(), alive.end(), 0U);
    // Draws a piece that has not joined another one and has neighbours; others are dropped when they are met.
    const auto draw = [&]() -> std::uint32_t {
        while (!alive.empty()) {
            const std::size_t at = random.index(alive.size());
            const std::uint32_t piece = alive[at];
            if (pieces.root(piece) == piece && pieces.has_neighbours(piece)) return piece;
            alive[at] = alive.back();
            alive.pop_back();
        }
        return kNoPiece;
    };
    while (count > left) {
        const std::uint32_t one = draw();
        if (one == kNoPiece) break;
        const std::uint32_t other = draw();
        count -= pieces.join(pieces.size(other) < pieces.size(one) ? other : one, random);
    }
    bool changed = false;
    for (const GroupId group : choices_.movable()) {
        const DeviceId device = pieces.device(pieces.root(piece_of[group]));
        if (device == placement[group] || !choices_.allows(group, device)) continue;
        placement[group] = device;
        changed = true;
    }
    return changed;
}

}  // namespace placewright
