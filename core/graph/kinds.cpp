// SPDX-License-Identifier: MIT
#include "core/graph/kinds.hpp"

#include <array>
#include <unordered_map>

namespace placewright {
namespace {

// What each kind keeps follows from its derivative: that of relu can be computed from the output, the weight
// gradient of a convolution needs the input, a sum needs neither.

constexpr KindInfo source(std::string_view name) {
    return {.name = name, .computes = false, .keeps_inputs = false, .differentiable = false};
}
constexpr KindInfo view(std::string_view name) {
    return {.name = name, .computes = false, .keeps_inputs = false, .view = true};
}
constexpr KindInfo range(std::string_view name) {
    KindInfo kind = view(name);
    kind.range = true;
    return kind;
}
constexpr KindInfo keeps_nothing(std::string_view name) {
    return {.name = name, .keeps_inputs = false};
}
constexpr KindInfo keeps_inputs(std::string_view name) {
    return {.name = name};
}
constexpr KindInfo keeps_output(std::string_view name) {
    return {.name = name, .keeps_inputs = false, .keeps_output = true};
}
constexpr KindInfo keeps_both(std::string_view name) {
    return {.name = name, .keeps_output = true};
}
constexpr KindInfo factors(std::string_view name) {
    return {.name = name, .factors = true};
}
constexpr KindInfo product(std::string_view name) {
    KindInfo kind = factors(name);
    kind.product = true;
    return kind;
}
constexpr KindInfo keeps_only(std::string_view name, std::int8_t input) {
    return {.name = name, .only_input = input};
}
/// A dropout keeps which elements it let through, a byte for each.
constexpr KindInfo dropout(std::string_view name) {
    return {.name = name, .keeps_inputs = false, .mask_bytes = 1};
}
/// A max pool keeps its input and the positions of the maxima, 64-bit integers.
constexpr KindInfo max_pool(std::string_view name) {
    return {.name = name, .mask_bytes = 8};
}
constexpr KindInfo no_gradient(std::string_view name) {
    return {.name = name, .keeps_inputs = false, .differentiable = false};
}
/// PyTorch has a variant that works in place: relu_, dropout(inplace=True), add_.
constexpr KindInfo elementwise(KindInfo kind) {
    kind.elementwise = true;
    return kind;
}
constexpr KindInfo recurrent(std::string_view name) {
    return {.name = name, .keeps_output = true, .recurrent = true};
}

constexpr std::array kKinds{
    source("input"),
    source("constant"),
    KindInfo{.name = "parameter", .computes = false, .keeps_inputs = false, .parameter = true},

    view("chunk"),
    view("expand"),
    view("flatten"),
    view("identity"),
    range("narrow"),
    view("permute"),
    view("reshape"),
    range("select"),
    range("slice"),
    view("split"),
    view("squeeze"),
    view("transpose"),
    view("unbind"),
    view("unflatten"),
    view("unsqueeze"),
    view("view"),
    KindInfo{
        .name = "detach", .computes = false, .keeps_inputs = false, .differentiable = false, .view = true},

    product("conv1d"),
    product("conv2d"),
    product("conv3d"),
    product("conv_transpose1d"),
    product("conv_transpose2d"),
    product("conv_transpose3d"),
    product("linear"),
    product("grouped_linear"),
    product("bilinear"),
    product("matmul"),
    product("bmm"),
    product("mm"),
    product("addmm"),
    product("baddbmm"),
    product("einsum"),
    keeps_inputs("embedding"),
    keeps_inputs("embedding_bag"),
    KindInfo{.name = "scaled_dot_product_attention", .keeps_output = true, .product = true},
    // It keeps more, of which kept_output.hpp knows.
    KindInfo{.name = "multi_head_attention_forward", .product = true},

    keeps_inputs("batch_norm"),
    keeps_inputs("group_norm"),
    keeps_inputs("instance_norm"),
    keeps_inputs("layer_norm"),
    keeps_inputs("rms_norm"),
    keeps_both("local_response_norm"),
    keeps_both("normalize"),

    elementwise(keeps_output("relu")),
    elementwise(keeps_output("sigmoid")),
    elementwise(keeps_output("tanh")),
    keeps_output("softmax"),
    keeps_output("log_softmax"),
    elementwise(keeps_output("exp")),
    elementwise(keeps_output("sqrt")),
    elementwise(keeps_output("rsqrt")),
    elementwise(keeps_inputs("relu6")),
    elementwise(keeps_inputs("leaky_relu")),
    keeps_inputs("prelu"),
    elementwise(keeps_inputs("elu")),
    elementwise(keeps_inputs("selu")),
    elementwise(keeps_inputs("celu")),
    keeps_inputs("gelu"),
    keeps_inputs("glu"),
    elementwise(keeps_inputs("silu")),
    elementwise(keeps_inputs("mish")),
    keeps_inputs("softplus"),
    elementwise(keeps_inputs("hardtanh")),
    elementwise(keeps_inputs("hardsigmoid")),
    elementwise(keeps_inputs("hardswish")),
    keeps_inputs("logsigmoid"),
    elementwise(keeps_inputs("clamp")),
    elementwise(keeps_inputs("abs")),
    elementwise(keeps_inputs("log")),
    elementwise(keeps_inputs("pow")),
    elementwise(keeps_inputs("erf")),
    elementwise(keeps_inputs("sin")),
    elementwise(keeps_inputs("cos")),
    elementwise(keeps_output("reciprocal")),
    elementwise(keeps_inputs("softsign")),
    elementwise(keeps_inputs("threshold")),
    keeps_inputs("remainder"),
    keeps_inputs("maximum"),
    keeps_inputs("minimum"),
    elementwise(dropout("dropout")),
    elementwise(dropout("dropout1d")),
    elementwise(dropout("dropout2d")),
    elementwise(dropout("dropout3d")),
    elementwise(dropout("alpha_dropout")),

    max_pool("max_pool1d"),
    max_pool("max_pool2d"),
    max_pool("max_pool3d"),
    max_pool("adaptive_max_pool1d"),
    max_pool("adaptive_max_pool2d"),
    max_pool("adaptive_max_pool3d"),
    keeps_nothing("avg_pool1d"),
    keeps_nothing("avg_pool2d"),
    keeps_nothing("avg_pool3d"),
    keeps_nothing("adaptive_avg_pool1d"),
    keeps_nothing("adaptive_avg_pool2d"),
    keeps_nothing("adaptive_avg_pool3d"),
    keeps_nothing("interpolate"),
    keeps_nothing("upsample"),
    keeps_nothing("pixel_shuffle"),
    keeps_nothing("pixel_unshuffle"),
    keeps_nothing("pad"),

    elementwise(keeps_nothing("add")),
    elementwise(keeps_nothing("sub")),
    elementwise(keeps_nothing("neg")),
    keeps_nothing("cat"),
    keeps_nothing("stack"),
    keeps_nothing("clone"),
    keeps_nothing("contiguous"),
    keeps_nothing("mean"),
    keeps_nothing("sum"),
    keeps_nothing("cumsum"),
    keeps_inputs("var"),
    keeps_nothing("repeat"),
    keeps_nothing("roll"),
    keeps_nothing("flip"),
    keeps_nothing("to"),
    keeps_nothing("tril"),
    keeps_nothing("triu"),
    keeps_nothing("quantize_per_tensor"),
    keeps_nothing("dequantize"),
    keeps_both("prod"),
    keeps_both("norm"),
    keeps_both("logsumexp"),
    keeps_output("topk"),
    keeps_inputs("scatter"),
    elementwise(factors("mul")),
    elementwise(factors("div")),
    keeps_inputs("gather"),
    keeps_only("index_select", 1),
    elementwise(keeps_only("masked_fill", 1)),
    keeps_only("where", 0),
    keeps_inputs("max"),
    keeps_inputs("min"),

    keeps_inputs("cross_entropy"),
    keeps_inputs("nll_loss"),
    keeps_inputs("mse_loss"),
    keeps_inputs("l1_loss"),
    keeps_inputs("smooth_l1_loss"),
    keeps_inputs("kl_div"),
    keeps_inputs("binary_cross_entropy"),
    keeps_inputs("binary_cross_entropy_with_logits"),

    recurrent("lstm_cell"),
    recurrent("gru_cell"),
    recurrent("rnn_cell"),
    recurrent("lstm"),
    recurrent("gru"),
    recurrent("rnn"),

    no_gradient("argmax"),
    no_gradient("argmin"),
    no_gradient("eq"),
    no_gradient("ge"),
    no_gradient("gt"),
    no_gradient("le"),
    no_gradient("lt"),
    no_gradient("ne"),
    no_gradient("one_hot"),
    no_gradient("arange"),
    no_gradient("full"),
    no_gradient("isinf"),
    no_gradient("isnan"),
    no_gradient("logical_and"),
    no_gradient("logical_not"),
    no_gradient("logical_or"),
    no_gradient("logical_xor"),
    no_gradient("bitwise_and"),
    no_gradient("bitwise_not"),
    no_gradient("bitwise_or"),
    elementwise(no_gradient("ceil")),
    elementwise(no_gradient("floor")),
    elementwise(no_gradient("round")),
    elementwise(no_gradient("sign")),

    range("diagonal"),
    view("unfold"),
    elementwise(keeps_inputs("log1p")),
    elementwise(keeps_output("expm1")),
    elementwise(keeps_inputs("addcmul")),
    elementwise(keeps_inputs("addcdiv")),
    elementwise(keeps_inputs("lerp")),
    keeps_inputs("grid_sample"),
    keeps_nothing("im2col"),
    keeps_nothing("pack_padded_sequence"),
    keeps_nothing("pad_packed_sequence"),
    keeps_nothing("col2im"),
    keeps_both("cdist"),
    keeps_both("pairwise_distance"),
    keeps_both("cosine_similarity"),
    keeps_inputs("weight_norm"),
    keeps_inputs("index_add"),
    keeps_inputs("scatter_add"),
    no_gradient("all"),
    no_gradient("any"),
    no_gradient("isfinite"),
    no_gradient("bucketize"),
};

}  // namespace

std::span<const KindInfo> known_kinds() {
    return kKinds;
}

const KindInfo& kind_info(std::string_view kind) {
    static const auto by_name = [] {
        std::unordered_map<std::string_view, const KindInfo*> result;
        for (const KindInfo& info : kKinds) result.emplace(info.name, &info);
        return result;
    }();
    static constexpr KindInfo unknown = keeps_both("");
    const auto found = by_name.find(kind);
    return found == by_name.end() ? unknown : *found->second;
}

bool looks_up(std::string_view kind) {
    return kind == "embedding" || kind == "index_select" || kind == "gather" || kind == "index";
}

}  // namespace placewright
