// SPDX-License-Identifier: MIT
// Simulations per second and time per event (op or transfer completion), memory accounting on.
#include <memory>

#include <benchmark/benchmark.h>

#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/io/files.hpp"
#include "core/search/evaluator.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

std::shared_ptr<const Machine> four_gpus() {
    static const auto machine = std::make_shared<const Machine>(read_machine(find_machine_file("4x-v100-pcie")));
    return machine;
}

std::shared_ptr<const Problem> network_problem(const NetworkInfo& network) {
    return make_problem(std::make_shared<const Graph>(network.build(32)), four_gpus());
}

Placement random_placement(const Problem& problem, std::uint64_t seed) {
    Random random(seed);
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        // GPUs only: device 0 of the machine is its CPU.
        placement[group] = static_cast<DeviceId>(1 + random.index(problem.devices - 1));
    }
    return placement;
}

void count_events(benchmark::State& state, double events) {
    state.counters["events"] = events;
    state.counters["simulations/s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["s/event"] =
        benchmark::Counter(events * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

double events_of(const Outcome& outcome) {
    double hops = 0;
    for (const auto crossings : outcome.channel_transfers) hops += static_cast<double>(crossings);
    return static_cast<double>(outcome.ops_run) + hops;
}

void simulate_single(benchmark::State& state, const NetworkInfo* network) {
    const auto problem = network_problem(*network);
    Simulator simulator(problem);
    const Placement placement = single_device_placement(*problem);
    for (auto _ : state) benchmark::DoNotOptimize(simulator.run(placement).step_time_s);
    count_events(state, events_of(simulator.run(placement)));
}

/// Many different placements in turn, so that branch prediction cannot learn one of them.
class PlacementCycle {
public:
    PlacementCycle(const Problem& problem, std::size_t count) {
        for (std::uint64_t seed = 0; seed < count; ++seed) placements_.push_back(random_placement(problem, seed));
    }

    const Placement& next() { return placements_[next_++ % placements_.size()]; }

    double mean_events(Simulator& simulator) const {
        double events = 0;
        for (const Placement& placement : placements_) events += events_of(simulator.run(placement));
        return events / static_cast<double>(placements_.size());
    }

private:
    std::vector<Placement> placements_;
    std::size_t next_ = 0;
};

void simulate_placements(benchmark::State& state, const std::shared_ptr<const Problem>& problem, std::size_t count,
                         const SimulationOptions& options = {}) {
    Simulator simulator(problem, options);
    PlacementCycle placements(*problem, count);
    const double events = placements.mean_events(simulator);
    for (auto _ : state) benchmark::DoNotOptimize(simulator.run(placements.next()).step_time_s);
    count_events(state, events);
}

void simulate_random(benchmark::State& state, const NetworkInfo* network) {
    simulate_placements(state, network_problem(*network), 64);
}

/// Ten batches, four in flight.
void simulate_pipelined(benchmark::State& state, const NetworkInfo* network) {
    simulate_placements(state, network_problem(*network), 64, {.batches = 10, .in_flight = 4});
}

void simulate_traced(benchmark::State& state, const NetworkInfo* network) {
    const auto problem = network_problem(*network);
    Simulator simulator(problem);
    PlacementCycle placements(*problem, 64);
    const double events = placements.mean_events(simulator);
    Trace trace;
    for (auto _ : state) benchmark::DoNotOptimize(simulator.run(placements.next(), trace).step_time_s);
    count_events(state, events);
}

/// Random graphs of growing size, random placements on 4 GPUs.
void simulate_scaling(benchmark::State& state) {
    const auto graph = std::make_shared<const Graph>(test::random_graph(1, static_cast<std::size_t>(state.range(0))));
    simulate_placements(state, make_problem(graph, four_gpus()), 16);
}

/// The evaluator with a number of threads on placements that are all different (the cache never answers).
void evaluate_threads(benchmark::State& state) {
    const auto problem = network_problem(*find_network("inception_v3"));
    const auto evaluator = simulation_evaluator(problem, {}, {}, static_cast<unsigned>(state.range(0)));
    constexpr std::size_t kBatch = 256;
    std::vector<Placement> placements(kBatch);
    std::vector<Score> scores(kBatch);
    std::uint64_t seed = 0;
    for (auto _ : state) {
        state.PauseTiming();
        for (Placement& placement : placements) placement = random_placement(*problem, seed++);
        state.ResumeTiming();
        evaluator->evaluate(placements, scores, {});
    }
    state.counters["simulations/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kBatch), benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    using namespace placewright;
    for (const NetworkInfo& network : known_networks()) {
        const std::string name(network.name);
        benchmark::RegisterBenchmark(("single_device/" + name).c_str(), simulate_single, &network);
        benchmark::RegisterBenchmark(("random_placement/" + name).c_str(), simulate_random, &network);
        benchmark::RegisterBenchmark(("pipelined/" + name).c_str(), simulate_pipelined, &network);
        benchmark::RegisterBenchmark(("random_placement_traced/" + name).c_str(), simulate_traced, &network);
    }
    benchmark::RegisterBenchmark("scaling", simulate_scaling)->RangeMultiplier(10)->Range(100, 100'000)->Arg(200'000);
    benchmark::RegisterBenchmark("evaluator_threads", evaluate_threads)->Arg(1)->Arg(2)->UseRealTime();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
