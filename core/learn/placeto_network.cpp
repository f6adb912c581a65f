// SPDX-License-Identifier: MIT
#include "core/learn/placeto_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/learn/torch_module.hpp"

namespace placewright {
namespace {

constexpr std::array kDirections{"down", "up"};
constexpr std::array kSetNames{"ancestors", "descendants", "others"};

/// A linear map of the weights: y = W x + b. Stored by columns, so that the compiler can vectorise over
/// outputs.
struct Linear {
    std::vector<float> columns;  ///< [in, out]
    const float* bias = nullptr;
    std::size_t in = 0, out = 0;

    void apply(const float* x, float* y) const {
        std::copy_n(bias, out, y);
        for (std::size_t i = 0; i < in; ++i) {
            const float value = x[i];
            if (value == 0) continue;
            const float* column = columns.data() + i * out;
            for (std::size_t o = 0; o < out; ++o) y[o] += value * column[o];
        }
    }
    void apply_relu(const float* x, float* y) const {
        apply(x, y);
        for (std::size_t o = 0; o < out; ++o) y[o] = std::max(y[o], 0.0F);
    }
};

/// Reads linear maps from flat weights, in their order.
class WeightReader {
public:
    WeightReader(const std::vector<PolicyParameter>& parameters, std::span<const float> weights)
        : parameters_(parameters), weights_(weights) {}

    Linear linear() {
        Linear map;
        map.out = static_cast<std::size_t>(parameters_[next_].shape[0]);
        map.in = static_cast<std::size_t>(parameters_[next_].shape[1]);
        const float* weight = take();
        map.columns.resize(map.in * map.out);
        for (std::size_t o = 0; o < map.out; ++o) {
            for (std::size_t i = 0; i < map.in; ++i) map.columns[i * map.out + o] = weight[o * map.in + i];
        }
        map.bias = take();
        return map;
    }
    std::vector<Linear> linears(std::size_t count) {
        std::vector<Linear> maps;
        for (std::size_t i = 0; i < count; ++i) maps.push_back(linear());
        return maps;
    }

private:
    const float* take() {
        const float* start = weights_.data() + offset_;
        offset_ += parameters_[next_++].size();
        return start;
    }

    const std::vector<PolicyParameter>& parameters_;
    std::span<const float> weights_;
    std::size_t next_ = 0, offset_ = 0;
};

/// Networks of a policy by their role.
struct Networks {
    Networks(const PlacetoNetwork& shape, const std::vector<PolicyParameter>& parameters,
             std::span<const float> weights) {
        WeightReader reader(parameters, weights);
        if (shape.aggregation == PlacetoAggregation::messages) {
            transform = reader.linears(shape.layers + 1);
            for (auto& way : message) {
                way[0] = reader.linears(shape.layers);
                way[1] = reader.linears(shape.layers);
            }
        }
        if (shape.aggregation != PlacetoAggregation::flat) {
            for (auto& set : pool) {
                for (Linear& map : set) map = reader.linear();
            }
        }
        head[0] = reader.linear();
        head[1] = reader.linear();
    }

    std::vector<Linear> transform;
    std::array<std::array<std::vector<Linear>, 2>, 2> message;      ///< [direction][f, g]
    std::array<std::array<Linear, 2>, PlacetoNetwork::kSets> pool;  ///< [set][l, h]
    std::array<Linear, 2> head;
};

/// Rows of numbers, one per node.
class Rows {
public:
    Rows(std::size_t rows, std::size_t width) : width_(width), values_(rows * width) {}
    float* operator[](std::size_t row) { return values_.data() + row * width_; }
    const float* operator[](std::size_t row) const { return values_.data() + row * width_; }
    std::size_t width() const { return width_; }

    /// Returns whether the row changed.
    bool set(std::size_t row, const float* values) {
        float* const mine = (*this)[row];
        if (std::equal(values, values + width_, mine)) return false;
        std::copy_n(values, width_, mine);
        return true;
    }

private:
    std::size_t width_;
    std::vector<float> values_;
};

/// A set of nodes in the order of insertion.
class Nodes {
public:
    explicit Nodes(std::size_t nodes) : in_(nodes) {}
    void add(GroupId node) {
        if (in_[node]) return;
        in_[node] = true;
        list_.push_back(node);
    }
    void clear() {
        for (const GroupId node : list_) in_[node] = false;
        list_.clear();
    }
    auto begin() const { return list_.begin(); }
    auto end() const { return list_.end(); }

private:
    std::vector<bool> in_;
    std::vector<GroupId> list_;
};

/// Embeddings of all nodes and their pooled sums, updated incrementally as features change.
class Embeddings {
public:
    Embeddings(const PlacetoNetwork& shape, const Networks& networks, const PolicyGraph& graph)
        : shape_(shape),
          networks_(networks),
          graph_(graph),
          features_(graph.nodes, shape.node_features()),
          base_(graph.nodes, shape.width),
          embedding_(graph.nodes, shape.embedding()),
          changed_(graph.nodes),
          changed_now_(graph.nodes),
          changed_next_(graph.nodes),
          changed_base_(graph.nodes),
          changed_embedding_(graph.nodes),
          buffer_(2 * std::max({std::size_t{shape.width}, shape.embedding(), shape.node_features()})) {
        if (shape.aggregation == PlacetoAggregation::flat) return;
        for (std::size_t set = 0; set < PlacetoNetwork::kSets; ++set)
            pooled_.emplace_back(graph.nodes, shape.embedding());
        if (shape.aggregation != PlacetoAggregation::messages) return;
        for (auto& way : rounds_) {
            for (std::size_t round = 0; round <= shape.rounds; ++round)
                way.push_back({Rows(graph.nodes, shape.width), Rows(graph.nodes, shape.width)});
        }
    }

    /// Stores the features of a node; everything else is out of date until update().
    void set_features(const PlacetoState& state, GroupId node) {
        state.node_features(shape_, node, buffer_.data());
        if (features_.set(node, buffer_.data())) changed_.add(node);
    }
    void set_all(const PlacetoState& state) {
        for (GroupId node = 0; node < graph_.nodes; ++node) {
            set_features(state, node);
            changed_.add(node);
        }
        everything_ = true;
    }

    void update() {
        changed_embedding_.clear();
        if (shape_.aggregation == PlacetoAggregation::messages) {
            update_messages();
        } else {
            for (const GroupId node : changed_) {
                std::copy_n(features_[node], shape_.embedding(), embedding_[node]);
                changed_embedding_.add(node);
            }
        }
        if (!pooled_.empty()) {
            for (const GroupId node : changed_embedding_) {
                for (std::size_t set = 0; set < PlacetoNetwork::kSets; ++set)
                    networks_.pool[set][0].apply_relu(embedding_[node], pooled_[set][node]);
            }
        }
        changed_.clear();
        everything_ = false;
    }

    const float* features(GroupId node) const { return features_[node]; }
    const float* operator[](GroupId node) const { return embedding_[node]; }
    /// relu(l(embedding)) of the network of a set.
    const float* pooled(std::size_t set, GroupId node) const { return pooled_[set][node]; }

private:
    struct Round {
        Rows embedding;  ///< x
        Rows message;    ///< relu(f(x)); unused in the last round
    };

    void update_messages() {
        changed_base_.clear();
        for (const GroupId node : changed_) {
            const float* x = features_[node];
            float* y = buffer_.data();
            for (std::size_t i = 0; i < networks_.transform.size(); ++i) {
                y = buffer_.data() + (i % 2) * (buffer_.size() / 2);
                const bool last = i + 1 == networks_.transform.size();
                last ? networks_.transform[i].apply(x, y) : networks_.transform[i].apply_relu(x, y);
                x = y;
            }
            if (base_.set(node, y) || everything_) changed_base_.add(node);
        }
        for (std::size_t way = 0; way < 2; ++way) update_messages(way);
    }

    std::span<const GroupId> senders(std::size_t way, GroupId node) const {
        return way == 0 ? graph_.parents(node) : graph_.children(node);
    }
    std::span<const GroupId> readers(std::size_t way, GroupId node) const {
        return way == 0 ? graph_.children(node) : graph_.parents(node);
    }

    void update_messages(std::size_t way) {
        const auto& [f, g] = networks_.message[way];
        auto& rounds = rounds_[way];
        changed_now_.clear();
        for (const GroupId node : changed_base_) {
            std::copy_n(base_[node], shape_.width, rounds[0].embedding[node]);
            changed_now_.add(node);
        }
        for (std::size_t round = 1; round <= shape_.rounds; ++round) {
            Round& before = rounds[round - 1];
            changed_next_.clear();
            for (const GroupId node : changed_base_) changed_next_.add(node);
            for (const GroupId node : changed_now_) {
                const float* message = through(f, before.embedding[node]);
                if (!before.message.set(node, message) && !everything_) continue;
                for (const GroupId reader : readers(way, node)) changed_next_.add(reader);
            }
            std::swap(changed_now_, changed_next_);
            changed_next_.clear();
            for (const GroupId node : changed_now_) {
                if (receive(way, g, before, node, rounds[round]) || everything_) changed_next_.add(node);
            }
            std::swap(changed_now_, changed_next_);
        }
        for (const GroupId node : changed_now_) {
            std::copy_n(rounds.back().embedding[node], shape_.width, embedding_[node] + way * shape_.width);
            changed_embedding_.add(node);
        }
    }

    /// x <- s + relu(g(sum of messages)) for a node, or s alone for a node without senders.
    bool receive(std::size_t way, const std::vector<Linear>& g, const Round& before, GroupId node,
                 Round& now) {
        std::array<float, PlacetoNetwork::kMostWidth> sum{};
        const auto from = senders(way, node);
        const float* added = nullptr;
        if (!from.empty()) {
            for (const GroupId sender : from) {
                const float* message = before.message[sender];
                for (std::size_t i = 0; i < shape_.width; ++i) sum[i] += message[i];
            }
            added = through(g, sum.data());
        }
        std::array<float, PlacetoNetwork::kMostWidth> value{};
        for (std::size_t i = 0; i < shape_.width; ++i)
            value[i] = base_[node][i] + (added != nullptr ? added[i] : 0);
        return now.embedding.set(node, value.data());
    }

    /// Applies layers, each followed by a relu.
    const float* through(const std::vector<Linear>& maps, const float* x) {
        for (std::size_t i = 0; i < maps.size(); ++i) {
            float* y = buffer_.data() + (i % 2) * (buffer_.size() / 2);
            maps[i].apply_relu(x, y);
            x = y;
        }
        return x;
    }

    const PlacetoNetwork& shape_;
    const Networks& networks_;
    const PolicyGraph& graph_;
    Rows features_, base_, embedding_;
    std::array<std::vector<Round>, 2> rounds_;  ///< [direction]
    std::vector<Rows> pooled_;                  ///< [set]
    Nodes changed_, changed_now_, changed_next_, changed_base_, changed_embedding_;
    bool everything_ = false;  ///< recompute everything, whether it changes or not
    std::vector<float> buffer_;
};

/// Logits of the devices for the current node.
class Head {
public:
    Head(const PlacetoNetwork& shape, const Networks& networks, const PolicyGraph& graph)
        : shape_(shape),
          networks_(networks),
          graph_(graph),
          bins_(graph.devices + std::size_t{1}),
          sums_(PlacetoNetwork::kSets * bins_ * shape.embedding()),
          input_(shape.head_inputs()),
          hidden_(shape.hidden),
          probabilities_(graph.devices) {}

    std::span<const float> probabilities(const Embeddings& embeddings, const PlacetoState& state) {
        if (shape_.aggregation == PlacetoAggregation::flat) {
            for (GroupId node = 0; node < graph_.nodes; ++node)
                std::copy_n(embeddings.features(node), shape_.node_features(),
                            input_.data() + node * shape_.node_features());
        } else {
            pool(embeddings, state);
        }
        shape_.one_hot() ? all_at_once() : one_by_one(state);
        for (std::size_t device = 0; device < graph_.devices; ++device)
            probabilities_[device] += state.preference(shape_, device);
        softmax(state.current());
        return probabilities_;
    }

private:
    /// Computes the four parts of the input that all devices share, at its front.
    void pool(const Embeddings& embeddings, const PlacetoState& state) {
        const std::size_t width = shape_.embedding();
        const GroupId current = state.current();
        std::ranges::fill(sums_, 0.0F);
        for (GroupId node = 0; node < graph_.nodes; ++node) {
            if (node == current) continue;
            const std::size_t set = PlacetoNetwork::set_of(graph_, current, node);
            const std::size_t bin = shape_.one_hot() ? 0 : state.device(node);
            const float* added = embeddings.pooled(set, node);
            float* sum = sums_.data() + (set * bins_ + bin) * width;
            for (std::size_t i = 0; i < width; ++i) sum[i] += added[i];
        }
        const float share = 1.0F / static_cast<float>(graph_.nodes);
        for (float& sum : sums_) sum *= share;
        std::vector<float> total(width);
        for (std::size_t set = 0; set < PlacetoNetwork::kSets; ++set) {
            std::ranges::fill(total, 0.0F);
            for (std::size_t bin = 0; bin < bins_; ++bin) {
                const float* sum = sums_.data() + (set * bins_ + bin) * width;
                for (std::size_t i = 0; i < width; ++i) total[i] += sum[i];
            }
            networks_.pool[set][1].apply_relu(total.data(), input_.data() + set * width);
        }
        std::copy_n(embeddings[current], width, input_.data() + PlacetoNetwork::kSets * width);
    }

    void all_at_once() {
        networks_.head[0].apply_relu(input_.data(), hidden_.data());
        networks_.head[1].apply(hidden_.data(), probabilities_.data());
    }

    void one_by_one(const PlacetoState& state) {
        const std::size_t width = shape_.embedding();
        const std::size_t common = shape_.aggregation == PlacetoAggregation::flat
                                       ? graph_.nodes * width
                                       : (PlacetoNetwork::kSets + 1) * width;
        for (std::size_t device = 0; device < graph_.devices; ++device) {
            float* own = input_.data() + common;
            if (shape_.aggregation != PlacetoAggregation::flat) {
                for (std::size_t set = 0; set < PlacetoNetwork::kSets; ++set, own += width)
                    networks_.pool[set][1].apply_relu(sums_.data() + (set * bins_ + device) * width, own);
            }
            state.device_features(device, own);
            networks_.head[0].apply_relu(input_.data(), hidden_.data());
            networks_.head[1].apply(hidden_.data(), &probabilities_[device]);
        }
    }

    /// Softmax over the devices that the node may be on; 0 for the others.
    void softmax(GroupId node) {
        const std::uint8_t* allowed = graph_.allowed.data() + std::size_t{node} * graph_.devices;
        float largest = -std::numeric_limits<float>::infinity(), sum = 0;
        for (std::size_t device = 0; device < graph_.devices; ++device) {
            if (allowed[device] != 0) largest = std::max(largest, probabilities_[device]);
        }
        for (std::size_t device = 0; device < graph_.devices; ++device) {
            probabilities_[device] = allowed[device] != 0 ? std::exp(probabilities_[device] - largest) : 0;
            sum += probabilities_[device];
        }
        for (float& probability : probabilities_) probability /= sum;
    }

    const PlacetoNetwork& shape_;
    const Networks& networks_;
    const PolicyGraph& graph_;
    std::size_t bins_;         ///< one per device, and one for nodes that are on none of them
    std::vector<float> sums_;  ///< [set][bin][embedding]
    std::vector<float> input_, hidden_, probabilities_;
};

}  // namespace

std::size_t PlacetoNetwork::head_inputs() const {
    const std::size_t common =
        aggregation == PlacetoAggregation::flat ? flat_nodes * node_features() : (kSets + 1) * embedding();
    if (one_hot()) return common;
    return common + kDeviceFeatures + (aggregation == PlacetoAggregation::flat ? 0 : kSets * embedding());
}

std::vector<PolicyParameter> PlacetoNetwork::parameters() const {
    std::vector<PolicyParameter> all;
    const auto add = [&](const std::string& name, std::size_t out, std::size_t in, double gain = 1) {
        all.push_back(PolicyParameter::linear(name + ".weight", out, in, gain));
        all.push_back(PolicyParameter::bias(name + ".bias", out));
    };
    const auto number = [](std::size_t i) { return std::to_string(i).insert(0, 1, '.'); };
    if (aggregation == PlacetoAggregation::messages) {
        for (std::size_t i = 0; i <= layers; ++i)
            add("transform" + number(i), width, i == 0 ? node_features() : width);
        for (const std::string way : kDirections) {
            for (const char* part : {".f", ".g"}) {
                for (std::size_t i = 0; i < layers; ++i) add(way + part + number(i), width, width);
            }
        }
    }
    if (aggregation != PlacetoAggregation::flat) {
        for (const std::string set : kSetNames) {
            for (const char* part : {".l", ".h"}) add(set + part, embedding(), embedding());
        }
    }
    add("head.0", hidden, head_inputs());
    // Initially all devices are about equally likely.
    add("head.1", head_outputs(), hidden, 0.1);
    return all;
}

Rollout PlacetoPolicy::roll_out(const PolicyGraph& graph, std::span<const float> weights,
                                const Placement& start, std::span<const GroupId> order, Random& random,
                                bool greedy) const {
    const Networks networks(network_, parameters_, weights);
    PlacetoState state(graph, start);
    Embeddings embeddings(network_, networks, graph);
    Head head(network_, networks, graph);
    Rollout rollout;
    rollout.start = start;
    GroupId before = 0;
    for (const GroupId node : order) {
        state.turn_to(node);
        if (rollout.nodes.empty()) {
            embeddings.set_all(state);
        } else {
            embeddings.set_features(state, before);
            embeddings.set_features(state, node);
        }
        embeddings.update();
        const auto probabilities = head.probabilities(embeddings, state);
        const auto device =
            greedy
                ? static_cast<std::uint16_t>(std::ranges::max_element(probabilities) - probabilities.begin())
                : draw_index(probabilities, random);
        rollout.nodes.push_back(node);
        rollout.devices.push_back(device);
        state.decide(device);
        before = node;
    }
    return rollout;
}

std::vector<float> PlacetoPolicy::probabilities(const PolicyGraph& graph, std::span<const float> weights,
                                                const PlacetoState& state) const {
    const Networks networks(network_, parameters_, weights);
    Embeddings embeddings(network_, networks, graph);
    Head head(network_, networks, graph);
    embeddings.set_all(state);
    embeddings.update();
    const auto probabilities = head.probabilities(embeddings, state);
    return {probabilities.begin(), probabilities.end()};
}

GradientSummary PlacetoPolicy::add_gradient(const GradientTask& task, std::span<float> gradient) const {
    return torch_module().placeto_gradient(network_, parameters_, task, gradient);
}

}  // namespace placewright
