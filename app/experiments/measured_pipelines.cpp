// SPDX-License-Identifier: MIT
// Suites of networks on several GPUs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "app/experiments/measured_data.hpp"
#include "app/experiments/measured_networks.hpp"
#include "app/experiments/measured_run.hpp"
#include "core/algorithms.hpp"
#include "core/base/text.hpp"
#include "core/graph/networks.hpp"
#include "core/io/text/input_error.hpp"
#include "core/search/search.hpp"

namespace placewright {
namespace {

double mean_of(const JsonValue& list) {
    if (list.size() == 0) list.fail("is empty, expected numbers");
    double sum = 0;
    list.for_each_item([&](const JsonValue& value) { sum += positive(value); });
    return sum / static_cast<double>(list.size());
}

/// A row of torchgpipe's benchmarks.
struct Pipeline {
    std::string network;
    std::size_t gpus = 1;
    std::int64_t batch = 0, micro_batches = 1;
    std::vector<std::size_t> ends;  ///< layers before the end of each GPU's part
    enum class Checkpoint : std::uint8_t { never, always, except_last } checkpoint = Checkpoint::except_last;
    double samples_per_s = 0;
    bool calibrates = false, disputed = false;

    double measured_s() const { return static_cast<double>(batch) / samples_per_s; }
    LayeredNetwork build() const;
};

bool flag(const JsonValue& point, const char* key) {
    const auto value = point.find(key);
    return value && value->truth();
}

using BuildLayered = LayeredNetwork (*)(std::int64_t batch);
const std::map<std::string, BuildLayered, std::less<>>& layered_networks() {
    static const std::map<std::string, BuildLayered, std::less<>> by_name{
        {"resnet101", layered_resnet101}, {"unet", layered_unet}, {"amoebanetd", layered_amoebanet}};
    return by_name;
}

LayeredNetwork Pipeline::build() const {
    return layered_networks().at(network)((batch + micro_batches - 1) / micro_batches);
}

Pipeline pipeline_of(const JsonValue& point) {
    using enum Pipeline::Checkpoint;
    Pipeline row;
    const JsonValue name = point.at("network");
    row.network = name.text();
    if (!layered_networks().contains(row.network))
        name.fail("is " + in_quotes(row.network) + ", expected resnet101, unet or amoebanetd");
    row.gpus = static_cast<std::size_t>(point.at("gpus").whole(1, 64));
    row.batch = point.at("batch").whole(1, 10'000'000);
    row.micro_batches = point.at("chunks").whole(1, row.batch);
    row.samples_per_s = positive(point.at("samples_per_s"));
    row.calibrates = flag(point, "calibrates");
    row.disputed = flag(point, "disputed");
    static const std::map<std::string, Pipeline::Checkpoint, std::less<>> modes{
        {"never", never}, {"always", always}, {"except_last", except_last}};
    const std::string mode = point.text_or("checkpoint", "except_last");
    if (!modes.contains(mode))
        point.at("checkpoint").fail("is " + in_quotes(mode) + ", expected never, always or except_last");
    row.checkpoint = modes.at(mode);
    if (row.gpus == 1) return row;
    const JsonValue balance = point.at("balance");
    std::size_t layers = 0;
    balance.for_each_item([&](const JsonValue& part) {
        layers += static_cast<std::size_t>(part.whole(1, 100'000));
        row.ends.push_back(layers);
    });
    const std::size_t built = row.build().layers();
    if (row.ends.size() != row.gpus || layers != built)
        balance.fail("has " + std::to_string(row.ends.size()) + " parts of " + std::to_string(layers) +
                     " layers together, but there are " + std::to_string(row.gpus) + " GPUs and " +
                     std::to_string(built) + " layers");
    return row;
}

struct PipelineTime {
    double seconds = 0;  ///< in units of a device that is not slower
    ExperimentRun run;   ///< the last of the runs that it was put together from
};

/// Simulates a step with `micro_batches`, all in flight.
ExperimentRun run_pipeline(const Pipeline& row, std::int64_t micro_batches, Recomputation recomputation,
                           double slower) {
    LayeredNetwork network = row.build();
    std::vector<std::size_t> gpu_of(network.graph.size(), 0);
    for (OpId op = 0; op < gpu_of.size() && row.gpus > 1; ++op)
        gpu_of[op] = static_cast<std::size_t>(std::ranges::upper_bound(row.ends, network.layer_of(op)) -
                                              row.ends.begin());
    ProblemOptions options = training_with(0);
    options.recomputation = recomputation;
    options.accumulate_gradients = true;
    const auto count = static_cast<std::uint32_t>(micro_batches);
    const SimulationOptions simulation{count, count, Order::gpipe};
    return run_on(machine_of({.gpu = "Tesla P40",
                              .gpus = static_cast<unsigned>(row.gpus),
                              .link_bytes_per_s = 10e9,
                              .slower = slower}),
                  std::move(network.graph), options, simulation, [&](OpId op) { return gpu_of[op]; });
}

/// Beyond 64 micro-batches each further one takes what the 33rd to the 64th took.
PipelineTime time_pipeline(const Pipeline& row, Recomputation recomputation, double slower) {
    constexpr std::int64_t kMost = 64, kHalf = kMost / 2;
    if (row.micro_batches <= kMost) {
        ExperimentRun run = run_pipeline(row, row.micro_batches, recomputation, slower);
        return {run.total_time_s, std::move(run)};
    }
    const double half_s = run_pipeline(row, kHalf, recomputation, slower).total_time_s;
    ExperimentRun run = run_pipeline(row, kMost, recomputation, slower);
    const double each_s = (run.total_time_s - half_s) / static_cast<double>(kMost - kHalf);
    return {run.total_time_s + static_cast<double>(row.micro_batches - kMost) * each_s, std::move(run)};
}

/// torchgpipe recomputes the activations of all micro-batches, of none, or of all but the last.
PipelineTime time_pipeline(const Pipeline& row, double slower) {
    using enum Pipeline::Checkpoint;
    if (row.checkpoint == never) return time_pipeline(row, Recomputation::none, slower);
    PipelineTime all = time_pipeline(row, Recomputation::segments, slower);
    if (row.checkpoint == always) return all;
    const double none_s = time_pipeline(row, Recomputation::none, slower).seconds;
    const auto count = static_cast<double>(row.micro_batches);
    all.seconds = none_s + (all.seconds - none_s) * (count - 1) / count;
    return all;
}

/// How many times slower than the catalogue says the row shows its GPU to be. With several GPUs, links keep
/// their speed, so that it is found step by step.
double slowness(const Pipeline& row) {
    constexpr int kSteps = 3;
    double slower = 1;
    for (int i = 0; i < (row.gpus == 1 ? 1 : kSteps); ++i)
        slower = row.measured_s() / time_pipeline(row, slower).seconds;
    return slower;
}

}  // namespace

void torchgpipe(const SuiteRun& suite) {
    const MeasuredJson file(suite.folder / "points.json");
    std::vector<Pipeline> rows;
    file.points().for_each_item([&](const JsonValue& point) { rows.push_back(pipeline_of(point)); });
    std::map<std::string, double> slower;
    for (const Pipeline& row : rows) {
        if (!suite.next("calibration of " + row.network)) return;
        if (row.calibrates && !slower.contains(row.network)) slower[row.network] = slowness(row);
    }
    for (const Pipeline& row : rows) {
        if (!slower.contains(row.network))
            file.points().fail("has no row of " + row.network + " with \"calibrates\": true");
        const std::string name =
            row.network + " n=" + std::to_string(row.gpus) + " m=" + std::to_string(row.micro_batches);
        if (!suite.next(name)) return;
        const double factor = slower[row.network];
        const PipelineTime time = time_pipeline(row, factor);
        suite.add({.name = name,
                   .group = row.network,
                   .device = "Tesla P40",
                   .measured_s = row.measured_s(),
                   .simulated_s = time.seconds * factor,
                   .calibration = factor,
                   .interval = time.run.interval(time.seconds),
                   .counted = !row.calibrates && !row.disputed && row.gpus > 1});
    }
}

namespace {

/// A row of vTrain's tables: a plan of Megatron-DeepSpeed.
struct Plan {
    GptShape shape;
    std::int64_t stages = 1, batch = 1, micro_batch = 1;
    double measured_s = 0;
    bool calibrates = false, counted = true;
    ExperimentRun run{};

    std::string name() const;
};

std::string Plan::name() const {
    return 'h' + std::to_string(shape.hidden) + " l" + std::to_string(shape.layers) + " p" +
           std::to_string(stages) + " b" + std::to_string(batch) + " mb" + std::to_string(micro_batch);
}

/// What Megatron's host takes to dispatch an op, and again for each of its kernels.
constexpr double kMegatronHostTimeS = 30e-6;

/// How the plans run.
SimulationOptions plan_simulation(std::int64_t micro_batches, std::int64_t stages) {
    return {static_cast<std::uint32_t>(micro_batches),
            static_cast<std::uint32_t>(std::min(stages, micro_batches)), Order::one_forward_one_backward,
            Runtime::eager, kMegatronHostTimeS};
}

void simulate_plan(Plan& plan) {
    LayeredNetwork network = layered_gpt(plan.micro_batch, plan.shape);
    const auto gpu_of = [&](OpId op) {
        return network.layer_of(op) * static_cast<std::size_t>(plan.stages) / network.layers();
    };
    ProblemOptions options = training_with(2);
    options.recomputation = Recomputation::segments;
    options.accumulate_gradients = true;
    options.precision = Precision::fp16;
    plan.run =
        run_on(machine_of({.gpu = "a100-sxm-80",
                           .gpus = static_cast<unsigned>(plan.stages),
                           .link_bytes_per_s = 250e9,
                           .link_latency_s = 5e-6}),
               network.graph, options, plan_simulation(plan.batch / plan.micro_batch, plan.stages), gpu_of);
}

void read_plans(const Path& path, bool calibrates, std::vector<Plan>& plans) {
    constexpr std::int64_t kVocabulary = 50304;  // of GPT-2, padded
    constexpr std::int64_t kMostLayers = 1000;
    if (!std::filesystem::exists(path)) return;
    const MeasuredTable table(path);
    for (std::size_t row = 0; row < table.rows(); ++row) {
        Plan plan;
        plan.shape = {table.whole(row, "hidden"), table.whole(row, "heads"), table.whole(row, "layers"),
                      table.whole(row, "sequence"), kVocabulary};
        plan.stages = table.whole(row, "stages");
        plan.batch = table.whole(row, "batch");
        plan.micro_batch = table.whole(row, "micro_batch");
        plan.measured_s = table.number(row, "iteration_ms") * 1e-3;
        plan.calibrates = calibrates;
        const std::string bad = plan.batch % plan.micro_batch != 0 ? "batch is no multiple of micro_batch"
                                : plan.shape.layers > kMostLayers  ? "there are more than 1000 layers"
                                : plan.stages > plan.shape.layers  ? "there are more stages than layers"
                                : plan.shape.hidden % plan.shape.heads != 0 ? "hidden is no multiple of heads"
                                                                            : "";
        if (!bad.empty()) table.fail(row, "", bad);
        plans.push_back(std::move(plan));
    }
}

}  // namespace

void vtrain(const SuiteRun& suite) {
    std::vector<Plan> plans;
    read_plans(suite.folder / "calibration.csv", true, plans);
    const std::size_t calibrating = plans.size();
    read_plans(suite.folder / "plans.csv", false, plans);
    if (plans.empty())
        throw InputError(suite.folder.string(), "", "has no plans; expected calibration.csv or plans.csv");
    // Where there are other plans, those that calibrate do not count.
    for (std::size_t i = 0; i < calibrating; ++i) plans[i].counted = plans.size() == calibrating;
    for (Plan& plan : plans) {
        if (!suite.next(plan.name())) return;
        simulate_plan(plan);
    }
    std::map<std::int64_t, std::vector<double>> logs;  // by hidden size
    for (const Plan& plan : plans) {
        if (plan.calibrates)
            logs[plan.shape.hidden].push_back(std::log(plan.measured_s / plan.run.total_time_s));
    }
    for (const Plan& plan : plans) {
        const std::vector<double>& mine = logs[plan.shape.hidden];
        if (mine.empty())
            throw InputError(
                (suite.folder / "calibration.csv").string(), "",
                "has no plan of hidden size " + std::to_string(plan.shape.hidden) + ", which plans.csv has");
        const double factor =
            std::exp(std::accumulate(mine.begin(), mine.end(), 0.0) / static_cast<double>(mine.size()));
        suite.add({.name = plan.name(),
                   .group = "hidden " + std::to_string(plan.shape.hidden),
                   .device = "NVIDIA A100 SXM 80GB",
                   .measured_s = plan.measured_s,
                   .simulated_s = plan.run.total_time_s * factor,
                   .calibration = factor,
                   .interval = plan.run.interval(plan.run.total_time_s),
                   .counted = plan.counted,
                   .fits = plan.run.fits});
    }
}

void pipeline_tutorial(const SuiteRun& suite) {
    const MeasuredJson file(suite.folder / "points.json");
    const JsonValue root = file.root(), seconds = root.at("seconds");
    const std::string gpu = gpu_model(root.at("assumed_device"));
    const std::int64_t batch = root.at("batch").whole(1, 100'000);
    const auto machine = machine_of({.gpu = gpu, .gpus = 2, .link_bytes_per_s = 10e9});
    constexpr std::int64_t kImage = 128;
    if (!suite.next("one GPU")) return;
    const double one_s =
        run_on(machine, resnet50_with_squared_error(batch, kImage), training_with(0)).total_time_s;
    const double calibration = positive(seconds.at("one_gpu")) / one_s;

    struct Case {
        const char* name;
        std::int64_t split;
    };
    for (const Case& item : {Case{"two_gpus_no_pipelining", batch}, Case{"two_gpus_split_20", 20},
                             Case{"two_gpus_split_12", 12}}) {
        const JsonValue measured = seconds.at(item.name);
        if (batch % item.split != 0)
            measured.fail("cannot be: the batch of " + std::to_string(batch) +
                          " does not divide into parts of " + std::to_string(item.split));
        if (!suite.next(item.name)) return;
        const auto parts = static_cast<std::uint32_t>(batch / item.split);
        Graph graph = resnet50_with_squared_error(item.split, kImage);
        const OpId last = graph.find("layer2/3/relu3").value();
        ProblemOptions options = training_with(0);
        SimulationOptions simulation;
        if (parts > 1) {
            options.accumulate_gradients = true;
            simulation = {parts, parts, Order::gpipe};
        }
        const ExperimentRun run = run_on(machine, std::move(graph), options, simulation,
                                         [&](OpId op) { return op <= last ? 0 : 1; });
        suite.add({.name = item.name,
                   .group = "two GPUs",
                   .device = gpu,
                   .measured_s = positive(measured),
                   .simulated_s = run.total_time_s * calibration,
                   .calibration = calibration});
    }
}

void baechi(const SuiteRun& suite) {
    const MeasuredJson file(suite.folder / "facts.json");
    const JsonValue root = file.root(), steps = root.at("step_ms");
    constexpr std::int64_t kBatch = 64;
    constexpr std::uint64_t kEvaluations = 100;
    const std::string gpu = "NVIDIA GeForce RTX 2080";
    MeasuredServer server{.gpu = gpu, .link_bytes_per_s = positive(root.at("link_bytes_per_s"))};
    if (!suite.next("one GPU")) return;
    const ExperimentRun one = run_on(machine_of(server), inception_v3(kBatch), training_with(0));
    server.slower = mean_of(steps.at("one_gpu")) * 1e-3 / one.total_time_s;
    server.gpus = 4;
    suite.suite.notes.push_back(
        "Peak memory of Inception-V3 on one GPU: " + short_number(one.peak_bytes / 1e9) + " GB simulated, " +
        short_number(positive(root.at("peak_gb").at("one_gpu"))) + " GB measured.");
    const auto machine = machine_of(server);
    for (const char* id : {"m-topo", "m-etf", "m-sct"}) {
        const double measured_s = mean_of(steps.at(id)) * 1e-3;
        if (!suite.next(id)) return;
        const AlgorithmInfo& algorithm = *find_algorithm(id);
        if (!algorithm.missing.empty()) {
            suite.suite.notes.push_back(algorithm.missing + '.');
            continue;
        }
        JobOptions options;
        options.problem = training_with(0);
        const Job job = make_job(std::make_shared<const Graph>(inception_v3(kBatch)), machine, options);
        const auto evaluator = evaluator_of(job, 1);
        const auto optimizer =
            algorithm.make({job.problem, 1, {}, kEvaluations, job.objective, job.simulation}, {});
        const SearchResult found = run_search(*optimizer, *evaluator, {kEvaluations}, suite.stop);
        if (!found.progress.best_placement) return;
        const Placement& placement = *found.progress.best_placement;
        const Outcome outcome = Simulator(job.problem, job.simulation).run(placement);
        const auto error = StepError::of(job.problem, placement, outcome, job.simulation);
        suite.add({.name = id,
                   .group = "placements",
                   .device = gpu,
                   .measured_s = measured_s,
                   .simulated_s = outcome.step_time_s * server.slower,
                   .calibration = server.slower,
                   .interval = error ? std::optional(error->interval(outcome.step_time_s)) : std::nullopt,
                   .fits = outcome.fits});
    }
}

}  // namespace placewright
