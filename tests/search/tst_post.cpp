// SPDX-License-Identifier: MIT
// Distributions of placements, and the algorithms that learn them.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/search/algorithms/softmax_distribution.hpp"
#include "core/search/search.hpp"
#include "core/search/series.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

using ProblemPtr = std::shared_ptr<const Problem>;

constexpr std::array<std::size_t, 4> kCounts{3, 2, 1, 5};

/// A distribution with random parameters.
SoftmaxDistribution random_distribution(Random& random, double deviation = 1) {
    SoftmaxDistribution distribution(kCounts);
    std::vector<double> u(distribution.parameters().size());
    for (double& value : u) value = random.normal(0, deviation);
    distribution.ascend(u, 1);
    return distribution;
}

std::vector<Draw> draws_of(const SoftmaxDistribution& distribution, std::size_t count, Random& random) {
    std::vector<Draw> draws;
    for (std::size_t i = 0; i < count; ++i) draws.push_back(distribution.draw(random));
    return draws;
}

/// The distribution with one parameter changed.
SoftmaxDistribution moved(const SoftmaxDistribution& distribution, std::size_t parameter, double by) {
    SoftmaxDistribution result = distribution;
    std::vector<double> direction(distribution.parameters().size(), 0);
    direction[parameter] = by;
    result.ascend(direction, 1);
    return result;
}

bool close(double a, double b, double tolerance = 1e-12) {
    return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

void verify_normalized(const SoftmaxDistribution& distribution) {
    for (std::size_t m = 0; m < distribution.variables(); ++m) {
        const auto f = distribution.probabilities(m);
        QVERIFY(close(std::accumulate(f.begin(), f.end(), 0.0), 1));
        for (std::size_t j = 0; j < f.size(); ++j) {
            QVERIFY(f[j] >= 0);
            QVERIFY(close(f[j], std::exp(distribution.log_probability(m, j))));
        }
    }
}

std::unique_ptr<Optimizer> make(std::string_view id, const ProblemPtr& problem,
                                const OptionValues& values = {}, std::uint64_t seed = 1,
                                std::optional<std::uint64_t> evaluations = 2400) {
    SearchContext context{problem, seed, {}};
    context.evaluations = evaluations;
    return find_algorithm(id)->make(context, values);
}

SearchResult search(std::string_view id, const ProblemPtr& problem, const OptionValues& values = {},
                    std::uint64_t seed = 1, const MemoryPenalty& penalty = {},
                    std::uint64_t evaluations = 2400) {
    const auto evaluator = simulation_evaluator(problem, {}, penalty, 1);
    return run_search(*make(id, problem, values, seed, evaluations), *evaluator, {evaluations});
}

/// Probabilities of the devices for a group.
std::vector<double> row(const DistributionView& view, std::size_t group) {
    const auto begin = view.probability.begin() + static_cast<std::ptrdiff_t>(group * view.devices.size());
    return {begin, begin + static_cast<std::ptrdiff_t>(view.devices.size())};
}

void add_algorithms() {
    QTest::addColumn<QString>("id");
    for (const char* id : {"policy-gradient", "ppo", "cross-entropy", "post"}) QTest::newRow(id) << id;
}

/// A score that counts the groups not on device 1.
Score away_from_one(const Placement& placement) {
    const auto count =
        static_cast<double>(std::ranges::count_if(placement, [](DeviceId device) { return device != 1; }));
    return {1 + count, 1 + count, true};
}

}  // namespace

class TestPost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // The distribution

    void begins_uniform() {
        const SoftmaxDistribution distribution(kCounts);
        QCOMPARE(distribution.variables(), kCounts.size());
        for (std::size_t m = 0; m < kCounts.size(); ++m) {
            QCOMPARE(distribution.choices(m), kCounts[m]);
            for (const double f : distribution.probabilities(m))
                QVERIFY(close(f, 1 / static_cast<double>(kCounts[m])));
        }
        QVERIFY(close(distribution.entropy(), (std::log(3) + std::log(2) + 0 + std::log(5)) / 4));
        QVERIFY(close(distribution.largest_entropy(), distribution.entropy()));
        const SoftmaxDistribution none(std::span<const std::size_t>{});
        QCOMPARE(none.entropy(), 0.0);
        QCOMPARE(none.divergence_from(none), 0.0);
    }

    void draws_come_as_often_as_they_should() {
        Random random(7);
        const SoftmaxDistribution distribution = random_distribution(random);
        constexpr int kDraws = 40'000;
        std::array<std::map<int, int>, kCounts.size()> counts;
        for (int i = 0; i < kDraws; ++i) {
            const Draw draw = distribution.draw(random);
            for (std::size_t m = 0; m < draw.size(); ++m) ++counts[m][draw[m]];
        }
        for (std::size_t m = 0; m < kCounts.size(); ++m) {
            for (std::size_t j = 0; j < kCounts[m]; ++j) {
                const double f = distribution.probabilities(m)[j];
                const double deviation = std::sqrt(f * (1 - f) / kDraws);
                QVERIFY(std::abs(counts[m][static_cast<int>(j)] / double(kDraws) - f) <= 5 * deviation);
            }
        }
    }

    void stays_normalized() {
        Random random(3);
        SoftmaxDistribution distribution(kCounts);
        for (int step = 0; step < 200; ++step) {
            if (step % 10 == 9) {
                distribution.minimize_cross_entropy(draws_of(distribution, 3, random), step < 100 ? 0.1 : 0);
            } else {
                // Includes parameters whose exponentials overflow.
                std::vector<double> direction(distribution.parameters().size());
                for (double& value : direction) value = random.normal(0, 1);
                distribution.ascend(direction, step % 10 == 8 ? 1e4 : 1);
            }
            verify_normalized(distribution);
            QVERIFY(distribution.entropy() >= 0);
            QVERIFY(distribution.entropy() <= distribution.largest_entropy() + 1e-12);
        }
    }

    void divergence_is_that_of_kullback_and_leibler() {
        // One variable, (1/4, 3/4) from (1/2, 1/2): 1/2 log 2 + 1/2 log 2/3.
        constexpr std::array<std::size_t, 1> two{2};
        const SoftmaxDistribution half(two);
        SoftmaxDistribution quarter = half;
        quarter.ascend(std::array{0.0, std::log(3.0)}, 1);
        QVERIFY(close(quarter.probabilities(0)[0], 0.25));
        QVERIFY(close(quarter.divergence_from(half), 0.5 * std::log(4.0 / 3)));
        QVERIFY(close(half.divergence_from(half), 0));
    }

    void minimal_cross_entropy_is_the_share_of_the_elite() {
        Random random(5);
        SoftmaxDistribution distribution = random_distribution(random);
        const std::vector<Draw> elite{{0, 1, 0, 4}, {0, 0, 0, 4}, {2, 1, 0, 4}, {0, 1, 0, 3}};
        distribution.minimize_cross_entropy(elite, 0);
        const auto is = [&](std::size_t m, std::vector<double> expected) {
            for (std::size_t j = 0; j < expected.size(); ++j) {
                if (!close(distribution.probabilities(m)[j], expected[j], 1e-7)) return false;
            }
            return true;
        };
        QVERIFY(is(0, {0.75, 0, 0.25}));
        QVERIFY(is(1, {0.25, 0.75}));
        QVERIFY(is(2, {1}));
        QVERIFY(is(3, {0, 0, 0, 0.25, 0.75}));
        QVERIFY2(distribution.probabilities(0)[1] > 0, "can be drawn again");

        distribution.minimize_cross_entropy(elite, 0.1);
        QVERIFY(is(0, {0.9 * 0.75 + 0.1 / 3, 0.1 / 3, 0.9 * 0.25 + 0.1 / 3}));
        QVERIFY(is(1, {0.9 * 0.25 + 0.05, 0.9 * 0.75 + 0.05}));
    }

    /// Theorem 1: no other distribution gives the elite a higher likelihood.
    void minimal_cross_entropy_is_minimal() {
        Random random(11);
        SoftmaxDistribution distribution = random_distribution(random);
        const std::vector<Draw> elite = draws_of(distribution, 7, random);
        const auto cross_entropy = [&](const SoftmaxDistribution& of) {
            double sum = 0;
            for (const Draw& draw : elite) {
                for (std::size_t m = 0; m < draw.size(); ++m) sum -= of.log_probability(m, draw[m]);
            }
            return sum;
        };
        distribution.minimize_cross_entropy(elite, 0);
        const double least = cross_entropy(distribution);
        for (int i = 0; i < 500; ++i) {
            SoftmaxDistribution other = i % 2 == 0 ? random_distribution(random, 2) : distribution;
            if (i % 2 == 1)
                other = moved(other, random.index(other.parameters().size()), random.normal(0, 0.5));
            QVERIFY(cross_entropy(other) >= least - 1e-6);
        }
    }

    void gradient_is_that_of_the_objective_data() {
        QTest::addColumn<double>("beta");
        QTest::addColumn<double>("distance");
        QTest::newRow("policy gradient") << 0.0 << 0.0;
        QTest::newRow("penalty where there is no divergence") << 3.0 << 0.0;
        QTest::newRow("ratios alone") << 0.0 << 0.7;
        QTest::newRow("proximal") << 1.0 << 0.7;
        QTest::newRow("penalty above all") << 50.0 << 0.3;
    }
    void gradient_is_that_of_the_objective() {
        QFETCH(double, beta);
        QFETCH(double, distance);
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            Random random(seed);
            const SoftmaxDistribution old = random_distribution(random);
            SoftmaxDistribution now = old;
            std::vector<double> direction(now.parameters().size());
            for (double& value : direction) value = random.normal(0, distance);
            now.ascend(direction, 1);
            const std::vector<Draw> draws = draws_of(old, 12, random);
            std::vector<double> advantages;
            for (std::size_t i = 0; i < draws.size(); ++i) advantages.push_back(random.normal(0, 1));

            const std::vector<double> gradient = surrogate_gradient(now, old, draws, advantages, beta);
            for (std::size_t i = 0; i < gradient.size(); ++i) {
                constexpr double kStep = 1e-5;
                const auto at = [&](double by) {
                    return surrogate(moved(now, i, by), old, draws, advantages, beta);
                };
                const double numerical = (at(kStep) - at(-kStep)) / (2 * kStep);
                QVERIFY2(close(gradient[i], numerical, 1e-7),
                         qPrintable(QString("%1 %2").arg(gradient[i]).arg(numerical)));
            }
        }
    }

    void the_objective_is_equation_11() {
        // One variable of two choices, f = (1/4, 3/4) now, (1/2, 1/2) before; d = 0 with advantage 2, d = 1
        // with -1:
        // ((1/4 / 1/2) 2 + (3/4 / 1/2) (-1)) / 2 - beta 1/2 log 4/3.
        constexpr std::array<std::size_t, 1> two{2};
        const SoftmaxDistribution old(two);
        SoftmaxDistribution now = old;
        now.ascend(std::array{0.0, std::log(3.0)}, 1);
        QVERIFY(close(surrogate(now, old, std::vector<Draw>{{0}, {1}}, std::array{2.0, -1.0}, 10),
                      -0.25 - 5 * std::log(4.0 / 3)));
    }

    // The algorithms

    void the_first_step_of_the_policy_gradient() {
        // Four draws of one group on two devices. The scores are 1 on device 0 and 3 on device 1; in seconds,
        // with the mean of all as baseline, u_0 becomes 1/4 sum A (1[d = 0] - 1/2).
        const ProblemPtr problem = test::problem(test::chain(1), test::uniform_machine(2));
        const OptionValues values{{"batch_size", std::int64_t{4}},
                                  {"reward", std::string("seconds")},
                                  {"baseline_decay", 1.0},
                                  {"advantage_limit", 0.0}};
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const auto optimizer = make("policy-gradient", problem, values, seed);
            const auto batch = optimizer->ask(100);
            QCOMPARE(batch.size(), std::size_t{4});
            std::vector<Score> scores;
            double mean = 0;
            for (const Placement& placement : batch) {
                scores.push_back({1.0 + 2 * placement[0], 1, true});
                mean += scores.back().penalised_s / 4;
            }
            double u = 0;
            for (const Score& score : scores)
                u += (mean - score.penalised_s) * ((score.penalised_s == 1 ? 1 : 0) - 0.5) / 4;
            optimizer->tell(scores);
            const auto f = row(*optimizer->distribution(), 0);
            QVERIFY2(close(f[0], 1 / (1 + std::exp(-2 * u))), qPrintable(QString::number(f[0])));
        }
    }

    void rewards_of_another_unit_change_nothing_when_standardized() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        for (const char* id : {"policy-gradient", "ppo", "post"}) {
            const auto one = make(id, problem), other = make(id, problem);
            for (int round = 0; round < 30; ++round) {
                const auto batch = one->ask(64), same = other->ask(64);
                QVERIFY(std::ranges::equal(batch, same));
                std::vector<Score> scores, scaled;
                for (const Placement& placement : batch) {
                    scores.push_back(away_from_one(placement));
                    scaled.push_back(scores.back());
                    scaled.back().penalised_s *= 0x1p-10;
                }
                one->tell(scores);
                other->tell(scaled);
            }
            QVERIFY(one->distribution()->entropy < one->distribution()->largest_entropy / 2);
        }
    }

    void batches_are_those_of_the_paper() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        const auto sizes = [&](const char* id) {
            const auto optimizer = make(id, problem);
            std::vector<std::size_t> asked;
            for (int round = 0; round < 6; ++round) {
                const auto batch = optimizer->ask(1000);
                asked.push_back(batch.size());
                std::vector<Score> scores;
                for (const Placement& placement : batch) scores.push_back(away_from_one(placement));
                optimizer->tell(scores);
            }
            return asked;
        };
        QCOMPARE(sizes("post"), (std::vector<std::size_t>{12, 12, 12, 12, 12, 12}));
        QCOMPARE(sizes("cross-entropy"), (std::vector<std::size_t>{60, 60, 60, 60, 60, 60}));
        // Other limits sample the same placements.
        const auto whole = make("post", problem), parts = make("post", problem);
        for (int round = 0; round < 20; ++round) {
            const auto batch = whole->ask(1000);
            std::vector<Score> scores;
            for (const Placement& placement : batch) scores.push_back(away_from_one(placement));
            for (std::size_t at = 0; at < batch.size();) {
                const auto part = parts->ask(5);
                QVERIFY(std::ranges::equal(part, batch.subspan(at, part.size())));
                parts->tell(std::span(scores).subspan(at, part.size()));
                at += part.size();
            }
            whole->tell(scores);
        }
    }

    void the_known_optimum_is_found_data() { add_algorithms(); }
    void the_known_optimum_is_found() {
        QFETCH(QString, id);
        // A chain gains nothing from a second, equal device: all ops on either one is optimal. Few
        // placements are scored; that a search learns is tested below.
        const ProblemPtr problem = test::problem(test::chain(6), test::uniform_machine(2));
        const double chain_s = Simulator(problem).run(Placement(6, 0)).step_time_s;
        QCOMPARE(search(id.toStdString(), problem).progress.best.penalised_s, chain_s);
        // The optimum has two of the four equal branches on each device; the time of source and sink is
        // negligible.
        const ProblemPtr wide = test::problem(test::fork_join(4, 1e12, 4), test::uniform_machine(2));
        const SearchResult found = search(id.toStdString(), wide);
        QVERIFY2(close(found.progress.best.penalised_s, 4, 1e-6),
                 qPrintable(QString::number(found.progress.best.penalised_s, 'g', 12)));
    }

    void the_distribution_goes_where_scores_are_best_data() { add_algorithms(); }
    void the_distribution_goes_where_scores_are_best() {
        QFETCH(QString, id);
        const ProblemPtr problem = test::problem(test::chain(20), test::uniform_machine(4));
        const auto optimizer = make(id.toStdString(), problem);
        double before = optimizer->distribution()->entropy;
        QVERIFY(close(before, std::log(4)));
        std::uint64_t told = 0;
        while (told < 2400) {
            const auto batch = optimizer->ask(2400 - told);
            std::vector<Score> scores;
            for (const Placement& placement : batch) scores.push_back(away_from_one(placement));
            optimizer->tell(scores);
            told += batch.size();
        }
        const auto view = optimizer->distribution();
        QCOMPARE(view->devices, (std::vector<DeviceId>{0, 1, 2, 3}));
        for (std::size_t group = 0; group < 20; ++group) {
            const auto f = row(*view, group);
            QVERIFY(close(std::accumulate(f.begin(), f.end(), 0.0), 1));
            QVERIFY2(f[1] > 0.9, qPrintable(QString("group %1: %2").arg(group).arg(f[1])));
        }
        QVERIFY(view->entropy < 0.2 * view->largest_entropy);
        QVERIFY(close(view->largest_entropy, std::log(4)));
        // The history of the entropy falls to the current value.
        QVERIFY(view->entropies.size() > 10);
        QCOMPARE(view->entropies.back().evaluations, std::uint64_t{2400});
        QVERIFY(close(view->entropies.front().value, std::log(4)));
        QVERIFY(view->entropies.back().value < 0.2 * std::log(4));
    }

    void memory_overflow_is_learnt_from_data() { add_algorithms(); }
    void memory_overflow_is_learnt_from() {
        QFETCH(QString, id);
        // Sixteen ops with 1 MB of parameters each on two devices that hold 8.5 MB: 20 % of random
        // placements fit.
        GraphBuilder builder("weights", 1, Training::none);
        for (int i = 0; i < 16; ++i) {
            Op op;
            op.name = "op" + std::to_string(i);
            op.kind = "linear";
            op.flops = 1e9;
            op.parameter_bytes = 1'000'000;
            op.outputs = {make_tensor({1})};
            builder.add(op, i > 0 ? std::vector<std::string>{"op" + std::to_string(i - 1)}
                                  : std::vector<std::string>{});
        }
        const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2, 8.5e6));
        MemoryPenalty penalty;
        penalty.rule = MemoryRule::post;
        const auto evaluator = simulation_evaluator(problem, {}, penalty, 1);
        for (const std::uint64_t seed : {1, 2, 3}) {
            const auto optimizer = make(id.toStdString(), problem, {}, seed);
            std::size_t told = 0;
            std::array<std::size_t, 4> misfits{};  // by quarter
            while (told < 2400) {
                const auto batch = optimizer->ask(2400 - told);
                std::vector<Score> scores(batch.size());
                QVERIFY(evaluator->evaluate(batch, scores, {}));
                for (const Score& score : scores) {
                    QCOMPARE(score.penalised_s == 100, !score.fits);
                    misfits[told++ / 600] += !score.fits;
                }
                optimizer->tell(scores);
            }
            QVERIFY2(misfits[0] > 100 && misfits[3] < misfits[0] / 2,
                     qPrintable(QString("%1, then %2").arg(misfits[0]).arg(misfits[3])));
        }
    }

    void exploration_ends_with_the_search() {
        const ProblemPtr problem = test::problem(test::chain(8), test::uniform_machine(2));
        const auto least = [&](std::optional<std::uint64_t> evaluations, const OptionValues& values,
                               std::uint64_t until) {
            const auto optimizer = make("cross-entropy", problem, values, 1, evaluations);
            std::uint64_t told = 0;
            while (told < until) {
                const auto batch = optimizer->ask(1000);
                std::vector<Score> scores;
                for (const Placement& placement : batch) scores.push_back(away_from_one(placement));
                optimizer->tell(scores);
                told += batch.size();
            }
            return *std::ranges::min_element(optimizer->distribution()->probability);
        };
        // The whole elite is on device 1: the rest is (1 - n / L) 0.1 / 2.
        QVERIFY(close(least(2400, {}, 1200), 0.025, 1e-6));
        QVERIFY(close(least(2400, {}, 2400), 1e-8, 1e-6));
        QVERIFY(close(least(4800, {}, 2400), 0.025, 1e-6));
        QVERIFY(close(least({}, {{"exploration_samples", std::int64_t{1800}}}, 900), 0.025, 1e-6));
        QVERIFY(close(least(2400, {{"exploration", 0.4}}, 1200), 0.1, 1e-6));
    }

    void groups_without_a_choice_stay() {
        const ProblemPtr problem = test::problem(test::chain(3), test::uniform_machine(1));
        for (const char* id : {"policy-gradient", "ppo", "cross-entropy", "post"}) {
            const SearchResult result = search(id, problem);
            QCOMPARE(result.end, SearchEnd::exhausted);
            QCOMPARE(*result.progress.best_placement, Placement(3, 0));
            QCOMPARE(result.progress.distribution->probability, (std::vector<double>{1, 1, 1}));
            QCOMPARE(result.progress.distribution->entropy, 0.0);
        }
    }

    void groups_follow_the_grouping() {
        ProblemOptions options;
        options.grouping.rule = GroupingRule::merge;
        options.grouping.merge_groups = 5;
        const ProblemPtr problem = test::problem(test::random_graph(4, 40, 3, Training::implicit),
                                                 test::uniform_machine(3), options);
        const SearchResult result = search("post", problem);
        QCOMPARE(result.progress.best_placement->size(), std::size_t{5});
        QCOMPARE(result.progress.distribution->probability.size(), std::size_t{15});
        check_placement(*problem, *result.progress.best_placement);
    }

    // What a search keeps

    void a_series_has_few_points_and_loses_nothing() {
        Series series;
        double sum = 0;
        std::uint64_t total = 0;
        Random random(1);
        for (int i = 0; i < 100'000; ++i) {
            const std::uint64_t evaluations = 1 + random.index(30);
            const double value = random.uniform();
            series.add(evaluations, value);
            total += evaluations;
            sum += value * static_cast<double>(evaluations);
        }
        const std::vector<SeriesPoint> points = series.points();
        QVERIFY(points.size() >= Series::kMost / 2 && points.size() <= Series::kMost);
        QCOMPARE(points.back().evaluations, total);
        double whole = 0;
        std::uint64_t before = 0;
        for (const SeriesPoint& point : points) {
            QVERIFY(point.evaluations > before);
            whole += point.value * static_cast<double>(point.evaluations - before);
            before = point.evaluations;
        }
        QVERIFY(close(whole, sum, 1e-9));
    }

    void a_short_series_has_every_value() {
        Series series;
        for (int i = 0; i < 10; ++i) series.add(12, i);
        const std::vector<SeriesPoint> points = series.points();
        QCOMPARE(points.size(), std::size_t{10});
        QVERIFY((points[3] == SeriesPoint{48, 3}));
        QVERIFY(Series().points().empty());
    }

    void searches_tell_means_all_along() {
        const ProblemPtr problem =
            test::problem(test::random_graph(4, 30, 3, Training::implicit), test::uniform_machine(3));
        const SearchResult result = search("post", problem);
        QVERIFY(result.progress.means.size() > Series::kMost / 2);
        QVERIFY(result.progress.means.size() <= Series::kMost);
        QCOMPARE(result.progress.means.back().evaluations, std::uint64_t{2400});
        QVERIFY(result.progress.means.back().value < 0.8 * result.progress.means.front().value);
    }
};

QTEST_GUILESS_MAIN(TestPost)
#include "tst_post.moc"
