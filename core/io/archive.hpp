// SPDX-License-Identifier: MIT
// Zip archives that may hold anything, read by libzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/files.hpp"

namespace placewright {

/// The members of a zip file. Nothing is unpacked but what text() is asked for, and that only after its size has been checked.
class Archive {
public:
    struct Member {
        std::string name;
        std::uint64_t bytes = 0;         ///< as the file says, unpacked
        std::uint64_t packed_bytes = 0;  ///< as the file says, in the file
    };

    /// Throws InputError if the file cannot be read as a zip file.
    explicit Archive(const Path& file);
    /// The same for a file's bytes, which must outlive it.
    Archive(Path file, std::string_view bytes);
    ~Archive();
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;

    const Path& path() const { return path_; }
    const std::vector<Member>& members() const { return members_; }
    /// The member whose path ends with `end`, at the begin of a part of it ("a/models/b.json" ends with "models/b.json"); null for none.
    const Member* find(std::string_view end) const;

    /// A member, unpacked. Throws InputError if it has more than `most` bytes or cannot be unpacked.
    std::string text(const Member& member, std::uint64_t most) const;

private:
    struct Handle;
    void list();
    [[noreturn]] void fail(const std::string& where, const std::string& problem) const;

    Path path_;
    std::unique_ptr<Handle> handle_;
    std::vector<Member> members_;
};

/// Whether the file begins like a zip file.
bool is_archive(const Path& file);

}  // namespace placewright
