// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torchscript.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <unordered_map>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/pytorch/aten.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/script_process.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

/// Maximum of unpacked bytes in addition to the file's size: torch.jit.save does not compress tensors.
constexpr std::uint64_t kMostUnpackedBytes = std::uint64_t{256} << 20;

[[noreturn]] void fail_as_pickle(const Path& file) {
    fail_file(
        file,
        "is a pickled module or its weights, which hold no program; export it with torch.jit.trace(model, "
        "example).save(\"model.pt\")");
}

/// Checks the unpacked size. The code is checked where it is loaded, because another zip reader may see other
/// members in the same bytes.
void check_size(const Archive& archive) {
    std::uint64_t more = 0;
    for (const Archive::Member& member : archive.members()) {
        more += member.bytes > member.packed_bytes
                    ? std::min(member.bytes - member.packed_bytes, kMostUnpackedBytes + 1)
                    : 0;
        if (more > kMostUnpackedBytes) {
            fail_file(
                archive.path(),
                "unpacks to too many bytes: torch.jit.save does not compress tensors, expected at most " +
                    format_bytes(static_cast<double>(kMostUnpackedBytes)) +
                    " more than the size of the file");
        }
    }
}

std::vector<ExampleInput> helpful_proposal(const ScriptError& error) {
    constexpr std::size_t kMostInputs = 8;  // more would make the message unreadable
    return error.proposal().size() <= kMostInputs ? error.proposal() : std::vector<ExampleInput>();
}

/// Returns the remedy on the command line, for the end of a message.
std::string option_for(const ScriptError& error, const ReadOptions& options) {
    if (error.remedy() == ScriptError::Remedy::run) return "; if you trust the file, allow that (--run)";
    if (error.remedy() != ScriptError::Remedy::inputs || !options.inputs.empty()) return {};
    std::string proposal;
    for (const ExampleInput& input : helpful_proposal(error)) proposal += " --input " + to_text(input);
    return proposal.empty()
               ? ": give each its shape, as in --input 1x3x224x224 or, for whole numbers, --input 1x128:int64"
               : ": give each its shape, as in" + proposal;
}

}  // namespace

Program program_of(ScriptedProgram script, const std::string& name) {
    Program program;
    program.name = name;
    std::unordered_map<std::string, Tensor> tensors;
    for (ScriptedProgram::Input& input : script.inputs) {
        if (program.inputs.empty() && !input.tensor.shape->empty())
            program.batch = std::max<std::int64_t>(1, input.tensor.shape->front());
        tensors.emplace(input.name, input.tensor);
        program.inputs.push_back({std::move(input.name), std::move(input.tensor)});
    }
    for (ScriptedProgram::Parameter& parameter : script.parameters) {
        tensors.emplace(parameter.name, parameter.tensor);
        program.parameters.push_back({std::move(parameter.name), std::move(parameter.path),
                                      std::move(parameter.tensor), parameter.trained,
                                      std::move(parameter.other_paths)});
    }
    const auto tensor_of = [&](const std::string& value) {
        const auto found = tensors.find(value);
        return found == tensors.end() ? nullptr : &found->second;
    };
    for (const AtenCall& call : script.calls) {
        program.nodes.push_back(aten_node(call, tensor_of));
        for (const AtenCall::Output& output : call.outputs) tensors.emplace(output.name, *output.tensor);
    }
    program.outputs = std::move(script.outputs);
    return program;
}

ScriptInputError::ScriptInputError(const ScriptError& error, const std::string& file,
                                   const std::string& option)
    : InputError(file, printable(error.place(), 400), printable(error.what(), 600) + option),
      remedy_(error.remedy()),
      place_(printable(error.place(), 400)),
      reason_(printable(error.what(), 600)),
      proposal_(helpful_proposal(error)) {}

NetworkFile read_torchscript(const Archive& archive, const ReadOptions& options) {
    const Path& file = archive.path();
    const bool has_code = std::ranges::any_of(
        archive.members(), [](const Archive::Member& member) { return member.name.ends_with(".py"); });
    if (!has_code || archive.find("constants.pkl") == nullptr) {
        if (archive.find("data.pkl") != nullptr) fail_as_pickle(file);
        if (archive.find("model.weights.h5") != nullptr) {
            fail_file(file,
                      "is a model of Keras, which is not read: export it to ONNX with "
                      "model.export(\"model.onnx\", format=\"onnx\")");
        }
        fail_file(file,
                  "is a zip file, but neither of TorchScript nor of torch.export: write the model again "
                  "with torch.jit.trace(model, example).save(\"model.pt\"), or export it to ONNX");
    }

    std::vector<ExampleInput> inputs = options.inputs;
    for (ExampleInput& input : inputs) {
        if (options.batch && !input.shape.empty()) input.shape[0] = *options.batch;
    }
    try {
        check_size(archive);
        NetworkFile network =
            network_of(printable(file.string(), 4096),
                       program_of(read_script(file, inputs, options.run), file.stem().string()));
        network.batch_is_open = true;
        return network;
    } catch (const ScriptError& error) {
        throw ScriptInputError(error, printable(file.string(), 4096), option_for(error, options));
    }
}

void refuse_pickle(const Path& file) {
    std::ifstream stream = open_regular_file(file);
    std::array<char, 2> begin{};
    stream.read(begin.data(), begin.size());
    // The opcode PROTO with a version.
    if (stream.gcount() == 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5) fail_as_pickle(file);
}

}  // namespace placewright
