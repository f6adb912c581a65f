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
    // Arenas of threads give back whole heaps, of 64 MB, unless more than one is asked to stay. Blocks that
    // are larger than a heap stay in the main arena alone, so threads should use it, if they can still
    // choose.
    mallopt(M_TOP_PAD, 128 * 1024 * 1024);
    mallopt(M_ARENA_MAX, 1);
#endif
}

SteadyMemory::~SteadyMemory() {
    const std::scoped_lock lock(mutex);
    if (--users > 0) return;
#ifdef __GLIBC__
    // The defaults of mallopt(3), and the thresholds that glibc's own rule reaches in programs that free
    // large blocks, because this rule is off from now on.
    mallopt(M_MMAP_MAX, 65'536);
    mallopt(M_TOP_PAD, 128 * 1024);
    mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
    mallopt(M_ARENA_MAX, 0);
    malloc_trim(0);
#endif
}

}  // namespace placewright
