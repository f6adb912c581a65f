// SPDX-License-Identifier: MIT
#include "core/search/parts/schedule.hpp"

#include <algorithm>

namespace placewright {

double BusyIntervals::earliest(double ready_s, double duration_s) const {
    auto next = std::ranges::upper_bound(busy_, ready_s, {}, &Interval::end_s);
    double start_s = ready_s;
    for (; next != busy_.end() && next->start_s < start_s + duration_s; ++next)
        start_s = std::max(start_s, next->end_s);
    return start_s;
}

void BusyIntervals::book(double start_s, double duration_s) {
    if (duration_s <= 0) return;
    const double end_s = start_s + duration_s;
    const auto next = std::ranges::lower_bound(busy_, end_s, {}, &Interval::start_s);
    const bool joins_next = next != busy_.end() && next->start_s == end_s;
    const bool joins_before = next != busy_.begin() && std::prev(next)->end_s == start_s;
    if (joins_before && joins_next) {
        std::prev(next)->end_s = next->end_s;
        busy_.erase(next);
    } else if (joins_before) {
        std::prev(next)->end_s = end_s;
    } else if (joins_next) {
        next->start_s = start_s;
    } else {
        busy_.insert(next, {start_s, end_s});
    }
}

void BusyIntervals::release(double start_s, double duration_s) {
    if (duration_s <= 0) return;
    const double end_s = start_s + duration_s;
    const auto around = std::ranges::lower_bound(busy_, end_s, {}, &Interval::end_s);
    const Interval whole = *around;
    if (whole.start_s == start_s && whole.end_s == end_s) {
        busy_.erase(around);
    } else if (whole.start_s == start_s) {
        around->start_s = end_s;
    } else {
        around->end_s = start_s;
        if (end_s < whole.end_s) busy_.insert(std::next(around), {end_s, whole.end_s});
    }
}

Schedule::Schedule(const Problem& problem, const ScheduleOptions& options)
    : problem_(problem),
      options_(options),
      devices_(problem.devices),
      channels_(problem.channels),
      device_of_(problem.ops, kInvalidDevice),
      start_s_(problem.ops, 0),
      end_s_(problem.ops, 0),
      there_s_(std::size_t{problem.tensors} * problem.devices, -1) {}

double Schedule::cross(std::span<const ChannelId> channels, double duration_s, double ready_s) {
    if (!options_.link_contention) return ready_s + duration_s;
    double start_s = ready_s;
    for (double before_s = -1; before_s != start_s;) {
        before_s = start_s;
        for (const ChannelId channel : channels) start_s = channels_[channel].earliest(start_s, duration_s);
    }
    for (const ChannelId channel : channels) {
        channels_[channel].book(start_s, duration_s);
        bookings_.push_back({channel, start_s, duration_s});
    }
    return start_s + duration_s;
}

double Schedule::send(TensorId tensor, DeviceId from, DeviceId to, double ready_s) {
    const std::size_t index = std::size_t{from} * problem_.devices + to;
    const auto route = std::span(problem_.route_channel)
                           .subspan(problem_.route_begin[index],
                                    problem_.route_begin[index + 1] - problem_.route_begin[index]);
    if (problem_.crossing == Crossing::cut_through)
        return cross(route, transfer_s(problem_, tensor, from, to), ready_s);
    for (const ChannelId& channel : route) {
        const std::size_t speed = problem_.channel_class[channel];
        ready_s = cross({&channel, 1},
                        problem_.transfer_s[std::size_t{tensor} * problem_.channel_classes + speed], ready_s);
    }
    return ready_s;
}

double Schedule::fetch(OpId op, DeviceId device) {
    double latest_s = 0;
    for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
        const TensorId tensor = problem_.input[i];
        double& here_s = there_s(tensor, device);
        if (here_s < 0) {
            const OpId producer = problem_.producer[tensor];
            here_s = send(tensor, device_of_[producer], device, end_s_[producer]);
            sent_.push_back(tensor);
        }
        latest_s = std::max(latest_s, here_s);
    }
    return latest_s;
}

double Schedule::inputs_s(OpId op, DeviceId device) {
    bookings_.clear();
    sent_.clear();
    const double latest_s = fetch(op, device);
    for (const Booking& booking : bookings_)
        channels_[booking.channel].release(booking.start_s, booking.duration_s);
    for (const TensorId tensor : sent_) there_s(tensor, device) = -1;
    return latest_s;
}

double Schedule::earliest_start_s(OpId op, DeviceId device, double duration_s) {
    const double ready_s = inputs_s(op, device);
    return options_.insertion ? devices_[device].earliest(ready_s, duration_s)
                              : std::max(ready_s, devices_[device].end_s());
}

void Schedule::add(OpId op, DeviceId device) {
    const double duration_s = problem_.time_s(op, device);
    start_s_[op] = earliest_start_s(op, device, duration_s);
    fetch(op, device);
    end_s_[op] = start_s_[op] + duration_s;
    devices_[device].book(start_s_[op], duration_s);
    device_of_[op] = device;
    for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1]; ++tensor)
        there_s(tensor, device) = end_s_[op];
    makespan_s_ = std::max(makespan_s_, end_s_[op]);
}

double transfer_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to) {
    const std::size_t route = std::size_t{from} * problem.devices + to;
    double sum_s = 0;
    double latencies_s = 0;
    double longest_s = 0;
    for (auto i = problem.route_begin[route]; i < problem.route_begin[route + 1]; ++i) {
        const ChannelId channel = problem.route_channel[i];
        const double leg_s =
            problem
                .transfer_s[std::size_t{tensor} * problem.channel_classes + problem.channel_class[channel]];
        sum_s += leg_s;
        latencies_s += problem.channel_latency_s[channel];
        longest_s = std::max(longest_s, leg_s - problem.channel_latency_s[channel]);
    }
    return problem.crossing == Crossing::cut_through ? latencies_s + longest_s : sum_s;
}

std::vector<double> mean_transfers_s(const Problem& problem, std::span<const DeviceId> devices) {
    std::vector<double> mean_s(problem.tensors, 0);
    const auto pairs = static_cast<double>(devices.size() * (devices.size() - 1));
    if (pairs == 0) return mean_s;
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        for (const DeviceId from : devices) {
            for (const DeviceId to : devices) {
                if (from != to) mean_s[tensor] += transfer_s(problem, tensor, from, to);
            }
        }
        mean_s[tensor] /= pairs;
    }
    return mean_s;
}

std::vector<double> upward_ranks_s(const Problem& problem, std::span<const double> op_s,
                                   std::span<const double> tensor_s) {
    std::vector<double> rank_s(problem.ops, 0);
    for (OpId op = problem.ops; op-- > 0;) {
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
            for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
                rank_s[op] = std::max(rank_s[op], tensor_s[tensor] + rank_s[problem.consumer[i]]);
            }
        }
        rank_s[op] += op_s[op];
    }
    return rank_s;
}

}  // namespace placewright
