// SPDX-License-Identifier: MIT
// The policy that ships: its placements and the searches that it guides, on networks that it was not trained
// on.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "app/experiments/experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/graph/networks.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 4> kMachines{"4x-v100-nvlink", "4x-v100-pcie", "8x-a100-nvlink",
                                                    "mixed-v100-p100-k80"};
constexpr std::array<std::string_view, 7> kRules{"single-device", "expert", "heft", "m-etf",
                                                 "m-sct",         "scotch", "metis"};
constexpr std::int64_t kBatch = 32;

/// The contestants by number: the policy, Auto with and without its guidance, the rules.
enum : std::size_t { kInstant, kGuided, kUnguided, kFirstRule };

std::vector<ExperimentCase> cases(const ExperimentInputs& inputs) {
    std::vector<ExperimentCase> all;
    for (const NetworkInfo& network : known_networks()) {
        const std::shared_ptr<const Graph> graph = inputs.network(std::string(network.name), kBatch);
        for (const std::string_view machine : kMachines) {
            JobOptions options;
            options.problem.grouping = inputs.grouping;
            ExperimentCase item;
            item.job = make_job(
                graph, std::make_shared<const Machine>(read_machine(find_machine_file(std::string(machine)))),
                options);
            measure_one_gpu(item);
            item.compared.title = std::string(network.name) + " on " + item.job.machine->name();
            item.compared.labels = {std::string(network.name), std::string(machine)};
            item.compared.contestants = {{find_algorithm("instant"), {}},
                                         {find_algorithm("auto"), {}},
                                         {find_algorithm("auto"), {{"policy", false}}}};
            for (const std::string_view id : kRules)
                item.compared.contestants.push_back({find_algorithm(id), {}});
            all.push_back(std::move(item));
        }
    }
    return all;
}

/// Median over the seeds of the best scores of a contestant; nothing if it has not run.
std::optional<double> score_s(const ExperimentCase& item, std::size_t contestant) {
    std::vector<double> scores_s;
    for (const ComparedRun& run : item.compared.runs) {
        if (run.contestant == contestant) scores_s.push_back(run.progress.best.penalised_s);
    }
    if (scores_s.empty()) return {};
    return median(std::move(scores_s));
}

std::optional<double> best_rule_s(const ExperimentCase& item) {
    std::optional<double> best;
    for (std::size_t i = 0; i < kRules.size(); ++i) {
        const auto own = score_s(item, kFirstRule + i);
        if (own && (!best || *own < *best)) best = own;
    }
    return best;
}

/// Ratios of two scores by case, of the cases that have both.
template <class Above, class Below>
std::vector<double> ratios(const std::vector<ExperimentCase>& cases, const Above& above, const Below& below) {
    std::vector<double> all;
    for (const ExperimentCase& item : cases) {
        const std::optional<double> a = above(item), b = below(item);
        if (a && b && *b > 0) all.push_back(*a / *b);
    }
    return all;
}

auto contestant(std::size_t number) {
    return [number](const ExperimentCase& item) { return score_s(item, number); };
}

std::string spread_text(const std::vector<double>& ratios) {
    char text[96];
    std::snprintf(text, sizeof text, "median %.4f, largest %.3f, %zu cases", median(ratios),
                  *std::ranges::max_element(ratios), ratios.size());
    return text;
}

std::vector<Finding> findings(const std::vector<ExperimentCase>& cases) {
    std::vector<Finding> all;
    const auto add = [&](const char* claim, const std::vector<double>& of, const auto& holds) {
        Finding finding{"all", claim};
        finding.add(!of.empty(), !of.empty() && holds(of), of.empty() ? "" : spread_text(of));
        finding.missing = cases.size() - of.size();
        all.push_back(std::move(finding));
    };
    const auto instant = ratios(cases, contestant(kInstant), contestant(kUnguided));
    add("Instant takes at most 1.03 of the step time that Auto finds without the policy, in the median.",
        instant, [](const auto& of) { return median(of) <= 1.03; });
    add("Instant takes nowhere more than 1.15 of it.", instant,
        [](const auto& of) { return *std::ranges::max_element(of) <= 1.15; });
    add("Instant is at least as good as the best of one device, the expert, HEFT, m-ETF, m-SCT, Scotch and "
        "METIS "
        "in nine cases of ten.",
        ratios(cases, contestant(kInstant), best_rule_s), [](const auto& of) {
            constexpr double kSame = 1.0005;
            return std::ranges::count_if(of, [](double ratio) { return ratio <= kSame; }) >=
                   0.9 * static_cast<double>(of.size());
        });
    add("Auto with the policy is at least as good as without, in the median.",
        ratios(cases, contestant(kGuided), contestant(kUnguided)),
        [](const auto& of) { return median(of) <= 1; });
    return all;
}

std::vector<ReportTable> tables(const std::vector<ExperimentCase>& cases) {
    ReportTable table{"Step time beside that of Auto without the policy (medians)",
                      {{"network, machine", "Auto without", "Auto", "instant", "best rule", "one GPU"}}};
    for (const ExperimentCase& item : cases) {
        const auto unguided = score_s(item, kUnguided);
        if (!unguided) continue;
        const auto text = [&](std::optional<double> other) -> std::string {
            if (!other) return "-";
            char ratio[32];
            std::snprintf(ratio, sizeof ratio, "%.3f", *other / *unguided);
            return ratio;
        };
        table.rows.push_back({item.compared.labels[0] + ", " + item.compared.labels[1],
                              format_seconds(*unguided), text(score_s(item, kGuided)),
                              text(score_s(item, kInstant)), text(best_rule_s(item)),
                              item.one_gpu_fits ? text(item.one_gpu_s) : "OOM"});
    }
    return {table};
}

}  // namespace

const Experiment& policy_experiment() {
    static const Experiment experiment = [] {
        Experiment made{
            "policy",
            "The policy that ships",
            "The shipped policy: its placements, and Auto with and without it, beside simple rules.",
            "this program",
            "Batch size 32; the machines that ship, with their default costs. No network is one that "
            "the policy was trained on.",
            {"network", "machine"},
            {},
            20'000,
            cases,
            findings,
            tables};
        for (const NetworkInfo& network : known_networks()) made.networks.push_back(network.name);
        return made;
    }();
    return experiment;
}

}  // namespace placewright
