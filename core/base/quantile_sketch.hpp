// SPDX-License-Identifier: MIT
// The distribution of very many values in bounded memory.
#pragma once

#include <cstdint>
#include <vector>

namespace placewright {

/// Counts positive values in bins whose bounds grow by a fixed ratio, so that each value is known to within
/// 0.05 % (Masson, Rim and Lee: DDSketch, VLDB 2019). Depends on the values alone, not on their order. Memory
/// is bounded: values more than 60 times the least one count as that.
class QuantileSketch {
public:
    struct Bin {
        double value = 0;  ///< the middle of the bin
        std::uint64_t count = 0;

        bool operator==(const Bin&) const = default;
    };

    QuantileSketch() = default;
    /// The sketch that had these numbers, as counts(), first() and unknown() tell them. At most kMost counts.
    QuantileSketch(std::int64_t first, std::vector<std::uint64_t> counts, std::uint64_t unknown);
    static constexpr std::int64_t kMost = 4'096;  ///< bins

    /// Counts a value. One that is infinite, not a number, or not positive counts as unknown.
    void add(double value);
    /// Counts a value that is larger than all others, such as that of a placement that does not fit.
    void add_unknown() { ++unknown_; }

    std::uint64_t count() const { return known_ + unknown_; }
    std::uint64_t unknown() const { return unknown_; }
    /// Number of values by bin, the bins in order; the first one has the number first().
    const std::vector<std::uint64_t>& counts() const { return counts_; }
    std::int64_t first() const { return first_; }
    /// The bins that have values, ascending.
    std::vector<Bin> bins() const;
    bool operator==(const QuantileSketch&) const = default;

private:
    std::int64_t first_ = 0;             ///< number of the first bin in counts_
    std::vector<std::uint64_t> counts_;  ///< from the bin of the least value on
    std::uint64_t known_ = 0, unknown_ = 0;
};

}  // namespace placewright
