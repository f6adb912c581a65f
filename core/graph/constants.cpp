// SPDX-License-Identifier: MIT
#include "core/graph/constants.hpp"

#include <algorithm>

#include "core/graph/kinds.hpp"

namespace placewright {

std::vector<bool> reads_only_constants(const Graph& graph) {
    const bool marks_inputs = std::ranges::find(graph.ops(), "input", &Op::kind) != graph.ops().end();
    std::vector<bool> constant(graph.size());
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase != Phase::forward || op.kind == "input" || op.parameter_bytes > 0 ||
            kind_info(op.kind).parameter)
            continue;
        constant[id] =
            op.inputs.empty()
                ? marks_inputs || op.kind == "constant"
                : std::ranges::all_of(op.inputs, [&](const TensorRef& input) { return constant[input.op]; });
    }
    return constant;
}

}  // namespace placewright
