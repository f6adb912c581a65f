// SPDX-License-Identifier: MIT
#pragma once

#include "core/io/archive.hpp"
#include "core/io/files.hpp"

namespace placewright {

/// Whether a zip file is an archive of torch.export: it has "models/NAME.json", or "serialized_exported_program.json" as older ones have.
bool is_exported_program(const Archive& archive);

/// The program that torch.export.save wrote (https://pytorch.org/docs/stable/export.html; the schema is torch/_export/serde/schema.py, of
/// which versions 5 to 8 are read), of several models the one called "model". No more than its JSON is read: the sizes of parameters are
/// in there.
///
/// Sizes that the export left open are those of its example inputs. The first size of the first input that is open is the batch, which
/// `options.batch` sets. Calls of other operators than those of ATen (conditions, loops) are single ops. Throws InputError.
NetworkFile read_exported_program(const Archive& archive, const ReadOptions& options);

}  // namespace placewright
