// SPDX-License-Identifier: MIT
#include "app/cli/experiment_command.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "app/cli/console.hpp"
#include "app/cli/hardware_command.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/measured_command.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/experiments/experiment.hpp"
#include "app/experiments/learning_experiment.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::string_view kMeasured = "measured";

std::array<const Experiment*, 4> experiments() {
    return {&e3(), &post_experiment(), &placeto_experiment(), &policy_experiment()};
}

std::array<const LearningExperiment*, 4> learning_experiments() {
    return {&placeto_families(), &placeto_rewards(), &placeto_orders(), &placeto_ablations()};
}

std::string defaults(const Experiment& experiment) {
    return "(--evaluations " + std::to_string(experiment.evaluations) + ")";
}

std::string defaults(const LearningExperiment& experiment) {
    return "(--updates " + std::to_string(experiment.updates) +
           (experiment.count > 0 ? " --count " + std::to_string(experiment.count) : "") + ")";
}

/// Names of the files of a comparison of algorithms in --out.
std::array<std::string, 4> comparison_files(const std::string& id) {
    return {id + ".md", "runs.csv", "curves.csv", "means.csv"};
}

/// Names of the files of an experiment that trains policies.
std::array<std::string, 3> training_files(const std::string& id) {
    return {id + ".md", "values.csv", "curves.csv"};
}

/// Throws UsageError if a network file to read has the name of an output file.
void keep_networks(const ExperimentArguments& arguments, std::span<const std::string> files) {
    if (arguments.out.empty()) return;
    std::vector<std::string> inputs;
    for (const std::string& text : arguments.networks) inputs.push_back(text.substr(text.find('=') + 1));
    std::vector<OutputFile> outputs;
    for (const std::string& name : files) outputs.push_back({"--out", (Path(arguments.out) / name).string()});
    keep_apart(outputs, inputs);
}

/// Reads "NAME=FILE" texts. `networks`: names that the experiment `id` knows. Throws UsageError.
std::map<std::string, std::string> network_files(std::string_view id,
                                                 const std::vector<std::string_view>& networks,
                                                 const std::vector<std::string>& texts) {
    std::map<std::string, std::string> files;
    const std::vector<std::string> known(networks.begin(), networks.end());
    for (const std::string& text : texts) {
        if (known.empty())
            throw UsageError("--network " + text + ": " + std::string(id) + " generates its networks");
        const auto equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (equals == std::string::npos || std::ranges::find(known, name) == known.end())
            throw UsageError("--network " + text + ": expected NAME=FILE with one of " +
                             usage::joined(known, ", "));
        files[name] = text.substr(equals + 1);
    }
    return files;
}

std::vector<Row> problem_rows(const Experiment& experiment, const std::vector<ExperimentCase>& cases) {
    std::vector<Row> rows{experiment.label_names};
    const bool gpus_are_labels =
        std::ranges::find(experiment.label_names, "GPUs") != experiment.label_names.end();
    for (const char* name : {"ops", "groups", "GPUs", "memory of a GPU", "batches", "in flight", "one GPU"}) {
        if (!gpus_are_labels || name != std::string_view("GPUs")) rows.front().emplace_back(name);
    }
    for (const ExperimentCase& item : cases) {
        if (item.compared.runs.empty()) continue;
        const Job& job = item.job;
        Row row = item.compared.labels;
        row.push_back(std::to_string(job.problem->network->size()));
        row.push_back(std::to_string(job.problem->groups));
        if (!gpus_are_labels)
            row.push_back(
                std::to_string(std::ranges::count(job.machine->devices(), DeviceKind::gpu, &Device::kind)));
        for (const auto& cell :
             {format_bytes(item.gpu_memory_bytes), std::to_string(job.simulation.batches),
              std::to_string(job.simulation.in_flight),
              item.one_gpu_fits ? format_seconds(item.one_gpu_s) : std::string("does not fit")})
            row.push_back(cell);
        rows.push_back(std::move(row));
    }
    return rows;
}

/// Table of the options that differ from the defaults, each algorithm and option once; empty if there are
/// none.
std::string parameter_section(std::span<const std::vector<Contestant>> cases) {
    std::vector<Row> rows{{"algorithm", "parameter", "value"}};
    for (const std::vector<Contestant>& contestants : cases) {
        for (std::size_t i = 0; i < contestants.size(); ++i) {
            for (const auto& [name, value] : contestants[i].options) {
                Row row{contestant_name(contestants, i), name, to_string(value)};
                if (std::ranges::find(rows, row) == rows.end()) rows.push_back(std::move(row));
            }
        }
    }
    return rows.size() > 1 ? "\n## Parameters\n\n" + markdown(rows) : std::string();
}

std::string parameter_section(const std::vector<ExperimentCase>& cases) {
    std::vector<std::vector<Contestant>> ran;
    for (const ExperimentCase& item : cases) {
        if (!item.compared.runs.empty()) ran.push_back(item.compared.contestants);
    }
    return parameter_section(ran);
}

std::string figures_text(const Finding& finding) {
    if (finding.missing == 0) return finding.data;
    return finding.data + "; " + std::to_string(finding.missing) +
           (finding.missing == 1 ? " case was" : " cases were") + " not run";
}

/// `where`: title of the column with the label that a finding is about.
std::vector<Row> finding_rows(const std::string& where, std::string_view source,
                              const std::vector<Finding>& findings) {
    std::vector<Row> rows{{"result here", where, "finding of " + std::string(source), "figures"}};
    for (const Finding& finding : findings) {
        if (finding.verdict != Verdict::not_run)
            rows.push_back({std::string(to_string(finding.verdict)), finding.where, finding.claim,
                            figures_text(finding)});
    }
    return rows;
}

/// What ended an experiment before its end, as the beginning of a sentence.
constexpr const char* kInterrupted = "Interrupted";
constexpr const char* kDiverged = "Ended by a training that diverged";

/// Takes the verdict from findings that need what an experiment that was cut short has not run.
void leave_undecided(std::vector<Finding>& findings, const auto& needs_more) {
    for (Finding& finding : findings) {
        if (finding.verdict != Verdict::not_run && needs_more(finding)) finding.verdict = Verdict::undecided;
    }
}

/// Says how many findings have no data; empty if there are none.
std::string not_run_text(const std::vector<Finding>& findings) {
    const auto count = std::ranges::count(findings, Verdict::not_run, &Finding::verdict);
    if (count == 0) return {};
    return std::to_string(count) + (count == 1 ? " finding is" : " findings are") +
           " omitted: their cases did not run to the end.";
}

std::string findings_text(const std::string& where, std::string_view source,
                          const std::vector<Finding>& findings) {
    const std::string not_run = not_run_text(findings);
    return "\n## Findings\n\n" + markdown(finding_rows(where, source, findings)) +
           (not_run.empty() ? "" : '\n' + not_run + '\n');
}

/// A paragraph of the sentences of part_text(); empty if all of the experiment ran.
std::string part_paragraph(const std::string& part) {
    return part.empty() ? part : "Only a part of the experiment ran, and the findings refer to it:" + part;
}

void print_findings(std::string_view source, const std::vector<Finding>& findings, const std::string& part) {
    std::cout << "\nFindings of " << source << ", checked against the results here:\n";
    if (!part.empty()) std::cout << wrapped(part_paragraph(part), 0);
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::not_run) continue;
        std::cout << '\n'
                  << table("lll", {{std::string(to_string(finding.verdict)), finding.where, finding.claim}})
                  << "  " << wrapped(figures_text(finding), 2);
    }
    if (const std::string text = not_run_text(findings); !text.empty()) std::cout << '\n' << text << '\n';
}

void print_tables(const std::vector<ReportTable>& tables) {
    for (const ReportTable& extra : tables)
        std::cout << '\n'
                  << extra.title << "\n\n"
                  << table('l' + std::string(extra.rows.front().size() - 1, 'r'), extra.rows);
}

/// What ran of an experiment that compares algorithms.
struct ComparedPart {
    std::size_t chosen = 0;             ///< cases
    std::size_t whole = 0;              ///< chosen cases of which all searches ended
    std::string begun;                  ///< the case that was cut short, and what there is of it
    std::vector<ExperimentCase> cases;  ///< without the runs of that case

    bool is_cut_short() const { return whole < chosen; }
};

/// Sentences on the selected part of an experiment, each after a blank; empty if all of it was selected.
std::string part_text(const ExperimentArguments& arguments) {
    std::string text;
    if (!arguments.only.empty()) text += " Only the cases " + usage::joined(arguments.only, "; ") + '.';
    if (!arguments.families.empty())
        text += " Only the families " + usage::joined(arguments.families, ", ") + '.';
    if (!arguments.algorithms.empty()) text += " Only " + usage::joined(arguments.algorithms, ", ") + '.';
    return text;
}

std::string less_text(std::uint64_t count, std::uint64_t full, const char* what) {
    return count < full ? " Only " + std::to_string(count) + " of " + std::to_string(full) + ' ' + what + '.'
                        : std::string();
}

std::string part_text(const Experiment& experiment, const ComparedPart& part,
                      const ExperimentArguments& arguments) {
    std::string text = part_text(arguments) +
                       less_text(arguments.evaluations, experiment.evaluations, "placements for each search");
    std::size_t repeats = 0;
    for (const ExperimentCase& item : part.cases)
        repeats = std::max(repeats, item.compared.runs.empty() ? 0 : item.repeats);
    if (arguments.seeds > 0) text += less_text(arguments.seeds, repeats, "seeds");
    if (part.is_cut_short())
        text += ' ' + std::string(kInterrupted) + ": " + std::to_string(part.whole) + " of " +
                std::to_string(part.chosen) + " cases ran to the end" + part.begun + '.';
    return text;
}

/// `cut_short`: what ended the experiment early; null: nothing did.
std::string part_text(const LearningExperiment& experiment, const LearningInputs& inputs,
                      const LearningData& data, const char* cut_short, const ExperimentArguments& arguments) {
    std::string text = part_text(arguments) +
                       less_text(inputs.updates, experiment.updates, "updates of a training") +
                       less_text(inputs.count, experiment.count,
                                 inputs.families.empty() ? "orders" : "networks of a family");
    if (cut_short == nullptr) return text;
    const auto whole = std::ranges::count_if(data.curves, &LearningCurve::is_complete);
    text += ' ' + std::string(cut_short) + " after " + std::to_string(whole) +
            (whole == 1 ? " training" : " trainings");
    if (!data.curves.empty() && !data.curves.back().is_complete())
        text += " and " + std::to_string(data.curves.back().points.size()) + " of " +
                std::to_string(data.curves.back().updates) + " updates of the next";
    return text + '.';
}

std::size_t seeds_of(const ExperimentCase& item, const ExperimentArguments& arguments) {
    return arguments.seeds > 0 ? arguments.seeds : item.repeats;
}

/// "; seeds: 1 to 5"; cases may have different numbers of seeds.
std::string seeds_text(const std::vector<ExperimentCase>& cases, const ExperimentArguments& arguments) {
    std::set<std::size_t> counts;
    for (const ExperimentCase& item : cases) {
        if (!item.compared.runs.empty()) counts.insert(seeds_of(item, arguments));
    }
    std::string text;
    for (const std::size_t count : counts)
        text += (text.empty() ? "; seeds: " : " or ") + std::string("1") +
                (count > 1 ? " to " + std::to_string(count) : "");
    if (counts.size() > 1) text += ", by case";
    return text;
}

/// "; grouping: scope", or nothing where ops are grouped as the experiment does.
std::string grouping_text(const ExperimentArguments& arguments) {
    return arguments.grouping.group == "none" ? "" : "; grouping: " + arguments.grouping.group;
}

/// "\n\n" and part_paragraph(), or nothing.
std::string part_section(const std::string& part) {
    return part.empty() ? part : "\n\n" + part_paragraph(part);
}

/// Tables beside the standings. Those of an experiment that was cut short before its first case ended have no
/// rows and are left out.
std::vector<ReportTable> tables(const Experiment& experiment, const ComparedPart& part) {
    return experiment.tables != nullptr && (part.whole > 0 || !part.is_cut_short())
               ? experiment.tables(part.cases)
               : std::vector<ReportTable>();
}

std::string report(const Experiment& experiment, const std::vector<ExperimentCase>& cases,
                   const ComparedPart& part, const std::vector<Finding>& findings,
                   const ExperimentArguments& arguments) {
    std::string text = "# " + std::string(experiment.title) +
                       "\n\nEvaluations of each search: " + std::to_string(arguments.evaluations) +
                       seeds_text(part.cases, arguments) + grouping_text(arguments) + ". " +
                       std::string(experiment.conditions) +
                       part_section(part_text(experiment, part, arguments)) + "\n\n## Problems\n\n" +
                       markdown(problem_rows(experiment, cases)) + parameter_section(cases) +
                       "\n## Results\n";
    for (const ReportTable& extra : tables(experiment, part))
        text += "\n### " + extra.title + "\n\n" + markdown(extra.rows);
    for (const ExperimentCase& item : cases) {
        if (item.compared.runs.empty()) continue;
        text += "\n### " + item.compared.title + "\n\n" + markdown(standing_rows(item.compared));
    }
    return text + findings_text(experiment.label_names.front(), experiment.source, findings);
}

void write_results(const Experiment& experiment, const std::vector<ExperimentCase>& cases,
                   const ComparedPart& part, const std::vector<Finding>& findings,
                   const ExperimentArguments& arguments) {
    const Path folder = arguments.out;
    std::vector<ComparedCase> compared;
    for (const ExperimentCase& item : cases) compared.push_back(item.compared);
    write_file(folder / (std::string(experiment.id) + ".md"),
               report(experiment, cases, part, findings, arguments));
    write_file(folder / "runs.csv", runs_csv(experiment.label_names, compared));
    write_file(folder / "curves.csv", curves_csv(experiment.label_names, compared));
    write_file(folder / "means.csv", means_csv(experiment.label_names, compared));
}

void run_case(const ExperimentArguments& arguments, ExperimentCase& item, const std::string& place,
              const std::stop_token& stop) {
    ComparisonTask task{
        item.job.problem,      item.job.simulation, item.job.penalty, {}, item.compared.contestants, {},
        arguments.evaluations, arguments.threads};
    task.seeds.resize(seeds_of(item, arguments));
    std::iota(task.seeds.begin(), task.seeds.end(), 1);
    const ProgressLine line(place + usage::joined(item.compared.labels, ", ") + ": ");
    try {
        item.compared.runs = compare(task, stop, line.callback());
    } catch (const OptionError& error) {
        throw UsageError(std::string("--set: ") + error.what());
    }
    item.compared.best_known_s = best_score_s(item.compared.runs);
}

/// Keeps only the algorithms that --algorithm selects. Throws UsageError for an unknown one.
void choose(std::vector<Contestant>& contestants, const std::vector<std::string>& ids) {
    std::vector<std::string> known;
    for (const Contestant& contestant : contestants) known.emplace_back(contestant.algorithm->id);
    for (const std::string& id : ids) {
        if (std::ranges::find(known, id) == known.end())
            throw UsageError("--algorithm " + id + ": expected one of " + usage::joined(known, ", "));
    }
    if (ids.empty()) return;
    std::erase_if(contestants, [&](const Contestant& each) {
        return std::ranges::find(ids, each.algorithm->id) == ids.end();
    });
}

/// Indices of the cases that --only selects, or of all. Throws UsageError for unknown labels.
std::vector<std::size_t> chosen_cases(const std::vector<ExperimentCase>& cases,
                                      const std::vector<std::string>& only) {
    std::vector<bool> chosen(cases.size(), only.empty());
    for (const std::string& text : only) {
        const std::vector<std::string> asked = usage::split(text);
        std::vector<std::string> all;
        bool found = false;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const std::vector<std::string>& labels = cases[i].compared.labels;
            all.push_back('"' + usage::joined(labels, ",") + '"');
            if (!std::ranges::all_of(asked, [&](const std::string& each) {
                    return std::ranges::find(labels, each) != labels.end();
                }))
                continue;
            chosen[i] = found = true;
        }
        if (!found)
            throw UsageError("--only " + text + ": expected labels of one of " + usage::joined(all, ", "));
    }
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (chosen[i]) places.push_back(i);
    }
    return places;
}

/// Ends the titles of a case that was cut short with that. Returns "; 7 to 9 of 50 seeds of normal, alexnet".
std::string note_cut_short(ExperimentCase& item, const ExperimentArguments& arguments) {
    std::vector<std::size_t> counts(item.compared.contestants.size());
    for (const ComparedRun& run : item.compared.runs) ++counts[run.contestant];
    const auto [least, most] = std::ranges::minmax(counts);
    if (most == 0) return {};
    item.compared.title += " (cut short)";
    return "; " + (least < most ? std::to_string(least) + " to " : std::string()) + std::to_string(most) +
           " of " + std::to_string(seeds_of(item, arguments)) + " seeds of " +
           usage::joined(item.compared.labels, ", ");
}

int run_comparisons(const Experiment& experiment, ExperimentArguments arguments) {
    const std::string id(experiment.id);
    if (arguments.updates > 0)
        throw UsageError("--updates: the length of " + id + " is set by --evaluations");
    if (arguments.count > 0) throw UsageError("--count: " + id + " does not use it");
    if (!arguments.families.empty()) throw UsageError("--family: " + id + " has no families");
    const InterruptGuard interrupt;
    if (arguments.evaluations == 0) arguments.evaluations = experiment.evaluations;
    const ExperimentInputs inputs{network_files(experiment.id, experiment.networks, arguments.networks),
                                  arguments.grouping.options()};
    std::vector<ExperimentCase> cases = experiment.cases(inputs);
    const std::vector<std::size_t> chosen = chosen_cases(cases, arguments.only);
    for (ExperimentCase& item : cases) {
        apply_settings(item.compared.contestants, arguments.settings);
        choose(item.compared.contestants, arguments.algorithms);
    }
    arguments.prepare_out(comparison_files(id));
    ComparedPart part{chosen.size(), 0, {}, {}};
    for (std::size_t i = 0; i < chosen.size() && part.whole == i; ++i) {
        ExperimentCase& item = cases[chosen[i]];
        run_case(arguments, item, std::to_string(i + 1) + " of " + std::to_string(chosen.size()) + ": ",
                 interrupt.token());
        if (interrupt.token().stop_requested()) {
            part.begun = note_cut_short(item, arguments);
        } else {
            ++part.whole;
        }
        std::cout << (i > 0 ? "\n" : "") << printable(item.compared.title) << "; one GPU "
                  << (item.one_gpu_fits ? format_seconds(item.one_gpu_s) : "does not fit") << "\n\n"
                  << table(standing_alignment(item.compared), standing_rows(item.compared));
        std::cout.flush();
    }
    part.cases = cases;
    if (part.is_cut_short()) part.cases[chosen[part.whole]].compared.runs.clear();
    print_tables(tables(experiment, part));
    std::vector<Finding> findings = experiment.findings(part.cases);
    if (part.is_cut_short())
        leave_undecided(findings, [](const Finding& finding) { return finding.missing > 0; });
    print_findings(experiment.source, findings, part_text(experiment, part, arguments));
    if (!arguments.out.empty()) {
        write_results(experiment, cases, part, findings, arguments);
        std::cout << "\nwritten to " << printable(arguments.out, 4096) << '\n';
    }
    if (!part.is_cut_short()) return kDone;
    std::cerr << "placewright-cli: cancelled before all searches finished\n";
    return kCancelled;
}

/// The families that --family selects, or all. Throws UsageError for an unknown one.
std::vector<const FamilyInfo*> chosen_families(const LearningExperiment& experiment,
                                               const std::vector<std::string>& names) {
    std::vector<const FamilyInfo*> chosen;
    const std::vector<std::string> known(experiment.families.begin(), experiment.families.end());
    for (const std::string& name : names) {
        if (std::ranges::find(known, name) == known.end())
            throw UsageError("--family " + name + ": " + std::string(experiment.id) + " has " +
                             (known.empty() ? "no families" : usage::joined(known, ", ")));
    }
    for (const std::string& name : known) {
        if (names.empty() || std::ranges::find(names, name) != names.end())
            chosen.push_back(find_family(name));
    }
    return chosen;
}

LearningInputs learning_inputs(const LearningExperiment& experiment, const ExperimentArguments& arguments) {
    const std::string id(experiment.id);
    if (arguments.evaluations > 0)
        throw UsageError("--evaluations: the length of " + id + " is set by --updates");
    if (arguments.count > 0 && experiment.count == 0) throw UsageError("--count: " + id + " does not use it");
    if (!arguments.only.empty())
        throw UsageError(
            "--only: " + id +
            (experiment.families.empty() ? " has only one case" : " has families, selected by --family"));
    LearningInputs inputs;
    inputs.problems = {network_files(experiment.id, experiment.networks, arguments.networks),
                       arguments.grouping.options()};
    inputs.families = chosen_families(experiment, arguments.families);
    inputs.count = arguments.count > 0 ? arguments.count : experiment.count;
    inputs.updates = arguments.updates > 0 ? arguments.updates : experiment.updates;
    inputs.seeds = std::max<std::uint64_t>(1, arguments.seeds);
    inputs.threads = arguments.threads;
    inputs.policies = experiment.policies;
    apply_settings(inputs.policies, arguments.settings);
    choose(inputs.policies, arguments.algorithms);
    for (const Contestant& policy : inputs.policies) {
        // Wrong options are reported before the first training starts.
        try {
            find_policy(policy.algorithm->id)->make(policy.options, {2, 2});
        } catch (const OptionError& error) {
            throw UsageError(std::string("--set: ") + error.what());
        }
    }
    if (!inputs.families.empty() && inputs.count < 2)
        throw UsageError("--count: a family needs 2 networks, one to train on and one to test");
    return inputs;
}

std::string report(const LearningExperiment& experiment, const LearningInputs& inputs,
                   const LearningData& data, const std::string& part, const std::vector<Finding>& findings,
                   const ExperimentArguments& arguments) {
    std::string text = "# " + std::string(experiment.title) +
                       "\n\nUpdates of a training on one network: " + std::to_string(inputs.updates) +
                       ", on several: half as many for each of them; seeds: " + std::to_string(inputs.seeds);
    if (!inputs.families.empty()) text += "; networks of a family: " + std::to_string(inputs.count);
    text += grouping_text(arguments) + ". " + std::string(experiment.conditions) + part_section(part) + '\n' +
            parameter_section(std::span(&inputs.policies, 1)) + "\n## Results\n";
    for (const ReportTable& extra : experiment.tables(data))
        text += "\n### " + extra.title + "\n\n" + markdown(extra.rows);
    return text + findings_text("family", experiment.source, findings);
}

int run_trainings(const LearningExperiment& experiment, const ExperimentArguments& arguments) {
    const InterruptGuard interrupt;
    const LearningInputs inputs = learning_inputs(experiment, arguments);
    arguments.prepare_out(training_files(arguments.name));
    LearningData data;
    const char* cut_short = nullptr;
    std::exception_ptr diverged;
    {
        const ProgressLine line("");
        LearningRun run(inputs, data, interrupt.token(),
                        [&line](const std::string& text) { line.show(text); });
        try {
            experiment.run(run);
        } catch (const LearningRun::Stopped&) {
            cut_short = kInterrupted;  // The results so far are shown.
        } catch (const TrainingDiverged&) {
            cut_short = kDiverged;
            diverged = std::current_exception();
        }
    }
    std::vector<Finding> findings = experiment.findings(data);
    if (cut_short != nullptr) leave_undecided(findings, [](const Finding&) { return true; });
    const std::string part = part_text(experiment, inputs, data, cut_short, arguments);
    print_tables(experiment.tables(data));
    print_findings(experiment.source, findings, part);
    if (!arguments.out.empty()) {
        const Path folder = arguments.out;
        write_file(folder / (std::string(experiment.id) + ".md"),
                   report(experiment, inputs, data, part, findings, arguments));
        write_file(folder / "values.csv", values_csv(data));
        write_file(folder / "curves.csv", learning_curves_csv(data));
        std::cout << "\nwritten to " << printable(arguments.out, 4096) << '\n';
    }
    if (diverged) std::rethrow_exception(diverged);
    if (cut_short == nullptr) return kDone;
    std::cerr << "placewright-cli: cancelled before all trainings finished\n";
    return kCancelled;
}

}  // namespace

void ExperimentArguments::add_to(CLI::App& command) {
    std::vector<std::string> ids;
    std::vector<Row> rows;
    const auto list = [&](const auto& experiments) {
        for (const auto* experiment : experiments) {
            ids.emplace_back(experiment->id);
            rows.push_back({"  " + ids.back(), std::string(experiment->help) + ' ' + defaults(*experiment)});
        }
    };
    list(experiments());
    list(learning_experiments());
    ids.emplace_back(kMeasured);
    rows.push_back({"  " + ids.back(), "Simulated against measured times of real GPUs (--data DIR)"});
    for (const auto& [id, help] : hardware_experiments()) {
        ids.emplace_back(id);
        rows.push_back({"  " + ids.back(), std::string(help)});
    }
    command.footer("Experiments, with their default size:\n" + table("ll", rows) + '\n' +
                   command.get_parent()->get_footer());
    command.add_option("NAME", name, "Experiment to repeat, see below")
        ->required()
        ->type_name(usage::joined(ids, "|"))
        ->check(usage::one_of(ids));
    command.add_option("--out", out, "Folder for the tables (NAME.md) and their data (CSV)")
        ->check(usage::path())
        ->type_name("DIR");
    command.add_flag("--overwrite", overwrite, "Replace results of an earlier run in --out");
    command.add_option("--seeds", seeds, "Seeds [e3: 50, 10 pipelined; post: 5; placeto: 3; trainings: 1]")
        ->check(usage::whole_number(1, 10'000))
        ->type_name("N");
    command.add_option("--evaluations", evaluations, "Placements scored by each search [see below]")
        ->check(usage::whole_number(1, 1'000'000'000'000))
        ->type_name("N");
    usage::add_repeated(command, "--algorithm", algorithms, "Run only this algorithm or policy", "A");
    usage::add_repeated(command, "--only", only, "Only cases with these labels (limited,resnet50)", "LABELS");
    command
        .add_option("--updates", updates, "Updates per training (on several networks: half of N for each)")
        ->check(usage::whole_number(1, 1'000'000'000))
        ->type_name("N");
    command.add_option("--count", count, "Networks per family (paper: 32), or orders [see below]")
        ->check(usage::whole_number(1, 10'000))
        ->type_name("N");
    usage::add_repeated(command, "--family", families, "Run only this family (placeto-families)", "F");
    usage::add_threads(command, threads, "Threads, 0 for all cores; same results");
    usage::add_repeated(command, "--network", networks, "Read a network from a file", "NAME=FILE");
    grouping.add_to(command, "Which ops move together, see simulate --help");
    usage::add_repeated(command, "--set", settings, "Option of an algorithm", "ALGORITHM.OPTION=VALUE");
    command.add_option("--data", data, "Folder with the measurements (measured)")
        ->check(usage::path())
        ->type_name("DIR");
    command.add_option("--machine", machine, "Machine that this computer is (e1, e2, e4, e5) [two cores]")
        ->check(usage::path())
        ->type_name("M");
    command.add_option("--steps", steps, "Measured steps of each placement (e1, e2, e4, e5)")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N");
    command.add_option("--placements", placements, "Placements that are measured (e4, e5) [16]")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N");
    command.add_flag("--json", json, "Print one JSON object (e1, e2, e4, e5)");
}

void ExperimentArguments::refuse_search_options() const {
    const auto refuse = [this](bool given, const char* option) {
        if (given) throw UsageError(std::string(option) + ": " + name + " does not use it");
    };
    refuse(seeds > 0, "--seeds");
    refuse(!algorithms.empty(), "--algorithm");
    refuse(updates > 0, "--updates");
    refuse(count > 0, "--count");
    refuse(!families.empty(), "--family");
    refuse(threads > 0, "--threads");
    refuse(!networks.empty(), "--network");
    refuse(grouping.options() != GroupingOptions{}, "--group");
    refuse(!settings.empty(), "--set");
}

void ExperimentArguments::prepare_out(std::span<const std::string> files) const {
    if (out.empty()) {
        if (overwrite) throw UsageError("--overwrite: needs --out, the folder of the results");
        return;
    }
    make_folder(out);
    for (const std::string& each : files) {
        const Path file = Path(out) / each;
        std::error_code error;
        if (!overwrite && std::filesystem::exists(file, error))
            throw InputError(file.string(), "",
                             "exists already; give another folder, or replace its results with --overwrite");
    }
}

int run_experiment(const ExperimentArguments& arguments) {
    const auto is_named = [&](const auto& each) { return each.first == arguments.name; };
    if (std::ranges::any_of(hardware_experiments(), is_named)) return run_hardware_experiment(arguments);
    const auto refuse = [&](bool given, const char* option) {
        if (given) throw UsageError(std::string(option) + ": " + arguments.name + " does not use it");
    };
    refuse(!arguments.machine.empty(), "--machine");
    refuse(arguments.steps > 0, "--steps");
    refuse(arguments.placements > 0, "--placements");
    refuse(arguments.json, "--json");
    if (arguments.name == kMeasured) return run_measurements(arguments);
    if (!arguments.data.empty()) throw UsageError("--data: " + arguments.name + " does not use it");
    const auto has_name = [&](const auto* each) { return each->id == arguments.name; };
    const auto comparisons = experiments();
    if (const auto found = std::ranges::find_if(comparisons, has_name); found != comparisons.end()) {
        keep_networks(arguments, comparison_files(arguments.name));
        return run_comparisons(**found, arguments);
    }
    const auto trainings = learning_experiments();
    keep_networks(arguments, training_files(arguments.name));
    return run_trainings(**std::ranges::find_if(trainings, has_name), arguments);
}

}  // namespace placewright
