// SPDX-License-Identifier: MIT
#include "core/search/threads.hpp"

#include <algorithm>

#include <tbb/info.h>

namespace placewright {

unsigned usable_threads(unsigned threads) {
    const auto cores = static_cast<unsigned>(tbb::info::default_concurrency());
    return threads == 0 ? cores : std::min(threads, cores);
}

}  // namespace placewright
