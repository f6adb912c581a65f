// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/algorithms/generalized_annealing.hpp"
#include "core/search/parts/walk.hpp"

namespace placewright {
namespace {

struct AnnealingOptions {
    std::string method = "moves";
    std::string acceptance = "metropolis";
    std::string start = "best";
    double block_moves = 0.7;
    bool learn_moves = false;
    double start_temperature_ms = 0;
    double start_acceptance = 0.03;
    double end_temperature_ratio = 0.001;
    double decay = 0;
    static constexpr std::size_t kSteps = 2500;
    std::size_t steps = kSteps;
    double growth = 1.5;
    bool fresh_starts = true;
    double visiting_q = GeneralizedAnnealingOptions().visiting_q;
    double acceptance_q = GeneralizedAnnealingOptions().acceptance_q;
    double visiting_temperature = GeneralizedAnnealingOptions().start_temperature;
    double restart_temperature_ratio = GeneralizedAnnealingOptions().restart_temperature_ratio;
    bool allow_cpu = false;
};

const OptionSchema<AnnealingOptions>& annealing_schema() {
    using Options = AnnealingOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("method", &Options::method, {"moves", "generalized"},
                 "moves: steps from neighbour to neighbour; generalized: scipy's dual_annealing without its "
                 "local search, on device numbers as rounded reals, as in the thesis' experiment E3.")
            .add("acceptance", &Options::acceptance, {"metropolis", "logistic"},
                 "moves: probability of accepting a rise d at temperature T. metropolis: exp(-d/T); "
                 "logistic: 1/(1+exp(d/T)), as in Exprimo.")
            .add("start", &Options::start, kStartNames,
                 kStartHelp + std::string(" method=generalized (scipy): random."))
            .add("block_moves", &Options::block_moves, 0, 1, kBlockMovesHelp + std::string(" Exprimo: 0."))
            .add("learn_moves", &Options::learn_moves,
                 "moves: prefer kinds of moves that recently led to faster placements; block_moves then has "
                 "no effect.")
            .add(
                "start_temperature_ms", &Options::start_temperature_ms, 0, 1e12,
                "moves: first temperature in ms of step time; 0: derived from start_acceptance. Exprimo: 40.")
            .add("start_acceptance", &Options::start_acceptance, 0.001, 0.999,
                 "moves: initial probability of accepting the mean rise of the first moves; below 0.5 for "
                 "logistic.")
            .add("end_temperature_ratio", &Options::end_temperature_ratio, 1e-12, 1,
                 "moves: last temperature, relative to the first.")
            .add("decay", &Options::decay, 0, 1,
                 "moves: factor of the temperature per evaluation; 0: chosen so that end_temperature_ratio "
                 "is reached after steps. Exprimo: 0.95.")
            .add(
                "steps", &Options::steps, 0, 1e9,
                "moves: evaluations of the first cooling, after which the search is reheated; 0: one cooling "
                "over the whole budget, evaluations or time.")
            .add("growth", &Options::growth, 1, 100, "moves: factor by which each further cooling is longer.")
            .add("fresh_starts", &Options::fresh_starts,
                 "moves: start every other cooling at a random placement instead of the best one found.")
            .add("visiting_q", &Options::visiting_q, 1.01, 2.99,
                 "generalized: shape of the visiting distribution; larger values have a heavier tail.")
            .add("acceptance_q", &Options::acceptance_q, -1e4, 0.99,
                 "generalized: shape of the acceptance rule; smaller values accept worse placements more "
                 "rarely.")
            .add("visiting_temperature", &Options::visiting_temperature, 0.01, 5e4,
                 "generalized: first temperature.")
            .add("restart_temperature_ratio", &Options::restart_temperature_ratio, 1e-9, 0.999,
                 "generalized: last temperature, relative to the first; then the search restarts at a random "
                 "placement.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

void check(const AnnealingOptions& options) {
    if (options.acceptance == "logistic" && options.start_temperature_ms == 0 &&
        options.start_acceptance >= 0.5) {
        throw OptionError("start_acceptance = " + to_string(options.start_acceptance) +
                          " is out of range, expected less than 0.5 with acceptance = logistic");
    }
}

/// Kirkpatrick, Gelatt and Vecchi, Optimization by simulated annealing (1983); the logistic rule is that of
/// Exprimo's own annealing (and of Barker, 1965).
class Annealing final : public Walk {
public:
    Annealing(const SearchContext& context, const AnnealingOptions& options)
        : Walk(context, options.allow_cpu, options.start, options.block_moves, options.learn_moves),
          options_(options),
          start_s_(options.start_temperature_ms / 1000),
          steps_(static_cast<double>(options.steps > 0 ? options.steps
                                                       : context.evaluations.value_or(options_.kSteps))) {}

    void used(double share) override {
        if (options_.steps == 0) share_ = share;
    }

private:
    static constexpr std::size_t kMostCalibrationMoves = 100;

    bool logistic() const { return options_.acceptance == "logistic"; }

    /// Returns T_0 decay^t. Of one cooling over a given time, t is the share of it that has passed.
    double temperature_s() const {
        if (share_ && options_.decay == 0)
            return start_s_ * std::pow(options_.end_temperature_ratio, *share_);
        const double decay =
            options_.decay > 0 ? options_.decay : std::pow(options_.end_temperature_ratio, 1 / steps_);
        return start_s_ * std::pow(decay, step_);
    }

    bool accepts(const Score& from, const Score& to) override {
        if (start_s_ == 0) calibrate(from, to);
        const double rise_s = to.penalised_s - from.penalised_s;
        if (rise_s < 0) return true;
        // A rise of 0 stays 0 at any temperature, even if that has fallen to 0.
        const double by_temperature = rise_s == 0 ? 0 : rise_s / (start_s_ == 0 ? 0 : temperature_s());
        return random_.chance(logistic() ? 1 / (1 + std::exp(by_temperature)) : std::exp(-by_temperature));
    }

    /// Uses step times only: memory penalties, and the score of placements without an objective, would make
    /// the temperature far too high for placements that fit.
    void calibrate(const Score& from, const Score& to) {
        if (from == kUndefinedScore || to == kUndefinedScore) return;
        ++seen_;
        if (to.value_s > from.value_s) {
            ++rises_;
            rise_sum_s_ += to.value_s - from.value_s;
        }
        if (seen_ < std::min(kMostCalibrationMoves, static_cast<std::size_t>(steps_) / 10 + 1) || rises_ == 0)
            return;
        const double chance = options_.start_acceptance;
        start_s_ = rise_sum_s_ / static_cast<double>(rises_) /
                   (logistic() ? std::log(1 / chance - 1) : -std::log(chance));
    }

    void advance() override {
        ++step_;
        if (share_ || step_ < steps_) return;
        step_ = 0;
        steps_ *= options_.growth;
        if (options_.fresh_starts && ++coolings_ % 2 == 1) {
            start_at(random_placement());
        } else {
            go_to_best();
        }
    }

    AnnealingOptions options_;
    double start_s_;  ///< first temperature; 0 until it is known
    double steps_;    ///< evaluations of this cooling
    double step_ = 0;
    std::optional<double> share_;  ///< of the time of one cooling over all of it; nothing: steps count
    std::size_t coolings_ = 0;
    std::size_t seen_ = 0, rises_ = 0;
    double rise_sum_s_ = 0;
};

}  // namespace

AlgorithmInfo simulated_annealing_algorithm() {
    return describe(
        "simulated-annealing", "Simulated annealing",
        "Walks from neighbour to neighbour by moves of single ops and whole blocks and accepts worse "
        "placements more and more rarely (Kirkpatrick, Gelatt and Vecchi, 1983).",
        annealing_schema(),
        [](const SearchContext& context, const AnnealingOptions& options) -> std::unique_ptr<Optimizer> {
            if (options.method == "moves") {
                check(options);
                return std::make_unique<Annealing>(context, options);
            }
            return generalized_annealing(
                context, {options.visiting_q, options.acceptance_q, options.visiting_temperature,
                          options.restart_temperature_ratio, options.start, options.allow_cpu});
        },
        {{"thesis",
          "As in the E3 experiments of Lagostra's thesis (2020): scipy's dual annealing without local "
          "search.",
          {{"method", "generalized"}, {"start", "random"}, {"allow_cpu", true}}}});
}

}  // namespace placewright
