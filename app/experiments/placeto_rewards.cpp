// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "app/experiments/learning_experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr std::array kRewards{"intermediate", "terminal"};
constexpr const char* kNetwork = "nmt2";

void run(LearningRun& run) {
    constexpr std::int64_t kBatch = 128;
    const Job job = placeto_job(run.inputs().problems.network(kNetwork, kBatch), 2,
                                run.inputs().problems.grouping, kPlacetoGroups);
    for (std::uint64_t seed = 1; seed <= run.inputs().seeds; ++seed) {
        for (const char* reward : kRewards) {
            Contestant policy = run.inputs().policies.front();
            policy.options["reward"] = std::string(reward);
            const LearningLabel label{kNetwork, reward, kNetwork, seed};
            const LearningRun::Trained trained = run.train(label, policy, std::span(&job, 1));
            run.add(label, job, run.place(trained, job).last);
        }
    }
}

/// The curves of trainings with `reward` that ran to the end; if there is none, that of one that did not.
std::vector<const LearningCurve*> curves(const LearningData& data, std::string_view reward) {
    std::vector<const LearningCurve*> whole, cut_short;
    for (const LearningCurve& curve : data.curves) {
        if (curve.label.scheme == reward && !curve.points.empty())
            (curve.is_complete() ? whole : cut_short).push_back(&curve);
    }
    return whole.empty() ? cut_short : whole;
}

/// Mean of `value` over the updates in [begin, end), averaged over the curves, which have these updates.
double mean_of(const std::vector<const LearningCurve*>& curves, double TrainingPoint::*value,
               std::size_t begin, std::size_t end) {
    std::vector<double> means;
    for (const LearningCurve* curve : curves) {
        std::vector<double> values;
        for (std::size_t i = begin; i < end; ++i) values.push_back(curve->points[i].*value);
        means.push_back(mean(values));
    }
    return mean(means);
}

std::string share_text(double share) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3f", share);
    return text.data();
}

std::string percent_text(std::size_t part, std::size_t whole) {
    return decimals("%.3g", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::vector<Finding> findings(const LearningData& data) {
    struct Claim {
        const char* text;
        double TrainingPoint::*value;
        bool second_half;
    };
    constexpr std::array kClaims{
        Claim{"Intermediate rewards converge faster: the mean step time over the training is lower.",
              &TrainingPoint::cost, false},
        Claim{"Intermediate rewards have a lower variance: episodes in the second half of the training "
              "deviate less from each other.",
              &TrainingPoint::cost_spread, true},
    };
    const auto intermediate = curves(data, kRewards[0]), terminal = curves(data, kRewards[1]);
    // An interrupted training cannot be compared.
    const bool complete = !terminal.empty() && terminal.size() == intermediate.size() &&
                          terminal.front()->is_complete() && intermediate.front()->is_complete();
    std::vector<Finding> all;
    for (const Claim& claim : kClaims) {
        Finding finding{kNetwork, claim.text, Verdict::not_run, "-"};
        if (complete) {
            const std::size_t updates = intermediate.front()->points.size(),
                              first = claim.second_half ? updates / 2 : 0;
            const double with = mean_of(intermediate, claim.value, first, updates),
                         without = mean_of(terminal, claim.value, first, updates);
            finding.verdict = with < without ? Verdict::holds : Verdict::differs;
            finding.data =
                "intermediate " + share_text(with) + ", terminal " + share_text(without) +
                " of the time on one GPU; placements scored: " +
                format_count(static_cast<double>(intermediate.front()->points.back().evaluations)) + ", " +
                format_count(static_cast<double>(terminal.front()->points.back().evaluations));
        }
        all.push_back(std::move(finding));
    }
    return all;
}

std::vector<ReportTable> tables(const LearningData& data) {
    constexpr std::size_t kRows = 10;
    std::vector<ReportTable> all;
    for (const char* reward : kRewards) {
        const auto found = curves(data, reward);
        if (found.empty()) continue;
        ReportTable table{
            std::string("Figure 8, ") + reward + " rewards: step time of episodes relative to one GPU",
            {{"updates", "placements scored", "mean", "deviation"}}};
        // Tenths of the training that was planned; the last of one that was cut short may be a part of one.
        const std::vector<TrainingPoint>& points = found.front()->points;
        const std::size_t planned = found.front()->updates;
        for (std::size_t i = 0; i < kRows && planned * i / kRows < points.size(); ++i) {
            const std::size_t begin = planned * i / kRows, tenth = planned * (i + 1) / kRows,
                              end = std::max(begin + 1, std::min(points.size(), tenth));
            const std::string until = end < tenth ? percent_text(end, planned) : std::to_string(10 * (i + 1));
            table.rows.push_back({std::to_string(10 * i) + " to " + until + " %",
                                  format_count(static_cast<double>(points[end - 1].evaluations)),
                                  share_text(mean_of(found, &TrainingPoint::cost, begin, end)),
                                  share_text(mean_of(found, &TrainingPoint::cost_spread, begin, end))});
        }
        all.push_back(std::move(table));
    }
    std::ranges::move(distribution_tables(data, "step time after training, most likely device each time"),
                      std::back_inserter(all));
    return all;
}

}  // namespace

const LearningExperiment& placeto_rewards() {
    // As in the paper, except for the start: a trivial placement.
    static const LearningExperiment experiment{
        "placeto-rewards",
        "Placeto with intermediate or terminal rewards",
        "Figure 8 of Placeto: intermediate against terminal rewards on NMT. 10 minutes.",
        "the paper",
        "NMT with 2 layers, batch size 128, on 2 K80s as in `experiment placeto`; ops merged into 128 groups "
        "unless --group is given. Episodes begin on one GPU; with intermediate rewards each intermediate "
        "placement is scored, with terminal rewards only the last.",
        {kNetwork},
        {},
        300,
        0,
        {{find_algorithm("placeto"),
          {{"devices", std::string("one-hot")}, {"foresight", 0.0}, {"inertia", 0.0}, {"discount", 1.0}}}},
        run,
        findings,
        tables};
    return experiment;
}

}  // namespace placewright
