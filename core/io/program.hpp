// SPDX-License-Identifier: MIT
// What exchange formats of networks (ONNX, TorchScript, torch.export) have in common: values that nodes compute from values and parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/io/files.hpp"

namespace placewright {

/// A forward pass as a file holds it. Values are named once (static single assignment) and before they are read.
struct Program {
    struct Value {
        std::string name;
        std::optional<Tensor> tensor;  ///< nothing: of unknown size
        std::string why{};             ///< it is unknown, for the message
    };
    /// A tensor that the file stores, or names.
    struct Parameter {
        std::string name;  ///< of the value
        std::string path;  ///< as a state_dict calls it ("layer1.0.conv1.weight"); empty: a number of the program, no part of the model
        Tensor tensor;
        bool trained = true;                     ///< false: a buffer, such as running statistics, or a constant
        std::vector<std::string> other_paths{};  ///< of one that is tied, and has several names in the state_dict
    };
    struct Node {
        std::string name{};                 ///< unique among nodes, or empty: named after its first output
        std::string kind{};                 ///< of kinds.hpp, or the file's own word where there is none
        std::string scope{};                ///< module path, '/' separated
        std::vector<std::string> inputs{};  ///< values and parameters, in the order of the kind's functional form (flops.hpp)
        std::vector<Value> outputs{};
        std::int64_t window = 1;        ///< OpShapes::window
        std::string equation{};         ///< OpShapes::equation
        std::optional<double> flops{};  ///< where the reader knows better than forward_flops
        bool in_place = false;
        std::map<std::string, std::string> attributes{};  ///< JSON text by key
    };

    std::string name;
    std::int64_t batch = 1;
    std::vector<Value> inputs;
    std::vector<Parameter> parameters;
    std::vector<Node> nodes;
    std::vector<std::string> outputs;  ///< values that are the result; none given: all that nobody reads
};

/// The network that trains a program (Training::implicit).
///
/// An op for each input that is read and each node that the outputs depend on. A parameter belongs to the op that reads it, as
/// parameter_bytes (resident_bytes if it is not trained); one that several ops read is an op of kind "parameter" (or "constant"), in the
/// module that it is named after; constants of up to 64 KiB are held by each reader; what nothing reads is held, and not trained, by the
/// first op of its module, or of the nearest around it. A view of a parameter is that parameter. Numbers that are computed from nothing but
/// constants, and outputs that nobody reads and whose size is unknown, are left out. attributes["parameters"] of an op are the paths of the
/// parameters and buffers that it holds, attributes["parameter_bytes"] the bytes of each (0 for other names of a tied one),
/// attributes["buffers"] those paths that are not trained, if any.
///
/// FLOPs are those of the node, else forward_flops; where there are none, the op is listed in NetworkFile::estimated and its time is what
/// its bytes take. Throws InputError with `file` and the node for a value that is not there, or read and of unknown size.
NetworkFile network_of(const std::string& file, Program program);

}  // namespace placewright
