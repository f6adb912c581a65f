// SPDX-License-Identifier: MIT
#include "core/graph/parameter_count.hpp"

namespace placewright {

double parameter_count(const Graph& graph) {
    double count = 0;
    for (const Op& op : graph.ops())
        count += static_cast<double>(op.parameter_bytes) /
                 static_cast<double>(bytes_per_element(parameter_type(op)));
    return count;
}

}  // namespace placewright
