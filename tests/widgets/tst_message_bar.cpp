// SPDX-License-Identifier: MIT
#include <QClipboard>
#include <QLabel>
#include <QTest>
#include <QToolButton>
#include <QVBoxLayout>

#include "tests/support/widgets.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/palette.hpp"

using namespace placewright;
using namespace placewright::test;

class TestMessageBar : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theMessageBarShowsCopiesAndCloses() {
        QWidget window;
        MessageBar bar(&window);
        window.resize(600, 200);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QVERIFY(!bar.isVisible());
        bar.resize(600, 60);
        bar.showMessage(MessageBar::Kind::error, QStringLiteral("net.json: line 3: no ops"));
        QVERIFY(bar.isVisible());
        QCOMPARE(bar.text(), QStringLiteral("net.json: line 3: no ops"));
        QCOMPARE(bar.findChild<QLabel*>("text")->text(), bar.text());
        QVERIFY(!bar.findChild<QToolButton*>("details")->isVisible());
        QTest::mouseClick(bar.findChild<QToolButton*>("copy"), Qt::LeftButton);
        QCOMPARE(QGuiApplication::clipboard()->text(), bar.text());
        QTest::mouseClick(bar.findChild<QToolButton*>("close"), Qt::LeftButton);
        QVERIFY(!bar.isVisible());

        bar.showMessage(MessageBar::Kind::information, QStringLiteral("Saved."));
        QVERIFY(bar.isVisible());
        bar.findChild<QToolButton*>("close")->setFocus();
        QTest::keyClick(bar.findChild<QToolButton*>("close"), Qt::Key_Escape);
        QVERIFY(!bar.isVisible());
    }

    /// As over a graph that panels leave little room.
    void aNarrowBarHasItsButtonsBelowTheText() {
        QWidget window;
        auto* layout = new QVBoxLayout(&window);
        auto* bar = new MessageBar;
        layout->addWidget(bar);
        layout->addStretch(1);
        window.resize(150, 400);
        window.show();
        bar->showMessage(MessageBar::Kind::error, QStringLiteral("net.json: line 3: no ops"));
        const auto* text = bar->findChild<QLabel*>("text");
        const auto* close = bar->findChild<QToolButton*>("close");
        QTRY_VERIFY(close->geometry().top() >= text->geometry().bottom());
        QVERIFY2(text->width() >= 80, qPrintable(QString::number(text->width())));
        QVERIFY(text->height() >= text->heightForWidth(text->width()));
        window.resize(600, 400);
        QTRY_VERIFY(close->geometry().left() >= text->geometry().right());
    }

    void aLongMessageShowsItsBeginning() {
        MessageBar bar;
        const QString text = QStringLiteral("3 warnings\none\ntwo\nthree");
        bar.showMessage(MessageBar::Kind::information, text);
        auto* label = bar.findChild<QLabel*>("text");
        auto* details = bar.findChild<QToolButton*>("details");
        QCOMPARE(label->text(), QStringLiteral("3 warnings…"));
        QCOMPARE(bar.text(), text);
        QTest::mouseClick(details, Qt::LeftButton);
        QCOMPARE(label->text(), text);
        bar.showMessage(MessageBar::Kind::error, QString(5000, u'x'));
        QVERIFY(label->text().size() < 400);
        QVERIFY(!details->isChecked());
    }

    void messagesAreReadable_data() {
        QTest::addColumn<bool>("dark");
        QTest::addColumn<int>("kind");
        for (const bool dark : {false, true}) {
            for (const auto kind : {MessageBar::Kind::information, MessageBar::Kind::error}) {
                QTest::addRow("%s %d", dark ? "dark" : "light", int(kind)) << dark << int(kind);
            }
        }
    }
    void messagesAreReadable() {
        QFETCH(bool, dark);
        QFETCH(int, kind);
        MessageBar bar;
        if (dark) bar.setPalette(darkPalette());
        bar.showMessage(MessageBar::Kind(kind), QStringLiteral("text"));
        bar.resize(400, 50);
        const QColor background = bar.grab().toImage().pixelColor(6, 3);
        QVERIFY(contrast(background, bar.palette().color(QPalette::WindowText)) > 4.5);
        QVERIFY(background != bar.palette().color(QPalette::Window));
    }
};

QTEST_MAIN(TestMessageBar)
#include "tst_message_bar.moc"
