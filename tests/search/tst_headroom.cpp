// SPDX-License-Identifier: MIT
// Room in memory at the end of a search.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/search/headroom.hpp"
#include "core/search/layer_runs.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

constexpr double kMemory = 40e9;

/// A language model in small: equal blocks of 2 GB of weights, one after the other, for inference.
Graph blocks(std::size_t count, const std::vector<std::string>& devices = {}, bool labelled = false) {
    GraphBuilder builder("blocks", 1, Training::none);
    Op op;
    op.name = "x";
    op.kind = "input";
    op.outputs = {make_tensor({4'000'000})};  // 16 MB
    op.devices = devices;
    builder.add(op, {});
    for (std::size_t i = 0; i < count; ++i) {
        const std::string before = op.name;
        op.name = "block" + std::to_string(i);
        op.kind = "linear";
        op.flops = 1e13;  // 10 s; a transfer takes 16 ms
        op.parameter_bytes = 2'000'000'000;
        if (labelled) op.colocate = "layers/" + std::to_string(i);
        builder.add(op, {before});
    }
    return builder.build();
}

std::shared_ptr<const Problem> problem_of(std::size_t count, std::size_t gpus = 8) {
    ProblemOptions options;
    options.inference = true;
    return test::problem(blocks(count), test::uniform_machine(gpus, kMemory), options);
}

/// Sixty blocks whose labels say that they are the layers of a model.
std::shared_ptr<const Problem> layers(std::size_t gpus) {
    ProblemOptions options;
    options.inference = true;
    return test::problem(blocks(60, {}, true), test::uniform_machine(gpus, kMemory), options);
}

/// Fills one device after the other with `each` blocks.
Placement filled(const Problem& problem, std::size_t each) {
    Placement placement;
    for (GroupId group = 0; group < problem.groups; ++group)
        placement.push_back(static_cast<DeviceId>((group == 0 ? 0 : group - 1) / each));
    return placement;
}

SearchResult found(const std::shared_ptr<const Problem>& problem, const Placement& placement) {
    SearchResult result;
    result.progress.best_placement = std::make_shared<const Placement>(placement);
    result.progress.best = MemoryPenalty().score(*problem, Simulator(problem, {}).run(placement));
    result.progress.curve = std::make_shared<const std::vector<CurvePoint>>(1);
    return result;
}

std::optional<Headroom> gain(SearchResult& result, const std::shared_ptr<const Problem>& problem,
                             double cost = kHeadroomCost, const char* objective = "step-time",
                             std::uint64_t simulations = 1000) {
    return gain_headroom(result, problem, *find_objective(objective), {}, {}, {cost, simulations});
}

std::size_t devices_in(const Placement& placement) {
    return std::set(placement.begin(), placement.end()).size();
}

}  // namespace

class TestHeadroom : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fullDevicesShareWithIdleOnes();
    void costsNothingWhereNothingIsToBeGiven();
    void neverCostsMore();
    void leavesRoomyPlacementsAlone();
    void needsAPlacementThatFits();
    void keepsToTheAllowedDevices();
    void waitsWhilePaused();
    void endsWithItsSimulations();
    void otherObjectives();
    void scatteredLayersBecomeRuns();
    void layersStayWhereTheyMustBe();
};

// Three GPUs filled to 38 of 40 GB, a fourth nearly empty, four idle.
void TestHeadroom::fullDevicesShareWithIdleOnes() {
    const auto problem = problem_of(60);
    SearchResult result = found(problem, filled(*problem, 19));
    const SearchProgress before = result.progress;
    const auto headroom = gain(result, problem);
    QVERIFY(headroom.has_value());
    QVERIFY2(headroom->found_share > 0.95, qPrintable(QString::number(headroom->found_share)));
    QVERIFY2(headroom->share <= kRoomyShare, qPrintable(QString::number(headroom->share)));
    QCOMPARE(headroom->value_s, before.best.value_s);
    const Placement& placement = *result.progress.best_placement;
    const Outcome outcome = Simulator(problem, {}).run(placement);
    QCOMPARE(result.progress.best, MemoryPenalty().score(*problem, outcome));
    QCOMPARE(*std::ranges::max_element(outcome.peak_bytes) / kMemory, headroom->share);
    QVERIFY(result.progress.best.value_s <= before.best.value_s * (1 + kHeadroomCost));
    QCOMPARE(result.progress.curve, before.curve);

    SearchResult again = found(problem, filled(*problem, 19));
    gain(again, problem);
    QCOMPARE(*again.progress.best_placement, placement);
}

// A cut may move along the chain for nothing, but no cut may be added.
void TestHeadroom::costsNothingWhereNothingIsToBeGiven() {
    const auto problem = problem_of(60);
    SearchResult result = found(problem, filled(*problem, 19));
    const double before_s = result.progress.best.value_s;
    const auto headroom = gain(result, problem, 0);
    QVERIFY(headroom.has_value());
    QVERIFY2(headroom->share < kRoomyShare + 0.01, qPrintable(QString::number(headroom->share)));
    QCOMPARE(result.progress.best.value_s, before_s);
    QCOMPARE(devices_in(*result.progress.best_placement), std::size_t{4});
}

// 60 blocks take 600 s and three transfers 48 ms: two more cuts are 0.005 % more.
void TestHeadroom::neverCostsMore() {
    const auto problem = problem_of(76);  // 95 % of four devices
    SearchResult none = found(problem, filled(*problem, 19));
    QVERIFY(!gain(none, problem, 0).has_value());
    SearchResult result = found(problem, filled(*problem, 19));
    const double before_s = result.progress.best.value_s;
    const double two_cuts = 2 * 0.016 / before_s;
    const auto headroom = gain(result, problem, two_cuts * 1.01);
    QVERIFY(headroom.has_value());
    QVERIFY(result.progress.best.value_s > before_s);
    QVERIFY(result.progress.best.value_s <= before_s * (1 + two_cuts * 1.01));
    QVERIFY(devices_in(*result.progress.best_placement) <= 6);
}

void TestHeadroom::leavesRoomyPlacementsAlone() {
    const auto problem = problem_of(15);  // 75 % of one device
    SearchResult result = found(problem, filled(*problem, 19));
    QVERIFY(!gain(result, problem).has_value());
    QCOMPARE(devices_in(*result.progress.best_placement), std::size_t{1});
}

void TestHeadroom::needsAPlacementThatFits() {
    const auto problem = problem_of(30);
    SearchResult result = found(problem, filled(*problem, 25));
    QVERIFY(!result.progress.best.fits);
    QVERIFY(!gain(result, problem).has_value());
    SearchResult empty;
    QVERIFY(!gain(empty, problem).has_value());
}

void TestHeadroom::keepsToTheAllowedDevices() {
    ProblemOptions options;
    options.inference = true;
    const auto problem = test::problem(blocks(19, {"gpu:0"}), test::uniform_machine(2, kMemory), options);
    SearchResult result = found(problem, filled(*problem, 19));
    QVERIFY(!gain(result, problem).has_value());
}

void TestHeadroom::waitsWhilePaused() {
    const auto problem = problem_of(60);
    SearchResult plain = found(problem, filled(*problem, 19)), paused = plain;
    const auto expected = gain(plain, problem);
    Pause pause;
    pause.set(true);
    std::atomic<bool> ended = false;
    std::thread searcher([&] {
        gain_headroom(paused, problem, objectives().front(), {}, {},
                      {kHeadroomCost, 1000, kInfinity, &pause});
        ended = true;
    });
    QTest::qSleep(300);
    const bool early = ended;
    pause.set(false);
    searcher.join();
    QVERIFY(!early && expected.has_value());
    QCOMPARE(*paused.progress.best_placement, *plain.progress.best_placement);
}

void TestHeadroom::endsWithItsSimulations() {
    const auto problem = problem_of(60);
    SearchResult result = found(problem, filled(*problem, 19));
    QVERIFY(!gain(result, problem, kHeadroomCost, "step-time", 1).has_value());
    SearchResult late = result;
    QVERIFY(
        !gain_headroom(late, problem, objectives().front(), {}, {}, {kHeadroomCost, 1000, 0}).has_value());
    std::stop_source stopped;
    stopped.request_stop();
    QVERIFY(!gain_headroom(late, problem, objectives().front(), {}, {}, {}, stopped.get_token()).has_value());
    QCOMPARE(*late.progress.best_placement, *result.progress.best_placement);
    const auto headroom = gain(result, problem, kHeadroomCost, "step-time", 100);
    QVERIFY(headroom.has_value());
    QVERIFY(headroom->simulations <= 100);
}

void TestHeadroom::otherObjectives() {
    Machine gpus = test::uniform_machine(8, kMemory);
    std::vector<Device> devices(gpus.devices().begin(), gpus.devices().end());
    devices[7].name = "cpu:0";
    devices[7].kind = DeviceKind::cpu;
    const Machine machine("with a CPU", devices, {gpus.channels().begin(), gpus.channels().end()},
                          {gpus.routes().begin(), gpus.routes().end()});
    ProblemOptions options;
    options.inference = true;
    const auto problem = test::problem(blocks(60), machine, options);
    const Objective& objective = *find_objective("max-load");
    SearchResult result = found(problem, filled(*problem, 19));
    result.progress.best =
        MemoryPenalty().score(*problem, objective.evaluate(*problem, *result.progress.best_placement));
    const double before_s = result.progress.best.value_s;
    const auto headroom = gain(result, problem, kHeadroomCost, "max-load");
    QVERIFY(headroom.has_value());
    QVERIFY(result.progress.best.value_s <= before_s * (1 + kHeadroomCost));
    QVERIFY(headroom->share < headroom->found_share);
}

// Searches end with scattered layers where memory is tight; vLLM and others take runs alone.
void TestHeadroom::scatteredLayersBecomeRuns() {
    for (const std::size_t gpus : {4, 6}) {
        const auto problem = layers(gpus);
        Placement scattered;
        for (GroupId group = 0; group < problem->groups; ++group)
            scattered.push_back(static_cast<DeviceId>(group * 7 % gpus));
        SearchResult result = found(problem, scattered);
        const double before_s = result.progress.best.value_s;
        const auto headroom = gain(result, problem);
        QVERIFY(headroom.has_value());
        QVERIFY(headroom->in_runs);
        const Placement& placement = *result.progress.best_placement;
        QCOMPARE(count_layer_runs(*problem, placement), gpus);
        QVERIFY(result.progress.best.value_s < before_s);
        QCOMPARE(result.progress.best,
                 MemoryPenalty().score(*problem, Simulator(problem, {}).run(placement)));
        for (std::size_t device = 0; device < gpus; ++device)
            QCOMPARE(std::ranges::count(placement.begin() + 1, placement.end(), device),
                     std::ranges::count(scattered.begin() + 1, scattered.end(), device));
    }
    // Room in memory must not cost runs.
    const auto problem = layers(4);
    SearchResult full = found(problem, filled(*problem, 19));
    QVERIFY(gain(full, problem).has_value());
    QCOMPARE(count_layer_runs(*problem, *full.progress.best_placement), std::size_t{4});
}

void TestHeadroom::layersStayWhereTheyMustBe() {
    ProblemOptions options;
    options.inference = true;
    const auto problem =
        test::problem(blocks(20, {"gpu:1"}, true), test::uniform_machine(3, kMemory), options);
    Placement scattered(problem->groups, 1);
    scattered[5] = scattered[9] = 0;  // as no search would
    QCOMPARE(placements_in_layer_runs(*problem, Placement(problem->groups, 1)).size(), std::size_t{0});
    for (const Placement& tried : placements_in_layer_runs(*problem, scattered)) {
        for (GroupId group = 0; group < problem->groups; ++group)
            QVERIFY(std::ranges::binary_search(problem->allowed_devices(group), tried[group]) ||
                    tried[group] == scattered[group]);
    }
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestHeadroom)
#include "tst_headroom.moc"
