// SPDX-License-Identifier: MIT
// Closing the window or a network while work goes on or a placement is in no file.
#include <memory>

#include <QApplication>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QTest>
#include <QTimer>

#include "core/io/placements/placement_file.hpp"
#include "core/io/state/workspace_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/runs_view.hpp"

using namespace placewright;
using test::request, test::running, test::Shown;

namespace {

#ifdef __SANITIZE_THREAD__
constexpr int kQuickMs = 60'000;  // ThreadSanitizer is slow
#else
constexpr int kQuickMs = 20'000;  // work that is not cancelled takes much longer
#endif

/// Answers each message box, and each file dialog with the next of `files`.
class Answers {
public:
    explicit Answers(QMessageBox::StandardButton answer, QStringList files = {}) : m_files(std::move(files)) {
        QObject::connect(&m_timer, &QTimer::timeout, [this, answer] {
            QWidget* modal = QApplication::activeModalWidget();
            if (auto* question = qobject_cast<QMessageBox*>(modal)) {
                m_asked << question->text();
                // Asked only once if no file is known.
                question
                    ->button(answer == QMessageBox::Save && m_files.isEmpty() ? QMessageBox::Cancel : answer)
                    ->click();
            } else if (auto* dialog = qobject_cast<QFileDialog*>(modal);
                       dialog != nullptr && !m_files.isEmpty()) {
                dialog->findChild<QLineEdit*>("fileNameEdit")->setText(m_files.takeFirst());
                QMetaObject::invokeMethod(dialog, "accept");
            }
        });
        m_timer.start(60);
    }
    const QStringList& asked() const { return m_asked; }

private:
    QTimer m_timer;
    QStringList m_files, m_asked;
};

/// Whether the workspace has this placement on screen.
bool holds(const QString& file, const Problem& problem, const Placement& placement) {
    return read_workspace(file.toStdString()).placement == placement_by_name(placement, problem);
}

}  // namespace

class TestWindowClose : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;  ///< three equal GPUs

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
    }
    void cleanup() { m_place.reset(); }

    void openingStopsTheSearch() {
        const QString wide = m_place->write("wide.json", test::wide_graph()),
                      other = m_place->write("other.json", test::wide_graph(5));
        Shown shown;
        QVERIFY(shown.open(wide, m_machine));
        shown.document.startSearch(request("genetic", 1'000'000'000));
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.shownRun() != nullptr, 60'000);
        {
            const Answers cancel(QMessageBox::Cancel);
            QVERIFY(shown.dropFile(other));
            QTRY_COMPARE(cancel.asked().size(), 1);
            QTRY_VERIFY(!shown.document.isLoading());
            QCOMPARE(shown.document.networkFile(), wide);
            QVERIFY(!shown.document.runs().front()->isPaused());  // as before the question
            QVERIFY(shown.document.isSearching());
        }
        const Answers discard(QMessageBox::Discard);
        shown.document.openNetwork(other);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(discard.asked().size(), 1);
        QCOMPARE(shown.document.networkFile(), other);
        // Runs belong to their network, as the question said.
        QVERIFY(shown.document.runs().empty());
        QVERIFY(!shown.document.isSearching());
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 0);
        QCOMPARE(shown.document.undoStack()->count(), 0);
        QCOMPARE(shown.document.placement().size(), std::size_t{7});
        QVERIFY(shown.open(wide));
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 0);
    }

    void runsOfAnOlderFileAreNotShown() {
        const QString file = m_place->write("same.json", test::wide_graph(8));
        Shown shown;
        QVERIFY(shown.open(file, m_machine));
        const int id = shown.document.startSearch(request("expert", 10));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 1);
        m_place->write("same.json", test::wide_graph(3));
        const Answers discard(QMessageBox::Discard);
        QVERIFY(shown.open(file));
        QCOMPARE(shown.document.placement().size(), std::size_t{5});
        QCOMPARE(shown.window.runsView()->runs()->rowCount(), 0);
        shown.document.showRun(id);
        QCOMPARE(shown.document.placement().size(), std::size_t{5});
    }

    void closingIsQuickWhateverGoesOn_data() {
        QTest::addColumn<QString>("what");
        for (const char* what :
             {"loading", "laying out", "searching", "dragging", "dragging while searching"}) {
            QTest::newRow(what) << QString::fromLatin1(what);
        }
    }
    void closingIsQuickWhateverGoesOn() {
        QFETCH(QString, what);
        auto shown = std::make_unique<Shown>();
        QVERIFY(shown->open(m_place->write("wide.json", test::wide_graph()), m_machine));
        if (what == QLatin1String("loading"))
            shown->document.openNetwork(m_place->write("slow.json", test::chain(2000)));
        if (what == QLatin1String("laying out")) {
            const QString slow = m_place->write("slow.json", test::chain(2000));
            shown->document.openNetwork(slow);
            QTRY_COMPARE_WITH_TIMEOUT(shown->document.networkFile(), slow, 60'000);
        }
        if (what.contains(QLatin1String("searching"))) {
            shown->document.startSearch(request("map-elites", 1'000'000'000));
            QTRY_VERIFY_WITH_TIMEOUT(shown->document.runs().front()->progress().evaluations > 0, 60'000);
        }
        if (what.contains(QLatin1String("dragging"))) {
            const QPoint row = shown->rowOf(2);
            shown->drag(shown->window.graphView(), shown->opInGraph("branch1"), shown->window.devicePanel(),
                        row, false);
        }
        const Answers discard(QMessageBox::Discard);
        QElapsedTimer time;
        time.start();
        QVERIFY(shown->window.close());
        QCoreApplication::processEvents();
        shown.reset();
        QVERIFY2(time.elapsed() < kQuickMs, qPrintable(QString::number(time.elapsed())));
        QCoreApplication::processEvents();
    }

    void closingAsksForAPlacementThatIsInNoFile() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QStringList asked;
        const auto closeAndAnswer = [&](QMessageBox::StandardButton answer) {
            QTimer::singleShot(50, this, [&asked, answer] {
                auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
                if (question == nullptr) return;
                asked << question->text();
                question->button(answer)->click();
            });
            const bool closed = shown.window.close();
            QTest::qWait(60);  // an unrequested answer
            return closed;
        };
        QVERIFY(closeAndAnswer(QMessageBox::Cancel));  // as after opening
        QVERIFY(asked.isEmpty());
        shown.window.show();

        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!closeAndAnswer(QMessageBox::Cancel));
        QVERIFY(shown.window.isVisible());
        QCOMPARE(asked.size(), 1);
        QVERIFY2(asked.front().startsWith("Save your work on "), qPrintable(asked.front()));

        shown.document.exportPlacement(m_place->file("kept.json"));
        QVERIFY(closeAndAnswer(QMessageBox::Cancel));
        QCOMPARE(asked.size(), 1);
        shown.window.show();

        shown.document.moveOps({shown.op("branch2")}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(closeAndAnswer(QMessageBox::Discard));
        QCOMPARE(asked.size(), 2);
    }

    void anotherNetworkAsksForAPlacementThatIsInNoFile() {
        Shown shown;
        const QString file = m_place->write("wide.json", test::wide_graph()),
                      other = m_place->write("other.json", test::wide_graph(3));
        QVERIFY(shown.open(file, m_machine));
        shown.document.moveOps({shown.op("branch1")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const Placement moved = shown.document.placement();
        QMessageBox::StandardButton answer = QMessageBox::Cancel;
        int asked = 0;
        QTimer answerer;
        connect(&answerer, &QTimer::timeout, this, [&] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            ++asked;
            question->button(answer)->click();
        });
        answerer.start(20);
        shown.document.openFile(other);
        QTRY_COMPARE(asked, 1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), file);
        QCOMPARE(shown.document.placement(), moved);
        QVERIFY(shown.document.undoStack()->canUndo());

        answer = QMessageBox::Discard;
        shown.document.openFile(other);
        QTRY_COMPARE(shown.document.networkFile(), other);
        QCOMPARE(asked, 2);
        QVERIFY(shown.waitUntilIdle());
        shown.document.openFile(file);  // this file was not changed
        QTRY_COMPARE(shown.document.networkFile(), file);
        QCOMPARE(asked, 2);
    }

    /// Also where what it has found is no better than what is saved.
    void anotherNetworkAsksForARunningSearch() {
        Shown shown;
        const QString file = m_place->write("chain.json", test::chain(40)),
                      other = m_place->write("other.json", test::wide_graph(3));
        QVERIFY(shown.open(file, m_machine));
        shown.document.startSearch(request("random", test::kEndless));
        QVERIFY(running(shown));
        QVERIFY(!shown.document.unsaved());
        QString asked;
        QMessageBox::StandardButton answer = QMessageBox::Cancel;
        QTimer answerer;
        connect(&answerer, &QTimer::timeout, this, [&] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            asked = question->text() + u'\n' + question->informativeText();
            question->button(answer)->click();
        });
        answerer.start(20);
        shown.document.openFile(other);
        QTRY_VERIFY(!asked.isEmpty() && !shown.document.isLoading());
        QVERIFY2(asked.contains("running search"), qPrintable(asked));
        QCOMPARE(shown.document.networkFile(), file);
        QVERIFY(running(shown));
        answer = QMessageBox::Discard;
        shown.document.openFile(other);
        QTRY_COMPARE(shown.document.networkFile(), other);
        QVERIFY(!running(shown));
    }

    /// A result that was undone and paused, or belongs to another machine, can still be saved.
    void savingWhileClosingAsksOnce() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(12)), m_machine));
        shown.document.startSearch(request("genetic", 2000));
        QVERIFY(shown.waitUntilIdle());
        const Placement best = shown.document.placement();
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        // The placement is put on screen and saved at once, before it is simulated.
        shown.document.showPlacement(best, "Show");
        const QString file = m_place->file("best.placewright");
        const Answers save(QMessageBox::Save, {file});
        QVERIFY(shown.window.close());
        QCOMPARE(save.asked().size(), 1);
        QVERIFY(holds(file, *shown.document.problem(), best));
    }

    void closingAsksForTheBestThatASearchHasFound() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph(12)), m_machine));
        QTest::keyClick(&shown.window, Qt::Key_F5);
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.shownRun() != nullptr, 60'000);
        QTest::keyClick(&shown.window, Qt::Key_F6);
        const auto evaluations = [&] { return shown.document.runs().front()->progress().evaluations; };
        std::uint64_t before = 0;
        QTRY_VERIFY_WITH_TIMEOUT((QTest::qWait(100), std::exchange(before, evaluations()) == evaluations()),
                                 60'000);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!shown.document.hasUnsavedPlacement());
        const Placement best = *shown.document.runs().front()->progress().best_placement;
        QVERIFY(best != shown.document.placement());
        {
            const Answers cancel(QMessageBox::Cancel);
            QVERIFY(!shown.window.close());
            QCOMPARE(cancel.asked().size(), 1);
            QVERIFY2(cancel.asked().front().startsWith(
                         "Save your work on fork-join? The best placement is not saved (step time "),
                     qPrintable(cancel.asked().front()));
        }
        const QString two = m_place->write("two.json", test::uniform_machine(2));
        shown.document.setMachine(two);
        QTRY_COMPARE(shown.document.machineFile(), two);
        QVERIFY(shown.waitUntilIdle());
        {
            const QString file = m_place->file("best.placewright");
            const Answers save(QMessageBox::Save, {file});
            QVERIFY(shown.window.close());
            QCOMPARE(save.asked().size(), 1);
            QVERIFY(holds(file, *shown.document.problem(), best));
        }
        // The best is saved; worse runs need not be.
        shown.window.show();
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        const Answers none(QMessageBox::Cancel);
        QVERIFY(shown.window.close());
        QVERIFY(none.asked().isEmpty());
    }

    /// These changes carry a placement over, which is not an edit.
    void otherOptionsAndMachinesMakeNoPlacementWorthKeeping() {
        Shown shown;
        QVERIFY(shown.open("alexnet", "2x-v100-pcie"));
        JobOptions options = shown.document.options();
        options.problem.grouping = {.rule = GroupingRule::scope, .scope_depth = 1};
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        shown.document.setMachine("4x-v100-pcie");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.undoStack()->count(), 2);
        QVERIFY(!shown.document.hasUnsavedPlacement());
        shown.document.moveOps({0}, 2);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.hasUnsavedPlacement());
        shown.document.exportPlacement(m_place->file("kept.json"));
        QVERIFY(!shown.document.hasUnsavedPlacement());
        options.problem.grouping = {};
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.hasUnsavedPlacement());
    }

    // --- memory ---

    void anotherNetworkFreesTheOneBefore() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        shown.document.startSearch(request("map-elites", 300));
        QVERIFY(shown.waitUntilIdle());
        // One that is still running when the network changes.
        shown.document.startSearch(request("genetic", 1'000'000'000));
        const std::weak_ptr<const Problem> before = shown.document.problem();
        Answers answers(QMessageBox::Discard);
        shown.document.openNetwork(m_place->write("chain.json", test::chain(10)));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.runs().empty());
        QTRY_VERIFY_WITH_TIMEOUT(before.expired(), 30'000);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowClose)
#include "tst_window_close.moc"
