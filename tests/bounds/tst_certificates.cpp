// SPDX-License-Identifier: MIT
// Bounds that need solvers, compared with all placements of small problems and with the figures of the
// published workloads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <thread>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/bounds/bounds.hpp"
#include "core/bounds/packing.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/search/algorithms/incremental_objective.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/placements.hpp"
#include "tests/support/reference.hpp"

namespace placewright {
namespace {

/// CPUs first, then accelerators; the devices of one kind are all equal or all different. All transfers pass
/// the memory of the first CPU.
Machine host_machine(Random& random, std::size_t cpus, std::size_t accelerators, double memory_bytes) {
    const bool alike = random.chance(0.7);
    std::vector<Device> devices;
    std::vector<Channel> channels;
    std::vector<Route> routes;
    for (std::size_t i = 0; i < cpus + accelerators; ++i) {
        Device device;
        device.name = "device:" + std::to_string(i);
        device.kind = i < cpus ? DeviceKind::cpu : DeviceKind::accelerator;
        device.model = "test";
        device.peak_flops = i < cpus ? 2e11 : 1e12;
        if (!alike) device.peak_flops *= random.uniform(0.3, 2);
        device.memory_bandwidth = 1e12;
        device.memory_bytes = i < cpus && random.chance(0.7)
                                  ? 1e12
                                  : std::floor(memory_bytes * (alike ? 1 : random.uniform(0.5, 1.5))) + 1;
        devices.push_back(device);
    }
    for (std::size_t from = 0; from < devices.size(); ++from) {
        for (std::size_t to = 0; to < devices.size(); ++to) {
            if (from == to) continue;
            Channel channel;
            channel.name = std::to_string(from) + "-" + std::to_string(to);
            channel.bandwidth = alike ? 1e9 : random.uniform(3e8, 3e9);
            routes.push_back({static_cast<DeviceId>(from),
                              static_cast<DeviceId>(to),
                              {static_cast<ChannelId>(channels.size())}});
            channels.push_back(channel);
        }
    }
    return Machine("host", std::move(devices), std::move(channels), std::move(routes));
}

/// A few ops in a few groups on a host and accelerators; colour classes, ops with device constraints, little
/// memory.
std::shared_ptr<const Problem> host_case(std::uint64_t seed, Training training) {
    Random random(seed * 31 + 5);
    const std::size_t ops = 3 + random.index(training == Training::none ? 5 : 4);
    const Graph base = test::random_graph(seed + 900, ops, 2, training);
    const std::size_t accelerators = 1 + random.index(2), cpus = 1 + random.index(2);
    double bytes = 0;
    GraphBuilder builder(base.name(), 1, training);
    const double colours = random.chance(0.5) ? 0.4 : 0, bound = random.chance(0.3) ? 0.3 : 0;
    const bool in_line = random.chance(0.5);
    for (Op op : base.ops()) {
        bytes += 2 * static_cast<double>(op.parameter_bytes) + static_cast<double>(op.outputs[0].bytes);
        if (random.chance(colours)) op.colocate = random.chance(0.5) ? "red" : "blue";
        if (random.chance(bound) && op.colocate.empty())
            op.devices = {random.chance(0.5) ? "cpu" : "accelerator"};
        std::vector<std::string> inputs;
        for (const TensorRef& input : op.inputs)
            inputs.push_back(base.op(input.op).name + ":" + std::to_string(input.output));
        // Otherwise few ops come before or after all others.
        if (in_line && builder.size() > 0 && random.chance(0.7))
            inputs.push_back("op" + std::to_string(builder.size() - 1));
        op.inputs.clear();
        builder.add(std::move(op), std::move(inputs));
    }
    const double share = random.uniform(0.4, 1.5) / static_cast<double>(accelerators);
    return test::problem(builder.build(), host_machine(random, cpus, accelerators, bytes * share));
}

/// The least value over all placements that fit the memory; infinity if none fits.
double least_value_s(const Problem& problem, const Objective& objective) {
    double best_s = kInfinity;
    test::for_each_placement(problem, [&](const Placement& placement) {
        try {
            const Evaluation evaluation = objective.evaluate(problem, placement);
            if (evaluation.fits) best_s = std::min(best_s, evaluation.seconds);
        } catch (const PlacementError&) {  // blocks that wait for each other
        }
    });
    return best_s;
}

bool at_most(double bound_s, double optimum_s) {
    return bound_s <= optimum_s * (1 + 1e-12);
}

const Path kReference = test::reference("dnn-partitioning");

std::shared_ptr<const Problem> workload(const QString& name) {
    const char* folder = name[0] == 'T' ? "throughput-inputs" : "latency-inputs";
    const char* graphs = name[1] == 'L' ? "LayerGraphs" : "OperatorGraphs";
    NetworkFile read = read_network(kReference / folder / graphs / (name.mid(3).toStdString() + ".json"));
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    return test::problem(std::move(read.graph), *std::move(read.machine), options);
}

}  // namespace

class TestCertificates : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void quickBoundsHold_data();
    void quickBoundsHold();
    void solversProveTheOptimum();
    void boundsHoldWhereTimesDifferWidely();
    void packingIsExact();
    void pigeonholeCountsGroups();
    void devicesThatAreAlikeAreToldApart();
    void workloads_data();
    void workloads();
    void solvingLeavesInterruptsToTheProgram();
    void workloadsAreProven_data();
    void workloadsAreProven();

    void milpFindsTheLeastMaxLoad();
    void milpOfStepTime();
    void milpIsTheSameEveryTime();
    void milpEndsWithTheTime();
    void milpRefusesBlockLatency();

    void objectivesFollowMoves_data() { quickBoundsHold_data(); }
    void objectivesFollowMoves();
    void loadAnnealingFindsTheOptimum_data() { quickBoundsHold_data(); }
    void loadAnnealingFindsTheOptimum();
    void loadAnnealingIsTheSameEveryTime();
    void searchesReachTheBestKnown_data();
    void searchesReachTheBestKnown();
};

void TestCertificates::quickBoundsHold_data() {
    QTest::addColumn<QString>("objective");
    QTest::newRow("max load") << "max-load";
    QTest::newRow("block latency") << "block-latency";
}

void TestCertificates::quickBoundsHold() {
    QFETCH(QString, objective);
    const Objective& asked = *find_objective(objective.toStdString());
    int tight = 0, above_all_others = 0, unfit = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        const bool inference = objective == "block-latency" || seed % 2 == 0;
        const auto problem = host_case(seed, inference ? Training::none : Training::implicit);
        const double optimum_s = least_value_s(*problem, asked);
        const auto bounds = quick_bounds(*problem, asked);
        for (const Bound& bound : bounds) {
            QVERIFY2(at_most(bound.value_s, optimum_s), qPrintable(QString("seed %1: %2 %3 > %4")
                                                                       .arg(seed)
                                                                       .arg(bound.name.c_str())
                                                                       .arg(bound.value_s)
                                                                       .arg(optimum_s)));
            QVERIFY(!bound.proof.empty());
        }
        QVERIFY(std::ranges::is_sorted(bounds, std::ranges::greater{}, &Bound::value_s));
        tight += optimum_s < kInfinity && bounds.front().value_s > optimum_s * (1 - 2e-6);
        above_all_others += bounds.size() > 1 && bounds[0].value_s > bounds[1].value_s * (1 + 1e-5);
        unfit += optimum_s == kInfinity;
    }
    qInfo("%d of 600 tight, %d above the next, %d where nothing fits", tight, above_all_others, unfit);
    QVERIFY(tight > 60);
    QVERIFY(above_all_others > 60);
    QVERIFY(unfit > 10 && unfit < 300);
}

void TestCertificates::solversProveTheOptimum() {
    const Objective& objective = *find_objective("max-load");
    int pigeonhole_tighter = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto problem = host_case(seed, seed % 2 == 0 ? Training::none : Training::implicit);
        const double optimum_s = least_value_s(*problem, objective);
        // Without a known placement, with a mediocre one, and with the best.
        for (const double incumbent : {kInfinity, 1.3, 1.0}) {
            BoundEffort effort;
            effort.seconds = 60;
            effort.incumbent_s = incumbent * optimum_s;
            const double quick_s = quick_bounds(*problem, objective).front().value_s;
            double proven_s = quick_s;
            prove_bounds(*problem, objective, {}, effort, [&](const Bound& bound) {
                QVERIFY2(at_most(bound.value_s, optimum_s), qPrintable(QString("seed %1: %2 %3 > %4")
                                                                           .arg(seed)
                                                                           .arg(bound.name.c_str())
                                                                           .arg(bound.value_s)
                                                                           .arg(optimum_s)));
                proven_s = std::max(proven_s, bound.value_s);
                pigeonhole_tighter += bound.name == "pigeonhole" && bound.value_s > quick_s * (1 + 1e-5);
            });
            QVERIFY2(proven_s >= optimum_s * (1 - 2e-6) || proven_s == optimum_s,
                     qPrintable(QString("seed %1: %2 < %3").arg(seed).arg(proven_s).arg(optimum_s)));
        }
    }
    QVERIFY(pigeonhole_tighter > 10);
}

/// From links that take a million times as long as ops to ops that take a million times as long.
void TestCertificates::boundsHoldWhereTimesDifferWidely() {
    const Objective& objective = *find_objective("max-load");
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto usual = host_case(seed, Training::none);
        Random random(seed + 17);
        const auto spread = [&] { return std::exp2(random.uniform(-20, 20)); };
        std::vector<Device> devices(usual->machine->devices().begin(), usual->machine->devices().end());
        std::vector<Channel> channels(usual->machine->channels().begin(), usual->machine->channels().end());
        for (Device& device : devices) {
            device.peak_flops *= spread();
            device.memory_bandwidth *= spread();
        }
        for (Channel& channel : channels) channel.bandwidth *= spread();
        const Machine machine("wide", std::move(devices), std::move(channels),
                              {usual->machine->routes().begin(), usual->machine->routes().end()});
        const auto problem = make_problem(usual->graph, std::make_shared<const Machine>(machine), {});
        const double optimum_s = least_value_s(*problem, objective);
        const auto holds = [&](const Bound& bound) {
            QVERIFY2(at_most(bound.value_s, optimum_s), qPrintable(QString("seed %1: %2 %3 > %4")
                                                                       .arg(seed)
                                                                       .arg(bound.name.c_str())
                                                                       .arg(bound.value_s)
                                                                       .arg(optimum_s)));
        };
        std::ranges::for_each(quick_bounds(*problem, objective), holds);
        BoundEffort effort;
        effort.seconds = 20;
        effort.incumbent_s = optimum_s;
        prove_bounds(*problem, objective, {}, effort, holds);
        if (QTest::currentTestFailed()) return;
    }
}

namespace {

/// Groups that may be on some of the devices, of one to three classes; times of a few ticks of 1 s, no
/// transfers.
LoadModel random_loads(std::uint64_t seed) {
    Random random(seed);
    LoadModel model;
    model.tick_s = 1;
    const std::size_t groups = 1 + random.index(6), classes = 1 + random.index(3);
    model.group_bytes.assign(groups, 0);
    const std::size_t anywhere = random.index(classes);
    DeviceId device = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        LoadClass one;
        for (std::size_t i = 0; i < 1 + random.index(2); ++i) one.devices.push_back(device++);
        const double longest = random.uniform(2, 40);
        for (std::size_t group = 0; group < groups; ++group) {
            const bool may_be = c == anywhere || random.chance(0.8);
            one.group_s.push_back(may_be ? std::floor(random.uniform(0, longest)) : kInfinity);
        }
        model.classes.push_back(std::move(one));
    }
    return model;
}

/// Minimum over all assignments of the groups from `group` on, for devices whose loads so far are `load_s`
/// (by class).
double least_load_s(const LoadModel& model, std::vector<std::vector<double>>& load_s, GroupId group = 0) {
    double best_s = kInfinity;
    if (group == model.groups()) {
        best_s = 0;
        for (const auto& loads : load_s) best_s = std::max(best_s, std::ranges::max(loads));
        return best_s;
    }
    for (std::size_t c = 0; c < load_s.size(); ++c) {
        const double time_s = model.classes[c].group_s[group];
        if (time_s == kInfinity) continue;
        for (double& load : load_s[c]) {
            load += time_s;
            best_s = std::min(best_s, least_load_s(model, load_s, group + 1));
            load -= time_s;
        }
    }
    return best_s;
}

double least_load_s(const LoadModel& model) {
    std::vector<std::vector<double>> load_s;
    for (const LoadClass& one : model.classes) load_s.emplace_back(one.devices.size(), 0.0);
    return least_load_s(model, load_s);
}

/// Equal accelerators and a row of groups.
LoadModel row_of_groups(std::size_t devices, std::vector<double> group_s, double transfer_s) {
    LoadModel model;
    model.tick_s = 1;
    model.group_bytes.assign(group_s.size(), 0);
    LoadClass one;
    for (DeviceId device = 0; device < devices; ++device) one.devices.push_back(device);
    for (GroupId group = 0; group + 1 < group_s.size(); ++group) {
        model.bundles.push_back({group, {group + 1}, {}});
        one.read_s.push_back(transfer_s);
        one.write_s.push_back(transfer_s);
    }
    one.group_s = std::move(group_s);
    model.classes = {std::move(one)};
    return model;
}

}  // namespace

void TestCertificates::packingIsExact() {
    int above_average = 0, given_up = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const LoadModel model = random_loads(seed);
        const LeastLoads own = own_loads(model);
        const double optimum_s = least_load_s(model);
        QCOMPARE(packed_load_s(model, own, 0, kInfinity, 10'000'000), optimum_s);
        // A known packing that is optimal or worse; and a cutoff below the optimum.
        for (const double cutoff_s : {optimum_s, std::ceil(1.4 * optimum_s), std::floor(0.8 * optimum_s)})
            QCOMPARE(packed_load_s(model, own, 0, cutoff_s, 10'000'000), std::min(cutoff_s, optimum_s));
        const double average_s = balanced_load_s(model, own).value();
        above_average += optimum_s > average_s * (1 + 1e-5);
        for (const std::size_t steps : {0, 10, 100, 300}) {
            const double bound_s = packed_load_s(model, own, average_s, kInfinity, steps);
            QVERIFY2(bound_s >= average_s && bound_s <= optimum_s,
                     qPrintable(QString("seed %1: %2 > %3").arg(seed).arg(bound_s).arg(optimum_s)));
            given_up += bound_s < optimum_s;
        }
    }
    QVERIFY(above_average > 20);
    QVERIFY(given_up > 100);
}

void TestCertificates::pigeonholeCountsGroups() {
    // Nine groups of about 10 s in a row on four devices: one device has three, with a transfer of 1 s to or
    // from it at least; on average a device has two and a quarter.
    const LoadModel model = row_of_groups(4, {12, 11, 13, 11, 10, 12, 11, 10, 10}, 1);
    IntegerLimits limits;
    limits.cutoff = 35;
    const double bound_s = pigeonhole_load_s(model, 0, own_loads(model), limits);
    QVERIFY2(bound_s <= 32 && bound_s > 31.999, qPrintable(QString::number(bound_s)));
}

void TestCertificates::devicesThatAreAlikeAreToldApart() {
    // By the longest group of each device: the one of 4 s is on the first, the one of 3 s on one of the
    // first two.
    const LoadModel model = row_of_groups(3, {1, 4, 2, 3}, 0);
    const LoadProgramme program(model, own_loads(model), kInfinity);
    QCOMPARE(program.program().columns(), std::size_t{1 + (1 + 2 + 3 + 3)});
    const IntegerResult result = solve_integer(program.program(), {});
    QVERIFY(result.finished);
    QVERIFY(std::abs(result.value * program.unit_s() - 4) < 1e-6);
    const Placement placement = program.placement(result.x);
    QCOMPARE(placement[1], DeviceId{0});
    QCOMPARE(placement[3], DeviceId{1});
}

void TestCertificates::solvingLeavesInterruptsToTheProgram() {
    const auto own = [](int) {};
    void (*const handler)(int) = own;
    const auto before = std::signal(SIGINT, handler);
    const auto restore = qScopeGuard([&] { std::signal(SIGINT, before); });
    std::atomic<int> others = 0;
    {
        const std::jthread watcher([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                struct sigaction now {};
                sigaction(SIGINT, nullptr, &now);
                if (now.sa_handler != handler) ++others;
            }
        });
        std::vector<double> loads;
        for (int i = 0; i < 60; ++i) loads.push_back(10 + i % 7);
        const LoadModel model = row_of_groups(4, loads, 1);
        const LoadProgramme program(model, own_loads(model), kInfinity);
        IntegerLimits limits;
        limits.nodes = 1;
        QVERIFY(solve_integer(program.program(), limits).bound > 0);
    }
    QCOMPARE(others.load(), 0);
}

void TestCertificates::workloadsAreProven_data() {
    QTest::addColumn<double>("best_ms");
    QTest::newRow("TL-bert24_inference") << 17.71471875;
    QTest::newRow("TL-bert24_training") << 39.7895388793945;
}

/// Only the optimality of these placements is known.
void TestCertificates::workloadsAreProven() {
    if (!std::filesystem::exists(kReference)) QSKIP("the reference workloads are not beside this checkout");
    QFETCH(double, best_ms);
    BoundEffort effort;
    effort.seconds = 60;
    effort.incumbent_s = best_ms * 1e-3;
    double proven_ms = 0;
    prove_bounds(*workload(QTest::currentDataTag()), *find_objective("max-load"), {}, effort,
                 [&](const Bound& bound) { proven_ms = std::max(proven_ms, bound.value_s * 1e3); });
    QVERIFY2(proven_ms > best_ms - 6e-5 && proven_ms <= best_ms, qPrintable(QString("%1 ms").arg(proven_ms)));
}

void TestCertificates::workloads_data() {
    QTest::addColumn<double>("bound_ms");  // to be reached by the quick bounds
    QTest::addColumn<double>("best_ms");
    const auto row = [](const char* name, double bound_ms, double best_ms) {
        QTest::newRow(name) << bound_ms << best_ms;
    };
    row("TL-bert24_inference", 17.703, 17.715);
    row("TL-bert24_training", 39.769, 39.790);
    row("TL-gnmt_inference", 31.669, 31.687);
    row("TL-inceptionv3_inference", 50.967, 51.552);
    row("TL-inceptionv3_training", 116.489, 118.046);
    row("TL-resnet50_training", 75.784, 76.744);
    row("TO-bert_L-12_training", 312.116, 437.998);
    row("TO-bert_l-12_inference", 106.101, 141.947);
    row("TO-bert_l-3_inference", 21.908, 21.908);
    row("TO-bert_l-3_training", 54.207, 54.207);
    row("TO-resnet50_inference", 124.349, 124.349);
    row("TO-resnet50_training", 253.587, 255.194);
    row("LL-bert24_inference", 100.219, 100.219);
    row("LL-gnmt_inference", 219.544, 225.648);
    row("LL-inceptionv3_inference", 754.364, 1238.286);
    row("LO-bert_l-12_inference", 639.266, 729.567);
    row("LO-bert_l-3_inference", 398.130, 408.474);
    row("LO-resnet50_inference", 453.928, 651.121);
}

void TestCertificates::workloads() {
    if (!std::filesystem::exists(kReference)) QSKIP("the reference workloads are not beside this checkout");
    QFETCH(double, bound_ms);
    QFETCH(double, best_ms);
    const QString name = QTest::currentDataTag();
    const auto problem = workload(name);
    const auto bounds =
        quick_bounds(*problem, *find_objective(name[0] == 'T' ? "max-load" : "block-latency"));
    const double found_ms = bounds.front().value_s * 1e3;
    QVERIFY2(found_ms > bound_ms - 6e-4,
             qPrintable(QString("%1 ms by %2").arg(found_ms).arg(bounds.front().name.c_str())));
    QVERIFY2(found_ms < best_ms + 6e-4,
             qPrintable(QString("%1 ms by %2").arg(found_ms).arg(bounds.front().name.c_str())));
}

// ---- The algorithm milp ----

namespace {

std::unique_ptr<Optimizer> milp(const std::shared_ptr<const Problem>& problem, const Objective& objective,
                                const OptionValues& values = {}) {
    return find_algorithm("milp")->make({problem, 1, {}, {}, &objective, {}}, values);
}

SearchResult milp_search(const std::shared_ptr<const Problem>& problem, const Objective& objective) {
    const auto optimizer = milp(problem, objective);
    return run_search(*optimizer, *objective_evaluator(problem, objective, {}, {}, 1), {});
}

}  // namespace

void TestCertificates::milpFindsTheLeastMaxLoad() {
    const Objective& objective = *find_objective("max-load");
    int feasible = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto problem = host_case(seed, seed % 2 == 0 ? Training::none : Training::implicit);
        const double optimum_s = least_value_s(*problem, objective);
        const SearchProgress found = milp_search(problem, objective).progress;
        QCOMPARE(found.best.fits, optimum_s < kInfinity);
        QVERIFY(at_most(found.lower_bound_s, optimum_s));
        if (!found.best.fits) continue;
        ++feasible;
        QVERIFY2(found.best.value_s <= optimum_s * (1 + 1e-6),
                 qPrintable(QString("seed %1: %2 > %3").arg(seed).arg(found.best.value_s).arg(optimum_s)));
        QVERIFY(found.lower_bound_s >= optimum_s * (1 - 2e-6));
    }
    QVERIFY(feasible > 30);
}

void TestCertificates::milpOfStepTime() {
    // Six ops of 1 s with 1 GB of parameters each, in a row: three devices of 2.5 GB, 0.001 s from each to
    // the next. The integer program has no queues, and none occur here.
    Graph chain = test::chain(6, 1e12, 1'000'000);
    GraphBuilder builder("row", 1, Training::none);
    for (Op op : chain.ops()) {
        op.parameter_bytes = 1'000'000'000;
        builder.add(std::move(op));
    }
    const auto problem = test::problem(builder.build(), test::uniform_machine(3, 2.5e9));
    const SearchResult result = milp_search(problem, objectives().front());
    QCOMPARE(result.end, SearchEnd::exhausted);
    QVERIFY(result.progress.best.fits);
    QCOMPARE(result.progress.best.value_s, 6.002);
    QVERIFY(result.progress.lower_bound_s > 6.0019);
    QVERIFY(result.progress.lower_bound_s <= 6.002);
}

void TestCertificates::milpIsTheSameEveryTime() {
    const auto problem = test::problem(test::random_graph(3, 40, 3), test::uniform_machine(3, 3e7));
    const auto steps = [&](int count) {
        const auto optimizer = milp(problem, objectives().front(), {{"events_a_step", std::int64_t{5}}});
        Simulator simulator(problem);
        std::vector<std::pair<Placement, double>> seen;
        for (int i = 0; i < count; ++i) {
            const auto batch = optimizer->ask(3);
            if (batch.empty()) break;
            std::vector<Score> scores;
            for (const Placement& placement : batch) {
                seen.emplace_back(placement, optimizer->lower_bound_s());
                scores.push_back(MemoryPenalty().score(*problem, simulator.run(placement)));
            }
            optimizer->tell(scores);
        }
        return seen;  // the solver is then stopped
    };
    const auto once = steps(40), again = steps(25);
    QVERIFY(again.size() >= 25);
    QVERIFY(once.size() > again.size());
    QVERIFY(std::ranges::equal(std::span(once).first(again.size()), again));
    QVERIFY(once.back().second > 0);
}

/// The first relaxation alone takes far longer.
void TestCertificates::milpEndsWithTheTime() {
    const auto problem = test::problem(test::random_graph(3, 1500, 3), test::uniform_machine(8));
    const auto optimizer = milp(problem, objectives().front());
    const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
    const SearchResult result = run_search(*optimizer, *evaluator, {20'000, 1});
    QCOMPARE(result.end, SearchEnd::budget);
    QVERIFY(result.progress.best_placement != nullptr);
    QVERIFY2(result.progress.elapsed_s < 20, qPrintable(QString::number(result.progress.elapsed_s)));
}

void TestCertificates::milpRefusesBlockLatency() {
    const auto problem = host_case(1, Training::none);
    QVERIFY_THROWS_EXCEPTION(OptionError, milp(problem, *find_objective("block-latency")));
}

// ---- Searches that use the formula ----

namespace {

SearchResult search(const char* id, const std::shared_ptr<const Problem>& problem, const Objective& objective,
                    std::uint64_t evaluations, unsigned threads = 1, const OptionValues& values = {}) {
    const auto optimizer = find_algorithm(id)->make({problem, 1, {}, evaluations, &objective, {}}, values);
    return run_search(*optimizer, *objective_evaluator(problem, objective, {}, {}, threads), {evaluations});
}

}  // namespace

/// Random moves and their reversals, compared with the formula evaluated from scratch.
void TestCertificates::objectivesFollowMoves() {
    QFETCH(QString, objective);
    const Objective& asked = *find_objective(objective.toStdString());
    int defined = 0, undefined = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto problem = host_case(
            seed, objective == "block-latency" || seed % 2 == 0 ? Training::none : Training::implicit);
        const auto moving =
            objective == "max-load" ? incremental_max_load(problem) : incremental_block_latency(problem);
        Random random(seed);
        Placement placement(problem->groups);
        for (GroupId group = 0; group < problem->groups; ++group)
            placement[group] = random.pick(problem->allowed_devices(group));
        moving->start_at(placement);
        for (int move = 0; move < 40; ++move) {
            double expected_s = kInfinity, excess_bytes = 0;
            try {
                const Evaluation evaluation = asked.evaluate(*problem, placement);
                expected_s = evaluation.seconds;
                for (DeviceId device = 0; device < problem->devices; ++device)
                    excess_bytes +=
                        std::max(0.0, evaluation.device_bytes[device] - problem->memory_limit_bytes[device]);
                ++defined;
            } catch (const PlacementError&) {
                ++undefined;
            }
            // The limit is checked first: values above it are not computed.
            if (expected_s < kInfinity && objective == "block-latency") {
                QCOMPARE(moving->energy_s(expected_s * (1 - 1e-9)), kInfinity);
                QCOMPARE(moving->energy_s(expected_s), expected_s);
            }
            QCOMPARE(moving->value_s(), expected_s);
            QVERIFY(moving->energy_s(kInfinity) >= expected_s);
            if (expected_s < kInfinity) QCOMPARE(moving->excess_bytes(), excess_bytes);
            QCOMPARE(moving->placement(), placement);
            const auto group = static_cast<GroupId>(random.index(problem->groups));
            const DeviceId before = placement[group], device = random.pick(problem->allowed_devices(group));
            moving->move(group, device);
            if (random.chance(0.5)) {
                moving->move(group, before);
            } else {
                placement[group] = device;
            }
        }
    }
    QVERIFY(defined > 1000);
    if (objective == "block-latency") QVERIFY(undefined > 0);
}

void TestCertificates::loadAnnealingFindsTheOptimum() {
    QFETCH(QString, objective);
    const Objective& asked = *find_objective(objective.toStdString());
    int feasible = 0, missed = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto problem = host_case(
            seed, objective == "block-latency" || seed % 2 == 0 ? Training::none : Training::implicit);
        const double optimum_s = least_value_s(*problem, asked);
        const SearchProgress found =
            search("load-annealing", problem, asked, 100, 1, {{"cooling", std::int64_t{1000}}}).progress;
        QCOMPARE(found.best.fits, optimum_s < kInfinity);
        if (!found.best.fits) continue;
        ++feasible;
        missed += found.best.penalised_s != optimum_s;
    }
    QVERIFY(feasible > 30);
    // With little memory there may be no path from one fitting placement to another.
    QVERIFY2(missed <= 2, qPrintable(QString::number(missed)));
}

void TestCertificates::loadAnnealingIsTheSameEveryTime() {
    const Objective& objective = *find_objective("max-load");
    const auto problem = host_case(8, Training::implicit);
    for (const char* id : {"load-annealing", "auto"}) {
        const SearchProgress one = search(id, problem, objective, 300, 1).progress,
                             two = search(id, problem, objective, 300, 2).progress;
        QCOMPARE(*two.best_placement, *one.best_placement);
        QCOMPARE(two.evaluations, one.evaluations);
        QVERIFY(std::ranges::equal(*two.curve, *one.curve, {}, &CurvePoint::best_s, &CurvePoint::best_s));
    }
    // Also on a machine without a CPU, where only the step time is defined.
    const auto without_cpu =
        test::problem(test::random_graph(3, 20, 2, Training::implicit), test::uniform_machine(3));
    const auto optimizer = find_algorithm("load-annealing")->make({without_cpu, 1, {}, {}, nullptr, {}}, {});
    QVERIFY(
        run_search(*optimizer, *simulation_evaluator(without_cpu, {}, {}, 1), {50}).progress.best_placement);
}

void TestCertificates::searchesReachTheBestKnown_data() {
    QTest::addColumn<QString>("algorithm");
    QTest::addColumn<int>("evaluations");
    QTest::addColumn<double>("best_ms");
    const auto row = [](const char* name, const char* algorithm, int evaluations, double best_ms) {
        QTest::newRow(name) << algorithm << evaluations << best_ms;
    };
    row("LL-bert24_inference", "ideals-dp", 1, 100.219);
    row("LO-resnet50_inference", "ideals-dp", 1, 651.121);
    row("LO-bert_l-3_inference", "auto", 800, 408.474);
    row("TL-bert24_inference", "auto", 4000, 17.715);
    row("TL-bert24_training", "auto", 4000, 39.790);
    row("TL-gnmt_inference", "load-annealing", 8000, 31.687);
    row("TO-bert_l-3_inference", "auto", 100, 21.908);
    row("TO-resnet50_inference", "auto", 100, 124.349);
}

void TestCertificates::searchesReachTheBestKnown() {
    if (!std::filesystem::exists(kReference)) QSKIP("the reference workloads are not beside this checkout");
    QFETCH(QString, algorithm);
    QFETCH(int, evaluations);
    QFETCH(double, best_ms);
    const QString name = QTest::currentDataTag();
    const Objective& objective = *find_objective(name[0] == 'T' ? "max-load" : "block-latency");
    const Score best =
        search(algorithm.toLatin1(), workload(name), objective, static_cast<std::uint64_t>(evaluations))
            .progress.best;
    QVERIFY(best.fits);
    QVERIFY2(best.penalised_s * 1e3 <= best_ms * 1.005,
             qPrintable(QString("%1 ms").arg(best.penalised_s * 1e3)));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestCertificates)
#include "tst_certificates.moc"
