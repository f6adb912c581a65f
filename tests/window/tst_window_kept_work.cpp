// SPDX-License-Identifier: MIT
// What a workspace keeps of learning, measuring and what-if.
#include <algorithm>
#include <memory>

#include <QComboBox>
#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>

#include "app/window/learn/learn_window.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/state/workspace_file.hpp"
#include "core/machine/machine_edit.hpp"
#include "core/sim/measured_run.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using test::giveFile, test::request, test::Shown;

namespace {

constexpr int kPatienceMs = 60'000;

/// The placement on screen, as it would be measured: everything takes twice as long.
MeasuredRun measuredScreen(const Document& document, const char* name) {
    MeasuredRun run;
    run.name = name;
    run.placement = document.placement();
    run.trace = document.timeline()->trace;
    for (Span& span : run.trace.spans) {
        for (double* time_s : {&span.queued_s, &span.start_s, &span.end_s}) *time_s *= 2;
    }
    run.step_times_s = {2 * document.timeline()->outcome.step_time_s};
    run.peak_bytes = document.timeline()->outcome.peak_bytes;
    return run;
}

LearnWindow* openLearn(Shown& shown) {
    shown.action("Train a policy")->trigger();
    return shown.window.findChild<LearnWindow*>();
}

QString statusOf(const LearnWindow* learn) {
    return learn->findChild<QLabel*>(QStringLiteral("status"))->text();
}

/// Number of updates that a plot shows.
int drawnUpdates(const LearnWindow* learn) {
    const auto* plot = learn->findChild<LearningPlot*>()->plot();
    int most = 0;
    for (int i = 0; i < plot->graphCount(); ++i) most = std::max(most, plot->graph(i)->data()->size());
    return most;
}

}  // namespace

class TestWindowKeptWork : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine, m_network;

    QString saved(Shown& shown) {
        const QString file = m_place->file("work.placewright");
        giveFile(file);
        return shown.window.keeper()->save(true) ? file : QString();
    }
    bool open(Shown& shown, const QString& file) {
        shown.document.openWorkspace(file);
        return QTest::qWaitFor([&] { return shown.document.isOpen(); }, kPatienceMs) && shown.waitUntilIdle();
    }

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("three.json", test::uniform_machine(3));
        m_network = m_place->write("wide.json", test::wide_graph(12));
        qputenv("XDG_STATE_HOME", m_place->file("state").toUtf8());
    }
    void cleanup() { m_place.reset(); }

    void curvesAndDistributionsOfRuns() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        before.document.startSearch(request("post", 200));
        QVERIFY(before.waitUntilIdle());
        before.document.startSearch(request("placeto", 200));
        QVERIFY(before.waitUntilIdle());
        const SearchProgress &post = before.document.runs()[0]->progress(),
                             &placeto = before.document.runs()[1]->progress();
        QVERIFY(post.distribution && placeto.training && !placeto.training->empty());
        const QString file = saved(before);

        Shown after;
        QVERIFY(open(after, file));
        const auto& distribution = after.document.runs()[0]->progress().distribution;
        QVERIFY(distribution);
        QVERIFY(distribution->probability == post.distribution->probability);
        QVERIFY(distribution->entropies == post.distribution->entropies);
        QVERIFY(*after.document.runs()[1]->progress().training == *placeto.training);
    }

    void factors() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        const double plain_s = before.stepTime();
        WhatIf factors;
        set_all(factors.speed, before.document.problem()->devices, 2);
        before.document.setWhatIf(factors);
        before.document.endWhatIf();
        QVERIFY(before.waitUntilIdle());
        const double faster_s = before.stepTime();
        QVERIFY(faster_s < plain_s);
        const QString file = saved(before);

        Shown after;
        QVERIFY(open(after, file));
        QCOMPARE(after.stepTime(), faster_s);
        QVERIFY(after.document.whatIf() == factors);
        QTRY_VERIFY_WITH_TIMEOUT(after.document.valueWithoutFactors(), kPatienceMs);
        QCOMPARE(*after.document.valueWithoutFactors(), plain_s);
        auto* reset = after.window.findChild<QPushButton*>(QStringLiteral("resetFactors"));
        test::raise(reset->parentWidget());
        QTest::mouseClick(reset, Qt::LeftButton);
        QVERIFY(after.waitUntilIdle());
        QCOMPARE(after.stepTime(), plain_s);
        QCOMPARE(after.document.machineFile(), m_machine);
        QVERIFY(!after.document.isMachineEdited());
    }

    void factorsOfAnotherMachineAreRefused() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        const QString file = saved(before);
        Workspace workspace = read_workspace(file.toStdString());
        workspace.scenarios.front().factors.speed = {2, 2};
        write_workspace(workspace, file.toStdString());
        Shown after;
        after.document.openWorkspace(file);
        QTRY_VERIFY_WITH_TIMEOUT(after.message().contains("factor"), kPatienceMs);
        QVERIFY(!after.document.isOpen());
    }

    void measuredRuns() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        before.document.addMeasured(measuredScreen(before.document, "Benchmark 1"));
        QVERIFY(before.waitUntilIdle());
        QVERIFY(before.window.isWindowModified());
        QCOMPARE(before.document.benchmarks(), std::size_t{1});
        const QString file = saved(before);
        QCOMPARE(before.document.benchmarks(), std::size_t{0});
        QVERIFY(!before.window.isWindowModified());

        Shown after;
        QVERIFY(open(after, file));
        QVERIFY(!after.window.isWindowModified());
        QCOMPARE(after.document.benchmarks(), std::size_t{0});
        QVERIFY(after.document.measured());
        const MeasuredRuns::Run &run = after.document.measured()->runs.front(),
                                &of = before.document.measured()->runs.front();
        QCOMPARE(run.of.name, QString("Benchmark 1"));
        QVERIFY(run.of.run->trace.spans == of.of.run->trace.spans);
        QVERIFY(run.of.run->trace.memory == of.of.run->trace.memory);
        QVERIFY(run.of.run->step_times_s == of.of.run->step_times_s);
        QVERIFY(run.of.run->peak_bytes == of.of.run->peak_bytes);
        QVERIFY(run.of.run->placement == of.of.run->placement);
    }

    /// The machine of a measured run is that of nothing else in the file.
    void measuredRunsOfAnotherMachine() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        before.document.addMeasured(measuredScreen(before.document, "Benchmark 1"));
        QVERIFY(before.waitUntilIdle());
        before.document.setMachine(m_place->write("four.json", test::uniform_machine(4)));
        QVERIFY(before.waitUntilIdle());
        const QString file = saved(before);
        Shown after;
        QVERIFY(open(after, file));
        QVERIFY(after.document.measured());
        const auto& run = after.document.measured()->runs.front().of.run;
        QCOMPARE(run->trace.spans.size(),
                 before.document.measured()->runs.front().of.run->trace.spans.size());
    }

    void aTraceOfOtherOpsIsRefused() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        before.document.addMeasured(measuredScreen(before.document, "Benchmark 1"));
        QVERIFY(before.waitUntilIdle());
        const QString file = saved(before);
        Workspace workspace = read_workspace(file.toStdString());
        workspace.measured.front().run.trace.spans.front().op = 1'000'000;
        write_workspace(workspace, file.toStdString());
        Shown after;
        after.document.openWorkspace(file);
        QTRY_VERIFY_WITH_TIMEOUT(after.message().contains("measured"), kPatienceMs);
        QVERIFY(!after.document.isOpen());
    }

    void theCurveOfAPolicy() {
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        LearnWindow* learn = openLearn(before);
        auto* source = learn->findChild<QComboBox*>(QStringLiteral("source"));
        source->setCurrentIndex(source->findData(QStringLiteral("open")));
        learn->findChild<QSpinBox*>(QStringLiteral("updates"))->setValue(3);
        QTest::mouseClick(learn->findChild<QPushButton*>(QStringLiteral("start")), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(learn->run() && learn->run()->state() == TrainingRun::State::finished,
                                 kPatienceMs);
        const QString file = saved(before);
        const std::vector<TrainingPoint> curve = learn->run()->training()->curve;
        QCOMPARE(curve.size(), std::size_t{3});

        Shown after;
        QVERIFY(open(after, file));
        // Saved again before anyone looks at it.
        QVERIFY(after.window.keeper()->save(true));
        QVERIFY(*read_workspace(file.toStdString()).learned->curve == curve);
        LearnWindow* again = openLearn(after);
        QVERIFY(QTest::qWaitForWindowExposed(again));
        QTRY_COMPARE_WITH_TIMEOUT(drawnUpdates(again), 3, kPatienceMs);
        QVERIFY2(statusOf(again).contains("after 3 updates"), qPrintable(statusOf(again)));
        QVERIFY2(statusOf(again).contains("was not saved"), qPrintable(statusOf(again)));
        QVERIFY(*again->learned()->curve == curve);
    }

    void theFileOfAPolicyIsFoundAgain() {
        const QString policy = m_place->file("p.safetensors");
        Shown before;
        QVERIFY(before.open(m_network, m_machine));
        LearnWindow* learn = openLearn(before);
        auto* source = learn->findChild<QComboBox*>(QStringLiteral("source"));
        source->setCurrentIndex(source->findData(QStringLiteral("open")));
        learn->findChild<QSpinBox*>(QStringLiteral("updates"))->setValue(2);
        QTest::mouseClick(learn->findChild<QPushButton*>(QStringLiteral("start")), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(learn->run() && learn->run()->state() == TrainingRun::State::finished,
                                 kPatienceMs);
        giveFile(policy);
        QTest::mouseClick(learn->findChild<QPushButton*>(QStringLiteral("save")), Qt::LeftButton);
        QVERIFY(QFileInfo::exists(policy));
        const QString file = saved(before);

        Shown after;
        QVERIFY(open(after, file));
        LearnWindow* again = openLearn(after);
        QTRY_VERIFY_WITH_TIMEOUT(!again->isReading(), kPatienceMs);
        QVERIFY2(statusOf(again).contains("press Continue to train the policy of p.safetensors"),
                 qPrintable(statusOf(again)));
        QCOMPARE(drawnUpdates(again), 2);
        // It is as it was: nobody is asked to save it.
        QVERIFY(again->mayDrop());

        QVERIFY(QFile::remove(policy));
        Shown later;
        QVERIFY(open(later, file));
        QVERIFY2(statusOf(openLearn(later)).contains("is missing"), qPrintable(policy));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowKeptWork)
#include "tst_window_kept_work.moc"
