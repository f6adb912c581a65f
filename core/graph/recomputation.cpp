// SPDX-License-Identifier: MIT
#include "core/graph/recomputation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

bool is_cheap(const Op& op) {
    const KindInfo& kind = kind_info(op.kind);
    return !op.inputs.empty() && !kind.name.empty() && !kind.product && !kind.recurrent;
}

class Rewriter {
public:
    explicit Rewriter(const Graph& graph)
        : graph_(graph),
          forward_ops_(static_cast<OpId>(std::ranges::count(graph.ops(), Phase::forward, &Op::phase))),
          before_(forward_ops_, kInvalidOp),
          trigger_(forward_ops_, kInvalidOp) {
        for (OpId id = 0; id < forward_ops_; ++id) kept_.emplace_back(graph.op(id).outputs.size());
    }

    Graph segments() {
        const std::vector<std::uint32_t> segment_of = cut();
        std::vector<OpId> first(segment_of.back() + 1, kInvalidOp), last_gradient = first;
        for (OpId id = forward_ops_; id < graph_.size(); ++id) {
            const std::uint32_t segment = segment_of[graph_.op(id).forward_op];
            first[segment] = std::min(first[segment], id);
            for (const OpId producer : graph_.producers(id)) {
                if (producer < forward_ops_ || segment_of[graph_.op(producer).forward_op] == segment)
                    continue;
                if (last_gradient[segment] == kInvalidOp || last_gradient[segment] < producer)
                    last_gradient[segment] = producer;
            }
        }
        for (std::uint32_t segment = 0; segment < first.size(); ++segment) {
            // Only ops that lead to a loss of their own get no gradient from later segments.
            if (last_gradient[segment] == kInvalidOp && first[segment] != kInvalidOp)
                last_gradient[segment] = gradient_before(first[segment]);
        }

        for (OpId id = 0; id < forward_ops_; ++id) {
            const bool stays = graph_.op(id).inputs.empty() || forward_consumers(id).empty() ||
                               last_gradient[segment_of[id]] == kInvalidOp;
            if (stays) keep_all(id);
            for (const TensorRef& input : graph_.op(id).inputs) {
                if (segment_of[input.op] != segment_of[id]) kept_[input.op][input.output] = true;
            }
        }
        keep_with_views();
        mark_needed();
        for (OpId id = 0; id < forward_ops_; ++id) {
            if (before_[id] == kInvalidOp) continue;
            before_[id] = first[segment_of[id]];
            trigger_[id] = last_gradient[segment_of[id]];
        }
        return rewrite();
    }

    Graph cheap() {
        for (OpId id = 0; id < forward_ops_; ++id) {
            const auto is_cheap_reader = [&](OpId reader) { return is_cheap(graph_.op(reader)); };
            const auto readers = forward_consumers(id);
            if (!is_cheap(graph_.op(id)) ||
                (readers.size() > 1 && std::ranges::any_of(readers, is_cheap_reader)))
                keep_all(id);
        }
        for (OpId id = forward_ops_; id < graph_.size(); ++id) {
            if (last_gradient_of(id) != kInvalidOp) continue;
            for (const OpId producer : graph_.producers(id)) keep_all(producer);
        }
        keep_with_views();
        mark_needed();
        for (OpId id = 0; id < forward_ops_; ++id) {
            if (before_[id] != kInvalidOp) trigger_[id] = last_gradient_of(before_[id]);
        }
        return rewrite();
    }

private:
    std::span<const OpId> forward_consumers(OpId id) const {
        const auto consumers = graph_.consumers(id);
        return {consumers.begin(), std::ranges::lower_bound(consumers, forward_ops_)};
    }

    /// The last of the derived ops that a derived op reads from.
    OpId last_gradient_of(OpId id) const {
        OpId last = kInvalidOp;
        for (const OpId producer : graph_.producers(id)) {
            if (producer >= forward_ops_ && (last == kInvalidOp || last < producer)) last = producer;
        }
        return last;
    }

    /// The last op before a derived op that produces a gradient.
    OpId gradient_before(OpId id) const {
        while (id-- > forward_ops_) {
            if (graph_.op(id).phase == Phase::backward) return id;
        }
        return kInvalidOp;
    }

    /// [forward op]: its segment, ascending.
    std::vector<std::uint32_t> cut() const {
        // crossing_bytes[i]: bytes that are produced before op i and read by op i or later.
        std::vector<double> crossing_bytes(forward_ops_ + 1);
        std::vector<OpId> computing;
        for (OpId id = 0; id < forward_ops_; ++id) {
            const Op& op = graph_.op(id);
            if (kind_info(op.kind).computes) computing.push_back(id);
            const auto readers = forward_consumers(id);
            if (op.inputs.empty() || readers.empty()) continue;
            double bytes = 0;
            for (const Tensor& output : op.outputs) bytes += static_cast<double>(output.bytes);
            crossing_bytes[id + 1] += bytes;
            crossing_bytes[readers.back() + 1] -= bytes;
        }
        for (OpId id = 0; id < forward_ops_; ++id) crossing_bytes[id + 1] += crossing_bytes[id];

        const auto count =
            static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(computing.size()))));
        std::vector<std::uint32_t> segment_of(forward_ops_);
        for (std::size_t cut = 1; cut < count; ++cut) {
            // Up to half a segment to each side, so that cuts keep their order.
            const std::size_t even = cut * computing.size() / count;
            const std::size_t from = std::max<std::size_t>((2 * cut - 1) * computing.size() / (2 * count), 1),
                              to = (2 * cut + 1) * computing.size() / (2 * count);
            std::size_t best = even;
            for (std::size_t i = from; i < to; ++i) {
                const auto distance = [&](std::size_t place) {
                    return place < even ? even - place : place - even;
                };
                const double bytes = crossing_bytes[computing[i]],
                             best_bytes = crossing_bytes[computing[best]];
                if (bytes < best_bytes || (bytes == best_bytes && distance(i) < distance(best))) best = i;
            }
            ++segment_of[computing[best]];
        }
        for (OpId id = 1; id < forward_ops_; ++id) segment_of[id] += segment_of[id - 1];
        return segment_of;
    }

    void keep_all(OpId id) { kept_[id].assign(kept_[id].size(), true); }

    bool is_kept(const TensorRef& tensor) const { return kept_[tensor.op][tensor.output]; }

    void keep_with_views() {
        const auto is_view = [&](OpId id) {
            return kind_info(graph_.op(id).kind).view && !graph_.op(id).inputs.empty();
        };
        for (OpId id = forward_ops_; id-- > 0;) {
            if (!is_view(id) || std::ranges::find(kept_[id], true) == kept_[id].end()) continue;
            const TensorRef& seen = graph_.op(id).inputs.front();
            kept_[seen.op][seen.output] = true;
        }
        for (OpId id = 0; id < forward_ops_; ++id) {
            if (is_view(id) && is_kept(graph_.op(id).inputs.front())) keep_all(id);
        }
    }

    /// Finds the forward ops to run again and the first op of the backward pass that needs each.
    void mark_needed() {
        for (OpId reader = static_cast<OpId>(graph_.size()); reader-- > 0;) {
            const OpId when = reader < forward_ops_ ? before_[reader] : reader;
            for (const TensorRef& input : graph_.op(reader).inputs) {
                if (input.op < forward_ops_ && !is_kept(input))
                    before_[input.op] = std::min(before_[input.op], when);
            }
        }
    }

    Graph rewrite() {
        std::vector<std::vector<OpId>> recomputed_before(graph_.size());
        std::vector<bool> triggers(graph_.size());
        for (OpId id = 0; id < forward_ops_; ++id) {
            if (before_[id] == kInvalidOp) continue;
            recomputed_before[before_[id]].push_back(id);
            if (is_root(id)) triggers[trigger_[id]] = true;
        }
        for (OpId id = 0; id < graph_.size(); ++id) {
            for (const OpId forward : recomputed_before[id]) recompute(forward);
            Op op = graph_.op(id);
            redirect(op, id >= forward_ops_);
            if (op.forward_op != kInvalidOp) op.forward_op = new_id_[op.forward_op];
            if (triggers[id]) op.outputs.push_back(make_tensor({0}, DType::uint8));
            new_id_.push_back(static_cast<OpId>(builder_.size()));
            builder_.add(std::move(op));
        }
        return builder_.build();
    }

    /// Whether a recomputed op reads no other.
    bool is_root(OpId id) const {
        return std::ranges::all_of(graph_.op(id).inputs,
                                   [&](const TensorRef& input) { return is_kept(input); });
    }

    void recompute(OpId id) {
        const Op& forward = graph_.op(id);
        Op op;
        op.name = forward.name + "/recompute";
        op.kind = forward.kind;
        op.scope = forward.scope;
        op.phase = Phase::backward;
        op.recomputes = true;
        op.flops = forward.flops;
        op.workspace_bytes = forward.workspace_bytes;
        op.in_place = forward.in_place;
        op.outputs = forward.outputs;
        op.inputs = forward.inputs;
        op.devices = forward.devices;
        op.attributes = forward.attributes;
        op.forward_op = new_id_[id];
        op.sends_together = forward.sends_together;
        for (const auto& [model, time] : forward.time_s) {
            if (time.forward_s) op.time_s[model].backward_s = time.forward_s;
        }
        redirect(op, true);
        if (is_root(id)) {
            const OpId trigger = trigger_[id];
            op.inputs.push_back(
                {new_id_[trigger], static_cast<std::uint32_t>(graph_.op(trigger).outputs.size())});
        }
        recomputed_id_[id] = static_cast<OpId>(builder_.size());
        builder_.add(std::move(op));
    }

    /// Redirects the inputs of an op to the new ops; in the backward pass, to the recomputed ones.
    void redirect(Op& op, bool in_backward) const {
        for (TensorRef& input : op.inputs) {
            const bool recomputed = in_backward && input.op < forward_ops_ && !is_kept(input);
            input.op = recomputed ? recomputed_id_[input.op] : new_id_[input.op];
        }
    }

    const Graph& graph_;
    GraphBuilder builder_{graph_.name(), graph_.batch(), Training::explicit_};
    OpId forward_ops_;
    std::vector<std::vector<bool>> kept_;  ///< [forward op][output]: whether it is kept for the backward pass
    std::vector<OpId>
        before_;  ///< [forward op]: the op that it is recomputed before; kInvalidOp if it is not
    std::vector<OpId> trigger_;  ///< [forward op]: the op that it waits for if it reads no recomputed op
    std::vector<OpId> new_id_;   ///< [op]: in the new graph
    std::vector<OpId> recomputed_id_ =
        std::vector<OpId>(forward_ops_, kInvalidOp);  ///< [forward op]: "f/recompute" in the new graph
};

}  // namespace

Graph with_recomputation(Graph training_graph, Recomputation recomputation) {
    if (recomputation == Recomputation::segments) return Rewriter(training_graph).segments();
    if (recomputation == Recomputation::cheap) return Rewriter(training_graph).cheap();
    return training_graph;
}

}  // namespace placewright
