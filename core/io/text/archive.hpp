// SPDX-License-Identifier: MIT
// Zip archives of untrusted content, read by libzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"

namespace placewright {

/// The members of a zip file. Only text() unpacks a member, after checking its size.
class Archive {
public:
    struct Member {
        std::string name;
        std::uint64_t bytes = 0;         ///< unpacked size as the file claims
        std::uint64_t packed_bytes = 0;  ///< size in the file as the file claims
    };

    /// Throws InputError if the file cannot be read as a zip file.
    explicit Archive(const Path& file);
    /// Reads the bytes of a file, which must outlive the archive. Throws InputError.
    Archive(Path file, std::string_view bytes);
    ~Archive();
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;

    const Path& path() const { return path_; }
    const std::vector<Member>& members() const { return members_; }
    /// Returns the member whose path ends with the path `end` ("a/models/b.json" ends with "models/b.json");
    /// nullptr if there is none.
    const Member* find(std::string_view end) const;

    /// Returns the unpacked content of a member. Throws InputError if it has more than `most` bytes or cannot
    /// be unpacked.
    std::string text(const Member& member, std::uint64_t most) const;

private:
    struct Handle;
    void list();
    [[noreturn]] void fail(const std::string& where, const std::string& problem) const;

    Path path_;
    std::unique_ptr<Handle> handle_;
    std::vector<Member> members_;
};

/// Returns whether the file begins like a zip file.
bool is_archive(const Path& file);

}  // namespace placewright
