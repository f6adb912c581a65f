// SPDX-License-Identifier: MIT
// Suites of image classifiers on one GPU.
#include <algorithm>
#include <cmath>
#include <map>

#include "app/experiments/measured_data.hpp"
#include "app/experiments/measured_networks.hpp"
#include "app/experiments/measured_run.hpp"
#include "core/base/text.hpp"
#include "core/graph/networks.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

constexpr std::int64_t kMostBatch = 100'000;

std::int64_t batch_of(const JsonValue& point) {
    return point.at("batch").whole(1, kMostBatch);
}

/// One that ships, by its name.
const NetworkInfo& shipped_network(const JsonValue& name) {
    const NetworkInfo* network = find_network(name.text());
    if (network == nullptr) name.fail("is " + in_quotes(name.text()) + ", which is no network that ships");
    return *network;
}

/// Throws InputError unless the network has the parameters, in millions, that the file says.
void check_parameters(const Graph& graph, const JsonValue& millions) {
    const double expected = positive(millions);
    const double made = static_cast<double>(totals(graph).parameter_bytes) / 4e6;
    // The file has two decimals.
    if (std::abs(made - expected) > 0.006 + 0.002 * expected)
        millions.fail("is " + short_number(expected) + ", but the network built here has " +
                      short_number(made) + " million parameters");
}

}  // namespace

void timm(const SuiteRun& suite) {
    const MeasuredJson file(suite.folder / "points.json");
    // The whole table was measured on one GPU.
    const std::string gpu = "NVIDIA GeForce RTX 3090";
    bool stopped = false;
    file.points().for_each_item([&](const JsonValue& point) {
        const JsonValue name = point.at("model");
        const std::int64_t batch = batch_of(point);
        const std::string text = name.text() + " b" + std::to_string(batch);
        stopped = stopped || !suite.next(text);
        if (stopped) return;
        const auto graph = image_classifier(name.text(), batch, point.at("image").whole(32, 4096));
        if (!graph) name.fail("is " + in_quotes(name.text()) + ", which is no network that is known here");
        check_parameters(*graph, point.at("parameters_m"));
        ProblemOptions options = training_with(1);
        options.precision = Precision::amp_fp16;
        const ExperimentRun run = run_on(machine_of({.gpu = gpu}), *graph, options);
        const auto images = static_cast<double>(batch);
        suite.add({.name = text,
                   .group = text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz")),
                   .device = gpu,
                   .measured_s = positive(point.at("step_ms")) * 1e-3 / images,
                   .simulated_s = run.total_time_s / images,
                   .interval = run.interval(run.total_time_s / images),
                   .fits = run.fits});
    });
}

void tensorflow_2017(const SuiteRun& suite) {
    const MeasuredJson file(suite.folder / "points.json");
    bool stopped = false;
    file.points().for_each_item([&](const JsonValue& point) {
        const JsonValue name = point.at("network");
        const NetworkInfo& network = shipped_network(name);
        const JsonValue device = point.at("device");
        const std::string gpu = gpu_model(device);
        const std::int64_t batch = batch_of(point);
        const std::string text =
            device.text() + ' ' + std::string(network.name) + " b" + std::to_string(batch);
        stopped = stopped || !suite.next(text);
        if (stopped) return;
        const ExperimentRun run = run_on(machine_of({.gpu = gpu}), network.build(batch), training_with(0));
        suite.add({.name = text,
                   .group = std::string(network.name),
                   .device = gpu,
                   .measured_s = static_cast<double>(batch) / positive(point.at("images_per_s")),
                   .simulated_s = run.total_time_s,
                   .interval = run.interval(run.total_time_s),
                   .fits = run.fits});
    });
}

namespace {

double states_of(const JsonValue& optimizer) {
    static const std::map<std::string, double, std::less<>> states{{"sgd", 0}, {"momentum", 1}, {"adam", 2}};
    const auto found = states.find(optimizer.text());
    if (found == states.end())
        optimizer.fail("is " + in_quotes(optimizer.text()) + ", expected sgd, momentum or adam");
    return found->second;
}

/// The kernels of one network by kind and phase, in a file. `prefix` begins the names of the points.
void kernels_of(const SuiteRun& suite, const Path& path, const std::string& prefix) {
    const MeasuredJson file(path);
    const JsonValue root = file.root();
    if (!suite.next(path.filename().string())) return;
    const JsonValue name = root.at("network");
    const NetworkInfo& network = shipped_network(name);
    const std::string gpu = gpu_model(root.at("device"));
    const ExperimentRun run = run_on(machine_of({.gpu = gpu}), network.build(batch_of(root)),
                                     training_with(states_of(root.at("optimizer"))));
    std::map<std::pair<std::string, std::string>, double> simulated_s;
    double whole_simulated_s = 0;
    for (OpId id = 0; id < run.problem->ops; ++id) {
        const Op& op = run.problem->graph->op(id);
        const double seconds = run.problem->time_s(id, gpu_device(0));
        simulated_s[{op.phase == Phase::update ? "" : op.kind, std::string(to_string(op.phase))}] += seconds;
        whole_simulated_s += seconds;
    }
    const JsonValue kernels = root.at("kernels");
    double whole_s = 0;
    kernels.for_each_item([&](const JsonValue& kernel) { whole_s += positive(kernel.at("ms")) * 1e-3; });
    kernels.for_each_item([&](const JsonValue& kernel) {
        const std::string kind = kernel.at("kind").text(), phase = kernel.at("phase").text();
        const double measured_s = kernel.at("ms").number() * 1e-3;
        suite.add({.name = prefix + kind + ' ' + phase,
                   .group = "kinds",
                   .device = gpu,
                   .measured_s = measured_s,
                   .simulated_s = simulated_s[{kind, phase}],
                   .weight = measured_s / whole_s});
    });
    suite.add({.name = prefix + "all kernels",
               .group = "whole step",
               .device = gpu,
               .measured_s = whole_s,
               .simulated_s = whole_simulated_s,
               .interval = run.interval(whole_simulated_s),
               .fits = run.fits});
}

}  // namespace

void kineto(const SuiteRun& suite) {
    std::vector<Path> files;
    for (const auto& entry : std::filesystem::directory_iterator(suite.folder)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    if (files.empty())
        throw InputError(suite.folder.string(), "", "has no kernel times; expected files NAME.json");
    std::ranges::sort(files);
    for (const Path& file : files)
        kernels_of(suite, file, files.size() > 1 ? file.stem().string() + ' ' : std::string());
}

}  // namespace placewright
