// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/pieces.hpp"
#include "core/search/parts/variation.hpp"

namespace placewright {
namespace {

struct HillClimbingOptions {
    std::string neighbourhood = "random";
    std::string start = "given";
    double merge_moves = 0.2;
    bool accept_equal = false;
    std::size_t patience = 1000;
    std::size_t restarts = 1'000'000;
    std::size_t batch_size = 1;
    bool allow_cpu = false;
};

const OptionSchema<HillClimbingOptions>& hill_climbing_schema() {
    using Options = HillClimbingOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("neighbourhood", &Options::neighbourhood, {"random", "first", "steepest"},
                 "random: one random move of an op at a time, accepted if better; first: all single-op moves "
                 "in random order, each accepted if better; steepest: the best of all single-op moves.")
            .add("start", &Options::start, {"given", "single-device", "random", "cpu"},
                 "Start placement; restarts are random. given: the start placements of the search (one "
                 "device, that of Expert, and yours), one after the other; the others ignore these. cpu: "
                 "everything on the first CPU, if there is one.")
            .add("merge_moves", &Options::merge_moves, 0, 1,
                 std::string("random, first: share of the moves that move whole pieces. ") + kMergeHelp +
                     " first, steepest: if positive, such moves are tried where no move of one op helps.")
            .add("accept_equal", &Options::accept_equal,
                 "random: also accept moves that leave the score unchanged.")
            .add("patience", &Options::patience, 0, 1e9,
                 "random: consecutive moves without improvement after which the climb is stuck; 0: never.")
            .add("restarts", &Options::restarts, 0, 1e9,
                 "Maximum number of random restarts of a stuck climb; then the search ends.")
            .add("batch_size", &Options::batch_size, 1, 1024,
                 "random, first: moves scored per step, of which the best is taken; larger batches use more "
                 "cores.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Climbs from one start after another; the subclasses choose the moves.
class HillClimbing : public Optimizer {
public:
    HillClimbing(const SearchContext& context, const HillClimbingOptions& options)
        : choices_(context.problem, options.allow_cpu),
          options_(options),
          random_(context.seed),
          pieces_(choices_),
          starts_(checked_seeds(context)) {
        if (options.start != "given") starts_.clear();
        if (starts_.empty() && options.start != "random") starts_.push_back(start_placement());
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (stuck_ && merges_left_ == 0 && !next_start()) return {};
        if (!current_score_) return {&current_, 1};
        batch_.clear();
        if (stuck_) {
            const std::size_t count = std::min({limit, options_.batch_size, merges_left_});
            while (batch_.size() < count) pieces_.merge(add_current(), random_);
        } else {
            propose(limit);
        }
        return batch_;
    }

    const Placement* base(std::size_t /*i*/) const override { return current_score_ ? &current_ : nullptr; }

    void tell(std::span<const Score> scores) override {
        if (current_score_ && stuck_) {
            learn_merges(scores);
        } else if (current_score_) {
            take_scores(scores);
            if (stuck_ && merges_when_stuck() && pieces_.count(current_) > 1) merges_left_ = kMostMerges;
        } else {
            current_score_ = scores[0];
            stuck_ = choices_.movable().empty();
        }
    }

protected:
    struct Step {
        Placement placement;
        Score score;
    };

    /// Fills batch_ with 1 to `limit` neighbours.
    virtual void propose(std::size_t limit) = 0;
    /// Takes the scores of batch_.
    virtual void take_scores(std::span<const Score> scores) = 0;
    /// Called when a climb begins at current_.
    virtual void begin() = 0;

    /// Whether to merge pieces where no move of propose() helps.
    virtual bool merges_when_stuck() const { return options_.merge_moves > 0; }

    /// Adds the current placement to the batch, to be changed.
    Placement& add_current() {
        batch_.push_back(current_);
        return batch_.back();
    }
    void add(const Move& move) { add_current()[move.group] = move.device; }

    /// Draws whether to merge pieces of the current placement, and adds the result. Returns whether it did.
    bool add_merge() {
        if (options_.merge_moves == 0 || !random_.chance(options_.merge_moves)) return false;
        if (pieces_.merge(add_current(), random_)) return true;
        batch_.pop_back();
        return false;
    }

    /// The better of `best` and the placements just scored, the first of equals.
    std::optional<Step> best_step(std::span<const Score> scores, std::optional<Step> best = {}) const {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (!best || scores[i].penalised_s < best->score.penalised_s) best = Step{batch_[i], scores[i]};
        }
        return best;
    }

    void take(const Step& step) {
        current_ = step.placement;
        current_score_ = step.score;
    }

    DeviceChoices choices_;
    HillClimbingOptions options_;
    Random random_;
    Pieces pieces_;
    Placement current_;
    std::optional<Score> current_score_;  ///< empty until the start is scored
    std::vector<Placement> batch_;        ///< proposed neighbours
    bool stuck_ = true;

private:
    /// Merges tried before a stuck climb ends.
    static constexpr std::size_t kMostMerges = 100;

    void learn_merges(std::span<const Score> scores) {
        merges_left_ -= scores.size();
        const Step best = *best_step(scores);
        if (best.score.penalised_s >= current_score_->penalised_s) return;
        take(best);
        merges_left_ = 0;
        stuck_ = false;
        begin();
    }

    Placement start_placement() const {
        if (options_.start == "cpu") {
            const auto devices = choices_.problem().machine->devices();
            const auto cpu = std::find_if(devices.begin(), devices.end(), [](const Device& device) {
                return device.kind == DeviceKind::cpu;
            });
            if (cpu != devices.end())
                return single_device_placement(choices_.problem(),
                                               static_cast<DeviceId>(cpu - devices.begin()));
        }
        return choices_.on_one_device(choices_.fastest_first().front());
    }

    bool next_start() {
        if (started_ > options_.restarts) return false;
        current_ = started_ < starts_.size() ? starts_[started_] : choices_.random_placement(random_);
        current_score_.reset();
        ++started_;
        stuck_ = false;
        begin();
        return true;
    }

    std::vector<Placement> starts_;  ///< the first starts; random ones follow
    std::size_t started_ = 0;
    std::size_t merges_left_ = 0;  ///< to be tried by a stuck climb
};

class RandomClimbing final : public HillClimbing {
public:
    using HillClimbing::HillClimbing;

private:
    void begin() override { without_gain_ = 0; }

    void propose(std::size_t limit) override {
        const std::size_t count = std::min(limit, options_.batch_size);
        while (batch_.size() < count) {
            if (!add_merge()) add(random_move(current_, choices_, random_));
        }
    }

    void take_scores(std::span<const Score> scores) override {
        const Step best = *best_step(scores);
        const bool gain = best.score.penalised_s < current_score_->penalised_s;
        if (gain || (options_.accept_equal && best.score.penalised_s == current_score_->penalised_s))
            take(best);
        without_gain_ = gain ? 0 : without_gain_ + scores.size();
        stuck_ = options_.patience > 0 && without_gain_ >= options_.patience;
    }

    bool merges_when_stuck() const override { return false; }

    std::size_t without_gain_ = 0;
};

/// Stuck after a round of all moves without improvement: no single move helps then.
class FirstClimbing final : public HillClimbing {
public:
    using HillClimbing::HillClimbing;

private:
    void begin() override {
        if (order_.empty()) {
            for (const GroupId group : choices_.movable()) {
                for (const DeviceId device : choices_.of(group)) order_.push_back({group, device});
            }
        }
        random_.shuffle(std::span(order_));
        next_ = 0;
        since_gain_ = 0;
    }

    void propose(std::size_t limit) override {
        const std::size_t count = std::min(limit, options_.batch_size);
        for (skip_where_it_is(); batch_.size() < count && !round_is_over(); skip_where_it_is()) {
            if (add_merge()) continue;
            add(order_[next_]);
            step();
        }
    }

    void take_scores(std::span<const Score> scores) override {
        const Step best = *best_step(scores);
        if (best.score.penalised_s < current_score_->penalised_s) {
            take(best);
            since_gain_ = 0;
        }
        skip_where_it_is();
        stuck_ = round_is_over();
    }

    bool round_is_over() const { return since_gain_ == order_.size(); }

    void step() {
        next_ = (next_ + 1) % order_.size();
        ++since_gain_;
    }

    void skip_where_it_is() {
        while (!round_is_over() && order_[next_].device == current_[order_[next_].group]) step();
    }

    std::vector<Move> order_;
    std::size_t next_ = 0;
    std::size_t since_gain_ = 0;  ///< consecutive moves without improvement
};

class SteepestClimbing final : public HillClimbing {
public:
    using HillClimbing::HillClimbing;

private:
    /// Enough for many cores; all neighbours of a large graph would not fit into memory at once.
    static constexpr std::size_t kBatch = 256;

    void begin() override {
        position_ = 0;
        choice_ = 0;
        best_.reset();
        skip_where_it_is();
    }

    void propose(std::size_t limit) override {
        const std::size_t count = std::min(limit, kBatch);
        while (batch_.size() < count && !round_is_over()) {
            add({group(), device()});
            step();
            skip_where_it_is();
        }
    }

    void take_scores(std::span<const Score> scores) override {
        best_ = best_step(scores, best_);
        if (!round_is_over()) return;
        if (best_->score.penalised_s < current_score_->penalised_s) {
            take(*best_);
            begin();
        } else {
            stuck_ = true;
        }
    }

    bool round_is_over() const { return position_ == choices_.movable().size(); }
    GroupId group() const { return choices_.movable()[position_]; }
    DeviceId device() const { return choices_.of(group())[choice_]; }

    void step() {
        if (++choice_ < choices_.of(group()).size()) return;
        choice_ = 0;
        ++position_;
    }

    void skip_where_it_is() {
        while (!round_is_over() && device() == current_[group()]) step();
    }

    std::size_t position_ = 0,
                choice_ = 0;    ///< position of the next move in movable() and in the choices of that group
    std::optional<Step> best_;  ///< best step of this round
};

}  // namespace

AlgorithmInfo hill_climbing_algorithm() {
    return describe(
        "hill-climbing", "Hill climbing",
        "Takes improving moves of single ops and of whole pieces until none is left, then restarts at a "
        "random placement.",
        hill_climbing_schema(),
        [](const SearchContext& context, const HillClimbingOptions& options) -> std::unique_ptr<Optimizer> {
            if (options.neighbourhood == "first") return std::make_unique<FirstClimbing>(context, options);
            if (options.neighbourhood == "steepest")
                return std::make_unique<SteepestClimbing>(context, options);
            return std::make_unique<RandomClimbing>(context, options);
        },
        {{"thesis",
          "As in the E3 experiments of Lagostra's thesis (2020): everything on the CPU at first, no "
          "restarts.",
          {{"start", "cpu"}, {"merge_moves", 0.0}, {"patience", std::int64_t{0}}, {"allow_cpu", true}}}});
}

}  // namespace placewright
