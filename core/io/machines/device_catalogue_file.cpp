// SPDX-License-Identifier: MIT
#include "core/io/machines/device_catalogue_file.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/text.hpp"
#include "core/io/machines/device_json.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kMaxCores = 65'536;

using EfficiencyTable = std::map<std::string, std::shared_ptr<const Efficiencies>, std::less<>>;

std::vector<std::string> read_texts(const JsonValue& list) {
    std::vector<std::string> texts;
    list.for_each_item([&](const JsonValue& item) { texts.push_back(item.text()); });
    return texts;
}

double read_positive(const JsonValue& value) {
    const double number = value.number();
    if (!(number > 0)) value.fail("is " + short_number(number) + ", expected a number above 0");
    return number;
}

Speeds read_speeds(const JsonValue& value) {
    Speeds speeds;
    value.for_each_member([&](const std::string& type, const JsonValue& flops) {
        const auto known = number_type_from(type);
        if (!known)
            value.fail("has the type " + in_quotes(type) +
                       ", expected fp64, fp32, tf32, fp16, bf16, fp8 or int8");
        speeds[*known] = read_positive(flops);
    });
    return speeds;
}

DeviceModel read_device_model(const JsonValue& value) {
    DeviceModel device;
    device.model = value.at("model").text();
    if (const auto aliases = value.find("aliases")) device.aliases = read_texts(*aliases);
    device.kind = read_device_kind(value.at("kind"));
    device.vendor = value.at("vendor").text();
    device.architecture = value.at("architecture").text();
    device.year = value.at("year").whole();
    if (const auto cores = value.find("cores")) device.cores = cores->whole(1, kMaxCores);
    device.memory_bytes = read_positive(value.at("memory_bytes"));
    device.memory_bandwidth = read_positive(value.at("memory_bandwidth"));
    device.cache_bytes = value.number_or("cache_bytes", 0);
    device.power_w = value.number_or("power_w", 0);
    if (const auto unified = value.find("unified_memory")) device.unified_memory = unified->truth();
    device.vector_flops = read_speeds(value.at("vector_flops"));
    if (const auto speeds = value.find("matrix_flops")) device.matrix_flops = read_speeds(*speeds);
    if (device.vector_flops[NumberType::fp32] == 0)
        value.at("vector_flops").fail("has no \"fp32\", expected the speed of float32");
    if (const auto links = value.find("links")) device.links = read_texts(*links);
    device.source = value.at("source").text();
    return device;
}

LinkModel read_link_model(const JsonValue& value) {
    LinkModel link;
    link.model = value.at("model").text();
    if (const auto aliases = value.find("aliases")) link.aliases = read_texts(*aliases);
    link.bandwidth = read_positive(value.at("bandwidth"));
    link.latency_s = value.number_or("latency_s", 0);
    link.efficiency_by_bytes = read_efficiency_by_bytes(value.at("efficiency_by_bytes"));
    link.source = value.at("source").text();
    return link;
}

void read_efficiencies(const JsonValue& root, EfficiencyTable& table) {
    root.at("architectures").for_each_member([&](const std::string& name, const JsonValue& value) {
        Efficiencies efficiencies;
        if (const auto like = value.find("like")) {
            const auto base = table.find(like->text());
            if (base == table.end())
                like->fail("is " + in_quotes(like->text()) + ", expected the name of an entry above");
            efficiencies = *base->second;
        }
        value.for_each_member([&](const std::string& key, const JsonValue& number) {
            if (key == "like" || key == "source") return;
            read_efficiency(efficiencies, key, number);
        });
        table[name] = std::make_shared<const Efficiencies>(efficiencies);
    });
}

std::shared_ptr<const Efficiencies> efficiencies_of(const DeviceModel& device, const EfficiencyTable& table) {
    std::string vendor = device.vendor;
    std::ranges::transform(vendor, vendor.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const std::string kind(to_string(device.kind));
    for (const std::string& name : {device.architecture, vendor + '-' + kind, kind}) {
        if (const auto found = table.find(name); found != table.end()) return found->second;
    }
    return std::make_shared<const Efficiencies>();
}

}  // namespace

DeviceCatalogue read_device_catalogue(const Path& folder) {
    std::vector<Path> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    std::vector<DeviceModel> devices;
    std::vector<LinkModel> links;
    EfficiencyTable table;
    for (const Path& path : paths) {
        const JsonFile file(path);
        const Json json = file.parse();
        const JsonValue root(file, json);
        JsonFile::require_version(root, 1);
        const std::string& format = file.outline().format;
        if (format == "placewright.devices") {
            root.at("devices").for_each_item(
                [&](const JsonValue& value) { devices.push_back(read_device_model(value)); });
        } else if (format == "placewright.links") {
            root.at("links").for_each_item(
                [&](const JsonValue& value) { links.push_back(read_link_model(value)); });
        } else if (format == "placewright.efficiencies") {
            read_efficiencies(root, table);
        } else {
            file.fail("format", "is " + in_quotes(format) +
                                    ", expected \"placewright.devices\", \"placewright.links\" or "
                                    "\"placewright.efficiencies\"");
        }
    }
    for (DeviceModel& device : devices) device.efficiencies = efficiencies_of(device, table);
    try {
        return DeviceCatalogue(std::move(devices), std::move(links));
    } catch (const MachineError& problem) {
        throw InputError(printable(folder.string(), 4096), "", problem.what());
    }
}

const DeviceCatalogue& shipped_devices() {
    static const DeviceCatalogue catalogue = read_device_catalogue(models_folder() / "devices");
    return catalogue;
}

}  // namespace placewright
