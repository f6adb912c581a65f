// SPDX-License-Identifier: MIT
// The end of a session that takes long to write, or cannot be written.
#include <memory>

#include <QDir>
#include <QTest>

#include "app/window/workspace.hpp"
#include "app/window/workspace_keeper.hpp"
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

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        qputenv("XDG_STATE_HOME", m_place->file("state").toUtf8());
    }
    void cleanup() {
        qunsetenv("XDG_STATE_HOME");
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
