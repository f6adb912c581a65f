// SPDX-License-Identifier: MIT
#include "core/machine/machine_edit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMicroseconds = 1e6, kPercent = 100;

/// A machine that is being changed.
struct Draft {
    std::string name;
    std::vector<Device> devices;
    std::vector<Channel> channels;
    std::vector<Route> routes;
    Crossing crossing;
    std::vector<DeviceId> from;

    explicit Draft(const Machine& machine)
        : name(saved_name(machine) + std::string(kEditedSuffix)),
          devices(machine.devices().begin(), machine.devices().end()),
          channels(machine.channels().begin(), machine.channels().end()),
          routes(machine.routes().begin(), machine.routes().end()),
          crossing(machine.crossing()),
          from(devices.size()) {
        std::iota(from.begin(), from.end(), DeviceId{0});
    }

    MachineEdit build() && {
        return {
            Machine(std::move(name), std::move(devices), std::move(channels), std::move(routes), crossing),
            std::move(from)};
    }
};

constexpr std::array kDeviceFigures{
    Figure<Device>{"Memory", "GB", "Memory of the device", 0.001, 1e5,
                   [](const Device& device) { return device.memory_bytes / kGiga; },
                   [](Device& device, double value) { device.memory_bytes = value * kGiga; }},
    Figure<Device>{"Peak", "TFLOP/s",
                   "Peak speed of float32; the peaks of other types of numbers change in proportion", 1e-6,
                   1e5, [](const Device& device) { return device.peak_flops / kTera; },
                   [](Device& device, double value) { device.peak_flops = value * kTera; }},
    Figure<Device>{"Bandwidth", "GB/s", "Bandwidth of the memory", 1e-3, 1e5,
                   [](const Device& device) { return device.memory_bandwidth / kGiga; },
                   [](Device& device, double value) { device.memory_bandwidth = value * kGiga; }},
    Figure<Device>{"Efficiency", "%",
                   "Share of the peaks that ops reach: one number for all ops, in place of those that the "
                   "catalogue knows by class of op",
                   0.01, 100, [](const Device& device) { return device.efficiency * kPercent; },
                   [](Device& device, double value) {
                       device.efficiency = value / kPercent;
                       device.efficiency_by_kind.clear();
                       device.memory_efficiency.reset();
                       device.uniform_efficiency = device.known != nullptr;
                   }},
    Figure<Device>{"Launch", "µs", "Overhead of starting an op", 0, 1e5,
                   [](const Device& device) { return device.launch_overhead_s * kMicroseconds; },
                   [](Device& device, double value) { device.launch_overhead_s = value / kMicroseconds; }},
};

constexpr std::array kChannelFigures{
    Figure<Channel>{"Bandwidth", "GB/s", "Bandwidth in one direction", 1e-6, 1e5,
                    [](const Channel& channel) { return channel.bandwidth / kGiga; },
                    [](Channel& channel, double value) { channel.bandwidth = value * kGiga; }},
    Figure<Channel>{"Latency", "µs", "Time that every transfer takes in addition", 0, 1e5,
                    [](const Channel& channel) { return channel.latency_s * kMicroseconds; },
                    [](Channel& channel, double value) { channel.latency_s = value / kMicroseconds; }},
    Figure<Channel>{"Efficiency", "%",
                    "Share of the bandwidth that transfers reach: one number for all sizes, in place of a "
                    "table by size",
                    0.01, 100,
                    [](const Channel& channel) {
                        const auto& table = channel.efficiency_by_bytes;
                        return (table.empty() ? channel.efficiency : table.back().second) * kPercent;
                    },
                    [](Channel& channel, double value) {
                        channel.efficiency = value / kPercent;
                        channel.efficiency_by_bytes.clear();
                    }},
};

template <class Item>
void set(Item& item, const Figure<Item>& figure, double value) {
    if (!(value >= figure.least && value <= figure.most)) {
        throw MachineError(item.name, short_number(value) + " is out of range, expected " +
                                          short_number(figure.least) + " to " + short_number(figure.most) +
                                          " " + std::string(figure.unit));
    }
    figure.set(item, value);
}

template <class Item>
bool is_taken(const std::vector<Item>& items, std::string_view name) {
    return std::ranges::any_of(items, [&](const Item& item) { return item.name == name; });
}

template <class Item>
void rename(std::vector<Item>& items, std::size_t at, const std::string& name, const char* what) {
    if (name.empty()) throw MachineError("", std::string("the ") + what + " needs a name");
    if (items[at].name != name && is_taken(items, name))
        throw MachineError("", in_quotes(name) + " is the name of another " + what);
    items[at].name = name;
}

/// "gpu:12" -> "12"; empty if the name ends with no number.
std::string number_of(const std::string& name) {
    std::size_t begin = name.size();
    while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
    return name.substr(begin);
}

/// The name with the first number that equals `before` replaced; unchanged if there is none.
std::string renumbered(const std::string& name, const std::string& before, const std::string& now) {
    const auto is_digit = [&](std::size_t i) { return i < name.size() && name[i] >= '0' && name[i] <= '9'; };
    for (std::size_t begin = 0; begin < name.size() && !before.empty(); ++begin) {
        if (!is_digit(begin) || (begin > 0 && is_digit(begin - 1))) continue;
        std::size_t end = begin;
        while (is_digit(end)) ++end;
        if (name.substr(begin, end - begin) == before) return name.substr(0, begin) + now + name.substr(end);
    }
    return name;
}

std::string next_name(const std::vector<Device>& devices, DeviceKind kind) {
    for (std::size_t number = 0;; ++number) {
        std::string name = std::string(to_string(kind)) + ':' + std::to_string(number);
        if (!is_taken(devices, name)) return name;
    }
}

/// Devices that are an end of every route across a channel, at most two.
struct Owners {
    DeviceId a = kInvalidDevice, b = kInvalidDevice;
    bool used = false;

    bool has(DeviceId device) const { return device == a || device == b; }
    void cross(const Route& route) {
        if (!used) {
            *this = {route.from, route.to, true};
            return;
        }
        for (DeviceId* owner : {&a, &b}) {
            if (*owner != route.from && *owner != route.to) *owner = kInvalidDevice;
        }
    }
};

std::vector<Owners> owners_of(const Draft& draft) {
    std::vector<Owners> owners(draft.channels.size());
    for (const Route& route : draft.routes) {
        for (const ChannelId channel : route.channels) owners[channel].cross(route);
    }
    return owners;
}

/// Gives a device that was added to a draft the links of `like`.
class Linker {
public:
    Linker(Draft& draft, DeviceId like, DeviceId added)
        : draft_(draft),
          like_(like),
          added_(added),
          owners_(owners_of(draft)),
          like_number_(number_of(draft.devices[like].name)),
          added_number_(number_of(draft.devices[added].name)) {}

    void link() {
        const std::vector<Route> routes = draft_.routes;
        for (const Route& route : routes) {
            if (route.from == like_) add(added_, route.to, copies(route.channels));
            if (route.to == like_) add(route.from, added_, copies(route.channels));
        }
        for (const bool forth : {true, false}) {
            std::vector<ChannelId> channels = between(routes, forth);
            if (forth) {
                add(like_, added_, std::move(channels));
            } else {
                add(added_, like_, std::move(channels));
            }
        }
    }

private:
    void add(DeviceId from, DeviceId to, std::vector<ChannelId> channels) {
        draft_.routes.push_back({from, to, std::move(channels)});
    }

    ChannelId add_copy(ChannelId channel, const std::string& before, const std::string& now) {
        Channel copy = draft_.channels[channel];
        std::string name = renumbered(copy.name, before, now);
        if (is_taken(draft_.channels, name)) name = copy.name + ' ' + draft_.devices[added_].name;
        while (is_taken(draft_.channels, name)) name += '\'';
        copy.name = std::move(name);
        draft_.channels.push_back(std::move(copy));
        return static_cast<ChannelId>(draft_.channels.size() - 1);
    }

    /// The channel that the new device has in place of one of `like`.
    ChannelId copy_of(ChannelId channel) {
        if (!owners_[channel].has(like_)) return channel;
        for (const auto& [original, copy] : copied_) {
            if (original == channel) return copy;
        }
        copied_.emplace_back(channel, add_copy(channel, like_number_, added_number_));
        return copied_.back().second;
    }

    std::vector<ChannelId> copies(const std::vector<ChannelId>& channels) {
        std::vector<ChannelId> result;
        for (const ChannelId channel : channels) result.push_back(copy_of(channel));
        return result;
    }

    static const std::vector<ChannelId>* find(const std::vector<Route>& routes, DeviceId from, DeviceId to) {
        const auto found = std::ranges::find_if(
            routes, [&](const Route& route) { return route.from == from && route.to == to; });
        return found == routes.end() ? nullptr : &found->channels;
    }

    /// The route between `like` and the new device, as between `like` and another device of its kind.
    std::vector<ChannelId> between(const std::vector<Route>& routes, bool forth) {
        for (DeviceId peer = 0; peer < draft_.devices.size(); ++peer) {
            if (peer == like_ || peer == added_ || draft_.devices[peer].kind != draft_.devices[like_].kind)
                continue;
            const auto* there = find(routes, forth ? like_ : peer, forth ? peer : like_);
            const auto* back = find(routes, forth ? peer : like_, forth ? like_ : peer);
            if (there == nullptr || back == nullptr || there->size() != back->size()) continue;
            const std::string peer_number = number_of(draft_.devices[peer].name);
            std::vector<ChannelId> result;
            for (std::size_t i = 0; i < there->size(); ++i) {
                const ChannelId channel = (*there)[i];
                const bool of_like = owners_[channel].has(like_), of_peer = owners_[channel].has(peer);
                if (of_like && of_peer) {
                    result.push_back(add_copy(channel, peer_number, added_number_));
                } else if (of_peer) {
                    result.push_back(copy_of((*back)[i]));
                } else {
                    result.push_back(channel);
                }
            }
            return result;
        }
        return over_host(routes, forth);
    }

    /// Through a CPU, else over a channel of its own like the first one of `like`.
    std::vector<ChannelId> over_host(const std::vector<Route>& routes, bool forth) {
        for (DeviceId host = 0; host < draft_.devices.size(); ++host) {
            if (host == like_ || host == added_ || draft_.devices[host].kind != DeviceKind::cpu) continue;
            const auto *up = find(routes, like_, host), *down = find(routes, host, like_);
            if (up == nullptr || down == nullptr) continue;
            std::vector<ChannelId> result = forth ? *up : copies(*up);
            for (const ChannelId channel : forth ? copies(*down) : *down) {
                if (std::ranges::find(result, channel) == result.end()) result.push_back(channel);
            }
            return result;
        }
        for (const Route& route : routes) {
            if (route.from == like_) return {add_copy(route.channels.front(), like_number_, added_number_)};
        }
        // A machine of one device has no channel to copy.
        Channel channel;
        channel.name = draft_.devices[forth ? like_ : added_].name + " to " +
                       draft_.devices[forth ? added_ : like_].name;
        channel.bandwidth = kUsualBandwidth;
        while (is_taken(draft_.channels, channel.name)) channel.name += '\'';
        draft_.channels.push_back(std::move(channel));
        return {static_cast<ChannelId>(draft_.channels.size() - 1)};
    }

    static constexpr double kUsualBandwidth = 16e9;  ///< bytes per second, about that of PCIe 3.0 x16

    Draft& draft_;
    DeviceId like_, added_;
    std::vector<Owners> owners_;  ///< of the channels before
    std::string like_number_, added_number_;
    std::vector<std::pair<ChannelId, ChannelId>> copied_;
};

}  // namespace

std::span<const Figure<Device>> device_figures() {
    return kDeviceFigures;
}

std::span<const Figure<Channel>> channel_figures() {
    return kChannelFigures;
}

bool has_one_efficiency(const Device& device) {
    return !device.known || device.uniform_efficiency;
}

MachineEdit with_figure(const Machine& machine, DeviceId device, const Figure<Device>& figure, double value) {
    Draft draft(machine);
    set(draft.devices[device], figure, value);
    return std::move(draft).build();
}

MachineEdit with_figure(const Machine& machine, ChannelId channel, const Figure<Channel>& figure,
                        double value) {
    Draft draft(machine);
    set(draft.channels[channel], figure, value);
    return std::move(draft).build();
}

MachineEdit with_name(const Machine& machine, const std::string& name) {
    if (name.empty()) throw MachineError("", "the machine needs a name");
    Draft draft(machine);
    draft.name = name.ends_with(kEditedSuffix) ? name : name + std::string(kEditedSuffix);
    return std::move(draft).build();
}

MachineEdit with_device_name(const Machine& machine, DeviceId device, const std::string& name) {
    Draft draft(machine);
    rename(draft.devices, device, name, "device");
    return std::move(draft).build();
}

MachineEdit with_channel_name(const Machine& machine, ChannelId channel, const std::string& name) {
    Draft draft(machine);
    rename(draft.channels, channel, name, "link");
    return std::move(draft).build();
}

MachineEdit with_model(const Machine& machine, DeviceId device,
                       const std::shared_ptr<const DeviceModel>& model) {
    Draft draft(machine);
    Device next = device_of(model);
    next.name = draft.devices[device].name;
    draft.devices[device] = std::move(next);
    return std::move(draft).build();
}

MachineEdit with_link_model(const Machine& machine, ChannelId channel, const LinkModel& model) {
    Draft draft(machine);
    Channel next = channel_of(model);
    next.name = draft.channels[channel].name;
    draft.channels[channel] = std::move(next);
    return std::move(draft).build();
}

MachineEdit with_device(const Machine& machine, Device device, DeviceId like) {
    Draft draft(machine);
    device.name = next_name(draft.devices, device.kind);
    draft.devices.push_back(std::move(device));
    draft.from.push_back(kInvalidDevice);
    Linker(draft, like, static_cast<DeviceId>(draft.devices.size() - 1)).link();
    return std::move(draft).build();
}

MachineEdit without_device(const Machine& machine, DeviceId device) {
    Draft draft(machine);
    if (draft.devices.size() == 1)
        throw MachineError(draft.devices.front().name, "the machine needs at least one device");
    draft.devices.erase(draft.devices.begin() + device);
    draft.from.erase(draft.from.begin() + device);
    std::erase_if(draft.routes,
                  [&](const Route& route) { return route.from == device || route.to == device; });
    const std::vector<std::size_t> before = routes_across(machine);
    std::vector<std::size_t> now(draft.channels.size());
    for (Route& route : draft.routes) {
        for (DeviceId* end : {&route.from, &route.to}) {
            if (*end > device) --*end;
        }
        for (const ChannelId channel : route.channels) ++now[channel];
    }
    std::vector<ChannelId> moved(draft.channels.size());
    std::vector<Channel> kept;
    for (std::size_t i = 0; i < draft.channels.size(); ++i) {
        moved[i] = static_cast<ChannelId>(kept.size());
        if (now[i] > 0 || before[i] == 0) kept.push_back(std::move(draft.channels[i]));
    }
    draft.channels = std::move(kept);
    for (Route& route : draft.routes) {
        for (ChannelId& channel : route.channels) channel = moved[channel];
    }
    return std::move(draft).build();
}

MachineEdit with_route(const Machine& machine, DeviceId from, DeviceId to,
                       std::span<const std::string> channels) {
    Draft draft(machine);
    std::vector<ChannelId> crossed;
    for (const std::string& name : channels) {
        const auto found = std::ranges::find(draft.channels, name, &Channel::name);
        if (found == draft.channels.end()) throw MachineError(name, "no link is called " + in_quotes(name));
        crossed.push_back(static_cast<ChannelId>(found - draft.channels.begin()));
    }
    if (crossed.empty()) throw MachineError("", "a route needs at least one link");
    const auto route = std::ranges::find_if(
        draft.routes, [&](const Route& each) { return each.from == from && each.to == to; });
    route->channels = std::move(crossed);
    return std::move(draft).build();
}

MachineEdit with_own_channels(const Machine& machine, ChannelId channel) {
    Draft draft(machine);
    bool first = true;
    for (Route& route : draft.routes) {
        for (ChannelId& crossed : route.channels) {
            if (crossed != channel || std::exchange(first, false)) continue;
            Channel copy = draft.channels[channel];
            copy.name += ' ' + draft.devices[route.from].name + '-' + draft.devices[route.to].name;
            while (is_taken(draft.channels, copy.name)) copy.name += '\'';
            crossed = static_cast<ChannelId>(draft.channels.size());
            draft.channels.push_back(std::move(copy));
        }
    }
    return std::move(draft).build();
}

std::string saved_name(const Machine& machine) {
    const std::string& name = machine.name();
    return name.ends_with(kEditedSuffix) ? name.substr(0, name.size() - kEditedSuffix.size()) : name;
}

Machine to_save(const Machine& machine) {
    Draft draft(machine);
    draft.name = saved_name(machine);
    return std::move(draft).build().machine;
}

std::vector<std::size_t> routes_across(const Machine& machine) {
    std::vector<std::size_t> counts(machine.channels().size());
    for (const Route& route : machine.routes()) {
        for (const ChannelId channel : route.channels) ++counts[channel];
    }
    return counts;
}

bool WhatIf::is_none() const {
    return std::ranges::all_of(std::array{&bandwidth, &memory, &speed}, [](const auto* factors) {
        return std::ranges::all_of(*factors, [](double factor) { return factor == 1; });
    });
}

void set_factor(std::vector<double>& factors, std::size_t count, std::size_t item, double factor) {
    if (item >= count) return;
    factors.resize(count, 1);
    factors[item] = std::clamp(factor, kLeastFactor, kMostFactor);
}

void set_all(std::vector<double>& factors, std::size_t count, double factor) {
    factors.assign(count, std::clamp(factor, kLeastFactor, kMostFactor));
}

double factor_of(const std::vector<double>& factors, std::size_t item) {
    return item < factors.size() ? factors[item] : 1;
}

Machine what_if(const Machine& machine, const WhatIf& factors) {
    if (factors.is_none()) return machine;
    Draft draft(machine);
    for (std::size_t i = 0; i < draft.channels.size(); ++i)
        draft.channels[i].bandwidth *= factor_of(factors.bandwidth, i);
    for (std::size_t i = 0; i < draft.devices.size(); ++i) {
        draft.devices[i].memory_bytes *= factor_of(factors.memory, i);
        draft.devices[i].peak_flops *= factor_of(factors.speed, i);
        draft.devices[i].memory_bandwidth *= factor_of(factors.speed, i);
    }
    return std::move(draft).build().machine;
}

WhatIf after_edit(const WhatIf& factors, const Machine& before, const MachineEdit& edit) {
    // `from(i)`: the item before the edit that item i is; nothing for a new one.
    const auto follow = [](const std::vector<double>& old, std::size_t count, const auto& from) {
        std::vector<double> next;
        if (old.empty()) return next;
        const bool alike = std::ranges::count(old, old.front()) == std::ssize(old);
        for (std::size_t i = 0; i < count; ++i) {
            const std::optional<std::size_t> item = from(i);
            next.push_back(item ? old[*item] : alike ? old.front() : 1);
        }
        if (std::ranges::count(next, 1.0) == std::ssize(next)) next.clear();
        return next;
    };
    const auto device = [&](std::size_t i) {
        return edit.from[i] == kInvalidDevice ? std::nullopt : std::optional<std::size_t>(edit.from[i]);
    };
    const auto channels = edit.machine.channels();
    const auto channel = [&](std::size_t i) -> std::optional<std::size_t> {
        // Only a name may have changed.
        if (channels.size() == before.channels().size()) return i;
        // A channel that each route got of its own is called by the old one and the route.
        const auto same = std::ranges::find_if(before.channels(), [&](const Channel& old) {
            return channels[i].name == old.name || channels[i].name.starts_with(old.name + ' ');
        });
        if (same == before.channels().end()) return {};
        return static_cast<std::size_t>(same - before.channels().begin());
    };
    const std::size_t devices = edit.machine.devices().size();
    return {follow(factors.bandwidth, channels.size(), channel), follow(factors.memory, devices, device),
            follow(factors.speed, devices, device)};
}

}  // namespace placewright
