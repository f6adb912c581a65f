// SPDX-License-Identifier: MIT
// window_at_work training|saving FOLDER: a main window that trains a policy, or saves and exports again and
// again, until it is killed. Its settings and session are those of $XDG_CONFIG_HOME and $XDG_STATE_HOME.
#include <cstdio>

#include <QComboBox>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>

#include "app/window/learn/learn_window.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/picture.hpp"
#include "app/window/settings.hpp"
#include "app/window/workspace_keeper.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"

using namespace placewright;

namespace {

int train(test::Shown& shown) {
    shown.window.learning()->train();
    auto* learn = shown.window.findChild<LearnWindow*>();
    auto* source = learn->findChild<QComboBox*>(QStringLiteral("source"));
    source->setCurrentIndex(source->findData(QStringLiteral("open")));
    learn->findChild<QSpinBox*>(QStringLiteral("updates"))->setValue(1'000'000);
    QTest::mouseClick(learn->findChild<QPushButton*>(QStringLiteral("start")), Qt::LeftButton);
    return QApplication::exec();
}

/// Round n has the seed n in the workspace, and says so once all files of the round are written.
int save(test::Shown& shown, const QString& folder) {
    test::giveFile(folder + QStringLiteral("/work.placewright"));
    for (int round = 1;; ++round) {
        shown.window.chooseSeed(round);
        shown.document.moveOps({shown.op("branch0")}, static_cast<DeviceId>(round % 2));
        if (!shown.waitUntilIdle() || !shown.window.keeper()->save(true)) return 1;
        shown.document.exportPlacement(folder + QStringLiteral("/placement.json"));
        exportWidget(folder + QStringLiteral("/graph.png"), shown.window.graphView());
        std::printf("%d\n", round);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    test::WatchedApplication app(argc, argv);
    const QString what = QString::fromLocal8Bit(argv[1]), folder = QString::fromLocal8Bit(argv[2]);
    const test::Workplace place;
    const QString network = folder + QStringLiteral("/wide.json"),
                  machine = folder + QStringLiteral("/machine.json");
    QFile::copy(place.write("wide.json", test::wide_graph(6)), network);
    QFile::copy(place.write("machine.json", test::uniform_machine(2)), machine);
    settings::tightenBound.set(false);
    test::Shown shown;
    if (!shown.open(network, machine)) return 1;
    shown.window.keeper()->startSession(false);
    return what == QLatin1String("training") ? train(shown) : save(shown, folder);
}
