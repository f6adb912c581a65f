// SPDX-License-Identifier: MIT
#include "core/measure/steady_memory.hpp"

#include <limits>
#include <malloc.h>
#include <mutex>

namespace placewright {
namespace {

std::mutex mutex;
int users = 0;

}  // namespace

SteadyMemory::SteadyMemory() {
    const std::scoped_lock lock(mutex);
    if (users++ > 0) return;
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    mallopt(M_ARENA_MAX, 1);  // of threads that start from now on: other arenas return memory by themselves
#endif
}

SteadyMemory::~SteadyMemory() {
    const std::scoped_lock lock(mutex);
    if (--users > 0) return;
#ifdef __GLIBC__
    // The defaults of mallopt(3).
    mallopt(M_MMAP_MAX, 65'536);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    mallopt(M_ARENA_MAX, 0);
    malloc_trim(0);
#endif
}

}  // namespace placewright
