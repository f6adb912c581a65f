// SPDX-License-Identifier: MIT
// Blocks of a network: the equal layers that frameworks place whole.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/graph/graph.hpp"

namespace placewright {

/// 3 of "model/layers/3"; nothing if the path does not end with a number.
inline std::optional<std::int64_t> block_number(std::string_view label) {
    const std::size_t slash = label.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(label.data() + slash + 1, label.data() + label.size(), number);
    if (error != std::errc() || end != label.data() + label.size() || number < 0) return std::nullopt;
    return number;
}

/// The number of the block that the op belongs to: 3 if its label says that it stays with
/// "model/layers/3"; nothing outside of blocks.
inline std::optional<std::int64_t> block_number(const Op& op) {
    return block_number(std::string_view(op.colocate));
}

/// The path of the block that the op belongs to, "model/layers/3", also where its ops may be on different
/// devices (the attribute "block"); empty outside of blocks.
inline std::string_view block_of(const Op& op) {
    if (block_number(op)) return op.colocate;
    const auto found = op.attributes.find("block");
    if (found == op.attributes.end() || found->second.size() < 2) return {};
    const std::string_view path =
        std::string_view(found->second).substr(1, found->second.size() - 2);  // JSON
    return block_number(path) ? path : std::string_view();
}

inline bool has_blocks(const Graph& graph) {
    return std::ranges::any_of(graph.ops(), [](const Op& op) { return block_number(op).has_value(); });
}

}  // namespace placewright
