// SPDX-License-Identifier: MIT
#include <QTemporaryDir>
#include <QtTest>

#include "tests/support/cli.hpp"

using namespace placewright::test;

/// What needs a part works in a build that has the part; in another build it says that the part is missing,
/// and everything else works.
class TestParts : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString written(const char* name, const QByteArray& content) {
        return write_file(m_folder.filePath(QLatin1String(name)), content);
    }

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void everyPart_data();
    void everyPart();
    void onnx();
    void algorithmsOfTheBuild();
    void severalProcesses();
    void withoutAnyPart_data();
    void withoutAnyPart();
};

void TestParts::everyPart_data() {
    QTest::addColumn<bool>("present");
    QTest::addColumn<QByteArray>("library");
    QTest::addColumn<QByteArray>("option");
    QTest::addColumn<QStringList>("arguments");
    const QStringList job{"--machine", "2x-v100-pcie", "--evaluations", "3"};
    const QByteArray chain =
        R"({"format": "placewright.graph", "version": 1, "name": "chain", "batch": 1, "training": "none", "ops": [
        {"name": "a", "kind": "relu", "inputs": [], "flops": 1000000000, "parameter_bytes": 0, "outputs": [{"shape": [1, 4], "dtype": "float32"}]},
        {"name": "b", "kind": "relu", "flops": 1000000000, "parameter_bytes": 0, "inputs": ["a"],
         "outputs": [{"shape": [1, 4], "dtype": "float32"}]}]})";
    const QString graph = written("chain.json", chain);
    QTest::newRow("scotch") << bool(PLACEWRIGHT_WITH_SCOTCH) << QByteArray("Scotch") << QByteArray("SCOTCH")
                            << (QStringList{"optimize", graph, "--algorithm", "scotch"} + job);
    QTest::newRow("metis") << bool(PLACEWRIGHT_WITH_METIS) << QByteArray("METIS") << QByteArray("METIS")
                           << (QStringList{"optimize", graph, "--algorithm", "metis"} + job);
    for (const char* algorithm : {"milp", "m-sct"})
        QTest::newRow(algorithm) << bool(PLACEWRIGHT_WITH_CBC) << QByteArray("CBC") << QByteArray("CBC")
                                 << (QStringList{"optimize", graph, "--algorithm", algorithm} + job);
    QTest::newRow("dot") << bool(PLACEWRIGHT_WITH_GRAPHVIZ) << QByteArray("Graphviz")
                         << QByteArray("GRAPHVIZ")
                         << QStringList{"simulate",
                                        written("chain.dot", "digraph { a [bytes=4]; b; a -> b }"),
                                        "--machine", "2x-v100-pcie"};
    QTest::newRow("learned") << bool(PLACEWRIGHT_WITH_LIBTORCH) << QByteArray("LibTorch")
                             << QByteArray("LIBTORCH")
                             << (QStringList{"optimize", graph, "--algorithm", "colocrl"} + job);
}

void TestParts::everyPart() {
    QFETCH(bool, present);
    QFETCH(QByteArray, library);
    QFETCH(QByteArray, option);
    QFETCH(QStringList, arguments);
    const ProgramResult result = run_cli(arguments);
    if (present) {
        QVERIFY2(result.status == 0, result.err);
        return;
    }
    QVERIFY2(result.status == (library == "Graphviz" ? 3 : 1), result.err);
    QVERIFY2(result.err.contains("this build is without " + library +
                                 ": build Placewright again with PLACEWRIGHT_WITH_" + option + "=ON"),
             result.err);
    QCOMPARE(lines_of(result.err).size(), 1);
}

/// A file that begins like an ONNX model is refused in every build, in one without ONNX for that reason.
void TestParts::onnx() {
    const ProgramResult result =
        run_cli({"simulate", written("model.onnx", "\x08\x08"), "--machine", "2x-v100-pcie"});
    QCOMPARE(result.status, 3);
    QCOMPARE(result.err.contains("is an ONNX model, and this build is without ONNX"), !PLACEWRIGHT_WITH_ONNX);
}

void TestParts::algorithmsOfTheBuild() {
    const ProgramResult result = run_cli({"algorithms"});
    QCOMPARE(result.status, 0);
    const auto lists = [&](const char* id) {
        return std::ranges::any_of(lines_of(result.out), [&](const QByteArray& line) {
            return line.trimmed().startsWith(QByteArray(id) + ' ');
        });
    };
    QVERIFY2(lists("auto"), result.out);
    QCOMPARE(lists("scotch"), bool(PLACEWRIGHT_WITH_SCOTCH));
    QCOMPARE(lists("metis"), bool(PLACEWRIGHT_WITH_METIS));
    QCOMPARE(lists("milp"), bool(PLACEWRIGHT_WITH_CBC));
    QCOMPARE(lists("m-sct"), bool(PLACEWRIGHT_WITH_CBC));
    QVERIFY(lists("placeto"));
    for (const char* policy : {"colocrl", "spotlight", "hierarchical", "gdp", "list-policy"})
        QCOMPARE(lists(policy), bool(PLACEWRIGHT_WITH_LIBTORCH));
}

void TestParts::severalProcesses() {
    const auto unset = qScopeGuard([] {
        qunsetenv("OMPI_COMM_WORLD_RANK");
        qunsetenv("OMPI_COMM_WORLD_SIZE");
    });
    qputenv("OMPI_COMM_WORLD_RANK", "0");
    qputenv("OMPI_COMM_WORLD_SIZE", "2");
    const ProgramResult result =
        run_cli({"optimize", "alexnet", "--machine", "2x-v100-pcie", "--evaluations", "3"});
    QVERIFY(result.status != 0);
    QVERIFY2(result.err.contains(PLACEWRIGHT_WITH_MPI ? "start the ranks with mpirun"
                                                      : "this build is without MPI: build Placewright again "
                                                        "with PLACEWRIGHT_WITH_MPI=ON, or start one process"),
             result.err);
}

void TestParts::withoutAnyPart_data() {
    QTest::addColumn<QStringList>("arguments");
    const QStringList job{"alexnet", "--machine", "2x-v100-pcie"};
    QTest::newRow("search") << (QStringList{"optimize", "--evaluations", "300"} + job);
    QTest::newRow("simulation") << (QStringList{"simulate"} + job);
    QTest::newRow("bound") << (QStringList{"bound", "--seconds", "1"} + job);
    QTest::newRow("prediction") << (QStringList{"predict"} + job);
    QTest::newRow("training") << (QStringList{"train", "--updates", "2"} + job);
}

void TestParts::withoutAnyPart() {
    QFETCH(QStringList, arguments);
    const ProgramResult result = run_cli(arguments);
    QVERIFY2(result.status == 0, result.err);
}

QTEST_GUILESS_MAIN(TestParts)
#include "tst_parts.moc"
