// SPDX-License-Identifier: MIT
#include "core/io/machines/exprimo_machine.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/io/machines/device_json.hpp"

namespace placewright {
namespace {

// "GB/s" and Gbit/s count in powers of 2 here, because Exprimo's formulas divide bytes by 2^30 before they
// divide by the bandwidth; only so the times agree with Exprimo's. Its memory sizes count in powers of 10.
constexpr double kExprimoGiga = 0x1.0p30;

std::vector<Channel> read_channels(const JsonValue& list) {
    std::vector<Channel> channels;
    list.for_each_item([&](const JsonValue& item) {
        Channel channel;
        channel.name = item.at("type").text() + ':' + std::to_string(channels.size());
        channel.bandwidth = item.at("bandwidth").number() / 8 * kExprimoGiga;
        channels.push_back(std::move(channel));
    });
    return channels;
}

struct DeviceList {
    std::vector<Device> devices;
    std::vector<JsonValue> values;  ///< by device, placed at its name
};

DeviceList read_devices(const JsonValue& list) {
    DeviceList result;
    std::map<DeviceKind, std::size_t> of_kind;
    list.for_each_item([&](const JsonValue& item) {
        const std::string type = item.at("type").text();
        const auto kind = device_kind_from(type);
        if (!kind)
            item.at("type").fail("is " + in_quotes(type) + ", expected \"cpu\", \"gpu\" or \"accelerator\"");
        Device device;
        device.kind = *kind;
        device.name = type + ':' + std::to_string(of_kind[*kind]++);
        device.model = item.at("model").text();
        device.peak_flops = item.at("peak_gflops").number() * 1e9;
        device.memory_bandwidth = item.at("mem_bandwidth").number() * kExprimoGiga;
        device.memory_bytes = item.at("memory").number() * 1e9;
        if (item.find("clock")) device.clock_hz = item.at("clock").number() * 1e6;
        result.values.push_back(item.placed_at("devices[" + std::to_string(result.devices.size()) + "] " +
                                               in_quotes(device.name)));
        result.devices.push_back(std::move(device));
    });
    return result;
}

/// Returns the routes of all pairs of devices over so many channels, from the lists of neighbours.
std::vector<Route> read_routes(const DeviceList& list, std::size_t channels) {
    const auto& [devices, values] = list;
    const auto count = static_cast<std::int64_t>(devices.size());
    std::map<std::pair<DeviceId, DeviceId>, ChannelId> listed;
    std::vector<std::set<std::pair<DeviceId, DeviceId>>> joined(channels);
    for (std::size_t from = 0; from < devices.size(); ++from) {
        std::vector<bool> reached(devices.size(), false);
        reached[from] = true;
        values[from].at("neighbours").for_each_item([&](const JsonValue& neighbour) {
            const auto to = static_cast<std::size_t>(neighbour.at("device").whole(0, count - 1));
            const auto channel =
                neighbour.at("comm_channel").whole(0, static_cast<std::int64_t>(channels) - 1);
            // Some of Exprimo's files list a channel from a device to itself, which is never used.
            if (to == from) return;
            reached[to] = true;
            const std::pair pair(static_cast<DeviceId>(from), static_cast<DeviceId>(to));
            if (!listed.emplace(pair, static_cast<ChannelId>(channel)).second)
                neighbour.fail("is listed twice, expected one channel to every other device");
            joined[static_cast<std::size_t>(channel)].insert(std::minmax(pair.first, pair.second));
        });
        const auto missing =
            static_cast<std::size_t>(std::find(reached.begin(), reached.end(), false) - reached.begin());
        if (missing < devices.size()) {
            values[from]
                .at("neighbours")
                .fail("has no channel from " + in_quotes(devices[from].name) + " to " +
                      in_quotes(devices[missing].name) + " (device " + std::to_string(missing) +
                      "), expected one to every other device");
        }
    }
    std::vector<Route> routes;
    for (const auto& [pair, channel] : listed) {
        const auto [from, to] = pair;
        const ChannelId back = listed.at({to, from});
        Route route{from, to, {channel}};
        // The route crosses the channel of each end, unless the two channels are one per direction between
        // this pair only.
        if (back != channel && (joined[channel].size() > 1 || joined[back].size() > 1))
            route.channels.push_back(back);
        routes.push_back(std::move(route));
    }
    return routes;
}

}  // namespace

Machine read_exprimo_machine(const JsonFile& file) {
    constexpr std::int64_t kMostItems = std::numeric_limits<DeviceId>::max();
    const Json json = file.parse();
    const JsonValue root(file, json);
    const JsonValue channel_list = root.at("comm_channels");
    const JsonValue device_list = root.at("devices");
    for (const JsonValue& items : {channel_list, device_list}) {
        if (items.size() > kMostItems) items.fail("has more than " + std::to_string(kMostItems) + " items");
    }
    std::vector<Channel> channels = read_channels(channel_list);
    DeviceList list = read_devices(device_list);
    std::vector<Route> routes = read_routes(list, channels.size());
    return build_machine(file, root.text_or("name", file.path().stem().string()), std::move(list.devices),
                         std::move(channels), std::move(routes));
}

}  // namespace placewright
