// SPDX-License-Identifier: MIT
#include "core/base/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace placewright {
namespace {

constexpr double kLogRatio = 1e-3;  ///< logarithm of the ratio of the bounds of a bin

}  // namespace

QuantileSketch::QuantileSketch(std::int64_t first, std::vector<std::uint64_t> counts, std::uint64_t unknown)
    : first_(first), counts_(std::move(counts)), unknown_(unknown) {
    known_ = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

void QuantileSketch::add(double value) {
    if (!std::isfinite(value) || value <= 0) return add_unknown();
    ++known_;
    const auto bin = static_cast<std::int64_t>(std::floor(std::log(value) / kLogRatio));
    if (counts_.empty()) first_ = bin;
    if (bin < first_) {
        // Of values that are too far apart, the least ones matter: the others are merged.
        const std::int64_t added = first_ - bin;
        std::uint64_t merged = 0;
        const std::int64_t kept = std::clamp<std::int64_t>(kMost - added, 0, std::ssize(counts_));
        for (std::int64_t i = kept; i < std::ssize(counts_); ++i) merged += counts_[i];
        counts_.resize(kept);
        counts_.insert(counts_.begin(), std::min(added, kMost), 0);
        counts_.back() += merged;
        first_ = bin;
    }
    const std::int64_t at = std::min(bin - first_, kMost - 1);
    if (at >= std::ssize(counts_)) counts_.resize(at + 1, 0);
    ++counts_[at];
}

std::vector<QuantileSketch::Bin> QuantileSketch::bins() const {
    std::vector<Bin> bins;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] == 0) continue;
        const double middle = static_cast<double>(first_ + static_cast<std::int64_t>(i)) + 0.5;
        bins.push_back({std::exp(middle * kLogRatio), counts_[i]});
    }
    return bins;
}

}  // namespace placewright
