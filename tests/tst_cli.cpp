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

#include "tests/support/onnx_models.hpp"

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

/// Without what depends on the computer: the bound is raised as long as the search takes.
QJsonObject untimed(QJsonObject found) {
    for (const char* timed : {"wall_s", "simulations_per_s", "lower_bound_s", "bound"}) found.remove(timed);
    return found;
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

/// 1 ms forward and 1 ms for the gradient of its parameters; with momentum the update moves 20 MB: 0.2 ms. The input needs no gradient.
const QByteArray kLayer = R"({
  "format": "placewright.graph", "version": 1, "name": "layer", "batch": 1, "training": "implicit",
  "ops": [
    {"name": "x", "kind": "input", "inputs": [], "outputs": [{"bytes": 1000}], "parameter_bytes": 0, "flops": 0},
    {"name": "fc", "kind": "linear", "inputs": ["x"], "outputs": [{"bytes": 1000}], "parameter_bytes": 4000000, "flops": 1e9}
  ]
})";

/// Options of a policy that is trained in no time.
const QStringList kSmallPolicy{"--set", "rounds=1", "--set", "width=2", "--set", "hidden=3", "--set", "workers=2"};

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
    /// train of a small policy on the diamond on the pair.
    QStringList lesson(const QStringList& more) const {
        return QStringList{"train", path("diamond.json"), "--machine", path("pair.json")} + kSmallPolicy + more;
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
    void memoryOptions();
    void accumulation();
    void orders();
    void crossing();
    void simulateJson();
    void simulateText();
    void explainJson();
    void explainText();
    void explainByObjective();
    void explainInterrupted();
    void memoryRules_data();
    void memoryRules();
    void trace();
    void timesOfATrace();
    void alexnetText();

    void exportFormats();
    void exportRepairs();
    void exportRefusals();

    void optimizeJson();
    void groups();
    void refinement();
    void scoresOnAFullDisk();
    void scoresGoOn();
    void sameSeedSameAnswer_data();
    void sameSeedSameAnswer();
    void budgets();
    void settings();
    void nothingFits();
    void interrupted();
    void secondInterrupt();
    void unwritablePlacement();

    void compareJson();
    void compareText();
    void compareGoals();
    void codesignLeavesNoOldDesigns();
    void codesignCountsMachines();
    void compareTables();
    void whatIsReadIsNotWritten();
    void compareNothingFits();
    void compareInterrupted();
    void experiment();
    void partOfAnExperiment();
    void postExperiment();
    void experimentInterrupted();
    void trainingExperiments_data();
    void trainingExperiments();
    void farSightedOnOneFamily();
    void trainingExperimentInterrupted();

    void bounds();
    void boundOfWhatDoesNotFit();

    void families();
    void train();
    void trainOnFamilies();
    void trainingGoesOn();
    void trainInterrupted();
    void trainDiverges();
    void trainWhatDoesNotFit();
    void trainBesideACpu();
    void trainWrongUsage_data();
    void trainWrongUsage();
    void predict();
    void predictAsTrained();
    void predictOtherSizes();
    void convertNetworks_data();
    void convertNetworks();
    void convertExprimo();
    void onnx();
    void shards();
    void shardsAgreeWithExprimo();
    void convertFailures();
    void keepsOldFile();

    void listAlgorithms();
    void listNetworks();
    void listMachines();

    void badFiles_data();
    void badFiles();
    void hugeFiles_data();
    void hugeFiles();
    void parametersFromSafetensors();
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
    QTest::newRow("compare") << QStringList{"compare"} << QByteArray("--set ALGORITHM.OPTION=VALUE");
    QTest::newRow("experiment") << QStringList{"experiment"} << QByteArray("(NAME.md)");
    QTest::newRow("bound") << QStringList{"bound"} << QByteArray("null in JSON");
    QTest::newRow("convert") << QStringList{"convert"} << QByteArray("--network");
    QTest::newRow("train") << QStringList{"train"} << QByteArray("--checkpoint-every S");
    QTest::newRow("predict") << QStringList{"predict"} << QByteArray("--episodes N");
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
        "fly: there is no such command; there are simulate, optimize, compare, codesign, experiment, bound, export, convert, family, "
        "train, "
        "predict, "
        "algorithms, networks, machines");
    row("unknown option of the program", {"--fast"}, "unknown option --fast");
    row("unknown format", {"export", "alexnet", "--machine", "1x-v100", "--to", "cake", "--out", "x"},
        "--to: expected placement, device-map,");
    row("nothing to repair", {"export", "alexnet", "--machine", "1x-v100", "--to", "csv", "--out", "x", "--repair"},
        "--repair: the format csv takes placements as they are");
    row("no format", {"export", "alexnet", "--machine", "1x-v100", "--out", "x"}, "export: --to is required");
    row("no network", {"simulate"}, "simulate: GRAPH is required; see placewright-cli simulate --help");
    row("no machine", {"simulate", "alexnet"}, "simulate: --machine is required");
    row("no value", {"simulate", "alexnet", "--machine"}, "simulate: --machine needs a value");
    row("value of a flag", simulate({"--json=maybe"}), "the option takes no value");
    row("twice", simulate({"--machine", "2x-v100-pcie"}), "--machine is given more than once");
    row("unknown option", simulate({"--warp", "9"}), "simulate: unknown option --warp");
    row("two networks", simulate({"resnet50"}), "simulate: unexpected argument resnet50");
    row("no batches", simulate({"--batches", "0"}), "--batches: expected a whole number from 1 to 100000, not 0");
    row("no shape", simulate({"--input", "1y3"}), "--input: \"1y3\" is no shape, expected such as 1x3x224x224");
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
    row("parts", simulate({"--shard", "conv1"}), "--shard conv1: expected OP=N, the name of an op and 2 parts or more");
    row("one part", simulate({"--shard", "conv1=1"}), "--shard conv1=1: expected OP=N");
    row("words of parts", simulate({"--shard", "conv1=2x"}), "--shard conv1=2x: expected OP=N");
    row("parts of nothing", simulate({"--shard", "nothing=2"}), "--shard: there is no op \"nothing\" to split");
    row("parts of the input", optimize({"--shard", "input=2"}), "--shard: op \"input\": an op of kind \"input\" cannot be split");
    row("parts of a machine", {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--shard", "a=2"},
        "--shard: a machine has no ops");
    row("order", simulate({"--order", "lifo"}), "--order: expected fifo, critical-path, gpipe, 1f1b; not lifo");
    row("optimizer", simulate({"--optimizer", "lion"}), "--optimizer: expected sgd, momentum, adam; not lion");
    row("recompute", simulate({"--recompute", "all"}), "--recompute: expected none, segments, cheap; not all");
    row("crossing", simulate({"--crossing", "wormhole"}), "--crossing: expected store-and-forward, cut-through; not wormhole");
    row("workspace", simulate({"--workspace", "much"}), "--workspace: expected a size such as 64MB or 2GB, not much");
    row("workspace of unknown units", simulate({"--workspace", "3 apples"}),
        "--workspace: expected a size such as 64MB or 2GB, not 3 apples");
    row("negative workspace", simulate({"--workspace=-1"}), "--workspace: expected a size such as 64MB or 2GB, not -1");
    row("too much workspace", simulate({"--workspace", "100000000000000 GB"}), "--workspace: expected a size such as 64MB or 2GB");
    row("no usable memory", simulate({"--usable-memory", "0"}), "--usable-memory: expected a number above 0 and at most 1, not 0");
    row("more than all memory", simulate({"--usable-memory", "1.1"}), "--usable-memory: expected a number above 0 and at most 1, not 1.1");
    row("recompute without training", simulate({"--inference", "--recompute", "cheap"}), "--recompute: there is no backward pass");
    row("accumulate without training", simulate({"--inference", "--accumulate"}), "--accumulate: there is no backward pass");
    row("optimizer without training", simulate({"--inference", "--optimizer", "adam"}), "--optimizer: there is no backward pass");
    row("recompute as Exprimo", simulate({"--cost", "exprimo", "--recompute", "segments"}), "--recompute: --cost exprimo has backward ops");
    row("accumulate as Exprimo", simulate({"--cost", "exprimo", "--accumulate"}), "--accumulate: --cost exprimo has no weight gradients");
    row("optimizer as Exprimo", simulate({"--memory", "exprimo", "--optimizer", "sgd"}), "--optimizer: --memory exprimo counts parameters");
    row("in place as Exprimo", simulate({"--memory", "exprimo", "--in-place"}), "--in-place: --memory exprimo counts parameters");
    row("workspace as Exprimo", simulate({"--memory", "exprimo", "--workspace", "1MB"}), "--workspace: --memory exprimo counts parameters");
    row("unknown algorithm", {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "magic"},
        "there is no such algorithm; there are auto, single-device");
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
    const auto compare = [](const QStringList& more) {
        return QStringList{"compare", "alexnet", "--machine", "1x-v100", "--seeds", "2", "--evaluations", "5"} + more;
    };
    row("compare nothing", compare({}), "compare: --algorithms is required");
    row("compare the unknown", compare({"--algorithms", "genetic,magic"}), "--algorithms magic: there is no such algorithm");
    row("compare with itself", compare({"--algorithms", "genetic,random,genetic"}), "--algorithms: genetic is named twice");
    row("no seeds", compare({"--algorithms", "genetic", "--seeds", "0"}), "--seeds: expected a whole number from 1 to 10000, not 0");
    row("setting of nobody", compare({"--algorithms", "genetic,random", "--set", "elite_size=3"}),
        "--set elite_size=3: expected algorithm.option=value with one of genetic, random");
    row("setting of another", compare({"--algorithms", "genetic", "--set", "random.batch_size=3"}), "with one of genetic");
    row("unknown setting of one", compare({"--algorithms", "genetic", "--set", "genetic.nope=1"}),
        "--set genetic.nope=1: unknown option \"nope\", known are population_size, ");
    row("settings of one at odds", compare({"--algorithms", "genetic", "--set", "genetic.elite_size=70"}),
        "--set: elite_size = 70 is out of range, expected less than population_size = 50");
    row("unknown experiment", {"experiment", "e9"}, "NAME: expected e3, post, placeto, placeto-families, ");
    row("updates of searches", {"experiment", "e3", "--updates", "5"}, "--updates: e3 trains policies, if any, for --evaluations");
    row("count of searches", {"experiment", "post", "--count", "5"}, "--count: post has nothing to count");
    row("unknown algorithm of an experiment", {"experiment", "e3", "--algorithm", "post"},
        "--algorithm post: expected one of hill-climbing, simulated-annealing, genetic, map-elites");
    row("unknown case of an experiment", {"experiment", "e3", "--only", "normal,vgg"},
        "--only normal,vgg: expected labels of one of \"normal,alexnet\", ");
    row("case of an experiment with families", {"experiment", "placeto-families", "--only", "nmt"},
        "--only: placeto-families has families, chosen by --family");
    row("case of an experiment with one", {"experiment", "placeto-rewards", "--only", "nmt2"}, "--only: placeto-rewards has one case");
    row("family of searches", {"experiment", "post", "--family", "nmt"}, "--family: post has none");
    row("evaluations of trainings", {"experiment", "placeto-families", "--evaluations", "5"},
        "--evaluations: placeto-families trains policies, for --updates");
    row("count of one network", {"experiment", "placeto-rewards", "--count", "5"}, "--count: placeto-rewards has nothing to count");
    row("half of one network", {"experiment", "placeto-ablations", "--count", "1"}, "--count: a family needs 2 networks");
    row("unknown family of an experiment", {"experiment", "placeto-families", "--family", "vgg"},
        "--family vgg: placeto-families has cifar10, ptb, nmt");
    row("network of a family", {"experiment", "placeto-families", "--network", "nmt2=a.json"},
        "--network nmt2=a.json: placeto-families makes its networks itself");
    row("setting of an experiment", {"experiment", "placeto-orders", "--set", "placeto.rounds=x"}, "--set placeto.rounds=x: ");
    row("settings of an experiment at odds", {"experiment", "placeto-orders", "--set", "colocrl.hidden=5"}, "--set: hidden = 5");
    row("policy for one number of groups",
        {"experiment", "placeto-families", "--family", "nmt", "--count", "8", "--updates", "1", "--set", "placeto.aggregation=flat"},
        "with these options placeto is made for one number of groups, here ");
    row("unknown network of an experiment", {"experiment", "e3", "--network", "vgg16=a.json"},
        "--network vgg16=a.json: expected NAME=FILE with one of alexnet, resnet50, inception_v3");
    row("convert nothing", {"convert"}, "convert takes an input and an output file");
    row("convert without output", {"convert", "in.json"}, "convert takes an input and an output file");
    row("convert three", {"convert", "a", "b", "c"}, "convert takes an input and an output file");
    row("generate without output", {"convert", "--network", "alexnet"}, "convert --network NAME takes one file, the output");
    row("generate and read", {"convert", "--network", "alexnet", "a", "b"}, "convert --network NAME takes one file, the output");
    row("unknown network", {"convert", "--network", "magic", "out"}, "there is no such network; there are alexnet, vgg16, resnet50, ");
    row("batch of a machine", {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--batch", "2"},
        "a machine has no batch size");
    row("argument of a list", {"algorithms", "genetic"}, "algorithms: unexpected argument genetic");
    row("unknown groups", simulate({"--group", "pairs"}), "--group pairs: expected none, colocation, scope, scope:DEPTH or merge");
    row("depth of nothing", simulate({"--group", "merge:3"}), "--group merge:3: only scope has a depth");
    row("no depth", simulate({"--group", "scope:"}), "--group scope:: expected a depth of 1 or more");
    row("depth 0", simulate({"--group", "scope:0"}), "--group scope:0: expected a depth of 1 or more");
    row("groups of no merge", simulate({"--group", "scope", "--groups", "3"}), "--groups says how --group merge merges, not --group scope");
    row("merge below without merge", simulate({"--merge-below", "1MB"}), "--merge-below says how --group merge merges, not --group none");
    row("both ways to merge", simulate({"--group", "merge", "--groups", "3", "--merge-below", "1MB"}),
        "--groups, --merge-below: expected one of them");
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
    QCOMPARE(step["step_time_s"].toDouble(), 0.0022);
    QCOMPARE(step["ops_run"].toInt(), 4);
    QCOMPARE(object_of(layer + QStringList{"--optimizer", "sgd"})["step_time_s"].toDouble(), 0.00212);
    QCOMPARE(object_of(layer + QStringList{"--optimizer", "adam"})["step_time_s"].toDouble(), 0.00228);
    // Parameters and one copy for the momentum.
    QCOMPARE(step["devices"][0]["resident_bytes"].toDouble() + step["devices"][1]["resident_bytes"].toDouble(), 8e6);
    const QJsonObject inference = object_of(layer + QStringList{"--inference"});
    QCOMPARE(inference["step_time_s"].toDouble(), 0.001);
    QCOMPARE(inference["ops_run"].toInt(), 2);
    // Nothing of the diamond has parameters: there is nothing to train, and its training is its forward pass.
    QCOMPARE(object_of({"simulate", path("diamond-training.json"), "--machine", path("pair.json"), "--inference"})["ops_run"].toInt(), 4);
}

void TestCli::memoryOptions() {
    const QStringList layer{"simulate", path("layer.json"), "--machine", path("pair.json")};
    const auto resident = [&](const QStringList& more) {
        return object_of(layer + more)["devices"].toArray()[0].toObject()["resident_bytes"].toDouble();
    };
    QCOMPARE(resident({}), 8e6);
    QCOMPARE(resident({"--optimizer", "sgd"}), 4e6);
    QCOMPARE(resident({"--optimizer", "momentum"}), 8e6);
    QCOMPARE(resident({"--optimizer", "adam"}), 12e6);
    QCOMPARE(resident({"--accumulate"}), 12e6);
    // 4 MB of parameters, as much of momentum and of gradients, 2 kB of activations; 1 GB of memory.
    const auto fits = [&](const char* share) { return object_of(layer + QStringList{"--usable-memory", share})["fits"].toBool(); };
    QVERIFY(fits("1") && fits("0.013") && !fits("0.012"));
    QVERIFY(run(layer + QStringList{"--usable-memory", "0.5"}).out.contains("500 MB"));

    const QString conv = write("conv.json", R"({
      "format": "placewright.graph", "version": 1, "name": "conv", "batch": 1, "training": "none",
      "ops": [
        {"name": "x", "kind": "input", "inputs": [], "outputs": [{"shape": [1, 3, 10, 10], "dtype": "float32"}],
         "parameter_bytes": 0, "flops": 0},
        {"name": "conv", "kind": "conv2d", "inputs": ["x"], "outputs": [{"shape": [1, 8, 8, 8], "dtype": "float32"}],
         "parameter_bytes": 0, "flops": 1e9, "attributes": {"kernel": [3, 3]}},
        {"name": "act", "kind": "relu", "inputs": ["conv"], "outputs": [{"shape": [1, 8, 8, 8], "dtype": "float32"}],
         "parameter_bytes": 0, "flops": 512}
      ]
    })");
    const auto peak = [&](const QStringList& more) {
        const QJsonObject outcome = object_of(QStringList{"simulate", conv, "--machine", path("pair.json")} + more);
        return outcome["devices"].toArray()[0].toObject()["peak_bytes"].toDouble();
    };
    // An input of 1200 bytes, outputs of 2048, 3 x 3 x 3 values for each of 64 places.
    QCOMPARE(peak({}), 2 * 2048.0);
    QCOMPARE(peak({"--in-place"}), 1200 + 2048.0);
    QCOMPARE(peak({"--workspace", "1kB"}), 1200 + 2048 + 1000.0);
    QCOMPARE(peak({"--workspace", "1 GB"}), 1200 + 2048 + 27 * 64 * 4.0);
}

void TestCli::accumulation() {
    // 2 ms of forward and gradient; adding up takes 0.12 ms, the update 0.2 ms: the first batch does neither, the last both.
    const auto step_s = [&](const char* batches) {
        const QStringList arguments{"simulate", path("layer.json"), "--machine", path("pair.json"), "--accumulate", "--batches", batches};
        return object_of(arguments)["step_time_s"].toDouble();
    };
    QCOMPARE(step_s("1"), 0.0022);
    QCOMPARE(step_s("4"), 0.002 + (3 * 0.00012 + 0.0002) / 4);
}

void TestCli::orders() {
    // Two stages of 1 and 5 ms; the second begins when the tensor has come.
    const QStringList stages = diamond("simulate", {"--placement", path("stages-flat.json")});
    for (const char* order : {"fifo", "critical-path", "gpipe", "1f1b"}) {
        const QJsonObject outcome = object_of(stages + QStringList{"--order", order});
        QCOMPARE(outcome["step_time_s"].toDouble(), 0.008);
        QVERIFY(outcome["steady_step_time_s"].isNull());
    }
    const QStringList full = stages + QStringList{"--order", "critical-path", "--batches", "20", "--in-flight", "3"};
    const QJsonObject outcome = object_of(full);
    QCOMPARE(outcome["steady_step_time_s"].toDouble(), 0.005);
    QVERIFY(outcome["step_time_s"].toDouble() > 0.005);
    QVERIFY(run(full).out.contains(", 5.00 ms with a full pipeline"));
}

void TestCli::crossing() {
    const QByteArray pair = QByteArray(kMachine).replace("MEMORY", "1e9");
    const auto step_s = [&](const QByteArray& machine, const QStringList& more) {
        const QStringList arguments{"simulate", path("diamond.json"), "--machine", write("hops.json", machine)};
        return object_of(arguments + QStringList{"--placement", path("stages-flat.json")} + more)["step_time_s"].toDouble();
    };
    // A megabyte over two channels: 2 ms each, or both latencies and 1 ms.
    const QByteArray hops = QByteArray(pair).replace("[\"up\"]", "[\"up\", \"down\"]");
    const QByteArray through = QByteArray(hops).replace("\"devices\"", "\"crossing\": \"cut-through\", \"devices\"");
    QCOMPARE(step_s(hops, {}), 0.010);
    QCOMPARE(step_s(hops, {"--crossing", "cut-through"}), 0.009);
    QCOMPARE(step_s(through, {}), 0.009);
    QCOMPARE(step_s(through, {"--crossing", "store-and-forward"}), 0.010);
    const QString twice = write("twice.json", QByteArray(pair).replace("[\"up\"]", "[\"up\", \"up\"]"));
    const Result refused = run({"simulate", path("diamond.json"), "--machine", twice, "--crossing", "cut-through"});
    QCOMPARE(refused.status, 3);
    QVERIFY2(refused.err.contains("twice.json: route from \"gpu:0\" to \"gpu:1\": crosses channel \"up\" twice"), refused.err);
}

void TestCli::simulateJson() {
    const QJsonObject outcome = object_of(diamond("simulate", {"--placement", path("apart.json")}));
    QCOMPARE(outcome.keys(), sorted({"objective", "objective_s", "step_time_s", "steady_step_time_s", "total_time_s", "fits", "score_s",
                                     "devices", "channels", "ops_run", "transfers", "estimated_ops"}));
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

void TestCli::explainJson() {
    const QJsonObject outcome = object_of(diamond("simulate", {"--placement", path("apart.json"), "--explain"}));
    QCOMPARE(outcome["total_time_s"].toDouble(), 0.008);
    const QJsonObject explain = outcome["explain"].toObject();
    QCOMPARE(explain.keys(), sorted({"critical_path", "memory", "moves"}));

    // a, its way up to c, c, its way down to d, d.
    const QJsonObject critical = explain["critical_path"].toObject();
    QCOMPARE(critical.keys(), sorted({"compute_s", "transfer_s", "queue_s", "devices", "channels", "segments"}));
    QCOMPARE(critical["compute_s"].toDouble(), 0.004);
    QCOMPARE(critical["transfer_s"].toDouble(), 0.004);
    QCOMPARE(critical["queue_s"].toDouble(), 0.0);
    QCOMPARE(critical["devices"][0].toObject().keys(), sorted({"name", "compute_s", "queue_s"}));
    QCOMPARE(critical["channels"][0].toObject().keys(), sorted({"name", "transfer_s", "queue_s"}));
    const QJsonArray segments = critical["segments"].toArray();
    QCOMPARE(segments.size(), 5);
    QCOMPARE(segments[0].toObject().keys(), sorted({"kind", "start_s", "end_s", "op", "batch", "device"}));
    QCOMPARE(segments[1].toObject().keys(), sorted({"kind", "start_s", "end_s", "op", "batch", "channel", "from", "to", "bytes"}));
    QCOMPARE(segments[1]["kind"].toString(), QString("transfer"));
    QCOMPARE(segments[1]["channel"].toString(), QString("up"));
    QCOMPARE(segments[1]["end_s"].toDouble(), 0.003);
    QCOMPARE(segments[2]["op"].toString(), QString("c"));
    QCOMPARE(segments[2]["device"].toString(), QString("gpu:1"));

    const QJsonObject memory = explain["memory"][0].toObject();
    QCOMPARE(memory["device"].toString(), QString("gpu:0"));
    QCOMPARE(memory["peak_bytes"].toDouble(), 3e6);
    QCOMPARE(memory["time_s"].toDouble(), 0.007);
    QCOMPARE(memory["alive"].toArray().size(), 3);
    QCOMPARE(memory["alive"][1]["kind"].toString(), QString("copy"));
    QCOMPARE(memory["alive"][1]["op"].toString(), QString("c"));
    QCOMPARE(memory["alive"][1]["since_s"].toDouble(), 0.005);

    const QJsonArray moves = explain["moves"].toArray();
    QCOMPARE(moves.size(), 4);
    QCOMPARE(moves[0].toObject().keys(), sorted({"op", "from", "to", "objective_s", "delta_s", "score_s", "fits"}));
    // Moving a, c or d takes 6 ms each; equals come in the order of the graph.
    QCOMPARE(moves[1]["op"].toString(), QString("c"));
    QCOMPARE(moves[1]["from"].toString(), QString("gpu:1"));
    QCOMPARE(moves[1]["to"].toString(), QString("gpu:0"));
    QCOMPARE(moves[1]["objective_s"].toDouble(), 0.006);
    QCOMPARE(moves[1]["delta_s"].toDouble(), -0.002);
    QCOMPARE(moves[3]["op"].toString(), QString("b"));
    QVERIFY(moves[3]["delta_s"].toDouble() > 0);
}

void TestCli::explainText() {
    // On one device c waits for b.
    const Result waits = run(diamond("simulate", {"--explain"}));
    QCOMPARE(waits.status, 0);
    QCOMPARE(waits.err, QByteArray());
    QVERIFY2(waits.out.contains("Critical path: 67 % computing, 0 % transferring, 33 % waiting"), waits.out);
    QVERIFY2(waits.out.contains("c waits for gpu:0 until b is done"), waits.out);
    const Result apart = run(diamond("simulate", {"--placement", path("apart.json"), "--explain"}));
    QVERIFY2(apart.out.contains("a over up, from gpu:0 to gpu:1"), apart.out);
    QVERIFY2(apart.out.contains("The best of 4 single moves (better than now: 3)"), apart.out);
    QVERIFY2(apart.out.contains("-2.00 ms"), apart.out);
    QVERIFY(widest_line(apart.out) <= 100);
}

void TestCli::explainByObjective() {
    // 1 ms each on a GPU, 10 ms on the CPU; 0.1 ms to or from the memory of the CPU. On one GPU nothing takes less time, but a sample takes
    // 2 ms of it, and half of that on two.
    const QString row = write("row.json", R"({
      "format": "placewright.graph", "version": 1, "name": "row", "batch": 1, "training": "none",
      "ops": [
        {"name": "a", "kind": "matmul", "inputs": [], "outputs": [{"bytes": 100000}], "parameter_bytes": 0, "flops": 1e9},
        {"name": "b", "kind": "matmul", "inputs": ["a"], "outputs": [{"bytes": 100000}], "parameter_bytes": 0, "flops": 1e9}
      ]
    })");
    const QString host = write("host.json", R"({
      "format": "placewright.machine", "version": 1, "name": "host",
      "devices": [
        {"name": "cpu:0", "kind": "cpu", "model": "C", "peak_flops": 1e11, "memory_bandwidth": 1e12, "memory_bytes": 1e9},
        {"name": "gpu:0", "kind": "gpu", "model": "M", "peak_flops": 1e12, "memory_bandwidth": 1e12, "memory_bytes": 1e9},
        {"name": "gpu:1", "kind": "gpu", "model": "M", "peak_flops": 1e12, "memory_bandwidth": 1e12, "memory_bytes": 1e9}
      ],
      "channels": [{"name": "bus", "bandwidth": 1e9}],
      "routes": [
        {"from": "cpu:0", "to": "gpu:0", "channels": ["bus"]}, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]},
        {"from": "cpu:0", "to": "gpu:1", "channels": ["bus"]}, {"from": "gpu:1", "to": "cpu:0", "channels": ["bus"]},
        {"from": "gpu:0", "to": "gpu:1", "channels": ["bus"]}, {"from": "gpu:1", "to": "gpu:0", "channels": ["bus"]}
      ]
    })");
    const QStringList command{"simulate", row, "--machine", host, "--explain", "--objective"};
    const auto best = [&](const char* objective) {
        const QJsonObject explain = object_of(command + QStringList{objective})["explain"].toObject();
        return explain["moves"].toArray().first().toObject();
    };
    QCOMPARE(best("step-time")["objective_s"].toDouble(), 0.0021);
    QCOMPARE(best("step-time")["delta_s"].toDouble(), 0.0001);
    QCOMPARE(best("max-load")["objective_s"].toDouble(), 0.0011);
    QCOMPARE(best("max-load")["delta_s"].toDouble(), -0.0009);
    QCOMPARE(best("max-load")["to"].toString(), QString("gpu:1"));
    const Result text = run(command + QStringList{"max-load"});
    QVERIFY2(text.out.contains("max-load"), text.out);
    QVERIFY2(text.out.contains("The best of 4 single moves (better than now: 2)"), text.out);
}

void TestCli::explainInterrupted() {
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"simulate", "resnet50", "--machine", "4x-v100-nvlink", "--batches", "100", "--explain", "--json"});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for(" moves evaluated"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    const QJsonObject explain = json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130).object()["explain"].toObject();
    QVERIFY(explain["moves"].isNull());
    QVERIFY(!explain["critical_path"]["segments"].toArray().isEmpty());
    QVERIFY2(terminal.wait_for("cancelled before all moves were evaluated"), terminal.seen());
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

/// What a run took is what its simulation with measured times takes.
void TestCli::timesOfATrace() {
    const QString trace = path("times.trace.json");
    const QStringList job{"simulate", "alexnet", "--machine", "1x-v100", "--inference"};
    const QJsonObject slow = object_of(job + QStringList{"--compute-efficiency", "0.3", "--trace", trace});
    const Result timed = run(job + QStringList{"--times", trace, "--json"});
    QCOMPARE(timed.status, 0);
    QVERIFY2(timed.err.contains("ops that compute") && timed.err.contains("one step"), timed.err);
    const double expected_s = slow["step_time_s"].toDouble(), found_s = json_of(timed).object()["step_time_s"].toDouble();
    QVERIFY(expected_s > 1.5 * object_of(job)["step_time_s"].toDouble());
    // To the nanosecond of each op.
    QVERIFY2(std::abs(found_s / expected_s - 1) < 1e-5, qPrintable(QStringLiteral("%1 %2").arg(found_s).arg(expected_s)));

    const Result model = run(job + QStringList{"--times", trace + "=Other", "--json"});
    QCOMPARE(model.status, 2);
    QVERIFY2(model.err.contains("no device of 1x-v100 is called \"Other\"; there are Xeon Gold 6132, NVIDIA V100"), model.err);
    QCOMPARE(json_of(run(job + QStringList{"--times", trace + "=NVIDIA V100", "--json"})).object()["step_time_s"].toDouble(), found_s);

    // What PyTorch's profiler took on a CPU are times of the machine's; where they shall count for a GPU that is told.
    QJsonArray events;
    for (const char* name : {"features/conv1", "features/conv2"})
        events.append(QJsonObject{{"ph", "X"}, {"cat", "user_annotation"}, {"name", name}, {"pid", 1}, {"tid", 2}, {"ts", 1}, {"dur", 5}});
    const QString taken = write("cpu.trace.json", QJsonDocument(events).toJson());
    const Result of_cpu = run(job + QStringList{"--times", taken});
    QVERIFY2(of_cpu.err.contains(" on Xeon Gold 6132") && !of_cpu.err.contains("warning"), of_cpu.err);
    QVERIFY2(of_cpu.err.contains("alexnet: none of 24 ops has a measured time for NVIDIA V100"), of_cpu.err);
    const Result on_cpu = run(job + QStringList{"--times", taken + "=NVIDIA V100"});
    QCOMPARE(on_cpu.status, 0);
    QVERIFY2(on_cpu.err.contains("warning: the trace has no kernels of GPUs") && on_cpu.err.contains("count for NVIDIA V100") &&
                 on_cpu.err.contains("(=Xeon Gold 6132)"),
             on_cpu.err);
    QVERIFY(!timed.err.contains("warning"));
    QCOMPARE(run(job + QStringList{"--times", taken + "=Xeon Gold 6132"}).err, of_cpu.err);

    const Result other = run({"simulate", path("diamond.json"), "--machine", path("pair.json"), "--times", trace});
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("no event has the name of an op of diamond"), other.err);
    QCOMPARE(run(job + QStringList{"--times", trace, "--cost", "paleo"}).status, 2);
    const Result missing = run(job + QStringList{"--times", path("nowhere.json")});
    QCOMPARE(missing.status, 3);
    QVERIFY2(missing.err.contains("no such file"), missing.err);
}

void TestCli::exportFormats() {
    const QStringList job{"export", "resnet50", "--machine", "2x-v100-pcie"};
    const QString placement = path("resnet.placement.json");
    QCOMPARE(run({"optimize", "resnet50", "--machine", "2x-v100-pcie", "--algorithm", "expert", "--out", placement}).status, 0);
    for (const char* format : {"placement", "device-map", "device-map-full", "tensorflow", "chrome-trace", "dot", "csv"}) {
        const QString file = path("out.") + QString::fromLatin1(format);
        QStringList arguments = job + QStringList{"--placement", placement, "--to", format, "--out", file};
        if (QByteArray(format).startsWith("device-map")) arguments << "--repair";
        const Result result = run(arguments);
        QVERIFY2(result.status == 0, result.err);
        QVERIFY2(result.out.contains(file.toUtf8()) && result.out.contains("a step takes"), result.out);
        QVERIFY(!content_of(file).isEmpty());
    }
    // What is written for us reads back: the placement, the map, the graph and the trace.
    const auto simulated = [&](const QStringList& more) {
        return object_of(QStringList{"simulate", "resnet50", "--machine", "2x-v100-pcie"} + more)["step_time_s"].toDouble();
    };
    const double step_s = simulated({"--placement", placement});
    QCOMPARE(simulated({"--placement", path("out.placement")}), step_s);
    const Result map = run({"simulate", "resnet50", "--machine", "2x-v100-pcie", "--placement", path("out.device-map"), "--json"});
    QVERIFY2(map.err.contains("read as a device map"), map.err);
    const Result full = run({"simulate", "resnet50", "--machine", "2x-v100-pcie", "--placement", path("out.device-map-full"), "--json"});
    QCOMPARE(json_of(map).object()["step_time_s"], json_of(full).object()["step_time_s"]);
    QCOMPARE(object_of({"simulate", path("out.dot"), "--machine", "2x-v100-pcie", "--placement", placement})["step_time_s"].toDouble(),
             step_s);
}

void TestCli::exportRepairs() {
    const QString placement = path("alexnet.placement.json"), map = path("alexnet.map.json");
    QCOMPARE(
        run({"optimize", "alexnet", "--machine", "2x-v100-pcie", "--algorithm", "random", "--evaluations", "3", "--out", placement}).status,
        0);
    const QStringList job{"export", "alexnet", "--machine", "2x-v100-pcie", "--placement", placement, "--to", "device-map", "--out", map};
    const Result split = run(job);
    QCOMPARE(split.status, 3);
    QVERIFY2(split.err.contains("features on ") && split.err.contains("; repaired (--repair), each goes where") &&
                 !split.err.contains(") (") && split.err.startsWith(placement.toUtf8()),
             split.err);
    QVERIFY(!QFile::exists(map));
    const Result repaired = run(job + QStringList{"--repair", "--json"});
    const QJsonObject object = json_of(repaired).object();
    QVERIFY(object["step_time_s"].toDouble() != object["step_time_before_s"].toDouble());
    QCOMPARE(object["file"].toString(), map);
    QCOMPARE(object["warnings"].toArray().size(), lines_of(repaired.err).size());
    const Result again = run({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--placement", map, "--json"});
    QCOMPARE(json_of(again).object()["step_time_s"], object["step_time_s"]);
}

void TestCli::exportRefusals() {
    const QStringList job = diamond("export", {"--to", "device-map", "--out", path("none.json")});
    const Result nameless = run(job);
    QCOMPARE(nameless.status, 3);
    QVERIFY2(nameless.err.contains("no op of this network has a scope or parameters"), nameless.err);
    const QString apart = write("jumps.json", R"({"a": 0, "b": 1, "c": 0, "d": 1})");
    const Result chain = run(diamond("export", {"--placement", apart, "--to", "pipeline", "--out", path("none.json")}));
    QCOMPARE(chain.status, 3);
    QVERIFY2(chain.err.contains("goes back 2 times"), chain.err);
    const Result folder = run(diamond("export", {"--to", "csv", "--out", path("nowhere/x.csv")}));
    QCOMPARE(folder.status, 3);
    QVERIFY2(folder.err.contains("there is no folder"), folder.err);
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

    QCOMPARE(object_of({"optimize", "alexnet", "--machine", "1x-v100", "--evaluations", "20"})["algorithm"].toString(), "auto");
    const Result search = run({"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "single-device"});
    QCOMPARE(search.status, 0);
    QCOMPARE(search.err, QByteArray());
    QVERIFY2(search.out.startsWith("Single device, seed 1: 1 evaluation in "), search.out);
    QVERIFY2(search.out.contains("\nbest " + step + ", at most "), search.out);
    QVERIFY2(search.out.contains(" % above optimal (bound "), search.out);
    // Ops that move together can be placed no better than so, which says nothing of others.
    const QStringList grouped{"alexnet", "--machine", "2x-v100-pcie", "--group", "merge", "--groups", "1"};
    const QString file = path("grouped.json");
    const QByteArray best = run(QStringList{"optimize"} + grouped + QStringList{"--evaluations", "5", "--out", file}).out;
    QVERIFY2(best.contains(" % above the best of all ops in one group (bound "), best);
    QVERIFY(!QJsonDocument::fromJson(content_of(file)).object()["predicted"].toObject().contains("lower_bound_s"));
    const QByteArray proven = run(QStringList{"bound"} + grouped).out;
    QVERIFY2(proven.contains(", of all ops in one group, takes less than ") && proven.contains("; for placements of all ops"), proven);
    const QByteArray refined = run(QStringList{"optimize"} + grouped + QStringList{"--evaluations", "5", "--refine", "50"}).out;
    QVERIFY2(refined.contains(" % above optimal (bound "), refined);
    QVERIFY2(search.out.contains("), 1.00 times as fast as gpu:0 alone\n\nalexnet on 1x V100\nstep time " + step), search.out);
}

void TestCli::optimizeJson() {
    const QString out = path("found.json");
    const QStringList problem{"alexnet", "--machine", "4x-v100-nvlink"};
    const Result result = run(QStringList{"optimize"} + problem +
                              QStringList{"--algorithm", "genetic", "--evaluations", "400", "--seed", "3", "--out", out, "--json"});
    // Progress is for terminals.
    QCOMPARE(result.err, QByteArray());
    const QJsonObject found = json_of(result).object();
    QCOMPARE(found.keys(), sorted({"algorithm", "objective", "seed", "evaluations", "wall_s", "simulations_per_s", "best", "lower_bound_s",
                                   "curve", "estimated_ops", "placement", "bound"}));
    QVERIFY(!found["bound"]["name"].toString().isEmpty() && !found["bound"]["proof"].toString().isEmpty());
    QCOMPARE(found["algorithm"].toString(), QString("genetic"));
    QCOMPARE(found["seed"].toInt(), 3);
    QCOMPARE(found["evaluations"].toInt(), 400);
    QVERIFY(found["wall_s"].toDouble() > 0);
    QVERIFY(found["simulations_per_s"].toDouble() > 0);
    QCOMPARE(found["best"].toObject().keys(), sorted({"step_time_s", "objective_s", "score_s", "fits"}));
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

void TestCli::groups() {
    // Of the diamond "b" and "c" go with their only reader "d".
    const auto placed = [&](const QStringList& more) {
        return object_of(diamond("optimize", QStringList{"--algorithm", "linear-search", "--out", path("grouped.json")} + more));
    };
    QCOMPARE(placed({})["evaluations"].toInt(), 16);
    const QJsonObject found = placed({"--group", "colocation"});
    QCOMPARE(found["evaluations"].toInt(), 4);
    QCOMPARE(found["placement"].toObject().keys(), (QStringList{"a", "b", "c", "d"}));
    QCOMPARE(found["placement"]["b"], found["placement"]["d"]);
    // What groups are placed like is read without them.
    const auto again = object_of(diamond("simulate", {"--placement", path("grouped.json")}));
    QCOMPARE(again["step_time_s"].toDouble(), found["best"]["step_time_s"].toDouble());
    QCOMPARE(placed({"--group", "merge", "--groups", "3"})["evaluations"].toInt(), 8);
    QCOMPARE(placed({"--group", "merge", "--merge-below", "1MB"})["evaluations"].toInt(), 16);
    QCOMPARE(placed({"--group", "merge", "--merge-below", "2MB"})["evaluations"].toInt(), 2);
    // Not the other way round.
    const Result apart = run(diamond("simulate", {"--placement", path("apart.json"), "--group", "colocation"}));
    QCOMPARE(apart.status, 3);
    QVERIFY2(
        apart.err.contains("ops that belong together on different devices: \"b and c\", \"b and d\"; without grouping they may be apart"),
        apart.err);
    // By module.
    const auto modules =
        object_of({"optimize", "inception_v3", "--machine", "4x-v100-nvlink", "--algorithm", "expert", "--group", "scope"});
    QCOMPARE(modules["placement"]["Mixed_5b/branch1x1/conv"], modules["placement"]["Mixed_5b/cat"]);
}

void TestCli::refinement() {
    const QStringList search{"optimize",    "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4",
                             "--algorithm", "expert",  "--group",   "merge",        "--groups",  "4", "--out",       path("refined.json")};
    const QJsonObject before = object_of(search);
    const auto refined = [&](int evaluations, int threads) {
        return untimed(object_of(search + QStringList{"--refine", QString::number(evaluations), "--threads", QString::number(threads)}));
    };
    const QJsonObject after = refined(600, 1);
    QVERIFY(after["best"]["score_s"].toDouble() < before["best"]["score_s"].toDouble());
    QVERIFY(after["evaluations"].toInt() > before["evaluations"].toInt() &&
            after["evaluations"].toInt() <= before["evaluations"].toInt() + 600);
    QCOMPARE(refined(600, 2), after);
    const auto again = object_of(
        {"simulate", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4", "--placement", path("refined.json")});
    QCOMPARE(again["step_time_s"].toDouble(), after["best"]["step_time_s"].toDouble());
    const QJsonObject bounded = object_of(search + QStringList{"--refine", "600"});
    QVERIFY(bounded["lower_bound_s"].toDouble() > 0 && bounded["lower_bound_s"].toDouble() <= again["step_time_s"].toDouble());
}

void TestCli::scoresGoOn() {
    const QStringList search{"optimize", "alexnet", "--machine", "4x-v100-nvlink", "--algorithm", "genetic", "--evaluations", "600"};
    const QJsonObject whole = object_of(search);
    const QString scores = path("going-on.jsonl");
    const QStringList kept = search + QStringList{"--scores", scores};
    object_of(QStringList(kept).replaceInStrings(QRegularExpression("^600$"), "200"));
    // As a kill in the middle of a line leaves it.
    QFile file(scores);
    QVERIFY(file.resize(file.size() - 20));
    const QJsonObject resumed = object_of(kept);
    QCOMPARE(resumed["best"], whole["best"]);
    QCOMPARE(resumed["curve"], whole["curve"]);
    QCOMPARE(resumed["placement"], whole["placement"]);
    // Nothing is left to simulate the third time.
    QCOMPARE(object_of(kept)["simulations_per_s"].toDouble(), 0.0);
    // The file knows which search it is from. Another algorithm that is asked for is another search.
    QStringList bare = kept;
    bare.remove(bare.indexOf("--algorithm"), 4);
    QJsonObject again = object_of(bare);
    QCOMPARE(again["algorithm"].toString(), QString("genetic"));
    QCOMPARE(again["evaluations"].toInt(), 200);  // as it was begun
    again = object_of(bare + QStringList{"--evaluations", "600"});
    QCOMPARE(again["curve"], whole["curve"]);
    QCOMPARE(again["placement"], whole["placement"]);
    const QStringList random{"--algorithm", "random", "--evaluations", "50"};
    QCOMPARE(object_of(bare + random)["placement"],
             object_of(QStringList{"optimize", "alexnet", "--machine", "4x-v100-nvlink"} + random)["placement"]);
    const Result other = run(QStringList(kept).replaceInStrings("alexnet", "resnet50"));
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("holds the scores of another search: its network is alexnet, not resnet50"), other.err);
}

void TestCli::scoresOnAFullDisk() {
    const QString scores = path("scores.jsonl");
    const Result result = run({"optimize", "alexnet", "--machine", "4x-v100-nvlink", "--algorithm", "genetic", "--evaluations", "5000",
                               "--json", "--scores", scores},
                              [] {
                                  std::signal(SIGXFSZ, SIG_IGN);
                                  const rlimit small{4000, 4000};
                                  setrlimit(RLIMIT_FSIZE, &small);
                              });
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains(scores.toUtf8() + ": cannot be written: File too large"), result.err);
    // What was found until then is told.
    const QJsonObject found = json_of(result, 3).object();
    QVERIFY(found["best"]["step_time_s"].toDouble() > 0);
    QVERIFY(found["evaluations"].toInt() < 5000);
}

void TestCli::sameSeedSameAnswer_data() {
    QTest::addColumn<QString>("algorithm");
    for (const char* algorithm : {"single-device", "random", "expert", "hill-climbing", "genetic", "map-elites", "scotch", "metis"}) {
        QTest::newRow(algorithm) << QString(algorithm);
    }
}

void TestCli::sameSeedSameAnswer() {
    QFETCH(QString, algorithm);
    // With batches in flight one device is not the best, so that the searches have something to do.
    const auto search = [&](int seed, int threads) {
        return untimed(
            object_of({"optimize", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4", "--algorithm", algorithm,
                       "--evaluations", "500", "--seed", QString::number(seed), "--threads", QString::number(threads)}));
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

    const Result unmeasured = run({"simulate", path("diamond.json"), "--machine", machine, "--cost", "measured"});
    QCOMPARE(unmeasured.status, 0);
    QVERIFY2(unmeasured.err.contains("4 ops has a measured time for ") && unmeasured.err.contains("none of "), unmeasured.err);
    QVERIFY(!run({"simulate", path("diamond.json"), "--machine", machine}).err.contains("measured"));
    QByteArray measured = content_of(path("diamond.json"));
    measured.replace("{\"M\"", "{\"GPU of elsewhere\"");
    const Result elsewhere = run({"simulate", write("elsewhere.json", measured), "--machine", machine, "--cost", "measured"});
    QVERIFY2(elsewhere.err.contains("; the network has times for GPU of elsewhere, which no device here is called"), elsewhere.err);
    const Result trace = run({"simulate", write("run.trace.json", R"({"traceEvents": []})"), "--machine", machine});
    QCOMPARE(trace.status, 3);
    QVERIFY2(trace.err.contains("is a trace of a run, not a network: --times, or Run > Simulation in the window, takes op times from it"),
             trace.err);

    // For another goal the bytes are told that count there, and nothing claims that the placement fits.
    const QString host = write("small-host.json", R"({
      "format": "placewright.machine", "version": 1, "name": "small host",
      "devices": [
        {"name": "cpu:0", "kind": "cpu", "model": "C", "peak_flops": 1e11, "memory_bandwidth": 1e12, "memory_bytes": 1e5},
        {"name": "gpu:0", "kind": "gpu", "model": "M", "peak_flops": 1e12, "memory_bandwidth": 1e12, "memory_bytes": 1e5}
      ],
      "channels": [{"name": "bus", "bandwidth": 1e9}],
      "routes": [{"from": "cpu:0", "to": "gpu:0", "channels": ["bus"]}, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]}]
    })");
    const Result single = run({"simulate", path("diamond.json"), "--machine", host, "--objective", "max-load"});
    QCOMPARE(single.status, 0);
    QVERIFY2(single.out.contains("Max load ") && single.out.contains("holds") && single.out.contains(", does not fit the memory\n"),
             single.out);
    QVERIFY2(!single.out.contains(", fits the memory"), single.out);
    // Of this goal it is proven that nothing does.
    const Result none = run({"optimize", path("diamond.json"), "--machine", host, "--objective", "max-load"});
    QCOMPARE(none.status, 4);
    QVERIFY2(none.err.contains(" fits the memory: the ops hold ") && none.err.contains("the 200 kB of memory of the devices"), none.err);
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

void TestCli::compareJson() {
    const auto comparison = [](int threads) {
        return object_of({"compare", "alexnet,resnet50", "--machine", "4x-v100-pcie,1x-v100", "--batches", "4", "--in-flight", "4",
                          "--algorithms", "genetic,map-elites,single-device", "--set", "genetic.population_size=20", "--seeds", "3",
                          "--evaluations", "60", "--threads", QString::number(threads)});
    };
    const QJsonObject found = comparison(1);
    QCOMPARE(found.keys(), sorted({"evaluations", "seeds", "cancelled", "cases"}));
    QCOMPARE(found["evaluations"].toInt(), 60);
    QCOMPARE(found["seeds"].toInt(), 3);
    QCOMPARE(found["cancelled"].toBool(true), false);
    const QJsonArray cases = found["cases"].toArray();
    QCOMPARE(cases.size(), 4);
    QCOMPARE(cases[1]["network"].toString() + ' ' + cases[1]["machine"].toString(), QString("alexnet 1x-v100"));
    QCOMPARE(cases[2]["network"].toString() + ' ' + cases[2]["machine"].toString(), QString("resnet50 4x-v100-pcie"));

    const QJsonObject alexnet = cases[0].toObject();
    QCOMPARE(alexnet.keys(),
             sorted({"network", "machine", "one_device_s", "best_known_s", "algorithms", "tests", "lower_bound_s", "bound"}));
    const double bound_s = alexnet["lower_bound_s"].toDouble();
    QCOMPARE(
        bound_s,
        object_of({"bound", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4"})["lower_bound_s"].toDouble());
    const QJsonArray algorithms = alexnet["algorithms"].toArray();
    QCOMPARE(algorithms.size(), 3);
    double best_s = std::numeric_limits<double>::infinity();
    for (const QJsonValue& algorithm : algorithms) {
        QCOMPARE(algorithm.toObject().keys(), sorted({"algorithm", "options", "mean_s", "deviation_s", "half_width_95_s", "best_s",
                                                      "fitting", "near", "half_near", "speedup", "runs", "gap"}));
        QVERIFY(std::abs(algorithm["gap"].toDouble() - (algorithm["best_s"].toDouble() / bound_s - 1)) < 1e-12);
        const QJsonArray runs = algorithm["runs"].toArray();
        QCOMPARE(runs.size(), 3);
        double sum_s = 0;
        for (int i = 0; i < 3; ++i) {
            QCOMPARE(runs[i].toObject().keys(),
                     sorted({"seed", "score_s", "step_time_s", "fits", "evaluations", "simulations", "wall_s", "near"}));
            QCOMPARE(runs[i]["seed"].toInt(), i + 1);
            sum_s += runs[i]["score_s"].toDouble();
            best_s = std::min(best_s, runs[i]["score_s"].toDouble());
        }
        QVERIFY(std::abs(algorithm["mean_s"].toDouble() - sum_s / 3) < 1e-12);
        QVERIFY(std::abs(algorithm["speedup"].toDouble() - alexnet["one_device_s"].toDouble() / algorithm["mean_s"].toDouble()) < 1e-12);
    }
    QCOMPARE(alexnet["best_known_s"].toDouble(), best_s);
    QCOMPARE(algorithms[0]["options"].toObject(), QJsonObject({{"population_size", 20}}));
    // As optimize has it, from the same starts.
    const QJsonObject alone = object_of({"optimize", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4",
                                         "--algorithm", "map-elites", "--evaluations", "60", "--seed", "2"});
    QCOMPARE(algorithms[1]["runs"][1]["score_s"].toDouble(), alone["best"]["score_s"].toDouble());
    // All runs of single-device are the same, four devices.
    QCOMPARE(algorithms[2]["speedup"].toDouble(), 1.0);
    QCOMPARE(algorithms[2]["deviation_s"].toDouble(-1), 0.0);
    QCOMPARE(algorithms[2]["runs"][0]["evaluations"].toInt(), 4);
    const QJsonArray tests = alexnet["tests"].toArray();
    QCOMPARE(tests.size(), 3);
    QCOMPARE(tests[0].toObject().keys(), sorted({"first", "second", "t", "degrees_of_freedom", "p"}));
    QCOMPARE(tests[1]["first"].toString() + ' ' + tests[1]["second"].toString(), QString("genetic single-device"));
    QVERIFY(tests[0]["p"].toDouble() > 0 && tests[0]["p"].toDouble() <= 1);

    // Whatever the number of threads, but for the seconds.
    const auto scores = [](const QJsonObject& result) {
        QList<double> list;
        for (const QJsonValue& item : result["cases"].toArray()) {
            for (const QJsonValue& algorithm : item["algorithms"].toArray()) {
                for (const QJsonValue& run : algorithm["runs"].toArray())
                    list << run["score_s"].toDouble() << run["simulations"].toDouble() << run["near"]["evaluations"].toDouble();
            }
        }
        return list;
    };
    QCOMPARE(scores(comparison(3)), scores(found));
    QCOMPARE(scores(found).size(), 4 * 3 * 3 * 3);
}

void TestCli::compareText() {
    const Result result = run(diamond("compare", {"--algorithms", "single-device,expert", "--seeds", "2"}));
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.startsWith("diamond on pair\nbest known 6.00 ms, one device 6.00 ms, bound 4.00 ms (critical-path)\n\nalgorithm "),
             result.out);
    const auto has_line = [&](const char* pattern) {
        return QRegularExpression(pattern, QRegularExpression::MultilineOption).match(QString::fromUtf8(result.out)).hasMatch();
    };
    QVERIFY2(has_line("^single-device +6\\.00 ms +0 s +6\\.00 ms +2 of 2, half in 1, .* +1\\.00 +best +50 %$"), result.out);
    QVERIFY2(has_line("^expert +8\\.00 ms +0 s +8\\.00 ms +0 of 2 +0\\.75 +- +100 %$"), result.out);
    QVERIFY2(widest_line(result.out) <= 100, result.out);
    // 8 ms is within 5 % of 7.7 ms.
    const QByteArray given = run(diamond("compare", {"--algorithms", "expert", "--seeds", "1", "--best-known", "0.0077"})).out;
    QVERIFY2(given.contains("best known 7.70 ms") && given.contains("1 of 1, half in 1"), given);
}

void TestCli::compareGoals() {
    const QStringList load{"alexnet", "--machine", "4x-v100-pcie", "--objective", "max-load"};
    const QJsonObject found = object_of(QStringList{"compare"} + load +
                                        QStringList{"--algorithms", "ideals-dp,single-device", "--seeds", "1", "--evaluations", "20"});
    const QJsonObject alone = object_of(QStringList{"optimize"} + load + QStringList{"--algorithm", "ideals-dp", "--evaluations", "20"});
    const QJsonValue run = found["cases"][0]["algorithms"][0]["runs"][0];
    QVERIFY(!run["step_time_s"].isDouble());
    QCOMPARE(run["max_load_s"].toDouble(), alone["best"]["objective_s"].toDouble());
    QVERIFY(run["max_load_s"].toDouble() < found["cases"][0]["algorithms"][1]["runs"][0]["max_load_s"].toDouble());
}

/// Of a longer front that was written there before.
void TestCli::codesignLeavesNoOldDesigns() {
    const QString folder = path("designs");
    const QStringList arguments{"codesign",      "alexnet", "--catalogue", "workstation-2021",
                                "--budget",      "3000",    "--designs",   "4",
                                "--evaluations", "5",       "--out",       folder};
    QCOMPARE(run(arguments).status, 0);
    const QStringList files = QDir(folder).entryList(QDir::Files);
    QVERIFY(!files.isEmpty());
    const QString next = folder + "/design-" + QString::number(files.size() / 2 + 1);
    for (const char* kind : {".machine.json", ".placement.json"}) QVERIFY(QFile::copy(folder + "/design-1" + kind, next + kind));
    QCOMPARE(run(arguments).status, 0);
    QCOMPARE(QDir(folder).entryList(QDir::Files), files);
    // How far from optimal each can be, on its own machine.
    const QJsonArray front = object_of(arguments)["front"].toArray();
    QCOMPARE(front.size(), files.size() / 2);
    for (int i = 0; i < front.size(); ++i) {
        const double bound_s = front[i]["lower_bound_s"].toDouble();
        QVERIFY(bound_s > 0 && bound_s <= front[i]["step_time_s"].toDouble());
        const QString machine = folder + "/design-" + QString::number(i + 1) + ".machine.json";
        QCOMPARE(object_of({"bound", "alexnet", "--machine", machine})["lower_bound_s"].toDouble(), bound_s);
    }
}

void TestCli::codesignCountsMachines() {
    const auto told = [&](const char* budget, const char* designs) {
        const Result result = run({"codesign", "alexnet", "--catalogue", "workstation-2021", "--budget", budget, "--designs", designs,
                                   "--evaluations", "5", "--out", path("counted")});
        return result.status == 0 ? result.out : result.err;
    };
    const auto one = told("8000", "1"), whole = told("2500", "1"), two = told("8000", "2");
    QVERIFY2(one.contains(" USD: 1 machine tried\n") && one.contains("\n1 machine with its placement written to "), one);
    QVERIFY2(whole.contains(" USD: 1 machine tried, which is all\n"), whole);
    QVERIFY2(two.contains(" USD: 2 machines tried\n") && two.contains("\n2 machines with their placements written to "), two);
}

void TestCli::compareTables() {
    const QString csv = path("runs.csv"), curves = path("curves.csv");
    // A name with a comma is one file.
    const QString network = write("one, two.json", content_of(path("diamond.json")));
    const Result result = run({"compare", network, "--machine", path("pair.json"), "--algorithms", "single-device,expert", "--seeds", "2",
                               "--csv", csv, "--curves", curves});
    QCOMPARE(result.status, 0);
    const QByteArrayList lines = lines_of(content_of(csv));
    QCOMPARE(lines.size(), 5);
    QCOMPARE(lines[0], QByteArray("network,machine,algorithm,seed,score_s,step_time_s,fits,evaluations,simulations,wall_s,"
                                  "evaluations_to_near,seconds_to_near,lower_bound_s"));
    QVERIFY2(result.out.contains(", bound 4.00 ms (critical-path)\n") && result.out.contains("above bound\n"), result.out);
    QVERIFY2(result.out.contains("  50 %\n"), result.out);  // 6 ms on one device
    const QByteArray begin = '"' + network.toUtf8() + "\"," + path("pair.json").toUtf8() + ',';
    QVERIFY2(lines[2].startsWith(begin) && lines[4].startsWith(begin), lines[2] + lines[4]);
    const QByteArrayList single = lines[2].mid(begin.size()).split(','), expert = lines[4].mid(begin.size()).split(',');
    QCOMPARE(single.mid(0, 2) + single.mid(4, 3), (QByteArrayList{"single-device", "2", "true", "2", "2"}));
    QCOMPARE(single[2].toDouble(), 0.006);
    QCOMPARE(single[3].toDouble(), 0.006);
    QCOMPARE(single[8], QByteArray("1"));
    QCOMPARE(expert.mid(0, 2) + expert.mid(4, 3), (QByteArrayList{"expert", "2", "true", "1", "1"}));
    QCOMPARE(expert[2].toDouble(), 0.008);
    QCOMPARE(expert.mid(8, 2), (QByteArrayList{"", ""}));
    QVERIFY(std::abs(expert[10].toDouble() - 0.004) < 1e-9);
    const QByteArrayList points = lines_of(content_of(curves));
    QCOMPARE(points[0], QByteArray("network,machine,algorithm,seed,evaluations,seconds,best_s,mean_s"));
    QVERIFY2(points[1].startsWith(begin + "single-device,1,1,"), points[1]);
    QCOMPARE(points[1].split(',').at(points[1].count(',') - 1).toDouble(), 0.006);

    // Nothing is said of a goal that is not defined.
    const Result undefined = run({"compare", "resnet50", "--inference", "--machine", "4x-v100-pcie", "--objective", "block-latency",
                                  "--algorithms", "random", "--seeds", "1", "--evaluations", "1", "--csv", csv, "--curves", curves});
    QCOMPARE(undefined.status, 4);
    const QByteArrayList run_fields = lines_of(content_of(csv))[1].split(','), point_fields = lines_of(content_of(curves))[1].split(',');
    QCOMPARE(run_fields.mid(4, 3), (QByteArrayList{"", "", "false"}));
    QCOMPARE(point_fields.mid(6), (QByteArrayList{"", ""}));
    QVERIFY2(undefined.out.contains("not defined") && !undefined.out.contains("000000"), undefined.out);

    const Result refused = run(diamond("compare", {"--algorithms", "expert", "--csv", path("nowhere/runs.csv")}));
    QCOMPARE(refused.status, 3);
    QCOMPARE(refused.out, QByteArray());
    // A mistake in the last name is told before the first search.
    const Result mistyped = run({"compare", path("diamond.json") + ",nothing", "--machine", path("pair.json"), "--algorithms", "expert"});
    QCOMPARE(mistyped.status, 3);
    QCOMPARE(mistyped.out, QByteArray());
    QVERIFY2(mistyped.err.startsWith("nothing: there is no such file"), mistyped.err);
}

void TestCli::whatIsReadIsNotWritten() {
    const QString network = path("kept.json"), machine = path("kept_machine.json");
    QVERIFY(QFile::copy(path("diamond.json"), network) && QFile::copy(path("pair.json"), machine));
    const QByteArray before = content_of(network), machine_before = content_of(machine);
    const QStringList job{network, "--machine", machine};
    for (const auto& [command, option, file] : {std::tuple{QStringList{"simulate"}, QString("--trace"), network},
                                                {QStringList{"optimize"}, QString("--out"), machine},
                                                {QStringList{"export", "--to", "placement"}, QString("--out"), path("./kept.json")}}) {
        const Result refused = run(command.mid(0, 1) + job + command.mid(1) + QStringList{option, file});
        QCOMPARE(refused.status, 2);
        QVERIFY2(refused.err.contains("is read as well and would be lost; give another name"), refused.err);
    }
    QCOMPARE(content_of(network), before);
    QCOMPARE(content_of(machine), machine_before);

    const QString policy = path("kept.pt");
    QCOMPARE(run(lesson({"--updates", "1", "--out", policy})).status, 0);
    const QByteArray policy_before = content_of(policy);
    const QString design = path("design-2.machine.json");
    QVERIFY(QFile::copy(network, design));
    for (const QStringList& arguments :
         {QStringList{"train"} + job + QStringList{"--updates", "1", "--curve", network},
          QStringList{"train", path("diamond.json"), network, "--machine", machine, "--updates", "1", "--curve", network},
          QStringList{"train"} + job + QStringList{"--updates", "1", "--curve", machine},
          QStringList{"predict", policy} + job + QStringList{"--out", policy},
          QStringList{"predict", policy} + job + QStringList{"--out", network},
          QStringList{"compare", path("diamond.json") + ',' + network, "--machine", machine, "--algorithms", "heft", "--csv", network},
          QStringList{"codesign", design, "--catalogue", "workstation-2021", "--budget", "20000", "--designs", "1", "--evaluations", "1",
                      "--out", m_folder.path()},
          QStringList{"experiment", "e3", "--network", "resnet50=" + path("e3.md"), "--out", m_folder.path()}}) {
        if (arguments.first() == QLatin1String("experiment")) QVERIFY(QFile::copy(network, path("e3.md")));
        const Result refused = run(arguments);
        QVERIFY2(refused.status == 2 && refused.err.contains("is read as well and would be lost; give another name"),
                 qPrintable(arguments.join(' ') + '\n' + refused.err));
    }
    // Two into one, be it there or not.
    const QString both = path("both.out");
    for (const QStringList& arguments :
         {QStringList{"train"} + job + QStringList{"--updates", "1", "--out", both, "--curve", path("./both.out")},
          lesson({"--updates", "1", "--resume", "--out", policy, "--curve", policy}),
          QStringList{"compare"} + job + QStringList{"--algorithms", "heft", "--csv", both, "--curves", both},
          QStringList{"optimize"} + job + QStringList{"--evaluations", "1", "--scores", both, "--out", both}}) {
        const Result refused = run(arguments);
        QVERIFY2(refused.status == 2 && QRegularExpression("is what --\\w+ writes; give another name").match(refused.err).hasMatch(),
                 qPrintable(arguments.join(' ') + '\n' + refused.err));
    }
    QVERIFY(!QFile::exists(both));
    QCOMPARE(content_of(network), before);
    QCOMPARE(content_of(design), before);
    QCOMPARE(content_of(machine), machine_before);
    QCOMPARE(content_of(policy), policy_before);
    QCOMPARE(run({"compare", network, "--machine", machine, "--algorithms", "heft", "--csv", "/dev/null", "--curves", "/dev/null"}).status,
             0);
}

void TestCli::compareNothingFits() {
    const QStringList arguments{
        "compare", path("diamond.json"), "--machine", machineWith("1e5"), "--algorithms", "random,expert", "--seeds",
        "2",       "--evaluations",      "20"};
    const QJsonObject found = object_of(arguments, 4);
    QVERIFY(found["cases"][0]["one_device_s"].isNull());
    QVERIFY(found["cases"][0]["algorithms"][0]["speedup"].isNull());
    QCOMPARE(found["cases"][0]["algorithms"][0]["fitting"].toInt(-1), 0);
    const Result text = run(arguments);
    // What the rule for memory adds is no time, nor is one near to it.
    QVERIFY2(text.out.contains("\nnothing found that fits, one device does not fit the memory"), text.out);
    QVERIFY2(
        QRegularExpression("\nrandom +does not fit +- +does not fit +2 do not fit +- +-").match(QString::fromUtf8(text.out)).hasMatch(),
        text.out);
}

void TestCli::compareInterrupted() {
    const QString csv = path("cancelled.csv");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, diamond("compare", {"--algorithms", "expert,random", "--seeds", "2", "--evaluations", "1000000000000",
                                                       "--threads", "1", "--csv", csv, "--json"}));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("1 of 4 searches, best "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    const QJsonObject found = json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130).object();
    QCOMPARE(found["cancelled"].toBool(), true);
    QCOMPARE(found["cases"][0]["algorithms"].toArray().size(), 1);
    QCOMPARE(found["cases"][0]["algorithms"][0]["algorithm"].toString(), QString("expert"));
    QCOMPARE(lines_of(content_of(csv)).size(), 2);
    QVERIFY2(terminal.wait_for("cancelled before all searches were finished"), terminal.seen());
}

void TestCli::experiment() {
    const QString folder = path("e3");
    const Result result = run({"experiment", "e3", "--seeds", "2", "--evaluations", "30", "--out", folder});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.startsWith("normal, alexnet: Malvik with 2 GPUs of 32.0 GB; one GPU "), result.out.left(200));
    QVERIFY2(widest_line(result.out) <= 100, result.out);
    QVERIFY(
        QRegularExpression("^limited, resnet50: Malvik with 4 GPUs of .* GB; one GPU does not fit$", QRegularExpression::MultilineOption)
            .match(QString::fromUtf8(result.out))
            .hasMatch());
    // With so few evaluations nobody finds the optimum of the large networks.
    QVERIFY2(result.out.contains("\ndiffers  normal  MAP-Elites finds the optimum, one GPU (or better).\n"), result.out);

    const QByteArray report = content_of(folder + "/e3.md");
    for (const char* row :
         {"| genetic | population_size | 50 |", "| genetic | elite_size | 5 |", "| map-elites | tournament_size | 10 |",
          "| map-elites | copy_mutation_rate | 0.4 |", "| pipelined | inception_v3 | ", "| differs | normal | MAP-Elites finds"})
        QVERIFY2(report.contains(row), row);
    const QByteArrayList runs = lines_of(content_of(folder + "/runs.csv"));
    const auto algorithms = report.contains("| simulated-annealing | ") ? 4 : 3;
    QCOMPARE(runs.size(), 1 + 9 * algorithms * 2);
    QVERIFY2(runs[1].startsWith("normal,alexnet,hill-climbing,1,"), runs[1]);
    QVERIFY(lines_of(content_of(folder + "/curves.csv")).size() > runs.size());
}

void TestCli::partOfAnExperiment() {
    const QString folder = path("part");
    const Result result = run({"experiment", "e3", "--seeds", "1", "--evaluations", "30", "--only", "limited,alexnet", "--only", "resnet50",
                               "--algorithm", "genetic", "--algorithm", "map-elites", "--out", folder});
    QCOMPARE(result.status, 0);
    QByteArrayList searches;
    for (const QByteArray& line : lines_of(content_of(folder + "/runs.csv")).mid(1)) searches << line.split(',').mid(0, 3).join(' ');
    QCOMPARE(searches, QByteArrayList({"normal resnet50 genetic", "normal resnet50 map-elites", "limited alexnet genetic",
                                       "limited alexnet map-elites", "limited resnet50 genetic", "limited resnet50 map-elites",
                                       "pipelined resnet50 genetic", "pipelined resnet50 map-elites"}));
    const QByteArray out = QString::fromUtf8(result.out).simplified().toUtf8();
    QVERIFY2(out.contains("This was a part of the experiment, and is all that is judged here: Only the cases limited,alexnet; resnet50. "
                          "Only genetic, map-elites. Only 30 of 20000 placements for each search. Only 1 of 50 seeds."),
             result.out);
    QVERIFY2(out.contains(" findings are about what did not run, and left out here.") && out.contains("; 1 case did not run"), result.out);
    const QByteArray report = content_of(folder + "/e3.md");
    QVERIFY2(!report.contains("inception_v3 |") && !report.contains("| hill-climbing |"), report);
    // Tables of papers do without what has not run.
    const Result row = run({"experiment", "placeto", "--seeds", "1", "--evaluations", "4", "--only", "nmt2", "--algorithm", "scotch"});
    QCOMPARE(row.status, 0);
    QCOMPARE(row.out.count("\nnmt2, 2 "), 2);
    QCOMPARE(row.out.count("\nnmt4, 4 "), 1);
}

void TestCli::postExperiment() {
    const QString folder = path("post");
    const Result result = run({"experiment", "post", "--seeds", "1", "--evaluations", "60", "--threads", "1", "--out", folder});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.startsWith("rnnlm4 on 2x K80; one GPU "), result.out.left(200));
    QVERIFY2(result.out.contains("\nnmt8 on 8x K80; one GPU does not fit\n"), result.out);

    const QByteArray report = content_of(folder + "/post.md");
    for (const char* row :
         {"\nEvaluations of each search: 60; groups: none. Batch size 32", "| post | reward | seconds |", "| expert | devices | 1 |",
          "| metis | parts | 8 |", "| resnet200, 2 | ", "| inception_v3, 4 | 1.75 s | 1.75 s | 6.07 s | 1.82 s | 1.19 s | 34.6 % |",
          "| nmt8, 8 | OOM | 5.11 s | 12.7 s | 5.35 s | 2.20 s | 58.9 % |", "| ResNet | One GPU is the best that anyone"})
        QVERIFY2(report.contains(row), row);
    const QByteArrayList runs = lines_of(content_of(folder + "/runs.csv"));
    QCOMPARE(runs.size(), 1 + 11 * 7);
    QVERIFY2(runs[1].startsWith("rnnlm4,2,single-device,1,"), runs[1]);
    // One mean of 60 placements at a time by cross-entropy, of 12 by the others.
    const QByteArray means = content_of(folder + "/means.csv");
    QCOMPARE(means.count("\nnmt2,2,cross-entropy,1,"), 1);
    for (const char* id : {"policy-gradient", "ppo", "post"}) QCOMPARE(means.count("\nnmt2,2," + QByteArray(id) + ",1,"), 5);
}

void TestCli::experimentInterrupted() {
    const QString folder = path("e3-cancelled");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"experiment", "e3", "--seeds", "1", "--evaluations", "3000", "--threads", "1", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("2 of 9: normal, resnet50: "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray out = process.readAllStandardOutput();
    QVERIFY2(out.contains(" findings are about what did not run"), out);
    QVERIFY(content_of(folder + "/runs.csv").contains("normal,alexnet,map-elites,1,"));
    QVERIFY(!content_of(folder + "/runs.csv").contains("inception_v3"));
}

void TestCli::trainingExperiments_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("values");
    QTest::addColumn<int>("curvePoints");
    QTest::addColumn<QByteArrayList>("lines");      // of the values
    QTest::addColumn<QByteArrayList>("fragments");  // of the report
    const QStringList rnn{"--set", "colocrl.hidden=4", "--set", "colocrl.workers=2"};
    // Two networks to test with, for each eight ways of placing; three trainings of each of two policies.
    QTest::newRow("families") << QStringList{"placeto-families", "--family", "nmt", "--family", "ptb", "--count", "4", "--updates", "2"} +
                                     rnn
                              << 2 * 2 * 8 << 2 * 2 * 3 * 2
                              << QByteArrayList{"^nmt,one device,nmt_0.,1,([0-9.]+),\\1,true$",
                                                "^nmt,Scotch,nmt_0.,1,[0-9.]+,[0-9.]+,true$", "^ptb,one device,ptb_0.,1,[0-9.]+,,false$",
                                                "^nmt,Placeto zero-shot,nmt_0.,1,", "^nmt,RNN optimized,nmt_0.,1,[0-9.]+,[0-9.]+,true$"}
                              << QByteArrayList{"; networks of a family: 4; groups: merge. 4 K80s",
                                                "| placeto | rounds | 1 |",
                                                "| colocrl | hidden | 4 |",
                                                "### nmt: step time",
                                                "| Placeto best on the way | 2 |",
                                                " findings are about what did not run",
                                                " over 2 |"};
    QTest::newRow("rewards") << QStringList{"placeto-rewards", "--updates", "4"} << 2 << 2 * 4
                             << QByteArrayList{"^nmt2,intermediate,nmt2,1,", "^nmt2,terminal,nmt2,1,"}
                             // Two workers; eight decisions and what they begin with, or what they end with.
                             << QByteArrayList{"| placeto | foresight | 0 |", "| 90 to 100 % | 72 | ", "| 90 to 100 % | 8 | ",
                                               "placements scored: 72, 8 |"};
    QTest::newRow("orders") << QStringList{"placeto-orders", "--count", "3", "--updates", "2"} + rnn << 2 * (1 + 3) << 2 * 2
                            << QByteArrayList{"^inception_v3,Placeto optimized,inception_v3,1,", "^inception_v3,RNN,order 3,1,"}
                            << QByteArrayList{"| placeto | order | shuffled |", "| colocrl | order | shuffled |", "| Placeto | 3 | "};
    QTest::newRow("ablations") << QStringList{"placeto-ablations", "--count", "4", "--updates", "2"} << 3 * 2 << 3 * 2
                               << QByteArrayList{"^nmt,simple aggregator,nmt_0.,1,", "^nmt,simple partitioner,nmt_0.,1,",
                                                 "^nmt,Placeto,nmt_0.,1,"}
                               << QByteArrayList{" 13 % on average (at least 5 %). | mean ", " over 2 |"};
}

void TestCli::trainingExperiments() {
    QFETCH(const QStringList, arguments);
    QFETCH(const int, values);
    QFETCH(const int, curvePoints);
    QFETCH(const QByteArrayList, lines);
    QFETCH(const QByteArrayList, fragments);
    const QStringList command =
        QStringList{"experiment"} + arguments +
        QStringList{"--group",          "merge", "--groups",         "8", "--set", "placeto.rounds=1", "--set", "placeto.width=2", "--set",
                    "placeto.hidden=3", "--set", "placeto.workers=2"};
    const QString folder = path(arguments.front());
    const Result result = run(command + QStringList{"--threads", "1", "--out", folder});
    QCOMPARE(result.err, QByteArray());
    QCOMPARE(result.status, 0);
    QVERIFY2(widest_line(result.out) <= 100, result.out);

    const QByteArray table = content_of(folder + "/values.csv"), curves = content_of(folder + "/curves.csv");
    QCOMPARE(lines_of(table).front(), QByteArray("family,scheme,graph,seed,step_time_s,one_device_s,fits"));
    QCOMPARE(lines_of(table).size(), 1 + values);
    QCOMPARE(lines_of(curves).size(), 1 + curvePoints);
    for (const QByteArray& file : {table, curves}) {
        for (const QByteArray& line : lines_of(file)) QVERIFY2(line.count(',') == lines_of(file).front().count(','), line);
    }
    for (const QByteArray& line : lines)
        QVERIFY2(QRegularExpression(line, QRegularExpression::MultilineOption).match(table).hasMatch(), line + " in\n" + table);
    const QByteArray report = content_of(folder + '/' + arguments.front() + ".md");
    for (const QByteArray& fragment : fragments) QVERIFY2(report.contains(fragment), fragment + " in\n" + report);

    const QString again = path(arguments.front() + "-again");
    QCOMPARE(run(command + QStringList{"--threads", "2", "--out", again}).status, 0);
    QCOMPARE(content_of(again + "/values.csv"), table);
    QCOMPARE(content_of(again + "/curves.csv"), curves);
}

/// On nmt, but for what is asked for.
void TestCli::farSightedOnOneFamily() {
    const auto trained = [this](const QStringList& settings) {
        const QString folder = path("far-sighted");
        run(QStringList{"experiment",  "placeto-families", "--family",  "nmt",     "--family", "ptb",      "--count",
                        "2",           "--updates",        "1",         "--group", "merge",    "--groups", "8",
                        "--algorithm", "placeto",          "--threads", "1",       "--out",    folder} +
            settings);
        QByteArrayList nmt, ptb;
        for (const QByteArray& line : lines_of(content_of(folder + "/curves.csv"))) (line.startsWith("nmt,") ? nmt : ptb) << line;
        return std::pair(nmt, ptb);
    };
    const auto [nmt, ptb] = trained({});
    QCOMPARE(nmt.size(), 2);
    const auto [nmt_preset, ptb_preset] = trained({"--set", "placeto.preset=far-sighted"});
    QCOMPARE(nmt_preset, nmt);
    QVERIFY(ptb_preset != ptb);
    QVERIFY(trained({"--set", "placeto.inertia=0"}).first != nmt);
}

void TestCli::trainingExperimentInterrupted() {
    const QString folder = path("families-cancelled");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"experiment", "placeto-families", "--count", "2", "--updates", "100000", "--group", "merge", "--groups",
                                    "8", "--threads", "1", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("cifar10, Placeto zero-shot, seed 1: 2 of 100000 updates"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray out = process.readAllStandardOutput();
    QVERIFY2(out.contains(" findings are about what did not run"), out);
    const QByteArray values = content_of(folder + "/values.csv"), curves = content_of(folder + "/curves.csv");
    QVERIFY2(values.contains("\ncifar10,Scotch,cifar10_0"), values);
    QVERIFY2(!values.contains("zero-shot"), values);
    QVERIFY2(curves.contains("\ncifar10,Placeto zero-shot,,1,2,"), curves);
    QVERIFY2(terminal.wait_for("cancelled before all trainings were finished"), terminal.seen());
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
    QCOMPARE(sorted(names), QStringList({"critical-path", "load", "memory", "split-path"}));

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
    QVERIFY(search["best"].isNull() && search["placement"].isNull());
    QCOMPARE(search["evaluations"].toInt(-1), 0);

    // No search is begun; what is missing is told, and what helps.
    const QStringList endless =
        QStringList{"optimize"} + bound.mid(1) + QStringList{"--algorithm", "random", "--evaluations", "1000000000000"};
    const auto told = [&](const QStringList& more) {
        const Result result = run(endless + more);
        return result.status == 4 && result.out.isEmpty() ? result.err : "status " + QByteArray::number(result.status) + result.out;
    };
    const QByteArray reason = "placewright-cli: no placement of layer on pair fits the memory: the parameters of ";
    QVERIFY2(told({}).startsWith(reason) && told({}).contains("8.00 MB") && told({}).contains("has most memory, 1.00 MB"), told({}));
    QVERIFY2(told({}).endsWith(". It takes a machine with more memory, or --optimizer sgd\n"), told({}));
    QVERIFY2(told({"--optimizer", "sgd", "--group", "scope"}).endsWith("more memory, or --group none\n"), told({"--optimizer", "sgd"}));
    // Nothing is left of it.
    const QString scores = path("pointless.jsonl");
    told({"--scores", scores});
    QVERIFY(!QFile::exists(scores));
}

void TestCli::families() {
    const QString folder = m_folder.filePath("family");
    const QJsonObject family = object_of({"family", "nmt", "--count", "5", "--seed", "7", "--out", folder});
    QCOMPARE(family.keys(), sorted({"family", "seed", "groups", "networks"}));
    QCOMPARE(family["groups"].toInt(), 160);
    const QJsonArray networks = family["networks"].toArray();
    QCOMPARE(networks.size(), qsizetype{5});
    QMap<QString, int> halves;
    for (const auto& value : networks) {
        const QJsonObject network = value.toObject();
        QCOMPARE(network.keys(),
                 sorted({"name", "half", "ops", "depth", "width", "mean_in_degree", "batch", "parameters", "forward_flops", "file"}));
        const QString half = network["half"].toString();
        ++halves[half];
        QCOMPARE(network["file"].toString(), folder + '/' + half + '/' + network["name"].toString() + ".json");
        // What was written is what was told of, and can be read.
        QFile file(network["file"].toString());
        QVERIFY(file.open(QFile::ReadOnly));
        QCOMPARE(QJsonDocument::fromJson(file.readAll())["ops"].toArray().size(), qsizetype{network["ops"].toInt()});
        QVERIFY(object_of({"simulate", file.fileName(), "--machine", "4x-v100-pcie"})["step_time_s"].toDouble() > 0);
        QVERIFY(network["depth"].toInt() * network["width"].toDouble() > 0.999 * network["ops"].toInt());
    }
    QCOMPARE(halves, (QMap<QString, int>{{"train", 3}, {"test", 2}}));

    const Result unknown = run({"family", "cifar100"});
    QCOMPARE(unknown.status, 2);
    QVERIFY2(unknown.err.contains("NAME cifar100: there is no such family; there are cifar10, ptb, nmt"), unknown.err);
    const Result blocked = run({"family", "nmt", "--count", "1", "--out", networks[0]["file"].toString()});
    QCOMPARE(blocked.status, 3);
    QVERIFY2(blocked.err.contains("cannot be made a folder"), blocked.err);
}

void TestCli::train() {
    const QString policy = path("train.pt"), curve = path("train.csv");
    const QJsonObject trained = object_of(lesson({"--updates", "4", "--out", policy, "--curve", curve}));
    QCOMPARE(trained.keys(),
             sorted({"policy", "options", "objective", "seed", "updates", "evaluations", "wall_s", "cancelled", "graphs", "curve"}));
    QCOMPARE(trained["policy"].toString(), QString("placeto"));
    QCOMPARE(trained["options"].toObject()["width"].toInt(), 2);
    QCOMPARE(trained["options"].toObject()["passes"].toInt(), 1);  // not given
    // Two workers, the start and four decisions each.
    QCOMPARE(trained["updates"].toInt(), 4);
    QCOMPARE(trained["evaluations"].toInt(), 4 * 2 * 5);
    const QJsonArray points = trained["curve"].toArray();
    QCOMPARE(points.size(), 4);
    QCOMPARE(points[3].toObject()["updates"].toInt(), 4);
    const QJsonArray graphs = trained["graphs"].toArray();
    QCOMPARE(graphs.size(), 1);
    const QJsonObject graph = graphs[0].toObject();
    QCOMPARE(graph["network"].toString(), QString("diamond"));
    QCOMPARE(graph["machine"].toString(), QString("pair"));
    QCOMPARE(graph["groups"].toInt(), 4);
    QCOMPARE(graph["one_device"].toObject()["objective_s"].toDouble(), 0.006);
    // Episodes begin on one device.
    QVERIFY(graph["best"].toObject()["score_s"].toDouble() <= 0.006);
    QVERIFY(graph["predicted"].toObject()["score_s"].toDouble() > 0);

    const Result unkept = run(lesson({"--updates", "1"}));
    QCOMPARE(unkept.status, 0);
    QVERIFY2(unkept.err.startsWith("placewright-cli: the policy is not kept; --out FILE writes it\n"), unkept.err);

    const QByteArrayList lines = lines_of(content_of(curve));
    QCOMPARE(lines.size(), 5);
    QCOMPARE(lines[0], QByteArray("updates,evaluations,cost,cost_spread,best_cost,entropy,divergence,learning_rate,entropy_weight"));
    QVERIFY2(lines[4].startsWith("4,40,"), lines[4]);
    QCOMPARE(lines[4].split(',')[2].toDouble(), points[3].toObject()["cost"].toDouble());

    // The same with any number of threads, down to the bytes; another with another seed.
    QCOMPARE(run(lesson({"--updates", "4", "--threads", "1", "--out", path("train-again.pt")})).status, 0);
    QVERIFY(content_of(path("train-again.pt")) == content_of(policy));
    const Result text = run(lesson({"--updates", "4", "--seed", "2", "--out", path("train-other.pt")}));
    QVERIFY(content_of(path("train-other.pt")) != content_of(policy));
    QCOMPARE(text.status, 0);
    QVERIFY2(QRegularExpression("^Placeto, seed 2: 4 updates, 40 placements scored; .+\n\nnetwork +machine +groups +one device +best found "
                                "+predicted\ndiamond +pair +4 +6.00 ms ")
                 .match(QString::fromUtf8(text.out))
                 .hasMatch(),
             text.out);
}

void TestCli::trainOnFamilies() {
    // A folder: its networks on each of the machines.
    const QDir folder(path("lessons"));
    QVERIFY(QDir().mkpath(folder.filePath("train")));
    for (const char* name : {"diamond.json", "layer.json"}) QVERIFY(QFile::copy(path(name), folder.filePath(QString("train/") + name)));
    QVERIFY(QFile::copy(path("pair.json"), folder.filePath("train/pair.json")));  // is no network
    const QJsonObject trained = object_of(
        QStringList{"train", "--family", folder.path(), "--machine", path("pair.json") + ",2x-v100-pcie", "--updates", "2"} + kSmallPolicy);
    QStringList lessons;
    for (const QJsonValue& graph : trained["graphs"].toArray())
        lessons << graph.toObject()["network"].toString() + '/' + graph.toObject()["machine"].toString();
    QCOMPARE(lessons, (QStringList{"diamond/pair", "diamond/2x V100, PCIe 3", "layer/pair", "layer/2x V100, PCIe 3"}));

    // A known one: half of its members, in groups.
    const QJsonObject known = object_of(
        QStringList{"train", "--family", "cifar10", "--count", "2", "--machine", "2x-v100-pcie", "--groups", "8", "--seconds", "0.05"} +
        kSmallPolicy);
    QVERIFY(known["updates"].toInt() > 0);
    QCOMPARE(known["graphs"].toArray().size(), 1);
    QCOMPARE(known["graphs"].toArray()[0].toObject()["groups"].toInt(), 8);
    QVERIFY(known["graphs"].toArray()[0].toObject()["network"].toString().startsWith("cifar10_0"));
}

void TestCli::trainingGoesOn() {
    const QStringList whole = lesson({"--updates", "200", "--out", path("whole.pt")});
    QCOMPARE(run(whole).status, 0);

    // Killed amid the training it ends as if nothing had been.
    const QString file = path("killed.pt");
    const QStringList killed =
        lesson({"--updates", "200", "--out", file, "--checkpoint-every", "0.02", "--resume", "--curve", path("killed.csv")});
    QProcess process;
    process.start(PLACEWRIGHT_CLI, killed);
    QVERIFY(QTest::qWaitFor([&] { return QFile::exists(file); }, kPatienceMs));
    process.kill();
    process.waitForFinished();
    QVERIFY(content_of(file) != content_of(path("whole.pt")));
    const Result result = run(killed);
    QVERIFY2(result.status == 0, result.err);
    QVERIFY(content_of(file) == content_of(path("whole.pt")));
    QCOMPARE(lines_of(content_of(path("killed.csv"))).size(), 201);

    // Nothing is lost to a mistake.
    const Result twice = run(whole);
    QCOMPARE(twice.status, 3);
    QVERIFY2(twice.err.contains("whole.pt: is there already; go on with it by --resume, or give another file"), twice.err);
    const Result other = run(whole + QStringList{"--resume", "--seed", "2"});
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("whole.pt: is of another training: its seed is 1, not 2; give the same arguments, or another --out"),
             other.err);
    const Result options = run(whole + QStringList{"--resume", "--order", "critical-path"});
    QVERIFY2(options.err.contains("its order is fifo, not critical-path"), options.err);
    QVERIFY(content_of(file) == content_of(path("whole.pt")));

    // What is done already is not done again.
    const Result done = run(lesson({"--updates", "5", "--out", file, "--resume"}));
    QCOMPARE(done.status, 0);
    QVERIFY2(done.out.endsWith("\n" + file.toUtf8() + " stays as it is, with 200 updates behind it\n"), done.out);
    QVERIFY(content_of(file) == content_of(path("whole.pt")));

    // What is trained may be trained further.
    const QJsonObject further = object_of(lesson({"--updates", "203", "--out", file, "--resume"}));
    QCOMPARE(further["updates"].toInt(), 203);
    QCOMPARE(further["curve"].toArray().size(), 203);
}

/// What was trained before is in the files.
void TestCli::trainDiverges() {
    QByteArray ops =
        R"({"name": "a", "kind": "matmul", "inputs": [], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 1e9})";
    for (int i = 0; i < 8; ++i)
        ops += R"(, {"name": "b)" + QByteArray::number(i) + R"(", "kind": "matmul", "inputs": [")" +
               (i < 4 ? QByteArray("a") : "b" + QByteArray::number(i - 4)) +
               R"("], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 2e9})";
    const QString network =
        write("chains.json",
              R"({"format": "placewright.graph", "version": 1, "name": "chains", "batch": 1, "training": "none", "ops": [)" + ops + "]}");
    const QStringList wild{"train", network,           "--machine", "2x-v100-pcie",     "--set", "layers=8",
                           "--set", "rounds=100",      "--set",     "foresight=0",      "--set", "learning_rate=10",
                           "--set", "gradient_clip=0", "--set",     "entropy_weight=0", "--set", "final_learning_rate=10",
                           "--set", "workers=2"};
    const QString policy = path("diverged.pt"), curve = path("diverged.csv");
    const Result result = run(wild + QStringList{"--updates", "20", "--out", policy, "--curve", curve});
    QCOMPARE(result.status, 1);
    QVERIFY2(
        result.err.endsWith(" leads to weights that are no numbers: choose a lower learning_rate, or a gradient_clip; what was before it "
                            "is written to " +
                            policy.toUtf8() + " and " + curve.toUtf8() + '\n'),
        result.err);
    const QJsonObject predicted = object_of({"predict", policy, network, "--machine", "2x-v100-pcie"});
    QVERIFY(predicted["updates"].toInt() > 0);
    QCOMPARE(lines_of(content_of(curve)).size(), 1 + predicted["updates"].toInt());
    const Result unwritten = run(wild + QStringList{"--updates", "20"});
    QCOMPARE(unwritten.status, 1);
    QVERIFY2(unwritten.err.endsWith("gradient_clip; nothing is written\n"), unwritten.err);
}

void TestCli::trainWhatDoesNotFit() {
    const Result tight = run({"train", path("layer.json"), "--machine", machineWith("1000"), "--updates", "1", "--set", "workers=1"});
    QCOMPARE(tight.status, 4);
    QVERIFY2(tight.err.contains("no placement that fits the memory was found"), tight.err);
}

/// What the best single device is counts those that the policy may use.
void TestCli::trainBesideACpu() {
    const QString network =
        write("one-op.json", R"({"format": "placewright.graph", "version": 1, "name": "one", "batch": 1, "training": "none",
        "ops": [{"name": "a", "kind": "relu", "inputs": [], "outputs": [{"bytes": 4}], "parameter_bytes": 0, "flops": 1}]})");
    const QString policy = path("one-op.pt");
    const QStringList job{network, "--machine", "4x-v100-nvlink"};
    const QJsonObject trained = object_of(QStringList{"train"} + job + kSmallPolicy + QStringList{"--updates", "1", "--out", policy});
    const QJsonObject graph = trained["graphs"].toArray()[0].toObject();
    const double alone_s = graph["one_device"].toObject()["objective_s"].toDouble();
    QVERIFY(alone_s > object_of(QStringList{"simulate"} + job)["step_time_s"].toDouble());
    QCOMPARE(alone_s, graph["best"].toObject()["objective_s"].toDouble());
    QCOMPARE(object_of(QStringList{"predict", policy} + job)["one_device_s"].toDouble(), alone_s);
    const Result text = run(QStringList{"predict", policy} + job);
    QVERIFY2(text.out.contains(", 1.00 times as fast as gpu:0 alone\n"), text.out);
}

void TestCli::trainInterrupted() {
    const QString file = path("interrupted.pt");
    QProcess process;
    Terminal terminal;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, lesson({"--updates", "1000000", "--out", file}));
    QVERIFY2(terminal.wait_for(" of 1000000 updates, ") && terminal.wait_for(" left"), terminal.seen());
    QVERIFY2(terminal.seen().contains(" of one device (best ") && terminal.seen().contains("learning rate "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray out = process.readAllStandardOutput();
    QVERIFY2(out.contains(" (cancelled)\n") && out.contains("written to " + file.toUtf8()), out);
    const QJsonObject predicted = object_of({"predict", file, path("diamond.json"), "--machine", path("pair.json")});
    QVERIFY(predicted["updates"].toInt() > 0);
}

void TestCli::trainWrongUsage_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("complaint");
    const auto row = [](const char* name, const QStringList& arguments, int status, const char* complaint) {
        QTest::newRow(name) << arguments << status << QByteArray(complaint);
    };
    const QStringList pair{"--machine", path("pair.json")};
    row("nothing", QStringList{} + pair, 2, "train: expected --family or networks, one of them");
    row("both", QStringList{"alexnet", "--family", "nmt"} + pair, 2, "train: expected --family or networks, one of them");
    row("no such family", QStringList{"--family", "cifar100"} + pair, 2,
        "--family cifar100: there is no such family or folder; families are cifar10, ptb, nmt");
    row("empty folder", QStringList{"--family", "/proc/self/task"} + pair, 3, "/proc/self/task: holds no networks");
    row("no machine", {"--family", "nmt"}, 2, "--machine is required");
    row("no such policy", QStringList{"alexnet", "--policy", "oracle"} + pair, 2,
        "--policy oracle: there is no such policy; there are placeto");
    row("no such option", QStringList{"alexnet", "--set", "speed=1"} + pair, 2, "--set speed=1: ");
    row("a family as a network", QStringList{"cifar10"} + pair, 2, "train: cifar10 is a family of networks: --family cifar10");
    row("resume what", QStringList{"alexnet", "--resume"} + pair, 2, "--resume: expected --out");
    row("no folder", QStringList{"alexnet", "--out", "/no/such/folder/p.pt"} + pair, 3, "there is no such folder");
    row("no files in the folder", QStringList{"alexnet", "--out", "/proc/p.pt"} + pair, 3, "/proc/p.pt: cannot be written: ");
    row("no policy in it", QStringList{"alexnet", "--resume", "--out", path("pair.json")} + pair, 3, "pair.json: is not a policy");
    row("two machines", {"alexnet", "--set", "devices=one-hot", "--machine", "2x-v100-pcie,4x-v100-nvlink"}, 2,
        "train: alexnet on 4x V100, NVLink: with these options placeto is made for one number of devices, here 2, not 4; train one with "
        "devices=features, which takes any number");
    row("another policy", {"alexnet", "--policy", "colocrl", "--machine", "2x-v100-pcie,4x-v100-nvlink"}, 2,
        "with these options colocrl is made for one number of devices, here 2, not 4; train placeto, which takes any number");
    row("two networks", {"alexnet", "vgg16", "--set", "aggregation=flat", "--machine", "2x-v100-pcie"}, 2,
        "train one with aggregation=messages, which takes any number");
}

void TestCli::trainWrongUsage() {
    QFETCH(QStringList, arguments);
    QFETCH(int, status);
    QFETCH(QByteArray, complaint);
    const Result result = run(QStringList{"train"} + arguments);
    QCOMPARE(result.status, status);
    QCOMPARE(result.out, QByteArray());
    QVERIFY2(result.err.contains(complaint) && lines_of(result.err).size() == 1, result.err);
}

void TestCli::predict() {
    const QString policy = path("predict.pt"), placement = path("predicted.json");
    QCOMPARE(run(lesson({"--updates", "3", "--out", policy})).status, 0);
    const QStringList unseen{"predict", policy, "alexnet", "--machine", "4x-v100-nvlink"};
    const QJsonObject predicted = object_of(unseen + QStringList{"--out", placement});
    QCOMPARE(predicted.keys(), sorted({"policy", "updates", "objective", "groups", "seed", "episodes", "evaluations", "predict_s", "best",
                                       "one_device_s", "placement"}));
    QCOMPARE(predicted["updates"].toInt(), 3);
    QCOMPARE(predicted["episodes"].toInt(), 1);
    QCOMPARE(predicted["evaluations"].toInt(), 1);
    const double step_s = predicted["best"].toObject()["step_time_s"].toDouble();
    const QJsonObject simulated = object_of({"simulate", "alexnet", "--machine", "4x-v100-nvlink", "--placement", placement});
    QCOMPARE(simulated["step_time_s"].toDouble(), step_s);
    QCOMPARE(object_of(unseen)["placement"], predicted["placement"]);

    // Among all on the way is the last one.
    const QJsonObject best = object_of(unseen + QStringList{"--best"});
    QCOMPARE(best["evaluations"].toInt(), 1 + predicted["placement"].toObject().size());
    QVERIFY(best["best"].toObject()["score_s"].toDouble() <= step_s);
    const QJsonObject drawn = object_of(unseen + QStringList{"--episodes", "4", "--seed", "3"});
    QCOMPARE(drawn["evaluations"].toInt(), 5);
    QVERIFY(drawn["best"].toObject()["score_s"].toDouble() <= step_s);
    QCOMPARE(object_of(unseen + QStringList{"--episodes", "4", "--seed", "3"})["placement"], drawn["placement"]);

    const Result text = run(unseen);
    QVERIFY2(text.out.startsWith("Placeto after 3 updates: placed in ") && text.out.contains("alexnet on 4x V100, NVLink\nstep time "),
             text.out);
    const Result missing = run({"predict", path("missing.pt"), "alexnet", "--machine", "1x-v100"});
    QCOMPARE(missing.status, 3);
    QVERIFY2(missing.err.contains("missing.pt: there is no such file"), missing.err);
    const Result tight = run({"predict", policy, path("layer.json"), "--machine", machineWith("1000")});
    QCOMPARE(tight.status, 4);
    QVERIFY2(tight.err.contains("the placement does not fit the memory"), tight.err);
}

void TestCli::predictAsTrained() {
    const QString policy = path("merged.pt");
    QCOMPARE(run({"train", "alexnet", "--machine", "2x-v100-pcie", "--group", "merge", "--groups", "6", "--memory-rule", "post",
                  "--updates", "1", "--set", "workers=1", "--out", policy})
                 .status,
             0);
    const QStringList unseen{"predict", policy, "vgg16", "--machine", "2x-v100-pcie"};
    QCOMPARE(object_of(unseen)["groups"].toInt(), 6);
    const Result text = run(unseen);
    QVERIFY2(text.out.contains("\nOps move in 6 groups; 1 network was trained on.\n"), text.out);
    QCOMPARE(object_of(unseen + QStringList{"--group", "merge", "--groups", "5"})["groups"].toInt(), 5);
    QVERIFY(object_of(unseen + QStringList{"--group", "none"})["groups"].toInt() > 20);
    // What does not fit counts as it did in the training.
    const QStringList tight{"predict", policy, path("layer.json"), "--machine", machineWith("1000"), "--json"};
    const auto score_s = [&](const QStringList& more) {
        return QJsonDocument::fromJson(run(tight + more).out)["best"].toObject()["score_s"].toDouble();
    };
    QCOMPARE(score_s({}), score_s({"--memory-rule", "post"}));
    QVERIFY(score_s({}) != score_s({"--memory-rule", "exprimo"}));
}

void TestCli::predictOtherSizes() {
    const QString policy = path("one-hot.pt");
    QCOMPARE(run(lesson({"--updates", "1", "--set", "devices=one-hot", "--out", policy})).status, 0);
    QCOMPARE(run({"predict", policy, "alexnet", "--machine", "2x-v100-pcie"}).status, 0);
    const Result result = run({"predict", policy, "alexnet", "--machine", "4x-v100-nvlink"});
    QCOMPARE(result.status, 3);
    QVERIFY2(
        result.err.contains("one-hot.pt: does not suit alexnet on 4x V100, NVLink: with these options placeto is made for one number of "
                            "devices, here 2, not 4; train one with devices=features, which takes any number\n"),
        result.err);
}

void TestCli::convertNetworks_data() {
    QTest::addColumn<QString>("network");
    for (const char* network : {"alexnet", "vgg16", "resnet50", "resnet101", "resnet152", "resnet200", "inception_v3", "nasnet",
                                "nasnet_mobile", "rnnlm", "rnnlm4", "nmt2", "nmt4", "nmt8", "transformer", "bert_base", "gpt2"}) {
        QTest::newRow(network) << QString(network);
    }
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
    const QJsonArray ops = small["ops"].toArray();
    const auto input = std::ranges::find_if(ops, [](const QJsonValue& op) { return op["kind"].toString() == "input"; });
    QVERIFY(input != ops.end());
    QCOMPARE(input->toObject()["outputs"][0]["shape"][0].toInt(), 3);
}

void TestCli::onnx() {
    placewright::test::OnnxModel model;
    model.input("x", {-2, -3, 8}).weight("w", {8, 8}).node("MatMul", {"x", "w"}, {"h"}).node("Mystery", {"h"}, {"y"}).output("y");
    *model.graph().add_value_info() = placewright::test::onnx_value("y", {-2, -3, 8});
    const QString file = write("net.onnx", QByteArray::fromStdString(model.bytes())), machine = machineWith("1e9");
    const QStringList sizes{"--batch", "4", "--dim", "sequence=5"};

    const Result result = run(QStringList{"simulate", file, "--machine", machine, "--json"} + sizes);
    const QJsonArray estimated = json_of(result).object()["estimated_ops"].toArray();
    QCOMPARE(estimated.size(), 1);
    QCOMPARE(estimated[0].toObject()["op"].toString(), QString("y"));
    QCOMPARE(estimated[0].toObject()["kind"].toString(), QString("Mystery"));
    QVERIFY(result.err.contains("net.onnx: 1 of 3 ops are estimated by their bytes: no FLOPs are known of Mystery"));

    const QString written = path("net.json");
    QCOMPARE(run(QStringList{"convert", file, written} + sizes).status, 0);
    QVERIFY(content_of(written).contains(R"("shape": [4, 5, 8])"));
    QVERIFY(run({"convert", file, written, "--dim", "sequence=5"}).err.contains("give one with --batch"));
    QVERIFY(run({"convert", file, written, "--batch", "4"}).err.contains("give one with --dim sequence=NUMBER"));
    QVERIFY(run({"convert", file, written, "--dim", "sequence"}).err.contains("--dim sequence: expected NAME=NUMBER"));
    QVERIFY(run({"convert", written, path("again.json"), "--dim", "sequence=5"}).err.contains("no extent of this file is open"));
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

void TestCli::shards() {
    // Two features of four each: 1 ms on one device, half of that on each of two, 1 ms + 1 ms there and back, where "end" joins them.
    const QString network = path("wide.json");
    write("wide.json", R"({"format": "placewright.graph", "version": 1, "name": "wide", "batch": 1, "training": "none", "ops": [
        {"name": "x", "kind": "input", "inputs": [], "outputs": [{"shape": [1, 2], "dtype": "float32"}], "parameter_bytes": 0, "flops": 0},
        {"name": "fc", "kind": "linear", "inputs": ["x"], "outputs": [{"shape": [1, 4], "dtype": "float32"}], "parameter_bytes": 48,
         "flops": 1e9},
        {"name": "end", "kind": "reshape", "inputs": ["fc"], "outputs": [{"shape": [4], "dtype": "float32"}], "parameter_bytes": 0,
         "flops": 0}]})");
    const QStringList simulate{"simulate", network, "--machine", path("pair.json"), "--shard", "fc=2"};
    const QJsonObject together = object_of(simulate);
    QCOMPARE(together["ops_run"].toInt(), 5);
    const QString placement = path("parts.json");
    write("parts.json", R"({"x": 0, "fc_shard0": 0, "fc_shard1": 1, "end": 0})");
    const QJsonObject apart = object_of(simulate + QStringList{"--placement", placement});
    QCOMPARE(apart["transfers"].toInt(), 2);
    const double step_s = apart["step_time_s"].toDouble();
    QVERIFY2(std::abs(step_s - 2.5e-3) < 1e-6, qPrintable(QString::number(step_s)));
    // A list of devices is for the parts; it splits no op that is not a convolution, whose first device counts.
    write("parts.json", R"({"x": 0, "fc": [0, 1], "end": 0})");
    QCOMPARE(object_of(simulate + QStringList{"--placement", placement}), apart);
    QCOMPARE(object_of(simulate.first(4) + QStringList{"--placement", placement})["ops_run"].toInt(), 3);

    // optimize names the parts, bound bounds them, convert keeps them.
    const QString out = path("found.json");
    const QJsonObject found =
        object_of(QStringList{"optimize"} + simulate.mid(1) + QStringList{"--algorithm", "random", "--evaluations", "50", "--out", out});
    QCOMPARE(sorted(found["placement"].toObject().keys()), (QStringList{"end", "end_conc_fc", "fc_shard0", "fc_shard1", "x"}));
    QCOMPARE(object_of(simulate + QStringList{"--placement", out})["step_time_s"], found["best"]["step_time_s"]);
    QVERIFY(object_of(QStringList{"bound"} + simulate.mid(1))["lower_bound_s"].toDouble() <= found["best"]["step_time_s"].toDouble());
    const QString converted = path("parts-network.json");
    QCOMPARE(run({"convert", network, converted, "--shard", "fc=2"}).status, 0);
    QCOMPARE(object_of({"simulate", converted, "--machine", path("pair.json"), "--placement", out})["step_time_s"],
             found["best"]["step_time_s"]);
}

void TestCli::shardsAgreeWithExprimo() {
    const QString reference = PLACEWRIGHT_TEST_DATA "/../../../shared/reference/exprimo/";
    const QStringList files = QDir(reference + "cases").entryList({"*.json"}, QDir::Files);
    if (files.isEmpty()) QSKIP("the reference results are not beside this checkout");
    int cases = 0;
    for (const QString& file : files) {
        const QJsonObject test = QJsonDocument::fromJson(content_of(reference + "cases/" + file)).object();
        const QJsonObject split = test["sharded_assignment"].toObject();
        if (split.isEmpty()) continue;
        ++cases;
        QJsonObject parts, whole;  // placements, of parts and of the ops that the network holds
        for (qsizetype i = 0; i < test["ops"].toArray().size(); ++i) {
            const QString op = test["ops"][i].toString();
            parts[op] = test["placement"][i];
            if (!op.contains("_shard") && !op.contains("_conc_")) whole[op] = test["placement"][i];
        }
        QStringList shards;
        for (auto op = split.begin(); op != split.end(); ++op) {
            whole[op.key()] = op.value();
            shards << "--shard" << op.key() + '=' + QString::number(op.value().toArray().size());
        }
        write("parts.json", QJsonDocument(parts).toJson());
        write("whole.json", QJsonDocument(whole).toJson());
        QStringList simulate{"simulate", reference + test["net_file"].toString()};
        simulate << "--machine" << reference + test["machine_file"].toString() << "--cost"
                 << "exprimo"
                 << "--memory"
                 << "exprimo";
        simulate << "--batch" << QString::number(test["batch_size"].toInt()) << "--batches" << QString::number(test["batches"].toInt());
        simulate << "--in-flight" << QString::number(test["pipeline_batches"].toInt());
        simulate << "--compute-efficiency" << QString::number(test["comp_penalization"].toDouble());
        simulate << "--channel-efficiency" << QString::number(test["comm_penalization"].toDouble());
        if (!test["include_backward"].toBool()) simulate << "--inference";
        const QJsonObject outcome = object_of(simulate + shards + QStringList{"--placement", path("parts.json")});
        const QJsonObject expected = test["expected"].toObject();
        const auto agrees = [](double value, double wanted) { return std::abs(value - wanted) <= 1e-9 * std::abs(wanted); };
        QVERIFY2(agrees(outcome["total_time_s"].toDouble() * 1e3, expected["makespan_ms"].toDouble()), qPrintable(file));
        for (qsizetype i = 0; i < expected["peak_memory_bytes"].toArray().size(); ++i) {
            QCOMPARE(outcome["devices"][i]["peak_bytes"].toDouble(), expected["peak_memory_bytes"][i].toDouble());
            QVERIFY(agrees(outcome["devices"][i]["busy_s"].toDouble() * 1e3, expected["busy_ms_per_device"][i].toDouble()));
        }
        for (qsizetype i = 0; i < expected["busy_ms_per_channel"].toArray().size(); ++i)
            QVERIFY(agrees(outcome["channels"][i]["busy_s"].toDouble() * 1e3, expected["busy_ms_per_channel"][i].toDouble()));
        // The flat placement of the whole op is enough.
        QCOMPARE(object_of(simulate + QStringList{"--placement", path("whole.json")}), outcome);
    }
    QVERIFY(cases > 0);
}

void TestCli::convertFailures() {
    const QString target = path("no/such/folder/g.json");
    const Result generate = run({"convert", "--network", "alexnet", target});
    QCOMPARE(generate.status, 3);
    QVERIFY2(generate.err.startsWith(target.toUtf8() + ": cannot be written: "), generate.err);
    QCOMPARE(lines_of(generate.err).size(), 1);

    const Result placement = run({"convert", path("apart.json"), path("x.json")});
    QCOMPARE(placement.status, 3);
    QVERIFY2(placement.err.contains("apart.json: is a placement, not a network: "), placement.err);
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
        QCOMPARE(algorithm.toObject().keys(), sorted({"id", "title", "help", "options", "presets"}));
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
    QTest::newRow("object without format") << QByteArray("{\"e\": 0}") << QByteArray("is a placement, not a network")
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

void TestCli::parametersFromSafetensors() {
    // Half of the four million bytes that "fc" holds, and a tensor that nobody has.
    const QByteArray header = R"({"fc.weight": {"dtype": "BF16", "shape": [1000, 1000], "data_offsets": [0, 2000000]},
        "lost.bias": {"dtype": "F32", "shape": [1], "data_offsets": [2000000, 2000004]}})";
    const qint64 length = header.size();
    const QString weights =
        write("weights.safetensors", QByteArray(reinterpret_cast<const char*>(&length), sizeof length) + header + QByteArray(2000004, 0));
    const QStringList simulate{"simulate", write("sized.json", kLayer), "--machine", path("pair.json"), "--json"};
    const auto resident_bytes = [](const Result& result) {
        return json_of(result, 0).object()["devices"].toArray()[0].toObject()["resident_bytes"].toDouble();
    };
    const double before = resident_bytes(run(simulate));
    const Result result = run(simulate + QStringList{"--parameters", weights});
    QVERIFY(before > 0);
    QCOMPARE(resident_bytes(result), before / 2);
    QVERIFY2(result.err.contains("weights.safetensors: 1 tensors belong to no op: lost.bias"), result.err);
    QVERIFY2(result.err.contains("1 parameter has another size in it than in the network, such as fc (2.00 MB, not 4.00 MB): its numbers "
                                 "are of another type; what is in the file counts"),
             result.err);

    for (const QString& network :
         {weights, write("packed.json", QByteArray("\x1f\x8b\x08\0\0", 5)), path("apart.json"), path("apart-flat.json")}) {
        const Result none = run({"simulate", network, "--machine", path("pair.json")});
        QCOMPARE(none.status, 3);
        QVERIFY2(none.err.contains("holds weights, not a network: --parameters") ||
                     none.err.contains("is packed (gzip): unpack it first") || none.err.contains("is a placement, not a network: "),
                 none.err);
    }

    // Weights of another network are refused, rather than left out without a word.
    const QByteArray other = R"({"stem.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})";
    const qint64 size = other.size();
    const QString foreign =
        write("foreign.safetensors", QByteArray(reinterpret_cast<const char*>(&size), sizeof size) + other + QByteArray(4, 0));
    const Result refused = run(simulate + QStringList{"--parameters", foreign});
    QCOMPARE(refused.status, 3);
    QVERIFY2(refused.err.contains("foreign.safetensors: none of its tensors has the name of a parameter of the network ") &&
                 refused.err.contains("such as \"fc\"; it has \"stem.weight\""),
             refused.err);
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
