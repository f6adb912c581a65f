// SPDX-License-Identifier: MIT
// For readers of which only bytes are changed.
#include "tests/fuzz/structure.hpp"

std::optional<std::string> with_changed_structure(std::string_view, std::mt19937&) {
    return std::nullopt;
}
