// SPDX-License-Identifier: MIT
// Workspaces: saved, opened, reopened after a crash; files that change on disk.
#include <memory>

#include <QApplication>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include "app/window/offer_bar.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/state/workspace_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/runs_view.hpp"

using namespace placewright;
using test::giveFile, test::request, test::Shown;

namespace {

void press(Shown& shown, const char* row, const char* text) {
    const auto* bar = shown.window.offerBar()->findChild<QWidget*>(QLatin1String(row));
    QVERIFY(bar != nullptr);
    for (QPushButton* button : bar->findChildren<QPushButton*>()) {
        if (button->text() == QLatin1String(text)) return QTest::mouseClick(button, Qt::LeftButton);
    }
    QFAIL("no such button");
}

}  // namespace

class TestWindowWorkspace : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_network;

    /// A window with an edit and a finished search.
    std::unique_ptr<Shown> worked() {
        auto shown = std::make_unique<Shown>();
        if (!shown->open(m_network, m_machine)) return {};
        JobOptions options = shown->document.options();
        options.simulation.batches = 3;
        options.problem.precision = Precision::bf16;
        shown->document.setOptions(options);
        shown->waitUntilIdle();
        shown->document.startSearch(request("map-elites", 300));
        shown->waitUntilIdle();
        shown->document.moveOps({shown->op("branch1")}, 1);
        shown->document.setSelection({shown->op("branch2")});
        shown->waitUntilIdle();
        return shown;
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_network = m_place->write("wide.json", test::wide_graph(12));
        qputenv("XDG_STATE_HOME", m_place->file("state").toUtf8());
        qputenv("PLACEWRIGHT_AUTOSAVE_MS", "50");
    }
    void cleanup() { m_place.reset(); }

    void savedAndOpened() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        QVERIFY(before->window.isWindowModified());
        QVERIFY2(before->window.windowTitle().contains("[*]"), qPrintable(before->window.windowTitle()));
        giveFile(file);
        QTest::keyClick(&before->window, Qt::Key_S, Qt::ControlModifier);
        QTRY_VERIFY_WITH_TIMEOUT(!before->window.isWindowModified(), 20'000);
        QVERIFY2(before->message().contains(file), qPrintable(before->message()));
        QVERIFY(!before->document.unsaved());
        QVERIFY(before->window.close());  // asks nothing

        Shown after;
        QVERIFY(after.dropFile(file));
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.machineFile(), m_machine);
        QVERIFY(after.document.options() == before->document.options());
        QCOMPARE(after.document.placement(), before->document.placement());
        QCOMPARE(after.document.selection(), before->document.selection());
        QCOMPARE(after.stepTime(), before->stepTime());
        QVERIFY(!after.window.isWindowModified());
        const Run &run = *after.document.runs().front(), &of = *before->document.runs().front();
        QCOMPARE(after.window.runsView()->runs()->rowCount(), 1);
        QCOMPARE(run.state(), Run::State::finished);
        QVERIFY(*run.progress().curve == *of.progress().curve);
        QVERIFY(*run.progress().best_placement == *of.progress().best_placement);
        QCOMPARE(run.progress().archive->elites.size(), of.progress().archive->elites.size());
        QVERIFY(run.scores()->scores() == of.scores()->scores());
        // A run can be shown again, and its file is the one that Save writes.
        after.document.showRun(run.id());
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.placement(), *of.progress().best_placement);
        QTest::keyClick(&after.window, Qt::Key_S, Qt::ControlModifier);
        QTRY_VERIFY_WITH_TIMEOUT(!after.window.isWindowModified(), 20'000);
        QCOMPARE(after.window.keeper()->file(), file);
    }

    void aStoppedSearchGoesOn() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const int id = shown.document.startSearch(request("genetic", test::kEndless));
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.runs().front()->progress().evaluations > 500, 20'000);
        shown.document.cancelRun(id);
        QVERIFY(shown.waitUntilIdle());
        const auto evaluations = shown.document.runs().front()->progress().evaluations;
        QTest::qWait(1);
        shown.action("Resume the selected search")->trigger();
        QTRY_COMPARE(shown.document.runs().size(), std::size_t{2});
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.runs().back()->progress().evaluations > evaluations, 20'000);
        shown.document.cancelRun(shown.document.runs().back()->id());
        QVERIFY(shown.waitUntilIdle());
    }

    void aMissingNetworkIsAskedFor() {
        const QString file = m_place->file("work.placewright"), moved = m_place->file("moved.json");
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        before->window.keeper()->save();
        QTRY_VERIFY_WITH_TIMEOUT(!before->window.isWindowModified(), 20'000);
        QVERIFY(QFile::rename(m_network, moved));
        Shown after;
        giveFile(moved);
        after.document.openWorkspace(file);
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), moved, 20'000);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.placement(), before->document.placement());
    }

    void whatCannotBeWrittenLosesNothing() {
        auto shown = worked();
        QVERIFY(shown);
        giveFile(m_place->file("no folder/work.placewright"));
        shown->window.keeper()->save();
        QTRY_VERIFY_WITH_TIMEOUT(shown->message().contains("cannot be written"), 20'000);
        QVERIFY(shown->window.isWindowModified());
        QVERIFY(shown->document.unsaved());
    }

    void aBadFileChangesNothing() {
        auto shown = worked();
        QVERIFY(shown);
        const Placement placement = shown->document.placement();
        shown->document.openWorkspace(
            m_place->write("bad.placewright", QByteArray("{\"format\": \"placewright.workspace\", ")));
        QTRY_VERIFY_WITH_TIMEOUT(shown->message().contains("bad.placewright"), 20'000);
        QCOMPARE(shown->document.placement(), placement);
        QCOMPARE(shown->document.runs().size(), std::size_t{1});
    }

    void theLastSessionIsOffered() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        before->window.keeper()->startSession(true);
        giveFile(file);
        before->window.keeper()->save(true);
        QVERIFY(before->window.close());
        Shown after;
        after.window.keeper()->startSession(true);
        QVERIFY(after.window.offerBar()->text("last").contains("fork-join on "));
        press(after, "last", "Reopen");
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.placement(), before->document.placement());
        QCOMPARE(after.window.keeper()->file(), file);
        QVERIFY(after.window.offerBar()->text("last").isEmpty());
    }

    void aChangedFileIsReloaded() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        shown.document.moveOps({shown.op("branch1")}, 1);
        shown.document.startSearch(request("expert", 10));
        QVERIFY(shown.waitUntilIdle());
        const DeviceId device = shown.deviceOf("branch1");
        m_place->write("wide.json", test::wide_graph(14));
        QTRY_VERIFY_WITH_TIMEOUT(!shown.window.offerBar()->text("reload").isEmpty(), 20'000);
        QCOMPARE(shown.document.placement().size(), std::size_t{14});
        press(shown, "reload", "Reload");
        QTRY_COMPARE_WITH_TIMEOUT(shown.document.placement().size(), std::size_t{16}, 20'000);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch1"), device);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QTRY_COMPARE_WITH_TIMEOUT(shown.document.placement().size(), std::size_t{14}, 20'000);
        QVERIFY(shown.waitUntilIdle());
        m_place->write("wide.json", test::wide_graph(3));
        QTest::keyClick(&shown.window, Qt::Key_R, Qt::ControlModifier);
        QTRY_COMPARE_WITH_TIMEOUT(shown.document.placement().size(), std::size_t{5}, 20'000);
    }
};

QTEST_MAIN(TestWindowWorkspace)
#include "tst_window_workspace.moc"
