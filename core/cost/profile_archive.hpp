// SPDX-License-Identifier: MIT
// Measured times of ops and transfers, kept by what the op does and by the model of the device, so that a
// profile of one network serves all networks with the same ops (Huang and others, 2020).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// What an op does, as text: "conv2d kernel=[3,3] stride=[1,1] (float32[32,64,56,56]) -> float32[32,64,56,56]
/// +147456 d1 r2": kind, attributes, tensors that it reads and writes, bytes of parameters, inputs that get a
/// gradient, and tensors of gradients that are summed for its outputs. Ops that do something else in
/// inference (batch_norm, dropout) end in " inference" there. Two ops with the same text take the same time
/// on a device. `graph` has forward ops alone; `needed` is needs_gradient(graph), which a loop over ops finds
/// once. `inference`: whether the graph is run without a backward pass. O(inputs + consumers).
std::string op_signature(const Graph& graph, OpId op, const std::vector<bool>& needed, bool inference);
/// The same for a single op; finds needs_gradient(graph) itself. O(ops + edges).
std::string op_signature(const Graph& graph, OpId op, bool inference = false);

/// The same for the update of an op's parameters with an optimizer that keeps `states` numbers per parameter:
/// "update of 147712 bytes of float32, 1 states".
std::string update_signature(const Op& op, double states);

/// Times measured on one model of device.
struct DeviceProfile {
    /// Without MeasuredTime::update_s.
    std::map<std::string, MeasuredTime> ops;  ///< by op_signature()
    std::map<std::string, double> updates_s;  ///< by update_signature()
    /// Seconds that the program which measured takes between two ops; 0 where it saw no such pair.
    double overhead_s = 0;
    std::string source;  ///< for the user: "resnet50, LibTorch 1.13.1, 20 steps"

    bool operator==(const DeviceProfile&) const = default;
};

/// Times of transfers from one model of device to another, ascending in bytes: (bytes, seconds).
using TransferProfile = std::vector<std::pair<double, double>>;

struct ProfileArchive {
    std::map<std::string, DeviceProfile> devices;                              ///< by model
    std::map<std::pair<std::string, std::string>, TransferProfile> transfers;  ///< by models (from, to)

    bool operator==(const ProfileArchive&) const = default;

    /// Takes all that `other` knows, which replaces what is here. What it does not know stays: an op that
    /// `other` has without a backward time, as inference measures it, keeps that of before. The time of the
    /// weight gradient is a part of the backward time and is replaced with it.
    void merge(const ProfileArchive& other);
    /// The profile of a device by any name of its model; null if there is none.
    const DeviceProfile* find(const Device& device) const;
};

/// Returns the network with the times of the archive in Op::time_s, for the devices of the machine, each with
/// the overhead of the program that measured. They replace times for the same models. Ops of explicit
/// training graphs get none. `inference`: whether the network is to run without a backward pass.
Graph with_profile(const Graph& forward, const ProfileArchive& archive, const Machine& machine,
                   double optimizer_states, bool inference = false);

/// Returns the machine with latencies and bandwidths of the archive's transfers in the channels of routes
/// between devices of these models. A route of several channels is left as it is, and so is a channel of
/// several routes whose transfers differ, or whose transfers do not tell latency from bandwidth: one size
/// alone, or sizes that all take about as long.
Machine with_profile(const Machine& machine, const ProfileArchive& archive);

}  // namespace placewright
