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
    void add(const std::string& name) {
        if (seen_.insert(name).second) quoted_.push_back(in_quotes(name));
    }
    /// `"a" on "gpu:0"`.
    void add(const std::string& name, const std::string& joint, const std::string& other) {
        if (seen_.insert(name + joint + other).second)
            quoted_.push_back(in_quotes(name) + ' ' + joint + ' ' + in_quotes(other));
    }
    bool empty() const { return quoted_.empty(); }
    std::size_t size() const { return quoted_.size(); }

    /// Returns `"a", "b", "c", "d", "e" and 12 more`.
    std::string text() const {
        constexpr std::size_t kShown = 5;
        std::string result;
        for (std::size_t i = 0; i < std::min(kShown, quoted_.size()); ++i)
            result += (i > 0 ? ", " : "") + quoted_[i];
        if (quoted_.size() > kShown) result += " and " + std::to_string(quoted_.size() - kShown) + " more";
        return result;
    }

private:
    std::vector<std::string> quoted_;
    std::set<std::string> seen_;
};

}  // namespace placewright
