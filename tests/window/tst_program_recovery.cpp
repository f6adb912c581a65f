// SPDX-License-Identifier: MIT
// The window program is killed in the middle of a search, a training or a save; the next start recovers the
// session. $PLACEWRIGHT_KILLS: number of moments of each [20, of a training 5 and of a save 10].
#include <algorithm>
#include <cstdint>
#include <memory>
#include <signal.h>
#include <vector>

#include <QDateTime>
#include <QDir>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

#include "app/window/learn/learn_window.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/settings.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/state/workspace_file.hpp"
#include "tests/support/window.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatienceMs = 180'000;
constexpr qint64 kMostLostMs = 60'000;

int moments(int usual) {
    bool known = false;
    const int wanted = qEnvironmentVariableIntValue("PLACEWRIGHT_KILLS", &known);
    return known && wanted > 0 ? wanted : usual;
}

/// The environment of a program with settings and sessions of its own in a folder.
QProcessEnvironment environmentIn(const QString& folder) {
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert("XDG_CONFIG_HOME", folder);
    environment.insert("XDG_STATE_HOME", folder + "/state");
    environment.insert("PLACEWRIGHT_AUTOSAVE_MS", "100");
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    return environment;
}

/// Starts a window that trains or saves in a new folder.
void startAtWork(QProcess& process, const char* task, const QString& folder) {
    QVERIFY(QDir().mkpath(folder));
    process.setProcessEnvironment(environmentIn(folder));
    process.start(QStringLiteral(PLACEWRIGHT_WINDOW_AT_WORK), {task, folder});
}

void killHard(QProcess& process) {
    QCOMPARE(::kill(static_cast<pid_t>(process.processId()), SIGKILL), 0);
    QVERIFY(process.waitForFinished(kPatienceMs));
}

/// File of the policy that a session in the folder keeps; empty: there is none.
QString policyIn(const QString& folder) {
    const QFileInfoList files =
        QDir(folder + "/state/placewright/sessions").entryInfoList({"session-*.safetensors"}, QDir::Files);
    return files.isEmpty() ? QString() : files.front().absoluteFilePath();
}

class Program {
public:
    explicit Program(const QString& folder) : m_state(folder + "/state") {
        // A proof of the bound would take the cores from what is tested.
        QSettings settings(folder + "/Placewright/placewright.conf", QSettings::IniFormat);
        settings.setValue("tightenBound", false);
        settings.setValue("placesAtOnce", false);
        settings.sync();
        m_process.setProcessEnvironment(environmentIn(folder));
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

    void killedInASearch() {
        constexpr int kTogether = 5, kStepMs = 37;
        for (int first = 0; first < moments(20); first += kTogether) {
            std::vector<std::unique_ptr<Program>> programs;
            for (int i = first; i < first + kTogether; ++i) {
                QVERIFY(QDir().mkpath(m_place->file(QString::number(i))));
                programs.push_back(std::make_unique<Program>(m_place->file(QString::number(i))));
            }
            for (int i = 0; i < kTogether; ++i) {
                Program& program = *programs[static_cast<std::size_t>(i)];
                QTRY_VERIFY_WITH_TIMEOUT(program.hasSession(), kPatienceMs);
                QTest::qWait((first + i) * kStepMs % 190);
                const QDateTime killed = QDateTime::currentDateTime();
                killHard(program.process());
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

    void killedInATraining() {
        constexpr int kStepMs = 37;
        for (int moment = 0; moment < moments(5); ++moment) {
            const QString folder = m_place->file(QString::number(moment));
            QProcess process;
            startAtWork(process, "training", folder);
            QTRY_VERIFY_WITH_TIMEOUT(!policyIn(folder).isEmpty(), kPatienceMs);
            QTest::qWait(moment * kStepMs % 290);
            killHard(process);
            const PolicyFile kept = read_policy(policyIn(folder).toStdString());
            QVERIFY(kept.state.updates > 0);

            qputenv("XDG_STATE_HOME", (folder + "/state").toUtf8());
            Shown next;
            next.window.keeper()->startSession(true);
            const QString offered = next.window.offerBar()->text("recovery");
            QVERIFY2(offered.contains("and an unsaved policy"), qPrintable(offered));
            QTest::mouseClick(next.window.offerBar()->findChild<QPushButton*>(), Qt::LeftButton);
            const Learning* learning = next.window.learning();
            QTRY_VERIFY_WITH_TIMEOUT(next.document.isOpen() && learning->unsavedPolicy(), kPatienceMs);
            QVERIFY(learning->unsavedPolicy()->state == kept.state);
            QCOMPARE(learning->back()->text(),
                     QString("Policy not saved: %L1 updates").arg(kept.state.updates));
            QVERIFY(learning->back()->isVisible());
            // It is in the session of the new window now, and no longer offered.
            QTRY_COMPARE_WITH_TIMEOUT(
                QDir(WorkspaceKeeper::sessionFolder()).entryList({"session-*.placewright"}).size(), 1,
                kPatienceMs);
            QCOMPARE(QDir(WorkspaceKeeper::sessionFolder()).entryList({"session-*.safetensors"}).size(), 1);
            QVERIFY(read_policy(policyIn(folder).toStdString()).state == kept.state);

            // It is trained further from where it was.
            next.window.learning()->train();
            auto* learn = learning->window();
            auto* updates = learn->findChild<QSpinBox*>("updates");
            QCOMPARE(updates->value(), 1'000'000);
            updates->setValue(static_cast<int>(kept.state.updates) + 2);
            QTest::mouseClick(learn->findChild<QPushButton*>("start"), Qt::LeftButton);
            QTRY_VERIFY_WITH_TIMEOUT(
                learn->run() != nullptr && learn->run()->state() == TrainingRun::State::finished,
                kPatienceMs);
            QCOMPARE(learn->policy()->state.updates, kept.state.updates + 2);
            QVERIFY(std::equal(kept.state.curve.begin(), kept.state.curve.end(),
                               learn->policy()->state.curve.begin()));
            QTRY_VERIFY_WITH_TIMEOUT(next.window.keeper()->endSession(), 20'000);
            QVERIFY(policyIn(folder).isEmpty());
        }
    }

    void killedWhileSaving() {
        constexpr int kStepMs = 7;
        for (int moment = 0; moment < moments(10); ++moment) {
            const QString folder = m_place->file(QString::number(moment));
            QProcess process;
            startAtWork(process, "saving", folder);
            QTRY_VERIFY_WITH_TIMEOUT(process.bytesAvailable() > 0, kPatienceMs);
            QTest::qWait(moment * kStepMs % 190);
            killHard(process);
            const int done = process.readAllStandardOutput().trimmed().split('\n').last().toInt();
            QVERIFY(done > 0);
            // Each file is that of the last round that ended, or of the one that was killed.
            const Workspace saved = read_workspace(folder.toStdString() + "/work.placewright");
            const auto round = std::get<std::int64_t>(saved.view.at("seed"));
            QVERIFY2(round == done || round == done + 1, qPrintable(QString("%1, %2").arg(round).arg(done)));
            QFile placement(folder + "/placement.json"), picture(folder + "/graph.png");
            QVERIFY(placement.open(QIODevice::ReadOnly) && picture.open(QIODevice::ReadOnly));
            QVERIFY(QJsonDocument::fromJson(placement.readAll()).object().contains("placement"));
            QVERIFY(picture.readAll().endsWith(QByteArray("IEND\xae\x42\x60\x82")));
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
