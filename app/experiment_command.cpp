// SPDX-License-Identifier: MIT
#include "app/experiment_command.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>

#include "app/console.hpp"
#include "app/e3.hpp"
#include "app/interrupt.hpp"
#include "app/progress_line.hpp"
#include "app/search_arguments.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

std::map<std::string, std::string> network_files(const std::vector<std::string>& texts) {
    std::map<std::string, std::string> files;
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        const std::string name = text.substr(0, equals);
        std::vector<std::string> known;
        for (const e3::Network& network : e3::kNetworks) known.emplace_back(network.name);
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

std::vector<Row> machine_rows(const std::vector<e3::Case>& cases) {
    std::vector<Row> rows{{"setting", "network", "ops", "GPUs", "memory of a GPU", "batches", "in flight", "one GPU"}};
    for (const e3::Case& item : cases) {
        rows.push_back({std::string(to_string(item.setting)), item.network, std::to_string(item.job.problem->forward->ops().size()),
                        std::to_string(item.job.machine->devices().size() - 1), format_bytes(item.gpu_memory_bytes),
                        std::to_string(item.job.simulation.batches), std::to_string(item.job.simulation.in_flight),
                        item.one_gpu_fits ? format_seconds(item.one_gpu_s) : "does not fit"});
    }
    return rows;
}

std::vector<Row> parameter_rows(const std::vector<Contestant>& contestants) {
    std::vector<Row> rows{{"algorithm", "parameter", "value"}};
    for (const Contestant& contestant : contestants) {
        for (const auto& [name, value] : contestant.options) rows.push_back({contestant.algorithm->id, name, to_string(value)});
    }
    return rows;
}

std::vector<Row> finding_rows(const std::vector<e3::Finding>& findings) {
    std::vector<Row> rows{{"here", "setting", "the thesis found", "figures (means)"}};
    for (const e3::Finding& finding : findings)
        rows.push_back({std::string(to_string(finding.verdict)), std::string(to_string(finding.setting)), finding.claim, finding.data});
    return rows;
}

void print_findings(const std::vector<e3::Finding>& findings) {
    std::cout << "\nWhat the thesis found, and whether it is so here:\n";
    for (const e3::Finding& finding : findings) {
        std::cout << '\n'
                  << table("lll", {{std::string(to_string(finding.verdict)), std::string(to_string(finding.setting)), finding.claim}})
                  << "  " << wrapped(finding.data, 2);
    }
}

std::string report(const std::vector<e3::Case>& cases, const std::vector<Contestant>& contestants, const std::vector<e3::Finding>& findings,
                   const ExperimentArguments& arguments) {
    std::string text = "# Experiment E3: comparison of optimization algorithms\n\n";
    text += "Evaluations of each search: " + std::to_string(arguments.evaluations) +
            ". Batch size 128, efficiency of devices 0.9, of channels 0.25; op times and memory as in Exprimo (`--cost exprimo --memory "
            "exprimo`).\n\n## Problems\n\n" +
            markdown(machine_rows(cases)) + "\n## Parameters\n\n" + markdown(parameter_rows(contestants)) + "\n## Results\n";
    for (const e3::Case& item : cases) {
        if (item.compared.runs.empty()) continue;
        text += "\n### " + item.compared.title + "\n\n" + markdown(standing_rows(item.compared));
    }
    return text + "\n## Findings\n\n" + markdown(finding_rows(findings));
}

void write_results(const std::vector<e3::Case>& cases, const std::vector<Contestant>& contestants, const std::vector<e3::Finding>& findings,
                   const ExperimentArguments& arguments) {
    const Path folder = arguments.out;
    std::vector<ComparedCase> compared;
    for (const e3::Case& item : cases) compared.push_back(item.compared);
    write_file(folder / "e3.md", report(cases, contestants, findings, arguments));
    write_file(folder / "runs.csv", runs_csv({"setting", "network"}, compared));
    write_file(folder / "curves.csv", curves_csv({"setting", "network"}, compared));
}

void run_case(const ExperimentArguments& arguments, e3::Case& item, const std::string& place, const std::stop_token& stop) {
    ComparisonTask task{item.job.problem,      item.job.simulation, item.job.objective, {}, item.compared.contestants, {},
                        arguments.evaluations, arguments.threads};
    task.seeds.resize(arguments.seeds > 0 ? arguments.seeds : e3::thesis_repeats(item.setting));
    std::iota(task.seeds.begin(), task.seeds.end(), 1);
    const ProgressLine line(place + item.compared.labels[0] + ", " + item.network + ": ");
    try {
        item.compared.runs = compare(task, stop, line.callback());
    } catch (const OptionError& error) {
        throw UsageError(std::string("--set: ") + error.what());
    }
    item.compared.best_known_s = best_score_s(item.compared.runs);
}

}  // namespace

void ExperimentArguments::add_to(CLI::App& command) {
    command.add_option("NAME", name, "e3: the comparison of algorithms in the thesis on Exprimo")->required()->check(usage::one_of({"e3"}));
    command.add_option("--out", out, "Folder for the tables (e3.md), searches and curves (CSV)")->type_name("DIR");
    command.add_option("--seeds", seeds, "Searches of each algorithm; else 50, pipelined 10")
        ->check(usage::whole_number(1, 10'000))
        ->type_name("N");
    command.add_option("--evaluations", evaluations, "Placements that each search scores")
        ->check(usage::whole_number(1, 1'000'000'000'000))
        ->type_name("N")
        ->capture_default_str();
    usage::add_threads(command, threads, "Searches at a time, 0 for all cores; the results are the same");
    usage::add_repeated(command, "--network", networks, "Read a network from a file (Exprimo's, say)", "NAME=FILE");
    usage::add_repeated(command, "--set", settings, "Change an option of an algorithm", "ALGORITHM.OPTION=VALUE");
}

int run_experiment(const ExperimentArguments& arguments) {
    const InterruptGuard interrupt;
    std::vector<Contestant> contestants = e3::contestants();
    apply_settings(contestants, arguments.settings);
    const auto files = network_files(arguments.networks);
    if (!arguments.out.empty()) make_folder(arguments.out);
    std::vector<e3::Case> cases = e3::cases(files);
    for (std::size_t i = 0; i < cases.size() && !interrupt.token().stop_requested(); ++i) {
        e3::Case& item = cases[i];
        item.compared.contestants = contestants;
        run_case(arguments, item, std::to_string(i + 1) + " of " + std::to_string(cases.size()) + ": ", interrupt.token());
        std::cout << (i > 0 ? "\n" : "") << item.compared.title << "; one GPU "
                  << (item.one_gpu_fits ? format_seconds(item.one_gpu_s) : "does not fit") << "\n\n"
                  << table(kStandingAlignment, standing_rows(item.compared));
        std::cout.flush();
    }
    const std::vector<e3::Finding> findings = e3::findings(cases);
    print_findings(findings);
    if (!arguments.out.empty()) {
        write_results(cases, contestants, findings, arguments);
        std::cout << "\nwritten to " << arguments.out << '\n';
    }
    if (!interrupt.token().stop_requested()) return kDone;
    std::cerr << "placewright-cli: cancelled before all searches were finished\n";
    return kCancelled;
}

}  // namespace placewright
