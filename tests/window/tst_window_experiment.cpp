// SPDX-License-Identifier: MIT
// Results of experiments in the window, as the command line writes them.
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QMenu>
#include <QMenuBar>
#include <QPointer>
#include <QProcess>
#include <QPushButton>
#include <QSettings>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QTextBrowser>
#include <QTimer>

#include "app/window/compare/experiment_window.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/window.hpp"
#include "widgets/qcustomplot_header.hpp"

using namespace placewright;
using test::Shown;
using test::Workplace;

namespace {

constexpr int kPatience_ms = 60'000;

void runExperiment(const QStringList& arguments) {
    QProcess process;
    process.start(PLACEWRIGHT_CLI, QStringList{"experiment"} + arguments);
    QVERIFY(process.waitForFinished(kPatience_ms));
    QVERIFY2(process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0,
             process.readAllStandardError());
}

std::string errorOf(const QString& folder) {
    try {
        read_experiment(folder.toStdString());
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

/// Picks the folder in the dialog that the menu item opens.
void openFolder(Shown& shown, const QString& folder) {
    QTimer::singleShot(0, [folder] {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        if (dialog == nullptr) qFatal("no dialog");
        dialog->setDirectory(folder);
        QMetaObject::invokeMethod(dialog, "accept", Qt::QueuedConnection);
    });
    shown.action("Results of an experiment")->trigger();
}

}  // namespace

class TestWindowExperiment : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QApplication::setAttribute(Qt::AA_DontUseNativeDialogs); }
    void trainings();
    void searches();
    void manySeeds();
    void whatNeedsNoSearchIsDrawnAcross();
    void aReportHasNoEmptyTables();
    void theWindowCloses();
    void undefinedScores();
    void faultyTables_data();
    void faultyTables();
};

void TestWindowExperiment::trainings() {
    const Workplace workplace;
    const QString folder = workplace.file("families");
    runExperiment({"placeto-families", "--family", "nmt", "--count", "4", "--updates", "2", "--group",
                   "merge", "--groups", "8", "--set", "placeto.workers=1", "--set", "colocrl.workers=1",
                   "--out", folder});
    const ExperimentResults results = read_experiment(folder.toStdString());
    QCOMPARE(results.distributions.size(), std::size_t{1});
    const CdfData& data = results.distributions[0].data;
    QCOMPARE(data.graphs.size(), std::size_t{2});
    QVERIFY(data.schemes.size() >= 6);
    for (const CdfScheme& scheme : data.schemes) QCOMPARE(scheme.values.size(), std::size_t{2});
    // A policy each for the family and for both networks to test with, of two kinds.
    QCOMPARE(results.trainings.size(), std::size_t{6});
    QCOMPARE(results.trainings[0].curve->size(), std::size_t{2});
    QVERIFY(results.trainings[0].curve->front().cost > 0);

    Shown shown;
    openFolder(shown, folder);
    ExperimentWindow* window = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT((window = shown.window.findChild<ExperimentWindow*>()) != nullptr, kPatience_ms);
    QVERIFY(QTest::qWaitForWindowExposed(window));
    QVERIFY(window->findChild<QTextBrowser*>("report")->toPlainText().contains("Placeto zero-shot"));
    auto* plots = window->findChild<QTabWidget*>("plots");
    QCOMPARE(plots->count(), 2);
    auto* distribution = plots->widget(0)->findChild<QCustomPlot*>();
    for (std::size_t i = 0; i < data.schemes.size(); ++i)
        QVERIFY(!distribution->graph(static_cast<int>(i))->data()->isEmpty());
    // Another training by the keyboard.
    QTest::mouseClick(plots->tabBar(), Qt::LeftButton, {}, plots->tabBar()->tabRect(1).center());
    auto* choice = plots->currentWidget()->findChild<QComboBox*>("choice");
    QCOMPARE(choice->count(), 6);
    auto* plot = plots->currentWidget()->findChild<QCustomPlot*>();
    const auto drawn = [&] { return plot->graph(3)->data()->at(0)->value; };
    QTRY_COMPARE(drawn(), results.trainings[0].curve->front().best_cost);
    choice->setFocus();
    QTest::keyClick(choice, Qt::Key_Down);
    QTRY_COMPARE(drawn(), results.trainings[1].curve->front().best_cost);
}

void TestWindowExperiment::searches() {
    const Workplace workplace;
    const QString folder = workplace.file("e3");
    runExperiment({"e3", "--evaluations", "40", "--seeds", "2", "--out", folder});
    const ExperimentResults results = read_experiment(folder.toStdString());
    QVERIFY(results.cases.size() >= 9);
    QVERIFY(results.distributions.empty() && results.trainings.empty());
    const auto& series = results.cases[0].series;
    QVERIFY(series.size() >= 8);
    QCOMPARE(series[0].style.algorithm, series[1].style.algorithm);  // two seeds of an algorithm
    QVERIFY(series[0].style != series[1].style);
    QVERIFY(series[0].style.algorithm != series[2].style.algorithm);
    QVERIFY(!series[0].points->empty() && series[0].points->back().best_s > 0);

    Shown shown;
    openFolder(shown, folder);
    ExperimentWindow* window = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT((window = shown.window.findChild<ExperimentWindow*>()) != nullptr, kPatience_ms);
    auto* plots = window->findChild<QTabWidget*>("plots");
    QCOMPARE(plots->count(), 1);
    QCOMPARE(static_cast<std::size_t>(plots->widget(0)->findChild<QCustomPlot*>()->graphCount()),
             series.size());
}

void TestWindowExperiment::manySeeds() {
    const Workplace workplace;
    QDir().mkpath(workplace.file("x"));
    workplace.write("x/some.md", "# Some");
    QByteArray table = "network,algorithm,seed,evaluations,seconds,best_s,mean_s\n";
    for (int seed = 1; seed <= 7; ++seed)
        table += QByteArrayLiteral("\"a, b\",tabu,") + QByteArray::number(seed) + ",10,0.5," +
                 QByteArray::number(10 - seed) + ",9\n";
    table += "\"a, b\",auto,1,10,0.5,1,9\n";
    workplace.write("x/curves.csv", table);
    const ExperimentResults results = read_experiment(workplace.file("x").toStdString());
    QCOMPARE(results.cases.size(), std::size_t{1});
    QCOMPARE(results.cases[0].title, QStringLiteral("a, b"));
    const auto& series = results.cases[0].series;
    QCOMPARE(series.size(), std::size_t{2});
    QCOMPARE(series[0].title, QStringLiteral("tabu · 4 (median of 7)"));
    QCOMPARE(series[0].points->back().best_s, 6.0);
    QCOMPARE(series[1].title, QStringLiteral("auto · 1"));
}

void TestWindowExperiment::whatNeedsNoSearchIsDrawnAcross() {
    const Workplace workplace;
    QDir().mkpath(workplace.file("x"));
    workplace.write("x/some.md", "# Some");
    workplace.write("x/curves.csv",
                    "network,algorithm,seed,evaluations,seconds,best_s,mean_s\na,expert,1,1,0.1,0.5,0.5\n"
                    "a,tabu,1,1,0.1,3,3\na,tabu,1,200,2,1,2\n");
    Shown shown;
    openFolder(shown, workplace.file("x"));
    ExperimentWindow* window = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT((window = shown.window.findChild<ExperimentWindow*>()) != nullptr, kPatience_ms);
    const auto* plot = window->findChild<QTabWidget*>("plots")->widget(0)->findChild<QCustomPlot*>();
    QCOMPARE(plot->graph(0)->data()->at(0)->key, 0.0);
    QCOMPARE((plot->graph(0)->data()->constEnd() - 1)->key, 200.0);
    QCOMPARE(plot->graph(1)->data()->size(), 2);
}

void TestWindowExperiment::aReportHasNoEmptyTables() {
    const Workplace workplace;
    const QString folder = workplace.file("post");
    runExperiment({"post", "--only", "resnet50,2", "--algorithm", "single-device", "--evaluations", "4",
                   "--out", folder});
    const QString report = read_experiment(folder.toStdString()).report;
    QVERIFY2(report.contains("| network | GPUs | ops | groups | memory of a GPU |"),
             qPrintable(report.left(1000)));
    QVERIFY(!report.contains("Parameters"));
}

void TestWindowExperiment::theWindowCloses() {
    const Workplace workplace;
    QDir().mkpath(workplace.file("x"));
    workplace.write("x/some.md", "# Some");
    for (const bool byKey : {true, false}) {
        Shown shown;
        openFolder(shown, workplace.file("x"));
        QPointer<ExperimentWindow> window;
        QTRY_VERIFY_WITH_TIMEOUT((window = shown.window.findChild<ExperimentWindow*>()) != nullptr,
                                 kPatience_ms);
        window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(window));
        if (byKey) {
            QTest::keyClick(window, Qt::Key_Escape);
        } else {
            QTest::mouseClick(window->findChild<QPushButton*>("close"), Qt::LeftButton);
        }
        QTRY_VERIFY(window.isNull());
    }
}

void TestWindowExperiment::undefinedScores() {
    const Workplace workplace;
    QDir().mkpath(workplace.file("x"));
    workplace.write("x/some.md", "# Some");
    workplace.write("x/curves.csv",
                    "network,algorithm,seed,evaluations,seconds,best_s,mean_s\na,random,1,1,0.5,,\na,random,"
                    "1,2,0.5,3,4\n");
    const auto points = read_experiment(workplace.file("x").toStdString()).cases[0].series[0].points;
    QCOMPARE(points->size(), std::size_t{2});
    QVERIFY(!points->front().fits && points->back().fits);
    QCOMPARE(points->back().best_s, 3.0);
}

void TestWindowExperiment::faultyTables_data() {
    QTest::addColumn<QByteArray>("values");
    QTest::addColumn<QByteArray>("curves");
    QTest::addColumn<QString>("error");
    const QByteArray header = "family,scheme,graph,seed,step_time_s,one_device_s,fits\n";
    QTest::newRow("fields") << header + "nmt,Scotch,a,1,2\n"
                            << QByteArray()
                            << "values.csv: line 2: has 5 fields, expected 7 as in the first line";
    QTest::newRow("number") << header + "nmt,Scotch,a,1,2,,true\nnmt,Scotch,b,1,x,,true\n"
                            << QByteArray() << "values.csv: line 3, step_time_s: is \"x\", expected a number";
    QTest::newRow("infinite") << header + "nmt,Scotch,a,1,inf,,true\n"
                              << QByteArray()
                              << "values.csv: line 2, step_time_s: is \"inf\", expected a number";
    const QByteArray curves = "network,algorithm,seed,evaluations,seconds,best_s,mean_s\n";
    QTest::newRow("evaluations") << QByteArray() << curves + "a,tabu,1,-1,0.1,3,3\n"
                                 << "curves.csv: line 2, evaluations: is \"-1\", expected a whole number";
    QTest::newRow("column") << QByteArray("family,scheme\n") << QByteArray()
                            << "values.csv: line 1: there is no column \"graph\"";
    QTest::newRow("curves") << QByteArray() << QByteArray("a,b\n1,2\n")
                            << "curves.csv: line 1: there is no column \"algorithm\"";
}

void TestWindowExperiment::faultyTables() {
    QFETCH(QByteArray, values);
    QFETCH(QByteArray, curves);
    QFETCH(QString, error);
    const Workplace workplace;
    QDir().mkpath(workplace.file("x"));
    const QString folder = workplace.file("x");
    QVERIFY(errorOf(folder).find("contains no results") != std::string::npos);
    workplace.write("x/some.md", "# Some");
    QCOMPARE(errorOf(folder), std::string());
    if (!values.isEmpty()) workplace.write("x/values.csv", values);
    if (!curves.isEmpty()) workplace.write("x/curves.csv", curves);
    QVERIFY2(QString::fromStdString(errorOf(folder)).endsWith(error), errorOf(folder).c_str());
}

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowExperiment)
#include "tst_window_experiment.moc"
