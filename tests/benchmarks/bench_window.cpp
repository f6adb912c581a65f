// SPDX-License-Identifier: MIT
// Latencies that the user sees: from opening a network to drawing it, and from a drop to the new figures.
// Runs on the offscreen platform.
#include <QApplication>
#include <QFileInfo>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <benchmark/benchmark.h>

#include "app/window/main_window.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/graphs.hpp"
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

/// From the request until graph, timeline and all panels are painted. Half of the time is spent on the file,
/// the simulation and the layout, outside the window's thread.
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

/// From the drop of one op until the new timeline, figures and colours are painted.
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

/// From the start of a drag of one op (another op each time) to the step times on all targets. The devices
/// hold consecutive stretches of the network in turn.
void drag_to_previews(benchmark::State& state, const QString& network) {
    MainWindow window;
    Document& document = *window.document();
    document.setProofWanted(false);
    QSignalSpy timeline(&document, &Document::timelineChanged);
    document.openNetwork(network);
    if (!timeline.wait(kPatience_ms)) {
        state.SkipWithError("the network did not open");
        return;
    }
    document.cancelLoading();  // cancels the layout
    const Problem& problem = *document.problem();
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        const auto gpus = problem.allowed_devices(group).last(4);
        placement[group] = gpus[group * gpus.size() / problem.groups];
    }
    document.showPlacement(placement, {});
    while (document.isBusy()) QSignalSpy(&document, &Document::settled).wait(kPatience_ms);
    QSignalSpy previews(&document, &Document::previewReady);
    OpId op = 0;
    for (auto _ : state) {
        op = (op + 7919) % static_cast<OpId>(problem.forward->size());
        document.requestPreview({op});
        if (!previews.wait(kPatience_ms)) {
            state.SkipWithError("no step times came");
            return;
        }
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
        benchmark::RegisterBenchmark((std::string("open_to_drawn/") + network).c_str(), open_to_drawn,
                                     network)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark((std::string("drop_to_numbers/") + network).c_str(), drop_to_numbers,
                                     network)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    }
    const QString large = settings.filePath(QStringLiteral("random_10000.json"));
    write_network(test::random_graph(1, 10'000), large.toStdString());
    for (const QString& network : {QStringLiteral("inception_v3"), large}) {
        const std::string name = QFileInfo(network).completeBaseName().toStdString();
        benchmark::RegisterBenchmark(("drag_to_previews/" + name).c_str(), drag_to_previews, network)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
