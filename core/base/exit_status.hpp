// SPDX-License-Identifier: MIT
// Exit statuses of the programs.
#pragma once

#include <stdexcept>

namespace placewright {

/// Thrown for contradictory arguments, or an unknown algorithm or option; leads to exit status kWrongUsage.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum ExitStatus {
    kDone = 0,
    kInternalError = 1,
    kWrongUsage = 2,
    kBadInput = 3,
    kNothingFits = 4,
    kCancelled = 130
};

}  // namespace placewright
