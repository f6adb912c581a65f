// SPDX-License-Identifier: MIT
// Seconds for an op on a device and for bytes on a channel.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/graph/graph.hpp"
#include "core/graph/training.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

struct CostOptions;

/// A way to tell how long an op takes.
struct CostModel {
    std::string_view id;  ///< as on the command line
    std::string_view title;
    std::string_view help;
    /// Seconds for `op` of `graph` (a training or inference graph) on `device`, with an optimizer that keeps so many numbers beside each
    /// parameter.
    double (*op_time_s)(const Graph& graph, OpId op, const Device& device, double optimizer_states);
    /// The training step of a forward graph that these times belong to.
    Graph (*training_graph)(const Graph& graph, Recomputation recomputation);
    /// A transfer takes the first channel of its route alone: the sender's, as in Exprimo.
    bool first_channel_alone = false;
};

/// roofline, paleo, exprimo, measured.
std::span<const CostModel> cost_models();
/// nullptr if there is none of that id.
const CostModel* find_cost_model(std::string_view id);

struct CostOptions {
    const CostModel* model = &cost_models().front();
    std::optional<double> compute_efficiency;  ///< replaces every device's efficiency, those by kind, by size and of the memory too
    std::optional<double> channel_efficiency;  ///< replaces every channel's efficiency and table

    bool operator==(const CostOptions&) const = default;
};

/// Bytes that an op reads (inputs and parameters) and writes (outputs). An update reads gradient, parameters and the optimizer's states,
/// and writes all but the gradient.
struct OpTraffic {
    double read_bytes = 0;
    double written_bytes = 0;
};
OpTraffic op_traffic(const Graph& graph, OpId op, double optimizer_states = 0);

/// launch_overhead_s + max((F + H) / (e P), B / (w W)): FLOPs F, bytes B read and written, peak FLOP/s P, memory bandwidth W, and of the
/// device the shares e (efficiency_by_kind, else efficiency) and w (memory_efficiency, else efficiency) and half_efficiency_flops H: an
/// op reaches F / (F + H) of e P; without FLOPs only the bytes count. Williams, Waterman, Patterson: Roofline (2009), with measured
/// ceilings. Zero for kinds that do not compute.
double roofline_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// The part of a device that an op keeps busy while it runs there: the roofline time at the device's ceilings over that with its launch
/// overhead and its size. In [0, 1]: 0 for kinds that do not compute, 1 for other ops without FLOPs or bytes, of which nothing is known.
double device_share(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// The sum of computing and of reading each tensor: F / (e P) + B / (e W), as Paleo (Qi, Sparks, Talwalkar, 2017) and Exprimo
/// charge it, but for every op and for all its gradients. Padding counts as read for convolutions.
double paleo_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// The op's measured time for the device's model, the roofline where there is none.
double measured_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// latency + bytes / (bandwidth * efficiency(bytes)).
double transfer_time_s(const Channel& channel, double bytes);

}  // namespace placewright
