// SPDX-License-Identifier: MIT
// Batches, areas with their sums, idle gaps, pinned rows and the handle of a block in the timeline.
#include <algorithm>

#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QTextBrowser>
#include <QToolTip>

#include "tests/support/graphs.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_sums.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;

namespace {

using Data = std::shared_ptr<const TimelineData>;

/// A chain of ops that alternate between the devices of a machine.
Data alternating(std::uint32_t devices, SimulationOptions options = {}, std::uint32_t used = 2) {
    const auto problem = test::problem(test::chain(4, 1e9, 1'000'000), test::uniform_machine(devices));
    Placement placement(problem->groups);
    for (GroupId group = 0; group < problem->groups; ++group)
        placement[group] = static_cast<DeviceId>(group % used);
    Trace trace;
    const Outcome outcome = Simulator(problem, options).run(placement, trace);
    return TimelineData::build(problem, std::move(trace), outcome);
}

struct AreaView : TimelineView {
    explicit AreaView(Data timeline, QSize size = {900, 600}) : data(std::move(timeline)) {
        resize(size);
        setData(data);
        show();
        if (!QTest::qWaitForWindowExposed(this)) qFatal("The window did not appear");
    }
    QTextBrowser* sums() const { return findChild<QTextBrowser*>(QStringLiteral("timelineSums")); }
    std::uint32_t firstOpOn(DeviceId device) const { return data->lanesOf(device).front().spans.front(); }
    int laneY(DeviceId device) const { return static_cast<int>(laneRect(device).top()) + 8; }
    QString toolTipAt(QPoint position) {
        QToolTip::hideText();
        QHelpEvent event(QEvent::ToolTip, position, mapToGlobal(position));
        QCoreApplication::sendEvent(this, &event);
        return QToolTip::text();
    }

    Data data;
};

void moveHeldTo(QWidget& widget, QPoint position) {
    QMouseEvent event(QEvent::MouseMove, position, widget.mapToGlobal(position), Qt::NoButton, Qt::LeftButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(&widget, &event);
}

void drag(QWidget& widget, QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(&widget, Qt::LeftButton, modifiers, from);
    moveHeldTo(widget, (from + to) / 2);
    moveHeldTo(widget, to);
    QTest::mouseRelease(&widget, Qt::LeftButton, modifiers, to);
}

/// The colour of a block, right of its name.
QColor colorOf(AreaView& view, std::uint32_t span) {
    const QRectF block = view.spanRect(span);
    return view.grab().toImage().pixelColor(static_cast<int>(block.right()) - 4,
                                            static_cast<int>(block.top()) + 2);
}

}  // namespace

class TimelineAreaTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { qRegisterMetaType<OpList>("placewright::OpList"); }

    void batchesDifferInShadeAndOneIsMarked() {
        AreaView view(alternating(2, {.batches = 4, .in_flight = 1}));
        const Data& data = view.data;
        QCOMPARE(data->batches.size(), 4U);
        const auto spanOf = [&](OpId op, std::uint32_t batch) {
            const auto at = std::ranges::find_if(data->trace.spans, [&](const Span& span) {
                return span.kind == Span::Kind::op && span.op == op && span.batch == batch;
            });
            return static_cast<std::uint32_t>(at - data->trace.spans.begin());
        };
        const QColor first = colorOf(view, spanOf(0, 0)), second = colorOf(view, spanOf(0, 1)),
                     third = colorOf(view, spanOf(0, 2)), fourth = colorOf(view, spanOf(0, 3));
        QVERIFY(first != second && second != third && first != third);
        QCOMPARE(fourth, first);
        // Batches that do not overlap take the step time each: the mark is as wide as one.
        const QRectF mark = view.batchRect();
        QVERIFY(!mark.isNull());
        const double width = data->outcome.step_time_s / view.axis().secondsPerPixel();
        QVERIFY(std::abs(mark.width() - width) < 1.5);
        QVERIFY(std::ranges::any_of(data->batches, [&](const TimelineData::Batch& batch) {
            return std::abs(view.axis().toX(batch.start_s) - mark.left()) < 1.5;
        }));
        const QString tip = view.toolTipAt(mark.center().toPoint());
        QVERIFY2(tip.contains(secondsText(data->outcome.step_time_s)) &&
                     tip.contains(secondsText(data->outcome.total_time_s)),
                 qPrintable(tip));
        QVERIFY(AreaView(alternating(2)).batchRect().isNull());
    }

    void dragOverTheRulerSumsUpASpanOfTime() {
        AreaView view(alternating(3));
        const TimeAxis axis = view.axis();
        drag(view, {300, 6}, {600, 6});
        QCOMPARE(view.axis(), axis);  // nothing panned
        QVERIFY(view.sums()->isVisible());
        const QString text = view.sums()->toPlainText();
        QVERIFY2(text.contains(secondsText(axis.toTime(600) - axis.toTime(300))), qPrintable(text));
        for (const char* word : {"compute", "idle", "gpu:0", "gpu:2", "By kind of op"})
            QVERIFY2(text.contains(QLatin1String(word)), qPrintable(text));
        QTest::keyClick(&view, Qt::Key_Escape);
        QVERIFY(!view.sums()->isVisible());
        // A click on the ruler selects nothing.
        QTest::mouseClick(&view, Qt::LeftButton, {}, {400, 6});
        QVERIFY(!view.sums()->isVisible());
    }

    void shiftDragOverRowsTakesTheseRowsOnly() {
        AreaView view(alternating(3));
        QSignalSpy edited(&view, &TimelineView::selectionEdited),
            started(&view, &TimelineView::opDragStarted);
        const int right = static_cast<int>(view.axis().left + view.axis().width) - 3;
        drag(view, {static_cast<int>(view.axis().left) + 1, view.laneY(1)}, {right, view.laneY(1) + 4},
             Qt::ShiftModifier);
        const QString text = view.sums()->toPlainText();
        QVERIFY2(text.contains(QStringLiteral("gpu:1")) && !text.contains(QStringLiteral("gpu:0")),
                 qPrintable(text));
        QCOMPARE(started.size(), 0);
        // The ops inside can be selected.
        Q_EMIT view.sums()->anchorClicked(QUrl(QStringLiteral("select")));
        QCOMPARE(edited.size(), 1);
        const auto ops = edited.first().at(0).value<OpList>();
        QVERIFY(!ops.empty());
        for (const OpId op : ops) {
            const auto& spans = view.data->op_spans[op];
            QVERIFY(std::ranges::any_of(spans, [&](std::uint32_t span) {
                return view.data->trace.spans[span].kind == Span::Kind::op &&
                       view.data->trace.spans[span].resource == 1;
            }));
        }
    }

    void sumsCutSpansAtTheEdges() {
        const Data data = alternating(2);
        const double total_s = data->outcome.total_time_s;
        const TimelineSums all = TimelineSums::of(*data, 0, total_s, {0, 1}, {});
        QVERIFY(std::abs(all.compute_s - data->outcome.device_busy_s[0] - data->outcome.device_busy_s[1]) <
                1e-12);
        QVERIFY(std::abs(all.compute_s + all.idle_s() - 2 * total_s) < 1e-12);
        const TimelineSums left = TimelineSums::of(*data, 0, total_s / 3, {0, 1}, {}),
                           right = TimelineSums::of(*data, total_s / 3, total_s, {0, 1}, {});
        QVERIFY(std::abs(left.compute_s + right.compute_s - all.compute_s) < 1e-12);
        double kinds_s = 0;
        for (const TimelineSums::Kind& kind : all.kinds) kinds_s += kind.seconds;
        QVERIFY(std::abs(kinds_s - all.compute_s) < 1e-12);
    }

    void gapsSayWhatTheDeviceWaitsFor() {
        const Data data = alternating(3);
        // gpu:1 waits for the output of the first op: until it is computed, then until it has arrived.
        const auto gaps = idleGaps(*data, 1);
        QVERIFY(!gaps.empty());
        const IdleGap& first = gaps.front();
        QCOMPARE(first.start_s, 0.0);
        QVERIFY(first.cause == IdleGap::Cause::input);
        const Span& transfer = data->trace.spans[first.by];
        QVERIFY(transfer.kind == Span::Kind::transfer && transfer.from == 0 && transfer.to == 1);
        QVERIFY(std::abs(first.compute_s - data->trace.spans[data->lanesOf(0).front().spans.front()].end_s) <
                1e-12);
        QVERIFY(first.transfer_s > 0);
        QVERIFY(std::abs(first.compute_s + first.queue_s + first.transfer_s - first.duration_s()) < 1e-12);
        // Gaps and spans fill the step.
        for (const DeviceId device : {0, 1, 2}) {
            double idle_s = 0;
            for (const IdleGap& gap : idleGaps(*data, device)) {
                idle_s += gap.duration_s();
                QCOMPARE(idleGapAt(*data, device, (gap.start_s + gap.end_s) / 2), std::optional(gap));
            }
            QVERIFY(std::abs(idle_s + data->active_s[device] - data->outcome.total_time_s) < 1e-12);
        }
        QCOMPARE(idleGaps(*data, 2).size(), 1U);
        QVERIFY(idleGaps(*data, 2).front().cause == IdleGap::Cause::nothing);
        QVERIFY(!idleGapAt(*data, 0, 0.0));  // it computes
    }

    void gapsOfEagerRunsWaitForTheHost() {
        const Data data = alternating(2, {.runtime = Runtime::eager, .host_time_s = 0.5}, 1);
        QVERIFY(std::ranges::any_of(idleGaps(*data, 0),
                                    [](const IdleGap& gap) { return gap.cause == IdleGap::Cause::host; }));
        QVERIFY(idleText(*data, 0).contains(QStringLiteral("for the host")));
    }

    void aGapTellsInToolTipAndOnAClick() {
        AreaView view(alternating(3));
        const QPoint gap(static_cast<int>(view.spanRect(view.firstOpOn(1)).left()) - 12, view.laneY(1));
        const QString tip = view.toolTipAt(gap);
        QVERIFY2(tip.contains(QStringLiteral("gpu:1 is idle for")) &&
                     tip.contains(QStringLiteral("waits for the transfer of")) &&
                     tip.contains(QStringLiteral("from gpu:0")),
                 qPrintable(tip));
        QSignalSpy told(&view, &TimelineView::gapActivated);
        const QImage before = view.grab().toImage();
        QTest::mouseClick(&view, Qt::LeftButton, {}, gap);
        QCOMPARE(told.size(), 1);
        QVERIFY(told.first().at(0).toString().contains(QStringLiteral("<a href")));
        QVERIFY(view.grab().toImage() != before);  // the gap is outlined
        // The name of a device tells how long it is idle, and why.
        const QString sums = view.toolTipAt({10, view.laneY(1)});
        QVERIFY2(sums.contains(QStringLiteral("Idle for")) && sums.contains(QStringLiteral("for transfers")),
                 qPrintable(sums));
    }

    void pinnedRowsStayWhileOthersScroll() {
        AreaView view(alternating(8), {700, 200});
        auto* scroll = view.findChild<QScrollBar*>();
        QVERIFY(scroll->isVisible());
        const QRectF below = view.laneRect(5);
        // By the pin beside the name.
        QTest::mouseMove(&view, {20, view.laneY(0)});
        const int pin = static_cast<int>(view.axis().left) - 10;
        scroll->setValue(scroll->maximum());
        const int y = view.laneY(7);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {pin, y});
        const QRectF pinned = view.laneRect(7);
        QVERIFY(pinned.top() < 60);
        scroll->setValue(0);
        QCOMPARE(view.laneRect(7), pinned);
        QCOMPARE(view.deviceAt(view.mapToGlobal(pinned.center().toPoint())), std::optional<DeviceId>(7));
        QVERIFY(view.laneRect(0).top() >= pinned.bottom());
        QVERIFY(view.laneRect(5).top() > below.top());
        // A row that is scrolled under the pinned one is not hit there.
        scroll->setValue(static_cast<int>(view.laneRect(0).height()));
        QCOMPARE(view.deviceAt(view.mapToGlobal(pinned.center().toPoint())), std::optional<DeviceId>(7));
        // By the menu.
        const QPoint label = {20, static_cast<int>(pinned.center().y())};
        QContextMenuEvent event(QContextMenuEvent::Mouse, label, view.mapToGlobal(label));
        QCoreApplication::sendEvent(&view, &event);
        auto* menu = view.findChild<QMenu*>();
        QVERIFY(menu != nullptr);
        QVERIFY2(menu->actions().front()->text().contains(QStringLiteral("Unpin")),
                 qPrintable(menu->actions().front()->text()));
        menu->actions().front()->trigger();
        menu->close();
        QVERIFY(view.laneRect(7).top() > pinned.bottom());
    }

    void theHandleOfABlockDragsItInAnyDirection() {
        AreaView view(alternating(2));
        QSignalSpy started(&view, &TimelineView::opDragStarted);
        const std::uint32_t span = view.firstOpOn(0);
        const QRectF handle = view.handleRect(span);
        QVERIFY(!handle.isNull());
        QTest::mouseMove(&view, handle.center().toPoint());
        QCOMPARE(view.cursor().shape(), Qt::OpenHandCursor);
        drag(view, handle.center().toPoint(), handle.center().toPoint() + QPoint(60, 0));
        QCOMPARE(started.size(), 1);
        // Beside it a horizontal drag pans, as on free space.
        const QPoint beside = handle.center().toPoint() + QPoint(15, 0);
        QTest::mouseMove(&view, beside);
        QCOMPARE(view.cursor().shape(), Qt::ArrowCursor);
        drag(view, beside, beside + QPoint(60, 0));
        QCOMPARE(started.size(), 1);
        QTest::mouseMove(&view, {400, 6});
        QCOMPARE(view.cursor().shape(), Qt::CrossCursor);
    }

    void searchDimsTheRestAndMarksTheRuler() {
        AreaView view(alternating(2));
        const std::uint32_t found = view.firstOpOn(0), other = view.firstOpOn(1);
        const QColor before = colorOf(view, found), otherBefore = colorOf(view, other);
        view.setMatches(OpList{view.data->forwardOf(view.data->trace.spans[found])});
        QCOMPARE(colorOf(view, found), before);
        QVERIFY(colorOf(view, other) != otherBefore);
        const QColor tick =
            view.grab().toImage().pixelColor(static_cast<int>(view.spanRect(found).center().x()),
                                             static_cast<int>(view.laneRect(0).top()) - 3);
        QCOMPARE(tick, view.palette().color(QPalette::Highlight));
        view.setMatches(std::nullopt);
        QCOMPARE(colorOf(view, other), otherBefore);
    }

    void selectionKeepsTheColourOfTheDevice() {
        AreaView view(alternating(2));
        const std::uint32_t span = view.firstOpOn(0);
        const QColor before = colorOf(view, span);
        const int left = static_cast<int>(view.spanRect(span).left()) + 1;
        view.setSelection({view.data->forwardOf(view.data->trace.spans[span])});
        QCOMPARE(colorOf(view, span), before);
        // The outline lies above the block.
        QCOMPARE(view.grab().toImage().pixelColor(left + 20, static_cast<int>(view.spanRect(span).top()) - 1),
                 view.palette().color(QPalette::Text));
    }

    void zoomIsToldAndSetAgain() {
        AreaView view(alternating(2));
        const TimelineZoom whole = view.zoom();
        QVERIFY(whole.fitted);
        QSignalSpy changed(&view, &TimelineView::zoomChanged);
        QTest::keyClick(&view, Qt::Key_W);
        QVERIFY(!changed.isEmpty());
        const TimelineZoom near = view.zoom();
        QVERIFY(near != whole);
        view.setZoom(whole);
        QCOMPARE(view.zoom(), whole);
        view.setZoom(near);
        QCOMPARE(view.zoom(), near);
    }

    void revealPansWithoutAZoom() {
        AreaView view(alternating(2));
        view.setZoom({0, view.data->outcome.total_time_s / 20, false, 0});
        const TimelineZoom before = view.zoom();
        view.reveal(3);
        QVERIFY(view.zoom().start_s > before.start_s);
        QVERIFY(std::abs((view.zoom().end_s - view.zoom().start_s) - (before.end_s - before.start_s)) <
                1e-12);
        const TimelineZoom there = view.zoom();
        view.reveal(3);
        QCOMPARE(view.zoom(), there);
    }
};

QTEST_MAIN(TimelineAreaTest)
#include "tst_timeline_area.moc"
