// SPDX-License-Identifier: MIT
#pragma once

namespace placewright {

/// The score of a placement in a search.
struct Score {
    double penalised_s = 0;  ///< lower is better: `value_s`, plus the memory penalty if it does not fit
    double value_s = 0;      ///< the objective: step time, max load or block latency
    bool fits = true;        ///< the placement is within the memory limits of all devices

    bool operator==(const Score&) const = default;
};

/// Score of a placement for which the objective is not defined.
inline constexpr Score kUndefinedScore{1e9, 1e9, false};

}  // namespace placewright
