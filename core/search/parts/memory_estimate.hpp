// SPDX-License-Identifier: MIT
// Estimated memory of an incomplete placement, for algorithms that build a placement without simulating it.
#pragma once

#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Bytes per device, updated group by group. A device is assumed to hold at the same time
/// - the resident bytes of its groups,
/// - the outputs of their forward ops that backward ops read, and copies of those that backward ops of its
///   groups read from elsewhere (in inference with MemoryModel::exprimo, which frees nothing: all outputs),
/// - once, the most that any one of its ops needs to run: workspace, inputs and outputs.
/// The simulated peak can be higher or lower: several gradients may wait, and a batch in flight is counted
/// once. Refers to the problem, which must outlive it.
class MemoryEstimate {
public:
    /// `share`: usable share of each device's memory limit.
    MemoryEstimate(const Problem& problem, double share);

    /// Bytes that the group holds for the whole step on a device of its own.
    double kept_bytes(GroupId group) const { return kept_bytes_[group]; }
    /// The most that any op of the group needs in addition while it runs.
    double transient_bytes(GroupId group) const { return transient_bytes_[group]; }
    /// Bytes that may be used on a device.
    double limit_bytes(DeviceId device) const { return share_ * problem_.memory_limit_bytes[device]; }

    /// Bytes remaining on the device after adding the group; negative if it does not fit.
    double room_bytes(GroupId group, DeviceId device) const;
    bool fits(GroupId group, DeviceId device) const { return room_bytes(group, device) >= 0; }

    /// Puts a group that has no device yet on a device.
    void add(GroupId group, DeviceId device);

private:
    bool needs_copy(TensorId tensor, DeviceId device) const;

    const Problem& problem_;
    double share_;
    std::vector<bool> kept_;               ///< [tensor]
    std::vector<double> kept_bytes_;       ///< [group]
    std::vector<double> transient_bytes_;  ///< [group]
    std::vector<std::vector<TensorId>>
        saved_inputs_;                   ///< [group]: kept tensors that its backward ops read, ascending
    std::vector<DeviceId> device_of_;    ///< [group], or kInvalidDevice
    std::vector<double> held_bytes_;     ///< [device]
    std::vector<double> largest_bytes_;  ///< [device]: largest transient_bytes
    std::vector<bool> copied_;           ///< [tensor * devices + device]
};

/// Returns the first of `choices` with room for the group; if there is none, the one with the most room (the
/// first of equals).
DeviceId first_with_room(const MemoryEstimate& memory, GroupId group, std::span<const DeviceId> choices);

}  // namespace placewright
