// SPDX-License-Identifier: MIT
// The best placements of a run are measured from the window, by mouse and keyboard. Where times matter, a
// runner of the test gives them; it waits at a gate where the test has to act in the middle.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>
#include <QUndoStack>

#include "app/window/dialogs/best_dialog.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/graph/network_builder.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/menus.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/measured_panel.hpp"
#include "widgets/placements_view.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/steps_plot.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatienceMs = 60'000;

/// Layers whose steps take about a millisecond, with ops enough for many placements.
Graph layers() {
    NetworkBuilder net("layers", 2);
    Value x = net.input("x", std::array<std::int64_t, 1>{8});
    for (int layer = 0; layer < 4; ++layer) {
        const std::string name = "layer" + std::to_string(layer);
        x = net.relu(name + "/relu", net.linear(name + "/linear", x, 8));
    }
    net.cross_entropy("loss", x);
    return net.build();
}

/// Lets through as many as it was opened for.
class Gate {
public:
    void open(int count) {
        {
            const std::scoped_lock lock(m_mutex);
            m_open += count;
        }
        m_changed.notify_all();
    }
    /// Returns false if `stop` is requested first.
    bool pass(std::stop_token stop) {
        std::unique_lock lock(m_mutex);
        if (!m_changed.wait(lock, std::move(stop), [this] { return m_open > 0; })) return false;
        --m_open;
        return true;
    }

private:
    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    int m_open = 0;
};

/// Steps of these times, one placement after the other; the last time is repeated. A time of 0 runs out of
/// memory.
PlacementRunner listed(std::vector<double> times_s, std::shared_ptr<Gate> gate = {}) {
    return [times_s = std::move(times_s), gate = std::move(gate), next = std::make_shared<std::size_t>(0)](
               const std::shared_ptr<const Problem>& problem, std::span<const DeviceId>,
               std::span<const PhysicalDevice>, const MeasureOptions& options,
               std::stop_token stop) -> std::optional<Measurement> {
        if (gate && !gate->pass(std::move(stop))) return std::nullopt;
        const double time_s = times_s[std::min((*next)++, times_s.size() - 1)];
        if (time_s == 0) throw OutOfMemory(0, "out of memory");
        for (std::uint32_t step = 0; step < options.steps; ++step) options.step_told(time_s);
        Measurement measurement;
        measurement.step = {0.99 * time_s, time_s, 1.01 * time_s};
        measurement.run.peak_bytes.assign(problem->devices, 0);
        return measurement;
    };
}

void backToWindow(Shown& shown) {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    shown.window.activateWindow();
    if (!QTest::qWaitForWindowActive(&shown.window)) qFatal("the window does not get the keys back");
}

void enter(QSpinBox* box, int value) {
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QString::number(value));
}

BestDialog* bestDialog(Shown& shown) {
    auto* dialog = shown.window.findChild<BestDialog*>();
    if (dialog == nullptr || !QTest::qWaitForWindowExposed(dialog)) qFatal("the dialog does not appear");
    return dialog;
}

/// Opens the dialog by its key.
BestDialog* openDialog(Shown& shown) {
    backToWindow(shown);
    QTest::keyClick(&shown.window, Qt::Key_F7, Qt::ShiftModifier);
    return bestDialog(shown);
}

QPushButton* startButton(const BestDialog* dialog) {
    return dialog->findChild<QPushButton*>("startBest");
}

/// Enters these numbers and starts the measurement, once the devices are known.
void start(Shown& shown, BestDialog* dialog, int placements, int steps, int more = 0) {
    if (!QTest::qWaitFor([&] { return startButton(dialog)->isEnabled(); }, kPatienceMs))
        qFatal("%s", qPrintable(dialog->findChild<QLabel*>("planTitle")->text()));
    enter(dialog->findChild<QSpinBox*>("bestCount"), placements);
    enter(dialog->findChild<QSpinBox*>("bestSteps"), steps);
    if (more > 0) {
        auto* goOn = dialog->findChild<QCheckBox*>("bestGoOn");
        goOn->setFocus();
        QTest::keyClick(goOn, Qt::Key_Space);
        enter(dialog->findChild<QSpinBox*>("bestEvaluations"), more);
    }
    QTest::mouseClick(startButton(dialog), Qt::LeftButton);
    backToWindow(shown);
}

void measure(Shown& shown, int placements, int steps, int more = 0) {
    start(shown, openDialog(shown), placements, steps, more);
}

/// Measures anew, which asks whether what was measured before may go; answers with the button of this text.
void measureAgain(Shown& shown, int placements, int steps,
                  const QString& answer = QStringLiteral("&Replace")) {
    int asked = 0;
    QTimer answers;
    QObject::connect(&answers, &QTimer::timeout, [&] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box == nullptr) return;
        for (QAbstractButton* each : box->buttons()) {
            if (each->text() != answer) continue;
            ++asked;
            each->click();
            return;
        }
    });
    answers.start(20);
    measure(shown, placements, steps);
    if (asked != 1) qFatal("it was not asked once");
}

bool measures(const Shown& shown) {
    return shown.document.measuring().running() != Measuring::Kind::none;
}

PlacementsTable* table(const Shown& shown) {
    return shown.window.measuredPanel()->placements()->table();
}

std::size_t measuredCount(const Shown& shown) {
    const auto placements = shown.document.measuredPlacements();
    return placements ? placements->all.size() : 0;
}

QPushButton* button(const Shown& shown, const char* name) {
    return shown.window.findChild<QPushButton*>(QString::fromLatin1(name));
}

}  // namespace

class TestWindowBest : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_network, m_machine;

    /// Opens the network and searches; returns the run.
    const Run& searched(Shown& shown, const char* algorithm = "genetic", std::uint64_t evaluations = 300) {
        if (!shown.open(m_network, m_machine)) qFatal("%s", qPrintable(shown.message()));
        shown.document.startSearch(test::request(algorithm, evaluations));
        if (!shown.waitUntilIdle()) qFatal("the search does not end");
        return *shown.document.runs().back();
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_network = m_place->write("layers.json", layers());
        m_machine = m_place->write("machine.json", test::uniform_machine(2));
    }

    void runsKeepTheirBestPlacements_data() {
        QTest::addColumn<QString>("algorithm");
        for (const char* algorithm : {"genetic", "map-elites", "auto"})
            QTest::addRow("%s", algorithm) << algorithm;
    }
    void runsKeepTheirBestPlacements() {
        QFETCH(const QString, algorithm);
        Shown shown;
        const Run& run = searched(shown, algorithm.toUtf8().constData());
        const std::vector<ScoredPlacement> best = run.bestPlacements(8);
        QCOMPARE(best.size(), std::size_t{8});
        Simulator simulator(run.job().problem, run.job().simulation);
        bool hasResult = false;
        for (std::size_t k = 0; k < best.size(); ++k) {
            QCOMPARE(best[k].score.value_s, simulator.run(best[k].placement).step_time_s);
            if (k > 0) QVERIFY(best[k].score.penalised_s >= best[k - 1].score.penalised_s);
            for (std::size_t other = 0; other < k; ++other)
                QVERIFY(best[k].placement != best[other].placement);
            hasResult |= best[k].placement == *run.progress().best_placement;
        }
        QVERIFY(hasResult);
        QCOMPARE(run.bestPlacements(1).front().placement, *run.progress().best_placement);

        // A search that is saved and resumed has them too.
        const QString file = m_place->file("search.json");
        shown.document.saveSearch(run.id(), file);
        QVERIFY(shown.waitUntilIdle());
        shown.document.removeRun(run.id());
        shown.document.resumeSearch(file, {300});
        QVERIFY(shown.waitUntilIdle());
        const std::vector<ScoredPlacement> again = shown.document.runs().back()->bestPlacements(8);
        QCOMPARE(again.size(), best.size());
        for (std::size_t k = 0; k < best.size(); ++k) QCOMPARE(again[k].placement, best[k].placement);
    }

    void whatSpeaksAgainstTheTimesIsSaid() {
        Shown shown;
        searched(shown);
        const PlacementRunner quiet = listed({3e-3, 2e-3});
        auto runs = std::make_shared<int>(0);
        shown.document.setPlacementRunner([=](const std::shared_ptr<const Problem>& problem,
                                              std::span<const DeviceId> placement,
                                              std::span<const PhysicalDevice> devices,
                                              const MeasureOptions& options, std::stop_token stop) {
            auto measurement = quiet(problem, placement, devices, options, std::move(stop));
            measurement->disturbed = (*runs)++ == 0 ? 0.4 : 0.0;
            measurement->cores_for_accelerators = true;
            return measurement;
        });
        measure(shown, 2, 3);
        QVERIFY(shown.waitUntilIdle());
        const QString text = shown.message();
        QVERIFY2(text.startsWith("Measured best") &&
                     text.contains(
                         "The times of 1 of 2 placements may be wrong: the cores were not free for 40 %") &&
                     text.contains("Cores ran what is simulated on GPUs"),
                 qPrintable(text));
    }

    void theFastestIsShownAndUndone() {
        Shown shown;
        const Run& run = searched(shown);
        shown.document.setPlacementRunner(listed({5e-3, 4e-3, 2e-3, 3e-3, 4.5e-3}));
        const Placement before = shown.document.placement();
        // The menu of the run.
        test::raise(shown.window.runsView());
        const QPoint row =
            shown.window.runsView()->visualRect(shown.window.runsView()->model()->index(0, 0)).center();
        QContextMenuEvent asked(QContextMenuEvent::Mouse, row,
                                shown.window.runsView()->viewport()->mapToGlobal(row));
        QCoreApplication::sendEvent(shown.window.runsView()->viewport(), &asked);
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu != nullptr);
        const auto actions = menu->actions();
        const auto measureIt =
            std::ranges::find(actions, QStringLiteral("Measure the best placements…"), &QAction::text);
        QVERIFY(measureIt != actions.end());
        test::clickInMenu(menu, *measureIt);
        BestDialog* dialog = bestDialog(shown);
        QCOMPARE(dialog->findChild<QComboBox*>("bestRun")->currentData().toInt(), run.id());
        QCOMPARE(dialog->findChild<QSpinBox*>("bestCount")->value(), 10);
        QTRY_VERIFY_WITH_TIMEOUT(startButton(dialog)->isEnabled(), kPatienceMs);
        const QString devices = dialog->findChild<QPlainTextEdit*>("planList")->toPlainText();
        QVERIFY2(devices.contains("gpu:0 is ") && devices.contains("gpu:1 is "), qPrintable(devices));
        const auto* estimate = dialog->findChild<QLabel*>("bestEstimate");
        start(shown, dialog, 5, 3);
        QVERIFY(estimate != nullptr);
        QVERIFY(shown.waitUntilIdle());
        const auto placements = shown.document.measuredPlacements();
        QVERIFY2(placements != nullptr, qPrintable(shown.message()));
        QCOMPARE(placements->state, MeasuredPlacements::State::finished);
        QCOMPARE(placements->all.size(), std::size_t{5});
        QCOMPARE(placements->fastest(), std::optional<std::size_t>(2));
        QCOMPARE(placements->all[2].measured.value_s, 2e-3);
        const std::vector<ScoredPlacement> best = run.bestPlacements(5);
        for (std::size_t k = 0; k < 5; ++k) {
            QCOMPARE(*placements->all[k].placement, best[k].placement);
            QCOMPARE(placements->all[k].simulated.value_s,
                     test::simulated(shown.document, best[k].placement));
        }
        QCOMPARE(shown.document.placement(), best[2].placement);
        QVERIFY(shown.document.placement() != before);
        QCOMPARE(shown.stepTime(), best[2].score.value_s);
        const QString text = shown.message();
        QVERIFY2(
            text.startsWith("Measured best: " + secondsText(2e-3)) && text.contains("It is now on screen"),
            qPrintable(text));

        // The panel: a row and a dot each, and how well they agree.
        QVERIFY(test::panelVisible(shown, "measuredDock"));
        QCOMPARE(table(shown)->topLevelItemCount(), 5);
        QCOMPARE(table(shown)->itemOf(2)->text(PlacementsTable::Measured), secondsText(2e-3));
        QCOMPARE(table(shown)->itemOf(2)->text(PlacementsTable::Noise), QStringLiteral("2.0 %"));
        QVERIFY(table(shown)->itemOf(2)->font(0).bold());
        QVERIFY(!table(shown)->itemOf(1)->font(0).bold());
        const StepsPlot* plot = shown.window.measuredPanel()->steps();
        QVERIFY(plot->isVisible());
        for (std::size_t k = 0; k < 5; ++k) QVERIFY(plot->positionOfPlacement(k).has_value());
        QVERIFY2(test::stepsFigures(shown).startsWith("5 placements"), qPrintable(test::stepsFigures(shown)));
        QVERIFY(!button(shown, "showFastest")->isVisible());
        QVERIFY(!button(shown, "cancelPlacements")->isVisible());

        // One step back, and what was measured stays.
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), before);
        QCOMPARE(measuredCount(shown), std::size_t{5});
        QVERIFY(!table(shown)->itemOf(2)->font(0).bold());
        // The button brings it again.
        QVERIFY(button(shown, "showFastest")->isVisible());
        QTest::mouseClick(button(shown, "showFastest"), Qt::LeftButton);
        QCOMPARE(shown.document.placement(), best[2].placement);
        // The next dialog proposes as many.
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(openDialog(shown)->findChild<QSpinBox*>("bestCount")->value(), 5);
    }

    void theyAreInTheWorkspace_data() {
        QTest::addColumn<bool>("stops");
        QTest::newRow("all") << false;
        QTest::newRow("stopped") << true;
    }
    void theyAreInTheWorkspace() {
        QFETCH(bool, stops);
        const QString file = m_place->file("work.placewright");
        Shown before;
        searched(before);
        test::giveFile(file);
        QVERIFY(before.window.keeper()->save(true));
        QVERIFY(!before.window.isWindowModified());
        const auto gate = std::make_shared<Gate>();
        gate->open(stops ? 3 : 5);
        before.document.setPlacementRunner(listed({2e-3, 4e-3, 0, 3e-3, 4.5e-3}, gate));
        measure(before, 5, 3);
        if (stops) {
            QTRY_COMPARE_WITH_TIMEOUT(measuredCount(before), std::size_t{3}, kPatienceMs);
            before.document.cancelMeasuring();
        }
        QVERIFY(before.waitUntilIdle());
        const auto of = before.document.measuredPlacements();
        QVERIFY(of && of->all.size() == (stops ? 3 : 5));
        QVERIFY(before.window.isWindowModified());
        // The placement on screen is saved; closing asks for what was measured.
        QVERIFY(!before.document.unsaved());
        QString asked;
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&] {
            if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
                asked = box->text() + QLatin1Char(' ') + box->informativeText();
                QTest::keyClick(box, Qt::Key_Escape);
            }
        });
        answers.start(20);
        QVERIFY(!before.window.close());
        answers.stop();
        QVERIFY2(
            asked.contains("What was measured is not saved") &&
                asked.contains(QStringLiteral("%1 measured placements are in no file").arg(of->all.size())),
            qPrintable(asked));
        backToWindow(before);
        QTest::keyClick(&before.window, Qt::Key_S, Qt::ControlModifier);
        QTRY_VERIFY_WITH_TIMEOUT(!before.window.isWindowModified(), kPatienceMs);
        QVERIFY(before.window.close());

        Shown after;
        QVERIFY(after.dropFile(file));
        QTRY_COMPARE_WITH_TIMEOUT(measuredCount(after), of->all.size(), kPatienceMs);
        QVERIFY(after.waitUntilIdle());
        QVERIFY(!after.window.isWindowModified());
        const auto found = after.document.measuredPlacements();
        QCOMPARE(found->run, of->run);
        QCOMPARE(found->state, of->state);
        QCOMPARE(found->wanted, of->wanted);
        QCOMPARE(found->awaited.size(), of->awaited.size());
        for (std::size_t k = 0; k < of->all.size(); ++k) {
            QCOMPARE(*found->all[k].placement, *of->all[k].placement);
            QCOMPARE(found->all[k].measured.value_s, of->all[k].measured.value_s);
            QCOMPARE(found->all[k].measured.fits, of->all[k].measured.fits);
            QCOMPARE(found->all[k].low_s, of->all[k].low_s);
            QCOMPARE(found->rank(k), of->rank(k));
        }
        test::raise(after.window.measuredPanel());
        after.window.measuredPanel()->showSteps();
        QCOMPARE(table(after)->topLevelItemCount(), static_cast<int>(of->all.size()));
        QTest::mouseClick(table(after)->viewport(), Qt::LeftButton, {},
                          table(after)->visualItemRect(table(after)->itemOf(1)).center());
        QTest::keyClick(table(after), Qt::Key_Return);
        QCOMPARE(after.document.placement(), *of->all[1].placement);
    }

    void pointsGrowLive() {
        Shown shown;
        searched(shown);
        const auto gate = std::make_shared<Gate>();
        shown.document.setPlacementRunner(listed({4e-3, 3e-3, 2e-3, 5e-3}, gate));
        measure(shown, 4, 2);
        QVERIFY(measures(shown));
        const StepsPlot* plot = shown.window.measuredPanel()->steps();
        const auto* state = shown.window.findChild<QLabel*>("placementsState");
        QVERIFY(button(shown, "cancelPlacements")->isVisible());
        QCOMPARE(table(shown)->topLevelItemCount(), 0);
        for (int k = 1; k <= 3; ++k) {
            QVERIFY2(state->text().contains(QStringLiteral("placement %1 of 4").arg(k)),
                     qPrintable(state->text()));
            gate->open(1);
            QTRY_COMPARE_WITH_TIMEOUT(table(shown)->topLevelItemCount(), k, kPatienceMs);
            QVERIFY(plot->positionOfPlacement(static_cast<std::size_t>(k - 1)).has_value());
            QCOMPARE(test::stepsFigures(shown).contains("Pearson") &&
                         test::stepsFigures(shown).contains("Spearman"),
                     k == 3);
            const QString status = test::statusText(shown, "Search");
            QVERIFY2(status.contains(QStringLiteral("placement %1 of 4").arg(k + 1)) &&
                         status.contains("fastest " + secondsText((5 - k) * 1e-3)) &&
                         status.contains(" left"),
                     qPrintable(status));
            QVERIFY2(state->text().contains(" left"), qPrintable(state->text()));
        }
        // Nothing else can be measured meanwhile; the window can be used.
        QVERIFY(!shown.window.action(ActionId::measureBest)->isEnabled());
        shown.document.setSelection({shown.op("loss")});
        QCOMPARE(shown.document.selection().size(), std::size_t{1});
        gate->open(1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(table(shown)->topLevelItemCount(), 4);
        QVERIFY(shown.window.action(ActionId::measureBest)->isEnabled());
    }

    void cancellingKeepsWhatWasMeasured_data() {
        QTest::addColumn<QString>("by");
        for (const char* by : {"panel", "status bar", "key"}) QTest::addRow("%s", by) << by;
    }
    void cancellingKeepsWhatWasMeasured() {
        QFETCH(const QString, by);
        Shown shown;
        const Run& run = searched(shown);
        const auto gate = std::make_shared<Gate>();
        shown.document.setPlacementRunner(listed({4e-3, 3e-3, 2e-3}, gate));
        const Placement before = shown.document.placement();
        measure(shown, 6, 1);
        gate->open(2);
        QTRY_COMPARE_WITH_TIMEOUT(measuredCount(shown), std::size_t{2}, kPatienceMs);
        if (by == "panel") {
            QTest::mouseClick(button(shown, "cancelPlacements"), Qt::LeftButton);
        } else if (by == "key") {
            QTest::keyClick(&shown.window, Qt::Key_F7);
        } else {
            QTest::mouseClick(shown.window.findChild<QToolButton*>("stopMeasuring"), Qt::LeftButton);
        }
        QVERIFY(!measures(shown));
        QVERIFY(shown.waitUntilIdle());
        const auto placements = shown.document.measuredPlacements();
        QCOMPARE(placements->all.size(), std::size_t{2});
        QCOMPARE(placements->state, MeasuredPlacements::State::stopped);
        QCOMPARE(shown.document.placement(), before);
        const QString state = shown.window.findChild<QLabel*>("placementsState")->text();
        QVERIFY2(state.contains("stopped after 2 of 6"), qPrintable(state));
        QVERIFY(!button(shown, "cancelPlacements")->isVisible());
        QTest::mouseClick(button(shown, "showFastest"), Qt::LeftButton);
        QCOMPARE(shown.document.placement(), run.bestPlacements(2)[1].placement);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), before);
        // Another measurement begins anew, if those that are in no file may go.
        QVERIFY(shown.waitUntilIdle());
        gate->open(1);
        measureAgain(shown, 1, 1, QStringLiteral("Cancel"));
        QVERIFY(!measures(shown));
        QCOMPARE(measuredCount(shown), std::size_t{2});
        bestDialog(shown)->close();
        measureAgain(shown, 1, 1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(table(shown)->topLevelItemCount(), 1);
        QCOMPARE(measuredCount(shown), std::size_t{1});
    }

    void anEditMeanwhileStays() {
        Shown shown;
        const Run& run = searched(shown);
        const auto gate = std::make_shared<Gate>();
        shown.document.setPlacementRunner(listed({4e-3, 3e-3, 2e-3}, gate));
        measure(shown, 3, 1);
        gate->open(2);
        QTRY_COMPARE_WITH_TIMEOUT(measuredCount(shown), std::size_t{2}, kPatienceMs);
        shown.document.setSelection({shown.op("layer1/linear")});
        QTest::keyClick(shown.window.graphView(),
                        shown.deviceOf("layer1/linear") == 0 ? Qt::Key_2 : Qt::Key_1);
        const Placement edited = shown.document.placement();
        gate->open(1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(measuredCount(shown), std::size_t{3});
        QCOMPARE(shown.document.placement(), edited);
        QVERIFY2(shown.message().contains("was changed meanwhile"), qPrintable(shown.message()));
        QTest::mouseClick(button(shown, "showFastest"), Qt::LeftButton);
        QCOMPARE(shown.document.placement(), run.bestPlacements(3)[2].placement);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), edited);
    }

    void whatDoesNotFitIsNotTheFastest() {
        Shown shown;
        const Run& run = searched(shown);
        shown.document.setPlacementRunner(listed({4e-3, 0, 3e-3, 0}));
        measure(shown, 4, 1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.measuredPlacements()->fastest(), std::optional<std::size_t>(2));
        QCOMPARE(shown.document.placement(), run.bestPlacements(3)[2].placement);
        QCOMPARE(table(shown)->itemOf(1)->text(PlacementsTable::Measured), QStringLiteral("out of memory"));
        QCOMPARE(table(shown)->itemOf(1)->text(PlacementsTable::Fits), QStringLiteral("no"));
        QVERIFY(!shown.window.measuredPanel()->steps()->positionOfPlacement(1).has_value());
        // None that fits: the screen stays, and the message says so.
        const Placement before = shown.document.placement();
        shown.document.setPlacementRunner(listed({0}));
        measureAgain(shown, 2, 1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), before);
        QVERIFY2(shown.message().contains("more memory than a device has"), qPrintable(shown.message()));
        QVERIFY(!button(shown, "showFastest")->isVisible());
    }

    void rowsAndDotsAreChosenAndShown() {
        Shown shown;
        shown.window.resize(1400, 1000);
        const Run& run = searched(shown);
        shown.document.setPlacementRunner(listed({5e-3, 1e-3, 2e-5, 1e-4}));
        measure(shown, 4, 1);
        QVERIFY(shown.waitUntilIdle());
        const std::vector<ScoredPlacement> best = run.bestPlacements(4);
        StepsPlot* plot = shown.window.measuredPanel()->steps();
        plot->plot()->replot();  // at once, so that dots are where they are drawn
        const auto dotOf = [&](std::size_t index) { return plot->positionOfPlacement(index)->toPoint(); };
        QTest::mouseMove(plot->plot(), dotOf(2));
        QVERIFY2(QToolTip::text().contains("Fastest measured"), qPrintable(QToolTip::text()));
        QTest::mouseClick(plot->plot(), Qt::LeftButton, {}, dotOf(0));
        QCOMPARE(table(shown)->chosen(), std::optional<std::size_t>(0));
        QTest::mouseDClick(plot->plot(), Qt::LeftButton, {}, dotOf(0));
        QCOMPARE(shown.document.placement(), best[0].placement);
        QVERIFY(table(shown)->itemOf(0)->font(0).bold());
        // Rows.
        const auto rowOf = [&](std::size_t index) {
            table(shown)->scrollToItem(table(shown)->itemOf(index));
            return table(shown)->visualItemRect(table(shown)->itemOf(index)).center();
        };
        QTest::mouseClick(table(shown)->viewport(), Qt::LeftButton, {}, rowOf(3));
        QCOMPARE(table(shown)->chosen(), std::optional<std::size_t>(3));
        QTest::mouseDClick(table(shown)->viewport(), Qt::LeftButton, {}, rowOf(3));
        QCOMPARE(shown.document.placement(), best[3].placement);
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), best[0].placement);
        QTest::mouseClick(table(shown)->viewport(), Qt::LeftButton, {}, rowOf(1));
        QTest::keyClick(table(shown), Qt::Key_Return);
        QCOMPARE(shown.document.placement(), best[1].placement);
        QVERIFY(shown.waitUntilIdle());
        // The table is sorted by numbers.
        table(shown)->sortByColumn(PlacementsTable::Measured, Qt::AscendingOrder);
        QCOMPARE(table(shown)->topLevelItem(0)->text(PlacementsTable::Measured), secondsText(2e-5));
        QCOMPARE(table(shown)->topLevelItem(3)->text(PlacementsTable::Measured), secondsText(5e-3));
    }

    void theSearchGoesOnMeasured() {
        Shown shown;
        const Run& run = searched(shown);
        shown.document.setPlacementRunner(listed({5e-3, 4e-3, 6e-3, 3e-3, 1e-3, 2e-3}));
        measure(shown, 3, 1, 40);
        QVERIFY(shown.waitUntilIdle());
        const auto placements = shown.document.measuredPlacements();
        QCOMPARE(placements->wanted, std::size_t{43});
        // No placement is run twice; all but the first three were proposed by the algorithm.
        QVERIFY(placements->all.size() > 5 && placements->all.size() <= 43);
        for (std::size_t k = 0; k < placements->all.size(); ++k) {
            QCOMPARE(placements->all[k].proposed, k >= 3);
            for (std::size_t other = 0; other < k; ++other)
                QVERIFY(*placements->all[k].placement != *placements->all[other].placement);
        }
        QCOMPARE(placements->fastest(), std::optional<std::size_t>(4));
        QCOMPARE(shown.document.placement(), *placements->all[4].placement);
        QCOMPARE(placements->run, runTitle(run));
    }

    void theyAreRunForReal() {
        Shown shown;
        searched(shown);
        measure(shown, 4, 3);
        QVERIFY(measures(shown));
        QVERIFY(shown.waitUntilIdle());
        const auto placements = shown.document.measuredPlacements();
        QVERIFY2(placements != nullptr && placements->all.size() == 4, qPrintable(shown.message()));
        double least_s = 1e9;
        for (const auto& each : placements->all) {
            QVERIFY(each.measured.fits && each.low_s > 0 && each.low_s <= each.measured.value_s &&
                    each.measured.value_s <= each.high_s);
            least_s = std::min(least_s, each.measured.value_s);
        }
        QCOMPARE(placements->all[*placements->fastest()].measured.value_s, least_s);
        QCOMPARE(shown.document.placement(), *placements->all[*placements->fastest()].placement);
        QVERIFY2(shown.message().startsWith("Measured best"), qPrintable(shown.message()));
        QVERIFY(test::stepsFigures(shown).startsWith("4 placements"));
        // A benchmark is a dot beside them.
        MeasuredRun run;
        run.name = "benchmark";
        run.placement = shown.document.placement();
        run.trace.spans = shown.document.timeline()->trace.spans;
        run.step_times_s = {least_s};
        shown.document.addMeasured(run);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(test::stepsFigures(shown).startsWith("5 placements"));
    }

    void errorsAreTold() {
        Shown shown;
        searched(shown);
        int run = 0;
        shown.document.setPlacementRunner(
            [&run, first = listed({2e-3})](const std::shared_ptr<const Problem>& problem,
                                           std::span<const DeviceId> placement,
                                           std::span<const PhysicalDevice> devices,
                                           const MeasureOptions& options, std::stop_token stop) {
                if (run++ > 0) throw MeasureError("layer0/linear cannot be run");
                return first(problem, placement, devices, options, std::move(stop));
            });
        const Placement before = shown.document.placement();
        measure(shown, 3, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("layer0/linear cannot be run"), qPrintable(shown.message()));
        QCOMPARE(measuredCount(shown), std::size_t{1});
        QCOMPARE(shown.document.measuredPlacements()->state, MeasuredPlacements::State::stopped);
        QCOMPARE(shown.document.placement(), before);
    }

    void searchesPauseMeanwhile() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const int id = shown.document.startSearch(test::request("random", test::kEndless));
        const Run& run = *shown.document.runs().back();
        QTRY_VERIFY_WITH_TIMEOUT(!run.bestPlacements(1).empty(), kPatienceMs);
        const auto gate = std::make_shared<Gate>();
        shown.document.setPlacementRunner(listed({2e-3}, gate));
        measure(shown, 2, 1);
        QVERIFY(shown.window.allPaused());
        gate->open(2);
        QTRY_VERIFY_WITH_TIMEOUT(!measures(shown), kPatienceMs);
        QVERIFY(!shown.window.allPaused());
        shown.document.cancelRun(id);
        QVERIFY(shown.waitUntilIdle());
    }

    void anotherProblemCancels_data() {
        QTest::addColumn<QString>("change");
        for (const char* change : {"network", "machine", "options"}) QTest::addRow("%s", change) << change;
    }
    void anotherProblemCancels() {
        QFETCH(const QString, change);
        Shown shown;
        searched(shown);
        const auto gate = std::make_shared<Gate>();
        shown.document.setPlacementRunner(listed({2e-3}, gate));
        measure(shown, 3, 1);
        gate->open(1);
        QTRY_COMPARE_WITH_TIMEOUT(measuredCount(shown), std::size_t{1}, kPatienceMs);
        // Another network is opened only once what was measured may be lost.
        QTimer discards;
        connect(&discards, &QTimer::timeout, this, [] {
            if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget()))
                box->button(QMessageBox::Discard)->click();
        });
        discards.start(20);
        if (change == "network") {
            shown.document.openNetwork(m_place->write("other.json", test::wide_graph(3)));
        } else if (change == "machine") {
            shown.document.setMachine(m_place->write("three.json", test::uniform_machine(3)));
        } else {
            JobOptions options = shown.document.options();
            options.problem.optimizer_states = 2;
            shown.document.setOptions(options);
        }
        QTRY_VERIFY_WITH_TIMEOUT(!measures(shown), kPatienceMs);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.measuredPlacements() == nullptr);
        QCOMPARE(table(shown)->topLevelItemCount(), 0);
        if (change == "network") return;
        // Back at the problem, what was measured of it is there.
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(measuredCount(shown), std::size_t{1});
        QCOMPARE(table(shown)->topLevelItemCount(), 1);
    }

    void closingTheWindowCancels() {
        Shown shown;
        searched(shown);
        shown.document.setPlacementRunner(listed({2e-3}, std::make_shared<Gate>()));
        shown.document.keepPlacement();
        measure(shown, 3, 1);
        QVERIFY(measures(shown));
        QVERIFY(shown.window.close());
        QVERIFY(!measures(shown));
        QVERIFY(shown.waitUntilIdle());
    }

    void aWindowMayGoWhileItMeasures() {
        auto shown = std::make_unique<Shown>();
        searched(*shown);
        measure(*shown, 3, 100'000);
        QVERIFY(measures(*shown));
        shown.reset();  // waits for the op under way alone
    }

    void theDialogSaysWhatIsMissing() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        const auto title = [](const BestDialog* dialog) {
            return dialog->findChild<QLabel*>("planTitle")->text();
        };
        const auto leave = [&](BestDialog* dialog) {
            QVERIFY(!startButton(dialog)->isEnabled());
            QTest::keyClick(dialog, Qt::Key_Return);
            QVERIFY(!measures(shown));
            QTest::keyClick(dialog, Qt::Key_Escape);
        };
        BestDialog* dialog = openDialog(shown);
        QVERIFY2(title(dialog).contains("start a search (F5)"), qPrintable(title(dialog)));
        leave(dialog);
        backToWindow(shown);
        shown.document.startSearch(test::request("genetic", 100));
        QVERIFY(shown.waitUntilIdle());

        JobOptions options = shown.document.options();
        options.simulation.batches = 3;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        dialog = openDialog(shown);
        QVERIFY2(title(dialog).contains("set Batches to 1"), qPrintable(title(dialog)));
        leave(dialog);

        // This objective is one of machines with a CPU.
        options.simulation.batches = 1;
        shown.document.setMachine("4x-v100-nvlink");
        options.objective = find_objective("max-load");
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(!shown.document.job().objective->is_step_time(), qPrintable(shown.message()));
        dialog = openDialog(shown);
        QVERIFY2(title(dialog).contains("What is measured is the step time"), qPrintable(title(dialog)));
        leave(dialog);

        options.objective = find_objective("step-time");
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        shown.document.setMachine(m_place->write("three.json", test::uniform_machine(3)));
        QVERIFY(shown.waitUntilIdle());
        dialog = openDialog(shown);
        QVERIFY2(title(dialog).contains("double-click a grey run"), qPrintable(title(dialog)));
        leave(dialog);

        // Ops that cannot be run are named.
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        shown.document.startSearch(test::request("genetic", 100));
        QVERIFY(shown.waitUntilIdle());
        dialog = openDialog(shown);
        auto* list = dialog->findChild<QPlainTextEdit*>("planList");
        QTRY_VERIFY_WITH_TIMEOUT(list->isVisible(), kPatienceMs);
        QVERIFY2(title(dialog).startsWith("10 ops cannot be run"), qPrintable(title(dialog)));
        leave(dialog);
    }

    void theDialogSaysWhatWouldBeMeasured() {
        Shown shown;
        const Run& run = searched(shown);
        BestDialog* dialog = openDialog(shown);
        QTRY_VERIFY_WITH_TIMEOUT(startButton(dialog)->isEnabled(), kPatienceMs);
        enter(dialog->findChild<QSpinBox*>("bestCount"), 4);
        enter(dialog->findChild<QSpinBox*>("bestSteps"), 9);
        double sum_s = 0;
        for (const ScoredPlacement& each : run.bestPlacements(4)) sum_s += 10 * each.score.value_s;
        const auto* estimate = dialog->findChild<QLabel*>("bestEstimate");
        QVERIFY2(estimate->text().contains("about " + secondsText(sum_s)) &&
                     estimate->text().contains("10 each of 4 placements"),
                 qPrintable(estimate->text()));
        auto* goOn = dialog->findChild<QCheckBox*>("bestGoOn");
        QVERIFY(!dialog->findChild<QSpinBox*>("bestEvaluations")->isEnabled());
        goOn->setFocus();
        QTest::keyClick(goOn, Qt::Key_Space);
        enter(dialog->findChild<QSpinBox*>("bestEvaluations"), 12);
        QVERIFY2(estimate->text().contains("about " + secondsText(4 * sum_s)) &&
                     estimate->text().contains("10 each of 16 placements"),
                 qPrintable(estimate->text()));
        QVERIFY(dialog->findChild<QLabel*>("bestKept")->text().contains("keeps its best"));
        QVERIFY(dialog->findChild<QCheckBox*>("throttle")->isVisible());
        // An elitist run says how many elites it has, and what is beyond them.
        QTest::keyClick(dialog, Qt::Key_Escape);
        backToWindow(shown);
        shown.document.startSearch(test::request("map-elites", 200));
        QVERIFY(shown.waitUntilIdle());
        const Run& elitist = *shown.document.runs().back();
        dialog = openDialog(shown);
        QCOMPARE(dialog->findChild<QComboBox*>("bestRun")->count(), 2);
        QCOMPARE(dialog->findChild<QComboBox*>("bestRun")->currentData().toInt(), elitist.id());
        const QString kept = dialog->findChild<QLabel*>("bestKept")->text();
        QVERIFY2(kept.contains(QString::number(elitist.progress().archive->elites.size()) + " elites"),
                 qPrintable(kept));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowBest)
#include "tst_window_best.moc"
