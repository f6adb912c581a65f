// SPDX-License-Identifier: MIT
#include "core/cost/problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/infinity.hpp"
#include "core/base/units.hpp"
#include "core/cost/applied_constraints.hpp"
#include "core/cost/device_time.hpp"
#include "core/cost/profile_archive.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/training.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 2> kMemoryModels{"training", "exprimo"};
constexpr std::array<std::string_view, 2> kOffloads{"compute", "stream"};

/// The machine with the efficiencies, the crossing and the precision of products of the options.
Machine with_options(const Machine& machine, const ProblemOptions& options) {
    const CostOptions& cost = options.cost;
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    for (Device& device : devices) {
        if (options.precision == Precision::tf32) device.tf32 = true;
        if (options.precision == Precision::fp32) device.tf32 = false;
        if (!cost.compute_efficiency) continue;
        device.efficiency = *cost.compute_efficiency;
        device.uniform_efficiency = device.known != nullptr;
        device.efficiency_by_kind.clear();
        device.memory_efficiency.reset();
        device.half_efficiency_flops = 0;
    }
    for (Channel& channel : channels) {
        if (!cost.channel_efficiency) continue;
        channel.efficiency = *cost.channel_efficiency;
        channel.efficiency_by_bytes.clear();
    }
    std::vector<Route> routes(machine.routes().begin(), machine.routes().end());
    if (cost.model->first_channel_alone) {
        for (Route& route : routes) route.channels.resize(1);
    }
    return Machine(machine.name(), std::move(devices), std::move(channels), std::move(routes),
                   options.crossing.value_or(machine.crossing()));
}

/// Whether the output of an op is its parameters, which are resident.
bool is_parameter(const Op& op) {
    return kind_info(op.kind).parameter && op.phase == Phase::forward && op.parameter_bytes > 0;
}

/// Whether the op's first output may overwrite its first input: their elements correspond, and no other op
/// reads the input or the tensor that it is a view of.
bool overwrites_input(const Problem& problem, OpId id, const ProblemOptions& options) {
    const Op& op = problem.graph->op(id);
    const bool asked = op.in_place || (options.in_place && kind_info(op.kind).elementwise);
    if (!asked || !runs_forward(op) || op.inputs.empty() || op.outputs.empty()) return false;
    const TensorId input = problem.output_begin[op.inputs.front().op] + op.inputs.front().output;
    if (problem.tensor_bytes[input] != problem.tensor_bytes[problem.output_begin[id]]) return false;
    for (TensorId tensor = input; tensor != kNoTensor; tensor = problem.alias_of[tensor]) {
        if (problem.consumer_begin[tensor + 1] - problem.consumer_begin[tensor] != 1) return false;
        if (is_parameter(problem.graph->op(problem.producer[tensor]))) return false;
    }
    return true;
}

/// The backward of a view of all elements is a view of its only gradient.
bool views_gradient(const Problem& problem, OpId id) {
    const Op& op = problem.graph->op(id);
    return kind_info(op.kind).view && op.phase == Phase::backward && !op.recomputes &&
           op.inputs.size() == 1 && !op.outputs.empty() &&
           problem.tensor_bytes[problem.output_begin[op.inputs.front().op] + op.inputs.front().output] ==
               problem.tensor_bytes[problem.output_begin[id]];
}

void fill_aliases(Problem& problem, const ProblemOptions& options) {
    problem.alias_of.assign(problem.tensors, kNoTensor);
    if (problem.memory != MemoryModel::training) return;
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        if (op.inputs.empty()) continue;
        const bool view = kind_info(op.kind).view && runs_forward(op);
        const std::size_t outputs = view ? op.outputs.size()
                                    : overwrites_input(problem, id, options) || views_gradient(problem, id)
                                        ? 1
                                        : 0;
        for (std::size_t k = 0; k < outputs; ++k) {
            problem.alias_of[problem.output_begin[id] + k] =
                problem.output_begin[op.inputs.front().op] + op.inputs.front().output;
        }
    }
}

void fill_output_bytes(Problem& problem) {
    problem.output_bytes = problem.copy_bytes;
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        const bool held_elsewhere = problem.alias_of[tensor] != kNoTensor ||
                                    is_parameter(problem.graph->op(problem.producer[tensor]));
        if (held_elsewhere) problem.output_bytes[tensor] = 0;
    }
}

/// Gradients that derived update ops read stay, unless their sum over the batches does (accumulated_bytes).
/// Those that come from another op, the one reader of parameters that are a tensor, may be on another device:
/// they do not, unless that reader is a cast beside the parameters.
void fill_stays(Problem& problem, const ProblemOptions& options) {
    if (options.memory != MemoryModel::training || options.accumulate_gradients ||
        options.optimizer_in_backward)
        return;
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        if (op.phase != Phase::update || op.forward_op == kInvalidOp) continue;
        for (const TensorRef& input : op.inputs) {
            const TensorId tensor = problem.output_begin[input.op] + input.output;
            const OpId of = problem.graph->op(input.op).forward_op;
            const bool own = of == op.forward_op || (of != kInvalidOp && problem.graph->op(of).autocast);
            if (!own || problem.alias_of[tensor] != kNoTensor) continue;
            problem.stays.resize(problem.tensors);
            problem.stays[tensor] = true;
        }
    }
}

/// Number of positions of a tensor [batch, channels, extents...], over all its batches.
double positions(const Tensor& tensor) {
    auto count = static_cast<double>(tensor.shape->front());
    for (std::size_t i = 2; i < tensor.shape->size(); ++i) count *= static_cast<double>((*tensor.shape)[i]);
    return count;
}

/// Bytes of a convolution's unfolded input (Chellapilla, Puri, Simard: High performance convolutional neural
/// networks, 2006): kernel elements times input channels for each output position. A transposed convolution
/// is the reverse: kernel elements times output channels for each input position. A kernel of one element
/// that covers every position has nothing to unfold.
double unfolded_bytes(const Graph& graph, const Op& op) {
    const auto kernel = integer_attribute(op, "kernel");
    if (!op.kind.starts_with("conv") || !kernel || op.inputs.empty() || op.outputs.empty()) return 0;
    const Tensor* unfolded = &graph.op(op.inputs.front().op).outputs[op.inputs.front().output];
    const Tensor* folded = &op.outputs.front();
    if (!unfolded->shape || !folded->shape || unfolded->shape->size() < 3 || folded->shape->size() < 3)
        return 0;
    if (op.kind.starts_with("conv_transpose")) std::swap(unfolded, folded);
    // A single number is the extent in every direction.
    double elements = 1;
    for (std::size_t i = 0; i + 2 < unfolded->shape->size(); ++i) {
        elements *= std::max(0.0, static_cast<double>((*kernel)[std::min(i, kernel->size() - 1)]));
    }
    if (elements == 1 && positions(*unfolded) == positions(*folded)) return 0;
    return elements * static_cast<double>((*unfolded->shape)[1]) * positions(*folded) *
           static_cast<double>(bytes_per_element(folded->dtype));
}

/// The workspace of an op; gradients of a convolution unfold as the convolution does.
double workspace_bytes(const Graph& graph, const Op& op, const ProblemOptions& options) {
    if (options.memory != MemoryModel::training) return 0;
    if (op.workspace_bytes > 0 || options.workspace_limit_bytes == 0 || op.phase == Phase::update)
        return static_cast<double>(op.workspace_bytes);
    const Op& forward = op.forward_op == kInvalidOp ? op : graph.op(op.forward_op);
    return std::floor(std::min(unfolded_bytes(graph, forward), options.workspace_limit_bytes));
}

/// The gradient that an update op reads: that of its forward op's parameters, or if the graph already
/// contains update ops, their inputs from backward ops.
struct Gradient {
    double bytes = 0;
    double elements = 0;
};

Gradient gradient_of_update(const Graph& graph, const Op& op) {
    if (op.forward_op != kInvalidOp) {
        const Op& forward = graph.op(op.forward_op);
        const auto bytes = static_cast<double>(forward.parameter_bytes);
        return {bytes, bytes / static_cast<double>(bytes_per_element(parameter_type(forward)))};
    }
    Gradient gradient;
    for (auto input = op.inputs.begin(); input != op.inputs.end(); ++input) {
        if (graph.op(input->op).phase != Phase::backward ||
            std::find(op.inputs.begin(), input, *input) != input)
            continue;
        const Tensor& tensor = graph.op(input->op).outputs[input->output];
        gradient.bytes += static_cast<double>(tensor.bytes);
        gradient.elements +=
            static_cast<double>(tensor.bytes) / static_cast<double>(bytes_per_element(tensor.dtype));
    }
    if (gradient.bytes == 0) {
        throw PlacementError(
            "op \"" + op.name +
            "\" updates parameters but reads no gradient from a backward op, so gradients "
            "cannot be accumulated; add the gradient to its inputs or turn accumulation off");
    }
    return gradient;
}

/// Seconds to add a batch's gradient to those of earlier batches: per parameter one addition, two values read
/// and one written.
double accumulation_s(const Op& op, const Graph& graph, const Device& device) {
    if (op.phase != Phase::update) return 0;
    const Gradient gradient = gradient_of_update(graph, op);
    if (device.known) {
        OpWork work;
        work.work_class = WorkClass::update;
        work.bytes = 3 * gradient.bytes;
        work.kernels = 1;
        return device_time_s(work, device);
    }
    return device.launch_overhead_s +
           std::max(gradient.elements / (device.efficiency * device.peak_flops),
                    3 * gradient.bytes /
                        (device.memory_efficiency.value_or(device.efficiency) * device.memory_bandwidth));
}

/// The longest time of an op or a transfer: the sum over as many of them as there can be stays finite.
constexpr double kLongestS = 1e200;

/// Rounds all seconds to multiples of a tick.
void round_to_ticks(Problem& problem) {
    double fastest_s = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        const auto first =
            problem.op_time_s.begin() + static_cast<std::ptrdiff_t>(std::size_t{op} * problem.devices);
        fastest_s += *std::min_element(first, first + problem.devices);
    }
    if (fastest_s == 0)
        fastest_s = std::accumulate(problem.transfer_s.begin(), problem.transfer_s.end(), 0.0);
    // The rounding error is negligible, and sums stay exact up to 256 times this time.
    problem.tick_s = fastest_s > 0 ? std::ldexp(1.0, std::max(std::ilogb(fastest_s) + 1 + 8 - 53, -1000)) : 0;
    if (problem.tick_s == 0) return;
    for (auto* const table :
         {&problem.op_time_s, &problem.transfer_s, &problem.accumulate_s, &problem.channel_latency_s}) {
        for (double& seconds : *table) {
            // Longer times are multiples already, and their number of ticks might not be finite.
            if (const double ticks = seconds / problem.tick_s; ticks < 0x1p53)
                seconds = std::nearbyint(ticks) * problem.tick_s;
        }
    }
}

[[noreturn]] void fail_uncountable(const Op& op, const Device& device) {
    throw PlacementError("op \"" + op.name + "\" would take longer than can be simulated on device \"" +
                         device.name + "\"; its FLOPs or bytes are too large, or the device is too slow");
}

/// Fills the tables by device except the times of ops. `states`: values that the optimizer keeps per
/// parameter.
void fill_devices(Problem& problem, const ProblemOptions& options, double states) {
    const auto devices = problem.machine->devices();
    for (const Device& device : devices) {
        const double context = context_bytes(options, device);
        if (context >= device.memory_bytes) {
            throw PlacementError("device \"" + device.name + "\" has " + format_bytes(device.memory_bytes) +
                                 " of memory, of which the framework's context takes " +
                                 format_bytes(context) +
                                 "; choose a smaller context memory, or a device with more memory");
        }
        problem.memory_limit_bytes.push_back((device.memory_bytes - context) * options.usable_memory);
    }
    const bool streams =
        std::ranges::any_of(devices, [](const Device& device) { return device.streams > 1; });
    problem.accumulates = options.accumulate_gradients;
    for (OpId op = 0; op < problem.ops; ++op) {
        for (const Device& device : devices) {
            // Rounded up to fractions whose sums are exact.
            if (streams)
                problem.op_share.push_back(std::ldexp(
                    std::ceil(std::ldexp(device_share(*problem.graph, op, device, states), 20)), -20));
            if (!problem.accumulates) continue;
            const double time_s = accumulation_s(problem.graph->op(op), *problem.graph, device);
            if (!(time_s <= kLongestS)) fail_uncountable(problem.graph->op(op), device);
            problem.accumulate_s.push_back(time_s);
        }
    }
}

void fill_tensors(Problem& problem) {
    const Graph& graph = *problem.graph;
    problem.output_begin.assign(problem.ops + 1, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        problem.output_begin[op + 1] =
            problem.output_begin[op] + static_cast<TensorId>(graph.op(op).outputs.size());
    }
    problem.tensors = problem.output_begin.back();
    problem.tensor_bytes.reserve(problem.tensors);
    problem.producer.reserve(problem.tensors);
    for (OpId op = 0; op < problem.ops; ++op) {
        for (const Tensor& tensor : graph.op(op).outputs) {
            problem.tensor_bytes.push_back(static_cast<double>(tensor.bytes));
            problem.copy_bytes.push_back(allocated_bytes(problem.allocator, problem.tensor_bytes.back()));
            problem.producer.push_back(op);
        }
    }

    std::vector<TensorId> reads;
    std::vector<OpId> last_reader(problem.tensors, kInvalidOp);
    problem.input_begin.assign(1, 0);
    problem.consumer_begin.assign(problem.tensors + 1, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        reads.clear();
        for (const TensorRef& ref : graph.op(op).inputs) {
            const TensorId tensor = problem.output_begin[ref.op] + ref.output;
            if (std::exchange(last_reader[tensor], op) != op) reads.push_back(tensor);
        }
        for (const TensorId tensor : reads) ++problem.consumer_begin[tensor + 1];
        problem.input.insert(problem.input.end(), reads.begin(), reads.end());
        problem.input_begin.push_back(static_cast<std::uint32_t>(problem.input.size()));
        if (reads.empty()) problem.sources.push_back(op);
    }
    std::partial_sum(problem.consumer_begin.begin(), problem.consumer_begin.end(),
                     problem.consumer_begin.begin());
    problem.consumer.resize(problem.input.size());
    std::vector<std::uint32_t> next(problem.consumer_begin.begin(), problem.consumer_begin.end() - 1);
    for (OpId op = 0; op < problem.ops; ++op) {
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i)
            problem.consumer[next[problem.input[i]]++] = op;
    }
}

void fill_routes(Problem& problem, const Machine& machine) {
    problem.route_begin.assign(1, 0);
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; to < problem.devices; ++to) {
            const auto route = machine.route(from, to);
            problem.route_channel.insert(problem.route_channel.end(), route.begin(), route.end());
            problem.route_begin.push_back(static_cast<std::uint32_t>(problem.route_channel.size()));
        }
    }
    std::vector<Channel> classes;
    problem.crossing = machine.crossing();
    for (Channel channel : machine.channels()) {
        if (channel.latency_s > kLongestS) {
            throw PlacementError("a message on channel \"" + channel.name +
                                 "\" would take longer than can be simulated; its latency is too large");
        }
        problem.channel_latency_s.push_back(channel.latency_s);
        channel.name.clear();
        channel.model.clear();
        const auto known = std::ranges::find(classes, channel);
        problem.channel_class.push_back(static_cast<std::uint32_t>(known - classes.begin()));
        if (known == classes.end()) classes.push_back(std::move(channel));
    }
    problem.channel_classes = static_cast<std::uint32_t>(classes.size());
    problem.transfer_s.reserve(std::size_t{problem.tensors} * classes.size());
    for (const Op& op : problem.graph->ops()) {
        for (const Tensor& tensor : op.outputs) {
            for (const Channel& channel : classes) {
                const double time_s = tensor.transfer_s
                                          ? *tensor.transfer_s
                                          : transfer_time_s(channel, static_cast<double>(tensor.bytes));
                if (!(time_s <= kLongestS)) {
                    throw PlacementError(
                        "the output of op \"" + op.name +
                        "\" would take longer to send than can be simulated; it is too large, "
                        "or a channel is too slow");
                }
                problem.transfer_s.push_back(time_s);
            }
        }
    }
}

/// Adds the tensors of what ops on CPUs read, which a device computes with once they have come.
void stream_weights(Problem& problem, DeviceId to) {
    const Machine& machine = *problem.machine;
    problem.streams_to = to;
    problem.streamed.assign(problem.ops, kNoTensor);
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        const auto bytes = static_cast<double>(op.read_bytes.value_or(op.parameter_bytes));
        if (bytes == 0) continue;
        problem.streamed[id] = static_cast<TensorId>(problem.tensor_bytes.size());
        problem.tensor_bytes.push_back(bytes);
        problem.copy_bytes.push_back(allocated_bytes(problem.allocator, bytes));
        problem.producer.push_back(id);
        problem.consumer.push_back(id);
        problem.consumer_begin.push_back(static_cast<std::uint32_t>(problem.consumer.size()));
        for (std::uint32_t speed = 0; speed < problem.channel_classes; ++speed) {
            const auto channel =
                std::ranges::find(problem.channel_class, speed) - problem.channel_class.begin();
            const double time_s =
                transfer_time_s(machine.channels()[static_cast<std::size_t>(channel)], bytes);
            if (!(time_s <= kLongestS)) fail_uncountable(op, machine.device(to));
            problem.transfer_s.push_back(time_s);
        }
    }
    for (DeviceId from = 0; from < problem.devices; ++from) {
        if (problem.runs_on(from) == from) continue;
        for (OpId op = 0; op < problem.ops; ++op) {
            double copy_s = 0;
            for (const ChannelId channel : machine.route(from, to)) {
                if (problem.streamed[op] == kNoTensor) break;
                const double channel_s =
                    problem.transfer_s[std::size_t{problem.streamed[op]} * problem.channel_classes +
                                       problem.channel_class[channel]];
                copy_s = problem.crossing == Crossing::cut_through ? std::max(copy_s, channel_s)
                                                                   : copy_s + channel_s;
            }
            const std::size_t row = std::size_t{op} * problem.devices;
            problem.op_time_s[row + from] = std::max(problem.op_time_s[row + to], copy_s);
        }
    }
}

}  // namespace

std::optional<DeviceId> streaming_device(const Machine& machine) {
    const auto devices = machine.devices();
    const auto first = std::ranges::find(devices, DeviceKind::gpu, &Device::kind);
    const bool has_cpu = std::ranges::find(devices, DeviceKind::cpu, &Device::kind) != devices.end();
    if (first == devices.end() || !has_cpu) return {};
    return static_cast<DeviceId>(first - devices.begin());
}

std::string_view to_string(Offload offload) {
    return kOffloads.at(static_cast<std::size_t>(offload));
}

std::optional<Offload> offload_from(std::string_view text) {
    const auto found = std::ranges::find(kOffloads, text);
    if (found == kOffloads.end()) return std::nullopt;
    return static_cast<Offload>(found - kOffloads.begin());
}

std::string_view to_string(MemoryModel model) {
    return kMemoryModels[static_cast<std::size_t>(model)];
}

std::optional<MemoryModel> memory_model_from(std::string_view text) {
    const auto* const found = std::ranges::find(kMemoryModels, text);
    if (found == kMemoryModels.end()) return {};
    return static_cast<MemoryModel>(found - kMemoryModels.begin());
}

double Problem::cache_bytes(OpId op) const {
    return caches * static_cast<double>(graph->op(op).resident_bytes);
}

double Problem::end_bytes(OpId op) const {
    double bytes = resident_bytes[op];
    for (TensorId tensor = output_begin[op]; tensor < output_begin[op + 1]; ++tensor) {
        if (tensor_stays(tensor)) bytes += output_bytes[tensor];
    }
    return bytes;
}

bool is_predicted(const Problem& problem, OpId op, DeviceId device) {
    if (problem.cost_model->id != "measured") return false;
    const Op& own = problem.graph->op(op);
    return computes(own) && !measured_time_s(own, problem.machine->device(device));
}

double Problem::group_time_s(GroupId group, DeviceId device) const {
    double sum = 0;
    for (const OpId op : grouping.members[group]) sum += time_s(op, device);
    return sum;
}

std::shared_ptr<const Problem> make_problem(std::shared_ptr<const Graph> graph,
                                            std::shared_ptr<const Machine> machine,
                                            const ProblemOptions& options) {
    auto problem = std::make_shared<Problem>();
    problem->network = problem->forward = std::move(graph);
    if (options.precision != Precision::as_given)
        problem->forward =
            std::make_shared<const Graph>(with_precision(*problem->network, options.precision));
    const bool training_step = !options.inference && problem->forward->training() != Training::none;
    if (options.cost.profile) {
        const double kept = training_step ? options.optimizer_states : 0;
        problem->forward = std::make_shared<const Graph>(
            with_profile(*problem->forward, *options.cost.profile, *machine, kept, !training_step));
        machine = std::make_shared<const Machine>(with_profile(*machine, *options.cost.profile));
    }
    problem->graph = std::make_shared<const Graph>(
        options.inference ? inference_graph(*problem->forward)
                          : options.cost.model->training_graph(*problem->forward, options.recomputation,
                                                               options.shared_gradients));
    problem->machine = std::make_shared<const Machine>(with_options(*machine, options));
    problem->cost_model = options.cost.model;
    problem->memory = options.memory;
    problem->allocator = used_allocator(options, *problem->machine);
    problem->inference = options.inference;
    problem->optimizer_in_backward = options.optimizer_in_backward;
    problem->caches = options.caches;

    const Graph& ops = *problem->graph;
    problem->ops = static_cast<std::uint32_t>(ops.size());
    problem->devices = static_cast<std::uint32_t>(problem->machine->devices().size());
    problem->channels = static_cast<std::uint32_t>(problem->machine->channels().size());

    const bool training =
        std::ranges::any_of(ops.ops(), [](const Op& op) { return op.phase != Phase::forward; });
    const double states = training && options.memory == MemoryModel::training ? options.optimizer_states : 0;
    problem->optimizer_states = states;
    problem->op_time_s.reserve(std::size_t{problem->ops} * problem->devices);
    const auto devices = problem->machine->devices();
    std::vector<double> times_s(devices.size());
    for (OpId op = 0; op < problem->ops; ++op) {
        options.cost.model->op_times_s(ops, op, devices, states, times_s);
        for (std::size_t device = 0; device < devices.size(); ++device) {
            if (!(times_s[device] <= kLongestS)) fail_uncountable(ops.op(op), devices[device]);
            problem->op_time_s.push_back(times_s[device]);
        }
        // The sum of the gradients is held from batch to batch.
        const bool sums = options.accumulate_gradients && options.memory == MemoryModel::training &&
                          ops.op(op).phase == Phase::update;
        const auto allocated = [&](double bytes) { return allocated_bytes(problem->allocator, bytes); };
        const double copies = options.memory == MemoryModel::training && ops.op(op).phase == Phase::forward
                                  ? static_cast<double>(cast_parameter_bytes(ops.op(op)))
                                  : 0;
        problem->accumulated_bytes.push_back(sums ? allocated(gradient_of_update(ops, ops.op(op)).bytes) : 0);
        problem->resident_bytes.push_back(
            allocated(static_cast<double>(ops.op(op).parameter_bytes)) * (1 + states) +
            allocated(problem->cache_bytes(op)) + allocated(copies) + problem->accumulated_bytes.back());
        problem->workspace_bytes.push_back(allocated(workspace_bytes(ops, ops.op(op), options)));
        problem->sends_together.push_back(ops.op(op).sends_together);
    }
    if (options.offload == Offload::stream && training)
        throw PlacementError(
            "weights are streamed from a CPU in inference only; choose inference, or let CPUs compute");
    fill_devices(*problem, options, states);
    fill_tensors(*problem);
    fill_aliases(*problem, options);
    fill_output_bytes(*problem);
    fill_stays(*problem, options);
    fill_routes(*problem, *problem->machine);
    if (const auto to = streaming_device(*problem->machine); to && options.offload == Offload::stream)
        stream_weights(*problem, *to);
    problem->constraints = options.constraints;
    fill_groups(*problem, options.grouping);
    round_to_ticks(*problem);
    return problem;
}

std::shared_ptr<const Problem> ungrouped(const Problem& problem) {
    auto finest = std::make_shared<Problem>(problem);
    fill_groups(*finest, {});
    return finest;
}

Placement regrouped(std::span<const DeviceId> placement, const Problem& from, const Problem& to) {
    Placement result;
    for (const auto& members : to.grouping.members)
        result.push_back(placement[from.grouping.group_of[members.front()]]);
    return result;
}

void check_placement(const Problem& problem, std::span<const DeviceId> placement) {
    if (placement.size() != problem.groups) {
        throw PlacementError("the placement has " + std::to_string(placement.size()) +
                             " groups, the problem " + std::to_string(problem.groups));
    }
    for (GroupId group = 0; group < problem.groups; ++group) {
        const std::string& op = problem.graph->op(problem.grouping.members[group].front()).name;
        if (placement[group] >= problem.devices) {
            throw PlacementError("op \"" + op + "\" is placed on device " + std::to_string(placement[group]) +
                                 ", the machine has devices 0 to " + std::to_string(problem.devices - 1));
        }
        if (!std::ranges::binary_search(problem.allowed_devices(group), placement[group])) {
            throw PlacementError("op \"" + op + "\" may not run on device \"" +
                                 problem.machine->device(placement[group]).name + "\"");
        }
    }
    if (const std::string rule = broken_rule(problem, placement); !rule.empty())
        throw PlacementError("the placement breaks the rule \"" + rule + '"');
}

Placement single_device_placement(const Problem& problem, DeviceId device) {
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto allowed = problem.allowed_devices(group);
        placement[group] = std::ranges::binary_search(allowed, device)
                               ? device
                               : *std::ranges::min_element(
                                     allowed, {}, [&](DeviceId d) { return problem.group_time_s(group, d); });
    }
    return obeying(problem, std::move(placement));
}

Placement single_device_placement(const Problem& problem) {
    Placement best;
    double least_s = kInfinity;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        Placement placement = single_device_placement(problem, device);
        double total_s = 0;
        for (GroupId group = 0; group < problem.groups; ++group)
            total_s += problem.group_time_s(group, placement[group]);
        if (best.empty() || total_s < least_s) {
            least_s = total_s;
            best = std::move(placement);
        }
    }
    return best;
}

}  // namespace placewright
