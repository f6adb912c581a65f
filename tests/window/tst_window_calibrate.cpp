// SPDX-License-Identifier: MIT
// Costs of devices fitted in the window, by mouse and keyboard, to times that were made up.
#include <memory>

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QTreeWidget>

#include "app/window/dialogs/calibration_dialog.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "core/base/text.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "tests/support/made_up_times.hpp"
#include "tests/support/menus.hpp"
#include "tests/support/window.hpp"
#include "widgets/calibration_plot.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatienceMs = 120'000;

const QString kNetwork = QStringLiteral("alexnet"), kOther = QStringLiteral("resnet50");

CalibrationDialog* openCalibration(Shown& shown) {
    test::pressInMenu(shown, shown.window.action(ActionId::calibrate));
    auto* dialog = shown.window.findChild<CalibrationDialog*>();
    if (dialog == nullptr || !QTest::qWaitForWindowExposed(dialog)) qFatal("the dialog does not appear");
    return dialog;
}

template <class Widget>
Widget* part(CalibrationDialog* dialog, const char* name) {
    auto* widget = dialog->findChild<Widget*>(QString::fromLatin1(name));
    if (widget == nullptr) qFatal("no %s", name);
    return widget;
}

void click(CalibrationDialog* dialog, const char* button) {
    QTest::mouseClick(part<QPushButton>(dialog, button), Qt::LeftButton);
}

QString textOf(CalibrationDialog* dialog, const char* label) {
    return part<QLabel>(dialog, label)->text();
}

void chooseTimes(CalibrationDialog* dialog, const QString& file) {
    test::giveFile(file);
    click(dialog, "chooseTimes");
}

/// Clicks the entry with this text in the menu of the button that adds networks.
void addNetwork(CalibrationDialog* dialog, const QString& title) {
    QMenu* menu = part<QToolButton>(dialog, "addNetwork")->menu();
    for (QAction* action : menu->actions()) {
        if (action->text() != title) continue;
        menu->popup(dialog->mapToGlobal(QPoint(20, 20)));
        if (!QTest::qWaitForWindowExposed(menu)) qFatal("the menu does not open");
        test::clickInMenu(menu, action);
        return;
    }
    qFatal("no network %s", qPrintable(title));
}

/// Fits and waits for the end; returns whether there is a report.
bool fit(CalibrationDialog* dialog) {
    click(dialog, "fitDevices");
    return QTest::qWaitFor([&] { return !dialog->isFitting(); }, kPatienceMs) && dialog->report();
}

/// What placewright-cli calibrate finds for the first model of the machine.
CalibratedDevices calibrated(const QString& machine, const QString& profile, const QStringList& networks,
                             double heldOut) {
    const auto given = std::make_shared<const Machine>(read_machine(machine.toStdString()));
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    options.cost.profile = std::make_shared<const ProfileArchive>(read_profile(profile.toStdString()));
    MeasuredNetworks measured;
    for (const QString& network : networks) {
        auto graph =
            std::make_shared<const Graph>(read_network(find_network_file(network.toStdString())).graph);
        measured.add(network.toStdString(), make_problem(std::move(graph), given, options), given,
                     options.cost.profile.get());
    }
    return *calibrate_each(measured, first_of_each_model(*measured.machine), heldOut);
}

QString off(double share) {
    return QString::number(100 * share, 'f', 1) + QStringLiteral(" %");
}

/// The cells of a row after its name.
QStringList cells(const QTreeWidgetItem* row) {
    QStringList texts;
    for (int column = 1; column < row->columnCount(); ++column) texts << row->text(column);
    return texts;
}

/// The cells that a class is to have, apart from its share of the time.
QStringList expected(const CalibrationPart& fitted, const CalibrationPart& heldOut) {
    QStringList texts;
    for (const CalibrationPart* each : {&fitted, &heldOut}) {
        const bool has = each->samples > 0;
        texts << QString::number(each->samples) << (has ? off(each->before.weighted) : QString())
              << (has ? off(each->after.weighted) : QString());
    }
    const double sum = heldOut.after.total;
    texts << (heldOut.samples == 0 ? QString() : (sum > 0 ? QStringLiteral("+") : QString()) + off(sum));
    return texts;
}

}  // namespace

class TestWindowCalibrate : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_profile;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("pair.json", QByteArray(test::kPairOfCores));
        const auto real = test::real_machine(m_machine.toStdString());
        ProfileArchive archive = test::made_up_profile(real, kNetwork.toStdString());
        archive.merge(test::made_up_profile(real, kOther.toStdString()));
        m_profile = m_place->file("times.json");
        write_profile(archive, m_profile.toStdString());
    }

    void theNumbersAreThoseOfTheFit() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, m_profile);
        addNetwork(dialog, "ResNet-50");
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));

        const CalibratedDevices wanted = calibrated(m_machine, m_profile, {kNetwork, kOther}, 0.2);
        const Calibration& found = wanted.devices.front().found;
        auto* classes = part<QTreeWidget>(dialog, "calibrationClasses");
        QVERIFY(classes->isVisible());
        QCOMPARE(classes->topLevelItemCount(), static_cast<int>(found.classes.size()) + 1);
        for (int row = 0; row < classes->topLevelItemCount(); ++row) {
            const auto index = static_cast<std::size_t>(row);
            const bool all = index == found.classes.size();
            const QTreeWidgetItem* item = classes->topLevelItem(row);
            const QString name =
                all ? QStringLiteral("all")
                    : QString::fromStdString(std::string(to_string(found.classes[index].work_class)));
            QCOMPARE(item->text(0), name);
            QCOMPARE(cells(item).mid(1),
                     all ? expected(found.fitted, found.held_out)
                         : expected(found.classes[index].fitted, found.classes[index].held_out));
        }
        QCOMPARE(classes->topLevelItem(classes->topLevelItemCount() - 1)->text(1), QStringLiteral("100 %"));
        QVERIFY(found.held_out.after.weighted < 0.1 && found.held_out.before.weighted > 0.2);
        QVERIFY2(
            textOf(dialog, "calibrationSummary")
                .contains(QStringLiteral("an error of %1 (before it: %2)")
                              .arg(off(found.held_out.after.weighted), off(found.held_out.before.weighted))),
            qPrintable(textOf(dialog, "calibrationSummary")));
        QVERIFY(textOf(dialog, "calibrationSummary").startsWith("Core (pair): "));

        // The ops of both networks count.
        const auto* networks = part<QTreeWidget>(dialog, "calibrationNetworks");
        const auto& network = wanted.devices.front().network;
        for (const int row : {0, 1}) {
            const auto count = std::ranges::count(network, static_cast<std::size_t>(row));
            QVERIFY(count > 10);
            QCOMPARE(networks->topLevelItem(row)->text(2), QString::number(count));
        }

        // The parameters are on a page of their own.
        auto* tabs = part<QTabWidget>(dialog, "calibrationTabs");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(1).center());
        auto* parameters = part<QTreeWidget>(dialog, "calibrationParameters");
        QTRY_VERIFY(parameters->isVisible());
        QCOMPARE(parameters->topLevelItemCount(), static_cast<int>(found.parameters.size()));
        for (int row = 0; row < parameters->topLevelItemCount(); ++row) {
            const CalibratedParameter& parameter = found.parameters[static_cast<std::size_t>(row)];
            QCOMPARE(parameters->topLevelItem(row)->text(0), QString::fromStdString(parameter.name));
            QCOMPARE(cells(parameters->topLevelItem(row)),
                     (QStringList{QString::fromStdString(short_number(parameter.before)),
                                  QString::fromStdString(short_number(parameter.after))}));
        }
        QVERIFY(textOf(dialog, "notMeasured").contains("gather"));
    }

    void moreIsHeldOutIfAsked() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, m_profile);
        auto* share = part<QSpinBox>(dialog, "heldOut");
        QCOMPARE(share->value(), 20);
        share->setFocus();
        share->selectAll();
        QTest::keyClicks(share, "50");
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        const CalibratedDevices wanted = calibrated(m_machine, m_profile, {kNetwork}, 0.5);
        const Calibration& found = dialog->report()->found.devices.front().found;
        QCOMPARE(found.held_out.samples, wanted.devices.front().found.held_out.samples);
        QVERIFY(found.device == wanted.devices.front().found.device);

        // Without held-out ops the dialog says what is missing.
        share->selectAll();
        QTest::keyClicks(share, "0");
        QVERIFY(fit(dialog));
        QCOMPARE(dialog->report()->found.devices.front().found.held_out.samples, 0U);
        QVERIFY(textOf(dialog, "calibrationSummary").contains("No op was held out"));
    }

    void theOpsAreDots() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, m_profile);
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        auto* view = part<CalibrationPlot>(dialog, "calibrationPlot");
        QVERIFY(view->isVisible());
        const CalibratedDevice& of = dialog->report()->found.devices.front();
        // Fitted and held-out ops differ in shape and colour.
        QCustomPlot& plot = *view->plot();
        QCOMPARE(plot.graphCount(), 3);
        QCOMPARE(plot.graph(0)->name(), QStringLiteral("Fitted"));
        QCOMPARE(plot.graph(1)->name(), QStringLiteral("Held out"));
        QVERIFY(plot.graph(0)->scatterStyle().shape() != plot.graph(1)->scatterStyle().shape());
        QVERIFY(plot.graph(0)->pen().color() != plot.graph(1)->pen().color());
        QVERIFY(plot.legend->visible());
        int dots = 0;
        for (std::size_t i = 0; i < of.samples.size(); ++i)
            dots += of.samples[i].measured_s > 0 && of.found.residuals[i].after_s > 0 ? 1 : 0;
        QCOMPARE(plot.graph(0)->dataCount() + plot.graph(1)->dataCount(), dots);
        QVERIFY(plot.graph(1)->dataCount() > 0);

        const auto slowest = std::ranges::max_element(of.samples, {}, &CalibrationSample::measured_s);
        const auto key = static_cast<std::uint32_t>(slowest - of.samples.begin());
        // The axes are where they are drawn.
        QTRY_VERIFY(plot.axisRect()->rect().contains(view->positionOf(key)->toPoint()));
        QTest::mouseMove(dialog->windowHandle(), plot.mapTo(dialog, view->positionOf(key)->toPoint()));
        QVERIFY2(QToolTip::text().contains(QString::fromStdString(slowest->op)),
                 qPrintable(QToolTip::text()));
        // It is where its times are: those of after the fit, then those of before.
        const auto predicted_s = [&] {
            return plot.xAxis->pixelToCoord(view->positionOf(key)->x()) /
                   plot.yAxis->pixelToCoord(view->positionOf(key)->y()) * slowest->measured_s;
        };
        QVERIFY(std::abs(predicted_s() / of.found.residuals[key].after_s - 1) < 1e-6);
        auto* when = part<QComboBox>(dialog, "predictedWhen");
        when->setFocus();
        QTest::keyClick(when, Qt::Key_Down);
        QVERIFY(std::abs(predicted_s() / slowest->before_s - 1) < 1e-6);
        QVERIFY(std::abs(slowest->before_s / of.found.residuals[key].after_s - 1) > 0.1);
    }

    void theCostsAreUsedAndUndone() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        shown.document.moveOps({shown.op("classifier/fc1")}, shown.deviceOf("classifier/fc1") == 0 ? 1 : 0);
        QVERIFY(shown.waitUntilIdle());
        const auto devices = shown.document.deviceOfOps();
        const double before_s = shown.stepTime();
        const int steps = shown.document.undoStack()->index();
        CalibrationDialog* dialog = openCalibration(shown);
        QVERIFY(!part<QPushButton>(dialog, "useCosts")->isEnabled());
        chooseTimes(dialog, m_profile);
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        click(dialog, "useCosts");
        QVERIFY(shown.waitUntilIdle());
        const Machine wanted = calibrated_machine(
            with_profile(read_machine(m_machine.toStdString()), read_profile(m_profile.toStdString())),
            calibrated(m_machine, m_profile, {kNetwork}, 0.2).devices);
        QVERIFY(*shown.document.job().machine == wanted);
        QCOMPARE(shown.document.deviceOfOps(), devices);
        QCOMPARE(shown.document.undoStack()->index(), steps + 1);
        const double after_s = shown.stepTime();
        QVERIFY(std::abs(after_s / before_s - 1) > 0.1);
        // The step is now close to that of the times themselves.
        const auto real = test::real_machine(m_machine.toStdString());
        const auto problem = make_problem(shown.document.problem()->network, real);
        const double real_s = Simulator(problem, {}).run(shown.document.placement()).step_time_s;
        QVERIFY2(std::abs(after_s / real_s - 1) < 0.1, qPrintable(QString::number(after_s / real_s)));
        QVERIFY(textOf(dialog, "calibrationState").contains("pair, calibrated"));

        // A file of an earlier calibration stays as it is.
        const QString used = shown.document.machineFile();
        QFile first(used);
        QVERIFY(first.open(QIODevice::WriteOnly) && first.write("{}") == 2);
        first.close();
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle());
        click(dialog, "useCosts");
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.machineFile() != used);
        QVERIFY(*shown.document.job().machine == wanted);
        QCOMPARE(QFileInfo(used).size(), 2);

        // What was found stays on show, and the machine of before comes back.
        QVERIFY(dialog->report() != nullptr);
        QTest::keyClick(dialog, Qt::Key_Escape);
        QVERIFY(!dialog->isVisible());
        shown.window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&shown.window));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), m_machine);
        QVERIFY(*shown.document.job().machine == read_machine(m_machine.toStdString()));
        QCOMPARE(shown.stepTime(), before_s);
        QCOMPARE(shown.document.deviceOfOps(), devices);
        QCOMPARE(openCalibration(shown), dialog);
        QVERIFY2(textOf(dialog, "calibrationState").isEmpty(),
                 qPrintable(textOf(dialog, "calibrationState")));
        QVERIFY(part<QTreeWidget>(dialog, "calibrationClasses")->isVisible());
    }

    void theMachineIsSaved() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, m_profile);
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        test::giveFile(m_place->file("none/saved.json"));
        click(dialog, "saveMachine");
        QVERIFY2(textOf(dialog, "calibrationState").contains("none/saved.json"),
                 qPrintable(textOf(dialog, "calibrationState")));
        const QString file = m_place->file("saved.json");
        test::giveFile(file);
        click(dialog, "saveMachine");
        QVERIFY2(textOf(dialog, "calibrationState").contains(file),
                 qPrintable(textOf(dialog, "calibrationState")));
        QVERIFY(read_machine(file.toStdString()) == *dialog->report()->machine);
        // From then on this file is the machine's.
        click(dialog, "useCosts");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.machineFile(), file);
    }

    void aFitIsCancelled() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, m_profile);
        addNetwork(dialog, "ResNet-50");
        auto* button = part<QPushButton>(dialog, "fitDevices");
        // Signals of the fit arrive in order: its end, if it is near, comes after its first round.
        bool cancelled = false;
        const auto connection =
            connect(dialog, &CalibrationDialog::staged, dialog, [&](const QString& stage) {
                if (cancelled || !stage.startsWith("Fitting")) return;
                cancelled = true;
                QCOMPARE(button->text(), QStringLiteral("&Cancel"));
                QTest::mouseClick(button, Qt::LeftButton);
            });
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(dialog->isFitting());
        QVERIFY(!part<QPushButton>(dialog, "chooseTimes")->isEnabled());
        QVERIFY(QTest::qWaitFor([&] { return cancelled; }, kPatienceMs));
        disconnect(connection);
        QVERIFY(!dialog->isFitting());
        QCOMPARE(button->text(), QStringLiteral("&Fit costs"));
        QVERIFY(part<QPushButton>(dialog, "chooseTimes")->isEnabled());
        QVERIFY(textOf(dialog, "calibrationState").startsWith("Cancelled"));
        // The next fit waits for the thread of the cancelled one, whose result is dropped.
        auto* share = part<QSpinBox>(dialog, "heldOut");
        share->setFocus();
        share->selectAll();
        QTest::keyClicks(share, "0");
        QVERIFY(fit(dialog));
        QCOMPARE(dialog->report()->found.devices.front().found.held_out.samples, 0U);
        // A window that goes ends a fit.
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(dialog->isFitting());
    }

    void withoutTimesTheDialogLeadsToAProfile() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        QVERIFY(!part<QPushButton>(dialog, "fitDevices")->isEnabled());
        QVERIFY(textOf(dialog, "calibrationEmpty").startsWith("Nothing was measured yet."));
        click(dialog, "profileFirst");
        auto* profile = shown.window.findChild<ProfileDialog*>();
        QVERIFY(profile != nullptr && QTest::qWaitForWindowExposed(profile));
    }

    void theProfileInUseIsProposed() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        shown.document.useProfile(m_profile);
        QVERIFY(shown.waitUntilIdle());
        CalibrationDialog* dialog = openCalibration(shown);
        QVERIFY(!part<QPushButton>(dialog, "profileFirst")->isVisible());
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        QCOMPARE(dialog->report()->times, m_profile);
        // The same fit as without it in the simulation.
        QVERIFY(dialog->report()->found.devices.front().found.device ==
                calibrated(m_machine, m_profile, {kNetwork}, 0.2).devices.front().found.device);
    }

    void aTraceServesToo() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        const auto real = test::real_machine(m_machine.toStdString());
        const auto problem = make_problem(shown.document.problem()->network, real);
        Simulator simulator(problem, {});
        Trace trace;
        simulator.run(single_device_placement(*problem, 0), trace);
        const QString file = m_place->file("trace.json");
        write_chrome_trace(trace, *problem, file.toStdString());
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, file);
        addNetwork(dialog, "ResNet-50");
        QVERIFY(!fit(dialog));
        QVERIFY2(textOf(dialog, "calibrationState").contains("trace.json: is a trace of one network: remove"),
                 qPrintable(textOf(dialog, "calibrationState")));
        click(dialog, "removeNetwork");
        QCOMPARE(part<QTreeWidget>(dialog, "calibrationNetworks")->topLevelItemCount(), 1);
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        const Calibration& found = dialog->report()->found.devices.front().found;
        QVERIFY(found.fitted.samples > 10);
        QVERIFY(found.fitted.after.weighted < found.fitted.before.weighted);
    }

    void devicesOfSeveralModels() {
        QByteArray mixed(test::kPairOfCores);
        mixed.replace(mixed.lastIndexOf("\"Core\""), 6, "\"Other\"");
        const QString machine = m_place->write("mixed.json", mixed);
        Shown shown;
        QVERIFY(shown.open(kNetwork, machine));
        CalibrationDialog* dialog = openCalibration(shown);
        auto* models = part<QComboBox>(dialog, "calibrationModel");
        QVERIFY(models->isVisible());
        QCOMPARE(models->count(), 3);
        chooseTimes(dialog, m_profile);
        QVERIFY2(fit(dialog), qPrintable(textOf(dialog, "calibrationState")));
        QCOMPARE(dialog->report()->found.devices.size(), 1U);
        QVERIFY2(textOf(dialog, "calibrationSummary").contains("Not fitted: Other: "),
                 qPrintable(textOf(dialog, "calibrationSummary")));
        // The other device keeps what it has.
        QVERIFY(dialog->report()->machine->device(1) == read_machine(machine.toStdString()).device(1));
        const auto before = dialog->report();
        models->setFocus();
        QTest::keyClick(models, Qt::Key_End);
        QCOMPARE(models->currentText(), QStringLiteral("Other"));
        click(dialog, "fitDevices");
        QVERIFY(QTest::qWaitFor([&] { return !dialog->isFitting(); }, kPatienceMs));
        const QString state = textOf(dialog, "calibrationState");
        QVERIFY2(state.contains("times.json: has too few times of the ops of alexnet on Other; its devices "
                                "are Core"),
                 qPrintable(state));
        QVERIFY(dialog->report() == before);
    }

    void aDamagedFileIsRefused() {
        Shown shown;
        QVERIFY(shown.open(kNetwork, m_machine));
        CalibrationDialog* dialog = openCalibration(shown);
        chooseTimes(dialog, m_place->write("bad.json", QByteArray("{}")));
        QVERIFY(!fit(dialog));
        QVERIFY2(textOf(dialog, "calibrationState").contains("bad.json"),
                 qPrintable(textOf(dialog, "calibrationState")));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowCalibrate)
#include "tst_window_calibrate.moc"
