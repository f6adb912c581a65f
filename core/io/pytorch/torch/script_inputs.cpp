// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torch/script_inputs.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include "core/io/pytorch/torch/script_values.hpp"

namespace placewright {
namespace {

namespace jit = torch::jit;
using c10::IValue;

/// Proposes inputs for a model from the layers that read its arguments. Only inspects the code: nothing is
/// run, and calls are followed for a bounded number of steps.
class InputProposal {
public:
    /// Returns the inputs; empty if one cannot be determined. Throws for a faulty model.
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

private:
    /// Values that are the same in every call: modules, their attributes, constants.
    using Known = std::unordered_map<const jit::Value*, IValue>;

    /// Returns an input for the first layer that reads a value, here or in a function that is called with it.
    std::optional<ExampleInput> input_for(const jit::Value& value, const Known& known, std::size_t depth) {
        if (depth > kDeepest) return {};
        for (const jit::Use& use : value.uses()) {
            count_step();
            const jit::Node& node = *use.user;
            const bool calls_function = node.kind() == c10::prim::CallFunction;
            auto input = calls_function || node.kind() == c10::prim::CallMethod
                             ? input_for_call(use, calls_function, known, depth)
                             : input_for_layer(use, known);
            if (input) return input;
        }
        return {};
    }

    std::optional<ExampleInput> input_for_call(const jit::Use& use, bool calls_function, const Known& known,
                                               std::size_t depth) {
        const jit::Node& node = *use.user;
        jit::Function* function = nullptr;
        if (calls_function) {
            function = node.input(0)->type()->expectRef<c10::FunctionType>().function();
        } else if (const auto object = known_value(node.input(0), known); object && object->isObject()) {
            function = object->toObjectRef().type()->findMethod(node.s(c10::attr::name));
        }
        jit::GraphFunction* const scripted =
            function != nullptr ? jit::tryToGraphFunction(*function) : nullptr;
        const std::size_t first = calls_function ? 1 : 0;  // skips the function itself
        if (scripted == nullptr || use.offset < first) return {};
        const std::shared_ptr<jit::Graph> graph = scripted->graph();
        Known arguments;
        for (std::size_t i = first; i < node.inputs().size(); ++i) {
            if (auto argument = known_value(node.input(i), known))
                arguments.emplace(graph->inputs().at(i - first), *std::move(argument));
        }
        return input_for(*graph->inputs().at(use.offset - first), arguments, depth + 1);
    }

    /// Returns an input for a layer; nothing if the sizes of its weight do not determine it.
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
        if (op == "aten::linear")
            return weight.dim() == 2 ? std::optional(ExampleInput{{1, weight.size(1)}, *dtype})
                                     : std::nullopt;
        const auto groups = known_value(node.input(is_convolution ? 8 : 6), known);
        const auto transposed =
            is_convolution ? known_value(node.input(6), known) : std::optional<IValue>(false);
        std::int64_t channels = 0;
        if (!groups || !groups->isInt() || !transposed || !transposed->isBool() || transposed->toBool() ||
            weight.dim() < 3 || weight.dim() > 5 ||
            __builtin_mul_overflow(weight.size(1), groups->toInt(), &channels) || channels < 1)
            return {};
        ExampleInput input{{1, channels}, *dtype};
        if (weight.dim() == 5) input.shape.push_back(16);    // frames
        const std::int64_t side = channels == 1 ? 28 : 224;  // of MNIST, of ImageNet
        while (input.shape.size() < static_cast<std::size_t>(weight.dim())) input.shape.push_back(side);
        return input;
    }

    /// Returns the value of an argument, a constant, or an attribute of a module, if it is known.
    std::optional<IValue> known_value(const jit::Value* value, const Known& known) {
        std::vector<std::string> names;
        for (; value->node()->kind() == c10::prim::GetAttr; value = value->node()->input()) {
            count_step();
            names.push_back(value->node()->s(c10::attr::name));
        }
        count_step();
        const auto argument = known.find(value);
        auto constant =
            argument == known.end() ? jit::toIValue(value) : c10::optional<IValue>(argument->second);
        if (!constant) return {};
        IValue found = *std::move(constant);
        for (auto name = names.rbegin(); name != names.rend(); ++name) {
            if (!found.isObject() || !found.toObjectRef().type()->findAttributeSlot(*name)) return {};
            found = found.toObjectRef().getAttr(*name);
        }
        return found;
    }

    void count_step() {
        constexpr std::size_t kMost = 100'000;
        if (++steps_ > kMost) throw std::length_error("takes too many steps to follow");
    }

    std::size_t steps_ = 0;
};

}  // namespace

std::vector<ExampleInput> proposed_inputs(const jit::Module& module) {
    try {
        return InputProposal().inputs(module);
    } catch (const std::exception&) {  // faults of the model are reported when it is read
        return {};
    }
}

}  // namespace placewright
