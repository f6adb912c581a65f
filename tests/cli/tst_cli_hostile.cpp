// SPDX-License-Identifier: MIT
// The command line with names, files and an environment that are meant to break it.
#include <fcntl.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

#include "tests/support/cli.hpp"

using placewright::test::CliResult;
using placewright::test::run_cli;

namespace {

/// What clears a terminal, writes what follows from right to left, and cannot be seen.
const QString kEvil = QStringLiteral(u"\u001b[2J\u202e\u200b\u2066");
const QByteArray kEscaped = "\\x1b[2J\\u{202e}\\u{200b}\\u{2066}";

QByteArray network(const QString& name) {
    return QStringLiteral(R"({"format": "placewright.graph", "version": 1, "name": "%1", "batch": 1,
        "training": "implicit", "ops": [
          {"name": "x", "kind": "input", "inputs": [], "outputs": [{"bytes": 1000}], "parameter_bytes": 0, "flops": 0},
          {"name": "%1", "kind": "linear", "inputs": ["x"], "outputs": [{"bytes": 1000}], "parameter_bytes": 4000,
           "flops": 1e9}]})")
        .arg(name)
        .toUtf8();
}

/// Two GPUs and a channel each way. All names begin with `name`.
QByteArray machine(const QString& name) {
    return QStringLiteral(R"({"format": "placewright.machine", "version": 1, "name": "%1", "devices": [
          {"name": "%1a", "kind": "gpu", "model": "%1M", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": 1e9},
          {"name": "%1b", "kind": "gpu", "model": "%1M", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": 1e9}],
        "channels": [{"name": "%1up", "bandwidth": 1e9, "latency_s": 0}, {"name": "%1down", "bandwidth": 1e9, "latency_s": 0}],
        "routes": [{"from": "%1a", "to": "%1b", "channels": ["%1up"]}, {"from": "%1b", "to": "%1a", "channels": ["%1down"]}]})")
        .arg(name)
        .toUtf8();
}

}  // namespace

class TestCliHostile : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const QByteArray& content) const {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("%s cannot be written", qPrintable(name));
        return file.fileName();
    }

private Q_SLOTS:
    void initTestCase();

    void namesThatCommandTerminals_data();
    void namesThatCommandTerminals();
    void namesInJson();
    void pipes_data();
    void pipes();
    void emptyPaths_data();
    void emptyPaths();
    void emptyArguments_data();
    void emptyArguments();
    void linksInACircle_data();
    void linksInACircle();
    void closedOutput();
    void depthBeyondNumbers();
    void secondsThatAreOver();
    void solversThatPrint();
};

void TestCliHostile::initTestCase() {
    QVERIFY(m_folder.isValid());
    QString escaped = kEvil;
    escaped.replace(QStringLiteral("\u001b"), QStringLiteral("\\u001b"));
    write("evil.json", network(escaped));
    write("evil-machine.json", machine(escaped));
    write("net.json", network("net"));
    write("machine.json", machine("m"));
}

void TestCliHostile::namesThatCommandTerminals_data() {
    QTest::addColumn<QStringList>("arguments");
    const QString evil = path("evil.json"), out = path("out" + kEvil + ".json"),
                  folder = path("folder" + kEvil), machine = path("evil-machine.json");
    write("placement.json",
          QStringLiteral(R"({"format": "placewright.placement", "version": 1, "graph": "g", "machine": "m",
                            "placement": {"x": "%1a", "%1": "%1b"}})")
              .arg(QString(kEvil).replace(QStringLiteral("\u001b"), QStringLiteral("\\u001b")))
              .toUtf8());
    const auto row = [&](const QStringList& arguments) {
        QTest::newRow(qPrintable(arguments.first())) << arguments + QStringList{"--machine", machine};
    };
    row({"simulate", evil, "--explain", "--placement", path("placement.json")});
    row({"optimize", evil, "--evaluations", "20", "--out", out});
    row({"bound", evil});
    row({"compare", evil, "--algorithms", "random,expert", "--evaluations", "20", "--seeds", "2"});
    row({"train", evil, "--updates", "1", "--set", "rounds=1", "--set", "width=2", "--set", "hidden=3",
         "--out", path("policy" + kEvil + ".safetensors")});
    row({"export", evil, "--to", "placement", "--out", out});
    QTest::newRow("family") << QStringList{"family", "cifar10", "--count", "2", "--out", folder};
}

void TestCliHostile::namesThatCommandTerminals() {
    QFETCH(QStringList, arguments);
    const CliResult result = run_cli(arguments);
    QVERIFY2(result.status == 0, result.err);
    QVERIFY2(result.out.contains(kEscaped), result.out);
    for (const QByteArray& text : {result.out, result.err}) {
        for (const QChar c : kEvil.left(1) + kEvil.right(3))
            QVERIFY2(!text.contains(QString(c).toUtf8()), qPrintable(QString::number(c.unicode(), 16)));
    }
}

void TestCliHostile::namesInJson() {
    const CliResult result =
        run_cli({"simulate", path("evil.json"), "--machine", path("evil-machine.json"), "--json"});
    const QJsonObject found = QJsonDocument::fromJson(result.out).object();
    QCOMPARE(found["devices"][0]["name"].toString(), kEvil + "a");
}

void TestCliHostile::pipes_data() {
    QTest::addColumn<QStringList>("arguments");
    const QString network = path("net.json"), machine = path("machine.json");
    // Names say what is in a file.
    for (const char* name : {"pipe", "pipe.json", "pipe.onnx", "pipe.pt2", "pipe.pt", "pipe.dot",
                             "pipe.safetensors", "pipe.safetensors.index.json", "pipe.json.gz"}) {
        const QString pipe = path(name);
        ::mkfifo(qPrintable(pipe), 0600);
        const auto row = [&](const char* what, const QStringList& arguments) {
            QTest::addRow("%s, %s", what, name) << arguments;
        };
        row("network", {"simulate", pipe, "--machine", machine});
        row("network to run", {"simulate", pipe, "--machine", machine, "--run"});
        row("network to convert", {"convert", pipe, path("converted.json")});
        row("network to train", {"train", pipe, "--machine", machine, "--updates", "1"});
        row("family", {"train", "--family", pipe, "--machine", machine, "--updates", "1"});
        row("machine", {"simulate", network, "--machine", pipe});
        row("placement", {"simulate", network, "--machine", machine, "--placement", pipe});
        row("placement to export", {"export", network, "--machine", machine, "--placement", pipe, "--to",
                                    "placement", "--out", path("exported.json")});
        row("scores", {"optimize", network, "--machine", machine, "--evaluations", "9", "--scores", pipe});
        row("parameters", {"simulate", network, "--machine", machine, "--parameters", pipe});
        row("times", {"simulate", network, "--machine", machine, "--times", pipe});
        row("policy", {"predict", pipe, network, "--machine", machine});
        row("policy to resume",
            {"train", network, "--machine", machine, "--updates", "1", "--out", pipe, "--resume"});
        row("catalogue", {"codesign", network, "--catalogue", pipe, "--budget", "1000"});
        row("network of an experiment",
            {"experiment", "e3", "--network", "resnet50=" + pipe, "--evaluations", "1"});
    }
}

void TestCliHostile::pipes() {
    QFETCH(QStringList, arguments);
    const CliResult result = run_cli(arguments);
    const bool usage = arguments.contains("--family");
    QVERIFY2(result.status == (usage ? 2 : 3), QByteArray::number(result.status) + ' ' + result.err);
    QVERIFY2(usage || result.err.contains("is not a regular file"), result.err);
    QCOMPARE(result.out, QByteArray());
}

void TestCliHostile::emptyPaths_data() {
    QTest::addColumn<QStringList>("arguments");
    const QStringList job{path("net.json"), "--machine", path("machine.json")};
    const auto row = [&](const QString& command, const char* option, const QStringList& more) {
        QTest::addRow("%s %s", qPrintable(command), option)
            << QStringList{command} + more + QStringList{option, ""};
    };
    for (const char* option : {"--placement", "--trace", "--parameters", "--times"})
        row("simulate", option, job);
    for (const char* option : {"--out", "--scores"}) row("optimize", option, job);
    for (const char* option : {"--csv", "--curves"}) row("compare", option, job);
    for (const char* option : {"--out", "--curve", "--family"}) row("train", option, job);
    row("export", "--out", job + QStringList{"--to", "placement"});
    row("simulate", "--machine", {path("net.json")});
    row("codesign", "--out", {path("net.json"), "--catalogue", "c", "--budget", "1"});
    row("codesign", "--catalogue", {path("net.json"), "--budget", "1"});
    row("experiment", "--out", {"e3"});
    row("family", "--out", {"cifar10"});
    row("convert", "--graph", {path("net.json")});
    row("convert", "--machine", {path("net.json")});
    row("predict", "--out", QStringList{"policy"} + job);
}

void TestCliHostile::emptyArguments_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("name");
    const QStringList machine{"--machine", path("machine.json")};
    for (const char* command : {"simulate", "optimize", "compare", "bound", "export"})
        QTest::newRow(command) << QStringList{command, ""} + machine << QByteArray("GRAPH");
    QTest::newRow("train") << QStringList{"train", ""} + machine << QByteArray("GRAPHS");
    QTest::newRow("predict") << QStringList{"predict", "", path("net.json")} + machine
                             << QByteArray("POLICY");
    QTest::newRow("convert") << QStringList{"convert", "", path("out.json")} << QByteArray("FILES");
}

void TestCliHostile::emptyArguments() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, name);
    const CliResult result = run_cli(arguments);
    QCOMPARE(result.status, 2);
    QVERIFY2(result.err.contains(name + ": expected a path, not an empty text"), result.err);
    QCOMPARE(result.out, QByteArray());
}

void TestCliHostile::emptyPaths() {
    QFETCH(QStringList, arguments);
    const CliResult result = run_cli(arguments);
    QCOMPARE(result.status, 2);
    const QByteArray option = arguments[arguments.size() - 2].toUtf8();
    QVERIFY2(result.err.contains(option + ": expected a path, not an empty text"), result.err);
    QCOMPARE(result.out, QByteArray());
}

void TestCliHostile::linksInACircle_data() {
    QTest::addColumn<QStringList>("arguments");
    const QString circle = path("circle"), network = path("net.json"), machine = path("machine.json");
    QVERIFY(QFile::link(circle, circle));
    const QString longest = path(QString(300, 'n'));
    for (const QString& file : {circle, longest}) {
        const char* const what = file == circle ? "circle" : "long name";
        QTest::addRow("times, %s", what)
            << QStringList{"simulate", network, "--machine", machine, "--times", file};
        QTest::addRow("placement, %s", what)
            << QStringList{"simulate", network, "--machine", machine, "--placement", file};
        QTest::addRow("scores, %s", what)
            << QStringList{"optimize", network, "--machine", machine, "--evaluations", "9", "--scores", file};
        QTest::addRow("out, %s", what)
            << QStringList{"optimize", network, "--machine", machine, "--evaluations", "9", "--out", file};
        QTest::addRow("policy, %s", what) << QStringList{"predict", file, network, "--machine", machine};
    }
}

void TestCliHostile::linksInACircle() {
    QFETCH(QStringList, arguments);
    const CliResult result = run_cli(arguments);
    QVERIFY2(result.status == 3, QByteArray::number(result.status) + ' ' + result.err);
    QVERIFY2(!result.err.contains("internal error"), result.err);
}

void TestCliHostile::closedOutput() {
    const QString scores = path("closed.scores");
    const CliResult result = run_cli({"optimize", path("net.json"), "--machine", path("machine.json"),
                                      "--evaluations", "9", "--scores", scores},
                                     [] { ::close(STDOUT_FILENO); });
    QCOMPARE(result.status, 3);
    QCOMPARE(result.err, QByteArray("standard output: cannot be written\n"));
    // What was to be printed has not gone into the file that was opened first.
    QFile file(scores);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(!file.readAll().contains("evaluations in"));
}

void TestCliHostile::depthBeyondNumbers() {
    const CliResult result = run_cli(
        {"simulate", path("net.json"), "--machine", path("machine.json"), "--group", "scope:9999999999999"});
    QCOMPARE(result.status, 2);
    QVERIFY2(result.err.contains("--group scope:9999999999999: expected a depth of at most 4294967295"),
             result.err);
}

void TestCliHostile::secondsThatAreOver() {
    const CliResult result =
        run_cli({"optimize", path("net.json"), "--machine", path("machine.json"), "--seconds", "1e-320"});
    QCOMPARE(result.status, 4);
    QVERIFY2(result.err.contains("--seconds were over before the first placement was scored"), result.err);
}

void TestCliHostile::solversThatPrint() {
    // CBC complains about such latencies on standard output, whatever the level of its log.
    QFile file(QStringLiteral(PLACEWRIGHT_SOURCE_MODELS "/machines/4x-v100-pcie.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QJsonObject slow = QJsonDocument::fromJson(file.readAll()).object();
    QJsonArray channels = slow["channels"].toArray();
    for (auto channel : channels) {
        QJsonObject changed = channel.toObject();
        changed["latency_s"] = 9e15;
        channel = changed;
    }
    slow["channels"] = channels;
    const CliResult result =
        run_cli({"bound", "alexnet", "--machine", write("slow.json", QJsonDocument(slow).toJson()),
                 "--seconds", "3", "--json"});
    QVERIFY2(result.status == 0, result.err);
    QJsonParseError error{};
    QJsonDocument::fromJson(result.out, &error);
    QVERIFY2(error.error == QJsonParseError::NoError, result.out.left(300));
}

QTEST_GUILESS_MAIN(TestCliHostile)
#include "tst_cli_hostile.moc"
