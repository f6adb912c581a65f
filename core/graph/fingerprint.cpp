// SPDX-License-Identifier: MIT
#include "core/graph/fingerprint.hpp"

#include <bit>

#include "core/base/fingerprint.hpp"

namespace placewright {

std::string graph_fingerprint(const Graph& graph) {
    Fingerprint print;
    for (const Op& op : graph.ops()) {
        print.add(op.name);
        print.add_bits(std::bit_cast<std::uint64_t>(static_cast<double>(op.flops)));
        print.add_bits(static_cast<std::uint64_t>(op.parameter_bytes));
    }
    return print.digits();
}

}  // namespace placewright
