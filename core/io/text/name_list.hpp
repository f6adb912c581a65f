// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/text.hpp"

namespace placewright {

/// Names for a message, each once, in the order of the calls of add().
class NameList {
public:
    void add(std::string name) {
        if (seen_.insert(name).second) names_.push_back(std::move(name));
    }
    bool empty() const { return names_.empty(); }
    std::size_t size() const { return names_.size(); }

    /// Returns `"a", "b", "c", "d", "e" and 12 more`.
    std::string text() const {
        constexpr std::size_t kShown = 5;
        std::string result;
        for (std::size_t i = 0; i < std::min(kShown, names_.size()); ++i)
            result += (i > 0 ? ", " : "") + in_quotes(names_[i]);
        if (names_.size() > kShown) result += " and " + std::to_string(names_.size() - kShown) + " more";
        return result;
    }

private:
    std::vector<std::string> names_;
    std::set<std::string> seen_;
};

}  // namespace placewright
