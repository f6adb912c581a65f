// SPDX-License-Identifier: MIT
#include "core/base/silent_stdout.hpp"

#include <cstdio>
#include <mutex>

namespace placewright {
namespace {

std::mutex mutex;
int objects = 0;
std::FILE* before = nullptr;

/// Stays open: a library may be about to print to it when the last object goes.
std::FILE* sink() {
    static std::FILE* const file = std::fopen("/dev/null", "we");
    return file;
}

}  // namespace

SilentStdout::SilentStdout() {
    const std::lock_guard lock(mutex);
    if (objects++ > 0) return;
    before = stdout;
    if (sink() != nullptr) stdout = sink();
}

SilentStdout::~SilentStdout() {
    const std::lock_guard lock(mutex);
    if (--objects == 0) stdout = before;
}

}  // namespace placewright
