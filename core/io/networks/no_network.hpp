// SPDX-License-Identifier: MIT
// Files that are given as a network and are none.
#pragma once

#include "core/base/path.hpp"

namespace placewright {

/// Throws InputError, which says what to do, for a file that is no network in any format: a pointer of Git
/// LFS, weights, a policy, a pickle of Python, or a file of an unknown format. Folders, tables and JSON files
/// pass: their readers say where they are wrong.
void refuse_no_network(const Path& file);

}  // namespace placewright
