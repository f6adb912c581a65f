// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/graph/networks.hpp"
#include "core/search/parts/branches.hpp"
#include "core/search/parts/niches.hpp"
#include "core/search/parts/variation.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::error_of, test::make, test::ProblemPtr, test::search, test::text, test::Variant, test::whole;

namespace {

/// uniform_machine with a "cpu:0" of a tenth of a GPU's speed before the GPUs.
Machine machine_with_cpu(std::size_t gpus) {
    const Machine uniform = test::uniform_machine(gpus + 1);
    std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
    for (std::size_t i = 0; i < devices.size(); ++i)
        devices[i].name = i == 0 ? "cpu:0" : "gpu:" + std::to_string(i - 1);
    devices[0].kind = DeviceKind::cpu;
    devices[0].peak_flops /= 10;
    return Machine("with-cpu", devices, {uniform.channels().begin(), uniform.channels().end()},
                   {uniform.routes().begin(), uniform.routes().end()});
}

/// The graph with the device constraints `devices`, by op name.
Graph constrained(const Graph& graph, const std::map<std::string, std::vector<std::string>>& devices) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (const Op& op : graph.ops()) {
        std::vector<std::string> inputs;
        for (const TensorRef& input : op.inputs)
            inputs.push_back(graph.op(input.op).name + ":" + std::to_string(input.output));
        Op copy = op;
        if (const auto found = devices.find(op.name); found != devices.end()) copy.devices = found->second;
        builder.add(copy, inputs);
    }
    return builder.build();
}

ProblemPtr constrained_problem(std::uint64_t seed) {
    return test::problem(
        constrained(test::random_graph(seed, 30, 3, Training::implicit), {{"op0", {"cpu"}},
                                                                          {"op3", {"gpu:1"}},
                                                                          {"op7", {"cpu", "gpu:0"}},
                                                                          {"op8", {"gpu"}},
                                                                          {"op20", {"gpu:0", "gpu:2"}}}),
        machine_with_cpu(3));
}

double seconds_of(const ProblemPtr& problem, const Placement& placement) {
    Simulator simulator(problem);
    return MemoryPenalty().score(*problem, simulator.run(placement)).penalised_s;
}

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

/// Two layers of an LSTM over three steps, with embedding, attention, projection and softmax.
Graph lstm(Training training = Training::implicit) {
    GraphBuilder builder("lstm", 1, training);
    const auto add = [&](const std::string& name, const std::string& kind, const std::string& scope,
                         std::vector<std::string> inputs) {
        Op op;
        op.name = name;
        op.kind = kind;
        op.scope = scope;
        op.flops = 1e9;
        op.outputs = {make_tensor({16, 16})};
        builder.add(op, std::move(inputs));
    };
    for (const std::string step : {"0", "1", "2"}) {
        const bool first = step == "0";
        const std::string before = std::to_string(step[0] - '0' - 1);
        add("embedding" + step, "embedding", "embedding", {});
        add("a" + step, "lstm_cell", "lstm/layer0/step" + step,
            first ? std::vector<std::string>{"embedding" + step}
                  : std::vector<std::string>{"embedding" + step, "a" + before});
        add("dropout" + step, "dropout", "lstm", {"a" + step});
        add("b" + step, "lstm_cell", "lstm/layer1/t" + step,
            first ? std::vector<std::string>{"dropout" + step}
                  : std::vector<std::string>{"dropout" + step, "b" + before});
    }
    add("attention", "attention", "", {"b0", "b1", "b2", "a0"});
    add("projection", "linear", "", {"attention"});
    add("softmax", "softmax", "", {"projection"});
    return builder.build();
}

GroupId group_of(const Problem& problem, const std::string& op) {
    return problem.grouping.group_of[*problem.graph->find(op)];
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
            std::set<std::string> names;
            for (const OptionInfo& option : info.options) {
                QVERIFY2(option.help.size() > 10 && option.help.back() == '.', option.name.c_str());
                QVERIFY2(names.insert(option.name).second, option.name.c_str());
                QVERIFY(checked_option(option, option.default_value) == option.default_value);
            }
        }
        QCOMPARE(ids, (std::vector<std::string>{"auto",
                                                "single-device",
                                                "random",
                                                "expert",
                                                "linear-search",
                                                "hill-climbing",
                                                "simulated-annealing",
                                                "particle-swarm",
                                                "genetic",
                                                "map-elites",
                                                "mcmc",
                                                "tabu",
                                                "heft",
                                                "m-topo",
                                                "m-etf",
                                                "m-sct",
                                                "pipedream",
                                                "ideals-dp",
                                                "scotch",
                                                "metis",
                                                "milp",
                                                "load-annealing",
                                                "cross-entropy",
                                                "policy-gradient",
                                                "ppo",
                                                "post",
                                                "placeto",
                                                "colocrl",
                                                "hierarchical",
                                                "spotlight",
                                                "gdp"}));
        for (const AlgorithmInfo& info : algorithms()) QCOMPARE(find_algorithm(info.id), &info);
        QVERIFY(!find_algorithm("Genetic"));
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
                QCOMPARE(result.progress.simulations, expected.progress.simulations);
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
        QVERIFY_EXCEPTION_THROWN(make(id.toStdString(), problem, {}, 1, {Placement(8, 0)}), PlacementError);
        QVERIFY_EXCEPTION_THROWN(make(id.toStdString(), problem, {}, 1, {Placement(9, 3)}), PlacementError);
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
        const SearchResult result =
            search("hill-climbing", problem, 100'000,
                   {{"neighbourhood", text("steepest")}, {"start", text("random")}, {"restarts", whole(0)}});
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
        const auto optimizer = make("hill-climbing", problem, {{"accept_equal", accept_equal}});
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

    void expert_puts_branches_apart_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("gpus");
        QTest::newRow("as many as devices") << 4 << 4;
        QTest::newRow("fewer") << 3 << 4;
        QTest::newRow("more") << 8 << 4;
        QTest::newRow("one device") << 3 << 1;
    }

    void expert_puts_branches_apart() {
        QFETCH(int, width);
        QFETCH(int, gpus);
        const ProblemPtr problem =
            test::problem(test::fork_join(static_cast<std::size_t>(width), 1e9, 1000, Training::implicit),
                          test::uniform_machine(static_cast<std::size_t>(gpus)));
        const auto optimizer = make("expert", problem);
        const Placement placement = optimizer->ask(5).front();
        optimizer->tell(std::vector<Score>(1));
        QVERIFY(optimizer->ask(5).empty());
        QCOMPARE(placement[group_of(*problem, "source")], DeviceId{0});
        QCOMPARE(placement[group_of(*problem, "sink")], DeviceId{0});
        std::map<DeviceId, int> branches;
        for (int i = 0; i < width; ++i)
            ++branches[placement[group_of(*problem, "branch" + std::to_string(i))]];
        QCOMPARE(branches.size(), static_cast<std::size_t>(std::min(width, gpus)));
        for (const auto& [device, count] : branches) QCOMPARE(count, std::max(1, width / gpus));
    }

    void expert_keeps_the_heaviest_branch_and_chains() {
        GraphBuilder builder("blocks", 1, Training::none);
        const auto add = [&](const std::string& name, double flops, std::vector<std::string> inputs) {
            Op op;
            op.name = name;
            op.kind = "conv2d";
            op.flops = flops;
            op.outputs = {make_tensor({1})};
            builder.add(op, std::move(inputs));
        };
        add("stem", 1e9, {});
        add("light", 1e9, {"stem"});
        add("heavy1", 3e9, {"stem"});
        add("heavy2", 3e9, {"heavy1"});
        add("middle1", 1e9, {"stem"});
        add("middle2", 2e9, {"middle1"});
        add("join", 1e9, {"light", "heavy2", "middle2"});
        add("body", 1e9, {"join"});
        add("skip", 1e9, {"body", "join"});
        add("head", 2e9, {"skip"});
        add("auxiliary", 1e9, {"skip"});
        const ProblemPtr problem = test::problem(builder.build(), machine_with_cpu(3));
        const auto device = [&](const OptionValues& values, const std::string& op) {
            return int{make("expert", problem, values)->ask(1).front()[group_of(*problem, op)]};
        };
        for (const char* op : {"stem", "heavy1", "heavy2", "join", "body", "skip", "head"})
            QCOMPARE(device({}, op), 1);
        QCOMPARE(device({}, "middle1"), 2);
        QCOMPARE(device({}, "middle2"), 2);
        QCOMPARE(device({}, "light"), 3);
        QCOMPARE(device({}, "auxiliary"), 2);
        // Two devices: light ends at 4 s after middle, at 7 s after heavy.
        QCOMPARE(device({{"devices", whole(2)}}, "light"), 2);
        QCOMPARE(device({{"main_device", whole(3)}}, "heavy1"), 3);
        QCOMPARE(device({{"main_device", whole(3)}}, "middle1"), 1);
        // light has a tenth of its block's time, middle three tenths.
        QCOMPARE(device({{"smallest_branch", 0.2}}, "light"), 1);
        QCOMPARE(device({{"smallest_branch", 0.2}}, "middle1"), 2);
    }

    void expert_looks_into_the_heaviest_branch() {
        // An auxiliary head beside a body that has branches of its own: no op after the fork is on every
        // path.
        GraphBuilder builder("nested", 1, Training::none);
        const auto add = [&](const std::string& name, std::vector<std::string> inputs) {
            Op op;
            op.name = name;
            op.kind = "conv2d";
            op.flops = 1e9;
            op.outputs = {make_tensor({1})};
            builder.add(op, std::move(inputs));
        };
        add("stem", {});
        add("head", {"stem"});
        add("left", {"stem"});
        add("right", {"stem"});
        add("join", {"left", "right"});
        add("tail", {"join"});
        const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2));
        const Placement placement = make("expert", problem)->ask(1).front();
        QCOMPARE(int{placement[group_of(*problem, "head")]}, 1);
        QVERIFY(placement[group_of(*problem, "left")] != placement[group_of(*problem, "right")]);
        QCOMPARE(int{placement[group_of(*problem, "join")]}, 0);
        QCOMPARE(int{placement[group_of(*problem, "tail")]}, 0);
    }

    void parallel_blocks_of_networks() {
        const Graph inception = inception_v3(1);
        std::vector<OpId> all(inception.size());
        std::iota(all.begin(), all.end(), OpId{0});
        const auto blocks = parallel_blocks(inception, all);
        // Up to the auxiliary head: three blocks A, one B and four C, of 4, 3 and 4 branches; then the head
        // and the rest.
        std::vector<std::size_t> widths;
        for (const Block& block : blocks) widths.push_back(block.size());
        QCOMPARE(widths, (std::vector<std::size_t>{4, 4, 4, 3, 4, 4, 4, 4, 2}));
        const Graph chain = test::chain(20);
        QVERIFY(parallel_blocks(chain, std::span(all).first(20)).empty());
    }

    void expert_puts_recurrent_layers_apart_data() {
        QTest::addColumn<int>("gpus");
        QTest::addColumn<int>("last");
        QTest::newRow("one") << 1 << 0;
        QTest::newRow("two") << 2 << 1;
        QTest::newRow("four") << 4 << 1;
    }

    void expert_puts_recurrent_layers_apart() {
        QFETCH(int, gpus);
        QFETCH(int, last);
        const ProblemPtr problem =
            test::problem(lstm(), test::uniform_machine(static_cast<std::size_t>(gpus)));
        const Placement placement = make("expert", problem)->ask(1).front();
        for (const Op& op : problem->forward->ops()) {
            const bool early =
                op.name.starts_with("embedding") || op.name.starts_with("dropout") || op.name.starts_with("a")
                    ? op.name != "attention"
                    : false;
            QVERIFY2(placement[group_of(*problem, op.name)] == (early ? 0 : last), op.name.c_str());
        }
    }

    void expert_beats_one_device_where_branches_are_heavy() {
        const ProblemPtr problem = test::problem(test::fork_join(4, 1e11, 1000), test::uniform_machine(4));
        // Source, one branch and sink in a row instead of six ops.
        const double single_s = search("single-device", problem, 10).progress.best.penalised_s;
        const double expert_s = search("expert", problem, 10).progress.best.penalised_s;
        QVERIFY(std::abs(single_s - 0.6) < 1e-3);
        QVERIFY(std::abs(expert_s - 0.3) < 1e-3);
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

QTEST_GUILESS_MAIN(TestAlgorithms)
#include "tst_algorithms.moc"
