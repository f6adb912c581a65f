// SPDX-License-Identifier: MIT
// What is round the views: the toolbars, the panels' sizes and shortcuts, the command palette.
#include <algorithm>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPainter>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QTabBar>
#include <QTest>
#include <QToolBar>
#include <QToolButton>

#include "app/window/command_palette.hpp"
#include "app/window/fuzzy.hpp"
#include "app/window/gallery.hpp"
#include "app/window/settings.hpp"
#include "core/io/shipped.hpp"
#include "tests/support/window.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/start_page.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

void settle(Shown& shown, QSize size) {
    shown.window.resize(size);
    for (int i = 0; i < 5; ++i) QTest::qWait(20);
}

QList<QRect> placesInToolBars(const Shown& shown) {
    QList<QRect> places;
    for (const QToolBar* bar : shown.window.findChildren<QToolBar*>()) {
        for (QAction* action : bar->actions()) {
            const QWidget* widget = bar->widgetForAction(action);
            places << QRect(widget->mapTo(&shown.window, QPoint()), widget->size());
        }
    }
    return places;
}

int rowsOfToolBars(const Shown& shown) {
    QSet<int> tops;
    for (const QToolBar* bar : shown.window.findChildren<QToolBar*>()) {
        if (bar->isVisible()) tops << bar->y();
    }
    return static_cast<int>(tops.size());
}

QDockWidget* dock(const Shown& shown, const char* name) {
    return shown.window.findChild<QDockWidget*>(QLatin1String(name));
}

CommandPalette* openPalette(Shown& shown) {
    QTest::keyClick(&shown.window, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    auto* palette = shown.window.findChild<CommandPalette*>();
    if (palette == nullptr || !QTest::qWaitForWindowExposed(palette)) qFatal("the palette does not appear");
    return palette;
}

QLineEdit* field(const CommandPalette* palette) {
    return palette->findChild<QLineEdit*>(QStringLiteral("commandText"));
}

QString selected(const CommandPalette* palette) {
    const auto* item = palette->findChild<QListWidget*>(QStringLiteral("commandList"))->currentItem();
    return item == nullptr ? QString() : item->text();
}

/// Types into the palette, runs what is selected then and waits until it has gone.
void run(Shown& shown, const QString& typed) {
    QPointer<CommandPalette> palette = openPalette(shown);
    QTest::keyClicks(field(palette), typed);
    QTest::keyClick(field(palette), Qt::Key_Return);
    QTRY_VERIFY(palette.isNull());
}

/// Texts of visible labels, buttons and tabs that have less room than they need.
QStringList cutOff(const QWidget& window) {
    QStringList cut;
    for (const QLabel* label : window.findChildren<QLabel*>()) {
        if (!label->isVisible() || label->wordWrap() || label->visibleRegion().isEmpty()) continue;
        if (label->sizeHint().width() > label->width()) cut << label->text();
    }
    for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
        if (!button->isVisible() || button->text().isEmpty() || button->visibleRegion().isEmpty()) continue;
        const auto* tool = qobject_cast<const QToolButton*>(button);
        if (tool != nullptr && (tool->toolButtonStyle() == Qt::ToolButtonIconOnly ||
                                tool->objectName() == QStringLiteral("simulationButton")))
            continue;  // shows no text, or as much of it as fits
        if (button->sizeHint().width() > button->width()) cut << button->text();
    }
    for (const QTabBar* tabs : window.findChildren<QTabBar*>()) {
        if (tabs->isVisible() && tabs->count() > 0 &&
            tabs->tabRect(tabs->count() - 1).right() > tabs->width())
            cut << tabs->tabText(tabs->count() - 1);
    }
    return cut;
}

}  // namespace

class TestWindowShell : public QObject {
    Q_OBJECT

    std::unique_ptr<Workplace> m_place;

private Q_SLOTS:
    void init() { m_place = std::make_unique<Workplace>(); }

    // --- toolbars ---

    void theFirstWindowFitsOnTheScreen() {
        QVERIFY(!settings::geometry.isStored());
        MainWindow window;
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        const QSize room = window.screen()->availableSize();
        QVERIFY2(window.width() <= room.width() && window.height() <= room.height(),
                 qPrintable(QStringLiteral("%1 x %2").arg(window.width()).arg(window.height())));
    }

    void nothingMovesInTheToolBars_data() {
        QTest::addColumn<QSize>("size");
        QTest::newRow("1280") << QSize(1280, 800);
        QTest::newRow("1920") << QSize(1920, 1000);
    }
    void nothingMovesInTheToolBars() {
        QFETCH(const QSize, size);
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        settle(shown, size);
        QCOMPARE(rowsOfToolBars(shown), 1);
        const QList<QRect> before = placesInToolBars(shown);
        QVERIFY(before.size() > 8);
        shown.window.chooseEvaluations(kEndless);
        shown.window.chooseAlgorithm("random");
        clickOptimize(shown);
        QTRY_VERIFY(running(shown));
        auto* optimize = shown.window.findChild<QToolButton*>("optimizeButton");
        auto* pause = shown.window.findChild<QToolButton*>("pauseButton");
        QCOMPARE(optimize->text(), QStringLiteral("Stop"));
        QCOMPARE(placesInToolBars(shown), before);
        QTest::mouseClick(pause, Qt::LeftButton);
        QTRY_VERIFY(shown.window.allPaused());
        QTRY_COMPARE(pause->text(), QStringLiteral("Resume"));
        QCOMPARE(placesInToolBars(shown), before);
        QTest::mouseClick(pause, Qt::LeftButton);
        QTRY_COMPARE(pause->text(), QStringLiteral("Pause"));
        clickOptimize(shown);
        QTRY_VERIFY(!running(shown));
        JobOptions options;
        options.simulation = {10, 4, Order::one_forward_one_backward};
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        const auto* simulation = shown.window.findChild<QToolButton*>("simulationButton");
        QVERIFY(simulation->text() != QStringLiteral("Simulation…"));
        QCOMPARE(placesInToolBars(shown), before);
    }

    void aPixelDoesNotFlipTheRows() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        int apart = 800, together = 1280;
        while (together - apart > 1) {
            const int middle = (apart + together) / 2;
            settle(shown, {800, 700});
            settle(shown, {middle, 700});
            (rowsOfToolBars(shown) == 2 ? apart : together) = middle;
        }
        QVERIFY(apart > 800);
        settle(shown, {together, 700});
        QCOMPARE(rowsOfToolBars(shown), 1);
        settle(shown, {together - 8, 700});
        QCOMPARE(rowsOfToolBars(shown), 1);
        settle(shown, {together - 24, 700});
        QCOMPARE(rowsOfToolBars(shown), 2);
        settle(shown, {together - 8, 700});
        QCOMPARE(rowsOfToolBars(shown), 2);
    }

    void buttonsLoseTheirTextBeforeARowIsAdded() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        const auto style = [&] {
            return shown.window.findChild<QToolButton*>("pauseButton")->toolButtonStyle();
        };
        settle(shown, {1920, 1000});
        QCOMPARE(style(), Qt::ToolButtonTextBesideIcon);
        settle(shown, {1280, 800});
        QCOMPARE(style(), Qt::ToolButtonIconOnly);
        QCOMPARE(rowsOfToolBars(shown), 1);
        settle(shown, {800, 700});
        QCOMPARE(rowsOfToolBars(shown), 2);
        settle(shown, {1920, 1000});
        QCOMPARE(style(), Qt::ToolButtonTextBesideIcon);
        QCOMPARE(rowsOfToolBars(shown), 1);
    }

    // --- panels ---

    void panelsHoldTheirContentsAtFirst_data() {
        QTest::addColumn<QSize>("size");
        for (const QSize size : {QSize(1280, 800), QSize(1400, 900), QSize(2560, 1440)})
            QTest::addRow("%dx%d", size.width(), size.height()) << size;
    }
    void panelsHoldTheirContentsAtFirst() {
        QFETCH(const QSize, size);
        Shown shown;
        settle(shown, size);
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "4x-v100-nvlink"));
        settle(shown, size);
        QCOMPARE(shown.window.size(), size);
        const auto area = [](QSize of) { return of.width() * of.height(); };
        const int graph = area(shown.window.graphView()->size());
        for (const QDockWidget* panel : shown.window.findChildren<QDockWidget*>()) {
            if (panel->visibleRegion().isEmpty()) continue;  // behind another tab
            const QString name = panel->objectName();
            QVERIFY2(area(panel->size()) < graph, qPrintable(name));
            const QSize least = panel->widget()->minimumSizeHint(), given = panel->widget()->size();
            QVERIFY2(given.width() >= least.width() && given.height() >= least.height(), qPrintable(name));
            for (const QScrollBar* bar : panel->findChildren<QScrollBar*>()) {
                if (bar->orientation() == Qt::Horizontal) QVERIFY2(!bar->isVisible(), qPrintable(name));
            }
        }
        const QStringList cut = cutOff(shown.window);
        QVERIFY2(cut.isEmpty(), qPrintable(cut.join(QStringLiteral(", "))));
        // All devices; their channels too, where the window is high enough.
        const auto* devices = shown.window.devicePanel();
        const auto* scrolled = qobject_cast<const QScrollArea*>(dock(shown, "devicesDock")->widget());
        const double last = devices->deviceRect(4).bottom();
        QVERIFY2(last <= scrolled->viewport()->height(), qPrintable(QString::number(last)));
        if (size.height() >= 900) QCOMPARE(scrolled->verticalScrollBar()->maximum(), 0);
        for (const char* name : {"runsDock", "curveDock"})
            QVERIFY2(dock(shown, name)->height() > shown.window.height() / 3, name);
    }

    /// Rows of devices end before the scroll bar, however narrow the panel is made.
    void theScrollBarCoversNoDevices() {
        Shown shown;
        settle(shown, {1400, 700});
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "8x-a100-nvlink"));
        shown.window.resizeDocks({dock(shown, "devicesDock")}, {1}, Qt::Horizontal);
        settle(shown, {1400, 700});
        const auto* scrolled = qobject_cast<const QScrollArea*>(dock(shown, "devicesDock")->widget());
        QVERIFY(scrolled->verticalScrollBar()->isVisible());
        QVERIFY2(shown.window.devicePanel()->width() <= scrolled->viewport()->width(),
                 qPrintable(QString::number(shown.window.devicePanel()->width())));
    }

    void theTimelineShowsAllDevicesOfAServerAtFirst() {
        Shown shown;
        settle(shown, {1400, 900});
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "8x-a100-nvlink"));
        settle(shown, {1400, 900});
        const auto* timeline = shown.window.timelineView();
        for (DeviceId device = 0; device < 9; ++device) {
            const QRect row = timeline->laneRect(device).toRect();
            QVERIFY2(row.height() >= timeline->fontMetrics().height() && timeline->rect().contains(row),
                     qPrintable(QString::number(device)));
        }
    }

    void theWholeNetworkFillsThePaneAtFirst_data() {
        QTest::addColumn<QString>("network");
        for (const char* name : {"alexnet", "inception_v3", "gpt2", "resnet200"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void theWholeNetworkFillsThePaneAtFirst() {
        QFETCH(const QString, network);
        const auto shipped = shipped_networks();
        const auto file = std::ranges::find(shipped, network.toStdString(), &ShippedFile::name);
        QVERIFY(file != shipped.end());
        Shown shown;
        settle(shown, {1400, 900});
        QVERIFY(shown.open(QString::fromStdString(file->file.string()), "4x-v100-nvlink"));
        settle(shown, {1400, 900});
        const GraphView* graph = shown.window.graphView();
        const auto shareOf = [&] {
            const QSizeF whole = graph->wholeSize(), room = graph->roomForWhole();
            return std::min(whole.width() / whole.height() / (room.width() / room.height()),
                            room.width() / room.height() / (whole.width() / whole.height()));
        };
        QVERIFY(graph->isFitted());
        QTRY_VERIFY2(shareOf() > 0.5, qPrintable(QString::number(shareOf())));
    }

    void panelsAreReachedByKeys() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        QVERIFY(QTest::qWaitForWindowActive(&shown.window));
        const QMenu* menu = nullptr;
        for (const QMenu* candidate : shown.window.findChildren<QMenu*>()) {
            if (candidate->title() == QStringLiteral("Go to &panel")) menu = candidate;
        }
        QVERIFY(menu != nullptr);
        const auto panels = shown.window.findChildren<QDockWidget*>();
        QCOMPARE(menu->actions().size(), panels.size());
        for (QAction* go : menu->actions()) {
            const QDockWidget* panel = nullptr;
            for (const QDockWidget* candidate : panels) {
                if (candidate->windowTitle() == go->text()) panel = candidate;
            }
            QVERIFY2(panel != nullptr && !go->icon().isNull(), qPrintable(go->text()));
            QVERIFY2(!go->shortcut().isEmpty(), qPrintable(go->text()));
            shown.window.graphView()->setFocus();
            const auto key = go->shortcut()[0];
            QTest::keyClick(&shown.window, key.key(), key.keyboardModifiers());
            QVERIFY2(panel->isVisible() && !panel->visibleRegion().isEmpty(), qPrintable(go->text()));
            QVERIFY2(panel->hasFocus() || panel->isAncestorOf(QApplication::focusWidget()),
                     qPrintable(go->text()));
            QTest::keyClick(&shown.window, key.key(), key.keyboardModifiers());
            QVERIFY2(shown.window.graphView()->hasFocus(), qPrintable(go->text()));
        }
        // A closed panel comes back.
        dock(shown, "selectionDock")->close();
        QTest::keyClick(&shown.window, Qt::Key_3, Qt::AltModifier);
        QVERIFY(panelVisible(shown, "selectionDock"));
    }

    // --- start page ---

    void theStartPageShowsAllNetworksInColour() {
        Shown shown;
        QSet<QString> sections;
        for (const StartEntry& entry : shown.window.gallery()->networks()) {
            QVERIFY2(!entry.section.isEmpty(), qPrintable(entry.title));
            sections << entry.section;
            QCOMPARE(entry.detail.count(QLatin1Char('\n')), 1);
            // The ops are seen, not only the lines between them.
            QImage image(280, 64, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            painter.setRenderHint(QPainter::Antialiasing);
            paintStartPicture(painter, image.rect(), entry.picture, QColor(0xa5, 0xa5, 0xa5));
            painter.end();
            int coloured = 0, drawn = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    const QColor color = image.pixelColor(x, y);
                    coloured += color.hslSaturationF() > 0.3;
                    drawn += color != QColor(Qt::white);
                }
            }
            QVERIFY2(coloured > 600 && coloured > drawn / 5,
                     qPrintable(QStringLiteral("%1: %2 of %3").arg(entry.title).arg(coloured).arg(drawn)));
        }
        QCOMPARE(sections.size(), 4);
    }

    void theStartPageLeadsBackToTheNetwork() {
        Shown shown;
        auto* page = shown.window.findChild<StartPage*>();
        auto* back = page->findChild<QAbstractButton*>(QStringLiteral("back"));
        QVERIFY(page->isVisible() && !back->isVisible());
        QVERIFY(shown.open(QStringLiteral("alexnet"), QStringLiteral("2x-v100-pcie")));
        for (const bool byKey : {true, false}) {
            QTest::keyClick(&shown.window, Qt::Key_H, Qt::ControlModifier | Qt::ShiftModifier);
            QVERIFY(page->isVisible() && back->isVisible());
            QCOMPARE(back->text(), QStringLiteral("Back to alexnet"));
            byKey ? QTest::keyClick(page, Qt::Key_Escape) : QTest::mouseClick(back, Qt::LeftButton);
            QVERIFY(!page->isVisible());
        }
    }

    void aMachineIsChosenOnTheStartPage() {
        Shown shown;
        auto* machine = shown.window.findChild<StartPage*>()->findChild<QAbstractButton*>("8x-a100-nvlink");
        QVERIFY(machine != nullptr && !machine->isChecked());
        machine->click();
        QTRY_VERIFY(machine->isChecked());
        QCOMPARE(shown.document.machineFile(), QStringLiteral("8x-a100-nvlink"));
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        QCOMPARE(shown.document.problem()->devices, std::size_t{9});
    }

    // --- command palette ---

    void lettersFindCommands() {
        QVERIFY(!fuzzyScore("xyz", "Optimize"));
        QVERIFY(!fuzzyScore("zo", "Optimize"));
        QCOMPARE(fuzzyScore("", "Optimize"), 0);
        QVERIFY(fuzzyScore("opt", "Optimize") > fuzzyScore("opt", "Show picture"));
        QVERIFY(fuzzyScore("zs", "Zoom to selection") > fuzzyScore("zs", "Size options"));
        QVERIFY(fuzzyScore("fit", "Fit graph") > fuzzyScore("fit", "Profile this network"));
        // Blanks and case do not matter.
        QCOMPARE(fuzzyScore("theme dark", "View Theme Dark"), fuzzyScore("ThemeDARK", "View Theme Dark"));
    }

    void thePaletteRunsCommands() {
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "4x-v100-nvlink"));
        const QAction* path = shown.window.action(ActionId::path);
        QVERIFY(!path->isChecked());
        run(shown, QStringLiteral("critpath"));
        QVERIFY(path->isChecked());
        // It is the first the next time.
        QPointer<CommandPalette> palette = openPalette(shown);
        QCOMPARE(selected(palette), QStringLiteral("Critical path in the timeline"));
        QTest::keyClick(field(palette), Qt::Key_Escape);
        QTRY_VERIFY(palette.isNull());
        QVERIFY(path->isChecked());
        // Machines and algorithms.
        run(shown, QStringLiteral("8x A100"));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->devices, std::size_t{9});
        run(shown, QStringLiteral("genetic"));
        QCOMPARE(shown.window.findChild<QComboBox*>("algorithm")->currentData().toString(),
                 QStringLiteral("genetic"));
        // Ops.
        run(shown, QStringLiteral("branch5"));
        QCOMPARE(shown.document.selection(), OpList{shown.op("branch5")});
        QCOMPARE(settings::recentCommands.get().size(), 4);
    }

    void thePaletteIsWalkedByKeysAndMouse() {
        Shown shown;
        QPointer<CommandPalette> palette = openPalette(shown);
        const auto* list = palette->findChild<QListWidget*>(QStringLiteral("commandList"));
        QTest::keyClicks(field(palette), "theme");
        const QString first = selected(palette);
        QTest::keyClick(field(palette), Qt::Key_Down);
        QVERIFY(selected(palette) != first);
        QTest::keyClick(field(palette), Qt::Key_Up);
        QCOMPARE(selected(palette), first);
        field(palette)->clear();
        QTest::keyClicks(field(palette), "themedark");
        QCOMPARE(selected(palette), QStringLiteral("Dark"));
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(0)).center());
        QTRY_VERIFY(palette.isNull());
        QVERIFY(shown.window.action(ActionId::themeDark)->isChecked());
        run(shown, QStringLiteral("theme system"));
        // What cannot be used now is listed in grey and does nothing.
        palette = openPalette(shown);
        QTest::keyClicks(field(palette), "fit graph");
        QVERIFY(!(palette->findChild<QListWidget*>()->item(0)->flags() & Qt::ItemIsEnabled));
        QTest::keyClick(field(palette), Qt::Key_Return);
        QVERIFY(!palette.isNull() && palette->isVisible());
        field(palette)->clear();
        QTest::keyClicks(field(palette), "qqqqq");
        QCOMPARE(palette->findChild<QListWidget*>()->item(0)->text(),
                 QStringLiteral("Nothing has that name"));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowShell)
#include "tst_window_shell.moc"
