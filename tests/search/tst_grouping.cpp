// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <QTemporaryDir>
#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/search/algorithms/refinement.hpp"
#include "core/search/single_moves.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

using ProblemPtr = std::shared_ptr<const Problem>;
using Groups = std::set<std::set<std::string>>;

Op op_of(const std::string& name, std::int64_t bytes = 1000, const std::string& scope = {}) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    op.flops = 1e9;
    op.scope = scope;
    Tensor output;
    output.bytes = bytes;
    op.outputs = {output};
    return op;
}

/// Names of the forward ops of each group.
Groups names(const Graph& graph, const Grouping& grouping) {
    Groups groups;
    for (const auto& members : grouping.members) {
        std::set<std::string> group;
        for (const OpId op : members) {
            if (graph.op(op).forward_op == kInvalidOp) group.insert(graph.op(op).name);
        }
        groups.insert(group);
    }
    return groups;
}

GroupingOptions rule_of(GroupingRule rule) {
    GroupingOptions options;
    options.rule = rule;
    return options;
}

GroupingOptions merged_to(std::uint32_t groups) {
    GroupingOptions options = rule_of(GroupingRule::merge);
    options.merge_groups = groups;
    return options;
}

std::vector<GroupingOptions> all_options() {
    std::vector<GroupingOptions> all{rule_of(GroupingRule::none),
                                     rule_of(GroupingRule::colocation),
                                     rule_of(GroupingRule::scope),
                                     merged_to(1),
                                     merged_to(5),
                                     merged_to(12)};
    GroupingOptions deep = rule_of(GroupingRule::scope);
    deep.scope_depth = 2;
    GroupingOptions below = rule_of(GroupingRule::merge);
    below.merge_below_bytes = 5'000'000;
    all.insert(all.end(), {deep, below});
    return all;
}

/// Random networks with scopes; in every other one, ops have device constraints.
Graph varied(std::uint64_t seed, std::size_t ops, const Machine& machine,
             Training training = Training::implicit) {
    Random random(seed);
    const Graph plain = test::random_network(seed, ops, 3, training);
    GraphBuilder builder("varied", 1, training);
    for (Op op : plain.ops()) {
        if (random.chance(0.8))
            op.scope = "outer" + std::to_string(random.index(3)) + "/inner" +
                       std::to_string(random.index(2)) + "/" + op.name;
        if (seed % 2 == 0 && op.colocate.empty() && random.chance(0.4)) {
            for (const Device& device : machine.devices()) {
                if (random.chance(0.5)) op.devices.push_back(device.name);
            }
        }
        builder.add(op);
    }
    return builder.build();
}

ProblemPtr grouped(Graph graph, Machine machine, const GroupingOptions& grouping) {
    ProblemOptions options;
    options.grouping = grouping;
    return test::problem(std::move(graph), std::move(machine), options);
}

/// Whether groups depend on each other in a cycle, by the inputs of non-derived ops.
bool has_cycle(const Graph& graph, const Grouping& grouping) {
    std::vector<std::set<GroupId>> after(grouping.size());
    std::vector<std::size_t> missing(grouping.size(), 0);
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).forward_op != kInvalidOp) continue;
        for (const OpId producer : graph.producers(op)) {
            const GroupId from = grouping.group_of[producer];
            const GroupId to = grouping.group_of[op];
            if (from != to && after[from].insert(to).second) ++missing[to];
        }
    }
    std::vector<GroupId> open;
    for (GroupId group = 0; group < grouping.size(); ++group) {
        if (missing[group] == 0) open.push_back(group);
    }
    std::size_t done = 0;
    while (!open.empty()) {
        const GroupId group = open.back();
        open.pop_back();
        ++done;
        for (const GroupId next : after[group]) {
            if (--missing[next] == 0) open.push_back(next);
        }
    }
    return done < grouping.size();
}

using test::random_placement;

}  // namespace

class TestGrouping : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void rules_have_names() {
        for (const GroupingRule rule :
             {GroupingRule::none, GroupingRule::colocation, GroupingRule::scope, GroupingRule::merge})
            QCOMPARE(grouping_rule_from(to_string(rule)), std::optional(rule));
        QVERIFY(!grouping_rule_from("Merge"));
    }

    // --- cases with known answers ---

    void single_readers_take_their_producers() {
        const GroupingOptions colocation = rule_of(GroupingRule::colocation);
        const Graph chain = test::chain(5);
        QCOMPARE(group_ops(chain, colocation).size(), std::size_t{1});
        const Graph fork = test::fork_join(3);
        QCOMPARE(names(fork, group_ops(fork, colocation)),
                 (Groups{{"source"}, {"branch0", "branch1", "branch2", "sink"}}));
        // Two readers of one output, two readers of two outputs, and one op that reads two outputs.
        GraphBuilder builder("readers", 1, Training::none);
        Op two = op_of("two");
        two.outputs.push_back(two.outputs[0]);
        builder.add(two, {});
        builder.add(op_of("left"), {"two:0"});
        builder.add(op_of("right"), {"two:1"});
        builder.add(op_of("both"), {"left", "right"});
        Op pair = op_of("pair");
        pair.outputs.push_back(pair.outputs[0]);
        builder.add(pair, {"both"});
        builder.add(op_of("end"), {"pair:0", "pair:1"});
        const Graph graph = builder.build();
        QCOMPARE(names(graph, group_ops(graph, colocation)),
                 (Groups{{"two"}, {"left", "right", "both", "pair", "end"}}));
    }

    /// In training, backward ops read outputs too, but the rule does not count them as readers.
    void derived_ops_are_no_readers() {
        GraphBuilder builder("trained", 1, Training::implicit);
        for (const std::string name : {"a", "b", "c"}) {
            Op op = op_of(name);
            op.parameter_bytes = 1000;
            builder.add(op, name == "a" ? std::vector<std::string>{} : std::vector<std::string>{"a"});
        }
        const ProblemPtr problem =
            grouped(builder.build(), test::uniform_machine(2), rule_of(GroupingRule::colocation));
        QVERIFY(problem->ops > 3);
        QCOMPARE(names(*problem->graph, problem->grouping), (Groups{{"a"}, {"b"}, {"c"}}));
    }

    /// As in TensorFlow: the update of a variable is colocated with the variable.
    void updates_go_with_their_parameters() {
        GraphBuilder builder("explicit", 1, Training::explicit_);
        Op weight = op_of("weight");
        weight.kind = "parameter";
        weight.parameter_bytes = 1000;
        builder.add(weight, {});
        builder.add(op_of("x"), {});
        builder.add(op_of("y"), {"x", "weight"});
        Op gradient = op_of("gradient");
        gradient.phase = Phase::backward;
        builder.add(gradient, {"x", "y", "weight"});
        Op update = op_of("update");
        update.phase = Phase::update;
        builder.add(update, {"gradient", "weight"});
        const Graph graph = builder.build();
        QCOMPARE(group_ops(graph, {}).size(), std::size_t{5});
        QCOMPARE(names(graph, group_ops(graph, rule_of(GroupingRule::colocation))),
                 (Groups{{"weight", "update", "gradient", "y"}, {"x"}}));
    }

    void modules_stay_together() {
        GraphBuilder builder("modules", 1, Training::none);
        builder.add(op_of("a", 1, "m/a/x"), {});
        builder.add(op_of("b", 1, "m/a/y"), {"a"});
        builder.add(op_of("c", 1, "m/b"), {"b"});
        builder.add(op_of("d", 1, "n"), {"c"});
        builder.add(op_of("e", 1, "mm/a"), {"d"});
        builder.add(op_of("f"), {"e"});
        builder.add(op_of("g"), {"f"});
        const Graph graph = builder.build();
        GroupingOptions options = rule_of(GroupingRule::scope);
        QCOMPARE(names(graph, group_ops(graph, options)),
                 (Groups{{"a", "b", "c"}, {"d"}, {"e"}, {"f"}, {"g"}}));
        options.scope_depth = 2;
        QCOMPARE(names(graph, group_ops(graph, options)),
                 (Groups{{"a", "b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"}}));
        options.scope_depth = 9;
        QCOMPARE(group_ops(graph, options).size(), graph.size());
    }

    void smallest_outputs_join_first() {
        GraphBuilder builder("sizes", 1, Training::none);
        builder.add(op_of("a", 10), {});
        builder.add(op_of("b", 1), {"a"});
        builder.add(op_of("c", 5), {"b"});
        builder.add(op_of("d", 20), {"c"});
        const Graph graph = builder.build();
        QCOMPARE(names(graph, group_ops(graph, merged_to(3))), (Groups{{"a", "b"}, {"c"}, {"d"}}));
        QCOMPARE(names(graph, group_ops(graph, merged_to(2))), (Groups{{"a", "b"}, {"c", "d"}}));
        QCOMPARE(group_ops(graph, merged_to(1)).size(), std::size_t{1});
        QCOMPARE(group_ops(graph, merged_to(9)).size(), std::size_t{4});
        GroupingOptions below = rule_of(GroupingRule::merge);
        below.merge_below_bytes = 2;
        QCOMPARE(names(graph, group_ops(graph, below)), (Groups{{"a", "b"}, {"c"}, {"d"}}));
        below.merge_below_bytes = 6;
        QCOMPARE(names(graph, group_ops(graph, below)), (Groups{{"a", "b"}, {"c", "d"}}));
    }

    /// A search for a path between groups must not follow all others to the end of the network: the test
    /// would not end in time.
    void a_large_network_is_merged() {
        const Graph graph = test::modular_network(1, 240'000);
        const Grouping grouping = group_ops(graph, merged_to(500));
        QCOMPARE(grouping.size(), std::size_t{500});
        QVERIFY(!has_cycle(graph, grouping));
    }

    /// "top" shares most bytes with "bottom", but "side" lies between them.
    void merging_closes_no_cycle() {
        GraphBuilder builder("detour", 1, Training::none);
        Op top = op_of("top", 1);
        top.outputs.push_back(top.outputs[0]);
        top.outputs[1].bytes = 5;
        builder.add(top, {});
        builder.add(op_of("side", 100), {"top:0"});
        builder.add(op_of("bottom", 200), {"top:1", "side"});
        const Graph graph = builder.build();
        QCOMPARE(names(graph, group_ops(graph, merged_to(2))), (Groups{{"top", "side"}, {"bottom"}}));
    }

    void groups_without_neighbours_join_the_one_before() {
        GraphBuilder builder("loose", 1, Training::none);
        for (const char* name : {"a", "b", "c"}) builder.add(op_of(name, name[0] == 'b' ? 1 : 10), {});
        const Graph graph = builder.build();
        QCOMPARE(names(graph, group_ops(graph, merged_to(2))), (Groups{{"a", "b"}, {"c"}}));
    }

    void devices_keep_ops_apart() {
        GraphBuilder builder("apart", 1, Training::none);
        for (const std::string name : {"a", "b", "c"}) {
            Op op = op_of(name, 10, "m");
            op.devices = {name == "b" ? "gpu:1" : "gpu:0"};
            builder.add(op, name == "a"
                                ? std::vector<std::string>{}
                                : std::vector<std::string>{std::string(1, static_cast<char>(name[0] - 1))});
        }
        const Graph graph = builder.build();
        const Machine machine = test::uniform_machine(2);
        for (const GroupingOptions& options : {rule_of(GroupingRule::colocation), merged_to(1)})
            QCOMPARE(grouped(graph, machine, options)->groups, std::uint32_t{3});
        QCOMPARE(names(graph, grouped(graph, machine, rule_of(GroupingRule::scope))->grouping),
                 (Groups{{"a", "c"}, {"b"}}));
    }

    // --- properties ---

    void groups_are_a_partition_that_keeps_what_belongs_together() {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const Machine machine = test::random_machine(seed);
            const Graph graph =
                varied(seed, 40, machine, seed % 3 == 0 ? Training::none : Training::implicit);
            const ProblemPtr finest = grouped(graph, machine, {});
            QCOMPARE(finest->grouping.members, group_by_constraints(*finest->graph).members);
            const bool had_cycle = has_cycle(*finest->graph, finest->grouping);
            const bool has_labels =
                std::ranges::any_of(graph.ops(), [](const Op& op) { return !op.colocate.empty(); });
            double total_s = 0;
            for (GroupId group = 0; group < finest->groups; ++group)
                total_s += finest->group_time_s(group, 0);

            for (const GroupingOptions& options : all_options()) {
                const ProblemPtr problem = grouped(graph, machine, options);
                const Grouping& grouping = problem->grouping;
                QCOMPARE(grouping.group_of.size(), std::size_t{problem->ops});
                std::vector<int> seen(problem->ops, 0);
                OpId last_first = 0;
                for (GroupId group = 0; group < grouping.size(); ++group) {
                    QVERIFY(!grouping.members[group].empty());
                    QVERIFY(std::ranges::is_sorted(grouping.members[group]));
                    QVERIFY(group == 0 || grouping.members[group].front() > last_first);
                    last_first = grouping.members[group].front();
                    for (const OpId op : grouping.members[group]) {
                        ++seen[op];
                        QCOMPARE(grouping.group_of[op], group);
                    }
                }
                QVERIFY(std::ranges::all_of(seen, [](int count) { return count == 1; }));
                for (const auto& members : finest->grouping.members) {
                    for (const OpId op : members)
                        QCOMPARE(grouping.group_of[op], grouping.group_of[members.front()]);
                }
                double sum_s = 0;
                for (GroupId group = 0; group < problem->groups; ++group) {
                    sum_s += problem->group_time_s(group, 0);
                    QVERIFY(!problem->allowed_devices(group).empty());
                    for (const DeviceId device : problem->allowed_devices(group)) {
                        for (const OpId op : grouping.members[group])
                            QVERIFY(std::ranges::binary_search(
                                finest->allowed_devices(finest->grouping.group_of[op]), device));
                    }
                }
                QCOMPARE(sum_s, total_s);  // sums of ticks are exact
                const bool adds_no_cycle = options.rule == GroupingRule::merge ||
                                           (options.rule == GroupingRule::colocation && !has_labels);
                if (!had_cycle && adds_no_cycle) QVERIFY(!has_cycle(*problem->graph, grouping));
                if (options.rule == GroupingRule::merge && options.merge_below_bytes == 0 && seed % 2 == 1)
                    QCOMPARE(problem->groups, std::min(options.merge_groups, finest->groups));
                QCOMPARE(grouped(graph, machine, options)->grouping.members, grouping.members);
            }
        }
    }

    /// The definition, applied until nothing changes.
    void colocation_is_what_it_is_defined_to_be() {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const Graph graph = test::random_graph(seed, 40, 2);
            std::vector<std::size_t> group(graph.size());
            std::iota(group.begin(), group.end(), std::size_t{0});
            for (bool changed = true; changed;) {
                changed = false;
                for (OpId op = 0; op < graph.size(); ++op) {
                    if (graph.consumers(op).size() != 1 || group[op] == group[graph.consumers(op)[0]])
                        continue;
                    const std::size_t from = group[op];
                    for (std::size_t& other : group) {
                        if (other == from) other = group[graph.consumers(op)[0]];
                    }
                    changed = true;
                }
            }
            const Grouping found = group_ops(graph, rule_of(GroupingRule::colocation));
            for (OpId a = 0; a < graph.size(); ++a) {
                for (OpId b = 0; b < a; ++b)
                    QCOMPARE(found.group_of[a] == found.group_of[b], group[a] == group[b]);
            }
        }
    }

    void merging_below_leaves_nothing_small() {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const Graph graph = test::random_graph(seed, 40, 2);
            GroupingOptions options = rule_of(GroupingRule::merge);
            options.merge_below_bytes = 6'000'000;
            const Grouping grouping = group_ops(graph, options);
            QVERIFY(grouping.size() > 1);
            for (const auto& members : grouping.members) {
                std::int64_t bytes = 0;
                for (const OpId op : members) {
                    for (const Tensor& output : graph.op(op).outputs) bytes += output.bytes;
                }
                QVERIFY(bytes >= options.merge_below_bytes);
            }
        }
    }

    /// Grouping only determines which ops move together.
    void groups_are_simulated_op_by_op() {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            Random random(seed);
            const Machine machine = test::random_machine(seed);
            const ProblemPtr coarse = grouped(varied(seed, 40, machine), machine,
                                              seed % 2 == 0 ? merged_to(6) : rule_of(GroupingRule::scope));
            const ProblemPtr fine = ungrouped(*coarse);
            QCOMPARE(fine->grouping.members, group_by_constraints(*fine->graph).members);
            QVERIFY(fine->groups > coarse->groups);
            for (int i = 0; i < 5; ++i) {
                const Placement placement = random_placement(*coarse, random);
                const Placement apart = regrouped(placement, *coarse, *fine);
                check_placement(*fine, apart);
                const Outcome outcome = Simulator(coarse).run(placement);
                const Outcome expected = Simulator(fine).run(apart);
                QCOMPARE(outcome.step_time_s, expected.step_time_s);
                QCOMPARE(outcome.peak_bytes, expected.peak_bytes);
                QCOMPARE(outcome.transfers, expected.transfers);
            }
        }
    }

    // --- algorithms on groups ---

    void every_algorithm_works_on_groups_data() {
        QTest::addColumn<QString>("id");
        for (const AlgorithmInfo& info : algorithms())
            QTest::newRow(info.id.c_str()) << QString::fromStdString(info.id);
    }

    void every_algorithm_works_on_groups() {
        QFETCH(QString, id);
        // Policies that read a network op by op take seconds for so many placements.
        const std::set<std::string> slow{"colocrl", "spotlight", "hierarchical", "gdp"};
        const std::vector<std::uint64_t> seeds = slow.contains(id.toStdString())
                                                     ? std::vector<std::uint64_t>{2}
                                                     : std::vector<std::uint64_t>{1, 2, 4};
        for (const GroupingOptions& options :
             {rule_of(GroupingRule::colocation), rule_of(GroupingRule::scope), merged_to(1), merged_to(7)}) {
            for (const std::uint64_t seed : seeds) {
                const Machine machine = test::random_machine(seed + 3);
                const ProblemPtr problem = grouped(varied(seed, 30, machine), machine, options);
                const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
                const auto optimizer = find_algorithm(id.toStdString())->make({problem, 1, {}}, {});
                const SearchResult result = run_search(*optimizer, *evaluator, {60});
                QVERIFY(result.progress.best_placement);
                check_placement(*problem, *result.progress.best_placement);
                const double again_s = Simulator(problem).run(*result.progress.best_placement).step_time_s;
                QCOMPARE(again_s, result.progress.best.value_s);
                if (!result.progress.archive) continue;
                for (const ArchiveView::Elite& elite : result.progress.archive->elites)
                    check_placement(*problem, *elite.placement);
            }
        }
    }

    void files_of_groups_are_read_without_them() {
        QTemporaryDir folder;
        const Path file = folder.filePath("placement.json").toStdString();
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            Random random(seed);
            const Machine machine = test::random_machine(seed);
            const ProblemPtr coarse = grouped(varied(seed, 40, machine), machine, merged_to(8));
            const ProblemPtr fine = ungrouped(*coarse);
            const Placement placement = random_placement(*coarse, random);
            write_placement(placement, *coarse, {}, file);
            QCOMPARE(read_placement(file, *coarse), placement);
            QCOMPARE(read_placement(file, *fine), regrouped(placement, *coarse, *fine));
        }
    }

    /// An explicit graph lists backward ops that are not bound to a forward op.
    void files_list_what_is_bound_to_nothing() {
        GraphBuilder builder("explicit", 1, Training::explicit_);
        builder.add(op_of("x"), {});
        builder.add(op_of("y"), {"x"});
        Op gradient = op_of("gradient");
        gradient.phase = Phase::backward;
        builder.add(gradient, {"x", "y"});
        const ProblemPtr coarse = grouped(builder.build(), test::uniform_machine(2), merged_to(1));
        QCOMPARE(placement_by_name({1}, *coarse),
                 (std::vector<std::pair<std::string, std::string>>{
                     {"x", "gpu:1"}, {"y", "gpu:1"}, {"gradient", "gpu:1"}}));
    }

    void single_ops_are_not_forced_into_groups() {
        QTemporaryDir folder;
        const Path file = folder.filePath("placement.json").toStdString();
        const Machine machine = test::uniform_machine(2);
        const ProblemPtr fine = grouped(test::chain(3), machine, {});
        write_placement({0, 1, 1}, *fine, {}, file);
        const ProblemPtr coarse = grouped(test::chain(3), machine, merged_to(2));
        QString message;
        try {
            read_placement(file, *coarse);
        } catch (const InputError& error) {
            message = error.what();
        }
        QVERIFY2(
            message.contains("ops that belong together on different devices: \"op0\" and \"op1\"; without "
                             "grouping they may be on different devices"),
            qPrintable(message));
    }

    // --- refinement ---

    void refinement_ends_where_no_single_move_helps() {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const ProblemPtr coarse = grouped(test::random_graph(seed, 30, 3, Training::implicit),
                                              test::uniform_machine(3), merged_to(5));
            const ProblemPtr fine = ungrouped(*coarse);
            const auto search = [&](const ProblemPtr& problem, unsigned threads) {
                return simulation_evaluator(problem, {}, {}, threads);
            };
            const auto random = find_algorithm("random")->make({coarse, seed, {}}, {});
            const SearchResult found = run_search(*random, *search(coarse, 1), {20});
            const Placement start = regrouped(*found.progress.best_placement, *coarse, *fine);
            const auto evaluator = search(fine, 1);
            const SearchResult refined = refine(found, fine, start, *evaluator, {100'000}, seed);
            QCOMPARE(refined.end, SearchEnd::exhausted);
            QVERIFY(refined.progress.best.penalised_s < found.progress.best.penalised_s);
            const auto moves =
                single_moves(*simulation_evaluator(fine, {}, {}, 1), *fine, *refined.progress.best_placement);
            QVERIFY(moves->moves.front().score.penalised_s >= refined.progress.best.penalised_s);
            QCOMPARE(Simulator(fine).run(*refined.progress.best_placement).step_time_s,
                     refined.progress.best.value_s);

            // The curve continues downwards, and is the same with any number of threads.
            const std::vector<CurvePoint>& curve = *refined.progress.curve;
            QVERIFY(std::ranges::equal(std::span(curve).first(found.progress.curve->size()),
                                       *found.progress.curve));
            for (std::size_t i = 1; i < curve.size(); ++i) {
                QVERIFY(curve[i].evaluations >= curve[i - 1].evaluations &&
                        curve[i].best_s <= curve[i - 1].best_s);
                QVERIFY(curve[i].seconds >= curve[i - 1].seconds);
            }
            QCOMPARE(curve.back().evaluations, refined.progress.evaluations);
            QCOMPARE(curve.back().best_s, refined.progress.best.penalised_s);
            const SearchResult threaded = refine(found, fine, start, *search(fine, 2), {100'000}, seed);
            QCOMPARE(*threaded.progress.best_placement, *refined.progress.best_placement);
            QCOMPARE(threaded.progress.evaluations, refined.progress.evaluations);

            // Within its budget, and never with a worse result.
            for (const std::uint64_t budget : {1, 7, 40}) {
                const SearchResult some = refine(found, fine, start, *evaluator, {budget}, seed);
                QVERIFY(some.progress.evaluations <= found.progress.evaluations + budget);
                QVERIFY(some.progress.best.penalised_s <= found.progress.best.penalised_s);
            }
            std::stop_source stop;
            stop.request_stop();
            const SearchResult stopped =
                refine(found, fine, start, *evaluator, {1000}, seed, false, stop.get_token());
            QCOMPARE(stopped.end, SearchEnd::cancelled);
            QCOMPARE(*stopped.progress.best_placement, start);
            QCOMPARE(stopped.progress.best, found.progress.best);
            QCOMPARE(stopped.progress.evaluations, found.progress.evaluations);
        }
    }

    void refinement_of_nothing_is_nothing() {
        const ProblemPtr problem = test::problem(test::chain(3), test::uniform_machine(2));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        QVERIFY(!refine({}, problem, {}, *evaluator, {10}, 1).progress.best_placement);
    }
};

QTEST_APPLESS_MAIN(TestGrouping)

#include "tst_grouping.moc"
