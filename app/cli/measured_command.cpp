// SPDX-License-Identifier: MIT
#include "app/cli/measured_command.hpp"

#include <algorithm>
#include <array>
#include <iostream>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/experiments/measured.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

/// Throws UsageError unless only options are given that the experiment uses.
void check_arguments(const ExperimentArguments& arguments) {
    if (arguments.data.empty())
        throw UsageError("--data is missing: measured needs the folder with the measurements");
    const auto refuse = [](bool given, const char* option) {
        if (given) throw UsageError(std::string(option) + ": measured does not use it");
    };
    arguments.refuse_search_options();
    refuse(arguments.evaluations > 0, "--evaluations");
    const std::vector<std::string> known = measured_suite_ids();
    for (const std::string& id : arguments.only) {
        if (std::ranges::find(known, id) == known.end())
            throw UsageError("--only " + id + ": expected one of " + usage::joined(known, ", "));
    }
}

/// What the tables do not say: whether they are all, suites without data, and what is not a time.
std::vector<std::string> notes_of(const std::vector<MeasuredSuite>& suites, bool cancelled) {
    std::vector<std::string> notes;
    if (cancelled) {
        std::size_t points = 0;
        for (const MeasuredSuite& suite : suites) points += suite.points.size();
        notes.push_back("Only a part of the experiment ran: it was interrupted after " +
                        std::to_string(points) + (points == 1 ? " time." : " times."));
    }
    for (const MeasuredSuite& suite : suites) {
        if (!suite.found)
            notes.push_back(std::string(suite.id) + ": skipped, there is no folder " +
                            std::string(suite.folder) + '.');
        for (const std::string& note : suite.notes) notes.push_back(std::string(suite.id) + ": " + note);
    }
    return notes;
}

std::string report(const std::vector<ReportTable>& tables, const std::vector<std::string>& notes) {
    std::string text =
        "# Simulated against measured\n\nErrors are shares of the measured time: their median, the largest, "
        "the "
        "mean with its sign, and the mean of ops weighted by their share of the step. \"In interval\" counts "
        "the "
        "measured times that lie within the 80 % interval of the simulated one, \"too large\" the runs that "
        "do not "
        "fit the memory here although the real ones did. points.csv has the points.\n";
    for (const ReportTable& table : tables) text += "\n## " + table.title + "\n\n" + markdown(table.rows);
    for (const std::string& note : notes) text += '\n' + note + '\n';
    return text + "\n![simulated against measured times](measured.svg)\n";
}

}  // namespace

int run_measurements(const ExperimentArguments& arguments) {
    check_arguments(arguments);
    const InterruptGuard interrupt;
    arguments.prepare_out(std::array<std::string, 3>{"measured.md", "points.csv", "measured.svg"});
    std::vector<MeasuredSuite> suites;
    {
        const ProgressLine line("");
        suites = run_measured(arguments.data, arguments.only, interrupt.token(),
                              [&line](const std::string& text) { line.show(text); });
    }
    const std::vector<ReportTable> tables = measured_tables(suites);
    for (const ReportTable& each : tables)
        std::cout << (&each == &tables.front() ? "" : "\n") << each.title << "\n\n"
                  << table('l' + std::string(each.rows.front().size() - 1, 'r'), each.rows);
    const bool cancelled = interrupt.token().stop_requested();
    const std::vector<std::string> notes = notes_of(suites, cancelled);
    for (const std::string& note : notes) std::cout << '\n' << wrapped(note, 0);
    if (!arguments.out.empty()) {
        const Path folder = arguments.out;
        write_file(folder / "measured.md", report(tables, notes));
        write_file(folder / "points.csv", measured_csv(suites));
        write_file(folder / "measured.svg", measured_svg(suites));
        std::cout << "\nwritten to " << printable(arguments.out, 4096) << '\n';
    }
    if (!cancelled) return kDone;
    std::cerr << "placewright-cli: cancelled before all suites finished\n";
    return kCancelled;
}

}  // namespace placewright
