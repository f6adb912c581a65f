// SPDX-License-Identifier: MIT
// The command line: experiment.
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/onnx_models.hpp"

using namespace placewright::test;

class TestCliExperiment : public CliFixture {
    Q_OBJECT

private Q_SLOTS:
    void experiment();
    void partOfAnExperiment();
    void postExperiment();
    void experimentInterrupted();
    void seedsInterrupted();
    void trainingExperiments_data();
    void trainingExperiments();
    void farSightedOnOneFamily();
    void trainingExperimentInterrupted();
    void trainingInterrupted();
};

void TestCliExperiment::experiment() {
    const QString folder = path("e3");
    const Result result = run({"experiment", "e3", "--seeds", "2", "--evaluations", "30", "--out", folder});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.startsWith("normal, alexnet: Malvik with 2 GPUs of 32.0 GB; one GPU "),
             result.out.left(200));
    QVERIFY2(widest_line(result.out) <= 100, result.out);
    QVERIFY(QRegularExpression("^limited, resnet50: Malvik with 4 GPUs of .* GB; one GPU does not fit$",
                               QRegularExpression::MultilineOption)
                .match(QString::fromUtf8(result.out))
                .hasMatch());
    // With so few evaluations no search finds the optimum of the large networks.
    QVERIFY2(result.out.contains("\ndiffers  normal  MAP-Elites finds the optimum, one GPU (or better).\n"),
             result.out);

    const QByteArray report = content_of(folder + "/e3.md");
    for (const char* row :
         {"| genetic | population_size | 50 |", "| genetic | elite_size | 5 |",
          "| map-elites | tournament_size | 10 |", "| map-elites | copy_mutation_rate | 0.4 |",
          "| pipelined | inception_v3 | ", "| differs | normal | MAP-Elites finds"})
        QVERIFY2(report.contains(row), row);
    const QByteArrayList runs = lines_of(content_of(folder + "/runs.csv"));
    const auto algorithms = report.contains("| simulated-annealing | ") ? 4 : 3;
    QCOMPARE(runs.size(), 1 + 9 * algorithms * 2);
    QVERIFY2(runs[1].startsWith("normal,alexnet,hill-climbing,1,"), runs[1]);
    QVERIFY(lines_of(content_of(folder + "/curves.csv")).size() > runs.size());
}

void TestCliExperiment::partOfAnExperiment() {
    const QString folder = path("part");
    const Result result =
        run({"experiment", "e3", "--seeds", "1", "--evaluations", "30", "--only", "limited,alexnet", "--only",
             "resnet50", "--algorithm", "genetic", "--algorithm", "map-elites", "--out", folder});
    QCOMPARE(result.status, 0);
    QByteArrayList searches;
    for (const QByteArray& line : lines_of(content_of(folder + "/runs.csv")).mid(1))
        searches << line.split(',').mid(0, 3).join(' ');
    QCOMPARE(searches, QByteArrayList({"normal resnet50 genetic", "normal resnet50 map-elites",
                                       "limited alexnet genetic", "limited alexnet map-elites",
                                       "limited resnet50 genetic", "limited resnet50 map-elites",
                                       "pipelined resnet50 genetic", "pipelined resnet50 map-elites"}));
    const QByteArray out = QString::fromUtf8(result.out).simplified().toUtf8();
    QVERIFY2(
        out.contains(
            "Only a part of the experiment ran, and the findings refer to it: Only the cases "
            "limited,alexnet; resnet50. "
            "Only genetic, map-elites. Only 30 of 20000 placements for each search. Only 1 of 50 seeds."),
        result.out);
    QVERIFY2(out.contains(" findings are omitted: their cases did not run to the end.") &&
                 out.contains("; 1 case was not run"),
             result.out);
    const QByteArray report = content_of(folder + "/e3.md");
    QVERIFY2(!report.contains("inception_v3 |") && !report.contains("| hill-climbing |"), report);
    // Tables of papers omit rows that did not run.
    const Result row = run({"experiment", "placeto", "--seeds", "1", "--evaluations", "4", "--only", "nmt2",
                            "--algorithm", "scotch"});
    QCOMPARE(row.status, 0);
    QCOMPARE(row.out.count("\nnmt2, 2 "), 2);
    QCOMPARE(row.out.count("\nnmt4, 4 "), 1);
}

void TestCliExperiment::postExperiment() {
    const QString folder = path("post");
    const Result result =
        run({"experiment", "post", "--seeds", "1", "--evaluations", "60", "--threads", "1", "--out", folder});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.err, QByteArray());
    QVERIFY2(result.out.startsWith("rnnlm4 on 2x K80; one GPU "), result.out.left(200));
    QVERIFY2(result.out.contains("\nnmt8 on 8x K80; one GPU does not fit\n"), result.out);

    const QByteArray report = content_of(folder + "/post.md");
    for (const char* row :
         {"\nEvaluations of each search: 60; seeds: 1. Batch size 32", "| post | reward | seconds |",
          "| expert | devices | 1 |", "| metis | parts | 8 |", "| resnet200, 2 | ",
          "| inception_v3, 4 | 1.75 s | 1.75 s | 6.07 s | 1.82 s | 1.19 s | 34.6 % |",
          "| nmt8, 8 | OOM | 5.11 s | 12.7 s | 5.35 s | 2.20 s | 58.9 % |",
          "| ResNet | One GPU is the best placement",
          "| all rows | Post is at least as good as policy gradient", "| policy-gradient | 11 | "})
        QVERIFY2(report.contains(row), row);
    QVERIFY2(QRegularExpression(
                 "\\| (holds|differs|undecided) \\| all rows \\| Post finds faster placements .* \\| "
                 "policy-gradient: faster in \\d+ of 11 pairs, p ")
                 .match(QString::fromUtf8(report))
                 .hasMatch(),
             report);
    const QByteArrayList runs = lines_of(content_of(folder + "/runs.csv"));
    QCOMPARE(runs.size(), 1 + 11 * 7);
    QVERIFY2(runs[1].startsWith("rnnlm4,2,single-device,1,"), runs[1]);
    // Searches as short as these 60 placements have all of them.
    const QByteArray means = content_of(folder + "/means.csv");
    for (const char* id : {"cross-entropy", "policy-gradient", "ppo", "post"})
        QCOMPARE(means.count("\nnmt2,2," + QByteArray(id) + ",1,"), 60);
}

void TestCliExperiment::experimentInterrupted() {
    const QString folder = path("e3-cancelled");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"experiment", "e3", "--seeds", "1", "--evaluations", "3000", "--threads",
                                    "1", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("2 of 9: normal, resnet50: "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray out = process.readAllStandardOutput();
    QVERIFY2(out.contains(" findings are omitted: their cases did not run"), out);
    QVERIFY(content_of(folder + "/runs.csv").contains("normal,alexnet,map-elites,1,"));
    QVERIFY(!content_of(folder + "/runs.csv").contains("inception_v3"));
    // No verdict rests on a part of the cases of its claim, as one about all three networks would.
    const QByteArray report = content_of(folder + "/e3.md");
    QVERIFY2(report.contains("\n\nOnly a part of the experiment ran, and the findings refer to it: Only 3000 "
                             "of 20000 placements for each search. Only 1 of 50 seeds. Interrupted: 1 of 9 "
                             "cases ran to the end"),
             report);
    for (const char* claim : {"Hill climbing is clearly worse than", "MAP-Elites finds the optimum"}) {
        QVERIFY2(report.contains("| undecided | normal | " + QByteArray(claim)), report);
        QVERIFY2(out.contains("\nundecided  normal  " + QByteArray(claim)), out);
    }

    // Results are not replaced unless that is asked for.
    const QStringList again{"experiment", "e3",  "--only",        "normal,alexnet",
                            "--seeds",    "1",   "--evaluations", "30",
                            "--out",      folder};
    const Result refused = run(again);
    QCOMPARE(refused.status, 3);
    QVERIFY2(refused.err.contains("e3.md: exists already; give another folder, or replace its results with "
                                  "--overwrite"),
             refused.err);
    QCOMPARE(content_of(folder + "/e3.md"), report);
    QCOMPARE(run(again + QStringList{"--overwrite"}).status, 0);
    QVERIFY(content_of(folder + "/e3.md") != report);
    QCOMPARE(run({"experiment", "e3", "--overwrite"}).status, 2);
}

/// A case of which some seeds ran has no verdict, and the report says how many these are.
void TestCliExperiment::seedsInterrupted() {
    const QString folder = path("seeds-cancelled");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"experiment", "policy", "--only", "alexnet,4x-v100-nvlink", "--seeds",
                                    "1000", "--threads", "1", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY2(terminal.wait_for(": 11 of "), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray report = content_of(folder + "/policy.md");
    QVERIFY2(QRegularExpression("\nOnly a part of the experiment ran.* Interrupted: 0 of 1 cases ran to the "
                                "end; [0-9]+ to [0-9]+ of 1000 seeds of alexnet, 4x-v100-nvlink\\.\n")
                 .match(QString::fromUtf8(report))
                 .hasMatch(),
             report);
    QVERIFY2(!report.contains("1 to 1000") && report.contains(" (cut short)\n"), report);
    QVERIFY2(!report.contains("| holds |") && !report.contains("| differs |"), report);
    QVERIFY2(report.contains("4 findings are omitted: their cases did not run to the end."), report);
}

void TestCliExperiment::trainingExperiments_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<int>("values");
    QTest::addColumn<int>("curvePoints");
    QTest::addColumn<QByteArrayList>("lines");      // of the values
    QTest::addColumn<QByteArrayList>("fragments");  // of the report
    const QStringList rnn{"--set", "colocrl.hidden=4", "--set", "colocrl.workers=2"};
    // Two test networks with eight schemes each; three trainings of each of two policies.
    QTest::newRow("families") << QStringList{"placeto-families", "--family", "nmt",       "--family", "ptb",
                                             "--count",          "4",        "--updates", "2"} +
                                     rnn
                              << 2 * 2 * 8 << 2 * 2 * 3 * 2
                              << QByteArrayList{"^nmt,one device,nmt_0.,1,([0-9.]+),\\1,true$",
                                                "^nmt,Scotch,nmt_0.,1,[0-9.]+,[0-9.]+,true$",
                                                "^ptb,one device,ptb_0.,1,[0-9.]+,,false$",
                                                "^nmt,Placeto zero-shot,nmt_0.,1,",
                                                "^nmt,RNN optimized,nmt_0.,1,[0-9.]+,[0-9.]+,true$"}
                              << QByteArrayList{"; networks of a family: 4; grouping: merge. 4 K80s",
                                                "| placeto | rounds | 1 |",
                                                "| colocrl | hidden | 4 |",
                                                "### nmt: step time",
                                                "| Placeto best on the way | 2 |",
                                                " findings are omitted: their cases did not run",
                                                " over 2 |"};
    QTest::newRow("rewards") << QStringList{"placeto-rewards", "--updates", "4"} << 2 << 2 * 4
                             << QByteArrayList{"^nmt2,intermediate,nmt2,1,", "^nmt2,terminal,nmt2,1,"}
                             // Two workers; eight decisions and the start (intermediate), or only the end
                             // (terminal).
                             << QByteArrayList{"| placeto | foresight | 0 |", "| 90 to 100 % | 72 | ",
                                               "| 90 to 100 % | 8 | ", "placements scored: 72, 8 |"};
    QTest::newRow("orders") << QStringList{"placeto-orders", "--count", "3", "--updates", "2"} + rnn
                            << 2 * (1 + 3) << 2 * 2
                            << QByteArrayList{"^inception_v3,Placeto optimized,inception_v3,1,",
                                              "^inception_v3,RNN,order 3,1,"}
                            << QByteArrayList{"| placeto | order | shuffled |",
                                              "| colocrl | order | shuffled |", "| Placeto | 3 | "};
    QTest::newRow("ablations") << QStringList{"placeto-ablations", "--count", "4", "--updates", "2"} << 3 * 2
                               << 3 * 2
                               << QByteArrayList{"^nmt,simple aggregator,nmt_0.,1,",
                                                 "^nmt,simple partitioner,nmt_0.,1,",
                                                 "^nmt,Placeto,nmt_0.,1,"}
                               << QByteArrayList{" 13 % on average (at least 5 %). | mean ", " over 2 |"};
}

void TestCliExperiment::trainingExperiments() {
    QFETCH(const QStringList, arguments);
    QFETCH(const int, values);
    QFETCH(const int, curvePoints);
    QFETCH(const QByteArrayList, lines);
    QFETCH(const QByteArrayList, fragments);
    const QStringList command =
        QStringList{"experiment"} + arguments + QStringList{"--group",  "merge",
                                                            "--groups", "8",
                                                            "--set",    "placeto.rounds=1",
                                                            "--set",    "placeto.width=2",
                                                            "--set",    "placeto.hidden=3",
                                                            "--set",    "placeto.workers=2"};
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
        for (const QByteArray& line : lines_of(file))
            QVERIFY2(line.count(',') == lines_of(file).front().count(','), line);
    }
    for (const QByteArray& line : lines)
        QVERIFY2(QRegularExpression(line, QRegularExpression::MultilineOption).match(table).hasMatch(),
                 line + " in\n" + table);
    const QByteArray report = content_of(folder + '/' + arguments.front() + ".md");
    for (const QByteArray& fragment : fragments)
        QVERIFY2(report.contains(fragment), fragment + " in\n" + report);

    const QString again = path(arguments.front() + "-again");
    QCOMPARE(run(command + QStringList{"--threads", "2", "--out", again}).status, 0);
    QCOMPARE(content_of(again + "/values.csv"), table);
    QCOMPARE(content_of(again + "/curves.csv"), curves);
}

/// The far-sighted preset is used only on nmt, and not if the user sets one of its options.
void TestCliExperiment::farSightedOnOneFamily() {
    const auto trained = [this](const QStringList& settings) {
        const QString folder = path("far-sighted");
        run(QStringList{"experiment",  "placeto-families",
                        "--family",    "nmt",
                        "--family",    "ptb",
                        "--count",     "2",
                        "--updates",   "1",
                        "--group",     "merge",
                        "--groups",    "8",
                        "--algorithm", "placeto",
                        "--threads",   "1",
                        "--out",       folder,
                        "--overwrite"} +
            settings);
        QByteArrayList nmt, ptb;
        for (const QByteArray& line : lines_of(content_of(folder + "/curves.csv")))
            (line.startsWith("nmt,") ? nmt : ptb) << line;
        return std::pair(nmt, ptb);
    };
    const auto [nmt, ptb] = trained({});
    QCOMPARE(nmt.size(), 2);
    const auto [nmt_preset, ptb_preset] = trained({"--set", "placeto.preset=far-sighted"});
    QCOMPARE(nmt_preset, nmt);
    QVERIFY(ptb_preset != ptb);
    QVERIFY(trained({"--set", "placeto.foresight=8"}).first != nmt);
}

void TestCliExperiment::trainingExperimentInterrupted() {
    const QString folder = path("families-cancelled");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"experiment", "placeto-families", "--count", "2", "--updates", "100000",
                                    "--group", "merge", "--groups", "8", "--threads", "1", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(process.waitForStarted());
    QVERIFY2(terminal.wait_for("cifar10, Placeto zero-shot, seed 1: 2 of 100000 updates"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray out = process.readAllStandardOutput();
    QVERIFY2(out.contains(" findings are omitted: their cases did not run"), out);
    const QByteArray values = content_of(folder + "/values.csv"), curves = content_of(folder + "/curves.csv");
    QVERIFY2(values.contains("\ncifar10,Scotch,cifar10_0"), values);
    QVERIFY2(!values.contains("zero-shot"), values);
    QVERIFY2(curves.contains("\ncifar10,Placeto zero-shot,,1,2,"), curves);
    QVERIFY2(terminal.wait_for("cancelled before all trainings finished"), terminal.seen());
    const QByteArray report = content_of(folder + "/placeto-families.md");
    QVERIFY2(report.contains(" Interrupted after 0 trainings and ") &&
                 report.contains(" of 100000 updates of the next.\n") && !report.contains("| holds |"),
             report);
}

/// The table of a training is scaled to the updates that were planned.
void TestCliExperiment::trainingInterrupted() {
    const QString folder = path("rewards-cancelled");
    Terminal terminal;
    QProcess process;
    terminal.attach(process);
    process.start(PLACEWRIGHT_CLI, {"experiment", "placeto-rewards", "--updates", "100000", "--group",
                                    "merge", "--groups", "8", "--threads", "1", "--out", folder});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY2(terminal.wait_for("nmt2, intermediate, nmt2, seed 1: 2 of 100000 updates"), terminal.seen());
    interrupt(process);
    QVERIFY(process.waitForFinished(kPatienceMs));
    QCOMPARE(process.exitCode(), 130);
    const QByteArray report = content_of(folder + "/placeto-rewards.md");
    QVERIFY2(report.contains("Only a part of the experiment ran") &&
                 report.contains(" Interrupted after 0 trainings and ") &&
                 report.contains(" of 100000 updates of the next.\n"),
             report);
    QVERIFY2(QRegularExpression("\n\\| 0 to 0\\.[0-9]+ % \\|").match(QString::fromUtf8(report)).hasMatch(),
             report);
    QVERIFY2(!report.contains("10 %"), report);
}

QTEST_GUILESS_MAIN(TestCliExperiment)
#include "tst_cli_experiment.moc"
