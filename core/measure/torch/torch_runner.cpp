// SPDX-License-Identifier: MIT
#include "core/measure/torch/torch_runner.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include "core/base/text.hpp"
#include "core/graph/gradients.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/precision.hpp"
#include "core/measure/torch/kept_memory.hpp"
#include "core/measure/torch/kernel.hpp"
#include "core/measure/torch/kernel_request.hpp"
#include "core/measure/torch/memory_tracker.hpp"

namespace placewright {
namespace {

// As in common recipes; small enough that random networks stay finite over many steps.
constexpr double kLearningRate = 1e-4, kMomentum = 0.9, kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8;

/// A seed for one purpose, from SplitMix64 (Steele, Lea, Flood, 2014).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t z = a + 0x9e3779b97f4a7c15U * (b + 1) + 0xbf58476d1ce4e5b9U * (c + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// Random integers in [0, bound), as far as the type has them, made in the type itself: as int64 first, a
/// message of bytes would take eight times its memory. Of a large tensor a part is drawn and repeated, since
/// drawing takes nanoseconds a number and nothing can cancel it.
at::Tensor random_integers(const Shape& shape, at::ScalarType type, std::int64_t bound,
                           const at::Generator& random) {
    constexpr std::int64_t kDrawn = 1 << 20;
    const std::size_t bits = 8 * c10::elementSize(type) - (type == at::kByte ? 0 : 1);
    if (type == at::kBool) {
        bound = 2;
    } else if (bits < 63) {
        bound = std::min(bound, std::int64_t{1} << bits);
    }
    at::Tensor value = at::empty(shape, at::TensorOptions().dtype(type));
    const at::Tensor flat = value.view({-1});
    const std::int64_t count = flat.numel();
    std::int64_t made = std::min(count, kDrawn);
    if (made > 0) flat.narrow(0, 0, made).random_(0, bound, random);
    while (made < count) {
        const std::int64_t part = std::min(made, count - made);
        flat.narrow(0, made, part).copy_(flat.narrow(0, 0, part));
        made += part;
    }
    return value;
}

/// [CUDA device]: the device of the machine that it is.
std::vector<DeviceId> devices_of_cuda(std::span<const PhysicalDevice> devices) {
    std::vector<DeviceId> result;
    for (DeviceId device = 0; device < devices.size(); ++device) {
        if (devices[device].kind != PhysicalDevice::Kind::cuda) continue;
        const auto index = static_cast<std::size_t>(devices[device].index);
        if (result.size() <= index) result.resize(index + 1, kInvalidDevice);
        result[index] = device;
    }
    return result;
}

/// Makes the name of an op for messages.
auto named(const Op& op) {
    return [&op] { return "op " + in_quotes(op.name); };
}

bool is_weight_gradient(const Op& op, const Op& forward) {
    return op.name.size() > forward.name.size() && op.name.ends_with("/weight_gradient");
}

/// A gradient that a derived op reads.
struct Incoming {
    TensorId tensor = kNoTensor;
    std::uint32_t output = 0;  ///< of the forward op, whose gradient it is
    OpId reader = kInvalidOp;  ///< the forward op that read this output
    bool part = false;         ///< of a range of the output (KindInfo::range)
};

/// A forward op and what belongs to it during a step.
struct Node {
    Kernel kernel;
    Tensors parameters, buffers;
    std::vector<Tensors> states;  ///< [parameter]: of the optimizer
    at::Generator generator;
    bool narrows = false;       ///< its parameters are read in the narrower type of its output
    bool recomputed = false;    ///< its autograd graph is that of "f/recompute"
    std::uint32_t derived = 0;  ///< number of derived ops that need the autograd graph
    std::vector<bool> carries;  ///< [input]: a gradient is wanted

    // Of one step:
    std::uint64_t seed = 0;  ///< of the generator
    std::uint32_t derived_left = 0;
    Tensors leaves, results;   ///< inputs and outputs of the autograd graph
    Tensors gradients;         ///< [output]: sums of the incoming gradients
    std::vector<bool> owned;   ///< [output]: nothing else has the tensor of the sum, so it can be added to
    Tensors weight_gradients;  ///< [parameter]
};

class ThreadInfo : public NetworkRunner::Thread {
public:
    explicit ThreadInfo(std::shared_ptr<MemoryTracker> tracker)
        : guard_(c10::DebugInfoKind::PROFILER_STATE, std::move(tracker)) {}

private:
    c10::DebugInfoGuard guard_;
};

class TorchRunner : public NetworkRunner {
public:
    TorchRunner(std::shared_ptr<const Problem> problem, std::span<const DeviceId> placement,
                std::span<const PhysicalDevice> devices, const NetworkRunnerOptions& options)
        : problem_(std::move(problem)),
          graph_(*problem_->graph),
          options_(options),
          training_(!problem_->inference && graph_.training() == Training::explicit_),
          devices_(devices.begin(), devices.end()),
          tracker_(std::make_shared<MemoryTracker>(devices.size(), devices_of_cuda(devices))),
          nodes_(graph_.size()),
          incoming_(graph_.size()),
          values_(std::size_t{problem_->tensors} * devices.size()) {
        device_of_.resize(graph_.size());
        for (OpId op = 0; op < graph_.size(); ++op)
            device_of_[op] = placement[problem_->grouping.group_of[op]];
        const ThreadInfo info(tracker_);
        prepare_forward();
        if (training_) prepare_derived();
        allocate();
    }

    std::unique_ptr<Thread> attach(DeviceId device) override {
        at::set_num_threads(1);
        MemoryTracker::device_of_thread() = device;
        return std::make_unique<ThreadInfo>(tracker_);
    }

    void start_step(std::uint32_t step) override {
        const ThreadInfo info(tracker_);
        for (at::Tensor& value : values_) value.reset();
        for (OpId op = 0; op < graph_.size(); ++op) {
            Node& node = nodes_[op];
            node.derived_left = node.derived;
            node.leaves.clear();
            node.results.clear();
            node.gradients.clear();
            node.owned.clear();
            node.weight_gradients.clear();
            node.seed = mixed(options_.seed, op, step);
        }
        tracker_->restart();
    }

    void run(OpId id) override {
        const DeviceId device = device_of_[id];
        const Op& op = graph_.op(id);
        attempt(device, named(op), [&] {
            const c10::DeviceGuard guard(torch_device(device));
            if (op.phase == Phase::update) {
                update(id);
            } else if (op.forward_op == kInvalidOp || op.recomputes) {
                forward(id);
            } else {
                backward(id);
            }
            synchronize(device);
        });
    }

    void copy(TensorId tensor, DeviceId to) override {
        const DeviceId from = device_of_[problem_->producer[tensor]];
        MemoryTracker::device_of_thread() = to;
        const c10::NoGradGuard no_gradient;
        const at::Tensor& value = slot(tensor, from);
        if (!value.defined()) return;
        const Op& producer = graph_.op(problem_->producer[tensor]);
        const auto what = [&] { return "a copy of the output of op " + in_quotes(producer.name); };
        attempt(to, what, [&] {
            const c10::Device target = torch_device(to);
            // With the same strides where it has no gaps, as Tensor.to() does.
            at::Tensor copied = at::empty_like(value, value.options().device(target));
            copied.copy_(value);
            if (target.is_cuda()) {
                synchronize(to);
            } else {
                synchronize(from);
            }
            slot(tensor, to) = std::move(copied);
        });
    }

    void release(TensorId tensor, DeviceId device) override {
        if (!options_.keeps_values) slot(tensor, device).reset();
    }

    std::vector<double> peak_bytes() const override { return tracker_->peaks(); }

    std::vector<double> read_tensor(TensorId tensor, DeviceId device) const override {
        return numbers({values_[std::size_t{tensor} * devices_.size() + device]});
    }

    std::vector<double> read_gradient(OpId op) const override { return numbers(nodes_[op].weight_gradients); }

    std::vector<std::vector<double>> whole_gradients(std::uint32_t step) override;

private:
    at::Tensor& slot(TensorId tensor, DeviceId device) {
        return values_[std::size_t{tensor} * devices_.size() + device];
    }
    TensorId tensor_of(const TensorRef& ref) const { return problem_->output_begin[ref.op] + ref.output; }

    c10::Device torch_device(DeviceId device) const {
        const PhysicalDevice& physical = devices_[device];
        if (physical.kind == PhysicalDevice::Kind::cuda)
            return {c10::kCUDA, static_cast<c10::DeviceIndex>(physical.index)};
        return {c10::kCPU};
    }

    /// Waits for what the device still has to do. Ops on a CPU are done when they return.
    void synchronize(DeviceId device) const {
        const c10::Device at = torch_device(device);
        if (at.is_cpu()) return;
        const c10::impl::VirtualGuardImpl implementation(at.type());
        implementation.getStream(at).synchronize();
    }

    static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

    [[noreturn]] void fail_memory(DeviceId device, const std::string& what, const std::string& reason) const {
        throw OutOfMemory(device, "device " + in_quotes(problem_->machine->device(device).name) +
                                      " has not enough memory for " + what + " (" + reason + ")");
    }

    /// Does `work` on a device; errors name what() it is and the reason. The name is made after an error
    /// alone, since ops are timed with this. Throws OutOfMemory and MeasureError.
    template <class What, class Work>
    void attempt(DeviceId device, const What& what, Work&& work) const {
        try {
            work();
        } catch (const std::bad_alloc&) {
            fail_memory(device, what(), "the allocator of the program found none");
        } catch (const c10::Error& error) {
            const std::string text = first_line(error.what_without_backtrace());
            if (text.find("memory") != std::string::npos && text.find("alloc") != std::string::npos)
                fail_memory(device, what(), text);
            const bool half = text.find("not implemented for 'Half'") != std::string::npos;
            throw MeasureError(what() + " failed in LibTorch: " + text +
                               (half ? "; CPUs have few kernels for float16, choose bfloat16" : ""));
        } catch (const std::invalid_argument& error) {
            throw MeasureError(what() + ": " + error.what());
        } catch (const std::exception& error) {
            throw MeasureError(what() + " failed: " + first_line(error.what()));
        }
    }

    static std::vector<double> numbers(const Tensors& tensors) {
        std::vector<double> result;
        for (const at::Tensor& tensor : tensors) {
            if (!tensor.defined()) continue;
            const at::Tensor flat = tensor.detach().to(c10::kCPU, at::kDouble).contiguous().flatten();
            result.insert(result.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
        }
        return result;
    }

    void prepare_forward();
    void prepare_derived();
    void allocate();
    std::int64_t index_bound(OpId op) const;

    Tensors run_kernel(Node& node, const Op& op, const Tensors& inputs);
    void forward(OpId id);
    void backward(OpId id);
    void update(OpId id);
    void sum_gradients(OpId forward, std::span<const Incoming> incoming, DeviceId device);
    void publish(OpId op, std::uint32_t output, at::Tensor value) {
        slot(problem_->output_begin[op] + output, device_of_[op]) = std::move(value);
    }
    bool is_range(OpId forward) const {
        return kind_info(graph_.op(forward).kind).range && graph_.op(forward).outputs.size() == 1;
    }

    KeptMemory kept_;  ///< first: it outlives all tensors
    std::shared_ptr<const Problem> problem_;
    const Graph& graph_;
    NetworkRunnerOptions options_;
    bool training_;
    std::vector<PhysicalDevice> devices_;
    std::vector<DeviceId> device_of_;  ///< [op]
    std::shared_ptr<MemoryTracker> tracker_;
    std::vector<Node> nodes_;                      ///< [op]; used for forward ops alone
    std::vector<std::vector<Incoming>> incoming_;  ///< [derived op]
    std::vector<at::Tensor> values_;               ///< [tensor * devices + device]
};

void TorchRunner::prepare_forward() {
    for (OpId id = 0; id < graph_.size(); ++id) {
        const Op& op = graph_.op(id);
        if (op.phase != Phase::forward) continue;
        nodes_[id].kernel = make_kernel(graph_, id);
        nodes_[id].narrows = cast_parameter_bytes(op) > 0;
    }
}

void TorchRunner::prepare_derived() {
    const Graph& forward = *problem_->forward;
    const std::vector<bool> needed = needs_gradient(forward);
    for (OpId id = 0; id < graph_.size(); ++id) {
        const Op& op = graph_.op(id);
        if (op.phase == Phase::forward) {
            for (const TensorRef& input : op.inputs)
                nodes_[id].carries.push_back(carries_gradient(forward, needed, input));
            continue;
        }
        if (op.forward_op == kInvalidOp) continue;
        if (op.recomputes) continue;
        for (const TensorRef& input : op.inputs) {
            const Op& from = graph_.op(input.op);
            const OpId reader = from.forward_op;
            if (from.phase != Phase::backward || from.recomputes || reader == kInvalidOp ||
                reader == op.forward_op || is_weight_gradient(from, graph_.op(reader)))
                continue;
            // Its output number `input.output` is the gradient of the reader's input with that number among
            // those that carry a gradient.
            std::uint32_t number = 0;
            for (const TensorRef& read : forward.op(reader).inputs) {
                if (!carries_gradient(forward, needed, read)) continue;
                if (number++ != input.output) continue;
                if (read.op == op.forward_op)
                    incoming_[id].push_back({tensor_of(input), read.output, reader, is_range(reader)});
                break;
            }
        }
        if (op.phase != Phase::backward || kind_info(graph_.op(op.forward_op).kind).parameter) continue;
        // "f/recompute" has the autograd graph if all derived ops of f come after it.
        Node& node = nodes_[op.forward_op];
        const bool after = std::ranges::any_of(op.inputs, [&](const TensorRef& input) {
            return graph_.op(input.op).recomputes && graph_.op(input.op).forward_op == op.forward_op;
        });
        node.recomputed = after && (node.recomputed || node.derived == 0);
        ++node.derived;
    }
}

/// The number of rows of the smallest table that is read by an integer input, or by views of it, so that
/// random indices are valid; 0 if it indexes none.
std::int64_t TorchRunner::index_bound(OpId op) const {
    std::int64_t bound = 0;
    for (const OpId reader : problem_->forward->consumers(op)) {
        const Op& each = problem_->forward->op(reader);
        std::int64_t rows = 0;
        if (each.kind == "embedding" && !each.outputs.empty() && each.outputs[0].shape &&
            !each.outputs[0].shape->empty()) {
            if (each.parameter_bytes > 0) {
                rows = each.parameter_bytes / bytes_per_element(parameter_type(each)) /
                       std::max<std::int64_t>(1, each.outputs[0].shape->back());
            } else if (each.inputs.size() > 1) {
                const auto& table =
                    problem_->forward->op(each.inputs[1].op).outputs[each.inputs[1].output].shape;
                if (table && !table->empty()) rows = table->front();
            }
        } else if (kind_info(each.kind).view) {
            rows = index_bound(reader);
        }
        if (rows > 0) bound = bound > 0 ? std::min(bound, rows) : rows;
    }
    return bound;
}

void TorchRunner::allocate() {
    const c10::NoGradGuard no_gradient;
    for (OpId id = 0; id < graph_.size(); ++id) {
        const Op& op = graph_.op(id);
        if (op.phase != Phase::forward) continue;
        Node& node = nodes_[id];
        const DeviceId device = device_of_[id];
        MemoryTracker::device_of_thread() = device;
        const c10::Device at = torch_device(device);
        const c10::DeviceGuard guard(at);
        at::Generator random = at::detail::createCPUGenerator(mixed(options_.seed, id, ~std::uint64_t{0}));
        const bool norm = op.kind.ends_with("_norm");
        attempt(device, named(op), [&] {
            for (std::size_t k = 0; k < node.kernel.parameters.size(); ++k) {
                const Shape& shape = node.kernel.parameters[k];
                at::Tensor value = at::empty(shape, at::TensorOptions().dtype(at::kFloat));
                if (norm) {
                    value.fill_(k == 0 ? 1 : 0);
                } else if (shape.size() < 2) {
                    value.normal_(0, 0.02, random);
                } else {
                    // He and others (2015): keeps the spread of values through layers of relu.
                    const double fan_in = static_cast<double>(product(shape)) /
                                          static_cast<double>(std::max<std::int64_t>(1, shape[0]));
                    value.normal_(0, std::sqrt(2 / std::max(1.0, fan_in)), random);
                }
                value = value.to(at::TensorOptions().dtype(scalar_type(parameter_type(op))).device(at));
                value.set_requires_grad(training_);
                Tensors states;
                for (int state = 0; training_ && state < static_cast<int>(problem_->optimizer_states);
                     ++state)
                    states.push_back(at::zeros_like(value));
                node.parameters.push_back(std::move(value));
                node.states.push_back(std::move(states));
            }
            const bool source =
                op.kind == "input" || op.kind == "constant" || op.kind == "full" || op.kind == "arange";
            for (std::size_t k = 0; k < node.kernel.buffers.size(); ++k) {
                const DType dtype = source ? op.outputs[k].dtype : DType::float32;
                at::Tensor value;
                if (is_floating(dtype)) {
                    value = at::empty(node.kernel.buffers[k], at::TensorOptions().dtype(at::kFloat));
                    if (op.kind == "batch_norm") {
                        value.fill_(k == 0 ? 0 : 1);  // running mean and variance
                    } else {
                        value.normal_(0, 1, random);
                    }
                } else {
                    // Where nothing is indexed: classes, of which there are two at least.
                    const std::int64_t rows = index_bound(id);
                    value = random_integers(node.kernel.buffers[k], scalar_type(dtype), rows > 0 ? rows : 2,
                                            random);
                }
                node.buffers.push_back(value.to(at::TensorOptions().dtype(scalar_type(dtype)).device(at)));
            }
            // Of the op's own, so that its masks do not depend on what else runs.
            if (op.kind.find("dropout") != std::string::npos || op.attributes.contains("dropout"))
                node.generator = at.is_cpu() ? at::detail::createCPUGenerator()
                                             : at::globalContext().defaultGenerator(at).clone();
            synchronize(device);
        });
    }
}

Tensors TorchRunner::run_kernel(Node& node, const Op& op, const Tensors& inputs) {
    // Each time: what is recomputed draws what the forward pass drew.
    if (node.generator.defined()) node.generator.set_current_seed(node.seed);
    at::TensorOptions options;
    if (!op.outputs.empty()) options = options.dtype(scalar_type(op.outputs.front().dtype));
    options = options.device(
        inputs.empty() ? (node.parameters.empty() ? c10::Device(c10::kCPU) : node.parameters[0].device())
                       : inputs[0].device());
    // Autocast: parameters of float32 that are read in a narrower type.
    Tensors narrow;
    if (node.narrows) {
        for (const at::Tensor& parameter : node.parameters)
            narrow.push_back(parameter.to(scalar_type(op.outputs.front().dtype)));
    }
    Tensors results = node.kernel.forward({inputs, narrow.empty() ? node.parameters : narrow, node.buffers,
                                           node.generator, options, training_});
    for (std::size_t k = 0; k < std::min(results.size(), op.outputs.size()); ++k) {
        if (op.outputs[k].shape && results[k].sizes() != at::IntArrayRef(*op.outputs[k].shape))
            refuse("it made " + shape_text(results[k].sizes().vec()) + ", but the network file says " +
                   shape_text(*op.outputs[k].shape));
    }
    return results;
}

void TorchRunner::forward(OpId id) {
    const Op& op = graph_.op(id);
    const OpId own = op.recomputes ? op.forward_op : id;
    Node& node = nodes_[own];
    const Op& forward_op = graph_.op(own);
    const DeviceId device = device_of_[id];
    const bool tracked = training_ && node.derived > 0 && node.recomputed == op.recomputes;
    const c10::AutoGradMode mode(tracked);
    Tensors inputs;
    inputs.reserve(forward_op.inputs.size());
    for (std::size_t k = 0; k < forward_op.inputs.size(); ++k) {
        at::Tensor value = slot(tensor_of(op.inputs[k]), device);
        if (tracked && node.carries[k]) {
            value = value.detach();
            value.set_requires_grad(true);
        }
        inputs.push_back(std::move(value));
    }
    Tensors results = run_kernel(node, forward_op, inputs);
    for (std::uint32_t k = 0; k < results.size(); ++k) {
        // A source keeps its tensors; readers on this device see them without a copy.
        publish(id, k, results[k].detach());
    }
    if (tracked) {
        node.leaves = std::move(inputs);
        node.results = std::move(results);
    }
}

/// Adds up the gradients of each output in the order of the graph, on the first of the derived ops that needs
/// them; those of shared parameters on each op that adds some.
void TorchRunner::sum_gradients(OpId forward, std::span<const Incoming> incoming, DeviceId device) {
    Node& node = nodes_[forward];
    if (!node.gradients.empty() && !kind_info(graph_.op(forward).kind).parameter) return;
    const std::size_t outputs = std::max(node.results.size(), node.parameters.size());
    node.gradients.resize(outputs);
    if (node.owned.size() != outputs) node.owned.assign(outputs, false);
    if (problem_->forward->consumers(forward).empty()) {
        for (std::size_t k = 0; k < node.results.size(); ++k) {
            if (node.results[k].requires_grad()) node.gradients[k] = at::ones_like(node.results[k]);
        }
        return;
    }
    for (const Incoming& each : incoming) {
        const at::Tensor& gradient = slot(each.tensor, device);
        if (!gradient.defined()) continue;
        at::Tensor& sum = node.gradients[each.output];
        if (each.part) {
            if (!sum.defined()) {
                const at::Tensor& whole =
                    node.results.empty() ? node.parameters[each.output] : node.results[each.output];
                sum = at::zeros_like(whole, at::MemoryFormat::Contiguous);
            } else if (!node.owned[each.output]) {
                sum = sum.clone();
            }
            node.owned[each.output] = true;
            Node& reader = nodes_[each.reader];
            // The reader's own view says where the range is.
            run_kernel(reader, graph_.op(each.reader), {sum}).front().add_(gradient);
        } else if (!sum.defined()) {
            sum = gradient;
        } else if (!node.owned[each.output]) {
            sum = sum + gradient;
            node.owned[each.output] = true;
        } else {
            sum.add_(gradient);
        }
    }
}

void TorchRunner::backward(OpId id) {
    const Op& op = graph_.op(id);
    const OpId own = op.forward_op;
    Node& node = nodes_[own];
    const DeviceId device = device_of_[id];
    const Op& forward_op = graph_.op(own);
    {
        const c10::NoGradGuard no_gradient;
        sum_gradients(own, incoming_[id], device);
    }
    if (kind_info(forward_op.kind).parameter) {
        node.weight_gradients = node.gradients;
        return;
    }
    const bool weights = is_weight_gradient(op, forward_op);
    Tensors wanted;
    if (weights) {
        wanted = node.parameters;
    } else {
        for (std::size_t k = 0; k < node.leaves.size(); ++k) {
            if (node.carries[k]) wanted.push_back(node.leaves[k]);
        }
    }
    Tensors found;
    if (!weights && is_range(own)) {
        found = {node.gradients[0]};
    } else {
        Tensors outputs, gradients;
        for (std::size_t k = 0; k < node.results.size(); ++k) {
            if (!node.gradients[k].defined() || !node.results[k].requires_grad()) continue;
            outputs.push_back(node.results[k]);
            gradients.push_back(node.gradients[k]);
        }
        if (!outputs.empty()) {
            const c10::AutoGradMode mode(true);
            found = torch::autograd::grad(outputs, wanted, gradients, node.derived_left > 1, false, true);
        }
    }
    found.resize(wanted.size());
    const c10::NoGradGuard no_gradient;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (!found[k].defined()) found[k] = at::zeros_like(wanted[k]);
    }
    if (weights) {
        node.weight_gradients = std::move(found);
    } else {
        for (std::uint32_t k = 0; k < found.size(); ++k) publish(id, k, std::move(found[k]));
    }
    if (--node.derived_left == 0) {
        node.leaves.clear();
        node.results.clear();
        node.gradients.clear();
        node.owned.clear();
    }
}

void TorchRunner::update(OpId id) {
    const OpId own = graph_.op(id).forward_op;
    Node& node = nodes_[own];
    const c10::NoGradGuard no_gradient;
    // The gradient of a parameter with one reader comes straight from this reader.
    if (node.weight_gradients.empty()) {
        sum_gradients(own, incoming_[id], device_of_[id]);
        node.weight_gradients = std::move(node.gradients);
        node.gradients.clear();
        node.owned.clear();
    }
    for (std::size_t k = 0; k < node.parameters.size() && k < node.weight_gradients.size(); ++k) {
        const at::Tensor& gradient = node.weight_gradients[k];
        if (!gradient.defined()) continue;
        at::Tensor& parameter = node.parameters[k];
        Tensors& states = node.states[k];
        if (states.empty()) {
            parameter.add_(gradient, -kLearningRate);
        } else if (states.size() == 1) {
            states[0].mul_(kMomentum).add_(gradient);
            parameter.add_(states[0], -kLearningRate);
        } else {
            states[0].mul_(kBeta1).add_(gradient, 1 - kBeta1);
            states[1].mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
            const at::Tensor spread = states[1].sqrt().add_(kAdamEpsilon);
            parameter.addcdiv_(states[0], spread, -kLearningRate);
        }
    }
    // Otherwise gradients stay until the next step begins.
    if (problem_->optimizer_in_backward && !options_.keeps_values) node.weight_gradients.clear();
}

std::vector<std::vector<double>> TorchRunner::whole_gradients(std::uint32_t step) {
    start_step(step);
    const ThreadInfo info(tracker_);
    const Graph& forward = *problem_->forward;
    const c10::Device device = torch_device(0);
    std::vector<Tensors> results(forward.size());
    at::Tensor loss;
    Tensors parameters;
    for (OpId id = 0; id < forward.size(); ++id) {
        Tensors inputs;
        for (const TensorRef& input : forward.op(id).inputs)
            inputs.push_back(results[input.op][input.output].to(device));
        results[id] = run_kernel(nodes_[id], forward.op(id), inputs);
        parameters.insert(parameters.end(), nodes_[id].parameters.begin(), nodes_[id].parameters.end());
        if (!forward.consumers(id).empty()) continue;
        for (const at::Tensor& result : results[id]) {
            if (!result.requires_grad()) continue;
            const at::Tensor sum = result.sum().to(device);
            loss = loss.defined() ? loss + sum : sum;
        }
    }
    std::vector<std::vector<double>> gradients(forward.size());
    if (!loss.defined()) return gradients;
    const Tensors found = torch::autograd::grad({loss}, parameters, {}, false, false, true);
    std::size_t at = 0;
    for (OpId id = 0; id < forward.size(); ++id) {
        Tensors own;
        for (const at::Tensor& parameter : nodes_[id].parameters) {
            const at::Tensor& gradient = found[at++];
            own.push_back(gradient.defined() ? gradient : at::zeros_like(parameter));
        }
        gradients[id] = numbers(own);
    }
    return gradients;
}

}  // namespace

std::vector<std::string> unsupported_ops(const Problem& problem) {
    std::vector<std::string> reasons;
    const Graph& graph = *problem.graph;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const std::string at = "op " + in_quotes(op.name) + " (" + op.kind + "): ";
        if (op.phase != Phase::forward) {
            if (op.forward_op == kInvalidOp)
                reasons.push_back(at + "the network file itself holds its " +
                                  std::string(to_string(op.phase)) +
                                  " ops, which have no kernels; give a network of forward ops");
            continue;
        }
        try {
            make_kernel(graph, id);
        } catch (const std::exception& error) {
            reasons.push_back(at + error.what());
        }
    }
    return reasons;
}

std::unique_ptr<NetworkRunner> make_torch_runner(std::shared_ptr<const Problem> problem,
                                                 std::span<const DeviceId> placement,
                                                 std::span<const PhysicalDevice> devices,
                                                 const NetworkRunnerOptions& options) {
    return std::make_unique<TorchRunner>(std::move(problem), placement, devices, options);
}

}  // namespace placewright
