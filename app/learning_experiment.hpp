// SPDX-License-Identifier: MIT
// Experiments of papers that train policies: what is trained and tried, and what the papers found, to be held against what is found here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiment.hpp"
#include "core/graph/families.hpp"
#include "core/learn/policies.hpp"

namespace placewright {

/// How much is done, and with what.
struct LearningInputs {
    ExperimentInputs problems;
    std::vector<const FamilyInfo*> families;
    std::uint32_t count = 0;  ///< LearningExperiment::count
    std::uint64_t updates = 0;  ///< of a training on one network; on several, half as many for each of them
    std::uint64_t seeds = 1;
    unsigned threads = 0;
    std::vector<Contestant> policies;
};

/// What a value or a curve belongs to.
struct LearningLabel {
    std::string family;  ///< or network
    std::string scheme;  ///< way of placing: "Placeto zero-shot"
    std::string graph;   ///< empty for a training on several
    std::uint64_t seed = 0;
};

struct SchemeValue {
    LearningLabel label;
    double step_time_s = 0;
    std::optional<double> one_device_s;  ///< step time on the best single device; nothing if the graph fits none
    bool fits = true;
};

struct LearningCurve {
    LearningLabel label;
    std::vector<TrainingPoint> points;
};

/// All that an experiment finds.
struct LearningData {
    std::vector<SchemeValue> values;
    std::vector<LearningCurve> curves;

    /// Step times, infinite for what does not fit; in the order of the values.
    std::vector<double> times_s(std::string_view family, std::string_view scheme) const;
    /// Those of one scheme against those of another on the same graph with the same seed. Where neither fits there is nothing to compare.
    std::vector<double> ratios(std::string_view family, std::string_view scheme, std::string_view other) const;
    /// Likewise against one device, where that fits.
    std::vector<double> one_device_ratios(std::string_view family, std::string_view scheme) const;
    /// In the order in which they came, each once.
    std::vector<std::string> families() const;
    std::vector<std::string> schemes(std::string_view family) const;
};

/// "family,scheme,graph,seed,step_time_s,one_device_s,fits"; one_device_s is empty where nothing fits one device.
std::string values_csv(const LearningData& data);
/// "family,scheme,graph,seed" and the columns of a learning curve.
std::string learning_curves_csv(const LearningData& data);

/// For each family the distribution of step times over the graphs (the lowest that so many do not exceed), a row a scheme; and the median
/// against one device.
std::vector<ReportTable> distribution_tables(const LearningData& data, const std::string& title);

/// "RNN" for ColocRL's, as Placeto's paper has it; else the title.
std::string paper_name(const Contestant& policy);

double mean(std::span<const double> values);
/// A ratio as what it is more than 1: "+3.4 %"; "OOM" if infinite.
std::string excess_text(double ratio);

/// Trains and tries policies for an experiment, and keeps what is found. What takes time throws Stopped once `stop` is requested.
class LearningRun {
public:
    class Stopped {};

    struct Trained {
        PolicyDesign design;
        TrainingState state;
    };
    /// Of a policy that takes the most likely device each time.
    struct Placed {
        Score last;
        Score best;  ///< on the way there, of a policy that improves placements
    };

    /// What is found goes into `data`; `show` is told how far it is, in a few words.
    LearningRun(const LearningInputs& inputs, LearningData& data, std::stop_token stop, std::function<void(const std::string&)> show)
        : inputs_(inputs), data_(data), stop_(std::move(stop)), show_(std::move(show)) {}

    const LearningInputs& inputs() const { return inputs_; }

    struct Halves {
        std::vector<Job> training, test;
    };
    /// `groups`: to merge into, unless the inputs say otherwise.
    Halves halves(const FamilyInfo& family, unsigned gpus, std::uint32_t groups) const;

    /// On these networks from the beginning; keeps the curve. Throws UsageError for a policy that cannot place all
    /// of them and of those that it is to be tested with.
    Trained train(const LearningLabel& label, const Contestant& policy, std::span<const Job> jobs, std::span<const Job> test = {});
    /// `order`: of the groups; else topological.
    Placed place(const Trained& trained, const Job& job, std::span<const GroupId> order = {}) const;
    /// The best that an algorithm that does not learn makes of it.
    Score place(const AlgorithmInfo& algorithm, const Job& job, std::uint64_t seed) const;
    /// The mean step time of ten random placements, which fits if they all do.
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

/// What a policy knows of a job with these options. Throws OptionError.
PolicyGraph policy_graph(const Contestant& policy, const Job& job);

struct LearningExperiment {
    std::string_view id;
    std::string_view title;
    std::string_view help;                   ///< one line
    std::string_view source;                 ///< "the paper", whose findings these are
    std::string_view conditions;             ///< for the report
    std::vector<std::string_view> networks;  ///< that may be read from files
    std::vector<std::string_view> families;
    std::uint64_t updates = 0;  ///< of each training, unless asked for another number
    std::uint32_t count = 0;    ///< of what --count counts; 0: of nothing
    std::vector<Contestant> policies;
    void (*run)(LearningRun& run);
    std::vector<Finding> (*findings)(const LearningData& data);
    std::vector<ReportTable> (*tables)(const LearningData& data);
};

/// Placeto, figure 5: policies trained on half of a family, on the other half.
const LearningExperiment& placeto_families();
/// Placeto, figure 8: rewards for each decision, or one at the end.
const LearningExperiment& placeto_rewards();
/// Placeto, section 4.3: orders of the nodes that a policy has not been trained with.
const LearningExperiment& placeto_orders();
/// Placeto, section 4.3: its simple partitioner and simple aggregator.
const LearningExperiment& placeto_ablations();

}  // namespace placewright
