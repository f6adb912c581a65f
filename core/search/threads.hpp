// SPDX-License-Identifier: MIT
#pragma once

namespace placewright {

/// How many threads are worth having where `threads` are asked for: at most one for each core that this process may use (0: so many).
unsigned usable_threads(unsigned threads);

}  // namespace placewright
