// SPDX-License-Identifier: MIT
#include "app/experiments/learning_experiment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "core/base/exit_status.hpp"
#include "core/base/infinity.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/job/learning_curve.hpp"
#include "core/learn/training_run.hpp"

namespace placewright {
namespace {

double time_s(const SchemeValue& value) {
    return value.fits ? value.step_time_s : kInfinity;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string csv_labels(const LearningLabel& label) {
    return label.family + ',' + label.scheme + ',' + label.graph + ',' + std::to_string(label.seed) + ',';
}

std::string number(double value) {
    return to_string(OptionValue(value));
}

std::string time_text(double seconds) {
    return seconds < kInfinity ? format_seconds(seconds) : "OOM";
}

}  // namespace

std::vector<double> LearningData::times_s(std::string_view family, std::string_view scheme) const {
    std::vector<double> times;
    for (const SchemeValue& value : values) {
        if (value.label.family == family && value.label.scheme == scheme) times.push_back(time_s(value));
    }
    return times;
}

std::vector<double> LearningData::ratios(std::string_view family, std::string_view scheme,
                                         std::string_view other) const {
    std::vector<double> found;
    for (const SchemeValue& value : values) {
        if (value.label.family != family || value.label.scheme != scheme) continue;
        const auto against = std::ranges::find_if(values, [&](const SchemeValue& item) {
            return item.label.family == family && item.label.scheme == other &&
                   item.label.graph == value.label.graph && item.label.seed == value.label.seed;
        });
        if (against != values.end() && (value.fits || against->fits))
            found.push_back(time_s(value) / time_s(*against));
    }
    return found;
}

std::vector<double> LearningData::one_device_ratios(std::string_view family, std::string_view scheme) const {
    std::vector<double> found;
    for (const SchemeValue& value : values) {
        if (value.label.family == family && value.label.scheme == scheme && value.one_device_s)
            found.push_back(time_s(value) / *value.one_device_s);
    }
    return found;
}

std::vector<std::string> LearningData::families() const {
    std::vector<std::string> names;
    for (const SchemeValue& value : values) add_once(names, value.label.family);
    return names;
}

std::vector<std::string> LearningData::schemes(std::string_view family) const {
    std::vector<std::string> names;
    for (const SchemeValue& value : values) {
        if (value.label.family == family) add_once(names, value.label.scheme);
    }
    return names;
}

std::string values_csv(const LearningData& data) {
    std::string text = "family,scheme,graph,seed,step_time_s,one_device_s,fits\n";
    for (const SchemeValue& value : data.values) {
        text += csv_labels(value.label) + number(value.step_time_s) + ',' +
                (value.one_device_s ? number(*value.one_device_s) : "") + ',' +
                (value.fits ? "true" : "false") + '\n';
    }
    return text;
}

std::string learning_curves_csv(const LearningData& data) {
    std::string text = "family,scheme,graph,seed," + curve_header() + '\n';
    for (const LearningCurve& curve : data.curves) {
        for (const TrainingPoint& point : curve.points)
            text += csv_labels(curve.label) + curve_line(point) + '\n';
    }
    return text;
}

std::vector<ReportTable> distribution_tables(const LearningData& data, const std::string& title) {
    std::vector<ReportTable> tables;
    for (const std::string& family : data.families()) {
        ReportTable table{
            family + ": " + title + "; vs one device: median",
            {{"scheme", "values", "minimum", "25 %", "median", "75 %", "maximum", "vs one device"}}};
        for (const std::string& scheme : data.schemes(family)) {
            const std::vector<double> times = data.times_s(family, scheme);
            std::vector<std::string> row{scheme, std::to_string(times.size())};
            for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
                row.push_back(time_text(quantile(times, share)));
            const std::vector<double> ratios = data.one_device_ratios(family, scheme);
            row.push_back(ratios.empty() ? "-" : excess_text(median(ratios)));
            table.rows.push_back(std::move(row));
        }
        tables.push_back(std::move(table));
    }
    return tables;
}

std::string paper_name(const Contestant& policy) {
    return policy.algorithm->id == "colocrl" ? "RNN" : policy.algorithm->title;
}

double mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string excess_text(double ratio) {
    if (!std::isfinite(ratio)) return "OOM";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%+.1f %%", 100 * (ratio - 1));
    return text.data();
}

PolicyGraph policy_graph(const Contestant& policy, const Job& job) {
    return {job.problem, allows_cpu(*find_policy(policy.algorithm->id), policy.options)};
}

void LearningRun::check_stop() const {
    if (stop_.stop_requested()) throw Stopped();
}

std::vector<Score> LearningRun::scores(const Job& job, std::span<const Placement> placements) const {
    std::vector<Score> scores(placements.size());
    const auto evaluator = simulation_evaluator(job.problem, job.simulation, job.penalty, inputs_.threads);
    if (!evaluator->evaluate(placements, scores, stop_)) throw Stopped();
    return scores;
}

LearningRun::Halves LearningRun::halves(const FamilyInfo& family, unsigned gpus, std::uint32_t groups) const {
    constexpr std::uint64_t kSeed = 1;
    Halves halves;
    const std::vector<bool> trained = training_half(inputs_.count, kSeed);
    for (std::uint32_t number = 0; number < inputs_.count; ++number) {
        check_stop();
        show_(std::string(family.name) + ": network " + std::to_string(number + 1) + " of " +
              std::to_string(inputs_.count));
        (trained[number] ? halves.training : halves.test)
            .push_back(placeto_job(std::make_shared<const Graph>(family_member(family, kSeed, number)), gpus,
                                   inputs_.problems.grouping, groups));
    }
    return halves;
}

LearningRun::Trained LearningRun::train(const LearningLabel& label, const Contestant& policy,
                                        std::span<const Job> jobs, std::span<const Job> test) {
    const PolicyInfo& info = *find_policy(policy.algorithm->id);
    std::vector<TrainingGraph> graphs;
    std::vector<std::unique_ptr<Evaluator>> evaluators;
    for (const Job& job : jobs) {
        check_stop();
        auto graph = std::make_shared<const PolicyGraph>(policy_graph(policy, job));
        graphs.push_back({job.problem->graph->name(), std::move(graph), reference_s(*job.problem)});
        evaluators.push_back(simulation_evaluator(job.problem, job.simulation, job.penalty, inputs_.threads));
    }
    const PolicySize size{graphs.front().graph->devices, graphs.front().graph->nodes};
    for (const auto& all : {jobs, test}) {
        for (const Job& job : all) {
            if (const std::string problem = misfit(info, policy.options, size, policy_graph(policy, job));
                !problem.empty())
                throw UsageError(job.problem->graph->name() + ": " + problem);
        }
    }
    PolicyDesign design = info.make(policy.options, size);
    const std::uint64_t updates = inputs_.updates * std::max<std::uint64_t>(1, jobs.size() / 2);
    Trainer trainer(design.policy, design.training, std::move(graphs), label.seed, updates, inputs_.threads);
    const std::string place = label.family + ", " + label.scheme +
                              (label.graph.empty() ? "" : ", " + label.graph) + ", seed " +
                              std::to_string(label.seed) + ": ";
    const bool finished = run_training(
        trainer, evaluators, {.updates = updates}, stop_, [&](const TrainingState& state, double eta_s) {
            show_(place + std::to_string(state.updates) + " of " + std::to_string(updates) + " updates, " +
                  format_clock(eta_s) + " left");
        });
    data_.curves.push_back({label, trainer.state().curve, updates});
    if (!finished) throw Stopped();
    return {std::move(design), trainer.state()};
}

LearningRun::Placed LearningRun::place(const Trained& trained, const Job& job,
                                       std::span<const GroupId> order) const {
    check_stop();
    const PolicyDesign& design = trained.design;
    const PolicyGraph graph(job.problem, design.allow_cpu);
    const Placement start = graph.choices.on_one_device(graph.choices.fastest_first().front());
    Random unused(0);
    const Rollout rollout =
        order.empty()
            ? predict_placement(*design.policy, trained.state.weights, graph, design.training.passes)
            : design.policy->roll_out(graph, trained.state.weights, start, order, unused, true);
    const std::vector<Score> along =
        scores(job, design.policy->improves() ? placements_along(graph, rollout)
                                              : std::vector<Placement>{last_placement(graph, rollout)});
    return {along.back(), *std::ranges::min_element(along, {}, &Score::penalised_s)};
}

Score LearningRun::place(const AlgorithmInfo& algorithm, const Job& job, std::uint64_t seed) const {
    constexpr std::uint64_t kEvaluations = 1000;  // more than constructive algorithms need
    const auto runs = compare({job.problem,
                               job.simulation,
                               job.penalty,
                               {},
                               {{&algorithm, {}}},
                               {seed},
                               kEvaluations,
                               inputs_.threads},
                              stop_);
    if (runs.empty()) throw Stopped();
    return runs.front().progress.best;
}

Score LearningRun::random(const Job& job, std::uint64_t seed) const {
    constexpr std::size_t kPlacements = 10;
    const DeviceChoices choices(job.problem, false);
    Random random(seed);
    std::vector<Placement> placements;
    for (std::size_t i = 0; i < kPlacements; ++i) placements.push_back(choices.random_placement(random));
    Score sum{0, 0, true};
    for (const Score& score : scores(job, placements)) {
        sum.penalised_s += score.penalised_s / kPlacements;
        sum.value_s += score.value_s / kPlacements;
        sum.fits = sum.fits && score.fits;
    }
    return sum;
}

void LearningRun::add(LearningLabel label, const Job& job, const Score& score) {
    data_.values.push_back({std::move(label), score.value_s,
                            job.single_device_fits ? std::optional(job.single_device_s) : std::nullopt,
                            score.fits});
}

}  // namespace placewright
