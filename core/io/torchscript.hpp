// SPDX-License-Identifier: MIT
#pragma once

#include "core/io/archive.hpp"
#include "core/io/files.hpp"
#include "core/io/input_error.hpp"
#include "core/io/program.hpp"

namespace placewright {

/// A TorchScript file that can be read once somebody has said more about it.
class ScriptInputError : public InputError {
public:
    /// what() has `option` behind the problem: how to say more on the command line.
    ScriptInputError(const ScriptError& error, const std::string& file, const std::string& option);
    ScriptError::Remedy remedy() const { return remedy_; }
    /// Where in the model; empty if it is the model as a whole.
    const std::string& place() const { return place_; }
    /// What is wrong there, without what is said on the command line; with an empty place it goes on behind "the model".
    const std::string& reason() const { return reason_; }
    /// Empty where there would be so many that they are no help.
    const std::vector<ExampleInput>& proposal() const { return proposal_; }

private:
    ScriptError::Remedy remedy_;
    std::string place_, reason_;
    std::vector<ExampleInput> proposal_;
};

/// The program that torch.jit.save wrote, read by LibTorch, for options.inputs (with options.batch as their first size). Nothing in it is
/// run unless options.run allows it: see walk_script(). Throws InputError, also for a model that torch.save pickled, and
/// ScriptInputError.
NetworkFile read_torchscript(const Archive& archive, const ReadOptions& options);

/// The program as other exchange formats have it. The process that reads files cannot be trusted either: what it answers may be anything.
Program program_of(ScriptedProgram script, const std::string& name);

/// Throws InputError, which says how to export the model, if the file begins like Python's pickles.
void refuse_pickle(const Path& file);

/// Reads "1x3x224x224" or "1x128:int64". Throws std::invalid_argument.
ExampleInput example_input_from(const std::string& text);
/// What example_input_from() reads.
std::string to_text(const ExampleInput& input);

}  // namespace placewright
