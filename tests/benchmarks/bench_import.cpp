// SPDX-License-Identifier: MIT
// Import of large models: from the file to a simulated step.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright;

namespace {

Path model_file(std::size_t nodes) {
    const Path file =
        std::filesystem::temp_directory_path() / ("bench_import-" + std::to_string(getpid()) + ".onnx");
    std::ofstream(file, std::ios::binary) << test::deep_onnx_model(nodes).bytes();
    return file;
}

double peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024;
}

void read_onnx(benchmark::State& state) {
    const Path file = model_file(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(read_network(file, 8));
    state.counters["peak_bytes"] = peak_bytes();
    std::filesystem::remove(file);
}
BENCHMARK(read_onnx)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->Iterations(1);

/// Builds and simulates the training step of the model on two devices, with all ops on the first.
void open_and_simulate_onnx(benchmark::State& state) {
    const Path file = model_file(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const auto problem = test::problem(read_network(file, 8).graph, test::uniform_machine(2));
        Simulator simulator(problem, SimulationOptions{});
        double step_s = simulator.run(Placement(problem->groups, 0)).step_time_s;
        benchmark::DoNotOptimize(step_s);
    }
    state.counters["peak_bytes"] = peak_bytes();
    std::filesystem::remove(file);
}
BENCHMARK(open_and_simulate_onnx)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
