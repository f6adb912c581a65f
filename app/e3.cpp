// SPDX-License-Identifier: MIT
#include "app/e3.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/algorithms.hpp"
#include "core/base/units.hpp"
#include "core/graph/networks.hpp"

namespace placewright::e3 {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr std::string_view kHill = "hill-climbing", kAnnealing = "simulated-annealing", kGenetic = "genetic", kElites = "map-elites";

JobOptions job_options(Setting setting) {
    JobOptions options;
    options.batch = kBatch;
    options.problem.cost.model = find_cost_model("exprimo");
    options.problem.cost.compute_efficiency = 0.9;
    options.problem.cost.channel_efficiency = 0.25;
    options.problem.memory = MemoryModel::exprimo;
    if (setting == Setting::pipelined) options.simulation = {10, 4, Order::fifo};
    return options;
}

/// What the claims are about: one network in one setting.
class View {
public:
    explicit View(const Case& item) : case_(item), standings_(item.compared.all_standings()) {}

    /// nullptr where the algorithm has not run.
    const SampleStatistics* find(std::string_view algorithm) const {
        for (const Standing& standing : standings_) {
            if (case_.compared.contestants[standing.contestant].algorithm->id == algorithm) return &standing.score_s;
        }
        return nullptr;
    }
    const SampleStatistics& operator[](std::string_view algorithm) const { return *find(algorithm); }
    double mean_s(std::string_view algorithm) const { return find(algorithm)->mean; }
    double one_gpu_s() const { return case_.one_gpu_s; }
    /// As good as everything on one GPU, or better.
    bool finds_one_gpu(std::string_view algorithm) const { return mean_s(algorithm) <= one_gpu_s() * 1.005; }
    bool clearly_better(std::string_view first, std::string_view second) const { return clearly_less((*this)[first], (*this)[second]); }
    /// Means within 5 %.
    bool similar(std::string_view first, std::string_view second) const {
        return std::abs(mean_s(first) - mean_s(second)) <= 0.05 * std::min(mean_s(first), mean_s(second));
    }

private:
    const Case& case_;
    std::vector<Standing> standings_;
};

struct Claim {
    Setting setting;
    std::vector<std::string_view> networks;
    std::string_view text;
    std::vector<std::string_view> algorithms;  ///< that it is about
    std::function<bool(const View&)> holds;
};

const std::vector<Claim>& claims() {
    using enum Setting;
    static const std::vector<std::string_view> all{"alexnet", "resnet50", "inception_v3"}, alexnet{"alexnet"}, resnet{"resnet50"},
        inception{"inception_v3"}, large{"resnet50", "inception_v3"};
    static const std::vector<std::string_view> everyone{kHill, kAnnealing, kGenetic, kElites};
    static const std::vector<Claim> list{
        {normal, all, "Hill climbing is clearly worse than every other algorithm.", everyone,
         [](const View& view) {
             return view.clearly_better(kAnnealing, kHill) && view.clearly_better(kGenetic, kHill) && view.clearly_better(kElites, kHill);
         }},
        {normal,
         alexnet,
         "All but hill climbing find the optimum, one GPU.",
         {kAnnealing, kGenetic, kElites},
         [](const View& view) { return view.finds_one_gpu(kAnnealing) && view.finds_one_gpu(kGenetic) && view.finds_one_gpu(kElites); }},
        {normal,
         large,
         "Annealing does not come close to one GPU (within 5 %).",
         {kAnnealing},
         [](const View& view) { return view.mean_s(kAnnealing) > 1.05 * view.one_gpu_s(); }},
        {normal,
         large,
         "The genetic algorithm does not quite find one GPU, but is clearly better than annealing.",
         {kAnnealing, kGenetic},
         [](const View& view) { return !view.finds_one_gpu(kGenetic) && view.clearly_better(kGenetic, kAnnealing); }},
        {normal,
         all,
         "MAP-Elites finds the optimum, one GPU (or better).",
         {kElites},
         [](const View& view) { return view.finds_one_gpu(kElites); }},
        {limited, alexnet, "Hill climbing is clearly worse than every other algorithm.", everyone,
         [](const View& view) {
             return view.clearly_better(kAnnealing, kHill) && view.clearly_better(kGenetic, kHill) && view.clearly_better(kElites, kHill);
         }},
        {limited,
         alexnet,
         "Annealing is clearly worse than the genetic algorithm and MAP-Elites, which are similar (within 5 %).",
         {kAnnealing, kGenetic, kElites},
         [](const View& view) {
             return view.clearly_better(kGenetic, kAnnealing) && view.clearly_better(kElites, kAnnealing) &&
                    view.similar(kGenetic, kElites);
         }},
        {limited,
         large,
         "The genetic algorithm and MAP-Elites are clearly better than annealing.",
         {kAnnealing, kGenetic, kElites},
         [](const View& view) { return view.clearly_better(kGenetic, kAnnealing) && view.clearly_better(kElites, kAnnealing); }},
        {limited,
         inception,
         "Hill climbing is better than annealing.",
         {kHill, kAnnealing},
         [](const View& view) { return view.clearly_better(kHill, kAnnealing); }},
        {limited,
         large,
         "MAP-Elites is slightly worse than the genetic algorithm.",
         {kGenetic, kElites},
         [](const View& view) { return view.mean_s(kGenetic) < view.mean_s(kElites); }},
        {pipelined, alexnet, "Every algorithm beats one GPU.", everyone,
         [](const View& view) {
             return std::ranges::all_of(everyone, [&](auto algorithm) { return view.mean_s(algorithm) < view.one_gpu_s(); });
         }},
        {pipelined, alexnet, "The genetic algorithm and MAP-Elites are equal (within 5 %), hill climbing and annealing worse.", everyone,
         [](const View& view) {
             const double worse_s = std::max(view.mean_s(kGenetic), view.mean_s(kElites));
             return view.similar(kGenetic, kElites) && view.mean_s(kHill) > worse_s && view.mean_s(kAnnealing) > worse_s;
         }},
        {pipelined,
         large,
         "Neither hill climbing nor annealing beats one GPU.",
         {kHill, kAnnealing},
         [](const View& view) { return view.mean_s(kHill) >= view.one_gpu_s() && view.mean_s(kAnnealing) >= view.one_gpu_s(); }},
        {pipelined,
         large,
         "The genetic algorithm and MAP-Elites beat one GPU, but take more than half its time.",
         {kGenetic, kElites},
         [](const View& view) {
             return std::ranges::all_of(std::array{kGenetic, kElites}, [&](auto algorithm) {
                 return view.mean_s(algorithm) < view.one_gpu_s() && view.mean_s(algorithm) > view.one_gpu_s() / 2;
             });
         }},
        {pipelined,
         large,
         "MAP-Elites is slightly better than the genetic algorithm.",
         {kGenetic, kElites},
         [](const View& view) { return view.mean_s(kElites) < view.mean_s(kGenetic); }},
        {pipelined,
         resnet,
         "The difference between the two is not significant (the thesis: t(18) = 1.56, p = 0.1371).",
         {kGenetic, kElites},
         [](const View& view) { return !view.clearly_better(kElites, kGenetic) && !view.clearly_better(kGenetic, kElites); }},
    };
    return list;
}

/// "resnet50: genetic 250 ms, map-elites 203 ms, one GPU 203 ms"
std::string figures(const Case& item, const View& view, const Claim& claim) {
    std::string text = item.network + ": ";
    for (const std::string_view algorithm : claim.algorithms) {
        const SampleStatistics* const score_s = view.find(algorithm);
        text += std::string(algorithm) + ' ' + (score_s != nullptr ? format_seconds(score_s->mean) : "not run") + ", ";
    }
    text += "one GPU " + (item.one_gpu_fits ? format_seconds(item.one_gpu_s) : "does not fit");
    return text;
}

std::string test_text(const View& view, const Claim& claim) {
    if (claim.algorithms.size() != 2) return {};
    const auto test = welch_test(view[claim.algorithms[0]], view[claim.algorithms[1]]);
    if (!test) return {};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), ", t(%.0f) = %.2f, p %s%s", test->degrees_of_freedom, test->t, test->p < 0.001 ? "" : "= ",
                  p_text(test->p).c_str());
    return text.data();
}

}  // namespace

std::string_view to_string(Setting setting) {
    static constexpr std::array<std::string_view, 3> names{"normal", "limited", "pipelined"};
    return names[static_cast<std::size_t>(setting)];
}

std::string_view to_string(Verdict verdict) {
    static constexpr std::array<std::string_view, 3> names{"holds", "differs", "not run"};
    return names[static_cast<std::size_t>(verdict)];
}

Machine malvik(unsigned gpus, double gpu_memory_bytes) {
    // Exprimo counts bytes of transfers and of memory traffic in powers of 2.
    constexpr double kExprimoGiga = 0x1.0p30;
    std::vector<Device> devices(1 + gpus);
    devices[0] = {"cpu:0", DeviceKind::cpu, "2x Xeon Gold 6132", 1.8e12, 76.8 * kExprimoGiga, 755e9};
    devices[0].clock_hz = 56 * 2.6e9;
    std::vector<Channel> channels(gpus);
    for (unsigned i = 0; i < gpus; ++i) {
        devices[1 + i] = {"gpu:" + std::to_string(i), DeviceKind::gpu, "NVIDIA V100", 14e12, 900 * kExprimoGiga, gpu_memory_bytes};
        devices[1 + i].clock_hz = 1.312e9;
        channels[i].name = "pcie" + std::to_string(i);
        channels[i].bandwidth = 128.0 / 8 * kExprimoGiga;
    }
    // A GPU sends on its own channel, whoever receives; the CPU on that of the receiver.
    std::vector<Route> routes;
    for (std::size_t from = 0; from < devices.size(); ++from) {
        for (std::size_t to = 0; to < devices.size(); ++to) {
            if (to == from) continue;
            const auto channel = static_cast<ChannelId>((from == 0 ? to : from) - 1);
            routes.push_back({static_cast<DeviceId>(from), static_cast<DeviceId>(to), {channel}});
        }
    }
    return {"Malvik with " + std::to_string(gpus) + " GPUs", std::move(devices), std::move(channels), std::move(routes)};
}

std::vector<Contestant> contestants() {
    std::vector<Contestant> all;
    for (const std::string_view id : {kHill, kAnnealing, kGenetic, kElites}) {
        if (const AlgorithmInfo* algorithm = find_algorithm(id))
            all.push_back({algorithm, find_preset(algorithm->presets, "thesis").values});
    }
    return all;
}

std::size_t thesis_repeats(Setting setting) {
    return setting == Setting::pipelined ? 10 : 50;
}

std::vector<Case> cases(const std::map<std::string, std::string>& files) {
    constexpr double kRoom = 32e9;
    std::vector<Case> all;
    for (const Setting setting : kSettings) {
        for (const Network& network : kNetworks) {
            const std::string name(network.name);
            const auto file = files.find(name);
            const auto graph = std::make_shared<const Graph>(file == files.end() ? find_network(name)->build(kBatch)
                                                                                 : read_network(file->second, kBatch).graph);
            const JobOptions options = job_options(setting);
            const auto make = [&](double gpu_memory_bytes) {
                return make_job(graph, std::make_shared<const Machine>(malvik(setting == Setting::normal ? 2 : 4, gpu_memory_bytes)),
                                options);
            };
            const auto on_one_gpu = [&](const Job& job) {
                return Simulator(job.problem, job.simulation).run(single_device_placement(*job.problem, DeviceId{1}));
            };
            Case item{setting, name, make(kRoom), kRoom, 0, true, {}};
            Outcome one_gpu = on_one_gpu(item.job);
            if (setting == Setting::limited) {
                item.gpu_memory_bytes = one_gpu.peak_bytes[1] * (network.thesis_limit_bytes / network.thesis_peak_bytes);
                item.job = make(item.gpu_memory_bytes);
                one_gpu = on_one_gpu(item.job);
            }
            item.one_gpu_s = one_gpu.step_time_s;
            item.one_gpu_fits = one_gpu.fits;
            item.compared.title = std::string(to_string(setting)) + ", " + name + ": " + item.job.machine->name() + " of " +
                                  format_bytes(item.gpu_memory_bytes);
            item.compared.labels = {std::string(to_string(setting)), name};
            if (one_gpu.fits) item.compared.one_device_s = one_gpu.step_time_s;
            all.push_back(std::move(item));
        }
    }
    return all;
}

std::vector<Finding> findings(const std::vector<Case>& cases) {
    std::vector<Finding> all;
    for (const Claim& claim : claims()) {
        Finding finding{claim.setting, std::string(claim.text), Verdict::holds, {}};
        for (const std::string_view network : claim.networks) {
            const auto item = std::ranges::find_if(
                cases, [&](const Case& candidate) { return candidate.setting == claim.setting && candidate.network == network; });
            const View view(*item);
            const bool ran = std::ranges::all_of(claim.algorithms, [&](auto algorithm) { return view.find(algorithm) != nullptr; });
            const bool holds = ran && claim.holds(view);
            if (!ran && finding.verdict == Verdict::holds) finding.verdict = Verdict::not_run;
            if (ran && !holds) finding.verdict = Verdict::differs;
            finding.data += (finding.data.empty() ? "" : "; ") + figures(*item, view, claim) + (ran ? test_text(view, claim) : "");
            if (ran && !holds && claim.networks.size() > 1) finding.data += " (differs)";
        }
        all.push_back(std::move(finding));
    }
    return all;
}

}  // namespace placewright::e3
