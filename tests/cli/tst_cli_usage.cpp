// SPDX-License-Identifier: MIT
// The command line: Help, lists, and wrong arguments.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliUsage : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void help_data();
    void help();
    void version();
    void wrongUsage_data();
    void wrongUsage();
    void fileNamedLikeACommand();
    void fullOutput();
    void listAlgorithms();
    void listNetworks();
    void listMachines();
    void listDevices();
};

void TestCliUsage::help_data() {
    QTest::addColumn<QStringList>("command");
    QTest::addColumn<QByteArray>("mentions");
    QTest::newRow("program") << QStringList{} << QByteArray("Exit status: 0 done");
    QTest::newRow("simulate") << QStringList{"simulate"} << QByteArray("--trace");
    QTest::newRow("optimize") << QStringList{"optimize"} << QByteArray("--set OPTION=VALUE");
    QTest::newRow("compare") << QStringList{"compare"} << QByteArray("--set ALGORITHM.OPTION=VALUE");
    QTest::newRow("experiment") << QStringList{"experiment"} << QByteArray("(NAME.md)");
    QTest::newRow("bound") << QStringList{"bound"} << QByteArray("null in JSON");
    QTest::newRow("calibrate") << QStringList{"calibrate"} << QByteArray("--held-out SHARE");
    QTest::newRow("convert") << QStringList{"convert"} << QByteArray("--network");
    QTest::newRow("train") << QStringList{"train"} << QByteArray("--checkpoint-every S");
    QTest::newRow("predict") << QStringList{"predict"} << QByteArray("--episodes N");
    QTest::newRow("algorithms") << QStringList{"algorithms"} << QByteArray("--json");
    QTest::newRow("networks") << QStringList{"networks"} << QByteArray("--json");
    QTest::newRow("machines") << QStringList{"machines"} << QByteArray("--json");
}

void TestCliUsage::help() {
    QFETCH(QStringList, command);
    QFETCH(QByteArray, mentions);
    const Result result = run(command + QStringList{"--help"});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.contains(mentions), result.out);
    QVERIFY2(widest_line(result.out) <= 100, result.out);
}

void TestCliUsage::version() {
    const Result result = run({"--version"});
    QCOMPARE(result.status, 0);
    QVERIFY2(QRegularExpression("^\\d+\\.\\d+\\.\\d+\n$").match(QString::fromUtf8(result.out)).hasMatch(),
             result.out);
}

void TestCliUsage::wrongUsage_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("complaint");
    const auto simulate = [](const QStringList& more) {
        return QStringList{"simulate", "alexnet", "--machine", "1x-v100"} + more;
    };
    const auto optimize = [](const QStringList& more) {
        return QStringList{"optimize",    "alexnet", "--machine",     "1x-v100",
                           "--algorithm", "genetic", "--evaluations", "5"} +
               more;
    };
    const auto row = [](const char* name, const QStringList& arguments, const char* complaint) {
        QTest::newRow(name) << arguments << QByteArray(complaint);
    };
    row("nothing", {}, "a command is required; see placewright-cli --help");
    row("unknown command", {"fly"},
        "fly: there is no such command; there are simulate, optimize, compare, sweep, codesign, experiment, "
        "bound, "
        "benchmark, profile, calibrate, "
        "export, report, convert, family, "
        "train, "
        "predict, "
        "algorithms, networks, machines");
    row("unknown option of the program", {"--fast"}, "unknown option --fast");
    row("unknown format", {"export", "alexnet", "--machine", "1x-v100", "--to", "cake", "--out", "x"},
        "--to: expected placement, device-map,");
    row("nothing to repair",
        {"export", "alexnet", "--machine", "1x-v100", "--to", "csv", "--out", "x", "--repair"},
        "--repair: the format csv needs no repair");
    row("no format", {"export", "alexnet", "--machine", "1x-v100", "--out", "x"}, "export: --to is required");
    row("no network", {"simulate"}, "simulate: GRAPH is required; see placewright-cli simulate --help");
    row("no machine", {"simulate", "alexnet"}, "simulate: --machine is required");
    row("no value", {"simulate", "alexnet", "--machine"}, "simulate: --machine needs a value");
    row("value of a flag", simulate({"--json=maybe"}), "the option takes no value");
    row("twice", simulate({"--machine", "2x-v100-pcie"}), "--machine is given more than once");
    row("unknown option", simulate({"--warp", "9"}), "simulate: unknown option --warp");
    row("slip in an option", simulate({"--bacthes=4"}),
        "simulate: unknown option --bacthes=4 (similar: --batches); see placewright-cli simulate --help");
    row("slip in a command", {"optimise"},
        "optimise: there is no such command (similar: optimize); there are simulate, ");
    row("slip in an algorithm", {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "tabbu"},
        "--algorithm tabbu: there is no such algorithm (similar: tabu); there are auto, ");
    row("part of an algorithm", {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "anealing"},
        "(similar: simulated-annealing, load-annealing); there are auto, ");
    row("a budget and parts", {"codesign", "alexnet"},
        "codesign: --catalogue and --budget are required; see placewright-cli codesign --help");
    row("nothing for codesign", {"codesign"}, "codesign: GRAPH, --catalogue and --budget are required");
    row("two networks", simulate({"resnet50"}), "simulate: unexpected argument resnet50");
    row("no batches", simulate({"--batches", "0"}),
        "--batches: expected a whole number from 1 to 100000, not 0");
    row("no shape", simulate({"--input", "1y3"}),
        "--input: \"1y3\" is not a shape, expected for example 1x3x224x224");
    row("half a batch", simulate({"--batches", "1.5"}), "not 1.5");
    row("words", simulate({"--in-flight", "many"}),
        "--in-flight: expected a whole number from 1 to 1000, not many");
    row("batch", simulate({"--batch", "-3"}), "--batch: expected a whole number from 1 to 1000000, not -3");
    row("cost", simulate({"--cost", "free"}), "--cost: expected roofline, paleo, exprimo, measured");
    row("memory", simulate({"--memory", "none"}), "--memory: expected training");
    row("objective", simulate({"--objective", "beauty"}), "--objective: expected step-time");
    row("memory rule", simulate({"--memory-rule", "none"}), "--memory-rule: expected exprimo, placeto, post");
    row("efficiency above 1", simulate({"--compute-efficiency", "1.01"}),
        "expected a number above 0 and at most 1, not 1.01");
    row("efficiency 0", simulate({"--channel-efficiency", "0"}),
        "expected a number above 0 and at most 1, not 0");
    row("efficiency nan", simulate({"--channel-efficiency", "nan"}), "not nan");
    row("no updates", simulate({"--inference", "--optimizer-in-backward"}),
        "--optimizer-in-backward: there is no backward pass with --inference");
    row("gradients stay for their sum",
        simulate({"--accumulate", "--optimizer-in-backward", "--batches", "2"}),
        "--optimizer-in-backward: --accumulate keeps the sum of the gradients");
    row("parts", simulate({"--shard", "conv1"}),
        "--shard conv1: expected OP=N, the name of an op and 2 parts or more");
    row("one part", simulate({"--shard", "conv1=1"}), "--shard conv1=1: expected OP=N");
    row("words of parts", simulate({"--shard", "conv1=2x"}), "--shard conv1=2x: expected OP=N");
    row("parts of nothing", simulate({"--shard", "nothing=2"}),
        "--shard: there is no op \"nothing\" to split");
    row("parts of the input", optimize({"--shard", "input=2"}),
        "--shard: op \"input\": an op of kind \"input\" cannot be split");
    row("parts of a machine",
        {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--shard", "a=2"},
        "--shard: a machine has no ops");
    row("order", simulate({"--order", "lifo"}),
        "--order: expected fifo, critical-path, gpipe, 1f1b; not lifo");
    row("optimizer", simulate({"--optimizer", "lion"}),
        "--optimizer: expected sgd, momentum, adam; not lion");
    row("precision", simulate({"--precision", "fp8"}),
        "--precision: expected fp32, tf32, amp-fp16, amp-bf16, bf16, fp16; not fp8");
    row("precision of a machine",
        {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--precision", "fp16"},
        "--precision: a machine has no tensors");
    row("precision that no network file can say",
        {"convert", "--network", "alexnet", "out.json", "--precision", "tf32"},
        "--precision tf32: a network file says types of tensors");
    row("recompute", simulate({"--recompute", "all"}),
        "--recompute: expected none, segments, cheap; not all");
    row("crossing", simulate({"--crossing", "wormhole"}),
        "--crossing: expected store-and-forward, cut-through; not wormhole");
    row("workspace", simulate({"--workspace", "much"}),
        "--workspace: expected a size such as 64MB or 2GB, not much");
    row("workspace of unknown units", simulate({"--workspace", "3 apples"}),
        "--workspace: expected a size such as 64MB or 2GB, not 3 apples");
    row("negative workspace", simulate({"--workspace=-1"}),
        "--workspace: expected a size such as 64MB or 2GB, not -1");
    row("too much workspace", simulate({"--workspace", "100000000000000 GB"}),
        "--workspace: expected a size such as 64MB or 2GB");
    row("more than all for headroom", optimize({"--headroom", "2"}),
        "--headroom: expected a number from 0 to 1, not 2");
    row("no usable memory", simulate({"--usable-memory", "0"}),
        "--usable-memory: expected a number above 0 and at most 1, not 0");
    row("more than all memory", simulate({"--usable-memory", "1.1"}),
        "--usable-memory: expected a number above 0 and at most 1, not 1.1");
    row("unknown runtime", simulate({"--runtime", "lazy"}),
        "--runtime: expected ideal, eager, compiled; not lazy");
    row("no host time", simulate({"--runtime", "eager", "--host-time", "0"}),
        "--host-time: expected a number of seconds above 0 and up to 1, not 0");
    row("host time without a host", simulate({"--host-time", "2e-5"}),
        "--host-time: --runtime ideal has no time of the host; give --runtime eager");
    row("program order by critical paths", simulate({"--runtime", "compiled", "--order", "critical-path"}),
        "--order: --runtime compiled runs ops in program order");
    row("recompute without training", simulate({"--inference", "--recompute", "cheap"}),
        "--recompute: there is no backward pass");
    row("accumulate without training", simulate({"--inference", "--accumulate"}),
        "--accumulate: there is no backward pass");
    row("optimizer without training", simulate({"--inference", "--optimizer", "adam"}),
        "--optimizer: there is no backward pass");
    row("recompute as Exprimo", simulate({"--cost", "exprimo", "--recompute", "segments"}),
        "--recompute: --cost exprimo has its own backward ops");
    row("accumulate as Exprimo", simulate({"--cost", "exprimo", "--accumulate"}),
        "--accumulate: --cost exprimo has no weight gradients");
    row("optimizer as Exprimo", simulate({"--memory", "exprimo", "--optimizer", "sgd"}),
        "--optimizer: --memory exprimo counts only parameters");
    row("allocator as Exprimo", simulate({"--memory", "exprimo", "--allocator", "pytorch"}),
        "--allocator: --memory exprimo counts only parameters");
    row("unknown framework", simulate({"--framework", "cake"}),
        "--framework: expected none, pytorch; not cake");
    row("no context", simulate({"--context-memory", "none"}),
        "--context-memory: expected a size such as 64MB or 2GB, not none");
    row("in place as Exprimo", simulate({"--memory", "exprimo", "--in-place"}),
        "--in-place: --memory exprimo counts only parameters");
    row("workspace as Exprimo", simulate({"--memory", "exprimo", "--workspace", "1MB"}),
        "--workspace: --memory exprimo counts only parameters");
    row("unknown algorithm", {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "magic"},
        "there is no such algorithm; there are auto, instant, single-device");
    row("setting without value", optimize({"--set", "elite_size"}),
        "--set elite_size: expected option=value; genetic has population_size, ");
    row("unknown setting", optimize({"--set", "nope=1"}),
        "unknown option \"nope\", known are population_size, ");
    row("setting of another algorithm", optimize({"--set", "tabu.nope=1"}),
        "--set tabu.nope=1: that is an option of tabu, but the algorithm is genetic");
    row("setting out of range", optimize({"--set", "mutation_rate=7"}),
        "mutation_rate = 7 is out of range, expected 0 to 1");
    row("setting of a wrong type", optimize({"--set", "population_size=big"}), "population_size = big");
    row("settings at odds", optimize({"--set", "elite_size=70"}),
        "elite_size = 70 is out of range, expected less than population_size = 50");
    row("no evaluations",
        {"optimize", "alexnet", "--machine", "1x-v100", "--algorithm", "genetic", "--evaluations", "0"},
        "--evaluations: expected a whole");
    row("no time", optimize({"--seconds", "0"}), "--seconds: expected a number above 0, not 0");
    row("no number of seconds", optimize({"--seconds", "nan"}),
        "--seconds: expected a number above 0, not nan");
    row("endless", optimize({"--seconds", "inf"}), "--seconds: expected a number above 0, not inf");
    row("seed", optimize({"--seed", "-1"}), "--seed: expected a whole number");
    row("threads", optimize({"--threads", "1025"}),
        "--threads: expected a whole number from 0 to 1024, not 1025");
    const auto compare = [](const QStringList& more) {
        return QStringList{"compare", "alexnet", "--machine",     "1x-v100",
                           "--seeds", "2",       "--evaluations", "5"} +
               more;
    };
    row("compare nothing", compare({}), "compare: --algorithms is required");
    row("compare the unknown", compare({"--algorithms", "genetic,magic"}),
        "--algorithms magic: there is no such algorithm");
    row("compare with itself", compare({"--algorithms", "genetic,random,genetic"}),
        "--algorithms: genetic is named twice");
    row("no seeds", compare({"--algorithms", "genetic", "--seeds", "0"}),
        "--seeds: expected a whole number from 1 to 10000, not 0");
    row("setting of nobody", compare({"--algorithms", "genetic,random", "--set", "elite_size=3"}),
        "--set elite_size=3: expected algorithm.option=value with one of genetic, random");
    row("setting of another", compare({"--algorithms", "genetic", "--set", "random.batch_size=3"}),
        "with one of genetic");
    row("unknown setting of one", compare({"--algorithms", "genetic", "--set", "genetic.nope=1"}),
        "--set genetic.nope=1: unknown option \"nope\", known are population_size, ");
    row("settings of one at odds", compare({"--algorithms", "genetic", "--set", "genetic.elite_size=70"}),
        "--set: elite_size = 70 is out of range, expected less than population_size = 50");
    row("unknown experiment", {"experiment", "e9"},
        "NAME: expected e3, post, placeto, policy, placeto-families, ");
    row("updates of searches", {"experiment", "e3", "--updates", "5"},
        "--updates: the length of e3 is set by --evaluations");
    row("count of searches", {"experiment", "post", "--count", "5"}, "--count: post does not use it");
    row("unknown algorithm of an experiment", {"experiment", "e3", "--algorithm", "post"},
        "--algorithm post: expected one of hill-climbing, simulated-annealing, genetic, map-elites");
    row("unknown case of an experiment", {"experiment", "e3", "--only", "normal,vgg"},
        "--only normal,vgg: expected labels of one of \"normal,alexnet\", ");
    row("case of an experiment with families", {"experiment", "placeto-families", "--only", "nmt"},
        "--only: placeto-families has families, selected by --family");
    row("case of an experiment with one", {"experiment", "placeto-rewards", "--only", "nmt2"},
        "--only: placeto-rewards has only one case");
    row("family of searches", {"experiment", "post", "--family", "nmt"}, "--family: post has no families");
    row("evaluations of trainings", {"experiment", "placeto-families", "--evaluations", "5"},
        "--evaluations: the length of placeto-families is set by --updates");
    row("count of one network", {"experiment", "placeto-rewards", "--count", "5"},
        "--count: placeto-rewards does not use it");
    row("half of one network", {"experiment", "placeto-ablations", "--count", "1"},
        "--count: a family needs 2 networks");
    row("unknown family of an experiment", {"experiment", "placeto-families", "--family", "vgg"},
        "--family vgg: placeto-families has cifar10, ptb, nmt");
    row("network of a family", {"experiment", "placeto-families", "--network", "nmt2=a.json"},
        "--network nmt2=a.json: placeto-families generates its networks");
    row("setting of an experiment", {"experiment", "placeto-orders", "--set", "placeto.rounds=x"},
        "--set placeto.rounds=x: ");
    row("settings of an experiment at odds", {"experiment", "placeto-orders", "--set", "colocrl.hidden=5"},
        "--set: hidden = 5");
    row("policy for one number of groups",
        {"experiment", "placeto-families", "--family", "nmt", "--count", "8", "--updates", "1", "--set",
         "placeto.aggregation=flat"},
        "with these options placeto is made for a fixed number of groups: ");
    row("unknown network of an experiment", {"experiment", "e3", "--network", "vgg16=a.json"},
        "--network vgg16=a.json: expected NAME=FILE with one of alexnet, resnet50, inception_v3");
    row("convert nothing", {"convert"}, "convert takes an input and an output file");
    row("convert without output", {"convert", "in.json"}, "convert takes an input and an output file");
    row("convert to another format", {"convert", "in.json", "out.onnx"},
        "out.onnx: convert writes JSON; give a name that ends in .json");
    row("phase of a generated network", {"convert", "--network", "alexnet", "out.json", "--phase", "prefill"},
        "--phase: the sizes in alexnet are fixed");
    row("sequence of a machine",
        {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--sequence", "9"},
        "1x-v100.json are fixed");
    row("convert onto itself", {"convert", "in.json", "in.json"}, "in.json");
    row("convert three", {"convert", "a", "b", "c"}, "convert takes an input and an output file");
    row("generate without output", {"convert", "--network", "alexnet"},
        "convert --network NAME takes one file, the output");
    row("generate and read", {"convert", "--network", "alexnet", "a", "b"},
        "convert --network NAME takes one file, the output");
    row("unknown network", {"convert", "--network", "magic", "out"},
        "there is no such network; there are alexnet, vgg16, resnet50, ");
    row("batch of a machine",
        {"convert", PLACEWRIGHT_SOURCE_MODELS "/machines/1x-v100.json", "out.json", "--batch", "2"},
        "a machine has no batch size");
    row("argument of a list", {"algorithms", "genetic"}, "algorithms: unexpected argument genetic");
    row("unknown groups", simulate({"--group", "pairs"}),
        "--group pairs: expected none, colocation, scope, scope:DEPTH or merge");
    row("depth of nothing", simulate({"--group", "merge:3"}), "--group merge:3: only scope has a depth");
    row("no depth", simulate({"--group", "scope:"}), "--group scope:: expected a depth of 1 or more");
    row("depth 0", simulate({"--group", "scope:0"}), "--group scope:0: expected a depth of 1 or more");
    row("groups of no merge", simulate({"--group", "scope", "--groups", "3"}),
        "--groups applies only to --group merge, not to --group scope");
    row("merge below without merge", simulate({"--merge-below", "1MB"}),
        "--merge-below applies only to --group merge, not to --group none");
    row("both ways to merge", simulate({"--group", "merge", "--groups", "3", "--merge-below", "1MB"}),
        "--groups, --merge-below: give only one of them");
    row("line break", {"fly\nhigh"}, "fly\\x0ahigh: there is no such command");
}

void TestCliUsage::wrongUsage() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, complaint);
    const Result result = run(arguments);
    QCOMPARE(result.status, 2);
    QCOMPARE(result.out, QByteArray());
    QVERIFY2(result.err.startsWith("placewright-cli: "), result.err);
    QVERIFY2(result.err.contains(complaint), result.err);
    QCOMPARE(lines_of(result.err).size(), 1);
}

void TestCliUsage::fileNamedLikeACommand() {
    const QString here = QDir::currentPath();
    const auto back = qScopeGuard([&] { QDir::setCurrent(here); });
    QVERIFY(QDir::setCurrent(m_folder.path()));
    QVERIFY(QFile::copy("diamond.json", "bound"));
    QCOMPARE(object_of({"simulate", "bound", "--machine", "pair.json"})["step_time_s"].toDouble(), 0.006);
}

void TestCliUsage::fullOutput() {
    if (!QFile::exists("/dev/full")) QSKIP("there is no /dev/full");
    QProcess process;
    process.setStandardOutputFile("/dev/full");
    process.start(PLACEWRIGHT_CLI, {"networks", "--json"});
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 3);
    QVERIFY(process.readAllStandardError().contains("standard output: cannot be written"));
}

void TestCliUsage::listAlgorithms() {
    const QJsonArray list = json_of(run({"algorithms", "--json"})).array();
    const Result text = run({"algorithms"});
    QCOMPARE(text.status, 0);
    QCOMPARE(text.err, QByteArray());
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    QStringList ids;
    for (const QJsonValue& algorithm : list) {
        QCOMPARE(algorithm.toObject().keys(),
                 sorted({"id", "title", "group", "summary", "help", "options", "presets"}));
        const QString id = algorithm["id"].toString();
        QVERIFY2(text.out.contains(("\n" + id + " - " + algorithm["title"].toString() + "\n").toUtf8()),
                 qPrintable(id));
        QVERIFY(!algorithm["help"].toString().isEmpty());
        QVERIFY(text.out.contains(("\n# " + algorithm["group"].toString() + "\n").toUtf8()));
        QVERIFY(!algorithm["summary"].toString().isEmpty());
        for (const QJsonValue& option : algorithm["options"].toArray()) {
            const QString name = option["name"].toString(), type = option["type"].toString();
            QVERIFY2(text.out.contains(("\n    " + name + "=").toUtf8()), qPrintable(name));
            QVERIFY(!option["help"].toString().isEmpty());
            QStringList keys{"name", "type", "default", "title", "help"};
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
    for (const char* id : {"single-device", "random", "expert", "hill-climbing", "genetic", "map-elites"})
        QVERIFY2(ids.contains(id), id);
}

void TestCliUsage::listNetworks() {
    const QJsonArray list = json_of(run({"networks", "--json"})).array();
    const QDir networks(PLACEWRIGHT_SOURCE_MODELS "/networks", "*.json");
    const QDir language(PLACEWRIGHT_SOURCE_MODELS "/language", {}, QDir::Name,
                        QDir::Dirs | QDir::NoDotAndDotDot);
    QCOMPARE(language.count(), 3U);
    QCOMPARE(list.size(), networks.count() + language.count());
    const Result text = run({"networks"});
    QCOMPARE(text.status, 0);
    QCOMPARE(lines_of(text.out).size(), list.size() + 1);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    for (const QJsonValue& network : list) {
        QCOMPARE(network.toObject().keys(),
                 sorted({"name", "title", "ops", "parameters", "forward_flops", "file"}));
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
        // 0.7142 G multiply-adds of convolutions and linear layers per image, 32 images, and a little for
        // the rest.
        QVERIFY(network["forward_flops"].toDouble() > 32 * 2 * 0.714e9 &&
                network["forward_flops"].toDouble() < 32 * 2 * 0.72e9);
    }
}

void TestCliUsage::listDevices() {
    const QJsonArray list = json_of(run({"machines", "--devices", "--json"})).array();
    QVERIFY(list.size() >= 40);
    bool found = false;
    for (const QJsonValue& device : list) {
        QVERIFY(!device["model"].toString().isEmpty() && !device["source"].toString().isEmpty());
        QVERIFY(device["memory_bytes"].toDouble() > 0 && device["memory_bandwidth"].toDouble() > 0);
        QVERIFY(device["peak_flops"]["fp32"].toDouble() > 0);
        if (!device["aliases"].toArray().contains("Tesla V100-PCIE-32GB")) continue;
        found = true;
        QCOMPARE(device["peak_flops"]["fp16"].toDouble(), 112e12);
        QCOMPARE(device["vector_flops"]["fp16"].toDouble(), 28e12);
        QCOMPARE(device["kind"].toString(), QString("gpu"));
    }
    QVERIFY(found);
    const Result text = run({"machines", "--devices"});
    QCOMPARE(text.status, 0);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    QVERIFY2(text.out.contains("NVIDIA GeForce RTX 3090 "), text.out);
    QVERIFY2(text.out.contains("\nPCIe 4.0 x16 "), text.out);
}

void TestCliUsage::listMachines() {
    const QJsonArray list = json_of(run({"machines", "--json"})).array();
    const QDir folder(PLACEWRIGHT_SOURCE_MODELS "/machines", "*.json");
    QCOMPARE(list.size(), folder.count());
    const Result text = run({"machines"});
    QCOMPARE(text.status, 0);
    QVERIFY2(widest_line(text.out) <= 100, text.out);
    QVERIFY2(
        text.out.contains(
            "\n4x-v100-pcie         4x V100, PCIe 3            Xeon Gold 6132, 4x NVIDIA V100 PCIe 32GB\n"),
        text.out);
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

QTEST_GUILESS_MAIN(TestCliUsage)
#include "tst_cli_usage.moc"
