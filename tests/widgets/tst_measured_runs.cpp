// SPDX-License-Identifier: MIT
// Measured runs in the timeline, the table of ops and the plot of ops.
#include <algorithm>

#include <QAbstractItemModelTester>
#include <QHelpEvent>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>

#include "tests/support/graphs.hpp"
#include "tests/support/plots.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/measured_plot.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/palette.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;

namespace {

using Data = std::shared_ptr<const TimelineData>;

/// Eight ops of 1 ms on two GPUs, the first half on the first.
Data simulated() {
    const auto problem = test::problem(test::chain(8, 1e9, 1'000'000), test::uniform_machine(2));
    Placement placement(problem->groups, 0);
    for (GroupId group = problem->groups / 2; group < problem->groups; ++group) placement[group] = 1;
    Trace trace;
    const Outcome outcome = Simulator(problem).run(placement, trace);
    return TimelineData::build(problem, std::move(trace), outcome);
}

/// The simulation `factor` times as long, with op1 ten times as long as that and op6 a tenth.
NamedRun measuredRun(const Data& data, int id, const QString& name, double factor) {
    auto run = std::make_shared<MeasuredRun>();
    run->name = name.toStdString();
    double late_s = 0;
    std::vector<Span> spans = data->trace.spans;
    std::ranges::sort(spans, {}, &Span::start_s);
    for (Span span : spans) {
        const double length_s = (span.end_s - span.start_s) * factor;
        const bool isOp = span.kind == Span::Kind::op;
        const double times = isOp && span.op == 1 ? 10 : isOp && span.op == 6 ? 0.1 : 1;
        span.start_s = span.start_s * factor + late_s;
        span.end_s = span.start_s + length_s * times;
        late_s += length_s * (times - 1);
        run->trace.spans.push_back(span);
    }
    run->trace.memory = {{0, 0, 1e9}, {0, 0.002, 3e9}};
    run->step_times_s = {run->trace.spans.back().end_s};
    NamedRun result{id, name, run, measuredTimeline(data->problem, *run)};
    return result;
}

std::shared_ptr<const MeasuredRuns> measured(const Data& data, int count = 1) {
    std::vector<NamedRun> runs;
    for (int i = 0; i < count; ++i)
        runs.push_back(measuredRun(data, i + 1, QStringLiteral("rank%1").arg(i), 1 + i));
    return MeasuredRuns::build(data, std::move(runs));
}

std::uint32_t spanOf(const TimelineData& data, OpId op) {
    const auto at = std::ranges::find_if(
        data.trace.spans, [&](const Span& span) { return span.kind == Span::Kind::op && span.op == op; });
    return static_cast<std::uint32_t>(at - data.trace.spans.begin());
}

int colored(const QImage& image, const QRect& area, const QColor& color) {
    int count = 0;
    for (int y = area.top(); y <= area.bottom(); ++y) {
        for (int x = area.left(); x <= area.right(); ++x)
            count += image.rect().contains(x, y) && image.pixelColor(x, y) == color;
    }
    return count;
}

/// The pixels in which a difference is marked below a block.
QRect markBelow(const QRectF& block) {
    return QRect(static_cast<int>(block.left()) + 1, static_cast<int>(block.bottom()),
                 static_cast<int>(block.width()) - 2, 3);
}

}  // namespace

class TestMeasuredRuns : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void differencesAreListedByLane() {
        const Data data = simulated();
        const auto runs = measured(data);
        const MeasuredRuns::Run& run = runs->runs.front();
        QCOMPARE(run.longer.size(), run.of.timeline->lanes.size());
        QCOMPARE(run.longer[0], std::vector<std::uint32_t>{spanOf(*run.of.timeline, 1)});
        QCOMPARE(run.shorter[1], std::vector<std::uint32_t>{spanOf(*run.of.timeline, 6)});
        QVERIFY(run.longer[1].empty() && run.shorter[0].empty());
        QCOMPARE(runs->all.typical_factor, 1.0);
        QVERIFY(measuredText(runs->all, *data->problem, 1).contains("Marked as longer"));
        QVERIFY(measuredText(runs->all, *data->problem, 6).contains("Marked as shorter"));
        QVERIFY(!measuredText(runs->all, *data->problem, 0).contains("Marked"));
        QCOMPARE(&runs->comparison(1), &run.comparison);
        QCOMPARE(&runs->comparison(99), &runs->all);
    }

    void stripsAreBelowWithMarks_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void stripsAreBelowWithMarks() {
        QFETCH(bool, dark);
        const Data data = simulated();
        TimelineView view;
        if (dark) view.setPalette(test::darkPalette());
        test::showAt(view, {1000, 420});
        view.setData(data);
        const double before = view.laneRect(0).height();
        const auto runs = measured(data, 2);
        view.setMeasured(runs);
        const TimelineData& first = *runs->runs[0].of.timeline;
        const TimelineData& second = *runs->runs[1].of.timeline;
        QVERIFY(view.laneRect(0).height() >= before);
        for (OpId op = 0; op < 8; ++op) {
            const QRectF bar = view.spanRect(spanOf(*data, op));
            const QRectF upper = view.measuredRect(0, spanOf(first, op));
            const QRectF lower = view.measuredRect(1, spanOf(second, op));
            QVERIFY(upper.top() > bar.bottom() && lower.top() > upper.bottom());
            QVERIFY(view.laneRect(op < 4 ? 0 : 1).contains(lower));
            QVERIFY(qFuzzyCompare(lower.left() - view.axis().left, 2 * (upper.left() - view.axis().left)) ||
                    op == 0);
        }
        // All of the longest run is on the axis.
        QCOMPARE(view.axis().end_s, second.outcome.total_time_s);
        const QImage image = view.grab().toImage();
        const QRectF longer = view.measuredRect(0, spanOf(first, 1)),
                     shorter = view.measuredRect(1, spanOf(second, 6)),
                     usual = view.measuredRect(0, spanOf(first, 2));
        const QColor warning = warningColor(view.palette()), teal = shorterColor(view.palette());
        QVERIFY(colored(image, markBelow(longer), warning) > longer.width() * 2);
        QVERIFY(colored(image, QRect(shorter.left(), shorter.bottom(), 3, 3), teal) > 0);
        QCOMPARE(colored(image, markBelow(usual), warning) + colored(image, markBelow(usual), teal), 0);
        // The colours are those of the devices.
        QCOMPARE(image.pixelColor(usual.center().toPoint()),
                 image.pixelColor(view.spanRect(spanOf(*data, 2)).center().toPoint()));
        // Without them all is as before.
        view.setMeasured(nullptr);
        QCOMPARE(view.laneRect(0).height(), before);
        QCOMPARE(view.axis().end_s, data->outcome.total_time_s);
    }

    void anOverlayOutlinesOverTheBars() {
        const Data data = simulated();
        TimelineView view;
        test::showAt(view, {1000, 300});
        view.setData(data);
        const double height = view.laneRect(1).height();
        const QImage plain = view.grab().toImage();
        const auto runs = measured(data);
        view.setMeasuredLayout(MeasuredLayout::overlay);
        view.setMeasured(runs);
        const TimelineData& run = *runs->runs.front().of.timeline;
        const QRectF outline = view.measuredRect(0, spanOf(run, 1));
        QCOMPARE(outline.top(), view.spanRect(spanOf(*data, 1)).top());
        const QImage image = view.grab().toImage();
        const QColor line = view.palette().color(QPalette::Text);
        const auto linePixels = [&](const QImage& of) {
            return colored(of, QRect(outline.left() + 8, outline.top(), outline.width() - 16, 3), line);
        };
        QVERIFY(linePixels(image) > outline.width() / 2);
        QVERIFY(linePixels(plain) < outline.width() / 10);
        view.setMeasuredLayout(MeasuredLayout::off);
        QVERIFY(view.measuredRect(0, 0).isNull());
        QCOMPARE(view.grab().toImage(), plain);
        QCOMPARE(view.laneRect(1).height(), height);
    }

    void hoverSelectionAndKeysAreShared() {
        const Data data = simulated();
        TimelineView view;
        test::showAt(view, {1000, 420});
        view.setData(data);
        const auto runs = measured(data);
        view.setMeasured(runs);
        const TimelineData& run = *runs->runs.front().of.timeline;
        QSignalSpy hovered(&view, &OpView::opHovered), selected(&view, &OpView::selectionEdited);
        const QPoint at = view.measuredRect(0, spanOf(run, 2)).center().toPoint();
        QTest::mouseMove(&view, at);
        QCOMPARE(hovered.last().at(0).value<OpId>(), OpId{2});
        QTest::mouseClick(&view, Qt::LeftButton, {}, at);
        QCOMPARE(selected.last().at(0).value<OpList>(), OpList{2});
        // Keys go on in the strip of the clicked span.
        QTest::keyClick(&view, Qt::Key_Period);
        QCOMPARE(selected.last().at(0).value<OpList>(), OpList{3});
        QTest::keyClick(&view, Qt::Key_Comma);
        QTest::keyClick(&view, Qt::Key_Comma);
        QCOMPARE(selected.last().at(0).value<OpList>(), OpList{1});
        // The selection is outlined in both strips.
        view.setSelection({});
        const QImage without = view.grab().toImage();
        view.setSelection({3});
        const QImage with = view.grab().toImage();
        for (const QRectF& block : {view.spanRect(spanOf(*data, 3)), view.measuredRect(0, spanOf(run, 3))}) {
            // Outside the block, which keeps its colour.
            const QPoint edge = block.topLeft().toPoint() + QPoint(3, -1);
            QVERIFY(with.pixelColor(edge) != without.pixelColor(edge));
        }
        QHelpEvent ask(QEvent::ToolTip, at, view.mapToGlobal(at));
        QCoreApplication::sendEvent(&view, &ask);
        QVERIFY2(QToolTip::text().contains("Measured in: rank0") && !QToolTip::text().contains("queue"),
                 qPrintable(QToolTip::text()));
        // A drag of a measured block moves its op.
        QSignalSpy dragged(&view, &OpView::opDragStarted);
        QTest::mousePress(&view, Qt::LeftButton, {}, at);
        for (const int y : {6, 20, 40}) QTest::mouseMove(&view, at + QPoint(0, y));
        QTest::mouseRelease(&view, Qt::LeftButton, {}, at + QPoint(0, 40));
        QCOMPARE(dragged.count(), 1);
        QCOMPARE(dragged.first().at(0).value<OpList>(), OpList{2});
    }

    void runsOfAnotherProblemAreIgnored() {
        const Data data = simulated(), other = simulated();
        TimelineView view;
        test::showAt(view, {800, 300});
        view.setData(data);
        const QImage before = view.grab().toImage();
        view.setMeasured(measured(other, 2));
        QCOMPARE(view.grab().toImage(), before);
        // The other way round: new data before its runs.
        const auto runs = measured(data, 2);
        view.setMeasured(runs);
        const QPoint at = view.measuredRect(1, 0).center().toPoint();
        QTest::mouseMove(&view, at);
        QTest::mouseClick(&view, Qt::LeftButton, {}, at);
        view.setData(other);
        QTest::keyClick(&view, Qt::Key_Period);
        QTest::mouseMove(&view, at);
        view.grab();
        view.setMeasured(measured(other));
        QTest::keyClick(&view, Qt::Key_Period);
        view.grab();
    }

    void theTableHasTimesAndErrors() {
        const Data data = simulated();
        OpsView view;
        const QAbstractItemModelTester tester(view.ops(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        test::showAt(view, {600, 300});
        std::vector<DeviceId> devices(data->problem->ops, 0);
        view.show(data->problem, devices, nullptr, 0);
        QVERIFY(view.isColumnHidden(OpsModel::Measured) && view.isColumnHidden(OpsModel::Error));
        QCOMPARE(view.model()->rowCount(), 8);
        const auto cell = [&](int row, int column) {
            return view.model()->index(row, column).data().toString();
        };
        QCOMPARE(cell(1, OpsModel::Name), QStringLiteral("op1"));
        QCOMPARE(cell(1, OpsModel::Device), QStringLiteral("gpu:0"));
        QSignalSpy edited(&view, &OpsView::selectionEdited);
        view.setSelection({3, 5});
        QCOMPARE(view.selectionModel()->selectedRows().size(), 2);
        view.show(data->problem, devices, measured(data), 0);
        QVERIFY(!view.isColumnHidden(OpsModel::Measured) && !view.isColumnHidden(OpsModel::Error));
        // The same rows keep their selection, and nothing of this was the user.
        QCOMPARE(view.selectionModel()->selectedRows().size(), 2);
        QCOMPARE(edited.count(), 0);
        // Relative to what was measured.
        QCOMPARE(cell(1, OpsModel::Error), QStringLiteral("−90 %"));
        QCOMPARE(cell(6, OpsModel::Error), QStringLiteral("+900 %"));
        QCOMPARE(cell(0, OpsModel::Error), QStringLiteral("+0.0 %"));
        view.sortByColumn(OpsModel::Error, Qt::DescendingOrder);
        QCOMPARE(cell(0, OpsModel::Name), QStringLiteral("op6"));
        QCOMPARE(cell(1, OpsModel::Name), QStringLiteral("op1"));
        QSignalSpy activated(&view, &OpsView::opActivated);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {},
                          view.visualRect(view.model()->index(0, 0)).center());
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{6});
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(activated.last().at(0).value<OpId>(), OpId{6});
        // Another network.
        const auto other = test::problem(test::chain(3), test::uniform_machine(1));
        const int before = static_cast<int>(edited.count());
        view.show(other, std::vector<DeviceId>(3, 0), nullptr, 0);
        QCOMPARE(view.model()->rowCount(), 3);
        QCOMPARE(edited.count(), before);
        QVERIFY(view.isColumnHidden(OpsModel::Error));
    }

    void thePlotHasADotForEachOp() {
        const Data data = simulated();
        const auto runs = measured(data);
        MeasuredPlot plot;
        test::showAt(plot, {420, 360});
        plot.setData(data->problem, runs->all);
        QCOMPARE(plot.plot()->xAxis->scaleType(), QCPAxis::stLogarithmic);
        QCOMPARE(plot.plot()->xAxis->range(), plot.plot()->yAxis->range());
        QCOMPARE(test::dataOf(*plot.plot(), 0).size() + test::dataOf(*plot.plot(), 1).size(), 8);
        // A graph for each device in its colour, and one for the selection.
        QCOMPARE(plot.plot()->graphCount(), 3);
        QCOMPARE(plot.plot()->graph(1)->pen().color(), deviceColor(*data->problem->machine, 1));
        const QPointF slow = *plot.positionOf(1), usual = *plot.positionOf(0);
        QVERIFY(slow.y() < usual.y());
        QSignalSpy selected(&plot, &MeasuredPlot::selectionEdited);
        QTest::mouseClick(plot.plot(), Qt::LeftButton, {}, slow.toPoint());
        QCOMPARE(selected.last().at(0).value<OpList>(), OpList{1});
        plot.setSelection({1});
        QCOMPARE(test::dataOf(*plot.plot(), 2).size(), 1);
        QTest::mouseMove(plot.plot(), slow.toPoint());
        QVERIFY2(QToolTip::text().contains("op1 on gpu:0") && QToolTip::text().contains("10.0 ×"),
                 qPrintable(QToolTip::text()));
        // A double-click beside all dots fits the axes and selects nothing; a click clears the selection.
        const QRect axes = plot.plot()->axisRect()->rect();
        const QPoint ground = axes.bottomRight() - QPoint(15, 15);
        const auto selections = selected.count();
        QTest::mouseClick(plot.plot(), Qt::LeftButton, {}, ground);
        QTest::mouseDClick(plot.plot(), Qt::LeftButton, {}, ground);
        QTest::mouseRelease(plot.plot(), Qt::LeftButton, {}, ground);
        QCOMPARE(selected.count(), selections);
        QTest::mouseClick(plot.plot(), Qt::LeftButton, {}, ground);
        QTRY_COMPARE(selected.count(), selections + 1);
        QCOMPARE(selected.last().at(0).value<OpList>(), OpList());
        // A drag pans and selects nothing.
        const auto before = selected.count();
        const QPoint middle = plot.plot()->rect().center();
        QTest::mousePress(plot.plot(), Qt::LeftButton, {}, middle);
        QTest::mouseMove(plot.plot(), middle + QPoint(60, 10));
        QTest::mouseRelease(plot.plot(), Qt::LeftButton, {}, middle + QPoint(60, 10));
        QCOMPARE(selected.count(), before);
        // Nothing to plot.
        plot.setData(nullptr, {});
        QVERIFY(!plot.positionOf(1));
    }

    void thePanelComparesOneRunOrAll() {
        const Data data = simulated();
        MeasuredPanel panel;
        test::showAt(panel, {500, 300});
        QSignalSpy chosen(&panel, &MeasuredPanel::runChosen);
        panel.setMeasured(measured(data, 2));
        QCOMPARE(panel.chosenRun(), 0);
        panel.setMeasured(measured(data, 1));
        QCOMPARE(panel.chosenRun(), 1);
        QCOMPARE(chosen.last().at(0).toInt(), 1);
        // The choice stays for when its run is back.
        panel.setMeasured(nullptr);
        QCOMPARE(panel.chosenRun(), 1);
        panel.setMeasured(measured(data, 2));
        QCOMPARE(panel.chosenRun(), 1);
        panel.grab();
    }
};

QTEST_MAIN(TestMeasuredRuns)
#include "tst_measured_runs.moc"
