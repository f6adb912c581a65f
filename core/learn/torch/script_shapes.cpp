// SPDX-License-Identifier: MIT
#include "core/learn/torch/script_shapes.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

#include <ATen/native/Pool.h>

namespace placewright {
namespace {

namespace jit = torch::jit;
using c10::IValue;

/// Operators whose result is as their first tensor.
bool is_like_first(std::string_view op) {
    static const std::unordered_set<std::string_view> ops{"batch_norm",    "layer_norm",      "group_norm",     "instance_norm",
                                                          "dropout",       "feature_dropout", "dropout_",       "relu",
                                                          "alpha_dropout", "bernoulli",       "prelu",          "feature_alpha_dropout",
                                                          "relu_",         "cumsum",          "tril",           "triu",
                                                          "clone",         "contiguous",      "roll",           "relu6",
                                                          "hardtanh",      "hardswish",       "log_sigmoid",    "rrelu",
                                                          "abs",           "logit",           "nan_to_num",     "flip",
                                                          "fliplr",        "flipud",          "channel_shuffle"};
    return ops.contains(op);
}

/// Operators that tell something of each element of their first argument.
bool tells_of_first(std::string_view op) {
    static const std::unordered_set<std::string_view> ops{"isnan", "isinf", "isfinite", "logical_not"};
    return ops.contains(op);
}

/// Operators on the elements of tensors that are brought to one shape.
bool is_broadcast(std::string_view op) {
    static const std::unordered_set<std::string_view> ops{"masked_fill", "masked_fill_", "where",        "rsub",     "clamp",
                                                          "clamp_min",   "clamp_max",    "floor_divide", "remainder"};
    return ops.contains(op);
}

std::vector<IValue> one(at::Tensor tensor) {
    std::vector<IValue> results;
    results.emplace_back(std::move(tensor));
    return results;
}

std::optional<std::vector<IValue>> pooled(const jit::Node& node, const at::Tensor& image, const auto& given) {
    constexpr std::size_t kRank = 3;
    const auto numbers = [&](const char* name) {
        auto list = given(name)->toIntVector();
        if (list.size() == 1) list.resize(kRank, list[0]);
        return list;
    };
    const auto kernel = numbers("kernel_size"), padding = numbers("padding"), dilation = numbers("dilation");
    auto stride = numbers("stride");
    if (stride.empty()) stride = kernel;
    auto shape = image.sizes().vec();
    if (shape.size() <= kRank || kernel.size() != kRank || stride.size() != kRank || padding.size() != kRank || dilation.size() != kRank)
        return {};
    const bool up = given("ceil_mode")->toBool();
    for (std::size_t i = 0; i < kRank; ++i) {
        std::int64_t& extent = shape[shape.size() - kRank + i];
        extent = at::native::pooling_output_shape(extent, kernel[i], padding[i], stride[i], dilation[i], up);
        if (extent < 1) throw std::invalid_argument("its window is larger than the image");
    }
    std::vector<IValue> results{at::empty(shape, image.options())};
    if (node.outputs().size() == 2) results.emplace_back(at::empty(shape, image.options().dtype(at::kLong)));
    return results;
}

/// https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html, Fold.html: an image as (channels x kernel) x positions, and back.
std::optional<std::vector<IValue>> unfolded(bool back, const at::Tensor& tensor, const auto& given) {
    const auto kernel = given("kernel_size")->toIntVector(), padding = given("padding")->toIntVector(),
               dilation = given("dilation")->toIntVector(), stride = given("stride")->toIntVector();
    auto shape = tensor.sizes().vec();
    const std::size_t rank = back ? 2 : 3;  // without a batch
    if (kernel.size() != 2 || padding.size() != 2 || dilation.size() != 2 || stride.size() != 2 || shape.size() < rank ||
        shape.size() > rank + 1 || std::ranges::any_of(kernel, [](std::int64_t extent) { return extent < 1; }) ||
        std::ranges::any_of(stride, [](std::int64_t step) { return step < 1; }))
        return {};
    const auto channels = shape.end() - static_cast<std::ptrdiff_t>(rank);
    std::vector<std::int64_t> image = back ? given("output_size")->toIntVector() : std::vector(channels + 1, shape.end());
    if (image.size() != 2) return {};
    std::int64_t positions = 1;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t extent = (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
        if (extent < 1) throw std::invalid_argument("its window is larger than the image");
        positions *= extent;
    }
    const std::int64_t window = kernel[0] * kernel[1];
    if (!back) {
        *channels *= window;
        image = {positions};
    } else {
        if (*channels % window != 0 || channels[1] != positions)
            throw std::invalid_argument("its input is no image of such windows, which has " + std::to_string(positions) + " positions");
        *channels /= window;
    }
    shape.erase(channels + 1, shape.end());
    shape.insert(shape.end(), image.begin(), image.end());
    return one(at::empty(shape, tensor.options()));
}

/// https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html, ConvTranspose2d.html.
std::optional<std::vector<IValue>> convolved(std::string_view op, const at::Tensor& image, const auto& given) {
    const at::Tensor weight = given("weight")->toTensor();
    const auto rank = static_cast<std::size_t>(weight.dim()) - 2;
    const auto numbers = [&](const char* name, std::int64_t otherwise) {
        const IValue* const value = given(name);
        std::vector<std::int64_t> list = value != nullptr && value->isIntList() ? value->toIntVector() : std::vector<std::int64_t>();
        if (list.size() == 1) list.resize(rank, list[0]);
        if (list.empty()) list.resize(rank, otherwise);
        return list;
    };
    const IValue* const padding_mode = given("padding");
    const IValue* const turned = given("transposed");
    const bool transposed = turned != nullptr ? turned->toBool() : op.starts_with("conv_transpose");
    const IValue* const grouped = given("groups");
    const std::int64_t groups = grouped != nullptr ? grouped->toInt() : 1;
    const auto stride = numbers("stride", 1), padding = numbers("padding", 0), dilation = numbers("dilation", 1),
               extra = numbers("output_padding", 0);
    const auto offset = static_cast<std::size_t>(image.dim()) - rank;  // without a batch it is 1
    auto shape = image.sizes().vec();
    if (rank < 1 || shape.size() < rank + 1 || shape.size() > rank + 2 ||
        std::ranges::any_of(stride, [](std::int64_t step) { return step < 1; }))
        return {};
    if (shape[offset - 1] != (transposed ? weight.size(0) : weight.size(1) * groups))
        throw std::invalid_argument("its weight is for " + std::to_string(transposed ? weight.size(0) : weight.size(1) * groups) +
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
    const std::string_view op = operator_name(node);
    const auto given = [&](const char* name) -> const IValue* {
        const auto index = schema->argumentIndexWithName(name);
        return index && static_cast<std::size_t>(*index) < inputs.size() ? &inputs[static_cast<std::size_t>(*index)] : nullptr;
    };
    if (op == "embedding_bag" && is_meta(inputs[1].toTensor())) {
        // Indices in rows are flattened before; the table is a parameter, the other results are for its gradient.
        const at::Tensor table = inputs[0].toTensor(), indices = inputs[1].toTensor(), offsets = inputs[2].toTensor();
        const IValue* const last = given("include_last_offset");
        const std::int64_t bags = offsets.numel() - (last != nullptr && last->isBool() && last->toBool() ? 1 : 0);
        if (table.dim() != 2 || bags < 0) return {};
        const auto lists = indices.options();
        return std::vector<IValue>{at::empty({bags, table.size(1)}, table.options().device(at::kMeta)), at::empty(indices.sizes(), lists),
                                   at::empty({bags}, lists), at::empty({bags}, lists)};
    }
    if (op == "tril_indices" || op == "triu_indices") {
        const std::int64_t rows = inputs[0].toInt(), columns = inputs[1].toInt(), offset = inputs[2].toInt();
        if (rows < 0 || columns < 0 || rows > kMostElements || columns > kMostElements || std::abs(offset) > kMostElements) return {};
        std::int64_t below = 0;  // the diagonal, with it
        for (std::int64_t row = 0; row < rows; ++row)
            below += std::clamp<std::int64_t>(row + offset + (op == "tril_indices" ? 1 : 0), 0, columns);
        const std::int64_t count = op == "tril_indices" ? below : rows * columns - below;
        return one(at::empty({2, count}, at::TensorOptions(at::kLong).device(at::kMeta)));
    }
    const bool first_is_meta = inputs[0].isTensor() && is_meta(inputs[0].toTensor());
    if (op == "embedding" && is_meta(inputs[1].toTensor())) {
        auto shape = inputs[1].toTensor().sizes().vec();
        shape.push_back(inputs[0].toTensor().size(1));
        return one(at::empty(shape, inputs[0].toTensor().options()));
    }
    if (is_broadcast(op)) {
        std::vector<at::Tensor> tensors;
        for (const IValue& value : inputs) {
            if (value.isTensor() && value.toTensor().defined()) tensors.push_back(value.toTensor());
        }
        if (tensors.empty() || !std::ranges::any_of(tensors, is_meta)) return {};
        std::vector<std::int64_t> shape;
        for (const at::Tensor& tensor : tensors) shape = at::infer_size(shape, tensor.sizes());
        if (op.ends_with('_')) return one(inputs[0].toTensor());
        return one(at::empty(shape, tensors[op == "where" && tensors.size() > 1 ? 1 : 0].options().device(at::kMeta)));
    }
    if (!first_is_meta) return {};
    const at::Tensor first = inputs[0].toTensor();
    const IValue* const format = given("memory_format");
    const bool packed = op == "contiguous" || (op == "clone" && format != nullptr && format->isInt() &&
                                               format->toInt() == static_cast<std::int64_t>(at::MemoryFormat::Contiguous));
    if (packed && !(op == "contiguous" && first.is_contiguous())) return one(at::empty(first.sizes(), first.options()));
    if (is_like_first(op)) {
        const IValue* const train = given("train");
        const bool same = op.ends_with('_') || (train != nullptr && train->isBool() && !train->toBool() && op.ends_with("dropout")) ||
                          (op == "contiguous" && first.is_contiguous());
        return one(same ? first : at::empty_like(first));
    }
    if (op == "logsumexp" || op == "var" || op == "std" || op == "var_mean" || op == "std_mean") {
        const IValue* const over = given("dim");
        const IValue* const keeps = given("keepdim");
        const auto dims = over != nullptr && over->isIntList() ? over->toIntVector() : std::vector<std::int64_t>();
        const at::Tensor result = at::sum(first, dims, keeps != nullptr && keeps->toBool());
        std::vector<IValue> results = one(result);
        if (op.ends_with("_mean")) results.emplace_back(at::empty_like(result));
        return results;
    }
    if (tells_of_first(op)) return one(at::empty_like(first, first.options().dtype(at::kBool)));
    if (op == "bucketize") {
        const IValue* const narrow = given("out_int32");
        return one(at::empty_like(first, first.options().dtype(narrow != nullptr && narrow->toBool() ? at::kInt : at::kLong)));
    }
    if (op == "one_hot") {
        const std::int64_t classes = given("num_classes")->toInt();
        if (classes < 1) return {};
        auto shape = first.sizes().vec();
        shape.push_back(classes);
        return one(at::empty(shape, first.options()));
    }
    if (op == "_weight_norm") return one(at::empty_like(first));
    if (op == "dot" || op == "vdot") {
        if (first.dim() != 1 || first.sizes() != inputs[1].toTensor().sizes())
            throw std::invalid_argument("its factors are no lists of one length");
        return one(at::empty({}, first.options()));
    }
    if (op == "cdist") {
        const at::Tensor second = inputs[1].toTensor();
        if (first.dim() < 2 || second.dim() < 2 || first.size(-1) != second.size(-1))
            throw std::invalid_argument("its points have not the same number of coordinates");
        auto shape = at::infer_size(first.sizes().slice(0, static_cast<std::size_t>(first.dim()) - 2),
                                    second.sizes().slice(0, static_cast<std::size_t>(second.dim()) - 2));
        shape.push_back(first.size(-2));
        shape.push_back(second.size(-2));
        return one(at::empty(shape, first.options()));
    }
    if (op == "im2col" || op == "col2im") return unfolded(op == "col2im", first, given);
    const IValue* const pads = given(op == "pad" ? "pad" : "padding");
    if ((op == "pad" || op.starts_with("reflection_pad") || op.starts_with("replication_pad")) && pads != nullptr && pads->isIntList()) {
        // Pairs from the last axis on.
        const auto sides = pads->toIntVector();
        auto shape = first.sizes().vec();
        if (sides.size() > 2 * shape.size()) return {};
        for (std::size_t i = 0; i + 1 < sides.size(); i += 2) {
            std::int64_t& extent = shape[shape.size() - 1 - i / 2];
            if (__builtin_add_overflow(extent, sides[i], &extent) || __builtin_add_overflow(extent, sides[i + 1], &extent) || extent < 0)
                throw std::invalid_argument("its padding is larger than a tensor can be");
        }
        return one(at::empty(shape, first.options()));
    }
    if (op.starts_with("grid_sampler")) {
        // Each channel of an image at the points of its grid.
        auto shape = given("grid")->toTensor().sizes().vec();
        if (shape.size() != static_cast<std::size_t>(first.dim()) || shape.size() < 3) return {};
        shape.pop_back();
        shape.insert(shape.begin() + 1, first.size(1));
        return one(at::empty(shape, first.options()));
    }
    if (op == "repeat_interleave" && given("repeats") != nullptr) {
        const IValue& count = *given("repeats");
        if (!count.isInt() && (!count.isTensor() || is_meta(count.toTensor()))) return {};
        const std::int64_t repeats = count.isInt() ? count.toInt() : count.toTensor().item<std::int64_t>();
        // Without a dimension all elements are a list.
        const bool flat = given("dim")->isNone();
        auto shape = flat ? std::vector{first.numel()} : first.sizes().vec();
        std::int64_t& extent = flat ? shape[0] : shape.at(static_cast<std::size_t>(at::maybe_wrap_dim(given("dim")->toInt(), first.dim())));
        if (repeats < 0 || __builtin_mul_overflow(extent, repeats, &extent))
            throw std::invalid_argument("it repeats " + std::to_string(repeats) + " times");
        return one(at::empty(shape, first.options()));
    }
    if (op == "max_pool3d" || op == "max_pool3d_with_indices") return pooled(node, first, given);
    if (op.starts_with("adaptive_")) {
        const auto target = given("output_size")->toIntVector();
        auto shape = first.sizes().vec();
        if (target.size() > shape.size()) return {};
        std::ranges::copy(target, shape.end() - static_cast<std::ptrdiff_t>(target.size()));
        std::vector<IValue> results{at::empty(shape, first.options())};
        if (node.outputs().size() == 2) results.emplace_back(at::empty(shape, first.options().dtype(at::kLong)));
        return results;
    }
    if ((op == "lstm" || op == "gru" || op == "rnn_tanh" || op == "rnn_relu") && given("input") != nullptr && given("hx") != nullptr) {
        std::vector<at::Tensor> states = given("hx")->isTensorList() ? given("hx")->toTensorVector() : std::vector{given("hx")->toTensor()};
        for (at::Tensor& state : states) state = without_numbers(state);
        if (states.empty()) return {};
        auto shape = first.sizes().vec();
        shape.back() = states[0].sizes().back() * (given("bidirectional")->toBool() ? 2 : 1);
        std::vector<IValue> results{at::empty(shape, first.options())};
        for (const at::Tensor& state : states) results.emplace_back(at::empty_like(state));
        return results;
    }
    if (op == "_convolution" || op == "_convolution_mode" || op == "convolution" || op.starts_with("conv1d") || op.starts_with("conv2d") ||
        op.starts_with("conv3d") || op.starts_with("conv_transpose"))
        return convolved(op, first, given);
    return {};
}

}  // namespace placewright
