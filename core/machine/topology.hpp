// SPDX-License-Identifier: MIT
// The links of a machine as people draw them: which boxes each channel joins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/machine/machine.hpp"

namespace placewright {

/// Nodes are the devices, in their order, then hubs: a switch or bus where channels of several devices meet.
struct Topology {
    struct Node {
        std::optional<DeviceId> device;   ///< nothing: a hub
        std::string label;                ///< name of the device, or of the channels that meet in the hub
        std::vector<ChannelId> channels;  ///< of a hub: those that belong to no device alone
    };
    /// A line between two nodes; its channels are those of both directions.
    struct Link {
        std::size_t a = 0, b = 0;  ///< a < b
        std::vector<ChannelId> channels;
    };
    std::vector<Node> nodes;
    std::vector<Link> links;
};

/// A channel belongs to the devices that are an end of each route across it. One that belongs to two devices
/// joins these. One that belongs to one device joins it with the device that it alone leads to or comes
/// from, such as the CPU at the end of a PCIe link; if there is none, or several, with a hub. Channels that
/// no route crosses are left out. O(routes, and their channels).
Topology topology_of(const Machine& machine);

}  // namespace placewright
