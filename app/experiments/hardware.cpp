// SPDX-License-Identifier: MIT
#include "app/experiments/hardware.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/graph/networks.hpp"

namespace placewright {
namespace {

constexpr double kLinkBandwidth = 1e9, kLinkLatencyS = 20e-6;
constexpr const char* kLogicalModel = "logical core";
constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> kNetworks{{{"alexnet", 8},
                                                                              {"resnet50", 2},
                                                                              {"inception_v3", 2},
                                                                              {"vgg16", 1},
                                                                              {"nasnet_mobile", 2},
                                                                              {"bert_base", 1}}};
constexpr std::size_t kDefaultNetworks = 3;
constexpr std::uint32_t kGroups = 64;
constexpr std::uint32_t kSteps = 9, kStepsOfTransfers = 10, kStepsOfStability = 20;
/// E5 measures all placements once, then all again: a disturbance of some seconds spoils a round of a
/// placement, not its median.
constexpr std::uint32_t kRounds = 3;

Machine logical_machine() {
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    std::vector<Device> devices(2);
    for (std::size_t k = 0; k < devices.size(); ++k) {
        devices[k].name = "gpu:" + std::to_string(k);
        devices[k].model = kLogicalModel;
        // Of no effect where ops are measured.
        devices[k].peak_flops = 5e10;
        devices[k].memory_bandwidth = 1e10;
        devices[k].memory_bytes = 0.4 * memory;
    }
    std::vector<Channel> channels(2);
    std::vector<Route> routes(2);
    for (std::uint16_t k = 0; k < 2; ++k) {
        channels[k].name = "link " + std::to_string(k) + " to " + std::to_string(1 - k);
        channels[k].bandwidth = kLinkBandwidth;
        channels[k].latency_s = kLinkLatencyS;
        routes[k] = {k, static_cast<DeviceId>(1 - k), {k}};
    }
    return {"two logical devices", std::move(devices), std::move(channels), std::move(routes)};
}

std::shared_ptr<const Graph> graph_of(const HardwareNetwork& network) {
    return std::make_shared<const Graph>(network.build(network.batch));
}

MeasureOptions measure_options(const Laboratory& laboratory, const HardwareOptions& options,
                               std::uint32_t steps = kSteps) {
    MeasureOptions measuring;
    measuring.steps = options.steps > 0 ? options.steps : steps;
    measuring.throttles = laboratory.throttles;
    measuring.seed = options.seed;
    return measuring;
}

/// Passes placements on and keeps all of them.
class Visited : public Evaluator {
public:
    struct Point {
        std::uint64_t evaluation = 0;
        double score_s = 0;
        Placement placement;
    };

    explicit Visited(std::unique_ptr<Evaluator> evaluator) : evaluator_(std::move(evaluator)) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        if (!evaluator_->evaluate(placements, scores, std::move(stop), bases)) return false;
        for (std::size_t k = 0; k < placements.size(); ++k) {
            points_.push_back({points_.size() + 1, scores[k].penalised_s, placements[k]});
        }
        return true;
    }
    std::uint64_t runs() const override { return evaluator_->runs(); }
    DeltaUse delta_use() const override { return evaluator_->delta_use(); }
    Workers* workers() override { return evaluator_->workers(); }
    const std::vector<Point>& points() const { return points_; }

private:
    std::unique_ptr<Evaluator> evaluator_;
    std::vector<Point> points_;
};

/// At most `most` points at even distances in simulated time, from the slowest placement that the search
/// visited to the fastest, which comes last.
std::vector<Visited::Point> thinned(std::vector<Visited::Point> points, std::size_t most) {
    std::vector<Visited::Point> result;
    if (points.empty()) return result;
    std::ranges::stable_sort(points, std::greater<>(), &Visited::Point::score_s);
    const double first = std::log(points.front().score_s), last = std::log(points.back().score_s);
    std::size_t taken = points.size();
    for (std::size_t k = 0; k < most; ++k) {
        const double wanted =
            std::lerp(first, last, most > 1 ? static_cast<double>(k) / static_cast<double>(most - 1) : 1);
        std::size_t nearest = 0;
        for (std::size_t i = 1; i < points.size(); ++i) {
            if (std::abs(std::log(points[i].score_s) - wanted) <=
                std::abs(std::log(points[nearest].score_s) - wanted))
                nearest = i;
        }
        if (nearest != taken) result.push_back(points[nearest]);
        taken = nearest;
    }
    return result;
}

/// Independent copies of a network.
Graph copies_of(const Graph& graph, std::size_t count) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (std::size_t copy = 0; copy < count; ++copy) {
        const std::string prefix = "copy" + std::to_string(copy) + '/';
        for (const Op& op : graph.ops()) {
            Op copied = op;
            copied.name = prefix + op.name;
            if (!op.colocate.empty()) copied.colocate = prefix + op.colocate;
            for (TensorRef& input : copied.inputs) input.op += static_cast<OpId>(copy * graph.size());
            builder.add(std::move(copied));
        }
    }
    return builder.build();
}

/// Times of the ops of a network on each model of device. Cores share caches and memory, so that an op takes
/// longer while others work: there every device runs a copy of the network at the same time, as devices do in
/// the placements that searches look for.
std::optional<ProfileArchive> profiled(const std::shared_ptr<const Graph>& graph,
                                       const Laboratory& laboratory, const MeasureOptions& measuring,
                                       const std::stop_token& stop, const MeasureProgress& progress) {
    if (!laboratory.shares_memory) {
        auto found = profile_network(make_problem(graph, laboratory.machine), laboratory.devices, measuring,
                                     stop, progress);
        if (!found) return std::nullopt;
        return std::move(found->archive);
    }
    const std::size_t count = laboratory.devices.size();
    const auto problem =
        make_problem(std::make_shared<const Graph>(copies_of(*graph, count)), laboratory.machine);
    Placement placement(problem->groups, 0);
    for (std::size_t copy = 0; copy < count; ++copy) {
        for (OpId op = 0; op < graph->size(); ++op) {
            const OpId id = *problem->graph->find("copy" + std::to_string(copy) + '/' + graph->op(op).name);
            placement[problem->grouping.group_of[id]] = static_cast<DeviceId>(copy);
        }
    }
    const auto measurement = measure(problem, placement, laboratory.devices, measuring, stop, progress);
    if (!measurement) return std::nullopt;
    return profile_of(*problem, *measurement, graph->name());
}

/// A problem whose ops and transfers take the times that were measured here. Nothing if `stop` was requested.
struct Calibrated {
    std::shared_ptr<const Problem> problem;
    double overhead_s = 0;
};
std::optional<Calibrated> calibrated(const Laboratory& laboratory, const HardwareNetwork& network,
                                     const HardwareOptions& options, const std::stop_token& stop,
                                     const HardwareProgress& progress) {
    const auto graph = graph_of(network);
    const auto told = [&](const char* what) {
        return [&progress, what, name = network.name](std::uint32_t done, std::uint32_t all) {
            if (progress)
                progress(name + ": " + what + ' ' + std::to_string(done) + " of " + std::to_string(all));
        };
    };
    MeasureOptions measuring = measure_options(laboratory, options);
    measuring.steps += 3;
    auto archive = profiled(graph, laboratory, measuring, stop, told("profile, step"));
    if (!archive) return std::nullopt;
    auto transfers = profile_transfers(laboratory.machine, laboratory.devices, message_sizes(2e7), 5,
                                       laboratory.throttles, stop, told("transfers, size"));
    if (!transfers) return std::nullopt;
    archive->merge(*transfers);
    Calibrated result;
    for (const auto& [model, profile] : archive->devices) result.overhead_s = profile.overhead_s;
    ProblemOptions problem;
    problem.cost.model = find_cost_model("measured");
    problem.cost.profile = std::make_shared<const ProfileArchive>(*std::move(archive));
    // About as many parts as the layers that the thesis placed.
    problem.grouping.rule = GroupingRule::merge;
    problem.grouping.merge_groups = kGroups;
    result.problem = make_problem(graph, laboratory.machine, problem);
    return result;
}

/// Keeps a core busy while it lives.
class Load {
public:
    explicit Load(int core) {
        thread_ = std::jthread([core](const std::stop_token& stop) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(static_cast<std::size_t>(core), &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            volatile double sum = 0;
            while (!stop.stop_requested()) sum = sum + std::sqrt(sum + 1);
        });
    }

private:
    std::jthread thread_;
};

}  // namespace

std::vector<HardwareNetwork> hardware_networks(const std::vector<std::string>& names) {
    std::vector<HardwareNetwork> result;
    const auto add = [&](const auto& network) {
        result.push_back({std::string(network.first), network.second, find_network(network.first)->build});
    };
    for (const std::string& name : names) {
        const auto found =
            std::ranges::find_if(kNetworks, [&](const auto& network) { return network.first == name; });
        if (found == kNetworks.end()) {
            std::string known;
            for (const auto& [each, batch] : kNetworks)
                known += (known.empty() ? "" : ", ") + std::string(each);
            throw UsageError("--only " + name + ": expected one of " + known);
        }
        add(*found);
    }
    if (names.empty()) std::ranges::for_each(std::span(kNetworks).first(kDefaultNetworks), add);
    return result;
}

Laboratory laboratory(std::shared_ptr<const Machine> given) {
    Laboratory result;
    if (given) {
        result.machine = std::move(given);
    } else {
        if (measure_module().cuda_devices() > 0)
            throw UsageError(
                "this computer has CUDA devices: give --machine, for example what \"placewright-cli "
                "machines --detect --out FILE\" writes");
        result.machine = std::make_shared<const Machine>(logical_machine());
    }
    result.devices = physical_devices(*result.machine);
    result.throttles = std::ranges::all_of(result.devices, [](const PhysicalDevice& device) {
        return device.kind == PhysicalDevice::Kind::logical_cpu;
    });
    result.shares_memory = result.throttles && result.devices.size() > 1 &&
                           std::ranges::all_of(result.machine->devices(), [&](const Device& device) {
                               return device.model == result.machine->device(0).model;
                           });
    result.notes = device_notes(*result.machine, result.devices);
    if (result.shares_memory)
        result.notes.emplace_back("ops are profiled while the other devices run the same network");
    if (result.throttles)
        result.notes.emplace_back("transfers take at least as long as the machine's links say");
    return result;
}

std::vector<BandwidthCase> run_e1(const Laboratory& laboratory, const HardwareOptions& options,
                                  std::stop_token stop, const HardwareProgress& progress) {
    const Machine& machine = *laboratory.machine;
    std::vector<BandwidthCase> cases;
    for (const Route& route : machine.routes()) {
        const Device &from = machine.device(route.from), &to = machine.device(route.to);
        if (from.model == to.model && !(route.from == 0 && route.to == 1)) continue;
        BandwidthCase each{from.name, to.name, machine.channels()[route.channels.front()].bandwidth, {}};
        for (const ChannelId channel : route.channels)
            each.nominal = std::min(each.nominal, machine.channels()[channel].bandwidth);
        const auto times =
            measure_transfers(laboratory.machine, route.from, route.to, laboratory.devices, message_sizes(),
                              measure_options(laboratory, options, kStepsOfTransfers).steps,
                              laboratory.throttles, stop, [&](std::uint32_t done, std::uint32_t all) {
                                  if (progress)
                                      progress(each.from + " to " + each.to + ": size " +
                                               std::to_string(done) + " of " + std::to_string(all));
                              });
        if (!times) break;
        each.times = *times;
        cases.push_back(std::move(each));
    }
    return cases;
}

std::vector<StabilityCase> run_e2(const Laboratory& laboratory, const HardwareOptions& options,
                                  std::stop_token stop, const HardwareProgress& progress) {
    std::vector<StabilityCase> cases;
    for (const HardwareNetwork& network : options.networks) {
        const auto problem = make_problem(graph_of(network), laboratory.machine);
        std::vector<std::pair<std::string, Placement>> placements{
            {laboratory.machine->device(0).name + " alone", single_device_placement(*problem, 0)}};
        const auto expert = find_algorithm("expert")->make({problem, options.seed, {}}, {});
        for (const Placement& proposed : expert->ask(1))
            placements.emplace_back("layers over " + std::to_string(problem->devices) + " devices", proposed);
        for (const auto& [name, placement] : placements) {
            MeasureOptions measuring = measure_options(laboratory, options, kStepsOfStability);
            measuring.warm_up = 0;
            ++measuring.steps;  // the first one, which warms up
            const auto measured =
                measure(problem, placement, laboratory.devices, measuring, stop,
                        [&, &where = name](std::uint32_t done, std::uint32_t all) {
                            if (progress)
                                progress(std::string(network.name) + ", " + where + ": step " +
                                         std::to_string(done) + " of " + std::to_string(all));
                        });
            if (!measured) return cases;
            StabilityCase each;
            each.network = network.name;
            each.batch = network.batch;
            each.placement = name;
            each.steps_s = measured->run.step_times_s;
            each.first_s = each.steps_s.front();
            const std::span others = std::span<const double>(each.steps_s).subspan(1);
            each.step = spread_of({others.begin(), others.end()});
            const SampleStatistics statistics = sample_statistics(others);
            each.deviation = statistics.deviation / statistics.mean;
            each.disturbed = measured->disturbed;
            cases.push_back(std::move(each));
        }
    }
    return cases;
}

std::vector<CorrelationCase> run_e5(const Laboratory& laboratory, const HardwareOptions& options,
                                    std::stop_token stop, const HardwareProgress& progress) {
    std::vector<CorrelationCase> cases;
    const std::uint64_t evaluations = options.evaluations > 0 ? options.evaluations : 20'000;
    for (const HardwareNetwork& network : options.networks) {
        const std::string& name = network.name;
        const auto calibration = calibrated(laboratory, network, options, stop, progress);
        if (!calibration) break;
        const auto& problem = calibration->problem;
        if (progress) progress(name + ": search");
        Visited visited(simulation_evaluator(problem, {}, {}));
        const auto optimizer =
            find_algorithm("genetic")->make({problem, options.seed, {}, evaluations, nullptr, {}}, {});
        run_search(*optimizer, visited, {evaluations}, stop);
        const auto points = thinned(visited.points(), options.placements);

        CorrelationCase each;
        each.network = name;
        each.batch = network.batch;
        each.overhead_s = calibration->overhead_s;
        MeasureOptions measuring = measure_options(laboratory, options);
        const std::uint32_t rounds = std::min(kRounds, measuring.steps);
        measuring.steps = (measuring.steps + rounds - 1) / rounds;
        std::vector<std::vector<double>> times_s(points.size());
        for (std::size_t run = 0; run < rounds * points.size(); ++run) {
            if (progress)
                progress(name + ": run " + std::to_string(run + 1) + " of " +
                         std::to_string(rounds * points.size()));
            const std::size_t k = run % points.size();
            const auto measurement =
                measure(problem, points[k].placement, laboratory.devices, measuring, stop);
            if (!measurement) break;
            std::ranges::copy(measurement->run.step_times_s, std::back_inserter(times_s[k]));
        }
        Simulator simulator(problem);
        std::vector<double> simulated, measured, errors, noises;
        for (std::size_t k = 0; k < points.size() && !times_s[k].empty(); ++k) {
            const Spread step = spread_of(std::move(times_s[k]));
            const double simulated_s = simulator.run(points[k].placement).step_time_s;
            each.points.push_back({points[k].evaluation, simulated_s, step});
            simulated.push_back(simulated_s);
            measured.push_back(step.median_s);
            errors.push_back(std::abs(simulated_s / step.median_s - 1));
            noises.push_back(step.relative());
        }
        if (each.points.empty()) break;
        each.pearson = pearson(simulated, measured);
        each.spearman = spearman(simulated, measured);
        each.median_error = median(errors);
        each.noise = median(noises);
        each.picked_s = measured.back();
        each.best_measured_s = std::ranges::min(measured);
        cases.push_back(std::move(each));
        if (stop.stop_requested()) break;
    }
    return cases;
}

std::vector<TransferCase> run_e4(const Laboratory& laboratory, const HardwareOptions& options,
                                 std::stop_token stop, const HardwareProgress& progress) {
    std::vector<TransferCase> cases;
    if (laboratory.devices.size() < 2 || laboratory.devices[1].kind != PhysicalDevice::Kind::logical_cpu)
        throw UsageError(
            "e4 loads the core of the second device, which is no core here; give a machine with two devices "
            "that run on cores of the CPU");
    const std::uint64_t evaluations = options.evaluations > 0 ? options.evaluations : 20'000;
    for (const HardwareNetwork& network : options.networks) {
        const std::string& name = network.name;
        const auto calibration = calibrated(laboratory, network, options, stop, progress);
        if (!calibration) break;
        const auto& problem = calibration->problem;
        const auto search = [&](const char* algorithm, std::size_t most) {
            BestPlacements scored(simulation_evaluator(problem, {}, {}), most);
            const auto optimizer =
                find_algorithm(algorithm)->make({problem, options.seed, {}, evaluations, nullptr, {}}, {});
            run_search(*optimizer, scored, {evaluations}, stop);
            return candidates(*optimizer, scored, most);
        };
        if (progress) progress(name + ": searches");
        const std::vector<Placement> elites = search("map-elites", options.placements);
        const std::vector<Placement> population = search("genetic", 10);
        if (stop.stop_requested() || elites.empty() || population.empty()) break;

        TransferCase each;
        each.network = name;
        each.batch = network.batch;
        each.load = 0.5;  // two threads share the core
        const Load load(laboratory.devices[1].index);
        const MeasureOptions measuring = measure_options(laboratory, options);
        std::size_t done = 0;
        const MeasuredCallback told = [&](const MeasuredPlacement&) {
            if (progress) progress(name + ": placement " + std::to_string(++done));
        };
        const auto run = [&](std::span<const Placement> placements) {
            return measure_placements(problem, placements, laboratory.devices, measuring, {}, stop, told);
        };
        const auto step_s = [&](const Placement& placement) -> std::optional<double> {
            const auto ran = run(std::span(&placement, 1));
            if (ran.empty() || !ran.front().step) return std::nullopt;
            return ran.front().step->median_s;
        };
        each.single_device_s = step_s(single_device_placement(*problem, 0));
        each.best_simulated_s = step_s(elites.front());
        const auto ran = run(elites);
        each.elites_run = ran.size();
        const auto genetic =
            continue_measured(problem, *find_algorithm("genetic"), {}, options.seed, population,
                              3ULL * options.placements, laboratory.devices, measuring, {}, stop, told);
        each.genetic_run = genetic.size();
        if (!ran.empty()) each.elites_s = step_s(ran.front().placement);
        if (!genetic.empty()) each.genetic_s = step_s(genetic.front().placement);
        // A case of which a part was not run says nothing.
        if (stop.stop_requested()) break;
        cases.push_back(std::move(each));
    }
    return cases;
}

}  // namespace placewright
