// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <sys/file.h>

#include "core/base/path.hpp"

namespace placewright {

/// Keeps other processes that hold the lock of the file's folder waiting: a file that is read, changed and
/// written again loses nothing that they write. Locks nothing where the folder cannot be opened or its file
/// system, such as some of networks, has no locks.
class FolderLock {
public:
    explicit FolderLock(const Path& file)
        : descriptor_(::open(file.has_parent_path() ? file.parent_path().c_str() : ".",
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
    }
    ~FolderLock() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    int descriptor_;
};

}  // namespace placewright
