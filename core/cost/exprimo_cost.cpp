// SPDX-License-Identifier: MIT
#include "core/cost/exprimo_cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace placewright {
namespace {

constexpr double kBytesPerElement = 4;

/// Computes the seconds of one op from its terms.
class Clock {
public:
    explicit Clock(const Device& device)
        : flops_per_s_(device.peak_flops * device.efficiency),
          bytes_per_s_(device.memory_bandwidth * device.efficiency),
          cycle_s_(device.clock_hz > 0 ? 1 / device.clock_hz : 0) {}

    double compute_s(double flops) const { return flops == 0 ? 0 : std::max(cycle_s_, flops / flops_per_s_); }
    double memory_s(double elements) const {
        return std::max(cycle_s_, elements * kBytesPerElement / bytes_per_s_);
    }

private:
    double flops_per_s_, bytes_per_s_, cycle_s_;
};

const Tensor& input_of(const Graph& graph, const Op& op) {
    return graph.op(op.inputs.front().op).outputs[op.inputs.front().output];
}

double elements(const Tensor& tensor) {
    return static_cast<double>(element_count(tensor));
}

/// One axis of a convolution.
struct Axis {
    std::int64_t input = 0, output = 0, kernel = 1, stride = 1, padding = 0;
};

struct Convolution {
    double batch = 1, input_channels = 1, output_channels = 1;
    std::array<Axis, 2> axes;

    double window() const { return static_cast<double>(axes[0].kernel * axes[1].kernel); }
    double filter() const { return window() * input_channels * output_channels; }
    double inputs() const {
        return batch * input_channels * static_cast<double>(axes[0].input * axes[1].input);
    }
    double outputs() const {
        return batch * output_channels * static_cast<double>(axes[0].output * axes[1].output);
    }
};

std::int64_t floor_half(std::int64_t value) {
    return value >= 0 ? value / 2 : -((1 - value) / 2);
}

std::int64_t at(const std::optional<std::vector<std::int64_t>>& values, std::size_t axis,
                std::int64_t missing) {
    if (!values || values->empty()) return missing;
    return values->size() > axis ? (*values)[axis] : values->front();
}

/// The convolution from `input` to `output`, both [batch, channels, height, width].
Convolution convolution(const Op& op, const Tensor& input, const Tensor& output) {
    Convolution conv;
    const auto kernel = integer_attribute(op, "kernel");
    const auto stride = integer_attribute(op, "stride");
    const auto padding = integer_attribute(op, "padding");
    const auto original = op.attributes.find("exprimo.padding");
    const bool same = original != op.attributes.end() && original->second == "\"SAME\"";
    conv.batch = static_cast<double>((*input.shape)[0]);
    conv.input_channels = static_cast<double>((*input.shape)[1]);
    conv.output_channels = static_cast<double>((*output.shape)[1]);
    for (std::size_t i = 0; i < 2; ++i) {
        Axis& axis = conv.axes[i];
        axis.input = (*input.shape)[i + 2];
        axis.output = (*output.shape)[i + 2];
        axis.kernel = at(kernel, i, 1);
        axis.stride = at(stride, i, 1);
        axis.padding =
            same ? floor_half((axis.output - 1) * axis.stride + axis.kernel - axis.input) : at(padding, i, 0);
    }
    return conv;
}

double forward_s(const Convolution& conv, const Clock& clock) {
    double padded = conv.batch * conv.input_channels;
    for (const Axis& axis : conv.axes) padded *= static_cast<double>(axis.input + 2 * axis.padding);
    return clock.compute_s(2 * conv.window() * conv.input_channels * conv.outputs()) +
           clock.memory_s(padded) + clock.memory_s(conv.filter()) + clock.memory_s(conv.outputs());
}

/// The data gradient: a convolution with stride 1 of the output gradient, dilated by the stride, with the
/// rotated filter.
double data_gradient_s(const Convolution& conv, const Clock& clock) {
    double expanded = 1, padded = 1, outputs = 1;
    for (const Axis& axis : conv.axes) {
        std::int64_t extent = (axis.output - 1) * axis.stride + 1;
        const std::int64_t before = axis.kernel - 1 - axis.padding;
        const std::int64_t after = axis.input + axis.kernel - 1 - extent - before;
        if (std::abs(before - after) == 1) ++extent;
        expanded *= static_cast<double>(extent);
        padded *= static_cast<double>(extent + 2 * std::min(before, after));
        outputs *= static_cast<double>(axis.output);
    }
    const double share = outputs / expanded;
    double flops = 2 * conv.window() * conv.output_channels * conv.inputs();
    if (share < 1) flops += 2 * conv.batch * conv.output_channels * expanded * share;
    return clock.compute_s(flops) + clock.memory_s(conv.batch * conv.output_channels * padded) +
           clock.memory_s(conv.filter()) + clock.memory_s(conv.inputs());
}

bool has_images(const Tensor& input, const Tensor& output) {
    return input.shape && input.shape->size() == 4 && output.shape && output.shape->size() == 4;
}

double window_s(const Op& op, const Tensor& input, const Tensor& output, const Clock& clock) {
    const auto kernel = integer_attribute(op, "kernel");
    const double flops = 2 * static_cast<double>(at(kernel, 0, 1) * at(kernel, 1, 1)) * elements(output);
    return clock.compute_s(flops) + clock.memory_s(elements(input)) + clock.memory_s(elements(output));
}

}  // namespace

double exprimo_time_s(const Graph& graph, OpId id, const Device& device, double /*optimizer_states*/) {
    const Op& op = graph.op(id);
    if (op.phase == Phase::update) return 0;
    const bool backward = op.phase == Phase::backward;
    // Forward and backward are both computed from the shapes of the forward op.
    const Op& forward = op.forward_op == kInvalidOp ? op : graph.op(op.forward_op);
    if (forward.inputs.empty() || forward.outputs.empty()) return 0;
    const Tensor& input = input_of(graph, forward);
    const Tensor& output = forward.outputs.front();
    const bool reads_data = graph.op(forward.inputs.front().op).name == "data";
    const Clock clock(device);

    const std::string_view kind = forward.kind;
    if (kind == "conv2d" && has_images(input, output)) {
        const Convolution conv = convolution(forward, input, output);
        if (!backward) return forward_s(conv, clock);
        return reads_data ? 0 : data_gradient_s(conv, clock);
    }
    if (kind == "conv_transpose2d" && has_images(input, output)) {
        const Convolution transposed = convolution(forward, output, input);
        if (backward) return forward_s(transposed, clock);
        return reads_data ? 0 : data_gradient_s(transposed, clock);
    }
    if (kind == "linear" && output.shape && !output.shape->empty()) {
        const auto batch = static_cast<double>(output.shape->front());
        const double in = elements(input) / batch;
        const double out = elements(output) / batch;
        return clock.compute_s(2 * batch * in * out) + clock.memory_s(batch * in) + clock.memory_s(in * out) +
               clock.memory_s(batch * out);
    }
    if (kind == "max_pool2d" || kind == "avg_pool2d") return window_s(forward, input, output, clock);
    if (kind == "dropout")
        return clock.compute_s(elements(output)) + clock.memory_s(elements(input)) +
               clock.memory_s(elements(output));
    return 0;
}

}  // namespace placewright
