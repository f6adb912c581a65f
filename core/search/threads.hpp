// SPDX-License-Identifier: MIT
#pragma once

namespace placewright {

/// Returns the number of threads to use when `threads` are requested: at most one per core that this process
/// may use (0: one per core).
unsigned usable_threads(unsigned threads);

}  // namespace placewright
