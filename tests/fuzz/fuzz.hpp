// SPDX-License-Identifier: MIT
// Interface that a fuzzed reader implements, and its helpers.
#pragma once

#include <cstdint>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>

/// Reads the bytes as a file. Returns 0; exceptions, crashes, hangs and excessive memory are faults of the
/// reader.
int fuzz(const std::uint8_t* bytes, std::size_t size);

/// Small valid files to start from.
std::vector<std::string> seeds();

/// A file in memory.
class MemoryFile {
public:
    MemoryFile(const std::uint8_t* bytes, std::size_t size) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
        for (std::size_t written = 0; written < size;) {
            const ssize_t count = ::write(descriptor_, bytes + written, size - written);
            if (count <= 0) break;
            written += static_cast<std::size_t>(count);
        }
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    int descriptor_;
};
