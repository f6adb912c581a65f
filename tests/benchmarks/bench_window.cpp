// SPDX-License-Identifier: MIT
// What a person waits for: a network opened and drawn, a drop and its new numbers. Runs on the offscreen platform.
#include <QApplication>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <benchmark/benchmark.h>

#include "app/main_window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr int kPatience_ms = 60'000;

void paintAll(MainWindow& window) {
    benchmark::DoNotOptimize(window.grab().width());
}

/// Opens the network and waits for scene and timeline.
bool open(MainWindow& window, const QString& network) {
    QSignalSpy scene(window.document(), &Document::sceneChanged);
    window.document()->openNetwork(network);
    while (scene.isEmpty() || !window.document()->timeline()) {
        if (!QSignalSpy(window.document(), &Document::settled).wait(kPatience_ms)) return false;
    }
    return true;
}

/// From the request to the graph, the timeline and all panels painted. Half of the time goes by in the file, the simulation and the layout,
/// off the window's thread.
void open_to_drawn(benchmark::State& state, const char* network) {
    MainWindow window;
    window.show();
    for (auto _ : state) {
        if (!open(window, QString::fromLatin1(network))) {
            state.SkipWithError("the network did not open");
            return;
        }
        paintAll(window);
    }
}

/// From the drop of one op to the new timeline, numbers and colours painted.
void drop_to_numbers(benchmark::State& state, const char* network) {
    MainWindow window;
    window.show();
    if (!open(window, QString::fromLatin1(network))) {
        state.SkipWithError("the network did not open");
        return;
    }
    paintAll(window);
    DeviceId device = 1;
    for (auto _ : state) {
        QSignalSpy timeline(window.document(), &Document::timelineChanged);
        window.document()->moveOps({10}, device = static_cast<DeviceId>(3 - device));
        if (timeline.isEmpty() && !timeline.wait(kPatience_ms)) {
            state.SkipWithError("no timeline came");
            return;
        }
        paintAll(window);
    }
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QTemporaryDir settings;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    QApplication app(argc, argv);
    QCoreApplication::setOrganizationName(QStringLiteral("Placewright"));
    QCoreApplication::setApplicationName(QStringLiteral("bench_window"));
    using namespace placewright;
    for (const char* network : {"alexnet", "resnet50", "inception_v3"}) {
        benchmark::RegisterBenchmark((std::string("open_to_drawn/") + network).c_str(), open_to_drawn, network)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark((std::string("drop_to_numbers/") + network).c_str(), drop_to_numbers, network)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
