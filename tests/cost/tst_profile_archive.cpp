// SPDX-License-Identifier: MIT
// Measured times by what ops do: which ops share one, and what a problem makes of them.
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
        const ProfiledGraph profiled = with_profile(*graph, *options.cost.profile, *machine, 1);
        QCOMPARE(profiled.predicted, (std::vector<std::string>{"linear0", "loss"}));
        // Transfers: 1 ms for a small one, and 10^6 bytes in 2 ms more.
        QCOMPARE(transfer_time_s(problem->machine->channels()[0], 1e6), 3e-3);
        QCOMPARE(transfer_time_s(problem->machine->channels()[0], 1e7), 11e-3);
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
        QCOMPARE(merged.ops.at(op_signature(graph, *graph.find("linear1"))).forward_s, std::optional(7.0));
        QVERIFY(merged.ops.contains("relu"));
        QCOMPARE(merged.updates_s.size(), std::size_t{1});
        QCOMPARE(merged.source, std::string("by hand; again"));
    }

    void filesKeepEverything() {
        const QTemporaryDir folder;
        const Path file = folder.filePath("profile.json").toStdString();
        const ProfileArchive archive = archive_for(layers(3), "core");
        write_profile(archive, file);
        QVERIFY(read_profile(file) == archive);
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
