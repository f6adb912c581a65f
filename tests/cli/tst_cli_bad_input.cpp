// SPDX-License-Identifier: MIT
// The command line: Files that are broken, hostile or too large.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/cpu_time.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliBadInput : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void badFiles_data();
    void badFiles();
    void hugeFiles_data();
    void hugeFiles();
    void impossibleNetworks_data();
    void impossibleNetworks();
};

void TestCliBadInput::badFiles_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("network");
    QTest::addColumn<QByteArray>("machine");
    QTest::addColumn<QByteArray>("placement");
    const auto row = [](const char* name, const QByteArray& content, const char* all) {
        QTest::newRow(name) << content << QByteArray(all) << QByteArray(all) << QByteArray(all);
    };
    row("empty", "", "is empty");
    row("binary",
        QByteArray("\x7f"
                   "ELF\x02\x01\x01\x00\x00\x00",
                   10),
        "is not a JSON object");
    row("not UTF-8", "{\"format\": \"\xff\xfe\"}", "line 1, column 13");
    row("truncated", "{\n  \"format\": \"placewright.", "line 2, column");
    row("list", "[]", "is not a JSON object");
    QTest::newRow("other format") << QByteArray(R"({"format": "x", "version": 1})")
                                  << QByteArray("expected \"placewright.graph\"")
                                  << QByteArray("expected \"placewright.machine\"")
                                  << QByteArray("expected \"placewright.placement\"");
    QTest::newRow("object without format")
        << QByteArray("{\"e\": 0}") << QByteArray("is a placement, not a network")
        << QByteArray("expected \"placewright.machine\"")
        << QByteArray("placement: ops that are not in the network: \"e\"; ops without a device: \"a\"");
}

void TestCliBadInput::badFiles() {
    QFETCH(QByteArray, content);
    const QString file = write("bad.json", content);
    const QList<std::pair<const char*, QStringList>> uses{
        {"network", {"simulate", file, "--machine", path("pair.json")}},
        {"machine", {"simulate", path("diamond.json"), "--machine", file}},
        {"placement", diamond("simulate", {"--placement", file})},
    };
    for (const auto& [role, arguments] : uses) {
        const QByteArray expected =
            *static_cast<const QByteArray*>(QTest::qData(role, QMetaType::QByteArray));
        for (const QStringList& json : {QStringList{}, QStringList{"--json"}}) {
            const Result result = run(arguments + json);
            QCOMPARE(result.status, 3);
            QCOMPARE(result.out, QByteArray());
            QVERIFY2(result.err.startsWith(file.toUtf8() + ": ") && result.err.contains(expected),
                     result.err);
            QCOMPARE(lines_of(result.err).size(), 1);
        }
    }
}

void TestCliBadInput::hugeFiles_data() {
    QTest::addColumn<QByteArray>("begin");
    QTest::addColumn<char>("filling");
    QTest::newRow("zeros") << QByteArray() << '\0';
    QTest::newRow("brackets") << QByteArray() << '[';
    QTest::newRow("brackets in an object") << QByteArray("{\"a\": ") << '[';
    QTest::newRow("endless text") << QByteArray("{\"a\": \"") << 'x';
}

void TestCliBadInput::hugeFiles() {
    QFETCH(QByteArray, begin);
    QFETCH(char, filling);
    const QString file = write("huge.json", begin + QByteArray(100'000'000, filling));
    const auto remove = qScopeGuard([&] { QFile::remove(file); });
    for (const QStringList& arguments : {QStringList{"simulate", file, "--machine", path("pair.json")},
                                         QStringList{"simulate", path("diamond.json"), "--machine", file},
                                         diamond("simulate", {"--placement", file})}) {
        const CpuTimer timer(CpuTimer::Of::children);
        const Result result = run(arguments);
        QVERIFY2(timer.elapsed_s() < 10 * kSlowdown, "slow");
        QCOMPARE(result.status, 3);
        QCOMPARE(result.out, QByteArray());
        QVERIFY2(result.err.startsWith(file.toUtf8() + ": "), result.err.left(1000));
        QCOMPARE(lines_of(result.err).size(), 1);
        QVERIFY(result.err.size() < 1000);
    }
}

void TestCliBadInput::impossibleNetworks_data() {
    QTest::addColumn<QByteArray>("ops");
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QByteArray>("complaint");
    const auto op = [](const QByteArray& what, const char* bytes = "0") {
        return "{" + what + ", \"outputs\": [{\"bytes\": 4}], \"parameter_bytes\": " + bytes +
               ", \"flops\": 1}";
    };
    QTest::newRow("allowed nowhere")
        << R"("training": "none", "ops": [)" +
               op(R"("name": "a", "kind": "relu", "inputs": [], "devices": ["cpu"])")
        << QStringList{} << QByteArray("op \"a\" may not run on any device of machine \"pair\"");
    QTest::newRow("name of a derived op")
        << R"("training": "implicit", "ops": [)" + op(R"("name": "a", "kind": "linear", "inputs": [])", "4") +
               ',' + op(R"("name": "a/update", "kind": "relu", "inputs": ["a"])")
        << QStringList{} << QByteArray("\"a/update\"");
    QTest::newRow("nothing to infer")
        << R"("training": "explicit", "ops": [)" +
               op(R"("name": "a", "kind": "relu", "phase": "backward", "inputs": [])")
        << QStringList{"--inference"} << QByteArray("no ops");
}

void TestCliBadInput::impossibleNetworks() {
    QFETCH(QByteArray, ops);
    QFETCH(QStringList, options);
    QFETCH(QByteArray, complaint);
    const QString file =
        write("impossible.json",
              R"({"format": "placewright.graph", "version": 1, "name": "n", "batch": 1, )" + ops + "]}");
    for (const QStringList& command :
         {QStringList{"simulate"}, QStringList{"bound"}, QStringList{"optimize", "--algorithm", "random"}}) {
        const Result result = run(command + QStringList{file, "--machine", path("pair.json")} + options);
        QCOMPARE(result.status, 3);
        QCOMPARE(result.out, QByteArray());
        QVERIFY2(result.err.startsWith(file.toUtf8() + ": ") && result.err.contains(complaint), result.err);
        QCOMPARE(lines_of(result.err).size(), 1);
    }
}

QTEST_GUILESS_MAIN(TestCliBadInput)
#include "tst_cli_bad_input.moc"
