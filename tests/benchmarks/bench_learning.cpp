// SPDX-License-Identifier: MIT
// Cost of training Placeto's policy and of placing with it.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/graph/families.hpp"
#include "core/graph/networks.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"
#include "core/learn/policies.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {
namespace {

struct Case {
    std::shared_ptr<const Problem> problem;
    std::shared_ptr<const PolicyGraph> graph;
};

Case make_case(Graph network, std::uint32_t groups) {
    ProblemOptions options;
    options.grouping.rule = GroupingRule::merge;
    options.grouping.merge_groups = groups;
    Case made;
    made.problem = make_problem(
        std::make_shared<const Graph>(std::move(network)),
        std::make_shared<const Machine>(read_machine(find_machine_file("4x-v100-pcie"))), options);
    made.graph = std::make_shared<const PolicyGraph>(made.problem, false);
    return made;
}

/// One update: 8 episodes of 128 decisions, with the simulation of all placements, the gradient of all
/// decisions and one step of Adam.
void update(benchmark::State& state, const char* policy) {
    const Case item = make_case(inception_v3(32), 128);
    const auto threads = static_cast<unsigned>(state.range(0));
    const PolicyDesign design = find_policy(policy)->make({}, {item.graph->devices, item.graph->nodes});
    Trainer trainer(design.policy, design.training,
                    {{"inception_v3", item.graph, reference_s(*item.problem)}}, 1, 1000, threads);
    const auto evaluator = simulation_evaluator(item.problem, {}, {}, threads);
    // The first update loads LibTorch, where it is needed.
    const auto once = [&](auto&& part) {
        std::vector<std::vector<Score>> scores;
        part("draw_ms", [&] { trainer.begin(); });
        part("simulate_ms", [&] {
            for (const Episode& episode : trainer.begin()) {
                scores.emplace_back(episode.placements.size());
                evaluator->evaluate(episode.placements, scores.back(), {});
            }
        });
        part("learn_ms", [&] { trainer.finish(scores); });
    };
    once([](const char*, auto&& work) { work(); });
    for (auto _ : state) {
        once([&](const char* name, auto&& work) {
            const auto begin = std::chrono::steady_clock::now();
            work();
            const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
            auto& counter = state.counters[name];
            counter.flags = benchmark::Counter::kAvgIterations;
            counter.value += took.count();
        });
    }
    state.counters["episodes"] = benchmark::Counter(
        static_cast<double>(state.iterations()) * design.training.workers, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(update, placeto, "placeto")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(update, gdp, "gdp")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(update, colocrl, "colocrl")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Places a graph not seen in training.
void predict(benchmark::State& state) {
    const auto groups = static_cast<std::uint32_t>(state.range(0));
    const Case item =
        make_case(groups <= 128 ? inception_v3(32) : family_member(*find_family("ptb"), 1, 0), groups);
    const PolicyDesign design = find_policy("placeto")->make({}, {item.graph->devices, item.graph->nodes});
    const std::vector<float> weights = design.policy->initial_weights(1);
    for (auto _ : state) benchmark::DoNotOptimize(predict_placement(*design.policy, weights, *item.graph, 1));
    state.counters["groups"] = item.graph->nodes;
}
BENCHMARK(predict)->Arg(128)->Arg(2000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace placewright

BENCHMARK_MAIN();
