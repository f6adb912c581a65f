// SPDX-License-Identifier: MIT
// What is known of the values of an ONNX graph before it runs: shapes, and the numbers that shapes are computed with.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/graph/graph.hpp"

namespace placewright {

/// A small tensor whose values are known. Integers up to 2^53 are exact, larger ones mean "to the end".
struct Numbers {
    std::vector<std::int64_t> shape;  ///< of rank 0, 1 or 2
    std::int32_t type = onnx::TensorProto::INT64;
    std::vector<double> values;

    std::vector<std::int64_t> whole() const;
};

/// Whether an element type of ONNX is one of floating-point numbers.
bool is_real(std::int32_t type);
/// A named attribute; nullptr where the node has none.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t other);
std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name);

class OnnxScope;

/// Attention(queries, keys, values) of operator set 23, or MultiHeadAttention of ONNX Runtime.
struct AttentionExtents {
    std::int64_t batch, heads, key_heads, queries;
    std::int64_t keys;  ///< those of earlier steps, which it gets, among them
    std::int64_t key_size, value_size;
    std::vector<std::int64_t> output;
};
/// Nothing for another op, for extents that are not known or do not fit, and for inputs that are packed into one.
std::optional<AttentionExtents> attention_extents(const onnx::NodeProto& node, const OnnxScope& scope);

/// The values of a graph, or of a body that sees those of the graph around it. Of the numbers that nodes give 8192 of each and four
/// million (32 MB) in all are kept; of others only the type is known. Shapes have at most 64 extents, longer ones are unknown.
class OnnxScope {
public:
    /// Operator set by domain, "" for ONNX's own.
    using Opsets = std::unordered_map<std::string, int>;

    OnnxScope(const Opsets& opsets, const std::map<std::string, std::int64_t>& dims, const OnnxScope* outer = nullptr)
        : opsets_(&opsets), dims_(&dims), outer_(outer), kept_(outer != nullptr ? outer->kept_ : std::make_shared<std::size_t>(0)) {}

    /// An input of this type. Extents that `dims` has are put in.
    void declare(const std::string& name, const onnx::TypeProto& type);
    /// What the file says of a value that a node gives; used where inference does not find all.
    void expect(const std::string& name, const onnx::TypeProto& type);
    /// A value that is given: its type and, of a small one, its numbers.
    void define(const std::string& name, const onnx::TensorProto& tensor);
    /// Another name for a value of `scope`.
    void alias(const std::string& name, const OnnxScope& scope, const std::string& value);

    bool knows(const std::string& name) const;
    /// nullptr where it is not known.
    const onnx::TypeProto* type(const std::string& name) const;
    const Numbers* numbers(const std::string& name) const;
    /// The extents; nothing if not all of them are known.
    std::optional<std::vector<std::int64_t>> shape(const std::string& name) const;

    int opset(const std::string& domain) const;

    /// Finds the types of the outputs, or their numbers, from the inputs. Returns what was in the way, or nothing.
    std::string infer(const onnx::NodeProto& node);

private:
    void set_type(const std::string& name, onnx::TypeProto type);
    /// What a node gives: as far as numbers are left, else its type.
    void keep(const std::string& name, Numbers numbers);
    std::shared_ptr<const Numbers> shared_numbers(const std::string& name) const;
    std::optional<Numbers> evaluate(const onnx::NodeProto& node) const;
    std::string infer_types(onnx::NodeProto node);
    /// What is in the way where an input holds numbers outside of the file.
    std::string far_input(const onnx::NodeProto& node) const;
    onnx::TypeProto resolved(onnx::TypeProto type) const;

    const Opsets* opsets_;
    const std::map<std::string, std::int64_t>* dims_;
    const OnnxScope* outer_;
    std::unordered_map<std::string, onnx::TypeProto> types_, expected_;
    std::unordered_map<std::string, std::shared_ptr<const Numbers>> numbers_;  ///< an alias shares them
    std::unordered_set<std::string> far_;                                      ///< small tensors of integers in other files
    std::shared_ptr<std::size_t> kept_;                                        ///< computed numbers, of all scopes of a file
};

}  // namespace placewright
