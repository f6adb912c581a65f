// SPDX-License-Identifier: MIT
// Placements as an expert would make them.
#include <algorithm>
#include <map>
#include <numeric>

#include <QtTest>

#include "core/graph/networks.hpp"
#include "core/search/parts/branches.hpp"
#include "tests/support/constrained_problem.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::group_of, test::machine_with_cpu, test::make, test::ProblemPtr, test::search, test::whole;

namespace {

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

}  // namespace

class TestExpert : public QObject {
    Q_OBJECT

private Q_SLOTS:
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
        std::size_t edges_left = edges_for_blocks(inception);
        const auto blocks = parallel_blocks(inception, all, edges_left);
        // Up to the auxiliary head: three blocks A, one B and four C, of 4, 3 and 4 branches; then the head
        // and the rest.
        std::vector<std::size_t> widths;
        for (const Block& block : blocks) widths.push_back(block.size());
        QCOMPARE(widths, (std::vector<std::size_t>{4, 4, 4, 3, 4, 4, 4, 4, 2}));
        const Graph chain = test::chain(20);
        QVERIFY(parallel_blocks(chain, std::span(all).first(20), edges_left).empty());
    }

    /// Where every op reads all before it, blocks lie within blocks, each with two ops less: the search for
    /// them ends when it has seen as many edges as it may.
    void blocks_within_blocks_are_not_looked_for_without_end() {
        constexpr OpId kOps = 60;
        GraphBuilder builder("dense", 1, Training::none);
        for (OpId id = 0; id < kOps; ++id) {
            Op op;
            op.name = "op" + std::to_string(id);
            op.kind = "relu";
            op.outputs.resize(1);
            std::vector<std::string> inputs;
            for (OpId other = 0; other < id; ++other) inputs.push_back("op" + std::to_string(other));
            builder.add(op, inputs);
        }
        const Graph dense = builder.build();
        const auto levels = [&](std::size_t edges_left) {
            std::vector<OpId> part(kOps);
            std::iota(part.begin(), part.end(), OpId{0});
            std::size_t found = 0;
            while (true) {
                const auto blocks = parallel_blocks(dense, part, edges_left);
                if (blocks.empty()) return found;
                part = blocks.front().front();
                ++found;
            }
        };
        QCOMPARE(levels(edges_for_blocks(dense)), std::size_t{kOps / 2 - 1});
        QCOMPARE(levels(kOps * (kOps - 1) / 2 - 1), std::size_t{0});
        QCOMPARE(levels(kOps * (kOps - 1) / 2), std::size_t{1});
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
};

QTEST_GUILESS_MAIN(TestExpert)
#include "tst_expert.moc"
