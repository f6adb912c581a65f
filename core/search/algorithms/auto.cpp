// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/infinity.hpp"
#include "core/cost/placement_key.hpp"
#include "core/graph/blocks.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/guide.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/neighbourhood.hpp"
#include "core/search/parts/proposals.hpp"
#include "core/sim/max_load.hpp"

namespace placewright {
namespace {

struct AutoOptions {
    std::size_t turn = 0;
    double slow_share = 0.4;
    double most_slow_share = 0.9;
    double reheated_share = 0.3;
    double least_share = 0.1;
    double credit_memory = 0.8;
    std::string cpus = "if-needed";
    bool policy = true;
};

const OptionSchema<AutoOptions>& auto_schema() {
    using Options = AutoOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("turn", &Options::turn, 0, 1e6,
                 "Evaluations per turn of a search; 0: 1/40 of all evaluations, at most 512 (also 512 if "
                 "their number is unknown).")
            .add(
                "slow_share", &Options::slow_share, 0, 1,
                "Share of the evaluations for one slow annealing over the whole search; no effect if nothing "
                "but the user ends it.")
            .add("most_slow_share", &Options::most_slow_share, 0, 1,
                 "Limit towards which slow_share grows when there are few evaluations per op, where one slow "
                 "cooling pays off most.")
            .add("reheated_share", &Options::reheated_share, 0, 1,
                 "Share of the evaluations for an annealing that cools quickly and repeatedly, from the best "
                 "placement and from random ones; less when there are few evaluations per op. The other "
                 "searches compete for the rest.")
            .add("least_share", &Options::least_share, 0, 1,
                 "Minimum share of that rest for each competing search, at most an equal share; the "
                 "remainder is divided by what they find.")
            .add("credit_memory", &Options::credit_memory, 0, 1,
                 "Share of a search's credit for earlier improvements that remains after each turn.")
            .add("cpus", &Options::cpus, {"if-needed", "always", "never"},
                 "Let ops move to CPUs. if-needed: only if no placement without CPUs fits the memory, and "
                 "always for max load and block latency.")
            .add(
                "policy", &Options::policy,
                "Start from placements of the policy that ships with the program, and let it propose moves.");
    return schema;
}

/// Largest number of placements that are all tried.
constexpr double kMostToTryAll = 2000;
/// Evaluations of the first quick cooling per movable group.
constexpr double kCoolingByGroup = 12;
/// Evaluations per movable group up to which a search counts as short.
constexpr double kShortSearch = 50;
constexpr std::size_t kTurns = 40;
constexpr std::size_t kLongestTurn = 512;
/// Number of ops from which on an algorithm that solves a linear program would delay the search.
constexpr OpId kMostOpsForPrograms = 1500;
/// Largest number of ops for m-ETF, which looks at all ready ops again after each op that it places.
constexpr std::uint32_t kMostOpsForEtf = 20'000;
constexpr std::int64_t kMostIdeals = 2000;
/// Ideals for the objectives for which ideals-dp is exact or nearly so.
constexpr std::int64_t kMostIdealsForLoad = 40'000, kMostIdealsForLatency = 20'000;
/// States of ideals-dp: each ideal has many if devices differ.
constexpr std::int64_t kMostStates = 200'000, kMostStatesByFormula = 4'000'000;
constexpr std::int64_t kShortestCooling = 100;
/// Share of the evaluations for load annealing, which follows the objective's formula; each of its
/// evaluations stands for many moves.
constexpr double kLoadAnnealingShare = 0.8;
/// Placements of a guide to start from.
constexpr std::size_t kGuidedStarts = 8;
/// Batches of only scored placements after which a search loses its turn.
constexpr std::size_t kMostRepeats = 256;
constexpr std::size_t kMostFruitlessTurns = 32;
constexpr std::size_t kMostScores = std::size_t{1} << 20;

/// Every algorithm that builds a placement quickly proposes it; then searches, which start from these
/// placements, take turns and learn from each other's. A placement that has been scored is answered from
/// memory, whichever algorithm proposes it. An algorithm portfolio (Gomes and Selman, 2001) with shares in
/// part fixed, in part by probability matching (Thierens, 2005).
class Auto final : public Optimizer {
public:
    Auto(const SearchContext& context, const AutoOptions& options)
        : context_(context), options_(options), random_(context.seed), seeds_(checked_seeds(context)) {
        if (options_.turn == 0) {
            const std::uint64_t share = context.evaluations.value_or(kTurns * kLongestTurn) / kTurns;
            options_.turn = static_cast<std::size_t>(std::clamp<std::uint64_t>(share, 1, kLongestTurn));
        }
        begin_building(options_.cpus == "always" || (options_.cpus == "if-needed" && by_formula()));
    }

    std::span<const Placement> ask(std::size_t limit) override {
        while (!stop().stop_requested()) {
            if (builder_) {
                if (propose(*builder_, limit)) return open_;
                if (!stop().stop_requested()) next_builder();
                continue;
            }
            if (left_ == 0 && !next_search()) return {};
            if (propose(*searches_[turn_].optimizer, std::min(limit, left_))) {
                fruitless_turns_ = 0;
                return open_;
            }
            // Otherwise a search with a fixed share could get this turn again and again.
            searches_[turn_].evaluations += static_cast<double>(std::exchange(left_, 0));
            // Searches that forget nothing only repeat themselves: no new placements remain.
            if (++fruitless_turns_ == kMostFruitlessTurns) return {};
        }
        return {};
    }

    /// The slow annealing cools over the time that remains when the searches begin. The shares of both
    /// annealings are those of as many evaluations as there will be at the speed so far.
    void used(double share) override {
        used_ = share;
        if (!cools_by_time_) return;
        const double done = std::clamp((share - searching_from_) / (1 - searching_from_), 0.0, 1.0);
        searches_.front().optimizer->used(done);
        constexpr double kKnown = 0.02;  // share of the time after which the speed is known
        if (done < kKnown) return;
        const Shares shares = shares_of(std::max(spent() / done, 1.0));
        searches_[0].fixed_share = shares.slow;
        if (options_.reheated_share > 0) searches_[1].fixed_share = shares.reheated;
    }

    const Placement* base() const override { return builder_ ? nullptr : searches_[turn_].optimizer->base(); }

    void tell(std::span<const Score> scores) override {
        const double before_s = best_s_;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores_.size() == kMostScores) scores_.clear();
            scores_.insert_or_assign(open_keys_[i], scores[i]);
            best_s_ = std::min(best_s_, scores[i].penalised_s);
            if (builder_) built_.push_back({open_[i], scores[i]});
        }
        for (Answer& answer : answers_) {
            if (answer.open < scores.size()) answer.score = scores[answer.open];
        }
        if (builder_) {
            pass_on(*builder_);
            return;
        }
        for (std::size_t i = 0; i < searches_.size(); ++i) {
            if (i != turn_) searches_[i].optimizer->learn(open_, scores);
        }
        pass_on(*searches_[turn_].optimizer);
        if (best_s_ < before_s) searches_[turn_].credit += 1 - best_s_ / before_s;
        searches_[turn_].evaluations += static_cast<double>(scores.size());
        left_ -= std::min(left_, scores.size());
    }

    std::shared_ptr<const ArchiveView> archive() const override {
        for (const Search& search : searches_) {
            if (auto archive = search.optimizer->archive()) return archive;
        }
        return nullptr;
    }

private:
    static constexpr std::size_t kNotOpen = std::numeric_limits<std::size_t>::max();

    /// Where the score of a proposed placement comes from.
    struct Answer {
        Score score;
        std::size_t open = kNotOpen;  ///< index in open_ until the score is known
    };
    struct Built {
        Placement placement;
        Score score;
    };
    struct Search {
        std::unique_ptr<Optimizer> optimizer;
        double fixed_share = 0;  ///< of the evaluations; 0 for those that compete
        double credit = 0;
        double evaluations = 0;
        bool ended = false;

        /// Evaluations beyond this search's share of all evaluations of searches.
        double lead(double spent) const { return evaluations - fixed_share * spent; }
    };

    /// Asks the optimizer until it proposes a placement without a score; such placements are then in open_.
    /// Returns false if it has nothing more to propose or has repeated itself for kMostRepeats batches.
    bool propose(Optimizer& optimizer, std::size_t limit) {
        optimizer.stop_on(stop());
        for (std::size_t i = 0; i < kMostRepeats; ++i) {
            const std::span<const Placement> proposed = optimizer.ask(limit);
            if (proposed.empty()) {
                exhausted_ = !stop().stop_requested();
                return false;
            }
            open_.clear();
            open_keys_.clear();
            answers_.assign(proposed.size(), {});
            for (std::size_t k = 0; k < proposed.size(); ++k) {
                const PlacementKey key = key_of(proposed[k]);
                if (const auto known = scores_.find(key); known != scores_.end()) {
                    answers_[k].score = known->second;
                    continue;
                }
                const auto twin = std::ranges::find(open_keys_, key);
                answers_[k].open = static_cast<std::size_t>(twin - open_keys_.begin());
                if (twin != open_keys_.end()) continue;
                open_.push_back(proposed[k]);
                open_keys_.push_back(key);
            }
            if (!open_.empty()) return true;
            pass_on(optimizer);
        }
        exhausted_ = false;
        return false;
    }

    void pass_on(Optimizer& optimizer) {
        told_.clear();
        for (const Answer& answer : answers_) told_.push_back(answer.score);
        optimizer.tell(told_);
    }

    std::unique_ptr<Optimizer> made(const AlgorithmInfo& info, OptionValues values, std::uint64_t seed,
                                    std::vector<Placement> seeds = {}) const {
        values["allow_cpu"] = cpus_;
        return info.make(
            {context_.problem, seed, std::move(seeds), {}, context_.objective, context_.simulation, guide()},
            values);
    }

    /// The guide knows no CPUs.
    std::shared_ptr<SearchGuide> guide() const {
        return options_.policy && !cpus_ ? context_.guide : nullptr;
    }

    bool by_formula() const { return context_.objective != nullptr && !context_.objective->is_step_time(); }

    std::int64_t most_ideals() const {
        if (!by_formula()) return kMostIdeals;
        return context_.objective->evaluate == max_load ? kMostIdealsForLoad : kMostIdealsForLatency;
    }

    /// Everything on one device, for one device of each kind.
    static std::vector<Placement> on_each_sort_of_device(const DeviceChoices& choices) {
        const Problem& problem = choices.problem();
        const auto is_alike = [&](DeviceId a, DeviceId b) {
            Device device = problem.machine->device(a);
            device.name = problem.machine->device(b).name;
            if (!(device == problem.machine->device(b)) ||
                problem.memory_limit_bytes[a] != problem.memory_limit_bytes[b])
                return false;
            // Groups that must be elsewhere have different routes to the two devices, and times may be
            // measured.
            for (GroupId group = 0; group < problem.groups; ++group) {
                if (!choices.allows(group, a) || !choices.allows(group, b)) return false;
                if (problem.group_time_s(group, a) != problem.group_time_s(group, b)) return false;
            }
            return true;
        };
        std::vector<DeviceId> sorts;
        std::vector<Placement> placements;
        for (const DeviceId device : choices.fastest_first()) {
            if (std::ranges::any_of(sorts, [&](DeviceId other) { return is_alike(device, other); })) continue;
            sorts.push_back(device);
            placements.push_back(choices.on_one_device(device));
        }
        return placements;
    }

    void begin_building(bool cpus) {
        cpus_ = cpus;
        const DeviceChoices choices(context_.problem, cpus);
        // The last builder runs first: those that propose only a few placements, so that few evaluations are
        // enough for them, then those that propose dozens.
        const auto add = [&](AlgorithmInfo info, OptionValues values = {}) {
            // With the seed that the algorithm alone would use.
            builders_.push_back([this, info = std::move(info), values = std::move(values)] {
                return made(info, values, context_.seed);
            });
        };
        // Partitioners know nothing of the objective's formula.
        if (!by_formula()) add(metis_algorithm());
        builders_.push_back(
            [splits = first_placements(choices, {}, "best", random_)] { return propose_in_turn(splits); });
        if (!by_formula()) add(scotch_algorithm());
        if (context_.problem->ops <= kMostOpsForPrograms) add(m_sct_algorithm());
        add(ideals_dp_algorithm(), {{"max_ideals", most_ideals()},
                                    {"max_states", by_formula() ? kMostStatesByFormula : kMostStates}});
        add(pipedream_algorithm());
        if (context_.problem->ops <= kMostOpsForEtf) add(m_etf_algorithm());
        for (const AlgorithmInfo& info : {m_topo_algorithm(), heft_algorithm(), expert_algorithm()})
            add(info);
        if (has_blocks(*context_.problem->graph)) {
            for (const AlgorithmInfo& info : {memory_proportional_algorithm(), sequential_fill_algorithm()})
                add(info);
        }
        if (guide() != nullptr && !by_formula()) {
            builders_.push_back([this] {
                Random random(context_.seed);
                return propose_in_turn(guide()->starts(kGuidedStarts, random));
            });
        }
        std::vector<Placement> first = seeds_;
        std::ranges::move(on_each_sort_of_device(choices), std::back_inserter(first));
        builder_ = propose_in_turn(std::move(first));
        movable_ = choices.movable().size();
        placements_ = 1;
        for (const GroupId group : choices.movable())
            placements_ *= static_cast<double>(choices.of(group).size());
    }

    void next_builder() {
        builder_ = nullptr;
        while (!builders_.empty()) {
            const auto make = std::move(builders_.back());
            builders_.pop_back();
            try {
                builder_ = make();
                return;
            } catch (const OptionError&) {
                // The problem is too large for this builder; the others still run.
            }
        }
        if (!cpus_ && options_.cpus == "if-needed" && !fits_without_cpus()) {
            begin_building(true);
        } else {
            begin_searching();
        }
    }

    bool fits_without_cpus() const {
        const DeviceChoices choices(context_.problem, false);
        return std::ranges::any_of(built_, [&](const Built& built) {
            for (GroupId group = 0; group < built.placement.size(); ++group) {
                if (!choices.allows(group, built.placement[group])) return false;
            }
            return built.score.fits;
        });
    }

    void begin_searching() {
        std::ranges::stable_sort(built_, {}, [](const Built& built) { return built.score.penalised_s; });
        const double building = static_cast<double>(built_.size());
        std::vector<Placement> seeds;
        for (Built& built : built_) seeds.push_back(std::move(built.placement));
        built_.clear();
        exhausted_ = false;
        const auto add = [&](const AlgorithmInfo& info, OptionValues values, double fixed_share = 0) {
            searches_.push_back({made(info, std::move(values), random_.bits(), seeds), fixed_share});
        };
        if (placements_ <= kMostToTryAll) {
            add(linear_search_algorithm(), {});
            return;
        }
        if (by_formula()) {
            add(load_annealing_algorithm(), {}, kLoadAnnealingShare);
            add(tabu_algorithm(), {});
            return;
        }
        Shares shares{options_.slow_share, options_.reheated_share};
        double quick_steps = kCoolingByGroup * static_cast<double>(movable_);
        const auto add_annealing = [&](std::int64_t steps, double share) {
            add(simulated_annealing_algorithm(), {{"learn_moves", true}, {"steps", steps}}, share);
        };
        const auto whole = [](double steps) {
            return std::max(static_cast<std::int64_t>(steps), kShortestCooling);
        };
        if (context_.evaluations) {
            const double evaluations = std::max(static_cast<double>(*context_.evaluations) - building, 1.0);
            shares = shares_of(evaluations);
            quick_steps = std::min(quick_steps, shares.reheated * evaluations);
            if (shares.slow > 0) add_annealing(whole(shares.slow * evaluations), shares.slow);
        } else if (used_ && *used_ < 1 && std::max(options_.slow_share, options_.most_slow_share) > 0) {
            constexpr double kLeast = 1e-6;  // a share of 0 would compete
            searching_from_ = *used_;
            cools_by_time_ = true;
            add_annealing(0, std::max(shares.slow, kLeast));
        }
        if (shares.reheated > 0) add_annealing(whole(quick_steps), shares.reheated);
        add(tabu_algorithm(), {});
        add(map_elites_algorithm(), {});
        add(mcmc_algorithm(), {});
    }

    /// Shares of the evaluations for the two annealings, if the searches have so many evaluations in all.
    struct Shares {
        double slow = 0, reheated = 0;
    };
    Shares shares_of(double evaluations) const {
        const double length = evaluations / static_cast<double>(movable_) / kShortSearch;
        const double shortness = 1 / (1 + length * length);
        const double slow =
            options_.slow_share + std::max(options_.most_slow_share - options_.slow_share, 0.0) * shortness;
        return {slow, std::min(options_.reheated_share, 1 - slow) * (1 - shortness)};
    }

    double spent() const {
        double spent = 0;
        for (const Search& search : searches_) spent += search.evaluations;
        return spent;
    }

    /// Chooses the search of the next turn: a search with a fixed share that has used less than its share,
    /// otherwise one of the others at random. Returns false if all have ended.
    bool next_search() {
        if (!searches_.empty() && exhausted_) {
            searches_[turn_].ended = true;
            exhausted_ = false;
        }
        left_ = options_.turn;
        const std::size_t none = searches_.size();
        std::size_t fixed = none;
        const double spent = this->spent();
        double credits = 0, competing = 0;
        for (std::size_t i = 0; i < searches_.size(); ++i) {
            Search& search = searches_[i];
            if (search.ended) continue;
            if (search.fixed_share > 0) {
                if (fixed == none || search.lead(spent) < searches_[fixed].lead(spent)) fixed = i;
                continue;
            }
            search.credit *= options_.credit_memory;
            credits += search.credit;
            ++competing;
        }
        if (fixed != none && (competing == 0 || searches_[fixed].lead(spent) <= 0)) {
            turn_ = fixed;
            return true;
        }
        const double least = competing > 0 ? std::min(options_.least_share, 1 / competing) : 0;
        double draw = random_.uniform();
        for (std::size_t i = 0; i < searches_.size() && draw >= 0; ++i) {
            const Search& search = searches_[i];
            if (search.ended || search.fixed_share > 0) continue;
            const double matched = credits > 0 ? search.credit / credits : 1 / competing;
            draw -= least + (1 - least * competing) * matched;
            turn_ = i;
        }
        return competing > 0;
    }

    SearchContext context_;
    AutoOptions options_;
    Random random_;
    std::vector<Placement> seeds_;
    bool cpus_ = false;
    std::size_t movable_ = 0;
    double placements_ = 1;

    std::vector<std::function<std::unique_ptr<Optimizer>()>> builders_;  ///< not yet run, the next one last
    std::unique_ptr<Optimizer> builder_;                                 ///< null when all have finished
    std::vector<Built> built_;

    std::optional<double> used_;  ///< share of the time; nothing: not timed
    double searching_from_ = 0;   ///< share of the time that was used when the searches began
    bool cools_by_time_ = false;  ///< the first search is an annealing that cools over the time

    std::vector<Search> searches_;
    std::size_t turn_ = 0;    ///< index of the search whose turn it is
    std::size_t left_ = 0;    ///< evaluations left in the turn
    bool exhausted_ = false;  ///< the search has nothing more to propose
    std::size_t fruitless_turns_ = 0;

    std::unordered_map<PlacementKey, Score, PlacementKey::Hash> scores_;
    double best_s_ = kInfinity;

    // State of the current batch.
    std::vector<Placement> open_;  ///< placements without a score
    std::vector<PlacementKey> open_keys_;
    std::vector<Answer> answers_;  ///< one per proposed placement
    std::vector<Score> told_;
};

}  // namespace

AlgorithmInfo auto_algorithm() {
    return describe<Auto>(
        "auto", "Auto",
        "Runs all quick placement rules, then a portfolio of searches that improve on each other's "
        "placements and get evaluations by their success (Gomes and Selman, 2001).",
        auto_schema());
}

}  // namespace placewright
