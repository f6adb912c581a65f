// SPDX-License-Identifier: MIT
// Neighbours of a placement, for the searches that walk from one placement to the next, and the start
// placements of these searches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/search/guide.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {

/// Help of the option `block_moves` of the searches that walk.
inline constexpr const char* kBlockMovesHelp =
    "Share of the moves that move many ops at once: a run of neighbours, a branch or scope, or a boundary "
    "between devices.";

/// Returns all groups in an order that keeps parallel branches together: that in which a depth-first walk
/// meets their first ops when it visits an op after all its producers. O(ops + edges).
std::vector<GroupId> depth_first_order(const Problem& problem);

/// Start placements of a walk: the groups in depth-first order cut into 1, 2, ... parts on as many devices,
/// fastest first. A device's part is proportional to its speed or, in the placements after those, to its
/// memory. No placement occurs twice.
std::vector<Placement> contiguous_splits(const DeviceChoices& choices);

inline const std::vector<std::string> kStartNames{"best", "single-device", "random"};
inline constexpr const char* kStartHelp =
    "Start placement. best: the best of the given placements and of contiguous splits into runs of equal "
    "weight, one per device; the others ignore given placements.";

/// Returns the placements, at least one, of which the best becomes the start: those for `start` (one of
/// kStartNames), seeds first.
std::vector<Placement> first_placements(const DeviceChoices& choices, std::vector<Placement> seeds,
                                        const std::string& start, Random& random);

/// Returns the device of each movable group as its index among the group's choices (0 for a device that is
/// none of them), for searches over real numbers.
std::vector<double> device_numbers(const DeviceChoices& choices, std::span<const DeviceId> placement);

/// Kinds of moves. The length of a run is of any scale with the same probability, from one group to all.
enum class MoveKind : std::uint8_t {
    single,    ///< a group to a random device
    run,       ///< neighbours in depth-first order to one device
    stage,     ///< the longest run around a group that is on one device, to another device
    boundary,  ///< groups next to the end of a stage to the device on the other side
    swap,      ///< exchange of two devices within a run
    piece,     ///< a parallel branch or scope to a random device
    guided,    ///< what a guide proposes
};
/// Without guided moves, which are the last kind.
inline constexpr std::size_t kMoveKinds = 6;

/// Probabilities of the kinds of moves by their success: adaptive operator selection by probability matching
/// (Thierens, 2005).
class MoveChances {
public:
    explicit MoveChances(bool guided = false) : kinds_(kMoveKinds + (guided ? 1 : 0)) {
        std::fill_n(chances_.begin(), kinds_, 1.0 / static_cast<double>(kinds_));
    }

    MoveKind draw(Random& random) const;
    /// Records whether a move of that kind improved the score.
    void learn(MoveKind kind, bool improved);

private:
    struct Record {
        double moves = 0, improved = 0;  ///< later moves count more
    };
    std::size_t kinds_;
    std::array<Record, kMoveKinds + 1> records_{};
    std::array<double, kMoveKinds + 1> chances_{};
};

/// Random moves of one group or, with probability `block_moves`, of many. All moves respect the choices,
/// which must outlive this object.
class Neighbourhood {
public:
    /// `guide`: proposes the guided moves; may be null.
    Neighbourhood(const DeviceChoices& choices, double block_moves, std::shared_ptr<SearchGuide> guide = {});

    /// Applies a random move to the placement. choices.movable() must not be empty.
    void move(std::span<DeviceId> placement, Random& random) const;

    /// Applies a move whose kind is drawn by `chances` instead of `block_moves`, which must have been
    /// positive. Returns the kind.
    MoveKind move(std::span<DeviceId> placement, const MoveChances& chances, Random& random) const;

private:
    /// [begin, end) in order_.
    struct Run {
        std::size_t begin = 0, end = 0;
    };

    /// Applies a move of that kind. Returns whether it changes anything.
    bool move(MoveKind kind, std::span<DeviceId> placement, Random& random) const;
    bool shift_boundary(std::span<DeviceId> placement, Random& random) const;
    bool swap_devices(std::span<DeviceId> placement, Random& random) const;

    Run random_run(Random& random) const;
    /// Returns the longest run on one device around a random position.
    Run random_stage(std::span<const DeviceId> placement, Random& random) const;
    /// Returns the device of a neighbour of the run or a random one, each as often.
    DeviceId device_for(Run run, std::span<const DeviceId> placement, Random& random) const;
    std::span<const GroupId> groups(Run run) const {
        return std::span(order_).subspan(run.begin, run.end - run.begin);
    }
    /// Puts those groups that may be there on the device. Returns whether that changes anything.
    bool put(std::span<const GroupId> groups, DeviceId device, std::span<DeviceId> placement) const;

    const DeviceChoices& choices_;
    double block_moves_;
    std::shared_ptr<SearchGuide> guide_;
    std::vector<GroupId> order_;  ///< the movable groups, depth first
    std::vector<std::vector<GroupId>>
        pieces_;  ///< parallel branches and scopes of at least two movable groups
};

}  // namespace placewright
