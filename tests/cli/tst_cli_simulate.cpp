// SPDX-License-Identifier: MIT
// The command line: simulate and bound.
#include <cmath>

#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliSimulate : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void handWorked_data();
    void handWorked();
    void opsTable();
    void precision();
    void training();
    void remedies();
    void remediesInParts();
    void tooLargeForAccelerators();
    void languageModelThatShips();
    void cpuWarning();
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
    void bounds();
    void boundOfWhatDoesNotFit();
    void reportSaysWhatWasSimulated();
};

void TestCliSimulate::handWorked_data() {
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
    row("measured on M",
        {"--cost", "measured", "--placement",
         write("first-flat.json", R"({"a": 0, "b": 0, "c": 0, "d": 0})")},
        8, 8);
    row("half as efficient", {"--compute-efficiency", "0.5"}, 12, 12);
    row("channels do not matter", {"--channel-efficiency", "0.5"}, 6, 6);
    row("apart: a 0-1, to c 1-3, c 3-5, back 5-7, d 7-8", {"--placement", apart}, 8, 8);
    row("apart by index", {"--placement", path("apart-flat.json")}, 8, 8);
    row("apart, slow channels: 1 + 3 + 2 + 3 + 1", {"--placement", apart, "--channel-efficiency", "0.5"}, 10,
        10);
    row("two batches in turn", {"--batches", "2"}, 6, 12);
    row("two stages: 1 + 2 + 5", {"--placement", stages}, 8, 8);
    row("two stages, batches in turn", {"--placement", stages, "--batches", "2"}, 8, 16);
    // The second batch arrives at 5 ms, when b is done and c is queued: b 3-5, c 5-7, b' 7-9, c' 9-11, d
    // 11-12, d' 12-13.
    row("two stages, batches overlap", {"--placement", stages, "--batches", "2", "--in-flight", "2"}, 6.5,
        13);
    row("more in flight than there are", {"--placement", stages, "--batches", "2", "--in-flight", "1000"},
        6.5, 13);
    row("inference has nothing to leave out", {"--inference"}, 6, 6);
}

void TestCliSimulate::handWorked() {
    QFETCH(QStringList, options);
    QFETCH(double, step_ms);
    QFETCH(double, total_ms);
    const QJsonObject outcome = object_of(diamond("simulate", options));
    QCOMPARE(outcome["step_time_s"].toDouble() * 1e3, step_ms);
    QCOMPARE(outcome["total_time_s"].toDouble() * 1e3, total_ms);
    QCOMPARE(outcome["objective_s"].toDouble(), outcome["step_time_s"].toDouble());
    QCOMPARE(outcome["score_s"].toDouble(), outcome["step_time_s"].toDouble());
}

void TestCliSimulate::opsTable() {
    const QString file = path("ops.csv");
    const Result result = run({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--ops", file});
    QCOMPARE(result.status, 0);
    const QByteArrayList lines = lines_of(content_of(file));
    QCOMPARE(lines.front(), QByteArray("op,kind,phase,class,type,gradient,flops,bytes,stream_bytes,kernels,"
                                       "products,time_s cpu:0,time_s gpu:0,time_s gpu:1"));
    double sum_s = 0;
    for (const QByteArray& line : lines.mid(1)) sum_s += line.split(',')[12].toDouble();
    const QByteArray text = run({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--json"}).out;
    const double step_s = QJsonDocument::fromJson(text).object()["step_time_s"].toDouble();
    QVERIFY(std::abs(sum_s / step_s - 1) < 1e-6);
    const QByteArray all = content_of(file);
    QVERIFY2(all.contains("classifier/fc2,linear,forward,product,fp32,0,1073741824,"), all);
    QVERIFY2(all.contains(",1x32x4096x4096,"), all);
    QVERIFY(!content_of(file).contains("(cannot be read)"));
}

void TestCliSimulate::languageModelThatShips() {
    const QStringList simulate{"simulate", "llama-3-70b", "--machine", "8x-a100-nvlink", "--json"};
    const QJsonObject decode = object_of(simulate);
    QVERIFY(decode["step_time_s"].toDouble() > 0);
    const QJsonObject prefill = object_of(simulate + QStringList{"--phase", "prefill", "--sequence", "512"});
    QVERIFY(prefill["step_time_s"].toDouble() > decode["step_time_s"].toDouble());
    const QByteArray list = run({"networks"}).out;
    for (const char* row : {"llama-3.1-8b", "llama-3-70b", "qwen3-30b-a3b", "8.03 G", "70.6 G", "30.5 G"})
        QVERIFY2(list.contains(row), list);
}

void TestCliSimulate::cpuWarning() {
    const QByteArray warning = "placewright-cli: warning: cpu:0 runs ";
    const QStringList simulate{"simulate", "alexnet", "--machine", "1x-v100"};
    QCOMPARE(run(simulate).err, QByteArray());
    // Less memory is left on the GPU than the network takes, so that the CPU is the fastest device that fits.
    const Result slow = run(simulate + QStringList{"--context-memory", "34GB"});
    QVERIFY2(slow.err.startsWith(warning) && slow.err.contains(" of the step: place them on accelerators"),
             slow.err);
}

void TestCliSimulate::precision() {
    const QString network = path("big.json"), table = path("ops.csv");
    write(
        "big.json",
        R"({"format": "placewright.graph", "version": 1, "name": "big", "batch": 8192, "training": "implicit", "ops": [
        {"name": "x", "kind": "input", "inputs": [], "outputs": [{"shape": [8192, 4096], "dtype": "float32"}], "parameter_bytes": 0, "flops": 0},
        {"name": "fc", "kind": "linear", "inputs": ["x"], "outputs": [{"shape": [8192, 4096], "dtype": "float32"}],
         "parameter_bytes": 67108864, "flops": 274877906944},
        {"name": "norm", "kind": "layer_norm", "inputs": ["fc"], "outputs": [{"shape": [8192, 4096], "dtype": "float32"}],
         "parameter_bytes": 32768, "flops": 134217728}]})");
    const auto simulated = [&](const char* machine, const char* precision) {
        return object_of({"simulate", network, "--machine", machine, "--precision", precision});
    };
    const auto step_s = [&](const char* machine, const char* precision) {
        return simulated(machine, precision)["step_time_s"].toDouble();
    };
    const double fp32_s = step_s("1x RTX 3090", "fp32");
    QCOMPARE(object_of({"simulate", network, "--machine", "1x RTX 3090"})["step_time_s"].toDouble(), fp32_s);
    // By its data sheet an RTX 3090 has 35.6 TFLOP/s in float32 and 71.2 in float16, an A100 19.5 and 312.
    // The casts, the norm and the update take a part of that.
    QVERIFY(fp32_s > 1.6 * step_s("1x RTX 3090", "amp-fp16"));
    QVERIFY(step_s("1x A100", "fp32") > 4 * step_s("1x A100", "amp-fp16"));
    QVERIFY(step_s("1x RTX 3090", "fp16") < step_s("1x RTX 3090", "amp-fp16"));
    QVERIFY(step_s("1x A100", "fp32") > 4 * step_s("1x A100", "tf32"));
    const auto resident = [&](const char* precision) {
        double most = 0;
        for (const QJsonValue device : simulated("1x RTX 3090", precision)["devices"].toArray())
            most = std::max(most, device["resident_bytes"].toDouble());
        return most;
    };
    const double whole = 2 * (67'108'864 + 32'768);
    QCOMPARE(resident("fp32"), whole);
    QCOMPARE(resident("amp-bf16"), whole + 67'108'864 / 2);
    QCOMPARE(resident("bf16"), whole / 2);

    QCOMPARE(run({"simulate", network, "--machine", "1x RTX 3090", "--precision", "amp-fp16", "--ops", table})
                 .status,
             0);
    const QByteArray ops = content_of(table);
    for (const char* line :
         {"\nfc_cast_x,to,forward,", "\nfc,linear,forward,product,fp16,", "\nnorm_cast_fc,to,forward,",
          "\nnorm,layer_norm,forward,norm,fp32,", "\nnorm_cast_fc/backward,to,backward,"})
        QVERIFY2(ops.contains(line), ops);

    // A placement leaves the casts out and is read in any precision, as is a network that was converted.
    const QString placement = path("mixed.placement.json"), converted = path("mixed.json");
    const QStringList job{network, "--machine", "2x RTX 3090"};
    QCOMPARE(run(QStringList{"optimize"} + job +
                 QStringList{"--precision", "amp-fp16", "--algorithm", "random", "--evaluations", "20",
                             "--out", placement})
                 .status,
             0);
    QCOMPARE(QJsonDocument::fromJson(content_of(placement))["placement"].toObject().keys(),
             (QStringList{"fc", "norm", "x"}));
    const auto placed = [&](QStringList more) {
        return object_of(QStringList{"simulate"} + more +
                         QStringList{"--machine", "2x RTX 3090", "--placement", placement})["step_time_s"]
            .toDouble();
    };
    QVERIFY(placed({network}) > placed({network, "--precision", "amp-fp16"}));
    QCOMPARE(run({"convert", network, converted, "--precision", "amp-fp16"}).status, 0);
    QCOMPARE(placed({converted}), placed({network, "--precision", "amp-fp16"}));
    QCOMPARE(placed({converted, "--precision", "fp32"}), placed({network}));
}

void TestCliSimulate::training() {
    const QStringList layer{"simulate", path("layer.json"), "--machine", path("pair.json")};
    const QJsonObject step = object_of(layer);
    QCOMPARE(step["step_time_s"].toDouble(), 0.0022);
    QCOMPARE(step["ops_run"].toInt(), 4);
    QCOMPARE(object_of(layer + QStringList{"--optimizer", "sgd"})["step_time_s"].toDouble(), 0.00212);
    QCOMPARE(object_of(layer + QStringList{"--optimizer", "adam"})["step_time_s"].toDouble(), 0.00228);
    // Parameters and one copy for momentum.
    QCOMPARE(
        step["devices"][0]["resident_bytes"].toDouble() + step["devices"][1]["resident_bytes"].toDouble(),
        8e6);
    const QJsonObject inference = object_of(layer + QStringList{"--inference"});
    QCOMPARE(inference["step_time_s"].toDouble(), 0.001);
    QCOMPARE(inference["ops_run"].toInt(), 2);
    // The diamond has no parameters, so there is nothing to train: its training step is its forward pass.
    QCOMPARE(object_of({"simulate", path("diamond-training.json"), "--machine", path("pair.json"),
                        "--inference"})["ops_run"]
                 .toInt(),
             4);
}

// What is said to help is what helps.
void TestCliSimulate::remedies() {
    const auto layer = [&](const char* share) {
        return QStringList{"simulate",        path("layer.json"), "--machine",
                           path("pair.json"), "--usable-memory",  share};
    };
    QVERIFY(!object_of(layer("1")).contains("remedies"));
    // 4 MB of parameters, of momentum and of gradients, and 2 kB of activations, in 9 MB.
    const QJsonObject misfit = object_of(layer("0.009"));
    QCOMPARE(misfit["remedies"].toArray().size(), 1);
    QVERIFY(misfit["closest"].isNull());
    const QJsonObject remedy = misfit["remedies"][0].toObject();
    QCOMPARE(remedy["options"].toString(), QString("--optimizer sgd"));
    QCOMPARE(remedy["device"].toString(), QString("gpu:0"));
    const QJsonObject fitting = object_of(layer("0.009") + remedy["options"].toString().split(' '));
    QVERIFY(fitting["fits"].toBool() && !misfit["fits"].toBool());
    QCOMPARE(remedy["objective_s"].toDouble(), fitting["objective_s"].toDouble());
    QCOMPARE(remedy["peak_bytes"].toDouble(), fitting["devices"][0]["peak_bytes"].toDouble());
    QCOMPARE(remedy["times_as_long"].toDouble(),
             fitting["step_time_s"].toDouble() / misfit["step_time_s"].toDouble());
    const Result text = run(layer("0.009"));
    QVERIFY2(text.out.contains("\nThis placement fits with any of these:\noptions") &&
                 text.out.contains("\n--optimizer sgd  0.96 times as long  gpu:0 8.00 MB of 9.00 MB\n"),
             text.out);
    // Parameters alone take more.
    const QJsonObject hopeless = object_of(layer("0.003"));
    QCOMPARE(hopeless["remedies"].toArray().size(), 0);
    QVERIFY(hopeless["closest"]["lacking_bytes"].toDouble() > 1e6);
    const QByteArray none = run(layer("0.003")).out;
    QVERIFY2(none.contains("options tried makes this placement fit; the closest, --") &&
                 none.contains("still lacks"),
             none);
}

// Without a placement a network that no accelerator holds is on the CPU, and it is said what would help.
void TestCliSimulate::tooLargeForAccelerators() {
    const QStringList simulate{"simulate", "resnet200", "--machine", "1x RTX 2060"};
    const QByteArray text = run(simulate).out;
    QVERIFY2(text.contains("\nNo accelerator can hold all of the network: gpu:0 lacks "), text);
    QVERIFY2(text.contains("\nThe network on gpu:0 fits with any of these:\n"), text);
    QVERIFY2(text.contains("\n--precision amp-fp16 "), text);
    const QJsonObject accelerator = object_of(simulate)["accelerator"].toObject();
    QCOMPARE(accelerator.keys(), sorted({"device", "lacking_bytes", "remedies", "closest"}));
    QVERIFY(accelerator["lacking_bytes"].toDouble() > 0);
    // What is said to fit does, and takes as long as is said.
    const double before_s = object_of(simulate)["step_time_s"].toDouble();
    for (const QJsonValue& remedy : accelerator["remedies"].toArray()) {
        const QStringList options = remedy["options"].toString().split(' ');
        const QJsonObject tried = object_of(simulate + options);
        QVERIFY(!tried.contains("accelerator"));
        const qsizetype batches = options.indexOf("--batches");
        const double steps = batches < 0 ? 1 : options[batches + 1].toDouble();
        QVERIFY(qFuzzyCompare(remedy["times_as_long"].toDouble(),
                              tried["step_time_s"].toDouble() * steps / before_s));
    }
    QVERIFY(!object_of({"simulate", "alexnet", "--machine", "1x RTX 3060"}).contains("accelerator"));
    // So do searches where the CPU still takes most of the step.
    const QStringList optimize{"optimize", "gpt2", "--machine", "laptop-rtx-4060", "--evaluations", "20"};
    const QByteArray searched = run(optimize).out;
    QVERIFY2(searched.contains("\nThe network on gpu:0 fits with any of these:\n"), searched);
    QVERIFY(
        object_of(optimize)["accelerator"].toObject()["remedies"][0].toObject()["times_as_long"].toDouble() <
        0.1);
    const QByteArray soon =
        run({"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "single-device"}).out;
    QVERIFY2(soon.contains(" (no more placements to try), "), soon);
    QVERIFY(object_of(QStringList{"predict"} + simulate.mid(1))["accelerator"].isObject());
}

// Samples go through in parts, which the file allows, and the step stays the same.
void TestCliSimulate::remediesInParts() {
    const QString open = write("open.json", R"({"name": "open", "layers": {
      "in": {"type": "Input", "tensor": [8, 32, 32, 3], "parents": []},
      "conv1": {"type": "Convolution", "filter": [3, 3, 3, 16], "strides": [1, 1, 1, 1], "padding": "SAME", "parents": ["in"]},
      "conv2": {"type": "Convolution", "filter": [3, 3, 16, 16], "strides": [1, 1, 1, 1], "padding": "SAME", "parents": ["conv1"]}}})");
    const QStringList simulate{"simulate", open, "--machine", path("pair.json"), "--usable-memory", "0.0008"};
    const QJsonObject misfit = object_of(simulate);
    QVERIFY(!misfit["fits"].toBool());
    const QJsonArray remedies = misfit["remedies"].toArray();
    const auto parts = std::ranges::find_if(
        remedies, [](const QJsonValue& one) { return one["options"].toString().contains("--accumulate"); });
    QVERIFY(parts != remedies.end());
    const QJsonObject remedy = parts->toObject();
    const QStringList options = remedy["options"].toString().split(' ');
    const qint64 batch = options[1].toInt(), batches = options[3].toInt();
    QCOMPARE(options[0], QString("--batch"));
    QCOMPARE(batch * batches, 8);
    const QJsonObject fitting = object_of(simulate + options);
    QVERIFY(fitting["fits"].toBool());
    QCOMPARE(remedy["times_as_long"].toDouble(),
             fitting["total_time_s"].toDouble() / misfit["total_time_s"].toDouble());
    // Without a backward pass there is nothing to sum.
    QStringList without;
    for (const QJsonValue& one : object_of(simulate + QStringList{"--inference"})["remedies"].toArray())
        without << one["options"].toString();
    QVERIFY(std::ranges::any_of(without, [](const QString& one) { return one.startsWith("--batch "); }));
    QVERIFY(std::ranges::none_of(without, [](const QString& one) { return one.contains("--accumulate"); }));
    QVERIFY2(without.contains("--precision fp16"), qPrintable(without.join("; ")));
}

void TestCliSimulate::memoryOptions() {
    const QStringList layer{"simulate", path("layer.json"), "--machine", path("pair.json")};
    const auto resident = [&](const QStringList& more) {
        return object_of(layer + more)["devices"].toArray()[0].toObject()["resident_bytes"].toDouble();
    };
    QCOMPARE(resident({}), 8e6);
    QCOMPARE(resident({"--optimizer", "sgd"}), 4e6);
    QCOMPARE(resident({"--optimizer", "momentum"}), 8e6);
    QCOMPARE(resident({"--optimizer", "adam"}), 12e6);
    QCOMPARE(resident({"--accumulate"}), 12e6);
    // 4 MB of parameters, 4 MB of momentum, 4 MB of gradients and 2 kB of activations; the memory is 1 GB.
    const auto fits = [&](const char* share) {
        return object_of(layer + QStringList{"--usable-memory", share})["fits"].toBool();
    };
    QVERIFY(fits("1") && fits("0.013") && !fits("0.012"));
    QVERIFY(run(layer + QStringList{"--usable-memory", "0.5"}).out.contains("500 MB"));
    QVERIFY(run(layer + QStringList{"--context-memory", "300MB"}).out.contains("700 MB"));
    // 4 MB are 7812.5 blocks of 512 bytes.
    const auto none_left = run(layer + QStringList{"--context-memory", "1GB"});
    QCOMPARE(none_left.status, 3);
    QVERIFY2(none_left.err.contains("of which the framework's context takes 1.00 GB; choose a smaller"),
             none_left.err);
    QCOMPARE(resident({"--allocator", "pytorch"}), 2 * 7813 * 512.0);
    const auto memory = [&](const QStringList& more) {
        return run(QStringList{"simulate", "alexnet", "--machine", "1x-v100"} + more).out;
    };
    QVERIFY2(memory({}).contains("33.6 GB"), memory({}));
    QVERIFY2(memory({"--framework", "none"}).contains("34.1 GB"), memory({"--framework", "none"}));

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
        const QJsonObject outcome =
            object_of(QStringList{"simulate", conv, "--machine", path("pair.json")} + more);
        return outcome["devices"].toArray()[0].toObject()["peak_bytes"].toDouble();
    };
    // Input of 1200 bytes, outputs of 2048, and 3 x 3 x 3 values for each of 64 positions.
    QCOMPARE(peak({}), 2 * 2048.0);
    QCOMPARE(peak({"--in-place"}), 1200 + 2048.0);
    QCOMPARE(peak({"--workspace", "1kB"}), 1200 + 2048 + 1000.0);
    QCOMPARE(peak({"--workspace", "1 GB"}), 1200 + 2048 + 27 * 64 * 4.0);
}

void TestCliSimulate::accumulation() {
    // 2 ms for forward and gradient; accumulation takes 0.12 ms, the update 0.2 ms: the first batch does
    // neither, the last does both.
    const auto step_s = [&](const char* batches) {
        const QStringList arguments{"simulate",     path("layer.json"), "--machine", path("pair.json"),
                                    "--accumulate", "--batches",        batches};
        return object_of(arguments)["step_time_s"].toDouble();
    };
    QCOMPARE(step_s("1"), 0.0022);
    QCOMPARE(step_s("4"), 0.002 + (3 * 0.00012 + 0.0002) / 4);
}

void TestCliSimulate::orders() {
    // Two stages of 1 and 5 ms; the second starts when the tensor has arrived.
    const QStringList stages = diamond("simulate", {"--placement", path("stages-flat.json")});
    for (const char* order : {"fifo", "critical-path", "gpipe", "1f1b"}) {
        const QJsonObject outcome = object_of(stages + QStringList{"--order", order});
        QCOMPARE(outcome["step_time_s"].toDouble(), 0.008);
        QVERIFY(outcome["steady_step_time_s"].isNull());
    }
    const QStringList full =
        stages + QStringList{"--order", "critical-path", "--batches", "20", "--in-flight", "3"};
    const QJsonObject outcome = object_of(full);
    QCOMPARE(outcome["steady_step_time_s"].toDouble(), 0.005);
    QVERIFY(outcome["step_time_s"].toDouble() > 0.005);
    QVERIFY(run(full).out.contains(", 5.00 ms with a full pipeline"));
}

void TestCliSimulate::crossing() {
    const QByteArray pair = QByteArray(kMachine).replace("MEMORY", "1e9");
    const auto step_s = [&](const QByteArray& machine, const QStringList& more) {
        const QStringList arguments{"simulate", path("diamond.json"), "--machine",
                                    write("hops.json", machine)};
        return object_of(arguments + QStringList{"--placement", path("stages-flat.json")} +
                         more)["step_time_s"]
            .toDouble();
    };
    // 1 MB over two channels: 2 ms for each hop, or both latencies and 1 ms.
    const QByteArray hops = QByteArray(pair).replace("[\"up\"]", "[\"up\", \"down\"]");
    const QByteArray through =
        QByteArray(hops).replace("\"devices\"", "\"crossing\": \"cut-through\", \"devices\"");
    QCOMPARE(step_s(hops, {}), 0.010);
    QCOMPARE(step_s(hops, {"--crossing", "cut-through"}), 0.009);
    QCOMPARE(step_s(through, {}), 0.009);
    QCOMPARE(step_s(through, {"--crossing", "store-and-forward"}), 0.010);
    const QString twice = write("twice.json", QByteArray(pair).replace("[\"up\"]", "[\"up\", \"up\"]"));
    const Result refused =
        run({"simulate", path("diamond.json"), "--machine", twice, "--crossing", "cut-through"});
    QCOMPARE(refused.status, 3);
    QVERIFY2(
        refused.err.contains("twice.json: route from \"gpu:0\" to \"gpu:1\": crosses channel \"up\" twice"),
        refused.err);
}

void TestCliSimulate::simulateJson() {
    const QJsonObject outcome = object_of(diamond("simulate", {"--placement", path("apart.json")}));
    QCOMPARE(outcome.keys(),
             sorted({"objective", "objective_s", "step_time_s", "step_time_low_s", "step_time_high_s",
                     "steady_step_time_s", "total_time_s", "fits", "score_s", "devices", "channels",
                     "ops_run", "transfers", "estimated_ops"}));
    // Devices that the machine file describes alone: a deviation of 0.3 and of 0.03 of every step, and less
    // for transfers.
    const double time_s = outcome["step_time_s"].toDouble();
    QVERIFY(outcome["step_time_low_s"].toDouble() < 0.85 * time_s);
    QVERIFY(outcome["step_time_high_s"].toDouble() > 1.2 * time_s);
    QCOMPARE(outcome["objective"].toString(), QString("step-time"));
    QCOMPARE(outcome["fits"].toBool(), true);
    QCOMPARE(outcome["ops_run"].toInt(), 4);
    QCOMPARE(outcome["transfers"].toInt(), 2);

    const QJsonArray devices = outcome["devices"].toArray();
    QCOMPARE(devices.size(), 2);
    QCOMPARE(devices[0].toObject().keys(),
             sorted({"name", "model", "memory_bytes", "busy_s", "peak_bytes", "resident_bytes"}));
    QCOMPARE(devices[0]["name"].toString(), QString("gpu:0"));
    QCOMPARE(devices[0]["memory_bytes"].toDouble(), 1e9);
    QCOMPARE(devices[0]["busy_s"].toDouble(), 0.004);
    // b's output, the copy of c's output, and d's output.
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

void TestCliSimulate::simulateText() {
    const Result one = run(diamond("simulate", {"--placement", path("apart.json")}));
    QCOMPARE(one.status, 0);
    QCOMPARE(one.err, QByteArray());
    QCOMPARE(one.out, QByteArray("diamond on pair\n"
                                 "step time 8.00 ms ± 23 %, fits the memory; 4 ops run, 2 transfers\n"
                                 "\n"
                                 "device     busy  share     peak   memory\n"
                                 "gpu:0   4.00 ms   50 %  3.00 MB  1.00 GB\n"
                                 "gpu:1   2.00 ms   25 %  2.00 MB  1.00 GB\n"
                                 "\n"
                                 "channel     busy  share    bytes  transfers\n"
                                 "up       2.00 ms   25 %  1.00 MB          1\n"
                                 "down     2.00 ms   25 %  1.00 MB          1\n"));
    const Result two = run(diamond("simulate", {"--batches", "2"}));
    QVERIFY2(two.out.startsWith(
                 "diamond on pair\nstep time 6.00 ms ± 47 % a batch, 12.0 ms for 2, fits the memory; "
                 "8 ops run, 0 transfers\n"),
             two.out);
    QVERIFY2(!two.out.contains("channel"), two.out);
}

void TestCliSimulate::explainJson() {
    const QJsonObject outcome =
        object_of(diamond("simulate", {"--placement", path("apart.json"), "--explain"}));
    QCOMPARE(outcome["total_time_s"].toDouble(), 0.008);
    const QJsonObject explain = outcome["explain"].toObject();
    QCOMPARE(explain.keys(), sorted({"critical_path", "memory", "moves"}));

    // a, its transfer to c, c, its transfer to d, d.
    const QJsonObject critical = explain["critical_path"].toObject();
    QCOMPARE(critical.keys(),
             sorted({"compute_s", "transfer_s", "queue_s", "host_s", "devices", "channels", "segments"}));
    QCOMPARE(critical["compute_s"].toDouble(), 0.004);
    QCOMPARE(critical["transfer_s"].toDouble(), 0.004);
    QCOMPARE(critical["queue_s"].toDouble(), 0.0);
    QCOMPARE(critical["devices"][0].toObject().keys(), sorted({"name", "compute_s", "queue_s"}));
    QCOMPARE(critical["channels"][0].toObject().keys(), sorted({"name", "transfer_s", "queue_s"}));
    const QJsonArray segments = critical["segments"].toArray();
    QCOMPARE(segments.size(), 5);
    QCOMPARE(segments[0].toObject().keys(), sorted({"kind", "start_s", "end_s", "op", "batch", "device"}));
    QCOMPARE(segments[1].toObject().keys(),
             sorted({"kind", "start_s", "end_s", "op", "batch", "channel", "from", "to", "bytes"}));
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
    QCOMPARE(moves[0].toObject().keys(),
             sorted({"op", "from", "to", "objective_s", "delta_s", "score_s", "fits"}));
    // Moving a, c or d takes 6 ms each; ties keep the order of the graph.
    QCOMPARE(moves[1]["op"].toString(), QString("c"));
    QCOMPARE(moves[1]["from"].toString(), QString("gpu:1"));
    QCOMPARE(moves[1]["to"].toString(), QString("gpu:0"));
    QCOMPARE(moves[1]["objective_s"].toDouble(), 0.006);
    QCOMPARE(moves[1]["delta_s"].toDouble(), -0.002);
    QCOMPARE(moves[3]["op"].toString(), QString("b"));
    QVERIFY(moves[3]["delta_s"].toDouble() > 0);
}

void TestCliSimulate::explainText() {
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

void TestCliSimulate::explainByObjective() {
    // 1 ms each on a GPU, 10 ms on the CPU; 0.1 ms to or from the memory of the CPU. One GPU has the
    // shortest latency, but needs 2 ms per sample; two GPUs need half of that.
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

void TestCliSimulate::explainInterrupted() {
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"simulate", "resnet50", "--machine", "4x-v100-nvlink", "--batches", "100",
                                    "--explain", "--json"});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for(" moves evaluated"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    const QJsonObject explain = json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130)
                                    .object()["explain"]
                                    .toObject();
    QVERIFY(explain["moves"].isNull());
    QVERIFY(!explain["critical_path"]["segments"].toArray().isEmpty());
    QVERIFY2(terminal.wait_for("cancelled before all moves were evaluated"), terminal.seen());
}

void TestCliSimulate::memoryRules_data() {
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<double>("score_s");
    QTest::newRow("exprimo by default: 1000 s a MB") << QStringList{} << 1000.006;
    QTest::newRow("exprimo") << QStringList{"--memory-rule", "exprimo"} << 1000.006;
    QTest::newRow("placeto: 2 s a GB") << QStringList{"--memory-rule", "placeto"} << 0.008;
    QTest::newRow("post: 100 s") << QStringList{"--memory-rule", "post"} << 100.0;
}

void TestCliSimulate::memoryRules() {
    QFETCH(QStringList, options);
    QFETCH(double, score_s);
    // On one device three outputs are held at a time; two fit.
    const QStringList simulate{"simulate", path("diamond.json"), "--machine", machineWith("2e6")};
    const QJsonObject outcome = object_of(simulate + options);
    QCOMPARE(outcome["fits"].toBool(), false);
    QCOMPARE(outcome["step_time_s"].toDouble(), 0.006);
    QCOMPARE(outcome["score_s"].toDouble(), score_s);
    const Result text = run(simulate + options);
    QCOMPARE(text.status, 0);
    QVERIFY2(text.out.contains("step time 6.00 ms ± 47 %, does not fit the memory; "), text.out);
}

void TestCliSimulate::trace() {
    const QString file = path("trace.json");
    const QJsonObject outcome = object_of({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--batches",
                                           "2", "--in-flight", "2", "--trace", file});
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
        QVERIFY(std::abs(busy - devices[device]["busy_s"].toDouble() * 1e6) <
                0.001 * static_cast<double>(lane.size() + 1));
    }
}

/// The times of a trace reproduce the run when simulated as measured times.
void TestCliSimulate::timesOfATrace() {
    const QString trace = path("times.trace.json");
    const QStringList job{"simulate", "alexnet", "--machine", "1x-v100", "--inference"};
    const QJsonObject slow = object_of(job + QStringList{"--compute-efficiency", "0.3", "--trace", trace});
    const Result timed = run(job + QStringList{"--times", trace, "--json"});
    QCOMPARE(timed.status, 0);
    QVERIFY2(timed.err.contains("ops that compute") && timed.err.contains("one step"), timed.err);
    const double expected_s = slow["step_time_s"].toDouble(),
                 found_s = json_of(timed).object()["step_time_s"].toDouble();
    QVERIFY(expected_s > 1.5 * object_of(job)["step_time_s"].toDouble());
    // Op times are exact to 1 ns.
    QVERIFY2(std::abs(found_s / expected_s - 1) < 1e-5,
             qPrintable(QStringLiteral("%1 %2").arg(found_s).arg(expected_s)));

    const Result model = run(job + QStringList{"--times", trace + "=Other", "--json"});
    QCOMPARE(model.status, 2);
    QVERIFY2(model.err.contains("no device of 1x-v100 has the model \"Other\"; its models are Xeon Gold "
                                "6132, NVIDIA V100 PCIe 32GB"),
             model.err);
    QCOMPARE(json_of(run(job + QStringList{"--times", trace + "=NVIDIA V100", "--json"}))
                 .object()["step_time_s"]
                 .toDouble(),
             found_s);

    // Times that PyTorch's profiler took on a CPU are those of the machine's CPU; using them for a GPU is
    // reported.
    QJsonArray events;
    for (const char* name : {"features/conv1", "features/conv2"})
        events.append(QJsonObject{{"ph", "X"},
                                  {"cat", "user_annotation"},
                                  {"name", name},
                                  {"pid", 1},
                                  {"tid", 2},
                                  {"ts", 1},
                                  {"dur", 5}});
    const QString taken = write("cpu.trace.json", QJsonDocument(events).toJson());
    const Result of_cpu = run(job + QStringList{"--times", taken});
    QVERIFY2(of_cpu.err.contains(" on Xeon Gold 6132") && !of_cpu.err.contains("warning"), of_cpu.err);
    QVERIFY2(of_cpu.err.contains("alexnet: none of 22 ops has a measured time for NVIDIA V100"), of_cpu.err);
    const Result on_cpu = run(job + QStringList{"--times", taken + "=NVIDIA V100"});
    QCOMPARE(on_cpu.status, 0);
    QVERIFY2(on_cpu.err.contains("warning: the trace has no GPU kernels") &&
                 on_cpu.err.contains("are used for NVIDIA V100") && on_cpu.err.contains("(=Xeon Gold 6132)"),
             on_cpu.err);
    QVERIFY(!timed.err.contains("warning"));
    QCOMPARE(run(job + QStringList{"--times", taken + "=Xeon Gold 6132"}).err, of_cpu.err);

    const Result other =
        run({"simulate", path("diamond.json"), "--machine", path("pair.json"), "--times", trace});
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("no event has the name of an op of diamond"), other.err);
    QCOMPARE(run(job + QStringList{"--times", trace, "--cost", "paleo"}).status, 2);
    const Result missing = run(job + QStringList{"--times", path("nowhere.json")});
    QCOMPARE(missing.status, 3);
    QVERIFY2(missing.err.contains("no such file"), missing.err);
}

void TestCliSimulate::alexnetText() {
    const QStringList simulate{"simulate", "alexnet", "--machine", "1x-v100"};
    const QJsonObject outcome = object_of(simulate);
    const double ms = outcome["step_time_s"].toDouble() * 1e3;
    QVERIFY2(ms > 9.995 && ms < 99.95, "of the size of tens of milliseconds, as the digits below expect");
    const QByteArray step = QByteArray::number(ms, 'f', 1) + " ms";
    const Result text = run(simulate);
    QVERIFY2(QRegularExpression("^alexnet on 1x V100\nstep time " +
                                QRegularExpression::escape(QString::fromUtf8(step)) +
                                " ± \\d+ %, fits the memory; 62 ops run, 0 transfers\n")
                 .match(QString::fromUtf8(text.out))
                 .hasMatch(),
             text.out);
    QVERIFY2(QRegularExpression("\ncpu:0 +0 s +0 % +0 B +395 GB\ngpu:0 +" +
                                QRegularExpression::escape(QString::fromUtf8(step)) +
                                " +100 % +[\\d.]+ [MG]B +33\\.6 GB\n$")
                 .match(QString::fromUtf8(text.out))
                 .hasMatch(),
             text.out);

    QCOMPARE(object_of({"optimize", "alexnet", "--machine", "1x-v100", "--evaluations", "20"})["algorithm"]
                 .toString(),
             "auto");
    const Result search =
        run({"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "single-device"});
    QCOMPARE(search.status, 0);
    QCOMPARE(search.err, QByteArray());
    QVERIFY2(search.out.startsWith("Single device, seed 1: 1 evaluation in "), search.out);
    // Whether the bound reaches it in the time that the proof gets depends on the computer.
    QVERIFY2(search.out.contains("\nbest " + step + ", at most ") ||
                 search.out.contains("\nbest " + step + ", optimal (bound "),
             search.out);
    QVERIFY2(search.out.contains(" (bound "), search.out);
    // The bound applies to ops that move together, and says nothing about others.
    const QStringList grouped{"alexnet", "--machine", "2x-v100-pcie", "--group", "merge", "--groups", "1"};
    const QString file = path("grouped.json");
    const QByteArray best =
        run(QStringList{"optimize"} + grouped + QStringList{"--evaluations", "5", "--out", file}).out;
    QVERIFY2(best.contains("\nbest " + step + ", the best of all ops in one group (bound " + step), best);
    QVERIFY(!QJsonDocument::fromJson(content_of(file))
                 .object()["predicted"]
                 .toObject()
                 .contains("lower_bound_s"));
    const QByteArray proven = run(QStringList{"bound"} + grouped).out;
    QVERIFY2(proven.contains(", of all ops in one group, takes less than ") &&
                 proven.contains("; for placements of all ops"),
             proven);
    const QByteArray refined =
        run(QStringList{"optimize"} + grouped + QStringList{"--evaluations", "5", "--refine", "50"}).out;
    QVERIFY2(refined.contains(" % above optimal (bound "), refined);
    QVERIFY2(search.out.contains("), as fast as gpu:0 alone\n\nalexnet on 1x V100\nstep time " + step),
             search.out);
}

void TestCliSimulate::bounds() {
    const QJsonObject bound = object_of(diamond("bound"));
    QCOMPARE(bound.keys(), sorted({"lower_bound_s", "bounds"}));
    // b or c on the other device would need two transfers of 2 ms: all run one after the other.
    QCOMPARE(bound["lower_bound_s"].toDouble(), 0.006);
    const QJsonArray list = bound["bounds"].toArray();
    QStringList names;
    for (qsizetype i = 0; i < list.size(); ++i) {
        QCOMPARE(list[i].toObject().keys(), sorted({"name", "value_s", "proof"}));
        QVERIFY(!list[i]["proof"].toString().isEmpty());
        if (i > 0) QVERIFY(list[i]["value_s"].toDouble() <= list[i - 1]["value_s"].toDouble());
        names << list[i]["name"].toString();
    }
    QCOMPARE(sorted(names), QStringList({"critical-path", "load", "memory", "split-path", "windows"}));

    // All 16 placements.
    double optimum_s = std::numeric_limits<double>::infinity();
    for (int bits = 0; bits < 16; ++bits) {
        QByteArray placement = "{";
        for (int op = 0; op < 4; ++op)
            placement += QByteArray(op > 0 ? ", " : "") + '"' + "abcd"[op] +
                         "\": " + QByteArray::number(bits >> op & 1);
        const QString file = write("placement.json", placement + "}");
        optimum_s = std::min(optimum_s,
                             object_of(diamond("simulate", {"--placement", file}))["step_time_s"].toDouble());
    }
    QVERIFY(bound["lower_bound_s"].toDouble() <= optimum_s);
    const QJsonObject found =
        object_of(diamond("optimize", {"--algorithm", "random", "--evaluations", "500"}));
    QCOMPARE(found["best"]["step_time_s"].toDouble(), optimum_s);

    const Result text = run(diamond("bound"));
    QCOMPARE(text.status, 0);
    QCOMPARE(text.err, QByteArray());
    QVERIFY2(text.out.startsWith("no placement of diamond on pair takes less than 6.00 ms\n\nwindows        "
                                 "6.00 ms  ops that depend on one op of the longest path "),
             text.out);
    QVERIFY2(text.out.contains("\ncritical-path  4.00 ms  the longest chain "), text.out);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
}

void TestCliSimulate::boundOfWhatDoesNotFit() {
    const QStringList bound{"bound", path("layer.json"), "--machine", machineWith("1e6")};
    const QJsonObject found = object_of(bound);
    QVERIFY(found.contains("lower_bound_s"));
    QVERIFY(found["lower_bound_s"].isNull());
    QCOMPARE(found["bounds"][0]["name"].toString(), QString("memory"));
    QVERIFY(found["bounds"][0]["value_s"].isNull());
    QVERIFY2(found["bounds"][0]["proof"].toString().contains("12.0 MB"),
             qPrintable(found["bounds"][0]["proof"].toString()));
    const Result text = run(bound);
    QCOMPARE(text.status, 0);
    QVERIFY2(
        text.out.startsWith("no placement of layer on pair fits the memory\n\nmemory         none fits  "),
        text.out);
    const QJsonObject search = object_of(
        QStringList{"optimize"} + bound.mid(1) + QStringList{"--algorithm", "random", "--evaluations", "9"},
        4);
    QVERIFY(search["lower_bound_s"].isNull());
    QVERIFY(search["best"].isNull() && search["placement"].isNull());
    QCOMPARE(search["evaluations"].toInt(-1), 0);

    // The search does not start; the message says what is missing and what helps.
    const QStringList endless = QStringList{"optimize"} + bound.mid(1) +
                                QStringList{"--algorithm", "random", "--evaluations", "1000000000000"};
    const auto told = [&](const QStringList& more) {
        const Result result = run(endless + more);
        return result.status == 4 && result.out.isEmpty()
                   ? result.err
                   : "status " + QByteArray::number(result.status) + result.out;
    };
    const QByteArray reason = "placewright-cli: no placement of layer on pair fits the memory: what ";
    QVERIFY2(told({}).startsWith(reason) &&
                 told({}).contains(" holds all the time (parameters, gradients and optimizer state) is ") &&
                 told({}).contains("12.0 MB") && told({}).contains("has the most memory, 1.00 MB"),
             told({}));
    // Parameters alone take more than 1 MB, with gradients 8 of 9 MB.
    QVERIFY2(told({}).endsWith(". It needs a machine with more memory\n"), told({}));
    const QByteArray large = run({"optimize", path("layer.json"), "--machine", machineWith("9e6")}).err;
    QVERIFY2(large.endsWith(". It needs a machine with more memory, or --optimizer sgd\n"), large);
    // Each of two layers fits a device of its own, unless they form a group.
    const QString module = write("module.json", R"({
      "format": "placewright.graph", "version": 1, "name": "module", "batch": 1, "training": "none",
      "ops": [
        {"name": "m/a", "scope": "m", "kind": "linear", "inputs": [], "outputs": [{"bytes": 1000}],
         "parameter_bytes": 4000000, "flops": 1e9},
        {"name": "m/b", "scope": "m", "kind": "linear", "inputs": ["m/a"], "outputs": [{"bytes": 1000}],
         "parameter_bytes": 4000000, "flops": 1e9}]})");
    const QByteArray grouped =
        run({"optimize", module, "--machine", machineWith("5e6"), "--inference", "--group", "scope"}).err;
    QVERIFY2(grouped.endsWith("more memory, or --group none\n"), grouped);
    // No score file is created.
    const QString scores = path("pointless.jsonl");
    told({"--scores", scores});
    QVERIFY(!QFile::exists(scores));
}

void TestCliSimulate::reportSaysWhatWasSimulated() {
    const QString file = path("report.html");
    QCOMPARE(run({"report", "alexnet", "--machine", "2x-v100-pcie", "--batch", "64", "--precision",
                  "amp-fp16", "--batches", "4", "--in-flight", "2", "--out", file})
                 .status,
             0);
    const QByteArray report = content_of(file);
    for (const char* text :
         {"<p>batch: 64</p>", "<p>precision: amp-fp16</p>", "Everything on gpu:0 alone takes "})
        QVERIFY2(report.contains(text), text);
    // The table has these.
    QVERIFY(report.contains("in_flight") && !report.contains("<p>in_flight"));
}

QTEST_GUILESS_MAIN(TestCliSimulate)
#include "tst_cli_simulate.moc"
