// SPDX-License-Identifier: MIT
// Layers whose weights are stored one after the other, and common code of policies of whole placements.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/learn/torch/objective.hpp"
#include "core/learn/torch/tensors.hpp"

namespace placewright {

/// Declares a network's weights in the order in which WeightReader reads them.
class WeightList {
public:
    void linear(const std::string& name, std::size_t out, std::size_t in, double gain = 1) {
        all.push_back(PolicyParameter::linear(name + ".weight", out, in, gain));
        all.push_back(PolicyParameter::bias(name + ".bias", out));
    }
    void table(const std::string& name, std::size_t rows, std::size_t width) {
        all.push_back({name, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)}, 1});
    }
    void lstm(const std::string& name, std::size_t hidden, std::size_t in) {
        all.push_back(PolicyParameter::linear(name + ".weight_ih", 4 * hidden, in));
        all.push_back(PolicyParameter::linear(name + ".weight_hh", 4 * hidden, hidden));
        all.push_back(PolicyParameter::bias(name + ".bias", 4 * hidden));
    }
    void norm(const std::string& name, std::size_t width) {
        all.push_back(PolicyParameter::bias(name + ".weight", width, 1));
        all.push_back(PolicyParameter::bias(name + ".bias", width));
    }

    std::vector<PolicyParameter> all;
};

class WeightReader {
public:
    WeightReader(const std::vector<PolicyParameter>& parameters, std::span<const float> weights, bool learns)
        : tensors_(weight_tensors(parameters, weights, learns)) {}

    const std::vector<at::Tensor>& tensors() const { return tensors_; }
    at::Tensor take() { return tensors_[next_++]; }

private:
    std::vector<at::Tensor> tensors_;
    std::size_t next_ = 0;
};

struct LinearLayer {
    explicit LinearLayer(WeightReader& reader) : weight(reader.take()), bias(reader.take()) {}
    at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }
    at::Tensor weight, bias;
};

struct NormLayer {
    explicit NormLayer(WeightReader& reader) : weight(reader.take()), bias(reader.take()) {}
    at::Tensor operator()(const at::Tensor& x) const {
        return at::layer_norm(x, weight.sizes(), weight, bias);
    }
    at::Tensor weight, bias;
};

struct LstmLayer {
    explicit LstmLayer(WeightReader& reader)
        : weight_ih(reader.take()), weight_hh(reader.take()), bias(reader.take()) {
        // LibTorch adds two biases. The second is constant here: it initialises forget gates, the second
        // quarter, as open.
        forget = torch::zeros_like(bias);
        forget.narrow(0, forget.size(0) / 4, forget.size(0) / 4).fill_(1);
    }
    std::vector<at::Tensor> tensors() const { return {weight_ih, weight_hh, bias, forget}; }
    at::Tensor weight_ih, weight_hh, bias, forget;
};

inline at::Tensor shaped_logits(const at::Tensor& logits, double temperature, double tanh_constant) {
    const at::Tensor cooled = logits / temperature;
    return tanh_constant > 0 ? tanh_constant * cooled.tanh() : cooled;
}

/// Features that a network reads of the groups of `order`.
struct GroupFeatures {
    at::Tensor kinds;    ///< [place, kind]: shares
    at::Tensor numbers;  ///< [place, kGroupNumbers + 2 * neighbours]
};
/// Shape, time, bytes, memory.
inline constexpr std::size_t kGroupNumbers = 7;
/// Scales the logarithms of extents to about 1.
inline constexpr float kShapeScale = 0.1F;

inline std::vector<std::uint32_t> places_of(const PolicyGraph& graph, std::span<const GroupId> order) {
    std::vector<std::uint32_t> place_of(graph.nodes, static_cast<std::uint32_t>(order.size()));
    for (std::size_t place = 0; place < order.size(); ++place)
        place_of[order[place]] = static_cast<std::uint32_t>(place);
    return place_of;
}

/// A neighbour is described by its place in the order as a share of the length, and by +1 if it reads from
/// the group or -1 if the group reads from it.
inline GroupFeatures group_features(const PolicyGraph& graph, std::span<const GroupId> order,
                                    std::size_t neighbours) {
    const auto place_of = places_of(graph, order);
    const std::size_t columns = kGroupNumbers + 2 * neighbours;
    std::vector<float> kinds, numbers(order.size() * columns);
    float* next = numbers.data();
    for (const GroupId node : order) {
        const float* own = graph.kinds.data() + std::size_t{node} * graph.kind_count;
        kinds.insert(kinds.end(), own, own + graph.kind_count);
        for (std::size_t i = 0; i < 4; ++i) next[i] = kShapeScale * graph.shape[std::size_t{node} * 4 + i];
        next[4] = graph.time[node];
        next[5] = graph.bytes[node];
        next[6] = graph.memory[node];
        float* neighbour = next + kGroupNumbers;
        next += columns;
        for (const bool reader : {true, false}) {
            const auto others = reader ? graph.children(node) : graph.parents(node);
            const double* bytes = reader ? graph.child_bytes.data() + graph.child_begin[node]
                                         : graph.parent_bytes.data() + graph.parent_begin[node];
            std::vector<std::size_t> by_bytes(others.size());
            std::iota(by_bytes.begin(), by_bytes.end(), std::size_t{0});
            std::ranges::stable_sort(by_bytes, std::greater<>(), [&](std::size_t i) { return bytes[i]; });
            for (const std::size_t i : by_bytes) {
                if (neighbour == next || place_of[others[i]] == order.size()) continue;
                *neighbour++ = static_cast<float>(place_of[others[i]] + 1) / static_cast<float>(order.size());
                *neighbour++ = reader ? 1.0F : -1.0F;
            }
        }
    }
    const auto count = static_cast<std::int64_t>(order.size());
    return {tensor_of(kinds, {count, graph.kind_count}, torch::kFloat),
            tensor_of(numbers, {count, static_cast<std::int64_t>(columns)}, torch::kFloat)};
}

/// Returns [place, device]: whether the group may not be there.
inline at::Tensor forbidden_devices(const PolicyGraph& graph, std::span<const GroupId> order) {
    std::vector<std::uint8_t> forbidden;
    for (const GroupId node : order) {
        for (std::size_t device = 0; device < graph.devices; ++device)
            forbidden.push_back(graph.allowed[std::size_t{node} * graph.devices + device] == 0 ? 1 : 0);
    }
    return tensor_of(forbidden, {static_cast<std::int64_t>(order.size()), graph.devices}, torch::kByte)
        .to(torch::kBool);
}
inline at::Tensor without(const at::Tensor& logits, const at::Tensor& forbidden) {
    return logits.masked_fill(forbidden, -std::numeric_limits<float>::infinity());
}

/// Returns a choice by the softmax of logits: drawn, or without `random` the most likely. -inf: never.
inline std::uint16_t choose(std::span<const float> logits, Random* random) {
    const auto best = std::ranges::max_element(logits);
    if (random == nullptr) return static_cast<std::uint16_t>(best - logits.begin());
    std::vector<float> probabilities;
    float sum = 0;
    for (const float logit : logits) sum += probabilities.emplace_back(std::exp(logit - *best));
    for (float& probability : probabilities) probability /= sum;
    return draw_index(probabilities, *random);
}
/// Returns such a choice among the devices that a group may be on.
inline std::uint16_t choose_allowed(const PolicyGraph& graph, GroupId node, std::span<const float> logits,
                                    Random* random) {
    std::vector<float> masked(logits.begin(), logits.end());
    for (std::size_t device = 0; device < masked.size(); ++device) {
        if (graph.allowed[std::size_t{node} * graph.devices + device] == 0)
            masked[device] = -std::numeric_limits<float>::infinity();
    }
    return choose(masked, random);
}
inline std::span<const float> row(const at::Tensor& table, std::size_t index) {
    const auto width = static_cast<std::size_t>(table.size(-1));
    return std::span(table.data_ptr<float>(), static_cast<std::size_t>(table.numel()))
        .subspan(index * width, width);
}

/// Calls `work` for runs of rollouts that read the same order, at most `most` at a time.
template <class Work>
void for_each_batch(const GradientTask& task, std::size_t most, const Work& work) {
    for (std::size_t first = 0; first < task.rollouts.size();) {
        std::size_t last = first + 1;
        while (last < task.rollouts.size() && last - first < most &&
               task.rollouts[last].nodes == task.rollouts[first].nodes)
            ++last;
        if (!task.rollouts[first].nodes.empty()) work(first, last);
        first = last;
    }
}

/// Returns [rollout, place] for a batch of rollouts.
template <class T, class Value>
at::Tensor gather_decisions(std::size_t first, std::size_t last, std::size_t places, torch::ScalarType type,
                            const Value& value) {
    std::vector<T> values;
    for (std::size_t i = first; i < last; ++i) {
        for (std::size_t place = 0; place < places; ++place)
            values.push_back(static_cast<T>(value(i, place)));
    }
    return tensor_of(values, {static_cast<std::int64_t>(last - first), static_cast<std::int64_t>(places)},
                     type);
}

/// A value that is computed once and used by many pieces of an objective. Each piece is differentiated as
/// soon as it is computed, so that memory holds no more than one. pull() propagates the accumulated gradients
/// back to the weights.
class Shared {
public:
    explicit Shared(at::Tensor value) : value_(std::move(value)), leaf_(value_.detach().requires_grad_()) {}
    const at::Tensor& leaf() const { return leaf_; }
    static void pull(const std::vector<const Shared*>& all) {
        std::vector<at::Tensor> values, gradients;
        for (const Shared* shared : all) {
            if (!shared->leaf_.grad().defined()) continue;
            values.push_back(shared->value_);
            gradients.push_back(shared->leaf_.grad());
        }
        if (!values.empty()) torch::autograd::backward(values, gradients);
    }

private:
    at::Tensor value_, leaf_;
};

/// Policy::batch_size of policies of whole placements. Most of the time of a rollout goes into calls of small
/// operations: four rollouts take little longer than one, and workers remain for other cores.
inline constexpr std::uint32_t kBatchSize = 4;

/// Maximum numbers in one tensor of a piece of an objective.
inline constexpr std::size_t kPieceFloats = std::size_t{1} << 21;

inline std::size_t piece(std::size_t floats_each) {
    return std::max<std::size_t>(kPieceFloats / std::max<std::size_t>(floats_each, 1), 1);
}

/// Adds the gradient of decisions that are independent of each other: the logits [place, choice] are those of
/// every rollout in [first, last). `choice`, `advantage`: (rollout, place).
template <class Choice, class Advantage>
void climb_independent(Climb& climb, const GradientTask& task, std::size_t first, std::size_t last,
                       const at::Tensor& logits, const at::Tensor& logits_before, const Choice& choice,
                       const Advantage& advantage) {
    const Shared shared(logits);
    const auto places = static_cast<std::size_t>(logits.size(0));
    const auto choices = logits.size(1);
    const std::size_t step = piece(static_cast<std::size_t>(logits.numel()));
    for (std::size_t from = first; from < last; from += step) {
        const std::size_t to = std::min(last, from + step);
        const auto count = static_cast<std::int64_t>(to - from);
        const auto all = [&](const at::Tensor& table) {
            return table.defined() ? table.unsqueeze(0).expand({count, -1, -1}).reshape({-1, choices})
                                   : table;
        };
        climb.add(
            decision_terms(all(shared.leaf()),
                           gather_decisions<std::int64_t>(from, to, places, torch::kLong, choice).view(-1),
                           gather_decisions<float>(from, to, places, torch::kFloat, advantage).view(-1),
                           all(logits_before), task.entropy_weight, task.divergence_weight));
    }
    Shared::pull({&shared});
}

/// Throws std::invalid_argument if the network was made for graphs of another kind.
inline void check_fits(const PolicyGraph& graph, std::uint32_t devices, std::uint32_t kinds) {
    if (graph.devices == devices && graph.kind_count == kinds) return;
    throw std::invalid_argument("the policy was made for " + std::to_string(devices) + " devices and " +
                                std::to_string(kinds) + " kinds of ops, but here are " +
                                std::to_string(graph.devices) + " and " + std::to_string(graph.kind_count) +
                                ": train it for this machine");
}

}  // namespace placewright
