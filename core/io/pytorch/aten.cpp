// SPDX-License-Identifier: MIT
#include "core/io/pytorch/aten.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/flops.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// Kinds of operators whose name differs from that of the kind.
const std::unordered_map<std::string_view, std::string_view>& kinds_by_operator() {
    static const std::unordered_map<std::string_view, std::string_view> kinds{
        {"mv", "matmul"},
        {"dot", "matmul"},
        {"vdot", "matmul"},
        {"linalg_matmul", "matmul"},
        {"_scaled_dot_product_attention", "scaled_dot_product_attention"},
        {"_scaled_dot_product_attention_math", "scaled_dot_product_attention"},
        {"_scaled_dot_product_flash_attention", "scaled_dot_product_attention"},
        {"_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"},
        {"_scaled_dot_product_efficient_attention", "scaled_dot_product_attention"},
        {"_scaled_dot_product_cudnn_attention", "scaled_dot_product_attention"},
        {"_scaled_dot_product_fused_attention_overrideable", "scaled_dot_product_attention"},
        {"_embedding_bag", "embedding_bag"},
        {"_embedding_bag_forward_only", "embedding_bag"},
        {"_cdist_forward", "cdist"},
        {"_weight_norm", "weight_norm"},
        {"_weight_norm_interface", "weight_norm"},
        {"_pack_padded_sequence", "pack_padded_sequence"},
        {"_pad_packed_sequence", "pad_packed_sequence"},
        {"rnn_tanh", "rnn"},
        {"rnn_relu", "rnn"},
        {"rnn_tanh_cell", "rnn_cell"},
        {"rnn_relu_cell", "rnn_cell"},

        {"native_batch_norm", "batch_norm"},
        {"cudnn_batch_norm", "batch_norm"},
        {"miopen_batch_norm", "batch_norm"},
        {"_batch_norm_impl_index", "batch_norm"},
        {"_native_batch_norm_legit", "batch_norm"},
        {"_native_batch_norm_legit_functional", "batch_norm"},
        {"_native_batch_norm_legit_no_training", "batch_norm"},
        {"_batch_norm_with_update", "batch_norm"},
        {"_batch_norm_with_update_functional", "batch_norm"},
        {"_batch_norm_no_update", "batch_norm"},
        {"native_layer_norm", "layer_norm"},
        {"native_group_norm", "group_norm"},
        {"_fused_rms_norm", "rms_norm"},

        {"_softmax", "softmax"},
        {"_safe_softmax", "softmax"},
        {"special_softmax", "softmax"},
        {"_log_softmax", "log_softmax"},
        {"special_log_softmax", "log_softmax"},
        {"log_sigmoid", "logsigmoid"},
        {"log_sigmoid_forward", "logsigmoid"},
        {"clamp_min", "clamp"},
        {"clamp_max", "clamp"},
        {"clip", "clamp"},
        {"absolute", "abs"},
        {"negative", "neg"},
        {"square", "pow"},
        {"sgn", "sign"},
        {"special_expit", "sigmoid"},
        {"special_erf", "erf"},
        {"native_dropout", "dropout"},
        {"_fused_dropout", "dropout"},
        {"feature_dropout", "dropout2d"},
        {"feature_alpha_dropout", "alpha_dropout"},
        {"_native_multi_head_attention", "multi_head_attention_forward"},
        {"zero", "zero"},

        {"max_pool2d_with_indices", "max_pool2d"},
        {"max_pool3d_with_indices", "max_pool3d"},
        {"max_pool1d_with_indices", "max_pool1d"},
        {"_adaptive_avg_pool2d", "adaptive_avg_pool2d"},
        {"_adaptive_avg_pool3d", "adaptive_avg_pool3d"},
        {"constant_pad_nd", "pad"},
        {"grid_sampler", "grid_sample"},
        {"grid_sampler_2d", "grid_sample"},
        {"grid_sampler_3d", "grid_sample"},
        {"cudnn_grid_sampler", "grid_sample"},

        {"rsub", "sub"},
        {"subtract", "sub"},
        {"multiply", "mul"},
        {"divide", "div"},
        {"true_divide", "div"},
        {"floor_divide", "div"},
        {"remainder", "remainder"},
        {"concat", "cat"},
        {"concatenate", "cat"},
        {"copy", "clone"},
        {"lift_fresh_copy", "clone"},
        {"amax", "max"},
        {"maximum", "maximum"},
        {"amin", "min"},
        {"minimum", "minimum"},
        {"std", "var"},
        {"var_mean", "var"},
        {"std_mean", "var"},
        {"linalg_vector_norm", "norm"},
        {"frobenius_norm", "norm"},
        {"__and__", "bitwise_and"},
        {"__or__", "bitwise_or"},
        {"fliplr", "flip"},
        {"flipud", "flip"},
        {"tile", "repeat"},
        {"repeat_interleave", "repeat"},
        {"index", "index_select"},
        {"_unsafe_index", "index_select"},
        {"take", "gather"},
        {"take_along_dim", "gather"},
        {"cross_entropy_loss", "cross_entropy"},
        {"nll_loss_nd", "nll_loss"},
        {"nll_loss2d", "nll_loss"},
        {"nll_loss_forward", "nll_loss"},
        {"nll_loss2d_forward", "nll_loss"},

        {"alias", "identity"},
        {"lift_fresh", "identity"},
        {"t", "transpose"},
        {"numpy_T", "transpose"},
        {"adjoint", "transpose"},
        {"swapaxes", "transpose"},
        {"swapdims", "transpose"},
        {"movedim", "permute"},
        {"view_as", "view"},
        {"_unsafe_view", "view"},
        {"reshape_as", "reshape"},
        {"_reshape_alias", "reshape"},
        {"ravel", "flatten"},
        {"expand_as", "expand"},
        {"broadcast_to", "expand"},
        {"split_with_sizes", "split"},
        {"tensor_split", "split"},
        {"unsafe_split", "split"},
        {"unsafe_split_with_sizes", "split"},
        {"unsafe_chunk", "chunk"},
    };
    return kinds;
}

/// Returns whether an operator reads only the shape of a tensor.
bool reads_shape_alone(std::string_view op) {
    static const std::unordered_set<std::string_view> ops{
        "empty_like", "zeros_like", "ones_like", "full_like", "rand_like",        "randn_like",
        "new_empty",  "new_zeros",  "new_ones",  "new_full",  "new_empty_strided"};
    return ops.contains(op);
}

bool is_convolution(std::string_view op) {
    static const std::unordered_set<std::string_view> ops{
        "convolution",       "_convolution",          "convolution_overrideable",
        "cudnn_convolution", "mkldnn_convolution",    "_convolution_mode",
        "thnn_conv2d",       "cudnn_convolution_relu"};
    return ops.contains(op);
}

const AtenCall::Argument* argument(const AtenCall& call, std::string_view name) {
    const auto found = std::ranges::find(call.arguments, name, &AtenCall::Argument::name);
    return found == call.arguments.end() ? nullptr : &*found;
}

std::vector<std::int64_t> integers(const AtenCall& call, std::string_view name) {
    const AtenCall::Argument* const found = argument(call, name);
    return found != nullptr ? found->integers : std::vector<std::int64_t>();
}

/// Returns the number of dimensions in a kind such as conv2d; 0 if there is none.
std::size_t dimensions(std::string_view kind) {
    if (kind.size() < 2 || kind.back() != 'd' || kind[kind.size() - 2] < '1' || kind[kind.size() - 2] > '3')
        return 0;
    return static_cast<std::size_t>(kind[kind.size() - 2] - '0');
}

std::string convolution_kind(const AtenCall& call) {
    const auto transposed = integers(call, "transposed");
    const bool turned = !transposed.empty() && transposed[0] != 0;
    const auto& shape =
        call.outputs.empty() || !call.outputs[0].tensor ? std::nullopt : call.outputs[0].tensor->shape;
    if (!shape || shape->size() < 3 || shape->size() > 5) return call.op;
    return (turned ? "conv_transpose" : "conv") + std::to_string(shape->size() - 2) + 'd';
}

std::string kind_of(const AtenCall& call, std::string_view op, const Tensor* first) {
    if (is_convolution(op)) return convolution_kind(call);
    if (op.starts_with("upsample_") || op.starts_with("_upsample_")) return "interpolate";
    if (op.starts_with("reflection_pad") || op.starts_with("replication_pad")) return "pad";
    // A change of type makes a copy.
    if (op == "to" || op == "_to_copy" || op == "type_as" || op == "float" || op == "half") {
        const bool same = first != nullptr && !call.outputs.empty() && call.outputs[0].tensor &&
                          call.outputs[0].tensor->dtype == first->dtype;
        return same ? "identity" : "to";
    }
    // In a network that is not trained, or with a probability of 0, dropout does nothing.
    if (op.ends_with("dropout")) {
        for (const char* name : {"train", "training", "p"}) {
            if (integers(call, name) == std::vector<std::int64_t>{0}) return "identity";
        }
    }
    const auto found = kinds_by_operator().find(op);
    if (found != kinds_by_operator().end()) return std::string(found->second);
    if (!kind_info(op).name.empty()) return std::string(op);
    if (op.ends_with("_copy") && kind_info(op.substr(0, op.size() - 5)).view) return "clone";
    return call.op;
}

/// Returns OpShapes::window of interpolate and grid_sample.
std::int64_t points_in_a_row(const AtenCall& call, std::string_view op) {
    if (op.starts_with("_")) op.remove_prefix(1);
    if (op.starts_with("grid_sampler")) {
        const auto mode = integers(call, "interpolation_mode");
        constexpr std::array<std::int64_t, 3> kPoints{2, 1, 4};  // bilinear, nearest, bicubic
        return mode.size() == 1 && mode[0] >= 0 && mode[0] < 3 ? kPoints[static_cast<std::size_t>(mode[0])]
                                                               : 0;
    }
    if (op == "cudnn_grid_sampler") return 2;
    if (op.ends_with("_aa")) return 0;  // unknown: depends on the scale
    if (op.starts_with("upsample_nearest")) return 1;
    return op.starts_with("upsample_bicubic") ? 4 : 2;
}

bool is_recurrent_layer(std::string_view kind) {
    return kind == "lstm" || kind == "gru" || kind == "rnn";
}

std::vector<std::int64_t> repeated(std::vector<std::int64_t> numbers, std::size_t count) {
    if (numbers.size() == 1) numbers.resize(count, numbers[0]);
    return numbers;
}

std::string json(const std::vector<std::int64_t>& numbers) {
    return Json(numbers).dump();
}

/// The padding with which a convolution of stride 1 keeps the size of its image: one number for each
/// dimension, or all begins and then all ends where these are larger.
std::vector<std::int64_t> same_padding(const std::vector<std::int64_t>& kernel,
                                       const std::vector<std::int64_t>& dilation) {
    std::vector<std::int64_t> begins, ends;
    for (std::size_t k = 0; k < kernel.size(); ++k) {
        std::int64_t reach = 0;
        if (__builtin_mul_overflow(k < dilation.size() ? dilation[k] : 1, kernel[k] - 1, &reach) || reach < 0)
            return {};
        begins.push_back(reach / 2);
        ends.push_back(reach - reach / 2);
    }
    if (begins != ends) begins.insert(begins.end(), ends.begin(), ends.end());
    return begins;
}

/// "3" or "[0,2]".
std::string one_or_list(const std::vector<std::int64_t>& numbers) {
    return numbers.size() == 1 ? std::to_string(numbers[0]) : json(numbers);
}

/// Mode of torch.nn.functional.interpolate; empty for another operator.
std::string interpolation_mode(std::string_view op) {
    if (op.starts_with("_")) op.remove_prefix(1);
    if (!op.starts_with("upsample_")) return {};
    op.remove_prefix(std::string_view("upsample_").size());
    for (const std::string_view mode : {"nearest", "linear", "bilinear", "trilinear", "bicubic"}) {
        if (op.starts_with(mode)) return std::string(mode);
    }
    return {};
}

/// Adds what a call says of dimensions, groups and heads, under the names that files of
/// packaging/python/placewright have.
void describe_arguments(const AtenCall& call, std::string_view op, Program::Node& node) {
    const auto set = [&](const char* key, const std::vector<std::int64_t>& numbers) {
        if (!numbers.empty()) node.attributes[key] = one_or_list(numbers);
    };
    const std::string& kind = node.kind;
    for (const char* name : {"normalized_shape", "output_size"}) {
        if (const auto numbers = integers(call, name); !numbers.empty())
            node.attributes[name] = json(numbers);
    }
    set("dim", integers(call, "dim"));
    static const std::unordered_set<std::string_view> first_by_default{"cat",   "stack",  "split",
                                                                       "chunk", "unbind", "slice"};
    if (first_by_default.contains(kind) && integers(call, "dim").empty()) node.attributes["dim"] = "0";
    if (kind == "permute") {
        if (const auto order = integers(call, "dims"); !order.empty()) node.attributes["dims"] = json(order);
    } else if (kind == "transpose") {
        auto pair = integers(call, "dim0");
        const auto second = integers(call, "dim1");
        pair.insert(pair.end(), second.begin(), second.end());
        if (op == "t" || op == "adjoint") pair = {-2, -1};
        if (pair.size() == 2) node.attributes["dims"] = json(pair);
    } else if (kind == "roll" || kind == "flip") {
        set("dim", integers(call, "dims"));
        set("shifts", integers(call, "shifts"));
    } else if (kind == "select") {
        set("index", integers(call, "index"));
    } else if (kind == "slice" || kind == "narrow") {
        const auto start = integers(call, "start"), step = integers(call, "step");
        set("start", start.empty() ? std::vector<std::int64_t>{0} : start);
        if (step.size() == 1 && step[0] != 1) set("step", step);
    } else if (kind == "pad") {
        const auto amounts = integers(call, op.starts_with("re") ? "padding" : "pad");
        if (!amounts.empty()) node.attributes["pad"] = json(amounts);
        if (op.starts_with("reflection")) node.attributes["mode"] = "\"reflect\"";
        if (op.starts_with("replication")) node.attributes["mode"] = "\"replicate\"";
    } else if (kind == "group_norm") {
        set("groups", integers(call, op == "group_norm" ? "num_groups" : "group"));
    } else if (kind == "multi_head_attention_forward") {
        set("heads", integers(call, "num_head"));
    } else if (const std::string mode = interpolation_mode(op); !mode.empty()) {
        node.attributes["mode"] = Json(mode).dump();
    }
}

}  // namespace

Program::Node aten_node(const AtenCall& call,
                        const std::function<const Tensor*(const std::string&)>& tensor_of) {
    Program::Node node;
    std::string_view op = call.op;
    const bool overwrites = op.size() > 1 && op.ends_with('_') && !op.ends_with("__");
    if (overwrites) op.remove_suffix(1);
    const auto first =
        std::ranges::find_if(call.arguments, [](const auto& each) { return !each.values.empty(); });
    node.kind = kind_of(call, op, first != call.arguments.end() ? tensor_of(first->values[0]) : nullptr);
    node.in_place = overwrites && kind_info(node.kind).elementwise;
    node.scope = call.scope;
    node.name = call.scope.empty() || call.outputs.empty() ? "" : call.scope + '/' + std::string(op);
    for (const AtenCall::Output& output : call.outputs) node.outputs.push_back({output.name, output.tensor});

    if (!reads_shape_alone(op)) {
        for (const AtenCall::Argument& each : call.arguments) {
            const bool state =
                is_recurrent_layer(node.kind) && (each.name == "hx" || each.name == "batch_sizes");
            if (!state) node.inputs.insert(node.inputs.end(), each.values.begin(), each.values.end());
        }
    }

    // The table is the first of the operator's arguments, the second of the function's.
    if (node.kind == "embedding_bag" && node.inputs.size() > 1) std::swap(node.inputs[0], node.inputs[1]);
    if (node.kind == "interpolate" || node.kind == "grid_sample") node.window = points_in_a_row(call, op);
    const std::size_t rank = dimensions(node.kind);
    const bool convolves = node.kind.starts_with("conv");
    std::vector<std::int64_t> kernel = repeated(integers(call, "kernel_size"), rank);
    if (const auto* weight = argument(call, "weight");
        convolves && weight != nullptr && weight->values.size() == 1) {
        const Tensor* const tensor = tensor_of(weight->values[0]);
        if (tensor != nullptr && tensor->shape && tensor->shape->size() == rank + 2) {
            kernel.assign(tensor->shape->begin() + 2, tensor->shape->end());
            // The formula expects the weight as second input; a constant image is no weight.
            const auto* const image = argument(call, "input");
            const auto& shape = call.outputs.empty() || !call.outputs[0].tensor
                                    ? std::nullopt
                                    : call.outputs[0].tensor->shape;
            if (image != nullptr && image->values.empty() && shape &&
                !node.kind.starts_with("conv_transpose"))
                node.flops =
                    forward_flops({node.kind, std::array{*shape, *tensor->shape}, std::array{*shape}});
        }
    }
    if (!kernel.empty()) {
        std::vector<std::int64_t> stride = repeated(integers(call, "stride"), kernel.size());
        if (stride.empty()) stride = convolves ? std::vector<std::int64_t>(kernel.size(), 1) : kernel;
        std::vector<std::int64_t> padding = repeated(integers(call, "padding"), kernel.size());
        const auto* const mode = argument(call, "padding");
        if (padding.empty() && (mode == nullptr || mode->text == "valid")) padding.assign(kernel.size(), 0);
        if (mode != nullptr && mode->text == "same")
            padding = same_padding(kernel, repeated(integers(call, "dilation"), rank));
        node.attributes["kernel"] = json(kernel);
        node.attributes["stride"] = json(stride);
        if (!padding.empty()) node.attributes["padding"] = json(padding);
        const std::vector<std::int64_t> dilation = repeated(integers(call, "dilation"), kernel.size());
        if (std::ranges::any_of(dilation, [](std::int64_t step) { return step != 1; }))
            node.attributes["dilation"] = json(dilation);
        if (const auto ceil = integers(call, "ceil_mode"); ceil.size() == 1 && ceil[0] != 0)
            node.attributes["ceil_mode"] = "1";
        if (!convolves) {
            // Windows larger than any image are invalid.
            constexpr std::int64_t kMostWindow = std::int64_t{1} << 40;
            for (const std::int64_t extent : kernel)
                node.window = extent > 0 && extent <= kMostWindow / node.window ? node.window * extent : 1;
        }
    }
    if (convolves) {
        const auto groups = integers(call, "groups");
        if (groups.size() == 1 && groups[0] != 1) node.attributes["groups"] = std::to_string(groups[0]);
    }
    if (const auto* equation = argument(call, "equation")) node.equation = equation->text;
    describe_arguments(call, op, node);
    return node;
}

}  // namespace placewright
