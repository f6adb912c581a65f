// SPDX-License-Identifier: MIT
#include "core/cost/cost_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/sorted.hpp"
#include "core/cost/device_time.hpp"
#include "core/cost/exprimo_cost.hpp"
#include "core/cost/op_work.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/training.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

double tensor_bytes(const Graph& graph, const TensorRef& ref) {
    return static_cast<double>(graph.op(ref.op).outputs[ref.output].bytes);
}

/// A derived op that produces the gradient of its forward op's parameters.
bool is_weight_gradient(const Graph& graph, OpId id) {
    const auto consumers = graph.consumers(id);
    return std::ranges::any_of(consumers,
                               [&](OpId consumer) { return graph.op(consumer).phase == Phase::update; });
}

/// Traffic of a look-up: it reads the indices, and of its table no more than it returns. The table is what
/// the op holds, or its largest input: files have table and indices in either order, and small indices may be
/// constants that the op holds.
OpTraffic lookup_traffic(const Graph& graph, const Op& op) {
    OpTraffic traffic;
    for (const Tensor& output : op.outputs) traffic.written_bytes += static_cast<double>(output.bytes);
    double most = 0;
    for (const TensorRef& input : op.inputs) {
        traffic.read_bytes += tensor_bytes(graph, input);
        most = std::max(most, tensor_bytes(graph, input));
    }
    const Op& holder = op.forward_op == kInvalidOp ? op : graph.op(op.forward_op);
    const double held =
        static_cast<double>(holder.parameter_bytes) + static_cast<double>(holder.resident_bytes);
    if (op.kind == "embedding") {
        // One whose file does not say the table's size has its indices as the only input.
        if (most > held && op.inputs.size() > 1) traffic.read_bytes -= most;
        traffic.read_bytes += traffic.written_bytes;
    } else {
        const double table = std::max(held, most);
        traffic.read_bytes += held - table + std::min(table, traffic.written_bytes);
    }
    return traffic;
}

/// Bytes of the zeros that a padded convolution reads around its input.
double padding_bytes(const Graph& graph, const Op& op) {
    if (op.kind != "conv2d" || !runs_forward(op) || op.inputs.empty()) return 0;
    const auto padding = integer_attribute(op, "padding");
    const Tensor& input = graph.op(op.inputs[0].op).outputs[op.inputs[0].output];
    if (!padding || padding->empty() || !input.shape || input.shape->size() != 4) return 0;
    const auto height = static_cast<double>((*input.shape)[2]);
    const auto width = static_cast<double>((*input.shape)[3]);
    const double padded = (height + 2.0 * static_cast<double>(padding->front())) *
                          (width + 2.0 * static_cast<double>(padding->back()));
    return static_cast<double>(input.bytes) * (padded / (height * width) - 1.0);
}

/// Seconds that an op would take at the device's ceilings.
struct Ceilings {
    double flops_per_s = 0;
    double compute_s = 0;
    double memory_s = 0;
    double gradients_s = 0;  ///< of the gradients beside the op's own derivative (GradientWork)
    double launches = 0;
};

Ceilings at_ceilings(const Graph& graph, OpId id, const Device& device, double optimizer_states) {
    const Op& op = graph.op(id);
    const auto by_kind = device.efficiency_by_kind.find(op.kind);
    Ceilings result;
    result.flops_per_s = device.peak_flops *
                         (by_kind != device.efficiency_by_kind.end() ? by_kind->second : device.efficiency);
    const double bytes_per_s = device.memory_bandwidth * device.memory_efficiency.value_or(device.efficiency);
    // An addition to the gradient of shared parameters is an op whose traffic it is.
    const bool sums = op.forward_op != kInvalidOp && kind_info(graph.op(op.forward_op).kind).parameter;
    const GradientWork beside = sums ? GradientWork{} : gradient_work(graph, id);
    result.gradients_s = (beside.sum_bytes + beside.view_bytes) / bytes_per_s;
    result.launches = beside.sum_kernels + beside.view_kernels;
    if (!computes(op)) return result;
    result.launches += 1;
    result.compute_s = op.flops / result.flops_per_s;
    const OpTraffic traffic = op_traffic(graph, id, optimizer_states);
    double bytes = traffic.read_bytes + traffic.written_bytes;
    // The derivative itself reads the sum.
    bytes += beside.summed_bytes - beside.received_bytes;
    result.memory_s = bytes / bytes_per_s;
    return result;
}

/// The times of a model that knows one device at a time.
template <double (*time_s)(const Graph&, OpId, const Device&, double)>
void times_of(const Graph& graph, OpId op, std::span<const Device> devices, double optimizer_states,
              std::span<double> times_s) {
    for (std::size_t i = 0; i < devices.size(); ++i)
        times_s[i] = time_s(graph, op, devices[i], optimizer_states);
}

bool same_speed(const Device& a, const Device& b) {
    return a.known && a.known == b.known && a.peak_flops == b.peak_flops &&
           a.memory_bandwidth == b.memory_bandwidth && a.launch_overhead_s == b.launch_overhead_s &&
           a.uniform_efficiency == b.uniform_efficiency && a.efficiency == b.efficiency && a.tf32 == b.tf32;
}

/// The work of the op is found once for all devices, and devices that are alike are asked once.
void roofline_times_s(const Graph& graph, OpId op, std::span<const Device> devices, double optimizer_states,
                      std::span<double> times_s) {
    std::optional<OpWork> work;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (i > 0 && same_speed(devices[i - 1], devices[i])) {
            times_s[i] = times_s[i - 1];
        } else if (devices[i].known) {
            if (!work) work = op_work(graph, op, optimizer_states);
            times_s[i] = device_time_s(*work, devices[i]);
        } else {
            times_s[i] = roofline_time_s(graph, op, devices[i], optimizer_states);
        }
    }
}

void measured_times_s(const Graph& graph, OpId op, std::span<const Device> devices, double optimizer_states,
                      std::span<double> times_s) {
    roofline_times_s(graph, op, devices, optimizer_states, times_s);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (const auto time_s = measured_time_s(graph.op(op), devices[i])) times_s[i] = *time_s;
    }
}

constexpr std::array<CostModel, 4> kModels{{
    {"roofline", "Roofline",
     "The larger of the times to compute and to move bytes, with ceilings by class of op where the catalogue "
     "of devices knows the model, plus the launch overhead.",
     roofline_times_s, training_graph},
    {"paleo", "Paleo",
     "The sum of the times to compute and to move bytes, as in Paleo and Exprimo, with all gradients.",
     times_of<paleo_time_s>, training_graph},
    {"exprimo", "Exprimo",
     "Exprimo's own times and backward ops, without weight gradients, for comparison with its results.",
     times_of<exprimo_time_s>, exprimo_training_graph, true},
    {"measured", "Measured",
     "The times in the network file for the device's model; the roofline if there are none.",
     measured_times_s, training_graph},
}};

}  // namespace

std::span<const CostModel> cost_models() {
    return kModels;
}

const CostModel* find_cost_model(std::string_view id) {
    const auto* found = std::ranges::find(kModels, id, &CostModel::id);
    return found == kModels.end() ? nullptr : found;
}

OpTraffic op_traffic(const Graph& graph, OpId id, double optimizer_states) {
    const Op& op = graph.op(id);
    OpTraffic traffic;
    if (looks_up(op.kind) && runs_forward(op) && !op.read_bytes) return lookup_traffic(graph, op);
    std::vector<TensorRef> inputs = op.inputs;
    std::ranges::sort(inputs, {}, [](const TensorRef& ref) { return std::pair(ref.op, ref.output); });
    erase_repeats(inputs);
    for (const TensorRef& input : inputs) traffic.read_bytes += tensor_bytes(graph, input);
    for (const Tensor& output : op.outputs) traffic.written_bytes += static_cast<double>(output.bytes);

    const bool derived = op.forward_op != kInvalidOp;
    const Op& forward = derived ? graph.op(op.forward_op) : op;
    const auto parameters = static_cast<double>(forward.parameter_bytes);
    if (op.read_bytes && runs_forward(op)) {
        traffic.read_bytes += static_cast<double>(*op.read_bytes);
        return traffic;
    }
    if (op.phase == Phase::update) {
        // Gradient and parameters in, parameters out: Paleo's three passes over the weights. Each state takes
        // two more.
        traffic.read_bytes += parameters * (1 + optimizer_states);
        traffic.written_bytes += parameters * (1 + optimizer_states);
    } else if (!derived || (!is_weight_gradient(graph, id) && !kind_info(forward.kind).parameter)) {
        traffic.read_bytes += std::max(parameters, static_cast<double>(forward.read_bytes.value_or(0)));
    }
    return traffic;
}

double roofline_time_s(const Graph& graph, OpId id, const Device& device, double optimizer_states) {
    if (device.known) return device_time_s(op_work(graph, id, optimizer_states), device);
    const Ceilings ceilings = at_ceilings(graph, id, device, optimizer_states);
    const double saturation_s =
        ceilings.compute_s > 0 ? device.half_efficiency_flops / ceilings.flops_per_s : 0;
    return ceilings.launches * device.launch_overhead_s +
           std::max(ceilings.compute_s + saturation_s, ceilings.memory_s) + ceilings.gradients_s;
}

double device_share(const Graph& graph, OpId id, const Device& device, double optimizer_states) {
    if (device.known) return device_busy_share(op_work(graph, id, optimizer_states), device);
    const Ceilings ceilings = at_ceilings(graph, id, device, optimizer_states);
    if (ceilings.launches == 0) return 0;
    const double busy_s = std::max(ceilings.compute_s, ceilings.memory_s) + ceilings.gradients_s;
    return busy_s > 0 ? busy_s / roofline_time_s(graph, id, device, optimizer_states) : 1;
}

double paleo_time_s(const Graph& graph, OpId id, const Device& device, double optimizer_states) {
    const Op& op = graph.op(id);
    if (!computes(op)) return 0;
    const OpTraffic traffic = op_traffic(graph, id, optimizer_states);
    const double bytes = traffic.read_bytes + traffic.written_bytes + padding_bytes(graph, op);
    return op.flops / (device.peak_flops * device.efficiency) +
           bytes / (device.memory_bandwidth * device.efficiency);
}

bool computes(const Op& op) {
    return op.phase == Phase::update || kind_info(op.kind).computes;
}

std::optional<double> measured_time_s(const Op& op, const Device& device) {
    if (op.time_s.empty()) return {};
    const auto of_phase = [&](const MeasuredTime& measured) {
        if (op.phase == Phase::update) return measured.update_s;
        return op.phase == Phase::forward ? measured.forward_s : measured.backward_s;
    };
    const auto entry = op.time_s.find(device.model);
    if (entry != op.time_s.end() && of_phase(entry->second)) return of_phase(entry->second);
    if (!device.known) return {};
    // The file may call the model as the driver does.
    for (const auto& [model, measured] : op.time_s) {
        if (names(*device.known, model) && of_phase(measured)) return of_phase(measured);
    }
    return {};
}

double transfer_time_s(const Channel& channel, double bytes) {
    double efficiency = channel.efficiency;
    const auto& table = channel.efficiency_by_bytes;
    if (!table.empty()) {
        const auto above = std::ranges::upper_bound(table, bytes, {}, &std::pair<double, double>::first);
        if (above == table.begin()) {
            efficiency = table.front().second;
        } else if (above == table.end()) {
            efficiency = table.back().second;
        } else {
            const auto& [low_bytes, low] = *(above - 1);
            const auto& [high_bytes, high] = *above;
            efficiency = low + (high - low) * std::log(bytes / low_bytes) / std::log(high_bytes / low_bytes);
        }
    }
    return channel.latency_s + bytes / (channel.bandwidth * efficiency);
}

}  // namespace placewright
