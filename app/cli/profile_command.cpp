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
namespace {

constexpr std::uint32_t kRepeats = 5;  ///< of each size of message

}  // namespace

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

void expect_own_devices(const Machine& machine, std::span<const PhysicalDevice> devices,
                        const std::string& file) {
    const std::string why = foreign_device_text(machine, devices);
    if (!why.empty())
        throw InputError(file, "",
                         why +
                             "; measure on a computer that has this device, or describe this computer as the "
                             "machine: placewright-cli machines --detect --out FILE");
}

int profile_ops(const ProfileArguments& arguments) {
    keep_apart(std::array{OutputFile{"--out", arguments.out}}, arguments.job.inputs());
    if (arguments.job.recompute != "none")
        throw UsageError(
            "profile: --recompute: ops are profiled without recomputation; give --recompute none");
    const Job job = arguments.job.load();
    expect_no_language_model(job, arguments.job.network);
    // A damaged file, or one that cannot be written, is refused before anything is measured.
    if (std::filesystem::exists(arguments.out)) read_profile(arguments.out);
    expect_writable(arguments.out);
    const std::vector<PhysicalDevice> devices = physical_devices(*job.machine);
    expect_own_devices(*job.machine, devices, arguments.job.machine);
    for (const std::string& note : device_notes(*job.machine, devices)) std::cerr << printable(note) << '\n';

    const InterruptGuard interrupt;
    const auto told_on = [](const ProgressLine& line) {
        return [&line](std::uint32_t done, std::uint32_t all) {
            line.show(std::to_string(done) + " of " + std::to_string(all));
        };
    };
    std::optional<NetworkProfile> ops;
    std::optional<ProfileArchive> transfers;
    try {
        const ProgressLine line("profile");
        MeasureOptions options;
        options.steps = arguments.steps;
        options.keeps_steps = true;
        ops = profile_network(job.problem, devices, options, interrupt.token(), told_on(line));
    } catch (const OutOfMemory& error) {
        throw InputError(arguments.job.network, "", std::string(error.what()) + "; take a smaller batch");
    } catch (const MeasureError& error) {
        throw InputError(arguments.job.network, "", error.what());
    } catch (const std::invalid_argument& error) {
        throw InputError(arguments.job.machine, "", error.what());
    }
    if (!ops) {
        std::cerr << "placewright-cli: cancelled; nothing was written\n";
        return kCancelled;
    }
    // Written first, so that whatever happens to the transfers does not lose them.
    ProfileArchive archive = add_to_profile(ops->archive, arguments.out);
    for (const std::string& warning : ops->warnings)
        std::cerr << printable("placewright-cli: warning: " + warning, 8192) << '\n';
    const bool cancelled = interrupt.token().stop_requested();
    if (cancelled) {
        std::cerr << "placewright-cli: cancelled; the times that were measured until then are in "
                  << printable(arguments.out, 4096) << '\n';
    } else if (arguments.transfers) {
        const double most_bytes = largest_message_bytes();
        if (most_bytes < kLargestMessageBytes) {
            std::cerr << "transfers of more than " << format_bytes(most_bytes)
                      << " are not measured: they would take more than a quarter of the free memory\n";
        }
        const std::string kept = "; the times of the ops are in " + arguments.out;
        try {
            const ProgressLine line("profile");
            transfers = profile_transfers(job.machine, devices, message_sizes(most_bytes), kRepeats,
                                          arguments.throttles, interrupt.token(), told_on(line));
        } catch (const OutOfMemory& error) {
            throw InputError(arguments.job.machine, "",
                             "transfers: " + std::string(error.what()) +
                                 ". Close other programs, or leave --transfers out" + kept);
        } catch (const MeasureError& error) {
            throw InputError(arguments.job.machine, "", "transfers: " + std::string(error.what()) + kept);
        }
        if (!transfers) {
            std::cerr << "placewright-cli: cancelled; the times of the ops were written, those of transfers "
                         "were not\n";
            return kCancelled;
        }
        archive = add_to_profile(*transfers, arguments.out);
    }

    Json json = Json::array();
    std::vector<Row> rows{{"model", "ops measured", "ops in the file", "between ops"}};
    for (const auto& [model, profile] : ops->archive.devices) {
        const std::size_t kept = archive.devices.at(model).ops.size();
        rows.push_back({model, std::to_string(profile.ops.size()), std::to_string(kept),
                        format_seconds(profile.overhead_s)});
        json.push_back({{"model", model},
                        {"measured", profile.ops.size()},
                        {"kept", kept},
                        {"overhead_s", profile.overhead_s}});
    }
    if (arguments.job.json) {
        print(Json{{"file", arguments.out}, {"devices", std::move(json)}, {"warnings", ops->warnings}});
    } else {
        std::cout << table("lrrr", rows);
    }
    return cancelled ? kCancelled : kDone;
}

}  // namespace placewright
