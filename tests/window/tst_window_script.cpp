// SPDX-License-Identifier: MIT
// A TorchScript model in the window: what it is asked about, and what becomes of the answers.
#include <deque>

#include <QApplication>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include "core/io/pytorch/torchscript.hpp"
#include "tests/support/window.hpp"

using namespace placewright;
using test::Shown;

namespace {

/// Answers the questions of the window in turn: a text, "as proposed", or "yes" and "no"; an empty text
/// cancels.
class Answers : public QObject {
public:
    explicit Answers(std::deque<QString> answers) : m_answers(std::move(answers)) {
        connect(&m_timer, &QTimer::timeout, this, &Answers::answer);
        m_timer.start(20);
    }
    QStringList asked, proposed;
    bool done() const { return m_answers.empty(); }

private:
    void answer() {
        QWidget* const dialog = QApplication::activeModalWidget();
        if (dialog == nullptr || m_answers.empty()) return;
        const QString next = m_answers.front();
        m_answers.pop_front();
        if (auto* const box = qobject_cast<QMessageBox*>(dialog)) {
            asked << box->informativeText();
            box->button(next == "yes" ? QMessageBox::Yes : QMessageBox::No)->click();
        } else if (auto* const input = qobject_cast<QInputDialog*>(dialog)) {
            asked << input->labelText();
            proposed << input->textValue();
            if (next != "as proposed") input->setTextValue(next);
            if (next.isEmpty())
                input->reject();
            else
                input->accept();
        }
    }

    std::deque<QString> m_answers;
    QTimer m_timer;
};

QString model(const char* name) {
    return QStringLiteral(PLACEWRIGHT_TORCHSCRIPT_MODELS) + '/' + name + ".pt";
}

}  // namespace

class TestWindowScript : public QObject {
    Q_OBJECT

    std::optional<test::Workplace> m_place;

private Q_SLOTS:
    void initTestCase() {
        if (!QFileInfo::exists(model("resnet18")))
            QSKIP("there are no models: make_torchscript_models.py needs PyTorch and torchvision");
        m_place.emplace();
    }

    void inputsAreAskedFor() {
        Shown shown;
        Answers answers({"1x3", "1y", "4x3x64x64"});
        shown.document.openFile(model("resnet18"));
        QTRY_VERIFY_WITH_TIMEOUT(answers.done(), 30'000);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), model("resnet18"));
        QCOMPARE(shown.document.problem()->forward->batch(), 4);
        QCOMPARE(answers.asked.size(), 3);
        QVERIFY2(
            answers.asked[0].startsWith(
                "The model is called with x, and a TorchScript file does not say how large that is.\n\n"),
            qPrintable(answers.asked[0]));
        for (const QString& question : std::as_const(answers.asked))
            QVERIFY2(!question.contains("--"), qPrintable(question));
        // The first layer tells what it takes; what was answered is there to be changed.
        QCOMPARE(answers.proposed, (QStringList{"1x3x224x224", "1x3", "1y"}));
        QVERIFY2(answers.asked[2].contains("\"1y\" is not a shape"), qPrintable(answers.asked[2]));

        // Another batch size is that of the same inputs.
        JobOptions options = shown.document.options();
        options.reading.batch = 16;
        shown.document.setOptions(options);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->forward->batch(), 16);
    }

    void inputsThatTheModelRefusesAreAskedForAgain() {
        Shown shown;
        Answers answers({"1x4x64x64", ""});
        shown.document.openFile(model("resnet18"));
        QTRY_VERIFY_WITH_TIMEOUT(answers.done(), 30'000);
        QVERIFY2(answers.asked[1].startsWith(
                     "Reading stops at aten::_convolution in conv1: cannot be called with these inputs: "),
                 qPrintable(answers.asked[1]));
        QVERIFY(shown.waitUntilIdle());
    }

    void usualInputsAreProposed() {
        Shown shown;
        {
            Answers answers({"as proposed"});
            shown.document.openFile(model("resnet18"));
            QTRY_VERIFY_WITH_TIMEOUT(answers.done(), 30'000);
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(shown.document.problem()->forward->op(0).outputs[0].shape.value(),
                     (std::vector<std::int64_t>{1, 3, 224, 224}));
        }
        // A model that does not tell is asked about with what was last answered.
        Answers answers({""});
        shown.document.openFile(model("by_numbers"));
        QTRY_VERIFY_WITH_TIMEOUT(answers.done(), 30'000);
        QCOMPARE(answers.proposed, QStringList{"1x3x224x224"});
        QVERIFY(shown.waitUntilIdle());
    }

    void nothingRunsUnlessAllowed() {
        Shown shown;
        {
            Answers answers({"3x2x4", "no"});
            shown.document.openFile(model("by_numbers"));
            QTRY_VERIFY_WITH_TIMEOUT(answers.done(), 30'000);
            QVERIFY(shown.waitUntilIdle());
            QVERIFY2(answers.asked[1].contains("\n\nReading stops at aten::") &&
                         answers.asked[1].endsWith(
                             ": its sizes depend on numbers, which are known only if the model runs."),
                     qPrintable(answers.asked[1]));
            QVERIFY(shown.document.networkFile() != model("by_numbers"));
        }
        Answers answers({"3x2x4", "yes"});
        shown.document.openFile(model("by_numbers"));
        QTRY_COMPARE_WITH_TIMEOUT(shown.document.networkFile(), model("by_numbers"), 30'000);
        QVERIFY(shown.document.options().reading.run);
    }

    void cancelKeepsWhatIsOpen() {
        Shown shown;
        const QString file = m_place->write("wide.json", test::wide_graph());
        QVERIFY(shown.open(file));
        Answers answers({""});
        shown.document.openFile(model("resnet18"));
        QTRY_VERIFY_WITH_TIMEOUT(answers.done(), 30'000);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), file);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowScript)
#include "tst_window_script.moc"
