// SPDX-License-Identifier: MIT
// Placement files, good and bad.
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "core/base/infinity.hpp"
#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/io/placements/placement_file.hpp"
#include "tests/support/cpu_time.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::changed, test::check_refusal, test::content_of, test::kMachine, test::kNetwork, test::kPlacement,
    test::refusal, test::small_problem;

class TestPlacementFile : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    void placementRoundTrip();
    void placementFile();
    void flatPlacement();
    void placementOfOneOpPlacesItsGroup();
    void placementOfDerivedOps();
    void largePlacement();
    void badPlacements_data();
    void badPlacements();
};

void TestPlacementFile::placementRoundTrip() {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const auto training = seed % 2 == 0 ? Training::implicit : Training::none;
        const auto problem =
            test::problem(test::random_graph(seed, 25, 3, training), test::random_machine(seed));
        Random random(seed);
        Placement placement(problem->groups);
        for (GroupId group = 0; group < problem->groups; ++group)
            placement[group] = random.pick(problem->allowed_devices(group));
        write_placement(placement, *problem, {}, file("p.json"));
        QVERIFY(read_placement(file("p.json"), *problem) == placement);
        QCOMPARE(placement_by_name(placement, *problem).size(), std::size_t{25});
    }
}

void TestPlacementFile::placementFile() {
    const auto problem = small_problem(fileWith("n.json", kNetwork), fileWith("m.json", kMachine));
    PlacementFile about;
    about.predicted = PlacementFile::Prediction{0.0412, 0.036, {{"gpu:0", 8.1e9}}, true};
    about.produced_by = PlacementFile::Producer{"map-elites",
                                                18446744073709551615ULL,
                                                20000,
                                                {{"mutation_rate", 0.05},
                                                 {"selection", std::string("random")},
                                                 {"size", std::int64_t{3}},
                                                 {"trivial", true}}};
    write_placement({0, 1, 1}, *problem, about, file("p.json"));
    const QByteArray text = QByteArray::fromStdString(content_of(file("p.json")));
    const QJsonObject root = QJsonDocument::fromJson(text).object();
    QCOMPARE(root["format"].toString(), "placewright.placement");
    QCOMPARE(root["version"].toInt(), 1);
    QCOMPARE(root["graph"].toString(), "small");
    QCOMPARE(root["machine"].toString(), "pair");
    QCOMPARE(root["placement"].toObject(),
             (QJsonObject{{"data", "cpu:0"}, {"fc", "gpu:0"}, {"act", "gpu:0"}}));
    QCOMPARE(root["predicted"].toObject(), (QJsonObject{{"step_time_s", 0.0412},
                                                        {"lower_bound_s", 0.036},
                                                        {"peak_bytes", QJsonObject{{"gpu:0", 8.1e9}}},
                                                        {"fits", true}}));
    const QJsonObject producer = root["produced_by"].toObject();
    QCOMPARE(producer["algorithm"].toString(), "map-elites");
    QCOMPARE(producer["evaluations"].toInt(), 20000);
    QCOMPARE(producer["options"].toObject(),
             (QJsonObject{{"mutation_rate", 0.05}, {"selection", "random"}, {"size", 3}, {"trivial", true}}));
    QVERIFY(text.contains("\"seed\": 18446744073709551615"));
    QVERIFY(text.indexOf("\"data\"") < text.indexOf("\"fc\"") &&
            text.indexOf("\"fc\"") < text.indexOf("\"act\""));

    // JSON has no infinity: an unknown time is omitted.
    about.predicted->step_time_s = kInfinity;
    write_placement({0, 1, 1}, *problem, about, file("p.json"));
    const QJsonObject unknown =
        QJsonDocument::fromJson(QByteArray::fromStdString(content_of(file("p.json")))).object();
    QVERIFY(!unknown["predicted"].toObject().contains("step_time_s"));
    QVERIFY(read_placement(file("p.json"), *problem) == (Placement{0, 1, 1}));
}

void TestPlacementFile::flatPlacement() {
    const auto problem = small_problem(fileWith("n.json", kNetwork), fileWith("m.json", kMachine));
    QVERIFY(read_placement(fileWith("p.json", R"({"act": 1, "data": 0, "fc": 1})"), *problem) ==
            (Placement{0, 1, 1}));
    QVERIFY(read_placement(fileWith("p.json", R"({"act": [1, 0], "data": 0, "fc": 0})"), *problem) ==
            (Placement{0, 0, 1}));

    // An op may be called "format".
    std::string network = changed(kNetwork, "\"name\": \"act\"", "\"name\": \"format\"");
    const auto other = small_problem(fileWith("n.json", network), file("m.json"));
    QVERIFY(read_placement(fileWith("p.json", R"({"format": 1, "data": 0, "fc": 1})"), *other) ==
            (Placement{0, 1, 1}));
}

void TestPlacementFile::placementOfOneOpPlacesItsGroup() {
    const std::string together = changed(changed(kNetwork, "\"later\": 1", "\"colocate\": \"x\""),
                                         "\"flops\": 48", "\"flops\": 48, \"colocate\": \"x\"");
    const auto problem = small_problem(fileWith("n.json", together), fileWith("m.json", kMachine));
    QCOMPARE(problem->groups, 2U);
    QVERIFY(read_placement(fileWith("p.json", R"({"data": 0, "act": 1})"), *problem) == (Placement{0, 1}));
    const Path apart = fileWith("apart.json", R"({"data": 0, "fc": 0, "act": 1})");
    check_refusal(refusal([&] { read_placement(apart, *problem); }), apart,
                  "belong together on different devices: \"fc\" and \"act\"");
}

void TestPlacementFile::placementOfDerivedOps() {
    // A file may name the backward ops of an explicit graph; inference leaves them out.
    GraphBuilder builder("pair", 1, Training::explicit_);
    Op forward, backward;
    forward.name = "f";
    forward.kind = backward.kind = "relu";
    forward.outputs = backward.outputs = {make_tensor({4})};
    backward.name = "b";
    backward.phase = Phase::backward;
    builder.add(forward, {});
    builder.add(backward, {"f"});
    const Graph graph = builder.build();
    const Machine machine = test::uniform_machine(2);
    const auto training = test::problem(graph, machine);
    ProblemOptions options;
    options.inference = true;
    const auto inference = test::problem(graph, machine, options);
    const auto names = placement_by_name({1, 0}, *training);
    QCOMPARE(names.size(), std::size_t{2});
    QCOMPARE(names[1].second, std::string("gpu:0"));
    write_placement({1, 0}, *training, {}, file("p.json"));
    QVERIFY(read_placement(file("p.json"), *training) == (Placement{1, 0}));
    QVERIFY(read_placement(file("p.json"), *inference) == (Placement{1}));
}

void TestPlacementFile::largePlacement() {
    const auto problem = test::problem(test::chain(50'000), test::uniform_machine(2));
    Placement placement(problem->groups);
    for (std::size_t i = 0; i < placement.size(); ++i) placement[i] = i % 2;
    const test::CpuTimer timer;
    write_placement(placement, *problem, {}, file("p.json"));
    QVERIFY(read_placement(file("p.json"), *problem) == placement);
    // A linear search for duplicate keys would take far longer.
    const double elapsed_s = timer.elapsed_s();
    QVERIFY2(elapsed_s < 4, qPrintable(QString::number(elapsed_s) + " s"));
}

void TestPlacementFile::badPlacements_data() {
    QTest::addColumn<std::string>("content");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const std::string& content, const char* fragment) {
        QTest::newRow(name) << content << QString::fromUtf8(fragment);
    };
    const auto with = [](const std::string& before, const std::string& after) {
        return changed(kPlacement, before, after);
    };

    add("empty", "", "the file is empty");
    add("empty object", "{}", "ops without a device: \"data\", \"fc\", \"act\"");
    add("truncated", kPlacement.substr(0, 150), "line 3, column ");
    add("network", kNetwork, "is a network, not a placement");
    add("no format", with(R"("format": "placewright.placement", )", ""),
        "has no \"format\", expected \"placewright.placement\"");
    add("future version", with("\"version\": 1", "\"version\": 3"),
        "version 3 is newer than this program reads (1)");
    add("no placement", with("\"placement\":", "\"replacement\":"), "\"placement\" is missing");
    add("placement a list", with(R"({"data": "cpu:0", "fc": "gpu:0", "act": "gpu:0"})", "[]"),
        "placement is a list, expected an object");
    add("device index in a file of names", with("\"act\": \"gpu:0\"", "\"act\": 1"),
        "placement.act is 1, expected a string");
    add("unknown op", with("\"act\":", "\"nope\":"),
        "ops that are not in the network: \"nope\"; ops without a device: \"act\"");
    add("missing op", with(", \"act\": \"gpu:0\"", ""),
        "placement: ops without a device: \"act\"; add them: each op of the network needs a device");
    add("missing index", R"({"data": 0, "fc": 1})", "placement: ops without a device: \"act\"; add them");
    add("unknown device", with("\"act\": \"gpu:0\"", "\"act\": \"gpu:7\""),
        "devices that are not in the machine: \"gpu:7\"");
    add("another network",
        R"({"format": "placewright.placement", "version": 1, "graph": "x", "machine": "y", "placement": {"nope": "gpu:0"}})",
        "placement: was made for the graph \"x\", not \"small\", the machine \"y\", not \"pair\" (open what "
        "it was made for first): ops that are not in the network: \"nope\"; ops without a device: \"data\", "
        "\"fc\", \"act\"");
    add("many unknown ops", R"({"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0})",
        "\"a\", \"b\", \"c\", \"d\", \"e\" and 2 more; ");
    add("op twice", with("\"act\"", "\"fc\""), "the key \"fc\" is twice in one object");
    add("index too large", R"({"data": 0, "fc": 2, "act": 1})", "devices that are not in the machine: \"2\"");
    add("negative index", R"({"data": 0, "fc": -1, "act": 1})",
        "devices that are not in the machine: \"-1\"");
    add("index as text", R"({"data": 0, "fc": "gpu:0", "act": 1})",
        "fc is the string \"gpu:0\", expected a whole number");
    add("no index", R"({"data": 0, "fc": [], "act": 1})", "fc is an empty list");
    add("forbidden device", R"({"data": 1, "fc": 1, "act": 1})",
        "ops on devices that they do not allow: \"data\" on \"1\"");
    add("graph of a wrong type", with("\"graph\": \"small\"", "\"graph\": 4"),
        "graph is 4, expected a string");
    add("escape in a name", R"({"data": 0, "fc": 0, "act": 1, "\u001b[2J": 1})", "\"\\x1b[2J\"");
}

void TestPlacementFile::badPlacements() {
    QFETCH(const std::string, content);
    QFETCH(const QString, fragment);
    const std::string network =
        changed(kNetwork, "\"name\": \"data\"", "\"name\": \"data\", \"devices\": [\"cpu\"]");
    const auto problem = small_problem(fileWith("n.json", network), fileWith("m.json", kMachine));
    const Path path = fileWith("bad.json", content);
    check_refusal(refusal([&] { read_placement(path, *problem); }), path, fragment);
}

QTEST_GUILESS_MAIN(TestPlacementFile)
#include "tst_placement_file.moc"
