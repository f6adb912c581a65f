// SPDX-License-Identifier: MIT
// The portfolio and what its members learn from each other.
#include <algorithm>
#include <array>
#include <numeric>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

using ProblemPtr = std::shared_ptr<const Problem>;

SearchResult search(std::string_view id, const ProblemPtr& problem, std::uint64_t evaluations,
                    std::uint64_t seed = 1, const OptionValues& values = {}, unsigned threads = 1,
                    std::vector<Placement> starts = {}) {
    const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
    return run_search(*find_algorithm(id)->make({problem, seed, std::move(starts), evaluations}, values),
                      *evaluator, {evaluations});
}

Score score_of(const ProblemPtr& problem, const Placement& placement) {
    Simulator simulator(problem);
    return MemoryPenalty().score(*problem, simulator.run(placement));
}

std::vector<Score> scores_of(const ProblemPtr& problem, std::span<const Placement> placements) {
    std::vector<Score> scores;
    for (const Placement& placement : placements) scores.push_back(score_of(problem, placement));
    return scores;
}

/// By trying all placements without CPUs, which the portfolio uses only if needed.
double optimum_s(const ProblemPtr& problem) {
    const SearchResult all = search("linear-search", problem, 1'000'000, 1, {{"allow_cpu", false}});
    if (all.end != SearchEnd::exhausted) qFatal("not all placements were scored");
    return all.progress.best.penalised_s;
}

/// Two GPUs of `gpu_bytes` after a CPU of a tenth of their speed with room for everything.
Machine small_gpus(double gpu_bytes) {
    const Machine uniform = test::uniform_machine(3, gpu_bytes);
    std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
    for (std::size_t i = 0; i < devices.size(); ++i)
        devices[i].name = i == 0 ? "cpu:0" : "gpu:" + std::to_string(i - 1);
    devices[0].kind = DeviceKind::cpu;
    devices[0].peak_flops /= 10;
    devices[0].memory_bytes = 1e12;
    return Machine("small-gpus", devices, {uniform.channels().begin(), uniform.channels().end()},
                   {uniform.routes().begin(), uniform.routes().end()});
}

bool uses_cpu(const Placement& placement) {
    return std::ranges::find(placement, DeviceId{0}) != placement.end();
}

}  // namespace

class TestAuto : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // 3^6 placements are all tried, 3^8 are searched.
    void optimum_is_found_data() {
        QTest::addColumn<int>("ops");
        QTest::newRow("all tried") << 6;
        QTest::newRow("searched") << 8;
    }

    void optimum_is_found() {
        QFETCH(int, ops);
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const auto machine = seed % 2 == 0 ? test::random_machine(seed) : test::uniform_machine(3);
            const ProblemPtr problem = test::problem(
                test::random_graph(seed, static_cast<std::size_t>(ops), 2, Training::implicit), machine);
            const SearchResult result = search("auto", problem, 6000, seed);
            QCOMPARE(result.progress.best.penalised_s, optimum_s(problem));
            QCOMPARE(score_of(problem, *result.progress.best_placement), result.progress.best);
            if (ops == 6) QCOMPARE(result.end, SearchEnd::exhausted);
        }
    }

    // Searches repeat themselves; the portfolio does not, except that searches in the same round do not know
    // of each other's placements.
    void little_is_proposed_twice() {
        const ProblemPtr problem =
            test::problem(test::random_graph(4, 12, 2, Training::implicit), test::uniform_machine(3));
        const SearchResult result = search("auto", problem, 3000);
        QCOMPARE(result.progress.evaluations, std::uint64_t{3000});
        QVERIFY(result.progress.simulations >= 2800);
        // Of 2^12 placements all that its searches find are proposed, then it ends.
        const ProblemPtr small =
            test::problem(test::random_graph(4, 12, 2, Training::implicit), test::uniform_machine(2));
        const SearchResult all = search("auto", small, 100'000);
        QCOMPARE(all.end, SearchEnd::exhausted);
        QVERIFY(all.progress.evaluations <= 4096);
        QCOMPARE(all.progress.best.penalised_s, optimum_s(small));
    }

    // A search with a right to half of the turns that repeats itself does not keep them from the others,
    // which find nearly all.
    void repetitions_use_up_turns() {
        const ProblemPtr small =
            test::problem(test::random_graph(4, 12, 2, Training::implicit), test::uniform_machine(2));
        const SearchResult all =
            search("auto", small, 100'000, 1, {{"slow_share", 0.5}, {"most_slow_share", 0.5}});
        QCOMPARE(all.end, SearchEnd::exhausted);
        QVERIFY2(all.progress.evaluations > 3900, qPrintable(QString::number(all.progress.evaluations)));
    }

    void never_worse_than_what_is_built() {
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const ProblemPtr problem = test::problem(test::random_graph(seed, 40, 3, Training::implicit),
                                                     test::random_machine(seed));
            // So few evaluations that next to nothing is left for the searches.
            const double found_s = search("auto", problem, 60, seed).progress.best.penalised_s;
            for (const char* id :
                 {"single-device", "expert", "heft", "m-topo", "m-etf", "m-sct", "pipedream"}) {
                const double built_s = search(id, problem, 60, seed).progress.best.penalised_s;
                QVERIFY2(found_s <= built_s, qPrintable(QString("%1, seed %2").arg(id).arg(seed)));
            }
        }
        // With the dozens of placements of those that cut the graph.
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const ProblemPtr problem =
                test::problem(test::random_graph(seed, 40, 3, Training::implicit), test::uniform_machine(4));
            for (const std::uint64_t evaluations : {100, 200, 500}) {
                const double found_s = search("auto", problem, evaluations, seed).progress.best.penalised_s;
                for (const char* id : {"ideals-dp", "scotch", "metis"}) {
                    OptionValues values;
                    if (id == std::string_view("ideals-dp")) values["max_ideals"] = std::int64_t{2000};
                    const double built_s =
                        search(id, problem, evaluations, seed, values).progress.best.penalised_s;
                    QVERIFY2(found_s <= built_s,
                             qPrintable(QString("%1, seed %2, %3").arg(id).arg(seed).arg(evaluations)));
                }
            }
        }
    }

    // Of 64 equal devices one is enough to know what one can do.
    void equal_devices_are_tried_once() {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const ProblemPtr problem =
                test::problem(test::random_graph(seed, 40, 3), test::uniform_machine(64));
            const double found_s = search("auto", problem, 12, seed).progress.best.penalised_s;
            const double built_s = search("ideals-dp", problem, 1, seed, {{"max_ideals", std::int64_t{2000}}})
                                       .progress.best.penalised_s;
            QVERIFY2(found_s <= built_s, qPrintable(QString("seed %1").arg(seed)));
        }
    }

    void threads_change_nothing() {
        const ProblemPtr problem =
            test::problem(test::random_graph(7, 60, 3, Training::implicit), test::uniform_machine(4));
        const SearchResult one = search("auto", problem, 2500, 3, {}, 1),
                           two = search("auto", problem, 2500, 3, {}, 2);
        QCOMPARE(*two.progress.best_placement, *one.progress.best_placement);
        QCOMPARE(two.progress.best, one.progress.best);
        QCOMPARE(two.progress.evaluations, one.progress.evaluations);
        // Some of what is proposed ahead is simulated in vain.
        QVERIFY(two.progress.simulations >= one.progress.simulations);
        QCOMPARE(two.progress.curve->size(), one.progress.curve->size());
        for (std::size_t i = 0; i < one.progress.curve->size(); ++i) {
            QCOMPARE((*two.progress.curve)[i].evaluations, (*one.progress.curve)[i].evaluations);
            QCOMPARE((*two.progress.curve)[i].best_s, (*one.progress.curve)[i].best_s);
        }
        QVERIFY(one.progress.archive);
        QVERIFY(*search("auto", problem, 2500, 4).progress.best_placement != *one.progress.best_placement);
    }

    /// What the lanes of a round have scored belongs to the result, though it is not counted yet.
    void a_search_that_is_stopped_keeps_its_best() {
        const ProblemPtr problem =
            test::problem(test::random_graph(7, 60, 3, Training::implicit), test::uniform_machine(4));
        const auto optimizer = find_algorithm("auto")->make({problem, 3, {}, 4000}, {});
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        Workers workers(2);
        optimizer->work_with(&workers);
        double best_s = kInfinity, counted_s = kInfinity;
        std::size_t uncounted = 0;
        std::vector<Score> scores;
        for (int i = 0; i < 300; ++i) {
            const auto batch = optimizer->ask(1000);
            scores.resize(batch.size());
            QVERIFY(evaluator->evaluate(batch, scores, {}));
            for (const Score& score : scores) best_s = std::min(best_s, score.penalised_s);
            const bool some_count = optimizer->proposes_ahead();
            optimizer->tell(scores);
            for (std::size_t k = 0; !some_count && k < scores.size(); ++k)
                counted_s = std::min(counted_s, scores[k].penalised_s);
            if (!some_count) continue;
            for (const Scored& each : optimizer->counted()) {
                counted_s = std::min(counted_s, each.score.penalised_s);
                QVERIFY(!each.placement->empty());
            }
            double rest_s = counted_s;
            for (const Scored& each : optimizer->uncounted()) {
                rest_s = std::min(rest_s, each.score.penalised_s);
                Score again;
                QVERIFY(evaluator->evaluate({each.placement, 1}, {&again, 1}, {}));
                QCOMPARE(again, each.score);
                ++uncounted;
            }
            QVERIFY(rest_s >= best_s);
        }
        QVERIFY(workers.threads() < 2 || uncounted > 0);
    }

    void starts_come_first() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        const Placement start{0, 1, 2, 0, 1, 2, 0, 1, 2};
        QCOMPARE(find_algorithm("auto")->make({problem, 1, {start}, {}}, {})->ask(10).front(), start);
        QVERIFY_THROWS_EXCEPTION(PlacementError,
                                 find_algorithm("auto")->make({problem, 1, {Placement(8, 0)}, {}}, {}));
    }

    void cpus_only_where_needed() {
        const Graph graph = test::chain(10, 1e9, 1'000'000, Training::implicit);
        const ProblemPtr roomy = test::problem(graph, small_gpus(1e12));
        const ProblemPtr tight = test::problem(graph, small_gpus(1.5e6));
        QVERIFY(!uses_cpu(*search("auto", roomy, 1500).progress.best_placement));
        const SearchResult needed = search("auto", tight, 1500);
        QVERIFY(needed.progress.best.fits);
        QVERIFY(uses_cpu(*needed.progress.best_placement));
        const SearchResult never = search("auto", tight, 1500, 1, {{"cpus", std::string("never")}});
        QVERIFY(!never.progress.best.fits);
        QVERIFY(!uses_cpu(*never.progress.best_placement));
        QCOMPARE(search("auto", tight, 1500, 1, {{"cpus", std::string("always")}}).progress.best.fits, true);
    }

    void time_does_not_matter() {
        QCOMPARE(planned_evaluations({500}).value(), std::uint64_t{500});
        QVERIFY(!planned_evaluations({500, 10}));
    }

    void learned_placements_enter_the_archive() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        const auto elites = find_algorithm("map-elites")->make({problem, 1, {}, {}}, {});
        const Placement learned{0, 0, 0, 1, 1, 1, 2, 2, 2};
        elites->learn(std::array{learned}, std::array{Score{1e-9, 1e-9, true}});
        const auto archive = elites->archive();
        QCOMPARE(archive->elites.size(), std::size_t{1});
        QCOMPARE(*archive->elites.front().placement, learned);
    }

    // Far better than all that it knows: what comes next is a neighbour of it.
    void tabu_goes_on_from_what_it_learns() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        const auto tabu = find_algorithm("tabu")->make({problem, 1, {}, {}}, {{"sample", std::int64_t{0}}});
        for (int i = 0; i < 3; ++i) {
            const auto batch = tabu->ask(7);
            tabu->tell(scores_of(problem, batch));
        }
        const Placement learned{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
        tabu->learn(std::array{learned}, std::array{Score{1e-9, 1e-9, true}});
        const auto batch = tabu->ask(100);
        QCOMPARE(batch.size(), std::size_t{24});
        for (const Placement& neighbour : batch) {
            QCOMPARE(std::inner_product(neighbour.begin(), neighbour.end(), learned.begin(), 0, std::plus<>(),
                                        std::not_equal_to<>()),
                     1);
        }
    }

    /// Mean score of the placements that the walk stood on, in ms.
    double mean_of_walk(const ProblemPtr& problem, double share) {
        const auto annealing = find_algorithm("simulated-annealing")
                                   ->make({problem, 3, {}, {}}, {{"steps", std::int64_t{0}},
                                                                 {"start", std::string("single-device")},
                                                                 {"start_acceptance", 0.9}});
        double sum_s = 0;
        constexpr int kSteps = 3000;
        for (int i = 0; i < kSteps; ++i) {
            annealing->used(share);
            const auto batch = annealing->ask(1);
            annealing->tell(scores_of(problem, batch));
            if (annealing->base(0) != nullptr && i >= kSteps / 2)
                sum_s += scores_of(problem, std::span(annealing->base(0), 1)).front().penalised_s;
        }
        return sum_s / (kSteps / 2);
    }

    void one_cooling_takes_the_whole_time() {
        const ProblemPtr problem = test::problem(test::fork_join(8), test::uniform_machine(3));
        QVERIFY(mean_of_walk(problem, 0) > 1.05 * mean_of_walk(problem, 1));
    }

    void one_cooling_takes_all_evaluations() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        const auto proposed = [&](std::int64_t steps) {
            const auto annealing =
                find_algorithm("simulated-annealing")->make({problem, 1, {}, 400}, {{"steps", steps}});
            std::vector<Placement> all;
            while (all.size() < 400) {
                const auto batch = annealing->ask(1);
                all.insert(all.end(), batch.begin(), batch.end());
                annealing->tell(scores_of(problem, batch));
            }
            return all;
        };
        QVERIFY(proposed(0) == proposed(400));
        QVERIFY(proposed(0) != proposed(50));
    }

    // Annealing goes on with its cooling and takes up what it learned at the next one.
    void annealing_reheats_from_what_it_learns() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        const auto annealing =
            find_algorithm("simulated-annealing")
                ->make({problem, 1, {}, {}},
                       {{"steps", std::int64_t{50}}, {"block_moves", 0.0}, {"fresh_starts", false}});
        std::size_t starts = 0;
        while (annealing->base(0) == nullptr) {
            const auto batch = annealing->ask(100);
            starts += batch.size();
            annealing->tell(scores_of(problem, batch));
        }
        QVERIFY(starts > 1);
        const Placement learned{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
        annealing->learn(std::array{learned}, std::array{Score{1e-9, 1e-9, true}});
        for (int i = 0; i < 50; ++i) {
            const auto batch = annealing->ask(1);
            QVERIFY(*annealing->base(0) != learned);
            annealing->tell(scores_of(problem, batch));
        }
        QCOMPARE(*annealing->base(0), learned);
    }
};

QTEST_GUILESS_MAIN(TestAuto)
#include "tst_auto.moc"
