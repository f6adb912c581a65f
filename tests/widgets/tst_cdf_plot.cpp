// SPDX-License-Identifier: MIT
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionViewItem>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QTreeWidget>
#include <QWheelEvent>

#include "tests/support/plots.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

/// Clicks the axis tick of a scheme.
void clickTick(const CdfPlot& cdf, int scheme) {
    auto* list = cdf.findChild<QTreeWidget*>("schemes");
    QStyleOptionViewItem option;
    option.initFrom(list);
    option.rect = list->visualItemRect(list->topLevelItem(scheme));
    option.features = QStyleOptionViewItem::HasCheckIndicator | QStyleOptionViewItem::HasDecoration;
    option.decorationSize = list->iconSize();
    option.text = list->topLevelItem(scheme)->text(0);
    const QRect tick = list->style()->subElementRect(QStyle::SE_ItemViewItemCheckIndicator, &option, list);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, tick.center());
}

}  // namespace

class TestCdfPlot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // CDF
    void theDistributionOfStepTimesIsASteppedCurve() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        // 10/10, 30/40 and 50/100 of the time of one device.
        const QList<QPointF> optimized = dataOf(*cdf.plot(), 0);
        const QList<double> x{0.5, 0.5, 0.75, 1.0}, y{0, 100 / 3.0, 200 / 3.0, 100};
        for (int i = 0; i < 4; ++i) {
            QVERIFY(qAbs(optimized[i].x() - x[i]) < 1e-9);
            QVERIFY(qAbs(optimized[i].y() - y[i]) < 1e-9);
        }
        // Placements that do not fit never count: the curve ends at two of three.
        QVERIFY(qAbs(dataOf(*cdf.plot(), 1).last().y() - 200 / 3.0) < 1e-9);
        QCOMPARE(cdf.plot()->graph(0)->lineStyle(), QCPGraph::lsStepLeft);
        QVERIFY(cdf.plot()->xAxis->range().lower < 0.5 && cdf.plot()->xAxis->range().upper > 2);
        QVERIFY(cdf.plot()->xAxis->range().upper < 2.5);
        // Medians are shown as dots and in the list.
        QCOMPARE(dataOf(*cdf.plot(), 2).size(), 1);
        QVERIFY(qAbs(dataOf(*cdf.plot(), 2)[0].x() - 0.75) < 1e-9);
        QVERIFY(qAbs(dataOf(*cdf.plot(), 3)[0].x() - 2.0) < 1e-9);
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(0)->text(1), QString("0.75×"));
        QCOMPARE(list->topLevelItem(1)->text(3), QString("2 of 3"));
    }

    void theMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData four{{{"a"}, {"b"}, {"c"}, {"d"}},
                     {{"fits", {{0, 0.010}, {1, 0.020}, {2, 0.040}, {3, 0.080}}},
                      {"half fits", {{0, 0.010}, {1, 0.020}, {2, 0.001, false}, {3, 0.001, false}}}}};
        cdf.setData(four);
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(0)->text(1), QString("30.0 ms"));
        // The dot is on the curve, which is level there.
        QCOMPARE(dataOf(*cdf.plot(), 2), QList<QPointF>({{30, 50}}));
        // One of the two middle values does not fit.
        QCOMPARE(list->topLevelItem(1)->text(1), QString("–"));
        QVERIFY(dataOf(*cdf.plot(), 3).isEmpty());
    }

    void aSchemeThatIsFilledReachesItsShareOnly() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData filled{{{"a", 1}, {"b", 1}, {"c", 1}, {"d"}},
                       {{"all", {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 1}, {"some", {{0, 1}, {3, 2}}, 1}}};
        cdf.setData(filled);
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        // Share of the graphs that can be compared with one device.
        QCOMPARE(dataOf(*cdf.plot(), 0)[3].y(), 100.0);
        QVERIFY(qAbs(dataOf(*cdf.plot(), 1).last().y() - 100.0 / 3) < 1e-9);
        QCOMPARE(list->topLevelItem(0)->text(3), QString("3"));
        QCOMPARE(list->topLevelItem(1)->text(3), QString("1 of 3"));
        cdf.findChild<QComboBox*>("axis")->setFocus();
        QTest::keyClick(cdf.findChild<QComboBox*>("axis"), Qt::Key_Down);
        QCOMPARE(dataOf(*cdf.plot(), 1), QList<QPointF>({{1, 0}, {1, 25}, {2, 50}, {4000, 50}}));
        QCOMPARE(list->topLevelItem(1)->text(3), QString("2 of 4"));
        // The median is not known yet.
        QCOMPARE(list->topLevelItem(0)->text(1), QString("2.50 s"));
        QCOMPARE(list->topLevelItem(1)->text(1), QString("–"));
        QCOMPARE(list->topLevelItem(1)->text(2), QString("–"));
        QVERIFY(dataOf(*cdf.plot(), 3).isEmpty());
    }

    void sharesOfOneDeviceAreToldFromOne() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData close{{{"a", 0.0917}}, {{"searched", {{0, 0.0922}}}}};
        close.members = "searches";
        cdf.setData(close);
        QCOMPARE(cdf.findChild<QTreeWidget*>("schemes")->topLevelItem(0)->text(1), QString("1.005×"));
        QVERIFY(cdf.plot()->yAxis->label().startsWith("Share of searches"));
    }

    void stepTimesAreShownInSecondsToo() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        auto* axis = cdf.findChild<QComboBox*>("axis");
        axis->setFocus();
        QTest::keyClick(axis, Qt::Key_Down);
        QCOMPARE(dataOf(*cdf.plot(), 0).mid(0, 4),
                 QList<QPointF>({{10, 0}, {10, 100 / 3.0}, {30, 200 / 3.0}, {50, 100}}));
        QVERIFY(cdf.plot()->xAxis->label().contains(u"[ms]"));
        QCOMPARE(cdf.findChild<QTreeWidget*>("schemes")->topLevelItem(0)->text(1), QString("30.0 ms"));

        // If no graph fits on one device, the comparison is disabled; the choice returns with data that
        // allows it.
        QTest::keyClick(axis, Qt::Key_Up);
        CdfData alone = family();
        for (CdfGraph& graph : alone.graphs) graph.one_device_s = 0;
        cdf.setData(alone);
        QCOMPARE(axis->currentText(), QString("Step time"));
        QCOMPARE(dataOf(*cdf.plot(), 0)[1].x(), 10.0);
        cdf.setData(family());
        QCOMPARE(axis->currentText(), QString("Relative to one device"));
        // A graph that does not fit on one device is left out for every scheme.
        CdfData partly = family();
        partly.graphs[2].one_device_s = 0;
        cdf.setData(partly);
        QCOMPARE(dataOf(*cdf.plot(), 0)[2].y(), 100.0);
        QCOMPARE(dataOf(*cdf.plot(), 1)[2].y(), 100.0);
    }

    void schemesAreTickedOffAndOn() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        const auto visible = [&](int graph) { return cdf.plot()->graph(graph)->visible(); };
        QVERIFY(visible(0) && visible(1) && visible(2) && visible(3));
        clickTick(cdf, 1);
        QVERIFY(visible(0) && !visible(1) && visible(2) && !visible(3));
        QVERIFY(cdf.plot()->xAxis->range().upper < 1.2);  // the range no longer includes random
        // It stays hidden while data arrives.
        cdf.setData(family());
        QVERIFY(visible(0) && !visible(1));
        auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(1)->checkState(0), Qt::Unchecked);
        list->setFocus();
        list->setCurrentItem(list->topLevelItem(1));
        QTest::keyClick(list, Qt::Key_Space);
        QVERIFY(visible(1) && visible(3));
    }

    void theStepTimeAxisTurnsLogarithmic() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        QTest::mouseClick(cdf.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QCOMPARE(cdf.plot()->xAxis->scaleType(), QCPAxis::stLogarithmic);
        QVERIFY(cdf.plot()->xAxis->range().lower > 0.4 && cdf.plot()->xAxis->range().lower < 0.5);
        // The wheel zooms only the time axis, and the range stays while data arrives.
        const QPoint centre = cdf.plot()->axisRect()->center();
        QWheelEvent wheel(centre, cdf.plot()->mapToGlobal(centre), {}, {0, 120}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(cdf.plot(), &wheel);
        const QCPRange zoomed = cdf.plot()->xAxis->range();
        QVERIFY(zoomed.lower > 0.5);
        QCOMPARE(cdf.plot()->yAxis->range().upper, 116.0);
        cdf.setData(family());
        QCOMPARE(cdf.plot()->xAxis->range(), zoomed);
        QTest::mouseClick(cdf.findChild<QToolButton*>("fit"), Qt::LeftButton);
        QVERIFY(cdf.plot()->xAxis->range().lower < 0.5);
    }

    void hoveringAStepTellsItsGraph() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        QTRY_VERIFY(cdf.plot()->axisRect()->width() > 200);
        const auto move = [&](double x, double y) {
            const QPointF at(cdf.plot()->xAxis->coordToPixel(x), cdf.plot()->yAxis->coordToPixel(y));
            QMouseEvent event(QEvent::MouseMove, at, cdf.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                              {});
            QApplication::sendEvent(cdf.plot(), &event);
        };
        move(0.76, 60);
        QCOMPARE(
            QToolTip::text(),
            QString("optimized\nmiddle: 30.0 ms, 75 % of one device\n67 % of the graphs take no longer"));
        move(1.99, 50);
        QVERIFY2(QToolTip::text().startsWith(u"random\nsmall: 20.0 ms, 200 %"), qPrintable(QToolTip::text()));
        clickTick(cdf, 1);
        cdf.plot()->xAxis->setRange(0, 3);
        auto* tracer = qobject_cast<QCPItemTracer*>(cdf.plot()->item(3));
        move(0.76, 60);
        QVERIFY(tracer->visible());
        move(1.99, 50);
        QVERIFY(!tracer->visible());
    }

    void titlesInToolTipsAreNoMarkup() {
        CdfData named = family();
        named.schemes[0].title = QString::fromUtf8(kMarkupName);
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(named);
        QTRY_VERIFY(cdf.plot()->axisRect()->width() > 200);
        QCOMPARE(readText(cdf.findChild<QTreeWidget*>("schemes")->topLevelItem(0)->toolTip(0)),
                 named.schemes[0].title);
        const QPointF at(cdf.plot()->xAxis->coordToPixel(0.76), cdf.plot()->yAxis->coordToPixel(60));
        QMouseEvent event(QEvent::MouseMove, at, cdf.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(cdf.plot(), &event);
        const QString shown = readText(QToolTip::text());
        QVERIFY2(shown.startsWith(named.schemes[0].title + QStringLiteral("\nmiddle: 30.0 ms")),
                 qPrintable(shown));
    }

    void manyEqualValuesAreOneStep() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData tried{{{}}, {{"Run #1", {{0, 0.010, true, 30}, {0, 0.020, true, 50}, {0, 0, false, 20}}}}};
        tried.members = "placements tried";
        tried.schemes[0].color = QColor(10, 200, 30);
        cdf.setData(tried);
        QCOMPARE(dataOf(*cdf.plot(), 0).mid(0, 3), QList<QPointF>({{10, 0}, {10, 30}, {20, 80}}));
        QCOMPARE(dataOf(*cdf.plot(), 1), QList<QPointF>({{20, 80}}));
        QCOMPARE(cdf.plot()->graph(0)->pen().color(), QColor(10, 200, 30));
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(0)->text(1), QString("20.0 ms"));
        QCOMPARE(list->topLevelItem(0)->text(3), QString("80 of 100"));
        QTRY_VERIFY(cdf.plot()->axisRect()->width() > 200);
        const QPointF at(cdf.plot()->xAxis->coordToPixel(20), cdf.plot()->yAxis->coordToPixel(60));
        QMouseEvent event(QEvent::MouseMove, at, cdf.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(cdf.plot(), &event);
        QCOMPARE(QToolTip::text(), QString("Run #1\n20.0 ms\n80 % of the placements tried take no longer"));
    }

    void bytesHaveUnitsOfTheirOwn() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData sizes{{{}}, {{"All", {{0, 2e6}, {0, 8e6}}}}};
        sizes.quantity = CdfData::Quantity::bytes;
        sizes.objective = "Size";
        cdf.setData(sizes);
        QCOMPARE(dataOf(*cdf.plot(), 0)[2].x(), 8.0);
        QVERIFY(cdf.plot()->xAxis->label().contains(u"[MB]"));
        QCOMPARE(cdf.findChild<QTreeWidget*>("schemes")->topLevelItem(0)->text(1), QString("5.00 MB"));
    }

    void aClickIsNotLostWhileValuesArrive() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        auto* list = cdf.findChild<QTreeWidget*>("schemes");
        const QTreeWidgetItem* row = list->topLevelItem(1);
        cdf.setData(family());
        QCOMPARE(list->topLevelItem(1), row);
        CdfData fewer = family();
        fewer.schemes.pop_back();
        cdf.setData(fewer);
        QCOMPARE(list->topLevelItemCount(), 1);
        QCOMPARE(list->topLevelItem(0)->text(0), QString("optimized"));
    }

    void theListLeavesRoomForThePlot() {
        CdfPlot cdf;
        CdfData many{{{"a"}}, {}};
        for (int i = 0; i < 12; ++i) many.schemes.push_back({QString::number(i), {{0, 0.01 * (i + 1)}}});
        showAt(cdf, {500, 300});
        cdf.setData(many);
        QTRY_VERIFY(cdf.plot()->height() > 120);
        cdf.resize(500, 900);
        QTRY_VERIFY(cdf.findChild<QTreeWidget*>("schemes")->height() > 120);
    }

    void withoutStepTimesThePanelSaysWhatWouldFillIt() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        auto* empty = cdf.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"Compare"));
        CdfData started = family();
        for (CdfScheme& scheme : started.schemes) scheme.values.clear();
        cdf.setData(started);
        QVERIFY(empty->isVisible());
        cdf.setData(family());
        QVERIFY(!empty->isVisible() && cdf.plot()->isVisible());
    }

    void aPictureOfTheDistributionHasALegend() {
        CdfPlot cdf;
        cdf.setData(family());
        const auto picture = [&] {
            QImage image(500, 300, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            cdf.renderWhole(painter, image.rect());
            return image;
        };
        const QImage both = picture();
        CdfData renamed = family();
        renamed.schemes[1].title = QStringLiteral("expert");
        cdf.setData(renamed);
        QVERIFY(picture() != both);
        QVERIFY(!cdf.plot()->legend->visible());
        // The panel may have any height.
        const QImage high = picture();
        cdf.plot()->setViewport({0, 0, 300, 40});
        QCOMPARE(picture(), high);
    }
};

QTEST_MAIN(TestCdfPlot)
#include "tst_cdf_plot.moc"
