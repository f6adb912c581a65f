// SPDX-License-Identifier: MIT
#include "core/base/closest_name.hpp"

#include <algorithm>

namespace placewright {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Of the table [length of the prefix of a][length of that of b], three rows are needed.
    std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] =
                std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

std::string closest_name(std::string_view name, const std::vector<std::string>& names) {
    // The text comes from a command line, and may be as long as one.
    constexpr std::size_t kLongest = 100;
    if (name.size() > kLongest) return {};
    std::size_t least = name.size() / 3 + 1;
    std::string closest;
    for (const std::string& candidate : names) {
        const std::size_t distance = edit_distance(name, candidate);
        if (distance >= least) continue;
        least = distance;
        closest = candidate;
    }
    return closest;
}

std::string similar_to(std::string_view name, const std::vector<std::string>& names) {
    if (const std::string closest = closest_name(name, names); !closest.empty())
        return " (similar: " + closest + ")";
    std::string similar;
    for (const std::string& candidate : names) {
        std::vector<std::string> words(1);
        for (const char c : candidate) {
            if (c == '-') {
                words.emplace_back();
            } else {
                words.back() += c;
            }
        }
        if (!closest_name(name, words).empty()) similar += (similar.empty() ? "" : ", ") + candidate;
    }
    return similar.empty() ? similar : " (similar: " + similar + ")";
}

}  // namespace placewright
