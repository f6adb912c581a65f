// SPDX-License-Identifier: MIT
#include "core/io/files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <unistd.h>

#include "core/io/archive.hpp"
#include "core/io/framework_devices.hpp"
#include "core/io/input_error.hpp"
#include "core/io/json.hpp"
#include "core/io/readers.hpp"
#include "core/io/trace_file.hpp"

namespace placewright {
namespace {

/// A name that no other writer takes: two programs may write the same file at once.
std::string temporary_name() {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::random_device random;
    std::string name = ".placewright-";
    for (int i = 0; i < 12; ++i) name += kDigits[random() % kDigits.size()];
    return name + ".tmp";
}

[[noreturn]] void fail(const Path& file, const std::string& reason) {
    throw InputError(printable(file.string(), 4096), "", "cannot be written: " + reason);
}

/// Nothing, or why it failed. `durable`: what was written outlives a crash of the computer.
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
    // A link stays a link, and what it points to is replaced.
    Path target = file;
    if (fs::is_symlink(file, error)) {
        const Path resolved = fs::canonical(file, error);
        if (error) fail(file, error.message());
        target = resolved;
    }
    const auto status = fs::status(target, error);
    if (fs::is_directory(status)) fail(file, "it is a folder");
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        // A device or pipe such as /dev/stdout has no place for a file beside it, and must not be replaced by one.
        const std::string reason = write_all(target, content, "wb");
        if (!reason.empty()) fail(file, reason);
        return;
    }

    const Path folder = target.has_parent_path() ? target.parent_path() : Path(".");
    if (!fs::is_directory(folder, error)) fail(file, "there is no folder " + in_quotes(folder.string()));
    const Path temporary = folder / temporary_name();
    // A file that is there must not be lost to one whose content has not reached the disk.
    std::string reason = write_all(temporary, content, "wbx", fs::exists(status));
    if (reason.empty()) {
        if (fs::exists(status)) fs::permissions(temporary, status.permissions(), error);
        fs::rename(temporary, target, error);
        if (error) reason = error.message();
    }
    if (!reason.empty()) {
        fs::remove(temporary, error);
        fail(file, reason);
    }
}

std::uintmax_t regular_file_size(const Path& file) {
    const auto refuse = [&](const std::string& problem) { throw InputError(printable(file.string(), 4096), "", problem); };
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

FileContent file_content(const Path& file) {
    if (is_onnx(file) || is_archive(file) || is_dot(file)) return FileContent::network;
    if (is_trace(file)) return FileContent::trace;
    const JsonFile::Outline outline = JsonFile(file).outline();
    if (outline.format == "placewright.graph" || (!outline.has_format && outline.has_layers)) return FileContent::network;
    if (outline.format == "placewright.machine" || (!outline.has_format && outline.has_comm_channels)) return FileContent::machine;
    if (outline.format == "placewright.placement") return FileContent::placement;
    if (!outline.has_format && outline.has_max_fpgas) return FileContent::workload;
    // Of Exprimo or TensorFlow, or a device map; an op may be called "format" there.
    if (outline.only_devices && (outline.format.empty() || TensorFlowDevice::from(outline.format))) return FileContent::placement;
    return FileContent::unknown;
}

}  // namespace placewright
