// SPDX-License-Identifier: MIT
// Linear search, simulated annealing, MCMC, tabu search and particle swarm.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/search/algorithms/generalized_annealing.hpp"
#include "core/search/parts/neighbourhood.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::error_of, test::make, test::ProblemPtr, test::search, test::text, test::Variant, test::whole;

namespace {

const std::map<std::string, Variant>& variants() {
    static const std::map<std::string, Variant> all{
        {"linear", {"linear-search", {}}},
        {"annealing", {"simulated-annealing", {{"steps", whole(1000)}}}},
        {"annealing that learns", {"simulated-annealing", {{"learn_moves", true}, {"steps", whole(800)}}}},
        {"annealing of Exprimo",
         {"simulated-annealing",
          {{"acceptance", text("logistic")},
           {"start_temperature_ms", 40.0},
           {"decay", 0.95},
           {"steps", whole(500)},
           {"block_moves", 0.0},
           {"start", text("random")}}}},
        {"annealing, slower each time",
         {"simulated-annealing", {{"steps", whole(700)}, {"growth", 1.5}, {"start", text("single-device")}}}},
        {"annealing of scipy",
         {"simulated-annealing", {{"method", text("generalized")}, {"start", text("random")}}}},
        {"annealing, quick restarts",
         {"simulated-annealing", {{"method", text("generalized")}, {"restart_temperature_ratio", 0.01}}}},
        {"mcmc", {"mcmc", {{"shortest_chain", whole(300)}}}},
        {"mcmc blocks", {"mcmc", {{"block_moves", 0.7}, {"return_period", whole(30)}, {"alpha", 0.1}}}},
        {"tabu", {"tabu", {}}},
        {"tabu full",
         {"tabu",
          {{"sample", whole(0)}, {"tenure", whole(3)}, {"start", text("random")}, {"patience", whole(20)}}}},
        {"swarm", {"particle-swarm", {{"patience", whole(10)}}}},
        {"swarm small",
         {"particle-swarm",
          {{"swarm_size", whole(5)}, {"include_trivial_solutions", false}, {"patience", whole(8)}}}},
    };
    return all;
}

void add_variants() {
    QTest::addColumn<QString>("variant");
    for (const auto& [name, variant] : variants())
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

Score score_of(const ProblemPtr& problem, const Placement& placement) {
    Simulator simulator(problem);
    return MemoryPenalty().score(*problem, simulator.run(placement));
}

/// Simulates every placement separately, without cache and base.
class PlainEvaluator final : public Evaluator {
public:
    explicit PlainEvaluator(ProblemPtr problem) : problem_(std::move(problem)), simulator_(problem_) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token,
                  Bases) override {
        for (std::size_t i = 0; i < placements.size(); ++i)
            scores[i] = MemoryPenalty().score(*problem_, simulator_.run(placements[i]));
        runs_ += placements.size();
        return true;
    }
    std::uint64_t runs() const override { return runs_; }

private:
    ProblemPtr problem_;
    Simulator simulator_;
    std::uint64_t runs_ = 0;
};

ProblemPtr tiny(std::uint64_t seed) {
    return test::problem(test::random_graph(seed, 7, 2, Training::implicit), test::uniform_machine(3));
}

/// Some ops may only be on the first two devices, one only on the last.
ProblemPtr constrained(std::uint64_t seed) {
    const Graph graph = test::random_graph(seed, 40, 3, Training::implicit);
    GroupId at = 0;
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        op.scope = "part" + std::to_string(at / 10) + "/" + std::to_string(at / 4);
        if (at % 7 == 3) op.devices = {"gpu:0", "gpu:1"};
        if (at == 5) op.devices = {"gpu:3"};
        ++at;
        builder.add(op);
    }
    return test::problem(builder.build(), test::uniform_machine(4));
}

/// A chain of ops with parameters; each device has memory for `share` of the peak of one device.
ProblemPtr limited(double share) {
    const auto on = [](Machine machine) {
        GraphBuilder builder("chain", 1, Training::implicit);
        const Graph chain = test::chain(24);
        for (const Op& op : chain.ops()) {
            Op copy = op;
            copy.parameter_bytes = 10'000'000;
            builder.add(copy);
        }
        return test::problem(builder.build(), std::move(machine));
    };
    const ProblemPtr roomy = on(test::uniform_machine(1));
    Simulator simulator(roomy);
    const double peak_bytes = simulator.run(Placement(roomy->groups, 0)).peak_bytes[0];
    return on(test::uniform_machine(4, share * peak_bytes));
}

/// Gives an optimizer the same score for all proposals until it has made `count`; returns the proposals.
std::vector<Placement> proposals(Optimizer& optimizer, std::size_t count, const Score& score = {1, 1, true}) {
    std::vector<Placement> all;
    while (all.size() < count) {
        const auto batch = optimizer.ask(count - all.size());
        if (batch.empty()) break;
        all.insert(all.end(), batch.begin(), batch.end());
        optimizer.tell(std::vector<Score>(batch.size(), score));
    }
    return all;
}

/// Share of `trials` in which a chain at score 1 s moves to a neighbour of 1 s + rise.
double acceptance(const std::string& id, const OptionValues& values, double rise_s, int trials = 4000) {
    const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
    int accepted = 0;
    for (int seed = 1; seed <= trials; ++seed) {
        const auto optimizer = make(id, problem, values, static_cast<std::uint64_t>(seed));
        optimizer->ask(1);
        optimizer->tell(std::vector<Score>{{1, 1, true}});
        const Placement neighbour = optimizer->ask(1).front();
        optimizer->tell(std::vector<Score>{{1 + rise_s, 1 + rise_s, true}});
        optimizer->ask(1);
        if (*optimizer->base(0) == neighbour) ++accepted;
    }
    return static_cast<double>(accepted) / trials;
}

/// Positions of the particles, [iteration][particle]: one op on one of 41 devices, of which `target` is the
/// best.
std::vector<std::vector<int>> flights(OptionValues values, int target, int iterations) {
    const ProblemPtr problem = test::problem(test::chain(1), test::uniform_machine(41));
    values.insert({{"swarm_size", whole(60)}, {"patience", whole(0)}, {"include_trivial_solutions", false}});
    const auto optimizer = make("particle-swarm", problem, values);
    std::vector<std::vector<int>> places;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        const auto batch = optimizer->ask(1000);
        std::vector<Score> scores;
        places.emplace_back();
        for (const Placement& placement : batch) {
            places.back().push_back(placement[0]);
            const double score_s = 1 + std::abs(int{placement[0]} - target);
            scores.push_back({score_s, score_s, true});
        }
        optimizer->tell(scores);
    }
    return places;
}

}  // namespace

class TestLocalSearch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linear_search_tries_every_placement_once() {
        const ProblemPtr problem = test::problem(test::chain(5), test::uniform_machine(3));
        for (const int batch_size : {1, 7, 256}) {
            const auto optimizer = make("linear-search", problem, {{"batch_size", whole(batch_size)}});
            const std::vector<Placement> all = proposals(*optimizer, 1000);
            QCOMPARE(all.size(), std::size_t{243});
            QVERIFY(std::is_sorted(all.begin(), all.end()));
            QCOMPARE(std::set<Placement>(all.begin(), all.end()).size(), std::size_t{243});
            QVERIFY(optimizer->ask(10).empty());
        }
        QCOMPARE(search("linear-search", problem, 1000).end, SearchEnd::exhausted);
        QCOMPARE(search("linear-search", problem, 242).end, SearchEnd::budget);
    }

    /// Placements without an objective (block latency of blocks that wait for each other) say nothing about
    /// the temperature.
    void annealing_is_not_heated_by_what_is_not_defined() {
        const ProblemPtr problem = test::problem(test::chain(24), test::uniform_machine(2));
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            const auto optimizer = find_algorithm("simulated-annealing")
                                       ->make({problem, seed, {}, 4000}, {{"start", text("random")},
                                                                          {"steps", whole(0)},
                                                                          {"block_moves", 0.0},
                                                                          {"fresh_starts", false}});
            std::size_t left = 24;
            for (int evaluation = 0; evaluation < 4000; ++evaluation) {
                const Placement& placement = optimizer->ask(1).front();
                const auto elsewhere = static_cast<std::size_t>(std::ranges::count(placement, DeviceId{1}));
                Random own(seed * 1000 + static_cast<std::uint64_t>(evaluation));
                const double value_s = 1 + static_cast<double>(elsewhere);
                optimizer->tell(std::vector<Score>{
                    elsewhere > 0 && own.chance(0.3) ? kUndefinedScore : Score{value_s, value_s, true}});
                left = std::min(left, elsewhere);
            }
            QCOMPARE(left, std::size_t{0});
        }
    }

    /// All moves of one op: as many as there are, however few are asked for at a time.
    void tabu_asks_for_all_moves_in_parts() {
        const ProblemPtr problem = test::problem(test::chain(7), test::uniform_machine(4));
        const auto optimizer =
            make("tabu", problem, {{"sample", whole(0)}, {"start", text("single-device")}});
        const Placement start = optimizer->ask(5).front();
        optimizer->tell(std::vector<Score>{{1, 1, true}});
        std::set<Placement> neighbours;
        while (neighbours.size() < 21) {
            const auto batch = optimizer->ask(5);
            QVERIFY(!batch.empty() && batch.size() <= 5);
            for (const Placement& placement : batch) {
                QCOMPARE(std::ranges::mismatch(placement, start).in1 != placement.end(), true);
                QVERIFY(neighbours.insert(placement).second);
            }
            optimizer->tell(std::vector<Score>(batch.size(), Score{2, 2, true}));
        }
    }

    void linear_search_keeps_to_the_choices() {
        GraphBuilder builder("constrained");
        for (const char* name : {"a", "b", "c"}) {
            Op op;
            op.name = name;
            op.kind = "relu";
            op.outputs = {make_tensor({4})};
            if (op.name == "b") op.devices = {"gpu:1"};
            if (op.name == "c") op.devices = {"gpu:0", "gpu:2"};
            builder.add(op);
        }
        const auto optimizer =
            make("linear-search", test::problem(builder.build(), test::uniform_machine(3)));
        QCOMPARE(proposals(*optimizer, 100),
                 (std::vector<Placement>{{0, 1, 0}, {0, 1, 2}, {1, 1, 0}, {1, 1, 2}, {2, 1, 0}, {2, 1, 2}}));
    }

    void linear_search_uses_a_cpu_where_the_gpu_is_too_small() {
        const Graph graph = test::chain(3);
        std::vector<Device> devices(2);
        devices[0].name = "cpu";
        devices[0].kind = DeviceKind::cpu;
        devices[1].name = "gpu";
        devices[1].memory_bytes = 1;
        for (Device& device : devices) device.peak_flops = device.memory_bandwidth = 1e12;
        devices[0].memory_bytes = 1e12;
        const Machine machine("small", devices, {{"link", 1e9, 0, 1, {}}}, {{0, 1, {0}}, {1, 0, {0}}});
        const SearchResult found = search("linear-search", test::problem(graph, machine), 100);
        QCOMPARE(found.end, SearchEnd::exhausted);
        QVERIFY(found.progress.best.fits);
    }

    void optimum_of_small_graphs_is_found_data() { add_variants(); }

    void optimum_of_small_graphs_is_found() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            const ProblemPtr problem = tiny(seed);
            const SearchResult best = search("linear-search", problem, 10'000);
            QCOMPARE(best.end, SearchEnd::exhausted);
            const SearchResult result = search(tested.id, problem, 10'000, tested.values, seed);
            QCOMPARE(result.progress.best.penalised_s, best.progress.best.penalised_s);
            QVERIFY(score_of(problem, *result.progress.best_placement) == result.progress.best);
        }
    }

    void same_seed_same_answer_data() { add_variants(); }

    void same_seed_same_answer() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        const ProblemPtr problem = constrained(5);
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            PlainEvaluator plain(problem);
            const SearchResult expected =
                run_search(*make(tested.id, problem, tested.values, seed), plain, {1500});
            for (const unsigned threads : {1U, 2U}) {
                const SearchResult result = search(tested.id, problem, 1500, tested.values, seed, threads);
                QCOMPARE(result.end, expected.end);
                QCOMPARE(result.progress.evaluations, expected.progress.evaluations);
                QVERIFY(result.progress.best == expected.progress.best);
                QCOMPARE(*result.progress.best_placement, *expected.progress.best_placement);
                QCOMPARE(result.progress.curve->size(), expected.progress.curve->size());
            }
        }
    }

    void proposals_are_allowed_and_few_data() { add_variants(); }

    void proposals_are_allowed_and_few() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const ProblemPtr problem = constrained(seed);
            const auto optimizer = make(tested.id, problem, tested.values, seed);
            Simulator simulator(problem);
            Random random(seed);
            for (int round = 0; round < 300; ++round) {
                const std::size_t limit = 1 + random.index(20);
                const auto batch = optimizer->ask(limit);
                QVERIFY(!batch.empty() && batch.size() <= limit);
                std::vector<Score> scores;
                for (const Placement& placement : batch) {
                    check_placement(*problem, placement);
                    scores.push_back(MemoryPenalty().score(*problem, simulator.run(placement)));
                }
                optimizer->tell(scores);
            }
        }
    }

    void single_gene_and_single_device_work_data() { add_variants(); }

    void single_gene_and_single_device_work() {
        QFETCH(QString, variant);
        const Variant& tested = variants().at(variant.toStdString());
        for (const auto& problem : {test::problem(test::chain(1), test::uniform_machine(1)),
                                    test::problem(test::chain(1), test::uniform_machine(3)),
                                    test::problem(test::chain(4), test::uniform_machine(1))}) {
            const SearchResult result = search(tested.id, problem, 100, tested.values);
            QCOMPARE(result.progress.best.penalised_s,
                     search("linear-search", problem, 100).progress.best.penalised_s);
        }
    }

    void seeds_are_proposed_first_data() {
        QTest::addColumn<QString>("id");
        QTest::addColumn<OptionValues>("values");
        QTest::newRow("annealing") << "simulated-annealing" << OptionValues{};
        QTest::newRow("annealing of scipy")
            << "simulated-annealing" << OptionValues{{"method", text("generalized")}};
        QTest::newRow("mcmc") << "mcmc" << OptionValues{};
        QTest::newRow("tabu") << "tabu" << OptionValues{};
        QTest::newRow("swarm") << "particle-swarm" << OptionValues{};
    }

    void seeds_are_proposed_first() {
        QFETCH(QString, id);
        QFETCH(OptionValues, values);
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        const std::vector<Placement> seeds{{0, 1, 2, 0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1, 2, 2, 2}};
        const std::vector<Placement> first = proposals(*make(id.toStdString(), problem, values, 1, seeds), 2);
        QCOMPARE(first, seeds);
        QVERIFY_THROWS_EXCEPTION(PlacementError,
                                 make(id.toStdString(), problem, values, 1, {Placement(8, 0)}));
        QVERIFY_THROWS_EXCEPTION(PlacementError,
                                 make(id.toStdString(), problem, values, 1, {Placement(9, 3)}));
    }

    void walks_start_at_the_best_start_data() {
        QTest::addColumn<QString>("id");
        for (const char* id : {"simulated-annealing", "mcmc", "tabu"}) QTest::newRow(id) << id;
    }

    void walks_start_at_the_best_start() {
        QFETCH(QString, id);
        const ProblemPtr problem = test::problem(test::chain(6), test::uniform_machine(3));
        const std::vector<Placement> seeds{{0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1}, {2, 2, 2, 1, 1, 1}};
        const auto optimizer = make(id.toStdString(), problem, {}, 1, seeds);
        QCOMPARE(optimizer->ask(2).size(), std::size_t{2});
        optimizer->tell(std::vector<Score>{{9, 9, true}, {4, 4, true}});
        // Then the splits.
        int others = 0;
        while (optimizer->base(0) == nullptr) {
            QVERIFY(!optimizer->ask(1).empty());
            optimizer->tell(std::vector<Score>{{5, 5, true}});
            ++others;
        }
        QVERIFY(others > 1);
        QCOMPARE(*optimizer->base(0), seeds[1]);
    }

    void wrong_options_are_refused() {
        const ProblemPtr problem = tiny(1);
        QCOMPARE(error_of<OptionError>([&] {
                     make("simulated-annealing", problem,
                          {{"acceptance", text("logistic")}, {"start_acceptance", 0.6}});
                 }),
                 "start_acceptance = 0.6 is out of range, expected less than 0.5 with acceptance = logistic");
        QCOMPARE(error_of<OptionError>([&] {
                     make("simulated-annealing", problem, {{"decay", 1.5}});
                 }),
                 "decay = 1.5 is out of range, expected 0 to 1");
        QVERIFY(error_of<OptionError>([&] {
                    make("simulated-annealing", problem, {{"method", text("quantum")}});
                }).contains("is not one of"));
        QCOMPARE(error_of<OptionError>([&] {
                     make("tabu", problem, {{"patience", whole(0)}});
                 }),
                 "patience = 0 is out of range, expected 1 to 1000000000");
        for (const char* id : {"linear-search", "simulated-annealing", "mcmc", "tabu", "particle-swarm"}) {
            QVERIFY(error_of<OptionError>([&] {
                        make(id, problem, {{"colour", true}});
                    }).startsWith("unknown option \"colour\""));
        }
    }

    void limited_memory_ends_in_what_fits_data() {
        QTest::addColumn<QString>("variant");
        for (const auto& [name, variant] : variants()) {
            if (name != "linear") QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    void limited_memory_ends_in_what_fits() {
        QFETCH(QString, variant);
        Variant tested = variants().at(variant.toStdString());
        if (tested.id != "particle-swarm") tested.values["start"] = text("single-device");
        const ProblemPtr problem = limited(0.4);
        QVERIFY(!score_of(problem, Placement(problem->groups, 0)).fits);
        const SearchResult result = search(tested.id, problem, 4000, tested.values);
        QVERIFY(result.progress.best.fits);
        QVERIFY(score_of(problem, *result.progress.best_placement).fits);
    }

    void chances_of_acceptance_are_those_of_the_rules() {
        const OptionValues metropolis{
            {"start_temperature_ms", 50.0}, {"block_moves", 0.0}, {"start", text("single-device")}};
        OptionValues logistic = metropolis;
        logistic["acceptance"] = text("logistic");
        // Four standard deviations of 4000 trials are 0.032 at most.
        QVERIFY(std::abs(acceptance("simulated-annealing", metropolis, 0.05) - std::exp(-1)) < 0.032);
        QVERIFY(std::abs(acceptance("simulated-annealing", metropolis, 0.1) - std::exp(-2)) < 0.032);
        QVERIFY(std::abs(acceptance("simulated-annealing", logistic, 0.05) - 1 / (1 + std::exp(1))) < 0.032);
        QVERIFY(std::abs(acceptance("simulated-annealing", logistic, 0) - 0.5) < 0.032);
        QCOMPARE(acceptance("simulated-annealing", metropolis, -0.01, 100), 1.0);
        QCOMPARE(acceptance("simulated-annealing", logistic, -0.01, 100), 1.0);
        const OptionValues chain{{"alpha", 0.02}, {"start", text("single-device")}};
        QVERIFY(std::abs(acceptance("mcmc", chain, 0.05) - std::exp(-1)) < 0.032);
        QCOMPARE(acceptance("mcmc", chain, 0, 100), 1.0);
        // The default is 1/e for a rise of 1 % of the best, which is 1 s here.
        const OptionValues usual{{"start", text("single-device")}};
        QVERIFY(std::abs(acceptance("mcmc", usual, 0.01) - std::exp(-1)) < 0.032);
    }

    /// Exprimo's own annealing: T = 40 ms * 0.95^t; a rise of d is accepted with probability 1 / (1 + exp(d
    /// / T)).
    void chances_after_so_many_steps_are_those_of_exprimos_schedule() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        constexpr int kTrials = 3000;
        for (const int step : {0, 10, 25}) {
            int accepted = 0;
            for (int seed = 1; seed <= kTrials; ++seed) {
                const auto optimizer = make("simulated-annealing", problem,
                                            {{"acceptance", text("logistic")},
                                             {"start_temperature_ms", 40.0},
                                             {"decay", 0.95},
                                             {"block_moves", 0.0},
                                             {"start", text("single-device")}},
                                            static_cast<std::uint64_t>(seed));
                optimizer->ask(1);
                optimizer->tell(std::vector<Score>{{1, 1, true}});
                for (int before = 0; before < step; ++before) {
                    optimizer->ask(1);
                    optimizer->tell(std::vector<Score>{{1e9, 1e9, true}});  // never accepted
                }
                const Placement neighbour = optimizer->ask(1).front();
                optimizer->tell(std::vector<Score>{{1.02, 1.02, true}});
                if (*optimizer->base(0) == neighbour) ++accepted;
            }
            const double temperature_ms = 40 * std::pow(0.95, step),
                         expected = 1 / (1 + std::exp(20 / temperature_ms));
            // Four standard deviations of 3000 trials.
            QVERIFY2(std::abs(accepted / double{kTrials} - expected) < 0.037,
                     qPrintable(QString("step %1: %2 of %3, expected %4")
                                    .arg(step)
                                    .arg(accepted)
                                    .arg(kTrials)
                                    .arg(expected)));
        }
    }

    /// scipy's dual_annealing: at step t = 1, 2, ... T = T_1 (2^(q_v - 1) - 1) / ((1 + t)^(q_v - 1) - 1),
    /// and a rise of d ms is accepted with probability [1 - (1 - q_a) d t / T]^(1 / (1 - q_a)). Each step
    /// has 2 n visits.
    void chances_after_so_many_steps_are_those_of_dual_annealing() {
        const ProblemPtr problem = test::problem(test::chain(2), test::uniform_machine(4));
        constexpr int kTrials = 3000;
        constexpr double kRise_ms = 20;
        for (const int step : {1, 5, 7, 8}) {
            int accepted = 0, moved = 0;
            for (int seed = 1; seed <= kTrials; ++seed) {
                const auto optimizer = make("simulated-annealing", problem,
                                            {{"method", text("generalized")},
                                             {"acceptance_q", -1.0},
                                             {"start", text("single-device")}},
                                            static_cast<std::uint64_t>(seed));
                optimizer->ask(1);
                optimizer->tell(std::vector<Score>{{1, 1, true}});
                // Four visits per step; the last two change one op each and have a base.
                for (int visit = 0; visit < 4 * (step - 1) + 2; ++visit) {
                    optimizer->ask(1);
                    optimizer->tell(std::vector<Score>{{1e9, 1e9, true}});
                }
                const Placement visited = optimizer->ask(1).front();
                if (visited == *optimizer->base(0)) continue;
                ++moved;
                optimizer->tell(std::vector<Score>{{1 + kRise_ms / 1000, 1 + kRise_ms / 1000, true}});
                if (*optimizer->base(0) == visited) ++accepted;
            }
            QVERIFY(moved > kTrials / 2);
            const double temperature_ms = 5230 * (std::pow(2, 1.62) - 1) / (std::pow(1 + step, 1.62) - 1);
            const double bracket = 1 - 2 * kRise_ms * step / temperature_ms;
            const double expected = bracket > 0 ? std::sqrt(bracket) : 0;
            QVERIFY2(std::abs(accepted / double(moved) - expected) < (expected > 0 ? 0.05 : 1e-9),
                     qPrintable(QString("step %1: %2 of %3, expected %4")
                                    .arg(step)
                                    .arg(accepted)
                                    .arg(moved)
                                    .arg(expected)));
        }
    }

    void temperature_falls_by_the_decay() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        const OptionValues values{{"start_temperature_ms", 1e9},
                                  {"decay", 0.1},
                                  {"steps", whole(100)},
                                  {"start", text("single-device")},
                                  {"fresh_starts", false}};
        const auto optimizer = make("simulated-annealing", problem, values);
        optimizer->ask(1);
        double here_s = 1;
        optimizer->tell(std::vector<Score>{{here_s, here_s, true}});
        std::vector<bool> moved;
        for (int step = 0; step < 101; ++step) {
            const Placement neighbour = optimizer->ask(1).front();
            optimizer->tell(std::vector<Score>{{here_s + 1, here_s + 1, true}});
            moved.push_back(*optimizer->base(0) == neighbour);
            if (moved.back()) ++here_s;
        }
        // Each move is a rise of 1 s; T = 1e6 s * 0.1^t is at least 1000 s in the first four steps, and at
        // most 10 ms from the ninth.
        QVERIFY(std::all_of(moved.begin(), moved.begin() + 4, std::identity()));
        QVERIFY(std::none_of(moved.begin() + 8, moved.begin() + 100, std::identity()));
        QVERIFY(moved[100]);  // reheated
    }

    /// With several threads a walk proposes the neighbours of several steps; those behind the first one that
    /// is accepted do not count.
    void steps_behind_an_accepted_one_do_not_count() {
        Workers workers(2);
        if (workers.threads() < 2) QSKIP("one core");
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        const OptionValues values{{"start_temperature_ms", 1e-6}, {"start", text("single-device")}};
        const auto optimizer = make("simulated-annealing", problem, values);
        const auto alone = make("simulated-annealing", problem, values);
        optimizer->work_with(&workers);
        for (const auto& each : {optimizer.get(), alone.get()}) {
            each->ask(1);
            each->tell(std::vector<Score>{{5, 5, true}});
        }
        const auto batch = optimizer->ask(10);
        QVERIFY(batch.size() > 1);
        const Placement first = batch[0], second = batch[1];
        std::vector<Score> scores(batch.size(), Score{1, 1, true});
        scores[0] = {6, 6, true};
        scores[1] = {4, 4, true};
        optimizer->tell(scores);
        QVERIFY(optimizer->proposes_ahead());
        QCOMPARE(optimizer->counted().size(), std::size_t{2});
        QCOMPARE(*optimizer->counted().back().placement, second);
        QCOMPARE(*optimizer->base(0), second);

        const auto one = alone->ask(10);
        QCOMPARE(one.size(), std::size_t{1});
        QCOMPARE(one.front(), first);
        alone->tell(std::vector<Score>{{6, 6, true}});
        QCOMPARE(alone->ask(10).front(), second);
        alone->tell(std::vector<Score>{{4, 4, true}});
        QCOMPARE(alone->ask(10).front(), optimizer->ask(10).front());
    }

    void start_temperature_is_that_of_the_wanted_chance() {
        // All neighbours cost 0.2 s more; after the 100 moves of the calibration, 25 % of them are accepted.
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        for (const char* rule : {"metropolis", "logistic"}) {
            const auto optimizer = make("simulated-annealing", problem,
                                        {{"start_acceptance", 0.25},
                                         {"steps", whole(1'000'000)},
                                         {"acceptance", text(rule)},
                                         {"end_temperature_ratio", 1.0},
                                         {"start", text("single-device")}});
            optimizer->ask(1);
            double here_s = 1;
            optimizer->tell(std::vector<Score>{{here_s, here_s, true}});
            int accepted = 0;
            for (int step = 0; step < 4100; ++step) {
                const Placement neighbour = optimizer->ask(1).front();
                optimizer->tell(std::vector<Score>{{here_s + 0.2, here_s + 0.2, true}});
                if (*optimizer->base(0) != neighbour) continue;
                here_s += 0.2;
                if (step >= 100) ++accepted;
            }
            QVERIFY2(std::abs(accepted / 4000.0 - 0.25) < 0.03, rule);
        }
    }

    void visiting_distribution_is_cauchys_at_q_2() {
        const VisitingDistribution visiting(2);
        Random random(1);
        std::vector<double> jumps;
        for (int i = 0; i < 40'001; ++i) jumps.push_back(visiting.draw(3, random));
        std::ranges::sort(jumps);
        // The quartiles of the Cauchy distribution are at plus and minus its scale.
        QVERIFY(std::abs(jumps[10'000] + 3) < 0.15);
        QVERIFY(std::abs(jumps[20'000]) < 0.15);
        QVERIFY(std::abs(jumps[30'000] - 3) < 0.15);
    }

    void visiting_distribution_narrows_as_it_cools() {
        const VisitingDistribution visiting(2.62);
        // The scale is proportional to T^(1 / (3 - q)): equal random numbers give jumps in that ratio.
        Random hot(7), cold(7);
        for (int i = 0; i < 20; ++i) {
            const double ratio = visiting.draw(16, hot) / visiting.draw(2, cold);
            QVERIFY(std::abs(ratio / std::pow(8, 1 / 0.38) - 1) < 1e-9);
        }
        QCOMPARE(visiting_temperature(5230, 2.62, 1), 5230.0);
        QVERIFY(std::abs(visiting_temperature(5230, 2, 9) - 5230.0 / 9) < 1e-9);
        QVERIFY(visiting_temperature(5230, 2.62, 1220) < 5230 * 2.1e-5);
    }

    void generalized_acceptance_is_tsallis() {
        QCOMPARE(generalized_acceptance(-5, 0, 10), 1.0);
        QCOMPARE(generalized_acceptance(-5, 2, 10), 0.0);
        QVERIFY(std::abs(generalized_acceptance(-5, 1, 10) - std::pow(0.4, 1 / 6.0)) < 1e-12);
        QVERIFY(std::abs(generalized_acceptance(0.9999, 1, 2) - std::exp(-0.5)) < 1e-3);
    }

    void mcmc_stops_chains_that_find_nothing() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        OptionValues values{
            {"shortest_chain", whole(50)}, {"restarts", whole(2)}, {"start", text("single-device")}};
        // A start and 50 moves, three times.
        QCOMPARE(proposals(*make("mcmc", problem, values), 10'000).size(), std::size_t{153});
        values["early_stopping"] = false;
        QCOMPARE(proposals(*make("mcmc", problem, values), 10'000).size(), std::size_t{10'000});
    }

    void mcmc_returns_to_the_best() {
        const ProblemPtr problem = test::problem(test::chain(9), test::uniform_machine(3));
        const Placement start(9, 0);
        const auto optimizer =
            make("mcmc", problem,
                 {{"alpha", 1e-9}, {"return_period", whole(10)}, {"start", text("single-device")}});
        optimizer->ask(1);
        optimizer->tell(std::vector<Score>{{1, 1, true}});
        int away = 0;
        for (int step = 1; step <= 30; ++step) {
            optimizer->ask(1);
            optimizer->tell(std::vector<Score>{{2, 2, true}});
            if (step % 10 == 0) QCOMPARE(*optimizer->base(0), start);
            if (*optimizer->base(0) != start) ++away;
        }
        QVERIFY(away > 20);
    }

    void tabu_takes_the_best_that_is_not_forbidden() {
        const ProblemPtr problem = test::problem(test::chain(3), test::uniform_machine(2));
        for (const bool aspiration : {false, true}) {
            const auto optimizer = make("tabu", problem,
                                        {{"sample", whole(0)},
                                         {"tenure", whole(2)},
                                         {"aspiration", aspiration},
                                         {"start", text("single-device")}});
            optimizer->ask(1);
            optimizer->tell(std::vector<Score>{{5, 5, true}});
            // A full round in two calls of ask(); the best neighbour is worse than the current placement and
            // still taken.
            QCOMPARE(optimizer->ask(2).size(), std::size_t{2});
            optimizer->tell(std::vector<Score>{{8, 8, true}, {6, 6, true}});
            QCOMPARE(optimizer->ask(2).size(), std::size_t{1});
            optimizer->tell(std::vector<Score>{{7, 7, true}});
            QCOMPARE(*optimizer->base(0), (Placement{0, 1, 0}));
            // The return to {0, 0, 0} is tabu unless it is the best so far.
            const auto batch = optimizer->ask(10);
            QCOMPARE(std::vector<Placement>(batch.begin(), batch.end()),
                     (std::vector<Placement>{{1, 1, 0}, {0, 0, 0}, {0, 1, 1}}));
            optimizer->tell(std::vector<Score>{{9, 9, true}, {4, 4, true}, {8, 8, true}});
            QCOMPARE(*optimizer->base(0), aspiration ? (Placement{0, 0, 0}) : (Placement{0, 1, 1}));
        }
    }

    void tabu_ends_after_its_restarts() {
        const ProblemPtr problem = test::problem(test::chain(4), test::uniform_machine(2));
        const OptionValues values{{"sample", whole(3)},
                                  {"patience", whole(10)},
                                  {"restarts", whole(1)},
                                  {"start", text("single-device")}};
        // A start and 10 steps of 3, twice.
        QCOMPARE(proposals(*make("tabu", problem, values), 1000).size(), std::size_t{62});
    }

    void swarm_is_drawn_to_the_best_place() {
        const ProblemPtr problem = test::problem(test::chain(20), test::uniform_machine(4));
        const Placement target{3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0};
        const auto optimizer =
            make("particle-swarm", problem, {{"swarm_size", whole(20)}, {"patience", whole(0)}});
        const auto distance = [&](const Placement& placement) {
            double sum = 0;
            for (std::size_t i = 0; i < target.size(); ++i) sum += std::abs(placement[i] - target[i]);
            return sum;
        };
        double first = 0, last = 0;
        for (int iteration = 0; iteration < 60; ++iteration) {
            const auto batch = optimizer->ask(1000);
            QCOMPARE(batch.size(), std::size_t{20});
            std::vector<Score> scores;
            double sum = 0;
            for (const Placement& placement : batch) {
                scores.push_back({distance(placement), distance(placement), true});
                sum += distance(placement);
            }
            (iteration == 0 ? first : last) = sum / 20;
            optimizer->tell(scores);
        }
        QVERIFY(last < first / 3);
    }

    void a_particle_keeps_its_inertia_of_its_velocity() {
        for (const double inertia : {0.0, 0.5, 1.0}) {
            const auto places = flights({{"inertia", inertia},
                                         {"personal_weight", 0.0},
                                         {"swarm_weight", 0.0},
                                         {"largest_step", 0.3}},
                                        20, 4);
            int free = 0;
            for (std::size_t particle = 0; particle < places[0].size(); ++particle) {
                const int first = places[1][particle] - places[0][particle],
                          second = places[2][particle] - places[1][particle],
                          third = places[3][particle] - places[2][particle];
                // Positions are clamped to the range; 0.3 of a range of 40 is the longest step; positions
                // are rounded, by up to one half each.
                QVERIFY(std::abs(first) <= 12 * inertia + 1);
                if (std::ranges::any_of(
                        places, [&](const auto& now) { return now[particle] == 0 || now[particle] == 40; }))
                    continue;
                ++free;
                QVERIFY(std::abs(second - inertia * first) <= 1 + inertia);
                QVERIFY(std::abs(third - inertia * second) <= 1 + inertia);
                if (inertia == 0) QVERIFY(first == 0 && second == 0 && third == 0);
            }
            QVERIFY(free > 10);
            if (inertia == 0) continue;
            QVERIFY(places[1] != places[0]);
        }
    }

    void a_swarm_pulls_by_its_weight_and_no_further_than_a_step() {
        // Each particle is at its own best position: without the swarm nothing attracts it.
        const auto alone =
            flights({{"inertia", 0.0}, {"personal_weight", 2.0}, {"swarm_weight", 0.0}}, 20, 3);
        QCOMPARE(alone[1], alone[0]);
        QCOMPARE(alone[2], alone[0]);
        // An attraction of at most 1 never overshoots the best position, and reaches half way on average.
        const auto together = flights(
            {{"inertia", 0.0}, {"personal_weight", 0.0}, {"swarm_weight", 1.0}, {"largest_step", 1.0}}, 20,
            2);
        const int best =
            *std::ranges::min_element(together[0], {}, [](int place) { return std::abs(place - 20); });
        double before = 0, after = 0;
        for (std::size_t particle = 0; particle < together[0].size(); ++particle) {
            const int from = together[0][particle] - best, to = together[1][particle] - best;
            QVERIFY(std::abs(to) <= std::abs(from) + 1);
            QVERIFY(from >= 0 ? to >= -1 : to <= 1);
            before += std::abs(from);
            after += std::abs(to);
        }
        QVERIFY2(std::abs(after / before - 0.5) < 0.15, qPrintable(QString::number(after / before)));
        const auto slow = flights(
            {{"inertia", 0.0}, {"personal_weight", 0.0}, {"swarm_weight", 10.0}, {"largest_step", 0.1}}, 20,
            2);
        int longest = 0;
        for (std::size_t particle = 0; particle < slow[0].size(); ++particle)
            longest = std::max(longest, std::abs(slow[1][particle] - slow[0][particle]));
        QVERIFY(longest >= 3 && longest <= 5);  // a tenth of 40, rounded at both ends
    }

    /// No placement of the 3^7 is faster than the one found from random particles.
    void swarm_finds_the_optimum_of_a_small_case() {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const ProblemPtr problem = tiny(seed);
            double least_s = kInfinity;
            Placement placement(problem->groups, 0);
            while (true) {
                least_s = std::min(least_s, score_of(problem, placement).penalised_s);
                std::size_t gene = 0;
                while (gene < placement.size() && ++placement[gene] == problem->devices)
                    placement[gene++] = 0;
                if (gene == placement.size()) break;
            }
            const auto optimizer =
                make("particle-swarm", problem,
                     {{"include_trivial_solutions", false}, {"patience", whole(15)}}, seed);
            PlainEvaluator evaluator(problem);
            QCOMPARE(run_search(*optimizer, evaluator, {6'000}).progress.best.penalised_s, least_s);
        }
    }

    void depth_first_order_keeps_branches_together() {
        GraphBuilder builder("branches");
        const auto add = [&](const std::string& name, std::vector<std::string> inputs) {
            Op op;
            op.name = name;
            op.kind = "relu";
            op.outputs = {make_tensor({4})};
            builder.add(op, std::move(inputs));
        };
        add("in", {});
        add("a1", {"in"});
        add("b1", {"in"});
        add("a2", {"a1"});
        add("b2", {"b1"});
        add("out", {"a2", "b2"});
        const ProblemPtr problem = test::problem(builder.build(), test::uniform_machine(2));
        QCOMPARE(depth_first_order(*problem), (std::vector<GroupId>{0, 1, 3, 2, 4, 5}));
    }

    void splits_are_of_equal_time_or_memory() {
        const ProblemPtr problem = test::problem(test::chain(6), test::uniform_machine(3));
        QCOMPARE(contiguous_splits(DeviceChoices(problem, false)),
                 (std::vector<Placement>{{0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2}}));
        const ProblemPtr tight = limited(0.4);
        const std::vector<Placement> splits = contiguous_splits(DeviceChoices(tight, false));
        QVERIFY(std::any_of(splits.begin(), splits.end(),
                            [&](const Placement& split) { return score_of(tight, split).fits; }));
    }

    void moves_change_something_and_keep_to_the_choices() {
        const ProblemPtr problem = constrained(2);
        const DeviceChoices choices(problem, false);
        Random random(3);
        for (const double block_moves : {0.0, 1.0}) {
            const Neighbourhood neighbourhood(choices, block_moves);
            Placement placement = choices.on_one_device(0);
            std::size_t largest = 0;
            for (int i = 0; i < 3000; ++i) {
                const Placement before = placement;
                neighbourhood.move(placement, random);
                std::size_t changed = 0;
                for (GroupId group = 0; group < placement.size(); ++group) {
                    QVERIFY(choices.allows(group, placement[group]));
                    if (placement[group] != before[group]) ++changed;
                }
                QVERIFY(changed > 0);
                largest = std::max(largest, changed);
            }
            QVERIFY(block_moves == 0 ? largest == 1 : largest > 10);
        }
    }

    void chances_of_moves_follow_what_improves() {
        Random random(1);
        const auto shares = [&](const MoveChances& chances) {
            std::array<double, kMoveKinds> drawn{};
            for (int i = 0; i < 20'000; ++i)
                drawn[static_cast<std::size_t>(chances.draw(random))] += 1.0 / 20'000;
            return drawn;
        };
        // Four standard deviations of 20 000 draws are 0.015 at most.
        MoveChances chances;
        for (const double share : shares(chances)) QVERIFY(std::abs(share - 1.0 / kMoveKinds) < 0.015);
        // Without any success the chances do not change.
        for (int i = 0; i < 100; ++i) chances.learn(MoveKind::single, false);
        for (const double share : shares(chances)) QVERIFY(std::abs(share - 1.0 / kMoveKinds) < 0.015);
        // Boundary moves improve every other time, all others never.
        for (int i = 0; i < 600; ++i)
            chances.learn(static_cast<MoveKind>(i % kMoveKinds),
                          i % 12 == static_cast<int>(MoveKind::boundary));
        const auto learned = shares(chances);
        const double boundary = learned[static_cast<std::size_t>(MoveKind::boundary)];
        QVERIFY(boundary > 0.25);
        for (std::size_t kind = 0; kind < kMoveKinds; ++kind) {
            QVERIFY(learned[kind] > 0.08);
            QVERIFY(learned[kind] <= boundary);
        }
        // The chances reverse when stage moves improve instead.
        for (int i = 0; i < 1200; ++i)
            chances.learn(static_cast<MoveKind>(i % kMoveKinds), i % 12 == static_cast<int>(MoveKind::stage));
        const auto turned = shares(chances);
        QVERIFY(turned[static_cast<std::size_t>(MoveKind::stage)] >
                turned[static_cast<std::size_t>(MoveKind::boundary)] + 0.1);
    }

    void moves_of_learned_kinds_change_something() {
        const ProblemPtr problem = constrained(2);
        const DeviceChoices choices(problem, false);
        const Neighbourhood neighbourhood(choices, 1);
        const MoveChances chances;
        Random random(3);
        Placement placement = choices.on_one_device(0);
        std::set<MoveKind> kinds;
        for (int i = 0; i < 3000; ++i) {
            const Placement before = placement;
            kinds.insert(neighbourhood.move(placement, chances, random));
            QVERIFY(placement != before);
            for (GroupId group = 0; group < placement.size(); ++group)
                QVERIFY(choices.allows(group, placement[group]));
        }
        QCOMPARE(kinds.size(), kMoveKinds);
    }
};

QTEST_GUILESS_MAIN(TestLocalSearch)
#include "tst_local_search.moc"
