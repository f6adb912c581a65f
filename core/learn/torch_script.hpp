// SPDX-License-Identifier: MIT
// What a TorchScript file holds.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/graph/aten_call.hpp"

namespace placewright {

/// A tensor of zeros that a model is called with.
struct ExampleInput {
    std::vector<std::int64_t> shape;
    DType dtype = DType::float32;

    bool operator==(const ExampleInput&) const = default;
};

/// One call of a model.
struct ScriptedProgram {
    struct Input {
        std::string name;
        Tensor tensor;
    };
    struct Parameter {
        std::string name;  ///< of the value
        std::string path;  ///< in the state_dict; empty: a number of the program
        Tensor tensor;
        bool trained = true;
        std::vector<std::string> other_paths{};  ///< of one that is tied
    };

    std::vector<Input> inputs;
    std::vector<Parameter> parameters;
    std::vector<AtenCall> calls;
    std::vector<std::string> outputs;
};

/// Why a model was not read, and what would help.
class ScriptError : public std::runtime_error {
public:
    enum class Remedy : std::uint8_t { none, inputs, run };
    ScriptError(Remedy remedy, std::string place, const std::string& problem, std::vector<ExampleInput> proposal = {})
        : std::runtime_error(problem), remedy_(remedy), place_(std::move(place)), proposal_(std::move(proposal)) {}
    Remedy remedy() const { return remedy_; }
    const std::string& place() const { return place_; }
    /// Inputs of usual sizes that the first layers take, where these are what is missing; empty if the model does not tell.
    const std::vector<ExampleInput>& proposal() const { return proposal_; }

private:
    Remedy remedy_;
    std::string place_;
    std::vector<ExampleInput> proposal_;
};

/// The program of a TorchScript file that is called with `inputs`, as LibTorch reads it. Loading it runs what arguments of its methods are
/// by default, and with `run` the __setstate__ of its classes; without, such a file is refused. Parameters and buffers that no call reads
/// are listed, too. Unless the model is to `run`, no tensor is computed: sizes follow from sizes, on LibTorch's meta device and by
/// formulas. Parameters and scopes have the names of the modules; branches and loops are those that are taken. Throws ScriptError, and
/// std::bad_alloc. For placewright-torchscript alone: on a broken or hostile file LibTorch overwrites its own memory. Others ask
/// script_process.hpp.
ScriptedProgram walk_script(const std::string& file, const std::vector<ExampleInput>& inputs, bool run);

}  // namespace placewright
