// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Devices that are alike as far as ops are concerned: every op takes the same time and the same share on
/// them, and the same groups may be placed on them. Transfers between classes are the fastest between any two
/// of their devices.
class DeviceClasses {
public:
    static constexpr std::size_t kMostClasses = 30;

    enum class Devices : std::uint8_t {
        together,  ///< alike ones in a class
        apart,     ///< each in a class of its own, whose index is that of the device
    };
    /// `time_s` [op * devices + device]: infinity where the op is not allowed.
    DeviceClasses(const Problem& problem, std::span<const double> time_s,
                  Devices devices = Devices::together);

    std::size_t count() const { return sizes_.size(); }
    /// Whether there are times: tables for many kinds of devices and many tensors would take too much memory.
    bool is_usable(const Problem& problem) const {
        constexpr std::size_t kMostEntries = 50'000'000;
        return count() <= kMostClasses && (problem.tensors + problem.ops) * count() * count() <= kMostEntries;
    }
    std::size_t class_of(DeviceId device) const { return class_of_[device]; }
    /// Number of devices in a class.
    std::size_t size(std::size_t which) const { return sizes_[which]; }
    /// Seconds of an op on a device of the class; infinity where the op is not allowed.
    double time_s(OpId op, std::size_t which) const { return time_s_[op * count() + which]; }
    /// Share of a device of the class that the op keeps busy; the shares of ops that run on it at a time are
    /// at most 1.
    double share(OpId op, std::size_t which) const { return share_[op * count() + which]; }
    /// Whether a device of the class can run both at a time.
    bool may_overlap(OpId op, OpId other, std::size_t which) const {
        return has_streams_[which] && share(op, which) + share(other, which) <= 1;
    }
    bool has_streams() const { return std::ranges::find(has_streams_, true) != has_streams_.end(); }
    /// Least seconds to send the tensor from a device of one class to another device of the other class.
    double transfer_s(TensorId tensor, std::size_t from, std::size_t to) const {
        return transfer_s_[(tensor * count() + from) * count() + to];
    }

private:
    void fill_transfers(const Problem& problem, const std::vector<std::vector<DeviceId>>& members);

    std::vector<std::size_t> class_of_;  ///< [device]
    std::vector<std::size_t> sizes_;
    std::vector<bool> has_streams_;       ///< [class]: several
    std::vector<double> time_s_, share_;  ///< [op * count + class]
    std::vector<double> transfer_s_;      ///< [(tensor * count + from) * count + to]
};

}  // namespace placewright
