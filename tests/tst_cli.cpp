// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <limits>
#include <map>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>
#include <sys/resource.h>
#include <sys/stat.h>

namespace {

constexpr int kPatienceMs = 60'000;

struct Result {
    int status = -1;
    QByteArray out, err;
};

Result run(const QStringList& arguments, const std::function<void()>& in_child = {}) {
    QProcess process;
    if (in_child) process.setChildProcessModifier(in_child);
    process.start(PLACEWRIGHT_CLI, arguments);
    if (!process.waitForFinished(kPatienceMs)) qFatal("the command line does not end");
    const int status = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    return {status, process.readAllStandardOutput(), process.readAllStandardError()};
}

QByteArrayList lines_of(const QByteArray& text) {
    QByteArrayList lines = text.split('\n');
    if (lines.last().isEmpty()) lines.removeLast();
    return lines;
}

qsizetype widest_line(const QByteArray& text) {
    qsizetype widest = 0;
    for (const QByteArray& line : lines_of(text)) widest = std::max(widest, QString::fromUtf8(line).size());
    return widest;
}

/// What a command with --json says: the one line on standard output. Null if it is not that, or something else went wrong.
QJsonDocument json_of(const Result& result, int status = 0) {
    QJsonParseError error{};
    const QJsonDocument document = QJsonDocument::fromJson(result.out, &error);
    if (result.status == status && error.error == QJsonParseError::NoError && lines_of(result.out).size() == 1) return document;
    qWarning() << "status" << result.status << "instead of" << status << error.errorString() << result.out.left(300) << result.err;
    return {};
}

QJsonObject object_of(const QStringList& arguments, int status = 0) {
    const Result result = run(arguments + QStringList{"--json"});
    if (status == 0 && !result.err.isEmpty()) qWarning() << result.err;
    return json_of(result, status).object();
}

QStringList sorted(QStringList list) {
    list.sort();
    return list;
}

QByteArray content_of(const QString& file) {
    QFile stream(file);
    if (!stream.open(QIODevice::ReadOnly)) return "(cannot be read)";
    return stream.readAll();
}

/// "a" to "b" and "c", these to "d": 1, 2, 2 and 1 ms on each device, every output 1 MB.
const QByteArray kGraph = R"({
  "format": "placewright.graph", "version": 1, "name": "diamond", "batch": 1, "training": "TRAINING",
  "ops": [
    {"name": "a", "kind": "matmul", "inputs": [], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 1e9},
    {"name": "b", "kind": "matmul", "inputs": ["a"], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 2e9,
     "time_s": {"M": {"forward": 0.004}}},
    {"name": "c", "kind": "matmul", "inputs": ["a"], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 2e9},
    {"name": "d", "kind": "matmul", "inputs": ["b", "c"], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 1e9}
  ]
})";

/// Two devices of 1 TFLOP/s and 100 GB/s. A megabyte takes 1 ms and the latency of 1 ms.
const QByteArray kMachine = R"({
  "format": "placewright.machine", "version": 1, "name": "pair",
  "devices": [
    {"name": "gpu:0", "kind": "gpu", "model": "M", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": MEMORY},
    {"name": "gpu:1", "kind": "gpu", "model": "N", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": MEMORY}
  ],
  "channels": [{"name": "up", "bandwidth": 1e9, "latency_s": 0.001}, {"name": "down", "bandwidth": 1e9, "latency_s": 0.001}],
  "routes": [{"from": "gpu:0", "to": "gpu:1", "channels": ["up"]}, {"from": "gpu:1", "to": "gpu:0", "channels": ["down"]}]
})";

/// 1 ms forward and 1 ms for the gradient of its parameters; the update moves 12 MB: 0.12 ms. The input needs no gradient.
const QByteArray kLayer = R"({
  "format": "placewright.graph", "version": 1, "name": "layer", "batch": 1, "training": "implicit",
  "ops": [
    {"name": "x", "kind": "input", "inputs": [], "outputs": [{"bytes": 1000}], "parameter_bytes": 0, "flops": 0},
    {"name": "fc", "kind": "linear", "inputs": ["x"], "outputs": [{"bytes": 1000}], "parameter_bytes": 4000000, "flops": 1e9}
  ]
})";

/// A terminal for the standard error of a process.
class Terminal {
public:
    Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
        if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) qFatal("there is no terminal to be had");
        slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    ~Terminal() {
        close(slave_);
        close(master_);
    }
    Q_DISABLE_COPY_MOVE(Terminal)

    void attach(QProcess& process) {
        process.setChildProcessModifier([slave = slave_] { dup2(slave, STDERR_FILENO); });
    }

    /// Reads until `text` has come, with `last` as the end of all that has come.
    bool wait_for(const QByteArray& text, bool last = false) {
        const auto done = [&] { return last ? seen_.endsWith(text) : seen_.contains(text); };
        QElapsedTimer timer;
        timer.start();
        while (!done() && timer.elapsed() < kPatienceMs) {
            pollfd waiting{master_, POLLIN, 0};
            if (poll(&waiting, 1, 100) <= 0) continue;
            char buffer[4096];
            const ssize_t count = read(master_, buffer, sizeof buffer);
            if (count > 0) seen_.append(buffer, count);
        }
        return done();
    }
    const QByteArray& seen() const { return seen_; }

private:
    int master_;
    int slave_;
    QByteArray seen_;
};

void interrupt(const QProcess& process) {
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
}

}  // namespace

class TestCli : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const QByteArray& content) const {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size()) qFatal("%s cannot be written", qPrintable(name));
        return file.fileName();
    }
    QString machineWith(const QByteArray& memory) const {
        return write("machine-" + memory + ".json", QByteArray(kMachine).replace("MEMORY", memory));
    }
    /// simulate (or another command) of the diamond on the pair.
    QStringList diamond(const QString& command, const QStringList& more = {}) const {
        return QStringList{command, path("diamond.json"), "--machine", path("pair.json")} + more;
    }

private Q_SLOTS:
    void initTestCase();

    void help_data();
    void help();
    void version();
    void wrongUsage_data();
    void wrongUsage();
    void fileNamedLikeACommand();
    void fullOutput();

    void handWorked_data();
    void handWorked();
    void training();
    void simulateJson();
    void simulateText();
    void memoryRules_data();
    void memoryRules();
    void trace();
    void alexnetText();

    void optimizeJson();
    void sameSeedSameAnswer_data();
    void sameSeedSameAnswer();
    void budgets();
    void settings();
    void nothingFits();
    void interrupted();
    void secondInterrupt();
    void unwritablePlacement();

    void bounds();
    void boundOfWhatDoesNotFit();

    void convertNetworks_data();
    void convertNetworks();
    void convertExprimo();
    void convertFailures();
    void keepsOldFile();

    void listAlgorithms();
    void listNetworks();
    void listMachines();

    void badFiles_data();
    void badFiles();
    void hugeFiles_data();
    void hugeFiles();
    void impossibleNetworks_data();
    void impossibleNetworks();
};

void TestCli::initTestCase() {
    QVERIFY(m_folder.isValid());
    write("diamond.json", QByteArray(kGraph).replace("TRAINING", "none"));
    write("diamond-training.json", QByteArray(kGraph).replace("TRAINING", "implicit"));
    write("pair.json", QByteArray(kMachine).replace("MEMORY", "1e9"));
    write("layer.json", kLayer);
    write("apart.json", R"({"format": "placewright.placement", "version": 1, "graph": "diamond", "machine": "pair",
                            "placement": {"a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0"}})");
    write("apart-flat.json", R"({"a": 0, "b": 0, "c": 1, "d": 0})");
    write("stages-flat.json", R"({"a": 0, "b": 1, "c": 1, "d": 1})");
}

void TestCli::help_data() {
    QTest::addColumn<QStringList>("command");
    QTest::addColumn<QByteArray>("mentions");
    QTest::newRow("program") << QStringList{} << QByteArray("Exit status: 0 done");
    QTest::newRow("simulate") << QStringList{"simulate"} << QByteArray("--trace");
    QTest::newRow("optimize") << QStringList{"optimize"} << QByteArray("--set OPTION=VALUE");
    QTest::newRow("bound") << QStringList{"bound"} << QByteArray("null in JSON");
    QTest::newRow("convert") << QStringList{"convert"} << QByteArray("--network");
    QTest::newRow("algorithms") << QStringList{"algorithms"} << QByteArray("--json");
    QTest::newRow("networks") << QStringList{"networks"} << QByteArray("--json");
    QTest::newRow("machines") << QStringList{"machines"} << QByteArray("--json");
}

void TestCli::help() {
    QFETCH(QStringList, command);
    QFETCH(QByteArray, mentions);
    const Result result = run(command + QStringList{"--help"});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.contains(mentions), result.out);
    QVERIFY2(widest_line(result.out) <= 100, result.out);
}

void TestCli::version() {
    const Result result = run({"--version"});
    QCOMPARE(result.status, 0);
    QVERIFY2(QRegularExpression("^\\d+\\.\\d+\\.\\d+\n$").match(QString::fromUtf8(result.out)).hasMatch(), result.out);
}

void TestCli::wrongUsage_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("complaint");
    const auto simulate = [](const QStringList& more) { return QStringList{"simulate", "alexnet", "--machine", "1x-v100"} + more; };
    const auto optimize = [](const QStringList& more) {
        return QStringList{"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "genetic", "--evaluations", "5"} + more;
    };
    const auto row = [](const char* name, const QStringList& arguments, const char* complaint) {
        QTest::newRow(name) << arguments << QByteArray(complaint);
    };
    row("nothing", {}, "a command is required; see placewright-cli --help");
    row("unknown command", {"fly"},
        "fly: there is no such command; there are simulate, optimize, bound, convert, algorithms, networks, machines");
    row("unknown option of the program", {"--fast"}, "unknown option --fast");
    row("no network", {"simulate"}, "simulate: GRAPH is required; see placewright-cli simulate --help");
    row("no machine", {"simulate", "alexnet"}, "simulate: --machine is required");
    row("no value", {"simulate", "alexnet", "--machine"}, "simulate: --machine needs a value");
    row("value of a flag", simulate({"--json=maybe"}), "the option takes no value");
    row("twice", simulate({"--machine", "2x-v100-pcie"}), "--machine is given more than once");
    row("unknown option", simulate({"--warp", "9"}), "simulate: unknown option --warp");
    row("two networks", simulate({"resnet50"}), "simulate: unexpected argument resnet50");
    row("no batches", simulate({"--batches", "0"}), "--batches: expected a whole number from 1 to 100000, not 0");
    row("half a batch", simulate({"--batches", "1.5"}), "not 1.5");
    row("words", simulate({"--in-flight", "many"}), "--in-flight: expected a whole number from 1 to 1000, not many");
    row("batch", simulate({"--batch", "-3"}), "--batch: expected a whole number from 1 to 1000000, not -3");
    row("cost", simulate({"--cost", "free"}), "--cost: expected roofline, paleo, exprimo, measured");
    row("memory", simulate({"--memory", "none"}), "--memory: expected training");
    row("objective", simulate({"--objective", "beauty"}), "--objective: expected step-time");
    row("memory rule", simulate({"--memory-rule", "none"}), "--memory-rule: expected exprimo, placeto, post");
    row("efficiency above 1", simulate({"--compute-efficiency", "1.01"}), "expected a number above 0 and at most 1, not 1.01");
    row("efficiency 0", simulate({"--channel-efficiency", "0"}), "expected a number above 0 and at most 1, not 0");
    row("efficiency nan", simulate({"--channel-efficiency", "nan"}), "not nan");
    row("no algorithm", {"optimize", "alexnet", "--machine", "1x-v100"}, "optimize: --algorithm is required");
    row("unknown algorithm", {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "magic"},
        "there is no such algorithm; there are single-device");
    row("setting without value", optimize({"--set", "elite_size"}),
        "--set elite_size: expected option=value; genetic has population_size, ");
    row("unknown setting", optimize({"--set", "nope=1"}), "unknown option \"nope\", known are population_size, ");
    row("setting out of range", optimize({"--set", "mutation_rate=7"}), "mutation_rate = 7 is out of range, expected 0 to 1");
    row("setting of a wrong type", optimize({"--set", "population_size=big"}), "population_size = big");
    row("settings at odds", optimize({"--set", "elite_size=70"}),
        "elite_size = 70 is out of range, expected less than population_size = 50");
    row("no evaluations", {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "genetic", "--evaluations", "0"},
        "--evaluations: expected a whole");
    row("no time", optimize({"--seconds", "0"}), "--seconds: expected a number above 0, not 0");
    row("no number of seconds", optimize({"--seconds", "nan"}), "--seconds: expected a number above 0, not nan");
    row("endless", optimize({"--seconds", "inf"}), "--seconds: expected a number above 0, not inf");
    row("seed", optimize({"--seed", "-1"}), "--seed: expected a whole number");
    row("threads", optimize({"--threads", "1025"}), "--threads: expected a whole number from 0 to 1024, not 1025");
    row("convert nothing", {"convert"}, "convert takes an input and an output file");
    row("convert without output", {"convert", "in.json"}, "convert takes an input and an output file");
    row("convert three", {"convert", "a", "b", "c"}, "convert takes an input and an output file");
    row("generate without output", {"convert", "--network", "alexnet"}, "convert --network NAME takes one file, the output");
    row("generate and read", {"convert", "--network", "alexnet", "a", "b"}, "convert --network NAME takes one file, the output");
    row("unknown network", {"convert", "--network", "magic", "out"}, "there is no such network; there are alexnet, resnet50, inception_v3");
    row("batch of a machine", {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--batch", "2"},
        "a machine has no batch size");
    row("argument of a list", {"algorithms", "genetic"}, "algorithms: unexpected argument genetic");
    row("line break", {"fly\nhigh"}, "fly\\x0ahigh: there is no such command");
}

void TestCli::wrongUsage() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, complaint);
    const Result result = run(arguments);
    QCOMPARE(result.status, 2);
    QCOMPARE(result.out, QByteArray());
    QVERIFY2(result.err.startsWith("placewright-cli: "), result.err);
    QVERIFY2(result.err.contains(complaint), result.err);
    QCOMPARE(lines_of(result.err).size(), 1);
}

void TestCli::fileNamedLikeACommand() {
    const QString here = QDir::currentPath();
    const auto back = qScopeGuard([&] { QDir::setCurrent(here); });
    QVERIFY(QDir::setCurrent(m_folder.path()));
    QVERIFY(QFile::copy("diamond.json", "bound"));
    QCOMPARE(object_of({"simulate", "bound", "--machine", "pair.json"})["step_time_s"].toDouble(), 0.006);
}

void TestCli::fullOutput() {
    if (!QFile::exists("/dev/full")) QSKIP("there is no /dev/full");
    QProcess process;
    process.setStandardOutputFile("/dev/full");
    process.start(PLACEWRIGHT_CLI, {"networks", "--json"});
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 1);
    QVERIFY(process.readAllStandardError().contains("standard output cannot be written"));
}

void TestCli::handWorked_data() {
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<double>("step_ms");
    QTest::addColumn<double>("total_ms");
    const auto row = [](const char* name, const QStringList& options, double step_ms, double total_ms) {
        QTest::newRow(name) << options << step_ms << total_ms;
    };
    const QString apart = path("apart.json"), stages = path("stages-flat.json");
    row("one device: 1 + 2 + 2 + 1", {}, 6, 6);
    row("roofline is the default", {"--cost", "roofline"}, 6, 6);
    row("paleo adds 10 µs for each of 8 MB read and written", {"--cost", "paleo"}, 6.08, 6.08);
    row("measured: b takes 4 ms on M, so all is on N", {"--cost", "measured"}, 6, 6);
    row("measured on M", {"--cost", "measured", "--placement", write("first-flat.json", R"({"a": 0, "b": 0, "c": 0, "d": 0})")}, 8, 8);
    row("half as efficient", {"--compute-efficiency", "0.5"}, 12, 12);
    row("channels do not matter", {"--channel-efficiency", "0.5"}, 6, 6);
    row("apart: a 0-1, to c 1-3, c 3-5, back 5-7, d 7-8", {"--placement", apart}, 8, 8);
    row("apart by index", {"--placement", path("apart-flat.json")}, 8, 8);
    row("apart, slow channels: 1 + 3 + 2 + 3 + 1", {"--placement", apart, "--channel-efficiency", "0.5"}, 10, 10);
    row("two batches in turn", {"--batches", "2"}, 6, 12);
    row("two stages: 1 + 2 + 5", {"--placement", stages}, 8, 8);
    row("two stages, batches in turn", {"--placement", stages, "--batches", "2"}, 8, 16);
    // The second batch arrives at 5 ms, when b is done and c is queued: b 3-5, c 5-7, b' 7-9, c' 9-11, d 11-12, d' 12-13.
    row("two stages, batches overlap", {"--placement", stages, "--batches", "2", "--in-flight", "2"}, 6.5, 13);
    row("more in flight than there are", {"--placement", stages, "--batches", "2", "--in-flight", "1000"}, 6.5, 13);
    row("inference has nothing to leave out", {"--inference"}, 6, 6);
}

void TestCli::handWorked() {
    QFETCH(QStringList, options);
    QFETCH(double, step_ms);
    QFETCH(double, total_ms);
    const QJsonObject outcome = object_of(diamond("simulate", options));
    QCOMPARE(outcome["step_time_s"].toDouble() * 1e3, step_ms);
    QCOMPARE(outcome["total_time_s"].toDouble() * 1e3, total_ms);
    QCOMPARE(outcome["objective_s"].toDouble(), outcome["step_time_s"].toDouble());
    QCOMPARE(outcome["score_s"].toDouble(), outcome["step_time_s"].toDouble());
}

void TestCli::training() {
    const QStringList layer{"simulate", path("layer.json"), "--machine", path("pair.json")};
    const QJsonObject step = object_of(layer);
    QCOMPARE(step["step_time_s"].toDouble(), 0.00212);
    QCOMPARE(step["ops_run"].toInt(), 4);
    // Parameters and one copy for the momentum.
    QCOMPARE(step["devices"][0]["resident_bytes"].toDouble() + step["devices"][1]["resident_bytes"].toDouble(), 8e6);
    const QJsonObject inference = object_of(layer + QStringList{"--inference"});
    QCOMPARE(inference["step_time_s"].toDouble(), 0.001);
    QCOMPARE(inference["ops_run"].toInt(), 2);
    // Nothing of the diamond has parameters: there is nothing to train, and its training is its forward pass.
    QCOMPARE(object_of({"simulate", path("diamond-training.json"), "--machine", path("pair.json"), "--inference"})["ops_run"].toInt(), 4);
}

void TestCli::simulateJson() {
    const QJsonObject outcome = object_of(diamond("simulate", {"--placement", path("apart.json")}));
    QCOMPARE(outcome.keys(), sorted({"objective", "objective_s", "step_time_s", "total_time_s", "fits", "score_s", "devices", "channels",
                                     "ops_run", "transfers"}));
    QCOMPARE(outcome["objective"].toString(), QString("step-time"));
    QCOMPARE(outcome["fits"].toBool(), true);
    QCOMPARE(outcome["ops_run"].toInt(), 4);
    QCOMPARE(outcome["transfers"].toInt(), 2);

    const QJsonArray devices = outcome["devices"].toArray();
    QCOMPARE(devices.size(), 2);
    QCOMPARE(devices[0].toObject().keys(), sorted({"name", "busy_s", "peak_bytes", "resident_bytes"}));
    QCOMPARE(devices[0]["name"].toString(), QString("gpu:0"));
    QCOMPARE(devices[0]["busy_s"].toDouble(), 0.004);
    // b's output, c's copy and d's output.
    QCOMPARE(devices[0]["peak_bytes"].toDouble(), 3e6);
    QCOMPARE(devices[0]["resident_bytes"].toDouble(), 0.0);
    QCOMPARE(devices[1]["name"].toString(), QString("gpu:1"));
    QCOMPARE(devices[1]["busy_s"].toDouble(), 0.002);
    QCOMPARE(devices[1]["peak_bytes"].toDouble(), 2e6);

    const QJsonArray channels = outcome["channels"].toArray();
    QCOMPARE(channels.size(), 2);
    for (int i = 0; i < 2; ++i) {
        QCOMPARE(channels[i].toObject().keys(), sorted({"name", "busy_s", "bytes", "transfers"}));
        QCOMPARE(channels[i]["name"].toString(), i == 0 ? QString("up") : QString("down"));
        QCOMPARE(channels[i]["busy_s"].toDouble(), 0.002);
        QCOMPARE(channels[i]["bytes"].toDouble(), 1e6);
        QCOMPARE(channels[i]["transfers"].toInt(), 1);
    }
}

void TestCli::simulateText() {
    const Result one = run(diamond("simulate", {"--placement", path("apart.json")}));
    QCOMPARE(one.status, 0);
    QCOMPARE(one.err, QByteArray());
    QCOMPARE(one.out, QByteArray("diamond on pair\n"
                                 "step time 8.00 ms, fits the memory; 4 ops run, 2 transfers\n"
                                 "\n"
                                 "device     busy  share     peak   memory\n"
                                 "gpu:0   4.00 ms   50 %  3.00 MB  1.00 GB\n"
                                 "gpu:1   2.00 ms   25 %  2.00 MB  1.00 GB\n"
                                 "\n"
                                 "channel     busy  share    bytes  transfers\n"
                                 "up       2.00 ms   25 %  1.00 MB          1\n"
                                 "down     2.00 ms   25 %  1.00 MB          1\n"));
    const Result two = run(diamond("simulate", {"--batches", "2"}));
    QVERIFY2(two.out.startsWith("diamond on pair\nstep time 6.00 ms a batch, 12.0 ms for 2, fits the memory; 8 ops run, 0 transfers\n"),
             two.out);
    QVERIFY2(!two.out.contains("channel"), two.out);
}

void TestCli::memoryRules_data() {
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<double>("score_s");
    QTest::newRow("exprimo by default: 1000 s a MB") << QStringList{} << 1000.006;
    QTest::newRow("exprimo") << QStringList{"--memory-rule", "exprimo"} << 1000.006;
    QTest::newRow("placeto: 2 s a GB") << QStringList{"--memory-rule", "placeto"} << 0.008;
    QTest::newRow("post: 100 s") << QStringList{"--memory-rule", "post"} << 100.0;
}

void TestCli::memoryRules() {
    QFETCH(QStringList, options);
    QFETCH(double, score_s);
    // On one device three outputs are held at a time, of which two fit.
    const QStringList simulate{"simulate", path("diamond.json"), "--machine", machineWith("2e6")};
    const QJsonObject outcome = object_of(simulate + options);
    QCOMPARE(outcome["fits"].toBool(), false);
    QCOMPARE(outcome["step_time_s"].toDouble(), 0.006);
    QCOMPARE(outcome["score_s"].toDouble(), score_s);
    const Result text = run(simulate + options);
    QCOMPARE(text.status, 0);
    QVERIFY2(text.out.contains("step time 6.00 ms, does not fit the memory; "), text.out);
}

void TestCli::trace() {
    const QString file = path("trace.json");
    const QJsonObject outcome =
        object_of({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--batches", "2", "--in-flight", "2", "--trace", file});
    QJsonParseError error{};
    const QJsonObject trace = QJsonDocument::fromJson(content_of(file), &error).object();
    QCOMPARE(error.errorString(), QString("no error occurred"));

    struct Span {
        double start = 0, end = 0;
    };
    std::map<std::pair<int, int>, QList<Span>> lanes;
    double last = 0;
    int ops = 0;
    for (const QJsonValue& event : trace["traceEvents"].toArray()) {
        const QString phase = event["ph"].toString();
        QVERIFY2(QStringList({"M", "X", "C"}).contains(phase), qPrintable(phase));
        if (phase != "X") continue;
        const Span span{event["ts"].toDouble(), event["ts"].toDouble() + event["dur"].toDouble()};
        QVERIFY(span.start >= 0 && span.end >= span.start);
        lanes[{event["pid"].toInt(), event["tid"].toInt()}].append(span);
        last = std::max(last, span.end);
        if (event["cat"].toString() == "kernel") ++ops;
    }
    QCOMPARE(ops, outcome["ops_run"].toInt());
    QVERIFY(std::abs(last - outcome["total_time_s"].toDouble() * 1e6) < 0.01);
    const QJsonArray devices = outcome["devices"].toArray();
    for (int device = 0; device < devices.size(); ++device) {
        QList<Span> lane = lanes[{device, 0}];
        std::ranges::sort(lane, {}, [](const Span& span) { return std::pair(span.start, span.end); });
        double busy = 0;
        for (qsizetype i = 0; i < lane.size(); ++i) {
            busy += lane[i].end - lane[i].start;
            if (i > 0) QVERIFY2(lane[i].start >= lane[i - 1].end - 0.002, "two ops at a time");
        }
        // Times are rounded to nanoseconds.
        QVERIFY(std::abs(busy - devices[device]["busy_s"].toDouble() * 1e6) < 0.001 * static_cast<double>(lane.size() + 1));
    }
}

void TestCli::alexnetText() {
    const QStringList simulate{"simulate", "alexnet", "--machine", "1x-v100"};
    const QJsonObject outcome = object_of(simulate);
    const double ms = outcome["step_time_s"].toDouble() * 1e3;
    QVERIFY2(ms > 9.995 && ms < 99.95, "of the size of tens of milliseconds, as the digits below expect");
    const QByteArray step = QByteArray::number(ms, 'f', 1) + " ms";
    const Result text = run(simulate);
    QVERIFY2(text.out.startsWith("alexnet on 1x V100\nstep time " + step + ", fits the memory; 62 ops run, 0 transfers\n"), text.out);
    QVERIFY2(QRegularExpression("\ncpu:0 +0 s +0 % +0 B +395 GB\ngpu:0 +" + QRegularExpression::escape(QString::fromUtf8(step)) +
                                " +100 % +\\d+ MB +32\\.0 GB\n$")
                 .match(QString::fromUtf8(text.out))
                 .hasMatch(),
             text.out);

    const Result search = run({"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "single-device"});
    QCOMPARE(search.status, 0);
    QCOMPARE(search.err, QByteArray());
    QVERIFY2(search.out.startsWith("Single device, seed 1: 1 evaluation in "), search.out);
    QVERIFY2(search.out.contains("\nbest " + step + ", at most "), search.out);
    QVERIFY2(search.out.contains(" % above optimal (bound "), search.out);
    QVERIFY2(search.out.contains("), 1.00 times as fast as one device\n\nalexnet on 1x V100\nstep time " + step), search.out);
}

void TestCli::optimizeJson() {
    const QString out = path("found.json");
    const QStringList problem{"alexnet", "--machine", "4x-v100-nvlink"};
    const Result result = run(QStringList{"optimize"} + problem +
                              QStringList{"--algorithm", "genetic", "--evaluations", "400", "--seed", "3", "--out", out, "--json"});
    // Progress is for terminals.
    QCOMPARE(result.err, QByteArray());
    const QJsonObject found = json_of(result).object();
    QCOMPARE(found.keys(),
             sorted({"algorithm", "seed", "evaluations", "wall_s", "simulations_per_s", "best", "lower_bound_s", "curve", "placement"}));
    QCOMPARE(found["algorithm"].toString(), QString("genetic"));
    QCOMPARE(found["seed"].toInt(), 3);
    QCOMPARE(found["evaluations"].toInt(), 400);
    QVERIFY(found["wall_s"].toDouble() > 0);
    QVERIFY(found["simulations_per_s"].toDouble() > 0);
    QCOMPARE(found["best"].toObject().keys(), sorted({"step_time_s", "score_s", "fits"}));
    QCOMPARE(found["best"]["fits"].toBool(), true);
    const double step_s = found["best"]["step_time_s"].toDouble();
    QVERIFY(found["lower_bound_s"].toDouble() > 0);
    QVERIFY(found["lower_bound_s"].toDouble() <= step_s);

    double best_s = std::numeric_limits<double>::infinity();
    int evaluations = 0;
    for (const QJsonValue& point : found["curve"].toArray()) {
        QCOMPARE(point.toArray().size(), 2);
        QVERIFY(point[0].toInt() > evaluations);
        QVERIFY(point[1].toDouble() <= best_s);
        evaluations = point[0].toInt();
        best_s = point[1].toDouble();
    }
    QCOMPARE(evaluations, 400);
    QCOMPARE(best_s, step_s);

    const QJsonObject file = QJsonDocument::fromJson(content_of(out)).object();
    QCOMPARE(file["format"].toString(), QString("placewright.placement"));
    QCOMPARE(file["placement"].toObject(), found["placement"].toObject());
    QCOMPARE(file["placement"].toObject().size(), 24);
    QCOMPARE(file["predicted"]["step_time_s"].toDouble(), step_s);
    QCOMPARE(file["predicted"]["lower_bound_s"].toDouble(), found["lower_bound_s"].toDouble());
    QCOMPARE(file["produced_by"]["algorithm"].toString(), QString("genetic"));
    QCOMPARE(file["produced_by"]["seed"].toInt(), 3);
    QCOMPARE(file["produced_by"]["evaluations"].toInt(), 400);
    QCOMPARE(object_of(QStringList{"simulate"} + problem + QStringList{"--placement", out})["step_time_s"].toDouble(), step_s);
}

void TestCli::sameSeedSameAnswer_data() {
    QTest::addColumn<QString>("algorithm");
    for (const char* algorithm : {"single-device", "random", "expert", "hill-climbing", "genetic", "map-elites"}) {
        QTest::newRow(algorithm) << QString(algorithm);
    }
}

void TestCli::sameSeedSameAnswer() {
    QFETCH(QString, algorithm);
    // With batches in flight one device is not the best, so that the searches have something to do.
    const auto search = [&](int seed, int threads) {
        QJsonObject found =
            object_of({"optimize", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4", "--algorithm", algorithm,
                       "--evaluations", "500", "--seed", QString::number(seed), "--threads", QString::number(threads)});
        found.remove("wall_s");
        found.remove("simulations_per_s");
        return found;
    };
    const QJsonObject first = search(7, 1);
    QCOMPARE(first["algorithm"].toString(), algorithm);
    for (const int threads : {1, 2, 3, 0}) QCOMPARE(search(7, threads), first);
    if (algorithm == "random") QVERIFY(search(8, 1)["placement"] != first["placement"]);
}

void TestCli::budgets() {
    const QStringList random = diamond("optimize", {"--algorithm", "random"});
    QCOMPARE(object_of(random)["evaluations"].toInt(), 20'000);
    QCOMPARE(object_of(random + QStringList{"--evaluations", "17"})["evaluations"].toInt(), 17);
    QCOMPARE(object_of(random + QStringList{"--evaluations", "17", "--seconds", "1000"})["evaluations"].toInt(), 17);
    // Time alone: no limit of evaluations cuts it short.
    const QJsonObject timed = object_of(random + QStringList{"--seconds", "0.4"});
    QVERIFY(timed["wall_s"].toDouble() >= 0.4);
    QVERIFY(timed["evaluations"].toInt() > 17);
    // Nothing more to propose.
    QCOMPARE(object_of(diamond("optimize", {"--algorithm", "single-device"}))["evaluations"].toInt(), 2);
}

void TestCli::settings() {
    const QString out = path("set.json");
    const QStringList search =
        diamond("optimize", {"--algorithm", "genetic", "--evaluations", "90", "--set", "population_size=30", "--set",
                             "crossover_type=uniform", "--set", "evolve_mutation_rate=false", "--set", "mutation_rate=0.25", "--out", out});
    const QJsonObject found = object_of(search);
    QCOMPARE(found["evaluations"].toInt(), 90);
    const QJsonObject options = QJsonDocument::fromJson(content_of(out))["produced_by"]["options"].toObject();
    QCOMPARE(
        options,
        QJsonObject({{"population_size", 30}, {"crossover_type", "uniform"}, {"evolve_mutation_rate", false}, {"mutation_rate", 0.25}}));
    // By itself the expert puts b and c apart, which takes longer.
    const QStringList one = diamond("optimize", {"--algorithm", "expert", "--set", "devices=1"});
    const QJsonObject on_one = object_of(one), apart = object_of(one.first(one.size() - 2));
    QCOMPARE(apart["best"]["step_time_s"].toDouble(), 0.008);
    QCOMPARE(on_one["best"]["step_time_s"].toDouble(), 0.006);
}

void TestCli::nothingFits() {
    const QString machine = machineWith("1e5");
    const QString out = path("misfit.json");
    const QStringList search{"optimize", path("diamond.json"), "--machine", machine, "--algorithm",
                             "random",   "--evaluations",      "50",        "--out", out};
    const QJsonObject found = object_of(search, 4);
    QCOMPARE(found["best"]["fits"].toBool(), false);
    QVERIFY(found["best"]["score_s"].toDouble() > found["best"]["step_time_s"].toDouble());
    QCOMPARE(QJsonDocument::fromJson(content_of(out))["predicted"]["fits"].toBool(true), false);
    QCOMPARE(object_of({"simulate", path("diamond.json"), "--machine", machine, "--placement", out})["step_time_s"].toDouble(),
             found["best"]["step_time_s"].toDouble());
    const Result text = run(search);
    QCOMPARE(text.status, 4);
    QCOMPARE(text.err, QByteArray("placewright-cli: no placement that fits the memory was found\n"));
    QVERIFY2(text.out.contains(", does not fit the memory; "), text.out);
    // Neither holds for what does not fit.
    QVERIFY2(!text.out.contains("above optimal") && !text.out.contains("as fast as"), text.out);
}

void TestCli::interrupted() {
    const QString out = path("cancelled.json");
    const QStringList problem{"resnet50", "--machine", "4x-v100-nvlink"};
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, QStringList{"optimize"} + problem +
                                       QStringList{"--algorithm", "genetic", "--evaluations", "1000000000", "--out", out, "--json"});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("best "), terminal.seen());
    QVERIFY2(QRegularExpression("of 1\\.00 G evaluations, best ").match(QString::fromUtf8(terminal.seen())).hasMatch(), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    const QJsonObject found = json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130).object();
    QVERIFY(found["evaluations"].toDouble() > 0 && found["evaluations"].toDouble() < 1e9);
    QCOMPARE(object_of(QStringList{"simulate"} + problem + QStringList{"--placement", out})["step_time_s"].toDouble(),
             found["best"]["step_time_s"].toDouble());
    // The line of progress is gone.
    QVERIFY2(terminal.wait_for("\r\x1b[K", true), terminal.seen());
}

void TestCli::secondInterrupt() {
    // Nobody reads the pipe, so that writing the placement waits for ever.
    const QString out = path("pipe");
    QCOMPARE(mkfifo(qPrintable(out), 0600), 0);
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI,
                  diamond("optimize", {"--algorithm", "random", "--evaluations", "1000000000000", "--out", out, "--json"}));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("best "), terminal.seen());
    interrupt(process);
    while (!process.canReadLine()) QVERIFY(process.waitForReadyRead(kPatienceMs));
    QVERIFY(!process.waitForFinished(100));
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::CrashExit);
    QCOMPARE(process.exitCode(), SIGINT);
}

void TestCli::unwritablePlacement() {
    const QStringList search{"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "genetic", "--out"};
    for (const QString& out : {path("no/such/folder/p.json"), m_folder.path()}) {
        QElapsedTimer timer;
        timer.start();
        // Refused before the search, not after it.
        const Result result = run(search + QStringList{out, "--evaluations", "1000000000000"});
        QCOMPARE(result.status, 3);
        QCOMPARE(result.out, QByteArray());
        QVERIFY2(result.err.startsWith(out.toUtf8() + ": cannot be written: "), result.err);
    }
    // What was found is not lost if the disk is full in the end.
    if (!QFile::exists("/dev/full")) return;
    const Result result = run(search + QStringList{"/dev/full", "--evaluations", "10", "--json"});
    QCOMPARE(json_of(result, 3)["evaluations"].toInt(), 10);
    QVERIFY2(result.err.startsWith("/dev/full: cannot be written: "), result.err);
}

void TestCli::bounds() {
    const QJsonObject bound = object_of(diamond("bound"));
    QCOMPARE(bound.keys(), sorted({"lower_bound_s", "bounds"}));
    // a, b and d one after the other.
    QCOMPARE(bound["lower_bound_s"].toDouble(), 0.004);
    const QJsonArray list = bound["bounds"].toArray();
    QStringList names;
    for (qsizetype i = 0; i < list.size(); ++i) {
        QCOMPARE(list[i].toObject().keys(), sorted({"name", "value_s", "proof"}));
        QVERIFY(!list[i]["proof"].toString().isEmpty());
        if (i > 0) QVERIFY(list[i]["value_s"].toDouble() <= list[i - 1]["value_s"].toDouble());
        names << list[i]["name"].toString();
    }
    QCOMPARE(sorted(names), QStringList({"critical-path", "load", "memory"}));

    // All 16 placements.
    double optimum_s = std::numeric_limits<double>::infinity();
    for (int bits = 0; bits < 16; ++bits) {
        QByteArray placement = "{";
        for (int op = 0; op < 4; ++op)
            placement += QByteArray(op > 0 ? ", " : "") + '"' + "abcd"[op] + "\": " + QByteArray::number(bits >> op & 1);
        const QString file = write("placement.json", placement + "}");
        optimum_s = std::min(optimum_s, object_of(diamond("simulate", {"--placement", file}))["step_time_s"].toDouble());
    }
    QVERIFY(bound["lower_bound_s"].toDouble() <= optimum_s);
    const QJsonObject found = object_of(diamond("optimize", {"--algorithm", "random", "--evaluations", "500"}));
    QCOMPARE(found["best"]["step_time_s"].toDouble(), optimum_s);

    const Result text = run(diamond("bound"));
    QCOMPARE(text.status, 0);
    QCOMPARE(text.err, QByteArray());
    QVERIFY2(text.out.startsWith("no placement of diamond on pair takes less than 4.00 ms\n\ncritical-path  4.00 ms  the longest chain "),
             text.out);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
}

void TestCli::boundOfWhatDoesNotFit() {
    const QStringList bound{"bound", path("layer.json"), "--machine", machineWith("1e6")};
    const QJsonObject found = object_of(bound);
    QVERIFY(found.contains("lower_bound_s"));
    QVERIFY(found["lower_bound_s"].isNull());
    QCOMPARE(found["bounds"][0]["name"].toString(), QString("memory"));
    QVERIFY(found["bounds"][0]["value_s"].isNull());
    QVERIFY2(found["bounds"][0]["proof"].toString().contains("8.00 MB"), qPrintable(found["bounds"][0]["proof"].toString()));
    const Result text = run(bound);
    QCOMPARE(text.status, 0);
    QVERIFY2(text.out.startsWith("no placement of layer on pair fits the memory\n\nmemory         none fits  "), text.out);
    const QJsonObject search =
        object_of(QStringList{"optimize"} + bound.mid(1) + QStringList{"--algorithm", "random", "--evaluations", "9"}, 4);
    QVERIFY(search["lower_bound_s"].isNull());
}

void TestCli::convertNetworks_data() {
    QTest::addColumn<QString>("network");
    for (const char* network : {"alexnet", "resnet50", "inception_v3"}) QTest::newRow(network) << QString(network);
}

void TestCli::convertNetworks() {
    QFETCH(QString, network);
    const QString shipped = QString(PLACEWRIGHT_SOURCE_MODELS "/networks/%1.json").arg(network);
    const QString out = path("generated.json");
    const Result result = run({"convert", "--network", network, "--batch", "32", out});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.out, QByteArray());
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(content_of(out) == content_of(shipped), "the shipped file is what the generator makes");
    // 32 is the default, and reading and writing changes nothing.
    QCOMPARE(run({"convert", "--network", network, out}).status, 0);
    QVERIFY(content_of(out) == content_of(shipped));
    QCOMPARE(run({"convert", shipped, out}).status, 0);
    QVERIFY(content_of(out) == content_of(shipped));

    QCOMPARE(run({"convert", "--network", network, "--batch", "3", out}).status, 0);
    const QJsonDocument small = QJsonDocument::fromJson(content_of(out));
    QCOMPARE(small["batch"].toInt(), 3);
    QCOMPARE(small["ops"][0]["outputs"][0]["shape"][0].toInt(), 3);
}

void TestCli::convertExprimo() {
    const QString network = PLACEWRIGHT_TEST_DATA "/exprimo_network.json", machine = PLACEWRIGHT_TEST_DATA "/exprimo_machine.json";
    const QString own_network = path("own-network.json"), own_machine = path("own-machine.json");
    QCOMPARE(run({"convert", network, own_network, "--batch", "16"}).status, 0);
    QCOMPARE(run({"convert", machine, own_machine}).status, 0);
    const QJsonObject there = object_of({"simulate", network, "--machine", machine, "--batch", "16"});
    const QJsonObject here = object_of({"simulate", own_network, "--machine", own_machine});
    QVERIFY(there["step_time_s"].toDouble() > 0);
    QCOMPARE(here, there);
    // The batch is fixed from here on.
    QCOMPARE(object_of({"simulate", own_network, "--machine", own_machine, "--batch", "16"}), there);
    const Result other = run({"simulate", own_network, "--machine", own_machine, "--batch", "8"});
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("the batch size of this file is fixed at 16, not 8"), other.err);
}

void TestCli::convertFailures() {
    const QString target = path("no/such/folder/g.json");
    const Result generate = run({"convert", "--network", "alexnet", target});
    QCOMPARE(generate.status, 3);
    QVERIFY2(generate.err.startsWith(target.toUtf8() + ": cannot be written: "), generate.err);
    QCOMPARE(lines_of(generate.err).size(), 1);

    const Result placement = run({"convert", path("apart.json"), path("x.json")});
    QCOMPARE(placement.status, 3);
    QVERIFY2(placement.err.contains("apart.json: the format is \"placewright.placement\", expected "), placement.err);
    QVERIFY(!QFile::exists(path("x.json")));
}

void TestCli::keepsOldFile() {
    const QString target = write("old.json", "old");
    QCOMPARE(run({"convert", write("broken.json", "{"), target}).status, 3);
    QCOMPARE(content_of(target), QByteArray("old"));

    const QStringList before = QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden);
    // As on a full disk.
    const Result result = run({"convert", "--network", "alexnet", target}, [] {
        const rlimit limit{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
    });
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.startsWith(target.toUtf8() + ": cannot be written: "), result.err);
    QCOMPARE(content_of(target), QByteArray("old"));
    QCOMPARE(QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden), before);

    QCOMPARE(run({"convert", "--network", "alexnet", target}).status, 0);
    QVERIFY(content_of(target).size() > 1000);
}

void TestCli::listAlgorithms() {
    const QJsonArray list = json_of(run({"algorithms", "--json"})).array();
    const Result text = run({"algorithms"});
    QCOMPARE(text.status, 0);
    QCOMPARE(text.err, QByteArray());
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    QStringList ids;
    for (const QJsonValue& algorithm : list) {
        QCOMPARE(algorithm.toObject().keys(), sorted({"id", "title", "help", "options"}));
        const QString id = algorithm["id"].toString();
        QVERIFY2(text.out.contains(("\n" + id + " - " + algorithm["title"].toString() + "\n").toUtf8()), qPrintable(id));
        QVERIFY(!algorithm["help"].toString().isEmpty());
        for (const QJsonValue& option : algorithm["options"].toArray()) {
            const QString name = option["name"].toString(), type = option["type"].toString();
            QVERIFY2(text.out.contains(("\n    " + name + "=").toUtf8()), qPrintable(name));
            QVERIFY(!option["help"].toString().isEmpty());
            QStringList keys{"name", "type", "default", "help"};
            if (type == "int" || type == "float")
                keys << "min"
                     << "max";
            if (type == "choice") keys << "choices";
            QCOMPARE(option.toObject().keys(), sorted(keys));
            QCOMPARE(option["default"].type(), type == "bool"     ? QJsonValue::Bool
                                               : type == "choice" ? QJsonValue::String
                                                                  : QJsonValue::Double);
            if (type == "choice") QVERIFY(option["choices"].toArray().contains(option["default"]));
        }
        ids << id;
    }
    QCOMPARE(QSet<QString>(ids.begin(), ids.end()).size(), ids.size());
    for (const char* id : {"single-device", "random", "expert", "hill-climbing", "genetic", "map-elites"}) QVERIFY2(ids.contains(id), id);
}

void TestCli::listNetworks() {
    const QJsonArray list = json_of(run({"networks", "--json"})).array();
    QCOMPARE(list.size(), QDir(PLACEWRIGHT_SOURCE_MODELS "/networks", "*.json").count());
    const Result text = run({"networks"});
    QCOMPARE(text.status, 0);
    QCOMPARE(lines_of(text.out).size(), list.size() + 1);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    for (const QJsonValue& network : list) {
        QCOMPARE(network.toObject().keys(), sorted({"name", "title", "ops", "parameters", "forward_flops", "file"}));
        const QString name = network["name"].toString();
        QVERIFY2(text.out.contains("\n" + name.toUtf8() + ' '), text.out);
        QVERIFY2(text.out.contains(network["title"].toString().toUtf8() + '\n'), text.out);
        const QJsonObject by_name = object_of({"simulate", name, "--machine", "1x-v100"});
        QVERIFY(by_name["step_time_s"].toDouble() > 0);
        QCOMPARE(object_of({"simulate", network["file"].toString(), "--machine", "1x-v100"}), by_name);
        if (name != "alexnet") continue;
        QCOMPARE(network["title"].toString(), QString("AlexNet"));
        QCOMPARE(network["ops"].toInt(), 24);
        QCOMPARE(network["parameters"].toInt(), 61'100'840);
        // 0.7142 G multiply-adds of convolutions and layers a picture, 32 pictures, and a little for the rest.
        QVERIFY(network["forward_flops"].toDouble() > 32 * 2 * 0.714e9 && network["forward_flops"].toDouble() < 32 * 2 * 0.72e9);
    }
}

void TestCli::listMachines() {
    const QJsonArray list = json_of(run({"machines", "--json"})).array();
    const QDir folder(PLACEWRIGHT_SOURCE_MODELS "/machines", "*.json");
    QCOMPARE(list.size(), folder.count());
    const Result text = run({"machines"});
    QCOMPARE(text.status, 0);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    QVERIFY2(text.out.contains("\n4x-v100-pcie         4x V100, PCIe 3               Xeon Gold 6132, 4x NVIDIA V100\n"), text.out);
    QStringList names;
    for (const QJsonValue& machine : list) {
        QCOMPARE(machine["format"].toString(), QString("placewright.machine"));
        names << machine["name"].toString();
    }
    for (const QString& file : folder.entryList()) {
        const QString stem = QFileInfo(file).completeBaseName();
        QVERIFY2(text.out.contains("\n" + stem.toUtf8() + ' '), text.out);
        const QString name = QJsonDocument::fromJson(content_of(folder.filePath(file)))["name"].toString();
        QVERIFY2(names.contains(name), qPrintable(name));
        const QJsonObject by_stem = object_of({"simulate", "alexnet", "--machine", stem});
        QVERIFY(by_stem["step_time_s"].toDouble() > 0);
        QCOMPARE(object_of({"simulate", "alexnet", "--machine", name}), by_stem);
    }
}

void TestCli::badFiles_data() {
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
    QTest::newRow("other format") << QByteArray(R"({"format": "x", "version": 1})") << QByteArray("expected \"placewright.graph\"")
                                  << QByteArray("expected \"placewright.machine\"") << QByteArray("expected \"placewright.placement\"");
    QTest::newRow("object without format") << QByteArray("{\"e\": 0}") << QByteArray("expected \"placewright.graph\"")
                                           << QByteArray("expected \"placewright.machine\"")
                                           << QByteArray("placement: ops that are not in the network: \"e\"; ops without a device: \"a\"");
}

void TestCli::badFiles() {
    QFETCH(QByteArray, content);
    const QString file = write("bad.json", content);
    const QList<std::pair<const char*, QStringList>> uses{
        {"network", {"simulate", file, "--machine", path("pair.json")}},
        {"machine", {"simulate", path("diamond.json"), "--machine", file}},
        {"placement", diamond("simulate", {"--placement", file})},
    };
    for (const auto& [role, arguments] : uses) {
        const QByteArray expected = *static_cast<const QByteArray*>(QTest::qData(role, QMetaType::QByteArray));
        for (const QStringList& json : {QStringList{}, QStringList{"--json"}}) {
            const Result result = run(arguments + json);
            QCOMPARE(result.status, 3);
            QCOMPARE(result.out, QByteArray());
            QVERIFY2(result.err.startsWith(file.toUtf8() + ": ") && result.err.contains(expected), result.err);
            QCOMPARE(lines_of(result.err).size(), 1);
        }
    }
}

void TestCli::hugeFiles_data() {
    QTest::addColumn<QByteArray>("begin");
    QTest::addColumn<char>("filling");
    QTest::newRow("zeros") << QByteArray() << '\0';
    QTest::newRow("brackets") << QByteArray() << '[';
    QTest::newRow("brackets in an object") << QByteArray("{\"a\": ") << '[';
    QTest::newRow("endless text") << QByteArray("{\"a\": \"") << 'x';
}

void TestCli::hugeFiles() {
    QFETCH(QByteArray, begin);
    QFETCH(char, filling);
    const QString file = write("huge.json", begin + QByteArray(100'000'000, filling));
    const auto remove = qScopeGuard([&] { QFile::remove(file); });
    for (const QStringList& arguments :
         {QStringList{"simulate", file, "--machine", path("pair.json")}, QStringList{"simulate", path("diamond.json"), "--machine", file},
          diamond("simulate", {"--placement", file})}) {
        QElapsedTimer timer;
        timer.start();
        const Result result = run(arguments);
        QVERIFY2(timer.elapsed() < 10'000, "slow");
        QCOMPARE(result.status, 3);
        QCOMPARE(result.out, QByteArray());
        QVERIFY2(result.err.startsWith(file.toUtf8() + ": "), result.err.left(1000));
        QCOMPARE(lines_of(result.err).size(), 1);
        QVERIFY(result.err.size() < 1000);
    }
}

void TestCli::impossibleNetworks_data() {
    QTest::addColumn<QByteArray>("ops");
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QByteArray>("complaint");
    const auto op = [](const QByteArray& what, const char* bytes = "0") {
        return "{" + what + ", \"outputs\": [{\"bytes\": 4}], \"parameter_bytes\": " + bytes + ", \"flops\": 1}";
    };
    QTest::newRow("allowed nowhere") << R"("training": "none", "ops": [)" +
                                            op(R"("name": "a", "kind": "relu", "inputs": [], "devices": ["cpu"])")
                                     << QStringList{} << QByteArray("op \"a\" may not run on any device of machine \"pair\"");
    QTest::newRow("name of a derived op") << R"("training": "implicit", "ops": [)" +
                                                 op(R"("name": "a", "kind": "linear", "inputs": [])", "4") + ',' +
                                                 op(R"("name": "a/update", "kind": "relu", "inputs": ["a"])")
                                          << QStringList{} << QByteArray("\"a/update\"");
    QTest::newRow("nothing to infer") << R"("training": "explicit", "ops": [)" +
                                             op(R"("name": "a", "kind": "relu", "phase": "backward", "inputs": [])")
                                      << QStringList{"--inference"} << QByteArray("no ops");
}

void TestCli::impossibleNetworks() {
    QFETCH(QByteArray, ops);
    QFETCH(QStringList, options);
    QFETCH(QByteArray, complaint);
    const QString file =
        write("impossible.json", R"({"format": "placewright.graph", "version": 1, "name": "n", "batch": 1, )" + ops + "]}");
    for (const QStringList& command : {QStringList{"simulate"}, QStringList{"bound"}, QStringList{"optimize", "--algorithm", "random"}}) {
        const Result result = run(command + QStringList{file, "--machine", path("pair.json")} + options);
        QCOMPARE(result.status, 3);
        QCOMPARE(result.out, QByteArray());
        QVERIFY2(result.err.startsWith(file.toUtf8() + ": ") && result.err.contains(complaint), result.err);
        QCOMPARE(lines_of(result.err).size(), 1);
    }
}

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
