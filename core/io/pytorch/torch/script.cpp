// SPDX-License-Identifier: MIT
// The calls of operators that a TorchScript model makes, with the sizes of their tensors.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/script.h>

#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/scripted_program.hpp"
#include "core/io/pytorch/torch/script_file.hpp"
#include "core/io/pytorch/torch/script_inputs.hpp"
#include "core/io/pytorch/torch/script_names.hpp"
#include "core/io/pytorch/torch/script_operators.hpp"
#include "core/io/pytorch/torch/script_shapes.hpp"
#include "core/io/pytorch/torch/script_values.hpp"

namespace placewright {
namespace {

namespace jit = torch::jit;
using c10::IValue;
using Remedy = ScriptError::Remedy;

constexpr std::size_t kMostCalls = 1'000'000;
/// Maximum number of elements in all results that are texts or lists; one that grows is counted at each step.
constexpr std::size_t kMostElementsInAll = 100'000'000;

/// Runs a model node by node and writes down the calls of operators on tensors.
class ScriptWalk {
public:
    ScriptWalk(jit::Module module, std::vector<ExampleInput> examples, bool run)
        : module_(std::move(module)), examples_(std::move(examples)), run_(run), names_(program_, run) {}

    ScriptedProgram read() {
        const auto forward = module_.find_method("forward");
        if (!forward) throw ScriptError(Remedy::none, "", "has no method \"forward\", expected a model");
        names_.give_path(module_._ivalue(), "");
        std::vector<IValue> arguments{module_._ivalue()};
        make_inputs(forward->function(), arguments);
        const IValue result = call(forward->function(), std::move(arguments), "");
        for_each_tensor(result, [&](const at::Tensor& tensor) {
            const std::string name = names_.name_of(tensor);
            if (!name.empty() && std::ranges::find(program_.outputs, name) == program_.outputs.end())
                program_.outputs.push_back(name);
        });
        if (program_.outputs.empty())
            throw ScriptError(Remedy::none, "",
                              "its method \"forward\" gives no tensor that depends on its inputs");
        names_.list_parameters(module_._ivalue(), steps_);
        return std::move(program_);
    }

private:
    using Frame = std::unordered_map<const jit::Value*, IValue>;

    [[noreturn]] void fail(const jit::Node& node, const std::string& problem,
                           Remedy remedy = Remedy::none) const {
        std::string place = node.kind().toQualString();
        if (!scope_.empty()) place += " in " + scope_;
        if (const auto line = node.sourceRange().file_line_col()) {
            const auto& [file, row, column] = *line;
            const std::string name = std::filesystem::path(file).filename().string();
            // A traced model has no source; PyTorch makes up such names for its classes.
            if (!name.starts_with("___torch_mangle")) place += " (" + name + ':' + std::to_string(row) + ')';
        }
        throw ScriptError(remedy, place, problem);
    }

    at::Tensor example_tensor(const std::string& name) {
        if (next_example_ == examples_.size()) throw_missing();
        const ExampleInput& example = examples_[next_example_++];
        const auto options =
            at::TensorOptions().dtype(scalar_type(example.dtype)).device(run_ ? at::kCPU : at::kMeta);
        const at::Tensor tensor =
            run_ ? at::zeros(example.shape, options) : at::empty(example.shape, options);
        program_.inputs.push_back({names_.unused(name), described(tensor)});
        names_.give_name(tensor, program_.inputs.back().name);
        return tensor;
    }

    [[noreturn]] void throw_missing() const {
        throw ScriptError(Remedy::inputs, "",
                          "is called with " + wanted_ + ", and a TorchScript file does not say how large " +
                              (wanted_.find(',') == std::string::npos ? "that is" : "they are"),
                          examples_.empty() ? proposed_inputs(module_) : std::vector<ExampleInput>());
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
                          "its argument " + name + " is a " + type->str() +
                              ", which cannot be passed here: trace the model with " +
                              "torch.jit.trace, which accepts only tensors");
    }

    void make_inputs(jit::Function& forward, std::vector<IValue>& arguments) {
        const auto& schema = forward.getSchema();
        for (const auto& argument : std::span(schema.arguments()).subspan(1)) {
            if (!argument.default_value()) wanted_ += (wanted_.empty() ? "" : ", ") + argument.name();
        }
        for (const auto& argument : std::span(schema.arguments()).subspan(1)) {
            const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
            const c10::TypePtr type =
                optional ? argument.type()->castRaw<c10::OptionalType>()->getElementType() : argument.type();
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
                              "is called with " + wanted_ + ": " + std::to_string(examples_.size()) +
                                  " tensors were given, expected " + std::to_string(next_example_));
    }

    IValue call(jit::Function& function, std::vector<IValue> arguments, const std::string& scope) {
        jit::GraphFunction* const scripted = jit::tryToGraphFunction(function);
        if (scripted == nullptr)
            throw ScriptError(Remedy::none, function.name(), "is not written in TorchScript");
        if (++depth_ > kDeepest)
            throw ScriptError(
                Remedy::none, function.name(),
                "calls more than " + std::to_string(kDeepest) + " functions nested in each other");
        const std::shared_ptr<jit::Graph> graph = scripted->graph();
        Frame frame;
        for (std::size_t i = 0; i < arguments.size(); ++i)
            frame[graph->inputs()[i]] = std::move(arguments[i]);
        run(*graph->block(), frame, scope);
        --depth_;
        return frame.at(graph->outputs().at(0));
    }

    void run(const jit::Block& block, Frame& frame, const std::string& scope) {
        for (const jit::Node* node : block.nodes()) {
            if (++steps_ > kMostSteps)
                fail(*node, "takes more than " + std::to_string(kMostSteps) + " steps, the maximum");
            run(*const_cast<jit::Node*>(node), frame, scope);
        }
    }

    void run(jit::Node& node, Frame& frame, const std::string& scope) {
        scope_ = scope;
        const auto input = [&](std::size_t i) -> IValue& { return frame.at(node.input(i)); };
        switch (node.kind()) {
            case c10::prim::Constant: {
                auto value = jit::toIValue(node.output());  // no value for a function
                frame[node.output()] = value ? *std::move(value) : IValue();
                for_each_tensor(frame[node.output()], [&](const at::Tensor& tensor) {
                    names_.name_constant(tensor, node.output()->debugName());
                });
                return;
            }
            case c10::prim::GetAttr:
                frame[node.output()] = names_.attribute(input(0).toObject(), node.s(c10::attr::name));
                return;
            case c10::prim::SetAttr:
                input(0).toObject()->setAttr(node.s(c10::attr::name), input(1));
                return;
            case c10::prim::CallMethod: {
                const auto object = input(0);
                jit::Function* const method =
                    object.toObjectRef().type()->findMethod(node.s(c10::attr::name));
                if (method == nullptr) fail(node, "there is no method \"" + node.s(c10::attr::name) + '"');
                std::vector<IValue> arguments;
                for (const jit::Value* value : node.inputs()) arguments.push_back(frame.at(value));
                const std::string* const path = names_.path_of(object.toObject());
                frame[node.output()] =
                    call(*method, std::move(arguments), path != nullptr ? slashes(*path) : scope);
                return;
            }
            case c10::prim::CallFunction: {
                std::vector<IValue> arguments;
                for (std::size_t i = 1; i < node.inputs().size(); ++i) arguments.push_back(input(i));
                frame[node.output()] = call(*node.input(0)->type()->expectRef<c10::FunctionType>().function(),
                                            std::move(arguments), scope);
                return;
            }
            case c10::prim::If: {
                const jit::Block& block = *node.blocks()[input(0).toBool() ? 0 : 1];
                run(block, frame, scope);
                for (std::size_t i = 0; i < node.outputs().size(); ++i)
                    frame[node.output(i)] = frame.at(block.outputs()[i]);
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
                fail(node, "takes more than " + std::to_string(kMostSteps) + " steps, the maximum");
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

    // Operators

    void run_operator(jit::Node& node, Frame& frame, const std::string& scope) {
        std::vector<IValue> stack;
        for (const jit::Value* value : node.inputs()) stack.push_back(frame.at(value));
        // Names of the arguments, before tensors lose their numbers.
        std::vector<std::vector<std::string>> names(stack.size());
        for (std::size_t i = 0; i < stack.size(); ++i)
            for_each_tensor(stack[i],
                            [&](const at::Tensor& tensor) { names[i].push_back(names_.name_of(tensor)); });
        std::vector<IValue> results;
        try {
            if (construct(node, stack)) {
                results = std::move(stack);
            } else {
                if (!run_) {
                    if (repeats_too_often(node, stack))
                        fail(node, "makes a text or list of more than a million elements");
                    forget_numbers(node, stack);
                }
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
        for (std::size_t i = 0; i < node.outputs().size(); ++i)
            frame[node.output(i)] = std::move(results.at(i));
    }

    [[noreturn]] void refuse(const jit::Node& node, std::string_view problem) const {
        std::string text(problem.substr(0, problem.find('\n')));
        if (text.size() > 300) text.resize(300);
        const bool unknown =
            !run_ && (text.find("meta") != std::string::npos || text.find("Meta") != std::string::npos);
        if (unknown)
            fail(node, "its sizes depend on numbers, which are known only if the model runs", Remedy::run);
        fail(node, "cannot be called with these inputs: " + text, Remedy::inputs);
    }

    std::vector<IValue> execute(jit::Node& node, const std::vector<IValue>& inputs) {
        if (!run_) {
            if (auto known = result_by_shape(node, inputs)) return *std::move(known);
        }
        if (reaches_out(node))
            fail(node, "would do more than compute tensors, which is not allowed while a model is read");
        std::vector<IValue> stack = inputs;
        const auto* const schema = node.maybeSchema();
        if (schema != nullptr && schema->is_vararg())
            stack.emplace_back(static_cast<std::int64_t>(inputs.size()));
        node.getOperation()(stack);
        for (const IValue& value : stack) {
            const std::size_t size = value.isString() ? value.toStringRef().size()
                                     : value.isList() ? value.toListRef().size()
                                                      : 0;
            if (size > static_cast<std::size_t>(kMostElements))
                fail(node, "makes a text or list of more than a million elements");
            elements_ += size;
            if (elements_ > kMostElementsInAll)
                fail(node, "makes texts and lists of more than a hundred million elements in all");
        }
        return stack;
    }

    void emit(const jit::Node& node, const std::vector<IValue>& inputs,
              const std::vector<std::vector<std::string>>& names, const std::vector<IValue>& results,
              const std::string& scope) {
        const bool depends = std::ranges::any_of(names, [](const auto& list) {
            return std::ranges::any_of(list, [](const std::string& name) { return !name.empty(); });
        });
        const auto* const schema = node.maybeSchema();
        if (moves_values(schema)) return;
        if (!depends || schema == nullptr) return names_.keep_names(inputs, names);
        // An input that is returned is no result, unless the call has written to it.
        std::unordered_map<const c10::TensorImpl*, bool> written;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto* const alias =
                i < schema->arguments().size() ? schema->arguments()[i].alias_info() : nullptr;
            const bool writes = alias != nullptr && alias->isWrite() && inputs[i].isTensor();
            for_each_tensor(inputs[i], [&](const at::Tensor& tensor) {
                written[tensor.unsafeGetTensorImpl()] |= writes;
            });
        }
        std::vector<at::Tensor> fresh;
        for (const IValue& result : results) {
            for_each_tensor(result, [&](const at::Tensor& tensor) {
                const auto input = written.find(tensor.unsafeGetTensorImpl());
                if (input == written.end() || input->second) fresh.push_back(tensor);
            });
        }
        if (fresh.empty()) return names_.keep_names(inputs, names);
        if (program_.calls.size() == kMostCalls)
            fail(node, "exceeds the maximum of " + std::to_string(kMostCalls) + " calls");

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
            // Of numbers with fractions only zero matters: a dropout of nothing.
            if (value.isDouble() && value.toDouble() == 0) argument.integers = {0};
            if (value.isBool()) argument.integers = {value.toBool() ? 1 : 0};
            if (value.isIntList()) argument.integers = value.toIntVector();
            if (value.isString()) argument.text = value.toStringRef();
            call.arguments.push_back(std::move(argument));
        }
        for (const at::Tensor& tensor : fresh)
            call.outputs.push_back({names_.unused(node.output(0)->debugName()), described(tensor)});
        program_.calls.push_back(std::move(call));
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            const at::Tensor& tensor = fresh[i];
            names_.give_name(tensor, program_.calls.back().outputs[i].name);
            if (!written.contains(tensor.unsafeGetTensorImpl()) || !tensor.has_storage()) continue;
            names_.note_change(tensor);
        }
    }

    jit::Module module_;
    std::vector<ExampleInput> examples_;
    std::size_t next_example_ = 0;
    bool run_;
    std::string scope_;   ///< scope of the running node
    std::string wanted_;  ///< names of the arguments of forward
    ScriptedProgram program_;
    ScriptNames names_;
    std::size_t steps_ = 0, depth_ = 0, elements_ = 0;
};

ScriptError unreadable(std::string_view problem) {
    problem.remove_prefix(std::min(problem.find_first_not_of(" \n"), problem.size()));
    std::string text(problem.substr(0, std::min<std::size_t>(problem.find('\n'), 300)));
    if (text.starts_with("Unknown builtin op"))
        text += " It belongs to another library; export the model from Python with placewright.export";
    return {Remedy::none, "", "LibTorch cannot read it: " + text};
}

}  // namespace

ScriptedProgram walk_script(const std::string& file, const std::vector<ExampleInput>& inputs, bool run) {
    at::set_num_threads(1);
    const at::NoGradGuard no_gradients;
    try {
        return ScriptWalk(load_script(file, run), inputs, run).read();
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
