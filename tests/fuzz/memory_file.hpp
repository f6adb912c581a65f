// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <sys/mman.h>

namespace placewright::fuzz {

/// A file in memory with these bytes; the one before is gone.
inline std::filesystem::path memory_file(const std::uint8_t* data, std::size_t size) {
    static const int file = memfd_create("input", 0);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace placewright::fuzz
