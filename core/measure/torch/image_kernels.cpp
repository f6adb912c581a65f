// SPDX-License-Identifier: MIT
// Convolutions, pools and other ops that slide a window over an image.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/text.hpp"
#include "core/measure/torch/kernel_request.hpp"

namespace placewright {
namespace {

/// Dimensions in a kind such as "conv2d"; 0 if there is none.
std::size_t dimensions(const std::string& kind) {
    if (kind.size() < 2 || kind.back() != 'd') return 0;
    const char digit = kind[kind.size() - 2];
    return digit >= '1' && digit <= '3' ? static_cast<std::size_t>(digit - '0') : 0;
}

struct Window {
    std::vector<std::int64_t> kernel, stride, padding, dilation;
    bool ceil = false;  ///< the last window may reach beyond the image
};

std::int64_t slid(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                  std::int64_t dilation, bool ceil) {
    const std::int64_t room = extent + 2 * padding - dilation * (kernel - 1) - 1;
    if (room < 0) return 0;
    std::int64_t count = room / stride + 1;
    if (ceil && room % stride != 0 && (count * stride < extent + padding)) ++count;
    return count;
}

/// Stride and padding that make `to` of `from` with a kernel, if the file does not give them.
Window read_window(const KernelRequest& request, std::size_t rank,
                   const std::optional<std::vector<std::int64_t>>& kernel) {
    if (!kernel || kernel->size() != rank)
        refuse("the network file does not give its window (attribute \"kernel\"); export the network again");
    Window window;
    window.kernel = *kernel;
    window.dilation = request.window("dilation", rank).value_or(std::vector<std::int64_t>(rank, 1));
    const auto strides = request.window("stride", rank), paddings = request.window("padding", rank);
    window.ceil = request.text("ceil_mode") == "true" || request.integer("ceil_mode").value_or(0) != 0;
    const Shape &from = request.input(), &to = request.output();
    window.stride.resize(rank);
    window.padding.resize(rank);
    if (window.dilation.size() != rank || (strides && strides->size() != rank))
        refuse("its window has other dimensions than its image");
    for (std::size_t k = 0; k < rank; ++k) {
        const std::int64_t in = from[k + 2], out = to[k + 2],
                           reach = window.dilation[k] * (window.kernel[k] - 1);
        std::int64_t stride = strides   ? (*strides)[k]
                              : out > 1 ? std::max<std::int64_t>(1, (in + out / 2) / out)
                                        : 1;
        if (stride < 1 || window.kernel[k] < 1 || window.dilation[k] < 1) refuse("its window is empty");
        std::int64_t padding = reach / 2;
        if (paddings && paddings->size() == rank) {
            padding = (*paddings)[k];
        } else {
            for (std::int64_t tried = 0; tried <= reach; ++tried) {
                if (slid(in, window.kernel[k], stride, tried, window.dilation[k], false) == out) {
                    padding = tried;
                    break;
                }
            }
        }
        window.stride[k] = stride;
        window.padding[k] = padding;
    }
    const auto fits = [&](bool ceil) {
        for (std::size_t k = 0; k < rank; ++k) {
            if (slid(from[k + 2], window.kernel[k], window.stride[k], window.padding[k], window.dilation[k],
                     ceil) != to[k + 2])
                return false;
        }
        return true;
    };
    if (!fits(window.ceil)) {
        window.ceil = !window.ceil;
        if (!fits(window.ceil))
            refuse("a window of " + shape_text(window.kernel) + " with stride " + shape_text(window.stride) +
                   " and padding " + shape_text(window.padding) + " does not make " + shape_text(to) +
                   " of " + shape_text(from));
    }
    return window;
}

Kernel convolution(const KernelRequest& request, std::size_t rank, bool transposed) {
    request.expect_rank(rank + 2);
    const Shape &from = request.input(), &to = request.output();
    if (to.size() != rank + 2) refuse("its output is " + shape_text(to));
    const std::int64_t in = from[1], out = to[1];
    const std::int64_t groups = request.integer("groups").value_or(1);
    const bool weight_read = request.inputs() > 1;
    if (groups < 1 || in % groups != 0 || out % groups != 0)
        refuse("its channels do not divide into its groups");
    auto kernel_size = request.window("kernel", rank);
    if (!kernel_size && weight_read && request.input(1).size() == rank + 2)
        kernel_size = Shape(request.input(1).begin() + 2, request.input(1).end());
    Kernel kernel;
    Shape weight = transposed ? Shape{in, out / groups} : Shape{out, in / groups};
    if (kernel_size) weight.insert(weight.end(), kernel_size->begin(), kernel_size->end());
    bool bias = false;
    if (!weight_read) {
        kernel.parameters = {weight};
        bias = kernel_size && request.parameter_count() == product(weight) + out;
        if (bias) kernel.parameters.push_back({out});
    }
    std::vector<std::int64_t> stride, padding, dilation;
    if (transposed) {
        if (!kernel_size || kernel_size->size() != rank)
            refuse(
                "the network file does not give its window (attribute \"kernel\"); export the network again");
        stride = request.window("stride", rank).value_or(std::vector<std::int64_t>(rank, 1));
        padding = request.window("padding", rank).value_or(std::vector<std::int64_t>(rank, 0));
        dilation = request.window("dilation", rank).value_or(std::vector<std::int64_t>(rank, 1));
    } else {
        Window window = read_window(request, rank, kernel_size);
        stride = window.stride, padding = window.padding, dilation = window.dilation;
    }
    request.expect_parameters(kernel.parameters);
    std::vector<std::int64_t> output_padding(rank, 0);
    if (transposed) {
        for (std::size_t k = 0; k < rank; ++k) {
            output_padding[k] = to[k + 2] - ((from[k + 2] - 1) * stride[k] - 2 * padding[k] +
                                             dilation[k] * ((*kernel_size)[k] - 1) + 1);
            if (output_padding[k] < 0 || output_padding[k] >= std::max(stride[k], dilation[k]))
                refuse("its window does not make " + shape_text(to) + " of " + shape_text(from));
        }
    }
    kernel.forward = [=](const KernelCall& call) -> Tensors {
        const at::Tensor& weights = weight_read ? call.inputs[1] : call.parameters[0];
        const at::Tensor offset = weight_read ? (call.inputs.size() > 2 ? call.inputs[2] : at::Tensor())
                                  : bias      ? call.parameters[1]
                                              : at::Tensor();
        return {at::convolution(call.inputs[0], weights, offset, stride, padding, dilation, transposed,
                                output_padding, groups)};
    };
    return kernel;
}

Kernel one_input(std::function<at::Tensor(const at::Tensor&)> forward) {
    return {{}, {}, [forward = std::move(forward)](const KernelCall& call) -> Tensors {
                return {forward(call.inputs[0])};
            }};
}

Kernel pool(const KernelRequest& request, std::size_t rank, bool largest) {
    request.expect_rank(rank + 2);
    const Window w = read_window(request, rank, request.window("kernel", rank));
    if (largest) {
        if (rank == 1)
            return one_input([w](const at::Tensor& x) {
                return at::max_pool1d(x, w.kernel, w.stride, w.padding, w.dilation, w.ceil);
            });
        if (rank == 2)
            return one_input([w](const at::Tensor& x) {
                return at::max_pool2d(x, w.kernel, w.stride, w.padding, w.dilation, w.ceil);
            });
        return one_input([w](const at::Tensor& x) {
            return at::max_pool3d(x, w.kernel, w.stride, w.padding, w.dilation, w.ceil);
        });
    }
    if (rank == 1)
        return one_input(
            [w](const at::Tensor& x) { return at::avg_pool1d(x, w.kernel, w.stride, w.padding, w.ceil); });
    if (rank == 2)
        return one_input(
            [w](const at::Tensor& x) { return at::avg_pool2d(x, w.kernel, w.stride, w.padding, w.ceil); });
    return one_input(
        [w](const at::Tensor& x) { return at::avg_pool3d(x, w.kernel, w.stride, w.padding, w.ceil); });
}

Kernel adaptive_pool(const KernelRequest& request, std::size_t rank, bool largest) {
    request.expect_rank(rank + 2);
    const Shape& to = request.output();
    if (to.size() != rank + 2) refuse("its output is " + shape_text(to));
    const std::vector<std::int64_t> size(to.begin() + 2, to.end());
    if (largest) {
        if (rank == 1)
            return one_input(
                [size](const at::Tensor& x) { return std::get<0>(at::adaptive_max_pool1d(x, size)); });
        if (rank == 2)
            return one_input(
                [size](const at::Tensor& x) { return std::get<0>(at::adaptive_max_pool2d(x, size)); });
        return one_input(
            [size](const at::Tensor& x) { return std::get<0>(at::adaptive_max_pool3d(x, size)); });
    }
    if (rank == 1) return one_input([size](const at::Tensor& x) { return at::adaptive_avg_pool1d(x, size); });
    if (rank == 2) return one_input([size](const at::Tensor& x) { return at::adaptive_avg_pool2d(x, size); });
    return one_input([size](const at::Tensor& x) { return at::adaptive_avg_pool3d(x, size); });
}

Kernel interpolate(const KernelRequest& request) {
    const Shape &from = request.input(), &to = request.output();
    if (from.size() != to.size() || from.size() < 3 || from.size() > 5)
        refuse("its input is " + shape_text(from) + " and its output " + shape_text(to));
    const std::vector<std::int64_t> size(to.begin() + 2, to.end());
    const std::string mode = request.text("mode");
    const std::size_t rank = size.size();
    if (mode.starts_with("nearest")) {
        if (rank == 1)
            return one_input([size](const at::Tensor& x) { return at::upsample_nearest1d(x, size); });
        if (rank == 2)
            return one_input([size](const at::Tensor& x) { return at::upsample_nearest2d(x, size); });
        return one_input([size](const at::Tensor& x) { return at::upsample_nearest3d(x, size); });
    }
    if (mode == "bicubic" && rank == 2)
        return one_input([size](const at::Tensor& x) { return at::upsample_bicubic2d(x, size, false); });
    if (rank == 1)
        return one_input([size](const at::Tensor& x) { return at::upsample_linear1d(x, size, false); });
    if (rank == 2)
        return one_input([size](const at::Tensor& x) { return at::upsample_bilinear2d(x, size, false); });
    return one_input([size](const at::Tensor& x) { return at::upsample_trilinear3d(x, size, false); });
}

}  // namespace

std::optional<Kernel> make_image_kernel(const KernelRequest& request) {
    const std::string& kind = request.kind();
    if (kind == "interpolate" || kind == "upsample") {
        request.expect_inputs(1);
        return interpolate(request);
    }
    const std::size_t rank = dimensions(kind);
    if (rank == 0) return std::nullopt;
    if (kind.starts_with("conv_transpose")) return convolution(request, rank, true);
    if (kind.starts_with("conv")) return convolution(request, rank, false);
    if (kind.starts_with("max_pool")) return pool(request, rank, true);
    if (kind.starts_with("avg_pool")) return pool(request, rank, false);
    if (kind.starts_with("adaptive_max_pool")) return adaptive_pool(request, rank, true);
    if (kind.starts_with("adaptive_avg_pool")) return adaptive_pool(request, rank, false);
    return std::nullopt;
}

}  // namespace placewright
