// SPDX-License-Identifier: MIT
#include "core/io/machines/machine_file.hpp"

#include <limits>
#include <unordered_map>

#include "core/base/text.hpp"
#include "core/io/machines/device_json.hpp"
#include "core/io/machines/exprimo_machine.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::string_view kMachineFormat = "placewright.machine";
constexpr std::int64_t kMachineVersion = 1;
/// Counts are stored in 32 bits; the machine itself checks its tighter limits.
constexpr std::int64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Device read_device(const JsonValue& value) {
    Device device;
    device.name = value.text_or("name", "");
    const std::string kind = value.at("kind").text();
    const auto known = device_kind_from(kind);
    if (!known)
        value.at("kind").fail("is " + in_quotes(kind) + ", expected \"cpu\", \"gpu\" or \"accelerator\"");
    device.kind = *known;
    device.model = value.at("model").text();
    device.peak_flops = value.at("peak_flops").number();
    device.memory_bandwidth = value.at("memory_bandwidth").number();
    device.memory_bytes = value.at("memory_bytes").number();
    device.efficiency = value.number_or("efficiency", device.efficiency);
    device.launch_overhead_s = value.number_or("launch_overhead_s", device.launch_overhead_s);
    device.clock_hz = value.number_or("clock_hz", device.clock_hz);
    if (const auto kinds = value.find("efficiency_by_kind")) {
        kinds->for_each_member([&](const std::string& op, const JsonValue& share) {
            device.efficiency_by_kind[op] = share.number();
        });
    }
    if (const auto share = value.find("memory_efficiency")) device.memory_efficiency = share->number();
    device.half_efficiency_flops = value.number_or("half_efficiency_flops", device.half_efficiency_flops);
    if (const auto streams = value.find("streams"))
        device.streams = static_cast<std::uint32_t>(streams->whole(0, kMaxCount));
    if (const auto engines = value.find("copy_engines"))
        device.copy_engines = static_cast<std::uint32_t>(engines->whole(0, kMaxCount));
    return device;
}

Channel read_channel(const JsonValue& value) {
    Channel channel;
    channel.name = value.at("name").text();
    channel.bandwidth = value.at("bandwidth").number();
    channel.latency_s = value.number_or("latency_s", channel.latency_s);
    channel.efficiency = value.number_or("efficiency", channel.efficiency);
    if (const auto table = value.find("efficiency_by_bytes")) {
        table->for_each_item([&](const JsonValue& row) {
            if (row.size() != 2)
                row.fail("has " + std::to_string(row.size()) + " items, expected [bytes, efficiency]");
            channel.efficiency_by_bytes.emplace_back(row.at(0).number(), row.at(1).number());
        });
    }
    return channel;
}

namespace {

Crossing read_crossing(const JsonValue& root) {
    const auto value = root.find("crossing");
    if (!value) return Crossing::store_and_forward;
    const std::string text = value->text();
    if (const auto known = crossing_from(text)) return *known;
    value->fail("is " + in_quotes(text) + ", expected \"store-and-forward\" or \"cut-through\"");
}

/// Returns the place of an item that may have a name, such as `devices[2] "gpu:1"`.
JsonValue named_item(const JsonValue& list, const std::string& key, std::size_t index) {
    const JsonValue item = list.at(index);
    std::string where = key + '[' + std::to_string(index) + ']';
    if (item.json().is_object()) {
        const auto name = item.json().find("name");
        if (name != item.json().end() && name->is_string())
            where += ' ' + in_quotes(name->get_ref<const std::string&>());
    }
    return item.placed_at(std::move(where));
}

/// Returns the positions of the devices or channels in `list` by name.
template <class Item>
std::unordered_map<std::string, std::size_t> positions(const JsonValue& list, const std::string& key,
                                                       const std::vector<Item>& items) {
    std::unordered_map<std::string, std::size_t> result;
    for (std::size_t i = 0; i < items.size(); ++i) {
        // Checked here, because a route with this name would be ambiguous.
        if (!result.emplace(items[i].name, i).second)
            named_item(list, key, i).fail("the name is taken, expected a name of its own");
    }
    return result;
}

std::size_t position_of(const std::unordered_map<std::string, std::size_t>& positions, const JsonValue& name,
                        const char* what) {
    const auto found = positions.find(name.text());
    if (found == positions.end())
        name.fail("is " + in_quotes(name.text()) + ", expected the name of a " + what);
    return found->second;
}

Machine read_own(const JsonFile& file) {
    file.require_format(kMachineFormat, ", or \"comm_channels\" in a device graph of Exprimo");
    const Json json = file.parse();
    const JsonValue root(file, json);
    JsonFile::require_version(root, kMachineVersion);

    // Positions are stored in 16 bits; the machine itself checks its tighter limits.
    constexpr std::size_t kMaxItems = std::numeric_limits<DeviceId>::max();
    const auto list = [&](const std::string& key) {
        const JsonValue value = root.at(key);
        if (key != "routes" && value.size() > kMaxItems)
            value.fail("has more than " + std::to_string(kMaxItems) + " items");
        return value;
    };
    std::vector<Device> devices;
    const JsonValue device_list = list("devices");
    for (std::size_t i = 0; i < device_list.size(); ++i) {
        const JsonValue value = named_item(device_list, "devices", i);
        value.at("name").text();
        devices.push_back(read_device(value));
    }
    std::vector<Channel> channels;
    const JsonValue channel_list = list("channels");
    for (std::size_t i = 0; i < channel_list.size(); ++i)
        channels.push_back(read_channel(named_item(channel_list, "channels", i)));

    const auto device_at = positions(device_list, "devices", devices);
    const auto channel_at = positions(channel_list, "channels", channels);
    std::vector<Route> routes;
    const JsonValue route_list = list("routes");
    for (std::size_t i = 0; i < route_list.size(); ++i) {
        const JsonValue value = named_item(route_list, "routes", i);
        Route route;
        route.from = static_cast<DeviceId>(position_of(device_at, value.at("from"), "device"));
        route.to = static_cast<DeviceId>(position_of(device_at, value.at("to"), "device"));
        value.at("channels").for_each_item([&](const JsonValue& name) {
            route.channels.push_back(static_cast<ChannelId>(position_of(channel_at, name, "channel")));
        });
        routes.push_back(std::move(route));
    }
    return build_machine(file, root.at("name").text(), std::move(devices), std::move(channels),
                         std::move(routes), read_crossing(root));
}

}  // namespace

Machine build_machine(const JsonFile& file, std::string name, std::vector<Device> devices,
                      std::vector<Channel> channels, std::vector<Route> routes, Crossing crossing) {
    try {
        return Machine(std::move(name), std::move(devices), std::move(channels), std::move(routes), crossing);
    } catch (const MachineError& error) {
        file.fail(printable(error.where(), 200),
                  printable(without_prefix(error.what(), error.where() + ": ")));
    }
}

Machine read_machine(const Path& path) {
    const JsonFile file(path);
    const bool exprimo = !file.outline().has_format && file.outline().has_comm_channels;
    return exprimo ? read_exprimo_machine(file) : read_own(file);
}

std::string machine_json(const Machine& machine) {
    Json root{{"format", kMachineFormat}, {"version", kMachineVersion}, {"name", machine.name()}};
    if (machine.crossing() != Crossing::store_and_forward) root["crossing"] = to_string(machine.crossing());
    Json devices = Json::array();
    for (const Device& device : machine.devices()) {
        Json item{{"name", device.name},
                  {"kind", to_string(device.kind)},
                  {"model", device.model},
                  {"peak_flops", json_number(device.peak_flops)},
                  {"memory_bandwidth", json_number(device.memory_bandwidth)},
                  {"memory_bytes", json_number(device.memory_bytes)},
                  {"efficiency", json_number(device.efficiency)}};
        if (device.launch_overhead_s != 0) item["launch_overhead_s"] = json_number(device.launch_overhead_s);
        if (device.clock_hz != 0) item["clock_hz"] = json_number(device.clock_hz);
        for (const auto& [kind, share] : device.efficiency_by_kind)
            item["efficiency_by_kind"][kind] = json_number(share);
        if (device.memory_efficiency) item["memory_efficiency"] = json_number(*device.memory_efficiency);
        if (device.half_efficiency_flops != 0)
            item["half_efficiency_flops"] = json_number(device.half_efficiency_flops);
        if (device.streams != 1) item["streams"] = device.streams;
        if (device.copy_engines != 0) item["copy_engines"] = device.copy_engines;
        devices.push_back(std::move(item));
    }
    Json channels = Json::array();
    for (const Channel& channel : machine.channels()) {
        Json item{{"name", channel.name},
                  {"bandwidth", json_number(channel.bandwidth)},
                  {"latency_s", json_number(channel.latency_s)},
                  {"efficiency", json_number(channel.efficiency)}};
        Json table = Json::array();
        for (const auto& [bytes, efficiency] : channel.efficiency_by_bytes) {
            table.push_back(Json::array({json_number(bytes), json_number(efficiency)}));
        }
        if (!table.empty()) item["efficiency_by_bytes"] = std::move(table);
        channels.push_back(std::move(item));
    }
    Json routes = Json::array();
    for (const Route& route : machine.routes()) {
        Json crossed = Json::array();
        for (const ChannelId channel : route.channels) crossed.push_back(machine.channels()[channel].name);
        routes.push_back(Json{{"from", machine.device(route.from).name},
                              {"to", machine.device(route.to).name},
                              {"channels", std::move(crossed)}});
    }
    root["devices"] = std::move(devices);
    root["channels"] = std::move(channels);
    root["routes"] = std::move(routes);
    return file_text(root);
}

void write_machine(const Machine& machine, const Path& file) {
    write_file(file, machine_json(machine));
}

}  // namespace placewright
