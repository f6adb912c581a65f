// SPDX-License-Identifier: MIT
// The dialog that exports placements, by mouse and keyboard, and opened traces.
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QFile>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTest>
#include <QToolTip>

#include "app/window/dialogs/export_dialog.hpp"
#include "app/window/trace_window.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

using namespace placewright;

namespace {

/// Two modules of two ops each in sequence; the second op of each has fewer bytes.
Graph modules(std::int64_t output = 1000) {
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
        op.outputs = {make_tensor({output})};
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
    QString reason() const { return child<QLabel>("reason")->text(); }
    void click(const char* name) const {
        auto* button = child<QAbstractButton>(name);
        dialog->findChild<QScrollArea*>(QStringLiteral("details"))->ensureWidgetVisible(button);
        // A check box is clicked at its mark.
        const QPoint at = qobject_cast<QCheckBox*>(button) != nullptr ? QPoint(8, button->height() / 2)
                                                                      : button->rect().center();
        QTest::mouseClick(button, Qt::LeftButton, {}, at);
    }
    void clickFormat(const char* title) const {
        auto* list = child<QListWidget>("formats");
        for (int row = 0; row < list->count(); ++row) {
            if (!list->item(row)->text().startsWith(QString::fromLatin1(title) + QLatin1Char('\n'))) continue;
            list->scrollToItem(list->item(row));
            QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                              list->visualItemRect(list->item(row)).center());
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
        // Formats that cannot hold any placement of this network say so in the list.
        const auto* formats = dialog.child<QListWidget>("formats");
        for (int row = 0; row < formats->count(); ++row) {
            const QString shownText = formats->item(row)->text();
            QCOMPARE(shownText.contains("This format is for networks that are opened from an ONNX model"),
                     shownText.startsWith("ONNX"));
            QCOMPARE(shownText.contains("The network has no layers"),
                     shownText.startsWith("llama.cpp") || shownText.startsWith("vLLM") ||
                         shownText.startsWith("DeepSpeed") || shownText.startsWith("Megatron"));
        }
        QCOMPARE(dialog.warnings(), QString("No warnings."));

        // A placement that cannot be written shows the reason in place of the preview, with nothing to copy.
        dialog.clickFormat("Hugging Face device map");
        QVERIFY(dialog.ready());
        auto* reason = dialog.child<QLabel>("reason");
        QVERIFY2(dialog.reason().contains("first on gpu:0, gpu:1"), qPrintable(dialog.reason()));
        QVERIFY(reason->isVisible() && !dialog.child<QPlainTextEdit>("preview")->isVisible());
        QVERIFY(reason->width() > dialog.dialog->width() / 3);
        QVERIFY(reason->height() >= reason->heightForWidth(reason->width()));
        QVERIFY(!dialog.child<QPlainTextEdit>("snippet")->isVisible() && dialog.snippet().isEmpty());
        QVERIFY(!dialog.child<QPushButton>("write")->isEnabled());

        // The repair changes only the file, and its cost is shown.
        auto* repair = dialog.child<QCheckBox>("repair");
        QVERIFY(repair->isVisible() && !repair->isChecked());
        const QStringList times =
            repair->text().section(QStringLiteral("step time "), 1).split(QString::fromUtf8(" → "));
        QCOMPARE(times.size(), 2);
        QCOMPARE(times[0], secondsText(before));
        const Placement asPlaced = shown.document.placement();
        dialog.click("repair");
        QVERIFY(repair->isChecked());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), asPlaced);
        QVERIFY(dialog.preview().contains("\"second\": 1"));
        QVERIFY(dialog.child<QPlainTextEdit>("snippet")->isVisible());
        const QString file = m_place->file("map.json");
        dialog.child<QLineEdit>("file")->setText(file);
        QVERIFY(dialog.snippet().contains(QLatin1Char('"') + file + QLatin1Char('"')));
        dialog.click("write");
        const QString status = dialog.status();
        QVERIFY2(status.contains(file) && status.contains("repaired") &&
                     status.contains("a step takes " + times[1]),
                 qPrintable(status));
        QVERIFY2(status.contains("unchanged"), qPrintable(status));
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(written.readAll()), dialog.preview());
        // What would happen to the file has happened.
        QVERIFY(dialog.child<QLabel>("fileNote")->text().isEmpty());
        dialog.click("copy");
        QCOMPARE(QGuiApplication::clipboard()->text(), dialog.snippet());

        // It changes the screen only on request, and can be undone.
        dialog.click("adopt");
        QVERIFY2(dialog.status().contains("Ctrl+Z undoes this"), qPrintable(dialog.status()));
        QVERIFY(shown.waitUntilIdle() && dialog.ready());
        QVERIFY(dialog.status().contains("a step takes " + times[1]));
        QCOMPARE(secondsText(shown.stepTime()), times[1]);
        QVERIFY(shown.deviceOf("first/small") == shown.deviceOf("first/big"));
        QCOMPARE(shown.deviceOf("second/small"), DeviceId{1});  // with the larger op
        QVERIFY(!repair->isVisible() && dialog.child<QPushButton>("write")->isEnabled());
        const Placement repaired = shown.document.placement();
        shown.document.undoStack()->undo();
        QVERIFY(shown.waitUntilIdle() && shown.document.placement() == asPlaced);
        QVERIFY(dialog.ready() && !dialog.child<QPushButton>("write")->isEnabled() && !repair->isChecked());

        // The written file can be opened.
        QVERIFY(shown.dropFile(file) && shown.waitUntilIdle());
        QCOMPARE(shown.document.placement(), repaired);
        QVERIFY2(shown.message().contains("read as a device map"), qPrintable(shown.message()));
    }

    void aRepairThatDoesNotPaySaysSo() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules(10'000'000)), m_machine));
        const double single_s = shown.stepTime();  // an opened network is on one device
        // After the repair, the two modules of a chain are on two devices, with a tensor to send.
        shown.document.moveOps({shown.op("first/small"), shown.op("second/big")}, 1);
        QVERIFY(shown.waitUntilIdle());
        Dialog dialog(shown);
        dialog.clickFormat("Hugging Face device map");
        QVERIFY(dialog.ready());
        const QString note = dialog.child<QLabel>("repairNote")->text();
        QVERIFY2(note.contains("slower than everything on one device, which takes " + secondsText(single_s)),
                 qPrintable(note));

        // On one device the repair loses nothing.
        shown.document.moveOps({shown.op("second/big")}, 0);
        QVERIFY(shown.waitUntilIdle() && dialog.ready());
        QVERIFY(dialog.child<QLabel>("repairNote")->isVisible());
        QVERIFY(!dialog.child<QLabel>("repairNote")->text().contains("slower"));
    }

    void filesGoBesideTheNetwork() {
        m_place->write("modules.json", modules());
        const QString before = QDir::currentPath();
        const auto back = qScopeGuard([&] { QDir::setCurrent(before); });
        QVERIFY(QDir::setCurrent(m_place->file("")));
        test::Shown shown;
        QVERIFY(shown.open("modules.json", m_machine));  // with the path given as an argument
        Dialog dialog(shown);
        QVERIFY(dialog.ready());
        auto* file = dialog.child<QLineEdit>("file");
        QCOMPARE(file->text(), QDir::current().filePath("modules.placement.json"));
        // A name of one's own keeps no extension of another format.
        file->setText(m_place->file("mine.json"));
        dialog.clickFormat("TensorFlow devices");
        QCOMPARE(file->text(), m_place->file("mine.tensorflow.json"));
    }

    void theFolderOfALanguageModelGivesItsName() {
        QDir().mkpath(m_place->file("llama-3.1-tiny"));
        m_place->write("llama-3.1-tiny/config.json", R"({"model_type": "llama",
            "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "num_hidden_layers": 2,
            "hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 4, "vocab_size": 1000,
            "max_position_embeddings": 2048})");
        test::Shown shown;
        QVERIFY(shown.open(m_place->file("llama-3.1-tiny"), m_machine));
        Dialog dialog(shown);
        QVERIFY(dialog.dialog && dialog.ready());
        const QString file = dialog.child<QLineEdit>("file")->text();
        QVERIFY2(file.endsWith("/llama-3.1-tiny.placement.json"), qPrintable(file));
        dialog.clickFormat("Hugging Face device map");
        QVERIFY(dialog.ready());
        QVERIFY2(dialog.snippet().contains("model = AutoModelForCausalLM.from_pretrained(name, device_map"),
                 qPrintable(dialog.snippet()));
    }

    void aPlacementThatDoesNotFitIsToldSo() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules()),
                           m_place->write("small.json", test::uniform_machine(3, 10'000))));
        shown.document.moveOps({shown.op("first/big"), shown.op("first/small"), shown.op("second/big"),
                                shown.op("second/small")},
                               1);
        QVERIFY(shown.waitUntilIdle());
        Dialog dialog(shown);
        QVERIFY(dialog.dialog && dialog.ready());
        QVERIFY2(dialog.warnings().contains("the placement does not fit the memory: gpu:1 lacks "),
                 qPrintable(dialog.warnings()));
    }

    void aNetworkWhoseFileIsGoneIsExported() {
        const QString network = m_place->write("modules.json", modules());
        test::Shown shown;
        QVERIFY(shown.open(network, m_machine));
        shown.document.moveOps({shown.op("first/small")}, 1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(QFile::remove(network));
        Dialog dialog(shown);
        QVERIFY(dialog.dialog && dialog.ready());
        QVERIFY(dialog.preview().contains("\"first/small\": \"gpu:1\""));
        QVERIFY2(dialog.snippet().contains(network), qPrintable(dialog.snippet()));
        QCOMPARE(dialog.child<QLineEdit>("file")->text(), m_place->file("modules.placement.json"));
        const QString file = m_place->file("kept.json");
        shown.document.exportPlacement(file);
        QVERIFY(QFile::exists(file));
    }

    void aLowScreenHoldsTheDialog() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("modules.json", modules()), m_machine));
        shown.document.moveOps({shown.op("first/small")}, 1);
        QVERIFY(shown.waitUntilIdle());
        Dialog dialog(shown);
        QVERIFY(dialog.ready());
        dialog.clickFormat("Hugging Face device map");
        QVERIFY(dialog.ready());
        dialog.dialog->resize(800, 460);  // of 800x500, with the frame of the window
        QCOMPARE(dialog.dialog->size(), QSize(800, 460));
        QVERIFY(!dialog.child<QScrollArea>("details")->horizontalScrollBar()->isVisible());
        for (const char* name : {"repair", "adopt", "copy", "write"}) {
            if (qstrcmp(name, "copy") == 0) {
                dialog.click("repair");
                QVERIFY(dialog.child<QCheckBox>("repair")->isChecked());
            }
            auto* button = dialog.child<QAbstractButton>(name);
            if (qstrcmp(name, "write") != 0)
                dialog.child<QScrollArea>("details")->ensureWidgetVisible(button);
            QVERIFY2(button->visibleRegion().boundingRect() == button->rect(), name);
        }
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
        QVERIFY(dialog.child<QLabel>("fileNote")->text().contains("does not exist"));
        QVERIFY(!dialog.child<QPushButton>("write")->isEnabled());
        file->selectAll();
        QTest::keyClicks(file, m_place->file("ops.csv"));
        QTest::keyClick(file, Qt::Key_Return);
        QVERIFY2(QFile::exists(m_place->file("ops.csv")), qPrintable(dialog.status()));
        // The typed name is kept when the format changes.
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
        QVERIFY2(dialog.reason().contains("goes back 1 time"), qPrintable(dialog.reason()));
        // The repair is the nearest chain.
        QVERIFY(dialog.child<QCheckBox>("repair")->isVisible());
        dialog.click("repair");
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(dialog.preview().contains("split_spec"), qPrintable(dialog.preview()));
    }

    void aTraceOpensInATimeline() {
        test::Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), m_machine));
        const QString file = m_place->file("step.trace.json");
        write_chrome_trace(shown.document.timeline()->trace, *shown.document.problem(), file.toStdString());
        // A trace of the open network is shown in its timeline; a window of its own opens on request.
        QVERIFY(shown.dropFile(file) && shown.waitUntilIdle());
        QVERIFY(shown.document.measured() != nullptr && shown.window.findChild<TraceWindow*>() == nullptr);
        test::pressInMenu(shown, shown.action("Open in a window of its own"));
        auto* window = shown.window.findChild<TraceWindow*>();
        QVERIFY(window != nullptr && QTest::qWaitFor([&] { return !window->isReading(); }));
        QVERIFY2(window->findChild<QLabel*>("report")->text().contains("events in"),
                 qPrintable(window->findChild<QLabel*>("report")->text()));
        TimelineView* timeline = window->timelineView();
        QVERIFY(!timeline->spanRect(0).isEmpty());
        const QPoint middle = timeline->spanRect(0).center().toPoint();
        OpList selected;
        connect(timeline, &TimelineView::selectionEdited, this,
                [&selected](const OpList& ops) { selected = ops; });
        QTest::mouseClick(timeline, Qt::LeftButton, {}, middle);
        QCOMPARE(selected.size(), 1U);
        timeline->grab();
        QTest::mouseClick(timeline, Qt::LeftButton, Qt::ControlModifier, middle);
        QVERIFY(selected.empty());
        for (const Qt::Key key :
             {Qt::Key_Right, Qt::Key_Right, Qt::Key_Left, Qt::Key_Return, Qt::Key_Escape}) {
            QTest::keyClick(timeline, key);
            timeline->grab();
        }
        QTest::mousePress(timeline, Qt::LeftButton, {}, middle);
        for (const int y : {10, 40, 80}) QTest::mouseMove(timeline, middle + QPoint(0, y));
        timeline->grab();
        QTest::mouseRelease(timeline, Qt::LeftButton, {}, middle + QPoint(0, 80));
        timeline->grab();
        timeline->disconnect(this);
        QCOMPARE(shown.document.networkFile(), m_place->file("wide.json"));  // the open network stays
        window->close();

        // A nested span is described as called by the enclosing one, not as on another stream.
        QVERIFY(shown.dropFile(m_place->write("nested.json",
                                              R"([{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":100},
            {"ph":"X","name":"inner","pid":1,"tid":1,"ts":10,"dur":50}])")) &&
                shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("nested.json has no event of an op"), qPrintable(shown.message()));
        auto* nested = shown.window.findChildren<TraceWindow*>().last();
        QVERIFY(QTest::qWaitFor([&] { return !nested->isReading(); }));
        const QPoint inner = nested->timelineView()->spanRect(1).center().toPoint();
        QHelpEvent ask(QEvent::ToolTip, inner, nested->timelineView()->mapToGlobal(inner));
        QCoreApplication::sendEvent(nested->timelineView(), &ask);
        QVERIFY2(QToolTip::text().contains("inner") && !QToolTip::text().contains("Stream"),
                 qPrintable(QToolTip::text()));
        nested->close();

        std::stop_source stopped;
        stopped.request_stop();
        const TraceFile trace = read_trace(file.toStdString());
        QVERIFY(traceTimeline(trace) != nullptr);
        QVERIFY(traceTimeline(trace, stopped.get_token()) == nullptr);

        QVERIFY(shown.dropFile(m_place->write("broken.json", "[{]")) && shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("broken.json"), qPrintable(shown.message()));
        test::Shown without;
        QVERIFY(without.dropFile(m_place->file("broken.json")));
        auto* broken = without.window.findChild<TraceWindow*>();
        QVERIFY(broken != nullptr && QTest::qWaitFor([&] { return !broken->isReading(); }));
        QVERIFY(broken->findChild<QLabel*>("report")->text().contains("broken.json"));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowExport)
#include "tst_window_export.moc"
