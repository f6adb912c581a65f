// SPDX-License-Identifier: MIT
// Gao, Chen, Li: Post: Device Placement with Cross-Entropy Minimization and Proximal Policy Optimization
// (2018), and the parts of it that the paper compares it with.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/algorithms/softmax_distribution.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/pieces.hpp"
#include "core/search/series.hpp"

namespace placewright {
namespace {

struct DistributionOptions {
    // Advantage of a score
    std::string reward = "standardized";
    double baseline_decay = 0.99;
    double advantage_limit = 3;
    // Policy gradient and proximal policy optimization
    std::size_t batch_size = 12;
    double learning_rate = 1;
    std::size_t gradient_steps = 10;
    double penalty = 1;
    double target_divergence = 0.03;
    // Cross-entropy minimization
    std::size_t minimize_every = 60;
    double elite_share = 0.1;
    double exploration = 0.1;
    std::uint64_t exploration_samples = 2400;

    double merged_share = 0;
    bool allow_cpu = false;
};

using Schema = OptionSchema<DistributionOptions>;

Schema with_gradient(Schema schema) {
    return schema
        .add("batch_size", &DistributionOptions::batch_size, 1, 1024,
             "Number of placements drawn and scored before each gradient update of the distribution (K).")
        .add("learning_rate", &DistributionOptions::learning_rate, 1e-6, 1000,
             "Step size along the gradient.")
        .add("reward", &DistributionOptions::reward, {"standardized", "seconds", "square-root"},
             "Unit of the advantage of a score over the moving average. standardized: standard deviations of "
             "the scores, which makes it independent of the step time; seconds: as in Post, equation 11; "
             "square-root: square roots of seconds, as in ColocRL.")
        .add("baseline_decay", &DistributionOptions::baseline_decay, 0.01, 1,
             "Weight of a score in the moving average relative to the next score; 1: all weigh the same.")
        .add("advantage_limit", &DistributionOptions::advantage_limit, 0, 1e9,
             "Maximum advantage in standard deviations of the scores, so that a few placements beyond the "
             "memory do not dominate; 0: no limit.");
}

Schema with_proximity(Schema schema) {
    return schema
        .add("gradient_steps", &DistributionOptions::gradient_steps, 1, 1000,
             "Number of gradient steps on the proximal objective per batch.")
        .add("penalty", &DistributionOptions::penalty, 1e-6, 1000,
             "Initial weight (beta) of the divergence from the distribution that was drawn from, at most 2 / "
             "learning_rate; doubled if the divergence is above 1.5 times its target, halved if below two "
             "thirds of it.")
        .add("target_divergence", &DistributionOptions::target_divergence, 1e-9, 10,
             "Target of the Kullback-Leibler divergence per batch, in nats, mean over the groups.");
}

Schema with_cross_entropy(Schema schema) {
    return schema
        .add("minimize_every", &DistributionOptions::minimize_every, 1, 1'000'000,
             "Number of placements between cross-entropy updates, which fit the distribution to the best of "
             "them (N).")
        .add("elite_share", &DistributionOptions::elite_share, 0, 1,
             "Share of these placements that form the elite (rho); at least one placement.")
        .add("exploration", &DistributionOptions::exploration, 0, 1,
             "Share of the uniform distribution mixed in at each cross-entropy update (epsilon); falls "
             "linearly to 0 at the end of the search.")
        .add("exploration_samples", &DistributionOptions::exploration_samples, 1, 1e9,
             "Number of placements over which exploration falls to 0 if the search is limited by time only.");
}

Schema with_devices(Schema schema) {
    return schema
        .add("merged_share", &DistributionOptions::merged_share, 0, 1,
             std::string("Share of the placements drawn in which whole pieces move before they are scored; "
                         "the distribution learns from what was scored. ") +
                 kMergeHelp + " Post: 0.")
        .add("allow_cpu", &DistributionOptions::allow_cpu, kAllowCpuHelp);
}

/// How an algorithm learns from scores.
enum class Learning : std::uint8_t { policy_gradient, proximal, cross_entropy, joint };

const Schema& schema(Learning learning) {
    static const Schema gradient = with_devices(with_gradient({}));
    static const Schema proximal = with_devices(with_proximity(with_gradient({})));
    static const Schema cross_entropy = with_devices(with_cross_entropy({}));
    static const Schema joint = with_devices(with_cross_entropy(with_proximity(with_gradient({}))));
    switch (learning) {
        case Learning::policy_gradient:
            return gradient;
        case Learning::proximal:
            return proximal;
        case Learning::cross_entropy:
            return cross_entropy;
        case Learning::joint:
            return joint;
    }
    return joint;
}

/// Mean and standard deviation of values whose weight decays with age (West, 1979).
class MovingStatistics {
public:
    explicit MovingStatistics(double decay) : decay_(decay) {}

    void add(double value) {
        weight_ = decay_ * weight_ + 1;
        const double before = value - mean_;
        mean_ += before / weight_;
        squares_ = decay_ * squares_ + before * (value - mean_);
    }
    double mean() const { return mean_; }
    double deviation() const { return weight_ > 0 ? std::sqrt(squares_ / weight_) : 0; }

private:
    double decay_, weight_ = 0, mean_ = 0, squares_ = 0;
};

std::vector<std::size_t> choice_counts(const DeviceChoices& choices) {
    std::vector<std::size_t> counts;
    for (const GroupId group : choices.movable()) counts.push_back(choices.of(group).size());
    return counts;
}

/// Algorithm 1 of the paper, or a part of it. The distribution has one variable per group that has a choice.
class Post final : public Optimizer {
public:
    Post(const SearchContext& context, Learning learning, const DistributionOptions& options)
        : choices_(context.problem, options.allow_cpu),
          learning_(learning),
          options_(options),
          samples_(context.evaluations.value_or(options.exploration_samples)),
          random_(context.seed),
          pieces_(choices_),
          distribution_(choice_counts(choices_)),
          statistics_(options.baseline_decay),
          penalty_(std::min(options.penalty, largest_penalty())) {
        fixed_.resize(choices_.groups());
        for (GroupId group = 0; group < fixed_.size(); ++group) fixed_[group] = choices_.of(group).front();
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (choices_.movable().empty() && told_ > 0) return {};
        asked_.clear();
        asked_draws_.clear();
        const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(limit, until_update()));
        for (std::size_t i = 0; i < count; ++i) {
            asked_draws_.push_back(distribution_.draw(random_));
            asked_.push_back(placement_of(asked_draws_.back()));
            if (options_.merged_share > 0 && random_.chance(options_.merged_share) &&
                pieces_.merge(asked_.back(), random_))
                asked_draws_.back() = draw_of(asked_.back());
        }
        return asked_;
    }

    void used(double share) override { share_ = share; }

    void tell(std::span<const Score> scores) override {
        entropies_.add(scores.size(), distribution_.entropy());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            batch_.add(asked_draws_[i], scores[i].penalised_s);
            if (minimizes()) pool_.add(std::move(asked_draws_[i]), scores[i].penalised_s);
        }
        told_ += scores.size();
        view_ = nullptr;
        if (minimizes() && told_ % options_.minimize_every == 0) {
            minimize();
            pool_ = {};
            follow_statistics();
            batch_ = {};
        } else if (climbs() && batch_.draws.size() >= options_.batch_size) {
            follow_statistics();
            climb();
            batch_ = {};
        }
    }

    std::shared_ptr<const DistributionView> distribution() const override {
        if (!view_) view_ = make_view();
        return view_;
    }

private:
    struct Sample {
        std::vector<Draw> draws;
        std::vector<double> scores_s;

        void add(Draw draw, double score_s) {
            draws.push_back(std::move(draw));
            scores_s.push_back(score_s);
        }
    };

    bool minimizes() const { return learning_ == Learning::cross_entropy || learning_ == Learning::joint; }
    bool climbs() const { return learning_ != Learning::cross_entropy; }

    /// Placements until the distribution changes.
    std::uint64_t until_update() const {
        std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
        if (minimizes()) count = options_.minimize_every - told_ % options_.minimize_every;
        if (climbs()) count = std::min<std::uint64_t>(count, options_.batch_size - batch_.draws.size());
        return count;
    }

    Placement placement_of(const Draw& draw) const {
        Placement placement = fixed_;
        for (std::size_t m = 0; m < draw.size(); ++m) {
            const GroupId group = choices_.movable()[m];
            placement[group] = choices_.of(group)[draw[m]];
        }
        return placement;
    }

    Draw draw_of(const Placement& placement) const {
        Draw draw;
        for (const GroupId group : choices_.movable()) {
            const auto devices = choices_.of(group);
            draw.push_back(
                static_cast<std::uint16_t>(std::ranges::find(devices, placement[group]) - devices.begin()));
        }
        return draw;
    }

    double worth(double score_s) const {
        return options_.reward == "square-root" ? std::sqrt(score_s) : score_s;
    }

    void follow_statistics() {
        for (const double score_s : batch_.scores_s) statistics_.add(worth(score_s));
    }

    std::vector<double> advantages() const {
        const double deviation = statistics_.deviation();
        const double unit = options_.reward == "standardized" ? deviation : 1;
        const double limit = options_.advantage_limit > 0 ? options_.advantage_limit * deviation : kInfinity;
        std::vector<double> advantages;
        for (const double score_s : batch_.scores_s) {
            const double advantage = std::clamp(statistics_.mean() - worth(score_s), -limit, limit);
            advantages.push_back(deviation > 0 ? advantage / unit : 0);
        }
        return advantages;
    }

    void climb() {
        const SoftmaxDistribution old = distribution_;
        const std::vector<double> worth = advantages();
        if (learning_ == Learning::policy_gradient) {
            distribution_.ascend(surrogate_gradient(distribution_, old, batch_.draws, worth, 0),
                                 options_.learning_rate);
            return;
        }
        for (std::size_t step = 0; step < options_.gradient_steps; ++step)
            distribution_.ascend(surrogate_gradient(distribution_, old, batch_.draws, worth, penalty_),
                                 options_.learning_rate);
        // Schulman, Wolski, Dhariwal, Radford, Klimov: Proximal Policy Optimization Algorithms (2017),
        // section 4.
        constexpr double kSmallestPenalty = 1e-6;
        const double divergence = distribution_.divergence_from(old);
        if (divergence < options_.target_divergence / 1.5)
            penalty_ = std::max(penalty_ / 2, kSmallestPenalty);
        if (divergence > options_.target_divergence * 1.5)
            penalty_ = std::min(penalty_ * 2, largest_penalty());
    }

    /// A step covers up to rate * beta / 2 of the way back to the old distribution (no eigenvalue of the
    /// Hessian of the divergence is above 1/2); a larger penalty would overshoot.
    double largest_penalty() const { return 2 / options_.learning_rate; }

    void minimize() {
        std::vector<std::size_t> order(pool_.draws.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return pool_.scores_s[i]; });
        const double wanted = std::round(options_.elite_share * static_cast<double>(order.size()));
        order.resize(std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));
        std::vector<Draw> elite;
        for (const std::size_t i : order) elite.push_back(std::move(pool_.draws[i]));
        const double done = share_.value_or(static_cast<double>(told_) / static_cast<double>(samples_));
        const double left = std::max(0.0, 1 - done);
        distribution_.minimize_cross_entropy(elite, options_.exploration * left);
    }

    std::shared_ptr<const DistributionView> make_view() const {
        auto view = std::make_shared<DistributionView>();
        view->devices.assign(choices_.devices().begin(), choices_.devices().end());
        view->probability.assign(choices_.groups() * view->devices.size(), 0);
        const auto put = [&](GroupId group, DeviceId device, double probability) {
            const auto column = static_cast<std::size_t>(std::ranges::lower_bound(view->devices, device) -
                                                         view->devices.begin());
            view->probability[group * view->devices.size() + column] = probability;
        };
        for (GroupId group = 0; group < fixed_.size(); ++group) {
            if (choices_.of(group).size() == 1) put(group, fixed_[group], 1);
        }
        for (std::size_t m = 0; m < distribution_.variables(); ++m) {
            const GroupId group = choices_.movable()[m];
            for (std::size_t j = 0; j < distribution_.choices(m); ++j)
                put(group, choices_.of(group)[j], distribution_.probabilities(m)[j]);
        }
        view->entropy = distribution_.entropy();
        view->largest_entropy = distribution_.largest_entropy();
        view->entropies = entropies_.points();
        return view;
    }

    DeviceChoices choices_;
    Learning learning_;
    DistributionOptions options_;
    std::uint64_t samples_;        ///< placements over which the exploration falls to 0
    std::optional<double> share_;  ///< of the time, over which it falls instead; nothing: not timed
    Random random_;
    Pieces pieces_;
    SoftmaxDistribution distribution_;
    Placement fixed_;  ///< devices of groups without a choice; the others are on their first device
    MovingStatistics statistics_;
    double penalty_;  ///< beta

    std::vector<Draw> asked_draws_;
    std::vector<Placement> asked_;
    std::uint64_t told_ = 0;
    Sample batch_;  ///< drawn since the distribution last changed
    Sample pool_;   ///< drawn since the cross-entropy was last minimized
    Series entropies_;
    mutable std::shared_ptr<const DistributionView> view_;
};

AlgorithmInfo algorithm(Learning learning, std::string id, std::string title, std::string help,
                        std::vector<OptionPreset> presets) {
    return {
        std::move(id),
        std::move(title),
        std::move(help),
        schema(learning).infos(),
        [learning](const SearchContext& context, const OptionValues& values) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Post>(context, learning, schema(learning).parse(values));
        },
        std::move(presets)};
}

}  // namespace

namespace {

/// The paper's formulas where the defaults do not depend on the unit of time. The paper gives no constant for
/// its moving average.
OptionPreset paper_preset() {
    return {"paper",
            "As in equation 11 of Post: advantages in seconds, without a limit.",
            {{"reward", std::string("seconds")}, {"advantage_limit", 0.0}}};
}

}  // namespace

AlgorithmInfo post_algorithm() {
    return algorithm(
        Learning::joint, "post", "Post",
        "Draws placements from a distribution that learns by proximal policy optimization after each batch "
        "and by cross-entropy minimization less often (Post; Gao, Chen and Li, 2018).",
        {paper_preset()});
}

AlgorithmInfo cross_entropy_algorithm() {
    return algorithm(Learning::cross_entropy, "cross-entropy", "Cross-entropy",
                     "Draws placements from a distribution that is fitted to the best of them again and "
                     "again (cross-entropy method).",
                     {});
}

AlgorithmInfo policy_gradient_algorithm() {
    return algorithm(Learning::policy_gradient, "policy-gradient", "Policy gradient",
                     "Draws placements from a distribution and raises the probability of those that are "
                     "better than the average (REINFORCE; Williams, 1992).",
                     {paper_preset()});
}

AlgorithmInfo ppo_algorithm() {
    return algorithm(Learning::proximal, "ppo", "Proximal policy optimization",
                     "Policy gradient with several steps per batch and a penalty on the divergence from the "
                     "distribution that was drawn from (Schulman et al., 2017).",
                     {paper_preset()});
}

}  // namespace placewright
