// SPDX-License-Identifier: MIT
// The command line: experiment measured.
#include <cmath>
#include <zlib.h>

#include <QXmlStreamReader>

#include "app/experiments/measured.hpp"
#include "app/experiments/measured_networks.hpp"
#include "app/experiments/scatter_plot.hpp"
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/reference.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

/// One layer is a linear map and an activation; two layers and a head.
const QByteArray kGraphs = R"({"tiny-train-4-2": {"batch": 2, "num_layer": 2, "carry": ["x", "act"],
  "pre": [["x", "input", [], [[[2, 64], "float32"]], 0, 0]],
  "layer": [["fc", "linear", ["x"], [[[2, 64], "float32"]], 16640, 16384],
            ["act", "relu", ["fc"], [[[2, 64], "float32"]], 0, 128]],
  "post": [["head", "linear", ["act"], [[[2, 8], "float32"]], 2080, 2048]]}})";

/// 5 us of each op are the timing itself. The ops add up to what the whole took: forward 2 (95 + 15) + 25 us.
const QByteArray kTimes = R"({"Tesla_V100-PCIE-32GB": {"tiny-train-4-2": {"graph": "tiny-train-4-2",
  "floor_ms": 0.005, "e2e_ms": 0.5, "forward_ms": 0.245, "backward_ms": 0.255,
  "fw": [0, 0.1, 0.02, 0.03], "bw": [0, 0.1, 0.02, 0.04], "acc": [0, 0, 0, 0]}}})";

/// The same network as the project's own file.
const QByteArray kSameNetwork = R"({"format": "placewright.graph", "version": 1, "name": "tiny", "batch": 2,
  "training": "implicit", "ops": [
  {"name": "x", "kind": "input", "inputs": [], "outputs":
    [{"shape": [2, 64], "dtype": "float32"}], "parameter_bytes": 0, "flops": 0},
  {"name": "fc0", "kind": "linear", "inputs": ["x"], "outputs":
    [{"shape": [2, 64], "dtype": "float32"}], "parameter_bytes": 16640, "flops": 16384},
  {"name": "act0", "kind": "relu", "inputs": ["fc0"], "outputs":
    [{"shape": [2, 64], "dtype": "float32"}], "parameter_bytes": 0, "flops": 128},
  {"name": "fc1", "kind": "linear", "inputs": ["act0"], "outputs":
    [{"shape": [2, 64], "dtype": "float32"}], "parameter_bytes": 16640, "flops": 16384},
  {"name": "act1", "kind": "relu", "inputs": ["fc1"], "outputs":
    [{"shape": [2, 64], "dtype": "float32"}], "parameter_bytes": 0, "flops": 128},
  {"name": "head", "kind": "linear", "inputs": ["act1"], "outputs":
    [{"shape": [2, 8], "dtype": "float32"}], "parameter_bytes": 2080, "flops": 2048}]})";

const QByteArray kSameMachine = R"({"format": "placewright.machine", "version": 1, "name": "one",
  "devices": [{"name": "gpu:0", "kind": "gpu", "model": "NVIDIA V100 PCIe 32GB"}], "channels": [], "routes": []})";

const QByteArray kTimm =
    R"([{"model": "resnet18", "batch": 4, "image": 224, "step_ms": 8.0, "parameters_m": 11.69},
  {"model": "vit_tiny_patch16_224", "batch": 2, "image": 224, "step_ms": 4.0, "parameters_m": 5.72}])";

const QByteArray kTorchgpipe = R"([
  {"network": "resnet101", "gpus": 1, "batch": 4, "chunks": 1, "balance": [], "checkpoint": "never",
   "samples_per_s": 20, "calibrates": true},
  {"network": "resnet101", "gpus": 2, "batch": 8, "chunks": 4, "balance": [135, 235], "samples_per_s": 30}])";

const QByteArray kPlans =
    "batch,micro_batch,hidden,heads,layers,sequence,stages,iteration_ms\n4,2,64,4,4,16,2,10\n";

const QByteArray kTensorflow = R"([
  {"device": "k80-die", "network": "resnet50", "batch": 32, "images_per_s": 50},
  {"device": "k80-die", "network": "alexnet", "batch": 512, "images_per_s": 640},
  {"device": "k80-die", "network": "vgg16", "batch": 32, "images_per_s": 32}])";

const QByteArray kTutorial = R"({"batch": 120, "assumed_device": "v100-pcie", "seconds": {"one_gpu": 4,
  "two_gpus_no_pipelining": 4.2, "two_gpus_split_20": 2.6, "two_gpus_split_12": 2.5}})";

const QByteArray kKernels =
    R"({"network": "resnet50", "batch": 32, "device": "v100-sxm", "optimizer": "momentum",
  "kernels": [{"kind": "conv2d", "phase": "forward", "ms": 30}, {"kind": "", "phase": "update", "ms": 10}]})";

const QByteArray kBaechi =
    R"({"step_ms": {"one_gpu": [400, 420], "m-etf": [420], "m-sct": [430], "m-topo": [500]},
  "peak_gb": {"one_gpu": 6.2}, "link_bytes_per_s": 5e9})";

using Points = std::map<QByteArray, QByteArrayList>;  // by suite and case, fields in the order of the header

double number(const Points& points, const QByteArray& point, int field) {
    const auto found = points.find(point);
    return found == points.end() ? std::nan("") : found->second.at(field).toDouble();
}
double measured(const Points& points, const QByteArray& point) {
    return number(points, point, 3);
}
double simulated(const Points& points, const QByteArray& point) {
    return number(points, point, 4);
}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-8 * std::abs(b);
}

/// The row of a suite in the first table of measured.md, without its name.
QByteArrayList row_of(const QByteArray& report, const QByteArray& suite) {
    for (const QByteArray& line : lines_of(report)) {
        QByteArrayList cells = line.split('|');
        if (cells.size() < 3 || cells[1].trimmed() != suite) continue;
        for (QByteArray& cell : cells) cell = cell.trimmed();
        return cells.mid(2, cells.size() - 3);
    }
    return {};
}

MeasuredPoint point(double measured_s, double simulated_s) {
    MeasuredPoint made;
    made.measured_s = measured_s;
    made.simulated_s = simulated_s;
    return made;
}

}  // namespace

class TestCliMeasured : public CliFixture {
    Q_OBJECT

    QString folder(const QString& name) const {
        QDir(m_folder.path()).mkpath(name);
        return path(name);
    }
    QString writePacked(const QString& name, const QByteArray& content) const {
        const gzFile file = gzopen(path(name).toLocal8Bit().constData(), "wb");
        if (file == nullptr || gzwrite(file, content.constData(), static_cast<unsigned>(content.size())) == 0)
            qFatal("cannot write %s", qPrintable(name));
        gzclose(file);
        return path(name);
    }
    /// A folder with a few measurements for every suite.
    QString measurements(const QString& name) const {
        for (const char* suite :
             {"neusight", "timm", "torchgpipe", "vtrain", "tf2017", "tutorial", "kineto", "baechi"})
            folder(name + '/' + suite);
        writePacked(name + "/neusight/graphs.json.gz", kGraphs);
        writePacked(name + "/neusight/times.json.gz", kTimes);
        write(name + "/timm/points.json", kTimm);
        write(name + "/torchgpipe/points.json", kTorchgpipe);
        write(name + "/vtrain/calibration.csv", kPlans);
        write(name + "/tf2017/points.json", kTensorflow);
        write(name + "/tutorial/points.json", kTutorial);
        write(name + "/kineto/v100.json", kKernels);
        write(name + "/baechi/facts.json", kBaechi);
        return path(name);
    }
    Points pointsOf(const QString& out) const {
        Points points;
        for (const QByteArray& line : lines_of(content_of(out + "/points.csv")).mid(1)) {
            const QByteArrayList fields = line.split(',');
            points[fields[0] + ' ' + fields[1]] = fields;
        }
        return points;
    }

private Q_SLOTS:
    void everySuite();
    void figuresOfTheTable();
    void absentSuites();
    void brokenFiles_data();
    void brokenFiles();
    void refusals();
    void interrupted();
    void figures();
    void plot();
    void networks();
    void agreesWithTheChecker();
};

void TestCliMeasured::everySuite() {
    const QString data = measurements("every"), out = path("every-out");
    const Result result = run({"experiment", "measured", "--data", data, "--out", out});
    QCOMPARE(result.err, QByteArray());
    QCOMPARE(result.status, 0);
    QVERIFY2(widest_line(result.out) <= 100, result.out);
    for (const std::string& id : measured_suite_ids())
        QVERIFY2(result.out.contains('\n' + QByteArray::fromStdString(id) + ' '), result.out);
    QVERIFY2(result.out.contains("baechi: Peak memory of Inception-V3 on one GPU: "), result.out);

    const Points points = pointsOf(out);
    QCOMPARE(points.size(), std::size_t{1 + 3 + 2 + 2 + 1 + 3 + 3 + 3 + 3});
    // A network that is put together of layers takes what the same network takes as a file.
    const QByteArray pair = "neusight-e2e Tesla_V100-PCIE-32GB/tiny-train-4-2";
    const QString machine = write("one.json", kSameMachine);
    const QJsonObject whole =
        object_of({"simulate", write("same.json", kSameNetwork), "--machine", machine, "--optimizer", "sgd"});
    QVERIFY(close(simulated(points, pair), whole["step_time_s"].toDouble()));
    QVERIFY(close(number(points, pair, 5), whole["step_time_low_s"].toDouble()));
    QVERIFY(close(number(points, pair, 6), whole["step_time_high_s"].toDouble()));
    QVERIFY(close(measured(points, pair), 0.5e-3));
    // Times of ops are those of one, without what the timing takes.
    const QByteArray ops = "neusight-ops Tesla_V100-PCIE-32GB/tiny-train-4-2/";
    QVERIFY(close(measured(points, ops + "layer0/fc"), 95e-6));
    QVERIFY(close(measured(points, ops + "head"), 25e-6));
    QCOMPARE(points.at(ops + "head").mid(5, 2), QByteArrayList({"", ""}));
    // Suites that calibrate give the times that calibrate.
    QVERIFY(close(simulated(points, "torchgpipe resnet101 n=1 m=1"), 0.2));
    QCOMPARE(points.at("torchgpipe resnet101 n=1 m=1")[7], QByteArray("0"));
    QCOMPARE(points.at("torchgpipe resnet101 n=2 m=4")[7], QByteArray("1"));
    QVERIFY(close(simulated(points, "vtrain h64 l4 p2 b4 mb2"), 10e-3));
    // Images, not steps.
    QVERIFY(close(measured(points, "timm resnet18 b4"), 2e-3));
    QVERIFY(close(measured(points, "tf2017 k80-die alexnet b512"), 0.8));
    QVERIFY(close(measured(points, "kineto all kernels"), 40e-3));
    QVERIFY(close(measured(points, "baechi m-topo"), 0.5));
    // Four GPUs cannot take a quarter of one, nor can two take half.
    QVERIFY(simulated(points, "baechi m-etf") > 0.41 / 4);
    QVERIFY(simulated(points, "tutorial two_gpus_split_20") > 2);
    QVERIFY(simulated(points, "tutorial two_gpus_split_20") <
            simulated(points, "tutorial two_gpus_no_pipelining"));

    QXmlStreamReader svg(content_of(out + "/measured.svg"));
    QStringList texts;
    while (!svg.atEnd()) {
        if (svg.readNext() == QXmlStreamReader::StartElement && svg.name() == u"text")
            texts << svg.readElementText();
    }
    QVERIFY2(!svg.hasError(), qPrintable(svg.errorString()));
    for (const char* text : {"Measured time (s)", "Simulated time (s)", "equal", "±25 %", "vtrain", "kineto"})
        QVERIFY2(texts.contains(text), text);
    QVERIFY(content_of(out + "/measured.md").contains("![simulated against measured times](measured.svg)"));
}

void TestCliMeasured::figuresOfTheTable() {
    const QString data = measurements("figures"), out = path("figures-out");
    QCOMPARE(run({"experiment", "measured", "--data", data, "--only", "tf2017", "--out", out}).status, 0);
    std::vector<double> errors;
    int inside = 0;
    double sum = 0;
    for (const auto& [name, fields] : pointsOf(out)) {
        const double measured_s = fields[3].toDouble(), error = fields[4].toDouble() / measured_s - 1;
        errors.push_back(std::abs(error));
        sum += error;
        inside += fields[5].toDouble() <= measured_s && measured_s <= fields[6].toDouble() ? 1 : 0;
    }
    std::ranges::sort(errors);
    const auto percent = [](double share) { return QByteArray::number(100 * share, 'f', 1) + " %"; };
    const QByteArrayList row = row_of(content_of(out + "/measured.md"), "tf2017");
    QCOMPARE(row.mid(0, 4), QByteArrayList({"3", percent(errors[1]), percent(errors[2]), percent(sum / 3)}));
    QCOMPARE(row[6], QByteArray::number(inside) + " of 3");
}

void TestCliMeasured::absentSuites() {
    const QString data = folder("absent");
    folder("absent/tf2017");
    write("absent/tf2017/points.json", kTensorflow);
    const Result result = run({"experiment", "measured", "--data", data});
    QCOMPARE(result.status, 0);
    QVERIFY2(result.out.contains("\ntimm: skipped, there is no folder timm.\n"), result.out);
    QVERIFY2(!result.out.contains("tf2017: skipped"), result.out);
    const Result none = run({"experiment", "measured", "--data", folder("none")});
    QCOMPARE(none.status, 3);
    QVERIFY2(
        none.err.contains("/none: has no measurements; expected a folder with one of the folders neusight, "
                          "timm, torchgpipe, vtrain, tf2017, tutorial, kineto, baechi"),
        none.err);
}

void TestCliMeasured::brokenFiles_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("message");
    const auto changed = [](QByteArray text, const char* from, const char* to) {
        if (!text.contains(from)) qFatal("there is no %s", from);
        return text.replace(from, to);
    };
    const auto row = [](const char* name, const QString& file, const QByteArray& content,
                        const QByteArray& message) { QTest::newRow(name) << file << content << message; };
    const QString timm = "timm/points.json", gpipe = "torchgpipe/points.json",
                  plans = "vtrain/calibration.csv", tf = "tf2017/points.json",
                  graphs = "neusight/graphs.json.gz", times = "neusight/times.json.gz";
    row("cut off", timm, kTimm.left(40), "points.json: ");
    row("no list", timm, R"({"model": "resnet18"})", "points.json: \"points\" is missing");
    row("unknown model", timm, changed(kTimm, "resnet18", "nonet"),
        R"(points.json: points[0].model is "nonet", which is no network that is known here)");
    row("other parameters", timm, changed(kTimm, "11.69", "12"),
        "points.json: points[0].parameters_m is 12, but the network built here has 11.6895 million "
        "parameters");
    row("missing time", timm, changed(kTimm, R"("step_ms": 4.0, )", ""),
        R"(points.json: points[1] has no "step_ms")");
    row("no speed", tf, changed(kTensorflow, "640", "0"),
        "points.json: points[1].images_per_s is 0, expected a positive number");
    row("unknown device", tf, changed(kTensorflow, "k80-die", "abacus"),
        R"(points.json: points[0].device names the GPU "abacus", which is not in the catalogue of devices)");
    row("unknown network", tf, changed(kTensorflow, "vgg16", "vgg99"),
        R"(points.json: points[2].network is "vgg99", which is no network that ships)");
    row("balance", gpipe, changed(kTorchgpipe, "235]", "236]"),
        "points.json: points[1].balance has 2 parts of 371 layers together, but there are 2 GPUs and 370 "
        "layers");
    row("not calibrated", gpipe, changed(kTorchgpipe, R"("calibrates": true)", R"("calibrates": false)"),
        R"(points.json: points has no row of resnet101 with "calibrates": true)");
    row("checkpoint", gpipe, changed(kTorchgpipe, "never", "sometimes"),
        R"(points.json: points[0].checkpoint is "sometimes", expected never, always or except_last)");
    row("no number", plans, changed(kPlans, ",10\n", ",ten\n"),
        R"(calibration.csv: line 2, "iteration_ms": is "ten", expected a positive number)");
    row("short line", plans, changed(kPlans, ",10\n", "\n"),
        "calibration.csv: line 2: has 7 fields, but the first line has 8");
    row("missing column", plans, changed(kPlans, "heads", "necks"),
        R"(calibration.csv: line 1: there is no column "heads")");
    row("odd batch", plans, changed(kPlans, "\n4,2,", "\n5,2,"),
        "calibration.csv: line 2: batch is no multiple of micro_batch");
    row("too large", plans, changed(kPlans, "4,2,64,4,4,16,", "1000000,1000000,64,4,4,1000000,"),
        "/vtrain: vtrain: h64 l4 p2 b1000000 mb1000000: ");
    row("few times", times, changed(kTimes, R"("fw": [0, )", R"("fw": [)"),
        R"(times.json.gz: ["Tesla_V100-PCIE-32GB"]["tiny-train-4-2"].fw has 3 times, but the network has 4 ops)");
    row("unknown graph", times, changed(kTimes, R"("graph": "tiny)", R"("graph": "huge)"),
        R"(.graph is "huge-train-4-2", which graphs.json.gz has not)");
    row("unknown GPU", times, changed(kTimes, "Tesla_V100-PCIE-32GB", "Abacus"),
        R"(times.json.gz: Abacus names the GPU "Abacus", which is not in the catalogue of devices)");
    row("unknown input", graphs, changed(kGraphs, R"(["fc"])", R"(["fd"])"),
        R"(graphs.json.gz: ["tiny-train-4-2"])");
    row("unknown type", graphs, changed(kGraphs, R"([[[2, 8], "float32"]])", R"([[[2, 8], "float33"]])"),
        R"(post[0][3][0][1] is "float33", which is no type of numbers)");
    row("damaged pack", graphs, QByteArray("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage", 17),
        "graphs.json.gz: the packed file is damaged");
    row("optimizer", "kineto/v100.json", changed(kKernels, "momentum", "luck"),
        R"(v100.json: optimizer is "luck", expected sgd, momentum or adam)");
    row("no steps", "baechi/facts.json", changed(kBaechi, "[420]", "[]"),
        R"(facts.json: step_ms["m-etf"] is empty, expected numbers)");
    row("missing seconds", "tutorial/points.json", changed(kTutorial, "one_gpu", "no_gpu"),
        R"(points.json: seconds has no "one_gpu")");
}

void TestCliMeasured::brokenFiles() {
    QFETCH(const QString, file);
    QFETCH(const QByteArray, content);
    QFETCH(const QByteArray, message);
    const QString name = "broken-" + QString(QTest::currentDataTag()).replace(' ', '-');
    const QString data = measurements(name);
    write(name + '/' + file, content);
    const QString suite = file.section('/', 0, 0);
    const Result result = run(
        {"experiment", "measured", "--data", data, "--only", suite == "neusight" ? "neusight-e2e" : suite});
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains(message), result.err);
    QCOMPARE(lines_of(result.err).size(), 1);
}

void TestCliMeasured::refusals() {
    const auto refused = [](const QStringList& arguments, const QByteArray& message) {
        const Result result = run(QStringList{"experiment"} + arguments);
        return result.status == 2 && result.err.contains(message);
    };
    const QString data = folder("refused");
    QVERIFY(refused({"measured"}, "--data is missing: measured needs the folder with the measurements"));
    QVERIFY(refused({"measured", "--data", data, "--seeds", "2"}, "--seeds: measured does not use it"));
    QVERIFY(refused({"measured", "--data", data, "--group", "merge"}, "--group: measured does not use it"));
    QVERIFY(
        refused({"measured", "--data", data, "--only", "tim"}, "--only tim: expected one of neusight-e2e, "));
    QVERIFY(refused({"e3", "--data", data}, "--data: e3 does not use it"));
    const Result empty = run({"experiment", "measured", "--data", folder("empty-kernels")});
    QCOMPARE(empty.status, 3);
    folder("empty-kernels/kineto");
    const Result kernels = run({"experiment", "measured", "--data", path("empty-kernels")});
    QVERIFY2(kernels.err.contains("/kineto: has no kernel times; expected files NAME.json"), kernels.err);
}

void TestCliMeasured::interrupted() {
    constexpr int kRows = 2000;  // minutes
    QByteArrayList rows;
    for (int i = 0; i < kRows; ++i)
        rows << R"({"model": "densenet201", "batch": 8, "image": 224, "step_ms": 90, "parameters_m": 20.01})";
    folder("long/timm");
    write("long/timm/points.json", '[' + rows.join(',') + ']');
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI,
                  {"experiment", "measured", "--data", path("long"), "--out", path("long-out")});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("timm: densenet201 b8"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const qsizetype points = lines_of(content_of(path("long-out") + "/points.csv")).size();
    QVERIFY2(points < kRows, QByteArray::number(points));
    QVERIFY(content_of(path("long-out") + "/measured.md")
                .contains("Only a part of the experiment ran: it was interrupted after " +
                          QByteArray::number(points - 1) + " time"));
}

void TestCliMeasured::figures() {
    std::vector<MeasuredPoint> points{point(1, 1.1), point(2, 1.6), point(4, 4), point(8, 16)};
    points[0].interval = StepInterval{0.9, 1.3};
    points[1].interval = StepInterval{1.4, 1.9};
    points[2].weight = 3;
    points[1].weight = 1;
    points.push_back(point(1, 50));  // in doubt
    points.back().counted = false;
    points.back().fits = false;
    points.push_back(point(1, 3));  // counts in the weighted mean alone
    points.back().too_short = true;
    points.back().weight = 1;
    const MeasuredFigures found = measured_figures(points);
    QCOMPARE(found.cases, std::size_t{4});
    QCOMPARE(found.median_error, 0.15);  // of 0, 0.1, 0.2, 1
    QCOMPARE(found.largest_error, 1.0);
    QCOMPARE(found.mean_error, 0.225);                // (0.1 - 0.2 + 0 + 1) / 4
    QCOMPARE(found.weighted_error.value(), 2.2 / 5);  // (3 * 0 + 0.2 + 2) / 5
    QCOMPARE(found.spearman.value(), 1.0);
    QCOMPARE(found.with_interval, std::size_t{2});
    QCOMPARE(found.in_interval, std::size_t{1});
    QCOMPARE(found.refused, std::size_t{1});
    // Two simulated times are equal: ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3 have 4.5 / sqrt(4.5 * 5).
    points[2].simulated_s = points[1].simulated_s;
    QVERIFY(std::abs(measured_figures(points).spearman.value() - std::sqrt(0.9)) < 1e-12);
    QVERIFY(!measured_figures(std::span(points).first(2)).spearman);
    QCOMPARE(measured_figures({}).cases, std::size_t{0});
}

void TestCliMeasured::plot() {
    ScatterPlot plot{"<x>", "y & z"};
    plot.series = {{"a<b", {{1, 1}, {100, 10, false}}}};
    plot.band = 0.5;
    QXmlStreamReader svg(QByteArray::fromStdString(to_svg(plot)));
    QStringList texts, circles;
    QString fill;
    int dashed = 0;
    while (!svg.atEnd()) {
        if (svg.readNext() != QXmlStreamReader::StartElement) continue;
        const auto attributes = svg.attributes();
        if (svg.name() == u"g") fill = attributes.value("fill").toString();
        if (attributes.hasAttribute("stroke-dasharray")) ++dashed;
        if (svg.name() == u"circle")
            circles << attributes.value("cx").toString() + ' ' + attributes.value("cy").toString() + ' ' +
                           fill;
        if (svg.name() == u"text") texts << svg.readElementText();
    }
    QVERIFY2(!svg.hasError(), qPrintable(svg.errorString()));
    for (const char* text : {"<x>", "y & z", "a<b", "1", "10", "100", "±50 %", "not counted"})
        QVERIFY2(texts.contains(text), text);
    QCOMPARE(dashed, 3);  // two lines, one in the legend
    // Both axes reach from 10^-0.1 to 10^2.1 over 560 pixels that begin at 72, 20.
    const auto place = [](double x, double y) {
        const auto along = [](double log_value) { return 560 * (log_value + 0.1) / 2.2; };
        return QString::number(72 + along(x), 'f', 1) + ' ' + QString::number(580 - along(y), 'f', 1);
    };
    QVERIFY2(circles.contains(place(0, 0) + " #1f83c4"), qPrintable(circles.join('\n')));
    QVERIFY2(circles.contains(place(2, 1) + " none"), qPrintable(circles.join('\n')));
    // Without points there are axes still.
    QVERIFY(to_svg({"x", "y"}).find("<text") != std::string::npos);
}

void TestCliMeasured::networks() {
    // Parameters of torchvision and pytorch-image-models, layers of torchgpipe's benchmarks.
    const std::map<std::string, std::int64_t> parameters{
        {"resnet18", 11'689'512},       {"resnext50_32x4d", 25'028'904},      {"wide_resnet50_2", 68'883'240},
        {"vgg11_bn", 132'868'840},      {"densenet121", 7'978'856},           {"densenet161", 28'681'000},
        {"mobilenetv2_100", 3'504'872}, {"vit_base_patch16_224", 86'567'656}, {"mixer_b16_224", 59'880'472}};
    for (const auto& [name, count] : parameters) {
        const auto graph = image_classifier(name, 1, 224);
        QVERIFY2(graph, name.c_str());
        QCOMPARE(totals(*graph).parameter_bytes, 4 * count);
    }
    QVERIFY(!image_classifier("resnet", 1, 224));
    const LayeredNetwork resnet = layered_resnet101(1), unet = layered_unet(1), amoeba = layered_amoebanet(1);
    QCOMPARE(resnet.layers(), std::size_t{370});
    QCOMPARE(unet.layers(), std::size_t{241});
    QCOMPARE(amoeba.layers(), std::size_t{24});
    QCOMPARE(resnet.layer_of(0), std::size_t{0});
    QCOMPARE(resnet.layer_of(static_cast<OpId>(resnet.graph.size() - 1)), std::size_t{369});
    // The layers of a block are: identity, three of each of two convolutions, convolution, norm, sum, relu.
    const auto layer = [&](const char* op) { return resnet.layer_of(resnet.graph.find(op).value()); };
    QCOMPARE(layer("layer1/0/conv1"), std::size_t{5});
    QCOMPARE(layer("layer1/0/downsample/conv"), layer("layer1/0/add"));
    QCOMPARE(layer("layer1/1/conv1") - layer("layer1/0/conv1"), std::size_t{11});
}

void TestCliMeasured::agreesWithTheChecker() {
    const std::filesystem::path data = reference("measured"), checker = reference("check_measured.py");
    if (!std::filesystem::exists(data) || !std::filesystem::exists(checker))
        QSKIP("the reference data is not there");
    // The checker puts its own casts into the networks of "timm".
    const QStringList suites{"neusight-e2e", "torchgpipe", "vtrain", "tf2017", "tutorial"};
    const Result checked = run_program("python3", {QString::fromStdString(checker.string()), PLACEWRIGHT_CLI,
                                                   "--only", suites.join(','), "--json"});
    const QJsonObject expected = checked.json()["suites"].toObject();
    QCOMPARE(expected.keys(), sorted(suites));
    const QString out = path("checked");
    QStringList arguments{"experiment", "measured", "--data", QString::fromStdString(data.string()),
                          "--out",      out};
    for (const QString& suite : suites) arguments << "--only" << suite;
    QCOMPARE(run(arguments).status, 0);
    const Points points = pointsOf(out);
    for (const QString& suite : suites) {
        const QJsonObject found = expected[suite].toObject();
        for (const QJsonValue& row : found["rows"].toArray()) {
            const QByteArray name = (suite + ' ' + row["id"].toString()).toUtf8();
            // The checker gives times of the tutorial relative to one GPU.
            const double ratio = simulated(points, name) / measured(points, name);
            const double wanted = row["simulated"].toDouble() / row["measured"].toDouble();
            QVERIFY2(std::abs(ratio / wanted - 1) < 1e-6, name);
            QCOMPARE(points.at(name)[7] == "1", row["counts"].toBool());
        }
        const QJsonObject figures = found["figures"].toObject();
        const auto percent = [&](const char* key) {
            return QByteArray::number(100 * figures[key].toDouble(), 'f', 1) + " %";
        };
        const QByteArrayList row = row_of(content_of(out + "/measured.md"), suite.toUtf8());
        QCOMPARE(row.mid(0, 3), QByteArrayList({QByteArray::number(figures["n"].toInt()), percent("median"),
                                                percent("max")}));
        QCOMPARE(row[5], QByteArray::number(figures["spearman"].toDouble(), 'f', 3));
    }
}

QTEST_GUILESS_MAIN(TestCliMeasured)
#include "tst_cli_measured.moc"
