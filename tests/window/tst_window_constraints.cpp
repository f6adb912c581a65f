// SPDX-License-Identifier: MIT
// Rules for placements: set for what is selected, listed, obeyed by searches and moves.
#include <memory>

#include <QFile>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QTest>
#include <QTextBrowser>

#include "app/window/constraint_edits.hpp"
#include "app/window/dialogs/constraints_dialog.hpp"
#include "app/window/offer_bar.hpp"
#include "core/io/placements/constraints_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/menus.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/selection_panel.hpp"

using namespace placewright;
using test::Shown;

namespace {

const std::vector<Constraint>& rulesOf(const Shown& shown) {
    return shown.document.options().problem.constraints.rules;
}

void select(Shown& shown, const QList<const char*>& names) {
    QTest::mouseClick(shown.window.graphView(), Qt::LeftButton, {}, shown.opInGraph(names.front()));
    for (qsizetype i = 1; i < names.size(); ++i)
        QTest::mouseClick(shown.window.graphView(), Qt::LeftButton, Qt::ControlModifier,
                          shown.opInGraph(names[i]));
}

/// Dark pixels above the upper right corner of an op's node, where its padlock hangs.
int inkOver(const Shown& shown, const char* name) {
    GraphView* graph = shown.window.graphView();
    const QImage image = graph->grab().toImage();
    const QPoint centre = graph->positionOf(shown.op(name)).toPoint() * image.devicePixelRatio();
    int ink = 0;
    for (int x = centre.x(); x < std::min(image.width(), centre.x() + 260); ++x) {
        for (int y = std::max(0, centre.y() - 40); y < centre.y(); ++y)
            ink += qGray(image.pixel(x, y)) < 60 ? 1 : 0;
    }
    return ink;
}

}  // namespace

class TestWindowConstraints : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_wide = m_place->write("wide.json", test::wide_graph(4));
        m_machine = m_place->write("machine.json", test::uniform_machine(3));
    }
    void cleanup() { m_place.reset(); }

    void pinnedOpsStay() {
        Shown shown;
        shown.window.resize(1400, 900);  // the nodes are large enough for a padlock
        QVERIFY(shown.open(m_wide, m_machine));
        select(shown, {"branch1"});
        QTest::keyClick(shown.window.graphView(), Qt::Key_3);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch1"), DeviceId{2});
        const int before = inkOver(shown, "branch1");
        QTest::keyClick(shown.window.graphView(), Qt::Key_L, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(rulesOf(shown) ==
                (std::vector<Constraint>{{Constraint::Rule::pin, {{"branch1", false}}, {"gpu:2"}}}));
        QCOMPARE(shown.deviceOf("branch1"), DeviceId{2});
        QVERIFY(inkOver(shown, "branch1") > before);
        QVERIFY(shown.window.findChild<SelectionPanel*>()->findChild<QTextBrowser*>()->toPlainText().contains(
            R"(Constraint: pin "branch1" to gpu:2)"));

        // A move by hand is refused, by the name of the rule.
        QTest::keyClick(shown.window.graphView(), Qt::Key_1);
        QCOMPARE(shown.deviceOf("branch1"), DeviceId{2});
        QVERIFY2(shown.message().contains(R"(pin "branch1" to gpu:2)"), qPrintable(shown.message()));

        // Searches leave it alone.
        QVERIFY(shown.document.startSearch(test::request("genetic", 300)) > 0);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch1"), DeviceId{2});
        for (const auto& run : shown.document.runs())
            QCOMPARE((*run->progress().best_placement)[shown.op("branch1")], DeviceId{2});

        // The pin is one step of undo, and another pin takes its place.
        shown.document.undoStack()->undo();
        while (!rulesOf(shown).empty() && shown.document.undoStack()->canUndo())
            shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(rulesOf(shown).empty());
    }

    void pinToADeviceMovesThere() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Placement before = shown.document.placement();
        select(shown, {"branch0", "branch2"});
        for (const char* device : {"gpu:1", "gpu:2"}) {
            QMenu* menu = nullptr;
            for (QMenu* each : shown.window.findChildren<QMenu*>()) {
                if (each->title().remove('&') == "Pin to") menu = each;
            }
            QVERIFY(menu);
            menu->popup(shown.window.mapToGlobal(QPoint(20, 20)));
            QVERIFY(QTest::qWaitForWindowExposed(menu));
            for (QAction* action : menu->actions()) {
                if (action->text() == device) test::clickInMenu(menu, action);
            }
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(rulesOf(shown).size(), std::size_t{1});
            QCOMPARE(rulesOf(shown).front().devices, std::vector<std::string>{device});
        }
        QCOMPARE(shown.deviceOf("branch0"), DeviceId{2});
        QCOMPARE(shown.deviceOf("branch2"), DeviceId{2});
        // All others stay where they were.
        QCOMPARE(shown.deviceOf("branch1"), before[shown.op("branch1")]);
        QCOMPARE(shown.deviceOf("source"), before[shown.op("source")]);
    }

    void apartAndTogether() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        select(shown, {"branch0", "branch1"});
        shown.action("Keep apart")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.deviceOf("branch0") != shown.deviceOf("branch1"));
        const DeviceId other = shown.deviceOf("branch1");

        select(shown, {"branch0"});
        QTest::keyClick(shown.window.graphView(), static_cast<Qt::Key>(Qt::Key_1 + other));
        QVERIFY2(shown.message().contains(R"(keep "branch0" and "branch1" apart)"),
                 qPrintable(shown.message()));
        QVERIFY(shown.deviceOf("branch0") != shown.deviceOf("branch1"));

        // What contradicts a rule is refused, and both rules are named.
        select(shown, {"branch0", "branch1"});
        shown.action("Keep together")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("contradict each other"), qPrintable(shown.message()));
        QCOMPARE(rulesOf(shown).size(), std::size_t{1});

        select(shown, {"branch1", "branch2"});
        shown.action("Keep together")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch1"), shown.deviceOf("branch2"));
        QVERIFY(shown.document.startSearch(test::request("hill-climbing", 300)) > 0);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.deviceOf("branch1"), shown.deviceOf("branch2"));
        QVERIFY(shown.deviceOf("branch0") != shown.deviceOf("branch1"));

        select(shown, {"branch1"});
        QTest::keyClick(shown.window.graphView(), Qt::Key_U, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(rulesOf(shown).empty());
    }

    void aMachineWithoutThePinnedDevice() {
        const QString smaller = m_place->write("smaller.json", test::uniform_machine(2));
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        const Constraints three{{{Constraint::Rule::pin, {{"branch1", false}}, {"gpu:2"}},
                                 {Constraint::Rule::apart, {{"branch0", false}, {"branch2", false}}},
                                 {Constraint::Rule::pin, {{"branch3", false}}, {"gpu:2"}}}};
        shown.document.setConstraints(three);
        QVERIFY(shown.waitUntilIdle());
        const Placement before = shown.document.placement();
        OfferBar* offers = shown.window.offerBar();
        const auto press = [&](const QString& text) {
            for (QPushButton* button : offers->findChildren<QPushButton*>()) {
                if (button->isVisible() && button->text() == text)
                    return QTest::mouseClick(button, Qt::LeftButton);
            }
            QFAIL(qPrintable(text));
        };
        shown.document.setMachine(smaller);
        QVERIFY(shown.waitUntilIdle());
        const QString offered = offers->text("brokenRules");
        QVERIFY2(offered.contains(R"(rule 1 (pin "branch1" to gpu:2): machine)"), qPrintable(offered));
        QVERIFY2(offered.contains("rule 3 cannot be obeyed either"), qPrintable(offered));
        QCOMPARE(shown.document.machineFile(), m_machine);
        press("Cancel");
        QVERIFY(offers->text("brokenRules").isEmpty());
        QCOMPARE(rulesOf(shown).size(), std::size_t{3});
        QCOMPARE(shown.document.placement(), before);

        shown.document.setMachine(smaller);
        QVERIFY(shown.waitUntilIdle());
        press("&Drop 2 rules");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), smaller);
        QVERIFY(rulesOf(shown) == std::vector<Constraint>{three.rules[1]});
        QVERIFY(offers->text("brokenRules").isEmpty());
        QVERIFY2(shown.message().contains("2 constraints were dropped; Ctrl+Z"), qPrintable(shown.message()));
        QVERIFY(shown.deviceOf("branch0") != shown.deviceOf("branch2"));

        // One step of undo.
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), m_machine);
        QVERIFY(rulesOf(shown) == three.rules);
        QCOMPARE(shown.document.placement(), before);
    }

    /// Three ops cannot be kept apart on two devices, however they are placed.
    void aMachineWithTooFewDevices() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.document.setConstraints(
            {{{Constraint::Rule::apart, {{"branch0", false}, {"branch1", false}, {"branch2", false}}}}});
        QVERIFY(shown.waitUntilIdle());
        shown.document.setMachine(m_place->write("smaller.json", test::uniform_machine(2)));
        QVERIFY(shown.waitUntilIdle());
        OfferBar* offers = shown.window.offerBar();
        QVERIFY2(offers->text("brokenRules").contains("can be obeyed by no placement"),
                 qPrintable(offers->text("brokenRules")));
        // What is done next takes the offer away.
        shown.document.setConstraints({});
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(offers->text("brokenRules").isEmpty());
    }

    void aFileIsOpened() {
        const Constraints rules{{{Constraint::Rule::pin, {{"branch1", false}}, {"gpu:2"}}}};
        const QString file = m_place->file("rules.json");
        write_constraints(rules, file.toStdString());
        Shown shown;
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(
            shown.message().contains("rules.json") && shown.message().contains("open their network first"),
            qPrintable(shown.message()));
        QVERIFY(shown.open(m_wide, m_machine));
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(rulesOf(shown) == rules.rules);
        QCOMPARE(shown.deviceOf("branch1"), DeviceId{2});
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(rulesOf(shown).empty());

        // By the menu, as by the mouse.
        test::giveFile(file);
        shown.action("Open")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(rulesOf(shown) == rules.rules);
    }

    void aFileOfAnotherNetworkIsRefused() {
        const QString file = m_place->file("rules.json");
        write_constraints({{{Constraint::Rule::pin, {{"conv1", false}}, {"gpu:2"}}}}, file.toStdString());
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        QVERIFY(shown.dropFile(file));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("rules.json: rule 1 (pin \"conv1\" to gpu:2): network") &&
                     shown.message().contains("has no op \"conv1\""),
                 qPrintable(shown.message()));
        QVERIFY(rulesOf(shown).empty());
        QVERIFY(shown.window.offerBar()->text("brokenRules").isEmpty());
    }

    void aSelectionTooSmallIsSaid() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        shown.action("Keep apart")->trigger();
        QVERIFY2(shown.message().contains("Nothing is kept apart"), qPrintable(shown.message()));
        select(shown, {"branch1"});
        shown.action("Remove constraints of the selection")->trigger();
        QVERIFY2(shown.message().contains("No constraint"), qPrintable(shown.message()));
        QVERIFY(rulesOf(shown).empty());
    }

    /// A rule that is removed leaves the list at once, although ops are still being placed without it.
    void rulesAreRemovedOneAfterTheOther() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        Constraints constraints;
        for (const char* op : {"branch0", "branch1", "branch2"})
            constraints.rules.push_back({Constraint::Rule::pin, {{op, false}}, {"gpu:1"}});
        shown.document.setConstraints(constraints);
        QVERIFY(shown.waitUntilIdle());
        shown.action("All constraints")->trigger();
        auto* dialog = shown.window.findChild<ConstraintsDialog*>();
        auto* list = dialog->findChild<QListWidget*>();
        QPushButton* remove = nullptr;
        for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
            if (button->text() == "&Remove") remove = button;
        }
        for (int i = 0; i < 2; ++i) {
            QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                              list->visualItemRect(list->item(0)).center());
            remove->click();
            QCOMPARE(list->count(), 2 - i);
        }
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rulesOf(shown), std::vector{constraints.rules[2]});
    }

    void allRulesAreListed() {
        Shown shown;
        QVERIFY(shown.open(m_wide, m_machine));
        select(shown, {"branch0", "branch1"});
        shown.action("Keep apart")->trigger();
        QVERIFY(shown.waitUntilIdle());
        select(shown, {"sink"});
        shown.action("Pin here")->trigger();
        QVERIFY(shown.waitUntilIdle());
        shown.action("All constraints")->trigger();
        auto* dialog = shown.window.findChild<ConstraintsDialog*>();
        QVERIFY(dialog && dialog->isVisible());
        auto* list = dialog->findChild<QListWidget*>();
        QCOMPARE(list->count(), 2);
        QCOMPARE(list->item(0)->text(), R"(Keep "branch0" and "branch1" apart)");
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(0)).center());
        QCOMPARE(shown.document.selection(), (OpList{shown.op("branch0"), shown.op("branch1")}));

        const QString file = m_place->file("rules.json");
        QPushButton *save = nullptr, *load = nullptr;
        for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
            if (button->text() == "&Save…") save = button;
            if (button->text() == "&Load…") load = button;
        }
        test::giveFile(file);
        save->click();
        QVERIFY(read_constraints(file.toStdString()).rules == rulesOf(shown));

        dialog->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(dialog));
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Delete);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(list->count(), 1);
        QCOMPARE(rulesOf(shown).size(), std::size_t{1});
        QVERIFY(rulesOf(shown).front().rule == Constraint::Rule::pin);
        test::giveFile(file);
        load->click();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(list->count(), 2);

        // A broken file changes nothing.
        test::giveFile(
            m_place->write("broken.json", R"({"format": "placewright.constraints", "version": 1})"));
        load->click();
        QVERIFY2(shown.message().contains("rules"), qPrintable(shown.message()));
        QCOMPARE(rulesOf(shown).size(), std::size_t{2});
    }

private:
    std::unique_ptr<test::Workplace> m_place;
    QString m_wide, m_machine;
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowConstraints)
#include "tst_window_constraints.moc"
