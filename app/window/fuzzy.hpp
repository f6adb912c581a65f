// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QString>

namespace placewright {

/// Returns how well `text` matches what was typed: higher is better, nothing if the letters of `typed`
/// (without its blanks, in any case) do not appear in `text` in this order. Letters that begin words and
/// letters side by side count most; of equal matches the shorter text wins. O(length of both multiplied).
std::optional<int> fuzzyScore(const QString& typed, const QString& text);

}  // namespace placewright
