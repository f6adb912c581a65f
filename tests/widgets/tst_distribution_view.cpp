// SPDX-License-Identifier: MIT
#include <cmath>

#include <QApplication>
#include <QLabel>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/support/graphs.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

QPoint pixelOf(const DistributionMap& map, int x, int y) {
    return {qRound(map.plot()->xAxis->coordToPixel(x)), qRound(map.plot()->yAxis->coordToPixel(y))};
}

/// A training step of forward ops "op0" to "op5" on gpu:0 and gpu:1.
std::shared_ptr<const Problem> sixOps() {
    return test::problem(test::chain(6, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2));
}

/// Distribution over two devices; `second` [group]: probability of the second device.
std::shared_ptr<const DistributionView> distribution(const std::vector<double>& second,
                                                     double entropy = 0.5) {
    auto view = std::make_shared<DistributionView>();
    view->devices = {0, 1};
    for (const double probability : second)
        view->probability.insert(view->probability.end(), {1 - probability, probability});
    view->entropy = entropy;
    view->largest_entropy = std::log(2);
    view->entropies = {{12, std::log(2)}, {24, 0.6}, {36, entropy}};
    return view;
}

}  // namespace

class TestDistributionView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theDistributionShowsHowLikelyEachGroupIsOnEachDevice() {
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), sixOps());
        map.plot()->replot();
        QCPColorMapData& cells = *qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->data();
        QCOMPARE(cells.keySize(), 6);
        QCOMPARE(cells.valueSize(), 2);
        QCOMPARE(cells.cell(1, 0), 0.8);
        QCOMPARE(cells.cell(3, 1), 0.95);
        QCOMPARE(map.plot()->yAxis->tickVectorLabels(), (QVector<QString>{"gpu:0", "gpu:1"}));
        QCOMPARE(
            map.findChild<QLabel*>("header")->text(),
            QStringLiteral("3 of 6 groups at least 90 % on one device · entropy 0.50 of 0.69 nats (72 %)"));
        map.setDistribution(distribution({1e-8, 0.2, 0.5, 0.95, 1, 0.7}, 1e-6), sixOps());
        QVERIFY(map.findChild<QLabel*>("header")->text().endsWith("entropy 0.00 of 0.69 nats (<0.1 %)"));
        map.plot()->replot();
        const auto brightness = [&](int x, int y) {
            return map.plot()
                ->grab(QRect(pixelOf(map, x, y), QSize(1, 1)))
                .toImage()
                .pixelColor(0, 0)
                .lightness();
        };
        QVERIFY2(brightness(4, 1) > brightness(2, 1) && brightness(2, 1) > brightness(0, 1),
                 "the likelier the brighter");
        // The curve of the entropy falls.
        const QCPGraph* entropy = map.plot()->graph(0);
        QCOMPARE(entropy->dataCount(), 3);
        QCOMPARE(entropy->keyAxis()->range().upper, 36.0);
        QVERIFY(entropy->valueAxis()->range().lower == 0 &&
                entropy->valueAxis()->range().upper > std::log(2));
    }

    void aClickSelectsTheOpsOfAGroup() {
        DistributionMap map;
        showAt(map, {600, 500});
        ProblemOptions options;
        options.grouping.rule = GroupingRule::merge;
        options.grouping.merge_groups = 2;
        const auto problem = test::problem(test::chain(6, 1e9, 1'000'000, Training::implicit),
                                           test::uniform_machine(2), options);
        map.setDistribution(distribution({0.3, 0.8}), problem);
        map.plot()->replot();
        QSignalSpy activated(&map, &DistributionMap::groupActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        QCOMPARE(activated.size(), 1);
        OpList expected;
        for (const OpId op : problem->grouping.members[1]) {
            if (op < 6) expected.push_back(op);
        }
        QVERIFY(!expected.empty() && expected.size() < 6);
        QCOMPARE(activated.takeFirst()[0].value<OpList>(), expected);
        // A click outside the map has no effect.
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, QPoint(3, 3));
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, QPoint(300, map.plot()->height() - 20));
        QCOMPARE(activated.size(), 0);
    }

    void theDistributionIsReachedByKeyboard() {
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), sixOps());
        map.plot()->replot();
        map.setFocus();
        QSignalSpy activated(&map, &DistributionMap::groupActivated);
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 0);
        QTest::keyClick(map.plot(), Qt::Key_Right);
        QCOMPARE(QToolTip::text(), QStringLiteral("op0\ngpu:0: 95 %\ngpu:1: 5.0 %"));
        QTest::keyClick(map.plot(), Qt::Key_Right);
        QCOMPARE(QToolTip::text(), QStringLiteral("op1\ngpu:0: 80 %\ngpu:1: 20 %"));
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.takeFirst()[0].value<OpList>(), OpList{1});
        for (int i = 0; i < 9; ++i) QTest::keyClick(map.plot(), Qt::Key_Right);
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.takeFirst()[0].value<OpList>(), OpList{5});
    }

    void hoveringAGroupShowsItsProbabilities() {
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), sixOps());
        map.plot()->replot();
        const QPoint at = pixelOf(map, 4, 1);
        QMouseEvent move(QEvent::MouseMove, at, map.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(map.plot(), &move);
        QCOMPARE(QToolTip::text(), QStringLiteral("op4\ngpu:0: 0 %\ngpu:1: 100 %"));
    }

    void namesInToolTipsAreNoMarkup() {
        GraphBuilder builder("markup", 1, Training::none);
        Op op;
        op.name = kMarkupName;
        op.kind = "relu";
        op.outputs = {make_tensor({1})};
        builder.add(op, {});
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.25}), test::problem(builder.build(), test::uniform_machine(2)));
        map.plot()->replot();
        const QPoint at = pixelOf(map, 0, 1);
        QMouseEvent move(QEvent::MouseMove, at, map.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(map.plot(), &move);
        QCOMPARE(readText(QToolTip::text()),
                 QString::fromUtf8(kMarkupName) + QStringLiteral("\ngpu:0: 75 %\ngpu:1: 25 %"));
    }

    void theDistributionIsZoomedAlongItsGroups() {
        DistributionMap map;
        showAt(map, {600, 500});
        const auto problem = sixOps();
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), problem);
        map.plot()->replot();
        const QCPRange all = map.plot()->xAxis->range(), devices = map.plot()->yAxis->range();
        QCOMPARE(all, QCPRange(-0.5, 5.5));
        const auto wheel = [&](int steps) {
            const QPoint at = pixelOf(map, 2, 0);
            QWheelEvent event(at, map.plot()->mapToGlobal(at), {}, QPoint(0, 120 * steps), Qt::NoButton, {},
                              Qt::NoScrollPhase, false);
            QApplication::sendEvent(map.plot(), &event);
        };
        wheel(1);
        const QCPRange zoomed = map.plot()->xAxis->range();
        QVERIFY(zoomed.size() < all.size() && zoomed.contains(2));
        QCOMPARE(map.plot()->yAxis->range(), devices);
        // An update during a search keeps the visible range.
        map.setDistribution(distribution({0.01, 0.1, 0.4, 0.99, 1, 0.9}), problem);
        QCOMPARE(map.plot()->xAxis->range(), zoomed);
        for (int i = 0; i < 30; ++i) wheel(1);
        QVERIFY(map.plot()->xAxis->range().size() >= 2);
        for (int i = 0; i < 60; ++i) wheel(-1);
        QCOMPARE(map.plot()->xAxis->range(), all);
        wheel(2);
        QTest::mouseDClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 2, 0));
        QCOMPARE(map.plot()->xAxis->range(), all);
        // Another problem is shown completely.
        wheel(2);
        map.setDistribution(distribution({0.1, 0.2, 0.3}),
                            test::problem(test::chain(3), test::uniform_machine(2)));
        QCOMPARE(map.plot()->xAxis->range(), QCPRange(-0.5, 2.5));
    }

    void withoutADistributionThePanelSaysWhatWouldFillIt() {
        DistributionMap map;
        showAt(map, {600, 500});
        auto* empty = map.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"Post"));
        map.setDistribution(distribution({0.3}), test::problem(test::chain(1), test::uniform_machine(2)));
        QVERIFY(!empty->isVisible() && map.plot()->isVisible());
        map.setDistribution(nullptr, nullptr);
        QVERIFY(empty->isVisible());
        QVERIFY(!map.findChild<QLabel*>("header")->isVisible());
    }
};

QTEST_MAIN(TestDistributionView)
#include "tst_distribution_view.moc"
