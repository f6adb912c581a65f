// SPDX-License-Identifier: MIT
#include "core/learn/policies.hpp"

#include <algorithm>
#include <array>

#include "core/base/torch_library.hpp"

namespace placewright {
namespace {

/// Trains a policy on one graph: proposes the placements of an update in slices, and updates the weights when
/// all have their scores.
class PolicySearch final : public Optimizer {
public:
    PolicySearch(const SearchContext& context, const PolicyInfo& info, const OptionValues& values)
        : trainer_(make_trainer(context, info, values)) {}

    std::span<const Placement> ask(std::size_t limit) override {
        if (next_ == asked_.size()) {
            if (trainer_.state().updates > 0 && trainer_.graphs().front().graph->choices.movable().empty())
                return {};
            if (!draw()) return {};
        }
        return std::span(asked_).subspan(next_, std::min(limit, asked_.size() - next_));
    }

    void used(double share) override { trainer_.set_share(share); }

    void tell(std::span<const Score> scores) override {
        std::ranges::copy(scores, scores_.begin() + static_cast<std::ptrdiff_t>(next_));
        next_ += scores.size();
        if (next_ < asked_.size()) return;
        std::vector<std::vector<Score>> by_episode;
        std::size_t from = 0;
        for (const Episode& episode : trainer_.begin()) {
            const auto first = scores_.begin() + static_cast<std::ptrdiff_t>(from);
            by_episode.emplace_back(first, first + static_cast<std::ptrdiff_t>(episode.placements.size()));
            from += episode.placements.size();
        }
        trainer_.finish(by_episode);
    }

    std::shared_ptr<const std::vector<TrainingPoint>> training() const override {
        return std::make_shared<const std::vector<TrainingPoint>>(trainer_.state().curve);
    }

private:
    static Trainer make_trainer(const SearchContext& context, const PolicyInfo& info,
                                const OptionValues& values) {
        auto graph = std::make_shared<const PolicyGraph>(context.problem, allows_cpu(info, values));
        const PolicyDesign design = info.make(values, {graph->devices, graph->nodes});
        TrainingGraph item{context.problem->forward->name(), graph, reference_s(*context.problem)};
        std::optional<std::uint64_t> updates;
        if (context.evaluations) {
            const Trainer probe(design.policy, design.training, {item}, context.seed);
            updates = std::max<std::uint64_t>(1, *context.evaluations / probe.evaluations_per_update());
        }
        return {design.policy, design.training, {std::move(item)}, context.seed, updates};
    }

    /// Returns false if it was stopped, or if all further episodes show known placements.
    bool draw() {
        asked_.clear();
        scores_.clear();
        next_ = 0;
        while (asked_.empty()) {
            const std::span<const Episode> episodes = trainer_.begin(stop());
            if (episodes.empty()) return false;
            for (const Episode& episode : episodes)
                asked_.insert(asked_.end(), episode.placements.begin(), episode.placements.end());
            if (!asked_.empty()) break;
            if (trainer_.only_imitates()) return false;
            trainer_.finish(std::vector<std::vector<Score>>(episodes.size()));
        }
        scores_.assign(asked_.size(), {});
        return true;
    }

    Trainer trainer_;
    std::vector<Placement> asked_;
    std::vector<Score> scores_;
    std::size_t next_ = 0;
};

}  // namespace

std::span<const PolicyInfo> policies() {
    static const std::array list{placeto_policy(),   colocrl_policy(), hierarchical_policy(),
                                 spotlight_policy(), gdp_policy(),     list_policy()};
    return list;
}

const PolicyInfo* find_policy(std::string_view id) {
    const auto list = policies();
    const auto found = std::ranges::find(list, id, &PolicyInfo::id);
    return found == list.end() ? nullptr : &*found;
}

bool allows_cpu(const PolicyInfo& policy, const OptionValues& values) {
    const auto given = values.find("allow_cpu");
    const OptionValue value = given != values.end()
                                  ? given->second
                                  : policy.options[position(policy.options, "allow_cpu")].default_value;
    return std::get<bool>(value);
}

std::string misfit(const PolicyInfo& policy, const OptionValues& values, const PolicySize& size,
                   const PolicyGraph& graph) {
    const PolicyDesign design = policy.make(values, size);
    // Suggests a choice of an option that makes the policy support any number.
    const auto remedy = [&](bool PolicyDesign::*any) -> std::string {
        for (const OptionInfo& option : policy.options) {
            for (const std::string& choice : option.choices) {
                OptionValues other = values;
                other[option.name] = choice;
                if (policy.make(other, size).*any)
                    return "train a policy with " + option.name + "=" + choice +
                           ", which supports any number";
            }
        }
        for (const PolicyInfo& other : policies()) {
            if (other.make({}, size).*any) return "train " + other.id + ", which supports any number";
        }
        return "train a policy for this number";
    };
    const auto complaint = [&](const char* what, std::uint32_t made_for, std::uint32_t found,
                               bool PolicyDesign::*any) {
        return "with these options " + policy.id + " is made for a fixed number of " + what + ": " +
               std::to_string(made_for) + ", not " + std::to_string(found) + "; " + remedy(any);
    };
    if (!design.any_devices && graph.devices != size.devices)
        return complaint("devices", size.devices, graph.devices, &PolicyDesign::any_devices);
    if (!design.any_nodes && graph.nodes != size.nodes)
        return complaint("groups", size.nodes, graph.nodes, &PolicyDesign::any_nodes);
    return {};
}

double reference_s(const Problem& problem) {
    const Placement placement = single_device_placement(problem);
    double sum_s = 0;
    for (GroupId group = 0; group < problem.groups; ++group)
        sum_s += problem.group_time_s(group, placement[group]);
    return sum_s > 0 ? sum_s : 1;
}

std::vector<AlgorithmInfo> learned_algorithms() {
    std::vector<AlgorithmInfo> all;
    for (const PolicyInfo& info : policies()) {
        all.push_back(
            {info.id, info.title, info.help, info.options,
             [&info](const SearchContext& context, const OptionValues& values) -> std::unique_ptr<Optimizer> {
                 return std::make_unique<PolicySearch>(context, info, values);
             },
             info.presets});
        if (info.needs_libtorch && !has_torch_libraries())
            all.back().missing = info.id + ": " + missing_part_text("LibTorch", "PLACEWRIGHT_WITH_LIBTORCH");
    }
    return all;
}

}  // namespace placewright
