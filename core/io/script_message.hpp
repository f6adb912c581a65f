// SPDX-License-Identifier: MIT
// What placewright-torchscript is asked, and answers. What reads it throws nlohmann's exceptions and std::invalid_argument.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/learn/torch_script.hpp"

namespace placewright::script_message {

using Json = nlohmann::ordered_json;

Json of(const std::vector<ExampleInput>& inputs);
Json of(const ScriptedProgram& program);
Json of(const ScriptError& error);

std::vector<ExampleInput> inputs_in(const Json& json);
ScriptedProgram program_in(const Json& json);
ScriptError error_in(const Json& json);

}  // namespace placewright::script_message
