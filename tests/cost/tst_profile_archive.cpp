// SPDX-License-Identifier: MIT
// Measured times by what ops do: which ops share one, and what a problem makes of them.
#include <algorithm>
#include <array>
#include <optional>

#include <QTemporaryDir>
#include <QtTest>

#include "core/cost/profile_archive.hpp"
#include "core/graph/network_builder.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

Graph layers(std::size_t count, std::int64_t features = 8) {
    NetworkBuilder net("layers", 2);
    Value x = net.input("x", std::array<std::int64_t, 1>{features});
    for (std::size_t layer = 0; layer < count; ++layer)
        x = net.linear("linear" + std::to_string(layer), x, features);
    net.cross_entropy("loss", x);
    return net.build();
}

Machine machine_of(const std::string& model) {
    Machine plain = test::uniform_machine(2);
    std::vector<Device> devices(plain.devices().begin(), plain.devices().end());
    for (Device& device : devices) device.model = model;
    return {plain.name(),
            devices,
            {plain.channels().begin(), plain.channels().end()},
            {plain.routes().begin(), plain.routes().end()}};
}

ProfileArchive archive_for(const Graph& graph, const std::string& model) {
    ProfileArchive archive;
    DeviceProfile& profile = archive.devices[model];
    profile.overhead_s = 0.5;
    profile.source = "by hand";
    profile.ops[op_signature(graph, *graph.find("linear1"))] = {
        .forward_s = 1, .backward_s = 5, .weight_gradient_s = 3};
    profile.updates_s[update_signature(graph.op(*graph.find("linear1")), 1)] = 2;
    archive.transfers[{model, model}] = {{1e3, 1e-3}, {1e6, 3e-3}, {1e7, 11e-3}};
    return archive;
}

}  // namespace

class TestProfileArchive : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void opsThatDoTheSameShareASignature() {
        const Graph graph = layers(4);
        const auto signature = [&](const char* name) { return op_signature(graph, *graph.find(name)); };
        QCOMPARE(signature("linear1"), signature("linear2"));
        QCOMPARE(QString::fromStdString(signature("linear1")),
                 QStringLiteral("linear (float32[2,8]) -> float32[2,8] +288 d1 r1"));
        // The first has no gradient for its input.
        QCOMPARE(QString::fromStdString(signature("linear0")),
                 QStringLiteral("linear (float32[2,8]) -> float32[2,8] +288 d0 r1"));
        const Graph wider = layers(4, 16);
        QVERIFY(op_signature(wider, *wider.find("linear1")) != signature("linear1"));
        QCOMPARE(QString::fromStdString(update_signature(graph.op(*graph.find("linear1")), 2)),
                 QStringLiteral("update of 288 bytes of float32, 2 states"));
    }

    void opsThatDifferInInferenceHaveASignatureOfTheirOwn() {
        NetworkBuilder net("net", 2);
        Value x = net.input("image", std::array<std::int64_t, 3>{3, 8, 8});
        x = net.batch_norm("norm", net.conv2d("conv", x, {.channels = 4, .window = {3, 1, 1}}));
        x = net.dropout("dropout", net.flatten("flatten", net.relu("relu", x)));
        net.cross_entropy("loss", net.linear("linear", x, 5));
        const Graph graph = net.build();
        for (const char* name : {"norm", "dropout"}) {
            const OpId op = *graph.find(name);
            QCOMPARE(op_signature(graph, op, true), op_signature(graph, op) + " inference");
        }
        for (const char* name : {"conv", "relu", "linear"}) {
            const OpId op = *graph.find(name);
            QCOMPARE(op_signature(graph, op, true), op_signature(graph, op));
        }
        // So that what inference measured is no time of a training step.
        ProfileArchive archive;
        for (OpId op = 0; op < graph.size(); ++op)
            archive.devices["core"].ops[op_signature(graph, op, true)] = {.forward_s = 1, .backward_s = {}};
        const Machine machine = machine_of("core");
        const auto forward_s = [&](const char* name, bool inference) {
            const Graph timed = with_profile(graph, archive, machine, 1, inference);
            return measured_time_s(timed.op(*timed.find(name)), machine.device(0));
        };
        QCOMPARE(forward_s("norm", true), std::optional(1.0));
        QCOMPARE(forward_s("norm", false), std::optional<double>());
        QCOMPARE(forward_s("dropout", false), std::optional<double>());
        QCOMPARE(forward_s("conv", false), std::optional(1.0));
    }

    void eachOpWithoutATimeOfItsOwnIsPredicted() {
        const auto graph = std::make_shared<const Graph>(layers(4));
        const auto machine = std::make_shared<const Machine>(machine_of("core"));
        ProblemOptions options;
        options.cost.model = find_cost_model("measured");
        ProfileArchive archive = archive_for(*graph, "core");
        archive.devices["core"].ops[op_signature(*graph, *graph->find("linear0"))] = {.forward_s = 1,
                                                                                      .backward_s = {}};
        options.cost.profile = std::make_shared<const ProfileArchive>(archive);
        const auto predicted = [&] {
            const auto problem = make_problem(graph, machine, options);
            std::vector<std::string> names;
            for (OpId op = 0; op < problem->ops; ++op) {
                if (is_predicted(*problem, op, 0)) names.push_back(problem->graph->op(op).name);
            }
            std::ranges::sort(names);
            return names;
        };
        // All four share their parameters' size, and so the time of their updates.
        QCOMPARE(predicted(), (std::vector<std::string>{"linear0/weight_gradient", "loss", "loss/backward"}));
        // The archive has no update with the states of Adam.
        options.optimizer_states = 2;
        QCOMPARE(predicted(),
                 (std::vector<std::string>{"linear0/update", "linear0/weight_gradient", "linear1/update",
                                           "linear2/update", "linear3/update", "loss", "loss/backward"}));
    }

    void aProblemTakesTheTimes() {
        const auto graph = std::make_shared<const Graph>(layers(4));
        const auto machine = std::make_shared<const Machine>(machine_of("core"));
        ProblemOptions options;
        options.cost.model = find_cost_model("measured");
        options.cost.profile = std::make_shared<const ProfileArchive>(archive_for(*graph, "core"));
        const auto problem = make_problem(graph, machine, options);
        const auto time_s = [&](const char* name) { return problem->time_s(*problem->graph->find(name), 0); };
        // Each op that runs has the overhead.
        QCOMPARE(time_s("linear2"), 1.5);
        QCOMPARE(time_s("linear2/weight_gradient"), 3.5);
        QCOMPARE(time_s("linear2/backward"), 2.5);
        QCOMPARE(time_s("linear2/update"), 2.5);
        QVERIFY(time_s("linear0") < 1e-3);  // not measured: the roofline
        // Transfers: 1 ms for a small one, and 10^6 bytes in 2 ms more.
        QCOMPARE(transfer_time_s(problem->machine->channels()[0], 1e6), 3e-3);
        QCOMPARE(transfer_time_s(problem->machine->channels()[0], 1e7), 11e-3);
    }

    void channelsWithoutABandwidthInTheTimesStay() {
        const Machine machine = machine_of("core");
        const auto channel = [&](TransferProfile times) {
            ProfileArchive archive;
            archive.transfers[{"core", "core"}] = std::move(times);
            return with_profile(machine, archive).channels()[0];
        };
        // One size does not tell latency from bandwidth.
        QVERIFY(channel({{1e6, 1e-3}}) == machine.channels()[0]);
        // Times that hardly differ say nothing of the bandwidth.
        QVERIFY(channel({{1e3, 1e-3}, {2e3, 1.01e-3}}) == machine.channels()[0]);
        QVERIFY(channel({{1e3, 0}, {2e3, 0}}) == machine.channels()[0]);
        const Channel two = channel({{1e3, 1e-3}, {1e6, 3e-3}});
        QCOMPARE(two.latency_s, 1e-3);
        QCOMPARE(transfer_time_s(two, 1e6), 3e-3);
    }

    void devicesOfOtherModelsKeepTheirTimes() {
        const auto graph = std::make_shared<const Graph>(layers(3));
        const auto machine = std::make_shared<const Machine>(machine_of("other"));
        ProblemOptions options;
        options.cost.model = find_cost_model("measured");
        const auto without = make_problem(graph, machine, options);
        options.cost.profile = std::make_shared<const ProfileArchive>(archive_for(*graph, "core"));
        const auto with = make_problem(graph, machine, options);
        QCOMPARE(with->op_time_s, without->op_time_s);
        QCOMPARE(with->transfer_s, without->transfer_s);
    }

    void mergingReplacesAndAdds() {
        const Graph graph = layers(3);
        ProfileArchive archive = archive_for(graph, "core");
        ProfileArchive newer;
        newer.devices["core"].ops[op_signature(graph, *graph.find("linear1"))] = {.forward_s = 7,
                                                                                  .backward_s = {}};
        newer.devices["core"].ops["relu"] = {.forward_s = 1, .backward_s = {}};
        newer.devices["core"].source = "again";
        archive.merge(newer);
        const DeviceProfile& merged = archive.devices.at("core");
        // What the newer run did not measure stays.
        const MeasuredTime expected{.forward_s = 7, .backward_s = 5, .weight_gradient_s = 3};
        QVERIFY(merged.ops.at(op_signature(graph, *graph.find("linear1"))) == expected);
        QCOMPARE(merged.overhead_s, 0.5);
        QVERIFY(merged.ops.contains("relu"));
        QCOMPARE(merged.updates_s.size(), std::size_t{1});
        QCOMPARE(merged.source, std::string("by hand; again"));
        // The weight gradient is a part of the backward time: both are of one run.
        newer.devices["core"].overhead_s = 0.25;
        newer.devices["core"].ops[op_signature(graph, *graph.find("linear1"))] = {.forward_s = {},
                                                                                  .backward_s = 2};
        archive.merge(newer);
        const MeasuredTime backward{.forward_s = 7, .backward_s = 2};
        QVERIFY(merged.ops.at(op_signature(graph, *graph.find("linear1"))) == backward);
        QCOMPARE(merged.overhead_s, 0.25);
    }

    void filesKeepEverything() {
        const QTemporaryDir folder;
        const Path file = folder.filePath("profile.json").toStdString();
        const ProfileArchive archive = archive_for(layers(3), "core");
        write_profile(archive, file);
        QVERIFY(read_profile(file) == archive);
    }

    void timesAreAddedToWhatTheFileHasByNow() {
        const QTemporaryDir folder;
        const Path file = folder.filePath("profile.json").toStdString();
        const ProfileArchive first = archive_for(layers(3), "core"), other = archive_for(layers(2), "gpu");
        QVERIFY(add_to_profile(first, file) == first);
        // As another process would have done meanwhile.
        const ProfileArchive all = add_to_profile(other, file);
        QCOMPARE(all.devices.size(), std::size_t{2});
        QVERIFY(all.devices.at("core") == first.devices.at("core"));
        QVERIFY(read_profile(file) == all);
    }

    void badFilesSayWhere_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("complaint");
        const auto row = [](const char* name, const char* text, const char* complaint) {
            QTest::newRow(name) << QByteArray(text) << QByteArray(complaint);
        };
        row("another format", R"({"format": "placewright.graph", "version": 1})", "placewright.profile");
        row("negative",
            R"({"format": "placewright.profile", "version": 1, "devices": {"m": {"ops": {"a": {"forward": -1}}}}})",
            "is negative");
        row("descending",
            R"({"format": "placewright.profile", "version": 1, "devices": {}, "transfers": [{"from": "a", "to": "b", "time_s": [[10, 1], [5, 2]]}]})",
            "no more bytes");
        row("no message",
            R"({"format": "placewright.profile", "version": 1, "devices": {}, "transfers": [{"from": "a", "to": "b", "time_s": [[10, 1], [1e308, 2]]}]})",
            "expected 1 to 1e+18 bytes");
        row("no ops", R"({"format": "placewright.profile", "version": 1, "devices": {"m": {}}})", "ops");
    }
    void badFilesSayWhere() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, complaint);
        const QTemporaryDir folder;
        const QString path = folder.filePath("profile.json");
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
        file.close();
        try {
            read_profile(path.toStdString());
            QFAIL("it was read");
        } catch (const InputError& error) {
            QVERIFY2(QByteArray(error.what()).contains(complaint), error.what());
            QVERIFY2(QByteArray(error.what()).contains("profile.json"), error.what());
        }
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestProfileArchive)
#include "tst_profile_archive.moc"
