// SPDX-License-Identifier: MIT
// The common form of networks in exchange formats (ONNX, TorchScript, torch.export): nodes that compute
// values from values and parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/io/networks/network_file.hpp"

namespace placewright {

/// The forward pass in a file. Each value is defined once (static single assignment) and before it is read.
struct Program {
    struct Value {
        std::string name;
        std::optional<Tensor> tensor;  ///< nothing: the size is unknown
        std::string why{};             ///< reason why the size is unknown, for messages
    };
    /// A tensor that the file stores or names.
    struct Parameter {
        std::string name;  ///< name of the value
        std::string path;  ///< state_dict name ("layer1.0.conv1.weight"); empty: a constant that is no part
                           ///< of the model's state
        Tensor tensor;
        bool trained = true;  ///< false: a buffer (such as running statistics) or a constant
        std::vector<std::string> other_paths{};  ///< further state_dict names of a tied parameter
    };
    struct Node {
        std::string name{};   ///< unique among nodes; empty: the node is named after its first output
        std::string kind{};   ///< a kind of kinds.hpp, or the file's own word if there is none
        std::string scope{};  ///< module path, '/' separated
        std::vector<std::string>
            inputs{};  ///< values and parameters, in the order of the kind's functional form (flops.hpp)
        std::vector<Value> outputs{};
        std::string part_of{};          ///< kind of the function of PyTorch that the node is a part of, if
                                        ///< the file says it
        std::int64_t window = 1;        ///< OpShapes::window
        std::string equation{};         ///< OpShapes::equation
        std::optional<double> flops{};  ///< overrides forward_flops
        bool in_place = false;
        std::map<std::string, std::string> attributes{};  ///< JSON text by key
    };

    /// How a file has the functions of PyTorch that each are one kernel (gelu, layer_norm, ...).
    enum class Functions : std::uint8_t {
        whole,     ///< each is one node: what is in single nodes runs so
        exported,  ///< as PyTorch's exporters to ONNX write them: some are chains of nodes
        unknown,   ///< another program wrote the file, for runtimes that look for chains in any form
    };

    std::string name;
    std::int64_t batch = 1;
    Functions functions = Functions::whole;
    std::vector<Value> inputs;
    std::vector<Parameter> parameters;
    std::vector<Node> nodes;
    std::vector<std::string>
        outputs;  ///< names of the result values; if empty, all values that no node reads
};

/// Builds the network that trains a program (Training::implicit).
///
/// Ops. There is an op for each input that is read and each node that the outputs depend on. Left out are
/// nodes that compute only from constants, and outputs that no node reads and whose size is unknown. A view
/// of a parameter counts as that parameter.
///
/// Parameters. A parameter belongs to the op that reads it, in parameter_bytes (resident_bytes if it is not
/// trained). A parameter that several ops read is an op of kind "parameter" (or "constant") in the module
/// that it is named after; of a constant of up to 64 KiB each reader holds a copy. A parameter that no op
/// reads counts as not trained, and the first op of its module, or of the nearest enclosing module with ops,
/// holds it. An op's attributes["parameters"] lists the paths of the parameters and buffers that it holds,
/// attributes["parameter_bytes"] the bytes of each (0 for further names of a tied parameter),
/// attributes["parameter_shapes"], if all are known, their shapes, and attributes["buffers"], if present, the
/// paths that are not trained.
///
/// FLOPs are those of the node, else forward_flops. An op without either is listed in NetworkFile::estimated,
/// and its time is estimated from its bytes. Throws InputError with `file` and the node for a value that is
/// not defined, or that is read but has an unknown size.
NetworkFile network_of(const std::string& file, Program program);

}  // namespace placewright
