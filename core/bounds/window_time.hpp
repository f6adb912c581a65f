// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/bounds/device_classes.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// What lies between two ops of which one depends on the other.
struct OpWindow {
    std::optional<OpId> first, last;  ///< its ends; nothing for the begin and the end of a batch
    /// Ops that depend on `first` and run before `last`, ascending.
    std::vector<OpId> ops;
    /// [i of ops]: the op starts before `last` only if it is on the same device; and then ends before it if
    /// the device cannot run both at a time.
    std::vector<bool> on_device_only;
};

/// Where the ends of a window are.
struct WindowEnds {
    std::size_t first = 0, last = 0;  ///< classes of devices; not used for an end that is no op
    bool same_device = false;         ///< of two ops
};

/// The least time of windows, by propagating time windows as in constraint-based scheduling (Baptiste, Le
/// Pape and Nuijten, 2001). In time T an op may only be where the longest path through it, with the transfers
/// that it needs in any case, takes at most T; and the ops that are left to each set of devices must have
/// room there.
class WindowTime {
public:
    using Kinds = std::uint32_t;  ///< a set of classes
    static constexpr Kinds kAllKinds = ~Kinds{0};

    /// `classes` must be usable. Both must outlive this.
    WindowTime(const Problem& problem, const DeviceClasses& classes);

    /// Leaves a group only these classes from now on (kAllKinds: all that it may be on).
    void allow(GroupId group, Kinds kinds) { kinds_of_[group] = kinds; }

    /// `window` must live until it is cleared.
    void set(const OpWindow& window);
    void clear();

    /// Lower bound on the seconds from the end of the first op (or the begin of the batch) to the end of the
    /// last one (or of the batch): at most a ten-thousandth below what the propagation can show. Infinity if
    /// the ends do not allow it. `floor_s` need not be exceeded: if the bound is less, returns `floor_s`.
    /// O(edges of the window * places^2 * log).
    double least_s(const WindowEnds& ends, double floor_s);

    /// Number of ops whose times were computed so far, times places^2.
    std::size_t steps() const { return steps_; }

private:
    using Places = std::uint32_t;  ///< a set of them

    /// A device of an end, or all other devices of a class.
    struct Place {
        std::size_t kind = 0;  ///< class
        double devices = 1;
        /// Factor of seconds, so that a second of a slow device counts less.
        double weight = 1;
    };
    /// What is known of an op at a place.
    struct Time {
        double start_s = 0;  ///< least time from the begin of the window to the start of the op
        double tail_s = 0;   ///< least time from the end of the op to the end of the window
    };

    /// Of ops that can be at these places alone.
    struct Work {
        Places places = 0;
        double seconds = 0;
    };

    bool choose_places(const WindowEnds& ends);
    void weigh_places();
    /// Whether nothing shows that the window takes longer than `seconds`. Otherwise `next_s` is the least
    /// time for which that may be different.
    bool may_take(double seconds, double& next_s);
    /// Removes the places at which ops cannot be. Returns whether each group keeps one. `next_s` becomes at
    /// most the least time with which an op could be where it was removed from.
    bool propagate(double seconds, double& next_s);
    double start_s(std::size_t i, std::size_t place) const;
    double tail_s(std::size_t i, std::size_t place) const;
    /// Of the seconds of an op on a device, those that no other op has there.
    enum class Load : std::uint8_t {
        share,  ///< as many as its share of the device
        half,   ///< all if it takes more than half of the device, else none: no two of those run at a time
    };
    double load_s(OpId op, std::size_t place, Load load) const;
    /// Least seconds that the ops need if they share the devices at the places that are left to them.
    double least_load_s(Load load);
    /// Least seconds in which a set of places can do what is left to it.
    double needed_s(Places set) const;

    bool may_be(std::size_t group, std::size_t place) const { return (places_of_[group] >> place & 1U) != 0; }
    bool matters(std::size_t i, std::size_t place) const {
        return !window_->on_device_only[i] || (place == last_place_ && ends_before_last_[i]);
    }
    double op_s(OpId op, std::size_t place) const { return classes_.time_s(op, places_[place].kind); }
    double transfer_s(TensorId tensor, std::size_t from, std::size_t to) const {
        return from == to ? 0 : classes_.transfer_s(tensor, places_[from].kind, places_[to].kind);
    }
    Time& time(std::size_t i, std::size_t place) { return times_[i * places_.size() + place]; }
    const Time& time(std::size_t i, std::size_t place) const { return times_[i * places_.size() + place]; }

    const Problem& problem_;
    const DeviceClasses& classes_;
    const OpWindow* window_ = nullptr;
    std::size_t steps_ = 0;

    std::vector<Kinds> kinds_of_;              ///< [group]
    std::vector<std::size_t> index_of_;        ///< [op]: in the window
    std::vector<std::size_t> group_index_of_;  ///< [group]
    std::vector<GroupId> groups_;
    std::vector<std::size_t> group_of_;  ///< [i of the window's ops]: index in groups_

    std::vector<Place> places_;
    std::size_t first_place_ = 0, last_place_ = 0;
    std::vector<bool> ends_before_last_;  ///< [op]: if it is on the device of the last op and starts before
    std::vector<Places> allowed_;         ///< [group]
    std::vector<Places> places_of_;       ///< [group]: where it can be in the time that is asked about
    std::vector<Time> times_;             ///< [op * places + place]
    /// [place]: seconds before the first op that may be there starts, and after the last one ends.
    std::vector<double> outside_s_;
    std::vector<double> group_s_;  ///< [group * places + place]
    std::vector<Work> work_;       ///< of groups, by where they can be
};

}  // namespace placewright
