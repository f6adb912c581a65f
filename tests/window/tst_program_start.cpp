// SPDX-License-Identifier: MIT
// The window program as scripts call it.
#include <csignal>
#include <memory>
#include <signal.h>

#include <QDir>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

namespace {

struct Result {
    int status = -1;
    QString errors;
    QString output;
};

}  // namespace

class TestProgramStart : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;

    Result run(const QStringList& arguments, const char* platform = "offscreen") const {
        QProcess process;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QString::fromLatin1(platform));
        environment.remove(QStringLiteral("DISPLAY"));
        environment.remove(QStringLiteral("WAYLAND_DISPLAY"));
        environment.insert(QStringLiteral("XDG_CONFIG_HOME"), m_folder->path());
        process.setProcessEnvironment(environment);
        process.setWorkingDirectory(m_folder->path());
        process.start(QStringLiteral(PLACEWRIGHT_PROGRAM), arguments);
        if (!process.waitForFinished(60'000)) {
            process.kill();
            process.waitForFinished();
            return {};
        }
        return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
                QString::fromUtf8(process.readAllStandardError()),
                QString::fromUtf8(process.readAllStandardOutput())};
    }

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }
    void cleanup() { m_folder.reset(); }

    void aScriptedRunLeavesAPicture_data() {
        QTest::addColumn<QStringList>("options");
        QTest::newRow("start page") << QStringList{};
        QTest::newRow("network") << QStringList{"alexnet"};
        QTest::newRow("search") << QStringList{"alexnet", "--optimize", "genetic", "--evaluations", "200"};
        QTest::newRow("search with seed on a machine")
            << QStringList{"alexnet",       "--machine", "1x-v100", "--optimize", "map-elites",
                           "--evaluations", "200",       "--seed",  "3"};
    }
    void aScriptedRunLeavesAPicture() {
        QFETCH(QStringList, options);
        const Result result =
            run(options + QStringList{"--size", "1000x700", "--screenshot", "window.png", "--quit"});
        QVERIFY2(result.status == 0, qPrintable(result.errors));
        const QImage image(m_folder->filePath("window.png"));
        QCOMPARE(image.size(), QSize(2000, 1400));
        int differing = 0;
        for (int y = 0; y < image.height(); y += 7) {
            for (int x = 0; x < image.width(); x += 7)
                differing += image.pixel(x, y) != image.pixel(0, image.height() / 2);
        }
        QVERIFY(differing > 500);
    }

    void theSearchShowsInThePicture() {
        QVERIFY(run({"alexnet", "--screenshot", "before.png", "--quit"}).status == 0);
        QVERIFY(run({"alexnet", "--optimize", "genetic", "--evaluations", "200", "--screenshot", "after.png",
                     "--quit"})
                    .status == 0);
        QVERIFY(QImage(m_folder->filePath("before.png")) != QImage(m_folder->filePath("after.png")));
    }

    void picturesOfParts() {
        const auto sizeOf = [this](const QStringList& options) {
            const Result result = run(
                QStringList{"alexnet", "--size", "1000x700", "--screenshot", "part.png", "--quit"} + options);
            if (result.status != 0) qFatal("%s", qPrintable(result.errors));
            return QImage(m_folder->filePath("part.png")).size();
        };
        QCOMPARE(sizeOf({"--scale", "1"}), QSize(1000, 700));
        const QSize timeline = sizeOf({"--scale", "1", "--picture-of", "Timeline"});
        QVERIFY(timeline.width() > 200 && timeline.height() < 350);
        QCOMPARE(sizeOf({"--scale", "3", "--picture-of", "timeline"}), 3 * timeline);
        QVERIFY(sizeOf({"--picture-of", "front", "--command", "Run ▸ Simulation…"}) != QSize(2000, 1400));
    }

    void opsAreSelectedForThePicture() {
        const auto shot = [this](const QStringList& options) {
            const Result result = run(QStringList{"alexnet", "--scale", "1", "--picture-of", "Selection",
                                                  "--screenshot", "part.png", "--quit"} +
                                      options);
            if (result.status != 0) qFatal("%s", qPrintable(result.errors));
            return QImage(m_folder->filePath("part.png"));
        };
        QVERIFY(shot({}) != shot({"--select", "features/conv1"}));
    }

    void pictureAsSvg() {
        QVERIFY(run({"alexnet", "--screenshot", "window.svg", "--quit"}).status == 0);
        QFile file(m_folder->filePath("window.svg"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("<svg"));
    }

    void wrongInputsHaveTheirStatus_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("words");
        QTest::newRow("bad file") << QStringList{"bad.json", "--quit"} << 3 << "bad.json";
        QTest::newRow("missing file") << QStringList{"missing.json", "--quit"} << 3 << "missing.json";
        QTest::newRow("bad machine") << QStringList{"alexnet", "--machine", "bad.json", "--quit"} << 3
                                     << "bad.json";
        QTest::newRow("unknown machine")
            << QStringList{"alexnet", "--machine", "abacus", "--quit"} << 3 << "abacus";
        QTest::newRow("bad constraints")
            << QStringList{"alexnet", "--constraints", "bad.json", "--quit"} << 3 << "bad.json";
        QTest::newRow("constraints without network")
            << QStringList{"--constraints", "bad.json", "--quit"} << 2 << "--constraints needs a FILE";
        QTest::newRow("machine alone") << QStringList{"--machine", "abacus", "--quit"} << 3 << "abacus";
        QTest::newRow("bad file and a search")
            << QStringList{"bad.json", "--optimize", "genetic", "--screenshot", "x.png", "--quit"} << 3
            << "bad.json";
        QTest::newRow("picture of no format")
            << QStringList{"alexnet", "--screenshot", "x.doc", "--quit"} << 3 << "x.doc";
        QTest::newRow("picture in no folder")
            << QStringList{"--screenshot", "nowhere/x.png", "--quit"} << 3 << "nowhere/x.png";
        QTest::newRow("unknown algorithm")
            << QStringList{"alexnet", "--optimize", "magic", "--quit"} << 2 << "magic";
        QTest::newRow("search without network")
            << QStringList{"--optimize", "genetic", "--quit"} << 2 << "FILE";
        QTest::newRow("no evaluations")
            << QStringList{"alexnet", "--evaluations", "0", "--quit"} << 2 << "--evaluations 0";
        QTest::newRow("seed") << QStringList{"alexnet", "--seed", "x", "--quit"} << 2 << "--seed x";
        QTest::newRow("size") << QStringList{"alexnet", "--size", "10", "--quit"} << 2 << "--size 10";
        QTest::newRow("scale") << QStringList{"alexnet", "--scale", "0", "--quit"} << 2 << "--scale 0";
        QTest::newRow("no such op") << QStringList{"alexnet",      "--select", "magic",
                                                   "--screenshot", "x.png",    "--quit"}
                                    << 3 << "--select magic";
        QTest::newRow("op without network") << QStringList{"--select", "conv1", "--quit"} << 2 << "FILE";
        QTest::newRow("no such entry")
            << QStringList{"alexnet", "--command", "Run ▸ Magic", "--screenshot", "x.png", "--quit"} << 3
            << "Magic";
        QTest::newRow("entry that is disabled")
            << QStringList{"--command", "View ▸ Fit graph", "--quit"} << 3 << "Fit graph";
        QTest::newRow("no such panel")
            << QStringList{"alexnet", "--picture-of", "magic", "--screenshot", "x.png", "--quit"} << 3
            << "magic";
        QTest::newRow("no such option") << QStringList{"--foo", "--quit"} << 2 << "foo";
        QTest::newRow("empty file") << QStringList{"", "--quit"} << 2 << "FILE";
        QTest::newRow("empty machine")
            << QStringList{"alexnet", "--machine", "", "--quit"} << 2 << "--machine";
        QTest::newRow("two files") << QStringList{"alexnet", "resnet50", "--quit"} << 2 << "FILE";
    }
    void wrongInputsHaveTheirStatus() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        QFETCH(QString, words);
        QFile bad(m_folder->filePath("bad.json"));
        QVERIFY(bad.open(QIODevice::WriteOnly));
        bad.write("{\"format\": \"placewright.graph\", ");
        bad.close();
        const Result result = run(arguments);
        QCOMPARE(result.status, status);
        QVERIFY2(result.errors.contains(words), qPrintable(result.errors));
        QVERIFY(!QFile::exists(m_folder->filePath("x.png")));
    }

    void aRequestToTerminateClosesTheWindow_data() {
        QTest::addColumn<int>("signal");
        QTest::newRow("SIGTERM") << SIGTERM;
        QTest::newRow("SIGINT") << SIGINT;
        QTest::newRow("SIGHUP") << SIGHUP;
    }
    void aRequestToTerminateClosesTheWindow() {
        QFETCH(int, signal);
        QProcess process;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("XDG_CONFIG_HOME"), m_folder->path());
        process.setProcessEnvironment(environment);
        process.setWorkingDirectory(m_folder->path());
        process.start(QStringLiteral(PLACEWRIGHT_PROGRAM), {"alexnet", "--screenshot", "open.png"});
        QVERIFY(QTest::qWaitFor([&] { return QFile::exists(m_folder->filePath("open.png")); }, 60'000));
        QCOMPARE(::kill(static_cast<pid_t>(process.processId()), signal), 0);
        QVERIFY(process.waitForFinished(60'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 0);
        // The window saves its layout when it closes.
        QVERIFY(!QDir(m_folder->path()).entryList({"Placewright"}).isEmpty());
    }

    void withoutADisplay() {
        QCOMPARE(run({"--version"}, "xcb").status, 0);
        const Result help = run({"--help"}, "xcb");
        QCOMPARE(help.status, 0);
        QVERIFY(help.output.contains("--screenshot"));
        const Result window = run({"alexnet", "--quit"}, "xcb");
        QCOMPARE(window.status, 1);
        QVERIFY2(window.errors.contains("placewright-cli does the same work without one"),
                 qPrintable(window.errors));
        QCOMPARE(run({"--seed", "--help"}, "xcb").status, 2);
    }

    void versionAndHelp() {
        const Result version = run({"--version"});
        QCOMPARE(version.status, 0);
        QVERIFY(version.output.startsWith(QLatin1String("placewright ")));
        const Result help = run({"--help"});
        QCOMPARE(help.status, 0);
        for (const char* option : {"--machine", "--optimize", "--evaluations", "--screenshot", "--quit"}) {
            QVERIFY2(help.output.contains(QLatin1String(option)), option);
        }
    }
};

QTEST_GUILESS_MAIN(TestProgramStart)
#include "tst_program_start.moc"
