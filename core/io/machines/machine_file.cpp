// SPDX-License-Identifier: MIT
#include "core/io/machines/machine_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "core/base/text.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
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

constexpr std::array kDataSheet{"peak_flops", "memory_bandwidth", "memory_bytes"};
/// Ceilings of a device that the catalogue does not know.
constexpr std::array kOwnCeilings{"efficiency_by_kind", "memory_efficiency", "half_efficiency_flops"};

/// The device of the catalogue that a device of a file leaves its data sheet to; null if the file gives it.
std::shared_ptr<const DeviceModel> model_of(const JsonValue& value) {
    const auto missing =
        std::ranges::find_if(kDataSheet, [&](const char* key) { return !value.find(key).has_value(); });
    const auto asked = value.find("from_catalogue");
    const bool is_asked = asked && asked->truth();
    if (missing == kDataSheet.end() && !is_asked) return nullptr;
    const JsonValue model = value.at("model");
    if (auto known = shipped_devices().find_device(model.text())) {
        for (const char* key : kOwnCeilings) {
            if (const auto ceiling = value.find(key))
                ceiling->fail(
                    "is only for a device that gives \"peak_flops\", \"memory_bandwidth\" and "
                    "\"memory_bytes\"; those of a " +
                    in_quotes(known->model) + " come from the catalogue of devices");
        }
        return known;
    }
    const std::string reason =
        is_asked ? "is to be \"from_catalogue\"" : "has no \"" + std::string(*missing) + '"';
    value.fail(reason + ", and the model " + in_quotes(model.text()) + " is not in the catalogue of devices" +
               similar_text(shipped_devices().similar_devices(model.text())) +
               "; give \"peak_flops\", \"memory_bandwidth\" and \"memory_bytes\", or a model of "
               "placewright-cli machines --devices");
}

/// The device with the "efficiencies" of the file.
Device with_efficiencies(const JsonValue& value, const JsonValue& given, const Device& device) {
    for (const char* key : kOwnCeilings) {
        if (const auto ceiling = value.find(key))
            ceiling->fail(
                "is given beside \"efficiencies\", which say the same by class of op; give one of them");
    }
    if (const auto share = value.find("efficiency"); share && device.known)
        share->fail(
            "is given beside \"efficiencies\" of a device of the catalogue: one share of all classes of ops "
            "would replace them; give one of them");
    Efficiencies efficiencies = device.known ? *device.known->efficiencies : Efficiencies();
    given.for_each_member(
        [&](const std::string& key, const JsonValue& number) { read_efficiency(efficiencies, key, number); });
    return calibrated(device, efficiencies);
}

/// The link of the catalogue that a channel of a file leaves its bandwidth to; null if the file gives it.
const LinkModel* link_of(const JsonValue& value) {
    const auto model = value.find("model");
    if (!model) return nullptr;
    const LinkModel* known = shipped_devices().find_link(model->text());
    if (known == nullptr && !value.find("bandwidth")) {
        value.fail("has no \"bandwidth\", and the model " + in_quotes(model->text()) +
                   " is not in the catalogue of links" +
                   similar_text(shipped_devices().similar_links(model->text())) +
                   "; give \"bandwidth\", or a model of placewright-cli machines --devices");
    }
    return known;
}

}  // namespace

void read_efficiency(Efficiencies& efficiencies, const std::string& key, const JsonValue& value) {
    const auto fields = efficiency_fields();
    const auto field = std::ranges::find(fields, key, &EfficiencyField::name);
    if (field == fields.end())
        value.fail("is not known; the parameters are listed in core/machine/efficiencies.hpp");
    const double given = value.number();
    if (!(given >= field->least && given <= field->most)) {
        value.fail("is " + short_number(given) + ", expected " + short_number(field->least) + " to " +
                   short_number(field->most));
    }
    efficiencies.*(field->value) = given;
}

DeviceKind read_device_kind(const JsonValue& value) {
    const std::string kind = value.text();
    if (const auto known = device_kind_from(kind)) return *known;
    value.fail("is " + in_quotes(kind) + ", expected \"cpu\", \"gpu\" or \"accelerator\"");
}

Device read_device(const JsonValue& value) {
    const std::string model = value.at("model").text();
    const std::shared_ptr<const DeviceModel> known = model_of(value);
    Device device = known ? device_of(known) : Device();
    device.name = value.text_or("name", "");
    if (!known || value.find("kind")) device.kind = read_device_kind(value.at("kind"));
    device.model = model;
    device.peak_flops = value.number_or("peak_flops", device.peak_flops);
    device.memory_bandwidth = value.number_or("memory_bandwidth", device.memory_bandwidth);
    device.memory_bytes = value.number_or("memory_bytes", device.memory_bytes);
    if (const auto tf32 = value.find("tf32")) device.tf32 = tf32->truth();
    // A share that the file gives holds for all ops.
    device.uniform_efficiency = known && value.find("efficiency").has_value();
    device.efficiency = value.number_or("efficiency", device.efficiency);
    if (const auto given = value.find("efficiencies")) device = with_efficiencies(value, *given, device);
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

std::vector<std::pair<double, double>> read_efficiency_by_bytes(const JsonValue& value) {
    std::vector<std::pair<double, double>> table;
    value.for_each_item([&](const JsonValue& row) {
        if (row.size() != 2)
            row.fail("has " + std::to_string(row.size()) + " items, expected [bytes, efficiency]");
        table.emplace_back(row.at(0).number(), row.at(1).number());
    });
    return table;
}

Channel read_channel(const JsonValue& value) {
    const LinkModel* known = link_of(value);
    Channel channel = known != nullptr ? channel_of(*known) : Channel();
    channel.name = value.at("name").text();
    channel.model = value.text_or("model", "");
    channel.bandwidth =
        known != nullptr ? value.number_or("bandwidth", channel.bandwidth) : value.at("bandwidth").number();
    channel.latency_s = value.number_or("latency_s", channel.latency_s);
    if (value.find("efficiency")) channel.efficiency_by_bytes.clear();
    channel.efficiency = value.number_or("efficiency", channel.efficiency);
    if (const auto table = value.find("efficiency_by_bytes"))
        channel.efficiency_by_bytes = read_efficiency_by_bytes(*table);
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

Machine machine_from_json(const Path& file, std::string text) {
    return read_own(JsonFile(file, std::move(text)));
}

std::string machine_json(const Machine& machine) {
    Json root{{"format", kMachineFormat}, {"version", kMachineVersion}, {"name", machine.name()}};
    if (machine.crossing() != Crossing::store_and_forward) root["crossing"] = to_string(machine.crossing());
    Json devices = Json::array();
    for (const Device& device : machine.devices()) {
        Json item{{"name", device.name}, {"kind", to_string(device.kind)}, {"model", device.model}};
        // What the catalogue of devices says is left to it.
        const bool in_catalogue = device.known && device.known->in_catalogue;
        const Device listed = device.known ? device_of(device.known) : Device();
        const auto number = [&](const char* key, double value, double of_catalogue) {
            if (!in_catalogue || value != of_catalogue) item[key] = json_number(value);
        };
        number("peak_flops", device.peak_flops, listed.peak_flops);
        number("memory_bandwidth", device.memory_bandwidth, listed.memory_bandwidth);
        number("memory_bytes", device.memory_bytes, listed.memory_bytes);
        // A device that gives all three is else described by the file alone.
        const bool gives_all =
            std::ranges::all_of(kDataSheet, [&](const char* key) { return item.contains(key); });
        if (in_catalogue && gives_all) item["from_catalogue"] = true;
        if (!in_catalogue || device.uniform_efficiency) item["efficiency"] = json_number(device.efficiency);
        if (device.known && device.known->own_efficiencies && !device.uniform_efficiency) {
            for (const EfficiencyField& field : efficiency_fields())
                item["efficiencies"][std::string(field.name)] =
                    json_number((*device.known->efficiencies).*(field.value));
        }
        if (device.tf32) item["tf32"] = true;
        if (device.launch_overhead_s != listed.launch_overhead_s)
            item["launch_overhead_s"] = json_number(device.launch_overhead_s);
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
        Json item{{"name", channel.name}};
        if (!channel.model.empty()) item["model"] = channel.model;
        item["bandwidth"] = json_number(channel.bandwidth);
        item["latency_s"] = json_number(channel.latency_s);
        item["efficiency"] = json_number(channel.efficiency);
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
