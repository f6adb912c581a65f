// SPDX-License-Identifier: MIT
// METIS: Karypis, Kumar: A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs (1998),
// and Multilevel Algorithms for Multi-Constraint Graph Partitioning (1998), for the second balance.
#include <algorithm>
#include <array>
#include <memory>
#include <metis.h>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/base/silent_stdout.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/partition.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

static_assert(std::is_same_v<idx_t, std::int32_t> && std::is_same_v<real_t, float>);

struct MetisOptions : PartitionOptions {
    MetisOptions() = default;  // avoids a warning of GCC 12 about a partly initialised aggregate

    std::string method = "all";
    std::string objective = "cut";
    bool memory = true;
};

const OptionSchema<MetisOptions>& metis_schema() {
    using Options = MetisOptions;
    static const auto schema =
        add_partition_options(OptionSchema<Options>{})
            .add("method", &Options::method, {"all", "recursive", "k-way"},
                 "recursive: recursive bisection, which keeps the balance better; k-way: all parts at once; "
                 "all: one, then the other.")
            .add("objective", &Options::objective, {"cut", "volume"},
                 "k-way: what is minimised. cut: traffic of all cut edges; volume: bytes that groups send, "
                 "once per part that reads them.")
            .add("memory", &Options::memory,
                 "Balance memory too, as far as the devices' memory limits require it.");
    return schema;
}

/// METIS draws its random numbers from rand() and prints its complaints to standard output.
std::mutex& metis_library() {
    static std::mutex mutex;
    return mutex;
}

/// The largest sums that METIS forms stay below 2^31.
constexpr double kMetisVertexWeight = 1 << 24;
constexpr double kMetisEdgeWeight = 1 << 26;

class Metis {
public:
    Metis(const SearchContext& context, const MetisOptions& options)
        : options_(options),
          partition_(DeviceChoices(context.problem, options.allow_cpu), options.edges),
          vertices_(partition_.choices().movable()),
          trials_(partition_trials(partition_.choices(), options, options.method == "all" ? 2 : 1,
                                   context.seed)) {
        const WeightedGraph graph = subgraph(partition_.graph(), vertices_);
        begin_.assign(graph.begin.begin(), graph.begin.end());
        neighbour_.assign(graph.neighbour.begin(), graph.neighbour.end());
        edge_weight_ = whole_weights(graph.traffic, kMetisEdgeWeight);
        time_weight_ = whole_weights(graph.time_s, kMetisVertexWeight);
        memory_weight_ = whole_weights(graph.bytes, kMetisVertexWeight);
        std::vector<double> sent(graph.size());
        for (std::size_t vertex = 0; vertex < graph.size(); ++vertex)
            sent[vertex] = sent_by(vertices_[vertex]);
        sent_ = whole_weights(sent, kMetisEdgeWeight);
    }

    std::optional<Placement> next() {
        if (next_ == trials_.size()) return {};
        const PartitionTrial& trial = trials_[next_++];
        const std::vector<DeviceId> devices = partition_.devices(trial.parts);
        return partition_.placement(parts(trial, devices), devices);
    }

private:
    /// Bytes of a group's tensors that others read.
    double sent_by(GroupId group) const {
        const Problem& problem = partition_.choices().problem();
        double sum = 0;
        for (const OpId op : problem.grouping.members[group]) {
            for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1];
                 ++tensor) {
                const auto consumers =
                    std::span(problem.consumer)
                        .subspan(problem.consumer_begin[tensor],
                                 problem.consumer_begin[tensor + 1] - problem.consumer_begin[tensor]);
                if (std::ranges::any_of(
                        consumers, [&](OpId reader) { return problem.grouping.group_of[reader] != group; }))
                    sum += problem.tensor_bytes[tensor];
            }
        }
        return sum;
    }

    std::vector<std::int32_t> parts(const PartitionTrial& trial, std::span<const DeviceId> devices) const {
        std::vector<idx_t> part_of(vertices_.size(), 0);
        if (trial.parts < 2) return part_of;
        const Problem& problem = partition_.choices().problem();
        std::vector<double> speed;
        std::vector<double> memory;
        for (const DeviceId device : devices) {
            speed.push_back(partition_.speed(device));
            memory.push_back(problem.memory_limit_bytes[device]);
        }
        const double needed =
            std::accumulate(partition_.graph().bytes.begin(), partition_.graph().bytes.end(), 0.0);
        const double room = std::accumulate(memory.begin(), memory.end(), 0.0) / std::max(needed, 1.0);
        // If one device could hold more than everything, memory sets no limit.
        const bool by_memory = options_.memory && needed > 0 && room < static_cast<double>(trial.parts);

        idx_t constraints = by_memory ? 2 : 1;
        const std::vector<double> time_target = partition_.targets(devices, speed, partition_.graph().time_s);
        const std::vector<double> memory_target =
            partition_.targets(devices, memory, partition_.graph().bytes);
        std::vector<real_t> target;
        for (std::size_t part = 0; part < devices.size(); ++part) {
            target.push_back(static_cast<real_t>(time_target[part]));
            if (by_memory) target.push_back(static_cast<real_t>(memory_target[part]));
        }
        std::vector<idx_t> weight;
        for (std::size_t vertex = 0; vertex < vertices_.size(); ++vertex) {
            weight.push_back(time_weight_[vertex]);
            if (by_memory) weight.push_back(memory_weight_[vertex]);
        }
        // A tenth of the room is reserved for what ops need while they run.
        std::array tolerance{static_cast<real_t>(1 + trial.imbalance),
                             static_cast<real_t>(std::max(1.01, 0.9 * room))};

        std::array<idx_t, METIS_NOPTIONS> settings{};
        auto vertices = static_cast<idx_t>(vertices_.size());
        auto count = static_cast<idx_t>(trial.parts);
        idx_t cut = 0;
        std::vector<idx_t> begin(begin_), neighbour(neighbour_), edge_weight(edge_weight_), sent(sent_);
        const bool k_way = options_.method == "k-way" || (options_.method == "all" && trial.variant == 1);
        const std::lock_guard lock(metis_library());
        const SilentStdout silent;
        METIS_SetDefaultOptions(settings.data());
        settings[METIS_OPTION_SEED] = trial.seed;
        settings[METIS_OPTION_NUMBERING] = 0;
        if (k_way)
            settings[METIS_OPTION_OBJTYPE] =
                options_.objective == "volume" ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
        const int status = (k_way ? METIS_PartGraphKway : METIS_PartGraphRecursive)(
            &vertices, &constraints, begin.data(), neighbour.data(), weight.data(), sent.data(),
            edge_weight.data(), &count, target.data(), tolerance.data(), settings.data(), &cut,
            part_of.data());
        if (status != METIS_OK)
            throw std::runtime_error("METIS could not cut the graph (status " + std::to_string(status) + ")");
        return part_of;
    }

    MetisOptions options_;
    Partition partition_;
    std::span<const GroupId> vertices_;  ///< the movable groups
    std::vector<PartitionTrial> trials_;
    std::size_t next_ = 0;
    std::vector<idx_t> begin_, neighbour_, edge_weight_, time_weight_, memory_weight_, sent_;
};

}  // namespace

AlgorithmInfo metis_algorithm() {
    return describe(
        "metis", "METIS",
        "Cuts the graph into parts of balanced time and memory with as little traffic between them as "
        "possible (METIS; Karypis and Kumar, 1998).",
        metis_schema(), [](const SearchContext& context, const MetisOptions& options) {
            return propose_distinct(
                [metis = std::make_shared<Metis>(context, options)] { return metis->next(); });
        });
}

}  // namespace placewright
