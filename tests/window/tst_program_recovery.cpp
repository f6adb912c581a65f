// SPDX-License-Identifier: MIT
// The window program is killed in the middle of a search; the next start recovers the session.
#include <array>
#include <memory>
#include <signal.h>
#include <vector>

#include <QDateTime>
#include <QDir>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QTest>

#include "app/window/offer_bar.hpp"
#include "app/window/settings.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/state/workspace_file.hpp"
#include "tests/support/window.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatienceMs = 60'000;
constexpr qint64 kMostLostMs = 60'000;

class Program {
public:
    explicit Program(const QString& folder) : m_state(folder + "/state") {
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert("XDG_CONFIG_HOME", folder);
        environment.insert("XDG_STATE_HOME", m_state);
        environment.insert("PLACEWRIGHT_AUTOSAVE_MS", "100");
        environment.insert("QT_QPA_PLATFORM", "offscreen");
        // A proof of the bound would take the cores from what is tested.
        QSettings settings(folder + "/Placewright/placewright.conf", QSettings::IniFormat);
        settings.setValue("tightenBound", false);
        settings.setValue("placesAtOnce", false);
        settings.sync();
        m_process.setProcessEnvironment(environment);
        // A network that takes long to simulate, so that there are not too many scores to read again.
        m_process.start(QStringLiteral(PLACEWRIGHT_PROGRAM),
                        {"inception_v3", "--optimize", "genetic", "--evaluations", "1000000000"});
    }

    /// Whether it searches and has written what it found.
    bool hasSession() const {
        QFile file(session());
        return file.open(QIODevice::ReadOnly) && file.readAll().contains("\"best_placement\"");
    }
    QString session() const {
        const QFileInfoList files =
            QDir(m_state + "/placewright/sessions").entryInfoList({"session-*.placewright"}, QDir::Files);
        return files.isEmpty() ? QString() : files.front().absoluteFilePath();
    }
    const QString& state() const { return m_state; }
    QProcess& process() { return m_process; }

private:
    QString m_state;
    QProcess m_process;
};

}  // namespace

class TestProgramRecovery : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;

    /// A start of the program after another ended: restores what is offered.
    void recover(const QString& state, std::uint64_t least, const char* how = "ended unexpectedly") {
        qputenv("XDG_STATE_HOME", state.toUtf8());
        settings::tightenBound.set(false);
        Shown next;
        next.window.keeper()->startSession(true);
        const QString offered = next.window.offerBar()->text("recovery");
        QVERIFY2(offered.contains(how), qPrintable(offered));
        QVERIFY2(offered.contains("inception", Qt::CaseInsensitive), qPrintable(offered));
        QTest::mouseClick(next.window.offerBar()->findChild<QPushButton*>(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(next.document.isOpen(), kPatienceMs);
        QVERIFY(next.waitUntilIdle());
        QCOMPARE(next.document.runs().size(), std::size_t{1});
        const Run& run = *next.document.runs().front();
        QCOMPARE(run.state(), Run::State::cancelled);
        QVERIFY(run.progress().evaluations >= least);
        QVERIFY(run.progress().best_placement != nullptr);
        QVERIFY(next.window.isWindowModified());
        // It is in the session of the new window now, and no longer offered.
        QTRY_COMPARE_WITH_TIMEOUT(
            QDir(WorkspaceKeeper::sessionFolder()).entryList({"session-*.placewright"}).size(), 1,
            kPatienceMs);
        QTRY_VERIFY_WITH_TIMEOUT(next.window.keeper()->endSession(), 20'000);
    }

private Q_SLOTS:
    void init() { m_place = std::make_unique<test::Workplace>(); }
    void cleanup() { m_place.reset(); }

    void killedAtTwentyMoments() {
        constexpr int kMoments = 20, kTogether = 5, kStepMs = 37;
        for (int first = 0; first < kMoments; first += kTogether) {
            std::vector<std::unique_ptr<Program>> programs;
            for (int i = first; i < first + kTogether; ++i) {
                QVERIFY(QDir().mkpath(m_place->file(QString::number(i))));
                programs.push_back(std::make_unique<Program>(m_place->file(QString::number(i))));
            }
            for (int i = 0; i < kTogether; ++i) {
                Program& program = *programs[static_cast<std::size_t>(i)];
                QTRY_VERIFY_WITH_TIMEOUT(program.hasSession(), kPatienceMs);
                QTest::qWait((first + i) * kStepMs % 190);
                QCOMPARE(::kill(static_cast<pid_t>(program.process().processId()), SIGKILL), 0);
                const QDateTime killed = QDateTime::currentDateTime();
                QVERIFY(program.process().waitForFinished(kPatienceMs));
                const QFileInfo session(program.session());
                QVERIFY(session.lastModified().msecsTo(killed) < kMostLostMs);
            }
            for (const auto& program : programs) {
                const Workspace kept = read_workspace(program->session().toStdString());
                QCOMPARE(kept.runs.size(), std::size_t{1});
                recover(program->state(), kept.runs.front().progress.evaluations);
                if (QTest::currentTestFailed()) return;
            }
        }
    }

    void aRequestToTerminateSavesAndQuits() {
        QVERIFY(QDir().mkpath(m_place->file("term")));
        Program program(m_place->file("term"));
        QTRY_VERIFY_WITH_TIMEOUT(program.hasSession(), kPatienceMs);
        QCOMPARE(::kill(static_cast<pid_t>(program.process().processId()), SIGTERM), 0);
        QVERIFY(program.process().waitForFinished(kPatienceMs));
        QCOMPARE(program.process().exitStatus(), QProcess::NormalExit);
        QCOMPARE(program.process().exitCode(), 0);
        recover(program.state(), 1, "closed by the system");
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestProgramRecovery)
#include "tst_program_recovery.moc"
