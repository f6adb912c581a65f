// SPDX-License-Identifier: MIT
// Messages to and from placewright-torchscript. The functions that read them throw nlohmann's exceptions and
// std::invalid_argument.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/scripted_program.hpp"
#include "core/io/text/json.hpp"

namespace placewright::script_message {

using Json = nlohmann::ordered_json;

Json of(const std::vector<ExampleInput>& inputs);
Json of(const ScriptedProgram& program);
Json of(const ScriptError& error);

std::vector<ExampleInput> inputs_in(const Json& json);
ScriptedProgram program_in(const Json& json);
ScriptError error_in(const Json& json);

}  // namespace placewright::script_message
