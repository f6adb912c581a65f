// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torch/script_operators.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/io/pytorch/torch/script_shapes.hpp"
#include "core/io/pytorch/torch/script_values.hpp"

namespace placewright {
namespace {

namespace jit = torch::jit;
using c10::IValue;

/// Returns whether an operator is computed even if tensors have no numbers: its arguments are sizes.
bool computes_sizes(std::string_view op) {
    static const std::unordered_set<std::string_view> ops{"add",
                                                          "sub",
                                                          "mul",
                                                          "div",
                                                          "rsub",
                                                          "floor_divide",
                                                          "remainder",
                                                          "floor",
                                                          "ceil",
                                                          "round",
                                                          "neg",
                                                          "abs",
                                                          "pow",
                                                          "sqrt",
                                                          "to",
                                                          "type_as",
                                                          "Int",
                                                          "Float",
                                                          "Bool",
                                                          "item",
                                                          "IntImplicit",
                                                          "FloatImplicit",
                                                          "eq",
                                                          "ne",
                                                          "lt",
                                                          "gt",
                                                          "le",
                                                          "ge",
                                                          "ScalarImplicit",
                                                          "detach",
                                                          "clone",
                                                          "contiguous",
                                                          "clamp",
                                                          "min",
                                                          "max",
                                                          "minimum",
                                                          "maximum",
                                                          "logical_and",
                                                          "logical_or",
                                                          "logical_not",
                                                          "bitwise_and",
                                                          "bitwise_not",
                                                          "bitwise_or",
                                                          "__and__",
                                                          "__or__",
                                                          "is_nonzero",
                                                          "true_divide",
                                                          "trunc",
                                                          "add_",
                                                          "sub_",
                                                          "mul_",
                                                          "div_",
                                                          "dim",
                                                          "size",
                                                          "numel",
                                                          "len",
                                                          "is_floating_point",
                                                          "tensor",
                                                          "scalar_tensor",
                                                          "NumToTensor",
                                                          "format",
                                                          "device",
                                                          "dtype",
                                                          "lift_fresh"};
    return ops.contains(op);
}

}  // namespace

bool construct(jit::Node& node, std::vector<IValue>& stack) {
    const auto give = [&](IValue value) {
        stack.clear();
        stack.push_back(std::move(value));
        return true;
    };
    switch (node.kind()) {
        case c10::prim::ListConstruct: {
            c10::impl::GenericList list(node.output()->type()->expectRef<c10::ListType>().getElementType());
            for (IValue& item : stack) list.push_back(std::move(item));
            return give(std::move(list));
        }
        case c10::prim::TupleConstruct: {
            const auto type = node.output()->type()->expect<c10::TupleType>();
            return give(type->name() ? c10::ivalue::Tuple::createNamed(std::move(stack), type)
                                     : c10::ivalue::Tuple::create(std::move(stack)));
        }
        case c10::prim::DictConstruct: {
            const auto& type = node.output()->type()->expectRef<c10::DictType>();
            c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
            for (std::size_t i = 0; i + 1 < stack.size(); i += 2)
                dict.insert_or_assign(stack[i], stack[i + 1]);
            return give(std::move(dict));
        }
        case c10::prim::ListUnpack: {
            const auto items = stack.at(0).toListRef().vec();
            stack = items;
            return true;
        }
        case c10::prim::TupleUnpack: {
            const auto items = stack.at(0).toTupleRef().elements().vec();
            stack = items;
            return true;
        }
        case c10::prim::TupleSlice: {
            const auto items = stack.at(0).toTupleRef().elements().vec();
            return give(c10::ivalue::Tuple::create(std::vector<IValue>(
                items.begin() + node.i(c10::attr::beg), items.begin() + node.i(c10::attr::end))));
        }
        case c10::prim::CreateObject: {
            const auto type = node.output()->type()->expect<c10::ClassType>();
            return give(c10::ivalue::Object::create(type, type->numAttributes()));
        }
        case c10::prim::isinstance: {
            const auto type = stack.at(0).type();
            return give(std::ranges::any_of(node.tys(c10::attr::types),
                                            [&](const auto& wanted) { return type->isSubtypeOf(*wanted); }));
        }
        default:
            return false;
    }
}

void take_as_number(const jit::Node& node, std::vector<IValue>& stack) {
    static const std::unordered_set<std::string_view> ops{"add", "sub", "mul", "div"};
    if (stack.size() < 2 || !ops.contains(operator_name(node)) ||
        node.input(1)->node()->kind() != c10::prim::Constant)
        return;
    if (!stack[1].isTensor() || !stack[1].toTensor().defined() || stack[1].toTensor().dim() != 0) return;
    at::Tensor number = at::empty_like(stack[1].toTensor());
    if (!is_meta(number)) number.copy_(stack[1].toTensor());
    number.unsafeGetTensorImpl()->set_wrapped_number(true);
    stack[1] = std::move(number);
}

bool moves_values(const c10::FunctionSchema* schema) {
    return schema != nullptr && std::ranges::any_of(schema->arguments(), [](const c10::Argument& argument) {
               return argument.type()->hasFreeVariables();
           });
}

bool repeats_too_often(const jit::Node& node, const std::vector<IValue>& stack) {
    const std::string_view op = operator_name(node);
    static const std::unordered_set<std::string_view> ops{"mul",    "ljust", "rjust",
                                                          "center", "zfill", "expandtabs"};
    const auto repeated = [](const IValue& each) { return each.isList() || each.isString(); };
    return ops.contains(op) && std::ranges::any_of(stack, repeated) &&
           std::ranges::any_of(
               stack, [](const IValue& value) { return value.isInt() && value.toInt() > kMostElements; });
}

void forget_numbers(const jit::Node& node, std::vector<IValue>& stack) {
    const std::string_view op = operator_name(node);
    bool has_tensors = false, are_sizes = computes_sizes(op);
    for (const IValue& value : stack) {
        for_each_tensor(value, [&](const at::Tensor& tensor) {
            has_tensors = true;
            if (tensor.dim() > 0 || is_meta(tensor)) are_sizes = false;
        });
    }
    const auto* const schema = node.maybeSchema();
    if (are_sizes || (!has_tensors && computes_sizes(op)) || moves_values(schema)) return;
    for (std::size_t i = 0; i < stack.size(); ++i) {
        IValue& value = stack[i];
        if (value.isTensor()) {
            const bool repeats = op == "repeat_interleave" && i == 1 && value.toTensor().dim() == 0;
            if (!repeats) value = without_numbers(value.toTensor());
        } else if (value.isTensorList()) {
            c10::List<at::Tensor> items;
            for (const at::Tensor& tensor : value.toTensorVector()) items.push_back(without_numbers(tensor));
            value = items;
        } else if (schema != nullptr && i < schema->arguments().size() &&
                   schema->arguments()[i].name() == "device") {
            value = at::Device(at::kMeta);
        }
    }
}

bool reaches_out(const jit::Node& node) {
    const std::string_view name = node.kind().toQualString();
    const bool of_pytorch =
        name.starts_with("aten::") || name.starts_with("prim::") || name.starts_with("quantized::");
    if (name == "aten::is_autocast_enabled" || name == "aten::is_autocast_cpu_enabled")
        return false;  // only queries
    return !of_pytorch || node.hasSideEffects() || name == "aten::save" || name == "aten::from_file" ||
           name == "aten::manual_seed";
}

}  // namespace placewright
