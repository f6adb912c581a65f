// SPDX-License-Identifier: MIT
// The command line: --constraints.
#include "tests/cli/cli_fixture.hpp"

using namespace placewright::test;

namespace {

QByteArray rules(const QByteArray& list) {
    return R"({"format": "placewright.constraints", "version": 1, "rules": [)" + list + "]}";
}

}  // namespace

class TestCliConstraints : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void searchesObey() {
        const QString file = write("rules.json", rules(R"({"rule": "pin", "ops": ["a"], "devices": ["gpu:1"]},
                                         {"rule": "apart", "ops": ["b", "c"]},
                                         {"rule": "together", "ops": ["a", "d"]})"));
        const QString out = path("found.json");
        for (const char* algorithm : {"auto", "genetic", "heft", "random"}) {
            const QJsonObject found =
                object_of(diamond("optimize", {"--constraints", file, "--algorithm", algorithm,
                                               "--evaluations", "100", "--out", out}));
            QVERIFY(!found.isEmpty());
            const QJsonObject placed = QJsonDocument::fromJson(content_of(out)).object();
            const QJsonObject devices = placed["placement"].toObject();
            QCOMPARE(devices["a"].toString(), "gpu:1");
            QCOMPARE(devices["d"].toString(), "gpu:1");
            QVERIFY(devices["b"] != devices["c"]);
            QCOMPARE(placed["constraints"].toArray().size(), 3);
        }
        // What was found is read under the same rules, and refused under others.
        QVERIFY(!object_of(diamond("simulate", {"--constraints", file, "--placement", out})).isEmpty());
        const QString other = write("other.json", rules(R"({"rule": "together", "ops": ["b", "c"]})"));
        const Result refused = run(diamond("simulate", {"--constraints", other, "--placement", out}));
        QVERIFY(refused.status != 0);
        QVERIFY2(refused.err.contains("belong together on different devices: \"b\" and \"c\""), refused.err);
    }

    void compareObeys() {
        const QString file = write("rules.json", rules(R"({"rule": "apart", "ops": ["a", "b"]})"));
        const QStringList few{"--algorithms", "random,heft", "--seeds", "2", "--evaluations", "50"};
        const QJsonObject free = object_of(diamond("compare", few)),
                          bound = object_of(diamond("compare", few + QStringList{"--constraints", file}));
        QVERIFY(!free.isEmpty() && !bound.isEmpty());
        QVERIFY(free != bound);
    }

    /// A device map is a placement like any other, whether it is read or made by a repair.
    void deviceMapsObey() {
        const QString network = write("modules.json", R"({"format": "placewright.graph", "version": 1,
            "name": "modules", "batch": 1, "training": "none", "ops": [
            {"name": "x", "kind": "input", "flops": 0, "parameter_bytes": 0, "inputs": [],
             "outputs": [{"bytes": 4000}]},
            {"name": "m/a", "kind": "linear", "scope": "m", "flops": 1e6, "parameter_bytes": 4000,
             "inputs": ["x"], "outputs": [{"bytes": 4000}]},
            {"name": "m/c", "kind": "linear", "scope": "m", "flops": 1e6, "parameter_bytes": 40000,
             "inputs": ["m/a"], "outputs": [{"bytes": 4000}]},
            {"name": "b", "kind": "linear", "scope": "n", "flops": 1e6, "parameter_bytes": 4000,
             "inputs": ["m/c"], "outputs": [{"bytes": 4000}]}]})");
        const QString file = write("rules.json", rules(R"({"rule": "apart", "ops": ["m/a", "m/c"]})"));
        const auto with = [&](const char* command, const QString& placement, const QStringList& more = {}) {
            return run(QStringList{command, network, "--machine", path("pair.json"), "--constraints", file,
                                   "--placement", placement} +
                       more);
        };
        const Result read = with("simulate", write("map.json", R"({"": 1})"));
        QCOMPARE(read.status, 3);
        QVERIFY2(read.err.contains("map.json") && read.err.contains("breaks the constraint"), read.err);
        const QString obeying = write("obeying.json", R"({"x": 0, "m/a": 0, "m/c": 1, "b": 1})");
        QCOMPARE(with("simulate", obeying).status, 0);
        const QString out = path("repaired.json");
        const Result repaired = with("export", obeying, {"--to", "device-map", "--repair", "--out", out});
        QCOMPARE(repaired.status, 3);
        QVERIFY2(repaired.err.contains("the repaired placement would break the constraint"), repaired.err);
        QVERIFY(!QFile::exists(out));
    }

    void policiesObey() {
        const QString file = write("rules.json", rules(R"({"rule": "pin", "ops": ["a"], "devices": ["gpu:1"]},
                                         {"rule": "apart", "ops": ["b", "c"]})"));
        const QString policy = path("p.safetensors"), out = path("found.json");
        const QStringList obeying{"--constraints", file};
        const QJsonObject trained = object_of(
            diamond("train", obeying + QStringList{"--updates", "3", "--out", policy, "--seed", "3"}));
        QVERIFY(!trained.isEmpty());
        // Under no rules there is another problem: the policy is that of these rules.
        const Result other =
            run(diamond("train", {"--updates", "4", "--out", policy, "--resume", "--seed", "3"}));
        QVERIFY(other.status != 0);
        QVERIFY2(other.err.contains("belongs to another training"), other.err);
        QStringList predict = diamond("predict", obeying + QStringList{"--out", out});
        predict.insert(1, policy);
        QVERIFY(!object_of(predict).isEmpty());
        const QJsonObject devices = QJsonDocument::fromJson(content_of(out)).object()["placement"].toObject();
        QCOMPARE(devices["a"].toString(), "gpu:1");
        QVERIFY(devices["b"] != devices["c"]);
        const Result family = run({"train", "--family", "ptb", "--machine", "2x-v100-pcie", "--constraints",
                                   file, "--updates", "1"});
        QVERIFY(family.status != 0);
        QVERIFY2(family.err.contains("--constraints: the networks of a family"), family.err);
    }

    void mistakesNameFileAndRule_data() {
        QTest::addColumn<QByteArray>("list");
        QTest::addColumn<QByteArray>("message");
        QTest::newRow("op") << QByteArray(R"({"rule": "pin", "ops": ["z"], "devices": ["gpu:0"]})")
                            << QByteArray(
                                   "rules.json: rule 1 (pin \"z\" to gpu:0): network \"diamond\" has no "
                                   "op \"z\"");
        QTest::newRow("devices") << QByteArray(R"({"rule": "pin", "ops": ["a"], "devices": ["gpu:7"]},
                                                  {"rule": "apart", "ops": ["a", "b"]},
                                                  {"rule": "pin", "ops": ["b"], "devices": ["gpu:8"]})")
                                 << QByteArray(
                                        "rules.json: rule 1 (pin \"a\" to gpu:7): machine \"pair\" has no "
                                        "device \"gpu:7\"; name one of its devices or remove the rule; rule "
                                        "3 cannot be obeyed either");
        QTest::newRow("contradiction")
            << QByteArray(R"({"rule": "together", "ops": ["a", "b"]}, {"rule": "apart", "ops": ["a", "b"]})")
            << QByteArray(
                   "rules.json: rule 1 (keep \"a\" and \"b\" together) and rule 2 (keep \"a\" and \"b\" "
                   "apart) contradict each other");
        QTest::newRow("format") << QByteArray(R"({"rule": "glue", "ops": ["a"]})")
                                << QByteArray("rules.json: rules[0].rule is \"glue\"");
    }
    void mistakesNameFileAndRule() {
        QFETCH(QByteArray, list);
        QFETCH(QByteArray, message);
        const Result result = run(diamond("simulate", {"--constraints", write("rules.json", rules(list))}));
        QVERIFY(result.status != 0);
        QVERIFY2(result.err.contains(message), result.err);
        QCOMPARE(lines_of(result.err).size(), 1);
    }
};

QTEST_GUILESS_MAIN(TestCliConstraints)
#include "tst_cli_constraints.moc"
