// SPDX-License-Identifier: MIT
// What the suites of measurements share: machines by the names of their GPUs, and runs on them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/experiments/measured.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// GPUs of one model, with a host whose CPU runs no op.
struct MeasuredServer {
    std::string gpu;  ///< a name in the catalogue of devices, or a short one ("v100-sxm")
    unsigned gpus = 1;
    double link_bytes_per_s = 16e9;  ///< of each GPU in each direction
    double link_latency_s = 1e-5;
    /// The GPUs are so many times slower than the catalogue says: links are in proportion faster, so that the
    /// times of the run are multiplied by it afterwards.
    double slower = 1;
};

/// The model that the catalogue has for a name in a file of measurements. Throws InputError at the value.
std::string gpu_model(const JsonValue& name);
/// The same for the name of the member `value`.
std::string gpu_model(const std::string& name, const JsonValue& value);

/// Throws std::invalid_argument if the catalogue does not know the GPU.
std::shared_ptr<const Machine> machine_of(const MeasuredServer& server);

/// Device of the k-th GPU of such a machine.
constexpr DeviceId gpu_device(std::size_t k) {
    return static_cast<DeviceId>(k + 1);
}

struct ExperimentRun {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    double total_time_s = 0;
    bool fits = true;
    double peak_bytes = 0;  ///< largest of all devices
    std::optional<StepError> error;

    /// Interval of `seconds`, which this run or several like it took; nothing without an error.
    std::optional<StepInterval> interval(double seconds) const;
};

/// `gpu_of`: the GPU of each op of the forward graph, by its id; null: all on the first.
ExperimentRun run_on(std::shared_ptr<const Machine> machine, Graph graph, const ProblemOptions& options,
                     const SimulationOptions& simulation = {},
                     const std::function<std::size_t(OpId)>& gpu_of = {});

/// Plain SGD, SGD with momentum, Adam.
ProblemOptions training_with(double optimizer_states);

/// A suite that is being run.
struct SuiteRun {
    const Path& folder;
    const std::stop_token& stop;
    const std::function<void(const std::string&)>& progress;
    MeasuredSuite& suite;

    /// Adds a point.
    void add(MeasuredPoint point) const { suite.points.push_back(std::move(point)); }
    /// Says what is simulated next; returns false if the run is to end.
    bool next(const std::string& name) const;
};

// The suites, in the order of the tables. Each reads its folder and adds points; throws InputError.
void neusight_steps(const SuiteRun& suite);
void neusight_ops(const SuiteRun& suite);
void timm(const SuiteRun& suite);
void torchgpipe(const SuiteRun& suite);
void vtrain(const SuiteRun& suite);
void tensorflow_2017(const SuiteRun& suite);
void pipeline_tutorial(const SuiteRun& suite);
void kineto(const SuiteRun& suite);
void baechi(const SuiteRun& suite);

}  // namespace placewright
