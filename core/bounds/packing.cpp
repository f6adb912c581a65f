// SPDX-License-Identifier: MIT
#include "core/bounds/packing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/bounds/min_cut.hpp"

namespace placewright {
namespace {

constexpr Ticks kNoTicks = std::numeric_limits<Ticks>::max();

class Packing {
public:
    Packing(const LoadModel& model, const LeastLoads& least, std::stop_token stop) : stop_(std::move(stop)) {
        std::vector<GroupId> groups;
        const auto shortest_s = [&](GroupId group) {
            double shortest = kNoLimit;
            for (const LoadClass& one : model.classes) shortest = std::min(shortest, one.group_s[group]);
            return shortest;
        };
        for (GroupId group = 0; group < model.groups(); ++group) {
            if (shortest_s(group) > 0) groups.push_back(group);  // the others take no time
        }
        std::ranges::stable_sort(groups, std::ranges::greater{}, shortest_s);
        count_ = groups.size();
        for (std::size_t c = 0; c < model.classes.size(); ++c) {
            const LoadClass& one = model.classes[c];
            std::vector<Item> items;
            for (std::size_t i = 0; i < count_; ++i) {
                // The sum of all groups stays in range.
                const Ticks most = (Ticks{1} << 61) / static_cast<Ticks>(count_);
                const auto ticks = [&](double seconds) {
                    return std::isfinite(seconds) ? std::min(to_ticks(seconds, model.tick_s), most)
                                                  : kNoTicks;
                };
                items.push_back({i, ticks(one.group_s[groups[i]]), ticks(least[c][groups[i]])});
            }
            times_.push_back(items);
            std::ranges::stable_sort(items, std::ranges::greater{}, &Item::time);
            by_time_.push_back(std::move(items));
            for (std::size_t i = 0; i < one.devices.size(); ++i) devices_.push_back({c, 0});
        }
    }

    /// More than any packing needs.
    Ticks longest_load() const {
        Ticks sum = 0;
        for (std::size_t rank = 0; rank < count_; ++rank) {
            Ticks longest = 0;
            for (const auto& items : times_) {
                const Item& item = items[rank];
                if (item.time < kNoTicks && item.least < kNoTicks)
                    longest = std::max({longest, item.time, item.least});
            }
            sum += longest;
        }
        return sum;
    }

    struct Answer {
        bool known = false;
        std::optional<Ticks> load;  ///< of the packing that was found
        std::size_t used = 0;       ///< number of steps
    };

    /// Whether all groups can be packed with no load above `limit`, if that takes at most `steps`.
    Answer within(Ticks limit, std::size_t steps) {
        limit_ = limit;
        left_ = steps;
        gave_up_ = false;
        for (Room& device : devices_) device.left = limit;
        const bool packed = pack(0);
        Answer answer{!gave_up_, {}, gave_up_ ? steps : steps - left_};
        if (packed) answer.load = limit - std::ranges::min(devices_, {}, &Room::left).left;
        return answer;
    }

private:
    struct Item {
        std::size_t rank = 0;  ///< position in the order of packing
        Ticks time = 0;        ///< kNoTicks where the group is not allowed
        Ticks least = 0;       ///< lower bound on the load of a device that has it
    };
    struct Room {
        std::size_t device_class = 0;
        Ticks left = 0;
    };

    bool fits(const Item& item, const Room& device) const {
        return item.least <= limit_ && item.time <= device.left;
    }

    /// False: the groups from `rank` on cannot all be packed. Compares, for each number of the longest groups
    /// of a class, their sum and their number with the room on its devices and the groups that other classes
    /// can take over.
    bool may_fit(std::size_t rank, std::size_t c) const {
        std::vector<Ticks> rooms;
        struct Other {
            const Room* device = nullptr;
            double share = 0;  ///< best ratio of time here to time there
            Ticks shortest = kNoTicks;
        };
        std::vector<Other> others;
        for (const Room& device : devices_) {
            if (device.device_class == c) {
                rooms.push_back(device.left);
            } else {
                others.push_back({&device});
            }
        }
        std::ranges::sort(rooms, std::ranges::greater{});
        std::vector<Ticks> sums{0};
        std::size_t open = 0;
        Ticks room = 0;
        for (const Item& item : by_time_[c]) {
            if (item.rank < rank || item.time == kNoTicks) continue;
            sums.push_back(sums.back() + item.time);
            for (; open < rooms.size() && rooms[open] >= item.time && item.least <= limit_; ++open)
                room += rooms[open];
            const std::size_t count = sums.size() - 1;
            double taken = static_cast<double>(room);
            std::size_t number = 0;
            for (Other& other : others) {
                const Item& there = times_[other.device->device_class][item.rank];
                if (fits(there, *other.device)) {
                    other.share = std::max(other.share,
                                           static_cast<double>(item.time) / static_cast<double>(there.time));
                    other.shortest = std::min(other.shortest, there.time);
                }
                taken += other.share * static_cast<double>(other.device->left);
                if (other.shortest < kNoTicks)
                    number += static_cast<std::size_t>(other.device->left / other.shortest);
            }
            if (static_cast<double>(sums.back()) > taken * (1 + 1e-12)) return false;
            for (std::size_t i = 0; i < open && number < count; ++i) {
                const auto most = std::ranges::lower_bound(sums, sums.back() - rooms[i]);
                number += static_cast<std::size_t>(sums.end() - 1 - most);
            }
            if (number < count) return false;
        }
        return true;
    }

    /// Packs the groups from `rank` on.
    bool pack(std::size_t rank) {
        if (rank == count_) return true;
        const std::size_t cost = (count_ - rank) * devices_.size();
        gave_up_ = left_ < cost || stop_.stop_requested();
        if (gave_up_) return false;
        left_ -= cost;
        for (std::size_t c = 0; c < times_.size(); ++c) {
            if (!may_fit(rank, c)) return false;
        }
        struct Choice {
            std::size_t device = 0;
            Ticks left = 0;
        };
        std::vector<Choice> choices;
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            const Room& device = devices_[d];
            const Item& item = times_[device.device_class][rank];
            if (!fits(item, device)) continue;
            const auto same = [&](const Choice& choice) {
                return devices_[choice.device].device_class == device.device_class &&
                       devices_[choice.device].left == device.left;
            };
            if (std::ranges::none_of(choices, same)) choices.push_back({d, device.left - item.time});
        }
        std::ranges::stable_sort(choices, std::ranges::greater{}, &Choice::left);
        for (const Choice& choice : choices) {
            const Ticks before = std::exchange(devices_[choice.device].left, choice.left);
            if (pack(rank + 1)) return true;
            devices_[choice.device].left = before;
            if (gave_up_) return false;
        }
        return false;
    }

    std::size_t count_ = 0;
    std::vector<std::vector<Item>> times_;    ///< [class][rank]
    std::vector<std::vector<Item>> by_time_;  ///< [class], longest first
    std::vector<Room> devices_;
    Ticks limit_ = 0;
    std::size_t left_ = 0;  ///< remaining steps
    std::stop_token stop_;
    bool gave_up_ = false;
};

}  // namespace

double packed_load_s(const LoadModel& model, const LeastLoads& least, double floor_s, double cutoff_s,
                     std::size_t steps, std::stop_token stop) {
    constexpr Ticks kTolerance = 1'000'000;  // 1 / the relative gap that remains
    constexpr std::size_t kTries = 8;        // number of tries that may use up all their steps
    if (!std::isfinite(floor_s)) return floor_s;
    Packing packing(model, least, std::move(stop));
    Ticks low = to_ticks(floor_s, model.tick_s);
    Ticks high = std::isfinite(cutoff_s) ? to_ticks(cutoff_s, model.tick_s) : packing.longest_load() + 1;
    double bound_s = floor_s;
    // Bisection, alternating with tests whether the best known value is optimal.
    bool just_below = true;
    for (std::size_t left = steps; left > 0 && high - low > high / kTolerance;) {
        const Ticks limit = just_below ? high - 1 : low + (high - low) / 2;
        const auto [known, load, used] = packing.within(limit, std::min(left, steps / kTries));
        left -= used;
        if (load) {
            high = *load;
        } else if (known) {
            low = limit + 1;
            bound_s = static_cast<double>(low) * model.tick_s;
        } else {
            high = limit;
        }
        just_below = known && !just_below;
    }
    return std::min(std::max(bound_s, floor_s), cutoff_s);
}

}  // namespace placewright
