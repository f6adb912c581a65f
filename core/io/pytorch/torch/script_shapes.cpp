// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torch/script_shapes.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <ATen/native/Pool.h>

namespace placewright {
namespace {

namespace jit = torch::jit;
using c10::IValue;

/// What the rule of an operator gives: its results without numbers; nothing if LibTorch itself infers them.
using Results = std::optional<std::vector<IValue>>;

/// The call of an operator.
struct OperatorCall {
    const jit::Node& node;
    const c10::FunctionSchema& schema;
    std::string_view op;
    const std::vector<IValue>& inputs;

    at::Tensor tensor(std::size_t input) const { return inputs[input].toTensor(); }
    bool is_without_numbers(std::size_t input) const {
        return inputs[input].isTensor() && is_meta(inputs[input].toTensor());
    }
    /// Returns an argument by its name in the schema; nullptr if it is not given.
    const IValue* given(const char* name) const {
        const auto index = schema.argumentIndexWithName(name);
        return index && static_cast<std::size_t>(*index) < inputs.size()
                   ? &inputs[static_cast<std::size_t>(*index)]
                   : nullptr;
    }
    /// Returns whether an argument is given and true.
    bool says(const char* name) const {
        const IValue* const value = given(name);
        return value != nullptr && value->isBool() && value->toBool();
    }
};

// Rules: the results of an operator by the sizes of its inputs. They throw for inputs that do not match.

std::vector<IValue> one(at::Tensor tensor) {
    std::vector<IValue> results;
    results.emplace_back(std::move(tensor));
    return results;
}

Results pooled(const OperatorCall& call) {
    const at::Tensor image = call.tensor(0);
    constexpr std::size_t kRank = 3;
    const auto numbers = [&](const char* name) {
        auto list = call.given(name)->toIntVector();
        if (list.size() == 1) list.resize(kRank, list[0]);
        return list;
    };
    const auto kernel = numbers("kernel_size"), padding = numbers("padding"), dilation = numbers("dilation");
    auto stride = numbers("stride");
    if (stride.empty()) stride = kernel;
    auto shape = image.sizes().vec();
    if (shape.size() <= kRank || kernel.size() != kRank || stride.size() != kRank ||
        padding.size() != kRank || dilation.size() != kRank)
        return {};
    const bool up = call.given("ceil_mode")->toBool();
    for (std::size_t i = 0; i < kRank; ++i) {
        std::int64_t& extent = shape[shape.size() - kRank + i];
        extent = at::native::pooling_output_shape(extent, kernel[i], padding[i], stride[i], dilation[i], up);
        if (extent < 1) throw std::invalid_argument("its window is larger than the image");
    }
    std::vector<IValue> results{at::empty(shape, image.options())};
    if (call.node.outputs().size() == 2)
        results.emplace_back(at::empty(shape, image.options().dtype(at::kLong)));
    return results;
}

/// https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html, Fold.html: an image as (channels x kernel)
/// x positions, and back.
Results unfolded(const OperatorCall& call) {
    const bool back = call.op == "col2im";
    const at::Tensor tensor = call.tensor(0);
    const auto kernel = call.given("kernel_size")->toIntVector(),
               padding = call.given("padding")->toIntVector(),
               dilation = call.given("dilation")->toIntVector(), stride = call.given("stride")->toIntVector();
    auto shape = tensor.sizes().vec();
    const std::size_t rank = back ? 2 : 3;  // without a batch
    if (kernel.size() != 2 || padding.size() != 2 || dilation.size() != 2 || stride.size() != 2 ||
        shape.size() < rank || shape.size() > rank + 1 ||
        std::ranges::any_of(kernel, [](std::int64_t extent) { return extent < 1; }) ||
        std::ranges::any_of(stride, [](std::int64_t step) { return step < 1; }))
        return {};
    const auto channels = shape.end() - static_cast<std::ptrdiff_t>(rank);
    std::vector<std::int64_t> image =
        back ? call.given("output_size")->toIntVector() : std::vector(channels + 1, shape.end());
    if (image.size() != 2) return {};
    std::int64_t positions = 1;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t extent =
            (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
        if (extent < 1) throw std::invalid_argument("its window is larger than the image");
        positions *= extent;
    }
    const std::int64_t window = kernel[0] * kernel[1];
    if (!back) {
        *channels *= window;
        image = {positions};
    } else {
        if (*channels % window != 0 || channels[1] != positions)
            throw std::invalid_argument("its input is no image of such windows, which has " +
                                        std::to_string(positions) + " positions");
        *channels /= window;
    }
    shape.erase(channels + 1, shape.end());
    shape.insert(shape.end(), image.begin(), image.end());
    return one(at::empty(shape, tensor.options()));
}

/// https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html, ConvTranspose2d.html.
Results convolved(const OperatorCall& call) {
    const at::Tensor image = call.tensor(0);
    const at::Tensor weight = call.given("weight")->toTensor();
    const auto rank = static_cast<std::size_t>(weight.dim()) - 2;
    const auto numbers = [&](const char* name, std::int64_t otherwise) {
        const IValue* const value = call.given(name);
        std::vector<std::int64_t> list =
            value != nullptr && value->isIntList() ? value->toIntVector() : std::vector<std::int64_t>();
        if (list.size() == 1) list.resize(rank, list[0]);
        if (list.empty()) list.resize(rank, otherwise);
        return list;
    };
    const IValue* const padding_mode = call.given("padding");
    const IValue* const turned = call.given("transposed");
    const bool transposed = turned != nullptr ? turned->toBool() : call.op.starts_with("conv_transpose");
    const IValue* const grouped = call.given("groups");
    const std::int64_t groups = grouped != nullptr ? grouped->toInt() : 1;
    const auto stride = numbers("stride", 1), padding = numbers("padding", 0),
               dilation = numbers("dilation", 1), extra = numbers("output_padding", 0);
    const auto offset = static_cast<std::size_t>(image.dim()) - rank;  // 1 without a batch dimension
    auto shape = image.sizes().vec();
    if (rank < 1 || shape.size() < rank + 1 || shape.size() > rank + 2 ||
        std::ranges::any_of(stride, [](std::int64_t step) { return step < 1; }))
        return {};
    if (shape[offset - 1] != (transposed ? weight.size(0) : weight.size(1) * groups))
        throw std::invalid_argument("its weight is for " +
                                    std::to_string(transposed ? weight.size(0) : weight.size(1) * groups) +
                                    " channels, the input has " + std::to_string(shape[offset - 1]));
    shape[offset - 1] = transposed ? weight.size(1) * groups : weight.size(0);
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t reach = dilation[i] * (weight.size(static_cast<std::int64_t>(i) + 2) - 1);
        std::int64_t& extent = shape[offset + i];
        if (transposed) {
            extent = (extent - 1) * stride[i] - 2 * padding[i] + reach + extra[i] + 1;
        } else if (padding_mode != nullptr && padding_mode->isString()) {
            if (padding_mode->toStringRef() == "valid") extent -= reach;
        } else {
            extent = (extent + 2 * padding[i] - reach - 1) / stride[i] + 1;
        }
        if (extent < 1) throw std::invalid_argument("its kernel is larger than the image");
    }
    return one(at::empty(shape, image.options()));
}

/// Indices in rows are flattened before. The table is a parameter; the other results are for its gradient.
Results bag(const OperatorCall& call) {
    const at::Tensor indices = call.tensor(1);
    if (!is_meta(indices)) return {};
    const at::Tensor table = call.tensor(0), offsets = call.tensor(2);
    const std::int64_t bags = offsets.numel() - (call.says("include_last_offset") ? 1 : 0);
    if (table.dim() != 2 || bags < 0) return {};
    const auto lists = indices.options();
    return std::vector<IValue>{at::empty({bags, table.size(1)}, table.options().device(at::kMeta)),
                               at::empty(indices.sizes(), lists), at::empty({bags}, lists),
                               at::empty({bags}, lists)};
}

Results triangle_indices(const OperatorCall& call) {
    const std::int64_t rows = call.inputs[0].toInt(), columns = call.inputs[1].toInt(),
                       offset = call.inputs[2].toInt();
    if (rows < 0 || columns < 0 || rows > kMostElements || columns > kMostElements ||
        std::abs(offset) > kMostElements)
        return {};
    const bool lower = call.op == "tril_indices";
    std::int64_t below = 0;  // the diagonal, with it
    for (std::int64_t row = 0; row < rows; ++row)
        below += std::clamp<std::int64_t>(row + offset + (lower ? 1 : 0), 0, columns);
    const std::int64_t count = lower ? below : rows * columns - below;
    return one(at::empty({2, count}, at::TensorOptions(at::kLong).device(at::kMeta)));
}

Results embedded(const OperatorCall& call) {
    if (!is_meta(call.tensor(1))) return {};
    auto shape = call.tensor(1).sizes().vec();
    shape.push_back(call.tensor(0).size(1));
    return one(at::empty(shape, call.tensor(0).options()));
}

/// Of an elementwise operator on tensors that are broadcast to one shape.
Results broadcast(const OperatorCall& call) {
    std::vector<at::Tensor> tensors;
    for (const IValue& value : call.inputs) {
        if (value.isTensor() && value.toTensor().defined()) tensors.push_back(value.toTensor());
    }
    if (tensors.empty() || !std::ranges::any_of(tensors, is_meta)) return {};
    std::vector<std::int64_t> shape;
    for (const at::Tensor& tensor : tensors) shape = at::infer_size(shape, tensor.sizes());
    if (call.op.ends_with('_')) return one(call.tensor(0));
    return one(at::empty(
        shape, tensors[call.op == "where" && tensors.size() > 1 ? 1 : 0].options().device(at::kMeta)));
}

/// Of an operator whose result has the shape and type of its first tensor.
Results like_first(const OperatorCall& call) {
    const at::Tensor first = call.tensor(0);
    const IValue* const train = call.given("train");
    const bool same = call.op.ends_with('_') || (train != nullptr && train->isBool() && !train->toBool() &&
                                                 call.op.ends_with("dropout"));
    return one(same ? first : at::empty_like(first));
}

/// Of an operator whose result has the shape and type of its first tensor, and may be packed in memory.
Results copied(const OperatorCall& call) {
    const at::Tensor first = call.tensor(0);
    if (call.op == "contiguous")
        return one(first.is_contiguous() ? first : at::empty(first.sizes(), first.options()));
    const IValue* const format = call.given("memory_format");
    const bool packed = format != nullptr && format->isInt() &&
                        format->toInt() == static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
    return one(packed ? at::empty(first.sizes(), first.options()) : at::empty_like(first));
}

Results reduced(const OperatorCall& call) {
    const IValue* const over = call.given("dim");
    const IValue* const keeps = call.given("keepdim");
    const auto dims =
        over != nullptr && over->isIntList() ? over->toIntVector() : std::vector<std::int64_t>();
    const at::Tensor result = at::sum(call.tensor(0), dims, keeps != nullptr && keeps->toBool());
    std::vector<IValue> results = one(result);
    if (call.op.ends_with("_mean")) results.emplace_back(at::empty_like(result));
    return results;
}

/// Of an operator that tests each element of its first argument.
Results tested(const OperatorCall& call) {
    return one(at::empty_like(call.tensor(0), call.tensor(0).options().dtype(at::kBool)));
}

Results bucketized(const OperatorCall& call) {
    const IValue* const narrow = call.given("out_int32");
    const at::Tensor first = call.tensor(0);
    return one(at::empty_like(
        first, first.options().dtype(narrow != nullptr && narrow->toBool() ? at::kInt : at::kLong)));
}

Results one_hot(const OperatorCall& call) {
    const std::int64_t classes = call.given("num_classes")->toInt();
    if (classes < 1) return {};
    auto shape = call.tensor(0).sizes().vec();
    shape.push_back(classes);
    return one(at::empty(shape, call.tensor(0).options()));
}

Results weight_norm(const OperatorCall& call) {
    return one(at::empty_like(call.tensor(0)));
}

Results dot_product(const OperatorCall& call) {
    const at::Tensor first = call.tensor(0);
    if (first.dim() != 1 || first.sizes() != call.tensor(1).sizes())
        throw std::invalid_argument("its factors are no lists of one length");
    return one(at::empty({}, first.options()));
}

Results distances(const OperatorCall& call) {
    const at::Tensor first = call.tensor(0), second = call.tensor(1);
    if (first.dim() < 2 || second.dim() < 2 || first.size(-1) != second.size(-1))
        throw std::invalid_argument("its points have not the same number of coordinates");
    auto shape = at::infer_size(first.sizes().slice(0, static_cast<std::size_t>(first.dim()) - 2),
                                second.sizes().slice(0, static_cast<std::size_t>(second.dim()) - 2));
    shape.push_back(first.size(-2));
    shape.push_back(second.size(-2));
    return one(at::empty(shape, first.options()));
}

Results padded(const OperatorCall& call) {
    const IValue* const pads = call.given(call.op == "pad" ? "pad" : "padding");
    if (pads == nullptr || !pads->isIntList()) return {};
    // Pairs from the last axis on.
    const auto sides = pads->toIntVector();
    auto shape = call.tensor(0).sizes().vec();
    if (sides.size() > 2 * shape.size()) return {};
    for (std::size_t i = 0; i + 1 < sides.size(); i += 2) {
        std::int64_t& extent = shape[shape.size() - 1 - i / 2];
        if (__builtin_add_overflow(extent, sides[i], &extent) ||
            __builtin_add_overflow(extent, sides[i + 1], &extent) || extent < 0)
            throw std::invalid_argument("its padding is larger than a tensor can be");
    }
    return one(at::empty(shape, call.tensor(0).options()));
}

/// Each channel of an image at the points of its grid.
Results sampled(const OperatorCall& call) {
    const at::Tensor image = call.tensor(0);
    auto shape = call.given("grid")->toTensor().sizes().vec();
    if (shape.size() != static_cast<std::size_t>(image.dim()) || shape.size() < 3) return {};
    shape.pop_back();
    shape.insert(shape.begin() + 1, image.size(1));
    return one(at::empty(shape, image.options()));
}

/// scaled_dot_product_attention: the query with vectors as long as those of the values.
Results attended(const OperatorCall& call) {
    const at::Tensor query = call.tensor(0), value = call.tensor(2);
    if (query.dim() < 2 || value.dim() < 2) return {};
    auto shape = query.sizes().vec();
    shape.back() = value.sizes().back();
    return one(at::empty(shape, query.options()));
}

Results repeated(const OperatorCall& call) {
    if (call.given("repeats") == nullptr) return {};
    const IValue& count = *call.given("repeats");
    if (!count.isInt() && (!count.isTensor() || is_meta(count.toTensor()))) return {};
    const std::int64_t repeats = count.isInt() ? count.toInt() : count.toTensor().item<std::int64_t>();
    const at::Tensor first = call.tensor(0);
    // Without a dimension the elements are flattened.
    const bool flat = call.given("dim")->isNone();
    auto shape = flat ? std::vector{first.numel()} : first.sizes().vec();
    std::int64_t& extent =
        flat
            ? shape[0]
            : shape.at(static_cast<std::size_t>(at::maybe_wrap_dim(call.given("dim")->toInt(), first.dim())));
    if (repeats < 0 || __builtin_mul_overflow(extent, repeats, &extent))
        throw std::invalid_argument("it repeats " + std::to_string(repeats) + " times");
    return one(at::empty(shape, first.options()));
}

Results adaptively_pooled(const OperatorCall& call) {
    const at::Tensor first = call.tensor(0);
    const auto target = call.given("output_size")->toIntVector();
    auto shape = first.sizes().vec();
    if (target.size() > shape.size()) return {};
    std::ranges::copy(target, shape.end() - static_cast<std::ptrdiff_t>(target.size()));
    std::vector<IValue> results{at::empty(shape, first.options())};
    if (call.node.outputs().size() == 2)
        results.emplace_back(at::empty(shape, first.options().dtype(at::kLong)));
    return results;
}

Results recurrent(const OperatorCall& call) {
    const IValue* const given = call.given("hx");
    if (call.given("input") == nullptr || given == nullptr) return {};
    std::vector<at::Tensor> states =
        given->isTensorList() ? given->toTensorVector() : std::vector{given->toTensor()};
    for (at::Tensor& state : states) state = without_numbers(state);
    if (states.empty()) return {};
    auto shape = call.tensor(0).sizes().vec();
    shape.back() = states[0].sizes().back() * (call.given("bidirectional")->toBool() ? 2 : 1);
    std::vector<IValue> results{at::empty(shape, call.tensor(0).options())};
    for (const at::Tensor& state : states) results.emplace_back(at::empty_like(state));
    return results;
}

struct ShapeRule {
    Results (*results)(const OperatorCall& call);
    bool first_has_numbers =
        false;  ///< whether the rule also holds if the first input has numbers or is no tensor
};

/// Returns the rule of an operator by its whole name, else by how it begins; nullptr if there is none.
const ShapeRule* find_rule(std::string_view op) {
    static const std::unordered_map<std::string_view, ShapeRule> by_name = [] {
        std::unordered_map<std::string_view, ShapeRule> rules{
            {"embedding_bag", {bag, true}},
            {"tril_indices", {triangle_indices, true}},
            {"triu_indices", {triangle_indices, true}},
            {"embedding", {embedded, true}},
            {"clone", {copied}},
            {"contiguous", {copied}},
            {"logsumexp", {reduced}},
            {"var", {reduced}},
            {"std", {reduced}},
            {"var_mean", {reduced}},
            {"std_mean", {reduced}},
            {"isnan", {tested}},
            {"isinf", {tested}},
            {"isfinite", {tested}},
            {"logical_not", {tested}},
            {"bucketize", {bucketized}},
            {"one_hot", {one_hot}},
            {"_weight_norm", {weight_norm}},
            {"dot", {dot_product}},
            {"vdot", {dot_product}},
            {"cdist", {distances}},
            {"im2col", {unfolded}},
            {"col2im", {unfolded}},
            {"pad", {padded}},
            {"repeat_interleave", {repeated}},
            {"max_pool3d", {pooled}},
            {"max_pool3d_with_indices", {pooled}},
            {"lstm", {recurrent}},
            {"gru", {recurrent}},
            {"rnn_tanh", {recurrent}},
            {"rnn_relu", {recurrent}},
            {"scaled_dot_product_attention", {attended}},
            {"_convolution", {convolved}},
            {"_convolution_mode", {convolved}},
            {"convolution", {convolved}},
        };
        for (const char* const elementwise : {"masked_fill", "masked_fill_", "where", "rsub", "clamp",
                                              "clamp_min", "clamp_max", "floor_divide", "remainder"})
            rules.emplace(elementwise, ShapeRule{broadcast, true});
        for (const char* const like : {"batch_norm",
                                       "layer_norm",
                                       "group_norm",
                                       "instance_norm",
                                       "dropout",
                                       "feature_dropout",
                                       "dropout_",
                                       "relu",
                                       "alpha_dropout",
                                       "bernoulli",
                                       "prelu",
                                       "feature_alpha_dropout",
                                       "relu_",
                                       "cumsum",
                                       "tril",
                                       "triu",
                                       "roll",
                                       "relu6",
                                       "hardtanh",
                                       "hardswish",
                                       "log_sigmoid",
                                       "rrelu",
                                       "abs",
                                       "logit",
                                       "nan_to_num",
                                       "flip",
                                       "fliplr",
                                       "flipud",
                                       "channel_shuffle"})
            rules.emplace(like, ShapeRule{like_first});
        return rules;
    }();
    static constexpr std::pair<std::string_view, ShapeRule> kByBeginning[]{
        {"reflection_pad", {padded}}, {"replication_pad", {padded}},
        {"grid_sampler", {sampled}},  {"adaptive_", {adaptively_pooled}},
        {"conv1d", {convolved}},      {"conv2d", {convolved}},
        {"conv3d", {convolved}},      {"conv_transpose", {convolved}}};
    if (const auto found = by_name.find(op); found != by_name.end()) return &found->second;
    for (const auto& [beginning, rule] : kByBeginning) {
        if (op.starts_with(beginning)) return &rule;
    }
    return nullptr;
}

}  // namespace

bool is_meta(const at::Tensor& tensor) {
    return tensor.defined() && tensor.device().is_meta();
}

at::Tensor without_numbers(const at::Tensor& tensor) {
    if (!tensor.defined() || is_meta(tensor)) return tensor;
    return at::empty(tensor.sizes(), tensor.options().device(at::kMeta).layout(at::kStrided));
}

std::string_view operator_name(const jit::Node& node) {
    const std::string_view name = node.kind().toQualString();
    constexpr std::string_view kAten = "aten::";
    return name.starts_with(kAten) ? name.substr(kAten.size()) : name;
}

std::optional<std::vector<IValue>> result_by_shape(const jit::Node& node, const std::vector<IValue>& inputs) {
    const auto* const schema = node.maybeSchema();
    if (schema == nullptr || inputs.empty()) return {};
    const OperatorCall call{node, *schema, operator_name(node), inputs};
    const ShapeRule* const rule = find_rule(call.op);
    if (rule == nullptr || !(rule->first_has_numbers || call.is_without_numbers(0))) return {};
    return rule->results(call);
}

}  // namespace placewright
