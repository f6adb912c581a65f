// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stop_token>
#include <thread>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/base/random.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/options.hpp"
#include "core/search/search.hpp"
#include "core/search/series.hpp"
#include "core/search/threads.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

struct SampleOptions {
    bool flag = false;
    int count = 3;
    double rate = 0.25;
    std::string type = "one";
};

const OptionSchema<SampleOptions>& sample_schema() {
    static const auto schema = OptionSchema<SampleOptions>{}
                                   .add("flag", &SampleOptions::flag, "A flag.")
                                   .add("count", &SampleOptions::count, 1, 100'000, "A count.")
                                   .add("rate", &SampleOptions::rate, 0, 1, "A rate.")
                                   .add("type", &SampleOptions::type, {"one", "two"}, "A type.");
    return schema;
}

const OptionInfo& sample_option(const QString& name) {
    const auto& infos = sample_schema().infos();
    return infos[position(infos, name.toStdString())];
}

template <class Callable>
QString error_of(Callable&& callable) {
    try {
        callable();
    } catch (const OptionError& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

/// Proposes placements of one gene, numbered in their order, in batches of fixed size.
class Counting final : public Optimizer {
public:
    Counting(std::size_t batch, std::size_t count) : batch_(batch), left_(count) {}

    std::span<const Placement> ask(std::size_t limit) override {
        placements.clear();
        smallest_limit = std::min(smallest_limit, limit);
        for (std::size_t i = 0; i < std::min({limit, batch_, left_}); ++i)
            placements.push_back({static_cast<DeviceId>(asked++)});
        left_ -= placements.size();
        return placements;
    }

    void tell(std::span<const Score> scores) override {
        told.insert(told.end(), scores.begin(), scores.end());
    }

    std::vector<Placement> placements;
    std::vector<Score> told;
    std::size_t asked = 0;
    std::size_t smallest_limit = std::numeric_limits<std::size_t>::max();

private:
    std::size_t batch_, left_;
};

/// Scores the placement {k} with values[k], the last one for all further k; where that is negative the
/// objective is not defined.
class Scripted final : public Evaluator {
public:
    explicit Scripted(std::vector<double> values,
                      std::size_t fail_after = std::numeric_limits<std::size_t>::max())
        : values_(std::move(values)), fail_after_(fail_after) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token,
                  Bases) override {
        for (std::size_t i = 0; i < placements.size(); ++i) {
            if (runs_ == fail_after_) return false;
            const double value = values_[std::min<std::size_t>(placements[i].at(0), values_.size() - 1)];
            scores[i] = value < 0 ? kUndefinedScore : Score{value, value * 2, true};
            if (pause_s > 0) QTest::qSleep(static_cast<int>(pause_s * 1000));
            ++runs_;
        }
        return true;
    }

    std::uint64_t runs() const override { return runs_; }

    double pause_s = 0;

private:
    std::vector<double> values_;
    std::size_t fail_after_;
    std::uint64_t runs_ = 0;
};

std::vector<Placement> random_placements(const Problem& problem, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<Placement> placements(count, Placement(problem.groups));
    for (Placement& placement : placements) {
        for (DeviceId& device : placement) device = static_cast<DeviceId>(random.index(problem.devices));
    }
    return placements;
}

}  // namespace

class TestSearch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void options_are_read_data() {
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("value");
        QTest::newRow("true") << "flag"
                              << "true"
                              << "true";
        QTest::newRow("false") << "flag"
                               << "false"
                               << "false";
        QTest::newRow("int") << "count"
                             << "42"
                             << "42";
        QTest::newRow("largest int") << "count"
                                     << "100000"
                                     << "100000";
        QTest::newRow("float") << "rate"
                               << "0.5"
                               << "0.5";
        QTest::newRow("exponent") << "rate"
                                  << "1e-3"
                                  << "0.001";
        QTest::newRow("whole float") << "rate"
                                     << "1"
                                     << "1";
        QTest::newRow("choice") << "type"
                                << "two"
                                << "two";
    }

    void options_are_read() {
        QFETCH(QString, option);
        QFETCH(QString, text);
        const OptionInfo& info = sample_option(option);
        const OptionValue value = parse_option(info, text.toStdString());
        QCOMPARE(value.index(), info.default_value.index());
        QTEST(QString::fromStdString(to_string(value)), "value");
    }

    void wrong_options_are_refused_data() {
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        QTest::newRow("flag") << "flag"
                              << "yes"
                              << "flag = yes is neither true nor false";
        QTest::newRow("int text") << "count"
                                  << "many"
                                  << "count = many is not a whole number";
        QTest::newRow("int fraction") << "count"
                                      << "2.5"
                                      << "count = 2.5 is not a whole number";
        QTest::newRow("int trailing") << "count"
                                      << "2 "
                                      << "count = 2  is not a whole number";
        QTest::newRow("int empty") << "count"
                                   << ""
                                   << "count =  is not a whole number";
        QTest::newRow("int overflow") << "count"
                                      << "99999999999999999999"
                                      << "count = 99999999999999999999 is not a whole number";
        QTest::newRow("int low") << "count"
                                 << "0"
                                 << "count = 0 is out of range, expected 1 to 100000";
        QTest::newRow("int high") << "count"
                                  << "100001"
                                  << "count = 100001 is out of range, expected 1 to 100000";
        QTest::newRow("float text") << "rate"
                                    << "often"
                                    << "rate = often is not a number";
        QTest::newRow("float high") << "rate"
                                    << "7"
                                    << "rate = 7 is out of range, expected 0 to 1";
        QTest::newRow("float low") << "rate"
                                   << "-0.5"
                                   << "rate = -0.5 is out of range, expected 0 to 1";
        QTest::newRow("float nan") << "rate"
                                   << "nan"
                                   << "rate = nan is not a finite number";
        QTest::newRow("float inf") << "rate"
                                   << "inf"
                                   << "rate = inf is not a finite number";
        QTest::newRow("choice") << "type"
                                << "three"
                                << "type = three is not one of one, two";
    }

    void wrong_options_are_refused() {
        QFETCH(QString, option);
        QFETCH(QString, text);
        QTEST(error_of([&] { parse_option(sample_option(option), text.toStdString()); }), "message");
    }

    void one_sided_ranges_are_told() {
        OptionInfo info{"size", std::int64_t{4}, 2.0, {}, {}, ""};
        QCOMPARE(error_of([&] { parse_option(info, "1"); }), "size = 1 is out of range, expected at least 2");
        info.min.reset();
        info.max = 8;
        QCOMPARE(error_of([&] { parse_option(info, "9"); }), "size = 9 is out of range, expected at most 8");
        QVERIFY(parse_option(info, "-3") == OptionValue(std::int64_t{-3}));
    }

    void values_are_checked() {
        QVERIFY(checked_option(sample_option("rate"), std::int64_t{1}) == OptionValue(1.0));
        QCOMPARE(error_of([] { checked_option(sample_option("count"), 2.0); }),
                 "count = 2 is of the wrong type, expected int");
        QCOMPARE(error_of([] { checked_option(sample_option("flag"), std::int64_t{1}); }),
                 "flag = 1 is of the wrong type, expected bool");
        QCOMPARE(error_of([] { checked_option(sample_option("type"), true); }),
                 "type = true is of the wrong type, expected choice");
        QCOMPARE(
            error_of([] { checked_option(sample_option("rate"), std::numeric_limits<double>::quiet_NaN()); }),
            "rate = nan is not a finite number");
    }

    void numbers_read_back_exactly() {
        Random random(3);
        const OptionInfo info{"x", 0.0, {}, {}, {}, ""};
        for (int i = 0; i < 200; ++i) {
            const OptionValue value =
                std::ldexp(random.uniform(-1, 1), static_cast<int>(random.index(80)) - 40);
            QVERIFY(parse_option(info, to_string(value)) == value);
        }
        QCOMPARE(to_string(OptionValue(0.1)), "0.1");
        QCOMPARE(to_string(OptionValue(100000.0)), "100000");
    }

    void schema_fills_the_struct() {
        const SampleOptions defaults = sample_schema().parse({});
        QCOMPARE(defaults.count, 3);
        QCOMPARE(defaults.rate, 0.25);
        const SampleOptions options = sample_schema().parse({{"flag", true},
                                                             {"count", std::int64_t{9}},
                                                             {"rate", std::int64_t{1}},
                                                             {"type", std::string("two")}});
        QVERIFY(options.flag);
        QCOMPARE(options.count, 9);
        QCOMPARE(options.rate, 1.0);
        QCOMPARE(options.type, "two");
        QCOMPARE(error_of([] {
                     sample_schema().parse({{"kount", std::int64_t{9}}});
                 }),
                 "unknown option \"kount\", known are flag, count, rate, type");
        QCOMPARE(error_of([] { position({}, "x"); }), "unknown option \"x\", there are no options");
    }

    void types_have_names() {
        QCOMPARE(type_name(sample_option("flag")), "bool");
        QCOMPARE(type_name(sample_option("count")), "int");
        QCOMPARE(type_name(sample_option("rate")), "float");
        QCOMPARE(type_name(sample_option("type")), "choice");
    }

    void no_more_threads_than_cores() {
        const unsigned cores = usable_threads(0);
        QVERIFY(cores >= 1);
        QCOMPARE(usable_threads(1), 1U);
        QCOMPARE(usable_threads(cores), cores);
        QCOMPARE(usable_threads(1'000'000), cores);
    }

    void evaluator_scores_as_the_simulator_data() {
        QTest::addColumn<unsigned>("threads");
        for (const unsigned threads : {0U, 1U, 2U, 3U}) QTest::addRow("%u threads", threads) << threads;
    }

    void evaluator_scores_as_the_simulator() {
        QFETCH(unsigned, threads);
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const auto problem = test::problem(test::random_graph(seed, 40, 3, Training::implicit),
                                               test::random_machine(seed));
            const SimulationOptions options{2, 2};
            const MemoryPenalty penalty;
            const std::vector<Placement> placements = random_placements(*problem, 200, seed);
            Simulator simulator(problem, options);
            std::vector<Score> expected;
            for (const Placement& placement : placements)
                expected.push_back(penalty.score(*problem, simulator.run(placement)));

            const auto evaluator = simulation_evaluator(problem, options, penalty, threads);
            std::vector<Score> scores(placements.size());
            QVERIFY(evaluator->evaluate(placements, scores, {}));
            QVERIFY(scores == expected);
            for (std::size_t i = 0; i < 5; ++i) {
                Score one;
                QVERIFY(evaluator->evaluate(std::span(placements).subspan(i, 1), std::span(&one, 1), {}));
                QVERIFY(one == expected[i]);
            }
        }
    }

    void evaluator_with_a_base_scores_as_the_simulator() {
        const auto problem =
            test::problem(test::random_graph(5, 60, 3, Training::implicit), test::random_machine(5));
        const MemoryPenalty penalty;
        Simulator simulator(problem);
        for (const unsigned threads : {1U, 2U}) {
            const auto evaluator = simulation_evaluator(problem, {}, penalty, threads);
            for (const Placement& base : random_placements(*problem, 3, 7)) {
                for (int round = 0; round < 3; ++round) {
                    std::vector<Placement> moved(40, base);
                    Random random(static_cast<std::uint64_t>(round));
                    for (Placement& placement : moved) {
                        const auto group = static_cast<GroupId>(random.index(problem->groups));
                        placement[group] = random.pick(problem->allowed_devices(group));
                    }
                    std::vector<Score> scores(moved.size());
                    const std::vector<const Placement*> bases(moved.size(), &base);
                    QVERIFY(evaluator->evaluate(moved, scores, {}, bases));
                    for (std::size_t i = 0; i < moved.size(); ++i) {
                        QVERIFY(scores[i] == penalty.score(*problem, simulator.run(moved[i])));
                    }
                }
            }
            const DeltaUse use = evaluator->delta_use();
            QVERIFY(use.recorded >= 1 && use.recorded <= 9);
            QVERIFY(use.simulations > 0 && use.simulations < evaluator->runs());
            QVERIFY(use.events > 0 && use.events < use.full_events);
        }
    }

    void repeated_placements_are_not_simulated_again() {
        const auto problem = test::problem(test::chain(8), test::uniform_machine(4));
        for (const unsigned threads : {1U, 2U}) {
            const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
            std::vector<Placement> batch = random_placements(*problem, 10, 5);
            for (std::size_t i = 0; i < 4; ++i) batch.push_back(Placement(batch[i]));
            std::vector<Score> scores(batch.size()), again(batch.size());
            QVERIFY(evaluator->evaluate(batch, scores, {}));
            QCOMPARE(evaluator->runs(), std::uint64_t{10});
            for (std::size_t i = 0; i < 4; ++i) QVERIFY(scores[10 + i] == scores[i]);
            QVERIFY(evaluator->evaluate(batch, again, {}));
            QCOMPARE(evaluator->runs(), std::uint64_t{10});
            QVERIFY(again == scores);
        }
    }

    void placements_of_one_gene_do_not_collide() {
        // Each differs from the first in one gene: the first bits of a hash that is too weak.
        const auto problem = test::problem(test::chain(33), test::uniform_machine(4));
        std::vector<Placement> batch{Placement(problem->groups, 0)};
        for (std::size_t gene = 0; gene < problem->groups; ++gene) {
            for (DeviceId device = 1; device < 4; ++device) {
                batch.push_back(batch.front());
                batch.back()[gene] = device;
            }
        }
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        std::vector<Score> scores(batch.size());
        QVERIFY(evaluator->evaluate(batch, scores, {}));
        QCOMPARE(evaluator->runs(), std::uint64_t{batch.size()});
    }

    void cache_is_bounded() {
        const auto problem = test::problem(test::chain(10), test::uniform_machine(4));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const std::vector<Placement> first = random_placements(*problem, 1, 1);
        Score before, after;
        QVERIFY(evaluator->evaluate(first, std::span(&before, 1), {}));
        // All 4^9 placements of the other genes fill the cache of 2^18 entries.
        std::vector<Placement> batch(4096, Placement(problem->groups));
        std::vector<Score> scores(batch.size());
        for (std::size_t begin = 0; begin < (std::size_t{1} << 18); begin += batch.size()) {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                batch[i][0] = static_cast<DeviceId>((first[0][0] + 1) % 4);
                for (std::size_t gene = 1; gene < 10; ++gene)
                    batch[i][gene] = static_cast<DeviceId>((begin + i) >> (2 * (gene - 1)) & 3);
            }
            QVERIFY(evaluator->evaluate(batch, scores, {}));
        }
        const std::uint64_t runs = evaluator->runs();
        QCOMPARE(runs, (std::uint64_t{1} << 18) + 1);
        QVERIFY(evaluator->evaluate(first, std::span(&after, 1), {}));
        QCOMPARE(evaluator->runs(), runs + 1);
        QVERIFY(before == after);
    }

    void evaluator_stops() {
        const auto problem = test::problem(test::chain(8), test::uniform_machine(4));
        for (const unsigned threads : {1U, 2U}) {
            const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
            const std::vector<Placement> batch = random_placements(*problem, 10, 5);
            std::vector<Score> scores(batch.size());
            std::stop_source source;
            source.request_stop();
            QVERIFY(!evaluator->evaluate(batch, scores, source.get_token()));
            QCOMPARE(evaluator->runs(), std::uint64_t{0});
            QVERIFY(evaluator->evaluate(batch, scores, {}));
            QCOMPARE(evaluator->runs(), std::uint64_t{10});
        }
    }

    void evaluator_stops_amid_a_batch() {
        const auto problem =
            test::problem(test::random_graph(1, 300, 3, Training::implicit), test::uniform_machine(4));
        const std::vector<Placement> batch = random_placements(*problem, 20'000, 5);
        std::vector<Score> scores(batch.size());
        for (const unsigned threads : {1U, 2U}) {
            const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
            std::stop_source source;
            std::thread canceller([&] {
                QTest::qSleep(20);
                source.request_stop();
            });
            const bool done = evaluator->evaluate(batch, scores, source.get_token());
            canceller.join();
            QVERIFY(!done);
            QVERIFY(evaluator->runs() < batch.size());
            Score one, expected;
            QVERIFY(evaluator->evaluate(std::span(batch).first(1), std::span(&one, 1), {}));
            QVERIFY(simulation_evaluator(problem, {}, {}, 1)
                        ->evaluate(std::span(batch).first(1), std::span(&expected, 1), {}));
            QVERIFY(one == expected);
        }
    }

    void evaluator_needs_room_for_its_scores() {
        const auto problem = test::problem(test::chain(3), test::uniform_machine(2));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        std::vector<Score> scores(1);
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument,
                                 evaluator->evaluate(random_placements(*problem, 2, 1), scores, {}));
    }

    void budget_is_used_exactly_data() {
        QTest::addColumn<int>("budget");
        QTest::addColumn<int>("batch");
        QTest::newRow("one") << 1 << 8;
        QTest::newRow("uneven") << 103 << 10;
        QTest::newRow("even") << 100 << 10;
        QTest::newRow("large batches") << 5000 << 4000;
        QTest::newRow("none") << 0 << 10;
    }

    void budget_is_used_exactly() {
        QFETCH(int, budget);
        QFETCH(int, batch);
        Counting optimizer(static_cast<std::size_t>(batch), 1'000'000);
        Scripted evaluator({3, 2, 1});
        const SearchResult result = run_search(optimizer, evaluator, {static_cast<std::uint64_t>(budget)});
        QCOMPARE(result.end, SearchEnd::budget);
        QCOMPARE(result.progress.evaluations, static_cast<std::uint64_t>(budget));
        QCOMPARE(result.progress.simulations, static_cast<std::uint64_t>(budget));
        QCOMPARE(optimizer.told.size(), static_cast<std::size_t>(budget));
        QCOMPARE(result.progress.eta_s, 0.0);
        if (budget % batch != 0 && budget > batch)
            QVERIFY(optimizer.smallest_limit <= static_cast<std::size_t>(budget % batch));
    }

    void curve_has_every_improvement() {
        Counting optimizer(4, 6);
        Scripted evaluator({5, 7, 3, 3, 2, 9});
        const SearchResult result = run_search(optimizer, evaluator, {100});
        QCOMPARE(result.end, SearchEnd::exhausted);
        const auto& curve = *result.progress.curve;
        // Step times are twice the scores: the means of the first 1, 3, 5 and 6 are 2 * 5, 2 * 15 / 3, ...
        const std::vector<std::array<double, 3>> expected{
            {1, 5, 10}, {3, 3, 10}, {5, 2, 8}, {6, 2, 58.0 / 6}};
        QCOMPARE(curve.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QCOMPARE(static_cast<double>(curve[i].evaluations), expected[i][0]);
            QCOMPARE(curve[i].best_s, expected[i][1]);
            QCOMPARE(curve[i].mean_s, expected[i][2]);
        }
        QCOMPARE(*result.progress.best_placement, Placement{4});
        QVERIFY(result.progress.best == (Score{2, 4, true}));
        QCOMPARE(result.progress.latest_mean_s, 58.0 / 6);
    }

    /// The clock decides when reports are made, but not what is shown.
    void every_improvement_is_named() {
        for (const auto interval : {std::chrono::milliseconds(0), std::chrono::milliseconds(1'000'000)}) {
            Counting optimizer(4, 6);
            Scripted evaluator({5, 7, 3, 3, 2, 9});
            std::vector<std::pair<Placement, Placement>> named;
            const SearchResult result = run_search(
                optimizer, evaluator, {100}, {}, [](const SearchProgress&) {}, interval, nullptr,
                [&](const Placement& placement, const Placement* before) {
                    named.emplace_back(placement, before != nullptr ? *before : Placement());
                    return Placement{static_cast<DeviceId>(placement.at(0) + 100)};
                });
            const std::vector<std::pair<Placement, Placement>> expected{
                {{0}, {}}, {{2}, {100}}, {{4}, {102}}};
            QVERIFY(named == expected);
            QCOMPARE(*result.progress.best_placement, Placement{104});
        }
    }

    void means_leave_out_what_is_not_defined() {
        // Batches of two: (-, 5), (-, -), (7, 3), with step times twice as long.
        Counting optimizer(2, 6);
        Scripted evaluator({-1, 5, -1, -1, 7, 3});
        const SearchResult result = run_search(optimizer, evaluator, {100});
        QCOMPARE(result.progress.evaluations, 6U);
        QCOMPARE(result.progress.latest_mean_s, 10.0);
        for (const CurvePoint& point : *result.progress.curve)
            QVERIFY2(point.mean_s <= 12, qPrintable(QString::number(point.mean_s)));
        for (const SeriesPoint& point : result.progress.means)
            QVERIFY2(point.value <= 14, qPrintable(QString::number(point.value)));
        for (const CurvePoint& point : *result.progress.curve) QCOMPARE(point.fits, point.evaluations > 1);
        QVERIFY(result.progress.best == (Score{3, 6, true}));
    }

    void curve_does_not_depend_on_slices() {
        std::vector<double> values;
        Random random(9);
        for (int i = 0; i < 500; ++i) values.push_back(random.uniform());
        const auto curve = [&](double pause_s) {
            Counting optimizer(100, values.size());
            Scripted evaluator(values);
            evaluator.pause_s = pause_s;
            std::vector<std::array<double, 3>> points;
            const SearchResult result = run_search(optimizer, evaluator, {500});
            for (const CurvePoint& point : *result.progress.curve) {
                points.push_back({static_cast<double>(point.evaluations), point.best_s, point.mean_s});
            }
            return points;
        };
        const auto fast = curve(0);
        QVERIFY(fast.size() > 3);
        QVERIFY(std::is_sorted(fast.begin(), fast.end(),
                               [](const auto& a, const auto& b) { return a[0] < b[0]; }));
        QVERIFY(std::is_sorted(fast.begin(), fast.end(),
                               [](const auto& a, const auto& b) { return a[1] > b[1]; }));
        QVERIFY(curve(0.001) == fast);
    }

    void cancelled_search_keeps_its_best() {
        Counting optimizer(10, 1'000'000'000);
        Scripted evaluator({4, 3, 2, 1});
        std::stop_source source;
        int reports = 0;
        std::uint64_t evaluations = 0;
        const SearchResult result = run_search(
            optimizer, evaluator, {1'000'000'000}, source.get_token(),
            [&](const SearchProgress& progress) {
                evaluations = progress.evaluations;
                if (++reports == 3) source.request_stop();
            },
            std::chrono::milliseconds(0));
        QCOMPARE(result.end, SearchEnd::cancelled);
        QCOMPARE(reports, 3);
        QVERIFY(evaluations < 1'000'000'000);
        QCOMPARE(result.progress.evaluations, evaluations);
        QCOMPARE(*result.progress.best_placement, Placement{3});
        QCOMPARE(result.progress.curve->back().evaluations, evaluations);
    }

    void search_that_never_began_has_no_best() {
        Counting optimizer(10, 100);
        Scripted evaluator({1});
        std::stop_source source;
        source.request_stop();
        const SearchResult result = run_search(optimizer, evaluator, {100}, source.get_token());
        QCOMPARE(result.end, SearchEnd::cancelled);
        QCOMPARE(result.progress.evaluations, std::uint64_t{0});
        QVERIFY(!result.progress.best_placement);
        QVERIFY(result.progress.curve->empty());
    }

    void what_was_scored_before_a_stop_counts() {
        // The evaluator gives up at the 21st placement: in the second slice of 16 of the first batch.
        Counting optimizer(40, 100);
        Scripted evaluator({5, 4, 3, 9}, 20);
        std::stop_source source;
        bool reported = false;
        const SearchResult result = run_search(
            optimizer, evaluator, {100}, source.get_token(),
            [&](const SearchProgress&) {
                reported = true;
                source.request_stop();
            },
            std::chrono::milliseconds(0));
        QVERIFY(reported);
        QCOMPARE(result.end, SearchEnd::cancelled);
        QCOMPARE(result.progress.evaluations, std::uint64_t{16});
        QCOMPARE(*result.progress.best_placement, Placement{2});
        QVERIFY(optimizer.told.empty());
    }

    void time_is_limited() {
        Counting optimizer(1000, 1'000'000);
        Scripted evaluator({1});
        evaluator.pause_s = 0.002;
        const SearchResult result = run_search(optimizer, evaluator, {1'000'000, 0.1});
        QCOMPARE(result.end, SearchEnd::budget);
        QVERIFY(result.progress.elapsed_s >= 0.1);
        QVERIFY(result.progress.evaluations >= 16);
        QVERIFY(result.progress.evaluations < 200);
        QVERIFY(result.progress.best_placement);
        const SearchResult none = run_search(optimizer, evaluator, {100, 0.0});
        QCOMPARE(none.end, SearchEnd::budget);
        QCOMPARE(none.progress.evaluations, std::uint64_t{0});
    }

    void estimates_are_of_what_ends_first() {
        const auto first_eta = [](const Budget& budget) {
            Counting optimizer(10, 1'000'000);
            Scripted evaluator({1});
            evaluator.pause_s = 0.001;
            std::stop_source source;
            SearchProgress seen;
            run_search(optimizer, evaluator, budget, source.get_token(), [&](const SearchProgress& progress) {
                seen = progress;
                source.request_stop();
            });
            return std::pair(seen.eta_s, seen.elapsed_s);
        };
        const auto [by_count_s, elapsed_s] = first_eta({1000});
        QVERIFY(std::abs(by_count_s - 99 * elapsed_s) < 1e-9);
        const auto [by_time_s, used_s] = first_eta({1'000'000, 5.0});
        QVERIFY(std::abs(by_time_s - (5.0 - used_s)) < 1e-9);
    }

    void reports_keep_their_interval() {
        Counting optimizer(10, 2000);
        Scripted evaluator({1});
        int reports = 0;
        run_search(
            optimizer, evaluator, {2000}, {}, [&](const SearchProgress&) { ++reports; },
            std::chrono::hours(1));
        QCOMPARE(reports, 1);
    }

    void slow_reports_become_rare() {
        Counting optimizer(10, 200);
        Scripted evaluator({1});
        evaluator.pause_s = 0.001;
        int reports = 0;
        // 0.2 s of scores and reports of 10 ms, each followed by at least 90 ms without.
        const SearchResult result = run_search(
            optimizer, evaluator, {200}, {},
            [&](const SearchProgress&) {
                ++reports;
                QTest::qSleep(10);
            },
            std::chrono::milliseconds(0));
        QVERIFY(reports >= 1);
        QVERIFY(reports <= 1 + static_cast<int>(result.progress.elapsed_s / 0.09));
    }

    void pause_holds_a_search() {
        Counting optimizer(10, 200);
        Scripted evaluator({1});
        Pause pause;
        pause.set(true);
        std::atomic<bool> ended = false;
        QElapsedTimer wall;
        wall.start();
        SearchResult result;
        std::thread searcher([&] {
            result = run_search(optimizer, evaluator, {200}, {}, {}, std::chrono::milliseconds(33), &pause);
            ended = true;
        });
        QTest::qSleep(300);
        QVERIFY(!ended);
        pause.set(false);
        searcher.join();
        QCOMPARE(result.progress.evaluations, std::uint64_t{200});
        QCOMPARE(result.end, SearchEnd::budget);
        // The pause is no time of the search.
        QVERIFY(result.progress.elapsed_s < 0.5e-3 * static_cast<double>(wall.elapsed()));
    }

    void paused_search_can_be_stopped() {
        Counting optimizer(10, 200);
        Scripted evaluator({1});
        Pause pause;
        pause.set(true);
        std::stop_source stop;
        std::jthread searcher([&] {
            QCOMPARE(run_search(optimizer, evaluator, {200}, stop.get_token(), {},
                                std::chrono::milliseconds(33), &pause)
                         .end,
                     SearchEnd::cancelled);
        });
        QTest::qSleep(20);
        stop.request_stop();
        searcher.join();
        QVERIFY(pause.paused());
    }

    void too_many_proposals_are_an_error() {
        class Greedy final : public Optimizer {
        public:
            std::span<const Placement> ask(std::size_t limit) override {
                placements_.assign(limit + 1, Placement{0});
                return placements_;
            }
            void tell(std::span<const Score>) override {}

        private:
            std::vector<Placement> placements_;
        } optimizer;
        Scripted evaluator({1});
        QVERIFY_THROWS_EXCEPTION(std::logic_error, run_search(optimizer, evaluator, {10}));
    }

    /// An ask may take for ever.
    void long_asks_end_with_the_search() {
        class Slow final : public Optimizer {
        public:
            std::span<const Placement> ask(std::size_t) override {
                if (std::exchange(first_, false)) return {&placement_, 1};
                using namespace std::chrono_literals;
                for (auto waited = 0ms; waited < 60s && !stop().stop_requested(); waited += 5ms)
                    std::this_thread::sleep_for(5ms);
                return {};
            }
            void tell(std::span<const Score>) override {}

        private:
            Placement placement_{0};
            bool first_ = true;
        };
        Scripted timed_scores({3});
        Slow timed;
        const SearchResult late = run_search(timed, timed_scores, {10, 0.05});
        QCOMPARE(late.end, SearchEnd::budget);
        QCOMPARE(late.progress.best.penalised_s, 3.0);

        Scripted scores({3});
        Slow endless;
        std::stop_source stop;
        const std::jthread stopper([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            stop.request_stop();
        });
        const SearchResult stopped = run_search(endless, scores, {10}, stop.get_token());
        QCOMPARE(stopped.end, SearchEnd::cancelled);
        QCOMPARE(stopped.progress.evaluations, std::uint64_t{1});
    }

    void schedules_follow_the_share_of_the_time() {
        class Listening final : public Optimizer {
        public:
            std::span<const Placement> ask(std::size_t) override {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                return {&placement_, 1};
            }
            void tell(std::span<const Score>) override {}
            void used(double share) override { shares.push_back(share); }

            std::vector<double> shares;

        private:
            Placement placement_{0};
        };
        Scripted scores({3});
        Listening timed;
        const SearchResult result = run_search(timed, scores, {Budget::kUnlimited, 0.05});
        QCOMPARE(result.end, SearchEnd::budget);
        QVERIFY(timed.shares.size() > 2);
        QVERIFY(std::ranges::is_sorted(timed.shares));
        QVERIFY(timed.shares.front() >= 0 && timed.shares.back() <= 1);
        // The number of evaluations alone decides where it is known.
        Scripted others({3});
        Listening counted;
        run_search(counted, others, {20});
        QVERIFY(counted.shares.empty());
    }

    void without_a_budget_a_search_runs_until_it_is_stopped() {
        QVERIFY(!planned_evaluations({Budget::kUnlimited}));
        Scripted scores({3});
        Counting endless(4, 1'000'000'000);
        std::stop_source stop;
        double eta_s = 0;
        const auto report = [&](const SearchProgress& progress) {
            eta_s = progress.eta_s;
            if (progress.evaluations > 30'000) stop.request_stop();
        };
        const SearchResult result = run_search(endless, scores, {Budget::kUnlimited}, stop.get_token(),
                                               report, std::chrono::milliseconds(0));
        QCOMPARE(result.end, SearchEnd::cancelled);
        QVERIFY(result.progress.evaluations > 30'000);
        QCOMPARE(eta_s, kInfinity);
    }

    void some_of_the_placements_are_kept_as_samples() {
        Scripted scores({5, 4, -1, 3});
        Counting few(3, 10);
        const auto of_few = run_search(few, scores, {100}).progress.samples;
        QCOMPARE(of_few->size(), std::size_t{9});  // the objective is not defined for one
        QCOMPARE((*of_few)[1].evaluations, std::uint64_t{2});
        QCOMPARE((*of_few)[1].value_s, 8.0);
        QCOMPARE((*of_few)[2].evaluations, std::uint64_t{4});

        Scripted more({5});
        Counting many(100, 1'000'000);
        const auto of_many = run_search(many, more, {50'000}).progress.samples;
        QVERIFY(of_many->size() < Samples::kMost && of_many->size() > Samples::kMost / 4);
        const std::uint64_t stride = of_many->front().evaluations;
        for (std::size_t i = 0; i < of_many->size(); ++i)
            QCOMPARE((*of_many)[i].evaluations, (i + 1) * stride);
    }

    void simulations_are_counted_from_the_start_of_the_search() {
        const auto problem = test::problem(test::chain(6), test::uniform_machine(2));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        std::vector<Score> scores(3);
        const std::vector<Placement> known = random_placements(*problem, 3, 2);
        QVERIFY(evaluator->evaluate(known, scores, {}));

        class Repeating final : public Optimizer {
        public:
            explicit Repeating(Placement placement) : placement_(std::move(placement)) {}
            std::span<const Placement> ask(std::size_t) override { return {&placement_, 1}; }
            void tell(std::span<const Score>) override {}

        private:
            Placement placement_;
        };
        Repeating old(known[0]);
        QCOMPARE(run_search(old, *evaluator, {20}).progress.simulations, std::uint64_t{0});
        Placement other = known[0];
        other[0] = static_cast<DeviceId>(1 - other[0]);
        while (std::find(known.begin(), known.end(), other) != known.end())
            other[1] = static_cast<DeviceId>(1 - other[1]);
        Repeating fresh(other);
        QCOMPARE(run_search(fresh, *evaluator, {20}).progress.simulations, std::uint64_t{1});
    }
};

QTEST_GUILESS_MAIN(TestSearch)
#include "tst_search.moc"
