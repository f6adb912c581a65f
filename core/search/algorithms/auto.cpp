// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/infinity.hpp"
#include "core/cost/placement_key.hpp"
#include "core/graph/blocks.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/guide.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/neighbourhood.hpp"
#include "core/search/parts/proposals.hpp"
#include "core/search/streamed_optimizer.hpp"
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
            .add(
                "turn", &Options::turn, 0, 1e6,
                "In a round up to three searches run side by side; after it they learn from each other. 0: a "
                "twentieth of all evaluations, at most 1024 (also 1024 if their number is unknown).")
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
constexpr std::size_t kRounds = 20;
constexpr std::size_t kLongestRound = 1024;
/// Bytes of the placements of a round, which are kept until it ends.
constexpr std::size_t kRoundBytes = std::size_t{64} << 20;
/// Searches that take a turn in the same round, if there are so many.
constexpr std::size_t kLanes = 3;
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
/// Placements in a row that have a score already, after which a search loses its turn.
constexpr std::size_t kMostRepeats = 1024;
constexpr std::size_t kMostFruitlessRounds = 16;
constexpr std::size_t kMostScores = std::size_t{1} << 20;

/// Every algorithm that builds a placement quickly proposes it; then searches, which start from these
/// placements, take turns. An algorithm portfolio (Gomes and Selman, 2001) with shares in part fixed, in part
/// by probability matching (Thierens, 2005).
///
/// Some searches take their turns in the same round: each in a lane, with a quota of the round's evaluations.
/// Within a round a search knows nothing of the others, so that they can run side by side; after it they
/// learn from each other's placements. A placement that was scored in an earlier round, or in the same lane,
/// is answered from memory. What the lanes have scored counts in an order that follows from the quotas alone
/// (canonical order), so nothing depends on how many placements of which lane are scored at a time. One
/// thread that takes them one by one scores them in this very order.
class Auto final : public StreamedOptimizer {
public:
    Auto(const SearchContext& context, const AutoOptions& options)
        : context_(context), options_(options), random_(context.seed), seeds_(checked_seeds(context)) {
        if (options_.turn == 0) {
            const std::uint64_t share = context.evaluations.value_or(kRounds * kLongestRound) / kRounds;
            options_.turn = static_cast<std::size_t>(std::clamp<std::uint64_t>(share, kLanes, kLongestRound));
        }
        const std::size_t bytes = std::max<std::size_t>(context.problem->groups * sizeof(DeviceId), 1);
        options_.turn = std::min(options_.turn, std::max(kRoundBytes / bytes, kLanes));
        begin_building(options_.cpus == "always" || (options_.cpus == "if-needed" && by_formula()));
    }

    /// Batches: of the algorithms that build placements, and later of the searches that start from them.
    std::span<const Placement> ask(std::size_t limit) override {
        while (builder_ != nullptr && !stop().stop_requested()) {
            open_.clear();
            open_keys_.clear();
            open_bases_.clear();
            if (propose(*builder_, limit)) return open_;
            if (!stop().stop_requested()) next_builder();
        }
        if (stop().stop_requested()) return {};
        return StreamedOptimizer::ask(limit);
    }

    PlacementStream* stream(const StreamLimits& limits) override {
        if (builder_ != nullptr) return nullptr;
        if (!limits.continues) {
            counted_.clear();
            past_lanes_.clear();
        }
        limits_ = limits;
        given_ = 0;
        if (std::ranges::all_of(lanes_, &Lane::is_done)) {
            end_round();
            is_exhausted_ = fruitless_rounds_ == kMostFruitlessRounds || !begin_round(limits.counted);
        }
        for (Lane& lane : lanes_) begin_section(lane);
        return this;
    }

    StreamItem* next() override {
        while (given_ < limits_.given && !stop().stop_requested()) {
            Lane* const lane = next_lane();
            if (lane == nullptr) return nullptr;
            StreamItem* const inner = lane->stream->next();
            if (inner == nullptr) {
                lane->is_waiting = true;
                if (lane->stream->is_exhausted() && !stop().stop_requested()) {
                    lane->has_ended = searches_[lane->search].ended = true;
                    count();
                }
                continue;
            }
            if (free_.empty()) free_.push_back(all_.emplace_back(std::make_unique<LaneItem>()).get());
            LaneItem* const item = free_.back();
            free_.pop_back();
            item->lane = lane;
            item->inner = inner;
            ++given_;
            return item;
        }
        return nullptr;
    }

    void fill(StreamItem& item) override {
        auto& own = static_cast<LaneItem&>(item);
        own.lane->stream->fill(*own.inner);
        item = *own.inner;
    }

    bool knows(StreamItem& item) override {
        const Known& of_lane = static_cast<LaneItem&>(item).lane->known;
        for (const Known* const known : {&std::as_const(scores_), &of_lane}) {
            const auto found = known->find(item.key);
            if (found == known->end()) continue;
            scored(item, found->second);
            --given_;
            return true;
        }
        return false;
    }

    void scored(StreamItem& item, const Score& score) override {
        auto& own = static_cast<LaneItem&>(item);
        free_.push_back(&own);
        own.lane->stream->scored(*own.inner, score);
        take(*own.lane);
        count();
    }

    std::size_t open() const override {
        std::size_t open = 0;
        for (const Lane& lane : lanes_) open += lane.stream->open();
        return open;
    }
    bool is_next_certain() const override { return false; }
    bool is_exhausted() const override { return is_exhausted_; }

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

    const Placement* base(std::size_t i) const override {
        return builder_ != nullptr ? open_bases_[i] : StreamedOptimizer::base(i);
    }

    void tell(std::span<const Score> scores) override {
        if (builder_ == nullptr) return StreamedOptimizer::tell(scores);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            remember(open_keys_[i], scores[i]);
            best_s_ = std::min(best_s_, scores[i].penalised_s);
            built_.push_back({open_[i], scores[i]});
        }
        told_.clear();
        for (const Answer& answer : builder_answers_)
            told_.push_back(answer.open == kNotOpen ? answer.score : scores[answer.open]);
        builder_->tell(told_);
    }

    bool proposes_ahead() const override { return builder_ == nullptr; }
    std::span<const Scored> counted() const override { return counted_; }

    std::vector<Scored> uncounted() const override {
        std::vector<Scored> rest;
        for (const Lane& lane : lanes_) {
            for (std::size_t i = lane.counted; i < lane.scores.size(); ++i)
                rest.push_back({&lane.placements[i], lane.scores[i]});
        }
        return rest;
    }

    std::shared_ptr<const ArchiveView> archive() const override {
        for (const Search& search : searches_) {
            if (auto archive = search.optimizer->archive()) return archive;
        }
        return nullptr;
    }

private:
    static constexpr std::size_t kNotOpen = std::numeric_limits<std::size_t>::max();

    using Known = std::unordered_map<PlacementKey, Score, PlacementKey::Hash>;

    /// Where the score of a proposed placement comes from.
    struct Answer {
        Score score;
        std::size_t open = kNotOpen;  ///< index in open_ if the score was not known
    };
    struct Built {
        Placement placement;
        Score score;
    };
    struct Search {
        std::unique_ptr<Optimizer> optimizer;
        std::unique_ptr<BatchStream> batches;  ///< of an optimizer that has no stream; null: not yet made
        double fixed_share = 0;                ///< of the evaluations; 0 for those that compete
        double credit = 0;
        double evaluations = 0;
        bool ended = false;
    };

    /// A search in a round.
    struct Lane {
        std::size_t search = 0;  ///< index in searches_
        std::size_t quota = 0;   ///< evaluations of the round
        PlacementStream* stream = nullptr;
        std::size_t taken = 0;    ///< placements of this section of the stream
        bool is_waiting = false;  ///< for scores, before the stream gives out more
        bool has_ended = false;   ///< proposes nothing more in this round
        std::size_t repeats = 0;  ///< latest placements in a row that had a score
        double best_s = kInfinity;

        /// Scored in this round, in the order of the search; room for `quota` from the beginning, so that
        /// pointers into them stay valid.
        std::vector<Placement> placements;
        std::vector<PlacementKey> keys;
        std::vector<Score> scores;
        std::size_t counted = 0;  ///< of these
        Known known;

        bool is_done() const { return has_ended || scores.size() == quota; }
        double progress(std::size_t evaluations) const {
            return static_cast<double>(evaluations) / static_cast<double>(quota);
        }
    };

    struct LaneItem : StreamItem {
        Lane* lane = nullptr;
        StreamItem* inner = nullptr;
    };

    void remember(const PlacementKey& key, const Score& score) {
        if (scores_.size() == kMostScores) scores_.clear();
        scores_.insert_or_assign(key, score);
    }

    /// Adds those placements to open_ that have no score in scores_.
    void look_up(const Optimizer& optimizer, std::span<const Placement> proposed) {
        builder_answers_.assign(proposed.size(), {});
        for (std::size_t k = 0; k < proposed.size(); ++k) {
            const PlacementKey key = key_of(proposed[k]);
            Answer& answer = builder_answers_[k];
            if (const auto found = scores_.find(key); found != scores_.end()) {
                answer.score = found->second;
                continue;
            }
            const auto twin = std::ranges::find(open_keys_, key);
            answer.open = static_cast<std::size_t>(twin - open_keys_.begin());
            if (twin != open_keys_.end()) continue;
            open_.push_back(proposed[k]);
            open_keys_.push_back(key);
            open_bases_.push_back(optimizer.base(k));
        }
    }

    /// Asks the builder until it proposes a placement without a score; such placements are then in open_.
    /// Returns false if it has nothing more to propose.
    bool propose(Optimizer& builder, std::size_t limit) {
        builder.stop_on(stop());
        builder.work_with(workers());
        while (true) {
            const std::span<const Placement> proposed = builder.ask(limit);
            if (proposed.empty()) return false;
            look_up(builder, proposed);
            if (!open_.empty()) return true;
            told_.clear();
            for (const Answer& answer : builder_answers_) told_.push_back(answer.score);
            builder.tell(told_);
        }
    }

    void begin_section(Lane& lane) {
        Search& search = searches_[lane.search];
        search.optimizer->stop_on(stop());
        search.optimizer->work_with(nullptr);  // a stream must not use the threads
        lane.taken = 0;
        lane.is_waiting = false;
        lane.stream =
            search.optimizer->stream({.threads = limits_.threads, .in_batches = limits_.in_batches});
        if (lane.stream != nullptr) return;
        constexpr std::size_t kByThread = 4;
        if (search.batches == nullptr) search.batches = std::make_unique<BatchStream>(*search.optimizer);
        search.batches->begin({.counted = room(lane)},
                              limits_.threads == 1 ? 1 : kByThread * limits_.threads);
        lane.stream = search.batches.get();
    }

    /// Number of placements that the lane may still propose before it is known how many of those before have
    /// a score already.
    static std::size_t room(const Lane& lane) {
        if (lane.is_done()) return 0;
        return std::min(lane.quota - lane.scores.size(), kMostRepeats - lane.repeats);
    }

    /// The lane that proposes next, or null: the next one in canonical order, but lanes whose next placement
    /// will count for sure come before the others.
    Lane* next_lane() {
        Lane* next = nullptr;
        std::pair<bool, double> least{true, kInfinity};
        for (Lane& lane : lanes_) {
            const std::size_t open = lane.stream->open();
            if (lane.is_waiting || open >= room(lane)) continue;
            const std::pair rank(!lane.stream->is_next_certain(),
                                 lane.progress(lane.scores.size() + open + 1));
            if (next == nullptr || rank < least) {
                next = &lane;
                least = rank;
            }
        }
        return next;
    }

    /// Takes what the stream of a lane has newly counted, and keeps the placements that had no score.
    void take(Lane& lane) {
        Search& search = searches_[lane.search];
        lane.is_waiting = false;
        for (const auto counted = lane.stream->counted(); lane.taken < counted.size(); ++lane.taken) {
            const auto& [placement, score] = counted[lane.taken];
            const PlacementKey key = key_of(*placement);
            if (scores_.contains(key) || !lane.known.emplace(key, score).second) {
                if (++lane.repeats == kMostRepeats) lane.has_ended = true;
                continue;
            }
            lane.repeats = 0;
            lane.placements.push_back(*placement);
            lane.keys.push_back(key);
            lane.scores.push_back(score);
            if (score.penalised_s < lane.best_s) {
                if (lane.best_s < kInfinity) search.credit += 1 - score.penalised_s / lane.best_s;
                lane.best_s = score.penalised_s;
            }
        }
    }

    /// Counts what is known, in the canonical order: next comes the lane that has counted the smallest part
    /// of its quota.
    void count() {
        while (true) {
            Lane* next = nullptr;
            for (Lane& lane : lanes_) {
                if (lane.is_done() && lane.counted == lane.scores.size()) continue;
                if (next == nullptr || lane.progress(lane.counted + 1) < next->progress(next->counted + 1))
                    next = &lane;
            }
            if (next == nullptr || next->counted == next->scores.size()) return;
            // Another lane may have counted the same placement.
            if (counted_keys_.insert(next->keys[next->counted]).second)
                counted_.push_back({&next->placements[next->counted], next->scores[next->counted]});
            ++next->counted;
        }
    }

    /// The searches learn from each other's placements.
    void end_round() {
        if (lanes_.empty()) return;
        bool fruitful = false;
        for (Lane& lane : lanes_) {
            Search& search = searches_[lane.search];
            // Otherwise a search with a fixed share that only repeats itself would get the next turn, too.
            search.evaluations += static_cast<double>(lane.has_ended ? lane.quota : lane.scores.size());
            best_s_ = std::min(best_s_, lane.best_s);
            fruitful = fruitful || !lane.scores.empty();
            for (const auto& [key, score] : lane.known) remember(key, score);
            for (std::size_t i = 0; i < searches_.size(); ++i) {
                if (i != lane.search) searches_[i].optimizer->learn(lane.placements, lane.scores);
            }
        }
        fruitless_rounds_ = fruitful ? 0 : fruitless_rounds_ + 1;
        counted_keys_.clear();
        std::ranges::move(lanes_, std::back_inserter(past_lanes_));
        lanes_.clear();
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
            if (!info.missing.empty()) return;
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
                return propose_in_turn(guide()->starts(kGuidedStarts, random, stop()));
            });
        }
        std::vector<Placement> first = seeds_;
        std::ranges::move(on_each_sort_of_device(choices), std::back_inserter(first));
        builder_ = propose_in_turn(std::move(first));
        are_built_ = false;
        movable_ = choices.movable().size();
        placements_ = 1;
        for (const GroupId group : choices.movable())
            placements_ *= static_cast<double>(choices.of(group).size());
    }

    /// Lets the builders build side by side, if there will be evaluations for all of them. They keep what
    /// they have built until it is scored.
    void build_all() {
        constexpr std::uint64_t kEnough = 100;
        if (threads() == 1 || context_.evaluations.value_or(kEnough) < kEnough) return;
        built_by_.resize(builders_.size());
        for_each(builders_.size(), [&](std::size_t i) {
            try {
                built_by_[i] = builders_[i]();
                built_by_[i]->stop_on(stop());
                built_by_[i]->ask(1);
            } catch (const OptionError&) {
                built_by_[i].reset();
                builders_[i] = nullptr;
            }
        });
    }

    void next_builder() {
        if (!std::exchange(are_built_, true)) build_all();
        builder_ = nullptr;
        while (!builders_.empty()) {
            const auto make = std::move(builders_.back());
            builders_.pop_back();
            if (!built_by_.empty()) {
                builder_ = std::move(built_by_.back());
                built_by_.pop_back();
                if (make == nullptr) continue;
                if (builder_ != nullptr) return;
            }
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
        return std::ranges::any_of(
            built_, [&](const Built& built) { return built.score.fits && choices.allows(built.placement); });
    }

    void begin_searching() {
        std::ranges::stable_sort(built_, {}, [](const Built& built) { return built.score.penalised_s; });
        const double building = static_cast<double>(built_.size());
        std::vector<Placement> seeds;
        for (Built& built : built_) seeds.push_back(std::move(built.placement));
        built_.clear();
        const auto add = [&](const AlgorithmInfo& info, OptionValues values, double fixed_share = 0) {
            searches_.push_back({made(info, std::move(values), random_.bits(), seeds), nullptr, fixed_share});
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

    /// Chooses the searches of the next round: those with a fixed share of the evaluations, as far as they
    /// are behind it, and others at random. Returns false if all have ended.
    bool begin_round(std::size_t limit) {
        const std::size_t all = std::min(limit, options_.turn);
        std::size_t left = all;
        const auto add = [&](std::size_t search, std::size_t quota) {
            if (quota == 0) return;
            Lane& lane = lanes_.emplace_back();
            lane.search = search;
            lane.quota = quota;
            lane.best_s = best_s_;
            lane.placements.reserve(quota);
            left -= quota;
        };
        const double spent = this->spent() + static_cast<double>(all);
        std::vector<std::size_t> fixed, competing;
        for (std::size_t i = 0; i < searches_.size(); ++i) {
            if (searches_[i].ended) continue;
            (searches_[i].fixed_share > 0 ? fixed : competing).push_back(i);
        }
        if (fixed.empty() && competing.empty()) return false;
        for (const std::size_t i : fixed) {
            const double behind = searches_[i].fixed_share * spent - searches_[i].evaluations;
            const auto quota = static_cast<std::size_t>(std::max(std::round(behind), 0.0));
            // With none to compete, the last one gets what is left.
            add(i, competing.empty() && i == fixed.back() ? left : std::min(quota, left));
        }
        for (const std::size_t i : competing) searches_[i].credit *= options_.credit_memory;
        std::size_t lanes = std::min(
            {std::max(kLanes - std::min(kLanes, lanes_.size()), std::size_t{1}), competing.size(), left});
        for (; lanes > 0; --lanes) {
            const std::size_t chosen = drawn(competing);
            add(competing[chosen], lanes == 1 ? left : left / lanes);
            competing.erase(competing.begin() + static_cast<std::ptrdiff_t>(chosen));
        }
        return true;
    }

    /// Draws one of the competing searches, by what they have found. Returns its index in `competing`.
    std::size_t drawn(std::span<const std::size_t> competing) {
        const auto count = static_cast<double>(competing.size());
        double credits = 0;
        for (const std::size_t i : competing) credits += searches_[i].credit;
        const double least = std::min(options_.least_share, 1 / count);
        double draw = random_.uniform();
        for (std::size_t k = 0; k < competing.size(); ++k) {
            const double matched = credits > 0 ? searches_[competing[k]].credit / credits : 1 / count;
            draw -= least + (1 - least * count) * matched;
            if (draw < 0) return k;
        }
        return competing.size() - 1;
    }

    SearchContext context_;
    AutoOptions options_;
    Random random_;
    std::vector<Placement> seeds_;
    bool cpus_ = false;
    std::size_t movable_ = 0;
    double placements_ = 1;

    std::vector<std::function<std::unique_ptr<Optimizer>()>> builders_;  ///< not yet run, the next one last
    /// [builder]: what build_all() has made; empty if nothing was built side by side.
    std::vector<std::unique_ptr<Optimizer>> built_by_;
    bool are_built_ = false;
    std::unique_ptr<Optimizer> builder_;  ///< null when all have finished
    std::vector<Built> built_;

    std::optional<double> used_;  ///< share of the time; nothing: not timed
    double searching_from_ = 0;   ///< share of the time that was used when the searches began
    bool cools_by_time_ = false;  ///< the first search is an annealing that cools over the time

    std::vector<Search> searches_;
    std::vector<Lane> lanes_;       ///< of this round
    std::vector<Lane> past_lanes_;  ///< of rounds that have ended; counted_ points into them
    std::unordered_set<PlacementKey, PlacementKey::Hash> counted_keys_;  ///< of this round
    std::size_t fruitless_rounds_ = 0;

    Known scores_;  ///< of earlier rounds
    double best_s_ = kInfinity;
    std::vector<Scored> counted_;  ///< of this section

    StreamLimits limits_;    ///< of this section
    std::size_t given_ = 0;  ///< items given out in this section
    bool is_exhausted_ = false;
    std::vector<std::unique_ptr<LaneItem>> all_;
    std::vector<LaneItem*> free_;

    // State of the current batch of a builder.
    std::vector<Placement> open_;  ///< placements without a score
    std::vector<PlacementKey> open_keys_;
    std::vector<const Placement*> open_bases_;
    std::vector<Answer> builder_answers_;
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
