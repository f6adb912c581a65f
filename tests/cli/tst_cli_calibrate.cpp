// SPDX-License-Identifier: MIT
// calibrate, with times that were made up: those of a device whose efficiencies the test knows.
#include <QtTest>

#include "core/io/machines/machine_file.hpp"
#include "core/io/state/profile_file.hpp"
#include "tests/cli/cli_fixture.hpp"
#include "tests/support/made_up_times.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

QJsonObject part(const QJsonObject& device, const char* name, const char* when) {
    return device[QLatin1String(name)][QLatin1String(when)].toObject();
}

}  // namespace

class TestCliCalibrate : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void theFitAndTheMachine();
    void theTable();
    void residuals();
    void timesOfATrace();
    void wrongUse_data();
    void wrongUse();
    void noTimes();

private:
    QString file(const char* name) const { return m_folder.filePath(QLatin1String(name)); }
    QStringList command(const QStringList& more = {}) const {
        return QStringList{"calibrate",       "resnet50",  "alexnet",         "--machine",
                           file("pair.json"), "--profile", file("times.json")} +
               more;
    }
    QTemporaryDir m_folder;
};

void TestCliCalibrate::initTestCase() {
    QFile machine(file("pair.json"));
    const QByteArray pair(kPairOfCores);
    QVERIFY(machine.open(QIODevice::WriteOnly) && machine.write(pair) == pair.size());
    machine.close();
    const auto real = real_machine(file("pair.json").toStdString());
    ProfileArchive archive = made_up_profile(real, "resnet50");
    archive.merge(made_up_profile(real, "alexnet"));
    write_profile(archive, file("times.json").toStdString());
}

void TestCliCalibrate::theFitAndTheMachine() {
    const QJsonObject json = object_of(command({"--out", file("out.json")}));
    QCOMPARE(json["networks"].toArray().size(), 2);
    QCOMPARE(json["held_out"].toDouble(), 0.2);
    QCOMPARE(json["devices"].toArray().size(), 1);
    const QJsonObject device = json["devices"][0].toObject();
    QCOMPARE(device["model"].toString(), QString("Core"));
    QVERIFY(part(device, "held_out", "before")["weighted"].toDouble() > 0.2);
    QVERIFY2(part(device, "fitted", "after")["weighted"].toDouble() < 0.05,
             QJsonDocument(part(device, "fitted", "after")).toJson());
    QVERIFY2(part(device, "held_out", "after")["weighted"].toDouble() < 0.1,
             QJsonDocument(part(device, "held_out", "after")).toJson());
    qint64 ops = 0;
    for (const QJsonValue& each : device["classes"].toArray())
        ops += each["fitted"]["ops"].toInteger() + each["held_out"]["ops"].toInteger();
    QCOMPARE(ops, device["fitted"]["ops"].toInteger() + device["held_out"]["ops"].toInteger());
    QVERIFY(device["not_measured"].toArray().contains("gather"));

    // Both devices of the model have what was found, and the channel what was measured.
    const Machine written = read_machine(file("out.json").toStdString());
    QCOMPARE(written.name(), std::string("pair, calibrated"));
    const Efficiencies& shares = *written.device(0).known->efficiencies;
    QVERIFY(written.device(0).known == written.device(1).known);
    QCOMPARE(written.channels()[0].latency_s, 1e-5);
    QVERIFY(std::abs(written.channels()[0].bandwidth / 4e9 - 1) < 1e-6);
    bool has_norm = false;
    for (const QJsonValue& parameter : device["parameters"].toArray()) {
        if (parameter["name"] != "norm") continue;
        has_norm = true;
        QCOMPARE(parameter["after"].toDouble(), shares.norm);
    }
    QVERIFY(has_norm);
    // The written machine predicts without the profile what was measured.
    const auto step_s = [&](const QStringList& with) {
        return object_of(QStringList{"simulate", "resnet50"} + with)["step_time_s"].toDouble();
    };
    const double measured_s = step_s({"--machine", file("pair.json"), "--profile", file("times.json")});
    const double before_s = step_s({"--machine", file("pair.json")});
    const double after_s = step_s({"--machine", file("out.json")});
    QVERIFY2(std::abs(after_s / measured_s - 1) < 0.05, qPrintable(QString::number(after_s / measured_s)));
    QVERIFY(std::abs(before_s / measured_s - 1) > 0.2);
    // The same samples, the same result.
    QCOMPARE(run(command({"--json"})).out, run(command({"--json"})).out);
}

void TestCliCalibrate::theTable() {
    const Result found = run(command());
    QCOMPARE(found.status, 0);
    QVERIFY2(widest_line(found.out) <= 100, found.out);
    for (const char* text :
         {"\nconvolution ", "\nnorm ", "\nall ", "held out", "\npeak_flops ", "\nNot measured, kept: "})
        QVERIFY2(found.out.contains(text), found.out);
}

void TestCliCalibrate::residuals() {
    const Result found = run(command({"--residuals", file("residuals.csv"), "--held-out", "0.5"}));
    QCOMPARE(found.status, 0);
    const QList<QByteArray> lines = lines_of(content_of(file("residuals.csv")));
    QCOMPARE(lines.front(), QByteArray("model,network,op,class,part,measured_s,before_s,after_s"));
    qsizetype held_out = 0, fitted = 0;
    bool has_conv = false;
    for (const QByteArray& line : lines.mid(1)) {
        const QList<QByteArray> fields = line.split(',');
        QCOMPARE(fields.size(), 8);
        held_out += fields[4] == "held-out" ? 1 : 0;
        fitted += fields[4] == "fit" ? 1 : 0;
        has_conv = has_conv || (fields[1] == "alexnet" && fields[3] == "convolution");
        QVERIFY(fields[5].toDouble() > 0);
    }
    QVERIFY(has_conv);
    QCOMPARE(held_out + fitted, lines.size() - 1);
    QVERIFY(held_out > 30 && fitted > 30);
}

void TestCliCalibrate::timesOfATrace() {
    // The trace of a simulation with the made-up times.
    const QStringList simulate{"simulate", "alexnet", "--machine", file("pair.json")};
    QCOMPARE(
        run(simulate + QStringList{"--profile", file("times.json"), "--trace", file("trace.json")}).status,
        0);
    const Result result = run({"calibrate", "alexnet", "--machine", file("pair.json"), "--times",
                               file("trace.json") + "=Core", "--json"});
    const QJsonObject device = json_of(result)["devices"][0].toObject();
    QVERIFY(device["fitted"]["ops"].toInteger() > 10);
    QVERIFY(part(device, "fitted", "after")["weighted"].toDouble() <
            part(device, "fitted", "before")["weighted"].toDouble());
}

void TestCliCalibrate::wrongUse_data() {
    QTest::addColumn<QStringList>("more");
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("complaint");
    QTest::newRow("device") << QStringList{"--device", "gpu:7"} << 2
                            << QByteArray("--device gpu:7: " + file("pair.json").toUtf8() +
                                          " has no such device; it has cpu:0, cpu:1");
    QTest::newRow("all held out") << QStringList{"--held-out", "1"} << 2
                                  << QByteArray("--held-out 1: expected at most 0.9");
    QTest::newRow("input as output") << QStringList{"--out", file("times.json")} << 2 << QByteArray("--out");
    QTest::newRow("output twice") << QStringList{"--out", file("x"), "--residuals", file("x")} << 2
                                  << QByteArray("--residuals");
    QTest::newRow("trace of two networks")
        << QStringList{"--times", file("times.json")} << 2
        << QByteArray("--times: a trace is of one network, but 2 are given");
    QTest::newRow("unwritable") << QStringList{"--out", file("none/x.json")} << 3
                                << QByteArray("there is no such folder");
}

void TestCliCalibrate::wrongUse() {
    QFETCH(const QStringList, more);
    QFETCH(const int, status);
    QFETCH(const QByteArray, complaint);
    const Result result = run(command(more));
    QCOMPARE(result.status, status);
    QVERIFY2(result.err.contains(complaint), result.err);
    QCOMPARE(lines_of(result.err).size(), 1);
    QVERIFY(result.out.isEmpty());
}

void TestCliCalibrate::noTimes() {
    // The archive has times of another device.
    QFile machine(file("other.json"));
    QVERIFY(machine.open(QIODevice::WriteOnly));
    machine.write(QByteArray(kPairOfCores).replace("\"Core\"", "\"Other\""));
    machine.close();
    const Result result = run({"calibrate", "alexnet", "--machine", file("other.json"), "--profile",
                               file("times.json"), "--out", file("nothing.json")});
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains("Other: no measured op is left to fit to"), result.err);
    QVERIFY(!QFile::exists(file("nothing.json")));
}

QTEST_GUILESS_MAIN(TestCliCalibrate)
#include "tst_cli_calibrate.moc"
