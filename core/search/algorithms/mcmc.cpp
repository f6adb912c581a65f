// SPDX-License-Identifier: MIT
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/walk.hpp"

namespace placewright {
namespace {

struct McmcOptions {
    std::string start = "best";
    double alpha = 0;
    double block_moves = 0.5;
    std::size_t return_period = 200;
    bool early_stopping = true;
    std::size_t shortest_chain = 2000;
    std::size_t restarts = 1'000'000;
    bool allow_cpu = false;
};

const OptionSchema<McmcOptions>& mcmc_schema() {
    using Options = McmcOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("start", &Options::start, kStartNames, kStartHelp)
            .add("alpha", &Options::alpha, 0, 1e9,
                 "Inverse temperature in 1/ms: a placement slower by d ms is accepted with probability "
                 "exp(-alpha d); 0: a slowdown by 1 % of the best step time so far is accepted with "
                 "probability 1/e. FlexFlow tunes it for each network.")
            .add("block_moves", &Options::block_moves, 0, 1, kBlockMovesHelp + std::string(" FlexFlow: 0."))
            .add("return_period", &Options::return_period, 0, 1e9,
                 "Evaluations between returns to the best placement of the chain; 0: never. FlexFlow: 1 % of "
                 "the budget, at most 1000.")
            .add("early_stopping", &Options::early_stopping,
                 "End a chain when the second half of its evaluations found nothing better than the first, "
                 "as in FlexFlow.")
            .add("shortest_chain", &Options::shortest_chain, 2, 1e9,
                 "Minimum evaluations of a chain before it stops early.")
            .add("restarts", &Options::restarts, 0, 1e9,
                 "Number of further chains, from random placements; then the search ends.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Metropolis-Hastings at a constant temperature: Jia, Zaharia and Aiken, Beyond data and model parallelism
/// for deep neural networks (2019), section 6.
class Mcmc final : public Walk {
public:
    Mcmc(const SearchContext& context, const McmcOptions& options)
        : Walk(context, options.allow_cpu, options.start, options.block_moves, false), options_(options) {}

private:
    static constexpr double kUsualRise = 0.01;  ///< relative rise that is accepted with probability 1/e

    double alpha() const {
        return options_.alpha > 0 ? options_.alpha : 1 / (kUsualRise * 1000 * best_score().value_s);
    }

    bool accepts(const Score& from, const Score& to) override {
        const double rise_ms = 1000 * (to.penalised_s - from.penalised_s);
        return rise_ms <= 0 || random_.chance(std::exp(-alpha() * rise_ms));
    }

    void advance() override {
        ++evaluations_;
        ++since_return_;
        if (best_score().penalised_s < chain_best_s_) {
            chain_best_s_ = best_score().penalised_s;
            best_at_ = evaluations_;
        }
        if (options_.early_stopping && evaluations_ >= options_.shortest_chain &&
            evaluations_ >= 2 * best_at_) {
            next_chain();
        } else if (options_.return_period > 0 && since_return_ >= options_.return_period) {
            since_return_ = 0;
            go_to_best();
        }
    }

    void next_chain() {
        if (chains_++ == options_.restarts) return end();
        evaluations_ = since_return_ = best_at_ = 0;
        chain_best_s_ = kInfinity;
        forget_best();
        start_at(random_placement());
    }

    McmcOptions options_;
    double chain_best_s_ = kInfinity;
    std::size_t evaluations_ = 0, best_at_ = 0, since_return_ = 0;  ///< of this chain
    std::size_t chains_ = 0;
};

}  // namespace

AlgorithmInfo mcmc_algorithm() {
    return describe<Mcmc>(
        "mcmc", "MCMC",
        "Markov chain Monte Carlo as in FlexFlow: random moves, where slower placements are accepted "
        "with a probability that falls with the slowdown (Jia, Zaharia and Aiken, 2019).",
        mcmc_schema());
}

}  // namespace placewright
