// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/search/comparison.hpp"

namespace placewright {

/// Progress line on standard error: `place`, then the progress. Cleared by the destructor. Does nothing if
/// standard error is not a terminal.
class ProgressLine {
public:
    explicit ProgressLine(std::string place);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const std::string& text) const;
    /// Shows the progress of a comparison. Empty if standard error is not a terminal.
    ComparisonCallback callback() const;

private:
    std::string place_;
    bool terminal_;
};

}  // namespace placewright
