// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/pieces.hpp"
#include "core/search/parts/variation.hpp"

namespace placewright {
namespace {

// Defaults are those of Exprimo's experiment E3 (table 4.3) and, where the text is silent, of its code,
// except for the merges, which it does not have.
struct GeneticOptions {
    std::size_t population_size = 50;
    std::size_t elite_size = 5;
    double mutation_rate = 0.5;
    double zone_mutation_rate = 0.2;
    double merge_mutation_rate = 0.1;
    bool evolve_mutation_rate = true;
    double min_mutation_rate = 0.05;
    double max_mutation_rate = 0.9;
    double mutation_rate_deviation = 0.05;
    double zone_mutation_rate_deviation = 0.02;
    double initial_mutation_rate_deviation = 0.1;
    double initial_zone_mutation_rate_deviation = 0.05;
    double crossover_rate = 0.2;
    std::string crossover_type = "one-point";
    std::size_t crossover_points = 2;
    std::string parent_selection = "rank";
    std::string rank_distribution = "linear";
    double selection_pressure = 2;
    double exponential_base = 0.9;
    std::size_t tournament_size = 10;
    bool include_trivial_solutions = true;
    bool allow_cpu = false;
};

const OptionSchema<GeneticOptions>& genetic_schema() {
    using Options = GeneticOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("population_size", &Options::population_size, 2, 100'000,
                 "Number of placements in a generation.")
            .add("elite_size", &Options::elite_size, 0, 99'999,
                 "Number of best placements that survive unchanged; less than population_size.")
            .add("mutation_rate", &Options::mutation_rate, 0, 1,
                 "Probability per op of a move to a random device; if rates evolve, their initial mean.")
            .add("zone_mutation_rate", &Options::zone_mutation_rate, 0, 1,
                 "Probability that a run of ops moves to one device instead of single ops; if rates evolve, "
                 "their initial mean.")
            .add("merge_mutation_rate", &Options::merge_mutation_rate, 0, 1,
                 std::string("Probability that whole pieces move instead. ") + kMergeHelp +
                     " Does not evolve. Exprimo: 0.")
            .add("evolve_mutation_rate", &Options::evolve_mutation_rate,
                 "Let each placement carry and inherit its own mutation rates (self-adaptation).")
            .add("min_mutation_rate", &Options::min_mutation_rate, 0, 1, "Lower bound of evolved rates.")
            .add("max_mutation_rate", &Options::max_mutation_rate, 0, 1, "Upper bound of evolved rates.")
            .add("mutation_rate_deviation", &Options::mutation_rate_deviation, 0, 1,
                 "Standard deviation of the change of an evolved mutation rate per generation.")
            .add("zone_mutation_rate_deviation", &Options::zone_mutation_rate_deviation, 0, 1,
                 "Standard deviation of the change of an evolved zone mutation rate per generation.")
            .add("initial_mutation_rate_deviation", &Options::initial_mutation_rate_deviation, 0, 1,
                 "Standard deviation of evolved mutation rates in the first generation.")
            .add("initial_zone_mutation_rate_deviation", &Options::initial_zone_mutation_rate_deviation, 0, 1,
                 "Standard deviation of evolved zone mutation rates in the first generation.")
            .add("crossover_rate", &Options::crossover_rate, 0, 1,
                 "Probability that two parents exchange ops.")
            .add("crossover_type", &Options::crossover_type, kCrossoverNames,
                 "Crossover operator: how parents exchange ops.")
            .add("crossover_points", &Options::crossover_points, 1, 1000,
                 "Number of cuts of the n-point crossover.")
            .add("parent_selection", &Options::parent_selection, {"rank", "tournament"},
                 "Selection of parents: by rank (stochastic universal sampling) or by tournament.")
            .add("rank_distribution", &Options::rank_distribution, {"linear", "exponential"},
                 "How the selection probability of a parent falls with its rank.")
            .add("selection_pressure", &Options::selection_pressure, 1, 2,
                 "Linear ranking: expected children of the best placement; 1: no selection, 2: the worst has "
                 "none.")
            .add("exponential_base", &Options::exponential_base, 0.01, 1,
                 "Exponential ranking: factor of the probability from each rank to the next worse one.")
            .add("tournament_size", &Options::tournament_size, 1, 1000,
                 "Number of placements in a tournament, of which the best becomes a parent.")
            .add("include_trivial_solutions", &Options::include_trivial_solutions,
                 "Put the placements with everything on one device into the first generation.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

void check(const GeneticOptions& options) {
    if (options.elite_size >= options.population_size) {
        throw OptionError("elite_size = " + to_string(static_cast<std::int64_t>(options.elite_size)) +
                          " is out of range, expected less than population_size = " +
                          to_string(static_cast<std::int64_t>(options.population_size)));
    }
    if (options.min_mutation_rate > options.max_mutation_rate) {
        throw OptionError(
            "min_mutation_rate = " + to_string(options.min_mutation_rate) +
            " is out of range, expected at most max_mutation_rate = " + to_string(options.max_mutation_rate));
    }
}

/// Mutation rates that a placement carries (self-adaptation, Bäck 1992).
struct Rates {
    double gene = 0, zone = 0;
};

class Genetic final : public Optimizer {
public:
    Genetic(const SearchContext& context, const GeneticOptions& options)
        : choices_(context.problem, options.allow_cpu),
          options_(options),
          crossover_(crossover_from(options.crossover_type)),
          random_(context.seed),
          pieces_(choices_) {
        if (options_.parent_selection == "rank") {
            rank_chances_ = options_.rank_distribution == "linear"
                                ? linear_ranking(options_.population_size, options_.selection_pressure)
                                : exponential_ranking(options_.population_size, options_.exponential_base);
        }
        found_population(checked_seeds(context));
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (scores_.size() == children_.size()) {
            select_survivors();
            breed();
        }
        return std::span(children_).subspan(scores_.size(),
                                            std::min(limit, children_.size() - scores_.size()));
    }

    void tell(std::span<const Score> scores) override {
        scores_.insert(scores_.end(), scores.begin(), scores.end());
    }

private:
    struct Individual {
        Placement placement;
        Rates rates;
        Score score;
    };

    double clamped(double rate) const {
        return std::clamp(rate, options_.min_mutation_rate, options_.max_mutation_rate);
    }

    Rates initial_rates() {
        if (!options_.evolve_mutation_rate) return {options_.mutation_rate, options_.zone_mutation_rate};
        const double gene = random_.normal(options_.mutation_rate, options_.initial_mutation_rate_deviation);
        const double zone =
            random_.normal(options_.zone_mutation_rate, options_.initial_zone_mutation_rate_deviation);
        return {clamped(gene), clamped(zone)};
    }

    /// Fills the population with the seeds, then each device alone, then random placements.
    void found_population(std::vector<Placement> seeds) {
        children_ = std::move(seeds);
        if (options_.include_trivial_solutions) {
            for (Placement& placement : choices_.on_each_device()) children_.push_back(std::move(placement));
        }
        if (children_.size() > options_.population_size) children_.resize(options_.population_size);
        while (children_.size() < options_.population_size)
            children_.push_back(choices_.random_placement(random_));
        for (std::size_t i = 0; i < children_.size(); ++i) rates_.push_back(initial_rates());
    }

    /// Keeps the elite beside the children that were just scored, best first.
    void select_survivors() {
        population_.resize(std::min(population_.size(), options_.elite_size));
        for (std::size_t i = 0; i < children_.size(); ++i)
            population_.push_back({std::move(children_[i]), rates_[i], scores_[i]});
        std::stable_sort(population_.begin(), population_.end(),
                         [](const Individual& a, const Individual& b) {
                             return a.score.penalised_s < b.score.penalised_s;
                         });
    }

    /// Returns as many parents as the population has members, by index. population_ is sorted, best first.
    std::vector<std::size_t> select_parents() {
        const std::size_t count = population_.size();
        std::vector<std::size_t> parents;
        if (rank_chances_.empty()) {
            for (std::size_t i = 0; i < count; ++i) {
                parents.push_back(tournament(count, options_.tournament_size, std::less<>(), random_));
            }
        } else {
            for (const std::size_t rank : universal_sampling(rank_chances_, count, random_))
                parents.push_back(count - 1 - rank);
        }
        random_.shuffle(std::span(parents));
        return parents;
    }

    /// A random part of the children of all parents survives beside the elite. The parents are in random
    /// order, so only the children of the first parents are made.
    void breed() {
        const std::vector<std::size_t> parents = select_parents();
        const std::size_t count = options_.population_size - options_.elite_size;
        children_.resize(count);
        rates_.resize(count);
        scores_.clear();
        std::vector<std::uint64_t> seeds((count + 1) / 2);
        for (std::uint64_t& seed : seeds) seed = random_.bits();
        for_each(seeds.size(), [&](std::size_t pair) {
            Random random(seeds[pair]);
            const std::size_t first = 2 * pair, end = std::min(first + 2, count);
            for (std::size_t i = first; i < end; ++i) {
                children_[i] = population_[parents[i]].placement;
                rates_[i] = population_[parents[i]].rates;
            }
            if (first + 1 < end && random.chance(options_.crossover_rate))
                cross_children(first, first + 1, random);
            for (std::size_t i = first; i < end; ++i) mutate(children_[i], rates_[i], random);
        });
    }

    void cross_children(std::size_t a, std::size_t b, Random& random) {
        cross(crossover_, options_.crossover_points, children_[a], children_[b], random);
        const double share = random.uniform();
        const Rates first = rates_[a], second = rates_[b];
        rates_[a] = {share * first.gene + (1 - share) * second.gene,
                     share * first.zone + (1 - share) * second.zone};
        rates_[b] = {share * second.gene + (1 - share) * first.gene,
                     share * second.zone + (1 - share) * first.zone};
    }

    /// Rates mutate before they are used, so that a good placement carries the rates that made it.
    void mutate(Placement& placement, Rates& rates, Random& random) const {
        if (options_.evolve_mutation_rate) {
            rates.gene = clamped(random.normal(rates.gene, options_.mutation_rate_deviation));
            rates.zone = clamped(random.normal(rates.zone, options_.zone_mutation_rate_deviation));
        }
        if (options_.merge_mutation_rate > 0 && random.chance(options_.merge_mutation_rate) &&
            pieces_.merge(placement, random))
            return;
        if (random.chance(rates.zone)) {
            mutate_zone(placement, choices_, random);
        } else {
            mutate_genes(placement, rates.gene, 0, choices_, random);
        }
    }

    DeviceChoices choices_;
    GeneticOptions options_;
    CrossoverType crossover_;
    Random random_;
    Pieces pieces_;
    std::vector<double> rank_chances_;  ///< worst first; empty for tournaments
    std::vector<Individual> population_;
    std::vector<Placement> children_;  ///< not yet scored
    std::vector<Rates> rates_;         ///< [child]
    std::vector<Score> scores_;        ///< of the children scored so far
};

}  // namespace

AlgorithmInfo genetic_algorithm() {
    return describe(
        "genetic", "Genetic algorithm",
        "Evolves a population of placements by crossover, mutation and elitism with self-adapting "
        "mutation rates (Exprimo).",
        genetic_schema(),
        [](const SearchContext& context, const GeneticOptions& options) -> std::unique_ptr<Optimizer> {
            check(options);
            return std::make_unique<Genetic>(context, options);
        },
        {{"thesis",
          "As in the E3 experiments of Lagostra's thesis (2020).",
          {{"population_size", std::int64_t{50}},
           {"mutation_rate", 0.5},
           {"zone_mutation_rate", 0.2},
           {"merge_mutation_rate", 0.0},
           {"crossover_rate", 0.2},
           {"crossover_type", "one-point"},
           {"parent_selection", "rank"},
           {"rank_distribution", "linear"},
           {"elite_size", std::int64_t{5}},
           {"include_trivial_solutions", false},
           {"allow_cpu", true}}}});
}

}  // namespace placewright
