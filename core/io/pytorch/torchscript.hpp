// SPDX-License-Identifier: MIT
#pragma once

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/networks/traced_program.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/scripted_program.hpp"
#include "core/io/text/archive.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {

/// A TorchScript file can be read only with further options: inputs, or the permission to run its code.
class ScriptInputError : public InputError {
public:
    /// what() contains the problem, then `option`: the remedy on the command line.
    ScriptInputError(const ScriptError& error, const std::string& file, const std::string& option);
    ScriptError::Remedy remedy() const { return remedy_; }
    /// Place in the model; empty for the model as a whole.
    const std::string& place() const { return place_; }
    /// The problem without the remedy on the command line; if place() is empty, it continues a sentence that
    /// begins with "the model".
    const std::string& reason() const { return reason_; }
    /// Inputs that the model may accept; empty if they are unknown or too many to be helpful.
    const std::vector<ExampleInput>& proposal() const { return proposal_; }

private:
    ScriptError::Remedy remedy_;
    std::string place_, reason_;
    std::vector<ExampleInput> proposal_;
};

/// Reads the program that torch.jit.save wrote, with LibTorch, for a call with options.inputs (and
/// options.batch as their first size). Without options.run no tensor is computed; see walk_script(). Throws
/// InputError, also for a model that torch.save pickled, and ScriptInputError.
NetworkFile read_torchscript(const Archive& archive, const ReadOptions& options);

/// Converts the program to the common form of exchange formats. The process that reads files cannot be
/// trusted, so `script` may contain anything.
Program program_of(ScriptedProgram script, const std::string& name);

/// Throws InputError, which says how to export the model, if the file begins like a pickle of Python.
void refuse_pickle(const Path& file);

}  // namespace placewright
