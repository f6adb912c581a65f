// SPDX-License-Identifier: MIT
// Answers of the process that reads TorchScript: a hostile file may make it send anything.
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "core/io/networks/traced_program.hpp"
#include "core/io/pytorch/script_message.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    try {
        const auto json = script_message::Json::parse(bytes, bytes + size);
        if (json.contains("remedy")) {
            script_message::error_in(json);
            return 0;
        }
        const ScriptedProgram program = script_message::program_in(json);
        network_of("model.pt", program_of(program, "model"));
    } catch (const nlohmann::json::exception&) {
    } catch (const std::invalid_argument&) {
    } catch (const InputError&) {
    }
    return 0;
}

std::vector<std::string> seeds() {
    ScriptedProgram program;
    program.inputs = {{"x", make_tensor({2, 3, 8, 8})}};
    program.parameters = {{"w", "conv.weight", make_tensor({4, 3, 3, 3})},
                          {"m", "norm.running_mean", make_tensor({4}), false},
                          {"v", "fc.weight", make_tensor({10, 144}), true, {"tied.weight"}}};
    program.calls = {
        {"_convolution",
         "conv",
         {{"input", {"x"}},
          {"weight", {"w"}},
          {"stride", {}, {1, 1}},
          {"padding", {}, {0}},
          {"groups", {}, {1}}},
         {{"c", make_tensor({2, 4, 6, 6})}}},
        {"add_", "norm", {{"self", {"c"}}, {"other", {"m"}}}, {{"a", make_tensor({2, 4, 6, 6})}}},
        {"flatten", "", {{"self", {"a"}}, {"start_dim", {}, {1}}}, {{"f", make_tensor({2, 144})}}},
        {"einsum",
         "fc",
         {{"equation", {}, {}, "ij,kj->ik"}, {"tensors", {"f", "v"}}},
         {{"y", make_tensor({2, 10})}}},
        {"split",
         "",
         {{"self", {"y"}}, {"split_size", {}, {5}}, {"dim", {}, {1}}},
         {{"", make_tensor({2, 5})}, {"z", make_tensor({2, 5})}}}};
    program.outputs = {"z"};
    const ScriptError error(ScriptError::Remedy::inputs, "conv", "needs an input", {{{1, 3, 8, 8}}});
    return {script_message::of(program).dump(), script_message::of(error).dump()};
}
