// SPDX-License-Identifier: MIT
// The move for whole chains, and what the searches find with it.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/graph/networks.hpp"
#include "core/search/parts/pieces.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::make, test::ProblemPtr, test::search, test::seconds_of, test::text, test::whole;

namespace {

/// The groups that can reach each other over groups on their device, from the matrix of what is reachable.
std::set<std::set<GroupId>> pieces_by_brute_force(const ProblemPtr& problem, const DeviceChoices& choices,
                                                  const Placement& placement) {
    const std::size_t count = problem->groups;
    std::vector<std::vector<bool>> joined(count, std::vector<bool>(count, false));
    const auto movable = [&](GroupId group) { return choices.of(group).size() > 1; };
    for (GroupId group = 0; group < count; ++group) joined[group][group] = movable(group);
    for (OpId op = 0; op < problem->forward->size(); ++op) {
        for (const OpId consumer : problem->forward->consumers(op)) {
            const GroupId a = problem->grouping.group_of[op], b = problem->grouping.group_of[consumer];
            if (movable(a) && movable(b) && placement[a] == placement[b]) joined[a][b] = joined[b][a] = true;
        }
    }
    for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < count; ++j) {
                if (joined[i][k] && joined[k][j]) joined[i][j] = true;
            }
        }
    }
    std::set<std::set<GroupId>> pieces;
    for (GroupId i = 0; i < count; ++i) {
        std::set<GroupId> piece;
        for (GroupId j = 0; j < count; ++j) {
            if (joined[i][j]) piece.insert(j);
        }
        if (!piece.empty()) pieces.insert(std::move(piece));
    }
    return pieces;
}

/// Some ops may only be on the first two devices, one only on the last.
ProblemPtr constrained(std::uint64_t seed) {
    const Graph graph = test::random_graph(seed, 20, 2, Training::implicit);
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    std::size_t at = 0;
    for (Op op : graph.ops()) {
        if (at % 7 == 3) op.devices = {"gpu:0", "gpu:1"};
        if (at == 5) op.devices = {"gpu:2"};
        ++at;
        builder.add(op);
    }
    return test::problem(builder.build(), test::uniform_machine(3));
}

ProblemPtr resnet(std::size_t gpus) {
    return test::problem(find_network("resnet50")->build(32), test::uniform_machine(gpus));
}

}  // namespace

class TestPieces : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pieces_are_connected_groups_on_one_device() {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const ProblemPtr problem =
                seed % 3 == 0 ? constrained(seed)
                              : test::problem(test::random_graph(seed, 14, 2, Training::implicit),
                                              test::uniform_machine(3));
            const DeviceChoices choices(problem, false);
            Random random(seed);
            const Placement placement = choices.random_placement(random);
            QCOMPARE(Pieces(choices).count(placement),
                     pieces_by_brute_force(problem, choices, placement).size());
        }
    }

    void whole_pieces_move_to_devices_of_others() {
        std::size_t changes = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const ProblemPtr problem =
                test::problem(test::random_graph(seed, 14, 2, Training::implicit), test::uniform_machine(4));
            const DeviceChoices choices(problem, false);
            const Pieces pieces(choices);
            Random random(seed);
            Placement placement = choices.random_placement(random);
            const Placement before = placement;
            const auto old = pieces_by_brute_force(problem, choices, before);
            const bool changed = pieces.merge(placement, random);
            changes += changed;
            QCOMPARE(changed, placement != before);
            // Every edge that was within a device still is, so the old pieces are whole, and fewer are left.
            QVERIFY(changed == (pieces.count(placement) < old.size()));
            for (const auto& piece : old) {
                for (const GroupId group : piece) {
                    QCOMPARE(placement[group], placement[*piece.begin()]);
                    QVERIFY(std::ranges::find(before, placement[group]) != before.end());
                }
            }
        }
        QVERIFY(changes > 50);
    }

    void one_piece_or_all_of_them_move() {
        // Pieces of five, alternately on two devices: 8 pieces, of which 1 to 7 can be left.
        const ProblemPtr problem = test::problem(test::chain(40), test::uniform_machine(2));
        const DeviceChoices choices(problem, false);
        const Pieces pieces(choices);
        Placement cut(40);
        for (GroupId group = 0; group < 40; ++group) cut[group] = group / 5 % 2;
        QCOMPARE(pieces.count(cut), std::size_t{8});
        Random random(3);
        std::map<std::size_t, int> left;
        for (int i = 0; i < 400; ++i) {
            Placement placement = cut;
            QVERIFY(pieces.merge(placement, random));
            ++left[pieces.count(placement)];
        }
        // A piece at an end takes one boundary away, one in the middle two.
        for (std::size_t count = 1; count <= 7; ++count)
            QVERIFY2(left[count] >= 10, qPrintable(QString("%1: %2").arg(count).arg(left[count])));
        // All on one device, either of them.
        std::set<DeviceId> ends;
        for (int i = 0; i < 200; ++i) {
            Placement placement = cut;
            pieces.merge(placement, random);
            if (pieces.count(placement) == 1) ends.insert(placement[0]);
        }
        QCOMPARE(ends, (std::set<DeviceId>{0, 1}));
    }

    void the_same_seed_moves_the_same() {
        const ProblemPtr problem = test::problem(test::random_graph(4, 60, 3), test::uniform_machine(4));
        const DeviceChoices choices(problem, false);
        const Pieces pieces(choices), others(choices);
        Random random(9), same(9);
        for (int i = 0; i < 50; ++i) {
            Placement one = choices.random_placement(random), two = choices.random_placement(same);
            pieces.merge(one, random);
            others.merge(two, same);
            QCOMPARE(one, two);
        }
    }

    void groups_stay_where_they_may_be() {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const ProblemPtr problem = constrained(seed);
            const DeviceChoices choices(problem, false);
            const Pieces pieces(choices);
            Random random(seed);
            Placement placement = choices.random_placement(random);
            for (int i = 0; i < 10; ++i) {
                const Placement before = placement;
                const bool changed = pieces.merge(placement, random);
                QCOMPARE(changed, placement != before);
                for (GroupId group = 0; group < placement.size(); ++group)
                    QVERIFY(choices.allows(group, placement[group]));
            }
        }
    }

    void nothing_moves_without_neighbours() {
        Random random(1);
        const ProblemPtr chain = test::problem(test::chain(5), test::uniform_machine(2));
        const DeviceChoices choices(chain, false);
        Placement together(5, 1);
        QVERIFY(!Pieces(choices).merge(together, random));
        QCOMPARE(together, Placement(5, 1));
        // Two ops without an edge are two pieces, on one device or on two.
        GraphBuilder builder("apart", 1, Training::none);
        for (const char* name : {"a", "b"}) {
            Op op;
            op.name = name;
            op.kind = "relu";
            op.outputs = {make_tensor({1})};
            builder.add(op);
        }
        const ProblemPtr apart = test::problem(builder.build(), test::uniform_machine(2));
        const DeviceChoices two(apart, false);
        Placement split{0, 1};
        QCOMPARE(Pieces(two).count(split), std::size_t{2});
        QVERIFY(!Pieces(two).merge(split, random));
        QCOMPARE(split, (Placement{0, 1}));
    }

    // What the searches find

    void one_device_is_found_data() {
        QTest::addColumn<QString>("id");
        QTest::addColumn<OptionValues>("values");
        const auto add = [](const char* name, const char* id, OptionValues values) {
            QTest::newRow(name) << QString(id) << std::move(values);
        };
        const OptionValue random = text("random");
        add("hill climbing", "hill-climbing", {{"start", random}});
        add("first", "hill-climbing",
            {{"start", random}, {"neighbourhood", text("first")}, {"restarts", whole(0)}});
        add("annealing", "simulated-annealing", {{"start", random}});
        add("tabu", "tabu", {{"start", random}});
        add("mcmc", "mcmc", {{"start", random}});
        add("genetic", "genetic", {{"include_trivial_solutions", false}});
        add("map-elites", "map-elites", {{"include_trivial_solutions", false}});
        for (const char* id : {"post", "cross-entropy", "ppo", "policy-gradient"})
            add(id, id, {{"merged_share", 0.2}});
    }
    /// ResNet-50, op by op, on GPUs that are alike: no search is given the placement on one device.
    void one_device_is_found() {
        QFETCH(QString, id);
        QFETCH(OptionValues, values);
        for (const std::size_t gpus : {2, 4, 8}) {
            const ProblemPtr problem = resnet(gpus);
            const double one_device_s = seconds_of(problem, Placement(problem->groups, 0));
            const double found_s = search(id.toStdString(), problem, 2400, values).progress.best.penalised_s;
            QVERIFY2(found_s <= one_device_s,
                     qPrintable(
                         QString("%1 GPUs: %2 s, one device %3 s").arg(gpus).arg(found_s).arg(one_device_s)));
        }
    }

    void stuck_climbs_merge() {
        // A chain in two halves is a local optimum of single moves: the boundary costs as much elsewhere.
        const ProblemPtr problem = test::problem(test::chain(10), test::uniform_machine(2));
        const double one_device_s = seconds_of(problem, Placement(10, 0));
        int stuck = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            for (const char* neighbourhood : {"first", "steepest"}) {
                OptionValues values{{"neighbourhood", text(neighbourhood)},
                                    {"start", text("random")},
                                    {"restarts", whole(0)}};
                QCOMPARE(search("hill-climbing", problem, 10'000, values, seed).progress.best.penalised_s,
                         one_device_s);
                values["merge_moves"] = 0.0;
                stuck += search("hill-climbing", problem, 10'000, values, seed).progress.best.penalised_s >
                         one_device_s;
            }
        }
        QVERIFY(stuck > 5);
    }

    void without_merges_it_is_not_found_data() {
        QTest::addColumn<QString>("id");
        QTest::addColumn<QString>("option");
        QTest::newRow("hill climbing") << "hill-climbing"
                                       << "merge_moves";
        QTest::newRow("genetic") << "genetic"
                                 << "merge_mutation_rate";
    }
    /// The moves of the papers end with the network in pieces.
    void without_merges_it_is_not_found() {
        QFETCH(QString, id);
        QFETCH(QString, option);
        const ProblemPtr problem = resnet(4);
        OptionValues values{{option.toStdString(), 0.0}};
        if (id == "genetic") {
            values["include_trivial_solutions"] = false;
        } else {
            values["start"] = text("random");
        }
        QVERIFY(search(id.toStdString(), problem, 2400, values).progress.best.penalised_s >
                1.05 * seconds_of(problem, Placement(problem->groups, 0)));
    }
};

QTEST_GUILESS_MAIN(TestPieces)
#include "tst_pieces.moc"
