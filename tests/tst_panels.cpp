// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <QAbstractButton>
#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QTreeWidget>

#include "core/base/random.hpp"
#include "tests/support/graphs.hpp"
#include "widgets/archive_view.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"
#include "widgets/distribution_view.hpp"
#include "widgets/learning_plot.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/palette.hpp"
#include "widgets/qcustomplot_header.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/standing_plot.hpp"
#include "widgets/start_page.hpp"

using namespace placewright;

namespace {

RunRow run(int id, double stepTime, RunRow::State state = RunRow::State::finished) {
    RunRow row;
    row.id = id;
    row.title = QStringLiteral("Run #%1").arg(id);
    row.state = state;
    row.step_time_s = stepTime;
    row.speedup = stepTime > 0 ? 0.1 / stepTime : 0;
    row.evaluations = 100 * static_cast<quint64>(id);
    row.budget = 20000;
    return row;
}

/// Titles of a view from top to bottom.
QStringList titles(const RunsView& view) {
    QStringList result;
    for (int row = 0; row < view.model()->rowCount(); ++row) result << view.model()->index(row, RunsModel::Title).data().toString();
    return result;
}

QPoint centreOf(const RunsView& view, int row) {
    return view.visualRect(view.model()->index(row, RunsModel::Title)).center();
}

/// Pixels of the picture that are not of the colour.
qsizetype otherThan(const QImage& image, const QColor& color) {
    qsizetype count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) != color;
    }
    return count;
}

CurveSeries series(int id, std::vector<CurvePoint> points, double evaluations, double seconds) {
    return {id, QStringLiteral("Run #%1").arg(id), std::make_shared<const std::vector<CurvePoint>>(std::move(points)), evaluations, seconds,
            {}};
}

/// From 90 ms after a penalty to 41 ms.
CurveSeries usualSeries(int id = 1) {
    return series(id, {{10, 0.1, 5e5, 5e5}, {20, 0.2, 0.090, 0.1}, {300, 3.0, 0.050, 0.06}, {800, 8.0, 0.041, 0.05}}, 1000, 10);
}

/// Three graphs placed in two ways; "random" does not fit one of them.
CdfData family() {
    return {{{"small", 0.010}, {"middle", 0.040}, {"large", 0.100}},
            {{"optimized", {{2, 0.050}, {0, 0.010}, {1, 0.030}}}, {"random", {{0, 0.020}, {1, 0.060}, {2, 0.001, false}}}}};
}

/// Costs that fall from 0.75 of one device, the entropy from 1.5 nats, the rate from 0.5.
std::shared_ptr<const std::vector<TrainingPoint>> training(std::uint64_t updates) {
    std::vector<TrainingPoint> curve;
    for (std::uint64_t i = 0; i < updates; ++i) {
        const auto step = static_cast<double>(i);
        TrainingPoint point;
        point.updates = i + 1;
        point.cost = 0.75 - 0.25 * step;
        point.cost_spread = 0.25;
        point.best_cost = 0.5 - 0.125 * step;
        point.entropy = 1.5 - 0.5 * step;
        point.learning_rate = 0.5 / std::exp2(step);
        curve.push_back(point);
    }
    return std::make_shared<const std::vector<TrainingPoint>>(std::move(curve));
}

/// What is written on the bars.
QStringList labelsOf(const StandingPlot& plot) {
    QStringList labels;
    for (int i = 0; i < plot.plot()->itemCount(); ++i) {
        if (const auto* label = qobject_cast<QCPItemText*>(plot.plot()->item(i))) labels << label->text();
    }
    return labels;
}

/// A click on the tick of a scheme.
void clickTick(const CdfPlot& cdf, int scheme) {
    auto* list = cdf.findChild<QTreeWidget*>("schemes");
    QStyleOptionViewItem option;
    option.initFrom(list);
    option.rect = list->visualItemRect(list->topLevelItem(scheme));
    option.features = QStyleOptionViewItem::HasCheckIndicator | QStyleOptionViewItem::HasDecoration;
    option.decorationSize = list->iconSize();
    option.text = list->topLevelItem(scheme)->text(0);
    const QRect tick = list->style()->subElementRect(QStyle::SE_ItemViewItemCheckIndicator, &option, list);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, tick.center());
}

QList<QPointF> dataOf(const QCustomPlot& plot, int graph) {
    QList<QPointF> points;
    for (const QCPGraphData& point : *plot.graph(graph)->data()) points << QPointF(point.key, point.value);
    return points;
}

Score fitting(double seconds) {
    return {seconds, seconds, true};
}

/// 3 devices, 2 counts, 4 jumps; the placement of an elite tells its cell.
std::shared_ptr<ArchiveView> archive(const std::vector<std::pair<std::uint32_t, Score>>& elites) {
    auto view = std::make_shared<ArchiveView>();
    view->dimensions = {{"Device", 3, {"cpu:0", "gpu:0", "gpu:1"}}, {"Used", 2, {"one", "both"}}, {"Jumps", 4, {}}};
    for (const auto& [cell, score] : elites) {
        view->elites.push_back({cell, score, std::make_shared<Placement>(Placement{static_cast<DeviceId>(cell)})});
    }
    return view;
}

constexpr std::uint32_t cell(std::uint32_t device, std::uint32_t used, std::uint32_t jumps) {
    return (device * 2 + used) * 4 + jumps;
}

QCPColorMapData& cellsOf(const ArchiveMap& map) {
    return *qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->data();
}

QPoint pixelOf(const ArchiveMap& map, int x, int y) {
    return {qRound(map.plot()->xAxis->coordToPixel(x)), qRound(map.plot()->yAxis->coordToPixel(y))};
}

/// A training step of forward ops "op0" to "op5" on gpu:0 and gpu:1.
std::shared_ptr<const Problem> sixOps() {
    return test::problem(test::chain(6, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2));
}

/// Of two devices; `second` [group]: how likely each is on the second.
std::shared_ptr<const DistributionView> distribution(const std::vector<double>& second, double entropy = 0.5) {
    auto view = std::make_shared<DistributionView>();
    view->devices = {0, 1};
    for (const double probability : second) view->probability.insert(view->probability.end(), {1 - probability, probability});
    view->entropy = entropy;
    view->largest_entropy = std::log(2);
    view->entropies = {{12, std::log(2)}, {24, 0.6}, {36, entropy}};
    return view;
}

QPoint pixelOf(const DistributionMap& map, int x, int y) {
    return {qRound(map.plot()->xAxis->coordToPixel(x)), qRound(map.plot()->yAxis->coordToPixel(y))};
}

template <class Widget>
void showAt(Widget& widget, QSize size) {
    widget.resize(size);
    widget.show();
    QVERIFY(QTest::qWaitForWindowExposed(&widget));
}

QPalette darkPalette() {
    QPalette palette;
    palette.setColor(QPalette::Window, QColor(45, 45, 48));
    palette.setColor(QPalette::WindowText, QColor(230, 230, 230));
    palette.setColor(QPalette::Base, QColor(30, 30, 32));
    palette.setColor(QPalette::Text, QColor(230, 230, 230));
    return palette;
}

}  // namespace

class TestPanels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // Runs

    void runsModelKeepsItsPromises_data() {
        QTest::addColumn<int>("seed");
        for (int seed = 1; seed <= 5; ++seed) QTest::addRow("seed %d", seed) << seed;
    }
    void runsModelKeepsItsPromises() {
        QFETCH(int, seed);
        Random random(static_cast<std::uint64_t>(seed));
        RunsModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        for (int step = 0; step < 60; ++step) {
            std::vector<RunRow> rows;
            for (int id = 1; id <= 9; ++id) {
                if (random.chance(0.6)) rows.push_back(run(id, random.uniform(0.04, 0.09)));
            }
            if (random.chance(0.4)) random.shuffle(std::span(rows));
            model.setRows(rows);
            QVERIFY(model.rows() == rows);
            QCOMPARE(model.rowCount(), static_cast<int>(rows.size()));
        }
    }

    void runsModelEmitsOnlyWhatChanged() {
        RunsModel model;
        model.setRows({run(1, 0.08), run(2, 0.07), run(3, 0.06)});
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged), inserted(&model, &QAbstractItemModel::rowsInserted),
            removed(&model, &QAbstractItemModel::rowsRemoved), reset(&model, &QAbstractItemModel::modelReset);
        model.setRows({run(1, 0.08), run(2, 0.07), run(3, 0.06)});
        QCOMPARE(changed.size() + inserted.size() + removed.size(), 0);

        const QPersistentModelIndex third = model.index(2, RunsModel::Title);
        model.setRows({run(2, 0.05), run(3, 0.06), run(4, 0)});
        QCOMPARE(removed.size(), 1);
        QCOMPARE(inserted.size(), 1);
        QCOMPARE(changed.size(), 1);
        QCOMPARE(changed[0][0].toModelIndex().row(), 0);
        QCOMPARE(reset.size(), 0);
        QCOMPARE(third.data(RunsModel::IdRole).toInt(), 3);
        QCOMPARE(third.row(), 1);
    }

    void runsSayWhatPeopleRead_data() {
        QTest::addColumn<RunRow>("row");
        QTest::addColumn<int>("column");
        QTest::addColumn<QString>("text");
        const RunRow usual = [] {
            RunRow row = run(6, 0.0412);
            row.speedup = 2.09;
            row.gap = 0.0899;
            row.evaluations = 12400;
            row.seconds = 4.2;
            return row;
        }();
        const auto with = [&](auto change) {
            RunRow row = usual;
            change(row);
            return row;
        };
        QTest::newRow("step time") << usual << int(RunsModel::StepTime) << QStringLiteral("41.2 ms");
        QTest::newRow("none yet") << with([](RunRow& row) { row.step_time_s = 0; }) << int(RunsModel::StepTime) << QString();
        QTest::newRow("does not fit") << with([](RunRow& row) { row.fits = false; }) << int(RunsModel::StepTime)
                                      << QStringLiteral("does not fit");
        QTest::newRow("over by so much") << with([](RunRow& row) {
            row.fits = false;
            row.over_bytes = 1.2e9;
        }) << int(RunsModel::StepTime) << QStringLiteral("1.20 GB over");
        QTest::newRow("speed-up of what does not fit")
            << with([](RunRow& row) { row.fits = false; }) << int(RunsModel::Speedup) << QString();
        QTest::newRow("speed-up") << usual << int(RunsModel::Speedup) << QStringLiteral("2.1×");
        QTest::newRow("large speed-up") << with([](RunRow& row) { row.speedup = 12.4; }) << int(RunsModel::Speedup)
                                        << QStringLiteral("12×");
        QTest::newRow("no speed-up") << with([](RunRow& row) { row.speedup = 0; }) << int(RunsModel::Speedup) << QString();
        QTest::newRow("gap is rounded up") << usual << int(RunsModel::Gap) << QStringLiteral("≤ 9 %");
        QTest::newRow("whole gap") << with([](RunRow& row) { row.gap = 0.09; }) << int(RunsModel::Gap) << QStringLiteral("≤ 9 %");
        QTest::newRow("a little more") << with([](RunRow& row) { row.gap = 0.0901; }) << int(RunsModel::Gap) << QStringLiteral("≤ 10 %");
        QTest::newRow("no gap") << with([](RunRow& row) { row.gap = 0; }) << int(RunsModel::Gap) << QStringLiteral("optimal");
        QTest::newRow("unknown gap") << with([](RunRow& row) { row.gap = -1; }) << int(RunsModel::Gap) << QString();
        QTest::newRow("gap of what does not fit") << with([](RunRow& row) { row.fits = false; }) << int(RunsModel::Gap) << QString();
        QTest::newRow("evaluations") << usual << int(RunsModel::Evaluations) << QStringLiteral("12.4 k");
        QTest::newRow("running") << with([](RunRow& row) { row.state = RunRow::State::running; }) << int(RunsModel::Evaluations)
                                 << QStringLiteral("12.4 k / 20.0 k");
        QTest::newRow("by hand") << with([](RunRow& row) { row.evaluations = 0; }) << int(RunsModel::Evaluations) << QString();
        QTest::newRow("time") << usual << int(RunsModel::Time) << QStringLiteral("0:04");
    }
    void runsSayWhatPeopleRead() {
        QFETCH(RunRow, row);
        QFETCH(int, column);
        QFETCH(QString, text);
        RunsModel model;
        model.setRows({row});
        QCOMPARE(model.index(0, column).data().toString(), text);
    }

    void runsShowTheirState() {
        RunsModel model;
        RunRow failed = run(2, 0, RunRow::State::failed);
        failed.failure = QStringLiteral("temperature must be positive");
        RunRow shown = run(1, 0.04, RunRow::State::running);
        shown.shown = true;
        model.setRows({shown, failed});
        QVERIFY(model.index(0, RunsModel::StepTime).data(Qt::FontRole).value<QFont>().bold());
        QVERIFY(!model.index(1, RunsModel::StepTime).data(Qt::FontRole).isValid());
        QVERIFY(model.index(1, RunsModel::Title).data(Qt::ToolTipRole).toString().contains(failed.failure));
        QCOMPARE(model.index(1, RunsModel::Title).data(Qt::ForegroundRole).value<QColor>(), warningColor(QGuiApplication::palette()));
        QVERIFY(model.index(0, RunsModel::Title).data(Qt::AccessibleTextRole).toString().contains(u"running"));
        const auto icon = [&](int row) {
            return model.index(row, RunsModel::Title).data(Qt::DecorationRole).value<QIcon>().pixmap(16).toImage();
        };
        QVERIFY(icon(0) != icon(1));
        for (int column = 0; column < RunsModel::ColumnCount; ++column) {
            QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
        }
    }

    void longNamesLeaveTheFiguresInView() {
        RunsView view;
        showAt(view, {420, 200});
        RunRow named = run(12, 0.0412);
        named.title = QStringLiteral("Simulated annealing by generalized moves, zero-shot #12");
        named.elsewhere = QStringLiteral("4x V100 (PCIe 3), 16 batches");
        named.gap = 0.27;
        view.runs()->setRows({named, run(2, 0.041)});
        const QHeaderView& header = *view.horizontalHeader();
        const auto end = [&](int column) { return header.sectionViewportPosition(column) + header.sectionSize(column); };
        QTRY_VERIFY(end(RunsModel::Gap) <= view.viewport()->width());
        QTRY_VERIFY(end(RunsModel::Gap) > view.viewport()->width() - 10);
        QVERIFY(header.sectionSize(RunsModel::Title) > 60);
        QCOMPARE(view.textElideMode(), Qt::ElideMiddle);
        QVERIFY(view.model()->index(1, RunsModel::Title).data(Qt::ToolTipRole).toString().startsWith(named.title) ||
                view.model()->index(0, RunsModel::Title).data(Qt::ToolTipRole).toString().startsWith(named.title));
        // With room for all there is nothing to scroll.
        view.resize(1200, 200);
        QTRY_VERIFY(end(RunsModel::Time) <= view.viewport()->width());
    }

    void runsAreSortedByClickingAHeader() {
        RunsView view;
        showAt(view, {900, 300});
        RunRow misfit = run(4, 0.03);
        misfit.fits = false;
        view.runs()->setRows({run(1, 0.08), run(2, 0.041), run(3, 0), misfit, run(5, 0.1)});
        QCOMPARE(titles(view), QStringList({"Run #5", "Run #4", "Run #3", "Run #2", "Run #1"}));

        const QHeaderView& header = *view.horizontalHeader();
        const QPoint stepTime(header.sectionViewportPosition(RunsModel::StepTime) + header.sectionSize(RunsModel::StepTime) / 2,
                              header.height() / 2);
        QTest::mouseClick(header.viewport(), Qt::LeftButton, {}, stepTime);
        if (header.sortIndicatorOrder() == Qt::DescendingOrder) QTest::mouseClick(header.viewport(), Qt::LeftButton, {}, stepTime);
        QCOMPARE(titles(view), QStringList({"Run #2", "Run #1", "Run #5", "Run #4", "Run #3"}));
    }

    void updatesKeepSelectionAndScrollPosition() {
        RunsView view;
        showAt(view, {900, 150});
        std::vector<RunRow> rows;
        for (int id = 1; id <= 60; ++id) rows.push_back(run(id, 0.1 - id * 1e-3));
        view.runs()->setRows(rows);
        view.sortByColumn(RunsModel::StepTime, Qt::AscendingOrder);
        QTRY_VERIFY(view.verticalScrollBar()->maximum() > 20);
        view.verticalScrollBar()->setValue(20);
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 22));
        const int selected = view.currentRun().value();
        QCOMPARE(selected, 38);

        for (RunRow& row : rows) row.evaluations += 10;
        rows[37].step_time_s = 0.001;
        rows.push_back(run(61, 0.2));
        rows.erase(rows.begin());
        view.runs()->setRows(rows);
        QCOMPARE(view.currentRun().value(), selected);
        QCOMPARE(view.currentIndex().row(), 0);
        QCOMPARE(view.selectionModel()->selectedRows().size(), 1);
        QCOMPARE(view.selectionModel()->selectedRows()[0].data(RunsModel::IdRole).toInt(), selected);
        QCOMPARE(view.verticalScrollBar()->value(), 20);
    }

    void runsAnswerMouseAndKeyboard() {
        RunsView view;
        showAt(view, {900, 300});
        QSignalSpy activated(&view, &RunsView::runActivated), removed(&view, &RunsView::removeRequested);
        QTest::keyClick(&view, Qt::Key_Return);
        QTest::keyClick(&view, Qt::Key_Delete);
        QVERIFY(!view.currentRun());
        QCOMPARE(activated.size() + removed.size(), 0);

        view.runs()->setRows({run(1, 0.08), run(2, 0.07), run(3, 0.06)});
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 0));
        QCOMPARE(activated.size(), 0);
        QTest::mouseDClick(view.viewport(), Qt::LeftButton, {}, centreOf(view, 0));
        QCOMPARE(activated.takeFirst()[0].toInt(), 3);
        QTest::keyClick(&view, Qt::Key_Down);
        QTest::keyClick(&view, Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated.takeFirst()[0].toInt(), 2);
        QTest::keyClick(&view, Qt::Key_Enter, Qt::KeypadModifier);
        QCOMPARE(activated.takeFirst()[0].toInt(), 2);
        QTest::keyClick(&view, Qt::Key_Delete);
        QCOMPARE(removed.takeFirst()[0].toInt(), 2);
    }

    void runsHaveAMenu() {
        RunsView view;
        showAt(view, {900, 300});
        view.runs()->setRows({run(1, 0.08), run(2, 0.07, RunRow::State::running)});
        QSignalSpy activated(&view, &RunsView::runActivated), cancelled(&view, &RunsView::cancelRequested),
            removed(&view, &RunsView::removeRequested), paused(&view, &RunsView::pauseRequested);
        const auto openMenu = [&](int row) {
            QContextMenuEvent event(QContextMenuEvent::Mouse, centreOf(view, row), view.viewport()->mapToGlobal(centreOf(view, row)));
            QApplication::sendEvent(view.viewport(), &event);
            return qobject_cast<QMenu*>(QApplication::activePopupWidget());
        };
        const auto choose = [](QMenu* menu, int item) {
            QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(menu->actions()[item]).center());
        };
        QMenu* ofRunning = openMenu(0);
        QVERIFY(ofRunning);
        choose(ofRunning, 1);
        QVERIFY((paused.takeFirst() == QVariantList{2, true}));
        choose(openMenu(0), 2);
        QCOMPARE(cancelled.takeFirst()[0].toInt(), 2);
        QMenu* ofFinished = openMenu(1);
        QVERIFY(ofFinished);
        QVERIFY(!ofFinished->actions()[1]->isEnabled() && !ofFinished->actions()[2]->isEnabled());
        choose(ofFinished, 0);
        QCOMPARE(activated.takeFirst()[0].toInt(), 1);
        choose(openMenu(1), 4);
        QCOMPARE(removed.takeFirst()[0].toInt(), 1);
        view.runs()->setRows({run(1, 0.08, RunRow::State::paused)});
        choose(openMenu(0), 1);
        QVERIFY((paused.takeFirst() == QVariantList{1, false}));
        QCOMPARE(cancelled.size(), 0);
    }

    void emptyRunsSayWhatWouldFillThem() {
        RunsView view;
        view.setAlternatingRowColors(false);
        showAt(view, {600, 300});
        const QColor base = view.palette().color(QPalette::Base);
        const auto middle = [&] { return view.viewport()->grab(QRect(0, 100, view.viewport()->width(), 100)).toImage(); };
        QVERIFY(otherThan(middle(), base) > 200);
        view.runs()->setRows({run(1, 0.08)});
        QCOMPARE(otherThan(middle(), base), 0);
    }

    // Curves

    void curvesHoldTheBestSoFarToTheEnd() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries(), series(2, {{50, 0.5, 0.070, 0.1}}, 50, 0.5)});
        QCOMPARE(curves.plot()->graphCount(), 2);
        QCOMPARE(dataOf(*curves.plot(), 0), QList<QPointF>({{10, 5e8}, {20, 90}, {300, 50}, {800, 41}, {1000, 41}}));
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{50, 70}}));
        QCOMPARE(curves.plot()->graph(0)->lineStyle(), QCPGraph::lsStepLeft);
        QCOMPARE(curves.plot()->graph(0)->name(), QStringLiteral("Run #1"));
        QCOMPARE(curves.plot()->graph(0)->pen().color(), runColor(1, curves.palette().color(QPalette::Base)));
        QVERIFY(curves.plot()->yAxis->label().contains(u"[ms]"));

        curves.setSeries({series(2, {{50, 0.5, 70e-6, 1e-4}}, 60, 0.6)});
        QCOMPARE(curves.plot()->graphCount(), 1);
        QCOMPARE(dataOf(*curves.plot(), 0).size(), 2);
        QVERIFY(std::abs(dataOf(*curves.plot(), 0)[0].y() - 70) < 1e-9);
        QVERIFY(curves.plot()->yAxis->label().contains(u"[µs]"));
    }

    void coloursOfRunsAreApartOnAnyBackground() {
        for (const QColor& background : {QColor(Qt::white), QColor(30, 30, 30), QColor(42, 46, 50)}) {
            for (int a = 0; a < 8; ++a) {
                const QColor one = runColor(a, background);
                QVERIFY(contrast(one, background) > 2.2);
                for (int b = 0; b < a; ++b) {
                    const QColor other = runColor(b, background);
                    const double apart = std::hypot(one.red() - other.red(), one.green() - other.green(), one.blue() - other.blue());
                    QVERIFY2(apart > 50, qPrintable(QStringLiteral("%1 and %2: %3").arg(a).arg(b).arg(apart)));
                }
            }
        }
    }

    void whatNeedsNoSearchIsALineAcross() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries built = series(2, {{1, 0.5, 0.070, 0.07}}, 1, 0.5);
        built.ended = true;
        curves.setSeries({usualSeries(), built});
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{0, 70}, {1, 70}, {1000, 70}}));
        curves.findChild<QComboBox*>("against")->setCurrentIndex(1);
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{0, 70}, {0.5, 70}, {10, 70}}));
        // Alone it is seen too.
        curves.findChild<QComboBox*>("against")->setCurrentIndex(0);
        curves.setSeries({built});
        QCOMPARE(dataOf(*curves.plot(), 0), QList<QPointF>({{0, 70}, {1, 70}}));
    }

    void curvesSkipTimesThatAreNotFinite() {
        CurvePlot curves;
        curves.setSeries({series(1, {{10, 0.1, std::numeric_limits<double>::infinity(), 0}, {20, 0.2, 0.05, 0.1}}, 30, 0.3)});
        QCOMPARE(dataOf(*curves.plot(), 0), QList<QPointF>({{20, 50}, {30, 50}}));
    }

    void curvesAreDrawnAgainstSeconds() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        auto* against = curves.findChild<QComboBox*>("against");
        against->setFocus();
        QTest::keyClick(against, Qt::Key_Down);
        QCOMPARE(dataOf(*curves.plot(), 0), QList<QPointF>({{0.1, 5e8}, {0.2, 90}, {3, 50}, {8, 41}, {10, 41}}));
        QCOMPARE(curves.plot()->xAxis->range().upper, 10.0);
        QCOMPARE(curves.plot()->xAxis->label(), QStringLiteral("Time [s]"));
    }

    void meansAreDrawnOnDemand() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries one = usualSeries();
        one.means = {{500, 0.120}, {1000, 0.060}};
        curves.setSeries({one});
        QCOMPARE(curves.plot()->graphCount(), 1);
        auto* means = curves.findChild<QCheckBox*>("means");
        QTest::mouseClick(means, Qt::LeftButton);
        QCOMPARE(curves.plot()->graphCount(), 2);
        // Each mean is that of the evaluations since the one before.
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{0, 120}, {500, 60}, {1000, 60}}));
        QVERIFY(curves.plot()->yAxis->range().upper > 120);
        QVERIFY(curves.plot()->graph(1)->pen().color() != curves.plot()->graph(0)->pen().color());
        QVERIFY(curves.plot()->graph(1)->pen().widthF() < curves.plot()->graph(0)->pen().widthF());
        QCOMPARE(curves.plot()->legend->itemCount(), 1);
        const QPointF at(curves.plot()->xAxis->coordToPixel(250), curves.plot()->yAxis->coordToPixel(119));
        QMouseEvent move(QEvent::MouseMove, at, curves.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(curves.plot(), &move);
        QVERIFY2(QToolTip::text().startsWith(u"Run #1, mean\n120 ms after 2"), qPrintable(QToolTip::text()));
        // Nothing is known of the seconds at which they were reached.
        curves.findChild<QComboBox*>("against")->setFocus();
        QTest::keyClick(curves.findChild<QComboBox*>("against"), Qt::Key_Down);
        QCOMPARE(curves.plot()->graphCount(), 1);
        QVERIFY(!means->isEnabled());
        QTest::keyClick(curves.findChild<QComboBox*>("against"), Qt::Key_Up);
        QCOMPARE(curves.plot()->graphCount(), 2);
        QTest::mouseClick(means, Qt::LeftButton);
        QCOMPARE(curves.plot()->graphCount(), 1);
        QVERIFY(curves.plot()->yAxis->range().upper < 110);
    }

    void meansFarAboveTheBestAreInTheRange() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        CurveSeries one = usualSeries();
        one.means = {{500, 0.9}, {1000, 0.6}};
        curves.setSeries({one});
        QVERIFY(curves.plot()->yAxis->range().upper < 110);
        QTest::mouseClick(curves.findChild<QCheckBox*>("means"), Qt::LeftButton);
        QVERIFY(curves.plot()->yAxis->range().upper > 600);
    }

    void penaltiesAreNotDrawnAsTimes() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        const CurveSeries never = series(1, {{1, 0.1, 5e5, 0, false}, {9, 0.2, 4e5, 0, false}}, 1000, 10);
        curves.setSeries({never});
        const auto* empty = curves.findChild<QLabel*>("empty");
        QVERIFY2(empty->isVisible() && empty->text().contains(u"fits the memory"), qPrintable(empty->text()));
        const CurveSeries later = series(2, {{1, 0.1, 5e5, 0, false}, {9, 0.2, 0.05, 0}}, 1000, 10);
        curves.setSeries({never, later});
        QVERIFY(!empty->isVisible());
        QVERIFY(dataOf(*curves.plot(), 0).isEmpty());
        QCOMPARE(curves.plot()->graph(0)->name(), QStringLiteral("Run #1 (does not fit)"));
        QCOMPARE(dataOf(*curves.plot(), 1), QList<QPointF>({{9, 50}, {1000, 50}}));
        QCOMPARE(curves.plot()->graph(1)->name(), QStringLiteral("Run #2"));
    }

    void smallPlotsLeaveOutWhatDoesNotFit() {
        CurvePlot curves;
        std::vector<CurveSeries> runs{usualSeries(1), usualSeries(2), usualSeries(3)};
        runs[1].title = QStringLiteral("Simulated annealing #12");
        curves.setSeries(runs);
        curves.setLowerBound(0.03);
        showAt(curves, {700, 500});
        QCustomPlot& plot = *curves.plot();
        const auto* bound = qobject_cast<QCPItemText*>(plot.item(1));
        // Above the curves, never on them.
        QTRY_VERIFY(plot.legend->realVisibility());
        QVERIFY(plot.legend->outerRect().bottom() < plot.axisRect()->top());
        QVERIFY(plot.legend->outerRect().left() >= 0 && plot.legend->outerRect().right() <= plot.viewport().right());
        QTRY_COMPARE(plot.yAxis->label(), QStringLiteral("Best step time [ms]"));
        QVERIFY(bound->visible());
        // Three names in two columns at most.
        curves.resize(480, 400);
        QTRY_COMPARE(plot.legend->rowCount(), 2);
        QVERIFY(plot.legend->outerRect().right() <= plot.viewport().right());

        curves.resize(380, 130);
        QTRY_VERIFY(!plot.legend->realVisibility());
        QTRY_COMPARE(plot.yAxis->label(), QStringLiteral("[ms]"));
        QCOMPARE(plot.xAxis->label(), QStringLiteral("Evaluations"));
        QTRY_VERIFY(!bound->visible());
        QVERIFY(plot.yAxis->ticker()->tickCount() < 5);
        QVERIFY(plot.axisRect()->height() > 30);

        curves.resize(700, 500);
        QTRY_VERIFY(plot.legend->realVisibility());
        QTRY_COMPARE(plot.yAxis->label(), QStringLiteral("Best step time [ms]"));
        QTRY_VERIFY(bound->visible());
    }

    void rangesLeavePenaltiesOut() {
        CurvePlot curves;
        curves.setSeries({usualSeries()});
        const QCPRange y = curves.plot()->yAxis->range();
        QVERIFY(y.upper > 90 && y.upper < 110);
        QVERIFY(y.lower < 41 && y.lower > 20);
        QCOMPARE(curves.plot()->xAxis->range().lower, 0.0);
        QCOMPARE(curves.plot()->xAxis->range().upper, 1000.0);

        curves.setSeries({usualSeries(), series(2, {{10, 0.1, 2.0, 3.0}}, 100, 1)});
        QVERIFY(curves.plot()->yAxis->range().upper < 110);
        QVERIFY(curves.plot()->graph(1)->name().contains(u"above"));
    }

    /// The first fall is steep and soon over; what comes after it is what the plot is for.
    void lateImprovementsAreSeen() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries(
            {series(1, {{1, 0, 0.200, 0}, {20, 0.1, 0.100, 0}, {2000, 1, 0.045, 0}, {6000, 3, 0.041, 0}, {9000, 4, 0.040, 0}}, 10'000, 5)});
        auto* y = curves.plot()->yAxis;
        QVERIFY2(y->range().upper > 100 && y->range().upper < 105, qPrintable(QString::number(y->range().upper)));
        curves.setSeries(
            {series(1, {{1, 0, 0.200, 0}, {20, 0.1, 0.100, 0}, {200, 1, 0.045, 0}, {6000, 3, 0.041, 0}, {9000, 4, 0.040, 0}}, 10'000, 5)});
        QVERIFY2(y->range().upper > 45 && y->range().upper < 46, qPrintable(QString::number(y->range().upper)));
        // A bound that is far away would squash them; its label tells where it is.
        auto* label = qobject_cast<QCPItemText*>(curves.plot()->item(1));
        curves.setLowerBound(0.010);
        QVERIFY(y->range().lower > 38);
        QVERIFY(label->visible() && label->text().endsWith(QChar(0x2193)));
        QCOMPARE(label->position->pixelPosition().y(), double(curves.plot()->axisRect()->bottom() + 1));
        curves.setLowerBound(0.036);
        QVERIFY(y->range().lower < 36);
        QVERIFY(!label->text().endsWith(QChar(0x2193)));
        // Where there is as much room for the beginning, it is shown; what the person has zoomed to stays.
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QVERIFY(y->range().upper > 200);
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QWheelEvent wheel(curves.plot()->axisRect()->center(), curves.plot()->mapToGlobal(curves.plot()->axisRect()->center()), {},
                          {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(curves.plot(), &wheel);
        const QCPRange zoomed = y->range();
        curves.setSeries({series(1, {{1, 0, 0.200, 0}, {9000, 4, 0.030, 0}}, 10'000, 5)});
        QCOMPARE(y->range(), zoomed);
    }

    void theLowerBoundIsALine() {
        CurvePlot curves;
        curves.setSeries({usualSeries()});
        showAt(curves, {500, 400});
        QTRY_VERIFY(curves.plot()->yAxis->range().lower > 35);
        const double before = curves.plot()->yAxis->range().lower;
        auto* line = qobject_cast<QCPItemStraightLine*>(curves.plot()->item(0));
        auto* label = qobject_cast<QCPItemText*>(curves.plot()->item(1));
        QVERIFY(line && label);
        QVERIFY(!line->visible());
        curves.setLowerBound(0.0178);
        QVERIFY(line->visible() && label->visible());
        QCOMPARE(line->point1->value(), 17.8);
        QCOMPARE(line->pen().style(), Qt::DashLine);
        QVERIFY(label->text().contains(u"17.8 ms"));
        QVERIFY(curves.plot()->yAxis->range().lower < 17.8 && curves.plot()->yAxis->range().lower < before);
        curves.setLowerBound(0);
        QVERIFY(!line->visible() && !label->visible());
        QCOMPARE(curves.plot()->yAxis->range().lower, before);
    }

    void axesTurnLogarithmicByClicking() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QCOMPARE(curves.plot()->xAxis->scaleType(), QCPAxis::stLogarithmic);
        QCOMPARE(curves.plot()->yAxis->scaleType(), QCPAxis::stLinear);
        QCOMPARE(curves.plot()->xAxis->range().lower, 10.0);
        QTest::mouseClick(curves.findChild<QCheckBox*>("logY"), Qt::LeftButton);
        QCOMPARE(curves.plot()->yAxis->scaleType(), QCPAxis::stLogarithmic);
        QVERIFY(curves.plot()->yAxis->range().lower > 0);
        // Decades alone would leave 41 to 90 ms without a single label.
        QVERIFY(curves.plot()->yAxis->ticker().dynamicCast<QCPAxisTickerLog>().isNull());
        QVERIFY(!curves.plot()->xAxis->ticker().dynamicCast<QCPAxisTickerLog>().isNull());
        QTest::mouseClick(curves.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QCOMPARE(curves.plot()->xAxis->scaleType(), QCPAxis::stLinear);
        QVERIFY(curves.plot()->xAxis->ticker().dynamicCast<QCPAxisTickerLog>().isNull());
    }

    void axesFollowUntilZoomedAndAgainAfterADoubleClick() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        QTRY_VERIFY(curves.plot()->axisRect()->width() > 200);
        const QPoint centre = curves.plot()->axisRect()->center();
        QWheelEvent wheel(centre, curves.plot()->mapToGlobal(centre), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(curves.plot(), &wheel);
        const QCPRange zoomed = curves.plot()->xAxis->range();
        QVERIFY(zoomed.size() < 1000);
        const auto longer = [] {
            CurveSeries one = usualSeries();
            one.evaluations = 2000;
            return one;
        };
        curves.setSeries({longer()});
        QCOMPARE(curves.plot()->xAxis->range(), zoomed);
        QTest::mouseDClick(curves.plot(), Qt::LeftButton, {}, centre);
        QCOMPARE(curves.plot()->xAxis->range().upper, 2000.0);

        QTest::mousePress(curves.plot(), Qt::LeftButton, {}, centre);
        QTest::mouseMove(curves.plot(), centre + QPoint(20, 0));
        QMouseEvent drag(QEvent::MouseMove, centre + QPoint(60, 0), curves.plot()->mapToGlobal(centre + QPoint(60, 0)), Qt::NoButton,
                         Qt::LeftButton, {});
        QApplication::sendEvent(curves.plot(), &drag);
        QTest::mouseRelease(curves.plot(), Qt::LeftButton, {}, centre + QPoint(60, 0));
        QVERIFY(curves.plot()->xAxis->range().lower < 0);
        QTest::mouseClick(curves.findChild<QToolButton*>("fit"), Qt::LeftButton);
        QCOMPARE(curves.plot()->xAxis->range().lower, 0.0);
    }

    void hoveringACurveShowsItsValue() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        curves.setSeries({usualSeries()});
        QTRY_VERIFY(curves.plot()->axisRect()->width() > 200);
        const auto move = [&](double x, double y) {
            const QPointF at(curves.plot()->xAxis->coordToPixel(x), curves.plot()->yAxis->coordToPixel(y));
            QMouseEvent event(QEvent::MouseMove, at, curves.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
            QApplication::sendEvent(curves.plot(), &event);
        };
        move(500.5, 51);
        QVERIFY2(QToolTip::text().startsWith(u"Run #1\n50.0 ms after 50"), qPrintable(QToolTip::text()));
        auto* tracer = qobject_cast<QCPItemTracer*>(curves.plot()->item(2));
        QVERIFY(tracer->visible());
        QCOMPARE(tracer->position->value(), 50.0);
        move(500.5, 75);
        QVERIFY(!tracer->visible());
    }

    void curvesSayWhatWouldFillThem() {
        CurvePlot curves;
        showAt(curves, {500, 400});
        auto* empty = curves.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"Optimize"));
        QVERIFY(!curves.plot()->isVisible());
        curves.setSeries({series(1, {}, 0, 0)});
        QVERIFY(empty->isVisible());
        curves.setSeries({usualSeries()});
        QVERIFY(!empty->isVisible() && curves.plot()->isVisible());
        curves.setSeries({});
        QVERIFY(empty->isVisible());
    }

    void plotsFollowThePalette() {
        CurvePlot curves;
        ArchiveMap map;
        CdfPlot cdf;
        cdf.setData(family());
        curves.setSeries({usualSeries(6)});  // yellow, which is darkened on white
        const QColor onLight = curves.plot()->graph(0)->pen().color();
        curves.setPalette(darkPalette());
        map.setPalette(darkPalette());
        cdf.setPalette(darkPalette());
        for (const QCustomPlot* plot : {curves.plot(), map.plot(), cdf.plot()}) {
            QVERIFY(contrast(plot->xAxis->tickLabelColor(), darkPalette().color(QPalette::Base)) > 4.5);
            QVERIFY(contrast(plot->yAxis->labelColor(), darkPalette().color(QPalette::Base)) > 4.5);
        }
        QVERIFY(curves.plot()->graph(0)->pen().color() != onLight);
        QVERIFY(contrast(onLight, Qt::white) > 2);
    }

    void plotsAreDrawnAsVectors() {
        CurvePlot curves;
        curves.setSeries({usualSeries()});
        QImage image(400, 300, QImage::Format_RGB32);
        image.fill(Qt::magenta);
        QPainter painter(&image);
        curves.renderWhole(painter, QRect(100, 0, 300, 300));
        painter.end();
        QCOMPARE(otherThan(image.copy(0, 0, 100, 300), Qt::magenta), 0);
        QVERIFY(otherThan(image.copy(100, 0, 300, 300), curves.palette().color(QPalette::Base)) > 500);
        const QColor line = curves.plot()->graph(0)->pen().color();
        QVERIFY(otherThan(image.copy(100, 0, 300, 300), line) < 300 * 300 - 100);
    }

    // Learning

    void learningIsDrawnWithTheSpreadOverTheWorkers() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(3));
        QCustomPlot& plot = *learning.plot();
        QCOMPARE(dataOf(plot, 0), QList<QPointF>({{1, 1.0}, {2, 0.75}, {3, 0.5}}));  // mean and spread
        QCOMPARE(dataOf(plot, 1), QList<QPointF>({{1, 0.5}, {2, 0.25}, {3, 0.0}}));
        QCOMPARE(dataOf(plot, 2), QList<QPointF>({{1, 0.75}, {2, 0.5}, {3, 0.25}}));
        QCOMPARE(dataOf(plot, 3), QList<QPointF>({{1, 0.5}, {2, 0.375}, {3, 0.25}}));
        QCOMPARE(dataOf(plot, 4), QList<QPointF>({{1, 1.5}, {2, 1.0}, {3, 0.5}}));
        QCOMPARE(dataOf(plot, 5), QList<QPointF>({{1, 0.5}, {2, 0.25}, {3, 0.125}}));
        QVERIFY(plot.yAxis->range().contains(1));  // one device
        QCOMPARE(plot.xAxis->range().upper, 3.0);
        QCOMPARE(plot.graph(2)->name(), QString("episodes of an update, on its networks"));
        QCOMPARE(plot.graph(3)->name(), QString("best so far, mean of all networks"));
        plot.replot();
        for (const double tick : plot.axisRect(2)->axis(QCPAxis::atBottom)->tickVector()) QCOMPARE(tick, std::round(tick));
        const auto* header = learning.findChild<QLabel*>("header");
        QVERIFY2(header->text().startsWith("Update 3: its episodes 0.250 ± 0.250 of one device; best so far 0.250, mean of all networks;"),
                 qPrintable(header->text()));

        // A costly beginning does not squash what follows.
        auto costly = *training(3);
        costly.front().cost = 1000;
        learning.setCurve(std::make_shared<const std::vector<TrainingPoint>>(costly));
        QTRY_COMPARE(dataOf(plot, 2).first().y(), 1000.0);
        QVERIFY(plot.yAxis->range().upper < 10);
        // The mean is in sight wherever it is.
        for (TrainingPoint& point : costly) point.cost = 12;
        learning.setCurve(std::make_shared<const std::vector<TrainingPoint>>(costly));
        QTRY_COMPARE(dataOf(plot, 2).last().y(), 12.0);
        QVERIFY(plot.yAxis->range().contains(12) && plot.yAxis->range().contains(1));

        // The value below the mouse.
        const QPointF at(plot.xAxis->coordToPixel(2), plot.axisRect()->center().y());
        QMouseEvent move(QEvent::MouseMove, at, plot.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(&plot, &move);
        QVERIFY2(QToolTip::text().startsWith("Update 2: its episodes 12.000"), qPrintable(QToolTip::text()));
    }

    void learningIsDrawnTenTimesASecondAtMost() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(1));
        QCOMPARE(dataOf(*learning.plot(), 2).size(), 1);
        learning.setCurve(training(2));
        learning.setCurve(training(3));
        QCOMPARE(dataOf(*learning.plot(), 2).size(), 1);
        QTRY_COMPARE(dataOf(*learning.plot(), 2).size(), 3);  // the last is not lost
        // What nobody sees is drawn when it is shown.
        learning.hide();
        QTest::qWait(150);
        learning.setCurve(training(4));
        QCOMPARE(dataOf(*learning.plot(), 2).size(), 3);
        learning.show();
        QTRY_COMPARE(dataOf(*learning.plot(), 2).size(), 4);
    }

    void entropyAndLearningRateAreDrawnWhereTheyAreTicked() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(3));
        QCustomPlot& plot = *learning.plot();
        plot.replot();
        const int small = plot.axisRect()->height();
        QCPAxis* entropy = plot.graph(4)->keyAxis();
        QCOMPARE(plot.xAxis->label(), QString());
        for (const char* name : {"entropy", "rate"}) QTest::mouseClick(learning.findChild<QCheckBox*>(name), Qt::LeftButton);
        plot.replot();
        QVERIFY(plot.axisRect()->height() > small + 100);
        QCOMPARE(plot.xAxis->label(), QString("Updates"));
        QVERIFY(!entropy->realVisibility() && !plot.graph(4)->realVisibility());
        QTest::mouseClick(learning.findChild<QCheckBox*>("entropy"), Qt::LeftButton);
        plot.replot();
        QVERIFY(entropy->realVisibility() && !plot.graph(5)->realVisibility());
        QCOMPARE(entropy->label(), QString("Updates"));
        // All that is shown is of the same updates.
        plot.xAxis->setRange(1, 2);
        QCOMPARE(entropy->range().lower, 1.0);
        QCOMPARE(entropy->range().upper, 2.0);
    }

    void learningFollowsTheTrainingUntilThePersonZooms() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        learning.setCurve(training(10));
        QCustomPlot& plot = *learning.plot();
        QCOMPARE(plot.xAxis->range().upper, 10.0);
        const QPointF middle = plot.axisRect()->center();
        QWheelEvent wheel(middle, plot.mapToGlobal(middle), {}, {0, 120}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&plot, &wheel);
        const double zoomed = plot.xAxis->range().upper;
        QVERIFY(zoomed < 10);
        learning.setCurve(training(20));
        QTRY_COMPARE(dataOf(plot, 2).size(), 20);
        QCOMPARE(plot.xAxis->range().upper, zoomed);
        QTest::mouseClick(learning.findChild<QToolButton*>("fit"), Qt::LeftButton);
        QCOMPARE(plot.xAxis->range().upper, 20.0);
    }

    void emptyLearningSaysWhatWouldFillIt() {
        LearningPlot learning;
        showAt(learning, {500, 500});
        const auto* empty = learning.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains("Optimize"));
        learning.setCurve(training(2));
        QVERIFY(!empty->isVisible());
        learning.setCurve(training(0));
        QVERIFY(empty->isVisible());
        QVERIFY(!learning.findChild<QLabel*>("header")->isVisible());
    }

    // CDF

    void theDistributionOfStepTimesIsASteppedCurve() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        // 10/10, 30/40 and 50/100 of one device's time.
        const QList<QPointF> optimized = dataOf(*cdf.plot(), 0);
        const QList<double> x{0.5, 0.5, 0.75, 1.0}, y{0, 100 / 3.0, 200 / 3.0, 100};
        for (int i = 0; i < 4; ++i) {
            QVERIFY(qAbs(optimized[i].x() - x[i]) < 1e-9);
            QVERIFY(qAbs(optimized[i].y() - y[i]) < 1e-9);
        }
        // What does not fit never comes: two of three are all that is reached.
        QVERIFY(qAbs(dataOf(*cdf.plot(), 1).last().y() - 200 / 3.0) < 1e-9);
        QCOMPARE(cdf.plot()->graph(0)->lineStyle(), QCPGraph::lsStepLeft);
        QVERIFY(cdf.plot()->xAxis->range().lower < 0.5 && cdf.plot()->xAxis->range().upper > 2);
        QVERIFY(cdf.plot()->xAxis->range().upper < 2.5);
        // Medians as dots and in the list.
        QCOMPARE(dataOf(*cdf.plot(), 2).size(), 1);
        QVERIFY(qAbs(dataOf(*cdf.plot(), 2)[0].x() - 0.75) < 1e-9);
        QVERIFY(qAbs(dataOf(*cdf.plot(), 3)[0].x() - 2.0) < 1e-9);
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(0)->text(1), QString("0.75 ×"));
        QCOMPARE(list->topLevelItem(1)->text(3), QString("2 of 3"));
    }

    void theMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData four{{{"a"}, {"b"}, {"c"}, {"d"}},
                     {{"fits", {{0, 0.010}, {1, 0.020}, {2, 0.040}, {3, 0.080}}},
                      {"half fits", {{0, 0.010}, {1, 0.020}, {2, 0.001, false}, {3, 0.001, false}}}}};
        cdf.setData(four);
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(0)->text(1), QString("30.0 ms"));
        // On the curve, which is level there.
        QCOMPARE(dataOf(*cdf.plot(), 2), QList<QPointF>({{30, 50}}));
        // One of the two in the middle does not fit.
        QCOMPARE(list->topLevelItem(1)->text(1), QString("–"));
        QVERIFY(dataOf(*cdf.plot(), 3).isEmpty());
    }

    void aSchemeThatIsFilledReachesItsShareOnly() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData filled{{{"a", 1}, {"b", 1}, {"c", 1}, {"d"}},
                       {{"all", {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 1}, {"some", {{0, 1}, {3, 2}}, 1}}};
        cdf.setData(filled);
        const auto* list = cdf.findChild<QTreeWidget*>("schemes");
        // Of those that can be compared with one device.
        QCOMPARE(dataOf(*cdf.plot(), 0)[3].y(), 100.0);
        QVERIFY(qAbs(dataOf(*cdf.plot(), 1).last().y() - 100.0 / 3) < 1e-9);
        QCOMPARE(list->topLevelItem(0)->text(3), QString("3"));
        QCOMPARE(list->topLevelItem(1)->text(3), QString("1 of 3"));
        cdf.findChild<QComboBox*>("axis")->setFocus();
        QTest::keyClick(cdf.findChild<QComboBox*>("axis"), Qt::Key_Down);
        QCOMPARE(dataOf(*cdf.plot(), 1), QList<QPointF>({{1, 0}, {1, 25}, {2, 50}, {4000, 50}}));
        QCOMPARE(list->topLevelItem(1)->text(3), QString("2 of 4"));
        // Nobody knows yet where the middle is.
        QCOMPARE(list->topLevelItem(0)->text(1), QString("2.50 s"));
        QCOMPARE(list->topLevelItem(1)->text(1), QString("–"));
        QCOMPARE(list->topLevelItem(1)->text(2), QString("–"));
        QVERIFY(dataOf(*cdf.plot(), 3).isEmpty());
    }

    void sharesOfOneDeviceAreToldFromOne() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        CdfData close{{{"a", 0.0917}}, {{"searched", {{0, 0.0922}}}}};
        close.members = "searches";
        cdf.setData(close);
        QCOMPARE(cdf.findChild<QTreeWidget*>("schemes")->topLevelItem(0)->text(1), QString("1.005 ×"));
        QVERIFY(cdf.plot()->yAxis->label().startsWith("Share of searches"));
    }

    void stepTimesAreShownInSecondsToo() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        auto* axis = cdf.findChild<QComboBox*>("axis");
        axis->setFocus();
        QTest::keyClick(axis, Qt::Key_Down);
        QCOMPARE(dataOf(*cdf.plot(), 0).mid(0, 4), QList<QPointF>({{10, 0}, {10, 100 / 3.0}, {30, 200 / 3.0}, {50, 100}}));
        QVERIFY(cdf.plot()->xAxis->label().contains(u"[ms]"));
        QCOMPARE(cdf.findChild<QTreeWidget*>("schemes")->topLevelItem(0)->text(1), QString("30.0 ms"));

        // Where no graph fits on one device there is nothing to compare with; the choice comes back with data that has it.
        QTest::keyClick(axis, Qt::Key_Up);
        CdfData alone = family();
        for (CdfGraph& graph : alone.graphs) graph.one_device_s = 0;
        cdf.setData(alone);
        QCOMPARE(axis->currentText(), QString("Step time"));
        QCOMPARE(dataOf(*cdf.plot(), 0)[1].x(), 10.0);
        cdf.setData(family());
        QCOMPARE(axis->currentText(), QString("Relative to one device"));
        // A graph that does not is left out, for every scheme.
        CdfData partly = family();
        partly.graphs[2].one_device_s = 0;
        cdf.setData(partly);
        QCOMPARE(dataOf(*cdf.plot(), 0)[2].y(), 100.0);
        QCOMPARE(dataOf(*cdf.plot(), 1)[2].y(), 100.0);
    }

    void schemesAreTickedOffAndOn() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        const auto visible = [&](int graph) { return cdf.plot()->graph(graph)->visible(); };
        QVERIFY(visible(0) && visible(1) && visible(2) && visible(3));
        clickTick(cdf, 1);
        QVERIFY(visible(0) && !visible(1) && visible(2) && !visible(3));
        QVERIFY(cdf.plot()->xAxis->range().upper < 1.2);  // random is not fitted any more
        // It stays off while data comes in.
        cdf.setData(family());
        QVERIFY(visible(0) && !visible(1));
        auto* list = cdf.findChild<QTreeWidget*>("schemes");
        QCOMPARE(list->topLevelItem(1)->checkState(0), Qt::Unchecked);
        list->setFocus();
        list->setCurrentItem(list->topLevelItem(1));
        QTest::keyClick(list, Qt::Key_Space);
        QVERIFY(visible(1) && visible(3));
    }

    void theStepTimeAxisTurnsLogarithmic() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        QTest::mouseClick(cdf.findChild<QCheckBox*>("logX"), Qt::LeftButton);
        QCOMPARE(cdf.plot()->xAxis->scaleType(), QCPAxis::stLogarithmic);
        QVERIFY(cdf.plot()->xAxis->range().lower > 0.4 && cdf.plot()->xAxis->range().lower < 0.5);
        // The wheel zooms along the times alone, and the range stays while data comes in.
        const QPoint centre = cdf.plot()->axisRect()->center();
        QWheelEvent wheel(centre, cdf.plot()->mapToGlobal(centre), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(cdf.plot(), &wheel);
        const QCPRange zoomed = cdf.plot()->xAxis->range();
        QVERIFY(zoomed.lower > 0.5);
        QCOMPARE(cdf.plot()->yAxis->range().upper, 116.0);
        cdf.setData(family());
        QCOMPARE(cdf.plot()->xAxis->range(), zoomed);
        QTest::mouseClick(cdf.findChild<QToolButton*>("fit"), Qt::LeftButton);
        QVERIFY(cdf.plot()->xAxis->range().lower < 0.5);
    }

    void hoveringAStepTellsItsGraph() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        cdf.setData(family());
        QTRY_VERIFY(cdf.plot()->axisRect()->width() > 200);
        const auto move = [&](double x, double y) {
            const QPointF at(cdf.plot()->xAxis->coordToPixel(x), cdf.plot()->yAxis->coordToPixel(y));
            QMouseEvent event(QEvent::MouseMove, at, cdf.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
            QApplication::sendEvent(cdf.plot(), &event);
        };
        move(0.76, 60);
        QCOMPARE(QToolTip::text(), QString("optimized\nmiddle: 30.0 ms, 75 % of one device\n67 % of the graphs take no longer"));
        move(1.99, 50);
        QVERIFY2(QToolTip::text().startsWith(u"random\nsmall: 20.0 ms, 200 %"), qPrintable(QToolTip::text()));
        clickTick(cdf, 1);
        cdf.plot()->xAxis->setRange(0, 3);
        auto* tracer = qobject_cast<QCPItemTracer*>(cdf.plot()->item(3));
        move(0.76, 60);
        QVERIFY(tracer->visible());
        move(1.99, 50);
        QVERIFY(!tracer->visible());
    }

    void withoutStepTimesThePanelSaysWhatWouldFillIt() {
        CdfPlot cdf;
        showAt(cdf, {500, 400});
        auto* empty = cdf.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"Compare"));
        CdfData started = family();
        for (CdfScheme& scheme : started.schemes) scheme.values.clear();
        cdf.setData(started);
        QVERIFY(empty->isVisible());
        cdf.setData(family());
        QVERIFY(!empty->isVisible() && cdf.plot()->isVisible());
    }

    void aPictureOfTheDistributionHasALegend() {
        CdfPlot cdf;
        cdf.setData(family());
        const auto picture = [&] {
            QImage image(500, 300, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            cdf.renderWhole(painter, image.rect());
            return image;
        };
        const QImage both = picture();
        CdfData renamed = family();
        renamed.schemes[1].title = QStringLiteral("expert");
        cdf.setData(renamed);
        QVERIFY(picture() != both);
        QVERIFY(!cdf.plot()->legend->visible());
        // However low the panel is.
        const QImage high = picture();
        cdf.plot()->setViewport({0, 0, 300, 40});
        QCOMPARE(picture(), high);
    }

    // Archive

    void theArchiveShowsTheBestOverTheHiddenDimension() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)},
                                {cell(0, 1, 1), fitting(0.06)},
                                {cell(2, 1, 3), fitting(0.05)},
                                {cell(1, 0, 0), {9, 0.02, false}}}));
        // The longest dimension runs from left to right, the next one upwards.
        QCOMPARE(map.plot()->xAxis->label(), QStringLiteral("Jumps"));
        QCOMPARE(map.plot()->yAxis->label(), QStringLiteral("Device"));
        QCPColorMapData& cells = cellsOf(map);
        QCOMPARE(cells.keySize(), 4);
        QCOMPARE(cells.valueSize(), 3);
        QCOMPARE(cells.cell(1, 0), 60.0);
        QCOMPARE(cells.cell(3, 2), 50.0);
        QVERIFY(std::isnan(cells.cell(0, 0)));
        QVERIFY2(std::isnan(cells.cell(0, 1)), "what does not fit has no colour");
        const QCPRange colours = qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange();
        QCOMPARE(colours.lower, 50.0);
        QCOMPARE(colours.upper, 80.0);
        QCOMPARE(map.findChild<QLabel*>("header")->text(), QStringLiteral("4 of 24 niches filled · 1 do not fit · best 50.0 ms"));
    }

    void whatDoesNotFitIsHatched() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(1, 0, 0), {9, 0.02, false}}, {cell(2, 1, 3), fitting(0.05)}}));
        map.plot()->replot();
        const auto around = [&](int x, int y) {
            return map.plot()->grab(QRect(pixelOf(map, x, y) - QPoint(15, 15), QSize(30, 30))).toImage();
        };
        const QColor base = map.palette().color(QPalette::Base);
        QCOMPARE(otherThan(around(1, 1), base), 0);
        QVERIFY(otherThan(around(0, 1), base) > 300);
        QVERIFY2(otherThan(around(0, 1), around(0, 1).pixelColor(0, 0)) > 30, "more than one colour");
    }

    void theColourScaleLeavesOutliersOut() {
        ArchiveMap map;
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.05)}, {cell(0, 1, 2), fitting(0.07)}, {cell(2, 1, 3), fitting(50)}}));
        QCOMPARE(qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange().upper, 70.0);
    }

    void aClickShowsTheElite() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)}, {cell(0, 1, 1), fitting(0.06)}, {cell(2, 0, 3), fitting(0.05)}}));
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        QCOMPARE(activated.size(), 1);
        QCOMPARE(*activated[0][0].value<std::shared_ptr<const Placement>>(), Placement{cell(0, 1, 1)});
        QCOMPARE(activated.takeFirst()[1].toDouble(), 0.06);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 3, 2));
        QCOMPARE(*activated.takeFirst()[0].value<std::shared_ptr<const Placement>>(), Placement{cell(2, 0, 3)});
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 0, 1));
        QCOMPARE(activated.size(), 0);
    }

    void tinyCellsAreStillClickable() {
        auto view = std::make_shared<ArchiveView>();
        view->dimensions = {{"a", 400, {}}, {"b", 300, {}}};
        view->elites.push_back({200 * 300 + 150, fitting(0.05), std::make_shared<Placement>(Placement{7})});
        ArchiveMap map;
        showAt(map, {500, 450});
        map.setArchive(view);
        map.plot()->replot();
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 200, 150) + QPoint(2, 2));
        QCOMPARE(activated.size(), 1);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 200, 150) + QPoint(12, 0));
        QCOMPARE(activated.size(), 1);
    }

    void theSliderWalksThroughTheHiddenDimension() {
        ArchiveMap map;
        showAt(map, {600, 500});
        const auto view = archive({{cell(0, 0, 1), fitting(0.08)}, {cell(0, 1, 1), fitting(0.06)}});
        map.setArchive(view);
        auto* slider = map.findChild<QSlider*>();
        auto* position = map.findChild<QLabel*>("position");
        QCOMPARE(position->text(), QStringLiteral("all: best over it"));
        slider->setFocus();
        QTest::keyClick(slider, Qt::Key_Right);
        QCOMPARE(position->text(), QStringLiteral("one"));
        QCOMPARE(cellsOf(map).cell(1, 0), 80.0);
        const QCPRange colours = qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange();
        QTest::keyClick(slider, Qt::Key_Right);
        QCOMPARE(position->text(), QStringLiteral("both"));
        QCOMPARE(cellsOf(map).cell(1, 0), 60.0);
        QCOMPARE(qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->dataRange(), colours);

        // An update during a search changes neither slider nor axes.
        map.setArchive(archive({{cell(0, 0, 1), fitting(0.08)}, {cell(0, 1, 1), fitting(0.04)}}));
        QCOMPARE(map.findChild<QSlider*>()->value(), 1);
        QCOMPARE(cellsOf(map).cell(1, 0), 40.0);
    }

    void dimensionsAreChosenAndSwapped() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(0, 1, 3), fitting(0.08)}}));
        auto* x = map.findChild<QComboBox*>("x");
        auto* y = map.findChild<QComboBox*>("y");
        QCOMPARE(x->currentText(), QStringLiteral("Jumps"));
        QCOMPARE(y->currentText(), QStringLiteral("Device"));
        x->setFocus();
        QTest::keyClick(x, Qt::Key_Up);
        QCOMPARE(map.plot()->xAxis->label(), QStringLiteral("Used"));
        QCOMPARE(cellsOf(map).keySize(), 2);
        QCOMPARE(cellsOf(map).cell(1, 0), 80.0);
        QCOMPARE(map.findChild<QSlider*>()->accessibleName(), QStringLiteral("Jumps"));
        QTest::keyClick(x, Qt::Key_Up);  // the one that is drawn upwards: they change places
        QCOMPARE(x->currentText(), QStringLiteral("Device"));
        QCOMPARE(y->currentText(), QStringLiteral("Used"));
        QCOMPARE(cellsOf(map).cell(0, 1), 80.0);
    }

    void theArchiveIsReachedByKeyboard() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(1, 0, 1), fitting(0.08)}}));
        map.setFocus();
        QVERIFY(map.plot()->hasFocus());
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        for (const Qt::Key key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Up}) QTest::keyClick(map.plot(), key);
        QVERIFY(QToolTip::text().contains(u"Device: gpu:0\nUsed: one\nJumps: 1\nstep time 80.0 ms"));
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QTest::keyClick(map.plot(), Qt::Key_Left);
        QVERIFY(QToolTip::text().contains(u"empty"));
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
    }

    void hoveringACellShowsItsValues() {
        ArchiveMap map;
        showAt(map, {600, 500});
        map.setArchive(archive({{cell(2, 1, 3), {9, 0.05, false}}}));
        map.plot()->replot();
        const QPoint at = pixelOf(map, 3, 2);
        QMouseEvent move(QEvent::MouseMove, at, map.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(map.plot(), &move);
        QCOMPARE(QToolTip::text(), QStringLiteral("Device: gpu:1\nUsed: both\nJumps: 3\nstep time 50.0 ms, does not fit the memory"));
    }

    void oneDimensionIsARow() {
        auto view = std::make_shared<ArchiveView>();
        view->dimensions = {{"Jumps", 5, {}}};
        view->elites.push_back({3, fitting(0.05), std::make_shared<Placement>(Placement{3})});
        ArchiveMap map;
        showAt(map, {500, 400});
        map.setArchive(view);
        map.plot()->replot();
        QVERIFY(!map.findChild<QComboBox*>("y")->isEnabled());
        QVERIFY(!map.findChild<QSlider*>());
        QVERIFY(otherThan(map.plot()->grab(QRect(pixelOf(map, 3, 0) - QPoint(5, 5), QSize(10, 10))).toImage(),
                          map.palette().color(QPalette::Base)) == 100);
        QSignalSpy activated(&map, &ArchiveMap::eliteActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 3, 0));
        QCOMPARE(activated.size(), 1);
    }

    void anEmptyArchiveSaysWhatWouldFillIt() {
        ArchiveMap map;
        showAt(map, {600, 500});
        auto* empty = map.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"MAP-Elites"));
        map.setArchive(archive({}));
        QVERIFY(!empty->isVisible() && map.plot()->isVisible());
        QCOMPARE(map.findChild<QLabel*>("header")->text(), QStringLiteral("0 of 24 niches filled"));
        map.setArchive(nullptr);
        QVERIFY(empty->isVisible());
        QVERIFY(!map.findChild<QLabel*>("header")->isVisible());
        map.setArchive(archive({{cell(2, 1, 3), fitting(0.05)}}));
        QCOMPARE(cellsOf(map).cell(3, 2), 50.0);
    }

    // Distribution

    void theDistributionShowsHowLikelyEachGroupIsOnEachDevice() {
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), sixOps());
        map.plot()->replot();
        QCPColorMapData& cells = *qobject_cast<QCPColorMap*>(map.plot()->plottable(0))->data();
        QCOMPARE(cells.keySize(), 6);
        QCOMPARE(cells.valueSize(), 2);
        QCOMPARE(cells.cell(1, 0), 0.8);
        QCOMPARE(cells.cell(3, 1), 0.95);
        QCOMPARE(map.plot()->yAxis->tickVectorLabels(), (QVector<QString>{"gpu:0", "gpu:1"}));
        QCOMPARE(map.findChild<QLabel*>("header")->text(),
                 QStringLiteral("3 of 6 groups at least 90 % on one device · entropy 0.50 of 0.69 nats (72 %)"));
        map.setDistribution(distribution({1e-8, 0.2, 0.5, 0.95, 1, 0.7}, 1e-6), sixOps());
        QVERIFY(map.findChild<QLabel*>("header")->text().endsWith("entropy 0.00 of 0.69 nats (<0.1 %)"));
        map.plot()->replot();
        const auto brightness = [&](int x, int y) {
            return map.plot()->grab(QRect(pixelOf(map, x, y), QSize(1, 1))).toImage().pixelColor(0, 0).lightness();
        };
        QVERIFY2(brightness(4, 1) > brightness(2, 1) && brightness(2, 1) > brightness(0, 1), "the likelier the brighter");
        // The entropy falls below.
        const QCPGraph* entropy = map.plot()->graph(0);
        QCOMPARE(entropy->dataCount(), 3);
        QCOMPARE(entropy->keyAxis()->range().upper, 36.0);
        QVERIFY(entropy->valueAxis()->range().lower == 0 && entropy->valueAxis()->range().upper > std::log(2));
    }

    void aClickSelectsTheOpsOfAGroup() {
        DistributionMap map;
        showAt(map, {600, 500});
        ProblemOptions options;
        options.grouping.rule = GroupingRule::merge;
        options.grouping.merge_groups = 2;
        const auto problem = test::problem(test::chain(6, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2), options);
        map.setDistribution(distribution({0.3, 0.8}), problem);
        map.plot()->replot();
        QSignalSpy activated(&map, &DistributionMap::groupActivated);
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 1, 0));
        QCOMPARE(activated.size(), 1);
        OpList expected;
        for (const OpId op : problem->grouping.members[1]) {
            if (op < 6) expected.push_back(op);
        }
        QVERIFY(!expected.empty() && expected.size() < 6);
        QCOMPARE(activated.takeFirst()[0].value<OpList>(), expected);
        // Beside the map nothing happens.
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, QPoint(3, 3));
        QTest::mouseClick(map.plot(), Qt::LeftButton, {}, QPoint(300, map.plot()->height() - 20));
        QCOMPARE(activated.size(), 0);
    }

    void theDistributionIsReachedByKeyboard() {
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), sixOps());
        map.plot()->replot();
        map.setFocus();
        QSignalSpy activated(&map, &DistributionMap::groupActivated);
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.size(), 0);
        QTest::keyClick(map.plot(), Qt::Key_Right);
        QCOMPARE(QToolTip::text(), QStringLiteral("op0\ngpu:0: 95 %\ngpu:1: 5.0 %"));
        QTest::keyClick(map.plot(), Qt::Key_Right);
        QCOMPARE(QToolTip::text(), QStringLiteral("op1\ngpu:0: 80 %\ngpu:1: 20 %"));
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.takeFirst()[0].value<OpList>(), OpList{1});
        for (int i = 0; i < 9; ++i) QTest::keyClick(map.plot(), Qt::Key_Right);
        QTest::keyClick(map.plot(), Qt::Key_Return);
        QCOMPARE(activated.takeFirst()[0].value<OpList>(), OpList{5});
    }

    void hoveringAGroupShowsItsProbabilities() {
        DistributionMap map;
        showAt(map, {600, 500});
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), sixOps());
        map.plot()->replot();
        const QPoint at = pixelOf(map, 4, 1);
        QMouseEvent move(QEvent::MouseMove, at, map.plot()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(map.plot(), &move);
        QCOMPARE(QToolTip::text(), QStringLiteral("op4\ngpu:0: 0 %\ngpu:1: 100 %"));
    }

    void theDistributionIsZoomedAlongItsGroups() {
        DistributionMap map;
        showAt(map, {600, 500});
        const auto problem = sixOps();
        map.setDistribution(distribution({0.05, 0.2, 0.5, 0.95, 1, 0.7}), problem);
        map.plot()->replot();
        const QCPRange all = map.plot()->xAxis->range(), devices = map.plot()->yAxis->range();
        QCOMPARE(all, QCPRange(-0.5, 5.5));
        const auto wheel = [&](int steps) {
            const QPoint at = pixelOf(map, 2, 0);
            QWheelEvent event(at, map.plot()->mapToGlobal(at), {}, QPoint(0, 120 * steps), Qt::NoButton, {}, Qt::NoScrollPhase, false);
            QApplication::sendEvent(map.plot(), &event);
        };
        wheel(1);
        const QCPRange zoomed = map.plot()->xAxis->range();
        QVERIFY(zoomed.size() < all.size() && zoomed.contains(2));
        QCOMPARE(map.plot()->yAxis->range(), devices);
        // An update during a search leaves the part in view.
        map.setDistribution(distribution({0.01, 0.1, 0.4, 0.99, 1, 0.9}), problem);
        QCOMPARE(map.plot()->xAxis->range(), zoomed);
        for (int i = 0; i < 30; ++i) wheel(1);
        QVERIFY(map.plot()->xAxis->range().size() >= 2);
        for (int i = 0; i < 60; ++i) wheel(-1);
        QCOMPARE(map.plot()->xAxis->range(), all);
        wheel(2);
        QTest::mouseDClick(map.plot(), Qt::LeftButton, {}, pixelOf(map, 2, 0));
        QCOMPARE(map.plot()->xAxis->range(), all);
        // Another problem is shown whole.
        wheel(2);
        map.setDistribution(distribution({0.1, 0.2, 0.3}), test::problem(test::chain(3), test::uniform_machine(2)));
        QCOMPARE(map.plot()->xAxis->range(), QCPRange(-0.5, 2.5));
    }

    void withoutADistributionThePanelSaysWhatWouldFillIt() {
        DistributionMap map;
        showAt(map, {600, 500});
        auto* empty = map.findChild<QLabel*>("empty");
        QVERIFY(empty->isVisible() && empty->text().contains(u"Post"));
        map.setDistribution(distribution({0.3}), test::problem(test::chain(1), test::uniform_machine(2)));
        QVERIFY(!empty->isVisible() && map.plot()->isVisible());
        map.setDistribution(nullptr, nullptr);
        QVERIFY(empty->isVisible());
        QVERIFY(!map.findChild<QLabel*>("header")->isVisible());
    }

    // Message bar

    void theMessageBarShowsCopiesAndCloses() {
        QWidget window;
        MessageBar bar(&window);
        window.resize(600, 200);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QVERIFY(!bar.isVisible());
        bar.resize(600, 60);
        bar.showMessage(MessageBar::Kind::error, QStringLiteral("net.json: line 3: no ops"));
        QVERIFY(bar.isVisible());
        QCOMPARE(bar.text(), QStringLiteral("net.json: line 3: no ops"));
        QCOMPARE(bar.findChild<QLabel*>("text")->text(), bar.text());
        QVERIFY(!bar.findChild<QToolButton*>("details")->isVisible());
        QTest::mouseClick(bar.findChild<QToolButton*>("copy"), Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(), bar.text());
        QTest::mouseClick(bar.findChild<QToolButton*>("close"), Qt::LeftButton);
        QVERIFY(!bar.isVisible());

        bar.showMessage(MessageBar::Kind::information, QStringLiteral("Saved."));
        QVERIFY(bar.isVisible());
        bar.findChild<QToolButton*>("close")->setFocus();
        QTest::keyClick(bar.findChild<QToolButton*>("close"), Qt::Key_Escape);
        QVERIFY(!bar.isVisible());
    }

    void aLongMessageShowsItsBeginning() {
        MessageBar bar;
        const QString text = QStringLiteral("3 warnings\none\ntwo\nthree");
        bar.showMessage(MessageBar::Kind::information, text);
        auto* label = bar.findChild<QLabel*>("text");
        auto* details = bar.findChild<QToolButton*>("details");
        QCOMPARE(label->text(), QStringLiteral("3 warnings…"));
        QCOMPARE(bar.text(), text);
        QTest::mouseClick(details, Qt::LeftButton);
        QCOMPARE(label->text(), text);
        bar.showMessage(MessageBar::Kind::error, QString(5000, u'x'));
        QVERIFY(label->text().size() < 400);
        QVERIFY(!details->isChecked());
    }

    void messagesAreReadable_data() {
        QTest::addColumn<bool>("dark");
        QTest::addColumn<int>("kind");
        for (const bool dark : {false, true}) {
            for (const auto kind : {MessageBar::Kind::information, MessageBar::Kind::error}) {
                QTest::addRow("%s %d", dark ? "dark" : "light", int(kind)) << dark << int(kind);
            }
        }
    }
    void messagesAreReadable() {
        QFETCH(bool, dark);
        QFETCH(int, kind);
        MessageBar bar;
        if (dark) bar.setPalette(darkPalette());
        bar.showMessage(MessageBar::Kind(kind), QStringLiteral("text"));
        bar.resize(400, 50);
        const QColor background = bar.grab().toImage().pixelColor(6, 3);
        QVERIFY(contrast(background, bar.palette().color(QPalette::WindowText)) > 4.5);
        QVERIFY(background != bar.palette().color(QPalette::Window));
    }

    // Start page

    void theStartPageIsClickable() {
        StartPage page;
        page.setGallery({{"AlexNet", "24 ops", "alexnet.json"}, {"ResNet-50", "175 ops", "resnet.json"}});
        page.setRecent({{"mine.json", "~/nets", "/home/mine.json"}, {"gone.json", "~/nets", "/home/gone.json", false}});
        showAt(page, {900, 800});
        QSignalSpy opened(&page, &StartPage::openRequested), chosen(&page, &StartPage::fileChosen);
        QTest::mouseClick(page.findChild<QAbstractButton*>("open"), Qt::LeftButton);
        QCOMPARE(opened.size(), 1);
        const auto button = [&](const QString& title) {
            for (auto* candidate : page.findChildren<QAbstractButton*>()) {
                if (candidate->text() == title) return candidate;
            }
            return static_cast<QAbstractButton*>(nullptr);
        };
        QTest::mouseClick(button("ResNet-50"), Qt::LeftButton);
        QCOMPARE(chosen.takeFirst()[0].toString(), QStringLiteral("resnet.json"));
        QTest::mouseClick(button("mine.json"), Qt::LeftButton);
        QCOMPARE(chosen.takeFirst()[0].toString(), QStringLiteral("/home/mine.json"));
        QVERIFY(!button("gone.json")->isEnabled());
        QTest::mouseClick(button("gone.json"), Qt::LeftButton);
        QCOMPARE(chosen.size(), 0);

        button("AlexNet")->setFocus();
        QTest::keyClick(button("AlexNet"), Qt::Key_Return);
        QCOMPARE(chosen.takeFirst()[0].toString(), QStringLiteral("alexnet.json"));
        QTest::keyClick(button("AlexNet"), Qt::Key_Space);
        QCOMPARE(chosen.size(), 1);
    }

    void everythingOnTheStartPageIsReachedByTab() {
        StartPage page;
        page.setGallery({{"AlexNet", "24 ops", "alexnet.json"}, {"ResNet-50", "175 ops", "resnet.json"}});
        page.setRecent({{"mine.json", "~/nets", "/home/mine.json"}});
        showAt(page, {900, 800});
        page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&page));
        page.setFocus();
        QSet<QString> reached;
        for (int i = 0; i < 8; ++i) {
            if (auto* button = qobject_cast<QAbstractButton*>(QApplication::focusWidget())) reached << button->text();
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        }
        for (const QString& title : {QStringLiteral("AlexNet"), QStringLiteral("ResNet-50"), QStringLiteral("mine.json")}) {
            QVERIFY2(reached.contains(title), qPrintable(title));
        }
        QCOMPARE(reached.size(), 4);
    }

    void cardsWrapToTheWidth() {
        StartPage page;
        page.setGallery({{"A", "", "a"}, {"B", "", "b"}, {"C", "", "c"}, {"D", "", "d"}});
        showAt(page, {900, 800});
        const auto columns = [&] {
            QSet<int> lefts;
            for (auto* button : page.findChildren<QAbstractButton*>()) {
                if (button->text().size() == 1) lefts << button->mapTo(&page, QPoint()).x();
            }
            return lefts.size();
        };
        QTRY_COMPARE(columns(), 3);
        page.resize(400, 800);
        QTRY_COMPARE(columns(), 1);
        page.resize(600, 800);
        QTRY_COMPARE(columns(), 2);
    }

    void thumbnailsAreMadeFromTheNetwork() {
        const StartPicture picture = makeStartPicture(test::fork_join(4));
        QCOMPARE(picture.nodes.size(), std::size_t{6});
        QCOMPARE(picture.edges.size(), std::size_t{8});
        const QRectF box(QPointF(0, 0), picture.size);
        std::set<double> columns, lines;
        for (const auto& node : picture.nodes) {
            QVERIFY(box.contains(node.centre));
            columns.insert(node.centre.x());
            lines.insert(node.centre.y());
        }
        QCOMPARE(columns.size(), std::size_t{3});  // source, branches, sink from left to right
        QVERIFY(lines.size() >= 4);
        for (const auto& edge : picture.edges) QVERIFY(edge.back().x() > edge.front().x());
        QCOMPARE(makeStartPicture(test::chain(20, 1e9, 1000, Training::implicit)).nodes.size(), std::size_t{20});
    }

    void thumbnailsTellKindsApart() {
        GraphBuilder builder("kinds", 1, Training::none);
        std::vector<std::string> before;
        for (const char* kind : {"conv2d", "batch_norm", "relu", "max_pool2d", "cat", "linear", "matmul"}) {
            Op op;
            op.name = op.kind = kind;
            op.outputs = {make_tensor({1})};
            builder.add(op, before);
            before = {kind};
        }
        std::vector<int> groups;
        for (const auto& node : makeStartPicture(builder.build()).nodes) groups.push_back(node.group);
        QCOMPARE(groups, (std::vector<int>{0, 1, 3, 2, 2, 0, 0}));
    }

    void thumbnailsAreDrawn() {
        const auto colored = [](const QImage& image) {
            int count = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) == seriesColor(0);
            }
            return count;
        };
        QImage image(300, 64, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing);
        paintStartPicture(painter, image.rect(), StartPicture{}, Qt::black);
        QCOMPARE(colored(image), 0);
        paintStartPicture(painter, image.rect(), makeStartPicture(test::chain(10)), Qt::black);
        QVERIFY(colored(image) > 10 * 30);

        StartPage page;
        page.setGallery({{"Ten", "10 ops", "ten.json", true, makeStartPicture(test::chain(10))}});
        showAt(page, {900, 800});
        QVERIFY(colored(page.grab().toImage()) > 10 * 30);
    }

    void entriesMayChangeWhileOneIsClicked() {
        StartPage page;
        const std::vector<StartEntry> entries{{"mine.json", "~/nets", "/home/mine.json"}};
        page.setRecent(entries);
        showAt(page, {900, 800});
        auto* none = page.findChild<QLabel*>("noRecent");
        QVERIFY(!none->isVisible());
        connect(&page, &StartPage::fileChosen, &page, [&] { page.setRecent({}); });
        for (auto* button : page.findChildren<QAbstractButton*>()) {
            if (button->text() == u"mine.json") QTest::mouseClick(button, Qt::LeftButton);
        }
        QVERIFY(none->isVisible());
    }

    void barsFarAboveTheBestSayHowFar() {
        StandingPlot plot;
        plot.setBars({{"best", 1, {}, {1}}, {"near", 4, {}, {4}}, {"far", 20, {}, {20}}}, {}, "Step time");
        QCOMPARE(labelsOf(plot), QStringList{"20.0 s →"});
        QVERIFY(plot.plot()->xAxis->range().upper < 20);
    }

    void barsOfWhatDoesNotFitAreNotDrawn() {
        StandingPlot plot;
        plot.setBars({{"fits", 2, {}, {1, 3}, 2}, {"one", 500, 400, {1}, 3}, {"none", 1e6, {}, {}, 2}}, {}, "Step time");
        QCOMPARE(labelsOf(plot), QStringList({"1 of 3 fit", "does not fit"}));
        auto* bars = qobject_cast<QCPBars*>(plot.plot()->plottable(0));
        QCOMPARE(bars->data()->at(2)->value, 2.0);
        for (const int at : {0, 1}) QCOMPARE(bars->data()->at(at)->value, 0.0);
        QVERIFY(plot.plot()->xAxis->range().upper < 4);
    }
};

QTEST_MAIN(TestPanels)
#include "tst_panels.moc"
