// SPDX-License-Identifier: MIT
// machines --detect, on this computer with a library in place of NVIDIA's driver.
#include <QFileInfo>
#include <QtTest>

#include "core/io/machines/machine_file.hpp"
#include "tests/cli/cli_fixture.hpp"

using namespace placewright;
using namespace placewright::test;

class TestCliDetect : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() {
        qputenv("LD_LIBRARY_PATH", QFileInfo(PLACEWRIGHT_FAKE_NVML).absolutePath().toUtf8());
    }
    void cleanup() { qunsetenv("FAKE_NVML"); }

    void theTable();
    void theFileIsTheMachine();
    void aDriverThatDoesNotAnswer();
    void wrongUse();
    void anUnwritableFile();

private:
    QTemporaryDir m_folder;
};

void TestCliDetect::theTable() {
    qputenv("FAKE_NVML", "gpus=2;nvlink=pairs");
    const Result found = run({"machines", "--detect"});
    QCOMPARE(found.status, 0);
    QVERIFY(found.err.isEmpty());
    QVERIFY2(widest_line(found.out) <= 100, found.out);
    QVERIFY2(found.out.startsWith("This computer: 2x NVIDIA A100 SXM 80GB, "), found.out);
    QVERIFY2(found.out.contains("\ngpu:1   85.9 GB   80.0 GB  2.04 TB/s  19.5 TFLOP/s  data sheet"),
             found.out);
    QVERIFY2(found.out.contains("\nnvlink0-1    100 GB/s  3.00 µs  NVLink 3 x4\n"), found.out);
    QVERIFY2(found.out.contains(
                 "\n- gpu:0 at 0000:01:00.0, gpu:1 at 0000:02:00.0: speeds of the data sheet of NVIDIA "),
             found.out);
    // What is not there is said.
    qputenv("FAKE_NVML", "gpus=0");
    const Result without = run({"machines", "--detect"});
    QVERIFY2(without.out.contains("No GPU was found"), without.out);
    QVERIFY2(!without.out.contains("gpu:0"), without.out);
}

void TestCliDetect::theFileIsTheMachine() {
    qputenv("FAKE_NVML", "gpus=4;nvlink=switch;links=12");
    const QString file = m_folder.filePath("here.json");
    const QJsonObject json = object_of({"machines", "--detect", "--out", file});
    QCOMPARE(json["format"].toString(), QString("placewright.machine"));
    QCOMPARE(json["detected"].toArray().size(), json["devices"].toArray().size());
    QCOMPARE(json["detected"][1]["free_bytes"].toDouble(),
             json["detected"][1]["device"] == "gpu:0" ? 80e9 : 0);
    QCOMPARE(json["detected"][1]["speeds"].toString(), QString("data sheet"));
    QVERIFY(!json["notes"].toArray().isEmpty());
    // The printed object is a machine file, too.
    const QString printed =
        write_file(m_folder.filePath("printed.json"), QJsonDocument(json).toJson(QJsonDocument::Compact));
    const Machine machine = read_machine(file.toStdString());
    QVERIFY(read_machine(printed.toStdString()) == machine);
    QCOMPARE(machine.devices().back().name, std::string("gpu:3"));
    const QJsonObject simulated = object_of({"simulate", "alexnet", "--machine", file});
    QVERIFY(simulated["step_time_s"].toDouble() > 0);
    QCOMPARE(simulated["devices"].toArray().size(), static_cast<qsizetype>(machine.devices().size()));
}

void TestCliDetect::aDriverThatDoesNotAnswer() {
    qputenv("FAKE_NVML", "gpus=2;error=18");
    const Result found = run({"machines", "--detect"});
    QCOMPARE(found.status, 0);
    QVERIFY2(found.out.contains("Driver/library version mismatch"), found.out);
}

void TestCliDetect::wrongUse() {
    const Result alone = run({"machines", "--out", m_folder.filePath("x.json")});
    QCOMPARE(alone.status, 2);
    QVERIFY2(alone.err.contains("--detect"), alone.err);
    const Result both = run({"machines", "--detect", "--devices"});
    QCOMPARE(both.status, 2);
    QVERIFY2(both.err.contains("--devices"), both.err);
}

void TestCliDetect::anUnwritableFile() {
    const Result result = run({"machines", "--detect", "--out", m_folder.filePath("nowhere/x.json")});
    QCOMPARE(result.status, 3);
    QVERIFY2(result.err.contains("nowhere/x.json"), result.err);
    QVERIFY(result.out.isEmpty());
}

QTEST_GUILESS_MAIN(TestCliDetect)
#include "tst_cli_detect.moc"
