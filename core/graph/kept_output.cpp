// SPDX-License-Identifier: MIT
#include "core/graph/kept_output.hpp"

#include <algorithm>
#include <vector>

#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

constexpr double kFeaturesOfAHead = 64;  ///< where a file does not say how many heads there are
constexpr double kBytesOfASum = 4;

bool has(const Op& op, const char* attribute) {
    const auto numbers = integer_attribute(op, attribute);
    return numbers && numbers->size() == 1 && numbers->front() != 0;
}

/// Tensors are tokens x batch x features, or tokens x features.
std::optional<double> bytes_kept_by_attention(const Graph& graph, const Op& op) {
    const auto shape_of = [&](std::size_t input) -> const std::optional<std::vector<std::int64_t>>& {
        return graph.op(op.inputs[input].op).outputs[op.inputs[input].output].shape;
    };
    if (op.inputs.empty() || op.outputs.empty() || !op.outputs.front().shape) return {};
    const auto& output = *op.outputs.front().shape;
    const auto& key = shape_of(op.inputs.size() > 1 ? 1 : 0);
    if (output.size() < 2 || !key || key->size() != output.size() || output.back() < 1 || key->back() < 1)
        return {};
    const auto features = static_cast<double>(output.back());
    const double queries = static_cast<double>(element_count(op.outputs.front())) / features;
    double keys = 1;
    for (std::size_t k = 0; k + 1 < key->size(); ++k) keys *= static_cast<double>((*key)[k]);
    const auto given = integer_attribute(op, "heads");
    const double heads = given && given->size() == 1 && given->front() > 0
                             ? static_cast<double>(given->front())
                             : std::max(1.0, features / kFeaturesOfAHead);
    const auto element = static_cast<double>(bytes_per_element(op.outputs.front().dtype));
    const double projected = element * features * (2 * queries + 2 * keys);
    if (has(op, "fused")) return projected + kBytesOfASum * heads * queries;
    const double scores = heads * queries * static_cast<double>(key->front());
    return projected + scores * (has(op, "dropout") ? 2 * element + 1 : element);
}

}  // namespace

std::optional<Tensor> kept_output(const Graph& graph, const Op& op) {
    if (op.outputs.empty()) return {};
    Tensor kept = op.outputs.front();
    const std::int64_t mask = kind_info(op.kind).mask_bytes;
    if (mask > 0 && op.outputs.size() == 1) {
        kept.dtype = mask == 1 ? DType::uint8 : DType::int64;
        if (__builtin_mul_overflow(element_count(op.outputs.front()), mask, &kept.bytes))
            fail_at(op.name, "the mask that it keeps for its backward is too large to be counted");
        return kept;
    }
    if (op.kind != "multi_head_attention_forward") return {};
    const auto bytes = bytes_kept_by_attention(graph, op);
    if (!bytes) return {};
    constexpr double kMost = 1e18;
    if (*bytes > kMost) fail_at(op.name, "what it keeps for its backward is too large to be counted");
    kept.shape.reset();
    kept.bytes = static_cast<std::int64_t>(*bytes);
    return kept;
}

}  // namespace placewright
