// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace placewright {
namespace {

using onnx::TensorProto;

std::int64_t saturated(double value) {
    constexpr double kLimit = 9223372036854775808.0;
    if (std::isnan(value)) return 0;
    if (value >= kLimit) return std::numeric_limits<std::int64_t>::max();
    if (value < -kLimit) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(value);
}

template <class Element>
std::vector<double> elements_of(const std::string& bytes) {
    std::vector<double> result(bytes.size() / sizeof(Element));
    for (std::size_t i = 0; i < result.size(); ++i) {
        Element element;
        std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
        result[i] = static_cast<double>(element);
    }
    return result;
}

std::vector<double> content(const TensorProto& tensor) {
    const auto list = [](const auto& items) { return std::vector<double>(items.begin(), items.end()); };
    const bool raw = tensor.has_raw_data();
    const std::string& bytes = tensor.raw_data();
    switch (tensor.data_type()) {
        case TensorProto::FLOAT:
            return raw ? elements_of<float>(bytes) : list(tensor.float_data());
        case TensorProto::DOUBLE:
            return raw ? elements_of<double>(bytes) : list(tensor.double_data());
        case TensorProto::INT64:
            return raw ? elements_of<std::int64_t>(bytes) : list(tensor.int64_data());
        case TensorProto::INT32:
            return raw ? elements_of<std::int32_t>(bytes) : list(tensor.int32_data());
        case TensorProto::INT16:
            return raw ? elements_of<std::int16_t>(bytes) : list(tensor.int32_data());
        case TensorProto::INT8:
            return raw ? elements_of<std::int8_t>(bytes) : list(tensor.int32_data());
        case TensorProto::BOOL:
        case TensorProto::UINT8:
            return raw ? elements_of<std::uint8_t>(bytes) : list(tensor.int32_data());
        default:
            return {};
    }
}

}  // namespace

std::optional<Numbers> numbers_of(const TensorProto& tensor) {
    if (tensor.dims_size() > 1) return {};
    Numbers numbers;
    numbers.type = tensor.data_type();
    numbers.shape.assign(tensor.dims().begin(), tensor.dims().end());
    const std::int64_t count = numbers.shape.empty() ? 1 : numbers.shape[0];
    if (count < 0 || count > std::int64_t{kMostNumbers}) return {};
    numbers.values = content(tensor);
    if (numbers.values.size() != static_cast<std::size_t>(count)) return {};
    return numbers;
}

TensorProto stored_tensor(const Numbers& numbers) {
    TensorProto tensor;
    for (const std::int64_t extent : numbers.shape) tensor.add_dims(extent);
    tensor.set_data_type(numbers.type);
    for (const double value : numbers.values) {
        switch (numbers.type) {
            case TensorProto::INT64:
                tensor.add_int64_data(saturated(value));
                break;
            case TensorProto::DOUBLE:
                tensor.add_double_data(value);
                break;
            case TensorProto::FLOAT:
                tensor.add_float_data(static_cast<float>(value));
                break;
            default:
                tensor.add_int32_data(static_cast<std::int32_t>(saturated(value)));
                break;
        }
    }
    return tensor;
}

std::vector<std::int64_t> Numbers::whole() const {
    std::vector<std::int64_t> result;
    for (const double value : values) result.push_back(saturated(value));
    return result;
}

bool is_real(std::int32_t type) {
    return type == TensorProto::FLOAT || type == TensorProto::DOUBLE || type == TensorProto::FLOAT16 ||
           type == TensorProto::BFLOAT16;
}

}  // namespace placewright
