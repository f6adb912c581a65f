// SPDX-License-Identifier: MIT
#include <algorithm>

#include <QHelpEvent>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QTextBrowser>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/support/cpu_time.hpp"
#include "tests/support/graphs.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/selection_panel.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;

namespace {

using Data = std::shared_ptr<const TimelineData>;

Data simulate(const std::shared_ptr<const Problem>& problem, const Placement& placement,
              SimulationOptions options = {}) {
    Simulator simulator(problem, options);
    Trace trace;
    const Outcome outcome = simulator.run(placement, trace);
    return TimelineData::build(problem, std::move(trace), outcome);
}

/// Assigns the groups to the devices in turn.
Placement spread(const Problem& problem) {
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group)
        placement[group] = static_cast<DeviceId>(group % problem.devices);
    return placement;
}

/// A chain of nine ops with parameters, trained on three GPUs.
std::shared_ptr<const Problem> chainProblem(double memory_bytes = 1e12) {
    GraphBuilder builder("chain", 1, Training::implicit);
    for (int i = 0; i < 9; ++i) {
        Op op;
        op.name = "op" + std::to_string(i);
        op.kind = "linear";
        op.flops = 1e9;
        op.parameter_bytes = 500'000;
        op.outputs = {make_tensor({250'000})};
        builder.add(op, i > 0 ? std::vector{"op" + std::to_string(i - 1)} : std::vector<std::string>());
    }
    return test::problem(builder.build(), test::uniform_machine(3, memory_bytes));
}

/// Forward, backward and update spans, and transfers on the six channels.
Data chainData(double memory_bytes = 1e12) {
    const auto problem = chainProblem(memory_bytes);
    return simulate(problem, spread(*problem));
}

/// Three ops on a GPU that each wait for the host, which takes a second to issue one.
Data hostData() {
    const auto problem = test::problem(test::chain(3, 0.25e12, 0), test::uniform_machine(2));
    Trace trace;
    const Outcome outcome = Simulator(problem, {.runtime = Runtime::eager, .host_time_s = 0.5})
                                .run(Placement(problem->groups, 0), trace);
    return TimelineData::build(problem, std::move(trace), outcome);
}

/// `count` spans on the devices of a machine in turn, with idle time after every fifth; memory rises and
/// falls with each.
Data longData(std::size_t count) {
    const auto problem = test::problem(test::chain(1000), test::uniform_machine(8));
    Trace trace;
    Outcome outcome;
    outcome.device_busy_s.assign(8, 0);
    outcome.peak_bytes.assign(8, 2e9);
    outcome.resident_bytes.assign(8, 1e9);
    outcome.channel_busy_s.assign(problem->channels, 0);
    outcome.channel_bytes.assign(problem->channels, 0);
    outcome.channel_transfers.assign(problem->channels, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const auto device = static_cast<DeviceId>(i % 8);
        const double start_s = static_cast<double>(i / 8) * 1e-5;
        const auto op = static_cast<OpId>(i % 1000);
        trace.spans.push_back({Span::Kind::op, device, kInvalidDevice, kInvalidDevice, op, 0, 0.0, 0, start_s,
                               start_s, start_s + 0.8e-5});
        trace.memory.push_back({device, start_s, 1e9 + static_cast<double>(i * 7919 % 1000) * 1e6});
    }
    outcome.total_time_s = trace.spans.back().end_s;
    outcome.step_time_s = outcome.total_time_s;
    return TimelineData::build(problem, std::move(trace), outcome);
}

/// Two GPUs: on the first, "op0" and "op1" overlap on two streams and "op2" follows on the first stream; the
/// second runs only "op3".
Data streamData() {
    const auto problem = test::problem(test::chain(4), test::uniform_machine(2));
    Trace trace;
    const auto add = [&](DeviceId device, std::uint16_t stream, OpId op, double start_s, double end_s) {
        Span span;
        span.resource = device;
        span.stream = stream;
        span.op = op;
        span.start_s = start_s;
        span.end_s = end_s;
        trace.spans.push_back(span);
    };
    add(0, 1, 1, 0.2, 0.5);
    add(0, 0, 0, 0, 0.6);
    add(0, 0, 2, 0.6, 1);
    add(1, 0, 3, 0, 1);
    Outcome outcome;
    outcome.device_busy_s = {1, 1};
    outcome.peak_bytes = outcome.resident_bytes = {1e6, 1e6};
    outcome.channel_busy_s.assign(problem->channels, 0);
    outcome.channel_bytes = outcome.channel_busy_s;
    outcome.channel_transfers.assign(problem->channels, 0);
    outcome.total_time_s = outcome.step_time_s = 1;
    return TimelineData::build(problem, std::move(trace), outcome);
}

std::uint32_t spanOf(const TimelineData& data, OpId op) {
    const auto& spans = data.trace.spans;
    const auto at = std::ranges::find_if(
        spans, [&](const Span& span) { return span.kind == Span::Kind::op && span.op == op; });
    return static_cast<std::uint32_t>(at - spans.begin());
}

std::uint32_t firstTransfer(const TimelineData& data) {
    const auto at = std::ranges::find(data.trace.spans, Span::Kind::transfer, &Span::kind);
    return static_cast<std::uint32_t>(at - data.trace.spans.begin());
}

struct View : TimelineView {
    explicit View(Data timeline = chainData(), QSize size = {900, 600}) {
        resize(size);
        setData(std::move(timeline));
        show();
        if (!QTest::qWaitForWindowExposed(this)) qFatal("The window did not appear");
    }
    QPoint middle(std::uint32_t span) const { return spanRect(span).center().toPoint(); }
    /// A point in the chart's first lane without a span under it.
    QPoint empty() const {
        return {static_cast<int>(laneRect(0).right()) - 5, static_cast<int>(laneRect(0).bottom()) - 4};
    }
};

void wheel(QWidget& widget, QPoint position, QPoint delta, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(position, widget.mapToGlobal(position), {}, delta, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&widget, &event);
}

void moveHeld(QWidget& widget, QPoint position) {
    QMouseEvent event(QEvent::MouseMove, position, widget.mapToGlobal(position), Qt::NoButton, Qt::LeftButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(&widget, &event);
}

int differingPixels(const QImage& a, const QImage& b) {
    int differing = 0;
    for (int y = 0; y < a.height(); ++y) {
        for (int x = 0; x < a.width(); ++x) differing += a.pixel(x, y) != b.pixel(x, y);
    }
    return differing;
}

int differingPixelsIn(const QRectF& area, const QImage& a, const QImage& b) {
    return differingPixels(a.copy(area.toRect()), b.copy(area.toRect()));
}

}  // namespace

class TimelineViewTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { qRegisterMetaType<OpList>("placewright::OpList"); }

    // TimeAxis

    void axisMapsBothWays_data() {
        QTest::addColumn<TimeAxis>("axis");
        QTest::addColumn<double>("time_s");
        QTest::addColumn<double>("x");
        QTest::newRow("start") << TimeAxis{0, 1, 100, 800} << 0.0 << 100.0;
        QTest::newRow("end") << TimeAxis{0, 1, 100, 800} << 1.0 << 900.0;
        QTest::newRow("quarter") << TimeAxis{0, 1, 100, 800} << 0.25 << 300.0;
        QTest::newRow("zoomed") << TimeAxis{2, 4, 0, 100} << 3.0 << 50.0;
        QTest::newRow("outside") << TimeAxis{2, 4, 0, 100} << 0.0 << -100.0;
        QTest::newRow("nanoseconds") << TimeAxis{1e-3, 1e-3 + 1e-9, 0, 1000} << 1e-3 + 5e-10 << 500.0;
    }
    void axisMapsBothWays() {
        QFETCH(TimeAxis, axis);
        QFETCH(double, time_s);
        QFETCH(double, x);
        QVERIFY(std::abs(axis.toX(time_s) - x) < 1e-3);
        QVERIFY(std::abs(axis.toTime(x) - time_s) < 1e-12);
    }

    void axisZoomKeepsTheTimeUnderX_data() {
        QTest::addColumn<double>("factor");
        QTest::addColumn<double>("x");
        for (const double factor : {0.5, 1.25, 2.0, 1000.0}) {
            for (const double x : {100.0, 333.0, 900.0}) QTest::addRow("%g at %g", factor, x) << factor << x;
        }
    }
    void axisZoomKeepsTheTimeUnderX() {
        QFETCH(double, factor);
        QFETCH(double, x);
        TimeAxis axis{1, 3, 100, 800};
        const double time_s = axis.toTime(x);
        axis.zoom(factor, x);
        QCOMPARE(axis.toTime(x), time_s);
        QVERIFY(std::abs((axis.end_s - axis.start_s) * factor - 2) < 1e-9);
    }

    void axisPanMovesTheDrawingRight() {
        TimeAxis axis{1, 3, 100, 800};
        const double x = axis.toX(2);
        axis.pan(40);
        QCOMPARE(axis.toX(2), x + 40);
        QCOMPARE(axis.end_s - axis.start_s, 2.0);
    }

    void axisClamp_data() {
        QTest::addColumn<TimeAxis>("axis");
        QTest::addColumn<double>("start_s");
        QTest::addColumn<double>("end_s");
        QTest::newRow("inside") << TimeAxis{1, 2} << 1.0 << 2.0;
        QTest::newRow("before") << TimeAxis{-1, 1} << 0.0 << 2.0;
        QTest::newRow("after") << TimeAxis{9, 12} << 7.0 << 10.0;
        QTest::newRow("longer") << TimeAxis{-5, 100} << 0.0 << 10.0;
    }
    void axisClamp() {
        QFETCH(TimeAxis, axis);
        axis.clamp(10);
        QTEST(axis.start_s, "start_s");
        QTEST(axis.end_s, "end_s");
    }

    void ticks_data() {
        QTest::addColumn<double>("least_s");
        QTest::addColumn<double>("step_s");
        QTest::addColumn<double>("time_s");
        QTest::addColumn<double>("end_s");
        QTest::addColumn<QString>("text");
        QTest::newRow("milliseconds") << 3e-3 << 5e-3 << 15e-3 << 41e-3 << "15 ms";
        QTest::newRow("zero") << 3e-3 << 5e-3 << 0.0 << 41e-3 << "0 ms";
        QTest::newRow("deep zoom") << 1.1e-7 << 2e-7 << 41.2342e-3 << 41.235e-3 << "41.2342 ms";
        QTest::newRow("exact") << 1e-3 << 1e-3 << 2e-3 << 9e-3 << "2 ms";
        QTest::newRow("seconds") << 0.12 << 0.2 << 1.4 << 2.0 << "1.4 s";
        QTest::newRow("large step") << 7.0 << 10.0 << 130.0 << 200.0 << "130 s";
    }
    void ticks() {
        QFETCH(double, least_s);
        QFETCH(double, step_s);
        QFETCH(double, time_s);
        QFETCH(double, end_s);
        const double step = tickStep(least_s);
        QVERIFY2(std::abs(step - step_s) < 1e-9 * step_s, qPrintable(QString::number(step)));
        QTEST(tickText(time_s, step, end_s), "text");
    }

    void intervals_data() {
        QTest::addColumn<double>("start_s");
        QTest::addColumn<double>("end_s");
        QTest::addColumn<QString>("text");
        QTest::newRow("from zero") << 0.0 << 2e-3 << "0.0 ms to 2.0 ms";
        QTest::newRow("short and late") << 0.992310 << 0.992350 << "992.310 ms to 992.350 ms";
        QTest::newRow("of no length") << 0.25 << 0.25 << "250 ms to 250 ms";
    }
    void intervals() {
        QFETCH(double, start_s);
        QFETCH(double, end_s);
        QTEST(intervalText(start_s, end_s), "text");
    }

    // TimelineData

    void buildSortsSpansByRow() {
        const Data data = chainData();
        std::size_t indexed = 0;
        const auto check = [&](const TimelineData::Lane& lane, Span::Kind kind, std::size_t resource) {
            for (std::size_t i = 0; i < lane.spans.size(); ++i) {
                const Span& span = data->trace.spans[lane.spans[i]];
                QVERIFY(span.kind == kind && span.resource == resource);
                if (i > 0) QVERIFY(data->trace.spans[lane.spans[i - 1]].end_s <= span.start_s);
                ++indexed;
            }
        };
        for (DeviceId device = 0; device < data->problem->devices; ++device) {
            QCOMPARE(data->lanesOf(device).size(), std::size_t{1});
            check(data->lanesOf(device).front(), Span::Kind::op, device);
        }
        for (ChannelId channel = 0; channel < data->problem->channels; ++channel) {
            check(data->channelLane(channel), Span::Kind::transfer, channel);
        }
        QCOMPARE(indexed, data->trace.spans.size());
        for (const auto& samples : data->memory)
            QVERIFY(std::ranges::is_sorted(samples, {}, &MemorySample::time_s));
    }

    void buildCollectsTheSpansOfAForwardOp() {
        const Data data = chainData();
        std::size_t indexed = 0;
        for (OpId op = 0; op < data->op_spans.size(); ++op) {
            for (const std::uint32_t span : data->op_spans[op])
                QCOMPARE(data->forwardOf(data->trace.spans[span]), op);
            indexed += data->op_spans[op].size();
        }
        QCOMPARE(indexed, data->trace.spans.size());
        const auto phases = [&](OpId op, Phase phase) {
            return std::ranges::count_if(data->op_spans[op], [&](std::uint32_t span) {
                return data->trace.spans[span].kind == Span::Kind::op &&
                       data->problem->graph->op(data->trace.spans[span].op).phase == phase;
            });
        };
        QCOMPARE(phases(4, Phase::forward), 1);
        QVERIFY(phases(4, Phase::backward) >= 1);
        QCOMPARE(phases(4, Phase::update), 1);
        QVERIFY(std::ranges::any_of(data->op_spans[4], [&](std::uint32_t span) {
            return data->trace.spans[span].kind == Span::Kind::transfer;
        }));
    }

    void memoryIsTheStepFunctionOfTheTrace() {
        const Data data = chainData();
        for (DeviceId device = 0; device < 3; ++device) {
            const auto& samples = data->memory[device];
            QVERIFY(!samples.empty());
            for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
                if (samples[i].time_s == samples[i + 1].time_s) continue;
                QCOMPARE(data->bytesAt(device, (samples[i].time_s + samples[i + 1].time_s) / 2),
                         samples[i].bytes);
            }
            QCOMPARE(data->peakBytes(device, 0, samples.size()), data->outcome.peak_bytes[device]);
        }
    }

    void peakOverBlocksIsThePeakOverSamples() {
        const Data data = longData(8 * 1000);
        const auto& samples = data->memory[3];
        for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 1000},
                                          {63, 65},
                                          {1, 900},
                                          {128, 192},
                                          {10, 10},
                                          {500, 501}}) {
            double peak = 0;
            for (std::size_t i = first; i < last; ++i) peak = std::max(peak, samples[i].bytes);
            QCOMPARE(data->peakBytes(3, first, last), peak);
        }
    }

    void marksCoverEverySpanInView_data() {
        QTest::addColumn<TimeAxis>("axis");
        const double total_s = 0.01;  // of 8 x 1000 spans
        QTest::newRow("all, merged") << TimeAxis{0, total_s, 50, 300};
        QTest::newRow("all, one column") << TimeAxis{0, total_s, 0, 1};
        QTest::newRow("spans of some pixels") << TimeAxis{0.002, 0.003, 50, 500};
        QTest::newRow("one span fills the view") << TimeAxis{0.00200001, 0.00200002, 50, 500};
        QTest::newRow("beyond the end") << TimeAxis{0.009, 0.02, 50, 500};
    }
    void marksCoverEverySpanInView() {
        QFETCH(TimeAxis, axis);
        const Data data = longData(8 * 1000);
        const auto& row = data->lanes[2].spans;
        const auto marks = visibleMarks(data->trace, row, axis);
        QVERIFY(!marks.empty());
        QVERIFY(static_cast<double>(marks.size()) <= 2 * axis.width + 4);
        for (std::size_t i = 1; i < marks.size(); ++i) QCOMPARE(marks[i].first, marks[i - 1].last);
        const auto inView = [&](std::size_t i) {
            return i < row.size() && data->trace.spans[row[i]].end_s >= axis.start_s &&
                   data->trace.spans[row[i]].start_s <= axis.end_s;
        };
        QVERIFY(inView(marks.front().first) &&
                (marks.front().first == 0 || !inView(marks.front().first - 1)));
        QVERIFY(inView(marks.back().first) && !inView(marks.back().last));
        for (const SpanMark& mark : marks) {
            QVERIFY(mark.width >= 1 && mark.x >= axis.left - 9 &&
                    mark.x + mark.width <= axis.left + axis.width + 9);
        }
    }

    void memoryMarksHoldTheMaximumOfTheirColumns() {
        const Data data = longData(8 * 1000);
        const TimeAxis axis{0.001, 0.008, 20, 97};
        int x = 20;
        for (const MemoryMark& mark : visibleMemory(*data, 5, axis)) {
            QCOMPARE(mark.x, x);
            double highest = data->bytesAt(5, axis.toTime(mark.x));
            for (const MemorySample& sample : data->memory[5]) {
                if (sample.time_s > axis.toTime(mark.x) && sample.time_s < axis.toTime(mark.x + mark.width))
                    highest = std::max(highest, sample.bytes);
            }
            QCOMPARE(mark.bytes, highest);
            x += mark.width;
        }
        QCOMPARE(x, 20 + 97);
    }

    // TimelineView

    void emptyViewPaintsAndTakesEvents() {
        View view{nullptr};
        const QImage image = view.grab().toImage();
        QImage blank = image;
        blank.fill(view.palette().color(QPalette::Base));
        QVERIFY(differingPixels(image, blank) > 50);  // the text says what would fill the view
        QTest::mouseClick(&view, Qt::LeftButton, {}, {300, 100});
        wheel(view, {300, 100}, {0, 120}, Qt::ControlModifier);
        QTest::keyClick(&view, Qt::Key_Period);
        QVERIFY(!view.deviceAt(view.mapToGlobal(QPoint(300, 100))));
    }

    void spansHaveTheColourOfTheirDevice() {
        View view;
        const Data data = chainData();
        const Machine& machine = *data->problem->machine;
        const QImage image = view.grab().toImage();
        const std::uint32_t forward = spanOf(*data, 4);  // on gpu:1
        const QRect block = view.spanRect(forward).toRect();
        QCOMPARE(image.pixelColor(block.left() + 1, block.top() + 1), deviceColor(machine, 1));
        // A derived op is darker, and idle time is the background.
        const auto& row = data->lanes[1].spans;
        const auto derived = std::ranges::find_if(row, [&](std::uint32_t span) {
            return data->problem->graph->op(data->trace.spans[span].op).phase == Phase::backward;
        });
        QVERIFY(derived != row.end());
        const QRect backward = view.spanRect(*derived).toRect();
        QVERIFY(image.pixelColor(backward.left() + 1, backward.top() + 1).lightness() <
                deviceColor(machine, 1).lightness());
        QCOMPARE(image.pixelColor(static_cast<int>(view.axis().left) + 2, block.top() + 1),
                 view.palette().color(QPalette::Base));
    }

    void anEdgeLeavesTheShadeOfABatch() {
        const auto problem = chainProblem();
        const Data timeline = simulate(problem, spread(*problem), {.batches = 2, .in_flight = 2});
        View view(timeline);
        const TimelineData& data = *timeline;
        const auto spanOfBatch = [&](std::uint32_t batch) {
            const auto at = std::ranges::find_if(data.trace.spans, [&](const Span& span) {
                return span.kind == Span::Kind::op && span.op == 4 && span.batch == batch;
            });
            return view.spanRect(static_cast<std::uint32_t>(at - data.trace.spans.begin())).toRect();
        };
        const QImage image = view.grab().toImage();
        const QRect first = spanOfBatch(0), second = spanOfBatch(1);
        QVERIFY(first.width() >= 6 && second.width() >= 6);
        // On a light background both have an edge.
        QVERIFY(image.pixelColor(second.topLeft() + QPoint(2, 2)).lightness() >
                image.pixelColor(first.topLeft() + QPoint(2, 2)).lightness());
    }

    void clickSelectsTheForwardOp() {
        View view;
        const Data data = chainData();
        QSignalSpy edited(&view, &TimelineView::selectionEdited);
        const auto& row = data->lanes[2].spans;
        const auto backward = std::ranges::find_if(row, [&](std::uint32_t span) {
            return data->problem->graph->op(data->trace.spans[span].op).forward_op != kInvalidOp;
        });
        QVERIFY(backward != row.end());
        const OpId forward = data->forwardOf(data->trace.spans[*backward]);
        const QImage before = view.grab().toImage();
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.middle(*backward));
        QCOMPARE(edited.size(), 1);
        QCOMPARE(edited.takeFirst().at(0).value<OpList>(), OpList{forward});
        // All spans of the op are outlined.
        const QImage after = view.grab().toImage();
        QVERIFY(differingPixelsIn(view.spanRect(*backward), before, after) > 20);
        QVERIFY(differingPixelsIn(view.spanRect(spanOf(*data, forward)), before, after) > 20);
    }

    void controlClickTogglesAndEmptyClickClears() {
        View view;
        const Data data = chainData();
        QSignalSpy edited(&view, &TimelineView::selectionEdited);
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.middle(spanOf(*data, 5)));
        QTest::mouseClick(&view, Qt::LeftButton, Qt::ControlModifier, view.middle(spanOf(*data, 2)));
        QCOMPARE(edited.last().at(0).value<OpList>(), (OpList{2, 5}));
        QTest::mouseClick(&view, Qt::LeftButton, Qt::ControlModifier, view.middle(spanOf(*data, 5)));
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{2});
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.empty());
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{});
        QCOMPARE(edited.size(), 4);
    }

    void clickOnATransferSelectsItsProducer() {
        View view;
        const Data data = chainData();
        QSignalSpy edited(&view, &TimelineView::selectionEdited);
        const std::uint32_t transfer = firstTransfer(*data);
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.middle(transfer));
        QCOMPARE(edited.size(), 1);
        QCOMPARE(edited.first().at(0).value<OpList>(), OpList{data->forwardOf(data->trace.spans[transfer])});
    }

    void selectedOpGetsArrows() {
        View view;
        const Data data = chainData();
        const QImage before = view.grab().toImage();
        view.setSelection({4});
        const QImage after = view.grab().toImage();
        // Its output is sent from gpu:1 to gpu:2: nothing else changes between the spans of the two lanes.
        const QRectF lane = view.laneRect(1);
        const QRectF between(lane.left(), view.spanRect(spanOf(*data, 4)).bottom() + 4, lane.width(), 10);
        QVERIFY(differingPixelsIn(between, before, after) > 5);
        view.setSelection({});
        QCOMPARE(view.grab().toImage(), before);
    }

    /// The row of the host is below those of the devices; a block there is the issue of an op.
    void hostHasARow() {
        const Data data = hostData();
        View view(data);
        QSignalSpy edited(&view, &TimelineView::selectionEdited);
        const double first = view.spanRect(0).left(), last = view.spanRect(2).left();
        // "op1" is issued from 1 s to 2 s, and runs from 2 s on.
        const QPoint issue(static_cast<int>(first + (last - first) / 4),
                           static_cast<int>(view.laneRect(1).bottom()) + 10);
        QTest::mouseClick(&view, Qt::LeftButton, {}, issue);
        QCOMPARE(edited.size(), 1);
        QCOMPARE(edited.first().at(0).value<OpList>(), OpList{1});
        QHelpEvent event(QEvent::ToolTip, issue, view.mapToGlobal(issue));
        QCoreApplication::sendEvent(&view, &event);
        QVERIFY2(QToolTip::text().contains("Issued: 1.00 s to 2.00 s, main thread"),
                 qPrintable(QToolTip::text()));
        // Without a host the row is another: that of the idle channels.
        View ideal;
        QSignalSpy none(&ideal, &TimelineView::selectionEdited);
        QTest::mouseClick(&ideal, Qt::LeftButton, {}, issue);
        QVERIFY(none.empty() || none.first().at(0).value<OpList>().empty());
    }

    void hoverTellsTheOpOnce() {
        View view;
        const Data data = chainData();
        QSignalSpy hovered(&view, &TimelineView::opHovered);
        const QRectF span = view.spanRect(spanOf(*data, 3));
        QTest::mouseMove(&view, span.center().toPoint());
        QTest::mouseMove(&view, span.center().toPoint() + QPoint(1, 1));
        QCOMPARE(hovered.size(), 1);
        QCOMPARE(hovered.first().at(0).value<OpId>(), OpId{3});
        QTest::mouseMove(&view, view.empty());
        QCOMPARE(hovered.size(), 2);
        QCOMPARE(hovered.last().at(0).value<OpId>(), kInvalidOp);
    }

    void toolTipsTellOfOpsTransfersAndMemory() {
        View view;
        const Data data = chainData();
        view.setToolTipSource([](OpId op) { return QStringLiteral("<i>about op %1</i>").arg(op); });
        const auto textAt = [&](QPoint position) {
            QHelpEvent event(QEvent::ToolTip, position, view.mapToGlobal(position));
            QCoreApplication::sendEvent(&view, &event);
            return QToolTip::text();
        };
        QVERIFY(textAt(view.middle(spanOf(*data, 3))).contains(QStringLiteral("about op 3")));
        const std::uint32_t transfer = firstTransfer(*data);
        const Span& span = data->trace.spans[transfer];
        const QString text = textAt(view.middle(transfer));
        for (const QString& fact :
             {QString::fromStdString(data->problem->graph->op(span.op).name),
              bytesText(data->problem->tensor_bytes[span.tensor]), QStringLiteral("gpu:0 → gpu:1"),
              intervalText(span.start_s, span.end_s)}) {
            QVERIFY2(text.contains(fact), qPrintable(fact + QStringLiteral(" is not in ") + text));
        }
        QVERIFY(textAt(view.empty()).contains(QStringLiteral("of memory in use")));
        QVERIFY(textAt({400, 5}).contains(QStringLiteral("Zoom")));
    }

    void memoryIsShownAgainstWhatMayBeUsed() {
        ProblemOptions options;
        options.usable_memory = 0.25;
        const auto whole = chainProblem(1e9);
        const auto problem = make_problem(whole->forward, whole->machine, options);
        View view(simulate(problem, spread(*problem)));
        const QPoint header(5, view.empty().y());
        QHelpEvent event(QEvent::ToolTip, header, view.mapToGlobal(header));
        QCoreApplication::sendEvent(&view, &event);
        QVERIFY2(QToolTip::text().contains(bytesText(2.5e8)), qPrintable(QToolTip::text()));
    }

    void toolTipCountsWhatAPixelHides() {
        View view(longData(80'000), {600, 600});
        const QPoint position(400, view.middle(0).y());
        QHelpEvent event(QEvent::ToolTip, position, view.mapToGlobal(position));
        QCoreApplication::sendEvent(&view, &event);
        QVERIFY2(QToolTip::text().contains(QStringLiteral("blocks within this pixel")),
                 qPrintable(QToolTip::text()));
    }

    void controlWheelZoomsAtThePointer() {
        View view;
        const QPoint at(500, 200);
        const double time_s = view.axis().toTime(at.x());
        const double shown_s = view.axis().end_s - view.axis().start_s;
        for (int i = 0; i < 5; ++i) wheel(view, at, {0, 120}, Qt::ControlModifier);
        QVERIFY(std::abs(view.axis().toX(time_s) - at.x()) < 1e-6);
        QVERIFY(view.axis().end_s - view.axis().start_s < shown_s / 2.5);
        for (int i = 0; i < 9; ++i) wheel(view, at, {0, -120}, Qt::ControlModifier);
        QCOMPARE(view.axis().start_s, 0.0);
        QVERIFY(std::abs(view.axis().end_s - view.axis().start_s - shown_s) < 1e-12);
    }

    void zoomHasAnEnd() {
        View view;
        for (int i = 0; i < 400; ++i) wheel(view, {500, 200}, {0, 120}, Qt::ControlModifier);
        QVERIFY(view.axis().end_s > view.axis().start_s);
        QVERIFY(!view.grab().isNull());
    }

    void keysZoomPanAndFit() {
        View view;
        QTest::mouseMove(&view, {500, 200});
        const TimeAxis fitted = view.axis();
        QTest::keyClick(&view, Qt::Key_W);
        QTest::keyClick(&view, Qt::Key_W);
        const TimeAxis zoomed = view.axis();
        QVERIFY(zoomed.end_s - zoomed.start_s < fitted.end_s - fitted.start_s);
        QTest::keyClick(&view, Qt::Key_D);
        QVERIFY(view.axis().start_s > zoomed.start_s);
        QTest::keyClick(&view, Qt::Key_Left);
        QVERIFY(std::abs(view.axis().start_s - zoomed.start_s) < 1e-12);
        QTest::keyClick(&view, Qt::Key_S);
        QVERIFY(view.axis().end_s - view.axis().start_s > zoomed.end_s - zoomed.start_s);
        QTest::keyClick(&view, Qt::Key_F);
        QCOMPARE(view.axis(), fitted);
    }

    void dragOnEmptySpacePans() {
        View view;
        wheel(view, {500, 200}, {0, 480}, Qt::ControlModifier);
        QSignalSpy started(&view, &TimelineView::opDragStarted);
        QSignalSpy edited(&view, &TimelineView::selectionEdited);
        const QPoint from = view.empty() - QPoint(200, 0);
        const double time_s = view.axis().toTime(from.x());
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        moveHeld(view, from + QPoint(30, 0));
        moveHeld(view, from + QPoint(60, 0));
        QTest::mouseRelease(&view, Qt::LeftButton, {}, from + QPoint(60, 0));
        QVERIFY(std::abs(view.axis().toTime(from.x() + 60) - time_s) < 1e-9);
        QCOMPARE(started.size() + edited.size(), 0);
    }

    void newDataKeepsTheZoom() {
        const auto problem = chainProblem();
        const Data slow = simulate(problem, spread(*problem));
        const Data fast = simulate(problem, Placement(problem->groups, 0));
        QVERIFY(fast->outcome.total_time_s < slow->outcome.total_time_s);
        View view(slow);
        view.setData(fast);
        QCOMPARE(view.axis().end_s, fast->outcome.total_time_s);  // it was fitted and stays fitted
        wheel(view, {300, 200}, {0, 1200}, Qt::ControlModifier);
        const TimeAxis zoomed = view.axis();
        view.setData(slow);
        QCOMPARE(view.axis().start_s, zoomed.start_s);
        QCOMPARE(view.axis().end_s, zoomed.end_s);
        // A visible range beyond the end is moved.
        QTest::keyClick(&view, Qt::Key_F);
        wheel(view, {890, 200}, {0, 240}, Qt::ControlModifier);
        view.setData(fast);
        QVERIFY(view.axis().end_s <= fast->outcome.total_time_s);
        view.setData(chainData());
        QCOMPARE(view.axis().start_s, 0.0);  // another problem is fitted
    }

    void laneAtPointer() {
        View view;
        for (DeviceId device = 0; device < 3; ++device) {
            const QRectF lane = view.laneRect(device);
            QVERIFY(lane.height() >= 40);
            QCOMPARE(view.deviceAt(view.mapToGlobal(lane.center().toPoint())), std::optional(device));
            QCOMPARE(view.deviceAt(view.mapToGlobal(QPoint(3, static_cast<int>(lane.top()) + 2))),
                     std::optional(device));
        }
        QVERIFY(!view.deviceAt(view.mapToGlobal(QPoint(300, 2))));
        QVERIFY(
            !view.deviceAt(view.mapToGlobal(QPoint(300, static_cast<int>(view.laneRect(2).bottom()) + 10))));
        QVERIFY(
            !view.deviceAt(view.mapToGlobal(QPoint(-5, static_cast<int>(view.laneRect(1).center().y())))));
        QVERIFY(view.laneRect(3).isEmpty());
    }

    void verticalDragOfASpanDragsItsOp() {
        View view;
        const Data data = chainData();
        QSignalSpy edited(&view, &TimelineView::selectionEdited),
            started(&view, &TimelineView::opDragStarted);
        QSignalSpy moved(&view, &TimelineView::opDragMoved), dropped(&view, &TimelineView::opDropped),
            cancelled(&view, &TimelineView::opDragCancelled);
        const QPoint from = view.middle(spanOf(*data, 3)), to = view.laneRect(2).center().toPoint();
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        moveHeld(view, from + QPoint(0, 2));
        QCOMPARE(started.size(), 0);
        moveHeld(view, from + QPoint(2, 25));
        QCOMPARE(edited.size(), 1);  // selected first
        QCOMPARE(started.size(), 1);
        QCOMPARE(started.first().at(0).value<OpList>(), OpList{3});
        QCOMPARE(started.first().at(1).toPoint(), view.mapToGlobal(from));
        moveHeld(view, to);
        QCOMPARE(moved.last().at(0).toPoint(), view.mapToGlobal(to));
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
        QCOMPARE(dropped.size(), 1);
        QCOMPARE(view.deviceAt(dropped.first().at(0).toPoint()), std::optional<DeviceId>(2));
        QCOMPARE(cancelled.size(), 0);
        QCOMPARE(edited.size(), 1);
    }

    void dragOfASelectedOpTakesTheWholeSelection() {
        View view;
        const Data data = chainData();
        view.setSelection({1, 3, 7});
        QSignalSpy started(&view, &TimelineView::opDragStarted),
            edited(&view, &TimelineView::selectionEdited);
        const QPoint from = view.middle(spanOf(*data, 3));
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        moveHeld(view, from + QPoint(0, 30));
        QCOMPARE(started.size(), 1);
        QCOMPARE(started.first().at(0).value<OpList>(), (OpList{1, 3, 7}));
        QCOMPARE(edited.size(), 0);
        QTest::mouseRelease(&view, Qt::LeftButton, {}, from);
    }

    void escapeAndHidingCancelADragOnce_data() {
        QTest::addColumn<bool>("escape");
        QTest::newRow("escape") << true;
        QTest::newRow("hidden") << false;
    }
    void escapeAndHidingCancelADragOnce() {
        QFETCH(bool, escape);
        View view;
        const Data data = chainData();
        QSignalSpy started(&view, &TimelineView::opDragStarted), dropped(&view, &TimelineView::opDropped);
        QSignalSpy cancelled(&view, &TimelineView::opDragCancelled), moved(&view, &TimelineView::opDragMoved);
        const QPoint from = view.middle(spanOf(*data, 3));
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        moveHeld(view, from + QPoint(0, 30));
        const auto movesBefore = moved.size();
        if (escape) {
            QTest::keyClick(&view, Qt::Key_Escape);
        } else {
            view.hide();
        }
        QCOMPARE(cancelled.size(), 1);
        moveHeld(view, from + QPoint(0, 60));
        QTest::mouseRelease(&view, Qt::LeftButton, {}, from + QPoint(0, 60));
        QCOMPARE(cancelled.size(), 1);
        QCOMPARE(started.size(), 1);
        QCOMPARE(dropped.size(), 0);
        QCOMPARE(moved.size(), movesBefore);
    }

    void transfersAreNotDragged() {
        View view;
        const Data data = chainData();
        QSignalSpy started(&view, &TimelineView::opDragStarted);
        const QPoint from = view.middle(firstTransfer(*data));
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        moveHeld(view, from + QPoint(0, -40));
        QTest::mouseRelease(&view, Qt::LeftButton, {}, from + QPoint(0, -40));
        QCOMPARE(started.size(), 0);
    }

    void numberKeysAskForADevice() {
        View view;
        QSignalSpy pressed(&view, &TimelineView::deviceKeyPressed);
        QTest::keyClick(&view, Qt::Key_2);
        QCOMPARE(pressed.size(), 0);  // nothing is selected
        view.setSelection({1});
        QTest::keyClick(&view, Qt::Key_2);
        QCOMPARE(pressed.size(), 1);
        QCOMPARE(pressed.first().at(0).toInt(), 2);
    }

    void keysStepThroughARow() {
        View view;
        const Data data = chainData();
        QSignalSpy edited(&view, &TimelineView::selectionEdited);
        QTest::keyClick(&view, Qt::Key_Period);
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{0});
        QTest::keyClick(&view, Qt::Key_Period);
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{3});  // the next span on the same device
        QTest::keyClick(&view, Qt::Key_Comma);
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{0});
    }

    void dropPreviewMarksTheTarget() {
        View view;
        const QImage before = view.grab().toImage();
        const DropPreviews previews{
            {true, true, 41.2e-3, -1.4e-3}, {true, false, 40e-3, 2e-3}, {false, true, 0, 0}};
        view.setDropPreview(previews, DeviceId{1});
        const QImage onOne = view.grab().toImage();
        view.setDropPreview(previews, DeviceId{0});
        const QImage onZero = view.grab().toImage();
        for (DeviceId device = 0; device < 3; ++device)
            QVERIFY(differingPixelsIn(view.laneRect(device), before, onOne) > 1000);
        QVERIFY(differingPixelsIn(view.laneRect(0), onZero, onOne) > 1000);
        QVERIFY(differingPixelsIn(view.laneRect(1), onZero, onOne) > 1000);
        QCOMPARE(differingPixelsIn(view.laneRect(2), onZero, onOne), 0);
        view.setDropPreview({}, std::nullopt);
        QCOMPARE(view.grab().toImage(), before);
    }

    void dropTexts_data() {
        QTest::addColumn<double>("step_s");
        QTest::addColumn<double>("change_s");
        QTest::addColumn<QString>("text");
        QTest::newRow("faster") << 41.2e-3 << -1.4e-3 << "41.2 ms (−1.40 ms)";
        QTest::newRow("slower") << 41.2e-3 << 0.3e-3 << "41.2 ms (+300 µs)";
        QTest::newRow("same") << 41.2e-3 << 1e-15 << "41.2 ms (no change)";
    }
    void dropTexts() {
        QFETCH(double, step_s);
        QFETCH(double, change_s);
        QTEST(dropPreviewText({true, true, step_s, change_s}), "text");
        QCOMPARE(dropPreviewText({false, true, step_s, change_s}), QStringLiteral("not allowed"));
    }

    void memoryOverTheLimitIsInTheWarningColour() {
        const auto count = [](const Data& data) {
            View view(data);
            const QImage image = view.grab().toImage();
            const QRgb warning = warningColor(view.palette()).rgb();
            int pixels = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = static_cast<int>(view.axis().left); x < image.width(); ++x)
                    pixels += image.pixel(x, y) == warning;
            }
            return pixels;
        };
        QCOMPARE(count(chainData()), 0);
        QVERIFY(count(chainData(2e6)) > 100);
    }

    void idleChannelsOpenOnAClick() {
        const auto problem = test::problem(test::chain(9), test::uniform_machine(3));
        const Data data = simulate(problem, spread(*problem));
        bool hasIdle = false;
        for (ChannelId channel = 0; channel < data->problem->channels; ++channel)
            hasIdle = hasIdle || data->channelLane(channel).spans.empty();
        QVERIFY(hasIdle);
        View view(data);
        const int closed = view.sizeHint().height();
        // The last row at the end of the chart.
        view.resize(900, closed);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {20, closed - 14});
        QVERIFY(view.sizeHint().height() > closed);
        QTest::mouseClick(&view, Qt::LeftButton, {}, {20, closed - 14});
        QCOMPARE(view.sizeHint().height(), closed);
    }

    void wheelScrollsRowsThatDoNotFit() {
        View view(chainData(), {600, 140});
        auto* bar = view.findChild<QScrollBar*>();
        QVERIFY(bar->isVisible());
        const TimeAxis axis = view.axis();
        const double top = view.laneRect(0).top();
        wheel(view, {300, 100}, {0, -120}, Qt::NoModifier);
        QVERIFY(view.laneRect(0).top() < top);
        QCOMPARE(view.axis(), axis);
        // A drop target is scrolled into view.
        bar->setValue(0);
        view.setDropPreview(DropPreviews(3, DropPreview{true, true, 1, 0}), DeviceId{2});
        QVERIFY(view.laneRect(2).bottom() <= view.height());
    }

    void millionSpansArePaintedAtOnce() {
        const Data data = longData(1'000'000);
        View view(data, {1200, 800});
        for (const int zoom : {0, 10, 20, 30, 40}) {
            view.fit();
            for (int i = 0; i < zoom; ++i) wheel(view, {600, 5}, {0, 120}, Qt::ControlModifier);
            const test::CpuTimer timer;
            const QImage image = view.grab().toImage();
            const double milliseconds = timer.elapsed_s() * 1e3;
            QVERIFY(!image.isNull());
            QVERIFY2(milliseconds < 250,
                     qPrintable(QStringLiteral("%1 ms at zoom %2").arg(milliseconds).arg(zoom)));
            // Every lane is 80 % busy at each zoom, except where a single span fills it.
            const QRect bar = view.spanRect(data->lanes[0].spans.front()).toRect();
            QVERIFY(image.pixelColor(static_cast<int>(view.axis().left) + 100, bar.center().y()) !=
                        view.palette().color(QPalette::Base) ||
                    zoom > 30);
        }
    }

    void streamsAreLanesOfTheirDevice() {
        const Data data = streamData();
        QCOMPARE(data->lanesOf(0).size(), std::size_t{2});
        QCOMPARE(data->lanesOf(1).size(), std::size_t{1});
        QCOMPARE(data->lanesOf(0)[0].spans, (std::vector<std::uint32_t>{1, 2}));
        QCOMPARE(data->lanesOf(0)[1].spans, std::vector<std::uint32_t>{0});
        QCOMPARE(data->lanesOf(0)[0].busy_s.back(), 1.0);
        // Overlapping spans count once.
        QCOMPARE(data->active_s, (std::vector<double>{1, 1}));

        View view(data);
        const QRectF first = view.spanRect(spanOf(*data, 0)), second = view.spanRect(spanOf(*data, 1)),
                     third = view.spanRect(spanOf(*data, 2));
        QVERIFY(view.laneRect(0).contains(first) && view.laneRect(0).contains(second));
        QVERIFY(first.bottom() <= second.top());
        QCOMPARE(third.top(), first.top());
        QCOMPARE(first.height(), third.height());
        QVERIFY(first.height() >= view.fontMetrics().height() - 1);
        // A device with one stream has one bar over the whole height.
        QVERIFY(view.laneRect(1).contains(view.spanRect(spanOf(*data, 3))));

        // Each block is drawn in its own lane, and the place beside it in the other lane is empty.
        const QImage image = view.grab().toImage();
        const auto at = [&](QRectF block, double share) {
            return image.pixelColor(QPoint(static_cast<int>(block.left() + share * block.width()),
                                           static_cast<int>(block.bottom()) - 2));
        };
        const QColor fill = deviceColor(*data->problem->machine, 0);
        QCOMPARE(at(first, 0.9), fill);
        QCOMPARE(at(second, 0.9), fill);
        QVERIFY(at(second, 1.5) != fill);

        // The pointer distinguishes them, and the keyboard moves along one stream.
        QSignalSpy selected(&view, &OpView::selectionEdited);
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.middle(spanOf(*data, 1)));
        QCOMPARE(selected.takeLast().front().value<OpList>(), OpList{1});
        QTest::mouseClick(&view, Qt::LeftButton, {}, view.middle(spanOf(*data, 0)));
        QCOMPARE(selected.takeLast().front().value<OpList>(), OpList{0});
        QTest::keyClick(&view, Qt::Key_Period);
        QCOMPARE(selected.takeLast().front().value<OpList>(), OpList{2});
        QHelpEvent help(QEvent::ToolTip, view.middle(spanOf(*data, 1)),
                        view.mapToGlobal(view.middle(spanOf(*data, 1))));
        QCoreApplication::sendEvent(&view, &help);
        QVERIFY2(QToolTip::text().contains(QStringLiteral("Stream: 2")), qPrintable(QToolTip::text()));
    }

    // SelectionPanel

    void describedOpHasItsFacts() {
        const auto problem = chainProblem();
        const Data data = simulate(problem, spread(*problem));
        QTextDocument document;
        document.setHtml(describeOp(*problem, 4, 1, data.get()));
        const QString text = document.toPlainText();
        const Op& op = problem->graph->op(4);
        const Span& span = data->trace.spans[spanOf(*data, 4)];
        for (const QString& fact :
             {QString::fromStdString(op.name), QString::fromStdString(op.kind), QStringLiteral("gpu:1"),
              bytesText(1e6), flopsText(op.flops), secondsText(problem->time_s(4, 1)),
              secondsText(problem->group_time_s(problem->grouping.group_of[4], 1)),
              intervalText(span.start_s, span.end_s), QStringLiteral("op3 from gpu:0 arrived at"),
              QString::fromStdString(problem->graph->op(5).name)}) {
            QVERIFY2(text.contains(fact), qPrintable(fact + QStringLiteral(" is not in:\n") + text));
        }
        QVERIFY(!describeOp(*problem, 4, kInvalidDevice, nullptr).isEmpty());
        QVERIFY(summarizeOp(*problem, 4, 1, data.get()).contains(QString::fromStdString(op.name)));
    }

    void namesAreEscaped() {
        GraphBuilder builder("escape", 1, Training::none);
        Op op;
        op.name = "<img src=x> & \"co\"";
        op.kind = "<b>relu";
        op.scope = "<i>scope";
        op.outputs = {make_tensor({4, 8})};
        builder.add(op, {});
        const auto problem = test::problem(builder.build(), test::uniform_machine(1));
        QTextDocument document;
        document.setHtml(describeOp(*problem, 0, 0, nullptr));
        for (const char* part : {"<img src=x> & \"co\"", "<b>relu", "<i>scope", "4×8"})
            QVERIFY(document.toPlainText().contains(QString::fromUtf8(part)));
        document.setHtml(summarizeOp(*problem, 0, 0, nullptr));
        QVERIFY(document.toPlainText().contains(QString::fromStdString(op.name)));
    }

    void panelShowsSumsAndFollowsLinks() {
        const auto problem = test::problem(test::chain(9), test::uniform_machine(3));
        const Data data = simulate(problem, spread(*problem));
        SelectionPanel panel;
        panel.resize(300, 700);
        panel.show();
        auto* browser = panel.findChild<QTextBrowser*>();
        QVERIFY(browser->toPlainText().isEmpty() && !browser->placeholderText().isEmpty());
        std::vector<DeviceId> devices;
        for (OpId op = 0; op < problem->ops; ++op) devices.push_back(static_cast<DeviceId>(op % 3));

        panel.show(problem, devices, {0, 1, 3}, data);
        const double time_s = problem->time_s(0, 0) + problem->time_s(1, 1) + problem->time_s(3, 0);
        for (const QString& fact : {QStringLiteral("3 ops selected"), secondsText(time_s),
                                    QStringLiteral("gpu:0"), QStringLiteral("gpu:1"), flopsText(3e9)}) {
            QVERIFY2(browser->toPlainText().contains(fact), qPrintable(browser->toPlainText()));
        }
        QVERIFY(!browser->toPlainText().contains(QStringLiteral("gpu:2")));

        panel.show(problem, devices, {4}, data);
        QSignalSpy activated(&panel, &SelectionPanel::opActivated);
        QVERIFY(browser->find(QStringLiteral("op5")));
        const QPoint link = browser->cursorRect().center() - QPoint(6, 0);
        QCOMPARE(browser->anchorAt(link), QStringLiteral("5"));
        QTest::mouseClick(browser->viewport(), Qt::LeftButton, {}, link);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated.first().at(0).value<OpId>(), OpId{5});

        panel.clear();
        QVERIFY(browser->toPlainText().isEmpty());
    }
};

QTEST_MAIN(TimelineViewTest)
#include "tst_timeline_view.moc"
