// SPDX-License-Identifier: MIT
// In place of algorithms that need Scotch, in a build without it.
#include "core/search/algorithms/algorithm_infos.hpp"

namespace placewright {

AlgorithmInfo scotch_algorithm() {
    return missing_algorithm("scotch", "Scotch", "Scotch", "PLACEWRIGHT_WITH_SCOTCH");
}

}  // namespace placewright
