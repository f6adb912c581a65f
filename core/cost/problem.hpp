// SPDX-License-Identifier: MIT
// The flat tables that the simulator and the searches need. A Problem is built once from a graph, a machine
// and a cost model, then shared read-only by all threads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cost/apart.hpp"
#include "core/cost/cost_model.hpp"
#include "core/cost/framework_memory.hpp"
#include "core/cost/placement.hpp"
#include "core/graph/constraints.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/grouping.hpp"
#include "core/graph/precision.hpp"
#include "core/graph/training.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

using TensorId = std::uint32_t;
inline constexpr TensorId kNoTensor = std::numeric_limits<TensorId>::max();

/// Which memory is counted, and from when to when.
enum class MemoryModel : std::uint8_t {
    training,  ///< parameters and optimizer state; tensors from the start of their op, or of the last hop to
               ///< a device, to the end of their last reader
    exprimo,   ///< parameters alone; tensors from the end of their op, or their arrival; in inference no
               ///< tensor that is read on its own device is freed
};
std::string_view to_string(MemoryModel model);
std::optional<MemoryModel> memory_model_from(std::string_view text);

/// The first GPU of a machine that has a CPU, too: it runs the ops whose weights are streamed.
std::optional<DeviceId> streaming_device(const Machine& machine);

/// What happens to ops that are placed on a CPU beside accelerators.
enum class Offload : std::uint8_t {
    compute,  ///< the CPU runs them (llama.cpp)
    stream,   ///< the first accelerator runs them after their weights have come from the CPU's memory, while
              ///< the op before still runs (Hugging Face Accelerate); inference only
};
std::string_view to_string(Offload offload);
std::optional<Offload> offload_from(std::string_view text);

struct ProblemOptions {
    CostOptions cost;
    bool inference = false;
    /// Types of tensors and of products; changes graph and machine.
    Precision precision = Precision::as_given;
    /// Number of copies of the parameters that the training optimizer keeps (0 for plain SGD, 1 with
    /// momentum, 2 for Adam). MemoryModel::exprimo counts none.
    double optimizer_states = 1;
    MemoryModel memory = MemoryModel::training;
    Recomputation recomputation = Recomputation::none;
    SharedGradients shared_gradients = SharedGradients::as_they_come;
    /// Batches are parts of one step: their gradients are summed and the parameters are updated once.
    bool accumulate_gradients = false;
    /// Each parameter is updated as soon as its gradient is there, which frees the gradient. Otherwise
    /// gradients stay until the end of the step, as in frameworks that update all parameters after the
    /// backward pass.
    bool optimizer_in_backward = false;
    /// Ops that can overwrite their input do so, as if all were marked Op::in_place.
    bool in_place = false;
    /// Convolutions without a workspace of their own get that of unfolding their input (im2col), up to this
    /// number of bytes.
    double workspace_limit_bytes = 0;
    /// What runs the network; what it takes of the memory (counts_framework()).
    Framework framework = Framework::pytorch;
    std::optional<double>
        context_bytes;                   ///< taken off each accelerator's memory, in place of the framework's
    std::optional<Allocator> allocator;  ///< in place of the framework's, for all devices
    /// Share of each device's memory, less the context, that placements may use; the rest is left for
    /// fragmentation and other programs.
    double usable_memory = 1;
    std::optional<Crossing> crossing;  ///< replaces the machine's
    Offload offload = Offload::compute;
    /// Copies of Op::resident_bytes that are held at once: a language model has the keys and values of each
    /// batch in flight.
    std::uint32_t caches = 1;
    GroupingOptions grouping;   ///< which ops move together
    Constraints constraints{};  ///< rules that every placement obeys

    bool operator==(const ProblemOptions&) const = default;
};

/// Thrown for a placement that cannot be used; the message names the ops and devices at fault.
class PlacementError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown for constraints that name what there is not, or that no placement can obey; the message names the
/// rules.
class ConstraintError : public PlacementError {
public:
    explicit ConstraintError(const std::string& what, std::vector<std::size_t> broken = {})
        : PlacementError(what), broken_(std::move(broken)) {}
    /// Indices of the rules without which the others do not fail in this way, ascending; empty where there is
    /// a choice of rules to leave out.
    const std::vector<std::size_t>& broken() const { return broken_; }

private:
    std::vector<std::size_t> broken_;
};

struct Problem {
    std::shared_ptr<const Graph> graph;    ///< the training (or inference) graph that is simulated
    std::shared_ptr<const Graph> network;  ///< the graph as it was read
    /// The network in the precision of the options; its forward ops have the same ids as those of `graph`.
    std::shared_ptr<const Graph> forward;
    std::shared_ptr<const Machine> machine;
    Grouping grouping;
    const CostModel* cost_model = nullptr;
    double optimizer_states = 0;  ///< numbers that the optimizer keeps per parameter; 0 in inference
    MemoryModel memory = MemoryModel::training;
    bool inference = false;
    bool optimizer_in_backward = false;  ///< as in ProblemOptions
    std::uint32_t caches = 1;            ///< as in ProblemOptions

    std::uint32_t ops = 0, tensors = 0, devices = 0, channels = 0, groups = 0;

    /// Seconds of ops and transfers are multiples of this power of two, so that sums up to 2^53 ticks are
    /// exact and do not depend on the order of adding. At most 2^-44 of the sum over all ops of their least
    /// time on any device of the machine, whether or not they may be placed there; if that sum is 0, of the
    /// sum of transfer_s. If both sums are 0, the tick is 0 and nothing is rounded.
    double tick_s = 0;

    std::vector<double> op_time_s;          ///< [op * devices + device]
    Allocator allocator = Allocator::none;  ///< of the bytes below that are held in memory
    /// [op]: parameters, optimizer state and other memory that is held for the whole step.
    std::vector<double> resident_bytes;
    /// [op]: the part of resident_bytes that is the sum of gradients over the batches.
    std::vector<double> accumulated_bytes;
    /// [ops + 1]: the outputs of op o are the tensors output_begin[o] .. output_begin[o + 1].
    std::vector<TensorId> output_begin;
    std::vector<double> workspace_bytes;  ///< [op]
    std::vector<double> tensor_bytes;     ///< [tensor]: as sent
    std::vector<double> copy_bytes;       ///< [tensor]: tensor_bytes as allocated, which a copy takes
    /// [tensor]: the input of its producer whose memory it shares on the producer's device (views, in-place
    /// ops), or kNoTensor.
    std::vector<TensorId> alias_of;
    /// [tensor]: bytes on the device of its producer: 0 for tensors with an alias and for parameters seen as
    /// tensors (they are part of resident_bytes), else copy_bytes. Copies on other devices take copy_bytes.
    std::vector<double> output_bytes;
    /// [tensor]: a gradient of parameters that stays on its device until the end of the step
    /// (ProblemOptions::optimizer_in_backward); empty if there is none.
    std::vector<bool> stays;
    std::vector<double> memory_limit_bytes;  ///< [device]: memory that placements may use
    bool accumulates = false;
    /// [op * devices + device]: seconds in which an update op adds a batch's gradient; empty unless
    /// accumulates.
    std::vector<double> accumulate_s;
    /// [op * devices + device]: share of the device that the op keeps busy, in [0, 1]; empty if every device
    /// has one stream.
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
    /// Offload::stream: the device that runs the ops that are placed on CPUs. They hold their residents where
    /// they are placed; op_time_s there is the longer of the op's time on this device and of the copy of what
    /// it reads, which objectives that are formulas take.
    std::optional<DeviceId> streams_to{};
    /// [op]: the tensor of what the op reads of its residents (Op::read_bytes), which is copied from the CPU
    /// for each step; kNoTensor if that is nothing. Empty without streams_to. These tensors come after the
    /// outputs: they have bytes, times, a reader and, for its name, a producer, which both are the op; but
    /// they are neither counted in `tensors` nor listed in `input`.
    std::vector<TensorId> streamed{};

    /// Channels of the same speed share a class, which keeps transfer_s small: it is [tensor *
    /// channel_classes + class].
    std::uint32_t channel_classes = 0;
    std::vector<std::uint32_t> channel_class;  ///< [channel]
    std::vector<double> transfer_s;

    std::vector<std::uint32_t> allowed_begin;  ///< [groups + 1]
    std::vector<DeviceId> allowed;             ///< devices that may hold a group, ascending; never empty
    Constraints constraints;                   ///< of the options: in the groups and `allowed`, except
    ApartRules apart;                          ///< those that keep groups apart

    std::span<const DeviceId> allowed_devices(GroupId group) const {
        return std::span(allowed).subspan(allowed_begin[group],
                                          allowed_begin[group + 1] - allowed_begin[group]);
    }
    double time_s(OpId op, DeviceId device) const { return op_time_s[std::size_t{op} * devices + device]; }
    /// The device that runs an op that is placed on this one.
    DeviceId runs_on(DeviceId placed) const {
        return streams_to && machine->device(placed).kind == DeviceKind::cpu ? *streams_to : placed;
    }
    bool is_streamed(TensorId tensor) const { return tensor >= tensors; }
    bool tensor_stays(TensorId tensor) const { return !stays.empty() && stays[tensor]; }
    /// Memory that the op holds for the whole step beside its parameters: its cache of each batch in flight.
    double cache_bytes(OpId op) const;
    /// Memory that the op holds at the end of a step: its resident bytes and gradients that stay.
    double end_bytes(OpId op) const;
    /// Sum of the seconds of all ops of a group on a device.
    double group_time_s(GroupId group, DeviceId device) const;
};

/// Gives the network its precision, derives the training graph, groups its ops and fills the tables. O((ops +
/// edges) * devices). Throws ConstraintError for the constraints, PlacementError if a group has no device
/// that all of its ops allow, an op's time is not finite, the context leaves nothing of a device's memory, or
/// gradients are to be accumulated but an update op reads none; GraphError for what with_precision() and
/// training_graph() refuse.
std::shared_ptr<const Problem> make_problem(std::shared_ptr<const Graph> graph,
                                            std::shared_ptr<const Machine> machine,
                                            const ProblemOptions& options = {});

/// Whether the op's time on the device is that of the roofline because the measured cost model knows none:
/// the op computes and was never measured on such a device. A forward op may be measured where its backward
/// op or its update is not.
bool is_predicted(const Problem& problem, OpId op, DeviceId device);

/// Returns the same problem with the finest groups: ops move together only where they must
/// (group_by_constraints).
std::shared_ptr<const Problem> ungrouped(const Problem& problem);

/// Converts a placement of `from` to one of `to`. The problems may differ only in their groups, and each
/// group of `to` must lie within one group of `from`.
Placement regrouped(std::span<const DeviceId> placement, const Problem& from, const Problem& to);

/// Throws PlacementError unless the placement has a known and allowed device for each group and breaks no
/// rule that keeps groups apart.
void check_placement(const Problem& problem, std::span<const DeviceId> placement);

/// Places all groups on one device, except those that it may not hold: they go to the fastest device that
/// they allow, or as obeying() says.
Placement single_device_placement(const Problem& problem, DeviceId device);
/// The same for the device on which the sum of all op times is least.
Placement single_device_placement(const Problem& problem);

}  // namespace placewright
