// SPDX-License-Identifier: MIT
#include "core/graph/precision.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 7> kPrecisions{"as-given", "fp32", "tf32", "amp-fp16",
                                                      "amp-bf16", "bf16", "fp16"};

/// How autocast treats a kind.
enum class Rule : std::uint8_t {
    low,       ///< computes in the low type
    float32,   ///< computes in float32
    widens,    ///< writes float32; its kernels read the low type
    softmax,   ///< the same, but only for float16
    promotes,  ///< computes in the widest type that it reads
    mixes,     ///< writes the widest type that it reads; its kernels read several types
    follows,   ///< the same, but its parameters do not count
};

// Names of this program's kinds. local_response_norm ends in a pow, normalize and pairwise_distance begin
// with a norm, so they widen what they read. So does the log_softmax in cross_entropy; but what that keeps
// for its backward is in float32, as a cast of its input is.
Rule rule_of(std::string_view kind) {
    using enum Rule;
    static const std::unordered_map<std::string_view, Rule> rules{
        {"prelu", low},
        {"addbmm", low},
        {"addmv", low},
        {"addr", low},
        {"mv", low},
        {"layer_norm", float32},
        {"group_norm", float32},
        {"rms_norm", float32},
        {"exp", float32},
        {"expm1", float32},
        {"log", float32},
        {"log1p", float32},
        {"log2", float32},
        {"log10", float32},
        {"pow", float32},
        {"rsqrt", float32},
        {"reciprocal", float32},
        {"softplus", float32},
        {"acos", float32},
        {"asin", float32},
        {"cosh", float32},
        {"sinh", float32},
        {"tan", float32},
        {"erfinv", float32},
        {"cumsum", float32},
        {"cumprod", float32},
        {"logsumexp", float32},
        {"cdist", float32},
        {"cosine_similarity", float32},
        {"interpolate", float32},
        {"upsample", float32},
        {"cross_entropy", float32},
        {"nll_loss", float32},
        {"mse_loss", float32},
        {"l1_loss", float32},
        {"smooth_l1_loss", float32},
        {"huber_loss", float32},
        {"kl_div", float32},
        {"binary_cross_entropy", float32},
        {"binary_cross_entropy_with_logits", float32},
        {"sum", widens},
        {"prod", widens},
        {"norm", widens},
        {"normalize", widens},
        {"pairwise_distance", widens},
        {"local_response_norm", widens},
        {"softmax", softmax},
        {"log_softmax", softmax},
        {"bilinear", promotes},
        {"where", promotes},
        {"addcmul", promotes},
        {"addcdiv", promotes},
        {"lerp", promotes},
        {"grid_sample", promotes},
        {"scatter", promotes},
        {"scatter_add", promotes},
        {"index_add", promotes},
        {"batch_norm", follows},
        {"instance_norm", follows},
    };
    const auto found = rules.find(kind);
    if (found != rules.end()) return found->second;
    const KindInfo& info = kind_info(kind);
    return info.product || info.recurrent ? low : mixes;
}

std::int64_t rescaled(const Op& op, std::int64_t bytes, DType from, DType to) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(bytes / bytes_per_element(from), bytes_per_element(to), &result))
        fail_at(op.name, "its bytes in " + std::string(to_string(to)) + " are too many to be counted");
    return result;
}

Tensor converted(const Op& op, const Tensor& tensor, DType to) {
    if (!is_floating(tensor.dtype) || tensor.dtype == to) return tensor;
    Tensor result = tensor;
    result.dtype = to;
    result.bytes = rescaled(op, tensor.bytes, tensor.dtype, to);
    if (tensor.transfer_s)
        result.transfer_s = *tensor.transfer_s * static_cast<double>(bytes_per_element(to)) /
                            static_cast<double>(bytes_per_element(tensor.dtype));
    return result;
}

/// Whether the op casts from one type to another, both of which become `to`.
bool is_needless_cast(const Graph& graph, const Op& op) {
    if (op.kind != "to" || op.inputs.size() != 1 || op.outputs.size() != 1) return false;
    const DType read = graph.op(op.inputs[0].op).outputs[op.inputs[0].output].dtype;
    const DType written = op.outputs[0].dtype;
    return is_floating(read) && is_floating(written) && read != written;
}

Op converted(const Graph& graph, const Op& op, DType to) {
    Op result = op;
    if (is_needless_cast(graph, op)) result.kind = "identity";
    if (const DType held = parameter_type(op); is_floating(held)) {
        result.parameter_bytes = rescaled(op, op.parameter_bytes, held, to);
        result.parameter_dtype.reset();
        if (!op.outputs.empty() && !is_floating(op.outputs.front().dtype)) result.parameter_dtype = to;
    }
    for (Tensor& output : result.outputs) output = converted(op, output, to);
    return result;
}

/// The graph without the casts of an autocast, all in one type.
Graph in_one_type(const Graph& graph, DType to) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    std::vector<TensorRef> cast_of(graph.size());  // what a left-out cast reads, in the new graph
    std::vector<OpId> new_id(graph.size(), kInvalidOp);
    for (OpId id = 0; id < graph.size(); ++id) {
        Op op = converted(graph, graph.op(id), to);
        for (TensorRef& input : op.inputs)
            input = new_id[input.op] == kInvalidOp ? cast_of[input.op]
                                                   : TensorRef{new_id[input.op], input.output};
        if (op.autocast && op.inputs.size() == 1 && op.outputs.size() == 1 && op.forward_op == kInvalidOp) {
            cast_of[id] = op.inputs.front();
            continue;
        }
        if (op.forward_op != kInvalidOp) op.forward_op = new_id[op.forward_op];
        new_id[id] = static_cast<OpId>(builder.size());
        builder.add(std::move(op));
    }
    return builder.build();
}

class Autocast {
public:
    Autocast(const Graph& graph, DType low) : graph_(graph), low_(low), new_id_(graph.size()) {
        for (const Op& op : graph.ops()) {
            names_.insert(op.name);
            labels_.insert(op.colocate);
        }
    }

    Graph run() {
        for (OpId id = 0; id < graph_.size(); ++id) add(id);
        GraphBuilder builder(graph_.name(), graph_.batch(), graph_.training());
        for (Op& op : ops_) builder.add(std::move(op));
        return builder.build();
    }

private:
    const Tensor& made(TensorRef tensor) const { return ops_[tensor.op].outputs[tensor.output]; }

    void add(OpId id) {
        Op op = graph_.op(id);
        for (TensorRef& input : op.inputs) input.op = new_id_[input.op];
        if (op.forward_op != kInvalidOp) op.forward_op = new_id_[op.forward_op];
        const Rule rule = op.phase == Phase::update ? Rule::float32 : rule_of(op.kind);
        if (const auto type = type_read(op, rule)) {
            // Readers of the same tensor twice share its cast.
            std::map<std::pair<OpId, std::uint32_t>, TensorRef> casts;
            for (TensorRef& input : op.inputs) {
                const DType given = made(input).dtype;
                if (!is_floating(given) || given == *type) continue;
                const auto [known, first] = casts.try_emplace({input.op, input.output});
                if (first) known->second = cast(input, *type, op);
                input = known->second;
            }
        }
        if (const auto type = type_written(op, rule)) write(op, *type);
        new_id_[id] = append(std::move(op));
    }

    OpId append(Op op) {
        ops_.push_back(std::move(op));
        return static_cast<OpId>(ops_.size() - 1);
    }

    /// The type that all floating inputs of the op must have; nothing if any type will do.
    std::optional<DType> type_read(const Op& op, Rule rule) const {
        switch (rule) {
            case Rule::low:
                return low_;
            case Rule::float32:
                return DType::float32;
            case Rule::softmax:
                return low_ == DType::float16 ? std::nullopt : std::optional(DType::float32);
            case Rule::promotes:
                return widest(op, true);
            case Rule::widens:
            case Rule::mixes:
            case Rule::follows:
                return {};
        }
        return {};
    }

    /// Nothing: the type stays.
    std::optional<DType> type_written(const Op& op, Rule rule) const {
        switch (rule) {
            case Rule::low:
                return low_;
            case Rule::float32:
            case Rule::softmax:
            case Rule::widens:
                return DType::float32;
            case Rule::promotes:
            case Rule::mixes:
                return widest(op, true);
            case Rule::follows:
                return widest(op, false);
        }
        return {};
    }

    /// The widest floating type that the op reads; nothing if it reads none. Single numbers without extents
    /// do not widen tensors that have some.
    std::optional<DType> widest(const Op& op, bool with_parameters) const {
        std::optional<DType> of_tensors, of_numbers;
        for (const TensorRef& input : op.inputs) {
            const Tensor& tensor = made(input);
            if (!is_floating(tensor.dtype)) continue;
            auto& type = tensor.shape && tensor.shape->empty() ? of_numbers : of_tensors;
            if (type != DType::float32) type = tensor.dtype;
        }
        if (with_parameters && op.parameter_bytes > 0 && is_floating(parameter_type(op)))
            of_tensors = DType::float32;
        return of_tensors ? of_tensors : of_numbers;
    }

    void write(Op& op, DType type) const {
        if (op.parameter_bytes > 0 && is_floating(parameter_type(op)) && type != DType::float32)
            op.parameter_dtype = DType::float32;
        for (Tensor& output : op.outputs) output = converted(op, output, type);
    }

    /// A cast of a tensor for `reader`, which is about to be added.
    TensorRef cast(TensorRef tensor, DType type, Op& reader) {
        Op& producer = ops_[tensor.op];
        const std::string name =
            producer.name + (tensor.output > 0 ? '_' + std::to_string(tensor.output) : "");
        const bool shared = kind_info(producer.kind).parameter && producer.parameter_bytes > 0;
        if (shared) {
            const auto known = of_parameters_.find({tensor.op, tensor.output});
            if (known != of_parameters_.end()) return known->second;
        }
        Op& beside = shared ? producer : reader;
        Op cast;
        cast.name = fresh_name(shared ? name + "_cast" : reader.name + "_cast_" + name);
        cast.kind = "to";
        cast.autocast = true;
        cast.scope = beside.scope;
        cast.devices = beside.devices;
        cast.colocate = label_of(beside);
        // The gradient that an update reads is cast at the end of the backward pass.
        cast.phase = beside.phase == Phase::update ? Phase::backward : beside.phase;
        cast.inputs = {tensor};
        cast.outputs = {converted(producer, made(tensor), type)};
        const TensorRef result{append(std::move(cast)), 0};
        if (shared) of_parameters_.emplace(std::pair(tensor.op, tensor.output), result);
        return result;
    }

    /// A name that no op has, nor one that is derived from it ("NAME/backward").
    std::string fresh_name(std::string name) {
        const auto taken = [&] {
            const auto derived = names_.lower_bound(name + '/');
            return names_.contains(name) || (derived != names_.end() && derived->starts_with(name + '/'));
        };
        while (taken()) name += '\'';
        names_.insert(name);
        return name;
    }

    /// The label that `op` shares with the ops that must be on its device.
    const std::string& label_of(Op& op) {
        if (!op.colocate.empty()) return op.colocate;
        op.colocate = op.name;
        while (!labels_.insert(op.colocate).second) op.colocate += '\'';
        return op.colocate;
    }

    const Graph& graph_;
    DType low_;
    std::vector<Op> ops_;       ///< of the new graph
    std::vector<OpId> new_id_;  ///< [op]: in the new graph
    std::set<std::string> names_, labels_;
    std::map<std::pair<OpId, std::uint32_t>, TensorRef> of_parameters_;  ///< casts by what they cast
};

}  // namespace

std::span<const Precision> precisions() {
    using enum Precision;
    static constexpr std::array<Precision, kPrecisions.size()> all{as_given, fp32, tf32, amp_fp16,
                                                                   amp_bf16, bf16, fp16};
    return all;
}

std::string_view to_string(Precision precision) {
    return kPrecisions[static_cast<std::size_t>(precision)];
}

std::optional<Precision> precision_from(std::string_view text) {
    const auto* const found = std::ranges::find(kPrecisions, text);
    if (found == kPrecisions.end()) return {};
    return static_cast<Precision>(found - kPrecisions.begin());
}

std::int64_t cast_parameter_bytes(const Op& op) {
    if (!op.parameter_dtype || op.outputs.empty() || op.parameter_bytes == 0 || rule_of(op.kind) != Rule::low)
        return 0;
    const DType type = op.outputs.front().dtype;
    const std::int64_t wide = bytes_per_element(*op.parameter_dtype), narrow = bytes_per_element(type);
    return is_floating(type) && narrow < wide ? op.parameter_bytes / wide * narrow : 0;
}

Graph with_precision(const Graph& graph, Precision precision) {
    switch (precision) {
        case Precision::as_given:
            return graph;
        case Precision::fp32:
        case Precision::tf32:
            return in_one_type(graph, DType::float32);
        case Precision::bf16:
            return in_one_type(graph, DType::bfloat16);
        case Precision::fp16:
            return in_one_type(graph, DType::float16);
        case Precision::amp_fp16:
            return Autocast(in_one_type(graph, DType::float32), DType::float16).run();
        case Precision::amp_bf16:
            return Autocast(in_one_type(graph, DType::float32), DType::bfloat16).run();
    }
    return graph;
}

}  // namespace placewright
