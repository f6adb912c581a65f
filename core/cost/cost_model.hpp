// SPDX-License-Identifier: MIT
// Seconds for an op on a device and for bytes on a channel.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/graph/graph.hpp"
#include "core/graph/training.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

struct CostOptions;
struct ProfileArchive;

/// A rule that gives the time of an op.
struct CostModel {
    std::string_view id;  ///< as on the command line
    std::string_view title;
    std::string_view help;
    /// Seconds for `op` of `graph` (a training or inference graph) on each of the devices, with an optimizer
    /// that keeps `optimizer_states` numbers per parameter.
    void (*op_times_s)(const Graph& graph, OpId op, std::span<const Device> devices, double optimizer_states,
                       std::span<double> times_s);
    /// Derives from a forward graph the training step for which these times are defined.
    Graph (*training_graph)(const Graph& graph, Recomputation recomputation, SharedGradients shared);
    /// A transfer takes only the first channel of its route: the sender's, as in Exprimo.
    bool first_channel_alone = false;
};

/// roofline, paleo, exprimo, measured.
std::span<const CostModel> cost_models();
/// Returns nullptr if no cost model has that id.
const CostModel* find_cost_model(std::string_view id);

struct CostOptions {
    const CostModel* model = &cost_models().front();
    std::optional<double> compute_efficiency;  ///< replaces every device's efficiency, including those by
                                               ///< kind, by size and of the memory
    std::optional<double> channel_efficiency;  ///< replaces every channel's efficiency and table
    /// Times of ops, for the model "measured", and of transfers; null: those in the files of network and
    /// machine.
    std::shared_ptr<const ProfileArchive> profile;

    bool operator==(const CostOptions&) const = default;
};

/// Bytes that an op reads (inputs and parameters, or Op::read_bytes) and writes (outputs). An update reads
/// gradient, parameters and the optimizer's states, and writes all of them except the gradient.
struct OpTraffic {
    double read_bytes = 0;
    double written_bytes = 0;
};
OpTraffic op_traffic(const Graph& graph, OpId op, double optimizer_states = 0);

/// On a device that the catalogue knows: device_time_s() of the op's work. Else n launch_overhead_s +
/// max((F + H) / (e P), B / (w W)) + G / (w W), with FLOPs F, bytes B read and written, peak FLOP/s P and
/// memory bandwidth W. The device gives the shares e (efficiency_by_kind, else efficiency) and w
/// (memory_efficiency, else efficiency) and half_efficiency_flops H: an op reaches F / (F + H) of e P.
/// Without FLOPs only the bytes count. Williams, Waterman, Patterson: Roofline (2009), with measured
/// ceilings. G are the bytes of the sums of gradients and of the backward of views (gradient_work()), and n
/// counts their kernels and that of the op. Zero for kinds that do not compute, apart from these.
double roofline_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// Share of a device that an op keeps busy while it runs there: the roofline time at the device's ceilings,
/// divided by the roofline time that includes the launch overhead and the effect of the op's size. In [0, 1]:
/// 0 for kinds that do not compute, 1 for other ops without FLOPs or bytes, whose share is unknown.
double device_share(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// Time of computing plus time of reading each tensor: F / (e P) + B / (e W), as in Paleo (Qi, Sparks,
/// Talwalkar, 2017) and Exprimo, but for every op and for all its gradients. Padding counts as read for
/// convolutions.
double paleo_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

/// Whether the op takes time of its own: it is an update, or of a kind that computes.
bool computes(const Op& op);

/// The op's measured time for the device's model, by any name that the catalogue of devices has for it;
/// nothing if there is none.
std::optional<double> measured_time_s(const Op& op, const Device& device);

/// latency + bytes / (bandwidth * efficiency(bytes)).
double transfer_time_s(const Channel& channel, double bytes);

}  // namespace placewright
