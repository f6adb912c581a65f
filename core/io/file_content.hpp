// SPDX-License-Identifier: MIT
// Finds out what a file contains without building its content.
#pragma once

#include <cstdint>

#include "core/base/path.hpp"

namespace placewright {

/// Content of a file: by its first bytes (ONNX, archives, DOT, traces) or, for a JSON file, by its "format"
/// or, for files of Exprimo and dnn-partitioning, by their keys. A workload is a network together with its
/// machine. An object that contains only devices (integers, "cpu", "cuda:1", "/device:GPU:1") is a placement
/// of Exprimo or TensorFlow, or a device map. Throws InputError for what refuse_no_network() refuses.
enum class FileContent : std::uint8_t { network, machine, placement, constraints, workload, trace, unknown };
FileContent file_content(const Path& file);

}  // namespace placewright
