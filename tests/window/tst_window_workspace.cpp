// SPDX-License-Identifier: MIT
// Workspaces: saved, opened, reopened after a crash; files that change on disk.
#include <memory>

#include <QApplication>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include "app/window/budget_box.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/pair/pinned_placement.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/state/workspace_file.hpp"
#include "core/machine/machine_edit.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/timeline_view.hpp"

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

QByteArray contentOf(const QString& file) {
    QFile opened(file);
    return opened.open(QIODevice::ReadOnly) ? opened.readAll() : QByteArray();
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

    void anotherWindowsWorkIsNotOverwritten() {
        const QString file = m_place->file("work.placewright"), mine = m_place->file("mine.placewright");
        auto a = worked();
        QVERIFY(a);
        giveFile(file);
        QTest::keyClick(&a->window, Qt::Key_S, Qt::ControlModifier);
        QTRY_VERIFY_WITH_TIMEOUT(!a->window.isWindowModified(), 20'000);
        Shown b;
        QVERIFY(b.dropFile(file));
        QTRY_COMPARE_WITH_TIMEOUT(b.document.networkFile(), m_network, 20'000);
        QVERIFY(b.waitUntilIdle());
        const auto move = [](Shown& shown, const char* op) {  // to the next of the three devices
            shown.window.activateWindow();
            if (!QTest::qWaitForWindowActive(&shown.window)) return false;
            shown.document.setSelection({shown.op(op)});
            shown.window.graphView()->setFocus();
            QTest::keyClick(shown.window.graphView(), static_cast<char>('1' + (shown.deviceOf(op) + 1) % 3));
            shown.waitUntilIdle();
            return shown.window.isWindowModified();
        };
        const auto save = [](Shown& shown) {
            shown.window.activateWindow();
            QVERIFY(QTest::qWaitForWindowActive(&shown.window));
            QTest::keyClick(&shown.window, Qt::Key_S, Qt::ControlModifier);
        };
        QVERIFY(move(b, "branch3"));
        save(b);
        QTRY_VERIFY_WITH_TIMEOUT(!b.window.isWindowModified(), 20'000);
        QVERIFY(move(b, "branch4"));
        save(b);  // its own file: no question
        QTRY_VERIFY_WITH_TIMEOUT(!b.window.isWindowModified(), 20'000);
        const QByteArray ofB = contentOf(file);

        const auto question = [] { return qobject_cast<QMessageBox*>(QApplication::activeModalWidget()); };
        QVERIFY(move(*a, "branch5"));
        const auto answer = [&](Qt::Key key) {
            QStringList asked;
            QTimer answers;
            connect(&answers, &QTimer::timeout, this, [&] {
                if (QMessageBox* box = question();
                    box != nullptr && box->isActiveWindow() && asked.isEmpty()) {
                    asked << box->text();
                    QTest::keyClick(box, key, key == Qt::Key_O ? Qt::AltModifier : Qt::NoModifier);
                }
            });
            answers.start(20);
            save(*a);
            QTRY_VERIFY_WITH_TIMEOUT(!asked.isEmpty() && !question(), 20'000);
            a->waitUntilIdle();
            QVERIFY2(asked.value(0).contains("has changed on disk since this window opened or saved it."),
                     qPrintable(asked.value(0)));
        };
        answer(Qt::Key_Escape);
        QCOMPARE(contentOf(file), ofB);
        QVERIFY(a->window.isWindowModified());
        QCOMPARE(a->window.keeper()->file(), file);

        giveFile(mine);
        answer(Qt::Key_Return);  // the default: another file
        QTRY_VERIFY_WITH_TIMEOUT(!a->window.isWindowModified(), 20'000);
        QCOMPARE(contentOf(file), ofB);
        QCOMPARE(a->window.keeper()->file(), mine);
        QCOMPARE(read_workspace(mine.toStdString()).selection, std::vector<std::string>{"branch5"});

        // What a program without a window writes counts as well, and may be overwritten.
        QVERIFY(QFile::remove(mine) && QFile::copy(file, mine));
        QVERIFY(move(*a, "branch6"));
        answer(Qt::Key_O);
        QTRY_VERIFY_WITH_TIMEOUT(!a->window.isWindowModified(), 20'000);
        QCOMPARE(read_workspace(mine.toStdString()).selection, std::vector<std::string>{"branch6"});
        QVERIFY(move(*a, "branch7"));
        save(*a);
        QTRY_VERIFY_WITH_TIMEOUT(!a->window.isWindowModified(), 20'000);
        QCOMPARE(contentOf(file), ofB);
    }

    /// It replaces the last one when it ends.
    void theLastSessionIsOfferedBesideOneToRestore() {
        auto before = worked();
        QVERIFY(before);
        before->window.keeper()->startSession(false);
        QTRY_VERIFY_WITH_TIMEOUT(before->window.keeper()->endSession(), 20'000);
        const QString folder = WorkspaceKeeper::sessionFolder();
        QVERIFY(QFile::copy(folder + "/last.placewright", folder + "/session-0123456789ab.placewright"));
        Shown after;
        after.window.keeper()->startSession(true);
        const auto* offers = after.window.findChild<OfferBar*>();
        QVERIFY(offers->text("recovery").contains("ended unexpectedly"));
        QVERIFY(offers->text("last").contains("Last session"));
        press(after, "recovery", "Restore");
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle());
        QVERIFY(offers->text("last").contains("Last session"));
    }

    void aRestoredSessionKnowsItsFile() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        QVERIFY(before->window.keeper()->save(true));
        before->document.moveOps({before->op("branch3")}, 2);
        QVERIFY(before->waitUntilIdle());
        before->window.keeper()->startSession(false);
        QTRY_VERIFY_WITH_TIMEOUT(before->window.keeper()->endSession(), 20'000);
        Shown after;
        after.window.keeper()->startSession(true);
        press(after, "last", "Reopen");
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle() && after.window.isWindowModified());
        before->document.moveOps({before->op("branch4")}, 2);
        QVERIFY(before->window.keeper()->save(true));
        const QByteArray other = contentOf(file);
        QString text;
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&] {
            if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
                text = box->text();
                QTest::keyClick(box, Qt::Key_Escape);
            }
        });
        answers.start(20);
        QVERIFY(!after.window.keeper()->save(true));
        QVERIFY2(text.contains("has changed on disk"), qPrintable(text));
        QCOMPARE(contentOf(file), other);
    }

    void savingAgainAddsNothing() {
        auto shown = worked();
        QVERIFY(shown);
        const auto keep = [&] { shown->document.keep(shown->document.snapshot(), shown->stepTime()); };
        keep();
        const std::size_t kept = shown->document.snapshot().kept.size();
        keep();
        keep();
        QCOMPARE(shown->document.snapshot().kept.size(), kept);
    }

    void keptPlacementsAreBounded() {
        auto shown = worked();
        QVERIFY(shown);
        KeptPlacements kept;
        const auto& scenario = shown->document.scenario();
        Placement placement = shown->document.placement();
        const auto devices = static_cast<DeviceId>(shown->document.problem()->devices);
        for (std::size_t i = 0; i < 3 * KeptPlacements::kMostKept; ++i) {
            std::size_t digits = i;  // each one differs
            for (DeviceId& device : placement) {
                device = static_cast<DeviceId>(digits % devices);
                digits /= devices;
            }
            kept.keep(scenario, placement, 1);
        }
        QCOMPARE(kept.all().size(), KeptPlacements::kMostKept);
        QVERIFY(kept.all().back().placement == placement);
        QVERIFY(!kept.lacks(scenario, placement));
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

    void aRestoredSearchGoesOn() {
        const QString file = m_place->file("work.placewright");
        auto before = std::make_unique<Shown>();
        QVERIFY(before->open(m_network, m_machine));
        const int id = before->document.startSearch(request("genetic", test::kEndless));
        QTRY_VERIFY_WITH_TIMEOUT(before->document.runs().front()->progress().evaluations > 500, 20'000);
        before->document.followRun(id);
        giveFile(file);
        before->window.keeper()->save(true);
        before->document.cancelRun(id);
        QVERIFY(before->waitUntilIdle());
        const Workspace saved = read_workspace(file.toStdString());
        QCOMPARE(saved.followed_run, id);
        before.reset();

        Shown after;
        after.document.openWorkspace(file);
        QTRY_COMPARE_WITH_TIMEOUT(after.document.runs().size(), std::size_t{1}, 20'000);
        QVERIFY(after.waitUntilIdle());
        after.action("Resume the selected search")->trigger();
        QTRY_COMPARE(after.document.runs().size(), std::size_t{2});
        const Run& next = *after.document.runs().back();
        QCOMPARE(after.document.pinnedRun(), &next);
        QTRY_VERIFY_WITH_TIMEOUT(next.progress().evaluations > saved.runs.front().progress.evaluations,
                                 20'000);
        // What was known is not simulated again.
        QVERIFY(next.progress().simulations < next.progress().evaluations);
        const auto scores = next.scores()->scores();
        QVERIFY(
            std::equal(saved.runs.front().scores.begin(), saved.runs.front().scores.end(), scores.begin()));
        after.document.cancelRun(next.id());
        QVERIFY(after.waitUntilIdle());
    }

    void aFinishedSearchDoesNotGoOn() {
        auto shown = worked();
        QVERIFY(shown);
        shown->action("Resume the selected search")->trigger();
        QVERIFY2(shown->message().contains("there is nothing to resume"), qPrintable(shown->message()));
        QCOMPARE(shown->document.runs().size(), std::size_t{1});
    }

    void runsAndViewComeBack() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        const Run& of = *before->document.runs().front();
        before->document.renameRun(of.id(), "mine");
        before->document.hideRun(of.id(), true);
        before->window.pinned()->pinRun(of.id());
        before->window.chooseBudget({Budget::kUnlimited, 90});
        before->window.graphView()->setZoom({2, {10, 20}, false});
        const double half_s = before->stepTime() / 2;
        before->window.timelineView()->setZoom({0, half_s, false, 0});
        giveFile(file);
        before->window.keeper()->save(true);

        Shown after;
        after.document.openWorkspace(file);
        QTRY_COMPARE_WITH_TIMEOUT(after.document.runs().size(), std::size_t{1}, 20'000);
        QVERIFY(after.waitUntilIdle());
        const Run& run = *after.document.runs().front();
        QCOMPARE(run.name(), QString("mine"));
        QVERIFY(after.document.isHidden(run));
        QVERIFY(*run.sketch() == *of.sketch());
        QVERIFY(run.progress().means == of.progress().means);
        QVERIFY(run.simulated());
        QVERIFY(after.window.pinned()->isPinned());
        QCOMPARE(after.window.pinned()->a()->title, before->window.pinned()->a()->title);
        QCOMPARE(*after.window.pinned()->a()->simulated->placement, *of.progress().best_placement);
        QCOMPARE(after.window.findChild<BudgetBox*>()->budget().seconds, 90.0);
        const GraphZoom zoom = after.window.graphView()->zoom();
        QVERIFY(!zoom.fitted);
        QCOMPARE(zoom.scale, before->window.graphView()->zoom().scale);
        QVERIFY(QLineF(zoom.centre, before->window.graphView()->zoom().centre).length() < 1);
        QCOMPARE(after.window.timelineView()->zoom().end_s, half_s);
        QVERIFY(!after.window.isWindowModified());
    }

    void anEditedMachineIsInTheFile() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        before->document.editMachine("rename", with_device_name(*before->document.whatIfBase(), 0, "fast"));
        QVERIFY(before->waitUntilIdle());
        QVERIFY(before->document.isMachineEdited());
        const QString edited = before->document.machineFile();
        giveFile(file);
        before->window.keeper()->save(true);
        // As on another computer.
        QVERIFY(QFile::remove(edited) && QFile::remove(m_machine));
        Shown after;
        after.document.openWorkspace(file);
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY2(after.waitUntilIdle(), qPrintable(after.message()));
        QCOMPARE(after.document.problem()->machine->device(0).name, std::string("fast"));
        QVERIFY(after.document.isMachineEdited());
        // The search before the edit was on the machine that is not here.
        QVERIFY2(after.message().contains("three.json") && after.message().contains("1 run was left out"),
                 qPrintable(after.message()));
        QCOMPARE(after.document.placement(), before->document.placement());
    }

    void whatDoesNotFitTheNetworkIsKept() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        before->window.keeper()->save(true);
        before.reset();
        const QByteArray old = contentOf(file);
        m_place->write("wide.json", test::wide_graph(14));
        Shown after;
        after.document.openWorkspace(file);
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle());
        QVERIFY2(after.message().contains("1 run was left out"), qPrintable(after.message()));
        QVERIFY(after.window.offerBar()->text("kept").isEmpty());
        QCOMPARE(contentOf(file), old);
        after.window.keeper()->save(true);
        const QStringList kept = QDir(m_place->file("")).entryList({"work-kept-*.placewright"});
        QCOMPARE(kept.size(), 1);
        QCOMPARE(contentOf(m_place->file(kept.front())), old);
        QVERIFY(after.window.offerBar()->text("kept").contains(kept.front()));
        QVERIFY(contentOf(file) != old);
        after.window.keeper()->save(true);  // nothing more is left out
        QCOMPARE(QDir(m_place->file("")).entryList({"work-kept-*.placewright"}).size(), 1);
    }

    void runsBeforeAReloadAreKept() {
        const QString file = m_place->file("work.placewright");
        auto shown = worked();
        QVERIFY(shown);
        giveFile(file);
        shown->window.keeper()->save(true);
        const QByteArray old = contentOf(file);
        m_place->write("wide.json", test::wide_graph(14));
        shown->document.reload();
        QTRY_COMPARE_WITH_TIMEOUT(shown->document.placement().size(), std::size_t{16}, 20'000);
        QVERIFY(shown->waitUntilIdle());
        shown->window.keeper()->save(true);
        const QStringList kept = QDir(m_place->file("")).entryList({"work-kept-*.placewright"});
        QCOMPARE(kept.size(), 1);
        QCOMPARE(contentOf(m_place->file(kept.front())), old);
    }

    void theSessionThatDoesNotFitIsKept() {
        auto before = worked();
        QVERIFY(before);
        before->window.keeper()->startSession(true);
        QTRY_VERIFY_WITH_TIMEOUT(before->window.keeper()->endSession(), 20'000);
        before.reset();
        const QDir sessions(WorkspaceKeeper::sessionFolder());
        const QByteArray old = contentOf(sessions.filePath("last.placewright"));
        m_place->write("wide.json", test::wide_graph(14));
        Shown after;
        after.window.keeper()->startSession(true);
        press(after, "last", "Reopen");
        QTRY_VERIFY_WITH_TIMEOUT(!after.window.offerBar()->text("kept").isEmpty(), 20'000);
        const QStringList kept = sessions.entryList({"kept-*.placewright"});
        QCOMPARE(kept.size(), 1);
        QCOMPARE(contentOf(sessions.filePath(kept.front())), old);
        QVERIFY(after.waitUntilIdle());
        QTRY_VERIFY_WITH_TIMEOUT(after.window.keeper()->endSession(), 20'000);
        QCOMPARE(contentOf(sessions.filePath(kept.front())), old);
    }

    void theSelectionIsInTheSession() {
        auto shown = worked();
        QVERIFY(shown);
        giveFile(m_place->file("work.placewright"));
        shown->window.keeper()->save(true);
        shown->window.keeper()->startSession(true);
        shown->document.setSelection({shown->op("branch3")});
        const QDir sessions(WorkspaceKeeper::sessionFolder());
        const auto selection = [&]() -> std::vector<std::string> {
            const QStringList files = sessions.entryList({"session-*.placewright"});
            if (files.isEmpty()) return {};
            return read_workspace(sessions.filePath(files.front()).toStdString()).selection;
        };
        QTRY_COMPARE_WITH_TIMEOUT(selection(), std::vector<std::string>{"branch3"}, 20'000);
        QVERIFY(!shown->window.isWindowModified());
        QTRY_VERIFY_WITH_TIMEOUT(shown->window.keeper()->endSession(), 20'000);
    }

    void aForeignLayoutIsIgnored_data() {
        QTest::addColumn<QByteArray>("layout");
        QTest::newRow("nothing") << QByteArray();
        QTest::newRow("short") << QByteArray("\0\0", 2);
        QTest::newRow("other version") << QByteArray("\0\0\0\xff\0\0\0\x07 and more", 17);
        QTest::newRow("long") << QByteArray("\0\0\0\xff\0\0\0\0", 8) + QByteArray(200'000, '\x01');
    }
    void aForeignLayoutIsIgnored() {
        QFETCH(QByteArray, layout);
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        before->window.keeper()->save(true);
        Workspace workspace = read_workspace(file.toStdString());
        workspace.view["layout"] = layout.toBase64().toStdString();
        write_workspace(workspace, file.toStdString());
        Shown after;
        after.document.openWorkspace(file);
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle());
        QVERIFY(test::panelVisible(after, "runsDock") && test::panelVisible(after, "timelineDock"));
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

    void aMissingMachineIsAskedFor() {
        const QString file = m_place->file("work.placewright"), moved = m_place->file("moved.json");
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        QVERIFY(before->window.keeper()->save(true));
        QVERIFY(QFile::rename(m_machine, moved));
        Shown after;
        QString title;
        QTimer refuses;
        connect(&refuses, &QTimer::timeout, this, [&] {
            if (auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) {
                title = dialog->windowTitle();
                QTest::keyClick(dialog, Qt::Key_Escape);
            }
        });
        refuses.start(20);
        QVERIFY(after.dropFile(file));
        QTRY_VERIFY2_WITH_TIMEOUT(after.message().contains("three.json is missing"),
                                  qPrintable(after.message()), 20'000);
        refuses.stop();
        QCOMPARE(title, QStringLiteral("Where is three.json?"));
        QVERIFY(!after.document.isOpen());
        giveFile(moved);
        QVERIFY(after.dropFile(file));
        QTRY_COMPARE_WITH_TIMEOUT(after.document.machineFile(), moved, 20'000);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.placement(), before->document.placement());
        QCOMPARE(after.document.runs().size(), std::size_t{1});
    }

    /// A file with the times of all ops.
    QString profile(const Problem& problem, double time_s) {
        ProfileArchive archive;
        DeviceProfile& device = archive.devices["test"];
        for (OpId op = 0; op < problem.network->size(); ++op)
            device.ops[op_signature(*problem.network, op)].forward_s = time_s;
        const QString file = m_place->file("times.json");
        write_profile(archive, file.toStdString());
        return file;
    }

    void whatHasChangedIsNamed_data() {
        QTest::addColumn<QString>("changes");
        QTest::addColumn<QString>("reason");
        QTest::newRow("profile")
            << "profile"
            << "times.json or wide.json has changed, or this version of Placewright simulates differently.";
        QTest::newRow("no profile") << "no profile"
                                    << "times.json is missing.";
        QTest::newRow("network") << "network"
                                 << "the network file wide.json has changed.";
        QTest::newRow("machine") << "machine"
                                 << "the machine file three.json has changed.";
    }
    void whatHasChangedIsNamed() {
        QFETCH(QString, changes);
        QFETCH(QString, reason);
        const QString file = m_place->file("work.placewright");
        {
            Shown before;
            QVERIFY(before.open(m_network, m_machine));
            before.document.useProfile(profile(*before.document.problem(), 0.01));
            QVERIFY(before.waitUntilIdle());
            before.document.startSearch(request("genetic", 100));
            QVERIFY(before.waitUntilIdle());
            giveFile(file);
            QVERIFY(before.window.keeper()->save(true));
            if (changes == "profile") profile(*before.document.problem(), 0.02);
        }
        if (changes == "no profile") QVERIFY(QFile::remove(m_place->file("times.json")));
        if (changes == "network") m_place->write("wide.json", test::wide_graph(13));
        if (changes == "machine") {
            const Machine machine = test::uniform_machine(3);
            m_place->write("three.json", test::uniform_machine(3, 0.5 * machine.device(0).memory_bytes));
        }
        Shown after;
        QVERIFY(after.dropFile(file));
        QTRY_VERIFY2_WITH_TIMEOUT(after.message().contains("1 run was left out: " + reason),
                                  qPrintable(after.message()), 20'000);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.networkFile(), m_network);
        QCOMPARE(after.document.options().profile.empty(), changes == "no profile");
        QCOMPARE(after.document.options().problem.cost.model->id, std::string_view("measured"));
        if (changes == "no profile")
            QVERIFY2(after.message().contains("times.json is missing: its times or sizes are not used"),
                     qPrintable(after.message()));
    }

    /// The first change after opening is one of the work in the file, not of another work.
    void aChangeStaysInTheFile_data() {
        QTest::addColumn<bool>("reopened");
        QTest::newRow("of a saved work") << false;
        QTest::newRow("of an opened work") << true;
    }
    void aChangeStaysInTheFile() {
        QFETCH(bool, reopened);
        const QString file = m_place->file("work.placewright");
        auto shown = std::make_unique<Shown>();
        QVERIFY(shown->open(m_network, m_machine));
        giveFile(file);
        QVERIFY(shown->window.keeper()->save(true));
        if (reopened) {
            shown = std::make_unique<Shown>();
            QVERIFY(shown->dropFile(file));
            QTRY_COMPARE_WITH_TIMEOUT(shown->document.networkFile(), m_network, 20'000);
            QVERIFY(shown->waitUntilIdle());
        }
        QCOMPARE(shown->window.keeper()->file(), file);
        QVERIFY(!shown->window.isWindowModified());
        JobOptions options = shown->document.options();
        options.problem.precision = Precision::bf16;
        shown->document.setOptions(options);
        QVERIFY(shown->waitUntilIdle());
        QCOMPARE(shown->window.keeper()->file(), file);
        QVERIFY(shown->window.isWindowModified());

        // Another network asks for it, and is in no file.
        QString asked;
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            asked = question->informativeText();
            question->button(QMessageBox::Discard)->click();
        });
        answers.start(20);
        QVERIFY(shown->open(m_place->write("other.json", test::wide_graph(3))));
        QVERIFY2(asked.contains("Changes since work.placewright was saved will be lost"), qPrintable(asked));
        QCOMPARE(shown->window.keeper()->file(), QString());
        QVERIFY(!shown->window.isWindowModified());
    }

    /// Runs that could not be opened are not lost where the file is written after a change.
    void whatWasLeftOutIsKept() {
        const QString file = m_place->file("work.placewright");
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        QVERIFY(before->window.keeper()->save(true));
        m_place->write("three.json", test::uniform_machine(3, 2e12));  // the run was of another machine
        Shown after;
        QVERIFY(after.dropFile(file));
        QTRY_COMPARE_WITH_TIMEOUT(after.document.networkFile(), m_network, 20'000);
        QVERIFY(after.waitUntilIdle());
        QVERIFY(after.document.runs().empty());
        JobOptions options = after.document.options();
        options.problem.precision = Precision::fp32;
        after.document.setOptions(options);
        QVERIFY(after.waitUntilIdle());
        QVERIFY(after.window.keeper()->save(true));
        QVERIFY(read_workspace(file.toStdString()).runs.empty());
        const QDir folder = QFileInfo(file).dir();
        const QStringList kept = folder.entryList({QStringLiteral("work-kept*.placewright")});
        QCOMPARE(kept.size(), 1);
        QCOMPARE(read_workspace(folder.filePath(kept.front()).toStdString()).runs.size(), std::size_t{1});
    }

    /// What is asked for while a workspace is being opened does not drop it in silence.
    void openingAWorkspaceGoesOn() {
        const QString file = m_place->file("work.placewright"),
                      other = m_place->write("other.json", test::wide_graph(3));
        auto before = worked();
        QVERIFY(before);
        giveFile(file);
        QVERIFY(before->window.keeper()->save(true));
        Shown after;
        QVERIFY(after.open(other, m_machine));
        after.document.openWorkspace(file);
        after.document.setMachine(QStringLiteral("4x-v100-nvlink"));
        QVERIFY2(after.message().contains("work.placewright is being opened"), qPrintable(after.message()));
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.document.networkFile(), m_network);
        QCOMPARE(after.document.machineFile(), m_machine);
        QVERIFY2(!after.message().contains("was not opened"), qPrintable(after.message()));

        // Another network takes its place, and so does an older machine or options. Both say so.
        Shown last;
        QVERIFY(last.open(other, m_machine));
        last.document.openWorkspace(file);
        last.document.openFile(m_network);
        QVERIFY2(last.message().contains("work.placewright was not opened"), qPrintable(last.message()));
        QVERIFY(last.waitUntilIdle());
        QCOMPARE(last.document.networkFile(), m_network);
        JobOptions options = last.document.options();
        options.simulation.batches = 2;
        last.document.setOptions(options);
        QVERIFY(last.waitUntilIdle());
        last.document.openWorkspace(file);
        last.document.undoStack()->undo();
        QTRY_VERIFY2(last.message().contains("work.placewright was not opened"), qPrintable(last.message()));
        QVERIFY(last.waitUntilIdle());
        QCOMPARE(last.document.options().simulation.batches, 1U);
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
        before->window.close();
        QTRY_VERIFY_WITH_TIMEOUT(!before->window.isVisible(), 20'000);
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

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowWorkspace)
#include "tst_window_workspace.moc"
