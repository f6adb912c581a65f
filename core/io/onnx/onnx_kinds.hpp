// SPDX-License-Identifier: MIT
// Kinds of the ops in an ONNX model.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <onnx/onnx_pb.h>

#include "core/io/networks/traced_program.hpp"
#include "core/io/onnx/onnx_scope.hpp"

namespace placewright {

/// What a model says of the meaning of its nodes, beside the values of a scope.
struct OnnxContext {
    std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*>
        functions;                                       ///< by domain and name
    std::unordered_map<std::string, std::string> paths;  ///< paths of parameters and of their transposes

    /// Returns the function that a node calls; nullptr if it calls none.
    const onnx::FunctionProto* function_of(const onnx::NodeProto& node) const;
};

/// Returns the node with its kind, the inputs in the order of the kind's functional form, the values that its
/// FLOPs depend on, and attributes. It has no name, scope and outputs. The kind of an op that PyTorch does
/// not have is the op's own name, after its domain.
Program::Node translated(const onnx::NodeProto& node, const OnnxScope& scope, const OnnxContext& context);

}  // namespace placewright
