// SPDX-License-Identifier: MIT
#include "app/cli/benchmark_command.hpp"

#include <array>
#include <iostream>
#include <optional>
#include <vector>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "core/measure/measurement.hpp"

namespace placewright {
namespace {

/// Seconds in which a device ran ops.
std::vector<double> busy_s(const Problem& problem, const Trace& trace) {
    std::vector<double> busy(problem.devices);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op) busy[span.resource] += span.end_s - span.start_s;
    }
    return busy;
}

Json benchmark_json(const Job& job, std::span<const PhysicalDevice> devices, const Measurement& measured,
                    const Outcome& simulated) {
    const std::vector<double> busy = busy_s(*job.problem, measured.run.trace);
    Json rows = Json::array();
    for (DeviceId device = 0; device < devices.size(); ++device) {
        rows.push_back({{"name", job.machine->device(device).name},
                        {"runs_on", to_string(devices[device])},
                        {"busy_s", busy[device]},
                        {"peak_bytes", measured.run.peak_bytes[device]},
                        {"simulated_busy_s", simulated.device_busy_s[device]},
                        {"simulated_peak_bytes", simulated.peak_bytes[device]}});
    }
    return {{"step_time_s", measured.step.median_s},
            {"step_time_low_s", measured.step.low_s},
            {"step_time_high_s", measured.step.high_s},
            {"step_times_s", measured.run.step_times_s},
            {"simulated_s", simulated.step_time_s},
            {"fits", measured.fits},
            {"overhead_s", measured.overhead_s ? Json(*measured.overhead_s) : Json(nullptr)},
            {"disturbed", measured.disturbed},
            {"warning", measured.noise_warning()},
            {"cores_for_accelerators", measured.cores_for_accelerators},
            {"library", measure_module().version()},
            {"devices", std::move(rows)}};
}

void print_benchmark(const Job& job, const Measurement& measured, const Outcome& simulated) {
    std::cout << printable(job.problem->graph->name()) << " on " << printable(job.machine->name())
              << ", run with " << measure_module().version() << '\n'
              << "step time " << format_seconds(measured.step.median_s) << " measured (the middle half of "
              << measured.run.step_times_s.size() << " steps: " << format_seconds(measured.step.low_s)
              << " to " << format_seconds(measured.step.high_s) << "), "
              << format_seconds(simulated.step_time_s) << " simulated ("
              << ratio_text(simulated.step_time_s / measured.step.median_s) << " of measured)"
              << (measured.fits ? "" : ", does not fit the memory") << "\n\n";
    const std::vector<double> busy = busy_s(*job.problem, measured.run.trace);
    std::vector<Row> rows{{"device", "busy", "simulated", "peak", "simulated"}};
    for (DeviceId device = 0; device < job.problem->devices; ++device)
        rows.push_back({job.machine->device(device).name, format_seconds(busy[device]),
                        format_seconds(simulated.device_busy_s[device]),
                        format_bytes(measured.run.peak_bytes[device]),
                        format_bytes(simulated.peak_bytes[device])});
    std::cout << table("lrrrr", rows);
    if (measured.cores_for_accelerators) std::cout << '\n' << wrapped(kCoresForAccelerators, 0);
}

/// A line for each op: where it ran, and how long it took and was expected to take.
std::string ops_csv(const Job& job, std::span<const DeviceId> placement, const Measurement& measured) {
    const Problem& problem = *job.problem;
    std::string text = "op,kind,phase,device,simulated_s,measured_s\n";
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        const DeviceId device = placement[problem.grouping.group_of[id]];
        text += csv_field(op.name) + ',' + csv_field(op.kind) + ',' + std::string(to_string(op.phase)) + ',' +
                csv_field(job.machine->device(device).name) + ',' +
                to_string(OptionValue(problem.time_s(id, device))) + ',' +
                to_string(OptionValue(measured.op_time_s[id])) + '\n';
    }
    return text;
}

}  // namespace

void BenchmarkArguments::add_to(CLI::App& command) {
    job.add_to(command, std::span(objectives()).first(1));
    usage::add_placement(command, placement);
    command.add_option("--steps", steps, "Steps that count; one more runs before them")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_flag("--throttle", throttles, "Transfers between cores take at least as long as simulated");
    command.add_option("--trace", trace, "Write the step of median time as Chrome trace JSON")
        ->check(usage::path())
        ->type_name("OUT");
    command.add_option("--ops", ops, "Write the measured and the simulated time of each op as CSV")
        ->check(usage::path())
        ->type_name("OUT");
}

int benchmark_placement(const BenchmarkArguments& arguments) {
    std::vector<std::string> inputs = arguments.job.inputs();
    inputs.push_back(arguments.placement);
    const std::array outputs{OutputFile{"--trace", arguments.trace}, OutputFile{"--ops", arguments.ops}};
    keep_apart(outputs, inputs);
    for (const OutputFile& output : outputs) {
        if (!output.file.empty()) expect_writable(output.file);
    }
    const Job job = arguments.job.load(arguments.placement);
    if (job.simulation.batches > 1)
        throw UsageError("benchmark: --batches: pipelines of several batches cannot be run; give one batch");
    expect_no_language_model(job, arguments.job.network);
    std::vector<std::string> notes;
    const Placement placement = arguments.placement.empty()
                                    ? job.single_device
                                    : read_placement(arguments.placement, *job.problem, &notes);
    for (const std::string& note : notes)
        std::cerr << printable(arguments.placement + ": " + note, 8192) << '\n';

    const std::vector<PhysicalDevice> devices = physical_devices(*job.machine);
    for (const std::string& note : device_notes(*job.machine, devices)) std::cerr << printable(note) << '\n';
    const InterruptGuard interrupt;
    std::optional<Measurement> measured;
    try {
        const ProgressLine line("benchmark");
        MeasureOptions options;
        options.steps = arguments.steps;
        options.throttles = arguments.throttles;
        options.keeps_steps = true;
        measured = measure(job.problem, placement, devices, options, interrupt.token(),
                           [&](std::uint32_t done, std::uint32_t all) {
                               line.show("step " + std::to_string(done) + " of " + std::to_string(all));
                           });
    } catch (const OutOfMemory& error) {
        throw InputError(arguments.job.network, "",
                         std::string(error.what()) + "; place fewer ops there, or take a smaller batch");
    } catch (const MeasureError& error) {
        throw InputError(arguments.job.network, "", error.what());
    }
    if (!measured) {
        std::cerr << "placewright-cli: cancelled before a step was measured\n";
        return kCancelled;
    }
    const std::size_t steps = measured->run.step_times_s.size();
    const bool cancelled = steps < arguments.steps;
    if (cancelled)
        std::cerr << "placewright-cli: cancelled after " << steps << " of " << arguments.steps << " steps\n";
    if (!arguments.trace.empty()) write_chrome_trace(measured->run.trace, *job.problem, arguments.trace);
    if (!arguments.ops.empty()) write_file(arguments.ops, ops_csv(job, placement, *measured));
    Simulator simulator(job.problem, job.simulation);
    const Outcome& simulated = simulator.run(placement);
    if (arguments.job.json) {
        print(benchmark_json(job, devices, *measured, simulated));
    } else {
        print_benchmark(job, *measured, simulated);
    }
    if (const std::string warning = measured->noise_warning(); !warning.empty())
        std::cerr << "placewright-cli: warning: " << warning << '\n';
    return cancelled ? kCancelled : kDone;
}

}  // namespace placewright
