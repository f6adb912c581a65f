// SPDX-License-Identifier: MIT
// Nodes that run other nodes: calls of functions, If, Loop and Scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/io/onnx/onnx_kinds.hpp"
#include "core/io/onnx/onnx_scope.hpp"

namespace placewright {

/// Returns the names that the bodies of a node read from the enclosing graph, each once, in the order of
/// their first use.
std::vector<std::string> captured_names(const onnx::NodeProto& node);

/// Runs the bodies of a model's nodes for their FLOPs and the types of their outputs. All bodies of a model
/// together run at most 100 000 nodes of 512 MiB, counted at each place that runs them, at most 32 deep.
class OnnxBodies {
public:
    /// All arguments must outlive this object. `file` is for messages.
    OnnxBodies(const std::string& file, const OnnxContext& context, const OnnxScope::Opsets& opsets,
               const std::map<std::string, std::int64_t>& dims)
        : file_(&file), context_(&context), opsets_(&opsets), dims_(&dims) {}

    /// Returns whether a node runs a body.
    bool has_body(const onnx::NodeProto& node) const;

    /// Defines the outputs of a node with a body in `scope`. Returns the FLOPs of the node; nothing if some
    /// are unknown. Throws InputError with `where`, the place of the node, if the bodies exceed a limit.
    std::optional<double> run(const onnx::NodeProto& node, OnnxScope& scope, const std::string& where);

private:
    void count_body_node(int depth);
    /// Counts the bytes of a message of a body; to be called before each copy, which each run of the body
    /// makes.
    void count_body_bytes(const google::protobuf::Message& message);
    std::optional<double> run_node(const onnx::NodeProto& node, OnnxScope& scope, int depth);
    /// Returns the FLOPs of all nodes; nothing if some are unknown. `call` is the call of a function whose
    /// nodes these are.
    template <class Nodes>
    std::optional<double> run_nodes(const Nodes& nodes, OnnxScope& scope, int depth,
                                    const onnx::NodeProto* call = nullptr);
    std::optional<double> flops_of(const onnx::NodeProto& node, const OnnxScope& scope) const;
    std::optional<double> run_body(const onnx::NodeProto& node, OnnxScope& scope, int depth);
    /// Returns a node of a function whose references to attributes are replaced by those of the call.
    onnx::NodeProto with_attributes(const onnx::NodeProto& node, const onnx::NodeProto& call);
    std::optional<double> run_function(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                                       OnnxScope& scope, int depth);
    /// Returns the FLOPs of a body in the scope `inner`, whose inputs have these types.
    std::optional<double> run_graph(const onnx::GraphProto& body, OnnxScope& inner,
                                    const std::vector<onnx::TypeProto>& inputs, int depth);
    /// Returns the FLOPs of the branch with more of them; each output has the larger of both sizes.
    std::optional<double> run_if(const onnx::NodeProto& node, OnnxScope& scope, int depth);
    /// Returns the FLOPs of all iterations, if their number is constant.
    std::optional<double> run_loop(const onnx::NodeProto& node, OnnxScope& scope, int depth);
    /// Returns the FLOPs of a body for all slices of the sequences. A Scan of operator set 8 gets only the
    /// output types that the file states.
    std::optional<double> run_scan(const onnx::NodeProto& node, OnnxScope& scope, int depth);

    const std::string* file_;
    const OnnxContext* context_;
    const OnnxScope::Opsets* opsets_;
    const std::map<std::string, std::int64_t>* dims_;
    std::string where_;                  ///< the current node of the model
    std::size_t nodes_ = 0, bytes_ = 0;  ///< run so far
};

}  // namespace placewright
