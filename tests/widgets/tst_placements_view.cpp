// SPDX-License-Identifier: MIT
// Measured placements: ranks, the fastest, what is said of it, and the table.
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "widgets/placements_view.hpp"
#include "widgets/steps_plot.hpp"

using namespace placewright;

namespace {

MeasuredPlacements::Each each(double simulated_s, double measured_s, bool fits = true, DeviceId device = 0) {
    MeasuredPlacements::Each result;
    result.placement = std::make_shared<const Placement>(1, device);
    result.simulated = {simulated_s, simulated_s, true};
    result.measured = {measured_s + (fits ? 0 : 100), measured_s, fits};
    result.low_s = 0.99 * measured_s;
    result.high_s = 1.01 * measured_s;
    return result;
}

std::shared_ptr<const MeasuredPlacements> measured(std::vector<MeasuredPlacements::Each> all,
                                                   MeasuredPlacements::State state) {
    MeasuredPlacements placements;
    placements.run = QStringLiteral("Genetic #1");
    placements.wanted = 4;
    placements.state = state;
    placements.all = std::move(all);
    return std::make_shared<const MeasuredPlacements>(std::move(placements));
}

}  // namespace

class TestPlacementsView : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ranksAndTheFastest() {
        MeasuredPlacements of;
        of.all = {each(2, 5), each(1, 4), each(2, 3), each(3, 2, false), each(4, 0, false)};
        of.awaited = {Score{1.5, 1.5, true}, Score{9, 9, true}};
        QCOMPARE(of.rank(1), std::size_t{1});
        QCOMPARE(of.rank(0), std::size_t{3});
        QCOMPARE(of.rank(2), std::size_t{3});
        QCOMPARE(of.rank(3), std::size_t{5});
        QCOMPARE(of.fastest(), std::optional<std::size_t>(2));
        of.all.resize(0);
        QVERIFY(!of.fastest());
        QCOMPARE(stepError(each(2, 3)), 0.5);
        QCOMPARE(stepError(each(4, 3)), -0.25);
        QVERIFY(std::isinf(stepError(each(4, 0))));
    }

    void ordinals() {
        QStringList texts;
        for (const std::size_t number : {1, 2, 3, 4, 10, 11, 12, 13, 21, 102, 111, 123})
            texts << ordinalText(number);
        QCOMPARE(texts.join(u' '),
                 QStringLiteral("1st 2nd 3rd 4th 10th 11th 12th 13th 21st 102nd 111th 123rd"));
    }

    void whatIsSaidOfTheFastest() {
        MeasuredPlacements of;
        QVERIFY(fastestText(of).isEmpty());
        of.all = {each(1, 0.4)};
        QCOMPARE(fastestText(of), QStringLiteral("Measured 400 ms."));
        of.all.push_back(each(2, 0.5));
        QVERIFY2(
            fastestText(of).contains("400 ms") && fastestText(of).contains("also the best in the simulation"),
            qPrintable(fastestText(of)));
        of.all.push_back(each(3, 0.38));
        QCOMPARE(fastestText(of),
                 QStringLiteral(
                     "Measured best: 380 ms, 3rd in the simulation; 5.0 % faster than the simulated best."));
        // Not more than the steps of either differ.
        of.all[2] = each(3, 0.395);
        QVERIFY2(fastestText(of).endsWith("which is less than steps differ."), qPrintable(fastestText(of)));
        of.all[0].measured.fits = false;
        QVERIFY2(fastestText(of).endsWith("the simulated best does not fit the memory."),
                 qPrintable(fastestText(of)));
        // Stopped before the simulated best was measured.
        of.awaited = {Score{0.5, 0.5, true}};
        QCOMPARE(fastestText(of), QStringLiteral("Measured best: 395 ms, 4th in the simulation."));
        for (auto& one : of.all) one.measured.fits = false;
        QVERIFY2(fastestText(of).startsWith("Each of the 3 measured placements"),
                 qPrintable(fastestText(of)));
    }

    void theTable() {
        PlacementsView view;
        view.resize(500, 300);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        PlacementsTable* table = view.table();
        view.setPlacements(measured({each(0.2, 0.21, true, 1)}, MeasuredPlacements::State::measuring));
        view.setTimeLeft(75);
        const auto* state = view.findChild<QLabel*>("placementsState");
        QCOMPARE(state->text(), QStringLiteral("Genetic #1: placement 2 of 4 · 1:15 left"));
        QVERIFY(view.findChild<QPushButton*>("cancelPlacements")->isVisible());
        QVERIFY(!view.findChild<QPushButton*>("showFastest")->isVisible());
        table->setChosen(0);

        // More come: the chosen row stays, ranks are those of all.
        view.setPlacements(
            measured({each(0.2, 0.21, true, 1), each(0.1, 0.15, true, 2), each(0.3, 0, false, 3)},
                     MeasuredPlacements::State::stopped));
        QCOMPARE(table->topLevelItemCount(), 3);
        QCOMPARE(table->chosen(), std::optional<std::size_t>(0));
        QCOMPARE(table->itemOf(0)->text(PlacementsTable::Rank), QStringLiteral("2"));
        QCOMPARE(table->itemOf(0)->text(PlacementsTable::Error), QStringLiteral("+5.0 %"));
        QCOMPARE(table->itemOf(1)->text(PlacementsTable::Simulated), QStringLiteral("100 ms"));
        QCOMPARE(table->itemOf(1)->text(PlacementsTable::Measured), QStringLiteral("150 ms"));
        QCOMPARE(table->itemOf(1)->text(PlacementsTable::Noise), QStringLiteral("2.0 %"));
        QCOMPARE(table->itemOf(1)->text(PlacementsTable::Fits), QStringLiteral("yes"));
        QCOMPARE(table->itemOf(2)->text(PlacementsTable::Measured), QStringLiteral("out of memory"));
        QCOMPARE(table->itemOf(2)->text(PlacementsTable::Fits), QStringLiteral("no"));
        QVERIFY2(state->text().startsWith("Genetic #1: stopped after 3 of 4. Measured best of 3: 150 ms"),
                 qPrintable(state->text()));
        // Sorted by rank, or what a click on a title says.
        QCOMPARE(table->topLevelItem(0), table->itemOf(1));
        table->sortByColumn(PlacementsTable::Measured, Qt::DescendingOrder);
        QCOMPARE(table->topLevelItem(0), table->itemOf(2));

        // The fastest is shown by its button or its row; the one on screen is bold and needs no button.
        const QSignalSpy activated(&view, &PlacementsView::placementActivated);
        auto* show = view.findChild<QPushButton*>("showFastest");
        QVERIFY(show->isVisible());
        QTest::mouseClick(show, Qt::LeftButton);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated[0][0].value<std::size_t>(), std::size_t{1});
        view.setOnScreen(Placement{2});
        QVERIFY(!show->isVisible());
        QVERIFY(table->itemOf(1)->font(0).bold() && !table->itemOf(0)->font(0).bold());
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(activated.size(), 2);
        QCOMPARE(activated[1][0].value<std::size_t>(), std::size_t{0});

        // Those of another run.
        view.setPlacements(measured({}, MeasuredPlacements::State::measuring));
        QCOMPARE(table->topLevelItemCount(), 0);
        view.setPlacements(nullptr);
        QCOMPARE(table->topLevelItemCount(), 0);
    }

    void rowsUnderThePointerAreTold() {
        PlacementsTable table;
        table.setPlacements(
            measured({each(0.2, 0.21), each(0.1, 0.15)}, MeasuredPlacements::State::finished));
        table.resize(500, 200);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        std::vector<std::optional<std::size_t>> hovered;
        connect(&table, &PlacementsTable::placementHovered, this,
                [&](std::optional<std::size_t> index) { hovered.push_back(index); });
        QTest::mouseMove(table.viewport(), table.visualItemRect(table.itemOf(0)).center());
        QTRY_VERIFY(!hovered.empty());
        QCOMPARE(hovered.back(), std::optional<std::size_t>(0));
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(table.viewport(), &leave);
        QVERIFY(!hovered.back().has_value());
    }
};

QTEST_MAIN(TestPlacementsView)
#include "tst_placements_view.moc"
