// SPDX-License-Identifier: MIT
// Searches on several processes, as mpirun starts them.
#include <csignal>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "tests/support/cli.hpp"

namespace {

using namespace placewright::test;
using Result = ProgramResult;

/// What mpirun needs for `ranks` processes however few cores there are.
QStringList ranks_of(int ranks, const QStringList& command) {
    return QStringList{"--oversubscribe", "-n", QString::number(ranks)} + command;
}

Result mpirun(int ranks, const QStringList& command) {
    return run_program("mpirun", ranks_of(ranks, command));
}

/// What was found, without what depends on the time it took.
QJsonObject found_in(const Result& result) {
    QJsonObject found = QJsonDocument::fromJson(result.out).object();
    if (result.status != 0 || found.isEmpty())
        qWarning() << result.status << result.out.left(300) << result.err;
    found.remove("wall_s");
    found.remove("simulations_per_s");
    found.remove("delta");
    return found;
}

/// The process of a rank that mpirun started; 0 if there is none.
pid_t process_of(const QProcess& mpirun, int rank) {
    const QByteArray parent = "PPid:\t" + QByteArray::number(mpirun.processId()) + '\n';
    const QByteArray wanted = "OMPI_COMM_WORLD_RANK=" + QByteArray::number(rank);
    for (const QString& entry : QDir("/proc").entryList(QDir::Dirs)) {
        QFile status("/proc/" + entry + "/status"), environment("/proc/" + entry + "/environ");
        if (!status.open(QIODevice::ReadOnly) || !status.readAll().contains(parent)) continue;
        if (environment.open(QIODevice::ReadOnly) && environment.readAll().split('\0').contains(wanted))
            return entry.toInt();
    }
    return 0;
}

}  // namespace

class TestDistributed : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    /// A search on `ranks`, when scores have come; it will not end of itself unless `evaluations` say so.
    void begin(QProcess& process, int ranks, const QStringList& more,
               const QString& evaluations = QStringLiteral("1000000000")) const;
    /// That the placement in `file` can be used.
    void expectPlacement(const QString& file) const;

private Q_SLOTS:
    void initTestCase();

    void evaluator_data();
    void evaluator();
    void sameResult_data();
    void sameResult();
    void unlikeRanks_data();
    void unlikeRanks();
    void wrongUsage_data();
    void wrongUsage();
    void strayVariables_data();
    void strayVariables();
    void aRankThatFailsStopsItsWork();
    void deadRank();
    void searchWithoutTheDead();
    void interrupted();
    void aRankEndsWithoutTheFirst_data();
    void aRankEndsWithoutTheFirst();
    void train_data();
    void train();
    void trainUnlikeRanks();
    void trainDeadRank();
    void trainInterrupted();
    void interruptedLauncher();
};

void TestDistributed::initTestCase() {
    if (QStandardPaths::findExecutable("mpirun").isEmpty())
        QSKIP("mpirun is not installed (Debian: openmpi-bin)");
#ifdef __SANITIZE_THREAD__
    QSKIP("the thread sanitizer does not know what Open MPI's threads do");
#endif
    qputenv("OMPI_ALLOW_RUN_AS_ROOT", "1");
    qputenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // What Open MPI keeps until the end is not ours.
    qputenv("ASAN_OPTIONS", "detect_leaks=0");
}

void TestDistributed::evaluator_data() {
    QTest::addColumn<int>("ranks");
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("said");
    QTest::addColumn<int>("status");
    QTest::newRow("two ranks") << 2 << "spread"
                               << "^done\n$" << 0;
    QTest::newRow("three ranks") << 3 << "spread"
                                 << "^done\n$" << 0;
    QTest::newRow("cannot prepare") << 3 << "unprepared"
                                    << "^rank 1 on .+: no file\n$" << 0;
    QTest::newRow("other conditions")
        << 2 << "different"
        << "^rank 1 on .+: has another network, machine or simulation than rank 0\n$" << 0;
    // The others score what these ranks were given.
    QTest::newRow("fails amid the search") << 3 << "broken"
                                           << "^rank 1 on .+: it is broken\n$" << 0;
    QTest::newRow("takes too long") << 3 << "slow"
                                    << "^done\n$" << 0;
    // MPI cannot end before all processes have.
    QTest::newRow("answers no more") << 3 << "stopped"
                                     << "^rank 1 on .+: no longer answers: .+\n$" << 1;
}

void TestDistributed::evaluator() {
    QFETCH(int, ranks);
    QFETCH(QString, mode);
    QFETCH(QString, said);
    QFETCH(int, status);
    // mpirun of Open MPI 4.1 sometimes hangs or crashes when it ends a process that is stopped
    // ("ORTE_ERROR_LOG: Data unpack …"); what the ranks say does not depend on that.
    const bool may_hang = mode == QStringLiteral("stopped");
    const Result result = may_hang
                              ? run_program("timeout", QStringList{"-k", "5", "40", "mpirun"} +
                                                           ranks_of(ranks, {PLACEWRIGHT_RANKS_PROGRAM, mode}))
                              : mpirun(ranks, {PLACEWRIGHT_RANKS_PROGRAM, mode});
    QVERIFY2(QRegularExpression(said).match(QString::fromUtf8(result.out)).hasMatch(),
             result.out + result.err);
    if (may_hang) {
        QVERIFY(result.status != 0);
        return;
    }
    QCOMPARE(result.status, status);
    if (status == 0) QCOMPARE(result.err, QByteArray());
}

void TestDistributed::sameResult_data() {
    QTest::addColumn<QString>("algorithm");
    QTest::newRow("genetic") << "genetic";
    QTest::newRow("tabu") << "tabu";
}

void TestDistributed::sameResult() {
    QFETCH(QString, algorithm);
    const QStringList search{PLACEWRIGHT_CLI, "optimize", "resnet50",      "--machine", "4x-v100-nvlink",
                             "--algorithm",   algorithm,  "--evaluations", "1500",      "--json"};
    const Result alone = run_program(search[0], search.mid(1));
    const QJsonObject expected = found_in(alone);
    QCOMPARE(expected["evaluations"].toInt(), 1500);
    for (const int ranks : {1, 2, 3}) {
        const Result result = mpirun(ranks, search);
        QCOMPARE(result.err, QByteArray());
        QCOMPARE(found_in(result), expected);
    }
}

void TestDistributed::unlikeRanks_data() {
    QTest::addColumn<QStringList>("networks");
    QTest::addColumn<QString>("said");
    QTest::newRow("no file on the second")
        << QStringList{"alexnet", path("no.json")} << "^rank 1 on .+: .*no\\.json: .+";
    QTest::newRow("no file on the first") << QStringList{path("no.json"), "alexnet"} << "^[^:]*no\\.json: .+";
    QTest::newRow("different networks")
        << QStringList{"alexnet", "resnet50"} << "^rank 1 on .+: has another network, machine or simulation";
}

void TestDistributed::unlikeRanks() {
    QFETCH(QStringList, networks);
    QFETCH(QString, said);
    QStringList arguments{"--oversubscribe"};
    for (const QString& network : networks) {
        arguments += {"-n",      "1",           PLACEWRIGHT_CLI, "optimize",      network, "--machine",
                      "1x-v100", "--algorithm", "genetic",       "--evaluations", "100"};
        if (network == networks.first()) arguments += ":";
    }
    const Result result = run_program("mpirun", arguments);
    QCOMPARE(result.status, 3);
    QCOMPARE(result.out, QByteArray());
    const QRegularExpression line(said, QRegularExpression::MultilineOption);
    QVERIFY2(line.match(QString::fromUtf8(result.err)).hasMatch(), result.err);
    QCOMPARE(result.err.count("no.json"), networks.contains("resnet50") ? 0 : 1);
}

void TestDistributed::wrongUsage_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("said");
    QTest::newRow("algorithm") << QStringList{"optimize", "alexnet",     "--machine",
                                              "1x-v100",  "--algorithm", "no"}
                               << QByteArray("there is no such algorithm");
    QTest::newRow("option") << QStringList{"optimize", "--no"} << QByteArray("unknown option --no");
    QTest::newRow("another command")
        << QStringList{"networks"}
        << QByteArray("networks: under mpirun only optimize, train and sweep are supported");
}

void TestDistributed::wrongUsage() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, said);
    const Result result = mpirun(2, QStringList{PLACEWRIGHT_CLI} + arguments);
    QCOMPARE(result.status, 2);
    QCOMPARE(result.out, QByteArray());
    QCOMPARE(result.err.count(said), 1);
}

void TestDistributed::strayVariables_data() {
    QTest::addColumn<QStringList>("variables");
    QTest::addColumn<QString>("command");
    QTest::addColumn<QByteArray>("said");
    const QStringList open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, pmi{"PMI_RANK", "PMI_SIZE"};
    for (const char* command : {"optimize", "train"}) {
        for (int rank = 0; rank < 2; ++rank) {
            for (const QStringList& names : {open_mpi, pmi}) {
                QTest::addRow("%s, %s=%d", command, qPrintable(names[0]), rank)
                    << QStringList{names[0] + '=' + QString::number(rank), names[1] + "=2"}
                    << QString(command)
                    << "placewright-cli: the environment says that this is rank " + QByteArray::number(rank) +
                           " of 2 (" + names.join(", ").toUtf8() +
                           "), but MPI started 1 process: start the ranks with mpirun or srun, or unset "
                           "these variables\n";
            }
        }
    }
}

void TestDistributed::strayVariables() {
    QFETCH(QStringList, variables);
    QFETCH(QString, command);
    QFETCH(QByteArray, said);
    const Result result = run_program(
        "env", variables + QStringList{PLACEWRIGHT_CLI, command, "alexnet", "--machine", "2x-v100-pcie"});
    QCOMPARE(result.err, said);
    QCOMPARE(result.out, QByteArray());
    QCOMPARE(result.status, 2);
}

void TestDistributed::aRankThatFailsStopsItsWork() {
    // The work of the rank ends only if it is stopped.
    const Result result = mpirun(2, {PLACEWRIGHT_RANKS_PROGRAM, "garbled"});
    QCOMPARE(result.status, 1);
    QCOMPARE(result.out, QByteArray());
}

void TestDistributed::begin(QProcess& process, int ranks, const QStringList& more,
                            const QString& evaluations) const {
    const QString scores = path("scores");
    QFile::remove(scores);
    process.start("mpirun", ranks_of(ranks, QStringList{PLACEWRIGHT_CLI, "optimize", "resnet50", "--machine",
                                                        "4x-v100-nvlink", "--algorithm", "genetic",
                                                        "--evaluations", evaluations, "--scores", scores} +
                                                more));
    if (!process.waitForStarted() ||
        !QTest::qWaitFor([&] { return QFile(scores).size() > 20'000; }, kPatienceMs))
        qFatal("no scores come: %s", process.readAllStandardError().constData());
}

void TestDistributed::expectPlacement(const QString& file) const {
    const Result result = run_program(
        PLACEWRIGHT_CLI, {"simulate", "resnet50", "--machine", "4x-v100-nvlink", "--placement", file});
    QVERIFY2(result.status == 0 && result.out.contains("fits the memory"), result.err);
}

void TestDistributed::deadRank() {
    const QString out = path("dead.json");
    QProcess process;
    begin(process, 3, {"--out", out});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    const pid_t rank = process_of(process, 2);
    QVERIFY(rank > 0);
    QCOMPARE(::kill(rank, SIGKILL), 0);
    const Result result = result_of(process);
    QVERIFY(result.status != 0 && result.status != 130);
    QVERIFY2(QRegularExpression("placewright-cli: rank 2 on .+ no longer answers")
                 .match(QString::fromUtf8(result.err))
                 .hasMatch(),
             result.err);
    QVERIFY2(result.out.contains("\nbest ") && result.out.contains("written to " + out.toUtf8()),
             result.out + result.err);
    expectPlacement(out);

    // One process goes on with the scores, which are those that it would have found.
    const QStringList search{"optimize", "resnet50",      "--machine", "4x-v100-nvlink", "--algorithm",
                             "genetic",  "--evaluations", "200",       "--json"};
    QCOMPARE(found_in(run_program(PLACEWRIGHT_CLI, search + QStringList{"--scores", path("scores")})),
             found_in(run_program(PLACEWRIGHT_CLI, search)));
}

void TestDistributed::searchWithoutTheDead() {
    constexpr auto kEvaluations = "40000";
    qputenv("OMPI_MCA_orte_enable_recovery", "1");  // else mpirun ends the other ranks
    QProcess process;
    begin(process, 3, {"--json"}, kEvaluations);
    qunsetenv("OMPI_MCA_orte_enable_recovery");
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    const pid_t rank = process_of(process, 2);
    QVERIFY(rank > 0);
    QCOMPARE(::kill(rank, SIGKILL), 0);
    const Result result = result_of(process);
    QVERIFY2(QRegularExpression(
                 "placewright-cli: rank 2 on .+ no longer answers.*; the search went on without it\n")
                 .match(QString::fromUtf8(result.err))
                 .hasMatch(),
             result.err);
    const Result alone =
        run_program(PLACEWRIGHT_CLI, {"optimize", "resnet50", "--machine", "4x-v100-nvlink", "--algorithm",
                                      "genetic", "--evaluations", kEvaluations, "--json"});
    const auto search_of = [](const Result& of) {
        QJsonObject found = found_in(of);
        // Raised while the search runs.
        for (const char* bound : {"lower_bound_s", "bound"}) found.remove(bound);
        return found;
    };
    QCOMPARE(search_of(result), search_of(alone));
}

void TestDistributed::interrupted() {
    const QString out = path("interrupted.json");
    QProcess process;
    begin(process, 2, {"--out", out, "--json"});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    const pid_t rank = process_of(process, 0);
    QVERIFY(rank > 0);
    QCOMPARE(::kill(rank, SIGINT), 0);
    const Result result = result_of(process);
    QCOMPARE(result.status, 130);
    QVERIFY2(!result.err.contains("no longer answers"), result.err);
    QVERIFY(QJsonDocument::fromJson(result.out).object()["evaluations"].toDouble() > 0);
    expectPlacement(out);
}

void TestDistributed::aRankEndsWithoutTheFirst_data() {
    QTest::addColumn<int>("signal");
    QTest::newRow("SIGTERM") << SIGTERM;
    QTest::newRow("SIGINT") << SIGINT;
}

void TestDistributed::aRankEndsWithoutTheFirst() {
    QFETCH(int, signal);
    QProcess process;
    begin(process, 2, {});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    const pid_t first = process_of(process, 0), second = process_of(process, 1);
    QVERIFY(first > 0 && second > 0);
    QCOMPARE(::kill(first, SIGSTOP), 0);
    const auto go_on = qScopeGuard([&] { ::kill(first, SIGCONT); });
    QCOMPARE(::kill(second, signal), 0);
    const Result result = result_of(process);
    QCOMPARE(result.status, 130);
    QVERIFY2(result.err.contains("placewright-cli: interrupted, and rank 0 does not end this rank\n"),
             result.err);
}

void TestDistributed::interruptedLauncher() {
    const QString out = path("launcher.json");
    QProcess process;
    begin(process, 2, {"--out", out});
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QCOMPARE(::kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
    const Result result = result_of(process);
    QVERIFY(result.status != 0);
    QVERIFY2(result.out.contains(" (cancelled), ") && result.out.contains("\nbest "),
             result.out + result.err);
    QVERIFY2(!result.err.contains("no longer answers"), result.err);
    expectPlacement(out);
}

namespace {

/// train of a small policy.
QStringList training(const QStringList& more) {
    return QStringList{PLACEWRIGHT_CLI, "train",   "alexnet", "--set",   "rounds=1",
                       "--set",         "width=2", "--set",   "hidden=3"} +
           more;
}

}  // namespace

void TestDistributed::train_data() {
    QTest::addColumn<int>("ranks");
    QTest::addColumn<QStringList>("more");
    QTest::newRow("two ranks") << 2 << QStringList{};
    QTest::newRow("more ranks than workers")
        << 3 << QStringList{"--set", "workers=2", "--set", "start=best", "--set", "proximal_steps=2"};
}

void TestDistributed::train() {
    QFETCH(int, ranks);
    QFETCH(QStringList, more);
    const auto command = [&](const QString& name) {
        return training(more + QStringList{"--machine", "2x-v100-pcie,4x-v100-nvlink", "--updates", "3",
                                           "--out", path(name + ".safetensors"), "--curve",
                                           path(name + ".csv")});
    };
    const QStringList one = command("one");
    for (const char* file : {"one.safetensors", "many.safetensors"}) QFile::remove(path(file));
    QCOMPARE(run_program(one[0], one.mid(1)).status, 0);
    const Result result = mpirun(ranks, command("many"));
    QVERIFY2(result.status == 0, result.err);
    QCOMPARE(result.err, QByteArray());
    QCOMPARE(result.out.count("Placeto, seed 1: 3 updates"), 1);
    QVERIFY(!content_of(path("one.safetensors")).isEmpty());
    QVERIFY(content_of(path("many.safetensors")) == content_of(path("one.safetensors")));
    QCOMPARE(content_of(path("many.csv")), content_of(path("one.csv")));
}

void TestDistributed::trainUnlikeRanks() {
    QStringList arguments{"--oversubscribe"};
    for (const char* seed : {"1", "2"})
        arguments += QStringList{"-n", "1"} + training({"--machine", "2x-v100-pcie", "--seed", seed}) +
                     QStringList{":"};
    arguments.removeLast();
    const Result unlike = run_program("mpirun", arguments);
    QCOMPARE(unlike.status, 3);
    QCOMPARE(unlike.out, QByteArray());
    QVERIFY2(QRegularExpression("^rank 1 on .+: has other networks, machines or policies than rank 0\n")
                 .match(unlike.err)
                 .hasMatch(),
             unlike.err);

    // What is wrong on all is told once.
    const Result wrong = mpirun(3, training({"--machine", "2x-v100-pcie", "--set", "workers=0"}));
    QCOMPARE(wrong.status, 2);
    QCOMPARE(wrong.err.count("workers = 0 is out of range"), 1);
}

void TestDistributed::trainDeadRank() {
    const QString out = path("dead.safetensors");
    QProcess process;
    process.start("mpirun", ranks_of(3, training({"--machine", "2x-v100-pcie", "--updates", "1000000",
                                                  "--out", out, "--checkpoint-every", "0.1"})));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(QTest::qWaitFor([&] { return QFile::exists(out); }, kPatienceMs));
    const pid_t rank = process_of(process, 2);
    QVERIFY(rank > 0);
    QCOMPARE(::kill(rank, SIGKILL), 0);
    const Result result = result_of(process);
    QVERIFY(result.status != 0);
    QVERIFY2(result.err.contains("rank 2"), result.err);
    const Result predicted =
        run_program(PLACEWRIGHT_CLI, {"predict", out, "alexnet", "--machine", "4x-v100-nvlink"});
    QVERIFY2(predicted.status == 0, predicted.err);
}

void TestDistributed::trainInterrupted() {
    const QString out = path("interrupted.safetensors");
    QProcess process;
    process.start("mpirun", ranks_of(2, training({"--machine", "2x-v100-pcie", "--updates", "1000000",
                                                  "--out", out, "--checkpoint-every", "0.1"})));
    const auto end = qScopeGuard([&] { process.kill(), process.waitForFinished(); });
    QVERIFY(QTest::qWaitFor([&] { return QFile::exists(out); }, kPatienceMs));
    const pid_t rank = process_of(process, 0);
    QVERIFY(rank > 0);
    QCOMPARE(::kill(rank, SIGINT), 0);
    const Result result = result_of(process);
    QVERIFY2(result.out.contains(" (cancelled)\n") && result.out.contains("written to " + out.toUtf8()),
             result.out + result.err);
    QCOMPARE(result.status, 130);
}

QTEST_GUILESS_MAIN(TestDistributed)
#include "tst_distributed.moc"
