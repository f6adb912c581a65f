// SPDX-License-Identifier: MIT
// In place of algorithms that need CBC, in a build without it.
#include "core/search/algorithms/algorithm_infos.hpp"

namespace placewright {

AlgorithmInfo m_sct_algorithm() {
    return missing_algorithm("m-sct", "m-SCT", "CBC", "PLACEWRIGHT_WITH_CBC");
}

AlgorithmInfo milp_algorithm() {
    return missing_algorithm("milp", "MILP", "CBC", "PLACEWRIGHT_WITH_CBC");
}

}  // namespace placewright
