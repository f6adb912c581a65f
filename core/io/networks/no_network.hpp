// SPDX-License-Identifier: MIT
// Files that are given as a network and are none.
#pragma once

#include "core/base/path.hpp"

namespace placewright {

/// Throws InputError, which says what to do, for a file that is no network in any format: a pointer of Git
/// LFS, weights, a policy, a pickle of Python, and what begins as no format that is read. Folders pass, and
/// what may be a table or JSON, of which a reader says where it is wrong.
void refuse_no_network(const Path& file);

}  // namespace placewright
