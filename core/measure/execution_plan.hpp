// SPDX-License-Identifier: MIT
// What each device and channel has to do in a step, and in which order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// A transfer of tensors of one op to another device.
struct PlannedTransfer {
    OpId producer = kInvalidOp;
    DeviceId from = kInvalidDevice, to = kInvalidDevice;
    ChannelId channel = 0;  ///< the first of its route, whose queue it is in
    /// One after the other: a leg for each channel of the route, or, where transfers cut through, one leg
    /// that takes all channels at the same time.
    struct Leg {
        std::vector<ChannelId> channels;  ///< ascending
        double simulated_s = 0;           ///< seconds for which the simulated transfer takes them
    };
    std::vector<Leg> legs;
    std::vector<TensorId> tensors;  ///< several where the op's outputs travel together
    double bytes = 0;

    /// Seconds of all legs together.
    double simulated_s() const;
};

/// A tensor on a device.
struct TensorCopy {
    TensorId tensor = kNoTensor;
    DeviceId device = kInvalidDevice;
};

/// The schedule of one step: the order in which the simulator (Runtime::ideal, Order::fifo) starts ops and
/// transfers, kept by devices that take other times. Each device runs its list in order and each channel its
/// transfers; what is next waits for what it reads. The lists are parts of one sequence in which nothing
/// comes before what it reads, so waiting cannot go round in a circle.
struct ExecutionPlan {
    std::vector<DeviceId> device_of;     ///< [op]
    std::vector<std::vector<OpId>> ops;  ///< [device], in order
    std::vector<PlannedTransfer> transfers;
    std::vector<std::vector<std::uint32_t>> channel_transfers;  ///< [channel]: indices of transfers, in order

    /// [op]: number of tensors that it reads and have to be made or to arrive first. That an update comes
    /// after the ops that read its parameters is no part of it: they are before it in the list of their
    /// device.
    std::vector<std::uint32_t> inputs_awaited;
    /// [op]: ops on its device that read from it, once for each tensor.
    std::vector<std::vector<OpId>> local_readers;
    std::vector<std::vector<std::uint32_t>> sends;  ///< [op]: transfers with its outputs
    std::vector<std::vector<OpId>> arrivals;  ///< [transfer]: readers on its target, once for each tensor

    /// [op], [transfer]: tensors that nothing reads any more on a device when it is done, if everything else
    /// that reads them there is done too; each is counted down from `readers`.
    std::vector<std::vector<std::uint32_t>> op_reads, transfer_reads;  ///< indices in `held`
    std::vector<TensorCopy> held;
    std::vector<std::uint32_t> readers;  ///< [held]: ops and transfers that read it
};

/// O(events log events). Throws PlacementError for a placement that the problem does not allow.
ExecutionPlan make_execution_plan(const std::shared_ptr<const Problem>& problem,
                                  std::span<const DeviceId> placement);

}  // namespace placewright
