// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torch/script_values.hpp"

#include <cstdint>
#include <string>

#include "core/io/pytorch/scripted_program.hpp"

namespace placewright {

std::optional<DType> dtype_of(at::ScalarType type) {
    switch (type) {
        case at::kDouble:
        case at::kComplexFloat:  // as wide as two of its parts
            return DType::float64;
        case at::kFloat:
            return DType::float32;
        case at::kHalf:
            return DType::float16;
        case at::kBFloat16:
            return DType::bfloat16;
        case at::kLong:
            return DType::int64;
        case at::kInt:
        case at::kQInt32:
            return DType::int32;
        case at::kShort:
            return DType::int16;
        case at::kChar:
        case at::kQInt8:
            return DType::int8;
        case at::kByte:
        case at::kQUInt8:
            return DType::uint8;
        case at::kBool:
            return DType::boolean;
        default:
            return {};
    }
}

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

Tensor described(const at::Tensor& tensor) {
    const auto dtype = dtype_of(tensor.scalar_type());
    if (!dtype)
        throw ScriptError(ScriptError::Remedy::none, "",
                          std::string("has a tensor of ") + c10::toString(tensor.scalar_type()) +
                              ", a type that is not supported");
    auto bytes = static_cast<std::int64_t>(tensor.element_size());
    for (const std::int64_t extent : tensor.sizes()) {
        if (__builtin_mul_overflow(bytes, extent, &bytes))
            throw ScriptError(ScriptError::Remedy::inputs, "",
                              "has a tensor of more bytes than 64 bits count");
    }
    return {tensor.sizes().vec(), *dtype, bytes};
}

bool may_hold_tensors(const c10::Type& type) {
    switch (type.kind()) {
        case c10::TypeKind::IntType:
        case c10::TypeKind::FloatType:
        case c10::TypeKind::BoolType:
        case c10::TypeKind::NumberType:
        case c10::TypeKind::StringType:
            return false;
        case c10::TypeKind::ListType:
            return may_hold_tensors(*type.containedType(0));
        default:
            return true;
    }
}

}  // namespace placewright
