// SPDX-License-Identifier: MIT
#include "core/cost/op_work.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "core/cost/cost_model.hpp"
#include "core/graph/flops.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/training.hpp"

namespace placewright {
namespace {

/// How frameworks run a kind. Passes are reads and writes of the first output (forward) or of the gradient
/// (backward); 0: as many as the tensors that the op reads and writes.
struct Rule {
    WorkClass work_class = WorkClass::elementwise;
    double forward_passes = 0, backward_passes = 0;
    double forward_kernels = 1, backward_kernels = 1;
};

// The rules of eager PyTorch, from its kernels and from what they were measured to take: dropout makes its
// mask beside the result, and its backward converts and scales the mask in kernels of their own; the
// gradients of a product of two tensors are two kernels; a softmax reads its input twice; norms find their
// statistics first.
const Rule& rule_of(std::string_view kind) {
    using enum WorkClass;
    static const Rule unknown;
    static const std::unordered_map<std::string_view, Rule> rules{
        {"softmax", {softmax, 0, 5.5}},
        {"log_softmax", {softmax, 0, 5.5}},
        {"cross_entropy", {softmax, 4, 4, 2, 2}},
        {"dropout", {elementwise, 2.8, 6.25, 1, 3}},
        {"alpha_dropout", {elementwise, 2.8, 6.25, 1, 3}},
        {"mul", {elementwise, 0, 0, 1, 1}},
        {"pow", {elementwise, 0, 7, 1, 3}},
        {"layer_norm", {norm, 0, 0, 3, 3}},
        {"group_norm", {norm, 0, 0, 3, 3}},
        {"rms_norm", {norm, 0, 0, 3, 3}},
        {"batch_norm", {norm, 2.5, 0, 1, 1}},
        {"instance_norm", {norm, 3, 0, 2, 2}},
        {"local_response_norm", {norm, 8, 12, 6, 6}},
        {"normalize", {norm, 4, 6, 3, 3}},
        {"cat", {copy}},
        {"stack", {copy}},
        {"clone", {copy}},
        {"contiguous", {copy}},
        {"pad", {copy}},
        {"roll", {copy}},
        {"flip", {copy}},
        {"repeat", {copy}},
        {"im2col", {copy}},
        {"pixel_shuffle", {copy}},
        {"pixel_unshuffle", {copy}},
        {"embedding", {gather}},
        {"embedding_bag", {gather}},
        {"gather", {gather}},
        {"index_select", {gather}},
        {"index", {gather}},
        {"grid_sample", {gather}},
        {"scatter", {scatter}},
        {"scatter_add", {scatter}},
        {"index_add", {scatter}},
        {"max_pool1d", {reduction}},
        {"max_pool2d", {reduction}},
        {"max_pool3d", {reduction}},
        {"adaptive_max_pool1d", {reduction}},
        {"adaptive_max_pool2d", {reduction}},
        {"adaptive_max_pool3d", {reduction}},
        {"avg_pool1d", {reduction}},
        {"avg_pool2d", {reduction}},
        {"avg_pool3d", {reduction}},
        {"adaptive_avg_pool1d", {reduction}},
        {"adaptive_avg_pool2d", {reduction}},
        {"adaptive_avg_pool3d", {reduction}},
        {"mean", {reduction}},
        {"sum", {reduction}},
        {"max", {reduction}},
        {"min", {reduction}},
        {"var", {reduction}},
        {"norm", {reduction}},
        {"logsumexp", {reduction}},
        {"cumsum", {reduction}},
        {"argmax", {reduction}},
        {"argmin", {reduction}},
        {"topk", {reduction}},
        {"mse_loss", {elementwise, 0, 0, 2, 2}},
        {"binary_cross_entropy_with_logits", {elementwise, 8, 6, 4, 3}},
    };
    const auto found = rules.find(kind);
    return found == rules.end() ? unknown : found->second;
}

bool is_max_pool(std::string_view kind) {
    return kind.starts_with("max_pool") || kind.starts_with("adaptive_max_pool");
}

/// The type that an op computes in: that of its output, but products of bytes have sums of 32 bits.
NumberType number_type(const Graph& graph, const Op& op) {
    if (op.outputs.empty()) return NumberType::fp32;
    DType type = op.outputs.front().dtype;
    if (type == DType::int32 && kind_info(op.kind).product && !op.inputs.empty())
        type = graph.op(op.inputs.front().op).outputs[op.inputs.front().output].dtype;
    switch (type) {
        case DType::float64:
            return NumberType::fp64;
        case DType::float16:
            return NumberType::fp16;
        case DType::bfloat16:
            return NumberType::bf16;
        case DType::int8:
        case DType::uint8:
            return NumberType::int8;
        default:
            return NumberType::fp32;
    }
}

double bytes_of(const Graph& graph, const TensorRef& ref) {
    return static_cast<double>(graph.op(ref.op).outputs[ref.output].bytes);
}

double output_bytes(const Op& op) {
    double sum = 0;
    for (const Tensor& output : op.outputs) sum += static_cast<double>(output.bytes);
    return sum;
}

/// Whether a tensor that a backward op reads is a gradient, not one that was kept or computed again.
bool is_gradient(const Graph& graph, const TensorRef& ref) {
    const Op& producer = graph.op(ref.op);
    return producer.phase == Phase::backward && !producer.recomputes;
}

/// The forward op of a backward op, if it is a view of a part of its input.
const Op* part_of(const Graph& graph, const Op& backward) {
    if (backward.forward_op == kInvalidOp) return nullptr;
    const Op& forward = graph.op(backward.forward_op);
    const bool part = kind_info(forward.kind).range && forward.outputs.size() == 1 && !forward.inputs.empty();
    return part ? &forward : nullptr;
}

bool is_weight_gradient_of(const Op& op) {
    return op.name.size() > 16 && op.name.ends_with("/weight_gradient");
}

bool has_data_gradient(const Graph& graph, const Op& forward) {
    return graph.find(forward.name + "/backward").has_value();
}

/// One op of a graph, with what is asked of it several times.
class Worker {
public:
    Worker(const Graph& graph, OpId id, double optimizer_states)
        : graph_(graph),
          op_(graph.op(id)),
          forward_(op_.forward_op == kInvalidOp ? op_ : graph.op(op_.forward_op)),
          id_(id),
          states_(optimizer_states) {}

    OpWork run() {
        if (op_.phase == Phase::update) {
            update();
        } else if (op_.phase == Phase::backward && !op_.recomputes && op_.forward_op != kInvalidOp) {
            backward();
        } else if (kind_info(op_.kind).computes) {
            forward();
        }
        if (work_.bytes == 0 && work_.flops == 0 && work_.stream_bytes == 0 &&
            work_.work_class != WorkClass::none && work_.kernels == 0)
            work_.work_class = WorkClass::none;
        return work_;
    }

private:
    const Tensor& tensor(const TensorRef& ref) const { return graph_.op(ref.op).outputs[ref.output]; }
    double bytes(const TensorRef& ref) const { return bytes_of(graph_, ref); }
    double count(const TensorRef& ref) const { return static_cast<double>(element_count(tensor(ref))); }
    static double output_count(const Op& op) {
        return op.outputs.empty() ? 0 : static_cast<double>(element_count(op.outputs.front()));
    }
    /// Extent of a dimension of a shape, counted from its end; 1 if it is not known.
    static double extent_from_end(const Tensor& tensor, std::size_t from_end) {
        if (!tensor.shape || tensor.shape->size() < from_end) return 1;
        return std::max(1.0, static_cast<double>((*tensor.shape)[tensor.shape->size() - from_end]));
    }

    /// Number of convolution groups.
    double groups() const {
        const auto given = integer_attribute(forward_, "groups");
        return given && given->size() == 1 ? std::max(1.0, static_cast<double>(given->front())) : 1;
    }
    /// Whether all numbers of an attribute are `value`; `otherwise` if the op does not have it.
    bool every_is(const char* attribute, std::int64_t value, bool otherwise) const {
        const auto given = integer_attribute(forward_, attribute);
        if (!given || given->empty()) return otherwise;
        return std::ranges::all_of(*given, [&](auto x) { return x == value; });
    }

    /// Whether Winograd's algorithm applies: a 3x3 convolution of stride 1.
    bool is_winograd() const {
        return forward_.kind == "conv2d" && groups() == 1 && every_is("kernel", 3, false) &&
               every_is("stride", 1, true) && every_is("dilation", 1, true);
    }

    /// The shape of the forward op's product; its inner extent follows from the FLOPs. Where the file does
    /// not say the shape of the output, that of a square; where it says nothing, that of a cube.
    ProductShape product_shape() const {
        ProductShape shape;
        shape.flops = forward_.flops;
        const double outputs = output_count(forward_);
        if (outputs == 0) {
            shape.rows = shape.columns = shape.depth = std::max(1.0, std::cbrt(forward_.flops / 2));
            return shape;
        }
        const Tensor& out = forward_.outputs.front();
        if (!out.shape) {
            shape.rows = shape.columns = std::max(1.0, std::sqrt(outputs));
            shape.depth = std::max(1.0, forward_.flops / (2 * outputs));
            return shape;
        }
        if (forward_.kind.starts_with("conv")) {
            shape.batch = groups();
            const double channels =
                out.shape->size() > 1 ? std::max(1.0, static_cast<double>((*out.shape)[1])) : 1;
            shape.columns = std::max(1.0, channels / shape.batch);
            shape.winograd = is_winograd();
        } else {
            shape.columns = extent_from_end(out, 1);
            if (is_batched()) {
                shape.rows = extent_from_end(out, 2);
                shape.batch = std::max(1.0, outputs / (shape.rows * shape.columns));
            }
        }
        shape.rows = std::max(1.0, outputs / (shape.batch * shape.columns));
        shape.depth = std::max(1.0, forward_.flops / (2 * outputs));
        return shape;
    }

    /// Whether the op multiplies pairs of matrices: its second factor has more than two extents.
    bool is_batched() const {
        if (forward_.kind == "scaled_dot_product_attention" || forward_.kind == "bmm" ||
            forward_.kind == "baddbmm")
            return true;
        if (forward_.kind != "matmul" && forward_.kind != "einsum") return false;
        if (forward_.inputs.size() < 2) return false;
        const Tensor& second = tensor(forward_.inputs[1]);
        return second.shape && second.shape->size() > 2;
    }

    WorkClass product_class(const ProductShape& shape) const {
        if (forward_.kind.starts_with("conv")) {
            const auto kernel = integer_attribute(forward_, "kernel");
            double window = 1;
            if (kernel) {
                for (const auto extent : *kernel) window *= static_cast<double>(extent);
                if (kernel->size() == 1 && forward_.kind.ends_with("2d")) window *= window;
            }
            return shape.batch > 1 && shape.depth <= window ? WorkClass::depthwise : WorkClass::convolution;
        }
        return is_batched() ? WorkClass::batched : WorkClass::product;
    }

    void add_product(ProductShape shape) {
        work_.products[work_.product_count++] = shape;
        work_.flops += shape.steps * shape.flops;
        work_.kernels += shape.steps;
    }

    /// The steps of a layer of recurrent cells, which wait for each other.
    struct Steps {
        double count = 1, rows = 1, state = 1, input = 1;
    };
    /// Nothing for another op, for a single step, or where the file does not say the extents. ONNX has them
    /// in the input, (steps, batch, features) or with the batch in front ("layout"), and the extent of the
    /// state as an attribute; PyTorch has them in the final state, (layers, batch, features).
    std::optional<Steps> steps() const {
        if (forward_.kind != "lstm" && forward_.kind != "gru" && forward_.kind != "rnn") return {};
        if (forward_.outputs.empty() || !forward_.outputs.front().shape || forward_.inputs.empty()) return {};
        const Tensor& input = tensor(forward_.inputs.front());
        if (!input.shape || input.shape->size() < 2) return {};
        Steps all;
        all.input = extent_from_end(input, 1);
        const double rows = count(forward_.inputs.front()) / all.input;
        const bool has_state = forward_.outputs.size() > 1 && forward_.outputs[1].shape;
        const Shape last = has_state ? *forward_.outputs[1].shape : Shape{};
        if (const auto hidden = integer_attribute(forward_, "hidden_size"); hidden && hidden->size() == 1) {
            const bool batch_first =
                integer_attribute(forward_, "layout") == Shape{1} && input.shape->size() > 2;
            all.state = std::max(1.0, static_cast<double>(hidden->front()));
            all.count = static_cast<double>((*input.shape)[batch_first ? 1 : 0]);
        } else if (last.size() == 2 || last.size() == 3) {
            all.state = std::max(1.0, static_cast<double>(last.back()));
            all.count = last.size() == 2 ? rows : rows / std::max(1.0, static_cast<double>(last[1]));
        } else {
            all.state = extent_from_end(forward_.outputs.front(), 1);
            const bool batch_first = input.shape->size() > 2 && input.shape->front() == graph_.batch();
            all.count = static_cast<double>((*input.shape)[batch_first ? 1 : 0]);
        }
        if (!(all.count > 1)) return {};
        all.rows = std::max(1.0, rows / all.count);
        return all;
    }

    /// The products of a recurrent layer, of which `flops` are known: inputs of all steps at once, then state
    /// by state, with elementwise functions in a kernel beside each. Layers above the first and other
    /// directions run beside it (Appleyard, Kocisky, Blunsom, Optimizing performance of recurrent neural
    /// networks on GPUs, 2016).
    void add_steps(const Steps& all, double flops) {
        const double share = all.state / (all.input + all.state);
        ProductShape inputs, states;
        inputs.rows = all.rows * all.count;
        states.rows = all.rows;
        inputs.depth = all.input;
        states.depth = all.state;
        inputs.flops = flops * (1 - share);
        states.flops = flops * share / all.count;
        inputs.columns = std::max(1.0, inputs.flops / (2 * inputs.rows * inputs.depth));
        states.columns = std::max(1.0, states.flops / (2 * states.rows * states.depth));
        states.steps = all.count;
        states.step_bytes =
            share * static_cast<double>(forward_.read_bytes.value_or(forward_.parameter_bytes));
        if (const double casts = cast_bytes(product_shape()); casts > 0) {
            // The steps read the copies.
            const auto narrow = static_cast<double>(bytes_per_element(forward_.outputs.front().dtype));
            const auto wide =
                static_cast<double>(bytes_per_element(forward_.parameter_dtype.value_or(DType::float32)));
            states.step_bytes *= std::min(1.0, narrow / wide);
            work_.stream_bytes += casts;
            work_.kernels += 1;
        }
        work_.work_class = WorkClass::product;
        add_product(inputs);
        add_product(states);
        work_.kernels += all.count;
    }

    /// Parameters of a linear map or convolution whose type is wider than that of its output are converted in
    /// each pass (autocast). Where the file does not say their type, their size tells it.
    double parameters_of_product(const ProductShape& shape) const {
        return shape.columns * shape.depth * shape.batch;
    }
    double cast_bytes(const ProductShape& shape) const {
        if (forward_.parameter_bytes == 0 || forward_.outputs.empty()) return 0;
        const auto element = static_cast<double>(bytes_per_element(forward_.outputs.front().dtype));
        const auto held = static_cast<double>(forward_.parameter_bytes);
        if (forward_.parameter_dtype) {
            const auto wide = static_cast<double>(bytes_per_element(*forward_.parameter_dtype));
            return element < wide ? held * (1 + element / wide) : 0;
        }
        const double parameters = parameters_of_product(shape);
        // Biases make the parameters slightly more than the weights.
        return element < 4 && held > 1.5 * element * parameters ? held * (1 + element / 4) : 0;
    }

    /// An op of an unknown kind, such as a function or a loop of ONNX, is taken for products if it computes
    /// much for each element.
    bool is_product() const {
        constexpr double kMany = 64;
        const KindInfo& kind = kind_info(forward_.kind);
        const double outputs = output_count(forward_);
        return kind.product || kind.recurrent ||
               (kind.name != forward_.kind && outputs > 0 && forward_.flops > kMany * outputs);
    }

    void forward() {
        const Rule& rule = rule_of(op_.kind);
        const OpTraffic traffic = op_traffic(graph_, id_, states_);
        work_.bytes = traffic.read_bytes + traffic.written_bytes;
        work_.type = number_type(graph_, op_);
        if (const auto all = steps(); all && op_.flops > 0) return add_steps(*all, op_.flops);
        if (is_product() && op_.flops > 0) {
            const ProductShape shape = product_shape();
            work_.work_class = product_class(shape);
            add_product(shape);
            work_.stream_bytes = cast_bytes(shape);
            if (work_.stream_bytes > 0) work_.kernels += 1;
            if (op_.kind == "scaled_dot_product_attention") work_.kernels += 2;
            // Another projection and product, scale, softmax, dropout, and copies into heads and back.
            if (op_.kind == "multi_head_attention_forward") work_.kernels += 9;
            return;
        }
        work_.work_class = rule.work_class;
        work_.flops = op_.flops;
        work_.kernels = rule.forward_kernels;
        if (rule.forward_passes > 0) work_.bytes = rule.forward_passes * largest();
        // Rows of more than 1024 elements do not stay in registers: PyTorch reads them once more.
        if (work_.work_class == WorkClass::softmax && rule.forward_passes == 0 && !op_.outputs.empty() &&
            extent_from_end(op_.outputs.front(), 1) > 1024)
            work_.bytes *= 1.5;
    }

    /// Bytes of the largest tensor that the forward op reads or writes.
    double largest() const {
        double most = 0;
        for (const Tensor& output : forward_.outputs)
            most = std::max(most, static_cast<double>(output.bytes));
        for (const TensorRef& input : forward_.inputs) most = std::max(most, bytes(input));
        return most;
    }

    void update() {
        const OpTraffic traffic = op_traffic(graph_, id_, states_);
        work_.work_class = WorkClass::update;
        work_.bytes = traffic.read_bytes + traffic.written_bytes;
        work_.flops = op_.flops;
        work_.kernels = 1 + 2 * std::min(states_, 2.0);
    }

    bool is_weight_gradient() const { return is_weight_gradient_of(op_); }

    void backward() {
        const GradientWork gradients = gradient_work(graph_, id_);
        work_.stream_bytes = gradients.sum_bytes;
        work_.kernels = gradients.sum_kernels;
        double kept = 0;
        for (const TensorRef& input : op_.inputs) {
            if (!is_gradient(graph_, input)) kept += bytes(input);
        }
        const double one = gradients.received_bytes > 0 ? output_bytes(forward_) : 0;
        const bool second = is_weight_gradient();
        const bool has_data_gradient = second && has_data_backward();
        const KindInfo& kind = kind_info(op_.kind);
        work_.type = number_type(graph_, forward_);
        if (!kind.computes && !kind.parameter) {
            work_.bytes = gradients.view_bytes;
            work_.kernels += gradients.view_kernels;
            if (gradients.view_bytes > 0) {
                work_.work_class = kind.range ? WorkClass::copy : WorkClass::reduction;
            } else {
                work_.work_class = work_.stream_bytes > 0 ? WorkClass::elementwise : WorkClass::none;
            }
            return;
        }
        if (kind_info(forward_.kind).parameter) {
            // An addition to the gradient of shared parameters.
            work_.work_class = WorkClass::elementwise;
            return;
        }
        const double written = output_bytes(op_);
        work_.bytes = one + kept + written;
        // The gradient of the input is a product with the weights, trained or not.
        if (!second)
            work_.bytes +=
                static_cast<double>(std::max(forward_.parameter_bytes, forward_.read_bytes.value_or(0)));
        if (is_product() && forward_.flops > 0) return product_backward(second);
        const Rule& rule = rule_of(op_.kind);
        work_.work_class = rule.work_class;
        work_.flops = op_.flops;
        work_.kernels += rule.backward_kernels;
        if (second) {
            // Sums over all rows; of a look-up, rows are added to a table that is set to zero first.
            if (rule.work_class == WorkClass::gather) {
                work_.work_class = WorkClass::scatter;
                work_.bytes = 3 * one;
                work_.stream_bytes += written;
            } else if (has_data_gradient) {
                // Both gradients come from one kernel, which reads most of what it needs once.
                work_.bytes = one;
                work_.kernels = 0;
            }
            return;
        }
        if (rule.backward_passes > 0) {
            work_.bytes = rule.backward_passes * largest();
        } else if (op_.kind == "add" || op_.kind == "sub") {
            pass_on();
        } else if (op_.kind == "cat" || op_.kind == "stack" || op_.kind == "identity") {
            // Each part of the gradient is a view of it.
            work_.work_class = WorkClass::none;
            if (work_.stream_bytes > 0) work_.work_class = WorkClass::elementwise;
            work_.bytes = 0;
            work_.kernels -= rule.backward_kernels;
        } else if (is_max_pool(op_.kind)) {
            work_.work_class = WorkClass::scatter;
            // Gradient and the positions of the maxima, added to zeros.
            work_.bytes = one + 8 * output_count(forward_) + 2 * written;
        } else if (op_.kind == "mul" && gradient_count() > 1) {
            work_.bytes = 2 * one + kept + written;
            work_.kernels += 1;
        } else if (rule.work_class == WorkClass::gather) {
            work_.work_class = WorkClass::scatter;
            if (op_.kind != "grid_sample") {
                // Zeros, and each number of the gradient is added to its place.
                work_.bytes = written + 3 * one + kept;
                work_.kernels += 1;
            }
        }
    }

    /// Whether the forward op has a "/backward" beside its "/weight_gradient".
    bool has_data_backward() const { return has_data_gradient(graph_, forward_); }

    /// Number of gradients that a backward op makes; an output without bytes only triggers recomputation.
    std::ptrdiff_t gradient_count() const {
        return std::ranges::count_if(op_.outputs, [](const Tensor& output) { return output.bytes > 0; });
    }

    /// The gradient of a sum is passed on; where a summand was broadcast it is summed.
    void pass_on() {
        const double whole = output_count(forward_);
        work_.bytes = 0;
        double kernels = 0;
        for (const Tensor& output : op_.outputs) {
            if (output.bytes == 0 || static_cast<double>(element_count(output)) >= whole) continue;
            work_.bytes += output_bytes(forward_) + static_cast<double>(output.bytes);
            kernels += 1;
        }
        work_.kernels += kernels - rule_of(op_.kind).backward_kernels;
        if (kernels > 0) {
            work_.work_class = WorkClass::reduction;
        } else {
            work_.work_class = work_.stream_bytes > 0 ? WorkClass::elementwise : WorkClass::none;
        }
    }

    void product_backward(bool weight_gradient) {
        // Without a gradient of the input, that of the weights goes back through the steps.
        if (const auto all = steps(); all && (!weight_gradient || !has_data_backward()))
            return add_steps(*all, op_.flops);
        const ProductShape shape = product_shape();
        work_.work_class = product_class(shape);
        work_.gradient =
            work_.work_class == WorkClass::convolution || work_.work_class == WorkClass::depthwise;
        ProductShape data = shape, weights = shape;
        data.columns = shape.depth;
        data.depth = shape.columns;
        if (work_.gradient && input_channels() > 0) {
            // The gradient of the input has its positions and channels.
            const double window = shape.depth / std::max(1.0, input_channels() / shape.batch);
            data.columns = std::max(1.0, input_channels() / shape.batch);
            data.depth = shape.columns * window;
            data.rows = std::max(1.0, shape.flops / (2 * shape.batch * data.columns * data.depth));
        }
        weights.rows = shape.depth;
        weights.depth = shape.rows;
        weights.winograd = false;
        if (weight_gradient) {
            weights.flops = op_.flops;
            add_product(weights);
            const double casts = cast_bytes(shape);
            work_.stream_bytes += casts;
            if (casts > 0) work_.kernels += 1;
            return;
        }
        if (op_.flops > 1.5 * shape.flops && gradient_count() > 1) {
            // Both factors have a gradient.
            data.flops = weights.flops = op_.flops / 2;
            add_product(data);
            add_product(weights);
            work_.bytes += output_bytes(forward_);
            return;
        }
        data.flops = op_.flops;
        add_product(data);
    }

    /// 0 if the file does not say them.
    double input_channels() const {
        if (output_count(forward_) == 0 || !forward_.outputs.front().shape || forward_.inputs.empty())
            return 0;
        const Tensor& input = tensor(forward_.inputs.front());
        return input.shape && input.shape->size() > 1 ? static_cast<double>((*input.shape)[1]) : 0;
    }

    const Graph& graph_;
    const Op& op_;
    const Op& forward_;
    OpId id_;
    double states_;
    OpWork work_;
};

}  // namespace

std::string_view to_string(WorkClass work_class) {
    constexpr std::array<std::string_view, 13> kNames{
        "none", "product",   "batched", "convolution", "depthwise", "elementwise", "softmax",
        "norm", "reduction", "copy",    "gather",      "scatter",   "update"};
    return kNames[static_cast<std::size_t>(work_class)];
}

GradientWork gradient_work(const Graph& graph, OpId id) {
    const Op& op = graph.op(id);
    GradientWork work;
    if (op.phase != Phase::backward || op.recomputes || op.forward_op == kInvalidOp) return work;
    const Op& forward = graph.op(op.forward_op);
    double summed = 0;
    std::size_t gradients = 0;
    bool of_parts = false;
    for (const TensorRef& input : op.inputs) {
        if (!is_gradient(graph, input)) continue;
        const Op* const part = part_of(graph, graph.op(input.op));
        of_parts |= part != nullptr;
        summed += bytes_of(graph, part ? part->inputs.front() : input);
        work.received_bytes += bytes_of(graph, input);
        ++gradients;
    }
    double one = 0;
    for (const Tensor& output : forward.outputs) {
        if (is_floating(output.dtype)) one += static_cast<double>(output.bytes);
    }
    work.summed_bytes = gradients > 1 || of_parts ? one : work.received_bytes;
    const bool second = is_weight_gradient_of(op);
    if (gradients > 1 && !(second && has_data_gradient(graph, forward))) {
        // The outputs of a split are put together at once, if each was read once.
        const bool together = !of_parts && summed <= one * 1.0001;
        work.sum_bytes = together ? 2 * one : 3 * std::max(0.0, summed - one);
        work.sum_kernels = together ? 1 : static_cast<double>(gradients - 1);
    }
    if (second || kind_info(op.kind).computes || gradients == 0) return work;
    if (part_of(graph, op) != nullptr) {
        work.view_bytes = bytes_of(graph, forward.inputs.front()) + 2 * one;
        work.view_kernels = 2;
    } else if (op.kind == "expand" && output_bytes(op) < one) {
        work.view_bytes = one + output_bytes(op);
        work.view_kernels = 1;
    }
    return work;
}

OpWork op_work(const Graph& graph, OpId op, double optimizer_states) {
    return Worker(graph, op, optimizer_states).run();
}

}  // namespace placewright
