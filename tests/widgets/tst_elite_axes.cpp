// SPDX-License-Identifier: MIT
#include <QApplication>
#include <QLabel>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QToolTip>

#include "tests/support/widgets.hpp"
#include "widgets/elite_axes.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

/// 4 devices used, 5 shares of jumps; the best has most of both. An elite's placement encodes its cell.
std::shared_ptr<ArchiveView> archive() {
    auto view = std::make_shared<ArchiveView>();
    view->dimensions = {{"Devices used", 4, {"1", "2", "3", "4"}}, {"Jumps", 5, {}}};
    const auto add = [&](std::uint32_t used, std::uint32_t jumps, double seconds, bool fits = true) {
        const std::uint32_t cell = used * 5 + jumps;
        view->elites.push_back({cell,
                                {seconds, seconds, fits},
                                std::make_shared<const Placement>(Placement{static_cast<DeviceId>(cell)})});
    };
    add(0, 0, 0.100);
    add(1, 2, 0.080);
    add(2, 0, 0.001, false);
    add(3, 4, 0.050);
    return view;
}

QWidget* canvasOf(const EliteAxes& axes) {
    return axes.findChild<QWidget*>("axes");
}

QString keptText(const EliteAxes& axes) {
    return axes.findChild<QLabel*>("kept")->text();
}

/// A point of the canvas: on axis 0 to 2, at a height from 0 to 1.
QPoint pointAt(const EliteAxes& axes, double axis, double height) {
    const QWidget* canvas = canvasOf(axes);
    const double margin = 7 * canvas->fontMetrics().averageCharWidth();
    const double line = canvas->fontMetrics().lineSpacing();
    return {qRound(margin + (canvas->width() - 2 * margin) * axis / 2),
            qRound(canvas->height() - line - height * (canvas->height() - 3 * line))};
}

void drag(const EliteAxes& axes, QPoint from, QPoint to) {
    QWidget* canvas = canvasOf(axes);
    QTest::mousePress(canvas, Qt::LeftButton, {}, from);
    for (const QPoint at : {(from + to) / 2, to}) {
        QMouseEvent move(QEvent::MouseMove, at, canvas->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, {});
        QApplication::sendEvent(canvas, &move);
    }
    QTest::mouseRelease(canvas, Qt::LeftButton, {}, to);
}

}  // namespace

class TestEliteAxes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyEliteThatFitsIsALine() {
        EliteAxes axes;
        showAt(axes, {600, 300});
        const QImage empty = canvasOf(axes)->grab().toImage();
        axes.setArchive(archive(), 1);
        QCOMPARE(keptText(axes), QStringLiteral("3 of 3 elites"));
        QVERIFY(canvasOf(axes)->grab().toImage() != empty);
        axes.setArchive(nullptr);
        QCOMPARE(canvasOf(axes)->grab().toImage(), empty);
    }

    void draggingAlongAnAxisKeepsARange() {
        EliteAxes axes;
        showAt(axes, {600, 300});
        axes.setArchive(archive(), 1);
        const QImage all = canvasOf(axes)->grab().toImage();
        drag(axes, pointAt(axes, 0, 0.2), pointAt(axes, 0, 0.6));
        QCOMPARE(keptText(axes), QStringLiteral("1 of 3 elites"));
        // The fast half, too: none is left.
        drag(axes, pointAt(axes, 2, 1), pointAt(axes, 2, 0.7));
        QCOMPARE(keptText(axes), QStringLiteral("0 of 3 elites"));
        // An update of the same run keeps the ranges.
        axes.setArchive(archive(), 1);
        QCOMPARE(keptText(axes), QStringLiteral("0 of 3 elites"));
        QTest::mouseClick(canvasOf(axes), Qt::LeftButton, {}, pointAt(axes, 0, 0.9));
        QCOMPARE(keptText(axes), QStringLiteral("1 of 3 elites"));
        QTest::keyClick(canvasOf(axes), Qt::Key_Escape);
        QCOMPARE(keptText(axes), QStringLiteral("3 of 3 elites"));
        QCOMPARE(canvasOf(axes)->grab().toImage(), all);
        // Another run begins without.
        drag(axes, pointAt(axes, 0, 0.2), pointAt(axes, 0, 0.6));
        axes.setArchive(archive(), 2);
        QCOMPARE(keptText(axes), QStringLiteral("3 of 3 elites"));
    }

    void longTitlesStandInTwoLines() {
        EliteAxes axes;
        showAt(axes, {330, 300});
        axes.setArchive(archive(), 1);
        // Short titles: a click at the height of the formula of three lines hits the best elite.
        QSignalSpy activated(&axes, &EliteAxes::eliteActivated);
        QTest::mouseClick(canvasOf(axes), Qt::LeftButton, {}, pointAt(axes, 1.5, 1));
        QCOMPARE(activated.size(), 1);
        auto named = archive();
        named->dimensions[0].title = "Devices that are used by some op";
        named->dimensions[1].title = "Jumps of tensors between devices";
        axes.setArchive(named, 2);
        // The axes begin a line lower.
        const int line = canvasOf(axes)->fontMetrics().lineSpacing();
        QTest::mouseClick(canvasOf(axes), Qt::LeftButton, {}, pointAt(axes, 1.5, 1) + QPoint(0, line));
        QCOMPARE(activated.size(), 2);
    }

    void theBestShareIsKept() {
        EliteAxes axes;
        showAt(axes, {600, 300});
        axes.setArchive(archive(), 1);
        auto* share = axes.findChild<QSlider*>("share");
        share->setFocus();
        QTest::keyClick(share, Qt::Key_Home);
        QCOMPARE(share->value(), 1);
        QCOMPARE(keptText(axes), QStringLiteral("1 of 3 elites"));
        QTest::keyClick(share, Qt::Key_End);
        QCOMPARE(keptText(axes), QStringLiteral("3 of 3 elites"));
    }

    void aClickOnALineActivatesItsElite() {
        EliteAxes axes;
        showAt(axes, {600, 300});
        axes.setArchive(archive(), 1);
        QSignalSpy activated(&axes, &EliteAxes::eliteActivated);
        // Half-way between the first two axes: the second elite is at 1/3 and 1/2.
        const QPoint middle = pointAt(axes, 0.5, (1 / 3.0 + 0.5) / 2);
        QTest::mouseClick(canvasOf(axes), Qt::LeftButton, {}, middle);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(*activated[0][0].value<std::shared_ptr<const Placement>>(), Placement{7});
        QCOMPARE(activated[0][1].toDouble(), 0.08);
        // Nothing is there, and one that is filtered out is not there either.
        QTest::mouseClick(canvasOf(axes), Qt::LeftButton, {}, pointAt(axes, 0.5, 0.8));
        drag(axes, pointAt(axes, 0, 1), pointAt(axes, 0, 0.9));
        QTest::mouseClick(canvasOf(axes), Qt::LeftButton, {}, middle);
        QCOMPARE(activated.size(), 1);
    }

    void elitesAreReachedByKeyboard() {
        EliteAxes axes;
        showAt(axes, {600, 300});
        axes.setArchive(archive(), 1);
        axes.setFocus();
        QSignalSpy activated(&axes, &EliteAxes::eliteActivated);
        QTest::keyClick(canvasOf(axes), Qt::Key_Down);  // the best
        QVERIFY2(QToolTip::text().contains(u"Devices used: 4\nJumps: 4\nstep time 50.0 ms"),
                 qPrintable(QToolTip::text()));
        QTest::keyClick(canvasOf(axes), Qt::Key_Down);
        QTest::keyClick(canvasOf(axes), Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated[0][1].toDouble(), 0.08);
    }
};

QTEST_MAIN(TestEliteAxes)
#include "tst_elite_axes.moc"
