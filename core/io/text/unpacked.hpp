// SPDX-License-Identifier: MIT
// Files that may be packed by gzip, read as a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <streambuf>
#include <string>
#include <zlib.h>

#include "core/base/path.hpp"

namespace placewright {

/// The content of a file, unpacked if it is compressed. Ends early, with a problem(), where it would take too
/// much memory, and ends when `stop` is requested.
class Unpacked : public std::streambuf {
public:
    explicit Unpacked(const Path& file, std::stop_token stop = {})
        : file_(gzopen(file.c_str(), "rb")), block_(std::size_t{64} << 10, '\0'), stop_(std::move(stop)) {
        if (file_ != nullptr) gzbuffer(file_.get(), 256U << 10);
    }

    bool is_open() const { return file_ != nullptr; }
    const std::string& problem() const { return problem_; }

protected:
    int_type underflow() override;

private:
    struct Close {
        void operator()(gzFile_s* file) const { gzclose(file); }
    };
    std::unique_ptr<gzFile_s, Close> file_;
    std::string block_, problem_;
    std::stop_token stop_;
    std::uint64_t bytes_ = 0;
    std::uint64_t quote_at_ = 0;  ///< position of the last quote
    bool escaped_ = false;
};

}  // namespace placewright
