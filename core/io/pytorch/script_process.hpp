// SPDX-License-Identifier: MIT
// Reads TorchScript with LibTorch in a separate process, placewright-torchscript. On a broken or hostile file
// LibTorch can overwrite its memory; then only that process ends. LibTorch also runs code of the file while
// it loads it, so the process cannot write to files or reach a network.
#pragma once

#include <filesystem>

#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/scripted_program.hpp"

namespace placewright {

/// Limits for reading a file: bytes of memory in addition to the weights, seconds of processor time, and
/// seconds in all.
inline constexpr std::uint64_t kMostScriptBytes = std::uint64_t{4} << 30;
inline constexpr unsigned kMostScriptSeconds = 600;
inline constexpr unsigned kMostScriptWaitSeconds = 1200;

/// Does what walk_script() does, in the separate process. Throws ScriptError also if the process crashes or
/// exceeds one of the limits above.
ScriptedProgram read_script(const std::filesystem::path& file, const std::vector<ExampleInput>& inputs,
                            bool run);

}  // namespace placewright
