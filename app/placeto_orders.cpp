// SPDX-License-Identifier: MIT
#include <algorithm>

#include "app/learning_experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr const char* kNetwork = "inception_v3";

void run(LearningRun& run) {
    constexpr std::int64_t kBatch = 64;
    constexpr unsigned kGpus = 4;
    const Job job = placeto_job(run.inputs().problems.network(kNetwork, kBatch), kGpus, run.inputs().problems.grouping, kPlacetoGroups);
    for (std::uint64_t seed = 1; seed <= run.inputs().seeds; ++seed) {
        for (const Contestant& policy : run.inputs().policies) {
            const std::string name = paper_name(policy);
            const LearningLabel optimized{kNetwork, name + " optimized", kNetwork, seed};
            const LearningRun::Trained trained = run.train(optimized, policy, std::span(&job, 1));
            run.add(optimized, job, trained.state.best.front().score);
            const PolicyGraph graph = policy_graph(policy, job);
            // All policies have the same orders, which none has been trained with: training draws its own.
            Random random(seed);
            for (std::uint32_t i = 1; i <= run.inputs().count; ++i) {
                const std::vector<GroupId> order = decision_order(graph, trained.design.training.passes, &random);
                run.add({kNetwork, name, "order " + std::to_string(i), seed}, job, run.place(trained, job, order).last);
            }
        }
    }
}

/// The best that any of the trainings found; nothing before the first.
std::optional<double> best_s(const LearningData& data) {
    std::optional<double> best;
    for (const char* scheme : {"Placeto optimized", "RNN optimized"}) {
        for (const double time : data.times_s(kNetwork, scheme)) best = std::min(best.value_or(time), time);
    }
    return best;
}

struct Spread {
    double mean, fastest, slowest;  ///< against the best
};

std::optional<Spread> spread(const LearningData& data, std::string_view scheme) {
    std::vector<double> times = data.times_s(kNetwork, scheme);
    if (times.empty()) return {};
    for (double& time : times) time /= *best_s(data);
    return Spread{mean(times), std::ranges::min(times), std::ranges::max(times)};
}

std::vector<Finding> findings(const LearningData& data) {
    struct Claim {
        const char* text;
        const char* scheme;
        bool (*holds)(const Spread&);
    };
    constexpr std::array kClaims{
        Claim{"Placeto's placements are within 5 % of the optimized one on average.", "Placeto",
              [](const Spread& it) { return it.mean <= 1.05; }},
        Claim{"Between its fastest and its slowest are about 10 % (at most 15 %).", "Placeto",
              [](const Spread& it) { return it.slowest <= 1.15 * it.fastest; }},
        Claim{"The RNN's are about 30 % slower than the optimized one on average (at least 15 %).", "RNN",
              [](const Spread& it) { return it.mean >= 1.15; }},
    };
    std::vector<Finding> all;
    for (const Claim& claim : kClaims) {
        Finding finding{kNetwork, claim.text, Verdict::not_run, "-"};
        if (const std::optional<Spread> found = spread(data, claim.scheme)) {
            finding.verdict = claim.holds(*found) ? Verdict::holds : Verdict::differs;
            finding.data = "mean " + excess_text(found->mean) + ", fastest " + excess_text(found->fastest) + ", slowest " +
                           excess_text(found->slowest) + " against " + format_seconds(*best_s(data));
        }
        all.push_back(std::move(finding));
    }
    return all;
}

std::vector<ReportTable> tables(const LearningData& data) {
    return distribution_tables(data, "step time that so many of the orders do not exceed");
}

}  // namespace

const LearningExperiment& placeto_orders() {
    const OptionValues shuffled{{"order", std::string("shuffled")}};
    static const LearningExperiment experiment{
        "placeto-orders",
        "Placeto on orders of the nodes that it has not seen",
        "Section 4.3 of Placeto: 64 orders of the nodes that were not trained with. 3 minutes.",
        "the paper",
        "Inception-V3, batch size 64, on 4 K80s as in `experiment placeto`; ops merged into 128 groups unless asked otherwise. Each "
        "episode of the training has a random order of its own (the paper: one of 64); the most likely device each time for other orders. "
        "The optimized placement is the best that either policy found while it was trained. The RNN is ColocRL's network.",
        {kNetwork},
        {},
        200,
        64,
        {{find_algorithm("placeto"), shuffled}, {find_algorithm("colocrl"), shuffled}},
        run,
        findings,
        tables};
    return experiment;
}

}  // namespace placewright
