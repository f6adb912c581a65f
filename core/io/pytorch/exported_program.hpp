// SPDX-License-Identifier: MIT
#pragma once

#include "core/io/networks/network_file.hpp"
#include "core/io/text/archive.hpp"

namespace placewright {

/// Returns whether a zip file is an archive of torch.export: it contains "models/NAME.json" or, in older
/// archives, "serialized_exported_program.json".
bool is_exported_program(const Archive& archive);

/// Reads the program that torch.export.save wrote (https://pytorch.org/docs/stable/export.html; the schema is
/// torch/_export/serde/schema.py, of which versions 5 to 8 are read); of several models the one named
/// "model". Only its JSON is read, which contains the sizes of parameters.
///
/// Sizes that the export left open get the values of its example inputs. The first open first size of an
/// input is the batch size, which `options.batch` sets. A call of an operator outside of ATen (a condition or
/// loop) is a single op. Throws InputError.
NetworkFile read_exported_program(const Archive& archive, const ReadOptions& options);

}  // namespace placewright
