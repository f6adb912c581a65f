// SPDX-License-Identifier: MIT
#include "app/cli/machines_command.hpp"

#include <iostream>
#include <vector>

#include "app/cli/console.hpp"
#include "app/cli/list_commands.hpp"
#include "app/cli/usage.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/measure/this_computer.hpp"

namespace placewright {
namespace {

/// The machine file, with what a file of a machine does not say beside it.
Json detected_json(const ThisComputer& computer) {
    Json json = Json::parse(machine_json(computer.machine));
    json["detected"] = Json::array();
    for (std::size_t i = 0; i < computer.devices.size(); ++i) {
        const ThisComputer::Found& found = computer.devices[i];
        json["detected"].push_back(
            {{"device", computer.machine.devices()[i].name},
             {"speeds", to_string(found.speeds)},
             {"free_bytes", found.free_bytes ? json_number(*found.free_bytes) : Json()}});
    }
    json["notes"] = computer.notes;
    return json;
}

void print_computer(const ThisComputer& computer) {
    std::cout << printable(computer.machine.name()) << "\n\n";
    std::vector<Row> rows{{"device", "memory", "free now", "bandwidth", "float32", "speeds", "model"}};
    for (std::size_t i = 0; i < computer.devices.size(); ++i) {
        const Device& device = computer.machine.devices()[i];
        const ThisComputer::Found& found = computer.devices[i];
        rows.push_back({device.name, format_bytes(device.memory_bytes),
                        found.free_bytes ? format_bytes(*found.free_bytes) : "-",
                        format_bytes(device.memory_bandwidth) + "/s", format_flops(device.peak_flops) + "/s",
                        std::string(to_string(found.speeds)), device.model});
    }
    std::cout << table("lrrrrll", rows);
    if (!computer.machine.channels().empty()) {
        rows = {{"link", "bandwidth", "latency", "model"}};
        for (const Channel& channel : computer.machine.channels()) {
            rows.push_back({channel.name, format_bytes(channel.bandwidth) + "/s",
                            format_seconds(channel.latency_s), channel.model.empty() ? "-" : channel.model});
        }
        std::cout << '\n' << table("lrrl", rows);
    }
    std::cout << '\n';
    for (const std::string& note : computer.notes) std::cout << "- " << wrapped(note + '.', 2);
}

int detect_machine(const MachinesArguments& arguments) {
    const ThisComputer computer = [] {
        try {
            return this_computer(shipped_devices());
        } catch (const TopologyError& error) {
            throw InputError("this computer", "", error.what());
        }
    }();
    if (!arguments.out.empty()) write_machine(computer.machine, arguments.out);
    if (arguments.json) {
        print(detected_json(computer));
    } else {
        print_computer(computer);
        if (!arguments.out.empty())
            std::cout << "\nWritten to " << printable(arguments.out, 4096) << ": use it with --machine.\n";
    }
    return kDone;
}

}  // namespace

void MachinesArguments::add_to(CLI::App& command) {
    auto* list =
        command.add_flag("--devices", devices, "List the devices and links that a machine file can name");
    auto* look = command.add_flag("--detect", detect, "Describe this computer as a machine")->excludes(list);
    command.add_option("--out", out, "Write the detected machine to a file for --machine")
        ->check(usage::path())
        ->needs(look)
        ->type_name("FILE");
    command.add_flag("--json", json, "Print one JSON array; with --detect one object");
}

int run_machines(const MachinesArguments& arguments) {
    if (arguments.detect) return detect_machine(arguments);
    return arguments.devices ? list_devices(arguments.json) : list_machines(arguments.json);
}

}  // namespace placewright
