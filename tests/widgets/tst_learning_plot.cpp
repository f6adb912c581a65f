// SPDX-License-Identifier: MIT
#include <cmath>

#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QMouseEvent>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/support/plots.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

/// Costs that fall from 0.75 of one device, entropy from 1.5 nats, learning rate from 0.5.
std::shared_ptr<const std::vector<TrainingPoint>> training(std::uint64_t updates) {
    std::vector<TrainingPoint> curve;
    for (std::uint64_t i = 0; i < updates; ++i) {
        const auto step = static_cast<double>(i);
        TrainingPoint point;
        point.updates = i + 1;
        point.cost = 0.75 - 0.25 * step;
        point.cost_spread = 0.25;
        point.best_cost = 0.5 - 0.125 * step;
        point.entropy = 1.5 - 0.5 * step;
        point.learning_rate = 0.5 / std::exp2(step);
        curve.push_back(point);
    }
    return std::make_shared<const std::vector<TrainingPoint>>(std::move(curve));
}

}  // namespace

class TestLearningPlot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void titlesAreAlignedAndOneDeviceIsNotCutOff() {
        LearningPlot learning;
        showAt(learning, {500, 400});
        auto points = *training(3);
        for (TrainingPoint& point : points) point.learning_rate *= 1e-3;  // labels of other widths
        learning.setCurve(std::make_shared<const std::vector<TrainingPoint>>(std::move(points)));
        QCustomPlot& plot = *learning.plot();
        const auto reach = [&](int part) {
            const QCPAxis& axis = *plot.axisRect(part)->axis(QCPAxis::atLeft);
            int widest = 0;
            for (const QString& label : axis.tickVectorLabels())
                widest = std::max(widest, QFontMetrics(axis.tickLabelFont()).horizontalAdvance(label));
            return widest + axis.labelPadding();
        };
        QTRY_VERIFY(reach(0) == reach(1) && reach(1) == reach(2));
        const QCPItemText* label = nullptr;
        for (int i = 0; i < plot.itemCount(); ++i) {
            if (auto* text = qobject_cast<QCPItemText*>(plot.item(i)); text && text->text() == "one device")
                label = text;
        }
        QVERIFY(label != nullptr);
        QVERIFY(label->topLeft->pixelPosition().y() >= plot.axisRect(0)->top());
        QVERIFY(label->bottomLeft->pixelPosition().y() <= plot.axisRect(0)->bottom());
    }

    void learningIsDrawnWithTheSpreadOverTheWorkers() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(3));
        QCustomPlot& plot = *learning.plot();
        QCOMPARE(dataOf(plot, 0), QList<QPointF>({{1, 1.0}, {2, 0.75}, {3, 0.5}}));  // mean and spread
        QCOMPARE(dataOf(plot, 1), QList<QPointF>({{1, 0.5}, {2, 0.25}, {3, 0.0}}));
        QCOMPARE(dataOf(plot, 2), QList<QPointF>({{1, 0.75}, {2, 0.5}, {3, 0.25}}));
        QCOMPARE(dataOf(plot, 3), QList<QPointF>({{1, 0.5}, {2, 0.375}, {3, 0.25}}));
        QCOMPARE(dataOf(plot, 4), QList<QPointF>({{1, 1.5}, {2, 1.0}, {3, 0.5}}));
        QCOMPARE(dataOf(plot, 5), QList<QPointF>({{1, 0.5}, {2, 0.25}, {3, 0.125}}));
        QVERIFY(plot.yAxis->range().contains(1));  // one device
        QCOMPARE(plot.xAxis->range().upper, 3.0);
        QCOMPARE(plot.graph(2)->name(), QString("mean of the update's episodes"));
        QCOMPARE(plot.graph(3)->name(), QString("best so far (mean over networks)"));
        plot.replot();
        for (const double tick : plot.axisRect(2)->axis(QCPAxis::atBottom)->tickVector())
            QCOMPARE(tick, std::round(tick));
        const auto* header = learning.findChild<QLabel*>("header");
        QVERIFY2(header->text().startsWith("Update 3 · cost 0.250 ± 0.250 × one device · best 0.250 (mean "
                                           "over networks) · "),
                 qPrintable(header->text()));

        // A costly start does not squash the rest.
        auto costly = *training(3);
        costly.front().cost = 1000;
        learning.setCurve(std::make_shared<const std::vector<TrainingPoint>>(costly));
        QTRY_COMPARE(dataOf(plot, 2).first().y(), 1000.0);
        QVERIFY(plot.yAxis->range().upper < 10);
        // The mean is in view at any height.
        for (TrainingPoint& point : costly) point.cost = 12;
        learning.setCurve(std::make_shared<const std::vector<TrainingPoint>>(costly));
        QTRY_COMPARE(dataOf(plot, 2).last().y(), 12.0);
        QVERIFY(plot.yAxis->range().contains(12) && plot.yAxis->range().contains(1));

        // The value below the mouse.
        const QPointF at(plot.xAxis->coordToPixel(2), plot.axisRect()->center().y());
        QMouseEvent move(QEvent::MouseMove, at, plot.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(&plot, &move);
        QVERIFY2(QToolTip::text().startsWith("Update 2 · cost 12.000"), qPrintable(QToolTip::text()));
    }

    void learningIsDrawnTenTimesASecondAtMost() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(1));
        QCOMPARE(dataOf(*learning.plot(), 2).size(), 1);
        learning.setCurve(training(2));
        learning.setCurve(training(3));
        QCOMPARE(dataOf(*learning.plot(), 2).size(), 1);
        QTRY_COMPARE(dataOf(*learning.plot(), 2).size(), 3);  // the last update is not lost
        // Updates of a hidden plot are drawn when it is shown.
        learning.hide();
        QTest::qWait(150);
        learning.setCurve(training(4));
        QCOMPARE(dataOf(*learning.plot(), 2).size(), 3);
        learning.show();
        QTRY_COMPARE(dataOf(*learning.plot(), 2).size(), 4);
    }

    void entropyAndLearningRateAreDrawnWhereTheyAreTicked() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(3));
        QCustomPlot& plot = *learning.plot();
        plot.replot();
        const int small = plot.axisRect()->height();
        QCPAxis* entropy = plot.graph(4)->keyAxis();
        QCOMPARE(plot.xAxis->label(), QString());
        for (const char* name : {"entropy", "rate"})
            QTest::mouseClick(learning.findChild<QCheckBox*>(name), Qt::LeftButton);
        plot.replot();
        QVERIFY(plot.axisRect()->height() > small + 100);
        QCOMPARE(plot.xAxis->label(), QString("Updates"));
        QVERIFY(!entropy->realVisibility() && !plot.graph(4)->realVisibility());
        QTest::mouseClick(learning.findChild<QCheckBox*>("entropy"), Qt::LeftButton);
        plot.replot();
        QVERIFY(entropy->realVisibility() && !plot.graph(5)->realVisibility());
        QCOMPARE(entropy->label(), QString("Updates"));
        // All plots show the same updates.
        plot.xAxis->setRange(1, 2);
        QCOMPARE(entropy->range().lower, 1.0);
        QCOMPARE(entropy->range().upper, 2.0);
    }

    void learningFollowsTheTrainingUntilThePersonZooms() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(10));
        QCustomPlot& plot = *learning.plot();
        QCOMPARE(plot.xAxis->range().upper, 10.0);
        const QPointF middle = plot.axisRect()->center();
        QWheelEvent wheel(middle, plot.mapToGlobal(middle), {}, {0, 120}, Qt::NoButton, {}, Qt::NoScrollPhase,
                          false);
        QApplication::sendEvent(&plot, &wheel);
        const double zoomed = plot.xAxis->range().upper;
        QVERIFY(zoomed < 10);
        learning.setCurve(training(20));
        QTRY_COMPARE(dataOf(plot, 2).size(), 20);
        QCOMPARE(plot.xAxis->range().upper, zoomed);
        QTest::mouseClick(learning.findChild<QToolButton*>("fit"), Qt::LeftButton);
        QCOMPARE(plot.xAxis->range().upper, 20.0);
    }

    void emptyLearningSaysWhatWouldFillIt() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        const auto* empty = learning.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains("Optimize"));
        learning.setCurve(training(2));
        QVERIFY(!empty->isVisible());
        learning.setCurve(training(0));
        QVERIFY(empty->isVisible());
        QVERIFY(!learning.findChild<QLabel*>("header")->isVisible());
    }
};

QTEST_MAIN(TestLearningPlot)
#include "tst_learning_plot.moc"
