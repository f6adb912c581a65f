// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>

#include "core/distributed/mailbox.hpp"

namespace placewright {

Bytes bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string text_of(const Bytes& bytes) {
    std::string text(bytes.size(), '\0');
    std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    return text;
}

}  // namespace placewright
