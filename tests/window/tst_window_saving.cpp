// SPDX-License-Identifier: MIT
// Sessions that take long to write, that cannot be written, and that keep a policy.
#include <algorithm>
#include <csignal>
#include <memory>

#include <QComboBox>
#include <QDateTime>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QScopeGuard>
#include <QSpinBox>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <sys/resource.h>

#include "app/window/learn/learn_window.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/workspace.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/state/workspace_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"

using namespace placewright;
using test::giveFile, test::request, test::Shown;

namespace {

constexpr std::size_t kManyScores = 500'000;

QString lastSession() {
    return WorkspaceKeeper::sessionFolder() + QStringLiteral("/last.placewright");
}

}  // namespace

class TestWindowSaving : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;

    /// A window with a saved workspace and a session, whose run has so many scores.
    std::unique_ptr<Shown> worked(std::size_t scores) {
        auto shown = std::make_unique<Shown>();
        if (!shown->open(m_place->write("wide.json", test::wide_graph(6)))) return {};
        RunRequest search = request("random", 5);
        auto known = std::make_shared<std::vector<RecordedScore>>(scores);
        for (std::size_t i = 0; i < scores; ++i)
            (*known)[i] = {{i + 1, ~i}, {1e-3 * static_cast<double>(i), 1e-3 * static_cast<double>(i), true}};
        search.known = std::move(known);
        shown->document.startSearch(std::move(search));
        shown->waitUntilIdle();
        giveFile(m_place->file("work.placewright"));
        if (!shown->window.keeper()->save(true)) return {};
        shown->window.keeper()->startSession(false);
        return shown;
    }

    /// Trains a policy on the open network for 3 updates.
    static void train(Shown& shown) {
        shown.window.learning()->train();
        LearnWindow* learn = shown.window.learning()->window();
        auto* source = learn->findChild<QComboBox*>("source");
        source->setCurrentIndex(source->findData("open"));
        learn->findChild<QSpinBox*>("updates")->setValue(3);
        QTest::mouseClick(learn->findChild<QPushButton*>("start"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(
            learn->run() != nullptr && learn->run()->state() == TrainingRun::State::finished, 20'000);
    }
    /// Leaves a policy as a session that was killed does.
    static void leaveSessionWith(const PolicyFile& policy) {
        QVERIFY(QDir().mkpath(WorkspaceKeeper::sessionFolder()));
        write_policy(policy.record, policy.state, *policy.design.policy,
                     WorkspaceKeeper::sessionFolder().toStdString() + "/session-left.safetensors");
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        qputenv("XDG_STATE_HOME", m_place->file("state").toUtf8());
        qputenv("PLACEWRIGHT_AUTOSAVE_MS", "100");
    }
    void cleanup() {
        qunsetenv("XDG_STATE_HOME");
        qunsetenv("PLACEWRIGHT_AUTOSAVE_MS");
        m_place.reset();
    }

    void aLongWriteLeavesTheWindowAlive() {
        auto shown = worked(kManyScores);
        QVERIFY(shown);
        QVERIFY(!shown->window.close());
        QVERIFY(shown->window.keeper()->isEnding());
        QVERIFY(shown->window.isVisible() && !shown->window.isEnabled());
        QCOMPARE(shown->message(), QStringLiteral("Saving the session…"));
        QVERIFY(!shown->window.close());  // again
        QVERIFY(!QFile::exists(lastSession()));
        QTRY_VERIFY_WITH_TIMEOUT(!shown->window.isVisible(), 60'000);
        const Workspace kept = read_workspace(lastSession().toStdString());
        QVERIFY(kept.runs.size() == 1 && kept.runs[0].scores.size() >= kManyScores);
    }

    void whatCannotBeWrittenKeepsTheWindowOnce() {
        auto shown = worked(0);
        QVERIFY(shown);
        const QDir folder(WorkspaceKeeper::sessionFolder());
        const QStringList locks = folder.entryList({QStringLiteral("session-*.lock")});
        QCOMPARE(locks.size(), 1);
        const QString session = folder.filePath(locks[0].chopped(5));
        // A folder of this name is in the way.
        QVERIFY(!QFile::exists(session) || QFile::remove(session));
        QVERIFY(folder.mkdir(session) && QDir(session).mkdir("in_the_way"));
        shown->window.close();
        QTRY_VERIFY_WITH_TIMEOUT(!shown->window.keeper()->isEnding(), 20'000);
        QVERIFY(shown->window.isVisible() && shown->window.isEnabled());
        QVERIFY2(shown->message().contains("not kept"), qPrintable(shown->message()));
        shown->window.close();
        QTRY_VERIFY_WITH_TIMEOUT(!shown->window.isVisible(), 20'000);
    }

    void aFullDiskLosesNothing() {
        auto shown = worked(0);
        QVERIFY(shown);
        const QString before = m_place->file("work.placewright");
        shown->document.moveOps({shown->op("branch0")}, shown->deviceOf("branch0") == 0 ? 1 : 0);
        QVERIFY(shown->waitUntilIdle());
        {
            // Files that may not grow fail as those on a full disk do.
            std::signal(SIGXFSZ, SIG_IGN);  // as the program has it
            rlimit usual{};
            QCOMPARE(getrlimit(RLIMIT_FSIZE, &usual), 0);
            const rlimit none{16, usual.rlim_max};
            QCOMPARE(setrlimit(RLIMIT_FSIZE, &none), 0);
            const auto end = qScopeGuard([&] { setrlimit(RLIMIT_FSIZE, &usual); });
            // The session cannot be written either, which the window says once.
            shown->window.keeper()->saveSession();
            QTRY_VERIFY2_WITH_TIMEOUT(shown->message().contains("not kept until you save it"),
                                      qPrintable(shown->message()), 20'000);
            const std::pair<const char*, const char*> writers[]{{"Save as", "again.placewright"},
                                                                {"Placement", "placement.json"},
                                                                {"Report", "report.html"},
                                                                {"Picture of the graph", "graph.png"},
                                                                {"Picture of the timeline", "timeline.svg"},
                                                                {"Save search", "search.scores"},
                                                                {"Save machine", "machine.json"}};
            for (const auto& [entry, file] : writers) {
                giveFile(m_place->file(QLatin1String(file)));
                shown->action(QLatin1String(entry))->trigger();
                QTRY_VERIFY2_WITH_TIMEOUT(
                    shown->message().contains(QLatin1String(file)) &&
                        shown->message().contains(QLatin1String("cannot be written: File too large")),
                    qPrintable(QLatin1String(entry) + ": " + shown->message()), 20'000);
            }
            QCOMPARE(QDir(QFileInfo(before).path())
                         .entryList({"*.tmp", "again*", "graph*"}, QDir::Files | QDir::Hidden),
                     QStringList());
            QVERIFY(shown->window.isWindowModified());
            QVERIFY(shown->window.isVisible());
        }
        const Workspace old = read_workspace(before.toStdString());
        QVERIFY(shown->window.keeper()->save(true));
        QVERIFY(!shown->window.isWindowModified());
        QVERIFY(read_workspace(before.toStdString()).placement != old.placement);
    }

    void aPolicyIsKeptUntilItIsSaved() {
        const auto kept = [] {
            return QDir(WorkspaceKeeper::sessionFolder())
                .entryList({QStringLiteral("session-*.safetensors")});
        };
        Shown trained;
        QVERIFY(trained.open(m_place->write("wide.json", test::wide_graph(6))));
        trained.window.keeper()->startSession(false);
        train(trained);
        QTRY_COMPARE_WITH_TIMEOUT(kept().size(), 1, 20'000);
        const auto policy = trained.window.learning()->unsavedPolicy();
        leaveSessionWith(*policy);

        // A window without a network restores it.
        Shown next;
        next.window.keeper()->startSession(true);
        const QString offered = next.window.offerBar()->text("recovery");
        QVERIFY2(offered.contains("An earlier window left an unsaved policy ("), qPrintable(offered));
        QTest::mouseClick(next.window.offerBar()->findChild<QPushButton*>(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(next.window.learning()->unsavedPolicy(), 20'000);
        QVERIFY(next.window.learning()->unsavedPolicy()->state == policy->state);
        QVERIFY(next.window.offerBar()->text("recovery").isEmpty());
        QCOMPARE(kept().size(), 2);  // one of each window
        QTest::mouseClick(next.window.learning()->back(), Qt::LeftButton);
        LearnWindow* learn = next.window.learning()->window();
        QVERIFY(QTest::qWaitForWindowExposed(learn));
        const QString note = learn->findChild<QLabel*>("size")->text();
        QVERIFY2(note.contains("the policy that the session kept"), qPrintable(note));
        const QString file = m_place->file("kept.safetensors");
        giveFile(file);
        QTest::mouseClick(learn->findChild<QPushButton*>("save"), Qt::LeftButton);
        QVERIFY(read_policy(file.toStdString()).state == policy->state);
        QVERIFY(!next.window.learning()->unsavedPolicy() && learn->mayDrop());
        QTRY_COMPARE_WITH_TIMEOUT(kept().size(), 1, 20'000);  // that of the other window
    }

    /// Also where a person's data folder does not exist yet: the trash is made in it, nowhere else.
    void aDiscardedSessionIsInTheTrash() {
        const QDir folder(WorkspaceKeeper::sessionFolder());
        QVERIFY(folder.mkpath("."));
        QFile left(folder.filePath("session-left.safetensors"));
        QVERIFY(left.open(QIODevice::WriteOnly) && left.write("no policy") > 0);
        left.close();
        const QString data = m_place->file("data"), here = m_place->file("here");
        const QString current = QDir::currentPath();
        const QByteArray before = qgetenv("XDG_DATA_HOME");
        QVERIFY(QDir().mkpath(here) && QDir::setCurrent(here));
        qputenv("XDG_DATA_HOME", data.toUtf8());
        const auto restore = qScopeGuard([&] {
            QDir::setCurrent(current);
            before.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", before);
        });
        Shown next;
        next.window.keeper()->startSession(true);
        const auto buttons = next.window.offerBar()->findChildren<QPushButton*>();
        const auto discard = std::ranges::find(buttons, QStringLiteral("Discard"), &QPushButton::text);
        QVERIFY(discard != buttons.end());
        QTest::mouseClick(*discard, Qt::LeftButton);
        QVERIFY(!left.exists() && next.window.offerBar()->text("recovery").isEmpty());
        QCOMPARE(QDir(here).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList());
    }

    void aPolicyThatCannotBeReadStays() {
        const QDir folder(WorkspaceKeeper::sessionFolder());
        QVERIFY(folder.mkpath("."));
        QFile broken(folder.filePath("session-left.safetensors"));
        QVERIFY(broken.open(QIODevice::WriteOnly) && broken.write("no policy") > 0);
        broken.close();
        Shown shown;
        shown.window.keeper()->startSession(true);
        QString told;
        QTimer answer;
        connect(&answer, &QTimer::timeout, this, [&told] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (box == nullptr) return;
            told = box->text();
            box->accept();
        });
        answer.start(20);
        QTest::mouseClick(shown.window.offerBar()->findChild<QPushButton*>(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!told.isEmpty(), 20'000);
        QVERIFY2(told.contains(".safetensors"), qPrintable(told));
        // Neither the session nor its end removes it.
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(6))));
        shown.window.keeper()->saveSession();
        QTRY_VERIFY_WITH_TIMEOUT(shown.window.keeper()->endSession(), 20'000);
        QCOMPARE(folder.entryList({"session-*.safetensors"}).size(), 1);
    }

    void aPolicyReplacesATrainingThatFailed() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(6))));
        train(shown);
        const auto policy = shown.window.learning()->unsavedPolicy();
        leaveSessionWith(*policy);
        Shown next;
        next.window.learning()->train();
        LearnWindow* learn = next.window.learning()->window();
        auto* source = learn->findChild<QComboBox*>("source");
        source->setCurrentIndex(source->findData("folder"));
        learn->findChild<QLineEdit*>("folder")->setText(m_place->file("nowhere"));
        QTest::mouseClick(learn->findChild<QPushButton*>("start"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(learn->run()->state() == TrainingRun::State::failed, 20'000);
        next.window.keeper()->startSession(true);
        QTest::mouseClick(next.window.offerBar()->findChild<QPushButton*>(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(next.window.learning()->unsavedPolicy(), 20'000);
        QVERIFY(next.window.learning()->unsavedPolicy()->state == policy->state);
    }

    void unfinishedFilesAreRemoved() {
        const QDir folder(WorkspaceKeeper::sessionFolder());
        QVERIFY(folder.mkpath("."));
        const QString old = folder.filePath(".placewright-0123456789ab.tmp"),
                      young = folder.filePath(".placewright-ba9876543210.tmp");
        for (const QString& file : {old, young}) {
            QFile left(file);
            QVERIFY(left.open(QIODevice::WriteOnly) && left.write("half a sess") > 0);
            const int age_s = file == old ? 7200 : 60;
            QVERIFY(left.flush() && left.setFileTime(QDateTime::currentDateTime().addSecs(-age_s),
                                                     QFileDevice::FileModificationTime));
        }
        Shown shown;
        shown.window.keeper()->startSession(false);
        QVERIFY(!QFile::exists(old) && QFile::exists(young));
    }

    void aSecondPolicyIsKeptInAFile() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(6))));
        train(shown);
        const auto policy = shown.window.learning()->unsavedPolicy();
        leaveSessionWith(*policy);
        shown.window.keeper()->startSession(true);
        QTest::mouseClick(shown.window.offerBar()->findChild<QPushButton*>(), Qt::LeftButton);
        const QString told = shown.window.offerBar()->text("policy");
        QVERIFY2(told.contains("This window has a policy already"), qPrintable(told));
        const QDir folder(WorkspaceKeeper::sessionFolder());
        const QStringList files = folder.entryList({QStringLiteral("kept-*.safetensors")});
        QVERIFY(files.size() == 1 && told.contains(folder.filePath(files[0])));
        QVERIFY(read_policy(folder.filePath(files[0]).toStdString()).state == policy->state);
        QVERIFY(!QFile::exists(folder.filePath("session-left.safetensors")));
        QVERIFY(shown.window.learning()->unsavedPolicy()->state == policy->state);
    }

    void runsShareTheRoomForScores() {
        using Counts = std::vector<std::size_t>;
        QCOMPARE(sharesOf({5, 1, 10}, 100), (Counts{5, 1, 10}));
        QCOMPARE(sharesOf({50, 1, 100}, 21), (Counts{10, 1, 10}));
        QCOMPARE(sharesOf({0, 7}, 3), (Counts{0, 3}));
        QCOMPARE(sharesOf({}, 3), Counts{});
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowSaving)
#include "tst_window_saving.moc"
