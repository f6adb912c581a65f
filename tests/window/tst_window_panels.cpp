// SPDX-License-Identifier: MIT
// Panels round the graph: the height that they lend each other.
#include <memory>

#include <QDockWidget>
#include <QTabBar>
#include <QTest>

#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"

using namespace placewright;
using test::Shown;

namespace {

int heightOf(const Shown& shown, const char* panel) {
    return shown.window.findChild<QDockWidget*>(QLatin1String(panel))->height();
}

/// Clicks the tab with this name.
void clickTab(Shown& shown, const QString& name) {
    for (QTabBar* bar : shown.window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        for (int tab = 0; tab < bar->count(); ++tab) {
            if (bar->tabText(tab) != name) continue;
            QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(tab).center());
            for (int i = 0; i < 5; ++i) QTest::qWait(10);
            return;
        }
    }
    QFAIL(qPrintable(name));
}

}  // namespace

class TestWindowPanels : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;

    void open(Shown& shown) const {
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        shown.window.resize(1280, 760);
        for (int i = 0; i < 10; ++i) QTest::qWait(20);
        QVERIFY(shown.waitUntilIdle());
    }

private Q_SLOTS:
    void init() { m_place = std::make_unique<test::Workplace>(); }
    void cleanup() { m_place.reset(); }

    void heightIsLentAndGivenBack() {
        Shown shown;
        open(shown);
        const int runs = heightOf(shown, "runsDock"), curve = heightOf(shown, "curveDock");
        clickTab(shown, "CDF");
        QVERIFY(heightOf(shown, "cdfDock") > curve);
        QVERIFY(heightOf(shown, "runsDock") < runs);
        clickTab(shown, "Archive");
        QVERIFY(heightOf(shown, "archiveDock") > curve);
        clickTab(shown, "Curve");
        QCOMPARE(heightOf(shown, "runsDock"), runs);
        QCOMPARE(heightOf(shown, "curveDock"), curve);
    }

    void heightThatTheUserChoseStays() {
        Shown shown;
        open(shown);
        clickTab(shown, "CDF");
        auto* runs = shown.window.findChild<QDockWidget*>("runsDock");
        const auto* cdf = shown.window.findChild<QDockWidget*>("cdfDock");
        const QPoint border = cdf->mapTo(&shown.window, QPoint(cdf->width() / 2, -2));
        const int before = runs->height();
        QTest::mousePress(&shown.window, Qt::LeftButton, {}, border);
        QTest::mouseMove(&shown.window, border + QPoint(0, 5));
        QTest::mouseMove(&shown.window, border + QPoint(0, 20));
        QTest::qWait(20);
        QTest::mouseRelease(&shown.window, Qt::LeftButton, {}, border + QPoint(0, 20));
        const int chosen = runs->height();
        QVERIFY(chosen > before);
        clickTab(shown, "Curve");
        QCOMPARE(runs->height(), chosen);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowPanels)
#include "tst_window_panels.moc"
