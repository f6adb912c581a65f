// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>

#include "app/experiments/learning_experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/statistics.hpp"

namespace placewright {
namespace {

/// Number of GPUs; the paper gives none here, and 2 and 4 in table 1.
constexpr unsigned kGpus = 4;

/// On nmt Placeto gets its preset far-sighted, because with the defaults it stays on one device; not if the
/// user sets an option of that preset.
Contestant suited(Contestant policy, const FamilyInfo& family) {
    if (policy.algorithm->id != "placeto" || family.name != "nmt") return policy;
    const OptionValues& values = find_preset(policy.algorithm->presets, "far-sighted").values;
    const bool asked =
        std::ranges::any_of(values, [&](const auto& value) { return policy.options.contains(value.first); });
    if (!asked) policy.options.insert(values.begin(), values.end());
    return policy;
}

void run(LearningRun& run) {
    const AlgorithmInfo& scotch = available_algorithm("scotch");
    for (const FamilyInfo* family : run.inputs().families) {
        const LearningRun::Halves halves = run.halves(*family, kGpus, family->groups);
        for (std::uint64_t seed = 1; seed <= run.inputs().seeds; ++seed) {
            const auto label = [&](const std::string& scheme, const Job& job) {
                return LearningLabel{std::string(family->name), scheme, job.problem->graph->name(), seed};
            };
            for (const Job& job : halves.test) {
                run.add(label("one device", job), job,
                        {job.single_device_s, job.single_device_s, job.single_device_fits});
                run.add(label("Scotch", job), job, run.place(scotch, job, seed));
                run.add(label("random", job), job, run.random(job, seed));
            }
            for (const Contestant& asked : run.inputs().policies) {
                const Contestant policy = suited(asked, *family);
                const std::string name = paper_name(policy);
                const LearningRun::Trained trained =
                    run.train({std::string(family->name), name + " zero-shot", "", seed}, policy,
                              halves.training, halves.test);
                for (const Job& job : halves.test) {
                    const LearningRun::Placed placed = run.place(trained, job);
                    run.add(label(name + " zero-shot", job), job, placed.last);
                    if (trained.design.policy->improves())
                        run.add(label(name + " best on the way", job), job, placed.best);
                }
                for (const Job& job : halves.test) {
                    const LearningLabel own = label(name + " optimized", job);
                    run.add(own, job, run.train(own, policy, std::span(&job, 1)).state.best.front().score);
                }
            }
        }
    }
}

struct Claim {
    std::string_view text;
    std::vector<double> (*ratios)(const LearningData&, std::string_view family);
    bool (*holds)(const std::vector<double>& ratios);
};

const std::array kClaims{
    Claim{"Placeto zero-shot is close to Placeto optimized (within 5 %, median over the test networks).",
          [](const LearningData& data, std::string_view family) {
              return data.ratios(family, "Placeto zero-shot", "Placeto optimized");
          },
          [](const std::vector<double>& ratios) { return median(ratios) <= 1.05; }},
    Claim{"(Not in the paper.) Placeto zero-shot is never more than 5 % slower than the best single device.",
          [](const LearningData& data, std::string_view family) {
              return data.one_device_ratios(family, "Placeto zero-shot");
          },
          [](const std::vector<double>& ratios) { return std::ranges::max(ratios) <= 1.05; }},
    Claim{"RNN zero-shot is significantly worse than RNN optimized (by more than 5 %, median).",
          [](const LearningData& data, std::string_view family) {
              return data.ratios(family, "RNN zero-shot", "RNN optimized");
          },
          [](const std::vector<double>& ratios) { return median(ratios) > 1.05; }},
    Claim{"RNN zero-shot is very similar to random (within a fifth, median).",
          [](const LearningData& data, std::string_view family) {
              return data.ratios(family, "RNN zero-shot", "random");
          },
          [](const std::vector<double>& ratios) { return median(ratios) >= 0.8 && median(ratios) <= 1.2; }},
};

constexpr std::array<std::string_view, 3> kPlacetoFamilies{"cifar10", "ptb", "nmt"};

std::vector<Finding> findings(const LearningData& data) {
    std::vector<Finding> all;
    for (const Claim& claim : kClaims) {
        for (const std::string_view family : kPlacetoFamilies) {
            Finding finding{std::string(family), std::string(claim.text), Verdict::not_run, "-"};
            if (const std::vector<double> ratios = claim.ratios(data, family); !ratios.empty()) {
                finding.verdict = claim.holds(ratios) ? Verdict::holds : Verdict::differs;
                // Placements that do not fit have no time to compare.
                const double middle = median(ratios);
                if (finding.verdict == Verdict::holds && (middle == 0 || !std::isfinite(middle)))
                    finding.verdict = Verdict::undecided;
                finding.data = "median " + excess_text(median(ratios)) + ", from " +
                               excess_text(std::ranges::min(ratios)) + " to " +
                               excess_text(std::ranges::max(ratios)) + " over " +
                               std::to_string(ratios.size());
            }
            all.push_back(std::move(finding));
        }
    }
    return all;
}

std::vector<ReportTable> tables(const LearningData& data) {
    return distribution_tables(data, "step time quantiles over the test networks");
}

}  // namespace

const LearningExperiment& placeto_families() {
    static const LearningExperiment experiment{
        "placeto-families",
        "Placeto on networks not seen in training",
        "Figure 5 of Placeto: policies trained on half of a family, tested on the other. Hours.",
        "the paper",
        "4 K80s as in `experiment placeto`; ops merged into 128 groups (nmt: 160) unless --group is given. "
        "Zero-shot: trained on one half of the family, the most likely device each time. Optimized: the best "
        "placement found by a policy trained on the test network alone. Random: the mean of ten placements. "
        "The RNN is ColocRL's network. On nmt Placeto uses its preset far-sighted, unless one of its options "
        "is set.",
        {},
        {kPlacetoFamilies.begin(), kPlacetoFamilies.end()},
        60,
        32,
        {{find_algorithm("placeto"), {}}, {find_algorithm("colocrl"), {}}},
        run,
        findings,
        tables};
    return experiment;
}

}  // namespace placewright
