// SPDX-License-Identifier: MIT
#include "core/search/parts/memory_estimate.hpp"

#include <algorithm>

#include "core/sim/memory_rules.hpp"

namespace placewright {

MemoryEstimate::MemoryEstimate(const Problem& problem, double share)
    : problem_(problem),
      share_(share),
      kept_(problem.tensors, false),
      kept_bytes_(problem.groups, 0),
      transient_bytes_(problem.groups, 0),
      saved_inputs_(problem.groups),
      device_of_(problem.groups, kInvalidDevice),
      held_bytes_(problem.devices, 0),
      largest_bytes_(problem.devices, 0),
      copied_(std::size_t{problem.tensors} * problem.devices, false) {
    const Graph& graph = *problem.graph;
    const bool keeps_all = !readers_release(problem);
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        if (graph.op(problem.producer[tensor]).phase != Phase::forward) continue;
        kept_[tensor] = keeps_all;
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
            if (graph.op(problem.consumer[i]).phase == Phase::backward) kept_[tensor] = true;
        }
    }
    // The gradients of a group's parameters appear as its activations are freed.
    std::vector<double> activations(problem.groups), gradients(problem.groups);
    for (OpId op = 0; op < problem.ops; ++op) {
        const GroupId group = problem.grouping.group_of[op];
        kept_bytes_[group] += problem.resident_bytes[op];
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
            if (problem.tensor_stays(tensor)) gradients[group] += problem.output_bytes[tensor];
        }
        double transient = problem.workspace_bytes[op];
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
            (kept_[tensor] ? activations[group] : transient) += problem.output_bytes[tensor];
        }
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const TensorId tensor = problem.input[i];
            if (!kept_[tensor]) transient += problem.output_bytes[tensor];
            if (kept_[tensor] && graph.op(op).phase == Phase::backward)
                saved_inputs_[group].push_back(tensor);
        }
        transient_bytes_[group] = std::max(transient_bytes_[group], transient);
    }
    for (GroupId group = 0; group < problem.groups; ++group)
        kept_bytes_[group] += std::max(activations[group], gradients[group]);
    for (std::vector<TensorId>& inputs : saved_inputs_) {
        std::ranges::sort(inputs);
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    }
}

bool MemoryEstimate::needs_copy(TensorId tensor, DeviceId device) const {
    const DeviceId from = device_of_[problem_.grouping.group_of[problem_.producer[tensor]]];
    return kept_[tensor] && from != kInvalidDevice && from != device &&
           !copied_[std::size_t{tensor} * problem_.devices + device];
}

double MemoryEstimate::room_bytes(GroupId group, DeviceId device) const {
    double copies = 0;
    for (const TensorId tensor : saved_inputs_[group]) {
        if (needs_copy(tensor, device)) copies += problem_.copy_bytes[tensor];
    }
    return limit_bytes(device) - held_bytes_[device] - kept_bytes_[group] - copies -
           std::max(largest_bytes_[device], transient_bytes_[group]);
}

void MemoryEstimate::add(GroupId group, DeviceId device) {
    for (const TensorId tensor : saved_inputs_[group]) {
        if (!needs_copy(tensor, device)) continue;
        copied_[std::size_t{tensor} * problem_.devices + device] = true;
        held_bytes_[device] += problem_.copy_bytes[tensor];
    }
    device_of_[group] = device;
    held_bytes_[device] += kept_bytes_[group];
    largest_bytes_[device] = std::max(largest_bytes_[device], transient_bytes_[group]);
}

DeviceId first_with_room(const MemoryEstimate& memory, GroupId group, std::span<const DeviceId> choices) {
    const auto roomy =
        std::ranges::find_if(choices, [&](DeviceId device) { return memory.fits(group, device); });
    if (roomy != choices.end()) return *roomy;
    return *std::ranges::max_element(choices, {},
                                     [&](DeviceId device) { return memory.room_bytes(group, device); });
}

}  // namespace placewright
