// SPDX-License-Identifier: MIT
#include "app/experiments/measured_run.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

/// Names that files of measurements use and no driver reports.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kShortNames{{
    {"k80-die", "Tesla K80"},
    {"v100-sxm", "NVIDIA V100 SXM2 32GB"},
    {"v100-pcie", "NVIDIA V100 PCIe 32GB"},
    {"p100-sxm", "NVIDIA P100 SXM2 16GB"},
    {"a100-sxm-40", "NVIDIA A100 SXM 40GB"},
    {"a100-sxm-80", "NVIDIA A100 SXM 80GB"},
}};

std::shared_ptr<const DeviceModel> find_gpu(std::string_view name) {
    const auto* const known = std::ranges::find(kShortNames, name, &decltype(kShortNames)::value_type::first);
    return shipped_devices().find_device(known == kShortNames.end() ? name : known->second);
}

}  // namespace

std::string gpu_model(const JsonValue& name) {
    return gpu_model(name.text(), name);
}

std::string gpu_model(const std::string& name, const JsonValue& value) {
    if (const auto model = find_gpu(name)) return model->model;
    value.fail("names the GPU " + in_quotes(name) + ", which is not in the catalogue of devices" +
               similar_text(shipped_devices().similar_devices(name)));
}

std::shared_ptr<const Machine> machine_of(const MeasuredServer& server) {
    const auto model = find_gpu(server.gpu);
    if (!model) throw std::invalid_argument(server.gpu + " is not in the catalogue of devices");
    Device gpu = device_of(model);
    gpu.name = "gpu";
    Device cpu;
    cpu.name = "cpu:0";
    cpu.kind = DeviceKind::cpu;
    cpu.model = "host";
    cpu.peak_flops = 1e12;
    cpu.memory_bandwidth = 76.8e9;
    cpu.memory_bytes = 4e11;
    cpu.efficiency = 0.9;
    Channel link;
    link.name = "link";
    link.bandwidth = server.link_bytes_per_s * server.slower;
    link.latency_s = server.link_latency_s / server.slower;
    return std::make_shared<const Machine>(gpu_server(server.gpus, cpu, gpu, link, Crossing::cut_through));
}

std::optional<StepInterval> ExperimentRun::interval(double seconds) const {
    return error ? std::optional(error->interval(seconds)) : std::nullopt;
}

ExperimentRun run_on(std::shared_ptr<const Machine> machine, Graph graph, const ProblemOptions& options,
                     const SimulationOptions& simulation, const std::function<std::size_t(OpId)>& gpu_of) {
    ExperimentRun run;
    run.problem = make_problem(std::make_shared<const Graph>(std::move(graph)), std::move(machine), options);
    run.placement = single_device_placement(*run.problem, gpu_device(0));
    if (gpu_of) {
        for (OpId op = 0; op < run.problem->forward->size(); ++op)
            run.placement[run.problem->grouping.group_of[op]] = gpu_device(gpu_of(op));
    }
    Simulator simulator(run.problem, simulation);
    const Outcome& outcome = simulator.run(run.placement);
    run.total_time_s = outcome.total_time_s;
    run.fits = outcome.fits;
    run.peak_bytes = std::ranges::max(outcome.peak_bytes);
    run.error = StepError::of(run.problem, run.placement, outcome, simulation);
    return run;
}

ProblemOptions training_with(double optimizer_states) {
    ProblemOptions options;
    options.optimizer_states = optimizer_states;
    return options;
}

bool SuiteRun::next(const std::string& name) const {
    if (stop.stop_requested()) return false;
    progress(std::string(suite.id) + ": " + name);
    return true;
}

}  // namespace placewright
