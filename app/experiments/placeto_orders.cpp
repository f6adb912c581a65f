// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <span>

#include "app/experiments/learning_experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr const char* kNetwork = "inception_v3";

void run(LearningRun& run) {
    constexpr std::int64_t kBatch = 64;
    constexpr unsigned kGpus = 4;
    const Job job = placeto_job(run.inputs().problems.network(kNetwork, kBatch), kGpus,
                                run.inputs().problems.grouping, kPlacetoGroups);
    for (std::uint64_t seed = 1; seed <= run.inputs().seeds; ++seed) {
        for (const Contestant& policy : run.inputs().policies) {
            const std::string name = paper_name(policy);
            const LearningLabel optimized{kNetwork, name + " optimized", kNetwork, seed};
            const LearningRun::Trained trained = run.train(optimized, policy, std::span(&job, 1));
            run.add(optimized, job, trained.state.best.front().score);
            const PolicyGraph graph = policy_graph(policy, job);
            // All policies are tested with the same orders, not seen in training, which samples its own.
            Random random(seed);
            for (std::uint32_t i = 1; i <= run.inputs().count; ++i) {
                const std::vector<GroupId> order =
                    decision_order(graph, trained.design.training.passes, &random);
                run.add({kNetwork, name, "order " + std::to_string(i), seed}, job,
                        run.place(trained, job, order).last);
            }
        }
    }
}

/// Best step time found in any training; nothing before the first.
std::optional<double> best_s(const LearningData& data) {
    std::optional<double> best;
    for (const char* scheme : {"Placeto optimized", "RNN optimized"}) {
        for (const double time : data.times_s(kNetwork, scheme)) best = std::min(best.value_or(time), time);
    }
    return best;
}

struct Spread {
    double mean, fastest, slowest;  ///< ratios to the best
};

std::optional<Spread> spread(const LearningData& data, std::string_view scheme) {
    std::vector<double> times = data.times_s(kNetwork, scheme);
    if (times.empty()) return {};
    for (double& time : times) time /= *best_s(data);
    return Spread{mean(times), std::ranges::min(times), std::ranges::max(times)};
}

/// The mean cost of the episodes in the last tenth of the trainings, relative to one device. All have orders
/// of their own, which the policy learned from.
std::optional<double> trained_orders(const LearningData& data) {
    std::vector<double> costs;
    for (const LearningCurve& curve : data.curves) {
        if (curve.label.scheme != "Placeto optimized") continue;
        const std::size_t last = (curve.points.size() + 9) / 10;
        for (const TrainingPoint& point : std::span(curve.points).last(last)) costs.push_back(point.cost);
    }
    if (costs.empty()) return {};
    return mean(costs);
}

/// Whether other orders are what separates the placements from the optimized one.
Finding cost_of_other_orders(const LearningData& data) {
    Finding finding{kNetwork,
                    "(Not in the paper.) In orders that were not trained with, Placeto's placements are on "
                    "average at most 2 % slower than at the end of its training.",
                    Verdict::not_run, "-"};
    const std::vector<double> others = data.one_device_ratios(kNetwork, "Placeto");
    const std::optional<double> trained = trained_orders(data);
    if (others.empty() || !trained) return finding;
    finding.verdict = mean(others) <= 1.02 * *trained ? Verdict::holds : Verdict::differs;
    finding.data = "other orders " + excess_text(mean(others)) + " vs one device, the last tenth of the " +
                   "training " + excess_text(*trained);
    return finding;
}

std::vector<Finding> findings(const LearningData& data) {
    struct Claim {
        const char* text;
        const char* scheme;
        bool (*holds)(const Spread&);
    };
    constexpr std::array kClaims{
        Claim{"Placeto's placements are on average within 5 % of the optimized one.", "Placeto",
              [](const Spread& it) { return it.mean <= 1.05; }},
        Claim{"Placeto's slowest placement is about 10 % slower than its fastest (at most 15 %).", "Placeto",
              [](const Spread& it) { return it.slowest <= 1.15 * it.fastest; }},
        Claim{"The RNN's placements are on average about 30 % slower than the optimized one (at least 15 %).",
              "RNN", [](const Spread& it) { return it.mean >= 1.15; }},
    };
    std::vector<Finding> all;
    for (const Claim& claim : kClaims) {
        Finding finding{kNetwork, claim.text, Verdict::not_run, "-"};
        if (const std::optional<Spread> found = spread(data, claim.scheme)) {
            finding.verdict = claim.holds(*found) ? Verdict::holds : Verdict::differs;
            finding.data = "mean " + excess_text(found->mean) + ", fastest " + excess_text(found->fastest) +
                           ", slowest " + excess_text(found->slowest) + " vs the best, " +
                           format_seconds(*best_s(data));
        }
        all.push_back(std::move(finding));
    }
    all.push_back(cost_of_other_orders(data));
    return all;
}

std::vector<ReportTable> tables(const LearningData& data) {
    return distribution_tables(data, "step time quantiles over the orders");
}

}  // namespace

const LearningExperiment& placeto_orders() {
    const OptionValues shuffled{{"order", std::string("shuffled")}};
    static const LearningExperiment experiment{
        "placeto-orders",
        "Placeto on node orders not seen in training",
        "Section 4.3 of Placeto: 64 node orders not seen in training. 5 minutes.",
        "the paper",
        "Inception-V3, batch size 64, on 4 K80s as in `experiment placeto`; ops merged into 128 groups "
        "unless "
        "--group is given. Each training episode has its own random order (the paper: one of 64); in other "
        "orders the policy takes the most likely device each time. The optimized placement is the best that "
        "either policy found in training. The RNN is ColocRL's network.",
        {kNetwork},
        {},
        600,
        64,
        {{find_algorithm("placeto"), shuffled}, {find_algorithm("colocrl"), shuffled}},
        run,
        findings,
        tables};
    return experiment;
}

}  // namespace placewright
