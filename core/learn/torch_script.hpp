// SPDX-License-Identifier: MIT
// What a TorchScript file holds, as LibTorch reads it.
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

}  // namespace placewright
