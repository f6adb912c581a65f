// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/guide.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct InstantOptions {
    std::uint32_t draws = 32;
    std::uint32_t refinement = 1500;
};

const OptionSchema<InstantOptions>& instant_schema() {
    using Options = InstantOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("draws", &Options::draws, 1, 100'000,
                 "Placements of the policy: the most likely one, and others drawn from it.")
            .add("refinement", &Options::refinement, 0, 1'000'000,
                 "Evaluations of a short annealing from the best of them, whose moves the policy proposes "
                 "too. In graphs of more than 30,000 ops there are fewer, as each takes longer.");
    return schema;
}

/// First acceptance of the annealing: what it starts from is good already.
constexpr double kFirstAcceptance = 0.002;
/// Largest number of ops for the list schedulers, which take longer than the policy.
constexpr std::uint32_t kMostOpsToSchedule = 20'000;
/// Graphs of more ops are refined by fewer evaluations, in about the same time.
constexpr std::uint64_t kMostOpsToRefine = 30'000;

/// Proposes each device alone, what the guide draws, and what two list schedulers make; then anneals from the
/// best of them. Where none of these fits the accelerators, it also starts from what fills the devices by
/// memory, with CPUs at last.
class Instant final : public Optimizer {
public:
    Instant(const SearchContext& context, const InstantOptions& options)
        : context_(context),
          accelerators_(context.problem, false),
          refinement_(
              static_cast<std::size_t>(options.refinement * kMostOpsToRefine /
                                       std::max<std::uint64_t>(context.problem->ops, kMostOpsToRefine))) {
        std::vector<Placement> first = checked_seeds(context);
        for (Placement& placement : accelerators_.on_each_device()) first.push_back(std::move(placement));
        stage_ = propose_in_turn(std::move(first));
        if (context.guide != nullptr) {
            // Draws are made all at once, so those that cannot be scored are left out.
            const auto draws = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(options.draws, context.evaluations.value_or(options.draws)));
            next_.emplace_back([this, draws] {
                Random random(context_.seed);
                return propose_in_turn(context_.guide->starts(draws, random, stop()));
            });
        }
        const auto fill = [this](const AlgorithmInfo& info, bool allow_cpu) {
            return [this, info, allow_cpu] {
                cpus_ = cpus_ || (allow_cpu && !fits_);
                return fits_ ? nullptr : made(info, {{"allow_cpu", allow_cpu}});
            };
        };
        for (const AlgorithmInfo& info : {heft_algorithm(), m_etf_algorithm()}) {
            if (context.problem->ops <= kMostOpsToSchedule)
                next_.emplace_back([this, info] { return made(info, {}); });
        }
        for (const bool allow_cpu : {false, true}) {
            for (const AlgorithmInfo& info :
                 {m_topo_algorithm(), sequential_fill_algorithm(), memory_proportional_algorithm()})
                next_.push_back(fill(info, allow_cpu));
        }
        if (refinement_ > 0) {
            next_.emplace_back([this] {
                std::ranges::stable_sort(built_, {},
                                         [](const Built& built) { return built.score.penalised_s; });
                std::vector<Placement> seeds;
                for (Built& built : built_) seeds.push_back(std::move(built.placement));
                if (cpus_) context_.guide = nullptr;  // it knows no CPUs
                auto annealing =
                    simulated_annealing_algorithm().make({context_.problem,
                                                          context_.seed,
                                                          std::move(seeds),
                                                          {},
                                                          context_.objective,
                                                          context_.simulation,
                                                          context_.guide},
                                                         {{"learn_moves", true},
                                                          {"start_acceptance", kFirstAcceptance},
                                                          {"steps", static_cast<std::int64_t>(refinement_)},
                                                          {"allow_cpu", cpus_}});
                left_ = built_.size() + refinement_;
                annealing_ = true;
                return annealing;
            });
        }
        std::ranges::reverse(next_);
    }

    std::span<const Placement> ask(std::size_t limit) override {
        while (!stop().stop_requested()) {
            if (stage_ != nullptr && left_ > 0) {
                stage_->stop_on(stop());
                stage_->work_with(workers());
                asked_ = stage_->ask(std::min(limit, left_));
                if (!asked_.empty()) return asked_;
            }
            if (next_.empty()) return {};
            const auto make = std::move(next_.back());
            next_.pop_back();
            stage_ = make();
        }
        return {};
    }

    const Placement* base(std::size_t i) const override { return annealing_ ? stage_->base(i) : nullptr; }

    bool proposes_ahead() const override { return stage_ != nullptr && stage_->proposes_ahead(); }
    std::span<const Scored> counted() const override {
        return stage_ != nullptr ? stage_->counted() : std::span<const Scored>();
    }

    void tell(std::span<const Score> scores) override {
        if (!annealing_) {
            for (std::size_t i = 0; i < scores.size(); ++i) {
                built_.push_back({asked_[i], scores[i]});
                fits_ = fits_ || (scores[i].fits && accelerators_.allows(asked_[i]));
            }
        }
        const bool some_count = stage_->proposes_ahead();
        stage_->tell(scores);
        if (annealing_) left_ -= std::min(left_, some_count ? stage_->counted().size() : scores.size());
    }

private:
    struct Built {
        Placement placement;
        Score score;
    };

    std::unique_ptr<Optimizer> made(const AlgorithmInfo& info, const OptionValues& values) const {
        return info.make({context_.problem, context_.seed, {}, {}, context_.objective, context_.simulation},
                         values);
    }

    SearchContext context_;
    DeviceChoices accelerators_;        ///< without CPUs, as far as there is a choice
    std::size_t refinement_;            ///< evaluations of the annealing
    std::unique_ptr<Optimizer> stage_;  ///< null where a stage was not needed
    std::vector<std::function<std::unique_ptr<Optimizer>()>> next_;  ///< the next one last
    std::vector<Built> built_;
    std::span<const Placement> asked_;
    bool fits_ = false;  ///< without CPUs
    bool cpus_ = false, annealing_ = false;
    std::size_t left_ = static_cast<std::size_t>(-1);
};

}  // namespace

AlgorithmInfo instant_algorithm() {
    return describe<Instant>("instant", "Instant",
                             "Draws placements of the policy that ships with the program, adds those of two "
                             "list schedulers and improves the best of them for a moment; ends by itself.",
                             instant_schema());
}

}  // namespace placewright
