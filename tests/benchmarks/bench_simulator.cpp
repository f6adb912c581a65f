// SPDX-License-Identifier: MIT
// Simulations per second and time per event (end of an op or of a leg of a transfer), memory accounting on.
#include <array>
#include <memory>
#include <numeric>
#include <string>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"
#include "core/search/evaluator.hpp"
#include "core/sim/delta.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

std::shared_ptr<const Machine> four_gpus() {
    static const auto machine =
        std::make_shared<const Machine>(read_machine(find_machine_file("4x-v100-pcie")));
    return machine;
}

/// Transfers between GPUs cross either one leg that holds both of their links, or one leg after the other as
/// through a host's memory.
constexpr std::array kCrossings{Crossing::cut_through, Crossing::store_and_forward};

std::shared_ptr<const Problem> problem_of(Graph graph, Crossing crossing) {
    ProblemOptions options;
    options.crossing = crossing;
    return make_problem(std::make_shared<const Graph>(std::move(graph)), four_gpus(), options);
}

std::shared_ptr<const Problem> network_problem(std::string_view network, Crossing crossing) {
    return problem_of(find_network(network)->build(32), crossing);
}

/// Keeps the compiler from leaving out a run.
void keep(const Outcome& outcome) {
    double step_s = outcome.step_time_s;
    benchmark::DoNotOptimize(step_s);
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
    state.counters["simulations/s"] =
        benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["s/event"] = benchmark::Counter(events * static_cast<double>(state.iterations()),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

double events_of(const Problem& problem, const Outcome& outcome) {
    std::uint64_t legs = outcome.transfers;
    if (problem.crossing == Crossing::store_and_forward) {
        legs = std::accumulate(outcome.channel_transfers.begin(), outcome.channel_transfers.end(),
                               std::uint64_t{0});
    }
    return static_cast<double>(outcome.ops_run + legs);
}

void simulate_single(benchmark::State& state, const std::shared_ptr<const Problem>& problem) {
    Simulator simulator(problem);
    const Placement placement = single_device_placement(*problem);
    for (auto _ : state) keep(simulator.run(placement));
    count_events(state, events_of(*problem, simulator.run(placement)));
}

/// Cycles through many placements, so that branch prediction cannot learn one of them.
class PlacementCycle {
public:
    PlacementCycle(const Problem& problem, std::size_t count) {
        for (std::uint64_t seed = 0; seed < count; ++seed)
            placements_.push_back(random_placement(problem, seed));
    }

    const Placement& next() { return placements_[next_++ % placements_.size()]; }

    double mean_events(Simulator& simulator) const {
        double events = 0;
        for (const Placement& placement : placements_)
            events += events_of(simulator.problem(), simulator.run(placement));
        return events / static_cast<double>(placements_.size());
    }

private:
    std::vector<Placement> placements_;
    std::size_t next_ = 0;
};

void simulate_placements(benchmark::State& state, const std::shared_ptr<const Problem>& problem,
                         std::size_t count, const SimulationOptions& options = {}) {
    Simulator simulator(problem, options);
    PlacementCycle placements(*problem, count);
    const double events = placements.mean_events(simulator);
    for (auto _ : state) keep(simulator.run(placements.next()));
    count_events(state, events);
}

void simulate_traced(benchmark::State& state, const std::shared_ptr<const Problem>& problem) {
    Simulator simulator(problem);
    PlacementCycle placements(*problem, 64);
    const double events = placements.mean_events(simulator);
    Trace trace;
    for (auto _ : state) keep(simulator.run(placements.next(), trace));
    count_events(state, events);
}

/// Graphs of growing size with random placements on 4 GPUs.
void simulate_scaling(benchmark::State& state, Graph (*make)(std::size_t ops), Crossing crossing) {
    simulate_placements(state, problem_of(make(static_cast<std::size_t>(state.range(0))), crossing), 16);
}

/// A deep network, and a graph in which an op reads any of the twelve ops before it.
constexpr std::array kScaling{
    std::pair(
        "modular", +[](std::size_t ops) { return test::modular_network(1, ops); }),
    std::pair(
        "random", +[](std::size_t ops) { return test::random_graph(1, ops); }),
};

/// Each feature that requires the general loop, one at a time.
struct General {
    const char* name;
    SimulationOptions simulation = {};
    double workspace_limit_bytes = 0;
    std::uint32_t streams = 1;
};
constexpr SimulationOptions pipelined(Order order, std::uint32_t batches, std::uint32_t in_flight) {
    return {.batches = batches, .in_flight = in_flight, .order = order};
}
constexpr std::array kGeneral{
    General{.name = "workspace", .workspace_limit_bytes = 1e9},
    General{.name = "streams", .streams = 2},
    General{.name = "critical-path", .simulation = pipelined(Order::critical_path, 1, 1)},
    General{.name = "critical-path_pipelined", .simulation = pipelined(Order::critical_path, 10, 4)},
    General{.name = "gpipe", .simulation = pipelined(Order::gpipe, 10, 4)},
    General{.name = "1f1b", .simulation = pipelined(Order::one_forward_one_backward, 10, 4)},
    General{.name = "1f1b_in_flight_256", .simulation = pipelined(Order::one_forward_one_backward, 512, 256)},
};

std::shared_ptr<const Problem> general_problem(std::string_view network, const General& general) {
    const Machine& gpus = *four_gpus();
    std::vector<Device> devices(gpus.devices().begin(), gpus.devices().end());
    for (Device& device : devices) device.streams = general.streams;
    auto machine = std::make_shared<const Machine>(
        gpus.name(), std::move(devices), std::vector<Channel>(gpus.channels().begin(), gpus.channels().end()),
        std::vector<Route>(gpus.routes().begin(), gpus.routes().end()), gpus.crossing());
    ProblemOptions options;
    options.workspace_limit_bytes = general.workspace_limit_bytes;
    return make_problem(std::make_shared<const Graph>(find_network(network)->build(32)), std::move(machine),
                        options);
}

/// A fork and join of `ops` ops: parallel branches of random FLOPs that become ready at once.
Graph random_fork_join(std::size_t ops) {
    Random random(1);
    GraphBuilder builder("fork-join", 1, Training::none);
    std::vector<std::string> branches;
    const auto add = [&](const std::string& name, const std::vector<std::string>& inputs) {
        Op op;
        op.name = name;
        op.kind = "matmul";
        op.flops = random.uniform(1e6, 1e9);
        op.outputs.resize(1);
        op.outputs[0].bytes = 4000;
        builder.add(op, inputs);
    };
    add("source", {});
    while (branches.size() + 2 < ops) {
        branches.push_back("branch" + std::to_string(branches.size()));
        add(branches.back(), {"source"});
    }
    add("sink", branches);
    return builder.build();
}

void simulate_fork_join(benchmark::State& state, Order order) {
    const auto problem =
        problem_of(random_fork_join(static_cast<std::size_t>(state.range(0))), Crossing::cut_through);
    simulate_placements(state, problem, 4, {.order = order});
}

/// All single moves of a placement in random order, so that any number of them is a sample of all; by delta
/// simulation if `by_delta`, otherwise by full simulation.
void simulate_moves(benchmark::State& state, const std::shared_ptr<const Problem>& problem,
                    const Placement& base, bool by_delta) {
    std::vector<std::pair<GroupId, DeviceId>> moves;
    for (GroupId group = 0; group < problem->groups; ++group) {
        for (const DeviceId device : problem->allowed_devices(group)) {
            if (device != base[group]) moves.emplace_back(group, device);
        }
    }
    Random random(1);
    for (std::size_t i = moves.size(); i > 1; --i) std::swap(moves[i - 1], moves[random.index(i)]);

    Simulator simulator(problem);
    DeltaSimulator delta(problem);
    delta.rebase(base);
    Placement moved = base;
    std::size_t next = 0;
    for (auto _ : state) {
        const auto [group, device] = moves[next++ % moves.size()];
        moved[group] = device;
        keep((by_delta ? delta.run(moved) : simulator.run(moved)));
        moved[group] = base[group];
    }
    state.counters["ops"] = problem->ops;
    if (!by_delta) return;
    const auto effort = delta.effort();
    state.counters["share of events"] =
        static_cast<double>(effort.simulated) / static_cast<double>(effort.full);
}

/// Going from a placement to the one with the devices of each group exchanged for the next ones, or, if
/// `near`, with one group moved at random.
void rebase_delta(benchmark::State& state, const std::shared_ptr<const Problem>& problem,
                  const Placement& base, bool near) {
    DeltaSimulator delta(problem);
    Random random(1);
    Placement next = base;
    const auto move = [&](GroupId group) {
        const auto allowed = problem->allowed_devices(group);
        const auto own = std::ranges::find(allowed, next[group]);
        next[group] = own + 1 == allowed.end() ? allowed.front() : *(own + 1);
    };
    for (auto _ : state) {
        keep(delta.rebase(next));
        for (GroupId group = 0; group < problem->groups && !near; ++group) move(group);
        if (near) move(static_cast<GroupId>(random.index(problem->groups)));
    }
}

/// The training step of a network of about a million ops on one GPU, or its ops on GPUs at random.
void simulate_million(benchmark::State& state, bool random) {
    static const auto problem = problem_of(test::modular_network(1, 860'000), Crossing::cut_through);
    Simulator simulator(problem);
    const Placement placement = random ? random_placement(*problem, 1) : single_device_placement(*problem);
    for (auto _ : state) keep(simulator.run(placement));
    count_events(state, events_of(*problem, simulator.run(placement)));
    state.counters["ops"] = problem->ops;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["peak_bytes"] = static_cast<double>(usage.ru_maxrss) * 1024;
}

/// The evaluator with a number of threads on distinct placements (no cache hits).
void evaluate_threads(benchmark::State& state) {
    const auto problem = network_problem("inception_v3", Crossing::cut_through);
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
    state.counters["simulations/s"] =
        benchmark::Counter(static_cast<double>(state.iterations() * kBatch), benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    using namespace placewright;
    for (const Crossing crossing : kCrossings) {
        const std::string kind = std::string("/").append(to_string(crossing));
        for (const std::string network : {"alexnet", "resnet50", "inception_v3"}) {
            const auto problem = network_problem(network, crossing);
            const std::string name = std::string("/").append(network) + kind;
            benchmark::RegisterBenchmark(("single_device" + name).c_str(), simulate_single, problem);
            benchmark::RegisterBenchmark(("random_placement" + name).c_str(), simulate_placements, problem,
                                         64, SimulationOptions());
            benchmark::RegisterBenchmark(("pipelined" + name).c_str(), simulate_placements, problem, 64,
                                         SimulationOptions{.batches = 10, .in_flight = 4});
            benchmark::RegisterBenchmark(("random_placement_traced" + name).c_str(), simulate_traced,
                                         problem);
        }
        for (const auto& [graph, make] : kScaling) {
            benchmark::RegisterBenchmark(("scaling/" + std::string(graph) + kind).c_str(), simulate_scaling,
                                         make, crossing)
                ->RangeMultiplier(10)
                ->Range(100, 100'000)
                ->Arg(200'000);
        }
        // A network of modules, one of ten times its size, a recurrent network, and a graph without
        // structure.
        for (const auto& [graph, problem] :
             {std::pair("inception_v3", network_problem("inception_v3", crossing)),
              std::pair("modular_10000", problem_of(test::modular_network(1, 10'000), crossing)),
              std::pair("nmt8", network_problem("nmt8", crossing)),
              std::pair("random_10000", problem_of(test::random_graph(1, 10'000), crossing))}) {
            for (const auto& [from, base] : {std::pair("single", single_device_placement(*problem)),
                                             std::pair("random", random_placement(*problem, 1))}) {
                const std::string of = std::string("/") + graph + "/" + from + kind;
                benchmark::RegisterBenchmark(("moves_full" + of).c_str(), simulate_moves, problem, base,
                                             false);
                benchmark::RegisterBenchmark(("moves_delta" + of).c_str(), simulate_moves, problem, base,
                                             true);
                benchmark::RegisterBenchmark(("rebase" + of).c_str(), rebase_delta, problem, base, false);
                benchmark::RegisterBenchmark(("rebase_near" + of).c_str(), rebase_delta, problem, base, true);
            }
        }
    }
    for (const General& general : kGeneral) {
        benchmark::RegisterBenchmark((std::string("general/") + general.name + "/resnet50").c_str(),
                                     simulate_placements, general_problem("resnet50", general), 64,
                                     general.simulation);
    }
    for (const Order order : {Order::fifo, Order::critical_path}) {
        benchmark::RegisterBenchmark(("fork_join/" + std::string(to_string(order))).c_str(),
                                     simulate_fork_join, order)
            ->RangeMultiplier(10)
            ->Range(1'000, 100'000);
    }
    for (const auto& [from, random] : {std::pair("single", false), std::pair("random", true)}) {
        benchmark::RegisterBenchmark((std::string("million/") + from).c_str(), simulate_million, random)
            ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark("evaluator_threads", evaluate_threads)->Arg(1)->Arg(2)->UseRealTime();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
