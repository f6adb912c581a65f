// SPDX-License-Identifier: MIT
#include "app/experiments/measured_precision.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace placewright {
namespace {

constexpr std::array<std::string_view, 3> kHalfKinds{"conv2d", "linear", "matmul"};
constexpr std::array<std::string_view, 3> kFullKinds{"layer_norm", "softmax", "cross_entropy"};

bool is_real(DType type) {
    return type == DType::float32 || type == DType::float16;
}

/// The same tensor in another type; its shape is known.
Tensor as(const Tensor& tensor, DType type) {
    return make_tensor(*tensor.shape, type);
}

/// Builds a copy of a network in which ops read tensors of the types that they want.
class Autocast {
public:
    explicit Autocast(const Graph& graph)
        : graph_(graph), builder_(graph.name(), graph.batch(), graph.training()) {}

    Graph run() {
        for (const Op& op : graph_.ops()) add(op);
        return builder_.build();
    }

private:
    /// An output of the new network.
    struct Output {
        TensorRef at;
        Tensor tensor;
    };

    void add(Op op) {
        const bool half = std::ranges::find(kHalfKinds, op.kind) != kHalfKinds.end();
        const bool full = std::ranges::find(kFullKinds, op.kind) != kFullKinds.end();
        const bool reads_half = std::ranges::all_of(
            op.inputs, [&](const TensorRef& input) { return output(input).tensor.dtype == DType::float16; });
        const DType type =
            half || (!full && !op.inputs.empty() && reads_half) ? DType::float16 : DType::float32;
        for (TensorRef& input : op.inputs) input = half || full ? cast(input, type, op) : output(input).at;
        const auto id = static_cast<OpId>(builder_.size());
        std::vector<Output> outputs;
        for (std::uint32_t i = 0; i < op.outputs.size(); ++i) {
            Tensor& tensor = op.outputs[i];
            if (is_real(tensor.dtype)) tensor = as(tensor, type);
            outputs.push_back({{id, i}, tensor});
        }
        outputs_.push_back(std::move(outputs));
        builder_.add(std::move(op));
    }

    const Output& output(const TensorRef& old) const { return outputs_[old.op][old.output]; }

    TensorRef cast(const TensorRef& old, DType type, const Op& reader) {
        const Output& from = output(old);
        if (from.tensor.dtype == type || !is_real(from.tensor.dtype)) return from.at;
        Op copy;
        const auto id = static_cast<OpId>(builder_.size());
        copy.name = reader.name + "/to/" + std::to_string(id);
        copy.kind = "to";
        copy.scope = reader.scope;
        copy.inputs = {from.at};
        copy.outputs = {as(from.tensor, type)};
        builder_.add(std::move(copy));
        return {id, 0};
    }

    const Graph& graph_;
    GraphBuilder builder_;
    std::vector<std::vector<Output>> outputs_;  ///< by op and output of the old network
};

}  // namespace

Graph autocast(const Graph& graph) {
    return Autocast(graph).run();
}

Graph in_half_precision(const Graph& graph) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        for (Tensor& tensor : op.outputs) {
            if (is_real(tensor.dtype)) tensor = as(tensor, DType::float16);
        }
        op.parameter_bytes /= 2;
        builder.add(std::move(op));
    }
    return builder.build();
}

}  // namespace placewright
