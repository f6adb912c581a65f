// SPDX-License-Identifier: MIT
#include "app/window/fuzzy.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace placewright {
namespace {

constexpr int kLetter = 1, kWordStart = 8, kAdjacent = 6, kNone = std::numeric_limits<int>::min() / 2;

bool beginsWord(const QString& text, qsizetype at) {
    if (at == 0) return true;
    const QChar before = text[at - 1], here = text[at];
    return (!before.isLetterOrNumber() && here.isLetterOrNumber()) || (before.isLower() && here.isUpper()) ||
           (before.isDigit() != here.isDigit() && here.isLetterOrNumber());
}

}  // namespace

std::optional<int> fuzzyScore(const QString& typed, const QString& text) {
    QString letters = typed.toCaseFolded();
    letters.removeIf([](QChar letter) { return letter.isSpace(); });
    const QString folded = text.toCaseFolded();
    if (folded.size() != text.size()) return std::nullopt;  // positions would not agree
    if (letters.isEmpty()) return 0;
    // best[i]: score of the letters so far, the last of them at i of the text.
    const auto size = static_cast<std::size_t>(text.size());
    std::vector<int> best(size, kNone), next(size);
    for (qsizetype letter = 0; letter < letters.size(); ++letter) {
        int before = letter == 0 ? 0 : kNone;  // best score of the letters before, ending before i - 1
        for (std::size_t i = 0; i < size; ++i) {
            const auto at = static_cast<qsizetype>(i);
            if (letter > 0 && i >= 2) before = std::max(before, best[i - 2]);
            const int adjacent =
                letter > 0 && i >= 1 && best[i - 1] > kNone ? best[i - 1] + kAdjacent : kNone;
            const int from = std::max(before, adjacent);
            next[i] = folded[at] == letters[letter] && from > kNone
                          ? from + kLetter + (beginsWord(text, at) ? kWordStart : 0)
                          : kNone;
        }
        best.swap(next);
    }
    const int score = *std::ranges::max_element(best);
    if (score <= kNone) return std::nullopt;
    return 100 * score - static_cast<int>(text.size());
}

}  // namespace placewright
