// SPDX-License-Identifier: MIT
// benchmark, profile and the experiments that run on this computer. Times are not checked, since other
// programs may run.
#include <cmath>

#include <QtTest>

#include "tests/cli/cli_fixture.hpp"

using namespace placewright;
using namespace placewright::test;

class TestCliBenchmark : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void theTable();
    void theTraceAndTheOps();
    void whatCannotBeRun();
    void languageModelsAreRefused();
    void aProfileReplacesLinksAloud();
    void pipelinesAreRefused();
    void aProfileServesOtherNetworks();
    void simulatedAgainstMeasured();
    void stability();
    void searchesEndOnHardware();
    void wrongUseOfExperiments();

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    QStringList of(const QString& command, const QString& network, const QStringList& more = {},
                   const QString& machine = "machine.json") const {
        return QStringList{command, path(network), "--machine", path(machine)} + more;
    }

    QTemporaryDir m_folder;
};

void TestCliBenchmark::initTestCase() {
    // A linear map and its loss, of two sizes.
    const QByteArray network =
        R"({"format": "placewright.graph", "version": 1, "name": "NAME", "batch": 4, "training": "implicit", "ops": [
        {"name": "x", "kind": "input", "inputs": [], "outputs": [{"shape": [4, 8], "dtype": "float32"}], "parameter_bytes": 0, "flops": 0},
        {"name": "fc", "kind": "linear", "inputs": ["x"], "outputs": [{"shape": [4, 8], "dtype": "float32"}], "parameter_bytes": 288, "flops": 512},
        {"name": "relu", "kind": "relu", "inputs": ["fc"], "outputs": [{"shape": [4, 8], "dtype": "float32"}], "parameter_bytes": 0, "flops": 32},
        {"name": "fc2", "kind": "linear", "inputs": ["relu"], "outputs": [{"shape": [4, WIDTH], "dtype": "float32"}], "parameter_bytes": BYTES, "flops": 512},
        {"name": "loss", "kind": "cross_entropy", "inputs": ["fc2"], "outputs": [{"shape": [], "dtype": "float32"}], "parameter_bytes": 0, "flops": 4}]})";
    write_file(path("small.json"),
               QByteArray(network).replace("NAME", "small").replace("WIDTH", "8").replace("BYTES", "288"));
    write_file(path("wide.json"),
               QByteArray(network).replace("NAME", "wide").replace("WIDTH", "16").replace("BYTES", "576"));
    write_file(path("strange.json"), QByteArray(network)
                                         .replace("NAME", "strange")
                                         .replace("WIDTH", "8")
                                         .replace("BYTES", "288")
                                         .replace("\"relu\", \"inputs\"", "\"mystery\", \"inputs\""));
    const QByteArray machine = QByteArray(kMachine).replace("MEMORY", "1e9").replace("\"N\"", "\"M\"");
    write_file(path("machine.json"), machine);
    // Of cores that are said to be cores, times can be kept.
    write_file(path("cores.json"), QByteArray(machine).replace("\"kind\": \"gpu\"", "\"kind\": \"cpu\""));
    write_file(path("split.json"),
               R"({"format": "placewright.placement", "version": 1, "network": "small", "machine": "pair",
        "placement": {"x": "gpu:0", "fc": "gpu:0", "relu": "gpu:1", "fc2": "gpu:1", "loss": "gpu:1"}})");
}

void TestCliBenchmark::theTable() {
    const Result found =
        run(of("benchmark", "small.json", {"--placement", path("split.json"), "--steps", "3"}));
    QCOMPARE(found.status, 0);
    QVERIFY2(found.err.contains("gpu:1 is core "), found.err);
    QVERIFY2(found.out.startsWith("small on pair, run with LibTorch "), found.out);
    QVERIFY2(found.out.contains("\ngpu:0  "), found.out);
    QVERIFY2(found.out.contains("\nCores of this computer ran ops that are simulated on accelerators"),
             found.out);
    QVERIFY2(widest_line(found.out) <= 120, found.out);
    const QJsonObject json =
        run(of("benchmark", "small.json",
               {"--placement", path("split.json"), "--steps", "3", "--throttle", "--json"}))
            .json();
    QCOMPARE(json["step_times_s"].toArray().size(), 3);
    // Two transfers of 1 ms latency each, one after the other.
    QVERIFY(json["step_time_s"].toDouble() >= 0.002);
    QVERIFY(json["step_time_low_s"].toDouble() <= json["step_time_s"].toDouble());
    QVERIFY(json["simulated_s"].toDouble() >= 0.002);
    QCOMPARE(json["fits"].toBool(), true);
    const QJsonArray devices = json["devices"].toArray();
    QCOMPARE(devices.size(), 2);
    for (const auto& each : devices) {
        const QJsonObject device = each.toObject();
        QVERIFY(device["busy_s"].toDouble() > 0);
        QVERIFY(device["peak_bytes"].toDouble() >= 288);
        QVERIFY(device["runs_on"].toString().startsWith("core "));
    }
}

void TestCliBenchmark::theTraceAndTheOps() {
    const Result found = run(of("benchmark", "small.json",
                                {"--placement", path("split.json"), "--steps", "1", "--trace", path("t.json"),
                                 "--ops", path("ops.csv")}));
    QCOMPARE(found.status, 0);
    const QByteArrayList lines = lines_of(content_of(path("ops.csv")));
    QCOMPARE(lines.front(), QByteArray("op,kind,phase,device,simulated_s,measured_s"));
    QVERIFY(lines.size() > 8);
    for (const QByteArray& line : lines.mid(1)) QVERIFY2(line.split(',').back().toDouble() > 0, line);
    // It is a trace of the network: its times can be used for the simulation.
    const Result simulated = run(of("simulate", "small.json", {"--times", path("t.json"), "--json"}));
    QCOMPARE(simulated.status, 0);
    QVERIFY2(content_of(path("t.json")).contains("fc2/weight_gradient"), "no derived op in the trace");
}

void TestCliBenchmark::whatCannotBeRun() {
    const Result found = run(of("benchmark", "strange.json"));
    QCOMPARE(found.status, 3);
    QVERIFY2(found.err.contains("op \"relu\" (mystery): kind \"mystery\" cannot be run"), found.err);
    QVERIFY(found.out.isEmpty());
}

void TestCliBenchmark::languageModelsAreRefused() {
    for (const QStringList& command :
         {QStringList{"benchmark"}, QStringList{"profile", "--out", path("lm.json")}}) {
        const Result found =
            run(command + QStringList{"llama-3.1-8b", "--machine", path("cores.json"), "--steps", "1"});
        QCOMPARE(found.status, 3);
        QVERIFY2(found.err.contains("is a language model: these are simulated only"), found.err);
    }
}

void TestCliBenchmark::aProfileReplacesLinksAloud() {
    // Messages that take 2 us and 1 GB/ms where the machine says 1 ms and 1 GB/s.
    write_file(path("fast.json"),
               R"({"format": "placewright.profile", "version": 1, "devices": {}, "transfers": [
        {"from": "M", "to": "M", "time_s": [[1000, 2e-6], [1000000, 1e-3]]}]})");
    const Result found = run(of("simulate", "small.json", {"--profile", path("fast.json")}));
    QCOMPARE(found.status, 0);
    QVERIFY2(found.err.contains("the transfers of the profile replace the figures of up: ") &&
                 found.err.contains("1.00 ms, 1.00 GB/s by the machine file") &&
                 found.err.contains("and of 1 more link;"),
             found.err);
    // Figures that are about those of the machine need no words.
    write_file(path("same.json"),
               R"({"format": "placewright.profile", "version": 1, "devices": {}, "transfers": [
        {"from": "M", "to": "M", "time_s": [[1000, 0.001], [1000000, 0.0021]]}]})");
    QVERIFY(!run(of("simulate", "small.json", {"--profile", path("same.json")})).err.contains("replace"));
}

void TestCliBenchmark::pipelinesAreRefused() {
    const Result found = run(of("benchmark", "small.json", {"--batches", "4"}));
    QCOMPARE(found.status, 2);
    QVERIFY2(found.err.contains("--batches"), found.err);
}

void TestCliBenchmark::aProfileServesOtherNetworks() {
    const QString file = path("profile.json");
    const QJsonObject first =
        run(of("profile", "small.json", {"--out", file, "--steps", "2", "--json"}, "cores.json")).json();
    QCOMPARE(first["devices"].toArray().size(), 1);  // both are of model M
    QCOMPARE(first["devices"][0]["model"].toString(), QString("M"));
    const int kept = first["devices"][0]["kept"].toInt();
    QVERIFY(kept >= 5);
    QVERIFY(first["warnings"].isArray());
    // All of the network that was measured is known.
    const Result known = run(of("simulate", "small.json", {"--profile", file, "--json"}));
    QCOMPARE(known.status, 0);
    QVERIFY2(!known.err.contains("no measured time"), known.err);
    // Of the other, what differs is predicted.
    const Result other = run(of("simulate", "wide.json", {"--profile", file, "--json"}));
    QVERIFY2(other.err.contains("6 of 11 ops have no measured time for M"), other.err);
    // The file grows.
    const QJsonObject second =
        run(of("profile", "wide.json", {"--out", file, "--steps", "2", "--json"}, "cores.json")).json();
    QVERIFY(second["devices"][0]["kept"].toInt() > kept);
    QVERIFY(!run(of("simulate", "wide.json", {"--profile", file})).err.contains("no measured time"));
    // Times of a core are not kept as those of a GPU.
    for (const QString command : {"profile", "calibrate"}) {
        const Result foreign =
            run(of(command, "small.json", {"--out", path("foreign.json"), "--steps", "1"}));
        QCOMPARE(foreign.status, 3);
        QVERIFY2(
            foreign.err.contains("gpu:0 is core ") && foreign.err.contains("would not be those of \"M\""),
            foreign.err);
        QVERIFY(!QFile::exists(path("foreign.json")));
    }
    // It contradicts other cost models.
    QCOMPARE(run(of("simulate", "small.json", {"--profile", file, "--cost", "paleo"})).status, 2);
}

void TestCliBenchmark::simulatedAgainstMeasured() {
    const QJsonObject json = run({"experiment", "e5", "--only", "alexnet", "--steps", "1", "--placements",
                                  "4", "--evaluations", "300", "--out", path("e5"), "--json"})
                                 .json();
    const QJsonObject network = json["networks"][0].toObject();
    QCOMPARE(network["network"].toString(), QString("alexnet"));
    const int placements = network["placements"].toInt();
    QVERIFY(placements >= 2 && placements <= 4);
    QCOMPARE(network["points"].toArray().size(), placements);
    QVERIFY(network["median_error"].toDouble() >= 0);
    QVERIFY(network["best_measured_s"].toDouble() <= network["picked_s"].toDouble());
    QVERIFY(content_of(path("e5/e5.md")).contains("| alexnet |"));
    QVERIFY(content_of(path("e5/e5.svg")).startsWith("<svg"));
    QCOMPARE(lines_of(content_of(path("e5/e5.csv"))).size(), placements + 1);
}

void TestCliBenchmark::stability() {
    const QJsonObject json = run({"experiment", "e2", "--only", "alexnet", "--steps", "3", "--json"}).json();
    QCOMPARE(json["networks"].toArray().size(), 2);
    QCOMPARE(json["networks"][0]["steps_s"].toArray().size(), 4);  // with the first
    QVERIFY(json["networks"][0]["deviation"].toDouble() > 0);
}

void TestCliBenchmark::searchesEndOnHardware() {
    const QString file = path("found.json");
    const QJsonObject json = run(of("optimize", "small.json",
                                    {"--algorithm", "map-elites", "--evaluations", "200", "--measure-best",
                                     "3", "--measure-steps", "2", "--out", file, "--json"}))
                                 .json();
    const QJsonArray measured = json["measured"].toArray();
    QCOMPARE(measured.size(), 3);
    for (qsizetype k = 1; k < measured.size(); ++k)
        QVERIFY(measured[k]["measured_s"].toDouble() >= measured[k - 1]["measured_s"].toDouble());
    QCOMPARE(json["best"]["measured_s"], measured[0]["measured_s"]);
    // The result is the winner of the run placements, and is written.
    QCOMPARE(json["best"]["step_time_s"], measured[0]["simulated_s"]);
    const QJsonObject simulated = run(of("simulate", "small.json", {"--placement", file, "--json"})).json();
    QCOMPARE(simulated["step_time_s"], measured[0]["simulated_s"]);

    const Result goes_on = run(of("optimize", "small.json",
                                  {"--algorithm", "genetic", "--evaluations", "100", "--measure-evaluations",
                                   "8", "--measure-steps", "1"}));
    QCOMPARE(goes_on.status, 0);
    QVERIFY2(goes_on.out.contains("placements that were run, the fastest takes "), goes_on.out);
    QVERIFY2(
        goes_on.err.contains("warning: Cores of this computer ran ops that are simulated on accelerators"),
        goes_on.err);
    // The search goes on from the placements that were run, whether or not the algorithm starts from them.
    for (const QString algorithm : {"genetic", "random"}) {
        const QJsonObject further =
            run(of("optimize", "small.json",
                   {"--algorithm", algorithm, "--evaluations", "100", "--measure-best", "2",
                    "--measure-evaluations", "3", "--measure-steps", "1", "--json"}))
                .json();
        const auto count = further["measured"].toArray().size();
        QVERIFY2(count > 2 && count <= 5, qPrintable(algorithm + ": " + QString::number(count)));
        QVERIFY(further["measured"][0]["warning"].isString());
    }
    QCOMPARE(run(of("optimize", "small.json", {"--measure-best", "2", "--batches", "2"})).status, 2);
    QCOMPARE(run(of("optimize", "small.json", {"--measure-best", "2", "--runtime", "eager"})).status, 2);
    // Refused before the search, which would take days.
    QCOMPARE(
        run(of("optimize", "strange.json", {"--measure-best", "2", "--evaluations", "1000000000"})).status,
        3);
}

void TestCliBenchmark::wrongUseOfExperiments() {
    QVERIFY(
        run({"experiment", "e5", "--only", "lenet"}).err.contains("--only lenet: expected one of alexnet"));
    QVERIFY(run({"experiment", "e1", "--only", "alexnet"}).err.contains("e1 does not use it"));
    QVERIFY(run({"experiment", "e3", "--json"}).err.contains("e3 does not use it"));
}

QTEST_GUILESS_MAIN(TestCliBenchmark)
#include "tst_cli_benchmark.moc"
