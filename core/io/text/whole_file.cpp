// SPDX-License-Identifier: MIT
#include "core/io/text/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <unistd.h>

#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
void fail_file(const Path& file, const std::string& problem) {
    throw InputError(printable(file.string(), 4096), "", problem);
}

namespace {

/// Returns a unique file name, because two programs may write the same file at once.
std::string temporary_name() {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::random_device random;
    std::string name = ".placewright-";
    for (int i = 0; i < 12; ++i) name += kDigits[random() % kDigits.size()];
    return name + ".tmp";
}

[[noreturn]] void fail_to_write(const Path& file, const std::string& reason) {
    fail_file(file, "cannot be written: " + reason);
}

/// Writes a file; returns the reason of a failure, else an empty text. With `durable`, the content survives a
/// crash of the computer.
std::string write_all(const Path& file, const std::string& content, const char* mode, bool durable = false) {
    errno = 0;
    std::FILE* const stream = std::fopen(file.c_str(), mode);
    if (stream == nullptr) return std::strerror(errno);
    bool written = std::fwrite(content.data(), 1, content.size(), stream) == content.size() &&
                   (!durable || (std::fflush(stream) == 0 && fsync(fileno(stream)) == 0));
    int code = errno;
    if (std::fclose(stream) != 0 && written) {
        written = false;
        code = errno;
    }
    return written ? "" : std::strerror(code != 0 ? code : EIO);
}

}  // namespace

void write_file(const Path& file, const std::string& content) {
    namespace fs = std::filesystem;
    std::error_code error;
    // A symbolic link is kept, and its target is replaced.
    Path target = file;
    if (fs::is_symlink(file, error)) {
        const Path resolved = fs::canonical(file, error);
        if (error) fail_to_write(file, error.message());
        target = resolved;
    }
    const auto status = fs::status(target, error);
    if (fs::is_directory(status)) fail_to_write(file, "it is a folder");
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        // A device or pipe such as /dev/stdout must not be replaced by a file, and its folder may not take a
        // temporary file.
        const std::string reason = write_all(target, content, "wb");
        if (!reason.empty()) fail_to_write(file, reason);
        return;
    }

    const Path folder = target.has_parent_path() ? target.parent_path() : Path(".");
    if (!fs::is_directory(folder, error))
        fail_to_write(file, "there is no folder " + in_quotes(folder.string()));
    const Path temporary = folder / temporary_name();
    // An existing file must not be replaced before the new content has reached the disk.
    std::string reason = write_all(temporary, content, "wbx", fs::exists(status));
    if (reason.empty()) {
        if (fs::exists(status)) fs::permissions(temporary, status.permissions(), error);
        fs::rename(temporary, target, error);
        if (error) reason = error.message();
    }
    if (!reason.empty()) {
        fs::remove(temporary, error);
        fail_to_write(file, reason);
    }
}

std::uintmax_t regular_file_size(const Path& file) {
    const auto refuse = [&](const std::string& problem) {
        throw InputError(printable(file.string(), 4096), "", problem);
    };
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (status.type() == std::filesystem::file_type::not_found) refuse("there is no such file");
    if (error) refuse("cannot be read: " + error.message());
    if (std::filesystem::is_directory(status)) refuse("is a folder, expected a file");
    if (!std::filesystem::is_regular_file(status)) refuse("is not a regular file");
    const std::uintmax_t bytes = std::filesystem::file_size(file, error);
    if (error) refuse("cannot be read: " + error.message());
    if (bytes == 0) refuse("the file is empty");
    return bytes;
}

bool is_lfs_pointer(const Path& file) {
    constexpr std::string_view kBegin = "version https://git-lfs.github.com/spec/";
    std::ifstream stream = open_regular_file(file);
    std::string begin(kBegin.size(), '\0');
    return stream.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kBegin;
}

std::vector<Path> files_in(const Path& folder, std::string_view extension) {
    std::vector<Path> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code unknown;  // such as where a link leads
        if (entry->path().extension() == extension && entry->is_regular_file(unknown))
            files.push_back(entry->path());
    }
    if (error) fail_file(folder, "cannot be read: " + error.message());
    std::ranges::sort(files);
    return files;
}

std::ifstream open_regular_file(const Path& file) {
    std::ifstream stream;
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) {
        stream.open(file, std::ios::binary);
    } else {
        errno = error ? error.value() : EINVAL;
        stream.setstate(std::ios::failbit);
    }
    return stream;
}

}  // namespace placewright
