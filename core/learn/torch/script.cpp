// SPDX-License-Identifier: MIT
// The calls of operators that a TorchScript model makes, with the sizes of their tensors.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <ATen/Parallel.h>
#include <caffe2/serialize/file_adapter.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/script.h>

#include "core/learn/torch/script_shapes.hpp"
#include "core/learn/torch_script.hpp"

namespace placewright {
namespace {

namespace jit = torch::jit;
using c10::IValue;
using Remedy = ScriptError::Remedy;

constexpr std::size_t kMostSteps = 10'000'000, kMostCalls = 1'000'000, kDeepest = 200, kDeepestCode = 500;
/// Of all texts and lists that operators give, one that grows counted again each time.
constexpr std::size_t kMostElementsInAll = 100'000'000;

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

/// Whether values of the type may have tensors in them.
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

/// Calls `use` for every tensor in a value, lists and tuples among them.
template <class Use>
void for_each_tensor(const IValue& value, const Use& use) {
    if (value.isTensor()) {
        if (value.toTensor().defined()) use(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
            if (tensor.defined()) use(tensor);
        }
    } else if (value.isList()) {
        if (!may_hold_tensors(*value.toList().elementType())) return;
        for (const IValue& item : value.toListRef()) for_each_tensor(item, use);
    } else if (value.isTuple()) {
        for (const IValue& item : value.toTupleRef().elements()) for_each_tensor(item, use);
    } else if (value.isGenericDict()) {
        for (const auto& item : value.toGenericDict()) for_each_tensor(item.value(), use);
    }
}

/// Operators that are computed even where tensors have no numbers: what they are given are sizes.
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

/// Proposes what a model is called with, by the layers that read its arguments. Only looks: nothing is run, and calls are followed for a
/// bounded number of steps.
class InputProposal {
public:
    /// An input of a usual size for each that "forward" needs; empty if one cannot be told.
    static std::vector<ExampleInput> of(const jit::Module& module) {
        try {
            return InputProposal().inputs(module);
        } catch (const std::exception&) {  // what is wrong with the model is told when it is read
            return {};
        }
    }

private:
    /// Values that are the same in every call: modules, their attributes, constants.
    using Known = std::unordered_map<const jit::Value*, IValue>;

    std::vector<ExampleInput> inputs(const jit::Module& module) {
        const jit::Method forward = module.get_method("forward");
        const auto& arguments = forward.function().getSchema().arguments();
        const std::shared_ptr<jit::Graph> graph = forward.graph();
        const Known known{{graph->inputs().at(0), module._ivalue()}};
        std::vector<ExampleInput> inputs;
        for (std::size_t i = 1; i < arguments.size(); ++i) {
            if (arguments[i].default_value()) continue;
            auto input = input_for(*graph->inputs().at(i), known, 0);
            if (!input) return {};
            inputs.push_back(*std::move(input));
        }
        return inputs;
    }

    /// What the first layer takes that reads a value, here or in what is called with it.
    std::optional<ExampleInput> input_for(const jit::Value& value, const Known& known, std::size_t depth) {
        if (depth > kDeepest) return {};
        for (const jit::Use& use : value.uses()) {
            count_step();
            const jit::Node& node = *use.user;
            const bool calls_function = node.kind() == c10::prim::CallFunction;
            auto input = calls_function || node.kind() == c10::prim::CallMethod ? input_for_call(use, calls_function, known, depth)
                                                                                : input_for_layer(use, known);
            if (input) return input;
        }
        return {};
    }

    std::optional<ExampleInput> input_for_call(const jit::Use& use, bool calls_function, const Known& known, std::size_t depth) {
        const jit::Node& node = *use.user;
        jit::Function* function = nullptr;
        if (calls_function) {
            function = node.input(0)->type()->expectRef<c10::FunctionType>().function();
        } else if (const auto object = known_value(node.input(0), known); object && object->isObject()) {
            function = object->toObjectRef().type()->findMethod(node.s(c10::attr::name));
        }
        jit::GraphFunction* const scripted = function != nullptr ? jit::tryToGraphFunction(*function) : nullptr;
        const std::size_t first = calls_function ? 1 : 0;  // the function itself is no argument
        if (scripted == nullptr || use.offset < first) return {};
        const std::shared_ptr<jit::Graph> graph = scripted->graph();
        Known arguments;
        for (std::size_t i = first; i < node.inputs().size(); ++i) {
            if (auto argument = known_value(node.input(i), known)) arguments.emplace(graph->inputs().at(i - first), *std::move(argument));
        }
        return input_for(*graph->inputs().at(use.offset - first), arguments, depth + 1);
    }

    /// Nothing if the sizes of the layer's weight do not tell.
    std::optional<ExampleInput> input_for_layer(const jit::Use& use, const Known& known) {
        const jit::Node& node = *use.user;
        const std::string_view op = node.kind().toQualString();
        if (op == "aten::embedding" && use.offset == 1) return ExampleInput{{1, 128}, DType::int64};
        const bool is_named = op == "aten::conv1d" || op == "aten::conv2d" || op == "aten::conv3d",
                   is_convolution = op == "aten::_convolution";
        if (use.offset != 0 || !(is_named || is_convolution || op == "aten::linear")) return {};
        const auto value = known_value(node.input(1), known);
        if (!value || !value->isTensor() || !value->toTensor().defined()) return {};
        const at::Tensor weight = value->toTensor();
        const auto dtype = weight.is_floating_point() ? dtype_of(weight.scalar_type()) : std::nullopt;
        if (!dtype) return {};
        if (op == "aten::linear") return weight.dim() == 2 ? std::optional(ExampleInput{{1, weight.size(1)}, *dtype}) : std::nullopt;
        const auto groups = known_value(node.input(is_convolution ? 8 : 6), known);
        const auto transposed = is_convolution ? known_value(node.input(6), known) : std::optional<IValue>(false);
        std::int64_t channels = 0;
        if (!groups || !groups->isInt() || !transposed || !transposed->isBool() || transposed->toBool() || weight.dim() < 3 ||
            weight.dim() > 5 || __builtin_mul_overflow(weight.size(1), groups->toInt(), &channels) || channels < 1)
            return {};
        ExampleInput input{{1, channels}, *dtype};
        if (weight.dim() == 5) input.shape.push_back(16);    // frames
        const std::int64_t side = channels == 1 ? 28 : 224;  // of MNIST, of ImageNet
        while (input.shape.size() < static_cast<std::size_t>(weight.dim())) input.shape.push_back(side);
        return input;
    }

    /// Of an argument, a constant, or an attribute of a module.
    std::optional<IValue> known_value(const jit::Value* value, const Known& known) {
        std::vector<std::string> names;
        for (; value->node()->kind() == c10::prim::GetAttr; value = value->node()->input()) {
            count_step();
            names.push_back(value->node()->s(c10::attr::name));
        }
        count_step();
        const auto argument = known.find(value);
        auto constant = argument == known.end() ? jit::toIValue(value) : c10::optional<IValue>(argument->second);
        if (!constant) return {};
        IValue found = *std::move(constant);
        for (const std::string& name : std::views::reverse(names)) {
            if (!found.isObject() || !found.toObjectRef().type()->findAttributeSlot(name)) return {};
            found = found.toObjectRef().getAttr(name);
        }
        return found;
    }

    void count_step() {
        constexpr std::size_t kMost = 100'000;
        if (++steps_ > kMost) throw std::length_error("takes more steps than are followed");
    }

    std::size_t steps_ = 0;
};

class Walk {
public:
    Walk(jit::Module module, std::vector<ExampleInput> examples, bool run)
        : module_(std::move(module)), examples_(std::move(examples)), run_(run) {}

    ScriptedProgram read() {
        const auto forward = module_.find_method("forward");
        if (!forward) throw ScriptError(Remedy::none, "", "has no method \"forward\", expected a model");
        paths_[module_._ivalue().get()] = "";
        std::vector<IValue> arguments{module_._ivalue()};
        make_inputs(forward->function(), arguments);
        const IValue result = call(forward->function(), std::move(arguments), "");
        for_each_tensor(result, [&](const at::Tensor& tensor) {
            const std::string name = name_of(tensor);
            if (!name.empty() && std::ranges::find(program_.outputs, name) == program_.outputs.end()) program_.outputs.push_back(name);
        });
        if (program_.outputs.empty())
            throw ScriptError(Remedy::none, "", "its method \"forward\" gives no tensor that depends on its inputs");
        for (std::size_t i = 0; i < program_.parameters.size(); ++i) parameter_index_.emplace(program_.parameters[i].name, i);
        list_parameters(module_._ivalue(), "", 0);
        return std::move(program_);
    }

private:
    using Frame = std::unordered_map<const jit::Value*, IValue>;
    using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;
    struct Named {
        WeakTensor tensor;
        std::string name;
        std::size_t calls;  ///< before it got its name
    };
    struct Change {
        WeakStorage storage;
        std::size_t call;
    };

    [[noreturn]] void fail(const jit::Node& node, const std::string& problem, Remedy remedy = Remedy::none) const {
        std::string place = node.kind().toQualString();
        if (!scope_.empty()) place += " in " + scope_;
        if (const auto line = node.sourceRange().file_line_col()) {
            const auto& [file, row, column] = *line;
            const std::string name = std::filesystem::path(file).filename().string();
            // A traced model has no source: these are names that PyTorch gave classes of the same name.
            if (!name.starts_with("___torch_mangle")) place += " (" + name + ':' + std::to_string(row) + ')';
        }
        throw ScriptError(remedy, place, problem);
    }

    // What tensors are called. A tensor may be gone, but its address is not given to another one.

    /// A call that has written into the memory of a tensor since it got its name, through a view or as what this is a view of, gives it
    /// anew.
    std::string name_of(const at::Tensor& tensor) {
        const auto found = names_.find(tensor.unsafeGetTensorImpl());
        const auto change = tensor.has_storage() ? changes_.find(tensor.storage().unsafeGetStorageImpl()) : changes_.end();
        if (change == changes_.end() || (found != names_.end() && found->second.calls > change->second.call))
            return found == names_.end() ? "" : found->second.name;
        AtenCall& call = program_.calls[change->second.call];
        const std::string name = unused(call.outputs.front().name);
        call.outputs.push_back({name, described(tensor)});
        give_name(tensor, name);
        return name;
    }
    void give_name(const at::Tensor& tensor, const std::string& name) {
        names_.insert_or_assign(tensor.unsafeGetTensorImpl(), Named{WeakTensor(tensor.getIntrusivePtr()), name, program_.calls.size()});
    }
    std::string unused(const std::string& wanted) {
        std::string name = wanted;
        while (!used_.insert(name).second) name = wanted + '@' + std::to_string(++repeats_[wanted]);
        return name;
    }
    static Tensor described(const at::Tensor& tensor) {
        const auto dtype = dtype_of(tensor.scalar_type());
        if (!dtype)
            throw ScriptError(Remedy::none, "",
                              std::string("has a tensor of ") + c10::toString(tensor.scalar_type()) + ", which is not known here");
        auto bytes = static_cast<std::int64_t>(tensor.element_size());
        for (const std::int64_t extent : tensor.sizes()) {
            if (__builtin_mul_overflow(bytes, extent, &bytes))
                throw ScriptError(Remedy::inputs, "", "has a tensor of more bytes than 64 bits count");
        }
        return {tensor.sizes().vec(), *dtype, bytes};
    }

    at::Tensor example_tensor(const std::string& name) {
        if (next_example_ == examples_.size()) throw_missing();
        const ExampleInput& example = examples_[next_example_++];
        const auto options = at::TensorOptions().dtype(scalar_type(example.dtype)).device(run_ ? at::kCPU : at::kMeta);
        const at::Tensor tensor = run_ ? at::zeros(example.shape, options) : at::empty(example.shape, options);
        program_.inputs.push_back({unused(name), described(tensor)});
        give_name(tensor, program_.inputs.back().name);
        return tensor;
    }

    [[noreturn]] void throw_missing() const {
        throw ScriptError(Remedy::inputs, "",
                          "is called with " + wanted_ + ", and a TorchScript file does not say how large " +
                              (wanted_.find(',') == std::string::npos ? "that is" : "they are"),
                          examples_.empty() ? InputProposal::of(module_) : std::vector<ExampleInput>());
    }

    IValue example(const c10::TypePtr& type, const std::string& name) {
        if (type->kind() == c10::TypeKind::TensorType) return example_tensor(name);
        if (type->kind() == c10::TypeKind::TupleType) {
            std::vector<IValue> items;
            for (const auto& item : type->containedTypes()) items.push_back(example(item, name));
            return c10::ivalue::Tuple::create(std::move(items));
        }
        if (type->isSubtypeOf(*c10::ListType::ofTensors())) {
            c10::List<at::Tensor> items;
            if (next_example_ == examples_.size()) throw_missing();
            while (next_example_ < examples_.size()) items.push_back(example_tensor(name));
            return items;
        }
        throw ScriptError(Remedy::none, "forward",
                          "its argument " + name + " is a " + type->str() + ", which cannot be given here: trace the model with " +
                              "torch.jit.trace, which takes tensors alone");
    }

    void make_inputs(jit::Function& forward, std::vector<IValue>& arguments) {
        const auto& schema = forward.getSchema();
        for (const auto& argument : std::span(schema.arguments()).subspan(1)) {
            if (!argument.default_value()) wanted_ += (wanted_.empty() ? "" : ", ") + argument.name();
        }
        for (const auto& argument : std::span(schema.arguments()).subspan(1)) {
            const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
            const c10::TypePtr type = optional ? argument.type()->castRaw<c10::OptionalType>()->getElementType() : argument.type();
            const bool wanted = type->kind() == c10::TypeKind::TensorType && next_example_ < examples_.size();
            if (argument.default_value() && !wanted) {
                arguments.push_back(*argument.default_value());
            } else if (optional && !wanted) {
                arguments.emplace_back();
            } else {
                arguments.push_back(example(type, argument.name()));
            }
        }
        if (next_example_ < examples_.size())
            throw ScriptError(Remedy::inputs, "",
                              "is called with " + wanted_ + ": " + std::to_string(examples_.size()) + " tensors were given, expected " +
                                  std::to_string(next_example_));
    }

    IValue call(jit::Function& function, std::vector<IValue> arguments, const std::string& scope) {
        jit::GraphFunction* const scripted = jit::tryToGraphFunction(function);
        if (scripted == nullptr) throw ScriptError(Remedy::none, function.name(), "is not written in TorchScript");
        if (++depth_ > kDeepest)
            throw ScriptError(Remedy::none, function.name(), "calls more than " + std::to_string(kDeepest) + " functions in each other");
        const std::shared_ptr<jit::Graph> graph = scripted->graph();
        Frame frame;
        for (std::size_t i = 0; i < arguments.size(); ++i) frame[graph->inputs()[i]] = std::move(arguments[i]);
        run(*graph->block(), frame, scope);
        --depth_;
        return frame.at(graph->outputs().at(0));
    }

    void run(const jit::Block& block, Frame& frame, const std::string& scope) {
        for (const jit::Node* node : block.nodes()) {
            if (++steps_ > kMostSteps)
                fail(*node, "takes more than " + std::to_string(kMostSteps) + " steps, which is the most that is followed");
            run(*const_cast<jit::Node*>(node), frame, scope);
        }
    }

    void run(jit::Node& node, Frame& frame, const std::string& scope) {
        scope_ = scope;
        const auto input = [&](std::size_t i) -> IValue& { return frame.at(node.input(i)); };
        switch (node.kind()) {
            case c10::prim::Constant: {
                auto value = jit::toIValue(node.output());  // none for a function
                frame[node.output()] = value ? *std::move(value) : IValue();
                for_each_tensor(frame[node.output()], [&](const at::Tensor& tensor) { name_constant(tensor, node.output()->debugName()); });
                return;
            }
            case c10::prim::GetAttr:
                frame[node.output()] = attribute(input(0).toObject(), node.s(c10::attr::name));
                return;
            case c10::prim::SetAttr:
                input(0).toObject()->setAttr(node.s(c10::attr::name), input(1));
                return;
            case c10::prim::CallMethod: {
                const auto object = input(0);
                jit::Function* const method = object.toObjectRef().type()->findMethod(node.s(c10::attr::name));
                if (method == nullptr) fail(node, "there is no method \"" + node.s(c10::attr::name) + '"');
                std::vector<IValue> arguments;
                for (const jit::Value* value : node.inputs()) arguments.push_back(frame.at(value));
                const auto path = paths_.find(object.toObject().get());
                frame[node.output()] = call(*method, std::move(arguments), path != paths_.end() ? slashes(path->second) : scope);
                return;
            }
            case c10::prim::CallFunction: {
                std::vector<IValue> arguments;
                for (std::size_t i = 1; i < node.inputs().size(); ++i) arguments.push_back(input(i));
                frame[node.output()] = call(*node.input(0)->type()->expectRef<c10::FunctionType>().function(), std::move(arguments), scope);
                return;
            }
            case c10::prim::If: {
                const jit::Block& block = *node.blocks()[input(0).toBool() ? 0 : 1];
                run(block, frame, scope);
                for (std::size_t i = 0; i < node.outputs().size(); ++i) frame[node.output(i)] = frame.at(block.outputs()[i]);
                return;
            }
            case c10::prim::Loop:
                run_loop(node, frame, scope);
                return;
            case c10::prim::Print:
            case c10::aten::warn:
            case c10::prim::Exit:
                for (const jit::Value* output : node.outputs()) frame[output] = IValue();
                return;
            case c10::prim::Enter:
            case c10::prim::unchecked_cast:
                frame[node.output()] = input(0);
                return;
            case c10::prim::Uninitialized:
                frame[node.output()] = IValue();
                return;
            case c10::prim::RaiseException:
                fail(node,
                     "the model refuses these inputs: " +
                         (input(0).isString() ? input(0).toStringRef() : std::string("an error of its own")),
                     Remedy::inputs);
            default:
                run_operator(node, frame, scope);
        }
    }

    void run_loop(jit::Node& node, Frame& frame, const std::string& scope) {
        const std::int64_t most = frame.at(node.input(0)).toInt();
        bool goes_on = frame.at(node.input(1)).toBool();
        const jit::Block& body = *node.blocks()[0];
        std::vector<IValue> carried;
        for (std::size_t i = 2; i < node.inputs().size(); ++i) carried.push_back(frame.at(node.input(i)));
        for (std::int64_t round = 0; round < most && goes_on; ++round) {
            if (++steps_ > kMostSteps)
                fail(node, "takes more than " + std::to_string(kMostSteps) + " steps, which is the most that is followed");
            frame[body.inputs()[0]] = round;
            for (std::size_t i = 0; i < carried.size(); ++i) frame[body.inputs()[i + 1]] = carried[i];
            run(body, frame, scope);
            goes_on = frame.at(body.outputs()[0]).toBool();
            for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = frame.at(body.outputs()[i + 1]);
        }
        for (std::size_t i = 0; i < carried.size(); ++i) frame[node.output(i)] = carried[i];
    }

    static std::string slashes(std::string path) {
        std::ranges::replace(path, '.', '/');
        return path;
    }

    void name_constant(const at::Tensor& tensor, const std::string& wanted) {
        if (tensor.dim() == 0 || !name_of(tensor).empty()) return;
        program_.parameters.push_back({unused("constant " + wanted), "", described(tensor), false});
        give_name(tensor, program_.parameters.back().name);
    }

    /// An attribute of an object; modules and tensors in modules get their paths.
    IValue attribute(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& name) {
        IValue value = object->getAttr(name);
        const auto owner = paths_.find(object.get());
        if (owner == paths_.end()) return value;
        const std::string path = owner->second.empty() ? name : owner->second + '.' + name;
        if (value.isObject()) {
            if (value.type()->is_module()) paths_.emplace(value.toObject().get(), path);
        } else if (value.isTensorList()) {
            // Recurrent layers list their weights once more: they are called as the attributes that have them.
            const c10::ClassType& type = *object->type();
            for (std::size_t slot = 0; slot < type.numAttributes(); ++slot) {
                if (type.is_parameter(slot) || type.is_buffer(slot)) attribute(object, type.getAttributeName(slot));
            }
            c10::List<at::Tensor> items;
            for (const at::Tensor& tensor : value.toTensorVector()) items.push_back(parameter(tensor, path, type, name));
            return items;
        } else if (value.isTensor() && value.toTensor().defined()) {
            return parameter(value.toTensor(), path, *object->type(), name);
        }
        return value;
    }

    at::Tensor parameter(const at::Tensor& tensor, const std::string& path, const c10::ClassType& type, const std::string& attribute) {
        if (!name_of(tensor).empty()) return tensor;
        if (const auto known = stand_in_.find(tensor.unsafeGetTensorImpl()); known != stand_in_.end()) return known->second.second;
        const std::size_t slot = type.getAttributeSlot(attribute);
        const bool trained = type.is_parameter(slot), stored = trained || type.is_buffer(slot);
        // Parameters of several modules in one place are one parameter.
        const auto place = std::tuple(tensor.has_storage() ? tensor.storage().data() : nullptr,
                                      tensor.has_storage() ? tensor.storage_offset() : 0, tensor.sizes().vec());
        std::string& name = parameter_at_[place];
        if (name.empty() || std::get<0>(place) == nullptr) {
            name = unused(path);
            program_.parameters.push_back({name, stored ? path : "", described(tensor), trained});
        }
        const at::Tensor seen = run_ ? tensor : without_numbers(tensor);
        stand_in_.emplace(tensor.unsafeGetTensorImpl(), std::pair(tensor, seen));
        give_name(seen, name);
        return seen;
    }

    /// Those that no call reads, and other names of those that are tied.
    void list_parameters(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& path, std::size_t depth) {
        if (depth > kDeepest || ++steps_ > kMostSteps)
            throw ScriptError(Remedy::none, path, "has more modules, or deeper ones, than are read");
        const c10::ClassType& type = *object->type();
        for (std::size_t slot = 0; slot < type.numAttributes(); ++slot) {
            const std::string& name = type.getAttributeName(slot);
            const std::string inner = path.empty() ? name : path + '.' + name;
            const IValue& value = object->getSlot(slot);
            if (value.isModule()) {
                list_parameters(value.toObject(), inner, depth + 1);
            } else if ((type.is_parameter(slot) || type.is_buffer(slot)) && value.isTensor() && value.toTensor().defined()) {
                const std::size_t before = program_.parameters.size();
                const std::string known = name_of(parameter(value.toTensor(), inner, type, name));
                if (program_.parameters.size() > before) parameter_index_.emplace(known, before);
                const auto index = parameter_index_.find(known);
                if (index == parameter_index_.end()) continue;  // a result that the call has put there (num_batches_tracked)
                ScriptedProgram::Parameter& found = program_.parameters[index->second];
                if (!found.path.empty() && found.path != inner) found.other_paths.push_back(inner);
            }
        }
    }

    // Operators

    void run_operator(jit::Node& node, Frame& frame, const std::string& scope) {
        std::vector<IValue> stack;
        for (const jit::Value* value : node.inputs()) stack.push_back(frame.at(value));
        // What each argument is called, before tensors lose their numbers.
        std::vector<std::vector<std::string>> names(stack.size());
        for (std::size_t i = 0; i < stack.size(); ++i)
            for_each_tensor(stack[i], [&](const at::Tensor& tensor) { names[i].push_back(name_of(tensor)); });
        std::vector<IValue> results;
        try {
            if (construct(node, stack)) {
                results = std::move(stack);
            } else {
                if (!run_) prepare(node, stack);
                take_as_number(node, stack);
                results = execute(node, stack);
                emit(node, stack, names, results, scope);
            }
        } catch (const c10::Error& error) {
            refuse(node, error.what_without_backtrace());
        } catch (const std::bad_alloc&) {
            fail(node, "needs more memory than there is");
        } catch (const ScriptError&) {
            throw;
        } catch (const std::exception& error) {
            refuse(node, error.what());
        }
        for (std::size_t i = 0; i < node.outputs().size(); ++i) frame[node.output(i)] = std::move(results.at(i));
    }

    /// Where the second operand is a tensor of one number that the model has as a constant, the interpreter of TorchScript takes the number
    /// (runRequiredPasses, CanonicalizeOps): its type counts for less.
    static void take_as_number(const jit::Node& node, std::vector<IValue>& stack) {
        static const std::unordered_set<std::string_view> ops{"add", "sub", "mul", "div"};
        if (stack.size() < 2 || !ops.contains(operator_name(node)) || node.input(1)->node()->kind() != c10::prim::Constant) return;
        if (!stack[1].isTensor() || !stack[1].toTensor().defined() || stack[1].toTensor().dim() != 0) return;
        at::Tensor number = at::empty_like(stack[1].toTensor());
        if (!is_meta(number)) number.copy_(stack[1].toTensor());
        number.unsafeGetTensorImpl()->set_wrapped_number(true);
        stack[1] = std::move(number);
    }

    [[noreturn]] void refuse(const jit::Node& node, std::string_view problem) const {
        std::string text(problem.substr(0, problem.find('\n')));
        if (text.size() > 300) text.resize(300);
        const bool unknown = !run_ && (text.find("meta") != std::string::npos || text.find("Meta") != std::string::npos);
        if (unknown) fail(node, "its sizes depend on numbers, which are known only if the model runs", Remedy::run);
        fail(node, "cannot be called with these inputs: " + text, Remedy::inputs);
    }

    /// What the interpreter of TorchScript does without an operator. True: the results are on the stack.
    static bool construct(jit::Node& node, std::vector<IValue>& stack) {
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
                for (std::size_t i = 0; i + 1 < stack.size(); i += 2) dict.insert_or_assign(stack[i], stack[i + 1]);
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
                return give(c10::ivalue::Tuple::create(
                    std::vector<IValue>(items.begin() + node.i(c10::attr::beg), items.begin() + node.i(c10::attr::end))));
            }
            case c10::prim::CreateObject: {
                const auto type = node.output()->type()->expect<c10::ClassType>();
                return give(c10::ivalue::Object::create(type, type->numAttributes()));
            }
            case c10::prim::isinstance: {
                const auto type = stack.at(0).type();
                return give(
                    std::ranges::any_of(node.tys(c10::attr::types), [&](const auto& wanted) { return type->isSubtypeOf(*wanted); }));
            }
            default:
                return false;
        }
    }

    /// Whether an operator takes values of any type, as those on lists and dicts do: it computes nothing with them.
    static bool moves_values(const c10::FunctionSchema* schema) {
        return schema != nullptr &&
               std::ranges::any_of(schema->arguments(), [](const c10::Argument& argument) { return argument.type()->hasFreeVariables(); });
    }

    /// Numbers are kept where they are sizes; everything else is computed on tensors that have none, which takes neither time nor memory.
    void prepare(const jit::Node& node, std::vector<IValue>& stack) const {
        const std::string_view op = operator_name(node);
        bool has_tensors = false, are_sizes = computes_sizes(op);
        for (const IValue& value : stack) {
            for_each_tensor(value, [&](const at::Tensor& tensor) {
                has_tensors = true;
                if (tensor.dim() > 0 || is_meta(tensor)) are_sizes = false;
            });
        }
        if (op == "mul" || op == "ljust" || op == "rjust" || op == "center" || op == "zfill" || op == "expandtabs") {
            for (const IValue& value : stack) {
                const bool repeats = std::ranges::any_of(stack, [](const IValue& each) { return each.isList() || each.isString(); });
                if (repeats && value.isInt() && value.toInt() > kMostElements)
                    fail(node, "makes a text or list of more than a million elements");
            }
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
            } else if (schema != nullptr && i < schema->arguments().size() && schema->arguments()[i].name() == "device") {
                value = at::Device(at::kMeta);
            }
        }
    }

    /// Whether an operator may change anything but tensors: files (aten::save, aten::from_file), the random numbers of this program,
    /// other computers. Only what PyTorch itself brings is known.
    static bool reaches_out(const jit::Node& node) {
        const std::string_view name = node.kind().toQualString();
        const bool of_pytorch = name.starts_with("aten::") || name.starts_with("prim::") || name.starts_with("quantized::");
        if (name == "aten::is_autocast_enabled" || name == "aten::is_autocast_cpu_enabled") return false;  // only asks
        return !of_pytorch || node.hasSideEffects() || name == "aten::save" || name == "aten::from_file" || name == "aten::manual_seed";
    }

    std::vector<IValue> execute(jit::Node& node, const std::vector<IValue>& inputs) {
        if (!run_) {
            if (auto known = result_by_shape(node, inputs)) return *std::move(known);
        }
        if (reaches_out(node)) fail(node, "would do more than compute tensors, which reading a model never does");
        std::vector<IValue> stack = inputs;
        const auto* const schema = node.maybeSchema();
        if (schema != nullptr && schema->is_vararg()) stack.emplace_back(static_cast<std::int64_t>(inputs.size()));
        node.getOperation()(stack);
        for (const IValue& value : stack) {
            const std::size_t size = value.isString() ? value.toStringRef().size() : value.isList() ? value.toListRef().size() : 0;
            if (size > static_cast<std::size_t>(kMostElements)) fail(node, "makes a text or list of more than a million elements");
            elements_ += size;
            if (elements_ > kMostElementsInAll) fail(node, "makes texts and lists of more than a hundred million elements in all");
        }
        return stack;
    }

    void emit(const jit::Node& node, const std::vector<IValue>& inputs, const std::vector<std::vector<std::string>>& names,
              const std::vector<IValue>& results, const std::string& scope) {
        const bool depends = std::ranges::any_of(
            names, [](const auto& list) { return std::ranges::any_of(list, [](const std::string& name) { return !name.empty(); }); });
        const auto* const schema = node.maybeSchema();
        if (moves_values(schema)) return;
        if (!depends || schema == nullptr) return keep_names(inputs, names);
        // A tensor that is handed through is no result, unless it has been written to.
        std::unordered_map<const c10::TensorImpl*, bool> written;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto* const alias = i < schema->arguments().size() ? schema->arguments()[i].alias_info() : nullptr;
            const bool writes = alias != nullptr && alias->isWrite() && inputs[i].isTensor();
            for_each_tensor(inputs[i], [&](const at::Tensor& tensor) { written[tensor.unsafeGetTensorImpl()] |= writes; });
        }
        std::vector<at::Tensor> fresh;
        for (const IValue& result : results) {
            for_each_tensor(result, [&](const at::Tensor& tensor) {
                const auto input = written.find(tensor.unsafeGetTensorImpl());
                if (input == written.end() || input->second) fresh.push_back(tensor);
            });
        }
        if (fresh.empty()) return keep_names(inputs, names);
        if (program_.calls.size() == kMostCalls)
            fail(node, "is one call more than " + std::to_string(kMostCalls) + ", which is the most that is read");

        AtenCall call;
        call.op = operator_name(node);
        call.scope = scope;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            AtenCall::Argument argument{i < schema->arguments().size() ? schema->arguments()[i].name() : ""};
            for (const std::string& name : names[i]) {
                if (!name.empty()) argument.values.push_back(name);
            }
            const IValue& value = inputs[i];
            if (value.isInt()) argument.integers = {value.toInt()};
            if (value.isBool()) argument.integers = {value.toBool() ? 1 : 0};
            if (value.isIntList()) argument.integers = value.toIntVector();
            if (value.isString()) argument.text = value.toStringRef();
            call.arguments.push_back(std::move(argument));
        }
        for (const at::Tensor& tensor : fresh) call.outputs.push_back({unused(node.output(0)->debugName()), described(tensor)});
        program_.calls.push_back(std::move(call));
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            const at::Tensor& tensor = fresh[i];
            give_name(tensor, program_.calls.back().outputs[i].name);
            if (!written.contains(tensor.unsafeGetTensorImpl()) || !tensor.has_storage()) continue;
            changes_.insert_or_assign(tensor.storage().unsafeGetStorageImpl(),
                                      Change{WeakStorage(tensor.storage().getWeakStorageImpl()), program_.calls.size() - 1});
        }
    }

    /// A tensor without its numbers is called as the tensor is.
    void keep_names(const std::vector<IValue>& inputs, const std::vector<std::vector<std::string>>& names) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            std::size_t next = 0;
            for_each_tensor(inputs[i], [&](const at::Tensor& tensor) {
                if (next == names[i].size()) return;  // what the operator put into a list
                const std::string& name = names[i][next++];
                if (!name.empty() && name_of(tensor).empty()) give_name(tensor, name);
            });
        }
    }

    jit::Module module_;
    std::vector<ExampleInput> examples_;
    std::size_t next_example_ = 0;
    bool run_;
    std::string scope_;   ///< of the node that runs
    std::string wanted_;  ///< arguments of forward
    ScriptedProgram program_;
    std::unordered_map<const c10::ivalue::Object*, std::string> paths_;  ///< of modules
    std::unordered_map<const c10::TensorImpl*, Named> names_;
    std::unordered_map<const c10::StorageImpl*, Change> changes_;                             ///< the last of each memory
    std::unordered_map<const c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>> stand_in_;  ///< a parameter, and what stands for it
    std::map<std::tuple<const void*, std::int64_t, std::vector<std::int64_t>>, std::string> parameter_at_;
    std::unordered_map<std::string, std::size_t> parameter_index_;  ///< by name, once all calls are there
    std::unordered_set<std::string> used_;
    std::unordered_map<std::string, std::size_t> repeats_;
    std::size_t steps_ = 0, depth_ = 0, elements_ = 0;
};

/// How deep brackets are nested: LibTorch calls itself for each.
std::size_t nesting(std::string_view code) {
    std::size_t depth = 0, deepest = 0;
    for (const char c : code) {
        if (c == '(' || c == '[' || c == '{') deepest = std::max(deepest, ++depth);
        if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    }
    return deepest;
}

/// Before code of the file runs, and as LibTorch sees it: in a file with two directories another reader sees other members.
void check_code(caffe2::serialize::PyTorchStreamReader& archive, bool run) {
    if (archive.hasRecord("model.json"))
        throw ScriptError(Remedy::none, "",
                          "is TorchScript of an early PyTorch (model.json): load it with torch.jit.load and save it again");
    std::unordered_set<std::string> names;
    for (const std::string& name : archive.getAllRecords()) {
        std::string lower = name;
        std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (!lower.starts_with("code/")) continue;
        const std::string where = "member " + name;
        // They are looked up in full and regardless of case, but listed only so far.
        if (!archive.hasRecord(name) || !names.insert(lower).second)
            throw ScriptError(Remedy::none, where, "is there twice, or has too long a name: write the file again with torch.jit.save");
        if (!lower.ends_with(".py")) continue;
        const auto [bytes, size] = archive.getRecord(name);
        const std::string_view code(static_cast<const char*>(bytes.get()), size);
        if (nesting(code) > kDeepestCode)
            throw ScriptError(Remedy::none, where,
                              "nests brackets more than " + std::to_string(kDeepestCode) + " deep, which is the most that is read");
        if (!run && code.find("__setstate__") != std::string_view::npos)
            throw ScriptError(Remedy::run, where, "runs code of its own when it is loaded (__setstate__)");
    }
}

jit::Module load(const std::string& file, bool run) {
    const auto bytes = std::make_shared<caffe2::serialize::FileAdapter>(file);
    caffe2::serialize::PyTorchStreamReader archive(bytes);
    check_code(archive, run);
    return jit::load(bytes, at::kCPU);
}

ScriptError unreadable(std::string_view problem) {
    problem.remove_prefix(std::min(problem.find_first_not_of(" \n"), problem.size()));
    std::string text(problem.substr(0, std::min<std::size_t>(problem.find('\n'), 300)));
    if (text.starts_with("Unknown builtin op")) text += " It is of another library; export the model from Python with placewright.export";
    return {Remedy::none, "", "LibTorch cannot read it: " + text};
}

}  // namespace

ScriptedProgram walk_script(const std::string& file, const std::vector<ExampleInput>& inputs, bool run) {
    at::set_num_threads(1);
    const at::NoGradGuard no_gradients;
    try {
        return Walk(load(file, run), inputs, run).read();
    } catch (const c10::Error& error) {
        throw unreadable(error.what_without_backtrace());
    } catch (const ScriptError&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw unreadable(error.what());
    }
}

}  // namespace placewright
