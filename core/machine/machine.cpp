// SPDX-License-Identifier: MIT
#include "core/machine/machine.hpp"

#include <array>
#include <cmath>
#include <set>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMaxDevices = 1024;
constexpr std::size_t kMaxChannels = std::size_t{std::numeric_limits<ChannelId>::max()} + 1;
constexpr std::uint32_t kMaxStreams = 64;
constexpr std::uint32_t kMaxCopyEngines = 64;
constexpr std::array<std::string_view, 3> kKinds{"cpu", "gpu", "accelerator"};
constexpr std::array<std::string_view, 2> kCrossings{"store-and-forward", "cut-through"};
constexpr std::uint32_t kNoRoute = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void fail(const std::string& where, const std::string& problem) {
    throw MachineError(where, where.empty() ? problem : where + ": " + problem);
}

/// Checks the numbers of one device, channel or route.
struct Check {
    std::string where;

    void positive(std::string_view key, double value) const {
        require(std::isfinite(value) && value > 0, key, value, "a positive finite number");
    }
    void not_negative(std::string_view key, double value) const {
        require(std::isfinite(value) && value >= 0, key, value, "a finite number of at least 0");
    }
    void share(std::string_view key, double value) const {
        require(value > 0 && value <= 1, key, value, "a number above 0 and up to 1");
    }
    void count(std::string_view key, std::uint32_t value, std::uint32_t least, std::uint32_t most) const {
        require(value >= least && value <= most, key, value,
                std::to_string(least) + " to " + std::to_string(most));
    }

private:
    void require(bool good, std::string_view key, double value, std::string_view expected) const {
        if (good) return;
        fail(where, std::string(key) + " is " + short_number(value) + ", expected " + std::string(expected));
    }
};

/// `what` is "device" or "channel".
template <class T>
void check_names(const std::vector<T>& items, const std::string& what) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].name.empty())
            fail(what + ' ' + std::to_string(i), "has no name, expected one that is not empty");
        if (!seen.insert(items[i].name).second) {
            fail(what + ' ' + in_quotes(items[i].name),
                 "the name is taken, expected a name of its own for every " + what);
        }
    }
}

void check_device(const Device& device) {
    const Check check{"device " + in_quotes(device.name)};
    check.positive("peak_flops", device.peak_flops);
    check.positive("memory_bandwidth", device.memory_bandwidth);
    check.positive("memory_bytes", device.memory_bytes);
    check.share("efficiency", device.efficiency);
    check.not_negative("launch_overhead_s", device.launch_overhead_s);
    check.not_negative("clock_hz", device.clock_hz);
    for (const auto& [kind, efficiency] : device.efficiency_by_kind)
        check.share("efficiency_by_kind: " + in_quotes(kind), efficiency);
    if (device.memory_efficiency) check.share("memory_efficiency", *device.memory_efficiency);
    check.not_negative("half_efficiency_flops", device.half_efficiency_flops);
    check.count("streams", device.streams, 1, kMaxStreams);
    check.count("copy_engines", device.copy_engines, 0, kMaxCopyEngines);
}

void check_channel(const Channel& channel) {
    const Check check{"channel " + in_quotes(channel.name)};
    check.positive("bandwidth", channel.bandwidth);
    check.not_negative("latency_s", channel.latency_s);
    check.share("efficiency", channel.efficiency);
    double last_bytes = 0;
    for (const auto& [bytes, efficiency] : channel.efficiency_by_bytes) {
        check.positive("efficiency_by_bytes: size", bytes);
        check.share("efficiency_by_bytes: efficiency", efficiency);
        if (bytes <= last_bytes)
            fail(check.where, "efficiency_by_bytes is out of order, expected ascending sizes");
        last_bytes = bytes;
    }
}

}  // namespace

std::string models_of(std::span<const Device> devices) {
    std::string text;
    for (std::size_t i = 0, next = 0; i < devices.size(); i = next) {
        while (next < devices.size() && devices[next].model == devices[i].model) ++next;
        text += (text.empty() ? "" : ", ") +
                (next - i > 1 ? std::to_string(next - i) + "x " : std::string()) + devices[i].model;
    }
    return text;
}

std::string_view to_string(DeviceKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<DeviceKind> device_kind_from(std::string_view text) {
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
        if (kKinds[i] == text) return static_cast<DeviceKind>(i);
    }
    return std::nullopt;
}

std::string_view to_string(Crossing crossing) {
    return kCrossings[static_cast<std::size_t>(crossing)];
}

std::optional<Crossing> crossing_from(std::string_view text) {
    for (std::size_t i = 0; i < kCrossings.size(); ++i) {
        if (kCrossings[i] == text) return static_cast<Crossing>(i);
    }
    return std::nullopt;
}

Machine::Machine(std::string name, std::vector<Device> devices, std::vector<Channel> channels,
                 std::vector<Route> routes, Crossing crossing)
    : name_(std::move(name)),
      devices_(std::move(devices)),
      channels_(std::move(channels)),
      routes_(std::move(routes)),
      crossing_(crossing) {
    if (devices_.empty() || devices_.size() > kMaxDevices) {
        fail("", "the machine has " + std::to_string(devices_.size()) + " devices, expected 1 to " +
                     std::to_string(kMaxDevices));
    }
    if (channels_.size() > kMaxChannels) {
        fail("", "the machine has " + std::to_string(channels_.size()) + " channels, expected up to " +
                     std::to_string(kMaxChannels));
    }
    check_names(devices_, "device");
    check_names(channels_, "channel");
    for (const Device& device : devices_) check_device(device);
    for (const Channel& channel : channels_) check_channel(channel);

    const std::size_t count = devices_.size();
    const auto route_name = [&](std::size_t from, std::size_t to) {
        return "route from " + in_quotes(devices_[from].name) + " to " + in_quotes(devices_[to].name);
    };
    route_index_.assign(count * count, kNoRoute);
    for (std::size_t i = 0; i < routes_.size(); ++i) {
        const Route& route = routes_[i];
        if (route.from >= count || route.to >= count) {
            fail("route " + std::to_string(i), "joins devices " + std::to_string(route.from) + " and " +
                                                   std::to_string(route.to) + ", expected devices below " +
                                                   std::to_string(count));
        }
        const std::string where = route_name(route.from, route.to);
        if (route.from == route.to) fail(where, "leads back to its device, expected two different ones");
        if (route.channels.empty()) fail(where, "has no channels, expected at least one");
        for (const ChannelId channel : route.channels) {
            if (channel >= channels_.size()) {
                fail(where, "channel " + std::to_string(channel) + " is unknown, the machine has " +
                                std::to_string(channels_.size()) + " channels");
            }
        }
        if (crossing_ == Crossing::cut_through) {
            std::set<ChannelId> crossed;
            for (const ChannelId channel : route.channels) {
                if (crossed.insert(channel).second) continue;
                fail(where, "crosses channel " + in_quotes(channels_[channel].name) +
                                " twice, expected it once: cut-through holds all channels of a route at the "
                                "same time");
            }
        }
        std::uint32_t& index = route_index_[route.from * count + route.to];
        if (index != kNoRoute)
            fail(where, "is given twice, expected one route for every ordered pair of devices");
        index = static_cast<std::uint32_t>(i);
    }
    for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < count; ++to) {
            if (from != to && route_index_[from * count + to] == kNoRoute) {
                fail(route_name(from, to),
                     "is missing, expected one route for every ordered pair of devices");
            }
        }
    }
}

std::optional<DeviceId> Machine::find(std::string_view device_name) const {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (devices_[i].name == device_name) return static_cast<DeviceId>(i);
    }
    return std::nullopt;
}

std::span<const ChannelId> Machine::route(DeviceId from, DeviceId to) const {
    if (from == to) return {};
    return routes_[route_index_[std::size_t{from} * devices_.size() + to]].channels;
}

bool Machine::matches(DeviceId device, std::string_view constraint) const {
    return devices_[device].name == constraint || to_string(devices_[device].kind) == constraint;
}

bool Machine::operator==(const Machine& other) const {
    return name_ == other.name_ && devices_ == other.devices_ && channels_ == other.channels_ &&
           routes_ == other.routes_ && crossing_ == other.crossing_;
}

}  // namespace placewright
