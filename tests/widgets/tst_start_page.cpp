// SPDX-License-Identifier: MIT
#include <set>

#include <QAbstractButton>
#include <QApplication>
#include <QLabel>
#include <QPainter>
#include <QSet>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/graphs.hpp"
#include "tests/support/widgets.hpp"
#include "widgets/palette.hpp"
#include "widgets/start_page.hpp"

using namespace placewright;
using namespace placewright::test;

class TestStartPage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theStartPageIsClickable() {
        StartPage page;
        page.setGallery({{"AlexNet", "24 ops", "alexnet.json"}, {"ResNet-50", "175 ops", "resnet.json"}});
        page.setRecent(
            {{"mine.json", "~/nets", "/home/mine.json"}, {"gone.json", "~/nets", "/home/gone.json", false}});
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
            if (auto* button = qobject_cast<QAbstractButton*>(QApplication::focusWidget()))
                reached << button->text();
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        }
        for (const QString& title :
             {QStringLiteral("AlexNet"), QStringLiteral("ResNet-50"), QStringLiteral("mine.json")}) {
            QVERIFY2(reached.contains(title), qPrintable(title));
        }
        QCOMPARE(reached.size(), 4);
    }

    void thisComputerIsOfferedAndTaken() {
        StartPage page;
        showAt(page, {900, 800});
        auto* use = page.findChild<QAbstractButton*>("useComputer");
        auto* told = page.findChild<QLabel*>("computer");
        QVERIFY(!use->isVisible() && !told->isVisible());
        page.offerComputer("2x T4, EPYC", false);
        QVERIFY(use->isVisible());
        QCOMPARE(told->text(), QStringLiteral("to place networks on it: 2x T4, EPYC"));
        QSignalSpy chosen(&page, &StartPage::computerChosen);
        QTest::mouseClick(use, Qt::LeftButton);
        QCOMPARE(chosen.size(), 1);
        page.offerComputer("2x T4, EPYC", true);
        QVERIFY(!use->isVisible());
        QVERIFY(told->text().endsWith(QLatin1String("this computer: 2x T4, EPYC.")));
        // The keyboard stays within the page.
        QVERIFY(QApplication::focusWidget() != use);
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
        QCOMPARE(makeStartPicture(test::chain(20, 1e9, 1000, Training::implicit)).nodes.size(),
                 std::size_t{20});
    }

    void thumbnailsTellKindsApart() {
        GraphBuilder builder("kinds", 1, Training::none);
        std::vector<std::string> before;
        for (const char* kind :
             {"conv2d", "batch_norm", "relu", "max_pool2d", "cat", "linear", "matmul", "lstm_cell"}) {
            Op op;
            op.name = op.kind = kind;
            op.outputs = {make_tensor({1})};
            builder.add(op, before);
            before = {kind};
        }
        std::vector<int> groups;
        for (const auto& node : makeStartPicture(builder.build()).nodes) groups.push_back(node.group);
        QCOMPARE(groups, (std::vector<int>{0, 1, 3, 2, 2, 0, 0, 4}));
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

    /// What all steps of an unrolled network read would hide them behind its lines.
    void thumbnailsLeaveOutWhatAllRead() {
        const StartPicture picture = makeStartPicture(test::fork_join(40));
        QCOMPARE(picture.nodes.size(), std::size_t{41});  // without the source
        QCOMPARE(picture.edges.size(), std::size_t{40});
    }

    void recentFilesComeFirstAndNetworksByKind() {
        StartPage page;
        page.setRecent({{"mine.json", "~/nets", "/home/mine.json"}});
        const auto network = [](const char* title, const char* section) {
            StartEntry entry{QString::fromUtf8(title), "24 ops", QString::fromUtf8(title)};
            entry.section = QString::fromUtf8(section);
            return entry;
        };
        page.setGallery({network("AlexNet", "Images"), network("VGG", "Images"), network("NMT", "Language")});
        page.setMachines({{"4x V100", "4 GPUs, 1 CPU", "v100"}, {"8x A100", "8 GPUs, 1 CPU", "a100"}});
        showAt(page, {900, 1400});
        const auto top = [&](const QString& text) {
            for (const auto* widget : page.findChildren<QWidget*>()) {
                const auto* label = qobject_cast<const QLabel*>(widget);
                const auto* button = qobject_cast<const QAbstractButton*>(widget);
                if ((label != nullptr && label->text() == text) ||
                    (button != nullptr && button->text() == text))
                    return widget->isVisible() ? widget->mapTo(&page, QPoint()).y() : -1;
            }
            return -1;
        };
        const QStringList order{"Recent files", "mine.json", "Example networks", "Images", "AlexNet",
                                "Language",     "NMT",       "Machines",         "4x V100"};
        for (qsizetype i = 0; i < order.size(); ++i) {
            QVERIFY2(top(order[i]) >= 0, qPrintable(order[i]));
            if (i > 0) QVERIFY2(top(order[i]) > top(order[i - 1]), qPrintable(order[i]));
        }
        QCOMPARE(top("VGG"), top("AlexNet"));
    }

    void machinesAreNamedAndChosen() {
        StartPage page;
        page.setMachines({{"4x V100", "4 GPUs, 1 CPU", "v100"}, {"8x A100", "8 GPUs, 1 CPU", "a100"}});
        page.showMachine("4x V100", "v100");
        showAt(page, {900, 900});
        QVERIFY(page.findChild<QLabel*>("machineOfNetworks")->text().contains("4x V100"));
        auto* first = page.findChild<QAbstractButton*>("v100");
        auto* second = page.findChild<QAbstractButton*>("a100");
        QVERIFY(first->isChecked() && !second->isChecked());
        QSignalSpy chosen(&page, &StartPage::machineChosen);
        QTest::mouseClick(second, Qt::LeftButton);
        QCOMPARE(chosen.takeFirst()[0].toString(), QStringLiteral("a100"));
        page.showMachine("8x A100", "a100");
        QVERIFY(!first->isChecked() && second->isChecked());
        second->setFocus();
        QTest::keyClick(second, Qt::Key_Return);
        QCOMPARE(chosen.size(), 1);
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
};

QTEST_MAIN(TestStartPage)
#include "tst_start_page.moc"
