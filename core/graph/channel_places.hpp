// SPDX-License-Identifier: MIT
// Where the channels of an op are in its output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.hpp"
#include "core/graph/graph.hpp"

namespace placewright::channel_places {

using Shape = std::vector<std::int64_t>;
using Place = std::optional<std::size_t>;  ///< of a dimension

/// An op with the known channels of the ops before it.
struct Node {
    const Graph& graph;
    const Op& op;
    const std::vector<Place>& dimension_of;
    const std::vector<bool>& is_parameter;

    [[noreturn]] void fail(const std::string& problem) const {
        throw GraphError(op.name, "op " + in_quotes(op.name) + ": " + problem);
    }
    [[noreturn]] void refuse(std::string_view reason) const {
        fail("an op of kind " + in_quotes(op.kind) + " cannot be split by channels: " + std::string(reason));
    }

    const Shape* output() const {
        return op.outputs.empty() || !op.outputs.front().shape ? nullptr : &*op.outputs.front().shape;
    }
    const Op& producer(std::size_t input) const { return graph.op(op.inputs[input].op); }
    const Shape* input(std::size_t i) const {
        if (i >= op.inputs.size()) return nullptr;
        const Tensor& tensor = producer(i).outputs[op.inputs[i].output];
        return tensor.shape ? &*tensor.shape : nullptr;
    }
    const Shape& shape_of_input(std::size_t i) const {
        if (i >= op.inputs.size()) refuse("it has no input " + std::to_string(i) + " to take channels from");
        if (const Shape* const shape = input(i)) return *shape;
        fail("its input " + in_quotes(producer(i).name) +
             " has no shape, expected one to take channels from");
    }
    Place input_channels(std::size_t i) const {
        return i < op.inputs.size() ? dimension_of[op.inputs[i].op] : Place{};
    }

    /// The dimensions of a tensor of `rank` that attribute `key` names; nothing if it names none.
    std::optional<std::vector<std::size_t>> dimensions(const std::string& key, std::size_t rank) const {
        const auto numbers = integer_attribute(op, key);
        if (!numbers) return {};
        std::vector<std::size_t> result;
        for (const std::int64_t number : *numbers) {
            const std::int64_t place = number < 0 ? number + static_cast<std::int64_t>(rank) : number;
            if (place < 0 || place >= static_cast<std::int64_t>(rank)) return {};
            result.push_back(static_cast<std::size_t>(place));
        }
        return result;
    }
};

// Functions that return where the channels of an op's output are.

/// In dimension 1, in sequences (rank 3) in the last; nothing for lists of numbers.
Place customary(const Node& node);

/// A fixed dimension; negative values count from the last one.
template <int place>
Place at(const Node& node) {
    const int rank = static_cast<int>(node.output()->size());
    const int dimension = place < 0 ? rank + place : place;
    return dimension >= 0 && dimension < rank ? Place(dimension) : Place();
}

/// The dimension of the channels of the first input that has as many dimensions.
Place kept(const Node& node);

/// Of an output that is its inputs with shapes aligned at the last dimension.
Place aligned(const Node& node);

/// Of attention: heads, which are dimension 1 of four.
Place heads(const Node& node);

// Of views and reductions: where the channels of the first input go. Nothing if they do not stay together, or
// if that is not known.

/// The same elements in the same order: the dimension in which as many elements precede each channel.
Place reshaped(const Node& node);

/// Some dimensions of the input are missing in the output: those that "dim" names, else those whose extents
/// are missing.
Place reduced(const Node& node);

/// The output has one dimension more than each input.
Place stacked(const Node& node);

/// "dims" of a permutation, "dims" or "dim0" and "dim1" of an exchange; else the only dimension of the
/// channels' extent.
Place permuted(const Node& node);

/// For ops that are only known to carry the channels of their input; otherwise the usual dimension.
template <Place (*carried)(const Node&)>
Place or_customary(const Node& node) {
    const Place place = carried(node);
    return place ? place : customary(node);
}

/// Returns the labels of an Einstein sum: one text for each input, and the output's; nothing if they do not
/// name each dimension.
std::optional<std::vector<std::string>> einsum_labels(const Node& node);

}  // namespace placewright::channel_places
