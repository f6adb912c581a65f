// SPDX-License-Identifier: MIT
// Sorted lists. std::ranges::unique and std::ranges::equal_range would do, but Clang before 16 cannot compile
// the std::ranges::subrange of GCC's library that they return.
#pragma once

#include <algorithm>
#include <vector>

namespace placewright {

/// Erases all but the first of equal items.
template <class Item>
void erase_repeats(std::vector<Item>& sorted) {
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

/// Items of a list that stand side by side.
template <class Iterator>
struct Section {
    Iterator first, last;

    Iterator begin() const { return first; }
    Iterator end() const { return last; }
    bool empty() const { return first == last; }
};
template <class Iterator>
Section(Iterator, Iterator) -> Section<Iterator>;

/// The items whose key is `key`; the list is sorted by the keys that `key_of` gives.
template <class List, class Key, class KeyOf>
auto section_of(const List& sorted, const Key& key, KeyOf key_of) {
    return Section{std::ranges::lower_bound(sorted, key, {}, key_of),
                   std::ranges::upper_bound(sorted, key, {}, key_of)};
}

}  // namespace placewright
