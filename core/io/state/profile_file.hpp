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

/// Adds times to those that a file has by now (ProfileArchive::merge()), and returns all of them; makes the
/// file if there is none. Other processes that add to a file of its folder wait meanwhile. (Some file systems
/// of networks have no locks: there the last of two that write at the same moment wins.) Throws InputError.
ProfileArchive add_to_profile(const ProfileArchive& archive, const Path& file);

}  // namespace placewright
