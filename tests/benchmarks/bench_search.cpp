// SPDX-License-Identifier: MIT
// Cost of a search besides the simulations: CPU time of one thread, for the algorithms with their defaults
// and with the thesis's parameters. What a second thread gives.
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/algorithms.hpp"
#include "core/graph/networks.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/state/shipped_policy.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

constexpr std::uint64_t kEvaluations = 20'000;

double cpu_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Limited memory as in the thesis on Exprimo: its op times and memory model, on four GPUs that each hold a
/// share of what a single one would need.
std::shared_ptr<const Problem> limited_problem(std::string_view network, double share) {
    const auto graph = std::make_shared<const Graph>(find_network(network)->build(128));
    ProblemOptions options;
    options.cost.model = find_cost_model("exprimo");
    options.cost.compute_efficiency = 0.9;
    options.cost.channel_efficiency = 0.25;
    options.memory = MemoryModel::exprimo;
    const Machine machine = read_machine(find_machine_file("4x-v100-pcie"));
    const auto roomy = make_problem(graph, std::make_shared<const Machine>(machine), options);
    const double peak_bytes =
        Simulator(roomy).run(single_device_placement(*roomy, DeviceId{1})).peak_bytes[1];
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    for (Device& device : devices) {
        if (device.kind == DeviceKind::gpu) device.memory_bytes = share * peak_bytes;
    }
    const Machine limited("limited", devices, {machine.channels().begin(), machine.channels().end()},
                          {machine.routes().begin(), machine.routes().end()});
    return make_problem(graph, std::make_shared<const Machine>(limited), options);
}

/// Forwards to an evaluator and records its time and its placements.
class Observer final : public Evaluator {
public:
    explicit Observer(std::unique_ptr<Evaluator> observed) : observed_(std::move(observed)) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases) override {
        const double before_s = cpu_s();
        const bool done = observed_->evaluate(placements, scores, std::move(stop));
        spent_s += cpu_s() - before_s;
        for (const Placement& placement : placements) {
            if (known_.insert(placement).second) distinct.push_back(placement);
        }
        return done;
    }

    std::uint64_t runs() const override { return observed_->runs(); }

    double spent_s = 0;
    std::vector<Placement> distinct;  ///< in search order, which affects the time of a simulation

private:
    std::unique_ptr<Evaluator> observed_;
    std::set<Placement> known_;
};

/// Three parts of a search: proposing and learning, looking up and keeping scores, and simulating placements
/// without a known score.
void split(benchmark::State& state, const std::string& algorithm, const OptionValues& options,
           const std::shared_ptr<const Problem>& problem) {
    double all_s = 0, evaluator_s = 0, simulator_s = 0;
    for (auto _ : state) {
        // Runs once unobserved for the total, and once observed for the parts.
        const auto search = [&](Evaluator& evaluator) {
            const auto optimizer = find_algorithm(algorithm)->make({problem, 1, {}, kEvaluations}, options);
            const double before_s = cpu_s();
            run_search(*optimizer, evaluator, {kEvaluations});
            return cpu_s() - before_s;
        };
        all_s += search(*simulation_evaluator(problem, {}, {}, 1));
        Observer observer(simulation_evaluator(problem, {}, {}, 1));
        search(observer);
        evaluator_s += observer.spent_s;
        Simulator simulator(problem);
        const double before_s = cpu_s();
        for (const Placement& placement : observer.distinct) {
            double step_s = simulator.run(placement).step_time_s;
            benchmark::DoNotOptimize(step_s);
        }
        simulator_s += cpu_s() - before_s;
    }
    const double searches = static_cast<double>(state.iterations());
    state.counters["search_s"] = all_s / searches;
    state.counters["us/evaluation"] = all_s / searches / kEvaluations * 1e6;
    state.counters["us_optimizer"] = (all_s - evaluator_s) / searches / kEvaluations * 1e6;
    state.counters["us_look_up"] = (evaluator_s - simulator_s) / searches / kEvaluations * 1e6;
    state.counters["us_simulator"] = simulator_s / searches / kEvaluations * 1e6;
    state.counters["overhead"] = all_s / simulator_s - 1;
}

/// The same search with one thread and with two: `speedup` is the ratio of their wall times, `serial` the
/// share of the time with one thread that more threads would not shorten. By Amdahl's law that share limits
/// what any number of cores can give. Every run has a seed of its own.
void threads(benchmark::State& state, const std::string& algorithm,
             const std::shared_ptr<const Problem>& problem) {
    double one_s = 0, two_s = 0, serial_s = 0;
    std::uint64_t seed = 0;
    for (auto _ : state) {
        ++seed;
        const auto search = [&](unsigned number) {
            SearchContext context{problem, seed, {}, kEvaluations};
            context.guide = shipped_guide(problem);
            const auto evaluator = simulation_evaluator(problem, {}, {}, number);
            const auto optimizer = find_algorithm(algorithm)->make(context, {});
            const SearchResult result = run_search(*optimizer, *evaluator, {kEvaluations});
            if (number == 1) serial_s += result.progress.elapsed_s - evaluator->workers()->shared_s();
            return result;
        };
        const SearchResult one = search(1), two = search(2);
        if (*one.progress.best_placement != *two.progress.best_placement)
            state.SkipWithError("the threads change the result");
        one_s += one.progress.elapsed_s;
        two_s += two.progress.elapsed_s;
        state.SetIterationTime(one.progress.elapsed_s + two.progress.elapsed_s);
    }
    const double searches = static_cast<double>(state.iterations());
    state.counters["evaluations/s"] = kEvaluations * searches / one_s;
    state.counters["serial"] = serial_s / one_s;
    state.counters["speedup"] = one_s / two_s;
}

std::shared_ptr<const Problem> pcie_problem(Graph graph) {
    return make_problem(std::make_shared<const Graph>(std::move(graph)),
                        std::make_shared<const Machine>(read_machine(find_machine_file("4x-v100-pcie"))), {});
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    using namespace placewright;
    for (const auto& [network, share] :
         {std::pair{"resnet50", 2.5 / 8.4027}, {"inception_v3", 2.5 / 7.5209}}) {
        const auto problem = limited_problem(network, share);
        for (const std::string algorithm : {"genetic", "map-elites"}) {
            const OptionValues& thesis = find_preset(find_algorithm(algorithm)->presets, "thesis").values;
            for (const auto& [preset, options] : {std::pair{"defaults", OptionValues()}, {"thesis", thesis}})
                benchmark::RegisterBenchmark((algorithm + "/" + preset + "/" + network).c_str(), split,
                                             algorithm, options, problem)
                    ->Unit(benchmark::kMillisecond);
        }
    }
    for (const auto& [name, problem] :
         {std::pair{"inception_v3", pcie_problem(find_network("inception_v3")->build(32))},
          {"nmt4", pcie_problem(find_network("nmt4")->build(64))},
          {"modular_10000", pcie_problem(test::modular_network(1, 10'000))}}) {
        for (const std::string algorithm :
             {"random", "genetic", "map-elites", "simulated-annealing", "tabu", "auto"})
            benchmark::RegisterBenchmark(("threads/" + algorithm + "/" + name).c_str(), threads, algorithm,
                                         problem)
                ->UseManualTime()
                ->Iterations(1)
                ->Unit(benchmark::kMillisecond);
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
