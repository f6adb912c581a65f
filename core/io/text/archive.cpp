// SPDX-License-Identifier: MIT
#include "core/io/text/archive.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <zip.h>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

/// Maximum compression ratio of Deflate (https://zlib.net/zlib_tech.html); a file that claims more is
/// malicious.
constexpr std::uint64_t kMostRatio = 1032;

}  // namespace

struct Archive::Handle {
    zip_t* zip = nullptr;
    ~Handle() {
        if (zip != nullptr) zip_discard(zip);
    }
};

Archive::Archive(const Path& file) : path_(file), handle_(std::make_unique<Handle>()) {
    int code = 0;
    handle_->zip = zip_open(file.c_str(), ZIP_RDONLY, &code);
    if (handle_->zip == nullptr) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        const std::string reason = zip_error_strerror(&error);
        zip_error_fini(&error);
        fail("", "cannot be read as a zip file: " + reason + "; if it is cut off, take another copy");
    }
    list();
}

Archive::Archive(Path file, std::string_view bytes)
    : path_(std::move(file)), handle_(std::make_unique<Handle>()) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source != nullptr) {
        handle_->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
        if (handle_->zip == nullptr) zip_source_free(source);
    }
    const std::string reason = handle_->zip == nullptr ? zip_error_strerror(&error) : "";
    zip_error_fini(&error);
    if (handle_->zip == nullptr)
        fail("", "cannot be read as a zip file: " + reason + "; if it is cut off, take another copy");
    list();
}

Archive::~Archive() = default;

void Archive::list() {
    const zip_int64_t count = zip_get_num_entries(handle_->zip, 0);
    for (zip_int64_t i = 0; i < count; ++i) {
        zip_stat_t stat;
        constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
        if (zip_stat_index(handle_->zip, static_cast<zip_uint64_t>(i), 0, &stat) != 0 ||
            (stat.valid & kNeeded) != kNeeded)
            fail("member " + std::to_string(i), "has no name or size");
        members_.push_back({stat.name, stat.size, stat.comp_size});
    }
}

const Archive::Member* Archive::find(std::string_view end) const {
    const auto found = std::ranges::find_if(members_, [&](const Member& member) {
        const std::string_view name = member.name;
        return name.ends_with(end) &&
               (name.size() == end.size() || name[name.size() - end.size() - 1] == '/');
    });
    return found == members_.end() ? nullptr : &*found;
}

std::string Archive::text(const Member& member, std::uint64_t most) const {
    const std::string where = "member " + in_quotes(member.name);
    if (member.bytes > most)
        fail(where, "has " + format_bytes(static_cast<double>(member.bytes)) + ", expected at most " +
                        format_bytes(static_cast<double>(most)));
    if (member.bytes / kMostRatio > member.packed_bytes)
        fail(where, "claims to unpack to more bytes than its packed size allows");
    const auto index = static_cast<zip_uint64_t>(&member - members_.data());
    zip_file_t* const stream = zip_fopen_index(handle_->zip, index, 0);
    if (stream == nullptr) fail(where, "cannot be unpacked: " + std::string(zip_strerror(handle_->zip)));
    std::string text(member.bytes, '\0');
    std::uint64_t read = 0;
    zip_int64_t got = 0;
    // Reads one byte more than the size, so that libzip reaches the end and verifies the checksum.
    std::array<char, 1> beyond{};
    while (read < text.size() && (got = zip_fread(stream, text.data() + read, text.size() - read)) > 0)
        read += static_cast<std::uint64_t>(got);
    if (got >= 0) got = zip_fread(stream, beyond.data(), 1);
    const std::string reason = zip_file_strerror(stream);
    zip_fclose(stream);
    if (got < 0) fail(where, "cannot be unpacked: " + reason + "; take another copy");
    if (got > 0 || read != text.size())
        fail(where, "does not have as many bytes as the file states; take another copy");
    return text;
}

void Archive::fail(const std::string& where, const std::string& problem) const {
    throw InputError(printable(path_.string(), 4096), where, problem);
}

bool is_archive(const Path& file) {
    std::ifstream stream = open_regular_file(file);
    std::array<char, 4> begin{};
    stream.read(begin.data(), begin.size());
    return stream.gcount() == 4 && std::string_view(begin.data(), 4) == std::string_view("PK\x03\x04", 4);
}

}  // namespace placewright
