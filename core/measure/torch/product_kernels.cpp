// SPDX-License-Identifier: MIT
// Products of matrices: linear maps, attention, recurrent cells.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "core/measure/torch/kernel_request.hpp"

namespace placewright {
namespace {

Kernel linear(const KernelRequest& request) {
    const std::int64_t features = request.output().empty() ? 1 : request.output().back();
    Kernel kernel;
    if (request.inputs() == 0) {
        // All operands are held by the op: a buffer with the shape of the output but for the features, whose
        // number follows from that of the weights.
        const std::int64_t count = request.parameter_count();
        const auto& counts = request.parameter_counts();
        const bool bias = counts.empty() ? false : counts.size() > 1;
        const std::int64_t weights = bias ? count - features : count;
        if (features < 1 || weights < 1 || weights % features != 0)
            refuse("it reads no tensor, and its " + std::to_string(count) +
                   " parameters do not fit its output " + shape_text(request.output()));
        kernel.parameters = {{features, weights / features}};
        if (bias) kernel.parameters.push_back({features});
        request.expect_parameters(kernel.parameters);
        Shape from = request.output();
        if (from.empty()) from.push_back(0);
        from.back() = weights / features;
        kernel.buffers = {from};
        kernel.forward = [](const KernelCall& call) -> Tensors {
            return {at::linear(call.buffers[0], call.parameters[0],
                               call.parameters.size() > 1 ? call.parameters[1] : at::Tensor())};
        };
        return kernel;
    }
    const Shape& from = request.input();
    if (from.empty()) refuse("its input is a single number");
    if (request.inputs() == 2 && request.input(1) == Shape{features} && request.parameter_count() > 0) {
        // The bias is computed, the weight is not.
        kernel.parameters = {{features, from.back()}};
        request.expect_parameters(kernel.parameters);
        kernel.forward = [](const KernelCall& call) -> Tensors {
            return {at::linear(call.inputs[0], call.parameters[0], call.inputs[1])};
        };
        return kernel;
    }
    if (request.inputs() >= 2) {
        const Shape& weight = request.input(1);
        // A file may store the weight of several layers once, for all of them as columns.
        const bool columns = weight == Shape{from.back(), features} && from.back() != features;
        if (!columns && weight != Shape{features, from.back()})
            refuse("its weight is " + shape_text(weight) + ", expected " +
                   shape_text({features, from.back()}));
        const bool bias_read = request.inputs() > 2;
        if (!bias_read && request.parameter_count() > 0) kernel.parameters = {{features}};
        request.expect_parameters(kernel.parameters);
        kernel.forward = [bias_read, columns](const KernelCall& call) -> Tensors {
            const at::Tensor bias = bias_read                 ? call.inputs[2]
                                    : call.parameters.empty() ? at::Tensor()
                                                              : call.parameters[0];
            return {at::linear(call.inputs[0], columns ? call.inputs[1].t() : call.inputs[1], bias)};
        };
        return kernel;
    }
    kernel.parameters = {{features, from.back()}};
    if (request.parameter_count() == features * (from.back() + 1)) kernel.parameters.push_back({features});
    request.expect_parameters(kernel.parameters);
    kernel.forward = [](const KernelCall& call) -> Tensors {
        return {at::linear(call.inputs[0], call.parameters[0],
                           call.parameters.size() > 1 ? call.parameters[1] : at::Tensor())};
    };
    return kernel;
}

/// x @ y, where a parameter may take the place of y.
Kernel matmul(const KernelRequest& request) {
    Kernel kernel;
    if (request.inputs() == 1) {
        const Shape &from = request.input(), &to = request.output();
        if (from.empty() || to.empty()) refuse("it multiplies single numbers");
        // ONNX's MatMul with a weight.
        const std::int64_t count = request.parameter_count(), matrix = from.back() * to.back();
        if (count != matrix) refuse("its second factor is unknown");
        kernel.parameters = {{from.back(), to.back()}};
        kernel.forward = [](const KernelCall& call) -> Tensors {
            return {at::matmul(call.inputs[0], call.parameters[0])};
        };
        return kernel;
    }
    request.expect_inputs(2);
    request.expect_parameters({});
    kernel.forward = [](const KernelCall& call) -> Tensors {
        return {at::matmul(call.inputs[0], call.inputs[1])};
    };
    return kernel;
}

/// addmm and baddbmm: a + b @ c; with one input the weight and the bias are parameters (a linear map).
Kernel sum_and_product(const KernelRequest& request) {
    Kernel kernel;
    if (request.inputs() == 3) {
        request.expect_parameters({});
        kernel.forward = [](const KernelCall& call) -> Tensors {
            return {call.inputs[0] + at::matmul(call.inputs[1], call.inputs[2])};
        };
        if (request.kind() == "addmm")
            kernel.forward = [](const KernelCall& call) -> Tensors {
                return {at::addmm(call.inputs[0], call.inputs[1], call.inputs[2])};
            };
        return kernel;
    }
    if (request.inputs() == 1) return linear(request);
    refuse("it reads " + std::to_string(request.inputs()) + " tensors, expected 3 or 1");
}

/// softmax(q k^T / sqrt(features)) v, with the features of each tensor in `heads` parts if they are together.
Kernel attention(const KernelRequest& request) {
    request.expect_inputs(3);
    request.expect_parameters({});
    const std::int64_t heads = request.integer("heads").value_or(1);
    const std::size_t rank = request.input().size();
    const bool parted = rank >= 4 || heads == 1;
    if (rank < 3 || (!parted && request.input().back() % heads != 0))
        refuse("its input is " + shape_text(request.input()) + ", which has no " + std::to_string(heads) +
               " heads");
    const auto attend = [](const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
#if TORCH_VERSION_MAJOR >= 2
        return at::scaled_dot_product_attention(query, key, value);
#else
        const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
        return at::matmul(at::softmax(at::matmul(query * scale, key.transpose(-2, -1)), -1), value);
#endif
    };
    if (parted)
        return {{}, {}, [attend](const KernelCall& call) -> Tensors {
                    return {attend(call.inputs[0], call.inputs[1], call.inputs[2])};
                }};
    return {{}, {}, [attend, heads](const KernelCall& call) -> Tensors {
                const auto part = [&](const at::Tensor& x) {
                    return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
                };
                return {attend(part(call.inputs[0]), part(call.inputs[1]), part(call.inputs[2]))
                            .transpose(1, 2)
                            .flatten(2)};
            }};
}

/// What an op of attention reads: query, key and value, then masks of the scores or of the keys, and where
/// the parameters do not hold the projections of the inputs, their weights and biases as parts.
struct AttentionInputs {
    std::size_t key = 0, value = 0;
    std::optional<std::size_t> score_mask, key_mask;
    std::vector<std::size_t> weights, biases;
};

AttentionInputs attention_inputs(const KernelRequest& request, bool weights_read) {
    AttentionInputs found;
    const Shape& query = request.input();
    const std::int64_t width = query.back();
    const auto is_sequence = [&](std::size_t k) {
        const Shape& shape = request.input(k);
        return shape.size() == 3 && shape[1] == query[1] && shape[2] == width;
    };
    std::size_t k = 1;
    if (k < request.inputs() && is_sequence(k)) found.key = found.value = k++;
    if (k < request.inputs() && is_sequence(k) && request.input(k) == request.input(found.key))
        found.value = k++;
    // One product projects what is one tensor.
    const auto same = [&](std::size_t a, std::size_t b) {
        return request.op().inputs[a] == request.op().inputs[b];
    };
    if (same(found.value, found.key)) found.value = found.key;
    if (found.value == found.key && same(found.key, 0)) found.value = found.key = 0;
    const std::int64_t length = query[0], batch = query[1], keys = request.input(found.key)[0];
    for (; k < request.inputs(); ++k) {
        const Shape& shape = request.input(k);
        const bool whole = !shape.empty() && shape.front() % width == 0 && shape.front() <= 3 * width;
        if (weights_read && shape.size() == 2 && whole && shape[1] == width) {
            found.weights.push_back(k);
        } else if (weights_read && shape.size() == 1 && whole) {
            found.biases.push_back(k);
        } else if (const DType type = request.input_type(k); !is_floating(type) && type != DType::boolean) {
            continue;
        } else if (shape == Shape{length, keys} ||
                   (shape.size() == 3 && shape[1] == length && shape[2] == keys)) {
            found.score_mask = k;
        } else if (shape == Shape{batch, keys}) {
            found.key_mask = k;
        }
    }
    return found;
}

std::int64_t joined_rows(const KernelRequest& request, const std::vector<std::size_t>& parts) {
    std::int64_t rows = 0;
    for (const std::size_t k : parts) rows += request.input(k).front();
    return rows;
}

at::Tensor joined(const Tensors& inputs, const std::vector<std::size_t>& parts) {
    if (parts.empty()) return {};
    Tensors all;
    for (const std::size_t k : parts) all.push_back(inputs[k]);
    return all.size() == 1 ? all[0] : at::cat(all);
}

/// What is added to scores where a mask says so: a boolean one takes keys out.
at::Tensor added_mask(const at::Tensor& mask, const at::Tensor& scores) {
    if (mask.scalar_type() != at::kBool) return mask.to(scores.scalar_type());
    constexpr double kOut = -3e4;  // float16 has it, and its exponential is 0
    return at::zeros(mask.sizes(), scores.options()).masked_fill(mask, kOut);
}

/// torch.nn.MultiheadAttention: projections of query, key and value, attention, projection of the result, as
/// torch.nn.functional.multi_head_attention_forward computes them.
Kernel multi_head_attention(const KernelRequest& request) {
    request.expect_rank(3);
    const std::int64_t width = request.input().back();
    constexpr std::int64_t kWidest = std::int64_t{1} << 24;
    if (width < 1 || width > kWidest) refuse("its input is " + shape_text(request.input()));
    auto heads = request.integer("heads");
    // The usual size of a head, in files that do not give the number of heads.
    constexpr std::int64_t kHeadFeatures = 64;
    if (!heads && width % kHeadFeatures == 0) heads = width / kHeadFeatures;
    if (!heads || *heads < 1 || width % *heads != 0)
        refuse(
            "the network file does not give its number of heads: export the network again, or add an "
            "attribute \"heads\"");
    const std::int64_t count = request.parameter_count(), square = width * width;
    const bool weights_read = count == square || count == square + width;
    const bool bias = count == square + width || count == 4 * (square + width);
    Kernel kernel;
    if (!weights_read) kernel.parameters.push_back({3 * width, width});
    if (!weights_read && bias) kernel.parameters.push_back({3 * width});
    kernel.parameters.push_back({width, width});
    if (bias) kernel.parameters.push_back({width});
    request.expect_parameters(kernel.parameters);
    const AttentionInputs read = attention_inputs(request, weights_read);
    if (weights_read && joined_rows(request, read.weights) != 3 * width)
        refuse("it reads no weights for its query, key and value");
    const bool drops = request.has("dropout");
    kernel.forward = [=, heads = *heads](const KernelCall& call) -> Tensors {
        const at::Tensor weight = weights_read ? joined(call.inputs, read.weights) : call.parameters[0];
        const at::Tensor offset = weights_read ? joined(call.inputs, read.biases)
                                  : bias       ? call.parameters[1]
                                               : at::Tensor();
        const auto part = [&](const at::Tensor& from, std::int64_t begin, std::int64_t parts) {
            return at::linear(from, weight.narrow(0, begin * width, parts * width),
                              offset.defined() ? offset.narrow(0, begin * width, parts * width) : offset);
        };
        const at::Tensor& query = call.inputs[0];
        Tensors maps;
        if (read.value == 0) {
            maps = part(query, 0, 3).chunk(3, -1);
        } else if (read.key == read.value) {
            maps = part(call.inputs[read.key], 1, 2).chunk(2, -1);
            maps.insert(maps.begin(), part(query, 0, 1));
        } else {
            maps = {part(query, 0, 1), part(call.inputs[read.key], 1, 1),
                    part(call.inputs[read.value], 2, 1)};
        }
        // [tokens, batch, width] as [batch * heads, tokens, width of a head].
        const std::int64_t batch = query.size(1), head = width / heads;
        for (at::Tensor& map : maps)
            map = map.contiguous().view({map.size(0), batch * heads, head}).transpose(0, 1);
        at::Tensor scores =
            at::bmm(maps[0] * (1 / std::sqrt(static_cast<double>(head))), maps[1].transpose(1, 2));
        if (read.score_mask) scores = scores + added_mask(call.inputs[*read.score_mask], scores);
        if (read.key_mask)
            scores = (scores.view({batch, heads, scores.size(1), scores.size(2)}) +
                      added_mask(call.inputs[*read.key_mask], scores).view({batch, 1, 1, scores.size(2)}))
                         .view(scores.sizes());
        at::Tensor shares = at::softmax(scores, -1);
        if (drops && call.training) {
            constexpr double kKept = 0.5;
            at::Tensor noise = at::empty_like(shares);
            noise.bernoulli_(kKept, call.generator).div_(kKept);
            shares = shares * noise;
        }
        const at::Tensor mixed =
            at::bmm(shares, maps[2]).transpose(0, 1).contiguous().view({query.size(0), batch, width});
        const std::size_t out = weights_read ? 0 : bias ? 2 : 1;
        return {at::linear(mixed, call.parameters[out], bias ? call.parameters[out + 1] : at::Tensor())};
    };
    return kernel;
}

/// A step of an LSTM (Hochreiter, Schmidhuber, 1997): reads parts of its input, state and cell if it has a
/// state, and one matrix of all weights [4 hidden, inputs + hidden + 1], the last column of which is the
/// bias. Returns state, cell and the gates.
Kernel lstm_cell(const KernelRequest& request) {
    if (request.outputs() < 2) refuse("it has fewer than two outputs");
    const std::int64_t hidden = request.output().back();
    request.expect_inputs(2);
    const Shape& weights = request.input(request.inputs() - 1);
    if (request.parameter_count() > 0 || weights.size() != 2 || weights[0] != 4 * hidden)
        refuse("expected its weights as last input, one matrix of " + std::to_string(4 * hidden) + " rows");
    std::int64_t features = 0;
    for (std::size_t k = 0; k + 1 < request.inputs(); ++k) features += request.input(k).back();
    // The cell is no factor of the weights.
    const bool stateful = request.inputs() >= 4 && features - hidden + 1 == weights[1];
    const std::int64_t inputs = stateful ? features - 2 * hidden : features;
    if (inputs < 1 || inputs + hidden + 1 > weights[1])
        refuse("its weights are " + shape_text(weights) + ", which do not fit its inputs");
    const std::size_t outputs = request.outputs();
    return {{}, {}, [=](const KernelCall& call) -> Tensors {
                const at::Tensor& all = call.inputs.back();
                const std::size_t parts = call.inputs.size() - (stateful ? 3 : 1);
                const Tensors input(call.inputs.begin(),
                                    call.inputs.begin() + static_cast<std::ptrdiff_t>(parts));
                const at::Tensor x = input.size() == 1 ? input[0] : at::cat(input, -1);
                // Parts of one split: their gradients are put side by side, without zeros for the rest of
                // each.
                const std::int64_t unread = all.size(1) - 1 - hidden - inputs;
                const auto columns = all.split_with_sizes({inputs, unread, hidden, 1}, 1);
                at::Tensor gates = at::linear(x, columns[0], columns[3].squeeze(1));
                if (stateful) gates = gates + at::linear(call.inputs[parts], columns[2]);
                const auto part = gates.chunk(4, 1);
                at::Tensor cell = at::sigmoid(part[0]) * at::tanh(part[2]);
                if (stateful) cell = cell + at::sigmoid(part[1]) * call.inputs[parts + 1];
                const at::Tensor state = at::sigmoid(part[3]) * at::tanh(cell);
                Tensors result{state, cell, gates};
                result.resize(std::min<std::size_t>(outputs, 3));
                return result;
            }};
}

/// The equation of a product of matrices, whose rows and columns are the last two dimensions of all three
/// tensors; the first that fits the shapes and the FLOPs, of one that turns neither, the second, the first or
/// both factors.
std::string equation_of(const KernelRequest& request) {
    const auto refuse_it = [] {
        refuse(
            "the network file does not give its equation, and none follows from its shapes: export the "
            "network again, or add an attribute \"equation\"");
    };
    if (request.inputs() != 2) refuse_it();
    const Shape &a = request.input(0), &b = request.input(1), &to = request.output();
    const std::size_t rank = to.size();
    if (rank < 2 || rank > 20 || a.size() != rank || b.size() != rank ||
        !std::equal(a.begin(), a.end() - 2, to.begin()) || !std::equal(b.begin(), b.end() - 2, to.begin()))
        refuse_it();
    std::string batch;
    for (std::size_t k = 0; k + 2 < rank; ++k) batch += static_cast<char>('a' + k);
    for (const bool turns_a : {false, true}) {
        for (const bool turns_b : {false, true}) {
            const std::int64_t rows = a[rank - (turns_a ? 1 : 2)], inner = a[rank - (turns_a ? 2 : 1)],
                               columns = b[rank - (turns_b ? 2 : 1)];
            if (inner != b[rank - (turns_b ? 1 : 2)] || rows != to[rank - 2] || columns != to[rank - 1])
                continue;
            if (request.op().flops > 0 &&
                request.op().flops != 2.0 * static_cast<double>(product(to) * inner))
                continue;
            return batch + (turns_a ? "zx," : "xz,") + batch + (turns_b ? "yz->" : "zy->") + batch + "xy";
        }
    }
    refuse_it();
    return {};
}

}  // namespace

std::optional<Kernel> make_product(const KernelRequest& request) {
    const std::string& kind = request.kind();
    if (kind == "linear") return linear(request);
    if (kind == "matmul" || kind == "bmm" || kind == "mm") return matmul(request);
    if (kind == "addmm" || kind == "baddbmm") return sum_and_product(request);
    if (kind == "scaled_dot_product_attention") return attention(request);
    if (kind == "multi_head_attention_forward") return multi_head_attention(request);
    if (kind == "lstm_cell") return lstm_cell(request);
    if (kind == "einsum") {
        std::string equation = request.text("equation");
        if (equation.empty()) equation = equation_of(request);
        request.expect_parameters({});
        return Kernel{{}, {}, [equation](const KernelCall& call) -> Tensors {
                          return {at::einsum(equation, call.inputs)};
                      }};
    }
    return std::nullopt;
}

}  // namespace placewright
