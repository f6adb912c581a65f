// SPDX-License-Identifier: MIT
// The command line: compare and codesign.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliCompare : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void compareJson();
    void compareText();
    void compareObjectives();
    void codesignLeavesNoOldDesigns();
    void codesignCountsMachines();
    void codesignInterrupted();
    void compareTables();
    void whatIsReadIsNotWritten();
    void compareNothingFits();
    void compareInterrupted();
};

void TestCliCompare::compareJson() {
    const auto comparison = [](int threads) {
        return object_of({"compare", "alexnet,resnet50", "--machine", "4x-v100-pcie,1x-v100", "--batches",
                          "4", "--in-flight", "4", "--algorithms", "genetic,map-elites,single-device",
                          "--set", "genetic.population_size=20", "--seeds", "3", "--evaluations", "60",
                          "--threads", QString::number(threads)});
    };
    const QJsonObject found = comparison(1);
    QCOMPARE(found.keys(), sorted({"evaluations", "seeds", "cancelled", "cases"}));
    QCOMPARE(found["evaluations"].toInt(), 60);
    QCOMPARE(found["seeds"].toInt(), 3);
    QCOMPARE(found["cancelled"].toBool(true), false);
    const QJsonArray cases = found["cases"].toArray();
    QCOMPARE(cases.size(), 4);
    QCOMPARE(cases[1]["network"].toString() + ' ' + cases[1]["machine"].toString(),
             QString("alexnet 1x-v100"));
    QCOMPARE(cases[2]["network"].toString() + ' ' + cases[2]["machine"].toString(),
             QString("resnet50 4x-v100-pcie"));

    const QJsonObject alexnet = cases[0].toObject();
    QCOMPARE(alexnet.keys(), sorted({"network", "machine", "one_device_s", "best_known_s", "algorithms",
                                     "tests", "lower_bound_s", "bound"}));
    const double bound_s = alexnet["lower_bound_s"].toDouble();
    QCOMPARE(bound_s, object_of({"bound", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4",
                                 "--in-flight", "4"})["lower_bound_s"]
                          .toDouble());
    const QJsonArray algorithms = alexnet["algorithms"].toArray();
    QCOMPARE(algorithms.size(), 3);
    double best_s = std::numeric_limits<double>::infinity();
    for (const QJsonValue& algorithm : algorithms) {
        QCOMPARE(algorithm.toObject().keys(),
                 sorted({"algorithm", "options", "mean_s", "deviation_s", "half_width_95_s", "best_s",
                         "fitting", "near", "half_near", "speedup", "runs", "gap", "equal_to_fastest"}));
        QVERIFY(std::abs(algorithm["gap"].toDouble() - (algorithm["best_s"].toDouble() / bound_s - 1)) <
                1e-12);
        const QJsonArray runs = algorithm["runs"].toArray();
        QCOMPARE(runs.size(), 3);
        double sum_s = 0;
        for (int i = 0; i < 3; ++i) {
            QCOMPARE(runs[i].toObject().keys(), sorted({"seed", "score_s", "step_time_s", "fits",
                                                        "evaluations", "simulations", "wall_s", "near"}));
            QCOMPARE(runs[i]["seed"].toInt(), i + 1);
            sum_s += runs[i]["score_s"].toDouble();
            best_s = std::min(best_s, runs[i]["score_s"].toDouble());
        }
        QVERIFY(std::abs(algorithm["mean_s"].toDouble() - sum_s / 3) < 1e-12);
        QVERIFY(std::abs(algorithm["speedup"].toDouble() -
                         alexnet["one_device_s"].toDouble() / algorithm["mean_s"].toDouble()) < 1e-12);
    }
    QCOMPARE(alexnet["best_known_s"].toDouble(), best_s);
    QCOMPARE(algorithms[0]["options"].toObject(), QJsonObject({{"population_size", 20}}));
    // The same result as optimize, from the same starts.
    const QJsonObject alone =
        object_of({"optimize", "alexnet", "--machine", "4x-v100-pcie", "--batches", "4", "--in-flight", "4",
                   "--algorithm", "map-elites", "--evaluations", "60", "--seed", "2"});
    QCOMPARE(algorithms[1]["runs"][1]["score_s"].toDouble(), alone["best"]["score_s"].toDouble());
    // All runs of single-device are equal; there are four devices.
    QCOMPARE(algorithms[2]["speedup"].toDouble(), 1.0);
    QCOMPARE(algorithms[2]["deviation_s"].toDouble(-1), 0.0);
    QCOMPARE(algorithms[2]["runs"][0]["evaluations"].toInt(), 4);
    const QJsonArray tests = alexnet["tests"].toArray();
    QCOMPARE(tests.size(), 3);
    QCOMPARE(tests[0].toObject().keys(), sorted({"first", "second", "t", "degrees_of_freedom", "p"}));
    QCOMPARE(tests[1]["first"].toString() + ' ' + tests[1]["second"].toString(),
             QString("genetic single-device"));
    QVERIFY(tests[0]["p"].toDouble() > 0 && tests[0]["p"].toDouble() <= 1);

    // The same with any number of threads, except the seconds.
    const auto scores = [](const QJsonObject& result) {
        QList<double> list;
        for (const QJsonValue& item : result["cases"].toArray()) {
            for (const QJsonValue& algorithm : item["algorithms"].toArray()) {
                for (const QJsonValue& run : algorithm["runs"].toArray())
                    list << run["score_s"].toDouble() << run["simulations"].toDouble()
                         << run["near"]["evaluations"].toDouble();
            }
        }
        return list;
    };
    QCOMPARE(scores(comparison(3)), scores(found));
    QCOMPARE(scores(found).size(), 4 * 3 * 3 * 3);
}

void TestCliCompare::compareText() {
    const Result result = run(diamond("compare", {"--algorithms", "single-device,expert", "--seeds", "2"}));
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.startsWith("diamond on pair\nbest known 6.00 ms, one device 6.00 ms, bound 6.00 ms "
                                   "(windows)\n\nalgorithm "),
             result.out);
    const auto has_line = [&](const char* pattern) {
        return QRegularExpression(pattern, QRegularExpression::MultilineOption)
            .match(QString::fromUtf8(result.out))
            .hasMatch();
    };
    QVERIFY2(has_line("^single-device +6\\.00 ms +0 s +6\\.00 ms +2 of 2, median 1, .* +1\\.00 +best +0 %$"),
             result.out);
    QVERIFY2(has_line("^expert +8\\.00 ms +0 s +8\\.00 ms +0 of 2 +0\\.75 +- +34 %$"), result.out);
    QVERIFY2(widest_line(result.out) <= 100, result.out);
    // 8 ms is within 5 % of 7.7 ms.
    const QByteArray given =
        run(diamond("compare", {"--algorithms", "expert", "--seeds", "1", "--best-known", "0.0077"})).out;
    QVERIFY2(given.contains("best known 7.70 ms") && given.contains("1 of 1, median 1"), given);
}

void TestCliCompare::compareObjectives() {
    const QStringList load{"alexnet", "--machine", "4x-v100-pcie", "--objective", "max-load"};
    const QJsonObject found = object_of(
        QStringList{"compare"} + load +
        QStringList{"--algorithms", "ideals-dp,single-device", "--seeds", "1", "--evaluations", "20"});
    const QJsonObject alone = object_of(QStringList{"optimize"} + load +
                                        QStringList{"--algorithm", "ideals-dp", "--evaluations", "20"});
    const QJsonValue run = found["cases"][0]["algorithms"][0]["runs"][0];
    QVERIFY(!run["step_time_s"].isDouble());
    QCOMPARE(run["max_load_s"].toDouble(), alone["best"]["objective_s"].toDouble());
    QVERIFY(run["max_load_s"].toDouble() <
            found["cases"][0]["algorithms"][1]["runs"][0]["max_load_s"].toDouble());
}

/// Files of a longer front from an earlier run are removed.
void TestCliCompare::codesignLeavesNoOldDesigns() {
    const QString folder = path("designs");
    const QStringList arguments{"codesign",      "alexnet", "--catalogue", "workstation-2021",
                                "--budget",      "3000",    "--designs",   "4",
                                "--evaluations", "5",       "--out",       folder};
    QCOMPARE(run(arguments).status, 0);
    const QStringList files = QDir(folder).entryList(QDir::Files);
    QVERIFY(!files.isEmpty());
    const QString next = folder + "/design-" + QString::number(files.size() / 2 + 1);
    for (const char* kind : {".machine.json", ".placement.json"})
        QVERIFY(QFile::copy(folder + "/design-1" + kind, next + kind));
    QCOMPARE(run(arguments).status, 0);
    QCOMPARE(QDir(folder).entryList(QDir::Files), files);
    // Gap to the bound of each point's own machine.
    const QJsonArray front = object_of(arguments)["front"].toArray();
    QCOMPARE(front.size(), files.size() / 2);
    for (int i = 0; i < front.size(); ++i) {
        const double bound_s = front[i]["lower_bound_s"].toDouble();
        QVERIFY(bound_s > 0 && bound_s <= front[i]["step_time_s"].toDouble());
        const QString machine = folder + "/design-" + QString::number(i + 1) + ".machine.json";
        QCOMPARE(object_of({"bound", "alexnet", "--machine", machine})["lower_bound_s"].toDouble(), bound_s);
    }
}

void TestCliCompare::codesignCountsMachines() {
    const auto told = [&](const char* budget, const char* designs) {
        const Result result =
            run({"codesign", "alexnet", "--catalogue", "workstation-2021", "--budget", budget, "--designs",
                 designs, "--evaluations", "5", "--out", path("counted")});
        return result.status == 0 ? result.out : result.err;
    };
    const auto one = told("8000", "1"), whole = told("2500", "1"), two = told("8000", "2");
    QVERIFY2(
        one.contains(" USD: 1 machine tried\n") && one.contains("\n1 machine with its placement written to "),
        one);
    QVERIFY2(whole.contains(" USD: 1 machine tried, the only possible one\n"), whole);
    QVERIFY2(two.contains(" USD: 2 machines tried\n") &&
                 two.contains("\n2 machines with their placements written to "),
             two);
}

/// A stop during the proof of bounds leaves the later ones out; the machines are all there.
void TestCliCompare::codesignInterrupted() {
    const QString folder = path("unproven");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI,
                  {"codesign", "resnet50", "--catalogue", "workstation-2021", "--budget", "40000",
                   "--designs", "40", "--evaluations", "5", "--json", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY2(terminal.wait_for("bound 1 of "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    const QJsonObject found =
        json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130).object();
    QCOMPARE(found["cancelled"].toBool(), true);
    QCOMPARE(found["designs"].toInt(), 40);
    const QJsonArray front = found["front"].toArray();
    QVERIFY(front.size() > 1 && front.last()["lower_bound_s"].isNull());
    QVERIFY(QFile::exists(folder + "/design-" + QString::number(front.size()) + ".machine.json"));
    QVERIFY2(terminal.wait_for("cancelled before all bounds were proven"), terminal.seen());
}

void TestCliCompare::compareTables() {
    const QString csv = path("runs.csv"), curves = path("curves.csv");
    // A file whose name contains a comma is one file.
    const QString network = write("one, two.json", content_of(path("diamond.json")));
    const Result result = run({"compare", network, "--machine", path("pair.json"), "--algorithms",
                               "single-device,expert", "--seeds", "2", "--csv", csv, "--curves", curves});
    QCOMPARE(result.status, 0);
    const QByteArrayList lines = lines_of(content_of(csv));
    QCOMPARE(lines.size(), 5);
    QCOMPARE(
        lines[0],
        QByteArray("network,machine,algorithm,seed,score_s,step_time_s,fits,evaluations,simulations,wall_s,"
                   "evaluations_to_near,seconds_to_near,lower_bound_s,one_device_s,curve"));
    QVERIFY2(result.out.contains(", bound 6.00 ms (windows)\n") && result.out.contains("above bound\n"),
             result.out);
    QVERIFY2(result.out.contains("  0 %\n"), result.out);  // 6 ms on one device
    const QByteArray begin = '"' + network.toUtf8() + "\"," + path("pair.json").toUtf8() + ',';
    QVERIFY2(lines[2].startsWith(begin) && lines[4].startsWith(begin), lines[2] + lines[4]);
    const QByteArrayList single = lines[2].mid(begin.size()).split(','),
                         expert = lines[4].mid(begin.size()).split(',');
    QCOMPARE(single.mid(0, 2) + single.mid(4, 3), (QByteArrayList{"single-device", "2", "true", "2", "2"}));
    QCOMPARE(single[2].toDouble(), 0.006);
    QCOMPARE(single[3].toDouble(), 0.006);
    QCOMPARE(single[8], QByteArray("1"));
    QCOMPARE(expert.mid(0, 2) + expert.mid(4, 3), (QByteArrayList{"expert", "2", "true", "1", "1"}));
    QCOMPARE(expert[2].toDouble(), 0.008);
    QCOMPARE(expert.mid(8, 2), (QByteArrayList{"", ""}));
    QVERIFY(std::abs(expert[10].toDouble() - 0.006) < 1e-9);
    const QByteArrayList points = lines_of(content_of(curves));
    QCOMPARE(points[0], QByteArray("network,machine,algorithm,seed,evaluations,seconds,best_s,mean_s"));
    QVERIFY2(points[1].startsWith(begin + "single-device,1,1,"), points[1]);
    QCOMPARE(points[1].split(',').at(points[1].count(',') - 1).toDouble(), 0.006);

    // Nothing is printed for an objective that is not defined.
    const Result undefined = run({"compare", "resnet50", "--inference", "--machine", "4x-v100-pcie",
                                  "--objective", "block-latency", "--algorithms", "random", "--seeds", "1",
                                  "--evaluations", "1", "--csv", csv, "--curves", curves});
    QCOMPARE(undefined.status, 4);
    const QByteArrayList run_fields = lines_of(content_of(csv))[1].split(','),
                         point_fields = lines_of(content_of(curves))[1].split(',');
    QCOMPARE(run_fields.mid(4, 3), (QByteArrayList{"", "", "false"}));
    QCOMPARE(point_fields.mid(6), (QByteArrayList{"", ""}));
    QVERIFY2(undefined.out.contains("not defined") && !undefined.out.contains("000000"), undefined.out);
    const QJsonObject standing =
        object_of({"compare", "resnet50", "--inference", "--machine", "4x-v100-pcie", "--objective",
                   "block-latency", "--algorithms", "random", "--seeds", "1", "--evaluations", "1"},
                  4)["cases"][0]["algorithms"][0]
            .toObject();
    for (const char* member : {"mean_s", "deviation_s", "half_width_95_s", "best_s"})
        QVERIFY2(standing[member].isNull(), member);
    const QString arguments =
        "optimize resnet50 --inference --machine 4x-v100-pcie --algorithm random "
        "--evaluations 1 --objective block-latency";
    const QStringList optimize = arguments.split(' ');
    const Result one = run(optimize);
    QCOMPARE(one.status, 4);
    QVERIFY2(one.out.contains("\nbest Block latency not defined\n") && !one.out.contains("No option"),
             one.out);
    QVERIFY2(one.err.contains("Block latency is not defined for any placement that was tried: the placement "
                              "contracts to a cycle"),
             one.err);
    const QJsonObject found = object_of(optimize, 4);
    const QJsonObject best = found["best"].toObject();
    QVERIFY(best["objective_s"].isNull() && best["score_s"].isNull());
    const QJsonArray curve = found["curve"].toArray();
    QCOMPARE(curve, QJsonArray{(QJsonArray{1, QJsonValue()})});

    const Result refused =
        run(diamond("compare", {"--algorithms", "expert", "--csv", path("nowhere/runs.csv")}));
    QCOMPARE(refused.status, 3);
    QCOMPARE(refused.out, QByteArray());
    // An error in the last name is reported before the first search.
    const Result mistyped = run({"compare", path("diamond.json") + ",nothing", "--machine", path("pair.json"),
                                 "--algorithms", "expert"});
    QCOMPARE(mistyped.status, 3);
    QCOMPARE(mistyped.out, QByteArray());
    QVERIFY2(mistyped.err.startsWith("nothing: there is no such file"), mistyped.err);
}

void TestCliCompare::whatIsReadIsNotWritten() {
    const QString network = path("kept.json"), machine = path("kept_machine.json");
    QVERIFY(QFile::copy(path("diamond.json"), network) && QFile::copy(path("pair.json"), machine));
    const QByteArray before = content_of(network), machine_before = content_of(machine);
    const QStringList job{network, "--machine", machine};
    for (const auto& [command, option, file] :
         {std::tuple{QStringList{"simulate"}, QString("--trace"), network},
          {QStringList{"optimize"}, QString("--out"), machine},
          {QStringList{"export", "--to", "placement"}, QString("--out"), path("./kept.json")}}) {
        const Result refused = run(command.mid(0, 1) + job + command.mid(1) + QStringList{option, file});
        QCOMPARE(refused.status, 2);
        QVERIFY2(refused.err.contains("is an input too and would be overwritten; give another name"),
                 refused.err);
    }
    QCOMPARE(content_of(network), before);
    QCOMPARE(content_of(machine), machine_before);

    const QString policy = path("kept.safetensors");
    QCOMPARE(run(lesson({"--updates", "1", "--out", policy})).status, 0);
    const QByteArray policy_before = content_of(policy);
    const QString design = path("design-2.machine.json");
    QVERIFY(QFile::copy(network, design));
    for (const QStringList& arguments :
         {QStringList{"train"} + job + QStringList{"--updates", "1", "--curve", network},
          QStringList{"train", path("diamond.json"), network, "--machine", machine, "--updates", "1",
                      "--curve", network},
          QStringList{"train"} + job + QStringList{"--updates", "1", "--curve", machine},
          QStringList{"predict", policy} + job + QStringList{"--out", policy},
          QStringList{"predict", policy} + job + QStringList{"--out", network},
          QStringList{"compare", path("diamond.json") + ',' + network, "--machine", machine, "--algorithms",
                      "heft", "--csv", network},
          QStringList{"codesign", design, "--catalogue", "workstation-2021", "--budget", "20000", "--designs",
                      "1", "--evaluations", "1", "--out", m_folder.path()},
          QStringList{"experiment", "e3", "--network", "resnet50=" + path("e3.md"), "--out",
                      m_folder.path()}}) {
        if (arguments.first() == QLatin1String("experiment")) QVERIFY(QFile::copy(network, path("e3.md")));
        const Result refused = run(arguments);
        QVERIFY2(refused.status == 2 &&
                     refused.err.contains("is an input too and would be overwritten; give another name"),
                 qPrintable(arguments.join(' ') + '\n' + refused.err));
    }
    // Two outputs in one file are refused, whether the file exists or not.
    const QString both = path("both.out");
    for (const QStringList& arguments :
         {QStringList{"train"} + job +
              QStringList{"--updates", "1", "--out", both, "--curve", path("./both.out")},
          lesson({"--updates", "1", "--resume", "--out", policy, "--curve", policy}),
          QStringList{"compare"} + job + QStringList{"--algorithms", "heft", "--csv", both, "--curves", both},
          QStringList{"optimize"} + job +
              QStringList{"--evaluations", "1", "--scores", both, "--out", both}}) {
        const Result refused = run(arguments);
        QVERIFY2(refused.status == 2 && QRegularExpression("is also written by --\\w+; give another name")
                                            .match(refused.err)
                                            .hasMatch(),
                 qPrintable(arguments.join(' ') + '\n' + refused.err));
    }
    QVERIFY(!QFile::exists(both));
    QCOMPARE(content_of(network), before);
    QCOMPARE(content_of(design), before);
    QCOMPARE(content_of(machine), machine_before);
    QCOMPARE(content_of(policy), policy_before);
    QCOMPARE(run({"compare", network, "--machine", machine, "--algorithms", "heft", "--csv", "/dev/null",
                  "--curves", "/dev/null"})
                 .status,
             0);
}

void TestCliCompare::compareNothingFits() {
    const QStringList arguments{"compare",       path("diamond.json"),
                                "--machine",     machineWith("1e5"),
                                "--algorithms",  "random,expert",
                                "--seeds",       "2",
                                "--evaluations", "20"};
    const QJsonObject found = object_of(arguments, 4);
    QVERIFY(found["cases"][0]["one_device_s"].isNull());
    QVERIFY(found["cases"][0]["algorithms"][0]["speedup"].isNull());
    QCOMPARE(found["cases"][0]["algorithms"][0]["fitting"].toInt(-1), 0);
    const Result text = run(arguments);
    // The memory penalty is not a time, so no time or near-best count is printed.
    QVERIFY2(text.out.contains("\nno placement found that fits, one device does not fit the memory"),
             text.out);
    QVERIFY2(QRegularExpression("\nrandom +does not fit +- +does not fit +2 do not fit +- +-")
                 .match(QString::fromUtf8(text.out))
                 .hasMatch(),
             text.out);
}

void TestCliCompare::compareInterrupted() {
    const QString csv = path("cancelled.csv");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI,
                  diamond("compare", {"--algorithms", "expert,random", "--seeds", "2", "--evaluations",
                                      "1000000000000", "--threads", "1", "--csv", csv, "--json"}));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("1 of 4 searches, best "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    const QJsonObject found =
        json_of({process.exitCode(), process.readAllStandardOutput(), {}}, 130).object();
    QCOMPARE(found["cancelled"].toBool(), true);
    QCOMPARE(found["cases"][0]["algorithms"].toArray().size(), 1);
    QCOMPARE(found["cases"][0]["algorithms"][0]["algorithm"].toString(), QString("expert"));
    QCOMPARE(lines_of(content_of(csv)).size(), 2);
    QVERIFY2(terminal.wait_for("cancelled before all searches finished"), terminal.seen());
}

QTEST_GUILESS_MAIN(TestCliCompare)
#include "tst_cli_compare.moc"
