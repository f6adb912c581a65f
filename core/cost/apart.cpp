// SPDX-License-Identifier: MIT
#include "core/cost/apart.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/cost/problem.hpp"

namespace placewright {
namespace {

constexpr std::uint32_t kNoPart = std::numeric_limits<std::uint32_t>::max();
/// Steps of the search for devices: deciding whether there are any is as hard as colouring a graph.
constexpr std::size_t kMostSteps = 100'000;

bool is_cpu(const Problem& problem, DeviceId device) {
    return problem.machine->device(device).kind == DeviceKind::cpu;
}

/// Which part of each rule each device holds.
class Holders {
public:
    explicit Holders(const Problem& problem)
        : devices_(problem.devices), part_(problem.apart.texts.size() * problem.devices, kNoPart) {}

    bool allows(const ApartParts& parts, DeviceId device) const { return breaks(parts, device) == kNoPart; }
    /// The first rule that these parts would break on the device; kNoPart if none.
    std::uint32_t breaks(const ApartParts& parts, DeviceId device) const {
        for (const ApartPart& each : parts) {
            const std::uint32_t held = part_[each.rule * devices_ + device];
            if (held != kNoPart && held != each.part) return each.rule;
        }
        return kNoPart;
    }
    /// Number of parts that the device already holds.
    std::size_t held(const ApartParts& parts, DeviceId device) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            parts, [&](const ApartPart& each) { return part_[each.rule * devices_ + device] == each.part; }));
    }
    /// Returns what undo() takes.
    std::vector<std::size_t> hold(const ApartParts& parts, DeviceId device) {
        std::vector<std::size_t> taken;
        for (const ApartPart& each : parts) {
            const std::size_t place = each.rule * devices_ + device;
            if (std::exchange(part_[place], each.part) == kNoPart) taken.push_back(place);
        }
        return taken;
    }
    void undo(const std::vector<std::size_t>& taken) {
        for (const std::size_t place : taken) part_[place] = kNoPart;
    }

private:
    std::size_t devices_;
    std::vector<std::uint32_t> part_;  ///< [rule * devices + device]
};

/// Groups that are in the same parts and allow the same devices: if any devices obey, one for all of them
/// does.
struct GroupClass {
    const ApartParts* parts = nullptr;
    std::vector<DeviceId> devices;  ///< in the order to try
    std::vector<GroupId> groups;
};

std::vector<GroupClass> classes_of(const Problem& problem, std::span<const DeviceId> wanted) {
    std::map<std::pair<ApartParts, std::vector<DeviceId>>, std::size_t> known;
    std::vector<GroupClass> classes;
    for (GroupId group = 0; group < problem.groups; ++group) {
        const ApartParts& parts = problem.apart.of_group[group];
        if (parts.empty()) continue;
        const auto allowed = problem.allowed_devices(group);
        std::vector<DeviceId> devices(allowed.begin(), allowed.end());
        const auto [place, is_new] = known.try_emplace({parts, devices}, classes.size());
        if (is_new) {
            std::stable_partition(devices.begin(), devices.end(),
                                  [&](DeviceId device) { return !is_cpu(problem, device); });
            if (!wanted.empty()) {
                const auto first = std::ranges::find(devices, wanted[group]);
                if (first != devices.end()) std::rotate(devices.begin(), first, first + 1);
            }
            classes.push_back({&parts, std::move(devices), {}});
        }
        classes[place->second].groups.push_back(group);
    }
    return classes;
}

/// Gives each class a device, the class with the fewest devices left first.
class ClassPlacer {
public:
    ClassPlacer(const Problem& problem, std::vector<GroupClass> classes)
        : holders_(problem),
          classes_(std::move(classes)),
          device_(classes_.size(), 0),
          is_placed_(classes_.size(), false) {}

    bool place() {
        if (++steps_ > kMostSteps) return false;
        std::size_t next = classes_.size(), fewest = std::numeric_limits<std::size_t>::max();
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            if (is_placed_[i]) continue;
            const auto left =
                static_cast<std::size_t>(std::ranges::count_if(classes_[i].devices, [&](DeviceId device) {
                    return holders_.allows(*classes_[i].parts, device);
                }));
            if (left < fewest) {
                fewest = left;
                next = i;
            }
        }
        if (next == classes_.size()) return true;
        is_placed_[next] = true;
        for (const DeviceId device : classes_[next].devices) {
            if (!holders_.allows(*classes_[next].parts, device)) continue;
            device_[next] = device;
            const auto taken = holders_.hold(*classes_[next].parts, device);
            if (place()) return true;
            holders_.undo(taken);
        }
        is_placed_[next] = false;
        return false;
    }

    void write(Placement& placement) const {
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            for (const GroupId group : classes_[i].groups) placement[group] = device_[i];
        }
    }

private:
    Holders holders_;
    std::vector<GroupClass> classes_;
    std::vector<DeviceId> device_;  ///< [class]
    std::vector<bool> is_placed_;   ///< [class]
    std::size_t steps_ = 0;
};

}  // namespace

std::string broken_rule(const Problem& problem, std::span<const DeviceId> placement) {
    if (problem.apart.empty()) return {};
    Holders holders(problem);
    for (GroupId group = 0; group < problem.groups; ++group) {
        const ApartParts& parts = problem.apart.of_group[group];
        const std::uint32_t rule = holders.breaks(parts, placement[group]);
        if (rule != kNoPart) return problem.apart.texts[rule];
        holders.hold(parts, placement[group]);
    }
    return {};
}

std::optional<Placement> find_obeying(const Problem& problem, std::span<const DeviceId> wanted) {
    ClassPlacer placer(problem, classes_of(problem, wanted));
    if (!placer.place()) return {};
    Placement placement(wanted.begin(), wanted.end());
    placement.resize(problem.groups, 0);
    placer.write(placement);
    return placement;
}

Placement obeying(const Problem& problem, Placement placement) {
    if (problem.apart.empty()) return placement;
    Holders holders(problem);
    std::vector<GroupId> breaking;
    for (GroupId group = 0; group < problem.groups; ++group) {
        const ApartParts& parts = problem.apart.of_group[group];
        if (holders.allows(parts, placement[group])) {
            holders.hold(parts, placement[group]);
        } else {
            breaking.push_back(group);
        }
    }
    if (breaking.empty()) return placement;
    std::vector<double> load_s(problem.devices, 0);
    std::vector<bool> moves(problem.groups, false);
    for (const GroupId group : breaking) moves[group] = true;
    for (GroupId group = 0; group < problem.groups; ++group) {
        if (!moves[group]) load_s[placement[group]] += problem.group_time_s(group, placement[group]);
    }
    Placement result = placement;
    for (const GroupId group : breaking) {
        const ApartParts& parts = problem.apart.of_group[group];
        // Where its parts already are; of those, where it would be done first, if possible not on a CPU,
        // which the search may have been told to avoid.
        std::optional<DeviceId> best;
        const auto rank = [&](DeviceId device) {
            return std::tuple(-static_cast<double>(holders.held(parts, device)), is_cpu(problem, device),
                              load_s[device] + problem.group_time_s(group, device));
        };
        for (const DeviceId device : problem.allowed_devices(group)) {
            if (holders.allows(parts, device) && (!best || rank(device) < rank(*best))) best = device;
        }
        if (!best) {
            // The groups that stayed leave it no device.
            if (const auto found = find_obeying(problem, placement)) return *found;
            for (GroupId each = 0; each < problem.groups; ++each) {
                if (!problem.apart.of_group[each].empty()) placement[each] = problem.apart.example[each];
            }
            return placement;
        }
        holders.hold(parts, *best);
        load_s[*best] += problem.group_time_s(group, *best);
        result[group] = *best;
    }
    return result;
}

}  // namespace placewright
