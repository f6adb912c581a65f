// SPDX-License-Identifier: MIT
// Building a placement by list scheduling: ops are given a device and a time one after the other, each after all that it reads.
#pragma once

#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// When a device or channel is busy.
class Timeline {
public:
    /// The first time from `ready_s` on when it is free for so long.
    double earliest(double ready_s, double duration_s) const;
    /// From when on it is free for good.
    double end_s() const { return busy_.empty() ? 0 : busy_.back().end_s; }
    /// Occupies it where it is free.
    void book(double start_s, double duration_s);
    /// Takes a booking back.
    void release(double start_s, double duration_s);

private:
    struct Interval {
        double start_s, end_s;
    };
    std::vector<Interval> busy_;  ///< ascending, with gaps between
};

struct ScheduleOptions {
    bool insertion = true;        ///< ops may go into gaps between others; else only behind all
    bool link_contention = true;  ///< transfers wait for channels; else only for their tensor
};

/// Start and end of the ops that have a place, under a model of the machine that is simpler than the simulator's: a device runs one op at a
/// time, whatever its streams; copy engines set no limit; outputs that travel together are sent one by one; a tensor is sent to a device
/// once, as early as the channels allow, in the order in which ops are scheduled.
/// Refers to the problem, which must outlive it.
class Schedule {
public:
    Schedule(const Problem& problem, const ScheduleOptions& options);

    /// When all inputs of `op`, whose producers are scheduled, could be on the device.
    double inputs_s(OpId op, DeviceId device);
    /// When `op`, whose producers are scheduled, could start there. It takes `duration_s`.
    double earliest_start_s(OpId op, DeviceId device, double duration_s);
    double earliest_start_s(OpId op, DeviceId device) { return earliest_start_s(op, device, problem_.time_s(op, device)); }
    /// Books it there, with its transfers.
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

    /// Sends what is not on the device; the bookings are added to `bookings_` and the tensors to `sent_`. Returns when all is there.
    double fetch(OpId op, DeviceId device);
    double send(TensorId tensor, DeviceId from, DeviceId to, double ready_s);
    double cross(std::span<const ChannelId> channels, double duration_s, double ready_s);
    double& there_s(TensorId tensor, DeviceId device) { return there_s_[std::size_t{tensor} * problem_.devices + device]; }

    const Problem& problem_;
    ScheduleOptions options_;
    std::vector<Timeline> devices_, channels_;
    std::vector<DeviceId> device_of_;      ///< [op]
    std::vector<double> start_s_, end_s_;  ///< [op]
    std::vector<double> there_s_;          ///< [tensor * devices + device]: when it is there; negative: it is not sent there
    double makespan_s_ = 0;
    std::vector<Booking> bookings_;
    std::vector<TensorId> sent_;
};

/// Seconds of the tensor's way, each channel on its own, from one device to another.
double transfer_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to);

/// [tensor]: the mean of transfer_s over all ordered pairs of different devices in `devices`.
std::vector<double> mean_transfers_s(const Problem& problem, std::span<const DeviceId> devices);

/// [op]: the longest way from the start of the op to the end of the last, with the given times of ops and tensors (Topcuoglu, Hariri, Wu:
/// HEFT, 2002: equation 9).
std::vector<double> upward_ranks_s(const Problem& problem, std::span<const double> op_s, std::span<const double> tensor_s);

}  // namespace placewright
