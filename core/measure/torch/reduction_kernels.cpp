// SPDX-License-Identifier: MIT
// Sums, norms, losses and others that combine the elements of a tensor.
#include <algorithm>
#include <array>

#include "core/measure/torch/kernel_request.hpp"

namespace placewright {
namespace {

constexpr double kEpsilon = 1e-5;

struct Reduction {
    std::vector<std::int64_t> dims;
    bool keeps = false;
};

/// The dimensions over which `from` is reduced to `to`.
Reduction reduced_dimensions(const KernelRequest& request) {
    const Shape &from = request.input(), &to = request.output();
    Reduction reduction;
    if (from.size() == to.size()) {
        reduction.keeps = true;
        for (std::size_t k = 0; k < from.size(); ++k) {
            if (to[k] == from[k]) continue;
            if (to[k] != 1)
                refuse("its input is " + shape_text(from) + ", which cannot be reduced to " + shape_text(to));
            reduction.dims.push_back(static_cast<std::int64_t>(k));
        }
        if (reduction.dims.empty() && !from.empty())
            reduction.dims.push_back(
                request.dim(from.size()).value_or(static_cast<std::int64_t>(from.size()) - 1));
        return reduction;
    }
    if (const auto given = request.integers("dim")) {
        Shape rest = from;
        reduction.dims = *given;
        for (std::int64_t& dim : reduction.dims) {
            if (dim < 0) dim += static_cast<std::int64_t>(from.size());
            if (dim < 0 || dim >= static_cast<std::int64_t>(from.size()))
                refuse("its dimensions are out of range");
            rest[static_cast<std::size_t>(dim)] = -1;
        }
        std::erase(rest, -1);
        if (rest == to) return reduction;
        reduction.dims.clear();
    }
    // The dimensions that are left, from the front.
    std::size_t k = 0;
    for (std::size_t dim = 0; dim < from.size(); ++dim) {
        if (k < to.size() && to[k] == from[dim]) {
            ++k;
        } else {
            reduction.dims.push_back(static_cast<std::int64_t>(dim));
        }
    }
    if (k != to.size())
        refuse("its input is " + shape_text(from) + ", which cannot be reduced to " + shape_text(to));
    return reduction;
}

Kernel reduction(const KernelRequest& request) {
    request.expect_inputs(1);
    const std::string kind = request.kind();
    const Reduction r = reduced_dimensions(request);
    const bool many = request.outputs() > 1;
    return {{}, {}, [kind, r, many](const KernelCall& call) -> Tensors {
                const at::Tensor& x = call.inputs[0];
                const auto one_by_one = [&](auto&& function) {
                    at::Tensor result = x;
                    for (std::size_t k = r.dims.size(); k-- > 0;) result = function(result, r.dims[k]);
                    return result;
                };
                if (kind == "mean") return {at::mean(x, r.dims, r.keeps)};
                if (kind == "sum") return {at::sum(x, r.dims, r.keeps)};
                if (kind == "logsumexp") return {at::logsumexp(x, r.dims, r.keeps)};
                if (kind == "norm") return {at::norm(x, 2, r.dims, r.keeps)};
                if (kind == "var") {
                    if (!many) return {at::var(x, r.dims, true, r.keeps)};
                    auto [variance, mean] = at::var_mean(x, r.dims, true, r.keeps);
                    return {variance, mean};
                }
                if (kind == "prod")
                    return {one_by_one(
                        [&](const at::Tensor& t, std::int64_t d) { return at::prod(t, d, r.keeps); })};
                if (kind == "argmax") return {at::argmax(x, r.dims.front(), r.keeps)};
                if (kind == "argmin") return {at::argmin(x, r.dims.front(), r.keeps)};
                if (kind == "all" || kind == "any")
                    return {one_by_one([&](const at::Tensor& t, std::int64_t d) {
                        return kind == "all" ? at::all(t, d, r.keeps) : at::any(t, d, r.keeps);
                    })};
                const bool largest = kind == "max";
                if (!many) return {largest ? at::amax(x, r.dims, r.keeps) : at::amin(x, r.dims, r.keeps)};
                auto [value, index] =
                    largest ? at::max(x, r.dims.front(), r.keeps) : at::min(x, r.dims.front(), r.keeps);
                return {value, index};
            }};
}

/// Scale and offset per feature, if the op has them.
Kernel with_affine(const KernelRequest& request, Shape shape) {
    Kernel kernel;
    const std::int64_t count = request.parameter_count();
    if (count > 0) kernel.parameters.push_back(shape);
    if (count == 2 * product(shape)) kernel.parameters.push_back(std::move(shape));
    request.expect_parameters(kernel.parameters);
    return kernel;
}

at::Tensor parameter_or_none(const KernelCall& call, std::size_t index) {
    return index < call.parameters.size() ? call.parameters[index] : at::Tensor();
}

/// Calls normalise(x, weight, bias). LibTorch has no kernels on CPUs for an image of another type than the
/// weights and the statistics, as autocast and model.bfloat16() make them: there all of it is in float32.
Tensors in_one_type(const KernelCall& call, auto&& normalise) {
    const at::Tensor &x = call.inputs[0], weight = parameter_or_none(call, 0),
                     bias = parameter_or_none(call, 1);
    const auto differs = [&](const at::Tensor& tensor) { return tensor.scalar_type() != x.scalar_type(); };
    if (!x.is_cpu() ||
        (std::ranges::none_of(call.parameters, differs) && std::ranges::none_of(call.buffers, differs)))
        return {normalise(x, weight, bias)};
    const auto wide = [](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.to(at::kFloat) : tensor;
    };
    return {normalise(wide(x), wide(weight), wide(bias)).to(call.options.dtype())};
}

Kernel batch_norm(const KernelRequest& request) {
    request.expect_inputs(1);
    const Shape& from = request.input();
    if (from.size() < 2) refuse("its input is " + shape_text(from));
    Kernel kernel = with_affine(request, {from[1]});
    kernel.buffers = {{from[1]}, {from[1]}};
    kernel.forward = [](const KernelCall& call) -> Tensors {
        return in_one_type(call, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
            return at::batch_norm(x, weight, bias, call.buffers[0], call.buffers[1], call.training, 0.1,
                                  kEpsilon, true);
        });
    };
    return kernel;
}

Kernel layer_norm(const KernelRequest& request) {
    request.expect_inputs(1);
    const Shape& from = request.input();
    if (from.empty()) refuse("its input is a single number");
    Shape normalized{from.back()};
    if (const auto given = request.integers("normalized_shape")) {
        normalized = *given;
    } else if (request.parameter_count() > 0) {
        // The last dimensions that have half of the parameters, or all of them.
        Shape last;
        for (std::size_t k = from.size(); k-- > 0;) {
            last.insert(last.begin(), from[k]);
            if (product(last) * 2 == request.parameter_count()) {
                normalized = last;
                break;
            }
        }
    }
    Kernel kernel = with_affine(request, normalized);
    if (request.kind() == "rms_norm") {
        kernel.forward = [](const KernelCall& call) -> Tensors {
            const at::Tensor& x = call.inputs[0];
            at::Tensor result = x * at::rsqrt(x.pow(2).mean(-1, true) + kEpsilon);
            if (!call.parameters.empty()) result = result * call.parameters[0];
            return {result};
        };
        return kernel;
    }
    kernel.forward = [normalized](const KernelCall& call) -> Tensors {
        return in_one_type(call, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
            return at::layer_norm(x, normalized, weight, bias, kEpsilon);
        });
    };
    return kernel;
}

Kernel group_norm(const KernelRequest& request) {
    request.expect_inputs(1);
    const Shape& from = request.input();
    if (from.size() < 2) refuse("its input is " + shape_text(from));
    std::int64_t groups = request.integer("groups").value_or(request.integer("num_groups").value_or(32));
    if (groups < 1 || from[1] % groups != 0) groups = 1;
    Kernel kernel = with_affine(request, {from[1]});
    if (request.kind() == "instance_norm") {
        kernel.forward = [](const KernelCall& call) -> Tensors {
            return in_one_type(
                call, [](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
                    return at::instance_norm(x, weight, bias, {}, {}, true, 0.1, kEpsilon, true);
                });
        };
        return kernel;
    }
    kernel.forward = [groups](const KernelCall& call) -> Tensors {
        return in_one_type(call, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
            return at::group_norm(x, groups, weight, bias, kEpsilon, true);
        });
    };
    return kernel;
}

/// Labels for a loss that reads the logits alone: the classes in turn.
at::Tensor labels(std::int64_t count, std::int64_t classes, const at::Tensor& like) {
    return at::arange(count, like.options().dtype(at::kLong)).remainder(std::max<std::int64_t>(1, classes));
}

/// Losses read logits [samples, classes] or [samples, positions, classes]; images [samples, classes, height,
/// width].
Kernel class_loss(const KernelRequest& request) {
    request.expect_inputs(1);
    const Shape from = request.input();
    if (from.size() < 2) refuse("its input is " + shape_text(from) + ", expected classes of each sample");
    const bool likelihood = request.kind() == "nll_loss";
    const bool single = product(request.output()) == 1;
    const std::int64_t reduced = single ? at::Reduction::Mean : at::Reduction::None;
    return {{}, {}, [=](const KernelCall& call) -> Tensors {
                at::Tensor x = call.inputs[0];
                at::Tensor label;
                if (call.inputs.size() > 1 && !call.inputs[1].is_floating_point()) {
                    label = call.inputs[1];
                    if (x.dim() != label.dim() + 1) refuse("its logits and labels do not go together");
                    if (x.dim() == 3 && x.size(1) == label.size(1) && x.size(2) != label.size(1)) {
                        x = x.flatten(0, 1);
                        label = label.flatten();
                    }
                } else if (x.dim() <= 3) {
                    x = x.flatten(0, -2);
                    label = labels(x.size(0), x.size(1), x);
                } else {
                    std::vector<std::int64_t> shape = x.sizes().vec();
                    shape.erase(shape.begin() + 1);
                    label = labels(product(shape), x.size(1), x).view(shape);
                }
                at::Tensor loss = likelihood ? at::nll_loss_nd(x, label, {}, reduced)
                                             : at::cross_entropy_loss(x, label, {}, reduced);
                return {loss};
            }};
}

/// Losses that compare two tensors; without a target, with zeros.
Kernel element_loss(const KernelRequest& request) {
    request.expect_inputs(1);
    const std::string kind = request.kind();
    const std::int64_t reduced = product(request.output()) == 1 ? at::Reduction::Mean : at::Reduction::None;
    return {{}, {}, [kind, reduced](const KernelCall& call) -> Tensors {
                const at::Tensor& x = call.inputs[0];
                const at::Tensor target = call.inputs.size() > 1 ? call.inputs[1] : at::zeros_like(x);
                if (kind == "mse_loss") return {at::mse_loss(x, target, reduced)};
                if (kind == "l1_loss") return {at::l1_loss(x, target, reduced)};
                if (kind == "smooth_l1_loss") return {at::smooth_l1_loss(x, target, reduced)};
                if (kind == "kl_div") return {at::kl_div(x, target, reduced)};
                if (kind == "binary_cross_entropy")
                    return {at::binary_cross_entropy(at::sigmoid(x), at::sigmoid(target), {}, reduced)};
                return {at::binary_cross_entropy_with_logits(x, at::sigmoid(target), {}, {}, reduced)};
            }};
}

}  // namespace

std::optional<Kernel> make_reduction(const KernelRequest& request) {
    const std::string& kind = request.kind();
    static constexpr std::array kReductions{"mean",      "sum",  "max",    "min",    "var", "norm",
                                            "logsumexp", "prod", "argmax", "argmin", "all", "any"};
    if (std::ranges::find(kReductions, kind) != kReductions.end()) return reduction(request);
    if (kind == "batch_norm") return batch_norm(request);
    if (kind == "layer_norm" || kind == "rms_norm") return layer_norm(request);
    if (kind == "group_norm" || kind == "instance_norm") return group_norm(request);
    if (kind == "softmax" || kind == "log_softmax" || kind == "cumsum") {
        request.expect_inputs(1);
        const auto rank = static_cast<std::int64_t>(request.input().size());
        const std::int64_t dim =
            request.dim(request.input().size()).value_or(std::max<std::int64_t>(0, rank - 1));
        if (kind == "cumsum")
            return Kernel{{}, {}, [dim](const KernelCall& call) -> Tensors {
                              return {at::cumsum(call.inputs[0], dim)};
                          }};
        const bool logarithm = kind == "log_softmax";
        return Kernel{
            {}, {}, [dim, logarithm](const KernelCall& call) -> Tensors {
                return {logarithm ? at::log_softmax(call.inputs[0], dim) : at::softmax(call.inputs[0], dim)};
            }};
    }
    if (kind == "normalize") {
        request.expect_inputs(1);
        const auto rank = static_cast<std::int64_t>(request.input().size());
        const std::int64_t dim =
            request.dim(request.input().size()).value_or(std::max<std::int64_t>(0, rank - 1));
        return Kernel{{}, {}, [dim](const KernelCall& call) -> Tensors {
                          const at::Tensor& x = call.inputs[0];
                          return {x / at::norm(x, 2, {dim}, true).clamp_min(1e-12).expand_as(x)};
                      }};
    }
    if (kind == "cross_entropy" || kind == "nll_loss") return class_loss(request);
    static constexpr std::array kLosses{"mse_loss",
                                        "l1_loss",
                                        "smooth_l1_loss",
                                        "kl_div",
                                        "binary_cross_entropy",
                                        "binary_cross_entropy_with_logits"};
    if (std::ranges::find(kLosses, kind) != kLosses.end()) return element_loss(request);
    return std::nullopt;
}

}  // namespace placewright
