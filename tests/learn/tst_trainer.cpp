// SPDX-License-Identifier: MIT
#include <cstring>
#include <mutex>
#include <thread>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/learn/policies.hpp"
#include "core/learn/training_run.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

struct Lesson {
    std::vector<std::shared_ptr<const Problem>> problems;
    std::vector<TrainingGraph> graphs;
};

/// Networks of two branches that are worth two GPUs.
Lesson lesson(std::size_t count) {
    Lesson lesson;
    for (std::size_t i = 0; i < count; ++i) {
        auto problem = test::problem(test::fork_join(4 + i, 1e9 + 1e8 * static_cast<double>(i), 1'000),
                                     test::uniform_machine(2));
        lesson.graphs.push_back({"fork" + std::to_string(i),
                                 std::make_shared<const PolicyGraph>(problem, false), reference_s(*problem)});
        lesson.problems.push_back(std::move(problem));
    }
    return lesson;
}

OptionValues small() {
    // Without what a list scheduler knows there is something to learn.
    return {{"rounds", std::int64_t{2}}, {"workers", std::int64_t{4}}, {"foresight", 0.0}};
}

Trainer trainer(const Lesson& lesson, const OptionValues& values, std::uint64_t seed = 1,
                unsigned threads = 1, TrainingPeers* peers = nullptr) {
    const PolicyDesign design = find_policy("placeto")->make(
        values, {lesson.graphs[0].graph->devices, lesson.graphs[0].graph->nodes});
    return {design.policy, design.training, lesson.graphs, seed, 100, threads, peers};
}

void update(Trainer& trainer, const Lesson& lesson) {
    std::vector<std::vector<Score>> scores;
    for (const Episode& episode : trainer.begin()) {
        scores.emplace_back(episode.placements.size());
        simulation_evaluator(lesson.problems[episode.graph], {}, {}, 1)
            ->evaluate(episode.placements, scores.back(), {});
    }
    trainer.finish(scores);
}

/// Peers that are threads of this process.
class Room {
public:
    explicit Room(std::uint32_t size) : size_(size), given_(size) {}

    std::vector<std::vector<std::byte>> exchange(std::uint32_t rank, std::vector<std::byte> own) {
        std::unique_lock lock(mutex_);
        given_[rank] = std::move(own);
        const std::uint64_t round = round_;
        if (++here_ == size_) {
            here_ = 0;
            ++round_;
            result_ = given_;
            changed_.notify_all();
        } else {
            changed_.wait(lock, [&] { return round_ != round; });
        }
        return result_;
    }

private:
    std::uint32_t size_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t here_ = 0;
    std::uint64_t round_ = 0;
    std::vector<std::vector<std::byte>> given_, result_;
};

class Peer final : public TrainingPeers {
public:
    Peer(Room& room, std::uint32_t rank, std::uint32_t size) : room_(room), rank_(rank), size_(size) {}
    std::uint32_t rank() const override { return rank_; }
    std::uint32_t size() const override { return size_; }
    std::vector<std::vector<std::byte>> exchange(std::vector<std::byte> own) override {
        return room_.exchange(rank_, std::move(own));
    }

private:
    Room& room_;
    std::uint32_t rank_, size_;
};

/// Draws as another, and asks for a stop on its way.
class StoppingPolicy final : public Policy {
public:
    explicit StoppingPolicy(std::shared_ptr<const Policy> policy) : policy_(std::move(policy)) {}

    const std::vector<PolicyParameter>& parameters() const override { return policy_->parameters(); }
    bool improves() const override { return policy_->improves(); }
    Rollout roll_out(const PolicyGraph& graph, std::span<const float> weights, const Placement& start,
                     std::span<const GroupId> order, Random& random, bool greedy) const override {
        if (++episodes == stop_at) stop.request_stop();
        return policy_->roll_out(graph, weights, start, order, random, greedy);
    }
    GradientSummary add_gradient(const GradientTask& task, std::span<float> gradient) const override {
        return policy_->add_gradient(task, gradient);
    }

    mutable int episodes = 0;
    int stop_at = 0;
    mutable std::stop_source stop;

private:
    std::shared_ptr<const Policy> policy_;
};

}  // namespace

class TestTrainer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cost_grows_with_the_score();
    void episodes_are_what_rewards_depend_on();
    void keeps_apart_data();
    void keeps_apart();
    void decisions_are_rewarded_together();
    void graphs_take_turns();
    void does_not_depend_on_threads();
    void does_not_depend_on_peers();
    void goes_on_from_a_state();
    void stops_between_episodes();
    void refuses_a_state_of_something_else();
    void learns_data();
    void learns();
    void predicts_what_it_has_not_seen();
    void searches_the_same_in_any_slices();
};

void TestTrainer::cost_grows_with_the_score() {
    double before = 0;
    for (double seconds = 0.1; seconds < 1e7; seconds *= 1.3) {
        const double cost = policy_cost({seconds, 1, true}, 0.5);
        QVERIFY(cost > before);
        QVERIFY(seconds > 5 || std::abs(cost - seconds / 0.5) < 1e-12);
        before = cost;
    }
    QVERIFY(before < 30);
}

void TestTrainer::keeps_apart_data() {
    QTest::addColumn<QString>("policy");
    for (const PolicyInfo& info : policies())
        QTest::newRow(info.id.c_str()) << QString::fromStdString(info.id);
}

/// What is scored, learned and predicted obeys the rules, which no policy knows.
void TestTrainer::keeps_apart() {
    QFETCH(QString, policy);
    ProblemOptions options;
    options.constraints.rules = {{Constraint::Rule::apart, {{"branch0", false}, {"branch1", false}}},
                                 {Constraint::Rule::apart, {{"source", false}, {"branch2", false}}}};
    const auto problem = test::problem(test::fork_join(4, 1e9, 1'000), test::uniform_machine(2), options);
    const auto graph = std::make_shared<const PolicyGraph>(problem, false);
    Lesson one{{problem}, {{"fork", graph, reference_s(*problem)}}};
    const PolicyInfo& info = *find_policy(policy.toStdString());
    const PolicyDesign design =
        info.make({{"workers", std::int64_t{4}}}, {one.graphs[0].graph->devices, one.graphs[0].graph->nodes});
    Trainer trainer(design.policy, design.training, one.graphs, 1, 100, 1);
    std::size_t mended = 0;
    for (int i = 0; i < 3; ++i) {
        for (const Episode& episode : trainer.begin()) {
            for (const Placement& placement : episode.placements)
                QCOMPARE(broken_rule(*problem, placement), std::string());
            Placement decided = episode.rollout.start;
            for (std::size_t j = 0; j < episode.rollout.nodes.size(); ++j)
                decided[episode.rollout.nodes[j]] = graph->choices.devices()[episode.rollout.devices[j]];
            mended += broken_rule(*problem, decided).empty() ? 0 : 1;
        }
        update(trainer, one);
    }
    QVERIFY(mended > 0);  // without the rules some of them would have been broken
    check_placement(*problem, trainer.state().best[0].placement);
    check_placement(*problem, last_placement(*graph, trainer.predict(*graph)));
}

void TestTrainer::episodes_are_what_rewards_depend_on() {
    const Lesson one = lesson(1);
    const std::size_t nodes = one.graphs[0].graph->choices.movable().size();
    OptionValues values = small();
    values["passes"] = std::int64_t{2};
    Trainer steps = trainer(one, values);
    QCOMPARE(steps.begin().size(), std::size_t{4});
    for (const Episode& episode : steps.begin()) {
        QCOMPARE(episode.placements.size(), 2 * nodes + 1);
        for (std::size_t i = 0; i < episode.placements.size(); ++i) {
            if (i == 0) continue;
            std::size_t moved = 0;
            for (std::size_t group = 0; group < episode.placements[i].size(); ++group)
                moved += episode.placements[i][group] != episode.placements[i - 1][group] ? 1 : 0;
            QVERIFY(moved <= 1);
        }
    }
    QCOMPARE(steps.evaluations_per_update(), std::uint64_t{4 * (2 * nodes + 1)});
    values["reward"] = std::string("terminal");
    Trainer terminal = trainer(one, values);
    for (const Episode& episode : terminal.begin()) QCOMPARE(episode.placements.size(), std::size_t{1});
    QCOMPARE(terminal.evaluations_per_update(), std::uint64_t{4});
}

void TestTrainer::decisions_are_rewarded_together() {
    const Lesson one = lesson(1);
    const std::size_t nodes = one.graphs[0].graph->choices.movable().size();
    constexpr std::size_t kTogether = 5;
    QVERIFY(nodes % kTogether != 0);
    OptionValues values = small();
    Trainer each = trainer(one, values);
    values["reward_interval"] = std::int64_t{kTogether};
    Trainer together = trainer(one, values);
    for (std::size_t i = 0; i < each.begin().size(); ++i) {
        const Episode &all = each.begin()[i], &some = together.begin()[i];
        QCOMPARE(some.rollout, all.rollout);
        QCOMPARE(some.placements.size(), 1 + (nodes + kTogether - 1) / kTogether);
        for (std::size_t j = 0; j + 1 < some.placements.size(); ++j)
            QCOMPARE(some.placements[j], all.placements[kTogether * j]);
        QCOMPARE(some.placements.back(), all.placements.back());
    }
    QCOMPARE(together.evaluations_per_update(), std::uint64_t{4 * (1 + (nodes + kTogether - 1) / kTogether)});

    // Made of the differences alone: a decision is told of its own part and, discounted, of those behind it.
    values["discount"] = 0.5;
    Trainer discounted = trainer(one, values);
    std::vector<std::vector<Score>> scores;
    for (const Episode& episode : discounted.begin()) {
        scores.emplace_back(episode.placements.size(), Score{one.graphs[0].reference_s, 1, true});
        scores.back()[1].penalised_s /= 2;  // the first part gains a half, which the second loses
    }
    discounted.finish(scores);
    const std::vector<double>& returns = discounted.state().returns[0].front();
    QCOMPARE(returns.size(), nodes);
    for (std::size_t i = 0; i < nodes; ++i)
        QCOMPARE(returns[i], i < kTogether       ? 0.5 - 0.5 * std::pow(0.5, kTogether)
                             : i < 2 * kTogether ? -0.5
                                                 : 0.0);
}

void TestTrainer::graphs_take_turns() {
    const Lesson three = lesson(3);
    Trainer trains = trainer(three, small());
    std::vector<int> uses(3);
    for (int i = 0; i < 6; ++i) {
        for (const Episode& episode : trains.begin()) ++uses[episode.graph];
        update(trains, three);
    }
    QCOMPARE(uses, (std::vector<int>{8, 8, 8}));
}

void TestTrainer::does_not_depend_on_threads() {
    const Lesson two = lesson(2);
    Trainer one = trainer(two, small(), 3, 1), four = trainer(two, small(), 3, 4);
    for (int i = 0; i < 3; ++i) {
        update(one, two);
        update(four, two);
    }
    QVERIFY(one.state() == four.state());
    Trainer other = trainer(two, small(), 4, 1);
    update(other, two);
    QVERIFY(other.state().weights != one.state().weights);
}

void TestTrainer::does_not_depend_on_peers() {
    const Lesson two = lesson(2);
    OptionValues values = small();
    for (const std::int64_t proximal : {0, 2}) {
        values["proximal_steps"] = proximal;
        Trainer alone = trainer(two, values, 3);
        for (int i = 0; i < 3; ++i) update(alone, two);
        constexpr std::uint32_t kPeers = 3;
        Room room(kPeers);
        std::vector<TrainingState> states(kPeers);
        {
            std::vector<std::jthread> threads;
            for (std::uint32_t rank = 0; rank < kPeers; ++rank) {
                threads.emplace_back([&, rank] {
                    Peer peer(room, rank, kPeers);
                    Trainer mine = trainer(two, values, 3, 1, &peer);
                    for (int i = 0; i < 3; ++i) update(mine, two);
                    states[rank] = mine.state();
                });
            }
        }
        for (const TrainingState& state : states) QVERIFY(state == alone.state());
    }
}

void TestTrainer::goes_on_from_a_state() {
    const Lesson two = lesson(2);
    for (const char* baseline : {"steps", "moving-average", "batch"}) {
        OptionValues values = small();
        values["baseline"] = std::string(baseline);
        values["proximal_steps"] = std::int64_t{1};
        values["start"] = std::string("best");
        Trainer whole = trainer(two, values);
        for (int i = 0; i < 5; ++i) update(whole, two);
        Trainer first = trainer(two, values);
        for (int i = 0; i < 2; ++i) update(first, two);
        first.begin();  // what was drawn when it was cut off is drawn again
        Trainer second = trainer(two, values);
        second.restore(first.state());
        for (int i = 0; i < 3; ++i) update(second, two);
        QVERIFY(second.state() == whole.state());
    }
}

/// What is left of the update is not drawn; it is drawn again the same.
void TestTrainer::stops_between_episodes() {
    const Lesson lesson = ::lesson(2);
    const PolicyDesign design = find_policy("placeto")->make(
        small(), {lesson.graphs[0].graph->devices, lesson.graphs[0].graph->nodes});
    const auto policy = std::make_shared<StoppingPolicy>(design.policy);
    std::vector<std::unique_ptr<Evaluator>> evaluators;
    for (const auto& problem : lesson.problems)
        evaluators.push_back(simulation_evaluator(problem, {}, {}, 1));
    Trainer trainer(policy, design.training, lesson.graphs, 1, 100, 1);
    policy->stop_at = 4 + 2;  // the second of the second update
    QVERIFY(!run_training(trainer, evaluators, {.updates = 3}, policy->stop.get_token()));
    QCOMPARE(policy->episodes, policy->stop_at);
    QCOMPARE(trainer.state().updates, std::uint64_t{1});
    QVERIFY(run_training(trainer, evaluators, {.updates = 3}));

    Trainer whole = ::trainer(lesson, small());
    for (int i = 0; i < 3; ++i) update(whole, lesson);
    QVERIFY(trainer.state() == whole.state());
}

void TestTrainer::refuses_a_state_of_something_else() {
    const Lesson two = lesson(2);
    Trainer trains = trainer(two, small());
    OptionValues wide = small();
    wide["width"] = std::int64_t{7};
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, trains.restore(trainer(two, wide).state()));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, trains.restore(trainer(lesson(1), small()).state()));
}

void TestTrainer::learns_data() {
    QTest::addColumn<QString>("reward");
    QTest::addColumn<QString>("devices");
    QTest::addColumn<int>("proximal");
    QTest::newRow("intermediate") << "intermediate"
                                  << "one-hot" << 0;
    QTest::newRow("features") << "intermediate"
                              << "features" << 0;
    QTest::newRow("terminal") << "terminal"
                              << "one-hot" << 0;
    QTest::newRow("proximal") << "intermediate"
                              << "one-hot" << 3;
}

void TestTrainer::learns() {
    QFETCH(QString, reward);
    QFETCH(QString, devices);
    QFETCH(int, proximal);
    const Lesson one = lesson(1);
    OptionValues values = small();
    values["reward"] = reward.toStdString();
    values["devices"] = devices.toStdString();
    values["proximal_steps"] = std::int64_t{proximal};
    values["learning_rate"] = 1e-2;
    values["workers"] = std::int64_t{8};
    Trainer trains = trainer(one, values);
    for (int i = 0; i < 100; ++i) update(trains, one);
    const auto& curve = trains.state().curve;
    double first = 0, last = 0;
    for (int i = 0; i < 5; ++i) {
        first += curve[static_cast<std::size_t>(i)].cost / 5;
        last += curve[curve.size() - 1 - static_cast<std::size_t>(i)].cost / 5;
    }
    // Half of the branches on each GPU take little more than half of the time; at random it is about three
    // quarters.
    QVERIFY2(last < 0.9 * first, qPrintable(QString("from %1 to %2").arg(first).arg(last)));
    QVERIFY(curve.back().entropy < curve.front().entropy);
}

void TestTrainer::predicts_what_it_has_not_seen() {
    const Lesson all = lesson(5);
    Lesson seen = all;
    seen.graphs.pop_back();
    OptionValues values = small();
    values["learning_rate"] = 1e-2;
    values["workers"] = std::int64_t{8};
    Trainer trains = trainer(seen, values);
    for (int i = 0; i < 100; ++i) update(trains, seen);
    const PolicyGraph& graph = *all.graphs[4].graph;
    const Rollout rollout = trains.predict(graph);
    QVERIFY(rollout == trains.predict(graph));
    std::vector<Score> score(1);
    const std::vector<Placement> placement{last_placement(graph, rollout)};
    simulation_evaluator(all.problems[4], {}, {}, 1)->evaluate(placement, score, {});
    QVERIFY2(policy_cost(score[0], all.graphs[4].reference_s) < 0.8,
             qPrintable(QString::number(score[0].penalised_s / all.graphs[4].reference_s)));
}

void TestTrainer::searches_the_same_in_any_slices() {
    const Lesson one = lesson(1);
    const AlgorithmInfo* placeto = find_algorithm("placeto");
    std::vector<std::vector<Placement>> asked(2);
    std::vector<std::shared_ptr<const std::vector<TrainingPoint>>> curves;
    for (const std::size_t limit : {3, 1000}) {
        auto optimizer = placeto->make({one.problems[0], 1, {}, 500}, small());
        auto evaluator = simulation_evaluator(one.problems[0], {}, {}, 1);
        auto& mine = asked[limit == 3 ? 0 : 1];
        while (mine.size() < 300) {
            const auto batch = optimizer->ask(limit);
            QVERIFY(!batch.empty() && batch.size() <= limit);
            std::vector<Score> scores(batch.size());
            evaluator->evaluate(batch, scores, {});
            mine.insert(mine.end(), batch.begin(), batch.end());
            optimizer->tell(scores);
        }
        mine.resize(300);
        curves.push_back(optimizer->training());
    }
    QCOMPARE(asked[0], asked[1]);
    QVERIFY(!curves[0]->empty());
    QCOMPARE(curves[0]->front().cost, curves[1]->front().cost);
}

QTEST_APPLESS_MAIN(TestTrainer)
#include "tst_trainer.moc"
