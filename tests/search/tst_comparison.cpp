// SPDX-License-Identifier: MIT
#include <cmath>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/base/sign_test.hpp"
#include "core/base/statistics.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/comparison.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

bool close(double actual, double expected, double tolerance) {
    if (std::abs(actual - expected) <= tolerance) return true;
    qWarning() << actual << "instead of" << expected;
    return false;
}

/// Hours of sleep gained with each of two drugs (Student, The probable error of a mean, Biometrika 6, 1908).
const std::vector<double> kFirstDrug{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const std::vector<double> kSecondDrug{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

/// A run whose best fell to each of `best_s` after 10, 20, 30 ... evaluations, a second each.
ComparedRun run_of(std::size_t contestant, std::uint64_t seed, const std::vector<double>& best_s,
                   bool fits = true) {
    ComparedRun run{contestant, seed, {}};
    std::vector<CurvePoint> curve;
    for (const double value : best_s) {
        const std::uint64_t count = curve.size() + 1;
        curve.push_back({count * 10, static_cast<double>(count * 10), value, value});
    }
    run.progress.best = {best_s.back(), best_s.back(), fits};
    run.progress.curve = std::make_shared<const std::vector<CurvePoint>>(std::move(curve));
    return run;
}

}  // namespace

class TestComparison : public QObject {
    Q_OBJECT

    AlgorithmInfo m_random = random_algorithm(), m_single = single_device_algorithm(),
                  m_climbing = hill_climbing_algorithm(), m_elites = map_elites_algorithm(),
                  m_genetic = genetic_algorithm();

    ComparisonTask task() const {
        ComparisonTask task;
        task.problem =
            test::problem(test::random_graph(5, 30, 3, Training::implicit), test::uniform_machine(3));
        task.contestants = {
            {&m_random, {}}, {&m_climbing, {}}, {&m_elites, {{"jumps_size", std::int64_t{10}}}}};
        task.seeds = {1, 2, 7, 4};
        task.evaluations = 300;
        task.threads = 1;
        return task;
    }

private Q_SLOTS:
    void intervals();
    void medians();
    void welch();
    void signs();
    void correlations();
    void thesisTest();
    void noTest();

    void everyOneWithEverySeed();
    void threads();
    void progress();
    void stopped();
    void stoppedBefore();
    void wrongOptions();

    void reachedFirst();
    void standingsOfRuns();
};

void TestComparison::intervals() {
    // t(0.975; 9) = 2.262157, sum of squares 82.5.
    const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const SampleStatistics ten = sample_statistics(values);
    QCOMPARE(ten.count, std::size_t{10});
    QCOMPARE(ten.mean, 5.5);
    QVERIFY(close(ten.deviation, std::sqrt(82.5 / 9), 1e-12));
    QVERIFY(close(*ten.half_width_95, 2.262157 * std::sqrt(82.5 / 9 / 10), 1e-6));

    // t(0.975; 1) = 12.70620
    const SampleStatistics two = sample_statistics(std::vector<double>{3, 5});
    QVERIFY(close(two.deviation, std::sqrt(2), 1e-12));
    QVERIFY(close(*two.half_width_95, 12.70620, 1e-5));

    QCOMPARE(sample_statistics(std::vector<double>{0.1}), (SampleStatistics{1, 0.1, 0, {}}));
    // Exactly, though a sum of three divided by three is not 0.1.
    QCOMPARE(sample_statistics(std::vector<double>{0.1, 0.1, 0.1}), (SampleStatistics{3, 0.1, 0, 0.0}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, sample_statistics({}));
}

void TestComparison::medians() {
    QCOMPARE(median({7}), 7.0);
    QCOMPARE(median({9, 1, 2}), 2.0);
    QCOMPARE(median({9, 1, 2, 4}), 3.0);
    QCOMPARE(median({kInfinity, 1, 2}), 2.0);
    QCOMPARE(median({kInfinity, 1, 2, kInfinity}), kInfinity);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, median({}));
    // Half-way between the middle values, as numpy.quantile does by default.
    QCOMPARE(quantile({4, 1, 3, 2}, 0.25), 1.75);
    QCOMPARE(quantile({4, 1, 3, 2}, 1), 4.0);
    QCOMPARE(quantile({7}, 0.3), 7.0);
    QCOMPARE(quantile({1, kInfinity, kInfinity}, 0.75), kInfinity);
}

void TestComparison::correlations() {
    const std::vector<double> x{1, 2, 3, 4}, line{10, 20, 30, 40}, falling{4, 3, 2, 1}, curve{1, 4, 9, 100},
        same{2, 2, 2, 2}, tied{1, 2, 2, 3};
    QCOMPARE(pearson(x, line).value(), 1.0);
    QCOMPARE(pearson(x, falling).value(), -1.0);
    // Deviations -1.5, -0.5, 0.5, 1.5 and -27.5, -24.5, -19.5, 71.5: 151 / sqrt(5 * 6849).
    QVERIFY(std::abs(pearson(x, curve).value() - 151 / std::sqrt(5 * 6849.0)) < 1e-12);
    QCOMPARE(spearman(x, curve).value(), 1.0);
    QVERIFY(std::abs(spearman(x, tied).value() - std::sqrt(0.9)) < 1e-12);
    QVERIFY(!pearson(x, same) && !spearman(same, x));
    QVERIFY(!pearson(std::span(x).first(2), std::span(line).first(2)));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, pearson(x, std::span(line).first(3)));
}

void TestComparison::welch() {
    // As t.test(extra ~ group, data = sleep) of R prints it.
    const SampleStatistics first = sample_statistics(kFirstDrug), second = sample_statistics(kSecondDrug);
    QVERIFY(close(first.mean, 0.75, 1e-12) && close(second.mean, 2.33, 1e-12));
    const auto test = welch_test(first, second);
    QVERIFY(close(test->t, -1.8608, 5e-5));
    QVERIFY(close(test->degrees_of_freedom, 17.776, 5e-4));
    QVERIFY(close(test->p, 0.07939, 5e-6));
    QVERIFY(!clearly_less(first, second));

    const auto mirrored = welch_test(second, first);
    QCOMPARE(mirrored->t, -test->t);
    QVERIFY(close(mirrored->p, test->p, 1e-12));
}

void TestComparison::signs() {
    // As binom.test(2, 9) of R: 2 (1 + 9 + 36) / 2^9; the tenth pair is equal.
    const std::vector<double> first{1, 1, 1, 1, 1, 1, 1, 3, 3, 2}, second(10, 2);
    const SignTest test = sign_test(first, second);
    QCOMPARE(test.less, std::size_t{7});
    QCOMPARE(test.greater, std::size_t{2});
    QVERIFY(close(test.p, 92.0 / 512, 1e-12));
    QCOMPARE(sign_test(second, first), (SignTest{2, 7, test.p}));
    QCOMPARE(sign_test({}, {}), SignTest());
    QCOMPARE(sign_test(second, second), SignTest());
    // Evenly split pairs have p 1, not more.
    QCOMPARE(sign_test(std::vector<double>{1, 3}, std::vector<double>{2, 2}).p, 1.0);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, sign_test(first, std::vector<double>(9, 2)));
}

void TestComparison::thesisTest() {
    // MAP-Elites against the genetic algorithm, ten runs each: t(18) = 1.56, p = 0.1371 (Lagostra 2020,
    // section 4.3.3).
    const auto p_of = [](double t) {
        const SampleStatistics low{10, 5, 2, {}}, high{10, 5 + t * 2 * std::sqrt(0.2), 2, {}};
        const auto test = welch_test(high, low);
        if (!close(test->degrees_of_freedom, 18, 1e-9) || !close(test->t, t, 1e-9))
            qFatal("not the test of the thesis");
        return test->p;
    };
    QVERIFY(p_of(1.555) > 0.1371);
    QVERIFY(p_of(1.565) < 0.1371);
}

void TestComparison::noTest() {
    const SampleStatistics one{1, 3, 0, {}}, same{5, 3, 0, 0.0}, more{5, 4, 0, 0.0}, spread{5, 5, 1, 1.2};
    QVERIFY(!welch_test(one, spread));
    QVERIFY(!welch_test(spread, one));
    QVERIFY(!welch_test(same, more));
    QVERIFY(welch_test(same, spread));
    QVERIFY(clearly_less(same, more));
    QVERIFY(!clearly_less(more, same));
    QVERIFY(!clearly_less(same, same));
    QVERIFY(!clearly_less(one, spread));
}

void TestComparison::everyOneWithEverySeed() {
    const ComparisonTask task = this->task();
    const std::vector<ComparedRun> runs = compare(task);
    QCOMPARE(runs.size(), std::size_t{12});
    for (std::size_t i = 0; i < runs.size(); ++i) {
        QCOMPARE(runs[i].contestant, i / 4);
        QCOMPARE(runs[i].seed, task.seeds[i % 4]);
        QCOMPARE(runs[i].progress.evaluations, std::uint64_t{300});
        QVERIFY(runs[i].progress.archive == nullptr);

        // The same as by itself.
        const Contestant& contestant = task.contestants[runs[i].contestant];
        const auto optimizer =
            contestant.algorithm->make({task.problem, runs[i].seed, {}}, contestant.options);
        const auto evaluator = simulation_evaluator(task.problem, task.simulation, task.penalty, 1);
        Budget budget;
        budget.evaluations = task.evaluations;
        const SearchProgress alone = run_search(*optimizer, *evaluator, budget).progress;
        QCOMPARE(runs[i].progress.best, alone.best);
        QCOMPARE(*runs[i].progress.best_placement, *alone.best_placement);
    }
    QVERIFY(runs[0].progress.best != runs[1].progress.best);
}

void TestComparison::threads() {
    ComparisonTask task = this->task();
    const std::vector<ComparedRun> first = compare(task);
    for (const unsigned threads : {2u, 3u, 0u}) {
        task.threads = threads;
        const std::vector<ComparedRun> again = compare(task);
        QCOMPARE(again.size(), first.size());
        for (std::size_t i = 0; i < first.size(); ++i) {
            QCOMPARE(again[i].contestant, first[i].contestant);
            QCOMPARE(again[i].seed, first[i].seed);
            QCOMPARE(again[i].progress.best, first[i].progress.best);
            QCOMPARE(again[i].progress.simulations, first[i].progress.simulations);
            QCOMPARE(again[i].progress.curve->size(), first[i].progress.curve->size());
            for (std::size_t k = 0; k < first[i].progress.curve->size(); ++k) {
                const CurvePoint &point = (*first[i].progress.curve)[k],
                                 &other = (*again[i].progress.curve)[k];
                QCOMPARE(other.evaluations, point.evaluations);
                QCOMPARE(other.best_s, point.best_s);
            }
        }
    }
}

void TestComparison::progress() {
    std::size_t finished = 0;
    double best_s = kInfinity;
    bool in_between = false;
    std::vector<std::size_t> order;
    const auto report = [&](const ComparisonProgress& progress) {
        QCOMPARE(progress.runs, std::size_t{12});
        if (progress.best_s) {
            QVERIFY(*progress.best_s > 0 && *progress.best_s <= best_s);
            best_s = *progress.best_s;
        }
        if (progress.just_ended == nullptr) {
            in_between = true;
            QCOMPARE(progress.finished, finished);
        } else {
            order.push_back(progress.just_ended->contestant);
            QCOMPARE(progress.finished, ++finished);
        }
        if (progress.finished == 12) QVERIFY(progress.eta_s < 1e-6);
    };
    const std::vector<ComparedRun> runs = compare(task(), {}, report, std::chrono::milliseconds(0));
    QCOMPARE(finished, std::size_t{12});
    QVERIFY(in_between);
    QCOMPARE(best_s, *best_score_s(runs));
    QCOMPARE(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

void TestComparison::stopped() {
    ComparisonTask task = this->task();
    task.contestants = {{&m_single, {}}, {&m_random, {}}};
    task.evaluations = 1'000'000'000'000;
    std::stop_source stop;
    const auto report = [&](const ComparisonProgress& progress) {
        if (progress.just_ended == nullptr && progress.finished == 1) stop.request_stop();
    };
    const std::vector<ComparedRun> runs =
        compare(task, stop.get_token(), report, std::chrono::milliseconds(0));
    QCOMPARE(runs.size(), std::size_t{1});
    QCOMPARE(runs[0].contestant, std::size_t{0});
    QCOMPARE(runs[0].progress.evaluations, std::uint64_t{3});
}

void TestComparison::stoppedBefore() {
    std::stop_source stop;
    stop.request_stop();
    QVERIFY(compare(task(), stop.get_token()).empty());
    QVERIFY(!best_score_s({}));
    QVERIFY(standings({}, 1).empty());
    ComparisonTask nothing = task();
    nothing.seeds.clear();
    QVERIFY(compare(nothing).empty());
}

void TestComparison::wrongOptions() {
    ComparisonTask task = this->task();
    task.contestants.push_back({&m_genetic, {{"elite_size", std::int64_t{70}}}});
    for (const unsigned threads : {1u, 2u}) {
        task.threads = threads;
        QVERIFY_THROWS_EXCEPTION(OptionError, compare(task));
    }
}

void TestComparison::reachedFirst() {
    const ComparedRun run = run_of(0, 1, {4, 2.2, 2.1, 2});
    QCOMPARE(reached(run, 2)->evaluations, std::uint64_t{30});
    QCOMPARE(reached(run, 2)->seconds, 30.0);
    QCOMPARE(reached(run, 2, 0.15)->evaluations, std::uint64_t{20});
    QCOMPARE(reached(run, 4)->evaluations, std::uint64_t{10});
    QVERIFY(!reached(run, 1.9));
}

void TestComparison::standingsOfRuns() {
    // Contestant 1 has no run.
    const std::vector<ComparedRun> runs{run_of(0, 1, {4, 2}),          run_of(0, 2, {2.05}),
                                        run_of(0, 3, {5, 4, 3}),       run_of(2, 1, {9, 8, 7}),
                                        run_of(2, 2, {9, 2.1}, false), run_of(2, 3, {7})};
    QCOMPARE(best_score_s(runs), std::optional(2.0));
    const std::vector<Standing> all = standings(runs, 2);
    QCOMPARE(all.size(), std::size_t{2});

    QCOMPARE(all[0].contestant, std::size_t{0});
    QCOMPARE(all[0].runs.size(), std::size_t{3});
    QVERIFY(close(all[0].score_s.mean, 7.05 / 3, 1e-12));
    QCOMPARE(all[0].best_s, 2.0);
    QCOMPARE(all[0].fitting, std::size_t{3});
    QCOMPARE(all[0].near, std::size_t{2});
    QCOMPARE(all[0].half_near->evaluations, std::uint64_t{20});
    QCOMPARE(all[0].half_near->seconds, 20.0);

    QCOMPARE(all[1].contestant, std::size_t{2});
    QCOMPARE(all[1].best_s, 2.1);
    QCOMPARE(all[1].fitting, std::size_t{2});
    QCOMPARE(all[1].near, std::size_t{1});
    QVERIFY(!all[1].half_near);
}

QTEST_GUILESS_MAIN(TestComparison)
#include "tst_comparison.moc"
