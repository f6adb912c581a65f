// SPDX-License-Identifier: MIT
// A quantity measured over a whole search, stored in few points however long the search is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/search/progress.hpp"

namespace placewright {

/// Means over stretches of equally many evaluations. The stretches double in length when there would be more
/// than kMost of them.
class Series {
public:
    static constexpr std::size_t kMost = 512;

    /// Adds a `value` that held for the given number of further `evaluations` (positive). Amortised O(1).
    void add(std::uint64_t evaluations, double value) {
        total_ += evaluations;
        open_evaluations_ += evaluations;
        open_sum_ += value * static_cast<double>(evaluations);
        if (open_evaluations_ < stretch_) return;
        closed_.push_back({total_, open_sum_ / static_cast<double>(open_evaluations_)});
        open_evaluations_ = 0;
        open_sum_ = 0;
        if (closed_.size() == kMost) halve();
    }

    /// Returns the points, ascending in evaluations; the last may cover a shorter stretch.
    std::vector<SeriesPoint> points() const {
        std::vector<SeriesPoint> points = closed_;
        if (open_evaluations_ > 0)
            points.push_back({total_, open_sum_ / static_cast<double>(open_evaluations_)});
        return points;
    }

private:
    void halve() {
        std::uint64_t before = 0;
        for (std::size_t i = 0; i < closed_.size() / 2; ++i) {
            const SeriesPoint first = closed_[2 * i], second = closed_[2 * i + 1];
            const auto weight = static_cast<double>(first.evaluations - before);
            const auto other = static_cast<double>(second.evaluations - first.evaluations);
            before = second.evaluations;
            closed_[i] = {second.evaluations,
                          (first.value * weight + second.value * other) / (weight + other)};
        }
        closed_.resize(closed_.size() / 2);
        stretch_ *= 2;
    }

    std::uint64_t stretch_ = 1, total_ = 0, open_evaluations_ = 0;
    double open_sum_ = 0;
    std::vector<SeriesPoint> closed_;
};

/// The mean of the latest values.
class LatestMean {
public:
    static constexpr std::size_t kMost = 64;

    void add(double value) {
        latest_[count_ % kMost] = value;
        ++count_;
    }

    /// 0 without values.
    double mean() const {
        const std::size_t kept = std::min<std::size_t>(count_, kMost);
        double sum = 0;
        for (std::size_t i = 0; i < kept; ++i) sum += latest_[i];
        return kept == 0 ? 0 : sum / static_cast<double>(kept);
    }

private:
    std::array<double, kMost> latest_{};
    std::size_t count_ = 0;
};

/// Every n-th of the placements that a search scores. n doubles when there would be more than kMost of them.
class Samples {
public:
    static constexpr std::size_t kMost = 2048;

    /// Whether the placement of this number, from 1, is one of them.
    bool wants(std::uint64_t number) const { return number % stride_ == 0; }

    /// Adds a placement that is wanted; numbers ascend.
    void add(const SamplePoint& point) {
        points_.push_back(point);
        shared_ = nullptr;
        if (points_.size() < kMost) return;
        stride_ *= 2;
        std::erase_if(points_, [this](const SamplePoint& one) { return !wants(one.evaluations); });
    }

    std::shared_ptr<const std::vector<SamplePoint>> points() {
        if (!shared_) shared_ = std::make_shared<const std::vector<SamplePoint>>(points_);
        return shared_;
    }

private:
    std::uint64_t stride_ = 1;
    std::vector<SamplePoint> points_;
    std::shared_ptr<const std::vector<SamplePoint>> shared_;  ///< copy of points_; null: out of date
};

}  // namespace placewright
