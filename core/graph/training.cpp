// SPDX-License-Identifier: MIT
#include "core/graph/training.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

void add_distinct(std::vector<TensorRef>& list, TensorRef tensor) {
    if (std::find(list.begin(), list.end(), tensor) == list.end()) list.push_back(tensor);
}

/// Parameters have the type of the values that they are combined with.
DType parameter_dtype(const Op& op) {
    return op.outputs.empty() ? DType::float32 : op.outputs.front().dtype;
}

Tensor parameter_gradient(const Op& op) {
    Tensor tensor;
    tensor.dtype = parameter_dtype(op);
    tensor.bytes = op.parameter_bytes;
    return tensor;
}

class Differentiation {
public:
    explicit Differentiation(const Graph& graph)
        : graph_(graph),
          builder_(graph.name(), graph.batch(), Training::explicit_),
          needs_gradient_(graph.size()),
          backward_(graph.size()) {
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            const auto producers = graph.producers(id);
            needs_gradient_[id] = kind_info(op.kind).differentiable &&
                                  (op.parameter_bytes > 0 || std::any_of(producers.begin(), producers.end(),
                                                                         [&](OpId producer) { return needs_gradient_[producer]; }));
            builder_.add(op);
        }
    }

    Graph run() {
        for (auto id = static_cast<OpId>(graph_.size()); id-- > 0;) {
            if (needs_gradient_[id]) differentiate(id);
        }
        return builder_.build();
    }

private:
    /// The gradients of the op's outputs; for an op without consumers what its backward waits for.
    std::vector<TensorRef> incoming_gradients(OpId id) const {
        std::vector<TensorRef> gradients;
        if (graph_.consumers(id).empty()) {
            const Op& op = graph_.op(id);
            for (std::uint32_t k = 0; k < op.outputs.size(); ++k) gradients.push_back({id, k});
            return gradients.empty() ? op.inputs : gradients;
        }
        for (const OpId consumer : graph_.consumers(id)) {
            if (!backward_[consumer]) continue;
            std::uint32_t gradient = 0;
            for (const TensorRef& input : graph_.op(consumer).inputs) {
                if (input.op == id) gradients.push_back({*backward_[consumer], gradient});
                if (needs_gradient_[input.op]) ++gradient;
            }
        }
        return gradients;
    }

    void differentiate(OpId id) {
        const std::vector<TensorRef> gradients = incoming_gradients(id);
        // Without a gradient there is nothing to pass on; a source that is the whole network starts by itself.
        if (gradients.empty() && !graph_.consumers(id).empty()) return;

        const Op& op = graph_.op(id);
        std::vector<Tensor> input_gradients;
        for (const TensorRef& input : op.inputs) {
            if (needs_gradient_[input.op]) input_gradients.push_back(graph_.op(input.op).outputs[input.output]);
        }
        const bool has_weights = op.parameter_bytes > 0;
        const bool shared = has_weights && !input_gradients.empty();

        if (!input_gradients.empty()) {
            Op backward = derived(id, "/backward", shared);
            backward.inputs = gradients;
            const KindInfo& kind = kind_info(op.kind);
            if (kind.keeps_inputs) {
                for (const TensorRef& input : op.inputs) add_distinct(backward.inputs, input);
            }
            if (kind.keeps_output) {
                for (std::uint32_t k = 0; k < op.outputs.size(); ++k) add_distinct(backward.inputs, {id, k});
            }
            backward.outputs = std::move(input_gradients);
            backward_[id] = add(std::move(backward));
        }
        if (has_weights) {
            Op weight_gradient = derived(id, "/weight_gradient", shared);
            weight_gradient.inputs = gradients;
            for (const TensorRef& input : op.inputs) add_distinct(weight_gradient.inputs, input);
            weight_gradient.outputs = {parameter_gradient(op)};
            const OpId gradient_id = add(std::move(weight_gradient));

            Op update = bare(id, "/update", Phase::update);
            update.inputs = {{gradient_id, 0}};
            update.flops = 2.0 * static_cast<double>(op.parameter_bytes) / static_cast<double>(bytes_per_element(parameter_dtype(op)));
            add(std::move(update));
        }
    }

    Op bare(OpId id, std::string_view suffix, Phase phase) const {
        const Op& op = graph_.op(id);
        Op result;
        result.name = op.name + std::string(suffix);
        result.kind = op.kind;
        result.scope = op.scope;
        result.phase = phase;
        result.devices = op.devices;
        result.forward_op = id;
        return result;
    }

    /// One of the two gradients; `shared` if both exist, so that each takes half of what is known of the whole backward.
    Op derived(OpId id, std::string_view suffix, bool shared) const {
        const Op& op = graph_.op(id);
        const double share = shared ? 0.5 : 1.0;
        Op result = bare(id, suffix, Phase::backward);
        result.flops = op.backward_flops ? *op.backward_flops * share : op.flops;
        result.attributes = op.attributes;
        for (const auto& [model, time] : op.time_s) {
            if (time.backward_s) result.time_s[model].backward_s = *time.backward_s * share;
        }
        return result;
    }

    OpId add(Op op) {
        const auto id = static_cast<OpId>(builder_.size());
        builder_.add(std::move(op));
        return id;
    }

    const Graph& graph_;
    GraphBuilder builder_;
    std::vector<bool> needs_gradient_;
    std::vector<std::optional<OpId>> backward_;  ///< "f/backward" by forward op
};

}  // namespace

Graph training_graph(const Graph& graph) {
    if (graph.training() != Training::implicit) return graph;
    return Differentiation(graph).run();
}

Graph inference_graph(const Graph& graph) {
    GraphBuilder builder(graph.name(), graph.batch(), Training::none);
    std::vector<OpId> new_id(graph.size(), kInvalidOp);
    for (OpId id = 0; id < graph.size(); ++id) {
        if (graph.op(id).phase != Phase::forward) continue;
        Op op = graph.op(id);
        op.forward_op = kInvalidOp;
        std::erase_if(op.inputs, [&](const TensorRef& input) { return new_id[input.op] == kInvalidOp; });
        for (TensorRef& input : op.inputs) input.op = new_id[input.op];
        new_id[id] = static_cast<OpId>(builder.size());
        builder.add(std::move(op));
    }
    return builder.build();
}

}  // namespace placewright
