// SPDX-License-Identifier: MIT
// What every algorithm keeps to, and hill climbing.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/search.hpp"
#include "tests/support/constrained_problem.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::constrained_problem, test::error_of, test::group_of, test::machine_with_cpu, test::make,
    test::ProblemPtr, test::search, test::seconds_of, test::text, test::Variant, test::whole;

namespace {

/// Least step time of all placements.
double optimum_s(const ProblemPtr& problem) {
    Simulator simulator(problem);
    Placement placement(problem->groups, 0);
    double best_s = kInfinity;
    while (true) {
        best_s = std::min(best_s, MemoryPenalty().score(*problem, simulator.run(placement)).penalised_s);
        std::size_t gene = 0;
        while (gene < placement.size() && ++placement[gene] == problem->devices) placement[gene++] = 0;
        if (gene == placement.size()) return best_s;
    }
}

const std::map<std::string, Variant>& variants() {
    static const std::map<std::string, Variant> all{
        {"auto", {"auto", {}}},
        {"auto quick turns",
         {"auto",
          {{"turn", whole(5)},
           {"slow_share", 0.1},
           {"most_slow_share", 0.2},
           {"least_share", 0.3},
           {"credit_memory", 0.5}}}},
        {"single-device", {"single-device", {}}},
        {"single-device cpu", {"single-device", {{"allow_cpu", true}}}},
        {"random", {"random", {}}},
        {"random cpu", {"random", {{"allow_cpu", true}, {"batch_size", whole(7)}}}},
        {"expert", {"expert", {}}},
        {"expert main 2", {"expert", {{"main_device", whole(2)}, {"devices", whole(2)}}}},
        {"hill", {"hill-climbing", {}}},
        {"hill equal",
         {"hill-climbing",
          {{"start", text("random")},
           {"accept_equal", true},
           {"patience", whole(30)},
           {"batch_size", whole(5)}}}},
        {"hill cpu", {"hill-climbing", {{"start", text("cpu")}, {"allow_cpu", true}}}},
        {"first", {"hill-climbing", {{"neighbourhood", text("first")}}}},
        {"first four",
         {"hill-climbing",
          {{"neighbourhood", text("first")}, {"batch_size", whole(4)}, {"allow_cpu", true}}}},
        {"steepest", {"hill-climbing", {{"neighbourhood", text("steepest")}}}},
        {"steepest random",
         {"hill-climbing",
          {{"neighbourhood", text("steepest")}, {"start", text("random")}, {"allow_cpu", true}}}},
        {"genetic", {"genetic", {}}},
        {"genetic odd",
         {"genetic",
          {{"population_size", whole(13)},
           {"elite_size", whole(0)},
           {"crossover_type", text("uniform")},
           {"crossover_rate", 0.9}}}},
        {"genetic tournament",
         {"genetic",
          {{"parent_selection", text("tournament")},
           {"crossover_type", text("n-point")},
           {"crossover_points", whole(3)},
           {"allow_cpu", true}}}},
        {"genetic exponential",
         {"genetic",
          {{"rank_distribution", text("exponential")},
           {"evolve_mutation_rate", false},
           {"include_trivial_solutions", false}}}},
        {"map-elites", {"map-elites", {}}},
        {"map-elites random",
         {"map-elites",
          {{"selection", text("random")},
           {"batch_size", whole(1)},
           {"replace_mutation_rate", 0.3},
           {"zone_mutation_rate", 0.5}}}},
        {"map-elites small",
         {"map-elites",
          {{"most_used_size", whole(2)},
           {"used_size", whole(1)},
           {"jumps_size", whole(3)},
           {"crossing_size", whole(4)},
           {"balance_size", whole(3)},
           {"include_trivial_solutions", false},
           {"allow_cpu", true},
           {"crossover_type", text("uniform")}}}},
        {"cross-entropy", {"cross-entropy", {}}},
        {"cross-entropy cpu",
         {"cross-entropy", {{"allow_cpu", true}, {"minimize_every", whole(7)}, {"elite_share", 0.3}}}},
        {"policy-gradient", {"policy-gradient", {}}},
        {"policy-gradient square roots",
         {"policy-gradient", {{"reward", text("square-root")}, {"batch_size", whole(5)}}}},
        {"ppo", {"ppo", {}}},
        {"ppo seconds",
         {"ppo", {{"reward", text("seconds")}, {"advantage_limit", 0.0}, {"baseline_decay", 1.0}}}},
        {"post", {"post", {}}},
        {"post odd",
         {"post", {{"batch_size", whole(7)}, {"minimize_every", whole(20)}, {"allow_cpu", true}}}},
    };
    return all;
}

void add_variants() {
    QTest::addColumn<QString>("variant");
    for (const auto& [name, variant] : variants())
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

}  // namespace

class TestAlgorithms : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void list_is_complete() {
        std::vector<std::string> ids;
        for (const AlgorithmInfo& info : algorithms()) {
            ids.push_back(info.id);
            QVERIFY(!info.title.empty() && !info.help.empty());
            QVERIFY2(!info.group.empty() && info.summary.size() <= 90 && info.summary.ends_with('.'),
                     info.id.c_str());
            std::set<std::string> names;
            for (const OptionInfo& option : info.options) {
                QVERIFY2(option.help.size() > 10 && option.help.back() == '.', option.name.c_str());
                QVERIFY2(names.insert(option.name).second, option.name.c_str());
                QVERIFY2(option.title != option.name && option.title.size() <= 48, option.name.c_str());
                QCOMPARE(option.choice_titles.size(), option.choices.size());
                QVERIFY(checked_option(option, option.default_value) == option.default_value);
            }
        }
        QCOMPARE(ids, (std::vector<std::string>{"auto",
                                                "instant",
                                                "single-device",
                                                "random",
                                                "sequential-fill",
                                                "memory-proportional",
                                                "expert",
                                                "hill-climbing",
                                                "simulated-annealing",
                                                "mcmc",
                                                "tabu",
                                                "load-annealing",
                                                "genetic",
                                                "map-elites",
                                                "particle-swarm",
                                                "scotch",
                                                "metis",
                                                "pipedream",
                                                "heft",
                                                "m-topo",
                                                "m-etf",
                                                "m-sct",
                                                "cross-entropy",
                                                "policy-gradient",
                                                "ppo",
                                                "post",
                                                "placeto",
                                                "colocrl",
                                                "hierarchical",
                                                "spotlight",
                                                "list-policy",
                                                "gdp",
                                                "linear-search",
                                                "ideals-dp",
                                                "milp"}));
        for (const AlgorithmInfo& info : algorithms()) QCOMPARE(find_algorithm(info.id), &info);
        QVERIFY(!find_algorithm("Genetic"));
    }

    /// Groups follow each other without gaps, so that a list shows each once.
    void groups_are_listed_once() {
        std::vector<std::string> groups;
        for (const AlgorithmInfo& info : algorithms()) {
            if (groups.empty() || groups.back() != info.group) groups.push_back(info.group);
        }
        const std::set<std::string> distinct(groups.begin(), groups.end());
        QCOMPARE(distinct.size(), groups.size());
        const std::vector<OptionInfo>& options = find_algorithm("auto")->options;
        const OptionInfo& cpus = options[position(options, "cpus")];
        QCOMPARE(cpus.title, std::string("Use CPUs"));
        QCOMPARE(cpus.choice_titles.front(), std::string("only if needed"));
    }

    void a_budget_in_time_ends_every_search_data() {
        QTest::addColumn<QString>("id");
        for (const AlgorithmInfo& info : algorithms())
            QTest::newRow(info.id.c_str()) << QString::fromStdString(info.id);
    }
    void a_budget_in_time_ends_every_search() {
        QFETCH(QString, id);
        const ProblemPtr problem = test::problem(test::fork_join(6), test::uniform_machine(3));
        const Budget budget{Budget::kUnlimited, 0.05};
        const auto optimizer =
            find_algorithm(id.toStdString())->make({problem, 1, {}, planned_evaluations(budget)}, {});
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const SearchResult result = run_search(*optimizer, *evaluator, budget);
        QVERIFY(result.end != SearchEnd::cancelled);
        // A policy may need longer for its first placements.
        QCOMPARE(result.progress.best_placement != nullptr, result.progress.evaluations > 0);
        QVERIFY(result.end == SearchEnd::exhausted || result.progress.elapsed_s >= budget.seconds);
    }

    /// Stages that are not needed are passed over, the last one too.
    void instant_ends_without_a_refinement() {
        const ProblemPtr problem = test::problem(test::fork_join(6), test::uniform_machine(3));
        const SearchResult result = search("instant", problem, 10'000, {{"refinement", whole(0)}});
        QCOMPARE(result.end, SearchEnd::exhausted);
        QVERIFY(result.progress.best.fits);
    }

    /// Episodes that show known placements are not scored; those after them are.
    void imitation_does_not_end_a_search() {
        const AlgorithmInfo& info = *find_algorithm("list-policy");
        if (!info.missing.empty()) QSKIP(info.missing.c_str());
        const ProblemPtr problem = test::problem(test::fork_join(6), test::uniform_machine(3));
        const auto evaluations = [&](double imitation) {
            const OptionValues values{
                {"imitation", imitation}, {"final_imitation", imitation}, {"workers", whole(2)}};
            const auto optimizer = info.make({problem, 1, {}, 20}, values);
            const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
            const SearchResult result = run_search(*optimizer, *evaluator, {20});
            return std::pair(result.progress.evaluations, result.end);
        };
        QCOMPARE(evaluations(0.9), std::pair(std::uint64_t{20}, SearchEnd::budget));
        // Nothing is drawn any more.
        QCOMPARE(evaluations(1), std::pair(std::uint64_t{2}, SearchEnd::exhausted));
    }

    /// "given" takes the given placements in turn; the other starts do without them.
    void hill_climbing_starts_where_it_is_told_to() {
        const ProblemPtr problem = test::problem(test::fork_join(6), test::uniform_machine(3));
        const Placement given(problem->groups, 2);
        const auto first = [&](const char* start) {
            return make("hill-climbing", problem, {{"start", text(start)}}, 1, {given})->ask(1).front();
        };
        QCOMPARE(make("hill-climbing", problem, {}, 1, {given})->ask(1).front(), given);
        QCOMPARE(first("given"), given);
        QCOMPARE(first("single-device"), Placement(problem->groups, 0));
        QVERIFY(first("random") != given && first("random") != Placement(problem->groups, 0));
    }

    void wrong_options_are_refused() {
        const ProblemPtr problem = test::problem(test::chain(3), test::uniform_machine(2));
        for (const AlgorithmInfo& info : algorithms()) {
            const QString message = error_of<OptionError>([&] {
                info.make({problem, 1, {}}, {{"colour", true}});
            });
            QVERIFY2(message.startsWith("unknown option \"colour\", known are "), qPrintable(message));
        }
        QCOMPARE(error_of<OptionError>([&] {
                     make("genetic", problem, {{"mutation_rate", whole(7)}});
                 }),
                 "mutation_rate = 7 is out of range, expected 0 to 1");
        QCOMPARE(error_of<OptionError>([&] {
                     make("genetic", problem, {{"elite_size", whole(50)}});
                 }),
                 "elite_size = 50 is out of range, expected less than population_size = 50");
        QCOMPARE(error_of<OptionError>([&] {
                     make("genetic", problem, {{"min_mutation_rate", 0.95}});
                 }),
                 "min_mutation_rate = 0.95 is out of range, expected at most max_mutation_rate = 0.9");
        QCOMPARE(error_of<OptionError>([&] {
                     make("expert", problem, {{"main_device", whole(2)}});
                 }),
                 "main_device = 2 is out of range, the machine has 2 devices");
    }

    void same_seed_same_answer_data() { add_variants(); }

    void same_seed_same_answer() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        std::set<Placement> different;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const ProblemPtr problem = constrained_problem(5);
            const SearchResult expected = search(tested.id, problem, 400, tested.values, seed);
            QVERIFY(expected.progress.best_placement);
            different.insert(*expected.progress.best_placement);
            for (const unsigned threads : {1U, 2U, 3U}) {
                const SearchResult result = search(tested.id, problem, 400, tested.values, seed, threads);
                QCOMPARE(result.end, expected.end);
                QCOMPARE(result.progress.evaluations, expected.progress.evaluations);
                // With several threads, some of what is proposed ahead is simulated in vain.
                QVERIFY(result.progress.simulations >= expected.progress.simulations);
                if (threads == 1) QCOMPARE(result.progress.simulations, expected.progress.simulations);
                QVERIFY(result.progress.best == expected.progress.best);
                QCOMPARE(*result.progress.best_placement, *expected.progress.best_placement);
                const auto& curve = *result.progress.curve;
                QCOMPARE(curve.size(), expected.progress.curve->size());
                for (std::size_t i = 0; i < curve.size(); ++i) {
                    CurvePoint point = curve[i];
                    point.seconds = (*expected.progress.curve)[i].seconds;
                    QVERIFY(point == (*expected.progress.curve)[i]);
                }
            }
        }
        if (tested.id == "random") QCOMPARE(different.size(), std::size_t{3});
    }

    void proposals_are_allowed_and_few_data() { add_variants(); }

    void proposals_are_allowed_and_few() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            const ProblemPtr problem = constrained_problem(seed);
            const bool allow_cpu = tested.values.contains("allow_cpu");
            const DeviceChoices choices(problem, allow_cpu);
            const auto optimizer = make(tested.id, problem, tested.values, seed);
            Simulator simulator(problem);
            Random random(seed);
            std::size_t proposed = 0;
            for (int round = 0; round < 60; ++round) {
                const std::size_t limit = 1 + random.index(20);
                const auto batch = optimizer->ask(limit);
                if (batch.empty()) break;
                QVERIFY(batch.size() <= limit);
                proposed += batch.size();
                std::vector<Score> scores;
                for (const Placement& placement : batch) {
                    check_placement(*problem, placement);
                    for (GroupId group = 0; group < placement.size(); ++group) {
                        QVERIFY2(choices.allows(group, placement[group]) || tested.values.contains("start"),
                                 "a device that was to be left out");
                    }
                    scores.push_back(MemoryPenalty().score(*problem, simulator.run(placement)));
                }
                optimizer->tell(scores);
            }
            QVERIFY(proposed >= 1);
        }
    }

    void single_gene_and_single_device_work_data() { add_variants(); }

    void single_gene_and_single_device_work() {
        QFETCH(QString, variant);
        Variant tested = variants().at(variant.toStdString());
        tested.values.erase("main_device");
        for (const auto& problem : {test::problem(test::chain(1), test::uniform_machine(1)),
                                    test::problem(test::chain(1), test::uniform_machine(3)),
                                    test::problem(test::chain(4), test::uniform_machine(1))}) {
            const SearchResult result = search(tested.id, problem, 100, tested.values);
            QCOMPARE(result.progress.best.penalised_s, optimum_s(problem));
            QVERIFY(result.progress.evaluations <= 100);
        }
    }

    void seeds_are_proposed_first_data() {
        QTest::addColumn<QString>("id");
        for (const char* id : {"hill-climbing", "genetic", "map-elites"}) QTest::newRow(id) << id;
    }

    void seeds_are_proposed_first() {
        QFETCH(QString, id);
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        const Placement seed{0, 1, 2, 0, 1, 2, 0, 1, 2};
        QCOMPARE(make(id.toStdString(), problem, {}, 1, {seed})->ask(10).front(), seed);
        QVERIFY_THROWS_EXCEPTION(PlacementError, make(id.toStdString(), problem, {}, 1, {Placement(8, 0)}));
        QVERIFY_THROWS_EXCEPTION(PlacementError, make(id.toStdString(), problem, {}, 1, {Placement(9, 3)}));
    }

    void choices_leave_out_cpus() {
        const ProblemPtr problem = constrained_problem(1);
        const DeviceChoices without(problem, false), with(problem, true);
        const auto devices_of = [&](const DeviceChoices& choices, const std::string& op) {
            const auto devices = choices.of(group_of(*problem, op));
            return std::vector<DeviceId>(devices.begin(), devices.end());
        };
        QCOMPARE(devices_of(without, "op0"), (std::vector<DeviceId>{0}));
        QCOMPARE(devices_of(without, "op1"), (std::vector<DeviceId>{1, 2, 3}));
        QCOMPARE(devices_of(without, "op7"), (std::vector<DeviceId>{1}));
        QCOMPARE(devices_of(with, "op1"), (std::vector<DeviceId>{0, 1, 2, 3}));
        QCOMPARE(devices_of(with, "op7"), (std::vector<DeviceId>{0, 1}));
        QCOMPARE(without.movable().size(), std::size_t{27});
        QCOMPARE(with.movable().size(), std::size_t{28});

        const DeviceChoices only_cpu(test::problem(test::chain(3), machine_with_cpu(0)), false);
        QCOMPARE(only_cpu.devices().size(), std::size_t{1});
        QCOMPARE(only_cpu.devices()[0], DeviceId{0});
    }

    void single_devices_come_fastest_first() {
        const ProblemPtr problem = test::problem(test::chain(5), machine_with_cpu(2));
        const auto optimizer = make("single-device", problem, {{"allow_cpu", true}});
        const auto batch = optimizer->ask(10);
        QCOMPARE(std::vector<Placement>(batch.begin(), batch.end()),
                 (std::vector<Placement>{Placement(5, 1), Placement(5, 2), Placement(5, 0)}));
        QCOMPARE(batch.front(), single_device_placement(*problem));
        optimizer->tell(std::vector<Score>(3));
        QVERIFY(optimizer->ask(10).empty());
        QCOMPARE(make("single-device", problem)->ask(10).size(), std::size_t{2});
        // An op that must be on the CPU does not add the CPU to the devices to try.
        QCOMPARE(make("single-device", constrained_problem(1))->ask(10).size(), std::size_t{3});
    }

    void random_does_not_depend_on_its_batches() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(4));
        const SearchResult small = search("random", problem, 300, {{"batch_size", whole(1)}});
        const SearchResult large = search("random", problem, 300, {{"batch_size", whole(128)}});
        QCOMPARE(*small.progress.best_placement, *large.progress.best_placement);
    }

    void optimum_of_small_graphs_is_found_data() {
        QTest::addColumn<QString>("variant");
        for (const char* name : {"auto", "auto quick turns", "steepest", "steepest random", "hill equal",
                                 "genetic", "genetic odd", "genetic tournament", "genetic exponential",
                                 "map-elites", "map-elites random"}) {
            QTest::newRow(name) << name;
        }
    }

    void optimum_of_small_graphs_is_found() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const ProblemPtr problem =
                test::problem(test::random_graph(seed, 7, 2, Training::implicit), test::uniform_machine(3));
            const SearchResult result = search(tested.id, problem, 6000, tested.values, seed);
            QCOMPARE(result.progress.best.penalised_s, optimum_s(problem));
            QCOMPARE(seconds_of(problem, *result.progress.best_placement), result.progress.best.penalised_s);
        }
    }

    void steepest_stops_in_a_local_optimum() {
        const ProblemPtr problem = test::problem(test::random_graph(3, 12, 2), test::uniform_machine(3));
        const SearchResult result = search("hill-climbing", problem, 100'000,
                                           {{"neighbourhood", text("steepest")},
                                            {"merge_moves", 0.0},
                                            {"start", text("random")},
                                            {"restarts", whole(0)}});
        QCOMPARE(result.end, SearchEnd::exhausted);
        // The start and complete rounds of 12 * 2 moves.
        QCOMPARE(result.progress.evaluations % 24, std::uint64_t{1});
        QVERIFY(result.progress.evaluations > 25);
        for (std::size_t group = 0; group < 12; ++group) {
            for (DeviceId device = 0; device < 3; ++device) {
                Placement moved = *result.progress.best_placement;
                moved[group] = device;
                QVERIFY(seconds_of(problem, moved) >= result.progress.best.penalised_s);
            }
        }
    }

    void steepest_takes_the_best_move() {
        const ProblemPtr problem = test::problem(test::chain(4), test::uniform_machine(2));
        const auto optimizer = make("hill-climbing", problem, {{"neighbourhood", text("steepest")}});
        QCOMPARE(optimizer->ask(10).size(), std::size_t{1});
        optimizer->tell(std::vector<Score>{{9, 9, true}});
        QCOMPARE(optimizer->ask(3).size(), std::size_t{3});
        optimizer->tell(std::vector<Score>{{8, 8, true}, {5, 5, true}, {7, 7, true}});
        QCOMPARE(optimizer->ask(3).size(), std::size_t{1});
        optimizer->tell(std::vector<Score>{{5, 5, true}});
        // Group 1 was moved; the next round begins with moves of group 0 in addition.
        const auto batch = optimizer->ask(10);
        QCOMPARE(batch.size(), std::size_t{4});
        QCOMPARE(batch[0], (Placement{1, 1, 0, 0}));
        QCOMPARE(batch[1], (Placement{0, 0, 0, 0}));
        QCOMPARE(batch[3], (Placement{0, 1, 0, 1}));
    }

    void random_climbing_moves_only_when_better_data() {
        QTest::addColumn<bool>("accept_equal");
        QTest::addColumn<double>("score");
        QTest::addColumn<bool>("moves");
        QTest::newRow("better") << false << 4.0 << true;
        QTest::newRow("equal") << false << 5.0 << false;
        QTest::newRow("equal accepted") << true << 5.0 << true;
        QTest::newRow("worse") << true << 6.0 << false;
    }

    void random_climbing_moves_only_when_better() {
        QFETCH(bool, accept_equal);
        QFETCH(double, score);
        QFETCH(bool, moves);
        const ProblemPtr problem = test::problem(test::chain(20), test::uniform_machine(4));
        const auto optimizer =
            make("hill-climbing", problem, {{"accept_equal", accept_equal}, {"merge_moves", 0.0}});
        const Placement start = optimizer->ask(1).front();
        optimizer->tell(std::vector<Score>{{5, 5, true}});
        const Placement tried = optimizer->ask(1).front();
        QVERIFY(tried != start);
        optimizer->tell(std::vector<Score>{{score, score, true}});
        const Placement next = optimizer->ask(1).front();
        const Placement& from = moves ? tried : start;
        QCOMPARE(std::inner_product(next.begin(), next.end(), from.begin(), 0, std::plus<>(),
                                    std::not_equal_to<>()),
                 1);
    }

    void stuck_climbs_start_anew() {
        const ProblemPtr problem = test::problem(test::chain(20), test::uniform_machine(4));
        const auto optimizer =
            make("hill-climbing", problem, {{"patience", whole(3)}, {"restarts", whole(1)}});
        const std::vector<Score> same{{5, 5, true}};
        std::vector<Placement> proposed;
        while (true) {
            const auto batch = optimizer->ask(4);
            if (batch.empty()) break;
            proposed.push_back(batch.front());
            optimizer->tell(same);
        }
        // Two climbs of a start and three moves.
        QCOMPARE(proposed.size(), std::size_t{8});
        QCOMPARE(proposed[0], Placement(20, 0));
        QVERIFY(std::set<DeviceId>(proposed[4].begin(), proposed[4].end()).size() > 2);
    }
};

QTEST_GUILESS_MAIN(TestAlgorithms)
#include "tst_algorithms.moc"
