// SPDX-License-Identifier: MIT
// Neighbours of a placement: what the searches propose that walk from one placement to the next, and where they begin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/search/choices.hpp"

namespace placewright {

/// The help of the option `block_moves`, which the searches that walk have.
inline constexpr const char* kBlockMovesHelp =
    "Share of the moves that put many ops elsewhere at once: a run of neighbours, a branch or scope, a boundary between devices.";

/// All groups so that those of a parallel branch follow each other: in the order in which a depth-first walk meets their first ops when it
/// visits an op after all its producers. O(ops + edges).
std::vector<GroupId> depth_first_order(const Problem& problem);

/// Where a walk may begin: the groups in depth-first order cut into 1, 2, ... parts on as many devices, fastest first. A
/// device's part is as large as its share of the speed or, after those, of the memory. No placement twice.
std::vector<Placement> contiguous_splits(const DeviceChoices& choices);

inline const std::vector<std::string> kStartNames{"best", "single-device", "random"};
inline constexpr const char* kStartHelp =
    "Where to start. best: the best of the placements given and of cutting the network into runs of equal weight, a device each; the "
    "others ignore what is given.";

/// The placements, never none, of which the best is to be the first: what `start` (of kStartNames) says, seeds foremost.
std::vector<Placement> first_placements(const DeviceChoices& choices, std::vector<Placement> seeds, const std::string& start,
                                        Random& random);

/// The device of each movable group as its index among the group's choices (0 for a device that is none), for searches among real numbers.
std::vector<double> device_numbers(const DeviceChoices& choices, std::span<const DeviceId> placement);

/// Kinds of moves. The length of a run is of any scale with the same chance, from one group to all.
enum class MoveKind : std::uint8_t {
    single,    ///< a group to a random device
    run,       ///< neighbours in depth-first order to one device
    stage,     ///< such a run that is on one device, as long as can be
    boundary,  ///< groups next to the end of a stage to the device of the other side
    swap,      ///< a run, in which two devices change places
    piece,     ///< a parallel branch or scope to a random device
};
inline constexpr std::size_t kMoveKinds = 6;

/// Chances of the kinds of moves by what they have led to: adaptive operator selection by probability matching (Thierens, 2005).
class MoveChances {
public:
    MoveKind draw(Random& random) const;
    /// A move of that kind was scored.
    void learn(MoveKind kind, bool improved);

private:
    struct Record {
        double moves = 0, improved = 0;  ///< later ones count more
    };
    std::array<Record, kMoveKinds> records_;
    std::array<double, kMoveKinds> chances_ = even();

    static std::array<double, kMoveKinds> even();
};

/// Random moves of one group or, with chance `block_moves`, of many. All keep to the choices, which must outlive this.
class Neighbourhood {
public:
    Neighbourhood(const DeviceChoices& choices, double block_moves);

    /// Changes the placement. choices.movable() must not be empty.
    void move(std::span<DeviceId> placement, Random& random) const;

    /// The same with kinds drawn by `chances` in place of `block_moves`, which must have been positive. Returns the kind.
    MoveKind move(std::span<DeviceId> placement, const MoveChances& chances, Random& random) const;

private:
    /// [begin, end) in order_.
    struct Run {
        std::size_t begin = 0, end = 0;
    };

    /// A move of that kind; whether it changes anything.
    bool move(MoveKind kind, std::span<DeviceId> placement, Random& random) const;
    bool shift_boundary(std::span<DeviceId> placement, Random& random) const;
    bool swap_devices(std::span<DeviceId> placement, Random& random) const;

    std::size_t random_length(Random& random) const;
    Run random_run(Random& random) const;
    /// The longest run around a random position that is on one device.
    Run random_stage(std::span<const DeviceId> placement, Random& random) const;
    /// As often that of a neighbour of the run as any.
    DeviceId device_for(Run run, std::span<const DeviceId> placement, Random& random) const;
    std::span<const GroupId> groups(Run run) const { return std::span(order_).subspan(run.begin, run.end - run.begin); }
    /// Puts those groups on the device that may be there; whether that changes anything.
    bool put(std::span<const GroupId> groups, DeviceId device, std::span<DeviceId> placement) const;

    const DeviceChoices& choices_;
    double block_moves_;
    std::vector<GroupId> order_;                ///< the movable groups, depth first
    std::vector<std::vector<GroupId>> pieces_;  ///< parallel branches and scopes of at least two movable groups
};

}  // namespace placewright
