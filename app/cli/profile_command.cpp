// SPDX-License-Identifier: MIT
#include "app/cli/profile_command.hpp"

#include <array>
#include <filesystem>
#include <iostream>
#include <optional>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/text/json.hpp"
#include "core/measure/profiler.hpp"

namespace placewright {

void ProfileArguments::add_to(CLI::App& command) {
    job.add_to(command, std::span(objectives()).first(1));
    command.add_option("--out", out, "Profile archive; times are added to those that it has")
        ->check(usage::path())
        ->required()
        ->type_name("FILE");
    command.add_option("--steps", steps, "Steps that count on each model of device")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_flag("--transfers", transfers, "Measure transfers of 1 kB to 1 GB between devices too");
    command.add_flag("--throttle", throttles, "Transfers between cores take at least as long as simulated");
}

int profile_ops(const ProfileArguments& arguments) {
    keep_apart(std::array{OutputFile{"--out", arguments.out}}, arguments.job.inputs());
    const Job job = arguments.job.load();
    ProfileArchive archive;
    if (std::filesystem::exists(arguments.out)) archive = read_profile(arguments.out);
    const std::vector<PhysicalDevice> devices = physical_devices(*job.machine);
    for (const std::string& note : device_notes(*job.machine, devices)) std::cerr << printable(note) << '\n';

    const InterruptGuard interrupt;
    std::optional<ProfileArchive> ops, transfers{std::in_place};
    try {
        const ProgressLine line("profile");
        const auto told = [&](std::uint32_t done, std::uint32_t all) {
            line.show(std::to_string(done) + " of " + std::to_string(all));
        };
        MeasureOptions options;
        options.steps = arguments.steps;
        ops = profile_network(job.problem, devices, options, interrupt.token(), told);
        if (ops && arguments.transfers)
            transfers = profile_transfers(job.machine, devices, message_sizes(), 5, arguments.throttles,
                                          interrupt.token(), told);
    } catch (const OutOfMemory& error) {
        throw InputError(arguments.job.network, "", std::string(error.what()) + "; take a smaller batch");
    } catch (const MeasureError& error) {
        throw InputError(arguments.job.network, "", error.what());
    } catch (const std::invalid_argument& error) {
        throw InputError(arguments.job.machine, "", error.what());
    }
    if (!ops || !transfers) {
        std::cerr << "placewright-cli: cancelled; nothing was written\n";
        return kCancelled;
    }
    ops->merge(*transfers);
    archive.merge(*ops);
    write_profile(archive, arguments.out);

    Json json = Json::array();
    std::vector<Row> rows{{"model", "ops measured", "ops in the file", "between ops"}};
    for (const auto& [model, profile] : ops->devices) {
        const std::size_t kept = archive.devices.at(model).ops.size();
        rows.push_back({model, std::to_string(profile.ops.size()), std::to_string(kept),
                        format_seconds(profile.overhead_s)});
        json.push_back({{"model", model},
                        {"measured", profile.ops.size()},
                        {"kept", kept},
                        {"overhead_s", profile.overhead_s}});
    }
    if (arguments.job.json) {
        print(Json{{"file", arguments.out}, {"devices", std::move(json)}});
    } else {
        std::cout << table("lrrr", rows);
    }
    return kDone;
}

}  // namespace placewright
