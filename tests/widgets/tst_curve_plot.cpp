// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QWheelEvent>

#include "core/base/infinity.hpp"
#include "tests/support/plots.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

class TestCurvePlot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void curvesHoldTheBestSoFarToTheEnd() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries(), series(2, {{50, 0.5, 0.070, 0.1}}, 50, 0.5)});
        QCOMPARE(curves.plot()->graphCount(), 2);
        QCOMPARE(dataOf(*curves.plot(), 0),
                 QList<QPointF>({{10, 5e8}, {20, 90}, {300, 50}, {800, 41}, {1000, 41}}));
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{50, 70}}));
        QCOMPARE(curves.plot()->graph(0)->lineStyle(), QCPGraph::lsStepLeft);
        QCOMPARE(curves.plot()->graph(0)->name(), QStringLiteral("Run #1"));
        QCOMPARE(curves.plot()->graph(0)->pen().color(),
                 runColor(usualSeries().style, curves.palette().color(QPalette::Base)));
        QVERIFY(curves.plot()->yAxis->label().contains(u"[ms]"));

        curves.setSeries({series(2, {{50, 0.5, 70e-6, 1e-4}}, 60, 0.6)});
        QCOMPARE(curves.plot()->graphCount(), 1);
        QCOMPARE(dataOf(*curves.plot(), 0).size(), 2);
        QVERIFY(std::abs(dataOf(*curves.plot(), 0)[0].y() - 70) < 1e-9);
        QVERIFY(curves.plot()->yAxis->label().contains(u"[µs]"));
    }

    void whatNeedsNoSearchIsALineAcross() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries built = series(2, {{1, 0.5, 0.070, 0.07}}, 1, 0.5);
        built.ended = true;
        curves.setSeries({usualSeries(), built});
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{0, 70}, {1, 70}, {1000, 70}}));
        curves.findChild<QComboBox*>("against")->setCurrentIndex(1);
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{0, 70}, {0.5, 70}, {10, 70}}));
        // The curve is also drawn alone.
        curves.findChild<QComboBox*>("against")->setCurrentIndex(0);
        curves.setSeries({built});
        QCOMPARE(dataOf(*curves.plot(), 0), QList<QPointF>({{0, 70}, {1, 70}}));
    }

    void curvesSkipTimesThatAreNotFinite() {
        CurvePlot curves;
        curves.setSeries({series(1, {{10, 0.1, kInfinity, 0}, {20, 0.2, 0.05, 0.1}}, 30, 0.3)});
        QCOMPARE(dataOf(*curves.plot(), 0), QList<QPointF>({{20, 50}, {30, 50}}));
    }

    void curvesAreDrawnAgainstSeconds() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        auto* against = curves.findChild<QComboBox*>("against");
        against->setFocus();
        QTest::keyClick(against, Qt::Key_Down);
        QCOMPARE(dataOf(*curves.plot(), 0),
                 QList<QPointF>({{0.1, 5e8}, {0.2, 90}, {3, 50}, {8, 41}, {10, 41}}));
        QCOMPARE(curves.plot()->xAxis->range().upper, 10.0);
        QCOMPARE(curves.plot()->xAxis->label(), QStringLiteral("Time [s]"));
    }

    void meansAreDrawnOnDemand() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries one = usualSeries();
        one.means = {{500, 0.120}, {1000, 0.060}};
        curves.setSeries({one});
        QCOMPARE(curves.plot()->graphCount(), 1);
        auto* means = curves.findChild<QCheckBox*>("means");
        QTest::mouseClick(means, Qt::LeftButton);
        QCOMPARE(curves.plot()->graphCount(), 2);
        // Each mean is over the evaluations since the previous point.
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{0, 120}, {500, 60}, {1000, 60}}));
        QVERIFY(curves.plot()->yAxis->range().upper > 120);
        QVERIFY(curves.plot()->graph(1)->pen().color() != curves.plot()->graph(0)->pen().color());
        QVERIFY(curves.plot()->graph(1)->pen().widthF() < curves.plot()->graph(0)->pen().widthF());
        const QPointF at(curves.plot()->xAxis->coordToPixel(250), curves.plot()->yAxis->coordToPixel(119));
        QMouseEvent move(QEvent::MouseMove, at, curves.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                         {});
        QApplication::sendEvent(curves.plot(), &move);
        QVERIFY2(QToolTip::text().startsWith(u"Run #1, mean\n120 ms after 2"), qPrintable(QToolTip::text()));
        // The seconds at which these points were reached are unknown.
        curves.findChild<QComboBox*>("against")->setFocus();
        QTest::keyClick(curves.findChild<QComboBox*>("against"), Qt::Key_Down);
        QCOMPARE(curves.plot()->graphCount(), 1);
        QVERIFY(!means->isEnabled());
        QTest::keyClick(curves.findChild<QComboBox*>("against"), Qt::Key_Up);
        QCOMPARE(curves.plot()->graphCount(), 2);
        QTest::mouseClick(means, Qt::LeftButton);
        QCOMPARE(curves.plot()->graphCount(), 1);
        QVERIFY(curves.plot()->yAxis->range().upper < 110);
    }

    void meansFarAboveTheBestAreInTheRange() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries one = usualSeries();
        one.means = {{500, 0.9}, {1000, 0.6}};
        curves.setSeries({one});
        QVERIFY(curves.plot()->yAxis->range().upper < 110);
        QTest::mouseClick(curves.findChild<QCheckBox*>("means"), Qt::LeftButton);
        QVERIFY(curves.plot()->yAxis->range().upper > 600);
    }

    void penaltiesAreNotDrawnAsTimes() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        const CurveSeries never = series(1, {{1, 0.1, 5e5, 0, false}, {9, 0.2, 4e5, 0, false}}, 1000, 10);
        curves.setSeries({never});
        const auto* empty = curves.findChild<QLabel*>("empty");
        QVERIFY2(empty->isVisible() && empty->text().contains(u"fits the memory"), qPrintable(empty->text()));
        const CurveSeries later = series(2, {{1, 0.1, 5e5, 0, false}, {9, 0.2, 0.05, 0}}, 1000, 10);
        curves.setSeries({never, later});
        QVERIFY(!empty->isVisible());
        QVERIFY(dataOf(*curves.plot(), 0).isEmpty());
        QCOMPARE(curves.plot()->graph(0)->name(), QStringLiteral("Run #1 (does not fit)"));
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{9, 50}, {1000, 50}}));
        QCOMPARE(curves.plot()->graph(1)->name(), QStringLiteral("Run #2"));
    }

    /// The names at the ends of the curves that are seen, from top to bottom.
    static std::vector<const QCPItemText*> names(const CurvePlot& curves) {
        std::vector<const QCPItemText*> seen;
        for (int i = 0; i < curves.plot()->itemCount(); ++i) {
            const auto* text = qobject_cast<QCPItemText*>(curves.plot()->item(i));
            if (text && text->visible() &&
                text->position->pixelPosition().x() > curves.plot()->axisRect()->right())
                seen.push_back(text);
        }
        std::ranges::sort(seen, {}, [](const auto* text) { return text->position->pixelPosition().y(); });
        return seen;
    }

    void namesStandAtTheEndsOfCurves() {
        CurvePlot curves;
        showAt(curves, {700, 500});
        std::vector<CurveSeries> runs;
        for (int id = 1; id <= 10; ++id) {
            CurveSeries one = usualSeries(id);
            auto points = *one.points;
            points.back().best_s = 0.040 + 1e-4 * id;  // nearer than a line of text
            one.points = std::make_shared<const std::vector<CurvePoint>>(points);
            runs.push_back(one);
        }
        curves.setSeries(runs);
        QTRY_COMPARE(names(curves).size(), std::size_t{10});
        const std::vector<const QCPItemText*> seen = names(curves);
        QCOMPARE(seen.front()->text(), QStringLiteral("Run #10"));  // the slowest is at the top
        const double line = QFontMetricsF(seen.front()->font()).height();
        for (std::size_t i = 1; i < seen.size(); ++i) {
            QVERIFY(seen[i]->position->pixelPosition().y() - seen[i - 1]->position->pixelPosition().y() >=
                    line - 1);
        }
        QCOMPARE(seen.front()->color(),
                 runTextColor(runs.back().style, curves.plot()->palette().color(QPalette::Base)));
        QVERIFY(seen.front()->right->pixelPosition().x() <= curves.plot()->viewport().right());
        // Where there is no room for all, the best keep their names.
        curves.resize(700, 180);
        QTRY_VERIFY(names(curves).size() < 10 && !names(curves).empty());
        QCOMPARE(names(curves).back()->text(), QStringLiteral("Run #1"));
    }

    /// A search that is stuck far above the others does not squash them; its name says where it is.
    void outliersAreNamedAtTheBorder() {
        CurvePlot curves;
        showAt(curves, {700, 400});
        std::vector<CurveSeries> runs;
        for (const double best_s : {0.0772, 0.0779, 0.0783, 0.1160})
            runs.push_back(series(int(runs.size()) + 1, {{1, 0, 0.120, 0}, {400, 1, best_s, 0}}, 1000, 2));
        curves.setSeries(runs);
        const QCPRange y = curves.plot()->yAxis->range();
        QVERIFY2(y.upper < 90 && y.upper > 78.3, qPrintable(QString::number(y.upper)));
        QTRY_COMPARE(names(curves).size(), std::size_t{4});
        QCOMPARE(names(curves).front()->text(), QStringLiteral("Run #4 ↑"));
        // Of two runs neither is the outlier.
        curves.setSeries({runs[0], runs[3]});
        QVERIFY(curves.plot()->yAxis->range().upper > 116);
    }

    void candidatesAreFaintPoints() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries one = usualSeries();
        one.samples = std::make_shared<const std::vector<SamplePoint>>(
            std::vector<SamplePoint>{{1, 0.5, 0.080, true}, {2, 1.0, 0.070, false}, {3, 1.5, 0.060, true}});
        curves.setSeries({one});
        QCOMPARE(curves.plot()->graphCount(), 1);
        const auto points = [&] {
            QList<QPointF> all;
            for (int i = 0; i < curves.plot()->plottableCount(); ++i) {
                if (const auto* curve = qobject_cast<QCPCurve*>(curves.plot()->plottable(i))) {
                    for (const QCPCurveData& point : *curve->data()) all << QPointF(point.key, point.value);
                }
            }
            return all;
        };
        QCOMPARE(points(), QList<QPointF>({{1, 80}, {3, 60}}));  // what does not fit has no time
        curves.findChild<QComboBox*>("against")->setCurrentIndex(1);
        QCOMPARE(points(), QList<QPointF>({{0.5, 80}, {1.5, 60}}));
        QTest::mouseClick(curves.findChild<QCheckBox*>("candidates"), Qt::LeftButton);
        QVERIFY(points().isEmpty());
    }

    void smallPlotsLeaveOutWhatDoesNotFit() {
        CurvePlot curves;
        std::vector<CurveSeries> runs{usualSeries(1), usualSeries(2), usualSeries(3)};
        runs[1].title = QStringLiteral("Simulated annealing by generalized moves #12");
        curves.setSeries(runs);
        curves.setLowerBound(0.03);
        showAt(curves, {700, 500});
        QCustomPlot& plot = *curves.plot();
        const auto* bound = qobject_cast<QCPItemText*>(plot.item(1));
        QTRY_COMPARE(names(curves).size(), std::size_t{3});
        QTRY_COMPARE(plot.yAxis->label(), QStringLiteral("Best step time [ms]"));
        QVERIFY(bound->visible());
        // Long names leave most of the width to the curves.
        QVERIFY(plot.axisRect()->width() > 0.5 * plot.width());

        curves.resize(380, 130);
        QTRY_COMPARE(plot.yAxis->label(), QStringLiteral("[ms]"));
        QCOMPARE(plot.xAxis->label(), QStringLiteral("Evaluations"));
        QTRY_VERIFY(!bound->visible());
        QVERIFY(plot.yAxis->ticker()->tickCount() < 5);
        QTRY_VERIFY(plot.axisRect()->height() > 30);

        curves.resize(700, 500);
        QTRY_COMPARE(names(curves).size(), std::size_t{3});
        QTRY_COMPARE(plot.yAxis->label(), QStringLiteral("Best step time [ms]"));
        QTRY_VERIFY(bound->visible());
    }

    void rangesLeavePenaltiesOut() {
        CurvePlot curves;
        curves.setSeries({usualSeries()});
        const QCPRange y = curves.plot()->yAxis->range();
        QVERIFY(y.upper > 90 && y.upper < 110);
        QVERIFY(y.lower < 41 && y.lower > 20);
        QCOMPARE(curves.plot()->xAxis->range().lower, 0.0);
        QCOMPARE(curves.plot()->xAxis->range().upper, 1000.0);

        curves.setSeries({usualSeries(), series(2, {{10, 0.1, 2.0, 3.0}}, 100, 1)});
        QVERIFY(curves.plot()->yAxis->range().upper < 110);
        QVERIFY(curves.plot()->graph(1)->name().contains(u"above"));
    }

    /// The first fall is steep and short; the plot shows what follows.
    void lateImprovementsAreSeen() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({series(1,
                                 {{1, 0, 0.200, 0},
                                  {20, 0.1, 0.100, 0},
                                  {2000, 1, 0.045, 0},
                                  {6000, 3, 0.041, 0},
                                  {9000, 4, 0.040, 0}},
                                 10'000, 5)});
        auto* y = curves.plot()->yAxis;
        QVERIFY2(y->range().upper > 100 && y->range().upper < 105,
                 qPrintable(QString::number(y->range().upper)));
        curves.setSeries({series(1,
                                 {{1, 0, 0.200, 0},
                                  {20, 0.1, 0.100, 0},
                                  {200, 1, 0.045, 0},
                                  {6000, 3, 0.041, 0},
                                  {9000, 4, 0.040, 0}},
                                 10'000, 5)});
        QVERIFY2(y->range().upper > 45 && y->range().upper < 46,
                 qPrintable(QString::number(y->range().upper)));
        // A distant bound would squash the curves; its label shows its value instead.
        auto* label = qobject_cast<QCPItemText*>(curves.plot()->item(1));
        curves.setLowerBound(0.010);
        QVERIFY(y->range().lower > 38);
        QVERIFY(label->visible() && label->text().endsWith(QChar(0x2193)));
        // It stands apart from the axes, and no grid line runs through it.
        const QRectF area = curves.plot()->axisRect()->rect();
        QVERIFY(area.adjusted(3, 0, 0, -4).contains(label->bottomLeft->pixelPosition()));
        QCOMPARE(label->brush().color(), curves.plot()->palette().color(QPalette::Base));
        curves.setLowerBound(0.036);
        QVERIFY(y->range().lower < 36);
        QVERIFY(!label->text().endsWith(QChar(0x2193)));
        // If there is enough room for the start, it is shown; the user's zoom is kept.
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QVERIFY(y->range().upper > 200);
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QWheelEvent wheel(curves.plot()->axisRect()->center(),
                          curves.plot()->mapToGlobal(curves.plot()->axisRect()->center()), {}, {0, 120},
                          Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(curves.plot(), &wheel);
        const QCPRange zoomed = y->range();
        curves.setSeries({series(1, {{1, 0, 0.200, 0}, {9000, 4, 0.030, 0}}, 10'000, 5)});
        QCOMPARE(y->range(), zoomed);
    }

    void theLowerBoundIsALine() {
        CurvePlot curves;
        curves.setSeries({usualSeries()});
        showAt(curves, {500, 400});
        QTRY_VERIFY(curves.plot()->yAxis->range().lower > 35);
        const double before = curves.plot()->yAxis->range().lower;
        auto* line = qobject_cast<QCPItemStraightLine*>(curves.plot()->item(0));
        auto* label = qobject_cast<QCPItemText*>(curves.plot()->item(1));
        QVERIFY(line && label);
        QVERIFY(!line->visible());
        curves.setLowerBound(0.0178);
        QVERIFY(line->visible() && label->visible());
        QCOMPARE(line->point1->value(), 17.8);
        QCOMPARE(line->pen().style(), Qt::DashLine);
        QVERIFY(label->text().contains(u"17.8 ms"));
        QVERIFY(curves.plot()->yAxis->range().lower < 17.8 && curves.plot()->yAxis->range().lower < before);
        curves.setLowerBound(0);
        QVERIFY(!line->visible() && !label->visible());
        QCOMPARE(curves.plot()->yAxis->range().lower, before);
    }

    void axesTurnLogarithmicByClicking() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QCOMPARE(curves.plot()->xAxis->scaleType(), QCPAxis::stLogarithmic);
        QCOMPARE(curves.plot()->yAxis->scaleType(), QCPAxis::stLinear);
        QCOMPARE(curves.plot()->xAxis->range().lower, 10.0);
        QTest::mouseClick(curves.findChild<QCheckBox*>("logY"), Qt::LeftButton);
        QCOMPARE(curves.plot()->yAxis->scaleType(), QCPAxis::stLogarithmic);
        QVERIFY(curves.plot()->yAxis->range().lower > 0);
        // Decades alone would leave the range from 41 to 90 ms without a label.
        QVERIFY(curves.plot()->yAxis->ticker().dynamicCast<QCPAxisTickerLog>().isNull());
        QVERIFY(!curves.plot()->xAxis->ticker().dynamicCast<QCPAxisTickerLog>().isNull());
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QCOMPARE(curves.plot()->xAxis->scaleType(), QCPAxis::stLinear);
        QVERIFY(curves.plot()->xAxis->ticker().dynamicCast<QCPAxisTickerLog>().isNull());
    }

    void axesFollowUntilZoomedAndAgainAfterADoubleClick() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        QTRY_VERIFY(curves.plot()->axisRect()->width() > 200);
        const QPoint centre = curves.plot()->axisRect()->center();
        QWheelEvent wheel(centre, curves.plot()->mapToGlobal(centre), {}, {0, 120}, Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(curves.plot(), &wheel);
        const QCPRange zoomed = curves.plot()->xAxis->range();
        QVERIFY(zoomed.size() < 1000);
        const auto longer = [] {
            CurveSeries one = usualSeries();
            one.evaluations = 2000;
            return one;
        };
        curves.setSeries({longer()});
        QCOMPARE(curves.plot()->xAxis->range(), zoomed);
        QTest::mouseDClick(curves.plot(), Qt::LeftButton, {}, centre);
        QCOMPARE(curves.plot()->xAxis->range().upper, 2000.0);

        QTest::mousePress(curves.plot(), Qt::LeftButton, {}, centre);
        QTest::mouseMove(curves.plot(), centre + QPoint(20, 0));
        QMouseEvent drag(QEvent::MouseMove, centre + QPoint(60, 0),
                         curves.plot()->mapToGlobal(centre + QPoint(60, 0)), Qt::NoButton, Qt::LeftButton,
                         {});
        QApplication::sendEvent(curves.plot(), &drag);
        QTest::mouseRelease(curves.plot(), Qt::LeftButton, {}, centre + QPoint(60, 0));
        QVERIFY(curves.plot()->xAxis->range().lower < 0);
        QTest::mouseClick(curves.findChild<QToolButton*>("fit"), Qt::LeftButton);
        QCOMPARE(curves.plot()->xAxis->range().lower, 0.0);
    }

    void hoveringACurveShowsItsValue() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        QTRY_VERIFY(curves.plot()->axisRect()->width() > 200);
        const auto move = [&](double x, double y) {
            const QPointF at(curves.plot()->xAxis->coordToPixel(x), curves.plot()->yAxis->coordToPixel(y));
            QMouseEvent event(QEvent::MouseMove, at, curves.plot()->mapToGlobal(at), Qt::NoButton,
                              Qt::NoButton, {});
            QApplication::sendEvent(curves.plot(), &event);
        };
        move(500.5, 51);
        QVERIFY2(QToolTip::text().startsWith(u"Run #1\n50.0 ms after 50"), qPrintable(QToolTip::text()));
        auto* tracer = qobject_cast<QCPItemTracer*>(curves.plot()->item(2));
        QVERIFY(tracer->visible());
        QCOMPARE(tracer->position->value(), 50.0);
        move(500.5, 75);
        QVERIFY(!tracer->visible());
    }

    void titlesInToolTipsAreNoMarkup() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries named = usualSeries();
        named.title = QString::fromUtf8(kMarkupName);
        curves.setSeries({named});
        QTRY_VERIFY(curves.plot()->axisRect()->width() > 200);
        const QPointF at(curves.plot()->xAxis->coordToPixel(500.5), curves.plot()->yAxis->coordToPixel(51));
        QMouseEvent event(QEvent::MouseMove, at, curves.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                          {});
        QApplication::sendEvent(curves.plot(), &event);
        const QString shown = readText(QToolTip::text());
        QVERIFY2(shown.startsWith(named.title + QStringLiteral("\n50.0 ms")), qPrintable(shown));
    }

    void curvesSayWhatWouldFillThem() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        auto* empty = curves.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"Optimize"));
        QVERIFY(!curves.plot()->isVisible());
        curves.setSeries({series(1, {}, 0, 0)});
        QVERIFY(empty->isVisible());
        curves.setSeries({usualSeries()});
        QVERIFY(!empty->isVisible() && curves.plot()->isVisible());
        curves.setSeries({});
        QVERIFY(empty->isVisible());
    }
};

QTEST_MAIN(TestCurvePlot)
#include "tst_curve_plot.moc"
