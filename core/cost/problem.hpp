// SPDX-License-Identifier: MIT
// Everything that the simulator and the searches need, flat; built once for a graph, a machine and a cost model,
// then shared read-only by all threads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.hpp"
#include "core/cost/placement.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/grouping.hpp"
#include "core/graph/training.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

using TensorId = std::uint32_t;
inline constexpr TensorId kNoTensor = std::numeric_limits<TensorId>::max();

/// What is counted as memory, and when.
enum class MemoryModel : std::uint8_t {
    training,  ///< parameters and optimizer state; tensors from the start of their op, or of the last hop to a device, to the end of their
               ///< last reader
    exprimo,   ///< parameters alone; tensors from the end of their op, or their arrival; in inference nothing read on its own device is
               ///< freed
};
std::string_view to_string(MemoryModel model);
std::optional<MemoryModel> memory_model_from(std::string_view text);

struct ProblemOptions {
    CostOptions cost;
    bool inference = false;
    /// Copies of the parameters that the training optimizer keeps beside them (0 for plain SGD, 1 with momentum, 2 for Adam). With
    /// MemoryModel::exprimo there are none.
    double optimizer_states = 1;
    MemoryModel memory = MemoryModel::training;
    Recomputation recomputation = Recomputation::none;
    /// Batches are parts of one step: their gradients are added up and the parameters updated once.
    bool accumulate_gradients = false;
    /// Ops that can do so overwrite their input, as if all were marked Op::in_place.
    bool in_place = false;
    /// Convolutions without a workspace of their own get that of unfolding their input (im2col), up to so many bytes.
    double workspace_limit_bytes = 0;
    /// Share of each device's memory that placements may use; the rest is left for fragmentation and the framework.
    double usable_memory = 1;
    std::optional<Crossing> crossing;  ///< replaces the machine's
    GroupingOptions grouping;          ///< which ops move together

    bool operator==(const ProblemOptions&) const = default;
};

/// A placement that cannot be used, with the ops and devices that are at fault.
class PlacementError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct Problem {
    std::shared_ptr<const Graph> graph;    ///< the training (or inference) graph that is simulated
    std::shared_ptr<const Graph> forward;  ///< the graph as it was read; its forward ops have the same ids
    std::shared_ptr<const Machine> machine;
    Grouping grouping;
    MemoryModel memory = MemoryModel::training;
    bool inference = false;

    std::uint32_t ops = 0, tensors = 0, devices = 0, channels = 0, groups = 0;

    /// Seconds of ops and transfers are multiples of this power of two, so that sums up to 2^53 ticks are exact and the order of adding
    /// does not matter. At most 2^-44 of the sum over all ops of their least time on any device of the machine, wherever they may be; if
    /// that is 0, of the sum of transfer_s. If that is 0 too, so is this, and nothing is rounded.
    double tick_s = 0;

    std::vector<double> op_time_s;          ///< [op * devices + device]
    std::vector<double> resident_bytes;     ///< [op]: parameters, optimizer state and the like, held for the whole step
    std::vector<double> accumulated_bytes;  ///< [op]: the part of resident_bytes that is the sum of gradients over the batches
    std::vector<TensorId> output_begin;     ///< [ops + 1]: outputs of op o are tensors output_begin[o] .. output_begin[o + 1]
    std::vector<double> workspace_bytes;    ///< [op]
    std::vector<double> tensor_bytes;       ///< [tensor]
    /// [tensor]: the input of its producer that it shares its memory with on the device of its producer (views, in-place ops), or
    /// kNoTensor.
    std::vector<TensorId> alias_of;
    /// [tensor]: what it takes on the device of its producer: nothing for those with an alias and for parameters seen as tensors (they
    /// are part of resident_bytes), else tensor_bytes. Copies on other devices are whole.
    std::vector<double> output_bytes;
    std::vector<double> memory_limit_bytes;  ///< [device]: what may be used of its memory
    bool accumulates = false;
    std::vector<double> accumulate_s;  ///< [op * devices + device]: of update ops, adding a batch's gradient; empty unless accumulates
    /// [op * devices + device]: the part of the device that the op keeps busy, in [0, 1]; empty if every device has one stream.
    std::vector<double> op_share;
    std::vector<OpId> producer;                 ///< [tensor]
    std::vector<std::uint32_t> consumer_begin;  ///< [tensors + 1]
    std::vector<OpId> consumer;                 ///< distinct ops that read a tensor, ascending
    std::vector<std::uint32_t> input_begin;     ///< [ops + 1]
    std::vector<TensorId> input;                ///< distinct tensors that an op reads
    std::vector<bool> sends_together;           ///< [op]: its outputs for one device travel as one message
    std::vector<OpId> sources;                  ///< ops without inputs

    std::vector<std::uint32_t> route_begin;  ///< [devices * devices + 1], by from * devices + to
    std::vector<ChannelId> route_channel;
    Crossing crossing = Crossing::store_and_forward;
    std::vector<double> channel_latency_s;  ///< [channel], part of transfer_s
    /// Channels of the same speed share a class, so that this table stays small: [tensor * channel_classes + class].
    std::uint32_t channel_classes = 0;
    std::vector<std::uint32_t> channel_class;  ///< [channel]
    std::vector<double> transfer_s;

    std::vector<std::uint32_t> allowed_begin;  ///< [groups + 1]
    std::vector<DeviceId> allowed;             ///< devices that may hold a group, ascending; never empty

    std::span<const DeviceId> allowed_devices(GroupId group) const {
        return std::span(allowed).subspan(allowed_begin[group], allowed_begin[group + 1] - allowed_begin[group]);
    }
    double time_s(OpId op, DeviceId device) const { return op_time_s[std::size_t{op} * devices + device]; }
    /// Seconds of all ops of a group on a device.
    double group_time_s(GroupId group, DeviceId device) const;
};

/// Expands training, groups, and fills the tables. O((ops + edges) * devices).
/// Throws PlacementError if some group has no device that all of its ops allow, an op's time is not finite, or gradients are to be added up
/// but an update op reads none.
std::shared_ptr<const Problem> make_problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Machine> machine,
                                            const ProblemOptions& options = {});

/// The same problem in which ops move together only where they have to (group_by_constraints).
std::shared_ptr<const Problem> ungrouped(const Problem& problem);

/// A placement of `from` in `to`, which differ in nothing but their groups, those of `to` being finer or the same.
Placement regrouped(std::span<const DeviceId> placement, const Problem& from, const Problem& to);

/// Throws PlacementError unless the placement has a known and allowed device for each group.
void check_placement(const Problem& problem, std::span<const DeviceId> placement);

/// Everything on one device; groups that may not be there go to the fastest device that they allow.
Placement single_device_placement(const Problem& problem, DeviceId device);
/// The same for the device for which all ops together take the least time.
Placement single_device_placement(const Problem& problem);

}  // namespace placewright
