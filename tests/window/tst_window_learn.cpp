// SPDX-License-Identifier: MIT
// Training policies and placing with them in the window, with a real mouse and keyboard.
#include <filesystem>
#include <memory>

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMessageBox>
#include <QPushButton>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>
#include <QUndoStack>

#include "app/window/dialogs/search_options_dialog.hpp"
#include "app/window/learn/learn_window.hpp"
#include "app/window/learn/learning.hpp"
#include "core/graph/families.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/learn/training_run.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatience_ms = 60'000;

LearnWindow* openLearn(Shown& shown) {
    shown.window.activateWindow();
    if (!QTest::qWaitForWindowActive(&shown.window)) qFatal("the main window is not active");
    QTest::keyClick(&shown.window, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    auto* learn = shown.window.findChild<LearnWindow*>();
    if (learn == nullptr || !QTest::qWaitForWindowExposed(learn)) qFatal("the window does not appear");
    return learn;
}

template <class Control>
Control* control(LearnWindow* learn, const char* name) {
    auto* found = learn->findChild<Control*>(QLatin1String(name));
    if (found == nullptr) qFatal("no control %s", name);
    return found;
}

/// Selects an entry by keyboard.
void choose(LearnWindow* learn, const char* name, const QString& value) {
    auto* box = control<QComboBox>(learn, name);
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    for (int i = 0; i < box->findData(value); ++i) QTest::keyClick(box, Qt::Key_Down);
    if (box->currentData() != value) qFatal("no choice %s", qPrintable(value));
}

void type(LearnWindow* learn, const char* name, int value) {
    auto* box = control<QAbstractSpinBox>(learn, name);
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QString::number(value));
}

void click(LearnWindow* learn, const char* name) {
    auto* button = control<QPushButton>(learn, name);
    if (!button->isEnabled()) qFatal("%s cannot be pressed", name);
    QTest::mouseClick(button, Qt::LeftButton);
}

bool ends(LearnWindow* learn) {
    return QTest::qWaitFor(
        [&] { return learn->run() != nullptr && learn->run()->state() != TrainingRun::State::running; },
        kPatience_ms);
}

bool reaches(LearnWindow* learn, std::uint64_t updates) {
    return QTest::qWaitFor([&] { return learn->run() != nullptr && learn->run()->updates() >= updates; },
                           kPatience_ms);
}

/// Trains on the open network for `updates` updates.
void trainOnOpen(LearnWindow* learn, int updates) {
    choose(learn, "source", "open");
    type(learn, "updates", updates);
    click(learn, "start");
}

/// Answers the next message box and keeps its text.
class Answer {
public:
    explicit Answer(QMessageBox::StandardButton answer) {
        QObject::connect(&m_timer, &QTimer::timeout, [this, answer] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr || !m_asked.isEmpty()) return;
            m_asked = question->text();
            question->button(answer)->click();
        });
        m_timer.start(20);
    }
    QString asked() const { return m_asked; }

private:
    QTimer m_timer;
    QString m_asked;
};

void resume(LearnWindow* learn, const QString& file) {
    learn->resume(file);
    QVERIFY(QTest::qWaitFor([&] { return !learn->isReading(); }, 30'000));
}

void saveAs(LearnWindow* learn, const QString& file) {
    test::giveFile(file);
    click(learn, "save");
}

}  // namespace

class TestWindowLearn : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_network, m_folder;

private Q_SLOTS:
    void initTestCase() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write(QStringLiteral("machine.json"), test::uniform_machine(3));
        m_network = m_place->write(QStringLiteral("wide.json"), test::wide_graph(5));
        m_folder = m_place->file("networks");
        for (const char* part : {"networks/train", "networks/test"})
            QVERIFY(QDir().mkpath(m_place->file(part)));
        for (const std::size_t width : {3, 5})
            m_place->write(QStringLiteral("networks/train/wide%1.json").arg(width), test::wide_graph(width));
        for (const std::size_t width : {4, 6})
            m_place->write(QStringLiteral("networks/test/wide%1.json").arg(width), test::wide_graph(width));
    }

    void theNameOfAMachineIsNeverMarkup() {
        QFile file(m_place->write("uniform.json", test::uniform_machine(2)));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray markup = file.readAll().replace("uniform", "<img src='/picture.png'>");
        Shown shown;
        QVERIFY(shown.open(m_network, m_place->write("markup.json", markup)));
        LearnWindow* learn = openLearn(shown);
        const QLabel* name = control<QLabel>(learn, "machineName");
        QCOMPARE(name->text(), QStringLiteral("<img src='/picture.png'>"));
        QCOMPARE(name->textFormat(), Qt::PlainText);
        QMessageBox box(QMessageBox::Warning, "Error", name->text(), QMessageBox::Ok, &shown.window);
        box.show();
        QVERIFY(QTest::qWaitForWindowExposed(&box));
        for (const QLabel* label : box.findChildren<QLabel*>()) QCOMPARE(label->textFormat(), Qt::PlainText);
    }

    void aPolicyLearnsFromAFolderAndIsTestedOnTheRest() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        QCOMPARE(control<QLabel>(learn, "machineName")->text(),
                 QString::fromStdString(shown.document.job().machine->name()));
        auto* source = control<QComboBox>(learn, "source");
        for (int i = 0; i < source->count(); ++i)
            QVERIFY2(source->fontMetrics().horizontalAdvance(source->itemText(i)) < source->width() - 20,
                     qPrintable(source->itemText(i)));
        QVERIFY(control<QLabel>(learn, "status")->text().contains("press Train"));
        choose(learn, "source", "folder");
        QVERIFY(!control<QPushButton>(learn, "start")->isEnabled());
        QVERIFY(!control<QSpinBox>(learn, "count")->isVisible());
        auto* folder = control<QLineEdit>(learn, "folder");
        folder->setFocus();
        QTest::keyClicks(folder, m_folder);
        type(learn, "updates", 4);
        type(learn, "seed", 7);
        click(learn, "start");
        QVERIFY(ends(learn));
        QVERIFY2(learn->run()->state() == TrainingRun::State::finished, qPrintable(learn->run()->failure()));
        QVERIFY2(control<QLabel>(learn, "status")->text().startsWith("4 of 4 updates"),
                 qPrintable(control<QLabel>(learn, "status")->text()));

        // The same result as the library with the same seed.
        JobOptions options = shown.document.options();
        options.penalty.rule = MemoryRule::placeto;
        const PolicyInfo& info = *find_policy("placeto");
        std::vector<Job> jobs;
        std::vector<TrainingGraph> graphs;
        std::vector<std::unique_ptr<Evaluator>> evaluators;
        for (const char* name : {"wide3", "wide5"}) {
            const Job job = load_job(QString(m_folder + "/train/" + name + ".json").toStdString(),
                                     m_machine.toStdString(), options);
            graphs.push_back({name, std::make_shared<const PolicyGraph>(job.problem, allows_cpu(info, {})),
                              reference_s(*job.problem)});
            evaluators.push_back(simulation_evaluator(job.problem, job.simulation, job.penalty, 1));
            jobs.push_back(job);
        }
        const PolicyDesign design = info.make({}, {graphs[0].graph->devices, graphs[0].graph->nodes});
        Trainer trainer(design.policy, design.training, graphs, 7, 4, 1);
        QVERIFY(run_training(trainer, evaluators, {.updates = 4}));
        QVERIFY(*learn->run()->training() == trainer.state());

        // Plot and table show it.
        const auto* plot = learn->findChild<LearningPlot*>();
        QTRY_COMPARE(plot->plot()->graph(2)->data()->size(), 4);
        QCOMPARE(plot->plot()->graph(2)->data()->at(3)->value, trainer.state().curve[3].cost);
        const auto* table = control<QTreeWidget>(learn, "networks");
        QCOMPARE(table->topLevelItemCount(), 2);
        QCOMPARE(table->topLevelItem(1)->text(1), QString("7"));
        QCOMPARE(
            table->topLevelItem(1)->text(4),
            QString("%1 ×").arg(jobs[1].single_device_s / trainer.state().best[1].score.value_s, 0, 'f', 2));

        // The test starts by itself.
        QTRY_VERIFY_WITH_TIMEOUT(
            control<QLabel>(learn, "testStatus")->text().startsWith("2 of 2 networks tested"), kPatience_ms);
        const CdfData cdf = learn->cdf();
        QCOMPARE(cdf.graphs.size(), 2U);
        QCOMPARE(cdf.schemes.size(), 4U);
        const Job job =
            load_job(QString(m_folder + "/test/wide6.json").toStdString(), m_machine.toStdString(), options);
        const PolicyGraph graph(job.problem, false);
        const Placement placed = last_placement(graph, trainer.predict(graph));
        const double expected = Simulator(job.problem, job.simulation).run(placed).step_time_s;
        QCOMPARE(cdf.schemes[0].values.at(1).step_time_s, expected);
        QVERIFY(cdf.schemes[1].values.at(1).step_time_s <= expected);
        QCOMPARE(cdf.schemes[2].values.size(), 20U);
        QCOMPARE(cdf.schemes[3].values.at(1).step_time_s, job.single_device_s);

        // Policies trained on each test network, on demand.
        auto* tabs = control<QTabWidget>(learn, "results");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(1).center());
        type(learn, "testUpdates", 3);
        click(learn, "optimize");
        QTRY_VERIFY_WITH_TIMEOUT(
            control<QLabel>(learn, "testStatus")->text().endsWith("2 of 2 optimized for 3 updates"),
            kPatience_ms);
        QCOMPARE(learn->cdf().schemes.back().title, QString("Optimized"));
        QVERIFY(learn->cdf().schemes.back().values.at(1).step_time_s <= job.single_device_s);
        // An endless optimization stops when requested.
        QTRY_VERIFY(control<QPushButton>(learn, "optimize")->text().startsWith("Optimize"));
        type(learn, "testUpdates", 1'000'000);
        click(learn, "optimize");
        QTest::qWait(100);
        click(learn, "optimize");
        QVERIFY(control<QPushButton>(learn, "optimize")->text().startsWith("Optimize"));
    }

    void aTestIsOfTheUpdatesThatItsLabelGives() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        choose(learn, "source", "folder");
        control<QLineEdit>(learn, "folder")->setText(m_folder);
        type(learn, "updates", 1'000'000);
        click(learn, "start");
        QVERIFY(reaches(learn, 2));
        auto* tabs = control<QTabWidget>(learn, "results");
        QTest::mouseClick(tabs->tabBar(), Qt::LeftButton, {}, tabs->tabBar()->tabRect(1).center());
        const auto label = [&] { return control<QLabel>(learn, "testStatus")->text(); };
        const auto isTested = [&] { return control<QPushButton>(learn, "test")->text().startsWith("Test"); };
        click(learn, "test");
        QTRY_VERIFY_WITH_TIMEOUT(isTested(), kPatience_ms);
        QVERIFY2(label().startsWith("2 of 2 networks tested after"), qPrintable(label()));

        // The end of the training starts another test, which does not wait for long tasks.
        type(learn, "testUpdates", 1'000'000);
        click(learn, "optimize");
        click(learn, "start");
        QVERIFY(ends(learn));
        const QString updates = QLocale().toString(static_cast<qulonglong>(learn->run()->updates()));
        QVERIFY2(
            isTested() || label().startsWith(QString("0 of 2 networks tested after %1 updates").arg(updates)),
            qPrintable(label()));
        QTRY_VERIFY_WITH_TIMEOUT(isTested(), kPatience_ms);
        QVERIFY2(label().startsWith(QString("2 of 2 networks tested after %1 updates").arg(updates)),
                 qPrintable(label()));
        QVERIFY(control<QPushButton>(learn, "optimize")->text().startsWith("Stop"));
        const auto policy = learn->policy();
        const Job& job = learn->run()->curriculum()->test.front().job;
        const PolicyGraph graph(job.problem, policy->design.allow_cpu);
        const Placement placed =
            last_placement(graph, predict_placement(*policy->design.policy, policy->state.weights, graph,
                                                    policy->design.training.passes));
        QCOMPARE(learn->cdf().schemes.front().values.front().step_time_s,
                 Simulator(job.problem, job.simulation).run(placed).step_time_s);
    }

    void trainingIsPausedStoppedAndGoesOn() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        trainOnOpen(learn, 1'000'000);
        QVERIFY(reaches(learn, 2));
        QVERIFY(!control<QComboBox>(learn, "policy")->isEnabled());
        click(learn, "pause");
        QCOMPARE(control<QPushButton>(learn, "pause")->text(), QString("&Resume"));
        QTest::qWait(300);
        const std::uint64_t held = learn->run()->updates();
        QTest::qWait(300);
        QCOMPARE(learn->run()->updates(), held);
        QVERIFY(control<QLabel>(learn, "status")->text().endsWith("paused"));
        click(learn, "pause");
        QVERIFY(reaches(learn, held + 2));

        click(learn, "start");
        QVERIFY(ends(learn));
        QCOMPARE(learn->run()->state(), TrainingRun::State::stopped);
        const auto stopped = learn->run()->training();
        QVERIFY(control<QLabel>(learn, "status")->text().endsWith("stopped"));
        QCOMPARE(control<QPushButton>(learn, "start")->text(), QString("&Continue"));

        type(learn, "updates", static_cast<int>(stopped->updates));
        QVERIFY(!control<QPushButton>(learn, "start")->isEnabled());
        type(learn, "updates", static_cast<int>(stopped->updates) + 3);
        click(learn, "start");
        QVERIFY(ends(learn));
        QCOMPARE(learn->run()->state(), TrainingRun::State::finished);
        const auto after = learn->run()->training();
        QCOMPARE(after->updates, stopped->updates + 3);
        QVERIFY(std::equal(stopped->curve.begin(), stopped->curve.end(), after->curve.begin()));

        // Changing the inputs starts a new policy.
        Answer discard(QMessageBox::Discard);
        type(learn, "seed", 2);
        QCOMPARE(control<QPushButton>(learn, "start")->text(), QString("&Train"));
        type(learn, "updates", 2);
        click(learn, "start");
        QVERIFY(ends(learn));
        QVERIFY2(discard.asked().startsWith("Save the "), qPrintable(discard.asked()));
        QCOMPARE(learn->run()->updates(), 2U);
    }

    void theMakingOfAFamilyIsCancelled() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        choose(learn, "source", "nmt");
        type(learn, "count", 64);
        QVERIFY(control<QLabel>(learn, "size")->text().startsWith("32 training networks, 32 test networks"));
        click(learn, "start");
        QVERIFY(QTest::qWaitFor([&] { return learn->run()->loaded() > 0; }, kPatience_ms));
        click(learn, "start");
        QVERIFY(ends(learn));
        QCOMPARE(learn->run()->state(), TrainingRun::State::stopped);
        QVERIFY(learn->run()->loaded() < 64);
        QVERIFY(!learn->hasPolicy());
        QVERIFY(learn->close());
    }

    void aFolderWithoutNetworksIsAnError() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        choose(learn, "source", "folder");
        const QString empty = m_place->file("empty");
        QVERIFY(QDir().mkpath(empty));
        for (const QString& folder : {m_place->file("nowhere"), empty}) {
            control<QLineEdit>(learn, "folder")->setText(folder);
            click(learn, "start");
            QVERIFY(ends(learn));
            QCOMPARE(learn->run()->state(), TrainingRun::State::failed);
            QVERIFY2(control<QLabel>(learn, "status")->text().contains(folder),
                     qPrintable(control<QLabel>(learn, "status")->text()));
            QCOMPARE(control<QPushButton>(learn, "start")->text(), QString("&Train"));
        }
    }

    void trainingGoesOnWhenItsWindowIsClosed() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        auto* back = shown.window.findChild<QToolButton*>("toLearning");
        trainOnOpen(learn, 1'000'000);
        QVERIFY(reaches(learn, 1));
        QVERIFY(!back->isVisible());
        Answer none(QMessageBox::Cancel);
        QTest::mouseClick(control<QPushButton>(learn, "close"), Qt::LeftButton);
        QVERIFY(none.asked().isEmpty());
        QVERIFY(!learn->isVisible() && back->isVisible());
        QVERIFY(reaches(learn, learn->run()->updates() + 1));
        QVERIFY2(back->text().startsWith("Training: update "), qPrintable(back->text()));
        QTest::mouseClick(back, Qt::LeftButton);
        QVERIFY(learn->isVisible() && !back->isVisible());
        click(learn, "start");
        QVERIFY(ends(learn));
        QVERIFY(learn->close());
        QVERIFY(back->isVisible());
        QVERIFY2(back->text().startsWith("Policy not saved: "), qPrintable(back->text()));
        QVERIFY(learn->hasPolicy());
    }

    void quittingAsksForAPolicyThatIsInNoFile() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        trainOnOpen(learn, 1'000'000);
        QVERIFY(reaches(learn, 1));
        {
            Answer cancel(QMessageBox::Cancel);
            QVERIFY(!shown.window.close());
            QVERIFY(cancel.asked().startsWith("Save the "));
            QCOMPARE(learn->run()->state(), TrainingRun::State::running);
            QVERIFY(reaches(learn, learn->run()->updates() + 1));  // it continues
        }
        click(learn, "start");
        QVERIFY(ends(learn));
        const QString file = m_place->file("kept.safetensors");
        saveAs(learn, file);
        QVERIFY(QFile::exists(file));
        QVERIFY(read_policy(file.toStdString()).state == *learn->run()->training());
        {
            Answer none(QMessageBox::Cancel);
            QVERIFY(learn->close());
            QVERIFY(none.asked().isEmpty());
        }
        QVERIFY(learn->hasPolicy());  // it is kept

        // A running training is not waited for.
        learn = openLearn(shown);
        trainOnOpen(learn, 1'000'000);
        QVERIFY(reaches(learn, learn->run()->updates() + 1));
        Answer discard(QMessageBox::Discard);
        QVERIFY(shown.window.close());
        QVERIFY(!discard.asked().isEmpty());
    }

    void whatIsSavedIsThePolicyAtTheConfirmation() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        trainOnOpen(learn, 1'000'000);
        QVERIFY(reaches(learn, 1));
        const QString file = m_place->file("confirmed.safetensors");
        std::uint64_t confirmed = 0;
        test::giveFile(file, [&] {
            reaches(learn, learn->run()->updates() + 2);
            confirmed = learn->run()->updates();
        });
        click(learn, "save");
        const std::uint64_t written = read_policy(file.toStdString()).state.updates;
        QVERIFY2(confirmed > 0 && written >= confirmed,
                 qPrintable(QString("%1 of %2").arg(written).arg(confirmed)));
        const QString said = learn->findChild<MessageBar*>()->text();
        QVERIFY2(
            said.startsWith(QString("Saved the policy (%L1 updates)").arg(written)) && said.contains(file),
            qPrintable(said));

        // The question concerns the displayed state, after the current update has ended.
        QVERIFY(reaches(learn, written + 1));
        QString asked;
        std::uint64_t held = 0;
        QTimer::singleShot(20, learn, [&] {
            auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            QTest::qWait(500);
            asked = question->text();
            held = learn->run()->updates();
            question->button(QMessageBox::Discard)->click();
        });
        QVERIFY(shown.window.close());
        QVERIFY2(asked.contains(QString("(%L1 updates)").arg(held)),
                 qPrintable(QString("%1, held at %2").arg(asked).arg(held)));
    }

    void aPolicyPlacesTheOpenNetwork() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        QVERIFY(!shown.action("Predict with the policy of the training window")->isEnabled());
        LearnWindow* learn = openLearn(shown);
        trainOnOpen(learn, 5);
        QVERIFY(ends(learn));
        const Job& job = shown.document.job();
        const PolicyGraph graph(job.problem, false);
        const auto policy = learn->policy();
        const Placement expected =
            last_placement(graph, predict_placement(*policy->design.policy, policy->state.weights, graph,
                                                    policy->design.training.passes));
        const double before_s = shown.stepTime();
        click(learn, "predict");
        QTRY_COMPARE(shown.document.runs().size(), 1U);
        QVERIFY(shown.waitUntilIdle());
        const Run& run = *shown.document.runs().front();
        QCOMPARE(run.state(), Run::State::finished);
        QCOMPARE(*run.progress().best_placement, expected);
        QCOMPARE(run.progress().evaluations, 1U);
        QCOMPARE(shown.document.runRows().front().title, QString("Placeto, zero-shot #1"));
        // Both windows report the result.
        const bool better = test::simulated(shown.document, expected) < before_s;
        QVERIFY2(
            shown.message().contains("Placeto placed") && shown.message().contains("Runs table") != better,
            qPrintable(shown.message()));
        QCOMPARE(learn->findChild<MessageBar*>()->text(), shown.message());
        QCOMPARE(shown.document.runRows().front().step_time_s, test::simulated(shown.document, expected));

        // It is shown and undone like any run.
        const Placement before = job.single_device;
        shown.document.showPlacement(before, "Back");
        shown.document.showRun(1);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), expected);
        shown.document.undoStack()->undo();
        QCOMPARE(shown.document.placement(), before);

        // Predicting from a file, by the menu, gives the same result.
        const QString file = m_place->file("predict.safetensors");
        saveAs(learn, file);
        shown.window.learning()->predict(file);
        QTRY_COMPARE(shown.document.runs().size(), 2U);
        shown.action("Predict with the policy of the training window")->trigger();
        QTRY_COMPARE(shown.document.runs().size(), 3U);
        QVERIFY(shown.waitUntilIdle());
        for (const auto& each : shown.document.runs()) QCOMPARE(*each->progress().best_placement, expected);
        // The placement file records its origin.
        shown.document.showRun(3);
        QVERIFY(shown.waitUntilIdle());
        shown.document.exportPlacement(m_place->file("predicted.json"));
        QFile written(m_place->file("predicted.json"));
        QVERIFY(written.open(QIODevice::ReadOnly));
        QVERIFY(written.readAll().contains("placeto"));
    }

    void aPolicyFromAFileIsTrainedOn() {
        const QString file = m_place->file("half.safetensors");
        // So many that the training still runs when it is stopped.
        constexpr int kPlanned = 40;
        TrainingState whole;
        {
            Shown shown;
            QVERIFY(shown.open(m_network, m_machine));
            LearnWindow* learn = openLearn(shown);
            type(learn, "seed", 3);
            trainOnOpen(learn, kPlanned);
            QVERIFY(ends(learn));
            whole = *learn->run()->training();
        }
        {
            Shown shown;
            QVERIFY(shown.open(m_network, m_machine));
            LearnWindow* learn = openLearn(shown);
            type(learn, "seed", 3);
            choose(learn, "source", "open");
            type(learn, "updates", kPlanned);
            click(learn, "start");
            QVERIFY(reaches(learn, 1));
            click(learn, "start");
            QVERIFY(ends(learn));
            QVERIFY(learn->run()->updates() < kPlanned);
            saveAs(learn, file);
        }
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        QVERIFY(shown.dropFile(file));
        auto* learn = shown.window.findChild<LearnWindow*>();
        QVERIFY(learn != nullptr && QTest::qWaitForWindowExposed(learn));
        QTRY_VERIFY_WITH_TIMEOUT(!learn->isReading(), 30'000);
        QCOMPARE(control<QDoubleSpinBox>(learn, "seed")->value(), 3.0);
        QCOMPARE(control<QSpinBox>(learn, "updates")->value(), kPlanned);
        QCOMPARE(control<QComboBox>(learn, "source")->currentData().toString(), QStringLiteral("open"));
        QCOMPARE(control<QPushButton>(learn, "start")->text(), QStringLiteral("&Continue"));
        QVERIFY2(control<QLabel>(learn, "status")->text().contains(QStringLiteral("press Continue")),
                 qPrintable(control<QLabel>(learn, "status")->text()));
        QVERIFY2(control<QLabel>(learn, "size")->text().contains(QStringLiteral("half.safetensors")),
                 qPrintable(control<QLabel>(learn, "size")->text()));
        PolicyFile large = read_policy(file.toStdString());
        const QString other = m_place->file(QStringLiteral("large.safetensors"));
        const auto resumeWith = [&](std::uint64_t seed) {
            large.record.seed = seed;
            write_policy(large.record, large.state, *large.design.policy, other.toStdString());
            resume(learn, other);
        };
        resumeWith(5'000'000'000);
        QCOMPARE(control<QDoubleSpinBox>(learn, "seed")->value(), 5e9);
        QVERIFY(control<QLabel>(learn, "size")->text().contains(QStringLiteral("large.safetensors")));
        // More updates than the form has are the most that it has.
        large.record.planned_updates = 3'000'000'000;
        resumeWith(4);
        QCOMPARE(control<QSpinBox>(learn, "updates")->value(),
                 control<QSpinBox>(learn, "updates")->maximum());
        large.record.planned_updates = kPlanned;
        // With a seed that the form cannot hold it would be a new policy.
        resume(learn, file);
        Answer understood(QMessageBox::Ok);
        resumeWith(std::uint64_t{1} << 60);
        QVERIFY2(understood.asked().contains(QStringLiteral("seed 1152921504606846976")),
                 qPrintable(understood.asked()));
        QVERIFY(control<QLabel>(learn, "size")->text().contains(QStringLiteral("half.safetensors")));
        // The form cannot hold several machines either.
        TrainingRecord several = large.record;
        several.seed = 4;
        several.graphs = {{"nmt_0", "2x V100", "a"},
                          {"nmt_0", "4x V100", "b"},
                          {"nmt_2", "2x V100", "c"},
                          {"nmt_2", "4x V100", "d"}};
        TrainingState state = large.state;
        state.returns.resize(4);
        state.averages.resize(4);
        state.best.resize(4);
        write_policy(several, state, *large.design.policy, other.toStdString());
        Answer understoodToo(QMessageBox::Ok);
        resume(learn, other);
        QVERIFY2(understoodToo.asked().contains(QStringLiteral("2 machines")) &&
                     understoodToo.asked().contains(QStringLiteral("train --resume")),
                 qPrintable(understoodToo.asked()));
        QVERIFY(control<QLabel>(learn, "size")->text().contains(QStringLiteral("half.safetensors")));
        // Networks of no known family come from a folder, which the file does not record.
        several.graphs = {
            {"wide3", "3x", "a"}, {"wide5", "3x", "b"}, {"wide7", "3x", "c"}, {"wide9", "3x", "d"}};
        write_policy(several, state, *large.design.policy, other.toStdString());
        resume(learn, other);
        QCOMPARE(control<QComboBox>(learn, "source")->currentData().toString(), QStringLiteral("folder"));
        QVERIFY(!control<QPushButton>(learn, "start")->isEnabled());
        // The networks of a family are those that the file was trained on.
        large.record.graphs.clear();
        const std::vector<bool> half = training_half(12, 5);
        for (std::uint32_t number = 0; number < 12; ++number) {
            const std::string name = (number < 10 ? "ptb_0" : "ptb_") + std::to_string(number);
            if (half[number]) large.record.graphs.push_back({name, "4x V100", "f"});
        }
        const std::size_t networks = large.record.graphs.size();
        large.state.returns.resize(networks);
        large.state.averages.resize(networks);
        large.state.best.resize(networks);
        resumeWith(4);
        QCOMPARE(control<QComboBox>(learn, "source")->currentData().toString(), QStringLiteral("ptb"));
        QCOMPARE(control<QSpinBox>(learn, "count")->value(), 12);
        QCOMPARE(control<QSpinBox>(learn, "familySeed")->value(), 5);
        resume(learn, file);

        click(learn, "start");
        QVERIFY(ends(learn));
        QVERIFY2(learn->run()->state() == TrainingRun::State::finished, qPrintable(learn->run()->failure()));
        // The same as without the stop.
        QVERIFY(*learn->run()->training() == whole);

        // With another network it is not.
        QVERIFY(shown.open(m_place->write("other.json", test::wide_graph(4)), m_machine));
        resume(learn, file);
        type(learn, "updates", kPlanned + 2);
        Answer discard(QMessageBox::Discard);
        click(learn, "start");
        QVERIFY(ends(learn));
        QVERIFY2(control<QLabel>(learn, "status")->text().contains(QStringLiteral("of another training")),
                 qPrintable(control<QLabel>(learn, "status")->text()));
    }

    void aPolicyThatDoesNotSuitIsRefused() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        LearnWindow* learn = openLearn(shown);
        QTimer::singleShot(200, this, [] {
            auto* dialog = qobject_cast<SearchOptionsDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            auto* devices = dialog->findChild<QComboBox*>("devices");
            devices->setFocus();
            QTest::keyClick(devices, Qt::Key_End);
            QTest::mouseClick(dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok),
                              Qt::LeftButton);
        });
        QTest::mouseClick(control<QToolButton>(learn, "policyOptions"), Qt::LeftButton);
        trainOnOpen(learn, 1);
        QVERIFY(ends(learn));
        QCOMPARE(std::get<std::string>(learn->policy()->record.options.at("devices")),
                 std::string("one-hot"));
        const QString file = m_place->file("three devices.safetensors");
        saveAs(learn, file);

        QVERIFY(shown.open(m_network, m_place->write("four.json", test::uniform_machine(4))));
        shown.window.learning()->predict(file);
        QTRY_VERIFY(!shown.message().isEmpty());
        QVERIFY2(shown.message().contains("a fixed number of devices: 3, not 4"),
                 qPrintable(shown.message()));
        QCOMPARE(shown.document.runs().size(), 0U);

        const QString broken = m_place->write("broken.safetensors", QByteArray("not a policy"));
        shown.window.learning()->predict(broken);
        QTRY_VERIFY2(shown.message().contains("broken.safetensors"), qPrintable(shown.message()));
        QCOMPARE(shown.document.runs().size(), 0U);
    }

    void searchesThatLearnShowItInTheMainWindow() {
        Shown shown;
        QVERIFY(shown.open(m_network, m_machine));
        shown.window.chooseAlgorithm("placeto");
        shown.window.chooseEvaluations(300);
        shown.window.optimizeOrStop();
        QVERIFY(shown.waitUntilIdle());
        const auto& training = shown.document.runs().front()->progress().training;
        QVERIFY(training && !training->empty());
        auto* plot = shown.window.learningPlot();
        for (auto* dock = plot->parentWidget(); dock != nullptr; dock = dock->parentWidget()) {
            if (qobject_cast<QDockWidget*>(dock)) {
                dock->show();
                dock->raise();
                break;
            }
        }
        QTRY_COMPARE(plot->plot()->graph(2)->data()->size(), static_cast<int>(training->size()));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowLearn)
#include "tst_window_learn.moc"
