// SPDX-License-Identifier: MIT
// Functions of each element, with broadcasting.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/measure/torch/kernel_request.hpp"

namespace placewright {
namespace {

using Unary = at::Tensor (*)(const at::Tensor&);
using Binary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

const std::unordered_map<std::string_view, Unary>& unary_kernels() {
    static const std::unordered_map<std::string_view, Unary> kernels{
        {"relu", [](const at::Tensor& x) { return at::relu(x); }},
        {"relu6", [](const at::Tensor& x) { return at::hardtanh(x, 0, 6); }},
        {"hardtanh", [](const at::Tensor& x) { return at::hardtanh(x, 0, 6); }},
        {"leaky_relu", [](const at::Tensor& x) { return at::leaky_relu(x); }},
        {"elu", [](const at::Tensor& x) { return at::elu(x); }},
        {"selu", [](const at::Tensor& x) { return at::selu(x); }},
        {"celu", [](const at::Tensor& x) { return at::celu(x); }},
        {"gelu", [](const at::Tensor& x) { return at::gelu(x); }},
        {"silu", [](const at::Tensor& x) { return at::silu(x); }},
        {"mish", [](const at::Tensor& x) { return at::mish(x); }},
        {"softplus", [](const at::Tensor& x) { return at::softplus(x); }},
        {"hardsigmoid", [](const at::Tensor& x) { return at::hardsigmoid(x); }},
        {"hardswish", [](const at::Tensor& x) { return at::hardswish(x); }},
        {"logsigmoid", [](const at::Tensor& x) { return at::log_sigmoid(x); }},
        {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
        {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
        {"exp", [](const at::Tensor& x) { return at::exp(x); }},
        {"expm1", [](const at::Tensor& x) { return at::expm1(x); }},
        // Random numbers are negative as often as not, and the logarithm of one would spread NaN.
        {"log", [](const at::Tensor& x) { return at::log(x.abs() + 1e-3); }},
        {"log1p", [](const at::Tensor& x) { return at::log1p(x.abs()); }},
        {"sqrt", [](const at::Tensor& x) { return at::sqrt(x.abs() + 1e-6); }},
        {"rsqrt", [](const at::Tensor& x) { return at::rsqrt(x.abs() + 1e-3); }},
        {"reciprocal", [](const at::Tensor& x) { return at::reciprocal(x.abs() + 1e-3); }},
        {"abs", [](const at::Tensor& x) { return at::abs(x); }},
        {"neg", [](const at::Tensor& x) { return at::neg(x); }},
        {"erf", [](const at::Tensor& x) { return at::erf(x); }},
        {"sin", [](const at::Tensor& x) { return at::sin(x); }},
        {"cos", [](const at::Tensor& x) { return at::cos(x); }},
        {"clamp", [](const at::Tensor& x) { return at::clamp(x, -4.6, 4.6); }},
        {"threshold", [](const at::Tensor& x) { return at::threshold(x, 0, 0); }},
        {"ceil", [](const at::Tensor& x) { return at::ceil(x); }},
        {"floor", [](const at::Tensor& x) { return at::floor(x); }},
        {"round", [](const at::Tensor& x) { return at::round(x); }},
        {"sign", [](const at::Tensor& x) { return at::sign(x); }},
        {"logical_not", [](const at::Tensor& x) { return at::logical_not(x); }},
        {"bitwise_not", [](const at::Tensor& x) { return at::bitwise_not(x); }},
        {"isnan", [](const at::Tensor& x) { return at::isnan(x); }},
        {"isinf", [](const at::Tensor& x) { return at::isinf(x); }},
        {"isfinite", [](const at::Tensor& x) { return at::isfinite(x); }},
        {"zero", [](const at::Tensor& x) { return at::zeros_like(x); }},
    };
    return kernels;
}

const std::unordered_map<std::string_view, Binary>& binary_kernels() {
    static const std::unordered_map<std::string_view, Binary> kernels{
        {"add", [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }},
        {"sub", [](const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }},
        {"mul", [](const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }},
        {"div", [](const at::Tensor& a, const at::Tensor& b) { return at::div(a, b); }},
        {"pow", [](const at::Tensor& a, const at::Tensor& b) { return at::pow(a, b); }},
        {"maximum", [](const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); }},
        {"minimum", [](const at::Tensor& a, const at::Tensor& b) { return at::minimum(a, b); }},
        {"remainder", [](const at::Tensor& a, const at::Tensor& b) { return at::remainder(a, b); }},
        {"eq", [](const at::Tensor& a, const at::Tensor& b) { return at::eq(a, b); }},
        {"ne", [](const at::Tensor& a, const at::Tensor& b) { return at::ne(a, b); }},
        {"gt", [](const at::Tensor& a, const at::Tensor& b) { return at::gt(a, b); }},
        {"ge", [](const at::Tensor& a, const at::Tensor& b) { return at::ge(a, b); }},
        {"lt", [](const at::Tensor& a, const at::Tensor& b) { return at::lt(a, b); }},
        {"le", [](const at::Tensor& a, const at::Tensor& b) { return at::le(a, b); }},
        {"logical_and", [](const at::Tensor& a, const at::Tensor& b) { return at::logical_and(a, b); }},
        {"logical_or", [](const at::Tensor& a, const at::Tensor& b) { return at::logical_or(a, b); }},
        {"logical_xor", [](const at::Tensor& a, const at::Tensor& b) { return at::logical_xor(a, b); }},
        {"bitwise_and", [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_and(a, b); }},
        {"bitwise_or", [](const at::Tensor& a, const at::Tensor& b) { return at::bitwise_or(a, b); }},
    };
    return kernels;
}

/// The function with a number in place of the second tensor. Which number does not matter for the time;
/// squares and halves keep the values in range.
at::Tensor with_number(const std::string& kind, const at::Tensor& x) {
    if (kind == "pow") return at::pow(x, 2);
    if (kind == "div") return at::div(x, 2);
    if (kind == "remainder") return at::remainder(x, 2);
    const bool halves = kind == "mul" && x.is_floating_point();
    return binary_kernels().at(kind)(x, at::scalar_tensor(halves ? 0.5 : 1, x.options().device(at::kCPU)));
}

bool can_broadcast(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    for (std::size_t k = 0; k < from.size(); ++k) {
        const std::int64_t extent = from[from.size() - 1 - k];
        if (extent != 1 && extent != to[to.size() - 1 - k]) return false;
    }
    return true;
}

/// Shape of a parameter of `count` numbers that is combined with a tensor of shape `to`: a run of its
/// dimensions, as late as possible, with 1 for the others.
Shape operand_shape(const KernelRequest& request, std::int64_t count, const Shape& to) {
    for (std::size_t k = 0; k < request.held_shapes().size(); ++k) {
        const Shape& held = request.held_shapes()[k];
        if (request.held_trained()[k] && product(held) == count && can_broadcast(held, to)) return held;
    }
    if (count == 1) return {1};
    for (std::size_t first = 0; first < to.size(); ++first) {
        std::int64_t run = 1;
        for (std::size_t last = first; last < to.size(); ++last) {
            run *= to[last];
            // A parameter has no extent for the samples, unless it has all.
            if (run != count || (first == 0 && last + 1 < to.size() && to.size() > 1 && to[0] != 1)) continue;
            Shape shape(to.size(), 1);
            std::copy(to.begin() + static_cast<std::ptrdiff_t>(first),
                      to.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                      shape.begin() + static_cast<std::ptrdiff_t>(first));
            return shape;
        }
    }
    // Repeated as a whole, as an expanded and reshaped parameter is.
    if (count > 0 && product(to) % count == 0) return {count};
    refuse("its parameter of " + std::to_string(count) + " numbers does not fit its output " +
           shape_text(to));
}

/// A parameter in a form that broadcasts to `to`.
at::Tensor operand(const at::Tensor& parameter, const Shape& to) {
    if (can_broadcast(parameter.sizes().vec(), to)) return parameter;
    return parameter.flatten().repeat({product(to) / parameter.numel()}).view(to);
}

Kernel binary(const KernelRequest& request) {
    const std::string kind = request.kind();
    const Binary function = binary_kernels().at(kind);
    Kernel kernel;
    if (request.parameter_count() > 0) {
        kernel.parameters = {operand_shape(request, request.parameter_count(), request.output())};
        if (request.inputs() == 0) {
            kernel.forward = [kind](const KernelCall& call) -> Tensors {
                return {with_number(kind, call.parameters[0])};
            };
            return kernel;
        }
        kernel.forward = [function, to = request.output()](const KernelCall& call) -> Tensors {
            return {function(call.inputs[0], operand(call.parameters[0], to))};
        };
        return kernel;
    }
    request.expect_inputs(1);
    if (request.inputs() == 1) {
        kernel.forward = [kind](const KernelCall& call) -> Tensors {
            return {with_number(kind, call.inputs[0])};
        };
        return kernel;
    }
    for (std::size_t k = 0; k < request.inputs(); ++k) {
        if (!can_broadcast(request.input(k), request.output()))
            refuse("its input is " + shape_text(request.input(k)) + ", which does not fit its output " +
                   shape_text(request.output()));
    }
    kernel.forward = [function](const KernelCall& call) -> Tensors {
        at::Tensor result = function(call.inputs[0], call.inputs[1]);
        for (std::size_t k = 2; k < call.inputs.size(); ++k) result = function(result, call.inputs[k]);
        return {result};
    };
    return kernel;
}

/// Zeroes with the probability of one half or, if that is the kind, whole channels; the mask is made as
/// PyTorch's own dropout does it on a CPU, but from a generator of the op, so that the result does not depend
/// on the placement.
Kernel dropout(const KernelRequest& request) {
    request.expect_inputs(1);
    constexpr double kKept = 0.5;
    const bool channels = request.kind() != "dropout" && request.kind() != "alpha_dropout";
    return {{}, {}, [channels](const KernelCall& call) -> Tensors {
                const at::Tensor& x = call.inputs[0];
                if (!call.training) return {x.view_as(x)};
                at::Tensor noise;
                if (channels && x.dim() > 2) {
                    std::vector<std::int64_t> shape = x.sizes().vec();
                    std::fill(shape.begin() + 2, shape.end(), 1);
                    noise = at::empty(shape, x.options());
                } else {
                    noise = at::empty_like(x);
                }
                noise.bernoulli_(kKept, call.generator).div_(kKept);
                return {x * noise};
            }};
}

}  // namespace

std::optional<Kernel> make_elementwise(const KernelRequest& request) {
    const std::string& kind = request.kind();
    if (binary_kernels().contains(kind)) return binary(request);
    // In files of PyTorch these are reductions unless they read two tensors.
    if ((kind == "max" || kind == "min") && request.inputs() == 2) {
        request.expect_parameters({});
        const bool largest = kind == "max";
        return Kernel{{}, {}, [largest](const KernelCall& call) -> Tensors {
                          return {largest ? at::maximum(call.inputs[0], call.inputs[1])
                                          : at::minimum(call.inputs[0], call.inputs[1])};
                      }};
    }
    if (kind.find("dropout") != std::string::npos) return dropout(request);
    if (kind == "prelu") {
        request.expect_inputs(1);
        const Shape slopes{request.parameter_count()};
        return Kernel{{slopes}, {}, [](const KernelCall& call) -> Tensors {
                          return {at::prelu(call.inputs[0], call.parameters[0])};
                      }};
    }
    if (kind == "glu") {
        request.expect_inputs(1);
        const std::int64_t dim = request.dim(request.input().size()).value_or(-1);
        return Kernel{
            {}, {}, [dim](const KernelCall& call) -> Tensors { return {at::glu(call.inputs[0], dim)}; }};
    }
    if (kind == "where" || kind == "masked_fill") {
        if (request.inputs() >= 3)
            return Kernel{
                {}, {}, [](const KernelCall& call) -> Tensors {
                    return {at::where(call.inputs[0].to(at::kBool), call.inputs[1], call.inputs[2])};
                }};
        if (request.inputs() == 2 && kind == "masked_fill")
            return Kernel{{}, {}, [](const KernelCall& call) -> Tensors {
                              return {at::masked_fill(call.inputs[0], call.inputs[1].to(at::kBool), -1e4)};
                          }};
        if (request.inputs() == 1)  // the mask is a constant
            return Kernel{{}, {}, [](const KernelCall& call) -> Tensors {
                              const at::Tensor& x = call.inputs[0];
                              return {at::masked_fill(x, at::zeros_like(x, at::kBool), -1e4)};
                          }};
        refuse("it reads " + std::to_string(request.inputs()) + " tensors");
    }
    const auto found = unary_kernels().find(kind);
    if (found == unary_kernels().end()) return std::nullopt;
    const Unary function = found->second;
    if (request.inputs() == 0) {
        Kernel kernel;
        if (request.parameter_count() > 0) {
            kernel.parameters = {request.output()};
            request.expect_parameters(kernel.parameters);
            kernel.forward = [function](const KernelCall& call) -> Tensors {
                return {function(call.parameters[0])};
            };
            return kernel;
        }
        const Shape to = request.output();
        kernel.forward = [to](const KernelCall& call) -> Tensors { return {at::zeros(to, call.options)}; };
        return kernel;
    }
    request.expect_parameters({});
    return Kernel{
        {}, {}, [function](const KernelCall& call) -> Tensors { return {function(call.inputs[0])}; }};
}

}  // namespace placewright
