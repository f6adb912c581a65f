// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "app/experiments/learning_experiment.hpp"
#include "core/algorithms.hpp"

namespace placewright {
namespace {

constexpr std::string_view kFamily = "nmt";

/// A way in which the policy aggregates a graph.
struct Variant {
    const char* scheme;
    const char* aggregation;  ///< value of Placeto's option
};
constexpr Variant kFull{"Placeto", "messages"}, kPartitioner{"simple partitioner", "pooling"},
    kAggregator{"simple aggregator", "flat"};

/// Smallest and largest number of groups of a network.
std::pair<std::uint32_t, std::uint32_t> group_counts(const LearningRun::Halves& halves) {
    std::vector<std::uint32_t> counts;
    for (const auto* jobs : {&halves.training, &halves.test}) {
        for (const Job& job : *jobs) counts.push_back(job.problem->groups);
    }
    const auto [fewest, most] = std::ranges::minmax(counts);
    return {fewest, most};
}

void run(LearningRun& run) {
    constexpr unsigned kGpus = 2;
    const FamilyInfo& family = *find_family(kFamily);
    LearningRun::Halves halves = run.halves(family, kGpus, family.groups);
    // The simple aggregator needs the same number of groups in all networks, and small networks have fewer.
    // If the numbers still differ because of --group, the simple aggregator is omitted.
    if (const auto [fewest, most] = group_counts(halves); most > fewest)
        halves = run.halves(family, kGpus, fewest);
    const auto [fewest, most] = group_counts(halves);
    for (std::uint64_t seed = 1; seed <= run.inputs().seeds; ++seed) {
        for (const Variant& variant : {kFull, kPartitioner, kAggregator}) {
            if (variant.scheme == kAggregator.scheme && most > fewest) continue;
            Contestant policy = run.inputs().policies.front();
            policy.options["aggregation"] = std::string(variant.aggregation);
            const LearningRun::Trained trained = run.train({std::string(kFamily), variant.scheme, "", seed},
                                                           policy, halves.training, halves.test);
            for (const Job& job : halves.test)
                run.add({std::string(kFamily), variant.scheme, job.problem->graph->name(), seed}, job,
                        run.place(trained, job).last);
        }
    }
}

std::vector<Finding> findings(const LearningData& data) {
    struct Claim {
        const char* scheme;
        const char* text;
    };
    constexpr std::array kClaims{
        Claim{kAggregator.scheme,
              "The simple aggregator's placements are slower than Placeto's, by 20 % on average (at least 5 "
              "%)."},
        Claim{kPartitioner.scheme,
              "The simple partitioner's placements are slower than Placeto's, by 13 % on average (at least 5 "
              "%)."},
    };
    std::vector<Finding> all;
    for (const Claim& claim : kClaims) {
        Finding finding{std::string(kFamily), claim.text, Verdict::not_run, "-"};
        if (const std::vector<double> ratios = data.ratios(kFamily, claim.scheme, kFull.scheme);
            !ratios.empty()) {
            finding.verdict = mean(ratios) >= 1.05 ? Verdict::holds : Verdict::differs;
            finding.data = "mean " + excess_text(mean(ratios)) + ", from " +
                           excess_text(std::ranges::min(ratios)) + " to " +
                           excess_text(std::ranges::max(ratios)) + " over " + std::to_string(ratios.size());
        }
        all.push_back(std::move(finding));
    }
    return all;
}

std::vector<ReportTable> tables(const LearningData& data) {
    return distribution_tables(data, "step time quantiles over the test networks, zero-shot");
}

}  // namespace

const LearningExperiment& placeto_ablations() {
    static const LearningExperiment experiment{
        "placeto-ablations",
        "Placeto's aggregation of the graph",
        "Section 4.3 of Placeto: simple aggregator and simple partitioner on nmt. 3 minutes.",
        "the paper",
        "Family nmt on 2 K80s as in `experiment placeto`; all networks merged into as many groups as the "
        "smallest has, at most 160, unless --group is given. Trained on one half; on the other half the "
        "policy takes the most likely device each time. Without foresight and features of devices, other "
        "ways in which the policy sees neighbours.",
        {},
        {kFamily},
        300,
        8,
        {{find_algorithm("placeto"),
          {{"foresight", 0.0}, {"devices", std::string("one-hot")}, {"discount", 0.99}}}},
        run,
        findings,
        tables};
    return experiment;
}

}  // namespace placewright
