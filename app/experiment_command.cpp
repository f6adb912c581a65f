// SPDX-License-Identifier: MIT
#include "app/experiment_command.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>

#include "app/console.hpp"
#include "app/experiment.hpp"
#include "app/interrupt.hpp"
#include "app/progress_line.hpp"
#include "app/search_arguments.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

std::array<const Experiment*, 3> experiments() {
    return {&e3(), &post_experiment(), &placeto_experiment()};
}

/// "20000 in e3, 2400 in post"
std::string in_each(const std::function<std::string(const Experiment&)>& text) {
    std::string list;
    for (const Experiment* experiment : experiments()) list += (list.empty() ? "" : ", ") + text(*experiment);
    return list;
}

std::map<std::string, std::string> network_files(const Experiment& experiment, const std::vector<std::string>& texts) {
    std::map<std::string, std::string> files;
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        const std::string name = text.substr(0, equals);
        const std::vector<std::string> known(experiment.networks.begin(), experiment.networks.end());
        if (equals == std::string::npos || std::ranges::find(known, name) == known.end())
            throw UsageError("--network " + text + ": expected NAME=FILE with one of " + usage::joined(known, ", "));
        files[name] = text.substr(equals + 1);
    }
    return files;
}

std::string markdown(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) {
        text += '|';
        for (const std::string& cell : row) text += ' ' + cell + " |";
        text += '\n';
        if (&row != &rows.front()) continue;
        for (std::size_t i = 0; i < row.size(); ++i) text += i == 0 ? "|---|" : "---|";
        text += '\n';
    }
    return text;
}

std::vector<Row> problem_rows(const Experiment& experiment, const std::vector<ExperimentCase>& cases) {
    std::vector<Row> rows{experiment.label_names};
    for (const char* name : {"ops", "groups", "GPUs", "memory of a GPU", "batches", "in flight", "one GPU"})
        rows.front().emplace_back(name);
    for (const ExperimentCase& item : cases) {
        const Job& job = item.job;
        const auto gpus = std::ranges::count(job.machine->devices(), DeviceKind::gpu, &Device::kind);
        Row row = item.compared.labels;
        for (const auto& cell :
             {std::to_string(job.problem->forward->ops().size()), std::to_string(job.problem->groups), std::to_string(gpus),
              format_bytes(item.gpu_memory_bytes), std::to_string(job.simulation.batches), std::to_string(job.simulation.in_flight),
              item.one_gpu_fits ? format_seconds(item.one_gpu_s) : std::string("does not fit")})
            row.push_back(cell);
        rows.push_back(std::move(row));
    }
    return rows;
}

/// Of all cases; what several share once.
std::vector<Row> parameter_rows(const std::vector<ExperimentCase>& cases) {
    std::vector<Row> rows{{"algorithm", "parameter", "value"}};
    for (const ExperimentCase& item : cases) {
        for (const Contestant& contestant : item.compared.contestants) {
            for (const auto& [name, value] : contestant.options) {
                Row row{contestant.algorithm->id, name, to_string(value)};
                if (std::ranges::find(rows, row) == rows.end()) rows.push_back(std::move(row));
            }
        }
    }
    return rows;
}

std::vector<Row> finding_rows(const Experiment& experiment, const std::vector<Finding>& findings) {
    std::vector<Row> rows{{"here", experiment.label_names.front(), std::string(experiment.source) + " found", "figures"}};
    for (const Finding& finding : findings)
        rows.push_back({std::string(to_string(finding.verdict)), finding.where, finding.claim, finding.data});
    return rows;
}

void print_findings(const Experiment& experiment, const std::vector<Finding>& findings) {
    std::cout << "\nWhat " << experiment.source << " found, and whether it is so here:\n";
    for (const Finding& finding : findings) {
        std::cout << '\n'
                  << table("lll", {{std::string(to_string(finding.verdict)), finding.where, finding.claim}}) << "  "
                  << wrapped(finding.data, 2);
    }
}

std::vector<ReportTable> tables(const Experiment& experiment, const std::vector<ExperimentCase>& cases) {
    return experiment.tables != nullptr ? experiment.tables(cases) : std::vector<ReportTable>();
}

std::string report(const Experiment& experiment, const std::vector<ExperimentCase>& cases, const std::vector<Finding>& findings,
                   const ExperimentArguments& arguments) {
    std::string text = "# " + std::string(experiment.title) + "\n\nEvaluations of each search: " + std::to_string(arguments.evaluations) +
                       "; groups: " + arguments.grouping.group + ". " + std::string(experiment.conditions) + "\n\n## Problems\n\n" +
                       markdown(problem_rows(experiment, cases)) + "\n## Parameters\n\n" + markdown(parameter_rows(cases)) +
                       "\n## Results\n";
    for (const ReportTable& extra : tables(experiment, cases)) text += "\n### " + extra.title + "\n\n" + markdown(extra.rows);
    for (const ExperimentCase& item : cases) {
        if (item.compared.runs.empty()) continue;
        text += "\n### " + item.compared.title + "\n\n" + markdown(standing_rows(item.compared));
    }
    return text + "\n## Findings\n\n" + markdown(finding_rows(experiment, findings));
}

void write_results(const Experiment& experiment, const std::vector<ExperimentCase>& cases, const std::vector<Finding>& findings,
                   const ExperimentArguments& arguments) {
    const Path folder = arguments.out;
    std::vector<ComparedCase> compared;
    for (const ExperimentCase& item : cases) compared.push_back(item.compared);
    write_file(folder / (std::string(experiment.id) + ".md"), report(experiment, cases, findings, arguments));
    write_file(folder / "runs.csv", runs_csv(experiment.label_names, compared));
    write_file(folder / "curves.csv", curves_csv(experiment.label_names, compared));
    write_file(folder / "means.csv", means_csv(experiment.label_names, compared));
}

void run_case(const ExperimentArguments& arguments, ExperimentCase& item, const std::string& place, const std::stop_token& stop) {
    ComparisonTask task{item.job.problem,      item.job.simulation, item.job.objective, {}, item.compared.contestants, {},
                        arguments.evaluations, arguments.threads};
    task.seeds.resize(arguments.seeds > 0 ? arguments.seeds : item.repeats);
    std::iota(task.seeds.begin(), task.seeds.end(), 1);
    const ProgressLine line(place + usage::joined(item.compared.labels, ", ") + ": ");
    try {
        item.compared.runs = compare(task, stop, line.callback());
    } catch (const OptionError& error) {
        throw UsageError(std::string("--set: ") + error.what());
    }
    item.compared.best_known_s = best_score_s(item.compared.runs);
}

}  // namespace

void ExperimentArguments::add_to(CLI::App& command) {
    std::vector<std::string> ids;
    std::vector<Row> rows;
    for (const Experiment* experiment : experiments()) {
        ids.emplace_back(experiment->id);
        rows.push_back({"  " + ids.back(), std::string(experiment->help)});
    }
    command.footer("Experiments:\n" + table("ll", rows) + '\n' + command.get_parent()->get_footer());
    command.add_option("NAME", name, usage::joined(ids, " or ") + ", see below")->required()->check(usage::one_of(ids));
    command.add_option("--out", out, "Folder for tables (NAME.md), searches, curves and means (CSV)")->type_name("DIR");
    command.add_option("--seeds", seeds, "Searches of an algorithm; else 50 in e3 (pipelined 10), 3 in post and placeto")
        ->check(usage::whole_number(1, 10'000))
        ->type_name("N");
    command
        .add_option("--evaluations", evaluations, "Placements that a search scores; else " + in_each([](const auto& each) {
                                                      return std::to_string(each.evaluations) + " in " + std::string(each.id);
                                                  }))
        ->check(usage::whole_number(1, 1'000'000'000'000))
        ->type_name("N");
    usage::add_threads(command, threads, "Searches at a time, 0 for all cores; the results are the same");
    usage::add_repeated(command, "--network", networks, "Read a network from a file (Exprimo's, say)", "NAME=FILE");
    grouping.add_to(command, "Which ops move together, see simulate --help");
    usage::add_repeated(command, "--set", settings, "Change an option of an algorithm", "ALGORITHM.OPTION=VALUE");
}

int run_experiment(ExperimentArguments arguments) {
    const InterruptGuard interrupt;
    const auto all = experiments();
    const Experiment& experiment =
        **std::ranges::find(all, std::string_view(arguments.name), [](const Experiment* each) { return each->id; });
    if (arguments.evaluations == 0) arguments.evaluations = experiment.evaluations;
    const ExperimentInputs inputs{network_files(experiment, arguments.networks), arguments.grouping.options()};
    if (!arguments.out.empty()) make_folder(arguments.out);
    std::vector<ExperimentCase> cases = experiment.cases(inputs);
    for (ExperimentCase& item : cases) apply_settings(item.compared.contestants, arguments.settings);
    for (std::size_t i = 0; i < cases.size() && !interrupt.token().stop_requested(); ++i) {
        ExperimentCase& item = cases[i];
        run_case(arguments, item, std::to_string(i + 1) + " of " + std::to_string(cases.size()) + ": ", interrupt.token());
        std::cout << (i > 0 ? "\n" : "") << item.compared.title << "; one GPU "
                  << (item.one_gpu_fits ? format_seconds(item.one_gpu_s) : "does not fit") << "\n\n"
                  << table(kStandingAlignment, standing_rows(item.compared));
        std::cout.flush();
    }
    for (const ReportTable& extra : tables(experiment, cases))
        std::cout << '\n' << extra.title << "\n\n" << table('l' + std::string(extra.rows.front().size() - 1, 'r'), extra.rows);
    const std::vector<Finding> findings = experiment.findings(cases);
    print_findings(experiment, findings);
    if (!arguments.out.empty()) {
        write_results(experiment, cases, findings, arguments);
        std::cout << "\nwritten to " << arguments.out << '\n';
    }
    if (!interrupt.token().stop_requested()) return kDone;
    std::cerr << "placewright-cli: cancelled before all searches were finished\n";
    return kCancelled;
}

}  // namespace placewright
