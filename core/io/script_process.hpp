// SPDX-License-Identifier: MIT
// LibTorch reads TorchScript in a process of its own, placewright-torchscript: on a broken or hostile file it overwrites its memory, and
// then only that process ends. It can write to no file and reach no network, for LibTorch runs code of a file while it loads it.
#pragma once

#include <filesystem>

#include "core/learn/torch_script.hpp"

namespace placewright {

/// The most that reading a file may take: of memory beside the weights, and of the processor.
inline constexpr std::uint64_t kMostScriptBytes = std::uint64_t{4} << 30;
inline constexpr unsigned kMostScriptSeconds = 600;

/// As walk_script(). Throws ScriptError also where the process crashes or takes more than the above.
ScriptedProgram read_script(const std::filesystem::path& file, const std::vector<ExampleInput>& inputs, bool run);

}  // namespace placewright
