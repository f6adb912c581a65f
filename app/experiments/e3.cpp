// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "app/experiments/experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

enum class Setting : std::uint8_t {
    normal,     ///< two GPUs, each with memory for all ops
    limited,    ///< four GPUs, none with memory for all ops
    pipelined,  ///< four GPUs, ten batches, four of them in flight
};
constexpr std::array kSettings{Setting::normal, Setting::limited, Setting::pipelined};

std::string to_string(Setting setting) {
    static constexpr std::array<const char*, 3> names{"normal", "limited", "pipelined"};
    return names[static_cast<std::size_t>(setting)];
}

struct Network {
    std::string_view name;      ///< in known_networks()
    double thesis_limit_bytes;  ///< memory of a GPU in the limited setting of the thesis
    /// Peak memory of the thesis's network on one GPU, by Exprimo. The limit used here is the same share of
    /// the peak of our network, in which batch normalisations and activations are separate ops that the
    /// memory model counts.
    double thesis_peak_bytes;
};
constexpr std::array kNetworks{Network{"alexnet", 200e6, 564.3e6}, Network{"resnet50", 2.5e9, 8.4027e9},
                               Network{"inception_v3", 2.5e9, 7.5209e9}};

constexpr std::int64_t kBatch = 128;
constexpr DeviceId kFirstGpu = 1;
constexpr std::string_view kHill = "hill-climbing", kAnnealing = "simulated-annealing", kGenetic = "genetic",
                           kElites = "map-elites";

JobOptions job_options(Setting setting) {
    JobOptions options;
    options.reading.batch = kBatch;
    options.problem.cost.model = find_cost_model("exprimo");
    options.problem.cost.compute_efficiency = 0.9;
    options.problem.cost.channel_efficiency = 0.25;
    options.problem.memory = MemoryModel::exprimo;
    if (setting == Setting::pipelined) options.simulation = {10, 4, Order::fifo};
    return options;
}

/// One network in one setting, as the claims need it.
class E3Case {
public:
    explicit E3Case(const ExperimentCase& item) : case_(item), standings_(item.compared.all_standings()) {}

    /// nullptr where the algorithm has not run.
    const SampleStatistics* find(std::string_view algorithm) const {
        for (const Standing& standing : standings_) {
            if (case_.compared.contestants[standing.contestant].algorithm->id == algorithm)
                return &standing.score_s;
        }
        return nullptr;
    }
    const SampleStatistics& operator[](std::string_view algorithm) const { return *find(algorithm); }
    double mean_s(std::string_view algorithm) const { return find(algorithm)->mean; }
    double one_gpu_s() const { return case_.one_gpu_s; }
    /// Whether the mean is within 0.5 % of one GPU, or better.
    bool finds_one_gpu(std::string_view algorithm) const { return mean_s(algorithm) <= one_gpu_s() * 1.005; }
    bool clearly_better(std::string_view first, std::string_view second) const {
        return clearly_less((*this)[first], (*this)[second]);
    }
    /// Means within 5 %.
    bool similar(std::string_view first, std::string_view second) const {
        return std::abs(mean_s(first) - mean_s(second)) <= 0.05 * std::min(mean_s(first), mean_s(second));
    }

private:
    const ExperimentCase& case_;
    std::vector<Standing> standings_;
};

struct Claim {
    Setting setting;
    std::vector<std::string_view> networks;
    std::string_view text;
    std::vector<std::string_view> algorithms;  ///< algorithms that the claim is about
    std::function<bool(const E3Case&)> holds;
};

const std::vector<Claim>& claims() {
    using enum Setting;
    static const std::vector<std::string_view> all{"alexnet", "resnet50", "inception_v3"}, alexnet{"alexnet"},
        resnet{"resnet50"}, inception{"inception_v3"}, large{"resnet50", "inception_v3"};
    static const std::vector<std::string_view> everyone{kHill, kAnnealing, kGenetic, kElites};
    static const std::vector<Claim> list{
        {normal, all, "Hill climbing is clearly worse than every other algorithm.", everyone,
         [](const E3Case& view) {
             return view.clearly_better(kAnnealing, kHill) && view.clearly_better(kGenetic, kHill) &&
                    view.clearly_better(kElites, kHill);
         }},
        {normal,
         alexnet,
         "All but hill climbing find the optimum, one GPU.",
         {kAnnealing, kGenetic, kElites},
         [](const E3Case& view) {
             return view.finds_one_gpu(kAnnealing) && view.finds_one_gpu(kGenetic) &&
                    view.finds_one_gpu(kElites);
         }},
        {normal,
         large,
         "Annealing does not come close to one GPU (within 5 %).",
         {kAnnealing},
         [](const E3Case& view) { return view.mean_s(kAnnealing) > 1.05 * view.one_gpu_s(); }},
        {normal,
         large,
         "The genetic algorithm does not quite find one GPU, but is clearly better than annealing.",
         {kAnnealing, kGenetic},
         [](const E3Case& view) {
             return !view.finds_one_gpu(kGenetic) && view.clearly_better(kGenetic, kAnnealing);
         }},
        {normal,
         all,
         "MAP-Elites finds the optimum, one GPU (or better).",
         {kElites},
         [](const E3Case& view) { return view.finds_one_gpu(kElites); }},
        {limited, alexnet, "Hill climbing is clearly worse than every other algorithm.", everyone,
         [](const E3Case& view) {
             return view.clearly_better(kAnnealing, kHill) && view.clearly_better(kGenetic, kHill) &&
                    view.clearly_better(kElites, kHill);
         }},
        {limited,
         alexnet,
         "Annealing is clearly worse than the genetic algorithm and MAP-Elites, which are similar (within 5 "
         "%).",
         {kAnnealing, kGenetic, kElites},
         [](const E3Case& view) {
             return view.clearly_better(kGenetic, kAnnealing) && view.clearly_better(kElites, kAnnealing) &&
                    view.similar(kGenetic, kElites);
         }},
        {limited,
         large,
         "The genetic algorithm and MAP-Elites are clearly better than annealing.",
         {kAnnealing, kGenetic, kElites},
         [](const E3Case& view) {
             return view.clearly_better(kGenetic, kAnnealing) && view.clearly_better(kElites, kAnnealing);
         }},
        {limited,
         inception,
         "Hill climbing is better than annealing.",
         {kHill, kAnnealing},
         [](const E3Case& view) { return view.clearly_better(kHill, kAnnealing); }},
        {limited,
         large,
         "MAP-Elites is slightly worse than the genetic algorithm.",
         {kGenetic, kElites},
         [](const E3Case& view) { return view.mean_s(kGenetic) < view.mean_s(kElites); }},
        {pipelined, alexnet, "Every algorithm beats one GPU.", everyone,
         [](const E3Case& view) {
             return std::ranges::all_of(
                 everyone, [&](auto algorithm) { return view.mean_s(algorithm) < view.one_gpu_s(); });
         }},
        {pipelined, alexnet,
         "The genetic algorithm and MAP-Elites are equal (within 5 %), hill climbing and annealing worse.",
         everyone,
         [](const E3Case& view) {
             const double worse_s = std::max(view.mean_s(kGenetic), view.mean_s(kElites));
             return view.similar(kGenetic, kElites) && view.mean_s(kHill) > worse_s &&
                    view.mean_s(kAnnealing) > worse_s;
         }},
        {pipelined,
         large,
         "Neither hill climbing nor annealing beats one GPU.",
         {kHill, kAnnealing},
         [](const E3Case& view) {
             return view.mean_s(kHill) >= view.one_gpu_s() && view.mean_s(kAnnealing) >= view.one_gpu_s();
         }},
        {pipelined,
         large,
         "The genetic algorithm and MAP-Elites beat one GPU, but take more than half its time.",
         {kGenetic, kElites},
         [](const E3Case& view) {
             return std::ranges::all_of(std::array{kGenetic, kElites}, [&](auto algorithm) {
                 return view.mean_s(algorithm) < view.one_gpu_s() &&
                        view.mean_s(algorithm) > view.one_gpu_s() / 2;
             });
         }},
        {pipelined,
         large,
         "MAP-Elites is slightly better than the genetic algorithm.",
         {kGenetic, kElites},
         [](const E3Case& view) { return view.mean_s(kElites) < view.mean_s(kGenetic); }},
        {pipelined,
         resnet,
         "The difference between the two is not significant (the thesis: t(18) = 1.56, p = 0.1371).",
         {kGenetic, kElites},
         [](const E3Case& view) {
             return !view.clearly_better(kElites, kGenetic) && !view.clearly_better(kGenetic, kElites);
         }},
    };
    return list;
}

/// "resnet50: genetic 250 ms, map-elites 203 ms, one GPU 203 ms"
std::string figures(const std::string& network, const ExperimentCase& item, const E3Case& view,
                    const Claim& claim) {
    std::string text = network + ": ";
    for (const std::string_view algorithm : claim.algorithms) {
        const SampleStatistics* const score_s = view.find(algorithm);
        text += std::string(algorithm) + ' ' +
                (score_s != nullptr ? format_seconds(score_s->mean) : "not run") + ", ";
    }
    text += "one GPU " + (item.one_gpu_fits ? format_seconds(item.one_gpu_s) : "does not fit");
    return text;
}

std::string test_text(const E3Case& view, const Claim& claim) {
    if (claim.algorithms.size() != 2) return {};
    const auto test = welch_test(view[claim.algorithms[0]], view[claim.algorithms[1]]);
    if (!test) return {};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), ", t(%.0f) = %.2f, p %s%s", test->degrees_of_freedom, test->t,
                  test->p < 0.001 ? "" : "= ", p_text(test->p).c_str());
    return text.data();
}

/// The server Malvik as the thesis models it: two Xeon Gold 6132 as one device, and V100s, each on its own
/// PCIe 3 x16, which both directions share. Memory bandwidths and clocks are from Exprimo's device file.
Machine malvik(unsigned gpus, double gpu_memory_bytes) {
    // Exprimo uses binary prefixes for the bytes of transfers and memory traffic.
    constexpr double kExprimoGiga = 0x1.0p30;
    std::vector<Device> devices(1 + gpus);
    devices[0] = {"cpu:0", DeviceKind::cpu, "2x Xeon Gold 6132", 1.8e12, 76.8 * kExprimoGiga, 755e9};
    devices[0].clock_hz = 56 * 2.6e9;
    std::vector<Channel> channels(gpus);
    for (unsigned i = 0; i < gpus; ++i) {
        devices[1 + i] = {"gpu:" + std::to_string(i), DeviceKind::gpu, "NVIDIA V100", 14e12,
                          900 * kExprimoGiga,         gpu_memory_bytes};
        devices[1 + i].clock_hz = 1.312e9;
        channels[i].name = "pcie" + std::to_string(i);
        channels[i].bandwidth = 128.0 / 8 * kExprimoGiga;
    }
    // A GPU sends on its own channel; the CPU sends on the channel of the receiver.
    std::vector<Route> routes;
    for (std::size_t from = 0; from < devices.size(); ++from) {
        for (std::size_t to = 0; to < devices.size(); ++to) {
            if (to == from) continue;
            const auto channel = static_cast<ChannelId>((from == 0 ? to : from) - 1);
            routes.push_back({static_cast<DeviceId>(from), static_cast<DeviceId>(to), {channel}});
        }
    }
    return {"Malvik with " + std::to_string(gpus) + " GPUs", std::move(devices), std::move(channels),
            std::move(routes)};
}

/// Algorithms with the parameters of the thesis (tables 4.3 and 4.4).
std::vector<Contestant> contestants() {
    std::vector<Contestant> all;
    for (const std::string_view id : {kHill, kAnnealing, kGenetic, kElites}) {
        const AlgorithmInfo* algorithm = find_algorithm(id);
        all.push_back({algorithm, find_preset(algorithm->presets, "thesis").values});
    }
    return all;
}

std::vector<ExperimentCase> cases(const ExperimentInputs& inputs) {
    constexpr double kRoom = 32e9;
    std::vector<ExperimentCase> all;
    for (const Setting setting : kSettings) {
        for (const Network& network : kNetworks) {
            const std::string name(network.name);
            const auto graph = inputs.network(name, kBatch);
            JobOptions options = job_options(setting);
            options.problem.grouping = inputs.grouping;
            ExperimentCase item;
            const auto give = [&](double gpu_memory_bytes) {
                item.gpu_memory_bytes = gpu_memory_bytes;
                item.job = make_job(graph,
                                    std::make_shared<const Machine>(
                                        malvik(setting == Setting::normal ? 2 : 4, gpu_memory_bytes)),
                                    options);
            };
            give(kRoom);
            if (setting == Setting::limited) {
                const double peak_bytes = Simulator(item.job.problem, item.job.simulation)
                                              .run(single_device_placement(*item.job.problem, kFirstGpu))
                                              .peak_bytes[kFirstGpu];
                give(peak_bytes * (network.thesis_limit_bytes / network.thesis_peak_bytes));
            }
            measure_one_gpu(item);
            item.repeats = setting == Setting::pipelined ? 10 : 50;
            item.compared.title = to_string(setting) + ", " + name + ": " + item.job.machine->name() +
                                  " of " + format_bytes(item.gpu_memory_bytes);
            item.compared.labels = {to_string(setting), name};
            item.compared.contestants = contestants();
            all.push_back(std::move(item));
        }
    }
    return all;
}

std::vector<Finding> findings(const std::vector<ExperimentCase>& cases) {
    std::vector<Finding> all;
    for (const Claim& claim : claims()) {
        Finding finding{to_string(claim.setting), std::string(claim.text)};
        for (const std::string_view network : claim.networks) {
            const std::vector labels{to_string(claim.setting), std::string(network)};
            const auto item = std::ranges::find_if(
                cases, [&](const ExperimentCase& candidate) { return candidate.compared.labels == labels; });
            const E3Case view(*item);
            const bool ran = std::ranges::all_of(
                claim.algorithms, [&](auto algorithm) { return view.find(algorithm) != nullptr; });
            finding.add(ran, ran && claim.holds(view),
                        ran ? figures(labels[1], *item, view, claim) + test_text(view, claim) : "");
        }
        all.push_back(std::move(finding));
    }
    return all;
}

}  // namespace

const Experiment& e3() {
    static const Experiment experiment{
        "e3",
        "Experiment E3: comparison of optimization algorithms",
        "Comparison of algorithms in Lagostra's thesis on Exprimo, section 4.3.3.",
        "the thesis",
        "Batch size 128; efficiency of devices 0.9, of channels 0.25; op times and memory as in Exprimo "
        "(`--cost exprimo --memory exprimo`).",
        {"setting", "network"},
        {"alexnet", "resnet50", "inception_v3"},
        20'000,
        cases,
        findings};
    return experiment;
}

}  // namespace placewright
