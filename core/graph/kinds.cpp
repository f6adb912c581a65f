// SPDX-License-Identifier: MIT
#include "core/graph/kinds.hpp"

#include <array>
#include <unordered_map>

namespace placewright {
namespace {

// What each kind keeps follows the derivative formulas of its mathematics: relu' can be told from the output, conv's
// weight gradient needs the input, a sum needs neither.

constexpr KindInfo source(std::string_view name) {
    return {.name = name, .computes = false, .keeps_inputs = false, .differentiable = false};
}
constexpr KindInfo view(std::string_view name) {
    return {.name = name, .computes = false, .keeps_inputs = false};
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
constexpr KindInfo no_gradient(std::string_view name) {
    return {.name = name, .keeps_inputs = false, .differentiable = false};
}
constexpr KindInfo recurrent(std::string_view name) {
    return {.name = name, .keeps_output = true, .recurrent = true};
}

constexpr std::array kKinds{
    source("input"),
    source("constant"),

    view("chunk"),
    view("expand"),
    view("flatten"),
    view("identity"),
    view("narrow"),
    view("permute"),
    view("reshape"),
    view("select"),
    view("slice"),
    view("split"),
    view("squeeze"),
    view("transpose"),
    view("unbind"),
    view("unflatten"),
    view("unsqueeze"),
    view("view"),
    KindInfo{.name = "detach", .computes = false, .keeps_inputs = false, .differentiable = false},

    keeps_inputs("conv1d"),
    keeps_inputs("conv2d"),
    keeps_inputs("conv3d"),
    keeps_inputs("conv_transpose1d"),
    keeps_inputs("conv_transpose2d"),
    keeps_inputs("conv_transpose3d"),
    keeps_inputs("linear"),
    keeps_inputs("bilinear"),
    keeps_inputs("matmul"),
    keeps_inputs("bmm"),
    keeps_inputs("mm"),
    keeps_inputs("addmm"),
    keeps_inputs("baddbmm"),
    keeps_inputs("einsum"),
    keeps_inputs("embedding"),
    keeps_inputs("embedding_bag"),
    keeps_both("scaled_dot_product_attention"),

    keeps_inputs("batch_norm"),
    keeps_inputs("group_norm"),
    keeps_inputs("instance_norm"),
    keeps_inputs("layer_norm"),
    keeps_inputs("rms_norm"),
    keeps_both("local_response_norm"),
    keeps_both("normalize"),

    keeps_output("relu"),
    keeps_output("sigmoid"),
    keeps_output("tanh"),
    keeps_output("softmax"),
    keeps_output("log_softmax"),
    keeps_output("exp"),
    keeps_output("sqrt"),
    keeps_output("rsqrt"),
    keeps_inputs("relu6"),
    keeps_inputs("leaky_relu"),
    keeps_inputs("prelu"),
    keeps_inputs("elu"),
    keeps_inputs("selu"),
    keeps_inputs("celu"),
    keeps_inputs("gelu"),
    keeps_inputs("glu"),
    keeps_inputs("silu"),
    keeps_inputs("mish"),
    keeps_inputs("softplus"),
    keeps_inputs("hardtanh"),
    keeps_inputs("hardsigmoid"),
    keeps_inputs("hardswish"),
    keeps_inputs("logsigmoid"),
    keeps_inputs("clamp"),
    keeps_inputs("abs"),
    keeps_inputs("log"),
    keeps_inputs("pow"),
    // Its mask can be told from the output.
    keeps_output("dropout"),
    keeps_output("dropout1d"),
    keeps_output("dropout2d"),
    keeps_output("dropout3d"),
    keeps_output("alpha_dropout"),

    keeps_inputs("max_pool1d"),
    keeps_inputs("max_pool2d"),
    keeps_inputs("max_pool3d"),
    keeps_inputs("adaptive_max_pool1d"),
    keeps_inputs("adaptive_max_pool2d"),
    keeps_inputs("adaptive_max_pool3d"),
    keeps_nothing("avg_pool1d"),
    keeps_nothing("avg_pool2d"),
    keeps_nothing("avg_pool3d"),
    keeps_nothing("adaptive_avg_pool1d"),
    keeps_nothing("adaptive_avg_pool2d"),
    keeps_nothing("adaptive_avg_pool3d"),
    keeps_nothing("interpolate"),
    keeps_nothing("upsample"),
    keeps_nothing("pixel_shuffle"),
    keeps_nothing("pad"),

    keeps_nothing("add"),
    keeps_nothing("sub"),
    keeps_nothing("neg"),
    keeps_nothing("cat"),
    keeps_nothing("stack"),
    keeps_nothing("clone"),
    keeps_nothing("contiguous"),
    keeps_nothing("mean"),
    keeps_nothing("sum"),
    keeps_nothing("cumsum"),
    keeps_inputs("mul"),
    keeps_inputs("div"),
    keeps_inputs("gather"),
    keeps_inputs("index_select"),
    keeps_inputs("masked_fill"),
    keeps_inputs("where"),
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
    no_gradient("round"),
    no_gradient("sign"),
};

}  // namespace

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

}  // namespace placewright
