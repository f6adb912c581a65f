// SPDX-License-Identifier: MIT
// "This computer" in the list of machines and on the start page, with a library in place of NVIDIA's driver.
#include <dlfcn.h>
#include <memory>

#include <QAbstractItemView>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QtTest>

#include "app/window/computer_finder.hpp"
#include "app/window/gallery.hpp"
#include "core/io/machines/machine_file.hpp"
#include "tests/support/window.hpp"
#include "widgets/start_page.hpp"

using namespace placewright;
using test::Shown;

namespace {

constexpr int kPatienceMs = 60'000;

QComboBox* machineBox(const Shown& shown) {
    return shown.window.findChild<QComboBox*>(QStringLiteral("machine"));
}

bool waitForThisComputer(Shown& shown) {
    return QTest::qWaitFor([&] { return shown.document.machineFile() == ComputerFinder::file(); },
                           kPatienceMs) &&
           shown.waitUntilIdle();
}

}  // namespace

class TestWindowComputer : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(dlopen(PLACEWRIGHT_FAKE_NVML, RTLD_NOW | RTLD_LOCAL) != nullptr); }
    void init() {
        qputenv("FAKE_NVML", "gpus=2;nvlink=pairs");
        m_place = std::make_unique<test::Workplace>();
    }
    void cleanup() { m_place.reset(); }

    void theMouseChoosesItFromTheList();
    void theKeyboardChoosesItAgain();
    void anotherMachineWins();
    void theStartPageOffersItOnce();
    void aFileThatCannotBeWrittenIsTold();

private:
    std::unique_ptr<test::Workplace> m_place;
};

void TestWindowComputer::theMouseChoosesItFromTheList() {
    Shown shown;
    QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
    QComboBox* box = machineBox(shown);
    QCOMPARE(box->itemText(0), QStringLiteral("This computer"));
    QTest::mouseClick(box, Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return box->view()->isVisible(); }, kPatienceMs));
    // A click that follows the first too fast counts as a part of it.
    const auto clickFirst = [&] {
        QWidget* list = box->view()->viewport();
        const QPoint place = box->view()->visualRect(box->model()->index(0, 0)).center();
        QTest::mouseMove(list, place);
        QTest::mouseClick(list, Qt::LeftButton, {}, place);
        return !box->view()->isVisible();
    };
    QVERIFY(QTest::qWaitFor(clickFirst, kPatienceMs));
    QVERIFY(waitForThisComputer(shown));
    QCOMPARE(box->currentIndex(), 0);
    const Machine& machine = *shown.document.problem()->machine;
    QVERIFY(machine.find("gpu:1"));
    QVERIFY(!machine.find("gpu:2"));
    QVERIFY(
        QString::fromStdString(machine.name()).startsWith(QLatin1String("This computer: 2x NVIDIA A100")));
    // The file says the same, for searches that name it.
    QVERIFY(read_machine(ComputerFinder::file().toStdString()) == machine);
    for (const QString& tip : {box->toolTip(), box->itemData(0, Qt::ToolTipRole).toString()}) {
        QVERIFY2(tip.contains(QLatin1String("gpu:0: NVIDIA A100 SXM 80GB, 85.9 GB, 80.0 GB free now")),
                 qPrintable(tip));
        QVERIFY2(tip.contains(QLatin1String("speeds of the data sheet")), qPrintable(tip));
    }
    QVERIFY(shown.message().isEmpty());
    QVERIFY(shown.document.undoStack()->count() <= 1);
}

void TestWindowComputer::theKeyboardChoosesItAgain() {
    Shown shown;
    QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), QStringLiteral("2x-v100-pcie")));
    QComboBox* box = machineBox(shown);
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    QVERIFY(waitForThisComputer(shown));
    QVERIFY(shown.document.problem()->machine->find("gpu:1"));
    // Two more GPUs are found when it is chosen again.
    qputenv("FAKE_NVML", "gpus=4");
    shown.document.setMachine(QStringLiteral("2x-v100-pcie"));
    QVERIFY(shown.waitUntilIdle());
    QVERIFY(box->currentIndex() != 0);
    QTest::keyClick(box, Qt::Key_Home);
    QVERIFY(waitForThisComputer(shown));
    QVERIFY(shown.document.problem()->machine->find("gpu:3"));
}

/// Whoever chooses another machine at once gets that one.
void TestWindowComputer::anotherMachineWins() {
    Shown shown;
    QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
    QComboBox* box = machineBox(shown);
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    QTest::keyClick(box, Qt::Key_Down);
    const QString second = box->itemData(1).toString();
    QVERIFY(QTest::qWaitFor([&] { return shown.document.machineFile() == second; }, kPatienceMs));
    QVERIFY(QTest::qWaitFor([&] { return !shown.window.computer()->isBusy(); }, kPatienceMs));
    QVERIFY(shown.waitUntilIdle());
    QCOMPARE(shown.document.machineFile(), second);
    QCOMPARE(box->currentIndex(), 1);
}

void TestWindowComputer::theStartPageOffersItOnce() {
    {
        Shown shown;
        auto* page = shown.window.findChild<StartPage*>();
        auto* use = page->findChild<QPushButton*>(QStringLiteral("useComputer"));
        auto* told = page->findChild<QLabel*>(QStringLiteral("computer"));
        QVERIFY(QTest::qWaitFor([&] { return use->isVisible(); }, kPatienceMs));
        QVERIFY2(told->text().contains(QLatin1String("2x NVIDIA A100 SXM 80GB")), qPrintable(told->text()));
        QVERIFY(!QFile::exists(ComputerFinder::file()));  // nobody has asked for it
        use->setFocus();
        QTest::keyClick(use, Qt::Key_Space);
        QVERIFY(waitForThisComputer(shown));
        QVERIFY(!use->isVisible());
        QVERIFY(told->text().startsWith(QLatin1String("Networks that you open are placed on this computer")));
        QCOMPARE(machineBox(shown)->currentIndex(), 0);
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        QVERIFY(shown.document.problem()->machine->find("gpu:1"));
        QVERIFY(!shown.document.problem()->machine->find("gpu:2"));
        // Another machine takes the offer up again.
        shown.document.setMachine(QStringLiteral("1x-v100"));
        QVERIFY(shown.waitUntilIdle());
        shown.action("Start page")->trigger();
        QVERIFY(QTest::qWaitFor([&] { return use->isVisible(); }, kPatienceMs));
        shown.window.close();
    }
    Shown next;
    QVERIFY(QTest::qWaitFor([&] { return !next.window.computer()->isBusy(); }, kPatienceMs));
    QVERIFY(!next.window.findChild<QPushButton*>(QStringLiteral("useComputer"))->isVisible());
}

void TestWindowComputer::aFileThatCannotBeWrittenIsTold() {
    Shown shown;
    const QString before = machineBox(shown)->currentText();
    // A folder is where the file would be.
    QVERIFY(QDir().mkpath(ComputerFinder::file() + QStringLiteral("/in the way")));
    machineBox(shown)->setFocus();
    QTest::keyClick(machineBox(shown), Qt::Key_Home);
    QVERIFY(QTest::qWaitFor([&] { return !shown.message().isEmpty(); }, kPatienceMs));
    QVERIFY2(shown.message().contains(QLatin1String("this-computer.json")), qPrintable(shown.message()));
    QCOMPARE(machineBox(shown)->currentText(), before);
}

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowComputer)
#include "tst_window_computer.moc"
