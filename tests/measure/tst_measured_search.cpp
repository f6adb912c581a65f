// SPDX-License-Identifier: MIT
// Searches whose placements are run, and the experiments on hardware. Times are not checked, since other
// programs may run; what is run, kept, ordered and reported is.
#include <algorithm>
#include <set>

#include <QtTest>

#include "app/experiments/hardware.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/graph/network_builder.hpp"
#include "core/measure/measured_search.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

Graph network(std::int64_t batch = 2) {
    NetworkBuilder net("small", batch);
    Value x = net.input("x", std::array<std::int64_t, 1>{8});
    for (int layer = 0; layer < 4; ++layer) {
        const std::string name = "layer" + std::to_string(layer);
        x = net.relu(name + "/relu", net.linear(name + "/linear", x, 8));
    }
    net.cross_entropy("loss", x);
    return net.build();
}

MeasureOptions quick() {
    MeasureOptions options;
    options.steps = 1;
    options.warm_up = 0;
    return options;
}

/// Answers from a list.
class Listed : public Evaluator {
public:
    explicit Listed(std::vector<double> scores_s) : scores_s_(std::move(scores_s)) {}
    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token,
                  Bases) override {
        for (std::size_t k = 0; k < placements.size(); ++k) scores[k].penalised_s = scores_s_[next_++];
        return true;
    }
    std::uint64_t runs() const override { return next_; }

private:
    std::vector<double> scores_s_;
    std::size_t next_ = 0;
};

}  // namespace

class TestMeasuredSearch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theBestPlacementsAreKeptOnce() {
        BestPlacements best(std::make_unique<Listed>(std::vector<double>{5, 3, 4, 3, 9, 1, 3}), 3);
        const std::vector<Placement> placements{{0}, {1}, {2}, {1}, {3}, {4}, {5}};
        std::vector<Score> scores(placements.size());
        QVERIFY(best.evaluate(placements, scores, {}));
        QCOMPARE(best.placements(), (std::vector<Placement>{{4}, {1}, {5}}));
        QCOMPARE(scores[4].penalised_s, 9.0);
    }

    void placementsAreRunOnceAndSorted() {
        const auto problem = test::problem(network(), test::uniform_machine(2));
        const Placement alone(problem->groups, 0);
        Placement split = alone;
        std::fill(split.begin() + static_cast<std::ptrdiff_t>(split.size() / 2), split.end(), DeviceId{1});
        int reports = 0;
        const auto measured =
            measure_placements(problem, std::vector{alone, split, alone}, std::vector<PhysicalDevice>(2),
                               quick(), {}, {}, [&](const MeasuredPlacement&) { ++reports; });
        QCOMPARE(reports, 2);
        QCOMPARE(measured.size(), std::size_t{2});
        QVERIFY(measured[0].score.penalised_s <= measured[1].score.penalised_s);
        Simulator simulator(problem);
        for (const MeasuredPlacement& each : measured) {
            QVERIFY(each.step->median_s > 0);
            QCOMPARE(each.score.value_s, each.step->median_s);
            QVERIFY(each.score.fits);
            QCOMPARE(each.simulated_s, simulator.run(each.placement).step_time_s);
        }
    }

    void tooMuchMemoryIsPenalised() {
        // The parameters alone take 4 x 288 bytes, twice with momentum.
        const auto problem = test::problem(network(), test::uniform_machine(1, 1500));
        const std::vector<Placement> alone(1, Placement(problem->groups, 0));
        const auto measured = measure_placements(problem, alone, std::vector<PhysicalDevice>(1), quick(), {});
        QCOMPARE(measured.size(), std::size_t{1});
        QVERIFY(!measured[0].score.fits);
        QVERIFY(measured[0].score.penalised_s > measured[0].score.value_s);
    }

    void elitesOfAnArchiveAreCandidates() {
        const auto problem = test::problem(network(), test::uniform_machine(2));
        BestPlacements scored(simulation_evaluator(problem, {}, {}, 1), 5);
        const auto optimizer = find_algorithm("map-elites")->make({problem, 1, {}, 500, nullptr, {}}, {});
        run_search(*optimizer, scored, {500});
        const auto archive = optimizer->archive();
        QVERIFY(archive->elites.size() > 3);
        const std::vector<Placement> best = candidates(*optimizer, scored, 3);
        QCOMPARE(best.size(), std::size_t{3});
        Simulator simulator(problem);
        double last = 0;
        for (const Placement& placement : best) {
            const auto is_it = [&](const ArchiveView::Elite& elite) { return *elite.placement == placement; };
            QVERIFY(std::ranges::any_of(archive->elites, is_it));
            const double step_s = simulator.run(placement).step_time_s;
            QVERIFY(step_s >= last);
            last = step_s;
        }
        // Algorithms without an archive: the best that were scored.
        BestPlacements others(simulation_evaluator(problem, {}, {}, 1), 5);
        const auto genetic = find_algorithm("genetic")->make({problem, 1, {}, 300, nullptr, {}}, {});
        run_search(*genetic, others, {300});
        std::vector<Placement> expected = others.placements();
        QCOMPARE(expected.size(), std::size_t{5});
        expected.resize(3);
        QCOMPARE(candidates(*genetic, others, 3), expected);
    }

    void whatTheSearchReturnsIsACandidate() {
        const auto scored = [](double time_s, DeviceId device) {
            return ScoredPlacement{{time_s, time_s, true}, {device}};
        };
        const std::vector<ScoredPlacement> best{scored(1, 1), scored(2, 2), scored(3, 3)};
        const auto devices = [&](const ScoredPlacement* result, std::size_t most) {
            std::vector<DeviceId> list;
            for (const ScoredPlacement& each : candidates(nullptr, best, result, most))
                list.push_back(each.placement[0]);
            return list;
        };
        using Devices = std::vector<DeviceId>;
        QCOMPARE(devices(nullptr, 2), (Devices{1, 2}));
        QCOMPARE(devices(nullptr, 9), (Devices{1, 2, 3}));
        // In its order, in the place of the last one only where there is no other.
        const ScoredPlacement other = scored(1.5, 9), known = scored(2, 2);
        QCOMPARE(devices(&other, 9), (Devices{1, 9, 2, 3}));
        QCOMPARE(devices(&other, 3), (Devices{1, 9, 2}));
        QCOMPARE(devices(&other, 1), Devices{9});
        QCOMPARE(devices(&known, 3), (Devices{1, 2, 3}));
        QCOMPARE(devices(&known, 1), Devices{2});
        QCOMPARE(devices(&other, 0), Devices{});
    }

    void aRunnerTakesThePlaceOfSteps() {
        const auto problem = test::problem(network(), test::uniform_machine(2));
        const Placement alone(problem->groups, 0), other(problem->groups, 1);
        int runs = 0;
        const PlacementRunner runner = [&](const std::shared_ptr<const Problem>& of,
                                           std::span<const DeviceId> placement,
                                           std::span<const PhysicalDevice>, const MeasureOptions&,
                                           std::stop_token) -> std::optional<Measurement> {
            ++runs;
            Measurement measurement;
            measurement.step = {1, placement[0] == 0 ? 3.0 : 2.0, 4};
            measurement.run.peak_bytes.assign(of->devices, 0);
            return measurement;
        };
        const auto evaluator =
            measured_evaluator(problem, std::vector<PhysicalDevice>(2), quick(), {}, {}, {}, runner);
        std::vector<Score> scores(3);
        QVERIFY(evaluator->evaluate(std::vector{alone, other, alone}, scores, {}));
        QCOMPARE(runs, 2);
        QCOMPARE(scores[0].value_s, 3.0);
        QCOMPARE(scores[1].value_s, 2.0);
        QCOMPARE(scores[2], scores[0]);
    }

    void aSearchGoesOnMeasured() {
        const auto problem = test::problem(network(), test::uniform_machine(2));
        Random random(4);
        const std::vector<Placement> starts{test::random_placement(*problem, random),
                                            test::random_placement(*problem, random)};
        const auto measured = continue_measured(problem, *find_algorithm("genetic"), {}, 1, starts, 12,
                                                std::vector<PhysicalDevice>(2), quick(), {});
        QVERIFY(measured.size() >= 3 && measured.size() <= 14);
        std::set<Placement> distinct;
        for (const MeasuredPlacement& each : measured) distinct.insert(each.placement);
        QCOMPARE(distinct.size(), measured.size());
        for (const Placement& start : starts) QVERIFY(distinct.contains(start));
    }

    void aSearchThatIgnoresItsStartsEndsAsWell() {
        // So many groups that hardly any placement is proposed twice.
        NetworkBuilder net("long", 2);
        Value x = net.input("x", std::array<std::int64_t, 1>{8});
        for (int layer = 0; layer < 40; ++layer) x = net.linear("layer" + std::to_string(layer), x, 8);
        net.cross_entropy("loss", x);
        const auto problem = test::problem(net.build(), test::uniform_machine(2));
        const PlacementRunner runner = [](const std::shared_ptr<const Problem>& of, std::span<const DeviceId>,
                                          std::span<const PhysicalDevice>, const MeasureOptions&,
                                          std::stop_token) -> std::optional<Measurement> {
            Measurement measurement;
            measurement.step = {1, 2, 3};
            measurement.run.peak_bytes.assign(of->devices, 0);
            return measurement;
        };
        Random random(4);
        const std::vector<Placement> starts{test::random_placement(*problem, random)};
        const std::vector<PhysicalDevice> devices(2);
        const auto known = measure_placements(problem, starts, devices, quick(), {}, {}, {}, runner);
        for (const char* algorithm : {"random", "cross-entropy", "genetic", "simulated-annealing"}) {
            const auto measured = continue_measured(problem, *find_algorithm(algorithm), {}, 1, starts, 5,
                                                    devices, quick(), {}, {}, {}, known, runner);
            QVERIFY2(measured.size() > known.size() && measured.size() <= known.size() + 5, algorithm);
        }
    }

    void knownPlacementsAreNotRunAgain() {
        const auto problem = test::problem(network(), test::uniform_machine(2));
        const std::vector<PhysicalDevice> devices(2);
        Random random(4);
        std::vector<Placement> starts;
        for (int k = 0; k < 8; ++k) starts.push_back(test::random_placement(*problem, random));
        const auto first = measure_placements(problem, starts, devices, quick(), {});
        std::set<Placement> run;
        // The population is the starts, so that the only other placements are those that evolved from them.
        const auto all = continue_measured(
            problem, *find_algorithm("genetic"), {}, 1, starts, 6, devices, quick(), {}, {},
            [&](const MeasuredPlacement& each) { run.insert(each.placement); }, first);
        for (const Placement& start : starts) QVERIFY(!run.contains(start));
        QVERIFY(!run.empty() && run.size() <= 6);
        QCOMPARE(all.size(), first.size() + run.size());
        QVERIFY(std::ranges::is_sorted(all, {},
                                       [](const MeasuredPlacement& each) { return each.score.penalised_s; }));
    }

    void simulatedAgainstMeasured() {
        HardwareOptions options;
        options.networks = {{"small", 2, network}};
        options.steps = 3;
        options.placements = 4;
        options.evaluations = 300;
        const Laboratory place = laboratory(nullptr);
        QVERIFY(place.shares_memory || place.devices.front().kind == PhysicalDevice::Kind::cuda);
        const auto cases = run_e5(place, options, {}, {});
        QCOMPARE(cases.size(), std::size_t{1});
        const auto& points = cases[0].points;
        QVERIFY(points.size() >= 2 && points.size() <= 4);
        double least_s = points.front().measured.median_s;
        for (std::size_t k = 0; k < points.size(); ++k) {
            QVERIFY(points[k].simulated_s > 0 && points[k].measured.median_s > 0);
            if (k > 0) QVERIFY(points[k].simulated_s <= points[k - 1].simulated_s);
            least_s = std::min(least_s, points[k].measured.median_s);
        }
        QCOMPARE(cases[0].best_measured_s, least_s);
        QCOMPARE(cases[0].picked_s, points.back().measured.median_s);
        QVERIFY(cases[0].median_error >= 0);
    }

    void loadedHardware() {
        HardwareOptions options;
        options.networks = {{"small", 2, network}};
        options.steps = 1;
        options.placements = 3;
        options.evaluations = 200;
        const auto cases = run_e4(laboratory(nullptr), options, {}, {});
        QCOMPARE(cases.size(), std::size_t{1});
        QCOMPARE(cases[0].network, std::string("small"));
        QVERIFY(cases[0].elites_run >= 1 && cases[0].elites_run <= 3);
        QVERIFY(cases[0].genetic_run > 10);
        for (const auto& step_s :
             {cases[0].single_device_s, cases[0].best_simulated_s, cases[0].elites_s, cases[0].genetic_s})
            QVERIFY(step_s && *step_s > 0);
        // A case that was not finished is left out.
        std::stop_source stop;
        int told = 0;
        const auto stopped =
            run_e4(laboratory(nullptr), options, stop.get_token(), [&](const std::string& what) {
                if (what.starts_with("small: placement") && ++told == 2) stop.request_stop();
            });
        QCOMPARE(told, 2);
        QVERIFY(stopped.empty());
    }

    void experimentsNameTheirNetworks() {
        QCOMPARE(hardware_networks({}).size(), std::size_t{3});
        QCOMPARE(hardware_networks({"vgg16"}).front().name, std::string("vgg16"));
        QVERIFY_THROWS_EXCEPTION(UsageError, hardware_networks({"vgg17"}));
    }

    void bandwidthIsMeasuredForEachSize() {
        Laboratory place = laboratory(nullptr);
        QCOMPARE(place.devices.size(), std::size_t{2});
        const auto times =
            measure_transfers(place.machine, 0, 1, place.devices, std::array{1e3, 1e5, 1e6}, 2, true);
        QVERIFY(times);
        QCOMPARE(times->size(), std::size_t{3});
        for (const TransferTimes& each : *times) {
            // Throttled to the link.
            QVERIFY(each.time.low_s >= 20e-6 + each.bytes / 1e9);
        }
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestMeasuredSearch)
#include "tst_measured_search.moc"
