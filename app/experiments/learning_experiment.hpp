// SPDX-License-Identifier: MIT
// Experiments of papers that train policies: trainings, tests and the findings of the papers, which are
// checked against the results here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiments/experiment.hpp"
#include "core/graph/families.hpp"
#include "core/learn/policies.hpp"

namespace placewright {

/// Size and inputs of an experiment.
struct LearningInputs {
    ExperimentInputs problems;
    std::vector<const FamilyInfo*> families;
    std::uint32_t count = 0;    ///< LearningExperiment::count
    std::uint64_t updates = 0;  ///< per training on one network; on several, half as many for each of them
    std::uint64_t seeds = 1;
    unsigned threads = 0;
    std::vector<Contestant> policies;
};

/// Identifies a value or a curve.
struct LearningLabel {
    std::string family;  ///< family or network
    std::string scheme;  ///< placement method, such as "Placeto zero-shot"
    std::string graph;   ///< network; empty for a training on several
    std::uint64_t seed = 0;
};

struct SchemeValue {
    LearningLabel label;
    double step_time_s = 0;
    std::optional<double>
        one_device_s;  ///< step time on the best single device; nothing if the graph fits none
    bool fits = true;
};

struct LearningCurve {
    LearningLabel label;
    std::vector<TrainingPoint> points;
    std::uint64_t updates = 0;  ///< those planned, each of which gives a point

    bool is_complete() const { return points.size() >= updates; }
};

/// Results of an experiment.
struct LearningData {
    std::vector<SchemeValue> values;
    std::vector<LearningCurve> curves;

    /// Step times in the order of the values; infinite for placements that do not fit.
    std::vector<double> times_s(std::string_view family, std::string_view scheme) const;
    /// Step time of `scheme` divided by that of `other` for the same graph and seed. Pairs in which neither
    /// fits are omitted.
    std::vector<double> ratios(std::string_view family, std::string_view scheme,
                               std::string_view other) const;
    /// Step time of `scheme` divided by that of one device; values without a fitting device are omitted.
    std::vector<double> one_device_ratios(std::string_view family, std::string_view scheme) const;
    /// Distinct names, in the order of their first value.
    std::vector<std::string> families() const;
    std::vector<std::string> schemes(std::string_view family) const;
};

/// "family,scheme,graph,seed,step_time_s,one_device_s,fits"; one_device_s is empty where nothing fits one
/// device.
std::string values_csv(const LearningData& data);
/// "family,scheme,graph,seed" and the columns of a learning curve.
std::string learning_curves_csv(const LearningData& data);

/// For each family a table with one row per scheme: quantiles of the step times over the graphs, and the
/// median ratio to one device.
std::vector<ReportTable> distribution_tables(const LearningData& data, const std::string& title);

/// "RNN" for ColocRL's policy, as in Placeto's paper; otherwise the title.
std::string paper_name(const Contestant& policy);

double mean(std::span<const double> values);
/// Difference of a ratio from 1: "+3.4 %"; "OOM" if infinite.
std::string excess_text(double ratio);

/// Trains and tests policies for an experiment and collects the results. Long-running functions throw Stopped
/// once `stop` is requested.
class LearningRun {
public:
    class Stopped {};

    struct Trained {
        PolicyDesign design;
        TrainingState state;
    };
    /// Scores of a policy that takes the most likely device in each decision.
    struct Placed {
        Score last;
        Score best;  ///< best of all intermediate placements, for a policy that improves placements
    };

    /// Results are added to `data`; `show` receives short progress texts.
    LearningRun(const LearningInputs& inputs, LearningData& data, std::stop_token stop,
                std::function<void(const std::string&)> show)
        : inputs_(inputs), data_(data), stop_(std::move(stop)), show_(std::move(show)) {}

    const LearningInputs& inputs() const { return inputs_; }

    struct Halves {
        std::vector<Job> training, test;
    };
    /// Jobs of the training half and the test half of a family. `groups`: number of groups to merge into,
    /// unless the inputs have a grouping rule.
    Halves halves(const FamilyInfo& family, unsigned gpus, std::uint32_t groups) const;

    /// Trains a new policy on `jobs` and adds its curve to the data. Throws UsageError for a policy that
    /// cannot place all of `jobs` and `test`.
    Trained train(const LearningLabel& label, const Contestant& policy, std::span<const Job> jobs,
                  std::span<const Job> test = {});
    /// Scores the placement of a trained policy. `order`: order of the groups; topological if empty.
    Placed place(const Trained& trained, const Job& job, std::span<const GroupId> order = {}) const;
    /// Best score of an algorithm that does not learn.
    Score place(const AlgorithmInfo& algorithm, const Job& job, std::uint64_t seed) const;
    /// Mean score of ten random placements; it fits if all of them fit.
    Score random(const Job& job, std::uint64_t seed) const;

    void add(LearningLabel label, const Job& job, const Score& score);

private:
    std::vector<Score> scores(const Job& job, std::span<const Placement> placements) const;
    void check_stop() const;

    const LearningInputs& inputs_;
    LearningData& data_;
    std::stop_token stop_;
    std::function<void(const std::string&)> show_;
};

/// The job as the policy sees it with its options. Throws OptionError.
PolicyGraph policy_graph(const Contestant& policy, const Job& job);

struct LearningExperiment {
    std::string_view id;
    std::string_view title;
    std::string_view help;                   ///< one line
    std::string_view source;                 ///< "the paper", whose findings these are
    std::string_view conditions;             ///< for the report
    std::vector<std::string_view> networks;  ///< networks that may be read from files
    std::vector<std::string_view> families;
    std::uint64_t updates = 0;  ///< default number per training
    std::uint32_t count = 0;    ///< default of --count; 0: the experiment does not use --count
    std::vector<Contestant> policies;
    void (*run)(LearningRun& run);
    std::vector<Finding> (*findings)(const LearningData& data);
    std::vector<ReportTable> (*tables)(const LearningData& data);
};

/// Placeto, figure 5: policies trained on one half of a family and tested on the other.
const LearningExperiment& placeto_families();
/// Placeto, figure 8: intermediate rewards against one terminal reward.
const LearningExperiment& placeto_rewards();
/// Placeto, section 4.3: node orders that a policy has not been trained with.
const LearningExperiment& placeto_orders();
/// Placeto, section 4.3: its simple partitioner and simple aggregator.
const LearningExperiment& placeto_ablations();

}  // namespace placewright
