// SPDX-License-Identifier: MIT
#include "core/io/text/unpacked.hpp"

#include <utility>

#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr std::uint64_t kMostInflatedBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMostString = std::uint64_t{8} << 20;

}  // namespace

Unpacked::int_type Unpacked::underflow() {
    if (!problem_.empty() || stop_.stop_requested()) return traits_type::eof();
    const int count = gzread(file_.get(), block_.data(), static_cast<unsigned>(block_.size()));
    if (count <= 0) {
        int code = Z_OK;
        const char* const text = gzerror(file_.get(), &code);
        if (code != Z_OK && code != Z_STREAM_END)
            problem_ = std::string("the packed file is damaged: ") + printable(text, 200);
        return traits_type::eof();
    }
    bytes_ += static_cast<std::uint64_t>(count);
    if (bytes_ > kMostInflatedBytes)
        problem_ = "it has more than " + format_bytes(static_cast<double>(kMostInflatedBytes)) +
                   " unpacked, the maximum";
    // The parser keeps a complete string or number in memory.
    for (int i = 0; i < count; ++i) {
        if (std::exchange(escaped_, false)) continue;
        escaped_ = block_[static_cast<std::size_t>(i)] == '\\';
        if (block_[static_cast<std::size_t>(i)] == '"')
            quote_at_ = bytes_ - static_cast<std::uint64_t>(count - i);
    }
    if (bytes_ - quote_at_ > kMostString)
        problem_ = "a string in it has more than " + format_bytes(static_cast<double>(kMostString)) +
                   ", the maximum";
    if (!problem_.empty()) return traits_type::eof();
    setg(block_.data(), block_.data(), block_.data() + count);
    return traits_type::to_int_type(block_[0]);
}

}  // namespace placewright
