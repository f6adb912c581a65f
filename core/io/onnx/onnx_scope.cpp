// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_scope.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include "core/io/onnx/onnx_arithmetic.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/onnx/onnx_shapes.hpp"

namespace placewright {
namespace {

using onnx::TensorProto;

/// Maximum of computed numbers kept per file: 32 MB.
constexpr std::size_t kMostNumbersInAll = std::size_t{4} << 20;
constexpr int kMostExtents = 64;
/// Newest operator set of the ONNX library; of later sets it knows only unchanged ops.
constexpr int kLibraryOpset = 17;

onnx::TypeProto tensor_type(std::int32_t element, const auto& extents) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(element);
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (const std::int64_t extent : extents) shape.add_dim()->set_dim_value(extent);
    return type;
}

/// The context keeps pointers to the arguments.
template <class Context>
Context inference_context(onnx::NodeProto& node,
                          const std::unordered_map<std::string, onnx::TypeProto*>& types,
                          const std::unordered_map<std::string, const TensorProto*>& tensors) {
    const onnx::ShapeInferenceOptions options;
    // ONNX 1.12 takes no options, ONNX 1.17 does.
    if constexpr (requires { Context(node, types, tensors, {}, options); }) {
        return Context(node, types, tensors, {}, options);
    } else {
        return Context(node, types, tensors, {});
    }
}

bool is_complete(const onnx::TypeProto& type) {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return false;
    return std::ranges::all_of(type.tensor_type().shape().dim(),
                               [](const auto& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; });
}

/// Returns the domain of a node; "" for ONNX's own.
std::string domain_of(const onnx::NodeProto& node) {
    return node.domain() == "ai.onnx" ? "" : node.domain();
}

/// Returns whether an op is unknown to the ONNX library and has a first output of the type of its first
/// input.
bool gives_what_it_takes(const std::string& op) {
    static const std::set<std::string> ops{"Gelu",
                                           "FastGelu",
                                           "QuickGelu",
                                           "BiasGelu",
                                           "Mish",
                                           "Swish",
                                           "LayerNormalization",
                                           "SimplifiedLayerNormalization",
                                           "SkipLayerNormalization",
                                           "SkipSimplifiedLayerNormalization",
                                           "RMSNormalization",
                                           "GroupNormalization",
                                           "RotaryEmbedding",
                                           "Attention"};
    return ops.contains(op);
}

/// Returns a text about an attribute that must be positive and of 31 bits, since the library divides by it,
/// by its square (blocksize), or loops up to it; empty if there is none.
std::string wrong_attribute(const onnx::NodeProto& node) {
    constexpr std::array kPositive{"kernel_shape", "strides",     "dilations", "group",
                                   "blocksize",    "num_outputs", "size",      "hidden_size"};
    for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (std::ranges::find(kPositive, attribute.name()) == kPositive.end()) continue;
        const auto is_wrong = [](std::int64_t value) {
            return value < 1 || value > std::numeric_limits<std::int32_t>::max();
        };
        if (attribute.ints_size() > 0 ? std::ranges::any_of(attribute.ints(), is_wrong)
                                      : attribute.has_i() && is_wrong(attribute.i()))
            return '"' + attribute.name() + "\" is not a number from 1 to 2147483647";
    }
    return {};
}

/// Checks inputs of image ops whose shape inference relies on the number of extents; returns the fault or an
/// empty text.
std::string wrong_rank(const onnx::NodeProto& node, const OnnxScope& scope) {
    static const std::unordered_map<std::string, int> weight_input{
        {"Conv", 1}, {"ConvTranspose", 1}, {"ConvInteger", 1}, {"QLinearConv", 3}};
    static const std::set<std::string> others{"MaxPool",      "AveragePool",        "LpPool",
                                              "MaxUnpool",    "MaxRoiPool",         "RoiAlign",
                                              "GridSample",   "GlobalMaxPool",      "GlobalAveragePool",
                                              "GlobalLpPool", "BatchNormalization", "InstanceNormalization"};
    const auto weight = weight_input.find(node.op_type());
    if (weight == weight_input.end() && !others.contains(node.op_type())) return {};
    const auto rank = [&](int input) {
        const auto shape = input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt;
        return shape ? static_cast<int>(shape->size()) : -1;
    };
    const int least = node.op_type() == "BatchNormalization"                                ? 1
                      : node.op_type().ends_with("RoiPool") || node.op_type() == "RoiAlign" ? 4
                                                                                            : 3;
    if (rank(0) < least) return "its input does not have at least " + std::to_string(least) + " extents";
    if (weight != weight_input.end() && rank(weight->second) != rank(0))
        return "its weight does not have as many extents as its input";
    if (node.op_type() == "MaxUnpool" && rank(1) != rank(0))
        return "its indices do not have as many extents as its input";
    return {};
}

/// Checks inputs whose length is the number of extents of an output: the library makes each extent, and a
/// file may ask for billions. Returns the fault or an empty text.
std::string too_many_extents(const onnx::NodeProto& node, const OnnxScope& scope) {
    static const std::set<std::string> ops{"ConstantOfShape", "Expand", "Reshape", "Tile",         "Resize",
                                           "Upsample",        "Pad",    "Slice",   "CenterCropPad"};
    constexpr std::int64_t kMost = 1000;
    if (!ops.contains(node.op_type())) return {};
    for (int i = node.op_type() == "ConstantOfShape" ? 0 : 1; i < node.input_size(); ++i) {
        const auto shape = scope.shape(node.input(i));
        if (shape && shape->size() == 1 && shape->front() > kMost)
            return "its output would have " + std::to_string(shape->front()) + " extents";
    }
    return {};
}

/// Rewrites a node in the form of the library's newest operator set. Returns the reason if that is not
/// possible.
std::string to_known_opset(onnx::NodeProto& node, const OnnxScope& scope) {
    // From operator set 18 on, the axes of these are an input, as those of ReduceSum are since 13.
    static const std::set<std::string> reductions{"ReduceMean",   "ReduceMax",       "ReduceMin",
                                                  "ReduceProd",   "ReduceL1",        "ReduceL2",
                                                  "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
    if (reductions.contains(node.op_type()) && node.input_size() > 1) {
        if (!node.input(1).empty()) {
            const Numbers* axes = scope.numbers(node.input(1));
            if (axes == nullptr) return "its axes are not constant";
            if (!axes->values.empty()) {
                onnx::AttributeProto& attribute = *node.add_attribute();
                attribute.set_name("axes");
                attribute.set_type(onnx::AttributeProto::INTS);
                for (const std::int64_t axis : axes->whole()) attribute.add_ints(axis);
            }
        }
        node.mutable_input()->DeleteSubrange(1, node.input_size() - 1);
    }
    return {};
}

}  // namespace

onnx::TypeProto OnnxScope::resolved(onnx::TypeProto type) const {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return type;
    for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (!dim.has_dim_param()) continue;
        const auto given = dims_->find(dim.dim_param());
        if (given != dims_->end())
            dim.set_dim_value(given->second);
        else
            dim.clear_dim_param();
    }
    return type;
}

void OnnxScope::set_type(const std::string& name, onnx::TypeProto type) {
    if (name.empty()) return;  // an output that the node leaves out
    if (type.tensor_type().shape().dim_size() > kMostExtents)
        delete type.mutable_tensor_type()->release_shape();  // clearing keeps memory
    types_[name] = std::move(type);
}

void OnnxScope::declare(const std::string& name, const onnx::TypeProto& type) {
    set_type(name, resolved(type));
}

void OnnxScope::expect(const std::string& name, const onnx::TypeProto& type) {
    expected_[name] = resolved(type);
}

void OnnxScope::define(const std::string& name, const TensorProto& tensor) {
    set_type(name, tensor_type(tensor.data_type(), tensor.dims()));
    if (auto numbers = numbers_of(tensor))
        numbers_[name] = std::make_shared<const Numbers>(*std::move(numbers));
    if (tensor.data_location() == TensorProto::EXTERNAL && tensor.dims_size() <= 1 &&
        !is_real(tensor.data_type()))
        far_.insert(name);
}

void OnnxScope::keep(const std::string& name, Numbers numbers) {
    set_type(name, tensor_type(numbers.type, numbers.shape));
    if (numbers.values.size() > kMostNumbers || *kept_ + numbers.values.size() > kMostNumbersInAll) return;
    *kept_ += numbers.values.size();
    numbers_[name] = std::make_shared<const Numbers>(std::move(numbers));
}

void OnnxScope::alias(const std::string& name, const OnnxScope& scope, const std::string& value) {
    if (const onnx::TypeProto* known = scope.type(value)) types_[name] = *known;
    if (auto known = scope.shared_numbers(value)) numbers_[name] = std::move(known);
}

bool OnnxScope::knows(const std::string& name) const {
    return type(name) != nullptr;
}

const onnx::TypeProto* OnnxScope::type(const std::string& name) const {
    const auto found = types_.find(name);
    if (found != types_.end()) return &found->second;
    return outer_ != nullptr ? outer_->type(name) : nullptr;
}

std::shared_ptr<const Numbers> OnnxScope::shared_numbers(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    // A value of this scope hides one of the same name in the enclosing scope.
    return outer_ != nullptr && !types_.contains(name) ? outer_->shared_numbers(name) : nullptr;
}

const Numbers* OnnxScope::numbers(const std::string& name) const {
    return shared_numbers(name).get();
}

std::optional<std::vector<std::int64_t>> OnnxScope::shape(const std::string& name) const {
    const onnx::TypeProto* known = type(name);
    if (known == nullptr || !is_complete(*known)) return {};
    std::vector<std::int64_t> extents;
    for (const auto& dim : known->tensor_type().shape().dim()) extents.push_back(dim.dim_value());
    return extents;
}

int OnnxScope::opset(const std::string& domain) const {
    const auto found = opsets_->find(domain == "ai.onnx" ? "" : domain);
    return found == opsets_->end() ? 1 : found->second;
}

std::optional<Numbers> OnnxScope::evaluate(const onnx::NodeProto& node) const {
    if (*kept_ + kMostNumbers > kMostNumbersInAll) return {};
    if (!node.domain().empty() && node.domain() != "ai.onnx") return {};
    if (node.op_type() == "Shape" && node.input_size() == 1) {
        auto extents = shape(node.input(0));
        if (!extents) return {};
        const auto rank = static_cast<std::int64_t>(extents->size());
        const auto bound = [&](std::int64_t at) {
            return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
        };
        const std::int64_t start = bound(integer_attribute(node, "start", 0)),
                           end = bound(integer_attribute(node, "end", rank));
        Numbers result{{std::max<std::int64_t>(0, end - start)}, TensorProto::INT64, {}};
        for (std::int64_t i = start; i < end; ++i)
            result.values.push_back(static_cast<double>((*extents)[static_cast<std::size_t>(i)]));
        return result;
    }
    if (node.op_type() == "Size" && node.input_size() == 1) {
        const auto extents = shape(node.input(0));
        if (!extents) return {};
        double product = 1;
        for (const std::int64_t extent : *extents) product *= static_cast<double>(extent);
        return Numbers{{}, TensorProto::INT64, {product}};
    }
    const FoldingFunction function = find_folding_function(node.op_type());
    if (function == nullptr) return {};
    Operands operands;
    for (const std::string& input : node.input()) {
        const Numbers* known = numbers(input);
        if (known == nullptr) return {};
        if (known->shape.size() > (operands.empty() && takes_matrices(node.op_type()) ? kMostRank : 1))
            return {};
        operands.push_back(known);
    }
    if (operands.empty()) return {};
    return function(node, operands);
}

std::string OnnxScope::infer(const onnx::NodeProto& node) {
    if (node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1) {
        const std::string& output = node.output(0);
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.name() == "value") {
                if (auto numbers = numbers_of(attribute.t()))
                    keep(output, *std::move(numbers));
                else
                    define(output, attribute.t());
            }
            if (attribute.name() == "value_int")
                keep(output, Numbers{{}, TensorProto::INT64, {double(attribute.i())}});
            if (attribute.name() == "value_float")
                keep(output, Numbers{{}, TensorProto::FLOAT, {double(attribute.f())}});
            if (attribute.name() == "value_ints")
                keep(output, Numbers{{attribute.ints_size()},
                                     TensorProto::INT64,
                                     {attribute.ints().begin(), attribute.ints().end()}});
            if (attribute.name() == "value_floats")
                keep(output, Numbers{{attribute.floats_size()},
                                     TensorProto::FLOAT,
                                     {attribute.floats().begin(), attribute.floats().end()}});
        }
        if (types_.contains(node.output(0))) return {};
    }
    if (node.output_size() > 0) {
        if (auto result = evaluate(node); result && result->values.size() <= kMostNumbers) {
            keep(node.output(0), *std::move(result));
            return {};
        }
    }
    std::string problem;
    try {
        problem = infer_types(node);
    } catch (const std::exception& error) {
        problem = error.what();
    } catch (...) {
        problem = "shape inference failed";
    }
    if (problem.empty()) problem = far_input(node);
    for (const std::string& output : node.output()) {
        const auto found = types_.find(output);
        if (output.empty() || (found != types_.end() && is_complete(found->second))) continue;
        const auto expected = expected_.find(output);
        if (expected != expected_.end()) set_type(output, expected->second);
    }
    return problem;
}

std::string OnnxScope::far_input(const onnx::NodeProto& node) const {
    for (const OnnxScope* scope = this; scope != nullptr; scope = scope->outer_) {
        for (const std::string& input : node.input()) {
            if (scope->far_.contains(input))
                return "the numbers of its input \"" + input + "\" are in another file, which is not read";
        }
    }
    return {};
}

const onnx::TypeProto* OnnxScope::input_type(const onnx::NodeProto& node, int index) const {
    return index < node.input_size() ? type(node.input(index)) : nullptr;
}

std::string OnnxScope::infer_types(const onnx::NodeProto& node) {
    if (std::string problem = wrong_attribute(node); !problem.empty()) return problem;
    if (std::string problem = wrong_rank(node, *this); !problem.empty()) return problem;
    if (std::string problem = too_many_extents(node, *this); !problem.empty()) return problem;
    for (const std::string& input : node.input()) {
        if (!input.empty() && !knows(input)) return "the type of its input \"" + input + "\" is unknown";
    }
    if (auto problem = infer_own(node)) return *std::move(problem);
    const std::string domain = domain_of(node);
    if (node.op_type() == "AveragePool" && domain.empty() && find_attribute(node, "dilations") != nullptr) {
        // Operator set 19 gave them the windows that a MaxPool has had since 10.
        onnx::NodeProto pool = node;
        pool.set_op_type("MaxPool");
        auto& attributes = *pool.mutable_attribute();
        attributes.erase(
            std::remove_if(attributes.begin(), attributes.end(),
                           [](const auto& attribute) { return attribute.name() == "count_include_pad"; }),
            attributes.end());
        return infer_types(pool);
    }
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(
        node.op_type(), std::min(opset(domain), domain.empty() ? kLibraryOpset : 1000), domain);
    if (schema == nullptr || !schema->has_type_and_shape_inference_function()) return infer_like_input(node);
    return infer_by_schema(*schema, node);
}

std::optional<std::string> OnnxScope::infer_own(const onnx::NodeProto& node) {
    const std::string& op = node.op_type();
    const std::string domain = domain_of(node);
    const onnx::TypeProto* const first = input_type(node, 0);
    if (op == "Split" && find_attribute(node, "num_outputs") != nullptr && first != nullptr &&
        is_complete(*first)) {
        const auto types = split_evenly(node, *first);
        for (std::size_t i = 0; i < types.size(); ++i) set_type(node.output(static_cast<int>(i)), types[i]);
        return "";
    }
    if (op == "Einsum" && node.input_size() > 0 && node.output_size() == 1) {
        // The library infers only the number of extents.
        if (const auto extents = einsum_shape(node, *this)) {
            set_type(node.output(0), tensor_type(first->tensor_type().elem_type(), *extents));
            return "";
        }
    }
    if (op == "Slice" && domain.empty() && opset("") < 10 && node.input_size() == 1 &&
        node.output_size() == 1) {
        const auto extents = early_slice_shape(node, *this);
        if (!extents) return "its bounds do not fit its input";
        set_type(node.output(0), tensor_type(first->tensor_type().elem_type(), *extents));
        return "";
    }
    if (first == nullptr || node.output_size() == 0) return {};
    const std::int32_t element = first->tensor_type().elem_type();
    if (domain.empty()) {
        for (const auto shape_of : {resized_shape, padded_shape}) {
            if (const auto extents = shape_of(node, *this)) {
                set_type(node.output(0), tensor_type(element, *extents));
                return "";
            }
        }
        if (const auto extents = one_hot_shape(node, *this)) {
            const onnx::TypeProto* const values = input_type(node, 2);
            set_type(node.output(0),
                     tensor_type(values != nullptr ? values->tensor_type().elem_type() : element, *extents));
            return "";
        }
        const bool all_kept = op.starts_with("Reduce") &&
                              integer_attribute(node, "noop_with_empty_axes", 0) != 0 &&
                              find_attribute(node, "axes") == nullptr;
        const Numbers* const axes = node.input_size() > 1 ? numbers(node.input(1)) : nullptr;
        const bool no_axes =
            node.input_size() < 2 || node.input(1).empty() || (axes != nullptr && axes->values.empty());
        if (all_kept && no_axes) {
            set_type(node.output(0), *first);
            return "";
        }
    }
    if (const auto fused = domain == "com.microsoft" ? fused_product(node, *this) : std::nullopt) {
        set_type(node.output(0), tensor_type(element, fused->shape));
        return "";
    }
    if (domain == "com.microsoft" && is_complete(*first)) {
        // The last extent is an attribute.
        const auto sizes = integers_attribute(node, "qkv_hidden_sizes");
        std::optional<std::int64_t> last;
        if (op == "Attention" && sizes.size() == 3) last = sizes[2];
        if (op == "MatMulNBits") last = integer_attribute(node, "N", 0);
        if (last && *last >= 1 && first->tensor_type().shape().dim_size() > 0) {
            onnx::TypeProto type = *first;
            type.mutable_tensor_type()->mutable_shape()->mutable_dim()->rbegin()->set_dim_value(*last);
            set_type(node.output(0), std::move(type));
            return "";
        }
    }
    if ((op == "DequantizeLinear" || op == "QuantizeLinear") &&
        (domain.empty() || domain == "com.microsoft")) {
        // From operator sets 19 and 21 on, other types than float32 and uint8.
        const onnx::TypeProto* const scale = input_type(node, 1);
        const onnx::TypeProto* const zero = input_type(node, 2);
        const auto named = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(integer_attribute(node, "output_dtype", 0), 0, 1000));
        onnx::TypeProto type = *first;
        if (op == "DequantizeLinear" && scale != nullptr) {
            type.mutable_tensor_type()->set_elem_type(named != 0 ? named : scale->tensor_type().elem_type());
        } else if (op == "QuantizeLinear") {
            type.mutable_tensor_type()->set_elem_type(zero != nullptr ? zero->tensor_type().elem_type()
                                                      : named != 0
                                                          ? named
                                                          : static_cast<std::int32_t>(TensorProto::UINT8));
        }
        set_type(node.output(0), std::move(type));
        return "";
    }
    if ((op == "Attention" && domain.empty()) ||
        ((op == "MultiHeadAttention" || op == "GroupQueryAttention") && domain == "com.microsoft")) {
        const auto extents = attention_extents(node, *this);
        if (!extents) return "its queries, keys and values do not have heads of one size";
        const std::array<std::vector<std::int64_t>, 4> shapes{
            extents->output,
            {extents->batch, extents->key_heads, extents->keys, extents->key_size},
            {extents->batch, extents->key_heads, extents->keys, extents->value_size},
            {extents->batch, extents->heads, extents->queries, extents->keys}};
        for (int i = 0; i < std::min(node.output_size(), 4); ++i)
            set_type(node.output(i), tensor_type(element, shapes[static_cast<std::size_t>(i)]));
        return "";
    }
    return {};
}

std::string OnnxScope::infer_like_input(const onnx::NodeProto& node) {
    const std::string& op = node.op_type();
    const onnx::TypeProto* const first = input_type(node, 0);
    if (!gives_what_it_takes(op) || first == nullptr || node.output_size() == 0)
        return "this op is not known";
    set_type(node.output(0), *first);
    if (!op.ends_with("LayerNormalization") || !is_complete(*first) ||
        first->tensor_type().shape().dim_size() == 0)
        return {};
    // Statistics, and the sum that is normalised.
    onnx::TypeProto statistics = *first;
    statistics.mutable_tensor_type()->mutable_shape()->mutable_dim()->rbegin()->set_dim_value(1);
    for (int i = 1; i < node.output_size(); ++i) set_type(node.output(i), i == 3 ? *first : statistics);
    return {};
}

std::string OnnxScope::infer_by_schema(const onnx::OpSchema& schema, onnx::NodeProto node) {
    if (std::string problem = to_known_opset(node, *this); !problem.empty()) return problem;
    // Types that later operator sets added.
    if (opset(domain_of(node)) > kLibraryOpset) {
        auto& attributes = *node.mutable_attribute();
        attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                        [&](const auto& attribute) {
                                            return !schema.attributes().contains(attribute.name());
                                        }),
                         attributes.end());
    }
    schema.Verify(node);
    std::unordered_map<std::string, onnx::TypeProto*> types;
    std::unordered_map<std::string, TensorProto> tensors;
    std::unordered_map<std::string, const TensorProto*> tensor_pointers;
    for (const std::string& input : node.input()) {
        if (input.empty()) continue;
        types[input] = const_cast<onnx::TypeProto*>(type(input));  // the library only reads it
        // Extents, pads (two per extent) and sizes of outputs are few; longer lists need not be copied.
        const auto most = static_cast<std::size_t>(std::max(2 * kMostExtents, node.output_size()));
        if (const Numbers* known = numbers(input);
            known != nullptr && known->values.size() <= most && known->shape.size() < kMostRank)
            tensor_pointers[input] = &(tensors[input] = stored_tensor(*known));
    }
    auto context =
        inference_context<onnx::shape_inference::InferenceContextImpl>(node, types, tensor_pointers);
    schema.GetTypeAndShapeInferenceFunction()(context);
    std::string problem;
    for (int i = 0; i < node.output_size(); ++i) {
        onnx::TypeProto& found = *context.getOutputType(static_cast<std::size_t>(i));
        if (node.output(i).empty() || found.value_case() == onnx::TypeProto::VALUE_NOT_SET) continue;
        if (node.op_type() == "Slice" && !found.tensor_type().has_shape() &&
            input_type(node, 0)->tensor_type().has_shape())
            found = loosely_sliced(node, *this);
        if (found.tensor_type().shape().dim_size() > kMostExtents)
            problem = "it has more than " + std::to_string(kMostExtents) + " extents";
        set_type(node.output(i), std::move(found));
    }
    return problem;
}

void add_opsets(OnnxScope::Opsets& opsets,
                const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
    for (const auto& import : imports) {
        const auto version = static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1'000'000));
        opsets[import.domain() == "ai.onnx" ? "" : import.domain()] = version;
    }
}

}  // namespace placewright
