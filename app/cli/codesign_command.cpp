// SPDX-License-Identifier: MIT
#include "app/cli/codesign_command.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/bounds/bounds.hpp"
#include "core/io/machines/catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

/// "3900 USD", "3900.60 USD".
std::string price_text(double price, const Catalogue& catalogue) {
    const std::string text = decimals(price == std::floor(price) ? "%.0f" : "%.2f", price);
    return catalogue.currency.empty() ? text : text + ' ' + catalogue.currency;
}

/// "1 machine", "2 machines".
std::string machines_text(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " machine" : " machines");
}

CodesignTask task_of(const CodesignArguments& arguments) {
    CodesignTask task = arguments.task;
    task.algorithm = &chosen_algorithm(arguments.algorithm);
    task.options = parse_settings(*task.algorithm, arguments.settings);
    const JobOptions options = arguments.job.options();
    task.simulation = options.simulation;
    task.penalty = options.penalty;
    task.catalogue = read_catalogue(find_catalogue_file(arguments.catalogue));
    NetworkFile network = arguments.job.read();
    if (network.machine)
        throw UsageError(arguments.job.network +
                         " is a workload: its op times apply only to its own machine");
    task.problem = problem_options(options, network.language);
    task.graph = std::make_shared<const Graph>(std::move(network.graph));
    return task;
}

Json counts_json(const Design& design, const Catalogue& catalogue) {
    Json accelerators = Json::array();
    for (const std::size_t kind : design.accelerators)
        accelerators.push_back(catalogue.accelerators[kind].device.model);
    return {{"host", catalogue.hosts[design.host].device.model},
            {"accelerators", std::move(accelerators)},
            {"host_link", catalogue.host_links[design.host_link].channel.name},
            {"fabric", catalogue.fabrics[design.fabric].name}};
}

/// Files of the machine and the placement of a point; points are numbered from 1.
std::pair<Path, Path> files_of(const Path& folder, std::size_t point) {
    const std::string stem = "design-" + std::to_string(point);
    return {folder / (stem + ".machine.json"), folder / (stem + ".placement.json")};
}

/// Throws UsageError if an input file has a name that an output may get.
void keep_inputs(const CodesignArguments& arguments) {
    std::vector<std::string> inputs = arguments.job.inputs();
    inputs.push_back(arguments.catalogue);
    for (const std::string& input : inputs) {
        const std::string name = Path(input).filename().string();
        if (name.starts_with("design-") &&
            (name.ends_with(".machine.json") || name.ends_with(".placement.json")))
            keep_apart(std::array{OutputFile{"--out", (Path(arguments.out) / name).string()}}, inputs);
    }
}

std::vector<std::pair<Path, Path>> write_designs(const CodesignResult& result,
                                                 const CodesignArguments& arguments) {
    std::vector<std::pair<Path, Path>> files;
    for (std::size_t i = 0; i < result.front.size(); ++i) {
        const DesignPoint& point = result.front[i];
        files.push_back(files_of(arguments.out, i + 1));
        write_machine(*point.machine, files.back().first);
        PlacementFile about;
        about.predicted = PlacementFile::Prediction{point.score.value_s, {}, {}, point.score.fits};
        about.produced_by = {arguments.algorithm, arguments.task.seed, arguments.task.evaluations, {}};
        write_placement(point.placement, *point.problem, about, files.back().second);
    }
    // Files of an earlier, longer front would look like a part of this one.
    for (std::size_t point = files.size() + 1;; ++point) {
        const auto [machine, placement] = files_of(arguments.out, point);
        std::error_code ignored;
        const bool had_machine = std::filesystem::remove(machine, ignored),
                   had_placement = std::filesystem::remove(placement, ignored);
        if (!had_machine && !had_placement) break;
    }
    return files;
}

}  // namespace

void CodesignArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives().first(1));
    command.remove_option(command.get_option("--machine"));
    command
        .add_option("--catalogue", catalogue,
                    "Priced parts: a file, or the name of a shipped one (workstation-2021)")
        ->check(usage::path())
        ->required()
        ->type_name("C");
    command.add_option("--budget", task.budget, "Maximum price of a machine")
        ->required()
        ->check(usage::positive_number(1e12, "a price above 0"))
        ->type_name("PRICE");
    command.add_option("--algorithm", algorithm, "Search algorithm for each machine")
        ->type_name("A")
        ->capture_default_str();
    usage::add_repeated(command, "--set", settings, "Option of the algorithm", "OPTION=VALUE");
    command.add_option("--evaluations", task.evaluations, "Placements scored for each machine")
        ->check(usage::whole_number(1, 1'000'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--designs", task.designs, "Maximum number of machines to try")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--seed", task.seed, "Seed of the random numbers")
        ->check(usage::whole_number(0))
        ->type_name("K")
        ->capture_default_str();
    usage::add_threads(command, task.threads, "Machines in parallel, 0 for all cores; same result");
    command.add_option("--out", out, "Folder for the machine and placement of each point")
        ->check(usage::path())
        ->type_name("DIR");
}

int codesign_machine(const CodesignArguments& arguments) {
    const InterruptGuard interrupt;
    const CodesignTask task = task_of(arguments);
    if (!arguments.out.empty()) {
        make_folder(arguments.out);
        keep_inputs(arguments);
    }
    const bool terminal = isatty(STDERR_FILENO) != 0;
    CodesignCallback report;
    if (terminal) {
        report = [&](const CodesignResult& now) {
            std::fprintf(stderr, "\r\x1b[K%s tried, %zu on the front", machines_text(now.designs).c_str(),
                         now.front.size());
        };
    }
    const CodesignResult result = [&] {
        try {
            return codesign(task, interrupt.token(), report);
        } catch (const OptionError& error) {
            throw UsageError(std::string("--set: ") + error.what());
        } catch (const std::invalid_argument& error) {
            throw UsageError(std::string("--catalogue, --budget: ") + error.what());
        } catch (const GraphError& error) {
            throw InputError(arguments.job.network, "", error.what());
        } catch (const PlacementError& error) {
            throw InputError(arguments.job.network, "", error.what());
        }
    }();
    if (terminal) std::fputs("\r\x1b[K", stderr);

    // Whoever cancels wants the machines now; bounds of large networks take seconds each.
    std::vector<std::optional<Bound>> bounds(result.front.size());
    bool all_proven = true;
    {
        const ProgressLine line("");
        for (std::size_t i = 0; i < bounds.size() && all_proven; ++i) {
            line.show("bound " + std::to_string(i + 1) + " of " + std::to_string(bounds.size()));
            all_proven = !interrupt.token().stop_requested();
            if (all_proven)
                bounds[i] =
                    quick_bounds(*result.front[i].problem, objectives().front(), task.simulation).front();
        }
    }
    const bool cancelled = result.cancelled || !all_proven;
    if (arguments.job.json) {
        Json front = Json::array();
        for (std::size_t i = 0; i < result.front.size(); ++i) {
            const DesignPoint& point = result.front[i];
            const std::optional<Bound>& bound = bounds[i];
            front.push_back(
                {{"price", point.price},
                 {"step_time_s", point.score.value_s},
                 {"machine", point.machine->name()},
                 {"parts", counts_json(point.design, task.catalogue)},
                 {"lower_bound_s", bound ? Json(bound->value_s) : Json()},
                 {"bound", bound ? Json{{"name", bound->name}, {"proof", bound->proof}} : Json()}});
        }
        print({{"network", task.graph->name()},
               {"catalogue", task.catalogue.name},
               {"currency", task.catalogue.currency},
               {"budget", task.budget},
               {"seed", task.seed},
               {"designs", result.designs},
               {"all", result.all},
               {"cancelled", cancelled},
               {"front", std::move(front)}});
    } else {
        std::cout << printable(task.graph->name()) << " on machines of " << in_quotes(task.catalogue.name)
                  << " for at most " << printable(price_text(task.budget, task.catalogue)) << ": "
                  << machines_text(result.designs) << " tried"
                  << (!result.all           ? ""
                      : result.designs == 1 ? ", the only possible one"
                                            : ", all possible ones")
                  << "\n\n";
        std::vector<Row> rows{{"price", "step time", "bound", "machine"}};
        for (std::size_t i = 0; i < result.front.size(); ++i) {
            const DesignPoint& point = result.front[i];
            const std::optional<Bound>& bound = bounds[i];
            rows.push_back({price_text(point.price, task.catalogue), format_seconds(point.score.value_s),
                            bound ? format_seconds(bound->value_s) : "-", point.machine->name()});
        }
        std::cout << table("rrrl", rows);
    }
    if (!arguments.out.empty()) {
        const auto files = write_designs(result, arguments);
        if (!arguments.job.json)
            std::cout << "\n"
                      << machines_text(files.size())
                      << (files.size() == 1 ? " with its placement" : " with their placements")
                      << " written to " << printable(arguments.out, 4096) << '\n';
    }
    if (cancelled) {
        std::cerr << (result.cancelled ? "placewright-cli: cancelled before all machines were tried\n"
                                       : "placewright-cli: cancelled before all bounds were proven\n");
        return kCancelled;
    }
    if (!result.front.empty()) return kDone;
    std::cerr << "placewright-cli: " << printable(task.graph->name())
              << " fits on none of the machines tried\n";
    return kNothingFits;
}

}  // namespace placewright
