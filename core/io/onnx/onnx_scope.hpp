// SPDX-License-Identifier: MIT
// Values of an ONNX graph that are known before it runs: their types, and the numbers from which shapes are
// computed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/io/onnx/onnx_numbers.hpp"

namespace onnx {
class OpSchema;
}

namespace placewright {

/// The values of a graph, or of a body, which also sees the values of the enclosing graph. Numbers that nodes
/// compute are kept up to 8192 per value and four million (32 MB) in total; of larger values only the type is
/// known. Shapes have at most 64 extents; longer ones count as unknown.
class OnnxScope {
public:
    /// Operator set by domain; "" is ONNX's own domain.
    using Opsets = std::unordered_map<std::string, int>;

    OnnxScope(const Opsets& opsets, const std::map<std::string, std::int64_t>& dims,
              const OnnxScope* outer = nullptr)
        : opsets_(&opsets),
          dims_(&dims),
          outer_(outer),
          kept_(outer != nullptr ? outer->kept_ : std::make_shared<std::size_t>(0)) {}

    /// Makes room for so many values.
    void reserve(std::size_t values) { types_.reserve(values); }

    /// Declares an input of this type. Its named extents get their values from `dims`.
    void declare(const std::string& name, const onnx::TypeProto& type);
    /// Records the type that the file states for the output of a node; used where inference is incomplete.
    void expect(const std::string& name, const onnx::TypeProto& type);
    /// Defines a constant: its type and, if it is small, its numbers.
    void define(const std::string& name, const onnx::TensorProto& tensor);
    /// Defines another name for a value of `scope`.
    void alias(const std::string& name, const OnnxScope& scope, const std::string& value);

    bool knows(const std::string& name) const;
    /// Both return nullptr for an unknown type or unknown numbers.
    const onnx::TypeProto* type(const std::string& name) const;
    const Numbers* numbers(const std::string& name) const;
    /// Returns the extents; nothing if not all of them are known.
    std::optional<std::vector<std::int64_t>> shape(const std::string& name) const;

    int opset(const std::string& domain) const;

    /// Infers the types of a node's outputs, or their numbers, from its inputs. Returns the reason of a
    /// failure, or an empty text.
    std::string infer(const onnx::NodeProto& node);

private:
    void set_type(const std::string& name, onnx::TypeProto type);
    /// Keeps an output's numbers while the limit permits, else its type only.
    void keep(const std::string& name, Numbers numbers);
    std::shared_ptr<const Numbers> shared_numbers(const std::string& name) const;
    std::optional<Numbers> evaluate(const onnx::NodeProto& node) const;
    std::string infer_types(const onnx::NodeProto& node);
    /// Sets the outputs of an op whose types the ONNX library does not infer, or infers only in part. Returns
    /// nothing for another op, else the reason of a failure or an empty text.
    std::optional<std::string> infer_own(const onnx::NodeProto& node);
    /// Sets the outputs of an op that the ONNX library does not know but whose first output has the type of
    /// its first input. Returns the reason of a failure, or an empty text.
    std::string infer_like_input(const onnx::NodeProto& node);
    /// Sets the outputs as the ONNX library infers them. Returns the reason of a failure, or an empty text.
    std::string infer_by_schema(const onnx::OpSchema& schema, onnx::NodeProto node);
    /// Returns the type of an input; nullptr if it does not exist or its type is unknown.
    const onnx::TypeProto* input_type(const onnx::NodeProto& node, int index) const;
    /// Returns the reason of a failure if the numbers of an input are in another file, else an empty text.
    std::string far_input(const onnx::NodeProto& node) const;
    onnx::TypeProto resolved(onnx::TypeProto type) const;

    const Opsets* opsets_;
    const std::map<std::string, std::int64_t>* dims_;
    const OnnxScope* outer_;
    std::unordered_map<std::string, onnx::TypeProto> types_, expected_;
    std::unordered_map<std::string, std::shared_ptr<const Numbers>> numbers_;  ///< shared with aliases
    std::unordered_set<std::string> far_;  ///< small integer tensors stored in other files
    std::shared_ptr<std::size_t> kept_;    ///< number of kept computed numbers in all scopes of a file
};

/// Adds the operator sets that a model or a function imports, in place of earlier ones of the same domain.
void add_opsets(OnnxScope::Opsets& opsets,
                const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

}  // namespace placewright
