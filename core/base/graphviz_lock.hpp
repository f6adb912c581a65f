// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>

namespace placewright {

/// Lock for calls to Graphviz, which keeps its state in global variables: one call at a time.
inline std::mutex& graphviz_lock() {
    static std::mutex one_at_a_time;
    return one_at_a_time;
}

}  // namespace placewright
