// SPDX-License-Identifier: MIT
#include "app/cli/list_commands.hpp"

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/console.hpp"
#include "app/cli/usage.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/units.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/parameter_count.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/option_json.hpp"

namespace placewright {
namespace {

Json option_info_json(const OptionInfo& option) {
    Json json{
        {"name", option.name}, {"type", type_name(option)}, {"default", option_json(option.default_value)}};
    if (option.min) json["min"] = *option.min;
    if (option.max) json["max"] = *option.max;
    if (!option.choices.empty()) json["choices"] = option.choices;
    json["title"] = option.title;
    json["help"] = option.help;
    return json;
}

}  // namespace

int list_algorithms(bool json) {
    if (json) {
        Json list = Json::array();
        for (const AlgorithmInfo& info : algorithms()) {
            Json options = Json::array();
            for (const OptionInfo& option : info.options) options.push_back(option_info_json(option));
            Json presets = Json::array();
            for (const OptionPreset& preset : info.presets) {
                presets.push_back(
                    {{"name", preset.name}, {"help", preset.help}, {"options", options_json(preset.values)}});
            }
            list.push_back({{"id", info.id},
                            {"title", info.title},
                            {"group", info.group},
                            {"summary", info.summary},
                            {"help", info.help},
                            {"options", std::move(options)},
                            {"presets", std::move(presets)}});
        }
        print(list);
        return kDone;
    }
    std::cout << "Set an option with --set option=value; the defaults are shown. A preset sets several "
                 "options.\n";
    std::string_view group;
    for (const AlgorithmInfo& info : algorithms()) {
        if (info.group != group) std::cout << "\n# " << info.group << '\n';
        group = info.group;
        std::cout << '\n'
                  << info.id << " - " << info.title << "\n  " << wrapped(info.summary, 2) << "  "
                  << wrapped(info.help, 2);
        for (const OptionInfo& option : info.options) {
            std::cout << "    " << option.name << '=' << to_string(option.default_value);
            if (!option.choices.empty()) {
                std::cout << "  (" << usage::joined(option.choices, ", ") << ')';
            } else if (option.min && option.max) {
                std::cout << "  (" << to_string(*option.min) << " to " << to_string(*option.max) << ')';
            }
            std::cout << "\n        " << wrapped(option.title + ". " + option.help, 8);
        }
        for (const OptionPreset& preset : info.presets)
            std::cout << "    preset=" << preset.name << "\n        " << wrapped(preset.help, 8);
    }
    return kDone;
}

int list_networks(bool json) {
    Json list = Json::array();
    std::vector<Row> rows{{"name", "ops", "parameters", "forward", "batch", "title"}};
    for (const ShippedFile& shipped : shipped_networks()) {
        const Graph graph = read_network(shipped.file).graph;
        const GraphTotals sums = totals(graph);
        const NetworkInfo* info = find_network(shipped.name);
        const std::string title(info != nullptr ? info->title : std::string_view(graph.name()));
        const auto parameters = static_cast<std::int64_t>(parameter_count(graph));
        list.push_back({{"name", shipped.name},
                        {"title", title},
                        {"ops", sums.ops},
                        {"parameters", parameters},
                        {"forward_flops", sums.forward_flops},
                        {"file", shipped.file.string()}});
        rows.push_back({shipped.name, std::to_string(sums.ops), format_count(static_cast<double>(parameters)),
                        format_flops(sums.forward_flops), std::to_string(graph.batch()), title});
    }
    if (json) {
        print(list);
    } else {
        std::cout << table("lrrrrl", rows);
    }
    return kDone;
}

int list_machines(bool json) {
    Json list = Json::array();
    std::vector<Row> rows{{"name", "title", "devices"}};
    for (const ShippedFile& shipped : shipped_machines()) {
        const Machine machine = read_machine(shipped.file);
        list.push_back(Json::parse(machine_json(machine)));
        rows.push_back({shipped.name, machine.name(), models_of(machine.devices())});
    }
    if (json) {
        print(list);
    } else {
        std::cout << table("lll", rows);
    }
    return kDone;
}

namespace {

Json speeds_json(const Speeds& speeds) {
    Json json = Json::object();
    for (std::size_t i = 0; i < kNumberTypes; ++i) {
        const auto type = static_cast<NumberType>(i);
        if (speeds[type] > 0) json[std::string(to_string(type))] = json_number(speeds[type]);
    }
    return json;
}

Json device_model_json(const DeviceModel& device) {
    Speeds best;
    for (std::size_t i = 0; i < kNumberTypes; ++i)
        best[static_cast<NumberType>(i)] = device.peak_flops(static_cast<NumberType>(i));
    Json json{{"model", device.model},
              {"aliases", device.aliases},
              {"kind", to_string(device.kind)},
              {"vendor", device.vendor},
              {"architecture", device.architecture},
              {"year", device.year},
              {"cores", device.cores > 0 ? Json(device.cores) : Json()},
              {"memory_bytes", json_number(device.memory_bytes)},
              {"memory_bandwidth", json_number(device.memory_bandwidth)},
              {"cache_bytes", json_number(device.cache_bytes)},
              {"power_w", json_number(device.power_w)},
              {"unified_memory", device.unified_memory},
              {"peak_flops", speeds_json(best)},
              {"vector_flops", speeds_json(device.vector_flops)},
              {"matrix_flops", speeds_json(device.matrix_flops)}};
    json["links"] = device.links;
    json["source"] = device.source;
    return json;
}

}  // namespace

int list_devices(bool json) {
    const DeviceCatalogue& catalogue = shipped_devices();
    if (json) {
        Json list = Json::array();
        for (const auto& device : catalogue.devices()) list.push_back(device_model_json(*device));
        print(list);
        return kDone;
    }
    std::vector<Row> rows{{"device", "kind", "memory", "bandwidth", "float32", "16 bits"}};
    const auto speed = [](double flops) { return flops > 0 ? format_flops(flops) + "/s" : std::string("-"); };
    for (const auto& device : catalogue.devices()) {
        rows.push_back({device->model, std::string(to_string(device->kind)),
                        format_bytes(device->memory_bytes), format_bytes(device->memory_bandwidth) + "/s",
                        speed(device->peak_flops()), speed(device->peak_flops(NumberType::fp16))});
    }
    std::cout << table("llrrrr", rows) << '\n';
    rows = {{"link", "bandwidth", "latency"}};
    for (const LinkModel& link : catalogue.links())
        rows.push_back({link.model, format_bytes(link.bandwidth) + "/s", format_seconds(link.latency_s)});
    std::cout << table("lrr", rows);
    return kDone;
}

}  // namespace placewright
