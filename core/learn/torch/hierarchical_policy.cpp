// SPDX-License-Identifier: MIT
#include "core/learn/torch/networks.hpp"
#include "core/learn/torch/seq2seq.hpp"

namespace placewright {
namespace {

/// Input of the placer: the clusters of a rollout.
struct Clusters {
    Clusters(const PolicyGraph& graph, std::span<const GroupId> order,
             std::span<const std::uint16_t> clusters, std::size_t count)
        : leader(count, order.size()), kinds(count * graph.kind_count), numbers(count * columns(count)) {
        std::vector<std::uint32_t> members(count);
        std::vector<std::size_t> most(count);
        std::vector<std::size_t> cluster_of(graph.nodes, count);
        for (std::size_t place = 0; place < order.size(); ++place) cluster_of[order[place]] = clusters[place];
        for (std::size_t place = 0; place < order.size(); ++place) {
            const GroupId node = order[place];
            const std::size_t cluster = clusters[place];
            ++members[cluster];
            const std::uint8_t* allowed = graph.allowed.data() + std::size_t{node} * graph.devices;
            const std::size_t choices = std::accumulate(allowed, allowed + graph.devices, std::size_t{0});
            if (choices > most[cluster]) {
                most[cluster] = choices;
                leader[cluster] = place;
            }
            for (std::size_t kind = 0; kind < graph.kind_count; ++kind)
                kinds[cluster * graph.kind_count + kind] +=
                    graph.kinds[std::size_t{node} * graph.kind_count + kind];
            float* own = numbers.data() + cluster * columns(count);
            for (std::size_t i = 0; i < 4; ++i)
                own[i] += kShapeScale * graph.shape[std::size_t{node} * 4 + i];
            own[4] += graph.time[node];
            own[5] += graph.bytes[node];
            own[6] += graph.memory[node];
            float* readers = own + kGroupNumbers + 1;
            float* read = readers + count;
            for (const GroupId child : graph.children(node)) {
                if (cluster_of[child] < count) readers[cluster_of[child]] += 1;
            }
            for (const GroupId parent : graph.parents(node)) {
                if (cluster_of[parent] < count) read[cluster_of[parent]] += 1;
            }
        }
        // Kinds and shapes are means over the members, costs are shares of all clusters, edges are shares of
        // the maximum plus one.
        std::array<float, kGroupNumbers> sums{};
        for (std::size_t cluster = 0; cluster < count; ++cluster) {
            for (std::size_t i = 4; i < kGroupNumbers; ++i) sums[i] += numbers[cluster * columns(count) + i];
        }
        for (std::size_t cluster = 0; cluster < count; ++cluster) {
            const float each = members[cluster] > 0 ? 1 / static_cast<float>(members[cluster]) : 0;
            for (std::size_t kind = 0; kind < graph.kind_count; ++kind)
                kinds[cluster * graph.kind_count + kind] *= each;
            float* own = numbers.data() + cluster * columns(count);
            for (std::size_t i = 0; i < 4; ++i) own[i] *= each;
            for (std::size_t i = 4; i < kGroupNumbers; ++i) own[i] /= sums[i] > 0 ? sums[i] : 1;
            own[kGroupNumbers] = static_cast<float>(members[cluster]) / static_cast<float>(order.size());
            for (const std::size_t way : {std::size_t{0}, count}) {
                const std::span<float> edges(own + kGroupNumbers + 1 + way, count);
                const float divisor = *std::ranges::max_element(edges) + 1;
                for (float& edge : edges) edge /= divisor;
            }
        }
    }

    /// Number of columns: group numbers, share of the groups, edges to and from each cluster.
    static std::size_t columns(std::size_t count) { return kGroupNumbers + 1 + 2 * count; }

    std::vector<std::size_t>
        leader;  ///< [cluster]: place of the member that decides; the order's length if there is none
    std::vector<float> kinds;    ///< [cluster, kind]
    std::vector<float> numbers;  ///< [cluster, columns]
};

/// Returns the device of a member that may not be on its cluster's device.
std::uint16_t fastest_device(const PolicyGraph& graph, GroupId node) {
    std::uint16_t best = 0;
    const std::size_t row = std::size_t{node} * graph.devices;
    for (std::uint16_t device = 0; device < graph.devices; ++device) {
        if (graph.allowed[row + device] == 0) continue;
        if (graph.allowed[row + best] == 0 || graph.time_on[row + device] < graph.time_on[row + best])
            best = device;
    }
    return best;
}

class HierarchicalModule {
public:
    static std::vector<PolicyParameter> declare(const HierarchicalNetwork& shape) {
        WeightList list;
        list.table("grouper.kinds", shape.placer.kinds, shape.placer.embedding);
        list.linear("grouper.0", shape.grouper_hidden,
                    shape.placer.embedding + kGroupNumbers + 2 * std::size_t{shape.placer.neighbours});
        list.linear("grouper.1", shape.clusters, shape.grouper_hidden);
        list.table("kinds", shape.placer.kinds, shape.placer.embedding);
        Seq2Seq::declare(list, shape.placer, shape.placer.embedding + Clusters::columns(shape.clusters));
        return list.all;
    }

    HierarchicalModule(const HierarchicalNetwork& shape, const std::vector<PolicyParameter>& parameters,
                       std::span<const float> weights, bool learns)
        : shape_(shape),
          reader_(parameters, weights, learns),
          grouper_kinds_(reader_.take()),
          grouper_hidden_(reader_),
          grouper_(reader_),
          kinds_(reader_.take()),
          placer_(shape.placer, reader_) {}

    const std::vector<at::Tensor>& weights() const { return reader_.tensors(); }
    const Seq2Seq& placer() const { return placer_; }

    /// [place, cluster]
    at::Tensor grouper_logits(const GroupFeatures& features) const {
        const at::Tensor input =
            torch::cat({torch::mm(features.kinds, grouper_kinds_), features.numbers}, -1);
        return grouper_(torch::relu(grouper_hidden_(input)));
    }

    /// Returns the input of the placer [rollout, cluster, input].
    at::Tensor inputs(std::span<const Clusters> rollouts) const {
        std::vector<float> kinds, numbers;
        for (const Clusters& clusters : rollouts) {
            kinds.insert(kinds.end(), clusters.kinds.begin(), clusters.kinds.end());
            numbers.insert(numbers.end(), clusters.numbers.begin(), clusters.numbers.end());
        }
        const auto count = static_cast<std::int64_t>(rollouts.size());
        const at::Tensor kind_table =
            tensor_of(kinds, {count, shape_.clusters, shape_.placer.kinds}, torch::kFloat);
        const auto columns = static_cast<std::int64_t>(Clusters::columns(shape_.clusters));
        return torch::cat({torch::matmul(kind_table, kinds_),
                           tensor_of(numbers, {count, shape_.clusters, columns}, torch::kFloat)},
                          -1);
    }

private:
    const HierarchicalNetwork& shape_;
    WeightReader reader_;
    at::Tensor grouper_kinds_;
    LinearLayer grouper_hidden_, grouper_;
    at::Tensor kinds_;
    Seq2Seq placer_;
};

class HierarchicalPolicy final : public Policy {
public:
    explicit HierarchicalPolicy(const HierarchicalNetwork& shape)
        : shape_(shape), parameters_(HierarchicalModule::declare(shape)) {}

    const std::vector<PolicyParameter>& parameters() const override { return parameters_; }
    bool improves() const override { return false; }
    std::uint32_t batch_size() const override { return kBatchSize; }

    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                     std::span<const GroupId> order, Random& random, bool greedy) const override {
        check_fits(graph, shape_.placer.devices, shape_.placer.kinds);
        const c10::InferenceMode none;
        Random* const draws = greedy ? nullptr : &random;
        Rollout rollout{start, {order.begin(), order.end()}, {}, {}};
        if (order.empty()) return rollout;
        const HierarchicalModule network(shape_, parameters_, weights, false);
        const at::Tensor grouper =
            network.grouper_logits(group_features(graph, order, shape_.placer.neighbours))
                .to(torch::kCPU)
                .contiguous();
        for (std::size_t place = 0; place < order.size(); ++place)
            rollout.clusters.push_back(choose(row(grouper, place), draws));
        const Clusters clusters(graph, order, rollout.clusters, shape_.clusters);
        std::vector<std::uint16_t> device_of(shape_.clusters);
        const auto decide = [&](std::size_t cluster, std::span<const float> logits) -> std::int64_t {
            if (clusters.leader[cluster] == order.size()) return shape_.placer.devices;
            return device_of[cluster] = choose_allowed(graph, order[clusters.leader[cluster]], logits, draws);
        };
        network.placer().decode(network.placer().encode(network.inputs({&clusters, 1})), decide);
        for (std::size_t place = 0; place < order.size(); ++place) {
            const std::uint16_t device = device_of[rollout.clusters[place]];
            const bool may = graph.allowed[std::size_t{order[place]} * graph.devices + device] != 0;
            rollout.devices.push_back(may ? device : fastest_device(graph, order[place]));
        }
        return rollout;
    }

    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override {
        check_fits(task.graph, shape_.placer.devices, shape_.placer.kinds);
        const HierarchicalModule now(shape_, parameters_, task.weights, true);
        std::optional<HierarchicalModule> before;
        if (!task.weights_before.empty()) before.emplace(shape_, parameters_, task.weights_before, false);
        Climb climb;
        const std::size_t most = Seq2Seq::batch(shape_.placer, shape_.clusters);
        for_each_batch(task, most, [&](std::size_t first, std::size_t last) {
            const std::vector<GroupId>& order = task.rollouts[first].nodes;
            const GroupFeatures features = group_features(task.graph, order, shape_.placer.neighbours);
            climb_independent(
                climb, task, first, last, now.grouper_logits(features),
                before ? before->grouper_logits(features) : at::Tensor(),
                [&](std::size_t i, std::size_t place) { return task.rollouts[i].clusters[place]; },
                [&](std::size_t i, std::size_t) { return task.advantages[i].back(); });

            std::vector<Clusters> rollouts;
            for (std::size_t i = first; i < last; ++i)
                rollouts.emplace_back(task.graph, order, task.rollouts[i].clusters, shape_.clusters);
            Seq2Seq::climb(
                climb, task, now.placer(), now.inputs(rollouts), before ? &before->placer() : nullptr,
                before ? before->inputs(rollouts) : at::Tensor(), decisions(task, first, rollouts));
        });
        add_gradients(now.weights(), gradient);
        return climb.summary();
    }

private:
    /// Returns the device of each cluster with members, which is that of its leader.
    Seq2Seq::Decisions decisions(const GradientTask& task, std::size_t first,
                                 std::span<const Clusters> rollouts) const {
        const std::int64_t none = shape_.placer.devices;
        std::vector<std::int64_t> previous, choices;
        std::vector<std::uint8_t> forbidden;
        std::vector<float> advantages;
        for (std::size_t i = 0; i < rollouts.size(); ++i) {
            const Rollout& rollout = task.rollouts[first + i];
            std::int64_t device_before = none;
            for (const std::size_t leader : rollouts[i].leader) {
                const bool decided = leader < rollout.nodes.size();
                previous.push_back(device_before);
                device_before = decided ? rollout.devices[leader] : none;
                // A cluster that decides nothing has the first device as its only choice, with probability 1.
                choices.push_back(decided ? rollout.devices[leader] : 0);
                advantages.push_back(decided ? static_cast<float>(task.advantages[first + i][leader]) : 0);
                for (std::size_t device = 0; device < task.graph.devices; ++device) {
                    const bool may =
                        decided ? task.graph.allowed[std::size_t{rollout.nodes[leader]} * task.graph.devices +
                                                     device] != 0
                                : device == 0;
                    forbidden.push_back(may ? 0 : 1);
                }
            }
        }
        const auto count = static_cast<std::int64_t>(rollouts.size()),
                   clusters = static_cast<std::int64_t>(shape_.clusters);
        return {tensor_of(previous, {count, clusters}, torch::kLong),
                tensor_of(choices, {count, clusters}, torch::kLong),
                tensor_of(forbidden, {count, clusters, task.graph.devices}, torch::kByte).to(torch::kBool),
                tensor_of(advantages, {count, clusters}, torch::kFloat)};
    }

    HierarchicalNetwork shape_;
    std::vector<PolicyParameter> parameters_;
};

}  // namespace

std::unique_ptr<Policy> make_hierarchical_policy(const HierarchicalNetwork& network) {
    return std::make_unique<HierarchicalPolicy>(network);
}

}  // namespace placewright
