// SPDX-License-Identifier: MIT
#include "core/io/pytorch/script_message.hpp"

#include <nlohmann/json.hpp>

#include "core/io/pytorch/example_input.hpp"
#include "core/io/text/json.hpp"

namespace placewright::script_message {
namespace {

DType dtype_in(const Json& json) {
    const auto dtype = dtype_from(json.at("dtype").get_ref<const std::string&>());
    if (!dtype) throw std::invalid_argument("an unknown dtype");
    return *dtype;
}

Json described(const std::string& name, const Tensor& tensor) {
    return {{"name", name}, {"shape", tensor.shape.value()}, {"dtype", to_string(tensor.dtype)}};
}

/// The library would cast other numbers.
std::int64_t integer_in(const Json& json) {
    if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::int64_t>() < 0))
        throw std::invalid_argument("a number that is not whole or too large");
    return json.get<std::int64_t>();
}

std::vector<std::int64_t> integers_in(const Json& json) {
    if (!json.is_array()) throw std::invalid_argument("no list of numbers");
    std::vector<std::int64_t> integers;
    for (const Json& integer : json) integers.push_back(integer_in(integer));
    return integers;
}

Tensor tensor_in(const Json& json) {
    return make_tensor(integers_in(json.at("shape")), dtype_in(json));
}

}  // namespace

Json of(const std::vector<ExampleInput>& inputs) {
    Json json = Json::array();
    for (const ExampleInput& input : inputs)
        json.push_back({{"shape", input.shape}, {"dtype", to_string(input.dtype)}});
    return json;
}

std::vector<ExampleInput> inputs_in(const Json& json) {
    std::vector<ExampleInput> inputs;
    for (const Json& input : json) inputs.push_back({integers_in(input.at("shape")), dtype_in(input)});
    return inputs;
}

Json of(const ScriptedProgram& program) {
    Json json{{"inputs", Json::array()},
              {"parameters", Json::array()},
              {"calls", Json::array()},
              {"outputs", program.outputs}};
    for (const ScriptedProgram::Input& input : program.inputs)
        json["inputs"].push_back(described(input.name, input.tensor));
    for (const ScriptedProgram::Parameter& parameter : program.parameters) {
        Json& one = json["parameters"].emplace_back(described(parameter.name, parameter.tensor));
        one["path"] = parameter.path;
        one["trained"] = parameter.trained;
        one["other_paths"] = parameter.other_paths;
    }
    for (const AtenCall& call : program.calls) {
        Json arguments = Json::array(), outputs = Json::array();
        for (const AtenCall::Argument& argument : call.arguments)
            arguments.push_back({{"name", argument.name},
                                 {"values", argument.values},
                                 {"integers", argument.integers},
                                 {"text", argument.text}});
        for (const AtenCall::Output& output : call.outputs)
            outputs.push_back(described(output.name, output.tensor.value()));
        json["calls"].push_back({{"op", call.op},
                                 {"scope", call.scope},
                                 {"arguments", std::move(arguments)},
                                 {"outputs", std::move(outputs)}});
    }
    return json;
}

ScriptedProgram program_in(const Json& json) {
    ScriptedProgram program;
    for (const Json& input : json.at("inputs"))
        program.inputs.push_back({input.at("name"), tensor_in(input)});
    for (const Json& one : json.at("parameters"))
        program.parameters.push_back(
            {one.at("name"), one.at("path"), tensor_in(one), one.at("trained"), one.at("other_paths")});
    for (const Json& one : json.at("calls")) {
        AtenCall call{one.at("op"), one.at("scope"), {}, {}};
        for (const Json& argument : one.at("arguments"))
            call.arguments.push_back({argument.at("name"), argument.at("values"),
                                      integers_in(argument.at("integers")), argument.at("text")});
        for (const Json& output : one.at("outputs"))
            call.outputs.push_back({output.at("name"), tensor_in(output)});
        program.calls.push_back(std::move(call));
    }
    program.outputs = json.at("outputs").get<std::vector<std::string>>();
    return program;
}

Json of(const ScriptError& error) {
    return {{"remedy", static_cast<int>(error.remedy())},
            {"place", error.place()},
            {"problem", error.what()},
            {"proposal", of(error.proposal())}};
}

ScriptError error_in(const Json& json) {
    const std::int64_t remedy = integer_in(json.at("remedy"));
    if (remedy < 0 || remedy > static_cast<int>(ScriptError::Remedy::run))
        throw std::invalid_argument("an unknown remedy");
    return {static_cast<ScriptError::Remedy>(remedy), json.at("place"), json.at("problem").get<std::string>(),
            inputs_in(json.at("proposal"))};
}

}  // namespace placewright::script_message
