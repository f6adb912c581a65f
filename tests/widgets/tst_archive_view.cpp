// SPDX-License-Identifier: MIT
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QToolButton>
#include <QToolTip>

#include "tests/support/widgets.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

Score fitting(double seconds) {
    return {seconds, seconds, true};
}

/// 3 devices, 2 counts, 4 jumps; an elite's placement encodes its cell.
std::shared_ptr<ArchiveView> archive(const std::vector<std::pair<std::uint32_t, Score>>& elites) {
    auto view = std::make_shared<ArchiveView>();
    view->dimensions = {
        {"Device", 3, {"cpu:0", "gpu:0", "gpu:1"}}, {"Used", 2, {"one", "both"}}, {"Jumps", 4, {}}};
    for (const auto& [cell, score] : elites) {
        view->elites.push_back(
            {cell, score, std::make_shared<Placement>(Placement{static_cast<DeviceId>(cell)})});
    }
    return view;
}

constexpr std::uint32_t cell(std::uint32_t device, std::uint32_t used, std::uint32_t jumps) {
    return (device * 2 + used) * 4 + jumps;
}

QCPColorMapData& cellsOf(const ArchiveMap& map) {
    return *qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->data();
}

/// The slider of a dimension that is not on an axis.
QSlider* sliderOf(const ArchiveMap& map) {
    for (QSlider* slider : map.findChildren<QSlider*>()) {
        if (slider->objectName().isEmpty()) return slider;
    }
    return nullptr;
}

QPoint pixelOf(const ArchiveMap& map, int x, int y) {
    return {qRound(map.plot()->xAxis->coordToPixel(x)), qRound(map.plot()->yAxis->coordToPixel(y))};
}

}  // namespace

class TestArchiveView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theArchiveShowsTheBestOverTheHiddenDimension() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)},
                                {cell(0, 1, 1), fitting(0.06)},
                                {cell(2, 1, 3), fitting(0.05)},
                                {cell(1, 0, 0), {9, 0.02, false}}}));
        // The longest dimension runs from left to right, the next one upwards.
        QCOMPARE(map.plot()->xAxis->label(), QStringLiteral("Jumps"));
        QCOMPARE(map.plot()->yAxis->label(), QStringLiteral("Device"));
        QCPColorMapData& cells = cellsOf(map);
        QCOMPARE(cells.keySize(), 4);
        QCOMPARE(cells.valueSize(), 3);
        QCOMPARE(cells.cell(1, 0), 60.0);
        QCOMPARE(cells.cell(3, 2), 50.0);
        QVERIFY(std::isnan(cells.cell(0, 0)));
        QVERIFY2(std::isnan(cells.cell(0, 1)), "what does not fit has no colour");
        const QCPRange colours = qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange();
        QCOMPARE(colours.lower, 50.0);
        QCOMPARE(colours.upper, 80.0);
        QCOMPARE(map.findChild<QLabel*>("coverage")->text(), QStringLiteral("4 of 24 niches filled (17 %)"));
        QCOMPARE(map.findChild<QLabel*>("misfits")->text(), QStringLiteral("1 do not fit"));
        QCOMPARE(map.findChild<QLabel*>("best")->text(), QStringLiteral("best 50.0 ms"));
        QVERIFY(!map.findChild<QLabel*>("qdScore")->isVisible());  // the value of one device is not known
    }

    void whatDoesNotFitIsHatched() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(1, 0, 0), {9, 0.02, false}}, {cell(2, 1, 3), fitting(0.05)}}));
        map.plot()->replot();
        const auto around = [&](int x, int y) {
            return map.plot()->grab(QRect(pixelOf(map, x, y) - QPoint(15, 15), QSize(30, 30))).toImage();
        };
        const QColor base = map.palette().color(QPalette::Base);
        QCOMPARE(otherThan(around(1, 1), base), 0);
        QVERIFY(otherThan(around(0, 1), base) > 300);
        QVERIFY2(otherThan(around(0, 1), around(0, 1).pixelColor(0, 0)) > 30, "more than one colour");
    }

    void theColourScaleLeavesOutliersOut() {
        ArchiveMap map;
        map.setArchive(archive(
            {{cell(0, 0, 1), fitting(0.05)}, {cell(0, 1, 2), fitting(0.07)}, {cell(2, 1, 3), fitting(50)}}));
        QCOMPARE(qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange().upper, 70.0);
    }

    void aClickShowsTheElite() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)},
                                {cell(0, 1, 1), fitting(0.06)},
                                {cell(2, 0, 3), fitting(0.05)}}));
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        QCOMPARE(activated.size(), 1);
        QCOMPARE(*activated[0][0].value<std::shared_ptr<const Placement>>(), Placement{cell(0, 1, 1)});
        QCOMPARE(activated.takeFirst()[1].toDouble(), 0.06);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 3, 2));
        QCOMPARE(*activated.takeFirst()[0].value<std::shared_ptr<const Placement>>(),
                 Placement{cell(2, 0, 3)});
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 0, 1));
        QCOMPARE(activated.size(), 0);
    }

    void tinyCellsAreStillClickable() {
        auto view = std::make_shared<ArchiveView>();
        view->dimensions = {{"a", 400, {}}, {"b", 300, {}}};
        view->elites.push_back({200 * 300 + 150, fitting(0.05), std::make_shared<Placement>(Placement{7})});
        ArchiveMap map;
        showAt(map, {500, 450});
        map.setArchive(view);
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 200, 150) + QPoint(2, 2));
        QCOMPARE(activated.size(), 1);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 200, 150) + QPoint(12, 0));
        QCOMPARE(activated.size(), 1);
    }

    void theSliderWalksThroughTheHiddenDimension() {
        ArchiveMap map;
        showAt(map, {600, 500});
        const auto view = archive({{cell(0, 0, 1), fitting(0.08)}, {cell(0, 1, 1), fitting(0.06)}});
        map.setArchive(view);
        auto* slider = sliderOf(map);
        auto* position = map.findChild<QLabel*>("position");
        QCOMPARE(position->text(), QStringLiteral("All (best)"));
        slider->setFocus();
        QTest::keyClick(slider, Qt::Key_Right);
        QCOMPARE(position->text(), QStringLiteral("one"));
        QCOMPARE(cellsOf(map).cell(1, 0), 80.0);
        const QCPRange colours = qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange();
        QTest::keyClick(slider, Qt::Key_Right);
        QCOMPARE(position->text(), QStringLiteral("both"));
        QCOMPARE(cellsOf(map).cell(1, 0), 60.0);
        QCOMPARE(qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange(), colours);

        // An update during a search changes neither slider nor axes.
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)}, {cell(0, 1, 1), fitting(0.04)}}));
        QCOMPARE(sliderOf(map)->value(), 1);
        QCOMPARE(cellsOf(map).cell(1, 0), 40.0);
    }

    void dimensionsAreChosenAndSwapped() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 1, 3), fitting(0.08)}}));
        auto* x = map.findChild<QComboBox*>("x");
        auto* y = map.findChild<QComboBox*>("y");
        QCOMPARE(x->currentText(), QStringLiteral("Jumps"));
        QCOMPARE(y->currentText(), QStringLiteral("Device"));
        x->setFocus();
        QTest::keyClick(x, Qt::Key_Up);
        QCOMPARE(map.plot()->xAxis->label(), QStringLiteral("Used"));
        QCOMPARE(cellsOf(map).keySize(), 2);
        QCOMPARE(cellsOf(map).cell(1, 0), 80.0);
        QCOMPARE(sliderOf(map)->accessibleName(), QStringLiteral("Jumps"));
        QTest::keyClick(x, Qt::Key_Up);  // the vertical dimension: the two axes are swapped
        QCOMPARE(x->currentText(), QStringLiteral("Device"));
        QCOMPARE(y->currentText(), QStringLiteral("Used"));
        QCOMPARE(cellsOf(map).cell(0, 1), 80.0);
    }

    void theArchiveIsReachedByKeyboard() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(1, 0, 1), fitting(0.08)}}));
        map.setFocus();
        QVERIFY(map.plot()->hasFocus());
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        for (const Qt::Key key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Up}) QTest::keyClick(map.plot(), key);
        QVERIFY(QToolTip::text().contains(u"Device: gpu:0\nUsed: one\nJumps: 1\nstep time 80.0 ms"));
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QTest::keyClick(map.plot(), Qt::Key_Left);
        QVERIFY(QToolTip::text().contains(u"empty"));
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
    }

    void hoveringACellShowsItsValues() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(2, 1, 3), {9, 0.05, false}}}));
        map.plot()->replot();
        const QPoint at = pixelOf(map, 3, 2);
        QMouseEvent move(QEvent::MouseMove, at, map.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(map.plot(), &move);
        QCOMPARE(QToolTip::text(),
                 QStringLiteral(
                     "Device: gpu:1\nUsed: both\nJumps: 3\nstep time 50.0 ms, does not fit the memory"));
    }

    void oneDimensionIsARow() {
        auto view = std::make_shared<ArchiveView>();
        view->dimensions = {{"Jumps", 5, {}}};
        view->elites.push_back({3, fitting(0.05), std::make_shared<Placement>(Placement{3})});
        ArchiveMap map;
        showAt(map, {500, 400});
        map.setArchive(view);
        map.plot()->replot();
        QVERIFY(!map.findChild<QComboBox*>("y")->isEnabled());
        QVERIFY(!sliderOf(map));
        QVERIFY(otherThan(map.plot()->grab(QRect(pixelOf(map, 3, 0) - QPoint(5, 5), QSize(10, 10))).toImage(),
                          map.palette().color(QPalette::Base)) == 100);
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 3, 0));
        QCOMPARE(activated.size(), 1);
    }

    void devicesThatAreAllAlikeAreNoAxis() {
        auto view = std::make_shared<ArchiveView>(
            *archive({{cell(0, 0, 1), fitting(0.08)}, {cell(2, 1, 1), fitting(0.06)}}));
        view->dimensions[0].symmetric = true;
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(view);
        QCOMPARE(map.plot()->xAxis->label(), QStringLiteral("Jumps"));
        QCOMPARE(map.plot()->yAxis->label(), QStringLiteral("Used"));
        QVERIFY(!map.findChild<QSlider*>("history")->isVisible());
        QCOMPARE(cellsOf(map).cell(1, 0), 80.0);
        QCOMPARE(cellsOf(map).cell(1, 1), 60.0);
    }

    void figuresSayHowMuchIsCoveredAndHowWell() {
        ArchiveMap map;
        showAt(map, {700, 500});
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)}, {cell(2, 1, 3), fitting(0.05)}}),
                       {.run = 1, .one_device_s = 0.1});
        // 0.1 / 0.08 + 0.1 / 0.05
        QCOMPARE(map.findChild<QLabel*>("qdScore")->text(), QStringLiteral("QD score 3.3"));
        for (const char* name : {"coverage", "qdScore", "best"})
            QVERIFY(map.findChild<QLabel*>(name)->toolTip().endsWith(u'.'));
    }

    void theOutlineIsGoneInTheArchiveOfAnotherRun() {
        ArchiveMap map;
        showAt(map, {600, 500});
        const auto view = archive({{cell(0, 0, 1), fitting(0.08)}, {cell(2, 1, 3), fitting(0.05)}});
        map.setArchive(view, {.run = 2});
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        map.setArchive(view, {.run = 2});
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 2);
        map.setArchive(view, {.run = 1});
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 2);
    }

    void theOutlineIsGoneWhenAnotherPlacementIsOnScreen() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)}, {cell(2, 1, 3), fitting(0.05)}}));
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        map.setPlacementOnScreen({cell(0, 0, 1)});
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 2);
        map.setPlacementOnScreen({cell(2, 1, 3)});
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 2);
    }

    void theColourScaleStaysWhileASearchRuns() {
        ArchiveMap map;
        const auto range = [&] { return qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange(); };
        const auto at = [&](double best, bool running) {
            map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)}, {cell(2, 1, 3), fitting(best)}}),
                           {.run = 1, .running = running});
        };
        at(0.05, true);
        const QCPRange first = range();
        QVERIFY(first.lower < 50 && first.upper > 80);
        at(0.0495, true);
        QCOMPARE(range(), first);
        at(0.03, true);
        QVERIFY(range().lower < 30);
        QCOMPARE(range().upper, first.upper);
        at(0.03, false);
        QCOMPARE(range(), QCPRange(30, 80));
    }

    void theSearchIsReplayed() {
        auto view = std::make_shared<ArchiveView>(
            *archive({{cell(0, 0, 1), fitting(0.06)}, {cell(2, 1, 3), fitting(0.05)}}));
        view->history = {{10, cell(0, 0, 1), fitting(0.08)},
                         {20, cell(2, 1, 3), fitting(0.05)},
                         {2000, cell(0, 0, 1), fitting(0.06)}};
        view->evaluations = 5000;
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(view, {.run = 1});
        auto* history = map.findChild<QSlider*>("history");
        const auto* moment = map.findChild<QLabel*>("moment");
        const auto* coverage = map.findChild<QLabel*>("coverage");
        QVERIFY(history->isVisible());
        QCOMPARE(moment->text(), QStringLiteral("now"));
        const auto colours = qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange();
        history->setFocus();
        QTest::keyClick(history, Qt::Key_Left);
        QCOMPARE(moment->text(), QStringLiteral("after 20"));
        QCOMPARE(cellsOf(map).cell(1, 0), 80.0);
        QCOMPARE(cellsOf(map).cell(3, 2), 50.0);
        QCOMPARE(qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange(), colours);
        // What was replaced since cannot be shown; what stayed can.
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        QCOMPARE(activated.size(), 0);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 3, 2));
        QCOMPARE(activated.size(), 1);
        // The chosen moment stays while the search goes on.
        auto later = std::make_shared<ArchiveView>(*view);
        later->history.push_back({6000, cell(1, 1, 0), fitting(0.07)});
        later->elites.insert(later->elites.begin() + 1, {cell(1, 1, 0), fitting(0.07), nullptr});
        map.setArchive(later, {.run = 1});
        QCOMPARE(moment->text(), QStringLiteral("after 20"));
        QCOMPARE(coverage->text(), QStringLiteral("2 of 24 niches filled (8 %)"));
        QTest::keyClick(history, Qt::Key_Home);
        QCOMPARE(moment->text(), QStringLiteral("start"));
        QCOMPARE(coverage->text(), QStringLiteral("0 of 24 niches filled (0 %)"));
        QTest::mouseClick(map.findChild<QToolButton*>("play"), Qt::LeftButton);
        QTRY_COMPARE(moment->text(), QStringLiteral("now"));
        QCOMPARE(coverage->text(), QStringLiteral("3 of 24 niches filled (13 %)"));
        QVERIFY(!map.findChild<QToolButton*>("play")->isChecked());
        // At the right end it follows.
        map.setArchive(view, {.run = 1});
        QCOMPARE(moment->text(), QStringLiteral("now"));
    }

    void anEmptyArchiveSaysWhatWouldFillIt() {
        ArchiveMap map;
        showAt(map, {600, 500});
        auto* empty = map.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"MAP-Elites"));
        map.setArchive(archive({}));
        QVERIFY(!empty->isVisible() && map.plot()->isVisible());
        QCOMPARE(map.findChild<QLabel*>("coverage")->text(), QStringLiteral("0 of 24 niches filled (0 %)"));
        map.setArchive(nullptr);
        QVERIFY(empty->isVisible());
        QVERIFY(!map.findChild<QLabel*>("coverage")->isVisible());
        map.setArchive(archive({{cell(2, 1, 3), fitting(0.05)}}));
        QCOMPARE(cellsOf(map).cell(3, 2), 50.0);
    }
};

QTEST_MAIN(TestArchiveView)
#include "tst_archive_view.moc"
