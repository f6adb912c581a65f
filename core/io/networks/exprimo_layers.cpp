// SPDX-License-Identifier: MIT
#include "core/io/networks/exprimo_layers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/base/text.hpp"

namespace placewright::exprimo {
namespace {

std::string text_of(const Shape& shape) {
    std::string text;
    for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return '[' + text + ']';
}

/// Output extent and padding per side along one axis.
struct Axis {
    std::int64_t output = 0;
    std::int64_t padding = 0;
};

Axis axis(const Inference& at, std::int64_t input, std::int64_t kernel, std::int64_t stride,
          std::size_t index) {
    const JsonValue padding = at.layer.at("padding");
    Axis result;
    if (padding.json().is_array()) {
        result.padding = at.numbers("padding", 2, 0)[index];
        if (input + 2 * result.padding >= kernel)
            result.output = (input + 2 * result.padding - kernel) / stride + 1;
    } else if (padding.text() == "SAME") {
        result.output = (input + stride - 1) / stride;
        // A stride larger than the kernel would give a negative padding; it skips rows instead.
        result.padding = std::max<std::int64_t>(0, (result.output - 1) * stride + kernel - input) / 2;
    } else if (padding.text() == "VALID") {
        if (input >= kernel) result.output = (input - kernel + 1 + stride - 1) / stride;
    } else {
        padding.fail("is " + in_quotes(padding.text()) +
                     ", expected \"SAME\", \"VALID\" or a list [height, width]");
    }
    if (result.output < 1)
        at.fail("the kernel extent " + std::to_string(kernel) + " exceeds the input extent " +
                std::to_string(input));
    return result;
}

struct Window {
    Shape kernel, stride, output, padding;  ///< height, width
};

/// Returns the window of `kernel` that moves over an input of [height, width].
Window window(const Inference& at, const Shape& kernel, std::int64_t height, std::int64_t width) {
    const Shape strides = at.numbers("strides", 4);
    const Axis rows = axis(at, height, kernel[0], strides[1], 0);
    const Axis columns = axis(at, width, kernel[1], strides[2], 1);
    Window result{
        kernel, {strides[1], strides[2]}, {rows.output, columns.output}, {rows.padding, columns.padding}};
    at.attribute("kernel", result.kernel);
    at.attribute("stride", result.stride);
    at.attribute("padding", result.padding);
    return result;
}

/// Returns a filter [kernel height, kernel width, a, b]; -1 in dimension `open` stands for the channels of
/// the input.
Shape filter(const Inference& at, std::size_t open) {
    const std::int64_t channels = at.image()[3];
    const JsonValue value = at.layer.at("filter");
    if (value.size() != 4) value.fail("has " + std::to_string(value.size()) + " items, expected 4");
    Shape result;
    for (std::size_t i = 0; i < 4; ++i) {
        const bool is_open = i == open && value.at(i).whole() == -1;
        result.push_back(is_open ? channels : value.at(i).whole(1, kMaxExtent));
    }
    if (result[open] != channels) {
        value.at(open).fail("is " + std::to_string(result[open]) + ", but the input has " +
                            std::to_string(channels) + " channels");
    }
    return result;
}

/// Returns the bytes of a filter and of a bias with an element for each of the filter's output channels, its
/// last extent.
std::int64_t filter_bytes(const Inference& at, const Shape& filter) {
    std::int64_t bytes = 0;
    if (__builtin_add_overflow(at.bytes(filter), 4 * filter[3], &bytes))
        at.fail("the filter " + text_of(filter) + " is too large");
    return bytes;
}

void convolution(Inference& at) {
    Shape shape = filter(at, 2);
    if (at.layer.find("splits")) {
        if (const JsonValue splits = at.layer.at("splits"); !splits.json().is_null())
            shape[3] /= splits.whole(1, shape[3]);
    }
    const Shape& image = at.image();
    const Window moved = window(at, {shape[0], shape[1]}, image[1], image[2]);
    at.output = {image[0], moved.output[0], moved.output[1], shape[3]};
    at.op.parameter_bytes = filter_bytes(at, shape);
    at.op.flops = 2.0 * at.elements({shape[0], shape[1], shape[2]}) * at.elements(at.output);
}

void deconvolution(Inference& at) {
    // The transposed convolution reads the output of this layer, and its filter is [height, width, channels
    // of the output, channels of the input].
    const Shape shape = filter(at, 3);
    const Shape& image = at.image();
    at.output = at.numbers("output_shape", 4);
    at.output[0] = image[0];
    if (at.output[3] != shape[2]) {
        at.layer.at("output_shape")
            .fail("has " + std::to_string(at.output[3]) + " channels, but the filter gives " +
                  std::to_string(shape[2]));
    }
    const Window moved = window(at, {shape[0], shape[1]}, at.output[1], at.output[2]);
    if (moved.output != Shape{image[1], image[2]}) {
        at.layer.at("output_shape")
            .fail("does not fit: a convolution of it gives " + text_of(moved.output) + ", but the input is " +
                  text_of({image[1], image[2]}));
    }
    at.op.parameter_bytes = filter_bytes(at, shape);
    at.op.flops = 2.0 * at.elements({shape[0], shape[1], shape[2]}) * at.elements(image);
}

void inner_product(Inference& at) {
    const Shape& input = at.inputs[0];
    std::int64_t features = 1;
    for (std::size_t i = 1; i < input.size(); ++i) features *= input[i];
    const std::int64_t outputs = at.layer.at("num_outputs").whole(1, kMaxExtent);
    at.output = {input[0], outputs};
    at.op.parameter_bytes = filter_bytes(at, {1, 1, features, outputs});
    at.op.flops = 2.0 * static_cast<double>(features) * at.elements(at.output);
}

void pooling(Inference& at) {
    const Shape& image = at.image();
    const Shape size = at.numbers("ksize", 4);
    const Window moved = window(at, {size[1], size[2]}, image[1], image[2]);
    at.output = {image[0], moved.output[0], moved.output[1], image[3]};
    at.op.flops = 2.0 * at.elements({size[1], size[2]}) * at.elements(at.output);
}

void elementwise_of_one(Inference& at) {
    at.output = at.inputs[0];
    at.op.flops = at.elements(at.output);
}

void softmax(Inference& at) {
    const Shape& input = at.inputs[0];
    at.output = {input.front(), input.back()};
    if (const auto classes = at.layer.find("num_classes"); classes && !classes->json().is_null()) {
        at.output[1] = classes->whole(1, kMaxExtent);
    }
    at.op.flops = at.elements(at.output);
}

void sum(Inference& at) {
    at.output = at.inputs[0];
    for (const Shape& input : at.inputs) {
        if (input != at.output)
            at.fail("adds the shapes " + text_of(at.output) + " and " + text_of(input) +
                    ", expected equal ones");
    }
    at.op.flops = static_cast<double>(at.inputs.size() - 1) * at.elements(at.output);
}

void concatenation(Inference& at) {
    at.output = at.inputs[0];
    const auto rank = static_cast<std::int64_t>(at.output.size());
    std::int64_t dimension = at.layer.at("dim").whole(-rank, rank - 1);
    if (dimension < 0) dimension += rank;
    const auto joined_at = static_cast<std::size_t>(dimension);
    for (std::size_t i = 1; i < at.inputs.size(); ++i) {
        Shape expected = at.output;
        if (at.inputs[i].size() == expected.size()) expected[joined_at] = at.inputs[i][joined_at];
        if (at.inputs[i] != expected) {
            at.fail("joins the shapes " + text_of(at.inputs[0]) + " and " + text_of(at.inputs[i]) +
                    ", expected shapes that differ in dimension " + std::to_string(dimension) + " alone");
        }
        at.output[joined_at] += at.inputs[i][joined_at];
    }
    static constexpr std::array<int, 4> kChannelsFirst{0, 2, 3, 1};
    at.op.attributes["dim"] =
        std::to_string(rank == 4 ? kChannelsFirst[joined_at] : static_cast<int>(dimension));
}

/// Sets the output to `shape` with the batch size of the input; an extent of -1 gets the remaining elements.
void reshape_to(Inference& at, const JsonValue& shape) {
    const std::size_t rank = shape.size();
    if (rank == 0) shape.fail("is empty, expected at least one dimension");
    std::optional<std::size_t> open;
    std::int64_t rest = at.bytes(at.inputs[0]) / 4;
    for (std::size_t i = 0; i < rank; ++i) {
        std::int64_t extent = shape.at(i).whole(-1, kMaxExtent);
        if (extent == 0) shape.at(i).fail("is 0, expected at least 1");
        if (extent == -1) {
            if (open) shape.at(i).fail("is -1, expected one extent of -1 at most");
            open = i;
            extent = 1;
        } else if (i == 0) {
            extent = at.inputs[0][0];
        }
        at.output.push_back(extent);
        if (rest % extent != 0) shape.fail("does not fit the " + text_of(at.inputs[0]) + " of its input");
        rest /= extent;
    }
    if (open)
        at.output[*open] = rest;
    else if (rest != 1)
        shape.fail("has fewer elements than the " + text_of(at.inputs[0]) + " of its input");
}

void reshape(Inference& at) {
    reshape_to(at, at.layer.at("output_shape"));
}

void input(Inference& at) {
    const JsonValue tensor = at.layer.at("tensor");
    if (!at.inputs.empty()) {
        // In Exprimo an input layer with a parent flattens it.
        at.op.kind = "reshape";
        reshape_to(at, tensor);
        return;
    }
    tensor.for_each_item([&](const JsonValue& extent) { at.output.push_back(extent.whole(1, kMaxExtent)); });
    if (at.output.empty()) tensor.fail("is empty, expected the batch size at least");
    at.output[0] = at.batch;
}

void upsampling(Inference& at) {
    const JsonValue size = at.layer.at("ksize");
    const Shape factor = size.size() == 2 ? at.numbers("ksize", 2) : at.numbers("ksize", 4);
    const std::size_t rows = factor.size() == 2 ? 0 : 1;
    const Shape& image = at.image();
    at.output = {image[0], 0, 0, image[3]};
    for (std::size_t i = 0; i < 2; ++i) {
        if (__builtin_mul_overflow(image[i + 1], factor[rows + i], &at.output[i + 1]))
            size.fail("is too large");
    }
}

constexpr std::array<LayerType, 14> kTypes{{
    {"Input", "input", 0, 1, input},
    {"Convolution", "conv2d", 1, 1, convolution},
    {"Deconvolution", "conv_transpose2d", 1, 1, deconvolution},
    {"InnerProduct", "linear", 1, 1, inner_product},
    {"Pooling", "max_pool2d", 1, 1, pooling},
    {"AvgPool", "avg_pool2d", 1, 1, pooling},
    {"Dropout", "dropout", 1, 1, elementwise_of_one},
    {"Softmax", "softmax", 1, 1, softmax},
    {"Sigmoid", "sigmoid", 1, 1, elementwise_of_one},
    // Exprimo counts no parameters for this layer.
    {"BatchNorm", "batch_norm", 1, 1, elementwise_of_one},
    {"Concatenate", "cat", 1, kAny, concatenation},
    {"Elementwise", "add", 2, kAny, sum},
    {"Reshape", "reshape", 1, 1, reshape},
    {"UpSampling2D", "upsample", 1, 1, upsampling},
}};

}  // namespace

std::int64_t Inference::bytes(const Shape& shape) const {
    try {
        return make_tensor(shape).bytes;
    } catch (const std::invalid_argument& error) {
        fail(error.what());
    }
}

Shape Inference::numbers(const std::string& key, std::size_t count, std::int64_t least) const {
    const JsonValue value = layer.at(key);
    if (value.size() != count)
        value.fail("has " + std::to_string(value.size()) + " items, expected " + std::to_string(count));
    Shape result;
    value.for_each_item([&](const JsonValue& item) { result.push_back(item.whole(least, kMaxExtent)); });
    return result;
}

const Shape& Inference::image() const {
    if (inputs[0].size() != 4)
        fail("has an input of shape " + text_of(inputs[0]) + ", expected [batch, height, width, channels]");
    return inputs[0];
}

const LayerType& layer_type(const JsonValue& layer) {
    const std::string type = layer.at("type").text();
    const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                           [&](const LayerType& entry) { return entry.type == type; });
    if (found != kTypes.end()) return *found;
    std::string known = "Block";
    for (const LayerType& entry : kTypes) known += ", " + std::string(entry.type);
    layer.at("type").fail("is " + in_quotes(type) + ", expected one of " + known);
}

std::map<std::string, std::string> layer_attributes(const JsonValue& layer) {
    static constexpr std::array<std::string_view, 7> kOwnOrder{"filter", "strides", "padding",     "ksize",
                                                               "tensor", "dim",     "output_shape"};
    static constexpr std::array<std::string_view, 2> kStructure{"parents", "device"};
    const auto contains = [](const auto& keys, const std::string& key) {
        return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    std::map<std::string, std::string> attributes;
    layer.for_each_member([&](const std::string& key, const JsonValue& value) {
        if (contains(kStructure, key)) return;
        attributes[key == "type" || contains(kOwnOrder, key) ? "exprimo." + key : key] = value.json().dump();
    });
    return attributes;
}

Tensor channels_first(const Inference& at) {
    Shape shape = at.output;
    if (shape.size() == 4) shape = {shape[0], shape[3], shape[1], shape[2]};
    at.bytes(shape);
    return make_tensor(std::move(shape));
}

}  // namespace placewright::exprimo
