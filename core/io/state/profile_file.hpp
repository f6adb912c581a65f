// SPDX-License-Identifier: MIT
#pragma once

#include "core/base/path.hpp"
#include "core/cost/profile_archive.hpp"

namespace placewright {

/// Reads a profile archive:
///   {"format": "placewright.profile", "version": 1,
///    "devices": {MODEL: {"source", "overhead_s",
///                        "ops": {SIGNATURE: {"forward", "backward", "weight_gradient"}},
///                        "updates": {SIGNATURE: seconds}}},
///    "transfers": [{"from": MODEL, "to": MODEL, "time_s": [[bytes, seconds], ...]}]}
/// with op_signature() and update_signature(). Throws InputError.
ProfileArchive read_profile(const Path& file);

/// Throws InputError.
void write_profile(const ProfileArchive& archive, const Path& file);

}  // namespace placewright
