// SPDX-License-Identifier: MIT
#include <QLineEdit>
#include <QScopeGuard>
#include <QTest>

#include "app/window/budget_box.hpp"
#include "core/base/infinity.hpp"

using namespace placewright;

class TestBudgetBox : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

    void textsAreRead_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<bool>("known");
        QTest::addColumn<Budget>("budget");
        const auto add = [](const char* text, const Budget& budget) {
            QTest::newRow(text) << QString::fromUtf8(text) << true << budget;
        };
        const auto timed = [](double seconds) { return Budget{Budget::kUnlimited, seconds}; };
        add("30 s", timed(30));
        add("45s", timed(45));
        add("2 min", timed(120));
        add("1.5 minutes", timed(90));
        add("2 h", timed(7200));
        add("20,000 evals", {20'000});
        add("20000", {20'000});
        add("20k", {20'000});
        add("1.5 M evaluations", {1'500'000});
        add("2e6", {2'000'000});
        add("until stopped", {Budget::kUnlimited});
        for (const char* text : {"", "soon", "-3 s", "0", "0 s", "5 k min", "3 s s", "1e12", "2000 h"})
            QTest::newRow(text[0] == 0 ? "empty" : text) << QString::fromUtf8(text) << false << Budget();
    }
    void textsAreRead() {
        QFETCH(QString, text);
        QFETCH(bool, known);
        QFETCH(Budget, budget);
        const auto read = budgetFrom(text);
        QCOMPARE(read.has_value(), known);
        if (!known) return;
        QVERIFY(*read == budget);
        QVERIFY(budgetFrom(budgetText(budget)) == budget);
    }

    void groupedNumbersAreReadInAnyLocale() {
        const auto goBack = qScopeGuard([before = QLocale()] { QLocale::setDefault(before); });
        for (const char* name : {"de_DE", "fr_FR", "de_CH", "en_US"}) {
            QLocale::setDefault(QLocale(QString::fromLatin1(name)));
            for (const char* text : {"20,000", "20.000 evals", "20'000", "20 000", "20000"})
                QVERIFY2(budgetFrom(QString::fromLatin1(text)) == Budget{20'000}, name);
            const Budget much{1'234'567}, timed{Budget::kUnlimited, 90};
            for (const Budget& budget : {much, timed})
                QVERIFY2(budgetFrom(budgetText(budget)) == budget, name);
            QVERIFY2(budgetFrom(QStringLiteral("1.5 min")) == timed, name);
        }
    }

    void theChoiceIsEditable() {
        BudgetBox box;
        box.show();
        QVERIFY(QTest::qWaitForWindowExposed(&box));
        QCOMPARE(box.currentText(), QStringLiteral("30 s"));
        QVERIFY(box.budget().is_timed() && !box.budget().is_counted());
        const auto type = [&](const QString& text) {
            box.lineEdit()->selectAll();
            QTest::keyClicks(box.lineEdit(), text);
            QTest::keyClick(box.lineEdit(), Qt::Key_Return);
        };
        type(QStringLiteral("50000"));
        QCOMPARE(box.currentText(), QStringLiteral("50,000 evals"));
        QVERIFY(box.budget() == Budget{50'000});
        // What is no budget gives way to the last one.
        type(QStringLiteral("a while"));
        QCOMPARE(box.currentText(), QStringLiteral("50,000 evals"));
        QVERIFY(box.budget() == Budget{50'000});
        box.setFocus();
        QTest::keyClick(&box, Qt::Key_End);
        QTest::keyClick(box.lineEdit(), Qt::Key_Down);
        box.setCurrentIndex(box.count() - 1);
        Q_EMIT box.textActivated(box.currentText());
        QVERIFY(!box.budget().is_timed() && !box.budget().is_counted());
    }
};

QTEST_MAIN(TestBudgetBox)
#include "tst_budget_box.moc"
