// SPDX-License-Identifier: MIT
#include "core/graph/gradients.hpp"

#include <algorithm>

#include "core/graph/kinds.hpp"

namespace placewright {

std::vector<bool> needs_gradient(const Graph& graph) {
    std::vector<bool> needed(graph.size());
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        needed[id] = kind_info(op.kind).differentiable &&
                     (op.parameter_bytes > 0 || std::ranges::any_of(op.inputs, [&](const TensorRef& input) {
                          return carries_gradient(graph, needed, input);
                      }));
    }
    return needed;
}

bool carries_gradient(const Graph& graph, const std::vector<bool>& needs_gradient, const TensorRef& tensor) {
    return needs_gradient[tensor.op] && is_floating(graph.op(tensor.op).outputs[tensor.output].dtype);
}

}  // namespace placewright
