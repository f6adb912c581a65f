// SPDX-License-Identifier: MIT
#include <QHelpEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/support/graphs.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"

using namespace placewright;

namespace {

/// Three GPUs, the second one over its memory, the third one idle; the first channel carried something.
struct Panel : DevicePanel {
    explicit Panel(std::size_t gpus = 3, ChannelId busyChannel = 0) {
        setMachine(std::make_shared<const Machine>(test::uniform_machine(gpus, 8e9)),
                   std::vector<double>(gpus, 8e9));
        Outcome outcome;
        outcome.total_time_s = outcome.step_time_s = 0.04;
        outcome.device_busy_s.assign(gpus, 0);
        outcome.peak_bytes.assign(gpus, 0);
        outcome.resident_bytes.assign(gpus, 0);
        outcome.channel_busy_s.assign(gpus * (gpus - 1), 0);
        outcome.channel_bytes.assign(gpus * (gpus - 1), 0);
        outcome.channel_transfers.assign(gpus * (gpus - 1), 0);
        outcome.device_busy_s[0] = 0.03;
        outcome.device_busy_s[1] = 0.02;
        outcome.peak_bytes[0] = 4e9;
        outcome.peak_bytes[1] = 9e9;
        outcome.channel_busy_s[busyChannel] = 0.01;
        outcome.channel_bytes[busyChannel] = 14e6;
        outcome.channel_transfers[busyChannel] = 3;
        std::vector<OpList> opsOf(gpus);
        opsOf[0] = {0, 2, 4};
        opsOf[1] = {1, 3};
        setOutcome(outcome, outcome.device_busy_s, outcome.peak_bytes, opsOf);
        resize(sizeHint());
    }
    void expose() {
        show();
        if (!QTest::qWaitForWindowExposed(this)) qFatal("The window did not appear");
    }
    QPoint middle(DeviceId device) const { return deviceRect(device).center().toPoint(); }
};

void moveHeld(QWidget& widget, QPoint position) {
    QMouseEvent event(QEvent::MouseMove, position, widget.mapToGlobal(position), Qt::NoButton, Qt::LeftButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(&widget, &event);
}

int pixelsOf(const QColor& color, const QImage& image, const QRectF& area) {
    int pixels = 0;
    const QRect within = area.toRect() & image.rect();
    for (int y = within.top(); y <= within.bottom(); ++y) {
        for (int x = within.left(); x <= within.right(); ++x) pixels += image.pixelColor(x, y) == color;
    }
    return pixels;
}

bool isSame(const QRectF& area, const QImage& a, const QImage& b) {
    return a.copy(area.toRect()) == b.copy(area.toRect());
}

}  // namespace

class DevicePanelTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aThirdLineSaysWhatFillsADevice() {
        Panel panel;
        panel.expose();
        const double before = panel.deviceRect(0).height();
        panel.setContents({{3e9, 1e9}, {8.5e9, 4e8}, {}});
        QVERIFY(panel.deviceRect(0).height() >= before + panel.fontMetrics().height());
        const auto tipOf = [&](DeviceId device) {
            QHelpEvent help(QEvent::ToolTip, panel.middle(device), panel.mapToGlobal(panel.middle(device)));
            QApplication::sendEvent(&panel, &help);
            return QToolTip::text();
        };
        QVERIFY2(tipOf(0).contains("4.00 GB free: weights 3.00 GB · cache 1.00 GB"), qPrintable(tipOf(0)));
        QVERIFY2(tipOf(1).contains("1.00 GB over: weights 8.50 GB · cache 400 MB"), qPrintable(tipOf(1)));
        // What is too much is warned of in the row, too.
        const QImage image = panel.grab().toImage();
        const auto third = [&](DeviceId device) {
            const QRectF row = panel.deviceRect(device);
            return QRectF(row.left(), row.bottom() - panel.fontMetrics().height() - 4, row.width() / 2,
                          panel.fontMetrics().height());
        };
        const QColor warning = warningColor(panel.palette());
        QVERIFY(pixelsOf(warning, image, third(1)) > 0);
        QCOMPARE(pixelsOf(warning, image, third(0)), 0);
        // In training gradients, state of the optimizer and activations are beside the weights. 4 GB are free
        // of 8.
        panel.setContents({{3e9, 0}, {8.5e9, 0}, {}});
        QVERIFY2(tipOf(0).contains("free: weights 3.00 GB · rest 1.00 GB"), qPrintable(tipOf(0)));
        panel.setContents({});
        QCOMPARE(panel.deviceRect(0).height(), before);
        QVERIFY(!tipOf(0).contains("cache"));
    }

    void initTestCase() { qRegisterMetaType<OpList>("placewright::OpList"); }

    void emptyPanelSaysWhatFillsIt() {
        DevicePanel panel;
        panel.resize(250, 200);
        QImage blank(250, 200, QImage::Format_RGB32);
        blank.fill(panel.palette().color(QPalette::Base));
        QVERIFY(panel.grab().toImage().convertToFormat(QImage::Format_RGB32) != blank);
        QTest::mouseClick(&panel, Qt::LeftButton, {}, {20, 20});
        QTest::keyClick(&panel, Qt::Key_Down);
    }

    void rowsAreTallEnoughToPointAt_data() {
        QTest::addColumn<int>("points");
        QTest::newRow("small") << 6;
        QTest::newRow("usual") << 10;
        QTest::newRow("large") << 24;
    }
    void rowsAreTallEnoughToPointAt() {
        QFETCH(int, points);
        Panel panel;
        QFont font = panel.font();
        font.setPointSize(points);
        panel.setFont(font);
        QVERIFY(panel.deviceRect(0).height() >= 40);
        QVERIFY(panel.deviceRect(0).height() >= 2 * QFontMetrics(font).height());
        QCOMPARE(panel.deviceRect(1).top(), panel.deviceRect(0).bottom());
        QVERIFY(panel.sizeHint().height() >= panel.deviceRect(2).bottom());
        QVERIFY(panel.minimumSizeHint().height() < panel.sizeHint().height());
    }

    void clickSelectsTheOpsOfADevice() {
        Panel panel;
        panel.expose();
        QSignalSpy edited(&panel, &DevicePanel::selectionEdited);
        QTest::mouseClick(&panel, Qt::LeftButton, {}, panel.middle(1));
        QCOMPARE(edited.size(), 1);
        QCOMPARE(edited.first().at(0).value<OpList>(), (OpList{1, 3}));
        QTest::mouseClick(&panel, Qt::LeftButton, {}, panel.middle(2));
        QCOMPARE(edited.last().at(0).value<OpList>(), OpList{});
        QTest::mouseClick(&panel, Qt::LeftButton, {}, QPoint(20, panel.height() - 10));  // a channel
        QCOMPARE(edited.size(), 2);
    }

    void idleChannelsShareALine() {
        Panel panel(3, 4);
        panel.expose();
        // The busy one comes first, the other five are folded.
        QCOMPARE(panel.channelRect(4).bottom(), panel.idleLineRect().top());
        QVERIFY(panel.channelRect(4).top() > panel.deviceRect(2).bottom());
        for (const ChannelId idle : {0, 1, 2, 3, 5}) QVERIFY(panel.channelRect(idle).isNull());
        const int folded = panel.sizeHint().height();
        QVERIFY(folded >= panel.idleLineRect().bottom() && folded < panel.idleLineRect().bottom() + 10);

        QTest::mouseClick(&panel, Qt::LeftButton, {}, panel.idleLineRect().center().toPoint());
        QCOMPARE(panel.channelRect(0).top(), panel.idleLineRect().bottom());
        QCOMPARE(panel.channelRect(5).bottom(),
                 panel.idleLineRect().bottom() + 5 * panel.idleLineRect().height());
        QVERIFY(panel.sizeHint().height() >= panel.channelRect(5).bottom());
        QTest::keyClick(&panel, Qt::Key_Left);
        QVERIFY(panel.channelRect(0).isNull());
        QCOMPARE(panel.sizeHint().height(), folded);
        QTest::keyClick(&panel, Qt::Key_Right);
        QVERIFY(!panel.channelRect(0).isNull());

        // A press elsewhere that ends on the line is no click on it.
        QTest::mousePress(&panel, Qt::LeftButton, {}, panel.channelRect(4).center().toPoint());
        QTest::mouseRelease(&panel, Qt::LeftButton, {}, panel.idleLineRect().center().toPoint());
        QVERIFY(!panel.channelRect(0).isNull());
    }

    void dragTakesAllOpsOfADevice() {
        Panel panel;
        panel.expose();
        QSignalSpy edited(&panel, &DevicePanel::selectionEdited),
            started(&panel, &DevicePanel::opDragStarted);
        QSignalSpy moved(&panel, &DevicePanel::opDragMoved), dropped(&panel, &DevicePanel::opDropped),
            cancelled(&panel, &DevicePanel::opDragCancelled);
        QTest::mousePress(&panel, Qt::LeftButton, {}, panel.middle(0));
        moveHeld(panel, panel.middle(0) + QPoint(1, 1));
        QCOMPARE(started.size(), 0);
        moveHeld(panel, panel.middle(1));
        QCOMPARE(edited.first().at(0).value<OpList>(), (OpList{0, 2, 4}));
        QCOMPARE(started.first().at(0).value<OpList>(), (OpList{0, 2, 4}));
        moveHeld(panel, panel.middle(2));
        QCOMPARE(moved.last().at(0).toPoint(), panel.mapToGlobal(panel.middle(2)));
        QTest::mouseRelease(&panel, Qt::LeftButton, {}, panel.middle(2));
        QCOMPARE(dropped.size(), 1);
        QCOMPARE(panel.deviceAt(dropped.first().at(0).toPoint()), std::optional<DeviceId>(2));
        QCOMPARE(cancelled.size(), 0);
        QCOMPARE(edited.size(), 1);
    }

    void emptyDeviceIsNotDragged() {
        Panel panel;
        panel.expose();
        QSignalSpy started(&panel, &DevicePanel::opDragStarted), dropped(&panel, &DevicePanel::opDropped);
        QTest::mousePress(&panel, Qt::LeftButton, {}, panel.middle(2));
        moveHeld(panel, panel.middle(0));
        QTest::mouseRelease(&panel, Qt::LeftButton, {}, panel.middle(0));
        QCOMPARE(started.size() + dropped.size(), 0);
    }

    void escapeAndHidingCancelADragOnce_data() {
        QTest::addColumn<bool>("escape");
        QTest::newRow("escape") << true;
        QTest::newRow("hidden") << false;
    }
    void escapeAndHidingCancelADragOnce() {
        QFETCH(bool, escape);
        Panel panel;
        panel.expose();
        QSignalSpy started(&panel, &DevicePanel::opDragStarted), dropped(&panel, &DevicePanel::opDropped);
        QSignalSpy cancelled(&panel, &DevicePanel::opDragCancelled);
        QTest::mousePress(&panel, Qt::LeftButton, {}, panel.middle(0));
        moveHeld(panel, panel.middle(1));
        if (escape) {
            QTest::keyClick(&panel, Qt::Key_Escape);
        } else {
            panel.hide();
        }
        QCOMPARE(cancelled.size(), 1);
        moveHeld(panel, panel.middle(2));
        QTest::mouseRelease(&panel, Qt::LeftButton, {}, panel.middle(2));
        QCOMPARE(started.size(), 1);
        QCOMPARE(cancelled.size(), 1);
        QCOMPARE(dropped.size(), 0);
    }

    void keysMoveAndSelect() {
        Panel panel;
        panel.expose();
        panel.setFocus();
        QSignalSpy edited(&panel, &DevicePanel::selectionEdited),
            pressed(&panel, &DevicePanel::deviceKeyPressed);
        const QImage first = panel.grab().toImage();
        QTest::keyClick(&panel, Qt::Key_Down);
        const QImage second = panel.grab().toImage();
        QVERIFY(!isSame(panel.deviceRect(0), first, second));
        QVERIFY(!isSame(panel.deviceRect(1), first, second));
        QTest::keyClick(&panel, Qt::Key_Return);
        QCOMPARE(edited.last().at(0).value<OpList>(), (OpList{1, 3}));
        QTest::keyClick(&panel, Qt::Key_Up);
        QTest::keyClick(&panel, Qt::Key_Up);  // stays at the first
        QTest::keyClick(&panel, Qt::Key_Enter);
        QCOMPARE(edited.last().at(0).value<OpList>(), (OpList{0, 2, 4}));
        QTest::keyClick(&panel, Qt::Key_3);
        QCOMPARE(pressed.first().at(0).toInt(), 3);
    }

    void deviceAtIsWhereItsRowIs() {
        Panel panel;
        panel.expose();
        for (DeviceId device = 0; device < 3; ++device) {
            QCOMPARE(panel.deviceAt(panel.mapToGlobal(panel.middle(device))), std::optional(device));
        }
        QVERIFY(!panel.deviceAt(panel.mapToGlobal(QPoint(20, panel.height() - 10))));
        QVERIFY(!panel.deviceAt(panel.mapToGlobal(QPoint(-2, 10))));
    }

    void scrollsInAScrollAreaAndHiddenRowsAreNoTargets() {
        QScrollArea area;
        area.setWidgetResizable(true);
        auto* panel = new Panel;
        area.setWidget(panel);
        area.resize(260, 90);
        area.show();
        QVERIFY(QTest::qWaitForWindowExposed(&area));
        QVERIFY(area.verticalScrollBar()->maximum() > 0);
        QCOMPARE(panel->height(), panel->sizeHint().height());
        QCOMPARE(panel->deviceAt(panel->mapToGlobal(panel->middle(0))), std::optional<DeviceId>(0));
        QVERIFY(!panel->deviceAt(panel->mapToGlobal(panel->middle(2))));
    }

    void theWheelTellsThatTheTargetsOfADragMoved() {
        QScrollArea area;
        area.setWidgetResizable(true);
        auto* panel = new Panel(8);
        area.setWidget(panel);
        area.resize(260, 4 * static_cast<int>(panel->deviceRect(0).height()));
        area.show();
        QVERIFY(QTest::qWaitForWindowExposed(&area));
        const QPoint row = panel->middle(2), global = panel->mapToGlobal(row);
        QTest::mousePress(panel, Qt::LeftButton, {}, panel->middle(0));
        moveHeld(*panel, row);
        QCOMPARE(panel->deviceAt(global), std::optional<DeviceId>(2));
        QSignalSpy moved(panel, &DevicePanel::dropTargetsMoved);
        QWheelEvent wheel(row, global, {}, {0, -120}, Qt::LeftButton, {}, Qt::NoScrollPhase, false);
        // Qt passes only a wheel event of the system on to the viewport that scrolls.
        QCoreApplication::sendEvent(panel->parentWidget(), &wheel);
        QVERIFY(area.verticalScrollBar()->value() > 0);
        QCOMPARE(moved.size(), 1);
        QVERIFY(panel->deviceAt(global).value_or(0) > 2);
        QTest::mouseRelease(panel, Qt::LeftButton, {}, panel->mapFromGlobal(global));
    }

    void everyDeviceIsInSightWhileOpsAreDragged() {
        QScrollArea area;
        area.setWidgetResizable(true);
        auto* panel = new Panel(8);
        area.setWidget(panel);
        area.resize(260, 5 * static_cast<int>(panel->deviceRect(0).height()));
        area.show();
        QVERIFY(QTest::qWaitForWindowExposed(&area));
        const auto inSight = [&](DeviceId device) {
            return panel->deviceAt(panel->mapToGlobal(panel->middle(device))) == device;
        };
        QVERIFY(!inSight(7));
        area.verticalScrollBar()->setValue(30);
        const QRectF before = panel->deviceRect(7);
        panel->setDropsExpected(true);
        for (DeviceId device = 0; device < 8; ++device) QTRY_VERIFY(inSight(device));
        panel->setDropPreview(DropPreviews(8, {true, true, 41.2e-3, -1.4e-3, true, 8.1e9, 32e9}),
                              DeviceId{3});
        QVERIFY(panel->grab().toImage() != QImage());
        panel->setDropPreview({}, {});
        panel->setDropsExpected(false);
        QCOMPARE(panel->deviceRect(7).top(), before.top());
        QTRY_COMPARE(area.verticalScrollBar()->value(), 30);

        // Rows that are all in sight stay as they are.
        area.resize(260, 9 * static_cast<int>(before.height()));
        QCoreApplication::processEvents();
        panel->setDropsExpected(true);
        QCOMPARE(panel->deviceRect(7).top(), before.top());
    }

    void rowsScrollAtTheirEdges() {
        QScrollArea area;
        area.setWidgetResizable(true);
        auto* panel = new Panel(40);
        area.setWidget(panel);
        area.resize(260, 200);
        area.show();
        QVERIFY(QTest::qWaitForWindowExposed(&area));
        const QScrollBar* bar = area.verticalScrollBar();
        const QRect seen = area.viewport()->rect();
        const auto scrollAt = [&](QPoint position) {
            const int before = bar->value();
            panel->scrollAtEdge(area.viewport()->mapToGlobal(position));
            return bar->value() - before;
        };
        QCOMPARE(scrollAt(seen.center()), 0);
        QCOMPARE(scrollAt({seen.center().x(), seen.top() + 2}), 0);  // at the top already
        const int near = scrollAt({seen.center().x(), seen.bottom() - 2});
        QVERIFY(near > 0);
        QVERIFY(scrollAt({seen.center().x(), seen.bottom() - 15}) < near);
        QVERIFY(scrollAt({seen.center().x(), seen.top() + 2}) < 0);
        QCOMPARE(scrollAt({seen.right() + 50, seen.bottom() - 2}), 0);  // beside the panel
    }

    void theRightButtonSelectsTheOpsOfADevice() {
        Panel panel;
        panel.expose();
        QSignalSpy selected(&panel, &OpView::selectionEdited);
        QTest::mouseClick(&panel, Qt::RightButton, {}, panel.middle(1));
        QCOMPARE(selected.size(), 1);
        QCOMPARE(qvariant_cast<OpList>(selected.first().first()), (OpList{1, 3}));
    }

    void memoryAfterADrop() {
        QCOMPARE(dropMemoryText({true, true, 1, 0, true, 8.1e9, 32e9}), QStringLiteral("8.10 / 32.0 GB"));
        QCOMPARE(dropMemoryText({false, true, 1, 0, true, 8.1e9, 32e9}), QString());
        QCOMPARE(dropMemoryText({true, true, 1, 0}), QString());
    }

    void aTargetSaysWhatADropWouldGive() {
        const DropPreview tight{true, false, 1, 0, true, 33.1e9, 32e9};
        const QFontMetrics metrics((QFont()));
        const QString time = QStringLiteral("1.00 s (no change)"),
                      misfit = time + QStringLiteral(" · does not fit"),
                      whole = misfit + QStringLiteral(" · 33.1 / 32.0 GB");
        const int room = metrics.horizontalAdvance(whole);
        QCOMPARE(dropTargetText(tight, metrics, room), whole);
        QCOMPARE(dropTargetText(tight, metrics, room - 1), misfit);
        QCOMPARE(dropTargetText(tight), misfit);
        QCOMPARE(dropTargetText({true, true, 1, 0}, metrics, room), time);
        QCOMPARE(dropTargetText({false, false, 1, 0, true, 33.1e9, 32e9}, metrics, room),
                 QStringLiteral("not allowed"));
    }

    void overflowIsInTheWarningColour() {
        Panel panel;
        const QImage image = panel.grab().toImage();
        const QColor warning = warningColor(panel.palette());
        QCOMPARE(pixelsOf(warning, image, panel.deviceRect(0)), 0);
        QVERIFY(pixelsOf(warning, image, panel.deviceRect(1)) > 100);
        // The swatch and the meters have the device's colour.
        const auto machine = test::uniform_machine(3, 8e9);
        for (DeviceId device = 0; device < 2; ++device)
            QVERIFY(pixelsOf(deviceColor(machine, device), image, panel.deviceRect(device)) > 100);
    }

    void dropPreviewMarksTheTarget() {
        Panel panel;
        const QImage before = panel.grab().toImage();
        const DropPreviews previews{
            {true, true, 41.2e-3, -1.4e-3}, {true, false, 40e-3, 2e-3}, {false, true, 0, 0}};
        panel.setDropPreview(previews, DeviceId{1});
        const QImage onOne = panel.grab().toImage();
        panel.setDropPreview(previews, DeviceId{0});
        const QImage onZero = panel.grab().toImage();
        for (DeviceId device = 0; device < 3; ++device)
            QVERIFY(!isSame(panel.deviceRect(device), before, onOne));
        QVERIFY(!isSame(panel.deviceRect(0), onOne, onZero));
        QVERIFY(!isSame(panel.deviceRect(1), onOne, onZero));
        QVERIFY(isSame(panel.deviceRect(2), onOne, onZero));
        panel.setDropPreview({}, std::nullopt);
        QCOMPARE(panel.grab().toImage(), before);
    }

    void bytesAgainstALimit_data() {
        QTest::addColumn<double>("used_bytes");
        QTest::addColumn<double>("limit_bytes");
        QTest::addColumn<QString>("text");
        QTest::newRow("same unit") << 8.1e9 << 32e9 << "8.10 / 32.0 GB";
        QTest::newRow("other unit") << 512e6 << 32e9 << "512 MB / 32.0 GB";
        QTest::newRow("nothing") << 0.0 << 32e9 << "0 B / 32.0 GB";
    }
    void bytesAgainstALimit() {
        QFETCH(double, used_bytes);
        QFETCH(double, limit_bytes);
        QTEST(shareOfBytesText(used_bytes, limit_bytes), "text");
    }

    void limitBelowTheMemory() {
        // 4 GB in use of 8 GB is fine, of 3 GB that may be used it is not.
        Panel panel;
        const auto warned = [&] {
            const QImage image = panel.grab().toImage();
            return pixelsOf(warningColor(panel.palette()), image, panel.deviceRect(0)) > 0;
        };
        const auto toolTip = [&] {
            QHelpEvent event(QEvent::ToolTip, panel.middle(0), panel.mapToGlobal(panel.middle(0)));
            QCoreApplication::sendEvent(&panel, &event);
            return QToolTip::text();
        };
        QVERIFY(!warned());
        QVERIFY(!toolTip().contains(tr("Memory limit")));
        Outcome outcome;
        outcome.total_time_s = 1;
        outcome.device_busy_s.assign(3, 0);
        outcome.peak_bytes.assign(3, 4e9);
        outcome.resident_bytes.assign(3, 0);
        outcome.channel_busy_s.assign(6, 0);
        outcome.channel_bytes.assign(6, 0);
        outcome.channel_transfers.assign(6, 0);
        panel.setMachine(std::make_shared<const Machine>(test::uniform_machine(3, 8e9)), {3e9, 8e9, 8e9});
        panel.setOutcome(outcome, outcome.device_busy_s, outcome.peak_bytes, std::vector<OpList>(3));
        QVERIFY(warned());
        const QString text = toolTip();
        QVERIFY2(text.contains(tr("Memory limit: %1").arg(bytesText(3e9))), qPrintable(text));

        // The peak of the simulated step need not be what tells whether it fits.
        panel.setOutcome(outcome, outcome.device_busy_s, {2e9, 4e9, 4e9}, std::vector<OpList>(3));
        QVERIFY(!warned());
        outcome.peak_bytes.assign(3, 1e9);
        panel.setOutcome(outcome, outcome.device_busy_s, {7e9, 1e9, 1e9}, std::vector<OpList>(3));
        QVERIFY(warned());
        QVERIFY2(toolTip().contains(tr("Memory checked against the limit: %1").arg(bytesText(7e9))),
                 qPrintable(toolTip()));
    }

    void anotherMachineForgetsTheOutcome() {
        Panel panel;
        panel.setDropPreview(DropPreviews(3), DeviceId{2});
        panel.setMachine(std::make_shared<const Machine>(test::uniform_machine(1, 8e9)), {8e9});
        QVERIFY(!panel.grab().isNull());
        QVERIFY(panel.deviceRect(1).isEmpty());
        QSignalSpy edited(&panel, &DevicePanel::selectionEdited);
        QTest::mouseClick(&panel, Qt::LeftButton, {}, panel.middle(0));
        QCOMPARE(edited.first().at(0).value<OpList>(), OpList{});
    }
};

QTEST_MAIN(DevicePanelTest)
#include "tst_device_panel.moc"
