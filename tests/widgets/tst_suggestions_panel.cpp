// SPDX-License-Identifier: MIT
#include <QLabel>
#include <QTest>
#include <QTreeWidget>

#include "tests/support/graphs.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/suggestions_panel.hpp"

using namespace placewright;
using namespace placewright::test;

class TestSuggestionsPanel : public QObject {
    Q_OBJECT

    /// The row of a move of the first group from the first device to the second, which halves the time.
    static const QTreeWidgetItem* rowOfMove(SuggestionsPanel& panel, const Problem& problem) {
        SingleMoves moves;
        moves.now = {2, 2, true};
        moves.moves = {{0, 1, {1, 1, true}, -1}};
        panel.showMoves(problem, {0}, moves, QStringLiteral("Step time"));
        return panel.findChild<QTreeWidget*>()->topLevelItem(0);
    }

private Q_SLOTS:
    void namesInToolTipsAreNoMarkup_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"conv1", "a < b", "a & b", "x &lt; y", "<b>bold</b>", kMarkupName})
            QTest::newRow(name) << QString::fromUtf8(name);
    }
    void namesInToolTipsAreNoMarkup() {
        QFETCH(QString, name);
        GraphBuilder builder("markup", 1, Training::none);
        Op op;
        op.name = name.toStdString();
        op.kind = "relu";
        op.outputs = {make_tensor({1})};
        builder.add(op, {});
        const auto problem = test::problem(builder.build(), test::uniform_machine(2));
        SuggestionsPanel panel;
        const QTreeWidgetItem* item = rowOfMove(panel, *problem);
        QVERIFY(item);
        QCOMPARE(item->text(0), name);
        QCOMPARE(readText(item->toolTip(0)), name);
    }

    void blocksAreToldApart() {
        GraphBuilder builder("blocks", 1, Training::none);
        for (const char* name : {"norm", "mlp"}) {
            Op op;
            op.name = std::string("model/layers/12/") + name;
            op.kind = "linear";
            op.colocate = "model/layers/12";
            op.outputs = {make_tensor({1})};
            builder.add(std::move(op));
        }
        const auto problem = test::problem(builder.build(), test::uniform_machine(2));
        SuggestionsPanel panel;
        const QTreeWidgetItem* item = rowOfMove(panel, *problem);
        QVERIFY(item);
        QCOMPARE(item->text(0), QStringLiteral("layers/12 (2 ops)"));
        QCOMPARE(readText(item->toolTip(0)), QStringLiteral("model/layers/12"));
    }

    void plainToolTipsKeepTheirLines() {
        const QString text = QString::fromUtf8(kMarkupName) + QStringLiteral("\ngpu:0: 5 %");
        QCOMPARE(readText(plainToolTip(text)), text);
        QCOMPARE(plainToolTip(QStringLiteral("conv1\n<b>")), QStringLiteral("conv1\n<b>"));
    }
};

QTEST_MAIN(TestSuggestionsPanel)
#include "tst_suggestions_panel.moc"
