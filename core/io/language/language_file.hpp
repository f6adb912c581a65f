// SPDX-License-Identifier: MIT
// Language models without their weights: the folder of a model of Hugging Face, its config.json, or a GGUF
// file.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/path.hpp"
#include "core/io/language/language_options.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Whether `path` is a folder; read_language_model says what it lacks.
bool is_model_folder(const Path& path);

/// Reads a folder with config.json, names and sizes of the tensors from its safetensors files or their index
/// if they are there, or a GGUF file. `batch`: default 1. Throws InputError.
NetworkFile read_language_model(const Path& path, std::optional<std::int64_t> batch,
                                const LanguageOptions& options);
/// Reads config.json.
NetworkFile read_language_model(const JsonFile& file, std::optional<std::int64_t> batch,
                                const LanguageOptions& options);

}  // namespace placewright
