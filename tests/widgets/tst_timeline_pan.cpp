// SPDX-License-Identifier: MIT
// Panning a timeline: the picture that is moved and completed is the one that would be painted anew.
#include <algorithm>

#include <QScrollBar>
#include <QTest>
#include <QWheelEvent>

#include "tests/support/graphs.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;

namespace {

using Data = std::shared_ptr<const TimelineData>;

/// Steps of a random network on 12 GPUs, some of which have hatched colours, with a row for each channel.
Data busyData(std::uint32_t batches) {
    const auto problem = test::problem(test::random_graph(3, 900), test::uniform_machine(12));
    Random random(3);
    SimulationOptions options;
    options.batches = batches;
    options.in_flight = 2;
    Trace trace;
    Outcome outcome = Simulator(problem, options).run(test::random_placement(*problem, random), trace);
    return TimelineData::build(problem, std::move(trace), std::move(outcome));
}

/// The simulation as two runs, in which some ops take much longer or shorter.
std::shared_ptr<const MeasuredRuns> measuredRuns(const Data& data) {
    std::vector<NamedRun> runs;
    for (int id = 1; id <= 2; ++id) {
        auto run = std::make_shared<MeasuredRun>();
        run->trace = data->trace;
        for (Span& span : run->trace.spans) {
            if (span.op % 7 == 3) span.end_s = span.start_s + 0.2 * (span.end_s - span.start_s);
            span.start_s *= 0.9 + 0.2 * id;
            span.end_s *= 0.9 + 0.2 * id;
        }
        run->step_times_s = {data->outcome.total_time_s};
        runs.push_back({id, QStringLiteral("run"), run, measuredTimeline(data->problem, *run)});
    }
    return MeasuredRuns::build(data, std::move(runs));
}

void send(QWidget& view, QEvent::Type type, QPoint at, Qt::MouseButton button, Qt::MouseButtons held) {
    QMouseEvent event(type, at, view.mapToGlobal(at), button, held, Qt::NoModifier);
    QApplication::sendEvent(&view, &event);
}

void zoomIn(QWidget& view, int steps) {
    const QPoint at(view.width() / 2, view.height() / 2);
    for (int i = 0; i < steps; ++i) {
        QWheelEvent event(at, view.mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&view, &event);
    }
}

/// The picture with nothing kept of the one before.
QImage paintedAnew(QWidget& view) {
    QEvent change(QEvent::PaletteChange);
    QApplication::sendEvent(&view, &change);
    return view.grab().toImage();
}

/// Where two pictures differ; null: nowhere.
QRect difference(const QImage& a, const QImage& b) {
    QRect area;
    for (int y = 0; y < a.height(); ++y) {
        for (int x = 0; x < a.width(); ++x) {
            if (a.pixel(x, y) != b.pixel(x, y)) area |= QRect(x, y, 1, 1);
        }
    }
    return area;
}

}  // namespace

class TimelinePanTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aPannedPictureIsTheOnePaintedAnew_data() {
        QTest::addColumn<int>("zoomSteps");
        QTest::addColumn<bool>("selects");
        QTest::addColumn<bool>("finds");
        QTest::addColumn<bool>("pins");
        QTest::addColumn<int>("measured");
        for (const int steps : {4, 12, 25, 40}) {
            const auto row = [&](const char* what) {
                return &QTest::newRow(
                    qPrintable(QStringLiteral("%1, %2 steps").arg(QLatin1String(what)).arg(steps)));
            };
            *row("plain") << steps << false << false << false << 0;
            *row("selection, pinned rows") << steps << true << false << true << 0;
            *row("search") << steps << false << true << false << 0;
            *row("measured below") << steps << false << false << false << 1;
            *row("measured over it") << steps << true << false << false << 2;
        }
    }
    void aPannedPictureIsTheOnePaintedAnew() {
        QFETCH(int, zoomSteps);
        QFETCH(bool, selects);
        QFETCH(bool, finds);
        QFETCH(bool, pins);
        QFETCH(int, measured);
        static const Data data = busyData(2);
        TimelineView view;
        test::showAt(view, {640, 420});
        view.setData(data);
        OpList ops;
        for (OpId op = 0; op < 900; op += 5) ops.push_back(op);
        if (selects) view.setSelection(ops);
        if (finds) view.setMatches(ops);
        if (pins) view.setPinned(1, true);
        if (measured > 0) {
            view.setMeasuredLayout(measured == 1 ? MeasuredLayout::below : MeasuredLayout::overlay);
            static const auto runs = measuredRuns(data);
            view.setMeasured(runs);
        }
        zoomIn(view, zoomSteps);
        view.grab();

        const QPoint middle = view.rect().center();
        QPoint at = middle;
        send(view, QEvent::MouseButtonPress, middle, Qt::MiddleButton, Qt::MiddleButton);
        for (const QPoint move :
             {QPoint(7, 0), QPoint(-40, 0), QPoint(0, -33), QPoint(0, 8), QPoint(120, -200), QPoint(-1, 1),
              QPoint(-310, 30), QPoint(0, 0), QPoint(2000, 0), QPoint(-97, -1000), QPoint(13, 21)}) {
            at += move;
            const TimelineZoom before = view.zoom();
            send(view, QEvent::MouseMove, at, Qt::NoButton, Qt::MiddleButton);
            if (move == QPoint(7, 0)) QVERIFY(view.zoom() != before);
            const QImage panned = view.grab().toImage();
            const QRect differs = difference(panned, paintedAnew(view));
            QVERIFY2(differs.isNull(),
                     qPrintable(QStringLiteral("pan by %1, %2: differs in %3 x %4 pixels at %5, %6")
                                    .arg(move.x())
                                    .arg(move.y())
                                    .arg(differs.width())
                                    .arg(differs.height())
                                    .arg(differs.left())
                                    .arg(differs.top())));
        }
    }

    void aZoomInTheMiddleOfAPanIsPaintedAnew() {
        TimelineView view;
        test::showAt(view, {640, 420});
        view.setData(busyData(1));
        zoomIn(view, 6);
        view.grab();
        send(view, QEvent::MouseButtonPress, {300, 200}, Qt::MiddleButton, Qt::MiddleButton);
        send(view, QEvent::MouseMove, {330, 200}, Qt::NoButton, Qt::MiddleButton);
        zoomIn(view, 1);
        const QImage zoomed = view.grab().toImage();
        QVERIFY(difference(zoomed, paintedAnew(view)).isNull());
    }
};

QTEST_MAIN(TimelinePanTest)
#include "tst_timeline_pan.moc"
