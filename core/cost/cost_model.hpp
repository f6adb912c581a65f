// SPDX-License-Identifier: MIT
// Seconds for an op on a device and for bytes on a channel.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

struct CostOptions;

/// A way to tell how long an op takes.
struct CostModel {
    std::string_view id;  ///< as on the command line
    std::string_view title;
    std::string_view help;
    /// Seconds for `op` of `graph` (a training or inference graph) on `device`.
    double (*op_time_s)(const Graph& graph, OpId op, const Device& device);
    /// The training step of a forward graph that these times belong to.
    Graph (*training_graph)(const Graph& graph);
};

/// roofline, paleo, exprimo, measured.
std::span<const CostModel> cost_models();
/// nullptr if there is none of that id.
const CostModel* find_cost_model(std::string_view id);

struct CostOptions {
    const CostModel* model = &cost_models().front();
    std::optional<double> compute_efficiency;  ///< replaces every device's efficiency
    std::optional<double> channel_efficiency;  ///< replaces every channel's efficiency and table
};

/// Bytes that an op reads (inputs and parameters) and writes (outputs).
struct OpTraffic {
    double read_bytes = 0;
    double written_bytes = 0;
};
OpTraffic op_traffic(const Graph& graph, OpId op);

/// launch_overhead_s + max(F / (e P), B / (e W)): FLOPs F, bytes B read and written, the device's efficiency e, peak
/// FLOP/s P, memory bandwidth W. Williams, Waterman, Patterson: Roofline (2009). Zero for kinds that do not compute.
double roofline_time_s(const Graph& graph, OpId op, const Device& device);

/// The sum of computing and of reading each tensor: F / (e P) + B / (e W), as Paleo (Qi, Sparks, Talwalkar, 2017) and Exprimo
/// charge it, but for every op and for all its gradients. Padding counts as read for convolutions.
double paleo_time_s(const Graph& graph, OpId op, const Device& device);

/// The op's measured time for the device's model, the roofline where there is none.
double measured_time_s(const Graph& graph, OpId op, const Device& device);

/// latency + bytes / (bandwidth * efficiency(bytes)).
double transfer_time_s(const Channel& channel, double bytes);

}  // namespace placewright
