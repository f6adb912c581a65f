// SPDX-License-Identifier: MIT
// Rules that a person sets: every search obeys them, and finds what is best among what they leave.
#include <algorithm>
#include <cmath>
#include <set>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/cost/problem_fingerprint.hpp"
#include "core/search/algorithms/refinement.hpp"
#include "core/search/single_moves.hpp"
#include "core/sim/max_load.hpp"
#include "tests/support/constrained_problem.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"
#include "tests/support/placements.hpp"

using namespace placewright;
using test::error_of, test::group_of, test::ProblemPtr;

namespace {

using Rule = Constraint::Rule;

Constraint rule(Rule kind, const std::vector<std::string>& ops, std::vector<std::string> devices = {}) {
    Constraint constraint{kind, {}, std::move(devices)};
    for (const std::string& op : ops) constraint.members.push_back({op, false});
    return constraint;
}

ProblemPtr under(const Graph& graph, const Machine& machine, std::vector<Constraint> rules,
                 GroupingOptions grouping = {}) {
    ProblemOptions options;
    options.constraints.rules = std::move(rules);
    options.grouping = grouping;
    return test::problem(graph, machine, options);
}

/// Whether a placement obeys the rules, by nothing but the names of ops and devices.
bool keeps(const Problem& problem, const std::vector<Constraint>& rules, const Placement& placement) {
    const auto devices_of = [&](const Constraint::Member& member) {
        std::set<std::string> devices;
        for (OpId op = 0; op < problem.ops; ++op) {
            const Op& each = problem.graph->op(op);
            const bool is_member =
                member.is_module ? each.scope == member.name || each.scope.starts_with(member.name + "/")
                                 : each.name == member.name;
            if (is_member)
                devices.insert(problem.machine->device(placement[problem.grouping.group_of[op]]).name);
        }
        return devices;
    };
    for (const Constraint& each : rules) {
        std::set<std::string> all;
        std::size_t sum = 0;
        for (const Constraint::Member& member : each.members) {
            const auto devices = devices_of(member);
            sum += devices.size();
            all.insert(devices.begin(), devices.end());
        }
        if (each.rule == Rule::pin && std::ranges::any_of(all, [&](const std::string& device) {
                return std::ranges::find(each.devices, device) == each.devices.end();
            }))
            return false;
        if (each.rule == Rule::together && all.size() != 1) return false;
        if (each.rule == Rule::apart && all.size() != sum) return false;
    }
    return true;
}

/// Least step time of all placements that obey.
double optimum_s(const ProblemPtr& problem, const std::vector<Constraint>& rules) {
    Simulator simulator(problem);
    double best_s = kInfinity;
    test::for_each_placement(*problem, [&](const Placement& placement) {
        if (!keeps(*problem, rules, placement)) return;
        best_s = std::min(best_s, MemoryPenalty().score(*problem, simulator.run(placement)).penalised_s);
    });
    return best_s;
}

/// Rules over "op0" to "op6" that some placement on three devices obeys; which, depends on the seed.
std::vector<Constraint> some_rules(std::uint64_t seed) {
    std::vector<Constraint> rules{rule(Rule::apart, {"op1", "op4", "op5"})};
    if (seed % 2 == 0) rules.push_back(rule(Rule::pin, {"op1", "op2"}, {"gpu:1", "gpu:2"}));
    if (seed % 3 == 0) rules.push_back(rule(Rule::together, {"op2", "op4"}));
    if (seed % 4 == 1) rules.push_back(rule(Rule::apart, {"op0", "op6"}));
    return rules;
}

/// A step time of the graph is not that of its scopes: modules are named after the ops' numbers.
Graph with_modules(const Graph& graph, const std::vector<std::string>& scopes) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (OpId op = 0; op < graph.size(); ++op) {
        std::vector<std::string> inputs;
        for (const TensorRef& input : graph.op(op).inputs)
            inputs.push_back(graph.op(input.op).name + ":" + std::to_string(input.output));
        Op copy = graph.op(op);
        copy.scope = scopes[op];
        builder.add(copy, inputs);
    }
    return builder.build();
}

}  // namespace

class TestConstraints : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_search_obeys_data() {
        QTest::addColumn<QString>("id");
        for (const AlgorithmInfo& info : algorithms())
            QTest::newRow(info.id.c_str()) << QString::fromStdString(info.id);
    }
    void every_search_obeys() {
        QFETCH(QString, id);
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const auto rules = some_rules(seed);
            const ProblemPtr problem =
                under(test::random_graph(seed, 7, 2, Training::implicit), test::uniform_machine(3), rules);
            const double optimum = optimum_s(problem, rules);
            const auto optimizer = test::make(id.toStdString(), problem, {}, seed);
            Simulator simulator(problem);
            double best_s = kInfinity;
            for (std::size_t proposed = 0; proposed < 120;) {
                const auto batch = optimizer->ask(20);
                if (batch.empty()) break;
                std::vector<Score> scores;
                for (const Placement& placement : batch) {
                    QVERIFY(keeps(*problem, rules, placement));
                    scores.push_back(MemoryPenalty().score(*problem, simulator.run(placement)));
                    best_s = std::min(best_s, scores.back().penalised_s);
                }
                proposed += batch.size();
                optimizer->tell(scores);
                if (const auto archive = optimizer->archive()) {
                    for (const auto& elite : archive->elites)
                        QVERIFY(!elite.placement || keeps(*problem, rules, *elite.placement));
                }
            }
            QVERIFY(best_s >= optimum && best_s < kInfinity);
            QVERIFY(optimizer->lower_bound_s() <= optimum * (1 + 1e-9));
        }
    }

    void the_best_that_obeys_is_found_data() {
        QTest::addColumn<QString>("id");
        for (const char* id : {"auto", "hill-climbing", "genetic", "map-elites"}) QTest::newRow(id) << id;
    }
    void the_best_that_obeys_is_found() {
        QFETCH(QString, id);
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const auto rules = some_rules(seed);
            const ProblemPtr problem =
                under(test::random_graph(seed, 7, 2, Training::implicit), test::uniform_machine(3), rules);
            const SearchResult result = test::search(id.toStdString(), problem, 6000, {}, seed);
            QCOMPARE(result.progress.best.penalised_s, optimum_s(problem, rules));
            QVERIFY(keeps(*problem, rules, *result.progress.best_placement));
        }
    }

    /// Branch and cut on the max load is exact.
    void integer_program_finds_the_optimum() {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            const auto rules = some_rules(seed);
            const ProblemPtr problem =
                under(test::random_graph(seed, 7, 2), test::machine_with_cpu(3), rules);
            const Objective& objective = *find_objective("max-load");
            double optimum = kInfinity;
            test::for_each_placement(*problem, [&](const Placement& placement) {
                if (keeps(*problem, rules, placement))
                    optimum = std::min(optimum, objective.evaluate(*problem, placement).seconds);
            });
            SearchContext context{problem, seed, {}};
            context.objective = &objective;
            const auto optimizer = find_algorithm("milp")->make(context, {});
            const auto evaluator = objective_evaluator(problem, objective, {}, {}, 1);
            const SearchResult result = run_search(*optimizer, *evaluator, {10'000});
            QVERIFY(keeps(*problem, rules, *result.progress.best_placement));
            QCOMPARE(result.progress.best.value_s, optimum);
            QVERIFY(result.progress.lower_bound_s <= optimum);
            QVERIFY(result.progress.lower_bound_s >= optimum * (1 - 1e-6));
        }
    }

    /// What obeys stays as it is; what does not is mended with the devices that its groups allow.
    void repair_is_exact() {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const auto rules = some_rules(seed);
            const ProblemPtr problem = under(test::random_graph(seed, 7, 2), test::uniform_machine(3), rules);
            bool any = false, all = true;
            test::for_each_placement(*problem, [&](const Placement& placement) {
                const bool keeps_rules = keeps(*problem, rules, placement);
                any |= keeps_rules;
                all &= keeps_rules;
                const Placement mended = obeying(*problem, placement);
                QCOMPARE(broken_rule(*problem, placement).empty(), keeps_rules);
                QCOMPARE(mended == placement, keeps_rules);
                QVERIFY(keeps(*problem, rules, mended));
                check_placement(*problem, mended);
            });
            QVERIFY(any && !all);
        }
    }

    /// A greedy repair gets stuck here: op0 stays on gpu:0, and op1 may be nowhere else.
    void repair_leaves_dead_ends() {
        const std::vector<Constraint> rules{rule(Rule::apart, {"op0", "op1", "op2"}),
                                            rule(Rule::pin, {"op1"}, {"gpu:0"}),
                                            rule(Rule::pin, {"op2"}, {"gpu:0", "gpu:1"})};
        const ProblemPtr problem = under(test::chain(3), test::uniform_machine(3), rules);
        QCOMPARE(obeying(*problem, {0, 0, 0}), (Placement{2, 0, 1}));
    }

    void modules_are_meant_with_all_in_them() {
        const Graph graph =
            with_modules(test::random_graph(3, 6, 2, Training::implicit), {"a", "a/x", "ab", "b/y", "b", ""});
        std::vector<Constraint> rules{{Rule::pin, {{"a", true}}, {"gpu:1"}},
                                      {Rule::apart, {{"a", true}, {"b", true}}, {}},
                                      {Rule::together, {{"b", true}, {"op2", false}}, {}}};
        const ProblemPtr problem = under(graph, test::uniform_machine(2), rules);
        // "ab" is no part of "a"; b is with op2, and not where a is.
        const Placement placement = single_device_placement(*problem, 1);
        QCOMPARE(placement[group_of(*problem, "op0")], DeviceId{1});
        QCOMPARE(placement[group_of(*problem, "op1")], DeviceId{1});
        QCOMPARE(placement[group_of(*problem, "op2")], DeviceId{0});
        QCOMPARE(placement[group_of(*problem, "op3")], DeviceId{0});
        QCOMPARE(placement[group_of(*problem, "op5")], DeviceId{1});
        QVERIFY(keeps(*problem, rules, placement));
    }

    void groups_keep_rules() {
        const Graph graph =
            with_modules(test::chain(6, 1e9, 1'000'000, Training::implicit), {"m", "m", "m", "n", "n", "n"});
        const std::vector<Constraint> rules{rule(Rule::apart, {"op0", "op2"}),
                                            rule(Rule::together, {"op1", "op4"})};
        for (const GroupingRule grouping :
             {GroupingRule::colocation, GroupingRule::scope, GroupingRule::merge}) {
            const ProblemPtr problem =
                under(graph, test::uniform_machine(3), rules, {.rule = grouping, .merge_groups = 2});
            QVERIFY(group_of(*problem, "op0") != group_of(*problem, "op2"));
            QCOMPARE(group_of(*problem, "op1"), group_of(*problem, "op4"));
            QVERIFY(keeps(*problem, rules, single_device_placement(*problem)));
            QVERIFY(ungrouped(*problem)->groups >= problem->groups);
            QVERIFY(!ungrouped(*problem)->apart.empty());
        }
    }

    /// Single ops would gain most where all others are, which the rule forbids.
    void refinement_obeys() {
        const std::vector<Constraint> rules{rule(Rule::apart, {"op0", "op5"})};
        const ProblemPtr grouped = under(test::chain(6, 1e9, 1'000'000'000), test::uniform_machine(3), rules,
                                         {.rule = GroupingRule::merge, .merge_groups = 3});
        const ProblemPtr finest = ungrouped(*grouped);
        const SearchResult found = test::search("random", grouped, 20);
        const Placement start = regrouped(*found.progress.best_placement, *grouped, *finest);
        const auto evaluator = simulation_evaluator(finest, {}, {}, 1);
        const SearchResult refined = refine(found, finest, start, *evaluator, {500}, 1, false);
        QVERIFY(keeps(*finest, rules, *refined.progress.best_placement));
        QCOMPARE(refined.progress.best.penalised_s, optimum_s(finest, rules));
    }

    void single_moves_obey() {
        const std::vector<Constraint> rules{rule(Rule::apart, {"op0", "op1"})};
        const ProblemPtr problem = under(test::chain(3), test::uniform_machine(2), rules);
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const auto moves = single_moves(*evaluator, *problem, {0, 1, 0});
        QCOMPARE(moves->moves.size(), std::size_t{1});
        QCOMPARE(moves->moves.front().group, GroupId{2});
    }

    void scores_belong_to_their_rules() {
        const auto print = [](std::vector<Constraint> rules) {
            return problem_fingerprint(*under(test::chain(3), test::uniform_machine(2), std::move(rules)));
        };
        QVERIFY(print({}) != print({rule(Rule::apart, {"op0", "op1"})}));
        QVERIFY(print({rule(Rule::apart, {"op0", "op2"})}) != print({rule(Rule::apart, {"op0", "op1"})}));
        QVERIFY(print({}) != print({rule(Rule::pin, {"op0"}, {"gpu:0"})}));
    }

    void contradictions_are_named_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("message");
        QTest::newRow("unknown op")
            << 0
            << R"(rule 1 (pin "nothing" to gpu:0): network "chain" has no op "nothing"; correct the name )"
               "or remove the rule";
        QTest::newRow("unknown device")
            << 1
            << R"(rule 2 (pin "op1" to gpu:7): machine "uniform" has no device "gpu:7"; name one of its )"
               "devices or remove the rule";
        QTest::newRow("unknown module")
            << 2
            << R"(rule 1 (keep module "m" and "op1" apart): network "chain" has no module "m"; correct )"
               "the path or remove the rule";
        QTest::newRow("two pins")
            << 3
            << R"(rule 1 (pin "op0" to gpu:0) and rule 3 (pin "op0" to gpu:1) contradict each other: op )"
               R"("op0" may not run on any device of machine "uniform" together with the ops that it )"
               "shares a device with; remove or loosen one";
        QTest::newRow("together and apart")
            << 4
            << R"(rule 2 (keep "op0" and "op1" together) and rule 3 (keep "op0" and "op1" apart) )"
               R"(contradict each other: op "op0" and others share a device that are to be kept apart; )"
               "remove or loosen one";
        QTest::newRow("too few devices")
            << 5
            << R"(rule 1 (keep "op0", "op1" and "op2" apart) can be obeyed by no placement: no placement )"
               "was found that keeps apart all that is to be; remove or loosen it";
    }
    void contradictions_are_named() {
        QFETCH(int, which);
        QFETCH(QString, message);
        const std::vector<std::vector<Constraint>> cases{
            {rule(Rule::pin, {"nothing"}, {"gpu:0"})},
            {rule(Rule::pin, {"op0"}, {"gpu:0"}), rule(Rule::pin, {"op1"}, {"gpu:7"})},
            {{Rule::apart, {{"m", true}, {"op1", false}}, {}}},
            {rule(Rule::pin, {"op0"}, {"gpu:0"}), rule(Rule::together, {"op1", "op2"}),
             rule(Rule::pin, {"op0"}, {"gpu:1"})},
            {rule(Rule::pin, {"op0"}, {"gpu:0"}), rule(Rule::together, {"op0", "op1"}),
             rule(Rule::apart, {"op0", "op1"})},
            {rule(Rule::apart, {"op0", "op1", "op2"})},
        };
        QCOMPARE(error_of<ConstraintError>([&] {
                     under(test::chain(4), test::uniform_machine(2), cases[static_cast<std::size_t>(which)]);
                 }),
                 message);
    }

    /// More parts than devices: proving it device by device would take 16! steps.
    void too_many_parts_are_refused_soon() {
        std::vector<std::string> ops;
        for (int op = 0; op < 17; ++op) ops.push_back("op" + std::to_string(op));
        QVERIFY(!error_of<ConstraintError>([&] {
                     under(test::chain(20), test::uniform_machine(16), {rule(Rule::apart, ops)});
                 }).isEmpty());
    }

    void broken_placements_are_refused() {
        const ProblemPtr problem =
            under(test::chain(3), test::uniform_machine(2), {rule(Rule::apart, {"op0", "op1"})});
        QCOMPARE(error_of<PlacementError>([&] {
                     check_placement(*problem, Placement{0, 0, 1});
                 }),
                 R"(the placement breaks the rule "keep "op0" and "op1" apart")");
    }
};

QTEST_GUILESS_MAIN(TestConstraints)
#include "tst_constraints.moc"
