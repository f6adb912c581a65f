// SPDX-License-Identifier: MIT
#include "app/cli/calibrate_command.hpp"

#include <array>
#include <iostream>
#include <optional>
#include <span>
#include <utility>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/profile_command.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/cost/profile_archive.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/device_calibration.hpp"
#include "core/measure/profiler.hpp"

namespace placewright {
namespace {

/// Runs the network, and returns its problem with these times. Nothing if `stop` was requested.
std::shared_ptr<const Problem> measured_problem(const JobArguments& arguments, const Job& job,
                                                std::uint32_t steps, const std::stop_token& stop) {
    expect_no_language_model(job, arguments.network);
    const std::vector<PhysicalDevice> devices = physical_devices(*job.machine);
    expect_own_devices(*job.machine, devices, arguments.machine);
    for (const std::string& note : device_notes(*job.machine, devices)) std::cerr << printable(note) << '\n';
    MeasureOptions measuring;
    measuring.steps = steps;
    std::optional<NetworkProfile> found;
    try {
        const ProgressLine line("measure " + arguments.network);
        found = profile_network(job.problem, devices, measuring, stop,
                                [&](std::uint32_t done, std::uint32_t all) {
                                    line.show(std::to_string(done) + " of " + std::to_string(all));
                                });
    } catch (const OutOfMemory& error) {
        throw InputError(arguments.network, "", std::string(error.what()) + "; take a smaller batch");
    } catch (const MeasureError& error) {
        throw InputError(arguments.network, "", error.what());
    } catch (const std::invalid_argument& error) {
        throw InputError(arguments.machine, "", error.what());
    }
    if (!found) return nullptr;
    for (const std::string& warning : found->warnings)
        std::cerr << printable("placewright-cli: warning: " + arguments.network + ": " + warning, 8192)
                  << '\n';
    ProblemOptions options = arguments.options().problem;
    options.cost.model = find_cost_model("measured");
    options.cost.profile = std::make_shared<const ProfileArchive>(std::move(found->archive));
    return make_problem(job.problem->network, job.machine, options);
}

/// Nothing if `stop` was requested.
std::optional<MeasuredNetworks> measured_networks(const CalibrateArguments& arguments,
                                                  const std::stop_token& stop) {
    MeasuredNetworks measured;
    const bool has_times = !arguments.job.profile.empty() || !arguments.job.times.empty();
    for (const std::string& network : arguments.networks) {
        JobArguments one = arguments.job;
        one.network = network;
        const Job job = one.load();
        if (job.own_machine) throw UsageError(network + ": " + kNoCalibrationOfWorkloads);
        auto problem = has_times ? job.problem : measured_problem(one, job, arguments.steps, stop);
        if (problem == nullptr) return std::nullopt;
        measured.add(network, std::move(problem), job.machine, one.options().problem.cost.profile.get());
    }
    return measured;
}

/// The first device of each model, or the one that was asked for.
std::vector<DeviceId> chosen_devices(const Machine& machine, const std::string& name,
                                     const std::string& file) {
    if (name.empty()) return first_of_each_model(machine);
    if (const auto id = machine.find(name)) return {*id};
    std::vector<std::string> names;
    for (const Device& device : machine.devices()) names.push_back(device.name);
    throw UsageError("--device " + name + ": " + file + " has no such device; it has " +
                     usage::joined(names, ", "));
}

/// "8.4 %".
std::string error_text(double error) {
    return decimals("%.1f %%", 100 * error);
}

Row class_row(const std::string& name, const CalibrationPart& fitted, const CalibrationPart& held_out,
              double all_s) {
    Row row{name};
    const auto add = [&](const CalibrationPart& part) {
        const bool has = part.samples > 0;
        row.push_back(std::to_string(part.samples));
        row.push_back(has ? error_text(part.before.weighted) : "");
        row.push_back(has ? error_text(part.after.weighted) : "");
        row.push_back(has ? error_text(part.after.total) : "");
    };
    row.push_back(percent((fitted.measured_s + held_out.measured_s) / all_s));
    add(fitted);
    add(held_out);
    return row;
}

void print_calibration(const CalibratedDevice& calibrated, const std::string& model) {
    const Calibration& found = calibrated.found;
    const double all_s = found.fitted.measured_s + found.held_out.measured_s;
    std::cout << printable(model) << ": " << found.fitted.samples + found.held_out.samples
              << " measured ops, " << format_seconds(all_s) << "\n\n";
    std::vector<Row> rows{
        {"class", "time", "ops", "before", "after", "total", "held out", "before", "after", "total"}};
    for (const CalibratedClass& each : found.classes)
        rows.push_back(class_row(std::string(to_string(each.work_class)), each.fitted, each.held_out, all_s));
    rows.push_back(class_row("all", found.fitted, found.held_out, all_s));
    std::cout << table("lrrrrrrrrr", rows) << '\n'
              << wrapped(
                     "before, after: mean error of an op by its time, predicted against measured; total: of "
                     "the sum of the ops, after the fit.",
                     0);
    if (found.unpredicted > 0)
        std::cout << wrapped(std::to_string(found.unpredicted) + " views and other ops that took " +
                                 format_seconds(found.unpredicted_s) + " take no time in the cost model.",
                             0);
    std::vector<Row> parameters{{"parameter", "before", "after"}};
    for (const CalibratedParameter& parameter : found.parameters)
        parameters.push_back({parameter.name, short_number(parameter.before), short_number(parameter.after)});
    std::cout << '\n' << table("lrr", parameters);
    if (!found.not_measured.empty())
        std::cout << '\n'
                  << wrapped("Not measured, kept: " + usage::joined(found.not_measured, ", ") + ".", 0);
}

Json errors_json(const PredictionErrors& errors) {
    return {{"median", errors.median}, {"weighted", errors.weighted}, {"total", errors.total}};
}

Json part_json(const CalibrationPart& part) {
    const bool has = part.samples > 0;
    return {{"ops", part.samples},
            {"time_s", part.measured_s},
            {"before", has ? errors_json(part.before) : Json(nullptr)},
            {"after", has ? errors_json(part.after) : Json(nullptr)}};
}

Json calibration_json(const CalibratedDevice& calibrated, const Device& device) {
    const Calibration& found = calibrated.found;
    Json classes = Json::array(), parameters = Json::array();
    for (const CalibratedClass& each : found.classes)
        classes.push_back({{"class", to_string(each.work_class)},
                           {"fitted", part_json(each.fitted)},
                           {"held_out", part_json(each.held_out)}});
    for (const CalibratedParameter& parameter : found.parameters)
        parameters.push_back(
            {{"name", parameter.name}, {"before", parameter.before}, {"after", parameter.after}});
    return {{"model", device.model},
            {"device", device.name},
            {"fitted", part_json(found.fitted)},
            {"held_out", part_json(found.held_out)},
            {"classes", std::move(classes)},
            {"parameters", std::move(parameters)},
            {"not_measured", found.not_measured},
            {"unpredicted_ops", found.unpredicted},
            {"unpredicted_s", found.unpredicted_s}};
}

std::string residuals_csv(std::span<const CalibratedDevice> all, const MeasuredNetworks& measured) {
    std::string text = "model,network,op,class,part,measured_s,before_s,after_s\n";
    for (const CalibratedDevice& each : all) {
        for (std::size_t i = 0; i < each.samples.size(); ++i) {
            const CalibrationSample& sample = each.samples[i];
            const Calibration::Residual& residual = each.found.residuals[i];
            text += csv_field(measured.machine->device(each.id).model) + ',' +
                    csv_field(measured.names[each.network[i]]) + ',' + csv_field(sample.op) + ',' +
                    std::string(to_string(sample.work.work_class)) + ',' +
                    (residual.held_out ? "held-out" : "fit") + ',' + short_number(sample.measured_s) + ',' +
                    short_number(sample.before_s) + ',' + short_number(residual.after_s) + '\n';
        }
    }
    return text;
}

}  // namespace

void CalibrateArguments::add_to(CLI::App& command) {
    job.add_to(command, std::span(objectives()).first(1));
    command.remove_option(command.get_option("GRAPH"));
    command.add_option("GRAPHS", networks, "Network files, or names of shipped networks (see networks)")
        ->check(usage::path())
        ->required();
    command.add_option("--device", device, "Device to calibrate, with others of its model [all]")
        ->type_name("NAME");
    command.add_option("--held-out", held_out, "Share of the ops that the fit does not see, to test it")
        ->check(usage::share())
        ->type_name("SHARE")
        ->capture_default_str();
    command.add_option("--steps", steps, "Steps to measure where neither --profile nor --times is given")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--out", out, "Write the machine with what was found")
        ->check(usage::path())
        ->type_name("MACHINE");
    command.add_option("--residuals", residuals, "Write each op's measured and predicted time as CSV")
        ->check(usage::path())
        ->type_name("FILE");
}

int calibrate_devices(const CalibrateArguments& arguments) {
    if (arguments.held_out > kMostHeldOut)
        throw UsageError("--held-out " + short_number(arguments.held_out) + ": expected at most " +
                         short_number(kMostHeldOut) + ", the rest is what the fit sees");
    if (!arguments.job.times.empty() && arguments.networks.size() > 1)
        throw UsageError("--times: a trace is of one network, but " +
                         std::to_string(arguments.networks.size()) + " are given");
    std::vector<std::string> inputs = arguments.job.inputs();
    inputs.insert(inputs.end(), arguments.networks.begin(), arguments.networks.end());
    const std::array outputs{OutputFile{"--out", arguments.out},
                             OutputFile{"--residuals", arguments.residuals}};
    keep_apart(outputs, inputs);
    for (const OutputFile& output : outputs) {
        if (!output.file.empty()) expect_writable(output.file);
    }

    const InterruptGuard interrupt;
    const auto cancelled = [] {
        std::cerr << "placewright-cli: cancelled; nothing was written\n";
        return kCancelled;
    };
    const std::optional<MeasuredNetworks> measured = measured_networks(arguments, interrupt.token());
    if (!measured) return cancelled();
    std::optional<CalibratedDevices> found;
    {
        const ProgressLine line("calibrate");
        found = calibrate_each(
            *measured, chosen_devices(*measured->machine, arguments.device, arguments.job.machine),
            arguments.held_out, interrupt.token(), [&](const Device& device, std::size_t round) {
                line.show(device.model + ", round " + std::to_string(round));
            });
    }
    if (!found) return cancelled();
    const std::vector<CalibratedDevice>& all = found->devices;
    const std::string missing = usage::joined(found->missing, "; ");
    if (all.empty()) throw InputError(arguments.networks.front(), "", missing);
    if (!missing.empty()) std::cerr << printable("placewright-cli: " + missing, 8192) << '\n';

    const Machine machine = calibrated_machine(*measured->machine, all);
    if (!arguments.out.empty()) write_machine(machine, arguments.out);
    if (!arguments.residuals.empty()) write_file(arguments.residuals, residuals_csv(all, *measured));
    Json devices = Json::array();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Device& device = measured->machine->device(all[i].id);
        if (arguments.job.json) {
            devices.push_back(calibration_json(all[i], device));
        } else {
            std::cout << (i > 0 ? "\n" : "");
            print_calibration(all[i], device.model);
        }
    }
    if (arguments.job.json) {
        print(Json{{"networks", measured->names},
                   {"machine", measured->machine->name()},
                   {"held_out", arguments.held_out},
                   {"file", arguments.out.empty() ? Json(nullptr) : Json(arguments.out)},
                   {"devices", std::move(devices)}});
    } else if (!arguments.out.empty()) {
        std::cout << "\nwritten to " << printable(arguments.out, 4096) << '\n';
    }
    return kDone;
}

}  // namespace placewright
