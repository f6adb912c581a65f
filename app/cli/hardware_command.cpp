// SPDX-License-Identifier: MIT
#include "app/cli/hardware_command.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/experiments/hardware.hpp"
#include "app/experiments/scatter_plot.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

/// The result of an experiment in each form.
struct Report {
    std::string title;
    std::vector<Row> rows;  ///< the header first
    std::string note;
    Json json;
    std::string csv;
    std::string svg;  ///< empty: no plot
};

std::string figure(std::optional<double> value) {
    return value ? decimals("%.3f", *value) : "-";
}

std::string share(double value) {
    return decimals("%.1f %%", 100 * value);
}

std::string step_text(std::optional<double> time_s) {
    return time_s ? format_seconds(*time_s) : "out of memory";
}

std::string csv_number(std::optional<double> value) {
    return value ? to_string(OptionValue(*value)) : "";
}

Json or_null(std::optional<double> value) {
    return value ? Json(*value) : Json(nullptr);
}

Json spread_json(const Spread& spread) {
    return {spread.low_s, spread.median_s, spread.high_s};
}

Report report(const std::vector<BandwidthCase>& cases) {
    Report result{"E1: bandwidth against the size of a message",
                  {{"from", "to", "bytes", "median", "bandwidth", "of link"}},
                  "The thesis: 17 % of PCIe 3.0 x16 in the mean on a V100, 28 % on a P100.",
                  Json::array(),
                  "",
                  ""};
    result.csv = "from,to,bytes,low_s,median_s,high_s\n";
    for (const BandwidthCase& each : cases) {
        Json times = Json::array();
        double sum = 0;
        for (const TransferTimes& time : each.times) {
            const double speed = time.bytes / time.time.median_s;
            sum += speed / each.nominal;
            result.rows.push_back({each.from, each.to, format_bytes(time.bytes),
                                   format_seconds(time.time.median_s), format_bytes(speed) + "/s",
                                   share(speed / each.nominal)});
            times.push_back({{"bytes", time.bytes}, {"time_s", spread_json(time.time)}});
            result.csv += csv_field(each.from) + ',' + csv_field(each.to) + ',' +
                          to_string(OptionValue(time.bytes)) + ',' + to_string(OptionValue(time.time.low_s)) +
                          ',' + to_string(OptionValue(time.time.median_s)) + ',' +
                          to_string(OptionValue(time.time.high_s)) + '\n';
        }
        const double mean = each.times.empty() ? 0 : sum / static_cast<double>(each.times.size());
        result.rows.push_back({each.from, each.to, "mean", "", "", share(mean)});
        result.json.push_back({{"from", each.from},
                               {"to", each.to},
                               {"link_bandwidth", each.nominal},
                               {"mean_share", mean},
                               {"times", std::move(times)}});
    }
    result.json = {{"transfers", std::move(result.json)}};
    return result;
}

Report report(const std::vector<StabilityCase>& cases) {
    Report result{
        "E2: stability of step times",
        {{"network", "batch", "placement", "first step", "others", "deviation", "quartiles", "disturbed"}},
        "The thesis: a deviation below 1.5 % without the first step. \"Disturbed\": share of the time of ops "
        "in which the cores were not free.",
        Json::array(),
        "network,placement,step,time_s\n",
        ""};
    for (const StabilityCase& each : cases) {
        result.rows.push_back({each.network, std::to_string(each.batch), each.placement,
                               format_seconds(each.first_s), format_seconds(each.step.median_s),
                               share(each.deviation), share(each.step.relative()), share(each.disturbed)});
        result.json.push_back({{"network", each.network},
                               {"batch", each.batch},
                               {"placement", each.placement},
                               {"first_s", each.first_s},
                               {"time_s", spread_json(each.step)},
                               {"deviation", each.deviation},
                               {"disturbed", each.disturbed},
                               {"steps_s", each.steps_s}});
        for (std::size_t k = 0; k < each.steps_s.size(); ++k)
            result.csv += csv_field(each.network) + ',' + csv_field(each.placement) + ',' +
                          std::to_string(k) + ',' + to_string(OptionValue(each.steps_s[k])) + '\n';
    }
    result.json = {{"networks", std::move(result.json)}};
    return result;
}

Report report(const std::vector<TransferCase>& cases) {
    Report result{"E4: from the simulator to loaded hardware",
                  {{"network", "batch", "one device", "best simulated", "best of elites", "run",
                    "genetic, goes on", "run"}},
                  "Measured step times while another program takes half of the second device's core.",
                  Json::array(),
                  "network,one_device_s,best_simulated_s,elites_s,elites_run,genetic_s,genetic_run\n",
                  ""};
    for (const TransferCase& each : cases) {
        result.rows.push_back({each.network, std::to_string(each.batch), step_text(each.single_device_s),
                               step_text(each.best_simulated_s), step_text(each.elites_s),
                               std::to_string(each.elites_run), step_text(each.genetic_s),
                               std::to_string(each.genetic_run)});
        result.json.push_back({{"network", each.network},
                               {"batch", each.batch},
                               {"load", each.load},
                               {"single_device_s", or_null(each.single_device_s)},
                               {"best_simulated_s", or_null(each.best_simulated_s)},
                               {"elites_s", or_null(each.elites_s)},
                               {"elites_run", each.elites_run},
                               {"genetic_s", or_null(each.genetic_s)},
                               {"genetic_run", each.genetic_run}});
        result.csv += csv_field(each.network) + ',' + csv_number(each.single_device_s) + ',' +
                      csv_number(each.best_simulated_s) + ',' + csv_number(each.elites_s) + ',' +
                      std::to_string(each.elites_run) + ',' + csv_number(each.genetic_s) + ',' +
                      std::to_string(each.genetic_run) + '\n';
    }
    result.json = {{"networks", std::move(result.json)}};
    return result;
}

Report report(const std::vector<CorrelationCase>& cases) {
    Report result{"E5: simulated against measured step times",
                  {{"network", "batch", "placements", "Pearson", "Spearman", "median error", "picked", "best",
                    "noise"}},
                  "\"Picked\": measured time of the placement that is best in the simulation; \"best\": the "
                  "least measured "
                  "time. The thesis: Pearson 0.672 (AlexNet), 0.939 (ResNet-50), 0.804 (Inception-V3).",
                  Json::array(),
                  "network,evaluation,simulated_s,measured_low_s,measured_s,measured_high_s\n",
                  ""};
    ScatterPlot plot{"measured step (s)", "simulated step (s)", {}, 0.1};
    for (const CorrelationCase& each : cases) {
        result.rows.push_back({each.network, std::to_string(each.batch), std::to_string(each.points.size()),
                               figure(each.pearson), figure(each.spearman), share(each.median_error),
                               format_seconds(each.picked_s), format_seconds(each.best_measured_s),
                               share(each.noise)});
        Json points = Json::array();
        ScatterSeries series{each.network};
        for (const CorrelationPoint& point : each.points) {
            points.push_back({{"evaluation", point.evaluation},
                              {"simulated_s", point.simulated_s},
                              {"measured_s", point.measured.median_s}});
            series.points.push_back({point.measured.median_s, point.simulated_s});
            result.csv += csv_field(each.network) + ',' + std::to_string(point.evaluation) + ',' +
                          to_string(OptionValue(point.simulated_s)) + ',' +
                          to_string(OptionValue(point.measured.low_s)) + ',' +
                          to_string(OptionValue(point.measured.median_s)) + ',' +
                          to_string(OptionValue(point.measured.high_s)) + '\n';
        }
        plot.series.push_back(std::move(series));
        result.json.push_back({{"network", each.network},
                               {"batch", each.batch},
                               {"pearson", or_null(each.pearson)},
                               {"spearman", or_null(each.spearman)},
                               {"median_error", each.median_error},
                               {"placements", each.points.size()},
                               {"picked_s", each.picked_s},
                               {"best_measured_s", each.best_measured_s},
                               {"overhead_s", each.overhead_s},
                               {"noise", each.noise},
                               {"points", std::move(points)}});
    }
    result.json = {{"networks", std::move(result.json)}};
    result.svg = to_svg(plot);
    return result;
}

void check_hardware_arguments(const ExperimentArguments& arguments) {
    const auto refuse = [&](bool given, const char* option) {
        if (given) throw UsageError(std::string(option) + ": " + arguments.name + " does not use it");
    };
    const bool searches = arguments.name == "e4" || arguments.name == "e5";
    arguments.refuse_search_options();
    refuse(arguments.evaluations > 0 && !searches, "--evaluations");
    refuse(arguments.placements > 0 && !searches, "--placements");
    refuse(!arguments.only.empty() && arguments.name == "e1", "--only");
    refuse(!arguments.data.empty(), "--data");
}

/// Runs the experiment for one network after the other. One that cannot be run is told in `failures`, and
/// does not lose the results of the others.
template <class Case>
Report report_each(std::vector<Case> (*experiment)(const Laboratory&, const HardwareOptions&, std::stop_token,
                                                   const HardwareProgress&),
                   const Laboratory& place, const HardwareOptions& options, const std::stop_token& stop,
                   const HardwareProgress& progress, std::vector<std::string>& failures) {
    std::vector<Case> cases;
    for (const HardwareNetwork& network : options.networks) {
        if (stop.stop_requested()) break;
        HardwareOptions one = options;
        one.networks = {network};
        try {
            std::ranges::move(experiment(place, one, stop, progress), std::back_inserter(cases));
        } catch (const MeasureError& error) {
            failures.push_back(network.name + ": " + error.what());
        } catch (const OutOfMemory& error) {
            failures.push_back(network.name + ": " + error.what());
        }
    }
    return report(cases);
}

Report run(const ExperimentArguments& arguments, const Laboratory& place, const HardwareOptions& options,
           const std::stop_token& stop, const HardwareProgress& progress,
           std::vector<std::string>& failures) {
    if (arguments.name == "e2") return report_each(run_e2, place, options, stop, progress, failures);
    if (arguments.name == "e4") return report_each(run_e4, place, options, stop, progress, failures);
    if (arguments.name == "e5") return report_each(run_e5, place, options, stop, progress, failures);
    try {
        return report(run_e1(place, options, stop, progress));
    } catch (const OutOfMemory& error) {
        throw InputError(arguments.name, "", error.what());
    }
}

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> hardware_experiments() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kExperiments{
        {{"e1", "Runs here: bandwidth against the size of a message"},
         {"e2", "Runs here: stability of step times"},
         {"e4", "Runs here: from the simulator to loaded hardware (--only NETWORK)"},
         {"e5", "Runs here: simulated against measured step times (--only NETWORK)"}}};
    return kExperiments;
}

int run_hardware_experiment(const ExperimentArguments& arguments) {
    check_hardware_arguments(arguments);
    std::shared_ptr<const Machine> machine;
    if (!arguments.machine.empty())
        machine = std::make_shared<const Machine>(find_machine(arguments.machine));
    HardwareOptions options;
    const bool one_network = arguments.only.empty() && arguments.name == "e4";
    options.networks = hardware_networks(one_network ? std::vector<std::string>{"resnet50"} : arguments.only);
    options.evaluations = arguments.evaluations;
    options.steps = arguments.steps;
    if (arguments.placements > 0) options.placements = arguments.placements;
    arguments.prepare_out(
        std::array{arguments.name + ".md", arguments.name + ".csv", arguments.name + ".svg"});

    const Laboratory place = laboratory(std::move(machine));
    for (const std::string& note : place.notes) std::cerr << printable(note) << '\n';
    const InterruptGuard interrupt;
    Report found;
    std::vector<std::string> failures;
    try {
        const ProgressLine line(arguments.name);
        found = run(
            arguments, place, options, interrupt.token(), [&](const std::string& text) { line.show(text); },
            failures);
    } catch (const std::invalid_argument& error) {
        // A device without a model, under which measured times are kept.
        throw InputError(arguments.machine, "", error.what());
    }
    Json devices = Json::array();
    for (DeviceId device = 0; device < place.devices.size(); ++device)
        devices.push_back(
            {{"name", place.machine->device(device).name}, {"runs_on", to_string(place.devices[device])}});
    found.json["devices"] = std::move(devices);
    found.json["library"] = measure_module().version();
    const bool cancelled = interrupt.token().stop_requested();
    found.json["cancelled"] = cancelled;
    if (cancelled) found.note += " Only a part of the experiment ran: it was interrupted.";
    if (arguments.json) {
        print(found.json);
    } else {
        std::cout << found.title << "\n\n"
                  << table('l' + std::string(found.rows.front().size() - 1, 'r'), found.rows) << '\n'
                  << wrapped(found.note, 0);
    }
    if (!arguments.out.empty()) {
        const Path folder = arguments.out;
        std::string text = "# " + found.title + "\n\n" + markdown(found.rows) + '\n' + found.note + '\n';
        for (const std::string& note : place.notes) text += "\n- " + note;
        if (!found.svg.empty()) text += "\n\n![" + found.title + "](" + arguments.name + ".svg)";
        write_file(folder / (arguments.name + ".md"), text + '\n');
        write_file(folder / (arguments.name + ".csv"), found.csv);
        if (!found.svg.empty()) write_file(folder / (arguments.name + ".svg"), found.svg);
        if (!arguments.json) std::cout << "\nwritten to " << printable(arguments.out, 4096) << '\n';
    }
    for (const std::string& failure : failures)
        std::cerr << printable("placewright-cli: " + failure, 8192) << '\n';
    if (cancelled) {
        std::cerr << "placewright-cli: cancelled; the rest is missing\n";
        return kCancelled;
    }
    return failures.empty() ? kDone : kBadInput;
}

}  // namespace placewright
