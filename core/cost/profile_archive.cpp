// SPDX-License-Identifier: MIT
#include "core/cost/profile_archive.hpp"

#include <algorithm>
#include <array>

#include "core/graph/gradients.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

/// Attributes that name what an op holds, and do not change what it does.
constexpr std::array<std::string_view, 5> kNames{"parameters", "parameter_bytes", "parameter_shapes",
                                                 "buffers", "name"};

std::string tensor_text(const Tensor& tensor) {
    std::string text(to_string(tensor.dtype));
    if (!tensor.shape) return text + ' ' + std::to_string(tensor.bytes) + " bytes";
    text += '[';
    for (std::size_t k = 0; k < tensor.shape->size(); ++k) {
        if (k > 0) text += ',';
        text += std::to_string((*tensor.shape)[k]);
    }
    return text + ']';
}

std::string tensors_text(const std::vector<std::string>& tensors) {
    std::string text;
    for (std::size_t k = 0; k < tensors.size();) {
        // Steps of a sequence are many alike.
        std::size_t alike = 1;
        while (k + alike < tensors.size() && tensors[k + alike] == tensors[k]) ++alike;
        if (!text.empty()) text += ", ";
        if (alike > 1) text += std::to_string(alike) + " x ";
        text += tensors[k];
        k += alike;
    }
    return text;
}

/// Kinds that draw random numbers or take means over the batch in training alone.
bool differs_in_inference(const Op& op) {
    return op.kind == "batch_norm" || op.kind.find("dropout") != std::string::npos;
}

}  // namespace

std::string op_signature(const Graph& graph, OpId id, const std::vector<bool>& needed, bool inference) {
    const Op& op = graph.op(id);
    std::string text = op.kind;
    for (const auto& [key, value] : op.attributes) {
        if (std::ranges::find(kNames, key) != kNames.end()) continue;
        text += ' ' + key + '=' + value;
    }
    std::vector<std::string> read, written;
    std::size_t gradients = 0, summed = 0;
    for (const TensorRef& input : op.inputs) {
        read.push_back(tensor_text(graph.op(input.op).outputs[input.output]));
        gradients += carries_gradient(graph, needed, input) ? 1 : 0;
    }
    for (const Tensor& output : op.outputs) written.push_back(tensor_text(output));
    if (needed[id]) {
        for (const OpId reader : graph.consumers(id)) {
            for (const TensorRef& input : graph.op(reader).inputs)
                summed += input.op == id && carries_gradient(graph, needed, input) && needed[reader] ? 1 : 0;
        }
    }
    text += " (" + tensors_text(read) + ") -> " + tensors_text(written);
    if (op.parameter_bytes > 0) text += " +" + std::to_string(op.parameter_bytes);
    text += " d" + std::to_string(gradients) + " r" + std::to_string(summed);
    return inference && differs_in_inference(op) ? text + " inference" : text;
}

std::string op_signature(const Graph& graph, OpId op, bool inference) {
    return op_signature(graph, op, needs_gradient(graph), inference);
}

std::string update_signature(const Op& op, double states) {
    return "update of " + std::to_string(op.parameter_bytes) + " bytes of " +
           std::string(to_string(parameter_type(op))) + ", " + std::to_string(static_cast<int>(states)) +
           " states";
}

void ProfileArchive::merge(const ProfileArchive& other) {
    for (const auto& [model, profile] : other.devices) {
        DeviceProfile& own = devices[model];
        for (const auto& [signature, time] : profile.ops) {
            MeasuredTime& known = own.ops[signature];
            if (time.forward_s) known.forward_s = time.forward_s;
            if (time.backward_s || time.weight_gradient_s) {
                known.backward_s = time.backward_s;
                known.weight_gradient_s = time.weight_gradient_s;
            }
        }
        for (const auto& [signature, time_s] : profile.updates_s) own.updates_s[signature] = time_s;
        if (profile.overhead_s > 0) own.overhead_s = profile.overhead_s;
        if (!profile.source.empty() && own.source.find(profile.source) == std::string::npos)
            own.source += (own.source.empty() ? "" : "; ") + profile.source;
    }
    for (const auto& [models, times] : other.transfers) transfers[models] = times;
}

const DeviceProfile* ProfileArchive::find(const Device& device) const {
    const auto exact = devices.find(device.model);
    if (exact != devices.end()) return &exact->second;
    for (const auto& [model, profile] : devices) {
        if (is_called(device, model)) return &profile;
    }
    return nullptr;
}

Graph with_profile(const Graph& forward, const ProfileArchive& archive, const Machine& machine,
                   double optimizer_states, bool inference) {
    std::map<std::string, const DeviceProfile*> profiles;
    for (const Device& device : machine.devices()) profiles[device.model] = archive.find(device);
    if (forward.training() == Training::explicit_) return forward;
    const std::vector<bool> needed = needs_gradient(forward);
    GraphBuilder builder(forward.name(), forward.batch(), forward.training());
    for (OpId id = 0; id < forward.size(); ++id) {
        Op op = forward.op(id);
        const std::string signature = op_signature(forward, id, needed, inference),
                          update = update_signature(op, optimizer_states);
        for (const auto& [model, profile] : profiles) {
            if (profile == nullptr) continue;
            const double overhead_s = profile->overhead_s;
            const auto found = profile->ops.find(signature);
            if (found != profile->ops.end()) {
                MeasuredTime time = found->second;
                if (time.forward_s) *time.forward_s += overhead_s;
                // One for the gradient of the inputs and one for that of the parameters.
                const bool two =
                    time.weight_gradient_s && time.backward_s && *time.backward_s > *time.weight_gradient_s;
                if (time.weight_gradient_s) *time.weight_gradient_s += overhead_s;
                if (time.backward_s) *time.backward_s += two ? 2 * overhead_s : overhead_s;
                op.time_s[model] = time;
            }
            const auto updated = profile->updates_s.find(update);
            if (updated != profile->updates_s.end()) op.time_s[model].update_s = updated->second + overhead_s;
        }
        builder.add(std::move(op));
    }
    return builder.build();
}

Machine with_profile(const Machine& machine, const ProfileArchive& archive) {
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    std::vector<const TransferProfile*> found(channels.size());
    std::vector<bool> differ(channels.size());
    for (const Route& route : machine.routes()) {
        const TransferProfile* times = nullptr;
        for (const auto& [models, profile] : archive.transfers) {
            if (is_called(machine.device(route.from), models.first) &&
                is_called(machine.device(route.to), models.second))
                times = &profile;
        }
        for (const ChannelId channel : route.channels) {
            if (route.channels.size() > 1 || times == nullptr ||
                (found[channel] != nullptr && *found[channel] != *times)) {
                differ[channel] = true;
            } else {
                found[channel] = times;
            }
        }
    }
    for (std::size_t index = 0; index < channels.size(); ++index) {
        if (differ[index] || found[index] == nullptr) continue;
        const TransferProfile& times = *found[index];
        if (times.size() < 2) continue;
        // What a transfer of nothing takes: the smallest that was measured is one.
        const double latency_s = times.front().second;
        std::vector<std::pair<double, double>> speeds;
        for (const auto& [bytes, time_s] : times) {
            // Times that hardly exceed the latency say nothing of the bandwidth.
            constexpr double kLeastExcess = 0.1;
            if (time_s <= (1 + kLeastExcess) * latency_s) continue;
            speeds.emplace_back(bytes, bytes / std::max(time_s - latency_s, 1e-9));
        }
        if (speeds.empty()) continue;
        Channel& channel = channels[index];
        channel.latency_s = latency_s;
        channel.bandwidth = std::ranges::max(speeds, {}, &std::pair<double, double>::second).second;
        channel.efficiency = 1;
        channel.efficiency_by_bytes.clear();
        for (const auto& [bytes, speed] : speeds)
            channel.efficiency_by_bytes.emplace_back(bytes, speed / channel.bandwidth);
    }
    return {machine.name(),
            {machine.devices().begin(), machine.devices().end()},
            std::move(channels),
            {machine.routes().begin(), machine.routes().end()},
            machine.crossing()};
}

}  // namespace placewright
