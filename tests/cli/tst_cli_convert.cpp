// SPDX-License-Identifier: MIT
// The command line: export and convert.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliConvert : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void exportFormats();
    void exportRepairs();
    void exportTellsWhatMemoryLacks();
    void exportOfStagesTellsWhatMoved();
    void exportRefusals();
    void convertNetworks_data();
    void convertNetworks();
    void convertShipped();
    void convertExprimo();
    void onnx();
    void shards();
    void shardsAgreeWithExprimo();
    void convertFailures();
    void keepsOldFile();
    void parametersFromSafetensors();
};

void TestCliConvert::exportFormats() {
    const QStringList job{"export", "resnet50", "--machine", "2x-v100-pcie"};
    const QString placement = path("resnet.placement.json");
    QCOMPARE(run({"optimize", "resnet50", "--machine", "2x-v100-pcie", "--algorithm", "expert", "--out",
                  placement})
                 .status,
             0);
    for (const char* format :
         {"placement", "device-map", "device-map-full", "tensorflow", "chrome-trace", "dot", "csv"}) {
        const QString file = path("out.") + QString::fromLatin1(format);
        QStringList arguments = job + QStringList{"--placement", placement, "--to", format, "--out", file};
        if (QByteArray(format).startsWith("device-map")) arguments << "--repair";
        const Result result = run(arguments);
        QVERIFY2(result.status == 0, result.err);
        QVERIFY2(result.out.contains(file.toUtf8()) && result.out.contains("a step takes"), result.out);
        QVERIFY(!content_of(file).isEmpty());
    }
    // Files that we write can be read: placement, device map, graph and trace.
    const auto simulated = [&](const QStringList& more) {
        return object_of(QStringList{"simulate", "resnet50", "--machine", "2x-v100-pcie"} +
                         more)["step_time_s"]
            .toDouble();
    };
    const double step_s = simulated({"--placement", placement});
    QCOMPARE(simulated({"--placement", path("out.placement")}), step_s);
    const Result map = run({"simulate", "resnet50", "--machine", "2x-v100-pcie", "--placement",
                            path("out.device-map"), "--json"});
    QVERIFY2(map.err.contains("read as a device map"), map.err);
    const Result full = run({"simulate", "resnet50", "--machine", "2x-v100-pcie", "--placement",
                             path("out.device-map-full"), "--json"});
    QCOMPARE(json_of(map).object()["step_time_s"], json_of(full).object()["step_time_s"]);
    QCOMPARE(object_of({"simulate", path("out.dot"), "--machine", "2x-v100-pcie", "--placement",
                        placement})["step_time_s"]
                 .toDouble(),
             step_s);
}

void TestCliConvert::exportRepairs() {
    const QString placement = path("alexnet.placement.json"), map = path("alexnet.map.json");
    QCOMPARE(run({"optimize", "alexnet", "--machine", "2x-v100-pcie", "--algorithm", "random",
                  "--evaluations", "3", "--out", placement})
                 .status,
             0);
    const QStringList job{"export",  "alexnet", "--machine",  "2x-v100-pcie", "--placement",
                          placement, "--to",    "device-map", "--out",        map};
    const Result split = run(job);
    QCOMPARE(split.status, 3);
    QVERIFY2(split.err.contains("features on ") &&
                 split.err.contains("; repairing it (--repair) moves each") && !split.err.contains(") (") &&
                 split.err.startsWith(placement.toUtf8()),
             split.err);
    QVERIFY(!QFile::exists(map));
    const Result repaired = run(job + QStringList{"--repair", "--json"});
    const QJsonObject object = json_of(repaired).object();
    QVERIFY(object["step_time_s"].toDouble() != object["step_time_before_s"].toDouble());
    QCOMPARE(object["file"].toString(), map);
    QCOMPARE(object["warnings"].toArray().size(), lines_of(repaired.err).size());
    const Result again =
        run({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--placement", map, "--json"});
    QCOMPARE(json_of(again).object()["step_time_s"], object["step_time_s"]);
}

void TestCliConvert::exportTellsWhatMemoryLacks() {
    const QString map = write("all.json", R"({"": 0})");
    const auto written = [&](const char* batch) {
        return run({"export", "alexnet", "--machine", "2x-v100-pcie", "--batch", batch, "--placement", map,
                    "--to", "csv", "--out", path("all.csv")});
    };
    QVERIFY2(!written("32").err.contains("memory"), written("32").err);
    const Result large = written("20000");
    QCOMPARE(large.status, 0);
    QVERIFY2(large.err.contains("the placement does not fit the memory: gpu:0 lacks "), large.err);
}

void TestCliConvert::exportOfStagesTellsWhatMoved() {
    const QString placement = path("vgg16.placement.json"), split = path("vgg16.pipeline.json");
    QCOMPARE(run({"optimize", "vgg16", "--machine", "2x-v100-pcie", "--algorithm", "random", "--evaluations",
                  "1", "--out", placement})
                 .status,
             0);
    const QStringList job{"export",  "vgg16", "--machine", "2x-v100-pcie", "--placement",
                          placement, "--to",  "pipeline",  "--out",        split};
    const Result jumps = run(job);
    QCOMPARE(jumps.status, 3);
    QVERIFY2(jumps.err.contains("; repairing it (--repair) exports the nearest chain of stages"), jumps.err);
    const Result told = run(job + QStringList{"--repair"});
    QVERIFY2(told.out.contains(", before the repair ") && told.out.contains(" ops moved: \"") &&
                 told.out.contains("\" from \"gpu:"),
             told.out);
    const QJsonObject object = json_of(run(job + QStringList{"--repair", "--json"})).object();
    QVERIFY(object["step_time_s"].toDouble() != object["step_time_before_s"].toDouble());
    const QJsonObject moved = object["moved"].toArray().first().toObject();
    QVERIFY(moved["from"].toString().startsWith("gpu:") && moved["from"] != moved["to"] &&
            !moved["op"].toString().isEmpty());
}

void TestCliConvert::exportRefusals() {
    const QStringList job = diamond("export", {"--to", "device-map", "--out", path("none.json")});
    const Result nameless = run(job);
    QCOMPARE(nameless.status, 3);
    QVERIFY2(nameless.err.contains("no op of this network has a scope or parameters"), nameless.err);
    const QString apart = write("jumps.json", R"({"a": 0, "b": 1, "c": 0, "d": 1})");
    const Result chain =
        run(diamond("export", {"--placement", apart, "--to", "pipeline", "--out", path("none.json")}));
    QCOMPARE(chain.status, 3);
    QVERIFY2(chain.err.contains("goes back 2 times"), chain.err);
    const Result folder = run(diamond("export", {"--to", "csv", "--out", path("nowhere/x.csv")}));
    QCOMPARE(folder.status, 3);
    QVERIFY2(folder.err.contains("there is no folder"), folder.err);
}

void TestCliConvert::convertNetworks_data() {
    QTest::addColumn<QString>("network");
    for (const char* network :
         {"alexnet", "vgg16", "resnet50", "resnet101", "resnet152", "resnet200", "inception_v3", "nasnet",
          "nasnet_mobile", "rnnlm", "rnnlm4", "nmt2", "nmt4", "nmt8", "transformer", "bert_base", "gpt2"}) {
        QTest::newRow(network) << QString(network);
    }
}

void TestCliConvert::convertNetworks() {
    QFETCH(QString, network);
    const QString shipped = QString(PLACEWRIGHT_SOURCE_MODELS "/networks/%1.json").arg(network);
    const QString out = path("generated.json");
    const Result result = run({"convert", "--network", network, "--batch", "32", out});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.out, QByteArray());
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(content_of(out) == content_of(shipped), "the shipped file is what the generator makes");
    // The default batch size is 32, and reading and writing changes nothing.
    QCOMPARE(run({"convert", "--network", network, out}).status, 0);
    QVERIFY(content_of(out) == content_of(shipped));
    QCOMPARE(run({"convert", shipped, out}).status, 0);
    QVERIFY(content_of(out) == content_of(shipped));

    QCOMPARE(run({"convert", "--network", network, "--batch", "3", out}).status, 0);
    const QJsonDocument small = QJsonDocument::fromJson(content_of(out));
    QCOMPARE(small["batch"].toInt(), 3);
    const QJsonArray ops = small["ops"].toArray();
    const auto input =
        std::ranges::find_if(ops, [](const QJsonValue& op) { return op["kind"].toString() == "input"; });
    QVERIFY(input != ops.end());
    QCOMPARE(input->toObject()["outputs"][0]["shape"][0].toInt(), 3);
}

/// What ships is found by name, language models with their options.
void TestCliConvert::convertShipped() {
    const auto converted = [this](const QStringList& arguments) {
        const QString out = path("shipped.json");
        QFile::remove(out);
        const Result result = run(QStringList{"convert"} + arguments + QStringList{out});
        if (result.status != 0) qWarning() << result.err;
        return QJsonDocument::fromJson(content_of(out)).object();
    };
    const QStringList prefill{"--phase", "prefill", "--sequence", "512", "--batch", "2"};
    const QJsonObject model = converted(QStringList{"--network", "llama-3.1-8b"} + prefill);
    QCOMPARE(model["batch"].toInt(), 2);
    QVERIFY(model["ops"].toArray().size() > 400);
    QCOMPARE(converted(QStringList{"llama-3.1-8b"} + prefill), model);
    QVERIFY(converted({"llama-3.1-8b"}) != model);
    QCOMPARE(converted({"alexnet"})["ops"], converted({"--network", "alexnet"})["ops"]);

    for (const QStringList& unknown : {QStringList{"--network", "alexnett", path("none.json")},
                                       QStringList{"alexnett", path("none.json")}}) {
        const Result result = run(QStringList{"convert"} + unknown);
        QVERIFY2(result.err.contains(": there is no such ") && result.err.contains(", llama-3.1-8b"),
                 result.err);
    }
}

void TestCliConvert::convertExprimo() {
    const QString network = PLACEWRIGHT_TEST_DATA "/exprimo_network.json",
                  machine = PLACEWRIGHT_TEST_DATA "/exprimo_machine.json";
    const QString own_network = path("own-network.json"), own_machine = path("own-machine.json");
    QCOMPARE(run({"convert", network, own_network, "--batch", "16"}).status, 0);
    QCOMPARE(run({"convert", machine, own_machine}).status, 0);
    const QJsonObject there = object_of({"simulate", network, "--machine", machine, "--batch", "16"});
    const QJsonObject here = object_of({"simulate", own_network, "--machine", own_machine});
    QVERIFY(there["step_time_s"].toDouble() > 0);
    QCOMPARE(here, there);
    // The file has a batch size, which can be changed.
    QCOMPARE(object_of({"simulate", own_network, "--machine", own_machine, "--batch", "16"}), there);
    QCOMPARE(object_of({"simulate", own_network, "--machine", own_machine, "--batch", "8"}),
             object_of({"simulate", network, "--machine", machine, "--batch", "8"}));
}

void TestCliConvert::onnx() {
    placewright::test::OnnxModel model;
    model.input("x", {-2, -3, 8})
        .weight("w", {8, 8})
        .node("MatMul", {"x", "w"}, {"h"})
        .node("Mystery", {"h"}, {"y"})
        .output("y");
    *model.graph().add_value_info() = placewright::test::onnx_value("y", {-2, -3, 8});
    const QString file = write("net.onnx", QByteArray::fromStdString(model.bytes())),
                  machine = machineWith("1e9");
    const QStringList sizes{"--batch", "4", "--dim", "sequence=5"};

    const Result result = run(QStringList{"simulate", file, "--machine", machine, "--json"} + sizes);
    const QJsonArray estimated = json_of(result).object()["estimated_ops"].toArray();
    QCOMPARE(estimated.size(), 1);
    QCOMPARE(estimated[0].toObject()["op"].toString(), QString("y"));
    QCOMPARE(estimated[0].toObject()["kind"].toString(), QString("Mystery"));
    QVERIFY(result.err.contains(
        "net.onnx: 1 of 3 ops are estimated by their bytes: no FLOPs are known of Mystery"));

    const QString written = path("net.json");
    QCOMPARE(run(QStringList{"convert", file, written} + sizes).status, 0);
    QVERIFY(content_of(written).contains(R"("shape": [4, 5, 8])"));
    QVERIFY(run({"convert", file, written, "--dim", "sequence=5"}).err.contains("give one with --batch"));
    QVERIFY(
        run({"convert", file, written, "--batch", "4"}).err.contains("give one with --dim sequence=NUMBER"));
    QVERIFY(run({"convert", file, written, "--dim", "sequence"})
                .err.contains("--dim sequence: expected NAME=NUMBER"));
    QVERIFY(run({"convert", written, path("again.json"), "--dim", "sequence=5"})
                .err.contains("this file has no open extent"));
}

void TestCliConvert::shards() {
    // Two features of four each: 1 ms on one device, 0.5 ms on each of two, 1 ms + 1 ms for the transfers to
    // and from the device of "end".
    const QString network = path("wide.json");
    write(
        "wide.json",
        R"({"format": "placewright.graph", "version": 1, "name": "wide", "batch": 1, "training": "none", "ops": [
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
    // A list of devices places parts; it does not split an op that is not a convolution, whose first device
    // counts.
    write("parts.json", R"({"x": 0, "fc": [0, 1], "end": 0})");
    QCOMPARE(object_of(simulate + QStringList{"--placement", placement}), apart);
    QCOMPARE(object_of(simulate.first(4) + QStringList{"--placement", placement})["ops_run"].toInt(), 3);

    // optimize writes the names of the parts, bound bounds them, convert keeps them.
    const QString out = path("found.json");
    const QJsonObject found =
        object_of(QStringList{"optimize"} + simulate.mid(1) +
                  QStringList{"--algorithm", "random", "--evaluations", "50", "--out", out});
    QCOMPARE(sorted(found["placement"].toObject().keys()),
             (QStringList{"end", "end_conc_fc", "fc_shard0", "fc_shard1", "x"}));
    QCOMPARE(object_of(simulate + QStringList{"--placement", out})["step_time_s"],
             found["best"]["step_time_s"]);
    QVERIFY(object_of(QStringList{"bound"} + simulate.mid(1))["lower_bound_s"].toDouble() <=
            found["best"]["step_time_s"].toDouble());
    const QString converted = path("parts-network.json");
    QCOMPARE(run({"convert", network, converted, "--shard", "fc=2"}).status, 0);
    QCOMPARE(
        object_of({"simulate", converted, "--machine", path("pair.json"), "--placement", out})["step_time_s"],
        found["best"]["step_time_s"]);
}

void TestCliConvert::shardsAgreeWithExprimo() {
    const QString reference = PLACEWRIGHT_REFERENCE "/exprimo/";
    const QStringList files = QDir(reference + "cases").entryList({"*.json"}, QDir::Files);
    if (files.isEmpty()) QSKIP("the reference results are not beside this checkout");
    int cases = 0;
    for (const QString& file : files) {
        const QJsonObject test = QJsonDocument::fromJson(content_of(reference + "cases/" + file)).object();
        const QJsonObject split = test["sharded_assignment"].toObject();
        if (split.isEmpty()) continue;
        ++cases;
        QJsonObject parts, whole;  // placements of the parts, and of the ops in the network file
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
        simulate << "--batch" << QString::number(test["batch_size"].toInt()) << "--batches"
                 << QString::number(test["batches"].toInt());
        simulate << "--in-flight" << QString::number(test["pipeline_batches"].toInt());
        simulate << "--compute-efficiency" << QString::number(test["comp_penalization"].toDouble());
        simulate << "--channel-efficiency" << QString::number(test["comm_penalization"].toDouble());
        if (!test["include_backward"].toBool()) simulate << "--inference";
        const QJsonObject outcome =
            object_of(simulate + shards + QStringList{"--placement", path("parts.json")});
        const QJsonObject expected = test["expected"].toObject();
        const auto agrees = [](double value, double wanted) {
            return std::abs(value - wanted) <= 1e-9 * std::abs(wanted);
        };
        QVERIFY2(agrees(outcome["total_time_s"].toDouble() * 1e3, expected["makespan_ms"].toDouble()),
                 qPrintable(file));
        for (qsizetype i = 0; i < expected["peak_memory_bytes"].toArray().size(); ++i) {
            QCOMPARE(outcome["devices"][i]["peak_bytes"].toDouble(),
                     expected["peak_memory_bytes"][i].toDouble());
            QVERIFY(agrees(outcome["devices"][i]["busy_s"].toDouble() * 1e3,
                           expected["busy_ms_per_device"][i].toDouble()));
        }
        for (qsizetype i = 0; i < expected["busy_ms_per_channel"].toArray().size(); ++i)
            QVERIFY(agrees(outcome["channels"][i]["busy_s"].toDouble() * 1e3,
                           expected["busy_ms_per_channel"][i].toDouble()));
        // The flat placement of the whole op is sufficient.
        QCOMPARE(object_of(simulate + QStringList{"--placement", path("whole.json")}), outcome);
    }
    QVERIFY(cases > 0);
}

void TestCliConvert::convertFailures() {
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

void TestCliConvert::keepsOldFile() {
    const QString target = write("old.json", "old");
    QCOMPARE(run({"convert", write("broken.json", "{"), target}).status, 3);
    QCOMPARE(content_of(target), QByteArray("old"));

    const QStringList before = QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden);
    // The write fails as on a full disk.
    const Result result = run({"convert", "--network", "alexnet", target}, [] {
        const rlimit limit{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
    });
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.startsWith(target.toUtf8() + ": cannot be written: "), result.err);
    QCOMPARE(content_of(target), QByteArray("old"));
    QCOMPARE(QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden), before);

    QCOMPARE(run({"convert", "--network", "alexnet", target}).status, 0);
    QVERIFY(content_of(target).size() > 1000);
}

void TestCliConvert::parametersFromSafetensors() {
    // Half of the four million bytes that "fc" has, and a tensor that no op has.
    const QByteArray header =
        R"({"fc.weight": {"dtype": "BF16", "shape": [1000, 1000], "data_offsets": [0, 2000000]},
        "lost.bias": {"dtype": "F32", "shape": [1], "data_offsets": [2000000, 2000004]}})";
    const qint64 length = header.size();
    const QString weights =
        write("weights.safetensors", QByteArray(reinterpret_cast<const char*>(&length), sizeof length) +
                                         header + QByteArray(2000004, 0));
    const QStringList simulate{"simulate", write("sized.json", kLayer), "--machine", path("pair.json"),
                               "--json"};
    const auto resident_bytes = [](const Result& result) {
        return json_of(result, 0).object()["devices"].toArray()[0].toObject()["resident_bytes"].toDouble();
    };
    const double before = resident_bytes(run(simulate));
    const Result result = run(simulate + QStringList{"--parameters", weights});
    QVERIFY(before > 0);
    QCOMPARE(resident_bytes(result), before / 2);
    QVERIFY2(result.err.contains("weights.safetensors: 1 tensors belong to no op: lost.bias"), result.err);
    QVERIFY2(result.err.contains("1 parameter has another size in the file than in the network, such as fc "
                                 "(2.00 MB, not 4.00 MB): its numbers have another type; the sizes in the "
                                 "file are used"),
             result.err);

    for (const QString& network : {weights, write("packed.json", QByteArray("\x1f\x8b\x08\0\0", 5)),
                                   path("apart.json"), path("apart-flat.json")}) {
        const Result none = run({"simulate", network, "--machine", path("pair.json")});
        QCOMPARE(none.status, 3);
        QVERIFY2(none.err.contains("holds weights, not a network: --parameters") ||
                     none.err.contains("is packed (gzip): unpack it first") ||
                     none.err.contains("is a placement, not a network: "),
                 none.err);
    }

    // Weights of another network are refused instead of ignored.
    const QByteArray other = R"({"stem.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})";
    const qint64 size = other.size();
    const QString foreign =
        write("foreign.safetensors",
              QByteArray(reinterpret_cast<const char*>(&size), sizeof size) + other + QByteArray(4, 0));
    const Result refused = run(simulate + QStringList{"--parameters", foreign});
    QCOMPARE(refused.status, 3);
    QVERIFY2(refused.err.contains(
                 "foreign.safetensors: none of its tensors has the name of a parameter of the network ") &&
                 refused.err.contains("such as \"fc\"; it has \"stem.weight\""),
             refused.err);
}

QTEST_GUILESS_MAIN(TestCliConvert)
#include "tst_cli_convert.moc"
