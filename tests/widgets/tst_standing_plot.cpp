// SPDX-License-Identifier: MIT
#include <QTest>

#include "widgets/qcustomplot_header.hpp"
#include "widgets/standing_plot.hpp"

using namespace placewright;

namespace {

/// Texts on the bars.
QStringList labelsOf(const StandingPlot& plot) {
    QStringList labels;
    for (int i = 0; i < plot.plot()->itemCount(); ++i) {
        if (const auto* label = qobject_cast<QCPItemText*>(plot.plot()->item(i))) labels << label->text();
    }
    return labels;
}

}  // namespace

class TestStandingPlot : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void barsFarAboveTheBestSayHowFar() {
        StandingPlot plot;
        plot.setBars({{"best", 1, {}, {1}}, {"near", 4, {}, {4}}, {"far", 20, {}, {20}}}, {}, "Step time");
        QCOMPARE(labelsOf(plot), QStringList{"20.0 s →"});
        QVERIFY(plot.plot()->xAxis->range().upper < 20);
    }

    void smallDifferencesShow() {
        StandingPlot plot;
        plot.setBars({{"a", 0.0780, {}, {0.0780}}, {"b", 0.0783, {}, {0.0783}}}, 0.2, "Step time");
        const QCPRange range = plot.plot()->xAxis->range();
        QVERIFY(range.lower > 77 && range.upper < 79);
        // One device is shown where that does not compress the differences.
        QCOMPARE(labelsOf(plot), QStringList());
        plot.setBars({{"a", 0.0780, {}, {0.0780}}, {"b", 0.0783, {}, {0.0783}}}, 0.0785, "Step time");
        QCOMPARE(labelsOf(plot), QStringList{"one device"});
        QVERIFY(plot.plot()->xAxis->range().upper > 78.5);
    }

    void barsOfWhatDoesNotFitAreNotDrawn() {
        StandingPlot plot;
        plot.setBars({{"fits", 2, {}, {1, 3}, 2}, {"one", 500, 400, {1}, 3}, {"none", 1e6, {}, {}, 2}}, {},
                     "Step time");
        QCOMPARE(labelsOf(plot), QStringList({"1 of 3 fit", "does not fit"}));
        auto* means = qobject_cast<QCPGraph*>(plot.plot()->plottable(0));
        QCOMPARE(means->data()->size(), 1);
        QCOMPARE(means->data()->at(0)->value, 2.0);
        QVERIFY(plot.plot()->xAxis->range().upper < 4);
    }
};

QTEST_MAIN(TestStandingPlot)
#include "tst_standing_plot.moc"
