// SPDX-License-Identifier: MIT
#include "app/cli/report_command.hpp"

#include <algorithm>
#include <array>
#include <iostream>

#include "app/cli/console.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/option_values.hpp"
#include "core/job/report.hpp"

namespace placewright {
namespace {

/// The options that differ from the defaults, beside those that a report has in its table.
std::vector<std::string> options_beside(const std::vector<std::pair<std::string, std::string>>& conditions,
                                        const JobArguments& job) {
    std::vector<std::string> options;
    for (const auto& option : option_values(job.options())) {
        const std::string& name = option.first;
        const bool is_told =
            name.starts_with("penalty_") || name == "host_time_s" || name == "pipeline_order" ||
            std::ranges::any_of(conditions, [&](const auto& told) { return told.first == name; });
        if (!is_told)
            options.push_back(name + ": " +
                              (name == "constraints" ? job.constraints : to_string(option.second)));
    }
    return options;
}

}  // namespace

void ReportArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives());
    usage::add_placement(command, placement);
    command.add_option("--out", out, "HTML file to write")
        ->check(usage::path())
        ->type_name("FILE")
        ->required();
}

int report_placement(const ReportArguments& arguments) {
    std::vector<std::string> inputs = arguments.job.inputs();
    inputs.push_back(arguments.placement);
    keep_apart(std::array{OutputFile{"--out", arguments.out}}, inputs);
    const Job job = arguments.job.load(arguments.placement);
    std::vector<std::string> notes;
    const Placement placement = arguments.placement.empty()
                                    ? job.single_device
                                    : read_placement(arguments.placement, *job.problem, &notes);
    for (const std::string& note : notes)
        std::cerr << printable(arguments.placement + ": " + note, 8192) << '\n';
    ReportContext context;
    context.bound = tightest_bound(job);
    context.options = options_beside(scoring_conditions(job), arguments.job);
    try {
        write_file(arguments.out, html_report(job, placement, context));
    } catch (const PlacementError& error) {
        throw InputError(arguments.placement.empty() ? arguments.job.network : arguments.placement, "",
                         error.what());
    }
    if (arguments.job.json) {
        print({{"file", arguments.out}});
    } else {
        std::cout << "Report written to " << printable(arguments.out, 4096) << '\n';
    }
    return kDone;
}

}  // namespace placewright
