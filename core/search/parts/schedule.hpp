// SPDX-License-Identifier: MIT
// List scheduling: ops get a device and a time one after the other, each after all producers that it reads.
#pragma once

#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Busy intervals of a device or channel.
class BusyIntervals {
public:
    /// Returns the first time from `ready_s` on at which it is free for `duration_s`.
    double earliest(double ready_s, double duration_s) const;
    /// Returns the time from which on it stays free.
    double end_s() const { return busy_.empty() ? 0 : busy_.back().end_s; }
    /// Books an interval in which it is free.
    void book(double start_s, double duration_s);
    /// Cancels a booking.
    void release(double start_s, double duration_s);

private:
    struct Interval {
        double start_s, end_s;
    };
    std::vector<Interval> busy_;  ///< ascending, with gaps between
};

struct ScheduleOptions {
    bool insertion = true;        ///< ops may start in gaps between others; otherwise only after the last one
    bool link_contention = true;  ///< transfers wait for channels; otherwise only for their tensor
};

/// Start and end of the scheduled ops, under a model of the machine that is simpler than the simulator's: a
/// device runs one op at a time, whatever its streams; copy engines set no limit; outputs that travel
/// together are sent one by one; a tensor is sent to a device once, as early as the channels allow, in the
/// order in which ops are scheduled. Refers to the problem, which must outlive it.
class Schedule {
public:
    Schedule(const Problem& problem, const ScheduleOptions& options);

    /// Returns the time at which all inputs of `op`, whose producers are scheduled, could be on the device.
    double inputs_s(OpId op, DeviceId device);
    /// Returns the earliest time at which `op`, whose producers are scheduled, could start there. It takes
    /// `duration_s`.
    double earliest_start_s(OpId op, DeviceId device, double duration_s);
    double earliest_start_s(OpId op, DeviceId device) {
        return earliest_start_s(op, device, problem_.time_s(op, device));
    }
    /// Schedules `op` on the device, with its transfers.
    void add(OpId op, DeviceId device);

    double start_s(OpId op) const { return start_s_[op]; }
    double end_s(OpId op) const { return end_s_[op]; }
    DeviceId device_of(OpId op) const { return device_of_[op]; }
    /// End of the last op.
    double makespan_s() const { return makespan_s_; }

private:
    struct Booking {
        ChannelId channel;
        double start_s, duration_s;
    };

    /// Schedules the transfers of inputs that are not on the device; adds the bookings to `bookings_` and the
    /// tensors to `sent_`. Returns the time at which all inputs are there.
    double fetch(OpId op, DeviceId device);
    double send(TensorId tensor, DeviceId from, DeviceId to, double ready_s);
    double cross(std::span<const ChannelId> channels, double duration_s, double ready_s);
    double& there_s(TensorId tensor, DeviceId device) {
        return there_s_[std::size_t{tensor} * problem_.devices + device];
    }

    const Problem& problem_;
    ScheduleOptions options_;
    std::vector<BusyIntervals> devices_, channels_;
    std::vector<DeviceId> device_of_;      ///< [op]
    std::vector<double> start_s_, end_s_;  ///< [op]
    std::vector<double>
        there_s_;  ///< [tensor * devices + device]: time of its arrival; negative: not sent there
    double makespan_s_ = 0;
    std::vector<Booking> bookings_;
    std::vector<TensorId> sent_;
};

/// Returns the seconds of the tensor's route from one device to another, with each channel unloaded.
double transfer_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to);

/// [tensor]: the mean of transfer_s over all ordered pairs of different devices in `devices`.
std::vector<double> mean_transfers_s(const Problem& problem, std::span<const DeviceId> devices);

/// [op]: longest path from the start of the op to the end of the last op, with the given times of ops and
/// tensors (Topcuoglu, Hariri, Wu: HEFT, 2002: equation 9).
std::vector<double> upward_ranks_s(const Problem& problem, std::span<const double> op_s,
                                   std::span<const double> tensor_s);

}  // namespace placewright
