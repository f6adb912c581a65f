// SPDX-License-Identifier: MIT
// Everything that the simulator and the searches need, flat; built once for a graph, a machine and a cost model,
// then shared read-only by all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.hpp"
#include "core/cost/placement.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/grouping.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

using TensorId = std::uint32_t;

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
    /// Copies of the parameters that the training optimizer keeps beside them (0 for plain SGD, 1 with momentum, 2 for Adam).
    double optimizer_states = 1;
    MemoryModel memory = MemoryModel::training;
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

    std::vector<double> op_time_s;              ///< [op * devices + device]
    std::vector<double> resident_bytes;         ///< [op]: parameters, optimizer state and the like, held for the whole step
    std::vector<TensorId> output_begin;         ///< [ops + 1]: outputs of op o are tensors output_begin[o] .. output_begin[o + 1]
    std::vector<double> tensor_bytes;           ///< [tensor]
    std::vector<OpId> producer;                 ///< [tensor]
    std::vector<std::uint32_t> consumer_begin;  ///< [tensors + 1]
    std::vector<OpId> consumer;                 ///< distinct ops that read a tensor, ascending
    std::vector<std::uint32_t> input_begin;     ///< [ops + 1]
    std::vector<TensorId> input;                ///< distinct tensors that an op reads
    std::vector<bool> sends_together;           ///< [op]: its outputs for one device travel as one message
    std::vector<OpId> sources;                  ///< ops without inputs

    std::vector<std::uint32_t> route_begin;  ///< [devices * devices + 1], by from * devices + to
    std::vector<ChannelId> route_channel;
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
/// Throws PlacementError if some group has no device that all of its ops allow, or an op's time is not finite.
std::shared_ptr<const Problem> make_problem(std::shared_ptr<const Graph> graph, std::shared_ptr<const Machine> machine,
                                            const ProblemOptions& options = {});

/// Throws PlacementError unless the placement has a known and allowed device for each group.
void check_placement(const Problem& problem, std::span<const DeviceId> placement);

/// Everything on one device; groups that may not be there go to the fastest device that they allow.
Placement single_device_placement(const Problem& problem, DeviceId device);
/// The same for the device for which all ops together take the least time.
Placement single_device_placement(const Problem& problem);

}  // namespace placewright
