// SPDX-License-Identifier: MIT
// The genetic algorithm, MAP-Elites, and the variation of placements that they share.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/search/parts/archive_history.hpp"
#include "core/search/parts/niches.hpp"
#include "core/search/parts/variation.hpp"
#include "core/search/search.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/constrained_problem.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::constrained_problem, test::machine_with_cpu, test::make, test::ProblemPtr, test::search,
    test::seconds_of, test::text, test::whole;

class TestPopulations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void elites_survive_unscored() {
        const ProblemPtr problem = test::problem(test::chain(30), test::uniform_machine(4));
        // Without variation children are copies, and tournaments of this size are won by the best.
        const auto children_are_the_best = [&](std::int64_t elite) {
            const auto optimizer = make("genetic", problem,
                                        {{"population_size", whole(20)},
                                         {"elite_size", elite},
                                         {"evolve_mutation_rate", false},
                                         {"mutation_rate", 0.0},
                                         {"zone_mutation_rate", 0.0},
                                         {"merge_mutation_rate", 0.0},
                                         {"crossover_rate", 0.0},
                                         {"parent_selection", text("tournament")},
                                         {"tournament_size", whole(1000)}});
            const auto first = optimizer->ask(100);
            if (first.size() != 20) return false;
            const Placement best = first[11];
            std::vector<Score> scores(20, Score{10, 10, true});
            scores[11] = {1, 1, true};
            optimizer->tell(scores);
            for (int generation = 0; generation < 3; ++generation) {
                const auto children = optimizer->ask(100);
                if (children.size() != 20 - static_cast<std::size_t>(elite)) return false;
                if (!std::all_of(children.begin(), children.end(),
                                 [&](const Placement& child) { return child == best; }))
                    return false;
                // The copies get bad scores: only an elite that keeps its score stays the best.
                optimizer->tell(std::vector<Score>(children.size(), Score{100.0 + generation, 100, true}));
            }
            return true;
        };
        QVERIFY(children_are_the_best(1));
        QVERIFY(children_are_the_best(5));
        QVERIFY(children_are_the_best(19));
    }

    void generations_are_asked_in_parts() {
        const ProblemPtr problem = test::problem(test::chain(10), test::uniform_machine(2));
        const auto optimizer = make("genetic", problem);
        std::vector<std::size_t> sizes;
        for (int i = 0; i < 7; ++i) {
            sizes.push_back(optimizer->ask(20).size());
            optimizer->tell(std::vector<Score>(sizes.back()));
        }
        QCOMPARE(sizes, (std::vector<std::size_t>{20, 20, 10, 20, 20, 5, 20}));
    }

    void evolved_zone_rate_is_used() {
        // The zone rate starts at 0 and must evolve to have an effect: with a gene rate of 0 only zones move
        // ops.
        const ProblemPtr problem = test::problem(test::chain(40), test::uniform_machine(4));
        const auto moved = [&](double deviation) {
            const auto optimizer = make("genetic", problem,
                                        {{"mutation_rate", 0.0},
                                         {"mutation_rate_deviation", 0.0},
                                         {"initial_mutation_rate_deviation", 0.0},
                                         {"zone_mutation_rate", 0.0},
                                         {"merge_mutation_rate", 0.0},
                                         {"zone_mutation_rate_deviation", deviation},
                                         {"initial_zone_mutation_rate_deviation", 0.0},
                                         {"min_mutation_rate", 0.0},
                                         {"crossover_rate", 0.0}});
            const auto first = optimizer->ask(50);
            const std::set<Placement> known(first.begin(), first.end());
            optimizer->tell(std::vector<Score>(50, Score{1, 1, true}));
            const auto children = optimizer->ask(50);
            return std::count_if(children.begin(), children.end(),
                                 [&](const Placement& child) { return !known.contains(child); });
        };
        QCOMPARE(moved(0.0), 0);
        QVERIFY(moved(1.0) > 5);
    }

    void niches_are_those_of_hand_worked_placements_data() {
        QTest::addColumn<Placement>("placement");
        QTest::addColumn<unsigned>("most_used");
        QTest::addColumn<unsigned>("used");
        QTest::addColumn<unsigned>("jumps");
        // A chain of 9 groups has 8 edges; 40 cells of jumps: round(jumps / 8 * 39).
        QTest::newRow("all on 0") << Placement(9, 0) << 0U << 0U << 0U;
        QTest::newRow("all on 3") << Placement(9, 3) << 3U << 0U << 0U;
        QTest::newRow("halves") << Placement{1, 1, 1, 1, 2, 2, 2, 2, 2} << 2U << 1U << 5U;
        QTest::newRow("tie") << Placement{3, 3, 3, 3, 0, 1, 1, 1, 1} << 1U << 2U << 10U;
        QTest::newRow("half the edges") << Placement{0, 0, 1, 1, 2, 2, 3, 3, 0} << 0U << 3U << 20U;
        QTest::newRow("alternating") << Placement{0, 1, 0, 1, 0, 1, 0, 1, 0} << 0U << 1U << 39U;
    }

    void niches_are_those_of_hand_worked_placements() {
        QFETCH(Placement, placement);
        QFETCH(unsigned, most_used);
        QFETCH(unsigned, used);
        QFETCH(unsigned, jumps);
        const ProblemPtr problem =
            test::problem(test::chain(9, 1e9, 1000, Training::implicit), test::uniform_machine(4));
        const Niches niches(DeviceChoices(problem, false), {0, 0, 40});
        QCOMPARE(niches.cells(), 640U);
        QVERIFY((niches.indices(placement) == Niches::Indices{most_used, used, jumps}));
        QCOMPARE(niches.cell(placement), (most_used * 4 + used) * 40 + jumps);
    }

    void niches_by_bytes_and_balance_data() {
        QTest::addColumn<Placement>("placement");
        QTest::addColumn<unsigned>("crossing");
        QTest::addColumn<unsigned>("balance");
        // A chain of 9 groups passes 1000 bytes over each of its 8 edges: cells up to 0, 1000, 2000, 4000 and
        // 8000. Balance of 4 devices: round((9 / most groups on a device - 1) / 3 * 10).
        QTest::newRow("all on 0") << Placement(9, 0) << 0U << 0U;
        QTest::newRow("halves") << Placement{1, 1, 1, 1, 2, 2, 2, 2, 2} << 1U << 3U;
        QTest::newRow("two jumps") << Placement{3, 3, 3, 3, 0, 1, 1, 1, 1} << 2U << 4U;
        QTest::newRow("three jumps") << Placement{0, 0, 1, 1, 2, 2, 3, 3, 3} << 3U << 7U;
        QTest::newRow("alternating") << Placement{0, 1, 0, 1, 0, 1, 0, 1, 0} << 4U << 3U;
    }

    void niches_by_bytes_and_balance() {
        QFETCH(Placement, placement);
        QFETCH(unsigned, crossing);
        QFETCH(unsigned, balance);
        const ProblemPtr problem =
            test::problem(test::chain(9, 1e9, 1000, Training::implicit), test::uniform_machine(4));
        const Niches niches(DeviceChoices(problem, false), {1, 1, 1, 5, 11});
        QCOMPARE(niches.cells(), 55U);
        QVERIFY((niches.indices(placement) == Niches::Indices{0, 0, 0, crossing, balance}));
        QCOMPARE(niches.cell(placement), crossing * 11 + balance);
        const auto dimensions = niches.dimensions();
        QCOMPARE(dimensions.size(), std::size_t{5});
        QCOMPARE(dimensions[3].labels,
                 (std::vector<std::string>{"0 B", "≤ 1.00 kB", "≤ 2.00 kB", "≤ 4.00 kB", "≤ 8.00 kB"}));
        QCOMPARE(dimensions[4].labels[5], "50 %");
    }

    void crossing_bytes_are_those_of_the_simulator() {
        const ProblemPtr problem =
            test::problem(test::random_graph(5, 40, 3, Training::implicit), test::uniform_machine(4));
        const Niches niches(DeviceChoices(problem, false), {0, 0, 40, 64, 0});
        const DeviceChoices choices(problem, false);
        Simulator simulator(problem, {});
        Random random(3);
        for (int i = 0; i < 20; ++i) {
            const Placement placement = choices.random_placement(random);
            const Outcome& outcome = simulator.run(placement);
            QCOMPARE(niches.crossing_bytes(placement),
                     std::accumulate(outcome.channel_bytes.begin(), outcome.channel_bytes.end(), 0.0));
            QVERIFY(niches.cell(placement) < niches.cells());
        }
    }

    void an_archive_has_the_axes_of_its_options() {
        const ProblemPtr problem =
            test::problem(test::random_graph(2, 30, 3, Training::implicit), test::uniform_machine(3));
        const auto optimizer =
            make("map-elites", problem,
                 {{"most_used_size", whole(1)}, {"crossing_size", whole(12)}, {"balance_size", whole(10)}});
        const SearchResult result = run_search(*optimizer, *simulation_evaluator(problem, {}, {}, 1), {1000});
        const ArchiveView& archive = *result.progress.archive;
        QCOMPARE(archive.dimensions.size(), std::size_t{5});
        QCOMPARE(archive.dimensions[3].title, "Bytes between devices");
        QCOMPARE(archive.dimensions[4].title, "Balance of work");
        std::set<std::uint32_t> crossing, balance;
        for (const auto& elite : archive.elites) {
            balance.insert(elite.cell % 10);
            crossing.insert(elite.cell / 10 % 12);
        }
        QVERIFY(crossing.size() > 4);
        QVERIFY(balance.size() > 4);
        QCOMPARE(make("map-elites", problem)->archive()->dimensions.size(), std::size_t{3});
        QVERIFY(test::error_of<OptionError>([&] {
                    make("map-elites", problem,
                         {{"jumps_size", whole(1000)},
                          {"most_used_size", whole(1000)},
                          {"crossing_size", whole(64)}});
                }).startsWith("the archive would have 192 M cells"));
    }

    void niches_of_other_sizes() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(4));
        const Niches niches(DeviceChoices(problem, false), {2, 3, 1});
        // round(3 / 4 * 2) = 2 and round(3 / 4 * 3) = 2, the first clamped to 1; one cell of jumps.
        QVERIFY((niches.indices(Placement{3, 3, 3, 3, 0, 1, 1, 2, 2}) == Niches::Indices{1, 2, 0}));
        QVERIFY((niches.indices(Placement(9, 1)) == Niches::Indices{1, 0, 0}));
        QVERIFY((niches.indices(Placement(9, 0)) == Niches::Indices{0, 0, 0}));
    }

    void niches_count_only_devices_that_are_chosen_from() {
        const ProblemPtr problem = test::problem(test::chain(9), machine_with_cpu(3));
        const Niches niches(DeviceChoices(problem, false), {0, 0, 40});
        QCOMPARE(niches.cells(), 360U);
        QVERIFY((niches.indices(Placement(9, 1)) == Niches::Indices{0, 0, 0}));
        QVERIFY((niches.indices(Placement(9, 3)) == Niches::Indices{2, 0, 0}));
        QCOMPARE(niches.dimensions()[0].labels, (std::vector<std::string>{"gpu:0", "gpu:1", "gpu:2"}));
        QCOMPARE(niches.dimensions()[1].labels, (std::vector<std::string>{"1", "2", "3"}));
        QCOMPARE(niches.dimensions()[2].labels.back(), "100 %");
        // A starting placement may use a device that the search excludes.
        QVERIFY(niches.cell(Placement(9, 0)) < niches.cells());
    }

    void the_archive_tells_cpus_apart_where_a_start_uses_them() {
        const ProblemPtr problem = test::problem(test::chain(9), machine_with_cpu(2));
        const auto devices_of = [&](const std::vector<Placement>& seeds) {
            const auto optimizer = find_algorithm("map-elites")->make({problem, 1, seeds}, {});
            return optimizer->archive()->dimensions[0].labels;
        };
        QCOMPARE(devices_of({Placement(9, 1)}).size(), std::size_t{2});
        const auto labels = devices_of({Placement(9, 0)});
        QCOMPARE(labels.size(), std::size_t{3});
        QCOMPARE(labels.front(), problem->machine->device(0).name);
    }

    void map_elites_proposes_what_is_new() {
        // There are 3^30 placements, so an unknown one always exists: no evaluation is spent on a known one,
        // however rarely ops mutate.
        const ProblemPtr problem =
            test::problem(test::random_graph(2, 30, 3, Training::implicit), test::uniform_machine(3));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const SearchResult result = run_search(*make("map-elites", problem), *evaluator, {2000});
        QVERIFY2(result.progress.simulations > 1950, std::to_string(result.progress.simulations).c_str());
        // If all are known, the search continues anyway.
        const ProblemPtr small = test::problem(test::chain(2), test::uniform_machine(2));
        const SearchResult all =
            run_search(*make("map-elites", small), *simulation_evaluator(small, {}, {}, 1), {200});
        QCOMPARE(all.progress.evaluations, std::uint64_t{200});
        QCOMPARE(all.progress.simulations, std::uint64_t{4});
    }

    void archive_is_consistent() {
        const ProblemPtr problem =
            test::problem(test::random_graph(2, 30, 3, Training::implicit), test::uniform_machine(3));
        const auto optimizer = make("map-elites", problem);
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const SearchResult early = run_search(*optimizer, *evaluator, {200});
        const SearchResult result = run_search(*optimizer, *evaluator, {2000});
        const ArchiveView& archive = *result.progress.archive;
        const Niches niches(DeviceChoices(problem, false), {0, 0, 40});
        QCOMPARE(archive.dimensions.size(), std::size_t{3});
        std::uint32_t cells = 1;
        for (const auto& dimension : archive.dimensions) {
            QVERIFY(!dimension.title.empty());
            QVERIFY(dimension.labels.empty() || dimension.labels.size() == dimension.size);
            cells *= dimension.size;
        }
        QVERIFY(archive.elites.size() > 20);
        double best_s = kInfinity;
        for (std::size_t i = 0; i < archive.elites.size(); ++i) {
            const auto& elite = archive.elites[i];
            QVERIFY(elite.cell < cells);
            QVERIFY(i == 0 || archive.elites[i - 1].cell < elite.cell);
            QCOMPARE(niches.cell(*elite.placement), elite.cell);
            QCOMPARE(seconds_of(problem, *elite.placement), elite.score.penalised_s);
            best_s = std::min(best_s, elite.score.penalised_s);
        }
        QCOMPARE(best_s, std::min(early.progress.best.penalised_s, result.progress.best.penalised_s));
        // Elites never get worse, and snapshots do not change.
        for (const auto& old : early.progress.archive->elites) {
            const auto now = std::find_if(archive.elites.begin(), archive.elites.end(),
                                          [&](const auto& elite) { return elite.cell == old.cell; });
            QVERIFY(now != archive.elites.end());
            QVERIFY(now->score.penalised_s <= old.score.penalised_s);
            QCOMPARE(niches.cell(*old.placement), old.cell);
        }
        QVERIFY(!make("genetic", problem)->archive());
    }

    void history_leads_to_the_archive() {
        const ProblemPtr problem =
            test::problem(test::random_graph(2, 30, 3, Training::implicit), test::uniform_machine(3));
        const SearchResult result =
            run_search(*make("map-elites", problem), *simulation_evaluator(problem, {}, {}, 1), {1000});
        const ArchiveView& archive = *result.progress.archive;
        QCOMPARE(archive.evaluations, std::uint64_t{1000});
        QVERIFY(std::ranges::is_sorted(archive.history, {}, &ArchiveView::Event::evaluations));
        QVERIFY(archive.history.size() > archive.elites.size());
        std::map<std::uint32_t, Score> latest;
        for (const ArchiveView::Event& event : archive.history) latest[event.cell] = event.score;
        QCOMPARE(latest.size(), archive.elites.size());
        for (const auto& elite : archive.elites) QVERIFY(latest.at(elite.cell) == elite.score);
        // The three GPUs are all alike.
        QVERIFY(archive.dimensions[0].symmetric && !archive.dimensions[1].symmetric);
    }

    void history_is_bounded() {
        ArchiveHistory history(100);
        for (std::uint32_t i = 1; i <= 10'000; ++i) history.add(i, i % 7, {1.0 / i, 1.0 / i, true});
        QVERIFY(history.events().size() <= 100);
        QVERIFY(history.events().size() > 30);
        QVERIFY(std::ranges::is_sorted(history.events(), {}, &ArchiveView::Event::evaluations));
        for (std::uint32_t i = 9'994; i <= 10'000; ++i) {
            const auto last =
                std::ranges::find_if(history.events().rbegin(), history.events().rend(),
                                     [&](const ArchiveView::Event& event) { return event.cell == i % 7; });
            QCOMPARE(last->score.value_s, 1.0 / i);
        }
        // More cells than events: the last of each stays.
        ArchiveHistory wide(10);
        for (std::uint32_t i = 0; i < 50; ++i) wide.add(i, i, {1, 1, true});
        QCOMPARE(wide.events().size(), std::size_t{50});
    }

    void moves_change_one_group() {
        const ProblemPtr problem = constrained_problem(1);
        const DeviceChoices choices(problem, false);
        Random random(1);
        const Placement placement = choices.on_one_device(1);
        std::map<std::pair<GroupId, DeviceId>, int> counts;
        for (int i = 0; i < 20'000; ++i) {
            const Move move = random_move(placement, choices, random);
            QVERIFY(move.device != placement[move.group]);
            QVERIFY(choices.allows(move.group, move.device));
            ++counts[{move.group, move.device}];
        }
        // 26 groups with two other devices and op20 with one.
        QCOMPARE(counts.size(), std::size_t{53});
    }

    void crossover_exchanges_pieces_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("points");
        QTest::addColumn<int>("switches");
        QTest::newRow("one-point") << 0 << 7 << 1;
        QTest::newRow("1-point") << 1 << 1 << 1;
        QTest::newRow("2-point") << 1 << 2 << 2;
        QTest::newRow("5-point") << 1 << 5 << 5;
        QTest::newRow("more points than genes") << 1 << 100 << 19;
        QTest::newRow("uniform") << 2 << 2 << -1;
    }

    void crossover_exchanges_pieces() {
        QFETCH(int, type);
        QFETCH(int, points);
        QFETCH(int, switches);
        Random random(4);
        double mean_exchanged = 0;
        std::set<std::size_t> first_cuts;
        for (int run = 0; run < 2000; ++run) {
            Placement a(20, 0), b(20, 1);
            cross(static_cast<CrossoverType>(type), static_cast<std::size_t>(points), a, b, random);
            int seen = 0;
            for (std::size_t i = 0; i < 20; ++i) {
                QCOMPARE(a[i] + b[i], 1);
                mean_exchanged += a[i] / 2000.0;
                if (i > 0 && a[i] != a[i - 1] && ++seen == 1) first_cuts.insert(i);
            }
            if (switches >= 0) {
                QCOMPARE(seen, switches);
                QCOMPARE(int{a[0]}, 0);
            }
        }
        if (switches < 0 || switches == 1) QVERIFY(std::abs(mean_exchanged - 10) < 0.5);
        if (switches == 1) QCOMPARE(first_cuts.size(), std::size_t{19});
        Placement a(1, 0), b(1, 1);
        cross(CrossoverType::one_point, 1, a, b, random);
        QCOMPARE(a[0], DeviceId{0});
    }

    void zones_are_runs_of_mean_length_five() {
        const ProblemPtr problem = test::problem(test::chain(2000), test::uniform_machine(2));
        const DeviceChoices choices(problem, false);
        Random random(8);
        double length = 0, start = 0;
        int changed = 0;
        for (int run = 0; run < 4000; ++run) {
            Placement placement(2000, 0);
            mutate_zone(placement, choices, random);
            const auto begin = std::find(placement.begin(), placement.end(), 1);
            if (begin == placement.end()) continue;
            const auto end = std::find(begin, placement.end(), 0);
            QVERIFY(std::find(end, placement.end(), 1) == placement.end());
            ++changed;
            length += static_cast<double>(end - begin);
            start += static_cast<double>(begin - placement.begin());
        }
        // Half of the zones keep their device. Deviations of the means: 0.1 and 13; the tolerance is four of
        // them.
        QVERIFY(std::abs(changed - 2000) < 130);
        QVERIFY(std::abs(length / changed - 5) < 0.4);
        QVERIFY(std::abs(start / changed - 1000) < 55);
    }

    void zones_leave_ops_where_they_must_be() {
        const ProblemPtr problem = constrained_problem(1);
        const DeviceChoices choices(problem, false);
        Random random(8);
        Placement placement = choices.random_placement(random);
        for (int run = 0; run < 2000; ++run) {
            mutate_zone(placement, choices, random);
            mutate_genes(placement, 0.3, 0.3, choices, random);
            mutate_replace(placement, choices, random);
            for (GroupId group = 0; group < placement.size(); ++group)
                QVERIFY(choices.allows(group, placement[group]));
        }
    }

    void genes_mutate_at_their_rates() {
        const ProblemPtr problem = test::problem(test::chain(20'000), test::uniform_machine(4));
        const DeviceChoices choices(problem, false);
        Random random(8);
        const Placement old(20'000, 3);
        const auto changed = [&](const Placement& placement) {
            return static_cast<double>(std::count_if(placement.begin(), placement.end(),
                                                     [](DeviceId device) { return device != 3; })) /
                   20'000;
        };
        Placement placement = old;
        mutate_genes(placement, 0, 0, choices, random);
        QCOMPARE(placement, old);
        mutate_genes(placement, 0.4, 0, choices, random);
        QVERIFY(std::abs(changed(placement) - 0.3) < 0.015);
        // 0.4 copy their left neighbour; 0.5 of the others change: 0.6 * 0.5 * 3 / 4.
        placement = old;
        mutate_genes(placement, 0.5, 0.4, choices, random);
        QVERIFY(std::abs(changed(placement) - 0.225) < 0.015);
    }

    void copies_are_of_the_old_left_neighbour() {
        const ProblemPtr problem = test::problem(test::chain(6), test::uniform_machine(4));
        const DeviceChoices choices(problem, false);
        Random random(1);
        Placement placement{3, 1, 2, 0, 1, 2};
        mutate_genes(placement, 0, 1, choices, random);
        QCOMPARE(placement, (Placement{3, 3, 1, 2, 0, 1}));
    }

    void replacing_empties_a_device() {
        const ProblemPtr problem = test::problem(test::chain(6), test::uniform_machine(4));
        const DeviceChoices choices(problem, false);
        Random random(1);
        std::set<Placement> results;
        for (int run = 0; run < 300; ++run) {
            Placement placement{0, 1, 1, 0, 3, 3};
            mutate_replace(placement, choices, random);
            results.insert(placement);
        }
        QCOMPARE(results, (std::set<Placement>{{1, 1, 1, 1, 3, 3},
                                               {3, 1, 1, 3, 3, 3},
                                               {0, 0, 0, 0, 3, 3},
                                               {0, 3, 3, 0, 3, 3},
                                               {0, 1, 1, 0, 0, 0},
                                               {0, 1, 1, 0, 1, 1}}));
        Placement one(6, 2);
        mutate_replace(one, choices, random);
        QCOMPARE(one, Placement(6, 2));
    }

    void ranks_have_their_chances() {
        const auto linear = linear_ranking(5, 2);
        // 2 i / (5 * 4).
        for (std::size_t i = 0; i < 5; ++i)
            QVERIFY(std::abs(linear[i] - 0.1 * static_cast<double>(i)) < 1e-12);
        for (const double chance : linear_ranking(4, 1)) QCOMPARE(chance, 0.25);
        QVERIFY(std::abs(linear_ranking(3, 1.5)[0] - 0.5 / 3) < 1e-12);
        QCOMPARE(linear_ranking(1, 2), std::vector<double>{1.0});
        const auto exponential = exponential_ranking(3, 0.5);
        // 1 : 2 : 4.
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs(exponential[i] - static_cast<double>(1 << i) / 7) < 1e-12);
        for (const double chance : exponential_ranking(4, 1)) QCOMPARE(chance, 0.25);
    }

    void universal_sampling_draws_what_is_expected() {
        Random random(5);
        const auto chances = linear_ranking(50, 2);
        std::vector<double> mean(50, 0);
        for (int run = 0; run < 2000; ++run) {
            const auto drawn = universal_sampling(chances, 50, random);
            QCOMPARE(drawn.size(), std::size_t{50});
            std::vector<int> counts(50, 0);
            for (const std::size_t index : drawn) ++counts[index];
            for (std::size_t i = 0; i < 50; ++i) {
                const double expected = chances[i] * 50;
                QVERIFY(counts[i] >= static_cast<int>(std::floor(expected - 1e-9)) &&
                        counts[i] <= static_cast<int>(std::ceil(expected + 1e-9)));
                mean[i] += counts[i] / 2000.0;
            }
        }
        QCOMPARE(mean[0], 0.0);
        for (std::size_t i = 0; i < 50; ++i) QVERIFY(std::abs(mean[i] - chances[i] * 50) < 0.05);
    }

    void tournaments_prefer_the_best() {
        Random random(6);
        int best = 0;
        for (int run = 0; run < 20'000; ++run) best += tournament(10, 3, std::less<>(), random) == 0 ? 1 : 0;
        // 1 - (9 / 10)^3 = 0.271.
        QVERIFY(std::abs(best / 20'000.0 - 0.271) < 0.015);
    }
};

QTEST_GUILESS_MAIN(TestPopulations)
#include "tst_populations.moc"
