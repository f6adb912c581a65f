// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_shapes.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "core/io/onnx/onnx_model.hpp"

namespace placewright {
namespace {

/// Returns the indices of a term of an equation; nothing for an invalid term. "..." stands for `unnamed`
/// indices: -1 is the last of them, -2 the one before and so on.
std::optional<std::vector<int>> einsum_indices(std::string_view term, std::int64_t unnamed) {
    std::vector<int> indices;
    for (std::size_t at = 0; at < term.size(); ++at) {
        if (term.substr(at, 3) == "...") {
            for (; unnamed > 0; --unnamed) indices.push_back(static_cast<int>(-unnamed));
            at += 2;
        } else if (std::isalpha(static_cast<unsigned char>(term[at])) != 0) {
            indices.push_back(term[at]);
        } else {
            return {};
        }
    }
    return indices;
}

}  // namespace

double product(const std::vector<std::int64_t>& extents) {
    double result = 1;
    for (const std::int64_t extent : extents) result *= static_cast<double>(extent);
    return result;
}

std::optional<AttentionExtents> attention_extents(const onnx::NodeProto& node, const OnnxScope& scope) {
    const bool of_runtime = node.domain() == "com.microsoft";
    const bool grouped = of_runtime && node.op_type() == "GroupQueryAttention";
    const bool contributed = grouped || (of_runtime && node.op_type() == "MultiHeadAttention");
    const bool own = (node.domain().empty() || node.domain() == "ai.onnx") && node.op_type() == "Attention";
    if ((!contributed && !own) || node.input_size() < (contributed ? 1 : 3)) return {};
    struct Heads {
        std::int64_t batch, heads, length, size;
    };
    const auto shape_of = [&](int input) {
        return input < node.input_size() ? scope.shape(node.input(input)) : std::nullopt;
    };
    // Heads are side by side in three extents, separate in four.
    const auto heads_of = [&](int input, const char* attribute) -> std::optional<Heads> {
        const auto shape = shape_of(input);
        const std::int64_t heads = integer_attribute(node, attribute, 0);
        if (!shape) return {};
        if (shape->size() == 4) return Heads{(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
        if (shape->size() != 3 || heads < 1 || (*shape)[2] % heads != 0) return {};
        return Heads{(*shape)[0], heads, (*shape)[1], (*shape)[2] / heads};
    };
    const char* const of_keys = own || grouped ? "kv_num_heads" : "num_heads";
    auto query = heads_of(0, own ? "q_num_heads" : "num_heads");
    auto key = heads_of(1, of_keys), value = heads_of(2, of_keys);
    const auto first = shape_of(0), second = shape_of(1);
    // Packed: (batch, length, heads, two or three of them, size), or all heads side by side.
    const auto packed = [](const std::optional<std::vector<std::int64_t>>& shape, std::int64_t count) {
        return shape && shape->size() == 5 && (*shape)[3] == count;
    };
    if (contributed && packed(first, 3))
        query = key = value = Heads{(*first)[0], (*first)[2], (*first)[1], (*first)[4]};
    if (contributed && packed(second, 2))
        key = value = Heads{(*second)[0], (*second)[2], (*second)[1], (*second)[4]};
    if (grouped && first && !second && first->size() == 3) {
        const std::int64_t heads = integer_attribute(node, "num_heads", 0),
                           groups = integer_attribute(node, "kv_num_heads", 0);
        constexpr std::int64_t kMost = std::int64_t{1} << 31;
        if (heads < 1 || groups < 1 || heads > kMost || groups > kMost ||
            first->back() % (heads + 2 * groups) != 0)
            return {};
        const std::int64_t size = first->back() / (heads + 2 * groups);
        query = Heads{(*first)[0], heads, (*first)[1], size};
        key = value = Heads{(*first)[0], groups, (*first)[1], size};
    }
    if (!query || !key || !value || query->size != key->size || key->length != value->length) return {};
    AttentionExtents extents{query->batch, query->heads, key->heads,  query->length,
                             key->length,  query->size,  value->size, {}};
    // Keys of earlier steps come before those of this step.
    const auto past = shape_of(own ? 4 : grouped ? 3 : 6);
    if (past && (past->size() != 4 || __builtin_add_overflow(extents.keys, (*past)[2], &extents.keys)))
        return {};
    extents.output = {query->batch, query->heads, query->length, value->size};
    if (first->size() != 4) {
        std::int64_t features = 0;
        if (__builtin_mul_overflow(query->heads, value->size, &features)) return {};
        extents.output = {query->batch, query->length, features};
    }
    return extents;
}

std::vector<onnx::TypeProto> split_evenly(const onnx::NodeProto& node, const onnx::TypeProto& input) {
    const std::int64_t parts = node.output_size(), rank = input.tensor_type().shape().dim_size();
    std::int64_t axis = integer_attribute(node, "axis", 0);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || parts < 1) return {};
    std::int64_t left = input.tensor_type().shape().dim(static_cast<int>(axis)).dim_value();
    const std::int64_t each = left / parts + (left % parts != 0 ? 1 : 0);
    std::vector<onnx::TypeProto> types;
    for (std::int64_t i = 0; i < parts; ++i) {
        types.push_back(input);
        types.back()
            .mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(static_cast<int>(axis))
            ->set_dim_value(std::min(each, left));
        left -= std::min(each, left);
    }
    return types;
}

std::optional<std::vector<std::int64_t>> early_slice_shape(const onnx::NodeProto& node,
                                                           const OnnxScope& scope) {
    auto shape = scope.shape(node.input(0));
    const auto starts = integers_attribute(node, "starts"), ends = integers_attribute(node, "ends"),
               axes = integers_attribute(node, "axes");
    if (!shape || starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size())) return {};
    const auto rank = static_cast<std::int64_t>(shape->size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
        std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) return {};
        std::int64_t& extent = (*shape)[static_cast<std::size_t>(axis)];
        const auto bound = [&](std::int64_t at) {
            return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent);
        };
        extent = std::max<std::int64_t>(0, bound(ends[i]) - bound(starts[i]));
    }
    return shape;
}

std::optional<std::vector<std::int64_t>> einsum_shape(const onnx::NodeProto& node, const OnnxScope& scope) {
    const onnx::AttributeProto* attribute = find_attribute(node, "equation");
    std::string equation = attribute != nullptr ? attribute->s() : "";
    std::erase(equation, ' ');
    const std::size_t arrow = std::min(equation.find("->"), equation.size());
    std::string_view terms = std::string_view(equation).substr(0, arrow);
    std::map<int, std::int64_t> extents;
    std::map<int, std::size_t> uses;
    std::int64_t unnamed = 0;
    for (int i = 0; i < node.input_size(); ++i) {
        const std::string_view term = terms.substr(0, terms.find(','));
        const auto shape = scope.shape(node.input(i));
        const bool last = term.size() == terms.size();
        if (!shape || last != (i + 1 == node.input_size())) return {};
        const bool has_dots = term.find("...") != std::string_view::npos;
        const auto named = static_cast<std::int64_t>(term.size()) - (has_dots ? 3 : 0);
        const std::int64_t own = static_cast<std::int64_t>(shape->size()) - named;
        const auto indices = einsum_indices(term, own);
        if (own < 0 || !indices || indices->size() != shape->size()) return {};
        unnamed = std::max(unnamed, own);
        for (std::size_t at = 0; at < shape->size(); ++at) {
            std::int64_t& known = extents[(*indices)[at]];
            known = std::max(known, (*shape)[at]);
            ++uses[(*indices)[at]];
        }
        terms.remove_prefix(last ? terms.size() : term.size() + 1);
    }
    std::vector<int> results;
    if (arrow < equation.size()) {
        const auto indices = einsum_indices(std::string_view(equation).substr(arrow + 2), unnamed);
        if (!indices) return {};
        results = *indices;
    } else {
        // First the indices of "...", then those that occur once, in alphabetical order.
        for (const auto& [index, count] : uses) {
            if (index < 0 || count == 1) results.push_back(index);
        }
    }
    std::vector<std::int64_t> shape;
    for (const int index : results) {
        const auto extent = extents.find(index);
        if (extent == extents.end()) return {};
        shape.push_back(extent->second);
    }
    return shape;
}

namespace {

/// Axes from the front; all of them for none; nothing for a wrong one.
std::optional<std::vector<std::size_t>> axes_from(const std::vector<std::int64_t>& given, std::size_t rank) {
    std::vector<std::size_t> axes;
    for (std::int64_t axis : given) {
        if (axis < 0) axis += static_cast<std::int64_t>(rank);
        if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return {};
        axes.push_back(static_cast<std::size_t>(axis));
    }
    if (given.empty()) {
        for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    }
    return axes;
}

const Numbers* input_numbers(const onnx::NodeProto& node, const OnnxScope& scope, int input) {
    return input < node.input_size() && !node.input(input).empty() ? scope.numbers(node.input(input))
                                                                   : nullptr;
}

/// Whether a number can be an extent.
bool is_extent(double value) {
    return value >= 0 && value < 0x1p31;
}

}  // namespace

std::optional<FusedProduct> fused_product(const onnx::NodeProto& node, const OnnxScope& scope) {
    if (node.op_type() != "FusedMatMul" || node.input_size() < 2 ||
        integer_attribute(node, "transBatchA", 0) != 0 || integer_attribute(node, "transBatchB", 0) != 0)
        return {};
    auto a = scope.shape(node.input(0)), b = scope.shape(node.input(1));
    if (!a || !b || a->size() < 2 || b->size() < 2) return {};
    if (integer_attribute(node, "transA", 0) != 0) std::swap(a->back(), a->rbegin()[1]);
    if (integer_attribute(node, "transB", 0) != 0) std::swap(b->back(), b->rbegin()[1]);
    if (a->back() != b->rbegin()[1]) return {};
    FusedProduct product{{a->rbegin()[1], b->back()}, a->back()};
    for (std::size_t k = 2; k < std::max(a->size(), b->size()); ++k) {
        const std::int64_t one = k < a->size() ? a->rbegin()[static_cast<std::ptrdiff_t>(k)] : 1,
                           other = k < b->size() ? b->rbegin()[static_cast<std::ptrdiff_t>(k)] : 1;
        if (one != other && one != 1 && other != 1) return {};
        product.shape.insert(product.shape.begin(), one == 1 ? other : one);
    }
    return product;
}

std::optional<std::vector<std::int64_t>> resized_shape(const onnx::NodeProto& node, const OnnxScope& scope) {
    if (node.op_type() != "Resize") return {};
    const auto given = integers_attribute(node, "axes");
    const onnx::AttributeProto* const policy = find_attribute(node, "keep_aspect_ratio_policy");
    const bool keeps = policy != nullptr && policy->s() != "stretch";
    if (given.empty() && !keeps) return {};
    auto shape = scope.shape(node.input(0));
    const auto axes = shape ? axes_from(given, shape->size()) : std::nullopt;
    const Numbers *scales = input_numbers(node, scope, 2), *sizes = input_numbers(node, scope, 3);
    const Numbers* const by = sizes != nullptr ? sizes : scales;
    if (!axes || by == nullptr || by->values.size() != axes->size()) return {};
    std::vector<double> factors;
    for (std::size_t k = 0; k < axes->size(); ++k) {
        const auto extent = static_cast<double>((*shape)[(*axes)[k]]);
        if (extent <= 0) return {};
        factors.push_back(by == sizes ? by->values[k] / extent : by->values[k]);
    }
    if (factors.empty()) return shape;
    const bool one_factor = keeps && by == sizes;
    const auto [least, most] = std::ranges::minmax(factors);
    for (std::size_t k = 0; k < axes->size(); ++k) {
        std::int64_t& extent = (*shape)[(*axes)[k]];
        const double factor = !one_factor ? factors[k] : policy->s() == "not_larger" ? least : most;
        const double size = by == sizes && !one_factor ? by->values[k]
                            : one_factor               ? std::round(static_cast<double>(extent) * factor)
                                                       : std::floor(static_cast<double>(extent) * factor);
        if (!is_extent(size)) return {};
        extent = static_cast<std::int64_t>(size);
    }
    return shape;
}

std::optional<std::vector<std::int64_t>> padded_shape(const onnx::NodeProto& node, const OnnxScope& scope) {
    if (node.op_type() != "Pad") return {};
    const Numbers *pads = input_numbers(node, scope, 1), *given = input_numbers(node, scope, 3);
    if (pads == nullptr || given == nullptr) return {};
    auto shape = scope.shape(node.input(0));
    const auto axes = shape ? axes_from(given->whole(), shape->size()) : std::nullopt;
    if (!axes || pads->values.size() != 2 * axes->size()) return {};
    for (std::size_t k = 0; k < axes->size(); ++k) {
        std::int64_t& extent = (*shape)[(*axes)[k]];
        const double size = static_cast<double>(extent) + pads->values[k] + pads->values[k + axes->size()];
        if (!is_extent(size)) return {};
        extent = static_cast<std::int64_t>(size);
    }
    return shape;
}

std::optional<std::vector<std::int64_t>> one_hot_shape(const onnx::NodeProto& node, const OnnxScope& scope) {
    if (node.op_type() != "OneHot") return {};
    const Numbers* const depth = input_numbers(node, scope, 1);
    if (depth == nullptr || depth->values.size() != 1 || !is_extent(depth->values[0])) return {};
    auto shape = scope.shape(node.input(0));
    if (!shape) return {};
    const auto rank = static_cast<std::int64_t>(shape->size());
    std::int64_t axis = integer_attribute(node, "axis", -1);
    if (axis < 0) axis += rank + 1;
    if (axis < 0 || axis > rank) return {};
    shape->insert(shape->begin() + axis, depth->whole().front());
    return shape;
}

onnx::TypeProto loosely_sliced(const onnx::NodeProto& node, const OnnxScope& scope) {
    onnx::TypeProto result = *scope.type(node.input(0));
    auto& dims = *result.mutable_tensor_type()->mutable_shape()->mutable_dim();
    const Numbers* const axes = node.input_size() > 3 ? scope.numbers(node.input(3)) : nullptr;
    if (axes == nullptr) {
        for (auto& dim : dims) dim.Clear();
        return result;
    }
    for (const std::int64_t axis : axes->whole()) {
        const std::int64_t from_the_front = axis < 0 ? axis + dims.size() : axis;
        if (from_the_front >= 0 && from_the_front < dims.size())
            dims[static_cast<int>(from_the_front)].Clear();
    }
    return result;
}

}  // namespace placewright
