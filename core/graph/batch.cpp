// SPDX-License-Identifier: MIT
#include "core/graph/batch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

class Scaling {
public:
    Scaling(const Graph& graph, std::int64_t batch)
        : graph_(graph), from_(graph.batch()), to_(batch), holds_batch_(graph.size()) {}

    Graph run() {
        if (to_ < 1 || to_ > kMostBatch)
            throw GraphError("", "the batch size is " + std::to_string(to_) + ", expected 1 to " +
                                     std::to_string(kMostBatch));
        if (graph_.training() == Training::explicit_)
            throw GraphError("",
                             "the network lists its own backward ops, whose gradients of parameters do "
                             "not change with the batch size");
        for (const Op& op : graph_.ops()) {
            if (op.read_bytes && op.kind != "embedding" && !reads_constants(op))
                fail_at(op.name,
                        "reads parts of its parameters or of a cache (read_bytes), which do not grow with "
                        "the batch alone; convert the model's own file with --batch");
        }
        GraphBuilder builder(graph_.name(), to_, graph_.training());
        for (OpId id = 0; id < graph_.size(); ++id) builder.add(scaled(id));
        if (std::ranges::none_of(holds_batch_, std::identity()))
            throw GraphError("", "no input has an extent of the batch size of " + std::to_string(from_));
        return builder.build();
    }

private:
    /// Whether all that an op reads of what it holds are its parameters and constants of the file, such as
    /// quantized weights, which are the same for each batch. The cache of attention is not, nor are the
    /// experts that tokens are routed to.
    static bool reads_constants(const Op& op) {
        return op.resident_bytes > 0 && *op.read_bytes >= op.parameter_bytes &&
               op.kind != "scaled_dot_product_attention" && op.kind != "grouped_linear";
    }

    double ratio() const { return static_cast<double>(to_) / static_cast<double>(from_); }

    /// A whole multiple of the batch size, with the other one.
    std::int64_t times(const std::string& op, std::int64_t size) const {
        const std::int64_t samples = size / from_;
        if (samples > std::numeric_limits<std::int64_t>::max() / to_)
            fail_at(op, "is too large with a batch size of " + std::to_string(to_));
        return samples * to_;
    }

    /// Returns whether the output holds the batch.
    bool scale(const Op& op, Tensor& tensor, bool isInput) const {
        if (!tensor.shape) {
            if (tensor.bytes % from_ != 0) {
                fail_at(op.name, "its output of " + std::to_string(tensor.bytes) +
                                     " bytes is no multiple of the batch size of " + std::to_string(from_));
            }
            tensor.bytes = times(op.name, tensor.bytes);
        } else {
            std::vector<std::int64_t> shape = *tensor.shape;
            if (shape.empty()) return false;
            auto extent = std::ranges::find(shape, from_);
            if (extent == shape.end() && !isInput && shape.front() % from_ == 0) extent = shape.begin();
            if (extent == shape.end()) {
                // A constant, such as a mask.
                if (isInput) return false;
                fail_at(op.name, "its output " + shape_text(shape) + " has no extent of the batch size of " +
                                     std::to_string(from_));
            }
            *extent = times(op.name, *extent);
            const auto transfer_s = tensor.transfer_s;
            try {
                tensor = make_tensor(std::move(shape), tensor.dtype);
            } catch (const std::invalid_argument&) {
                fail_at(op.name, "is too large with a batch size of " + std::to_string(to_));
            }
            tensor.transfer_s = transfer_s;
        }
        if (tensor.transfer_s) *tensor.transfer_s *= ratio();
        return true;
    }

    Op scaled(OpId id) {
        Op op = graph_.op(id);
        const bool isInput = op.inputs.empty();
        const bool reads =
            std::ranges::any_of(op.inputs, [&](const TensorRef& ref) { return holds_batch_[ref.op]; });
        if (kind_info(op.kind).parameter || (!isInput && !reads)) return op;
        bool holds = false;
        for (Tensor& tensor : op.outputs) holds = scale(op, tensor, isInput) || holds;
        holds_batch_[id] = holds;
        // A loss reads the batch although it is a scalar.
        if (!holds && !reads) return op;
        op.flops *= ratio();
        if (op.backward_flops) *op.backward_flops *= ratio();
        op.workspace_bytes =
            static_cast<std::int64_t>(std::llround(static_cast<double>(op.workspace_bytes) * ratio()));
        op.time_s.clear();
        return op;
    }

    const Graph& graph_;
    std::int64_t from_, to_;
    std::vector<bool> holds_batch_;  ///< [op]: in any output
};

}  // namespace

Graph with_batch(const Graph& graph, std::int64_t batch) {
    return batch == graph.batch() ? graph : Scaling(graph, batch).run();
}

std::string fixed_batch_reason(const Graph& graph) {
    try {
        Scaling(graph, graph.batch()).run();
        return {};
    } catch (const GraphError& error) {
        return error.what();
    }
}

}  // namespace placewright
