// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"

namespace placewright {

/// Throws InputError for a file as a whole.
[[noreturn]] void fail_file(const Path& file, const std::string& problem);

/// Writes `content` to a temporary file in the same folder and renames it. Writes directly to a device or
/// pipe. Throws InputError.
void write_file(const Path& file, const std::string& content);

/// Returns the size of a file in bytes. Throws InputError if there is no such file, if it is empty, or if it
/// is a folder, device or pipe.
std::uintmax_t regular_file_size(const Path& file);

/// Whether the file is what Git LFS leaves in the place of a file that was not fetched (https://git-lfs.com).
bool is_lfs_pointer(const Path& file);
inline constexpr const char* kIsLfsPointer =
    "is a pointer of Git LFS, not the file itself: fetch it with \"git lfs pull\"";

/// The regular files of a folder whose names end in `extension` (".json"), in the order of their names.
/// Throws InputError if the folder cannot be read.
std::vector<Path> files_in(const Path& folder, std::string_view extension);

/// A stream of the bytes of a regular file. For anything else (no file, a folder, a pipe, a device) the
/// stream has failed and nothing was opened: opening a pipe would wait for its writer.
std::ifstream open_regular_file(const Path& file);

}  // namespace placewright
