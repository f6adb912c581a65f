// SPDX-License-Identifier: MIT
// What a TorchScript file holds. LibTorch reads it in a process of its own, placewright-torchscript: on a broken or hostile file it
// overwrites its own memory, and then only that process ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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
    ScriptError(Remedy remedy, std::string place, const std::string& problem)
        : std::runtime_error(problem), remedy_(remedy), place_(std::move(place)) {}
    Remedy remedy() const { return remedy_; }
    const std::string& place() const { return place_; }

private:
    Remedy remedy_;
    std::string place_;
};

/// The most that reading a file may take: of memory beside the weights, and of the processor.
inline constexpr std::uint64_t kMostScriptBytes = std::uint64_t{4} << 30;
inline constexpr unsigned kMostScriptSeconds = 600;

/// The program of a TorchScript file that is called with `inputs`. Loading it runs the __setstate__ of its classes, if they have one.
/// Unless the model is to `run`, no tensor is computed: sizes follow from sizes, on LibTorch's meta device and by formulas. Parameters and
/// scopes have the names of the modules; branches and loops are those that are taken. Throws ScriptError, also where the process that reads
/// it crashes, or takes more than the above.
ScriptedProgram read_script(const std::filesystem::path& file, const std::vector<ExampleInput>& inputs, bool run);

namespace torch_script {

/// The same in this process, with LibTorch; for placewright-torchscript alone.
ScriptedProgram walk(const std::string& file, const std::vector<ExampleInput>& inputs, bool run);

// What the processes tell each other. from_json throws nlohmann's exceptions, and std::invalid_argument.

nlohmann::ordered_json to_json(const std::vector<ExampleInput>& inputs);
std::vector<ExampleInput> inputs_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const ScriptedProgram& program);
ScriptedProgram program_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const ScriptError& error);
ScriptError error_from_json(const nlohmann::ordered_json& json);

}  // namespace torch_script

}  // namespace placewright
