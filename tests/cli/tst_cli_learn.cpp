// SPDX-License-Identifier: MIT
// The command line: family, train and predict.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliLearn : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
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
    void predictShipped();
    void predictInterrupted_data();
    void predictInterrupted();
    void shippedPolicyDamaged();
    void trainByImitation();
};

void TestCliLearn::families() {
    const QString folder = m_folder.filePath("family");
    const QJsonObject family = object_of({"family", "nmt", "--count", "5", "--seed", "7", "--out", folder});
    QCOMPARE(family.keys(), sorted({"family", "seed", "groups", "networks"}));
    QCOMPARE(family["groups"].toInt(), 160);
    const QJsonArray networks = family["networks"].toArray();
    QCOMPARE(networks.size(), qsizetype{5});
    QMap<QString, int> halves;
    for (const auto& value : networks) {
        const QJsonObject network = value.toObject();
        QCOMPARE(network.keys(), sorted({"name", "half", "ops", "depth", "width", "mean_in_degree", "batch",
                                         "parameters", "forward_flops", "file"}));
        const QString half = network["half"].toString();
        ++halves[half];
        QCOMPARE(network["file"].toString(),
                 folder + '/' + half + '/' + network["name"].toString() + ".json");
        // The written file is the one reported, and it can be read.
        QFile file(network["file"].toString());
        QVERIFY(file.open(QFile::ReadOnly));
        QCOMPARE(QJsonDocument::fromJson(file.readAll())["ops"].toArray().size(),
                 qsizetype{network["ops"].toInt()});
        QVERIFY(
            object_of({"simulate", file.fileName(), "--machine", "4x-v100-pcie"})["step_time_s"].toDouble() >
            0);
        QVERIFY(network["depth"].toInt() * network["width"].toDouble() > 0.999 * network["ops"].toInt());
    }
    QCOMPARE(halves, (QMap<QString, int>{{"train", 3}, {"test", 2}}));

    const Result unknown = run({"family", "cifar100"});
    QCOMPARE(unknown.status, 2);
    QVERIFY2(unknown.err.contains(
                 "NAME cifar100: there is no such family (similar: cifar10); there are cifar10, ptb, nmt"),
             unknown.err);
    const Result blocked = run({"family", "nmt", "--count", "1", "--out", networks[0]["file"].toString()});
    QCOMPARE(blocked.status, 3);
    QVERIFY2(blocked.err.contains("cannot be created as a folder"), blocked.err);
}

void TestCliLearn::train() {
    const QString policy = path("train.safetensors"), curve = path("train.csv");
    const QJsonObject trained = object_of(lesson({"--updates", "4", "--out", policy, "--curve", curve}));
    QCOMPARE(trained.keys(), sorted({"policy", "options", "objective", "seed", "updates", "evaluations",
                                     "wall_s", "cancelled", "graphs", "curve"}));
    QCOMPARE(trained["policy"].toString(), QString("placeto"));
    QCOMPARE(trained["options"].toObject()["width"].toInt(), 2);
    QCOMPARE(trained["options"].toObject()["passes"].toInt(), 1);  // the default
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
    QVERIFY2(
        unkept.err.startsWith("placewright-cli: the policy will not be saved; use --out FILE to save it\n"),
        unkept.err);

    const QByteArrayList lines = lines_of(content_of(curve));
    QCOMPARE(lines.size(), 5);
    QCOMPARE(lines[0], QByteArray("updates,evaluations,cost,cost_spread,best_cost,entropy,divergence,"
                                  "learning_rate,entropy_weight"));
    QVERIFY2(lines[4].startsWith("4,40,"), lines[4]);
    QCOMPARE(lines[4].split(',')[2].toDouble(), points[3].toObject()["cost"].toDouble());

    // The policy file is identical with any number of threads, and differs with another seed.
    QCOMPARE(
        run(lesson({"--updates", "4", "--threads", "1", "--out", path("train-again.safetensors")})).status,
        0);
    QVERIFY(content_of(path("train-again.safetensors")) == content_of(policy));
    const Result text =
        run(lesson({"--updates", "4", "--seed", "2", "--out", path("train-other.safetensors")}));
    QVERIFY(content_of(path("train-other.safetensors")) != content_of(policy));
    QCOMPARE(text.status, 0);
    QVERIFY2(QRegularExpression("^Placeto, seed 2: 4 updates, 40 placements scored; .+\n\nnetwork +machine "
                                "+groups +one device +best found "
                                "+predicted\ndiamond +pair +4 +6.00 ms ")
                 .match(QString::fromUtf8(text.out))
                 .hasMatch(),
             text.out);
}

void TestCliLearn::trainOnFamilies() {
    // A folder: its networks on each machine.
    const QDir folder(path("lessons"));
    QVERIFY(QDir().mkpath(folder.filePath("train")));
    for (const char* name : {"diamond.json", "layer.json"})
        QVERIFY(QFile::copy(path(name), folder.filePath(QString("train/") + name)));
    QVERIFY(QFile::copy(path("pair.json"), folder.filePath("train/pair.json")));  // not a network
    const QJsonObject trained = object_of(QStringList{"train", "--family", folder.path(), "--machine",
                                                      path("pair.json") + ",2x-v100-pcie", "--updates", "2"} +
                                          kSmallPolicy);
    QStringList lessons;
    for (const QJsonValue& graph : trained["graphs"].toArray())
        lessons << graph.toObject()["network"].toString() + '/' + graph.toObject()["machine"].toString();
    QCOMPARE(lessons,
             (QStringList{"diamond/pair", "diamond/2x V100, PCIe 3", "layer/pair", "layer/2x V100, PCIe 3"}));

    // A known family: half of its members, in groups.
    const QJsonObject known =
        object_of(QStringList{"train", "--family", "cifar10", "--count", "2", "--machine", "2x-v100-pcie",
                              "--groups", "8", "--seconds", "0.05"} +
                  kSmallPolicy);
    QVERIFY(known["updates"].toInt() > 0);
    QCOMPARE(known["graphs"].toArray().size(), 1);
    QCOMPARE(known["graphs"].toArray()[0].toObject()["groups"].toInt(), 8);
    QVERIFY(known["graphs"].toArray()[0].toObject()["network"].toString().startsWith("cifar10_0"));
}

void TestCliLearn::trainingGoesOn() {
    const QStringList whole = lesson({"--updates", "2000", "--out", path("whole.safetensors")});
    QCOMPARE(run(whole).status, 0);

    // A training that is killed and resumed ends in the same bytes.
    const QString file = path("killed.safetensors");
    const QStringList killed = lesson({"--updates", "2000", "--out", file, "--checkpoint-every", "0.02",
                                       "--resume", "--curve", path("killed.csv")});
    QProcess process;
    process.start(PLACEWRIGHT_CLI, killed);
    QVERIFY(QTest::qWaitFor([&] { return QFile::exists(file); }, kPatienceMs));
    process.kill();
    process.waitForFinished();
    QVERIFY(content_of(file) != content_of(path("whole.safetensors")));
    const Result result = run(killed);
    QVERIFY2(result.status == 0, result.err);
    QVERIFY(content_of(file) == content_of(path("whole.safetensors")));
    QCOMPARE(lines_of(content_of(path("killed.csv"))).size(), 2001);

    // A wrong command does not overwrite the file.
    const Result twice = run(whole);
    QCOMPARE(twice.status, 3);
    QVERIFY2(twice.err.contains(
                 "whole.safetensors: exists already; resume it with --resume, or give another file"),
             twice.err);
    const Result other = run(whole + QStringList{"--resume", "--seed", "2"});
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains(
                 "whole.safetensors: belongs to another training: its seed is 1, not 2; give the same "
                 "arguments (--set OPTION=VALUE for an option) or another --out"),
             other.err);
    const Result options = run(whole + QStringList{"--resume", "--order", "critical-path"});
    QVERIFY2(options.err.contains("its order is fifo, not critical-path"), options.err);
    QVERIFY(content_of(file) == content_of(path("whole.safetensors")));

    // Completed updates are not repeated.
    const Result done = run(lesson({"--updates", "5", "--out", file, "--resume"}));
    QCOMPARE(done.status, 0);
    QVERIFY2(done.out.endsWith("\n" + file.toUtf8() +
                               " is unchanged: 2000 updates were done before, and --updates "
                               "counts these too\n"),
             done.out);
    QVERIFY(content_of(file) == content_of(path("whole.safetensors")));

    // A finished training can be extended.
    const QJsonObject further = object_of(lesson({"--updates", "2003", "--out", file, "--resume"}));
    QCOMPARE(further["updates"].toInt(), 2003);
    QCOMPARE(further["curve"].toArray().size(), 2003);
}

void TestCliLearn::trainInterrupted() {
    const QString file = path("interrupted.safetensors");
    QProcess process;
    Terminal terminal;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, lesson({"--updates", "1000000", "--out", file}));
    QVERIFY2(terminal.wait_for(" of 1000000 updates, ") && terminal.wait_for(" left"), terminal.seen());
    QVERIFY2(terminal.seen().contains(" of one device (best ") && terminal.seen().contains("learning rate "),
             terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray out = process.readAllStandardOutput();
    QVERIFY2(out.contains(" (cancelled)\n") && out.contains("written to " + file.toUtf8()), out);
    const QJsonObject predicted =
        object_of({"predict", file, path("diamond.json"), "--machine", path("pair.json")});
    QVERIFY(predicted["updates"].toInt() > 0);
}

/// The files contain the state before the divergence.
void TestCliLearn::trainDiverges() {
    QByteArray ops =
        R"({"name": "a", "kind": "matmul", "inputs": [], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 1e9})";
    for (int i = 0; i < 8; ++i)
        ops += R"(, {"name": "b)" + QByteArray::number(i) + R"(", "kind": "matmul", "inputs": [")" +
               (i < 4 ? QByteArray("a") : "b" + QByteArray::number(i - 4)) +
               R"("], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 2e9})";
    const QString network = write(
        "chains.json",
        R"({"format": "placewright.graph", "version": 1, "name": "chains", "batch": 1, "training": "none", "ops": [)" +
            ops + "]}");
    const QStringList wild{"train",     network,
                           "--machine", "2x-v100-pcie",
                           "--set",     "layers=8",
                           "--set",     "placeto.rounds=100",
                           "--set",     "foresight=0",
                           "--set",     "learning_rate=10",
                           "--set",     "gradient_clip=0",
                           "--set",     "entropy_weight=0",
                           "--set",     "final_learning_rate=10",
                           "--set",     "workers=2"};
    const QString policy = path("diverged.safetensors"), curve = path("diverged.csv");
    const Result result = run(wild + QStringList{"--updates", "20", "--out", policy, "--curve", curve});
    QCOMPARE(result.status, 1);
    QVERIFY2(result.err.endsWith(
                 " leads to weights that are not finite numbers: choose a lower learning_rate, or a "
                 "gradient_clip; the state before it "
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

void TestCliLearn::trainWhatDoesNotFit() {
    const Result tight = run({"train", path("layer.json"), "--machine", machineWith("1000"), "--updates", "1",
                              "--set", "workers=1"});
    QCOMPARE(tight.status, 4);
    QVERIFY2(tight.err.contains("no placement that fits the memory was found"), tight.err);
}

/// The best single device is chosen among those that the policy may use.
void TestCliLearn::trainBesideACpu() {
    const QString network =
        write("one-op.json",
              R"({"format": "placewright.graph", "version": 1, "name": "one", "batch": 1, "training": "none",
        "ops": [{"name": "a", "kind": "relu", "inputs": [], "outputs": [{"bytes": 4}], "parameter_bytes": 0, "flops": 1}]})");
    const QString policy = path("one-op.safetensors");
    const QStringList job{network, "--machine", "4x-v100-nvlink"};
    const QJsonObject trained =
        object_of(QStringList{"train"} + job + kSmallPolicy + QStringList{"--updates", "1", "--out", policy});
    const QJsonObject graph = trained["graphs"].toArray()[0].toObject();
    const double alone_s = graph["one_device"].toObject()["objective_s"].toDouble();
    QVERIFY(alone_s > object_of(QStringList{"simulate"} + job)["step_time_s"].toDouble());
    QCOMPARE(alone_s, graph["best"].toObject()["objective_s"].toDouble());
    QCOMPARE(object_of(QStringList{"predict", policy} + job)["one_device_s"].toDouble(), alone_s);
    const Result text = run(QStringList{"predict", policy} + job);
    QVERIFY2(text.out.contains(", as fast as gpu:0 alone\n"), text.out);
}

void TestCliLearn::trainWrongUsage_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("complaint");
    const auto row = [](const char* name, const QStringList& arguments, int status, const char* complaint) {
        QTest::newRow(name) << arguments << status << QByteArray(complaint);
    };
    const QStringList pair{"--machine", path("pair.json")};
    row("nothing", QStringList{} + pair, 2, "train: give either --family or networks");
    row("both", QStringList{"alexnet", "--family", "nmt"} + pair, 2,
        "train: give either --family or networks");
    row("no such family", QStringList{"--family", "cifar100"} + pair, 2,
        "--family cifar100: there is no such family or folder (similar: cifar10); there are cifar10, ptb, "
        "nmt");
    row("empty folder", QStringList{"--family", "/proc/self/task"} + pair, 3,
        "/proc/self/task: holds no networks");
    row("no machine", {"--family", "nmt"}, 2, "--machine is required");
    row("phase of a family", QStringList{"--family", "nmt", "--phase", "decode"} + pair, 2,
        "--phase: the sizes in nmt are fixed; these options are for language models");
    row("no such policy", QStringList{"alexnet", "--policy", "oracle"} + pair, 2,
        "--policy oracle: there is no such policy; there are placeto");
    row("no such option", QStringList{"alexnet", "--set", "speed=1"} + pair, 2, "--set speed=1: ");
    row("a family as a network", QStringList{"cifar10"} + pair, 2,
        "train: cifar10 is a family; use --family cifar10");
    row("count of networks", QStringList{"alexnet", "--count", "4"} + pair, 2,
        "--count: only for a known family; networks that are given are all trained on");
    row("seed of a folder", QStringList{"--family", "/proc/self/task", "--family-seed", "2"} + pair, 2,
        "--family-seed: only for a known family");
    row("nothing to imitate with", QStringList{"alexnet", "--teacher", "100"} + pair, 2,
        "--teacher: placeto does not imitate; give --set imitation=0.5, or a policy");
    row("more machines than there are", QStringList{"alexnet", "--machines-each", "9"} + pair, 2,
        "--machines-each 9: expected at most ");
    row("resume what", QStringList{"alexnet", "--resume"} + pair, 2, "--resume: needs --out");
    row("no folder", QStringList{"alexnet", "--out", "/no/such/folder/p.safetensors"} + pair, 3,
        "there is no such folder");
    row("no files in the folder", QStringList{"alexnet", "--out", "/proc/p.safetensors"} + pair, 3,
        "/proc/p.safetensors: cannot be written: ");
    row("no policy in it", QStringList{"alexnet", "--resume", "--out", path("pair.json")} + pair, 3,
        "pair.json: is not a policy");
    row("two machines", {"alexnet", "--set", "devices=one-hot", "--machine", "2x-v100-pcie,4x-v100-nvlink"},
        2,
        "train: alexnet on 4x V100, NVLink: with these options placeto is made for a fixed number of "
        "devices: 2, not 4; train a policy with devices=features, which supports any number");
    row("another policy", {"alexnet", "--policy", "colocrl", "--machine", "2x-v100-pcie,4x-v100-nvlink"}, 2,
        "with these options colocrl is made for a fixed number of devices: 2, not 4; train placeto, which "
        "supports any number");
    row("two networks", {"alexnet", "vgg16", "--set", "aggregation=flat", "--machine", "2x-v100-pcie"}, 2,
        "train a policy with aggregation=messages, which supports any number");
}

void TestCliLearn::trainWrongUsage() {
    QFETCH(QStringList, arguments);
    QFETCH(int, status);
    QFETCH(QByteArray, complaint);
    const Result result = run(QStringList{"train"} + arguments);
    QCOMPARE(result.status, status);
    QCOMPARE(result.out, QByteArray());
    QVERIFY2(result.err.contains(complaint) && lines_of(result.err).size() == 1, result.err);
}

void TestCliLearn::predict() {
    const QString policy = path("predict.safetensors"), placement = path("predicted.json");
    QCOMPARE(run(lesson({"--updates", "3", "--out", policy})).status, 0);
    const QStringList unseen{"predict", policy, "alexnet", "--machine", "4x-v100-nvlink"};
    const QJsonObject predicted = object_of(unseen + QStringList{"--out", placement});
    QCOMPARE(predicted.keys(),
             sorted({"policy", "updates", "objective", "groups", "seed", "episodes", "evaluations",
                     "predict_s", "best", "lower_bound_s", "one_device_s", "placement"}));
    QCOMPARE(predicted["updates"].toInt(), 3);
    QCOMPARE(predicted["episodes"].toInt(), 1);
    QCOMPARE(predicted["evaluations"].toInt(), 1);
    const double step_s = predicted["best"].toObject()["step_time_s"].toDouble();
    const QJsonObject simulated =
        object_of({"simulate", "alexnet", "--machine", "4x-v100-nvlink", "--placement", placement});
    QCOMPARE(simulated["step_time_s"].toDouble(), step_s);
    QCOMPARE(object_of(unseen)["placement"], predicted["placement"]);

    // The last placement is one of those that --best scores.
    const QJsonObject best = object_of(unseen + QStringList{"--best"});
    QCOMPARE(best["evaluations"].toInt(), 1 + predicted["placement"].toObject().size());
    QVERIFY(best["best"].toObject()["score_s"].toDouble() <= step_s);
    // 100000 episodes are too many.
    QCOMPARE(
        run(QStringList{"predict", "alexnet", "--machine", "4x-v100-pcie", "--episodes", "100000"}).status,
        2);
    const QJsonObject drawn = object_of(unseen + QStringList{"--episodes", "4", "--seed", "3"});
    QCOMPARE(drawn["evaluations"].toInt(), 5);
    QVERIFY(drawn["best"].toObject()["score_s"].toDouble() <= step_s);
    QCOMPARE(object_of(unseen + QStringList{"--episodes", "4", "--seed", "3"})["placement"],
             drawn["placement"]);

    const Result text = run(unseen);
    QVERIFY2(text.out.startsWith("Placeto after 3 updates: placed in ") &&
                 text.out.contains("alexnet on 4x V100, NVLink\nstep time "),
             text.out);
    const Result missing = run({"predict", path("missing.safetensors"), "alexnet", "--machine", "1x-v100"});
    QCOMPARE(missing.status, 3);
    QVERIFY2(missing.err.contains("missing.safetensors: there is no such file"), missing.err);
    const Result tight = run({"predict", policy, path("layer.json"), "--machine", machineWith("1000")});
    QCOMPARE(tight.status, 4);
    QVERIFY2(tight.err.contains("the placement does not fit the memory"), tight.err);
}

void TestCliLearn::predictAsTrained() {
    const QString policy = path("merged.safetensors");
    QCOMPARE(run({"train", "alexnet", "--machine", "2x-v100-pcie", "--group", "merge", "--groups", "6",
                  "--memory-rule", "post", "--updates", "1", "--set", "workers=1", "--out", policy})
                 .status,
             0);
    const QStringList unseen{"predict", policy, "vgg16", "--machine", "2x-v100-pcie"};
    QCOMPARE(object_of(unseen)["groups"].toInt(), 6);
    const Result text = run(unseen);
    QVERIFY2(text.out.contains("\n6 groups of ops; policy trained on 1 network and 1 machine.\n"), text.out);
    QCOMPARE(object_of(unseen + QStringList{"--group", "merge", "--groups", "5"})["groups"].toInt(), 5);
    QCOMPARE(object_of(unseen + QStringList{"--groups", "5"})["groups"].toInt(), 5);
    QVERIFY(object_of(unseen + QStringList{"--group", "none"})["groups"].toInt() > 20);
    // A placement that does not fit is penalised as in training.
    const QStringList tight{"predict",           policy,  path("layer.json"), "--machine",
                            machineWith("1000"), "--json"};
    const auto score_s = [&](const QStringList& more) {
        return QJsonDocument::fromJson(run(tight + more).out)["best"].toObject()["score_s"].toDouble();
    };
    QCOMPARE(score_s({}), score_s({"--memory-rule", "post"}));
    QVERIFY(score_s({}) != score_s({"--memory-rule", "exprimo"}));
}

void TestCliLearn::predictOtherSizes() {
    const QString policy = path("one-hot.safetensors");
    QCOMPARE(run(lesson({"--updates", "1", "--set", "devices=one-hot", "--out", policy})).status, 0);
    QCOMPARE(run({"predict", policy, "alexnet", "--machine", "2x-v100-pcie"}).status, 0);
    const Result result = run({"predict", policy, "alexnet", "--machine", "4x-v100-nvlink"});
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains(
                 "one-hot.safetensors: does not suit alexnet on 4x V100, NVLink: with these options placeto "
                 "is made "
                 "for a fixed number of devices: 2, not 4; train a policy with devices=features, which "
                 "supports any number\n"),
             result.err);
}

/// Without a file the policy that ships places the network: at least as fast as simple rules do.
void TestCliLearn::predictShipped() {
    const QStringList job{"inception_v3", "--machine", "4x-v100-nvlink"};
    const QString placement = path("shipped.json");
    const QJsonObject predicted = object_of(QStringList{"predict"} + job + QStringList{"--out", placement});
    QVERIFY(predicted["updates"].toInt() > 1000);
    QVERIFY(predicted["evaluations"].toInt() > 500);
    QVERIFY(predicted["best"].toObject()["fits"].toBool());
    const double step_s = predicted["best"].toObject()["step_time_s"].toDouble();
    for (const char* rule : {"heft", "m-etf", "expert", "scotch"})
        QVERIFY(step_s <= object_of(QStringList{"optimize", "--algorithm", rule} + job)["best"]
                              .toObject()["step_time_s"]
                              .toDouble());
    QVERIFY(step_s < 0.75 * predicted["one_device_s"].toDouble());
    QVERIFY(predicted["lower_bound_s"].toDouble() > 0.7 * step_s &&
            predicted["lower_bound_s"].toDouble() < step_s);
    const Result text = run(QStringList{"predict"} + job);
    QVERIFY2(text.out.contains(" % above optimal (bound "), text.out);
    QCOMPARE(object_of(QStringList{"simulate"} + job + QStringList{"--placement", placement})["step_time_s"]
                 .toDouble(),
             step_s);
    QCOMPARE(object_of(QStringList{"predict", "--threads", "2"} + job)["placement"], predicted["placement"]);

    const auto complaint = [&](const QStringList& arguments, int status) {
        const Result result = run(QStringList{"predict"} + arguments);
        return result.status == status ? result.err : QByteArray::number(result.status) + ": " + result.err;
    };
    QVERIFY(complaint({"alexnet", "p.safetensors", "--machine", "4x-v100-nvlink"}, 2)
                .contains("give the policy first: placewright-cli predict p.safetensors alexnet"));
    QVERIFY(complaint({"alexnet", "4x-v100-nvlink"}, 2).contains("--machine is required"));
    QVERIFY(complaint({"--machine", "4x-v100-nvlink"}, 2).contains("GRAPH is required"));
    QVERIFY(complaint(job + QStringList{"--best"}, 2).contains("--best: needs a policy file"));
    QVERIFY(complaint(job + QStringList{"--objective", "max-load"}, 2)
                .contains("the policy that ships places for the step time"));
    const QString policy = path("lonely.safetensors");
    QCOMPARE(run(lesson({"--updates", "1", "--out", policy})).status, 0);
    QVERIFY(complaint({policy, "--machine", "4x-v100-nvlink"}, 2)
                .contains("is a policy: name the network that it is to place as well"));

    // What does not fit one device, and not all GPUs together, is placed where it fits.
    const QJsonObject tight = object_of({"predict", path("layer.json"), "--machine", path("pair.json")});
    QVERIFY(tight["best"].toObject()["fits"].toBool());
}

void TestCliLearn::predictInterrupted_data() {
    QTest::addColumn<bool>("shipped");
    QTest::newRow("policy file") << false;
    QTest::newRow("shipped policy") << true;
}

/// The best of what was scored until then is printed and written.
void TestCliLearn::predictInterrupted() {
    QFETCH(const bool, shipped);
    const QString policy = path("endless.safetensors"), placement = path("best-so-far.json");
    if (!shipped) QCOMPARE(run(lesson({"--updates", "1", "--out", policy})).status, 0);
    const QStringList job{"alexnet", "--machine", "4x-v100-nvlink"};
    QProcess process;
    Terminal terminal;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, QStringList{"predict"} + (shipped ? QStringList() : QStringList{policy}) +
                                       job +
                                       QStringList{"--episodes", "99999", "--json", "--out", placement});
    QVERIFY2(terminal.wait_for(" placements, best "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 130);
    const QJsonObject found = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
    QVERIFY(found["evaluations"].toInt() > 0 && found["evaluations"].toInt() < 100'000);
    QVERIFY(shipped || found["episodes"] == found["evaluations"]);
    QCOMPARE(object_of(QStringList{"simulate"} + job + QStringList{"--placement", placement})["step_time_s"],
             found["best"].toObject()["step_time_s"]);
}

/// A damaged file of the policy is named, with ways to go on; without the file only predict needs it.
void TestCliLearn::shippedPolicyDamaged() {
    const QByteArray models = qgetenv("PLACEWRIGHT_MODELS");
    const auto restore = qScopeGuard(
        [&] { models.isNull() ? qunsetenv("PLACEWRIGHT_MODELS") : qputenv("PLACEWRIGHT_MODELS", models); });
    const QString folder = path("models");
    QVERIFY(QDir().mkpath(folder + "/policies"));
    qputenv("PLACEWRIGHT_MODELS", folder.toUtf8());
    const QString file = folder + "/policies/general.safetensors";
    const QStringList job{path("diamond.json"), "--machine", path("pair.json")};
    const QStringList search = QStringList{"optimize", "--evaluations", "20"} + job;

    const Result missing = run(QStringList{"predict"} + job);
    QCOMPARE(missing.status, 3);
    QVERIFY2(missing.err.contains("general.safetensors: is not there: install the program again"),
             missing.err);
    QCOMPARE(run(search).status, 0);

    write("models/policies/general.safetensors", "no policy");
    for (const QStringList& arguments : {QStringList{"predict"} + job, search}) {
        const Result damaged = run(arguments);
        QCOMPARE(damaged.status, 3);
        QVERIFY2(damaged.err.startsWith(file.toUtf8() + ": ") && damaged.err.contains("--set policy=false"),
                 damaged.err);
    }
    QCOMPARE(run(search + QStringList{"--set", "policy=false"}).status, 0);
}

/// Imitation of searches, on some of the machines for each network.
void TestCliLearn::trainByImitation() {
    const QStringList arguments{"train",
                                "--policy",
                                "list-policy",
                                "--family",
                                "general",
                                "--count",
                                "4",
                                "--machine",
                                "2x-v100-pcie,4x-v100-nvlink,8x-a100-nvlink",
                                "--machines-each",
                                "1",
                                "--teacher",
                                "60",
                                "--set",
                                "workers=4",
                                "--set",
                                "imitation=1",
                                "--set",
                                "final_imitation=1"};
    const QString policy = path("imitation.safetensors"), again = path("imitation-again.safetensors");
    const QJsonObject trained = object_of(arguments + QStringList{"--updates", "4", "--out", policy});
    QCOMPARE(trained["evaluations"].toInt(), 0);  // all episodes show what the searches found
    const QJsonArray graphs = trained["graphs"].toArray();
    QCOMPARE(graphs.size(), qsizetype{2});  // half of the family
    QCOMPARE(graphs[0].toObject()["machine"].toString(), "2x V100, PCIe 3");
    QCOMPARE(graphs[1].toObject()["machine"].toString(), "4x V100, NVLink");
    for (const auto& graph : graphs)
        QVERIFY(graph.toObject()["best"].toObject()["objective_s"].toDouble() <=
                graph.toObject()["one_device"].toObject()["objective_s"].toDouble());

    // What was found before Ctrl+C is not searched for again, and the end is the same.
    QStringList longer = arguments + QStringList{"--updates", "4", "--resume"};
    longer[longer.indexOf("4")] = "12";     // six networks
    longer[longer.indexOf("60")] = "3000";  // evaluations
    QProcess process;
    Terminal terminal;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, longer + QStringList{"--out", again});
    QVERIFY2(terminal.wait_for("to imitate: network 2 of 6"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    QVERIFY(QFile::exists(again));
    QCOMPARE(run(longer + QStringList{"--out", again}).status, 0);
    QCOMPARE(run(longer + QStringList{"--out", path("at-once.safetensors")}).status, 0);
    QVERIFY(content_of(again) == content_of(path("at-once.safetensors")));
}

QTEST_GUILESS_MAIN(TestCliLearn)
#include "tst_cli_learn.moc"
