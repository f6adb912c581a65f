// SPDX-License-Identifier: MIT
// In place of algorithms that need METIS, in a build without it.
#include "core/search/algorithms/algorithm_infos.hpp"

namespace placewright {

AlgorithmInfo metis_algorithm() {
    return missing_algorithm("metis", "METIS", "METIS", "PLACEWRIGHT_WITH_METIS");
}

}  // namespace placewright
