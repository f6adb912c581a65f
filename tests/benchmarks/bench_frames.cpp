// SPDX-License-Identifier: MIT
// How smooth the window is: times of frames while graph and timeline are panned and zoomed, and how long the
// window's thread is away from its event loop while large networks open and searches run. Each measurement
// is made once (repeat it with --benchmark_repetitions). Times are processor time of the window's thread,
// which other work on the machine hardly changes. Runs on the offscreen platform.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include <QDockWidget>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMouseEvent>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "app/window/main_window.hpp"
#include "app/window/settings.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/watched_application.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

using test::WatchedApplication;

constexpr int kPatienceMs = 900'000;
constexpr int kFrames = 240;

double threadTime_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double clockTime_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Milliseconds of each frame.
class Frames {
public:
    /// Does something to a view, and all that follows from it until it is painted.
    template <class Step>
    void add(Step step) {
        const double begin = threadTime_ms();
        step();
        QCoreApplication::processEvents();
        m_ms.push_back(threadTime_ms() - begin);
    }
    void report(benchmark::State& state, double scale = 1) {
        std::ranges::sort(m_ms);
        state.counters["p50_ms"] = scale * m_ms[m_ms.size() / 2];
        state.counters["p99_ms"] = scale * m_ms[m_ms.size() * 99 / 100];
        state.counters["max_ms"] = scale * m_ms.back();
    }

private:
    std::vector<double> m_ms;
};

/// The event handlers since it was made.
class Stalls {
public:
    Stalls() {
        WatchedApplication::instance()->observe(0, [this](const WatchedApplication::Handler& handler) {
            m_busy_s += handler.cpu_s;
            if (handler.cpu_s < m_longest.cpu_s) return;
            m_longest = handler;
        });
    }
    ~Stalls() { WatchedApplication::instance()->observe(0, {}); }
    void report(benchmark::State& state) const {
        state.counters["stall_ms"] = 1e3 * m_longest.cpu_s;
        state.counters["busy_share"] = m_busy_s / (clockTime_s() - m_begin_s);
        state.SetLabel(m_longest.what);
    }

private:
    WatchedApplication::Handler m_longest;
    double m_busy_s = 0;
    double m_begin_s = clockTime_s();
};

void sendMouse(QWidget& view, QEvent::Type type, QPointF at, Qt::MouseButton button, Qt::MouseButtons held) {
    QMouseEvent event(type, at, view.mapToGlobal(at), button, held, Qt::NoModifier);
    QApplication::sendEvent(&view, &event);
}

void sendWheel(QWidget& view, QPointF at, int steps, Qt::KeyboardModifiers modifiers = {}) {
    QWheelEvent event(at, view.mapToGlobal(at), {}, {0, 120 * steps}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&view, &event);
}

/// Drags the view to and fro, one frame per move.
void pan(QWidget& view, Frames& frames) {
    const QPointF middle = view.rect().center();
    sendMouse(view, QEvent::MouseButtonPress, middle, Qt::MiddleButton, Qt::MiddleButton);
    for (int frame = 0; frame < kFrames; ++frame) {
        const int phase = frame % 60;
        const double x = phase < 30 ? phase : 60 - phase;
        frames.add([&] {
            sendMouse(view, QEvent::MouseMove, middle + QPointF(7 * x, 3 * x), Qt::NoButton,
                      Qt::MiddleButton);
        });
    }
    sendMouse(view, QEvent::MouseButtonRelease, middle, Qt::MiddleButton, Qt::NoButton);
}

/// Zooms in and out with the wheel, one frame per step.
void zoom(QWidget& view, Frames& frames, Qt::KeyboardModifiers modifiers = {}) {
    const QPointF at(view.width() * 0.4, view.height() * 0.4);
    for (int frame = 0; frame < kFrames; ++frame) {
        const int steps = frame / 20 % 2 == 0 ? 1 : -1;
        frames.add([&] { sendWheel(view, at, steps, modifiers); });
    }
}

/// Waits until no work is under way; false if that takes too long.
bool settle(const MainWindow& window) {
    return QTest::qWaitFor([&] { return !window.document()->isBusy(); }, kPatienceMs);
}

/// Opens the network and waits for scene and timeline.
bool open(MainWindow& window, const QString& network) {
    const Document& document = *window.document();
    QObject context;
    bool failed = false;
    QObject::connect(&document, &Document::message, &context, [&](bool error, const QString& text) {
        failed = failed || error;
        if (error) std::fprintf(stderr, "%s\n", qPrintable(text));
    });
    window.document()->openNetwork(network);
    return QTest::qWaitFor(
               [&] { return failed || (document.scene() && document.timeline() && !document.isBusy()); },
               kPatienceMs) &&
           !failed;
}

/// Opens all modules, so that each op is drawn.
bool openModules(MainWindow& window) {
    window.document()->setClosedModules({});
    return settle(window);
}

/// All panels, those behind tabs in windows of their own.
void showAllPanels(MainWindow& window) {
    for (const char* name : {"curveDock", "cdfDock", "archiveDock", "distributionDock", "learningDock",
                             "whyDock", "suggestionsDock", "opsDock", "measuredDock"}) {
        auto* dock = window.findChild<QDockWidget*>(QLatin1String(name));
        dock->setFloating(true);
        dock->show();
        dock->resize(560, 420);
    }
    QTest::qWait(50);
}

void graph_frames(benchmark::State& state, const QString& network, bool zooms, bool selects) {
    MainWindow window;
    window.document()->setProofWanted(false);
    window.show();
    if (!open(window, network) || !openModules(window)) return state.SkipWithError("it did not open");
    GraphView& view = *window.graphView();
    if (selects) {
        OpList ops(window.document()->problem()->network->size());
        for (OpId op = 0; op < ops.size(); ++op) ops[op] = op;
        window.document()->setSelection(ops);
    }
    QTest::qWait(300);
    for (auto _ : state) {
        Frames frames;
        zooms ? zoom(view, frames) : pan(view, frames);
        frames.report(state);
    }
    state.counters["nodes"] = static_cast<double>(window.document()->scene()->nodes.size());
}

/// A pipelined step with at least that many spans.
std::shared_ptr<const TimelineData> largeTimeline(std::size_t spans) {
    const auto problem = test::problem(test::random_graph(1, 20'000), test::uniform_machine(4));
    Random random(1);
    const Placement placement = test::random_placement(*problem, random);
    SimulationOptions options;
    options.in_flight = 4;
    Trace trace;
    options.batches = 1;
    Simulator(problem, options).run(placement, trace);
    options.batches = static_cast<std::uint32_t>(spans / trace.spans.size() + 1);
    trace = {};
    Outcome outcome = Simulator(problem, options).run(placement, trace);
    return TimelineData::build(problem, std::move(trace), std::move(outcome));
}

void timeline_frames(benchmark::State& state, bool zooms) {
    constexpr std::size_t kSpans = 1'000'000;
    const auto timeline = largeTimeline(kSpans);
    TimelineView view;
    view.resize(1400, 600);
    view.show();
    view.setData(timeline);
    QTest::qWait(100);
    for (int i = 0; i < 6 && !zooms; ++i) sendWheel(view, QPointF(700, 300), 1, Qt::ControlModifier);
    for (auto _ : state) {
        Frames frames;
        zooms ? zoom(view, frames, Qt::ControlModifier) : pan(view, frames);
        frames.report(state);
    }
    state.counters["spans"] = static_cast<double>(timeline->trace.spans.size());
}

/// From the request to a window at rest. The peak of memory is that of the process.
void open_large(benchmark::State& state, const QString& network) {
    MainWindow window;
    window.document()->setProofWanted(false);
    window.show();
    QTest::qWait(100);
    for (auto _ : state) {
        const Stalls stalls;
        if (!open(window, network)) return state.SkipWithError("it did not open");
        QTest::qWait(300);
        stalls.report(state);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1000;
}

/// What a person does with a large network, each the handlers that one action causes.
void actions_large(benchmark::State& state, const QString& network) {
    MainWindow window;
    window.document()->setProofWanted(false);
    window.show();
    if (!open(window, network)) return state.SkipWithError("it did not open");
    showAllPanels(window);
    const auto& document = *window.document();
    constexpr int kTimersMs = 500;  // until all delayed work has begun
    QTest::qWait(kTimersMs);
    std::string label;
    double longest = 0;
    const auto measure = [&](const char* name, const auto& act) {
        WatchedApplication::Handler most;
        WatchedApplication::instance()->observe(0, [&](const WatchedApplication::Handler& handler) {
            if (handler.cpu_s >= most.cpu_s) most = handler;
        });
        const double begin = threadTime_ms();
        act();
        const double direct = threadTime_ms() - begin;
        QTest::qWait(kTimersMs);
        if (!settle(window)) state.SkipWithError("it does not come to rest");
        WatchedApplication::instance()->observe(0, {});
        state.counters[std::string(name) + "_ms"] = std::max(1e3 * most.cpu_s, 0.0);
        std::fprintf(stderr, "%-14s %7.1f ms (direct %7.1f): %s\n", name, 1e3 * most.cpu_s, direct,
                     most.what.c_str());
        if (most.cpu_s > longest) {
            longest = most.cpu_s;
            label = std::string(name) + ": " + most.what;
        }
    };
    for (auto _ : state) {
        measure("select_all", [&] {
            window.graphView()->setFocus();
            QTest::keyClick(window.graphView(), Qt::Key_A, Qt::ControlModifier);
        });
        measure("deselect", [&] { QTest::keyClick(window.graphView(), Qt::Key_Escape); });
        measure("select_one", [&] { window.document()->setSelection({17}); });
        measure("hover", [&] {
            for (int i = 0; i < 50; ++i)
                QTest::mouseMove(window.graphView(), QPoint(200 + 6 * i, 200 + 3 * i));
        });
        measure("hover_time", [&] {
            for (int i = 0; i < 50; ++i)
                QTest::mouseMove(window.timelineView(), QPoint(200 + 6 * i, 60 + 3 * i));
        });
        measure("move", [&] { window.document()->moveOps({17, 18}, 1); });
        measure("move_all", [&] {
            OpList ops(document.problem()->network->size() / 2);
            for (OpId op = 0; op < ops.size(); ++op) ops[op] = op;
            window.document()->moveOps(ops, 2);
        });
        measure("undo", [&] { window.document()->undoStack()->undo(); });
        measure("find", [&] {
            QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier);
            QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("op1"));
        });
        measure("find_device", [&] {
            auto* edit = qobject_cast<QLineEdit*>(QApplication::focusWidget());
            if (edit == nullptr) return;
            edit->clear();
            QTest::keyClicks(edit, QStringLiteral("device:gpu:1"));
        });
        measure("find_next", [&] { QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return); });
        measure("find_close", [&] { QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape); });
        measure("palette", [&] {
            QTest::keyClick(&window, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
            QTest::qWait(50);
            if (QApplication::focusWidget() != nullptr)
                QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("op99"));
        });
        measure("palette_close", [&] {
            if (QWidget* popup = QApplication::activeModalWidget()) QTest::keyClick(popup, Qt::Key_Escape);
            if (QWidget* popup = QApplication::activePopupWidget()) QTest::keyClick(popup, Qt::Key_Escape);
        });
        measure("resize", [&] { window.resize(1300, 800); });
    }
    state.counters["stall_ms"] = 1e3 * longest;
    state.SetLabel(label);
}

/// Searches with all panels on the screen: the longest handler, the share of its time that the window's
/// thread works, and how regularly a picture could be drawn (gap_p99_ms: between the ticks of a timer of 16
/// ms, on the clock).
void optimize(benchmark::State& state, const QString& network, const char* algorithm, int searches,
              double seconds) {
    MainWindow window;
    window.document()->setProofWanted(false);
    window.show();
    window.document()->setMachine(QStringLiteral("8x-a100-nvlink"));
    if (!open(window, network)) return state.SkipWithError("it did not open");
    showAllPanels(window);
    if (!settle(window)) return state.SkipWithError("it does not come to rest");
    for (auto _ : state) {
        std::vector<double> gaps;
        double last = clockTime_s();
        QTimer frame;
        frame.setTimerType(Qt::PreciseTimer);
        QObject::connect(&frame, &QTimer::timeout, &frame, [&] {
            const double now = clockTime_s();
            gaps.push_back(1e3 * (now - last));
            last = now;
        });
        frame.start(16);
        const Stalls stalls;
        for (int search = 0; search < searches; ++search) {
            RunRequest request;
            request.algorithm = algorithm;
            request.seed = 1 + search;
            request.budget.seconds = seconds;
            if (window.document()->startSearch(std::move(request)) == 0)
                return state.SkipWithError("no search starts: no placement fits");
        }
        while (window.document()->isSearching()) QTest::qWait(50);
        stalls.report(state);
        std::ranges::sort(gaps);
        state.counters["gap_p50_ms"] = gaps[gaps.size() / 2];
        state.counters["gap_p99_ms"] = gaps[gaps.size() * 99 / 100];
        state.counters["gap_max_ms"] = gaps.back();
    }
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QTemporaryDir folder;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder.path());
    placewright::test::WatchedApplication app(argc, argv);
    QCoreApplication::setOrganizationName(QStringLiteral("Placewright"));
    QCoreApplication::setApplicationName(QStringLiteral("bench_frames"));
    using namespace placewright;
    const auto written = [&](const Graph& graph, const char* name) {
        const QString file = folder.filePath(QLatin1String(name));
        write_network(graph, file.toStdString());
        return file;
    };
    const auto add = [](const std::string& name, const auto& measure) {
        benchmark::RegisterBenchmark(name.c_str(), measure)
            ->Iterations(1)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    };
    const auto file = [](const char* kind, int ops) {
        return QStringLiteral("%1_%2.json").arg(QLatin1String(kind)).arg(ops);
    };
    // Networks are written when a benchmark needs them: the large ones take seconds.
    const auto network = [folderPath = folder.path(), written, file](const char* kind, int ops) {
        const QString path = folderPath + QLatin1Char('/') + file(kind, ops);
        if (!QFile::exists(path))
            written(std::string_view(kind) == "random" ? test::random_graph(1, ops)
                                                       : test::modular_network(1, ops),
                    qPrintable(file(kind, ops)));
        return path;
    };
    for (const bool zooms : {false, true}) {
        const std::string how = zooms ? "zoom" : "pan";
        add("graph_frames/" + how + "/inception_v3", [=](benchmark::State& state) {
            graph_frames(state, QStringLiteral("inception_v3"), zooms, false);
        });
        add("graph_frames/" + how + "/random_10000",
            [=](benchmark::State& state) { graph_frames(state, network("random", 10'000), zooms, false); });
        add("graph_frames/" + how + "_all_selected/random_10000",
            [=](benchmark::State& state) { graph_frames(state, network("random", 10'000), zooms, true); });
        add("graph_frames/" + how + "/modular_10000",
            [=](benchmark::State& state) { graph_frames(state, network("modular", 10'000), zooms, false); });
        add("timeline_frames/" + how + "/1000000",
            [=](benchmark::State& state) { timeline_frames(state, zooms); });
    }
    for (const char* kind : {"random", "modular"}) {
        for (const int ops : {10'000, 100'000}) {
            const std::string name = std::string("/") + kind + "_" + std::to_string(ops);
            add("open_large" + name, [=](benchmark::State& state) { open_large(state, network(kind, ops)); });
            add("actions_large" + name,
                [=](benchmark::State& state) { actions_large(state, network(kind, ops)); });
        }
        for (const char* algorithm : {"auto", "map-elites"}) {
            add(std::string("optimize/") + algorithm + "/" + kind + "_10000",
                [=](benchmark::State& state) { optimize(state, network(kind, 10'000), algorithm, 1, 10); });
        }
    }
    add("optimize/ten_searches/inception_v3",
        [](benchmark::State& state) { optimize(state, QStringLiteral("inception_v3"), "genetic", 10, 10); });
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
