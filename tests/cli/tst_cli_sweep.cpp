// SPDX-License-Identifier: MIT
// The command line: sweep.
#include <QStandardPaths>

#include "tests/cli/cli_fixture.hpp"

using namespace placewright::test;

namespace {

/// The table without what depends on the time it took: columns wall_s and the seconds of the curve.
QByteArrayList untimed_rows(const QByteArray& table) {
    QByteArrayList rows = lines_of(table);
    const QByteArrayList header = rows.value(0).split(',');
    for (QByteArray& row : rows) {
        QByteArrayList fields = row.split(',');
        if (fields.size() != header.size()) qFatal("a row of another length");
        fields[header.indexOf("wall_s")].clear();
        QByteArray curve = fields[header.indexOf("curve")];
        QByteArray without;
        for (const QByteArray& point : curve.split(' '))
            without += point.split(':').value(0) + ':' + point.split(':').value(2) + ' ';
        fields[header.indexOf("curve")] = without;
        row = fields.join(',');
    }
    return rows;
}

/// A sweep whose second case takes longer than a test; it is killed at the end.
class LongSweep {
public:
    QProcess process;

    LongSweep(const QString& file, const QString& out) {
        terminal_.attach(process);
        process.start(PLACEWRIGHT_CLI, {"sweep", file, "--out", out, "--threads", "1"});
    }
    ~LongSweep() { process.kill(), process.waitForFinished(); }
    Q_DISABLE_COPY_MOVE(LongSweep)

    bool reaches_second_case() { return process.waitForStarted() && terminal_.wait_for("case 2 of 2: "); }
    bool ends_when_interrupted() {
        interrupt(process);
        return process.waitForFinished(kPatienceMs);
    }

private:
    Terminal terminal_;
};

}  // namespace

class TestCliSweep : public CliFixture {
    Q_OBJECT

    /// Two networks on two machines with two sets of options, two algorithms and three seeds: 48 searches.
    QString sweep(const QString& name, const QByteArray& evaluations = "50") const {
        return write(name, R"({"format": "placewright.sweep", "version": 1,
            "networks": ["diamond.json", "alexnet"], "machines": ["pair.json", "2x-v100-pcie"],
            "options": [{}, {"batches": 4, "in-flight": 2, "accumulate": false, "set": "genetic.elite_size=2"}],
            "algorithms": ["genetic", "single-device"], "seeds": 3, "evaluations": )" +
                               evaluations + "}");
    }

    /// Two cases for LongSweep.
    QString long_sweep(const QString& name) const {
        return write(name, R"({"format": "placewright.sweep", "version": 1,
            "networks": ["diamond.json", "inception_v3"], "machines": ["pair.json"],
            "algorithms": ["random"], "evaluations": 1000000, "seeds": 2})");
    }

private Q_SLOTS:
    void everySearchIsARow();
    void goesOnWhereItEnded();
    void partsMakeOneTable();
    void processesOfMpiAreParts();
    void interruptedSearchesAreRunAgain();
    void twoSweepsShareATable();
    void namesMayHaveLineEnds();
    void placementsAreWritten();
    void oneCaseThatFailsLeavesTheOthers();
    void whatIsReadIsNotWritten();
    void mistakesAreNamed_data();
    void mistakesAreNamed();
};

void TestCliSweep::everySearchIsARow() {
    const QString file = sweep("every.json"), out = path("every.csv");
    const QJsonObject found = object_of({"sweep", file, "--out", out});
    QCOMPARE(found["searches"].toInt(), 48);
    QCOMPARE(found["finished"].toInt(), 48);
    QCOMPARE(found["ran"].toInt(), 48);
    QVERIFY(found["failures"].toArray().isEmpty());
    const QByteArray table = content_of(out);
    const QByteArrayList rows = lines_of(table);
    QCOMPARE(rows.size(), 49);
    QVERIFY2(rows[0].startsWith("network,machine,options,algorithm,seed,budget,score_s,step_time_s,fits,"),
             rows[0]);
    QVERIFY2(rows[1].startsWith("diamond.json,pair.json,,genetic,1,50,"), rows[1]);
    QVERIFY(table.contains(
        "\nalexnet,2x-v100-pcie,batches=4 in-flight=2 set=genetic.elite_size=2,single-device,3,50,"));

    // Each row is what compare finds.
    const QString csv = path("compared.csv");
    object_of({"compare", "alexnet", "--machine", "2x-v100-pcie", "--batches", "4", "--in-flight", "2",
               "--set", "genetic.elite_size=2", "--algorithms", "genetic", "--seeds", "3", "--evaluations",
               "50", "--csv", csv});
    for (const QByteArray& row : lines_of(content_of(csv)).mid(1)) {
        // alexnet,2x-v100-pcie,genetic,SEED,SCORE,VALUE,…
        const QByteArrayList fields = row.split(',');
        const QByteArray wanted =
            "\nalexnet,2x-v100-pcie,batches=4 in-flight=2 set=genetic.elite_size=2,genetic," + fields[3] +
            ",50," + fields[4] + ',' + fields[5] + ',';
        QVERIFY2(table.contains(wanted), wanted);
    }

    const Result text = run({"sweep", file, "--out", out});
    QCOMPARE(text.status, 0);
    QVERIFY2(text.out.contains("0 searches run; 48 of 48 are in "), text.out);
    QVERIFY2(text.out.contains("best algorithm") && !text.out.contains("searches\n"), text.out);
    QVERIFY(widest_line(text.out) <= 100);
    // On one of two equal devices both algorithms leave the diamond as it is.
    QVERIFY2(text.out.contains("\n= other algorithms have the same mean, too\n"), text.out);
    QCOMPARE(content_of(out), table);
}

void TestCliSweep::goesOnWhereItEnded() {
    const QString file = sweep("resumed.json"), out = path("resumed.csv"), whole = path("whole.csv");
    object_of({"sweep", file, "--out", whole, "--threads", "1"});
    // A table of which half of the rows are there.
    QByteArrayList rows = lines_of(content_of(whole));
    QByteArray half;
    for (qsizetype i = 0; i < rows.size(); i += 2) half += rows[i] + '\n';
    write("resumed.csv", half);
    const QJsonObject found = object_of({"sweep", file, "--out", out});
    QCOMPARE(found["ran"].toInt(), 24);
    QCOMPARE(untimed_rows(content_of(out)), untimed_rows(content_of(whole)));

    // Searches that the file does not ask for stay; those of another budget are refused.
    const QString smaller = write("smaller.json", R"({"format": "placewright.sweep", "version": 1,
        "networks": ["alexnet"], "machines": ["2x-v100-pcie"], "algorithms": ["genetic"], "evaluations": 50, "seeds": [7]})");
    QCOMPARE(object_of({"sweep", smaller, "--out", out})["ran"].toInt(), 1);
    QCOMPARE(lines_of(content_of(out)).size(), 50);
    const Result refused = run({"sweep", sweep("longer.json", "60"), "--out", out});
    QCOMPARE(refused.status, 3);
    QVERIFY2(refused.err.contains("has searches of 50 evaluations") && refused.err.contains("asks for 60"),
             refused.err);

    // Only the table of a sweep is continued.
    const QString junk = write("junk.csv", "a,b\n1,2\n"), compared = path("of-compare.csv");
    object_of({"compare", "alexnet", "--machine", "2x-v100-pcie", "--algorithms", "random", "--seeds", "1",
               "--evaluations", "5", "--csv", compared});
    for (const QString& wrong : {junk, compared}) {
        const QByteArray before = content_of(wrong);
        const Result stopped = run({"sweep", smaller, "--out", wrong});
        QCOMPARE(stopped.status, 3);
        QVERIFY2(stopped.err.contains(wrong.toUtf8()) && stopped.err.contains("give another --out"),
                 stopped.err);
        QCOMPARE(content_of(wrong), before);
    }

    // A network that has changed since would make two halves that cannot be compared.
    const QString changing = write("changing.json", R"({"format": "placewright.sweep", "version": 1,
        "networks": ["own.json"], "machines": ["pair.json"], "algorithms": ["genetic"], "evaluations": 50, "seeds": 1})");
    write("own.json", QByteArray(kGraph).replace("TRAINING", "none"));
    object_of({"sweep", changing, "--out", path("changing.csv")});
    write("changing.json", content_of(changing).replace("\"seeds\": 1", "\"seeds\": 2"));
    write("own.json", QByteArray(kGraph).replace("TRAINING", "none").replace("2e9", "3e9"));
    const Result other = run({"sweep", changing, "--out", path("changing.csv")});
    QCOMPARE(other.status, 3);
    QVERIFY2(other.err.contains("own.json on pair.json") && other.err.contains("give another --out"),
             other.err);
    QVERIFY2(lines_of(other.out)[0].endsWith("above bound  searches"), other.out);
    QVERIFY2(lines_of(other.out)[1].endsWith("1 of 2"), other.out);
}

void TestCliSweep::partsMakeOneTable() {
    const QString file = sweep("parts.json"), out = path("parts.csv"), whole = path("parts-whole.csv");
    object_of({"sweep", file, "--out", whole});
    int ran = 0;
    for (const char* part : {"3/3", "1/3"})
        ran += object_of({"sweep", file, "--out", out, "--part", part})["ran"].toInt();
    QCOMPARE(ran, 32);
    QVERIFY(QFile::exists(path("parts.part-3-of-3.csv")));
    QCOMPARE(lines_of(content_of(out)).size(), 33);
    const Result last = run({"sweep", file, "--out", out, "--part", "2/3"});
    QCOMPARE(last.status, 0);
    QVERIFY2(last.out.contains("part 2 of 3: 16 searches run; 48 of 48 are in "), last.out);
    QCOMPARE(untimed_rows(content_of(out)), untimed_rows(content_of(whole)));
    QVERIFY(QDir(m_folder.path()).entryList({"parts.part-*"}).isEmpty());
}

void TestCliSweep::processesOfMpiAreParts() {
    if (QStandardPaths::findExecutable("mpirun").isEmpty()) QSKIP("there is no mpirun");
    qputenv("OMPI_ALLOW_RUN_AS_ROOT", "1");
    qputenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    const QString file = sweep("mpi.json"), out = path("mpi.csv"), whole = path("mpi-whole.csv");
    object_of({"sweep", file, "--out", whole});
    const Result result = run_program("mpirun", {"--oversubscribe", "-n", "3", PLACEWRIGHT_CLI, "sweep", file,
                                                 "--out", out, "--threads", "1"});
    QVERIFY2(result.status == 0, result.err);
    QCOMPARE(untimed_rows(content_of(out)), untimed_rows(content_of(whole)));
}

void TestCliSweep::interruptedSearchesAreRunAgain() {
    const QString file = long_sweep("long.json");
    const QString out = path("long.csv");
    LongSweep sweep(file, out);
    QVERIFY(sweep.reaches_second_case());
    QVERIFY(sweep.ends_when_interrupted());
    QCOMPARE(sweep.process.exitCode(), 130);
    const QByteArrayList rows = lines_of(content_of(out));
    QVERIFY2(rows.size() >= 3, content_of(out));
    QVERIFY2(rows[1].startsWith("diamond.json,pair.json,,random,1,1000000,"), rows[1]);
}

void TestCliSweep::placementsAreWritten() {
    const QString file = sweep("placements.json"), folder = path("placements");
    object_of({"sweep", file, "--out", path("placements.csv"), "--placements", folder});
    QCOMPARE(QDir(folder).entryList(QDir::Files).size(), 48);
    const QJsonObject simulated =
        object_of({"simulate", "alexnet", "--machine", "2x-v100-pcie", "--placement",
                   folder + "/alexnet on 2x-v100-pcie, genetic, seed 2.json"});
    QVERIFY(content_of(path("placements.csv"))
                .contains("\nalexnet,2x-v100-pcie,,genetic,2,50," +
                          QByteArray::number(simulated["step_time_s"].toDouble(), 'g', 17).left(12)));
    // What is in the table is not run again, and so has no placement in another folder.
    const Result again =
        run({"sweep", file, "--out", path("placements.csv"), "--placements", path("others")});
    QCOMPARE(again.status, 0);
    QVERIFY2(again.err.contains("lacks the placements of 48 searches"), again.err);
}

/// A sweep that is written while another runs into the same table.
void TestCliSweep::twoSweepsShareATable() {
    const QString file = long_sweep("first.json");
    const QString other = write("second.json", R"({"format": "placewright.sweep", "version": 1,
        "networks": ["alexnet"], "machines": ["pair.json"], "algorithms": ["genetic"],
        "evaluations": 20, "seeds": 3})");
    const QString out = path("shared.csv");
    LongSweep sweep(file, out);
    QVERIFY(sweep.reaches_second_case());
    QCOMPARE(object_of({"sweep", other, "--out", out})["finished"].toInt(), 3);
    QVERIFY(sweep.ends_when_interrupted());
    const QByteArray table = content_of(out);
    QCOMPARE(table.count("\nalexnet,pair.json,,genetic,"), 3);
    QCOMPARE(table.count("\ndiamond.json,pair.json,,random,"), 2);

    // What does not go with the sweep is left as it is.
    QFile::remove(out);
    LongSweep again(file, out);
    QVERIFY(again.reaches_second_case());
    QByteArray few = content_of(file);
    QFile::remove(out);
    object_of({"sweep", write("few.json", few.replace("1000000", "10")), "--out", out});
    const QByteArray others = content_of(out);
    QVERIFY(again.ends_when_interrupted());
    QCOMPARE(content_of(out), others);
    QCOMPARE(content_of(path("shared-2.csv")).count("\ndiamond.json,pair.json,,random,"), 2);
    QVERIFY2(again.process.readAllStandardOutput().contains("shared-2.csv"), "the table is not named");
}

void TestCliSweep::namesMayHaveLineEnds() {
    const QString file = write("lines.json", R"({"format": "placewright.sweep", "version": 1,
        "networks": ["alexnet"], "machines": ["2x RTX 4090,\n PCIe 4.0"], "algorithms": ["genetic"],
        "evaluations": 20, "seeds": 2})");
    const QStringList arguments{"sweep", file, "--out", path("lines.csv")};
    QCOMPARE(object_of(arguments)["ran"].toInt(), 2);
    const QJsonObject again = object_of(arguments);
    QCOMPARE(again["ran"].toInt(), 0);
    QCOMPARE(again["finished"].toInt(), 2);
    // A table that ends within such a name was cut off.
    QByteArray table = content_of(path("lines.csv"));
    write("lines.csv", table.left(table.lastIndexOf("RTX")));
    const Result cut = run(arguments);
    QCOMPARE(cut.status, 3);
    QVERIFY2(cut.err.contains("ends within quotes; the file is cut off or damaged"), cut.err);
}

void TestCliSweep::oneCaseThatFailsLeavesTheOthers() {
    const QString file = write("missing.json", R"({"format": "placewright.sweep", "version": 1,
        "networks": ["nowhere.onnx", "diamond.json"], "machines": ["pair.json"], "algorithms": ["genetic"],
        "evaluations": 50, "seeds": 2})");
    const Result result = run({"sweep", file, "--out", path("missing.csv")});
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains("nowhere.onnx on pair.json: "), result.err);
    QVERIFY2(result.out.contains("2 searches run; 2 of 4 are in "), result.out);
}

void TestCliSweep::whatIsReadIsNotWritten() {
    const QString file = sweep("kept.json");
    for (const QString& input : {file, path("diamond.json"), path("pair.json")}) {
        const QByteArray before = content_of(input);
        const Result result = run({"sweep", file, "--out", input});
        QCOMPARE(result.status, 2);
        QVERIFY2(result.err.contains("is an input too and would be overwritten"), result.err);
        QCOMPARE(content_of(input), before);
    }
}

void TestCliSweep::mistakesAreNamed_data() {
    QTest::addColumn<QByteArray>("from");
    QTest::addColumn<QByteArray>("to");
    QTest::addColumn<QByteArray>("complaint");
    QTest::newRow("option") << QByteArray(R"("batches": 4)") << QByteArray(R"("bacthes": 4)")
                            << QByteArray("compare: unknown option --bacthes (similar: --batches)");
    QTest::newRow("value") << QByteArray(R"("batches": 4)") << QByteArray(R"("batches": 0)")
                           << QByteArray("--batches");
    QTest::newRow("machine") << QByteArray(R"("batches": 4)") << QByteArray(R"("machine": "a")")
                             << QByteArray("belongs in \"machines\"");
    QTest::newRow("setting") << QByteArray("elite_size") << QByteArray("elite_sise")
                             << QByteArray("elite_sise");
    QTest::newRow("algorithm") << QByteArray("single-device") << QByteArray("singel-device")
                               << QByteArray("there is no algorithm singel-device");
    QTest::newRow("key") << QByteArray("\"seeds\"") << QByteArray("\"seed\"") << QByteArray("is not known");
    QTest::newRow("no network") << QByteArray(R"(["diamond.json", "alexnet"])") << QByteArray("[]")
                                << QByteArray("networks is empty, expected at least one name");
    QTest::newRow("twice") << QByteArray("\"alexnet\"") << QByteArray("\"diamond.json\"")
                           << QByteArray("is there twice");
    QTest::newRow("objectives") << QByteArray(R"("accumulate": false)")
                                << QByteArray(R"("objective": "max-load")")
                                << QByteArray("a table has one objective");
}

void TestCliSweep::mistakesAreNamed() {
    QFETCH(QByteArray, from);
    QFETCH(QByteArray, to);
    QFETCH(QByteArray, complaint);
    const QByteArray right = content_of(sweep("mistake.json"));
    QVERIFY(right.contains(from));
    const Result result = run(
        {"sweep", write("mistake.json", QByteArray(right).replace(from, to)), "--out", path("mistake.csv")});
    QVERIFY2(result.status == 2 || result.status == 3, QByteArray::number(result.status));
    QVERIFY2(result.err.contains(complaint), result.err);
    QCOMPARE(result.err.count('\n'), 1);
    QVERIFY(!QFile::exists(path("mistake.csv")));
}

QTEST_GUILESS_MAIN(TestCliSweep)
#include "tst_cli_sweep.moc"
