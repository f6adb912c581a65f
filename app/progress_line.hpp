// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/search/comparison.hpp"

namespace placewright {

/// On a terminal one line of standard error with `place` and how far something is; it is gone with this object.
class ProgressLine {
public:
    explicit ProgressLine(std::string place);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Nothing where there is no terminal.
    void show(const std::string& text) const;
    /// Empty where there is no terminal.
    ComparisonCallback callback() const;

private:
    std::string place_;
    bool terminal_;
};

}  // namespace placewright
