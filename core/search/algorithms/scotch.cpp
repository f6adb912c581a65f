// SPDX-License-Identifier: MIT
// Scotch: Pellegrini, Roman: Scotch: A Software Package for Static Mapping by Dual Recursive Bipartitioning
// of Process and Architecture Graphs (1996).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <numeric>
#include <scotch.h>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/base/silent_stdout.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/partition.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

static_assert(std::is_same_v<SCOTCH_Num, std::int32_t>);

struct ScotchOptions : PartitionOptions {
    ScotchOptions() = default;  // avoids a warning of GCC 12 about a partly initialised aggregate

    std::string architecture = "machine";
    std::string balance = "all";
    std::string strategy = "balance";
};

const OptionSchema<ScotchOptions>& scotch_schema() {
    using Options = ScotchOptions;
    static const auto schema =
        add_partition_options(OptionSchema<Options>{})
            .add("architecture", &Options::architecture, {"machine", "complete"},
                 "machine: traffic is weighted by the time of its route; complete: all devices are equally "
                 "far from each other.")
            .add("balance", &Options::balance, {"all", "time", "memory"},
                 "What is balanced between parts; all: time, then memory.")
            .add("strategy", &Options::strategy, {"balance", "quality", "speed", "default"},
                 "Strategy of Scotch: what the mapping favours.");
    return schema;
}

/// Scotch has global state, so only one thread at a time may enter it.
std::mutex& scotch_library() {
    static std::mutex mutex;
    return mutex;
}

void check(int status, const char* what) {
    if (status != 0) throw std::runtime_error(std::string("Scotch could not ") + what);
}

/// An object of Scotch with the functions that create and destroy it.
template <class Thing, int (*Init)(Thing*), void (*Exit)(Thing*)>
class Owned {
public:
    Owned() { check(Init(&thing_), "begin"); }
    ~Owned() { Exit(&thing_); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    Thing* get() { return &thing_; }

private:
    Thing thing_;
};
int begin_architecture(SCOTCH_Arch* thing) {
    return SCOTCH_archInit(thing);
}
void end_architecture(SCOTCH_Arch* thing) {
    SCOTCH_archExit(thing);
}
int begin_graph(SCOTCH_Graph* thing) {
    return SCOTCH_graphInit(thing);
}
void end_graph(SCOTCH_Graph* thing) {
    SCOTCH_graphExit(thing);
}
int begin_strategy(SCOTCH_Strat* thing) {
    return SCOTCH_stratInit(thing);
}
void end_strategy(SCOTCH_Strat* thing) {
    SCOTCH_stratExit(thing);
}
int begin_context(SCOTCH_Context* thing) {
    return SCOTCH_contextInit(thing);
}
void end_context(SCOTCH_Context* thing) {
    SCOTCH_contextExit(thing);
}
using Architecture = Owned<SCOTCH_Arch, begin_architecture, end_architecture>;
using ScotchGraph = Owned<SCOTCH_Graph, begin_graph, end_graph>;
using Strategy = Owned<SCOTCH_Strat, begin_strategy, end_strategy>;
using Context = Owned<SCOTCH_Context, begin_context, end_context>;

/// The sum of edge weights times distances stays below 2^31.
constexpr double kScotchVertexWeight = 1 << 24;
constexpr double kScotchEdgeWeight = 1 << 22;
constexpr double kLargestDistance = 200;
constexpr double kTotalDeviceWeight = 1 << 16;

/// An architecture given by a tree of bisections and all distances, as text in Scotch's format ("deco 0":
/// number of terminals, largest number of a domain; for each terminal its label, weight and domain; the
/// distances below the diagonal). The halves of domain i are 2 i and 2 i + 1; devices that are close to each
/// other stay together as long as possible.
std::string architecture_text(const Partition& partition, std::span<const DeviceId> devices,
                              std::span<const std::int32_t> weights) {
    std::vector<std::size_t> order{0};
    std::vector<std::size_t> left(devices.size() - 1);
    std::iota(left.begin(), left.end(), std::size_t{1});
    while (!left.empty()) {
        const auto next = std::ranges::min_element(left, {}, [&](std::size_t other) {
            return partition.distance(devices[order.back()], devices[other]);
        });
        order.push_back(*next);
        left.erase(next);
    }
    std::vector<std::uint64_t> domain(devices.size(), 1);
    std::uint64_t largest = 1;
    const auto halve = [&](const auto& self, std::size_t begin, std::size_t end,
                           std::uint64_t number) -> void {
        largest = std::max(largest, number);
        if (end - begin == 1) {
            domain[order[begin]] = number;
            return;
        }
        const std::size_t middle = begin + (end - begin + 1) / 2;
        self(self, begin, middle, 2 * number);
        self(self, middle, end, 2 * number + 1);
    };
    halve(halve, 0, devices.size(), 1);

    double longest = 0;
    for (const DeviceId a : devices) {
        for (const DeviceId b : devices) longest = std::max(longest, partition.distance(a, b));
    }
    std::string text = "deco\n0\n" + std::to_string(devices.size()) + ' ' + std::to_string(largest) + '\n';
    for (std::size_t i = 0; i < devices.size(); ++i)
        text += std::to_string(i) + ' ' + std::to_string(weights[i]) + ' ' + std::to_string(domain[i]) + '\n';
    for (std::size_t i = 1; i < devices.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const double share = longest > 0 ? partition.distance(devices[i], devices[j]) / longest : 1;
            text += std::to_string(std::max(1L, std::lround(share * kLargestDistance))) +
                    (j + 1 < i ? ' ' : '\n');
        }
    }
    return text;
}

class Scotch {
public:
    Scotch(const SearchContext& context, const ScotchOptions& options)
        : options_(options),
          partition_(DeviceChoices(context.problem, options.allow_cpu), options.edges),
          trials_(partition_trials(partition_.choices(), options,
                                   options.balance == "all" && holds_anything() ? 2 : 1, context.seed)) {}

    std::optional<Placement> next() {
        if (next_ == trials_.size()) return {};
        const PartitionTrial& trial = trials_[next_++];
        const std::vector<DeviceId> devices = partition_.devices(trial.parts);
        std::vector<std::int32_t> part_of(partition_.choices().movable().size(), 0);
        if (trial.parts > 1) cut(trial, devices, part_of);
        return partition_.placement(part_of, devices);
    }

private:
    bool holds_anything() const {
        return std::ranges::any_of(partition_.graph().bytes, [](double bytes) { return bytes > 0; });
    }

    bool by_memory(const PartitionTrial& trial) const {
        return options_.balance == "memory" || (options_.balance == "all" && trial.variant == 1);
    }

    SCOTCH_Num strategy_flags() const {
        if (options_.strategy == "quality") return SCOTCH_STRATQUALITY;
        if (options_.strategy == "balance") return SCOTCH_STRATBALANCE;
        if (options_.strategy == "speed") return SCOTCH_STRATSPEED;
        return SCOTCH_STRATDEFAULT;
    }

    void build_architecture(std::span<const DeviceId> devices, bool memory,
                            Architecture& architecture) const {
        std::vector<double> shares;
        for (const DeviceId device : devices)
            shares.push_back(memory ? partition_.choices().problem().memory_limit_bytes[device]
                                    : partition_.speed(device));
        const WeightedGraph& graph = partition_.graph();
        const std::vector<std::int32_t> weights = whole_weights(
            partition_.targets(devices, shares, memory ? graph.bytes : graph.time_s), kTotalDeviceWeight);
        if (options_.architecture == "complete") {
            check(SCOTCH_archCmpltw(architecture.get(), static_cast<SCOTCH_Num>(weights.size()),
                                    weights.data()),
                  "build the architecture");
            return;
        }
        std::string text = architecture_text(partition_, devices, weights);
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fmemopen(text.data(), text.size(), "r"),
                                                                   std::fclose);
        if (!file) throw std::runtime_error("no memory for the architecture of the machine");
        check(SCOTCH_archLoad(architecture.get(), file.get()), "read the architecture");
    }

    /// Groups that cannot move are left out: Scotch 7.0.3 crashes on fixed vertices in some architectures.
    void cut(const PartitionTrial& trial, std::span<const DeviceId> devices,
             std::vector<std::int32_t>& part_of) const {
        const WeightedGraph graph = subgraph(partition_.graph(), partition_.choices().movable());
        const std::vector<std::int32_t> begin(graph.begin.begin(), graph.begin.end());
        const std::vector<std::int32_t> neighbour(graph.neighbour.begin(), graph.neighbour.end());
        const std::vector<std::int32_t> load =
            whole_weights(by_memory(trial) ? graph.bytes : graph.time_s, kScotchVertexWeight);
        const std::vector<std::int32_t> weight = whole_weights(graph.traffic, kScotchEdgeWeight);

        const std::lock_guard lock(scotch_library());
        const SilentStdout silent;
        Architecture architecture;
        build_architecture(devices, by_memory(trial), architecture);
        ScotchGraph whole;
        check(SCOTCH_graphBuild(whole.get(), 0, static_cast<SCOTCH_Num>(graph.size()), begin.data(), nullptr,
                                load.data(), nullptr, static_cast<SCOTCH_Num>(neighbour.size()),
                                neighbour.data(), weight.data()),
              "build the graph");
        // Its own context has one thread and its own random numbers, so that the answer does not depend on
        // what ran before.
        Context context;
        check(SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1),
              "be deterministic");
        check(SCOTCH_contextRandomClone(context.get()), "draw random numbers");
        SCOTCH_contextRandomSeed(context.get(), trial.seed);
        SCOTCH_contextRandomReset(context.get());
        check(SCOTCH_contextThreadSpawn(context.get(), 1, nullptr), "keep to one thread");
        ScotchGraph bound;
        check(SCOTCH_contextBindGraph(context.get(), whole.get(), bound.get()), "bind the graph");
        Strategy strategy;
        check(SCOTCH_stratGraphMapBuild(strategy.get(), strategy_flags(),
                                        static_cast<SCOTCH_Num>(devices.size()), trial.imbalance),
              "choose a strategy");
        check(SCOTCH_graphMap(bound.get(), architecture.get(), strategy.get(), part_of.data()),
              "map the graph");
    }

    ScotchOptions options_;
    Partition partition_;
    std::vector<PartitionTrial> trials_;
    std::size_t next_ = 0;
};

}  // namespace

AlgorithmInfo scotch_algorithm() {
    return describe(
        "scotch", "Scotch",
        "Maps the graph onto the machine with balanced work and as little traffic on slow routes as "
        "possible (Scotch; Pellegrini and Roman, 1996).",
        scotch_schema(), [](const SearchContext& context, const ScotchOptions& options) {
            return propose_distinct(
                [scotch = std::make_shared<Scotch>(context, options)] { return scotch->next(); });
        });
}

}  // namespace placewright
