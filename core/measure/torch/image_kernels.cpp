// SPDX-License-Identifier: MIT
// Convolutions, pools and other ops that slide a window over an image.
#include <algorithm>
#include <cmath>
#include <limits>
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

/// Where a window stands along one dimension.
struct Axis {
    std::int64_t kernel = 1, stride = 1, dilation = 1;
    std::int64_t begin = 0, end = 0;  ///< padding
    bool ceil = false;                ///< the last place may reach beyond the padded image

    /// Number of places over `extent` elements, as PyTorch counts them.
    std::int64_t places(std::int64_t extent) const {
        const std::int64_t room = extent + begin + end - dilation * (kernel - 1) - 1;
        if (room < 0) return 0;
        std::int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
        // The last place starts within the image or its padding at the beginning.
        if (ceil && (count - 1) * stride >= extent + begin) --count;
        return count;
    }
};

struct Window {
    std::vector<Axis> axes;

    Shape all(std::int64_t Axis::*member) const {
        Shape numbers;
        for (const Axis& axis : axes) numbers.push_back(axis.*member);
        return numbers;
    }
    bool is_even() const {
        return std::ranges::all_of(axes, [](const Axis& axis) { return axis.begin == axis.end; });
    }
    bool ceil() const {
        return std::ranges::any_of(axes, [](const Axis& axis) { return axis.ceil; });
    }
    /// The padding as torch.nn.functional.pad takes it: the last dimension first.
    std::vector<std::int64_t> borders() const {
        std::vector<std::int64_t> amounts;
        for (std::size_t k = axes.size(); k-- > 0;) {
            amounts.push_back(axes[k].begin);
            amounts.push_back(axes[k].end);
        }
        return amounts;
    }
    std::string text() const {
        std::string text = shape_text(all(&Axis::kernel)) + " with stride " + shape_text(all(&Axis::stride)) +
                           " and padding " + shape_text(all(&Axis::begin));
        if (!is_even()) text += " to " + shape_text(all(&Axis::end));
        return text;
    }
};

/// The first stride and padding with which a window makes `to` places of `from` elements; fields that are
/// given stay. Strides are tried from the most likely one, paddings from that of a window whose middle starts
/// at the first element, then the least.
bool fit(Axis& axis, std::int64_t from, std::int64_t to, bool stride_given, bool padding_given, bool pools) {
    const std::int64_t likely = to > 1 ? std::max<std::int64_t>(1, (from + to / 2) / to) : 1;
    std::vector<std::int64_t> strides{axis.stride};
    if (!stride_given) {
        strides = {likely};
        for (std::int64_t k = 1; k <= std::min(from, likely + axis.kernel); ++k) strides.push_back(k);
    }
    const std::int64_t reach = axis.dilation * (axis.kernel - 1);
    const std::int64_t most = std::min(from, pools ? axis.kernel / 2 : reach);
    const auto fits = [&](std::int64_t padding) {
        axis.begin = axis.end = padding;
        return padding <= most && axis.places(from) == to;
    };
    const bool asked = axis.ceil;
    // Convolutions have no places beyond the image.
    for (const bool ceil : {asked, !asked}) {
        if (ceil && !pools) continue;
        axis.ceil = ceil;
        for (const std::int64_t stride : strides) {
            axis.stride = stride;
            if (padding_given) {
                if (axis.places(from) == to) return true;
                continue;
            }
            if (fits(reach / 2)) return true;
            // The least one that leaves room for so many places.
            const std::int64_t room = ceil ? (to - 2) * stride + 1 : (to - 1) * stride;
            if (fits(std::max<std::int64_t>(0, (room - (from - reach - 1) + 1) / 2))) return true;
        }
    }
    return false;
}

/// What an op's attributes say about its window.
struct WindowAttributes {
    WindowAttributes(const KernelRequest& request, std::size_t rank)
        : kernel(request.window("kernel", rank)),
          stride(request.window("stride", rank)),
          padding(request.window("padding", rank)),
          dilation(request.window("dilation", rank).value_or(Shape(rank, 1))),
          ceil(request.text("ceil_mode") == "true" || request.integer("ceil_mode").value_or(0) != 0) {
        // Other numbers are those of another image.
        if (padding && padding->size() != rank && padding->size() != 2 * rank) padding.reset();
        const auto fits = [&](const auto& numbers) { return !numbers || numbers->size() == rank; };
        if (!fits(kernel) || !fits(stride) || dilation.size() != rank)
            refuse("its window has other dimensions than its image");
        constexpr std::int64_t kMost = std::int64_t{1} << 30;
        const auto within = [](const auto& numbers, std::int64_t least) {
            return std::ranges::all_of(
                numbers, [&](std::int64_t number) { return number >= least && number <= kMost; });
        };
        if ((kernel && !within(*kernel, 1)) || (stride && !within(*stride, 1)) || !within(dilation, 1) ||
            (padding && !within(*padding, 0)))
            refuse("its window is empty, or too large");
    }

    std::optional<Shape> kernel, stride;
    std::optional<Shape> padding;  ///< one number a dimension, or all begins and then all ends
    Shape dilation;
    bool ceil = false;
};

/// A window of extents `kernel`, with the attributes' stride and padding or those that make the output's
/// shape of the input's. Returns nothing if none fits; `tried` is the last one.
std::optional<Window> fitted(const KernelRequest& request, const WindowAttributes& given, const Shape& kernel,
                             bool pools, Window& tried) {
    const Shape &from = request.input(), &to = request.output();
    const std::size_t rank = kernel.size();
    tried.axes.assign(rank, {});
    bool fits = true;
    for (std::size_t k = 0; k < rank; ++k) {
        Axis& axis = tried.axes[k];
        axis.kernel = kernel[k];
        axis.dilation = given.dilation[k];
        axis.ceil = given.ceil;
        if (given.stride) axis.stride = (*given.stride)[k];
        if (given.padding) {
            axis.begin = (*given.padding)[k];
            axis.end = (*given.padding)[given.padding->size() - rank + k];
        }
        fits =
            fit(axis, from[k + 2], to[k + 2], given.stride.has_value(), given.padding.has_value(), pools) &&
            fits;
    }
    // PyTorch rounds all dimensions of a pool alike.
    if (fits && tried.ceil()) {
        for (std::size_t k = 0; k < rank && fits; ++k) {
            tried.axes[k].ceil = true;
            fits = tried.axes[k].places(from[k + 2]) == to[k + 2];
        }
    }
    if (!fits) return std::nullopt;
    return tried;
}

/// Extents of windows with `area` elements, the likely ones first: equal extents; in videos images that are
/// as wide as high, of one or several pictures, then several pictures of one element; all others, from flat
/// to tall. The second number is the rank of that order.
std::vector<std::pair<Shape, int>> windows_of(std::int64_t area, std::size_t rank) {
    const auto root = [](std::int64_t number, std::size_t degree) -> std::int64_t {
        auto value = static_cast<std::int64_t>(
            std::llround(std::pow(static_cast<double>(number), 1.0 / static_cast<double>(degree))));
        std::int64_t power = 1;
        for (std::size_t k = 0; k < degree; ++k) power *= value;
        return power == number ? value : 0;
    };
    std::vector<std::pair<Shape, int>> found;
    constexpr std::int64_t kMostElements = 1 << 20;
    if (area > kMostElements) return found;
    if (const std::int64_t side = root(area, rank)) found.emplace_back(Shape(rank, side), 0);
    for (std::int64_t first = 1; first <= area && rank > 1; ++first) {
        if (area % first != 0) continue;
        const std::int64_t rest = area / first;
        if (rank == 2) {
            found.emplace_back(Shape{first, rest}, 2);
        } else if (const std::int64_t side = root(rest, 2)) {
            found.emplace_back(Shape{first, side, side}, side > 1 ? 1 : 2);
        } else {
            found.emplace_back(Shape{first, rest, 1}, 3);
            found.emplace_back(Shape{first, 1, rest}, 3);
        }
    }
    return found;
}
constexpr int kWindowOrders = 4;

constexpr const char* kNoWindow =
    "the network file does not give its window, and none follows from its sizes: export the network again, "
    "or add an attribute \"kernel\"";

/// The window of a pool, from its FLOPs (one for each element of each window) if the file does not give it.
Window pool_window(const KernelRequest& request, std::size_t rank) {
    const WindowAttributes given(request, rank);
    Window tried;
    if (given.kernel) {
        if (const auto window = fitted(request, given, *given.kernel, true, tried)) return *window;
        refuse("a window of " + tried.text() + " does not make " + shape_text(request.output()) + " of " +
               shape_text(request.input()));
    }
    const auto outputs = static_cast<double>(product(request.output()));
    const double area = outputs > 0 ? request.op().flops / outputs : 0;
    if (area >= 1 && area == std::floor(area) && area < 1e12) {
        const auto windows = windows_of(static_cast<std::int64_t>(area), rank);
        for (int order = 0; order < kWindowOrders; ++order) {
            for (const auto& [kernel, rank_of_it] : windows) {
                if (rank_of_it != order) continue;
                if (const auto window = fitted(request, given, kernel, true, tried)) return *window;
            }
        }
    }
    refuse(kNoWindow);
}

struct Convolution {
    Window window;
    std::int64_t groups = 1;
    std::vector<std::int64_t> output_padding;  ///< of a transposed one
};

/// Whether a transposed window, whose padding is cut from the output, makes the output's shape; sets stride
/// and padding that are not given, and the output padding.
bool fit_transposed(const KernelRequest& request, const WindowAttributes& given, const Shape& kernel,
                    Convolution& result) {
    const Shape &from = request.input(), &to = request.output();
    const std::size_t rank = kernel.size();
    result.window.axes.assign(rank, {});
    result.output_padding.assign(rank, 0);
    bool fits = true;
    for (std::size_t k = 0; k < rank; ++k) {
        Axis& axis = result.window.axes[k];
        axis.kernel = kernel[k];
        axis.dilation = given.dilation[k];
        const std::int64_t in = from[k + 2], out = to[k + 2];
        if (in < 1) return false;
        axis.stride = given.stride ? (*given.stride)[k] : std::max<std::int64_t>(1, (out + in / 2) / in);
        const std::int64_t whole = (in - 1) * axis.stride + axis.dilation * (axis.kernel - 1) + 1;
        // With an even number of elements beyond the output, nothing is added to it.
        const std::int64_t excess = whole - out;
        if (given.padding) {
            axis.begin = (*given.padding)[k];
            axis.end = (*given.padding)[given.padding->size() - rank + k];
        } else {
            axis.begin = axis.end = std::max<std::int64_t>(0, (excess + 1) / 2);
        }
        const std::int64_t added = axis.begin + axis.end - excess;
        result.output_padding[k] = added;
        fits = fits && added >= 0 && added < std::max(axis.stride, axis.dilation);
    }
    return fits;
}

/// Weights for each output channel (of a transposed convolution: for each input channel), from the sizes of
/// the parameters or the FLOPs; 0 if neither says it.
std::int64_t weights_per_channel(const KernelRequest& request, bool transposed) {
    const std::int64_t channels = transposed ? request.input()[1] : request.output()[1];
    const auto& counts = request.parameter_counts();
    if (!counts.empty() && counts.size() <= 2 && channels > 0 && std::ranges::max(counts) % channels == 0)
        return std::ranges::max(counts) / channels;
    const auto places = static_cast<double>(product(transposed ? request.input() : request.output()));
    const double weights = places > 0 ? request.op().flops / (2 * places) : 0;
    return weights >= 1 && weights == std::floor(weights) && weights < 1e12
               ? static_cast<std::int64_t>(weights)
               : 0;
}

/// Window and groups of a convolution. If the file does not give the window, it has the area that the weights
/// of a channel have for the smallest number of groups with which its extents are likely. Several windows of
/// the same area do the same work.
Convolution convolution_of(const KernelRequest& request, std::size_t rank, bool transposed) {
    const WindowAttributes given(request, rank);
    const std::int64_t in = request.input()[1], out = request.output()[1];
    std::optional<Shape> kernel = given.kernel;
    Convolution result;
    auto groups = request.integer("groups");
    if (request.inputs() > 1 && request.input(1).size() == rank + 2) {
        const Shape& weight = request.input(1);
        if (!kernel) kernel = Shape(weight.begin() + 2, weight.end());
        const std::int64_t whole = transposed ? out : in;
        if (!groups && weight[1] > 0 && whole % weight[1] == 0) groups = whole / weight[1];
    }
    const auto fits = [&](const Shape& extents) {
        if (transposed) return fit_transposed(request, given, extents, result);
        Window tried;
        const auto window = fitted(request, given, extents, false, tried);
        result.window = window.value_or(tried);
        return window.has_value();
    };
    if (kernel) {
        result.groups = groups.value_or(1);
        if (result.groups < 1 || in % result.groups != 0 || out % result.groups != 0)
            refuse("its channels do not divide into its groups");
        if (!fits(*kernel))
            refuse("a window of " + result.window.text() + " does not make " + shape_text(request.output()) +
                   " of " + shape_text(request.input()));
        return result;
    }
    const std::int64_t weights = weights_per_channel(request, transposed);
    const std::int64_t most = std::gcd(in, out), whole = transposed ? out : in;
    for (int order = 0; order < kWindowOrders && weights > 0; ++order) {
        for (result.groups = 1; result.groups <= most; ++result.groups) {
            if (most % result.groups != 0 || (groups && *groups != result.groups)) continue;
            if (weights * result.groups % whole != 0) continue;
            for (const auto& [extents, order_of_it] : windows_of(weights * result.groups / whole, rank)) {
                if (order_of_it == order && fits(extents)) return result;
            }
        }
    }
    refuse(kNoWindow);
}

Kernel convolution(const KernelRequest& request, std::size_t rank, bool transposed) {
    request.expect_rank(rank + 2);
    const Shape &from = request.input(), &to = request.output();
    if (to.size() != rank + 2) refuse("its output is " + shape_text(to));
    const std::int64_t in = from[1], out = to[1];
    if (in < 1 || out < 1) refuse("it has no channels");
    const Convolution convolution = convolution_of(request, rank, transposed);
    const Window& window = convolution.window;
    const std::int64_t groups = convolution.groups;
    const bool weight_read = request.inputs() > 1;
    Kernel kernel;
    bool bias = false;
    if (!weight_read) {
        Shape weight = transposed ? Shape{in, out / groups} : Shape{out, in / groups};
        for (const Axis& axis : window.axes) weight.push_back(axis.kernel);
        kernel.parameters = {weight};
        bias = request.parameter_count() == product(weight) + out;
        if (bias) kernel.parameters.push_back({out});
    } else if (request.parameter_count() == out) {
        bias = true;
        kernel.parameters = {{out}};
    }
    request.expect_parameters(kernel.parameters);
    // PyTorch takes the same padding at both ends. Uneven padding is added to the image before, or cut from
    // the output of a transposed convolution afterwards.
    const bool even = window.is_even();
    const Shape stride = window.all(&Axis::stride), dilation = window.all(&Axis::dilation),
                padding = even ? window.all(&Axis::begin) : Shape(rank, 0),
                cut = even || !transposed ? Shape() : window.all(&Axis::begin);
    const std::vector<std::int64_t> borders =
                                        even || transposed ? std::vector<std::int64_t>() : window.borders(),
                                    output_padding = transposed ? convolution.output_padding : Shape(rank, 0);
    kernel.forward = [=](const KernelCall& call) -> Tensors {
        const at::Tensor& weights = weight_read ? call.inputs[1] : call.parameters[0];
        const at::Tensor offset = bias                                    ? call.parameters.back()
                                  : weight_read && call.inputs.size() > 2 ? call.inputs[2]
                                                                          : at::Tensor();
        const at::Tensor image =
            borders.empty() ? call.inputs[0] : at::constant_pad_nd(call.inputs[0], borders);
        const auto convolve = [&](const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
            return at::convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups);
        };
        const auto wide = [](const at::Tensor& x) { return x.defined() ? x.to(at::kFloat) : x; };
        // LibTorch 1.13 takes the weights of a transposed one in bfloat16 for those of another on a CPU.
        const bool widens = transposed && image.is_cpu() && image.scalar_type() == at::kBFloat16;
        at::Tensor output = widens ? convolve(wide(image), wide(weights), wide(offset)).to(at::kBFloat16)
                                   : convolve(image, weights, offset);
        for (std::size_t k = 0; k < cut.size(); ++k)
            output = output.narrow(static_cast<std::int64_t>(k) + 2, cut[k], to[k + 2]);
        return {output};
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
    if (request.output().size() != rank + 2) refuse("its output is " + shape_text(request.output()));
    const Window window = pool_window(request, rank);
    const Shape kernel = window.all(&Axis::kernel), stride = window.all(&Axis::stride),
                dilation = window.all(&Axis::dilation);
    // PyTorch allows padding at both ends alike, of up to half a window.
    bool within = window.is_even();
    for (const Axis& axis : window.axes) within = within && 2 * axis.begin <= axis.kernel;
    const Shape padding = within ? window.all(&Axis::begin) : Shape(rank, 0);
    const std::vector<std::int64_t> borders = within ? std::vector<std::int64_t>() : window.borders();
    const bool ceil = window.ceil();
    return one_input([=](const at::Tensor& input) {
        const double around = largest ? -std::numeric_limits<double>::infinity() : 0;
        const at::Tensor x = borders.empty() ? input : at::constant_pad_nd(input, borders, around);
        if (largest) {
            if (rank == 1) return at::max_pool1d(x, kernel, stride, padding, dilation, ceil);
            if (rank == 2) return at::max_pool2d(x, kernel, stride, padding, dilation, ceil);
            return at::max_pool3d(x, kernel, stride, padding, dilation, ceil);
        }
        if (rank == 1) return at::avg_pool1d(x, kernel, stride, padding, ceil);
        if (rank == 2) return at::avg_pool2d(x, kernel, stride, padding, ceil);
        return at::avg_pool3d(x, kernel, stride, padding, ceil);
    });
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

/// Interpolates an image, or a parameter: then its last extent is what its size leaves.
Kernel interpolate(const KernelRequest& request) {
    const Shape& to = request.output();
    if (to.size() < 3 || to.size() > 5) refuse("its output is " + shape_text(to));
    const std::vector<std::int64_t> size(to.begin() + 2, to.end());
    const std::size_t rank = size.size();
    Kernel kernel;
    Shape from;
    if (request.inputs() > 0) {
        from = request.input();
    } else {
        from = to;
        const std::int64_t others = product(to) / std::max<std::int64_t>(1, to.back());
        if (others < 1 || request.parameter_count() < 1 || request.parameter_count() % others != 0)
            refuse("it reads no tensor, and its parameters do not fit its output " + shape_text(to));
        from.back() = request.parameter_count() / others;
        kernel.parameters = {from};
    }
    request.expect_parameters(kernel.parameters);
    if (from.size() != to.size())
        refuse("its input is " + shape_text(from) + " and its output " + shape_text(to));
    std::string mode = request.text("mode");
    // Copying the nearest point takes no FLOPs.
    if (mode.empty() && request.op().flops == 0) mode = "nearest";
    kernel.forward = [size, rank, mode](const KernelCall& call) -> Tensors {
        const at::Tensor& x = call.inputs.empty() ? call.parameters[0] : call.inputs[0];
        if (mode.starts_with("nearest")) {
            if (rank == 1) return {at::upsample_nearest1d(x, size)};
            if (rank == 2) return {at::upsample_nearest2d(x, size)};
            return {at::upsample_nearest3d(x, size)};
        }
        if ((mode == "bicubic" || mode == "cubic") && rank == 2)
            return {at::upsample_bicubic2d(x, size, false)};
        if (mode == "area") {
            if (rank == 1) return {at::adaptive_avg_pool1d(x, size)};
            if (rank == 2) return {at::adaptive_avg_pool2d(x, size)};
            return {at::adaptive_avg_pool3d(x, size)};
        }
        if (rank == 1) return {at::upsample_linear1d(x, size, false)};
        if (rank == 2) return {at::upsample_bilinear2d(x, size, false)};
        return {at::upsample_trilinear3d(x, size, false)};
    };
    return kernel;
}

}  // namespace

std::optional<Kernel> make_image_kernel(const KernelRequest& request) {
    const std::string& kind = request.kind();
    if (kind == "interpolate" || kind == "upsample") return interpolate(request);
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
