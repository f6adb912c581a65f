// SPDX-License-Identifier: MIT
// Generalized simulated annealing: Tsallis and Stariolo, Physica A 233 (1996) 395-406; Xiang, Sun, Fan and
// Gong, Physics Letters A 233 (1997) 216-220. scipy's dual_annealing is this with a local search.
#pragma once

#include <memory>
#include <string>

#include "core/base/random.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

/// Jump drawn from the visiting distribution of one dimension: similar to Student's, with parameter q in (1,
/// 3) and a scale that falls with the temperature; for q = 2 it is Cauchy's distribution of scale
/// `temperature`. Tsallis and Stariolo, section 3.
class VisitingDistribution {
public:
    explicit VisitingDistribution(double q);
    double draw(double temperature, Random& random) const;

private:
    double q_;
    double scale_;  ///< at temperature 1
};

/// Temperature at step t = 1, 2, ...: T_1 (2^(q-1) - 1) / ((1 + t)^(q-1) - 1).
double visiting_temperature(double first, double q, std::uint64_t step);

/// Probability of accepting a rise of energy: [1 - (1 - q) rise / T]^(1 / (1 - q)) where the bracket is
/// positive, else 0; q < 1.
double generalized_acceptance(double q, double rise, double temperature);

struct GeneralizedAnnealingOptions {
    double visiting_q = 2.62;
    double acceptance_q = -5;
    double start_temperature = 5230;
    double restart_temperature_ratio = 2e-5;
    std::string start = "random";  ///< one of kStartNames
    bool allow_cpu = false;
};

/// The energy is the score in milliseconds. The first_placements() are scored first; the search starts at the
/// best of them.
std::unique_ptr<Optimizer> generalized_annealing(const SearchContext& context,
                                                 const GeneralizedAnnealingOptions& options);

}  // namespace placewright
