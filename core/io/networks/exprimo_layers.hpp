// SPDX-License-Identifier: MIT
// Layers of Exprimo: their kinds, outputs, parameters and FLOPs. Shapes have Exprimo's order of dimensions:
// batch, height, width, channels.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/io/text/json.hpp"

namespace placewright::exprimo {

using Shape = std::vector<std::int64_t>;

/// Limit of the numbers of a layer, above those of any network; their products stay within the range that is
/// checked.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;

/// Outputs, parameters and FLOPs of a layer.
struct Inference {
    const JsonValue& layer;
    const std::vector<Shape>& inputs;
    std::int64_t batch;
    Op& op;
    Shape output = {};

    [[noreturn]] void fail(const std::string& problem) const { layer.fail(problem); }

    /// Bytes of float32 values.
    std::int64_t bytes(const Shape& shape) const;
    double elements(const Shape& shape) const { return static_cast<double>(bytes(shape)) / 4.0; }

    /// Returns a member that is a list of `count` numbers of at least `least`.
    Shape numbers(const std::string& key, std::size_t count, std::int64_t least = 1) const;

    /// Returns height and width of the only input, which must be an image.
    const Shape& image() const;

    void attribute(const std::string& key, const Shape& values) const {
        op.attributes[key] = Json(values).dump();
    }
};

/// A type of layers in Exprimo, and its kind here.
struct LayerType {
    std::string_view type;
    std::string_view kind;
    std::size_t least_parents, most_parents;
    void (*infer)(Inference&);
};

inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// Throws InputError for a layer of an unknown type.
const LayerType& layer_type(const JsonValue& layer);

/// Returns the attributes of a layer. Values with Exprimo's order of dimensions get the prefix "exprimo.".
std::map<std::string, std::string> layer_attributes(const JsonValue& layer);

/// Returns the output with the channels after the batch, as PyTorch orders them.
Tensor channels_first(const Inference& at);

}  // namespace placewright::exprimo
