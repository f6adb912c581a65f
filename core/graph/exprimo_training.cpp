// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/training.hpp"

namespace placewright {
namespace {

/// Index of the gradient for `producer` among the outputs of the backward of `op`.
std::uint32_t gradient_output(const Graph& graph, OpId op, OpId producer) {
    const auto producers = graph.producers(op);
    return static_cast<std::uint32_t>(std::ranges::find(producers, producer) - producers.begin());
}

}  // namespace

Graph exprimo_training_graph(const Graph& graph, Recomputation recomputation, SharedGradients) {
    if (recomputation != Recomputation::none) {
        throw GraphError("", "Exprimo's rules do not support recomputation \"" +
                                 std::string(to_string(recomputation)) +
                                 "\"; choose \"none\" or another cost model");
    }
    if (graph.training() != Training::implicit) return graph;
    GraphBuilder builder(graph.name(), graph.batch(), Training::explicit_);
    for (OpId id = 0; id < graph.size(); ++id) {
        Op op = graph.op(id);
        if (op.outputs.size() != 1) {
            throw GraphError(op.name, "has " + std::to_string(op.outputs.size()) +
                                          " outputs; Exprimo's rules support only ops with one output");
        }
        if (graph.consumers(id).empty()) op.outputs.front().bytes = 0;
        builder.add(std::move(op));
    }
    std::vector<OpId> backward(graph.size());
    for (auto id = static_cast<OpId>(graph.size()); id-- > 0;) {
        const Op& forward = graph.op(id);
        Op op;
        op.name = forward.name + "/backward";
        op.kind = forward.kind;
        op.scope = forward.scope;
        op.phase = Phase::backward;
        op.flops = forward.flops;
        op.devices = forward.devices;
        op.attributes = forward.attributes;
        op.forward_op = id;
        op.sends_together = true;
        for (const OpId consumer : graph.consumers(id))
            op.inputs.push_back({backward[consumer], gradient_output(graph, consumer, id)});
        if (op.inputs.empty()) op.inputs.push_back({id, 0});
        for (const OpId producer : graph.producers(id)) {
            op.inputs.push_back({producer, 0});
            op.outputs.push_back(graph.op(producer).outputs.front());
        }
        backward[id] = static_cast<OpId>(builder.size());
        builder.add(std::move(op));
    }
    return builder.build();
}

}  // namespace placewright
