// SPDX-License-Identifier: MIT
// Content of a TorchScript file.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/io/pytorch/aten_call.hpp"
#include "core/io/pytorch/example_input.hpp"

namespace placewright {

/// The operators and tensors of one call of a model.
struct ScriptedProgram {
    struct Input {
        std::string name;
        Tensor tensor;
    };
    struct Parameter {
        std::string name;  ///< name of the value
        std::string path;  ///< name in the state_dict; empty: a constant of the program
        Tensor tensor;
        bool trained = true;
        std::vector<std::string> other_paths{};  ///< further names of a tied parameter
    };

    std::vector<Input> inputs;
    std::vector<Parameter> parameters;
    std::vector<AtenCall> calls;
    std::vector<std::string> outputs;
};

/// Reason why a model was not read, and the remedy.
class ScriptError : public std::runtime_error {
public:
    enum class Remedy : std::uint8_t { none, inputs, run };
    ScriptError(Remedy remedy, std::string place, const std::string& problem,
                std::vector<ExampleInput> proposal = {})
        : std::runtime_error(problem),
          remedy_(remedy),
          place_(std::move(place)),
          proposal_(std::move(proposal)) {}
    Remedy remedy() const { return remedy_; }
    const std::string& place() const { return place_; }
    /// If inputs are missing: inputs of usual sizes that the first layers accept; empty if the model does not
    /// show what it accepts.
    const std::vector<ExampleInput>& proposal() const { return proposal_; }

private:
    Remedy remedy_;
    std::string place_;
    std::vector<ExampleInput> proposal_;
};

/// Returns the program of a TorchScript file that is called with `inputs`, as LibTorch reads it. Loading the
/// file runs the default arguments of its methods and, with `run`, the __setstate__ of its classes; without
/// `run`, a file with __setstate__ is refused. Parameters and buffers that no call reads are listed, too.
/// Without `run` no tensor is computed: sizes follow from sizes, on LibTorch's meta device and by formulas.
/// Parameters and scopes have the names of the modules; of branches and loops the calls are those that the
/// run takes. Throws ScriptError, and std::bad_alloc.
///
/// Only placewright-torchscript may call this, because LibTorch can overwrite its own memory on a broken or
/// hostile file. Other programs use script_process.hpp.
ScriptedProgram walk_script(const std::string& file, const std::vector<ExampleInput>& inputs, bool run);

}  // namespace placewright
