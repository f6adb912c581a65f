// SPDX-License-Identifier: MIT
// The command line: optimize.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliOptimize : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void optimizeJson();
    void groups();
    void aMemoryRuleMayPreferWhatDoesNotFit();
    void refinement();
    void scoresOnAFullDisk();
    void scoresGoOn();
    void sameSeedSameAnswer_data();
    void sameSeedSameAnswer();
    void budgets();
    void settings();
    void headroom();
    void wholeModulesBesideTheFreePlacement();
    void cpuAdvice();
    void nothingFits();
    void interrupted_data();
    void interrupted();
    void ignoredHangup();
    void secondInterrupt();
    void unwritablePlacement();
};

void TestCliOptimize::optimizeJson() {
    const QString out = path("found.json");
    const QStringList problem{"alexnet", "--machine", "4x-v100-nvlink"};
    const Result result = run(
        QStringList{"optimize"} + problem +
        QStringList{"--algorithm", "genetic", "--evaluations", "400", "--seed", "3", "--out", out, "--json"});
    // Progress is printed only on a terminal.
    QCOMPARE(result.err, QByteArray());
    const QJsonObject found = json_of(result).object();
    QCOMPARE(found.keys(),
             sorted({"algorithm", "objective", "seed", "evaluations", "wall_s", "simulations_per_s", "delta",
                     "best", "lower_bound_s", "curve", "estimated_ops", "placement", "bound"}));
    QVERIFY(!found["bound"]["name"].toString().isEmpty() && !found["bound"]["proof"].toString().isEmpty());
    QCOMPARE(found["algorithm"].toString(), QString("genetic"));
    QCOMPARE(found["seed"].toInt(), 3);
    QCOMPARE(found["evaluations"].toInt(), 400);
    QVERIFY(found["wall_s"].toDouble() > 0);
    QVERIFY(found["simulations_per_s"].toDouble() > 0);
    // Placements of a genetic algorithm differ in too many groups for delta simulation.
    QCOMPARE(found["delta"].toObject(),
             (QJsonObject{{"simulations", 0}, {"share", 0}, {"events_saved", 0}, {"recorded", 0}}));
    QCOMPARE(found["best"].toObject().keys(),
             sorted({"speedup", "speedup_low", "speedup_high", "step_time_s", "step_time_low_s",
                     "step_time_high_s", "objective_s", "score_s", "fits"}));
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
    QCOMPARE(object_of(QStringList{"simulate"} + problem + QStringList{"--placement", out})["step_time_s"]
                 .toDouble(),
             step_s);
}

void TestCliOptimize::aMemoryRuleMayPreferWhatDoesNotFit() {
    // Two layers of 1 MB of parameters and outputs; a GPU of 3.5 MB holds one of them, and the link is slow.
    const QString network = write("two.json", R"({"format": "placewright.graph", "version": 1, "name": "two",
        "batch": 1, "training": "none", "ops": [
        {"name": "x", "kind": "input", "flops": 0, "parameter_bytes": 0, "inputs": [],
         "outputs": [{"bytes": 1000000}]},
        {"name": "a", "kind": "linear", "flops": 1e6, "parameter_bytes": 1000000, "inputs": ["x"],
         "outputs": [{"bytes": 1000000}]},
        {"name": "b", "kind": "linear", "flops": 1e6, "parameter_bytes": 1000000, "inputs": ["a"],
         "outputs": [{"bytes": 1000000}]}]})");
    const QString machine = write("slow.json", R"({"format": "placewright.machine", "version": 1,
        "name": "slow", "devices": [
        {"name": "g0", "kind": "gpu", "model": "g", "peak_flops": 1e9, "memory_bandwidth": 1e15,
         "memory_bytes": 3.5e6},
        {"name": "g1", "kind": "gpu", "model": "g", "peak_flops": 1e9, "memory_bandwidth": 1e15,
         "memory_bytes": 3.5e6}],
        "channels": [{"name": "link", "bandwidth": 1e7}],
        "routes": [{"from": "g0", "to": "g1", "channels": ["link"]},
                   {"from": "g1", "to": "g0", "channels": ["link"]}]})");
    const QStringList search{"optimize", network, "--machine", machine, "--algorithm", "linear-search"};
    QCOMPARE(run(search).status, 0);
    const Result other = run(search + QStringList{"--memory-rule", "placeto"});
    QCOMPARE(other.status, 4);
    QVERIFY2(other.err.contains("with --memory-rule placeto a placement that does not fit can score better"),
             other.err);
}

void TestCliOptimize::groups() {
    // "b" and "c" of the diamond are grouped with their only reader "d".
    const auto placed = [&](const QStringList& more) {
        return object_of(diamond(
            "optimize", QStringList{"--algorithm", "linear-search", "--out", path("grouped.json")} + more));
    };
    QCOMPARE(placed({})["evaluations"].toInt(), 16);
    const QJsonObject found = placed({"--group", "colocation"});
    QCOMPARE(found["evaluations"].toInt(), 4);
    QCOMPARE(found["placement"].toObject().keys(), (QStringList{"a", "b", "c", "d"}));
    QCOMPARE(found["placement"]["b"], found["placement"]["d"]);
    // A placement made with groups can be read without groups.
    const auto again = object_of(diamond("simulate", {"--placement", path("grouped.json")}));
    QCOMPARE(again["step_time_s"].toDouble(), found["best"]["step_time_s"].toDouble());
    QCOMPARE(placed({"--group", "merge", "--groups", "3"})["evaluations"].toInt(), 8);
    QCOMPARE(placed({"--group", "merge", "--merge-below", "1MB"})["evaluations"].toInt(), 16);
    QCOMPARE(placed({"--group", "merge", "--merge-below", "2MB"})["evaluations"].toInt(), 2);
    // The reverse is refused.
    const Result apart =
        run(diamond("simulate", {"--placement", path("apart.json"), "--group", "colocation"}));
    QCOMPARE(apart.status, 3);
    QVERIFY2(
        apart.err.contains("ops that belong together on different devices: \"b\" and \"c\", \"b\" and \"d\"; "
                           "without grouping they may be on different devices"),
        apart.err);
    // Groups by module.
    const auto modules = object_of({"optimize", "inception_v3", "--machine", "4x-v100-nvlink", "--algorithm",
                                    "expert", "--group", "scope"});
    QCOMPARE(modules["placement"]["Mixed_5b/branch1x1/conv"], modules["placement"]["Mixed_5b/cat"]);
}

void TestCliOptimize::refinement() {
    const QStringList search{"optimize",    "alexnet", "--machine",   "4x-v100-pcie",
                             "--batches",   "4",       "--in-flight", "4",
                             "--algorithm", "expert",  "--group",     "merge",
                             "--groups",    "4",       "--out",       path("refined.json")};
    const QJsonObject before = object_of(search);
    const auto refined = [&](int evaluations, int threads) {
        return untimed(object_of(search + QStringList{"--refine", QString::number(evaluations), "--threads",
                                                      QString::number(threads)}));
    };
    const QJsonObject after = refined(600, 1);
    QVERIFY(after["best"]["score_s"].toDouble() < before["best"]["score_s"].toDouble());
    QVERIFY(after["evaluations"].toInt() > before["evaluations"].toInt() &&
            after["evaluations"].toInt() <= before["evaluations"].toInt() + 600);
    QCOMPARE(refined(600, 2), after);
    const auto again = object_of({"simulate", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4",
                                  "--in-flight", "4", "--placement", path("refined.json")});
    QCOMPARE(again["step_time_s"].toDouble(), after["best"]["step_time_s"].toDouble());
    const QJsonObject bounded = object_of(search + QStringList{"--refine", "600"});
    QVERIFY(bounded["lower_bound_s"].toDouble() > 0 &&
            bounded["lower_bound_s"].toDouble() <= again["step_time_s"].toDouble());
}

void TestCliOptimize::scoresOnAFullDisk() {
    const QString scores = path("scores.jsonl");
    const Result result = run({"optimize", "alexnet", "--machine", "4x-v100-nvlink", "--algorithm", "genetic",
                               "--evaluations", "5000", "--json", "--scores", scores},
                              [] {
                                  const rlimit small{4000, 4000};
                                  setrlimit(RLIMIT_FSIZE, &small);
                              });
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains(scores.toUtf8() + ": cannot be written: File too large"), result.err);
    // The result so far is reported.
    const QJsonObject found = json_of(result, 3).object();
    QVERIFY(found["best"]["step_time_s"].toDouble() > 0);
    QVERIFY(found["evaluations"].toInt() < 5000);
}

void TestCliOptimize::scoresGoOn() {
    const QStringList search{"optimize",    "alexnet", "--machine",     "4x-v100-nvlink",
                             "--algorithm", "genetic", "--evaluations", "600"};
    const QJsonObject whole = object_of(search);
    const QString scores = path("going-on.jsonl");
    const QStringList kept = search + QStringList{"--scores", scores};
    object_of(QStringList(kept).replaceInStrings(QRegularExpression("^600$"), "200"));
    // As left by a kill in the middle of a line.
    QFile file(scores);
    QVERIFY(file.resize(file.size() - 20));
    const QJsonObject resumed = object_of(kept);
    QCOMPARE(resumed["best"], whole["best"]);
    QCOMPARE(resumed["curve"], whole["curve"]);
    QCOMPARE(resumed["placement"], whole["placement"]);
    // The third run simulates nothing.
    QCOMPARE(object_of(kept)["simulations_per_s"].toDouble(), 0.0);
    // The file records the search that began it. Asking for another algorithm starts another search.
    QStringList bare = kept;
    bare.remove(bare.indexOf("--algorithm"), 4);
    QJsonObject again = object_of(bare);
    QCOMPARE(again["algorithm"].toString(), QString("genetic"));
    QCOMPARE(again["evaluations"].toInt(), 200);  // the budget with which it began
    again = object_of(bare + QStringList{"--evaluations", "600"});
    QCOMPARE(again["curve"], whole["curve"]);
    QCOMPARE(again["placement"], whole["placement"]);
    const QStringList random{"--algorithm", "random", "--evaluations", "50"};
    QCOMPARE(
        object_of(bare + random)["placement"],
        object_of(QStringList{"optimize", "alexnet", "--machine", "4x-v100-nvlink"} + random)["placement"]);
    const Result other = run(QStringList(kept).replaceInStrings("alexnet", "resnet50"));
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("holds the scores of another search: its network is alexnet, not resnet50"),
             other.err);
}

void TestCliOptimize::sameSeedSameAnswer_data() {
    QTest::addColumn<QString>("algorithm");
    for (const char* algorithm :
         {"single-device", "random", "expert", "hill-climbing", "genetic", "map-elites", "scotch", "metis"}) {
        QTest::newRow(algorithm) << QString(algorithm);
    }
}

void TestCliOptimize::sameSeedSameAnswer() {
    QFETCH(QString, algorithm);
    // With batches in flight one device is not the best, so the searches have to find more.
    const auto search = [&](int seed, int threads) {
        return untimed(object_of({"optimize", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4",
                                  "--in-flight", "4", "--algorithm", algorithm, "--evaluations", "500",
                                  "--seed", QString::number(seed), "--threads", QString::number(threads)}));
    };
    const QJsonObject first = search(7, 1);
    QCOMPARE(first["algorithm"].toString(), algorithm);
    for (const int threads : {1, 2, 3, 0}) QCOMPARE(search(7, threads), first);
    if (algorithm == "random") QVERIFY(search(8, 1)["placement"] != first["placement"]);
}

void TestCliOptimize::budgets() {
    const QStringList random = diamond("optimize", {"--algorithm", "random"});
    QCOMPARE(object_of(random)["evaluations"].toInt(), 20'000);
    QCOMPARE(object_of(random + QStringList{"--evaluations", "17"})["evaluations"].toInt(), 17);
    QCOMPARE(
        object_of(random + QStringList{"--evaluations", "17", "--seconds", "1000"})["evaluations"].toInt(),
        17);
    // With a time limit only, evaluations are unlimited.
    const QJsonObject timed = object_of(random + QStringList{"--seconds", "0.4"});
    QVERIFY(timed["wall_s"].toDouble() >= 0.4);
    QVERIFY(timed["evaluations"].toInt() > 17);
    // The algorithm has no more proposals.
    QCOMPARE(object_of(diamond("optimize", {"--algorithm", "single-device"}))["evaluations"].toInt(), 2);
}

void TestCliOptimize::settings() {
    const QString out = path("set.json");
    const QStringList search =
        diamond("optimize", {"--algorithm", "genetic", "--evaluations", "90", "--set", "population_size=30",
                             "--set", "crossover_type=uniform", "--set", "evolve_mutation_rate=false",
                             "--set", "mutation_rate=0.25", "--out", out});
    const QJsonObject found = object_of(search);
    QCOMPARE(found["evaluations"].toInt(), 90);
    const QJsonObject options = QJsonDocument::fromJson(content_of(out))["produced_by"]["options"].toObject();
    QCOMPARE(options, QJsonObject({{"population_size", 30},
                                   {"crossover_type", "uniform"},
                                   {"evolve_mutation_rate", false},
                                   {"mutation_rate", 0.25}}));
    // By default the expert separates b and c, which takes longer.
    const QStringList one = diamond("optimize", {"--algorithm", "expert", "--set", "devices=1"});
    const QJsonObject on_one = object_of(one), apart = object_of(one.first(one.size() - 2));
    QCOMPARE(apart["best"]["step_time_s"].toDouble(), 0.008);
    QCOMPARE(on_one["best"]["step_time_s"].toDouble(), 0.006);
}

// Where the framework moves modules, the result says what they give as a whole.
void TestCliOptimize::wholeModulesBesideTheFreePlacement() {
    const auto search = [](const QStringList& more) {
        return QStringList{"optimize",      "resnet50", "--machine",   "2x-v100-pcie",
                           "--evaluations", "20",       "--algorithm", "random"} +
               more;
    };
    const auto object = [&](const QStringList& more) {
        return json_of(run(search(more + QStringList{"--json"}))).object();
    };
    // Whole modules are the better random placements, and become the result.
    const QJsonObject eager = object({"--runtime", "eager"}), whole = eager["whole_modules"].toObject();
    QCOMPARE(whole["group"].toString(), QString("scope:2"));
    QVERIFY(whole["modules"].toInt() >= 16);
    QCOMPARE(eager["best"]["step_time_s"], whole["step_time_s"]);
    QCOMPARE(whole["split_modules"].toInt(), 0);
    QCOMPARE(whole["gain_of_splitting"].toDouble(), 0.0);
    const Result told = run(search({"--runtime", "eager"}));
    QVERIFY2(told.out.simplified().contains("With whole modules (--group scope:2) a step takes ") &&
                 told.out.simplified().contains("; this placement splits no module, either."),
             told.out);
    for (const QStringList& other : {QStringList{}, QStringList{"--runtime", "compiled"},
                                     QStringList{"--runtime", "eager", "--group", "scope:1"}})
        QVERIFY(!object(other).contains("whole_modules"));
    // The default search starts with one device, which splits nothing; splitting is worth it without links
    // that cost time.
    const QJsonObject split =
        json_of(run({"optimize", "resnet50", "--machine", "2x-v100-pcie", "--runtime", "eager", "--json",
                     "--host-time", "0.000001", "--evaluations", "2000", "--headroom", "0"}))
            .object();
    const QJsonObject beside = split["whole_modules"].toObject();
    QVERIFY(split["best"]["step_time_s"].toDouble() <= beside["step_time_s"].toDouble());
    QCOMPARE(beside["gain_of_splitting"].toDouble(),
             1 - split["best"]["step_time_s"].toDouble() / beside["step_time_s"].toDouble());
}

// Two GPUs could hold all, one of them to the brim; four are there.
void TestCliOptimize::headroom() {
    QString ops =
        R"({"name": "x", "kind": "input", "inputs": [], "outputs": [{"shape": [1000], "dtype": "float32"}],
                      "parameter_bytes": 0, "flops": 0})";
    for (int i = 0; i < 19; ++i)
        ops += QString(R"(, {"name": "block%1", "kind": "linear", "inputs": ["%2"], "flops": 1e12,
                             "outputs": [{"shape": [1000], "dtype": "float32"}], "parameter_bytes": 50000000})")
                   .arg(i)
                   .arg(i == 0 ? QString("x") : QString("block%1").arg(i - 1));
    const QString chain =
        write("chain.json", QString(R"({"format": "placewright.graph", "version": 1, "name": "chain",
        "batch": 1, "training": "none", "ops": [%1]})")
                                .arg(ops)
                                .toUtf8());
    const QStringList search{"optimize",    chain,           "--machine", path("pair.json"),
                             "--inference", "--evaluations", "300"};
    const auto fullest = [](const QJsonObject& found) {
        QMap<QString, int> blocks;
        const QJsonObject placement = found["placement"].toObject();
        for (auto op = placement.begin(); op != placement.end(); ++op)
            if (op.key() != "x") ++blocks[op.value().toString()];
        return *std::ranges::max_element(blocks);
    };
    const QJsonObject filled = object_of(search + QStringList{"--headroom", "0"});
    QVERIFY(!filled.contains("headroom"));
    QCOMPARE(fullest(filled), 19);  // 950 MB of 1 GB
    const QJsonObject spread = object_of(search);
    QVERIFY2(fullest(spread) <= 16, qPrintable(QString::number(fullest(spread))));
    QCOMPARE(spread["headroom"]["found_s"].toDouble(), filled["best"]["objective_s"].toDouble());
    QVERIFY(spread["best"]["objective_s"].toDouble() <= filled["best"]["objective_s"].toDouble() * 1.005);
    QCOMPARE(spread["curve"], filled["curve"]);
    QCOMPARE(untimed(object_of(search + QStringList{"--threads", "2"})), untimed(spread));
    // The results of other algorithms are their own, unless asked.
    const QStringList alone = search + QStringList{"--algorithm", "single-device"};
    QCOMPARE(fullest(object_of(alone)), 19);
    QVERIFY(fullest(object_of(alone + QStringList{"--headroom", "0.01"})) <= 16);
    QVERIFY2(run(search).out.contains("The fullest device holds 50.0 % of its memory, not 95.0 %"),
             run(search).out);
}

void TestCliOptimize::cpuAdvice() {
    // The GPU cannot hold the network, so a search that may not use CPUs stays where it begins.
    const QStringList optimize{"optimize",         "alexnet", "--machine",   "1x-v100",
                               "--context-memory", "34GB",    "--algorithm", "hill-climbing",
                               "--evaluations",    "20"};
    const QByteArray advice = "with --set allow_cpu=true, Hill climbing may divide the ops";
    const Result kept = run(optimize);
    QVERIFY2(kept.err.contains("% of the step") && kept.err.contains(advice), kept.err);
    const Result divided = run(optimize + QStringList{"--set", "allow_cpu=true"});
    QVERIFY2(divided.err.contains("% of the step") && !divided.err.contains(advice), divided.err);
}

void TestCliOptimize::nothingFits() {
    const QString machine = machineWith("1e5");
    const QString out = path("misfit.json");
    const QStringList search{"optimize", path("diamond.json"), "--machine", machine, "--algorithm",
                             "random",   "--evaluations",      "50",        "--out", out};
    const QJsonObject found = object_of(search, 4);
    QCOMPARE(found["best"]["fits"].toBool(), false);
    QVERIFY(found["best"]["score_s"].toDouble() > found["best"]["step_time_s"].toDouble());
    QCOMPARE(QJsonDocument::fromJson(content_of(out))["predicted"]["fits"].toBool(true), false);
    QCOMPARE(
        object_of({"simulate", path("diamond.json"), "--machine", machine, "--placement", out})["step_time_s"]
            .toDouble(),
        found["best"]["step_time_s"].toDouble());
    const Result text = run(search);
    QCOMPARE(text.status, 4);
    QCOMPARE(text.err, QByteArray("placewright-cli: no placement that fits the memory was found\n"));
    QVERIFY2(text.out.contains(", does not fit the memory; "), text.out);
    // Bound and speed-up are not printed for a placement that does not fit.
    QVERIFY2(!text.out.contains("above optimal") && !text.out.contains("as fast as"), text.out);

    const Result unmeasured =
        run({"simulate", path("diamond.json"), "--machine", machine, "--cost", "measured"});
    QCOMPARE(unmeasured.status, 0);
    QVERIFY2(unmeasured.err.contains("4 ops has a measured time for ") && unmeasured.err.contains("none of "),
             unmeasured.err);
    QVERIFY(!run({"simulate", path("diamond.json"), "--machine", machine}).err.contains("measured"));
    QByteArray measured = content_of(path("diamond.json"));
    measured.replace("{\"M\"", "{\"GPU of elsewhere\"");
    const Result elsewhere =
        run({"simulate", write("elsewhere.json", measured), "--machine", machine, "--cost", "measured"});
    QVERIFY2(elsewhere.err.contains(
                 "; the network has times for GPU of elsewhere, but no device here has such a model"),
             elsewhere.err);
    // The catalogue knows the names of a device.
    measured.replace("{\"GPU of elsewhere\"", "{\"GeForce RTX 3090\"");
    const Result alias = run({"simulate", write("alias.json", measured), "--machine", "RTX 3090, EPYC 7742",
                              "--cost", "measured"});
    QCOMPARE(alias.status, 0);
    QVERIFY2(
        alias.err.contains("3 of 4 ops have no measured time for ") && !alias.err.contains("no device here"),
        alias.err);
    const Result trace =
        run({"simulate", write("run.trace.json", R"({"traceEvents": []})"), "--machine", machine});
    QCOMPARE(trace.status, 3);
    QVERIFY2(trace.err.contains("is a trace of a run, not a network: --times, or Run > Simulation in the "
                                "window, takes op times from it"),
             trace.err);

    // For another objective, the memory figures of that objective are printed, and "fits" is not claimed.
    const QString host = write("small-host.json", R"({
      "format": "placewright.machine", "version": 1, "name": "small host",
      "devices": [
        {"name": "cpu:0", "kind": "cpu", "model": "C", "peak_flops": 1e11, "memory_bandwidth": 1e12, "memory_bytes": 1e5},
        {"name": "gpu:0", "kind": "gpu", "model": "M", "peak_flops": 1e12, "memory_bandwidth": 1e12, "memory_bytes": 1e5}
      ],
      "channels": [{"name": "bus", "bandwidth": 1e9}],
      "routes": [{"from": "cpu:0", "to": "gpu:0", "channels": ["bus"]}, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]}]
    })");
    const Result single =
        run({"simulate", path("diamond.json"), "--machine", host, "--objective", "max-load"});
    QCOMPARE(single.status, 0);
    QVERIFY2(single.out.contains("Max load ") && single.out.contains("holds") &&
                 single.out.contains(", does not fit the memory\n"),
             single.out);
    QVERIFY2(!single.out.contains(", fits the memory"), single.out);
    // For this objective it is proven that no placement fits.
    const Result none = run({"optimize", path("diamond.json"), "--machine", host, "--objective", "max-load"});
    QCOMPARE(none.status, 4);
    QVERIFY2(none.err.contains(" fits the memory: the ops hold ") &&
                 none.err.contains("the 200 kB of memory of the devices"),
             none.err);
}

void TestCliOptimize::interrupted_data() {
    QTest::addColumn<int>("signal");
    QTest::newRow("SIGINT") << SIGINT;
    QTest::newRow("SIGTERM") << SIGTERM;
    QTest::newRow("SIGHUP") << SIGHUP;
}

void TestCliOptimize::interrupted() {
    QFETCH(int, signal);
    const QString out = path("cancelled.json");
    const QStringList problem{"resnet50", "--machine", "4x-v100-nvlink"};
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, QStringList{"optimize"} + problem +
                                       QStringList{"--algorithm", "genetic", "--evaluations", "1000000000",
                                                   "--out", out, "--json"});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("best "), terminal.seen());
    QVERIFY2(QRegularExpression("of 1\\.00 G evaluations, best ")
                 .match(QString::fromUtf8(terminal.seen()))
                 .hasMatch(),
             terminal.seen());
    ::kill(static_cast<pid_t>(process.processId()), signal);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    const QJsonObject found =
        json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130).object();
    QVERIFY(found["evaluations"].toDouble() > 0 && found["evaluations"].toDouble() < 1e9);
    QCOMPARE(object_of(QStringList{"simulate"} + problem + QStringList{"--placement", out})["step_time_s"]
                 .toDouble(),
             found["best"]["step_time_s"].toDouble());
    // The progress line is cleared.
    QVERIFY2(terminal.wait_for("\r\x1b[K", true), terminal.seen());
}

void TestCliOptimize::ignoredHangup() {
    // As nohup starts a program.
    Terminal terminal;
    QProcess process;
    const int errors = terminal.slave();
    process.setChildProcessModifier([errors] {
        dup2(errors, STDERR_FILENO);
        std::signal(SIGHUP, SIG_IGN);
    });
    process.start(PLACEWRIGHT_CLI,
                  diamond("optimize", {"--algorithm", "random", "--evaluations", "1000000000000"}));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("best "), terminal.seen());
    const QRegularExpressionMatch ignored =
        QRegularExpression("SigIgn:\\s*([0-9a-f]+)")
            .match(QString::fromUtf8(content_of(QString("/proc/%1/status").arg(process.processId()))));
    QVERIFY(ignored.hasMatch());
    QVERIFY(((ignored.captured(1).toULongLong(nullptr, 16) >> (SIGHUP - 1)) & 1) == 1);
}

void TestCliOptimize::secondInterrupt() {
    // No process reads the pipe, so writing the placement blocks forever.
    const QString out = path("pipe");
    QCOMPARE(mkfifo(qPrintable(out), 0600), 0);
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, diamond("optimize", {"--algorithm", "random", "--evaluations",
                                                        "1000000000000", "--out", out, "--json"}));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("best "), terminal.seen());
    interrupt(process);
    while (!process.canReadLine()) QVERIFY(process.waitForReadyRead(kPatienceMs));
    interrupt(process);  // the same press
    QVERIFY(!process.waitForFinished(1100));
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitStatus(), QProcess::CrashExit);
    QCOMPARE(process.exitCode(), SIGINT);
}

void TestCliOptimize::unwritablePlacement() {
    const QStringList search{"optimize",    "alexnet", "--machine", "1x-v100",
                             "--algorithm", "genetic", "--out"};
    for (const QString& out : {path("no/such/folder/p.json"), m_folder.path()}) {
        QElapsedTimer timer;
        timer.start();
        // The file is refused before the search, not after it.
        const Result result = run(search + QStringList{out, "--evaluations", "1000000000000"});
        QCOMPARE(result.status, 3);
        QCOMPARE(result.out, QByteArray());
        QVERIFY2(result.err.startsWith(out.toUtf8() + ": cannot be written: "), result.err);
    }
    // The result is not lost if the disk is full at the end.
    if (!QFile::exists("/dev/full")) return;
    const Result result = run(search + QStringList{"/dev/full", "--evaluations", "10", "--json"});
    QCOMPARE(json_of(result, 3)["evaluations"].toInt(), 10);
    QVERIFY2(result.err.startsWith("/dev/full: cannot be written: "), result.err);
}

QTEST_GUILESS_MAIN(TestCliOptimize)
#include "tst_cli_optimize.moc"
