// SPDX-License-Identifier: MIT
#include "core/graph/training.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/text.hpp"
#include "core/graph/gradients.hpp"
#include "core/graph/kept_output.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/recomputation.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 3> kRecomputations{"none", "segments", "cheap"};

void add_distinct(std::vector<TensorRef>& list, TensorRef tensor) {
    if (std::find(list.begin(), list.end(), tensor) == list.end()) list.push_back(tensor);
}

double parameter_count(const Op& op) {
    return static_cast<double>(op.parameter_bytes) /
           static_cast<double>(bytes_per_element(parameter_type(op)));
}

Tensor parameter_gradient(const Op& op) {
    Tensor tensor;
    tensor.dtype = parameter_type(op);
    tensor.bytes = op.parameter_bytes;
    return tensor;
}

class Differentiation {
public:
    Differentiation(const Graph& graph, SharedGradients shared)
        : graph_(graph),
          shared_(shared),
          builder_(graph.name(), graph.batch(), Training::explicit_),
          needs_gradient_(needs_gradient(graph)),
          is_parameter_(graph.size()),
          kept_(graph.size()),
          backward_(graph.size()) {
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            const KindInfo& kind = kind_info(op.kind);
            const bool same_values = kind.view || op.autocast;
            is_parameter_[id] =
                kind.parameter || (same_values && !op.inputs.empty() && is_parameter_[op.inputs.front().op]);
            builder_.add(with_kept(id));
            if (is_loss(id)) losses_.push_back(id);
        }
    }

    Graph run() {
        for (auto id = static_cast<OpId>(graph_.size()); id-- > 0;) {
            if (needs_gradient_[id]) differentiate(id);
        }
        return builder_.build();
    }

private:
    /// The forward op with what it keeps for its backward as an output after its own (kept_output.hpp).
    Op with_kept(OpId id) {
        Op op = graph_.op(id);
        const bool has_backward =
            op.parameter_bytes > 0 ||
            std::ranges::any_of(op.inputs, [&](const TensorRef& input) { return carries_gradient(input); });
        if (!needs_gradient_[id] || graph_.consumers(id).empty() || !has_backward) return op;
        if (auto kept = kept_output(graph_, op)) {
            kept_[id] = static_cast<std::uint32_t>(op.outputs.size());
            op.outputs.push_back(*std::move(kept));
        }
        return op;
    }

    /// Whether the backward of the op reads its input at `index`.
    bool keeps_input(const Op& op, std::size_t index) const {
        const KindInfo& kind = kind_info(op.kind);
        if (!kind.keeps_inputs) return false;
        // The gradient of a table depends on which rows were read, not on what is in them.
        if (op.kind == "embedding" && is_parameter_[op.inputs[index].op]) return false;
        if (kind.only_input >= 0) return index == static_cast<std::size_t>(kind.only_input);
        if (!kind.factors) return true;
        for (std::size_t other = 0; other < op.inputs.size(); ++other) {
            if (other != index && carries_gradient(op.inputs[other])) return true;
        }
        return false;
    }

    bool carries_gradient(const TensorRef& tensor) const {
        return placewright::carries_gradient(graph_, needs_gradient_, tensor);
    }

    /// The gradient that `reader` returns for one of its inputs.
    const Tensor& gradient_of(const Op& reader, const TensorRef& input) const {
        const bool range = kind_info(reader.kind).range && reader.outputs.size() == 1;
        return range ? reader.outputs.front() : graph_.op(input.op).outputs[input.output];
    }

    /// Whether the op computes a number that nothing reads.
    bool is_loss(OpId id) const {
        const Op& op = graph_.op(id);
        return graph_.consumers(id).empty() && needs_gradient_[id] && op.outputs.size() == 1 &&
               element_count(op.outputs.front()) == 1;
    }

    /// The gradients of the op's outputs; for an op without consumers, the tensor that its backward waits
    /// for.
    std::vector<TensorRef> incoming_gradients(OpId id) const {
        std::vector<TensorRef> gradients;
        if (graph_.consumers(id).empty()) {
            const Op& op = graph_.op(id);
            for (std::uint32_t k = 0; k < op.outputs.size(); ++k) gradients.push_back({id, k});
            if (gradients.empty()) return op.inputs;
            if (is_loss(id)) {
                // Of very many losses only the last is waited for: the inputs grow with the square.
                constexpr std::size_t kMostInputs = 64;
                const std::size_t first = losses_.size() > kMostInputs ? losses_.size() - 1 : 0;
                for (const OpId other : std::span(losses_).subspan(first)) {
                    if (other != id) gradients.push_back({other, 0});
                }
            }
            return gradients;
        }
        for (const OpId consumer : graph_.consumers(id)) {
            if (!backward_[consumer]) continue;
            std::uint32_t gradient = 0;
            for (const TensorRef& input : graph_.op(consumer).inputs) {
                if (!carries_gradient(input)) continue;
                if (input.op == id) gradients.push_back({*backward_[consumer], gradient});
                ++gradient;
            }
        }
        return gradients;
    }

    /// Bytes of each of the incoming gradients of an op with consumers.
    std::vector<double> incoming_bytes(OpId id) const {
        std::vector<double> bytes;
        for (const OpId consumer : graph_.consumers(id)) {
            const Op& reader = graph_.op(consumer);
            for (const TensorRef& input : reader.inputs) {
                if (backward_[consumer] && input.op == id && carries_gradient(input))
                    bytes.push_back(static_cast<double>(gradient_of(reader, input).bytes));
            }
        }
        return bytes;
    }

    /// FLOPs of the gradients for the op's inputs, as a multiple of the forward op's (training.hpp).
    double gradients_per_forward(const Op& op) const {
        std::size_t values = 0, parameters = 0;
        for (const TensorRef& input : op.inputs) {
            if (carries_gradient(input)) ++(is_parameter_[input.op] ? parameters : values);
        }
        // Query, key and value of attention with weights of its own are projected by them, each for itself.
        if (!kind_info(op.kind).product || op.kind == "multi_head_attention_forward")
            values = std::min<std::size_t>(values, 1);
        return static_cast<double>(std::min<std::size_t>(values + std::min<std::size_t>(parameters, 1), 2));
    }

    /// The gradient of parameters that several ops read is the sum of the gradients that these return.
    void differentiate_parameter(OpId id) {
        if (graph_.consumers(id).empty()) return;
        std::vector<TensorRef> gradients = incoming_gradients(id);
        if (gradients.empty()) return;
        const Op& op = graph_.op(id);
        std::vector<double> bytes = incoming_bytes(id);
        const bool one_by_one = shared_ == SharedGradients::as_they_come;
        if (one_by_one) {
            // Those of the last readers come first.
            std::ranges::reverse(gradients);
            std::ranges::reverse(bytes);
        }
        const auto element_bytes = static_cast<double>(bytes_per_element(parameter_type(op)));
        double added = static_cast<double>(op.parameter_bytes), summed = bytes.front();
        TensorRef sum = gradients.front();
        for (std::size_t begin = 1, end = 0; begin < gradients.size(); begin = end) {
            end = one_by_one ? begin + 1 : gradients.size();
            const bool last = end == gradients.size();
            Op next = bare(id, last ? "/weight_gradient" : "/weight_gradient#" + std::to_string(begin),
                           Phase::backward);
            next.kind = "add";
            next.attributes = op.attributes;
            next.time_s = backward_times(
                op, static_cast<double>(end - begin) / static_cast<double>(gradients.size() - 1));
            next.inputs = {sum};
            for (std::size_t k = begin; k < end; ++k) {
                next.inputs.push_back(gradients[k]);
                summed += bytes[k];
            }
            next.flops = std::max(0.0, summed - added) / element_bytes;
            added = std::max(added, summed);
            next.outputs = {parameter_gradient(op)};
            sum = {add(std::move(next)), 0};
        }
        add_update(id, sum);
    }

    void add_update(OpId id, TensorRef gradient) {
        Op update = bare(id, "/update", Phase::update);
        update.inputs = {gradient};
        for (const auto& [model, time] : graph_.op(id).time_s) {
            if (time.update_s) update.time_s[model].update_s = time.update_s;
        }
        update.flops = 2.0 * parameter_count(graph_.op(id));
        add(std::move(update));
    }

    void differentiate(OpId id) {
        if (kind_info(graph_.op(id).kind).parameter) return differentiate_parameter(id);
        const std::vector<TensorRef> gradients = incoming_gradients(id);
        // Without a gradient there is no backward, except if the source is the whole network.
        if (gradients.empty() && !graph_.consumers(id).empty()) return;

        const Op& op = graph_.op(id);
        std::vector<Tensor> input_gradients;
        for (const TensorRef& input : op.inputs) {
            if (carries_gradient(input)) input_gradients.push_back(gradient_of(op, input));
        }
        const bool has_weights = op.parameter_bytes > 0;
        const bool shared = has_weights && !input_gradients.empty();

        if (!input_gradients.empty()) {
            Op backward = derived(id, "/backward", shared);
            if (!op.backward_flops) backward.flops *= gradients_per_forward(op);
            backward.inputs = gradients;
            const KindInfo& kind = kind_info(op.kind);
            for (std::size_t k = 0; k < op.inputs.size(); ++k) {
                if (keeps_input(op, k)) add_distinct(backward.inputs, op.inputs[k]);
            }
            if (kind.keeps_output) {
                for (std::uint32_t k = 0; k < op.outputs.size(); ++k) add_distinct(backward.inputs, {id, k});
            }
            if (kept_[id]) add_distinct(backward.inputs, {id, *kept_[id]});
            backward.outputs = std::move(input_gradients);
            backward_[id] = add(std::move(backward));
        }
        if (has_weights) {
            Op weight_gradient = derived(id, "/weight_gradient", shared);
            weight_gradient.inputs = gradients;
            for (const TensorRef& input : op.inputs) add_distinct(weight_gradient.inputs, input);
            if (kept_[id] && !shared) add_distinct(weight_gradient.inputs, {id, *kept_[id]});
            weight_gradient.outputs = {parameter_gradient(op)};
            add_update(id, {add(std::move(weight_gradient)), 0});
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

    /// One of the two gradients. `shared`: both exist, so each takes half of the known cost of the whole
    /// backward.
    Op derived(OpId id, std::string_view suffix, bool shared) const {
        const Op& op = graph_.op(id);
        const double share = shared ? 0.5 : 1.0;
        Op result = bare(id, suffix, Phase::backward);
        result.flops = op.backward_flops ? *op.backward_flops * share : op.flops;
        result.attributes = op.attributes;
        result.time_s = backward_times(op, share);
        if (!shared) return result;
        for (const auto& [model, time] : op.time_s) {
            if (!time.backward_s || !time.weight_gradient_s) continue;
            result.time_s[model].backward_s = suffix == "/weight_gradient"
                                                  ? *time.weight_gradient_s
                                                  : std::max(0.0, *time.backward_s - *time.weight_gradient_s);
        }
        return result;
    }

    static std::map<std::string, MeasuredTime> backward_times(const Op& op, double share) {
        std::map<std::string, MeasuredTime> times;
        for (const auto& [model, time] : op.time_s) {
            if (time.backward_s) times[model].backward_s = *time.backward_s * share;
        }
        return times;
    }

    OpId add(Op op) {
        const auto id = static_cast<OpId>(builder_.size());
        builder_.add(std::move(op));
        return id;
    }

    const Graph& graph_;
    SharedGradients shared_;
    GraphBuilder builder_;
    std::vector<bool> needs_gradient_;
    std::vector<OpId> losses_;        ///< their sum is what is differentiated
    std::vector<bool> is_parameter_;  ///< [op]: its outputs are parameters, or views or casts of them
    std::vector<std::optional<std::uint32_t>> kept_;  ///< [op]: its output for its backward alone
    std::vector<std::optional<OpId>> backward_;       ///< [forward op]: "f/backward"
};

}  // namespace

std::string_view to_string(Recomputation recomputation) {
    return kRecomputations[static_cast<std::size_t>(recomputation)];
}

std::optional<Recomputation> recomputation_from(std::string_view text) {
    const auto* const found = std::ranges::find(kRecomputations, text);
    if (found == kRecomputations.end()) return {};
    return static_cast<Recomputation>(found - kRecomputations.begin());
}

Graph training_graph(const Graph& graph, Recomputation recomputation, SharedGradients shared) {
    if (graph.training() == Training::explicit_ && recomputation != Recomputation::none) {
        throw GraphError(
            "", "network " + in_quotes(graph.name()) +
                    " already contains backward ops, and recomputation \"" +
                    std::string(to_string(recomputation)) +
                    "\" cannot know what they keep; choose \"none\" or a network of implicit training");
    }
    if (graph.training() != Training::implicit) return graph;
    return with_recomputation(Differentiation(graph, shared).run(), recomputation);
}

bool runs_forward(const Op& op) {
    return op.phase == Phase::forward || op.recomputes;
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
