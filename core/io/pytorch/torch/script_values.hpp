// SPDX-License-Identifier: MIT
// Values of TorchScript: types of numbers, and the tensors in a value.
#pragma once

#include <optional>

#include <torch/script.h>

#include "core/graph/graph.hpp"

namespace placewright {

/// Maximum depth of calls and of modules in each other, and maximum number of steps of a run.
inline constexpr std::size_t kDeepest = 200, kMostSteps = 10'000'000;

/// Returns the type of numbers of a tensor in a network; nothing for a type that networks do not have.
std::optional<DType> dtype_of(at::ScalarType type);
at::ScalarType scalar_type(DType dtype);

/// Returns the shape, type and bytes of a tensor. Throws ScriptError for a type that is not supported, and
/// for a tensor of more bytes than 64 bits count.
Tensor described(const at::Tensor& tensor);

/// Returns whether values of the type may contain tensors.
bool may_hold_tensors(const c10::Type& type);

/// Calls `use` for every tensor in a value, including those in lists and tuples.
template <class Use>
void for_each_tensor(const c10::IValue& value, const Use& use) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) use(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
            if (tensor.defined()) use(tensor);
        }
    } else if (value.isList()) {
        if (!may_hold_tensors(*value.toList().elementType())) return;
        for (const c10::IValue& item : value.toListRef()) for_each_tensor(item, use);
    } else if (value.isTuple()) {
        for (const c10::IValue& item : value.toTupleRef().elements()) for_each_tensor(item, use);
    } else if (value.isGenericDict()) {
        for (const auto& item : value.toGenericDict()) for_each_tensor(item.value(), use);
    }
}

}  // namespace placewright
