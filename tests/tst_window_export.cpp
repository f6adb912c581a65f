// SPDX-License-Identifier: MIT
// The dialog that writes placements for training runs, by mouse and keyboard, and traces that are opened.
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QTest>

#include "app/export_dialog.hpp"
#include "app/trace_window.hpp"
#include "core/io/chrome_trace.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;

namespace {

/// Two modules of two ops each, one behind the other; the second op of each weighs less.
Graph modules() {
    GraphBuilder builder("modules", 4, Training::implicit);
    std::vector<std::string> last;
    for (const std::string name : {"first/big", "first/small", "second/big", "second/small"}) {
        Op op;
        op.name = name;
        op.kind = "linear";
        op.scope = name.substr(0, name.find('/'));
        op.flops = 1e9;
        op.parameter_bytes = name.ends_with("big") ? 4000 : 400;
        op.attributes["parameters"] = "[\"" + op.scope + '.' + name.substr(name.find('/') + 1) + "\"]";
        op.outputs = {make_tensor({1000})};
        builder.add(std::move(op), last);
        last = {name};
    }
    return builder.build();
}

struct Dialog {
    QPointer<ExportDialog> dialog;

    explicit Dialog(test::Shown& shown) {
        shown.action(QStringLiteral("Placement for training"))->trigger();
        dialog = shown.window.findChild<ExportDialog*>();
    }
    template <class Widget>
    Widget* child(const char* name) const {
        return dialog->findChild<Widget*>(QString::fromLatin1(name));
    }
    QString preview() const { return child<QPlainTextEdit>("preview")->toPlainText(); }
    QString snippet() const { return child<QPlainTextEdit>("snippet")->toPlainText(); }
    QString warnings() const { return child<QLabel>("warnings")->text(); }
    QString status() const { return child<QLabel>("status")->text(); }
    bool ready() const {
        return QTest::qWaitFor([this] { return dialog->isReady(); });
    }
    void click(const char* name) const { QTest::mouseClick(child<QPushButton>(name), Qt::LeftButton); }
    void clickFormat(const char* title) const {
        auto* list = child<QListWidget>("formats");
        for (int row = 0; row < list->count(); ++row) {
            if (!list->item(row)->text().startsWith(QString::fromLatin1(title) + QLatin1Char('\n'))) continue;
            list->scrollToItem(list->item(row));
            QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualItemRect(list->item(row)).center());
        }
    }
};

}  // namespace

class TestWindowExport : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QString m_machine;

private Q_SLOTS:
    void init() {
        m_place = std::make_unique<test::Workplace>();
        m_machine = m_place->write("pair.json", test::uniform_machine(2));
    }

    void aSplitModuleIsRepairedAndWritten() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules()), m_machine));
        shown.document.moveOps({shown.op("first/small"), shown.op("second/big")}, 1);
        QVERIFY(shown.waitUntilIdle());
        const double before = shown.stepTime();
        Dialog dialog(shown);
        QVERIFY(dialog.dialog && dialog.ready());
        QVERIFY(dialog.preview().contains("\"first/small\": \"gpu:1\""));
        QCOMPARE(dialog.warnings(), QString("Nothing is lost in this format."));

        dialog.clickFormat("Hugging Face device map");
        QVERIFY(dialog.ready());
        QVERIFY2(dialog.warnings().contains("first on gpu:0, gpu:1"), qPrintable(dialog.warnings()));
        QVERIFY(!dialog.child<QPushButton>("write")->isEnabled());
        QVERIFY(dialog.preview().isEmpty());
        QVERIFY(dialog.child<QPushButton>("repair")->text().contains(QString::fromUtf8("→")));

        dialog.click("repair");
        QVERIFY(shown.waitUntilIdle() && dialog.ready());
        QVERIFY(shown.deviceOf("first/small") == shown.deviceOf("first/big"));
        QCOMPARE(shown.deviceOf("second/small"), DeviceId{1});  // where the big one is
        QVERIFY(shown.stepTime() != before);
        QVERIFY(!dialog.child<QPushButton>("repair")->isEnabled());
        QVERIFY(dialog.preview().contains("\"second\": 1"));

        const QString file = m_place->file("map.json");
        dialog.child<QLineEdit>("file")->setText(file);
        QVERIFY(dialog.snippet().contains(QLatin1Char('"') + file + QLatin1Char('"')));
        dialog.click("write");
        QVERIFY2(dialog.status().contains(file), qPrintable(dialog.status()));
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(written.readAll()), dialog.preview());
        QVERIFY(dialog.child<QLabel>("fileNote")->text().contains("replaced"));
        dialog.click("copy");
        QCOMPARE(QGuiApplication::clipboard()->text(), dialog.snippet());

        // What was written can be opened; the repair can be undone.
        const Placement repaired = shown.document.placement();
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle() && shown.document.placement() != repaired);
        QVERIFY(dialog.ready() && !dialog.child<QPushButton>("write")->isEnabled());
        QVERIFY(shown.dropFile(file) && shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), repaired);
        QVERIFY2(shown.message().contains("read as a device map"), qPrintable(shown.message()));
    }

    void everythingGoesByKeyboard() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        QTest::keyClick(&shown.window, Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
        Dialog dialog(shown);
        QVERIFY(dialog.ready());
        auto* formats = dialog.child<QListWidget>("formats");
        QTest::keyClick(formats, Qt::Key_End);  // the table
        QVERIFY(dialog.ready());
        QVERIFY(dialog.preview().startsWith("op,kind,scope"));
        auto* file = dialog.child<QLineEdit>("file");
        QVERIFY(file->text().endsWith(".csv"));
        QTest::keyClick(dialog.dialog, Qt::Key_F, Qt::AltModifier);
        file->selectAll();
        QTest::keyClicks(file, m_place->file("nowhere/ops.csv"));
        QVERIFY(dialog.child<QLabel>("fileNote")->text().contains("no such folder"));
        QVERIFY(!dialog.child<QPushButton>("write")->isEnabled());
        file->selectAll();
        QTest::keyClicks(file, m_place->file("ops.csv"));
        QTest::keyClick(file, Qt::Key_Return);
        QVERIFY2(QFile::exists(m_place->file("ops.csv")), qPrintable(dialog.status()));
        // The name keeps what was typed when the format changes.
        QTest::keyClick(formats, Qt::Key_Up);
        QCOMPARE(file->text(), m_place->file("ops.placed.dot"));
        QTest::keyClick(dialog.dialog, Qt::Key_Escape);
        QVERIFY(!dialog.dialog || !dialog.dialog->isVisible());
    }

    void aPlacementThatIsNoChainSaysWhere() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules()), m_machine));
        shown.document.moveOps({shown.op("first/small")}, 1);
        QVERIFY(shown.waitUntilIdle());
        Dialog dialog(shown);
        dialog.clickFormat("PyTorch pipeline split points");
        QVERIFY(dialog.ready());
        QVERIFY2(dialog.warnings().contains("goes back 1 time"), qPrintable(dialog.warnings()));
        QVERIFY(!dialog.child<QPushButton>("repair")->isVisible());
    }

    void aTraceOpensInATimeline() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        const QString file = m_place->file("step.trace.json");
        write_chrome_trace(shown.document.timeline()->trace, *shown.document.problem(), file.toStdString());
        QVERIFY(shown.dropFile(file));
        auto* window = shown.window.findChild<TraceWindow*>();
        QVERIFY(window != nullptr && QTest::qWaitFor([&] { return !window->isReading(); }));
        QVERIFY2(window->findChild<QLabel*>("report")->text().contains("events in"),
                 qPrintable(window->findChild<QLabel*>("report")->text()));
        QVERIFY(!window->timelineView()->spanRect(0).isEmpty());
        QCOMPARE(shown.document.networkFile(), m_place->file("wide.json"));  // what is open stays
        window->close();

        std::stop_source stopped;
        stopped.request_stop();
        const TraceFile trace = read_trace(file.toStdString());
        QVERIFY(traceTimeline(trace) != nullptr);
        QVERIFY(traceTimeline(trace, stopped.get_token()) == nullptr);

        QVERIFY(shown.dropFile(m_place->write("broken.json", "[{]")));
        auto* broken = shown.window.findChild<TraceWindow*>();
        QVERIFY(broken != nullptr && QTest::qWaitFor([&] { return !broken->isReading(); }));
        QTRY_VERIFY(shown.window.findChildren<TraceWindow*>().last()->findChild<QLabel*>("report")->text().contains("broken.json"));
    }
};

QTEST_MAIN(TestWindowExport)
#include "tst_window_export.moc"
