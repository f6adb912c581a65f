// SPDX-License-Identifier: MIT
#include "core/measure/torch/kernel_request.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "core/base/text.hpp"
#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

using Json = nlohmann::json;

Json attribute(const Op& op, const std::string& key) {
    const auto found = op.attributes.find(key);
    return found == op.attributes.end() ? Json() : Json::parse(found->second, nullptr, false);
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
    switch (dtype) {
        case DType::float64:
            return at::kDouble;
        case DType::float32:
            return at::kFloat;
        case DType::float16:
            return at::kHalf;
        case DType::bfloat16:
            return at::kBFloat16;
        case DType::int64:
            return at::kLong;
        case DType::int32:
            return at::kInt;
        case DType::int16:
            return at::kShort;
        case DType::int8:
            return at::kChar;
        case DType::uint8:
            return at::kByte;
        case DType::boolean:
            return at::kBool;
    }
    return at::kFloat;
}

std::string shape_text(const Shape& shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(extent);
    }
    return text + ']';
}

std::int64_t product(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

void refuse(const std::string& reason) {
    throw std::invalid_argument(reason);
}

KernelRequest::KernelRequest(const Graph& graph, OpId op) : op_(graph.op(op)) {
    const auto shape_of = [](const Tensor& tensor, const std::string& of) {
        if (!tensor.shape) refuse("the network file gives no shape for " + of);
        return *tensor.shape;
    };
    for (const TensorRef& input : op_.inputs) {
        const Op& from = graph.op(input.op);
        inputs_.push_back(shape_of(from.outputs[input.output], "the output of " + in_quotes(from.name)));
        input_types_.push_back(from.outputs[input.output].dtype);
    }
    // What an op of a training graph keeps, after the outputs of the model, stays within autograd.
    const bool masked = kind_info(op_.kind).mask_bytes > 0 && op_.outputs.size() == 2;
    const bool keeps =
        op_.kind == "multi_head_attention_forward" && op_.outputs.size() > 1 && !op_.outputs.back().shape;
    for (std::size_t k = 0; k < op_.outputs.size() - (masked || keeps ? 1 : 0); ++k)
        outputs_.push_back(shape_of(op_.outputs[k], "its output"));
    read_held();
}

void KernelRequest::read_held() {
    const Json names = attribute(op_, "parameters"), sizes = attribute(op_, "parameter_bytes"),
               shapes = attribute(op_, "parameter_shapes"), buffers = attribute(op_, "buffers");
    if (!names.is_array() || !sizes.is_array() || names.size() != sizes.size()) return;
    const auto is_buffer = [&](const Json& name) {
        return buffers.is_array() && std::ranges::find(buffers, name) != buffers.end();
    };
    const std::int64_t element = bytes_per_element(parameter_type(op_));
    const bool shaped = shapes.is_array() && shapes.size() == names.size();
    for (std::size_t k = 0; k < names.size(); ++k) {
        if (!sizes[k].is_number_integer()) return;
        const bool trained = !is_buffer(names[k]);
        // A further name of a tied parameter has 0 bytes.
        if (trained && sizes[k] > 0) counts_.push_back(sizes[k].get<std::int64_t>() / element);
        if (!shaped || !shapes[k].is_array() || (sizes[k] == 0 && names.size() > 1)) continue;
        Shape shape;
        for (const Json& extent : shapes[k]) {
            if (!extent.is_number_integer()) return;
            shape.push_back(extent.get<std::int64_t>());
        }
        held_shapes_.push_back(std::move(shape));
        held_trained_.push_back(trained);
    }
    // Subtracted one by one, since the sum of what a file says may not fit a number.
    std::int64_t left = parameter_count();
    const bool exceeds = std::ranges::any_of(counts_, [&](std::int64_t count) {
        if (count < 0 || count > left) return true;
        left -= count;
        return false;
    });
    if (exceeds || left != 0) counts_.clear();
}

void KernelRequest::expect_inputs(std::size_t least) const {
    if (inputs_.size() < least)
        refuse("it reads " + std::to_string(inputs_.size()) + " tensors, expected at least " +
               std::to_string(least));
}

void KernelRequest::expect_rank(std::size_t rank, std::size_t input) const {
    expect_inputs(input + 1);
    if (inputs_[input].size() != rank)
        refuse("its input is " + shape_text(inputs_[input]) + ", expected " + std::to_string(rank) +
               " dimensions");
}

std::optional<std::vector<std::int64_t>> KernelRequest::integers(const std::string& key) const {
    return integer_attribute(op_, key);
}

std::optional<std::int64_t> KernelRequest::integer(const std::string& key) const {
    const auto values = integers(key);
    if (!values || values->size() != 1) return std::nullopt;
    return values->front();
}

std::optional<std::vector<std::int64_t>> KernelRequest::window(const std::string& key,
                                                               std::size_t dimensions) const {
    auto values = integers(key);
    if (!values) return std::nullopt;
    if (values->size() == 1) values->resize(dimensions, values->front());
    return values;
}

std::string KernelRequest::text(const std::string& key) const {
    const Json value = attribute(op_, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::int64_t> KernelRequest::dim(std::size_t rank) const {
    const auto value = integer("dim");
    const auto count = static_cast<std::int64_t>(rank);
    if (!value || *value < -count || *value >= count) return std::nullopt;
    return *value < 0 ? *value + count : *value;
}

std::int64_t KernelRequest::parameter_count() const {
    return op_.parameter_bytes / bytes_per_element(parameter_type(op_));
}

void KernelRequest::expect_parameters(const std::vector<Shape>& shapes) const {
    std::int64_t count = 0;
    for (const Shape& shape : shapes) count += product(shape);
    if (count != parameter_count())
        refuse("it has " + std::to_string(parameter_count()) + " parameters, expected " +
               std::to_string(count) + " for its shapes and attributes");
}

namespace {

/// An op that changes its input has more outputs than its function where the input's memory is read later
/// through other views: the whole of which the input is a part. They are made of the result, and of zeros
/// beyond it.
Kernel with_changed_views(Kernel kernel, const KernelRequest& request) {
    return {
        std::move(kernel.parameters), std::move(kernel.buffers),
        [forward = std::move(kernel.forward),
         shapes = request.output_shapes()](const KernelCall& call) -> Tensors {
            Tensors results = forward(call);
            while (!results.empty() && results.size() < shapes.size()) {
                const Shape& shape = shapes[results.size()];
                const at::Tensor part = results[0].flatten();
                results.push_back(at::constant_pad_nd(part, {0, product(shape) - part.numel()}).view(shape));
            }
            return results;
        }};
}

}  // namespace

Kernel make_kernel(const Graph& graph, OpId op) {
    const KernelRequest request(graph, op);
    using Maker = std::optional<Kernel> (*)(const KernelRequest&);
    static constexpr std::array<Maker, 6> kMakers{make_view,        make_product,   make_image_kernel,
                                                  make_elementwise, make_reduction, make_other};
    for (const Maker make : kMakers) {
        if (auto kernel = make(request)) {
            // So does "y[:2] = x", which is a copy.
            const bool changes = make == make_elementwise || request.kind() == "clone";
            if (changes && request.outputs() > 1) return with_changed_views(*std::move(kernel), request);
            return *std::move(kernel);
        }
    }
    refuse("kind " + in_quotes(request.kind()) + " cannot be run");
}

}  // namespace placewright
