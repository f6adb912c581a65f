// SPDX-License-Identifier: MIT
#include "app/cli/export_command.hpp"

#include <array>
#include <iostream>

#include "app/cli/console.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/placement_formats.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/name_list.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

void warn(const std::string& text) {
    std::cerr << printable("placewright-cli: warning: " + text, 8192) << '\n';
}

/// An op of the network that a repair moved.
struct Moved {
    std::string op, from, to;
};

std::vector<Moved> moved_ops(const Problem& problem, const Placement& before, const Placement& after) {
    std::vector<Moved> moved;
    for (OpId id = 0; id < problem.forward->size(); ++id) {
        const Op& op = problem.forward->op(id);
        const GroupId group = problem.grouping.group_of[id];
        if (!op.autocast && op.phase == Phase::forward && before[group] != after[group])
            moved.push_back({op.name, problem.machine->device(before[group]).name,
                             problem.machine->device(after[group]).name});
    }
    return moved;
}

std::string text_of(const std::vector<Moved>& moved) {
    NameList names;
    for (const Moved& item : moved) names.add(item.op, "from " + in_quotes(item.from) + " to", item.to);
    return std::to_string(moved.size()) + (moved.size() == 1 ? " op moved: " : " ops moved: ") + names.text();
}

}  // namespace

void ExportArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives());
    std::vector<std::string> ids;
    std::vector<Row> rows;
    for (const PlacementFormat& item : placement_formats()) {
        ids.emplace_back(item.id);
        rows.push_back({"  " + ids.back(), std::string(item.help) + '.'});
    }
    command
        .add_option("--placement", placement,
                    "Placement file; default: all ops on the fastest device that fits")
        ->check(usage::path())
        ->type_name("P");
    command.add_option("--to", format, "Format to write, see below")
        ->check(usage::one_of(ids))
        ->type_name("FORMAT")
        ->required();
    command.add_option("--out", out, "File to write")->check(usage::path())->type_name("FILE")->required();
    command.add_flag("--repair", repair, "Export the nearest placement that the format can express");
    command.footer("Formats:\n" + table("ll", rows) + '\n' + command.get_footer());
}

int export_placement(const ExportArguments& arguments) {
    const PlacementFormat& format = *find_placement_format(arguments.format);
    if (arguments.repair && format.repair == nullptr)
        throw UsageError("--repair: the format " + arguments.format + " needs no repair");
    std::vector<std::string> inputs = arguments.job.inputs();
    inputs.push_back(arguments.placement);
    keep_apart(std::array{OutputFile{"--out", arguments.out}}, inputs);
    const Job job = arguments.job.load(arguments.placement);
    std::vector<std::string> notes;
    PlacedNetwork placed{job.problem,
                         job.single_device,
                         job.simulation,
                         {},
                         find_network_file(arguments.job.network),
                         arguments.job.reading.options(arguments.job.batch)};
    if (job.language) placed.reading.language = *job.language;
    if (!arguments.placement.empty())
        placed.placement = read_placement(arguments.placement, *job.problem, &notes);
    for (const std::string& note : notes)
        std::cerr << printable(arguments.placement + ": " + note, 8192) << '\n';
    if (format.refusal != nullptr) {
        const std::string refusal = format.refusal(placed.network_file, *job.problem->forward);
        if (!refusal.empty()) throw InputError(arguments.job.network, "", refusal);
    }
    try {
        Simulator simulator(job.problem, job.simulation);
        const Outcome before = simulator.run(placed.placement);
        Outcome after = before;
        const Placement asked = placed.placement;
        if (arguments.repair) {
            placed.placement = repaired_for(format, placed);
            after = simulator.run(placed.placement);
        }
        const std::vector<Moved> moved = moved_ops(*job.problem, asked, placed.placement);
        placed.about.predicted = prediction(job, placed.placement, after, 0);
        WrittenPlacement written = written_as(format, placed);
        if (placed.placement != asked) {
            const Outcome single = simulator.run(job.single_device);
            if (single.fits && after.step_time_s > single.step_time_s)
                written.warnings.push_back(
                    "after the repair the placement is slower than all ops on one device, which takes " +
                    format_seconds(single.step_time_s));
        }
        const Outcome& run = written.outcome ? *written.outcome : after;
        write_file(arguments.out, written.content);
        for (const std::string& warning : written.warnings) warn(warning);
        if (arguments.job.json) {
            Json list = Json::array();
            for (const Moved& item : moved)
                list.push_back({{"op", item.op}, {"from", item.from}, {"to", item.to}});
            print({{"format", format.id},
                   {"file", arguments.out},
                   {"step_time_s", run.step_time_s},
                   {"step_time_placed_s", after.step_time_s},
                   {"step_time_before_s", before.step_time_s},
                   {"fits", run.fits},
                   {"moved", std::move(list)},
                   {"warnings", written.warnings}});
            return kDone;
        }
        std::cout << format.title << " written to " << printable(arguments.out, 4096) << "; a step takes "
                  << format_seconds(run.step_time_s);
        if (run.step_time_s != after.step_time_s)
            std::cout << " as the file is run, " << format_seconds(after.step_time_s) << " as placed";
        if (placed.placement != asked) {
            std::cout << ", before the repair " << format_seconds(before.step_time_s);
        } else if (arguments.repair) {
            std::cout << ", no repair needed";
        }
        std::cout << (run.fits ? "" : " and does not fit the memory") << '\n';
        if (!moved.empty()) std::cout << printable_lines(text_of(moved)) << '\n';
        std::cout << '\n' << printable_lines(format.snippet(arguments.out, placed));
    } catch (const PlacementError& error) {
        throw InputError(arguments.placement.empty() ? arguments.job.network : arguments.placement, "",
                         error.what());
    }
    return kDone;
}

}  // namespace placewright
